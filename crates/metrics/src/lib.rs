//! Histograms, counters and the interval cell: how operations are counted and merged.
//!
//! Recording is a few additions into memory that was there before the start; merging adds; quantiles are computed where
//! histograms are merged, once. Knows nothing of engines, workers' loops or where the numbers go.
#![forbid(unsafe_code)]

mod cell;
mod fio;
mod histogram;
mod latency;
mod merge;
mod operation;
mod settling;
mod target;

pub use cell::{Cell, CellShape, KindCell, depth_class, size_class};
pub use fio::{FIO_BUCKETS, fio_bucket_of, fio_bucket_value, fio_counts, fio_quantile};
pub use histogram::{BUCKETS, Histogram, bucket_bounds, bucket_of};
pub use latency::{Latency, operations_for};
pub use merge::{kinds_with_left, merge_kind, merge_latency, merge_sparse, merge_tally};
pub use operation::{IssuedRow, OperationRow};
pub use settling::{Settling, SteadySample};
pub use target::TargetCell;
