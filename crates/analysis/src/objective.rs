//! Whether a load is carried within its limits, and the highest one that is.

mod certainty;

pub use certainty::breaks_clearly;

use crate::load::{LoadPoint, unsupported};
use crate::scaling::Estimate;
use crate::statistics::{Sample, autocorrelation, f_beyond, t_quantile};
use fathom_schema::{LatencyGoal, Phase, Record, StepRecord};
use std::collections::BTreeMap;

/// Share of the offered rate that has to be done: less is overload, whatever the latencies say.
const DONE_MIN: f64 = 0.99;

/// How far from the highest rate kept a trial may lie, as a share of it, for what its latencies say about where the limit is.
const NEAR: f64 = 0.5;
/// How far beyond the highest trial an estimate may lie, as a multiple of it: two of the last steps of a search.
const BEYOND_MAX: f64 = 1.02;
/// Trials that such an estimate takes at least: a line has two coefficients, and its error needs two more.
const TRIALS_MIN: usize = 4;
/// Fewest trials of which a line is taken whether it passes through them or not.
const IN_LINE_MIN: usize = 6;
/// Chance below which trials lie off a line by more than their errors.
const BENT_P: f64 = 0.05;
/// Degrees of freedom of errors that are known: F is χ² by its own then.
const ERRORS_FREEDOM: f64 = 1e6;
/// Standard deviations to either side that hold 95 % of a normal distribution.
const NORMAL_95: f64 = 1.96;
/// Least standard error of a latency, as a share: of a percentile what comes from the histogram's buckets alone, which are 1/128 wide
/// at most and hold values spread evenly (√12 times less), of a mean what keeps operations that are all alike from counting for all.
const PERCENTILE_ERROR_MIN: f64 = 1.0 / 128.0 / 3.464;
const MEAN_ERROR_MIN: f64 = 1e-5;

/// What became of one rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// All limits were kept.
    Met,
    /// None was broken, but a percentile takes more operations than there were: the largest of few is no bound of it.
    TooFew,
    /// Of a search alone: no rate kept the limits, but the lowest ones broke none beyond chance, nor did an operation by itself,
    /// so that the trials do not tell whether any rate keeps them.
    Undecided,
    /// A limit was not.
    NotMet,
    /// The rate itself was not reached: arrivals waited ever longer, or were given up.
    Overloaded,
}

impl State {
    /// Name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::TooFew => "too_few",
            Self::Undecided => "undecided",
            Self::NotMet => "not_met",
            Self::Overloaded => "overloaded",
        }
    }

    /// Whether nothing speaks against the rate.
    pub const fn is_kept(self) -> bool {
        matches!(self, Self::Met | Self::TooFew)
    }
}

/// Operations that may be under way at the end of a step whatever it carries: of few arrivals they are more than a per cent.
const LEFT_MAX: f64 = 3.5;

/// Standard deviations of what is in flight by which it may be more at the end than it was over all: twice three, since the end
/// stands for twice of what the mean does where a queue grows.
const LEFT_DEVIATIONS: f64 = 6.0;

/// Operations that a step may leave without being overloaded. Random arrivals are in flight together as a Poisson process has
/// them, with a variance that is their mean, as long as none waits for a slot.
fn left_by_chance(point: &LoadPoint) -> f64 {
    let of_queue = if point.backlog_max == 0 { LEFT_DEVIATIONS * point.held.max(0.0).sqrt() } else { 0.0 };
    of_queue.max(LEFT_MAX)
}

/// What became of `rate` in one step.
pub fn state(point: &LoadPoint, rate: f64, goals: &[LatencyGoal]) -> State {
    // Random arrivals are not exactly as many as asked for: what came is what is to be done.
    let offered = if point.offered > 0.0 { point.offered } else { rate };
    #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
    let left = (offered / point.rate - 1.0) * point.response.moments.count as f64;
    if point.rate < DONE_MIN * offered && left > left_by_chance(point) || point.dropped > 0 {
        State::Overloaded
    } else if goals.iter().any(|goal| point.exceeds(goal)) {
        State::NotMet
    } else if goals.iter().filter_map(|goal| goal.quantile).any(|q| point.needs(q).is_some()) {
        State::TooFew
    } else {
        State::Met
    }
}

/// One rate that was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Operations per second asked for.
    pub rate: f64,
    /// Operations per second that came due: random arrivals are not exactly as many as asked for.
    pub offered: f64,
    /// Operations per second done.
    pub done: f64,
    /// What the goals are about, in seconds, in their order.
    pub latencies_s: Vec<f64>,
    /// Their 95 % intervals, seconds, from 0 or to infinity where there are too few operations for an end.
    pub intervals_s: Vec<(f64, f64)>,
    /// For each goal the operations that its percentile takes, where the trial has fewer: the largest latency stands for it.
    pub needs: Vec<Option<u64>>,
    /// What became of it.
    pub state: State,
}

impl Trial {
    /// Whether it shows beyond chance that its rate does not keep the goals.
    fn is_broken_clearly(&self, goals: &[LatencyGoal]) -> bool {
        let mut both = goals.iter().zip(&self.intervals_s);
        self.state == State::Overloaded || both.any(|(goal, (low, _))| *low > goal.limit.as_secs_f64())
    }

    /// Whether it broke one of the goals, by chance or not.
    fn exceeds(&self, which: usize, goal: &LatencyGoal) -> bool {
        self.latencies_s[which] > goal.limit.as_secs_f64()
    }
}

/// A limit of which the trials do not tell whether any rate keeps it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Undecided {
    /// The limit.
    pub goal: LatencyGoal,
    /// What an operation takes by itself, seconds.
    pub alone: Estimate,
    /// Whether the limit lies within the interval of that: else an operation by itself keeps it.
    pub is_alone: bool,
    /// The lowest rate that was tried and did not keep the limit.
    pub lowest: f64,
    /// What it took there, seconds.
    pub there: Estimate,
}

/// The answer to an objective.
#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    /// The rate in question, or the highest that kept the limits; `None` when none did.
    pub rate: Option<f64>,
    /// What became of it: the worst of its trials.
    pub state: State,
    /// Lowest rate above it that did not; of a search only.
    pub missed: Option<f64>,
    /// Where the limits are reached by all trials near the rate together, with the 95 % interval; of a search only.
    pub reached: Option<Estimate>,
    /// A limit that one operation at a time breaks already, and what it takes then, seconds; where no rate keeps the limits.
    pub alone: Option<(LatencyGoal, f64)>,
    /// Where it is not decided whether any rate keeps the limits: the one in question.
    pub undecided: Option<Undecided>,
    /// Per goal: the worst latency at the rate, seconds, and what is left to the limit as a share of it.
    pub margins: Vec<(LatencyGoal, f64, f64)>,
    /// Every rate that was tried, in order.
    pub trials: Vec<Trial>,
    /// What a reader should know.
    pub remarks: Vec<String>,
}

impl Objective {
    /// Whether it may be chance that the highest rate kept the limits and the lowest one above it did not: neither is shown by an
    /// interval that leaves the limits out. Nor are they where all trials together say that the limits are reached elsewhere.
    pub fn is_bracket_chance(&self) -> bool {
        let goals: Vec<LatencyGoal> = self.margins.iter().map(|(goal, ..)| *goal).collect();
        let at = |rate: Option<f64>| {
            let is_of_it =
                move |trial: &&Trial| rate.is_some_and(|rate| (trial.rate / rate - 1.0).abs() < 1e-4);
            self.trials.iter().filter(is_of_it)
        };
        let is_kept_clearly = |trial: &Trial| {
            goals.iter().zip(&trial.intervals_s).all(|(goal, (_, high))| *high <= goal.limit.as_secs_f64())
        };
        let is_between = |reached: &Estimate| {
            self.rate.is_none_or(|rate| reached.value >= rate)
                && self.missed.is_none_or(|missed| reached.value <= missed)
        };
        !self.reached.as_ref().is_none_or(is_between)
            || !at(self.missed).any(|trial| trial.is_broken_clearly(&goals))
            || !at(self.rate).all(is_kept_clearly)
    }
}

/// Answers from a record; `None` when no rate was tried.
pub fn objective(record: &Record, wanted: Option<f64>, goals: &[LatencyGoal]) -> Option<Objective> {
    let (points, trials): (Vec<LoadPoint>, Vec<Trial>) =
        record.steps.iter().filter_map(|step| trial(step, goals)).unzip();
    let at = |rate: f64| trials.iter().filter(move |trial| (trial.rate / rate - 1.0).abs() < 1e-4);
    let rate = match wanted {
        Some(wanted) => Some(wanted),
        None => kept(&trials),
    };
    let alone = single(record, goals);
    let lowest = lowest(&trials);
    let undecided = match &alone {
        Some(alone) if rate.is_none() => undecided(alone, &lowest, goals),
        _ => None,
    };
    let single = alone.map(|(single, _)| single);
    let state = match rate {
        Some(rate) => at(rate).map(|trial| trial.state).max()?,
        None if undecided.is_some() => State::Undecided,
        None => trials.iter().map(|trial| trial.state).max()?,
    };
    let missed = trials
        .iter()
        .filter(|trial| wanted.is_none() && !trial.state.is_kept())
        .map(|trial| trial.rate)
        .filter(|missed| rate.is_none_or(|rate| *missed > rate))
        .reduce(f64::min);
    let margins = goals
        .iter()
        .enumerate()
        .filter_map(|(index, goal)| {
            let worst = at(rate?).map(|trial| trial.latencies_s[index]).reduce(f64::max)?;
            Some((*goal, worst, 1.0 - worst / goal.limit.as_secs_f64()))
        })
        .collect();
    // Near an idle target latency hardly grows with the rate: the slope takes rates from farther off, and an operation alone is
    // the end of the line.
    let is_idle = |single: &LoadPoint| rate.is_none_or(|rate| rate <= IDLE_MAX * single.rate);
    let reached = match (&single, rate) {
        _ if wanted.is_some() => None,
        (Some(single), _) if is_idle(single) => {
            if rate.is_some() || undecided.is_some() {
                reached_from(single, &points, &trials, goals)
            } else {
                None
            }
        }
        (_, Some(rate)) => reached(rate, &trials, goals),
        (_, None) => None,
    };
    let alone = single.as_ref().filter(|_| rate.is_none() && undecided.is_none()).and_then(|single| {
        let is_missed = |(which, goal): &(usize, &LatencyGoal)| {
            single.exceeds(goal) && lowest.first().is_some_and(|trial| trial.exceeds(*which, goal))
        };
        let (_, goal) = goals.iter().enumerate().find(is_missed)?;
        Some((*goal, single.latency_s(goal)))
    });
    let mut remarks = unsupported(&points, goals);
    if state == State::Met {
        remarks.extend(rate.and_then(|rate| wandering(record, rate)));
    }
    Some(Objective { rate, state, missed, reached, alone, undecided, margins, trials, remarks })
}

/// Intervals of a trial from which on it shows how slowly what waits changes.
const WANDERING_INTERVALS_MIN: usize = 10;
/// Autocorrelation of the backlog of neighbouring intervals above which a trial is too short for it: of trials of 20 intervals
/// four standard errors when three are taken together.
const WANDERING_MIN: f64 = 0.5;
/// Arrivals that wait on average from which on that is worth a word.
const WAITING_MIN: f64 = 10.0;

/// What is to be said where what waits at a rate changes so slowly that trials of this length do not show how far it goes: at
/// what a target carries at most it wanders without end, and a limit that was kept may be one that was not reached yet.
fn wandering(record: &Record, rate: f64) -> Option<String> {
    let is_of_it = |step: &&StepRecord| {
        crate::load::rate(&step.started.step).is_some_and(|own| (own / rate - 1.0).abs() < 1e-4)
    };
    let shown: Vec<(f64, f64)> = record
        .steps
        .iter()
        .filter(is_of_it)
        .filter_map(|step| {
            let mut waiting: BTreeMap<u64, f64> = BTreeMap::new();
            for interval in step.intervals.iter().filter(|interval| interval.phase == Phase::Measure) {
                *waiting.entry(interval.sequence).or_default() += interval.tally.backlog_max as f64;
            }
            let waiting: Vec<f64> = waiting.into_values().collect();
            let mean = Sample::of(&waiting).mean;
            (waiting.len() >= WANDERING_INTERVALS_MIN).then(|| (autocorrelation(&waiting, mean), mean))
        })
        .collect();
    let mean = |of: fn(&(f64, f64)) -> f64| shown.iter().map(of).sum::<f64>() / shown.len() as f64;
    let (correlation, waiting) = (mean(|one| one.0), mean(|one| one.1));
    (correlation > WANDERING_MIN && waiting >= WAITING_MIN).then(|| {
        format!(
            "what waits changes more slowly than these trials last (neighbouring intervals resemble one another by \
             {correlation:.2}): the rate is close to all that is carried, and over a longer time response times may grow beyond \
             what is told here; let trials last longer"
        )
    })
}

/// Share of the rate of one operation at a time up to which a target is nearly idle.
const IDLE_MAX: f64 = 0.1;
/// The same, of the rates that tell how latency grows from there: beyond, it need not be by the same line.
const IDLE_LINE_MAX: f64 = 0.5;
/// The lowest trials that have to break a limit beyond chance before no rate is said to keep it: one alone does so by chance
/// in one case of forty.
pub const BROKEN_MIN: usize = 2;

/// The trials of the lowest rates, from the lowest on.
fn lowest(trials: &[Trial]) -> Vec<&Trial> {
    let mut lowest: Vec<&Trial> = trials.iter().collect();
    lowest.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    lowest.truncate(BROKEN_MIN);
    lowest
}

/// A limit of which neither an operation alone nor the lowest rates tell whether it is kept.
fn undecided(
    (single, intervals_s): &(LoadPoint, Vec<(f64, f64)>),
    lowest: &[&Trial],
    goals: &[LatencyGoal],
) -> Option<Undecided> {
    let limit_s = |which: usize| goals[which].limit.as_secs_f64();
    let are_enough = lowest.len() >= BROKEN_MIN;
    if (0..goals.len()).any(|which| intervals_s[which].0 > limit_s(which))
        || are_enough && lowest.iter().all(|trial| trial.is_broken_clearly(goals))
    {
        return None;
    }
    let broken = lowest.iter().flat_map(|trial| {
        let which = (0..goals.len()).filter(|which| trial.exceeds(*which, &goals[*which]));
        which.map(|which| (*trial, which))
    });
    // Rather one that was broken by chance; of several the one that an operation alone comes nearest to, where the rate is lowest.
    let doubt = |(trial, which): &(&Trial, usize)| {
        (!trial.is_broken_clearly(goals), single.latency_s(&goals[*which]) / limit_s(*which))
    };
    let (trial, which) = broken.reduce(|best, one| if doubt(&one) > doubt(&best) { one } else { best })?;
    let (low, high) = intervals_s[which];
    Some(Undecided {
        goal: goals[which],
        alone: Estimate { value: single.latency_s(&goals[which]), interval: Some((low, high)) },
        is_alone: (low..=high).contains(&limit_s(which)),
        lowest: trial.rate,
        there: Estimate { value: trial.latencies_s[which], interval: Some(trial.intervals_s[which]) },
    })
}

/// What one operation at a time does, with the intervals of what the goals are about.
fn single(record: &Record, goals: &[LatencyGoal]) -> Option<(LoadPoint, Vec<(f64, f64)>)> {
    let is_alone = |step: &&StepRecord| {
        let step = &step.started.step;
        crate::load::rate(step).is_none() && step.streams.iter().all(|stream| stream.queue_depth == 1)
    };
    let step = record.steps.iter().find(is_alone)?;
    let point = LoadPoint::of(&step.started.step, &step.finished.as_ref()?.streams)?;
    let intervals_s = intervals_s(step, &point, goals);
    Some((point, intervals_s))
}

/// For each goal the 95 % interval of what it is about, seconds, with the memory of the step.
fn intervals_s(step: &StepRecord, point: &LoadPoint, goals: &[LatencyGoal]) -> Vec<(f64, f64)> {
    let of = |goal| certainty::interval_s(point, goal, certainty::inflation(step, point, goal));
    goals.iter().map(of).collect()
}

/// The rate that a search found: of those below every rate that missed once, the one that was tried most often, since it was
/// tried again to prove it; of several, the highest. One that was kept once, near another that was disproven, was luck.
fn kept(trials: &[Trial]) -> Option<f64> {
    let missed = trials.iter().filter(|trial| !trial.state.is_kept()).map(|trial| trial.rate);
    let lowest_missed = missed.fold(f64::INFINITY, f64::min);
    let is_same = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-4;
    let below = trials
        .iter()
        .map(|trial| trial.rate)
        .filter(|rate| *rate < lowest_missed && !is_same(*rate, lowest_missed));
    let times = |rate: f64| trials.iter().filter(|trial| is_same(trial.rate, rate)).count();
    below.max_by(|one, other| times(*one).cmp(&times(*other)).then(one.total_cmp(other)))
}

/// Where the first of the limits is reached: for each, the inverse of the latency is a straight line over the rate near it
/// (exactly so for M/M/1, whose p-quantile is ln(1/(1−p)) ÷ (μ − λ)), read at the inverse of the limit; its interval is that of
/// inverse regression (Draper & Smith 1998, 3.2, with g = 0). Of several servers it bends: trials so far off that the line does not
/// pass through them within their own errors are left out.
fn reached(rate: f64, trials: &[Trial], goals: &[LatencyGoal]) -> Option<Estimate> {
    let distance = |trial: &Trial| (trial.rate / rate - 1.0).abs();
    let mut near: Vec<&Trial> =
        trials.iter().filter(|trial| trial.state != State::Overloaded && distance(trial) <= NEAR).collect();
    near.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
    // Where no trial was nothing tells that the line goes on; but one whose interval reaches down to the trials lies next to them: a
    // search whose first step was missed by chance has tried nothing above.
    let highest = trials.iter().map(|trial| trial.rate).fold(0.0, f64::max);
    (0..goals.len())
        .filter_map(|which| {
            let level = 1.0 / goals[which].limit.as_secs_f64();
            let points: Option<Vec<Trialled>> =
                near.iter().map(|trial| weighed(trial, which, &goals[which])).collect();
            match points {
                Some(points) => crossing(in_line(&points), level, 1.0),
                None => {
                    let bare = |trial: &&Trial| Trialled {
                        x: trial.done,
                        y: 1.0 / trial.latencies_s[which],
                        weight: 1.0,
                    };
                    crossing(&near.iter().map(bare).collect::<Vec<_>>(), level, 0.0)
                }
            }
        })
        .min_by(|a, b| a.value.total_cmp(&b.value))
        .filter(|reached| {
            let low = reached.interval.map_or(reached.value, |(low, _)| low);
            reached.value <= highest || low <= highest && reached.value <= BEYOND_MAX * highest
        })
}

/// A trial weighed by the inverse of its variance; `None` where its interval has an open end.
fn weighed(trial: &Trial, which: usize, goal: &LatencyGoal) -> Option<Trialled> {
    let (latency_s, (low, high)) = (trial.latencies_s[which], trial.intervals_s[which]);
    let half = (high - low) / 2.0;
    if !half.is_finite() || low <= 0.0 {
        return None;
    }
    let least = if goal.quantile.is_some() { PERCENTILE_ERROR_MIN } else { MEAN_ERROR_MIN };
    let share = (half / NORMAL_95 / latency_s).max(least);
    Some(Trialled { x: trial.done, y: 1.0 / latency_s, weight: (latency_s / share).powi(2) })
}

/// The most of the first trials through which a straight line passes within their errors: the F test of what it leaves, against
/// errors that are known.
fn in_line(points: &[Trialled]) -> &[Trialled] {
    let passes = |count: &usize| {
        let Some(line) = Line::of(&points[..*count]) else { return false };
        let freedom = *count as f64 - 2.0;
        f_beyond(line.left / freedom, freedom, ERRORS_FREEDOM).is_none_or(|p| p >= BENT_P)
    };
    let count = (IN_LINE_MIN..=points.len()).rev().find(passes).unwrap_or(IN_LINE_MIN);
    &points[..count.min(points.len())]
}

/// The same where the limit is near to what an operation takes alone: the line begins there, and trials count by their operations.
fn reached_from(
    single: &LoadPoint,
    points: &[LoadPoint],
    trials: &[Trial],
    goals: &[LatencyGoal],
) -> Option<Estimate> {
    let is_near =
        |trial: &Trial| trial.state != State::Overloaded && trial.rate <= IDLE_LINE_MAX * single.rate;
    let of = |goal: &LatencyGoal| {
        let at = |x: f64, point: &LoadPoint| Trialled {
            x,
            y: 1.0 / point.latency_s(goal),
            weight: point.response.moments.count as f64,
        };
        let near = trials.iter().zip(points).filter(|(trial, _)| is_near(trial));
        let line: Vec<Trialled> = std::iter::once(at(0.0, single))
            .chain(near.map(|(trial, point)| at(trial.done, point)))
            .collect();
        crossing(&line, 1.0 / goal.limit.as_secs_f64(), 0.0)
    };
    goals.iter().filter_map(of).min_by(|a, b| a.value.total_cmp(&b.value))
}

/// A rate with the inverse of its latency, and how much it counts.
#[derive(Debug, Clone, Copy)]
struct Trialled {
    x: f64,
    y: f64,
    weight: f64,
}

/// The line through points by weighted least squares.
#[derive(Debug, Clone, Copy)]
struct Line {
    weights: f64,
    /// Weighted means.
    mean: (f64, f64),
    /// Weighted sum of squares of x about its mean.
    spread: f64,
    slope: f64,
    /// Weighted sum of squares of y about the line.
    left: f64,
}

impl Line {
    /// `None` where all points have one x.
    fn of(points: &[Trialled]) -> Option<Self> {
        let sum =
            |of: &dyn Fn(&Trialled) -> f64| points.iter().map(|point| point.weight * of(point)).sum::<f64>();
        let weights = sum(&|_| 1.0);
        let (x, y) = (sum(&|point| point.x) / weights, sum(&|point| point.y) / weights);
        let spread = sum(&|point| (point.x - x).powi(2));
        let slope = sum(&|point| (point.x - x) * (point.y - y)) / spread;
        let left = sum(&|point| (point.y - y - slope * (point.x - x)).powi(2));
        slope.is_finite().then_some(Self { weights, mean: (x, y), spread, slope, left })
    }
}

/// Where the falling line through points comes down to `level`, by weighted least squares. `variance_min`: the least that the
/// variance of a point of weight 1 is taken for, whatever the points leave: 1 where weights are the inverse of variances.
fn crossing(points: &[Trialled], level: f64, variance_min: f64) -> Option<Estimate> {
    if points.len() < TRIALS_MIN {
        return None;
    }
    let Line { weights, mean: (x, y), spread, slope, left } = Line::of(points)?;
    let value = x + (level - y) / slope;
    // A line that does not fall says nothing about a limit above it.
    if !(slope < 0.0 && value > 0.0) {
        return None;
    }
    let freedom = points.len() as f64 - 2.0;
    let variance = (left / freedom).max(variance_min);
    let error = variance.sqrt() / -slope * (1.0 / weights + (value - x).powi(2) / spread).sqrt();
    let half = t_quantile(0.95, freedom) * error;
    let interval = half.is_finite().then_some(((value - half).max(0.0), value + half));
    Some(Estimate { value, interval })
}

/// A step at a rate; `None` of one at full speed.
fn trial(step: &StepRecord, goals: &[LatencyGoal]) -> Option<(LoadPoint, Trial)> {
    let rate = crate::load::rate(&step.started.step)?;
    let point = LoadPoint::of(&step.started.step, &step.finished.as_ref()?.streams)?;
    let trial = Trial {
        rate,
        offered: if point.offered > 0.0 { point.offered } else { rate },
        done: point.rate,
        latencies_s: goals.iter().map(|goal| point.latency_s(goal)).collect(),
        intervals_s: intervals_s(step, &point, goals),
        needs: goals.iter().map(|goal| goal.quantile.and_then(|q| point.needs(q))).collect(),
        state: state(&point, rate, goals),
    };
    Some((point, trial))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_schema::LatencyTally;

    #[test]
    fn a_rate_that_was_kept_by_luck_is_not_the_answer() {
        let trial = |(rate, state): (f64, State)| Trial {
            rate,
            offered: rate,
            done: rate,
            latencies_s: Vec::new(),
            intervals_s: Vec::new(),
            needs: Vec::new(),
            state,
        };
        let of = |tried: &[(f64, State)]| kept(&tried.iter().copied().map(trial).collect::<Vec<_>>());
        let (met, not_met) = (State::Met, State::NotMet);
        // Bisection kept 990 and 995 once each; 995 then failed, and what was proven lies below both.
        let proven = [(985.05, met), (985.05, met), (985.05, met)];
        let tried =
            [&[(1000.0, not_met), (990.0, met), (995.0, met), (995.0, not_met)][..], &proven].concat();
        assert_eq!(of(&tried), Some(985.05));
        assert_eq!(of(&[(500.0, met), (1000.0, not_met), (750.0, met)]), Some(750.0));
        assert_eq!(of(&[(750.0, met), (750.0, not_met), (500.0, met)]), Some(500.0));
        assert_eq!(of(&[(500.0, not_met), (750.0, met)]), None);
    }

    /// A search whose first step, at half of what is carried, was missed by chance has tried nothing above it.
    #[test]
    fn an_estimate_next_to_the_highest_trial_is_kept() {
        let goal: LatencyGoal = "mean<2ms".parse().expect("a goal");
        let trial = |(rate, off): (f64, f64)| Trial {
            rate,
            offered: rate,
            done: rate,
            latencies_s: vec![(1.0 + off) / (1000.0 - rate)],
            intervals_s: vec![(0.0, f64::INFINITY)],
            needs: vec![None],
            state: State::Met,
        };
        let of = |tried: &[(f64, f64)]| {
            let trials: Vec<Trial> = tried.iter().copied().map(trial).collect();
            reached(tried[0].0, &trials, &[goal])
        };
        let found = of(&[(480.0, -0.01), (485.0, 0.015), (490.0, -0.015), (470.0, 0.005), (495.0, 0.01)]);
        let found = found.expect("its interval reaches down to the trials");
        assert!(found.value > 495.0 && found.interval.is_some_and(|(low, high)| low < 500.0 && 500.0 < high));
        // Far from all trials nothing tells that the line goes on.
        assert_eq!(
            of(&[(280.0, -0.01), (285.0, 0.015), (290.0, -0.015), (270.0, 0.005), (295.0, 0.01)]),
            None
        );
    }

    #[test]
    fn some_are_under_way_at_the_end() {
        let of = |count: u64, offered: f64, dropped: u64, held: f64, backlog_max: u64| {
            let mut response = LatencyTally::default();
            response.moments.count = count;
            let rate = count as f64 / 10.0;
            let point = LoadPoint {
                held,
                rate,
                mean_s: 0.1,
                response,
                bytes_per_s: 0.0,
                errors: 0,
                offered: offered / 10.0,
                dropped,
                backlog_max,
            };
            state(&point, rate, &[])
        };
        assert_eq!(of(17, 20.0, 0, 0.3, 0), State::Met);
        assert_eq!(of(16, 20.0, 0, 0.3, 0), State::Overloaded);
        assert_eq!((of(991, 1000.0, 0, 1.0, 0), of(989, 1000.0, 0, 1.0, 0)), (State::Met, State::Overloaded));
        assert_eq!(of(20, 20.0, 1, 1.0, 0), State::Overloaded);
        // A hundred in flight are 160 now and then, and 161 hardly ever; where some waited for a slot, they were not random.
        assert_eq!(
            (of(941, 1000.0, 0, 100.0, 0), of(939, 1000.0, 0, 100.0, 0)),
            (State::Met, State::Overloaded)
        );
        assert_eq!(of(941, 1000.0, 0, 100.0, 1), State::Overloaded);
    }

    #[test]
    fn the_largest_of_few_proves_no_percentile() {
        let of = |count: u64, max_ns: u64, goal: &str| {
            let mut response = LatencyTally::default();
            (response.moments.count, response.moments.max_ns) = (count, max_ns);
            let point = LoadPoint {
                held: 1.0,
                rate: 10.0,
                mean_s: 1e-4,
                response,
                bytes_per_s: 0.0,
                errors: 0,
                offered: 10.0,
                dropped: 0,
                backlog_max: 0,
            };
            state(&point, 10.0, &[goal.parse().expect("a goal")])
        };
        assert_eq!(of(99_999, 800_000, "p99.999<1ms"), State::TooFew);
        assert_eq!(of(100_000, 800_000, "p99.999<1ms"), State::Met);
        assert_eq!(of(10, 800_000, "mean<1ms"), State::Met);
        assert!(State::TooFew.is_kept() && State::TooFew > State::Met && State::TooFew < State::NotMet);
    }

    /// A backlog that is another one each second is that of a queue which comes to rest; one that grows, or walks at random, has
    /// not been seen whole.
    #[test]
    fn a_queue_that_does_not_come_to_rest_is_told() {
        use crate::sample::{StreamShape, record};
        use fathom_schema::{Arrival, Backlog, Pacing};
        let (course, backlog) = (Vec::new(), Backlog::Keep);
        let pacing = Pacing::Open { rate: 1000.0, arrival: Arrival::Constant, course, backlog };
        let of = |backlog: &dyn Fn(u64) -> u64| {
            let mut one = record(&[StreamShape { pacing: pacing.clone(), ..StreamShape::default() }]);
            let step = &mut one.steps[0];
            let first = step.intervals[0].clone();
            step.intervals = (0..20)
                .map(|sequence| {
                    let mut next = first.clone();
                    next.sequence = sequence;
                    next.tally.backlog_max = backlog(sequence);
                    next
                })
                .collect();
            wandering(&one, 1000.0)
        };
        assert_eq!(of(&|at| 100 + 50 * (at % 2)), None);
        assert!(of(&|at| 100 * at).is_some_and(|told| told.contains("resemble one another by 0.8")));
        // Where hardly anything waits there is nothing to come to rest.
        assert_eq!(of(&|at| at / 4), None);
    }

    #[test]
    fn no_limit_is_reached_beyond_what_was_tried() {
        // M/M/1 with μ = 1000/s: p99 is 10 ms at 539.5/s.
        let trial = |rate: f64| Trial {
            rate,
            offered: rate,
            done: rate,
            latencies_s: vec![100_f64.ln() / (1000.0 - rate)],
            intervals_s: vec![(0.0, f64::INFINITY)],
            needs: vec![None],
            state: State::Met,
        };
        let goals = ["p99<10ms".parse().expect("a goal")];
        let of = |rates: &[f64]| {
            let trials: Vec<Trial> = rates.iter().copied().map(trial).collect();
            reached(400.0, &trials, &goals).map(|found| found.value.round())
        };
        assert_eq!(of(&[300.0, 350.0, 400.0, 500.0]), None);
        assert_eq!(of(&[300.0, 350.0, 400.0, 500.0, 550.0]), Some(539.0));
    }

    /// Eight servers: the inverse of the mean bends over the rate (Erlang's waiting), and no far trial draws the line away.
    #[test]
    fn where_the_line_bends_trials_near_the_limit_tell_where_it_is_reached() {
        let (servers, service_s) = (8.0, 1e-4);
        let mean_s = |rate: f64| {
            let load = rate * service_s;
            let (mut term, mut sum) = (1.0, 1.0);
            for k in 1..8 {
                term *= load / f64::from(k);
                sum += term;
            }
            let last = term * load / servers * servers / (servers - load);
            service_s + last / (sum + last) * service_s / (servers - load)
        };
        // The mean is 150 µs there.
        let (mut low, mut high) = (60e3, 79e3);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if mean_s(middle) < 150e-6 { low = middle } else { high = middle }
        }
        let truth: f64 = low;
        let goal: LatencyGoal = "mean<150us".parse().expect("a goal");
        let (mut held, mut off, seeds) = (0, 0.0, 200);
        for seed in 0..seeds {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut normal =
                || (-2.0 * (1.0 - random.f64()).ln()).sqrt() * (std::f64::consts::TAU * random.f64()).cos();
            let rates = [40.0, 60.0, 70.0, 65.0, 67.5, 68.75, 68.125, 68.125, 68.125, 73.5];
            let trials: Vec<Trial> = rates
                .iter()
                .map(|rate| {
                    let latency_s = mean_s(rate * 1e3) * (1.0 + 0.004 * normal());
                    let half = 0.004 * NORMAL_95 * latency_s;
                    Trial {
                        rate: rate * 1e3,
                        offered: rate * 1e3,
                        done: rate * 1e3,
                        latencies_s: vec![latency_s],
                        intervals_s: vec![(latency_s - half, latency_s + half)],
                        needs: vec![None],
                        state: State::Met,
                    }
                })
                .collect();
            let found = reached(68_125.0, &trials, &[goal]).expect("trials on both sides");
            let (low, high) = found.interval.expect("ten trials");
            assert!(high - low < 0.02 * truth, "{found:?}");
            held += u64::from((low..=high).contains(&truth));
            off += found.value / truth - 1.0;
        }
        assert!(held * 100 >= seeds * 93, "{held} of {seeds} hold {truth}");
        assert!((off / seeds as f64).abs() < 0.001, "{}", off / seeds as f64);
    }

    #[test]
    fn a_line_through_trials_finds_the_limit_between_them() {
        // M/M/1 with μ = 1000/s: 1/p99 = (μ − λ)/ln 100 is 1/10 ms at 1000 − 460.517.
        let of =
            |rate: f64, off: f64| Trialled { x: rate, y: (1000.0 - rate) / 100_f64.ln() + off, weight: 1.0 };
        let exact: Vec<Trialled> = [400.0, 500.0, 530.0, 545.0, 600.0].map(|rate| of(rate, 0.0)).to_vec();
        let found = crossing(&exact, 100.0, 0.0).unwrap();
        assert!((found.value - 539.483).abs() < 1e-3, "{found:?}");
        let (low, high) = found.interval.unwrap();
        assert!(high - low < 1e-6, "{low} {high}");
        let noisy = [(400.0, 0.5), (500.0, -0.4), (530.0, 0.3), (545.0, -0.5), (600.0, 0.2)];
        let noisy: Vec<Trialled> = noisy.map(|(rate, off)| of(rate, off)).to_vec();
        let found = crossing(&noisy, 100.0, 0.0).unwrap();
        let (low, high) = found.interval.unwrap();
        assert!(low < 539.483 && 539.483 < high && high - low < 10.0, "{found:?}");
        assert_eq!(crossing(&exact[..3], 100.0, 0.0), None, "three points leave no error to judge by");
        // Of weights 4, 1, 1, 2 the means are 11/8 and 59/8, and the sums of squares and products about them 175/8 and −345/8:
        // the slope is −69/35, the level of 4 is met at 71/23, and 6/7 is left of the squares. t(0.975, 2) = 4.302653 (tables).
        let weighted = [(0.0, 10.0, 4.0), (1.0, 8.0, 1.0), (2.0, 7.0, 1.0), (4.0, 2.0, 2.0)];
        let found = crossing(&weighted.map(|(x, y, weight)| Trialled { x, y, weight }), 4.0, 0.0).unwrap();
        assert!((found.value - 71.0 / 23.0).abs() < 1e-12, "{found:?}");
        let error = (6.0_f64 / 7.0 / 2.0).sqrt() * 35.0 / 69.0;
        let error = error * (1.0 / 8.0 + (71.0_f64 / 23.0 - 11.0 / 8.0).powi(2) * 8.0 / 175.0).sqrt();
        let (low, high) = found.interval.unwrap();
        assert!((found.value - low - 4.302_653 * error).abs() < 1e-5, "{found:?}");
        assert!((high - found.value - 4.302_653 * error).abs() < 1e-5, "{found:?}");
        let rising: Vec<Trialled> = exact.iter().map(|one| Trialled { y: -one.y, ..*one }).collect();
        assert_eq!(crossing(&rising, 100.0, 0.0), None);
    }
}
