//! An engine under test with its targets and buffers. It keeps account of what is in flight, so that a completion that
//! comes twice, or for nothing, fails whatever test it happens in.

use fathom_io::clock::{VirtualClock, monotonic};
use fathom_io::{
    Buffers, Call, Capabilities, Completion, Engine, EngineError, IoUring, Libaio, Mmap, MmapRules, Null,
    OpenTarget, Operation, Setup, Sim, Splice, Synchronous, TargetHandle, Wait, probe_io_uring, probe_libaio,
};
use fathom_schema::{
    AioSettings, CallFlags, ForcedAsync, OperationKind, OperationPriority, Registration, RingSettings,
    SimDevice, SimService, Submitter,
};
use fathom_units::Ratio;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::rc::Rc;

/// Longer than anything here takes; a reap that runs into it has lost an operation.
pub(crate) const AGES_NS: u64 = 20_000_000_000;

/// An engine to test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Calls(Call),
    Splice,
    Mmap { write_through: bool },
    Libaio(AioSettings),
    IoUring(RingSettings),
    Null,
    Sim,
}

impl Subject {
    pub(crate) fn maps(self) -> bool {
        matches!(self, Self::Mmap { .. })
    }

    pub(crate) fn is_synchronous(self) -> bool {
        matches!(self, Self::Calls(_) | Self::Splice | Self::Mmap { .. } | Self::Null)
    }
}

/// Engines that move bytes and that this machine has; what it lacks is said, naming the test.
pub(crate) fn movers(test: &str) -> Vec<Subject> {
    let flags = CallFlags { polled_percent: 50, ..CallFlags::default() };
    let calls =
        [Call::Positioned, Call::Seeking, Call::SeekingVector, Call::Vector, Call::FlaggedVector(flags)];
    let mut found: Vec<Subject> = calls.into_iter().map(Subject::Calls).collect();
    found.push(Subject::Splice);
    match probe_libaio() {
        None => found.extend(
            [false, true]
                .map(|userspace_reap| Subject::Libaio(AioSettings { userspace_reap, ..AioSettings::USUAL })),
        ),
        Some(why) => super::stage::skip(test, &format!("libaio: {why}")),
    }
    match probe_io_uring() {
        None => found.extend(rings().map(Subject::IoUring)),
        Some(why) => super::stage::skip(test, &format!("io_uring: {why}")),
    }
    found
}

/// As [`movers`], with the engine that maps files: it opens only what can be mapped and never makes a file longer.
pub(crate) fn movers_and_mappers(test: &str) -> Vec<Subject> {
    let mappers = [false, true].map(|write_through| Subject::Mmap { write_through });
    movers(test).into_iter().chain(mappers).collect()
}

/// Engines that set flags on each operation: one that fails what would wait, the same without flags, and one whose
/// operations leave nothing in the cache, where the engine has that.
pub(crate) fn flagged(test: &str) -> Vec<(Subject, Subject, Option<Subject>)> {
    let call = |nowait, uncached| {
        Subject::Calls(Call::FlaggedVector(CallFlags { nowait, uncached, ..CallFlags::default() }))
    };
    let ring = |nowait, uncached| Subject::IoUring(RingSettings { nowait, uncached, ..RingSettings::USUAL });
    let aio = |nowait| Subject::Libaio(AioSettings { nowait, ..AioSettings::USUAL });
    let mut found = vec![(call(true, false), call(false, false), Some(call(false, true)))];
    let here = movers(test);
    if here.contains(&aio(false)) {
        found.push((aio(true), aio(false), None));
    }
    if here.contains(&ring(false, false)) {
        found.push((ring(true, false), ring(false, false), Some(ring(false, true))));
    }
    found
}

/// Engines whose operations carry a priority, one in two.
pub(crate) fn with_priority(test: &str) -> Vec<Subject> {
    let priority = OperationPriority { reads_percent: 50, writes_percent: 50, class: 2, level: 3 };
    let with = |subject| match subject {
        Subject::IoUring(settings) => Some(Subject::IoUring(RingSettings { priority, ..settings })),
        Subject::Libaio(settings) => Some(Subject::Libaio(AioSettings { priority, ..settings })),
        _ => None,
    };
    movers(test).into_iter().filter_map(with).collect()
}

/// Engines whose writes are not to be torn.
pub(crate) fn untorn(test: &str) -> Vec<Subject> {
    let with = |subject| match subject {
        Subject::Calls(Call::FlaggedVector(flags)) => {
            Some(Subject::Calls(Call::FlaggedVector(CallFlags { polled_percent: 0, untorn: true, ..flags })))
        }
        Subject::IoUring(settings) => Some(Subject::IoUring(RingSettings { untorn: true, ..settings })),
        Subject::Libaio(settings) => Some(Subject::Libaio(AioSettings { untorn: true, ..settings })),
        _ => None,
    };
    movers(test).into_iter().filter_map(with).collect()
}

/// A ring that polls for completions, where there are rings.
pub(crate) fn polling(test: &str) -> Option<Subject> {
    let usual = Subject::IoUring(RingSettings::USUAL);
    let polled = Subject::IoUring(RingSettings { polled: true, ..RingSettings::USUAL });
    movers(test).contains(&usual).then_some(polled)
}

/// Rings in all settings that can be had without special hardware.
fn rings() -> impl Iterator<Item = RingSettings> {
    let of = |fixed_buffers, registered_files| RingSettings {
        fixed_buffers,
        registered_files,
        ..RingSettings::USUAL
    };
    let (no, may) = (Registration::Never, Registration::WherePossible);
    [
        of(no, no),
        of(no, may),
        of(may, no),
        RingSettings::USUAL,
        RingSettings { vectored: true, ..of(no, no) },
        RingSettings { vectored: true, forced_async: ForcedAsync::OneOf(3), ..of(no, may) },
        RingSettings { forced_async: ForcedAsync::OneOf(1), ..RingSettings::USUAL },
        RingSettings { submitter: Submitter::Kernel, ..RingSettings::USUAL },
        RingSettings { submitter: Submitter::KernelOn(0), ..of(no, no) },
    ]
    .into_iter()
}

/// Those of [`movers`] that keep more than one operation in flight.
pub(crate) fn asynchronous(test: &str) -> Vec<Subject> {
    movers(test).into_iter().filter(|subject| !subject.is_synchronous()).collect()
}

/// Calls the same method on whichever engine it is.
macro_rules! each {
    ($engine:expr, $name:ident => $call:expr) => {
        match $engine {
            AnyEngine::Calls($name) => $call,
            AnyEngine::Splice($name) => $call,
            AnyEngine::Mmap($name) => $call,
            AnyEngine::Libaio($name) => $call,
            AnyEngine::IoUring($name) => $call,
            AnyEngine::Null($name) => $call,
            AnyEngine::Sim($name) => $call,
        }
    };
}

enum AnyEngine {
    Calls(Synchronous),
    Splice(Splice),
    Mmap(Mmap),
    Libaio(Libaio),
    IoUring(Box<IoUring>),
    Null(Null),
    Sim(Sim),
}

/// An open engine.
pub(crate) struct Rig {
    engine: AnyEngine,
    pub(crate) buffers: Rc<Buffers>,
    depth: usize,
    synchronous: bool,
    in_flight: BTreeSet<u32>,
}

impl Rig {
    /// Opens `subject` on these targets with `depth` slots of `slot_bytes`.
    pub(crate) fn open(subject: Subject, targets: Vec<OpenTarget>, depth: u32, slot_bytes: u32) -> Self {
        let mut engine = match subject {
            Subject::Calls(call) => AnyEngine::Calls(Synchronous::new(call)),
            Subject::Splice => AnyEngine::Splice(Splice::default()),
            Subject::Mmap { write_through } => {
                AnyEngine::Mmap(Mmap::new(MmapRules { write_through, random_access: true }))
            }
            Subject::Libaio(settings) => AnyEngine::Libaio(Libaio::new(settings)),
            Subject::IoUring(settings) => AnyEngine::IoUring(Box::new(IoUring::new(settings))),
            Subject::Null => AnyEngine::Null(Null::default()),
            Subject::Sim => AnyEngine::Sim(Sim::new(VirtualClock::default())),
        };
        let buffers = Rc::new(Buffers::new(depth, slot_bytes));
        let setup = Setup { targets, queue_depth: depth, buffers: Rc::clone(&buffers), seed: 1 };
        each!(&mut engine, it => it.open(setup)).expect("the engine can be opened");
        let synchronous = subject.is_synchronous();
        Self { engine, buffers, depth: depth as usize, synchronous, in_flight: BTreeSet::new() }
    }

    pub(crate) fn capabilities(&self) -> Capabilities {
        each!(&self.engine, it => it.capabilities())
    }

    pub(crate) fn push(&mut self, operation: &Operation) {
        assert!(self.in_flight.insert(operation.slot), "slot {} is used twice", operation.slot);
        assert!(self.in_flight.len() <= self.depth, "the test keeps to the queue depth");
        each!(&mut self.engine, it => it.push(operation));
    }

    pub(crate) fn submit(&mut self) -> u32 {
        each!(&mut self.engine, it => it.submit()).expect("operations can be submitted")
    }

    /// Reaps into room for `room` completions; each of them must be of an operation in flight. A wait that a signal cut
    /// short is taken up again: rings closed earlier on the same thread send some.
    pub(crate) fn reap_some(&mut self, wait: Wait, room: usize) -> Vec<Completion> {
        let start = monotonic();
        let wanted = (wait.min_complete as usize).min(room).min(self.in_flight.len());
        let mut all = Vec::new();
        loop {
            let missing = u32::try_from(wanted.saturating_sub(all.len())).expect("a small number");
            let left = Wait {
                min_complete: if all.is_empty() { wait.min_complete } else { missing },
                timeout_ns: wait.timeout_ns.saturating_sub(monotonic().since(start).0),
            };
            let mut into = vec![Completion::default(); room - all.len()];
            let found: Result<usize, EngineError> = each!(&mut self.engine, it => it.reap(left, &mut into));
            into.truncate(found.expect("completions can be reaped"));
            for completion in &into {
                assert!(
                    self.in_flight.remove(&completion.slot),
                    "{completion:?} completes what is not in flight"
                );
            }
            all.extend(into);
            let virtual_time = matches!(self.engine, AnyEngine::Sim(_));
            if all.len() >= wanted || virtual_time || monotonic().since(start).0 >= wait.timeout_ns {
                return all;
            }
        }
    }

    pub(crate) fn reap(&mut self, min_complete: u32, timeout_ns: u64) -> Vec<Completion> {
        self.reap_some(Wait { min_complete, timeout_ns }, self.depth)
    }

    /// Performs operations, together where the engine can, and gives their results in the same order.
    pub(crate) fn run(&mut self, operations: &[Operation]) -> Vec<i32> {
        let mut done = Vec::new();
        let batch = if self.synchronous { 1 } else { operations.len() };
        for operations in operations.chunks(batch.max(1)) {
            operations.iter().for_each(|operation| self.push(operation));
            self.submit();
            while !self.in_flight.is_empty() {
                let found = self.reap(u32::try_from(self.in_flight.len()).expect("a small number"), AGES_NS);
                assert!(!found.is_empty(), "{:?} never completed", self.in_flight);
                done.extend(found);
            }
        }
        assert_eq!(self.reap(0, 0), [], "nothing is in flight any more");
        let result =
            |slot| done.iter().find(|completion| completion.slot == slot).expect("all completed").result;
        operations.iter().map(|operation| result(operation.slot)).collect()
    }

    /// Performs one operation.
    pub(crate) fn one(&mut self, operation: Operation) -> i32 {
        self.run(&[operation])[0]
    }

    /// Puts `bytes` into a slot.
    pub(crate) fn load(&self, slot: u32, bytes: &[u8]) {
        self.buffers.fill(slot, bytes.len(), |buffer| buffer.copy_from_slice(bytes));
    }

    /// The first bytes of a slot.
    pub(crate) fn bytes(&self, slot: u32, length: usize) -> Vec<u8> {
        self.buffers.fill(slot, length, |buffer| buffer.to_vec())
    }

    pub(crate) fn close(&mut self) {
        each!(&mut self.engine, it => it.close());
        self.in_flight.clear();
    }
}

pub(crate) fn read(slot: u32, offset: u64, length: u32) -> Operation {
    Operation { slot, kind: OperationKind::Read, target: 0, offset, length, data_only: false, range_flags: 0 }
}

pub(crate) fn write(slot: u32, offset: u64, length: u32) -> Operation {
    Operation { kind: OperationKind::Write, ..read(slot, offset, length) }
}

pub(crate) fn trim(slot: u32, offset: u64, length: u32) -> Operation {
    Operation { kind: OperationKind::Trim, ..read(slot, offset, length) }
}

pub(crate) fn sync(slot: u32, data_only: bool) -> Operation {
    Operation { kind: OperationKind::Sync, data_only, ..read(slot, 0, 0) }
}

/// Opens a file for reading and writing, with flags of `open(2)` beside.
pub(crate) fn file(path: &Path, flags: i32) -> OpenTarget {
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path);
    of(file.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

pub(crate) fn read_only(path: &Path) -> OpenTarget {
    of(File::open(path).expect("it can be read"))
}

pub(crate) fn write_only(path: &Path) -> OpenTarget {
    of(OpenOptions::new().write(true).open(path).expect("it can be written"))
}

/// An open file or device as a target.
pub(crate) fn of(file: File) -> OpenTarget {
    use std::os::unix::fs::FileTypeExt;
    let metadata = file.metadata().expect("an open file can be looked at");
    let size = metadata.len();
    let is_device = metadata.file_type().is_block_device();
    OpenTarget {
        handle: if is_device {
            TargetHandle::BlockDevice { file, held: None }
        } else {
            TargetHandle::File(file)
        },
        size,
        trim_by: fathom_schema::TrimBy::Discard,
    }
}

pub(crate) fn simulated(parallelism: u32, service_ns: u64) -> OpenTarget {
    let description = SimDevice {
        service: SimService::Constant { ns: service_ns },
        parallelism,
        error_share: Ratio::ZERO,
        short_share: Ratio::ZERO,
        stalls: Vec::new(),
        places: Vec::new(),
    };
    OpenTarget {
        handle: TargetHandle::Sim { number: 0, description },
        size: 1 << 30,
        trim_by: fathom_schema::TrimBy::Discard,
    }
}
