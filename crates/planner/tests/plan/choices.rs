//! What the planner chooses where the job leaves a choice, and that it says so.

use crate::examples::DISK;
use crate::host::{Is, facts, read};
use fathom_model::{Amount, Dialect, Job, Span};
use fathom_planner::{Plan, plan};
use fathom_schema::{
    AioSettings, CallFlags, Coverage, EngineKind, Facts, FileLock, ForcedAsync, IoMode, Memory,
    OperationPriority, Pacing, PassEnd, Passes, Quota, Registration, RingSettings, Severity, SharePart,
    SizedPriority, Step, Submitter, TargetKind, Think, TimeLimit,
};
use fathom_units::{Bytes, Nanos};

const HEAD: &str = "[target.t]\npath = \"/dev/x\"\n";

fn planned(job: &Job, is: Is, change: impl Fn(&mut Facts)) -> (Plan, Step) {
    let mut facts = facts(job, |_| is);
    change(&mut facts);
    let (plan, found) = plan(job, &facts, 42);
    let plan = plan.unwrap_or_else(|| panic!("{found:?}"));
    let step = plan.experiment.preview().remove(0);
    (plan, step)
}

fn notes(plan: &Plan) -> Vec<&str> {
    plan.notes.iter().map(|note| note.message.as_str()).collect()
}

/// Of the eight CPUs of the host that is made up.
#[test]
fn more_workers_than_cpus_are_told() {
    let note = "9 workers share 8 CPUs, so that some wait for one while their operations are done, which counts as latency, and \
                at a rate goes out late; fewer workers with a larger queue_depth each do not";
    for (workers, dialect, told) in [
        (8, Dialect::Native, None),
        (9, Dialect::Native, Some(Severity::Warn)),
        // A job of its own for each operation in flight is how fio's synchronous engines are used.
        (9, Dialect::Fio, Some(Severity::Info)),
    ] {
        let text = format!("{HEAD}[stream.s]\nworkers = {workers}\ntime = \"60s\"\n");
        let (plan, _) = planned(&Job { dialect, ..read(&text) }, DISK, |_| {});
        let found = plan.notes.iter().find(|one| one.message == note).map(|one| one.severity);
        assert_eq!(found, told, "{workers} {dialect:?}: {:?}", notes(&plan));
    }
}

/// fio's rule: `cpuchunks` × (100 − `cpuload`) / `cpuload` between two stretches.
#[test]
fn a_busy_share_makes_pauses() {
    let text =
        "[target.n]\nkind = \"null\"\n[stream.s]\nengine = \"cpuio\"\ntime = \"60s\"\ntargets = [\"n\"]\n";
    for (options, chunk_ns, pause_ns) in [
        ("cpu_load = \"25%\"", 50_000_000, 150_000_000),
        ("cpu_load = \"80%\"\ncpu_chunk = \"1ms\"", 1_000_000, 250_000),
        ("cpu_load = \"100%\"", 50_000_000, 0),
        ("cpu_load = \"100%\"\ncpu_work = \"sort\"", 50_000_000, 0),
    ] {
        let (_, step) = planned(&read(&format!("{text}{options}")), DISK, |_| {});
        let stream = &step.streams[0];
        assert_eq!(stream.engine.kind, EngineKind::Spin { chunk_ns, sorts: options.contains("sort") });
        let found = match stream.pacing {
            Pacing::Closed { think: Think::Every { operations: 1, pause_ns, .. } } => pause_ns,
            Pacing::Closed { think: Think::None } => 0,
            ref other => panic!("{other:?}"),
        };
        assert!(found.abs_diff(pause_ns) < 2, "{options}: {found}");
    }
    // It ends with the others, and not by time.
    let both = format!(
        "[target.t]\npath = \"/dev/x\"\n{text}cpu_load = \"50%\"\nend_with_io = true\n[stream.io]\ntargets = [\"t\"]\ntime = \"9s\"\n"
    )
    .replace("time = \"60s\"\n", "");
    let (_, step) = planned(&read(&both), DISK, |_| {});
    assert_eq!(step.streams[0].control.ends_with, [1]);
    assert_eq!(step.streams[0].limits.time, TimeLimit::Unbounded);
}

#[test]
fn the_engine_is_the_best_that_works() {
    let ring = EngineKind::IoUring(RingSettings::USUAL);
    let no = || Some("forbidden".to_owned());
    for (uring, aio, direct, expect, note) in [
        (None, None, true, ring, None),
        (
            no(),
            None,
            true,
            EngineKind::Libaio(AioSettings::USUAL),
            Some("libaio is used because io_uring cannot be: forbidden"),
        ),
        (
            no(),
            None,
            false,
            EngineKind::Psync,
            Some(
                "psync is used because io_uring cannot be: forbidden; libaio needs direct I/O to be asynchronous",
            ),
        ),
        (
            no(),
            no(),
            true,
            EngineKind::Psync,
            Some("psync is used because io_uring cannot be: forbidden; libaio cannot be used: forbidden"),
        ),
    ] {
        let job = read(&format!("{HEAD}[stream.s]\ntime = \"60s\"\ndirect = {direct}"));
        let (plan, step) = planned(&job, DISK, |facts| {
            facts.limits.io_uring_refused.clone_from(&uring);
            facts.limits.libaio_refused.clone_from(&aio);
        });
        assert_eq!(step.streams[0].engine.kind, expect);
        assert_eq!(notes(&plan), note.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn engines_that_are_asked_for_are_had_with_their_settings() {
    let flags = |polled_percent, nowait, uncached| {
        EngineKind::Pvsync2(CallFlags { polled_percent, nowait, uncached, untorn: false })
    };
    for (options, expect, mode) in [
        ("engine = \"sync\"", EngineKind::Sync, IoMode::Direct),
        ("engine = \"vsync\"\ndirect = false", EngineKind::Vsync, IoMode::Buffered),
        ("engine = \"pvsync\"", EngineKind::Pvsync, IoMode::Direct),
        ("engine = \"pvsync2\"", flags(0, false, false), IoMode::Direct),
        ("engine = \"pvsync2\"\npolled = \"30%\"\nnowait = true", flags(30, true, false), IoMode::Direct),
        ("engine = \"pvsync2\"\nuncached = true", flags(0, false, true), IoMode::Direct),
        (
            "engine = \"io_uring\"\npolled = \"100%\"\nfixed_buffers = true\nregistered_files = false",
            EngineKind::IoUring(RingSettings {
                polled: true,
                fixed_buffers: Registration::Required,
                registered_files: Registration::Never,
                ..RingSettings::USUAL
            }),
            IoMode::Direct,
        ),
        (
            "engine = \"io_uring\"\nsubmit_thread = true\nsubmit_thread_cpu = 1\nvectored = true\nforce_async = 4",
            EngineKind::IoUring(RingSettings {
                submitter: Submitter::KernelOn(1),
                vectored: true,
                forced_async: ForcedAsync::OneOf(4),
                ..RingSettings::USUAL
            }),
            IoMode::Direct,
        ),
        // Registered buffers save nothing where the kernel copies much.
        (
            "engine = \"io_uring\"\ndirect = false",
            EngineKind::IoUring(RingSettings { fixed_buffers: Registration::Never, ..RingSettings::USUAL }),
            IoMode::Buffered,
        ),
        (
            "engine = \"io_uring\"\ndirect = false\nfixed_buffers = true",
            EngineKind::IoUring(RingSettings {
                fixed_buffers: Registration::Required,
                ..RingSettings::USUAL
            }),
            IoMode::Buffered,
        ),
        (
            "engine = \"libaio\"\nuserspace_reap = false\nnowait = true",
            EngineKind::Libaio(AioSettings { userspace_reap: false, nowait: true, ..AioSettings::USUAL }),
            IoMode::Direct,
        ),
        (
            "engine = \"mmap\"",
            EngineKind::Mmap { write_through: false, random_access: false },
            IoMode::Buffered,
        ),
        (
            "engine = \"libaio\"\nuntorn = true",
            EngineKind::Libaio(AioSettings { untorn: true, ..AioSettings::USUAL }),
            IoMode::Direct,
        ),
        (
            "engine = \"io_uring\"\nuntorn = true",
            EngineKind::IoUring(RingSettings { untorn: true, ..RingSettings::USUAL }),
            IoMode::Direct,
        ),
    ] {
        let job = read(&format!("{HEAD}[stream.s]\ntime = \"60s\"\n{options}"));
        let (plan, step) = planned(&job, DISK, |_| {});
        let engine = &step.streams[0].engine;
        assert_eq!((engine.kind, engine.mode), (expect, mode), "{options}");
        assert_eq!(notes(&plan), [""; 0], "{options}");
    }
    for (options, expect, note) in [
        (
            "engine = \"posixaio\"",
            EngineKind::IoUring(RingSettings::USUAL),
            "the stream \"s\" asks for posixaio and has io_uring: the C library's own would be threads that wait for one another",
        ),
        (
            "engine = \"libaio\"\npriority_reads = \"30%\"\npriority_class = \"best-effort\"\npriority_level = 4",
            EngineKind::Libaio(AioSettings {
                priority: OperationPriority { reads_percent: 30, writes_percent: 0, class: 2, level: 4 },
                ..AioSettings::USUAL
            }),
            "the stream \"s\" gives 30 % of its reads and 0 % of its writes priority 4 of class 2; their latencies are kept together with the others",
        ),
        (
            "engine = \"mmap\"\ndirect = true",
            EngineKind::Mmap { write_through: true, random_access: false },
            "the stream \"s\" goes through the page cache, as every mapping does: each operation is followed by msync in place of direct I/O",
        ),
    ] {
        let job = read(&format!("{HEAD}[stream.s]\ntime = \"60s\"\n{options}"));
        let (plan, step) = planned(&job, DISK, |_| {});
        assert_eq!(step.streams[0].engine.kind, expect, "{options}");
        assert_eq!(notes(&plan), [note]);
    }
}

#[test]
fn buffers_of_small_operations_are_registered_where_the_kernel_copies() {
    for (sizes, expect) in [
        ("\"512B\"", Registration::WherePossible),
        ("\"1KiB\"", Registration::Never),
        ("[\"512B 90%\", \"4KiB 10%\"]", Registration::Never),
    ] {
        let text = format!(
            "{HEAD}[workload.small]\nblock_size = {sizes}\n[stream.s]\nworkload = \"small\"\ntime = \"60s\"\n\
             direct = false\nengine = \"io_uring\"\n"
        );
        let (_, step) = planned(&read(&text), DISK, |_| {});
        let EngineKind::IoUring(ring) = step.streams[0].engine.kind else { panic!("it is io_uring") };
        assert_eq!(ring.fixed_buffers, expect, "{sizes}");
    }
}

#[test]
fn shares_by_size_have_the_priority_of_the_stream_or_their_own() {
    let split =
        "priority_split = \"read 4KiB 50%, read 4KiB 20% idle 7, write 64KiB 0%\"\npriority_level = 3";
    let job = read(&format!("{HEAD}[stream.s]\ntime = \"60s\"\nengine = \"io_uring\"\n{split}"));
    let (plan, step) = planned(&job, DISK, |_| {});
    let part = |percent, class, level| SizedPriority { writes: false, bytes: 4096, percent, class, level };
    assert_eq!(step.streams[0].engine.priorities, [part(50, 1, 3), part(20, 3, 7)]);
    let note = "the stream \"s\" gives shares of its I/Os priorities of their own, by size; their latencies are kept \
                together with the others";
    assert_eq!(notes(&plan), [note]);
}

#[test]
fn buffers_are_not_registered_beyond_the_limit() {
    let job = read(&format!("{HEAD}[stream.s]\ntime = \"60s\"\nqueue_depth = 256"));
    let (plan, step) = planned(&job, DISK, |facts| facts.limits.locked_memory_bytes = 64 << 10);
    let expect =
        EngineKind::IoUring(RingSettings { fixed_buffers: Registration::Never, ..RingSettings::USUAL });
    assert_eq!(step.streams[0].engine.kind, expect);
    assert_eq!(
        notes(&plan),
        [
            "buffers are not registered: registered buffers need 1 MiB of locked memory; the limit of this process is 64 KiB"
        ]
    );
}

/// Where the kernel counts rings as locked memory, one that is too large for the limit is not made where nobody asked for it.
#[test]
fn rings_beyond_the_limit_are_not_made() {
    let job = read(&format!(
        "{HEAD}[workload.w]\naccess = \"random\"\n[stream.s]\ntime = \"60s\"\nqueue_depth = 1024\n"
    ));
    let of = |rings_are_locked, limit| {
        let (plan, step) = planned(&job, DISK, |facts| {
            facts.limits.locked_memory_bytes = limit;
            facts.limits.rings_are_locked = rings_are_locked;
        });
        (step.streams[0].engine.kind, notes(&plan).join("; "))
    };
    let (kind, told) = of(true, 64 << 10);
    assert_eq!(kind, EngineKind::Libaio(AioSettings::USUAL));
    let expect = "libaio is used because io_uring cannot be: its rings need 104 KiB of locked memory, and the limit of this process \
                  is 64 KiB";
    assert_eq!(told, expect);
    assert!(matches!(of(true, 104 << 10).0, EngineKind::IoUring(_)));
    assert!(matches!(of(false, 64 << 10).0, EngineKind::IoUring(_)));
}

#[test]
fn a_synchronous_engine_gets_its_depth_as_threads() {
    let text = format!(
        "{HEAD}[workload.w]\naccess = \"random\"\n[stream.s]\nengine = \"psync\"\nworkers = 2\nqueue_depth = 4\n\
         operations = 1000\n"
    );
    let (plan, step) = planned(&read(&text), DISK, |_| {});
    let stream = &step.streams[0];
    assert_eq!((stream.queue_depth, stream.workers.len()), (1, 8));
    assert_eq!(stream.workers[5].part, SharePart { index: 5, count: 8 });
    assert_eq!(stream.limits.operations, Quota::AtMost(250));
    assert_eq!(plan.notes.len(), 1);
    // Each worker's slice is cut again, so that its threads do not read the same twice.
    let (_, step) = planned(&read(&text.replace("random", "sequential")), DISK, |_| {});
    let starts: Vec<u64> =
        step.streams[0].workers.iter().map(|worker| worker.extents[0].start.0 >> 30).collect();
    assert_eq!(starts, [0, 125, 250, 375, 500, 625, 750, 875]);
    let fio = Job { dialect: Dialect::Fio, ..read(&text) };
    let (plan, step) = planned(&fio, DISK, |_| {});
    assert_eq!((step.streams[0].queue_depth, step.streams[0].workers.len()), (1, 2));
    assert_eq!(notes(&plan), ["the stream \"s\" has queue depth 1, not 4: its engine is synchronous"]);
}

#[test]
fn times_and_seeds_that_nobody_gave_are_noted() {
    let (plan, step) = planned(&read(&format!("{HEAD}[run]\nseed = \"fresh\"\n[stream.s]")), DISK, |_| {});
    assert_eq!(step.streams[0].limits.time, TimeLimit::Nanoseconds(30_000_000_000));
    assert_eq!(plan.expected, Some(Nanos::secs(30)));
    assert_eq!(
        notes(&plan),
        [
            "the stream \"s\" measures for 30 s: nothing else bounds it",
            "seed \"fresh\" stands for 21 in this run"
        ]
    );
    // A plan is not the run: what it drew the run will not use.
    assert_eq!(plan.notes[1].in_plan(), "seed \"fresh\": it is drawn when the run starts, which notes it");
    assert_eq!(plan.notes[0].in_plan(), plan.notes[0].message);
    // The noted seed repeats the run.
    let (_, again) = planned(&read(&format!("{HEAD}[run]\nseed = 21\n[stream.s]")), DISK, |_| {});
    assert_eq!(again.streams[0].workers, step.streams[0].workers);
}

#[test]
fn a_filesystem_without_direct_io_is_used_through_the_cache() {
    let job = read(&format!("{HEAD}[stream.s]\ntime = \"60s\""));
    let (plan, step) = planned(&job, Is::File { size: Bytes::gib(100) }, |facts| {
        facts.targets[0].filesystem.as_mut().unwrap().direct_align_bytes = None;
    });
    assert_eq!(step.streams[0].engine.mode, IoMode::Buffered);
    assert_eq!(notes(&plan), ["/dev/x is used through the page cache: ext4 at / refuses direct I/O"]);
}

#[test]
fn the_null_engine_opens_nothing() {
    let job =
        read(&format!("{HEAD}[workload.w]\nread = \"0%\"\n[stream.s]\ntime = \"60s\"\nengine = \"null\""));
    let (plan, step) = planned(&job, Is::NoFolder, |_| {});
    assert_eq!(step.targets[0].kind, TargetKind::Null);
    assert_eq!(step.streams[0].engine.kind, EngineKind::Null);
    assert!(plan.intents.is_empty());
}

#[test]
fn files_are_as_long_as_their_streams_reach_in_fio_jobs() {
    let text = format!(
        "{HEAD}[stream.s]\ntime = \"60s\"\nworkers = 2\nsize = \"1GiB\"\noffset_per_worker = \"1GiB\""
    );
    let text = text.replace("/dev/x", "/mnt/x");
    for (dialect, is, expect) in [
        (Dialect::Native, Is::Absent, 2),
        (Dialect::Fio, Is::Absent, 2),
        (Dialect::Fio, Is::File { size: Bytes::gib(1) }, 2),
        (Dialect::Fio, Is::File { size: Bytes::gib(3) }, 3),
    ] {
        let (plan, step) = planned(&Job { dialect, ..read(&text) }, is, |_| {});
        assert_eq!(step.targets[0].size, Bytes::gib(expect), "{dialect:?} {is:?}");
        let there = if let Is::File { size } = is { size.0 } else { 0 };
        assert_eq!(plan.intents[0].needs().0, (expect << 30) - there);
    }
}

/// fio divides `size` between the files of a set; the first get the odd blocks.
#[test]
fn a_size_is_divided_between_the_files_of_a_set() {
    let text = "[target.t]\ndirectory = \"/d\"\nfiles = 4\n[stream.s]\npasses = 2\nsize = \"42KiB\"";
    let mut job = read(text);
    let (_, step) = planned(&job, Is::Absent, |_| {});
    let lengths: Vec<u64> = step.streams[0].workers[0].extents.iter().map(|e| e.length.0 >> 10).collect();
    assert_eq!(lengths, [12, 12, 8, 8]);
    assert_eq!(step.streams[0].limits.bytes, Quota::AtMost(80 << 10));
    // fio's loops repeat its io_size; in a native job the smaller bound counts.
    job.streams[0].options.bytes.set(Amount::Bytes(Bytes::kib(64)), Span::default());
    assert_eq!(planned(&job, Is::Absent, |_| {}).1.streams[0].limits.bytes, Quota::AtMost(64 << 10));
    job.dialect = Dialect::Fio;
    assert_eq!(planned(&job, Is::Absent, |_| {}).1.streams[0].limits.bytes, Quota::AtMost(128 << 10));
}

/// Workers that each cover everything for themselves share a rate: the part says whose arrivals are whose.
#[test]
fn workers_that_share_a_rate_have_parts() {
    let text = format!(
        "{HEAD}[workload.w]\naccess = \"random\"\ncoverage = \"once-per-pass\"\n[stream.s]\ntime = \"60s\"\n\
         worker_regions = \"same\"\nworkers = 2\n"
    );
    let (_, step) = planned(&read(&text), DISK, |_| {});
    assert_eq!(step.streams[0].workers[1].part, SharePart { index: 0, count: 1 });
    assert_eq!(step.streams[0].workload.coverage, Coverage::OncePerPass);
    let (plan, step) = planned(&read(&(text + "rate = \"100/s\"")), DISK, |_| {});
    assert_eq!(step.streams[0].workers[1].part, SharePart { index: 1, count: 2 });
    assert_eq!(step.streams[0].workload.coverage, Coverage::Independent);
    assert_eq!(plan.notes.len(), 1);
}

/// 256 blocks are 86, 85 and 85 of three workers: a pass of each ends with its own, so that all together do each block once.
#[test]
fn workers_end_their_passes_with_their_shares_of_the_blocks() {
    for (workload, stream, expect) in [
        ("", "workers = 3\npasses = 1", Some((1, 86))),
        ("", "workers = 200\npasses = 1", Some((1, 2))),
        // A worker without a block repeats another's.
        ("", "workers = 300\npasses = 2", None),
        ("", "engine = \"psync\"\nqueue_depth = 3\npasses = 1", Some((1, 86))),
        ("", "workers = 3\npasses = 1\nrate = \"1k/s\"", Some((1, 86))),
        ("files_end = \"stop\"", "workers = 4\npasses = 3", Some((3, 64))),
        // Where each has as many, none comes to an end.
        ("", "workers = 4\npasses = 3", None),
        // Each goes through all of it.
        ("", "workers = 3\npasses = 1\nworker_regions = \"same\"", None),
        ("", "workers = 3\ntime = \"60s\"", None),
        // A ramp ends within a pass, and arrivals do not wait for the end of one.
        ("", "workers = 3\npasses = 1\nramp = \"1s\"", None),
        ("", "workers = 3\npasses = 2\nrate = \"1k/s\"", None),
    ] {
        let text = format!(
            "{HEAD}[workload.w]\naccess = \"random\"\ncoverage = \"once-per-pass\"\n{workload}\n[stream.s]\nsize = \"1MiB\"\n\
             {stream}\n"
        );
        let (_, step) = planned(&read(&text), DISK, |_| {});
        let stream = &step.streams[0];
        let bytes = |blocks: u64| blocks * 4096;
        let (ends, passes) = match expect {
            Some((count, blocks)) => {
                assert_eq!(stream.limits.bytes, Quota::AtMost(count * bytes(blocks)), "{text}");
                (PassEnd::Stop, Passes::Counted { count, bytes: bytes(blocks), at_least: 0 })
            }
            None => (PassEnd::Anew, Passes::Endless),
        };
        assert_eq!((stream.workload.ends, stream.limits.passes), (ends, passes), "{text}");
        assert_eq!(stream.workload.coverage, Coverage::OncePerPass, "{text}");
    }
}

/// What is told to have no effect on a simulated device has none.
#[test]
fn a_simulated_device_has_none_of_what_is_for_storage() {
    let options = "memory = \"mapped-huge\"\nmemory_shift = \"64B\"\nlocked_memory = \"1MiB\"\nfile_lock = \"exclusive\"\n\
                   fresh_files = true\nflow = 1";
    let text = |target: &str| format!("[target.t]\n{target}\n[stream.s]\ntime = \"60s\"\n{options}");
    let of = |target: &str| planned(&read(&text(target)), Is::Absent, |_| {}).1.streams.remove(0);
    let simulated = of("kind = \"sim\"\nsize = \"1GiB\"");
    let plain = Memory { locked: Bytes::mib(1), ..Memory::default() };
    assert_eq!(simulated.engine.memory, plain);
    assert_eq!((simulated.lock, simulated.fresh_files, simulated.flow), (FileLock::None, false, None));
    let real = of("path = \"/mnt/x\"\nsize = \"1GiB\"");
    assert_ne!(real.engine.memory, plain);
    assert_eq!((real.lock, real.fresh_files, real.flow.is_some()), (FileLock::Exclusive, true, true));
}

/// Two sections that lead to one place are one target, large enough for both.
#[test]
fn one_place_is_one_target() {
    let job = read(
        "[target.a]\npath = \"/dev/x\"\nsize = \"1GiB\"\n[target.b]\npath = [\"/dev/x\", \"/dev/y\"]\nsize = \"2GiB\"\n\
         [workload.w]\naccess = \"random\"\n[stream.s]\ntime = \"60s\"",
    );
    let (plan, step) = planned(&job, DISK, |_| {});
    assert_eq!(step.targets.iter().map(|target| target.size.0 >> 30).collect::<Vec<_>>(), [2, 2]);
    let extents: Vec<(u32, u64)> =
        step.streams[0].workers[0].extents.iter().map(|e| (e.target, e.length.0 >> 30)).collect();
    assert_eq!(extents, [(0, 1), (0, 2), (1, 2)]);
    assert_eq!(plan.intents.len(), 2);
}

/// All workers may run on all CPUs; split, each has one by its number.
#[test]
fn cpus_are_shared_unless_they_are_split() {
    let check = |options: &str, expect: &[&[u32]]| {
        let text = format!("{HEAD}[stream.s]\ntime = \"60s\"\ncpus = \"2-4\"\n{options}");
        let (_, step) = planned(&read(&text), DISK, |_| {});
        let found: Vec<&[u32]> = step.streams[0].workers.iter().map(|worker| &worker.cpus[..]).collect();
        assert_eq!(found, expect, "{options}");
    };
    check("workers = 2", &[&[2, 3, 4], &[2, 3, 4]]);
    check("first_worker = 1", &[&[2, 3, 4]]);
    check("cpus_policy = \"split\"\nworkers = 4", &[&[2], &[3], &[4], &[2]]);
    check("cpus_policy = \"split\"\nfirst_worker = 1", &[&[3]]);
    let lanes = "cpus_policy = \"split\"\nworkers = 2\nengine = \"psync\"\nqueue_depth = 2";
    check(lanes, &[&[2], &[2], &[3], &[3]]);
}

#[test]
fn the_null_engine_has_depth_1() {
    for dialect in [Dialect::Native, Dialect::Fio] {
        let text = format!(
            "{HEAD}size = \"1GiB\"\n[stream.s]\ntime = \"60s\"\nengine = \"null\"\nworkers = 2\nqueue_depth = 8"
        );
        let (plan, step) = planned(&Job { dialect, ..read(&text) }, DISK, |_| {});
        assert_eq!((step.streams[0].queue_depth, step.streams[0].workers.len()), (1, 2), "{dialect:?}");
        assert_eq!(
            notes(&plan),
            [
                "the stream \"s\" has queue depth 1, not 8: the null engine completes at once, so depth means nothing"
            ]
        );
    }
}

#[test]
fn trims_have_depth_1_whatever_the_queue_depth() {
    let note =
        "trims of the stream \"s\" are issued one at a time: their depth is 1, whatever the queue depth of 8";
    for (workload, stream, expect) in [
        ("read = \"0%\"\ntrim = \"20%\"", "queue_depth = 8\nengine = \"io_uring\"", Some(note)),
        ("read = \"0%\"\ntrim = \"20%\"", "queue_depth = 8\nengine = \"libaio\"", Some(note)),
        ("read = \"0%\"\ntrim = \"20%\"", "queue_depth = 1", None),
        ("read = \"0%\"", "queue_depth = 8", None),
    ] {
        let text = format!("{HEAD}[workload.w]\n{workload}\n[stream.s]\ntime = \"60s\"\n{stream}");
        let (plan, _) = planned(&read(&text), DISK, |facts| {
            facts.targets[0].device.as_mut().unwrap().discards = true;
        });
        assert_eq!(notes(&plan), expect.into_iter().collect::<Vec<_>>(), "{text}");
    }
}

/// Workers with uniform gaps take them in turn from one sequence, so they have one seed; parts keep the rest apart.
#[test]
fn uniform_arrivals_come_from_one_sequence() {
    for (arrival, access, regions, one_seed) in [
        ("uniform", "sequential", "split", true),
        ("uniform", "random", "split", true),
        ("uniform", "random", "same", true),
        ("uniform", "sequential", "same", true),
        ("poisson", "sequential", "split", false),
    ] {
        let text = format!(
            "{HEAD}[workload.w]\naccess = \"{access}\"\n[stream.s]\ntime = \"60s\"\nworkers = 3\nrate = \"100/s\"\n\
             first_worker = 2\noffset = \"1GiB\"\nworker_regions = \"{regions}\"\narrival = \"{arrival}\""
        );
        let (_, step) = planned(&read(&text), DISK, |_| {});
        let workers = &step.streams[0].workers;
        assert_eq!(workers.iter().all(|worker| worker.seed == workers[0].seed), one_seed, "{text}");
        assert!((0..3).all(|index| workers[index as usize].part == SharePart { index, count: 3 }), "{text}");
    }
}
