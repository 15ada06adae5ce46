//! Rates for a load curve: all that the targets do at full speed, then shares of it or given rates in an open loop, then
//! more of them where response times turn upwards; all of that again in random order, so that drift of the device is not
//! taken for an effect of the load.

use super::{Settings, depth, full_speed, open};
use fathom_analysis::load::LoadPoint;
use fathom_analysis::objective::{State, state};
use fathom_schema::LatencyGoal;
use fathom_units::{Iops, Ratio};
use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;

/// Shares of the most that are offered where none are given, per cent: those of Vdbench's `iorate=curve`, and full.
const SHARES: [u32; 10] = [10, 20, 30, 40, 50, 60, 70, 80, 90, 100];
/// Rates that are added at most.
const REFINED_MAX: usize = 5;
/// Distance between two rates, as a share of the most, that is worth a rate between them where a limit is crossed.
const GAP_MIN: f64 = 0.02;
/// Growth of the mean response time from one rate to the next that is worth a rate between them.
const GROWTH_MAX: f64 = 2.0;
/// Times the idle response time up to which the lower of two such rates may take for the mean to double between them: twice, and as
/// much more as one measurement so near to full speed is off.
const DOUBLED_MAX: f64 = 2.5;
/// Share of the most up to which rates say what latencies an idle target has.
const CALM: f64 = 0.5;
/// Standard errors that the highest of some ten latencies of an idle target lies above the lowest by chance.
const NOISE: f64 = 4.0;
/// Most that is noise of an idle target's latency, as a share of it: one rate at which it stands still does not hide a limit.
const NOISE_MAX: f64 = 0.1;
/// Rates above the first that could not be carried, as a part of the first round: two show that it was no accident.
const OVERLOADED_MAX: usize = 2;

/// A rate as it is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RateOf {
    /// Operations per second.
    Absolute(Iops),
    /// A share of what the targets do at full speed.
    Share(Ratio),
}

impl fmt::Display for RateOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absolute(rate) => rate.fmt(f),
            Self::Share(share) => share.fmt(f),
        }
    }
}

impl FromStr for RateOf {
    type Err = String;

    /// Reads `10k` and `50%`.
    fn from_str(text: &str) -> Result<Self, String> {
        let found = if text.trim().ends_with('%') {
            Self::Share(text.parse().map_err(|error| format!("{error}"))?)
        } else {
            Self::Absolute(text.parse().map_err(|error| format!("{error}"))?)
        };
        match found {
            Self::Absolute(Iops(rate)) if rate > 0.0 && rate.is_finite() => Ok(found),
            Self::Share(share) if share.value() > 0.0 => Ok(found),
            _ => Err(format!("{text}: nothing would come due; write for example 10k or 50%")),
        }
    }
}

/// Chooses rates.
#[derive(Debug, Clone)]
pub struct RateSearch {
    given: Vec<RateOf>,
    goals: Vec<LatencyGoal>,
    depth_max: u32,
    replicates: u32,
    /// Arrivals as the job has them, else Poisson.
    arrival: Option<&'static str>,
    random: fastrand::Rng,
    queue: VecDeque<Next>,
    running: Option<Next>,
    /// The first figure at full speed, which shares are of.
    most: f64,
    measured: Vec<Measured>,
    part: Part,
    refined: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Next {
    FullSpeed,
    At(f64),
}

#[derive(Debug, Clone, PartialEq)]
struct Measured {
    rate: f64,
    mean_s: f64,
    latencies_s: Vec<f64>,
    /// Their standard errors.
    scatters_s: Vec<f64>,
    is_carried: bool,
}

/// Why two rates are worth one between them, the least reason first. What lies next to full speed alone comes last: nothing is
/// read off there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    /// The mean response time grows too much.
    Steep,
    /// A limit is crossed.
    Crossed,
    /// The mean response time grows too much, past twice that of an idle target.
    Doubled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Maximum,
    Once,
    Refining,
    Repeating,
    Done,
}

impl RateSearch {
    /// At these rates, or, where there are none, at shares of the most and where response times turn upwards; each
    /// `replicates` times at a queue depth of `depth_max`. `poisson`: whether arrivals are made random; else they are as the
    /// job has them. `seed` is for the order.
    pub fn new(
        given: Vec<RateOf>,
        goals: Vec<LatencyGoal>,
        depth_max: u32,
        replicates: u32,
        poisson: bool,
        seed: u64,
    ) -> Self {
        Self {
            given,
            goals,
            depth_max: depth_max.max(1),
            replicates: replicates.max(1),
            arrival: poisson.then_some("poisson"),
            random: fastrand::Rng::with_seed(seed),
            queue: VecDeque::from([Next::FullSpeed]),
            running: None,
            most: 0.0,
            measured: Vec::new(),
            part: Part::Maximum,
            refined: 0,
        }
    }

    pub(super) fn next(&mut self, result: Option<&LoadPoint>) -> Option<Settings> {
        if let (Some(running), Some(result)) = (self.running.take(), result) {
            self.learn(running, result);
        }
        while self.queue.is_empty() {
            match self.part {
                Part::Maximum => {
                    let first = self.first_round();
                    self.queue.extend(first);
                    self.part = Part::Once;
                }
                Part::Once => {
                    self.part = if self.given.is_empty() { Part::Refining } else { Part::Repeating }
                }
                Part::Refining => match self.between() {
                    Some(rate) => {
                        self.refined += 1;
                        self.queue.push_back(Next::At(rate));
                    }
                    None => self.part = Part::Repeating,
                },
                Part::Repeating => {
                    self.part = Part::Done;
                    let again = self.repeated();
                    self.queue.extend(again);
                }
                Part::Done => return None,
            }
        }
        let next = self.queue.pop_front()?;
        self.running = Some(next);
        Some(match next {
            Next::FullSpeed => vec![depth(self.depth_max), full_speed()],
            Next::At(rate) => open(self.depth_max, rate, self.arrival),
        })
    }

    fn learn(&mut self, running: Next, result: &LoadPoint) {
        match running {
            // Later figures at full speed would move what shares are of.
            Next::FullSpeed if self.most > 0.0 => {}
            Next::FullSpeed => self.most = result.rate,
            Next::At(rate) => self.measured.push(Measured {
                rate,
                mean_s: result.mean_s,
                latencies_s: self.goals.iter().map(|goal| result.latency_s(goal)).collect(),
                scatters_s: self.goals.iter().map(|goal| result.scatter_s(goal)).collect(),
                is_carried: state(result, rate, &[]) != State::Overloaded,
            }),
        }
        if self.part == Part::Once && self.given.is_empty() {
            let missed = self.measured.iter().filter(|one| !one.is_carried).count();
            if missed >= OVERLOADED_MAX {
                self.queue.clear();
            }
        }
    }

    /// Ascending, so that it can end where nothing more is carried; given ones in random order.
    fn first_round(&mut self) -> Vec<Next> {
        let shares = SHARES.map(|percent| RateOf::Share(Ratio::percent(f64::from(percent))));
        let wanted = if self.given.is_empty() { &shares[..] } else { &self.given };
        let mut rates: Vec<f64> = wanted
            .iter()
            .map(|rate| match rate {
                RateOf::Absolute(Iops(rate)) => *rate,
                RateOf::Share(share) => share.value() * self.most,
            })
            .collect();
        rates.sort_by(f64::total_cmp);
        rates.dedup();
        let mut all: Vec<Next> = rates.into_iter().map(Next::At).collect();
        if !self.given.is_empty() {
            self.random.shuffle(&mut all);
        }
        all
    }

    /// A rate in the middle of the two that are worth it most: for the best reason, of those the widest, of those the steepest.
    fn between(&self) -> Option<f64> {
        if self.refined >= REFINED_MAX {
            return None;
        }
        let mut known: Vec<&Measured> = self.measured.iter().collect();
        known.sort_by(|a, b| a.rate.total_cmp(&b.rate));
        let idle_s = known.iter().map(|one| one.mean_s).fold(f64::INFINITY, f64::min);
        // A limit that is only crossed by what an idle target's latency scatters is crossed nowhere.
        let least_s: Vec<f64> = (0..self.goals.len())
            .map(|which| self.goals[which].limit.as_secs_f64().max(self.idle_at_most_s(&known, which)))
            .collect();
        let is_crossed = |pair: &[&Measured]| {
            self.goals.iter().enumerate().any(|(which, goal)| {
                pair[0].latencies_s[which] <= goal.limit.as_secs_f64()
                    && pair[1].latencies_s[which] > least_s[which]
            })
        };
        let growth = |pair: &[&Measured]| pair[1].mean_s / pair[0].mean_s;
        let reason = |pair: &[&Measured]| {
            // Above what is carried latencies are those of a queue that grows as long as it is measured.
            let is_steep = pair[1].is_carried && growth(pair) > GROWTH_MAX;
            match (is_steep, is_crossed(pair)) {
                (true, _) if pair[0].mean_s <= DOUBLED_MAX * idle_s => Some(Reason::Doubled),
                (_, true) => Some(Reason::Crossed),
                (true, false) => Some(Reason::Steep),
                (false, false) => None,
            }
        };
        // Shares of one maximum are as wide but for their rounding.
        let width = |pair: &[&Measured]| ((pair[1].rate - pair[0].rate) / (GAP_MIN * self.most)).round();
        known
            .windows(2)
            .filter(|pair| pair[1].rate - pair[0].rate > GAP_MIN * self.most)
            .filter_map(|pair| Some((reason(pair)?, pair)))
            .max_by(|(one, a), (other, b)| {
                let wider = || width(a).total_cmp(&width(b));
                one.cmp(other).then_with(wider).then_with(|| growth(a).total_cmp(&growth(b)))
            })
            .map(|(_, pair)| f64::midpoint(pair[0].rate, pair[1].rate))
    }

    /// The most that a latency of an idle target comes to by chance, seconds; 0 where no rate was calm. `known` from the lowest rate on.
    fn idle_at_most_s(&self, known: &[&Measured], which: usize) -> f64 {
        let calm: Vec<&Measured> = known.iter().copied().filter(|one| one.rate <= CALM * self.most).collect();
        let lowest = calm.iter().min_by(|a, b| a.latencies_s[which].total_cmp(&b.latencies_s[which]));
        let Some(lowest) = lowest else { return 0.0 };
        // No queue lets operations wait for less at a higher rate: by what a latency falls then, it scatters.
        let (_, fall_s) = calm.iter().fold((0.0_f64, 0.0_f64), |(highest_s, fall_s), one| {
            let latency_s = one.latencies_s[which];
            (highest_s.max(latency_s), fall_s.max(highest_s - latency_s))
        });
        let level_s = lowest.latencies_s[which];
        level_s + fall_s.max(NOISE * lowest.scatters_s[which]).min(NOISE_MAX * level_s)
    }

    /// All rates and full speed so many times more, shuffled.
    fn repeated(&mut self) -> Vec<Next> {
        let once: Vec<Next> = std::iter::once(Next::FullSpeed)
            .chain(self.measured.iter().map(|one| Next::At(one.rate)))
            .collect();
        let mut all = Vec::new();
        for _ in 1..self.replicates {
            // Each rate once before any comes again.
            let mut round = once.clone();
            self.random.shuffle(&mut round);
            all.extend(round);
        }
        all
    }

    pub(super) fn extremes(&self) -> Vec<Settings> {
        let largest = self.given.iter().filter_map(|rate| match rate {
            RateOf::Absolute(Iops(rate)) => Some(*rate),
            RateOf::Share(_) => None,
        });
        let largest = largest.fold(1.0, f64::max);
        vec![vec![depth(self.depth_max), full_speed()], open(self.depth_max, largest, self.arrival)]
    }

    pub(super) fn steps_hint(&self) -> usize {
        let rates = if self.given.is_empty() { SHARES.len() + 2 } else { self.given.len() };
        (1 + rates) * self.replicates as usize
    }
}
