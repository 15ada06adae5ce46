//! How often single runs of one queue are told apart: what waits there comes and goes in bouts, which a run has few of, and what one
//! had more of by chance is no change.

use super::super::{Verdict, compare};
use crate::sample::{StreamShape, record};
use fathom_metrics::{bucket_of, merge_tally};
use fathom_schema::{LatencyTally, Moments, OperationKind, Record, StreamTally};
use std::collections::BTreeMap;

/// Operations per second that the server does.
const SERVED: f64 = 1000.0;
/// Comparisons of each case; of one in twenty that are wrong, four are 2.1 standard errors above.
const COMPARISONS: u64 = 30;

/// M/M/1 at a share of what it does, for so many seconds, after it has come to rest (Lindley 1952).
fn queue(share: f64, seconds: u64, random: &mut fastrand::Rng) -> Record {
    let exponential = |random: &mut fastrand::Rng, rate: f64| -(1.0 - random.f64()).ln() / rate;
    // 25 of its relaxation times, of 4/μ(1 − ρ)².
    let before = 100.0 / (SERVED * (1.0 - share).powi(2));
    let (mut at, mut waits) = (-before, 0.0_f64);
    let mut latencies: Vec<Vec<f64>> = vec![Vec::new(); usize::try_from(seconds).expect("few")];
    while at < seconds as f64 {
        let takes = waits + exponential(random, SERVED);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a second of the run, or past its end"
        )]
        if at >= 0.0
            && let Some(of_second) = latencies.get_mut(at as usize)
        {
            of_second.push(takes);
        }
        let gap = exponential(random, share * SERVED);
        at += gap;
        waits = (takes - gap).max(0.0);
    }
    let mut made = record(&[StreamShape {
        rates: vec![(OperationKind::Read, 1000)],
        seconds,
        ..StreamShape::default()
    }]);
    let mut all = StreamTally::default();
    for (interval, latencies) in made.steps[0].intervals.iter_mut().zip(&latencies) {
        let kind = &mut interval.tally.kinds[0];
        kind.operations = latencies.len() as u64;
        kind.service = tally(latencies);
        merge_tally(&mut all, &interval.tally);
    }
    made.steps[0].finished.as_mut().expect("it ended").streams[0].workers[0].tally = all;
    made
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "nanoseconds of a constructed queue"
)]
fn tally(latencies_s: &[f64]) -> LatencyTally {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    let mut moments = Moments::default();
    for latency in latencies_s {
        let ns = latency * 1e9;
        *counts.entry(bucket_of(ns as u64) as u32).or_default() += 1;
        moments.merge(&Moments {
            count: 1,
            min_ns: ns as u64,
            max_ns: ns as u64,
            sum_ns: ns,
            sum_squares: ns * ns,
        });
    }
    LatencyTally { moments, histogram: counts.into_iter().collect() }
}

/// Of so many comparisons of single runs of queues at two shares those that end in a loss or a gain, and those that tell a loss.
fn told(shares: (f64, f64), seconds: u64, comparisons: u64) -> (u64, u64) {
    let (mut told, mut lost) = (0, 0);
    for seed in 0..comparisons {
        let mut random = fastrand::Rng::with_seed(seed);
        let base = queue(shares.0, seconds, &mut random);
        let new = queue(shares.1, seconds, &mut random);
        let found = compare(&[&base], &[&new], 0.03).expect("they have a step in common");
        told += u64::from(matches!(found.verdict, Verdict::Regressed | Verdict::Improved));
        lost += u64::from(found.verdict == Verdict::Regressed);
    }
    (told, lost)
}

#[test]
fn bouts_of_waiting_are_no_change() {
    for (share, seconds) in [(0.95, 30), (0.98, 60), (0.99, 60)] {
        let (told, _) = told((share, share), seconds, COMPARISONS);
        assert!(told <= 4, "{share} of what is done, {seconds} s: {told} of {COMPARISONS}");
    }
}

#[test]
fn a_queue_that_is_far_longer_is_found_by_single_runs() {
    for (shares, seconds) in [((0.5, 0.9), 20), ((0.8, 0.95), 60)] {
        let (told, lost) = told(shares, seconds, COMPARISONS);
        assert!(
            told == lost && lost * 10 >= COMPARISONS * 8,
            "{shares:?}, {seconds} s: {lost} of {COMPARISONS}"
        );
    }
}
