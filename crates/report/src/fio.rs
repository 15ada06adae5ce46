//! fio's reports and log files out of a record, as fio 3.33 writes them, so that scripts made for it go on working. Owns
//! which of our figures stands for which of fio's; does not know job files: what fio would echo of them is handed in.

mod beside;
mod disks;
mod document;
mod figures;
mod logs;
mod node;
mod normal;
mod numbers;
mod settling;
mod stored;
mod sums;
mod terse;

pub use document::fio_json;
pub use logs::{
    FioLog, LogColumns, LogRequest, LogValue, fio_aggregate_log, fio_logs, fio_operation_log, thread_priority,
};
pub use normal::{FioBanner, fio_banner, fio_error, fio_normal};
pub use numbers::FioUnits;
pub use stored::{NotInflated, fio_inflated, fio_stored_log};
pub use terse::fio_terse;

use fathom_schema::{DeviceCounters, LatencyTally, OperationKind, SparseHistogram};
use fathom_units::Nanos;

/// What the reports say that no record holds.
#[derive(Debug, Clone, PartialEq)]
pub struct FioShape {
    /// One per element of `jobs`.
    pub entries: Vec<FioEntry>,
    /// Options of the `[global]` section that have values.
    pub globals: Vec<(String, String)>,
    /// Whether it has any, flags included: absent from the document where it has none.
    pub has_globals: bool,
    /// Value of `fio version`.
    pub version: String,
    /// Seconds until all jobs are done; 0 of those that are.
    pub eta_s: u64,
    /// `--output-format=json+`: histograms beside percentiles.
    pub json_plus: bool,
    /// Whether the devices' counters are printed (`disk_util`).
    pub disk_util: bool,
    /// What the devices under a step that still runs have counted by now; empty when none runs.
    pub running: Vec<DeviceCounters>,
    /// How idle the CPUs were (`--idle-prof`).
    pub idleness: Option<FioIdleness>,
    /// The process that ran the jobs.
    pub pid: u32,
}

/// What `--idle-prof` shows.
#[derive(Debug, Clone, PartialEq)]
pub struct FioIdleness {
    /// Of all CPUs together, percent.
    pub system: f64,
    /// Of each CPU, percent; empty where only the system is shown.
    pub cpus: Vec<f64>,
    /// What a unit of work takes, microseconds: the mean over the CPUs.
    pub unit_mean_us: f64,
    /// Its standard deviation over the CPUs, microseconds.
    pub unit_stddev_us: f64,
}

/// One element of `jobs`: a clone of a job section, or a reporting group.
#[derive(Debug, Clone, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one of fio's own switches")]
pub struct FioEntry {
    /// Name of the section.
    pub jobname: String,
    /// Number of the reporting group.
    pub groupid: u32,
    /// How many of fio's jobs it stands for.
    pub members: u32,
    /// `iodepth` of the last of them, which synchronous engines do not reach.
    pub queue_depth: u32,
    /// The option `description`; absent from the document when empty.
    pub desc: String,
    /// Options that have values, in order, as the section has them.
    pub options: Vec<(String, String)>,
    /// Whether it has any, flags included: absent from the document where it has none.
    pub has_options: bool,
    /// Whose figures are summed up in it.
    pub workers: Vec<FioWorkers>,
    /// Print `total_err` and `first_error`, as fio does when it was told to go on after errors.
    pub continues_on_error: bool,
    /// `latency_percentile`, and the microseconds of `latency_window`, of the last of them.
    pub kept_latency: (f64, u64),
    /// Percentiles to print, 0 to 100.
    pub percentiles: Vec<f64>,
    /// Digits behind the point of a percentile's name in the normal report.
    pub percentile_digits: usize,
    /// Print them under `slat_ns`.
    pub slat_percentiles: bool,
    /// Print them under `clat_ns`.
    pub clat_percentiles: bool,
    /// Print them under `lat_ns`.
    pub lat_percentiles: bool,
    /// Which directions are put together.
    pub unified: FioUnified,
    /// What is printed of latencies and rates.
    pub measures: FioMeasures,
    /// How bandwidth is written in the normal report.
    pub units: FioUnits,
    /// How fio counts operations that are calls on names.
    pub names: Option<FioNames>,
    /// They keep a CPU busy: fio counts them, and has neither bytes nor a runtime for them.
    pub is_of_cpu: bool,
    /// Distribution of its submission latencies by kind, where it was collected.
    pub submissions: Vec<(OperationKind, SparseHistogram)>,
    /// Latencies by kind and I/O priority, where operations have priorities of their own; in rising order of both.
    pub priorities: Vec<FioPriority>,
    /// It, or one of those that it stands for, could not start.
    pub not_started: Option<FioNotStarted>,
    /// Time between two samples of its bandwidth and of its operations per second.
    pub sampling: FioSampling,
}

/// How long the samples are of which the minimum, mean and deviation of rates are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FioSampling {
    /// `bwavgtime`.
    pub bandwidth: Nanos,
    /// `iopsavgtime`.
    pub operations: Nanos,
}

impl Default for FioSampling {
    fn default() -> Self {
        Self { bandwidth: Nanos::millis(500), operations: Nanos::millis(500) }
    }
}

/// The latencies of the operations of one kind that had one I/O priority: total ones where those have percentiles, else
/// completion latencies.
#[derive(Debug, Clone, PartialEq)]
pub struct FioPriority {
    /// What they did.
    pub kind: OperationKind,
    /// As `ioprio_set(2)` has it: the class in the upper three bits, the level below.
    pub priority: u16,
    /// Their latencies.
    pub latency: LatencyTally,
}

/// What is said of a job that could not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FioNotStarted {
    /// Its error.
    pub errno: i32,
}

/// How fio counts calls on the names of files: as I/Os on all blocks of each file, and it times the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FioNames {
    /// I/Os for each call.
    pub blocks: u64,
    /// Bytes of each of them.
    pub block_bytes: u64,
}

/// `unified_rw_reporting`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum FioUnified {
    /// Each direction for itself.
    #[default]
    Separate,
    /// All of them as one.
    Mixed,
    /// Each, and all of them as one.
    Both,
}

/// What a job was not told to leave out (`disable_lat` and its kin).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FioMeasures {
    /// `slat`.
    pub submission: bool,
    /// `clat`, and the classes of latency.
    pub completion: bool,
    /// `lat`.
    pub service: bool,
}

impl Default for FioMeasures {
    fn default() -> Self {
        Self { submission: true, completion: true, service: true }
    }
}

/// One worker of a stream, or all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FioWorkers {
    /// Position of the step in the record.
    pub step: usize,
    /// Position of the stream in the step.
    pub stream: usize,
    /// Position of the worker in the stream; `None` for all of them.
    pub worker: Option<usize>,
}
