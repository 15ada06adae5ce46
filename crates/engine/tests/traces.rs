//! Traces on the simulated device, in virtual time: operations are due when the trace says, in its order, and a trace that is
//! another than was found is not replayed.

mod support;

use fathom_engine::prepare::{Claims, prepare};
use fathom_engine::traces;
use fathom_schema::{
    Arrival, Backlog, Case, EngineKind, OperationKind, Pacing, Quota, Replay, SimService, Size, Step, Stream,
    TargetKind, Think, TimeLimit, TraceFact, TraceRule,
};
use fathom_units::Nanos;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use support::{device, run, step, stream};

/// Three at once, one later, a sync, and one behind the rest.
const TRACE: &str = "fio version 3 iolog\n100 x add\n100 x write 0 4096\n100 x read 4096 4096\n100 x read 8192 4096\n\
                     5100 x read 0 512\n6100 x sync 0 0\n10100 x write 12288 4096\n";

fn found(path: &Path) -> TraceFact {
    let rule = TraceRule { path: path.to_owned(), skips: [false; 4], scale: 1, align: 1 };
    traces::look(&[rule]).remove(0)
}

/// A step that replays it, on a device that takes 10 µs for each operation, one at a time.
fn replaying(fact: &TraceFact, depth: u32, speed: Option<f64>) -> Step {
    let mut stream: Stream = stream(EngineKind::Sim, depth);
    stream.workload.cases = [OperationKind::Read, OperationKind::Write]
        .map(|kind| Case {
            weight: 0.5,
            kind,
            size: Size::Range { min: 512, max: 4096, step: 512 },
            random: true,
            align: None,
        })
        .to_vec();
    let operations = fact.kinds.iter().map(|of| of.operations).sum();
    stream.trace = Some(Replay {
        rule: fact.rule.clone(),
        operations,
        has_syncs: true,
        fingerprint: fact.fingerprint,
        only_read: Vec::new(),
    });
    stream.limits.time = TimeLimit::Unbounded;
    stream.limits.operations = Quota::AtMost(operations);
    stream.pacing = match speed {
        Some(speed) => Pacing::Open {
            rate: 600.0,
            arrival: Arrival::Traced { speed },
            course: Vec::new(),
            backlog: Backlog::Keep,
        },
        None => Pacing::Closed { think: Think::None },
    };
    step(TargetKind::Sim(device(SimService::Constant { ns: 10_000 }, 1)), stream)
}

#[test]
fn operations_are_due_when_the_trace_says() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("t");
    std::fs::write(&path, TRACE).expect("it is ours");
    let fact = found(&path);
    assert_eq!((fact.error.as_deref(), fact.span_ns), (None, 10_000_000));
    // A sync of the simulated device takes its time as well.
    for (depth, speed, elapsed_us, worst_response_us) in [
        (8, Some(1.0), 10_010, 30),
        (1, Some(1.0), 10_010, 30),
        (8, Some(2.0), 5010, 30),
        (8, Some(0.5), 20_010, 30),
        (1, None, 60, 10),
    ] {
        let outcome = run(replaying(&fact, depth, speed));
        assert_eq!(outcome.executed.elapsed, Nanos::micros(elapsed_us), "depth {depth}, {speed:?}");
        let tally = &outcome.executed.streams[0].workers[0].tally;
        let of = |kind| tally.kinds.iter().find(|of| of.kind == kind).expect("it occurs");
        let counts =
            [OperationKind::Read, OperationKind::Write, OperationKind::Sync].map(|kind| of(kind).operations);
        assert_eq!(counts, [3, 2, 1]);
        assert_eq!((of(OperationKind::Read).bytes, of(OperationKind::Write).bytes), (8704, 8192));
        if let Some(response) = &of(OperationKind::Read).response {
            assert_eq!(response.moments.max_ns, worst_response_us * 1000, "depth {depth}, {speed:?}");
            assert_eq!(tally.arrivals, 6);
        }
    }
}

#[test]
fn a_trace_that_has_changed_is_not_replayed() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("t");
    std::fs::write(&path, TRACE).expect("it is ours");
    let fact = found(&path);
    for (content, expect) in [
        (TRACE.replace("12288", "8192"), "is no longer what was looked at"),
        (TRACE.replace("x sync 0 0", "x lick"), "it has 5 operations"),
        ("nothing".to_owned(), "its first line is"),
    ] {
        std::fs::write(&path, content).expect("it is ours");
        let claims = Arc::new(Claims::default());
        let refused = prepare(replaying(&fact, 1, None), 0, &claims, &mut |_| {}, &AtomicBool::new(false));
        let error = refused.expect_err("it is another").to_string();
        assert!(error.contains(expect), "{error}");
    }
    std::fs::remove_file(&path).expect("it is ours");
    assert!(found(&path).error.is_some_and(|error| error.contains("No such file")));
    assert!(found(folder.path()).error.is_some_and(|error| error.contains("no regular file")));
}
