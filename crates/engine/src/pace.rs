//! When the operations of one worker are due: as soon as a slot is free, or when a schedule says.

use crate::schedule::Schedule;
use fathom_pattern::{Arrivals, Trace};
use fathom_schema::{Arrival, Counted, Pacing, Stream, Think, WorkerPlan};
use std::sync::Arc;

/// When operations of one worker are due.
pub(crate) enum Pace {
    Closed(Think),
    Open(Box<Schedule>),
}

/// When the operations of a worker are due.
pub(crate) fn pace_of(stream: &Stream, plan: &WorkerPlan, trace: Option<Arc<Trace>>) -> Pace {
    let (rate, arrival, course, backlog) = match &stream.pacing {
        Pacing::Closed { think } => return Pace::Closed(*think),
        Pacing::Open { rate, arrival, course, backlog } => (*rate, *arrival, course, *backlog),
    };
    let (part, seed) = (plan.part, plan.seed);
    Pace::Open(Box::new(match (stream.rate_counts, arrival, trace) {
        (_, Arrival::Traced { speed }, Some(trace)) => {
            Schedule::new(&Arrivals::of_trace(trace, speed), backlog)
        }
        (Counted::Operations, ..) => {
            Schedule::new(&Arrivals::new(rate, arrival, course, part, seed), backlog)
        }
        (Counted::Bytes, ..) => {
            let arrivals = Arrivals::scaled(rate, arrival, course, part, seed);
            let cases = &stream.workload.cases;
            let mean_bytes = cases.iter().map(|case| case.weight * case.size.mean()).sum();
            Schedule::by_bytes(&arrivals, backlog, mean_bytes)
        }
    }))
}

/// Operations up to the first pause.
pub(crate) fn operations_of(think: Think) -> u64 {
    match think {
        Think::None => u64::MAX,
        // Only time counts, which is looked at with each operation.
        Think::Every { operations, .. } => operations.min(u64::MAX - 1),
    }
}
