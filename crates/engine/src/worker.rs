//! One worker: its engine, clock, generator and slots, and what happens at the few instants that are not operations
//! (interval edges, phase changes, the end).
//!
//! The loops themselves are in `drive`; nothing here or there allocates, locks or logs after the start.

use crate::batch::Batch;
use crate::caches::Forgetting;
use crate::demands::{Broken, FlowShare, Watch};
use crate::depth_search::Search;
use crate::kind_rates::KindRates;
use crate::lockstep::keeps_together;
use crate::others::Connection;
use crate::outcome::{Account, Ended};
use crate::passes::{Budget, Course, Reopen, engine_seed};
use crate::recorder::Recorder;
use crate::schedule::{LeftWaiting, Schedule};
use crate::shared::Shared;
use crate::syncs::{self, Syncs};
use crate::timeline::Timeline;
use crate::turns::FileLocks;
use crate::verify::Verifier;
use fathom_io::clock::Clock;
use fathom_io::thread;
use fathom_io::{Buffers, Completion, Engine, Operation};
use fathom_metrics::CellShape;
use fathom_pattern::rng::{Purpose, derive};
use fathom_pattern::{Filler, Generator, Planned, Trace};
use fathom_schema::{
    ErrorPolicy, Extent, OperationKind, Pacing, Phase, Quota, Stream, ThreadUse, VerifySchedule, WorkerPlan,
};
use fathom_units::Nanos;
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Operations planned at once by loops that issue one at a time.
pub(crate) const PLAN_AHEAD: usize = 64;

/// Stretches of one turn that are kept for an edge that is seen late; a turn has a few.
pub(crate) const STRETCHES: usize = 32;

/// Standard deviations of what is in flight, as random arrivals have it, that may be left at the end by chance.
const CHANCE_DEVIATIONS: f64 = 3.0;
/// One in so many operations left beyond that of the start shows in the rate, by chance or not: it is exact to a fifth of a per cent.
const SURPLUS_PART: u64 = 500;
/// Fewer than these are no part of a rate that shows: of a few operations the number itself is random by more.
const SURPLUS_MIN: u64 = 10;

/// An operation in flight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) operation: Operation,
    pub(crate) intended: Nanos,
    pub(crate) submitted: Nanos,
    pub(crate) accepted: Nanos,
}

/// The end of an operation that is counted later.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stamp {
    pub(crate) result: i32,
    pub(crate) completed: Nanos,
}

/// What an open loop left in flight beyond what it found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surplus {
    /// In flight without it.
    pub(crate) stays: usize,
    /// When the last of it had completed.
    pub(crate) gone: Option<Nanos>,
}

/// The first I/O error of a worker.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FirstError {
    pub(crate) errno: i32,
    pub(crate) operation: Operation,
    /// It met the end of its file, and moved nothing.
    pub(crate) at_end: bool,
}

/// Where a worker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Issuing operations that do not count.
    Ramp,
    /// Issuing operations that count.
    Measure,
    /// Issuing no more; what is in flight completes.
    Drain,
    /// Reading back what was written.
    Verify,
}

/// One worker, ready to run.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own that the loop asks for")]
pub(crate) struct Worker<'a, E, C> {
    pub(crate) engine: E,
    pub(crate) clock: C,
    pub(crate) generator: Generator,
    pub(crate) filler: Option<Filler>,
    /// Whether anything is done with an operation before it goes out.
    pub(crate) fills: bool,
    /// Whether anything is done with an operation once it was counted.
    pub(crate) looks_closer: bool,
    pub(crate) buffers: Rc<Buffers>,
    pub(crate) recorder: Recorder,
    pub(crate) shared: &'a Shared,
    /// Raised to end its stream early.
    pub(crate) stop: &'a AtomicBool,
    /// The last edge at which it waited for others that live in virtual time; absent where it does not.
    edge: Option<Nanos>,
    pub(crate) stream: &'a Stream,
    pub(crate) stream_index: usize,
    pub(crate) policy: ErrorPolicy,
    pub(crate) times: Timeline,
    pub(crate) state: State,
    /// The next instant at which something other than an operation happens.
    pub(crate) next_event: Nanos,
    pub(crate) budget: Budget,
    pub(crate) course: Course,
    /// Bytes that a pass which ended early left unmoved.
    pub(crate) unused: u64,
    /// Operations that failed in a segment between two times of reading back.
    pub(crate) given_back: u64,
    /// Bytes of the pass that begins when all operations of the last one are back.
    pub(crate) next_pass: Option<u64>,
    pub(crate) reopen: Option<Reopen<'a>>,
    pub(crate) seed: u64,
    /// Where connections are opened anew: when, and since when the present one is.
    pub(crate) connection: Option<Connection>,
    /// Why the next pass could not be begun.
    pub(crate) stuck: Option<String>,
    pub(crate) locks: Option<FileLocks<'a>>,
    /// What it drops of the page cache before each further pass.
    pub(crate) forgetting: Option<Box<Forgetting>>,
    /// What it has to keep.
    pub(crate) watch: Option<Box<Watch>>,
    /// Its search for a queue depth.
    pub(crate) search: Option<Box<Search>>,
    /// Its part in a flow.
    pub(crate) flow: Option<FlowShare<'a>>,
    /// Kinds of operations that come at most at a rate of their own.
    pub(crate) kind_rates: Option<Box<KindRates>>,
    /// Whether something is looked at before each operation: syncs, places in flight, rates of kinds. Else they are planned in
    /// batches.
    pub(crate) one_by_one: bool,
    /// Bytes that it moves before it measures; `u64::MAX`: a time says when it does.
    pub(crate) ramp_left: u64,
    /// What it did not keep.
    pub(crate) broken: Option<Broken>,
    /// An operation that waits for those in flight that touch its place.
    pub(crate) held: Option<Planned>,
    /// Places in flight, where operations wait for each other: slot, extent, first byte and end.
    pub(crate) places: Vec<(u32, u32, u64, u64)>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) free: Vec<u32>,
    pub(crate) planned: Vec<Planned>,
    /// The kind of all operations, where there is but one and no response time is recorded beside the service time.
    pub(crate) only_kind: Option<OperationKind>,
    /// Ends of operations that are counted a plan at a time.
    pub(crate) stamps: Vec<Stamp>,
    pub(crate) completions: Vec<Completion>,
    pub(crate) syncs: Syncs,
    pub(crate) last_completion: Nanos,
    /// When the rest of the last short operation had been moved: later than what was reaped beside it and counted after it.
    pub(crate) last_rest: Nanos,
    /// In flight where what counts began.
    pub(crate) in_flight_at_start: usize,
    /// Of an open loop that left more in flight than it found: when its time ends.
    pub(crate) surplus: Option<Surplus>,
    /// The in-flight time beyond the time asked for that does not count so far, in slot-nanoseconds.
    pub(crate) drained_ns: u64,
    pub(crate) first_error: Option<FirstError>,
    /// An error ended it.
    pub(crate) has_failed: bool,
    pub(crate) batch: Batch,
    /// Slots whose buffer holds what the filler put there.
    pub(crate) holds_content: Vec<bool>,
    /// Slots planned and filled, not yet pushed.
    pub(crate) staged: Vec<u32>,
    /// Until when operations in flight are integrated over time.
    pub(crate) integrated_until: Nanos,
    /// How many were in flight in stretches that lie behind the next edge, from when to when, until that is dealt with.
    pub(crate) stretches: Vec<(u32, Nanos, Nanos)>,
    /// When the last operations that were handed down had been.
    pub(crate) last_issued: Nanos,
    /// What was in flight since then, in slot-nanoseconds.
    pub(crate) emptying_ns: u64,
    /// Operations that are left to the next pause, between two stretches of load.
    pub(crate) until_pause: Option<u64>,
    /// When the next pause comes, whatever was done by then.
    pub(crate) pause_at: Nanos,
    /// Arrivals of an open loop.
    pub(crate) schedule: Option<Box<Schedule>>,
    /// By extent, the position of its target among those that are told apart; empty where none is.
    pub(crate) positions: Vec<u8>,
    /// By extent, its target's number in the step.
    pub(crate) targets_of: Box<[u32]>,
    /// Number of targets the engine was opened with.
    pub(crate) targets: usize,
    /// What its thread uses in what counts.
    pub(crate) account: Account,
    /// Present where data is verified.
    pub(crate) verifier: Option<Box<Verifier>>,
    cpu_at_cell: u64,
    /// The same of what else it uses.
    used_at_cell: thread::Usage,
}

/// Stands where an operation has a place and none was made.
pub(crate) const NO_OPERATION: Operation = Operation {
    slot: 0,
    kind: OperationKind::Read,
    target: 0,
    offset: 0,
    length: 0,
    data_only: false,
    range_flags: 0,
};

fn only_kind(stream: &Stream) -> Option<OperationKind> {
    let CellShape { kinds, response, completion, rows: _, targets: _ } = shape_of(stream);
    let mut used = OperationKind::ALL.into_iter().filter(|kind| kinds[kind.index()]);
    used.next().filter(|_| used.next().is_none() && !response && !completion)
}

fn generator_of(stream: &Stream, plan: &WorkerPlan, trace: Option<Arc<Trace>>) -> Generator {
    match trace {
        Some(trace) => Generator::of_trace(trace, plan),
        None => Generator::new(&stream.workload, plan),
    }
}

/// Whether there are syncs among its operations themselves.
fn replays_syncs(stream: &Stream) -> bool {
    stream.trace.as_ref().is_some_and(|replay| replay.has_syncs)
}

/// Completions taken up at once, at most.
fn completions_at_once(stream: &Stream) -> usize {
    let depth = stream.queue_depth as usize;
    match stream.engine.batch_complete_max {
        Quota::Unlimited => depth,
        Quota::AtMost(most) => usize::try_from(most).unwrap_or(depth).clamp(1, depth),
    }
}

/// What its workers' cells need, but for the targets and operations that are told one by one.
pub(crate) fn shape_of(stream: &Stream) -> CellShape<'static> {
    let mut kinds = [false; OperationKind::COUNT];
    for kind in OperationKind::ALL {
        kinds[kind.index()] = stream.workload.may_issue(kind);
    }
    if let Some(rule) = stream.workload.verification.rule() {
        kinds[OperationKind::Read.index()] |= rule.schedule != VerifySchedule::Never;
        kinds[OperationKind::Trim.index()] |= rule.trims.is_some();
    }
    kinds[OperationKind::Sync.index()] = syncs::come_between(stream) || replays_syncs(stream);
    CellShape {
        kinds,
        response: matches!(stream.pacing, Pacing::Open { .. }),
        // A synchronous engine accepts an operation by starting it: its completion time is the service time.
        completion: stream.record_completion && !stream.engine.kind.is_synchronous(),
        rows: 0,
        targets: &[],
    }
}

/// Which of these targets, ascending, a worker goes to.
pub(crate) fn own_targets(plan: &WorkerPlan, counted: &[u32]) -> Vec<u32> {
    let own: BTreeSet<u32> = plan.extents.iter().map(|extent| extent.target).collect();
    counted.iter().copied().filter(|target| own.contains(target)).collect()
}

/// By extent of a worker, the position of its target among those that its cells tell apart; empty where they do not.
fn positions_of(plan: &WorkerPlan, apart: &[u32]) -> Vec<u8> {
    if apart.is_empty() {
        return Vec::new();
    }
    let position = |extent: &Extent| {
        let at =
            apart.binary_search(&extent.target).expect("all targets of a stream are told apart, or none is");
        u8::try_from(at).expect("no more than 64 are told apart")
    };
    plan.extents.iter().map(position).collect()
}

/// What a worker is made of; everything is allocated here, before the start.
pub(crate) struct Parts<'a, E, C> {
    pub(crate) engine: E,
    pub(crate) clock: C,
    pub(crate) buffers: Rc<Buffers>,
    pub(crate) recorder: Recorder,
    pub(crate) shared: &'a Shared,
    pub(crate) stream: &'a Stream,
    pub(crate) stream_index: usize,
    pub(crate) plan: &'a WorkerPlan,
    /// Number among all workers of the stream.
    pub(crate) worker_index: u32,
    pub(crate) policy: ErrorPolicy,
    pub(crate) times: Timeline,
    pub(crate) reopen: Option<Reopen<'a>>,
    /// Present where data is verified.
    pub(crate) verifier: Option<Box<Verifier>>,
    /// Present where operations are those of a trace.
    pub(crate) trace: Option<Arc<Trace>>,
    pub(crate) forgetting: Option<Box<Forgetting>>,
}

impl<'a, E: Engine, C: Clock> Worker<'a, E, C> {
    #[expect(clippy::too_many_lines, reason = "one list of all that a worker has")]
    pub(crate) fn new(parts: Parts<'a, E, C>) -> Self {
        let Parts {
            engine,
            clock,
            buffers,
            recorder,
            shared,
            stream,
            stream_index,
            plan,
            worker_index,
            policy,
            times,
            reopen,
            verifier,
            forgetting,
            trace,
        } = parts;
        let depth = stream.queue_depth;
        let every = |quota: Quota| if let Quota::AtMost(n) = quota { n } else { u64::MAX };
        let idle = NO_OPERATION;
        let slot = |number| Slot {
            operation: Operation { slot: number, ..idle },
            intended: Nanos::NEVER,
            submitted: Nanos::ZERO,
            accepted: Nanos::ZERO,
        };
        let writes = shape_of(stream).kinds[OperationKind::Write.index()];
        // Workers that share a pass share its seed; what they write must differ all the same.
        let content_seed = derive(plan.seed, Purpose::Content, u64::from(worker_index));
        let filler = (writes && stream.engine.kind.moves_bytes() && verifier.is_none())
            .then(|| Filler::new(&stream.workload.content, content_seed, buffers.slot_bytes()));
        let largest = stream.workload.largest();
        let flow = stream.flow.as_ref();
        let operations = every(stream.limits.operations);
        let mut course = Course::new(stream.limits.passes, stream.limits.bytes, u64::from(largest));
        let kind_rates = KindRates::of(stream, worker_index, plan.seed);
        let mut generator = generator_of(stream, plan, trace);
        if kind_rates.is_some() {
            generator.prepare_grants(&stream.workload);
        }
        let syncs = Syncs::new(stream, plan.extents.len());
        let edge = keeps_together(stream).then_some(Nanos::ZERO);
        let positions = positions_of(plan, &recorder.cell.targets());
        Self {
            connection: engine.per_connection().map(Connection::of),
            generator,
            one_by_one: syncs.come || stream.engine.serialize_overlap || kind_rates.is_some(),
            kind_rates,
            fills: filler.is_some()
                || verifier.is_some()
                || recorder.tells_of_issues()
                || replays_syncs(stream),
            looks_closer: recorder.keeps_rows
                || verifier.is_some()
                || !stream.demands.are_none()
                || stream.depth_search.is_some()
                || stream.ramp_bytes != Quota::Unlimited
                || stream.engine.serialize_overlap
                || !positions.is_empty(),
            filler,
            state: State::Ramp,
            next_event: Nanos::NEVER,
            // In a flow each operation is granted by itself.
            budget: Budget { operations: if flow.is_some() { 0 } else { operations }, bytes: course.begin() },
            course,
            unused: 0,
            given_back: 0,
            next_pass: None,
            reopen,
            seed: engine_seed(plan.seed, u64::from(worker_index)),
            stuck: None,
            forgetting,
            locks: FileLocks::new(stream, plan, shared.locks()),
            watch: Watch::new(&stream.demands),
            search: Search::of(stream),
            ramp_left: every(stream.ramp_bytes),
            flow: flow.map(|flow| {
                let mut share = FlowShare::new(flow, shared.flows(), operations);
                if stream.start_delay == Nanos::ZERO && stream.control.after.is_empty() {
                    share.join();
                }
                share
            }),
            broken: None,
            held: None,
            places: Vec::with_capacity(depth as usize),
            slots: (0..depth).map(slot).collect(),
            // Popped from the end: slot 0 goes first.
            free: (0..depth).rev().collect(),
            planned: vec![Planned::BLANK; (depth as usize).max(PLAN_AHEAD)],
            only_kind: only_kind(stream),
            stamps: vec![Stamp { result: 0, completed: Nanos::ZERO }; PLAN_AHEAD],
            completions: vec![Completion::default(); completions_at_once(stream)],
            syncs,
            last_completion: Nanos::ZERO,
            last_rest: Nanos::ZERO,
            in_flight_at_start: 0,
            surplus: None,
            drained_ns: 0,
            first_error: None,
            has_failed: false,
            batch: Batch::new(stream.engine.batch_submit, stream.engine.exact_batches, depth),
            holds_content: vec![false; depth as usize],
            staged: Vec::with_capacity(depth as usize),
            integrated_until: Nanos::ZERO,
            stretches: Vec::with_capacity(STRETCHES),
            last_issued: Nanos::ZERO,
            emptying_ns: 0,
            until_pause: None,
            pause_at: Nanos::NEVER,
            schedule: None,
            positions,
            targets_of: plan.extents.iter().map(|extent| extent.target).collect(),
            targets: plan.extents.len(),
            account: Account::default(),
            verifier,
            cpu_at_cell: 0,
            used_at_cell: thread::Usage::default(),
            engine,
            clock,
            buffers,
            recorder,
            stop: if edge.is_some() {
                shared.stop_flag_at_edges(stream_index)
            } else {
                shared.stop_flag(stream_index)
            },
            edge,
            shared,
            stream,
            stream_index,
            policy,
            times,
        }
    }

    /// Waits for the start, then begins counting.
    pub(crate) fn begin(&mut self) -> Nanos {
        while self.clock.now() < self.times.start && !self.stop.load(Ordering::Relaxed) {
            self.wait_until(self.times.start);
        }
        // In virtual time a start is there at once: what ends the step before it is seen with the others.
        let since = self.times.start.since(self.times.step_start).0;
        self.keep_together(self.times.step_start.after(Nanos(since - since % self.times.interval.0)));
        let now = self.clock.now();
        let ramps = self.times.measure_start > self.times.start || self.searches();
        self.state = match ramps {
            _ if self.shared.begin(self.stream_index, self.stop) => State::Drain,
            true => State::Ramp,
            false => State::Measure,
        };
        let start = self.times.start.since(self.times.step_start);
        self.recorder.begin(start, if ramps { Phase::Ramp } else { Phase::Measure });
        self.account = Account::open();
        (self.cpu_at_cell, self.used_at_cell) = (thread::cpu_ns(), thread::usage());
        self.last_completion = now;
        self.integrated_until = now;
        if let Some(watch) = &mut self.watch {
            watch.begin(now);
        }
        if let Some(kind_rates) = &mut self.kind_rates {
            kind_rates.begin(self.times.start);
        }
        if let Some(flow) = &mut self.flow {
            flow.join();
        }
        self.begin_search();
        self.begin_thinking(now);
        self.next_event = self.event_after(now);
        now
    }

    pub(crate) fn event_after(&self, now: Nanos) -> Nanos {
        let phase_change = match self.state {
            State::Ramp if self.searches() => self.times.measure_end,
            State::Ramp => self.times.measure_start,
            State::Measure => self.times.measure_end,
            State::Drain | State::Verify => Nanos::NEVER,
        };
        // Its windows pass only while operations are issued.
        let watched = match (self.state, &self.watch) {
            (State::Ramp | State::Measure, Some(watch)) => watch.next,
            _ => Nanos::NEVER,
        };
        self.times.next_edge(now).min(phase_change).min(watched)
    }

    /// Waits until `deadline`, or a while: callers look at the stop flag and come again.
    pub(crate) fn wait_until(&mut self, deadline: Nanos) {
        let now = self.clock.now();
        let deadline = self.for_a_while(now, deadline);
        self.clock.wait_until(deadline);
    }

    /// `deadline`, or sooner where the stop flag would otherwise go unseen for long. Virtual time passes at once.
    pub(crate) fn for_a_while(&self, now: Nanos, deadline: Nanos) -> Nanos {
        if self.clock.is_virtual() { deadline } else { deadline.min(now.after(self.shared.look_every())) }
    }

    /// True when `control` has to be called. One relaxed load and one comparison, made for every turn.
    #[inline]
    pub(crate) fn needs_control(&self, now: Nanos) -> bool {
        now >= self.next_event || self.stop.load(Ordering::Relaxed)
    }

    /// Deals with everything that fell due by `now`: edges, the end of the ramp, the end, the stop flag.
    #[cold]
    pub(crate) fn control(&mut self, now: Nanos) {
        self.turn_of_search(now);
        self.look_at_rates(now);
        while now >= self.next_event {
            let at = self.next_event;
            match self.state {
                State::Ramp if self.searches() && at >= self.times.measure_end => {
                    self.give_search_up();
                    self.state = State::Drain;
                }
                State::Ramp if at >= self.times.measure_start && !self.searches() => self.end_ramp(at),
                State::Measure if at >= self.times.measure_end => {
                    self.come_due(at);
                    self.leave_surplus();
                    self.state = State::Drain;
                }
                // When the time is up, the last interval stays open: what was issued in it belongs to it.
                State::Drain if at >= self.times.measure_end || !self.is_edge(at) => {}
                State::Ramp | State::Measure | State::Drain | State::Verify => {
                    // Several edges passed at once: one cell covers them all.
                    let behind = now.since(at) >= self.times.interval;
                    if behind {
                        self.recorder.mark_late();
                    } else {
                        self.hand_over(at, self.phase(), !self.clock.is_virtual());
                        self.clock.discipline();
                        self.keep_together(at);
                    }
                }
            }
            self.next_event = self.event_after(at);
        }
        self.stretches.clear();
        if self.stop.load(Ordering::Relaxed) {
            self.end_early(now);
        }
    }

    /// Whether an interval ends there.
    pub(crate) fn is_edge(&self, at: Nanos) -> bool {
        at.since(self.times.step_start).0.is_multiple_of(self.times.interval.0)
    }

    /// Waits at the edge for the others that live in virtual time.
    pub(crate) fn keep_together(&mut self, edge: Nanos) {
        if let Some(last) = self.edge.filter(|last| self.is_edge(edge) && *last < edge) {
            self.shared.reach(last, edge);
            self.edge = Some(edge);
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        match self.state {
            State::Ramp => Phase::Ramp,
            State::Measure => Phase::Measure,
            // What an error ends in its ramp is of the ramp to its end.
            State::Drain => self.recorder.phase(),
            State::Verify => Phase::Verify,
        }
    }

    /// Counts arrivals that came due before an instant: each belongs to the interval it came due in.
    #[inline]
    pub(crate) fn come_due(&mut self, until: Nanos) {
        if let Some(schedule) = &mut self.schedule {
            // A synchronous engine is asked for arrivals between two operations only.
            let free = if E::SYNCHRONOUS { 1 } else { self.free.len() as u64 };
            schedule.come_due(until, free, &mut self.recorder.cell);
        }
    }

    pub(crate) fn hand_over(&mut self, at: Nanos, next: Phase, may_merge: bool) {
        // What comes due while writes are read back is no load of any interval, and nothing does when no more are issued.
        let is_over = self.state == State::Drain && (!self.has_rounds() || self.is_stopped());
        if !is_over && self.state != State::Verify {
            self.come_due(at);
        }
        self.complete_cell();
        let beyond_ns = self.take_beyond(at);
        self.recorder.rotate(at.since(self.times.step_start), next, may_merge);
        self.recorder.cell.in_flight_ns += beyond_ns;
    }

    /// After the last completion: the last cell goes, and what the worker used is summed up. `farewell` is called before
    /// whatever waits for the worker's end goes on. `may_stay`: the engine could serve another step. Returns whether it is
    /// still open: one with something in flight, or one that failed, is not to be trusted with more.
    pub(crate) fn finish(
        &mut self,
        may_stay: bool,
        failure: Option<String>,
        farewell: impl FnOnce() -> Result<Option<String>, String>,
    ) -> (Ended, bool) {
        let mut failure = failure.or_else(|| self.stuck.take());
        self.give_search_up();
        self.measure_ramp();
        let has_measured = self.recorder.phase() != Phase::Ramp;
        let over = self.clock.now();
        let step_start = self.times.step_start;
        let mut used = self.account.used();
        let runnable_ns = if self.verifier.is_some() { 0 } else { self.account.waited_ns() };
        let mut end = self.window_end(over);
        self.count_outside(end);
        let last_edge = if self.state == State::Verify { over } else { end.max(self.times.start) };
        self.recorder_end(last_edge.since(step_start));
        let (mut synced, mut was_synced) = (Nanos::ZERO, false);
        let verified = self.verifier.take().map(|verifier| {
            // What reading back took is no part of what was measured.
            if let Some(measured_end) = verifier.measured_end {
                (end, used) = (measured_end, verifier.used);
                (synced, was_synced) = (verifier.synced, true);
            }
            verifier.finish()
        });
        let left = self.schedule.as_mut().map_or_else(LeftWaiting::default, |schedule| schedule.leave(end));
        let emptied = self.emptied(end);
        if failure.is_none()
            && !was_synced
            && let Some(at) = self.sync_at_end()
            && has_measured
        {
            (synced, used) = (at.since(end), self.account.used());
            end = at;
        }
        if let Some(flow) = &mut self.flow {
            flow.leave();
        }
        let stays_open = may_stay && failure.is_none() && !self.has_failed && !self.buffers.any_lent();
        if !stays_open {
            self.engine.close();
        }
        let farewell = farewell().unwrap_or_else(|reason| {
            failure.get_or_insert(reason);
            None
        });
        let gone = self.clock.now();
        self.shared.end_with(self.stream_index, self.stream.control.at_end);
        self.shared.ended(self.stream_index, gone.since(step_start));
        let edge = self.edge.and_then(|edge| self.shared.leave(edge));
        let start = self.times.measure_start.min(end);
        let ended = Ended {
            start: start.since(step_start),
            end: end.since(step_start),
            synced,
            usage: used,
            runnable_ns,
            first_error: self.first_error,
            broken: self.broken.take(),
            waited: self.recorder.waited,
            failure,
            farewell,
            verified,
            depth: self.search.as_ref().map(|search| search.found()),
            emptied,
            has_measured,
            left,
            edge,
        };
        (ended, stays_open)
    }

    /// True when it ends early, by its own errors or from outside.
    pub(crate) fn is_stopped(&self) -> bool {
        self.has_failed || self.stop.load(Ordering::Relaxed)
    }

    /// Whether its window ends with the time asked for and not with the last completion. Where it began with a full queue
    /// (after a ramp), as many operations are issued before it and complete in it as are issued in it and complete after
    /// it; where arrivals set the rate, they all came due in that time. An empty queue at the start needs one at the end:
    /// else the rate would be too high by a queue of operations.
    pub(crate) fn ends_by_the_clock(&self) -> bool {
        // A depth that was found is measured from an empty queue on.
        let begins_full = self.times.measure_start > self.times.start && self.search.is_none();
        begins_full || matches!(self.stream.pacing, Pacing::Open { .. })
    }

    /// The time is up. An open loop that leaves more in flight than it found goes on until that surplus has completed: it
    /// counts whatever it issued, and a queue that takes all that comes would be as fast as that on any device. The surplus is
    /// what the queue grew by: twice what it has beyond its mean, where it grew evenly, so that one that was as long from the
    /// beginning on has none; of one that is full, with more waiting for it, perhaps for long, all that it grew by.
    fn leave_surplus(&mut self) {
        if !matches!(self.stream.pacing, Pacing::Open { .. }) {
            return;
        }
        let left = if E::SYNCHRONOUS { usize::from(self.in_flight_at_start == 0) } else { self.in_flight() };
        let grown = left.saturating_sub(self.in_flight_at_start);
        let time = self.times.measure_end.since(self.times.measure_start).0.max(1);
        let summed = self.recorder.measured_in_flight_ns + self.recorder.cell.in_flight_ns;
        let is_full = E::SYNCHRONOUS || self.free.is_empty();
        let is_swamped = |schedule: &Schedule| schedule.is_swamped(left as u64, is_full);
        let surplus = if self.schedule.as_deref().is_some_and(is_swamped) {
            grown
        } else if E::SYNCHRONOUS {
            0
        } else {
            let twice = 2 * (left as u128 * u128::from(time)).saturating_sub(u128::from(summed));
            let is_awaited = is_full && self.schedule.as_deref().is_some_and(Schedule::is_awaited);
            let evenly = usize::try_from(twice.div_ceil(u128::from(time)));
            let grown = if is_awaited { grown } else { grown.min(evenly.unwrap_or(usize::MAX)) };
            let all = self.recorder.measured + self.recorder.cell.operations();
            let by_chance = CHANCE_DEVIATIONS * (summed as f64 / time as f64).sqrt() + CHANCE_DEVIATIONS;
            let shows = grown as f64 > by_chance || grown as u64 > (all / SURPLUS_PART).max(SURPLUS_MIN);
            if shows { grown } else { 0 }
        };
        if surplus > 0 {
            self.recorder.cell.in_flight_ns += std::mem::take(&mut self.drained_ns);
            self.surplus = Some(Surplus { stays: left - surplus, gone: None });
        }
    }

    /// End of the measured time, seen at `now`.
    pub(crate) fn window_end(&self, now: Nanos) -> Nanos {
        if now >= self.times.measure_end && !self.is_stopped() {
            let last = match &self.surplus {
                Some(surplus) => surplus.gone.unwrap_or(self.last_completion.max(self.last_rest)),
                None if self.ends_by_the_clock() => Nanos::ZERO,
                None => self.last_completion.max(self.last_rest),
            };
            self.times.measure_end.max(last)
        } else {
            let last = self.last_completion.max(self.last_rest).max(self.times.measure_start.min(now));
            // Whose rate comes from outside had that time as well, though nothing came in the last of it.
            let is_cut_off = self.is_stopped() && matches!(self.stream.pacing, Pacing::Open { .. });
            if is_cut_off { last.max(now.min(self.times.measure_end)) } else { last }
        }
    }

    /// It was stopped before the streams it waits for had ended, or could not begin for a reason of its job's.
    pub(crate) fn never_started(mut self, step_start: Nanos, reason: Option<(Errno, String)>) -> Ended {
        if let Some((errno, reason)) = reason {
            self.break_off(errno, self.slots[0].operation, Broken::Said(reason));
        }
        if let Some(flow) = &mut self.flow {
            flow.leave();
        }
        self.engine.close();
        let now = self.clock.now().since(step_start);
        self.shared.ended(self.stream_index, now);
        let edge = self.edge.and_then(|edge| self.shared.leave(edge));
        Ended { first_error: self.first_error, broken: self.broken, edge, ..Ended::without_load(now) }
    }

    /// Whoever has thought since the last edge ends with his last completion before it: nothing is left then.
    fn recorder_end(&mut self, end: Nanos) {
        self.complete_cell();
        let end = end.max(self.recorder.cell_start());
        let cell = &self.recorder.cell;
        if end == self.recorder.cell_start() && cell.is_empty() && cell.arrivals == 0 && cell.outside_ns == 0
        {
            return;
        }
        self.recorder.rotate(end, self.phase(), false);
    }

    /// Adds what is counted once per cell rather than once per operation.
    fn complete_cell(&mut self) {
        let (cpu, used) = (thread::cpu_ns(), thread::usage());
        let cell = &mut self.recorder.cell;
        cell.cpu_ns += cpu.saturating_sub(self.cpu_at_cell);
        cell.used.merge(used_since(&used, &self.used_at_cell));
        (self.cpu_at_cell, self.used_at_cell) = (cpu, used);
        if E::SYNCHRONOUS {
            // One operation at a time: in flight exactly while it is served.
            cell.in_flight_ns = cell.service_sum_ns() + cell.failed_ns;
            cell.depth_levels[0] = cell.operations() + cell.failed();
        }
    }
}

fn used_since(used: &thread::Usage, before: &thread::Usage) -> ThreadUse {
    let thread::Usage { user_ns: _, system_ns, context_switches, major_faults, minor_faults } =
        used.since(before);
    ThreadUse { system_ns, context_switches, major_faults, minor_faults }
}
