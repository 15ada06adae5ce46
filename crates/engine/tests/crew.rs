//! Threads, engines and open targets live through the steps of a run that can share them, and no longer.

mod support;

use fathom_engine::Crew;
use fathom_engine::Share;
use fathom_engine::prepare::{Claims, prepare};
use fathom_schema::*;
use fathom_units::Bytes;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use support::{Outcome, stream, try_crew};

const MIB: u64 = 1 << 20;
const WORKERS: u64 = 3;

/// What a step of these tests changes.
#[derive(Clone, Copy)]
struct Load {
    kind: OperationKind,
    block: u32,
    depth: u32,
    workers: u64,
}

const WRITES: Load = Load { kind: OperationKind::Write, block: 65_536, depth: 16, workers: WORKERS };
const READS: Load = Load { kind: OperationKind::Read, block: 4096, depth: 4, ..WRITES };

fn load(engine: EngineKind, path: &Path, what: Load) -> Step {
    let Load { kind, block, depth, workers } = what;
    let depth = if engine.is_synchronous() { 1 } else { depth };
    let mut stream = stream(engine, depth);
    stream.workload.cases[0] =
        Case { weight: 1.0, kind, size: Size::Fixed(block), random: true, align: None };
    stream.workload.align = Bytes(u64::from(block));
    stream.limits =
        StreamLimits { time: TimeLimit::Unbounded, operations: Quota::AtMost(64), ..stream.limits };
    stream.workers[0].extents[0].length = Bytes(4 * MIB);
    let first = stream.workers[0].clone();
    stream.workers = (0..workers).map(|seed| WorkerPlan { seed, ..first.clone() }).collect();
    let kind = TargetKind::File { path: path.to_owned(), layout: LayoutRule::Written, remove_after: false };
    let target = Target { name: path.display().to_string(), kind, size: Bytes(4 * MIB) };
    Step { targets: vec![target], ..support::step(TargetKind::Null, stream) }
}

fn run(step: Step, index: u32, claims: &Arc<Claims>, crew: &mut Crew) -> Outcome {
    crew.make_room(&step, Share::WHOLE);
    let ready =
        prepare(step, index, claims, &mut |_| {}, &AtomicBool::new(false)).expect("it can be laid out");
    let outcome = try_crew(&ready, crew).expect("the step can start");
    assert_eq!(outcome.executed.stop, Stop::Complete, "{:?}", outcome.executed);
    outcome
}

/// Threads of this process that are workers; tests of other files are other processes.
fn workers() -> BTreeSet<String> {
    let all = std::fs::read_dir("/proc/self/task").expect("a process has tasks").flatten();
    let is_worker = |id: &String| {
        let name = std::fs::read_to_string(format!("/proc/self/task/{id}/comm"));
        name.is_ok_and(|name| name.starts_with("worker "))
    };
    all.map(|task| task.file_name().to_string_lossy().into_owned()).filter(is_worker).collect()
}

/// Descriptors of this process that lead to `path`.
fn open(path: &Path) -> usize {
    let all = std::fs::read_dir("/proc/self/fd").expect("a process has descriptors").flatten();
    all.filter(|fd| std::fs::read_link(fd.path()).is_ok_and(|to| to == path)).count()
}

/// One test: it looks at all threads of the process.
#[test]
fn what_steps_can_share_is_made_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let engines =
        [EngineKind::Psync, EngineKind::Libaio(AioSettings::USUAL), EngineKind::IoUring(RingSettings::USUAL)];
    for (number, engine) in engines.into_iter().enumerate() {
        let missing = match engine {
            EngineKind::IoUring(_) => fathom_io::probe_io_uring(),
            EngineKind::Libaio(_) => fathom_io::probe_libaio(),
            _ => None,
        };
        if let Some(why) = missing {
            eprintln!("skip: {engine:?}: {why}");
            continue;
        }
        let path = folder.join(format!("shared{number}"));
        let claims = Arc::new(Claims::default());
        let mut crew = Crew::default();
        let mut seen = Vec::new();
        // Deepest, largest and writing first: all that follows does with that.
        // Whoever writes through the cache with io_uring has threads of another kind than whoever reads.
        let next = if matches!(engine, EngineKind::IoUring(_)) { WRITES } else { READS };
        let loads = [WRITES, next, Load { block: 512, ..WRITES }, next, WRITES, next];
        for (index, what) in loads.into_iter().enumerate() {
            let outcome = run(load(engine, &path, what), u32::try_from(index).unwrap(), &claims, &mut crew);
            let found = outcome.kind(what.kind).expect("it did what it was asked for");
            assert_eq!(found.operations, 64 * WORKERS, "{engine:?}, step {index}");
            assert_eq!((found.short, found.errors.len()), (0, 0), "{engine:?}, step {index}");
            seen.push(workers());
        }
        assert_eq!((crew.started(), crew.opened()), (WORKERS, WORKERS), "{engine:?}");
        assert_eq!(seen[0].len() as u64, WORKERS);
        assert!(seen.iter().all(|threads| *threads == seen[0]), "{engine:?}: {seen:?}");
        assert!(open(&path) as u64 > WORKERS, "what is shared stays open");

        // A deeper queue is another ring; where there is none, files stay.
        let deeper = Load { depth: 32, ..WRITES };
        run(load(engine, &path, deeper), 6, &claims, &mut crew);
        let anew = if engine.is_synchronous() { 0 } else { WORKERS };
        assert_eq!((crew.started(), crew.opened()), (WORKERS, WORKERS + anew), "{engine:?}");
        // Fewer workers: nobody else is needed, and the one that idles holds on to nothing.
        run(load(engine, &path, Load { workers: 2, ..deeper }), 7, &claims, &mut crew);
        assert_eq!((crew.started(), crew.opened()), (WORKERS, WORKERS + anew), "{engine:?}");

        // Another file: the first one is let go before anything is laid out.
        let other = folder.join(format!("other{number}"));
        let step = load(engine, &other, WRITES);
        crew.make_room(&step, Share::WHOLE);
        assert_eq!(open(&path), 1, "{engine:?}: the lock of the claims alone");
        run(step, 8, &claims, &mut crew);
        assert_eq!((crew.started(), crew.opened()), (WORKERS, 2 * WORKERS + anew), "{engine:?}");

        // A file that took the place of the one that is open is not taken for it.
        std::fs::remove_file(&other).unwrap();
        run(load(engine, &other, WRITES), 9, &Arc::new(Claims::default()), &mut crew);
        assert_eq!(crew.opened(), 3 * WORKERS + anew, "{engine:?}");
        drop((crew, claims));
        assert!(workers().is_empty(), "threads end with the run");
        assert_eq!((open(&path), open(&other)), (0, 0));
    }
}
