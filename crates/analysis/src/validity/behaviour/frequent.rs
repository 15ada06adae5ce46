//! Findings about stalls that come about as often as intervals do: none is usual then, and no interval stands out. They are
//! told by what latencies look like, and where.
//!
//! In a stall of a closed loop all that is in flight waits, so that as many operations as there are slots are slow at once.
//! Slow ones that come for reasons of their own come in other numbers, and long tails have no gap in them.

use super::{Second, StepView};
use crate::validity::Found;
use fathom_metrics::{bucket_bounds, merge_sparse};
use fathom_schema::{
    Interval, OperationKind, Pacing, Phase, Severity, SparseHistogram, Stream, StreamTally, Think,
};
use fathom_units::Nanos;

/// How many times as long as the others slow operations have to take, with nothing in between. Of the greatest values of a
/// Pareto law of exponent 1, which has no mean any more, value k lies so far above the next with a chance of 2^−k (Rényi
/// 1953: logarithms of their ratios are exponential, of rate k); lighter tails have smaller gaps.
const GAP_MIN: f64 = 2.0;
/// Fewest slow operations: 2^−20 + 2^−21 + … are two in a million.
const SLOW_MIN: u64 = 20;
/// Most of them, as a share: more are a second sort of operations, as hits and misses of a cache are.
const SLOW_SHARE_MAX: f64 = 0.05;
/// How many times the median they have to take.
const SLOWER_TIMES: f64 = 20.0;
/// Fewest intervals that hold some, and the part of all: fewer are told as single stalls, or by their rhythm.
const HIT_MIN: usize = 10;
const HIT_PARTS: usize = 3;
/// Share of those intervals in which they have to be as many as there are slots, or a multiple.
const WHOLE_SHARE: f64 = 0.9;
/// Fewest slots: with four, random counts are multiples in every fourth interval, and in nine of ten with 3 in 100,000.
const SLOTS_MIN: u64 = 4;
/// Most of the slots' time that they may take: of more, as many come in each interval for that reason alone. Stalls of 900 ms
/// in each second take 0.9.
const TIME_SHARE_MAX: f64 = 0.92;
/// Least part of the mean of all workers that each has to have of them: what is slow for one worker is that one's target.
const WORKER_SHARE_MIN: f64 = 0.5;

/// Tells frequent stalls. Whether there are some.
pub(super) fn check(seconds: &[Second], view: &StepView<'_>, found: &mut Found) -> bool {
    let step = &view.step.started.step;
    let mut streams = step.streams.iter().enumerate().filter(|(_, stream)| stream.engine.kind.adds_up());
    let (Some((index, stream)), None) = (streams.next(), streams.next()) else { return false };
    let slots = u64::from(stream.queue_depth) * stream.workers.len() as u64;
    let is_closed = matches!(stream.pacing, Pacing::Closed { think: Think::None });
    let (Some(first), Some(last)) = (seconds.first(), seconds.last()) else { return false };
    // Where the depth is searched for, it is not known how many are in flight.
    if !is_closed || slots < SLOTS_MIN || stream.depth_search.is_some() {
        return false;
    }
    let is_meant = |interval: &&Interval| {
        let is_within = interval.start >= first.start && interval.end <= last.end;
        interval.phase == Phase::Measure && interval.stream as usize == index && is_within
    };
    let latencies: Vec<(Nanos, SparseHistogram)> = (view.step.intervals.iter().filter(is_meant))
        .map(|interval| (interval.start, services(&interval.tally)))
        .collect();
    let moves = |kind: OperationKind| matches!(kind, OperationKind::Read | OperationKind::Write);
    let of_kinds = view.measured.get(index).map_or(&[][..], |measured| &measured.tally.kinds);
    // What flushes takes another time for that reason alone.
    if of_kinds.iter().any(|kind| !moves(kind.kind)) {
        return false;
    }
    let mut whole = SparseHistogram::default();
    latencies.iter().for_each(|(_, one)| merge_sparse(&mut whole, one));
    let Some(slow) = Slow::of(&whole) else { return false };
    let length_s = last.end.since(first.start).as_secs_f64();
    if slow.time_s > TIME_SHARE_MAX * slots as f64 * length_s
        || !is_of_all_workers(&slow, stream, index, view)
    {
        return false;
    }
    let hit: Vec<(Nanos, u64)> = latencies
        .iter()
        .map(|(start, one)| (*start, count_from(one.buckets(), slow.from)))
        .filter(|(_, count)| *count > 0)
        .collect();
    let of_all = hit.iter().filter(|(_, count)| count % slots == 0).count();
    if hit.len() < HIT_MIN.max(latencies.len() / HIT_PARTS)
        || (of_all as f64) < WHOLE_SHARE * hit.len() as f64
    {
        return false;
    }
    let count = slow.count as f64 / slots as f64;
    // They may begin late and end early: from the first to the interval that has the last, without those in it.
    let [(first, _), .., (last, in_last)] = hit.as_slice() else { return false };
    let between = count - *in_last as f64 / slots as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time within a step")]
    let period = Nanos((last.since(*first).as_secs_f64() / between * 1e9) as u64).approximate();
    found.mark(view, hit[0].0, format!("stalls about every {period}"));
    found.weighed(
        slow.most_ns as f64 / 1e9,
        "behaviour.stalls",
        Severity::Warn,
        format!(
            "{}stalls about every {period}: {count:.0} times all {slots} operations in flight took {} or longer, up to {}, \
             where the others took {} at most",
            view.place(),
            Nanos(slow.least_ns).approximate(),
            Nanos(slow.most_ns).approximate(),
            Nanos(slow.others_ns).approximate()
        ),
        "something comes regularly: a flush, a trim, a checkpoint, garbage collection; percentiles show what it costs",
    );
    true
}

/// Operations beyond a gap that no tail has.
struct Slow {
    /// First bucket.
    from: u32,
    count: u64,
    /// Slot-seconds that they took.
    time_s: f64,
    /// What they took, and what the others took at most: to the bucket, nanoseconds.
    least_ns: u64,
    most_ns: u64,
    others_ns: u64,
}

impl Slow {
    fn of(whole: &SparseHistogram) -> Option<Self> {
        let buckets: Vec<(u32, u64)> = whole.buckets().collect();
        let all: u64 = buckets.iter().map(|(_, count)| count).sum();
        let mut below = 0;
        let median = buckets.iter().find(|(_, count)| {
            below += count;
            2 * below >= all
        })?;
        let median_ns = bounds(median.0).1 as f64;
        let ratio = |pair: &[(u32, u64)]| bounds(pair[1].0).0 as f64 / (bounds(pair[0].0).1 as f64 + 1.0);
        let is_wide = |pair: &&[(u32, u64)]| {
            let count = count_from(buckets.iter().copied(), pair[1].0);
            ratio(pair) >= GAP_MIN
                && bounds(pair[1].0).0 as f64 >= SLOWER_TIMES * median_ns
                && count >= SLOW_MIN
                && count as f64 <= SLOW_SHARE_MAX * all as f64
        };
        let widest = buckets.windows(2).filter(is_wide).max_by(|a, b| ratio(a).total_cmp(&ratio(b)))?;
        let from = widest[1].0;
        let slow = buckets.iter().filter(|(bucket, _)| *bucket >= from);
        Some(Self {
            from,
            count: count_from(buckets.iter().copied(), from),
            time_s: slow.map(|&(bucket, count)| bounds(bucket).0 as f64 / 1e9 * count as f64).sum(),
            least_ns: bounds(from).0,
            most_ns: bounds(buckets.last()?.0).1,
            others_ns: bounds(widest[0].0).1,
        })
    }
}

/// Whether each worker has its part of them; where nothing is known of workers, there has to be but one.
fn is_of_all_workers(slow: &Slow, stream: &Stream, index: usize, view: &StepView<'_>) -> bool {
    let counts: Vec<u64> = view.measured[index]
        .workers
        .iter()
        .map(|worker| count_from(services(&worker.tally).buckets(), slow.from))
        .collect();
    let mean = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    match stream.workers.len() {
        0 | 1 => true,
        _ => !counts.is_empty() && counts.iter().all(|&count| count as f64 >= WORKER_SHARE_MIN * mean),
    }
}

/// Service times of all kinds.
fn services(tally: &StreamTally) -> SparseHistogram {
    let mut all = SparseHistogram::default();
    tally.kinds.iter().for_each(|kind| merge_sparse(&mut all, &kind.service.histogram));
    all
}

/// Operations in this bucket and those above.
fn count_from(buckets: impl Iterator<Item = (u32, u64)>, from: u32) -> u64 {
    buckets.filter(|&(bucket, _)| bucket >= from).map(|(_, count)| count).sum()
}

fn bounds(bucket: u32) -> (u64, u64) {
    bucket_bounds(bucket as usize)
}
