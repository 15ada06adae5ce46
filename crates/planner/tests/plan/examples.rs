//! Every example job is planned on a made-up host, and the figures of its plan are what its sources say.

use crate::host::{Is, facts, planned, read};
use fathom_planner::{PREVIEW_MAXIMUM, Plan};
use fathom_schema::{
    Arrival, Durability, EngineKind, FileOrder, IoMode, LayoutRule, OperationKind, Pacing, Quota,
    RingSettings, SharePart, Size, Step, TargetKind, Think, TimeLimit,
};
use fathom_units::{Bytes, Nanos};
use std::path::Path;

pub(crate) const DISK: Is = Is::Device { size: Bytes::gib(1000), sector: 512 };
const CLOSED: Pacing = Pacing::Closed { think: Think::None };

fn example(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The plan of an example where every path is `is`, and what was found.
fn plan_of(name: &str, is: Is) -> (Plan, Vec<String>) {
    let job = read(&example(name));
    let (plan, found) = planned(&job, &facts(&job, |_| is));
    (plan.unwrap_or_else(|| panic!("{name}: {found:?}")), found)
}

/// What a plan comes to.
struct Expect {
    points: usize,
    seconds: Option<u64>,
    workers: usize,
    depths: &'static [u32],
    ramp: u64,
    /// Weight in per cent, bytes, kind, random.
    cases: &'static [(f64, u32, OperationKind, bool)],
}

const READ: OperationKind = OperationKind::Read;
const WRITE: OperationKind = OperationKind::Write;

fn check(name: &str, is: Is, expect: &Expect) -> Vec<Step> {
    let (plan, found) = plan_of(name, is);
    assert_eq!(found, Vec::<String>::new(), "{name}");
    check_plan(name, &plan, expect)
}

fn check_plan(name: &str, plan: &Plan, expect: &Expect) -> Vec<Step> {
    assert_eq!(plan.points, expect.points, "{name}");
    assert_eq!(plan.expected, expect.seconds.map(Nanos::secs), "{name}");
    let steps = plan.experiment.preview();
    assert_eq!(steps.len(), expect.points);
    let depths: Vec<u32> = steps.iter().map(|step| step.streams[0].queue_depth).collect();
    assert_eq!(depths, expect.depths, "{name}");
    for step in &steps {
        let [stream] = step.streams.as_slice() else { panic!("{name} has one stream") };
        assert_eq!(stream.workers.len(), expect.workers, "{name}");
        assert_eq!(stream.ramp, Nanos::secs(expect.ramp), "{name}");
        assert!((stream.workload.cases.iter().map(|case| case.weight).sum::<f64>() - 1.0).abs() < 1e-12);
        let cases: Vec<_> = stream
            .workload
            .cases
            .iter()
            .map(|case| ((case.weight * 1e8).round() / 1e6, case.size, case.kind, case.random))
            .collect();
        let expected: Vec<_> = expect
            .cases
            .iter()
            .map(|&(weight, size, kind, random)| (weight, Size::Fixed(size), kind, random))
            .collect();
        assert_eq!(cases, expected, "{name}");
    }
    steps
}

/// Start and length of each worker's extents.
fn extents(step: &Step) -> Vec<Vec<(u64, u64)>> {
    let of_worker = |worker: &fathom_schema::WorkerPlan| {
        worker.extents.iter().map(|extent| (extent.start.0, extent.length.0)).collect()
    };
    step.streams[0].workers.iter().map(of_worker).collect()
}

#[test]
fn oltp() {
    let expect = Expect {
        points: 1,
        seconds: Some(60 + 86_400),
        workers: 5,
        depths: &[30],
        ramp: 60,
        cases: &[(70.0, 8192, READ, true), (30.0, 8192, WRITE, true)],
    };
    let steps = check("oltp.toml", DISK, &expect);
    let stream = &steps[0].streams[0];
    assert_eq!(stream.engine.kind, EngineKind::IoUring(RingSettings::USUAL));
    assert_eq!((stream.engine.mode, stream.engine.batch_submit), (IoMode::Direct, 30));
    assert_eq!(stream.limits.time, TimeLimit::Nanoseconds(86_400_000_000_000));
    assert_eq!(extents(&steps[0]), vec![vec![(0, 1000 << 30)]; 5]);
    let parts: Vec<SharePart> = stream.workers.iter().map(|worker| worker.part).collect();
    assert_eq!(parts, (0..5).map(|index| SharePart { index, count: 5 }).collect::<Vec<_>>());
    assert!(
        stream.workers.iter().all(|worker| worker.seed == stream.workers[0].seed),
        "one sequence for all"
    );
}

#[test]
fn five_regions() {
    let expect = Expect {
        points: 1,
        seconds: None,
        workers: 5,
        depths: &[4],
        ramp: 0,
        cases: &[(100.0, 256 << 10, READ, false)],
    };
    let steps = check("five-regions.toml", DISK, &expect);
    let fifth = 200_u64 << 30;
    assert_eq!(extents(&steps[0]), (0..5).map(|worker| vec![(worker * fifth, fifth)]).collect::<Vec<_>>());
    assert_eq!(steps[0].streams[0].limits.bytes, Quota::AtMost(fifth));
    assert_eq!(steps[0].streams[0].limits.time, TimeLimit::Unbounded);
}

#[test]
fn randread_500() {
    let expect = Expect {
        points: 1,
        seconds: None,
        workers: 2,
        depths: &[4],
        ramp: 0,
        cases: &[(100.0, 256 << 10, READ, true)],
    };
    let steps = check("randread-500.toml", DISK, &expect);
    let stream = &steps[0].streams[0];
    assert_eq!(stream.workload.run_length, 500);
    assert_eq!(extents(&steps[0]), vec![vec![(0, 1000 << 30)]; 2]);
    assert_eq!(stream.limits.bytes, Quota::AtMost(1000 << 30));
    assert_ne!(stream.workers[0].seed, stream.workers[1].seed);
    assert_eq!(stream.workers[1].part, SharePart { index: 0, count: 1 });
}

#[test]
fn archive_files() {
    let expect = Expect {
        points: 1,
        seconds: None,
        workers: 8,
        depths: &[8],
        ramp: 0,
        cases: &[(100.0, 256 << 10, WRITE, false)],
    };
    let steps = check("archive-files.toml", Is::Absent, &expect);
    let stream = &steps[0].streams[0];
    assert_eq!(steps[0].targets.len(), 8 * 140);
    assert_eq!(extents(&steps[0]), vec![vec![(0, 10 << 30); 140]; 8]);
    assert_eq!(stream.limits.bytes, Quota::AtMost(1400 << 30));
    assert_eq!(stream.workload.file_order, FileOrder::Sequential);
    let mut used: Vec<u32> = stream.workers.iter().flat_map(|w| w.extents.iter().map(|e| e.target)).collect();
    used.sort_unstable();
    assert_eq!(used, (0..1120).collect::<Vec<u32>>(), "every file has one writer");
    let last = stream.workers[7].extents[139].target;
    let kind = TargetKind::File {
        path: "/mnt/archive.7.139".into(),
        layout: LayoutRule::Allocated,
        remove_after: false,
    };
    assert_eq!(steps[0].targets[last as usize].kind, kind);
    let (plan, _) = plan_of("archive-files.toml", Is::Absent);
    let intents = plan.intents;
    assert_eq!(intents.iter().map(|intent| intent.needs().0).sum::<u64>(), 11_200 << 30);
    assert!(intents.iter().all(|intent| intent.creates && intent.writes && !intent.reads && !intent.removes));
}

#[test]
fn vdbench_fixed_rate() {
    let expect = Expect {
        points: 1,
        seconds: Some(10),
        workers: 1,
        depths: &[8],
        ramp: 0,
        cases: &[(100.0, 4096, READ, true)],
    };
    let steps = check("vdbench-fixed-rate.toml", DISK, &expect);
    let Pacing::Open { rate, arrival, .. } = steps[0].streams[0].pacing else {
        panic!("a fixed rate is open")
    };
    assert_eq!((rate, arrival), (100.0, Arrival::Constant));
    assert_eq!(extents(&steps[0]), [[(0, 4 << 20)]]);
}

#[test]
fn vdbench_file_tree() {
    let expect = Expect {
        points: 1,
        seconds: Some(600),
        workers: 1,
        depths: &[1],
        ramp: 0,
        cases: &[(80.0, 4096, READ, true), (20.0, 4096, WRITE, true)],
    };
    let job = read(&example("vdbench-file-tree.toml"));
    let what = |path: &Path| if path == Path::new("/fs") { Is::Folder } else { Is::NoFolder };
    let (plan, found) = planned(&job, &facts(&job, what));
    assert_eq!(found, ["warning plan.cached"]);
    let steps = check_plan("vdbench-file-tree.toml", &plan.expect("a tree is planned"), &expect);
    assert_eq!(steps[0].targets.len(), 28);
    assert_eq!(steps[0].interval, Nanos::secs(3));
    assert_eq!(extents(&steps[0]), [vec![(0, 4 << 20); 28]]);
    let stream = &steps[0].streams[0];
    assert_eq!(stream.engine.durability, Durability::Data);
    assert_eq!(stream.workload.file_order, FileOrder::Random(1));
}

#[test]
fn vdbench_curve() {
    let expect = Expect {
        points: 11,
        seconds: Some(11 * 1518 + 10 * 60),
        workers: 1,
        depths: &[1; 11],
        ramp: 18,
        cases: &[(40.0, 4096, READ, true), (60.0, 4096, WRITE, true)],
    };
    let steps = check("vdbench-curve.toml", Is::Absent, &expect);
    assert_eq!(steps[0].streams[0].pacing, CLOSED);
    assert_eq!((steps[0].pause_before, steps[1].pause_before), (Nanos::ZERO, Nanos::secs(60)));
    for (tenth, step) in steps.iter().enumerate().skip(1) {
        let Pacing::Open { rate, arrival, .. } = step.streams[0].pacing else { panic!("a share is open") };
        assert_eq!((rate, arrival), (PREVIEW_MAXIMUM / 10.0 * tenth as f64, Arrival::Poisson));
        assert_eq!(step.name, format!("run1 (rate={tenth}0% of maximum)"));
    }
}

const CYCLE: &[u32] = &[1, 2, 4, 8, 16, 32, 64, 128, 256];

#[test]
fn iometer_fileserver() {
    let expect = Expect {
        points: 9,
        seconds: Some(9 * 75),
        workers: 1,
        depths: CYCLE,
        ramp: 15,
        cases: &[
            (8.0, 512, READ, true),
            (2.0, 512, WRITE, true),
            (4.0, 1024, READ, true),
            (1.0, 1024, WRITE, true),
            (4.0, 2048, READ, true),
            (1.0, 2048, WRITE, true),
            (48.0, 4096, READ, true),
            (12.0, 4096, WRITE, true),
            (1.6, 8192, READ, true),
            (0.4, 8192, WRITE, true),
            (3.2, 16_384, READ, true),
            (0.8, 16_384, WRITE, true),
            (3.2, 32_768, READ, true),
            (0.8, 32_768, WRITE, true),
            (8.0, 65_536, READ, true),
            (2.0, 65_536, WRITE, true),
        ],
    };
    let steps = check("iometer-fileserver.toml", DISK, &expect);
    assert_eq!(steps[4].name, "cycle (queue_depth=16)");
    assert_eq!(steps[4].parameters, [("stream.queue_depth".to_owned(), "16".to_owned())]);
    assert_eq!(mean(&steps[0]).round(), 11_346.0);
}

#[test]
fn iometer_webserver() {
    let expect = Expect {
        points: 9,
        seconds: Some(9 * 75),
        workers: 1,
        depths: CYCLE,
        ramp: 15,
        cases: &[
            (22.0, 512, READ, true),
            (15.0, 1024, READ, true),
            (8.0, 2048, READ, true),
            (23.0, 4096, READ, true),
            (15.0, 8192, READ, true),
            (2.0, 16_384, READ, true),
            (6.0, 32_768, READ, true),
            (7.0, 65_536, READ, true),
            (1.0, 131_072, READ, true),
            (1.0, 524_288, READ, true),
        ],
    };
    let steps = check("iometer-webserver.toml", DISK, &expect);
    assert_eq!(mean(&steps[0]).round(), 16_036.0);
}

fn mean(step: &Step) -> f64 {
    step.streams[0].workload.cases.iter().map(|case| case.weight * case.size.mean()).sum()
}

/// Four workers with 16 outstanding on 200,000,000 sectors; ten minutes of ramp, thirty of measuring.
fn check_profile(name: &str, cases: &'static [(f64, u32, OperationKind, bool)]) -> Step {
    let expect = Expect { points: 1, seconds: Some(600 + 1800), workers: 4, depths: &[16], ramp: 600, cases };
    check(name, DISK, &expect).remove(0)
}

#[test]
fn iometer_database_and_workstation() {
    let expect =
        |cases| Expect { points: 9, seconds: Some(9 * 75), workers: 1, depths: CYCLE, ramp: 15, cases };
    check("iometer-database.toml", DISK, &expect(&[(67.0, 8192, READ, true), (33.0, 8192, WRITE, true)]));
    let workstation = expect(&[
        (64.0, 8192, READ, true),
        (16.0, 8192, READ, false),
        (16.0, 8192, WRITE, true),
        (4.0, 8192, WRITE, false),
    ]);
    check("iometer-workstation.toml", DISK, &workstation);
}

#[test]
fn exchange() {
    let expect = Expect {
        points: 6,
        seconds: Some(6 * 360),
        workers: 1,
        depths: &[32; 6],
        ramp: 60,
        cases: &[(67.0, 4096, READ, true), (33.0, 4096, WRITE, true)],
    };
    let steps = check("exchange.toml", DISK, &expect);
    let rates: Vec<Option<f64>> = steps.iter().map(|step| rate(&step.streams[0].pacing)).collect();
    let shares = [0.1, 0.3, 0.5, 0.7, 0.9].map(|share| Some(PREVIEW_MAXIMUM * share));
    assert_eq!(rates[0], None);
    assert_eq!(rates[1..], shares);
}

fn rate(pacing: &Pacing) -> Option<f64> {
    match pacing {
        Pacing::Open { rate, arrival: Arrival::Poisson, .. } => Some(*rate),
        _ => None,
    }
}

/// Intensities, reads, places and sizes are those of the first version's public generator, as `NetApp` published it.
#[test]
fn spc1_like() {
    let (plan, found) = plan_of("spc1-like.toml", DISK);
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(plan.expected, Some(Nanos::secs(6 * 780)));
    let steps = plan.experiment.preview();
    let weights: Vec<u32> = steps[0].streams.iter().map(|stream| stream.flow.unwrap().weight).collect();
    assert_eq!(weights, [35, 281, 70, 210, 18, 70, 35, 281]);
    assert_eq!(weights.iter().sum::<u32>(), 1000);
    let shares = |of: &dyn Fn(&fathom_schema::Stream) -> f64| {
        steps[0].streams.iter().zip(&weights).map(|(one, &weight)| of(one) * f64::from(weight) / 1000.0).sum()
    };
    let reads: f64 = shares(&|stream| {
        stream.workload.cases.iter().filter(|case| case.kind == READ).map(|case| case.weight).sum()
    });
    assert!((reads - 0.3944).abs() < 1e-9, "{reads}");
    let kib: f64 = shares(&|stream| {
        stream.workload.cases.iter().map(|case| case.weight * case.size.mean()).sum::<f64>() / 1024.0
    });
    assert!((kib - 8.0144).abs() < 1e-9, "{kib}");
    let gib = |bytes: u64| (bytes + (1 << 29)) >> 30;
    let place = |stream: &fathom_schema::Stream| {
        let extent = &stream.workers[0].extents[0];
        (gib(extent.start.0), gib(extent.length.0))
    };
    let places: Vec<(u64, u64)> = steps[0].streams.iter().map(place).collect();
    assert_eq!(
        places,
        [(0, 450), (68, 23), (90, 225), (315, 23), (450, 450), (662, 23), (540, 225), (900, 100)]
    );
    // At shares of the maximum each keeps its own rate, and waits for none.
    for (step, share) in steps[1..].iter().zip([0.95, 0.9, 0.8, 0.5, 0.1]) {
        assert!(step.streams.iter().all(|stream| stream.flow.is_none()), "{}", step.name);
        assert!(step.streams.iter().all(|stream| rate(&stream.pacing) == Some(PREVIEW_MAXIMUM * share)));
    }
}

#[test]
fn profiles() {
    let whole = 200_000_000 * 512;
    let oracle = check_profile("oracle.toml", &[(30.0, 8192, READ, true), (70.0, 8192, WRITE, true)]);
    assert_eq!(extents(&oracle), [[(0, whole)]; 4]);
    let vmware = check_profile(
        "vmware.toml",
        &[
            (22.0, 4096, READ, true),
            (18.0, 4096, READ, false),
            (33.0, 4096, WRITE, true),
            (27.0, 4096, WRITE, false),
        ],
    );
    let quarter = whole / 4;
    assert_eq!(extents(&vmware), [0, 1, 2, 3].map(|worker| [(worker * quarter, quarter)]));
    let backup = check_profile("backup.toml", &[(100.0, 65_536, READ, false)]);
    assert_eq!(extents(&backup), [0, 1, 2, 3].map(|worker| [(worker * quarter, quarter)]));
}

#[test]
fn every_example_is_tested() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let here = include_str!("examples.rs");
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(here.contains(&format!("\"{name}\"")), "{name} has no plan test");
    }
}
