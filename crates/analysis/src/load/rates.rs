//! What a curve over rates says: response times against the rate that is offered in an open loop. No scaling law is fitted,
//! since its load is what arrivals happen to leave in flight; figures are read off between the measured rates, each with
//! an interval where the rates were measured several times.
//!
//! Between two rates the inverse of a latency is taken as a straight line over the rate: of a queue with one exponential
//! server that is exact (M/M/1: 1/R = μ − λ), and steep ends are met far better than by a line of the latency itself. Of several
//! units it is near: where the mean is twice that of an idle target, the interval holds what a line that bends would say as well.

use super::{Curve, LoadPoint, anywhere_in_buckets};
use crate::objective::{CALM as NO_LONGER, State, is_calm, state};
use crate::scaling::{Answers, Estimate, GAP, LatencyLimit, Operating, Peak, Point, Verdict};
use crate::statistics::{Redraw, Sample, nearest_rank};
use fathom_schema::LatencyGoal;
use fathom_units::{Iops, Nanos};
use undecided::{of_noise, undecided};

/// As [`GAP`], beyond which one rate of the usual ten is missing, where the higher rate was not carried or takes [`STEEP`] times as
/// long: so near, a straight line of 1/R errs by as much as rates do (0.25 % of 16 to 64 units, by Erlang's C).
const GAP_NEAR: f64 = 0.03;
/// Growth of the mean response time from one rate to the next beyond which a straight line of 1/R is none where it is twice that of an
/// idle target: over a tenth of the most it errs by 2 % of 16 units, more than measuring again scatters.
const STEEP: f64 = 2.0;
/// How far from two rates a third has to lie to tell how 1/R bends between them, in distances of theirs: nearer, it tells noise.
const REACH: f64 = 0.5;
/// Halvings of what lies between two rates: to 10⁻¹² of it.
const HALVINGS: usize = 40;
/// Resamples of the measured rates.
const RESAMPLES: usize = 1000;
/// Seed of the resampling: the same record gives the same intervals.
const SEED: u64 = 31;
/// Share of the most from which on a rate counts as all there is.
const NEARLY: f64 = 0.95;
/// Share of what was asked that a rate is done at, for its waiting to be no overload: random arrivals are not exactly
/// as many.
const OFFERED_SHARE: f64 = 0.98;
/// Share of the most up to which rates say how long an operation takes alone.
const CALM: f64 = 0.5;
/// Share of the most up to which the lowest rate has to go for it to tell how long an operation takes alone: above, that hangs on how
/// irregular service is, which one rate does not tell. Rates are met within 2 %.
const LOWEST_MAX: f64 = 1.02 * CALM;
/// Share of the most from which on a rate is next to it.
const NEXT_TO: f64 = 0.8;
/// Most that waiting may be longer than with exponential service times, (1 + C²)/2: 1 % that take 100 times as long have 12.8.
const IRREGULAR_MAX: f64 = 20.0;
/// Share of what one solution leaves that another leaves at most where it is taken instead.
const NEARER: f64 = 0.9;
/// What stands between service times that are constant and those that are exponential, where the rates do not tell.
const IRREGULAR: f64 = 0.75;
/// Units from which on nothing waits at a calm rate: of 256, one operation in 10²⁰ does at half the highest.
const UNITS_MAX: f64 = 256.0;
/// Rounds in which the number of units and the time alone are brought together, and the relative step at which they are.
const ROUNDS_MAX: usize = 60;
const SETTLED: f64 = 1e-6;

/// What belongs to a curve over rates alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Rates {
    /// Whether full speed is that of fathom's own queue: what it keeps in flight hardly waits for one another.
    pub is_held_back: bool,
    /// Operations per second at full speed.
    pub maximum: Estimate,
    /// The rate that was asked for at each point.
    pub asked: Vec<f64>,
    /// What became of each point.
    pub states: Vec<State>,
    /// Highest rate that was carried every time: as much done as came due.
    pub carried: Option<f64>,
    /// Rate at which the mean response time is twice that of an idle target.
    pub doubled: Option<Estimate>,
    /// The two rates between which that lies, where nothing between them was measured.
    pub doubled_between: Option<(f64, f64)>,
    /// Mean response time of an idle target, seconds; `None` where no rate was low enough to tell.
    pub alone_s: Option<Estimate>,
}

/// By how much the shortest response time may lie below that of an idle target by the law, as a share, for noise.
const SHORTER_MAX: f64 = 0.1;

/// A rate as it was measured, once or on average.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    asked: f64,
    done: f64,
    mean_s: f64,
    /// What the limits are about, seconds.
    latencies_s: Vec<f64>,
}

/// The figures of one (re)sample.
struct Figures {
    alone_s: Option<f64>,
    doubled: Option<Crossing>,
    /// Load and rate of that where 1/R bends between the two rates as the next ones say.
    doubled_bent: Option<(f64, f64)>,
    nearly: Option<Crossing>,
    units: Option<f64>,
    limits: Vec<Option<Crossing>>,
    /// Load and rate of the end of the rates next to where a limit is reached that none between them reaches.
    ends: Vec<(f64, f64)>,
}

/// Load and rate at which something happens, and those between which nothing tells where, if they are far apart.
#[derive(Clone, Copy)]
struct Crossing {
    n: f64,
    x: f64,
    unmeasured: Option<[(f64, f64); 2]>,
}

/// The most, at the operations that were in flight there.
const fn at_full_speed(slots: f64, x: Estimate) -> Peak {
    Peak { n: Estimate { value: slots, interval: None }, x, is_of_law: false, is_extrapolated: false }
}

/// Whether half of the operations take no longer at full speed than at the lowest rate, which one freeze of the target moves as
/// little as it makes much of a mean.
fn takes_as_long(full_speed: &[(f64, LoadPoint)], offered: &[(f64, LoadPoint)]) -> bool {
    let half = LatencyGoal { quantile: Some(0.5), limit: Nanos(1) };
    let lowest = offered.iter().map(|(asked, _)| *asked).fold(f64::INFINITY, f64::min);
    let alone =
        offered.iter().filter(|(asked, _)| same(*asked, lowest)).map(|(_, point)| point.latency_s(&half));
    let alone_s = alone.fold(0.0, f64::max);
    let at_once = full_speed.iter().map(|(_, point)| point.latency_s(&half));
    at_once.fold(f64::INFINITY, f64::min) <= NO_LONGER * alone_s
}

/// The curve that rates make. `full_speed` are steps without pacing, with the slots they had; `offered` those at a
/// rate, with it; all go to so many queues. `None` below two different rates or without a step at full speed.
pub(super) fn curve(
    full_speed: &[(f64, LoadPoint)],
    offered: Vec<(f64, LoadPoint)>,
    queues: f64,
    limits: &[LatencyGoal],
) -> Option<Curve> {
    let most = Sample::of(&full_speed.iter().map(|(_, point)| point.rate).collect::<Vec<_>>());
    let slots = full_speed.first()?.0;
    let first = offered.first()?.0;
    if offered.iter().all(|(asked, _)| same(*asked, first)) {
        return None;
    }
    let states: Vec<State> = offered.iter().map(|(asked, point)| state(point, *asked, &[])).collect();
    let mut rows: Vec<Row> = offered
        .iter()
        .map(|(asked, point)| Row {
            asked: *asked,
            done: point.rate,
            mean_s: point.mean_s,
            latencies_s: limits.iter().map(|goal| point.latency_s(goal)).collect(),
        })
        .collect();
    rows.sort_by(|a, b| a.asked.total_cmp(&b.asked));
    let groups: Vec<&[Row]> = rows.chunk_by(|a, b| same(a.asked, b.asked)).collect();
    let means: Vec<Row> = groups.iter().map(|group| mean(group, &Redraw::none(group.len()))).collect();
    let found = figures(most.mean, &means, queues, limits, IRREGULAR);
    let drawn = resampled(full_speed, &groups, queues, limits);
    let estimate = |figure: &dyn Fn(&Figures) -> Option<f64>| {
        Some(Estimate { value: figure(&found)?, interval: interval(&drawn, figure) })
    };
    let maximum = Estimate {
        value: most.mean,
        interval: most.half_width(0.95).map(|half| ((most.mean - half).max(0.0), most.mean + half)),
    };
    let crossed = |figure: &dyn Fn(&Figures) -> Option<Crossing>| {
        let bounds = figure(&found).and_then(|at| at.unmeasured);
        let n = estimate(&|found| figure(found).map(|at| at.n));
        let x = estimate(&|found| figure(found).map(|at| at.x));
        (n.map(|n| widened(n, bounds, |at| at.0)), x.map(|x| widened(x, bounds, |at| at.1)))
    };
    let (knee, doubled) = crossed(&|found| found.doubled);
    let bent = |of: fn((f64, f64)) -> f64| interval(&drawn, &|found| found.doubled_bent.map(of));
    let (knee, doubled) = (joined(knee, bent(|at| at.0)), joined(doubled, bent(|at| at.1)));
    // With as many in flight as fathom keeps they hardly wait for one another: full speed is no figure of the target's.
    let is_held_back = found.alone_s.is_some_and(|alone_s| is_calm(slots, most.mean, alone_s))
        && takes_as_long(full_speed, &offered);
    let held_back = is_held_back.then(|| held_back(slots));
    let is_overloaded = states.contains(&State::Overloaded);
    let verdict =
        if is_held_back { Verdict::Linear } else { verdict(&means, most.mean, &found, is_overloaded) };
    let answers = Answers {
        fits: Vec::new(),
        chosen: None,
        lawless: None,
        verdict,
        smallest: means.first().map_or(0.0, |row| row.done * row.mean_s),
        peak: at_full_speed(slots, maximum),
        fallen: None,
        best: Operating { n: slots, x: maximum.value },
        level: None,
        ceiling: Some(maximum).filter(|_| !is_held_back),
        is_ceiling_open: false,
        knee: knee.filter(|_| !is_held_back),
        n_at_95_percent: crossed(&|found| found.nearly).0.filter(|_| !is_held_back),
        parallel_units: estimate(&|found| found.units).filter(|_| !is_held_back),
        latency_limits: limits
            .iter()
            .enumerate()
            .map(|(which, goal)| {
                // What waits near full speed waits for fathom's queue there.
                let is_own =
                    |at: &Crossing| is_held_back && (at.x > NEARLY * most.mean || at.unmeasured.is_some());
                let (n, x) = crossed(&|found| found.limits[which].filter(|at| !is_own(at)));
                let ends = undecided(&drawn, which).filter(|_| !is_held_back);
                let n = n.map(|n| widened(n, ends, |at| at.0));
                let x = x.map(|x| widened(x, ends, |at| at.1));
                let latencies_s: Vec<f64> = means.iter().map(|row| row.latencies_s[which]).collect();
                limit(goal, &latencies_s, n, x)
            })
            .collect(),
        remarks: held_back.map_or_else(
            || remarks(&found, limits, slots).into_iter().chain(of_noise(&found, &drawn, limits)).collect(),
            |told| vec![told],
        ),
    };
    let carried = carried(&groups, &offered, &states);
    let alone_s = estimate(&|found| found.alone_s);
    let rates = Rates {
        is_held_back,
        maximum,
        asked: offered.iter().map(|(asked, _)| *asked).collect(),
        states,
        carried,
        doubled: doubled.filter(|_| !is_held_back),
        doubled_between: found
            .doubled
            .and_then(|at| at.unmeasured)
            .filter(|_| !is_held_back)
            .map(|[low, high]| (low.1, high.1)),
        alone_s,
    };
    let steps: Vec<LoadPoint> = offered.into_iter().map(|(_, point)| point).collect();
    // Little's law on what users see: what waits for a slot counts as well. One load for all measurements of a rate.
    let held =
        |asked: f64| means.iter().find(|row| same(row.asked, asked)).map_or(0.0, |row| row.done * row.mean_s);
    let points =
        steps.iter().zip(&rates.asked).map(|(step, &asked)| Point { n: held(asked), x: step.rate }).collect();
    Some(Curve { answers, points, steps, rates: Some(rates) })
}

/// What limits rates of which `most` are done. `is_overloaded`: whether any was too much.
fn verdict(means: &[Row], most: f64, found: &Figures, is_overloaded: bool) -> Verdict {
    // Without a low rate nothing tells how long operations wait before the lowest.
    let Some(alone_s) = found.alone_s else {
        let is_full = means.first().is_some_and(|first| first.done >= NEARLY * most);
        return if is_full { Verdict::Flat } else { Verdict::NoLaw };
    };
    let is_kept_waiting = |row: &Row, times: f64| {
        row.done >= OFFERED_SHARE * row.asked && row.done < NEARLY * most && row.mean_s > times * alone_s
    };
    let between = found.doubled.and_then(|at| at.unmeasured);
    // Where that is known it says as much as is told with it, as long as waiting begins before it: whether a rate next to it takes
    // twice as long is chance.
    let waits = match found.doubled {
        Some(at) if at.unmeasured.is_none() => {
            at.x < NEARLY * most && means.iter().any(|row| is_kept_waiting(row, NO_LONGER))
        }
        _ => means.iter().any(|row| is_kept_waiting(row, 2.0)),
    };
    match (waits, between) {
        (true, _) => Verdict::Queueing,
        // It may be next to full speed or far from it.
        (false, Some([low, _])) if low.1 < NEXT_TO * most => Verdict::NoLaw,
        (false, _) if found.doubled.is_some() || is_overloaded => Verdict::Capped,
        (false, _) => Verdict::Linear,
    }
}

/// An estimate whose interval reaches from the one end to the other of what was not measured, where there is such.
fn widened(found: Estimate, bounds: Option<[(f64, f64); 2]>, of: fn((f64, f64)) -> f64) -> Estimate {
    let Some(bounds) = bounds else { return found };
    let (low, high) = (of(bounds[0]), of(bounds[1]));
    let (least, most) = found.interval.unwrap_or((low, high));
    Estimate { interval: Some((least.min(low), most.max(high))), ..found }
}

/// An estimate whose interval holds that of another way to read it off as well.
fn joined(found: Option<Estimate>, other: Option<(f64, f64)>) -> Option<Estimate> {
    let found = found?;
    let interval = match (found.interval, other) {
        (Some((low, high)), Some((least, most))) => Some((low.min(least), high.max(most))),
        (interval, _) => interval,
    };
    Some(Estimate { interval, ..found })
}

/// The highest rate of which every measurement was met.
fn carried(groups: &[&[Row]], offered: &[(f64, LoadPoint)], states: &[State]) -> Option<f64> {
    let is_met = |asked: f64| {
        offered
            .iter()
            .zip(states)
            .filter(|((one, _), _)| same(*one, asked))
            .all(|(_, state)| *state == State::Met)
    };
    groups.iter().map(|group| group[0].asked).filter(|asked| is_met(*asked)).reduce(f64::max)
}

/// What to say where the targets may do more than at full speed with so many in flight.
fn held_back(slots: f64) -> String {
    format!(
        "full speed is that of {slots} operations in flight, which hardly wait for one another: the targets may do more, and what rates \
         near it show is fathom's own queue; let a worker have more in flight (--max-depth)"
    )
}

/// What to say of figures of a full speed that is the targets'.
fn remarks(found: &Figures, limits: &[LatencyGoal], slots: f64) -> Vec<String> {
    let unmeasured = unmeasured(found, limits).into_iter();
    unmeasured.chain(without_units(found)).chain(without_alone(found, slots)).collect()
}

/// What to say of answers that lie between two rates with nothing between them.
fn unmeasured(found: &Figures, limits: &[LatencyGoal]) -> Vec<String> {
    let doubled = (found.doubled, "twice the idle response time is reached".to_owned());
    let limits = found.limits.iter().zip(limits);
    let limits = limits.map(|(at, goal)| (*at, format!("{} reaches {}", goal.statistic(), goal.limit)));
    let nearly = (found.nearly, "the load holds 95 % of the most".to_owned());
    [doubled, nearly]
        .into_iter()
        .chain(limits)
        .filter_map(|(at, what)| {
            let [low, high] = at?.unmeasured?.map(|(_, rate)| Iops(rate));
            Some(format!(
                "where {what} is not known better than its interval: no rate between {low}/s and {high}/s was measured; \
                 ask for some of them with --at"
            ))
        })
        .collect()
}

/// A limit with the load and the rate at which it is reached; `latencies_s` of the rates, from the lowest on.
fn limit(goal: &LatencyGoal, latencies_s: &[f64], n: Option<Estimate>, x: Option<Estimate>) -> LatencyLimit {
    let seconds = goal.limit.as_secs_f64();
    let exceeds = |latency: &f64| *latency > seconds;
    LatencyLimit {
        quantile: goal.quantile,
        seconds,
        n,
        x,
        is_extrapolated: false,
        is_exceeded: latencies_s.iter().all(exceeds),
        is_exceeded_at_first: latencies_s.first().is_some_and(exceeds),
    }
}

/// What is to be said where response times are not those of units that operations wait for.
fn without_units(found: &Figures) -> Option<String> {
    (found.alone_s.is_some() && found.units.is_none()).then(|| {
        "response times at low rates do not grow as where operations wait for units alone (a target that stands still now and then has \
         such): how many work in parallel is not told by them"
            .to_owned()
    })
}

/// What is to be said where no rate was low enough to tell how long an operation takes alone.
fn without_alone(found: &Figures, slots: f64) -> Option<String> {
    found.alone_s.is_none().then(|| {
        format!(
            "no rate up to half of full speed was measured: nothing tells how long an idle target takes, nor whether full speed is the \
             targets' or that of {slots} operations in flight; ask for lower rates with --at"
        )
    })
}

/// Whether two rates are one that was asked for several times: shares of a maximum are rounded when they are written.
fn same(a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() < 1e-6
}

fn mean(rows: &[Row], draw: &Redraw) -> Row {
    let of = |figure: &dyn Fn(&Row) -> f64| draw.mean(rows.iter().map(figure));
    let limits = rows.first().map_or(0, |row| row.latencies_s.len());
    Row {
        asked: of(&|row| row.asked),
        done: of(&|row| row.done),
        mean_s: of(&|row| row.mean_s),
        latencies_s: (0..limits).map(|which| of(&|row| row.latencies_s[which])).collect(),
    }
}

fn figures(most: f64, rows: &[Row], queues: f64, limits: &[LatencyGoal], irregular: f64) -> Figures {
    let (alone_s, is_of_law) = alone(most, rows, queues, irregular).unzip();
    let load = |x: f64, at: usize, share: f64| {
        let inverse = between(1.0 / rows[at].mean_s, 1.0 / rows[at + 1].mean_s, share);
        x / inverse
    };
    // How long operations wait at a rate that is not carried says how long it went on.
    let unmeasured = |low: &Row, high: &Row, is_steep: bool| {
        let gap = if is_steep || is_short(high) { GAP_NEAR } else { GAP };
        (high.done - low.done > gap * most).then(|| [low, high].map(|row| (row.done * row.mean_s, row.done)))
    };
    let crossing = |latency: &dyn Fn(&Row) -> f64, limit_s: f64, steep: f64| {
        let at =
            rows.windows(2).position(|pair| latency(&pair[0]) <= limit_s && latency(&pair[1]) > limit_s)?;
        let (low, high) = (1.0 / latency(&rows[at]), 1.0 / latency(&rows[at + 1]));
        let share = (low - 1.0 / limit_s) / (low - high);
        let x = between(rows[at].done, rows[at + 1].done, share);
        let is_steep = latency(&rows[at + 1]) > steep * latency(&rows[at]);
        let unmeasured = unmeasured(&rows[at], &rows[at + 1], is_steep);
        Some((at, Crossing { n: load(x, at, share), x, unmeasured }))
    };
    let nearly = || {
        let x = NEARLY * most;
        let at = rows.windows(2).position(|pair| pair[0].done < x && pair[1].done >= x)?;
        let share = (x - rows[at].done) / (rows[at + 1].done - rows[at].done);
        Some(Crossing { n: load(x, at, share), x, unmeasured: unmeasured(&rows[at], &rows[at + 1], false) })
    };
    let (doubled, doubled_bent) = alone_s
        .and_then(|alone_s| {
            let twice_s = 2.0 * alone_s;
            let (at, found) = crossing(&|row| row.mean_s, twice_s, STEEP)?;
            let x = bent(rows, at, 1.0 / twice_s);
            Some((found, (x * twice_s, x)))
        })
        .unzip();
    let limit = |which: usize| {
        let limit_s = limits[which].limit.as_secs_f64();
        crossing(&|row| row.latencies_s[which], limit_s, f64::INFINITY).map(|(_, at)| at)
    };
    let end = |which: usize| {
        let exceeds = |row: &&Row| row.latencies_s[which] > limits[which].limit.as_secs_f64();
        let row = rows.first().filter(exceeds).or(rows.last());
        row.map_or((0.0, 0.0), |row| (row.done * row.mean_s, row.done))
    };
    Figures {
        ends: (0..limits.len()).map(end).collect(),
        doubled,
        doubled_bent,
        nearly: nearly(),
        // The utilisation law: at full speed c units are busy, each with an operation as long as it takes alone.
        units: alone_s.map(|alone_s| most * alone_s).filter(|_| is_of_law == Some(true)),
        limits: (0..limits.len()).map(limit).collect(),
        alone_s,
    }
}

/// Whether less was done than came due.
fn is_short(row: &Row) -> bool {
    row.done < OFFERED_SHARE * row.asked
}

/// The rate where the inverse of the mean response time comes to `inverse` between the rates at `at` and after it, if it bends between
/// them as it does with the next one below and above: of several units it does, and a straight line comes to it too early.
fn bent(rows: &[Row], at: usize, inverse: f64) -> f64 {
    let (low, high) = (&rows[at], &rows[at + 1]);
    let reach = REACH * (high.done - low.done);
    let slope = |a: &Row, b: &Row| (1.0 / b.mean_s - 1.0 / a.mean_s) / (b.done - a.done);
    let straight = slope(low, high);
    let below = rows[..at].iter().rfind(|row| row.done <= low.done - reach);
    let above = rows[at + 2..].iter().find(|row| row.done >= high.done + reach && !is_short(row));
    // Newton's divided differences of the second order, of as many as there are their mean.
    let of_below = below.map(|row| (straight - slope(row, low)) / (high.done - row.done));
    let of_above = above.map(|row| (slope(high, row) - straight) / (row.done - low.done));
    let bend = match (of_below, of_above) {
        (Some(below), Some(above)) => f64::midpoint(below, above),
        (one, other) => one.or(other).unwrap_or(0.0),
    };
    let of = |x: f64| 1.0 / low.mean_s + (x - low.done) * (straight + bend * (x - high.done));
    let (mut least, mut most) = (low.done, high.done);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(least, most);
        if of(middle) > inverse {
            least = middle;
        } else {
            most = middle;
        }
    }
    f64::midpoint(least, most)
}

/// How long an operation takes where no other is, from the calm rates. Operations that meet at c units wait for
/// C(c, ρ)/(μ − λ) where service is random (Erlang's C, the highest rate μ), for half of that times [`constant_share`] where all
/// take as long, and by how irregular their service is for what lies between (Cosmetatos 1976): exact for M/M/c (κ = 1) and M/G/1
/// (Pollaczek and Khinchine; κ = 1/2 where all take as long), near for others. R = S + that is fitted in S and κ, with
/// c = μ·S by the utilisation law; of several queues beside one another, each has its part of λ, μ and c. One rate alone does not tell κ, which is then `irregular`. With it whether response times are of that
/// law: none is shorter than what an operation takes alone, and where the law says so it is not theirs (a target that stands still now
/// and then), and the shortest of them is what is known.
fn alone(most: f64, rows: &[Row], queues: f64, irregular: f64) -> Option<(f64, bool)> {
    let first = rows.first().filter(|row| row.done <= LOWEST_MAX * most)?;
    let calm = rows.iter().filter(|row| row.done <= CALM * most).count().max(1);
    let calm = &rows[..calm.min(rows.len())];
    // What an operation waits for where it finds the unit busy that it needs, with service as irregular as it may be.
    let utilisation = (first.done / most).min(1.0 - f64::EPSILON);
    let least = first.mean_s / (1.0 + IRREGULAR_MAX * utilisation / (1.0 - utilisation));
    let next = |alone_s: f64| {
        let (next, misfit) = without_waiting(most, calm, queues, most * alone_s, irregular);
        (next.clamp(least, 2.0 * first.mean_s), misfit)
    };
    let settled = |mut alone_s: f64| {
        for _ in 0..ROUNDS_MAX {
            let step = next(alone_s).0 - alone_s;
            alone_s += step / 2.0;
            if step.abs() < SETTLED * alone_s {
                break;
            }
        }
        (alone_s, next(alone_s).1)
    };
    // Few units of irregular service and more of them that are regular may both agree with what they say: the rates tell which is nearer.
    let (high, low) = (settled(first.mean_s), settled(least));
    let alone_s = if low.1 < NEARER * high.1 { low.0 } else { high.0 };
    let shortest = rows.iter().map(|row| row.mean_s).fold(f64::INFINITY, f64::min);
    let is_of_law = alone_s <= (1.0 + SHORTER_MAX) * shortest;
    let alone_s = if is_of_law { alone_s } else { shortest };
    alone_s.is_finite().then_some((alone_s, is_of_law))
}

/// S of R = S + wait with so many units in so many queues, every relative error alike, and the sum of their squares. The wait is ((2κ − 1) + (1 − κ)·g)·C/(μ − λ) with g of
/// [`constant_share`], κ no more than [`IRREGULAR_MAX`]; below what constant service leaves at arrivals at random, κ < 1/2, it is
/// that in proportion, κ·g·C/(μ − λ), down to none.
fn without_waiting(most: f64, calm: &[Row], queues: f64, units: f64, irregular: f64) -> (f64, f64) {
    let units = units / queues;
    let waits: Vec<(f64, f64)> = calm
        .iter()
        .map(|row| {
            let utilisation = row.done / most;
            (erlang_c(units, utilisation) * queues / (most - row.done), constant_share(units, utilisation))
        })
        .collect();
    // What there is of it whatever κ is, and what goes with κ.
    let of_random = |(wait, g): (f64, f64)| ((g - 1.0) * wait, (2.0 - g) * wait);
    let of_regular = |(wait, g): (f64, f64)| (0.0, g * wait);
    let split = |of: fn((f64, f64)) -> (f64, f64)| waits.iter().map(|wait| of(*wait)).collect::<Vec<_>>();
    let is_one = calm.len() == 1;
    let above = fitted(calm, &split(of_random), is_one.then_some(irregular), (0.5, IRREGULAR_MAX), irregular);
    let misfit = |(alone_s, kappa): (f64, f64), split: &[(f64, f64)]| -> (f64, f64) {
        let off = |(row, (fixed, varied)): (&Row, &(f64, f64))| {
            ((alone_s + fixed + kappa * varied) / row.mean_s - 1.0).powi(2)
        };
        (alone_s, calm.iter().zip(split).map(off).sum())
    };
    if above.1 > 0.5 {
        return misfit(above, &split(of_random));
    }
    let below = fitted(calm, &split(of_regular), is_one.then_some(irregular), (0.0, 0.5), irregular);
    misfit(below, &split(of_regular))
}

/// S and κ of R = S + a + κ·b, for (a, b) of each row; κ as given, or fitted within bounds, or `otherwise` where nothing tells it.
fn fitted(
    calm: &[Row],
    waits: &[(f64, f64)],
    given: Option<f64>,
    (low, high): (f64, f64),
    otherwise: f64,
) -> (f64, f64) {
    // Sums of weights, waits and what is left of response times, all divided by the response time.
    let [mut ones, mut squares, mut one_wait, mut one, mut wait] = [0.0; 5];
    for (row, (fixed, varied)) in calm.iter().zip(waits) {
        let weight = 1.0 / row.mean_s;
        let (varied, left) = (weight * varied, 1.0 - weight * fixed);
        ones += weight * weight;
        squares += varied * varied;
        one_wait += weight * varied;
        one += weight * left;
        wait += varied * left;
    }
    let determinant = ones * squares - one_wait * one_wait;
    let found = (ones * wait - one_wait * one) / determinant;
    let irregular = match given {
        Some(given) => given.clamp(low, high),
        None if found.is_finite() => found.clamp(low, high),
        None => otherwise.clamp(low, high),
    };
    ((one - irregular * one_wait) / ones, irregular)
}

/// By how much more than half of what it is with random service the wait is where all operations take as long: 1 for one unit and
/// for busy ones, 2c/(c + 1) where hardly any two meet (Cosmetatos 1976, refined by Kimura 1991). Worked value: for 2 units at 0.5
/// 1.0543; their balance equations give 1.0586.
fn constant_share(units: f64, utilisation: f64) -> f64 {
    let units = units.clamp(1.0, UNITS_MAX);
    let rare = (units - 1.0) / (units + 1.0);
    let busy = (units - 1.0) * ((4.0 + 5.0 * units).sqrt() - 2.0) / (16.0 * units);
    let idle = (1.0 - utilisation).max(0.0) / utilisation;
    if rare <= 0.0 || !idle.is_finite() || idle <= 0.0 {
        return 1.0;
    }
    1.0 + busy * idle * -(-rare / (busy * idle)).exp_m1()
}

/// Probability that an arrival finds all of so many units busy at a utilisation below 1 (Erlang's C by the recursion of his
/// B; a fraction of a unit lies between two whole ones on a logarithmic scale). Worked value: 2 units at 0.5 give 1/3.
fn erlang_c(units: f64, utilisation: f64) -> f64 {
    let units = units.clamp(1.0, UNITS_MAX);
    let offered = units * utilisation;
    if offered <= 0.0 {
        return 0.0;
    }
    let (mut inverse, mut count) = (1.0, 0.0);
    while count + 1.0 <= units {
        count += 1.0;
        inverse = 1.0 + inverse * count / offered;
    }
    let next = 1.0 + inverse * (count + 1.0) / offered;
    let blocked = 1.0 / (inverse * (next / inverse).powf(units - count));
    blocked / (1.0 - utilisation * (1.0 - blocked))
}

fn between(low: f64, high: f64, share: f64) -> f64 {
    low + share * (high - low)
}

/// Figures of resamples, each rate's means drawn anew; none where a rate was measured once.
fn resampled(
    full_speed: &[(f64, LoadPoint)],
    groups: &[&[Row]],
    queues: f64,
    limits: &[LatencyGoal],
) -> Vec<Figures> {
    if full_speed.len() < 2 || groups.iter().any(|group| group.len() < 2) {
        return Vec::new();
    }
    let mut random = fastrand::Rng::with_seed(SEED);
    (0..RESAMPLES)
        .map(|_| {
            let draw = Redraw::of(full_speed.len(), &mut random);
            let most = draw.mean(full_speed.iter().map(|(_, point)| point.rate));
            let redrawn = |group: &&[Row]| {
                let mut row = mean(group, &Redraw::of(group.len(), &mut random));
                anywhere_in_buckets(&mut row.latencies_s, limits, &mut random);
                row
            };
            let rows: Vec<Row> = groups.iter().map(redrawn).collect();
            figures(most, &rows, queues, limits, 2.0 * IRREGULAR * random.f64())
        })
        .collect()
}

/// 2.5 % and 97.5 % of a figure; `None` where a twentieth of the resamples does not have it.
fn interval(drawn: &[Figures], figure: &dyn Fn(&Figures) -> Option<f64>) -> Option<(f64, f64)> {
    let mut values: Vec<f64> = drawn.iter().filter_map(figure).collect();
    if values.is_empty() || values.len() * 20 < drawn.len() * 19 {
        return None;
    }
    values.sort_by(f64::total_cmp);
    Some((nearest_rank(&values, 0.025), nearest_rank(&values, 0.975)))
}

#[cfg(test)]
mod coverage;
#[cfg(test)]
mod tests;
mod undecided;
