//! Memory of a running step: bounded by workers and depth, and independent of the target's size. One test, since it reads
//! the memory of its whole process.

mod support;

use fathom_engine::prepare::{Claims, prepare};
use fathom_engine::{Crew, Observer, RealClock, Share, execute};
use fathom_schema::*;
use fathom_units::{Bytes, Nanos};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Memory of this process that is resident now, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has this line");
    line.trim().trim_end_matches("kB").trim().parse::<u64>().expect("a number") * KIB
}

/// Remembers the most memory seen while a step runs.
#[derive(Default)]
struct Watcher {
    most: u64,
}

impl Observer for Watcher {
    fn engine(&mut self, _: usize, _: &str) {}
    fn started(&mut self) {
        self.most = self.most.max(resident());
    }
    fn interval(&mut self, _: Interval) {
        self.most = self.most.max(resident());
    }
    fn settled(&mut self) {}
}

/// Growth of resident memory while 16 workers at depth 256 run this kind of work on `target`, in bytes.
fn growth(engine: EngineKind, target: Target, coverage: Coverage) -> u64 {
    let mut stream = support::stream(engine, 256);
    stream.workload.coverage = coverage;
    stream.limits.time = TimeLimit::Nanoseconds(Nanos::millis(300).0);
    let first = stream.workers[0].clone();
    stream.workers = (0..16)
        .map(|index| {
            let extent = Extent { target: 0, start: Bytes::ZERO, length: target.size, room: Bytes::ZERO };
            WorkerPlan { part: SharePart { index, count: 16 }, extents: vec![extent], ..first.clone() }
        })
        .collect();
    let mut step = support::step(TargetKind::Null, stream);
    step.targets = vec![target];
    step.interval = Nanos::millis(100);
    let stop = AtomicBool::new(false);
    let ready =
        prepare(step, 0, &Arc::new(Claims::default()), &mut |_| {}, &stop).expect("it can be prepared");
    let before = resident();
    let mut watcher = Watcher::default();
    let executed =
        execute(&ready, &mut Crew::default(), &RealClock::new(true), Share::WHOLE, &stop, &mut watcher);
    let executed = executed.expect("the step can start");
    assert_eq!(executed.stop, Stop::Complete);
    // On a loaded machine a worker may get no turn in its time; it holds its memory all the same.
    let kinds = executed.streams[0].workers.iter().flat_map(|worker| &worker.tally.kinds);
    assert!(kinds.map(|kind| kind.operations).sum::<u64>() > 0);
    watcher.most.saturating_sub(before)
}

fn null(size: Bytes) -> Target {
    Target { name: "null".to_owned(), kind: TargetKind::Null, size }
}

#[test]
fn memory_is_bounded_by_workers_and_depth() {
    // Whatever the process allocates once is there after a first run.
    growth(EngineKind::Null, null(Bytes::gib(1)), Coverage::Independent);
    let independent = growth(EngineKind::Null, null(Bytes::gib(1)), Coverage::Independent);
    assert!(independent < 64 * MIB, "null: {} MiB", independent / MIB);
    let small = growth(EngineKind::Null, null(Bytes::gib(1)), Coverage::OncePerPass);
    let large = growth(EngineKind::Null, null(Bytes::gib(1 << 20)), Coverage::OncePerPass);
    assert!(large < 64 * MIB, "once per pass: {} MiB", large / MIB);
    assert!(large <= small + 2 * MIB, "1 PiB takes {large} B, 1 GiB {small} B");
    if let Some(why) = fathom_io::probe_io_uring() {
        use std::io::Write;
        return writeln!(std::io::stderr(), "SKIPPED io_uring's memory: {why}")
            .expect("stderr can be written");
    }
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("f");
    let kind = TargetKind::File { path, layout: LayoutRule::Written, remove_after: true };
    let target = Target { name: "f".to_owned(), kind, size: Bytes(4 * MIB) };
    let engine =
        EngineKind::IoUring(RingSettings { fixed_buffers: Registration::Never, ..RingSettings::USUAL });
    let whole = growth(engine, target, Coverage::Independent);
    let buffers = 16 * 256 * 4 * KIB;
    assert!(whole.saturating_sub(buffers) < 64 * MIB, "io_uring: {} MiB, buffers included", whole / MIB);
}
