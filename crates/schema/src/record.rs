//! The record: what a run's events add up to, and the findings about whether it can be trusted.

use crate::event::{
    Event, Note, NoteKind, Outcome, RunFinished, RunStarted, Severity, StepFinished, StepStarted,
};
use crate::gauges::HostSample;
use crate::question::Question;
use crate::settling::DepthFound;
use crate::tally::{Interval, StreamTally};
use crate::threshold::Threshold;
use crate::verification::VerifyTotals;
use crate::wire;
use fathom_units::Nanos;
use serde::{Deserialize, Serialize};

/// What the database that a record is kept in carries as its application id: "Fthm" in ASCII, at offset 68 of the file
/// (`SQLite` file format, header).
pub const RECORD_MARK: i32 = 0x4674_686D;

/// A whole run, as read back from a store or collected from the bus.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The first event.
    pub started: RunStarted,
    /// The steps, in order.
    pub steps: Vec<StepRecord>,
    /// All notes, in order.
    pub notes: Vec<Note>,
    /// The last event; absent when the run was killed or still goes on.
    pub finished: Option<RunFinished>,
}

impl Record {
    /// The record of a run that has only just begun.
    pub fn begin(started: RunStarted) -> Self {
        Self { started, steps: Vec::new(), notes: Vec::new(), finished: None }
    }

    /// Bounds that every step has to keep.
    pub fn thresholds(&self) -> &[Threshold] {
        match &self.started.question {
            Some(Question::Thresholds { thresholds }) => thresholds,
            _ => &self.started.thresholds,
        }
    }

    /// The demand (`rate_min`, `latency_max`, …) that was not kept and so ended its stream, and the run unless the job says
    /// otherwise.
    pub fn broken_demand(&self) -> Option<&Note> {
        self.notes.iter().find(|note| note.kind == NoteKind::Demand)
    }

    /// Takes in the next event, the one way a record grows: in a store's reader and beside a live run. An event that
    /// cannot follow what came before (a second start, an interval of a step that never started) is given back.
    pub fn push(&mut self, event: Event) -> Result<(), Event> {
        match event {
            Event::RunStarted(_) => return Err(event),
            Event::StepStarted(started) => {
                self.steps.push(StepRecord {
                    started: *started,
                    intervals: Vec::new(),
                    host: Vec::new(),
                    finished: None,
                });
            }
            Event::Interval(interval) => match self.step_mut(interval.step) {
                Some(step) => step.intervals.push(*interval),
                None => return Err(Event::Interval(interval)),
            },
            Event::Host(sample) => match self.step_mut(sample.step) {
                Some(step) => step.host.push(*sample),
                None => return Err(Event::Host(sample)),
            },
            // The intervals themselves are here.
            Event::Sum(_) => {}
            Event::Note(note) => self.notes.push(note),
            Event::StepFinished(finished) => match self.step_mut(finished.index) {
                Some(step) => step.finished = Some(*finished),
                None => return Err(Event::StepFinished(finished)),
            },
            Event::RunFinished(finished) => self.finished = Some(finished),
        }
        Ok(())
    }

    /// The last step with this index that began.
    fn step_mut(&mut self, index: u32) -> Option<&mut StepRecord> {
        self.steps.iter_mut().rev().find(|step| step.started.index == index)
    }

    /// Until when the record tells what its run did, wall clock in milliseconds since 1970-01-01 UTC: its end, or that of the last
    /// that there is of it. Virtual time goes on beyond the wall clock's.
    pub fn known_until_ms(&self) -> u64 {
        let finished_ms = self.finished.as_ref().map(|finished| finished.wall_ms);
        self.steps
            .iter()
            .map(StepRecord::known_until_ms)
            .chain(finished_ms)
            .max()
            .unwrap_or(self.started.wall_ms)
    }

    /// How the run ended; `None` when it was killed or still goes on.
    pub fn outcome(&self) -> Option<&Outcome> {
        self.finished.as_ref().map(|finished| &finished.outcome)
    }
}

/// One step of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct StepRecord {
    /// How it began.
    pub started: StepStarted,
    /// Its intervals, in order of arrival.
    pub intervals: Vec<Interval>,
    /// How busy the host was meanwhile, in order; empty in records of before it was asked.
    pub host: Vec<HostSample>,
    /// How it ended; absent when the run was killed inside it. Its totals then are the sums of the intervals.
    pub finished: Option<StepFinished>,
}

impl StepRecord {
    /// Until when it tells what was done, wall clock in milliseconds since 1970-01-01 UTC.
    pub fn known_until_ms(&self) -> u64 {
        let ends = self.intervals.iter().map(|interval| interval.end);
        let end = ends.chain(self.finished.as_ref().map(|finished| finished.elapsed)).max();
        self.started.wall_ms.saturating_add(end.unwrap_or_default().0 / 1_000_000)
    }
}

/// Totals of one stream's measure phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StreamTotals {
    /// Its workers, in plan order.
    pub workers: Vec<WorkerTotals>,
}

/// Totals of one worker's measure phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkerTotals {
    /// What was counted.
    pub tally: StreamTally,
    /// Start of its measure phase, since the step's start.
    #[serde(with = "wire::nanos")]
    pub start: Nanos,
    /// End of its measure phase (its last completion, or the sync behind it), since the step's start.
    #[serde(with = "wire::nanos")]
    pub end: Nanos,
    /// How long the sync took that it ends with; 0 where none is a part of it.
    #[serde(default, with = "wire::nanos")]
    pub synced: Nanos,
    /// User CPU time in the measure phase, nanoseconds.
    pub user_ns: u64,
    /// System CPU time in the measure phase, nanoseconds.
    pub system_ns: u64,
    /// Context switches, voluntary and not.
    pub context_switches: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Page faults that did not.
    pub minor_faults: u64,
    /// Time for which it could have run and no CPU was free for it, in the measure phase, nanoseconds; 0 where the kernel does
    /// not count it, and where data is read back in between.
    #[serde(default)]
    pub runnable_ns: u64,
    /// The first error that ended it: `errno`; 0 when none did.
    pub error: i32,
    /// What verification came to; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<Box<VerifyTotals>>,
    /// What its search for a queue depth came to; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<DepthFound>,
    /// How its queue ran empty before the end of its measure phase; absent where it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emptied: Option<Emptied>,
    /// Arrivals that had come due by the end of its measure phase and were not issued (open loop only). How long they had waited
    /// is in [`StreamTally::left_waiting`].
    #[serde(default)]
    pub waiting: u64,
    /// For how long the oldest of them had waited by then, nanoseconds; 0 when none waited.
    #[serde(default, with = "wire::nanos")]
    pub oldest_waiting: Nanos,
}

/// The end of a closed loop: nothing more is issued, and what is in flight completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Emptied {
    /// When it had issued its last operation, since the step's start.
    #[serde(with = "wire::nanos")]
    pub since: Nanos,
    /// Operations in flight integrated over the time from then on, operation-nanoseconds.
    pub in_flight_ns: u64,
}

/// One statement about whether a result can be trusted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Stable name, e.g. `little.queue-not-full`.
    pub id: String,
    /// How much it matters.
    pub severity: Severity,
    /// What was seen, with the figures.
    pub evidence: String,
    /// What to do about it.
    pub remedy: String,
}
