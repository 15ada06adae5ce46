//! Copies from and to a mapping of the file: `mmap(2)`, one operation at a time, performed where it is pushed.
//!
//! A mapping never makes a file longer, so what lies past its end is not there: reads are cut short, writes refused. A
//! device error under a mapping, or a file that was cut short meanwhile, is a signal (`SIGBUS`), which becomes EIO.

mod fault;

use super::{Capabilities, Completion, Engine, EngineError, OpenTarget, Operation, Setup, Wait, perform_now};
use fathom_schema::{EngineKind, OperationKind};
use std::cell::Cell;
use std::io;
use std::os::fd::RawFd;
use std::ptr::{NonNull, null_mut};

/// How the mapping is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MmapRules {
    /// Each operation is followed by `msync(2)` of what it touched, which then leaves the mapping.
    pub write_through: bool,
    /// The kernel reads nothing ahead (`MADV_RANDOM`); else it reads ahead as much as it likes (`MADV_SEQUENTIAL`).
    pub random_access: bool,
}

/// Copies from and to mappings.
#[derive(Debug)]
pub struct Mmap {
    rules: MmapRules,
    open: Option<Open>,
    done: Completion,
    waiting: bool,
}

#[derive(Debug)]
struct Open {
    mappings: Box<[Mapping]>,
    setup: Setup,
}

/// One target, all of it.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    /// Bytes mapped; 0 for an empty file, which has no mapping.
    bytes: u64,
    /// `msync(2)` and `madvise(2)` take addresses in multiples of this.
    page: u64,
    is_writable: bool,
    /// How it is used, as `madvise(2)` has it.
    advice: libc::c_int,
    /// Some of it could not be mapped again after an error: what lies there is nobody's.
    is_lost: Cell<bool>,
}

impl Mapping {
    fn new(target: &OpenTarget, rules: MmapRules) -> Result<Self, EngineError> {
        let descriptor = target.descriptor();
        let bytes = length_of(descriptor)?;
        if bytes < target.size {
            return Err(EngineError::System {
                call: "mmap",
                error: io::Error::from_raw_os_error(libc::ENXIO),
                remedy: "the file is shorter than what is addressed, and a mapping cannot make it longer; lay it out first"
                    .into(),
            });
        }
        let is_writable = is_writable(descriptor);
        let page = page_size();
        let advice = if rules.random_access { libc::MADV_RANDOM } else { libc::MADV_SEQUENTIAL };
        if bytes == 0 {
            let start = NonNull::dangling();
            return Ok(Self { start, bytes, page, is_writable, advice, is_lost: Cell::new(false) });
        }
        let protection = if is_writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory of ours; the descriptor is open.
        let start =
            unsafe { libc::mmap64(null_mut(), as_usize(bytes), protection, libc::MAP_SHARED, descriptor, 0) };
        if start == libc::MAP_FAILED {
            return Err(EngineError::system("mmap", io::Error::last_os_error()));
        }
        let start = NonNull::new(start.cast::<u8>()).expect("a mapping is not at address 0");
        // SAFETY: the range is the mapping just made. Advice only: what a kernel does not follow changes no result.
        unsafe { libc::madvise(start.as_ptr().cast(), as_usize(bytes), advice) };
        Ok(Self { start, bytes, page, is_writable, advice, is_lost: Cell::new(false) })
    }

    /// Bytes of `length` from `offset` on that are mapped.
    fn within(&self, offset: u64, length: u64) -> u64 {
        self.bytes.saturating_sub(offset).min(length)
    }

    /// Puts the file's pages back under a range of which some had nothing behind them.
    fn map_anew(&self, descriptor: RawFd, offset: u64, length: u64) {
        let begin = offset - offset % self.page;
        let length = as_usize(self.within(begin, offset - begin + length));
        let protection = if self.is_writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
        let place = libc::off64_t::try_from(begin).expect("a place within a file");
        // SAFETY: `begin` and `length` are inside the mapping (`within`), to which nothing keeps a reference. The advice is that of the
        // whole, with which it becomes one again.
        let mapped = unsafe {
            let at = self.start.as_ptr().add(as_usize(begin)).cast();
            let mapped =
                libc::mmap64(at, length, protection, libc::MAP_SHARED | libc::MAP_FIXED, descriptor, place);
            libc::madvise(at, length, self.advice);
            mapped
        };
        if mapped == libc::MAP_FAILED {
            self.is_lost.set(true);
        }
    }

    /// Makes what was written in a range stable.
    fn sync(&self, offset: u64, length: u64, forget: bool) -> i32 {
        let begin = offset - offset % self.page;
        let length = as_usize(self.within(begin, offset - begin + length));
        if length == 0 {
            return 0;
        }
        // SAFETY: `begin` and `length` are inside the mapping (`within`).
        let at = unsafe { self.start.as_ptr().add(as_usize(begin)) }.cast();
        // SAFETY: the range is ours and mapped; nothing keeps a reference into it.
        let outcome = unsafe {
            match libc::msync(at, length, libc::MS_SYNC) {
                0 if forget => libc::madvise(at, length, libc::MADV_DONTNEED),
                outcome => outcome,
            }
        };
        if outcome < 0 { -last_errno() } else { 0 }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: the mapping is ours, and nothing refers to it after this.
            unsafe { libc::munmap(self.start.as_ptr().cast(), as_usize(self.bytes)) };
        }
    }
}

fn as_usize(bytes: u64) -> usize {
    usize::try_from(bytes).expect("mapped bytes are addresses")
}

fn page_size() -> u64 {
    // SAFETY: no memory is passed.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u64::try_from(bytes).expect("every Linux has a page size")
}

fn last_errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// Bytes of a file or a block device.
fn length_of(descriptor: RawFd) -> Result<u64, EngineError> {
    // SAFETY: the descriptor is open; no memory is passed.
    let end = unsafe { libc::lseek64(descriptor, 0, libc::SEEK_END) };
    u64::try_from(end).map_err(|_| EngineError::system("lseek", io::Error::last_os_error()))
}

fn is_writable(descriptor: RawFd) -> bool {
    // SAFETY: the descriptor is open; F_GETFL takes no memory.
    let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFL) };
    flags >= 0 && flags & libc::O_ACCMODE == libc::O_RDWR
}

impl Mmap {
    /// One that uses its mappings like this.
    pub fn new(rules: MmapRules) -> Self {
        Self { rules, open: None, done: Completion::default(), waiting: false }
    }

    fn perform(&self, operation: &Operation) -> i32 {
        let Open { mappings, setup } = self.open.as_ref().expect("open is called before push");
        let Operation { slot, kind, target, offset, length, data_only: _, range_flags } = *operation;
        let mapping = &mappings[target as usize];
        if kind == OperationKind::Sync && range_flags != 0 {
            // What is dirty in a mapping is dirty in the file's cache, which is what is asked about.
            return perform_now(&setup.targets[target as usize], operation);
        }
        let there = mapping.within(offset, u64::from(length));
        match kind {
            OperationKind::Trim => return perform_now(&setup.targets[target as usize], operation),
            OperationKind::Sync => return mapping.sync(0, mapping.bytes, false),
            OperationKind::Write if !mapping.is_writable => return -libc::EBADF,
            OperationKind::Write if there < u64::from(length) => return -libc::ENOSPC,
            OperationKind::Read | OperationKind::Write if mapping.is_lost.get() => return -libc::EIO,
            OperationKind::Read | OperationKind::Write if there == 0 => return 0,
            OperationKind::Read | OperationKind::Write => {}
        }
        assert!(length as usize <= setup.buffers.slot_bytes(), "an operation fits its slot");
        let memory = setup.buffers.lend(slot);
        // SAFETY: `there` bytes from `offset` on are mapped (`within`).
        let mapped = unsafe { mapping.start.as_ptr().add(as_usize(offset)) };
        let bytes = as_usize(there);
        let is_whole = fault::guarded(mapped as usize, bytes, as_usize(mapping.page), || {
            // SAFETY: as many bytes are mapped, and fit the slot (asserted), which is lent to this call alone. Others may change the
            // file's bytes meanwhile: they are copied as bytes and never interpreted.
            unsafe {
                if kind == OperationKind::Read {
                    std::ptr::copy_nonoverlapping(mapped, memory, bytes);
                } else {
                    std::ptr::copy_nonoverlapping(memory, mapped, bytes);
                }
            }
        });
        setup.buffers.give_back(slot);
        if !is_whole {
            let descriptor = setup.targets[target as usize].descriptor();
            mapping.map_anew(descriptor, offset, there);
            return -libc::EIO;
        }
        if self.rules.write_through {
            let outcome = mapping.sync(offset, there, true);
            if outcome < 0 {
                return outcome;
            }
        }
        i32::try_from(there).unwrap_or(i32::MAX)
    }
}

impl Engine for Mmap {
    const SYNCHRONOUS: bool =
        EngineKind::Mmap { write_through: false, random_access: false }.is_synchronous();
    const INSTANT: bool = false;

    fn capabilities(&self) -> Capabilities {
        let features = if self.rules.write_through { vec!["msync after each operation"] } else { Vec::new() };
        Capabilities { name: "mmap", virtual_time: false, features }
    }

    fn open(&mut self, setup: Setup) -> Result<(), EngineError> {
        fault::catch().map_err(|error| EngineError::system("sigaction", error))?;
        let mappings: Result<_, _> =
            setup.targets.iter().map(|target| Mapping::new(target, self.rules)).collect();
        self.open = Some(Open { mappings: mappings?, setup });
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
        self.open = None;
    }
}
