//! One step on one host: starts the workers together, collects while they run, sums up when they have ended.

use crate::collect::{Collected, Collector};
use crate::commands;
use crate::drive::Pace;
use crate::mismatch;
use crate::prepare::{OpenError, Ready};
use crate::recorder::{Outlet, Recorder, cells_of, rows_per_cell};
use crate::schedule::Schedule;
use crate::settling::{describe_settling, end_settled};
use crate::shared::Shared;
use crate::timeline::Timeline;
use crate::told::{describe_broken, describe_errors, held_up, mine};
use crate::verify::{Verifier, cached};
use crate::worker::{Ended, Parts, Worker, shape_of};
use fathom_io::clock::{Clock, RealClock, VirtualClock, monotonic};
use fathom_io::{
    Buffers, Call, Engine, IoUring, Libaio, Locked, Mmap, MmapRules, Names, Net, Null, OpenTarget, Program,
    Setup, Sim, Spin, Splice, Synchronous, thread,
};
use fathom_metrics::{Cell, CellShape, IssuedRow, OperationRow, Settling};
use fathom_pattern::{Arrivals, Trace};
use fathom_schema::{
    Arrival, Counted, EngineKind, Extent, Interval, IoMode, IoPriority, MemoryPolicy, OpenRule,
    OperationKind, Pacing, Scheduling, ShellCommand, Step, Stop, Stream, StreamTally, StreamTotals,
    WorkerPlan, WorkerTotals,
};
use fathom_units::Nanos;
use std::fmt;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::time::Duration;

/// A host's part of a step: workers k with k ≡ `index` (mod `of`) run here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// 0 ≤ index < of.
    pub index: u32,
    /// Number of hosts; at least 1.
    pub of: u32,
}

impl Share {
    /// All of it: a run on one host.
    pub const WHOLE: Self = Self { index: 0, of: 1 };
}

/// What a step came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Executed {
    /// Totals per stream.
    pub streams: Vec<StreamTotals>,
    /// Why it ended.
    pub stop: Stop,
    /// Whether the run ends with it, whatever steps there are.
    pub ends_run: bool,
    /// From the workers' start to the last one's end.
    pub elapsed: Nanos,
    /// The first I/O error of each worker that had one, in words.
    pub io_errors: Vec<String>,
    /// What reading back found wrong, in words: the first mismatches of each worker, then how many there were.
    pub mismatches: Vec<String>,
    /// What workers did not keep that was demanded of them, in words.
    pub broken: Vec<String>,
    /// What became of the streams that were to end in a steady state, in words.
    pub settled: Vec<String>,
    /// Commands that came after the load and did not end well, in words.
    pub farewells: Vec<String>,
    /// What held the load up that was not the target, in words.
    pub held_up: Vec<String>,
    /// Why workers could not go on, in words.
    pub failures: Vec<String>,
}

/// Why a step could not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExecuteError {
    /// A worker could not open its targets or its engine.
    Worker {
        /// The stream's name.
        stream: String,
        /// Why, with the remedy where one is known.
        reason: String,
    },
    /// A thread could not be started.
    Thread(std::io::Error),
}

impl fmt::Display for ExecuteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Worker { stream, reason } => write!(f, "stream \"{stream}\": {reason}"),
            Self::Thread(error) => {
                write!(
                    f,
                    "cannot start a worker thread: {error}; use fewer workers or raise the limit (ulimit -u)"
                )
            }
        }
    }
}

impl std::error::Error for ExecuteError {}

/// What the workers wait for before they start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Go {
    NotYet,
    At(Nanos),
    Never,
}

/// What a worker tells the collector's thread.
enum Message {
    /// Engine and targets are open; what is in use.
    Ready(EngineInUse),
    /// It could not be made ready.
    Refused { stream: usize, reason: String },
    /// It has ended; boxed, since it is large and rare.
    Ended { stream: usize, worker: usize, ended: Box<Ended> },
}

/// An engine as it runs: name and features.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EngineInUse {
    pub(crate) stream: usize,
    pub(crate) description: String,
}

/// Stack of a worker thread: its loops need a few KiB; the rest is for the kernel interfaces' temporary arrays.
const STACK_BYTES: usize = 256 << 10;
/// How long the collector sleeps at most; workers wake it when they hand over.
const COLLECT_EVERY: Duration = Duration::from_millis(100);
/// Between "all are ready" and the common start: longer than waking every worker takes.
const START_DELAY: Nanos = Nanos::millis(1);

/// How long a command that comes after the load may still run once the run is to stop: enough to tidy up or to flush a
/// little, and short enough that nobody takes fathom for stuck.
const FAREWELL_LIMIT: Nanos = Nanos::secs(3);

/// What a step tells while it runs; called on the thread that called [`execute`].
pub trait Observer {
    /// What a stream runs on: engine and features, in words.
    fn engine(&mut self, stream: usize, description: &str);
    /// All workers are ready and about to start together.
    fn started(&mut self);
    /// An interval is complete.
    fn interval(&mut self, interval: Interval);
    /// No more intervals for now: about once per interval.
    fn settled(&mut self);
    /// Whether single operations of a stream are wanted; asked before its workers are made.
    fn wants_operations(&self, stream: usize) -> bool {
        let _ = stream;
        false
    }
    /// Single operations of one worker that counted, in the order in which they completed.
    fn operations(&mut self, stream: usize, rows: &[OperationRow]) {
        let _ = (stream, rows);
    }
    /// Whether operations of a stream are wanted as they are issued; asked before its workers are made.
    fn wants_issued(&self, stream: usize) -> bool {
        let _ = stream;
        false
    }
    /// Operations that one worker issued, in order, whether they count or not.
    fn issued(&mut self, stream: usize, rows: &[IssuedRow]) {
        let _ = (stream, rows);
    }
    /// Whether the step is to end because another is to take its place; asked several times a second. `has_failed`: a
    /// worker has ended for an error, and what is left of the step is not what was asked for.
    fn is_changed(&mut self, has_failed: bool) -> bool {
        let _ = has_failed;
        false
    }
}

/// Runs a step that was made ready. `stop`: raised from outside to end it early.
pub fn execute(
    ready: &Ready,
    clock: &RealClock,
    share: Share,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Executed, ExecuteError> {
    let step = &ready.step;
    let here = |stream: &Stream| (0..stream.workers.len()).filter(|&k| mine(k, share)).count();
    let shared = Shared::new(&step.streams, here, step.targets.len());
    if stop.load(Ordering::Relaxed) {
        shared.interrupt();
    }
    let go = (Mutex::new(Go::NotYet), Condvar::new());
    let (tell, told) = mpsc::channel();
    let mut outlets: Vec<(CellShape, Vec<Outlet>)> = Vec::new();
    let mut seats = Vec::new();
    let wanted: Vec<bool> = (0..step.streams.len()).map(|stream| observer.wants_operations(stream)).collect();
    let of_wanted = step.streams.iter().zip(&wanted).filter(|(_, wanted)| **wanted);
    let rows_per_cell = rows_per_cell(of_wanted.map(|(stream, _)| here(stream)).sum());
    let cells = cells_of(step.streams.iter().map(here).sum());
    for (stream_index, stream) in step.streams.iter().enumerate() {
        let rows = if wanted[stream_index] { rows_per_cell } else { 0 };
        let shape = CellShape { rows, ..shape_of(stream) };
        let mut of_stream = Vec::new();
        for (worker_index, plan) in stream.workers.iter().enumerate().filter(|(k, _)| mine(*k, share)) {
            let (mut recorder, mut outlet) = Recorder::new(shape, cells, std::thread::current());
            if observer.wants_issued(stream_index) {
                recorder.tell_of_issues(&mut outlet);
            }
            let seat =
                Seat { stream_index, seat_index: of_stream.len(), worker_index, stream, plan, recorder };
            of_stream.push(outlet);
            seats.push(seat);
        }
        outlets.push((shape, of_stream));
    }
    let expected = seats.len();
    let mut collector = Collector::new(step_index(ready), step.interval, outlets);
    for (index, _) in step.streams.iter().enumerate().filter(|(_, stream)| stream.depth_search.is_some()) {
        collector.keep_ramp(index);
    }
    std::thread::scope(|scope| {
        for seat in seats {
            let (tell, shared, go) = (tell.clone(), &shared, &go);
            let name = format!("worker {}", seat.worker_index);
            let spawned = std::thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn_scoped(
                scope,
                move || {
                    seat.run(ready, *clock, shared, go, &tell);
                },
            );
            if let Err(error) = spawned {
                release(go, Go::Never);
                return Err(ExecuteError::Thread(error));
            }
        }
        drop(tell);
        await_ready(&told, expected, step, observer).inspect_err(|_| release(&go, Go::Never))?;
        let step_start = monotonic().after(START_DELAY);
        observer.started();
        release(&go, Go::At(step_start));
        Ok(gather(&told, &mut collector, step, &shared, stop, step_start, share, observer))
    })
}

fn step_index(ready: &Ready) -> u32 {
    ready.index
}

fn release(go: &(Mutex<Go>, Condvar), what: Go) {
    *go.0.lock().expect("no thread panics while it holds the lock") = what;
    go.1.notify_all();
}

fn await_ready(
    told: &mpsc::Receiver<Message>,
    expected: usize,
    step: &Step,
    observer: &mut dyn Observer,
) -> Result<(), ExecuteError> {
    let mut said = vec![false; step.streams.len()];
    for _ in 0..expected {
        match told.recv() {
            Ok(Message::Ready(EngineInUse { stream, description })) => {
                if !std::mem::replace(&mut said[stream], true) {
                    observer.engine(stream, &description);
                }
            }
            Ok(Message::Refused { stream, reason }) => {
                return Err(ExecuteError::Worker { stream: step.streams[stream].name.clone(), reason });
            }
            // It panicked before it was ready; the others still wait and have to be sent away.
            Ok(Message::Ended { stream, ended, .. }) => {
                let reason =
                    ended.failure.clone().unwrap_or_else(|| "a worker ended before it began".to_owned());
                return Err(ExecuteError::Worker { stream: step.streams[stream].name.clone(), reason });
            }
            Err(_) => {
                let reason = "a worker ended before it began".to_owned();
                return Err(ExecuteError::Worker { stream: step.name.clone(), reason });
            }
        }
    }
    Ok(())
}

#[expect(clippy::too_many_arguments, reason = "the one place where the ends of all channels meet")]
fn gather(
    told: &mpsc::Receiver<Message>,
    collector: &mut Collector,
    step: &Step,
    shared: &Shared,
    stop: &AtomicBool,
    step_start: Nanos,
    share: Share,
    observer: &mut dyn Observer,
) -> Executed {
    let here = |stream: &Stream| (0..stream.workers.len()).filter(|&k| mine(k, share)).count();
    let mut ends: Vec<Vec<Option<Ended>>> =
        step.streams.iter().map(|stream| (0..here(stream)).map(|_| None).collect()).collect();
    let mut running: usize = ends.iter().map(Vec::len).sum();
    let mut over: Vec<u32> = Vec::new();
    let real = step.streams.iter().all(|stream| stream.engine.kind != EngineKind::Sim);
    let mut settling = Settling::of(step);
    let mut is_changed = false;
    while running > 0 {
        std::thread::park_timeout(COLLECT_EVERY);
        if !is_changed && observer.is_changed(shared.has_failed()) {
            is_changed = true;
            shared.stop_step();
        }
        if stop.load(Ordering::Relaxed) {
            shared.interrupt();
        }
        while let Ok(message) = told.try_recv() {
            if let Message::Ended { stream, worker, ended } = message {
                collector.ended(stream, worker);
                ends[stream][worker] = Some(*ended);
                let is_over = ends[stream].iter().all(Option::is_some);
                over.extend(is_over.then(|| u32::try_from(stream).expect("streams are counted in 32 bits")));
                running -= 1;
            }
        }
        let now = monotonic().since(step_start);
        turn(collector, real.then_some(now), &mut settling, shared, observer);
        for stream in over.drain(..) {
            end_settled(&mut settling, shared, |settling| settling.ended(stream));
        }
    }
    turn(collector, None, &mut settling, shared, observer);
    let elapsed = ends.iter().flatten().flatten().map(|ended| ended.end).max().unwrap_or_default();
    let failures: Vec<String> =
        ends.iter().flatten().flatten().filter_map(|ended| ended.failure.clone()).collect();
    let io_errors = describe_errors(step, share, &ends);
    let held_up = held_up(step, &ends);
    let broken = describe_broken(step, share, &ends);
    let farewells = ends.iter().flatten().flatten().filter_map(|ended| ended.farewell.clone()).collect();
    let mismatches = step
        .streams
        .iter()
        .zip(&ends)
        .flat_map(|(stream, workers)| {
            let here =
                stream.workers.iter().enumerate().filter(|(k, _)| mine(*k, share)).map(|(_, plan)| plan);
            here.zip(workers)
        })
        .flat_map(|(plan, ended)| {
            mismatch::describe(step, plan, ended.as_ref().and_then(|e| e.verified.as_ref()))
        })
        .collect();
    let stop = if !failures.is_empty() {
        Stop::Failed
    } else if shared.has_failed_for_mismatch() {
        Stop::Mismatch
    } else if shared.has_failed() {
        Stop::IoErrors
    } else if stop.load(Ordering::Relaxed) {
        Stop::Interrupted
    } else if is_changed {
        Stop::Changed
    } else {
        Stop::Complete
    };
    let streams = ends
        .into_iter()
        .enumerate()
        .map(|(stream, workers)| StreamTotals {
            workers: workers
                .into_iter()
                .enumerate()
                .map(|(worker, ended)| {
                    let verify = collector.verify_totals(stream, worker);
                    let ended = ended.expect("all have ended");
                    let has_measured = ended.depth.is_none_or(|found| found.is_settled);
                    totals(collector.totals(stream, worker, has_measured), verify, &ended)
                })
                .collect(),
        })
        .collect();
    let settled = settling.iter().map(|settling| describe_settling(step, settling)).collect();
    let ends_run = shared.ends_run();
    Executed {
        streams,
        stop,
        ends_run,
        elapsed,
        io_errors,
        mismatches,
        broken,
        settled,
        farewells,
        held_up,
        failures,
    }
}

fn turn(
    collector: &mut Collector,
    now: Option<Nanos>,
    settling: &mut [Settling],
    shared: &Shared,
    observer: &mut dyn Observer,
) {
    let mut any = false;
    collector.turn(now, &mut |collected| match collected {
        Collected::Interval(interval) => {
            any = true;
            end_settled(settling, shared, |settling| settling.add(&interval));
            observer.interval(*interval);
        }
        Collected::Rows { stream, rows } => observer.operations(stream, &rows),
        Collected::Issued { stream, rows } => observer.issued(stream, &rows),
    });
    if any {
        observer.settled();
    }
}

fn totals(tally: StreamTally, verify: Option<&Cell>, ended: &Ended) -> WorkerTotals {
    let Ended {
        start,
        end,
        usage,
        first_error,
        broken: _,
        waited: _,
        failure: _,
        farewell: _,
        verified,
        depth,
    } = ended;
    let thread::Usage { user_ns, system_ns, context_switches, major_faults, minor_faults } = *usage;
    WorkerTotals {
        tally,
        start: *start,
        end: *end,
        user_ns,
        system_ns,
        context_switches,
        major_faults,
        minor_faults,
        error: first_error.map_or(0, |error| error.errno),
        verified: verified.as_ref().map(|verified| Box::new(mismatch::totals(verified, verify))),
        depth: *depth,
    }
}

/// A worker's place before its thread has started.
struct Seat<'a> {
    stream_index: usize,
    /// Number among this host's workers of the stream.
    seat_index: usize,
    /// Number among all workers of the stream.
    worker_index: usize,
    stream: &'a Stream,
    plan: &'a WorkerPlan,
    recorder: Recorder,
}

impl Seat<'_> {
    /// The worker thread.
    fn run(
        self,
        ready: &Ready,
        clock: RealClock,
        shared: &Shared,
        go: &(Mutex<Go>, Condvar),
        tell: &mpsc::Sender<Message>,
    ) {
        let (stream, worker) = (self.stream_index, self.seat_index);
        let collector = self.recorder.collector();
        let _farewell = Farewell { shared, tell, stream, worker };
        let context = Context { ready, shared, go, tell };
        let ended = match self.stream.engine.kind {
            EngineKind::Null => self.run_on(&context, Null::default(), clock),
            EngineKind::Sim => {
                let virtual_clock = VirtualClock::default();
                self.run_on(&context, Sim::new(virtual_clock.clone()), virtual_clock)
            }
            EngineKind::Psync => self.run_on(&context, Synchronous::new(Call::Positioned), clock),
            EngineKind::Sync => self.run_on(&context, Synchronous::new(Call::Seeking), clock),
            EngineKind::Vsync => self.run_on(&context, Synchronous::new(Call::SeekingVector), clock),
            EngineKind::Pvsync => self.run_on(&context, Synchronous::new(Call::Vector), clock),
            EngineKind::Pvsync2(flags) => {
                self.run_on(&context, Synchronous::new(Call::FlaggedVector(flags)), clock)
            }
            EngineKind::Falloc => self.run_on(&context, Synchronous::new(Call::Allocate), clock),
            EngineKind::Ftruncate => self.run_on(&context, Synchronous::new(Call::Truncate), clock),
            EngineKind::Splice => self.run_on(&context, Splice::default(), clock),
            EngineKind::Names(call) => self.run_on(&context, Names::new(call), clock),
            EngineKind::Net { ping_pong } => self.run_on(&context, Net::new(ping_pong), clock),
            EngineKind::Exec => {
                let run = self.stream.engine.program.clone().expect("the planner gives it a program");
                self.run_on(&context, Program::new(*run), clock)
            }
            EngineKind::Spin { chunk_ns, sorts } => {
                self.run_on(&context, Spin::new(Nanos(chunk_ns), sorts), clock)
            }
            EngineKind::Mmap { write_through, random_access } => {
                self.run_on(&context, Mmap::new(MmapRules { write_through, random_access }), clock)
            }
            EngineKind::Libaio(settings) => {
                let engine = Libaio::new(settings).with_priorities(&self.stream.engine.priorities);
                self.run_on(&context, engine, clock)
            }
            EngineKind::IoUring(settings) => {
                let engine = IoUring::new(settings).with_priorities(&self.stream.engine.priorities);
                self.run_on(&context, engine, clock)
            }
        };
        let message = match ended {
            Ok(Some(ended)) => Message::Ended { stream, worker, ended: Box::new(ended) },
            // Told to go away: nobody listens any more.
            Ok(None) => return,
            Err(reason) => Message::Refused { stream, reason },
        };
        // The receiver lives until all workers have ended or one was refused; then this one matters to nobody.
        drop(tell.send(message));
        collector.unpark();
    }

    fn run_on<E: Engine, C: Clock>(
        self,
        context: &Context<'_>,
        mut engine: E,
        clock: C,
    ) -> Result<Option<Ended>, String> {
        let Self { stream_index, seat_index: _, worker_index, stream, plan, recorder } = self;
        thread::pin(&plan.cpus).map_err(|error| format!("cannot run on CPUs {:?}: {error}", plan.cpus))?;
        thread::wake_exactly();
        let Scheduling { nice, io, memory, cpu_nodes } = stream.scheduling;
        place_on_nodes(cpu_nodes, memory)?;
        thread::renice(nice).map_err(|error| {
            format!("cannot set the nice value {nice}: {error}; leave nice out or run as root")
        })?;
        if let Some(IoPriority { class, level }) = io {
            thread::prioritise(class, level).map_err(|error| {
                format!("cannot set the I/O priority {level} of class {class}: {error}; use the idle or best-effort class, or run as root")
            })?;
        }
        let largest = largest_moved(stream);
        // Engines that move nothing need no memory to move it from or to.
        let slot_bytes = if stream.engine.kind.moves_bytes() { largest } else { 1 };
        let memory = &stream.engine.memory;
        let buffers =
            Rc::new(Buffers::of(memory, stream.queue_depth, slot_bytes).map_err(|e| e.to_string())?);
        let locked = usize::try_from(memory.locked.0).unwrap_or(usize::MAX);
        let _locked = (locked > 0).then(|| Locked::new(locked)).transpose().map_err(|e| e.to_string())?;
        let targets = context.ready.open(stream, plan).map_err(|error: OpenError| error.to_string())?;
        let trace = context.ready.trace(stream_index);
        let verifier = verifier_of(context, stream, plan, worker_index, &targets)?;
        let setup =
            Setup { targets, queue_depth: stream.queue_depth, buffers: Rc::clone(&buffers), seed: plan.seed };
        engine.open(setup).map_err(|error| error.to_string())?;
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
            buffers,
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
            trace: trace.clone(),
        };
        let mut worker = Worker::new(parts);
        let pace = pace_of(stream, plan, trace);
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
        let awaited = awaited.max(took);
        // All workers of the stream start together, as those of the step did.
        let is_released_now = is_virtual || stream.control.after.is_empty();
        let awaited = if is_released_now { awaited } else { awaited.after(START_DELAY) };
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
        let mut ended = worker.finish(failure, farewell);
        ended.farewell = ended.farewell.or(last_words);
        ready.adopt(stream, plan);
        if stream.workload.sync.syncfs_at_end
            && let Err(error) = ready.sync_filesystems(plan)
        {
            ended.failure.get_or_insert(error.to_string());
        }
        Ok(Some(ended))
    }
}

/// Puts the calling thread on CPUs, and its memory, of NUMA nodes.
fn place_on_nodes(cpu_nodes: u64, memory: MemoryPolicy) -> Result<(), String> {
    if cpu_nodes != 0 {
        thread::cpus_of(cpu_nodes).and_then(|cpus| thread::pin(&cpus)).map_err(|error| {
            format!("cannot run on the CPUs of cpu_nodes: {error}; name nodes that are there")
        })?;
    }
    thread::place_memory(memory).map_err(|error| {
        format!("cannot take memory as memory_nodes says: {error}; name nodes that are there")
    })
}

/// When the operations of a worker are due.
fn pace_of(stream: &Stream, plan: &WorkerPlan, trace: Option<Arc<Trace>>) -> Pace {
    let (rate, arrival, course, backlog) = match &stream.pacing {
        Pacing::Closed { think } => return Pace::Closed(*think),
        Pacing::Open { rate, arrival, course, backlog } => (*rate, *arrival, course, *backlog),
    };
    let (part, seed) = (plan.part, plan.seed);
    Pace::Open(Box::new(match (stream.rate_counts, arrival, trace) {
        (_, Arrival::Traced { speed }, Some(trace)) => {
            Schedule::new(&Arrivals::of_trace(trace, speed), backlog)
        }
        (Counted::Operations, ..) => {
            Schedule::new(&Arrivals::new(rate, arrival, course, part, seed), backlog)
        }
        (Counted::Bytes, ..) => {
            let arrivals = Arrivals::scaled(rate, arrival, course, part, seed);
            let cases = &stream.workload.cases;
            let mean_bytes = cases.iter().map(|case| case.weight * case.size.mean()).sum();
            Schedule::by_bytes(&arrivals, backlog, mean_bytes)
        }
    }))
}

/// Bytes that one operation of a stream moves at most. A trim moves none, but for the write that may follow it.
fn largest_moved(stream: &Stream) -> u32 {
    let moves = |kind| kind != OperationKind::Trim || stream.workload.trim_then_write;
    let cases = stream.workload.cases.iter().filter(|case| moves(case.kind));
    cases.map(|case| case.size.largest()).max().unwrap_or(1)
}

/// The verifier of a worker, where its stream verifies.
fn verifier_of(
    context: &Context<'_>,
    stream: &Stream,
    plan: &WorkerPlan,
    worker_index: usize,
    targets: &[OpenTarget],
) -> Result<Option<Box<Verifier>>, String> {
    let Some(rule) = stream.workload.verification.rule() else { return Ok(None) };
    let drops = stream.engine.mode == IoMode::Buffered && stream.engine.open == OpenRule::DropCache;
    let cached = if drops { cached(targets) } else { Ok(Vec::new()) };
    let cached = cached.map_err(|error| format!("cannot verify: {error}"))?;
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
            let failure = Some("a worker thread panicked, which is a fault of fathom".to_owned());
            let ended = Ended {
                start: Nanos::ZERO,
                end: Nanos::ZERO,
                usage: thread::Usage::default(),
                first_error: None,
                broken: None,
                waited: Nanos::ZERO,
                failure,
                farewell: None,
                verified: None,
                depth: None,
            };
            let (stream, worker) = (self.stream, self.worker);
            // When nobody listens any more, nobody waits either.
            drop(self.tell.send(Message::Ended { stream, worker, ended: Box::new(ended) }));
        }
    }
}

struct Context<'a> {
    ready: &'a Ready,
    shared: &'a Shared,
    go: &'a (Mutex<Go>, Condvar),
    tell: &'a mpsc::Sender<Message>,
}

impl Context<'_> {
    /// What a worker has to have done at `begins` before its load: its command, and meeting the others whom its engine
    /// depends on. Returns when that was over, a moment that is past where there was nothing to do; `None` when the stream was
    /// stopped meanwhile, and the reason when it cannot begin.
    fn come_before<E: Engine>(
        &self,
        engine: &mut E,
        stream: &Stream,
        stream_index: usize,
        begins: Nanos,
    ) -> Result<Option<Nanos>, String> {
        let mut ended = Nanos::ZERO;
        if let Some(command) = &stream.control.before {
            if !self.before(command, stream_index, begins)? {
                return Ok(None);
            }
            ended = monotonic();
        }
        if E::WAITS_FOR_OTHERS {
            let stop = self.shared.stop_flag(stream_index);
            let met = commands::wait(begins, stop)
                && engine.meet(&mut || !stop.load(Ordering::Relaxed)).map_err(|error| error.to_string())?;
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
        let (state, changed) = self.go;
        let mut go = state.lock().expect("no thread panics while it holds the lock");
        loop {
            match *go {
                Go::At(start) => return Some(start),
                Go::Never => return None,
                Go::NotYet => go = changed.wait(go).expect("no thread panics while it holds the lock"),
            }
        }
    }
}
