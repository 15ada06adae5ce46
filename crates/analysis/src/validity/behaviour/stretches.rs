//! The stretches of a step in which the same workers measure, interval by interval. Where a stream or a worker starts or
//! ends, as the job says or since its work is done, throughput changes by the job's own doing: what is judged lies between
//! two such moments. Does not know what is looked for.

use super::{Found, INTERVALS_MIN, Second, StepView, median};
use fathom_metrics::{Latency, merge_tally};
use fathom_schema::{Interval, OperationKind, Pacing, Phase, Severity, StreamTally};
use fathom_units::Nanos;

/// Share of the usual length from which on an interval counts.
const WHOLE_SHARE: f64 = 0.5;
/// Share of an interval at either end of it within which a start or an end is taken for one at its edge: what it brings or
/// takes is then less than what a change of level has to come to.
const EDGE_SHARE: f64 = 0.1;
/// Share of the measured time that all streams have to share, for totals to be of all of them.
const SHARED_MIN: f64 = 0.9;

/// Quantile of latencies that those of operations which did not wait reach, where most of an interval waited.
const QUICK: f64 = 0.1;

/// Intervals throughout which the same workers measured, all streams together; at least one.
pub(super) struct Stretch {
    pub seconds: Vec<Second>,
    /// Whether it begins with the step's measuring.
    pub is_first: bool,
    /// Whether it is the step but for its edges.
    pub is_whole: bool,
}

/// All stretches, in order. Intervals in the midst of which a worker starts or ends are in none.
pub(super) fn stretches(view: &StepView<'_>) -> Vec<Stretch> {
    let edges = edges(view);
    let all = behind_the_ramp(seconds(view), view);
    // Those before a moment are as many as starts and ends there were.
    let before = |at: f64| edges.partition_point(|edge| edge.0 as f64 <= at);
    let key = |second: &Second| {
        let (start, end) = (second.start.0 as f64, second.end.0 as f64);
        let slack = EDGE_SHARE * (end - start);
        let key = before(start + slack);
        (before(end - slack) == key).then_some(key)
    };
    let mut stretches: Vec<(usize, Vec<Second>)> = Vec::new();
    for second in &all {
        let Some(key) = key(second) else { continue };
        match stretches.last_mut().filter(|last| last.0 == key) {
            Some((_, seconds)) => seconds.push(second.clone()),
            None => stretches.push((key, vec![second.clone()])),
        }
    }
    stretches
        .into_iter()
        .enumerate()
        .map(|(at, (_, seconds))| Stretch {
            is_first: at == 0,
            is_whole: seconds.len() as f64 >= SHARED_MIN * all.len() as f64,
            seconds,
        })
        .collect()
}

/// Tells streams that did not measure at the same time.
pub(super) fn check(view: &StepView<'_>, found: &mut Found) {
    let windows: Vec<(&str, Nanos, Nanos)> = view
        .streams()
        .filter(|(stream, measured)| stream.engine.kind.adds_up() && measured.end > measured.start)
        .map(|(stream, measured)| (stream.name.as_str(), measured.start, measured.end))
        .collect();
    let Some(&(shortest, start, end)) = windows.iter().min_by_key(|(_, start, end)| end.since(*start)) else {
        return;
    };
    // From here to there all measure, and from there to there any does.
    let starts = || windows.iter().map(|window| window.1);
    let ends = || windows.iter().map(|window| window.2);
    let span = |from: Option<Nanos>, to: Option<Nanos>| {
        Nanos(to.unwrap_or_default().0.saturating_sub(from.unwrap_or_default().0))
    };
    let (shared, whole) = (span(starts().max(), ends().min()), span(starts().min(), ends().max()));
    let is_long = whole.0 >= view.step.started.step.interval.0.saturating_mul(INTERVALS_MIN as u64);
    if !is_long || shared.0 as f64 >= SHARED_MIN * whole.0 as f64 {
        return;
    }
    let together = match shared {
        Nanos::ZERO => "never all at once in".to_owned(),
        shared => format!("all at once in {} of", shared.approximate()),
    };
    found.weighed(
        1.0 - shared.0 as f64 / whole.0 as f64,
        "behaviour.streams-apart",
        Severity::Info,
        format!(
            "{}its {} streams measured {together} {}: \"{shortest}\" from {:.0} s to {:.0} s",
            view.place(),
            windows.len(),
            whole.approximate(),
            start.as_secs_f64(),
            end.as_secs_f64()
        ),
        "totals mix times with different streams: read each stream by itself, or give all of them the same time",
    );
}

/// When workers started and ended to measure, in order; of a step that was killed, when streams did.
fn edges(view: &StepView<'_>) -> Vec<Nanos> {
    let mut edges = Vec::new();
    for (_, measured) in view.streams().filter(|(stream, _)| stream.engine.kind.adds_up()) {
        if measured.workers.is_empty() {
            edges.extend([measured.start, measured.end]);
        }
        edges.extend(measured.workers.iter().flat_map(|worker| [worker.start, worker.end]));
    }
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// The measured intervals, all streams together; those much shorter than the others hold the edge of a phase.
fn seconds(view: &StepView<'_>) -> Vec<Second> {
    let is_meant = |interval: &&Interval| {
        interval.phase == Phase::Measure && view.step.started.step.adds_up(interval.stream as usize)
    };
    let mut measured: Vec<&Interval> = view.step.intervals.iter().filter(is_meant).collect();
    measured.sort_by_key(|interval| interval.sequence);
    let length = |interval: &Interval| interval.end.since(interval.start).as_secs_f64();
    // One that came late is as long as several, and no measure of the others.
    let usual = median(&measured.iter().map(|interval| length(interval)).collect::<Vec<_>>());
    let is_open = |interval: &Interval| {
        let stream = view.step.started.step.streams.get(interval.stream as usize);
        stream.is_some_and(|stream| matches!(stream.pacing, Pacing::Open { .. }))
    };
    let mut all_written = 0.0;
    measured
        .chunk_by(|a, b| a.sequence == b.sequence)
        .filter_map(|group| {
            let seconds = group.iter().map(|interval| length(interval)).fold(0.0, f64::max);
            let mut tally = StreamTally::default();
            group.iter().for_each(|interval| merge_tally(&mut tally, &interval.tally));
            let written = tally.kinds.iter().filter(|kind| kind.kind == OperationKind::Write);
            let written_before = all_written;
            all_written += written.map(|kind| kind.bytes as f64).sum::<f64>();
            let slowest_ns = tally.kinds.iter().map(|kind| kind.service.moments.max_ns).max().unwrap_or(0);
            (seconds >= WHOLE_SHARE * usual && seconds > 0.0).then(|| Second {
                start: group.iter().map(|interval| interval.start).min().unwrap_or_default(),
                end: group.iter().map(|interval| interval.end).max().unwrap_or_default(),
                length: seconds,
                slowest_s: slowest_ns as f64 / 1e9,
                quick_s: quick_ns(&tally).unwrap_or(slowest_ns) as f64 / 1e9,
                in_flight: tally.in_flight_ns / 1e9 / seconds,
                iops: crate::operations(&tally) as f64 / seconds,
                bandwidth: tally.kinds.iter().map(|kind| kind.bytes as f64).sum::<f64>() / seconds,
                due: group.iter().all(|interval| is_open(interval)).then(|| tally.arrivals as f64 / seconds),
                written_before,
            })
        })
        .collect()
}

/// The same without the first, as long as all that ends there was in flight in the ramp and counts nowhere: as long as an operation
/// takes, of a queue that is deep for its device.
fn behind_the_ramp(mut seconds: Vec<Second>, view: &StepView<'_>) -> Vec<Second> {
    let has_ramp = view.step.intervals.iter().any(|interval| interval.phase == Phase::Ramp);
    let is_of_ramp = |second: &&Second| second.iops == 0.0 && second.in_flight >= 1.0;
    let empty = if has_ramp { seconds.iter().take_while(is_of_ramp).count() } else { 0 };
    if empty == 0 || empty == seconds.len() {
        return seconds;
    }
    let takes_s = median(&seconds[empty..].iter().map(|second| second.quick_s).collect::<Vec<_>>());
    let until_s = seconds[0].start.as_secs_f64() + takes_s * (1.0 + EDGE_SHARE);
    if seconds[empty - 1].end.as_secs_f64() <= until_s {
        seconds.drain(..empty);
    }
    seconds
}

/// What nine of ten operations take at least, of the kind that most are of; `None` where latencies were not kept.
fn quick_ns(tally: &StreamTally) -> Option<u64> {
    let most = tally.kinds.iter().max_by_key(|kind| kind.operations)?;
    Latency::quantile_of(&most.service, QUICK)
}
