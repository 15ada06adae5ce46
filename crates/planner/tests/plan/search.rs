//! Searches on devices with closed forms: what a step shows is computed, not measured, and the answer is known.

use crate::examples::DISK;
use crate::host::{facts, read};
use fathom_metrics::Latency;
use fathom_planner::search::{CurveSearch, ObjectiveSearch, Search};
use fathom_planner::{Plan, plan_search};
use fathom_schema::{
    KindTally, LatencyGoal, Moments, OperationKind, Pacing, Step, StepFinished, Stop, StreamTally,
    StreamTotals, WorkerTotals,
};
use fathom_units::Nanos;

const JOB: &str = "[target.disk]\npath = \"/dev/nvme0n1\"\n[workload.reads]\nblock_size = \"4KiB\"\naccess = \"random\"\n[stream.reads]\n[stage.main]\ntime = \"10s\"\n";
const SECONDS: u64 = 10;

fn planned(search: Search) -> Plan {
    let job = read(JOB);
    let (plan, found) = plan_search(&job, &facts(&job, |_| DISK), 0, search);
    plan.unwrap_or_else(|| panic!("{found:?}"))
}

/// The end of a step that did `rate` operations a second with these response times, each as often as the others.
pub(crate) fn finished(step: &Step, rate: f64, latencies_ns: &[u64]) -> StepFinished {
    let mut latency = Latency::default();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "constructed: whole and positive"
    )]
    let operations = (rate * SECONDS as f64).round() as u64;
    latencies_ns.iter().for_each(|&ns| latency.record(ns));
    let kind = KindTally {
        kind: OperationKind::Read,
        operations,
        bytes: 0,
        short: 0,
        data_syncs: 0,
        errors: Vec::new(),
        service: latency.to_tally(),
        response: None,
        submission: Moments::default(),
        completion: None,
    };
    let offered = match step.streams[0].pacing {
        Pacing::Open { rate, .. } => rate * SECONDS as f64,
        Pacing::Closed { .. } => 0.0,
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of arrivals")]
    let tally = StreamTally { kinds: vec![kind], arrivals: offered as u64, ..StreamTally::default() };
    let worker = WorkerTotals {
        tally,
        start: Nanos::ZERO,
        end: Nanos::secs(SECONDS),
        user_ns: 0,
        system_ns: 0,
        context_switches: 0,
        major_faults: 0,
        minor_faults: 0,
        error: 0,
        verified: None,
        depth: None,
    };
    StepFinished {
        index: 0,
        streams: vec![StreamTotals { workers: vec![worker] }],
        stop: Stop::Complete,
        elapsed: Nanos::secs(SECONDS),
        devices: Vec::new(),
        environment_changes: Vec::new(),
    }
}

/// The depths that a curve goes through on a device of throughput `x`.
fn depths(x: impl Fn(f64) -> f64, depth_max: u32, replicates: u32) -> Vec<u32> {
    let mut experiment = planned(Search::Curve(CurveSearch::new(depth_max, replicates, 3))).experiment;
    let (mut depths, mut last) = (Vec::new(), None);
    while let Some(step) = experiment.next(last.as_ref()) {
        let depth = step.streams[0].queue_depth;
        depths.push(depth);
        assert!(depths.len() < 200, "{depths:?}");
        let rate = x(f64::from(depth));
        last = Some(finished(&step, rate, &[1000]));
    }
    depths
}

#[test]
fn depths_double_until_more_brings_nothing_then_look_at_the_knee() {
    // Twelve units, each 1000/s, taken from one queue: a hard knee at twelve.
    let found = depths(|n| 1000.0 * n.min(12.0), 256, 1);
    assert_eq!(found[..7], [1, 2, 4, 8, 16, 32, 64], "two doublings without a gain end it: {found:?}");
    assert!(found[7..].contains(&12), "the knee itself is measured: {found:?}");
    // Linear to the end of what may be asked for.
    assert_eq!(depths(|n| 1000.0 * n, 64, 1)[..7], [1, 2, 4, 8, 16, 32, 64]);
    // Falls from 8 on: no deeper than where that is seen.
    let found = depths(|n| 1000.0 * n / (1.0 + 0.02 * n * n), 256, 1);
    assert!(*found.iter().max().unwrap() <= 16, "{found:?}");
    let mut distinct = found.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert!(distinct.len() >= 6, "{found:?}");
}

#[test]
fn replicates_come_in_random_order_and_each_depth_as_often() {
    let found = depths(|n| 1000.0 * n.min(12.0), 256, 3);
    let first = found.len() / 3;
    let (once, again) = (&found[..first], &found[first..]);
    for depth in once {
        assert_eq!(again.iter().filter(|d| *d == depth).count(), 2, "{depth} in {found:?}");
    }
    assert_ne!(again[..first], *once, "shuffled");
    assert!(!again.is_sorted());
    assert_eq!(found, depths(|n| 1000.0 * n.min(12.0), 256, 3), "the same seed, the same order");
}

/// A queue of one exponential server: quantiles of the response time at load ρ are those of an exponential distribution
/// of mean S/(1−ρ).
fn m_m_1(step: &Step, service_s: f64) -> StepFinished {
    let Pacing::Open { rate, .. } = step.streams[0].pacing else {
        return finished(step, 1.0 / service_s, &[1_000_000]);
    };
    let utilisation = rate * service_s;
    if utilisation >= 1.0 {
        return finished(step, 1.0 / service_s, &[1_000_000_000]);
    }
    let mean_ns = service_s * 1e9 / (1.0 - utilisation);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "nanoseconds")]
    let latencies: Vec<u64> =
        (0..20_000).map(|i| (-(1.0 - (f64::from(i) + 0.5) / 20_000.0).ln() * mean_ns) as u64).collect();
    finished(step, rate, &latencies)
}

#[test]
fn the_highest_rate_of_a_queue_is_that_of_theory() {
    // Half a per cent of the server's 1000/s, as exact as histograms are. S = 1 ms, p99 ≤ 10 ms: X = 1/S − ln 100 / T = 1000 − 460.5.
    for (limit, expect) in
        [(Nanos::millis(10), 539.48), (Nanos::millis(20), 769.74), (Nanos::millis(5), 78.97)]
    {
        let goals = vec![LatencyGoal { quantile: Some(0.99), limit }];
        let mut experiment =
            planned(Search::Objective(ObjectiveSearch::new(goals, None, 1, 32, true))).experiment;
        let (mut last, mut rates) = (None, Vec::new());
        while let Some(step) = experiment.next(last.as_ref()) {
            if let Pacing::Open { rate, .. } = step.streams[0].pacing {
                rates.push(rate);
            }
            last = Some(m_m_1(&step, 0.001));
        }
        let nearest = rates.last().expect("rates were tried");
        assert!((nearest - expect).abs() <= 5.0, "{nearest}, not {expect}: {rates:?}");
        assert!(rates.len() <= 12, "{rates:?}");
    }
}

#[test]
fn a_wanted_rate_is_proven_at_a_depth_that_little_gives() {
    let goals = vec![LatencyGoal { quantile: None, limit: Nanos::millis(4) }];
    let search = ObjectiveSearch::new(goals, Some(10_000.0), 3, 1024, false);
    let mut experiment = planned(Search::Objective(search)).experiment;
    let (mut last, mut seen) = (None, Vec::new());
    while let Some(step) = experiment.next(last.as_ref()) {
        let rate = match step.streams[0].pacing {
            Pacing::Open { rate, .. } => Some(rate),
            Pacing::Closed { .. } => None,
        };
        seen.push((step.streams[0].queue_depth, rate));
        // Alone, an operation takes 1 ms.
        last = Some(finished(&step, rate.unwrap_or(1000.0), &[1_000_000]));
    }
    // 10,000/s × 1 ms = 10 in flight, and room for eight times as many.
    assert_eq!(seen, [(1, None), (80, Some(10_000.0)), (80, Some(10_000.0)), (80, Some(10_000.0))]);
}

#[test]
fn a_job_with_a_sweep_of_its_own_is_refused() {
    let check = |more: &str, code: &str| {
        let job = read(&format!("{JOB}{more}"));
        let (plan, found) =
            plan_search(&job, &facts(&job, |_| DISK), 0, Search::Curve(CurveSearch::new(8, 1, 0)));
        assert!(plan.is_none());
        assert_eq!(found.all().iter().map(|d| d.code).collect::<Vec<_>>(), [code]);
    };
    check("curve = [\"50%\"]\n", "plan.search-sweep");
    check("[stage.second]\n", "plan.search-stages");
}

#[test]
fn a_depth_that_comes_again_goes_to_other_places() {
    let mut experiment = planned(Search::Curve(CurveSearch::new(4, 3, 0))).experiment;
    let (mut seeds, mut last) = (Vec::new(), None);
    while let Some(step) = experiment.next(last.as_ref()) {
        seeds.push(step.streams[0].workers[0].seed);
        last = Some(finished(&step, 1000.0, &[1_000_000]));
    }
    let count = seeds.len();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), count);
}
