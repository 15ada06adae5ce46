//! The engine: takes operations, moves bytes, gives completions. One per worker, owned by its thread.
//!
//! An engine prepares nothing (sizes, layout, caches are `engine::prepare`'s) and decides nothing (what, when and how
//! many are the worker's).

pub(crate) mod few;
pub(crate) mod libaio;
pub(crate) mod mmap;
pub(crate) mod names;
pub(crate) mod net;
pub(crate) mod null;
pub(crate) mod program;
pub(crate) mod sim;
pub(crate) mod spin;
pub(crate) mod splice;
pub(crate) mod synchronous;
pub(crate) mod uring;

use crate::buffers::Buffers;
use fathom_schema::{OperationKind, Peer, RangeSync, SimDevice, TrimBy};
use few::ClosedFile;
use std::borrow::Cow;
use std::ffi::CString;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// One operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Its slot: names the buffer and comes back with the completion.
    pub slot: u32,
    /// What it does.
    pub kind: OperationKind,
    /// Index into the targets given to [`Engine::open`].
    pub target: u32,
    /// First byte.
    pub offset: u64,
    /// Bytes; 0 for a sync of all.
    pub length: u32,
    /// For a sync: data only (`fdatasync`).
    pub data_only: bool,
    /// For a sync of a range: the flags of `sync_file_range(2)`; 0 for any other.
    pub range_flags: u32,
}

impl Operation {
    /// Whether an asynchronous engine has no form of it and performs it when it is pushed.
    pub(crate) fn is_performed_at_once(&self) -> bool {
        self.kind == OperationKind::Trim || self.range_flags != 0
    }
}

/// The flags of `sync_file_range(2)` that stand for `range`.
pub fn range_flags(range: RangeSync) -> u32 {
    let RangeSync { wait_before, write, wait_after } = range;
    let flag = |set: bool, flag: libc::c_uint| if set { flag } else { 0 };
    flag(wait_before, libc::SYNC_FILE_RANGE_WAIT_BEFORE)
        | flag(write, libc::SYNC_FILE_RANGE_WRITE)
        | flag(wait_after, libc::SYNC_FILE_RANGE_WAIT_AFTER)
}

/// The end of an operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Completion {
    /// The operation's slot.
    pub slot: u32,
    /// Bytes moved, or `−errno`.
    pub result: i32,
}

/// How long [`Engine::reap`] may wait. A signal ends the wait early, so callers that need a completion ask again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// Return once this many completions are there; 0 does not wait at all.
    pub min_complete: u32,
    /// Return after this many nanoseconds in any case.
    pub timeout_ns: u64,
}

/// What an engine can do and how it behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// Name for the record.
    pub name: &'static str,
    /// Time is virtual.
    pub virtual_time: bool,
    /// Features that are in use, for the record.
    pub features: Vec<&'static str>,
}

/// One target as an engine sees it.
#[derive(Debug)]
pub struct OpenTarget {
    /// What it is.
    pub handle: TargetHandle,
    /// Bytes that may be addressed.
    pub size: u64,
    /// What trims of it do.
    pub trim_by: TrimBy,
}

/// What a target is to an engine.
#[derive(Debug)]
pub enum TargetHandle {
    /// An open regular file.
    File(File),
    /// An open block device.
    BlockDevice {
        /// What is read and written through.
        file: File,
        /// The descriptor that has the device to itself, where there is one: it is trimmed through that. The kernel refuses
        /// trims of places that were written and are not on the device yet through any other (`EBUSY`).
        held: Option<Arc<File>>,
    },
    /// A regular file that is opened when it is used, by [`few::FewOpen`].
    Closed(ClosedFile),
    /// A name that is worked on; nothing is open.
    Name(TargetName),
    /// Nothing behind it.
    Null,
    /// A simulated device. Targets with the same number are places of one device.
    Sim {
        /// Which.
        number: u32,
        /// What it is like.
        description: SimDevice,
    },
    /// The other end of a connection, which the engine makes.
    Peer(Peer),
}

/// The name of a file or folder.
#[derive(Debug, Clone)]
pub struct TargetName {
    /// The path.
    pub path: CString,
    /// What was there when it was opened: filesystem and inode. Nothing else is removed.
    pub there: Option<(u64, u64)>,
    /// Set once this run has made what is there.
    pub made: Arc<AtomicBool>,
}

impl OpenTarget {
    /// Its descriptor; −1 when there is nothing behind it.
    pub(crate) fn descriptor(&self) -> RawFd {
        match &self.handle {
            TargetHandle::File(file) | TargetHandle::BlockDevice { file, .. } => file.as_raw_fd(),
            TargetHandle::Closed(_)
            | TargetHandle::Name(_)
            | TargetHandle::Null
            | TargetHandle::Sim { .. }
            | TargetHandle::Peer(_) => -1,
        }
    }
}

/// What an engine is opened with.
#[derive(Debug)]
pub struct Setup {
    /// The targets, by index.
    pub targets: Vec<OpenTarget>,
    /// Operations in flight at most; at least 1.
    pub queue_depth: u32,
    /// The worker's buffers, one slot per operation in flight.
    pub buffers: Rc<Buffers>,
    /// Seed for engines that need chance (the simulated device).
    pub seed: u64,
}

/// Why an engine cannot go on.
#[derive(Debug)]
#[non_exhaustive]
pub enum EngineError {
    /// A system call failed.
    System {
        /// Which call.
        call: &'static str,
        /// What the kernel said.
        error: io::Error,
        /// What can be done about it; empty when nothing is known.
        remedy: Cow<'static, str>,
    },
    /// The other end of a connection could not be reached, or not be awaited.
    Peer {
        /// What was tried, e.g. `connect to`.
        action: &'static str,
        /// Where.
        peer: String,
        /// What the kernel or the resolver said.
        error: io::Error,
        /// What can be done about it; empty when nothing is known.
        remedy: &'static str,
    },
}

impl EngineError {
    /// The kernel's number for it; `None` where somebody else refused, such as a resolver of names.
    pub fn raw_os_error(&self) -> Option<i32> {
        let (Self::System { error, .. } | Self::Peer { error, .. }) = self;
        error.raw_os_error()
    }

    pub(crate) fn system(call: &'static str, error: io::Error) -> Self {
        let remedy = match (call, error.raw_os_error()) {
            ("io_uring_setup", Some(libc::EPERM)) => {
                "allow io_uring (sysctl kernel.io_uring_disabled = 0, and the container's seccomp profile), or use another \
                 engine"
            }
            ("io_uring_register", Some(libc::ENOMEM)) => {
                "raise the locked-memory limit (ulimit -l), or use a smaller queue depth or fixed_buffers = false"
            }
            ("io_uring_setup", Some(libc::EINVAL)) => {
                "use a smaller queue depth, and another CPU for submit_thread_cpu where one is named"
            }
            ("io_setup", Some(libc::EAGAIN)) => {
                "raise the sysctl fs.aio-max-nr, or use a smaller queue depth"
            }
            ("io_uring_setup" | "io_setup", Some(libc::ENOSYS)) => {
                "this kernel does not have it; use another engine"
            }
            _ => "",
        };
        Self::System { call, error, remedy: remedy.into() }
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System { call, error, remedy } if remedy.is_empty() => write!(f, "{call}: {error}"),
            Self::System { call, error, remedy } => write!(f, "{call}: {error}; {remedy}"),
            Self::Peer { action, peer, error, remedy: "" } => write!(f, "cannot {action} {peer}: {error}"),
            Self::Peer { action, peer, error, remedy } => {
                write!(f, "cannot {action} {peer}: {error}; {remedy}")
            }
        }
    }
}

impl std::error::Error for EngineError {}

/// Moves bytes for one worker.
///
/// Order of calls: `open`, then any number of turns of `push`… `submit`, `reap`, then `close`. At most `queue_depth`
/// operations are in flight, each on a slot of its own; the worker keeps that promise. Every pushed operation completes
/// exactly once.
pub trait Engine {
    /// `push` performs the operation before it returns, so the worker times it there. Taken from the schema, which knows it
    /// of every engine.
    const SYNCHRONOUS: bool;
    /// Operations take no time of their own (null): the worker may use one clock reading as the end of one operation and
    /// the start of the next.
    const INSTANT: bool;
    /// Operations move no bytes: 0 is what a good one gives, and what they are asked to move is counted by nobody.
    const BYTELESS: bool = false;
    /// It has something to do before and after each operation that is no part of it: [`Self::aside`].
    const HAS_ASIDES: bool = false;
    /// Its operations depend on others, who may never do their part: [`Self::meet`] comes before the load, and an operation
    /// that gives `−EAGAIN` has not ended and is pushed again. One that moves bytes and gives 0 says that there is no more
    /// to be had. Synchronous engines only.
    const WAITS_FOR_OTHERS: bool = false;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;
    /// Takes targets and buffers; called once, on the worker's thread.
    fn open(&mut self, setup: Setup) -> Result<(), EngineError>;
    /// Waits for the others it needs before the load, as long as `goes_on`; false when that was called off.
    fn meet(&mut self, goes_on: &mut dyn FnMut() -> bool) -> Result<bool, EngineError> {
        let _ = goes_on;
        Ok(true)
    }
    /// Operations after which what it is connected by is to be opened anew, as [`Self::part`] and [`Self::meet`] do; 0: that
    /// is all there is to do.
    fn per_connection(&self) -> Option<u64> {
        None
    }
    /// Ends the connection, and stays ready for the next.
    fn part(&mut self) {}
    /// Whether it got all that it was asked to use where possible; one that is opened anew may get it.
    fn is_as_asked(&self) -> bool {
        true
    }
    /// What is to be told of the others once the load is over.
    fn last_words(&mut self) -> Option<String> {
        None
    }
    /// Takes one operation. Synchronous engines perform it here.
    fn push(&mut self, operation: &Operation);
    /// What belongs to an operation and not to its time, where [`Self::HAS_ASIDES`]: called with it before it is pushed, and,
    /// by synchronous engines, with none when it has been timed.
    fn aside(&mut self, next: Option<&Operation>) {
        let _ = next;
    }
    /// Moves the rest of a read or write that has completed with `moved` bytes, fewer than it was asked for, and whose slot
    /// is not used again yet; performed before this returns. Gives the bytes of the whole, fewer where there is no more to be
    /// had, or `−errno`.
    fn rest(&mut self, operation: &Operation, moved: i32) -> i32 {
        let _ = operation;
        moved
    }
    /// Another file is open under the descriptor of this target from here on. Nothing is in flight on it.
    fn changed(&mut self, target: u32) {
        let _ = target;
    }
    /// The I/O priority that the read or write on this slot was given, as `ioprio_set(2)` has it; 0: that of its thread.
    fn priority_of(&self, slot: u32) -> u16 {
        let _ = slot;
        0
    }
    /// Hands what was pushed to the kernel; returns how many operations it took.
    fn submit(&mut self) -> Result<u32, EngineError>;
    /// Collects completions into `into`, waiting as `wait` says; returns how many there are.
    fn reap(&mut self, wait: Wait, into: &mut [Completion]) -> Result<usize, EngineError>;
    /// Waits for what is still in flight, at most half a minute, and gives everything back. What was pushed and never
    /// submitted does not happen.
    fn close(&mut self);
}

/// Why `io_uring` cannot be used here, in words; `None` when it can.
pub fn probe_io_uring() -> Option<String> {
    try_io_uring().err().map(|error| error.to_string())
}

/// Why Linux AIO cannot be used here, in words; `None` when it can.
pub fn probe_libaio() -> Option<String> {
    try_libaio().err().map(|error| error.to_string())
}

/// Whether rings of `io_uring` count as locked memory here. Lowers that limit of the process for a moment.
pub fn rings_are_locked() -> bool {
    uring::is_locked()
}

/// Makes a ring of `io_uring` and gives it back.
///
/// # Errors
/// Why none can be made here.
pub fn try_io_uring() -> Result<(), EngineError> {
    uring::probe()
}

/// Makes a context of Linux AIO and gives it back.
///
/// # Errors
/// Why none can be made here.
pub fn try_libaio() -> Result<(), EngineError> {
    libaio::probe()
}

/// What [`Engine::rest`] is for engines that move bytes between buffers and files.
#[cold]
pub(crate) fn move_rest(setup: &Setup, operation: &Operation, moved: i32) -> i32 {
    let Operation { slot, kind, target, offset, length, data_only: _, range_flags: _ } = *operation;
    let call = match kind {
        OperationKind::Read => libc::SYS_pread64,
        OperationKind::Write => libc::SYS_pwrite64,
        OperationKind::Trim | OperationKind::Sync => return moved,
    };
    assert!(length as usize <= setup.buffers.slot_bytes(), "an operation fits its slot");
    let descriptor = setup.targets[target as usize].descriptor();
    let memory = setup.buffers.lend(slot);
    let mut done = u32::try_from(moved).unwrap_or(0);
    let outcome = loop {
        let left = length.saturating_sub(done);
        if left == 0 {
            break Ok(());
        }
        let at = i64::try_from(offset + u64::from(done)).unwrap_or(i64::MAX);
        // SAFETY: the slot holds at least `length` bytes (asserted above), of which `done` are behind; it is lent to this
        // call alone, and writing only reads it.
        let more = unsafe { libc::syscall(call, descriptor, memory.add(done as usize), left as usize, at) };
        match u32::try_from(more) {
            Ok(0) => break Ok(()),
            Ok(more) => done += more,
            Err(_) => match last_errno() {
                libc::EINTR => {}
                // Direct I/O goes on at whole sectors only; what is short of one is the end of a file, or of what can be done.
                libc::EINVAL => break Ok(()),
                errno => break Err(errno),
            },
        }
    };
    setup.buffers.give_back(slot);
    match outcome {
        Ok(()) => i32::try_from(done).unwrap_or(i32::MAX),
        Err(errno) => -errno,
    }
}

/// The error number of the call that has just failed.
pub(crate) fn last_errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// Performs a trim or a sync now: a trim is an ioctl on devices, `fallocate(2)` on files. For engines whose interface has no
/// asynchronous form of it. Returns 0-or-length, or `−errno`, as completions carry it.
pub(crate) fn perform_now(target: &OpenTarget, operation: &Operation) -> i32 {
    let Operation { slot: _, kind, target: _, offset, length, data_only, range_flags } = *operation;
    let outcome = match (kind, &target.handle) {
        (OperationKind::Sync, TargetHandle::File(file) | TargetHandle::BlockDevice { file, .. })
            if range_flags != 0 =>
        {
            let (offset, length) = (i64::try_from(offset).unwrap_or(i64::MAX), i64::from(length));
            // SAFETY: the descriptor is open for as long as `file` is borrowed; no memory is passed.
            unsafe { libc::sync_file_range(file.as_raw_fd(), offset, length, range_flags) }
        }
        (OperationKind::Sync, TargetHandle::File(file) | TargetHandle::BlockDevice { file, .. }) => {
            // SAFETY: the descriptor is open for as long as `file` is borrowed; no memory is passed.
            unsafe {
                if data_only { libc::fdatasync(file.as_raw_fd()) } else { libc::fsync(file.as_raw_fd()) }
            }
        }
        (OperationKind::Trim, TargetHandle::BlockDevice { file, held }) => {
            let file = held.as_deref().unwrap_or(file);
            // `_IO(0x12, 119)`, `_IO(0x12, 125)` and `_IO(0x12, 127)` (linux/fs.h).
            let request: libc::c_ulong = match target.trim_by {
                TrimBy::Discard => 0x1277,
                TrimBy::SecureDiscard => 0x127d,
                TrimBy::WriteZeroes => 0x127f,
            };
            let range = [offset, u64::from(length)];
            // SAFETY: each of them reads two u64 from the pointer, which are there for the whole call.
            unsafe { libc::ioctl(file.as_raw_fd(), request, range.as_ptr()) }
        }
        (OperationKind::Trim, TargetHandle::File(file)) => {
            let (offset, length) = (i64::try_from(offset).unwrap_or(i64::MAX), i64::from(length));
            let way = match target.trim_by {
                TrimBy::Discard => libc::FALLOC_FL_PUNCH_HOLE,
                TrimBy::WriteZeroes => libc::FALLOC_FL_ZERO_RANGE,
                TrimBy::SecureDiscard => return -libc::EOPNOTSUPP,
            };
            let mode = way | libc::FALLOC_FL_KEEP_SIZE;
            // SAFETY: the descriptor is open for as long as `file` is borrowed; no memory is passed.
            unsafe { libc::fallocate(file.as_raw_fd(), mode, offset, length) }
        }
        (OperationKind::Read | OperationKind::Write, _)
        | (
            _,
            TargetHandle::Closed(_)
            | TargetHandle::Name(_)
            | TargetHandle::Null
            | TargetHandle::Sim { .. }
            | TargetHandle::Peer(_),
        ) => 0,
    };
    if outcome < 0 {
        return -last_errno();
    }
    i32::try_from(length).unwrap_or(i32::MAX)
}
