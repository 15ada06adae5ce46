//! The measured curve itself, without a law: means per load, and reading off between them. Does not fit.

use super::choice::LatencyLimit;
use super::estimate::Estimate;
use super::fit::{Fit, Point, Weighting};
use super::law::Operating;
use super::lone;
use crate::statistics::{Redraw, Sample, nearest_rank, t_quantile};
use std::collections::HashSet;

/// All points of one load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Load {
    pub(super) n: f64,
    /// Mean throughput.
    pub(super) x: f64,
    /// Half of the 95 % interval of the mean; `None` of a single point.
    pub(super) margin: Option<f64>,
    /// The same by what all loads together scatter: see [`guess`]. 0 where nothing tells it.
    pub(super) guessed: f64,
    /// How often it was measured.
    pub(super) count: usize,
}

/// Fewest points that a law has to leave over for what it leaves to tell what single points scatter by.
const LEFT_OVER_MIN: usize = 3;
/// Standard deviations of a normal distribution in its median absolute deviation.
const OF_MEDIAN: f64 = 1.4826;

/// What single measurements scatter by, as a share: the least that any law leaves of most points. By the median, so that a few loads
/// that are none of the law's decide nothing.
fn scatter(fits: &[Fit], points: &[Point]) -> f64 {
    let of_fit = |fit: &Fit| {
        let freedom =
            points.len().checked_sub(fit.coefficients.len()).filter(|left| *left >= LEFT_OVER_MIN)?;
        let mut left: Vec<f64> = points.iter().map(|p| (fit.law.throughput(p.n) / p.x - 1.0).abs()).collect();
        left.sort_by(f64::total_cmp);
        let median = crate::statistics::nearest_rank(&left, 0.5);
        Some(OF_MEDIAN * median * (points.len() as f64 / freedom as f64).sqrt())
    };
    fits.iter().filter_map(of_fit).reduce(f64::min).unwrap_or(0.0)
}

/// Measurements beyond the first of their loads, and loads that have such, from which on they tell what measuring again scatters by.
const AGAIN_MIN: (usize, usize) = (3, 2);

/// What measurements of one load scatter by over all loads, on the scale on which errors count alike, without those that lie apart from
/// the others of their load: 1.96 standard deviations, or as many as Student's t has for as few as there are. `None` where too few loads
/// were measured again.
fn scatter_again(points: &[Point], loads: &[Load], weighting: Weighting) -> Option<f64> {
    // As many loads as points may have one: looking through all of them for each takes their square.
    let bits = |n: f64, x: f64| (n.to_bits(), x.to_bits());
    let apart: HashSet<(u64, u64)> =
        lone::apart(points, weighting).iter().map(|lone| bits(lone.n, lone.x)).collect();
    let kept: Vec<Point> = points.iter().filter(|p| !apart.contains(&bits(p.n, p.x))).copied().collect();
    let means = by_load(&kept);
    let mean = |n: f64| means.binary_search_by(|load| load.n.total_cmp(&n)).map_or(0.0, |at| means[at].x);
    let squares: f64 = kept.iter().map(|point| lone::error(point.x, mean(point.n), weighting).powi(2)).sum();
    let again = kept.len() - means.len();
    let is_told = again >= AGAIN_MIN.0 && means.iter().filter(|load| load.count > 1).count() >= AGAIN_MIN.1;
    // What is 0 once has no share.
    let is_told = is_told && squares.is_finite() && loads.iter().all(|load| load.x > 0.0);
    is_told.then(|| t_quantile(0.95, again as f64) * (squares / again as f64).sqrt())
}

/// Tells each load half of the 95 % interval of its mean, by what measuring again scatters, else by what laws leave of most points.
pub(super) fn guess(loads: &mut [Load], fits: &[Fit], points: &[Point], weighting: Weighting) {
    let again = scatter_again(points, loads, weighting);
    let else_share = 1.96 * scatter(fits, points);
    for load in loads {
        let of_one = match (again, weighting) {
            (Some(again), Weighting::Equal) => again,
            (Some(again), Weighting::Relative) => again * load.x,
            (None, _) => else_share * load.x,
        };
        load.guessed = of_one / (load.count as f64).sqrt();
    }
}

/// Fall below the best that counts where a load was measured once.
pub(super) const FALL_MIN: f64 = 0.03;

/// Means per load, by ascending load.
pub(super) fn by_load(points: &[Point]) -> Vec<Load> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.n.total_cmp(&b.n));
    sorted
        .chunk_by(|a, b| a.n == b.n)
        .map(|group| {
            let values: Vec<f64> = group.iter().map(|p| p.x).collect();
            let moments = Sample::of(&values);
            Load {
                n: group[0].n,
                x: moments.mean,
                margin: moments.half_width(0.95),
                guessed: 0.0,
                count: group.len(),
            }
        })
        .collect()
}

/// The most that was measured, at the smallest load of equally good ones: more of it bought nothing.
pub(super) fn best(loads: &[Load]) -> Option<&Load> {
    let most = loads.iter().map(|load| load.x).fold(0.0, f64::max);
    loads.iter().find(|load| load.x >= most)
}

/// Share of the most below which the last two loads of a curve without a law are said to have fallen.
const FALLEN_SHARE: f64 = 0.9;

/// The last load where throughput has fallen from the most, and at the one before it.
pub(super) fn fallen(loads: &[Load]) -> Option<Operating> {
    let best = best(loads)?;
    match loads {
        [.., one, last] if one.n > best.n && one.x.max(last.x) < FALLEN_SHARE * best.x => {
            Some(Operating { n: last.n, x: last.x })
        }
        _ => None,
    }
}

/// Share by which the mean of a load lies off the median of all at most, to be of one level with them.
const LEVEL_SHARE_MAX: f64 = 0.10;

/// What loads bring that bring the same: the mean of those near the median. `None` of no load.
pub(super) fn level(loads: &[Load]) -> Option<f64> {
    let mut means: Vec<f64> = loads.iter().map(|load| load.x).collect();
    means.sort_by(f64::total_cmp);
    let median = *means.get(means.len() / 2)?;
    means.retain(|x| (x / median - 1.0).abs() <= LEVEL_SHARE_MAX);
    Some(means.iter().sum::<f64>() / means.len() as f64)
}

/// Share of the most from which on a load scatters as those do that bring it: the scatter of small loads may be another one.
const AS_THE_MOST_MIN: f64 = 0.5;

/// The mean of the loads that are no lower than the highest by more than measuring them again scatters, and half of its 95 %
/// interval. How much that is all loads near the most tell together: three measurements of one alone may agree by chance. `None` where
/// no load was measured again.
pub(super) fn plateau(points: &[Point]) -> Option<(f64, f64)> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.n.total_cmp(&b.n));
    let of_load = |group: &[Point]| Sample::of(&group.iter().map(|point| point.x).collect::<Vec<f64>>());
    let mut loads: Vec<Sample> = sorted.chunk_by(|a, b| a.n == b.n).map(of_load).collect();
    let most = loads.iter().copied().max_by(|a, b| a.mean.total_cmp(&b.mean))?;
    loads.retain(|load| load.mean >= AS_THE_MOST_MIN * most.mean);
    let freedom = loads.iter().map(|load| load.count - 1).sum::<usize>() as f64;
    if freedom < 1.0 {
        return None;
    }
    let squares = loads.iter().map(|load| (load.count - 1) as f64 * load.variance / load.mean.powi(2));
    let share = t_quantile(0.95, freedom) * (squares.sum::<f64>() / freedom).sqrt();
    let margin = |mean: f64, count: usize| share * mean / (count as f64).sqrt();
    let of = |load: &Sample| margin(load.mean, load.count);
    loads.retain(|load| most.mean - load.mean <= of(load) + of(&most));
    let count = loads.iter().map(|load| load.count).sum::<usize>();
    let mean = loads.iter().map(|load| load.mean * load.count as f64).sum::<f64>() / count as f64;
    Some((mean, margin(mean, count)))
}

/// Ratio of the largest to the smallest of points that agree.
const AGREE_MAX: f64 = 1.5;
/// Ratio by which a point lies apart from those of its load that agree, to be named: three times is no noise of theirs.
const OUTLIER_MIN: f64 = 3.0;
/// What is to be said of loads whose measurements are far apart, where there are several of them: their mean is nothing that was.
pub(super) fn apart(points: &[Point], loads: &[Load]) -> Option<String> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.n.total_cmp(&b.n).then(a.x.total_cmp(&b.x)));
    let ratios =
        sorted.chunk_by(|a, b| a.n == b.n).map(|of_load| of_load[of_load.len() - 1].x / of_load[0].x);
    let wide: Vec<f64> = ratios.filter(|ratio| *ratio > AGREE_MAX).collect();
    (2 * wide.len() > loads.len()).then(|| {
        format!(
            "measurements of one load differ by up to {:.1} times, at {} of {} loads by more than {AGREE_MAX}: what is told is of \
             their means, which may be nothing that ever was",
            wide.iter().copied().fold(1.0, f64::max),
            wide.len(),
            loads.len()
        )
    })
}

/// Points that lie far from the others of their load, which agree.
pub(super) fn outliers(points: &[Point]) -> Vec<String> {
    // Ordered once: there may be as many loads as points, and looking for each load's points takes their square.
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.n.total_cmp(&b.n).then(a.x.total_cmp(&b.x)));
    sorted.chunk_by(|a, b| a.n == b.n).filter_map(outlier).collect()
}

/// The one among the points of a load, which ascend, that lies far from the others.
fn outlier(of_load: &[Point]) -> Option<String> {
    let values: Vec<f64> = of_load.iter().map(|point| point.x).collect();
    let agree = |others: &[f64]| others.len() >= 2 && others[others.len() - 1] <= AGREE_MAX * others[0];
    let (low, high) = (*values.first()?, *values.last()?);
    let (above, below) = (&values[1..], &values[..values.len() - 1]);
    let (factor, side) = if agree(above) && above[0] >= OUTLIER_MIN * low {
        (nearest_rank(above, 0.5) / low, "lower")
    } else if agree(below) && high >= OUTLIER_MIN * below[below.len() - 1] {
        (high / nearest_rank(below, 0.5), "higher")
    } else {
        return None;
    };
    let (n, count) = (of_load[0].n, values.len());
    Some(format!(
        "load {n}: one of {count} measurements is {factor:.0} times {side} than the others: measure that load again"
    ))
}

/// Loads beyond the best of which each gives less than the one before from which on that is no noise of single measurements: of as
/// many and the best alike, one order in 24 is this.
const FALLING_PAST_BEST: usize = 3;

/// Whether throughput falls beyond its best: the two largest loads lie below it by more than their error, the last one
/// lowest. Of loads that were measured once their error is guessed, and a row of them that falls will do as well.
pub(super) fn falls(loads: &[Load]) -> bool {
    let Some(best) = loads.iter().max_by(|a, b| a.x.total_cmp(&b.x)) else { return false };
    let past: Vec<f64> = loads.iter().filter(|load| load.n >= best.n).map(|load| load.x).collect();
    let is_row = past.len() > FALLING_PAST_BEST && past.is_sorted_by(|one, next| one > next);
    let below = |load: &Load| {
        let margins = match (load.margin, best.margin) {
            (Some(own), Some(of_best)) => own + of_best,
            (None, None) if !is_row => load.guessed.hypot(best.guessed),
            _ => 0.0,
        };
        best.x - load.x > margins.max(FALL_MIN * best.x)
    };
    match loads {
        [.., one, last] => one.n > best.n && below(one) && below(last) && last.x < one.x,
        _ => false,
    }
}

/// Smallest load that gives throughput `x`, on straight lines between the means.
pub(super) fn load_at(loads: &[Load], x: f64) -> Option<f64> {
    if loads.first().is_some_and(|first| first.x >= x) {
        return loads.first().map(|first| first.n);
    }
    loads.windows(2).find(|pair| pair[0].x < x && pair[1].x >= x).map(|pair| {
        let share = (x - pair[0].x) / (pair[1].x - pair[0].x);
        pair[0].n + share * (pair[1].n - pair[0].n)
    })
}

/// Where N/X of the means reaches a limit.
pub(super) fn little_limit(points: &[Point], seconds: f64) -> LatencyLimit {
    let latencies: Vec<f64> = points.iter().map(|point| point.n / point.x).collect();
    measured_limit(points, &latencies, Statistic::Mean, &EXACT, seconds)
}

/// Share of the most between two loads that leaves open where between them something is reached: no law tells it.
pub(crate) const GAP: f64 = 0.15;

/// Whether the throughputs of two neighbouring loads are so far apart that what lies between them is open.
fn is_gap(low: f64, high: f64, most: f64) -> bool {
    (high - low).abs() > GAP * most
}

/// An interval that reaches from the one end to the other of what was not measured, where there is such.
fn widened(interval: Option<(f64, f64)>, unmeasured: Option<(f64, f64)>) -> Option<(f64, f64)> {
    let Some((a, b)) = unmeasured else { return interval };
    let (least, most) = interval.unwrap_or((a, b));
    Some((least.min(a).min(b), most.max(a).max(b)))
}

/// The two loads between which a share of the best mean is reached, where they are too far apart for a line between them to tell
/// where.
pub(super) fn unmeasured_share(loads: &[Load], share: f64) -> Option<(f64, f64)> {
    let most = loads.iter().map(|load| load.x).fold(0.0, f64::max);
    let x = share * most;
    if loads.first().is_none_or(|first| first.x >= x) {
        return None;
    }
    let pair = loads.windows(2).find(|pair| pair[0].x < x && pair[1].x >= x)?;
    is_gap(pair[0].x, pair[1].x, most).then(|| (pair[0].n, pair[1].n))
}

/// Smallest load that gives a share of the best mean, with an interval from resampling the points of each load, where each
/// has several, and from one to the other of loads that are far apart.
pub(super) fn share_of_best(points: &[Point], share: f64) -> Option<Estimate> {
    let of = |loads: &[Load]| load_at(loads, share * loads.iter().map(|load| load.x).fold(0.0, f64::max));
    let loads = by_load(points);
    let value = of(&loads)?;
    let unmeasured = unmeasured_share(&loads, share);
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.n.total_cmp(&b.n));
    let groups: Vec<&[Point]> = sorted.chunk_by(|a, b| a.n == b.n).collect();
    if groups.iter().any(|group| group.len() < 2) {
        return Some(Estimate { value, interval: widened(None, unmeasured) });
    }
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut drawn: Vec<f64> = (0..resamples(points.len()))
        .filter_map(|_| {
            let draw = |group: &&[Point]| {
                let x = Redraw::of(group.len(), &mut random).mean(group.iter().map(|point| point.x));
                Load { n: group[0].n, x, margin: None, guessed: 0.0, count: group.len() }
            };
            of(&groups.iter().map(draw).collect::<Vec<_>>())
        })
        .collect();
    drawn.sort_by(f64::total_cmp);
    let interval = (!drawn.is_empty()).then(|| (nearest_rank(&drawn, 0.025), nearest_rank(&drawn, 0.975)));
    Some(Estimate { value, interval: widened(interval, unmeasured) })
}

/// Resamples of a bootstrap: enough for the ends of a 95 % interval (Efron & Tibshirani 1993).
pub(super) const RESAMPLES: usize = 1000;
/// Points of a curve above which resampling takes fewer rounds, so that the whole stays within a second.
const RESAMPLED_POINTS_MAX: usize = 20_000;

/// How often so many points are resampled, at least once.
fn resamples(points: usize) -> usize {
    (RESAMPLES * RESAMPLED_POINTS_MAX / points.max(RESAMPLED_POINTS_MAX)).max(1)
}

/// Seed of the resampling.
const SEED: u64 = 29;

/// What latencies of points are: those of one load have a mean, or stand beside one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistic {
    /// Means of operations.
    Mean,
    /// Quantiles of them.
    Quantile,
}

/// Where measured latencies (seconds, one per point) reach a limit, on straight lines between the means of each load. The
/// interval is from resampling the points of each load, where each has several, and from one to the other of loads that are far
/// apart. `off`: how far (seconds) a latency may lie off to either side for how it is kept, such as in buckets: that points of a load
/// fall into one bucket does not show that they do not differ.
pub fn measured_limit(
    points: &[Point],
    latencies: &[f64],
    of: Statistic,
    off: &dyn Fn(f64) -> f64,
    seconds: f64,
) -> LatencyLimit {
    let rows = rows(points, latencies);
    let groups: Vec<&[[f64; 3]]> = rows.chunk_by(|a, b| a[0] == b[0]).collect();
    let means = means(&groups, of);
    let at = crossing(&means, seconds);
    let mut intervals = match at {
        Some(_) => {
            let [n, x] = drawn(&groups, rows.len(), of, off, &|means| crossing(means, seconds));
            let (loads, rates) = unmeasured_limit(&means, seconds).unzip();
            [widened(n, loads), widened(x, rates)]
        }
        None => [None, None],
    };
    for (interval, value) in intervals.iter_mut().zip(at.into_iter().flatten()) {
        *interval = interval.map(|(low, high)| (low.min(value), high.max(value)));
    }
    let exceeds = |row: &[f64; 3]| exceeds(row[2], seconds);
    LatencyLimit {
        is_exceeded: means.iter().all(exceeds),
        is_exceeded_at_first: at.is_none() && means.first().is_some_and(exceeds),
        ..limit_of(at, seconds, intervals)
    }
}

/// Share of a limit that a sum of rounded figures may be off.
const ROUNDING: f64 = 1e-9;

/// Whether a latency is above a limit; one that is exactly at it keeps it.
fn exceeds(latency: f64, seconds: f64) -> bool {
    latency > seconds * (1.0 + ROUNDING)
}

/// Share of a load's mean that is taken for noise at most.
const NOISE_MAX: f64 = 0.05;

/// Whether the mean of any load exceeds a limit by more than what its measurements differ by.
pub(super) fn is_exceeded(points: &[Point], seconds: f64) -> bool {
    by_load(points).iter().any(|load| exceeds(load.n / load.x, seconds * (1.0 + noise(load))))
}

/// Whether the smallest load that exceeds a limit does so by no more than its measurements differ by: where several loads take as long
/// as the limit it is noise which of them does.
pub(super) fn is_exceeded_by_noise(points: &[Point], seconds: f64) -> bool {
    let loads = by_load(points);
    let first = loads.iter().find(|load| exceeds(load.n / load.x, seconds));
    first.is_some_and(|load| load.n / load.x <= seconds * (1.0 + noise(load)))
}

/// How far the mean of a load may lie off by noise, as a share of it.
fn noise(load: &Load) -> f64 {
    load.margin.map_or(0.0, |margin| margin / load.x).min(NOISE_MAX)
}

/// Up to which load N/X keeps a limit that a law says nothing of: to the last whose mean does, or exceeds it by no more than what
/// its measurements differ by. Its interval begins where the means of resampled points first cross the limit, or with the smallest
/// load.
pub(super) fn held_limit(points: &[Point], seconds: f64) -> LatencyLimit {
    let latencies: Vec<f64> = points.iter().map(|point| point.n / point.x).collect();
    let strict = measured_limit(points, &latencies, Statistic::Mean, &EXACT, seconds);
    if latencies.iter().all(|latency| exceeds(*latency, seconds)) {
        return strict;
    }
    let loads = by_load(points);
    let rows = rows(points, &latencies);
    let groups: Vec<&[[f64; 3]]> = rows.chunk_by(|a, b| a[0] == b[0]).collect();
    let means = means(&groups, Statistic::Mean);
    let is_held = |(load, row): (&Load, &[f64; 3])| !exceeds(row[2], seconds * (1.0 + noise(load)));
    let held = loads.iter().zip(&means).rposition(is_held).filter(|at| at + 1 < means.len());
    // Where the largest load keeps it as well, no load is known that does not: where noisy means cross it says nothing.
    let Some(held) = held else {
        return if strict.n.is_some() { limit_of(None, seconds, [None, None]) } else { strict };
    };
    let at = crossing(&means[held..=held + 1], seconds).unwrap_or([means[held][0], means[held][1]]);
    let first = |means: &[[f64; 3]]| {
        let first =
            means.first().filter(|first| exceeds(first[2], seconds)).map(|first| [first[0], first[1]]);
        first.or_else(|| crossing(means, seconds))
    };
    let mut intervals = drawn(&groups, rows.len(), Statistic::Mean, &EXACT, &first);
    for (interval, value) in intervals.iter_mut().zip(at) {
        *interval = interval.map(|(low, high)| (low.min(value), high.max(value)));
    }
    limit_of(Some(at), seconds, intervals)
}

/// Load, throughput and latency of each point, by ascending load.
fn rows(points: &[Point], latencies: &[f64]) -> Vec<[f64; 3]> {
    let mut rows: Vec<[f64; 3]> = points.iter().zip(latencies).map(|(p, &r)| [p.n, p.x, r]).collect();
    rows.sort_by(|a, b| a[0].total_cmp(&b[0]));
    rows
}

fn means(groups: &[&[[f64; 3]]], of: Statistic) -> Vec<[f64; 3]> {
    groups.iter().map(|group| mean(group, &Redraw::none(group.len()), of)).collect()
}

/// Reads a load and its throughput off means of load, throughput and latency.
type Reading<'a> = &'a dyn Fn(&[[f64; 3]]) -> Option<[f64; 2]>;

/// 95 % intervals of a load and its throughput, over means of the `rows` in groups of one load, drawn anew; none where a load was
/// measured once, or a twentieth of the resamples has no such load: there is no upper end then.
fn drawn(
    groups: &[&[[f64; 3]]],
    rows: usize,
    of: Statistic,
    off: &dyn Fn(f64) -> f64,
    figure: Reading<'_>,
) -> [Option<(f64, f64)>; 2] {
    if groups.iter().any(|group| group.len() < 2) {
        return [None, None];
    }
    let mut random = fastrand::Rng::with_seed(SEED);
    let rounds = resamples(rows);
    let mut drawn: Vec<[f64; 2]> = (0..rounds)
        .filter_map(|_| {
            let draw = |group: &&[[f64; 3]]| {
                let [n, x, latency] = mean(group, &Redraw::of(group.len(), &mut random), of);
                [n, x, anywhere(latency, off(latency), &mut random)]
            };
            figure(&groups.iter().map(draw).collect::<Vec<_>>())
        })
        .collect();
    if drawn.len() * 20 < rounds * 19 {
        return [None, None];
    }
    [0, 1].map(|which| {
        drawn.sort_by(|a, b| a[which].total_cmp(&b[which]));
        let values: Vec<f64> = drawn.iter().map(|pair| pair[which]).collect();
        Some((nearest_rank(&values, 0.025), nearest_rank(&values, 0.975)))
    })
}

/// A value that may lie so far off to either side, wherever it may be.
pub(crate) fn anywhere(value: f64, off: f64, random: &mut fastrand::Rng) -> f64 {
    if off > 0.0 { value + off * (2.0 * random.f64() - 1.0) } else { value }
}

/// That latencies are as exact as they are told.
pub const EXACT: fn(f64) -> f64 = |_| 0.0;

/// All rows are of one load, which is none to be drawn. Each counts for a mean latency as often as it had operations, which is by
/// its throughput: one that was held up has few, and their mean is no mean of the load's. Percentiles have no such mean.
fn mean(group: &[[f64; 3]], draw: &Redraw, of: Statistic) -> [f64; 3] {
    let x = draw.mean(group.iter().map(|row| row[1]));
    let latency = match of {
        Statistic::Mean => draw.mean(group.iter().map(|row| row[1] * row[2])) / x,
        Statistic::Quantile => draw.mean(group.iter().map(|row| row[2])),
    };
    [group[0][0], x, latency]
}

/// The loads and the throughputs between which rows first cross the limit, where they are too far apart to tell where.
fn unmeasured_limit(rows: &[[f64; 3]], seconds: f64) -> Option<((f64, f64), (f64, f64))> {
    let pair = crossed(rows, seconds)?;
    let most = rows.iter().map(|row| row[1]).fold(0.0, f64::max);
    let between = |at: usize| (pair[0][at], pair[1][at]);
    is_gap(pair[0][1], pair[1][1], most).then(|| (between(0), between(1)))
}

/// The first two neighbours of which the one keeps the limit and the other does not.
fn crossed(rows: &[[f64; 3]], seconds: f64) -> Option<&[[f64; 3]]> {
    rows.windows(2).find(|pair| !exceeds(pair[0][2], seconds) && exceeds(pair[1][2], seconds))
}

/// Load and throughput where rows of load, throughput and latency first cross the limit, on a straight line of the latency
/// between them. Throughput there is by Little's law the load over its mean latency N/X, which is on a straight line as well:
/// that is exact where more load changes nothing of it, and where it waits for units that are all busy. The latency itself may be a
/// percentile.
fn crossing(rows: &[[f64; 3]], seconds: f64) -> Option<[f64; 2]> {
    let pair = crossed(rows, seconds)?;
    let share = (seconds - pair[0][2]).max(0.0) / (pair[1][2] - pair[0][2]);
    let on_line = |low: f64, high: f64| low + share * (high - low);
    let n = on_line(pair[0][0], pair[1][0]);
    let mean = |row: &[f64; 3]| row[0] / row[1];
    Some([n, n / on_line(mean(&pair[0]), mean(&pair[1]))])
}

fn limit_of(at: Option<[f64; 2]>, seconds: f64, [n, x]: [Option<(f64, f64)>; 2]) -> LatencyLimit {
    LatencyLimit {
        quantile: None,
        seconds,
        n: at.map(|[value, _]| Estimate { value, interval: n }),
        x: at.map(|[_, value]| Estimate { value, interval: x }),
        is_extrapolated: false,
        is_exceeded: false,
        is_exceeded_at_first: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of three measurements of a load one was held up for nearly all of its time: it did few operations, so that those of the load
    /// together hardly took longer. Their mean is N/X of the mean throughput (Little).
    #[test]
    fn a_load_has_the_mean_of_its_operations() {
        let points: Vec<Point> = [(1.0, 12_200.0), (1.0, 12_100.0), (1.0, 79.0), (2.0, 800.0), (2.0, 810.0)]
            .map(|(n, x)| Point { n, x })
            .to_vec();
        let latencies: Vec<f64> = points.iter().map(|point| point.n / point.x).collect();
        // Quantiles are those of each measurement.
        assert!(measured_limit(&points, &latencies, Statistic::Quantile, &EXACT, 1e-3).is_exceeded);
        let found = measured_limit(&points, &latencies, Statistic::Mean, &EXACT, 1e-3);
        assert!(!found.is_exceeded && !found.is_exceeded_at_first, "{found:?}");
        let [first, second] = [3.0 / (12_200.0 + 12_100.0 + 79.0), 2.0 * 2.0 / (800.0 + 810.0)];
        let expect = 1.0 + (1e-3 - first) / (second - first);
        let found = found.n.expect("it is reached between the two loads").value;
        assert!((found / expect - 1.0).abs() < 1e-9, "{found}, {expect}");
    }
}
