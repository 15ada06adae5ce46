//! Least rates and longest times that a stream has to keep, on the simulated device in virtual time.

mod support;

use fathom_schema::*;
use fathom_units::Nanos;
use support::{device, run, step, stream};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

#[test]
fn what_is_demanded_is_kept_or_ends_the_stream() {
    let rate = |unit, at_least| Demands {
        rates: vec![RateDemand { kind: Some(OperationKind::Read), unit, at_least }],
        rate_settles: Nanos::secs(1),
        ..Demands::default()
    };
    let latency = |kind, at_most_ns| Demands {
        latencies: vec![LatencyDemand { kind, at_most_ns }],
        ..Demands::default()
    };
    for (demands, errno, ends_after) in [
        (Demands::default(), 0, 4 * SECOND),
        // One operation of 4 KiB in each millisecond.
        (rate(RateUnit::Operations, 1000.0), 0, 4 * SECOND),
        (rate(RateUnit::Operations, 1010.0), 5, 2 * SECOND),
        (rate(RateUnit::Bytes, 4_096_000.0), 0, 4 * SECOND),
        (rate(RateUnit::Bytes, 4_200_000.0), 5, 2 * SECOND),
        (latency(None, MS), 0, 4 * SECOND),
        (latency(None, MS - 1), 110, MS),
        (latency(Some(OperationKind::Write), 1), 0, 4 * SECOND),
    ] {
        let mut stream = stream(EngineKind::Sim, 1);
        stream.demands = demands.clone();
        stream.limits.time = TimeLimit::Nanoseconds(4 * SECOND);
        let sim = TargetKind::Sim(device(SimService::Constant { ns: MS }, 1));
        let outcome = run(step(sim, stream));
        let totals = &outcome.executed.streams[0].workers[0];
        assert_eq!(
            (totals.error, outcome.executed.broken.len()),
            (errno, usize::from(errno != 0)),
            "{demands:?}"
        );
        assert!(totals.end.0.abs_diff(ends_after) <= 2 * MS, "{demands:?}: {}", totals.end);
    }
}

/// An operation that takes longer than a window is no rate of 0 in those that it spans; one that never comes back is.
#[test]
fn a_least_rate_allows_for_the_operation_to_come() {
    for (at_least, is_kept, ends_after) in [(0.5, true, 16), (0.49, true, 16), (0.51, false, 6)] {
        let mut stream = stream(EngineKind::Sim, 1);
        stream.demands = Demands {
            rates: vec![RateDemand { kind: None, unit: RateUnit::Operations, at_least }],
            rate_window: Nanos::secs(1),
            rate_settles: Nanos::secs(2),
            ..Demands::default()
        };
        stream.limits.time = TimeLimit::Nanoseconds(15 * SECOND);
        let outcome = run(step(TargetKind::Sim(device(SimService::Constant { ns: 2 * SECOND }, 1)), stream));
        let worker = &outcome.executed.streams[0].workers[0];
        assert_eq!(worker.error, if is_kept { 0 } else { 5 }, "{at_least}");
        assert_eq!(worker.end, Nanos::secs(ends_after), "{at_least}");
    }
}

/// Operations that were out when the stream ended complete after further windows of a least rate.
#[test]
fn a_least_rate_is_not_looked_at_once_nothing_is_issued() {
    let mut stream = stream(EngineKind::Sim, 4);
    stream.demands = Demands {
        rates: vec![RateDemand { kind: None, unit: RateUnit::Operations, at_least: 1.0 }],
        rate_window: Nanos::secs(1),
        rate_settles: Nanos::secs(2),
        ..Demands::default()
    };
    stream.limits.time = TimeLimit::Nanoseconds(4 * SECOND + SECOND / 2);
    let stalls = vec![(4 * SECOND + SECOND / 4, 3 * SECOND)];
    let sim = SimDevice { stalls, ..device(SimService::Constant { ns: MS }, 4) };
    let outcome = run(step(TargetKind::Sim(sim), stream));
    assert_eq!(outcome.executed.streams[0].workers[0].error, 0);
    assert_eq!(outcome.executed.stop, Stop::Complete);
}
