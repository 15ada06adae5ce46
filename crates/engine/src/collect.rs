//! The collector: takes the workers' cells, merges them per stream and interval, and emits events.
//!
//! A turn costs as much as there is to take: only workers that have handed something over, and streams that wait for a
//! worker, are looked at. An interval goes out when every running worker of its stream has passed it, or half an interval
//! after its end when one is stuck in a long operation; what comes later goes out as a further, late interval. Nothing is
//! lost, nobody waits.

use crate::handovers::Handovers;
use crate::recorder::{CELLS, Filled, Outlet};
use fathom_metrics::{IssuedRow, OperationRow, merge_tally};
use fathom_schema::{Interval, Phase, StreamTally};
use fathom_units::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What comes out of the collector.
pub(crate) enum Collected {
    /// An interval of a stream.
    Interval(Box<Interval>),
    /// Single operations of a worker, in the order in which they completed.
    Rows { stream: usize, rows: Vec<OperationRow> },
    /// Operations of a worker as they were issued, in order.
    Issued { stream: usize, rows: Vec<IssuedRow> },
}

/// Collects for all workers of a step.
pub(crate) struct Collector {
    step: u32,
    interval: Nanos,
    streams: Vec<StreamState>,
    handovers: Arc<Handovers>,
    /// By number of the worker: its stream, and its number there.
    seats: Vec<(usize, usize)>,
    /// Workers that tell of operations as they are issued.
    telling: Vec<(usize, usize)>,
    /// Streams that have something which has not gone out.
    open: BTreeSet<usize>,
}

struct StreamState {
    workers: Vec<WorkerState>,
    /// Intervals not yet emitted, by number and phase.
    pending: BTreeMap<(u64, Phase), Merged>,
    /// End of the latest interval that was emitted.
    emitted_until: Nanos,
    /// A worker that had not passed the next edge when it was looked for.
    behind: usize,
    /// Single operations not yet passed on.
    rows: Vec<Vec<OperationRow>>,
}

struct WorkerState {
    outlet: Outlet,
    /// Everything it did before this instant has been collected; `NEVER` once it has ended.
    passed: Nanos,
    /// What was measured.
    totals: StreamTally,
    /// Reads of the verify phases; only where there are some.
    verify_totals: Option<StreamTally>,
    /// What was done before measuring; only where that may come to be what was measured.
    ramp_totals: Option<StreamTally>,
}

struct Merged {
    tally: StreamTally,
    /// The most that ever waited, per worker: a worker may hand over several cells of one interval, and only what waits
    /// in different workers waits together.
    backlogs: Vec<u64>,
    start: Nanos,
    end: Nanos,
    late: bool,
}

impl Collector {
    /// One that collects from these workers, by stream, which are numbered in this order in `handovers`.
    pub(crate) fn new(
        step: u32,
        interval: Nanos,
        streams: Vec<Vec<Outlet>>,
        handovers: Arc<Handovers>,
    ) -> Self {
        let (mut seats, mut telling) = (Vec::new(), Vec::new());
        for (stream, outlets) in streams.iter().enumerate() {
            for (worker, outlet) in outlets.iter().enumerate() {
                seats.push((stream, worker));
                telling.extend(outlet.issued.is_some().then_some((stream, worker)));
            }
        }
        let worker = |outlet| WorkerState {
            outlet,
            passed: Nanos::ZERO,
            totals: StreamTally::default(),
            verify_totals: None,
            ramp_totals: None,
        };
        let streams = streams
            .into_iter()
            .map(|outlets| StreamState {
                workers: outlets.into_iter().map(worker).collect(),
                pending: BTreeMap::new(),
                emitted_until: Nanos::ZERO,
                behind: 0,
                rows: Vec::new(),
            })
            .collect();
        Self { step, interval, streams, handovers, seats, telling, open: BTreeSet::new() }
    }

    /// Takes all cells there are and emits the intervals that are complete. `now`: since the step's start; `NEVER` in
    /// virtual time is not needed, since there every worker passes every edge.
    pub(crate) fn turn(&mut self, now: Option<Nanos>, emit: &mut dyn FnMut(Collected)) {
        let Self { step, interval, streams, handovers, seats, telling, open } = self;
        for (index, worker) in handovers.take().map(|number| seats[number]) {
            streams[index].take_cells(worker, *interval);
            open.insert(index);
        }
        for &(index, worker) in telling.iter() {
            if let Some(rows) = streams[index].take_issued(worker) {
                emit(Collected::Issued { stream: index, rows });
            }
        }
        let grace = Nanos(interval.0 / 2);
        let overdue = now.map_or(Nanos::ZERO, |now| now.since(grace));
        open.retain(|&index| {
            let stream = &mut streams[index];
            stream.rows.drain(..).for_each(|rows| emit(Collected::Rows { stream: index, rows }));
            stream.emit_ready(*step, index, overdue, *interval, emit);
            !stream.pending.is_empty()
        });
    }

    /// Whether every stream that goes on has told of as much as the one that is furthest: then what went out tells of one time
    /// of all of them.
    pub(crate) fn is_level(&self) -> bool {
        let furthest = self.streams.iter().map(|stream| stream.emitted_until).max().unwrap_or_default();
        self.streams.iter().all(|stream| stream.emitted_until >= furthest || stream.is_over())
    }

    /// Notes that a worker has ended; its last cell has been pushed before.
    pub(crate) fn ended(&mut self, stream: usize, worker: usize) {
        let interval = self.interval;
        self.open.insert(stream);
        let stream = &mut self.streams[stream];
        stream.take_cells(worker, interval);
        stream.workers[worker].passed = Nanos::NEVER;
    }

    /// Keeps what the workers of a stream do before they measure.
    pub(crate) fn keep_ramp(&mut self, stream: usize) {
        let workers = &mut self.streams[stream].workers;
        workers.iter_mut().for_each(|worker| worker.ramp_totals = Some(StreamTally::default()));
    }

    /// Totals of a worker: of its measure phase, or of what came before one that never came.
    pub(crate) fn totals(&self, stream: usize, worker: usize, has_measured: bool) -> StreamTally {
        let WorkerState { totals, ramp_totals, .. } = &self.streams[stream].workers[worker];
        ramp_totals.as_ref().filter(|_| !has_measured).unwrap_or(totals).clone()
    }

    /// What a worker read in its verify phases.
    pub(crate) fn verify_totals(&self, stream: usize, worker: usize) -> Option<&StreamTally> {
        self.streams[stream].workers[worker].verify_totals.as_ref()
    }
}

impl StreamState {
    fn is_over(&self) -> bool {
        self.pending.is_empty() && self.workers.iter().all(|worker| worker.passed == Nanos::NEVER)
    }

    /// What a worker has told of operations that it issued, where there is something.
    fn take_issued(&mut self, worker: usize) -> Option<Vec<IssuedRow>> {
        let issued = self.workers[worker].outlet.issued.as_mut()?;
        // No more than there are now: the worker goes on meanwhile.
        let rows: Vec<IssuedRow> = (0..issued.slots()).filter_map(|_| issued.pop().ok()).collect();
        (!rows.is_empty()).then_some(rows)
    }

    /// Takes what a worker has handed over.
    fn take_cells(&mut self, index: usize, interval: Nanos) {
        let workers = self.workers.len();
        let worker = &mut self.workers[index];
        // No more than the queue holds: a worker in virtual time may fill cells faster than they are taken, and what is
        // merged has to go on its way in between.
        for _ in 0..CELLS {
            let Ok(Filled { mut cell, start, end, phase, late }) = worker.outlet.full.pop() else { break };
            let tally = cell.to_tally();
            let totals = match phase {
                Phase::Ramp => worker.ramp_totals.as_mut(),
                Phase::Measure => Some(&mut worker.totals),
                Phase::Verify => Some(worker.verify_totals.get_or_insert_default()),
            };
            totals.into_iter().for_each(|totals| merge_tally(totals, &tally));
            let key = (start.0 / interval.0, phase);
            let late = late || end <= self.emitted_until;
            let merged = self.pending.entry(key).or_insert_with(|| Merged {
                tally: StreamTally::default(),
                backlogs: vec![0; workers],
                start,
                end,
                late,
            });
            merge_tally(&mut merged.tally, &tally);
            merged.backlogs[index] = merged.backlogs[index].max(tally.backlog_max);
            merged.start = merged.start.min(start);
            merged.end = merged.end.max(end);
            merged.late |= late;
            worker.passed = worker.passed.max(end);
            if !cell.rows().is_empty() {
                self.rows.push(cell.rows().to_vec());
            }
            cell.clear();
            // The queue has room for every cell of the worker; a worker that has ended took its end away.
            drop(worker.outlet.empty.push(cell));
        }
    }

    fn emit_ready(
        &mut self,
        step: u32,
        stream: usize,
        overdue: Nanos,
        interval: Nanos,
        emit: &mut dyn FnMut(Collected),
    ) {
        while let Some((&(sequence, phase), merged)) = self.pending.first_key_value() {
            let edge = Nanos((sequence + 1).saturating_mul(interval.0)).max(merged.end);
            // A phase that ends inside an interval is complete when all have passed its end, not the edge.
            let complete = if phase == Phase::Ramp { merged.end } else { edge };
            if overdue < complete && !self.all_passed(complete) {
                break;
            }
            let Some((_, Merged { mut tally, backlogs, start, end, late })) = self.pending.pop_first() else {
                break;
            };
            tally.backlog_max = backlogs.iter().sum();
            self.emitted_until = self.emitted_until.max(end);
            emit(Collected::Interval(Box::new(Interval {
                step,
                stream: u32::try_from(stream).expect("streams are counted in 32 bits"),
                sequence,
                start,
                end,
                phase,
                late,
                tally,
            })));
        }
    }

    /// Whether everything that the workers did before `instant` was collected.
    fn all_passed(&mut self, instant: Nanos) -> bool {
        let (from, count) = (self.behind, self.workers.len());
        // Onwards from the one that was behind: those before it have been looked at, and nobody goes back.
        let mut onwards = (from..count).chain(0..from);
        let found = onwards.find(|&worker| self.workers[worker].passed < instant);
        self.behind = found.unwrap_or(0);
        found.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::Recorder;
    use fathom_metrics::CellShape;

    #[test]
    fn streams_are_level_when_all_that_go_on_have_told_of_the_same_time() {
        let handovers = Handovers::of(2);
        let recorder =
            |number| Recorder::new(CellShape::default(), CELLS, std::thread::current(), &handovers, number);
        let (recorders, outlets): (Vec<Recorder>, Vec<Outlet>) = (0..2).map(recorder).unzip();
        let by_stream = outlets.into_iter().map(|outlet| vec![outlet]).collect();
        let mut collector = Collector::new(0, Nanos::secs(1), by_stream, Arc::clone(&handovers));
        let mut recorders = recorders.into_iter();
        let (mut first, mut second) = (recorders.next().unwrap(), recorders.next().unwrap());
        let mut level_after = |recorder: &mut Recorder, second: u64, ends: Option<usize>| {
            recorder.rotate(Nanos::secs(second), Phase::Measure, false);
            ends.into_iter().for_each(|stream| collector.ended(stream, 0));
            collector.turn(None, &mut |_| {});
            collector.is_level()
        };
        first.begin(Nanos::ZERO, Phase::Measure);
        second.begin(Nanos::ZERO, Phase::Measure);
        assert!(!level_after(&mut first, 1, None));
        assert!(level_after(&mut second, 1, None));
        assert!(!level_after(&mut second, 2, None));
        // One that has ended is waited for no more.
        assert!(level_after(&mut first, 2, Some(0)));
        assert!(level_after(&mut second, 3, None));
    }

    #[test]
    fn only_what_waits_in_different_workers_adds_up() {
        let shape = CellShape { kinds: [true, false, false, false], response: true, ..CellShape::default() };
        let handovers = Handovers::of(2);
        let recorder = |number| Recorder::new(shape, CELLS, std::thread::current(), &handovers, number);
        let (recorders, outlets): (Vec<Recorder>, Vec<Outlet>) = (0..2).map(recorder).unzip();
        let mut collector = Collector::new(0, Nanos::secs(1), vec![outlets], Arc::clone(&handovers));
        for (worker, (mut recorder, backlogs)) in recorders.into_iter().zip([[5, 3], [1, 7]]).enumerate() {
            recorder.begin(Nanos::ZERO, Phase::Measure);
            for (backlog, end) in backlogs.into_iter().zip([400, 900]) {
                recorder.cell.arrivals = 10;
                recorder.cell.backlog_max = backlog;
                recorder.rotate(Nanos::millis(end), Phase::Measure, false);
            }
            collector.ended(0, worker);
        }
        let mut found = Vec::new();
        collector.turn(None, &mut |collected| {
            if let Collected::Interval(interval) = collected {
                found.push((interval.tally.arrivals, interval.tally.backlog_max));
            }
        });
        assert_eq!(found, [(40, 5 + 7)]);
    }
}
