//! fio's histogram layout (stat.h of fio 3: 64 buckets per power of two, 29 groups, 1,856 in all), filled from ours.
//!
//! Each fio bucket is the union of neighbouring buckets of ours, so counts convert exactly; percentiles come out as fio
//! computes them: first bucket whose cumulative count reaches p·n, its midpoint.

use crate::histogram::{BUCKETS, Histogram, bucket_bounds};

/// Number of buckets in fio's layout.
pub const FIO_BUCKETS: usize = 29 * 64;

/// Index of fio's bucket for `ns`; values from 2^34 ns (17.18 s) on fall into its last one.
pub fn fio_bucket_of(ns: u64) -> usize {
    let msb = (ns | 1).ilog2();
    if msb <= 6 {
        return usize::try_from(ns).unwrap_or(FIO_BUCKETS - 1);
    }
    let error_bits = msb - 6;
    let index = (error_bits as usize + 1) * 64 + usize::try_from((ns >> error_bits) & 63).unwrap_or(0);
    index.min(FIO_BUCKETS - 1)
}

/// The value fio prints for a bucket: exact below 128, else the midpoint, in nanoseconds.
pub fn fio_bucket_value(index: usize) -> u64 {
    if index < 128 {
        return index as u64;
    }
    let error_bits = index / 64 - 1;
    let low = (64 + (index as u64 % 64)) << error_bits;
    low + (1 << error_bits) / 2
}

/// Counts in fio's layout.
pub fn fio_counts(histogram: &Histogram) -> Vec<u64> {
    let mut counts = vec![0; FIO_BUCKETS];
    for (index, &count) in histogram.counts().iter().enumerate().take(BUCKETS) {
        if count > 0 {
            counts[fio_bucket_of(bucket_bounds(index).0)] += count;
        }
    }
    counts
}

/// Percentile (0–100) as fio computes it, in nanoseconds; 0 when there is no value.
pub fn fio_quantile(counts: &[u64], percentile: f64) -> u64 {
    let total: u64 = counts.iter().sum();
    let wanted = percentile / 100.0 * total as f64;
    let mut seen = 0_u64;
    for (index, &count) in counts.iter().enumerate() {
        seen += count;
        if count > 0 && seen as f64 >= wanted {
            return fio_bucket_value(index);
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_values_are_those_fio_prints() {
        // Values seen in fio's own reports: 577536, 839680, 2088960 and the last bucket's 17112760320.
        for ns in [577_536_u64, 839_680, 929_792, 1_011_712, 2_088_960, 2_703_360, 17_112_760_320] {
            assert_eq!(fio_bucket_value(fio_bucket_of(ns)), ns, "{ns}");
        }
        assert_eq!(fio_bucket_of(1 << 40), FIO_BUCKETS - 1);
    }

    #[test]
    fn our_buckets_never_straddle_two_of_fios() {
        for index in 0..BUCKETS {
            let (low, high) = bucket_bounds(index);
            assert_eq!(fio_bucket_of(low), fio_bucket_of(high), "bucket {index}");
        }
    }

    #[test]
    fn percentiles_follow_the_cumulative_count() {
        let mut histogram = Histogram::default();
        histogram.record_many(100, 99);
        histogram.record_many(1_000_000, 1);
        let counts = fio_counts(&histogram);
        assert_eq!(fio_quantile(&counts, 99.0), 100);
        assert_eq!(fio_quantile(&counts, 99.5), fio_bucket_value(fio_bucket_of(1_000_000)));
        assert_eq!(fio_quantile(&[0; FIO_BUCKETS], 50.0), 0);
    }
}
