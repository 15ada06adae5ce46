//! How surely a limit is kept or broken: 95 % intervals of what goals are about. They allow for the memory of a step, since
//! operations that follow one another resemble one another: the larger interval counts of that of independent operations
//! and that of stretches of time.

use super::Trialled;
use super::near_idle::Share;
use crate::load::LoadPoint;
use crate::statistics::{rank_bounds, subsessions, t_quantile};
use fathom_metrics::{Latency, bucket_of};
use fathom_schema::{Interval, LatencyGoal, OperationKind, Phase, StepRecord};

/// Whether what a goal is about is above its limit beyond chance: so is the lower end of its 95 % interval. `inflation`: how much
/// larger the variance is than that of independent operations, 1 at least.
pub fn breaks_clearly(point: &LoadPoint, goal: &LatencyGoal, inflation: f64) -> bool {
    exceeds_clearly(point, goal.quantile, goal.limit.as_secs_f64(), inflation)
}

/// As [`breaks_clearly`], of a limit in seconds.
pub(crate) fn exceeds_clearly(
    point: &LoadPoint,
    quantile: Option<f64>,
    limit_s: f64,
    inflation: f64,
) -> bool {
    bounds_s(point, quantile, inflation).0 > limit_s
}

/// What a goal is about with its 95 % interval, seconds. Where there are too few operations for an end, it is 0 or infinite: two
/// hundred show that a p99 is above a limit, and never that it is below one.
pub(super) fn interval_s(point: &LoadPoint, goal: &LatencyGoal, inflation: f64) -> (f64, f64) {
    bounds_s(point, goal.quantile, inflation)
}

fn bounds_s(point: &LoadPoint, quantile: Option<f64>, inflation: f64) -> (f64, f64) {
    let moments = &point.response.moments;
    let count = moments.count;
    match quantile {
        None if count < 2 => (0.0, f64::INFINITY),
        None => {
            let error = moments.stddev_ns() * (inflation / count as f64).sqrt() / 1e9;
            let half = t_quantile(0.95, count as f64 - 1.0) * error;
            ((point.mean_s - half).max(0.0), point.mean_s + half)
        }
        Some(q) => {
            let (low, high) = rank_bounds(q, count, inflation);
            let latency = Latency::from(&point.response);
            let at = |rank: u64| Some(latency.quantile(rank as f64 / count as f64)? as f64 / 1e9);
            (low.and_then(at).unwrap_or(0.0), high.and_then(at).unwrap_or(f64::INFINITY))
        }
    }
}

/// What a rate has beyond a goal, weighed by the inverse of its variance: of a percentile the share of operations that take longer than
/// its limit, of the mean the mean itself, in seconds.
pub(super) fn beyond(point: &LoadPoint, goal: &LatencyGoal) -> Trialled {
    let moments = &point.response.moments;
    let count = (moments.count as f64).max(1.0);
    let (y, variance) = match goal.quantile {
        None => (point.mean_s, (moments.stddev_ns() / 1e9).powi(2)),
        Some(_) => {
            let Share { part, .. } = Share::within(point.rate, &point.response, goal.limit);
            // Of none, or of all, the variance is not none: that of one in so many.
            let least = 1.0 / count;
            (1.0 - part, (part * (1.0 - part)).max(least * (1.0 - least)))
        }
    };
    // Operations that take all the same time have no variance: a millionth is no matter.
    let least = (y * 1e-6).powi(2).max(f64::MIN_POSITIVE);
    Trialled { x: point.rate, y, weight: count / variance.max(least) }
}

/// By how much the variance of what a goal is about exceeds that of as many independent operations, 1 at least: from how far
/// the intervals of a step lie off together, as many at once as it takes until neighbours do not resemble one another
/// (Ferrari's subsessions), with Student's t for their number. Of a percentile it is the share of operations up to it that lies
/// off: far from it, at the limit, hardly any would show anything. 1 where there are too few intervals to tell.
pub(super) fn inflation(step: &StepRecord, point: &LoadPoint, goal: &LatencyGoal) -> f64 {
    inflation_of(step, point, goal.quantile.and_then(|q| last_below(point, q)))
}

/// The last bucket of those whose share of operations is nearest to a quantile, and not all: where many take the same time, that may
/// be the one below it. `None` of no operations.
fn last_below(point: &LoadPoint, q: f64) -> Option<usize> {
    let at = bucket_of(Latency::quantile_of(&point.response, q)?);
    let count = |is_meant: &dyn Fn(usize) -> bool| {
        let buckets = point.response.histogram.buckets();
        buckets.filter(|(bucket, _)| is_meant(*bucket as usize)).map(|(_, count)| count as f64).sum::<f64>()
    };
    let (below, own, all) = (count(&|bucket| bucket < at), count(&|bucket| bucket == at), count(&|_| true));
    // Of all of them nothing lies off.
    let is_nearer = q * all - below < below + own - q * all || below + own >= all;
    Some(if is_nearer && below > 0.0 { at - 1 } else { at })
}

/// The same of the share of operations within a percentile's limit.
pub(super) fn inflation_within(step: &StepRecord, point: &LoadPoint, goal: &LatencyGoal) -> f64 {
    inflation_of(step, point, goal.quantile.map(|_| bucket_of(goal.limit.0)))
}

/// Of the share of operations up to a bucket of their latency, or of the mean.
fn inflation_of(step: &StepRecord, point: &LoadPoint, last: Option<usize>) -> f64 {
    let parts = by_interval(step, last);
    let (operations, all) = parts.iter().fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    let figure = all / operations;
    // Of one operation: that of a share, or of the latency itself.
    let variance = match last {
        None => point.response.moments.stddev_ns().powi(2),
        Some(_) => figure * (1.0 - figure),
    };
    // How far each interval's sum lies off what its operations should have by the figure of all of them.
    let off: Vec<f64> = parts.iter().map(|(operations, sum)| sum - figure * operations).collect();
    let Some(found) = subsessions(&off) else { return 1.0 };
    let freedom = found.sample.count.saturating_sub(1).max(1) as f64;
    let widened = (t_quantile(0.95, freedom) / t_quantile(0.95, operations)).powi(2);
    // Subsessions hold means of so many intervals; all intervals together lie off by the sum of theirs.
    let together = found.sample.variance * found.length as f64 * off.len() as f64;
    let factor = widened * together / (variance * operations);
    if factor.is_finite() { factor.max(1.0) } else { 1.0 }
}

/// Operations of each measured interval, with the sum of their latencies in nanoseconds, or how many lie up to a bucket of their
/// latency.
fn by_interval(step: &StepRecord, last: Option<usize>) -> Vec<(f64, f64)> {
    let is_meant = |interval: &&Interval| {
        interval.phase == Phase::Measure && step.started.step.adds_up(interval.stream as usize)
    };
    let mut measured: Vec<&Interval> = step.intervals.iter().filter(is_meant).collect();
    measured.sort_by_key(|interval| interval.sequence);
    let of = |group: &[&Interval]| {
        let kinds = group.iter().flat_map(|interval| &interval.tally.kinds);
        kinds.filter(|kind| kind.kind != OperationKind::Sync).fold((0.0, 0.0), |(operations, sum), kind| {
            let latency = kind.response.as_ref().unwrap_or(&kind.service);
            let added = match last {
                None => latency.moments.sum_ns,
                Some(last) => {
                    let buckets = latency.histogram.buckets();
                    buckets
                        .filter(|(bucket, _)| *bucket as usize <= last)
                        .map(|(_, count)| count as f64)
                        .sum()
                }
            };
            (operations + latency.moments.count as f64, sum + added)
        })
    };
    measured.chunk_by(|a, b| a.sequence == b.sequence).map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::{State, objective};
    use crate::sample::{StreamShape, push, record};
    use fathom_metrics::merge_sparse;
    use fathom_schema::{Arrival, Backlog, LatencyTally, Moments, Pacing, Record, SparseHistogram};

    const MS: u64 = 1_000_000;

    /// So many operations of so many nanoseconds each.
    fn tally(parts: &[(u64, u64)]) -> LatencyTally {
        let mut tally = LatencyTally::default();
        for &(count, ns) in parts.iter().filter(|(count, _)| *count > 0) {
            let (n, each) = (count as f64, ns as f64);
            let sums =
                Moments { count, min_ns: ns, max_ns: ns, sum_ns: each * n, sum_squares: each * each * n };
            tally.moments.merge(&sums);
            let index = u32::try_from(bucket_of(ns)).expect("bucket indices are small");
            merge_sparse(&mut tally.histogram, &SparseHistogram::from_iter([(index, count)]));
        }
        tally
    }

    /// Adds a step of a minute to a record, at a rate or with one operation at a time, of which each second takes what is said.
    fn add(record: &mut Record, rate: Option<u64>, second: impl Fn(u64) -> LatencyTally) {
        let index = u32::try_from(record.steps.len()).expect("few steps");
        let pacing = rate.map(|rate| Pacing::Open {
            rate: rate as f64,
            arrival: Arrival::Poisson,
            course: Vec::new(),
            backlog: Backlog::Keep,
        });
        let shape = StreamShape {
            rates: vec![(OperationKind::Read, second(0).moments.count)],
            queue_depth: 1,
            seconds: 60,
            pacing: pacing.unwrap_or(StreamShape::default().pacing),
            ..StreamShape::default()
        };
        push(record, &[shape], index);
        let step = record.steps.last_mut().expect("it was added");
        let mut all = LatencyTally::default();
        for interval in &mut step.intervals {
            let one = second(interval.sequence);
            all.moments.merge(&one.moments);
            merge_sparse(&mut all.histogram, &one.histogram);
            let kind = &mut interval.tally.kinds[0];
            (kind.service, kind.response) = (one.clone(), rate.map(|_| one));
        }
        let worker = &mut step.finished.as_mut().expect("it has an end").streams[0].workers[0];
        let kind = &mut worker.tally.kinds[0];
        (kind.service, kind.response) = (all.clone(), rate.map(|_| all));
    }

    fn empty() -> Record {
        let mut record = record(&[StreamShape::default()]);
        record.steps.clear();
        record
    }

    #[test]
    fn bursts_tell_less_than_as_many_even_operations() {
        // Every eighth operation takes 10 ms: in each second, or all of eight seconds in a row.
        let even = |_: u64| tally(&[(700, MS), (100, 10 * MS)]);
        let burst = |at: u64| tally(&if (20..28).contains(&at) { [(800, 10 * MS)] } else { [(800, MS)] });
        for goal in ["p90<5ms", "mean<2ms"] {
            let goal: LatencyGoal = goal.parse().expect("a goal");
            let of = |second: &dyn Fn(u64) -> LatencyTally| {
                let mut record = empty();
                add(&mut record, Some(800), second);
                let step = &record.steps[0];
                let streams = &step.finished.as_ref().expect("it has an end").streams;
                let point = LoadPoint::of(&step.started.step, streams).expect("it measured");
                assert!(point.exceeds(&goal) && breaks_clearly(&point, &goal, 1.0), "{goal}");
                let inflation = inflation(step, &point, &goal);
                (inflation, breaks_clearly(&point, &goal, inflation))
            };
            assert_eq!(of(&even), (1.0, true), "{goal}");
            let (found, is_clear) = of(&burst);
            assert!(found > 100.0 && !is_clear, "{goal}: {found}");
        }
        // A limit that is far off says nothing of how well a percentile is known.
        let inflated = |limit: &str| {
            let mut record = empty();
            add(&mut record, Some(800), burst);
            let step = &record.steps[0];
            let streams = &step.finished.as_ref().expect("it has an end").streams;
            let point = LoadPoint::of(&step.started.step, streams).expect("it measured");
            inflation(step, &point, &limit.parse().expect("a goal"))
        };
        assert_eq!(inflated("p90<5ms"), inflated("p90<1s"));
        // Nor does one that is all of the slow ones'.
        assert!(inflated("p99<5ms") > 100.0, "{}", inflated("p99<5ms"));
    }

    /// Two of three trials of the lowest rate keep the limit, as it may be by chance: whichever of them the third is.
    #[test]
    fn a_rate_that_one_of_its_trials_misses_is_not_said_to_be_too_much() {
        let goal: LatencyGoal = "p99.9<15ms".parse().expect("a goal");
        for missed in 0..3 {
            let mut record = empty();
            add(&mut record, None, |_| tally(&[(1000, MS)]));
            for trial in 0..3 {
                let slow = if trial == missed { 16 } else { 11 };
                add(&mut record, Some(450), |at| {
                    tally(&[(449, 2 * MS), (u64::from(at % 2 == 0), slow * MS)])
                });
            }
            let found = objective(&record, None, &[goal]).expect("rates were tried");
            assert_eq!(found.state, State::Undecided, "{missed}: {found:?}");
        }
    }

    #[test]
    fn few_operations_show_that_a_limit_is_broken_and_never_that_it_is_kept() {
        let goal: LatencyGoal = "p99<5ms".parse().expect("a goal");
        let of = |parts: &[(u64, u64)]| {
            let mut record = empty();
            add(&mut record, Some(1), |at| tally(if at == 0 { parts } else { &[] }));
            let step = &record.steps[0];
            let streams = &step.finished.as_ref().expect("it has an end").streams;
            let point = LoadPoint::of(&step.started.step, streams).expect("it measured");
            (breaks_clearly(&point, &goal, 1.0), interval_s(&point, &goal, 1.0).1)
        };
        // Of 200 the 195th is the lower end for p99, and there is no upper one.
        assert_eq!(of(&[(194, MS), (6, 20 * MS)]), (true, f64::INFINITY));
        assert_eq!(of(&[(195, MS), (5, 20 * MS)]), (false, f64::INFINITY));
        let (is_clear, high) = of(&[(368, MS)]);
        assert!(!is_clear && (high - 0.001).abs() < 1e-5, "{high}");
    }

    /// A device that sleeps when it is idle: one operation at a time keeps it awake, with a p99 of 3 ms; at low rates each one
    /// takes 20 ms.
    #[test]
    fn what_low_rates_break_clearly_is_not_met_though_one_operation_alone_keeps_it() {
        let mut record = empty();
        add(&mut record, None, |_| tally(&[(480, 2 * MS), (20, 3 * MS)]));
        for rate in [4, 8, 100, 200] {
            add(&mut record, Some(rate), |_| tally(&[(rate, 20 * MS)]));
        }
        let goals: Vec<LatencyGoal> =
            ["p99<5ms", "mean<1s"].map(|goal| goal.parse().expect("a goal")).to_vec();
        let found = objective(&record, None, &goals).expect("rates were tried");
        assert_eq!((found.state, found.undecided, found.alone), (State::NotMet, None, None));
        // 4/s make 240 operations: no interval with both ends, and clear all the same.
        assert_eq!(found.trials[0].intervals_s[0].1, f64::INFINITY);
        // Where every second of low rates is like any other but for chance, nobody can tell.
        record.steps.truncate(1);
        for rate in [4, 8] {
            add(&mut record, Some(rate), |at| {
                tally(&[(rate - u64::from(at % 15 == 0), 2 * MS), (u64::from(at % 15 == 0), 6 * MS)])
            });
        }
        let found = objective(&record, None, &goals).expect("rates were tried");
        let undecided = found.undecided.expect("4 of 240 and of 480 beyond a p99 are chance");
        assert_eq!((found.state, undecided.goal, undecided.is_alone), (State::Undecided, goals[0], false));
        assert_eq!(undecided.lowest, 4.0);
        // One trial alone breaks a limit by chance in one case of forty.
        record.steps.truncate(1);
        add(&mut record, Some(8), |_| tally(&[(8, 20 * MS)]));
        let found = objective(&record, None, &goals).expect("a rate was tried");
        assert_eq!(found.state, State::Undecided, "{found:?}");
    }

    /// A minute in which half of all operations take 120 ms: they wait in bouts of 900 · 0.0595² = 3.2 s, of which it has few.
    #[test]
    fn what_is_broken_beyond_all_that_a_queue_remembers_is_no_luck() {
        let of = |goal: &str| {
            let mut record = empty();
            add(&mut record, None, |_| tally(&[(1000, MS)]));
            add(&mut record, Some(900), |_| tally(&[(450, MS), (450, 120 * MS)]));
            objective(&record, Some(900.0), &[goal.parse().expect("a goal")]).expect("a rate was tried")
        };
        let luck = of("mean<60ms");
        assert!(luck.state == State::NotMet && luck.trials_take_s.is_some(), "{luck:?}");
        let clear = of("mean<1ms");
        assert!(clear.state == State::NotMet && clear.trials_take_s.is_none(), "{clear:?}");
    }

    #[test]
    fn the_limit_in_question_is_one_that_a_trial_broke() {
        let mut record = empty();
        // An operation alone comes nearest to the limit of the mean, which all keep.
        add(&mut record, None, |_| tally(&[(995, 4 * MS), (5, 6 * MS)]));
        // Of 3000 and of 6000, 33 and 66 are slow, where 30 and 60 may be.
        for rate in [50, 100] {
            let slow =
                |at: u64| rate / 100 + u64::from(at.is_multiple_of(1000 / rate) || rate == 50 && at % 2 == 1);
            add(&mut record, Some(rate), |at| tally(&[(rate - slow(at), 4 * MS), (slow(at), 6 * MS)]));
        }
        let goals: Vec<LatencyGoal> =
            ["mean<4.1ms", "p99<5.1ms"].map(|goal| goal.parse().expect("a goal")).to_vec();
        let found = objective(&record, None, &goals).expect("rates were tried");
        let undecided = found.undecided.expect("three and six too many are chance");
        assert_eq!(undecided.goal, goals[1], "{found:?}");
    }
}
