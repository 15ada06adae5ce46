//! The summary of a run: what [`crate::json`] writes, field by field. A program may rely on every name here.
//!
//! Names carry their unit last (`_s` seconds, `_ms`, `_ns`, `_bytes`, `_per_s`). Knows nothing of how the figures came
//! about. A change that a reader would misunderstand raises [`SCHEMA_VERSION`]; new fields do not.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of the JSON document.
pub const SCHEMA_VERSION: u32 = 1;

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    /// Version of this document's form; 1.
    pub schema_version: u32,
    /// The run's identity, a ULID.
    pub run: String,
    /// Title for people.
    pub title: String,
    /// What the job says is to be found out; null when it says nothing.
    pub description: Option<String>,
    /// How the run ended: `complete`, `interrupted`, `io_errors`, `aborted` (by `abort_when`), `failed`, or `unfinished`
    /// when it was killed or still goes on.
    pub state: String,
    /// Why, in words, when it did not end well.
    pub reason: Option<String>,
    /// True when at least one step has no end: its figures are sums over stored intervals.
    pub partial: bool,
    /// Version of fathom that ran it.
    pub tool_version: String,
    /// The command line.
    pub command: Vec<String>,
    /// The host that ran it.
    pub host: HostSummary,
    /// Wall clock at the start, milliseconds since 1970-01-01 UTC.
    pub started_ms: u64,
    /// Wall clock at the end, in the same unit; null when there is none.
    pub finished_ms: Option<u64>,
    /// Whether the figures can be trusted; the gravest first, empty when nothing was found.
    pub validity: Vec<FindingSummary>,
    /// The steps, in order.
    pub steps: Vec<StepSummary>,
    /// What else the reader should know, in order.
    pub notes: Vec<NoteSummary>,
    /// What was found on the host.
    pub environment: Vec<EnvironmentSummary>,
    /// What the drives under test said of themselves.
    pub drives: Vec<DriveSummary>,
    /// The job's texts as given.
    pub sources: Vec<Source>,
    /// What the steps of a run come to together; where they say little one by one it takes their place for people. It stands
    /// under `answer` for programs.
    #[serde(skip)]
    pub together: Option<Together>,
    /// What became of thresholds; `None` where there are none. They stand under `answer` for programs.
    #[serde(skip)]
    pub thresholds: Option<Vec<fathom_analysis::thresholds::Kept>>,
    /// Why the run's question has no answer, where it has none.
    #[serde(skip)]
    pub unanswered: Option<Unanswered>,
}

impl Summary {
    /// Whether people are shown the steps one by one.
    pub(crate) fn shows_steps(&self) -> bool {
        !self.together.as_ref().is_some_and(Together::replaces_steps)
    }

    /// Whether its steps are the measurement itself, and not those that a search chose.
    pub(crate) const fn is_plain(&self) -> bool {
        self.together.is_none()
    }

    /// What was asked, in one word; `None` of a run that was asked nothing.
    pub fn asked(&self) -> Option<&'static str> {
        let unanswered = || self.unanswered.as_ref().map(|unanswered| unanswered.asked);
        let of_thresholds = || self.thresholds.as_ref().map(|_| "thresholds");
        self.together.as_ref().map(Together::name).or_else(unanswered).or_else(of_thresholds)
    }

    /// That nothing speaks against the figures. Places that are slow or cannot be read do not: to find them is what a scan is for.
    pub(crate) fn nothing_found(&self) -> &'static str {
        match &self.together {
            Some(Together::Scan(_)) => {
                "Nothing was found against these figures. What is slow or cannot be read is the answer of a scan, and told above."
            }
            _ => "Nothing was found against these figures.",
        }
    }

    /// What was asked and found, in a sentence or two; `None` of a run that was asked nothing, or that found no answer.
    pub fn sentence(&self) -> Option<String> {
        let of_thresholds = self.thresholds.as_ref().map(|all| crate::thresholds::sentence(all));
        let sentences: Vec<String> =
            self.together.as_ref().map(Together::sentence).into_iter().chain(of_thresholds).collect();
        (!sentences.is_empty()).then(|| sentences.join(" "))
    }
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered {
    /// What was asked, in the words of [`Together::name`].
    pub asked: &'static str,
    /// What is missing, and what kept the run from it.
    pub why: String,
}

impl Unanswered {
    /// In one sentence.
    pub fn sentence(&self) -> String {
        format!("No answer: {}.", self.why)
    }
}

/// What steps come to together.
#[derive(Debug, Clone, PartialEq)]
pub enum Together {
    /// A test of SNIA's PTS.
    Steady(Box<fathom_analysis::pts::Answer>),
    /// A scan.
    Scan(Box<fathom_analysis::scan::Scan>),
    /// A load curve.
    Curve(Box<fathom_analysis::load::Curve>),
    /// Whether a load is carried, or which is.
    Objective(Box<Asked>),
}

/// An objective with what was asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The answer.
    pub found: fathom_analysis::objective::Objective,
    /// Operations per second in question; `None`: the highest that keeps the limits.
    pub wanted: Option<f64>,
    /// The limits.
    pub goals: Vec<fathom_schema::LatencyGoal>,
}

impl Together {
    /// What was asked, in one word.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Steady(_) => "steady",
            Self::Scan(_) => "scan",
            Self::Curve(_) => "curve",
            Self::Objective(_) => "objective",
        }
    }

    /// In one sentence.
    pub fn sentence(&self) -> String {
        match self {
            Self::Steady(answer) => crate::steady::sentence(answer),
            Self::Scan(scan) => crate::scan::sentence(scan),
            Self::Curve(curve) => crate::curve::sentence_of(curve),
            Self::Objective(asked) => crate::objective::sentence(&asked.found, asked.wanted),
        }
    }

    /// Whether the steps are hundreds that say nothing one by one.
    pub const fn replaces_steps(&self) -> bool {
        match self {
            Self::Steady(_) | Self::Scan(_) => true,
            Self::Curve(_) | Self::Objective(_) => false,
        }
    }
}

/// One statement about whether figures can be trusted.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FindingSummary {
    /// Stable name, e.g. `little.queue-not-full`.
    pub id: String,
    /// `invalid` (the figures are not about the device), `warn` (explains them, may spoil them) or `info`.
    pub severity: String,
    /// What was seen.
    pub evidence: String,
    /// What to do about it.
    pub remedy: String,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StepSummary {
    /// Index in the run, from 0.
    pub index: u32,
    /// Name for people.
    pub name: String,
    /// What is swept, and its value here.
    pub parameters: Vec<Parameter>,
    /// Wall clock at the workers' start, milliseconds since 1970-01-01 UTC.
    pub started_ms: u64,
    /// From the workers' start to the last one's end, seconds; null when the step has no end.
    pub elapsed_s: Option<f64>,
    /// Why it ended: `complete`, `interrupted`, `io_errors`, `failed`, `changed` (the next step goes on with
    /// another load); null when it has no end.
    pub stop: Option<String>,
    /// Until when figures go, seconds since the step's start; null unless the step has no end.
    pub partial_until_s: Option<f64>,
    /// All streams together, over the window from the first start to the last end among them.
    pub total: Totals,
    /// The streams, in plan order.
    pub streams: Vec<StreamSummary>,
    /// Streams that go to the same targets, each group of them; empty where all go to the same.
    pub by_target: Vec<TargetGroup>,
    /// Each target, where a stream goes to several: all that go to it together, over the window from the first start to the
    /// last end among them. One that goes to more than 64 is in none.
    pub targets: Vec<TargetTogether>,
    /// Streams that are reported together, by number; empty when no stream is in a group.
    pub groups: Vec<GroupSummary>,
    /// What the kernel counted on the block devices below, from the workers' start to their end, ramp included.
    pub devices: Vec<DeviceSummary>,
    /// What of the environment was different at the end.
    pub environment_changes: Vec<EnvironmentSummary>,
    /// The step as it ran: every option resolved.
    pub resolved: serde_json::Value,
}

/// Streams that go to the same targets, together.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TargetGroup {
    /// Names of the targets, the first 16.
    pub targets: Vec<String>,
    /// How many there are.
    pub target_count: u64,
    /// Names of the streams.
    pub streams: Vec<String>,
    /// What they did.
    pub total: Totals,
}

/// What streams did on one target together.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TargetTogether {
    /// Names of the streams, in plan order.
    pub streams: Vec<String>,
    /// Names of streams that go there too and were not counted by target, at most 16: what they did there is not in these
    /// figures, which are of a part of what was done on the target. Empty where they are of all.
    pub without: Vec<String>,
    /// How many they are, those that are not named among them.
    pub without_count: u64,
    /// What they did there.
    #[serde(flatten)]
    pub figures: TargetFigures,
}

/// What was done on one target.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TargetFigures {
    /// Its name.
    pub target: String,
    /// Reads, writes and trims together; synchronising operations are not in it.
    pub all: TargetKind,
    /// One entry per kind that occurred: `read`, `write`, `trim`, `sync`.
    pub kinds: Vec<TargetKind>,
}

/// What operations of one kind did on one target, or of several together. Times are null without an operation.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TargetKind {
    /// `all`, `read`, `write`, `trim` or `sync`.
    pub kind: String,
    /// Operations completed without an error.
    pub operations: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// `operations` ÷ length of the window.
    pub iops: f64,
    /// `bytes` ÷ length of the window.
    pub bytes_per_s: f64,
    /// Operations that failed; they are in no other figure.
    pub errors: u64,
    /// Mean from submitted to completed, nanoseconds.
    pub service_mean_ns: Option<f64>,
    /// Largest of them, nanoseconds.
    pub service_max_ns: Option<u64>,
    /// Mean from intended start to completed, nanoseconds; the same as `service_mean_ns` in a closed loop.
    pub response_mean_ns: Option<f64>,
    /// Largest of them, nanoseconds.
    pub response_max_ns: Option<u64>,
}

/// Streams that are reported together.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GroupSummary {
    /// Its number, from 1.
    pub number: u32,
    /// Names of its streams, in plan order.
    pub streams: Vec<String>,
    /// All of them together, over the window from the first start to the last end among them.
    pub total: Totals,
}

/// A swept option and its value.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Parameter {
    /// Path of the option, e.g. `stream.queue_depth`.
    pub name: String,
    /// Its value as text.
    pub value: String,
}

/// One stream.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StreamSummary {
    /// Its name.
    pub name: String,
    /// What it does, in a few words: `random 70 % read 30 % write 8 KiB`.
    pub workload: String,
    /// Engine: `null`, `sim`, `psync`, `io_uring`, `libaio`.
    pub engine: String,
    /// False when its operations are no I/O (`cpuio`): totals of several streams leave it out.
    pub adds_up: bool,
    /// True when the page cache is passed by.
    pub direct: bool,
    /// Number of workers.
    pub workers: u64,
    /// Operations asked to be in flight, over all workers; where a latency was to be kept (`latency_target`), the depth that
    /// was found.
    pub queue_depth: u64,
    /// Whether the search for that depth came to its end: else the search itself is what was measured, and `queue_depth` the
    /// depth that it looked at last. Null without a search.
    pub depth_is_settled: Option<bool>,
    /// Mean number of operations in flight in the measure phase, over all workers; in a closed loop as long as operations were issued.
    pub queue_depth_held: f64,
    /// Little's ratio, (throughput × mean service time) ÷ L. In a closed loop L is the queue depth: 1 when the queue was always
    /// full. At a rate it is the mean number in flight: 1 when times and operations in flight were counted alike. Operations
    /// that failed are in it with the time that they took, and those that outlast the window with all of theirs. Null where
    /// no operation ended.
    pub little_ratio: Option<f64>,
    /// Share of its measure phase that the busiest worker was on a CPU, 0 to 1; the mean of the workers for a step
    /// without an end.
    pub worker_cpu_share: f64,
    /// CPU time of all workers in user mode, seconds; null for a step without an end.
    pub user_s: Option<f64>,
    /// CPU time of all workers in the kernel, seconds; null for a step without an end.
    pub system_s: Option<f64>,
    /// Asked operations per second; null in a closed loop.
    pub rate_per_s: Option<f64>,
    /// Arrivals that came due (open loop).
    pub arrivals: u64,
    /// Those of them that came due while no slot was free (open loop).
    pub arrivals_late: u64,
    /// Those of them that were given up since more waited than `backlog` lets (open loop).
    pub arrivals_dropped: u64,
    /// Most arrivals waiting at once (open loop). Of several workers, the most that waited in each within an interval are added
    /// up, and this is the largest such sum: no more than these waited at once.
    pub backlog_max: u64,
    /// Arrivals that had come due at the end and were not issued (open loop). In response times each counts as one that took as
    /// long as it had waited, the least that it would have taken: percentiles are lower bounds then.
    pub waiting_at_end: u64,
    /// For how long the oldest of them had waited, seconds; null where none waited.
    pub oldest_waiting_s: Option<f64>,
    /// What verification came to; null where nothing was verified.
    pub verified: Option<VerifySummary>,
    /// Connections that were opened anew; null where they stay.
    pub connections: Option<ConnectionFigures>,
    /// Totals of the measure phase, over the window from the first worker's start to the last one's end.
    pub total: Totals,
    /// Targets it goes to.
    pub target_count: u64,
    /// The same figures by target, over the same window: they add up to `total`. Empty where it goes to one target alone, where
    /// it goes to more than 64, which are not counted apart, and in records of before they were.
    pub targets: Vec<TargetFigures>,
    /// One point per interval, ramp included and marked. In a long record (more than 16,384 intervals of all streams
    /// together) a point stands for up to 16, 256 or 4,096 intervals.
    pub series: Vec<Point>,
}

/// Connections that were closed in the measure phase, each counted from the moment at which it began to be opened.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ConnectionFigures {
    /// How many.
    pub count: u64,
    /// Per second.
    pub per_s: f64,
    /// Mean time from opening to close, seconds.
    pub mean_s: f64,
    /// The longest, seconds.
    pub max_s: f64,
}

/// What verification of a stream came to.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct VerifySummary {
    /// Operations whose data was looked at.
    pub checked: u64,
    /// Writes that were not read back, since later ones cover at least a part of their place.
    pub superseded: u64,
    /// Operations in which something was wrong.
    pub mismatches: u64,
    /// The same by what was found first: `zeroed`, `no_header`, `header`, `length`, `misplaced`, `stale`, `other_kind`,
    /// `data`, `pattern`, `short`.
    pub mismatches_by_kind: Vec<MismatchCount>,
    /// Reads of the verify phases, which are no part of the totals.
    pub read: KindSummary,
    /// How long the verify phases of the slowest worker took together, seconds.
    pub elapsed_s: f64,
}

/// Mismatches of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MismatchCount {
    /// Its name.
    pub kind: String,
    /// How many.
    pub count: u64,
}

/// Figures of a window.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Totals {
    /// Start of the window, seconds since the step's start.
    pub start_s: f64,
    /// End of the window, seconds since the step's start.
    pub end_s: f64,
    /// Reads, writes and trims together; synchronising operations are not in it.
    pub all: KindSummary,
    /// One entry per kind that occurred: `read`, `write`, `trim`, `sync`.
    pub kinds: Vec<KindSummary>,
}

/// Figures of one kind of operation, or of several together.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct KindSummary {
    /// `all`, `read`, `write`, `trim` or `sync`.
    pub kind: String,
    /// Operations completed without an error.
    pub operations: u64,
    /// Bytes they moved.
    pub bytes: u64,
    /// `operations` ÷ length of the window.
    pub iops: f64,
    /// `bytes` ÷ length of the window.
    pub bytes_per_s: f64,
    /// Operations among them that moved fewer bytes than asked.
    pub short: u64,
    /// Operations that failed; they are in no other figure. As with all figures those of `all` are of reads, writes and trims: failed
    /// syncs are among their kind alone.
    pub errors: u64,
    /// Those by error number.
    pub errors_by_number: Vec<ErrorCount>,
    /// Submitted → completed.
    pub service: LatencySummary,
    /// Intended start → completed; the same as `service` in a closed loop.
    pub response: LatencySummary,
}

/// Failed operations of one error number.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ErrorCount {
    /// The number (`errno`).
    pub errno: i32,
    /// Its name, e.g. `EIO`.
    pub name: String,
    /// How many.
    pub count: u64,
}

/// One latency.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LatencySummary {
    /// How many operations.
    pub count: u64,
    /// Arithmetic mean, nanoseconds.
    pub mean_ns: f64,
    /// Sample standard deviation, nanoseconds.
    pub stddev_ns: f64,
    /// Smallest, nanoseconds; 0 when there is none.
    pub min_ns: u64,
    /// Largest, nanoseconds; 0 when there is none.
    pub max_ns: u64,
    /// Nearest-rank percentiles: the smallest value that at least p % of the operations do not exceed, to 0.4 %.
    pub percentiles: Vec<Percentile>,
}

impl LatencySummary {
    /// The percentile `percent` (one of those in `percentiles`), nanoseconds.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        self.percentiles.iter().find(|percentile| percentile.percent == percent)?.ns
    }
}

/// One percentile.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Percentile {
    /// Which, 0 to 100.
    pub percent: f64,
    /// Its value, nanoseconds; null when there are fewer than `needs` operations.
    pub ns: Option<u64>,
    /// Operations from which on at least one lies beyond it.
    pub needs: u64,
}

/// One interval of one stream.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// Start, seconds since the step's start.
    pub start_s: f64,
    /// End, seconds since the step's start.
    pub end_s: f64,
    /// `ramp` or `measure`.
    pub phase: String,
    /// True when it came late: it covers more than one edge, or is the part of some workers beside a row of the others.
    pub late: bool,
    /// Reads, writes and trims per second.
    pub iops: f64,
    /// Bytes they moved per second.
    pub bytes_per_s: f64,
    /// Failed operations of all kinds, syncs included.
    pub errors: u64,
    /// Mean response time, nanoseconds; null without an operation.
    pub mean_ns: Option<f64>,
    /// Median response time, nanoseconds; null without an operation.
    pub p50_ns: Option<u64>,
    /// p99 of the response time, nanoseconds, of however few operations; null without one.
    pub p99_ns: Option<u64>,
    /// Mean number of operations in flight.
    pub queue_depth_held: f64,
}

/// What the kernel counted on one block device.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DeviceSummary {
    /// Kernel name.
    pub name: String,
    /// Completed reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Reads merged into others.
    pub read_merges: u64,
    /// Completed writes.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Writes merged into others.
    pub write_merges: u64,
    /// Completed discards.
    pub discards: u64,
    /// Bytes discarded.
    pub discard_bytes: u64,
    /// Completed flushes.
    pub flushes: u64,
    /// Share of the time with at least one request in flight, 0 to 1.
    pub busy_share: f64,
    /// Mean number of requests in flight.
    pub queue_depth: f64,
}

/// Something the reader of a result should know.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct NoteSummary {
    /// When, seconds since the run's start.
    pub at_s: f64,
    /// `engine`, `job`, `target`, `late_interval`, `io_error` or `environment`.
    pub kind: String,
    /// `invalid`, `warn` or `info`.
    pub severity: String,
    /// In words.
    pub message: String,
}

/// The host that ran it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HostSummary {
    /// Its name.
    pub name: String,
    /// Model of its processors; empty when unknown.
    pub cpu_model: String,
    /// Processors the run could use.
    pub cpus: u64,
    /// Its memory.
    pub memory_bytes: u64,
    /// Operations per second of one worker without a device, as `fathom doctor` measured on the host as it was; null when
    /// it did not.
    pub ceiling_per_s: Option<f64>,
    /// The same with engines that move bytes, by name, from the page cache; empty when that was not measured.
    pub engine_ceilings_per_s: BTreeMap<String, f64>,
    /// What the job's paths were before the run.
    pub targets: Vec<TargetSummary>,
}

/// What was at one path before the run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TargetSummary {
    /// The path as the job has it.
    pub path: String,
    /// `absent`, `no_folder`, `file`, `folder`, `block_device`, `memory_device` or `other`.
    pub kind: String,
    /// Size of the file or device; null when nothing is there.
    pub size_bytes: Option<u64>,
    /// Kind of the filesystem that a file lies on, or would lie on.
    pub filesystem: Option<String>,
    /// Its mount options.
    pub mount_options: Option<String>,
    /// Kernel name of the block device, or of the one under the filesystem.
    pub device: Option<String>,
    /// Its model; empty when unknown.
    pub model: Option<String>,
    /// Its serial number; empty when unknown.
    pub serial: Option<String>,
}

/// One fact about the host.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EnvironmentSummary {
    /// What it is about.
    pub subject: String,
    /// Its name.
    pub name: String,
    /// Its value as text; null when the host does not have it.
    pub value: Option<String>,
    /// The same in bytes, where it is a size; null elsewhere.
    pub bytes: Option<u64>,
    /// Where it was read.
    pub source: String,
}

/// What a drive said of itself: SMART of ATA and SCSI, the health log of `NVMe`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DriveSummary {
    /// Its kernel name.
    pub device: String,
    /// Why it said nothing when it was asked last; null when it did.
    pub silent: Option<String>,
    /// What it said, in its order.
    pub facts: Vec<DriveFactSummary>,
}

/// One thing that a drive said of itself.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DriveFactSummary {
    /// Its name: `pending sectors`, `media errors`, `wear` …
    pub name: String,
    /// At the run's start; null when it said nothing of it then.
    pub before: Option<String>,
    /// At its end; null also when the run has none.
    pub after: Option<String>,
}

/// One text of the job.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Source {
    /// File name.
    pub name: String,
    /// Content.
    pub text: String,
    /// What stood for the targets of an Iometer configuration, `NAME=PATH`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub maps: Vec<String>,
    /// Bytes that its sectors had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sector_size: Option<u64>,
}
