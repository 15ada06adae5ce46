//! Checks of a rate: whether what came due was done, what waited for it, and whether it grew. Looks at no closed loop.

use super::load::{INTERVALS_MIN, MEASURE_MIN, is_virtual};
use super::single_stop::{Stop, single_stop};
use super::{Found, StepView, paused, unfinished};
use crate::load::{operations_for, stop_ns};
use crate::measured::{Measured, operations};
use fathom_metrics::{Latency, bucket_bounds};
use fathom_schema::{
    Arrival, EngineKind, Interval, KindTally, LatencyTally, OperationKind, Pacing, Passes, Quota, Severity,
    Stream, StreamLimits, StreamTally, TimeLimit,
};
use fathom_units::{Iops, Nanos};

/// Share of what came due below which an open loop was overloaded, if its backlog grew as well.
const RATE_SHARE_MIN: f64 = 0.99;
/// Standard deviations of what is in flight, a Poisson count, that its two ends may differ by.
const IN_FLIGHT_DEVIATIONS: f64 = 6.0;
/// Wait of an arrival beside a free slot from which on it is told, nanoseconds: timers and wake-ups of an idle host take less.
const ISSUED_LATE_NS: u64 = 100_000;
/// As a share of the service time.
const ISSUED_LATE_SHARE: f64 = 0.6;
/// Share of the slots in use below which the arrivals of [`is_even`] loads do not wait for one another for as long as that: on a
/// device of constant service times p99 of the response time is 2.65 of them at a quarter (M/D/1).
const HELD_SHARE_MAX: f64 = 0.25;
/// A device that makes one in a hundred arrivals wait has its slots taken for a hundredth of the time, by operations that are not much
/// shorter than the wait: where those of a quarter of it and more take less than a quarter of that, they are not the cause.
const LONG_SHARE: f64 = 0.0025;
/// Share of the slots that are in use, where arrivals came late, from which on they waited for the device.
const HELD_LATE_MAX: f64 = 0.5;
/// Times the longest operation that a response time may be, above which no operation was what it waited for.
const LONGEST_TIMES: u64 = 4;
/// Share of what was asked for by which what came may differ, before it is told.
const OFF_MEAN_MAX: f64 = 0.1;
/// Share of all arrivals that has to wait for it to be most of them.
const MOST_LATE: f64 = 0.5;
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
/// Times the time in which arrivals came that what is left of them takes, where no series is needed either.
const DRAINED_FAR: f64 = 2.0;
/// By how many standard deviations of a Poisson count of all arrivals those have to be more: a queue of a device that is
/// just busy wanders as far as two now and then.
const LEFT_DEVIATIONS: f64 = 5.0;
/// Fewest intervals that show an even growth, and the share of their variance that a straight line has to explain: a queue that
/// is busy at times wanders further from any line.
const EVEN_INTERVALS_MIN: usize = 10;
const EVEN_SHARE_MIN: f64 = 0.95;
/// Share of the arrivals of an interval that find no free slot where none was free in it: with several workers, now and then one is.
const FULL_SHARE_MIN: f64 = 0.99;
/// Share of a measure phase in which no slot was free, up to its end, for a queue that is never empty again. Below what a device
/// does, busy periods take about (1 − ρ)⁻² operations, however long the phase is.
const NEVER_EMPTY_SHARE: f64 = 0.5;
/// Standard deviations of a random walk by which a backlog has to have grown in that time.
pub(super) const WALK_DEVIATIONS: f64 = 2.0;
/// The same share, at any time, for a backlog that does not come and go.
const LONG_FULL_SHARE: f64 = 0.25;
/// Most that wait in a queue at 98 % of what a device does: five times the mean number in M/M/1, ρ ÷ (1 − ρ) = 49, above which it is
/// for 1 % of the time.
const STEADY_BACKLOG_MAX: u64 = 245;
/// Standard deviations of a Poisson count of all arrivals that have to wait at once for such a backlog.
const LONG_BACKLOG_DEVIATIONS: f64 = 0.5;
/// Share of what a device does with a full queue that has to have come due for such a backlog: below, it empties by itself.
const UTILISATION_MIN: f64 = 0.99;
/// Share of its slots that were in use in an interval whose queue was full: what it did is at most as much less than the device does.
const FULL_SHARE: f64 = 0.98;
/// Share of the most that waited or was in flight, from which on an interval stands for a full queue where none was.
const MOST_SHARE: f64 = 0.5;
/// What one in so many of an interval may lie behind the last arrival: what waited has hardly become less by then.
const BEYOND_PART: u64 = 10;
/// Share of a growth that has to be missing in what was done: what grew is there when the time is up.
const UNDONE_MIN: f64 = 0.5;
/// Standard deviations of a Poisson count that so many random arrivals may be early by.
const CHANCE_DEVIATIONS: f64 = 3.0;
/// Times the shortest operation that the last ones of a given number may take.
const DRAINED_TIMES: u64 = 4;
/// Standard errors by which the backlog's slope must lie above zero: two-sided 95 % of the normal distribution.
const SLOPE_ERRORS: f64 = 1.96;

pub(super) fn check(
    view: &StepView<'_>,
    stream: &Stream,
    measured: &Measured,
    intervals: &[&Interval],
    place: &str,
    found: &mut Found,
) {
    rate(stream, measured, intervals, place, found);
    off_mean(stream, measured, intervals, place, found);
    paused::check(stream, measured, place, found);
    dropped(measured, place, found);
    issued_late(view, stream, measured, intervals, place, found);
}

/// Arrivals that come in bursts have their rate in the mean of many of them only.
fn off_mean(stream: &Stream, measured: &Measured, intervals: &[&Interval], place: &str, found: &mut Found) {
    let Pacing::Open { rate, arrival, course, .. } = &stream.pacing else { return };
    let has_bursts =
        matches!(arrival, Arrival::OnOff { .. } | Arrival::ParetoOnOff { .. } | Arrival::BModel { .. });
    let came = measured.tally.arrivals as f64;
    let expected = rate * due_within(stream, measured, intervals).as_secs_f64();
    let off = came / expected - 1.0;
    let is_off = off.abs() > OFF_MEAN_MAX && (came - expected).abs() > LEFT_DEVIATIONS * expected.sqrt();
    if has_bursts && course.is_empty() && is_off {
        found.weighed(
            off.abs(),
            "pacing.off-mean",
            Severity::Info,
            format!(
                "{place}{came} operations came due where {expected:.0} were asked for in the mean, {:.0} % {}",
                100.0 * off.abs(),
                if off > 0.0 { "more" } else { "less" }
            ),
            "its bursts and pauses are too long for what was measured: measure over many of them, or make them shorter",
        );
    }
}

fn rate(stream: &Stream, measured: &Measured, intervals: &[&Interval], place: &str, found: &mut Found) {
    let Pacing::Open { arrival, course, .. } = &stream.pacing else { return };
    let tally = &measured.tally;
    // One that failed was issued and took its time as well.
    let failed: u64 = tally.kinds.iter().flat_map(|kind| &kind.errors).map(|(_, count)| count).sum();
    let ended = operations(tally) + failed;
    let achieved = Iops::of(ended, measured.window());
    let of_which = if failed > 0 { format!(" ({failed} of {ended} failed)") } else { String::new() };
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
        // As in the other branch: what is in flight wanders by chance, in each of the workers' queues.
        let workers = stream.workers.len();
        let (rise, arrivals) = (rise(&waiting), tally.arrivals as f64);
        let is_clear = rise > (arrivals * workers as f64).sqrt()
            || rise > arrivals.sqrt() && unfinished::goes_on(&waiting, workers);
        grows(&waiting) && is_clear
            || ended_at_its_worst(measured, intervals)
            || left_most(measured, intervals, slots)
            || took_far_longer(measured, due_within)
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
            || by_more_than_chance && (grows_evenly(&waiting) || never_emptied(&waiting))
    };
    // The end of a course holds ever after, whatever came before it.
    let may_be = !course.is_empty() || exceeds_full_queue(asked, &waiting, measured, intervals, slots);
    if may_be && is_overloaded || never_caught_up(measured, intervals, slots) {
        let (backlog, remedy) = overload(stream, backlog_max);
        found.weighed(
            short_by,
            "pacing.overloaded",
            Severity::Invalid,
            format!(
                "{place}{achieved} of the {} operations per second that came due were achieved{of_which}, and {backlog}{}",
                Iops(asked),
                left_waiting(measured),
            ),
            remedy,
        );
        return;
    }
    let is_told = !is_short && unfinished::check(stream, measured, intervals, place, found);
    if is_told || is_of_chance(arrival, measured, short_by) {
        return;
    }
    // What was dropped is told elsewhere.
    let undone = tally.arrivals.saturating_sub(ended + tally.arrivals_dropped);
    let drained = measured.window().since(due_within);
    // The last of a given number is done an operation or so after it came due.
    let is_of_amount =
        ends_by_amount(stream, measured) && drained.0 < shortest(tally).saturating_mul(DRAINED_TIMES);
    let drained = if is_of_amount { Nanos::ZERO } else { drained };
    let late = |part: Nanos| part.as_secs_f64() > measured.window().as_secs_f64() * (1.0 - RATE_SHARE_MIN);
    // A backlog that is full cannot grow.
    let is_behind = is_short && tally.arrivals_dropped == 0;
    if is_behind && (undone as f64 > tally.arrivals as f64 * (1.0 - RATE_SHARE_MIN) || late(drained)) {
        let drained = match drained {
            Nanos::ZERO => String::new(),
            drained => format!("; what was in flight at the end took {} more", drained.approximate()),
        };
        let waited = match backlog_max {
            0 => String::new(),
            most => format!("; up to {most} arrivals waited"),
        };
        found.weighed(
            short_by,
            "pacing.behind",
            Severity::Warn,
            format!(
                "{place}{achieved} of the {} operations per second that came due were achieved{of_which}{waited}{}{drained}",
                Iops(asked),
                left_waiting(measured),
            ),
            "measure for longer, to see whether the backlog grows, or ask for a lower rate",
        );
    } else {
        backlog(stream, measured, intervals, (achieved, ended), place, found);
    }
}

/// What waited at once, though in the end it was done: `ended` operations, of which `achieved` per second.
fn backlog(
    stream: &Stream,
    measured: &Measured,
    intervals: &[&Interval],
    (achieved, ended): (Iops, u64),
    place: &str,
    found: &mut Found,
) {
    let Pacing::Open { arrival, .. } = &stream.pacing else { return };
    let tally = &measured.tally;
    let (backlog_max, arrivals) = (tally.backlog_max, tally.arrivals as f64);
    let slots = u64::from(stream.queue_depth) * stream.workers.len() as u64;
    let is_large = backlog_max as f64 > arrivals * BACKLOG_SHARE_MAX
        || is_long(measured, intervals)
        || bursts_wait(arrival, tally);
    if backlog_max <= slots.saturating_mul(SLOTS_TIMES) || !is_large {
        return;
    }
    found.weighed(
        backlog_max as f64 / arrivals,
        "pacing.backlog",
        if has_bursts(arrival) { Severity::Info } else { Severity::Warn },
        format!(
            "{place}up to {backlog_max} {} waited at once, before {achieved} operations per second were achieved over all{}",
            who_arrived(measured, ended),
            left_waiting(measured)
        ),
        "for a time more came than was done, and response times are of that time as well: look at them over time",
    );
}

fn has_bursts(arrival: &Arrival) -> bool {
    !matches!(arrival, Arrival::Constant | Arrival::Poisson | Arrival::Uniform)
}

/// Whether most of what comes in bursts waits, and more at once than in a queue without bursts: however long it is measured, response
/// times are of the bursts then.
fn bursts_wait(arrival: &Arrival, tally: &StreamTally) -> bool {
    has_bursts(arrival)
        && tally.backlog_max > STEADY_BACKLOG_MAX
        && tally.arrivals_late as f64 > tally.arrivals as f64 * MOST_LATE
}

/// Of whom those that waited are: an operation is of what was measured where it was submitted there, and may have come due in the
/// ramp. `ended`: operations that were done or failed.
fn who_arrived(measured: &Measured, ended: u64) -> String {
    let StreamTally { arrivals, arrivals_dropped, .. } = measured.tally;
    let (left, _) = measured.left_waiting();
    match (ended + arrivals_dropped + left).saturating_sub(arrivals) {
        0 => format!("of {arrivals} arrivals"),
        of_ramp => {
            format!("of {} arrivals, of which {of_ramp} had come due in the ramp,", arrivals + of_ramp)
        }
    }
}

/// What shows that more came due than was done, and what to do about it.
fn overload(stream: &Stream, backlog_max: u64) -> (String, &'static str) {
    let backlog = match backlog_max {
        0 => "more and more were in flight".to_owned(),
        _ => format!("the backlog grew to {backlog_max} arrivals"),
    };
    let remedy = match backlog_max {
        _ if paused::keep_from_rate(stream) => {
            "its own pauses let through fewer than come due, however quick the device is: ask for a lower rate, for shorter pauses, \
             or for pauses that put off what is due"
        }
        // The device is fathom itself.
        _ if stream.engine.kind == EngineKind::Null => {
            "generator-limited: the null engine takes no time, so that this is all that so many workers issue here; ask for a \
             lower rate, or use more workers"
        }
        0 => "response times grow with the length of such a run and describe no device: ask for a lower rate",
        _ => {
            "response times grow with the length of such a run and describe no device: ask for a lower rate, or allow a \
             deeper queue"
        }
    };
    (backlog, remedy)
}

/// The part of a window in which arrivals come due: what waits or is in flight when the time is up, or when a trace or what was to be
/// done has no more, may take longer.
fn due_within(stream: &Stream, measured: &Measured, intervals: &[&Interval]) -> Nanos {
    let window = measured.window();
    let until_last = || {
        // One that came late stands behind those after it.
        let with_some = intervals.iter().filter(|interval| interval.tally.arrivals > 0);
        let last = with_some.map(|interval| interval.end).max();
        last.map_or(window, |last| window.min(last.since(measured.start)))
    };
    let Pacing::Open { rate, arrival, .. } = &stream.pacing else { return window };
    match stream.limits.time {
        TimeLimit::Nanoseconds(time) if window.0 >= time => Nanos(time),
        TimeLimit::Unbounded if matches!(arrival, Arrival::Traced { .. }) => until_last(),
        // What drains is of the last interval as well: where they come one by one the rate tells when so many had come.
        _ if ends_by_amount(stream, measured) && is_even(&stream.pacing) => {
            let count = measured.tally.arrivals as f64;
            let by_chance = if matches!(arrival, Arrival::Constant) { 0.0 } else { CHANCE_DEVIATIONS };
            let seconds = (count + by_chance * count.sqrt()) / rate;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "some days at most, and no less than 0"
            )]
            let due = Nanos((seconds * 1e9) as u64);
            window.min(due)
        }
        _ if ends_by_amount(stream, measured) => until_last(),
        _ => window,
    }
}

/// Service time of the shortest operation, in nanoseconds; 0 without one.
pub(super) fn shortest(tally: &StreamTally) -> u64 {
    let done = tally.kinds.iter().filter(|kind| kind.kind != OperationKind::Sync && kind.operations > 0);
    done.map(|kind| kind.service.moments.min_ns).min().unwrap_or(0)
}

/// Whether it ended, or may have, with what was to be done and before its time.
pub(super) fn ends_by_amount(stream: &Stream, measured: &Measured) -> bool {
    let StreamLimits { bytes, operations, passes, time, .. } = &stream.limits;
    if matches!(time, TimeLimit::Nanoseconds(time) if measured.load_window().0 >= *time) {
        return false;
    }
    *passes != Passes::Endless || [bytes, operations].into_iter().any(|quota| *quota != Quota::Unlimited)
}

/// The intervals up to an instant, after which nothing more came due. One that goes on for long beyond it is of another time.
fn arriving<'a, 'i>(until: Nanos, intervals: &'a [&'i Interval]) -> &'a [&'i Interval] {
    let is_beyond = |interval: &&Interval| {
        interval.end.since(until).0 > interval.end.since(interval.start).0 / BEYOND_PART
    };
    let within = intervals.iter().rposition(|interval| !is_beyond(interval)).map_or(0, |last| last + 1);
    &intervals[..within]
}

/// Share of the time with a full queue that has to be left beside a stop to tell what the device does in it.
const MOVED_MIN: f64 = 0.1;

/// Whether as many came due, in operations per second, as the device does with a full queue: in intervals in which its slots were in
/// use, else in those in which most waited or was in flight. A burst at the end leaves as much waiting as an overload does.
fn exceeds_full_queue(
    asked: f64,
    waiting: &[f64],
    measured: &Measured,
    intervals: &[&Interval],
    slots: u64,
) -> bool {
    let is_full = |interval: &Interval| {
        interval.tally.in_flight_ns >= FULL_SHARE * slots as f64 * length(&[interval]) as f64
    };
    let mut busy: Vec<&Interval> = intervals.iter().copied().filter(|interval| is_full(interval)).collect();
    if busy.is_empty() {
        let most = waiting.iter().copied().fold(0.0, f64::max);
        let of_most = intervals.iter().zip(waiting).filter(|(_, waits)| **waits >= MOST_SHARE * most);
        busy = of_most.map(|(interval, _)| *interval).collect();
    }
    let stop = single_stop(measured, intervals);
    let is_apart = |interval: &&&Interval| {
        stop.is_none_or(|Stop { from, to, .. }| interval.end <= from || interval.start >= to)
    };
    let apart: Vec<&Interval> = busy.iter().filter(is_apart).copied().collect();
    // Where all of it lies about the stop, what is left of that time is what it did something in.
    let stood_ns = stop.filter(|_| apart.is_empty()).map_or(0, |stop| stop.length.0);
    let busy = if apart.is_empty() { busy } else { apart };
    let done: u64 = busy.iter().map(|interval| operations(&interval.tally)).sum();
    let left_ns = length(&busy).saturating_sub(stood_ns);
    // Where that is next to nothing, as of a stop to the end, the queue was full of what waited for it alone.
    if stood_ns > 0 && (left_ns as f64) < MOVED_MIN * length(&busy) as f64 {
        return false;
    }
    let Iops(does) = Iops::of(done, Nanos(left_ns));
    asked >= does
}

/// Whether hardly more ever waited than at the end, most had to wait, and more do so than arrivals at random make by chance: of a stream
/// whose intervals were too many to be kept apart, or that has too few.
fn ended_at_its_worst(measured: &Measured, intervals: &[&Interval]) -> bool {
    let (waiting, _) = measured.left_waiting();
    let StreamTally { backlog_max, arrivals, arrivals_late, .. } = measured.tally;
    intervals.len() < INTERVALS_MIN
        && measured.window() >= MEASURE_MIN
        && waiting as f64 >= backlog_max as f64 * AT_WORST
        && waiting as f64 > (arrivals as f64).sqrt()
        && arrivals_late as f64 >= arrivals as f64 * MOST_LATE
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

/// Whether what was in flight when the time was up took far longer than all of that time, and neither since operations take so long nor
/// since the device stood still: a deep queue holds all that waits, and however brief it was, what was asked for is more than the device
/// does.
fn took_far_longer(measured: &Measured, due_within: Nanos) -> bool {
    let drained = measured.window().since(due_within);
    let done = || measured.tally.kinds.iter().filter(|kind| kind.operations > 0);
    let stands_still = |kind: &KindTally| stop_ns(&kind.service) > 0;
    drained.as_secs_f64() >= DRAINED_FAR * due_within.as_secs_f64()
        && drained.0 > shortest(&measured.tally).saturating_mul(SLOTS_TIMES)
        && done().next().is_some()
        && !done().any(stands_still)
}

/// Intervals one after another in which no slot was ever free.
struct Rush<'a, 'i> {
    intervals: &'a [&'i Interval],
}

impl<'a, 'i> Rush<'a, 'i> {
    fn is_full(interval: &Interval) -> bool {
        let (arrivals, late) = (interval.tally.arrivals as f64, interval.tally.arrivals_late as f64);
        interval.tally.backlog_max > 0 && late >= arrivals * FULL_SHARE_MIN
    }

    /// That at the end, which may be none.
    fn last(intervals: &'a [&'i Interval]) -> Self {
        let before =
            intervals.iter().rposition(|interval| !Self::is_full(interval)).map_or(0, |last| last + 1);
        Self { intervals: &intervals[before..] }
    }

    fn longest(intervals: &'a [&'i Interval]) -> Self {
        let all = intervals.split(|interval| !Self::is_full(interval));
        all.map(|intervals| Self { intervals }).max_by_key(Self::length).unwrap_or(Self { intervals: &[] })
    }

    fn length(&self) -> u64 {
        length(self.intervals)
    }

    fn most(&self) -> u64 {
        self.intervals.iter().map(|interval| interval.tally.backlog_max).max().unwrap_or(0)
    }

    /// What came due in the whole of a series, as a share of what the device would have done in it with a queue as full as here.
    fn utilisation(&self, all: &[&Interval]) -> f64 {
        // The first begins with an empty queue.
        let full = self.intervals.get(1..).unwrap_or_default();
        let done: u64 = full.iter().map(|interval| operations(&interval.tally)).sum();
        let arrivals: u64 = all.iter().map(|interval| interval.tally.arrivals).sum();
        arrivals as f64 * length(full) as f64 / (done as f64 * length(all) as f64)
    }
}

fn length(intervals: &[&Interval]) -> u64 {
    intervals.iter().map(|interval| interval.end.since(interval.start).0).sum()
}

/// Whether what waits at the end began to wait long before, without a free slot ever since, and has grown further than one at random
/// does, of which more came than the device does. A queue below capacity is empty again and again; one above it is a random walk
/// that drifts: it lies on no line, but comes back less and less.
fn never_caught_up(measured: &Measured, intervals: &[&Interval], slots: u64) -> bool {
    let rush = Rush::last(intervals);
    // Of a step that was cut off, only the series tells.
    let left = match (measured.partial, rush.intervals.last()) {
        (true, Some(last)) => last.tally.backlog_max,
        _ => measured.left_waiting().0,
    };
    let backlog: Vec<f64> = rush.intervals.iter().map(|interval| interval.tally.backlog_max as f64).collect();
    if backlog.len() < EVEN_INTERVALS_MIN || left <= slots.saturating_mul(SLOTS_TIMES) {
        return false;
    }
    rush.length() as f64 >= length(intervals) as f64 * NEVER_EMPTY_SHARE
        && walks_up(&backlog)
        && rush.utilisation(intervals) > 1.0
}

/// The same of a queue whose slots take all that waits, so that none is ever without a free one: more than ever are in a steady one
/// have been there since the middle, and have become more all the time.
fn never_emptied(waiting: &[f64]) -> bool {
    let since = waiting.iter().rev().take_while(|waits| **waits > STEADY_BACKLOG_MAX as f64).count();
    waiting.len() >= EVEN_INTERVALS_MIN
        && since as f64 >= waiting.len() as f64 * NEVER_EMPTY_SHARE
        && walks_up(waiting)
}

/// Whether a series has grown by more than a random walk of its steps does, [`WALK_DEVIATIONS`] standard deviations. Worked value:
/// `[0, 1, 3, 4]` has grown by 4, and a walk of steps of 4/3 ± 0.58 comes to ± 1.
fn walks_up(series: &[f64]) -> bool {
    let steps: Vec<f64> = series.windows(2).map(|pair| pair[1] - pair[0]).collect();
    if steps.len() < 2 {
        return false;
    }
    let (grown, count) = (series[series.len() - 1] - series[0], steps.len() as f64);
    let variance = steps.iter().map(|step| (step - grown / count).powi(2)).sum::<f64>() / (count - 1.0);
    grown > WALK_DEVIATIONS * (variance * count).sqrt()
}

/// Whether no slot was free for so long, and so many waited, that it is no matter of a moment: with hardly more that came due, nothing
/// would have become less again.
fn is_long(measured: &Measured, intervals: &[&Interval]) -> bool {
    let rush = Rush::longest(intervals);
    let by_chance = (measured.tally.arrivals as f64).sqrt() * LONG_BACKLOG_DEVIATIONS;
    rush.intervals.len() >= EVEN_INTERVALS_MIN
        && rush.length() as f64 >= length(intervals) as f64 * LONG_FULL_SHARE
        && rush.most() > STEADY_BACKLOG_MAX
        && rush.most() as f64 > by_chance
        && rush.utilisation(intervals) >= UTILISATION_MIN
}

/// Whom the percentiles do not speak of.
fn left_waiting(measured: &Measured) -> String {
    match measured.left_waiting() {
        (0, _) => String::new(),
        (count, oldest) => format!(
            "; at the end {count} still waited, the oldest for {}: percentiles of the response time {}, and are lower bounds",
            oldest.approximate(),
            if measured.tally.left_waiting.is_some() {
                "count them with what they had waited"
            } else {
                "are of those that were done"
            }
        ),
    }
}

/// Whether all that came of a rate of which nothing was done is that more waited than there are slots: nothing failed.
pub(super) fn has_only_waited(stream: &Stream, measured: &Measured) -> bool {
    let slots = u64::from(stream.queue_depth) * stream.workers.len() as u64;
    let has_errors = measured.tally.kinds.iter().any(|kind| !kind.errors.is_empty());
    !has_errors && measured.left_waiting().0 > slots
}

/// What is to be said of such a rate.
pub(super) fn stood_still(stream: &Stream, measured: &Measured, place: &str, found: &mut Found) {
    let (backlog, remedy) = overload(stream, measured.tally.backlog_max);
    found.weighed(
        1.0,
        "pacing.overloaded",
        Severity::Invalid,
        format!(
            "{place}none of the {} operations that came due was achieved, and {backlog}{}",
            measured.tally.arrivals,
            left_waiting(measured)
        ),
        remedy,
    );
}

pub(super) fn dropped(measured: &Measured, place: &str, found: &mut Found) {
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
fn issued_late(
    view: &StepView<'_>,
    stream: &Stream,
    measured: &Measured,
    intervals: &[&Interval],
    place: &str,
    found: &mut Found,
) {
    if !matches!(stream.pacing, Pacing::Open { .. }) || is_virtual(view, stream) || paused::hold_up(stream) {
        return;
    }
    let tally = &measured.tally;
    // Those that waited for a slot say how the device kept up, not how the host did, unless they cannot have waited for it.
    let found_slots = tally.arrivals_late as f64 <= tally.arrivals as f64 * (1.0 - RATE_SHARE_MIN);
    let depth = u64::from(stream.queue_depth) * stream.workers.len() as u64;
    let has_slots = is_even(&stream.pacing)
        && measured.depth_held() < depth as f64 * HELD_SHARE_MAX
        && held_where_late(intervals) < depth as f64 * HELD_LATE_MAX;
    // No slot of the null engine is ever taken for longer than the generator itself takes; what it never gets to is told as an overload.
    let (waiting, _) = measured.left_waiting();
    let is_null = stream.engine.kind == EngineKind::Null
        && is_even(&stream.pacing)
        && (waiting as f64) < tally.arrivals as f64 * (1.0 - RATE_SHARE_MIN);
    if !found_slots && !has_slots && !is_null {
        return;
    }
    let longest = tally.kinds.iter().map(|kind| kind.service.moments.max_ns).max().unwrap_or(0);
    let p99 = |latency: &LatencyTally| Latency::quantile_of(latency, 0.99).unwrap_or(0);
    for kind in &tally.kinds {
        // Of fewer the largest stands for it.
        let is_supported = kind.service.moments.count >= operations_for(0.99);
        let figure = if is_supported { "a p99" } else { "a largest value" };
        let Some(response) = kind.response.as_ref().map(p99) else { continue };
        let service = p99(&kind.service);
        let waited = response.saturating_sub(service);
        if waited <= ISSUED_LATE_NS || waited as f64 <= service as f64 * ISSUED_LATE_SHARE {
            continue;
        }
        let why = if found_slots {
            "slots were free".to_owned()
        } else if is_null {
            "the null engine takes no time".to_owned()
        } else if response > longest.saturating_mul(LONGEST_TIMES) {
            format!(
                "on average {:.2} of {depth} slots were in use, and no operation took longer than {}",
                measured.depth_held(),
                Nanos(longest).approximate()
            )
        } else if time_of_long(tally, waited / LONGEST_TIMES)
            < LONG_SHARE * measured.window().0 as f64 * depth as f64
        {
            // One that was under way when the host stopped the worker took as long as that, and no other does.
            format!(
                "on average {:.2} of {depth} slots were in use, and hardly any operation took as long",
                measured.depth_held()
            )
        } else {
            continue;
        };
        found.weighed(
            waited as f64,
            "pacing.issued-late",
            Severity::Warn,
            format!(
                "{place}generator-limited, arrivals were issued late: the response time of {}s has {figure} of {}, \
                 their service time of {}, and {why}",
                kind.kind.name(),
                Nanos(response).approximate(),
                Nanos(service).approximate()
            ),
            "read the service time, and measure again with processors that are free for the workers",
        );
    }
}

/// Whether no more is missing than what is in flight differs by from one end to the other by chance: of random arrivals none of which
/// waited for a slot.
fn is_of_chance(arrival: &Arrival, measured: &Measured, short_by: f64) -> bool {
    let tally = &measured.tally;
    let is_random = !matches!(arrival, Arrival::Constant | Arrival::ByKind | Arrival::Traced { .. });
    is_random
        && tally.backlog_max == 0
        && short_by * tally.arrivals as f64 <= IN_FLIGHT_DEVIATIONS * measured.depth_held().max(0.0).sqrt()
}

/// Operations in flight, averaged over the late arrivals of all intervals.
fn held_where_late(intervals: &[&Interval]) -> f64 {
    let late = || intervals.iter().map(|interval| interval.tally.arrivals_late as f64);
    let held = intervals.iter().zip(late()).map(|(interval, late)| {
        late * interval.tally.in_flight_ns / interval.end.since(interval.start).0.max(1) as f64
    });
    held.sum::<f64>() / late().sum::<f64>().max(1.0)
}

/// Nanoseconds that operations took in all which took so long, or longer.
fn time_of_long(tally: &StreamTally, least_ns: u64) -> f64 {
    let buckets = tally.kinds.iter().flat_map(|kind| kind.service.histogram.buckets());
    let time = buckets.map(|(bucket, count)| (bucket_bounds(bucket as usize), count));
    time.filter(|((_, high), _)| *high >= least_ns).map(|((_, high), count)| high as f64 * count as f64).sum()
}

/// Whether arrivals come one by one at a rate that stays as it is: no burst of them waits for one another.
pub(super) fn is_even(pacing: &Pacing) -> bool {
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
