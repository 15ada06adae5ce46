//! How far a figure may lie off that hangs on how sharply a curve bends, where the loads hardly tell: by the profile likelihood of
//! the sharpness of a soft minimum. Its errors are no normal ones, and resamples about a sharp knee are as sharp.

use super::choice::{Figure, is_mixed};
use super::estimate::Estimate;
use super::fit::{Point, SHARPNESS_MAX, Weighting, soft_min_of, weigh};
use super::law::Law;
use crate::statistics::t_quantile;

/// Steps in which the sharpness is varied, evenly in its logarithm.
const STEPS: u32 = 100;

/// Sharpness up to which a soft minimum is contention alone: its bound of 1, but for rounding.
const SHARPNESS_LEAST: f64 = 1.0 + 1e-6;

/// The load for 95 % of a law's most. That of a peak and that of a ceiling are two figures: resamples of the other kind say nothing of
/// this one. Nor do those of a soft minimum at the bound of its sharpness, where it is contention, on this side of it. Its interval holds
/// that of every law which fits hardly worse than the best one.
pub(super) fn n_at_95_percent(
    own: &Law,
    resampled: &[Law],
    estimate: &dyn Fn(Figure<'_>) -> Option<Estimate>,
    points: &[Point],
    weighting: Weighting,
) -> Option<Estimate> {
    own.most()?;
    let at_bound = |law: &Law| matches!(law, Law::SoftMin { sharpness, .. } if *sharpness <= SHARPNESS_LEAST);
    let of_law = |law: &Law| law.load_at(0.95 * law.most()?);
    let found = estimate(&|law| {
        let is_same = law.peak().is_some() == own.peak().is_some() && at_bound(law) == at_bound(own);
        if is_same { of_law(law) } else { None }
    })?;
    let mut others = hardly_worse(own, points, weighting);
    others.retain(|law| at_bound(law) == at_bound(own));
    let hold = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
    let interval = found.interval.filter(|_| !is_mixed(resampled));
    let interval = interval.map(|own| others.iter().filter_map(of_law).fold(own, hold));
    Some(Estimate { interval, ..found })
}

/// Soft minima of other sharpness within the 95 % interval of that of the best one (F test of one coefficient); none of another law.
fn hardly_worse(best: &Law, points: &[Point], weighting: Weighting) -> Vec<Law> {
    let &Law::SoftMin { slope, cap, sharpness } = best else { return Vec::new() };
    let freedom = points.len() as f64 - 3.0;
    if freedom < 1.0 {
        return Vec::new();
    }
    let weighted = weigh(points, weighting.power());
    let left = weighted.iter().map(|p| (p.root * (best.throughput(p.n) - p.x)).powi(2)).sum::<f64>();
    let most = left * (1.0 + t_quantile(0.95, freedom).powi(2) / freedom);
    let starts = [[slope.ln(), cap.ln(), sharpness.ln()]];
    (0..=STEPS)
        .filter_map(|step| {
            let sharpness = f64::from(step) / f64::from(STEPS) * SHARPNESS_MAX.ln();
            let ([slope, cap, sharpness], rss) = soft_min_of(&weighted, &starts, sharpness)?;
            let law = Law::SoftMin { slope: slope.exp(), cap: cap.exp(), sharpness: sharpness.exp() };
            (rss <= most).then_some(law)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::normal;
    use crate::scaling::answers;

    /// Loads that are doubled leave a knee open that is nearly hard: the load for 95 % of the ceiling lies between two of them.
    #[test]
    fn what_hangs_on_a_sharpness_that_is_hardly_known_has_a_wide_interval() {
        for (sharpness, noise) in [(8.0_f64, 0.05), (12.0, 0.03)] {
            let law = Law::SoftMin { slope: 1000.0, cap: 20_000.0, sharpness };
            let share = 0.95_f64.powf(sharpness);
            let truth = 20.0 * (share / (1.0 - share)).powf(1.0 / sharpness);
            let mut random = fastrand::Rng::with_seed(1);
            let (mut told, mut held) = (0, 0);
            for seed in 0..60 {
                let loads = (0..9).flat_map(|at| std::iter::repeat_n(f64::from(1 << at), 3));
                let x = |n: f64| law.throughput(n);
                let points: Vec<Point> =
                    loads.map(|n| Point { n, x: x(n) * (1.0 + noise * normal(&mut random)) }).collect();
                let found = answers(&points, None, Weighting::Equal, &[], seed).n_at_95_percent;
                if let Some((low, high)) = found.and_then(|found| found.interval) {
                    told += 1;
                    held += u32::from((low..=high).contains(&truth));
                }
            }
            assert!(
                told >= 50 && held * 10 >= told * 9,
                "{held} of {told} hold {truth} of sharpness {sharpness}"
            );
        }
    }
}
