//! Quantities of storage measurement with their units: sizes, times, rates, shares.
//!
//! Owns arithmetic, parsing and printing of quantities as people write them. Knows nothing of jobs, files or
//! dialects: a peer's own idea of a suffix (fio's inverted `kib`, Vdbench's `k`) belongs to its front end.
#![forbid(unsafe_code)]

mod bytes;
mod rate;
mod ratio;
mod text;
mod time;

pub use bytes::Bytes;
pub use rate::{ARRIVALS_PER_WORKER_MAX, BytesPerSec, Iops, RATES};
pub use ratio::Ratio;
pub use text::{QuantityError, significant};
pub use time::Nanos;

/// The sum, or `u64::MAX` where that does not fit: simulated targets may be of any size, and several of them of more than fits.
pub fn saturating_sum(values: impl IntoIterator<Item = u64>) -> u64 {
    values.into_iter().fold(0, u64::saturating_add)
}
