//! How often percentiles are told apart that are alike, where the buckets that latencies are counted in are about as wide as
//! what differs, or far wider: several runs then have the same figure to the last digit.

use super::super::{Metric, Replicates, Verdict, compare};
use crate::sample::{StreamShape, normal, record};
use fathom_metrics::{bucket_bounds, bucket_of, merge_tally};
use fathom_schema::{OperationKind, Record, StreamTally};

/// Comparisons of each case.
const COMPARISONS: u64 = 400;
/// The level of one of two statements that hold together with 95 %.
const LEVEL: f64 = 0.975;
/// Standard errors by which a count may be off.
const ERRORS: f64 = 4.0;
/// Operations of an interval.
const OPERATIONS: u64 = 400;

/// A run whose intervals have these latencies: all but a few at it or a little below.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a constructed latency")]
fn of_latencies(latencies_ns: &[f64]) -> Record {
    let mut made = record(&[StreamShape {
        rates: vec![(OperationKind::Read, OPERATIONS)],
        seconds: latencies_ns.len() as u64,
        ..StreamShape::default()
    }]);
    let mut all = StreamTally::default();
    for (interval, latency_ns) in made.steps[0].intervals.iter_mut().zip(latencies_ns) {
        let mut counts: Vec<(u32, u64)> = Vec::new();
        for at in 0..OPERATIONS {
            let bucket = bucket_of((latency_ns * (0.9 + 0.1 * at as f64 / OPERATIONS as f64)) as u64) as u32;
            match counts.last_mut() {
                Some((last, count)) if *last == bucket => *count += 1,
                _ => counts.push((bucket, 1)),
            }
        }
        interval.tally.kinds[0].service.histogram = counts.into_iter().collect();
        merge_tally(&mut all, &interval.tally);
    }
    made.steps[0].finished.as_mut().expect("it ended").streams[0].workers[0].tally = all;
    made
}

/// A run whose p99 is this. `noise`: of its intervals.
fn of_p99(p99_ns: f64, noise: f64, random: &mut fastrand::Rng) -> Record {
    let latencies: Vec<f64> = (0..10).map(|_| p99_ns * (noise * normal(random)).exp()).collect();
    of_latencies(&latencies)
}

fn p99(base: &[Record], new: &[Record], margin: f64) -> Metric {
    let (base, new): (Vec<&Record>, Vec<&Record>) = (base.iter().collect(), new.iter().collect());
    let found = compare(&base, &new, margin).expect("they have a step in common");
    found.steps[0].metrics.iter().find(|one| one.name == "p99").expect("it decides").clone()
}

/// How many of two sides of so many runs each, which are alike, are told apart where any change matters.
fn told_apart(count: usize, noise: f64, comparisons: u64) -> u64 {
    let is_told = |seed: &u64| {
        let mut random = fastrand::Rng::with_seed(*seed);
        // Anywhere in a bucket: near an edge, sides fall into different ones.
        let p99_ns = 1e6 * (0.02 * random.f64()).exp();
        let mut side = || -> Vec<Record> {
            let one = |random: &mut fastrand::Rng| match count {
                1 => of_p99(p99_ns, noise, random),
                // What differs from run to run is in all of its intervals.
                _ => of_p99(p99_ns * (noise * normal(random)).exp(), 0.0, random),
            };
            (0..count).map(|_| one(&mut random)).collect()
        };
        let verdict = p99(&side(), &side(), 0.0).verdict;
        matches!(verdict, Verdict::Regressed | Verdict::Improved)
    };
    (0..comparisons).filter(is_told).count() as u64
}

#[test]
fn percentiles_that_are_alike_are_told_apart_no_more_often_than_stated() {
    // A bucket of about 1 ms is 0.4 % wide. Those of single runs take a thousand resamples each: fewer have to do.
    let cases: [(usize, u64, &[f64]); 3] = [
        (1, 50, &[0.001, 0.02]),
        (2, COMPARISONS, &[0.0002, 0.001, 0.003, 0.01, 0.03]),
        (3, COMPARISONS, &[0.0002, 0.001, 0.003, 0.01, 0.03]),
    ];
    for (count, comparisons, noises) in cases {
        for &noise in noises {
            let told = told_apart(count, noise, comparisons);
            let (share, all) = (1.0 - LEVEL, comparisons as f64);
            let most = all * share + ERRORS * (all * share * LEVEL).sqrt();
            assert!((told as f64) <= most, "{count} runs a side, noise {noise}: {told} of {comparisons}");
        }
    }
}

/// Sides of these p99, a run each, one after the other.
fn sides(base: &[f64], new: &[f64]) -> Metric {
    let side = |all: &[f64]| -> Vec<Record> {
        let run = |(at, &p99_ns): (usize, &f64)| {
            let mut one = of_latencies(&[p99_ns; 10]);
            // Each has seeds of its own: what it did is like another's, but not the same.
            one.steps[0].finished.as_mut().expect("it ended").streams[0].workers[0].tally.kinds[0]
                .operations += at as u64;
            one
        };
        all.iter().enumerate().map(run).collect()
    };
    p99(&side(base), &side(new), 0.03)
}

#[test]
fn runs_in_one_bucket_have_an_interval() {
    // At 1 ms a bucket is 4096 ns wide, w = 0.41 % of it.
    let (low, high) = bucket_bounds(bucket_of(990_000));
    assert_eq!(high - low + 1, 4096);
    let width = |found: &Metric| {
        let (low, high) = found.interval.expect("a percentile that is told has an interval");
        (high.ln_1p() - low.ln_1p()) / 2.0
    };
    let same = sides(&[1e6; 2], &[1e6; 2]);
    assert_eq!((same.change, same.verdict), (0.0, Verdict::Equivalent));
    // t(0.975, 2 degrees) = 6.205; √(2 · w²/12/2) = 0.289 w, and w/2 of either side: √((6.205 · 0.289)² + 1) w = 2.05 w.
    let w = 4096.0 / same.base;
    assert!((width(&same) / w - 2.05).abs() < 0.01, "{} of {w}", width(&same));
    // More runs that all agree say more, but never more than their bucket does.
    let many = sides(&[1e6; 12], &[1e6; 12]);
    assert!(width(&many) < width(&same) && width(&many) >= w, "{} of {w}", width(&many));
    // One run beside them as well.
    let one = sides(&[1e6; 3], &[1e6]);
    assert!(width(&one) > w && one.verdict == Verdict::Equivalent, "{one:?}");
    // What is far beyond that is found, and a little beyond the margin is not.
    assert_eq!(sides(&[1e6; 2], &[1.1e6; 2]).verdict, Verdict::Regressed);
    assert_eq!(sides(&[1e6; 2], &[1.034e6; 2]).verdict, Verdict::Inconclusive);
}

#[test]
fn a_run_that_is_told_again_is_no_further_run() {
    let mut random = fastrand::Rng::with_seed(3);
    let (one, other) = (of_p99(1e6, 0.02, &mut random), of_p99(1.001e6, 0.02, &mut random));
    let interval = |base: &[Record], new: &[Record]| p99(base, new, 0.03).interval.expect("there are ten");
    let alone = interval(std::slice::from_ref(&one), std::slice::from_ref(&other));
    let twice = [vec![one.clone(); 2], vec![other.clone(); 2]];
    assert_eq!(interval(&twice[0], &twice[1]), alone);
    let [base, new]: [Vec<&Record>; 2] = twice.each_ref().map(|side| side.iter().collect());
    let found = compare(&base, &new, 0.03).expect("they have a step in common");
    assert_eq!(found.steps[0].replicates, (Replicates::Intervals, Replicates::Intervals));
    assert!(
        found.remarks.iter().any(|one| one.starts_with("the runs of both sides agree to the last digit")),
        "{:?}",
        found.remarks
    );
}

/// All operations take as long: that is what every percentile is, and not the middle of the bucket in which they are counted.
#[test]
fn no_percentile_is_longer_than_the_longest_operation() {
    let shape =
        StreamShape { rates: vec![(OperationKind::Read, 250)], queue_depth: 1, ..StreamShape::default() };
    let shapes = [shape];
    let (base, new) = (record(&shapes), record(&shapes));
    let found = compare(&[&base], &[&new], 0.05).expect("they have a step in common");
    let longest = base.steps[0].finished.as_ref().expect("it ended").streams[0].workers[0].tally.kinds[0]
        .service
        .moments
        .max_ns as f64;
    let percentiles = found.steps[0].metrics.iter().filter(|metric| metric.name.starts_with('p'));
    assert!(percentiles.clone().count() > 0);
    for metric in percentiles {
        assert!(metric.base <= longest && metric.new <= longest, "{metric:?} and {longest}");
    }
}

/// A run of 50,000 operations that take 200 µs, but for so many that take 2 ms.
#[expect(clippy::cast_possible_truncation, reason = "buckets are few")]
fn of_two(slow: u64) -> Record {
    let mut made = of_latencies(&[1e6]);
    let tally = &mut made.steps[0].finished.as_mut().expect("it ended").streams[0].workers[0].tally;
    let service = &mut tally.kinds[0].service;
    let counts = [(200_000, 50_000 - slow), (2_000_000, slow)];
    service.histogram = counts.into_iter().map(|(ns, count)| (bucket_of(ns) as u32, count)).collect();
    service.moments.max_ns = 2_000_000;
    made
}

#[test]
fn a_percentile_on_a_jump_is_not_told_by_runs_that_lie_on_one_side_of_it() {
    let of = |count: usize, share: f64, random: &mut fastrand::Rng| -> Vec<Record> {
        let (mean, deviation) = (50_000.0 * share, (50_000.0 * share * (1.0 - share)).sqrt());
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let one = |random: &mut fastrand::Rng| of_two((mean + deviation * normal(random)).max(1.0) as u64);
        (0..count).map(|_| one(random)).collect()
    };
    for count in [2, 3, 5] {
        let is_told = |shares: (f64, f64), seed: u64| {
            let mut random = fastrand::Rng::with_seed(seed);
            let verdict =
                p99(&of(count, shares.0, &mut random), &of(count, shares.1, &mut random), 0.03).verdict;
            matches!(verdict, Verdict::Regressed | Verdict::Improved)
        };
        let alike = (0..COMPARISONS).filter(|&seed| is_told((0.010_01, 0.010_01), seed)).count();
        assert!(alike <= 4, "{count} runs a side: {alike} of {COMPARISONS}");
        // Where it lies far on either side, it is plain.
        let other = (0..20).filter(|&seed| is_told((0.005, 0.02), seed)).count();
        assert!(other >= 18, "{count} runs a side: {other} of 20");
    }
}
