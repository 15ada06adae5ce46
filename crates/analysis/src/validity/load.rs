//! Checks of the load itself: was the queue full, did the generator keep up, was it long enough. Those of a rate are in
//! `pacing`.

use super::{Found, StepView, pacing};
use crate::measured::{Measured, operations};
use crate::pts;
use fathom_schema::{
    Interval, OperationKind, Pacing, Phase, Question, Quota, Severity, Stop, Stream, TargetKind, Think,
    TimeLimit,
};
use fathom_units::{Iops, Nanos};
use std::collections::BTreeSet;

/// Above this Little's ratio more time was spent in operations than there were queue slots: the accounting is wrong.
/// Of 7,564 fio runs that were looked at none came above 0.9999, so 0.5 % is far outside what measuring can do.
const LITTLE_MAX: f64 = 1.005;
/// Below this ratio the queue was not kept full. The lowest of the same runs was 0.957.
const LITTLE_MIN: f64 = 0.95;
/// Share of the slots of a whole window that are idle for its queue running empty at the end from which on that is told: the rate is
/// lower by as much.
const EMPTIED_MIN: f64 = 0.01;
/// Mean latencies a window that work ends must span before the ratio is the generator's: filling and draining the queue costs about
/// one, which below 50 is 2 % and more of the window.
const LITTLE_LATENCIES_MIN: f64 = 50.0;
/// Share of a worker's time on a CPU above which it has no reserve: in the rest it hands over intervals and is preempted.
const CPU_SHARE_MAX: f64 = 0.90;
/// Share of its time that a worker waits for a CPU below which nobody takes it from it: wakes take some as well.
const WAITED_SHARE_MIN: f64 = 0.05;
/// Share of its time for which a worker waits for a CPU from which on figures are the host's, however little it would do with one: so
/// long are completed operations not seen, and slots that look full are free.
const WAITED_SHARE_MAX: f64 = 0.25;
/// Share of the generator's own ceiling above which a result is as much about the generator: beyond a half, its time per
/// operation is at least as long as the device's.
const CEILING_SHARE_MAX: f64 = 0.5;
/// Shortest measure phase that says something about a device: below, one flush or one garbage collection decides.
pub(super) const MEASURE_MIN: Nanos = Nanos::secs(5);
/// Fewest intervals that show whether the rate was stable.
pub(super) const INTERVALS_MIN: usize = 3;
/// Fewest operations for a two-sided 95 % bound on p99: ln 0.025 ÷ ln 0.99, the order statistics of a
/// binomial.
const P99_OPERATIONS_MIN: u64 = 368;
/// Share of late intervals that spoils the series: one in a hundred is seen as an outlier, more as noise.
const LATE_SHARE_MAX: f64 = 0.01;

pub(super) fn check(view: &StepView<'_>, found: &mut Found) {
    // Sorted out once: ten thousand streams must not each look through the intervals of all.
    let mut by_stream: Vec<Vec<&Interval>> = vec![Vec::new(); view.step.started.step.streams.len()];
    for interval in view.step.intervals.iter().filter(|interval| interval.phase == Phase::Measure) {
        if let Some(of_stream) = by_stream.get_mut(interval.stream as usize) {
            of_stream.push(interval);
        }
    }
    let is_conditioning = match &view.record.started.question {
        Some(Question::Steady(question)) => pts::is_conditioning(question, &view.step.started.step),
        _ => false,
    };
    for ((stream, measured), intervals) in view.streams().zip(by_stream) {
        let place = view.stream_place(stream);
        // Its load was changed in its ramp: the next step is the one that counts.
        let is_left = view.step.finished.as_ref().is_some_and(|finished| finished.stop == Stop::Changed);
        if is_left && measured.window() == Nanos::ZERO {
            continue;
        }
        if operations(&measured.tally) == 0 {
            if let Some(Question::Steady(_)) = &view.record.started.question {
                empty_load(view, found);
                continue;
            }
            // Connections are all that some are to open.
            if has_checked(stream, measured) || measured.tally.connections.count > 0 {
                continue;
            }
            // Of the others there was nothing to wait for.
            let is_ended = view.step.finished.as_ref().is_some_and(|done| done.stop == Stop::Interrupted);
            if is_ended && measured.window() == Nanos::ZERO {
                found.add(
                    "operations.none",
                    Severity::Invalid,
                    format!("{place}the run was ended before its measuring began"),
                    "let it run: what is done in the ramp is in no figure",
                );
                continue;
            }
            pacing::dropped(measured, &place, found);
            let has_waited = pacing::has_only_waited(stream, measured);
            if has_waited {
                pacing::stood_still(stream, measured, &place, found);
            }
            found.add(
                "operations.none",
                Severity::Invalid,
                format!("{place}no operation was completed in the measure phase"),
                if has_waited {
                    "look for what held up the device, or the generator, for all that time, or measure for longer"
                } else {
                    "look at the errors, or measure for longer than one operation takes"
                },
            );
            continue;
        }
        if is_conditioning {
            // It is over when it is done, and no figure of the test is of it: neither its length nor its load is judged.
            continue;
        }
        little(stream, measured, &intervals, &place, found);
        cpu(view, stream, measured, &place, found);
        near_ceiling(view, stream, measured, &place, found);
        length(view, measured, &intervals, &place, found);
        samples(measured, &place, found);
        pacing::check(view, stream, measured, &intervals, &place, found);
        late(&intervals, view.step.started.step.interval, &place, found);
    }
}

/// Whether a stream that only checks what was written before has done so: then there is nothing to measure.
fn has_checked(stream: &Stream, measured: &Measured) -> bool {
    let verified = measured.workers.iter().filter_map(|worker| worker.verified.as_ref());
    !stream.workload.verification.lets_write() && verified.map(|verified| verified.checked).sum::<u64>() > 0
}

/// A load of a test of the PTS that ended without an operation: it is done again, and the test ends when that stays so.
fn empty_load(view: &StepView<'_>, found: &mut Found) {
    match pts::repeated(view.record, view.step) {
        Some(again) if !pts::is_empty(again) => found.add(
            "pts.load-repeated",
            Severity::Info,
            format!("{}no operation was completed, so that it was run again", view.place()),
            "nothing of it counts; more of them say that loads are short for these targets: divide the times of the test by less, or by nothing",
        ),
        None if pts::is_empty(view.step) => found.add(
            "operations.none",
            Severity::Invalid,
            format!("{}no operation was completed, again and again, which ended the test", view.place()),
            "begin anew with times that are divided by less, or not quick: a load has to last for some operations",
        ),
        // It was ended before, or the last of several that were empty tells of them.
        _ => {}
    }
}

/// What to do where a queue ran empty at the end.
const RAN_EMPTY_REMEDY: &str = "the rate is that much lower than with a full queue: measure for longer, or after a ramp, which \
                                lets the time end with a full queue";

fn little(stream: &Stream, measured: &Measured, intervals: &[&Interval], place: &str, found: &mut Found) {
    let Some(ratio) = measured.little_ratio() else { return };
    if measured.depth_is_settled() == Some(false) {
        found.add(
            "latency-target.unsettled",
            Severity::Warn,
            format!(
                "{place}no queue depth was found that keeps the latency: the figures are those of the search, which looked at \
                 depth {} last",
                measured.queue_depth(stream)
            ),
            "measure for longer, so that the search comes to its end, or allow a longer latency",
        );
        return;
    }
    let held = measured.depth_held();
    let depth = measured.queue_depth(stream);
    // Records of before have no account of what lay outside: what was in flight when time was up counts whole in them, and was
    // so for no longer than the slowest operation took.
    let beyond = match measured.tally.outside_ns {
        0.0 => slowest_ns(measured) as f64 / measured.window().0.max(1) as f64,
        _ => 0.0,
    };
    // At a rate the ratio is one of what was in flight, of which those at the end may be a larger part.
    let (beyond, whole) = if measured.is_open {
        (beyond * depth as f64 / held.max(f64::MIN_POSITIVE), format!("the {held:.2} in flight on average"))
    } else {
        (beyond, format!("the queue depth {depth}"))
    };
    // With a number of operations a window ends when the last of them has, and not what a ramp left in flight.
    let ends_with_the_last = matches!(stream.limits.time, TimeLimit::Nanoseconds(time) if measured.load_window() < Nanos(time))
        || stream.limits.time == TimeLimit::Unbounded;
    let certain = if ends_with_the_last { measured.little_ratio_least().unwrap_or(ratio) } else { ratio };
    if certain > LITTLE_MAX + beyond {
        found.weighed(
            ratio,
            "little.accounting",
            Severity::Invalid,
            format!("{place}throughput × service time is {ratio:.3} of {whole}, above {LITTLE_MAX}"),
            "this is a fault of the generator's clock or counting; report it with the stored run",
        );
    }
    if stream.queue_depth > 1 && matches!(stream.pacing, Pacing::Closed { think: Think::None }) {
        fullness(stream, measured, intervals, place, found);
    }
}

/// Whether a queue that was to be full was: until nothing more was issued, and over all.
fn fullness(stream: &Stream, measured: &Measured, intervals: &[&Interval], place: &str, found: &mut Found) {
    let Some(ratio) = measured.little_ratio() else { return };
    let (held, depth) = (measured.depth_held(), measured.queue_depth(stream));
    let slowest_ns = slowest_ns(measured);
    let least = LITTLE_MIN * kept_share(stream);
    let window = measured.load_window();
    let emptied = measured.emptied_ns / measured.slot_ns.max(1.0);
    // Who lets it run empty again and again does so at the end as well.
    if emptied >= EMPTIED_MIN && stream.engine.refill_at == Quota::Unlimited {
        let emptying = measured.loaded_until.since(measured.issued_until);
        found.weighed(
            emptied,
            "little.ran-empty",
            if emptied > 1.0 - LITTLE_MIN { Severity::Warn } else { Severity::Info },
            format!(
                "{place}the queue ran empty at the end, and {:.1} % of its slots were idle over all for that: {} of the {} \
                 measured were left to those still in flight",
                emptied * 100.0,
                emptying.approximate(),
                window.approximate()
            ),
            RAN_EMPTY_REMEDY,
        );
    }
    // Of a step that was cut off, what was in flight then has no service time.
    let was_full = measured.tally.in_flight_ns >= least * measured.slot_ns;
    if ratio + emptied >= least || was_full {
        return;
    }
    let time = match stream.limits.time {
        TimeLimit::Nanoseconds(time) => Nanos(time),
        TimeLimit::Unbounded => Nanos::NEVER,
    };
    // Without a time it is not known when the last operation went out, but none took longer than the slowest.
    let emptied_within = if time < window { window.since(time) } else { Nanos(slowest_ns).min(window) };
    let is_known = emptied > 0.0;
    if !is_known && was_full_before(measured, intervals, emptied_within, least) {
        let when = if time < window {
            format!("{} of the {} measured were", emptied_within.approximate(), window.approximate())
        } else {
            format!("up to {} of the {} measured were", emptied_within.approximate(), window.approximate())
        };
        found.weighed(
            -ratio,
            "little.ran-empty",
            Severity::Warn,
            format!(
                "{place}the queue ran empty at the end, and {:.0} % of its slots were idle over all: throughput × service \
                 time is {ratio:.3} of the queue depth {depth}, below {least:.2}; {when} left to those still in flight",
                (1.0 - ratio) * 100.0
            ),
            RAN_EMPTY_REMEDY,
        );
        return;
    }
    let count: u64 = measured.tally.kinds.iter().map(|kind| kind.service.moments.count).sum();
    let mean_ns = measured.service_ns() / count.max(1) as f64;
    let is_long = window.0 as f64 >= LITTLE_LATENCIES_MIN * mean_ns;
    if is_long || time <= window {
        let (why, remedy) = if stream.engine.serialize_overlap {
            (
                "operations waited for others at the same place (`serialize_overlap`), which keeps slots empty",
                "where that is not what is to be measured: a region of many more blocks than the queue is deep, or no \
                 `serialize_overlap`",
            )
        } else {
            (
                "generator-limited",
                "the generator did not keep the queue full: use more workers, larger batches, or an asynchronous engine",
            )
        };
        found.weighed(
            -ratio,
            "little.queue-not-full",
            Severity::Warn,
            format!(
                "{place}{why}: throughput × service time is {ratio:.3} of the queue depth {depth}, below \
                 {least:.2}; {held:.1} operations were in flight on average"
            ),
            remedy,
        );
    }
}

/// How long the slowest operation took, nanoseconds.
fn slowest_ns(measured: &Measured) -> u64 {
    measured.tally.kinds.iter().map(|kind| kind.service.moments.max_ns).max().unwrap_or(0)
}

/// Share of the queue depth that a stream keeps in flight: all of it, or as many as have to be left before it is filled again.
fn kept_share(stream: &Stream) -> f64 {
    match stream.engine.refill_at {
        Quota::AtMost(most) => (most as f64 / f64::from(stream.queue_depth.max(1))).min(1.0),
        Quota::Unlimited => 1.0,
    }
}

/// Whether the queue was full until it ran empty, within some time before the end: that share of its slots.
fn was_full_before(measured: &Measured, intervals: &[&Interval], emptied_within: Nanos, least: f64) -> bool {
    let window = measured.load_window();
    let until = measured.loaded_until.since(emptied_within);
    let before: Vec<_> = intervals.iter().filter(|interval| interval.end.0 <= until.0).collect();
    let covered_ns: u64 = before.iter().map(|interval| interval.end.since(interval.start).0).sum();
    let in_flight_ns: f64 = before.iter().map(|interval| interval.tally.in_flight_ns).sum();
    let slots = measured.slot_ns / window.0.max(1) as f64;
    // All that was in flight may have been so before the queue ran empty, where no interval tells.
    let (in_flight_ns, covered_ns) = match covered_ns {
        0 => (measured.tally.in_flight_ns, window.since(emptied_within).0),
        _ => (in_flight_ns, covered_ns),
    };
    emptied_within.0 > 0 && in_flight_ns >= least * slots * covered_ns as f64
}

/// Whether any target of a stream is of a kind.
fn has(view: &StepView<'_>, stream: &Stream, is: fn(&TargetKind) -> bool) -> bool {
    let targets = &view.step.started.step.targets;
    let mut extents = stream.workers.iter().flat_map(|worker| &worker.extents);
    extents.any(|extent| targets.get(extent.target as usize).is_some_and(|target| is(&target.kind)))
}

/// Whether a stream's time is not the host's.
pub(super) fn is_virtual(view: &StepView<'_>, stream: &Stream) -> bool {
    has(view, stream, |kind| matches!(kind, TargetKind::Sim(_)))
}

fn cpu(view: &StepView<'_>, stream: &Stream, measured: &Measured, place: &str, found: &mut Found) {
    // In virtual time a share of real CPU time means nothing.
    if is_virtual(view, stream) {
        return;
    }
    // Whoever spins between operations since the job says so is on a CPU without a load.
    if matches!(stream.think(), Think::Every { spin_ns: 1.., .. }) {
        return;
    }
    let share = measured.cpu_share_max(stream.workers.len());
    let is_null = has(view, stream, |kind| matches!(kind, TargetKind::Null));
    if share <= CPU_SHARE_MAX {
        contended(measured, is_null, place, found);
        return;
    }
    let percent = share * 100.0;
    if is_null {
        found.weighed(
            share,
            "generator.ceiling",
            Severity::Info,
            format!("{place}the null target shows what the generator itself can do, at {percent:.0} % CPU"),
            "compare figures of real targets with this one; near it they are the generator's",
        );
    } else {
        // One that is hardly above it must not read as if it were at it.
        let is_close = percent.round() <= CPU_SHARE_MAX * 100.0;
        let percent =
            if is_close { format!("{:.1}", (percent * 10.0).ceil() / 10.0) } else { format!("{percent:.0}") };
        found.weighed(
            share,
            "generator.cpu-bound",
            Severity::Warn,
            format!(
                "{place}generator-limited: a worker was on a CPU for {percent} % of the time, above {:.0} %",
                CPU_SHARE_MAX * 100.0
            ),
            "the figures are those of the generator as much as the device's: use more workers, or fewer and larger operations",
        );
    }
}

/// A worker that is not on a CPU for all of its time only because others are, or since it may not.
fn contended(measured: &Measured, is_null: bool, place: &str, found: &mut Found) {
    let is_held_up = |on: f64, waited: f64| {
        waited >= WAITED_SHARE_MIN && (on + waited > CPU_SHARE_MAX || waited >= WAITED_SHARE_MAX)
    };
    let Some((on, waited)) = measured.cpu_contended(is_held_up) else { return };
    let (on_percent, waited_percent) = (on * 100.0, waited * 100.0);
    let shares = format!(
        "a worker was on a CPU for {on_percent:.0} % of the time and waited for one for {waited_percent:.0} %"
    );
    if is_null {
        found.weighed(
            on + waited,
            "generator.ceiling",
            Severity::Info,
            format!("{place}the null target shows what the generator itself can do; {shares}"),
            "to see what one worker can do, use no more workers than there are CPUs, on a host that does nothing else",
        );
    } else {
        found.weighed(
            on + waited,
            "generator.cpu-bound",
            Severity::Warn,
            format!("{place}generator-limited: {shares}"),
            "the figures are those of the host's CPUs as much as the device's: let it do nothing else, use no more workers \
             than it has CPUs for them, or give their control group more of them",
        );
    }
}

/// Near what the generator reaches without a device, figures are the generator's as much as the device's.
fn near_ceiling(view: &StepView<'_>, stream: &Stream, measured: &Measured, place: &str, found: &mut Found) {
    let Some(ceiling) = &view.record.started.facts.ceiling else { return };
    let (operations_per_s, engine) = ceiling.of(stream.engine.kind);
    let workers = stream.workers.len().max(1) as f64;
    let each = Iops::of(operations(&measured.tally), measured.window()).0 / workers;
    // Whatever passes it was not held back by it.
    let (operations_per_s, engine) =
        if each > operations_per_s { (ceiling.operations_per_s, None) } else { (operations_per_s, engine) };
    let share = each / operations_per_s;
    if view.is_real(stream) && share > CEILING_SHARE_MAX {
        found.weighed(
            share,
            "generator.near-ceiling",
            Severity::Warn,
            format!(
                "{place}{} operations per second of one worker are {:.0} % of the {} that fathom reaches here {}",
                Iops(each),
                share * 100.0,
                Iops(operations_per_s),
                engine.map_or_else(
                    || "without a device".to_owned(),
                    |engine| format!("with {engine} from the page cache")
                )
            ),
            "the device may be faster than this: use more workers, and see whether the figure grows",
        );
    }
}

fn length(view: &StepView<'_>, measured: &Measured, intervals: &[&Interval], place: &str, found: &mut Found) {
    let window = measured.window();
    // Where there are too many to be kept apart, one is the sum of several.
    let length = view.step.started.step.interval.0.max(1);
    let parts = |interval: &&Interval| (interval.end.since(interval.start).0 / length).max(1);
    let count: u64 = intervals.iter().map(parts).sum();
    if window < MEASURE_MIN {
        found.weighed(
            -window.as_secs_f64(),
            "duration.short",
            Severity::Warn,
            format!("{place}measured for {}, below {}", window.approximate(), MEASURE_MIN.approximate()),
            "measure for 30 s or more, so that caches, flushes and background work show",
        );
    } else if count < INTERVALS_MIN as u64 {
        found.weighed(
            -window.as_secs_f64(),
            "duration.short",
            Severity::Warn,
            format!("{place}measured in {count} intervals, below {INTERVALS_MIN}"),
            "measure for longer or in shorter intervals, so that it shows whether the rate was stable",
        );
    }
}

fn samples(measured: &Measured, place: &str, found: &mut Found) {
    for kind in &measured.tally.kinds {
        let count = kind.operations;
        if kind.kind != OperationKind::Sync && (1..P99_OPERATIONS_MIN).contains(&count) {
            found.weighed(
                -(count as f64),
                "samples.few",
                Severity::Info,
                format!(
                    "{place}{count} {} operations; p99 has bounds on both sides from {P99_OPERATIONS_MIN} on",
                    kind.kind.name()
                ),
                "read the mean and the extremes, or measure for longer",
            );
        }
    }
}

fn late(intervals: &[&Interval], usual: Nanos, place: &str, found: &mut Found) {
    let late = || intervals.iter().filter(|interval| interval.late);
    if late().next().is_none() {
        return;
    }
    let length = |interval: &&&Interval| interval.end.since(interval.start);
    let longest = late().map(|interval| length(&interval)).max().unwrap_or(Nanos::ZERO);
    let (told, remedy) = if longest > usual {
        let what = format!("and cover more than one edge, the longest {}", longest.approximate());
        let remedy = "totals are right, the series is not: leave a CPU to the generator, or use longer intervals. Of a run that was \
                      itself stopped or frozen meanwhile, that time is in rates and latencies, and no device's";
        (what, remedy)
    } else {
        let what = "or in parts, with what some workers did in rows of their own".to_owned();
        let remedy = "totals are right, and rows of one number belong together; leave a CPU to the generator, or use longer intervals";
        (what, remedy)
    };
    let numbers = |all: &mut dyn Iterator<Item = &&Interval>| {
        all.map(|one| one.sequence).collect::<BTreeSet<_>>().len()
    };
    let (count, of) = (numbers(&mut late()), numbers(&mut intervals.iter()));
    let share = count as f64 / of as f64;
    found.weighed(
        share,
        "intervals.late",
        if share > LATE_SHARE_MAX { Severity::Warn } else { Severity::Info },
        format!("{place}{count} of {of} intervals came late {told}"),
        remedy,
    );
}
