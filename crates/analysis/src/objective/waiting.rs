//! Whether trials are long enough for what waits in a queue: it comes and goes in bouts, of which a short trial has none or a
//! single one, and what a trial shows by itself says nothing of that.

use super::is_same;
use super::near_full::in_common;
use crate::load::LoadPoint;
use crate::statistics::{Sample, autocorrelation};
use fathom_schema::{LatencyGoal, Phase, Record, StepRecord};
use fathom_units::{Iops, Nanos};
use std::collections::BTreeMap;

/// Bouts of waiting that a trial has at least to show how they differ: of fewer the largest decides.
const BOUTS_MIN: f64 = 10.0;
/// Bouts in which a queue comes to rest.
const RELAXATION_BOUTS: f64 = 4.0;
/// Part of a limit that waiting has to bring for it to be the queue that breaks it.
const OF_QUEUE_MIN: f64 = 2.0 / 3.0;

/// What waits in a queue at a rate.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    /// Operations per second.
    rate: f64,
    /// How many queues they go to.
    queues: f64,
    /// How long they wait on average, seconds.
    wait_s: f64,
}

impl Waiting {
    /// How long a bout of waiting lasts, seconds: a queue of mean wait W comes back from a high level within λ·W², four times
    /// of which ([`RELAXATION_BOUTS`]) is its relaxation time (M/M/1: 1/(μ·(1 − √ρ)²), Cohen 1982).
    fn bout_s(self) -> f64 {
        self.rate / self.queues * self.wait_s * self.wait_s
    }

    /// Seconds that a trial takes to have enough of the bouts that decide what a goal is about.
    fn takes_s(self, goal: &LatencyGoal) -> f64 {
        let share = goal.quantile.map_or(1.0 / RELAXATION_BOUTS, |q| 1.0 - q);
        BOUTS_MIN * self.bout_s() / self.queues / share
    }

    /// Whether it is the queue that breaks a goal, or comes near to it.
    fn decides(self, goal: &LatencyGoal) -> bool {
        // An exponential tail has it there.
        let reach_s = self.wait_s * goal.quantile.map_or(1.0, |q| -(1.0 - q).ln());
        reach_s >= OF_QUEUE_MIN * goal.limit.as_secs_f64()
    }
}

/// By how much what a queue remembers widens the variance of what a goal is about, where a step is too short to show it; else 1.
/// `queues`: how many the operations go to; `alone_s`: what an operation alone takes.
pub(super) fn inflation(point: &LoadPoint, queues: f64, goal: &LatencyGoal, alone_s: f64) -> f64 {
    let moments = &point.response.moments;
    let waiting = Waiting { rate: point.rate, queues, wait_s: (point.mean_s - alone_s).max(0.0) };
    if moments.count as f64 / point.rate >= waiting.takes_s(goal) {
        return 1.0;
    }
    in_common(waiting.rate / queues, waiting.wait_s)
}

/// Whether what waits comes to rest within a trial: ten relaxation times last as long as it at most. One that is shorter begins with
/// an empty queue and ends before it has filled, so that what it shows is too little, and the same of others like it.
pub(super) fn comes_to_rest(point: &LoadPoint, queues: f64, alone_s: f64) -> bool {
    let waiting = Waiting { rate: point.rate, queues, wait_s: (point.mean_s - alone_s).max(0.0) };
    let lasts_s = point.response.moments.count as f64 / point.rate;
    lasts_s >= BOUTS_MIN * RELAXATION_BOUTS * waiting.bout_s()
}

/// How long trials of a rate would have to last, in seconds, where they have few of the bouts in which operations wait beyond a
/// limit, and what is to be said then: whether they kept it may be luck, and within a trial nobody sees it.
pub(super) fn few_bouts(
    points: &[&LoadPoint],
    queues: f64,
    alone_s: f64,
    goals: &[LatencyGoal],
) -> Option<(f64, String)> {
    let mean =
        |of: fn(&LoadPoint) -> f64| points.iter().map(|point| of(point)).sum::<f64>() / points.len() as f64;
    let wait_s = (mean(|point| point.mean_s) - alone_s).max(0.0);
    let waiting = Waiting { rate: mean(|point| point.rate), queues, wait_s };
    let lasts_s = mean(|point| point.response.moments.count as f64 / point.rate);
    let takes = |goal: &LatencyGoal| if waiting.decides(goal) { waiting.takes_s(goal) } else { 0.0 };
    let goal = goals.iter().max_by(|a, b| takes(a).total_cmp(&takes(b)))?;
    let takes_s = takes(goal).ceil();
    let told = || {
        format!(
            "at {}/s operations wait in bouts of about {}, too few of which fall into a trial of {} for what {} is over a longer \
             time: whether a trial keeps {goal} may be luck; let each last {} for ten bouts beyond it",
            Iops(waiting.rate),
            time(waiting.bout_s()),
            time(lasts_s),
            goal.statistic(),
            time(takes_s)
        )
    };
    (takes_s > lasts_s).then(|| (takes_s, told()))
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
pub(super) fn wandering(record: &Record, rate: f64) -> Option<String> {
    let is_of_it =
        |step: &&StepRecord| crate::load::rate(&step.started.step).is_some_and(|own| is_same(own, rate));
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

fn time(seconds: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most the time that a trial takes"
    )]
    Nanos((seconds * 1e9) as u64).approximate()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{StreamShape, record};
    use fathom_schema::{Arrival, Backlog, LatencyTally, Moments, Pacing};

    /// M/M/1 that does 1000 operations per second, at a rate for so many seconds.
    fn queue(rate: f64, seconds: f64) -> LoadPoint {
        let (mean_s, n) = (1.0 / (1000.0 - rate), rate * seconds);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let moments = Moments {
            count: n as u64,
            sum_ns: n * mean_s * 1e9,
            sum_squares: 2.0 * n * (mean_s * 1e9).powi(2),
            ..Moments::default()
        };
        let response = LatencyTally { moments, ..LatencyTally::default() };
        LoadPoint {
            held: rate * mean_s,
            rate,
            mean_s,
            response,
            bytes_per_s: 0.0,
            errors: 0,
            offered: rate,
            dropped: 0,
            backlog_max: 1,
            stopped_s: 0.0,
        }
    }

    #[test]
    fn a_trial_of_few_bouts_is_told_how_long_it_takes() {
        // At 900/s operations wait 9 ms on average, in bouts of 900 · 0.009² = 73 ms: ten of them beyond a p99 come in 73 s.
        let of = |rate: f64, seconds: f64, goal: &str| {
            let point = queue(rate, seconds);
            few_bouts(&[&point, &point], 1.0, 1e-3, &[goal.parse().expect("a goal")])
        };
        let (takes_s, told) = of(900.0, 10.0, "p99<46ms").expect("a trial has one or two");
        assert!(
            takes_s == 73.0 && told.contains("bouts of about 72.9 ms") && told.contains("last 73.0 s"),
            "{told}"
        );
        assert_eq!(of(900.0, 80.0, "p99<46ms"), None);
        // A mean takes ten relaxation times of four bouts.
        assert!(of(900.0, 2.0, "mean<10ms").is_some());
        assert_eq!(of(900.0, 4.0, "mean<10ms"), None);
        // Where it is not waiting that brings operations near the limit, none of this counts; nor at a rate that leaves room.
        assert_eq!(of(900.0, 10.0, "p99<1s"), None);
        assert_eq!(of(850.0, 10.0, "p99<50ms"), None, "p99 is 31 ms there");
        assert_eq!(of(300.0, 10.0, "p99<10ms"), None);
        // Of four such queues beside one another, a trial has four times as many.
        let four = LoadPoint { rate: 3600.0, ..queue(900.0, 40.0) };
        let few = few_bouts(&[&four], 4.0, 1e-3, &["p99<46ms".parse().expect("a goal")]);
        assert_eq!(few.map(|few| few.0), Some(19.0));
        assert_eq!(few_bouts(&[], 1.0, 1e-3, &["p99<1ms".parse().expect("a goal")]), None);
    }

    #[test]
    fn a_queue_comes_to_rest_in_ten_relaxation_times() {
        // At 950/s operations wait 19 ms: 950 · 0.019² · 4 · 10 s.
        let rests = |seconds: f64| comes_to_rest(&queue(950.0, seconds), 1.0, 1e-3);
        assert!(!rests(13.0) && rests(14.0));
        assert!(comes_to_rest(&queue(300.0, 0.1), 1.0, 1e-3), "hardly anything waits");
        // Of four beside one another each is as full as one.
        let four = LoadPoint { rate: 3800.0, ..queue(950.0, 4.0 * 13.0) };
        assert!(!comes_to_rest(&four, 4.0, 1e-3));
    }

    #[test]
    fn the_memory_of_a_queue_counts_where_a_trial_is_too_short_to_show_it() {
        let of = |seconds: f64, goal: &str| {
            inflation(&queue(900.0, seconds), 1.0, &goal.parse().expect("a goal"), 1e-3)
        };
        // Load 0.9: 0.9 · (2 + 4.5 − 3.24 + 0.729) / 0.1² + 0.1² + 3.6.
        assert!((of(10.0, "p99<46ms") - 362.6).abs() < 0.1, "{}", of(10.0, "p99<46ms"));
        assert!((of(2.0, "mean<10ms") - 362.6).abs() < 0.1, "{}", of(2.0, "mean<10ms"));
        let four = LoadPoint { rate: 3600.0, ..queue(900.0, 40.0) };
        let each = inflation(&four, 4.0, &"p99<46ms".parse().expect("a goal"), 1e-3);
        assert!((each - of(10.0, "p99<46ms")).abs() < 1e-9, "what of one queue waits together: {each}");
        assert_eq!((of(80.0, "p99<46ms"), of(4.0, "mean<10ms")), (1.0, 1.0));
    }

    /// A backlog that is another one each second is that of a queue which comes to rest; one that grows, or walks at random, has
    /// not been seen whole.
    #[test]
    fn a_queue_that_does_not_come_to_rest_is_told() {
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
}
