//! The open loop's book: which arrivals have come due and which of them have been issued. An arrival is counted in the
//! interval it comes due in, however late it goes out.
//!
//! Those that wait take no memory: the schedule is a pure function, so one reading of it runs ahead and counts, and a
//! second one follows and says when the next to be issued was due. Does not know what is issued.

use fathom_metrics::Cell;
use fathom_pattern::Arrivals;
use fathom_schema::Backlog;
use fathom_units::Nanos;

/// One worker's arrivals.
pub(crate) struct Schedule {
    /// What schedule times count from.
    origin: Nanos,
    issued: Arrivals,
    /// When the next arrival to be issued was due.
    due: Nanos,
    counted: Arrivals,
    /// When the next arrival that is not counted yet is due. Not before `due`.
    coming: Nanos,
    /// Arrivals between the two: due and not issued.
    waiting: u64,
    /// More than these never wait.
    waiting_max: u64,
    /// Until when no slot was free: what came due before is late.
    full_until: Nanos,
    /// Some waited when all slots had been taken: what comes due since is late too.
    is_behind: bool,
}

impl Schedule {
    /// The schedule that `arrivals` reads; `backlog` is of one worker.
    pub(crate) fn new(arrivals: &Arrivals, backlog: Backlog) -> Self {
        Self {
            origin: Nanos::ZERO,
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
            is_behind: false,
        }
    }

    /// Starts it.
    pub(crate) fn begin(&mut self, origin: Nanos) {
        self.origin = origin;
        self.due = origin.after(Nanos(self.issued.next_ns()));
        self.coming = origin.after(Nanos(self.counted.next_ns()));
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

    /// Counts what came due before `until`. Where more wait than may, the one that has waited longest is given up.
    #[inline]
    pub(crate) fn come_due(&mut self, until: Nanos, cell: &mut Cell) {
        while self.coming < until {
            cell.arrivals += 1;
            cell.arrivals_late += u64::from(self.is_behind || self.coming < self.full_until);
            self.waiting += 1;
            self.coming = self.origin.after(Nanos(self.counted.next_ns()));
            if self.waiting > self.waiting_max {
                cell.arrivals_dropped += 1;
                self.pass();
            }
        }
    }

    /// How many are due and not issued, when all that could be issued have been.
    #[inline]
    pub(crate) fn left_waiting(&mut self) -> u64 {
        self.is_behind = self.waiting > 0;
        self.waiting
    }

    /// Goes on to the next arrival: the one that was due is issued, or given up.
    #[inline]
    pub(crate) fn pass(&mut self) {
        self.waiting -= 1;
        self.due = self.origin.after(Nanos(self.issued.next_ns()));
    }
}
