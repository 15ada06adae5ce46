//! Findings about how a step behaved over time: warm-up, changes of level, drift, memory. A mean over two levels is
//! of neither, so each says where the levels lie. Counts scatter by themselves, as arrivals at random do: what that
//! much noise would show as well is no finding. Each stretch in which the same workers measure is judged by itself
//! (`stretches`); stalls are looked for first (`stalls`), then dips (`dips`); `warmup` says how it begins, and `changes` what
//! changes of level come to.

mod changes;
mod dips;
mod frequent;
mod held;
mod limited;
mod passages;
mod stalls;
mod stretches;
mod usual;
mod warmup;
mod whose;

use super::{Found, StepView};
use crate::load::LoadPoint;
use crate::objective::{self, State};
use crate::statistics::{
    Change, Course, Hurst, Sample, Trend, Wave, alternation, course, hurst, trend, wave,
};
use fathom_schema::{Interval, Phase, Record, Severity, TimeLimit};
use fathom_units::{Iops, Nanos};
use stretches::Stretch;
use warmup::{Start, matters};

/// Share of what came due that was done where the load alone says how much that is.
const KEPT_UP: f64 = 0.99;
/// Share of a difference of throughput that one of what came due explains it by: a burst at an edge is done on the other side.
const DUE_SHARE_MIN: f64 = 0.5;

/// Fewest intervals that a level is read from on either side, twice.
const INTERVALS_MIN: usize = 2 * LASTING_MIN;
/// Fewest that a drift or memory is read from.
const COURSE_MIN: usize = 30;
/// Fewest that a fall or rise is read from where there are fewer than that, by how its values follow one another.
const SHORT_MIN: usize = 12;
/// How many standard deviations of values in any order that is, the share of pairs that go one way beyond those that go the
/// other (Kendall's τ), and what it has to come to: of AR(1) noise with a memory of 0.9 and a deviation of a tenth, two of a
/// hundred series do.
const SHORT_CERTAIN: f64 = 4.0;
const SHORT_TAU: f64 = 0.8;
const SHORT_LEAST: f64 = 0.15;
/// The same of a first half alone.
const SHORT_HALF_LEAST: f64 = 0.3;
/// The part of them that either end is.
const SHORT_PARTS: usize = 6;
/// Standard errors by which the ends differ then: a curve that falls steeply scatters from one to the next by its fall.
const BESIDE_STEPS: f64 = 3.0;
/// Intervals at either end of a step that tell whether it begins or ends off its level.
const EDGE: usize = 2;
/// The part of the farthest that they are off by then.
const AT_END_MIN: f64 = 0.5;
/// The part of a step up to which what begins off its level is a brief approach, as long as it is off by a third or more.
const APPROACH_PART: usize = 16;
/// How many times as long an approach lasts as it is off by that.
const APPROACH: usize = 3;
/// Difference of two levels that matters, as a share.
const LEVEL_MIN: f64 = 0.10;
/// Fewest intervals of a level, and the part of a step that it has to last.
const LASTING_MIN: usize = 5;
const LASTING_PARTS: usize = 20;
/// The part of the changes between two levels that the load may have made, for the device to have made the others.
const BY_LOAD_PARTS: usize = 10;
/// Most changes of level that are marked on the time line.
const MARKS_MAX: usize = 50;
/// Drift over a whole step that matters, as a share.
const DRIFT_MIN: f64 = 0.05;
/// Times its slots that are done in an interval, up to which those under way at its edges matter.
const EDGES_TIMES: f64 = 2.0;
/// Parts of a step whose means tell whether it goes along with its drift, and the fewest intervals of one; and the share of their
/// range that they may come back by.
const COURSE_PARTS: usize = 16;
const PART_MIN: usize = 3;
const BACK_MAX: f64 = 0.5;
/// Range of the means of parts that is told where no shape is, as a share of the mean, and in mean differences of neighbours: noise
/// with a memory of 0.9 has seven of them, of 0.97 fifteen.
const STRAYS_MIN: f64 = 0.3;
const STRAYS_STEPS: f64 = 20.0;
/// Standard errors by which two levels have to differ: of all places where a series of some hundred intervals may be
/// cut, one shows three and a half by chance.
const LEVELS_CERTAIN: f64 = 5.0;
/// The same of a drift, in halves of its 95 % interval: some four standard errors.
const DRIFT_CERTAIN: f64 = 2.0;
/// Arrivals that may be due or in flight at the end beyond those that mostly are, for a load to have been carried.
const UNDER_WAY: f64 = 3.0;

/// Hurst exponent from which on throughput has memory that matters: means of n intervals then vary as those of √n or fewer
/// independent ones do (`n^(2H−2)` at 0.75).
const MEMORY_MIN: f64 = 0.75;
/// How many times the variance of the longest blocks has to be that of noise that only remembers its last value: of such noise one
/// series in fifty has it.
const BEYOND_NEIGHBOURS_MIN: f64 = 1.6;
/// The most that an estimate of an exponent comes to that is 1 at most.
const EXPONENT_MAX: f64 = 1.2;

/// One interval of all streams together.
#[derive(Clone)]
struct Second {
    start: Nanos,
    end: Nanos,
    /// Seconds.
    length: f64,
    iops: f64,
    /// Bytes per second.
    bandwidth: f64,
    /// What came due, operations per second; of streams that all have a rate.
    due: Option<f64>,
    /// Bytes written since the measuring began, up to its start.
    written_before: f64,
    /// Longest time that an operation took from its submission, seconds.
    slowest_s: f64,
    /// What nine of ten operations took at least, seconds.
    quick_s: f64,
    /// Operations in flight, in the mean.
    in_flight: f64,
}

/// Times of a step's interval from which on what stands for one is a sum of several.
const SUMMED_MIN: f64 = 2.0;

/// Says so where a record is so long that sums stand for its intervals: what is shorter goes unseen in them.
pub(super) fn run(record: &Record, found: &mut Found) {
    let longest = record
        .steps
        .iter()
        .flat_map(|step| {
            let edge = step.started.step.interval.as_secs_f64();
            let is_sum = move |length: f64| length >= SUMMED_MIN * edge;
            // The last of several of a stream is as much longer as what was in flight took.
            let measured = step.intervals.iter().filter(|interval| interval.phase == Phase::Measure);
            let mut ends = vec![(0, Nanos::ZERO); step.started.step.streams.len()];
            for interval in measured {
                if let Some((count, end)) = ends.get_mut(interval.stream as usize) {
                    (*count, *end) = (*count + 1, interval.end.max(*end));
                }
            }
            let is_last = move |interval: &Interval| {
                let of_stream = ends.get(interval.stream as usize);
                of_stream.is_some_and(|&(count, end)| count > 1 && end == interval.end)
            };
            let of_all = step.intervals.iter().filter(move |interval| !interval.late && !is_last(interval));
            // Nor is the only one longer than its stream was to last.
            let lasts = |interval: &Interval| {
                let stream = step.started.step.streams.get(interval.stream as usize);
                match stream.map(|stream| stream.limits.time) {
                    Some(TimeLimit::Nanoseconds(time)) => Nanos(time),
                    _ => Nanos::NEVER,
                }
            };
            of_all
                .map(move |interval| interval.end.since(interval.start).min(lasts(interval)).as_secs_f64())
                .filter(move |length| is_sum(*length))
        })
        .fold(0.0, f64::max);
    if longest > 0.0 {
        found.add(
            "behaviour.summed",
            Severity::Info,
            format!(
                "the record is long: how it behaved over time was looked at in sums of up to {longest:.0} s"
            ),
            "stalls that are much shorter than that are not told; those of a shorter run are",
        );
    }
}

/// Checks of one step.
pub(super) fn check(view: &StepView<'_>, found: &mut Found) {
    stretches::check(view, found);
    let is_imposed = is_imposed(view);
    for Stretch { seconds, is_first, is_whole } in stretches::stretches(view) {
        // What stalled would be a level of its own, and has been told.
        let seconds = dips::check(stalls::check(seconds, view, found), view, found);
        if seconds.len() >= INTERVALS_MIN && !is_imposed {
            check_course(&Stretch { seconds, is_first, is_whole }, view, found);
        }
    }
}

/// Checks of how throughput goes where the job itself changes nothing.
fn check_course(stretch: &Stretch, view: &StepView<'_>, found: &mut Found) {
    let Stretch { seconds, is_first, is_whole } = stretch;
    if is_even(seconds, view) {
        return;
    }
    let iops: Vec<f64> = seconds.iter().map(|second| second.iops).collect();
    let (levels, is_smooth) = levels(seconds, &iops);
    let is_long = iops.len() >= COURSE_MIN;
    let passage = is_long.then(|| passages::of(seconds, &iops, &levels)).flatten();
    let levels = if passage.is_some() { Vec::new() } else { levels };
    let Start { warm, over } = warmup::start(seconds, &iops, &levels);
    let (early, passage) = match passage {
        Some(passage) if passages::is_early(&passage, iops.len()) => (Some(passage), None),
        passage => (None, passage.filter(passages::leaves_a_level)),
    };
    let warm = match (&passage, early) {
        // What lasted is no warm-up, however slowly it was left.
        (Some(passage), _) if warm >= passage.from => 0,
        (None, Some(early)) if warm == 0 && passages::is_gradual(&early) && matters(&iops, early.to) => {
            early.to
        }
        _ => warm,
    };
    let levels = by_device(levels, seconds);
    // What settles after the job itself has changed something is no start of the device, and no ramp leaves it out.
    if warm > 0 && *is_first {
        warmup::tell(warm, seconds, &iops, view, found);
    }
    let later: Vec<Change> = levels.into_iter().filter(|change| change.at > warm).collect();
    limited::check(seconds, &later, view, found);
    for change in later.iter().take(MARKS_MAX) {
        let label = format!("{} → {} IOPS", Iops(change.before), Iops(change.after));
        found.mark(view, seconds[change.at].start, label);
    }
    if !later.is_empty() {
        changes::tell(&later, seconds, view, found);
    } else if let Some(passage) = passage {
        passages::tell(&passage, seconds, &iops, view, found);
    } else if is_long {
        // What an early approach leaves behind is looked at without it, told or not.
        let start = warm.max(over).max(early.map_or(0, |early| passages::is_over_at(&early, iops.len())));
        let start = if start == 0 { begins_off(&iops) } else { start };
        // A curve that tells the series better than noise with memory does goes somewhere, be it no straight line.
        let is_curve = is_smooth && start == 0;
        let middle = usize::midpoint(start, iops.len());
        let wave = wave(&iops[start..]).filter(|wave| !is_wave_by_load(wave, &seconds[start..]));
        let comes_back = wave.is_some_and(|wave| wave.comes_back);
        let drift = trend(&iops[start..])
            .filter(|_| !comes_back)
            .filter(|drift| is_curve || is_certain(drift))
            .filter(|_| !is_by_load(seconds, start, middle, seconds.len()))
            .filter(|drift| (drift.change / drift.mean).abs() >= DRIFT_MIN);
        let of_line = drift.map(|drift| share_of_start(&drift, &iops[start..]));
        let of_ends = of_line.filter(|_| is_curve).and_then(|of_line| share_of_ends(&iops[start..], of_line));
        let of_levels = drift.and_then(|drift| share_of_levels(&drift, &iops[start..]));
        let turns = of_ends.is_some_and(|share| share.abs() < DRIFT_MIN)
            || drift.is_some_and(|drift| comes_back_between(&iops[start..], drift.change));
        if let Some(share) = of_ends.or(of_levels).or(of_line).filter(|_| !turns) {
            tell_drift(share, seconds, *is_whole, view, found);
        } else if turns {
            let (low, high) = range_of_means(&iops[start..]);
            tell_up_and_down(low, high, view, found);
        } else if !(tell_wave(wave, &seconds[start..], &iops[start..], view, found)
            // What comes due is no steady state of its own.
            || seconds.iter().any(|second| second.due.is_none()) && tell_strays(&iops[start..], view, found))
        {
            memory(&iops[start..], view, found);
        }
    } else if warm == 0
        && !is_by_load(seconds, 0, iops.len() / 2, iops.len())
        && let Some(share) = drift_of_few(&iops)
    {
        tell_drift(share, seconds, *is_whole, view, found);
    }
}

/// Whether operations take about as long as an interval and came as a constant rate brings them, but for those that were under way at
/// edges: theirs make a course then that no device has.
fn is_even(seconds: &[Second], view: &StepView<'_>) -> bool {
    let slots: f64 =
        view.streams().map(|(stream, _)| f64::from(stream.queue_depth) * stream.workers.len() as f64).sum();
    let count = |second: &Second| second.iops * second.length;
    let time: f64 = seconds.iter().map(|second| second.length).sum();
    let rate = seconds.iter().map(count).sum::<f64>() / time;
    if rate * time > EDGES_TIMES * slots * seconds.len() as f64 {
        return false;
    }
    let mut off = 0.0_f64;
    let (mut lowest, mut highest) = (0.0_f64, 0.0_f64);
    for second in seconds {
        off += count(second) - rate * second.length;
        (lowest, highest) = (lowest.min(off), highest.max(off));
    }
    highest - lowest <= slots
}

/// Tells how much throughput fell or rose, as a share of where it began.
fn tell_drift(share: f64, seconds: &[Second], is_whole: bool, view: &StepView<'_>, found: &mut Found) {
    let word = if share < 0.0 { "fell" } else { "rose" };
    let (start, end) = (seconds[0].start, seconds[seconds.len() - 1].end);
    let over = if is_whole {
        "over the step".to_owned()
    } else {
        format!("from {:.0} s to {:.0} s", start.as_secs_f64(), end.as_secs_f64())
    };
    found.weighed(
        share.abs(),
        "behaviour.drift",
        Severity::Warn,
        format!("{}throughput {word} by {:.0} % {over}", view.place(), share.abs() * 100.0),
        "it has no steady state yet: measure for longer, or start after it has settled",
    );
}

/// How far few values fell or rose from their first to their last, as a share of the first: all of them, or by more those of the
/// first half and what is left of the others then.
fn drift_of_few(iops: &[f64]) -> Option<f64> {
    let half = (iops.len() / 2).max(SHORT_MIN);
    falls(iops, SHORT_LEAST).or_else(|| {
        let before = falls(iops.get(..half)?, SHORT_HALF_LEAST)?;
        let ends = share_of_edges(iops);
        // It stays where it went.
        (ends.signum() == before.signum() && ends.abs() >= BACK_MAX * before.abs()).then_some(ends)
    })
}

/// How far the last of few values are off the first, as a share of these, if by `least`: where hardly any later one lies above
/// (below) an earlier one (Mann 1945, Kendall 1975), whatever the curve, and the ends are apart by more than the scatter from one
/// to the next explains. Noise that remembers strays as far, but not in one direction.
fn falls(iops: &[f64], least: f64) -> Option<f64> {
    if iops.len() < SHORT_MIN {
        return None;
    }
    let count = iops.len() as f64;
    let pairs =
        || iops.iter().enumerate().flat_map(|(at, one)| iops[at + 1..].iter().map(move |other| other - one));
    let (up, down) =
        (pairs().filter(|off| *off > 0.0).count() as f64, pairs().filter(|off| *off < 0.0).count() as f64);
    let deviation = (count * (count - 1.0) * (2.0 * count + 5.0) / 18.0).sqrt();
    let share = share_of_edges(iops);
    let length = edge(iops);
    let error = (2.0 * variance_of_steps(iops) / length as f64).sqrt() / Sample::of(&iops[..length]).mean;
    let goes_on =
        (up - down).abs() >= SHORT_TAU * (up + down) && (up - down).abs() >= SHORT_CERTAIN * deviation;
    (goes_on && share.abs() >= least && share.abs() > BESIDE_STEPS * error).then_some(share)
}

/// How many of few values are either end of them.
fn edge(iops: &[f64]) -> usize {
    (iops.len() / SHORT_PARTS).max(PART_MIN)
}

fn share_of_edges(iops: &[f64]) -> f64 {
    let length = edge(iops);
    Sample::of(&iops[iops.len() - length..]).mean / Sample::of(&iops[..length]).mean - 1.0
}

/// The changes of level but those that the load made.
fn by_device(mut levels: Vec<Change>, seconds: &[Second]) -> Vec<Change> {
    let edges: Vec<usize> = levels.iter().map(|change| change.at).collect();
    let mut at = 0;
    levels.retain(|change| {
        let from = if at == 0 { 0 } else { edges[at - 1] };
        let to = edges.get(at + 1).copied().unwrap_or(seconds.len());
        at += 1;
        !is_by_load(seconds, from, change.at, to)
    });
    levels
}

/// Whether the slower one of two stretches is slower since less came due in it: at some moment of its second half all of that was
/// done, or the difference of what came due is most of that of what was done.
fn is_by_load(seconds: &[Second], from: usize, middle: usize, to: usize) -> bool {
    let sum = |part: &[Second], of: &dyn Fn(&Second) -> f64| {
        part.iter().map(|second| of(second) * second.length).sum::<f64>()
    };
    let done = |part: &[Second]| sum(part, &|second| second.iops);
    let due = |part: &[Second]| sum(part, &|second| second.due.unwrap_or(0.0));
    let length = |part: &[Second]| sum(part, &|_| 1.0);
    let rate = |part: &[Second]| done(part) / length(part);
    let (before, after) = (&seconds[from..middle], &seconds[middle..to]);
    let (slower, faster) = if rate(before) < rate(after) { (before, after) } else { (after, before) };
    let (mut all_done, mut all_due) = (0.0, 0.0);
    let mut kept_up = false;
    for (at, second) in slower.iter().enumerate() {
        all_done += second.iops * second.length;
        all_due += second.due.unwrap_or(0.0) * second.length;
        kept_up |= at + 1 >= slower.len().div_ceil(2) && all_done >= KEPT_UP * all_due;
    }
    let less = due(faster) / length(faster) - due(slower) / length(slower);
    let is_less = less >= DUE_SHARE_MIN * (rate(faster) - rate(slower));
    seconds[from..to].iter().all(|second| second.due.is_some()) && (kept_up || is_less)
}

/// Whether the load made a single hump or dip: what is before it, or behind one that lies at the start, is the other stretch.
fn is_wave_by_load(wave: &Wave, seconds: &[Second]) -> bool {
    wave.once.is_some_and(|(from, to)| match from {
        0 => is_by_load(seconds, 0, to, seconds.len()),
        _ => is_by_load(seconds, 0, from, to),
    })
}

/// Whether a part of a series is off its level by most of what it strays from that.
fn is_off(
    iops: &[f64],
    (low, high): (f64, f64),
    part: impl std::slice::SliceIndex<[f64], Output = [f64]>,
) -> bool {
    let level = median(iops);
    let farthest = if high - level > level - low { high } else { low };
    (Sample::of(&iops[part]).mean - level) / (farthest - level) >= AT_END_MIN
}

/// How many of the first intervals are an approach that begins off the level and is over early, with what it leaves behind; 0 where
/// there is none.
fn begins_off(iops: &[f64]) -> usize {
    let is_early = |wave: &Wave| {
        wave.once.is_some_and(|(from, to)| from == 0 && to * APPROACH_PART <= iops.len())
            && is_off(iops, (wave.low, wave.high), ..EDGE)
    };
    let to = wave(iops).filter(is_early).and_then(|wave| wave.once).map_or(0, |(_, to)| to);
    (APPROACH * to).min(iops.len() / 2)
}

/// Tells a smooth course that comes back, of which a straight line knows nothing. Whether there is one.
fn tell_wave(
    wave: Option<Wave>,
    seconds: &[Second],
    iops: &[f64],
    view: &StepView<'_>,
    found: &mut Found,
) -> bool {
    let sample = Sample::of(iops);
    let Some(Wave { low, high, once, .. }) =
        wave.filter(|wave| wave.high - wave.low >= LEVEL_MIN * sample.mean)
    else {
        return false;
    };
    match once {
        Some((from, to)) => {
            // What is off at an end has not come from there, or not come back.
            if from == 0 && is_off(iops, (low, high), ..EDGE) {
                return false;
            }
            let ends = to == iops.len() && is_off(iops, (low, high), iops.len() - EDGE..);
            let ends = ends.then(|| &seconds[from]);
            let about = ends.unwrap_or(&seconds[usize::midpoint(from, to)]);
            let is_dip = median(iops) > f64::midpoint(low, high);
            tell_once((low, high), about, is_dip, ends.is_some(), view, found);
        }
        None => tell_up_and_down(low, high, view, found),
    }
    true
}

/// Tells throughput that stays nowhere although nothing makes it tremble: levels, waves and lines tell of one shape each, and of stairs
/// that are left at the top again there are too many too short ones. Whether it is so.
fn tell_strays(iops: &[f64], view: &StepView<'_>, found: &mut Found) -> bool {
    let length = (iops.len() / COURSE_PARTS).max(PART_MIN);
    let parts = iops.chunks_exact(length).map(|part| Sample::of(part).mean);
    let (low, high) =
        parts.fold((f64::INFINITY, 0.0_f64), |(low, high), mean| (low.min(mean), high.max(mean)));
    let steps = iops.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum::<f64>();
    let step = steps / iops.len().saturating_sub(1).max(1) as f64;
    if high - low < STRAYS_MIN * Sample::of(iops).mean || high - low < STRAYS_STEPS * step {
        return false;
    }
    found.weighed(
        (high - low) / high,
        "behaviour.drift",
        Severity::Warn,
        format!(
            "{}throughput has no one level: over {length} intervals at a time it was between {} and {} IOPS, where an interval differs \
             from the one before by {} on average",
            view.place(),
            Iops(low),
            Iops(high),
            Iops(step)
        ),
        "its mean is of no steady state: look what changes with it, such as the place on the device, or measure parts of it apart",
    );
    true
}

/// Tells that throughput strayed smoothly from its level once, about an interval, and came back; or `stays` off it to the end, from an
/// interval on.
fn tell_once(
    (low, high): (f64, f64),
    about: &Second,
    is_dip: bool,
    stays: bool,
    view: &StepView<'_>,
    found: &mut Found,
) {
    let (place, time) = (view.place(), about.start.as_secs_f64());
    let (low_words, high_words) = (Iops(low), Iops(high));
    let course = if is_dip {
        format!("fell smoothly from {high_words} to {low_words}")
    } else {
        format!("rose smoothly from {low_words} to {high_words}")
    };
    found.weighed(
        (high - low) / high,
        "behaviour.drift",
        Severity::Warn,
        if stays {
            format!(
                "{place}throughput {course} IOPS from about {time:.0} s on, and had not come back at the end"
            )
        } else {
            format!("{place}throughput {course} IOPS and came back, farthest off at about {time:.0} s")
        },
        "its mean is of no steady state: look what came and went then, and measure again",
    );
}

/// Tells that throughput went smoothly between two rates, operations per second, and came back.
fn tell_up_and_down(low: f64, high: f64, view: &StepView<'_>, found: &mut Found) {
    found.weighed(
        (high - low) / high,
        "behaviour.drift",
        Severity::Warn,
        format!(
            "{}throughput went up and down smoothly, between {} and {} IOPS",
            view.place(),
            Iops(low),
            Iops(high)
        ),
        "its mean is of no steady state: look what changes with it, or measure over many such changes",
    );
}

/// Whether throughput is what arrivals made it: the device took all that came due, so its course is that of the load.
fn is_imposed(view: &StepView<'_>) -> bool {
    let step = &view.step.started.step;
    let finished = view.step.finished.as_ref().filter(|_| crate::load::rate(step).is_some());
    let point = finished.and_then(|finished| LoadPoint::of(step, &finished.streams));
    point.is_some_and(|point| {
        // Of few arrivals those that are under way at the end are a large share.
        let count = point.response.moments.count as f64;
        let left = (point.offered / point.rate - 1.0) * count;
        let is_carried = point.dropped == 0 && left <= point.held + UNDER_WAY;
        is_carried || objective::state(&point, point.offered, &[]) == State::Met
    })
}

/// Tells bursts within bursts. Of levels and drifts the exponent says nothing: both look like memory without end.
fn memory(iops: &[f64], view: &StepView<'_>, found: &mut Found) {
    // Of a series that is not stationary the estimates have no meaning, and leave 0 to 1 by more than their errors.
    let is_told = |hurst: &Hurst| {
        hurst.least() >= MEMORY_MIN
            && hurst.by_variance.max(hurst.by_wavelet) <= EXPONENT_MAX
            && hurst.beyond_neighbours >= BEYOND_NEIGHBOURS_MIN
    };
    let Some(hurst) = hurst(iops).filter(is_told) else { return };
    let words = |exponent: f64| if exponent < 1.0 { format!("{exponent:.2}") } else { "nearly 1".to_owned() };
    let (by_variance, by_wavelet) = (words(hurst.by_variance), words(hurst.by_wavelet));
    let block_max = hurst.block_max;
    found.weighed(
        hurst.least(),
        "behaviour.memory",
        Severity::Info,
        format!(
            "{}throughput comes in bursts within bursts: its Hurst exponent is {by_variance} by variances \
             and {by_wavelet} by wavelets, over 1 to {block_max} intervals",
            view.place()
        ),
        "means of a short run say less than their intervals promise: measure for longer, and compare several runs",
    );
}

/// Whether two stretches differ by more than their scatter explains, which is at least that of counts that come at random.
fn differ(seconds: &[Second], left: &Sample, right: &Sample) -> bool {
    let length = seconds.iter().map(|second| second.length).sum::<f64>() / seconds.len() as f64;
    let error = |sample: &Sample| sample.variance.max(sample.mean / length) / sample.count.max(1) as f64;
    (left.mean - right.mean).abs() > LEVELS_CERTAIN * (error(left) + error(right)).sqrt()
}

/// Changes from one level to another. A level is one that lasts: a dip of a few seconds is none, and neither is a slope.
/// Beside them, whether it goes smoothly to other values.
fn levels(seconds: &[Second], iops: &[f64]) -> (Vec<Change>, bool) {
    let Course { jumps, is_smooth } = course(iops, LASTING_MIN.max(iops.len() / LASTING_PARTS), LEVEL_MIN);
    let mut edges: Vec<usize> = jumps.iter().map(|change| change.at).collect();
    edges.insert(0, 0);
    edges.push(iops.len());
    let sides = edges.windows(3).map(|edge| (&iops[edge[0]..edge[1]], &iops[edge[1]..edge[2]]));
    let differ = |(left, right): (&[f64], &[f64])| differ(seconds, &Sample::of(left), &Sample::of(right));
    let certain = jumps.iter().zip(sides).filter(|(_, sides)| differ(*sides));
    let lasting: Vec<Change> = certain.map(|(change, _)| *change).collect();
    match to_and_fro(seconds, iops, &lasting) {
        Some(changes) => (changes, false),
        None => (lasting, is_smooth),
    }
}

/// The changes between two levels, where it goes to and fro more often than its lasting levels tell: some of those are none then
/// but means of both. Levels that last are told where all but a twentieth of the intervals is at them, whatever those few do.
fn to_and_fro(seconds: &[Second], iops: &[f64], lasting: &[Change]) -> Option<Vec<Change>> {
    let sample = Sample::of(iops);
    let length = seconds.iter().map(|second| second.length).sum::<f64>() / seconds.len() as f64;
    let changes = alternation(iops, sample.mean / length);
    let first =
        changes.first().filter(|first| (first.after - first.before).abs() >= LEVEL_MIN * first.before)?;
    let half = (first.after - first.before).abs() / 2.0;
    let level_at = |place: usize| {
        let last = lasting.iter().rev().find(|change| change.at <= place);
        last.map(|change| change.after).or(lasting.first().map(|change| change.before))
    };
    let is_elsewhere =
        |&place: &usize| level_at(place).is_none_or(|level| (iops[place] - level).abs() > half);
    let elsewhere = (0..iops.len()).filter(is_elsewhere).count();
    let is_told = changes.len() > lasting.len() && elsewhere * LASTING_PARTS > iops.len();
    let by_load = changes.len() - by_device(changes.clone(), seconds).len();
    (is_told && by_load * BY_LOAD_PARTS <= changes.len()).then_some(changes)
}

/// Whether a drift is no accident.
fn is_certain(drift: &Trend) -> bool {
    let half = (drift.interval.1 - drift.interval.0) / 2.0;
    drift.change.abs() > DRIFT_CERTAIN * half
}

/// What a drift comes to, as a share of where it began. A straight line through what is none leaves the values behind it: an
/// end that lies beyond all of them is the last of them on that side, so that nothing falls by more than there was.
fn share_of_start(drift: &Trend, iops: &[f64]) -> f64 {
    let high = iops.iter().copied().fold(0.0, f64::max);
    let low = iops.iter().copied().filter(|rate| *rate > 0.0).fold(high, f64::min);
    let end = |halves: f64| (drift.mean + halves * drift.change / 2.0).clamp(low, high);
    end(1.0) / end(-1.0) - 1.0
}

/// The same of a curve by its first and its last intervals, where those say something else than the line does. `None` where
/// they do not, or no more than the scatter from one interval to the next explains: the line is known better then.
fn share_of_ends(iops: &[f64], of_line: f64) -> Option<f64> {
    let (first, last) =
        (Sample::of(&iops[..LASTING_MIN]).mean, Sample::of(&iops[iops.len() - LASTING_MIN..]).mean);
    let of_mean = variance_of_steps(iops) / LASTING_MIN as f64;
    let share = last / first - 1.0;
    let error = (of_mean * (1.0 + (last / first).powi(2))).sqrt() / first;
    let apart = (share - of_line).abs();
    (first > 0.0 && apart >= DRIFT_MIN && apart > LEVELS_CERTAIN * error).then_some(share)
}

/// The same of what two levels tell better than a line does: of one change at once a line makes half as much again. `None` of
/// what a line tells as well.
fn share_of_levels(line: &Trend, iops: &[f64]) -> Option<f64> {
    let count = iops.len() as f64;
    let of_line = squares_of(line, iops.len());
    let mut sum = 0.0;
    let cuts = iops.iter().enumerate().map(|(at, rate)| {
        sum += rate - line.mean;
        let (before, after) = ((at + 1) as f64, count - (at + 1) as f64);
        (before, after, sum)
    });
    let is_lasting = |(before, after, _): &(f64, f64, f64)| before.min(*after) >= LASTING_MIN as f64;
    // What two levels take of the squares about the mean.
    let taken = |(before, after, sum): &(f64, f64, f64)| sum * sum * (1.0 / before + 1.0 / after);
    let best = cuts.filter(is_lasting).max_by(|a, b| taken(a).total_cmp(&taken(b)))?;
    let (before, after, sum) = best;
    let (first, last) = (line.mean + sum / before, line.mean - sum / after);
    (taken(&best) > of_line && first > 0.0).then(|| last / first - 1.0)
}

/// What a line takes of the squares about the mean: slope²·Σ(t−t̄)², with n(n²−1)/12 for the sum.
fn squares_of(line: &Trend, count: usize) -> f64 {
    let count = count as f64;
    (line.change / (count - 1.0)).powi(2) * count * (count * count - 1.0) / 12.0
}

/// Whether throughput goes against its drift for a time, by a large part of how far it goes at all and by more than the scatter
/// from one interval to the next explains: a sawtooth ends low and has been back at the top again and again.
fn comes_back_between(iops: &[f64], drift: f64) -> bool {
    let length = (iops.len() / COURSE_PARTS).max(PART_MIN);
    let means: Vec<f64> = iops.chunks_exact(length).map(|part| Sample::of(part).mean).collect();
    // As if it rose: what it falls below the highest that it has reached.
    let (mut highest, mut lowest, mut back) = (f64::NEG_INFINITY, f64::INFINITY, 0.0_f64);
    for mean in means.iter().map(|mean| mean * drift.signum()) {
        highest = highest.max(mean);
        lowest = lowest.min(mean);
        back = back.max(highest - mean);
    }
    let error = (2.0 * variance_of_steps(iops) / length as f64).sqrt();
    back >= BACK_MAX * (highest - lowest) && back > LEVELS_CERTAIN * error
}

/// Variance of values by what each differs from the one before: of what is independent, twice their variance (von Neumann 1941).
fn variance_of_steps(iops: &[f64]) -> f64 {
    let squares: f64 = iops.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    squares / (2 * (iops.len() - 1)) as f64
}

/// The least and the greatest of the means of a few intervals at a time.
fn range_of_means(iops: &[f64]) -> (f64, f64) {
    let means = iops.chunks_exact(LASTING_MIN).map(|few| Sample::of(few).mean);
    means.fold((f64::INFINITY, 0.0), |(low, high), mean| (mean.min(low), mean.max(high)))
}

/// A time of a step as a figure to be told.
fn instant(seconds: f64) -> Nanos {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time within a step")]
    Nanos((seconds * 1e9).max(0.0) as u64)
}

/// The middle of values; 0 of none.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}
