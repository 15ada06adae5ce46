//! Times of a few intervals in which hardly anything is done, or a part of what is usual: on counts of devices that scatter,
//! remember, or have a long tail, and have such times or none.

use super::timeline::{behaviour, counted};
use crate::sample::normal;
use fathom_schema::Record;

/// Counts of so many seconds at some 10,000/s that scatter by `noise`, with dips: from where, how many, and their share.
fn counts(seconds: usize, noise: f64, seed: u64, dips: &[(usize, usize, f64)]) -> Vec<u64> {
    let mut random = fastrand::Rng::with_seed(seed);
    let share = |at: usize| {
        let dip = dips.iter().find(|(from, length, _)| (*from..from + length).contains(&at));
        dip.map_or(1.0, |(_, _, share)| *share)
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "constructed counts")]
    let count = |at: usize| (10_000.0 * share(at) * (1.0 + noise * normal(&mut random))).max(0.0) as u64;
    (0..seconds).map(count).collect()
}

fn told(record: &Record) -> Vec<String> {
    behaviour(record).iter().map(|one| format!("{}: {}", one.id, one.evidence)).collect()
}

#[test]
fn a_dip_is_told_with_its_time_length_and_depth() {
    for seconds in [12, 30, 120] {
        for length in 1..=4 {
            if length * 5 > seconds {
                continue;
            }
            for share in [0.02, 0.1, 0.2, 0.35] {
                for (seed, noise) in (0..10).flat_map(|seed| [(seed, 0.01), (seed, 0.05)]) {
                    let at = 4 + usize::try_from(seed).unwrap() % (seconds - length - 3);
                    let found = told(&counted(&counts(seconds, noise, seed, &[(at, length, share)]), false));
                    let place =
                        format!("{found:#?}: {length} s to {share} at {at} s of {seconds}, noise {noise}");
                    assert_eq!(found.len(), 1, "{place}");
                    let words = format!("for about {length}.00 s, at {at} s, where ");
                    assert!(found[0].starts_with("behaviour.dip: throughput fell to "), "{place}");
                    assert!(found[0].contains(&words), "{place}");
                    let figure = found[0].split("fell to ").nth(1).unwrap().split(' ').next().unwrap();
                    let figure: f64 = figure.trim_end_matches('k').parse().unwrap();
                    let figure = if figure < 100.0 && share >= 0.1 { figure * 1000.0 } else { figure };
                    assert!((figure / (10_000.0 * share) - 1.0).abs() < 4.0 * noise, "{place}");
                }
            }
        }
    }
    let several = [(20, 2, 0.2), (50, 1, 0.05), (90, 3, 0.3)];
    let found = told(&counted(&counts(120, 0.02, 1, &several), false));
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("fell 3 times, at the lowest to 5"), "{found:#?}");
    assert!(found[0].contains("for about 1.00 s, at 50 s"), "{found:#?}");
    // To the end of it.
    let found = told(&counted(&counts(60, 0.02, 1, &[(57, 3, 0.1)]), false));
    assert!(found.len() == 1 && found[0].contains("for about 3.00 s, at 57 s"), "{found:#?}");
}

/// Where a stream ends with what was to be done, its last operations are done by fewer and fewer.
#[test]
fn what_ends_with_its_amount_may_be_slow_at_the_end() {
    let mut record = counted(&counts(60, 0.02, 1, &[(58, 2, 0.3)]), false);
    let stream = &mut record.steps[0].started.step.streams[0];
    stream.limits.time = fathom_schema::TimeLimit::Unbounded;
    stream.limits.operations = fathom_schema::Quota::AtMost(600_000);
    assert!(told(&record).iter().all(|one| !one.contains("behaviour.dip")), "{:#?}", told(&record));
}

/// A hundred series each: what scatters, remembers or has a long tail has values far off without a dip.
#[test]
fn noise_has_no_dips() {
    type Series = dyn Fn(&mut fastrand::Rng, usize) -> Vec<f64>;
    let remembers = |memory: f64, deviation: f64| {
        move |random: &mut fastrand::Rng, length: usize| -> Vec<f64> {
            let innovation = deviation * (1.0 - memory * memory).sqrt();
            let mut off = deviation * normal(random);
            let next = |_| {
                off = memory * off + innovation * normal(random);
                1.0 + off
            };
            (0..length).map(next).collect()
        }
    };
    let lognormal = |sigma: f64| {
        move |random: &mut fastrand::Rng, length: usize| -> Vec<f64> {
            (0..length).map(|_| (sigma * normal(random)).exp()).collect()
        }
    };
    let pareto = |random: &mut fastrand::Rng, length: usize| -> Vec<f64> {
        (0..length).map(|_| 1.0 / (1.0 - random.f64()).powf(-1.0 / 1.5)).collect()
    };
    let kinds: [(&str, &Series); 7] = [
        ("independent", &remembers(0.0, 0.1)),
        ("independent, wide", &remembers(0.0, 0.2)),
        ("remembers", &remembers(0.9, 0.1)),
        ("remembers, wide", &remembers(0.9, 0.15)),
        ("lognormal", &lognormal(0.3)),
        ("lognormal, wide", &lognormal(0.8)),
        ("times with a long tail", &pareto),
    ];
    for (name, kind) in kinds {
        for seconds in [10, 30, 120] {
            let is_alarm = |seed: &u64| {
                let mut random = fastrand::Rng::with_seed(*seed);
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "constructed counts"
                )]
                let counts: Vec<u64> = kind(&mut random, seconds)
                    .iter()
                    .map(|share| (10_000.0 * share).max(0.0) as u64)
                    .collect();
                told(&counted(&counts, false)).iter().any(|one| one.starts_with("behaviour.dip"))
            };
            let alarms = (0..100).filter(is_alarm).count();
            assert!(alarms <= 1, "{alarms} of 100: {name}, {seconds} s");
        }
    }
}
