//! Mathematics over results: what a step measured, and findings about whether it can be trusted.
//!
//! Everything here is a pure function of a record. It performs no I/O, reads no clock, and does not know how a result is
//! shown.
#![forbid(unsafe_code)]

pub mod compare;
pub mod describe;
pub mod drives;
mod errno;
pub mod layouts;
pub mod load;
mod measured;
pub mod objective;
pub mod pts;
mod queues;
#[cfg(any(test, feature = "sample"))]
pub mod sample;
pub mod scaling;
pub mod scan;
pub mod statistics;
pub mod steady;
pub mod thresholds;
pub mod validity;

pub use errno::errno_name;
pub use measured::{Measured, added_up, measured, operations, stored_until};
