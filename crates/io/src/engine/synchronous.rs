//! Plain system calls, one operation at a time, performed where it is pushed: `pread`, `lseek` with `read`, and the
//! vectored forms of both.
//!
//! Which call it is, is asked for each operation: one predicted branch beside a system call is not measurable, and one
//! engine is one loop to compile instead of five.

use super::{
    Capabilities, Completion, Engine, EngineError, OpenTarget, Operation, Setup, Wait, last_errno, move_rest,
    perform_now,
};
use crate::chance::Chance;
use fathom_schema::{CallFlags, EngineKind, OperationKind};
use std::os::fd::RawFd;

/// Which calls move the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// `pread(2)`, `pwrite(2)`.
    Positioned,
    /// `lseek(2)` unless the file is there already, then `read(2)`, `write(2)`.
    Seeking,
    /// `lseek(2)` unless the file is there already, then `readv(2)`, `writev(2)`.
    SeekingVector,
    /// `preadv(2)`, `pwritev(2)`.
    Vector,
    /// `preadv2(2)`, `pwritev2(2)`.
    FlaggedVector(CallFlags),
    /// `fallocate(2)` of what a write would cover; reads and buffers it has none.
    Allocate,
    /// `ftruncate(2)` to where a write would begin; reads, trims and buffers it has none.
    Truncate,
}

impl Call {
    const fn name(self) -> &'static str {
        match self {
            Self::Positioned => EngineKind::Psync.name(),
            Self::Seeking => EngineKind::Sync.name(),
            Self::SeekingVector => EngineKind::Vsync.name(),
            Self::Vector => EngineKind::Pvsync.name(),
            Self::FlaggedVector(flags) => EngineKind::Pvsync2(flags).name(),
            Self::Allocate => EngineKind::Falloc.name(),
            Self::Truncate => EngineKind::Ftruncate.name(),
        }
    }
}

/// Performs each operation with a system call of its own.
#[derive(Debug)]
pub struct Synchronous {
    call: Call,
    setup: Option<Setup>,
    /// Where the next `read` or `write` of each target goes, for calls that seek; −1 when that is not known.
    positions: Box<[i64]>,
    chance: Chance,
    done: Completion,
    waiting: bool,
}

impl Synchronous {
    /// One that uses these calls.
    pub fn new(call: Call) -> Self {
        Self {
            call,
            setup: None,
            positions: Box::default(),
            chance: Chance::new(0),
            done: Completion::default(),
            waiting: false,
        }
    }

    fn perform(&mut self, operation: &Operation) -> i32 {
        let setup = self.setup.as_ref().expect("open is called before push");
        let target = &setup.targets[operation.target as usize];
        let length = operation.length as usize;
        if matches!(self.call, Call::Allocate | Call::Truncate) {
            return change_size(self.call, target, operation);
        }
        if matches!(operation.kind, OperationKind::Trim | OperationKind::Sync) {
            return perform_now(target, operation);
        }
        assert!(length <= setup.buffers.slot_bytes(), "an operation fits its slot");
        let is_read = match operation.kind {
            OperationKind::Read => true,
            OperationKind::Write => false,
            OperationKind::Trim | OperationKind::Sync => unreachable!("returned above"),
        };
        let descriptor = target.descriptor();
        let offset = i64::try_from(operation.offset).unwrap_or(i64::MAX);
        let position = &mut self.positions[operation.target as usize];
        if matches!(self.call, Call::Seeking | Call::SeekingVector) && *position != offset {
            // SAFETY: the descriptor is open; no memory is passed.
            if unsafe { libc::lseek64(descriptor, offset, libc::SEEK_SET) } < 0 {
                return -last_errno();
            }
        }
        let memory = setup.buffers.lend(operation.slot).cast::<libc::c_void>();
        let vector = [libc::iovec { iov_base: memory, iov_len: length }];
        // SAFETY: the slot holds at least `length` bytes (asserted above) and is lent to this call alone; writing calls
        // only read it. The vector lives until the call returns.
        let moved = unsafe {
            match (self.call, is_read) {
                // By number: the C library's own are points of cancellation, which costs 50 instructions.
                (Call::Positioned, _) => {
                    let call = if is_read { libc::SYS_pread64 } else { libc::SYS_pwrite64 };
                    isize::try_from(libc::syscall(call, descriptor, memory, length, offset)).unwrap_or(-1)
                }
                (Call::Seeking, true) => libc::read(descriptor, memory, length),
                (Call::Seeking, false) => libc::write(descriptor, memory, length),
                (Call::SeekingVector, true) => libc::readv(descriptor, vector.as_ptr(), 1),
                (Call::SeekingVector, false) => libc::writev(descriptor, vector.as_ptr(), 1),
                (Call::Vector, true) => libc::preadv64(descriptor, vector.as_ptr(), 1, offset),
                (Call::Vector, false) => libc::pwritev64(descriptor, vector.as_ptr(), 1, offset),
                (Call::FlaggedVector(flags), _) => {
                    let flags = bits(flags, is_read, &mut self.chance);
                    flagged(descriptor, &vector, offset, flags, is_read)
                }
                (Call::Allocate | Call::Truncate, _) => unreachable!("they returned above"),
            }
        };
        setup.buffers.give_back(operation.slot);
        if moved < 0 {
            *position = -1;
            return -last_errno();
        }
        *position = offset.saturating_add(i64::try_from(moved).unwrap_or(0));
        i32::try_from(moved).unwrap_or(i32::MAX)
    }
}

/// What takes the place of an operation for calls that move no bytes; what has none is refused.
fn change_size(call: Call, target: &OpenTarget, operation: &Operation) -> i32 {
    let offset = i64::try_from(operation.offset).unwrap_or(i64::MAX);
    let length = i64::from(operation.length);
    // SAFETY: the descriptor is open for as long as `target` is borrowed; no memory is passed.
    let outcome = unsafe {
        match (call, operation.kind) {
            (Call::Allocate, OperationKind::Write) => {
                libc::fallocate64(target.descriptor(), 0, offset, length)
            }
            (Call::Truncate, OperationKind::Write) => libc::ftruncate64(target.descriptor(), offset),
            (_, OperationKind::Sync) | (Call::Allocate, OperationKind::Trim) => {
                return perform_now(target, operation);
            }
            _ => return -libc::EINVAL,
        }
    };
    if outcome < 0 { -last_errno() } else { i32::try_from(operation.length).unwrap_or(i32::MAX) }
}

/// The flags of one call (`linux/fs.h`).
fn bits(flags: CallFlags, is_read: bool, chance: &mut Chance) -> i32 {
    let CallFlags { polled_percent, nowait, uncached, untorn } = flags;
    let mut bits = 0;
    if chance.hits(polled_percent) {
        bits |= libc::RWF_HIPRI;
    }
    if nowait {
        bits |= libc::RWF_NOWAIT;
    }
    if uncached {
        bits |= libc::RWF_DONTCACHE;
    }
    if untorn && !is_read {
        bits |= libc::RWF_ATOMIC;
    }
    bits
}

/// `preadv2(2)` or `pwritev2(2)`, by number: not every C library has them.
///
/// # Safety
/// The vector must describe memory that this call may use, and that a read may overwrite.
unsafe fn flagged(
    descriptor: RawFd,
    vector: &[libc::iovec; 1],
    offset: i64,
    flags: i32,
    is_read: bool,
) -> isize {
    let call = if is_read { libc::SYS_preadv2 } else { libc::SYS_pwritev2 };
    // On 64-bit machines the whole offset is in its low part; the high part is shifted out (preadv(2)).
    // SAFETY: the caller's promise about the memory; the rest are numbers.
    let moved = unsafe { libc::syscall(call, descriptor, vector.as_ptr(), 1_i64, offset, 0_i64, flags) };
    isize::try_from(moved).unwrap_or(-1)
}

impl Engine for Synchronous {
    const SYNCHRONOUS: bool = EngineKind::Psync.is_synchronous();
    const INSTANT: bool = false;

    fn capabilities(&self) -> Capabilities {
        let features = match self.call {
            Call::FlaggedVector(CallFlags { polled_percent: 1.., .. }) => vec!["polled"],
            _ => Vec::new(),
        };
        Capabilities { name: self.call.name(), virtual_time: false, features }
    }

    fn open(&mut self, setup: Setup) -> Result<(), EngineError> {
        self.positions = vec![-1; setup.targets.len()].into();
        self.chance = Chance::new(setup.seed);
        self.setup = Some(setup);
        Ok(())
    }

    fn rest(&mut self, operation: &Operation, moved: i32) -> i32 {
        let setup = self.setup.as_ref().expect("open is called before push");
        self.positions[operation.target as usize] = -1;
        move_rest(setup, operation, moved)
    }

    fn changed(&mut self, target: u32) {
        self.positions[target as usize] = -1;
    }

    #[inline]
    fn push(&mut self, operation: &Operation) {
        debug_assert!(!self.waiting, "a synchronous engine has one operation in flight");
        self.done = Completion { slot: operation.slot, result: self.perform(operation) };
        self.waiting = true;
    }

    #[inline]
    fn submit(&mut self) -> Result<u32, EngineError> {
        Ok(0)
    }

    #[inline]
    fn reap(&mut self, _: Wait, into: &mut [Completion]) -> Result<usize, EngineError> {
        if !std::mem::take(&mut self.waiting) {
            return Ok(0);
        }
        into[0] = self.done;
        Ok(1)
    }

    fn close(&mut self) {
        self.setup = None;
    }
}
