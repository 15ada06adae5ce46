//! Whole steps on real files, with every engine this machine has: what was counted is what the files show.

#[expect(dead_code, reason = "shared with tests that use more of it")]
#[path = "../../io/tests/support/stage.rs"]
mod stage;
mod support;

use fathom_engine::prepare::{Claims, prepare};
use fathom_engine::{Crew, Observer, RealClock, Share, execute, monotonic};
use fathom_io::{probe_io_uring, probe_libaio};
use fathom_schema::*;
use fathom_units::{Bytes, Nanos, Ratio};
use stage::{Stage, skip};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use support::{Outcome, run, stream};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const BLOCK: u64 = 4096;

const URING: EngineKind = EngineKind::IoUring(RingSettings::USUAL);

/// Engines with the depth they are tested at; what is missing is said.
fn engines(test: &str) -> Vec<(EngineKind, u32)> {
    let mut found = vec![(EngineKind::Psync, 1)];
    let others = [
        ("libaio", probe_libaio(), EngineKind::Libaio(AioSettings::USUAL)),
        ("io_uring", probe_io_uring(), URING),
    ];
    for (name, refused, kind) in others {
        match refused {
            None => found.push((kind, 16)),
            Some(why) => skip(test, &format!("{name}: {why}")),
        }
    }
    found
}

fn file(path: &Path, layout: LayoutRule, size: u64) -> Target {
    let kind = TargetKind::File { path: path.to_owned(), layout, remove_after: false };
    Target { name: path.display().to_string(), kind, size: Bytes(size) }
}

/// A step of one stream on these targets; the workers' extents are the stream's own affair.
fn step(targets: Vec<Target>, stream: Stream) -> Step {
    Step { targets, ..support::step(TargetKind::Null, stream) }
}

/// A stream of 4 KiB operations of one kind until each worker has done `operations`, on the first `length` bytes.
fn work((engine, depth): (EngineKind, u32), kind: OperationKind, operations: u64, length: u64) -> Stream {
    let mut stream = stream(engine, depth);
    stream.workload.cases[0].kind = kind;
    stream.limits = StreamLimits {
        time: TimeLimit::Unbounded,
        bytes: Quota::Unlimited,
        operations: Quota::AtMost(operations),
        ..stream.limits
    };
    stream.workers[0].extents[0].length = Bytes(length);
    stream
}

/// Copies of worker 0, told apart by `change`.
fn workers(stream: &mut Stream, count: u32, change: impl Fn(u32, &mut WorkerPlan)) {
    let first = stream.workers[0].clone();
    stream.workers = (0..count)
        .map(|index| {
            let mut plan = first.clone();
            change(index, &mut plan);
            plan
        })
        .collect();
}

/// Checks the totals of one kind: operations, bytes, and that nothing failed or was cut short.
fn check_totals(outcome: &Outcome, kind: OperationKind, operations: u64, what: &str) {
    let found = outcome.kind(kind).unwrap_or_else(|| panic!("{what}: no {kind:?}"));
    let bytes = if kind == OperationKind::Sync { 0 } else { operations * BLOCK };
    assert_eq!((found.operations, found.bytes), (operations, bytes), "{what}");
    assert_eq!((found.short, found.errors.len(), found.service.moments.count), (0, 0, operations), "{what}");
    assert_eq!(outcome.executed.stop, Stop::Complete, "{what}: {:?}", outcome.executed);
}

/// Blocks that hold anything but zeros.
fn written_blocks(bytes: &[u8]) -> usize {
    bytes.chunks(4096).filter(|block| block.iter().any(|&byte| byte != 0)).count()
}

#[test]
fn a_random_pass_writes_every_block_once() {
    let stage = Stage::new();
    for engine in engines("random pass") {
        for (mode, count) in [(IoMode::Buffered, 1), (IoMode::Buffered, 4), (IoMode::Direct, 4)] {
            let what = format!("{engine:?} {mode:?}, {count} workers");
            let path = stage.sparse("f", 8 * MIB);
            if mode == IoMode::Direct && !takes_direct_io(&path) {
                skip("random pass with direct I/O", "the filesystem refuses it");
                continue;
            }
            let mut stream = work(engine, OperationKind::Write, 2048 / u64::from(count), 8 * MIB);
            stream.engine.mode = mode;
            stream.workload.coverage = Coverage::OncePerPass;
            workers(&mut stream, count, |index, plan| plan.part = SharePart { index, count });
            let outcome = run(step(vec![file(&path, LayoutRule::MustExist, 8 * MIB)], stream));
            check_totals(&outcome, OperationKind::Write, 2048, &what);
            // As many writes as blocks, and no block unwritten: each was written once.
            let bytes = std::fs::read(&path).unwrap();
            assert_eq!((bytes.len(), written_blocks(&bytes)), (8 << 20, 2048), "{what}");
            let blocks: std::collections::BTreeSet<&[u8]> = bytes.chunks(4096).collect();
            assert_eq!(blocks.len(), 2048, "{what}: blocks repeat");
        }
    }
}

fn takes_direct_io(path: &Path) -> bool {
    use rustix::fs::{Mode, OFlags, open};
    open(path, OFlags::RDONLY | OFlags::DIRECT, Mode::empty()).is_ok()
}

#[test]
fn sequential_writes_fill_a_file_as_compressibly_as_asked() {
    let stage = Stage::new();
    for engine in engines("sequential write") {
        let path = stage.path("f");
        let mut stream = work(engine, OperationKind::Write, 512, 2 * MIB);
        stream.workload.cases[0].random = false;
        stream.workload.content.compressible = Ratio::percent(75.0);
        stream.workload.content.compress_chunk_bytes = 4096;
        let outcome = run(step(vec![file(&path, LayoutRule::Created, 2 * MIB)], stream));
        check_totals(&outcome, OperationKind::Write, 512, &format!("{engine:?}"));
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len(), 2 << 20);
        for chunk in bytes.chunks(4096) {
            let constant: usize = chunk.iter().map(|&byte| usize::from(byte == 0)).sum();
            // 3072 constant bytes and about four zeros among 1024 random ones.
            assert!((3072..3100).contains(&constant), "{constant} of 4096 bytes are constant");
        }
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_mix_keeps_its_shares() {
    let stage = Stage::new();
    let path = stage.path("f");
    for engine in engines("mix") {
        let mut stream = work(engine, OperationKind::Read, 8000, 4 * MIB);
        let case = stream.workload.cases[0];
        stream.workload.cases =
            vec![Case { weight: 0.7, ..case }, Case { weight: 0.3, kind: OperationKind::Write, ..case }];
        let outcome = run(step(vec![file(&path, LayoutRule::Written, 4 * MIB)], stream));
        let [reads, writes] =
            [OperationKind::Read, OperationKind::Write].map(|kind| outcome.kind(kind).unwrap());
        assert_eq!(reads.operations + writes.operations, 8000);
        // Five standard deviations of the binomial are 205.
        assert!(reads.operations.abs_diff(5600) < 205, "{} reads of 8000", reads.operations);
        assert_eq!(reads.bytes + writes.bytes, 8000 * BLOCK);
        assert_eq!(reads.short + writes.short, 0);
    }
}

#[test]
fn syncs_go_between_writes() {
    let stage = Stage::new();
    let path = stage.path("f");
    for engine in engines("syncs") {
        // The sync that falls due with the very last write is not issued.
        for (fsync, fdatasync, expect) in [(16, u64::MAX, 19), (u64::MAX, 5, 63)] {
            let mut stream = work(engine, OperationKind::Write, 320, MIB);
            let every = |n| if n == u64::MAX { Quota::Unlimited } else { Quota::AtMost(n) };
            stream.workload.sync = SyncRule {
                fsync_every: every(fsync),
                fdatasync_every: every(fdatasync),
                fsync_at_end: true,
                ..stream.workload.sync
            };
            let outcome = run(step(vec![file(&path, LayoutRule::Created, MIB)], stream));
            check_totals(&outcome, OperationKind::Write, 320, &format!("{engine:?}"));
            check_totals(&outcome, OperationKind::Sync, expect, &format!("{engine:?}"));
        }
    }
}

#[test]
fn trims_punch_holes_where_they_go() {
    let stage = Stage::new();
    for engine in engines("trims") {
        let path = stage.filled("f", 1 << 20, 0xFF);
        let mut stream = work(engine, OperationKind::Trim, 64, 512 * KIB);
        stream.workload.cases[0].random = false;
        let outcome = run(step(vec![file(&path, LayoutRule::MustExist, MIB)], stream));
        check_totals(&outcome, OperationKind::Trim, 64, &format!("{engine:?}"));
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!((bytes.len(), written_blocks(&bytes)), (1 << 20, 192));
        assert_eq!(written_blocks(&bytes[..256 << 10]), 0, "trims begin at the start");
    }
}

#[test]
fn workers_keep_to_their_regions() {
    const REGION: u64 = 256 * KIB;
    let stage = Stage::new();
    for engine in engines("regions") {
        let path = stage.sparse("f", 4 * 2 * REGION);
        let mut stream = work(engine, OperationKind::Write, REGION / BLOCK, REGION);
        stream.workload.cases[0].random = false;
        workers(&mut stream, 4, |index, plan| {
            plan.extents[0].start = Bytes(u64::from(index) * 2 * REGION);
            plan.seed = u64::from(index);
        });
        let outcome = run(step(vec![file(&path, LayoutRule::MustExist, 8 * REGION)], stream));
        check_totals(&outcome, OperationKind::Write, 4 * REGION / BLOCK, &format!("{engine:?}"));
        for worker in &outcome.executed.streams[0].workers {
            assert_eq!(worker.tally.kinds[0].bytes, REGION);
        }
        let bytes = std::fs::read(&path).unwrap();
        let regions = bytes.chunks(usize::try_from(REGION).unwrap()).map(written_blocks);
        assert_eq!(regions.collect::<Vec<_>>(), [64, 0, 64, 0, 64, 0, 64, 0], "{engine:?}");
    }
}

#[test]
fn file_sets_are_visited_in_their_order() {
    let cases = [
        (FileOrder::RoundRobin(1), [25, 25, 25, 25]),
        (FileOrder::RoundRobin(30), [30, 30, 30, 10]),
        (FileOrder::Sequential, [64, 36, 0, 0]),
    ];
    for engine in engines("file sets") {
        for (order, expect) in cases {
            let stage = Stage::new();
            let paths: Vec<_> = (0..4).map(|n| stage.path(&n.to_string())).collect();
            let mut stream = work(engine, OperationKind::Write, 100, 64 * BLOCK);
            stream.workload.cases[0].random = false;
            stream.workload.file_order = order;
            let extent =
                |target| Extent { target, start: Bytes::ZERO, length: Bytes(64 * BLOCK), room: Bytes::ZERO };
            stream.workers[0].extents = (0..4).map(extent).collect();
            let targets = paths.iter().map(|path| file(path, LayoutRule::Created, 64 * BLOCK)).collect();
            let outcome = run(step(targets, stream));
            check_totals(&outcome, OperationKind::Write, 100, &format!("{engine:?} {order:?}"));
            let lengths = paths.iter().map(|path| std::fs::metadata(path).unwrap().len() / BLOCK);
            assert_eq!(lengths.collect::<Vec<_>>(), expect, "{engine:?} {order:?}");
        }
    }
}

#[test]
fn a_window_is_as_long_as_asked_and_the_ramp_does_not_count() {
    let stage = Stage::new();
    let path = stage.path("f");
    for engine in engines("window") {
        let mut stream = work(engine, OperationKind::Read, 0, MIB);
        stream.limits.operations = Quota::Unlimited;
        stream.limits.time = TimeLimit::Nanoseconds(Nanos::millis(250).0);
        stream.ramp = Nanos::millis(120);
        workers(&mut stream, 2, |index, plan| plan.seed = u64::from(index));
        let mut step = step(vec![file(&path, LayoutRule::Written, MIB)], stream);
        step.interval = Nanos::millis(50);
        let outcome = run(step);
        for worker in &outcome.executed.streams[0].workers {
            assert_eq!((worker.start, worker.end), (Nanos::millis(120), Nanos::millis(370)), "{engine:?}");
        }
        let reads = outcome.reads();
        assert_eq!(reads.bytes, reads.operations * BLOCK);
        let of = |phase| outcome.intervals.iter().filter(move |interval| interval.phase == phase);
        let count = |phase| -> u64 {
            of(phase).flat_map(|interval| &interval.tally.kinds).map(|kind| kind.operations).sum()
        };
        assert_eq!(count(Phase::Measure), reads.operations, "{engine:?}");
        assert!(count(Phase::Ramp) > 0, "{engine:?}");
        assert!(of(Phase::Ramp).all(|interval| interval.end <= Nanos::millis(120)), "{engine:?}");
        assert!(of(Phase::Measure).all(|interval| interval.start >= Nanos::millis(120)), "{engine:?}");
        assert_eq!(of(Phase::Measure).map(|interval| interval.end).max(), Some(Nanos::millis(370)));
    }
}

#[test]
fn an_open_loop_issues_its_schedule() {
    let stage = Stage::new();
    let path = stage.path("f");
    for engine in engines("open loop") {
        let mut stream = work(engine, OperationKind::Read, 0, MIB);
        // Bound by count, so that a busy machine makes it late and not wrong: the 300th arrival of each is due at 300 ms.
        stream.limits.operations = Quota::AtMost(300);
        stream.limits.time = TimeLimit::Unbounded;
        stream.pacing = Pacing::Open {
            rate: 2000.0,
            arrival: Arrival::Constant,
            course: Vec::new(),
            backlog: Backlog::Keep,
        };
        workers(&mut stream, 2, |index, plan| plan.part = SharePart { index, count: 2 });
        let outcome = run(step(vec![file(&path, LayoutRule::Written, MIB)], stream));
        let reads = outcome.reads();
        assert_eq!(reads.operations, 600, "{engine:?}");
        let ends = outcome.executed.streams[0].workers.iter().map(|worker| worker.end);
        assert!(ends.max() >= Some(Nanos::millis(298)), "{engine:?} ran ahead of its schedule");
        let response = reads.response.expect("an open loop has response times");
        assert_eq!(response.moments.count, reads.operations);
        assert!(response.moments.sum_ns >= reads.service.moments.sum_ns);
    }
}

#[test]
fn least_rates_are_looked_at_between_the_edges_of_intervals() {
    let stage = Stage::new();
    let path = stage.path("f");
    // A synchronous engine has done an operation at each look, however busy the machine is.
    for (at_least, is_kept) in [(0.001, true), (1e15, false)] {
        let mut stream = work((EngineKind::Psync, 1), OperationKind::Read, 0, MIB);
        stream.limits.operations = Quota::Unlimited;
        stream.limits.time = TimeLimit::Nanoseconds(60_000_000);
        stream.demands = Demands {
            rates: vec![RateDemand { kind: None, unit: RateUnit::Operations, at_least }],
            rate_window: Nanos::millis(3),
            rate_settles: Nanos::millis(7),
            latencies: Vec::new(),
        };
        let outcome = run(step(vec![file(&path, LayoutRule::Written, MIB)], stream));
        assert_eq!(outcome.executed.stop == Stop::Complete, is_kept, "{:?}", outcome.executed.stop);
        // One interval, whatever was looked at in it.
        assert_eq!(outcome.intervals.len(), 1);
    }
}

/// Raises a flag at the first interval.
struct Stopper<'a> {
    stop: &'a AtomicBool,
    raised_at: Option<Nanos>,
}

impl Observer for Stopper<'_> {
    fn engine(&mut self, _: usize, _: &str) {}
    fn started(&mut self) {}
    fn interval(&mut self, _: Interval) {
        self.stop.store(true, Ordering::Relaxed);
        self.raised_at.get_or_insert(monotonic());
    }
    fn settled(&mut self) {}
}

#[test]
fn the_stop_flag_ends_a_step_within_a_second() {
    let stage = Stage::new();
    let path = stage.path("f");
    for engine in engines("stop") {
        let mut stream = work(engine, OperationKind::Write, 0, 4 * MIB);
        stream.limits.operations = Quota::Unlimited;
        workers(&mut stream, 3, |index, plan| plan.seed = u64::from(index));
        let mut step = step(vec![file(&path, LayoutRule::Written, 4 * MIB)], stream);
        step.interval = Nanos::millis(50);
        let stop = AtomicBool::new(false);
        let ready = prepare(step, 0, &Arc::new(Claims::default()), &mut |_| {}, &stop).unwrap();
        let mut stopper = Stopper { stop: &stop, raised_at: None };
        let executed =
            execute(&ready, &mut Crew::default(), &RealClock::new(true), Share::WHOLE, &stop, &mut stopper)
                .unwrap();
        let took = monotonic().since(stopper.raised_at.expect("an interval came"));
        assert!(took < Nanos::secs(1), "{engine:?} took {took} to stop");
        assert_eq!(executed.stop, Stop::Interrupted);
        assert!(executed.streams[0].workers.iter().all(|worker| worker.tally.kinds[0].operations > 0));
    }
}

#[test]
fn a_file_that_shrank_gives_a_short_read_and_then_errors() {
    let stage = Stage::new();
    for engine in engines("short reads") {
        let path = stage.filled("f", 64 << 10, 1);
        let mut stream = work(engine, OperationKind::Read, 16, 64 * KIB);
        stream.workload.cases[0].random = false;
        let step = step(vec![file(&path, LayoutRule::MustExist, 64 * KIB)], stream);
        let stop = AtomicBool::new(false);
        let ready = prepare(step, 0, &Arc::new(Claims::default()), &mut |_| {}, &stop).unwrap();
        let shrink = std::fs::OpenOptions::new().write(true).open(&path);
        shrink.and_then(|file| file.set_len(42_000)).unwrap();
        let outcome = support::try_ready(&ready).unwrap();
        let reads = outcome.reads();
        // Ten whole blocks, 1,040 bytes of the eleventh. The next moves nothing: an error, and no operation of any device.
        assert_eq!((reads.operations, reads.bytes, reads.short), (11, 42_000, 1), "{engine:?}");
        assert!(
            reads.errors[0].0 == 5 && (1..=5).contains(&reads.errors[0].1),
            "{engine:?}: {:?}",
            reads.errors
        );
        let said = &outcome.executed.io_errors[0];
        assert!(
            said.contains("offset 45056") && said.contains("the file ends before it"),
            "{engine:?}: {said}"
        );
    }
}

#[test]
fn errors_stop_the_step_or_are_counted_by_number() {
    let mut stage = Stage::new();
    let full = match stage.tmpfs("full", MIB) {
        Ok(folder) => folder.join("f"),
        Err(why) => return skip("I/O errors", &why),
    };
    std::fs::write(&full, vec![1; 512 << 10]).unwrap();
    // Half of the target can be written; the filesystem has room for no more.
    std::fs::write(full.with_file_name("rest"), vec![1; 512 << 10]).unwrap();
    for engine in engines("I/O errors") {
        let mut stream = work(engine, OperationKind::Write, 256, MIB);
        stream.workload.cases[0].random = false;
        let mut step = step(vec![file(&full, LayoutRule::Created, MIB)], stream);
        let stopped = run(step.clone());
        assert_eq!(stopped.executed.stop, Stop::IoErrors, "{engine:?}");
        let said = &stopped.executed.io_errors[0];
        assert!(said.starts_with("write of 4096 B at offset 5") && said.contains("No space left"), "{said}");
        step.errors = ErrorPolicy::CountUpTo(1000);
        let counted = run(step);
        assert_eq!(counted.executed.stop, Stop::Complete, "{engine:?}");
        let writes = counted.kind(OperationKind::Write).unwrap();
        assert_eq!((writes.operations, writes.errors), (128, vec![(28, 128)]), "{engine:?}");
    }
}

#[test]
fn the_engine_in_use_is_told() {
    let stage = Stage::new();
    let path = stage.path("f");
    for engine in engines("engine in use") {
        let stream = work(engine, OperationKind::Read, 10, MIB);
        let outcome = run(step(vec![file(&path, LayoutRule::Written, MIB)], stream));
        let expect: &[&str] = match engine.0 {
            EngineKind::Psync => &["psync"],
            EngineKind::Libaio(AioSettings::USUAL) => &["libaio (reaped in user space)"],
            // The limit on locked memory may not allow registered buffers.
            _ => &["io_uring (registered buffers and files)", "io_uring (registered files)"],
        };
        assert!(expect.contains(&outcome.engines[0].as_str()), "{:?}", outcome.engines);
    }
}

#[test]
fn workers_that_lock_their_files_all_come_to_their_end() {
    let stage = Stage::new();
    let paths = [stage.sparse("one", MIB), stage.sparse("two", MIB)];
    for engine in engines("locks") {
        for lock in [FileLock::Exclusive, FileLock::ReadWrite] {
            // Each works on both files, in opposite orders: without an order of locks they would wait for each other.
            let stream = |first: u32| {
                let mut stream = work(engine, OperationKind::Write, 200, MIB);
                stream.lock = lock;
                let extent = stream.workers[0].extents[0];
                stream.workers[0].extents =
                    vec![Extent { target: first, ..extent }, Extent { target: 1 - first, ..extent }];
                stream
            };
            let files = paths.iter().map(|path| file(path, LayoutRule::MustExist, MIB)).collect();
            let mut step = step(files, stream(0));
            step.streams.push(stream(1));
            let outcome = run(step);
            check_totals(&outcome, OperationKind::Write, 200, &format!("{engine:?} {lock:?}"));
        }
    }
}

#[test]
fn passes_that_end_go_on_as_often_as_asked() {
    let stage = Stage::new();
    for engine in engines("passes") {
        let path = stage.sparse("f", MIB);
        let mut stream = work(engine, OperationKind::Write, u64::MAX, 10 * BLOCK);
        stream.workload.cases[0].random = false;
        stream.workload.ends = PassEnd::Stop;
        // Every other block, on a part of the file: a pass ends after five of them, whatever its bytes.
        stream.workers[0].extents[0].room = Bytes(10 * BLOCK);
        stream.workload.stride_bytes = i64::try_from(BLOCK).expect("a block");
        stream.limits.operations = Quota::Unlimited;
        stream.limits.passes = Passes::Counted { count: 3, bytes: 10 * BLOCK, at_least: 0 };
        let outcome = run(step(vec![file(&path, LayoutRule::MustExist, 20 * BLOCK)], stream));
        check_totals(&outcome, OperationKind::Write, 15, &format!("{engine:?}"));
    }
}
