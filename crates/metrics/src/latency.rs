//! One latency: exact moments and the histogram, recorded together.

use crate::histogram::{BUCKETS, Histogram, bucket_bounds, bucket_of, nearest_rank};
use fathom_schema::{LatencyTally, Moments};
use std::ops::Range;

/// Moments and distribution of one latency.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Latency {
    histogram: Histogram,
    moments: Tallied,
}

/// Moments as they are counted: in integers, which add faster than floating point and lose nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tallied {
    count: u64,
    min_ns: u64,
    max_ns: u64,
    /// Enough for 584 years of summed latency.
    sum_ns: u64,
    sum_squares: u128,
}

/// Operations of which one lies beyond a quantile.
pub fn operations_for(q: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    let needs = (1.0 / (1.0 - q) - 1e-6).ceil() as u64;
    needs
}

impl Default for Tallied {
    fn default() -> Self {
        Self { count: 0, min_ns: u64::MAX, max_ns: 0, sum_ns: 0, sum_squares: 0 }
    }
}

impl Tallied {
    #[inline]
    pub(crate) fn record(&mut self, ns: u64) {
        self.count += 1;
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        self.sum_ns = self.sum_ns.wrapping_add(ns);
        self.sum_squares += u128::from(ns) * u128::from(ns);
    }

    #[inline]
    pub(crate) fn record_many(&mut self, ns: u64, n: u64) {
        self.count += n;
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        self.sum_ns = self.sum_ns.wrapping_add(n.wrapping_mul(ns));
        self.sum_squares += u128::from(n) * (u128::from(ns) * u128::from(ns));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The buckets that hold what was recorded.
    fn buckets(&self) -> Range<usize> {
        if self.min_ns > self.max_ns { 0..0 } else { bucket_of(self.min_ns)..bucket_of(self.max_ns) + 1 }
    }

    /// Widens the extremes where these buckets are not between them.
    fn cover(&mut self, first: usize, last: usize) {
        let known = self.buckets();
        if !known.contains(&first) {
            self.min_ns = self.min_ns.min(bucket_bounds(first).0);
        }
        if !known.contains(&last) {
            self.max_ns = self.max_ns.max(bucket_bounds(last).1);
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        let Self { count, min_ns, max_ns, sum_ns, sum_squares } = other;
        self.count += count;
        self.min_ns = self.min_ns.min(*min_ns);
        self.max_ns = self.max_ns.max(*max_ns);
        self.sum_ns = self.sum_ns.wrapping_add(*sum_ns);
        self.sum_squares += sum_squares;
    }
}

impl From<Tallied> for Moments {
    fn from(tallied: Tallied) -> Self {
        let Tallied { count, min_ns, max_ns, sum_ns, sum_squares } = tallied;
        let min_ns = if count == 0 { 0 } else { min_ns };
        Self { count, min_ns, max_ns, sum_ns: sum_ns as f64, sum_squares: sum_squares as f64 }
    }
}

impl From<&Moments> for Tallied {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sums of non-negative integers"
    )]
    fn from(moments: &Moments) -> Self {
        let Moments { count, min_ns, max_ns, sum_ns, sum_squares } = *moments;
        let min_ns = if count == 0 { u64::MAX } else { min_ns };
        Self { count, min_ns, max_ns, sum_ns: sum_ns as u64, sum_squares: sum_squares as u128 }
    }
}

/// Values that are counted in several places: as many as a word has bits to say which came. Operations of an engine that takes
/// no time have latencies below it, since one reading of the clock serves a batch.
const NEAR: u64 = NEAR_COUNTS as u64;
const NEAR_COUNTS: usize = 64;
/// Places in which each is counted in turn. Adding to what has just been added to waits 4 to 5 cycles for the store on x86
/// (Fog, The microarchitecture of Intel, AMD and VIA CPUs): with four about one addition can begin in each cycle.
const PLACES: usize = 4;

/// Values below [`NEAR`], counted in [`PLACES`] in turn.
#[derive(Debug)]
struct Near {
    counts: [[u32; NEAR_COUNTS]; PLACES],
    /// A bit for each value that came.
    came: u64,
}

impl Near {
    /// Counts the `n`-th value, if it is one of these.
    #[inline]
    fn take(&mut self, n: usize, ns: u64) -> bool {
        let is_near = ns < NEAR;
        if is_near {
            self.counts[n % PLACES][(ns % NEAR) as usize] += 1;
            self.came |= 1 << (ns % NEAR);
        }
        is_near
    }

    /// Calls `f` with each value that came, and how often it did.
    #[inline]
    fn each(&self, mut f: impl FnMut(u64, u64)) {
        let mut left = self.came;
        while left != 0 {
            let ns = left.trailing_zeros();
            let n: u32 = self.counts.iter().map(|counts| counts[ns as usize]).sum();
            f(u64::from(ns), u64::from(n));
            left &= left - 1;
        }
    }
}

impl Latency {
    /// Counts one latency of `ns` nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.histogram.record(ns);
        self.moments.record(ns);
    }

    /// Counts `n` latencies of `ns` nanoseconds each, at least one.
    #[inline]
    pub fn record_many(&mut self, ns: u64, n: u64) {
        self.histogram.record_many(ns, n);
        self.moments.record_many(ns, n);
    }

    /// Counts many latencies, in nanoseconds: as [`Latency::record`] of each.
    ///
    /// Latencies of an engine that takes no time are near each other, and adding to one count over and over has to wait for
    /// the last addition each time: they are added up in several places first.
    #[inline]
    pub fn record_all(&mut self, all: impl Iterator<Item = u64>) {
        let mut near = Near { counts: [[0; NEAR_COUNTS]; PLACES], came: 0 };
        let mut moments = self.moments;
        for (n, ns) in all.enumerate() {
            if !near.take(n, ns) {
                self.histogram.record(ns);
                moments.record(ns);
            }
        }
        self.moments = moments;
        near.each(|ns, n| self.record_many(ns, n));
    }

    /// Exact moments.
    pub fn moments(&self) -> Moments {
        self.moments.into()
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.moments.count
    }

    /// Sum of the values, in nanoseconds.
    pub fn sum_ns(&self) -> u64 {
        self.moments.sum_ns
    }

    /// Distribution.
    pub fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    /// Nearest-rank quantile in nanoseconds, cut to the exact extremes; `None` when there is no value. Of what lies beyond the
    /// histogram (2^42 ns) nothing is known but the longest, which stands for it: a quantile is never told too short by more than a bucket.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let (least, most) = (self.moments.min_ns, self.moments.max_ns);
        self.histogram.quantile(q).map(|ns| if is_overflow(ns, most) { most } else { ns.clamp(least, most) })
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        if !self.moments.is_empty() {
            self.histogram.clear(self.moments.buckets());
            self.moments = Tallied::default();
        }
    }

    /// Adds another.
    pub fn merge(&mut self, other: &Self) {
        if !other.moments.is_empty() {
            self.histogram.merge(&other.histogram, other.moments.buckets());
            self.moments.merge(&other.moments);
        }
    }

    /// Adds a stored one.
    pub fn merge_tally(&mut self, other: &LatencyTally) {
        self.histogram.merge_sparse(&other.histogram);
        self.moments.merge(&Tallied::from(&other.moments));
        // A record is what someone else wrote: values that its own extremes exclude count all the same.
        let buckets = || other.histogram.buckets().map(|(index, _)| (index as usize).min(BUCKETS - 1));
        if let (Some(first), Some(last)) = (buckets().min(), buckets().max()) {
            self.moments.cover(first, last);
        }
    }

    /// As [`Latency::quantile`], of a stored one, which is not unfolded for it.
    pub fn quantile_of(tally: &LatencyTally, q: f64) -> Option<u64> {
        let buckets = || tally.histogram.buckets().map(|(index, n)| ((index as usize).min(BUCKETS - 1), n));
        let (first, mut last, mut total) = (buckets().next()?.0, 0, 0);
        for (index, count) in buckets() {
            (last, total) = (index, u64::saturating_add(total, count));
        }
        let mut moments = Tallied::from(&tally.moments);
        moments.cover(first, last);
        let (rank, mut seen) = (nearest_rank(q, total), 0);
        let (at, _) = buckets().find(|(_, count)| {
            seen = u64::saturating_add(seen, *count);
            seen >= rank
        })?;
        let (low, high) = bucket_bounds(at);
        let found = u64::midpoint(low, high);
        let is_beyond = is_overflow(found, moments.max_ns);
        Some(if is_beyond { moments.max_ns } else { found.clamp(moments.min_ns, moments.max_ns) })
    }

    /// The form that is stored.
    pub fn to_tally(&self) -> LatencyTally {
        LatencyTally {
            moments: self.moments.into(),
            histogram: self.histogram.to_sparse(self.moments.buckets()),
        }
    }
}

/// Whether a value lies in the last bucket, and values in it beyond its end.
fn is_overflow(ns: u64, longest_ns: u64) -> bool {
    let last = BUCKETS - 1;
    bucket_of(ns) == last && longest_ns > bucket_bounds(last).1
}

impl From<&LatencyTally> for Latency {
    fn from(tally: &LatencyTally) -> Self {
        let mut latency = Self::default();
        latency.merge_tally(tally);
        latency
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_at_once_are_each_of_them() {
        let values = || (0..5000_u64).map(|n| (n * n) % 61 + if n % 7 == 0 { n } else { 0 });
        let (mut one_by_one, mut at_once) = (Latency::default(), Latency::default());
        values().for_each(|ns| one_by_one.record(ns));
        at_once.record_all(values());
        assert_eq!(at_once, one_by_one);
        at_once.record_all(std::iter::empty());
        assert_eq!(at_once, one_by_one);
    }

    #[test]
    fn a_stored_one_has_the_quantiles_of_what_it_stands_for() {
        let mut latency = Latency::default();
        assert_eq!(Latency::quantile_of(&latency.to_tally(), 0.5), None);
        for n in 0..3000_u64 {
            latency.record(n * n * n % 1_000_003);
            let mut tally = latency.to_tally();
            if n % 7 == 0 {
                // A record whose extremes are not those of its values.
                (tally.moments.min_ns, tally.moments.max_ns) = (400, 500);
            }
            for q in [0.0, 0.5, 0.9, 0.99, 0.9999, 1.0] {
                assert_eq!(Latency::quantile_of(&tally, q), Latency::from(&tally).quantile(q), "{n} {q}");
            }
        }
    }

    #[test]
    fn quantiles_never_pass_the_extremes() {
        let mut latency = Latency::default();
        latency.record(1_000_003);
        assert_eq!(latency.quantile(0.5), Some(1_000_003));
        assert_eq!(Latency::default().quantile(0.5), None);
        // Beyond the histogram, hours: the longest, and not its end, which they all exceed.
        let mut hours = Latency::default();
        [5_000, 8_000, 20_000].into_iter().for_each(|secs| hours.record(secs * 1_000_000_000));
        assert_eq!(hours.quantile(0.5), Some(20_000_000_000_000));
        assert_eq!(Latency::quantile_of(&hours.to_tally(), 0.5), Some(20_000_000_000_000));
    }

    #[test]
    fn what_is_forgotten_is_gone_and_what_is_merged_is_all_there() {
        let values = [1, 300, 5_000_000, u64::MAX];
        let mut latency = Latency::default();
        values.into_iter().for_each(|ns| latency.record(ns));
        let mut sum = Latency::default();
        sum.record(77);
        sum.merge(&latency);
        assert_eq!(sum.histogram().total(), 5);
        latency.clear();
        assert_eq!(latency, Latency::default());
        // A record whose extremes are not those of its values.
        let mut tally = sum.to_tally();
        (tally.moments.min_ns, tally.moments.max_ns) = (400, 500);
        let mut read = Latency::from(&tally);
        assert_eq!(read.to_tally().histogram, tally.histogram);
        read.clear();
        assert_eq!(read, Latency::default());
    }

    #[test]
    fn the_stored_form_reads_back() {
        let mut latency = Latency::default();
        [5, 7_000, 123_456_789].into_iter().for_each(|ns| latency.record(ns));
        assert_eq!(Latency::from(&latency.to_tally()), latency);
    }
}
