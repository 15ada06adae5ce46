//! One latency: exact moments and the histogram, recorded together.

use crate::histogram::Histogram;
use fathom_schema::{LatencyTally, Moments};

/// Moments and distribution of one latency.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Latency {
    histogram: Histogram,
    moments: Moments,
}

impl Latency {
    /// Counts one latency of `ns` nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.histogram.record(ns);
        record_moments(&mut self.moments, ns);
    }

    /// Exact moments.
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// Distribution.
    pub fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    /// Nearest-rank quantile in nanoseconds, cut to the exact extremes; `None` when there is no value.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        self.histogram.quantile(q).map(|ns| ns.clamp(self.moments.min_ns, self.moments.max_ns))
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        if self.moments.count > 0 {
            self.histogram.clear();
            self.moments = Moments::default();
        }
    }

    /// Adds another.
    pub fn merge(&mut self, other: &Self) {
        if other.moments.count > 0 {
            self.histogram.merge(&other.histogram);
            self.moments.merge(&other.moments);
        }
    }

    /// Adds a stored one.
    pub fn merge_tally(&mut self, other: &LatencyTally) {
        self.histogram.merge_sparse(&other.histogram);
        self.moments.merge(&other.moments);
    }

    /// The form that is stored.
    pub fn to_tally(&self) -> LatencyTally {
        LatencyTally { moments: self.moments, histogram: self.histogram.to_sparse() }
    }
}

impl From<&LatencyTally> for Latency {
    fn from(tally: &LatencyTally) -> Self {
        let mut latency = Self::default();
        latency.merge_tally(tally);
        latency
    }
}

/// Counts one value into moments.
#[inline]
pub(crate) fn record_moments(moments: &mut Moments, ns: u64) {
    // An empty set has min 0; branch-free by making the comparison with what u64::MAX would be costs more than this.
    if moments.count == 0 || ns < moments.min_ns {
        moments.min_ns = ns;
    }
    moments.max_ns = moments.max_ns.max(ns);
    moments.count += 1;
    let value = ns as f64;
    moments.sum_ns += value;
    moments.sum_squares += value * value;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_never_pass_the_extremes() {
        let mut latency = Latency::default();
        latency.record(1_000_003);
        assert_eq!(latency.quantile(0.5), Some(1_000_003));
        assert_eq!(Latency::default().quantile(0.5), None);
    }

    #[test]
    fn the_stored_form_reads_back() {
        let mut latency = Latency::default();
        [5, 7_000, 123_456_789].into_iter().for_each(|ns| latency.record(ns));
        assert_eq!(Latency::from(&latency.to_tally()), latency);
    }
}
