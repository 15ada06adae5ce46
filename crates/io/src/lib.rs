//! Engines, buffers, the clock and the calling thread: everything that talks to the kernel in a worker loop.
//!
//! The only crate with `unsafe` code and the only one that reads a clock. Knows operations, not why they are issued: no
//! patterns, no statistics, no options.

mod buffers;
mod chance;
pub mod clock;
mod engine;
mod file;
mod memory;
mod nvme;
pub mod presence;
mod priority;
pub mod thread;

pub use buffers::Buffers;
pub use engine::few::{ClosedFile, FewOpen};
pub use engine::libaio::Libaio;
pub use engine::mmap::{Mmap, MmapRules};
pub use engine::names::Names;
pub use engine::net::Net;
pub use engine::null::Null;
pub use engine::program::Program;
pub use engine::sim::Sim;
pub use engine::spin::Spin;
pub use engine::splice::Splice;
pub use engine::synchronous::{Call, Synchronous};
pub use engine::uring::IoUring;
pub use engine::{
    Capabilities, Completion, Engine, EngineError, OpenTarget, Operation, Setup, TargetHandle, TargetName,
    Wait, probe_io_uring, probe_libaio, range_flags, rings_are_locked, try_io_uring, try_libaio,
};
pub use file::{DATA_SYNC, advise, drop_clean, open_quietly, write_back};
pub use memory::{Locked, MemoryError, with_fresh_zeroes};
pub use nvme::nvme_log_page;
