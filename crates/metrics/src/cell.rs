//! The interval cell: everything one worker counts in one interval, in memory that is allocated before the start.
//!
//! A worker owns the cell it fills and hands it over whole; whoever reads it gives it back cleared.

use crate::latency::{Latency, Tallied};
use crate::operation::{OperationRow, Rows};
use crate::target::{TargetCell, TargetCells};
use fathom_schema::{KindTally, LatencySum, OperationKind, StreamTally, TargetTally, ThreadUse};

/// Distinct error numbers kept apart per kind and cell; further ones are counted under the last slot's number.
/// Devices report one or two (EIO, ENODATA, EREMOTEIO …).
const ERRNOS: usize = 8;

/// Which parts of a cell a stream needs; what is not needed is not allocated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CellShape<'a> {
    /// Kinds that occur, by index.
    pub kinds: [bool; OperationKind::COUNT],
    /// Whether response times differ from service times (open loop).
    pub response: bool,
    /// Whether accepted → completed has a histogram of its own.
    pub completion: bool,
    /// Operations to keep by themselves until the cell is handed over; 0: none.
    pub rows: usize,
    /// Numbers of the targets that are told apart, ascending, if there are several in the stream: those that the worker
    /// goes to.
    pub targets: &'a [u32],
}

/// What one worker counts in one interval.
#[derive(Debug, Clone)]
pub struct Cell {
    kinds: [Option<Box<KindCell>>; OperationKind::COUNT],
    targets: TargetCells,
    connections: Tallied,
    /// Operations in flight integrated over time, operation-nanoseconds.
    pub in_flight_ns: u64,
    /// See [`StreamTally::failed_ns`].
    pub failed_ns: u64,
    /// See [`StreamTally::outside_ns`].
    pub outside_ns: i64,
    /// CPU time of the worker, nanoseconds.
    pub cpu_ns: u64,
    /// See [`StreamTally::used`].
    pub used: ThreadUse,
    /// See [`StreamTally::depth_levels`].
    pub depth_levels: [u64; 7],
    /// See [`StreamTally::submit_sizes`].
    pub submit_sizes: [u64; 7],
    /// See [`StreamTally::complete_sizes`].
    pub complete_sizes: [u64; 7],
    /// Arrivals that came due.
    pub arrivals: u64,
    /// Arrivals issued late for want of a slot.
    pub arrivals_late: u64,
    /// Arrivals given up since too many waited.
    pub arrivals_dropped: u64,
    /// Most arrivals waiting at once.
    pub backlog_max: u64,
    /// Single operations; they are taken out by whoever gets the cell, never merged.
    rows: Rows,
}

/// What one worker counts of one kind in one interval.
#[derive(Debug, Clone, Default)]
pub struct KindCell {
    /// Bytes moved.
    pub bytes: u64,
    /// Fewer bytes moved than asked.
    pub short: u64,
    /// See [`KindTally::data_syncs`].
    pub data_syncs: u64,
    /// Submitted → completed; one value per operation that completed without an error.
    pub service: Latency,
    /// Intended → completed; not recorded in closed loops.
    pub response: Option<Latency>,
    submission: Tallied,
    /// Accepted → completed, where asked.
    pub completion: Option<Latency>,
    errors: [(i32, u64); ERRNOS],
}

impl KindCell {
    /// Counts one operation that was accepted by a submission of `ns`.
    #[inline]
    pub fn record_submission(&mut self, ns: u64) {
        self.submission.record(ns);
    }

    /// Counts `n` operations, at least one, that were accepted by a submission of `ns`.
    #[inline]
    pub fn record_submissions(&mut self, ns: u64, n: u64) {
        self.submission.record_many(ns, n);
    }

    /// Counts one failed operation.
    pub fn record_error(&mut self, errno: i32) {
        self.add_errors(errno, 1);
    }

    fn add_errors(&mut self, errno: i32, count: u64) {
        let slot = self.errors.iter().position(|&(n, count)| n == errno || count == 0).unwrap_or(ERRNOS - 1);
        if self.errors[slot].1 == 0 {
            self.errors[slot].0 = errno;
        }
        self.errors[slot].1 += count;
    }

    /// Failed operations of all numbers.
    pub fn errors_total(&self) -> u64 {
        self.errors.iter().map(|&(_, count)| count).sum()
    }

    fn is_empty(&self) -> bool {
        self.service.count() == 0 && self.errors[0].1 == 0 && self.submission.is_empty()
    }

    fn clear(&mut self) {
        let Self { bytes, short, data_syncs, service, response, submission, completion, errors } = self;
        (*bytes, *short, *data_syncs) = (0, 0, 0);
        service.clear();
        response.iter_mut().chain(completion).for_each(Latency::clear);
        *submission = Tallied::default();
        *errors = Default::default();
    }

    /// The tally of the one target that all of it went to.
    pub(crate) fn to_target(&self, target: u32, kind: OperationKind) -> TargetTally {
        let sum =
            |latency: &Latency| LatencySum { sum_ns: latency.sum_ns(), max_ns: latency.moments().max_ns };
        TargetTally {
            target,
            kind,
            operations: self.service.count(),
            bytes: self.bytes,
            errors: self.errors_total(),
            service: sum(&self.service),
            response: self.response.as_ref().map(sum),
        }
    }

    fn to_tally(&self, kind: OperationKind) -> KindTally {
        KindTally {
            kind,
            operations: self.service.count(),
            bytes: self.bytes,
            short: self.short,
            data_syncs: self.data_syncs,
            errors: self.errors.iter().copied().filter(|&(_, count)| count > 0).collect(),
            service: self.service.to_tally(),
            response: self.response.as_ref().map(Latency::to_tally),
            submission: self.submission.into(),
            completion: self.completion.as_ref().map(Latency::to_tally),
        }
    }
}

impl Cell {
    /// An empty cell with the parts that `shape` asks for.
    pub fn new(shape: CellShape<'_>) -> Self {
        let kind = || KindCell {
            response: shape.response.then(Latency::default),
            completion: shape.completion.then(Latency::default),
            ..KindCell::default()
        };
        Self {
            kinds: shape.kinds.map(|used| used.then(|| Box::new(kind()))),
            targets: TargetCells::of(shape.targets),
            connections: Tallied::default(),
            in_flight_ns: 0,
            failed_ns: 0,
            outside_ns: 0,
            cpu_ns: 0,
            used: ThreadUse::default(),
            depth_levels: [0; 7],
            submit_sizes: [0; 7],
            complete_sizes: [0; 7],
            arrivals: 0,
            arrivals_late: 0,
            arrivals_dropped: 0,
            backlog_max: 0,
            rows: Rows::with_room_for(shape.rows),
        }
    }

    /// Counts one connection that was closed so many nanoseconds after it began to be opened.
    pub fn record_connection(&mut self, ns: u64) {
        self.connections.record(ns);
    }

    /// Keeps an operation by itself.
    #[inline]
    pub fn push_row(&mut self, row: OperationRow) {
        self.rows.push(row);
    }

    /// The operations kept.
    pub fn rows(&self) -> &[OperationRow] {
        self.rows.all()
    }

    /// Whether there is no room for one more.
    #[inline]
    pub fn rows_are_full(&self) -> bool {
        self.rows.all().len() == self.rows.room()
    }

    /// The part of one kind.
    ///
    /// # Panics
    /// When the shape did not ask for the kind: the worker counted something that its workload cannot issue.
    #[inline]
    pub fn kind(&mut self, kind: OperationKind) -> &mut KindCell {
        self.kinds[kind.index()].as_mut().expect("a workload issues only the kinds its cell was shaped for")
    }

    /// The part of a target, by its position in [`Cell::targets`], and kind; `None` where there are fewer than two, so
    /// that nothing is to be told apart.
    #[inline]
    pub fn target(&mut self, position: usize, kind: OperationKind) -> Option<&mut TargetCell> {
        self.targets.part(position, kind)
    }

    /// Numbers of the targets that are to be told apart as operations are counted, ascending; none where fewer than two are.
    pub fn targets(&self) -> Vec<u32> {
        self.targets.numbers()
    }

    /// Service times of all operations summed, in nanoseconds.
    pub fn service_sum_ns(&self) -> u64 {
        self.kinds.iter().flatten().map(|kind| kind.service.sum_ns()).sum()
    }

    /// Operations of all kinds.
    pub fn operations(&self) -> u64 {
        self.kinds.iter().flatten().map(|kind| kind.service.count()).sum()
    }

    /// Operations of all kinds that ended with an error.
    pub fn failed(&self) -> u64 {
        self.kinds.iter().flatten().map(|kind| kind.errors_total()).sum()
    }

    /// True when no operation was counted, and no connection.
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty() && self.kinds.iter().flatten().all(|kind| kind.is_empty())
    }

    /// Forgets everything; allocates and frees nothing.
    pub fn clear(&mut self) {
        let Self {
            kinds,
            targets,
            connections,
            in_flight_ns,
            failed_ns,
            outside_ns,
            cpu_ns,
            used,
            depth_levels,
            submit_sizes,
            complete_sizes,
            arrivals,
            arrivals_late,
            arrivals_dropped,
            backlog_max,
            rows,
        } = self;
        kinds.iter_mut().flatten().for_each(|kind| kind.clear());
        targets.clear();
        *connections = Tallied::default();
        (*in_flight_ns, *failed_ns, *outside_ns, *cpu_ns) = (0, 0, 0, 0);
        *used = ThreadUse::default();
        for classes in [depth_levels, submit_sizes, complete_sizes] {
            *classes = [0; 7];
        }
        (*arrivals, *arrivals_late, *arrivals_dropped, *backlog_max) = (0, 0, 0, 0);
        rows.clear();
    }

    /// The form that is stored; kinds in which nothing happened are left out.
    pub fn to_tally(&self) -> StreamTally {
        let kinds: Vec<(OperationKind, &KindCell)> = OperationKind::ALL
            .into_iter()
            .zip(&self.kinds)
            .filter_map(|(kind, cell)| {
                cell.as_deref().filter(|cell| !cell.is_empty()).map(|cell| (kind, cell))
            })
            .collect();
        StreamTally {
            kinds: kinds.iter().map(|(kind, cell)| cell.to_tally(*kind)).collect(),
            targets: self.targets.to_tallies(&kinds),
            connections: self.connections.into(),
            in_flight_ns: self.in_flight_ns as f64,
            failed_ns: self.failed_ns as f64,
            outside_ns: self.outside_ns as f64,
            cpu_ns: self.cpu_ns,
            used: self.used,
            depth_levels: self.depth_levels,
            submit_sizes: self.submit_sizes,
            complete_sizes: self.complete_sizes,
            arrivals: self.arrivals,
            arrivals_late: self.arrivals_late,
            arrivals_dropped: self.arrivals_dropped,
            left_waiting: None,
            backlog_max: self.backlog_max,
        }
    }
}

/// Class of a queue depth: 1, 2–3, 4–7, 8–15, 16–31, 32–63, ≥ 64 → 0 … 6 (fio's `iodepth_level`). 0 counts as 1.
#[inline]
pub const fn depth_class(depth: u32) -> usize {
    let class = (depth | 1).ilog2() as usize;
    if class > 6 { 6 } else { class }
}

/// Class of a batch size: 0, 1–4, 5–8, 9–16, 17–32, 33–64, > 64 → 0 … 6 (fio's `iodepth_submit`).
#[inline]
pub const fn size_class(size: u32) -> usize {
    match size {
        0 => 0,
        1..=4 => 1,
        5..=8 => 2,
        9..=16 => 3,
        17..=32 => 4,
        33..=64 => 5,
        _ => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge_tally;

    fn shape() -> CellShape<'static> {
        CellShape { kinds: [true, true, false, false], response: true, ..CellShape::default() }
    }

    fn filled(ops: u64) -> Cell {
        let mut cell = Cell::new(shape());
        for n in 0..ops {
            let kind = cell.kind(OperationKind::Read);
            kind.bytes += 4096;
            kind.service.record(1000 + n);
            kind.response.as_mut().unwrap().record(2000 + n);
        }
        cell.kind(OperationKind::Write).record_error(5);
        cell.kind(OperationKind::Write).record_error(5);
        cell.kind(OperationKind::Write).record_error(28);
        cell
    }

    #[test]
    fn merging_what_cells_counted_is_counting_all_in_one() {
        let mut tally = filled(3).to_tally();
        merge_tally(&mut tally, &filled(3).to_tally());
        assert_eq!(tally.kinds.len(), 2);
        assert_eq!((tally.kinds[0].operations, tally.kinds[0].bytes), (6, 6 * 4096));
        assert_eq!(tally.kinds[0].response.as_ref().unwrap().moments.count, 6);
        assert_eq!(tally.kinds[1].errors, [(5, 4), (28, 2)]);
    }

    #[test]
    fn a_cleared_cell_is_as_new() {
        let mut cell = filled(9);
        assert!(!cell.is_empty());
        cell.clear();
        assert!(cell.is_empty());
        assert_eq!(cell.to_tally(), Cell::new(shape()).to_tally());
    }

    #[test]
    fn what_is_told_apart_by_target_adds_up_to_the_whole() {
        for targets in [&[3][..], &[3, 8]] {
            let mut cell = Cell::new(CellShape { targets, ..shape() });
            for n in 0..7_u64 {
                let kind = cell.kind(OperationKind::Read);
                kind.bytes += 512;
                kind.service.record(1000 + n);
                kind.response.as_mut().unwrap().record(2000 + n);
                if let Some(target) = cell.target(usize::from(n < 2), OperationKind::Read) {
                    target.record(512, 1000 + n, 2000 + n);
                }
            }
            cell.kind(OperationKind::Write).record_error(5);
            if let Some(target) = cell.target(0, OperationKind::Write) {
                target.record_error();
            }
            let StreamTally { kinds, targets: found, .. } = cell.to_tally();
            for kind in &kinds {
                let mut all = TargetTally::nothing(0, kind.kind);
                found.iter().filter(|one| one.kind == kind.kind).for_each(|one| all.merge(one));
                let errors: u64 = kind.errors.iter().map(|(_, count)| count).sum();
                assert_eq!((all.operations, all.bytes, all.errors), (kind.operations, kind.bytes, errors));
                for (found, expect) in [
                    (Some(all.service), Some(&kind.service)),
                    (all.response.filter(|_| kind.operations > 0), kind.response.as_ref()),
                ] {
                    let Some(found) = found else { continue };
                    let expect = expect.expect("it is an open loop").moments;
                    assert_eq!((found.sum_ns as f64, found.max_ns), (expect.sum_ns, expect.max_ns));
                }
            }
            if targets.len() > 1 {
                let operations: Vec<(u32, OperationKind, u64)> =
                    found.iter().map(|one| (one.target, one.kind, one.operations)).collect();
                let (read, write) = (OperationKind::Read, OperationKind::Write);
                assert_eq!(operations, [(3, read, 5), (3, write, 0), (8, read, 2)]);
                assert_eq!(found[2].response, Some(LatencySum { sum_ns: 4001, max_ns: 2001 }));
            }
            cell.clear();
            assert_eq!(cell.to_tally(), Cell::new(shape()).to_tally());
        }
    }

    #[test]
    fn more_error_numbers_than_slots_lose_no_count() {
        let mut kind = KindCell::default();
        (1..20).for_each(|errno| kind.record_error(errno));
        assert_eq!(kind.errors_total(), 19);
    }

    #[test]
    fn classes_are_fios() {
        for (depth, class) in [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (31, 4), (32, 5), (64, 6), (9999, 6)] {
            assert_eq!(depth_class(depth), class, "{depth}");
        }
        for (size, class) in [(0, 0), (1, 1), (4, 1), (5, 2), (16, 3), (17, 4), (64, 5), (65, 6)] {
            assert_eq!(size_class(size), class, "{size}");
        }
    }
}
