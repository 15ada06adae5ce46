//! What fio's own outputs need beyond the model: clones, groups, logs, percentiles. Plain data, filled by lowering.

/// Everything of a fio job that fathom's model has no place for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extras {
    /// fio's jobs, one per clone, in the order fio numbers them.
    pub clones: Vec<JobClone>,
    /// Options of all `[global]` sections, canonical names, in the order fio keeps them; a flag has an empty value.
    pub globals: Vec<(String, String)>,
    /// The jobs of each job file as a command line, as fio's `--showcmd` prints it.
    pub command_lines: Vec<String>,
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
    /// Whether it is reported at all (`stats`).
    pub is_reported: bool,
    /// Whether it is reported together with its group.
    pub group_reporting: bool,
    /// Whether it goes on after errors (`continue_on_error`), which are then counted in outputs.
    pub continues_on_error: bool,
    /// Percentages of the percentiles to report.
    pub percentiles: Vec<f64>,
    /// Whether the completion latency gets percentiles.
    pub clat_percentiles: bool,
    /// Whether the latency gets percentiles.
    pub lat_percentiles: bool,
    /// Whether the submission latency gets percentiles.
    pub slat_percentiles: bool,
    /// Log files to write.
    pub logs: Logs,
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
    /// Whether the clone's number is part of the name.
    pub per_job: bool,
    /// Averaging window in milliseconds; 0 where fio logs every operation.
    pub average_ms: u64,
    /// Milliseconds between two histogram lines.
    pub histogram_ms: u64,
    /// How often the number of bins is halved, 0 to 6.
    pub coarseness: u8,
}

impl Logs {
    /// True when no log is asked for.
    pub fn are_none(&self) -> bool {
        self.bandwidth.is_none() && self.latency.is_none() && self.iops.is_none() && self.histogram.is_none()
    }
}
