//! Whether a load is carried within its limits, and the highest one that is.

mod certainty;
mod held_back;
mod margins;
mod near_full;
mod near_idle;
mod waiting;

pub use certainty::breaks_clearly;
pub(crate) use certainty::exceeds_clearly;
pub use held_back::HeldBack;
pub(crate) use held_back::{CALM, is_calm};
pub use margins::Margin;

use crate::load::{LoadPoint, unsupported};
use crate::queues;
use crate::scaling::Estimate;
use crate::statistics::t_quantile;
use fathom_schema::{LatencyGoal, Outcome, Record, Step, StepRecord, Stop};
use near_full::{Figure, Shown};
use near_idle::Share;

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
/// What became of one rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// All limits were kept.
    Met,
    /// None was broken beyond what the largest of few may be, but a percentile takes more operations than there were: the largest of few is no bound of it.
    TooFew,
    /// Of a search alone: no rate kept the limits, but the lowest ones broke none beyond chance, nor did an operation by itself,
    /// so that the trials do not tell whether any rate keeps them.
    Undecided,
    /// Of the answer alone: the run was broken off before it came to one.
    Unfinished,
    /// The rate was not reached or a limit was broken, and all that shows is that fathom keeps no more operations in flight.
    DepthLimited,
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
            Self::Unfinished => "unfinished",
            Self::DepthLimited => "depth_limited",
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

/// Share of the most that ever waited which waits at the end, where it becomes less again.
const LESS_AGAIN: f64 = 0.9;

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
    // What waits for a stop of the target becomes less again.
    let is_less_again = left < LESS_AGAIN * point.backlog_max as f64;
    let by_stop = if is_less_again { offered * point.stopped_s } else { 0.0 };
    if point.rate < DONE_MIN * offered && left > left_by_chance(point).max(by_stop) || point.dropped > 0 {
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
    /// Where it was not the target that kept it from being carried: what did.
    pub held_back: Option<HeldBack>,
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
    /// Where higher rates, or the one in question, were held back by fathom's own queue: how.
    pub held_back: Option<HeldBack>,
    /// Per goal, what is left to it at the rate.
    pub margins: Vec<Margin>,
    /// Every rate that was tried, in order.
    pub trials: Vec<Trial>,
    /// Where trials of the rate are so short that it may be luck whether they keep the limits: how long each would have to last, seconds.
    pub trials_take_s: Option<f64>,
    /// What a reader should know.
    pub remarks: Vec<String>,
}

impl Objective {
    /// Whether it may be chance that the highest rate kept the limits and the lowest one above it did not: neither is shown by an
    /// interval that leaves the limits out. Nor are they where all trials together say that the limits are reached elsewhere.
    pub fn is_bracket_chance(&self) -> bool {
        let goals: Vec<LatencyGoal> = self.margins.iter().map(|margin| margin.goal).collect();
        let at = |rate: Option<f64>| {
            let is_of_it = move |trial: &&Trial| rate.is_some_and(|rate| is_same(trial.rate, rate));
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
    let alone = single(record, goals);
    let single = alone.as_ref().map(|(single, _)| single);
    let queues = queues::of(record);
    let (points, trials): (Vec<LoadPoint>, Vec<Trial>) =
        record.steps.iter().filter_map(|step| trial(step, goals, single, queues, wanted.is_some())).unzip();
    let idle_shares =
        || -> Vec<Vec<Share>> { goals.iter().map(|goal| near_idle::shares(record, goal)).collect() };
    let at = |rate: f64| trials.iter().filter(move |trial| is_same(trial.rate, rate));
    let proven = || kept(&trials).filter(|rate| !is_doubtful(*rate, single, &points, &trials, queues, goals));
    let rate = wanted.or_else(proven);
    let lowest = lowest(&trials);
    let undecided = match &alone {
        Some(alone) if rate.is_none() && !is_broken_when_idle(&alone.0, &points, &trials, goals) => {
            undecided(alone, &lowest, goals)
        }
        _ => None,
    };
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
    // What fathom's own queue held back says nothing of where the target reaches a limit.
    let held_back = match (wanted, rate, missed) {
        (Some(rate), ..) if state == State::DepthLimited => {
            held_back::of_all(at(rate).filter(|trial| trial.state == state))
        }
        (None, Some(_), Some(missed)) => held_back::of_all(at(missed)),
        (None, Some(_), None) => single.and_then(|alone| held_back::at_full_speed(record, alone)),
        (None, None, _) if state == State::DepthLimited => held_back::of_all(trials.iter()),
        _ => None,
    };
    let state = if held_back.is_some() { State::DepthLimited } else { state };
    let missed = missed.filter(|_| held_back.is_none());
    // One trial of the rate in question is enough to break a limit, or to show that the queue is too small for it; all else takes
    // the whole search.
    let is_answer =
        wanted.is_some() && matches!(state, State::DepthLimited | State::NotMet | State::Overloaded);
    let state = if is_broken_off(record) && !is_answer { State::Unfinished } else { state };
    let of_rate = of_rate(&trials, &points, rate);
    let alone_s = single.map_or(0.0, |alone| alone.mean_s);
    let margins_of = |trials: &[_]| margins::of(goals, trials, queues, single.map(|alone| alone.mean_s));
    let mut margins = margins_of(&of_rate);
    margins::reach_to(&mut margins, &margins_of(&next_to(rate, missed, &trials, &points)));
    // Near an idle target latency hardly grows with the rate: the slope takes rates from farther off, and an operation alone is
    // the end of the line.
    let is_idle = |single: &LoadPoint| rate.is_none_or(|rate| rate <= IDLE_MAX * single.rate);
    let near_full = |rate: f64| reached(rate, alone_s, queues, &points, &trials, goals);
    let reached = match (single, rate) {
        _ if wanted.is_some() || held_back.is_some() => None,
        (Some(single), _) if is_idle(single) => {
            let from_idle = if rate.is_some() || undecided.is_some() {
                reached_from(single, rate, &points, &trials, goals, &idle_shares())
                    .filter(|found| fits(found, &trials, goals))
            } else {
                None
            };
            // There a percentile stays where it is and then jumps: its inverse lies on no line.
            let has_percentile = goals.iter().any(|goal| goal.quantile.is_some());
            from_idle.or_else(|| near_full(rate.filter(|_| !has_percentile)?))
        }
        (_, Some(rate)) => near_full(rate),
        (_, None) => None,
    };
    let reached = reached.filter(|found| fits(found, &trials, goals));
    let reached = reached.map(|found| held_back::within_full_speed(found, record, &trials));
    let alone = single.filter(|_| rate.is_none() && undecided.is_none()).and_then(|single| {
        let is_missed = |(which, goal): &(usize, &LatencyGoal)| {
            single.exceeds(goal) && lowest.first().is_some_and(|trial| trial.exceeds(*which, goal))
        };
        let missed = goals.iter().enumerate().find(is_missed).map(|(_, goal)| goal);
        // Else kept there by luck, as far as anything shows.
        let goal = missed.or_else(|| goals.iter().find(|goal| single.exceeds(goal)))?;
        Some((*goal, single.latency_s(goal)))
    });
    let mut remarks = unsupported(&points, goals);
    let mut trials_take_s = None;
    // What waits for slots that are too few grows without end, and comes in no bouts.
    let is_stationary = !matches!(state, State::Overloaded | State::DepthLimited);
    if let Some(rate) = rate.filter(|_| is_stationary) {
        let at: Vec<&LoadPoint> = of_rate.iter().map(|(_, point)| *point).collect();
        // What a trial breaks with all that a queue remembers is no luck.
        let is_clear = of_rate.iter().any(|(trial, _)| trial.is_broken_clearly(goals));
        let few = single
            .filter(|_| !is_clear)
            .and_then(|alone| waiting::few_bouts(&at, queues, alone.mean_s, goals));
        trials_take_s = few.as_ref().map(|few| few.0);
        let told = few.map(|few| few.1);
        remarks.extend(told.or_else(|| waiting::wandering(record, rate).filter(|_| state == State::Met)));
    }
    Some(Objective {
        rate,
        state,
        missed,
        reached,
        alone,
        undecided,
        held_back,
        margins,
        trials,
        trials_take_s,
        remarks,
    })
}

/// The trials of one rate, and what they measured.
fn of_rate<'a>(
    trials: &'a [Trial],
    points: &'a [LoadPoint],
    rate: Option<f64>,
) -> Vec<(&'a Trial, &'a LoadPoint)> {
    let both = trials.iter().zip(points);
    both.filter(|(trial, _)| rate.is_some_and(|rate| is_same(trial.rate, rate))).collect()
}

/// Times a rate that was kept up to which one that was missed is about the same.
const NEXT_MAX: f64 = 1.1;

/// The trials of the lowest rate that was missed, where it is about the one that was kept and only its latencies were missed.
fn next_to<'a>(
    kept: Option<f64>,
    missed: Option<f64>,
    trials: &'a [Trial],
    points: &'a [LoadPoint],
) -> Vec<(&'a Trial, &'a LoadPoint)> {
    let is_near = kept.zip(missed).is_some_and(|(kept, missed)| missed <= NEXT_MAX * kept);
    let found = of_rate(trials, points, missed.filter(|_| is_near));
    let is_carried =
        found.iter().all(|(trial, _)| !matches!(trial.state, State::Overloaded | State::DepthLimited));
    if is_carried { found } else { Vec::new() }
}

/// Whether two rates, in operations per second, are the same one.
pub fn is_same(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() < 1e-4
}

/// Share of the rate of one operation at a time up to which a target is nearly idle.
const IDLE_MAX: f64 = 0.1;
/// The same, of the rates that tell how latency grows from there: beyond, it need not be by the same line.
const IDLE_LINE_MAX: f64 = 0.5;
/// Of the lowest trials so many, and most, have to break a limit beyond chance before no rate is said to keep it: one alone does so by chance
/// in one case of forty.
pub const BROKEN_MIN: usize = 2;

/// The trials of the lowest rates, from the lowest on: so many, and all of the last one's rate.
fn lowest(trials: &[Trial]) -> Vec<&Trial> {
    let mut lowest: Vec<&Trial> = trials.iter().collect();
    lowest.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    if let Some(last) = lowest.get(BROKEN_MIN - 1).map(|trial| trial.rate) {
        lowest.retain(|trial| trial.rate <= last || is_same(trial.rate, last));
    }
    lowest
}

/// A limit of which neither an operation alone nor the lowest rates tell whether it is kept.
fn undecided(
    (single, intervals_s): &(LoadPoint, Vec<(f64, f64)>),
    lowest: &[&Trial],
    goals: &[LatencyGoal],
) -> Option<Undecided> {
    let limit_s = |which: usize| goals[which].limit.as_secs_f64();
    let clear = lowest.iter().filter(|trial| trial.is_broken_clearly(goals)).count();
    if (0..goals.len()).any(|which| intervals_s[which].0 > limit_s(which))
        || clear >= BROKEN_MIN && 2 * clear > lowest.len()
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

/// Share of the rate at which a limit is said to be reached below which trials that broke it clearly speak against that.
const FAR_BELOW: f64 = 2.0 / 3.0;

/// Whether trials agree with where a limit is said to be reached: no more than one below it, which chance may bring, breaks a limit
/// clearly, and no more than one above it keeps all of them clearly. An interval that reaches far down does not make up for trials far
/// below the figure ([`FAR_BELOW`]) that broke it: they do not tell how steep the line is. Nor does a line end below a rate that was kept
/// where none was missed.
fn fits(reached: &Estimate, trials: &[Trial], goals: &[LatencyGoal]) -> bool {
    let (low, high) = reached.interval.unwrap_or((reached.value, reached.value));
    let keeps_clearly = |trial: &Trial| {
        trial.state != State::Overloaded
            && goals.iter().zip(&trial.intervals_s).all(|(goal, (_, high))| *high <= goal.limit.as_secs_f64())
    };
    let low = low.max(FAR_BELOW * reached.value);
    let broken = trials.iter().filter(|trial| trial.rate < low && trial.is_broken_clearly(goals)).count();
    if trials.iter().all(|trial| trial.state == State::Met) {
        return trials.iter().all(|trial| trial.rate <= reached.value);
    }
    let kept = trials.iter().filter(|trial| trial.rate > high && keeps_clearly(trial)).count();
    broken < BROKEN_MIN && kept < BROKEN_MIN
}

/// Whether a limit is broken however low the rate, which trials that are each too short for it tell together: what they have
/// beyond the limit (of a percentile the share of operations, of the mean the mean itself) lies on a straight line over the rate,
/// and where that begins it is too much, one-sided 95 %. So it is of a target that stands still now and then, which one operation
/// at a time hardly meets: as long as it stands, none comes.
fn is_broken_when_idle(
    single: &LoadPoint,
    points: &[LoadPoint],
    trials: &[Trial],
    goals: &[LatencyGoal],
) -> bool {
    let is_near =
        |trial: &Trial| trial.state != State::Overloaded && trial.rate <= IDLE_LINE_MAX * single.rate;
    let near: Vec<&LoadPoint> =
        trials.iter().zip(points).filter(|(trial, _)| is_near(trial)).map(|(_, point)| point).collect();
    goals.iter().any(|goal| {
        let most = goal.quantile.map_or(goal.limit.as_secs_f64(), |q| 1.0 - q);
        let beyond: Vec<Trialled> = near.iter().map(|point| certainty::beyond(point, goal)).collect();
        let Some(Line { weights, mean: (x, y), spread, slope, left }) = Line::of(&beyond) else {
            return false;
        };
        let freedom = beyond.len() as f64 - 2.0;
        if freedom < 1.0 {
            return false;
        }
        let error = (left / freedom).max(1.0).sqrt() * (1.0 / weights + x * x / spread).sqrt();
        // Both tails of 90 % are one of 95 %.
        y - slope * x - t_quantile(0.90, freedom) * error > most
    })
}

/// Whether a step has one operation of each worker at a time, at no rate.
fn is_alone(step: &Step) -> bool {
    crate::load::rate(step).is_none() && step.streams.iter().all(|stream| stream.queue_depth == 1)
}

/// What one operation at a time does, with the intervals of what the goals are about.
fn single(record: &Record, goals: &[LatencyGoal]) -> Option<(LoadPoint, Vec<(f64, f64)>)> {
    let step = record.steps.iter().find(|step| is_alone(&step.started.step))?;
    let point = LoadPoint::of(&step.started.step, &step.finished.as_ref()?.streams)?;
    let intervals_s = intervals_s(step, &point, queues::of(record), goals, None);
    Some((point, intervals_s))
}

/// For each goal the 95 % interval of what it is about, seconds, with the memory of the step, and that of a queue beside what an
/// operation `alone` takes.
fn intervals_s(
    step: &StepRecord,
    point: &LoadPoint,
    queues: f64,
    goals: &[LatencyGoal],
    alone: Option<&LoadPoint>,
) -> Vec<(f64, f64)> {
    let of = |goal| {
        let of_queue = alone.map_or(1.0, |alone| waiting::inflation(point, queues, goal, alone.mean_s));
        certainty::interval_s(point, goal, certainty::inflation(step, point, goal).max(of_queue))
    };
    goals.iter().map(of).collect()
}

/// The rate that a search found: of those below every rate that missed once, the one that was tried most often, since it was
/// tried again to prove it; of several, the highest. One that was kept once, near another that was disproven, was luck.
fn kept(trials: &[Trial]) -> Option<f64> {
    let missed = trials.iter().filter(|trial| !trial.state.is_kept()).map(|trial| trial.rate);
    let lowest_missed = missed.fold(f64::INFINITY, f64::min);
    let below = trials
        .iter()
        .map(|trial| trial.rate)
        .filter(|rate| *rate < lowest_missed && !is_same(*rate, lowest_missed));
    let times = |rate: f64| trials.iter().filter(|trial| is_same(trial.rate, rate)).count();
    below.max_by(|one, other| times(*one).cmp(&times(*other)).then(one.total_cmp(other)))
}

/// Whether a rate that was kept is no answer: an operation alone does not keep a limit, and neither all trials of the rate together nor
/// one of any rate show that it is kept nevertheless. What is asked of more at once is hardly done sooner: it was luck, or nobody knows.
fn is_doubtful(
    rate: f64,
    single: Option<&LoadPoint>,
    points: &[LoadPoint],
    trials: &[Trial],
    queues: f64,
    goals: &[LatencyGoal],
) -> bool {
    let Some(single) = single.filter(|single| goals.iter().any(|goal| single.exceeds(goal))) else {
        return false;
    };
    let keeps_clearly = |trial: &Trial| {
        goals.iter().zip(&trial.intervals_s).all(|(goal, (_, high))| *high <= goal.limit.as_secs_f64())
    };
    let of_rate: Vec<(&Trial, &LoadPoint)> =
        trials.iter().zip(points).filter(|(trial, _)| is_same(trial.rate, rate)).collect();
    let is_open = |margin: &Margin| {
        let interval = margin.together_s.and_then(|together| together.interval);
        interval.is_none_or(|(_, high)| high > margin.goal.limit.as_secs_f64())
    };
    !trials.iter().any(keeps_clearly)
        && margins::of(goals, &of_rate, queues, Some(single.mean_s)).iter().any(is_open)
}

/// Where the first of the limits is reached by the trials around a rate, where an operation alone takes `alone_s` and all of them go
/// to so many queues.
fn reached(
    rate: f64,
    alone_s: f64,
    queues: f64,
    points: &[LoadPoint],
    trials: &[Trial],
    goals: &[LatencyGoal],
) -> Option<Estimate> {
    let distance = |trial: &Trial| (trial.rate / rate - 1.0).abs();
    let is_told = |(trial, _): &(&Trial, &LoadPoint)| {
        !matches!(trial.state, State::Overloaded | State::DepthLimited) && distance(trial) <= NEAR
    };
    let mut near: Vec<(&Trial, &LoadPoint)> = trials.iter().zip(points).filter(is_told).collect();
    near.sort_by(|(a, _), (b, _)| distance(a).total_cmp(&distance(b)));
    // Where no trial was nothing tells that the line goes on; but one whose interval reaches down to the trials lies next to them: a
    // search whose first step was missed by chance has tried nothing above.
    let highest = trials.iter().map(|trial| trial.rate).fold(0.0, f64::max);
    let of = |goal: &LatencyGoal| {
        let (figure, level) = match goal.quantile {
            Some(q) => (Figure::ShareBeyond, 1.0 - q),
            None => (Figure::Mean, goal.limit.as_secs_f64()),
        };
        let shown = |(trial, point): &(&Trial, &LoadPoint)| {
            let Share { count, part, .. } = Share::within(trial.rate, &point.response, goal.limit);
            Shown {
                rate: trial.rate,
                of_queue: trial.rate / queues,
                count,
                mean_s: point.mean_s,
                squared_variation: (point.response.moments.stddev_ns() / 1e9 / point.mean_s).powi(2),
                beyond: 1.0 - part,
            }
        };
        near_full::reached(figure, &near.iter().map(shown).collect::<Vec<_>>(), level, alone_s)
    };
    goals.iter().filter_map(of).min_by(|a, b| a.value.total_cmp(&b.value)).filter(|reached| {
        let low = reached.interval.map_or(reached.value, |(low, _)| low);
        reached.value <= highest || low <= highest && reached.value <= BEYOND_MAX * highest
    })
}

/// As [`reached`] where the limit is near to what an operation takes alone: the line begins there (see `near_idle`). `rate`: near which it is looked for; absent where none
/// was kept: from the lowest on. `shares`: for each goal those within its limit.
fn reached_from(
    single: &LoadPoint,
    rate: Option<f64>,
    points: &[LoadPoint],
    trials: &[Trial],
    goals: &[LatencyGoal],
    shares: &[Vec<Share>],
) -> Option<Estimate> {
    let is_near =
        |trial: &Trial| trial.state != State::Overloaded && trial.rate <= IDLE_LINE_MAX * single.rate;
    let of = |(goal, shares): (&LatencyGoal, &Vec<Share>)| {
        if let Some(q) = goal.quantile {
            return near_idle::reached(&near_idle::around(shares, rate.unwrap_or(0.0), single.rate), q);
        }
        let near = trials.iter().zip(points).filter(|(trial, _)| is_near(trial));
        let near: Vec<(f64, &LoadPoint)> = near.map(|(trial, point)| (trial.done, point)).collect();
        near_idle::mean_reached(single, &near, goal.limit.as_secs_f64())
    };
    goals.iter().zip(shares).filter_map(of).min_by(|a, b| a.value.total_cmp(&b.value))
}

/// A rate with what is on a line over it, such as the inverse of its latency, and how much it counts.
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

/// Whether goals are broken by nothing but percentiles that take more operations than there were: the largest of few may lie
/// beyond a limit by chance.
fn is_broken_by_few(point: &LoadPoint, goals: &[LatencyGoal]) -> bool {
    let is_of_few = |goal: &LatencyGoal| {
        goal.quantile.is_some_and(|q| point.needs(q).is_some()) && !breaks_clearly(point, goal, 1.0)
    };
    goals.iter().filter(|goal| point.exceeds(goal)).all(is_of_few)
}

/// Whether a run ended, if it did, before it had tried all that its question takes.
fn is_broken_off(record: &Record) -> bool {
    matches!(
        record.outcome(),
        None | Some(Outcome::Interrupted { .. } | Outcome::Aborted { .. } | Outcome::Failed { .. })
    )
}

/// A step at a rate; `None` of one at full speed, or that was cut short. `alone`: what one operation at a time does. `is_wanted`:
/// whether the rate is the one in question; a search goes down as long as a limit is broken, be it by chance. `queues`: how many the
/// operations go to.
fn trial(
    step: &StepRecord,
    goals: &[LatencyGoal],
    alone: Option<&LoadPoint>,
    queues: f64,
    is_wanted: bool,
) -> Option<(LoadPoint, Trial)> {
    let rate = crate::load::rate(&step.started.step)?;
    let finished = step.finished.as_ref().filter(|finished| finished.stop != Stop::Interrupted)?;
    let point = LoadPoint::of(&step.started.step, &finished.streams)?;
    let held_back = alone.and_then(|alone| held_back::held_back(&step.started.step, &point, rate, alone));
    let state = match state(&point, rate, goals) {
        State::NotMet if is_wanted && is_broken_by_few(&point, goals) => State::TooFew,
        found => held_back::own(found, held_back, alone, goals),
    };
    let trial = Trial {
        rate,
        offered: if point.offered > 0.0 { point.offered } else { rate },
        done: point.rate,
        latencies_s: goals.iter().map(|goal| point.latency_s(goal)).collect(),
        intervals_s: intervals_s(step, &point, queues, goals, alone),
        needs: goals.iter().map(|goal| goal.quantile.and_then(|q| point.needs(q))).collect(),
        state,
        held_back: held_back.filter(|_| state == State::DepthLimited),
    };
    Some((point, trial))
}

#[cfg(test)]
mod tests;
