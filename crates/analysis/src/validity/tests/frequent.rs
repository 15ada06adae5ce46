//! Stalls that come as often as intervals do, on a closed loop that is simulated slot by slot; and tails and mixtures of
//! latencies that are none.

use super::base;
use crate::sample::{StreamShape, normal, record};
use crate::validity::findings;
use fathom_metrics::Latency;
use fathom_schema::Record;

/// A closed loop of workers with one slot each. What an operation takes is drawn, seconds, by slot; from each of some moments
/// on nothing goes on for a while, both in seconds.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "constructed times")]
pub(super) fn simulated(
    slots: u32,
    seconds: usize,
    seed: u64,
    draw: &dyn Fn(&mut fastrand::Rng, u32) -> f64,
    stalls: &[(f64, f64)],
) -> Record {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut latencies = vec![Latency::default(); seconds];
    let mut by_slot = vec![Latency::default(); slots as usize];
    for slot in 0..slots {
        let mut now = 0.0;
        let mut stalls = stalls.iter().peekable();
        while now < seconds as f64 {
            let mut takes = draw(&mut random, slot);
            while let Some((_, length)) = stalls.next_if(|(from, _)| *from < now + takes) {
                takes += length;
            }
            now += takes;
            if let Some(latency) = latencies.get_mut(now as usize) {
                latency.record((takes * 1e9) as u64);
                by_slot[slot as usize].record((takes * 1e9) as u64);
            }
        }
    }
    let mut record =
        record(&[StreamShape { workers: slots, queue_depth: 1, seconds: seconds as u64, ..base() }]);
    for (interval, latency) in record.steps[0].intervals.iter_mut().zip(&latencies) {
        let kind = &mut interval.tally.kinds[0];
        kind.service = latency.to_tally();
        kind.operations = kind.service.moments.count;
    }
    let finished = record.steps[0].finished.as_mut().expect("it has ended");
    for (worker, latency) in finished.streams[0].workers.iter_mut().zip(&by_slot) {
        worker.tally.kinds[0].service = latency.to_tally();
    }
    record
}

fn stalls_told(record: &Record) -> Vec<String> {
    let told = findings(record).into_iter().filter(|one| one.id.starts_with("behaviour.stall"));
    told.map(|one| one.evidence).collect()
}

pub(super) fn exponential(random: &mut fastrand::Rng, mean: f64) -> f64 {
    -mean * (1.0 - random.f64()).ln()
}

#[test]
fn stalls_as_frequent_as_intervals_are_told() {
    let every = |period: f64, length: &dyn Fn(u64) -> f64| -> Vec<(f64, f64)> {
        (0..200).map(|k| (0.7 + k as f64 * period, length(k))).take_while(|(from, _)| *from < 59.0).collect()
    };
    let cases = [
        every(2.0, &|k| 0.1 + 0.3 * ((k * 37 % 29) as f64 / 29.0)),
        every(1.0, &|_| 0.5),
        every(2.0, &|_| 0.15),
        every(0.5, &|_| 0.04),
    ];
    for (case, stalls) in cases.iter().enumerate() {
        for seed in 0..5 {
            let random = |random: &mut fastrand::Rng, _| exponential(random, 0.001);
            let constant = |_: &mut fastrand::Rng, _| 0.001;
            for (name, record) in [
                ("exponential", simulated(8, 60, seed, &random, stalls)),
                ("constant", simulated(8, 60, seed, &constant, stalls)),
            ] {
                let told = stalls_told(&record);
                assert_eq!(told.len(), 1, "{told:#?}, case {case}, {name}, seed {seed}");
                assert!(told[0].contains("every "), "{told:#?}, case {case}, {name}, seed {seed}");
            }
        }
    }
}

/// Every 0.7 s from 20 s on, and not as if they had come from the beginning on.
#[test]
fn frequent_stalls_that_begin_late_are_told_with_their_own_period() {
    let stalls: Vec<(f64, f64)> = (0..57).map(|k| (20.0 + 0.7 * f64::from(k), 0.1)).collect();
    let told = stalls_told(&simulated(8, 60, 1, &|random, _| exponential(random, 0.001), &stalls));
    assert_eq!(told.len(), 1, "{told:#?}");
    let period = told[0].split("every ").nth(1).and_then(|rest| rest.split(" ms").next()).unwrap();
    assert!((690.0..=712.0).contains(&period.parse::<f64>().unwrap()), "{told:#?}");
}

/// Heavy tails, second sorts of operations, and one worker whose target is slow and even: one run in a hundred is said to
/// stall, at most.
#[test]
fn tails_and_mixtures_are_no_frequent_stalls() {
    type Draw = dyn Fn(&mut fastrand::Rng, u32) -> f64;
    let lognormal =
        |sigma: f64| move |random: &mut fastrand::Rng, _: u32| 0.001 * (sigma * normal(random)).exp();
    let pareto = |alpha: f64| {
        move |random: &mut fastrand::Rng, _: u32| 0.001 * (1.0 - random.f64()).powf(-1.0 / alpha)
    };
    // One in so many takes so long, seconds.
    let mixed = |one_in: u32, long: f64| {
        move |random: &mut fastrand::Rng, _: u32| {
            if random.u32(0..one_in) == 0 { long } else { exponential(random, 0.001) }
        }
    };
    let cases: [(&str, &Draw); 15] = [
        ("exponential", &|random, _| exponential(random, 0.001)),
        ("lognormal 1", &lognormal(1.0)),
        ("lognormal 2", &lognormal(2.0)),
        ("lognormal 3", &lognormal(3.0)),
        ("Pareto 2", &pareto(2.0)),
        ("Pareto 1.1", &pareto(1.1)),
        // 16 of them in each second, as two stalls of all eight would leave.
        ("a slow target", &|random, slot| if slot == 0 { 0.0625 } else { exponential(random, 0.001) }),
        ("one in 1000", &mixed(1000, 0.1)),
        ("one in 2000", &mixed(2000, 0.05)),
        ("one in 100", &mixed(100, 0.1)),
        ("one in 30", &mixed(30, 0.12)),
        // They take up to nine tenths of the time, in cycles of about an interval.
        ("one in 22", &mixed(22, 0.12)),
        ("one in 30 for long", &mixed(30, 0.3)),
        ("one in 60 for long", &mixed(60, 0.5)),
        ("one in 100 for long", &mixed(100, 0.9)),
    ];
    for (name, draw) in cases {
        let alarms: Vec<String> = (0..100)
            .flat_map(|seed| {
                let slots = if seed % 2 == 0 { 4 } else { 8 };
                stalls_told(&simulated(slots, 40, seed, draw, &[]))
            })
            .filter(|told| told.contains("operations in flight took"))
            .collect();
        assert!(alarms.len() <= 1, "{} of 100, {name}: {alarms:#?}", alarms.len());
    }
}
