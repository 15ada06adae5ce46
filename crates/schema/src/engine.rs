//! The engine of a stream and how it is set: which system calls carry the operations out.
//!
//! What an engine is called and whether it waits for each operation is said here and nowhere else.

use crate::memory::{Advice, Memory};
use crate::names::NameOperation;
use crate::step::Quota;
use crate::wire;
use fathom_units::Nanos;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The engine of a stream and how it is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineSettings {
    /// Which engine.
    #[serde(deserialize_with = "wire::engine_kind")]
    pub kind: EngineKind,
    /// Whether the page cache is passed by.
    pub mode: IoMode,
    /// What a completed write promises.
    pub durability: Durability,
    /// What happens to cached pages of a file when it is opened.
    pub open: OpenRule,
    /// Operations handed over in one system call at most; at least 1.
    pub batch_submit: u32,
    /// Whether these go down together wherever there is room for them, and all completions there are come up together, though
    /// the device be idle meanwhile: as was asked for, rather than as suits the device.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exact_batches: bool,
    /// Completions waited for when the queue is full; at least 1.
    pub batch_complete: u32,
    /// What the kernel is told about how files will be accessed.
    #[serde(default)]
    pub advice: Advice,
    /// Where the buffers lie.
    #[serde(default)]
    pub memory: Memory,
    /// Once the queue was full, nothing is issued until no more than these are in flight; at least the queue depth: at
    /// once.
    #[serde(default)]
    pub refill_at: Quota,
    /// Completions taken up at once.
    #[serde(default)]
    pub batch_complete_max: Quota,
    /// Whether an operation waits for those in flight that touch its place.
    #[serde(default)]
    pub serialize_overlap: bool,
    /// Priorities of operations of one kind and size, beside those of all of one kind in `kind`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub priorities: Vec<SizedPriority>,
    /// What trims do.
    #[serde(default)]
    pub trim_by: TrimBy,
    /// What [`EngineKind::Exec`] runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Box<ProgramRun>>,
}

/// How a trim makes a target forget what it holds at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrimBy {
    /// `BLKDISCARD`; of a file, its blocks are given back (`FALLOC_FL_PUNCH_HOLE`).
    #[default]
    Discard,
    /// `BLKSECDISCARD`: copies are erased as well. Devices only.
    SecureDiscard,
    /// `BLKZEROOUT`, which drives may do by deallocating; of a file, `FALLOC_FL_ZERO_RANGE`.
    WriteZeroes,
}

impl TrimBy {
    /// All.
    pub const ALL: [Self; 3] = [Self::Discard, Self::SecureDiscard, Self::WriteZeroes];

    /// Name on the command line and in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Discard => "discard",
            Self::SecureDiscard => "secure-discard",
            Self::WriteZeroes => "write-zeroes",
        }
    }

    /// What is done, for people.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Discard => "discard (BLKDISCARD; files: holes punched)",
            Self::SecureDiscard => "secure discard (BLKSECDISCARD)",
            Self::WriteZeroes => "zeroes written (BLKZEROOUT; files: FALLOC_FL_ZERO_RANGE)",
        }
    }
}

/// A program and how it is run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramRun {
    /// Its name or path, then its arguments; never empty.
    pub words: Vec<String>,
    /// Files that take what it prints, and what it complains of; made anew. Absent: both go where messages go.
    pub output: Option<(PathBuf, PathBuf)>,
    /// Between asking it to end and making it, where its time is over.
    #[serde(with = "wire::nanos")]
    pub grace: Nanos,
}

/// Which operations of one kind and size carry an I/O priority of their own, drawn one by one. Of several for one kind and
/// size at most one hits an operation: their percentages add up to at most 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizedPriority {
    /// Writes; else reads.
    pub writes: bool,
    /// Bytes of the operations.
    pub bytes: u32,
    /// Percent of them; 0 to 100.
    pub percent: u8,
    /// 0 none, 1 real time, 2 best effort, 3 idle.
    pub class: u8,
    /// 0 highest to 7 lowest.
    pub level: u8,
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
    /// `fallocate(2)` in place of writes: allocates and moves nothing. Synchronous, depth 1.
    Falloc,
    /// `ftruncate(2)` to the offset of each write: moves nothing. Synchronous, depth 1.
    Ftruncate,
    /// `splice(2)` between the file and a pipe, `vmsplice(2)` between the pipe and the buffer: synchronous, depth 1.
    Splice,
    /// Calls on the names of files or folders, one per operation: moves nothing. Synchronous, depth 1.
    Names(NameOperation),
    /// Sends writes to the target's other end, and receives reads from there. Synchronous, depth 1.
    Net {
        /// Each operation is answered by the other end with the same bytes, and ends with the answer.
        ping_pong: bool,
    },
    /// Runs the program of [`EngineSettings::program`] once. Synchronous, depth 1.
    Exec,
    /// Keeps the CPU busy and has nothing to do with storage. Synchronous, depth 1.
    Spin {
        /// How long one operation takes.
        chunk_ns: u64,
        /// Whether it sorts numbers for so long, instead of looking at the clock.
        #[serde(default)]
        sorts: bool,
    },
    /// `io_uring(7)`.
    IoUring(RingSettings),
    /// `io_submit(2)`: Linux native AIO.
    Libaio(AioSettings),
}

/// How a ring of `io_uring(7)` is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one of the kernel's own switches")]
pub struct RingSettings {
    /// Whether buffers are registered with the ring.
    #[serde(deserialize_with = "wire::registration")]
    pub fixed_buffers: Registration,
    /// Whether files are registered with the ring.
    #[serde(deserialize_with = "wire::registration")]
    pub registered_files: Registration,
    /// Completions are polled for at the device, without interrupts (`IORING_SETUP_IOPOLL`).
    pub polled: bool,
    /// Who hands operations to the kernel.
    pub submitter: Submitter,
    /// Operations are `readv` and `writev`, unless their buffers are registered.
    pub vectored: bool,
    /// Which operations are handed to the kernel's own threads without an attempt to start them at once (`IOSQE_ASYNC`).
    pub forced_async: ForcedAsync,
    /// What cannot be done at once fails with `EAGAIN` (`RWF_NOWAIT`).
    pub nowait: bool,
    /// Pages leave the cache after the operation (`RWF_DONTCACHE`, Linux 6.14).
    pub uncached: bool,
    /// Writes reach the device whole or not at all (`RWF_ATOMIC`, Linux 6.11).
    pub untorn: bool,
    /// Operations with a priority of their own.
    pub priority: OperationPriority,
}

/// Memory of a ring of `io_uring` of so many entries, a power of two, which some kernels count as locked. `struct io_uring_sqe`
/// is 64 bytes, `io_uring_cqe` 16, of which there are twice as many, and an index 4 (`io_uring.h`); each of the two areas is whole
/// pages, with the heads and flags in one.
pub fn ring_bytes(entries: u32) -> u64 {
    let whole_pages = |bytes: u64| bytes.next_multiple_of(4096);
    whole_pages(u64::from(entries) * 64) + whole_pages(u64::from(entries) * (2 * 16 + 4) + 320)
}

impl RingSettings {
    /// Entries of a ring for so many operations in flight, a power of two.
    pub fn entries(&self, depth: u32) -> u32 {
        // A thread of the kernel says what it took only after a whole batch of it, of which operations may have completed and
        // been issued anew: for a moment the ring holds one queue depth of old entries and one of new ones.
        let room = if self.submitter == Submitter::Worker { 1 } else { 2 };
        depth.checked_next_power_of_two().unwrap_or(u32::MAX).saturating_mul(room)
    }

    /// What fathom uses where nobody asks for anything: all that makes it fast and changes nothing else.
    pub const USUAL: Self = Self {
        fixed_buffers: Registration::WherePossible,
        registered_files: Registration::WherePossible,
        polled: false,
        submitter: Submitter::Worker,
        vectored: false,
        forced_async: ForcedAsync::Never,
        nowait: false,
        uncached: false,
        untorn: false,
        priority: OperationPriority::NONE,
    };
}

impl Default for RingSettings {
    /// What a record has that says nothing of it.
    fn default() -> Self {
        Self::USUAL
    }
}

/// Whether something is registered with the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Registration {
    /// No.
    Never,
    /// Where the kernel and its limits let it.
    WherePossible,
    /// Yes; the step fails where that cannot be.
    Required,
}

/// Who hands operations to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Submitter {
    /// The worker, by a system call.
    Worker,
    /// A thread of the kernel, which polls for them (`IORING_SETUP_SQPOLL`).
    Kernel,
    /// The same, bound to this CPU.
    KernelOn(u32),
}

/// Which operations go to the kernel's own threads at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForcedAsync {
    /// None.
    Never,
    /// One of this many; at least 1.
    OneOf(u32),
}

/// How Linux native AIO is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct AioSettings {
    /// Completions are taken from the memory that the kernel shares, without a system call where they are there already.
    pub userspace_reap: bool,
    /// What cannot be done at once fails with `EAGAIN` (`RWF_NOWAIT`).
    pub nowait: bool,
    /// Writes reach the device whole or not at all (`RWF_ATOMIC`, Linux 6.11).
    pub untorn: bool,
    /// Operations with a priority of their own.
    pub priority: OperationPriority,
}

impl AioSettings {
    /// What fathom uses where nobody asks for anything.
    pub const USUAL: Self =
        Self { userspace_reap: true, nowait: false, untorn: false, priority: OperationPriority::NONE };
}

impl Default for AioSettings {
    /// What a record has that says nothing of it.
    fn default() -> Self {
        Self::USUAL
    }
}

/// Which operations carry an I/O priority of their own, drawn one by one, and which one (`ioprio_set(2)`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct OperationPriority {
    /// Percent of the reads; 0 to 100.
    pub reads_percent: u8,
    /// Percent of the writes; 0 to 100.
    pub writes_percent: u8,
    /// 1 real time, 2 best effort, 3 idle.
    pub class: u8,
    /// 0 highest to 7 lowest.
    pub level: u8,
}

impl OperationPriority {
    /// No operation has one.
    pub const NONE: Self = Self { reads_percent: 0, writes_percent: 0, class: 1, level: 0 };
}

impl Default for OperationPriority {
    /// What a record has that says nothing of it.
    fn default() -> Self {
        Self::NONE
    }
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
    /// Writes reach the device whole or not at all (`RWF_ATOMIC`, Linux 6.11).
    #[serde(default)]
    pub untorn: bool,
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
            Self::Falloc => "falloc",
            Self::Ftruncate => "ftruncate",
            Self::Splice => "splice",
            Self::Names(operation) => operation.name(),
            Self::Net { .. } => "net",
            Self::Exec => "exec",
            Self::Spin { .. } => "cpuio",
            Self::IoUring(_) => "io_uring",
            Self::Libaio(_) => "libaio",
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
            | Self::Mmap { .. }
            | Self::Falloc
            | Self::Ftruncate
            | Self::Splice
            | Self::Names(_)
            | Self::Net { .. }
            | Self::Exec
            | Self::Spin { .. } => true,
            Self::Sim | Self::IoUring(_) | Self::Libaio(_) => false,
        }
    }

    /// False for engines that move nothing: they need neither buffers nor content.
    pub const fn moves_bytes(self) -> bool {
        !matches!(
            self,
            Self::Null
                | Self::Sim
                | Self::Falloc
                | Self::Ftruncate
                | Self::Names(_)
                | Self::Exec
                | Self::Spin { .. }
        )
    }

    /// False for engines whose operations are no I/O: their streams are left out wherever streams are added up.
    pub const fn adds_up(self) -> bool {
        !matches!(self, Self::Spin { .. } | Self::Exec)
    }

    /// What it does to names, where it works on names alone.
    pub const fn of_names(self) -> Option<NameOperation> {
        match self {
            Self::Names(operation) => Some(operation),
            _ => None,
        }
    }

    /// False for engines that have nothing behind them: they open no target.
    pub const fn opens_targets(self) -> bool {
        match self {
            Self::Null | Self::Sim | Self::Net { .. } | Self::Exec | Self::Spin { .. } => false,
            Self::Names(operation) => !operation.creates() && !operation.is_of_folders(),
            _ => true,
        }
    }

    /// What in the engine's settings may be behind operations that fail with this error number, and the way out; `None`
    /// when nothing is.
    pub const fn behind(self, errno: i32) -> Option<&'static str> {
        /// Linux's number of "try again" on x86 and ARM.
        const EAGAIN: i32 = 11;
        /// Linux's number of "operation not supported" on x86 and ARM.
        const EOPNOTSUPP: i32 = 95;
        /// Linux's number of "operation not permitted".
        const EPERM: i32 = 1;
        /// Linux's number of "invalid argument".
        const EINVAL: i32 = 22;
        let (polled, nowait, uncached, untorn, priority) = match self {
            Self::Pvsync2(CallFlags { polled_percent: _, nowait, uncached, untorn }) => {
                (false, nowait, uncached, untorn, OperationPriority::NONE)
            }
            Self::IoUring(RingSettings { polled, nowait, uncached, untorn, priority, .. }) => {
                (polled, nowait, uncached, untorn, priority)
            }
            Self::Libaio(AioSettings { userspace_reap: _, nowait, untorn, priority }) => {
                (false, nowait, false, untorn, priority)
            }
            _ => return None,
        };
        let has_priority = priority.reads_percent > 0 || priority.writes_percent > 0;
        match errno {
            EAGAIN if nowait => {
                Some("nowait fails what would wait; count errors (on_error) or leave nowait out")
            }
            EOPNOTSUPP if polled => {
                Some("polling (hipri) needs direct I/O and a device with queues for it; leave it out")
            }
            EOPNOTSUPP if uncached => {
                Some("uncached needs Linux 6.14 and a filesystem that has it; leave it out")
            }
            EOPNOTSUPP if untorn => Some(
                "untorn writes (atomic) need Linux 6.11 and a device and a filesystem that have them; leave it out",
            ),
            EINVAL if untorn => Some(
                "an untorn write (atomic) is a power of two of bytes at a multiple of itself, within what statx says of the \
                 file (STATX_WRITE_ATOMIC); use another block size or leave it out",
            ),
            EOPNOTSUPP if nowait => Some("nowait is refused here; leave it out"),
            EPERM if has_priority => Some(
                "the real-time I/O class needs the capability to set it; run as root or use another class",
            ),
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
    /// The same, and again before each further pass over what a worker covers.
    DropCacheEachPass,
    /// Nothing.
    KeepCache,
    /// All of it is read once first, so that it is in the cache as far as it fits.
    FillCache,
}

impl OpenRule {
    /// Whether cached pages are dropped first.
    pub const fn drops_cache(self) -> bool {
        matches!(self, Self::DropCache | Self::DropCacheEachPass)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: &str) -> Result<EngineKind, serde_json::Error> {
        let rest =
            r#""mode":"direct","durability":"none","open":"drop_cache","batch_submit":1,"batch_complete":1"#;
        serde_json::from_str::<EngineSettings>(&format!(r#"{{"kind":{kind},{rest}}}"#)).map(|read| read.kind)
    }

    /// As records of version 1 say it that were made before the settings of `io_uring` and `libaio` were kept.
    #[test]
    fn every_engine_of_the_first_records_is_read() {
        let ring = |fixed_buffers, registered_files| {
            EngineKind::IoUring(RingSettings { fixed_buffers, registered_files, ..RingSettings::USUAL })
        };
        let (yes, no) = (Registration::WherePossible, Registration::Never);
        let flags = CallFlags { polled_percent: 5, nowait: true, uncached: false, untorn: false };
        for (text, expect) in [
            (r#""null""#, EngineKind::Null),
            (r#""sim""#, EngineKind::Sim),
            (r#""psync""#, EngineKind::Psync),
            (r#""sync""#, EngineKind::Sync),
            (r#""vsync""#, EngineKind::Vsync),
            (r#""pvsync""#, EngineKind::Pvsync),
            (
                r#"{"pvsync2":{"polled_percent":5,"nowait":true,"uncached":false}}"#,
                EngineKind::Pvsync2(flags),
            ),
            (
                r#"{"mmap":{"write_through":true,"random_access":false}}"#,
                EngineKind::Mmap { write_through: true, random_access: false },
            ),
            (r#"{"io_uring":{"fixed_buffers":true,"registered_files":true}}"#, ring(yes, yes)),
            (r#"{"io_uring":{"fixed_buffers":true,"registered_files":false}}"#, ring(yes, no)),
            (r#"{"io_uring":{"fixed_buffers":false,"registered_files":true}}"#, ring(no, yes)),
            (r#""libaio""#, EngineKind::Libaio(AioSettings { userspace_reap: false, ..AioSettings::USUAL })),
        ] {
            assert_eq!(read(text).map_err(|error| error.to_string()), Ok(expect), "{text}");
        }
    }

    #[test]
    fn settings_that_a_record_does_not_have_are_the_usual_ones() {
        for (text, expect) in [
            (r#"{"io_uring":{}}"#, EngineKind::IoUring(RingSettings::USUAL)),
            (r#"{"io_uring":{"priority":{}}}"#, EngineKind::IoUring(RingSettings::USUAL)),
            (r#"{"libaio":{}}"#, EngineKind::Libaio(AioSettings::USUAL)),
        ] {
            assert_eq!(read(text).map_err(|error| error.to_string()), Ok(expect), "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_and_what_is_wrong_is_named() {
        let ring = RingSettings {
            fixed_buffers: Registration::Required,
            submitter: Submitter::KernelOn(3),
            forced_async: ForcedAsync::OneOf(4),
            ..RingSettings::USUAL
        };
        let aio = AioSettings { userspace_reap: false, ..AioSettings::USUAL };
        for kind in [EngineKind::IoUring(ring), EngineKind::Libaio(aio), EngineKind::Falloc] {
            let text = serde_json::to_string(&kind).expect("it is plain data");
            assert_eq!(read(&text).map_err(|error| error.to_string()), Ok(kind), "{text}");
        }
        for (text, reason) in [
            (r#""posix""#, "unknown variant `posix`"),
            (r#"{"io_uring":{"fixed_buffers":"maybe"}}"#, "unknown variant `maybe`"),
            (r#"{"libaio":{"nowait":7}}"#, "expected a boolean"),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
