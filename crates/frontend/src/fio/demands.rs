//! What a fio job has to keep, its part in a flow, how its pauses come and its queue refills, as its options say it.

use super::values::Triple;
use fathom_model::Steady;

/// See the module; 0 everywhere: not asked for.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one of fio's own switches")]
pub(crate) struct Demands {
    /// Bytes per second, at least, per direction.
    pub(crate) rate_min: Triple<u64>,
    /// Operations per second, at least, per direction.
    pub(crate) rate_iops_min: Triple<u64>,
    /// Milliseconds over which both are looked at; absent: 1000.
    pub(crate) rate_cycle_ms: Option<u64>,
    /// Microseconds, at most, per direction.
    pub(crate) max_latency: Triple<u64>,
    /// Weight in a flow.
    pub(crate) flow: u64,
    /// Which flow.
    pub(crate) flow_id: u64,
    /// Microseconds.
    pub(crate) flow_sleep: u64,
    /// Microseconds of load between pauses.
    pub(crate) think_iotime: u64,
    /// Microseconds of a pause that are spent busy.
    pub(crate) think_spin: u64,
    /// Whether operations between pauses are counted when they are issued.
    pub(crate) think_by_issue: bool,
    /// Whether `thinktime_blocks` was given.
    pub(crate) think_counts: bool,
    /// Whether a pause puts off what a rate makes due after it.
    pub(crate) think_puts_off: bool,
    /// Operations in flight at which a queue that was full refills.
    pub(crate) depth_low: u64,
    /// Completions taken up at once.
    pub(crate) complete_max: u64,
    /// Operations wait for those in flight that touch their place.
    pub(crate) serialize_overlap: bool,
    /// Nice value.
    pub(crate) nice: i32,
    /// Level of the I/O priority.
    pub(crate) prio: Option<u64>,
    /// Its class.
    pub(crate) prio_class: u64,
    /// Microseconds that the queue depth is to keep; 0: it is given.
    pub(crate) latency_target: u64,
    /// Microseconds over which a depth is looked at.
    pub(crate) latency_window: u64,
    /// Percent of the operations that keep it; absent: all.
    pub(crate) latency_percent: Option<f64>,
    /// Whether the search goes on.
    pub(crate) latency_run: bool,
    /// What ends the job as its steady state; without it fio's own.
    pub(crate) steady: Option<Steady>,
    /// Microseconds of a window of it; 0: there is none.
    pub(crate) steady_window: u64,
    /// Microseconds before the first.
    pub(crate) steady_after: u64,
    /// Microseconds of a sample; 0: fio's own.
    pub(crate) steady_every: u64,
}

impl Demands {
    /// See `JobClone::kept_latency`.
    pub(crate) fn kept_latency(&self) -> (f64, u64) {
        (self.latency_percent.unwrap_or(100.0), self.latency_window)
    }
}
