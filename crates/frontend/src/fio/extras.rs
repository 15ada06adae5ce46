//! What fio's own outputs need beyond the model: clones, groups, logs, percentiles. Plain data, filled by lowering.

use fathom_model::{Diagnostic, Span};

/// Everything of a fio job that fathom's model has no place for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extras {
    /// fio's jobs, one per clone, in the order fio numbers them.
    pub clones: Vec<JobClone>,
    /// Options of all `[global]` sections, canonical names, in the order fio keeps them; a flag has an empty value.
    pub globals: Vec<(String, String)>,
    /// Whether there are any, flags without a value included.
    pub has_globals: bool,
    /// The jobs of each job file as a command line, as fio's `--showcmd` prints it.
    pub command_lines: Vec<String>,
    /// Milliseconds between two samples of a rate in fio's reports (`bwavgtime`, `iopsavgtime`): what divides those of all
    /// jobs.
    pub sample_ms: u64,
    /// The folders of `directory`, all of which fio wants to be there, whether or not a job has files in them.
    pub folders: Vec<(String, Span)>,
    /// Streams whose `io_size` is a share that comes to less than a block, and what is to be said of it: fio finds that when
    /// such a job starts, which it then does not.
    pub starved: Vec<(String, Diagnostic)>,
}

/// One of fio's jobs: a section, or one of its `numjobs` clones.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one of fio's own switches")]
pub struct JobClone {
    /// The model's stream that does its work.
    pub stream: String,
    /// Which of the stream's workers, from 0, when one stream stands for all clones.
    pub worker: u32,
    /// `jobname` in outputs.
    pub job_name: String,
    /// `groupid` in outputs, from 0.
    pub group_id: u32,
    /// fio's number of the clone over the whole run, from 1; log files carry it.
    pub thread_number: u32,
    /// Number within its section, from 0; file names carry it.
    pub subjob: u32,
    /// `desc` in outputs.
    pub description: Option<String>,
    /// Index of its section in `Job::echo`, where its own options stand.
    pub echo_index: usize,
    /// Whether it has any, flags without a value included.
    pub has_options: bool,
    /// Whether it is reported at all (`stats`).
    pub is_reported: bool,
    /// Whether it is reported together with its group.
    pub group_reporting: bool,
    /// Whether it goes on after errors (`continue_on_error`), which are then counted in outputs.
    pub continues_on_error: bool,
    /// What a search for a queue depth is to keep, whether there is one or not: share of the operations in percent
    /// (`latency_percentile`), and the microseconds of a window (`latency_window`).
    pub kept_latency: (f64, u64),
    /// Percentages of the percentiles to report.
    pub percentiles: Vec<f64>,
    /// Digits behind the point of their names.
    pub percentile_digits: usize,
    /// Whether the completion latency gets percentiles.
    pub clat_percentiles: bool,
    /// Whether the latency gets percentiles.
    pub lat_percentiles: bool,
    /// Whether the submission latency gets percentiles.
    pub slat_percentiles: bool,
    /// Whether operations have I/O priorities of their own (`cmdprio_percentage`, `cmdprio_bssplit`), which fio's reports tell
    /// apart.
    pub has_priorities: bool,
    /// Which directions are put together (`unified_rw_reporting`).
    pub unified: Unified,
    /// What is shown of latencies and rates (`disable_lat` and its kin).
    pub measures: Measures,
    /// How bandwidth is written.
    pub units: ReportUnits,
    /// Whether the counters of its devices are shown (`disk_util`).
    pub disk_util: bool,
    /// `rw`, as written.
    pub rw: String,
    /// Smallest and largest block of reads, writes and trims, bytes.
    pub block_sizes: [(u64, u64); 3],
    /// `ioengine`.
    pub engine: String,
    /// `thread`.
    pub is_thread: bool,
    /// `iodepth`, as written.
    pub queue_depth: u64,
    /// Where an operation is a call on a file's name: fio's I/Os for each, and bytes of one.
    pub names: Option<(u64, u64)>,
    /// Of a job that keeps CPUs busy: percent, and microseconds at a stretch.
    pub cpu: Option<(u64, u64, &'static str)>,
    /// Whether a state of verification is written when it ends (`verify_state_save`), if it verifies at all.
    pub saves_state: bool,
    /// Log files to write.
    pub logs: Logs,
    /// Milliseconds between two samples of its bandwidth and of its operations per second (`bwavgtime`, `iopsavgtime`).
    pub sample_ms: [u64; 2],
    /// What it is held to, which the line of `--eta` says.
    pub rates: HeldTo,
}

/// Rates of all directions of a job together, per second; 0 where none is given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HeldTo {
    /// `rate_min`.
    pub bytes_min: u64,
    /// `rate`.
    pub bytes: u64,
    /// `rate_iops_min`.
    pub operations_min: u64,
    /// `rate_iops`.
    pub operations: u64,
}

/// `unified_rw_reporting`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unified {
    /// Each direction for itself.
    #[default]
    Separate,
    /// All of them as one.
    Mixed,
    /// Each, and all of them as one.
    Both,
}

/// What a job was not told to leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one of fio's own switches")]
pub struct Measures {
    /// Submission latency.
    pub submission: bool,
    /// Completion latency.
    pub completion: bool,
    /// The sum of both.
    pub service: bool,
    /// Bandwidth and operations over time.
    pub bandwidth: bool,
}

impl Default for Measures {
    fn default() -> Self {
        Self { submission: true, completion: true, service: true, bandwidth: true }
    }
}

/// How bandwidth is written (`kb_base`, `unit_base`, `significant_figures`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportUnits {
    /// Binary prefixes first.
    pub is_binary: bool,
    /// Bits instead of bytes.
    pub is_bits: bool,
    /// Digits, 1 to 10.
    pub digits: u64,
}

impl Default for ReportUnits {
    fn default() -> Self {
        Self { is_binary: true, is_bits: false, digits: 4 }
    }
}

/// Log files of one clone. A prefix is the file name before `_bw.N.log` and its kin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Logs {
    /// Bandwidth.
    pub bandwidth: Option<String>,
    /// Latencies.
    pub latency: Option<String>,
    /// Operations per second.
    pub iops: Option<String>,
    /// Histograms of the completion latency.
    pub histogram: Option<String>,
    /// The file that operations are added to as they were issued (`write_iolog`).
    pub issued: Option<String>,
    /// Whether the clone's number is part of the name.
    pub per_job: bool,
    /// Whether rows are written in fio's binary form, compressed (`log_store_compressed`).
    pub is_stored: bool,
    /// Which figure of a window a row says.
    pub value: LogValue,
    /// What else a row says.
    pub columns: LogColumns,
    /// Averaging windows of bandwidth and of operations per second, in milliseconds; 0: every operation has a row.
    pub rate_ms: [u64; 2],
    /// The same of the others.
    pub average_ms: u64,
    /// Milliseconds between two histogram lines.
    pub histogram_ms: u64,
    /// How often the number of bins is halved, 0 to 6.
    pub coarseness: u8,
}

/// Which figure of a window a row of a log says (`log_window_value`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogValue {
    /// The mean.
    #[default]
    Average,
    /// The largest.
    Maximum,
    /// Both.
    Both,
}

/// What else a row of a log says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one of fio's own switches")]
pub struct LogColumns {
    /// The offset.
    pub offset: bool,
    /// The priority in hexadecimal.
    pub priority: bool,
    /// When it was issued.
    pub issue_time: bool,
    /// Times count from 1970.
    pub since_1970: bool,
}

impl Logs {
    /// Whether every single operation is wanted.
    pub fn are_of_operations(&self) -> bool {
        let is_series = self.bandwidth.is_some() || self.latency.is_some() || self.iops.is_some();
        is_series && self.average_ms == 0
    }

    /// True when no log is asked for.
    pub fn are_none(&self) -> bool {
        let Self { bandwidth, latency, iops, histogram, issued, .. } = self;
        [bandwidth, latency, iops, histogram, issued].into_iter().all(Option::is_none)
    }
}
