//! One step on one host: starts the workers together, collects while they run, sums up when they have ended.

use crate::collect::{Collected, Collector};
use crate::crew::{Crew, Place};
use crate::handovers::Handovers;
use crate::lockstep::Patience;
use crate::mismatch;
use crate::outcome::Ended;
use crate::prepare::Ready;
use crate::recorder::{MANY_WORKERS, Outlet, Recorder, cells_of, rows_per_cell};
use crate::schedule::LeftWaiting;
use crate::seat::{Common, Seat};
use crate::settling::{describe_settling, end_settled};
use crate::shared::Shared;
use crate::told::{describe_broken, describe_errors, held_up, mine};
use crate::worker::{own_targets, shape_of};
use fathom_io::clock::{RealClock, monotonic};
use fathom_io::{thread, with_fresh_zeroes};
use fathom_metrics::{CellShape, IssuedRow, OperationRow, Settling};
use fathom_schema::{EngineKind, Interval, Step, Stop, Stream, StreamTally, StreamTotals, WorkerTotals};
use fathom_units::Nanos;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, mpsc};
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
    /// What held the load up that was not the target, and how its end was cut short, in words.
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
                    "cannot start a worker thread: {error}; use fewer workers, or raise what limits them: threads (ulimit -u), \
                     address space (ulimit -v), pids.max of the control group"
                )
            }
        }
    }
}

impl std::error::Error for ExecuteError {}

/// What the workers wait for before they start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Go {
    At(Nanos),
    Never,
}

/// What a worker tells the collector's thread.
pub(crate) enum Message {
    /// Engine and targets are open; what is in use.
    Ready(EngineInUse),
    /// It could not be made ready and ends with that error, which keeps no other from running.
    Unable,
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

/// How long the collector sleeps at most; workers wake it when they hand over.
const COLLECT_EVERY: Duration = Duration::from_millis(100);
/// How long one stream's interval waits for those of the others at most before it counts as settled: what is kept at once
/// survives the end of this process together.
const LEVEL_LIMIT: Nanos = Nanos::millis(100);
/// Between "all are ready" and the common start of so many workers: longer than waking them all takes, one after the other.
/// A wake took 8 µs on a busy machine of two cores; half as much again.
pub(crate) fn start_delay(workers: usize) -> Nanos {
    Nanos::millis(1).after(Nanos(12_000 * workers as u64))
}

/// How long a command that comes after the load may still run once the run is to stop: enough to tidy up or to flush a
/// little, and short enough that nobody takes fathom for stuck.
pub(crate) const FAREWELL_LIMIT: Nanos = Nanos::secs(3);

/// How long workers in virtual time may take to the next edge of an interval once they are to stop, because someone who
/// waits asked for it: they end together there. A second of a million simulated operations takes about as long on a slow
/// machine.
const EDGE_LIMIT: Nanos = Nanos::secs(3);
/// The same where the load itself ends them. Nobody waits, and every run is to give the same figures on slow machines, too;
/// where virtual time stands still, no edge ever comes.
const EDGE_LIMIT_UNASKED: Nanos = Nanos::secs(30);

/// What a step tells while it runs; called on the thread that called [`execute`].
pub trait Observer {
    /// What a stream runs on: engine and features, in words.
    fn engine(&mut self, stream: usize, description: &str);
    /// All workers are ready and about to start together.
    fn started(&mut self);
    /// An interval is complete.
    fn interval(&mut self, interval: Interval);
    /// No more intervals for now: about once per interval, when all streams have told of theirs or a tenth
    /// of a second after the first of them.
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

/// Runs a step that was made ready, by the threads of `crew`. `stop`: raised from outside to end it early.
pub fn execute(
    ready: &Arc<Ready>,
    crew: &mut Crew,
    clock: &RealClock,
    share: Share,
    stop: &AtomicBool,
    observer: &mut dyn Observer,
) -> Result<Executed, ExecuteError> {
    let step = &ready.step;
    let here = |stream: &Stream| (0..stream.workers.len()).filter(|&k| mine(k, share)).count();
    // What is seen of virtual time ends it at the edge where it is seen.
    let is_judged = !step.abort_when.is_empty() || step.streams.iter().any(|one| one.limits.steady.is_some());
    let judge = is_judged.then(std::thread::current);
    let shared = Arc::new(Shared::new(&step.streams, here, step.targets.len(), judge));
    if stop.load(Ordering::Relaxed) {
        shared.interrupt();
    }
    let go = Arc::new(RwLock::new(Go::Never));
    // The workers wait to read it: all of them at once, where a mutex would be handed from one to the next, and each of ten
    // thousand would have to be given a CPU before the one after it. Given up early, it sends them away.
    let mut gate = go.write().unwrap_or_else(PoisonError::into_inner);
    let (tell, told) = mpsc::channel();
    let wanted: Vec<bool> = (0..step.streams.len()).map(|stream| observer.wants_operations(stream)).collect();
    let of_wanted = step.streams.iter().zip(&wanted).filter(|(_, wanted)| **wanted);
    let rows_per_cell = rows_per_cell(of_wanted.map(|(stream, _)| here(stream)).sum());
    let expected: usize = step.streams.iter().map(here).sum();
    let cells = cells_of(expected);
    let handovers = Handovers::of(expected);
    let told_of_issues: Vec<bool> = (0..step.streams.len()).map(|k| observer.wants_issued(k)).collect();
    let collects = std::thread::current();
    let make = || {
        let mut seats = Vec::new();
        let mut outlets: Vec<Vec<Outlet>> = Vec::new();
        for (stream_index, stream) in step.streams.iter().enumerate() {
            let rows = if wanted[stream_index] { rows_per_cell } else { 0 };
            let counted = stream.counted_targets();
            let mut of_stream = Vec::new();
            for worker_index in (0..stream.workers.len()).filter(|&k| mine(k, share)) {
                let targets = own_targets(&stream.workers[worker_index], &counted);
                let shape = CellShape { rows, targets: &targets, ..shape_of(stream) };
                let (mut recorder, mut outlet) =
                    Recorder::new(shape, cells, collects.clone(), &handovers, seats.len());
                if told_of_issues[stream_index] {
                    recorder.tell_of_issues(&mut outlet);
                }
                seats.push(Seat { stream_index, seat_index: of_stream.len(), worker_index, recorder });
                of_stream.push(outlet);
            }
            outlets.push(of_stream);
        }
        (seats, outlets)
    };
    // Most of what so many cells have room for is never counted in.
    let (seats, outlets) = if expected > MANY_WORKERS { with_fresh_zeroes(make) } else { make() };
    let mut collector = Collector::new(step_index(ready), step.interval, outlets, Arc::clone(&handovers));
    for (index, stream) in step.streams.iter().enumerate() {
        if stream.depth_search.is_some() || stream.limits.ramp_counts {
            collector.keep_ramp(index);
        }
    }
    let places = Place::all(step, share);
    let (ready_too, shared_too) = (Arc::clone(ready), Arc::clone(&shared));
    let common = Common { ready: ready_too, shared: shared_too, go: Arc::clone(&go), tell, clock: *clock };
    let take_up = |seat: Seat| {
        let common = common.clone();
        Box::new(move |hold: &mut _| seat.run(common, hold)) as _
    };
    crew.take_up(&places, seats.into_iter().map(take_up)).map_err(ExecuteError::Thread)?;
    drop(common);
    await_ready(&told, expected, step, observer)?;
    let step_start = monotonic().after(start_delay(expected));
    observer.started();
    *gate = Go::At(step_start);
    drop(gate);
    Ok(gather(&told, &mut collector, step, &shared, stop, step_start, share, observer))
}

fn step_index(ready: &Ready) -> u32 {
    ready.index
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
            Ok(Message::Unable) => {}
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
    let mut left: Vec<usize> = ends.iter().map(Vec::len).collect();
    let mut running: usize = left.iter().sum();
    let mut over: Vec<u32> = Vec::new();
    let real = step.streams.iter().all(|stream| stream.engine.kind != EngineKind::Sim);
    let mut settling = Settling::of(step);
    let mut is_changed = false;
    let mut patience = Patience::default();
    let mut unsettled = None;
    while running > 0 {
        std::thread::park_timeout(COLLECT_EVERY);
        if !is_changed && observer.is_changed(shared.has_failed()) {
            is_changed = true;
            shared.stop_step();
        }
        while let Ok(message) = told.try_recv() {
            if let Message::Ended { stream, worker, ended } = message {
                collector.ended(stream, worker);
                ended.edge.into_iter().for_each(|edge| shared.has_left(edge));
                ends[stream][worker] = Some(*ended);
                left[stream] -= 1;
                let is_over = left[stream] == 0;
                over.extend(is_over.then(|| u32::try_from(stream).expect("streams are counted in 32 bits")));
                running -= 1;
            }
        }
        obey(stop, is_changed, shared, &mut patience);
        // What was done up to there was handed over before they came to it.
        let edge = shared.edge_to_judge();
        let now = monotonic().since(step_start);
        turn(collector, real.then_some(now), &mut settling, shared, &mut unsettled, observer);
        for stream in over.drain(..) {
            end_settled(&mut settling, shared, |settling| settling.ended(stream));
        }
        judge(edge, stop, shared);
    }
    // All have ended, so that all is level.
    turn(collector, None, &mut settling, shared, &mut unsettled, observer);
    let elapsed = ends.iter().flatten().flatten().map(|ended| ended.end).max().unwrap_or_default();
    let failures: Vec<String> =
        ends.iter().flatten().flatten().filter_map(|ended| ended.failure.clone()).collect();
    let io_errors = describe_errors(step, share, &ends);
    let mut held_up = held_up(step, &ends);
    held_up.extend(patience.describe());
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
    let stop = ended_by(!failures.is_empty(), is_changed, stop, shared);
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
                    let tally = collector.totals(stream, worker, ended.has_measured);
                    totals(tally, verify, &ended)
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

/// Why a step ended. `has_failed`: a worker could not go on.
fn ended_by(has_failed: bool, is_changed: bool, stop: &AtomicBool, shared: &Shared) -> Stop {
    if has_failed {
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
    }
}

/// Lets those that wait at an edge go on, or end there, once what they did up to it is known.
fn judge(edge: Option<Nanos>, stop: &AtomicBool, shared: &Shared) {
    let Some(edge) = edge else { return };
    if stop.load(Ordering::Relaxed) {
        shared.interrupt();
    }
    shared.judge(edge);
}

/// Ends the workers when that is asked for from outside; those in virtual time, by whatever they are ended, at an edge, if
/// they come to one.
fn obey(stop: &AtomicBool, is_changed: bool, shared: &Shared, patience: &mut Patience) {
    let is_stopped = stop.load(Ordering::Relaxed);
    if is_stopped {
        shared.interrupt();
    }
    let limit = if is_stopped || is_changed { EDGE_LIMIT } else { EDGE_LIMIT_UNASKED };
    if patience.is_over(shared.awaited_edge(), limit, monotonic()) {
        shared.give_up_edges();
    }
}

fn turn(
    collector: &mut Collector,
    now: Option<Nanos>,
    settling: &mut [Settling],
    shared: &Shared,
    unsettled: &mut Option<Nanos>,
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
        unsettled.get_or_insert_with(monotonic);
    }
    if unsettled.is_some_and(|since| collector.is_level() || monotonic().since(since) >= LEVEL_LIMIT) {
        *unsettled = None;
        observer.settled();
    }
}

fn totals(tally: StreamTally, verify: Option<&StreamTally>, ended: &Ended) -> WorkerTotals {
    let Ended {
        start,
        end,
        synced,
        usage,
        runnable_ns,
        first_error,
        broken: _,
        waited: _,
        failure: _,
        farewell: _,
        verified,
        depth,
        emptied,
        has_measured: _,
        edge: _,
        left: LeftWaiting { count: waiting, oldest: oldest_waiting, waits },
    } = ended;
    let thread::Usage { user_ns, system_ns, context_switches, major_faults, minor_faults } = *usage;
    WorkerTotals {
        tally: StreamTally { left_waiting: waits.clone(), ..tally },
        start: *start,
        end: *end,
        synced: *synced,
        user_ns,
        system_ns,
        context_switches,
        major_faults,
        minor_faults,
        runnable_ns: *runnable_ns,
        error: first_error.map_or(0, |error| error.errno),
        verified: verified.as_ref().map(|verified| Box::new(mismatch::totals(verified, verify))),
        depth: *depth,
        emptied: *emptied,
        waiting: *waiting,
        oldest_waiting: *oldest_waiting,
    }
}
