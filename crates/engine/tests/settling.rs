//! Streams that end in a steady state, and queue depths that are searched for, on the simulated device in virtual time.

mod support;

use fathom_schema::*;
use fathom_units::{Nanos, Ratio};
use support::{Outcome, device, run, step, stream};

const MS: u64 = 1_000_000;

/// 4 servers of 1 ms: up to depth 4 an operation takes 1 ms, at depth 8 it takes 2.
fn on_four_servers(stream: Stream) -> Outcome {
    let sim = device(SimService::Constant { ns: MS }, 4);
    run(step(TargetKind::Sim(sim), stream))
}

fn searching(depth: u32, target_us: u64, share: f64, seconds: u64) -> Stream {
    let mut stream = stream(EngineKind::Sim, depth);
    let (target, window) = (Nanos::micros(target_us), Nanos::millis(500));
    stream.depth_search = Some(DepthSearch { target, window, share, goes_on: false });
    stream.limits.time = TimeLimit::Nanoseconds(seconds * 1000 * MS);
    stream
}

fn depth(outcome: &Outcome) -> Option<(u32, bool)> {
    let found = outcome.executed.streams[0].workers[0].depth;
    found.map(|found| (found.depth, found.is_settled))
}

#[test]
fn the_depth_that_keeps_a_latency_is_measured_alone() {
    let outcome = on_four_servers(searching(64, 2400, 0.9, 60));
    assert_eq!(depth(&outcome), Some((8, true)));
    assert!((outcome.seconds() - 0.5).abs() < 0.01, "{}", outcome.seconds());
    let reads = outcome.reads();
    assert!(reads.operations.abs_diff(2000) <= 16, "{}", reads.operations);
    // From an empty queue on: the first operations find no queue.
    assert!((reads.service.moments.mean_ns() / 2e6 - 1.0).abs() < 0.01);
    assert!(reads.service.moments.max_ns <= 2 * MS);
    assert_eq!(outcome.executed.stop, Stop::Complete);
    let measured: u64 = outcome
        .intervals
        .iter()
        .filter(|i| i.phase == Phase::Measure)
        .map(|i| i.tally.kinds[0].operations)
        .sum();
    assert_eq!(measured, reads.operations, "the search is no part of what is measured");
}

#[test]
fn a_search_that_comes_to_no_end_is_all_that_is_measured() {
    let mut timed = searching(64, 2400, 0.9, 1);
    timed.ramp = Nanos::millis(500);
    let outcome = on_four_servers(timed);
    assert_eq!(depth(&outcome), Some((4, false)));
    assert!((outcome.seconds() - 1.5).abs() < 0.01, "{}", outcome.seconds());
    let all: u64 = outcome.intervals.iter().map(|i| i.tally.kinds[0].operations).sum();
    assert_eq!(outcome.reads().operations, all);
    // Work bounds a search too, which may have no end.
    let mut by_count = searching(64, 900, 0.9, 0);
    by_count.limits =
        StreamLimits { time: TimeLimit::Unbounded, operations: Quota::AtMost(5000), ..by_count.limits };
    let outcome = on_four_servers(by_count);
    assert_eq!((depth(&outcome), outcome.reads().operations), (Some((1, false)), 5000));
}

#[test]
fn a_search_may_go_on_and_may_fail() {
    let mut goes_on = searching(64, 2400, 0.9, 20);
    if let Some(search) = &mut goes_on.depth_search {
        search.goes_on = true;
    }
    let outcome = on_four_servers(goes_on);
    assert!((outcome.seconds() - 20.0).abs() < 0.01);
    assert!(outcome.reads().operations > 1000, "it measures all the while");
    let (found, is_settled) = depth(&outcome).expect("it searched");
    assert!((8..=9).contains(&found) && !is_settled, "{found}");
    let outcome = on_four_servers(searching(64, 500, 1.0, 20));
    assert_eq!(outcome.executed.stop, Stop::IoErrors);
    let broken = &outcome.executed.broken[0];
    assert!(
        broken.contains("latency of 1000000 nsec exceeds specified max (500000 nsec): t read"),
        "{broken}"
    );
}

fn settles(limit: f64, seconds: u64) -> Outcome {
    let mut stream = stream(EngineKind::Sim, 4);
    let (figure, limit) = (SteadyFigure::Operations, SteadyLimit::Share(limit));
    let (every, after, samples) = (Nanos::secs(1), Nanos::secs(1), 3);
    stream.limits.steady =
        Some(SteadyRule { figure, by_slope: false, limit, samples, every, after, with_group: false });
    stream.limits.time = TimeLimit::Nanoseconds(seconds * 1000 * MS);
    let sim = device(SimService::Uniform { min_ns: MS / 2, max_ns: MS }, 4);
    run(step(TargetKind::Sim(sim), stream))
}

#[test]
fn a_stream_ends_when_it_is_steady() {
    let outcome = settles(0.05, 1000);
    // What the collector has not looked at yet was done meanwhile: a few intervals in virtual time.
    assert!((4.0..20.0).contains(&outcome.seconds()), "{}", outcome.seconds());
    assert_eq!(outcome.executed.stop, Stop::Complete);
    let said = &outcome.executed.settled[0];
    assert!(said.contains("reached a steady state") && said.contains("to be below 5.000 %"), "{said}");
    let never = settles(0.000_000_1, 8);
    assert!((never.seconds() - 8.0).abs() < 0.01);
    assert!(never.executed.settled[0].contains("reached no steady state"), "{:?}", never.executed.settled);
}

#[test]
fn measuring_begins_when_so_many_bytes_were_moved() {
    let mut stream = stream(EngineKind::Sim, 4);
    let length = 4096;
    stream.ramp_bytes = Quota::AtMost(1000 * length);
    stream.limits.time = TimeLimit::Nanoseconds(2000 * MS);
    let outcome = on_four_servers(stream);
    // 4 operations in each millisecond.
    assert!((outcome.seconds() - 2.0).abs() < 0.01, "{}", outcome.seconds());
    let from = outcome.executed.streams[0].workers[0].start;
    assert!(from.0.abs_diff(250 * MS) <= 2 * MS, "{from}");
    assert!(outcome.reads().operations.abs_diff(8000) <= 8, "{}", outcome.reads().operations);
}

/// Asserts how many operations a stream counts that has a ramp of a second, of 4 operations in each millisecond.
fn check_counted_ramp(limits: impl FnOnce(&mut StreamLimits), operations: u64, seconds: f64) {
    let mut stream = stream(EngineKind::Sim, 4);
    stream.ramp = Nanos::secs(1);
    stream.limits.time = TimeLimit::Unbounded;
    stream.limits.ramp_counts = true;
    limits(&mut stream.limits);
    let limits = format!("{:?}", stream.limits);
    let outcome = on_four_servers(stream);
    assert!(outcome.reads().operations.abs_diff(operations) <= 4, "{} {limits}", outcome.reads().operations);
    assert!((outcome.seconds() - seconds).abs() < 0.01, "{} {limits}", outcome.seconds());
}

#[test]
fn a_ramp_that_counts_leaves_the_rest() {
    let bytes = |operations: u64| Quota::AtMost(operations * 4096);
    check_counted_ramp(|limits| limits.bytes = bytes(5000), 1000, 0.25);
    // At its end within the ramp: all of it was measured.
    check_counted_ramp(|limits| limits.bytes = bytes(2000), 2000, 0.5);
    let passes = |count| Passes::Counted { count, bytes: 2000 * 4096, at_least: 0 };
    check_counted_ramp(|limits| limits.passes = passes(3), 2000, 0.5);
    check_counted_ramp(|limits| limits.passes = passes(1), 2000, 0.5);
    check_counted_ramp(|limits| limits.operations = Quota::AtMost(5000), 5000, 1.25);
    check_counted_ramp(|limits| limits.operations = Quota::AtMost(2000), 2000, 0.5);
    // Time counts from the end of the ramp.
    check_counted_ramp(|limits| limits.time = TimeLimit::Nanoseconds(2000 * MS), 8000, 2.0);
}

/// All of it goes out at once and comes back behind the ramp.
#[test]
fn what_is_issued_in_a_ramp_that_counts_is_reported_whole() {
    let took = Nanos::millis(1500);
    for (quota, passes) in [(Quota::AtMost(64 * 4096), 1), (Quota::Unlimited, 1), (Quota::Unlimited, 2)] {
        let mut stream = stream(EngineKind::Sim, 128);
        stream.ramp = Nanos::secs(1);
        stream.limits.time = TimeLimit::Unbounded;
        stream.limits.ramp_counts = true;
        stream.limits.bytes = quota;
        if quota == Quota::Unlimited {
            stream.limits.passes = Passes::Counted { count: passes, bytes: 64 * 4096, at_least: 0 };
        }
        let sim = device(SimService::Constant { ns: took.0 }, 64);
        let outcome = run(step(TargetKind::Sim(sim), stream));
        // Of two passes the second begins behind the ramp.
        assert_eq!(outcome.reads().operations, 64, "{quota:?}, {passes} passes");
        let expect = if passes == 1 { 1.5 } else { 2.0 };
        assert!((outcome.seconds() - expect).abs() < 1e-3, "{} s, {passes} passes", outcome.seconds());
    }
}

#[test]
fn what_is_in_flight_counts_when_an_error_ends_a_ramp_that_counts() {
    let operations = |ramp| {
        let faulty =
            SimDevice { error_share: Ratio::percent(0.1), ..device(SimService::Constant { ns: MS }, 4) };
        let mut stream = stream(EngineKind::Sim, 64);
        stream.ramp = ramp;
        stream.limits.time = TimeLimit::Unbounded;
        stream.limits.ramp_counts = true;
        let outcome = run(step(TargetKind::Sim(faulty), stream));
        assert!(outcome.seconds() < 60.0, "{}", outcome.seconds());
        outcome.reads().operations
    };
    let without = operations(Nanos::ZERO);
    assert!(without > 64, "{without}");
    assert_eq!(operations(Nanos::secs(100)), without);
}
