//! The loops of workers that have a rate: an operation goes out when it is due, late where no slot was free. When that is,
//! `schedule` knows.

use crate::schedule::Schedule;
use crate::worker::{State, Worker};
use fathom_io::clock::Clock;
use fathom_io::{Engine, EngineError};
use fathom_pattern::Planned;
use fathom_units::Nanos;

/// Waits shorter than this are spent polling: timers fire some tens of microseconds late.
const POLL_BELOW: Nanos = Nanos::micros(60);

impl<E: Engine, C: Clock> Worker<'_, E, C> {
    pub(crate) fn sync_open(&mut self, mut now: Nanos, schedule: Box<Schedule>) -> Result<(), EngineError> {
        let mut one = [Planned::BLANK];
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
            self.pass_due(one[0].length);
            self.note_waiting();
            now = self.perform(&one[0], now, Some(due))?;
            self.was_full(now);
        }
        Ok(())
    }

    pub(crate) fn async_open(&mut self, mut now: Nanos, schedule: Box<Schedule>) -> Result<(), EngineError> {
        self.begin_schedule(schedule);
        loop {
            if self.needs_control(now) {
                self.control(now);
            }
            let mut staged = 0;
            let may_issue = self.takes_turn();
            let mut due = Nanos::NEVER;
            while self.state != State::Drain {
                if self.allow(1) == 0 {
                    break;
                }
                due = self.next_due(now).unwrap_or(Nanos::NEVER);
                if due > now || self.free.is_empty() || !may_issue {
                    break;
                }
                let (slots, issued) = self.stage(due);
                staged += slots;
                if let Some(bytes) = issued {
                    self.pass_due(bytes);
                } else if self.held.is_some() {
                    break;
                }
            }
            self.note_waiting();
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
                    return Ok(());
                }
                self.wait_until(due.min(self.next_event));
                now = self.clock.now();
                continue;
            }
            let starved = self.free.is_empty() || !may_issue || self.next_pass.is_some();
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
            (_, now) = self.collect(now, min, self.completions.len(), until)?;
            if starved {
                self.was_full(now);
            }
        }
    }

    fn begin_schedule(&mut self, mut schedule: Box<Schedule>) {
        schedule.begin(self.times.start);
        self.schedule = Some(schedule);
    }

    /// When the next arrival to be issued was, or will be, due; all that came due by `now` are counted.
    #[inline]
    fn next_due(&mut self, now: Nanos) -> Option<Nanos> {
        self.come_due(Nanos(now.0.saturating_add(1)));
        self.schedule.as_ref().map(|schedule| schedule.due())
    }

    #[inline]
    fn pass_due(&mut self, bytes: u32) {
        if let Some(schedule) = &mut self.schedule {
            schedule.pass(bytes);
        }
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
