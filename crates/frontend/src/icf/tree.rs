//! What an Iometer configuration says, as faithfully as it can be kept: the tree that is read, printed, and from which the
//! order of tests follows. Knows no text and no model.

use fathom_model::Span;

/// Name of the specification under which a worker does nothing. It is never written into a file, only assigned.
pub const IDLE: &str = "Idle";

/// A whole configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Text of the version line, e.g. `1.1.0` or `2004.07.30-post`; empty where the file has none.
    pub version: String,
    /// The section TEST SETUP; Iometer's defaults for what it does not say.
    pub setup: Setup,
    /// The section ACCESS SPECIFICATIONS, in order.
    pub specs: Vec<Spec>,
    /// The section MANAGER LIST, in order.
    pub managers: Vec<Manager>,
}

/// The section TEST SETUP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setup {
    /// Free text.
    pub description: String,
    /// How long each test records, seconds; 0 until it is stopped.
    pub run_seconds: u64,
    /// Time before that whose I/Os do not count, seconds.
    pub ramp_seconds: u64,
    /// Disk workers that a new manager gets; none: as many as it has CPUs.
    pub disk_workers: Option<u64>,
    /// Network workers that a new manager gets; none: as many as it has CPUs.
    pub network_workers: Option<u64>,
    /// Which rows of results are kept.
    pub record: Record,
    /// How the number of workers grows.
    pub workers: Cycling,
    /// How the number of targets grows.
    pub targets: Cycling,
    /// How the queue depth grows.
    pub queue: Cycling,
    /// Where it ends.
    pub queue_end: i64,
    /// What varies from test to test.
    pub test_type: TestType,
    /// Every how many seconds workers' results are recorded beside the totals, 0 for only at the end; none: not.
    pub updates_seconds: Option<u64>,
    /// Where the run time stands.
    pub run_time_span: Span,
    /// Where the test type stands.
    pub test_type_span: Span,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            description: String::new(),
            run_seconds: 0,
            ramp_seconds: 0,
            disk_workers: None,
            network_workers: Some(0),
            record: Record::All,
            workers: Cycling { start: 1, step: 1, is_exponential: false },
            targets: Cycling { start: 1, step: 1, is_exponential: false },
            queue: Cycling { start: 1, step: 2, is_exponential: true },
            queue_end: 32,
            test_type: TestType::Normal,
            updates_seconds: None,
            run_time_span: Span::default(),
            test_type_span: Span::default(),
        }
    }
}

/// How a number grows from test to test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cycling {
    /// The first.
    pub start: i64,
    /// Added to it, or its factor.
    pub step: i64,
    /// Whether the step is a factor.
    pub is_exponential: bool,
}

impl Cycling {
    /// `LINEAR` or `EXPONENTIAL`.
    pub const fn kind(self) -> &'static str {
        if self.is_exponential { "EXPONENTIAL" } else { "LINEAR" }
    }
}

/// Which rows of results are kept; each leaves out more than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Record {
    /// All.
    All,
    /// No targets.
    NoTargets,
    /// Neither targets nor workers.
    NoWorkers,
    /// Only the sum.
    NoManagers,
    /// Nothing.
    None,
}

impl Record {
    /// All, by the number that old files have.
    pub const ALL: [Self; 5] = [Self::All, Self::NoTargets, Self::NoWorkers, Self::NoManagers, Self::None];

    /// As it stands in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "ALL",
            Self::NoTargets => "NO_TARGETS",
            Self::NoWorkers => "NO_WORKERS",
            Self::NoManagers => "NO_MANAGERS",
            Self::None => "NONE",
        }
    }
}

/// What varies from test to test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestType {
    /// Nothing: one test of all.
    Normal,
    /// The targets of every worker.
    CycleTargets,
    /// The workers of every manager.
    CycleWorkers,
    /// The targets of every manager, filled worker by worker.
    IncrementTargetsParallel,
    /// The targets over all managers.
    IncrementTargetsSerial,
    /// For each number of workers, their targets.
    CycleWorkersAndTargets,
    /// The queue depth.
    CycleOutstandingIos,
    /// For each number of targets, the queue depth.
    CycleOutstandingIosAndTargets,
}

impl TestType {
    /// All, by the number that old files and results have.
    pub const ALL: [Self; 8] = [
        Self::Normal,
        Self::CycleTargets,
        Self::CycleWorkers,
        Self::IncrementTargetsParallel,
        Self::IncrementTargetsSerial,
        Self::CycleWorkersAndTargets,
        Self::CycleOutstandingIos,
        Self::CycleOutstandingIosAndTargets,
    ];

    /// Its number, 0 to 7.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// As it stands in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "NORMAL",
            Self::CycleTargets => "CYCLE_TARGETS",
            Self::CycleWorkers => "CYCLE_WORKERS",
            Self::IncrementTargetsParallel => "INCREMENT_TARGETS_PARALLEL",
            Self::IncrementTargetsSerial => "INCREMENT_TARGETS_SERIAL",
            Self::CycleWorkersAndTargets => "CYCLE_WORKERS_AND_TARGETS",
            Self::CycleOutstandingIos => "CYCLE_OUTSTANDING_IOS",
            Self::CycleOutstandingIosAndTargets => "CYCLE_OUTSTANDING_IOS_AND_TARGETS",
        }
    }
}

/// One access specification: which operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// Name; equal ones differ in more than case.
    pub name: String,
    /// Which new workers get it by themselves.
    pub assign: Assign,
    /// Its lines, whose shares sum to 100.
    pub lines: Vec<SpecLine>,
    /// Where the name stands.
    pub span: Span,
}

/// Which new workers get a specification by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assign {
    /// None.
    None,
    /// All.
    All,
    /// Disk workers.
    Disk,
    /// Network workers.
    Net,
}

impl Assign {
    /// All, by the number that results have.
    pub const ALL: [Self; 4] = [Self::None, Self::All, Self::Disk, Self::Net];

    /// Its number, 0 to 3.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// As it stands in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "NONE",
            Self::All => "ALL",
            Self::Disk => "DISK",
            Self::Net => "NET",
        }
    }
}

/// One line of a specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpecLine {
    /// Bytes of an operation.
    pub size: u32,
    /// Share of the operations, percent.
    pub pct: u32,
    /// Share of reads among its own, percent.
    pub read: u32,
    /// Share of random ones among its own, percent.
    pub random: u32,
    /// Pause before each burst, milliseconds.
    pub delay: u32,
    /// Operations of a burst.
    pub burst: u32,
    /// Operations begin at multiples of this, bytes; 0: of a sector.
    pub align: u32,
    /// Bytes of the reply to each operation; 0: none.
    pub reply: u32,
    /// Where it stands.
    pub span: Span,
}

/// One manager: a host that generates load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manager {
    /// Tells managers of one name apart, from 1.
    pub id: i64,
    /// Name.
    pub name: String,
    /// Network address; empty: the local machine.
    pub address: String,
    /// Its workers, in order.
    pub workers: Vec<Worker>,
    /// Where its name stands.
    pub span: Span,
}

/// What a worker or target is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Disks.
    Disk,
    /// TCP.
    Tcp,
    /// Virtual Interface Architecture.
    Vi,
}

impl Kind {
    /// As it stands in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Disk => "DISK",
            Self::Tcp => "NETWORK,TCP",
            Self::Vi => "NETWORK,VI",
        }
    }
}

/// One worker: a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    /// Name; several may have the same.
    pub name: String,
    /// Of what its targets are.
    pub kind: Kind,
    /// I/Os in flight on each target.
    pub outstanding: i64,
    /// Whether targets are closed and opened again after every `trans_per_conn` transactions.
    pub connection_rate: bool,
    /// Transactions between the two.
    pub trans_per_conn: i64,
    /// The seed of everything random, where it is fixed.
    pub fixed_seed: Option<u64>,
    /// Sectors that are used of each target; 0: all.
    pub max_size: u64,
    /// First of them.
    pub start: u64,
    /// What writes carry: 0 repeating bytes, 1 pseudo random, 2 full random.
    pub pattern: u8,
    /// Its side of the network.
    pub interface: String,
    /// Sends in flight (VI).
    pub vi_outstanding: Option<i64>,
    /// Names of the specifications assigned to it, in order.
    pub specs: Vec<String>,
    /// Its targets, in order, each once.
    pub targets: Vec<Target>,
    /// Where its name stands.
    pub span: Span,
    /// Where its I/Os in flight stand, and where the part of its targets does; its name where nothing is said of them.
    pub depth_span: Span,
    /// See `depth_span`.
    pub region_span: Span,
}

/// One target of a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Name: a drive, a disk, a mount point, or the address of a peer.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Number and name of the manager at the other end of the network.
    pub manager: Option<(i64, String)>,
    /// Where its name stands.
    pub span: Span,
}

impl Target {
    /// What Iometer compares when it looks for a target: of a drive the letter, else all of the name, whatever the case.
    pub fn key(name: &str) -> String {
        let mut chars = name.chars();
        match (chars.next(), chars.next()) {
            (Some(letter), Some(':')) => format!("{letter}:"),
            _ => name.to_owned(),
        }
        .to_lowercase()
    }
}

impl Document {
    /// The specification of a name, whatever the case.
    pub fn spec(&self, name: &str) -> Option<&Spec> {
        self.specs.iter().find(|spec| spec.name.eq_ignore_ascii_case(name))
    }
}
