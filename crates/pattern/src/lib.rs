//! Where, what and when the next operation is, and what a write carries.
//!
//! Everything here is a pure function of a step and a seed: equal inputs give equal sequences, however the caller cuts
//! them into batches. Nothing allocates after construction. The crate knows no clocks, no files and no statistics; an
//! offset, a nanosecond count since the stream's start and a byte buffer are all it deals in.
#![forbid(unsafe_code)]

mod arrivals;
mod content;
mod digest;
mod drift;
mod files;
mod generator;
mod kinds;
mod ledger;
mod map;
mod mix;
mod pass;
pub mod permutation;
mod places;
mod region;
mod reuse;
pub mod rng;
mod stamp;
mod tempo;
mod trace;
mod track;
mod walk;

pub use arrivals::Arrivals;
pub use content::Filler;
pub use digest::{DigestBytes, digest};
pub use generator::{Generator, Planned};
pub use ledger::LastWrites;
pub use stamp::{Evidence, Expected, Mismatch, Stamper, Write};
pub use trace::{TRACE_OPERATIONS_MAX, Trace, TraceError};
