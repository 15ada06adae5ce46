//! How often the intervals of a curve over rates hold what is true, on a simulated queue whose answers are known.

use super::*;
use crate::sample::latency;
use fathom_units::Nanos;

/// Service time of the queue, seconds: 1,000 operations per second at most.
const SERVICE_S: f64 = 0.001;
/// Operations of one measurement of a rate.
const OPERATIONS: usize = 4000;
/// Curves of one check: of intervals that hold in 95 % of cases the share is that, ± 2 %, two times in three.
const CURVES: u64 = 200;

fn exponential(mean: f64, random: &mut fastrand::Rng) -> f64 {
    -(1.0 - random.f64()).ln() * mean
}

/// One measurement of an open loop with random arrivals on one server with exponential service, from its steady state on.
fn measured(rate: f64, random: &mut fastrand::Rng) -> LoadPoint {
    let load = rate * SERVICE_S;
    let mut wait = if random.f64() < load { exponential(SERVICE_S / (1.0 - load), random) } else { 0.0 };
    let (mut responses, mut elapsed) = (0.0, 0.0);
    for _ in 0..OPERATIONS {
        let response = wait + exponential(SERVICE_S, random);
        responses += response;
        let gap = exponential(1.0 / rate, random);
        elapsed += gap;
        wait = (response - gap).max(0.0);
    }
    let (done, mean_s) = (OPERATIONS as f64 / elapsed, responses / OPERATIONS as f64);
    LoadPoint {
        held: done * mean_s,
        rate: done,
        mean_s,
        response: latency(mean_s * 1e9, 1000),
        bytes_per_s: 0.0,
        errors: 0,
        offered: done,
        dropped: 0,
        backlog_max: 0,
    }
}

/// One of a full queue: operations per second as the server makes them.
fn at_full_speed(random: &mut fastrand::Rng) -> (f64, LoadPoint) {
    let elapsed: f64 = (0..OPERATIONS).map(|_| exponential(SERVICE_S, random)).sum();
    let rate = OPERATIONS as f64 / elapsed;
    (64.0, LoadPoint { rate, mean_s: 64.0 / rate, ..measured(500.0, random) })
}

/// Shares of curves of so many replicates whose interval holds the truth: of the highest rate, the rate at which the mean
/// response time is twice that of an idle queue, and the one at which it is 4 ms; the least of these that have an interval.
fn coverage(replicates: usize) -> ([f64; 3], f64) {
    let mut held = [0_u32; 3];
    let mut had = [0_u32; 3];
    for seed in 0..CURVES {
        let mut random = fastrand::Rng::with_seed(seed);
        let full: Vec<(f64, LoadPoint)> = (0..replicates).map(|_| at_full_speed(&mut random)).collect();
        let offered: Vec<(f64, LoadPoint)> = [1, 2, 3, 4, 5, 6, 7, 8, 9]
            .iter()
            .flat_map(|&tenth| std::iter::repeat_n(f64::from(tenth) * 100.0, replicates))
            .map(|rate| (rate, measured(rate, &mut random)))
            .collect();
        let goal = LatencyGoal { quantile: None, limit: Nanos::millis(4) };
        let found = curve(&full, offered, 1.0, &[goal]).expect("there are rates");
        let rates = found.rates.as_ref().expect("it is over rates");
        let estimates = [
            Some((rates.maximum, 1000.0)),
            rates.doubled.map(|doubled| (doubled, 500.0)),
            found.answers.latency_limits[0].x.map(|x| (x, 750.0)),
        ];
        for (which, estimate) in estimates.into_iter().enumerate() {
            let Some((Estimate { interval: Some((low, high)), .. }, truth)) = estimate else { continue };
            had[which] += 1;
            held[which] += u32::from((low..=high).contains(&truth));
        }
    }
    let share = |which: usize| f64::from(held[which]) / f64::from(had[which].max(1));
    let least = had.iter().min().copied().unwrap_or(0);
    ([share(0), share(1), share(2)], f64::from(least) / CURVES as f64)
}

#[test]
fn intervals_hold_as_often_as_they_say() {
    for replicates in [3, 5] {
        let (held, had) = coverage(replicates);
        assert!(held.iter().all(|share| *share >= 0.92), "{held:?} with {replicates}, {had} have one");
        assert!(had >= 0.9, "{had} with {replicates}");
    }
}

/// Mean response time of a queue with exponential service of 1 ms on so many units by Erlang's formula, summed as he wrote
/// it; `None` for one unit that takes 1 ms always.
fn response_s(units: Option<u32>, utilisation: f64) -> f64 {
    let Some(units) = units else { return SERVICE_S * (1.0 + utilisation / (2.0 * (1.0 - utilisation))) };
    let offered = f64::from(units) * utilisation;
    let mut term = 1.0;
    let mut below = 0.0;
    for k in 1..=units {
        below += term;
        term *= offered / f64::from(k);
    }
    let full = term / (1.0 - utilisation);
    SERVICE_S * (1.0 + full / (below + full) / (f64::from(units) * (1.0 - utilisation)))
}

/// Mean response time where operations take 1 ms each on so many units and come at random (M/D/c): whatever is in service now has
/// gone 1 ms later, so that of as many as are there, all but `units` stay and what came meanwhile is added (Crommelin 1932).
fn constant_response_s(units: usize, utilisation: f64) -> f64 {
    let offered = units as f64 * utilisation;
    let mut came = vec![(-offered).exp()];
    while came.len() < 80 {
        came.push(came[came.len() - 1] * offered / came.len() as f64);
    }
    let mut there = vec![0.0; 240];
    there[0] = 1.0;
    for _ in 0..400 {
        let mut next = vec![0.0; there.len()];
        for (count, chance) in there.iter().enumerate() {
            for (more, of_it) in came.iter().enumerate() {
                let at = (count.saturating_sub(units) + more).min(next.len() - 1);
                next[at] += chance * of_it;
            }
        }
        there = next;
    }
    let waiting: f64 =
        there.iter().enumerate().map(|(count, p)| count.saturating_sub(units) as f64 * p).sum();
    SERVICE_S * (1.0 + waiting / offered)
}

/// Shares of curves whose intervals hold the idle response time and the parallel units, of means that lie off by chance by
/// so much; `response_s` of a utilisation.
fn of_idle(units: u32, off: f64, response_s: &dyn Fn(f64) -> f64) -> [f64; 2] {
    const SEEDS: u64 = 80;
    let most = f64::from(units) / SERVICE_S;
    let mut held = [0_u32; 2];
    for seed in 0..SEEDS {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut noise = || {
            let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
            off * radius * (std::f64::consts::TAU * random.f64()).cos()
        };
        let point = |rate: f64, mean_s: f64| super::tests::point(rate, mean_s, 0.0);
        let full: Vec<(f64, LoadPoint)> = (0..3)
            .map(|_| most * (1.0 + noise() / 3.0))
            .map(|rate| (256.0, point(rate, 256.0 / rate)))
            .collect();
        let mut offered = Vec::new();
        for tenth in 1..=9 {
            let utilisation = f64::from(tenth) / 10.0;
            for _ in 0..3 {
                let mean_s = response_s(utilisation) * (1.0 + noise());
                offered.push((most * utilisation, point(most * utilisation, mean_s)));
            }
        }
        let found = curve(&full, offered, 1.0, &[]).expect("there are rates");
        let rates = found.rates.as_ref().expect("it is over rates");
        let estimates = [rates.alone_s, found.answers.parallel_units];
        for (which, (estimate, truth)) in estimates.into_iter().zip([SERVICE_S, most * SERVICE_S]).enumerate()
        {
            let Estimate { interval, value } = estimate.expect("rates are calm");
            let (low, high) = interval.expect("there are three of each");
            assert!((value / truth - 1.0).abs() < 10.0 * off, "{units:?}: {value}, not {truth}");
            held[which] += u32::from((low..=high).contains(&truth));
        }
    }
    held.map(|held| f64::from(held) / SEEDS as f64)
}

/// With a straight line of the inverse, which one exponential server has, those of 2 to 16 units held in none.
#[test]
fn the_idle_response_time_is_held_whatever_the_units() {
    for units in [Some(1), Some(2), Some(4), Some(8), Some(16), Some(64), None] {
        for off in [0.002, 0.01] {
            let held = of_idle(units.unwrap_or(1), off, &|utilisation| response_s(units, utilisation));
            assert!(held.iter().all(|share| *share >= 0.9), "{held:?} of {units:?} units, {off} off");
        }
    }
}

/// Where all operations take as long, on several units: with waits that are half of those of random service at all rates, 26 of
/// 50 intervals held four units.
#[test]
fn units_of_constant_service_are_held() {
    // M/D/1 is known in closed form.
    assert!((constant_response_s(1, 0.5) / response_s(None, 0.5) - 1.0).abs() < 1e-9);
    for units in [2, 4, 8] {
        let known: Vec<f64> =
            (0..=9).map(|tenth| constant_response_s(units as usize, f64::from(tenth) / 10.0)).collect();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "tenths")]
        let response_s = |utilisation: f64| known[(utilisation * 10.0).round() as usize];
        for off in [0.001, 0.002, 0.01] {
            let held = of_idle(units, off, &response_s);
            assert!(held.iter().all(|share| *share >= 0.9), "{held:?} of {units} units, {off} off");
        }
    }
}
