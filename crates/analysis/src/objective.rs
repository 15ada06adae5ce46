//! Whether a load is carried within its limits, and the highest one that is.

use crate::load::LoadPoint;
use fathom_schema::{LatencyGoal, Record, StepRecord};

/// Share of the offered rate that has to be done: less is overload, whatever the latencies say.
const DONE_MIN: f64 = 0.99;

/// What became of one rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// All limits were kept.
    Met,
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
            Self::NotMet => "not_met",
            Self::Overloaded => "overloaded",
        }
    }
}

/// What became of `rate` in one step.
pub fn state(point: &LoadPoint, rate: f64, goals: &[LatencyGoal]) -> State {
    // Random arrivals are not exactly as many as asked for: what came is what is to be done.
    let offered = if point.offered > 0.0 { point.offered } else { rate };
    if point.rate < DONE_MIN * offered || point.dropped > 0 {
        State::Overloaded
    } else if goals.iter().all(|goal| point.latency_s(goal) <= goal.limit.as_secs_f64()) {
        State::Met
    } else {
        State::NotMet
    }
}

/// One rate that was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// Operations per second asked for.
    pub rate: f64,
    /// Operations per second done.
    pub done: f64,
    /// What the goals are about, in seconds, in their order.
    pub latencies_s: Vec<f64>,
    /// What became of it.
    pub state: State,
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
    /// Per goal: the worst latency at the rate, seconds, and what is left to the limit as a share of it.
    pub margins: Vec<(LatencyGoal, f64, f64)>,
    /// Every rate that was tried, in order.
    pub trials: Vec<Trial>,
}

/// Answers from a record; `None` when no rate was tried.
pub fn objective(record: &Record, wanted: Option<f64>, goals: &[LatencyGoal]) -> Option<Objective> {
    let trials: Vec<Trial> = record.steps.iter().filter_map(|step| trial(step, goals)).collect();
    let rate = match wanted {
        Some(wanted) => Some(wanted),
        None => trials.iter().filter(|t| t.state == State::Met).map(|t| t.rate).reduce(f64::max),
    };
    let at = |rate: f64| trials.iter().filter(move |trial| (trial.rate / rate - 1.0).abs() < 1e-3);
    let state = match rate {
        Some(rate) => at(rate).map(|trial| trial.state).max()?,
        None => trials.iter().map(|trial| trial.state).max()?,
    };
    let missed = trials
        .iter()
        .filter(|trial| wanted.is_none() && trial.state != State::Met)
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
    Some(Objective { rate, state, missed, margins, trials })
}

/// A step at a rate; `None` of one at full speed.
fn trial(step: &StepRecord, goals: &[LatencyGoal]) -> Option<Trial> {
    let rate: f64 = step
        .started
        .step
        .streams
        .iter()
        .filter(|stream| stream.engine.kind.adds_up())
        .map(|stream| match stream.pacing {
            fathom_schema::Pacing::Open { rate, .. } => Some(rate),
            fathom_schema::Pacing::Closed { .. } => None,
        })
        .sum::<Option<f64>>()?;
    let point = LoadPoint::of(&step.started.step, &step.finished.as_ref()?.streams)?;
    Some(Trial {
        rate,
        done: point.rate,
        latencies_s: goals.iter().map(|goal| point.latency_s(goal)).collect(),
        state: state(&point, rate, goals),
    })
}
