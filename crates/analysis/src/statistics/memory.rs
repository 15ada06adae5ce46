//! How much the memory of a series widens the variance of a share of it: means of batches (Law & Carson 1979), corrected for
//! what batches still remember of one another. Does not know what the share is for.

use super::dependence::{autocorrelation, subsession_means};
use super::sample::Sample;

/// Batches that variances are taken of. Few and long ones miss no memory, many and short ones find a weak one.
const BATCHES: [usize; 3] = [BATCHES_MIN, 40, 100];
/// Fewest of them: of fewer, a variance is off by more than a third.
const BATCHES_MIN: usize = 20;
/// Autocorrelation of neighbouring batches above which the series is too short for its memory.
const CORRELATION_MAX: f64 = 0.4;
/// The most that a variance is corrected for it.
const CORRELATION_CORRECTED_MAX: f64 = 0.9;

/// Degrees of freedom of what is found.
pub(super) const FREEDOM: f64 = (BATCHES_MIN - 1) as f64;

/// What a series shows of its memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Memory {
    /// Neighbours resemble one another no more than chance has it.
    None,
    /// The variance of a mean is so many times that of independent values, at least 1.
    Widens(f64),
    /// It remembers for longer than it tells.
    TooShort,
}

impl Memory {
    /// Of a series. `certain`: how many standard errors it takes for a resemblance to be no chance.
    pub(super) fn of(values: &[f64], certain: f64) -> Self {
        let whole = Sample::of(values);
        if whole.variance <= 0.0 {
            return Self::None;
        }
        let mut is_seen = autocorrelation(values, whole.mean) > certain / (values.len() as f64).sqrt();
        let mut factor = 1.0_f64;
        let mut is_told = false;
        for length in BATCHES.map(|batches| values.len() / batches).into_iter().filter(|&length| length > 1) {
            let means = subsession_means(values, length);
            let batches = Sample::of(&means);
            let count = batches.count as f64;
            let found = batches.variance * length as f64 / whole.variance;
            is_seen |= found > 1.0 + certain * (2.0 / (count - 1.0)).sqrt();
            // What it comes out too small by (Kendall 1954).
            let shown = autocorrelation(&means, batches.mean);
            let correlation = shown + (1.0 + 4.0 * shown) / count;
            is_told |= length == values.len() / BATCHES_MIN && correlation <= CORRELATION_MAX;
            let left = correlation.clamp(0.0, CORRELATION_CORRECTED_MAX);
            factor = factor.max(found * (1.0 + left) / (1.0 - left));
        }
        match (is_seen, is_told) {
            (false, _) => Self::None,
            (true, true) => Self::Widens(factor),
            (true, false) => Self::TooShort,
        }
    }

    /// The longer of two memories.
    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::TooShort, _) | (_, Self::TooShort) => Self::TooShort,
            (Self::None, other) | (other, Self::None) => other,
            (Self::Widens(one), Self::Widens(other)) => Self::Widens(one.max(other)),
        }
    }
}
