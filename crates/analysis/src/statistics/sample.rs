//! Mean, variance and the interval of a mean of independent values.

use super::distributions::t_quantile;

/// Count, mean and variance of values.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sample {
    /// How many.
    pub count: usize,
    /// Arithmetic mean; 0 of none.
    pub mean: f64,
    /// Sample variance (n − 1); 0 below two values.
    pub variance: f64,
}

impl Sample {
    /// Of these values, by Welford's recurrence: exact for constants, whatever their size.
    pub fn of(values: &[f64]) -> Self {
        let (mut mean, mut squares) = (0.0, 0.0);
        for (at, value) in values.iter().enumerate() {
            let off = value - mean;
            mean += off / (at + 1) as f64;
            squares += off * (value - mean);
        }
        let variance = if values.len() < 2 { 0.0 } else { squares / (values.len() - 1) as f64 };
        Self { count: values.len(), mean, variance }
    }

    /// Sample standard deviation.
    pub fn stddev(&self) -> f64 {
        self.variance.sqrt()
    }

    /// Half of the interval of the mean at `level` (0.95 for 95 %): t·s/√n. `None` below two values.
    pub fn half_width(&self, level: f64) -> Option<f64> {
        (self.count >= 2)
            .then(|| t_quantile(level, (self.count - 1) as f64) * (self.variance / self.count as f64).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_interval_of_a_known_sample() {
        let sample = Sample::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
        assert_eq!((sample.count, sample.mean), (8, 5.0));
        assert!((sample.variance - 32.0 / 7.0).abs() < 1e-12);
        // t(0.975, 7) = 2.364624 (tables); × √(32/7/8).
        assert!((sample.half_width(0.95).unwrap() - 2.364_624 * (32.0_f64 / 56.0).sqrt()).abs() < 1e-5);
        assert!((t_quantile(0.95, 11.0) - 2.200_985).abs() < 1e-5);
        assert_eq!(Sample::of(&[1e12; 1000]).variance, 0.0);
        assert_eq!(Sample::of(&[3.0]).half_width(0.95), None);
    }
}
