//! Whether what operations took and what was in flight agree: throughput × service time is the time in flight (Little's law), with
//! errors, over the edges of what is measured, and on any device. In virtual time.

mod support;

use fathom_schema::*;
use fathom_units::{Nanos, Ratio};
use support::{device, run, step, stream};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

fn open(rate: f64) -> Pacing {
    Pacing::Open { rate, arrival: Arrival::Constant, course: Vec::new(), backlog: Backlog::Keep }
}

/// What operations took that count, ÷ the time for which they had slots, or were in flight.
fn ratio(sim: &SimDevice, stream: &Stream) -> f64 {
    let engine = stream.engine.kind;
    let outcome = run(step(TargetKind::Sim(sim.clone()), stream.clone()));
    let tally = &outcome.executed.streams[0].workers[0].tally;
    let window_ns = outcome.seconds() * 1e9;
    let in_flight_ns = match stream.pacing {
        Pacing::Closed { .. } => window_ns * f64::from(stream.queue_depth),
        Pacing::Open { .. } => tally.in_flight_ns,
    };
    let took_ns: f64 = tally.kinds.iter().map(|kind| kind.service.moments.sum_ns).sum();
    assert!(took_ns > 0.0, "{engine:?}");
    (took_ns + tally.failed_ns) / (in_flight_ns + tally.outside_ns)
}

fn check(sim: &SimDevice, stream: &Stream, case: &str) {
    let found = ratio(sim, stream);
    assert!((found - 1.0).abs() < 1e-3, "{case}: {found}");
}

fn of(depth: u32, pacing: Pacing, ramp_s: u64) -> Stream {
    let mut stream = stream(EngineKind::Sim, depth);
    stream.pacing = pacing;
    stream.ramp = Nanos::secs(ramp_s);
    stream.limits.time = TimeLimit::Nanoseconds(10 * SECOND);
    stream.control.tolerates = Tolerance::Listed { reads: vec![5], writes: Vec::new() };
    stream
}

#[test]
fn operations_that_failed_were_in_flight() {
    for share in [0.1, 0.5] {
        let error_share = Ratio::new(share).expect("it is a share");
        let sim = SimDevice { error_share, ..device(SimService::Constant { ns: MS }, 4) };
        for depth in [1, 4] {
            for ramp_s in [0, 5] {
                for pacing in [Pacing::Closed { think: Think::None }, open(500.0)] {
                    let case = format!("{share}, depth {depth}, {ramp_s} s, {pacing:?}");
                    check(&sim, &of(depth, pacing, ramp_s), &case);
                }
            }
        }
    }
}

/// All that is in flight at 9 s, within the window, stays so until 109 s.
#[test]
fn what_outlasts_the_window_was_in_flight_until_it_ended() {
    for stall in [(9 * SECOND, 100 * SECOND), (4 * SECOND, 4 * SECOND), (14 * SECOND + 999 * MS, 2 * SECOND)]
    {
        let sim = SimDevice { stalls: vec![stall], ..device(SimService::Constant { ns: MS }, 1) };
        for depth in [1, 4, 64] {
            for pacing in [Pacing::Closed { think: Think::None }, open(500.0)] {
                let case = format!("{stall:?}, depth {depth}, {pacing:?}");
                check(&sim, &of(depth, pacing, 5), &case);
            }
        }
    }
}

/// However many slots are free: while a stream thinks, and until what is in flight has completed before it does, none is there for
/// those that wait, of which no more than the backlog may.
#[test]
fn no_more_wait_than_may_while_a_stream_thinks() {
    let sim = device(SimService::Exponential { mean_ns: MS }, 16);
    for by_issue in [false, true] {
        for (depth, rate, most) in [(64, 48_000.0, 1), (64, 48_000.0, 4), (4, 2000.0, 10), (1, 900.0, 3)] {
            for operations in [1, 10, 1000] {
                let backlog = Backlog::DropBeyond(most);
                let pacing = Pacing::Open { rate, arrival: Arrival::Poisson, course: Vec::new(), backlog };
                let mut stream = of(depth, pacing, 0);
                stream.pauses.think =
                    Think::Every { operations, pause_ns: 2 * MS, by_issue, after_ns: u64::MAX, spin_ns: 0 };
                let outcome = run(step(TargetKind::Sim(sim.clone()), stream));
                let worker = &outcome.executed.streams[0].workers[0];
                let tally = &worker.tally;
                let case = format!("{by_issue} {depth} {rate} {most} {operations}: {tally:?}");
                assert!((1..=most).contains(&tally.backlog_max) && worker.waiting <= most, "{case}");
                let told = outcome.reads().operations + tally.arrivals_dropped + worker.waiting;
                assert_eq!(tally.arrivals, told, "{case}");
            }
        }
    }
}

/// Arrivals that are due together, since the device stood still, go down in batches of the size that was asked for.
#[test]
fn batches_of_arrivals_are_of_the_size_that_was_asked_for() {
    let largest = |is_exact: bool| {
        let stalls = vec![(500 * MS, 100 * MS)];
        let sim = SimDevice { stalls, ..device(SimService::Constant { ns: MS }, 64) };
        let mut stream = of(64, open(2000.0), 0);
        (stream.engine.batch_submit, stream.engine.exact_batches) = (8, is_exact);
        let outcome = run(step(TargetKind::Sim(sim), stream));
        let tally = &outcome.executed.streams[0].workers[0].tally;
        let sizes = tally.submit_sizes;
        sizes.iter().rposition(|count| *count > 0).expect("some were submitted")
    };
    // Classes of 5 to 8, and of 33 to 64.
    assert_eq!((largest(true), largest(false)), (2, 5));
}

/// What is written is on the medium when the time of a closed loop ends with a sync: the sync is time of it. At a rate it is not, which is
/// that of the time asked for, nor is it where nothing was written.
#[test]
fn a_sync_at_the_end_is_time_of_what_was_written() {
    const WRITES: u64 = 40;
    for (kind, pacing, more) in [
        (OperationKind::Write, Pacing::Closed { think: Think::None }, Nanos::millis(1)),
        (OperationKind::Read, Pacing::Closed { think: Think::None }, Nanos::ZERO),
        (OperationKind::Write, open(100.0), Nanos::ZERO),
    ] {
        for depth in [1, 4] {
            let [without, with] = [false, true].map(|fsync_at_end| {
                let mut stream = stream(EngineKind::Sim, depth);
                stream.workload.cases[0].kind = kind;
                stream.workload.sync.fsync_at_end = fsync_at_end;
                stream.pacing = pacing.clone();
                stream.limits.operations = Quota::AtMost(WRITES);
                let target = TargetKind::Sim(device(SimService::Constant { ns: 1_000_000 }, 1));
                let outcome = run(step(target, stream));
                assert_eq!(outcome.kind(kind).expect("it was done").operations, WRITES);
                let worker = &outcome.executed.streams[0].workers[0];
                worker.end.since(worker.start)
            });
            assert_eq!(with, without.after(more), "{kind:?} {pacing:?} at depth {depth}");
        }
    }
}
