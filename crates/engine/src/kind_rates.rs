//! Rates that some kinds of a closed loop's operations do not exceed, while the others come as fast as they can. It knows when
//! the next operation of such a kind is due; which operation comes is the generator's business.

use fathom_pattern::rng::{Purpose, derive};
use fathom_pattern::{Arrivals, Planned};
use fathom_schema::{KindRate, OperationKind, Pacing, RateUnit, SharePart, Stream};
use fathom_units::Nanos;

/// The rates of one worker.
#[derive(Debug)]
pub(crate) struct KindRates {
    limited: Vec<Limited>,
    /// What schedule times count from.
    origin: Nanos,
}

#[derive(Debug)]
struct Limited {
    kind: OperationKind,
    arrivals: Arrivals,
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
            Limited { kind, arrivals, due: Nanos::ZERO, mean_bytes }
        };
        let limited = stream.kind_rates.iter().map(limited).collect();
        Some(Box::new(Self { limited, origin: Nanos::ZERO }))
    }

    /// The load begins.
    pub(crate) fn begin(&mut self, origin: Nanos) {
        self.origin = origin;
        for limited in &mut self.limited {
            limited.due = origin.after(Nanos(limited.arrivals.next_ns()));
        }
    }

    /// The kinds of which an operation may go now, as a set of bits by their index.
    #[inline]
    pub(crate) fn may_go(&self, now: Nanos) -> u8 {
        let held = self.limited.iter().filter(|limited| limited.due > now);
        held.fold(u8::MAX, |set, limited| set & !(1 << limited.kind.index()))
    }

    /// Takes note of operations that go out.
    #[inline]
    pub(crate) fn note(&mut self, planned: &[Planned]) {
        for planned in planned {
            if let Some(limited) = self.limited.iter_mut().find(|limited| limited.kind == planned.kind) {
                let times = limited.mean_bytes.map_or(1.0, |mean| f64::from(planned.length) / mean);
                limited.due = self.origin.after(Nanos(limited.arrivals.next_scaled_ns(times)));
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
