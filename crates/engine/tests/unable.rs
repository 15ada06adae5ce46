//! Streams that cannot begin: what ends with them, and what runs all the same.

mod support;

use fathom_engine::ExecuteError;
use fathom_schema::*;
use fathom_units::Bytes;
use std::path::PathBuf;
use std::sync::Arc;
use support::{device, run, step, stream, try_run};

const ENOENT: i32 = 2;
const ENOMEM: i32 = 12;
/// More than any machine can lock.
const TOO_MUCH: Bytes = Bytes(1 << 46);

fn counting(engine: EngineKind, operations: u64) -> Stream {
    let mut counting = stream(engine, 1);
    counting.limits.time = TimeLimit::Unbounded;
    counting.limits.operations = Quota::AtMost(operations);
    counting
}

/// The middle one of three streams cannot begin; all are of one group.
fn three(engine: EngineKind, target: TargetKind, reach: Reach) -> Step {
    let mut step = step(target, counting(engine, 10));
    let mut unable = counting(engine, 10);
    "unable".clone_into(&mut unable.name);
    unable.engine.memory.locked = TOO_MUCH;
    unable.control.at_error = reach;
    unable.workers.push(unable.workers[0].clone());
    step.streams = vec![step.streams[0].clone(), unable, counting(engine, 20)];
    step.streams.iter_mut().for_each(|stream| stream.report_group = 1);
    step
}

fn simulated() -> (EngineKind, TargetKind) {
    (EngineKind::Sim, TargetKind::Sim(device(SimService::Constant { ns: 1_000_000 }, 1)))
}

/// Operations and error of the first worker of each stream.
fn done(totals: &[StreamTotals]) -> Vec<(u64, i32)> {
    let of = |stream: &StreamTotals| {
        let worker = &stream.workers[0];
        (worker.tally.kinds.iter().map(|kind| kind.operations).sum(), worker.error)
    };
    totals.iter().map(of).collect()
}

#[test]
fn a_stream_that_fails_by_itself_leaves_the_others_alone() {
    for (engine, target) in [(EngineKind::Null, TargetKind::Null), simulated()] {
        let outcome = run(three(engine, target, Reach::Nothing));
        assert_eq!(done(&outcome.executed.streams), [(10, 0), (0, ENOMEM), (20, 0)]);
        assert_eq!((outcome.executed.stop, outcome.executed.ends_run), (Stop::IoErrors, false));
        let broken = &outcome.executed.broken;
        assert_eq!(broken.len(), 2, "each worker says why: {broken:?}");
        assert!(broken[0].contains("unable: ") && broken[0].contains("70368744177664 B"), "{broken:?}");
    }
}

#[test]
fn what_is_to_end_with_its_errors_ends_with_it() {
    for reach in [Reach::Group, Reach::Stage] {
        let (engine, target) = simulated();
        let outcome = run(three(engine, target, reach));
        assert_eq!(done(&outcome.executed.streams)[1], (0, ENOMEM));
        assert_eq!((outcome.executed.stop, outcome.executed.ends_run), (Stop::IoErrors, false));
        let mut apart = three(engine, TargetKind::Null, reach);
        apart.streams.iter_mut().for_each(|stream| stream.engine.kind = EngineKind::Null);
        apart.streams[0].report_group = 2;
        let of_another_group = done(&run(apart).executed.streams)[0].0;
        assert_eq!(of_another_group, if reach == Reach::Group { 10 } else { 0 });
    }
}

#[test]
fn where_the_run_ends_with_it_nothing_is_begun() {
    let (engine, target) = simulated();
    match try_run(three(engine, target, Reach::Run)) {
        Err(ExecuteError::Worker { stream, reason }) => {
            assert_eq!(stream, "unable");
            assert!(reason.contains("70368744177664 B"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn who_waits_for_one_that_cannot_begin_goes_on() {
    let (engine, target) = simulated();
    let mut step = three(engine, target, Reach::Nothing);
    step.streams[2].control.after = vec![1];
    assert_eq!(done(&run(step).executed.streams), [(10, 0), (0, ENOMEM), (20, 0)]);
}

#[test]
fn a_file_that_cannot_be_made_is_an_error_of_its_streams_alone() {
    let folder = tempfile::tempdir().expect("a folder for tests");
    let made = folder.path().join("made");
    let file = |path: PathBuf| {
        let kind = TargetKind::File { path, layout: LayoutRule::Allocated, remove_after: false };
        Target { name: "file".to_owned(), kind, size: Bytes::kib(64) }
    };
    let with = |reach| {
        let mut step = step(TargetKind::Null, counting(EngineKind::Null, 10));
        // Nobody can make a file there.
        step.targets.extend([file(PathBuf::from("/proc/fathom-makes-none")), file(made.clone())]);
        let mut unable = counting(EngineKind::Psync, 10);
        let extent = Extent { length: Bytes::kib(64), ..unable.workers[0].extents[0] };
        unable.workers[0].extents = vec![Extent { target: 1, ..extent }, Extent { target: 2, ..extent }];
        unable.workload.cases[0].kind = OperationKind::Write;
        unable.control.at_error = reach;
        step.streams.push(unable);
        step
    };
    let outcome = run(with(Reach::Nothing));
    assert_eq!(done(&outcome.executed.streams), [(10, 0), (0, ENOENT)]);
    assert!(!made.exists(), "its other files are not made either");
    let broken = &outcome.executed.broken;
    assert!(broken[0].contains("cannot create /proc/fathom-makes-none"), "{broken:?}");
    let stop = std::sync::atomic::AtomicBool::new(false);
    let refused = fathom_engine::prepare::prepare(with(Reach::Run), 0, &Arc::default(), &mut |_| {}, &stop);
    assert!(refused.is_err_and(|error| error.to_string().contains("/proc/fathom-makes-none")));
    // One that both use: the run is not what was asked for without the other.
    let mut shared = with(Reach::Nothing);
    shared.streams[0].workers[0].extents[0].target = 1;
    let refused = fathom_engine::prepare::prepare(shared, 0, &Arc::default(), &mut |_| {}, &stop);
    assert!(refused.is_err());
}
