//! The laws that a curve might have had as well: fitted again to data drawn from what it scatters by. What they differ by
//! is the interval of every answer.

use super::curve;
use super::fit::{Again, Fit, Point, Weighting};
use crate::statistics::t_quantile;

/// How often each load has to be measured again, on average, for what repeated measurements differ by to be known.
pub(super) const AGAIN_MIN: f64 = 1.0;
/// Points that resampling draws anew; of more it takes as many, spread over all loads, and errors that are smaller by the root of
/// their share: the coefficients scatter as those of all do, and the work has a bound.
const RESAMPLED_POINTS_MAX: usize = 1000;

/// Fits of resampled data: residuals drawn with replacement and put back on the law. They are alike once each is divided by the power
/// of throughput that errors grow with: where that is another one than the weights take for it, they are those of a law that is
/// fitted with weights by it, and what is put back is of the size that errors have there. Where nothing tells that power, half of
/// the data is drawn as if errors were alike and half as if they grew with throughput: either is usual, and a figure that
/// hangs on the small loads is uncertain by the one, one that hangs on the large ones by the other.
///
/// `lacks_fit`: the law leaves more at the loads than measuring them again scattered. What is off at a load is then off in all of
/// its measurements alike, and they are one: errors are drawn by load, for as many as there are (Davison & Hinkley 1997, 3.8).
pub(super) fn resample(
    fit: &Fit,
    points: &[Point],
    weighting: Weighting,
    lacks_fit: bool,
    seed: u64,
) -> Vec<Again> {
    // Exact data has nothing to resample.
    if fit.is_exact() || points.len() <= fit.coefficients.len() {
        return Vec::new();
    }
    let loads = curve::by_load(points);
    if lacks_fit && loads.len() > fit.coefficients.len() {
        let points: Vec<Point> = loads.iter().map(|load| Point { n: load.n, x: load.x }).collect();
        return resample(fit, &points, weighting, false, seed);
    }
    let mut random = fastrand::Rng::with_seed(seed);
    // The order in which points come is no matter.
    let mut points = points.to_vec();
    points.sort_by(|a, b| a.n.total_cmp(&b.n).then(a.x.total_cmp(&b.x)));
    let points = points.as_slice();
    // Residuals of a fit are smaller than the errors behind them by √(1 − p/n), and of few of them the variance is
    // uncertain, which makes Student's t out of the normal's 1.96.
    let freedom = (points.len() - fit.coefficients.len()) as f64;
    let spread = (points.len() as f64 / freedom).sqrt() * t_quantile(0.95, freedom) / 1.96;
    // Who weighs every per cent alike has said how errors grow.
    let powers = match (weighting, scatter_power(points)) {
        (Weighting::Relative, _) => vec![1.0],
        (Weighting::Equal, Some(power)) => vec![power],
        (Weighting::Equal, None) => vec![0.0, 1.0],
    };
    let scale = |x: f64, power: f64| x.powf(power);
    let ways: Vec<(f64, Vec<f64>)> = powers
        .into_iter()
        .map(|power| {
            let of_errors = if power == weighting.power() { None } else { fit.again(points, power) };
            let of_errors = of_errors.map_or(fit.law, |again| again.law);
            let residual = |p: &Point| spread * (p.x - of_errors.throughput(p.n)) / scale(p.x, power);
            (power, points.iter().map(residual).collect())
        })
        .collect();
    let smallest = points.iter().map(|p| p.x).fold(f64::INFINITY, f64::min) * 1e-3;
    let taken = spread_over(points);
    let shrunk = (taken.len() as f64 / points.len() as f64).sqrt();
    (0..curve::RESAMPLES)
        .filter_map(|turn| {
            let (power, residuals) = &ways[turn % ways.len()];
            let drawn: Vec<Point> = taken
                .iter()
                .map(|p| {
                    let fitted = fit.law.throughput(p.n);
                    let error = shrunk * residuals[random.usize(..residuals.len())] * scale(fitted, *power);
                    Point { n: p.n, x: (fitted + error).max(smallest) }
                })
                .collect();
            fit.again(&drawn, weighting.power())
        })
        .collect()
}

/// Powers of throughput that errors may grow with, in steps of so much, up to so many: from not at all to somewhat faster than it.
const POWER_STEP: f64 = 0.1;
const POWERS: u32 = 13;

/// The power of throughput that explains best how far measurements of one load differ, for normal errors: the maximum of
/// `−ν/2·ln Σ sⱼ/x̄ⱼ^2θ − θ Σ νⱼ ln x̄ⱼ` over θ, with the sum of squares sⱼ about the mean x̄ⱼ of each load and its νⱼ degrees of
/// freedom (Davidian & Carroll 1987). `None` where loads were not measured again often enough for that to be known, or do not
/// differ.
fn scatter_power(points: &[Point]) -> Option<f64> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.n.total_cmp(&b.n));
    let loads: Vec<(f64, f64, f64)> = sorted
        .chunk_by(|a, b| a.n == b.n)
        .map(|group| {
            let mean = group.iter().map(|point| point.x).sum::<f64>() / group.len() as f64;
            (mean, group.iter().map(|point| (point.x - mean).powi(2)).sum(), (group.len() - 1) as f64)
        })
        .collect();
    let freedom: f64 = loads.iter().map(|load| load.2).sum();
    let squares: f64 = loads.iter().map(|load| load.1).sum();
    if freedom < AGAIN_MIN * loads.len() as f64 || squares <= 0.0 {
        return None;
    }
    let likelihood = |power: f64| {
        let scaled: f64 = loads.iter().map(|(mean, squares, _)| squares / mean.powf(2.0 * power)).sum();
        let of_scale: f64 = loads.iter().map(|(mean, _, freedom)| freedom * mean.ln()).sum();
        -freedom / 2.0 * scaled.ln() - power * of_scale
    };
    let powers = (0..POWERS).map(|step| f64::from(step) * POWER_STEP);
    powers.max_by(|a, b| likelihood(*a).total_cmp(&likelihood(*b)))
}

/// All points, or so many of them that every part of the loads has its share.
fn spread_over(points: &[Point]) -> Vec<Point> {
    if points.len() <= RESAMPLED_POINTS_MAX {
        return points.to_vec();
    }
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.n.total_cmp(&b.n));
    (0..RESAMPLED_POINTS_MAX).map(|at| sorted[at * sorted.len() / RESAMPLED_POINTS_MAX]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::normal;

    #[test]
    fn measurements_of_one_load_tell_how_errors_grow() {
        let measured = |times: usize, power: f64, size: f64| -> Vec<Point> {
            let mut random = fastrand::Rng::with_seed(3);
            let loads = (0..10).flat_map(|at| std::iter::repeat_n(f64::from(1 << at), times));
            let x = |n: f64| 1000.0 * n / (1.0 + 0.02 * (n - 1.0));
            loads.map(|n| Point { n, x: x(n) + size * x(n).powf(power) * normal(&mut random) }).collect()
        };
        for power in [0.0, 0.5, 1.0] {
            let found = scatter_power(&measured(20, power, 0.01)).expect("they differ");
            assert!((found - power).abs() <= 0.15, "{found}, not {power}");
        }
        assert_eq!(scatter_power(&measured(1, 1.0, 0.01)), None);
        assert_eq!(scatter_power(&measured(3, 1.0, 0.0)), None);
        // Two of ten loads were measured again: the others' errors may be of another size.
        let mut few = measured(1, 0.0, 1.0);
        few.extend([Point { n: 1.0, x: 1010.0 }, Point { n: 512.0, x: 45_000.0 }]);
        assert_eq!(scatter_power(&few), None);
    }
}
