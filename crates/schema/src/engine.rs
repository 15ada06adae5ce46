//! The engine of a stream and how it is set: which system calls carry the operations out.
//!
//! What an engine is called and whether it waits for each operation is said here and nowhere else.

use serde::{Deserialize, Serialize};

/// The engine of a stream and how it is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineSettings {
    /// Which engine.
    pub kind: EngineKind,
    /// Whether the page cache is passed by.
    pub mode: IoMode,
    /// What a completed write promises.
    pub durability: Durability,
    /// What happens to cached pages of a file when it is opened.
    pub open: OpenRule,
    /// Operations handed over in one system call at most; at least 1.
    pub batch_submit: u32,
    /// Completions waited for when the queue is full; at least 1.
    pub batch_complete: u32,
}

/// Which engine moves the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineKind {
    /// Nothing is moved; completes at once.
    Null,
    /// Simulated device in virtual time.
    Sim,
    /// `pread(2)`/`pwrite(2)`: synchronous, depth 1.
    Psync,
    /// `lseek(2)`, then `read(2)` or `write(2)`: synchronous, depth 1.
    Sync,
    /// `lseek(2)`, then `readv(2)` or `writev(2)`: synchronous, depth 1.
    Vsync,
    /// `preadv(2)`/`pwritev(2)`: synchronous, depth 1.
    Pvsync,
    /// `preadv2(2)`/`pwritev2(2)` with flags: synchronous, depth 1.
    Pvsync2(CallFlags),
    /// Copies from and to a mapping (`mmap(2)`): synchronous, depth 1.
    Mmap {
        /// Each operation is followed by `msync(2)` of what it touched, whose pages then leave the cache: what is left of
        /// direct I/O with a mapping.
        write_through: bool,
        /// The kernel is told to read nothing ahead; else to read far ahead.
        random_access: bool,
    },
    /// `io_uring(7)`.
    IoUring {
        /// Buffers are registered with the ring.
        fixed_buffers: bool,
        /// Files are registered with the ring.
        registered_files: bool,
    },
    /// `io_submit(2)`: Linux native AIO.
    Libaio,
}

/// Flags of `preadv2(2)` and `pwritev2(2)`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallFlags {
    /// Percent of the operations, drawn one by one, that poll for their end (`RWF_HIPRI`); 0 to 100.
    pub polled_percent: u8,
    /// What cannot be done at once fails with `EAGAIN` (`RWF_NOWAIT`).
    pub nowait: bool,
    /// Pages leave the cache after the operation (`RWF_DONTCACHE`, Linux 6.14).
    pub uncached: bool,
}

impl EngineKind {
    /// Its name, as jobs write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Sim => "sim",
            Self::Psync => "psync",
            Self::Sync => "sync",
            Self::Vsync => "vsync",
            Self::Pvsync => "pvsync",
            Self::Pvsync2(_) => "pvsync2",
            Self::Mmap { .. } => "mmap",
            Self::IoUring { .. } => "io_uring",
            Self::Libaio => "libaio",
        }
    }

    /// True when an operation is over when the call that starts it returns: depth 1, whatever was asked.
    pub const fn is_synchronous(self) -> bool {
        match self {
            Self::Null
            | Self::Psync
            | Self::Sync
            | Self::Vsync
            | Self::Pvsync
            | Self::Pvsync2(_)
            | Self::Mmap { .. } => true,
            Self::Sim | Self::IoUring { .. } | Self::Libaio => false,
        }
    }

    /// False for engines that move nothing: they need neither buffers nor content nor open files.
    pub const fn moves_bytes(self) -> bool {
        !matches!(self, Self::Null | Self::Sim)
    }

    /// What in the engine's settings may be behind operations that fail with this error number, and the way out; `None`
    /// when nothing is.
    pub const fn behind(self, errno: i32) -> Option<&'static str> {
        /// Linux's number of "try again" on x86 and ARM.
        const EAGAIN: i32 = 11;
        /// Linux's number of "operation not supported" on x86 and ARM.
        const EOPNOTSUPP: i32 = 95;
        match (self, errno) {
            (Self::Pvsync2(CallFlags { nowait: true, .. }), EAGAIN) => {
                Some("nowait fails what would wait; count errors (on_error) or leave nowait out")
            }
            (Self::Pvsync2(CallFlags { uncached: true, .. }), EOPNOTSUPP) => {
                Some("uncached needs Linux 6.14 and a filesystem that has it; leave it out")
            }
            (Self::Pvsync2(CallFlags { nowait: true, .. }), EOPNOTSUPP) => {
                Some("nowait is refused here; leave it out")
            }
            _ => None,
        }
    }
}

/// Whether the page cache is passed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IoMode {
    /// Through the page cache.
    Buffered,
    /// `O_DIRECT`.
    Direct,
}

/// What a completed write promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Nothing.
    None,
    /// Data is stable (`O_DSYNC`).
    Data,
    /// Data and metadata are stable (`O_SYNC`).
    All,
}

/// What happens to cached pages of a target when it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpenRule {
    /// Cached pages are dropped first.
    DropCache,
    /// Nothing.
    KeepCache,
}
