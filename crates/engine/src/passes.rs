//! A worker's bounds: how many operations and bytes it may still issue, how often it goes through its extents and how much
//! each pass may use up. It does not know what ends a pass before its bytes do.

use crate::demands::FlowShare;
use crate::outcome::Account;
use crate::worker::{Slot, State, Worker};
use fathom_io::clock::Clock;
use fathom_io::{Engine, OpenTarget, Setup};
use fathom_pattern::Planned;
use fathom_pattern::rng::{Purpose, derive};
use fathom_schema::{OperationKind, Passes, Phase, Quota};
use fathom_units::Nanos;
use std::rc::Rc;

/// The seed of a worker's engine. Workers that share their places share their seed, and a simulated device that drew alike
/// for each of them would be the same sample over again; the first has the plan's own.
pub(crate) fn engine_seed(seed: u64, worker_index: u64) -> u64 {
    if worker_index == 0 { seed } else { derive(seed, Purpose::Worker, worker_index) }
}

/// Where a worker stands in its passes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Course {
    /// Passes that are still to be begun; `u64::MAX` for ever.
    left: u64,
    /// Bytes of one.
    bytes: u64,
    /// Further passes follow while less than this was moved, by `largest` or more.
    at_least: u64,
    largest: u64,
    /// Bytes that all passes together may still move, less what the current one was granted.
    total_left: u64,
    moved: u64,
    granted: u64,
    /// The worker issues no more for no other reason than that all its operations are under way: it goes on if one fails.
    is_all_issued: bool,
}

impl Course {
    /// The course of a worker that moves at most `total` bytes in operations of at most `largest`.
    pub(crate) fn new(passes: Passes, total: Quota, largest: u64) -> Self {
        let total_left = match total {
            Quota::Unlimited => u64::MAX,
            Quota::AtMost(bytes) => bytes,
        };
        let (left, bytes, at_least) = match passes {
            Passes::Endless => (u64::MAX, u64::MAX, 0),
            Passes::Counted { count, bytes, at_least } => (count, bytes, at_least),
        };
        Self { left, bytes, at_least, largest, total_left, moved: 0, granted: 0, is_all_issued: false }
    }

    /// Whether bytes are an end of it.
    fn has_end(&self) -> bool {
        self.bytes != u64::MAX || self.total_left != u64::MAX
    }

    /// It is not gone on, whatever fails.
    pub(crate) fn end(&mut self) {
        self.is_all_issued = false;
    }

    /// Ends the current pass, of whose bytes `unused` were not moved.
    fn close(&mut self, unused: u64) -> u64 {
        let moved = self.granted.saturating_sub(unused);
        self.granted = 0;
        self.moved = self.moved.saturating_add(moved);
        if self.total_left != u64::MAX {
            self.total_left = self.total_left.saturating_sub(moved);
        }
        moved
    }

    /// Begins the first pass; returns how many bytes it may move.
    pub(crate) fn begin(&mut self) -> u64 {
        self.left = self.left.saturating_sub(u64::from(self.left != u64::MAX));
        self.granted = self.bytes.min(self.total_left);
        self.granted
    }

    /// Whether surely no pass follows the current one, unless that ends before its bytes are moved.
    pub(crate) fn is_last(&self) -> bool {
        self.left == 0 && self.at_least == 0 || self.total_left <= self.granted
    }

    /// Ends the current pass, of whose bytes `unused` were not moved, and begins another; `None` when there is none. A
    /// pass that moved nothing is the last: the next would do no better.
    pub(crate) fn next(&mut self, unused: u64) -> Option<u64> {
        let moved = self.close(unused);
        let more_is_asked = self.at_least.saturating_sub(self.moved) >= self.largest.max(1);
        if moved == 0 || self.total_left == 0 || (self.left == 0 && !more_is_asked) {
            return None;
        }
        Some(self.begin())
    }
}

/// What is left of a quota.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    pub(crate) operations: u64,
    /// Of the current pass.
    pub(crate) bytes: u64,
}

/// Opens a worker's targets once more, as new files; for streams that want fresh ones for each pass.
pub(crate) type Reopen<'a> = &'a dyn Fn() -> Result<Vec<OpenTarget>, String>;

impl<E: Engine, C: Clock> Worker<'_, E, C> {
    /// Whether operations that go out now are taken off the quotas. Those of the ramp are not, unless they are to count; those
    /// of a search are, which might have no end.
    #[inline]
    fn is_charged(&self) -> bool {
        self.state == State::Measure
            || self.state == State::Ramp && (self.stream.limits.ramp_counts || self.searches())
    }

    /// A stream that outlasts its ramp does as many operations behind it as are asked for, where bytes and passes count all
    /// along: fio's rule.
    fn count_operations_anew(&mut self) {
        if let (true, None, Quota::AtMost(operations)) =
            (self.stream.limits.ramp_counts, &self.flow, self.stream.limits.operations)
        {
            self.budget.operations = operations;
        }
    }

    /// Where what is done in the ramp may be all there is, one that ends in it has measured all of it.
    pub(crate) fn measure_ramp(&mut self) {
        if self.stream.limits.ramp_counts && self.recorder.phase() == Phase::Ramp {
            self.times.measure_start = self.times.start;
        }
    }

    /// Whether nothing is left to be issued of a stream whose ramp counts.
    fn is_all_issued(&self) -> bool {
        let is_through = match &self.flow {
            Some(flow) => flow.is_used_up(),
            None => self.budget.operations == 0,
        };
        let no_pass_follows = || {
            let mut course = self.course;
            self.next_pass.is_none() && course.next(self.unused).is_none()
        };
        let limits = &self.stream.limits;
        limits.ramp_counts && (is_through || self.budget.bytes == 0 && no_pass_follows())
    }

    /// The ramp is over at `at`. Where it counts and all there is to do has been issued in it, what is still in flight is of it as well:
    /// the stream ends in its ramp.
    pub(crate) fn end_ramp(&mut self, at: Nanos) {
        if self.is_all_issued() {
            self.measure_ramp();
            self.state = State::Drain;
            if self.is_edge(at) {
                self.hand_over(at, Phase::Ramp, !self.clock.is_virtual());
            }
        } else {
            self.hand_over(at, Phase::Measure, false);
            // Where writes are read back, those of the ramp are left alone, and what counts begins by itself.
            self.state = if self.has_rounds() { State::Drain } else { State::Measure };
            self.count_operations_anew();
            self.account = Account::open();
            self.last_completion = at;
            self.in_flight_at_start = self.in_flight();
        }
        self.keep_together(at);
    }

    /// How many of `wanted` operations the quotas still allow, and takes them off.
    #[inline]
    pub(crate) fn allow(&mut self, wanted: usize) -> usize {
        if self.state == State::Ramp && !self.is_charged() {
            return if self.flow.is_none() { wanted } else { usize::from(self.takes_turn_in_flow()) };
        }
        if (self.budget.bytes == 0 || self.budget.operations == 0) && !self.begin_next_pass() {
            return 0;
        }
        let wanted = match self.course.largest.saturating_mul(wanted as u64) {
            most if self.budget.bytes < most => self.fitting_in_pass(),
            _ => wanted,
        };
        usize::try_from(self.budget.operations).unwrap_or(usize::MAX).min(wanted)
    }

    /// How many operations fit into what is left of a pass, however large they are. What is planned beyond its end would be lost to a
    /// pass that goes on where it was.
    #[cold]
    fn fitting_in_pass(&self) -> usize {
        let fitting = self.budget.bytes / self.course.largest.max(1);
        usize::try_from(fitting).unwrap_or(usize::MAX).max(1)
    }

    /// Takes note that the generator's pass is over: what is left of its bytes is not moved.
    #[cold]
    pub(crate) fn end_pass(&mut self) {
        if self.state == State::Ramp && !self.is_charged() {
            // Operations of the ramp are free, and so are its passes.
            self.generator.renew();
            return;
        }
        self.unused = std::mem::take(&mut self.budget.bytes);
    }

    /// Begins the next pass when all of the last one is back; false when there is none, or not yet.
    #[cold]
    fn begin_next_pass(&mut self) -> bool {
        if self.flow.is_some() && self.budget.bytes > 0 {
            let goes = self.takes_turn_in_flow();
            self.budget.operations = u64::from(goes);
            return goes;
        }
        if self.has_rounds() {
            // What was written is read back first.
            self.state = State::Drain;
            return false;
        }
        let bytes = if let Some(bytes) = self.next_pass {
            bytes
        } else {
            if self.flow.as_ref().map_or(self.budget.operations == 0, FlowShare::is_used_up) {
                self.end_issued();
                return false;
            }
            let unused = std::mem::take(&mut self.unused);
            let Some(bytes) = self.course.next(unused) else {
                self.measure_ramp();
                self.state = State::Drain;
                return false;
            };
            *self.next_pass.insert(bytes)
        };
        if self.slots.len() > self.free.len() {
            return false;
        }
        self.next_pass = None;
        self.begin_pass(bytes)
    }

    /// All operations are issued, and the worker is through unless one of them fails.
    #[cold]
    fn end_issued(&mut self) {
        // What is done again after a ramp that ended meanwhile would be too much: that is not gone on from.
        self.course.is_all_issued = self.state == State::Measure;
        self.measure_ramp();
        self.state = State::Drain;
    }

    /// Issues again, for an operation that failed when all had been issued.
    fn go_on(&mut self) {
        if !std::mem::take(&mut self.course.is_all_issued) || self.state != State::Drain || self.is_stopped()
        {
            return;
        }
        let now = self.clock.now();
        if now >= self.times.measure_end {
            return;
        }
        self.state = State::Measure;
        // Demands are about the time in which operations are issued.
        if let Some(watch) = &mut self.watch {
            watch.begin_anew(now);
        }
        self.next_event = self.next_event.min(self.event_after(now));
        if let Some(schedule) = &mut self.schedule {
            schedule.go_on(now);
        }
    }

    /// Whether the worker may issue an operation now. One that is ahead of its share waits a while, and deals with what is due
    /// meanwhile, since its loop does not come by.
    #[cold]
    fn takes_turn_in_flow(&mut self) -> bool {
        if self.flow.as_ref().is_some_and(FlowShare::is_used_up) {
            self.end_issued();
            return false;
        }
        let Some(flow) = &mut self.flow else { return true };
        if flow.take_turn() {
            return true;
        }
        let pause = flow.pause;
        let mut now = self.clock.now();
        if pause > Nanos::ZERO {
            self.wait_until(now.after(pause).min(self.next_event));
            now = self.clock.now();
        } else {
            std::thread::yield_now();
        }
        if self.needs_control(now) {
            self.control(now);
        }
        false
    }

    /// Begins a pass of so many bytes; false when that cannot be.
    pub(crate) fn begin_pass(&mut self, bytes: u64) -> bool {
        self.generator.renew();
        if let Some(forgetting) = &mut self.forgetting {
            forgetting.begin_pass();
        }
        self.budget.bytes = bytes;
        if let Some(verifier) = &mut self.verifier {
            verifier.begin_pass(&self.generator);
        }
        let Some(reopen) = self.reopen else { return true };
        let reopened = reopen().and_then(|targets| self.open_instead(targets));
        if let Err(reason) = reopened {
            self.stuck = Some(reason);
            self.state = State::Drain;
            return false;
        }
        true
    }

    /// Closes what is open, and opens this in its place; the error says why it cannot.
    pub(crate) fn open_instead(&mut self, targets: Vec<OpenTarget>) -> Result<(), String> {
        self.engine.close();
        if let Some(verifier) = &mut self.verifier {
            verifier.reopened(&targets).map_err(|error| format!("cannot verify: {error}"))?;
        }
        let buffers = Rc::clone(&self.buffers);
        let setup = Setup { targets, queue_depth: self.stream.queue_depth, buffers, seed: self.seed };
        self.engine.open(setup).map_err(|error| error.to_string())
    }

    /// True when a quota is used up: `allow` will say so at the next turn.
    #[inline]
    pub(crate) fn spent(&self) -> bool {
        self.is_charged() && (self.budget.bytes == 0 || self.budget.operations == 0)
    }

    /// The last operation of a pass may be larger than what the pass has left: what it moves beyond counts among all.
    #[cold]
    fn spend_last(&mut self, length: u64) {
        self.course.granted = self.course.granted.saturating_add(length - self.budget.bytes);
        self.budget.bytes = 0;
    }

    /// Takes an issued operation off the quotas.
    #[inline]
    pub(crate) fn spend(&mut self, planned: &Planned) {
        if let Some(forgetting) = &mut self.forgetting {
            forgetting.note(planned.length);
        }
        if self.state != State::Ramp || self.is_charged() {
            self.budget.operations = self.budget.operations.saturating_sub(1);
            if planned.kind != OperationKind::Trim || !self.stream.workload.trim_then_write {
                let length = u64::from(planned.length);
                match self.budget.bytes.checked_sub(length) {
                    Some(left) => self.budget.bytes = left,
                    None => self.spend_last(length),
                }
            }
        }
    }
}

impl<E: Engine, C: Clock> Worker<'_, E, C> {
    /// Counts an operation that failed as not done: bounds are of those that complete. Its bytes stay used up, so that
    /// passes over what cannot be read have an end; without such an end those that fail count.
    #[cold]
    pub(crate) fn give_back(&mut self, slot: &Slot) {
        let was_free = match self.state {
            State::Verify => true,
            State::Ramp => !self.is_charged(),
            State::Measure | State::Drain => slot.submitted < self.times.measure_start,
        };
        if was_free || slot.operation.kind == OperationKind::Sync || !self.course.has_end() {
            return;
        }
        if self.has_rounds() {
            // The end of a segment is fixed before it begins.
            self.given_back += 1;
            return;
        }
        if let Some(flow) = &mut self.flow {
            flow.give_back();
        } else {
            self.budget.operations = self.budget.operations.saturating_add(1);
        }
        self.go_on();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asserts what each pass is granted; of each, `unused` is left.
    fn check(passes: Passes, total: Quota, largest: u64, unused: u64, expect: &[u64]) {
        let mut course = Course::new(passes, total, largest);
        let mut granted = vec![course.begin()];
        while granted.len() <= expect.len() {
            let Some(bytes) = course.next(unused) else { break };
            granted.push(bytes);
        }
        assert_eq!(granted, expect, "{passes:?}, {total:?}, {unused} unused");
    }

    #[test]
    fn passes_end_when_enough_was_moved() {
        let counted = |count, bytes, at_least| Passes::Counted { count, bytes, at_least };
        check(counted(3, 100, 0), Quota::AtMost(300), 10, 0, &[100, 100, 100]);
        // Each ended early: the bound on all of them is not reached, and no further pass is begun for it.
        check(counted(3, 100, 0), Quota::AtMost(300), 10, 20, &[100, 100, 100]);
        // fio's io_size above its size: passes follow until it is reached, less one operation.
        check(counted(1, 100, 250), Quota::AtMost(250), 10, 0, &[100, 100, 50]);
        check(counted(1, 100, 205), Quota::AtMost(205), 10, 0, &[100, 100]);
        check(counted(1, 100, 40), Quota::AtMost(40), 10, 0, &[40]);
        // Nothing moves: not for ever.
        check(Passes::Endless, Quota::Unlimited, 10, u64::MAX, &[u64::MAX]);
    }
}
