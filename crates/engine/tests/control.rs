//! Job control in virtual time: who waits for whom.

mod support;

use fathom_schema::*;
use fathom_units::Nanos;
use support::{Outcome, device, run, step, stream};

const MS: u64 = 1_000_000;

/// A stream of so many operations of 1 ms each, one after another.
fn counting(operations: u64) -> Stream {
    let mut counting = stream(EngineKind::Sim, 1);
    counting.limits = StreamLimits {
        time: TimeLimit::Unbounded,
        bytes: Quota::Unlimited,
        operations: Quota::AtMost(operations),
    };
    counting
}

fn run_all(streams: Vec<Stream>) -> Outcome {
    let sim = device(SimService::Constant { ns: MS }, 1);
    let mut step = step(TargetKind::Sim(sim), counting(1));
    step.streams = streams;
    run(step)
}

/// Start and end of each stream's first worker, in milliseconds.
fn windows(outcome: &Outcome) -> Vec<(u64, u64)> {
    let window = |stream: &StreamTotals| (stream.workers[0].start.0 / MS, stream.workers[0].end.0 / MS);
    outcome.executed.streams.iter().map(window).collect()
}

#[test]
fn a_stream_starts_when_those_it_waits_for_have_ended() {
    let mut two_workers = counting(30);
    two_workers.workers.push(two_workers.workers[0].clone());
    two_workers.start_delay = Nanos::millis(5);
    let mut last = counting(10);
    last.control.after = vec![1, 2];
    let mut waits = counting(20);
    waits.control.after = vec![0];
    // The one that waits stands first: places in the step say nothing about order.
    let outcome = run_all(vec![two_workers, waits, counting(40), last]);
    assert_eq!(windows(&outcome), [(5, 35), (35, 55), (0, 40), (55, 65)]);
    assert_eq!(outcome.executed.stop, Stop::Complete);
}

#[test]
fn a_start_delay_counts_from_the_steps_start() {
    let (mut sooner, mut later) = (counting(1), counting(1));
    (sooner.start_delay, sooner.control.after) = (Nanos::millis(10), vec![0]);
    (later.start_delay, later.control.after) = (Nanos::millis(60), vec![0]);
    assert_eq!(windows(&run_all(vec![counting(50), sooner, later])), [(0, 50), (50, 51), (60, 61)]);
}

#[test]
fn what_was_never_reached_has_no_window() {
    let mut waits = counting(20);
    waits.control.after = vec![0];
    let mut faulty = device(SimService::Constant { ns: MS }, 1);
    faulty.error_share = fathom_units::Ratio::ONE;
    let mut step = step(TargetKind::Sim(faulty), counting(1));
    step.streams.push(waits);
    let outcome = run(step);
    assert_eq!(outcome.executed.stop, Stop::IoErrors);
    let waited = &outcome.executed.streams[1].workers[0];
    assert_eq!(waited.end, waited.start);
    assert!(waited.tally.kinds.is_empty(), "{waited:?}");
    assert!(outcome.intervals.iter().all(|interval| interval.stream == 0));
}
