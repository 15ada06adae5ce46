//! Checks of the load itself: was the queue full, did the generator keep up, was it long enough, did the rate hold.

use super::{Found, StepView};
use crate::measured::{Measured, operations};
use crate::pts;
use fathom_metrics::Latency;
use fathom_schema::{
    Arrival, Ceiling, Interval, LatencyTally, OperationKind, Pacing, Phase, Question, Severity, Stop, Stream,
    TargetKind, Think, TimeLimit,
};
use fathom_units::{Iops, Nanos};

/// Above this Little's ratio more time was spent in operations than there were queue slots: the accounting is wrong.
/// Of 7,564 fio runs that were looked at none came above 0.9999, so 0.5 % is far outside what measuring can do.
const LITTLE_MAX: f64 = 1.005;
/// Below this ratio the queue was not kept full. The lowest of the same runs was 0.957.
const LITTLE_MIN: f64 = 0.95;
/// Mean latencies a window that work ends must span before the ratio is the generator's: filling and draining the queue costs about
/// one, which below 50 is 2 % and more of the window.
const LITTLE_LATENCIES_MIN: f64 = 50.0;
/// Share of a worker's time on a CPU above which it has no reserve: in the rest it hands over intervals and is preempted.
const CPU_SHARE_MAX: f64 = 0.90;
/// Share of the generator's own ceiling above which a result is as much about the generator: beyond a half, its time per
/// operation is at least as long as the device's.
const CEILING_SHARE_MAX: f64 = 0.5;
/// Shortest measure phase that says something about a device: below, one flush or one garbage collection decides.
const MEASURE_MIN: Nanos = Nanos::secs(5);
/// Fewest intervals that show whether the rate was stable.
const INTERVALS_MIN: usize = 3;
/// Fewest operations for a two-sided 95 % bound on p99: ln 0.025 ÷ ln 0.99, the order statistics of a
/// binomial.
const P99_OPERATIONS_MIN: u64 = 368;
/// Share of what came due below which an open loop was overloaded, if its backlog grew as well.
const RATE_SHARE_MIN: f64 = 0.99;
/// Wait of an arrival beside a free slot from which on it is told, nanoseconds: timers and wake-ups of an idle host take less.
const ISSUED_LATE_NS: u64 = 100_000;
/// As a share of the service time.
const ISSUED_LATE_SHARE: f64 = 0.6;
/// Share of the slots in use below which the arrivals of [`is_even`] loads do not wait for one another for as long as that: on a
/// device of constant service times p99 of the response time is 2.65 of them at a quarter (M/D/1).
const HELD_SHARE_MAX: f64 = 0.25;
/// Times the longest operation that a response time may be, above which no operation was what it waited for.
const LONGEST_TIMES: u64 = 4;
/// Share of all arrivals that may wait at once before it is told, where they do not wait at the end.
const BACKLOG_SHARE_MAX: f64 = 0.05;
/// Times the slots that have to wait before a backlog is more than one that comes and goes.
const SLOTS_TIMES: u64 = 10;
/// Share of the longest backlog that one has to have at the end for it to be the end of a growth.
const AT_WORST: f64 = 0.9;
/// Share of all arrivals that waits at the end where no series is needed to see that it grew: where there is one, a stall at the
/// end may have made fewer wait; without one, all is short, and so is any stall.
const LEFT_SHARE: f64 = 0.5;
const LEFT_SHARE_BRIEF: f64 = 0.25;
/// By how many standard deviations of a Poisson count of all arrivals those have to be more: a queue of a device that is
/// just busy wanders as far as two now and then.
const LEFT_DEVIATIONS: f64 = 5.0;
/// Fewest intervals that show an even growth, and the share of their variance that a straight line has to explain: a queue that
/// is busy at times wanders further from any line.
const EVEN_INTERVALS_MIN: usize = 10;
const EVEN_SHARE_MIN: f64 = 0.95;
/// What one in so many of an interval may lie behind the last arrival: what waited has hardly become less by then.
const BEYOND_PART: u64 = 10;
/// Share of a growth that has to be missing in what was done: what grew is there when the time is up.
const UNDONE_MIN: f64 = 0.5;
/// Standard errors by which the backlog's slope must lie above zero: two-sided 95 % of the normal distribution.
const SLOPE_ERRORS: f64 = 1.96;
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
            found.add(
                "operations.none",
                Severity::Invalid,
                format!("{place}no operation was completed in the measure phase"),
                "look at the errors, or measure for longer than one operation takes",
            );
            continue;
        }
        little(stream, measured, &intervals, &place, found);
        cpu(view, stream, measured, &place, found);
        near_ceiling(view, stream, measured, &place, found);
        length(view, measured, &intervals, &place, found);
        samples(measured, &place, found);
        rate(stream, measured, &intervals, &place, found);
        dropped(measured, &place, found);
        issued_late(view, stream, measured, &place, found);
        late(&intervals, &place, found);
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
    let slowest_ns = measured.tally.kinds.iter().map(|kind| kind.service.moments.max_ns).max().unwrap_or(0);
    let beyond = match measured.tally.outside_ns {
        0.0 => slowest_ns as f64 / measured.window().0.max(1) as f64,
        _ => 0.0,
    };
    // At a rate the ratio is one of what was in flight, of which those at the end may be a larger part.
    let (beyond, whole) = if measured.is_open {
        (beyond * depth as f64 / held.max(f64::MIN_POSITIVE), format!("the {held:.2} in flight on average"))
    } else {
        (beyond, format!("the queue depth {depth}"))
    };
    // With a number of operations a window ends when the last of them has, and not what a ramp left in flight.
    let ends_with_the_last = matches!(stream.limits.time, TimeLimit::Nanoseconds(time) if measured.window() < Nanos(time))
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
    let is_closed = matches!(stream.pacing, Pacing::Closed { think: Think::None });
    // Of a step that was cut off, what was in flight then has no service time.
    let was_full = measured.tally.in_flight_ns >= LITTLE_MIN * measured.slot_ns;
    if ratio >= LITTLE_MIN || stream.queue_depth == 1 || !is_closed || was_full {
        return;
    }
    let window = measured.window();
    let time = match stream.limits.time {
        TimeLimit::Nanoseconds(time) => Nanos(time),
        TimeLimit::Unbounded => Nanos::NEVER,
    };
    // Without a time it is not known when the last operation went out, but none took longer than the slowest.
    let emptied_within = if time < window { window.since(time) } else { Nanos(slowest_ns).min(window) };
    if was_full_before(measured, intervals, emptied_within) {
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
                 time is {ratio:.3} of the queue depth {depth}, below {LITTLE_MIN}; {when} left to those still in flight",
                (1.0 - ratio) * 100.0
            ),
            "the rate is that much lower than with a full queue: measure for longer, or after a ramp, which lets the time end \
             with a full queue",
        );
        return;
    }
    let count: u64 = measured.tally.kinds.iter().map(|kind| kind.service.moments.count).sum();
    let mean_ns = measured.service_ns() / count.max(1) as f64;
    let is_long = window.0 as f64 >= LITTLE_LATENCIES_MIN * mean_ns;
    if is_long || time <= window {
        found.weighed(
            -ratio,
            "little.queue-not-full",
            Severity::Warn,
            format!(
                "{place}generator-limited: throughput × service time is {ratio:.3} of the queue depth {depth}, below \
                 {LITTLE_MIN}; {held:.1} operations were in flight on average"
            ),
            "the generator did not keep the queue full: use more workers, larger batches, or an asynchronous engine",
        );
    }
}

/// Whether the queue was full until it ran empty, within some time before the end.
fn was_full_before(measured: &Measured, intervals: &[&Interval], emptied_within: Nanos) -> bool {
    let window = measured.window();
    let until = measured.end.since(emptied_within);
    let before: Vec<_> = intervals.iter().filter(|interval| interval.end.0 <= until.0).collect();
    let covered_ns: u64 = before.iter().map(|interval| interval.end.since(interval.start).0).sum();
    let in_flight_ns: f64 = before.iter().map(|interval| interval.tally.in_flight_ns).sum();
    let slots = measured.slot_ns / window.0.max(1) as f64;
    // All that was in flight may have been so before the queue ran empty, where no interval tells.
    let (in_flight_ns, covered_ns) = match covered_ns {
        0 => (measured.tally.in_flight_ns, window.since(emptied_within).0),
        _ => (in_flight_ns, covered_ns),
    };
    emptied_within.0 > 0 && in_flight_ns >= LITTLE_MIN * slots * covered_ns as f64
}

/// Whether any target of a stream is of a kind.
fn has(view: &StepView<'_>, stream: &Stream, is: fn(&TargetKind) -> bool) -> bool {
    let targets = &view.step.started.step.targets;
    let mut extents = stream.workers.iter().flat_map(|worker| &worker.extents);
    extents.any(|extent| targets.get(extent.target as usize).is_some_and(|target| is(&target.kind)))
}

/// Whether a stream's time is not the host's.
fn is_virtual(view: &StepView<'_>, stream: &Stream) -> bool {
    has(view, stream, |kind| matches!(kind, TargetKind::Sim(_)))
}

fn cpu(view: &StepView<'_>, stream: &Stream, measured: &Measured, place: &str, found: &mut Found) {
    // In virtual time a share of real CPU time means nothing.
    if is_virtual(view, stream) {
        return;
    }
    let share = measured.cpu_share_max(stream.workers.len());
    if share <= CPU_SHARE_MAX {
        return;
    }
    let percent = share * 100.0;
    if has(view, stream, |kind| matches!(kind, TargetKind::Null)) {
        found.weighed(
            share,
            "generator.ceiling",
            Severity::Info,
            format!("{place}the null target shows what the generator itself can do, at {percent:.0} % CPU"),
            "compare figures of real targets with this one; near it they are the generator's",
        );
    } else {
        found.weighed(
            share,
            "generator.cpu-bound",
            Severity::Warn,
            format!(
                "{place}generator-limited: a worker was on a CPU for {percent:.0} % of the time, above {:.0} %",
                CPU_SHARE_MAX * 100.0
            ),
            "the figures are those of the generator as much as the device's: use more workers, or fewer and larger operations",
        );
    }
}

/// Near what the generator reaches without a device, figures are the generator's as much as the device's.
fn near_ceiling(view: &StepView<'_>, stream: &Stream, measured: &Measured, place: &str, found: &mut Found) {
    let Some(Ceiling { operations_per_s }) = view.record.started.facts.ceiling else { return };
    let workers = stream.workers.len().max(1) as f64;
    let each = Iops::of(operations(&measured.tally), measured.window()).0 / workers;
    let share = each / operations_per_s;
    if view.is_real(stream) && share > CEILING_SHARE_MAX {
        found.weighed(
            share,
            "generator.near-ceiling",
            Severity::Warn,
            format!(
                "{place}{} operations per second of one worker are {:.0} % of the {} that fathom reaches here without a \
                 device",
                Iops(each),
                share * 100.0,
                Iops(operations_per_s)
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

fn rate(stream: &Stream, measured: &Measured, intervals: &[&Interval], place: &str, found: &mut Found) {
    let Pacing::Open { arrival, course, .. } = &stream.pacing else { return };
    let tally = &measured.tally;
    let achieved = Iops::of(operations(tally), measured.window());
    // What came due, not the rate that was asked for: bursts and courses have more or less than their mean in a window.
    let due_within = due_within(stream, measured, intervals);
    let Iops(asked) = Iops::of(tally.arrivals, due_within);
    if asked <= 0.0 {
        return;
    }
    let intervals = arriving(measured.start.after(due_within), intervals);
    let (backlog_max, short_by) = (tally.backlog_max, 1.0 - achieved.0 / asked);
    let slots = u64::from(stream.queue_depth) * stream.workers.len() as u64;
    let is_short = achieved.0 < asked * RATE_SHARE_MIN;
    // What the queue takes waits as well: for the device, not for the queue.
    let waiting = |interval: &&Interval| {
        let length = interval.end.since(interval.start).0.max(1);
        interval.tally.backlog_max as f64 + interval.tally.in_flight_ns / length as f64
    };
    let waiting: Vec<f64> = intervals.iter().map(waiting).collect();
    let is_overloaded = if is_short {
        // As in the other branch: what is in flight wanders by chance.
        grows(&waiting) && rise(&waiting) > (tally.arrivals as f64).sqrt()
            || ended_at_its_worst(measured, intervals)
            || left_most(measured, intervals, slots)
    } else {
        let backlog: Vec<f64> = intervals.iter().map(|interval| interval.tally.backlog_max as f64).collect();
        let (left, _) = measured.left_waiting();
        // At a rate that rises, so does what is in flight.
        let is_steady = course.is_empty() && !matches!(arrival, Arrival::Traced { .. });
        // As many as one standard deviation of a Poisson count, and as were not done of what came due.
        let (rise, undone) = (rise(&waiting), short_by * tally.arrivals as f64);
        let by_more_than_chance =
            is_steady && rise > (tally.arrivals as f64).sqrt() && undone > rise * UNDONE_MIN;
        left > slots.saturating_mul(SLOTS_TIMES) && grows_evenly(&backlog)
            || by_more_than_chance && grows_evenly(&waiting)
    };
    if is_overloaded {
        let (backlog, remedy) = match backlog_max {
            0 => (
                "more and more were in flight".to_owned(),
                "response times grow with the length of such a run and describe no device: ask for a lower rate",
            ),
            _ => (
                format!("the backlog grew to {backlog_max} arrivals"),
                "response times grow with the length of such a run and describe no device: ask for a lower rate, or \
                 allow a deeper queue",
            ),
        };
        found.weighed(
            short_by,
            "pacing.overloaded",
            Severity::Invalid,
            format!(
                "{place}{achieved} of the {} operations per second that came due were achieved, and {backlog}{}",
                Iops(asked),
                left_waiting(measured),
            ),
            remedy,
        );
        return;
    }
    // What was dropped or failed is told elsewhere.
    let failed: u64 = tally.kinds.iter().flat_map(|kind| &kind.errors).map(|(_, count)| count).sum();
    let told = operations(tally) + failed + tally.arrivals_dropped;
    let undone = tally.arrivals.saturating_sub(told);
    let drained = measured.window().since(due_within);
    let late = |part: Nanos| part.as_secs_f64() > measured.window().as_secs_f64() * (1.0 - RATE_SHARE_MIN);
    if is_short && (undone as f64 > tally.arrivals as f64 * (1.0 - RATE_SHARE_MIN) || late(drained)) {
        let drained = match drained {
            Nanos::ZERO => String::new(),
            drained => format!("; what was in flight at the end took {} more", drained.approximate()),
        };
        found.weighed(
            short_by,
            "pacing.behind",
            Severity::Warn,
            format!(
                "{place}{achieved} of the {} operations per second that came due were achieved; up to {backlog_max} \
                 arrivals waited{}{drained}",
                Iops(asked),
                left_waiting(measured),
            ),
            "measure for longer, to see whether the backlog grows, or ask for a lower rate",
        );
    } else if backlog_max as f64 > tally.arrivals as f64 * BACKLOG_SHARE_MAX
        && backlog_max > slots.saturating_mul(SLOTS_TIMES)
    {
        let has_bursts = !matches!(arrival, Arrival::Constant | Arrival::Poisson | Arrival::Uniform);
        found.weighed(
            backlog_max as f64 / tally.arrivals as f64,
            "pacing.backlog",
            if has_bursts { Severity::Info } else { Severity::Warn },
            format!(
                "{place}up to {backlog_max} of {} arrivals waited at once, before {achieved} operations per second \
                 were achieved over all",
                tally.arrivals
            ),
            "for a time more came than was done, and response times are of that time as well: look at them over time",
        );
    }
}

/// The part of a window in which arrivals come due: what waits or is in flight when the time is up, or when a trace has no more,
/// may take longer.
fn due_within(stream: &Stream, measured: &Measured, intervals: &[&Interval]) -> Nanos {
    let window = measured.window();
    match (stream.limits.time, &stream.pacing) {
        (TimeLimit::Nanoseconds(time), _) => window.min(Nanos(time)),
        (TimeLimit::Unbounded, Pacing::Open { arrival: Arrival::Traced { .. }, .. }) => {
            let last = intervals
                .iter()
                .filter(|interval| interval.tally.arrivals > 0)
                .map(|interval| interval.end)
                .max();
            last.map_or(window, |last| window.min(last.since(measured.start)))
        }
        (TimeLimit::Unbounded, _) => window,
    }
}

/// The intervals up to an instant, after which nothing more came due. One that goes on for long beyond it is of another time.
fn arriving<'a, 'i>(until: Nanos, intervals: &'a [&'i Interval]) -> &'a [&'i Interval] {
    let is_beyond = |interval: &&Interval| {
        interval.end.since(until).0 > interval.end.since(interval.start).0 / BEYOND_PART
    };
    let within = intervals.iter().rposition(|interval| !is_beyond(interval)).map_or(0, |last| last + 1);
    &intervals[..within]
}

/// Whether hardly more ever waited than at the end, of a stream whose intervals were too many to be kept apart.
fn ended_at_its_worst(measured: &Measured, intervals: &[&Interval]) -> bool {
    let (waiting, _) = measured.left_waiting();
    let worst = measured.tally.backlog_max as f64;
    intervals.len() < INTERVALS_MIN
        && measured.window() >= MEASURE_MIN
        && worst > 0.0
        && waiting as f64 >= worst * AT_WORST
}

/// Whether so many of all arrivals wait at the end that it is no matter how they came to: however brief it was, what was asked
/// for is more than the device does.
fn left_most(measured: &Measured, intervals: &[&Interval], slots: u64) -> bool {
    let (waiting, _) = measured.left_waiting();
    let arrivals = measured.tally.arrivals as f64;
    let share = if intervals.len() < INTERVALS_MIN { LEFT_SHARE_BRIEF } else { LEFT_SHARE };
    waiting > slots.saturating_mul(SLOTS_TIMES)
        && waiting as f64 > (share * arrivals).max(LEFT_DEVIATIONS * arrivals.sqrt())
}

/// Whom the percentiles do not speak of.
fn left_waiting(measured: &Measured) -> String {
    match measured.left_waiting() {
        (0, _) => String::new(),
        (count, oldest) => format!(
            "; at the end {count} still waited, the oldest for {}, so that percentiles of the response time, which are of those \
             that were done, are lower bounds",
            oldest.approximate()
        ),
    }
}

fn dropped(measured: &Measured, place: &str, found: &mut Found) {
    let tally = &measured.tally;
    if tally.arrivals_dropped > 0 {
        found.weighed(
            tally.arrivals_dropped as f64 / tally.arrivals.max(1) as f64,
            "pacing.dropped",
            Severity::Invalid,
            format!(
                "{place}overloaded: {} of {} arrivals were dropped, since more waited than the backlog lets",
                tally.arrivals_dropped, tally.arrivals
            ),
            "response times say nothing of what was dropped: ask for a lower rate, or allow a longer backlog",
        );
    }
}

/// Arrivals that the generator issued late: the host did not run the worker when it should have.
fn issued_late(view: &StepView<'_>, stream: &Stream, measured: &Measured, place: &str, found: &mut Found) {
    if !matches!(stream.pacing, Pacing::Open { .. }) || is_virtual(view, stream) {
        return;
    }
    let tally = &measured.tally;
    // Those that waited for a slot say how the device kept up, not how the host did, unless they cannot have waited for it.
    let found_slots = tally.arrivals_late as f64 <= tally.arrivals as f64 * (1.0 - RATE_SHARE_MIN);
    let depth = u64::from(stream.queue_depth) * stream.workers.len() as u64;
    let has_slots = is_even(&stream.pacing) && measured.depth_held() < depth as f64 * HELD_SHARE_MAX;
    if !found_slots && !has_slots {
        return;
    }
    let longest = tally.kinds.iter().map(|kind| kind.service.moments.max_ns).max().unwrap_or(0);
    let p99 = |latency: &LatencyTally| Latency::quantile_of(latency, 0.99).unwrap_or(0);
    for kind in &tally.kinds {
        let Some(response) = kind.response.as_ref().map(p99) else { continue };
        let service = p99(&kind.service);
        let waited = response.saturating_sub(service);
        if waited <= ISSUED_LATE_NS || waited as f64 <= service as f64 * ISSUED_LATE_SHARE {
            continue;
        }
        let why = if found_slots {
            "slots were free".to_owned()
        } else if response > longest.saturating_mul(LONGEST_TIMES) {
            format!(
                "on average {:.2} of {depth} slots were in use, and no operation took longer than {}",
                measured.depth_held(),
                Nanos(longest).approximate()
            )
        } else {
            continue;
        };
        found.weighed(
            waited as f64,
            "pacing.issued-late",
            Severity::Warn,
            format!(
                "{place}generator-limited, arrivals were issued late: the response time of {}s has a p99 of {}, their \
                 service time of {}, and {why}",
                kind.kind.name(),
                Nanos(response).approximate(),
                Nanos(service).approximate()
            ),
            "read the service time, and measure again with processors that are free for the workers",
        );
    }
}

/// Whether arrivals come one by one at a rate that stays as it is: no burst of them waits for one another.
fn is_even(pacing: &Pacing) -> bool {
    let Pacing::Open { arrival, course, .. } = pacing else { return false };
    matches!(arrival, Arrival::Constant | Arrival::Poisson | Arrival::Uniform) && course.is_empty()
}

/// Whether the least-squares slope of a series lies above zero by [`SLOPE_ERRORS`] standard errors. Worked value:
/// `[0, 10, 21, 29, 40]` has slope 9.9 ± 0.2 and grows; `[5, 1, 6, 2, 5]` has 0.1 ± 0.8 and does not.
fn grows(series: &[f64]) -> bool {
    if series.len() < INTERVALS_MIN {
        return false;
    }
    let (slope, residual, xx) = line(series);
    slope > SLOPE_ERRORS * (residual / (series.len() as f64 - 2.0) / xx).sqrt() && slope > 0.0
}

/// Whether a series rises along a straight line, and ends at its highest.
fn grows_evenly(series: &[f64]) -> bool {
    if series.len() < EVEN_INTERVALS_MIN {
        return false;
    }
    let (slope, residual, xx) = line(series);
    let explained = slope * slope * xx;
    let highest = series.iter().copied().fold(0.0, f64::max);
    slope > 0.0
        && explained >= EVEN_SHARE_MIN * (explained + residual)
        && series.last().is_some_and(|last| *last >= AT_WORST * highest)
}

/// By how much the least-squares line through a series rises from its first value to its last.
fn rise(series: &[f64]) -> f64 {
    if series.len() < INTERVALS_MIN {
        return 0.0;
    }
    let (slope, ..) = line(series);
    slope * (series.len() as f64 - 1.0)
}

/// The least-squares line through a series: its slope per step, the sum of squares about it, and that of the places about their
/// mean.
fn line(series: &[f64]) -> (f64, f64, f64) {
    let n = series.len() as f64;
    let (x_mean, y_mean) = ((n - 1.0) / 2.0, series.iter().sum::<f64>() / n);
    let at = |index: usize| index as f64 - x_mean;
    let xx: f64 = (0..series.len()).map(|i| at(i) * at(i)).sum();
    let slope = series.iter().enumerate().map(|(i, y)| at(i) * (y - y_mean)).sum::<f64>() / xx;
    let residual: f64 = series.iter().enumerate().map(|(i, y)| (y - y_mean - slope * at(i)).powi(2)).sum();
    (slope, residual, xx)
}

fn late(intervals: &[&Interval], place: &str, found: &mut Found) {
    let late = intervals.iter().filter(|interval| interval.late).count();
    if late > 0 {
        let share = late as f64 / intervals.len() as f64;
        found.weighed(
            share,
            "intervals.late",
            if share > LATE_SHARE_MAX { Severity::Warn } else { Severity::Info },
            format!("{place}{late} of {} intervals came late and cover more than one edge", intervals.len()),
            "totals are right, the series is not: leave a CPU to the generator, or use longer intervals",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_steady_rise_grows() {
        for (series, expect) in [
            (vec![0.0, 10.0, 21.0, 29.0, 40.0], true),
            (vec![5.0, 1.0, 6.0, 2.0, 5.0], false),
            (vec![3.0; 10], false),
            (vec![9.0, 8.0, 7.0, 6.0], false),
            (vec![0.0, 100.0], false),
        ] {
            assert_eq!(grows(&series), expect, "{series:?}");
        }
    }

    #[test]
    fn only_what_rises_along_a_line_grows_evenly() {
        let of = |at: fn(f64) -> f64| (0..20).map(|i| at(f64::from(i))).collect::<Vec<_>>();
        for (series, expect) in [
            (of(|i| 5.0 * i), true),
            (of(|i| 5.0 * i + (7.0 * i).sin() * 8.0), true),
            (of(|i| 5.0 * i + (7.0 * i).sin() * 40.0), false),
            (of(|i| if i < 15.0 { 5.0 * i } else { 50.0 }), false),
            (of(|_| 3.0), false),
            (vec![0.0, 1.0, 2.0, 3.0], false),
        ] {
            assert_eq!(grows_evenly(&series), expect, "{series:?}");
        }
    }
}
