//! The runs test of Wald and Wolfowitz: whether signs follow one another by chance.

use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::factorial::ln_binomial;

/// Signs above which the normal approximation is taken.
const EXACT_MAX: usize = 200;

/// Chance of as few runs of equal signs, or fewer, among these residuals if their order is by chance. Zeros are left out.
/// `None` when all have one sign, or none has. Worked value: + + + + − − − − has 2 runs, p = 2 / C(8, 4) = 0.0286.
pub fn runs_p(residuals: &[f64]) -> Option<f64> {
    let signs: Vec<bool> = residuals.iter().filter(|r| **r != 0.0).map(|r| *r > 0.0).collect();
    let positive = signs.iter().filter(|sign| **sign).count();
    let negative = signs.len() - positive;
    if positive == 0 || negative == 0 {
        return None;
    }
    let runs = 1 + signs.windows(2).filter(|pair| pair[0] != pair[1]).count();
    if signs.len() > EXACT_MAX {
        let (p, q, n) = (positive as f64, negative as f64, signs.len() as f64);
        let mean = 1.0 + 2.0 * p * q / n;
        let variance = (mean - 1.0) * (mean - 2.0) / (n - 1.0);
        let normal = Normal::standard();
        return Some(normal.cdf((runs as f64 + 0.5 - mean) / variance.sqrt()));
    }
    let ln_choose =
        |n: usize, k: usize| if k > n { f64::NEG_INFINITY } else { ln_binomial(n as u64, k as u64) };
    let all = ln_choose(signs.len(), positive);
    let chance = |runs: usize| {
        let half = runs / 2;
        let ways = |a: usize, b: usize| (ln_choose(positive - 1, a) + ln_choose(negative - 1, b) - all).exp();
        if runs.is_multiple_of(2) {
            2.0 * ways(half - 1, half - 1)
        } else {
            ways(half, half - 1) + ways(half - 1, half)
        }
    };
    Some((2..=runs).map(chance).sum::<f64>().min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_runs_are_improbable() {
        let close = |signs: &[f64], expect: f64| {
            assert!((runs_p(signs).unwrap() - expect).abs() < 1e-9, "{:?}", runs_p(signs));
        };
        close(&[1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0], 2.0 / 70.0);
        close(&[1.0, -1.0, 1.0, -1.0], 1.0);
        assert_eq!(runs_p(&[1.0, 2.0, 0.0]), None);
        let sorted: Vec<f64> = (0..400).map(|i| if i < 200 { 1.0 } else { -1.0 }).collect();
        assert!(runs_p(&sorted).unwrap() < 1e-12);
    }
}
