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
