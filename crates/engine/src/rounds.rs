//! The loop of a worker whose writes are read back: rounds of load and of reading back, and what is read back or trimmed in
//! between. It issues the load through the ordinary loops, a stretch at a time, and does not know what data looks like.

use crate::caches::Pages;
use crate::outcome::Account;
use crate::pace::Pace;
use crate::passes::Budget;
use crate::schedule::Schedule;
use crate::verify::RAMP_NUMBERS;
use crate::worker::{State, Worker};
use fathom_io::clock::Clock;
use fathom_io::thread::Usage;
use fathom_io::{Engine, EngineError, Operation};
use fathom_pattern::Planned;
use fathom_schema::{OperationKind, Phase, Think, TrimRule, VerifyRule, VerifySchedule};
use fathom_units::Nanos;

/// Operations after which a loop that issues none looks at the stop flag.
const LOOK_EVERY_OPERATIONS: u64 = 65_536;

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
    /// Writes up to the next batch that is read back, and up to the next one that is trimmed.
    until_check: u64,
    until_trim: u64,
    /// Writes that the last batch should have read back and that were not there yet: it goes on with those that come.
    owed: u64,
    /// Writes after which those are looked for: each by itself where the queue has one place, else enough to keep it filled.
    look_after: u64,
}

/// Queues that a batch which goes on waits for, so that they are filled for most of the time: before and behind each look they
/// run empty.
const QUEUES_BETWEEN: u64 = 4;

/// What is done with writes between two stretches of load.
#[derive(Debug, Clone, Copy)]
enum Errand {
    Check,
    Trim,
}

impl Left {
    fn of(rule: &VerifyRule, budget: Budget, queue_depth: u32) -> Self {
        let Budget { operations, bytes: pass } = budget;
        let mut left = Self {
            operations,
            pass,
            round: 0,
            unmoved: 0,
            until_check: u64::MAX,
            until_trim: u64::MAX,
            owed: 0,
            look_after: if queue_depth > 1 { QUEUES_BETWEEN * u64::from(queue_depth) } else { 1 },
        };
        left.count_trims(rule);
        left
    }

    /// Counts down to the next batch that is read back, with so many writes that were not gone through yet: no more of them
    /// than a backlog wait at any time.
    fn count_checks(&mut self, rule: &VerifyRule, unchecked: u64) {
        if let VerifySchedule::Backlog { operations, .. } = rule.schedule {
            let anew = operations.saturating_sub(unchecked).max(1);
            self.until_check = if self.owed > 0 { self.look_after.min(self.owed).min(anew) } else { anew };
        }
    }

    /// Takes note that a batch went through so many writes, with as many as `unchecked` left.
    fn note_batch(&mut self, batch: u64, checked: u64, unchecked: u64) {
        self.owed = if unchecked == 0 { batch.saturating_sub(checked) } else { 0 };
    }

    /// Counts down anew to the next trims.
    fn count_trims(&mut self, rule: &VerifyRule) {
        if let (Some(TrimRule { operations, .. }), 0 | u64::MAX) = (rule.trims, self.until_trim) {
            self.until_trim = operations;
        }
    }

    /// What is due now, trims first, with how many writes at most.
    fn due(&mut self, rule: &VerifyRule) -> impl Iterator<Item = (Errand, u64)> + use<> {
        let trims = rule.trims.filter(|_| rule.writes && self.until_trim == 0);
        let trims = trims.map(|trims| (Errand::Trim, trims.batch));
        let checks = match rule.schedule {
            VerifySchedule::Backlog { batch, .. } if self.until_check == 0 => {
                Some((Errand::Check, if self.owed > 0 { self.owed } else { batch }))
            }
            _ => None,
        };
        self.count_trims(rule);
        trims.into_iter().chain(checks)
    }
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

impl<E: Engine, C: Clock> Worker<'_, E, C> {
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
            if let Some(verifier) = &mut self.verifier {
                verifier.number_from(RAMP_NUMBERS);
            }
            self.issue_all(now, load.take())?;
            load.give_back(&mut self.schedule);
            now = self.clock.now();
            if self.is_over(now) {
                return Ok(());
            }
            self.begin_after_ramp();
        }
        let mut left = Left::of(&rule, self.budget, self.stream.queue_depth);
        loop {
            left.round = rule.round_bytes.min(left.pass);
            left.count_checks(&rule, self.unchecked_writes());
            self.compare(rule.writes || left.round == left.pass && self.course.is_last());
            let (mut is_over, mut has_checked) = (false, false);
            while left.round > 0 && left.operations > 0 && !is_over {
                is_over = self.write_segment(&rule, &mut left, &mut load, now)?;
                now = self.clock.now();
                is_over |= self.is_over(now);
                for (errand, batch) in left.due(&rule) {
                    let writes = self.unchecked_writes();
                    if !is_over && left.round > 0 {
                        self.resume(now);
                        // What stays behind may be written over before its turn comes.
                        let is_all = matches!(errand, Errand::Check) && batch >= writes;
                        self.verifier.iter_mut().filter(|_| is_all).for_each(|verifier| verifier.line_up());
                        now = self.go_over(errand, batch, now)?;
                        self.add_usage();
                        is_over = self.is_over(now);
                    }
                    if matches!(errand, Errand::Check) {
                        has_checked = true;
                        // At the end of a round all of them are read back anyway.
                        let (after, checked) = if left.round > 0 {
                            (self.unchecked_writes(), writes.saturating_sub(self.unchecked_writes()))
                        } else {
                            (writes.saturating_sub(batch), batch.min(writes))
                        };
                        left.note_batch(batch, checked, after);
                        if rule.checks_count && left.operations != u64::MAX {
                            left.operations = left.operations.saturating_sub(checked);
                        }
                        left.count_checks(&rule, after);
                    }
                }
            }
            let over = self.window_end(now);
            let synced = if rule.writes { self.sync_at_end() } else { None };
            let end = synced.unwrap_or(over);
            now = synced.unwrap_or(now);
            if let Some(verifier) = &mut self.verifier {
                verifier.synced = verifier.synced.after(end.since(over));
                verifier.measured_end = Some(end.since(between).max(self.times.measure_start.min(end)));
            }
            let next = if is_over || left.operations == 0 {
                None
            } else if left.pass > 0 {
                Some(left.pass)
            } else {
                self.course.next(std::mem::take(&mut left.unmoved))
            };
            if let VerifySchedule::Backlog { alone: true, .. } = rule.schedule {
                // A backlog that no pass comes to is never read back.
                if left.pass == 0 && !has_checked {
                    self.forget_the_rest();
                } else if next.is_some() && !self.is_stopped() {
                    now = self.check_the_rest(now)?;
                }
            } else if rule.schedule != VerifySchedule::Never && !self.is_stopped() {
                // Of an earlier run's writes, the last ones are there.
                self.compare(rule.writes || (next.is_none() || self.is_through()) && !self.is_over(now));
                let start = now;
                now = self.verify_phase(end, next.is_none())?;
                between = between.after(now.since(start));
                load.put_off(now.since(start));
                if let Some(watch) = &mut self.watch {
                    watch.begin_anew(now);
                }
            }
            let Some(bytes) = next.filter(|_| !self.is_over(now)) else { return Ok(()) };
            if left.pass == 0 && !self.begin_pass(bytes) {
                return Ok(());
            }
            left.pass = bytes;
        }
    }

    /// Whether all writes were gone through that are known to be there.
    fn is_through(&self) -> bool {
        self.verifier.as_ref().is_some_and(|verifier| verifier.is_through())
    }

    /// Has numbers and seeds of writes compared from here on, or not.
    fn compare(&mut self, compares: bool) {
        if let Some(verifier) = &mut self.verifier {
            verifier.compares = compares;
        }
    }

    /// Reads back what is left of a round as a part of the load: the next begins with all of it checked.
    fn check_the_rest(&mut self, now: Nanos) -> Result<Nanos, EngineError> {
        self.resume(now);
        self.verifier.iter_mut().for_each(|verifier| verifier.line_up());
        let now = self.go_over(Errand::Check, u64::MAX, now)?;
        self.add_usage();
        if let Some(verifier) = &mut self.verifier {
            verifier.end_round(Nanos::ZERO);
        }
        Ok(now)
    }

    /// Leaves alone what was written and not read back, before a pass begins.
    fn forget_the_rest(&mut self) {
        if let Some(verifier) = &mut self.verifier {
            verifier.forget();
        }
    }

    /// Leaves the writes of the ramp alone and begins the sequence anew, so that what counts is the same after any ramp.
    fn begin_after_ramp(&mut self) {
        if let Some(verifier) = &mut self.verifier {
            verifier.number_from(0);
            self.generator.clone_from(verifier.sequence());
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
        let most = self.segment_operations(left, load.is_closed);
        let segment = Budget { operations: most.min(left.operations), bytes: left.round };
        let writes_before = self.unchecked_writes();
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
        let issued = segment.operations - operations;
        let writes = self.unchecked_writes().saturating_sub(writes_before);
        left.operations -= issued;
        left.operations = left.operations.saturating_add(std::mem::take(&mut self.given_back));
        for until in [&mut left.until_check, &mut left.until_trim] {
            *until = if *until == u64::MAX { *until } else { until.saturating_sub(writes) };
        }
        left.pass -= segment.bytes - bytes - unmoved;
        left.round = bytes;
        if unmoved > 0 {
            (left.unmoved, left.pass) = (left.pass, 0);
        }
        Ok(operations > 0 && bytes > 0)
    }

    /// Operations that surely go out whole: closed loops plan ahead, and what a quota of bytes cut off would be missing from
    /// the sequence that is generated again.
    fn segment_operations(&self, left: &Left, plans_ahead: bool) -> u64 {
        let largest = self.verifier.as_ref().map_or(1, |verifier| verifier.largest);
        let fitting = if plans_ahead { (left.round / largest).max(1) } else { u64::MAX };
        // Each may be a write; of a mix there are others, and what is left of the stretch is a segment of its own.
        fitting.min(left.until_check).min(left.until_trim)
    }

    fn unchecked_writes(&self) -> u64 {
        self.verifier.as_ref().map_or(0, |verifier| verifier.unchecked_writes())
    }

    fn is_over(&self, now: Nanos) -> bool {
        now >= self.times.measure_end || self.is_stopped()
    }

    /// Goes on measuring at `now`.
    fn resume(&mut self, now: Nanos) {
        self.state = State::Measure;
        self.next_event = self.event_after(now);
        self.integrated_until = now;
        self.account = Account::open_briefly();
    }

    /// Adds what was used since [`Self::resume`].
    fn add_usage(&mut self) {
        let more = self.account.used();
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
        let mut gone = 0_u64;
        while self.verifier.as_ref().is_some_and(|verifier| !verifier.is_through()) && self.allow(1) > 0 {
            gone += 1;
            if gone.is_multiple_of(LOOK_EVERY_OPERATIONS) && self.is_stopped() {
                return;
            }
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
        self.sync_all_targets(false);
        // Where the cache cannot be dropped, what it holds is checked, as with fio.
        self.verifier.iter().flat_map(|verifier| &verifier.cached).for_each(Pages::drop_clean);
        if let Some(verifier) = &mut self.verifier {
            verifier.line_up();
        }
        let start = self.clock.now();
        self.hand_over(measured_until, Phase::Verify, false);
        self.state = State::Verify;
        self.next_event = self.event_after(start);
        self.integrated_until = start;
        let now = self.go_over(Errand::Check, u64::MAX, start)?;
        if let Some(verifier) = &mut self.verifier {
            verifier.end_round(now.since(start));
        }
        if !is_last {
            self.hand_over(now, Phase::Measure, false);
        }
        Ok(now)
    }

    /// Reads back and checks, or trims, at most `limit` writes, the oldest first.
    fn go_over(&mut self, errand: Errand, limit: u64, now: Nanos) -> Result<Nanos, EngineError> {
        let mut left = limit;
        let mut now = now;
        loop {
            if self.needs_control(now) {
                self.control(now);
            }
            let mut is_dry = left == 0 || self.state == State::Drain;
            if E::SYNCHRONOUS {
                let next = if is_dry { None } else { self.next_of(errand, 0) };
                let Some(operation) = next else { return Ok(now) };
                left -= 1;
                self.tell_of(&operation);
                now = self.perform_one(operation, now, None)?;
                continue;
            }
            let batch = self.stream.engine.batch_submit as usize;
            while !is_dry && !self.free.is_empty() && self.staged.len() < batch {
                let slot = self.free[self.free.len() - 1];
                match self.next_of(errand, slot) {
                    Some(operation) => {
                        self.free.pop();
                        self.staged.push(slot);
                        self.tell_of(&operation);
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

    /// The next operation of an errand, in this slot.
    fn next_of(&mut self, errand: Errand, slot: u32) -> Option<Operation> {
        let verifier = self.verifier.as_mut()?;
        let (kind, planned) = match errand {
            Errand::Check => (OperationKind::Read, verifier.next_read(slot)?),
            Errand::Trim => (OperationKind::Trim, verifier.next_trimmed()?),
        };
        let Planned { kind: _, extent: target, offset, length } = planned;
        Some(Operation { slot, kind, target, offset, length, data_only: false, range_flags: 0 })
    }
}
