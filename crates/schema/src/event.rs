//! Events: the only interface from the runner to anything that shows or keeps results.

use crate::facts::{DeviceNumber, EnvironmentFact, Facts, ZeroBlocks};
use crate::gauges::{Gauges, HostSample};
use crate::question::{Question, Singles};
use crate::record::StreamTotals;
use crate::step::Step;
use crate::tally::Interval;
use crate::threshold::{Condition, Threshold};
use crate::wire;
use fathom_units::Nanos;
use serde::{Deserialize, Serialize};

/// Something that happened in a run, in the order it happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The first event of every run.
    RunStarted(Box<RunStarted>),
    /// A step was prepared and its workers released.
    StepStarted(Box<StepStarted>),
    /// One interval of one stream.
    Interval(Box<Interval>),
    /// Successive intervals of one stream added up, beside the intervals themselves.
    Sum(Box<IntervalSum>),
    /// How busy the host was, about once a second.
    Host(Box<HostSample>),
    /// Something the reader of the result should know.
    Note(Note),
    /// A step's workers have all ended.
    StepFinished(Box<StepFinished>),
    /// The last event of every run that was not killed.
    RunFinished(RunFinished),
}

/// What is known before anything runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// Version of the serialised forms: [`crate::VERSION`].
    pub schema_version: u32,
    /// The run's identity (ULID: sortable by time).
    pub run: String,
    /// fathom's version.
    pub tool_version: String,
    /// The command line as given.
    pub command: Vec<String>,
    /// Title for people: the job's, or its file name.
    pub title: String,
    /// What the job says is to be found out; absent when it says nothing.
    #[serde(default)]
    pub description: Option<String>,
    /// The job's texts as given: file name and content.
    pub sources: Vec<(String, String)>,
    /// Options as the user wrote them, per section (name, options in order): what peers' outputs echo.
    pub echo: Vec<(String, Vec<(String, String)>)>,
    /// Wall clock at the start, milliseconds since 1970-01-01 UTC.
    pub wall_ms: u64,
    /// Seconds the run is expected to take; absent when nothing bounds it in time.
    pub expected_seconds: Option<f64>,
    /// What the run is to find out beyond its figures; absent for a plain run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    /// Bounds that every step has to keep.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thresholds: Vec<Threshold>,
    /// What ends the run before its time; a step that prepares others may have fewer of them, and says so itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub abort_when: Vec<Condition>,
    /// What was found on the host.
    pub facts: Facts,
}

impl RunStarted {
    /// Section of the echo with what belongs to an Iometer configuration and is not in its text.
    pub const ICF: &str = "iometer";
    /// There: what stands for a target, `NAME=PATH`.
    pub const ICF_MAP: &str = "map";
    /// There: bytes of its sectors.
    pub const ICF_SECTOR_SIZE: &str = "sector_size";

    /// What was said beside the job's text: what stood for its targets, and bytes of its sectors.
    pub fn beside_text(&self) -> (Vec<String>, Option<u64>) {
        let of = |name: &str| {
            let section = self.echo.iter().find(|(section, _)| section == Self::ICF);
            let options = section.into_iter().flat_map(|(_, options)| options);
            options.filter(|(option, _)| option == name).map(|(_, value)| value.clone()).collect::<Vec<_>>()
        };
        (of(Self::ICF_MAP), of(Self::ICF_SECTOR_SIZE).first().and_then(|size| size.parse().ok()))
    }
}

/// A step begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepStarted {
    /// Index of the step in the run, from 0.
    pub index: u32,
    /// What runs, fully resolved.
    pub step: Step,
    /// Wall clock at the workers' start, milliseconds since 1970-01-01 UTC.
    pub wall_ms: u64,
    /// Counters of the block devices under the targets at the start.
    pub devices: Vec<DeviceCounters>,
    /// What the host said of itself then; absent in records of before it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gauges: Option<Gauges>,
}

/// Successive intervals of one stream, all of one phase, added up: what a long record is looked through by. It comes after
/// the last of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IntervalSum {
    /// 1 for a sum of [`IntervalSum::OF`] intervals, 2 for a sum of as many of those, and so on to
    /// [`IntervalSum::LEVELS`]. The last ones of a phase are of fewer.
    pub level: u8,
    /// Their sum, with the number of the first.
    pub sum: Interval,
}

impl IntervalSum {
    /// How many are added up: three levels then span 16 s, 4 min and 68 min at an interval a second, and take 7 % more
    /// room together.
    pub const OF: u64 = 16;
    /// Highest level: a record of a year has 7,700 of them per stream.
    pub const LEVELS: u8 = 3;
}

/// A step has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepFinished {
    /// Index of the step in the run.
    pub index: u32,
    /// Totals of the measure phase, per stream of the step.
    pub streams: Vec<StreamTotals>,
    /// Why it ended.
    pub stop: Stop,
    /// From the workers' start to the last one's end.
    #[serde(with = "wire::nanos")]
    pub elapsed: Nanos,
    /// Counters of the same block devices at the end.
    pub devices: Vec<DeviceCounters>,
    /// What of the environment differs from the run's start.
    pub environment_changes: Vec<EnvironmentFact>,
    /// What the host said of itself at the end; absent in records of before it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gauges: Option<Gauges>,
    /// What blocks of targets that it only read look like, each target once in a run; none in records of before they were
    /// looked at.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zero_blocks: Vec<ZeroBlocks>,
    /// Its reads by themselves, where it is of a scan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub singles: Option<Singles>,
}

/// A run has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunFinished {
    /// How.
    pub outcome: Outcome,
    /// Wall clock, milliseconds since 1970-01-01 UTC.
    pub wall_ms: u64,
    /// What the drives under test said of themselves then, as [`crate::drive`] names it; what they said at the start is in the
    /// facts. Empty in records of before they were asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drives: Vec<EnvironmentFact>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// All that was planned was done.
    Complete,
    /// A signal ended it; what was measured until then is kept.
    Interrupted {
        /// Signal number.
        signal: i32,
    },
    /// I/O errors beyond policy.
    IoErrors,
    /// Data that was read back is not what was written.
    Mismatch,
    /// A condition of the job ended it (`abort_when`); what was measured until then is kept.
    Aborted {
        /// Which, and what was found.
        reason: String,
    },
    /// It could not go on.
    Failed {
        /// Why, in words.
        reason: String,
    },
}

/// Why a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// Its limits were reached.
    Complete,
    /// The stop flag was raised from outside.
    Interrupted,
    /// I/O errors beyond policy.
    IoErrors,
    /// Data that was read back is not what was written.
    Mismatch,
    /// A worker could not go on.
    Failed,
    /// Its load was changed while it ran: the next step goes on where it ended.
    Changed,
}

/// Something the reader of a result should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// When, since the run's start.
    #[serde(with = "wire::nanos")]
    pub at: Nanos,
    /// What it is about.
    pub kind: NoteKind,
    /// How much it matters.
    pub severity: Severity,
    /// In words: a lower-case fragment.
    pub message: String,
}

impl Note {
    /// A mark of someone who watched, made while it ran or later.
    pub fn mark(at: Nanos, text: &str) -> Self {
        let place = if at == Nanos::ZERO { "0 s".to_owned() } else { at.approximate() };
        let message = format!("mark at {place}: {text}");
        Self { at, kind: NoteKind::Mark, severity: Severity::Info, message }
    }
}

/// What a note is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// fathom chose or replaced an engine or one of its features.
    Engine,
    /// Something about the job was changed or chosen.
    Job,
    /// Something about a target.
    Target,
    /// An interval came late.
    LateInterval,
    /// An I/O error.
    IoError,
    /// Data that was read back is not what was written.
    Mismatch,
    /// A rate or a latency was not kept that was demanded.
    Demand,
    /// The environment changed.
    Environment,
    /// What a person noted on the time line.
    Mark,
}

/// How much a note or a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Good to know.
    Info,
    /// Explains the number; may spoil it.
    Warn,
    /// The number is not about the device.
    Invalid,
}

/// Counters of one block device, from `/sys/block/…/stat` (Linux Documentation/block/stat.rst). Sectors are 512 B.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounters {
    /// Kernel name, e.g. `nvme0n1`.
    pub name: String,
    /// Its number.
    pub number: DeviceNumber,
    /// Completed reads.
    pub reads: u64,
    /// Reads merged into others.
    pub read_merges: u64,
    /// Sectors read.
    pub read_sectors: u64,
    /// Milliseconds spent in reads, summed over reads.
    pub read_ms: u64,
    /// Completed writes.
    pub writes: u64,
    /// Writes merged into others.
    pub write_merges: u64,
    /// Sectors written.
    pub write_sectors: u64,
    /// Milliseconds spent in writes, summed over writes.
    pub write_ms: u64,
    /// Milliseconds in which at least one request was in flight.
    pub busy_ms: u64,
    /// Milliseconds in flight, summed over requests.
    pub queue_ms: u64,
    /// Completed discards; 0 on kernels that do not count them.
    pub discards: u64,
    /// Sectors discarded.
    pub discard_sectors: u64,
    /// Completed flushes.
    pub flushes: u64,
}

impl DeviceCounters {
    /// Bytes of the sectors that the kernel counts in, whatever the device's (`Documentation/admin-guide/iostats.rst`).
    pub const SECTOR_BYTES: u64 = 512;
}
