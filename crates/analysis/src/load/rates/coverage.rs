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
        stopped_s: 0.0,
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

/// Shares of full speed as they are offered where none are given.
const TENTHS: [f64; 9] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
/// Seeds of a check on means that lie off by chance.
const SEEDS: u64 = 80;

/// The curve of so many units at shares of their full speed, each three times, of means that lie off by chance by so much;
/// `response_s` of a utilisation.
fn read_off(units: u32, shares: &[f64], off: f64, seed: u64, response_s: &dyn Fn(f64) -> f64) -> Curve {
    let most = f64::from(units) / SERVICE_S;
    let mut random = fastrand::Rng::with_seed(seed);
    let mut noise = || {
        let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
        off * radius * (std::f64::consts::TAU * random.f64()).cos()
    };
    let point = |rate: f64, mean_s: f64| super::tests::point(rate, mean_s, 0.0);
    let full: Vec<(f64, LoadPoint)> =
        (0..3).map(|_| most * (1.0 + noise() / 3.0)).map(|rate| (256.0, point(rate, 256.0 / rate))).collect();
    let mut offered = Vec::new();
    for &utilisation in shares {
        for _ in 0..3 {
            let mean_s = response_s(utilisation) * (1.0 + noise());
            offered.push((most * utilisation, point(most * utilisation, mean_s)));
        }
    }
    curve(&full, offered, 1.0, &[]).expect("there are rates")
}

/// Shares of curves whose intervals hold the idle response time and the parallel units, of means that lie off by chance by
/// so much; `response_s` of a utilisation.
fn of_idle(units: u32, off: f64, response_s: &dyn Fn(f64) -> f64) -> [f64; 2] {
    let most = f64::from(units) / SERVICE_S;
    let mut held = [0_u32; 2];
    for seed in 0..SEEDS {
        let found = read_off(units, &TENTHS, off, seed, response_s);
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

/// One unit whose service times vary more than exponentially, by this C²: of 0.9 that take 0.5 ms and 0.1 that take 5.5 ms, of 0.99 and of
/// 0.01 of 50 ms (Pollaczek and Khinchine). With no more waiting than exponential ones bring, the idle response time was 6 % too long.
#[test]
fn units_of_irregular_service_are_held() {
    for squared in [2.25, 8.0, 24.5] {
        let response_s = |utilisation: f64| {
            SERVICE_S * (1.0 + f64::midpoint(1.0, squared) * utilisation / (1.0 - utilisation))
        };
        for off in [0.002, 0.01] {
            let ([mut told, mut held], mut widths) = ([[0_u64; 2]; 2], Vec::new());
            for seed in 0..SEEDS {
                let found = read_off(1, &TENTHS, off, seed, &response_s);
                let rates = found.rates.as_ref().expect("it is over rates");
                let estimates = [(rates.alone_s, SERVICE_S), (found.answers.parallel_units, 1.0)];
                for (which, (estimate, truth)) in estimates.into_iter().enumerate() {
                    // Where resamples do not agree whether rates are of units, none is told.
                    let Some((low, high)) = estimate.and_then(|found| found.interval) else { continue };
                    told[which] += 1;
                    held[which] += u64::from((low..=high).contains(&truth));
                    widths.extend((which == 0).then_some(high / low));
                }
            }
            let place = format!("{held:?} of {told:?} with C² of {squared}, {off} off");
            // Of rare pauses, that operations wait for units is not certain, and their number is not told.
            let sure = if squared < 20.0 { &told[..] } else { &told[..1] };
            assert!(sure.iter().all(|told| told * 10 >= SEEDS * 8), "{place}");
            assert!(held.iter().zip(told).all(|(held, told)| held * 10 >= told * 9), "{place}");
            widths.sort_by(f64::total_cmp);
            let (width, most) = (widths[widths.len() / 2], if squared < 20.0 { 1.5 } else { 3.0 });
            assert!(off > 0.002 || width < most, "{place}: {width}");
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

/// Rate at which operations of random service take twice as long on so many units as alone.
fn doubled_at(units: u32) -> f64 {
    let (mut least, mut most) = (0.0, 1.0);
    for _ in 0..50 {
        let middle = f64::midpoint(least, most);
        if response_s(Some(units), middle) <= 2.0 * SERVICE_S {
            least = middle;
        } else {
            most = middle;
        }
    }
    least * f64::from(units) / SERVICE_S
}

/// A straight line of the inverse alone comes to it 0.5 % too early of 4 units, which means that lie off by 0.2 % do not cover.
#[test]
fn where_the_mean_doubles_is_held_whatever_the_units() {
    // As the search chooses them: tenths, and where the mean more than doubles from one to the next what lies between.
    let further = [0.95, 0.975, 0.99];
    // Of 8 units the mean grows from 1.9 to 3.1 between two of them, which three of each tell less surely.
    for (units, more, least) in
        [(1, 0, 0.9), (2, 0, 0.9), (4, 0, 0.9), (8, 1, 0.8), (16, 3, 0.9), (32, 3, 0.9)]
    {
        let shares = [&TENTHS[..], &further[..more]].concat();
        for off in [0.002, 0.01] {
            let mut held = 0_u32;
            for seed in 0..SEEDS {
                let found =
                    read_off(units, &shares, off, seed, &|utilisation| response_s(Some(units), utilisation));
                let rates = found.rates.expect("it is over rates");
                assert_eq!(rates.doubled_between, None, "{units} units, {off} off, seed {seed}");
                let (low, high) = rates.doubled.and_then(|at| at.interval).expect("there are three of each");
                held += u32::from((low..=high).contains(&doubled_at(units)));
            }
            let share = f64::from(held) / SEEDS as f64;
            assert!(share >= least, "{share} of {units} units, {off} off");
        }
    }
}

/// Of 16 units the mean grows from 1.4 to 20 ms between nine tenths and all: a straight line of the inverse comes to twice the idle
/// response time 2 % too early, however well the rates are known.
#[test]
fn a_gap_in_which_the_mean_more_than_doubles_is_told_as_one() {
    let of = |more: &[f64]| {
        read_off(16, &[&TENTHS[..], more].concat(), 0.002, 1, &|utilisation| {
            response_s(Some(16), utilisation)
        })
    };
    let found = of(&[0.997]);
    let rates = found.rates.expect("it is over rates");
    let (from, to) = rates.doubled_between.expect("nothing between them was measured");
    assert!((from - 14_400.0).abs() < 1e-6 && (to - 15_952.0).abs() < 1e-6, "{from} to {to}");
    let (low, high) = rates.doubled.and_then(|at| at.interval).expect("there are three of each");
    assert!(low <= from && high >= to, "{low} to {high}");
    let remarks = &found.answers.remarks;
    assert!(remarks.iter().any(|one| one.contains("twice the idle response time")), "{remarks:?}");
    // With rates between them there is no such gap, and nothing to be told.
    let found = of(&[0.95, 0.975, 0.9875, 0.997]);
    assert_eq!(found.rates.expect("it is over rates").doubled_between, None);
    let remarks = &found.answers.remarks;
    assert!(!remarks.iter().any(|one| one.contains("twice the idle response time")), "{remarks:?}");
}

#[test]
fn a_line_that_bends_comes_to_a_level_where_several_units_do() {
    for units in [1, 2, 4, 8] {
        let rows: Vec<Row> = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
            .map(|utilisation| {
                let done = f64::from(units) / SERVICE_S * utilisation;
                let mean_s = response_s(Some(units), utilisation);
                Row { asked: done, done, mean_s, latencies_s: Vec::new() }
            })
            .to_vec();
        let expect = doubled_at(units);
        let at = rows.iter().rposition(|row| row.done <= expect * (1.0 + 1e-9)).expect("it lies above half");
        let found = bent(&rows, at, 0.5 / SERVICE_S);
        assert!((found / expect - 1.0).abs() < 1e-3, "{found}, not {expect}, of {units} units");
    }
}
