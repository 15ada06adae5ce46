//! Rates for an objective: one rate proven several times, or the highest that keeps its latencies, by bisection in an open
//! loop between what is kept and what is not, and then proven as often.

use super::{Settings, depth, full_speed, open};
use fathom_analysis::load::LoadPoint;
use fathom_analysis::objective::{BROKEN_MIN, breaks_clearly, state};
use fathom_analysis::statistics::quantile_needs;
use fathom_schema::LatencyGoal;

/// How close the highest rate kept and the lowest one missed come before the search ends.
const GAP_MAX: f64 = 0.01;
/// Steps of a bisection at most: with twelve the gap is 1/4096 of the first bracket.
const STEPS_MAX: u32 = 12;
/// Times that a rate is lowered which turns out not to be kept when it is proven, before half of it is tried; each goes down twice
/// as far as the one before, so that the last lies 28 % below the first.
const DISPROVEN_MAX: u32 = 5;
/// Queue slots per operation that Little's law expects in flight: latency under load is not that of an idle device.
const SLOTS_SPARE: f64 = 8.0;
/// Share of the rate of one operation at a time at which nothing waits for another any more: what breaks a limit there
/// breaks it at higher rates too, and hardly less at lower ones.
const IDLE_SHARE: f64 = 0.01;
/// Operations that such a rate has to bring in a step at least, as far as [`IDLE_SHARE_MAX`] allows: a mean then says something.
/// Percentiles take as many as their interval does.
const IDLE_OPERATIONS_MIN: f64 = 200.0;
/// Largest share for that.
const IDLE_SHARE_MAX: f64 = 0.5;
/// How far below that lower rates are tried where none was kept: a limit at the service time's own percentile shows there or
/// nowhere.
const LOWER_THAN_IDLE: f64 = 4.0;
/// Variance that operations in a row may have beyond that of independent ones, where the step before the search shows only its
/// totals: twice the spread. Where a limit is broken clearly even so, lower rates are not looked at.
const INFLATION: f64 = 4.0;
/// How far above the lowest rate missed a rate is to have been tried, as a multiple of it: a line through the trials then shows
/// where the limit is reached, also where that rate was missed by chance.
const BEYOND: f64 = 1.05;
/// Fewest queue slots of an open loop.
const SLOTS_MIN: u32 = 16;

/// Chooses rates.
#[derive(Debug, Clone)]
pub struct ObjectiveSearch {
    goals: Vec<LatencyGoal>,
    wanted: Option<f64>,
    replicates: u32,
    depth_max: u32,
    /// Arrivals as the job has them, else Poisson.
    arrival: Option<&'static str>,
    part: Part,
    depth: u32,
    kept: f64,
    missed: f64,
    /// The rate at which the target is idle, where it was kept and is not proven yet.
    idle: Option<f64>,
    /// How often a rate was disproven since rates were last halved.
    disproven: u32,
    /// Rates that were tried so far.
    tried: usize,
    /// The highest of them.
    highest: f64,
    /// What was done at full speed, operations per second.
    most: f64,
    /// Lowest rate that is tried; infinite where an operation by itself breaks a limit beyond chance.
    floor: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    /// One operation at a time: how long does it take?
    Alone,
    /// One at a time broke a limit: does a rate at which the target is idle break it too?
    Idle(f64),
    /// No rate was kept so far, and an operation by itself may keep the limits: a lower one.
    Lower(f64),
    /// All at once: what is the most?
    Maximum,
    /// This rate, for the so many'th time.
    At(f64, u32),
    Bisecting(f64, u32),
    /// The highest rate that was kept, for the so many'th time.
    Proving(u32),
    /// A rate above all that were tried.
    Beyond(f64),
    Done,
}

impl ObjectiveSearch {
    /// Proves `wanted` so many times, or finds the highest rate when it is absent. `poisson`: whether arrivals are made
    /// random; else they are as the job has them.
    pub fn new(
        goals: Vec<LatencyGoal>,
        wanted: Option<f64>,
        replicates: u32,
        depth_max: u32,
        poisson: bool,
    ) -> Self {
        Self {
            goals,
            wanted,
            replicates: replicates.max(1),
            depth_max: depth_max.max(1),
            arrival: poisson.then_some("poisson"),
            part: Part::Alone,
            depth: 1,
            kept: 0.0,
            missed: f64::INFINITY,
            idle: None,
            disproven: 0,
            tried: 0,
            highest: 0.0,
            most: 0.0,
            floor: f64::INFINITY,
        }
    }

    pub(super) fn next(&mut self, result: Option<&LoadPoint>) -> Option<Settings> {
        let Some(result) = result else {
            // The first step, or the end: a step that measured nothing says nothing about the next.
            return (self.part == Part::Alone).then(|| vec![depth(1), full_speed()]);
        };
        if self.part == Part::Alone {
            self.floor = self.lowest(result);
        }
        self.part = match self.part {
            Part::Alone => match self.wanted {
                Some(wanted) => {
                    self.depth = self.slots(wanted * result.mean_s);
                    Part::At(wanted, 1)
                }
                None if self.goals.iter().any(|goal| result.exceeds(goal)) => {
                    self.depth = self.depth_max;
                    #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
                    let share = self.operations_min() / result.response.moments.count as f64;
                    Part::Idle(result.rate * share.clamp(IDLE_SHARE, IDLE_SHARE_MAX))
                }
                None => Part::Maximum,
            },
            Part::Idle(at) if state(result, at, &self.goals).is_kept() => {
                self.kept = at;
                self.idle = Some(at);
                Part::Maximum
            }
            Part::Maximum => {
                self.depth = self.depth_max;
                self.missed = result.rate;
                self.most = result.rate;
                self.middle(1)
            }
            Part::At(at, times) if times < self.replicates => Part::At(at, times + 1),
            Part::Bisecting(at, times) => {
                if state(result, at, &self.goals).is_kept() {
                    self.kept = at;
                } else {
                    self.missed = at;
                }
                self.middle(times + 1)
            }
            Part::Lower(at) if state(result, at, &self.goals).is_kept() => {
                // Between it and twice that, which was missed, the limit is looked for as anywhere else.
                self.kept = at;
                self.middle(1)
            }
            Part::Idle(at) | Part::Lower(at) => self.lower(at),
            Part::Proving(times) => {
                if state(result, self.kept, &self.goals).is_kept() {
                    self.proven(times)
                } else {
                    self.missed = self.kept;
                    self.kept *= 1.0 - GAP_MAX * f64::from(1 << self.disproven);
                    self.disproven += 1;
                    if self.disproven > DISPROVEN_MAX { self.lower(self.missed) } else { self.proven(0) }
                }
            }
            Part::At(..) | Part::Beyond(_) | Part::Done => Part::Done,
        };
        self.tried += usize::from(!matches!(self.part, Part::Alone | Part::Maximum | Part::Done));
        let rate = match self.part {
            Part::Alone | Part::Done => return None,
            Part::Maximum => return Some(vec![depth(self.depth_max), full_speed()]),
            Part::Idle(at)
            | Part::Lower(at)
            | Part::At(at, _)
            | Part::Bisecting(at, _)
            | Part::Beyond(at) => at,
            Part::Proving(..) => self.kept,
        };
        self.highest = self.highest.max(rate);
        Some(open(self.depth, rate, self.arrival))
    }

    fn middle(&mut self, times: u32) -> Part {
        let gap = (self.missed - self.kept) / self.missed;
        if times > STEPS_MAX || gap <= GAP_MAX {
            if self.kept > 0.0 { self.proven(1) } else { self.lower(self.missed) }
        } else {
            Part::Bisecting(f64::midpoint(self.kept, self.missed), times)
        }
    }

    /// After a rate that was missed: half of it, as long as that can be judged; else the one that was kept at first, once and
    /// perhaps by luck, which is proven like any other; else that rate again where a single trial is no proof. Nor need what one operation at a time did be one: the answer knows how its intervals differed, and may find
    /// that it scattered by more than [`INFLATION`].
    fn lower(&mut self, missed: f64) -> Part {
        self.missed = missed;
        self.kept = 0.0;
        self.disproven = 0;
        let next = missed / 2.0;
        if next >= self.floor {
            Part::Lower(next)
        } else if let Some(idle) = self.idle.take().filter(|idle| *idle < missed) {
            self.kept = idle;
            // Below it nothing is judged.
            self.disproven = DISPROVEN_MAX;
            self.proven(1)
        } else if self.tried < BROKEN_MIN {
            Part::At(missed, self.replicates)
        } else {
            Part::Done
        }
    }

    /// Operations of a step that the intervals of all goals take.
    fn operations_min(&self) -> f64 {
        let needs = self.goals.iter().filter_map(|goal| goal.quantile).map(quantile_needs);
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        needs.fold(IDLE_OPERATIONS_MIN, |most, needs| most.max(needs as f64))
    }

    /// Lowest rate whose steps bring as many operations as the intervals of the goals take, and at which a target is not yet
    /// idle anyway, after what one operation at a time did.
    fn lowest(&self, alone: &LoadPoint) -> f64 {
        if self.goals.iter().any(|goal| breaks_clearly(alone, goal, INFLATION)) {
            return f64::INFINITY;
        }
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        let share = self.operations_min() / alone.response.moments.count as f64;
        alone.rate * share.max(IDLE_SHARE / LOWER_THAN_IDLE)
    }

    /// After the rate kept was kept so many times.
    fn proven(&self, times: u32) -> Part {
        if self.kept > 0.0 && times < self.replicates {
            return Part::Proving(times + 1);
        }
        let beyond = BEYOND * self.highest;
        if self.kept > 0.0 && self.highest < BEYOND * self.missed && beyond < self.most {
            Part::Beyond(beyond)
        } else {
            Part::Done
        }
    }

    /// Queue slots for a load that Little's law expects.
    fn slots(&self, in_flight: f64) -> u32 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "cut to a queue depth")]
        let slots = (in_flight * SLOTS_SPARE).ceil().min(f64::from(self.depth_max)) as u32;
        slots.clamp(SLOTS_MIN.min(self.depth_max), self.depth_max)
    }

    pub(super) fn extreme(&self) -> Settings {
        open(self.depth_max, self.wanted.unwrap_or(1.0), self.arrival)
    }

    /// Of a search: those before the bisection, and where its rate is proven at once. Lower rates, others that prove to have been
    /// luck, and one above all come on top.
    pub(super) fn steps_hint(&self) -> usize {
        match self.wanted {
            Some(_) => 1 + self.replicates as usize,
            // The bisection's last is the first of the proofs; before it come one operation at a time and all at once.
            None => 1 + STEPS_MAX as usize + self.replicates as usize,
        }
    }
}
