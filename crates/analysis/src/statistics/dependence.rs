//! Autocorrelation of a series and what it leaves of its sample size: subsessions (Ferrari 1978), that is means of so many
//! consecutive samples that neighbours no longer resemble one another.

use super::distributions::t_quantile;
use super::sample::Sample;

/// Autocorrelation of neighbouring subsessions that counts as none (Ferrari; Pilot).
const CORRELATION_MAX: f64 = 0.1;
/// Fewest subsessions that a variance can be had from.
const SUBSESSIONS_MIN: usize = 4;

/// A series cut into subsessions that are as good as independent.
#[derive(Debug, Clone, PartialEq)]
pub struct Subsessions {
    /// Consecutive samples per subsession.
    pub length: usize,
    /// Lag-1 autocorrelation of the subsessions.
    pub correlation: f64,
    /// Whether that is below the limit of 0.1; when not, the series is too short for its memory, and the interval of its
    /// mean is too narrow.
    pub is_independent: bool,
    /// Their count, mean and variance: the count is the effective sample size.
    pub sample: Sample,
}

impl Subsessions {
    /// Half of the 95 % interval of the mean; `None` below two subsessions.
    pub fn half_width(&self) -> Option<f64> {
        self.sample.half_width(0.95)
    }

    /// Subsessions needed for a 95 % interval of this full width: ⌈(2·t·s / width)²⌉.
    pub fn needed_for_width(&self, width: f64) -> Option<u64> {
        let t = t_quantile(0.95, (self.sample.count.checked_sub(1)?).max(1) as f64);
        let needed = (2.0 * t * self.sample.stddev() / width).powi(2).ceil();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked: finite, not negative"
        )]
        (needed.is_finite() && needed < 1e18).then_some(needed as u64)
    }
}

/// Means of `length` consecutive samples each; an incomplete last one is left out.
pub fn subsession_means(values: &[f64], length: usize) -> Vec<f64> {
    values.chunks_exact(length).map(|chunk| chunk.iter().sum::<f64>() / chunk.len() as f64).collect()
}

/// Lag-1 autocorrelation about the mean `about`: `Σ(s[i] − m)(s[i+1] − m) / Σ(s[i] − m)²`. 0 of a constant series.
pub fn autocorrelation(values: &[f64], about: f64) -> f64 {
    let squares: f64 = values.iter().map(|v| (v - about).powi(2)).sum();
    let products: f64 = values.windows(2).map(|pair| (pair[0] - about) * (pair[1] - about)).sum();
    if squares > 0.0 { products / squares } else { 0.0 }
}

/// The largest autocorrelation that is allowed for: above it a series would have no mean worth the name.
const CORRELATION_ALLOWED: f64 = 0.95;

/// The lag-1 autocorrelation that a short series may well have: what it shows, corrected for what that comes out too small by
/// ((1 + 4ρ)/n; Kendall 1954), and a standard error of about 1/√n more; 0 to 0.95. A straight line, which seems to remember for
/// ever, comes to the most from five values on. Worked value: 1, 2, 3, 4, 5 show 0.4; 0.4 + 2.6/5 + 1/√5 is above 0.95.
pub fn correlation_allowed(values: &[f64], about: f64) -> f64 {
    let count = values.len().max(1) as f64;
    let shown = autocorrelation(values, about);
    (shown + (1.0 + 4.0 * shown) / count + 1.0 / count.sqrt()).clamp(0.0, CORRELATION_ALLOWED)
}

/// After how many values a series has forgotten what it was: what neighbours have in common lasts (1 + ρ)/(1 − ρ) of them where each
/// remembers the one before (AR(1)), by the lag-1 autocorrelation corrected as above. 1 where that is no more than chance brings to a
/// series without memory (two standard errors, 2/√n). Subsessions of a series that is short for its memory are too few to show that they
/// still resemble one another; this is seen in all of its values.
pub fn memory(values: &[f64]) -> usize {
    let count = values.len().max(1) as f64;
    let shown = autocorrelation(values, Sample::of(values).mean);
    let resemblance = (shown + (1.0 + 4.0 * shown) / count).min(CORRELATION_ALLOWED);
    if shown <= 2.0 / count.sqrt() {
        return 1;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 39")]
    let length = ((1.0 + resemblance) / (1.0 - resemblance)).ceil() as usize;
    length
}

/// The shortest subsessions whose lag-1 autocorrelation is at most 0.1; the longest possible ones when none are. Lengths
/// grow by one up to 16 and then by an eighth, so that a long series takes n·ln n steps. `None` below four values.
pub fn subsessions(values: &[f64]) -> Option<Subsessions> {
    let mean = Sample::of(values).mean;
    let mut length = 1;
    let mut last = None;
    while values.len() / length >= SUBSESSIONS_MIN {
        let found = subsessions_of(values, mean, length);
        if found.is_independent {
            return Some(found);
        }
        last = Some(found);
        length += (length / 8).max(1);
    }
    last
}

/// Subsessions of a given length, about the mean of all samples.
fn subsessions_of(values: &[f64], mean: f64, length: usize) -> Subsessions {
    let means = subsession_means(values, length);
    let correlation = autocorrelation(&means, mean);
    // About the grand mean, as Ferrari has it: samples of an incomplete subsession count in it too.
    let variance = means.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / (means.len() - 1) as f64;
    Subsessions {
        length,
        correlation,
        is_independent: correlation.abs() <= CORRELATION_MAX,
        sample: Sample { count: means.len(), mean, variance },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_with_memory_counts_less() {
        // A walk that forgets a tenth per step: autocorrelation 0.9, effective size about n(1−ρ)/(1+ρ).
        let mut random = fastrand::Rng::with_seed(7);
        let mut at = 0.0;
        let values: Vec<f64> = (0..20_000)
            .map(|_| {
                at = 0.9 * at + random.f64() - 0.5;
                at + 10.0
            })
            .collect();
        let found = subsessions(&values).unwrap();
        assert!(found.is_independent && (10..60).contains(&found.length), "{found:?}");
        let white: Vec<f64> = (0..1000).map(|_| random.f64()).collect();
        assert_eq!(subsessions(&white).unwrap().length, 1);
        assert_eq!(subsessions(&[5.0; 100]).unwrap().half_width(), Some(0.0));
        assert_eq!(subsessions(&[1.0, 2.0, 3.0]), None);
        assert_eq!(correlation_allowed(&[1.0, 2.0, 3.0, 4.0, 5.0], 3.0), CORRELATION_ALLOWED);
        // None, to three standard errors of 1/√1000, and one more that is allowed for.
        let allowed = correlation_allowed(&white, Sample::of(&white).mean);
        assert!((0.0..0.127).contains(&allowed), "{allowed}");
        assert_eq!(correlation_allowed(&[1.0, -1.0].repeat(50), 0.0), 0.0);
        assert_eq!((memory(&[1.0, -1.0].repeat(50)), memory(&[5.0; 100])), (1, 1));
        // One series in forty seems to remember a little by chance.
        assert!(memory(&white) <= 2, "{}", memory(&white));
        assert!((18..=20).contains(&memory(&values)), "19 by (1 + ρ)/(1 − ρ): {}", memory(&values));
        let ramp: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(memory(&ramp), 39);
        assert!(!subsessions(&ramp).unwrap().is_independent);
    }
}
