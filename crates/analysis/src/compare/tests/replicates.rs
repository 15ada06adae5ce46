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

/// Sweeps of so many steps, one run of which has these rates.
fn sweep(rates: &[u64]) -> Record {
    let shape =
        |rate: u64| StreamShape { rates: vec![(OperationKind::Read, rate)], ..StreamShape::default() };
    let mut made = record(&[shape(rates[0])]);
    for (at, &rate) in rates.iter().enumerate().skip(1) {
        crate::sample::push(&mut made, &[shape(rate)], u32::try_from(at).expect("few steps"));
    }
    made
}

#[test]
fn an_interval_that_says_nothing_is_none_and_asks_for_few_more_runs() {
    let side = || [sweep(&[9000; 30]), sweep(&[11_000; 30])];
    let (base, new) = (side(), side());
    let (base, new): (Vec<&Record>, Vec<&Record>) = (base.iter().collect(), new.iter().collect());
    let found = compare(&base, &new, 0.03).expect("they have steps in common");
    assert_eq!((found.verdict, found.steps.len()), (Verdict::Inconclusive, 30));
    for metric in found.steps.iter().flat_map(|step| &step.metrics) {
        // t(2 degrees) at 1 − 0.05/60 is 35, and the noise a seventh of the mean.
        assert_eq!(metric.interval, None, "{metric:?}");
        assert!(metric.more_runs.is_some_and(|more| (10..1000).contains(&more)), "{metric:?}");
    }
    assert!(found.more_runs.is_some());
    assert!(
        found.remarks.iter().any(|one| one.contains("the interval of iops and p99 is n/a")),
        "{:?}",
        found.remarks
    );
    // As unlike as that, and yet enough for a verdict: then it is told.
    let few = [sweep(&[10]), sweep(&[12])];
    let many = [sweep(&[9_000_000]), sweep(&[11_000_000])];
    let (few, many): (Vec<&Record>, Vec<&Record>) = (few.iter().collect(), many.iter().collect());
    let found = compare(&few, &many, 0.03).expect("they have a step in common");
    let iops = &found.steps[0].metrics[0];
    assert!(
        iops.verdict == Verdict::Improved && iops.interval.is_some_and(|(low, _)| low > 1000.0),
        "{iops:?}"
    );
}

/// Its lower end is −100 % to the last digit of a number, which hides how wide it is.
#[test]
fn an_interval_without_a_lower_end_is_wide_and_asks_for_more_runs_as_well() {
    for steps in [40, 400] {
        let side = || [sweep(&vec![100; steps]), sweep(&vec![20_000; steps])];
        let (base, new) = (side(), side());
        let (base, new): (Vec<&Record>, Vec<&Record>) = (base.iter().collect(), new.iter().collect());
        let found = compare(&base, &new, 0.03).expect("they have steps in common");
        assert_eq!(found.verdict, Verdict::Inconclusive);
        for metric in found.steps.iter().flat_map(|step| &step.metrics) {
            // t(2 degrees) at 1 − 0.05/80 is 40, the noise 1.4 of the mean: a factor of e^56 either way.
            assert_eq!((metric.interval, metric.is_wide), (None, true), "{steps}: {metric:?}");
            assert!(metric.more_runs.is_some_and(|more| more >= 100), "{steps}: {metric:?}");
        }
        assert!(found.more_runs.is_some(), "{steps}");
        let says = |what: &str| found.remarks.iter().any(|one| one.contains(what));
        assert!(says("is n/a") && !says("too few, or follow"), "{steps}: {:?}", found.remarks);
    }
}
