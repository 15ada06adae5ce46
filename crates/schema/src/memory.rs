//! Where buffers lie, and what the kernel is told about the cache.

use crate::wire;
use fathom_units::Bytes;
use serde::{Deserialize, Serialize};

/// Where a worker's buffers lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Memory {
    /// Who gives it.
    pub source: MemorySource,
    /// Distance of the first buffer from the start of its page.
    pub shift_bytes: u32,
    /// Further memory that each worker holds locked, so that less is left for the page cache.
    #[serde(with = "wire::bytes")]
    pub locked: Bytes,
}

/// Who gives a worker's buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemorySource {
    /// The process's allocator.
    #[default]
    Heap,
    /// `mmap(2)`, private.
    Mapped,
    /// `mmap(2)`, shared.
    MappedShared,
    /// `mmap(2)` of huge pages.
    MappedHuge {
        /// Size of a huge page in bytes; a power of two.
        page_bytes: u32,
    },
    /// A System V segment, `shmget(2)`.
    Segment,
    /// A System V segment of huge pages.
    SegmentHuge {
        /// Size of a huge page in bytes; a power of two.
        page_bytes: u32,
    },
}

/// What the kernel is told when a file is opened (`posix_fadvise(2)`): it decides on reading ahead by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Advice {
    /// Nothing.
    #[default]
    None,
    /// `POSIX_FADV_RANDOM`: nothing is read ahead.
    Random,
    /// `POSIX_FADV_SEQUENTIAL`: more is read ahead.
    Sequential,
    /// `POSIX_FADV_NOREUSE`.
    NoReuse,
}
