//! One worker's thread through one step: made what the stream asks of it, opened or found open, started with all others, driven,
//! summed up. It does not know the other workers, nor what becomes of what it measured.

use crate::caches::{Forgetting, Pages};
use crate::commands;
use crate::crew::{Fit, Hold, Kept, largest_moved};
use crate::demands::Broken;
use crate::execute::{EngineInUse, FAREWELL_LIMIT, Go, Message, start_delay};
use crate::lockstep::keeps_together;
use crate::outcome::Ended;
use crate::pace::pace_of;
use crate::passes::engine_seed;
use crate::prepare::{FileIdentity, OpenError, Ready};
use crate::recorder::Recorder;
use crate::shared::Shared;
use crate::timeline::Timeline;
use crate::unable::{Refusal, fails_by_itself};
use crate::verify::Verifier;
use crate::worker::{FirstError, NO_OPERATION, Parts, Worker};
use fathom_io::clock::{Clock, RealClock, VirtualClock, monotonic};
use fathom_io::{
    Buffers, Call, Engine, EngineError, FewOpen, IoUring, Libaio, Locked, MemoryError, Mmap, MmapRules,
    Names, Net, Null, OpenTarget, Program, Setup, Sim, Spin, Splice, Synchronous, thread,
};
use fathom_schema::{
    EngineKind, Extent, IoMode, IoPriority, MemoryPolicy, Pacing, Registration, RingSettings, Scheduling,
    ShellCommand, Stream, Think, WorkerPlan,
};
use fathom_units::Nanos;
use rustix::io::Errno;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, RwLock, mpsc};

/// What the workers of a step have in common, each with its own handle on it: their threads outlive the step.
#[derive(Clone)]
pub(crate) struct Common {
    pub(crate) ready: Arc<Ready>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) go: Arc<RwLock<Go>>,
    pub(crate) tell: mpsc::Sender<Message>,
    pub(crate) clock: RealClock,
}

/// A worker's place in a step.
pub(crate) struct Seat {
    pub(crate) stream_index: usize,
    /// Number among this host's workers of the stream.
    pub(crate) seat_index: usize,
    /// Number among all workers of the stream.
    pub(crate) worker_index: usize,
    pub(crate) recorder: Recorder,
}

impl Seat {
    /// The worker thread's part in one step. `hold`: what the thread keeps from step to step.
    pub(crate) fn run(self, common: Common, hold: &mut Hold) {
        let (stream, worker) = (self.stream_index, self.seat_index);
        let collector = self.recorder.collector();
        let Common { ready, shared, go, tell, clock } = common;
        let _farewell = Farewell { shared: &shared, tell: &tell, stream, worker };
        let context = Context { ready: &ready, shared: &shared, go: &go, tell: &tell };
        let of_engine = &ready.step.streams[stream].engine;
        let takes_turns = self.open_at_once(&context).is_some();
        let refusal = ready.refusal(stream).cloned();
        let ended = match of_engine.kind {
            _ if let Some(refusal) = refusal => Err(refusal),
            EngineKind::Null => self.run_on(&context, Null::default(), clock, hold),
            EngineKind::Sim => {
                let virtual_clock = VirtualClock::default();
                self.run_on(&context, Sim::new(virtual_clock.clone()), virtual_clock, hold)
            }
            EngineKind::Psync => self.run_on_files(&context, Synchronous::new(Call::Positioned), clock, hold),
            EngineKind::Sync => self.run_on_files(&context, Synchronous::new(Call::Seeking), clock, hold),
            EngineKind::Vsync => {
                self.run_on_files(&context, Synchronous::new(Call::SeekingVector), clock, hold)
            }
            EngineKind::Pvsync => self.run_on_files(&context, Synchronous::new(Call::Vector), clock, hold),
            EngineKind::Pvsync2(flags) => {
                self.run_on_files(&context, Synchronous::new(Call::FlaggedVector(flags)), clock, hold)
            }
            EngineKind::Falloc => self.run_on_files(&context, Synchronous::new(Call::Allocate), clock, hold),
            EngineKind::Ftruncate => {
                self.run_on_files(&context, Synchronous::new(Call::Truncate), clock, hold)
            }
            EngineKind::Splice => self.run_on_files(&context, Splice::default(), clock, hold),
            EngineKind::Names(call) => self.run_on(&context, Names::new(call), clock, hold),
            EngineKind::Net { ping_pong } => self.run_on(&context, Net::new(ping_pong), clock, hold),
            EngineKind::Exec => {
                let run = of_engine.program.clone().expect("the planner gives it a program");
                self.run_on(&context, Program::new(*run), clock, hold)
            }
            EngineKind::Spin { chunk_ns, sorts } => {
                self.run_on(&context, Spin::new(Nanos(chunk_ns), sorts), clock, hold)
            }
            EngineKind::Mmap { write_through, random_access } => {
                self.run_on(&context, Mmap::new(MmapRules { write_through, random_access }), clock, hold)
            }
            EngineKind::Libaio(settings) => {
                let engine = Libaio::new(settings).with_priorities(&of_engine.priorities);
                self.run_on_files(&context, engine, clock, hold)
            }
            EngineKind::IoUring(settings) => {
                // A file that is registered would stay the one it was.
                let registered_files =
                    if takes_turns { Registration::Never } else { settings.registered_files };
                let settings = RingSettings { registered_files, ..settings };
                let engine = IoUring::new(settings).with_priorities(&of_engine.priorities);
                self.run_on_files(&context, engine, clock, hold)
            }
        };
        let message = match ended {
            Ok(Some(ended)) => Message::Ended { stream, worker, ended: Box::new(ended) },
            // Told to go away: nobody listens any more.
            Ok(None) => return,
            Err(refusal) => match refused(&context, stream, worker, refusal) {
                Some(message) => message,
                None => return,
            },
        };
        // The receiver lives until all workers have ended or one was refused; then this one matters to nobody.
        drop(tell.send(message));
        collector.unpark();
    }

    /// How many files it has open at once, where not all of them are.
    fn open_at_once(&self, context: &Context<'_>) -> Option<u32> {
        let step = &context.ready.step;
        let stream = &step.streams[self.stream_index];
        stream.open_at_once(&stream.workers[self.worker_index], &step.targets)
    }

    /// Runs on an engine that works on descriptors, be they open all the time or in turn.
    fn run_on_files<E: Engine + 'static, C: Clock>(
        self,
        context: &Context<'_>,
        engine: E,
        clock: C,
        hold: &mut Hold,
    ) -> Result<Option<Ended>, Refusal> {
        match self.open_at_once(context) {
            None => self.run_on(context, engine, clock, hold),
            Some(most) => self.run_on(context, FewOpen::new(engine, most), clock, hold),
        }
    }

    fn run_on<E: Engine + 'static, C: Clock>(
        self,
        context: &Context<'_>,
        engine: E,
        clock: C,
        hold: &mut Hold,
    ) -> Result<Option<Ended>, Refusal> {
        let Self { stream_index, seat_index: _, worker_index, recorder } = self;
        let stream = &context.ready.step.streams[stream_index];
        let plan = &stream.workers[worker_index];
        become_what_is_asked(stream, plan)?;
        let memory = &stream.engine.memory;
        let locked = usize::try_from(memory.locked.0).unwrap_or(usize::MAX);
        let _locked = (locked > 0).then(|| Locked::new(locked)).transpose().map_err(|e| of_memory(&e))?;
        let trace = context.ready.trace(stream_index);
        let found = context.engine_for(engine, stream, plan, worker_index, hold)?;
        let Fitted { engine, buffers, verifier, forgetting, files, fit: capacity } = found;
        let capabilities = engine.capabilities();
        let mut description = capabilities.name.to_owned();
        if !capabilities.features.is_empty() {
            description += &format!(" ({})", capabilities.features.join(", "));
        }
        let is_virtual = clock.is_virtual();
        let ready = context.ready;
        let reopen = || ready.open_fresh(stream, plan).map_err(|error: OpenError| error.to_string());
        let parts = Parts {
            engine,
            clock,
            buffers: Rc::clone(&buffers),
            recorder,
            shared: context.shared,
            stream,
            stream_index,
            plan,
            worker_index: u32::try_from(worker_index).expect("workers are counted in 32 bits"),
            policy: context.ready.step.errors,
            times: Timeline::of(stream, Nanos::ZERO, Nanos::ZERO, context.ready.step.interval),
            reopen: stream.fresh_files.then_some(&reopen),
            verifier,
            forgetting,
            trace: trace.clone(),
        };
        let mut worker = Worker::new(parts);
        let pace = pace_of(stream, plan, worker_index, trace);
        drop(context.tell.send(Message::Ready(EngineInUse { stream: stream_index, description })));
        let Some(step_start) = context.await_go() else { return Ok(None) };
        let step_start = if is_virtual { Nanos::ZERO } else { step_start };
        let Some(awaited) = context.shared.await_ends(stream_index, &stream.control.after) else {
            return Ok(Some(worker.never_started(step_start, None)));
        };
        let begins = step_start.after(stream.start_delay.max(awaited));
        let begins = if is_virtual { Nanos::ZERO } else { begins };
        let took = match context.come_before(&mut worker.engine, stream, stream_index, begins) {
            Ok(Some(ended)) if !is_virtual => ended.since(step_start),
            Ok(Some(_)) => Nanos::ZERO,
            Ok(None) => return Ok(Some(worker.never_started(step_start, None))),
            Err(reason) => return Ok(Some(worker.never_started(step_start, Some(reason)))),
        };
        if stream.control.before.is_some()
            && let Err(reason) = open_again(&mut worker, ready, stream, plan)
        {
            return Ok(Some(worker.never_started(step_start, Some(reason))));
        }
        let awaited = awaited.max(took);
        // All workers of the stream start together, as those of the step did.
        let is_released_now = is_virtual || stream.control.after.is_empty();
        let awaited =
            if is_released_now { awaited } else { awaited.after(start_delay(stream.workers.len())) };
        worker.times = Timeline::of(stream, step_start, awaited, worker.times.interval);
        let failure = worker.drive(pace).err().map(|error| {
            context.shared.stop_all();
            error.to_string()
        });
        let farewell = || match &stream.control.after_end {
            // It tidies up, so that it runs after a stop as well, for a while; the result stands however it ends.
            Some(command) => {
                Ok(match commands::run(command, context.shared.interrupted(), FAREWELL_LIMIT)? {
                    commands::End::Well => None,
                    commands::End::Badly(how) => Some(how),
                    commands::End::Stopped => Some(format!(
                        "the command \"{}\" was killed: it still ran {} after the run was to stop",
                        command.line,
                        FAREWELL_LIMIT.approximate()
                    )),
                })
            }
            None => Ok(None),
        };
        let last_words = worker.engine.last_words();
        // One that lacks what it could not get in this step might have it in the next.
        let capacity = capacity.filter(|_| worker.engine.is_as_asked());
        let (mut ended, stays_open) = worker.finish(capacity.is_some(), failure, farewell);
        ended.farewell = ended.farewell.or(last_words);
        if let Some(fit) = capacity.filter(|_| stays_open) {
            hold.keep(Kept::new(fit, files, worker.engine, buffers));
        }
        ready.adopt(stream, plan);
        if stream.workload.sync.syncfs_at_end
            && let Err(error) = ready.sync_filesystems(plan)
        {
            ended.failure.get_or_insert(error.to_string());
        }
        Ok(Some(ended))
    }
}

/// Makes the calling thread run where and as its stream asks.
fn become_what_is_asked(stream: &Stream, plan: &WorkerPlan) -> Result<(), Refusal> {
    let refused = |error: &io::Error, reason: String| Refusal::new(error.raw_os_error(), &reason);
    thread::pin(&plan.cpus)
        .map_err(|error| refused(&error, format!("cannot run on CPUs {:?}: {error}", plan.cpus)))?;
    thread::wake_exactly();
    if is_worked_off(stream) {
        thread::be_patient();
    }
    let Scheduling { nice, io, memory, cpu_nodes } = stream.scheduling;
    place_on_nodes(cpu_nodes, memory)?;
    thread::renice(nice).map_err(|error| {
        let reason = format!("cannot set the nice value {nice}: {error}; leave nice out or run as root");
        refused(&error, reason)
    })?;
    if let Some(IoPriority { class, level }) = io {
        thread::prioritise(class, level).map_err(|error| {
            let reason = format!(
                "cannot set the I/O priority {level} of class {class}: {error}; use the idle or best-effort class, or run as root"
            );
            refused(&error, reason)
        })?;
    }
    Ok(())
}

/// Whether threads of the kernel do the operations of a stream, as `io_uring` has them do what many filesystems may wait in
/// (writes through the cache, all that tmpfs does), and no moment is one at which a worker has to be there: taking the CPU from
/// each other for every single operation costs a tenth of the time of writing and reading back on tmpfs (AMD EPYC, Linux 6.18).
pub(crate) fn is_worked_off(stream: &Stream) -> bool {
    matches!(stream.engine.kind, EngineKind::IoUring(_))
        && stream.engine.mode != IoMode::Direct
        && stream.pacing == Pacing::Closed { think: Think::None }
        && stream.kind_rates.is_empty()
        && stream.changes()
}

/// What a worker that cannot begin tells. Where others run all the same, it first waits for their start, and ends with its error
/// then; `None` when it is sent away.
fn refused(context: &Context<'_>, stream: usize, worker: usize, refusal: Refusal) -> Option<Message> {
    let of_stream = &context.ready.step.streams[stream];
    if !fails_by_itself(of_stream) {
        return Some(Message::Refused { stream, reason: refusal.reason });
    }
    // Before anybody begins: whom it ends is not to do a few operations first, or not, as chance has it.
    context.shared.fail(stream, of_stream.control.at_error);
    drop(context.tell.send(Message::Unable));
    let step_start = context.await_go()?;
    let Refusal { errno, reason } = refusal;
    let edge = if keeps_together(of_stream) { context.shared.leave(Nanos::ZERO) } else { None };
    let is_virtual = of_stream.engine.kind == EngineKind::Sim;
    let now = if is_virtual { Nanos::ZERO } else { monotonic().since(step_start) };
    context.shared.ended(stream, now);
    let ended = Ended {
        broken: Some(Broken::Said(reason)),
        first_error: Some(FirstError { errno: errno.raw_os_error(), operation: NO_OPERATION, at_end: false }),
        edge,
        ..Ended::without_load(now)
    };
    Some(Message::Ended { stream, worker, ended: Box::new(ended) })
}

fn of_memory(error: &MemoryError) -> Refusal {
    Refusal::new(error.raw_os_error(), error)
}

/// An engine that is open, for a worker.
struct Fitted<E> {
    engine: E,
    buffers: Rc<Buffers>,
    verifier: Option<Box<Verifier>>,
    forgetting: Option<Box<Forgetting>>,
    files: Vec<Option<FileIdentity>>,
    /// What it was opened for, where it may serve another step.
    fit: Option<Fit>,
}

/// Opens the files of a worker once more where the command that came before its load has removed or replaced them: else it would
/// write what nobody finds.
fn open_again<E: Engine, C: Clock>(
    worker: &mut Worker<'_, E, C>,
    ready: &Ready,
    stream: &Stream,
    plan: &WorkerPlan,
) -> Result<(), (Errno, String)> {
    let errno = |error: &OpenError| error.raw_os_error().map_or(Errno::CANCELED, Errno::from_raw_os_error);
    let targets = ready.open_again(stream, plan).map_err(|error| (errno(&error), error.to_string()))?;
    targets.map_or(Ok(()), |targets| worker.open_instead(targets).map_err(|reason| (Errno::CANCELED, reason)))
}

/// Puts the calling thread on CPUs, and its memory, of NUMA nodes.
fn place_on_nodes(cpu_nodes: u64, memory: MemoryPolicy) -> Result<(), Refusal> {
    let refused = |error: &io::Error, reason: String| Refusal::new(error.raw_os_error(), &reason);
    if cpu_nodes != 0 {
        thread::cpus_of(cpu_nodes).and_then(|cpus| thread::pin(&cpus)).map_err(|error| {
            let reason = format!("cannot run on the CPUs of cpu_nodes: {error}; name nodes that are there");
            refused(&error, reason)
        })?;
    }
    thread::place_memory(memory).map_err(|error| {
        let reason = format!("cannot take memory as memory_nodes says: {error}; name nodes that are there");
        refused(&error, reason)
    })
}

/// The verifier of a worker, where its stream verifies.
fn verifier_of(
    context: &Context<'_>,
    stream: &Stream,
    plan: &WorkerPlan,
    worker_index: usize,
    targets: &[OpenTarget],
) -> Result<Option<Box<Verifier>>, Refusal> {
    let Some(rule) = stream.workload.verification.rule() else { return Ok(None) };
    let drops = stream.engine.mode == IoMode::Buffered && stream.engine.open.drops_cache();
    let cached = if drops { Pages::of(targets) } else { Ok(Vec::new()) };
    let cached =
        cached.map_err(|error| Refusal::new(error.raw_os_error(), &format!("cannot verify: {error}")))?;
    let name = |extent: &Extent| PathBuf::from(&context.ready.step.targets[extent.target as usize].name);
    let names = plan.extents.iter().map(name).collect();
    let index = u32::try_from(worker_index).expect("workers are counted in 32 bits");
    let verifier = Verifier::new(rule, &stream.workload, plan, index, stream.queue_depth, cached, names);
    Ok(Some(Box::new(verifier)))
}

/// Says that a worker has ended when it panics: whoever waits for it would wait for ever.
struct Farewell<'a> {
    shared: &'a Shared,
    tell: &'a mpsc::Sender<Message>,
    stream: usize,
    worker: usize,
}

impl Drop for Farewell<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.shared.stop_all();
            self.shared.give_up_edges();
            let failure = Some("a worker thread panicked, which is a fault of fathom".to_owned());
            let ended = Ended { failure, ..Ended::without_load(Nanos::ZERO) };
            let (stream, worker) = (self.stream, self.worker);
            // When nobody listens any more, nobody waits either.
            drop(self.tell.send(Message::Ended { stream, worker, ended: Box::new(ended) }));
        }
    }
}

struct Context<'a> {
    ready: &'a Ready,
    shared: &'a Shared,
    go: &'a RwLock<Go>,
    tell: &'a mpsc::Sender<Message>,
}

impl Context<'_> {
    /// The engine that a worker's thread holds, if it serves; else this one, opened with the worker's targets and buffers.
    fn engine_for<E: Engine + 'static>(
        &self,
        mut engine: E,
        stream: &Stream,
        plan: &WorkerPlan,
        worker_index: usize,
        hold: &mut Hold,
    ) -> Result<Fitted<E>, Refusal> {
        let largest = largest_moved(stream);
        // Engines that move nothing need no memory to move it from or to; what is to be verified is made on them, too, as that
        // is what such a job is to cost.
        let holds = stream.engine.kind.moves_bytes() || stream.workload.verification.rule().is_some();
        let slot_bytes = if holds { largest } else { 1 };
        let memory = &stream.engine.memory;
        let fit = Fit::of(&self.ready.step, stream, plan);
        let files = self.ready.identities(plan);
        let found = fit.as_ref().and_then(|fit| hold.take::<E>(fit, &files));
        let (buffers, verifier, forgetting, fit) = if let Some((kept, buffers, capacity)) = found {
            engine = kept;
            buffers.divide(slot_bytes);
            (buffers, None, None, Some(capacity))
        } else {
            // What it held is of no use any more, and may take much memory.
            hold.release();
            let buffers = Buffers::of(memory, stream.queue_depth, slot_bytes).map_err(|e| of_memory(&e))?;
            let buffers = Rc::new(buffers);
            let targets = self.ready.open(stream, plan);
            let targets = targets.map_err(|error: OpenError| Refusal::new(error.raw_os_error(), &error))?;
            let verifier = verifier_of(self, stream, plan, worker_index, &targets)?;
            let forgetting = Forgetting::of(stream, plan, &targets);
            let forgetting = forgetting.map_err(|error| {
                Refusal::new(error.raw_os_error(), &format!("cannot drop cached pages: {error}"))
            })?;
            let (queue_depth, seed) = (stream.queue_depth, engine_seed(plan.seed, worker_index as u64));
            let setup = Setup { targets, queue_depth, buffers: Rc::clone(&buffers), seed };
            engine.open(setup).map_err(|error| Refusal::new(error.raw_os_error(), &error))?;
            hold.count_opening();
            (buffers, verifier, forgetting, fit)
        };
        Ok(Fitted { engine, buffers, verifier, forgetting, files, fit })
    }

    /// What a worker has to have done at `begins` before its load: its command, and meeting the others whom its engine
    /// depends on. Returns when that was over, a moment that is past where there was nothing to do; `None` when the stream was
    /// stopped meanwhile, and the reason when it cannot begin.
    fn come_before<E: Engine>(
        &self,
        engine: &mut E,
        stream: &Stream,
        stream_index: usize,
        begins: Nanos,
    ) -> Result<Option<Nanos>, (Errno, String)> {
        let mut ended = Nanos::ZERO;
        if let Some(command) = &stream.control.before {
            let went_well = self.before(command, stream_index, begins);
            if !went_well.map_err(|reason| (Errno::CANCELED, reason))? {
                return Ok(None);
            }
            ended = monotonic();
        }
        if E::WAITS_FOR_OTHERS {
            let stop = self.shared.stop_flag(stream_index);
            let fail = |error: EngineError| {
                let errno = error.raw_os_error().map_or(Errno::CANCELED, Errno::from_raw_os_error);
                (errno, error.to_string())
            };
            let met = commands::wait(begins, stop)
                && engine.meet(&mut || !stop.load(Ordering::Relaxed)).map_err(fail)?;
            if !met {
                return Ok(None);
            }
            ended = monotonic();
        }
        Ok(Some(ended))
    }

    /// Runs what comes before a worker's start, at `begins`; false when the stream was stopped meanwhile, and the reason
    /// when it did not end well.
    fn before(&self, command: &ShellCommand, stream: usize, begins: Nanos) -> Result<bool, String> {
        let stop = self.shared.stop_flag(stream);
        if !commands::wait(begins, stop) {
            return Ok(false);
        }
        match commands::run(command, stop, Nanos::ZERO)? {
            commands::End::Well => Ok(true),
            commands::End::Badly(how) => Err(how),
            commands::End::Stopped => Ok(false),
        }
    }

    fn await_go(&self) -> Option<Nanos> {
        match *self.go.read().unwrap_or_else(PoisonError::into_inner) {
            Go::At(start) => Some(start),
            Go::Never => None,
        }
    }
}
