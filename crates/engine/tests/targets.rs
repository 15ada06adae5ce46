//! Operations of a stream on several targets, told apart by target, on simulated devices against closed forms.

mod support;

use fathom_metrics::merge_tally;
use fathom_schema::*;
use fathom_units::{Bytes, Nanos, Ratio};
use support::{Outcome, device, run, step, stream};

const MS: u64 = 1_000_000;

/// An extent of so many MiB of a target.
fn extent(target: u32, mib: u64) -> Extent {
    Extent { target, start: Bytes::ZERO, length: Bytes::mib(mib), room: Bytes::ZERO }
}

/// A step of one stream on these devices.
fn on(devices: &[SimDevice], stream: Stream) -> Step {
    let mut step = step(TargetKind::Null, stream);
    let targets = devices.iter().enumerate().map(|(at, device)| Target {
        name: format!("t{at}"),
        kind: TargetKind::Sim(device.clone()),
        size: Bytes::gib(1),
    });
    step.targets = targets.collect();
    step
}

fn tally_of(outcome: &Outcome) -> StreamTally {
    let mut sum = StreamTally::default();
    outcome.executed.streams[0].workers.iter().for_each(|worker| merge_tally(&mut sum, &worker.tally));
    sum
}

/// What the targets have adds up to what the stream has, kind by kind.
fn check_sum(tally: &StreamTally) {
    for kind in &tally.kinds {
        let mut all = TargetTally::nothing(0, kind.kind);
        tally.targets.iter().filter(|one| one.kind == kind.kind).for_each(|one| all.merge(one));
        let errors: u64 = kind.errors.iter().map(|(_, count)| count).sum();
        assert_eq!(
            (all.operations, all.bytes, all.errors),
            (kind.operations, kind.bytes, errors),
            "{kind:?}"
        );
        let (service, response) = (kind.service.moments, kind.response.as_ref().map(|times| times.moments));
        assert_eq!((all.service.sum_ns as f64, all.service.max_ns), (service.sum_ns, service.max_ns));
        let found = all.response.map(|sum| (sum.sum_ns as f64, sum.max_ns));
        assert_eq!(found, response.map(|moments| (moments.sum_ns, moments.max_ns)));
    }
    let kinds: Vec<OperationKind> = tally.kinds.iter().map(|kind| kind.kind).collect();
    assert!(tally.targets.iter().all(|one| kinds.contains(&one.kind)));
}

/// Mixed operations on three targets, the first of which gets twice as many as each of the others; the second is slow, the
/// third has errors.
fn three(workers: usize) -> (Vec<SimDevice>, Stream) {
    let of = |ns| device(SimService::Constant { ns }, 64);
    let failing = SimDevice { error_share: Ratio::new(0.1).expect("a share"), ..of(MS) };
    let mut stream = stream(EngineKind::Sim, 8);
    let case = stream.workload.cases[0];
    stream.workload.cases =
        [OperationKind::Read, OperationKind::Write].map(|kind| Case { weight: 0.5, kind, ..case }).to_vec();
    // Targets are not in their order, and one has two extents: a turn is of extents.
    stream.workers[0].extents = vec![extent(2, 64), extent(0, 128), extent(1, 512), extent(0, 128)];
    stream.workers = vec![stream.workers[0].clone(); workers];
    (vec![of(MS), of(5 * MS), failing], stream)
}

#[test]
fn figures_of_targets_add_up_to_those_of_the_stream() {
    let closed = Pacing::Closed { think: Think::None };
    let open =
        Pacing::Open { rate: 900.0, arrival: Arrival::Poisson, course: Vec::new(), backlog: Backlog::Keep };
    for (pacing, workers, is_open) in [(closed.clone(), 1, false), (closed, 3, false), (open, 2, true)] {
        let (devices, mut stream) = three(workers);
        stream.pacing = pacing;
        stream.ramp = Nanos::millis(700);
        let mut step = on(&devices, stream);
        step.errors = ErrorPolicy::CountUpTo(u64::MAX);
        let outcome = run(step);
        let tally = tally_of(&outcome);
        check_sum(&tally);
        assert_eq!(tally.targets.iter().all(|one| one.response.is_some()), is_open);
        let of = |target: u32| {
            let mut sum = TargetTally::nothing(target, OperationKind::Read);
            tally.targets.iter().filter(|one| one.target == target).for_each(|one| sum.merge(one));
            sum
        };
        let mean_ns = |target| of(target).service.sum_ns as f64 / of(target).operations as f64;
        let [first, second, third] = [0, 1, 2].map(of);
        assert!((mean_ns(0) / MS as f64 - 1.0).abs() < 1e-9, "{first:?}");
        assert!((mean_ns(1) / MS as f64 - 5.0).abs() < 1e-9, "{second:?}");
        assert_eq!((first.service.max_ns, second.service.max_ns), (MS, 5 * MS));
        assert_eq!((first.errors, second.errors), (0, 0));
        let of_third = third.operations + third.errors;
        let share = third.errors as f64 / of_third as f64;
        assert!((0.05..0.15).contains(&share), "{share} of {of_third} failed");
        // In turns, but for those that were in flight at both ends of the time.
        assert!(
            first.operations.abs_diff(2 * second.operations) <= 40 * workers as u64,
            "{first:?} {second:?}"
        );
        assert!(of_third.abs_diff(second.operations) <= 40 * workers as u64, "{second:?} {third:?}");
        // The intervals have the same.
        let mut measured = StreamTally::default();
        let intervals = outcome.intervals.iter();
        for interval in intervals.filter(|interval| interval.phase == Phase::Measure) {
            check_sum(&interval.tally);
            merge_tally(&mut measured, &interval.tally);
        }
        assert_eq!(measured.targets, tally.targets);
        assert!(outcome.intervals.iter().any(|interval| interval.phase == Phase::Ramp));
    }
}

#[test]
fn workers_with_a_target_each_are_told_apart_by_what_they_are() {
    let devices = [MS, 5 * MS].map(|ns| device(SimService::Constant { ns }, 8));
    let mut stream = stream(EngineKind::Sim, 4);
    stream.workers = (0..4)
        .map(|worker| WorkerPlan { extents: vec![extent(worker % 2, 64)], ..stream.workers[0].clone() })
        .collect();
    let tally = tally_of(&run(on(&devices, stream)));
    check_sum(&tally);
    let found: Vec<(u32, u64, u64)> =
        tally.targets.iter().map(|one| (one.target, one.operations / 100, one.service.max_ns)).collect();
    // Two workers of depth 4 for two seconds on each.
    assert_eq!(found, [(0, 160, MS), (1, 32, 5 * MS)]);
}

#[test]
fn one_target_is_the_stream_and_more_than_are_counted_are_not_told_apart() {
    let fast = device(SimService::Constant { ns: MS }, 8);
    for (count, told) in
        [(1, 0), (2, 2), (TARGETS_COUNTED_MAX, TARGETS_COUNTED_MAX), (TARGETS_COUNTED_MAX + 1, 0)]
    {
        let mut stream = stream(EngineKind::Sim, 4);
        let targets = u32::try_from(count).expect("a few");
        stream.workers[0].extents = (0..targets).map(|target| extent(target, 16)).collect();
        assert_eq!(stream.counted_targets().len(), told);
        let tally = tally_of(&run(on(&vec![fast.clone(); count], stream)));
        assert_eq!(tally.targets.len(), told, "{count} targets");
        assert!(tally.kinds[0].operations > 1000);
    }
}

#[test]
fn syncs_and_engines_without_bytes_are_told_apart_too() {
    let mut stream = stream(EngineKind::Null, 1);
    stream.workload.cases[0].kind = OperationKind::Write;
    stream.workload.sync.fsync_every = Quota::AtMost(3);
    stream.limits.time = TimeLimit::Unbounded;
    stream.limits.operations = Quota::AtMost(3000);
    stream.workers[0].extents = vec![extent(0, 64), extent(1, 64)];
    let mut step = step(TargetKind::Null, stream);
    step.targets.push(step.targets[0].clone());
    let tally = tally_of(&run(step));
    check_sum(&tally);
    let of = |kind| {
        let found = tally.targets.iter().filter(move |one| one.kind == kind);
        found.map(|one| (one.target, one.operations)).collect::<Vec<_>>()
    };
    assert_eq!(of(OperationKind::Write), [(0, 1500), (1, 1500)]);
    assert!(!of(OperationKind::Sync).is_empty());
}
