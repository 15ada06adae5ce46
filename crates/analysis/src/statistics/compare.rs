//! Two samples side by side: difference of means, shift quantile by quantile.

use super::distributions::{t_beyond, t_quantile};
use super::quantile::nearest_rank;
use super::sample::Sample;

/// Difference of two means by Welch's test, which asks for no equal variances.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Mean of the first − mean of the second.
    pub difference: f64,
    /// Welch's statistic.
    pub t: f64,
    /// Degrees of freedom after Satterthwaite.
    pub freedom: f64,
    /// Two-sided chance of such a difference between equals.
    pub p: f64,
    /// Standard error of the difference.
    pub standard_error: f64,
}

impl Difference {
    /// Interval of the difference at `level`.
    pub fn interval(&self, level: f64) -> (f64, f64) {
        let half = t_quantile(level, self.freedom) * self.standard_error;
        (self.difference - half, self.difference + half)
    }
}

/// Welch's t-test. `None` when a side has fewer than two values, or neither varies.
pub fn welch(first: &Sample, second: &Sample) -> Option<Difference> {
    if first.count < 2 || second.count < 2 {
        return None;
    }
    let (v1, v2) = (first.variance / first.count as f64, second.variance / second.count as f64);
    let standard_error = (v1 + v2).sqrt();
    if standard_error == 0.0 {
        return None;
    }
    let difference = first.mean - second.mean;
    let t = difference / standard_error;
    let freedom =
        (v1 + v2).powi(2) / (v1 * v1 / (first.count - 1) as f64 + v2 * v2 / (second.count - 1) as f64);
    let p = t_beyond(t, freedom);
    Some(Difference { difference, t, freedom, p, standard_error })
}

/// One quantile of two distributions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    /// Which, 0 to 1.
    pub q: f64,
    /// In the first.
    pub first: f64,
    /// In the second.
    pub second: f64,
    /// Interval of second ÷ first.
    pub ratio_interval: Option<(f64, f64)>,
}

/// Quantiles of two sides that each consist of independent blocks (histograms of stretches of a run, or of whole runs):
/// blocks are resampled, merged and read, so that what latencies have in common within a block does not make the interval
/// too narrow. `level` is that of the intervals. A histogram is a list of counts per bucket; `value_of` gives a bucket's value.
pub fn quantile_shifts(
    first: &[Vec<u64>],
    second: &[Vec<u64>],
    quantiles: &[f64],
    value_of: &dyn Fn(usize) -> f64,
    level: f64,
    rounds: usize,
    seed: u64,
) -> Vec<Shift> {
    let mut random = fastrand::Rng::with_seed(seed);
    let whole = |blocks: &[Vec<u64>]| merged(blocks.iter());
    let (left, right) = (whole(first), whole(second));
    let enough = first.len() >= 2 && second.len() >= 2;
    let mut ratios: Vec<Vec<f64>> = vec![Vec::with_capacity(rounds); quantiles.len()];
    for _ in 0..if enough { rounds } else { 0 } {
        let mut draw =
            |blocks: &[Vec<u64>]| merged((0..blocks.len()).map(|_| &blocks[random.usize(..blocks.len())]));
        let (left, right) = (draw(first), draw(second));
        for (into, &q) in ratios.iter_mut().zip(quantiles) {
            if let (Some(left), Some(right)) = (bucket_at(&left, q), bucket_at(&right, q)) {
                into.push(value_of(right) / value_of(left));
            }
        }
    }
    quantiles
        .iter()
        .zip(ratios)
        .filter_map(|(&q, mut ratios)| {
            let (first, second) = (value_of(bucket_at(&left, q)?), value_of(bucket_at(&right, q)?));
            ratios.sort_by(f64::total_cmp);
            let tail = (1.0 - level) / 2.0;
            let ratio_interval = (!ratios.is_empty())
                .then(|| (nearest_rank(&ratios, tail), nearest_rank(&ratios, 1.0 - tail)));
            Some(Shift { q, first, second, ratio_interval })
        })
        .collect()
}

fn merged<'a>(blocks: impl Iterator<Item = &'a Vec<u64>>) -> Vec<u64> {
    let mut sum: Vec<u64> = Vec::new();
    for block in blocks {
        sum.resize(sum.len().max(block.len()), 0);
        sum.iter_mut().zip(block).for_each(|(into, from)| *into += from);
    }
    sum
}

/// The bucket of a quantile by nearest rank; `None` of nothing.
pub fn bucket_at(counts: &[u64], q: f64) -> Option<usize> {
    let total: u64 = counts.iter().sum();
    let rank = super::quantile::rank(q, total)?;
    let mut seen = 0;
    counts.iter().position(|count| {
        seen += count;
        seen >= rank
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_summary() {
        // Two published samples of 65, given by their summary: p = .024, 95 % interval −.540 … −.039.
        let side = |mean: f64, stddev: f64| Sample { count: 65, mean, variance: stddev * stddev };
        let found = welch(&side(98.105, 0.699), &side(98.394, 0.743)).unwrap();
        assert!((found.p - 0.024).abs() < 5e-4, "{found:?}");
        let (low, high) = found.interval(0.95);
        assert!((low + 0.540).abs() < 1e-3 && (high + 0.039).abs() < 1e-3, "{low} {high}");
    }

    #[test]
    fn a_shift_shows_at_the_quantile_that_moved() {
        // 99 % at bucket 1, 1 % at bucket 9 on the left and 18 on the right.
        let block = |slow: usize| {
            let mut counts = vec![0; 20];
            counts[1] = 980;
            counts[slow] = 20;
            counts
        };
        let (left, right) = (vec![block(9); 10], vec![block(18); 10]);
        let shifts = quantile_shifts(&left, &right, &[0.5, 0.99], &|bucket| bucket as f64, 0.95, 200, 5);
        assert_eq!((shifts[0].first, shifts[0].second), (1.0, 1.0));
        assert_eq!((shifts[1].first, shifts[1].second), (9.0, 18.0));
        assert_eq!(shifts[1].ratio_interval, Some((2.0, 2.0)));
    }
}
