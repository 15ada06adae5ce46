//! `io_uring(7)`: batches down in one system call, completions up from shared memory.
//!
//! The ring is made for one issuing thread with deferred task work where the kernel can (6.1), and with registered files
//! and buffers where asked and possible; `capabilities().features` says what is in use. Trims are performed at submission,
//! since the interface has no discard before Linux 6.12.

use super::{Capabilities, Completion, Engine, EngineError, OpenTarget, Operation, Setup, Wait, perform_now};
use crate::clock::monotonic;
use fathom_schema::{EngineKind, OperationKind};
use fathom_units::Nanos;
use io_uring::{EnterFlags, cqueue, opcode, squeue, types};
use std::io;
use std::mem::MaybeUninit;
use std::rc::Rc;
use std::time::Duration;

/// Largest piece of memory that one registered buffer may cover (`io_uring_register(2)`).
const FIXED_BYTES_MAX: usize = 1 << 30;
/// Completions copied out of the ring at once; larger batches take another round.
const REAP: usize = 64;
/// How long `close` waits for operations still in flight.
const CLOSE_PATIENCE: Nanos = Nanos::secs(30);

/// `io_uring`.
#[derive(Debug)]
pub struct IoUring {
    fixed_buffers: bool,
    registered_files: bool,
    open: Option<Open>,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a feature the kernel granted or a fact of the ring"
)]
struct Open {
    // Declared before `setup`: the ring goes before the buffers that the kernel may know of.
    ring: io_uring::IoUring,
    setup: Setup,
    staged: Vec<squeue::Entry>,
    /// Operations performed at submission, waiting to be reaped.
    immediate: Vec<Completion>,
    in_kernel: u32,
    deferred: bool,
    /// The kernel was entered since the last reap, and has run its deferred work then.
    entered: bool,
    fixed_buffers: bool,
    registered_files: bool,
}

impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Open").field("in_kernel", &self.in_kernel).finish_non_exhaustive()
    }
}

impl IoUring {
    /// One that registers buffers and files as asked, when it is opened.
    pub fn new(fixed_buffers: bool, registered_files: bool) -> Self {
        Self { fixed_buffers, registered_files, open: None }
    }

    fn open_mut(&mut self) -> &mut Open {
        self.open.as_mut().expect("open is called before operations")
    }
}

/// Makes a ring as the engine would and drops it.
pub(super) fn probe() -> Result<(), EngineError> {
    ring(2).map(|_| ())
}

/// A ring for `depth` operations, with deferred task work where the kernel has it.
fn ring(depth: u32) -> Result<(io_uring::IoUring, bool), EngineError> {
    let entries = depth.next_power_of_two();
    let single = io_uring::IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(entries);
    let (ring, deferred) = match single {
        Ok(ring) => (ring, true),
        // Kernels before 6.1 refuse the flags with EINVAL; anything else (EPERM, ENOMEM) would fail again.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            let plain = io_uring::IoUring::new(entries);
            (plain.map_err(|error| EngineError::system("io_uring_setup", error))?, false)
        }
        Err(error) => return Err(EngineError::system("io_uring_setup", error)),
    };
    if !ring.params().is_feature_ext_arg() {
        let error = io::Error::from_raw_os_error(libc::ENOSYS);
        return Err(EngineError::System {
            call: "io_uring_setup",
            error,
            remedy: "Linux 5.11 or newer is needed",
        });
    }
    Ok((ring, deferred))
}

impl Open {
    fn new(setup: Setup, fixed_buffers: bool, registered_files: bool) -> Result<Self, EngineError> {
        let (ring, deferred) = ring(setup.queue_depth)?;
        let buffers = &setup.buffers;
        let total = buffers.slot_bytes() * buffers.slots() as usize;
        let fixed_buffers = fixed_buffers && total <= FIXED_BYTES_MAX && {
            let whole = libc::iovec { iov_base: buffers.pointer(0).cast(), iov_len: total };
            // SAFETY: the memory is `buffers`', which `setup` keeps alive longer than the ring (field order).
            unsafe { ring.submitter().register_buffers(&[whole]) }.is_ok()
        };
        let descriptors: Vec<i32> = setup.targets.iter().map(OpenTarget::descriptor).collect();
        let registered_files = registered_files && ring.submitter().register_files(&descriptors).is_ok();
        let depth = setup.queue_depth as usize;
        Ok(Self {
            ring,
            staged: Vec::with_capacity(depth),
            immediate: Vec::with_capacity(depth),
            in_kernel: 0,
            deferred,
            entered: false,
            fixed_buffers,
            registered_files,
            setup,
        })
    }

    fn entry(&self, operation: &Operation) -> squeue::Entry {
        let Operation { slot, kind, target, offset, length, data_only } = *operation;
        let descriptor = types::Fd(self.setup.targets[target as usize].descriptor());
        assert!(length as usize <= self.setup.buffers.slot_bytes(), "an operation fits its slot");
        let buffer = self.setup.buffers.lend(slot);
        // The builders are generic over the kind of file handle, so the choice has to be written out.
        let entry = match (kind, self.registered_files, self.fixed_buffers) {
            (OperationKind::Read, true, true) => {
                opcode::ReadFixed::new(types::Fixed(target), buffer, length, 0).offset(offset).build()
            }
            (OperationKind::Read, true, false) => {
                opcode::Read::new(types::Fixed(target), buffer, length).offset(offset).build()
            }
            (OperationKind::Read, false, true) => {
                opcode::ReadFixed::new(descriptor, buffer, length, 0).offset(offset).build()
            }
            (OperationKind::Read, false, false) => {
                opcode::Read::new(descriptor, buffer, length).offset(offset).build()
            }
            (OperationKind::Write, true, true) => {
                opcode::WriteFixed::new(types::Fixed(target), buffer, length, 0).offset(offset).build()
            }
            (OperationKind::Write, true, false) => {
                opcode::Write::new(types::Fixed(target), buffer, length).offset(offset).build()
            }
            (OperationKind::Write, false, true) => {
                opcode::WriteFixed::new(descriptor, buffer, length, 0).offset(offset).build()
            }
            (OperationKind::Write, false, false) => {
                opcode::Write::new(descriptor, buffer, length).offset(offset).build()
            }
            (OperationKind::Sync, ..) => {
                let flags = if data_only { types::FsyncFlags::DATASYNC } else { types::FsyncFlags::empty() };
                opcode::Fsync::new(descriptor).flags(flags).build()
            }
            (OperationKind::Trim, ..) => unreachable!("trims are performed at submission"),
        };
        entry.user_data(u64::from(slot))
    }

    /// `io_uring_enter`, with the outcomes that are no errors taken as "nothing happened".
    fn enter(&self, submit: u32, min_complete: u32, timeout_ns: u64) -> Result<u32, EngineError> {
        let timespec = types::Timespec::from(Duration::from_nanos(timeout_ns));
        let arguments = types::SubmitArgs::new().timespec(&timespec);
        let flags = EnterFlags::GETEVENTS | EnterFlags::EXT_ARG;
        // SAFETY: the argument is what EXT_ARG promises and lives for the whole call; the staged entries that the kernel
        // takes refer to buffers and files that `setup` keeps alive longer than the ring.
        let outcome =
            unsafe { self.ring.submitter().enter(submit, min_complete, flags.bits(), Some(&arguments)) };
        match outcome {
            Ok(taken) => Ok(u32::try_from(taken).unwrap_or(u32::MAX)),
            Err(error) => match error.raw_os_error() {
                // Interrupted, timed out, or the kernel wants completions reaped first: the caller's next turn does that.
                Some(libc::EINTR | libc::ETIME | libc::EAGAIN | libc::EBUSY) => Ok(0),
                _ => Err(EngineError::system("io_uring_enter", error)),
            },
        }
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
    const SYNCHRONOUS: bool =
        EngineKind::IoUring { fixed_buffers: true, registered_files: true }.is_synchronous();
    const INSTANT: bool = false;

    fn capabilities(&self) -> Capabilities {
        let features = match self.open.as_ref().map(|open| (open.fixed_buffers, open.registered_files)) {
            Some((true, true)) => "registered buffers and files",
            Some((true, false)) => "registered buffers",
            Some((false, true)) => "registered files",
            _ => "",
        };
        Capabilities { name: "io_uring", virtual_time: false, features }
    }

    fn open(&mut self, setup: Setup) -> Result<(), EngineError> {
        self.open = Some(Open::new(setup, self.fixed_buffers, self.registered_files)?);
        Ok(())
    }

    #[inline]
    fn push(&mut self, operation: &Operation) {
        let open = self.open_mut();
        if operation.kind == OperationKind::Trim {
            let target = &open.setup.targets[operation.target as usize];
            let result = perform_now(target, operation);
            open.immediate.push(Completion { slot: operation.slot, result });
            return;
        }
        let entry = open.entry(operation);
        open.staged.push(entry);
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
        open.entered = true;
        open.enter(waiting, 0, 0)
    }

    fn reap(&mut self, wait: Wait, into: &mut [Completion]) -> Result<usize, EngineError> {
        let open = self.open_mut();
        let mut count = open.drain(into);
        let wanted = (wait.min_complete as usize).min(into.len()).min(count + open.in_kernel as usize);
        let entered = std::mem::take(&mut open.entered);
        // Deferred work runs when the kernel is entered; polling without ever entering would see nothing.
        if count >= wanted && (count > 0 || entered || !open.deferred || open.in_kernel == 0) {
            return Ok(count);
        }
        let unsubmitted = u32::try_from(open.ring.submission().len()).expect("at most the ring's size");
        let missing = u32::try_from(wanted - count.min(wanted)).expect("at most the queue depth");
        open.enter(unsubmitted, missing, if missing == 0 { 0 } else { wait.timeout_ns })?;
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
            let untaken = u32::try_from(open.ring.submission().len()).expect("at most the ring's size");
            while open.in_kernel > untaken {
                let left = deadline.since(monotonic());
                if left == Nanos::ZERO || open.enter(0, 1, left.0).is_err() {
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
        let targets = vec![crate::OpenTarget { handle: TargetHandle::File(file), size: 8192 }];
        let mut engine = IoUring::new(true, true);
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
