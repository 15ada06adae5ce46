//! Bytes move through a pipe: `splice(2)` between file and pipe, `vmsplice(2)` between pipe and buffer, performed where an
//! operation is pushed.

use super::{Capabilities, Completion, Engine, EngineError, Operation, Setup, Wait, last_errno, perform_now};
use fathom_schema::{EngineKind, OperationKind};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Moves each operation's bytes through a pipe of its own.
#[derive(Debug, Default)]
pub struct Splice {
    setup: Option<Setup>,
    /// Reading end and writing end. Empty between two operations.
    pipe: Option<(OwnedFd, OwnedFd)>,
    done: Completion,
    waiting: bool,
}

fn pipe() -> Result<(OwnedFd, OwnedFd), EngineError> {
    let mut ends = [-1; 2];
    // SAFETY: the kernel writes two descriptors where there is room for them.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } < 0 {
        return Err(EngineError::system("pipe2", io::Error::last_os_error()));
    }
    // SAFETY: both descriptors are new, and nobody else has them.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

/// Moves at most `length` bytes; returns how many, or `−errno`.
fn splice(
    from: RawFd,
    from_offset: Option<&mut i64>,
    to: RawFd,
    to_offset: Option<&mut i64>,
    length: usize,
) -> i64 {
    let pointer = |offset: Option<&mut i64>| offset.map_or(std::ptr::null_mut(), std::ptr::from_mut);
    let (from_offset, to_offset) = (pointer(from_offset), pointer(to_offset));
    // SAFETY: the descriptors are open; the offsets are null or borrowed for the whole call.
    let moved = unsafe { libc::splice(from, from_offset, to, to_offset, length, libc::SPLICE_F_MOVE) };
    if moved < 0 { -i64::from(last_errno()) } else { moved as i64 }
}

impl Splice {
    fn perform(&mut self, operation: &Operation) -> i32 {
        let setup = self.setup.as_ref().expect("open is called before push");
        let target = &setup.targets[operation.target as usize];
        let is_read = match operation.kind {
            OperationKind::Read => true,
            OperationKind::Write => false,
            OperationKind::Trim | OperationKind::Sync => return perform_now(target, operation),
        };
        let length = operation.length as usize;
        assert!(length <= setup.buffers.slot_bytes(), "an operation fits its slot");
        let Some((out, into)) = &self.pipe else { return -libc::EBADF };
        let (out, into, file) = (out.as_raw_fd(), into.as_raw_fd(), target.descriptor());
        let mut offset = i64::try_from(operation.offset).unwrap_or(i64::MAX);
        let memory = setup.buffers.lend(operation.slot);
        let mut moved = 0;
        let mut in_pipe = 0;
        let outcome = loop {
            // Below `length`, or where nothing is left to be moved, its end: the slot holds `length` bytes (asserted above).
            let vector = |bytes| libc::iovec { iov_base: memory.wrapping_add(moved).cast(), iov_len: bytes };
            if in_pipe == 0 {
                if moved == length {
                    break 0;
                }
                let filled = if is_read {
                    splice(file, Some(&mut offset), into, None, length - moved)
                } else {
                    // SAFETY: the vector describes memory of the slot, which the pipe only reads until it is empty.
                    unsafe { vmsplice(into, &vector(length - moved)) }
                };
                if filled <= 0 {
                    break filled;
                }
                in_pipe = usize::try_from(filled).unwrap_or(0);
            }
            let emptied = if is_read {
                // SAFETY: the vector describes memory of the slot, which may be overwritten.
                unsafe { vmsplice(out, &vector(in_pipe)) }
            } else {
                splice(out, None, file, Some(&mut offset), in_pipe)
            };
            if emptied <= 0 {
                break emptied;
            }
            let emptied = usize::try_from(emptied).unwrap_or(0);
            moved += emptied;
            in_pipe -= emptied;
        };
        setup.buffers.give_back(operation.slot);
        if in_pipe > 0 {
            // What is left in it must not become part of the next operation.
            self.pipe = None;
            self.pipe = pipe().ok();
        }
        if moved == 0 && outcome < 0 {
            return i32::try_from(outcome).unwrap_or(-libc::EIO);
        }
        i32::try_from(moved).unwrap_or(i32::MAX)
    }
}

/// Moves what a pipe's writing end takes from the vector, or what its reading end gives to it; returns how many bytes, or
/// `−errno`.
///
/// # Safety
/// The vector must describe memory that this call may use, and that the reading end may overwrite; what goes in must stay
/// until it has come out.
unsafe fn vmsplice(end: RawFd, vector: &libc::iovec) -> i64 {
    // SAFETY: the caller's promise.
    let moved = unsafe { libc::vmsplice(end, vector, 1, 0) };
    if moved < 0 { -i64::from(last_errno()) } else { moved as i64 }
}

impl Engine for Splice {
    const SYNCHRONOUS: bool = EngineKind::Splice.is_synchronous();
    const INSTANT: bool = false;

    fn capabilities(&self) -> Capabilities {
        Capabilities { name: EngineKind::Splice.name(), virtual_time: false, features: Vec::new() }
    }

    fn open(&mut self, setup: Setup) -> Result<(), EngineError> {
        self.pipe = Some(pipe()?);
        self.setup = Some(setup);
        Ok(())
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
        self.pipe = None;
        self.setup = None;
    }
}
