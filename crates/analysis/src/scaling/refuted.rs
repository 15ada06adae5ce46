//! What measurements refute of a law that lies near them: a ceiling that throughput has passed already, or that one load alone tells
//! of, and a load for 95 % of the most beyond loads that gave as much. Fits nothing.

use super::curve::Load;
use super::estimate::{Estimate, from_below};
use super::fit::Point;
use super::law::Law;
use super::resample::AGAIN_MIN;
use super::verdict::kinks_at_last;

/// Share by which the largest load has to bring more than any other for throughput to grow still.
const GROWTH_MIN: f64 = 0.10;
/// Share of its ceiling that a law with a cap is said to hold.
const HELD_MIN: f64 = 0.999;
/// Share of a law's most that a load has to bring to have come to it, and to have brought 95 % of it whatever it lies off by.
const REACHED_MIN: f64 = 0.97;

/// Whether the end of what a law says hangs on the largest load alone, or is refuted by it.
pub(super) fn is_unsure(law: &Law, loads: &[Load]) -> bool {
    kinks_at_last(law, loads) || is_passed(law, loads)
}

/// A ceiling that is known from below alone, and by nothing more than the most that was measured.
pub(super) fn open(ceiling: Estimate, most: f64) -> Estimate {
    Estimate { value: ceiling.value.max(most), ..from_below(ceiling) }
}

/// Whether throughput still grows where it has come to the ceiling, or past it, that a law only approaches.
fn is_passed(law: &Law, loads: &[Load]) -> bool {
    let [before @ .., last] = loads else { return false };
    let Some(ceiling) = law.ceiling().filter(|_| law.peak().is_none()) else { return false };
    let most_before = before.iter().map(|load| load.x).fold(0.0, f64::max);
    // A law that is there itself holds its ceiling.
    let is_there = |x: f64| x >= REACHED_MIN * ceiling;
    is_there(last.x) && !is_there(law.throughput(last.n)) && last.x >= (1.0 + GROWTH_MIN) * most_before
}

/// Whether at least two loads lie on the cap of a law: one may lie on a curve that grows on.
pub(super) fn is_held(law: &Law, loads: &[Load]) -> bool {
    let on_it =
        |most: f64| loads.iter().filter(|load| law.throughput(load.n) >= HELD_MIN * most).count() >= 2;
    law.most().is_some_and(on_it)
}

/// Whether measuring loads again brought the same each time, so that nothing of what a law leaves is noise.
pub(super) fn is_noiseless(points: &[Point]) -> bool {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.n.total_cmp(&b.n));
    let groups: Vec<&[Point]> = sorted.chunk_by(|a, b| a.n == b.n).collect();
    let again = (points.len() - groups.len()) as f64;
    again >= AGAIN_MIN * groups.len() as f64
        && groups.iter().all(|group| group.iter().all(|point| point.x == group[0].x))
}

/// The load for 95 % of a law's most, which is no larger than one that brought as much.
pub(super) fn reached(found: Estimate, law: Option<Law>, loads: &[Load]) -> Estimate {
    let most = law.and_then(|law| law.most());
    let brings = |load: &&Load| most.is_some_and(|most| load.x >= REACHED_MIN * most);
    let (Some(first), Some(last)) = (loads.iter().find(brings), loads.last()) else { return found };
    if found.value <= last.n {
        return found;
    }
    let interval = found.interval.map(|(low, high)| (low.min(first.n), high.max(first.n)));
    Estimate { value: first.n, interval }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scaling::{Answers, Lawless, Verdict, Weighting, answers};

    fn told(points: &[Point]) -> Answers {
        answers(points, None, Weighting::Equal, &[], 1)
    }

    /// Throughput that grows by as much with each doubling of the load, as that of a disk that sorts its queue: it is full nowhere, and
    /// approaches nothing, however often it was measured and whatever measurements differ by.
    #[test]
    fn what_grows_with_every_doubling_is_neither_full_nor_near_a_ceiling() {
        for loads in [6, 7, 8] {
            for off in [None, Some(0.0), Some(1.0), Some(5.0)] {
                let x = |at: i32| 1000.0 + 1023.0 * f64::from(at);
                let again = off.map_or(vec![0.0], |off| vec![-off, 0.0, off]);
                let of = |at: i32| again.iter().map(move |off| Point { n: 2_f64.powi(at), x: x(at) + off });
                let points: Vec<Point> = (0..loads).flat_map(of).collect();
                let found = told(&points);
                assert!(
                    matches!(found.verdict, Verdict::NoLaw | Verdict::Contention),
                    "{loads} loads, {off:?}: {:?}",
                    found.verdict
                );
                // What was measured again and again tells that no law goes through it.
                assert!(found.chosen.is_none() || off.is_none() || loads == 6, "{loads} loads, {off:?}");
                if let Some(ceiling) = found.ceiling {
                    let (low, high) = ceiling.interval.expect("it has one");
                    let is_open = found.is_ceiling_open && high.is_infinite() && low <= ceiling.value;
                    assert!(
                        is_open && ceiling.value >= x(loads - 1)
                            || REACHED_MIN * ceiling.value > x(loads - 1),
                        "{loads} loads, {off:?}: {ceiling:?}"
                    );
                }
            }
        }
    }

    /// A kink that two loads lie beyond is one still.
    #[test]
    fn a_cap_that_two_loads_hold_is_told() {
        let loads = [1.0_f64, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
        let points: Vec<Point> = loads
            .iter()
            .flat_map(|&n| [0.995, 1.0, 1.005].map(|off| Point { n, x: off * (n * 500.0).min(14_000.0) }))
            .collect();
        let found = told(&points);
        assert_eq!(found.verdict, Verdict::Capped);
        assert!((found.ceiling.expect("it has one").value / 14_000.0 - 1.0).abs() < 0.01);
    }

    /// Throughput that falls on the way, and that brings a twentieth of what one operation does, is no straight line of which single loads
    /// are off.
    #[test]
    fn what_falls_on_the_way_is_no_rough_line() {
        let rough = |x: [f64; 8]| {
            let points: Vec<Point> =
                x.iter().zip(0..).map(|(&x, at)| Point { n: 2_f64.powi(at), x }).collect();
            told(&points).lawless == Some(Lawless::Rough)
        };
        assert!(!rough([100.0, 200.0, 350.0, 300.0, 500.0, 450.0, 400.0, 600.0]));
        assert!(rough([100.0, 200.0, 560.0, 800.0, 1200.0, 3200.0, 6400.0, 9600.0]));
    }

    #[test]
    fn a_most_that_was_brought_was_reached_there() {
        let loads = crate::scaling::curve::by_load(&[Point { n: 1.0, x: 100.0 }, Point { n: 8.0, x: 780.0 }]);
        let law = Law::SoftMin { slope: 100.0, cap: 800.0, sharpness: 1.0 };
        let far = Estimate { value: 152.0, interval: Some((100.0, 200.0)) };
        let found = reached(far, Some(law), &loads);
        assert_eq!((found.value, found.interval), (8.0, Some((8.0, 200.0))));
        let near = Estimate { value: 7.0, interval: None };
        assert_eq!(reached(near, Some(law), &loads), near);
    }
}
