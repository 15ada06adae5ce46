//! Drift over a long run: slope of a straight line, with an interval that allows for memory.

use super::dependence::subsessions;
use super::distributions::t_quantile;

/// A straight line through a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Change from the first to the last value on the line.
    pub change: f64,
    /// 95 % interval of it.
    pub interval: (f64, f64),
    /// Mean of the series.
    pub mean: f64,
}

impl Trend {
    /// Whether 0 lies outside of the interval.
    pub fn is_certain(&self) -> bool {
        self.interval.0 > 0.0 || self.interval.1 < 0.0
    }
}

/// Least squares over equidistant values. The error of the slope is widened by the memory of the residuals: s²/n is taken
/// with the count of independent subsessions for n. `None` below eight values.
pub fn trend(values: &[f64]) -> Option<Trend> {
    let n = values.len();
    if n < 8 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    let middle = (n - 1) as f64 / 2.0;
    let spread = (n as f64).powi(3) / 12.0 - n as f64 / 12.0;
    let slope =
        values.iter().enumerate().map(|(at, v)| (at as f64 - middle) * (v - mean)).sum::<f64>() / spread;
    let residuals: Vec<f64> =
        values.iter().enumerate().map(|(at, v)| v - mean - slope * (at as f64 - middle)).collect();
    let squares: f64 = residuals.iter().map(|r| r * r).sum();
    let length = subsessions(&residuals).map_or(1, |found| found.length);
    let freedom = ((n / length) as f64 - 2.0).max(1.0);
    // Variance of the slope: s²/Σ(t−t̄)² for independent residuals, as many times more as a subsession has samples.
    let error = (squares / (n - 2) as f64 * length as f64 / spread).sqrt();
    let (change, half) = (slope * (n - 1) as f64, t_quantile(0.95, freedom) * error * (n - 1) as f64);
    Some(Trend { change, interval: (change - half, change + half), mean })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drift_is_told_from_noise() {
        let mut random = fastrand::Rng::with_seed(5);
        let mut noisy = |slope: f64| -> Vec<f64> {
            (0..500).map(|i| 1000.0 + slope * f64::from(i) + 20.0 * (random.f64() - 0.5)).collect()
        };
        let (flat, falling) = (trend(&noisy(0.0)).unwrap(), trend(&noisy(-0.2)).unwrap());
        assert!(!flat.is_certain(), "{flat:?}");
        assert!(falling.is_certain() && (falling.change + 99.8).abs() < 5.0, "{falling:?}");
        let line: Vec<f64> = (0..10).map(f64::from).collect();
        assert!((trend(&line).unwrap().change - 9.0).abs() < 1e-9);
    }
}
