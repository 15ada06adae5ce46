//! When the operations of one worker are due: as soon as a slot is free, or when a schedule says.

use crate::schedule::Schedule;
use fathom_pattern::{Arrivals, Trace};
use fathom_schema::{Arrival, Backlog, Counted, OperationKind, Pacing, Stream, Think, WorkerPlan};
use std::sync::Arc;

/// When operations of one worker are due.
pub(crate) enum Pace {
    Closed(Think),
    Open(Box<Schedule>),
}

/// When the operations of a worker are due. `index`: its number among all workers of the stream.
pub(crate) fn pace_of(stream: &Stream, plan: &WorkerPlan, index: usize, trace: Option<Arc<Trace>>) -> Pace {
    let (rate, arrival, course, backlog) = match &stream.pacing {
        Pacing::Closed { think } => return Pace::Closed(*think),
        Pacing::Open { rate, arrival, course, backlog } => (*rate, *arrival, course, *backlog),
    };
    let backlog = part_of(backlog, index as u64, stream.workers.len() as u64);
    let (part, seed) = (plan.part, plan.seed);
    let arrivals = match (stream.rate_counts, arrival, trace) {
        (_, Arrival::Traced { speed }, Some(trace)) => Arrivals::of_trace(trace, speed),
        (_, Arrival::ByKind, _) => Arrivals::by_kind(rate, &shares_of_kinds(stream), part),
        (Counted::Operations, ..) => Arrivals::new(rate, arrival, course, part, seed),
        (Counted::Bytes, ..) => Arrivals::scaled(rate, arrival, course, part, seed),
    };
    Pace::Open(Box::new(match stream.rate_counts {
        Counted::Operations => Schedule::new(&arrivals, backlog),
        Counted::Bytes => Schedule::by_bytes(&arrivals, backlog, bytes_that_count_as_one(stream, arrival)),
    }))
}

/// What one of so many workers may have waiting: parts as even as they can be, which together are all.
fn part_of(backlog: Backlog, index: u64, workers: u64) -> Backlog {
    match backlog {
        Backlog::Keep => Backlog::Keep,
        Backlog::DropBeyond(all) => Backlog::DropBeyond(all / workers + u64::from(index < all % workers)),
    }
}

/// What part of its operations each kind has.
fn shares_of_kinds(stream: &Stream) -> [f64; OperationKind::COUNT] {
    let mut shares = [0.0; OperationKind::COUNT];
    stream.workload.cases.iter().for_each(|case| shares[case.kind.index()] += case.weight);
    shares
}

/// Where operations count by their bytes, how many count as one, by kind: the mean of those that have a clock together.
fn bytes_that_count_as_one(stream: &Stream, arrival: Arrival) -> [f64; OperationKind::COUNT] {
    let cases = &stream.workload.cases;
    if arrival != Arrival::ByKind {
        return [cases.iter().map(|case| case.weight * case.size.mean()).sum(); OperationKind::COUNT];
    }
    let mut bytes = [0.0; OperationKind::COUNT];
    cases.iter().for_each(|case| bytes[case.kind.index()] += case.weight * case.size.mean());
    let shares = shares_of_kinds(stream);
    std::array::from_fn(|kind| if shares[kind] > 0.0 { bytes[kind] / shares[kind] } else { 1.0 })
}

/// Operations up to the first pause.
pub(crate) fn operations_of(think: Think) -> u64 {
    match think {
        Think::None => u64::MAX,
        // Only time counts, which is looked at with each operation.
        Think::Every { operations, .. } => operations.min(u64::MAX - 1),
    }
}

/// When the next pause of a load that comes by itself is due, counted as fio does: what completes while the queue empties for one
/// counts towards the next.
#[derive(Debug)]
pub(crate) struct NextPause {
    every: u64,
    by_issue: bool,
    /// Operations until then.
    pub(crate) until: u64,
    /// Completions since it was due.
    drained: u64,
    /// It comes when one more operation has gone: where the last one's drain was enough for it, and of a queue that is not full, since
    /// fio looks behind each operation that goes.
    comes_after_one: bool,
    /// Nothing is issued any more until it is over.
    pub(crate) has_come: bool,
}

impl NextPause {
    /// `until`: operations left until the first, where some have been counted before.
    pub(crate) fn new(think: Think, until: Option<u64>) -> Self {
        let every = operations_of(think);
        let until = until.unwrap_or(every);
        let by_issue = matches!(think, Think::Every { by_issue: true, .. });
        Self { every, by_issue, until, drained: 0, comes_after_one: false, has_come: until == 0 }
    }

    /// Whether nothing may go before it.
    pub(crate) fn holds(&self) -> bool {
        self.has_come || self.until == 0 && !self.comes_after_one
    }

    /// After an operation went.
    pub(crate) fn issued(&mut self) {
        if self.by_issue {
            self.until -= 1;
        }
        if self.comes_after_one {
            (self.has_come, self.comes_after_one, self.drained) = (true, false, 0);
        }
    }

    /// After so many completions, of a queue that was full before them or not; `is_time`: the time of load between pauses is over.
    pub(crate) fn completed(&mut self, found: u64, was_full: bool, is_time: bool) {
        if !self.by_issue {
            self.comes_after_one |= self.until > 0 && found >= self.until && !was_full;
            self.drained += found.saturating_sub(self.until);
            self.until = self.until.saturating_sub(found);
        }
        self.has_come |= self.until == 0 && !self.comes_after_one || is_time;
    }

    /// After it.
    pub(crate) fn is_over(&mut self) {
        (self.has_come, self.comes_after_one) = (false, self.drained >= self.every);
        self.until = self.every.saturating_sub(std::mem::take(&mut self.drained));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_backlog_are_even_and_add_up_to_it() {
        for (all, expect) in [
            (100, vec![34, 33, 33]),
            (2, vec![1, 1, 0, 0]),
            (400, vec![100; 4]),
            (1, vec![1]),
            (1, vec![1, 0]),
        ] {
            let workers = expect.len() as u64;
            let parts: Vec<Backlog> =
                (0..workers).map(|index| part_of(Backlog::DropBeyond(all), index, workers)).collect();
            let expect: Vec<Backlog> = expect.into_iter().map(Backlog::DropBeyond).collect();
            assert_eq!(parts, expect);
        }
        assert_eq!(part_of(Backlog::Keep, 1, 3), Backlog::Keep);
    }
}
