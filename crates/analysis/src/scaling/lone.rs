//! Whether what a curve says hangs on one measurement. Does not fit.

use super::fit::{Point, Weighting};
use super::verdict::Verdict;
use fathom_units::Iops;

/// Share by which a measurement lies off the others of its load, at least, to be left out for a try.
const APART_MIN: f64 = 0.25;
/// Times what measurements of all other loads scatter that it lies off.
const APART_TIMES: f64 = 4.0;
/// Ratio of the largest to the smallest of measurements that agree.
const AGREE_MAX: f64 = 1.1;
/// Fewest measurements of a load of which one lies apart: of two nobody knows which.
const COUNT_MIN: usize = 3;
/// Loads with such a measurement of which more are no lone ones.
const LONE_MAX: usize = 2;

/// A measurement without which a curve says something else.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lone {
    pub(super) n: f64,
    pub(super) x: f64,
    /// Mean of the others of its load.
    pub(super) others: f64,
}

impl Lone {
    /// What a reader should do about it.
    pub(super) fn remark(&self) -> String {
        format!(
            "load {}: what the curve says hangs on one measurement, {}/s where the others of that load are {}/s: measure that load again",
            self.n,
            Iops(self.x),
            Iops(self.others)
        )
    }
}

/// The measurement on which a verdict hangs, if it hangs on one: it lies apart from the others of its load, which agree, and without it
/// another kind of curve is told. `told` is the verdict on some points.
pub(super) fn of(
    points: &[Point],
    weighting: Weighting,
    verdict: Verdict,
    told: impl Fn(&[Point]) -> Verdict,
) -> Option<Lone> {
    let found = apart(points, weighting);
    if found.len() > LONE_MAX {
        return None;
    }
    found.into_iter().find(|lone| {
        let rest: Vec<Point> =
            points.iter().copied().filter(|point| (point.n, point.x) != (lone.n, lone.x)).collect();
        kind(told(&rest)) != kind(verdict)
    })
}

/// Verdicts between which a reader would decide otherwise.
fn kind(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Linear => 0,
        Verdict::Flat => 1,
        Verdict::Contention | Verdict::Queueing | Verdict::Capped => 2,
        Verdict::Retrograde => 3,
        Verdict::NoLaw => 4,
    }
}

/// Of each load the measurement that lies apart from the others, on the scale on which errors count alike.
pub(super) fn apart(points: &[Point], weighting: Weighting) -> Vec<Lone> {
    let mut sorted: Vec<Point> = points.iter().copied().filter(|point| point.x > 0.0).collect();
    sorted.sort_by(|a, b| a.n.total_cmp(&b.n).then(a.x.total_cmp(&b.x)));
    let of_loads: Vec<&[Point]> = sorted.chunk_by(|a, b| a.n == b.n).collect();
    let off = |of_load: &[Point]| -> f64 {
        let middle = mean(of_load);
        of_load.iter().map(|point| error(point.x, middle, weighting).powi(2)).sum()
    };
    let squares: Vec<f64> = of_loads.iter().map(|of_load| off(of_load)).collect();
    let (all, freedom) = (squares.iter().sum::<f64>(), sorted.len() - of_loads.len());
    let lone = |(of_load, own): (&&[Point], &f64)| {
        let freedom = (freedom + 1).saturating_sub(of_load.len());
        let scatter = if freedom == 0 { 0.0 } else { ((all - own).max(0.0) / freedom as f64).sqrt() };
        let (low, high) = (of_load.first()?, of_load.last()?);
        let tries = [(high, &of_load[..of_load.len() - 1]), (low, &of_load[1..])];
        let is_apart = |(one, others): &(&Point, &[Point])| {
            let middle = mean(others);
            others[others.len() - 1].x <= AGREE_MAX * others[0].x
                && (one.x / middle - 1.0).abs() >= APART_MIN
                && error(one.x, middle, weighting).abs() > APART_TIMES * scatter
        };
        let (one, others) = tries.into_iter().filter(|_| of_load.len() >= COUNT_MIN).find(is_apart)?;
        Some(Lone { n: one.n, x: one.x, others: mean(others) })
    };
    of_loads.iter().zip(&squares).filter_map(lone).collect()
}

fn mean(points: &[Point]) -> f64 {
    points.iter().map(|point| point.x).sum::<f64>() / points.len() as f64
}

/// What a throughput is off: by operations, or by per cent.
pub(super) fn error(x: f64, middle: f64, weighting: Weighting) -> f64 {
    match weighting {
        Weighting::Equal => x - middle,
        Weighting::Relative => (x / middle).ln(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(of: &[(f64, &[f64])]) -> Vec<Point> {
        of.iter().flat_map(|(n, all)| all.iter().map(|&x| Point { n: *n, x })).collect()
    }

    #[test]
    fn what_lies_apart_is_found_where_the_others_agree() {
        let apart = |all: &[Point]| apart(all, Weighting::Relative);
        let found = apart(&points(&[(1.0, &[100.0, 101.0, 99.0]), (2.0, &[200.0, 600.0, 202.0])]));
        assert_eq!(found, [Lone { n: 2.0, x: 600.0, others: 201.0 }]);
        let low = apart(&points(&[(1.0, &[100.0, 101.0, 99.0]), (2.0, &[200.0, 20.0, 202.0])]));
        assert_eq!(low, [Lone { n: 2.0, x: 20.0, others: 201.0 }]);
        // Where all scatter as much, none is apart; of two nobody knows which is.
        assert_eq!(apart(&points(&[(1.0, &[100.0, 150.0, 80.0]), (2.0, &[200.0, 280.0, 202.0])])), []);
        assert_eq!(apart(&points(&[(1.0, &[100.0, 101.0]), (2.0, &[200.0, 600.0])])), []);
    }

    /// Where all throughputs scatter alike, a small one that is off by a third is off by no more than the others.
    #[test]
    fn what_lies_apart_does_so_on_the_scale_of_errors() {
        let all = points(&[(1.0, &[900.0, 910.0, 1250.0]), (64.0, &[9900.0, 10_050.0, 10_100.0])]);
        assert_eq!(apart(&all, Weighting::Equal), []);
        assert_eq!(apart(&all, Weighting::Relative).len(), 1);
    }

    #[test]
    fn a_verdict_hangs_on_what_changes_it() {
        let all = points(&[(1.0, &[100.0, 101.0, 99.0]), (2.0, &[200.0, 600.0, 202.0])]);
        let of_rest = |rest: &[Point]| {
            assert_eq!(rest.len(), 5);
            Verdict::Capped
        };
        assert_eq!(of(&all, Weighting::Equal, Verdict::Linear, of_rest).map(|lone| lone.x), Some(600.0));
        assert_eq!(of(&all, Weighting::Equal, Verdict::Contention, of_rest), None, "both are saturated");
    }
}
