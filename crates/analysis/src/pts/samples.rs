//! The samples of a load that lasts longer than one: what was done in each stretch of a test, and how often the target had been filled by
//! then. Does not know what becomes of them.

use super::answer::{Minute, capacity, five_nines_s, kinds};
use super::flow::{Cell, Place};
use fathom_metrics::merge_latency;
use fathom_schema::{LatencyTally, OperationKind, SteadyQuestion, StepRecord};
use fathom_units::{Bytes, Nanos};
use std::collections::BTreeMap;

/// What came in one sample.
#[derive(Default)]
struct Bin {
    /// From when to when it was measured: what came late is a row of its own beside that of the others.
    spans: Vec<(Nanos, Nanos)>,
    /// The same of what came late, which may reach over samples behind it.
    late: Vec<(Nanos, Nanos)>,
    operations: u64,
    bytes: u64,
    written: u64,
    response: LatencyTally,
}

/// The load of a part in samples; none where every cell is one by itself. No sample is of two steps, whose loads may differ.
pub(super) fn minutes(
    cells: &[Cell],
    steps: &[(Place, &StepRecord)],
    question: &SteadyQuestion,
) -> Vec<Minute> {
    let sample = Nanos(Nanos::secs(60).0 / u64::from(question.haste)).max(Nanos(1));
    if cells.iter().all(|cell| cell.time <= sample) {
        return Vec::new();
    }
    let load_of = |place: &Place| {
        let own = cells.get(place.cell)?;
        cells.iter().position(|cell| cell.is_same_load(own))
    };
    let mut all = Vec::new();
    let (mut base, mut written) = (Nanos::ZERO, 0_u64);
    for (place, step) in steps {
        let capacity = capacity(step);
        let mut bins: BTreeMap<u64, Bin> = BTreeMap::new();
        let mut length = step.finished.as_ref().map_or(Nanos::ZERO, |finished| finished.elapsed);
        // Less than half of a sample that is left at the end belongs to the one before.
        let end = step.intervals.iter().map(|interval| interval.end.0).max().unwrap_or(0);
        let last = (end.saturating_add(sample.0 / 2) / sample.0).saturating_sub(1);
        for interval in &step.intervals {
            length = length.max(interval.end);
            let at = (interval.start.0 / sample.0).min(last);
            let bin = bins.entry(at).or_default();
            let spans = if interval.late { &mut bin.late } else { &mut bin.spans };
            spans.push((interval.start, interval.end));
            for kind in kinds(&interval.tally) {
                bin.operations += kind.operations;
                bin.bytes += kind.bytes;
                bin.written += if kind.kind == OperationKind::Write { kind.bytes } else { 0 };
                merge_latency(&mut bin.response, kind.response.as_ref().unwrap_or(&kind.service));
            }
        }
        let since = base;
        base = base.after(length);
        let regular: Vec<u64> =
            bins.iter().filter(|(_, bin)| !bin.spans.is_empty()).map(|(at, _)| *at).collect();
        for (at, bin) in bins {
            // What came late has no time that others of its stream told of in a sample behind.
            let next = regular.get(regular.partition_point(|other| *other <= at));
            let until = next.map_or(Nanos::NEVER, |next| Nanos(next * sample.0));
            let late = bin.late.iter().map(|(from, to)| (*from, (*to).min(until)));
            let spans: Vec<(Nanos, Nanos)> = bin.spans.iter().copied().chain(late).collect();
            let end = spans.iter().map(|span| span.1).max().unwrap_or(Nanos::ZERO);
            let seconds = covered(spans).as_secs_f64();
            if seconds == 0.0 {
                continue;
            }
            written += bin.written;
            all.push(Minute {
                end_s: since.after(end).as_secs_f64(),
                iops: bin.operations as f64 / seconds,
                bytes_per_s: bin.bytes as f64 / seconds,
                mean_s: bin.response.moments.mean_ns() / 1e9,
                five_nines_s: five_nines_s(&bin.response),
                max_s: bin.response.moments.max_ns as f64 / 1e9,
                fills: if capacity > 0.0 { written as f64 / capacity } else { 0.0 },
                written: Bytes(written),
                load: load_of(place).unwrap_or(0),
            });
        }
    }
    all
}

/// The time that lies in any of these stretches.
fn covered(mut spans: Vec<(Nanos, Nanos)>) -> Nanos {
    spans.sort_unstable();
    let mut until = Nanos::ZERO;
    let mut sum = Nanos::ZERO;
    for (from, to) in spans {
        sum = sum.after(to.since(from.max(until)));
        until = until.max(to);
    }
    sum
}
