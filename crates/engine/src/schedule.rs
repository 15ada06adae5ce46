//! The open loop's book: which arrivals have come due and which of them have been issued. An arrival is counted in the
//! interval it comes due in, however late it goes out.
//!
//! Those that wait take no memory: the schedule is a pure function, so one reading of it runs ahead and counts, and a
//! second one follows and says when the next to be issued was due. Does not know what is issued.

use fathom_metrics::{Cell, Latency};
use fathom_pattern::Arrivals;
use fathom_schema::{Backlog, LatencyTally, OperationKind};
use fathom_units::Nanos;

/// One worker's arrivals.
pub(crate) struct Schedule {
    /// What schedule times count from; `NEVER` until it has begun.
    origin: Nanos,
    issued: Arrivals,
    /// When the next arrival to be issued was due.
    due: Nanos,
    counted: Arrivals,
    /// When the next arrival that is not counted yet is due, as far as sizes are known. Not before `due`.
    coming: Nanos,
    /// Arrivals between the two: due and not issued.
    waiting: u64,
    /// More than these never wait for a slot.
    waiting_max: u64,
    /// Until when no slot was free: what came due before is late.
    full_until: Nanos,
    /// No slot is for arrivals, however many are free.
    is_closed: bool,
    /// Where operations count by their bytes: how.
    by_bytes: Option<ByBytes>,
    /// How much later they come, since those before were not of mean size; 0 where each counts as one.
    shift_ns: i64,
    /// Some waited when all slots had been taken: what comes due since is late too.
    is_behind: bool,
}

/// Operations that count by their bytes.
struct ByBytes {
    /// Bytes of an operation that counts as one, by kind.
    mean: [f64; OperationKind::COUNT],
    /// The schedule read as if they were, as far as `issued` is.
    plain: Arrivals,
}

/// Arrivals that had come due and were not issued.
#[derive(Debug, Default)]
pub(crate) struct LeftWaiting {
    pub(crate) count: u64,
    /// For how long the oldest of them had waited; 0 when there are none.
    pub(crate) oldest: Nanos,
    /// For how long each had waited; `None` when there are none.
    pub(crate) waits: Option<Box<LatencyTally>>,
}

impl Schedule {
    /// A schedule that counts an operation by its bytes, of which one of its kind has `mean_bytes` on average. What comes
    /// due is known as far as sizes are: of those that wait, the mean is taken.
    pub(crate) fn by_bytes(
        arrivals: &Arrivals,
        backlog: Backlog,
        mean_bytes: [f64; OperationKind::COUNT],
    ) -> Self {
        let by_bytes = ByBytes { mean: mean_bytes, plain: arrivals.clone() };
        Self { by_bytes: Some(by_bytes), ..Self::new(arrivals, backlog) }
    }

    /// The schedule that `arrivals` reads; `backlog` is of one worker.
    pub(crate) fn new(arrivals: &Arrivals, backlog: Backlog) -> Self {
        Self {
            origin: Nanos::NEVER,
            issued: arrivals.clone(),
            due: Nanos::ZERO,
            counted: arrivals.clone(),
            coming: Nanos::ZERO,
            waiting: 0,
            waiting_max: match backlog {
                Backlog::Keep => u64::MAX,
                Backlog::DropBeyond(arrivals) => arrivals,
            },
            full_until: Nanos::ZERO,
            is_closed: false,
            by_bytes: None,
            shift_ns: 0,
            is_behind: false,
        }
    }

    /// Starts it, unless that was done before.
    pub(crate) fn begin(&mut self, origin: Nanos) {
        if self.origin != Nanos::NEVER {
            return;
        }
        self.origin = origin;
        self.due = origin.after(Nanos(self.issued.next_ns()));
        self.coming = origin.after(Nanos(self.counted.next_ns()));
        if let Some(by_bytes) = &mut self.by_bytes {
            by_bytes.plain.next_ns();
        }
    }

    /// Puts off everything to come, and what waits, by a pause in the load.
    pub(crate) fn put_off(&mut self, by: Nanos) {
        for instant in [&mut self.origin, &mut self.due, &mut self.coming, &mut self.full_until] {
            *instant = instant.after(by);
        }
    }

    /// As [`Schedule::put_off`], and so far that nothing comes due before `end`, unless something had by `now`: what operations took
    /// before pauses would add up, and be caught up.
    pub(crate) fn put_off_past(&mut self, now: Nanos, by: Nanos, end: Nanos) {
        let is_due = self.waiting > 0 || self.coming <= now;
        self.put_off(by);
        if !is_due {
            self.put_off(end.since(self.coming));
        }
    }

    /// Goes on at `now` with what comes due, after a time in which nothing was to be issued; what waited by then has waited on.
    #[cold]
    pub(crate) fn go_on(&mut self, now: Nanos) {
        if self.waiting == 0 {
            self.put_off(now.since(self.coming));
        }
    }

    /// When the next arrival to be issued was, or will be, due.
    #[inline]
    pub(crate) fn due(&self) -> Nanos {
        self.due
    }

    /// Notes that no slot was free until now.
    #[inline]
    pub(crate) fn was_full(&mut self, until: Nanos) {
        self.full_until = until;
    }

    /// Takes no arrival up until it is opened again, however many slots are free: those that wait in a pause, and as long as what is
    /// in flight completes before it, wait as if there were none.
    pub(crate) fn close(&mut self, cell: &mut Cell) {
        self.is_closed = true;
        self.drop_beyond(0, cell);
    }

    /// Slots that are free are there for arrivals again.
    pub(crate) fn open(&mut self) {
        self.is_closed = false;
    }

    /// Counts what came due before `until`; `free` slots are there for some of it. Where more wait for a slot than may, the
    /// one that has waited longest is given up.
    #[inline]
    pub(crate) fn come_due(&mut self, until: Nanos, free: u64, cell: &mut Cell) {
        let free = if self.is_closed { 0 } else { free };
        while self.coming < until {
            let was_full = self.coming < self.full_until;
            cell.arrivals += 1;
            // Those that wait have the slots that are free.
            cell.arrivals_late += u64::from(self.is_behind || was_full || self.waiting >= free);
            self.waiting += 1;
            let coming = self.origin.after(Nanos(self.counted.next_ns()));
            self.coming = Nanos(coming.0.saturating_add_signed(self.shift_ns));
            self.drop_beyond(if was_full { 0 } else { free }, cell);
            if was_full {
                cell.backlog_max = cell.backlog_max.max(self.waiting);
            }
        }
        // A sync has taken a slot that was there for an arrival.
        self.drop_beyond(free, cell);
    }

    #[inline]
    fn drop_beyond(&mut self, free: u64, cell: &mut Cell) {
        while self.waiting > self.waiting_max.saturating_add(free) {
            cell.arrivals_dropped += 1;
            self.pass_as(1.0);
        }
    }

    /// How many are due and not issued, when all that could be issued have been.
    #[inline]
    pub(crate) fn left_waiting(&mut self) -> u64 {
        self.is_behind = self.waiting > 0;
        self.waiting
    }

    /// Whether more wait than there are in flight, or, where these have all slots, as many as may.
    pub(crate) fn is_swamped(&self, in_flight: u64, is_full: bool) -> bool {
        self.waiting > in_flight || is_full && self.waiting >= self.waiting_max
    }

    /// Whether any wait.
    pub(crate) const fn is_awaited(&self) -> bool {
        self.waiting > 0
    }

    /// Those that were left when the load ended, at `end`; none are left then. Reading when each was due takes no longer than it
    /// took to count them.
    pub(crate) fn leave(&mut self, end: Nanos) -> LeftWaiting {
        if self.waiting == 0 {
            return LeftWaiting::default();
        }
        let (count, oldest) = (self.waiting, end.since(self.due));
        let mut waits = Latency::default();
        while self.waiting > 0 {
            waits.record(end.since(self.due).0);
            self.pass_as(1.0);
        }
        LeftWaiting { count, oldest, waits: Some(Box::new(waits.to_tally())) }
    }

    /// Goes on to the next arrival: the one that was due is issued, as this operation.
    #[inline]
    pub(crate) fn pass(&mut self, kind: OperationKind, bytes: u32) {
        let times =
            self.by_bytes.as_ref().map_or(1.0, |by_bytes| f64::from(bytes) / by_bytes.mean[kind.index()]);
        self.pass_as(times);
    }

    #[inline]
    fn pass_as(&mut self, times: f64) {
        self.waiting -= 1;
        let next_ns = self.issued.next_scaled_ns(times);
        self.due = self.origin.after(Nanos(next_ns));
        if let Some(by_bytes) = &mut self.by_bytes {
            let shift_ns = next_ns.wrapping_sub(by_bytes.plain.next_ns()).cast_signed();
            self.coming = Nanos(self.coming.0.saturating_add_signed(shift_ns.wrapping_sub(self.shift_ns)));
            self.shift_ns = shift_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_metrics::CellShape;
    use fathom_schema::{Arrival, SharePart};

    const MS: u64 = 1_000_000;

    fn cell() -> Cell {
        Cell::new(CellShape { kinds: [true, false, false, false], response: true, ..CellShape::default() })
    }

    /// One arrival each millisecond, a backlog of at most 2.
    fn schedule() -> Schedule {
        let part = SharePart { index: 0, count: 1 };
        let arrivals = Arrivals::new(1000.0, Arrival::Constant, &[], part, 1);
        let mut schedule = Schedule::new(&arrivals, Backlog::DropBeyond(2));
        schedule.begin(Nanos::ZERO);
        schedule
    }

    #[test]
    fn a_burst_that_free_slots_take_is_not_dropped() {
        // A worker that comes late finds 10 at once.
        for (free, dropped) in [(32, 0), (8, 0), (7, 1), (1, 7), (0, 8)] {
            let (mut schedule, mut cell) = (schedule(), cell());
            let first = schedule.due().0;
            schedule.come_due(Nanos(first + 9 * MS + 1), free, &mut cell);
            assert_eq!((cell.arrivals, cell.arrivals_dropped), (10, dropped), "{free} free");
            assert_eq!(schedule.due().0, first + dropped * MS, "those that waited longest go");
            assert_eq!(schedule.left_waiting(), 10 - dropped);
            let left = schedule.leave(Nanos(first + 9 * MS + 1));
            assert_eq!((left.count, left.oldest), (10 - dropped, Nanos((9 - dropped) * MS + 1)));
            // They were due a millisecond after one another, the last one a nanosecond ago.
            let waits = left.waits.expect("some are left").moments;
            let expect = (0..10 - dropped).map(|n| n * MS + 1);
            assert_eq!((waits.count, waits.min_ns, waits.max_ns), (10 - dropped, 1, left.oldest.0));
            assert_eq!(waits.sum_ns, expect.sum::<u64>() as f64);
            let left = schedule.leave(Nanos(first + 9 * MS + 1));
            assert_eq!((left.count, left.waits), (0, None));
        }
    }

    #[test]
    fn bytes_shift_what_comes() {
        let part = SharePart { index: 0, count: 1 };
        let arrivals = Arrivals::scaled(1000.0, Arrival::Constant, &[], part, 1);
        let (mut schedule, mut cell) = (Schedule::by_bytes(&arrivals, Backlog::Keep, [1000.0; 4]), cell());
        schedule.begin(Nanos::ZERO);
        let mut due = 0;
        for bytes in [500, 3000, 1000, 250] {
            schedule.come_due(Nanos(due + 1), 1, &mut cell);
            assert_eq!((schedule.due(), schedule.left_waiting()), (Nanos(due), 1));
            schedule.pass(OperationKind::Read, bytes);
            due += u64::from(bytes) * 1000;
        }
        assert_eq!(cell.arrivals, 4);
        // Ten milliseconds late: as many as come at mean size have come.
        schedule.come_due(Nanos(due + 10 * MS + 1), 1, &mut cell);
        assert_eq!((schedule.due(), schedule.left_waiting()), (Nanos(due), 11));
        for _ in 0..5 {
            schedule.pass(OperationKind::Read, 2000);
        }
        schedule.come_due(Nanos(due + 10 * MS + 1), 1, &mut cell);
        assert_eq!((schedule.due(), schedule.left_waiting()), (Nanos(due + 10 * MS), 6));
    }

    #[test]
    fn what_came_while_no_slot_was_free_waits_for_one() {
        let (mut schedule, mut cell) = (schedule(), cell());
        let first = schedule.due().0;
        // Full until the fifth has come; then 32 slots are free, and five more come.
        schedule.was_full(Nanos(first + 4 * MS + 1));
        schedule.come_due(Nanos(first + 9 * MS + 1), 32, &mut cell);
        assert_eq!((cell.arrivals, cell.arrivals_late, cell.arrivals_dropped), (10, 5, 3));
        assert_eq!(cell.backlog_max, 2, "as many as may wait did, before slots were free");
        // Slots that something else takes are not there for those that wait.
        schedule.come_due(Nanos(first + 9 * MS + 1), 1, &mut cell);
        assert_eq!((cell.arrivals, cell.arrivals_dropped, schedule.left_waiting()), (10, 7, 3));
    }
}
