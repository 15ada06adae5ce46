//! Changes of level are told as what they are, wherever they come, and however differently the levels scatter: a capped device
//! does not scatter at all.

use super::timeline::{behaviour, counted};
use crate::sample::normal;
use proptest::prelude::*;

/// A level: from which second on, how many per second, and how they scatter, as a share.
type Level = (usize, f64, f64);

/// Counts of `seconds` at such levels.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "constructed counts")]
fn counts(seconds: usize, levels: &[Level], seed: u64) -> Vec<u64> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..seconds)
        .map(|at| {
            let (_, rate, scatter) =
                levels.iter().rev().find(|level| level.0 <= at).expect("one begins at 0");
            (rate * (1.0 + scatter * normal(&mut random))).round().max(0.0) as u64
        })
        .collect()
}

/// Findings about such levels, with what they say.
fn told(seconds: usize, levels: &[Level], seed: u64) -> Vec<String> {
    let found = behaviour(&counted(&counts(seconds, levels, seed), false));
    found
        .into_iter()
        .map(|one| format!("{}: {}", one.id.trim_start_matches("behaviour."), one.evidence))
        .collect()
}

fn check(seconds: usize, levels: &[Level], seed: u64, expect: &str) {
    let found = told(seconds, levels, seed);
    assert!(
        found.len() == 1 && found[0].starts_with(expect),
        "{found:?}, not {expect}: {levels:?} of {seconds} s, seed {seed}"
    );
}

/// How two levels scatter: alike, or one of them not at all, as that of a capped device.
const SCATTERS: [(f64, f64); 7] =
    [(0.0, 0.0), (0.004, 0.0), (0.03, 0.0), (0.06, 0.0), (0.0, 0.03), (0.0, 0.06), (0.03, 0.03)];

/// A fall to half is a cliff wherever it comes, one that is undone a level that returns, and a rise is neither a warm-up nor a
/// drift.
#[test]
fn the_name_of_a_change_depends_on_neither_its_place_nor_the_noise() {
    for seconds in [60, 300] {
        let lasting = 5.max(seconds / 20);
        for (of_high, of_low) in SCATTERS {
            for seed in 0..2 {
                let high = |from: usize| (from, 1000.0, of_high);
                let low = |from: usize| (from, 500.0, of_low);
                for at in (seconds / 10 + 1..=seconds - lasting).step_by(seconds / 30) {
                    let cliff = format!("cliff: at {at} s throughput went from ");
                    check(seconds, &[high(0), low(at)], seed, &cliff);
                }
                for at in (seconds / 4 + 1..=seconds - lasting).step_by(seconds / 30) {
                    let changed = format!("level-changed: at {at} s throughput went from ");
                    check(seconds, &[low(0), high(at)], seed, &changed);
                }
                for at in (seconds / 6..=seconds / 2).step_by(seconds / 20) {
                    for length in [seconds / 5, seconds / 3, 2 * seconds / 5] {
                        let returned = format!("level-returned: at {at} s throughput went from ");
                        check(seconds, &[high(0), low(at), high(at + length)], seed, &returned);
                    }
                }
            }
        }
    }
}

/// What is told of two levels is within what there was: nothing falls by all of it.
#[test]
fn a_drift_falls_by_no_more_than_there_was() {
    for (from, to, expect) in [(1.0, 0.2, "fell by 7"), (0.2, 1.0, "rose by 3"), (1.0, 0.0, "fell by 9")] {
        let course = |at: usize| 10_000.0 * (from + (to - from) * (at as f64 + 0.5) / 120.0);
        let levels: Vec<Level> = (0..120).map(|at| (at, course(at), 0.01)).collect();
        check(120, &levels, 1, &format!("drift: throughput {expect}"));
    }
    // A fall that is neither at once nor even: a straight line through it ends below nothing.
    let course = |at: f64| 10_000.0 * (0.5 - 0.5 * ((at - 35.0) / 8.0).tanh());
    let levels: Vec<Level> = (0..120_u32).map(|at| (at as usize, course(f64::from(at)), 0.01)).collect();
    for one in told(120, &levels, 1) {
        let share = one.split(" by ").nth(1).and_then(|rest| rest.split(" %").next()?.parse::<f64>().ok());
        assert!(share.is_none_or(|share| share <= 100.0), "{one}");
    }
}

/// What is deep and sharp is told from five intervals on, however long the step is.
#[test]
fn a_brief_loss_is_told_where_it_is_deep() {
    for scatter in [0.0, 0.01] {
        let level = |from: usize, rate: f64| (from, rate, scatter);
        for (seconds, at, rate) in [(1000, 955, 300.0), (120, 115, 500.0), (300, 290, 400.0)] {
            check(seconds, &[level(0, 1000.0), level(at, rate)], 1, &format!("cliff: at {at} s "));
        }
        for (seconds, at, length) in [(3600, 1800, 170), (120, 30, 5), (600, 300, 12)] {
            let levels = [level(0, 1000.0), level(at, 50.0), level(at + length, 1000.0)];
            check(seconds, &levels, 1, &format!("level-returned: at {at} s "));
        }
    }
}

/// Smooth courses that come back are told, and never by an exponent.
#[test]
fn a_smooth_course_that_comes_back_is_told() {
    let up = |t: f64| 1000.0 - 1200.0 * (t - 0.5).abs();
    let down = |t: f64| 400.0 + 1200.0 * (t - 0.5).abs();
    let tell = |seconds: usize, scatter: f64, course: &dyn Fn(f64) -> f64| {
        let levels: Vec<Level> =
            (0..seconds).map(|at| (at, course((at as f64 + 0.5) / seconds as f64), scatter)).collect();
        check(seconds, &levels, 1, "drift: throughput went up and down smoothly, between ");
    };
    for scatter in [0.0, 0.02] {
        tell(120, scatter, &up);
        tell(120, scatter, &down);
        for seconds in [120, 300, 1200] {
            let waves = seconds as f64 / 60.0;
            tell(seconds, scatter, &|t| 700.0 + 300.0 * (std::f64::consts::TAU * waves * t).sin());
        }
    }
}

/// Noise that remembers has neither.
#[test]
fn noise_that_remembers_goes_nowhere() {
    for (seconds, memory, noise) in
        [(60, 0.0, 0.2), (120, 0.5, 0.2), (120, 0.9, 0.1), (300, 0.0, 0.3), (600, 0.7, 0.2), (600, 0.9, 0.2)]
    {
        let alarms = (0..100).filter(|&seed| {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut off = normal(&mut random);
            let levels: Vec<Level> = (0..seconds)
                .map(|at| {
                    off = memory * off + (1.0_f64 - memory * memory).sqrt() * normal(&mut random);
                    (at, 10_000.0 * (1.0 + noise * off), 0.0)
                })
                .collect();
            let is_alarm = |one: &String| {
                one.contains("smoothly") || one.starts_with("level") || one.starts_with("cliff")
            };
            told(seconds, &levels, seed).iter().any(is_alarm)
        });
        let count = alarms.count();
        assert!(count <= if memory < 0.6 { 1 } else { 5 }, "{count} of 100: {seconds} s, {memory}, {noise}");
    }
}

fn scatter() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(0.004), 0.0..0.03]
}

proptest! {
    /// One to four of them, of any depth or height.
    #[test]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a series")]
    fn single_values_far_off_do_not_go_to_and_fro(
        seconds in 60_usize..=900,
        off in proptest::collection::vec((0.0..1.0, prop_oneof![Just(0.1), 0.0..1.0, 1.0..4.0]), 1..=4),
        scatter in prop_oneof![Just(0.0), 0.0..0.05],
        seed in any::<u64>(),
    ) {
        let mut levels: Vec<Level> = (0..seconds).map(|at| (at, 2000.0, scatter)).collect();
        for (place, share) in off {
            levels[(place * seconds as f64) as usize].1 = 2000.0 * share;
        }
        let found = told(seconds, &levels, seed);
        prop_assert!(!found.iter().any(|one| one.contains("to and fro")), "{found:?}");
    }

    /// A fall by more than a third, early and late, and one that is undone: each is told, at its place.
    #[test]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a series")]
    fn falls_are_told_as_what_they_are(
        seconds in 60_usize..300,
        place in 0.11..0.5,
        length in 0.11..0.38,
        left in 0.56..0.65,
        of_high in scatter(),
        of_low in scatter(),
        seed in any::<u64>(),
    ) {
        let of = |share: f64| (share * seconds as f64).ceil() as usize;
        let (at, back) = (of(place), of(place + length));
        let (high, low) = ((0, 10_000.0, of_high), |from: usize| (from, 10_000.0 * left, of_low));
        let late = of(place + 0.44).min(seconds - 5.max(seconds / 20));
        for at in [at, late] {
            let found = told(seconds, &[high, low(at)], seed);
            prop_assert!(found.iter().any(|one| one.starts_with(&format!("cliff: at {at} s "))), "{found:?}");
            prop_assert!(!found.iter().any(|one| one.starts_with("drift")), "{found:?}");
        }
        let found = told(seconds, &[high, low(at), (back, 10_000.0, of_high)], seed);
        let is_returned = |one: &String| {
            one.starts_with(&format!("level-returned: at {at} s ")) && one.contains(&format!(" at {back} s"))
        };
        prop_assert!(found.iter().any(is_returned), "{found:?}");
    }
}

/// Findings about a course that goes by a formula, with scatter; and by how many percent it is told to have fallen.
fn told_of(seconds: usize, rate: &dyn Fn(f64) -> f64, scatter: f64, seed: u64) -> (Vec<String>, Option<f64>) {
    let levels: Vec<Level> = (0..seconds).map(|second| (second, rate(second as f64), scatter)).collect();
    let found = told(seconds, &levels, seed);
    let fell = found.iter().find_map(|one| one.split_once("throughput fell by ")?.1.split_once(' '));
    let percent = fell.and_then(|(number, _)| number.parse().ok());
    (found, percent)
}

/// A course that bends is told by where it began and where it ended, which a straight line through it does not know.
#[test]
fn a_bent_course_falls_from_where_it_began_to_where_it_ended() {
    // From 10k to 4000, most of it in the first third; the ends are means of five seconds.
    let rate = |second: f64| 4000.0 + 6000.0 * (-second / 25.0).exp();
    let expected = 100.0 * (1.0 - rate(117.0) / rate(2.0));
    for seed in 0..20 {
        let (found, percent) = told_of(120, &rate, 0.002, seed);
        assert!(percent.is_some_and(|told| (told - expected).abs() < 1.0), "{found:?}, not {expected:.0} %");
    }
}

/// One that has come back at its end has neither fallen nor risen; that it was away is told nevertheless.
#[test]
fn a_course_that_comes_back_at_its_end_has_gone_up_and_down() {
    for centre in [25.0, 30.0, 95.0] {
        let rate = |second: f64| 1000.0 - 150.0 * (-((second - centre) / 14.0_f64).powi(2)).exp();
        let found: Vec<String> = (0..10).flat_map(|seed| told_of(120, &rate, 0.02, seed).0).collect();
        assert!(!found.is_empty(), "centre {centre}: it is told of none of ten");
        let drifted = found.iter().any(|one| one.contains("fell by") || one.contains("rose by"));
        assert!(!drifted, "centre {centre}: {found:?}");
    }
}

/// A straight fall is told by the line, however much it scatters: the few values at its ends say less.
#[test]
fn a_straight_fall_is_told_by_the_line() {
    for scatter in [0.0, 0.02, 0.1] {
        for seed in 0..30 {
            let (found, percent) = told_of(300, &|second| 10_000.0 - 10.0 * second, scatter, seed);
            // Standard error of the line's change: scatter · √(12/n), here of some 8500 of 10 000.
            let allowed = 1.0 + 100.0 * 4.0 * scatter * 0.85 * (12.0_f64 / 300.0).sqrt();
            assert!(
                percent.is_some_and(|told| (told - 29.9).abs() <= allowed),
                "{scatter}, seed {seed}: {found:?}"
            );
        }
    }
}

/// What strays once from its level and comes back is told, however narrow against the step, with where and how far.
#[test]
fn a_single_hump_or_dip_is_told() {
    for (seconds, width) in [(120_usize, 4.0), (120, 11.0), (600, 6.0), (600, 40.0), (3600, 30.0)] {
        for (depth, says) in [(-0.9, "fell"), (-0.3, "fell"), (0.5, "rose"), (2.0, "rose")] {
            for place in [0.3, 0.5, 0.75] {
                let middle = place * seconds as f64;
                let rate =
                    |second: f64| 10_000.0 * (1.0 + depth * (-((second - middle) / width).powi(2)).exp());
                for scatter in [0.0, 0.02, 0.05] {
                    let (found, _) = told_of(seconds, &rate, scatter, 3);
                    let one = found.join(" ");
                    let is_level = one.starts_with("level-returned") || one.starts_with("level-changed");
                    let is_once = one.starts_with(&format!("drift: throughput {says} smoothly from "));
                    assert!(is_level || is_once, "{seconds} {width} {depth} {place} {scatter}: {found:?}");
                    let about =
                        one.split("at about ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
                    assert!(
                        about.is_none_or(|about: f64| (about - middle).abs() <= width / 2.0 + 2.0),
                        "{middle}: {found:?}"
                    );
                }
            }
        }
    }
}

/// Values that are far off by themselves, and noise of heavy tails, are no hump.
#[test]
fn a_few_values_far_off_make_no_hump() {
    let told_smooth = |rates: &[f64]| {
        let levels: Vec<Level> = rates.iter().enumerate().map(|(at, rate)| (at, *rate, 0.0)).collect();
        told(rates.len(), &levels, 1).into_iter().find(|one| one.contains("smoothly"))
    };
    let mut alarms = 0;
    for seed in 0..200 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut few: Vec<f64> = (0..300).map(|_| 10_000.0 + 100.0 * normal(&mut random)).collect();
        for (length, place) in [(1, 20..100), (2, 110..190), (4, 200..280)] {
            let from = random.usize(place);
            few[from..from + length].fill(if random.bool() { 6000.0 } else { 14_000.0 });
        }
        assert_eq!(told_smooth(&few), None, "seed {seed}");
        // Laplace's distribution with a memory.
        let mut off = 0.0;
        let tailed: Vec<f64> = (0..300)
            .map(|_| {
                let sign = if random.bool() { 1.0 } else { -1.0 };
                off = 0.5 * off - sign * (1.0 - random.f64()).ln() * 700.0;
                10_000.0 + off
            })
            .collect();
        alarms += u32::from(told_smooth(&tailed).is_some());
    }
    assert!(alarms <= 2, "{alarms} of 200");
}

/// What goes to and fro between two levels is told with both, however briefly it stays at either and however long the step is.
#[test]
fn what_goes_to_and_fro_is_told_however_briefly_it_stays() {
    for seconds in [60, 120, 600, 1800] {
        for (high, low) in [(2, 2), (3, 3), (5, 5), (8, 8), (5, 10), (9, 6), (3, 12)] {
            for scatter in [0.0, 0.02, 0.05] {
                let of = |at: usize| if at % (high + low) < high { 10_000.0 } else { 5000.0 };
                let levels: Vec<Level> = (0..seconds).map(|at| (at, of(at), scatter)).collect();
                let found = told(seconds, &levels, 5);
                let count = (1..seconds).filter(|&at| of(at) != of(at - 1)).count();
                let place = format!("{seconds} s, {high}/{low}, {scatter}: {found:?}");
                let one =
                    found.iter().find(|one| one.starts_with("level-returned: throughput goes to and fro"));
                assert!(
                    one.is_some_and(|one| one.contains(&format!("IOPS: {count} changes from {high} s to "))),
                    "{place}"
                );
            }
        }
    }
    // Levels that last are told as such, whatever a few intervals in them do.
    let mut of_a_cliff: Vec<Level> = vec![(0, 10_000.0, 0.01), (60, 5000.0, 0.01)];
    for at in [12, 27, 80, 101] {
        let (there, back) = if at < 60 { (5000.0, 10_000.0) } else { (10_000.0, 5000.0) };
        of_a_cliff.extend([(at, there, 0.0), (at + 1, back, 0.01)]);
    }
    of_a_cliff.sort_by_key(|level| level.0);
    let found = told(120, &of_a_cliff, 1);
    assert!(found.iter().any(|one| one.starts_with("cliff: at 60 s ")), "{found:?}");
}

/// A few intervals that are far off are no level, however far, wherever they lie and whatever the others scatter.
#[test]
fn a_few_values_far_off_do_not_go_to_and_fro() {
    // By the place, how many and what they come to: what was told of all seeds, or of most.
    let mut places: Vec<(usize, usize, f64, f64)> = Vec::new();
    for (seconds, length, share) in
        [(600, 1, 0.1), (300, 2, 0.1), (300, 2, 0.5), (120, 3, 0.1), (600, 1, 3.0), (900, 4, 0.3)]
    {
        places.extend([0.0, 0.02, 0.05].map(|scatter| (seconds, length, share, scatter)));
    }
    for (seconds, length, share, scatter) in places {
        for seed in 0..5 {
            let level = |from: usize, share: f64| (from, 2000.0 * share, scatter);
            let at = seconds / 2;
            let levels = [level(0, 1.0), level(at, share), level(at + length, 1.0)];
            let found = told(seconds, &levels, seed);
            let is_told = found.iter().any(|one| one.contains("to and fro") || one.contains("over and over"));
            assert!(!is_told, "{found:?}: {seconds} {length} {share} {scatter}, seed {seed}");
        }
    }
}

/// A sawtooth that ends low has been back at the top meanwhile: it has not fallen.
#[test]
fn a_sawtooth_goes_up_and_down() {
    for (seconds, period) in [(120, 30.0), (240, 60.0), (115, 30.0), (240, 30.0), (600, 200.0)] {
        for rises in [false, true] {
            let rate = |second: f64| {
                let phase = (second + 0.5) % period / period;
                2000.0 * (1.0 - 0.4 * if rises { 1.0 - phase } else { phase })
            };
            for scatter in [0.0, 0.01, 0.03] {
                for seed in 0..5 {
                    let found = told_of(seconds, &rate, scatter, seed).0;
                    let place = format!("{seconds} {period} {rises} {scatter}, seed {seed}: {found:?}");
                    assert!(!found.is_empty(), "{place}");
                    let drifted = found.iter().any(|one| one.contains("fell by") || one.contains("rose by"));
                    assert!(!drifted, "{place}");
                }
            }
        }
    }
}

/// What bends, and what falls with waves on it, has fallen nevertheless.
#[test]
fn a_fall_that_bends_or_trembles_is_a_fall() {
    let courses: [&dyn Fn(f64) -> f64; 5] = [
        &|t| 1.0 + (-t / 0.17).exp(),
        &|t| 1.0 - 0.5 * ((t - 0.67) / 0.33).max(0.0),
        &|t| 1.0 - 0.4 * t * t,
        &|t| 1.0 - 0.5 * t - 0.04 * (t * 40.0).sin(),
        &|t| 0.7 - 0.3 * ((t - 0.5) * 6.0).tanh(),
    ];
    for (which, course) in courses.iter().enumerate() {
        for seconds in [120, 600] {
            let rate = |second: f64| 10_000.0 * course((second + 0.5) / seconds as f64);
            for seed in 0..10 {
                let found = told_of(seconds, &rate, 0.03, seed).0;
                let is_turned = found.iter().any(|one| one.contains("up and down"));
                assert!(!found.is_empty() && !is_turned, "{which}, {seconds}, seed {seed}: {found:?}");
            }
        }
    }
}

/// A change at once that is too small for a level comes to no more as a drift than it did.
#[test]
fn a_small_change_at_once_is_no_larger_as_a_drift() {
    for left in [0.95, 0.92, 0.89] {
        for seed in 0..20 {
            let (found, percent) =
                told_of(120, &|second| if second < 60.0 { 2000.0 } else { 2000.0 * left }, 0.03, seed);
            // Standard error of the difference of both means, some 0.5 %.
            let most = 100.0 * (1.0 - left) + 2.0;
            assert!(percent.is_none_or(|percent| percent <= most), "{left}, seed {seed}: {found:?}");
        }
    }
}

/// A disk whose zones slow down from 1000/s to 286/s is read in sequence: after 135 s it begins at the fastest one again. Wherever the
/// run ends something is told, with noise and without.
#[test]
fn stairs_that_begin_again_are_told_wherever_they_end() {
    let zones = [1.0, 1.5, 2.0, 2.5, 3.0, 3.5];
    let rate = |second: f64| {
        let mut left = second % 135.0;
        let zone = zones.iter().find(|zone| {
            left -= 10.0 * **zone;
            left < 0.0
        });
        1000.0 / zone.expect("all of them take 135 s")
    };
    for seconds in (100..=300).step_by(10) {
        for noise in [0.0, 0.02] {
            let (found, _) = told_of(seconds, &rate, noise, 1);
            assert!(!found.is_empty(), "{seconds} s with noise of {noise}: nothing was found");
        }
    }
}
