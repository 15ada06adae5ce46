//! `io_submit(2)`/`io_getevents(2)`: Linux native AIO by raw system calls.
//!
//! Asynchronous only with direct I/O: through the page cache the kernel performs the operation inside `io_submit`.

use super::{Capabilities, Completion, Engine, EngineError, Operation, Setup, Wait, move_rest, perform_now};
use crate::clock::monotonic;
use crate::priority::Priorities;
use fathom_schema::{AioSettings, EngineKind, OperationKind, SizedPriority};
use fathom_units::Nanos;
use std::cell::UnsafeCell;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

/// Commands of `struct iocb` (`linux/aio_abi.h`).
const PREAD: u16 = 0;
const PWRITE: u16 = 1;
const FSYNC: u16 = 2;
const FDSYNC: u16 = 3;
/// `priority` of the control block counts.
const FLAG_IOPRIO: u32 = 1 << 1;
/// What the kernel writes into the memory that it shares for completions (`fs/aio.c`, since Linux 2.5).
const RING_MAGIC: u32 = 0xa10a_10a1;
/// How long `close` waits for operations still in flight.
const CLOSE_PATIENCE: Nanos = Nanos::secs(30);

/// `struct iocb` of `linux/aio_abi.h` on little-endian machines. It fills a line of the cache, and lies in no two of them.
#[repr(C, align(64))]
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

/// The head of the memory that the kernel shares for completions (`struct aio_ring`, `fs/aio.c`), where its events follow.
/// The context's number is its address.
#[repr(C, align(8))]
#[derive(Debug)]
struct Ring {
    id: u32,
    count: u32,
    /// The next event to be taken: whoever takes events moves it on.
    head: AtomicU32,
    /// Behind the last event there is: the kernel moves it on.
    tail: AtomicU32,
    magic: u32,
    compatible_features: u32,
    incompatible_features: u32,
    header_bytes: u32,
}

const _: () = assert!(size_of::<Ring>() == 32);
const _: () = assert!(size_of::<Iocb>() == 64 && size_of::<IoEvent>() == 32);

/// Linux native AIO.
#[derive(Debug)]
pub struct Libaio {
    settings: AioSettings,
    priorities: Vec<SizedPriority>,
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
    settings: AioSettings,
    priorities: Priorities,
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
    /// One that is set like this.
    pub fn new(settings: AioSettings) -> Self {
        Self { settings, priorities: Vec::new(), open: None }
    }

    /// With priorities for operations of one kind and size.
    #[must_use]
    pub fn with_priorities(mut self, priorities: &[SizedPriority]) -> Self {
        self.priorities = priorities.to_vec();
        self
    }

    fn open_mut(&mut self) -> &mut Open {
        self.open.as_mut().expect("open is called before operations")
    }
}

impl Open {
    /// Copies events into `events`, from index `first` on: at least `min` of them, or what is there in time.
    fn get_events(
        &mut self,
        first: usize,
        min: usize,
        room: usize,
        timeout_ns: u64,
    ) -> Result<usize, EngineError> {
        let timeout = libc::timespec {
            tv_sec: i64::try_from(timeout_ns / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(timeout_ns % 1_000_000_000).unwrap_or(0),
        };
        let free = &mut self.events[first..];
        let room = (room - first).min(free.len());
        if room == 0 {
            return Ok(0);
        }
        // SAFETY: `free` has room for `room` entries and `timeout` is a valid timespec for the whole call.
        let outcome = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                libc::c_long::try_from(min.min(room)).unwrap_or(0),
                libc::c_long::try_from(room).unwrap_or(0),
                free.as_mut_ptr(),
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

    /// Takes events out of the shared memory without asking the kernel, into `events` from its start.
    fn shared_events(&mut self, room: usize) -> usize {
        let ring = self.context as *const Ring;
        // SAFETY: the context's number is the address of its ring, which the kernel keeps mapped until `io_destroy`. Only
        // this thread takes events; what the kernel changes meanwhile is read as an atomic.
        let (count, head, tail) = unsafe {
            if (*ring).magic != RING_MAGIC || (*ring).incompatible_features != 0 {
                return 0;
            }
            ((*ring).count, (*ring).head.load(Ordering::Relaxed), (*ring).tail.load(Ordering::Acquire))
        };
        let there = (if tail >= head { tail - head } else { count - head + tail }) as usize;
        let taken = there.min(room).min(self.events.len());
        let mut at = head;
        for event in &mut self.events[..taken] {
            // SAFETY: the ring has `count` events behind its head, `at` is below that, and the kernel has written those
            // before the tail (acquired above) and leaves them until the head has passed.
            *event = unsafe { std::ptr::read(ring.add(1).cast::<IoEvent>().add(at as usize)) };
            at = if at + 1 < count { at + 1 } else { 0 };
        }
        if taken > 0 {
            // SAFETY: as above; the events were copied before this is seen.
            unsafe { (*ring).head.store(at, Ordering::Release) };
        }
        taken
    }

    fn collect(
        &mut self,
        min: usize,
        timeout_ns: u64,
        into: &mut [Completion],
    ) -> Result<usize, EngineError> {
        let room = into.len();
        let there = if self.settings.userspace_reap { self.shared_events(room) } else { 0 };
        let found = if there > 0 && there >= min {
            there
        } else {
            // Behind what was copied already.
            there + self.get_events(there, min - min.min(there), room, timeout_ns)?
        };
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
    const SYNCHRONOUS: bool = EngineKind::Libaio(AioSettings::USUAL).is_synchronous();
    const INSTANT: bool = false;

    fn capabilities(&self) -> Capabilities {
        let features = if self.settings.userspace_reap { vec!["reaped in user space"] } else { Vec::new() };
        Capabilities { name: "libaio", virtual_time: false, features }
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
            settings: self.settings,
            priorities: Priorities::new(
                self.settings.priority,
                &self.priorities,
                setup.seed,
                setup.queue_depth,
            ),
            setup,
        });
        Ok(())
    }

    fn rest(&mut self, operation: &Operation, moved: i32) -> i32 {
        move_rest(&self.open_mut().setup, operation, moved)
    }

    fn push(&mut self, operation: &Operation) {
        let open = self.open_mut();
        let target = &open.setup.targets[operation.target as usize];
        if operation.is_performed_at_once() {
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
        let moves = operation.kind != OperationKind::Sync;
        let priority = open.priorities.draw(operation);
        let flag = |set: bool, flag: i32| if set { flag } else { 0 };
        let untorn = open.settings.untorn && operation.kind == OperationKind::Write;
        let buffer = open.setup.buffers.lend(operation.slot);
        let block = open.blocks[operation.slot as usize].get();
        let filled = Iocb {
            data: u64::from(operation.slot),
            opcode,
            descriptor: u32::try_from(target.descriptor()).expect("an open descriptor"),
            buffer: if moves { buffer as u64 } else { 0 },
            bytes: u64::from(operation.length),
            // The kernel refuses a sync with a place.
            offset: if moves { i64::try_from(operation.offset).unwrap_or(i64::MAX) } else { 0 },
            rw_flags: flag(open.settings.nowait && moves, libc::RWF_NOWAIT) | flag(untorn, libc::RWF_ATOMIC),
            priority: priority.cast_signed(),
            flags: if priority > 0 { FLAG_IOPRIO } else { 0 },
            ..Iocb::default()
        };
        // SAFETY: the slot was not lent, so neither the kernel nor a staged pointer refers to this block.
        unsafe { *block = filled };
        open.staged.push(block);
    }

    fn priority_of(&self, slot: u32) -> u16 {
        self.open.as_ref().map_or(0, |open| open.priorities.of(slot))
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
                        Some(errno @ (libc::EINVAL | libc::EBADF | libc::EFAULT | libc::EOPNOTSUPP)) => {
                            // The first block is refused for itself (a sync or a flag that its filesystem does not have, say): it
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
