//! The worker loops: synchronous or asynchronous engine; those with a rate are in `open`. One is chosen per worker, before it
//! starts.
//!
//! Each turn takes as many operations as may go, hands them over together, and counts all completions there are. A clock
//! is read once before a batch goes down, once when the kernel has taken it and once after completions came up; a
//! synchronous engine is read around each operation. Nothing here allocates, locks or logs.

use crate::pace::{Pace, operations_of};
use crate::worker::{PLAN_AHEAD, Slot, Stamp, State, Surplus, Worker};
use fathom_io::clock::Clock;
use fathom_io::{Completion, Engine, EngineError, Operation, Wait};
use fathom_pattern::Planned;
use fathom_schema::{EngineSettings, OperationKind, Quota, Think};
use fathom_units::Nanos;

impl<E: Engine, C: Clock> Worker<'_, E, C> {
    /// Runs until the limits are reached or the stop flag is raised, then drains. Returns why it could not go on.
    // `scripts/instructions` counts what is done in here by its name.
    #[inline(never)]
    pub(crate) fn drive(&mut self, pacing: Pace) -> Result<(), EngineError> {
        let now = self.begin();
        if E::WAITS_FOR_OTHERS && self.connection.is_some_and(|connection| connection.is_all()) {
            return self.only_connect(now);
        }
        if self.has_rounds() { self.drive_verified(now, pacing) } else { self.issue_all(now, pacing) }
    }

    /// Issues until the limits are reached or the stop flag is raised, then drains.
    pub(crate) fn issue_all(&mut self, now: Nanos, pacing: Pace) -> Result<(), EngineError> {
        let pauses = !self.stream.pauses.are_none();
        match (pacing, E::SYNCHRONOUS) {
            (Pace::Closed(Think::None), true) if self.is_plain() => self.sync_plain(now),
            (Pace::Closed(think), true) => self.sync_closed(now, think),
            (Pace::Closed(think), false) if self.is_careful(think) => self.async_closed::<true>(now, think),
            (Pace::Closed(think), false) => self.async_closed::<false>(now, think),
            (Pace::Open(schedule), true) if pauses => self.sync_open::<true>(now, schedule),
            (Pace::Open(schedule), true) => self.sync_open::<false>(now, schedule),
            (Pace::Open(schedule), false) if pauses => self.async_open::<true>(now, schedule),
            (Pace::Open(schedule), false) => self.async_open::<false>(now, schedule),
        }
    }

    /// True when more than a free slot decides whether the next operation goes out.
    fn is_careful(&self, think: Think) -> bool {
        let EngineSettings { refill_at, serialize_overlap, .. } = self.stream.engine;
        let counts = matches!(think, Think::Every { operations, .. } if operations != u64::MAX);
        refill_at != Quota::Unlimited || serialize_overlap || counts || self.search.is_some()
    }

    /// True when nothing can end, interrupt or follow an operation but time, errors and the stop flag.
    fn is_plain(&self) -> bool {
        let unlimited = self.budget.operations == u64::MAX && self.budget.bytes == u64::MAX;
        let is_bare = !self.fills && self.locks.is_none() && !self.syncs.come && self.flow.is_none();
        let forgets = self.forgetting.is_some();
        unlimited && is_bare && !forgets && self.kind_rates.is_none() && !self.generator.ends()
    }

    /// The closed loop of a synchronous engine without quotas, pauses, syncs and content: what is left of a turn.
    fn sync_plain(&mut self, mut now: Nanos) -> Result<(), EngineError> {
        let mut planned = std::mem::take(&mut self.planned);
        let mut stamps = std::mem::take(&mut self.stamps);
        while self.state != State::Drain {
            let batch = &mut planned[..PLAN_AHEAD];
            if E::INSTANT {
                now = self.perform_batch(batch, &mut stamps, now)?;
            } else {
                self.generator.fill(batch);
                for next in &*batch {
                    now = self.perform_one(of_plan(0, next), now, None)?;
                    if self.needs_control(now) {
                        self.control(now);
                    }
                    // Who waits for others may have come to the end meanwhile, by its own clock or by theirs.
                    if self.state == State::Drain {
                        break;
                    }
                }
            }
            if self.needs_control(now) {
                self.control(now);
            }
        }
        self.planned = planned;
        self.stamps = stamps;
        Ok(())
    }

    /// Plans and issues a whole batch on an engine that takes no time, one clock reading per operation, and counts
    /// afterwards: reading the counter holds up everything that touches memory around it, so that counting in between costs a
    /// third more; the next operation is drawn in its shadow.
    #[inline(always)]
    fn perform_batch(
        &mut self,
        batch: &mut [Planned],
        stamps: &mut [Stamp],
        now: Nanos,
    ) -> Result<Nanos, EngineError> {
        let Self { generator, engine, clock, completions, .. } = self;
        let (mut sum, mut failure) = (Moved::default(), None);
        let mut free = stamps.iter_mut();
        generator.fill_each(batch, |next| {
            engine.push(&of_plan(0, next));
            if let Err(error) = engine.reap(Wait { min_complete: 1, timeout_ns: 0 }, &mut completions[..1]) {
                failure = Some(error);
            }
            let result = completions[0].result;
            sum.add(result, next.length);
            if let Some(stamp) = free.next() {
                *stamp = Stamp { result, completed: clock.now() };
            }
        });
        if let Some(error) = failure {
            return Err(error);
        }
        if let Some(end) = self.count_alike(&sum, &stamps[..batch.len()], now) {
            return Ok(end);
        }
        let mut submitted = now;
        for (next, stamp) in batch.iter().zip(&*stamps) {
            let Stamp { result, completed } = *stamp;
            let operation = of_plan(0, next);
            self.count(
                &Slot { operation, intended: submitted, submitted, accepted: submitted },
                result,
                completed,
            );
            submitted = completed;
            if completed >= self.next_event {
                self.control(completed);
                if self.state == State::Drain {
                    break;
                }
            }
        }
        Ok(submitted)
    }

    /// Counts a whole batch, when nothing but its counting is to be done: nothing failed or fell short, nothing falls due
    /// before its end, and all of it is of one kind, in the measure phase and not looked at by itself. Returns its end.
    #[inline(always)]
    fn count_alike(&mut self, sum: &Moved, stamps: &[Stamp], now: Nanos) -> Option<Nanos> {
        let end = stamps.last()?.completed;
        let kind = self.only_kind?;
        let is_undisturbed = self.state == State::Measure
            && now >= self.times.measure_start
            && end < self.next_event
            && !self.looks_closer;
        if !is_undisturbed || sum.short > 0 {
            return None;
        }
        let cell = self.recorder.cell.kind(kind);
        cell.bytes += sum.bytes;
        let mut submitted = now;
        cell.service.record_all(stamps.iter().map(|stamp| {
            let latency = stamp.completed.since(submitted).0;
            submitted = stamp.completed;
            latency
        }));
        self.last_completion = end;
        Some(end)
    }

    fn sync_closed(&mut self, mut now: Nanos, think: Think) -> Result<(), EngineError> {
        let mut planned = std::mem::take(&mut self.planned);
        let mut until_pause = self.until_pause.take().unwrap_or_else(|| operations_of(think));
        // Which kinds may come is seen anew before each operation.
        let ahead = if self.kind_rates.is_some() { 1 } else { PLAN_AHEAD.min(planned.len()) };
        while self.state != State::Drain {
            if self.needs_control(now) {
                self.control(now);
            }
            // A quota may cut a plan short only at its own edge, so planning ahead never issues too much.
            let room = self.allow(ahead);
            self.grant(now);
            let going = self.generator.fill(&mut planned[..room]);
            self.note_of_kinds(&planned[..going]);
            for next in &planned[..going] {
                now = self.perform(next, now, None)?;
                if self.needs_control(now) {
                    self.control(now);
                    if self.state == State::Drain {
                        break;
                    }
                }
                // A full filesystem ends a worker between two edges. In a flow only what was granted is spent, and the pause is due.
                if self.state == State::Drain || self.spent() && self.flow.is_none() {
                    break;
                }
                if until_pause != u64::MAX {
                    until_pause -= 1;
                    if until_pause == 0 || now >= self.pause_at {
                        until_pause = operations_of(think);
                        now = self.pause(now, think);
                        // What was planned came after a pause that the end cut short.
                        if self.state == State::Drain {
                            break;
                        }
                    }
                }
            }
            if going < room && !self.spent() && self.state != State::Drain {
                self.end_pass();
            }
        }
        self.planned = planned;
        self.until_pause = Some(until_pause);
        Ok(())
    }

    /// Issues one operation on a synchronous engine and counts it, and the sync that becomes due with it, at once: only after
    /// the last write of a pass it waits for the next pass to begin.
    #[inline(always)]
    pub(crate) fn perform(
        &mut self,
        planned: &Planned,
        now: Nanos,
        intended: Option<Nanos>,
    ) -> Result<Nanos, EngineError> {
        let mut now = now;
        if self.syncs.pending.is_some() {
            now = self.perform_sync(now)?;
            if self.state == State::Drain {
                // It failed: nothing more is issued.
                return Ok(now);
            }
        }
        let operation = self.fill(planned, of_plan(0, planned));
        self.spend(planned);
        if let Some(locks) = &mut self.locks {
            locks.take(planned.extent, planned.kind, self.stream.lock);
        }
        let completed = self.perform_one(operation, now, intended)?;
        if let Some(locks) = &mut self.locks {
            locks.give_back();
        }
        self.syncs.note(planned);
        if self.syncs.pending.is_none() {
            return Ok(completed);
        }
        // The write may have ended what it belongs to.
        if self.needs_control(completed) {
            self.control(completed);
        }
        if self.spent() || self.state == State::Drain { Ok(completed) } else { self.perform_sync(completed) }
    }

    /// Issues the sync that became due, if one has.
    // Within the loops it takes registers from operations that have no syncs.
    #[inline(never)]
    fn perform_sync(&mut self, now: Nanos) -> Result<Nanos, EngineError> {
        let Some(sync) = self.syncs.take() else { return Ok(now) };
        let sync = sync.operation(0);
        self.tell_of(&sync);
        self.perform_one(sync, now, None)
    }

    /// Whether an asynchronous worker may issue in this turn. One that locks its files takes all their locks when nothing
    /// is in flight, issues once, and gives them back when all of that has completed.
    pub(crate) fn takes_turn(&mut self) -> bool {
        let in_flight = self.in_flight();
        let Some(locks) = &mut self.locks else { return true };
        if in_flight > 0 {
            return false;
        }
        locks.give_back();
        if self.state != State::Drain {
            locks.take_all();
        }
        true
    }

    #[inline(always)]
    pub(crate) fn perform_one(
        &mut self,
        operation: Operation,
        now: Nanos,
        intended: Option<Nanos>,
    ) -> Result<Nanos, EngineError> {
        if E::HAS_ASIDES {
            self.engine.aside(Some(&operation));
        }
        let submitted = if E::INSTANT { now } else { self.clock.now() };
        self.engine.push(&operation);
        let found = self.engine.reap(Wait { min_complete: 1, timeout_ns: 0 }, &mut self.completions[..1])?;
        debug_assert_eq!(found, 1, "a synchronous engine completes inside push");
        let completed = self.clock.now();
        if E::WAITS_FOR_OTHERS {
            return self.await_others(operation, intended.unwrap_or(submitted), submitted, completed);
        }
        if E::HAS_ASIDES {
            self.engine.aside(None);
        }
        let slot =
            Slot { operation, intended: intended.unwrap_or(submitted), submitted, accepted: submitted };
        Ok(self.count(&slot, self.completions[0].result, completed))
    }

    /// `CAREFUL`: slots that are free may have to stay so; see [`Self::is_careful`].
    fn async_closed<const CAREFUL: bool>(&mut self, mut now: Nanos, think: Think) -> Result<(), EngineError> {
        let mut until_pause = self.until_pause.take().unwrap_or_else(|| operations_of(think));
        let mut pausing = until_pause == 0;
        let by_issue = CAREFUL && matches!(think, Think::Every { by_issue: true, .. });
        // Completions since the last pause was due: they count towards the next one, as in fio. Where they are enough for it, it
        // comes after one more operation.
        let (mut drained, mut comes_after_one) = (0_u64, false);
        let refill_at = match self.stream.engine.refill_at {
            Quota::AtMost(most) => usize::try_from(most).unwrap_or(usize::MAX),
            Quota::Unlimited => usize::MAX,
        };
        let mut refills = true;
        loop {
            if self.needs_control(now) {
                self.control(now);
            }
            let may_issue = !pausing && (!CAREFUL || refills) && self.takes_turn();
            while may_issue && self.state != State::Drain && !self.free.is_empty() {
                let room = self.free.len().min(self.batch.next());
                let mut going = self.allow(room);
                if CAREFUL {
                    going = going.min(self.room_of_search(self.in_flight()));
                }
                if CAREFUL && by_issue {
                    going = going.min(usize::try_from(until_pause).unwrap_or(usize::MAX));
                }
                if CAREFUL && comes_after_one {
                    going = going.min(1);
                }
                if going == 0 {
                    break;
                }
                let before = if CAREFUL { self.in_flight() } else { 0 };
                now = self.issue(going, now, None)?;
                if CAREFUL {
                    if by_issue {
                        until_pause -= (self.in_flight() - before) as u64;
                    }
                    if comes_after_one {
                        (pausing, comes_after_one) = (true, false);
                        break;
                    }
                    if self.held.is_some() {
                        break;
                    }
                }
                if self.needs_control(now) {
                    break;
                }
            }
            let in_flight = self.in_flight();
            if in_flight == 0 {
                if self.state == State::Drain {
                    self.until_pause = Some(until_pause);
                    return Ok(());
                }
                if CAREFUL {
                    self.turn_of_search(now);
                }
                if pausing {
                    if let Some(locks) = &mut self.locks {
                        locks.give_back();
                    }
                    now = self.pause(now, think);
                    pausing = false;
                    let every = operations_of(think);
                    until_pause = every.saturating_sub(drained);
                    comes_after_one = CAREFUL && drained >= every;
                    drained = 0;
                }
                continue;
            }
            if CAREFUL && self.free.is_empty() {
                refills = false;
            }
            let waits = self.state == State::Drain || pausing || self.next_pass.is_some() || !may_issue;
            let waits = waits
                || CAREFUL
                    && (!refills
                        || self.held.is_some()
                        || until_pause == 0
                        || self.room_of_search(in_flight) == 0);
            let full = self.free.is_empty() || waits;
            let min = if full { self.stream.engine.batch_complete } else { 0 };
            // No more are taken up than go down again together: a slot whose completion was taken up is idle until it
            // does, and the queue would not be as deep as asked. What is left is taken up in the next turn.
            let most = self.batch.take_up().max(min as usize);
            let found;
            (found, now) = self.collect(now, min, most, self.next_event)?;
            if CAREFUL && self.in_flight() <= refill_at {
                refills = true;
            }
            if until_pause != u64::MAX {
                if !by_issue {
                    drained += found.saturating_sub(until_pause);
                    until_pause = until_pause.saturating_sub(found);
                }
                pausing = until_pause == 0 || now >= self.pause_at;
            }
        }
    }

    /// Until when what is in flight counts, of a time that ends behind that of the stream; what does not is kept apart.
    #[cold]
    #[inline(never)]
    fn counts_until(&mut self, completed: Nanos, in_flight: usize) -> Nanos {
        if !self.ends_by_the_clock() {
            return completed;
        }
        let until = match &mut self.surplus {
            Some(Surplus { stays, gone }) if in_flight > *stays && gone.is_none() => return completed,
            // After a ramp, all that has gone may be of it, which counts for nothing else.
            Some(Surplus { gone, .. }) if self.last_completion <= self.times.measure_end => {
                *gone.get_or_insert(self.integrated_until)
            }
            Some(Surplus { gone, .. }) => *gone.get_or_insert(self.last_completion),
            None => self.times.measure_end,
        };
        self.drained_ns += in_flight as u64 * completed.since(until.max(self.integrated_until)).0;
        until
    }

    pub(crate) fn in_flight(&self) -> usize {
        let in_flight = self.slots.len() - self.free.len();
        assert!(in_flight <= self.stream.queue_depth as usize, "more in flight than the queue depth");
        in_flight
    }

    /// Plans, fills and hands down `count` operations; returns the time after.
    fn issue(&mut self, count: usize, now: Nanos, intended: Option<Nanos>) -> Result<Nanos, EngineError> {
        if count == 0 {
            return Ok(now);
        }
        let staged = if self.one_by_one {
            let staged = self.stage_one_by_one(count, intended);
            if staged == 0 {
                return Ok(now);
            }
            staged
        } else {
            self.stage_batch(count, intended)
        };
        self.hand_down(staged)
    }

    /// Gives at most `count` operations to the engine; returns how many slots were taken.
    fn stage_batch(&mut self, count: usize, intended: Option<Nanos>) -> usize {
        let mut staged = 0;
        let mut planned = std::mem::take(&mut self.planned);
        let going = self.generator.fill(&mut planned[..count]);
        for next in &planned[..going] {
            if self.spent() {
                break;
            }
            staged += self.stage_planned(next, intended);
        }
        self.planned = planned;
        if going < count && !self.spent() {
            self.end_pass();
        }
        staged
    }

    /// As [`Self::stage_batch`], with the syncs that fall due among the operations, each of which takes the place of one, or
    /// with operations that may have to wait for others.
    fn stage_one_by_one(&mut self, count: usize, intended: Option<Nanos>) -> usize {
        let mut staged = 0;
        while staged < count && !self.spent() {
            staged += self.stage_sync();
            if staged < count {
                let Some(next) = self.plan_one() else { break };
                staged += self.stage_planned(&next, intended);
                self.syncs.note(&next);
            }
        }
        staged
    }

    /// The next operation; `None` when the pass is over, or when it has to wait for one in flight that touches its place.
    fn plan_one(&mut self) -> Option<Planned> {
        let mut one = [Planned::BLANK];
        if let Some(held) = self.held.take() {
            one[0] = held;
        } else {
            if self.kind_rates.is_some() {
                let now = self.clock.now();
                self.grant(now);
            }
            if self.generator.fill(&mut one) == 0 {
                self.end_pass();
                return None;
            }
            self.note_of_kinds(&one);
        }
        if self.stream.engine.serialize_overlap {
            let Planned { kind: _, extent, offset, length } = one[0];
            let end = offset + u64::from(length);
            let meets =
                |&(_, of, first, last): &(u32, u32, u64, u64)| of == extent && first < end && offset < last;
            if self.places.iter().any(meets) {
                self.held = Some(one[0]);
                return None;
            }
            // It takes the next free slot.
            let slot = self.free.last().copied().expect("never asks beyond the queue depth");
            self.places.push((slot, extent, offset, end));
        }
        Some(one[0])
    }

    /// Lets the generator draw among the kinds that may come at `now`, where some have a rate of their own.
    #[inline]
    fn grant(&mut self, now: Nanos) {
        if let Some(kind_rates) = &mut self.kind_rates {
            self.generator.grant(kind_rates.may_go(now));
        }
    }

    #[inline]
    fn note_of_kinds(&mut self, planned: &[Planned]) {
        if let Some(kind_rates) = &mut self.kind_rates {
            kind_rates.note(planned);
        }
    }

    /// Plans one operation and gives it to the engine; before it, the sync that became due, which then takes the only
    /// slot when there is but one. Returns how many slots were taken, and kind and bytes of the operation when it was issued.
    pub(crate) fn stage(&mut self, intended: Nanos) -> (usize, Option<(OperationKind, u32)>) {
        let staged = self.stage_sync();
        if self.free.is_empty() {
            return (staged, None);
        }
        let Some(next) = self.plan_one() else { return (staged, None) };
        let staged = staged + self.stage_planned(&next, Some(intended));
        self.syncs.note(&next);
        (staged, Some((next.kind, next.length)))
    }

    /// Gives the sync that became due to the engine; returns how many slots it took.
    fn stage_sync(&mut self) -> usize {
        let Some(sync) = self.syncs.take() else { return 0 };
        let slot = self.free.pop().expect("never asks beyond the queue depth");
        self.staged.push(slot);
        let sync = sync.operation(slot);
        self.tell_of(&sync);
        self.take(sync, None);
        1
    }

    /// Gives an operation to the engine; it takes one slot.
    #[inline]
    fn stage_planned(&mut self, planned: &Planned, intended: Option<Nanos>) -> usize {
        // The caller asked for at most as many operations as there are free slots, so running dry here means it
        // miscounted: stop rather than report a queue depth that was not held.
        let slot = self.free.pop().expect("never asks beyond the queue depth");
        let operation = self.fill(planned, of_plan(slot, planned));
        self.spend(planned);
        self.staged.push(slot);
        self.take(operation, intended);
        1
    }

    #[inline]
    pub(crate) fn take(&mut self, operation: Operation, intended: Option<Nanos>) {
        let slot = &mut self.slots[operation.slot as usize];
        slot.operation = operation;
        slot.intended = intended.unwrap_or(Nanos::NEVER);
    }

    /// Pushes what is staged, submits it, and marks its instants. One reading before, one after the system call.
    pub(crate) fn hand_down(&mut self, staged: usize) -> Result<Nanos, EngineError> {
        debug_assert_eq!(staged, self.staged.len());
        if E::HAS_ASIDES {
            for &slot in &self.staged {
                self.engine.aside(Some(&self.slots[slot as usize].operation));
            }
        }
        let submitted = self.clock.now();
        for &slot in &self.staged {
            let slot = &mut self.slots[slot as usize];
            slot.submitted = submitted;
            if slot.intended == Nanos::NEVER {
                slot.intended = submitted;
            }
            self.engine.push(&slot.operation);
        }
        self.engine.submit()?;
        let accepted = self.clock.now();
        let took = accepted.since(submitted).0;
        let counts = self.state != State::Ramp || self.stream.limits.ramp_counts;
        if let [slot] = self.staged[..] {
            let slot = &mut self.slots[slot as usize];
            slot.accepted = accepted;
            if counts {
                self.recorder.cell.kind(slot.operation.kind).record_submission(took);
            }
        } else {
            self.accept_rows(accepted, took, counts);
        }
        self.batch.learn(took, staged);
        let count = u32::try_from(staged).unwrap_or(u32::MAX);
        let in_flight = u32::try_from(self.in_flight()).unwrap_or(u32::MAX);
        if accepted > self.next_event {
            self.note_stretch(in_flight - count, self.integrated_until, submitted);
            self.note_stretch(in_flight, submitted, accepted);
        }
        let cell = &mut self.recorder.cell;
        cell.in_flight_ns += u64::from(in_flight - count) * submitted.since(self.integrated_until).0
            + u64::from(in_flight) * took;
        self.integrated_until = accepted;
        (self.last_issued, self.emptying_ns) = (accepted, 0);
        cell.depth_levels[fathom_metrics::depth_class(in_flight)] += u64::from(count);
        cell.submit_sizes[fathom_metrics::size_class(count)] += 1;
        self.staged.clear();
        Ok(accepted)
    }

    /// Marks what went down together as accepted. What is of one kind and in a row is counted together.
    #[inline(always)]
    fn accept_rows(&mut self, accepted: Nanos, took: u64, counts: bool) {
        let mut row = (OperationKind::Read, 0);
        for &slot in &self.staged {
            let slot = &mut self.slots[slot as usize];
            slot.accepted = accepted;
            let kind = slot.operation.kind;
            if kind != row.0 {
                if counts && row.1 > 0 {
                    self.recorder.cell.kind(row.0).record_submissions(took, row.1);
                }
                row = (kind, 0);
            }
            row.1 += 1;
        }
        if counts && row.1 > 0 {
            self.recorder.cell.kind(row.0).record_submissions(took, row.1);
        }
    }

    /// Reaps at least `min` and at most `most` completions or until `until`; counts them; returns how many and the time
    /// after.
    pub(crate) fn collect(
        &mut self,
        now: Nanos,
        min: u32,
        most: usize,
        until: Nanos,
    ) -> Result<(u64, Nanos), EngineError> {
        let in_flight = self.in_flight();
        let until = if min == 0 { now } else { self.for_a_while(now, until) };
        let wait = Wait {
            min_complete: min.min(u32::try_from(in_flight).unwrap_or(1)),
            timeout_ns: until.since(now).0,
        };
        let most = most.min(self.completions.len());
        let found = self.engine.reap(wait, &mut self.completions[..most])?;
        let completed = self.clock.now();
        if !self.clock.is_virtual() {
            let left = (found < most).then(|| in_flight - found);
            self.batch.learn_completions(left, (min > 0).then(|| completed.since(now)));
        }
        let until = if completed > self.times.measure_end {
            self.counts_until(completed, in_flight)
        } else {
            completed
        };
        if completed > self.next_event {
            self.note_stretch(u32::try_from(in_flight).unwrap_or(u32::MAX), self.integrated_until, until);
        }
        let cell = &mut self.recorder.cell;
        let in_flight_ns = in_flight as u64 * until.since(self.integrated_until).0;
        cell.in_flight_ns += in_flight_ns;
        self.emptying_ns += in_flight_ns;
        self.integrated_until = completed;
        if found > 0 {
            cell.complete_sizes[fathom_metrics::size_class(u32::try_from(found).unwrap_or(u32::MAX))] += 1;
        }
        // Edges first: a completion belongs to the interval and the phase it fell into.
        // The last of all, right at an edge, ends the interval before it: there would be none for it to fall into.
        let ends_it = |worker: &Self| {
            let is_last = worker.state == State::Drain || worker.state == State::Measure && worker.spent();
            is_last && completed == worker.next_event && found == in_flight
        };
        if self.needs_control(completed) && !ends_it(self) {
            self.control(completed);
        }
        if found > 1 && self.went_together() && self.schedule.is_none() && !self.looks_closer {
            self.count_in_rows(found, completed);
        } else {
            for index in 0..found {
                self.count_completion(index, completed);
            }
        }
        Ok((found as u64, completed))
    }

    /// Whether the first two that came up had gone down at one time: where they had not, others hardly have, and looking for rows
    /// takes longer than it saves.
    #[inline(always)]
    fn went_together(&self) -> bool {
        let submitted = |at: usize| self.slots[self.completions[at].slot as usize].submitted;
        submitted(0) == submitted(1)
    }

    #[inline(always)]
    fn count_completion(&mut self, index: usize, completed: Nanos) {
        let completion = self.completions[index];
        let slot = self.slots[completion.slot as usize];
        self.count(&slot, completion.result, completed);
        self.free.push(completion.slot);
    }

    /// Counts what came up together. What went down together as well and is of one kind has the same latencies: as many as are
    /// in a row are counted at once.
    #[inline(never)]
    fn count_in_rows(&mut self, found: usize, completed: Nanos) {
        let mut index = 0;
        while index < found {
            let first = self.slots[self.completions[index].slot as usize];
            let (mut end, mut bytes) = (index, 0);
            while end < found {
                let Completion { slot: number, result } = self.completions[end];
                let slot = &self.slots[number as usize];
                let Slot { operation: Operation { kind, length, .. }, submitted, accepted, .. } = *slot;
                let is_alike = submitted == first.submitted
                    && accepted == first.accepted
                    && kind == first.operation.kind
                    && kind != OperationKind::Sync
                    && result > 0
                    && result.cast_unsigned() == length;
                if !is_alike {
                    break;
                }
                bytes += u64::from(length);
                self.free.push(number);
                end += 1;
            }
            if end == index {
                self.count_completion(index, completed);
                end += 1;
            } else {
                self.count_row(&first, bytes, (end - index) as u64, completed);
            }
            index = end;
        }
    }

    /// Waits out a pause, dealing with edges on the way.
    pub(crate) fn pause(&mut self, now: Nanos, think: Think) -> Nanos {
        let Think::Every { pause_ns, spin_ns, .. } = think else { return now };
        let resume = now.after(Nanos(pause_ns));
        let spins_until = now.after(Nanos(spin_ns));
        let mut now = now;
        while now < spins_until && self.state != State::Drain && !self.clock.is_virtual() {
            std::hint::spin_loop();
            now = self.clock.now();
            if self.needs_control(now) {
                self.control(now);
            }
        }
        while now < resume && self.state != State::Drain {
            self.wait_until(resume.min(self.next_event));
            now = self.clock.now();
            if self.needs_control(now) {
                self.control(now);
            }
        }
        self.integrated_until = now;
        self.begin_thinking(now);
        now
    }

    /// From here on, load counts towards the next pause.
    pub(crate) fn begin_thinking(&mut self, now: Nanos) {
        if let Think::Every { after_ns, .. } = self.stream.think() {
            self.pause_at = if after_ns == u64::MAX { Nanos::NEVER } else { now.after(Nanos(after_ns)) };
        }
    }
}

/// What the operations of a batch moved.
#[derive(Default)]
struct Moved {
    bytes: u64,
    /// Operations that moved less than they should have, or failed.
    short: u32,
}

impl Moved {
    #[inline]
    fn add(&mut self, result: i32, length: u32) {
        self.bytes += u64::from(result.cast_unsigned());
        // Block sizes are below 2^31 where a result must carry them.
        self.short += u32::from(result < length.cast_signed());
    }
}

#[inline]
fn of_plan(slot: u32, planned: &Planned) -> Operation {
    let Planned { kind, extent, offset, length } = *planned;
    Operation { slot, kind, target: extent, offset, length, data_only: false, range_flags: 0 }
}
