//! Warm-ups are told as what they are, and series without one have none.

use super::timeline::{behaviour, counted};
use crate::sample::normal;
use std::collections::BTreeMap;

/// What there is at a second of a step, as a share.
type Course = dyn Fn(f64) -> f64;

/// Counts about 10,000 per second times a course, with noise of this deviation (a share) whose neighbours correlate.
pub(super) fn series(
    seconds: usize,
    noise: f64,
    memory: f64,
    seed: u64,
    course: &dyn Fn(f64) -> f64,
) -> Vec<u64> {
    series_about(10_000.0, (seconds, noise, memory, seed), course)
}

/// The same about another rate: so many seconds, the noise, its memory and the seed.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "constructed counts")]
fn series_about(
    rate: f64,
    (seconds, noise, memory, seed): (usize, f64, f64, u64),
    course: &dyn Fn(f64) -> f64,
) -> Vec<u64> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut off = normal(&mut random);
    (0..seconds)
        .map(|second| {
            let value = rate * course(second as f64 + 0.5) * (1.0 + noise * off);
            off = memory * off + (1.0 - memory * memory).sqrt() * normal(&mut random);
            value.max(0.0) as u64
        })
        .collect()
}

/// How many of a hundred such series are told to have what: names of findings, joined.
fn told(seconds: usize, noise: f64, memory: f64, course: &dyn Fn(f64) -> f64) -> BTreeMap<String, usize> {
    told_about(10_000.0, (seconds, noise, memory), course)
}

/// The same about another rate.
fn told_about(
    rate: f64,
    (seconds, noise, memory): (usize, f64, f64),
    course: &dyn Fn(f64) -> f64,
) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for seed in 0..100 {
        let found = behaviour(&counted(&series_about(rate, (seconds, noise, memory, seed), course), false));
        let names: Vec<&str> = found.iter().map(|one| one.id.trim_start_matches("behaviour.")).collect();
        *counts.entry(names.join(" ")).or_default() += 1;
    }
    counts
}

/// Of those in which this finding is.
fn share(told: &BTreeMap<String, usize>, name: &str) -> f64 {
    let of_it = told.iter().filter(|(names, _)| names.split(' ').any(|one| one == name));
    of_it.map(|(_, count)| *count as f64).sum::<f64>() / 100.0
}

/// Series that stay where they are: of those without memory one in a hundred has a warm-up or goes somewhere, at most, and of
/// those whose neighbours correlate by 0.7 no more than one in twenty has a warm-up.
#[test]
fn stationary_series_have_no_warm_up() {
    for seconds in [20, 25, 30, 60, 120, 300] {
        for noise in [0.01, 0.1] {
            for (memory, most) in [(0.0, 0.01), (0.3, 0.02), (0.5, 0.03), (0.7, 0.05), (0.9, 0.05)] {
                let told = told(seconds, noise, memory, &|_| 1.0);
                let warm = share(&told, "warm-up");
                assert!(warm <= most, "{told:?}: {seconds} s, {noise}, {memory}");
                let drift = share(&told, "drift");
                assert!(
                    drift <= if memory < 0.5 { 0.01 } else { 0.1 },
                    "{told:?}: {seconds} s, {noise}, {memory}"
                );
            }
        }
    }
}

/// A step that approaches its rate as a capacitor its voltage is told, whatever its pace: as a warm-up, or as one that has no
/// steady state yet where half of it is not enough.
#[test]
fn what_approaches_its_rate_slowly_is_told() {
    for (seconds, noise, memory) in
        [(60, 0.02, 0.0), (120, 0.02, 0.0), (300, 0.03, 0.0), (120, 0.03, 0.5), (300, 0.03, 0.7)]
    {
        for (depth, part) in
            [(0.3, 0.1), (0.3, 0.2), (0.8, 0.05), (0.8, 0.1), (0.8, 0.2), (0.8, 0.4), (-0.8, 0.1)]
        {
            let pace = part * seconds as f64;
            let told = told(seconds, noise, memory, &|t| 1.0 - depth * (-t / pace).exp());
            let (warm, drift) = (share(&told, "warm-up"), share(&told, "drift"));
            let place = format!("{told:?}: {depth} at {pace} s of {seconds} s, {noise}, {memory}");
            assert!(share(&told, "") <= 0.08, "{place}");
            assert_eq!(share(&told, "cliff"), 0.0, "{place}");
            // A tenth of the step is a time constant that is over by half of it.
            assert!(if part <= 0.1 { warm >= 0.6 } else { warm + drift >= 0.9 }, "{place}");
        }
    }
}

#[test]
fn how_long_it_takes_is_told() {
    let length = |pace: f64, seed: u64| -> f64 {
        let counts = series(300, 0.02, 0.0, seed, &|t| 1.0 - 0.6 * (-t / pace).exp());
        let found = behaviour(&counted(&counts, false));
        let warm = found.iter().find(|one| one.id == "behaviour.warm-up").expect("it is told");
        let words = warm.evidence.strip_prefix("warm-up of about ").expect("so it begins");
        words.split(' ').next().and_then(|number| number.parse().ok()).expect("a number comes first")
    };
    for pace in [8.0, 15.0, 25.0] {
        for seed in 0..10 {
            // What is left of it is 14 % at twice the pace, and 0.3 % at six times; noise moves the end by some batches.
            let found = length(pace, seed);
            assert!((2.0 * pace..=6.0 * pace + 20.0).contains(&found), "{found} s at {pace}, seed {seed}");
        }
    }
}

/// A first level that is left early is a warm-up, and no change of level; one that lasts or comes back is none.
#[test]
fn a_short_first_level_is_a_warm_up() {
    let step = |until: f64, first: f64| move |t: f64| if t < until { first } else { 1.0 };
    for (seconds, until) in [
        (20, 5.0),
        (25, 5.0),
        (25, 6.0),
        (30, 6.0),
        (60, 5.0),
        (60, 8.0),
        (60, 15.0),
        (300, 20.0),
        (300, 60.0),
    ] {
        for memory in [0.0, 0.5] {
            let told = told(seconds, 0.02, memory, &step(until, 0.5));
            assert_eq!(
                told,
                BTreeMap::from([("warm-up".to_owned(), 100)]),
                "{until} s of {seconds} s, {memory}"
            );
        }
    }
    let of = |counts: &[u64]| -> Vec<String> {
        behaviour(&counted(counts, false))
            .into_iter()
            .map(|one| format!("{}: {}", one.id, one.evidence))
            .collect()
    };
    let told = of(&series(60, 0.02, 0.0, 1, &step(8.0, 0.5)));
    assert_eq!(told, ["behaviour.warm-up: warm-up of about 8 s: throughput is 50 % below the rest then"]);
    // Faster at first, for a twentieth of the step, and for longer.
    assert!(of(&series(300, 0.02, 0.0, 1, &step(15.0, 2.0)))[0].starts_with("behaviour.warm-up"));
    assert!(of(&series(300, 0.02, 0.0, 1, &step(60.0, 2.0)))[0].starts_with("behaviour.cliff"));
    let returns = |t: f64| if t < 10.0 || (30.0..45.0).contains(&t) { 0.5 } else { 1.0 };
    assert!(of(&series(60, 0.02, 0.0, 1, &returns))[0].starts_with("behaviour.level-returned"));
    // One second of sixty that is slower is nothing.
    assert_eq!(of(&series(60, 0.02, 0.0, 1, &step(1.0, 0.6))), [] as [&str; 0]);
}

/// A beginning of a few intervals that is ten deviations off or more, and moves the mean of all, is told with its length: of a hundred
/// series never with another one, and of nine in ten of them.
#[test]
fn a_brief_beginning_is_told_with_its_length() {
    for (seconds, noise, depth, length) in [
        (60, 0.03, 0.3, 3),
        (60, 0.03, 0.3, 4),
        (60, 0.05, 0.5, 3),
        (30, 0.03, 0.3, 3),
        (30, 0.03, 0.3, 4),
        (120, 0.03, 0.6, 3),
    ] {
        let course = |at: f64| if at < f64::from(length) { 1.0 - depth } else { 1.0 };
        let mut right = 0;
        for seed in 0..100 {
            let found = behaviour(&counted(&series(seconds, noise, 0.0, seed, &course), false));
            for one in found {
                let says = format!("warm-up of about {length} s:");
                assert!(one.evidence.contains(&says), "{one:?}: {seconds} s, {noise}, {depth}, {seed}");
                right += 1;
            }
        }
        assert!(right >= 90, "{right}: {seconds} s, {noise}, {depth}, {length}");
    }
}

/// A straight fall has no end that would be one of a warm-up.
#[test]
fn a_straight_course_is_no_warm_up() {
    for seconds in [60, 120, 300] {
        for noise in [0.01, 0.03, 0.05] {
            for change in [-0.4, -0.2, -0.15, 0.2, 0.4] {
                let told = told(seconds, noise, 0.0, &|t| 1.0 + change * t / seconds as f64);
                let place = format!("{told:?}: {change} over {seconds} s, noise {noise}");
                assert!(share(&told, "warm-up") <= 0.03 && share(&told, "drift") >= 0.9, "{place}");
            }
        }
    }
}

/// A start within a quarter of a minute is told as what it is and as nothing else, whether the device serves 200 per second, where
/// counts at random would scatter by 7 %, or 10,000; and however little it scatters.
#[test]
fn a_start_that_is_over_early_is_a_warm_up_and_no_drift() {
    let line = |length: f64| move |t: f64| (0.5 + 0.5 * t / length).min(1.0);
    let approach = |depth: f64, pace: f64| move |t: f64| 1.0 - depth * (-t / pace).exp();
    let (line5, line8) = (line(5.0), line(8.0));
    let (quick, usual, slow, falls) =
        (approach(0.5, 1.5), approach(0.5, 3.0), approach(0.5, 6.0), approach(-1.0, 3.0));
    let starts: [(&str, &Course, f64); 6] = [
        ("line of 5 s", &line5, 0.03),
        ("line of 8 s", &line8, 0.03),
        // 1.2 % of the mean: by noise of 3 % less than 1 % now and then.
        ("pace of 1.5 s", &quick, 0.02),
        ("pace of 3 s", &usual, 0.03),
        ("pace of 6 s", &slow, 0.03),
        ("pace of 3 s from above", &falls, 0.03),
    ];
    for (name, start, most) in starts {
        for rate in [200.0, 10_000.0] {
            for noise in [0.0, 0.01, 0.02, 0.03].into_iter().filter(|noise| *noise <= most) {
                let told = told_about(rate, (60, noise, 0.0), start);
                let right = told.get("warm-up").copied().unwrap_or(0);
                assert!(right >= 90, "{told:?}: {name}, {rate}/s, noise {noise}");
            }
        }
    }
    // Of half a minute and of two.
    let (short, long) =
        (told_about(200.0, (30, 0.02, 0.0), &line5), told_about(200.0, (120, 0.02, 0.0), &slow));
    assert!(share(&short, "warm-up") >= 0.9, "{short:?}");
    assert!(share(&long, "warm-up") >= 0.9, "{long:?}");
}

/// One that makes less than a hundredth of the mean is not told, and the step has not risen by it either.
#[test]
fn a_start_too_slight_to_be_told_is_no_drift() {
    for rate in [200.0, 10_000.0] {
        for noise in [0.0, 0.01, 0.02] {
            let told = told_about(rate, (60, noise, 0.0), &|t| 1.0 - 0.2 * (-t / 3.0).exp());
            assert!(share(&told, "drift") <= 0.05, "{told:?}: {rate}/s, noise {noise}");
        }
    }
}

/// Of a device that scatters far less than counts at random do, and of such counts' own scatter.
#[test]
fn slow_devices_that_stay_where_they_are_have_no_warm_up() {
    for rate in [50.0, 200.0] {
        for (noise, memory, most) in
            [(0.01, 0.0, 0.01), (0.02, 0.0, 0.01), (0.02, 0.5, 0.03), (0.02, 0.8, 0.05), (0.07, 0.0, 0.01)]
        {
            for seconds in [30, 60] {
                let told = told_about(rate, (seconds, noise, memory), &|_| 1.0);
                let place = format!("{told:?}: {rate}/s for {seconds} s, noise {noise}, {memory}");
                assert!(share(&told, "warm-up") <= most && share(&told, "") >= 0.9, "{place}");
            }
        }
    }
    for change in [-0.4, -0.2, 0.2, 0.4] {
        for noise in [0.0, 0.01, 0.02] {
            let told = told_about(200.0, (60, noise, 0.0), &|t| 1.0 + change * t / 60.0);
            assert!(
                share(&told, "warm-up") <= 0.03 && share(&told, "drift") >= 0.9,
                "{told:?}: {change}, noise {noise}"
            );
        }
    }
}

/// Too short for batches: a start that cannot be overlooked is told, and noise that remembers is none.
#[test]
fn a_slow_start_of_a_short_run_is_told() {
    for (seconds, start) in [(10, 1.0), (10, 4.0), (12, 4.0), (15, 6.0), (19, 2.0), (19, 7.0)] {
        for low in [0.33, 0.6] {
            let told = told(seconds, 0.02, 0.5, &|second| if second < start { low } else { 1.0 });
            assert!(share(&told, "warm-up") > 0.95, "{seconds} {start} {low}: {told:?}");
        }
    }
    // What wanders that slowly begins low now and then.
    for (memory, most) in [(0.0, 0.01), (0.5, 0.01), (0.9, 0.03)] {
        for noise in [0.01, 0.05, 0.2] {
            let told = told(12, noise, memory, &|_| 1.0);
            assert!(share(&told, "warm-up") <= most, "{noise} {memory}: {told:?}");
        }
    }
}
