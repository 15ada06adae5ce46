//! Depths for a load curve: doubled until more brings nothing and what is asked about is reached, then around the knee, then
//! all of them again in random order, so that drift of the device is not taken for an effect of the load; then those whose
//! throughput is not known well yet.

use super::{Settings, depth};
use fathom_analysis::load::LoadPoint;
use fathom_analysis::scaling::{self, LOADS_MIN, Point, Weighting};
use fathom_analysis::statistics::Sample;
use fathom_model::{Job, Rate, Span};
use fathom_schema::LatencyGoal;
use std::collections::VecDeque;

/// Gain of a doubling that counts as none; two in a row end the doubling.
const GAIN_MIN: f64 = 0.02;
/// Fall below the best that ends it.
const FALL_MAX: f64 = 0.05;
/// Depths that are added around the knee at most.
const REFINED_MAX: usize = 5;

/// Half of the 95 % interval of a depth's throughput, as a share of it, that is narrow enough.
const HALF_WIDTH_MAX: f64 = 0.02;

/// Why a job has no curve over depths, with the place: it offers a rate, which every depth would be measured at.
pub fn paced(job: &Job) -> Option<(String, Span)> {
    let stream = job.streams.iter().find(|stream| *stream.options.rate.get() != Rate::Max)?;
    let message = format!(
        "stream.{}.rate: a curve over depths goes at full speed; leave the rate out, or go over rates (--over rate)",
        stream.name
    );
    Some((message, stream.options.rate.span().unwrap_or(stream.span)))
}

/// Chooses depths.
#[derive(Debug, Clone)]
pub struct CurveSearch {
    depth_min: u32,
    depth_max: u32,
    replicates: u32,
    random: fastrand::Rng,
    queue: VecDeque<u32>,
    /// The depth that runs.
    running: Option<u32>,
    measured: Vec<(u32, f64)>,
    /// Latencies that are asked about and that no load has come to.
    open: Vec<LatencyGoal>,
    part: Part,
    /// Rounds of depths that were not known well.
    tightened: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Doubling,
    Refining,
    Repeating,
    Tightening,
    Done,
}

impl CurveSearch {
    /// From depth 1 to `depth_max`, each depth `replicates` times; `seed` is for their order.
    pub fn new(depth_max: u32, replicates: u32, seed: u64) -> Self {
        Self {
            depth_min: 1,
            depth_max: depth_max.max(1),
            replicates: replicates.max(1),
            random: fastrand::Rng::with_seed(seed),
            queue: VecDeque::from([1]),
            running: None,
            measured: Vec::new(),
            open: Vec::new(),
            part: Part::Doubling,
            tightened: 0,
        }
    }

    /// Goes on to depths where a percentile exceeds what is asked about it, though more load brings nothing: no law tells of those.
    #[must_use]
    pub fn beyond(mut self, limits: &[LatencyGoal]) -> Self {
        self.open = limits.iter().filter(|limit| limit.quantile.is_some()).copied().collect();
        self
    }

    /// At these depths alone, each `replicates` times.
    pub fn at(depths: &[u32], replicates: u32, seed: u64) -> Self {
        let mut search = Self::new(depths.iter().copied().max().unwrap_or(1), replicates, seed);
        search.depth_min = depths.iter().copied().min().unwrap_or(1).max(1);
        let mut all = depths.to_vec();
        all.sort_unstable();
        all.dedup();
        search.random.shuffle(&mut all);
        search.queue = all.into();
        search.part = Part::Refining;
        search
    }

    pub(super) fn next(&mut self, result: Option<&LoadPoint>) -> Option<Settings> {
        if let (Some(running), Some(result)) = (self.running.take(), result) {
            self.measured.push((running, result.rate));
            self.open.retain(|limit| !result.exceeds(limit));
        }
        while self.queue.is_empty() {
            match self.part {
                Part::Doubling => match self.doubled() {
                    Some(next) => self.queue.push_back(next),
                    None => {
                        self.queue.extend(self.refined());
                        self.part = Part::Refining;
                    }
                },
                Part::Refining => {
                    let again = self.repeated();
                    self.queue.extend(again);
                    self.part = Part::Repeating;
                }
                Part::Repeating | Part::Tightening => {
                    let may_go_on = self.tightened < self.replicates;
                    let loose = if may_go_on { self.loose() } else { Vec::new() };
                    self.part = if loose.is_empty() { Part::Done } else { Part::Tightening };
                    self.tightened += 1;
                    self.queue.extend(loose);
                }
                Part::Done => return None,
            }
        }
        let next = self.queue.pop_front()?;
        self.running = Some(next);
        Some(vec![depth(next)])
    }

    /// The next power of two, unless more load has stopped to bring anything and nothing is asked about loads beyond; but always so
    /// many that loads enough lie below: a single step may have fallen by chance.
    fn doubled(&self) -> Option<u32> {
        // A step that measured nothing gives no reason to load more.
        let &(last, x) = self.measured.last()?;
        let best = self.measured.iter().map(|(_, x)| *x).fold(0.0, f64::max);
        let gains = |pair: &[(u32, f64)]| pair[1].1 / pair[0].1 - 1.0;
        let flat = self.measured.windows(2).rev().take(2).filter(|pair| gains(pair) < GAIN_MIN).count();
        let is_over = last as usize >= LOADS_MIN && (flat >= 2 || x < (1.0 - FALL_MAX) * best);
        let goes_on = last < self.depth_max && (!is_over || x > 0.0 && !self.open.is_empty());
        goes_on.then(|| (last * 2).min(self.depth_max))
    }

    /// Depths where the laws say that something happens, then the middles of the widest gaps until there are enough.
    fn refined(&self) -> Vec<u32> {
        let Some(largest) = self.measured.iter().map(|(depth, _)| *depth).max() else { return Vec::new() };
        let points: Vec<Point> = self
            .measured
            .iter()
            .filter(|(_, x)| *x > 0.0)
            .map(|&(n, x)| Point { n: f64::from(n), x })
            .collect();
        let answers = scaling::answers(&points, None, Weighting::Relative, &[], 0);
        let mut wanted: Vec<f64> = Vec::new();
        wanted.extend(answers.knee.map(|knee| knee.value));
        wanted.extend(answers.n_at_95_percent.map(|n| n.value));
        if answers.peak.is_of_law {
            wanted.extend([answers.peak.n.value, answers.peak.n.value * 1.4]);
        }
        let mut known: Vec<u32> = self.measured.iter().map(|(depth, _)| *depth).collect();
        let mut added = Vec::new();
        let mut add = |n: u32, known: &mut Vec<u32>| {
            if added.len() < REFINED_MAX && !known.contains(&n) {
                known.push(n);
                known.sort_unstable();
                added.push(n);
            }
        };
        for n in wanted.into_iter().filter(|n| *n >= 1.0 && *n <= f64::from(largest)) {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "between 1 and the largest depth"
            )]
            add(n.round() as u32, &mut known);
        }
        while known.len() < LOADS_MIN {
            // Geometric: what matters of a depth is how many times more it is.
            let widest = known.windows(2).filter(|pair| pair[1] - pair[0] > 1).max_by(|a, b| {
                let ratio = |pair: &[u32]| f64::from(pair[1]) / f64::from(pair[0]);
                ratio(a).total_cmp(&ratio(b))
            });
            let Some(&[low, high]) = widest else { break };
            let before = known.len();
            add((low * high).isqrt().clamp(low + 1, high - 1), &mut known);
            if known.len() == before {
                break;
            }
        }
        added
    }

    /// All depths so many times more, shuffled.
    fn repeated(&mut self) -> Vec<u32> {
        let mut depths: Vec<u32> = self.measured.iter().map(|(depth, _)| *depth).collect();
        depths.sort_unstable();
        depths.dedup();
        let mut all: Vec<u32> = Vec::new();
        for _ in 1..self.replicates {
            // Each depth once before any comes again.
            let mut round = depths.clone();
            self.random.shuffle(&mut round);
            all.extend(round);
        }
        all
    }

    /// Depths whose throughput varies too much for what is known of it, shuffled; none where each was measured once.
    fn loose(&mut self) -> Vec<u32> {
        let mut depths: Vec<u32> = self.measured.iter().map(|(depth, _)| *depth).collect();
        depths.sort_unstable();
        depths.dedup();
        depths.retain(|depth| {
            let own = self.measured.iter().filter(|(known, _)| known == depth);
            let sample = Sample::of(&own.map(|(_, x)| *x).collect::<Vec<_>>());
            sample.half_width(0.95).is_some_and(|half| half > HALF_WIDTH_MAX * sample.mean)
        });
        self.random.shuffle(&mut depths);
        depths
    }

    pub(super) fn extremes(&self) -> Vec<Settings> {
        vec![vec![depth(self.depth_min)], vec![depth(self.depth_max)]]
    }

    /// Only known before the first step, where all depths are found on the way.
    pub(super) fn steps_max(&self) -> Option<usize> {
        if self.part != Part::Doubling {
            return None;
        }
        let doublings = self.depth_max.next_power_of_two().ilog2() as usize + 1;
        let depths = (doublings + REFINED_MAX).min(self.depth_max as usize);
        // What was measured once has no interval that could be too wide.
        let rounds = if self.replicates > 1 { 2 * self.replicates } else { 1 };
        Some(depths * rounds as usize)
    }

    pub(super) fn steps_hint(&self) -> usize {
        let doublings = self.depth_max.ilog2() as usize + 1;
        let depths = if self.part == Part::Doubling { doublings + 2 } else { self.queue.len() };
        let about = depths * self.replicates as usize;
        self.steps_max().map_or(about, |most| about.min(most))
    }
}
