//! Laws that the data supports beside the one that was chosen, and what they add to its intervals: those of a law alone leave out
//! that another one may be true. Chooses no law.

use super::choice::{explains, is_possible};
use super::fit::{Again, Fit, Point, Weighting};
use super::{curve, law::Law};

/// Disadvantage by `AICc` up to which a law has a twentieth of the weight of the chosen one or more, exp(−Δ/2) (Burnham & Anderson 2004):
/// together they are the 95 % confidence set of laws.
const AICC_RIVAL_MAX: f64 = 6.0;

/// What a law might have been, measured again.
#[derive(Debug, Default)]
pub(super) struct Resampled {
    /// Fitted within the bounds of its coefficients.
    pub(super) laws: Vec<Law>,
    /// Fitted without them. Where there is no coherency, half of the fits are at its bound, and those beyond it have the less
    /// contention: intervals of a bootstrap there begin too high (Andrews 2000, Econometrica 68, 399). Unbounded fits do for what hangs
    /// on contention alone; a knee they often do not have.
    pub(super) unbounded: Vec<Law>,
}

impl Resampled {
    pub(super) fn of(again: Vec<Again>) -> Self {
        let (laws, unbounded) = again.into_iter().map(|again| (again.law, again.unbounded)).unzip();
        Self { laws, unbounded }
    }
}

/// The laws that bend which fit hardly worse than the chosen one; none beside one that passes through all points.
pub(super) fn rivals(
    fits: &[Fit],
    chosen: Option<usize>,
    points: &[Point],
    weighting: Weighting,
    loads: &[curve::Load],
) -> Vec<usize> {
    let Some(own) = chosen.filter(|at| !fits[*at].is_exact()).and_then(|at| fits[at].aicc) else {
        return Vec::new();
    };
    let falls = curve::falls(loads);
    (0..fits.len())
        .filter(|&at| Some(at) != chosen)
        .filter(|&at| match fits[at].law {
            Law::Usl { .. } => true,
            Law::SoftMin { .. } => !falls,
            Law::Linear { .. } | Law::Capped { .. } => false,
        })
        .filter(|&at| fits[at].aicc.is_some_and(|aicc| aicc <= own + AICC_RIVAL_MAX))
        .filter(|&at| is_possible(&fits[at].law, loads) && explains(&fits[at], points, weighting, loads))
        .collect()
}

/// Times the most that was measured, its margin included, that a peak between two loads has to be for it to be no figure: the loads before it do
/// not bend, and the one beyond it alone tells how far it is.
const BEYOND_MEASURED: f64 = 1.2;

/// The loads between which a law has a peak that is far above all that was measured.
pub(super) fn unmeasured_peak(fit: &Fit, loads: &[curve::Load]) -> Option<(f64, f64)> {
    let peak = fit.law.peak().filter(|_| !fit.is_exact())?;
    let most = loads.iter().map(|load| load.x + load.margin.unwrap_or(0.0)).fold(0.0, f64::max);
    let beyond = loads.partition_point(|load| load.n <= peak.n);
    let (before, after) = (loads.get(beyond.checked_sub(1)?)?, loads.get(beyond)?);
    (peak.x > BEYOND_MEASURED * most).then_some((before.n, after.n))
}

/// The smallest interval that holds both.
pub(super) fn hull(one: (f64, f64), other: (f64, f64)) -> (f64, f64) {
    (one.0.min(other.0), one.1.max(other.1))
}

#[cfg(test)]
mod tests {
    use super::super::choice::answers;
    use super::super::verdict::Verdict;
    use super::super::{Point, Weighting};
    use crate::sample::normal;

    /// A ceiling that one load alone lies on, far beyond the others: a law that falls passes it as well, with a peak in between that nothing
    /// was measured near.
    #[test]
    fn a_peak_that_no_load_came_near_is_not_told() {
        for (loads, cap) in [
            (vec![1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 1024.0], 40.0),
            (vec![1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 1000.0], 9.0),
        ] {
            let (mut open, mut missed) = (0, 0);
            for seed in 0..60 {
                let mut random = fastrand::Rng::with_seed(seed);
                let mut measured =
                    |&n: &f64| Point { n, x: 100.0 * n.min(cap) * (1.0 + 0.01 * normal(&mut random)) };
                let points: Vec<Point> = loads.iter().map(&mut measured).collect();
                let most = points.iter().map(|point| point.x).fold(0.0, f64::max);
                for weighting in [Weighting::Relative, Weighting::Equal] {
                    let found = answers(&points, None, weighting, &[], 1);
                    assert!(found.peak.x.value < 1.2 * most, "{seed}: {:?}", found.peak);
                    assert!(
                        found.ceiling.is_none_or(|ceiling| ceiling.value < 1.2 * most),
                        "{:?}",
                        found.ceiling
                    );
                    let nearly = found.n_at_95_percent.and_then(|found| found.interval);
                    let truth = 0.95 * cap;
                    missed += usize::from(nearly.is_some_and(|(low, high)| truth < low || high < truth));
                    let told = found.remarks.iter().any(|remark| remark.starts_with("no load between "));
                    assert!(!told || found.is_ceiling_open, "{:?}", found.remarks);
                    open += usize::from(told);
                }
            }
            assert!(missed <= 12, "{missed} of 120 intervals at 95 % do not hold the truth");
            assert!(open > 0, "of some the loads leave it open");
        }
    }

    /// The fall was measured, the peak was not.
    #[test]
    fn a_fall_beyond_a_gap_is_one_without_its_peak() {
        let law = |n: f64| 100.0 * n / (1.0 + 0.005 * (n - 1.0) + 5e-5 * n * (n - 1.0));
        let mut random = fastrand::Rng::with_seed(3);
        let mut points = Vec::new();
        for n in [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 1000.0, 1500.0, 2000.0] {
            points.extend((0..3).map(|_| Point { n, x: law(n) * (1.0 + 0.003 * normal(&mut random)) }));
        }
        let found = answers(&points, None, Weighting::Relative, &[], 1);
        assert_eq!(found.verdict, Verdict::Retrograde, "{:?}", found.remarks);
        assert!(!found.peak.is_of_law && found.peak.n.value == 32.0, "{:?}", found.peak);
        assert!(
            found.remarks.iter().any(|remark| remark.starts_with("no load between 32 and 1000 ")),
            "{:?}",
            found.remarks
        );
    }

    /// Saturation with noise of 10 % that was measured once a load: a last load that is low by chance is no harm. What falls does so.
    #[test]
    fn a_last_load_that_is_low_by_chance_is_no_fall() {
        let loads = [1.0_f64, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];
        let harms = |law: &dyn Fn(f64) -> f64, noise: f64, seed: u64| {
            let mut random = fastrand::Rng::with_seed(seed);
            let point = |n: f64, random: &mut _| Point { n, x: law(n) * (1.0 + noise * normal(random)) };
            let points: Vec<Point> = loads.iter().map(|&n| point(n, &mut random)).collect();
            answers(&points, None, Weighting::Equal, &[], 1).verdict == Verdict::Retrograde
        };
        let saturates = |n: f64| 12_000.0 / (1.0 + (12_000.0 / (1000.0 * n)).powi(2)).sqrt();
        let false_ones = (0..60).filter(|&seed| harms(&saturates, 0.1, seed)).count();
        assert!(false_ones <= 4, "{false_ones} of 60");
        let falls = |n: f64| 1000.0 * n / (1.0 + 0.02 * (n - 1.0) + 0.001 * n * (n - 1.0));
        let right = (0..20).filter(|&seed| harms(&falls, 0.02, seed)).count();
        assert!(right >= 19, "{right} of 20");
    }
}
