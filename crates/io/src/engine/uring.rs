//! `io_uring(7)`: batches down in one system call, completions up from shared memory.
//!
//! The ring is made for one issuing thread with deferred task work where the kernel can (6.1), and with registered files
//! and buffers where asked and possible; `capabilities().features` says what is in use. Trims are performed at submission,
//! since the interface has no discard before Linux 6.12.

mod entrance;

use super::{
    Capabilities, Completion, Engine, EngineError, OpenTarget, Operation, Setup, Wait, move_rest, perform_now,
};
use crate::clock::{monotonic, sleep_until};
use crate::priority::Priorities;
use entrance::{Entrance, Purpose};
use fathom_schema::{
    EngineKind, ForcedAsync, OperationKind, Registration, RingSettings, SizedPriority, Submitter, ring_bytes,
};
use fathom_units::Nanos;
use io_uring::{cqueue, opcode, squeue, types};
use std::cell::UnsafeCell;
use std::io;
use std::mem::MaybeUninit;
use std::rc::Rc;

/// Largest piece of memory that one registered buffer may cover (`io_uring_register(2)`).
const FIXED_BYTES_MAX: usize = 1 << 30;
/// Completions copied out of the ring at once; larger batches take another round.
const REAP: usize = 64;
/// How long the kernel's thread looks for work before it sleeps.
const KERNEL_THREAD_IDLE_MS: u32 = 1000;
/// How long `close` waits for operations still in flight.
const CLOSE_PATIENCE: Nanos = Nanos::secs(30);

/// `io_uring`.
#[derive(Debug)]
pub struct IoUring {
    settings: RingSettings,
    priorities: Vec<SizedPriority>,
    open: Option<Open>,
}

/// Where the bytes of an operation are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Memory {
    Plain,
    Registered,
    Vector,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a feature the kernel granted or a fact of the ring"
)]
struct Open {
    // In the order in which they go: the way in before the ring, and that before the buffers that the kernel may know of.
    entrance: Entrance,
    ring: io_uring::IoUring,
    setup: Setup,
    staged: Vec<squeue::Entry>,
    /// Operations performed at submission, waiting to be reaped.
    immediate: Vec<Completion>,
    in_kernel: u32,
    /// Completions come up only when the kernel is entered: it has deferred work to run, or polls.
    comes_up_on_entry: bool,
    /// The kernel was entered since the last reap, and has run its deferred work then.
    entered: bool,
    /// All that was handed over the last time had completed when the kernel had taken it, as reads of what is in memory
    /// do: there is no deferred work to run.
    completes_at_once: bool,
    /// A thread of the kernel takes what is in the ring; nothing has to be handed over.
    is_taken_by_kernel: bool,
    polled: bool,
    memory: Memory,
    registered_files: bool,
    /// One per slot, which it describes; empty unless operations are vectored.
    vectors: Box<[UnsafeCell<libc::iovec>]>,
    /// Of reads and of writes.
    flags: (i32, i32),
    priorities: Priorities,
    /// Operations up to the next one that is forced to be asynchronous, and from that to the one after.
    until_forced: u32,
    forced_every: u32,
}

impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Open").field("in_kernel", &self.in_kernel).finish_non_exhaustive()
    }
}

impl IoUring {
    /// One that sets itself up like this when it is opened.
    pub fn new(settings: RingSettings) -> Self {
        Self { settings, priorities: Vec::new(), open: None }
    }

    /// With priorities for operations of one kind and size.
    #[must_use]
    pub fn with_priorities(self, priorities: &[SizedPriority]) -> Self {
        Self { priorities: priorities.to_vec(), ..self }
    }

    fn open_mut(&mut self) -> &mut Open {
        self.open.as_mut().expect("open is called before operations")
    }
}

/// Makes a ring as the engine would and drops it.
pub(super) fn probe() -> Result<(), EngineError> {
    ring(2, RingSettings::USUAL).map(|_| ())
}

/// Whether the kernel counts rings as locked memory, of which this process has no unlimited amount: whether it makes none while
/// none may be locked.
pub(super) fn is_locked() -> bool {
    // Once in a process: two at a time would each take the other's limit for the one to go back to.
    static IS_LOCKED: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *IS_LOCKED.get_or_init(tried_without_locked_memory)
}

fn tried_without_locked_memory() -> bool {
    let Some(limit) = limit_of_locked() else { return false };
    let set = |limit: libc::rlimit| {
        // SAFETY: `limit` is readable for the call.
        unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const limit) == 0 }
    };
    // The soft limit may be lowered, and raised again, by anyone.
    if limit.rlim_cur == libc::RLIM_INFINITY || !set(libc::rlimit { rlim_cur: 0, ..limit }) {
        return false;
    }
    let made = io_uring::IoUring::new(2);
    let restored = set(limit);
    assert!(restored, "a soft limit may be as high as it was");
    made.is_err_and(|error| error.raw_os_error() == Some(libc::ENOMEM))
}

/// The kernel gives the locked memory of a ring back to its user some time after it was closed (seen with Linux 6.18 and 64 KiB
/// for a user): so often, and so long apart, one that finds none is tried again.
const FREED_LATE_TURNS: u32 = 5;
const FREED_LATE: Nanos = Nanos::millis(20);

fn built(builder: &io_uring::Builder, entries: u32) -> io::Result<io_uring::IoUring> {
    for _ in 0..FREED_LATE_TURNS {
        match builder.build(entries) {
            Err(error) if error.raw_os_error() == Some(libc::ENOMEM) => {
                sleep_until(monotonic().after(FREED_LATE));
            }
            made => return made,
        }
    }
    builder.build(entries)
}

/// A ring for `depth` operations, with deferred task work where the kernel has it; a thread of the kernel's own has none.
fn ring(depth: u32, settings: RingSettings) -> Result<(io_uring::IoUring, bool), EngineError> {
    let entries = settings.entries(depth);
    let mut builder = io_uring::IoUring::builder();
    if settings.polled {
        builder.setup_iopoll();
    }
    match settings.submitter {
        Submitter::Worker => {}
        Submitter::Kernel => {
            builder.setup_sqpoll(KERNEL_THREAD_IDLE_MS);
        }
        Submitter::KernelOn(cpu) => {
            builder.setup_sqpoll(KERNEL_THREAD_IDLE_MS).setup_sqpoll_cpu(cpu);
        }
    }
    let plain = builder.clone();
    let may_defer = settings.submitter == Submitter::Worker;
    builder.setup_single_issuer();
    if may_defer {
        builder.setup_defer_taskrun();
    }
    let (ring, deferred) = match built(&builder, entries) {
        Ok(ring) => (ring, may_defer),
        // Kernels before 6.1 refuse the flags with EINVAL; anything else (EPERM) would fail again.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            (built(&plain, entries).map_err(|error| refused(error, entries))?, false)
        }
        Err(error) => return Err(refused(error, entries)),
    };
    if !ring.params().is_feature_ext_arg() {
        let error = io::Error::from_raw_os_error(libc::ENOSYS);
        return Err(EngineError::System {
            call: "io_uring_setup",
            error,
            remedy: "Linux 5.11 or newer is needed".into(),
        });
    }
    Ok((ring, deferred))
}

/// Why a ring of so many entries could not be made.
fn refused(error: io::Error, entries: u32) -> EngineError {
    if error.raw_os_error() != Some(libc::ENOMEM) {
        return EngineError::system("io_uring_setup", error);
    }
    let kib = ring_bytes(entries) / 1024;
    let others = "fewer workers, a smaller queue depth, or engine libaio or psync";
    let remedy = match locked_memory_limit() {
        Some(limit) => format!(
            "a ring of {entries} entries takes {kib} KiB of locked memory, which the kernel counts together for all rings of a \
             user, and the limit is {} KiB: raise it with ulimit -l (above the hard limit as root; LimitMEMLOCK for a \
             service), or use {others}",
            limit / 1024
        ),
        None => format!(
            "a ring of {entries} entries takes {kib} KiB, and the kernel or the control group of this process has no memory \
             left: give it more, or use {others}"
        ),
    };
    EngineError::System { call: "io_uring_setup", error, remedy: remedy.into() }
}

/// Bytes of memory that this process may lock; `None` where there is no limit, or none is told.
fn locked_memory_limit() -> Option<u64> {
    limit_of_locked().map(|limit| limit.rlim_cur).filter(|&bytes| bytes != libc::RLIM_INFINITY)
}

fn limit_of_locked() -> Option<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is writable for the call.
    let told = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &raw mut limit) } == 0;
    told.then_some(limit)
}

/// Registers something as asked; whether it is.
fn registered(asked: Registration, register: impl FnOnce() -> io::Result<()>) -> Result<bool, EngineError> {
    match asked {
        Registration::Never => Ok(false),
        Registration::WherePossible => Ok(register().is_ok()),
        Registration::Required => {
            register().map(|()| true).map_err(|error| EngineError::system("io_uring_register", error))
        }
    }
}

impl Open {
    fn new(setup: Setup, settings: RingSettings, priorities: &[SizedPriority]) -> Result<Self, EngineError> {
        let RingSettings {
            fixed_buffers,
            registered_files,
            polled,
            submitter,
            vectored,
            forced_async,
            nowait,
            uncached,
            untorn,
            priority,
        } = settings;
        let flag = |set: bool, flag: i32| if set { flag } else { 0 };
        let flags = flag(nowait, libc::RWF_NOWAIT) | flag(uncached, libc::RWF_DONTCACHE);
        let (ring, deferred) = ring(setup.queue_depth, settings)?;
        let buffers = &setup.buffers;
        let has_buffers = registered(fixed_buffers, || {
            let total = buffers.slot_bytes() * buffers.slots() as usize;
            if total > FIXED_BYTES_MAX {
                return Err(io::Error::from_raw_os_error(libc::ENOMEM));
            }
            let whole = libc::iovec { iov_base: buffers.pointer(0).cast(), iov_len: total };
            // SAFETY: the memory is `buffers`', which `setup` keeps alive longer than the ring (field order).
            unsafe { ring.submitter().register_buffers(&[whole]) }
        })?;
        let descriptors: Vec<i32> = setup.targets.iter().map(OpenTarget::descriptor).collect();
        let registered_files =
            registered(registered_files, || ring.submitter().register_files(&descriptors))?;
        let memory = match (has_buffers, vectored) {
            (true, _) => Memory::Registered,
            (false, true) => Memory::Vector,
            (false, false) => Memory::Plain,
        };
        let vector = |slot| libc::iovec { iov_base: buffers.pointer(slot).cast(), iov_len: 0 };
        let vectors = match memory {
            Memory::Vector => (0..buffers.slots()).map(|slot| UnsafeCell::new(vector(slot))).collect(),
            Memory::Plain | Memory::Registered => Box::default(),
        };
        let forced_every = match forced_async {
            ForcedAsync::Never => u32::MAX,
            ForcedAsync::OneOf(every) => every.max(1),
        };
        let depth = setup.queue_depth as usize;
        Ok(Self {
            staged: Vec::with_capacity(depth),
            immediate: Vec::with_capacity(depth),
            in_kernel: 0,
            comes_up_on_entry: deferred || polled,
            entered: false,
            completes_at_once: false,
            is_taken_by_kernel: submitter != Submitter::Worker,
            polled,
            memory,
            registered_files,
            vectors,
            flags: (flags, flags | flag(untorn, libc::RWF_ATOMIC)),
            priorities: Priorities::new(priority, priorities, setup.seed, setup.queue_depth),
            until_forced: forced_every,
            forced_every,
            entrance: Entrance::new(&ring),
            ring,
            setup,
        })
    }

    /// Stages an operation for the kernel.
    ///
    /// Each arm stages its own entry: one that is built in several places and moved from there costs more than all the rest
    /// (a load that is wider than the stores before it waits for them).
    #[inline]
    fn stage(&mut self, operation: &Operation) {
        let Operation { slot, target, offset, length, kind, data_only, range_flags: _ } = *operation;
        assert!(length as usize <= self.setup.buffers.slot_bytes(), "an operation fits its slot");
        let buffer = self.setup.buffers.lend(slot);
        let descriptor = types::Fd(self.setup.targets[target as usize].descriptor());
        let forced = self.forced();
        /// Stages an entry that moves bytes, for each kind of memory and file: the builders are generic over neither.
        macro_rules! transfer {
            ($plain:ident, $fixed:ident, $vectored:ident, $flags:expr) => {{
                let priority = self.priorities.draw(operation);
                let flags = $flags;
                macro_rules! built {
                    ($builder:expr) => {{
                        let entry = $builder.offset(offset).ioprio(priority).rw_flags(flags).build();
                        self.staged.push(entry.user_data(u64::from(slot)).flags(forced));
                    }};
                }
                macro_rules! at {
                    ($file:expr) => {
                        match self.memory {
                            Memory::Registered => built!(opcode::$fixed::new($file, buffer, length, 0)),
                            Memory::Plain => built!(opcode::$plain::new($file, buffer, length)),
                            Memory::Vector => {
                                built!(opcode::$vectored::new($file, self.vector(slot, length), 1));
                            }
                        }
                    };
                }
                if self.registered_files { at!(types::Fixed(target)) } else { at!(descriptor) }
            }};
        }
        match kind {
            OperationKind::Read => transfer!(Read, ReadFixed, Readv, self.flags.0),
            OperationKind::Write => transfer!(Write, WriteFixed, Writev, self.flags.1),
            OperationKind::Sync => {
                let flags = if data_only { types::FsyncFlags::DATASYNC } else { types::FsyncFlags::empty() };
                let entry = opcode::Fsync::new(descriptor).flags(flags).build();
                self.staged.push(entry.user_data(u64::from(slot)).flags(forced));
            }
            OperationKind::Trim => unreachable!("performed when it is pushed"),
        }
    }

    /// The flag that forces the next operation to be asynchronous, where one of so many is.
    #[inline]
    fn forced(&mut self) -> squeue::Flags {
        if self.forced_every == u32::MAX {
            return squeue::Flags::empty();
        }
        self.until_forced -= 1;
        if self.until_forced > 0 {
            return squeue::Flags::empty();
        }
        self.until_forced = self.forced_every;
        squeue::Flags::ASYNC
    }

    /// The vector of a slot, set to `length` bytes.
    fn vector(&self, slot: u32, length: u32) -> *const libc::iovec {
        let vector = self.vectors[slot as usize].get();
        // SAFETY: the slot was ours until now, so that the kernel does not refer to its vector, and nothing else does.
        unsafe { (*vector).iov_len = length as usize };
        vector
    }

    /// `io_uring_enter`, with the outcomes that are no errors taken as "nothing happened".
    fn enter(&self, submit: u32, purpose: Purpose) -> Result<u32, EngineError> {
        // SAFETY: what is in the ring refers to buffers and targets of this engine, which lets go of the ring before them.
        let entered = unsafe { self.entrance.enter(submit, purpose) };
        entered.or_else(|error| match error.raw_os_error() {
            // Interrupted, timed out, or the kernel wants completions reaped first: the caller's next turn does that.
            Some(libc::EINTR | libc::ETIME | libc::EAGAIN | libc::EBUSY) => Ok(0),
            _ => Err(EngineError::system("io_uring_enter", error)),
        })
    }

    /// Operations that are in the ring and that the kernel takes only when it is entered.
    fn untaken(&mut self) -> u32 {
        if self.is_taken_by_kernel {
            return 0;
        }
        u32::try_from(self.ring.submission().len()).expect("at most the ring's size")
    }

    /// Moves what the ring has into `into`.
    fn drain(&mut self, into: &mut [Completion]) -> usize {
        let mut count = 0;
        let mut raw = [const { MaybeUninit::<cqueue::Entry>::uninit() }; REAP];
        while count < into.len() {
            let room = REAP.min(into.len() - count);
            let entries = self.ring.completion().fill(&mut raw[..room]).len();
            for entry in &raw[..entries] {
                // SAFETY: `fill` initialised the first `entries` elements.
                let entry = unsafe { entry.assume_init_ref() };
                let slot = u32::try_from(entry.user_data()).expect("user_data is a slot");
                self.setup.buffers.give_back(slot);
                into[count] = Completion { slot, result: entry.result() };
                count += 1;
            }
            self.in_kernel -= u32::try_from(entries).expect("at most REAP");
            if entries < room {
                break;
            }
        }
        while count < into.len()
            && let Some(completion) = self.immediate.pop()
        {
            into[count] = completion;
            count += 1;
        }
        count
    }
}

impl Engine for IoUring {
    const SYNCHRONOUS: bool = EngineKind::IoUring(RingSettings::USUAL).is_synchronous();
    const INSTANT: bool = false;

    fn capabilities(&self) -> Capabilities {
        let of_open = |open: &Open| (open.memory == Memory::Registered, open.registered_files);
        let (buffers, files) = self.open.as_ref().map_or((false, false), of_open);
        let mut features = match (buffers, files) {
            (true, true) => vec!["registered buffers and files"],
            (true, false) => vec!["registered buffers"],
            (false, true) => vec!["registered files"],
            (false, false) => Vec::new(),
        };
        if self.settings.polled {
            features.push("polled");
        }
        if self.settings.submitter != Submitter::Worker {
            features.push("submitted by a kernel thread");
        }
        Capabilities { name: "io_uring", virtual_time: false, features }
    }

    fn is_as_asked(&self) -> bool {
        let RingSettings { fixed_buffers, registered_files, .. } = self.settings;
        self.open.as_ref().is_none_or(|open| {
            (fixed_buffers == Registration::Never || open.memory == Memory::Registered)
                && (registered_files == Registration::Never || open.registered_files)
        })
    }

    fn open(&mut self, setup: Setup) -> Result<(), EngineError> {
        self.open = Some(Open::new(setup, self.settings, &self.priorities)?);
        Ok(())
    }

    fn rest(&mut self, operation: &Operation, moved: i32) -> i32 {
        move_rest(&self.open_mut().setup, operation, moved)
    }

    #[inline]
    fn push(&mut self, operation: &Operation) {
        let open = self.open_mut();
        // A ring that polls takes nothing but reads and writes.
        if operation.is_performed_at_once() || (open.polled && operation.kind == OperationKind::Sync) {
            let target = &open.setup.targets[operation.target as usize];
            let result = perform_now(target, operation);
            open.immediate.push(Completion { slot: operation.slot, result });
            return;
        }
        open.stage(operation);
    }

    fn priority_of(&self, slot: u32) -> u16 {
        self.open.as_ref().map_or(0, |open| open.priorities.of(slot))
    }

    fn submit(&mut self) -> Result<u32, EngineError> {
        let open = self.open_mut();
        let staged = u32::try_from(open.staged.len()).expect("at most the queue depth");
        if staged > 0 {
            // SAFETY: every entry refers to a lent slot and an open file of `setup`, which outlive the ring.
            let pushed = unsafe { open.ring.submission().push_multiple(&open.staged) };
            pushed.expect("the ring holds the queue depth and the worker keeps to it");
            open.staged.clear();
            open.in_kernel += staged;
        }
        let waiting = u32::try_from(open.ring.submission().len()).expect("at most the ring's size");
        if waiting == 0 {
            return Ok(0);
        }
        if open.is_taken_by_kernel {
            // Wakes the kernel's thread when it sleeps.
            return match open.ring.submitter().submit() {
                Ok(_) => Ok(staged),
                Err(error) => Err(EngineError::system("io_uring_enter", error)),
            };
        }
        open.entered = !open.completes_at_once;
        open.enter(waiting, if open.entered { Purpose::LookFor } else { Purpose::HandOver })
    }

    fn reap(&mut self, wait: Wait, into: &mut [Completion]) -> Result<usize, EngineError> {
        let open = self.open_mut();
        let mut count = open.drain(into);
        open.completes_at_once = open.in_kernel == 0;
        let wanted = (wait.min_complete as usize).min(into.len()).min(count + open.in_kernel as usize);
        let entered = std::mem::take(&mut open.entered);
        // Deferred work runs when the kernel is entered; polling without ever entering would see nothing.
        if count >= wanted && (count > 0 || entered || !open.comes_up_on_entry || open.in_kernel == 0) {
            return Ok(count);
        }
        let unsubmitted = open.untaken();
        let missing = u32::try_from(wanted - count.min(wanted)).expect("at most the queue depth");
        let waits = Purpose::WaitFor(missing, wait.timeout_ns);
        open.enter(unsubmitted, if missing == 0 { Purpose::LookFor } else { waits })?;
        count += open.drain(&mut into[count..]);
        Ok(count)
    }

    fn close(&mut self) {
        if let Some(open) = &mut self.open {
            let mut into = [Completion::default(); REAP];
            for entry in open.staged.drain(..) {
                let slot = u32::try_from(entry.get_user_data()).expect("user_data is a slot");
                open.setup.buffers.give_back(slot);
            }
            let deadline = monotonic().after(CLOSE_PATIENCE);
            // What the kernel did not take at its submission stays where it is: nothing is issued after the end.
            let untaken = open.untaken();
            while open.in_kernel > untaken {
                let left = deadline.since(monotonic());
                if left == Nanos::ZERO || open.enter(0, Purpose::WaitFor(1, left.0)).is_err() {
                    break;
                }
                open.drain(&mut into);
            }
            let buffers = (open.in_kernel == untaken).then(|| Rc::clone(&open.setup.buffers));
            self.open = None;
            if let Some(buffers) = buffers {
                // The ring is gone, and with it the kernel's sight of what it never took.
                buffers.reclaim();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::TargetHandle;
    use crate::{Buffers, probe_io_uring};
    use std::fs::OpenOptions;

    #[test]
    fn a_ring_that_the_kernel_empties_has_room_for_what_it_has_not_said_it_took() {
        for (submitter, room) in [(Submitter::Worker, 1), (Submitter::Kernel, 2)] {
            match ring(8, RingSettings { submitter, ..RingSettings::USUAL }) {
                Ok((ring, _)) => assert_eq!(ring.params().sq_entries(), 8 * room, "{submitter:?}"),
                Err(error) => assert!(probe_io_uring().is_some(), "{submitter:?}: {error}"),
            }
        }
    }

    #[test]
    fn a_ring_takes_whole_pages_of_entries_and_of_what_completes() {
        for (entries, kib) in [(1, 8), (64, 8), (128, 8 + 8), (4096, 256 + 148)] {
            assert_eq!(ring_bytes(entries) / 1024, kib, "{entries} entries");
        }
    }

    /// A full queue or a lack of memory makes the kernel take less than it is given; what is left must not be written when
    /// the engine closes, for then it is after the end.
    #[test]
    fn what_the_kernel_never_took_does_not_happen_at_close() {
        if let Some(why) = probe_io_uring() {
            use std::io::Write;
            writeln!(io::stderr(), "SKIPPED untaken at close: io_uring: {why}")
                .expect("stderr can be written");
            return;
        }
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let path = folder.path().join("f");
        std::fs::write(&path, vec![1; 8192]).expect("a file can be written");
        let file = OpenOptions::new().read(true).write(true).open(&path).expect("it can be opened");
        let buffers = Rc::new(Buffers::new(2, 4096));
        let targets = vec![crate::OpenTarget {
            handle: TargetHandle::File(file),
            size: 8192,
            trim_by: fathom_schema::TrimBy::Discard,
        }];
        let mut engine = IoUring::new(RingSettings::USUAL);
        engine
            .open(Setup { targets, queue_depth: 2, buffers: Rc::clone(&buffers), seed: 1 })
            .expect("the engine can be opened");
        let write = |slot: u32| Operation {
            slot,
            kind: OperationKind::Write,
            target: 0,
            offset: u64::from(slot) * 4096,
            length: 4096,
            data_only: false,
            range_flags: 0,
        };
        engine.push(&write(0));
        assert_eq!(engine.submit().expect("it can be submitted"), 1);
        engine.push(&write(1));
        // As `submit` does, but for the call that the kernel takes them with.
        let open = engine.open_mut();
        // SAFETY: the entry refers to a lent slot and an open file, which outlive the ring.
        unsafe { open.ring.submission().push_multiple(&open.staged) }.expect("there is room");
        open.staged.clear();
        open.in_kernel += 1;
        engine.close();
        assert!(!buffers.any_lent(), "both slots are ours again");
        let now = std::fs::read(&path).expect("it can be read");
        assert_eq!(now, [vec![0; 4096], vec![1; 4096]].concat());
    }
}
