//! What the workers of a step share: stop flags, counts of errors, and who has ended.
//!
//! A worker's loop reads its stream's stop flag, nothing else; all that is locked or waited for here happens before a
//! worker's start and after its end, and in virtual time at the edges of intervals.

use crate::demands::FlowGroup;
use crate::lockstep::{Lockstep, keeps_together};
use crate::turns::TargetLocks;
use fathom_schema::{Reach, Stream};
use fathom_units::Nanos;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, RwLock};
use std::thread::Thread;

/// How long a worker waits at least, and at most, before it looks at the stop flag: those that go on without a change of the load
/// have no load until the last has looked, and a signal is to end a run within a second.
const LOOKS_EVERY: (Nanos, Nanos) = (Nanos::millis(10), Nanos::millis(200));
/// The same for each worker of a step: looking takes some microseconds, so that all of up to two thousand take a few hundredths of a
/// CPU.
const LOOK_OF_EACH: Nanos = Nanos::micros(100);

/// How long each of so many workers waits at most before it looks at its stop flag.
fn look_every(workers: usize) -> Nanos {
    let (least, most) = LOOKS_EVERY;
    Nanos(LOOK_OF_EACH.0.saturating_mul(workers as u64)).clamp(least, most)
}

/// What all workers of a step share.
#[derive(Debug)]
pub(crate) struct Shared {
    streams: Vec<SharedStream>,
    look_every: Nanos,
    /// Those that end with others.
    followers: Vec<usize>,
    /// Raised when a worker ended for an error.
    has_failed: AtomicBool,
    /// Raised when an end reached the run: no further step is wanted.
    ends_run: AtomicBool,
    /// Raised when the run is to stop from outside, by a signal or a request.
    interrupted: AtomicBool,
    /// By target.
    locks: TargetLocks,
    flows: Vec<FlowGroup>,
    /// Raised when data that was read back is not what was written, and that makes the run fail.
    mismatch: AtomicBool,
    ends: Vec<End>,
    /// Whether anyone starts or ends after others.
    is_awaited: bool,
    /// The workers that live in virtual time.
    lockstep: Lockstep,
    /// The thread that looks at each interval of theirs before they go on, where what it sees may end them.
    judge: Option<Thread>,
    /// Taken while what is waited for changes, so that nobody misses it.
    turn: Mutex<()>,
    changed: Condvar,
}

/// What the workers of one stream share.
#[derive(Debug, Default)]
struct SharedStream {
    /// Raised from outside (a signal) or by a worker whose end ends this stream.
    stop: AtomicBool,
    /// The same as it stood at the last edge, for workers that keep together in virtual time.
    stop_at_edge: AtomicBool,
    /// Whether its workers do.
    keeps_together: bool,
    /// Whether one of its workers has begun, or will as soon as it can.
    has_begun: AtomicBool,
    /// I/O errors so far.
    errors: AtomicU64,
    /// The group it ends with; 0: none.
    group: u32,
    /// The streams with the last of which it ends; empty: it ends by itself.
    ends_with: Vec<u32>,
}

/// How far a stream is from its end.
#[derive(Debug)]
struct End {
    /// Workers that have not ended.
    left: AtomicUsize,
    /// Since the step's start, of those that have, nanoseconds.
    latest_ns: AtomicU64,
}

impl Shared {
    /// For these streams, of which so many workers run here, on so many targets. `judge`: the thread that calls [`Shared::judge`], if
    /// one does.
    pub(crate) fn new(
        streams: &[Stream],
        workers: impl Fn(&Stream) -> usize,
        targets: usize,
        judge: Option<Thread>,
    ) -> Self {
        let end = |stream| End {
            left: AtomicUsize::new(workers(stream)),
            latest_ns: AtomicU64::new(Nanos::ZERO.0),
        };
        let shared = |stream: &Stream| SharedStream {
            group: stream.report_group,
            ends_with: stream.control.ends_with.clone(),
            keeps_together: keeps_together(stream),
            has_begun: AtomicBool::new(stream.control.after.is_empty() && stream.start_delay == Nanos::ZERO),
            ..SharedStream::default()
        };
        let follows =
            |(index, stream): (usize, &Stream)| (!stream.control.ends_with.is_empty()).then_some(index);
        let all = streams.iter().map(&workers).sum();
        Self {
            streams: streams.iter().map(shared).collect(),
            look_every: look_every(all),
            followers: streams.iter().enumerate().filter_map(follows).collect(),
            has_failed: AtomicBool::new(false),
            ends_run: AtomicBool::new(false),
            interrupted: AtomicBool::new(false),
            flows: FlowGroup::of(streams.iter().filter_map(|stream| stream.flow.as_ref())),
            locks: (0..targets).map(|_| RwLock::new(())).collect(),
            mismatch: AtomicBool::new(false),
            lockstep: Lockstep::of(
                streams.iter().filter(|stream| keeps_together(stream)).map(&workers).sum(),
                judge.is_some(),
            ),
            judge,
            ends: streams.iter().map(end).collect(),
            is_awaited: streams
                .iter()
                .any(|stream| !stream.control.after.is_empty() || !stream.control.ends_with.is_empty()),
            turn: Mutex::new(()),
            changed: Condvar::new(),
        }
    }

    /// How long a worker waits at most before it looks at its stop flag.
    pub(crate) fn look_every(&self) -> Nanos {
        self.look_every
    }

    /// The locks of the targets.
    pub(crate) fn locks(&self) -> &TargetLocks {
        &self.locks
    }

    /// The flag that ends a stream early.
    pub(crate) fn stop_flag(&self, stream: usize) -> &AtomicBool {
        &self.streams[stream].stop
    }

    /// The flag that ends a stream early whose workers keep together in virtual time: raised at edges alone.
    pub(crate) fn stop_flag_at_edges(&self, stream: usize) -> &AtomicBool {
        &self.streams[stream].stop_at_edge
    }

    fn show_stops(&self) {
        for stream in &self.streams {
            stream.stop_at_edge.store(stream.stop.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// A worker that keeps together with others has come from one edge to the next; waits until all have.
    pub(crate) fn reach(&self, from: Nanos, to: Nanos) {
        self.lockstep.reach(from, to, || self.pass());
    }

    /// A worker that kept together with others has ended, after this edge. Where there is a judge, the others go on when that knows all of
    /// what it did, and calls [`Shared::has_left`] with the edge that is returned.
    pub(crate) fn leave(&self, edge: Nanos) -> Option<Nanos> {
        if self.judge.is_some() {
            return Some(edge);
        }
        self.lockstep.leave(edge, || self.pass());
        None
    }

    /// A worker that kept together with others ended after this edge, and what it did is known.
    pub(crate) fn has_left(&self, edge: Nanos) {
        self.lockstep.leave(edge, || self.pass());
    }

    /// All have come to an edge.
    fn pass(&self) {
        match &self.judge {
            Some(judge) => judge.unpark(),
            None => self.show_stops(),
        }
    }

    /// The edge at which all workers are that keep together, where they wait for what is judged.
    pub(crate) fn edge_to_judge(&self) -> Option<Nanos> {
        self.judge.is_some().then(|| self.lockstep.earliest())
    }

    /// What they did up to an edge is known, and whatever is to end them was raised.
    pub(crate) fn judge(&self, edge: Nanos) {
        self.lockstep.judge(edge, || self.show_stops());
    }

    /// Where in virtual time the last workers are, when some are to stop and come to know it at the next edge only.
    pub(crate) fn awaited_edge(&self) -> Option<Nanos> {
        let knows_not = |(stream, end): (&SharedStream, &End)| {
            stream.keeps_together
                && stream.stop.load(Ordering::Relaxed)
                && !stream.stop_at_edge.load(Ordering::Relaxed)
                && end.left.load(Ordering::Relaxed) > 0
        };
        self.streams.iter().zip(&self.ends).any(knows_not).then(|| self.lockstep.earliest())
    }

    /// Virtual time comes to no edge, or someone will never reach it: what is raised is seen at once.
    pub(crate) fn give_up_edges(&self) {
        self.show_stops();
        self.lockstep.give_up();
    }

    /// Ends all streams early, and the run, because it was asked to from outside.
    pub(crate) fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Relaxed);
        self.stop_all();
    }

    /// The flag that says so.
    pub(crate) fn interrupted(&self) -> &AtomicBool {
        &self.interrupted
    }

    /// Ends all streams early, and the run.
    pub(crate) fn stop_all(&self) {
        self.end_with(0, Reach::Run);
    }

    /// Ends all streams early; what follows the step follows.
    pub(crate) fn stop_step(&self) {
        self.end_with(0, Reach::Stage);
    }

    /// Ends what ends with a worker of `stream`.
    pub(crate) fn end_with(&self, stream: usize, reach: Reach) {
        if reach == Reach::Nothing {
            return;
        }
        let group = self.streams[stream].group;
        let is_reached = |other: usize| match reach {
            Reach::Nothing => false,
            Reach::Group => other == stream || group > 0 && self.streams[other].group == group,
            Reach::Running => other == stream || self.streams[other].has_begun.load(Ordering::Relaxed),
            Reach::Stage | Reach::Run => true,
        };
        let turn = self.lock();
        for (_, other) in self.streams.iter().enumerate().filter(|(index, _)| is_reached(*index)) {
            other.stop.store(true, Ordering::Relaxed);
        }
        drop(turn);
        self.ends_run.fetch_or(reach == Reach::Run, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// A worker of `stream`, which stops when `stop` is raised, begins; true when it is to stop at once.
    pub(crate) fn begin(&self, stream: usize, stop: &AtomicBool) -> bool {
        self.streams[stream].has_begun.store(true, Ordering::Relaxed);
        stop.load(Ordering::Relaxed)
    }

    /// Ends these streams early.
    pub(crate) fn end_streams(&self, streams: impl Iterator<Item = u32>) {
        let turn = self.lock();
        streams.for_each(|stream| self.streams[stream as usize].stop.store(true, Ordering::Relaxed));
        drop(turn);
        self.changed.notify_all();
    }

    /// True when no further step is wanted.
    pub(crate) fn ends_run(&self) -> bool {
        self.ends_run.load(Ordering::Relaxed)
    }

    /// Counts an error of a stream; how many it has had with this one.
    pub(crate) fn count_error(&self, stream: usize) -> u64 {
        self.streams[stream].errors.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// A worker of `stream` ends for an error.
    pub(crate) fn fail(&self, stream: usize, reach: Reach) {
        self.has_failed.store(true, Ordering::Relaxed);
        self.end_with(stream, reach);
    }

    /// True when a worker ended for an error.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// The flows of the step.
    pub(crate) fn flows(&self) -> &[FlowGroup] {
        &self.flows
    }

    /// Makes the step fail, at its end, for data that is not what was written.
    pub(crate) fn fail_for_mismatch(&self) {
        self.mismatch.store(true, Ordering::Relaxed);
    }

    /// True when data was not what was written.
    pub(crate) fn has_failed_for_mismatch(&self) -> bool {
        self.mismatch.load(Ordering::Relaxed)
    }

    /// A worker has ended, `at` since the step's start.
    pub(crate) fn ended(&self, stream: usize, at: Nanos) {
        let End { left, latest_ns } = &self.ends[stream];
        latest_ns.fetch_max(at.0, Ordering::Relaxed);
        // With the last one's end goes what all of them said of theirs.
        let before = left.fetch_sub(1, Ordering::AcqRel);
        debug_assert!(before > 0, "each worker ends once");
        if before > 1 || !self.is_awaited {
            return;
        }
        let turn = self.lock();
        let has_ended = |stream: &u32| self.ends[*stream as usize].left.load(Ordering::Acquire) == 0;
        for waiting in self.followers.iter().map(|&follower| &self.streams[follower]) {
            if waiting.ends_with.iter().all(has_ended) {
                waiting.stop.store(true, Ordering::Relaxed);
            }
        }
        drop(turn);
        self.changed.notify_all();
    }

    /// Waits until all of `streams` have ended; when the last one did, since the step's start. `None` when `own` was
    /// stopped meanwhile.
    pub(crate) fn await_ends(&self, own: usize, streams: &[u32]) -> Option<Nanos> {
        let SharedStream { stop, stop_at_edge, keeps_together, .. } = &self.streams[own];
        // One that is slow to start begins where the others began: what ended them in virtual time came later there.
        let at_once = if *keeps_together { stop_at_edge } else { stop };
        let is_stopped =
            || at_once.load(Ordering::Relaxed) || *keeps_together && self.interrupted.load(Ordering::Relaxed);
        // Thousands that wait for nobody do not wait for each other's turn either.
        if streams.is_empty() {
            return (!is_stopped()).then_some(Nanos::ZERO);
        }
        let mut turn = self.lock();
        loop {
            if is_stopped() {
                return None;
            }
            let awaited = || streams.iter().map(|&stream| &self.ends[stream as usize]);
            if awaited().all(|end| end.left.load(Ordering::Acquire) == 0) {
                let latest = awaited().map(|end| end.latest_ns.load(Ordering::Relaxed)).max();
                return Some(latest.map_or(Nanos::ZERO, Nanos));
            }
            turn = self.changed.wait(turn).expect("no thread panics while it holds the lock");
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ()> {
        self.turn.lock().expect("no thread panics while it holds the lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_workers_look_often_and_many_do_not_take_a_cpu_for_it() {
        let of = |workers: usize| look_every(workers).0 / 1_000_000;
        assert_eq!([0, 1, 100, 500, 2000, 65_536].map(of), [10, 10, 10, 50, 200, 200]);
    }
}
