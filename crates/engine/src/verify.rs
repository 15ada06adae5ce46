//! Verification on one worker: what its writes carry, reading them back, and looking at what came. It issues through the
//! ordinary loops, a round or a backlog at a time, and finds its writes again by generating their sequence once more;
//! where places are written twice, a table says which write was the last.
//!
//! What happens at a mismatch or an error may allocate and write files: the run has failed its purpose by then.

use crate::drive::Pace;
use crate::passes::Budget;
use crate::schedule::Schedule;
use crate::worker::{FirstError, State, Worker};
use fathom_io::clock::Clock;
use fathom_io::thread::{self, Usage};
use fathom_io::{Engine, EngineError, OpenTarget, Operation, TargetHandle};
use fathom_pattern::rng::{Purpose, derive};
use fathom_pattern::{Evidence, Expected, Generator, LastWrites, Mismatch, Planned, Stamper, Write};
use fathom_schema::{
    Ledger, MismatchKind, OperationKind, Phase, Think, VerifyRule, VerifySchedule, WorkerPlan, Workload,
};
use fathom_units::Nanos;
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::PathBuf;

/// Mismatches that a worker keeps with their evidence; further ones are counted. Enough to see a pattern in them.
const KEPT_MAX: usize = 16;

/// Where the numbers of a ramp's writes begin: their data is not taken for that of any write that counts, neither by its seed
/// nor by the 16 bits of the number that a header has.
const RAMP_NUMBERS: u64 = 1 << 62 | 1 << 15;

/// A mismatch with its place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found {
    /// Index into the worker's extents.
    pub(crate) extent: u32,
    /// First byte of the operation that was read.
    pub(crate) offset: u64,
    /// Its length.
    pub(crate) length: u32,
    pub(crate) mismatch: Mismatch,
}

/// What verification came to.
#[derive(Debug, Default)]
pub(crate) struct Verified {
    pub(crate) elapsed: Nanos,
    pub(crate) checked: u64,
    pub(crate) superseded: u64,
    pub(crate) mismatches: [u64; MismatchKind::COUNT],
    /// The first of them.
    pub(crate) kept: Vec<Found>,
    /// Why blocks could not be dumped, the first time.
    pub(crate) dump_failure: Option<String>,
}

/// What is left to do of a stream whose writes are read back.
struct Left {
    /// Of the stream.
    operations: u64,
    /// Bytes of the pass.
    pass: u64,
    /// Bytes of the round, which is the pass or a part of it.
    round: u64,
    /// Bytes of a pass that came to its end before they were moved.
    unmoved: u64,
}

/// When operations are due, from one segment to the next.
struct Load {
    think: Think,
    arrivals: Option<Box<Schedule>>,
    is_closed: bool,
}

impl Load {
    fn of(pacing: Pace) -> Self {
        match pacing {
            Pace::Closed(think) => Self { think, arrivals: None, is_closed: true },
            Pace::Open(schedule) => Self { think: Think::None, arrivals: Some(schedule), is_closed: false },
        }
    }

    fn take(&mut self) -> Pace {
        self.arrivals.take().map_or(Pace::Closed(self.think), Pace::Open)
    }

    fn give_back(&mut self, arrivals: &mut Option<Box<Schedule>>) {
        self.arrivals = arrivals.take();
    }

    fn put_off(&mut self, by: Nanos) {
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.put_off(by);
        }
    }
}

/// The files among `targets`, to drop their cached pages.
pub(crate) fn cached(targets: &[OpenTarget]) -> std::io::Result<Vec<File>> {
    let file = |target: &OpenTarget| match &target.handle {
        TargetHandle::File(file) | TargetHandle::BlockDevice(file) => Some(file.try_clone()),
        _ => None,
    };
    targets.iter().filter_map(file).collect()
}

/// The state of verification of one worker.
pub(crate) struct Verifier {
    rule: VerifyRule,
    stamper: Stamper,
    last_writes: Option<LastWrites>,
    content_seed: u64,
    /// The operations from the oldest write on that was not read back yet.
    replay: Generator,
    /// How many of them were issued, and how many of those are writes.
    issued: u64,
    writes: u64,
    /// Number of the first of these writes, of the next one to come, and of the first of the round.
    oldest: u64,
    next: u64,
    round_first: u64,
    largest: u64,
    /// Whether nothing writes, so that every read is checked.
    reads_only: bool,
    /// What the read in each slot has to find.
    expected: Vec<Option<Expected>>,
    /// Number of the write in each slot.
    number_in: Vec<u64>,
    /// Writes that failed and were not read back yet: what is at their places is not known.
    failed: BTreeSet<u64>,
    /// Files whose cached pages are dropped before they are read back.
    cached: Vec<File>,
    /// Names of the extents' targets, for dumps.
    names: Vec<PathBuf>,
    /// End of the measured time, without the phases of reading back between.
    pub(crate) measured_end: Option<Nanos>,
    pub(crate) used: Usage,
    pub(crate) verified: Verified,
}

impl Verifier {
    /// One for the worker `plan`. `cached`: its targets, where their cached pages should not be what is read back.
    pub(crate) fn new(
        rule: &VerifyRule,
        workload: &Workload,
        plan: &WorkerPlan,
        worker_index: u32,
        depth: u32,
        cached: Vec<File>,
        names: Vec<PathBuf>,
    ) -> Self {
        let largest = workload.cases.iter().map(|case| case.size.largest()).max().unwrap_or(1);
        let last_writes = match rule.ledger {
            Ledger::NotNeeded => None,
            Ledger::Every(bytes) => Some(LastWrites::new(&plan.extents, bytes, largest)),
        };
        Self {
            stamper: Stamper::new(rule, &workload.content, worker_index),
            last_writes,
            content_seed: derive(plan.seed, Purpose::Content, u64::from(worker_index)),
            replay: Generator::new(workload, plan),
            issued: 0,
            writes: 0,
            oldest: 0,
            next: 0,
            round_first: 0,
            largest: u64::from(largest),
            reads_only: !workload.trim_then_write
                && workload.cases.iter().all(|case| case.kind == OperationKind::Read),
            expected: vec![None; depth as usize],
            number_in: vec![0; depth as usize],
            failed: BTreeSet::new(),
            cached,
            names,
            measured_end: None,
            used: Usage::default(),
            verified: Verified { kept: Vec::with_capacity(KEPT_MAX), ..Verified::default() },
            rule: rule.clone(),
        }
    }

    fn write(&self, offset: u64, number: u64) -> Write {
        Write { offset, number, seed: derive(self.content_seed, Purpose::Content, number) }
    }

    /// The number of a write as the table of last writes has it: from 1 in each round.
    fn in_round(&self, number: u64) -> u32 {
        u32::try_from((number - self.round_first) % u64::from(u32::MAX) + 1).expect("a remainder of 32 bits")
    }

    /// Takes note that the next pass begins, with all of the last one read back. To find its end, the sequence may have
    /// been asked for more than was issued; so it is taken over as it is now.
    pub(crate) fn begin_pass(&mut self, sequence: &Generator) {
        self.replay.clone_from(sequence);
    }

    /// Takes note that the targets were opened once more, as new files.
    pub(crate) fn reopened(&mut self, targets: &[OpenTarget]) -> std::io::Result<()> {
        if !self.cached.is_empty() {
            self.cached = cached(targets)?;
        }
        Ok(())
    }

    /// Takes note of an operation that is issued; of a write, its number.
    fn note(&mut self, planned: &Planned) -> u64 {
        let Planned { kind, extent, offset, length } = *planned;
        self.issued += 1;
        if kind == OperationKind::Write {
            self.writes += 1;
            self.next += 1;
        }
        let number = self.next.wrapping_sub(1);
        let mark = match kind {
            OperationKind::Write => self.in_round(number),
            // What is trimmed is no longer what was written.
            OperationKind::Trim => 0,
            OperationKind::Read | OperationKind::Sync => return number,
        };
        if let Some(last) = &mut self.last_writes {
            last.note(extent, offset, length, mark);
        }
        number
    }

    /// The next write that is still to be read back, and what it has to look like.
    fn next_unchecked(&mut self) -> Option<(Planned, Expected)> {
        let mut one = [Planned::BLANK];
        while self.issued > 0 {
            let going = self.replay.fill(&mut one);
            assert!(going == 1, "an operation was issued that the sequence does not have");
            self.issued -= 1;
            let Planned { kind, extent, offset, length } = one[0];
            if kind != OperationKind::Write {
                continue;
            }
            let number = self.oldest;
            self.oldest += 1;
            self.writes -= 1;
            if self.failed.remove(&number) {
                continue;
            }
            let mark = self.in_round(number);
            if self.last_writes.as_ref().is_some_and(|last| !last.is_last(extent, offset, length, mark)) {
                self.verified.superseded += 1;
                continue;
            }
            let write = self.write(offset, number);
            let expected = Expected {
                offset,
                number: self.rule.checks_sequence.then_some(number),
                seed: self.rule.checks_seed.then_some(write.seed),
            };
            return Some((one[0], expected));
        }
        None
    }
}

impl<E: Engine, C: Clock> Worker<'_, E, C> {
    /// Takes note of an operation that goes out, and makes what a write carries.
    pub(crate) fn prepare_verified(&mut self, slot: u32, planned: &Planned) {
        let Some(verifier) = &mut self.verifier else { return };
        let number = verifier.note(planned);
        // Reads among writes look at what may be anything by now; those of a job that writes nothing are checked.
        let checks = verifier.reads_only;
        let offset = planned.offset;
        verifier.expected[slot as usize] = checks.then_some(Expected { offset, number: None, seed: None });
        if planned.kind == OperationKind::Write {
            verifier.number_in[slot as usize] = number;
            let write = verifier.write(offset, number);
            let stamper = &verifier.stamper;
            self.buffers.fill(slot, planned.length as usize, |block| stamper.stamp(block, &write));
        }
    }

    /// Looks at what a read brought, where it is to be checked; takes note of writes that failed.
    pub(crate) fn examine(&mut self, operation: &Operation, result: i32) {
        let Some(verifier) = &mut self.verifier else { return };
        if operation.kind == OperationKind::Write && result < 0 {
            verifier.failed.insert(verifier.number_in[operation.slot as usize]);
        }
        if operation.kind != OperationKind::Read || result < 0 {
            return;
        }
        let Some(expected) = verifier.expected[operation.slot as usize].take() else { return };
        verifier.verified.checked += 1;
        let stamper = &verifier.stamper;
        let outcome = if result.unsigned_abs() < operation.length {
            Err(Box::new(Mismatch {
                kind: MismatchKind::Short,
                at: 0,
                length: operation.length,
                expected: Evidence::Number(u64::from(operation.length)),
                found: Evidence::Number(u64::from(result.unsigned_abs())),
            }))
        } else {
            self.buffers
                .fill(operation.slot, operation.length as usize, |block| stamper.check(block, &expected))
        };
        if let Err(mismatch) = outcome {
            self.mismatch(operation, &expected, &mismatch);
        }
    }

    #[cold]
    fn mismatch(&mut self, operation: &Operation, expected: &Expected, mismatch: &Mismatch) {
        let Some(verifier) = &mut self.verifier else { return };
        verifier.verified.mismatches[mismatch.kind.index()] += 1;
        let Operation { slot, target: extent, offset, length, .. } = *operation;
        if verifier.verified.kept.len() < KEPT_MAX {
            verifier.verified.kept.push(Found { extent, offset, length, mismatch: *mismatch });
            if verifier.rule.dumps
                && let Err(error) =
                    self.buffers.fill(slot, length as usize, |block| verifier.dump(extent, block, expected))
            {
                verifier.verified.dump_failure.get_or_insert(error.to_string());
            }
        }
        let errno = Errno::ILSEQ.raw_os_error();
        self.first_error.get_or_insert(FirstError { errno, operation: *operation, at_end: false });
        let Some(verifier) = &self.verifier else { return };
        if verifier.rule.fails {
            self.shared.fail_for_mismatch();
        }
        if verifier.rule.stops {
            self.fail(self.stream.control.at_error);
            // Seen at once: no further operation goes out.
            self.next_event = Nanos::ZERO;
        }
    }

    /// Whether what it writes is read back, or would have been written: then a round is one stretch of load.
    pub(crate) fn has_rounds(&self) -> bool {
        self.verifier
            .as_ref()
            .is_some_and(|verifier| verifier.rule.schedule != VerifySchedule::Never || !verifier.rule.writes)
    }

    /// The loop of a stream whose writes are read back: a round is written, then read, until a limit is reached.
    pub(crate) fn drive_verified(&mut self, now: Nanos, pacing: Pace) -> Result<(), EngineError> {
        let Some(rule) = self.verifier.as_ref().map(|verifier| verifier.rule.clone()) else { return Ok(()) };
        let mut load = Load::of(pacing);
        let mut now = now;
        let mut between = Nanos::ZERO;
        if self.state == State::Ramp {
            self.number_from(RAMP_NUMBERS);
            self.issue_all(now, load.take())?;
            load.give_back(&mut self.schedule);
            now = self.clock.now();
            self.begin_after_ramp();
        }
        let Budget { operations, bytes: pass } = self.budget;
        let mut left = Left { operations, pass, round: 0, unmoved: 0 };
        loop {
            left.round = rule.round_bytes.min(left.pass);
            let mut is_over = false;
            while left.round > 0 && left.operations > 0 && !is_over {
                is_over = self.write_segment(&rule, &mut left, &mut load, now)?;
                now = self.clock.now();
                is_over |= self.is_over(now);
                if let VerifySchedule::Backlog { operations: _, batch } = rule.schedule
                    && !is_over
                    && left.round > 0
                {
                    self.resume(now);
                    now = self.read_back(batch, now)?;
                    self.add_usage();
                    is_over = self.is_over(now);
                }
            }
            let end = self.window_end(now);
            if let Some(verifier) = &mut self.verifier {
                verifier.measured_end = Some(end.since(between).max(self.times.measure_start.min(end)));
            }
            let next = if is_over || left.operations == 0 {
                None
            } else if left.pass > 0 {
                Some(left.pass)
            } else {
                self.course.next(left.unmoved)
            };
            if rule.schedule != VerifySchedule::Never && !self.is_stopped() {
                let start = now;
                now = self.verify_phase(end, next.is_none())?;
                between = between.after(now.since(start));
                load.put_off(now.since(start));
            }
            let Some(bytes) = next.filter(|_| !self.is_over(now)) else { return Ok(()) };
            if left.pass == 0 && !self.begin_pass(bytes) {
                return Ok(());
            }
            left.pass = bytes;
        }
    }

    /// Numbers the writes to come.
    fn number_from(&mut self, number: u64) {
        let Some(verifier) = &mut self.verifier else { return };
        (verifier.issued, verifier.writes) = (0, 0);
        (verifier.next, verifier.oldest, verifier.round_first) = (number, number, number);
        verifier.failed.clear();
        if let Some(last) = &mut verifier.last_writes {
            last.forget();
        }
    }

    /// Leaves the writes of the ramp alone and begins the sequence anew, so that what counts is the same after any ramp.
    fn begin_after_ramp(&mut self) {
        self.number_from(0);
        if let Some(verifier) = &self.verifier {
            self.generator.clone_from(&verifier.replay);
        }
    }

    /// Issues operations until a backlog is there or the round is over; returns true when nothing more is to be issued.
    fn write_segment(
        &mut self,
        rule: &VerifyRule,
        left: &mut Left,
        load: &mut Load,
        now: Nanos,
    ) -> Result<bool, EngineError> {
        let most = self.segment_operations(rule, left.round, load.is_closed);
        let segment = Budget { operations: most.min(left.operations), bytes: left.round };
        self.resume(now);
        self.budget = segment;
        if rule.writes {
            self.issue_all(now, load.take())?;
            load.give_back(&mut self.schedule);
        } else {
            self.pretend();
        }
        self.add_usage();
        // A pass that came to its end leaves bytes that are not moved.
        let unmoved = std::mem::take(&mut self.unused);
        let Budget { operations, bytes } = self.budget;
        left.operations -= segment.operations - operations;
        left.pass -= segment.bytes - bytes - unmoved;
        left.round = bytes;
        if unmoved > 0 {
            (left.unmoved, left.pass) = (left.pass, 0);
        }
        Ok(operations > 0 && bytes > 0)
    }

    /// Operations that surely go out whole: closed loops plan ahead, and what a quota of bytes cut off would be missing from
    /// the sequence that is generated again.
    fn segment_operations(&self, rule: &VerifyRule, bytes: u64, plans_ahead: bool) -> u64 {
        let largest = self.verifier.as_ref().map_or(1, |verifier| verifier.largest);
        let fitting = if plans_ahead { (bytes / largest).max(1) } else { u64::MAX };
        match rule.schedule {
            VerifySchedule::Backlog { operations, batch: _ } => fitting.min(operations),
            VerifySchedule::Never | VerifySchedule::AfterRound => fitting,
        }
    }

    fn is_over(&self, now: Nanos) -> bool {
        now >= self.times.measure_end || self.is_stopped()
    }

    /// Goes on measuring at `now`.
    fn resume(&mut self, now: Nanos) {
        self.state = State::Measure;
        self.next_event = self.event_after(now);
        self.integrated_until = now;
        self.usage_at_start = thread::usage();
    }

    /// Adds what was used since [`Self::resume`].
    fn add_usage(&mut self) {
        let more = thread::usage().since(&self.usage_at_start);
        let Some(verifier) = &mut self.verifier else { return };
        let Usage { user_ns, system_ns, context_switches, major_faults, minor_faults } = &mut verifier.used;
        *user_ns += more.user_ns;
        *system_ns += more.system_ns;
        *context_switches += more.context_switches;
        *major_faults += more.major_faults;
        *minor_faults += more.minor_faults;
    }

    /// Goes through the operations without issuing any: what an equal run wrote before.
    fn pretend(&mut self) {
        let mut one = [Planned::BLANK];
        while self.allow(1) > 0 {
            if self.generator.fill(&mut one) == 0 {
                self.end_pass();
                continue;
            }
            self.spend(&one[0]);
            if let Some(verifier) = &mut self.verifier {
                verifier.note(&one[0]);
            }
        }
    }

    /// Reads back all that was not yet, from the medium, apart from what is measured.
    fn verify_phase(&mut self, measured_until: Nanos, is_last: bool) -> Result<Nanos, EngineError> {
        self.sync_all_targets();
        for file in self.verifier.iter().flat_map(|verifier| &verifier.cached) {
            // Where the cache cannot be dropped, what it holds is checked, as with fio.
            let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
        }
        let start = self.clock.now();
        self.hand_over(measured_until, Phase::Verify, false);
        self.state = State::Verify;
        self.next_event = self.event_after(start);
        self.integrated_until = start;
        let now = self.read_back(u64::MAX, start)?;
        if let Some(verifier) = &mut self.verifier {
            verifier.verified.elapsed = verifier.verified.elapsed.after(now.since(start));
            verifier.round_first = verifier.next;
            if let Some(last) = &mut verifier.last_writes {
                last.forget();
            }
        }
        if !is_last {
            self.hand_over(now, Phase::Measure, false);
        }
        Ok(now)
    }

    /// Reads back and checks at most `limit` writes, the oldest first.
    fn read_back(&mut self, limit: u64, now: Nanos) -> Result<Nanos, EngineError> {
        let mut left = limit;
        let mut now = now;
        loop {
            if self.needs_control(now) {
                self.control(now);
            }
            let mut is_dry = left == 0 || self.state == State::Drain;
            if E::SYNCHRONOUS {
                let next = if is_dry { None } else { self.next_read(0) };
                let Some(operation) = next else { return Ok(now) };
                left -= 1;
                now = self.perform_one(operation, now, None)?;
                continue;
            }
            let batch = self.stream.engine.batch_submit as usize;
            while !is_dry && !self.free.is_empty() && self.staged.len() < batch {
                let slot = self.free[self.free.len() - 1];
                match self.next_read(slot) {
                    Some(operation) => {
                        self.free.pop();
                        self.staged.push(slot);
                        self.take(operation, None);
                        left -= 1;
                        is_dry = left == 0;
                    }
                    None => is_dry = true,
                }
            }
            if !self.staged.is_empty() {
                now = self.hand_down(self.staged.len())?;
            }
            if self.in_flight() == 0 {
                return Ok(now);
            }
            let min = u32::from(is_dry || self.free.is_empty());
            (_, now) = self.collect(now, min, self.completions.len(), self.next_event)?;
        }
    }

    /// The read of the next write that is to be checked, in this slot.
    fn next_read(&mut self, slot: u32) -> Option<Operation> {
        let verifier = self.verifier.as_mut()?;
        let (Planned { kind: _, extent, offset, length }, expected) = verifier.next_unchecked()?;
        verifier.expected[slot as usize] = Some(expected);
        Some(Operation {
            slot,
            kind: OperationKind::Read,
            target: extent,
            offset,
            length,
            data_only: false,
            range_flags: 0,
        })
    }
}

impl Verifier {
    /// Writes what was read, and what should have been where that is known, into the current directory, as fio names them.
    fn dump(&self, extent: u32, block: &mut [u8], expected: &Expected) -> std::io::Result<()> {
        let name = self.names[extent as usize].file_name().unwrap_or_default().to_string_lossy().into_owned();
        std::fs::write(format!("{name}.{}.received", expected.offset), &*block)?;
        if let Some(seed) = expected.seed {
            let number = expected.number.unwrap_or(0);
            let write = Write { offset: expected.offset, number, seed };
            self.stamper.stamp(block, &write);
            std::fs::write(format!("{name}.{}.expected", expected.offset), &*block)?;
        }
        Ok(())
    }
}
