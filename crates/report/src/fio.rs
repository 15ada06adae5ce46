//! fio's JSON document and log files out of a record, with the key order and number formats of fio 3.33, so that scripts
//! made for it go on working. Owns which of our figures stands for which of fio's; does not know job files: what fio
//! would echo of them is handed in.

mod document;
mod logs;
mod node;
mod sums;

pub use document::fio_json;
pub use logs::{FioLog, LogRequest, fio_logs};

/// What the document says that no record holds.
#[derive(Debug, Clone, PartialEq)]
pub struct FioShape {
    /// One per element of `jobs`.
    pub entries: Vec<FioEntry>,
    /// Options of the `[global]` section; absent from the document when empty.
    pub globals: Vec<(String, String)>,
    /// Value of `fio version`.
    pub version: String,
    /// `--output-format=json+`: histograms beside percentiles.
    pub json_plus: bool,
}

/// One element of `jobs`: a clone of a job section, or a reporting group.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FioEntry {
    /// Name of the section.
    pub jobname: String,
    /// Number of the reporting group.
    pub groupid: u32,
    /// The option `description`; absent from the document when empty.
    pub desc: String,
    /// Options as the section has them, in order; absent from the document when empty.
    pub options: Vec<(String, String)>,
    /// Whose figures are summed up in it.
    pub workers: Vec<FioWorkers>,
    /// Print `total_err` and `first_error`, as fio does when it was told to go on after errors.
    pub continues_on_error: bool,
    /// Percentiles to print, 0 to 100, in this order.
    pub percentiles: Vec<f64>,
    /// Print them under `clat_ns`.
    pub clat_percentiles: bool,
    /// Print them under `lat_ns`.
    pub lat_percentiles: bool,
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
