//! How other tools' histograms print a latency: each keeps a bucket and prints one value for all that fell into it. To
//! tell whether two tools disagree about a device or only about rounding.

use fathom_metrics::{fio_bucket_of, fio_bucket_value};

/// Significant digits `HdrHistogram` is mostly set to.
const HDR_DIGITS: u32 = 3;
/// Relative accuracy `DDSketch` is mostly set to.
const DDSKETCH_ACCURACY: f64 = 0.01;

/// What fio prints for a latency: the middle of its bucket, 17.11 s for all above.
pub fn fio(ns: u64) -> u64 {
    fio_bucket_value(fio_bucket_of(ns))
}

/// What `HdrHistogram` with three significant digits prints: the highest value that is equivalent.
pub fn hdr(ns: u64) -> u64 {
    let (low, width) = hdr_bucket(ns);
    low + width - 1
}

/// Lowest value of the bucket of `HdrHistogram` with three significant digits, and the bucket's width: 2048 buckets of 1,
/// then 1024 per power of two.
pub fn hdr_bucket(ns: u64) -> (u64, u64) {
    // The smallest power of two at or above 2·10³ buckets tells three digits apart.
    let sub_bits = (2 * 10_u64.pow(HDR_DIGITS)).next_power_of_two().ilog2();
    let shift = (ns | ((1 << sub_bits) - 1)).ilog2() + 1 - sub_bits;
    (ns >> shift << shift, 1 << shift)
}

/// Key of the bucket of `DDSketch` with 1 %: `⌈log_γ v⌉` with γ = (1 + α)/(1 − α). `ns` above 0.
pub fn ddsketch_key(ns: u64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "the logarithm of a 64-bit number, divided by 0.02")]
    let key = (ns as f64).log(ddsketch_gamma()).ceil() as i32;
    key
}

/// What `DDSketch` with 1 % prints for a key: 2γ^k/(1 + γ).
pub fn ddsketch_value(key: i32) -> f64 {
    let gamma = ddsketch_gamma();
    2.0 * gamma.powi(key) / (1.0 + gamma)
}

/// Buckets of elbencho per power of two of microseconds, and in all.
const ELBENCHO_BUCKETS: (u32, u32) = (4, 112);

/// Bucket of elbencho's histogram: `⌊4·log₂ µs⌋` of whole microseconds, the first for none. `None` from 2^27.75 µs
/// (225.7 s) on, of which it prints no percentiles.
pub fn elbencho_bucket(ns: u64) -> Option<u32> {
    let (fraction, count) = ELBENCHO_BUCKETS;
    let us = (ns / 1000).max(1);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 4 · 64")]
    let bucket = (f64::from(fraction) * (us as f64).log2()).floor() as u32;
    (bucket + 1 < count).then_some(bucket)
}

/// What elbencho prints for a bucket: its upper end, 2^((b + 1)/4) µs, here in nanoseconds.
pub fn elbencho_value(bucket: u32) -> f64 {
    1000.0 * (f64::from(bucket + 1) / f64::from(ELBENCHO_BUCKETS.0)).exp2()
}

fn ddsketch_gamma() -> f64 {
    (1.0 + DDSKETCH_ACCURACY) / (1.0 - DDSKETCH_ACCURACY)
}
