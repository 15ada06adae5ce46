//! `io_submit(2)`/`io_getevents(2)`: Linux native AIO by raw system calls.
//!
//! Asynchronous only with direct I/O: through the page cache the kernel performs the operation inside `io_submit`.

use super::{Capabilities, Completion, Engine, EngineError, Operation, Setup, Wait, perform_now};
use crate::clock::monotonic;
use fathom_schema::{EngineKind, OperationKind};
use fathom_units::Nanos;
use std::cell::UnsafeCell;
use std::io;

/// Commands of `struct iocb` (`linux/aio_abi.h`).
const PREAD: u16 = 0;
const PWRITE: u16 = 1;
const FSYNC: u16 = 2;
const FDSYNC: u16 = 3;
/// How long `close` waits for operations still in flight.
const CLOSE_PATIENCE: Nanos = Nanos::secs(30);

/// `struct iocb` of `linux/aio_abi.h` on little-endian machines.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Iocb {
    data: u64,
    key: u32,
    rw_flags: i32,
    opcode: u16,
    priority: i16,
    descriptor: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_descriptor: u32,
}

/// `struct io_event` of `linux/aio_abi.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct IoEvent {
    data: u64,
    object: u64,
    result: i64,
    result2: i64,
}

const _: () = assert!(size_of::<Iocb>() == 64 && size_of::<IoEvent>() == 32);

/// Linux native AIO.
#[derive(Debug, Default)]
pub struct Libaio {
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    context: libc::c_ulong,
    setup: Setup,
    /// One control block per slot; stays where it is while its operation is in flight.
    blocks: Box<[UnsafeCell<Iocb>]>,
    /// Pushed, not yet taken by the kernel, from `taken` on.
    staged: Vec<*mut Iocb>,
    taken: usize,
    events: Box<[IoEvent]>,
    immediate: Vec<Completion>,
    in_kernel: usize,
}

/// Makes a context as the engine would and destroys it.
pub(super) fn probe() -> Result<(), EngineError> {
    create(1).map(destroy)
}

fn create(depth: u32) -> Result<libc::c_ulong, EngineError> {
    let mut context: libc::c_ulong = 0;
    // SAFETY: io_setup writes one context id to the pointer, which is valid for the whole call.
    let outcome = unsafe { libc::syscall(libc::SYS_io_setup, libc::c_long::from(depth), &raw mut context) };
    if outcome < 0 { Err(EngineError::system("io_setup", io::Error::last_os_error())) } else { Ok(context) }
}

fn destroy(context: libc::c_ulong) {
    // SAFETY: the context came from io_setup and is not used afterwards. The call waits for what is in flight.
    unsafe { libc::syscall(libc::SYS_io_destroy, context) };
}

impl Libaio {
    fn open_mut(&mut self) -> &mut Open {
        self.open.as_mut().expect("open is called before operations")
    }
}

impl Open {
    fn get_events(&mut self, min: usize, room: usize, timeout_ns: u64) -> Result<usize, EngineError> {
        let timeout = libc::timespec {
            tv_sec: i64::try_from(timeout_ns / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(timeout_ns % 1_000_000_000).unwrap_or(0),
        };
        let room = room.min(self.events.len());
        // SAFETY: `events` has room for `room` entries and `timeout` is a valid timespec for the whole call.
        let outcome = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                libc::c_long::try_from(min.min(room)).unwrap_or(0),
                libc::c_long::try_from(room).unwrap_or(0),
                self.events.as_mut_ptr(),
                &raw const timeout,
            )
        };
        match usize::try_from(outcome) {
            Ok(count) => Ok(count),
            Err(_) => match io::Error::last_os_error() {
                error if error.raw_os_error() == Some(libc::EINTR) => Ok(0),
                error => Err(EngineError::system("io_getevents", error)),
            },
        }
    }

    fn collect(
        &mut self,
        min: usize,
        timeout_ns: u64,
        into: &mut [Completion],
    ) -> Result<usize, EngineError> {
        let found = self.get_events(min, into.len(), timeout_ns)?;
        for (event, completion) in self.events[..found].iter().zip(into) {
            let slot = u32::try_from(event.data).expect("data is a slot");
            self.setup.buffers.give_back(slot);
            *completion = Completion { slot, result: i32::try_from(event.result).unwrap_or(-libc::EIO) };
        }
        self.in_kernel -= found;
        Ok(found)
    }
}

impl Engine for Libaio {
    const SYNCHRONOUS: bool = EngineKind::Libaio.is_synchronous();
    const INSTANT: bool = false;

    fn capabilities(&self) -> Capabilities {
        Capabilities { name: "libaio", virtual_time: false, features: "" }
    }

    fn open(&mut self, setup: Setup) -> Result<(), EngineError> {
        let depth = setup.queue_depth as usize;
        self.open = Some(Open {
            context: create(setup.queue_depth)?,
            blocks: (0..depth).map(|_| UnsafeCell::new(Iocb::default())).collect(),
            staged: Vec::with_capacity(depth),
            taken: 0,
            events: vec![IoEvent::default(); depth].into(),
            immediate: Vec::with_capacity(depth),
            in_kernel: 0,
            setup,
        });
        Ok(())
    }

    fn push(&mut self, operation: &Operation) {
        let open = self.open_mut();
        let target = &open.setup.targets[operation.target as usize];
        if operation.kind == OperationKind::Trim {
            let result = perform_now(target, operation);
            open.immediate.push(Completion { slot: operation.slot, result });
            return;
        }
        assert!(operation.length as usize <= open.setup.buffers.slot_bytes(), "an operation fits its slot");
        let opcode = match operation.kind {
            OperationKind::Read => PREAD,
            OperationKind::Write => PWRITE,
            OperationKind::Sync if operation.data_only => FDSYNC,
            OperationKind::Sync => FSYNC,
            OperationKind::Trim => unreachable!("returned above"),
        };
        let buffer = open.setup.buffers.lend(operation.slot);
        let block = open.blocks[operation.slot as usize].get();
        let filled = Iocb {
            data: u64::from(operation.slot),
            opcode,
            descriptor: u32::try_from(target.descriptor()).expect("an open descriptor"),
            buffer: if operation.kind == OperationKind::Sync { 0 } else { buffer as u64 },
            bytes: u64::from(operation.length),
            offset: i64::try_from(operation.offset).unwrap_or(i64::MAX),
            ..Iocb::default()
        };
        // SAFETY: the slot was not lent, so neither the kernel nor a staged pointer refers to this block.
        unsafe { *block = filled };
        open.staged.push(block);
    }

    fn submit(&mut self) -> Result<u32, EngineError> {
        let open = self.open_mut();
        let mut total = 0;
        while open.taken < open.staged.len() {
            let rest = &mut open.staged[open.taken..];
            // SAFETY: the pointers refer to `blocks`, which do not move; the blocks refer to lent slots and open files.
            let outcome = unsafe {
                libc::syscall(
                    libc::SYS_io_submit,
                    open.context,
                    libc::c_long::try_from(rest.len()).unwrap_or(1),
                    rest.as_mut_ptr(),
                )
            };
            match usize::try_from(outcome) {
                Ok(0) => break,
                Ok(count) => {
                    open.taken += count;
                    open.in_kernel += count;
                    total += count;
                }
                Err(_) => {
                    let error = io::Error::last_os_error();
                    match error.raw_os_error() {
                        // The queue is full for now; what is left goes with the next call, after some completed.
                        Some(libc::EAGAIN | libc::EINTR) => break,
                        Some(errno @ (libc::EINVAL | libc::EBADF | libc::EFAULT)) => {
                            // The first block is refused for itself (fsync on a filesystem without AIO fsync, say): it
                            // completes with that error and the rest goes on.
                            // SAFETY: the pointer refers to one of our own blocks.
                            let slot = u32::try_from(unsafe { (*open.staged[open.taken]).data })
                                .expect("data is a slot");
                            open.setup.buffers.give_back(slot);
                            open.immediate.push(Completion { slot, result: -errno });
                            open.taken += 1;
                        }
                        _ => return Err(EngineError::system("io_submit", error)),
                    }
                }
            }
        }
        if open.taken == open.staged.len() {
            open.staged.clear();
            open.taken = 0;
        }
        Ok(u32::try_from(total).unwrap_or(u32::MAX))
    }

    fn reap(&mut self, wait: Wait, into: &mut [Completion]) -> Result<usize, EngineError> {
        if !self.open_mut().staged.is_empty() {
            // The kernel had no room for these: nobody else tries again while the worker waits for a free slot.
            self.submit()?;
        }
        let open = self.open_mut();
        let mut count = 0;
        while count < into.len()
            && let Some(completion) = open.immediate.pop()
        {
            into[count] = completion;
            count += 1;
        }
        if open.in_kernel > 0 && count < into.len() {
            let missing = (wait.min_complete as usize).saturating_sub(count).min(open.in_kernel);
            let timeout_ns = if missing == 0 { 0 } else { wait.timeout_ns };
            count += open.collect(missing, timeout_ns, &mut into[count..])?;
        }
        Ok(count)
    }

    fn close(&mut self) {
        if let Some(mut open) = self.open.take() {
            let mut into = vec![Completion::default(); open.events.len()];
            for block in open.staged.drain(open.taken..) {
                // SAFETY: the pointer refers to one of our own blocks, which the kernel has not seen.
                let slot = u32::try_from(unsafe { (*block).data }).expect("data is a slot");
                open.setup.buffers.give_back(slot);
            }
            let deadline = monotonic().after(CLOSE_PATIENCE);
            while open.in_kernel > 0 {
                let left = deadline.since(monotonic());
                if left == Nanos::ZERO || open.collect(1, left.0, &mut into).is_err() {
                    break;
                }
            }
            if open.in_kernel > 0 {
                // Destroying the context would wait for them without end: what the kernel may still use is left to it.
                std::mem::forget(open);
                return;
            }
            destroy(open.context);
        }
    }
}

impl Drop for Libaio {
    fn drop(&mut self) {
        self.close();
    }
}
