//! A worker's side of recording: the cell it fills, and handing it over at interval edges without ever waiting.
//!
//! Full cells go to the collector through one single-producer queue, empty ones come back through another.

use crate::handovers::Handovers;
use fathom_metrics::{Cell, CellShape, IssuedRow};
use fathom_schema::Phase;
use fathom_units::Nanos;
use std::sync::Arc;
use std::thread::Thread;

/// Cells of one worker: the one it fills, one on its way, and two so that a collector that is late by two whole intervals
/// still costs nothing.
pub(crate) const CELLS: usize = 4;
/// Cells of one worker of so many that making them would take longer than starting the workers: one less to spare.
const CELLS_OF_MANY: usize = 3;
/// Workers up to which each has `CELLS`.
pub(crate) const MANY_WORKERS: usize = 1000;

/// Issued operations on their way to the collector, 160 KiB of them: some milliseconds of the fastest device.
const ISSUED_ON_THE_WAY: usize = 4096;

/// Single operations for which the cells of a step's workers have room together, 14 MiB of them: a second of 200,000 per
/// second, so that a collector that is busy for as long keeps nobody waiting.
const ROWS_OF_STEP: usize = 1 << 18;
/// Single operations that a cell holds at least, however many workers there are.
const ROWS_PER_CELL_MIN: usize = 64;

/// A cell that was handed over.
#[derive(Debug)]
pub(crate) struct Filled {
    /// What was counted.
    pub(crate) cell: Box<Cell>,
    /// Start, since the step's start.
    pub(crate) start: Nanos,
    /// End, since the step's start.
    pub(crate) end: Nanos,
    /// Whether it counts.
    pub(crate) phase: Phase,
    /// It covers more than one edge.
    pub(crate) late: bool,
}

/// Fills cells and hands them over.
pub(crate) struct Recorder {
    /// The cell being filled.
    pub(crate) cell: Box<Cell>,
    /// Whether single operations are kept.
    pub(crate) keeps_rows: bool,
    /// Where operations are told of as they are issued, if anyone wants to know.
    issued: Option<rtrb::Producer<IssuedRow>>,
    full: rtrb::Producer<Filled>,
    empty: rtrb::Consumer<Box<Cell>>,
    collector: Thread,
    /// Where it says that it has handed a cell over, and as whom.
    handovers: Arc<Handovers>,
    number: usize,
    /// How often there was no empty cell, and filling on was not possible.
    pub(crate) waits: u64,
    /// How long it took until there was one, where single operations are kept.
    pub(crate) waited: Nanos,
    /// Since the step's start.
    cell_start: Nanos,
    phase: Phase,
    late: bool,
    /// Operations that count, of cells that were handed over.
    pub(crate) measured: u64,
    /// In-flight time that counts, of the same cells, in slot-nanoseconds.
    pub(crate) measured_in_flight_ns: u64,
}

/// Ends of the queues that the collector holds.
pub(crate) struct Outlet {
    pub(crate) issued: Option<rtrb::Consumer<IssuedRow>>,
    pub(crate) full: rtrb::Consumer<Filled>,
    pub(crate) empty: rtrb::Producer<Box<Cell>>,
}

impl Recorder {
    /// A recorder with all its cells allocated, and the collector's ends of its queues. Made one by one and not copied, so that
    /// what is never counted in never becomes memory.
    ///
    /// `number`: the worker's among all that share `handovers`.
    pub(crate) fn new(
        shape: CellShape<'_>,
        cells: usize,
        collector: Thread,
        handovers: &Arc<Handovers>,
        number: usize,
    ) -> (Self, Outlet) {
        let (full, full_out) = rtrb::RingBuffer::new(CELLS);
        let (mut empty_in, empty) = rtrb::RingBuffer::new(CELLS);
        for _ in 1..cells {
            let returned = empty_in.push(Box::new(Cell::new(shape)));
            returned.expect("the queue holds all cells");
        }
        let recorder = Self {
            cell: Box::new(Cell::new(shape)),
            keeps_rows: shape.rows > 0,
            issued: None,
            full,
            empty,
            collector,
            handovers: Arc::clone(handovers),
            number,
            waits: 0,
            waited: Nanos::ZERO,
            cell_start: Nanos::ZERO,
            phase: Phase::Ramp,
            late: false,
            measured: 0,
            measured_in_flight_ns: 0,
        };
        (recorder, Outlet { issued: None, full: full_out, empty: empty_in })
    }

    /// Tells of operations as they are issued, too.
    pub(crate) fn tell_of_issues(&mut self, outlet: &mut Outlet) {
        let (tell, told) = rtrb::RingBuffer::new(ISSUED_ON_THE_WAY);
        (self.issued, outlet.issued) = (Some(tell), Some(told));
    }

    /// Whether somebody wants to know of operations as they are issued.
    pub(crate) fn tells_of_issues(&self) -> bool {
        self.issued.is_some()
    }

    /// Tells of an operation that is issued. None is lost: where the collector is late, the worker waits; true when it did.
    pub(crate) fn issued(&mut self, row: IssuedRow) -> bool {
        let Some(issued) = &mut self.issued else { return false };
        let (mut row, mut has_waited) = (row, false);
        while let Err(rtrb::PushError::Full(back)) = issued.push(row) {
            (row, has_waited) = (back, true);
            self.collector.unpark();
            std::thread::yield_now();
        }
        has_waited
    }

    /// The thread that collects.
    pub(crate) fn collector(&self) -> Thread {
        self.collector.clone()
    }

    /// Begins counting: `start` since the step's start.
    pub(crate) fn begin(&mut self, start: Nanos, phase: Phase) {
        self.cell_start = start;
        self.phase = phase;
    }

    /// The phase of what is being counted.
    pub(crate) fn phase(&self) -> Phase {
        self.phase
    }

    /// When the cell that is being filled began, since the step's start.
    pub(crate) fn cell_start(&self) -> Nanos {
        self.cell_start
    }

    /// Hands the cell over at `end` and goes on in `phase` with an empty one. When none has come back: at an interval
    /// edge (`may_merge`) it goes on filling the same cell, which then is late; where phases would mix, it waits.
    pub(crate) fn rotate(&mut self, end: Nanos, phase: Phase, may_merge: bool) {
        let mut has_waited = false;
        let empty = loop {
            match self.empty.pop() {
                Ok(cell) => break cell,
                Err(_) if may_merge => {
                    self.late = true;
                    return;
                }
                Err(_) => {
                    has_waited = true;
                    self.collector.unpark();
                    std::thread::yield_now();
                }
            }
        };
        self.waits += u64::from(has_waited);
        let cell = std::mem::replace(&mut self.cell, empty);
        if self.phase == Phase::Measure {
            self.measured += cell.operations();
            self.measured_in_flight_ns += cell.in_flight_ns;
        }
        let filled = Filled { cell, start: self.cell_start, end, phase: self.phase, late: self.late };
        // There are as many places as cells, so a place is always free.
        self.full.push(filled).expect("the queue holds all cells");
        self.handovers.tell(self.number);
        self.collector.unpark();
        self.cell_start = end;
        self.phase = phase;
        self.late = false;
    }

    /// Adds how long handing over took, when it has waited since there were so many waits.
    pub(crate) fn count_wait(&mut self, waits: u64, took: impl FnOnce() -> Nanos) {
        if self.waits > waits {
            self.waited = self.waited.after(took());
        }
    }

    /// Marks the cell being filled as covering more than one edge.
    pub(crate) fn mark_late(&mut self) {
        self.late = true;
    }
}

/// Cells of each of so many workers.
pub(crate) fn cells_of(workers: usize) -> usize {
    if workers > MANY_WORKERS { CELLS_OF_MANY } else { CELLS }
}

/// Room for single operations in each cell of so many workers.
pub(crate) fn rows_per_cell(workers: usize) -> usize {
    (ROWS_OF_STEP / (workers.max(1) * CELLS)).max(ROWS_PER_CELL_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_metrics::OperationRow;

    fn one(collector: Thread) -> (Recorder, Outlet) {
        Recorder::new(CellShape::default(), CELLS, collector, &Handovers::of(1), 0)
    }

    #[test]
    fn a_wait_for_the_collector_is_counted() {
        let (send, take) = std::sync::mpsc::channel::<Outlet>();
        // Fewer tokens come from handing over than it takes, so the worker waits by then.
        let collector = std::thread::spawn(move || {
            let mut outlet = take.recv().expect("it is sent");
            (0..CELLS).for_each(|_| std::thread::park());
            let filled = outlet.full.pop().expect("all but one are on their way");
            outlet.empty.push(filled.cell).expect("the queue holds all cells");
            outlet
        });
        let (mut recorder, outlet) = one(collector.thread().clone());
        recorder.begin(Nanos::ZERO, Phase::Measure);
        for number in 1..CELLS as u64 {
            recorder.rotate(Nanos::secs(number), Phase::Measure, false);
        }
        assert_eq!(recorder.waits, 0);
        recorder.rotate(Nanos::secs(9), Phase::Measure, true);
        assert_eq!(recorder.waits, 0, "an edge goes by instead");
        send.send(outlet).expect("it is taken");
        recorder.rotate(Nanos::secs(10), Phase::Measure, false);
        assert_eq!(recorder.waits, 1);
        collector.join().expect("it does not panic");
    }

    #[test]
    fn a_wait_for_whoever_reads_what_is_issued_is_told() {
        let (mut recorder, mut outlet) = one(std::thread::current());
        let row = IssuedRow {
            at: Nanos::ZERO,
            kind: fathom_schema::OperationKind::Read,
            data_only: false,
            is_ranged: false,
            extent: 0,
            offset: 0,
            length: 1,
        };
        assert!(!recorder.issued(row), "nobody wants to know");
        recorder.tell_of_issues(&mut outlet);
        (0..ISSUED_ON_THE_WAY).for_each(|_| assert!(!recorder.issued(row)));
        // The one that does not fit waits until one was taken.
        let told = std::thread::spawn(move || recorder.issued(row));
        let mut issued = outlet.issued.expect("somebody wants to know");
        let mut taken = 0;
        while taken <= ISSUED_ON_THE_WAY {
            if taken == 0 {
                // Not before it has found no room, which it says by waking this thread.
                std::thread::park();
            }
            taken += usize::from(issued.pop().is_ok());
        }
        assert!(told.join().expect("it does not panic"));
    }

    #[test]
    fn single_operations_have_bounded_room_for_a_second_of_many() {
        for workers in [1, 2, 7, 64, 1000] {
            let room = rows_per_cell(workers) * workers * (CELLS - 1);
            assert!(room >= 180_000, "{workers} workers have room for {room}");
        }
        for workers in [1, 64, 1000, 65_536] {
            let bytes = rows_per_cell(workers) * workers * CELLS * size_of::<OperationRow>();
            assert!(bytes <= (14 << 20) + workers * 64 * CELLS * 56, "{workers} workers take {bytes} B");
        }
    }
}
