//! A worker's side of recording: the cell it fills, and handing it over at interval edges without ever waiting.
//!
//! Full cells go to the collector through one single-producer queue, empty ones come back through another.

use fathom_metrics::{Cell, IssuedRow};
use fathom_schema::Phase;
use fathom_units::Nanos;
use std::thread::Thread;

/// Cells of one worker: the one it fills, one on its way, and two so that a collector that is late by two whole intervals
/// still costs nothing.
pub(crate) const CELLS: usize = 4;

/// Issued operations on their way to the collector, 160 KiB of them: some milliseconds of the fastest device.
const ISSUED_ON_THE_WAY: usize = 4096;

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
    /// Since the step's start.
    cell_start: Nanos,
    phase: Phase,
    late: bool,
}

/// Ends of the queues that the collector holds.
pub(crate) struct Outlet {
    pub(crate) issued: Option<rtrb::Consumer<IssuedRow>>,
    pub(crate) full: rtrb::Consumer<Filled>,
    pub(crate) empty: rtrb::Producer<Box<Cell>>,
}

impl Recorder {
    /// A recorder with all its cells allocated, and the collector's ends of its queues.
    pub(crate) fn new(template: &Cell, collector: Thread) -> (Self, Outlet) {
        let (full, full_out) = rtrb::RingBuffer::new(CELLS);
        let (mut empty_in, empty) = rtrb::RingBuffer::new(CELLS);
        for _ in 1..CELLS {
            let returned = empty_in.push(Box::new(template.clone()));
            returned.expect("the queue holds all cells");
        }
        let recorder = Self {
            cell: Box::new(template.clone()),
            keeps_rows: template.keeps_rows(),
            issued: None,
            full,
            empty,
            collector,
            cell_start: Nanos::ZERO,
            phase: Phase::Ramp,
            late: false,
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

    /// Tells of an operation that is issued. None is lost: where the collector is late, the worker waits.
    pub(crate) fn issued(&mut self, row: IssuedRow) {
        let Some(issued) = &mut self.issued else { return };
        let mut row = row;
        while let Err(rtrb::PushError::Full(back)) = issued.push(row) {
            row = back;
            self.collector.unpark();
            std::thread::yield_now();
        }
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

    /// Hands the cell over at `end` and goes on in `phase` with an empty one. When none has come back: at an interval
    /// edge (`may_merge`) it goes on filling the same cell, which then is late; where phases would mix, it waits.
    pub(crate) fn rotate(&mut self, end: Nanos, phase: Phase, may_merge: bool) {
        let empty = loop {
            match self.empty.pop() {
                Ok(cell) => break cell,
                Err(_) if may_merge => {
                    self.late = true;
                    return;
                }
                Err(_) => {
                    self.collector.unpark();
                    std::thread::yield_now();
                }
            }
        };
        let cell = std::mem::replace(&mut self.cell, empty);
        let filled = Filled { cell, start: self.cell_start, end, phase: self.phase, late: self.late };
        // There are as many places as cells, so a place is always free.
        self.full.push(filled).expect("the queue holds all cells");
        self.collector.unpark();
        self.cell_start = end;
        self.phase = phase;
        self.late = false;
    }

    /// Marks the cell being filled as covering more than one edge.
    pub(crate) fn mark_late(&mut self) {
        self.late = true;
    }
}
