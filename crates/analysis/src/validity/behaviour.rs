//! Findings about how a step behaved over time: warm-up, changes of level, drift, memory. A mean over two levels is
//! of neither, so each says where the levels lie. Counts scatter by themselves, as arrivals at random do: what that
//! much noise would show as well is no finding. Each stretch in which the same workers measure is judged by itself
//! (`stretches`); stalls are looked for first (`stalls`), and `changes` says what changes of level come to.

mod changes;
mod frequent;
mod stalls;
mod stretches;

use super::{Found, StepView};
use crate::load::LoadPoint;
use crate::objective::{self, State};
use crate::statistics::{
    Change, Course, Hurst, Sample, Trend, autocorrelation, course, hurst, trend, warm_up,
};
use fathom_schema::Severity;
use fathom_units::{Iops, Nanos};
use stretches::Stretch;

/// Fewest intervals that a level is read from on either side, twice.
const INTERVALS_MIN: usize = 2 * LASTING_MIN;
/// Fewest that a warm-up, a drift or memory is read from: MSER-5 has six batches of them then.
const COURSE_MIN: usize = 30;
/// Difference of two levels that matters, as a share.
const LEVEL_MIN: f64 = 0.10;
/// Fewest intervals of a level, and the part of a step that it has to last.
const LASTING_MIN: usize = 5;
const LASTING_PARTS: usize = 20;
/// Drift over a whole step that matters, as a share.
const DRIFT_MIN: f64 = 0.05;
/// Standard errors by which two levels have to differ: of all places where a series of some hundred intervals may be
/// cut, one shows three and a half by chance.
const LEVELS_CERTAIN: f64 = 5.0;
/// The same of a drift, in halves of its 95 % interval: some four standard errors.
const DRIFT_CERTAIN: f64 = 2.0;
/// Correlation of neighbours above which a series would have no mean worth the name.
const MEMORY_MAX: f64 = 0.95;
/// Arrivals that may be due or in flight at the end beyond those that mostly are, for a load to have been carried.
const UNDER_WAY: f64 = 3.0;

/// Hurst exponent from which on throughput has memory that matters: means of n intervals then vary as those of √n or fewer
/// independent ones do (`n^(2H−2)` at 0.75).
const MEMORY_MIN: f64 = 0.75;

/// One interval of all streams together.
#[derive(Clone)]
struct Second {
    start: Nanos,
    end: Nanos,
    /// Seconds.
    length: f64,
    iops: f64,
    /// Bytes written since the measuring began, up to its start.
    written_before: f64,
    /// Longest time that an operation took from its submission, seconds.
    slowest_s: f64,
}

/// Checks of one step.
pub(super) fn check(view: &StepView<'_>, found: &mut Found) {
    stretches::check(view, found);
    let is_imposed = is_imposed(view);
    for Stretch { seconds, is_first, is_whole } in stretches::stretches(view) {
        // What stalled would be a level of its own, and has been told.
        let seconds = stalls::check(seconds, view, found);
        if seconds.len() >= INTERVALS_MIN && !is_imposed {
            check_course(&Stretch { seconds, is_first, is_whole }, view, found);
        }
    }
}

/// Checks of how throughput goes where the job itself changes nothing.
fn check_course(stretch: &Stretch, view: &StepView<'_>, found: &mut Found) {
    let Stretch { seconds, is_first, is_whole } = stretch;
    let iops: Vec<f64> = seconds.iter().map(|second| second.iops).collect();
    let levels = levels(seconds, &iops);
    let is_long = iops.len() >= COURSE_MIN;
    let warm = if is_long { warm(seconds, &iops, &levels) } else { 0 };
    // What settles after the job itself has changed something is no start of the device, and no ramp leaves it out.
    if warm > 0 && *is_first {
        tell_warm(warm, seconds, &iops, view, found);
    }
    let later: Vec<Change> = levels.into_iter().filter(|change| change.at > warm).collect();
    for change in &later {
        let label = format!("{} → {} IOPS", Iops(change.before), Iops(change.after));
        found.mark(view, seconds[change.at].start, label);
    }
    if !later.is_empty() {
        changes::tell(&later, seconds, view, found);
    } else if is_long {
        let drift = trend(&iops[warm..]).filter(is_certain);
        let share = drift.map_or(0.0, |drift| drift.change / drift.mean);
        if share.abs() >= DRIFT_MIN {
            let word = if share < 0.0 { "fell" } else { "rose" };
            let (start, end) = (seconds[0].start, seconds[seconds.len() - 1].end);
            let over = if *is_whole {
                "over the step".to_owned()
            } else {
                format!("from {:.0} s to {:.0} s", start.as_secs_f64(), end.as_secs_f64())
            };
            found.add(
                "behaviour.drift",
                Severity::Warn,
                format!("{}throughput {word} by {:.0} % {over}", view.place(), share.abs() * 100.0),
                "it has no steady state yet: measure for longer, or start after it has settled",
            );
        } else {
            memory(&iops[warm..], view, found);
        }
    }
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
    let Some(hurst) = hurst(iops).filter(|hurst| hurst.least() >= MEMORY_MIN) else { return };
    let Hurst { by_variance, by_wavelet, block_max } = hurst;
    found.add(
        "behaviour.memory",
        Severity::Info,
        format!(
            "{}throughput comes in bursts within bursts: its Hurst exponent is {by_variance:.2} by variances \
             and {by_wavelet:.2} by wavelets, over 1 to {block_max} intervals",
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
fn levels(seconds: &[Second], iops: &[f64]) -> Vec<Change> {
    let Course { jumps, is_smooth: _ } = course(iops, LASTING_MIN.max(iops.len() / LASTING_PARTS), LEVEL_MIN);
    let mut edges: Vec<usize> = jumps.iter().map(|change| change.at).collect();
    edges.insert(0, 0);
    edges.push(iops.len());
    let sides = edges.windows(3).map(|edge| (&iops[edge[0]..edge[1]], &iops[edge[1]..edge[2]]));
    let differ = |(left, right): (&[f64], &[f64])| differ(seconds, &Sample::of(left), &Sample::of(right));
    jumps.iter().zip(sides).filter(|(_, sides)| differ(*sides)).map(|(change, _)| *change).collect()
}

/// Whether a drift is no accident.
fn is_certain(drift: &Trend) -> bool {
    let half = (drift.interval.1 - drift.interval.0) / 2.0;
    drift.change.abs() > DRIFT_CERTAIN * half
}

/// How many intervals a warm-up has.
fn warm(seconds: &[Second], iops: &[f64], levels: &[Change]) -> usize {
    let Some(warm) = warm_up(iops).filter(|warm| warm.is_found && warm.length > 0) else { return 0 };
    let (before, after) = (Sample::of(&iops[..warm.length]), Sample::of(&iops[warm.length..]));
    let share = before.mean / after.mean - 1.0;
    // A cliff after a long time is no warm-up: what came before it lasted.
    let lasts = levels.first().is_some_and(|first| first.at * 10 > iops.len() && first.before > first.after);
    // Up to the next level, which is no noise of this one; the warm-up's own end is not known to the value.
    let next = levels.iter().map(|change| change.at).find(|&at| at > warm.length + LASTING_MIN);
    let rest = &iops[warm.length..next.unwrap_or(iops.len())];
    let is_settled = trend(rest).filter(is_certain).is_none_or(|drift| {
        let goes_on = drift.change / drift.mean * share;
        // What follows goes on as before: it is one slope.
        goes_on > 0.0 || drift.change.abs() < (before.mean - after.mean).abs() / 2.0
    });
    let is_noise = !differ(seconds, &before, &after) || !outlasts(&iops[..warm.length], rest);
    if share.abs() < LEVEL_MIN || lasts || is_noise || !is_settled {
        return 0;
    }
    warm.length
}

/// Tells a warm-up of so many intervals.
fn tell_warm(length: usize, seconds: &[Second], iops: &[f64], view: &StepView<'_>, found: &mut Found) {
    let share = Sample::of(&iops[..length]).mean / Sample::of(&iops[length..]).mean - 1.0;
    let word = if share < 0.0 { "below" } else { "above" };
    found.mark(view, seconds[length].start, "warm-up ends".to_owned());
    found.add(
        "behaviour.warm-up",
        Severity::Warn,
        format!(
            "{}the first {:.0} s are {:.0} % {word} the rest",
            view.place(),
            seconds[length].start.as_secs_f64() - seconds[0].start.as_secs_f64(),
            share.abs() * 100.0
        ),
        "they count in the figures: give the stage a ramp at least as long",
    );
}

/// Whether the mean of the first values is off that of the rest by more than noise explains that scatters as the rest
/// does, and remembers as both do.
fn outlasts(first: &[f64], rest: &[f64]) -> bool {
    let (of_first, of_rest) = (Sample::of(first), Sample::of(rest));
    let residuals: Vec<f64> = first
        .iter()
        .map(|value| value - of_first.mean)
        .chain(rest.iter().map(|value| value - of_rest.mean))
        .collect();
    let correlation = autocorrelation(&residuals, 0.0);
    // Of few values it comes out too small (Kendall 1954).
    let correlation =
        (correlation + (1.0 + 4.0 * correlation) / residuals.len() as f64).clamp(0.0, MEMORY_MAX);
    let variance = of_rest.variance * (1.0 + correlation) / (1.0 - correlation);
    let error = (variance / first.len() as f64 + variance / rest.len() as f64).sqrt();
    (of_first.mean - of_rest.mean).abs() > LEVELS_CERTAIN * error
}

/// The middle of values; 0 of none.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}
