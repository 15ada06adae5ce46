//! The search of one worker for the largest queue depth that keeps a latency: fio's rule (`latency_target`). It doubles the
//! depth until one fails, then halves the gap, and is at its end where a depth that was kept is not raised any more. And the
//! other way in which measuring begins by what was done: after so many bytes.

use crate::demands::Broken;
use crate::outcome::Account;
use crate::worker::{Slot, State, Worker};
use fathom_io::Engine;
use fathom_io::clock::Clock;
use fathom_schema::{DepthFound, DepthSearch, Phase, Stream, TimeLimit};
use fathom_units::Nanos;
use rustix::io::Errno;

/// Windows in a row that a depth is kept next to one that failed, before that one is tried again.
const TRIED_AGAIN_AFTER: u32 = 3;

/// A search on its way.
#[derive(Debug)]
pub(crate) struct Search {
    rule: DepthSearch,
    /// The queue depth of the stream.
    most: u32,
    depth: u32,
    /// The largest depth that was kept last, and the smallest that was not; `most` before one failed.
    low: u32,
    high: u32,
    /// Windows in a row that were kept below `high`.
    stable: u32,
    /// Start of the window; before it nothing is judged.
    window_start: Nanos,
    done: u64,
    missed: u64,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Looking.
    Probing,
    /// All in flight has to come back before it looks at the new depth.
    Quiescing,
    /// The depth is found; all in flight has to come back before it is measured.
    Settling,
    /// Being measured.
    Settled,
}

/// What a completion leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finding {
    Nothing,
    /// Its loop has to wait until nothing is in flight.
    Waits,
    /// Even one operation at a time took too long.
    Missed,
}

impl Search {
    /// One for a stream, where it asks for one.
    pub(crate) fn of(stream: &Stream) -> Option<Box<Self>> {
        let most = stream.queue_depth;
        stream.depth_search.map(|rule| {
            Box::new(Self {
                rule,
                most,
                depth: 1,
                low: 1,
                high: most,
                stable: 0,
                window_start: Nanos::NEVER,
                done: 0,
                missed: 0,
                stage: Stage::Probing,
            })
        })
    }

    /// Looks from this instant on.
    fn begin_window(&mut self, now: Nanos) {
        (self.window_start, self.done, self.missed) = (now, 0, 0);
    }

    /// How many operations may be in flight.
    pub(crate) fn limit(&self) -> usize {
        match self.stage {
            Stage::Quiescing | Stage::Settling => 0,
            Stage::Probing | Stage::Settled => self.depth as usize,
        }
    }

    /// Whether the measuring has not begun, for which there is to be a depth.
    pub(crate) fn is_open(&self) -> bool {
        !self.rule.goes_on && self.stage != Stage::Settled
    }

    fn waits(&self) -> bool {
        matches!(self.stage, Stage::Quiescing | Stage::Settling)
    }

    /// What it came to.
    pub(crate) fn found(&self) -> DepthFound {
        DepthFound { depth: self.depth, is_settled: self.stage == Stage::Settled }
    }

    /// Takes an operation into account that took so long and ended at `completed`.
    fn note(&mut self, took: Nanos, completed: Nanos) -> Finding {
        if self.stage != Stage::Probing || completed < self.window_start {
            return Finding::Nothing;
        }
        self.done += 1;
        let has_missed = took > self.rule.target;
        self.missed += u64::from(has_missed);
        // Where all have to keep it, the first that does not is enough.
        if has_missed && self.rule.share >= 1.0 {
            return if self.depth == 1 { Finding::Missed } else { self.lower() };
        }
        if completed.since(self.window_start) < self.rule.window {
            return Finding::Nothing;
        }
        let kept = (self.done - self.missed) as f64 / self.done as f64;
        if kept >= self.rule.share {
            self.raise(completed)
        } else if self.depth == 1 {
            // Nothing is below it; it may be kept yet.
            self.begin_window(completed);
            Finding::Nothing
        } else {
            self.lower()
        }
    }

    fn lower(&mut self) -> Finding {
        self.high = self.depth;
        if self.depth == self.low {
            self.low -= 1;
        }
        self.depth = self.depth.midpoint(self.low).max(1);
        self.stable = 0;
        self.stage = Stage::Quiescing;
        Finding::Waits
    }

    fn raise(&mut self, completed: Nanos) -> Finding {
        let kept = self.depth;
        self.low = kept;
        if kept + 1 == self.high {
            self.stable += 1;
            if self.stable >= TRIED_AGAIN_AFTER {
                self.high += 1;
                self.stable = 0;
            }
        }
        let next = if self.high == self.most { kept.saturating_mul(2) } else { kept.midpoint(self.high) };
        self.depth = next.min(self.most);
        if self.depth == kept && !self.rule.goes_on {
            self.stage = Stage::Settling;
            return Finding::Waits;
        }
        self.begin_window(completed);
        Finding::Nothing
    }
}

impl<E: Engine, C: Clock> Worker<'_, E, C> {
    /// Begins to look, when the ramp that was asked for is over.
    pub(crate) fn begin_search(&mut self) {
        let from = self.times.measure_start;
        if let Some(search) = &mut self.search {
            search.begin_window(from);
        }
    }

    /// Whether its depth has to be found before anything is measured.
    pub(crate) fn searches(&self) -> bool {
        self.search.as_ref().is_some_and(|search| search.is_open())
    }

    /// How many more may be in flight.
    pub(crate) fn room_of_search(&self, in_flight: usize) -> usize {
        self.search.as_ref().map_or(usize::MAX, |search| search.limit().saturating_sub(in_flight))
    }

    /// Takes an operation that came back into account.
    pub(crate) fn note_of_search(&mut self, slot: &Slot, completed: Nanos) {
        let Some(search) = &mut self.search else { return };
        let took = completed.since(slot.submitted);
        match search.note(took, completed) {
            Finding::Nothing => {}
            // The loop deals with it as soon as nothing is in flight.
            Finding::Waits => self.next_event = completed,
            Finding::Missed => {
                let at_most = search.rule.target;
                let broken = Broken::Latency { took, at_most, operation: slot.operation };
                self.break_off(Errno::TIMEDOUT, slot.operation, broken);
            }
        }
    }

    /// Goes on where the search waited for all in flight: looks at the next depth, or measures the one that was found.
    pub(crate) fn turn_of_search(&mut self, now: Nanos) {
        let is_quiet = self.in_flight() == 0;
        let Some(search) = self.search.as_mut().filter(|search| search.waits() && is_quiet) else { return };
        search.begin_window(now);
        if search.stage == Stage::Quiescing {
            search.stage = Stage::Probing;
            return;
        }
        search.stage = Stage::Settled;
        let window = search.rule.window;
        if self.state == State::Ramp {
            self.hand_over(now, Phase::Measure, false);
            self.state = State::Measure;
            self.times.measure_start = now;
            self.times.measure_end = self.times.measure_end.min(now.after(window));
            self.account = Account::open();
            self.last_completion = now;
            self.next_event = self.event_after(now);
        }
    }

    /// What was moved may be all that was to be moved before measuring.
    pub(crate) fn ramp_by_bytes(&mut self, moved: u64, completed: Nanos) {
        self.ramp_left = self.ramp_left.saturating_sub(moved);
        if self.ramp_left == 0 {
            self.ramp_left = u64::MAX;
            self.times.measure_start = completed;
            if let TimeLimit::Nanoseconds(ns) = self.stream.limits.time {
                self.times.measure_end = completed.after(Nanos(ns));
            }
            self.next_event = completed;
        }
    }

    /// The search did not come to its end: all of it is what was measured.
    pub(crate) fn give_search_up(&mut self) {
        if self.searches() {
            self.times.measure_start = self.times.start;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a search whose operations take `ns_per_depth` for each in flight; the depths that it looks at, the last twice
    /// when it is found.
    fn check(most: u32, target_ns: u64, ns_per_depth: u64, expect: &[u32]) {
        let rule = DepthSearch { target: Nanos(target_ns), window: Nanos(1000), share: 0.9, goes_on: false };
        let mut search = Search {
            rule,
            most,
            depth: 1,
            low: 1,
            high: most,
            stable: 0,
            window_start: Nanos::ZERO,
            done: 0,
            missed: 0,
            stage: Stage::Probing,
        };
        let (mut now, mut seen) = (Nanos::ZERO, vec![1]);
        for _ in 0..10_000 {
            let took = Nanos(ns_per_depth * u64::from(search.depth));
            now = now.after(Nanos(100));
            let before = search.depth;
            let finding = search.note(took, now);
            if search.depth != before || search.stage == Stage::Settling {
                seen.push(search.depth);
            }
            if search.stage == Stage::Settling {
                break;
            }
            if finding == Finding::Waits {
                assert_eq!(search.limit(), 0, "it waits for all in flight");
                search.stage = Stage::Probing;
                search.begin_window(now);
            }
        }
        assert_eq!(seen, expect, "{most} {target_ns} {ns_per_depth}");
    }

    #[test]
    fn depths_are_doubled_then_bisected() {
        check(16, 1000, 1, &[1, 2, 4, 8, 16, 16]);
        check(1, 1000, 1, &[1, 1]);
        check(64, 1000, 100, &[1, 2, 4, 8, 16, 12, 10, 11, 10, 10]);
        check(16, 50, 100, &[1]);
    }
}
