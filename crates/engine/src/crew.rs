//! Worker threads that live as long as a run, and what each holds from one step to the next where the next can use it: its
//! engine with rings and registered memory, its open targets, its buffers. So nothing is made anew between the steps of a
//! search or a sweep that differ only in what is asked of the same targets. It does not know what a step does.

use crate::execute::Share;
use crate::prepare::FileIdentity;
use crate::seat;
use crate::told::mine;
use fathom_io::{Buffers, Engine};
use fathom_schema::{
    Advice, Durability, EngineKind, ForcedAsync, IoMode, Memory, OpenRule, OperationPriority, Scheduling,
    Step, Stream, TargetKind, TrimBy, WorkerPlan,
};
use std::any::Any;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{Builder, JoinHandle};

/// Stack of a worker thread: its loops need a few KiB; the rest is for the kernel interfaces' temporary arrays.
const STACK_BYTES: usize = 256 << 10;

/// What a thread is given to do.
pub(crate) type Task = Box<dyn FnOnce(&mut Hold) + Send>;

/// The worker threads of a run. They end with it.
#[derive(Debug, Default)]
pub struct Crew {
    hands: Vec<Hand>,
    /// Threads ever started.
    started: u64,
    opened: Arc<AtomicU64>,
}

/// One thread.
#[derive(Debug)]
struct Hand {
    manner: Manner,
    /// What it holds after its last step, if that went well.
    fit: Option<Fit>,
    tasks: mpsc::Sender<Task>,
    thread: JoinHandle<()>,
}

/// What a thread was made by its first step and stays: some of it cannot be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Manner {
    cpus: Vec<u32>,
    scheduling: Scheduling,
    is_patient: bool,
}

/// What a worker of a step asks of the thread that takes it up.
#[derive(Debug)]
pub(crate) struct Place {
    manner: Manner,
    fit: Option<Fit>,
}

impl Place {
    /// Those of a host's part of a step, in the order of its workers.
    pub(crate) fn all(step: &Step, share: Share) -> Vec<Self> {
        let of_worker = |stream: &Stream, plan: &WorkerPlan| {
            let (scheduling, is_patient) = (stream.scheduling, seat::is_worked_off(stream));
            let manner = Manner { cpus: plan.cpus.clone(), scheduling, is_patient };
            Self { manner, fit: Fit::of(step, stream, plan) }
        };
        let mut all = Vec::new();
        for stream in &step.streams {
            let plans = stream.workers.iter().enumerate().filter(|(k, _)| mine(*k, share));
            all.extend(plans.map(|(_, plan)| of_worker(stream, plan)));
        }
        all
    }
}

impl Crew {
    /// How many threads were ever started.
    pub const fn started(&self) -> u64 {
        self.started
    }

    /// How often one of them opened an engine with its targets.
    pub fn opened(&self) -> u64 {
        self.opened.load(Ordering::Relaxed)
    }

    /// Lets go of what is held and `step` cannot use. To be called before it is prepared: files that are laid out anew, or made
    /// after others were removed, must find nobody who still has them open.
    pub fn make_room(&mut self, step: &Step, share: Share) {
        let places = Place::all(step, share);
        let mut taken = vec![None; self.hands.len()];
        let mut free = Free::of(&self.hands);
        for place in &places {
            free.take(place).into_iter().for_each(|at| taken[at] = Some(place));
        }
        let mut gone = Vec::new();
        for (hand, place) in self.hands.iter_mut().zip(taken) {
            let serves = |held: &Fit| {
                place.and_then(|place| place.fit.as_ref()).is_some_and(|wanted| held.serves(wanted))
            };
            if hand.fit.as_ref().is_none_or(serves) {
                continue;
            }
            hand.fit = None;
            let (done, is_done) = mpsc::channel::<()>();
            let release: Task = Box::new(move |hold| {
                hold.release();
                drop(done);
            });
            // A thread that is gone holds nothing.
            if hand.tasks.send(release).is_ok() {
                gone.push(is_done);
            }
        }
        for is_done in gone {
            // Each answers by dropping its end.
            let _ = is_done.recv();
        }
    }

    /// Gives each of these places its task; threads are started where too few are there.
    pub(crate) fn take_up(
        &mut self,
        places: &[Place],
        tasks: impl Iterator<Item = Task>,
    ) -> std::io::Result<()> {
        let mut free = Free::of(&self.hands);
        for (place, task) in places.iter().zip(tasks) {
            let Some(at) = free.take(place) else {
                self.start(place, task)?;
                continue;
            };
            let hand = &mut self.hands[at];
            // What it holds when it cannot use it is let go there; when it ends badly, the run does.
            hand.fit = match (hand.fit.take(), &place.fit) {
                (Some(held), Some(wanted)) if held.serves(wanted) => Some(held),
                (_, wanted) => wanted.clone(),
            };
            hand.tasks.send(task).map_err(|_| std::io::Error::other("a worker thread has ended"))?;
        }
        Ok(())
    }

    /// Starts a thread with its first task. It finds that one there and need not be woken for it: with thousands that wait
    /// already, each wake takes longer than the one before.
    fn start(&mut self, place: &Place, first: Task) -> std::io::Result<()> {
        let (tasks, given) = mpsc::channel::<Task>();
        let opened = Arc::clone(&self.opened);
        let thread = Builder::new().name(format!("worker {}", self.started)).stack_size(STACK_BYTES).spawn(
            move || {
                let mut hold = Hold { kept: None, opened };
                first(&mut hold);
                given.into_iter().for_each(|task| task(&mut hold));
            },
        )?;
        self.started += 1;
        self.hands.push(Hand { manner: place.manner.clone(), fit: place.fit.clone(), tasks, thread });
        Ok(())
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        // All are told before one is waited for, so that they end side by side.
        let threads: Vec<_> = self.hands.drain(..).map(|hand| hand.thread).collect();
        // One that panicked has said so where it mattered.
        threads.into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// Threads that a step has not taken up, of each kind in their order. There are about as many kinds as CPUs.
struct Free {
    kinds: Vec<(Manner, VecDeque<usize>)>,
}

impl Free {
    fn of(hands: &[Hand]) -> Self {
        let mut kinds: Vec<(Manner, VecDeque<usize>)> = Vec::new();
        for (at, hand) in hands.iter().enumerate() {
            match kinds.iter_mut().find(|(manner, _)| *manner == hand.manner) {
                Some((_, free)) => free.push_back(at),
                None => kinds.push((hand.manner.clone(), VecDeque::from([at]))),
            }
        }
        Self { kinds }
    }

    /// The first of the kind that a place asks for.
    fn take(&mut self, place: &Place) -> Option<usize> {
        let (_, free) = self.kinds.iter_mut().find(|(manner, _)| *manner == place.manner)?;
        free.pop_front()
    }
}

/// What an engine was opened for, as far as another step may use it as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fit {
    kind: EngineKind,
    mode: IoMode,
    durability: Durability,
    advice: Advice,
    memory: Memory,
    trim_by: TrimBy,
    depth: u32,
    slot_bytes: u32,
    targets: Vec<Opened>,
}

/// A target that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Opened {
    path: PathBuf,
    size: u64,
    writes: bool,
}

impl Fit {
    /// What a worker asks for; `None` where its engine serves one step only: what is not a file or a device, what draws numbers or
    /// counts from its opening on, and what looks at its files when they are opened.
    pub(crate) fn of(step: &Step, stream: &Stream, plan: &WorkerPlan) -> Option<Self> {
        let engine = &stream.engine;
        let is_plain = match engine.kind {
            EngineKind::Psync | EngineKind::Sync | EngineKind::Vsync | EngineKind::Pvsync => true,
            EngineKind::Libaio(settings) => settings.priority == OperationPriority::NONE,
            EngineKind::IoUring(settings) => {
                settings.priority == OperationPriority::NONE
                    && settings.forced_async == ForcedAsync::Never
                    && !settings.vectored
            }
            _ => false,
        };
        let looks_at_files = stream.fresh_files
            || stream.trace.is_some()
            || stream.workload.verification.rule().is_some()
            || engine.open == OpenRule::DropCacheEachPass;
        let takes_turns = stream.open_at_once(plan, &step.targets).is_some();
        if !is_plain || looks_at_files || takes_turns || !engine.priorities.is_empty() {
            return None;
        }
        let open = |target: u32| {
            let at = target as usize;
            let target = &step.targets[at];
            let (TargetKind::File { path, .. } | TargetKind::BlockDevice { path }) = &target.kind else {
                return None;
            };
            Some(Opened { path: path.clone(), size: target.size.0, writes: stream.changes_target(at) })
        };
        Some(Self {
            kind: engine.kind,
            mode: engine.mode,
            durability: engine.durability,
            advice: engine.advice,
            memory: engine.memory,
            trim_by: engine.trim_by,
            depth: stream.queue_depth,
            slot_bytes: largest_moved(stream),
            targets: plan.extents.iter().map(|extent| open(extent.target)).collect::<Option<_>>()?,
        })
    }

    /// Whether an engine that was opened for this can do what is `wanted`: as deep a queue and as large blocks at least, and
    /// files open for writing where it writes.
    fn serves(&self, wanted: &Self) -> bool {
        let Self { kind, mode, durability, advice, memory, trim_by, depth, slot_bytes, targets } = wanted;
        let has = |(open, wanted): (&Opened, &Opened)| {
            open.path == wanted.path && open.size == wanted.size && (open.writes || !wanted.writes)
        };
        (self.kind, self.mode, self.durability, self.advice, self.memory, self.trim_by)
            == (*kind, *mode, *durability, *advice, *memory, *trim_by)
            && self.depth >= *depth
            && self.slot_bytes >= *slot_bytes
            && self.targets.len() == targets.len()
            && self.targets.iter().zip(targets).all(has)
    }
}

/// Bytes that one operation of a stream moves at most. A trim moves none, but for the write that may follow it.
pub(crate) fn largest_moved(stream: &Stream) -> u32 {
    use fathom_schema::OperationKind::Trim;
    let moves = |kind| kind != Trim || stream.workload.trim_then_write;
    let cases = stream.workload.cases.iter().filter(|case| moves(case.kind));
    cases.map(|case| case.size.largest()).chain(stream.workload.replies.iter().copied()).max().unwrap_or(1)
}

/// What a thread holds between two steps; it never leaves the thread.
#[derive(Debug)]
pub(crate) struct Hold {
    kept: Option<Kept>,
    opened: Arc<AtomicU64>,
}

/// An open engine with its buffers.
#[derive(Debug)]
pub(crate) struct Kept {
    fit: Fit,
    files: Vec<Option<FileIdentity>>,
    engine: Box<dyn Any>,
    buffers: Rc<Buffers>,
}

impl Kept {
    pub(crate) fn new<E: Engine + 'static>(
        fit: Fit,
        files: Vec<Option<FileIdentity>>,
        engine: E,
        buffers: Rc<Buffers>,
    ) -> Self {
        Self { fit, files, engine: Box::new(engine), buffers }
    }
}

impl Hold {
    /// The engine that it holds, its buffers, and what it was opened for, where that serves and the files are the same ones.
    pub(crate) fn take<E: Engine + 'static>(
        &mut self,
        wanted: &Fit,
        wanted_files: &[Option<FileIdentity>],
    ) -> Option<(E, Rc<Buffers>, Fit)> {
        let Kept { fit, files, engine, buffers } = self.kept.take()?;
        if !fit.serves(wanted) || files != wanted_files {
            return None;
        }
        let engine = engine.downcast::<E>().ok()?;
        Some((*engine, buffers, fit))
    }

    /// Holds an engine that nothing is in flight on.
    pub(crate) fn keep(&mut self, kept: Kept) {
        self.kept = Some(kept);
    }

    /// Closes what it holds.
    pub(crate) fn release(&mut self) {
        self.kept = None;
    }

    /// Says that an engine was opened.
    pub(crate) fn count_opening(&self) {
        self.opened.fetch_add(1, Ordering::Relaxed);
    }
}
