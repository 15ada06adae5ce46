//! Base-2 log-linear histogram of nanoseconds: 128 buckets per power of two from 1 ns to 2^42 ns (73 min).
//!
//! Values below 256 are exact; above, a bucket is 1/128 of its power of two wide, so its midpoint is at most 1/256
//! (0.39 %) off. Adding counts merges. fio's 64-bucket layout is the union of neighbouring pairs.

use fathom_schema::SparseHistogram;
use std::ops::Range;

/// Buckets per power of two, as a power of two.
const SUB_BITS: u32 = 7;
/// Buckets per power of two.
const SUB: u64 = 1 << SUB_BITS;
/// Values at or above 2^42 ns count as overflow (and in the last bucket).
const TOP_BIT: u32 = 42;
/// Number of buckets: 128 exact ones and 128 for each of the powers 2^7 … 2^41.
pub const BUCKETS: usize = ((TOP_BIT - SUB_BITS + 1) as usize) << SUB_BITS;

/// Index of the bucket that holds `ns`; values at or above 2^42 fall into the last one.
#[inline]
pub const fn bucket_of(ns: u64) -> usize {
    // Below 256 the shift is 0 and the index is the value itself; `| 128` keeps the logarithm there.
    let shift = (ns | SUB).ilog2() - SUB_BITS;
    #[expect(clippy::cast_possible_truncation, reason = "at most 57 × 128 + 255")]
    let index = ((shift as u64) << SUB_BITS) as usize + (ns >> shift) as usize;
    if index < BUCKETS { index } else { BUCKETS - 1 }
}

/// Smallest and largest value of a bucket, in nanoseconds. `index < BUCKETS`.
pub const fn bucket_bounds(index: usize) -> (u64, u64) {
    let index = index as u64;
    if index < 2 * SUB {
        return (index, index);
    }
    let shift = index / SUB - 1;
    let low = (SUB + index % SUB) << shift;
    (low, low + (1 << shift) - 1)
}

/// Counts per bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u64]>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS].into_boxed_slice() }
    }
}

impl Histogram {
    /// Counts one value.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.counts[bucket_of(ns)] += 1;
    }

    /// Counts `n` values that are alike.
    #[inline]
    pub fn record_many(&mut self, ns: u64, n: u64) {
        self.counts[bucket_of(ns)] += n;
    }

    /// Number of values.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Forgets the values in these buckets, which have to be all that there are. Nothing else is touched: most of the memory
    /// of a histogram whose values are near each other is never there.
    pub(crate) fn clear(&mut self, used: Range<usize>) {
        self.counts[used].fill(0);
    }

    /// Adds the counts of another, all of whose values are in these buckets.
    pub(crate) fn merge(&mut self, other: &Self, used: Range<usize>) {
        for (count, more) in self.counts[used.clone()].iter_mut().zip(&other.counts[used]) {
            *count += more;
        }
    }

    /// Adds the counts of a stored one; indices beyond this layout go into the last bucket.
    pub fn merge_sparse(&mut self, other: &SparseHistogram) {
        for (index, count) in other.buckets() {
            self.counts[(index as usize).min(BUCKETS - 1)] += count;
        }
    }

    /// The non-empty buckets, which are among these.
    pub(crate) fn to_sparse(&self, used: Range<usize>) -> SparseHistogram {
        let first = u32::try_from(used.start).expect("there are some thousand buckets");
        (first..).zip(&self.counts[used]).map(|(index, &count)| (index, count)).collect()
    }

    /// Count per bucket.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Nearest-rank quantile: the midpoint of the bucket that holds the value of rank ⌈q·n⌉. `q` in 0..=1; `None` when
    /// there is no value. The caller cuts it to the exact minimum and maximum, which it knows.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let total = self.total();
        if total == 0 {
            return None;
        }
        let rank = nearest_rank(q, total);
        let mut seen = 0;
        for (index, &count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                let (low, high) = bucket_bounds(index);
                return Some(u64::midpoint(low, high));
            }
        }
        None
    }
}

/// ⌈q·n⌉, at least 1 and at most n. The product is nudged down by one part in 10^12, so that 0.99 × 100 is 99 and not
/// 99.00000000000001 (which would be rank 100).
pub(crate) fn nearest_rank(q: f64, n: u64) -> u64 {
    let exact = q.clamp(0.0, 1.0) * n as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 ≤ exact ≤ n")]
    let rank = (exact - exact * 1e-12).ceil() as u64;
    rank.clamp(1, n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_tile_the_range_without_gap() {
        let mut next = 0;
        for index in 0..BUCKETS {
            let (low, high) = bucket_bounds(index);
            assert_eq!(low, next, "bucket {index}");
            assert_eq!((bucket_of(low), bucket_of(high)), (index, index), "bucket {index}");
            next = high + 1;
        }
        assert_eq!(next, 1 << TOP_BIT);
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn rank_is_exact_where_the_product_is_whole() {
        for (q, n, expect) in
            [(0.99, 100, 99), (0.5, 10, 5), (0.999, 1000, 999), (0.0, 5, 1), (1.0, 5, 5), (0.95, 20, 19)]
        {
            assert_eq!(nearest_rank(q, n), expect, "{q} of {n}");
        }
    }

    #[test]
    fn merged_percentile_is_that_of_the_union() {
        // A: 9,900 × 100 µs and 100 × 10 ms; B: 1,000 × 5 ms. The p99 of the union is 5 ms; no mean of p99s is.
        let (mut a, mut b) = (Histogram::default(), Histogram::default());
        a.record_many(100_000, 9_900);
        a.record_many(10_000_000, 100);
        b.record_many(5_000_000, 1_000);
        let close =
            |value: Option<u64>, expect: f64| (value.unwrap() as f64 / expect - 1.0).abs() < 1.0 / 256.0;
        assert!(close(a.quantile(0.99), 100_000.0));
        a.merge(&b, 0..BUCKETS);
        assert!(close(a.quantile(0.99), 5_000_000.0));
    }

    proptest! {
        #[test]
        fn quantiles_are_within_the_bound_of_exact_sorting(
            mut values in prop::collection::vec(1_u64..1 << 41, 1..300), q in 0.0..=1.0_f64,
        ) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&v| histogram.record(v));
            values.sort_unstable();
            let exact = values[usize::try_from(nearest_rank(q, values.len() as u64)).unwrap() - 1] as f64;
            let found = histogram.quantile(q).unwrap() as f64;
            prop_assert!((found - exact).abs() <= exact / 256.0 + 0.5, "{} for {}", found, exact);
        }

        #[test]
        fn sparse_form_keeps_every_count(values in prop::collection::vec(any::<u64>(), 0..200)) {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&v| histogram.record(v));
            let mut back = Histogram::default();
            back.merge_sparse(&histogram.to_sparse(0..BUCKETS));
            prop_assert_eq!(back, histogram);
        }
    }
}
