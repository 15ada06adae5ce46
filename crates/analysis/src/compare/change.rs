//! Intervals of a relative change, on the scale of logarithms: a change is a ratio of two means, both of which are known only
//! so well. An interval of the difference divided by the base's mean takes that mean for exact; it is too narrow where a lot
//! changed, and reaches below −100 %.

use super::side::{Replicates, Series};
use crate::statistics::{Sample, subsessions, t_quantile, welch};

/// Independent values of a side: its runs or rounds, or as many of a run's intervals as are independent.
pub(super) fn sample(series: &Series) -> Option<Sample> {
    if series.of != Replicates::Intervals {
        return (series.values.len() >= 2).then(|| Sample::of(&series.values));
    }
    let found = subsessions(&series.values)?;
    // Those that resemble their neighbours are worth fewer, by what such a series forgets from one to the next (Bayley &
    // Hammersley 1946, of a first-order autoregression); those that are unlike them are worth more, which is left alone.
    let resemblance = if found.is_independent { 0.0 } else { found.correlation.max(0.0) };
    let worth = found.sample.count as f64 * (1.0 - resemblance) / (1.0 + resemblance);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "no more than there are")]
    let sample = Sample { count: worth.floor() as usize, ..found.sample };
    (sample.count >= 2).then_some(sample)
}

/// The logarithm of a sample's mean as a sample, by the delta method: variance s²/m². `None` where the mean is not above 0:
/// there is no ratio to it then.
fn logarithm(sample: &Sample) -> Option<Sample> {
    let &Sample { count, mean, variance } = sample;
    (mean > 0.0).then(|| Sample { count, mean: mean.ln(), variance: variance / (mean * mean) })
}

/// The interval that holds `half` to either side of a change on the scale of logarithms, as a change again. `None` where
/// nothing is left: everything is as far from nothing as it can be.
fn around(change: f64, half: f64) -> Option<(f64, f64)> {
    let middle = (change > -1.0).then(|| change.ln_1p())?;
    (middle.is_finite() && half.is_finite()).then(|| ((middle - half).exp_m1(), (middle + half).exp_m1()))
}

/// Interval of the relative change between the runs of one side and the only run of the other, which is taken to vary
/// as they do, as a share of its mean: Student's t with the pooled variance of `n` values and one (n − 1 degrees of freedom).
pub(super) fn change_of_one(runs: &Sample, change: f64, level: f64) -> Option<(f64, f64)> {
    let logarithm = logarithm(runs).filter(|runs| runs.count >= 2)?;
    let count = runs.count as f64;
    around(change, t_quantile(level, count - 1.0) * (logarithm.variance * (1.0 + 1.0 / count)).sqrt())
}

/// Interval of the relative change of means: Welch's of the logarithms of both, around the change of the totals, which weigh
/// every operation alike.
pub(super) fn change_interval(base: &Sample, new: &Sample, change: f64, level: f64) -> Option<(f64, f64)> {
    let (left, right) = (logarithm(base)?, logarithm(new)?);
    match welch(&right, &left) {
        Some(found) => around(change, t_quantile(level, found.freedom) * found.standard_error),
        // Neither side varies at all.
        None => (base.count >= 2 && new.count >= 2).then_some((change, change)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Comparisons of each case: coverage is told to within ± 1.6 % (two standard errors at 97.5 %).
    const COMPARISONS: u64 = 400;
    /// The level that figures of a comparison of one step have (two of them decide, Bonferroni).
    const LEVEL: f64 = 0.975;

    /// A normal value, enough so for noise (Irwin & Hall).
    fn normal(random: &mut fastrand::Rng) -> f64 {
        (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
    }

    /// One side: how many runs, and how much they vary as a share of their mean.
    type Shape = (usize, f64);

    /// The share of intervals that hold the true change.
    fn coverage(change: f64, base: Shape, new: Shape, level: f64) -> f64 {
        let side = |mean: f64, (count, noise): Shape, random: &mut fastrand::Rng| -> Sample {
            let values: Vec<f64> = (0..count).map(|_| mean * (1.0 + noise * normal(random))).collect();
            Sample::of(&values)
        };
        let holds = |seed: &u64| {
            let mut random = fastrand::Rng::with_seed(*seed);
            let (base, new) =
                (side(1000.0, base, &mut random), side(1000.0 * (1.0 + change), new, &mut random));
            let found = new.mean / base.mean - 1.0;
            let interval = match (base.count, new.count) {
                (1, _) => change_of_one(&new, found, level),
                (_, 1) => change_of_one(&base, found, level),
                _ => change_interval(&base, &new, found, level),
            };
            let (low, high) = interval.expect("both vary and are above 0");
            assert!(low > -1.0 && low <= found && found <= high, "{seed}: {low} {found} {high}");
            (low..=high).contains(&change)
        };
        (0..COMPARISONS).filter(holds).count() as f64 / COMPARISONS as f64
    }

    #[test]
    fn intervals_hold_the_true_change_as_often_as_they_say() {
        for change in [0.0, 0.05, 3.0, -0.75] {
            for (base, new) in [
                ((5, 0.05), (5, 0.05)),
                ((3, 0.05), (3, 0.05)),
                ((4, 0.05), (6, 0.05)),
                ((1, 0.05), (4, 0.05)),
                ((4, 0.05), (1, 0.05)),
                // Unequal variances, either way round.
                ((5, 0.02), (5, 0.10)),
                ((5, 0.10), (5, 0.02)),
                ((3, 0.01), (6, 0.08)),
                // Runs that scatter a lot.
                ((5, 0.15), (5, 0.15)),
            ] {
                let held = coverage(change, base, new, LEVEL);
                assert!((0.93..=0.995).contains(&held), "{change:+} of {base:?} and {new:?}: {held}");
            }
        }
        // At another level, too: as many as it says, not merely most.
        let held = coverage(3.0, (5, 0.05), (5, 0.05), 0.8);
        assert!((0.75..=0.86).contains(&held), "{held}");
    }

    #[test]
    fn a_known_interval() {
        // Both: mean 100 and 400, s = 5 %, five runs; df 8; t(0.975 two-sided, 8) = 2.7515; × √(2 · 0.0025/5) = 0.08701.
        let of = |mean: f64| Sample { count: 5, mean, variance: (0.05 * mean).powi(2) };
        let (low, high) = change_interval(&of(100.0), &of(400.0), 3.0, LEVEL).unwrap();
        assert!((low - (4.0 * (-0.08701_f64).exp() - 1.0)).abs() < 1e-3, "{low}");
        assert!((high - (4.0 * 0.08701_f64.exp() - 1.0)).abs() < 1e-3, "{high}");
        // Both ways round it is the same statement.
        let (back, forth) = change_interval(&of(400.0), &of(100.0), -0.75, LEVEL).unwrap();
        assert!(((1.0 + low) * (1.0 + forth) - 1.0).abs() < 1e-9, "{low} {forth}");
        assert!(((1.0 + high) * (1.0 + back) - 1.0).abs() < 1e-9, "{high} {back}");
    }

    #[test]
    fn what_is_nothing_has_no_ratio() {
        let of = |mean: f64| Sample { count: 3, mean, variance: 4.0 };
        assert_eq!(change_interval(&of(0.0), &of(10.0), f64::INFINITY, LEVEL), None);
        assert_eq!(change_interval(&of(10.0), &of(0.0), -1.0, LEVEL), None);
        assert_eq!(change_interval(&of(-1.0), &of(10.0), -11.0, LEVEL), None);
        assert_eq!(change_of_one(&of(10.0), -1.0, LEVEL), None);
        assert_eq!(change_of_one(&of(0.0), 0.5, LEVEL), None);
        // Noise far beyond the mean is a wide interval, never one below −100 %.
        let wild = Sample { count: 3, mean: 1.0, variance: 100.0 };
        let (low, high) = change_interval(&wild, &wild, 0.0, LEVEL).unwrap();
        assert!(low > -1.0 && low < -0.99 && high > 1e3, "{low} {high}");
        let constant = |mean: f64| Sample { count: 3, mean, variance: 0.0 };
        assert_eq!(change_interval(&constant(10.0), &constant(5.0), -0.5, LEVEL), Some((-0.5, -0.5)));
    }
}
