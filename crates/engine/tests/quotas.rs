//! How much a stream does that is to do so many operations, where some fail: those that complete count, at any queue depth and
//! whatever decides when one goes out. In virtual time.

mod support;

use fathom_schema::*;
use fathom_units::{Nanos, Ratio};
use support::{Outcome, device, run, step, stream};

const MS: u64 = 1_000_000;
const BLOCK: u64 = 4096;
const OPERATIONS: u64 = 100;
const INTERVAL: Nanos = Nanos::millis(2);

/// Operations of 1 ms, of which this share fails, up to 100 that complete or to so many blocks in all of its passes.
fn limited(
    depth: u32,
    error_share: f64,
    count: u64,
    blocks: u64,
    change: impl FnOnce(&mut Stream),
) -> Outcome {
    let mut stream = stream(EngineKind::Sim, depth);
    stream.limits = StreamLimits {
        time: TimeLimit::Unbounded,
        operations: Quota::AtMost(OPERATIONS),
        bytes: Quota::AtMost(count * blocks * BLOCK),
        passes: Passes::Counted { count, bytes: blocks * BLOCK, at_least: 0 },
        ..stream.limits
    };
    stream.control.tolerates = Tolerance::Listed { reads: vec![5], writes: Vec::new() };
    change(&mut stream);
    let error_share = Ratio::new(error_share).expect("it is a share");
    let sim = SimDevice { error_share, ..device(SimService::Exponential { mean_ns: MS }, 4) };
    let mut step = step(TargetKind::Sim(sim), stream);
    // Many edges come while the last ones are under way.
    step.interval = INTERVAL;
    run(step)
}

/// Operations that completed and that failed, after a look at the rest.
fn counts(outcome: &Outcome) -> (u64, u64) {
    let tally = &outcome.executed.streams[0].workers[0].tally;
    let reads = outcome.reads();
    let took_ns = reads.service.moments.sum_ns + tally.failed_ns;
    let in_flight_ns = tally.in_flight_ns + tally.outside_ns;
    assert!((took_ns / in_flight_ns - 1.0).abs() < 1e-3, "{took_ns} ns taken, {in_flight_ns} ns in flight");
    for interval in &outcome.intervals {
        let is_one = interval.end.since(interval.start) <= INTERVAL;
        assert!(is_one || interval.late, "{interval:?}");
    }
    let in_intervals: u64 =
        outcome.intervals.iter().flat_map(|interval| &interval.tally.kinds).map(|kind| kind.operations).sum();
    assert_eq!(in_intervals, reads.operations, "intervals have all of them");
    (reads.operations, reads.errors.iter().map(|error| error.1).sum())
}

const DEPTHS: [u32; 3] = [1, 4, 32];
const SHARES: [f64; 3] = [0.0, 0.1, 0.9];

/// Asserts that as many complete as are to.
fn check(change: impl Fn(&mut Stream), case: &str) {
    for depth in DEPTHS {
        for share in SHARES {
            let outcome = limited(depth, share, 1, 10_000, &change);
            let (completed, failed) = counts(&outcome);
            assert_eq!(completed, OPERATIONS, "{case}, depth {depth}, {share}");
            assert_eq!(failed > 0, share > 0.0, "{case}, depth {depth}, {share}");
        }
    }
}

#[test]
fn operations_that_fail_are_done_again() {
    check(|_| (), "at full load");
}

#[test]
fn operations_that_fail_are_done_again_where_pauses_or_refills_hold_them_up() {
    let think =
        |by_issue| Think::Every { operations: 7, pause_ns: MS, spin_ns: 0, by_issue, after_ns: u64::MAX };
    check(|stream| stream.pacing = Pacing::Closed { think: think(false) }, "thinking");
    check(|stream| stream.pacing = Pacing::Closed { think: think(true) }, "thinking by issue");
    check(|stream| stream.engine.refill_at = Quota::AtMost(u64::from(stream.queue_depth / 2)), "refills");
}

#[test]
fn operations_that_fail_are_done_again_in_flows() {
    check(|stream| stream.flow = Some(Flow { id: 1, weight: 1, pause: Nanos::ZERO }), "in a flow");
}

/// A rate that is demanded is not looked at while all are under way, though one fails then and is done again.
#[test]
fn a_pause_in_which_all_are_under_way_breaks_no_demand() {
    for stalled_ms in [27, 29, 31] {
        let mut stream = stream(EngineKind::Sim, 32);
        stream.limits = StreamLimits {
            time: TimeLimit::Unbounded,
            operations: Quota::AtMost(OPERATIONS),
            passes: Passes::Counted { count: 1, bytes: 10_000 * BLOCK, at_least: 0 },
            ..stream.limits
        };
        stream.control.tolerates = Tolerance::Listed { reads: vec![5], writes: Vec::new() };
        let rate = RateDemand { kind: None, unit: RateUnit::Operations, at_least: 1000.0 };
        stream.demands = Demands { rates: vec![rate], rate_window: Nanos::millis(500), ..Demands::default() };
        let error_share = Ratio::new(0.3).expect("it is a share");
        let service = device(SimService::Constant { ns: MS }, 4);
        let sim = SimDevice { error_share, stalls: vec![(stalled_ms * MS, 3000 * MS)], ..service };
        let outcome = run(Step { interval: INTERVAL, ..step(TargetKind::Sim(sim), stream) });
        let ended = outcome.intervals.last().expect("there are some").end;
        assert!(ended > Nanos::secs(3), "it ended at {ended}, before the device stood still for 3 s");
        assert_eq!(counts(&outcome).0, OPERATIONS, "standing still from {stalled_ms} ms on");
    }
}

#[test]
fn operations_that_fail_are_done_again_in_further_passes() {
    for depth in DEPTHS {
        for (count, blocks) in [(3, 60), (5, 40), (200, 1)] {
            let (completed, failed) = counts(&limited(depth, 0.2, count, blocks, |_| ()));
            assert!(completed == OPERATIONS && failed > 0, "{completed} and {failed} at depth {depth}");
        }
    }
}

/// What cannot be read is not tried for ever.
#[test]
fn bytes_end_what_fails_again_and_again() {
    for depth in DEPTHS {
        let (completed, failed) = counts(&limited(depth, 0.9, 1, 300, |_| ()));
        assert_eq!(completed + failed, 300, "depth {depth}");
        assert!(completed < OPERATIONS, "{completed} completed at depth {depth}");
    }
}

#[test]
fn operations_that_fail_are_done_again_when_others_are_due() {
    let open =
        |rate| Pacing::Open { rate, arrival: Arrival::Constant, course: Vec::new(), backlog: Backlog::Keep };
    check(|stream| stream.pacing = open(500.0), "at a rate");
    // Nothing that came due while the last were under way is owed: each arrival was issued.
    for share in SHARES {
        let outcome = limited(32, share, 1, 10_000, |stream| stream.pacing = open(3000.0));
        let (completed, failed) = counts(&outcome);
        let worker = &outcome.executed.streams[0].workers[0];
        assert_eq!((worker.waiting, worker.tally.arrivals), (0, completed + failed), "{share}: {worker:?}");
    }
}

/// What completes right at an edge, as the last of all, is of the interval that ends there: it has no other to fall into.
#[test]
fn the_last_operation_ends_the_last_interval() {
    for (depth, service_ms, expect) in [(1, 100, vec![9, 11]), (4, 400, vec![8, 12])] {
        let mut stream = stream(EngineKind::Sim, depth);
        stream.limits =
            StreamLimits { time: TimeLimit::Unbounded, operations: Quota::AtMost(20), ..stream.limits };
        let sim = device(SimService::Constant { ns: service_ms * MS }, depth);
        let outcome = run(step(TargetKind::Sim(sim), stream));
        let of = |interval: &Interval| (interval.end.0 / MS, interval.tally.kinds[0].operations);
        let found: Vec<(u64, u64)> = outcome.intervals.iter().map(of).collect();
        assert_eq!(found.iter().map(|one| one.1).collect::<Vec<_>>(), expect, "{found:?}");
    }
}
