//! What is wrong with a job on a host, and how it is said.

mod arrivals;
mod locality;

use crate::examples::DISK;
use crate::host::{Is, facts, read};
use fathom_model::{BlockSizes, Span};
use fathom_planner::plan;
use fathom_schema::Facts;
use fathom_units::Bytes;

/// Plans `text` on a host where every path is `is`, changed by `change`; expects these lines `code: message; help`.
pub(crate) fn check(text: &str, is: Is, change: impl Fn(&mut Facts), expect: &[&str]) {
    let job = read(text);
    let mut facts = facts(&job, |_| is);
    change(&mut facts);
    let (plan, found) = plan(&job, &facts, 0);
    let found: Vec<String> =
        found.all().iter().map(|d| format!("{}: {}; {}", d.code, d.message, d.help)).collect();
    assert_eq!(found, expect, "{text}");
    let warns = |line: &&&str| WARNINGS.iter().any(|code| line.starts_with(code));
    assert_eq!(plan.is_some(), expect.iter().filter(|line| !warns(line)).count() == 0, "{text}");
}

const WARNINGS: &[&str] = &[
    "plan.same-region",
    "plan.small-region",
    "plan.cached",
    "plan.tail",
    "plan.short-time",
    "plan.no-effect",
    "plan.unused",
    "plan.reads-unwritten",
    "plan.buffered-libaio",
    "plan.uneven-workers",
    "plan.two-names",
];

pub(crate) const GIB: Is = Is::Device { size: Bytes::gib(1), sector: 512 };
const FOUR_K: Is = Is::Device { size: Bytes::gib(1), sector: 4096 };

pub(crate) fn job(target: &str, workload: &str, stream: &str) -> String {
    format!(
        "[target.t]\npath = \"/dev/x\"\n{target}\n[workload.w]\n{workload}\n[stream.s]\ntime = \"60s\"\n{stream}\n"
    )
}

#[test]
fn one_file_under_two_names_is_one_target() {
    let text = |read: &str| {
        format!(
            "[target.t]\npath = [\"/a\", \"/b\"]\n[workload.w]\nread = \"{read}\"\n[stream.s]\ntime = \"60s\"\n"
        )
    };
    let link = |facts: &mut Facts| facts.targets[1].resolved = "/a".into();
    let file = Is::File { size: Bytes::gib(1) };
    check(
        &text("50%"),
        file,
        link,
        &[
            "plan.two-names: /a and /b are one and the same, a link of each other or mounted twice; what is written under \
           one name changes the other: name two targets, or one name twice",
        ],
    );
    check(&text("50%"), file, |_| {}, &[]);
    // Readers do each other no harm; the record says it.
    check(&text("100%"), file, link, &[]);
    let job = read(&text("100%"));
    let mut facts = facts(&job, |_| file);
    link(&mut facts);
    let plan = plan(&job, &facts, 0).0.expect("it has no fault");
    assert!(plan.notes.iter().any(|note| note.message.contains("one and the same")), "{:?}", plan.notes);
    assert_eq!(plan.experiment.preview()[0].targets.len(), 1);
}

#[test]
fn a_device_without_a_medium() {
    check(
        &job("", "", ""),
        Is::Device { size: Bytes::ZERO, sector: 512 },
        |_| {},
        &[
            "target.no-medium: the block device /dev/x has a size of 0: there is no medium in it, or nothing behind it; \
           put a medium in, or attach a loop device to its file (losetup); lsblk shows sizes",
        ],
    );
}

#[test]
fn sizes_that_contradict_each_other() {
    let same = |_: &mut Facts| {};
    check(
        &job("size = \"2GiB\"", "", ""),
        GIB,
        same,
        &[
            "plan.device-too-small: size 2 GiB is more than the 1 GiB of /dev/x; make size smaller or leave it out",
        ],
    );
    check(
        &job("", "", "offset = \"900MiB\"\nsize = \"200MiB\""),
        GIB,
        same,
        &[
            "plan.past-end: the region of the stream \"s\" goes from 900 MiB to 1100 MiB, past the 1 GiB of /dev/x; make \
           size or offset smaller, or the target larger",
        ],
    );
    check(
        &job("", "", "size = \"20%\"\noffset_per_worker = \"20%\"\nworkers = 6"),
        GIB,
        same,
        &[
            "plan.past-end: the region of the stream \"s\" (worker 5) goes from 1 GiB to 1258288 KiB, past the 1 GiB of \
           /dev/x; make size or offset smaller, or the target larger",
        ],
    );
    check(
        &job("", "block_size = \"1MiB\"", "size = \"64KiB\""),
        GIB,
        same,
        &[
            "plan.block-too-large: the region of the stream \"s\" has 64 KiB of /dev/x, less than one block of 1 MiB; use \
           smaller blocks or a larger region",
        ],
    );
    check(
        &job("", "", "size = \"8KiB\"\nworkers = 3"),
        GIB,
        same,
        &[
            "plan.region-too-small: the 8 KiB of the stream \"s\" cannot be divided among 3 workers in blocks of 4 KiB; \
           use fewer workers, or worker_regions = \"same\"",
        ],
    );
    check(
        &job("", "", "bytes = \"1KiB\""),
        GIB,
        same,
        &[
            "plan.quota: the stream \"s\" ends after 1 KiB per worker, less than one block of 4 KiB; make bytes at least \
           one block",
        ],
    );
    check(
        &job("", "", "").replace("/dev/x", "/mnt/x"),
        Is::Absent,
        same,
        &[
            "plan.needs-size: /mnt/x does not exist or is empty, and has no size; give it a size, such as 10GiB",
        ],
    );
    check(
        &job("size = \"50%\"", "", "").replace("/dev/x", "/mnt/x"),
        Is::Absent,
        same,
        &[
            "plan.needs-size: size 50% of /mnt/x, which is not there, is unknown; give the size in bytes, such as \
           10GiB",
        ],
    );
}

/// Of a sweep too, whose values are read late.
#[test]
fn one_operation_moves_at_most_a_gibibyte() {
    let sweep = |size: &str| {
        job("", "", "")
            + &format!("[stage.a]\nsweep = {{ \"workload.block_size\" = [\"4KiB\", \"{size}\"] }}")
    };
    let (mut large, fits) = (read(&job("", "", "")), read(&sweep("1GiB")));
    large.workloads[0].options.block_size.set(BlockSizes::fixed(Bytes::gib(2)), Span::default());
    let swept = read(&sweep("2GiB"));
    for (job, expect) in [(&large, &["workload.block-size"][..]), (&swept, &["stage.sweep"]), (&fits, &[])] {
        let (plan, found) = plan(job, &facts(job, |_| DISK), 0);
        assert_eq!(found.all().iter().map(|d| d.code).collect::<Vec<_>>(), expect);
        assert_eq!(plan.is_some(), expect.is_empty());
    }
}

#[test]
fn passes_that_workers_cannot_share_evenly_are_told() {
    for (size, expect) in [
        (
            "40KiB",
            &[
                "plan.uneven-workers: the 10 blocks of the stream \"s\" cannot be divided evenly among 3 workers; a pass is \
                 12 operations, each worker does as many as the busiest; give the stream a size that the number of \
                 workers divides",
            ][..],
        ),
        ("48KiB", &[][..]),
    ] {
        let stream = format!("passes = 1\nworkers = 3\nsize = \"{size}\"");
        check(&job("", "access = \"random\"", &stream), DISK, |_| {}, expect);
        // Those that go once through all together do so exactly, but where a ramp has gone through some of it.
        let once = "access = \"random\"\ncoverage = \"once-per-pass\"";
        check(&job("", once, &stream), DISK, |_| {}, &[]);
        check(&job("", once, &format!("{stream}\nramp = \"1s\"")), DISK, |_| {}, expect);
    }
}

#[test]
fn direct_io_needs_whole_sectors() {
    let same = |_: &mut Facts| {};
    check(
        &job("", "block_size = 1000", ""),
        GIB,
        same,
        &[
            "plan.not-aligned: block size 1000 B is not a multiple of the 512 B sector of /dev/x, which direct I/O needs; \
           use a multiple of 512 B or turn direct I/O off",
        ],
    );
    check(
        &job("", "access = \"random\"\nalign = \"512B\"", "offset = \"32256B\""),
        FOUR_K,
        same,
        &[
            "plan.not-aligned: align 512 B is not a multiple of the 4 KiB sector of /dev/x, which direct I/O needs; use \
             a multiple of 4 KiB or turn direct I/O off",
            "plan.not-aligned: offset 32256 B is not a multiple of the 4 KiB sector of /dev/x, which direct I/O needs; \
             use a multiple of 4 KiB or turn direct I/O off",
        ],
    );
    let tmpfs = |facts: &mut Facts| {
        let filesystem = facts.targets[0].filesystem.as_mut().unwrap();
        (filesystem.kind, filesystem.direct_align_bytes) = ("tmpfs".to_owned(), None);
    };
    let file = Is::File { size: Bytes::gib(1000) };
    check(
        &job("", "", "direct = true"),
        file,
        tmpfs,
        &[
            "plan.direct-refused: direct I/O on /dev/x is refused by tmpfs at /; use it through the page cache, with direct off, or name another filesystem",
        ],
    );
    check(&job("", "", ""), file, tmpfs, &[]);
}

#[test]
fn paths_that_are_not_what_is_needed() {
    for (is, expect) in [
        (
            Is::NoFolder,
            "target.no-folder: /mnt/x cannot be made: its folder /mnt does not exist; create it with: mkdir -p /mnt",
        ),
        (
            Is::Folder,
            "target.kind: /mnt/x is a folder, and a file or a block device is needed; name a file in it, or use \
             directory instead of path",
        ),
    ] {
        check(&job("", "", "").replace("/dev/x", "/mnt/x"), is, |_| {}, &[expect]);
    }
    // A file made among devices lies in memory, and its speed would pass for that of the device that was meant.
    for is in [Is::Absent, Is::NoFolder] {
        let expect = "target.absent: there is no device /dev/x, and files are not made among devices; check its name with lsblk";
        check(&job("size = \"1GiB\"", "", ""), is, |_| {}, &[expect]);
    }
    let in_memory = |facts: &mut Facts| {
        facts.targets[0].filesystem.as_mut().unwrap().mount_point = "/dev/shm".into();
    };
    check(&job("size = \"1GiB\"", "", "").replace("/dev/x", "/dev/shm/x"), Is::Absent, in_memory, &[]);
    let denied = |facts: &mut Facts| facts.targets[0].error = Some("permission denied".to_owned());
    check(
        &job("", "", ""),
        GIB,
        denied,
        &[
            "target.unusable: /dev/x cannot be used: permission denied; check the path and the permissions, or run as a \
           user that may use it",
        ],
    );
    check(
        &job("kind = \"block\"", "", ""),
        Is::File { size: Bytes::gib(1000) },
        |_| {},
        &["target.kind: /dev/x is a file, not a block device; leave kind out, or use kind = \"file\""],
    );
    check(
        &job("layout = \"must-exist\"\nsize = \"2GiB\"", "", ""),
        Is::File { size: Bytes::gib(1) },
        |_| {},
        &[
            "plan.file-too-small: /dev/x has 1 GiB, less than the 2 GiB needed, and layout is \"must-exist\"; make size \
           smaller, or use layout = \"written\"",
        ],
    );
}

/// A synchronous engine has a worker for each place in a queue, and would need more files at a depth above 1.
#[test]
fn another_engine_is_a_remedy_for_few_files_at_depth_1() {
    check(
        &job("", "access = \"random\"", "workers = 1000\nqueue_depth = 1"),
        DISK,
        |facts| facts.limits.open_files = 1024,
        &[
            "plan.open-files: the step needs 2065 open files; the limit of this process is 1024; raise it with: ulimit -n \
           2065 (above the hard limit as root; LimitNOFILE=2065 for a service); or use fewer workers or files, or \
           files_at_once (openfiles), or engine = \"psync\", which needs one less for each worker",
        ],
    );
}

#[test]
fn hosts_that_have_no_room() {
    check(
        &job("", "access = \"random\"", "workers = 1000\nqueue_depth = 64"),
        DISK,
        |facts| facts.limits.open_files = 1024,
        &[
            "plan.open-files: the step needs 2065 open files; the limit of this process is 1024; raise it with: ulimit -n \
           2065 (above the hard limit as root; LimitNOFILE=2065 for a service); or use fewer workers or files, or \
           files_at_once (openfiles)",
        ],
    );
    check(
        &job("", "access = \"random\"\nblock_size = \"1GiB\"", "queue_depth = 64"),
        DISK,
        |_| {},
        &[
            "plan.memory: the buffers of the step need 64 GiB, more than the host's memory of 16 GiB; use fewer workers, \
           a smaller queue_depth or a smaller block_size",
        ],
    );
}

#[test]
fn locked_memory_that_there_is_no_room_for() {
    check(
        &job("", "", "fixed_buffers = true\nqueue_depth = 256"),
        DISK,
        |facts| facts.limits.locked_memory_bytes = 64 << 10,
        &[
            "plan.locked-memory: registered buffers need 1 MiB of locked memory; the limit of this process is 64 KiB; \
           raise it with: ulimit -l 1024 (above the hard limit as root; LimitMEMLOCK=1048576 for a service), or use \
           fixed_buffers = false",
        ],
    );
    check(
        &job("", "", "fixed_buffers = true\nqueue_depth = 64"),
        DISK,
        |facts| (facts.limits.locked_memory_bytes, facts.limits.rings_are_locked) = (256 << 10, true),
        &[
            "plan.locked-memory: registered buffers need 256 KiB of locked memory, beside 8 KiB for rings; the limit of this \
           process is 256 KiB; raise it with: ulimit -l 264 (above the hard limit as root; LimitMEMLOCK=270336 for a service), \
           or use fixed_buffers = false",
        ],
    );
    check(
        &job("", "", "engine = \"io_uring\"\nqueue_depth = 1024"),
        DISK,
        |facts| (facts.limits.locked_memory_bytes, facts.limits.rings_are_locked) = (64 << 10, true),
        &[
            "plan.locked-memory: the rings of io_uring need 104 KiB of locked memory; the limit of this process is 64 KiB; \
           raise it with: ulimit -l 104 (above the hard limit as root; LimitMEMLOCK=106496 for a service); or use fewer \
           workers, a smaller queue_depth, or engine = \"libaio\" or \"psync\"",
        ],
    );
    check(
        &job("", "", "locked_memory = \"1MiB\"\nengine = \"psync\""),
        DISK,
        |facts| facts.limits.locked_memory_bytes = 64 << 10,
        &[
            "plan.locked-memory: the memory that is held needs 1 MiB of locked memory; the limit of this process is 64 KiB; \
           raise it with: ulimit -l 1024 (above the hard limit as root; LimitMEMLOCK=1048576 for a service), or ask for less",
        ],
    );
    check(
        &job("", "access = \"random\"", "engine = \"libaio\"\nworkers = 3\nqueue_depth = 32768"),
        DISK,
        |_| {},
        &[
            "plan.aio-limit: libaio needs room for 98304 operations in flight; the host has 65536 left (fs.aio-max-nr); \
           raise it with: sysctl fs.aio-max-nr=262144; or use fewer workers, a smaller queue_depth, or io_uring",
        ],
    );
    check(
        &job("", "access = \"random\"", "engine = \"io_uring\"\nqueue_depth = 32769"),
        DISK,
        |_| {},
        &[
            "plan.ring-depth: the stream \"s\" has queue depth 32769; a ring of io_uring has room for 32768; use a \
             queue_depth of 32768 or less with more workers, or engine = \"libaio\"",
        ],
    );
    check(
        &job("", "", "cpus = \"6-9\""),
        DISK,
        |_| {},
        &[
            "plan.cpu: the stream \"s\" asks for CPU 8; its threads may run on 8 CPUs, numbered 0 to 7; name CPUs that are online \
             and that the control group has (cpuset)",
        ],
    );
    for (limit, says) in [
        (
            (|facts: &mut Facts| facts.limits.mappings = 65_530) as fn(&mut Facts),
            "plan.threads: the step has 20000 workers; the kernel has room for the memory of 13006; use fewer workers with \
             a larger queue depth; or raise it: sysctl vm.max_map_count=100500",
        ),
        (
            |facts: &mut Facts| facts.limits.threads = 8000,
            "plan.threads: the step has 20000 workers; 7000 more threads may run on this host; use fewer workers with a \
             larger queue depth; or raise ulimit -u, kernel.threads-max and kernel.pid_max (sysctl)",
        ),
    ] {
        check(&job("", "access = \"random\"", "workers = 20000"), DISK, limit, &[says]);
    }
    let no_ring =
        |facts: &mut Facts| facts.limits.io_uring_refused = Some("kernel.io_uring_disabled is 2".to_owned());
    check(
        &job("", "", "engine = \"io_uring\""),
        DISK,
        no_ring,
        &[
            "plan.engine-unavailable: the engine io_uring cannot be used on this host: kernel.io_uring_disabled is 2; \
           leave engine out, or name psync",
        ],
    );
}

/// Whatever the limit, there is no more than the host has.
#[test]
fn no_more_memory_is_held_than_there_is() {
    for (asked, workers, needs) in [
        ("\"16GiB\"", 1, None),
        ("\"8GiB\"", 3, Some("24 GiB")),
        ("9223372036854775807", 1, Some("8192 PiB")),
    ] {
        let fault = needs.map(|needs| {
            format!(
                "plan.locked-memory: the memory that is held needs {needs} of locked memory, more than the host's memory of \
                 16 GiB; ask for less: each worker holds that much"
            )
        });
        let stream = format!("locked_memory = {asked}\nworkers = {workers}\nengine = \"psync\"");
        let expect: Vec<&str> = fault.iter().map(String::as_str).collect();
        check(&job("", "access = \"random\"", &stream), DISK, |_| {}, &expect);
    }
}

#[test]
fn what_keeps_cpus_busy_has_no_storage_and_no_other_pace() {
    check(
        &job("", "", "engine = \"cpuio\"\ncpu_load = \"50%\""),
        DISK,
        |_| {},
        &[
            "plan.engine-option: the stream \"s\" keeps CPUs busy and has a target that is storage; give it a target with \
           kind = \"null\"",
        ],
    );
    let idle = "[target.n]\nkind = \"null\"\n[stream.s]\nengine = \"cpuio\"\ntime = \"60s\"\n";
    check(
        idle,
        DISK,
        |_| {},
        &[
            "plan.no-cpu-load: the stream \"s\" does not say how busy it keeps its CPU; add cpu_load = \"50%\" (cpuload=50 in \
             jobs of fio)",
        ],
    );
    check(
        &format!("{idle}cpu_load = \"50%\"\nthink_time = \"1s\""),
        DISK,
        |_| {},
        &[
            "plan.engine-option: the stream \"s\" has the engine cpuio, which does not have think_time; leave it out, or use \
           one of the engines that have it: all but cpuio (cpu_load says how busy it is)",
        ],
    );
}

#[test]
fn engines_that_lack_what_is_asked_of_them() {
    check(
        &job("", "", "engine = \"psync\"\nnowait = true"),
        DISK,
        |_| {},
        &[
            "plan.engine-option: the stream \"s\" has the engine psync, which does not have nowait; leave it out, or use \
           one of the engines that have it: pvsync2, libaio, io_uring",
        ],
    );
    check(
        &job("", "", "engine = \"ftruncate\""),
        DISK,
        |_| {},
        &[
            "plan.engine-operation: the stream \"s\" has reads, which the engine ftruncate does not; let it only write, to \
           files; or use another engine",
            "plan.engine-operation: the engine ftruncate changes the size of files; /dev/x is a device; let it only write, \
           to files; or use another engine",
        ],
    );
    check(
        &job("", "read = \"50%\"\nfsync_every = 4", "engine = \"filestat\"\noffset = \"1MiB\""),
        DISK,
        |_| {},
        &[
            "plan.engine-operation: the stream \"s\" has reads beside writes, which the engine filestat does not; let it only \
           read or only write, in blocks of one size, on files; or use another engine",
            "plan.engine-operation: the stream \"s\" has syncs, which the engine filestat does not; let it only read or only \
           write, in blocks of one size, on files; or use another engine",
            "plan.engine-operation: the stream \"s\" has an offset, which the engine filestat does not; let it only read or \
           only write, in blocks of one size, on files; or use another engine",
            "plan.engine-operation: the engine filestat works on names in a folder; /dev/x is a device; let it only read or \
           only write, in blocks of one size, on files; or use another engine",
        ],
    );
    let ring = |options: &str| job("", "", &format!("engine = \"io_uring\"\n{options}"));
    // On a host of which nothing is known any CPU will do, as it does for workers.
    let submitter = "submit_thread = true\nsubmit_thread_cpu = 99";
    check(&ring(submitter), DISK, |facts| facts.cpu.usable.clear(), &[]);
    let polled = "plan.polled-buffered: the stream \"s\" polls for completions and goes through the page cache; use direct = true, \
                  or leave polling (hipri) out";
    check(&ring("polled = \"100%\"\ndirect = false"), DISK, |_| {}, &[polled]);
    for (options, fault) in [
        (
            "polled = \"50%\"",
            "the stream \"s\" polls for 50% of its I/Os; a ring polls for all or none; use polled = \"100%\", or the \
             engine pvsync2",
        ),
        (
            "submit_thread_cpu = 1",
            "the stream \"s\" has a CPU for a submitting thread that there is not; add submit_thread = true, or leave it \
             out",
        ),
        (
            "submit_thread = true\nsubmit_thread_cpu = 99",
            "the stream \"s\" asks for its submitting thread on CPU 99, which is not there; name a CPU that this \
             process may run on",
        ),
    ] {
        check(&ring(options), DISK, |_| {}, &[&format!("plan.engine-option: {fault}")]);
    }
    for (options, fault) in [
        (
            "untorn = true\ndirect = false",
            "has untorn writes and goes through the page cache; use direct = true, or leave untorn (atomic) out",
        ),
        (
            "priority_split = \"read 4KiB 60%, write 4KiB 50%, read 4KiB 50%\"",
            "gives priorities to more than all of the reads of 4 KiB; make the shares of one size add up to at most 100 %",
        ),
        (
            "priority_split = \"read 4KiB 0.5%\"",
            "has a share of priorities that is no whole percentage; use whole percentages",
        ),
        (
            "priority_split = \"read 4KiB 5%\"\npriority_writes = \"5%\"",
            "has priorities for a share of all operations and for shares by size; leave one of them out",
        ),
    ] {
        check(&ring(options), DISK, |_| {}, &[&format!("plan.engine-option: the stream \"s\" {fault}")]);
    }
    for (engine, option) in
        [("pvsync2", "polled"), ("io_uring", "priority_reads"), ("libaio", "priority_writes")]
    {
        let fault = format!(
            "plan.engine-option: the stream \"s\" has {option} = 0.4%; engines take it in whole percent; use a whole \
             percentage"
        );
        let options = format!("engine = \"{engine}\"\ndirect = true\n{option} = \"0.4%\"");
        check(&job("", "", &options), DISK, |_| {}, &[&fault]);
    }
}

#[test]
fn mapped_memory_has_no_durability_of_its_own() {
    check(
        &job("", "", "engine = \"mmap\"\ndurability = \"all\""),
        DISK,
        |_| {},
        &[
            "plan.engine-option: the stream \"s\" has the engine mmap, which does not have durability; leave it out, or \
           use one of the engines that have it: all but mmap (fsync_every = 1 makes each of its writes stable)",
        ],
    );
}

#[test]
fn a_mapped_file_is_not_cut_short() {
    let text = |other: &str, engine: &str| {
        format!(
            "[target.a]\npath = \"/f\"\nsize = \"1g\"\n[target.b]\npath = \"/g\"\nsize = \"1g\"\n[workload.w]\nread = \"0%\"\n\
             [stream.map]\nengine = \"mmap\"\ntargets = [\"a\"]\ntime = \"60s\"\ndirect = false\n\
             [stream.cut]\nengine = \"{engine}\"\ntargets = [\"{other}\"]\ntime = \"60s\"\ndirect = false\n"
        )
    };
    let faults = |text: &str| {
        let job = read(text);
        let (_, found) = plan(&job, &facts(&job, |_| Is::File { size: Bytes::gib(1) }), 0);
        let faults = found.all().iter().filter(|d| d.code == "plan.engine-operation");
        faults.map(|d| format!("{}; {}", d.message, d.help)).collect::<Vec<_>>()
    };
    assert_eq!(
        faults(&text("a", "ftruncate")),
        [
            "the stream \"cut\" cuts /f short while the stream \"map\" maps it; an access past its end would end fathom; \
           let them run in stages of their own or on files of their own, or use an engine other than mmap"
        ]
    );
    for (other, engine) in [("b", "ftruncate"), ("a", "falloc"), ("a", "psync")] {
        assert_eq!(faults(&text(other, engine)), Vec::<String>::new(), "{engine} on {other}");
    }
}

#[test]
fn rates_and_mixes_without_meaning() {
    let same = |_: &mut Facts| {};
    check(
        &job("", "", "rate = \"50%\""),
        DISK,
        same,
        &[
            "plan.no-maximum: the stream \"s\" is to run at 50% of its maximum, but nothing before it measures that; run \
           it with rate = \"max\" in an earlier stage or point, or use curve in the stage",
        ],
    );
    check(
        &job("", "", "rate = \"4096GB/s\""),
        DISK,
        same,
        &[
            "plan.rate: the stream \"s\" has a rate of 1000000000 operations per second; 0.000000001 to 100000000 is \
             possible; use a rate of that range or \"max\"",
        ],
    );
    check(
        &job(
            "",
            "access = \"random\"\nblock_size = [\"4KiB 50%\", \"8KiB 50%\"]\ncoverage = \"once-per-pass\"",
            "",
        ),
        DISK,
        same,
        &[
            "plan.coverage: the workload \"w\" has several block sizes, so it cannot touch every block once per pass; use \
           coverage = \"independent\"",
        ],
    );
    check(
        &(job("", "", "rate = \"100/s\"") + "[stage.a]\ncurve = [\"50%\"]"),
        DISK,
        same,
        &[
            "plan.curve: the stage \"a\" has a curve, but all its streams have rates of their own; leave the rate of the \
           streams out",
        ],
    );
    check(
        &job("", "read = \"0%\"\ntrim = \"50%\"\n", ""),
        DISK,
        same,
        &["plan.no-discards: /dev/x cannot trim (discard); leave the trim share out"],
    );
    check(
        &job("files = 10", "", ""),
        DISK,
        same,
        &[
            "target.files-and-path: the target \"t\" has a number of files and paths; files counts those that fathom names \
           in a directory; list the paths, or use directory",
        ],
    );
    for (kind, asked) in [("sim", "psync"), ("null", "io_uring"), ("sim", "null"), ("null", "sim")] {
        let text = format!(
            "[target.t]\nkind = \"{kind}\"\nsize = \"1GiB\"\n[stream.s]\ntime = \"60s\"\nengine = \"{asked}\""
        );
        let says = format!(
            "plan.engine-and-target: the stream \"s\" asks for the engine {asked}, and only {kind} can run its target, \
             which is no storage; leave engine out, or name a file or a block device as target"
        );
        check(&text, Is::Absent, same, &[&says]);
    }
    let files =
        "[target.t]\ndirectory = \"/d\"\nfiles = 10000000\nsize = \"4KiB\"\n[stream.s]\ntime = \"60s\"";
    check(
        files,
        Is::Absent,
        same,
        &[
            "plan.too-many-targets: the targets of one step are more than 1000000: 10000000 are those of \"t\"; use fewer files, larger ones, or several \
           stages",
        ],
    );
}

#[test]
fn streams_that_begin_at_one_place_are_told_of_once() {
    let help = "the later ones find the data in a cache; give each an offset of its own (offset_per_worker; offset_increment in a job of fio)";
    for (count, who) in [(2, "\"s\" and \"s1\""), (64, "\"s\", \"s1\" and 62 more")] {
        let expect = format!(
            "plan.same-region: the streams {who} go sequentially from the same place, 0 B, of /dev/x; {help}"
        );
        let more: String = (1..count).map(|at| format!("[stream.s{at}]\n")).collect();
        check(&(job("", "", "") + &more), DISK, |_: &mut Facts| {}, &[&expect]);
    }
}

/// A fault that every point has is said once, and a host full of faults is not said in full.
#[test]
fn faults_are_said_once_and_not_without_end() {
    let sweep = job("size = \"2GiB\"", "", "") + "[stage.a]\nsweep = { \"stream.queue_depth\" = [1, 2, 4] }";
    check(
        &sweep,
        GIB,
        |_| {},
        &[
            "plan.device-too-small: size 2 GiB is more than the 1 GiB of /dev/x; make size smaller or leave it out",
        ],
    );
    let many = read("[target.t]\ndirectory = \"/d\"\nfiles = 1000\nsize = \"4KiB\"\n[stream.s]");
    let (none, found) = plan(&many, &facts(&many, |_| Is::NoFolder), 0);
    assert!(none.is_none());
    assert_eq!(found.all().len(), 100);
}

#[test]
fn what_settles_by_what_it_measures_measures_nothing_else() {
    let codes = |options: &str, workload: &str| -> Vec<&str> {
        let text = job("", workload, options);
        let parsed = read(&text);
        let (_, found) = plan(&parsed, &facts(&parsed, |_| DISK), 0);
        found.all().iter().map(|d| d.code).filter(|code| !WARNINGS.contains(code)).collect()
    };
    let verified = "read = \"0%\"\nverify = \"crc32c\"";
    for (options, workload, code) in [
        ("flow = 1", verified, Some("plan.flow-verify")),
        ("flow = 1", "read = \"0%\"\nverify = \"crc32c\"\nverify_when = \"never\"", None),
        ("ramp_bytes = \"1MiB\"\nramp = \"1s\"", "", Some("plan.ramp-bytes")),
        ("ramp_bytes = \"1MiB\"", verified, Some("plan.ramp-bytes")),
        ("ramp_bytes = \"1MiB\"", "", None),
        ("latency_target = \"1ms\"\nrate = \"100/s\"", "", Some("plan.depth-search")),
        ("latency_target = \"1ms\"", verified, Some("plan.depth-search")),
        ("latency_target = \"1ms\"", "", None),
        ("steady = \"iops-slope:5%\"\nsteady_window = \"1s\"", "", Some("plan.steady")),
        ("steady = \"iops:5%\"\nsteady_every = \"1500ms\"", "", Some("plan.steady")),
        ("steady = \"iops:5%\"", "", None),
    ] {
        assert_eq!(codes(options, workload), code.into_iter().collect::<Vec<_>>(), "{options} {workload}");
    }
}
