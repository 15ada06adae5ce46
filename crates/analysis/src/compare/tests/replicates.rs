//! How often a comparison is wrong, over many seeds: sides that are alike are told apart in one of twenty at most,
//! and a loss of a tenth is found.

use super::super::{Verdict, compare};
use crate::sample::{StreamShape, normal, record};
use fathom_schema::{OperationKind, Record};

const SEEDS: u64 = 200;

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a constructed rate")]
fn noisy(rate: f64, noise: f64, random: &mut fastrand::Rng) -> u64 {
    (rate * (1.0 + noise * normal(random))).round().max(1.0) as u64
}

fn run(rate: u64) -> Record {
    record(&[StreamShape { rates: vec![(OperationKind::Read, rate)], ..StreamShape::default() }])
}

/// A run of a minute whose seconds scatter.
fn scattered(rate: f64, noise: f64, random: &mut fastrand::Rng) -> Record {
    let mut made = record(&[StreamShape {
        rates: vec![(OperationKind::Read, noisy(rate, 0.0, random))],
        seconds: 60,
        ..StreamShape::default()
    }]);
    for interval in &mut made.steps[0].intervals {
        interval.tally.kinds[0].operations = noisy(rate, noise, random);
    }
    made
}

/// Of so many comparisons those that came to each verdict.
fn verdicts(seeds: u64, of: impl Fn(&mut fastrand::Rng) -> (Vec<Record>, Vec<Record>)) -> [u64; 4] {
    let mut counts = [0; 4];
    for seed in 0..seeds {
        let (base, new) = of(&mut fastrand::Rng::with_seed(seed));
        let (base, new): (Vec<&Record>, Vec<&Record>) = (base.iter().collect(), new.iter().collect());
        let verdict = compare(&base, &new, 0.03).expect("they have a step in common").verdict;
        let all = [Verdict::Regressed, Verdict::Improved, Verdict::Equivalent, Verdict::Inconclusive];
        counts[all.iter().position(|one| *one == verdict).expect("it is one of four")] += 1;
    }
    counts
}

#[test]
fn runs_that_are_alike_are_hardly_ever_told_apart() {
    for noise in [0.005, 0.02, 0.1] {
        let side = |random: &mut fastrand::Rng| -> Vec<Record> {
            (0..5).map(|_| run(noisy(10_000.0, noise, random))).collect()
        };
        let [regressed, improved, equivalent, _] = verdicts(SEEDS, |random| (side(random), side(random)));
        assert!(regressed + improved <= SEEDS / 20, "{regressed} and {improved} with {noise}");
        assert!(noise > 0.01 || equivalent >= SEEDS * 9 / 10, "{equivalent} with {noise}");
    }
}

#[test]
fn a_loss_of_a_tenth_is_found() {
    let side = |rate: f64, random: &mut fastrand::Rng| -> Vec<Record> {
        (0..5).map(|_| run(noisy(rate, 0.02, random))).collect()
    };
    let [regressed, improved, ..] = verdicts(SEEDS, |random| (side(10_000.0, random), side(9_000.0, random)));
    assert!(regressed >= SEEDS * 9 / 10 && improved == 0, "{regressed}, {improved}");
    let [regressed, improved, ..] =
        verdicts(SEEDS, |random| (side(10_000.0, random), side(11_000.0, random)));
    assert!(improved >= SEEDS * 9 / 10 && regressed == 0, "{regressed}, {improved}");
}

/// Each is a thousand resamples: fewer have to do.
#[test]
fn intervals_of_single_runs_that_are_alike_do_not_differ() {
    let one = |random: &mut fastrand::Rng| vec![scattered(10_000.0, 0.05, random)];
    let [regressed, improved, ..] = verdicts(30, |random| (one(random), one(random)));
    assert!(regressed + improved <= 2, "{regressed} and {improved} of 30");
}
