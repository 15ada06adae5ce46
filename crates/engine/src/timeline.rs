//! When a worker starts, counts and ends.

use fathom_schema::{Quota, Stream, TimeLimit};
use fathom_units::Nanos;

/// Instants of a worker's life, on its clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeline {
    pub(crate) step_start: Nanos,
    pub(crate) start: Nanos,
    pub(crate) measure_start: Nanos,
    pub(crate) measure_end: Nanos,
    pub(crate) interval: Nanos,
}

impl Timeline {
    /// `awaited`: when the streams it waits for had ended, since the step's start.
    pub(crate) fn of(stream: &Stream, step_start: Nanos, awaited: Nanos, interval: Nanos) -> Self {
        let start = step_start.after(stream.start_delay.max(awaited));
        let measure_start = match stream.ramp_bytes {
            Quota::Unlimited => start.after(stream.ramp),
            Quota::AtMost(_) => Nanos::NEVER,
        };
        let measure_end = match stream.limits.time {
            TimeLimit::Unbounded => Nanos::NEVER,
            TimeLimit::Nanoseconds(ns) => measure_start.after(Nanos(ns)),
        };
        Self { step_start, start, measure_start, measure_end, interval }
    }

    /// The first edge after `now`.
    pub(crate) fn next_edge(&self, now: Nanos) -> Nanos {
        let elapsed = now.since(self.step_start).0;
        self.step_start.after(Nanos((elapsed / self.interval.0 + 1).saturating_mul(self.interval.0)))
    }
}
