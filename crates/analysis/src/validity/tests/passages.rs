//! What goes over to another level within some intervals is told with both, what approaches its level at the start is no fall, and what
//! does not come back is not said to have.

use super::timeline::{behaviour, counted};
use super::warmup::series;

/// What is told of fifty such series, but for ids.
fn told(seconds: usize, noise: f64, course: &dyn Fn(f64) -> f64) -> Vec<Vec<String>> {
    let one = |seed| {
        let found = behaviour(&counted(&series(seconds, noise, 0.0, seed, course), false));
        found.into_iter().map(|one| format!("{}: {}", one.id, one.evidence)).collect()
    };
    (0..50).map(one).collect()
}

/// From 1 at one time to a level at another.
fn over(from: f64, to: f64, level: f64) -> impl Fn(f64) -> f64 {
    move |t| 1.0 + (level - 1.0) * ((t - from) / (to - from)).clamp(0.0, 1.0)
}

#[test]
fn what_goes_over_to_another_level_is_told() {
    for (seconds, noise, from, to, level) in [
        (60, 0.01, 30.0, 40.0, 0.8),
        (60, 0.01, 40.0, 45.0, 0.7),
        (180, 0.01, 60.0, 80.0, 0.6),
        (180, 0.02, 120.0, 140.0, 0.8),
        (600, 0.03, 300.0, 360.0, 1.3),
    ] {
        let told = told(seconds, noise, &over(from, to, level));
        let place = format!("{level} from {from} s to {to} s of {seconds} s: {told:?}");
        let is_right = |one: &&Vec<String>| match one.as_slice() {
            [one] => {
                one.contains("smoothly") && one.contains("stayed there")
                    || one.starts_with("behaviour.level-changed")
            }
            _ => false,
        };
        assert!(told.iter().filter(is_right).count() >= 48, "{place}");
        let is_false =
            |one: &Vec<String>| one.iter().any(|one| one.contains("warm-up") || one.contains("came back"));
        assert!(!told.iter().any(is_false), "{place}");
    }
    // An exponential approach of another level is one as well; and one that goes on at the end has not stayed.
    let cools = |t: f64| 0.6 + 0.4 * (-(t - 120.0).max(0.0) / 10.0).exp();
    let told_of_it = told(180, 0.02, &cools);
    assert!(
        !told_of_it.iter().any(|one| one.is_empty() || one[0].contains("and came back")),
        "{told_of_it:?}"
    );
    let at_end = told(180, 0.01, &over(170.0, 180.0, 0.75));
    let is_told = |one: &&Vec<String>| {
        let ends =
            |said: &String| said.contains("to the end") || said.contains("had not come back at the end");
        one.iter().any(|said| ends(said) || said.starts_with("behaviour.level-changed"))
    };
    assert!(at_end.iter().filter(is_told).count() >= 48, "{at_end:?}");
}

/// A fall that is half made up for later has not stayed where it came to.
#[test]
fn what_goes_on_later_has_not_stayed() {
    let course = |t: f64| over(60.0, 80.0, 0.5)(t) + 0.2 * ((t - 120.0) / 20.0).clamp(0.0, 1.0);
    for noise in [0.001, 0.01, 0.02] {
        let told = told(240, noise, &course);
        assert!(
            !told.iter().any(|one| one.is_empty() || one[0].contains("stayed there")),
            "{noise}: {told:?}"
        );
    }
}

#[test]
fn what_approaches_its_level_at_the_start_has_not_fallen() {
    for (depth, pace) in [(0.2, 3.0), (0.3, 5.0), (0.4, 8.0), (-0.2, 3.0), (-0.4, 8.0)] {
        for seconds in [180, 600] {
            let told = told(seconds, 0.01, &|t| 1.0 - depth * (-t / pace).exp());
            let starts = |one: &Vec<String>, id: &str| one.iter().any(|one| one.starts_with(id));
            let moved =
                told.iter().filter(|one| starts(one, "behaviour.drift") || starts(one, "behaviour.level"));
            let remembers = told.iter().filter(|one| starts(one, "behaviour.memory"));
            assert!(
                moved.count() <= 1 && remembers.count() <= 12,
                "{depth} at {pace} s of {seconds} s: {told:?}"
            );
        }
    }
}

/// One operation of a second after the other, of which the last is done with the one before it.
#[test]
fn operations_on_the_edges_of_intervals_make_no_course() {
    let mut edges = vec![1; 201];
    (edges[0], edges[200]) = (0, 2);
    let told = |counts: &[u64], queue_depth: u32| {
        let mut made = counted(counts, false);
        made.steps[0].started.step.streams[0].queue_depth = queue_depth;
        behaviour(&made).into_iter().map(|one| format!("{}: {}", one.id, one.evidence)).collect::<Vec<_>>()
    };
    assert_eq!(told(&edges, 1), Vec::<String>::new());
    // The same course of many operations is one, whatever the depth.
    let many: Vec<u64> = (0..201).map(|at| if at > 193 { 1350 } else { 1000 }).collect();
    assert_eq!(told(&many, 32).len(), 1, "{:?}", told(&many, 32));
    // So is one of few that goes on for longer than those under way explain.
    let few: Vec<u64> = (0..200).map(|at| if at < 100 { 2 } else { 1 }).collect();
    assert_eq!(told(&few, 1).len(), 1, "{:?}", told(&few, 1));
}
