//! What becomes of an operation that completed: counted, kept as a row, or an error and what follows from it. Does not know
//! when operations go out.

use crate::demands::Broken;
use crate::worker::{FirstError, STRETCHES, Slot, State, Worker};
use fathom_io::clock::Clock;
use fathom_io::{Engine, Operation};
use fathom_metrics::OperationRow;
use fathom_schema::{Emptied, ErrorPolicy, OperationKind, Phase, Reach, Tolerance};
use fathom_units::Nanos;
use rustix::io::Errno;

impl<E: Engine, C: Clock> Worker<'_, E, C> {
    /// Counts one completion of an operation that took `slot`'s instants and ended at `completed`. Returns when it has ended:
    /// later where a rest of it had to be moved.
    #[inline(always)]
    pub(crate) fn count(&mut self, slot: &Slot, result: i32, completed: Nanos) -> Nanos {
        let counts = self.belongs(slot);
        if result <= 0 && self.failed(slot, result, counts, completed) {
            return completed;
        }
        // Bytes, or 0; what is below has failed.
        if result.cast_unsigned() < slot.operation.length && !E::BYTELESS {
            return self.count_short(slot, result, counts, completed);
        }
        if counts {
            self.tally(slot, result, completed);
        } else {
            self.pass_over(slot, result, completed);
        }
        completed
    }

    /// Whether an operation belongs to the phase that the worker is in.
    #[inline(always)]
    fn belongs(&self, slot: &Slot) -> bool {
        match self.state {
            State::Ramp | State::Verify => true,
            State::Measure | State::Drain => slot.submitted >= self.times.measure_start,
        }
    }

    /// Counts `n` operations of a closed loop, at least one and no syncs, that moved all of their `bytes` and differ from `slot` in nothing
    /// but their places and lengths; as [`Self::count`] does each, where nothing is looked at closer.
    #[inline(always)]
    pub(crate) fn count_row(&mut self, slot: &Slot, bytes: u64, n: u64, completed: Nanos) {
        if !self.belongs(slot) {
            (0..n).for_each(|_| self.note_uncounted(completed));
            return;
        }
        let kind = self.recorder.cell.kind(slot.operation.kind);
        if !E::BYTELESS {
            kind.bytes += bytes;
        }
        debug_assert!(kind.response.is_none(), "a rate has response times of its own for each");
        kind.service.record_many(completed.since(slot.submitted).0, n);
        if let Some(completion) = &mut kind.completion {
            completion.record_many(completed.since(slot.accepted).0, n);
        }
        self.last_completion = completed;
    }

    /// An operation of the ramp that completes in the measure phase, where it took a slot.
    #[cold]
    #[inline(never)]
    fn pass_over(&mut self, slot: &Slot, result: i32, completed: Nanos) {
        self.note_uncounted(completed);
        if self.looks_closer {
            self.look_closer(slot, result, completed);
        }
    }

    /// Keeps for the edges that lie within it that so many operations were in flight from one instant to another, which the cell being
    /// filled has counted: an edge is seen late where a worker had no CPU.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_stretch(&mut self, in_flight: u32, from: Nanos, to: Nanos) {
        // Beyond that they stay where they were counted: nothing is allocated in the loop.
        if self.stretches.len() < STRETCHES {
            self.stretches.push((in_flight, from, to));
        }
    }

    /// Takes out of the cell what was in flight from the edge `at` on, slot-nanoseconds, which the next one is to count. Behind a ramp
    /// it is what makes the part that [`Self::note_uncounted`] takes off.
    pub(crate) fn take_beyond(&mut self, at: Nanos) -> u64 {
        let beyond =
            |&(in_flight, from, to): &(u32, Nanos, Nanos)| u64::from(in_flight) * to.since(from.max(at)).0;
        let counted = &mut self.recorder.cell.in_flight_ns;
        // What operations took is counted when they end where there is one at a time, and no stretch is kept.
        let beyond_ns = self.stretches.iter().map(beyond).sum::<u64>().min(*counted);
        *counted -= beyond_ns;
        beyond_ns
    }

    /// Counts what was in flight after the end of what is measured, when the last of it has completed.
    pub(crate) fn count_outside(&mut self, end: Nanos) {
        // Reading back between two rounds has operations of its own in flight.
        if self.has_rounds() {
            return;
        }
        let beyond = match (E::SYNCHRONOUS, &self.schedule) {
            (false, _) => std::mem::take(&mut self.drained_ns),
            (true, None) => self.last_completion.since(end).0,
            (true, Some(_)) => 0,
        };
        self.recorder.cell.outside_ns += i64::try_from(beyond).unwrap_or(i64::MAX);
    }

    /// How the queue ran empty before the measured time ended at `end`; `None` where that ends with a full one.
    pub(crate) fn emptied(&self, end: Nanos) -> Option<Emptied> {
        let since = self.last_issued.max(self.times.measure_start);
        // One operation at a time leaves no slot empty, and a rate fills none; what was read back came after the end.
        let has_queue = !E::SYNCHRONOUS && self.schedule.is_none() && !self.has_rounds();
        // What completes behind it, as where it is stopped then, is no part of it.
        let ends_full = self.ends_by_the_clock() && end >= self.times.measure_end;
        (has_queue && !ends_full && since < end)
            .then(|| Emptied { since: since.since(self.times.step_start), in_flight_ns: self.emptying_ns })
    }

    fn note_uncounted(&mut self, completed: Nanos) {
        // What a synchronous engine has in flight at a rate is what its operations that count took.
        if !E::SYNCHRONOUS || self.schedule.is_none() {
            let within = completed.since(self.times.measure_start).0;
            self.recorder.cell.outside_ns -= i64::try_from(within).unwrap_or(i64::MAX);
        }
    }

    /// An operation that moved less than it was to: the rest of it follows at once, as part of it, so that what was asked for
    /// is done and its latency is that of all of it. What is missing then is at the end of a file.
    #[cold]
    #[inline(never)]
    fn count_short(&mut self, slot: &Slot, result: i32, counts: bool, completed: Nanos) -> Nanos {
        let whole = self.engine.rest(&slot.operation, result);
        let completed = if whole == result { completed } else { self.clock.now() };
        if whole >= 0 && self.ends_with_the_file(&slot.operation) {
            // Too little for an operation.
            return completed;
        }
        if counts {
            self.last_rest = completed;
        }
        if whole < 0 {
            self.failed(slot, whole, counts, completed);
        } else if counts {
            // That of a range has a length and moves nothing.
            let is_sync = slot.operation.kind == OperationKind::Sync;
            self.recorder.cell.kind(slot.operation.kind).short += u64::from(!is_sync);
            self.tally(slot, whole, completed);
        } else {
            self.pass_over(slot, whole, completed);
        }
        completed
    }

    /// Counts an operation that belongs to what is measured.
    #[inline(always)]
    fn tally(&mut self, slot: &Slot, result: i32, completed: Nanos) {
        let kind = self.recorder.cell.kind(slot.operation.kind);
        let moved = u64::from(result.cast_unsigned());
        if slot.operation.kind == OperationKind::Sync {
            kind.data_syncs += u64::from(is_data_sync(&slot.operation));
        } else if !E::BYTELESS {
            kind.bytes += moved;
        }
        kind.service.record(completed.since(slot.submitted).0);
        if let Some(response) = &mut kind.response {
            response.record(completed.since(slot.intended).0);
        }
        if let Some(completion) = &mut kind.completion {
            completion.record(completed.since(slot.accepted).0);
        }
        self.last_completion = completed;
        if self.looks_closer {
            self.look_closer(slot, result, completed);
            self.count_on_target(slot, moved, completed);
            self.keep_row(slot, moved, completed);
        }
    }

    /// Counts an operation on its target, where a stream goes to several.
    #[inline(never)]
    fn count_on_target(&mut self, slot: &Slot, moved: u64, completed: Nanos) {
        let Slot { operation: Operation { kind, target, .. }, intended, submitted, accepted: _ } = *slot;
        let Some(&position) = self.positions.get(target as usize) else { return };
        if let Some(part) = self.recorder.cell.target(usize::from(position), kind) {
            let bytes = if kind == OperationKind::Sync || E::BYTELESS { 0 } else { moved };
            part.record(bytes, completed.since(submitted).0, completed.since(intended).0);
        }
    }

    /// What only some jobs want to know of an operation that came back.
    #[inline(never)]
    fn look_closer(&mut self, slot: &Slot, result: i32, completed: Nanos) {
        self.examine(&slot.operation, result);
        if self.stream.engine.serialize_overlap {
            self.places.retain(|&(of, ..)| of != slot.operation.slot);
        }
        // What is in flight when a signal ends the reading back is of that too.
        let reads_back = self.phase() == Phase::Verify;
        if !reads_back && result >= 0 {
            self.note_of_search(slot, completed);
            if self.ramp_left != u64::MAX && self.state == State::Ramp {
                self.ramp_by_bytes(u64::from(result.unsigned_abs()), completed);
            }
        }
        let is_loaded = matches!(self.state, State::Ramp | State::Measure);
        if !reads_back
            && result >= 0
            && let Some(watch) = &mut self.watch
            && let Some(broken) = watch.note(slot, u64::from(result.unsigned_abs()), completed, is_loaded)
        {
            self.break_off(broken.errno(), slot.operation, broken);
        }
    }

    /// Ends for something that was not kept.
    #[cold]
    pub(crate) fn break_off(&mut self, errno: Errno, operation: Operation, broken: Broken) {
        self.first_error.get_or_insert(FirstError { errno: errno.raw_os_error(), operation, at_end: false });
        self.broken.get_or_insert(broken);
        self.fail(self.stream.control.at_error);
    }

    /// Keeps an operation by itself; a cell that has no room for another goes at once.
    #[inline(never)]
    fn keep_row(&mut self, slot: &Slot, moved: u64, completed: Nanos) {
        // What comes to its end in its ramp is of the ramp to its end: whether that counts is known too late for single operations.
        let is_of_ramp = self.state == State::Ramp || self.recorder.phase() == Phase::Ramp;
        if !self.recorder.keeps_rows || is_of_ramp || slot.operation.kind == OperationKind::Sync {
            return;
        }
        let since_start = |at: Nanos| at.since(self.times.step_start);
        let Operation { kind, slot: number, target: extent, .. } = slot.operation;
        let has_priority = matches!(kind, OperationKind::Read | OperationKind::Write);
        self.recorder.cell.push_row(OperationRow {
            kind,
            reads_back: self.phase() == Phase::Verify,
            priority: if has_priority { self.engine.priority_of(number) } else { 0 },
            bytes: u32::try_from(moved).unwrap_or(u32::MAX),
            target: self.targets_of[extent as usize],
            offset: slot.operation.offset,
            intended: since_start(slot.intended),
            submitted: since_start(slot.submitted),
            accepted: since_start(slot.accepted),
            completed: since_start(completed),
        });
        if self.recorder.cell.rows_are_full() {
            // Before the next edge and the end: the cell that follows is of the same interval still.
            let phase = self.phase();
            let end = if phase == Phase::Verify { Nanos::NEVER } else { self.times.measure_end };
            let waits = self.recorder.waits;
            self.hand_over(completed.min(Nanos(self.next_event.min(end).0 - 1)), phase, false);
            self.recorder.count_wait(waits, || self.clock.now().since(completed));
        }
    }

    /// Whether an operation that met the end of its file is the end of a load that reads what others have filled, however much that
    /// is. As with fio, a rest that is no whole block is not read.
    fn ends_with_the_file(&mut self, operation: &Operation) -> bool {
        let reads = |kind: OperationKind| kind == OperationKind::Read;
        let only_reads = self.stream.workload.cases.iter().all(|case| reads(case.kind));
        let ends = self.stream.limits.full_ends && !E::BYTELESS && only_reads && reads(operation.kind);
        if ends && self.state != State::Drain {
            self.measure_ramp();
            self.course.end();
            self.state = State::Drain;
        }
        ends
    }

    /// Deals with a result that moved nothing; false when nothing was to be moved. A transfer that ends without an error
    /// and without a byte has met the end of its file: counted, it would be an operation of a device that did none.
    #[cold]
    fn failed(&mut self, slot: &Slot, result: i32, counts: bool, completed: Nanos) -> bool {
        if result == 0 && self.ends_with_the_file(&slot.operation) {
            return true;
        }
        let errno = match (result, slot.operation.kind) {
            // What was written is gone: that is for the check to tell.
            (0, OperationKind::Read) if self.is_checked(&slot.operation) => return false,
            (0, _) if E::BYTELESS => return false,
            (0, OperationKind::Read | OperationKind::Write) => Errno::IO.raw_os_error(),
            (0, OperationKind::Trim | OperationKind::Sync) => return false,
            (error, _) => -error,
        };
        if self.stream.limits.full_ends && is_full(errno) {
            self.examine(&slot.operation, -errno);
            self.measure_ramp();
            self.course.end();
            self.state = State::Drain;
            return true;
        }
        self.count_error(slot, errno, counts, completed);
        if result == 0
            && let Some(first) = &mut self.first_error
            && first.operation == slot.operation
        {
            first.at_end = true;
        }
        true
    }

    #[cold]
    fn count_error(&mut self, slot: &Slot, errno: i32, counts: bool, completed: Nanos) {
        if counts {
            // A window that work bounds includes the time that failing operations took.
            self.last_completion = completed;
            self.recorder.cell.failed_ns += completed.since(slot.submitted).0;
            let kind = self.recorder.cell.kind(slot.operation.kind);
            kind.record_error(errno);
            kind.data_syncs += u64::from(is_data_sync(&slot.operation));
            let Operation { kind, target, .. } = slot.operation;
            if let Some(&position) = self.positions.get(target as usize)
                && let Some(part) = self.recorder.cell.target(usize::from(position), kind)
            {
                part.record_error();
            }
        } else {
            self.note_uncounted(completed);
        }
        self.look_closer(slot, -errno, completed);
        self.give_back(slot);
        self.account_error(errno, slot.operation);
    }

    /// Holds an error against what is tolerated; beyond it, the worker ends, and what ends with it.
    pub(crate) fn account_error(&mut self, errno: i32, operation: Operation) {
        self.first_error.get_or_insert(FirstError { errno, operation, at_end: false });
        let errors = self.shared.count_error(self.stream_index);
        let control = &self.stream.control;
        let is_tolerated = match (&control.tolerates, self.policy) {
            (Tolerance::Listed { reads, .. }, _) if operation.kind == OperationKind::Read => {
                reads.contains(&errno)
            }
            (Tolerance::Listed { writes, .. }, _) => writes.contains(&errno),
            (Tolerance::ByPolicy, ErrorPolicy::Stop) => false,
            (Tolerance::ByPolicy, ErrorPolicy::CountUpTo(n)) => errors <= n,
        };
        if !is_tolerated {
            self.fail(control.at_error);
        }
    }

    /// Issues no more; the loop sees it at its next look.
    pub(crate) fn fail(&mut self, reach: Reach) {
        self.has_failed = true;
        self.measure_ramp();
        self.state = State::Drain;
        self.next_event = self.clock.now();
        self.shared.fail(self.stream_index, reach);
    }
}

/// Whether it is a sync of less than a whole file with all that is known of it.
fn is_data_sync(operation: &Operation) -> bool {
    operation.kind == OperationKind::Sync && (operation.data_only || operation.range_flags != 0)
}

/// Whether an error says that there is no more room.
fn is_full(errno: i32) -> bool {
    matches!(Errno::from_raw_os_error(errno), Errno::NOSPC | Errno::DQUOT)
}
