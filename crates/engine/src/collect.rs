//! The collector: takes the workers' cells, merges them per stream and interval, and emits events.
//!
//! An interval goes out when every running worker of its stream has passed it, or half an interval after its end when one
//! is stuck in a long operation; what comes later goes out as a further, late interval. Nothing is lost, nobody waits.

use crate::recorder::{CELLS, Filled, Outlet};
use fathom_metrics::{Cell, CellShape, IssuedRow, OperationRow};
use fathom_schema::{Interval, Phase, StreamTally};
use fathom_units::Nanos;
use std::collections::BTreeMap;

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
}

struct StreamState {
    shape: CellShape,
    workers: Vec<WorkerState>,
    /// Intervals not yet emitted, by number and phase.
    pending: BTreeMap<(u64, Phase), Merged>,
    /// End of the latest interval that was emitted.
    emitted_until: Nanos,
    /// Single operations not yet passed on.
    rows: Vec<Vec<OperationRow>>,
}

struct WorkerState {
    outlet: Outlet,
    /// Everything it did before this instant has been collected; `NEVER` once it has ended.
    passed: Nanos,
    /// What was measured; made with the first of it, since thousands of workers are made before they start.
    totals: Option<Box<Cell>>,
    /// Reads of the verify phases; only where there are some.
    verify_totals: Option<Box<Cell>>,
    /// What was done before measuring; only where that may come to be what was measured.
    ramp_totals: Option<Box<Cell>>,
}

struct Merged {
    cell: Cell,
    /// The most that ever waited, per worker: a worker may hand over several cells of one interval, and only what waits
    /// in different workers waits together.
    backlogs: Vec<u64>,
    start: Nanos,
    end: Nanos,
    late: bool,
}

impl Collector {
    /// One that collects from these workers: per stream its shape and the workers' outlets.
    pub(crate) fn new(step: u32, interval: Nanos, streams: Vec<(CellShape, Vec<Outlet>)>) -> Self {
        let without_rows = |shape| CellShape { rows: 0, ..shape };
        let worker = |outlet| WorkerState {
            outlet,
            passed: Nanos::ZERO,
            totals: None,
            verify_totals: None,
            ramp_totals: None,
        };
        let streams = streams
            .into_iter()
            .map(|(shape, outlets)| StreamState {
                shape: without_rows(shape),
                workers: outlets.into_iter().map(worker).collect(),
                pending: BTreeMap::new(),
                emitted_until: Nanos::ZERO,
                rows: Vec::new(),
            })
            .collect();
        Self { step, interval, streams }
    }

    /// Takes all cells there are and emits the intervals that are complete. `now`: since the step's start; `NEVER` in
    /// virtual time is not needed, since there every worker passes every edge.
    pub(crate) fn turn(&mut self, now: Option<Nanos>, emit: &mut dyn FnMut(Collected)) {
        for (index, stream) in self.streams.iter_mut().enumerate() {
            stream.take_cells(self.interval);
            stream.take_issued(&mut |rows| emit(Collected::Issued { stream: index, rows }));
            stream.rows.drain(..).for_each(|rows| emit(Collected::Rows { stream: index, rows }));
            let grace = Nanos(self.interval.0 / 2);
            let overdue = now.map_or(Nanos::ZERO, |now| now.since(grace));
            stream.emit_ready(self.step, index, overdue, self.interval, emit);
        }
    }

    /// Notes that a worker has ended; its last cell has been pushed before.
    pub(crate) fn ended(&mut self, stream: usize, worker: usize) {
        let interval = self.interval;
        let stream = &mut self.streams[stream];
        stream.take_cells(interval);
        stream.workers[worker].passed = Nanos::NEVER;
    }

    /// Keeps what the workers of a stream do before they measure.
    pub(crate) fn keep_ramp(&mut self, stream: usize) {
        let StreamState { shape, workers, .. } = &mut self.streams[stream];
        workers.iter_mut().for_each(|worker| worker.ramp_totals = Some(Box::new(Cell::new(*shape))));
    }

    /// Totals of a worker: of its measure phase, or of what came before one that never came.
    pub(crate) fn totals(&self, stream: usize, worker: usize, has_measured: bool) -> StreamTally {
        let StreamState { shape, workers, .. } = &self.streams[stream];
        let WorkerState { totals, ramp_totals, .. } = &workers[worker];
        let counted = ramp_totals.as_deref().filter(|_| !has_measured).or(totals.as_deref());
        counted.map_or_else(|| Cell::new(*shape).to_tally(), Cell::to_tally)
    }

    /// What a worker read in its verify phases.
    pub(crate) fn verify_totals(&self, stream: usize, worker: usize) -> Option<&Cell> {
        self.streams[stream].workers[worker].verify_totals.as_deref()
    }
}

impl StreamState {
    fn take_issued(&mut self, emit: &mut dyn FnMut(Vec<IssuedRow>)) {
        for issued in self.workers.iter_mut().filter_map(|worker| worker.outlet.issued.as_mut()) {
            // No more than there are now: the worker goes on meanwhile.
            let rows: Vec<IssuedRow> = (0..issued.slots()).filter_map(|_| issued.pop().ok()).collect();
            if !rows.is_empty() {
                emit(rows);
            }
        }
    }

    fn take_cells(&mut self, interval: Nanos) {
        let (workers, shape) = (self.workers.len(), self.shape);
        for (index, worker) in self.workers.iter_mut().enumerate() {
            // No more than the queue holds: a worker in virtual time may fill cells faster than they are taken, and what is
            // merged has to go on its way in between.
            for _ in 0..CELLS {
                let Ok(Filled { mut cell, start, end, phase, late }) = worker.outlet.full.pop() else {
                    break;
                };
                match phase {
                    Phase::Ramp => {
                        if let Some(totals) = &mut worker.ramp_totals {
                            totals.merge(&cell);
                        }
                    }
                    Phase::Measure => {
                        let totals = worker.totals.get_or_insert_with(|| Box::new(Cell::new(shape)));
                        let backlog_max = totals.backlog_max.max(cell.backlog_max);
                        totals.merge(&cell);
                        totals.backlog_max = backlog_max;
                    }
                    Phase::Verify => {
                        worker.verify_totals.get_or_insert_with(|| Box::new(Cell::new(shape))).merge(&cell);
                    }
                }
                let key = (start.0 / interval.0, phase);
                let late = late || end <= self.emitted_until;
                let merged = self.pending.entry(key).or_insert_with(|| Merged {
                    cell: Cell::new(self.shape),
                    backlogs: vec![0; workers],
                    start,
                    end,
                    late,
                });
                merged.cell.merge(&cell);
                merged.backlogs[index] = merged.backlogs[index].max(cell.backlog_max);
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
    }

    fn emit_ready(
        &mut self,
        step: u32,
        stream: usize,
        overdue: Nanos,
        interval: Nanos,
        emit: &mut dyn FnMut(Collected),
    ) {
        let passed =
            self.workers.iter().map(|worker| worker.passed).min().unwrap_or(Nanos::NEVER).max(overdue);
        while let Some(entry) = self.pending.first_entry() {
            let (sequence, phase) = *entry.key();
            let merged = entry.get();
            let edge = Nanos((sequence + 1).saturating_mul(interval.0)).max(merged.end);
            // A phase that ends inside an interval is complete when all have passed its end, not the edge.
            if passed < if phase == Phase::Ramp { merged.end } else { edge } {
                break;
            }
            let Merged { mut cell, backlogs, start, end, late } = entry.remove();
            cell.backlog_max = backlogs.iter().sum();
            self.emitted_until = self.emitted_until.max(end);
            emit(Collected::Interval(Box::new(Interval {
                step,
                stream: u32::try_from(stream).expect("streams are counted in 32 bits"),
                sequence,
                start,
                end,
                phase,
                late,
                tally: cell.to_tally(),
            })));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::Recorder;

    #[test]
    fn only_what_waits_in_different_workers_adds_up() {
        let shape =
            CellShape { kinds: [true, false, false, false], response: true, completion: false, rows: 0 };
        let (recorders, outlets): (Vec<Recorder>, Vec<Outlet>) =
            (0..2).map(|_| Recorder::new(shape, CELLS, std::thread::current())).unzip();
        let mut collector = Collector::new(0, Nanos::secs(1), vec![(shape, outlets)]);
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
