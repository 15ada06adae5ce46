//! The loops of workers that have a rate: an operation goes out when it is due, late where no slot was free. When that is,
//! `schedule` knows.

use crate::pace::{NextPause, operations_of};
use crate::schedule::Schedule;
use crate::worker::{State, Worker};
use fathom_io::clock::Clock;
use fathom_io::{Engine, EngineError};
use fathom_pattern::Planned;
use fathom_schema::{OperationKind, Pauses, Think};
use fathom_units::Nanos;

/// Waits shorter than this are spent polling: timers fire some tens of microseconds late.
const POLL_BELOW: Nanos = Nanos::micros(60);

/// Who is on time issues what came due within this: where that is when the end is seen, it comes to it no more.
const PUNCTUAL: Nanos = Nanos::millis(1);

impl<E: Engine, C: Clock> Worker<'_, E, C> {
    /// `PAUSES`: the worker thinks in between.
    pub(crate) fn sync_open<const PAUSES: bool>(
        &mut self,
        mut now: Nanos,
        schedule: Box<Schedule>,
    ) -> Result<(), EngineError> {
        let mut one = [Planned::BLANK];
        let think = self.stream.pauses.think;
        let mut until_pause = self.until_pause.take().unwrap_or_else(|| operations_of(think));
        self.begin_schedule(schedule);
        while self.state != State::Drain {
            if self.needs_control(now) {
                self.control(now);
                continue;
            }
            // Asked first: what comes due after the last operation is nobody's.
            if self.allow(1) == 0 {
                now = self.clock.now();
                continue;
            }
            let Some(due) = self.next_due(now) else { break };
            if due > now {
                self.wait_until(due.min(self.next_event));
                now = self.clock.now();
                continue;
            }
            if self.generator.fill(&mut one) == 0 {
                self.end_pass();
                continue;
            }
            self.pass_due(one[0].kind, one[0].length);
            self.note_waiting();
            // Also for edges that pass before it is over.
            self.was_full(Nanos::NEVER);
            now = self.perform(&one[0], now, Some(due))?;
            self.was_full(now);
            if PAUSES {
                until_pause -= 1;
                if until_pause == 0 || now >= self.pause_at {
                    until_pause = operations_of(think);
                    now = self.pause_schedule(now);
                }
            }
        }
        self.until_pause = Some(until_pause);
        Ok(())
    }

    pub(crate) fn async_open<const PAUSES: bool>(
        &mut self,
        mut now: Nanos,
        schedule: Box<Schedule>,
    ) -> Result<(), EngineError> {
        let think = self.stream.pauses.think;
        let mut next_pause = NextPause::new(think, self.until_pause.take());
        // Whether free slots are there for no arrival.
        let mut is_closed = false;
        let most = self.batch.most_due();
        self.begin_schedule(schedule);
        loop {
            if self.needs_control(now) {
                self.control(now);
            }
            let mut staged = 0;
            let may_issue = !(PAUSES && next_pause.has_come) && self.takes_turn();
            if is_closed && may_issue && !(PAUSES && next_pause.holds()) {
                self.open_schedule(true);
                is_closed = false;
            }
            let mut due = Nanos::NEVER;
            while self.state != State::Drain {
                if self.allow(1) == 0 {
                    break;
                }
                due = self.next_due(now).unwrap_or(Nanos::NEVER);
                if staged >= most
                    || due > now
                    || self.free.is_empty()
                    || !may_issue
                    || (PAUSES && next_pause.holds())
                {
                    break;
                }
                let (slots, issued) = self.stage(due);
                staged += slots;
                if let Some((kind, bytes)) = issued {
                    self.pass_due(kind, bytes);
                    if PAUSES {
                        next_pause.issued();
                    }
                } else if self.held.is_some() {
                    break;
                }
            }
            // One that waits for those in flight that touch its place holds up all behind it.
            let is_blocked = !may_issue || self.next_pass.is_some() || self.held.is_some();
            let is_blocked = is_blocked || PAUSES && next_pause.holds();
            if is_blocked && !is_closed {
                self.open_schedule(false);
                is_closed = true;
            }
            // What is due beyond a batch goes down with the next one, for which slots are free.
            if staged < most {
                self.note_waiting();
            }
            if staged > 0 {
                now = self.hand_down(staged)?;
            }
            let in_flight = self.in_flight();
            let issuing = self.state != State::Drain;
            if in_flight == 0 {
                if let Some(locks) = &mut self.locks {
                    locks.give_back();
                }
                if !issuing {
                    self.until_pause = Some(next_pause.until);
                    return Ok(());
                }
                if PAUSES && next_pause.has_come {
                    now = self.pause_schedule(now);
                    next_pause.is_over();
                    continue;
                }
                self.wait_until(due.min(self.next_event));
                now = self.clock.now();
                continue;
            }
            let starved = self.free.is_empty() || is_blocked;
            let until = if issuing && !starved { due.min(self.next_event) } else { self.next_event };
            // Waiting in the kernel for the next arrival would come back late; the last stretch is polled.
            let (min, until) =
                if issuing && !starved && until.since(now) <= POLL_BELOW && !self.clock.is_virtual() {
                    (0, now)
                } else if self.clock.is_virtual() || starved || !issuing {
                    (1, until)
                } else {
                    (1, Nanos(until.0 - POLL_BELOW.0))
                };
            if starved {
                // Also for edges that pass before one is free again.
                self.was_full(Nanos::NEVER);
            }
            let was_full = self.free.is_empty();
            let found;
            (found, now) = self.collect(now, min, self.completions.len(), until)?;
            if starved {
                self.was_full(now);
            }
            if PAUSES {
                next_pause.completed(found, was_full, now >= self.pause_at);
            }
        }
    }

    fn begin_schedule(&mut self, mut schedule: Box<Schedule>) {
        schedule.begin(self.times.start);
        self.schedule = Some(schedule);
    }

    /// Whether slots that are free are there for arrivals.
    fn open_schedule(&mut self, is_open: bool) {
        if let Some(schedule) = &mut self.schedule {
            if is_open { schedule.open() } else { schedule.close(&mut self.recorder.cell) }
        }
    }

    /// When the next arrival to be issued was, or will be, due; all that came due by `now` are counted.
    #[inline]
    fn next_due(&mut self, now: Nanos) -> Option<Nanos> {
        self.come_due(Nanos(now.0.saturating_add(1)));
        self.schedule.as_ref().map(|schedule| schedule.due())
    }

    #[inline]
    fn pass_due(&mut self, kind: OperationKind, bytes: u32) {
        if let Some(schedule) = &mut self.schedule {
            schedule.pass(kind, bytes);
        }
    }

    /// Waits out a pause. What comes due in it is late, or comes later by it.
    #[inline(never)]
    fn pause_schedule(&mut self, now: Nanos) -> Nanos {
        let Pauses { think, puts_off, lead } = self.stream.pauses;
        let Think::Every { pause_ns, .. } = think else { return now };
        if !puts_off {
            // No slot is free for what comes until then, at the edges of intervals in the pause neither.
            self.was_full(now.after(Nanos(pause_ns)));
            let resumed = self.pause(now, think);
            self.was_full(resumed);
            return resumed;
        }
        // Put off before, or edges of intervals in the pause would count what comes after it.
        let (by, end) = (Nanos(pause_ns).since(lead), now.after(Nanos(pause_ns)));
        if let Some(schedule) = &mut self.schedule {
            schedule.put_off_past(now, by, end);
        }
        let resumed = self.pause(now, think);
        if let Some(schedule) = &mut self.schedule {
            schedule.put_off(resumed.since(end));
        }
        resumed
    }

    /// The load is stopped, which is seen at `now`. A worker that was late counts what it was late for: it is left waiting, and
    /// not gone without a word.
    pub(crate) fn end_early(&mut self, now: Nanos) {
        if !matches!(self.state, State::Drain | State::Verify) {
            self.come_due(Nanos(now.0.saturating_sub(PUNCTUAL.0)));
            self.note_waiting();
        }
        self.measure_ramp();
        self.state = State::Drain;
    }

    /// Notes how many arrivals wait, when all that could be issued have been.
    #[inline]
    fn note_waiting(&mut self) {
        let waiting = self.schedule.as_mut().map_or(0, |schedule| schedule.left_waiting());
        let cell = &mut self.recorder.cell;
        cell.backlog_max = cell.backlog_max.max(waiting);
    }

    #[inline]
    fn was_full(&mut self, until: Nanos) {
        if let Some(schedule) = &mut self.schedule {
            schedule.was_full(until);
        }
    }
}
