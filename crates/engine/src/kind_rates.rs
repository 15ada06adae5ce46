//! Rates that some kinds of a closed loop's operations do not exceed, while the others come as fast as they can. It knows when
//! the next operation of such a kind is due; which operation comes is the generator's business.

use fathom_pattern::rng::{Purpose, derive};
use fathom_pattern::{Arrivals, Planned};
use fathom_schema::{KindRate, OperationKind, Pacing, RateUnit, SharePart, Stream};
use fathom_units::Nanos;

/// How much of what a stall held up is made up for after it: an operation that waits for the one before it to end is no loss of
/// rate, but what is "at most" is no burst of a minute's operations either.
const CATCH_UP_MAX: Nanos = Nanos::secs(1);

/// The rates of one worker.
#[derive(Debug)]
pub(crate) struct KindRates {
    limited: Vec<Limited>,
}

#[derive(Debug)]
struct Limited {
    kind: OperationKind,
    arrivals: Arrivals,
    /// What its schedule counts from.
    origin: Nanos,
    /// When the next operation of it may go.
    due: Nanos,
    /// Where operations count by their bytes: how many one has on average.
    mean_bytes: Option<f64>,
}

impl KindRates {
    /// Those of the worker `index` of a stream, whose seed is `seed`; `None` where all kinds come as fast as they can.
    pub(crate) fn of(stream: &Stream, index: u32, seed: u64) -> Option<Box<Self>> {
        if stream.kind_rates.is_empty() || matches!(stream.pacing, Pacing::Open { .. }) {
            return None;
        }
        let count = u32::try_from(stream.workers.len()).unwrap_or(u32::MAX).max(1);
        let part = SharePart { index, count };
        let limited = |&KindRate { kind, unit, per_second, arrival }: &KindRate| {
            let seed = derive(seed, Purpose::Arrival, 1 + kind.index() as u64);
            let (arrivals, mean_bytes) = match unit {
                RateUnit::Operations => (Arrivals::new(per_second, arrival, &[], part, seed), None),
                RateUnit::Bytes => {
                    let mean = mean_bytes(stream, kind);
                    (Arrivals::scaled(per_second / mean, arrival, &[], part, seed), Some(mean))
                }
            };
            Limited { kind, arrivals, origin: Nanos::ZERO, due: Nanos::ZERO, mean_bytes }
        };
        let limited = stream.kind_rates.iter().map(limited).collect();
        Some(Box::new(Self { limited }))
    }

    /// The load begins.
    pub(crate) fn begin(&mut self, origin: Nanos) {
        for limited in &mut self.limited {
            limited.origin = origin;
            limited.due = origin.after(Nanos(limited.arrivals.next_ns()));
        }
    }

    /// The kinds of which an operation may go now, as a set of bits by their index.
    #[inline]
    pub(crate) fn may_go(&mut self, now: Nanos) -> u8 {
        for limited in &mut self.limited {
            let lost = now.since(limited.due.after(CATCH_UP_MAX));
            if lost > Nanos::ZERO {
                limited.origin = limited.origin.after(lost);
                limited.due = limited.due.after(lost);
            }
        }
        let held = self.limited.iter().filter(|limited| limited.due > now);
        held.fold(u8::MAX, |set, limited| set & !(1 << limited.kind.index()))
    }

    /// Takes note of operations that go out.
    #[inline]
    pub(crate) fn note(&mut self, planned: &[Planned]) {
        for planned in planned {
            if let Some(limited) = self.limited.iter_mut().find(|limited| limited.kind == planned.kind) {
                let times = limited.mean_bytes.map_or(1.0, |mean| f64::from(planned.length) / mean);
                limited.due = limited.origin.after(Nanos(limited.arrivals.next_scaled_ns(times)));
            }
        }
    }
}

/// Mean size of the operations of a kind, which the planner saw to be in the mix.
fn mean_bytes(stream: &Stream, kind: OperationKind) -> f64 {
    let cases = stream.workload.cases.iter().filter(|case| case.kind == kind);
    let (weight, bytes) = cases.fold((0.0, 0.0), |(weight, bytes), case| {
        (weight + case.weight, bytes + case.weight * case.size.mean())
    });
    bytes / weight
}
