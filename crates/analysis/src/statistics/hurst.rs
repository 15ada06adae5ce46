//! How long a series remembers: the Hurst exponent, by two estimators that err in different ways. Both take about 2·n steps.

use super::dependence::autocorrelation;
use super::sample::Sample;

/// Fewest values that an estimate is made from: five scales with enough blocks each.
const VALUES_MIN: usize = 512;
/// Fewest blocks of the largest scale.
const BLOCKS_MIN: usize = 16;
/// Scales that are the longest.
const LONGEST: usize = 2;
/// Rounds in which the estimate by variances corrects itself for the mean that each was taken about; it moves by less than a
/// thousandth after three.
const CORRECTIONS: usize = 5;

/// The exponent of a series: 0.5 of one without memory, above it of one whose excursions last (bursts within bursts), below it of
/// one that turns back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hurst {
    /// By aggregated variances: `Var(means of m values) ∝ m^(2H−2)`.
    pub by_variance: f64,
    /// By the energies of Haar wavelets: of octave j `∝ 2^(j(2H−1))`. Knows no slow drift, which the other takes for memory.
    pub by_wavelet: f64,
    /// Largest number of values of a block; from 1 up to it the series was looked at.
    pub block_max: usize,
    /// How many times the variance of the longest blocks is that of noise that only remembers its last value, and resembles it as much
    /// (AR(1)): at the short scales, which have the most blocks, that has a slope as well.
    pub beyond_neighbours: f64,
}

impl Hurst {
    /// What both say at least: neither alone tells memory from an accident.
    pub fn least(&self) -> f64 {
        self.by_variance.min(self.by_wavelet)
    }
}

/// The exponent of a series without jumps and trends; `None` below 512 values, or where nothing varies.
pub fn hurst(values: &[f64]) -> Option<Hurst> {
    if values.len() < VALUES_MIN {
        return None;
    }
    let (mut means, mut block) = (values.to_vec(), 1_usize);
    let mut variances: Vec<Scale> = Vec::new();
    let mut energies: Vec<Scale> = Vec::new();
    loop {
        let sample = Sample::of(&means);
        variances.push(Scale { block, count: means.len(), figure: sample.variance });
        let pairs = means.chunks_exact(2);
        let differences: f64 = pairs.clone().map(|pair| (pair[0] - pair[1]).powi(2)).sum();
        let count = means.len() / 2;
        // Of means, so times the length of a block: Haar's details are sums divided by the root of their length.
        energies.push(Scale {
            block: 2 * block,
            count,
            figure: differences / count as f64 / 2.0 * block as f64,
        });
        if count < BLOCKS_MIN {
            break;
        }
        means = pairs.map(|pair| f64::midpoint(pair[0], pair[1])).collect();
        block *= 2;
    }
    energies.retain(|scale| scale.count >= BLOCKS_MIN);
    if variances.iter().chain(&energies).any(|scale| scale.figure <= 0.0) {
        return None;
    }
    let by_wavelet = f64::midpoint(slope(&energies), 1.0);
    let correlation = autocorrelation(values, Sample::of(values).mean);
    let beyond =
        |scale: &Scale| scale.figure / (variances[0].figure * of_neighbours(correlation, scale.block));
    let longest = &variances[variances.len().saturating_sub(LONGEST)..];
    let beyond_neighbours = longest.iter().map(beyond).fold(f64::INFINITY, f64::min);
    Some(Hurst { by_variance: by_variance(&variances), by_wavelet, block_max: block, beyond_neighbours })
}

/// Variance of means of m values, as a part of theirs, where each only remembers the one before with correlation ρ:
/// `1/m · ((1+ρ)/(1−ρ) − 2ρ(1−ρ^m)/(m(1−ρ)²))`.
fn of_neighbours(correlation: f64, block: usize) -> f64 {
    let (m, rest) = (block as f64, 1.0 - correlation);
    let sum =
        (1.0 + correlation) / rest - 2.0 * correlation * (1.0 - correlation.powf(m)) / (m * rest * rest);
    sum / m
}

/// A figure of blocks of one length.
#[derive(Debug, Clone, Copy)]
struct Scale {
    block: usize,
    count: usize,
    figure: f64,
}

/// The variance of k means about their own mean lacks that of this mean, which is `k^(2H−2)` of it.
fn by_variance(scales: &[Scale]) -> f64 {
    let mut exponent = 0.5;
    for _ in 0..CORRECTIONS {
        let corrected: Vec<Scale> = scales
            .iter()
            .map(|scale| {
                let lacking = (scale.count as f64).powf(2.0 * exponent - 2.0);
                Scale { figure: scale.figure / (1.0 - lacking), ..*scale }
            })
            .collect();
        // Beyond 0.99 the correction would feed on itself.
        exponent = (1.0 + slope(&corrected) / 2.0).clamp(0.01, 0.99);
    }
    exponent
}

/// Slope of log₂ figure over log₂ block, each scale weighted by its blocks; the logarithm of a mean of n squares is low by
/// about 1/(n·ln 2) (Abry & Veitch 1998).
fn slope(scales: &[Scale]) -> f64 {
    let rows = || {
        scales.iter().map(|scale| {
            let n = scale.count as f64;
            let bias = 1.0 / (n * std::f64::consts::LN_2);
            ((scale.block as f64).log2(), scale.figure.log2() + bias, n)
        })
    };
    let weight: f64 = rows().map(|(_, _, w)| w).sum();
    let x = rows().map(|(x, _, w)| w * x).sum::<f64>() / weight;
    let y = rows().map(|(_, y, w)| w * y).sum::<f64>() / weight;
    let spread: f64 = rows().map(|(own, _, w)| w * (own - x).powi(2)).sum();
    rows().map(|(own, of, w)| w * (own - x) * (of - y)).sum::<f64>() / spread
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Independent normal values (Box & Muller).
    fn white(count: usize, seed: u64) -> Vec<f64> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut draw = || {
            let (a, b) = (1.0 - random.f64(), random.f64());
            (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
        };
        (0..count).map(|_| draw()).collect()
    }

    /// Fractional Gaussian noise, exact: each value drawn from its distribution given all before (Hosking 1984).
    fn noise(exponent: f64, count: usize, seed: u64) -> Vec<f64> {
        let covariance = |lag: usize| {
            let of = |lag: f64| lag.abs().powf(2.0 * exponent);
            0.5 * (of(lag as f64 + 1.0) - 2.0 * of(lag as f64) + of(lag as f64 - 1.0))
        };
        let white = white(count, seed);
        let mut values = vec![white[0]];
        let (mut weights, mut left): (Vec<f64>, f64) = (Vec::new(), 1.0);
        for (at, drawn) in white.iter().enumerate().skip(1) {
            let known: f64 = weights.iter().enumerate().map(|(lag, w)| w * covariance(at - 1 - lag)).sum();
            let partial = (covariance(at) - known) / left;
            let mirrored: Vec<f64> =
                weights.iter().zip(weights.iter().rev()).map(|(w, other)| w - partial * other).collect();
            weights = mirrored;
            weights.push(partial);
            left *= 1.0 - partial * partial;
            let mean: f64 = weights.iter().zip(values.iter().rev()).map(|(w, v)| w * v).sum();
            values.push(mean + left.sqrt() * drawn);
        }
        values
    }

    #[test]
    fn series_without_memory_have_one_half() {
        let found = hurst(&white(1 << 16, 5)).unwrap();
        assert!((found.by_variance - 0.5).abs() < 0.05 && (found.by_wavelet - 0.5).abs() < 0.05, "{found:?}");
        assert_eq!(found.block_max, 4096);
    }

    #[test]
    fn noise_of_a_known_exponent_has_it() {
        for exponent in [0.3, 0.7, 0.85] {
            let found = hurst(&noise(exponent, 4096, 11)).unwrap();
            for estimate in [found.by_variance, found.by_wavelet] {
                assert!((estimate - exponent).abs() < 0.07, "{found:?}, not {exponent}");
            }
        }
    }

    #[test]
    fn what_only_remembers_its_last_value_is_no_burst_within_bursts() {
        let of_exponent = |seed| hurst(&noise(0.85, 1024, seed)).unwrap().beyond_neighbours;
        let found: Vec<f64> = (0..10).map(of_exponent).collect();
        assert!(found.iter().filter(|beyond| **beyond > 1.6).count() >= 7, "{found:?}");
        for correlation in [0.0, 0.5, 0.7, 0.9_f64] {
            let far = (0..50).filter(|&seed| {
                let mut value = 0.0;
                let scale = (1.0 - correlation * correlation).sqrt();
                let chain: Vec<f64> = white(600, seed)
                    .into_iter()
                    .map(|drawn| {
                        value = correlation * value + scale * drawn;
                        value
                    })
                    .collect();
                hurst(&chain).unwrap().beyond_neighbours > 1.6
            });
            let far = far.count();
            assert!(far <= 1, "{far} of 50 at {correlation}");
        }
        // Of 2 values: (1 + ρ)/2.
        assert!((of_neighbours(0.6, 2) - 0.8).abs() < 1e-12 && (of_neighbours(0.0, 4) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn what_is_too_short_or_still_has_none() {
        assert_eq!(hurst(&white(511, 1)), None);
        assert_eq!(hurst(&[7.0; 1000]), None);
    }
}
