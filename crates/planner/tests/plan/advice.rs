//! What is said of jobs that run: what they measure is not what was meant, or an option changes nothing.

use crate::examples::DISK;
use crate::faults::{GIB, check, job};
use fathom_schema::Facts;

#[test]
fn advice_for_jobs_that_run() {
    let same = |_: &mut Facts| {};
    check(
        &job("", "", "workers = 2\nworker_regions = \"same\""),
        DISK,
        same,
        &[
            "plan.same-region: several workers of the stream \"s\" go sequentially from the same place, 0 B, of /dev/x; \
           the later ones find the data in a cache; give each an offset of its own (offset_per_worker; offset_increment in a job of fio)",
        ],
    );
    check(
        &job("", "access = \"random\"", "size = \"64KiB\"\nqueue_depth = 32\nworkers = 2"),
        DISK,
        same,
        &[
            "plan.small-region: the region of the stream \"s\" has 16 blocks of 4 KiB, fewer than the 64 operations in \
           flight; operations on one block at a time are a cache's or a lock's speed; use a larger region",
        ],
    );
    check(
        &job("", "", "direct = false"),
        GIB,
        same,
        &[
            "plan.cached: the stream \"s\" reads 1 GiB through the page cache of a host with 16 GiB of memory; this \
           measures memory; use direct I/O, or a region larger than memory",
        ],
    );
    check(
        &job("", "", "size = \"18KiB\""),
        DISK,
        same,
        &[
            "plan.tail: the last 2 KiB of the region of the stream \"s\" are less than a block of 4 KiB and are never \
           touched; make the size a multiple of block_size",
        ],
    );
    check(
        &job("", "", "engine = \"psync\"\npriority_class = \"idle\"\npriority_level = 4"),
        DISK,
        same,
        &[
            "plan.no-effect: priority_class has no effect: priority_reads and priority_writes are 0%, so no operation has \
             a priority; leave it out",
            "plan.no-effect: priority_level has no effect: priority_reads and priority_writes are 0%, so no operation has \
             a priority; leave it out",
        ],
    );
    check(
        &job("", "align_of = [\"write 8KiB\"]", "until_full = true\ntrace_makes_files = false"),
        DISK,
        same,
        &[
            "plan.no-effect: align_of has no effect: no operation is of a kind that it names; leave it out",
            "plan.no-effect: trace_makes_files has no effect: the stream replays no trace; leave it out",
            "plan.no-effect: until_full has no effect: nothing is written; leave it out",
        ],
    );
    check(
        &job("", "align = \"8KiB\"", "think_every = 8").replace("60s", "2s"),
        DISK,
        same,
        &[
            "plan.no-effect: align has no effect: no operation is random; leave it out",
            "plan.no-effect: think_every has no effect: think_time is 0; leave it out",
            "plan.short-time: the stream \"s\" measures for 2 s only; caches and queues are still filling; measure 5 s \
             or more",
        ],
    );
    check(
        &(job("", "", "workload = \"w\"")
            + "[workload.other]\n[target.other]\npath = \"/dev/y\"\n[stream.o]\nworkload = \"w\"\ntargets = [\"t\"]\n[stage.a]\nstreams = [\"s\"]\ntime = \"60s\""),
        DISK,
        same,
        &[
            "plan.unused: the stream \"o\" is used by no stage; use it or leave it out",
            "plan.unused: the workload \"other\" is used by no stream; use it or leave it out",
        ],
    );
}

/// Readers in sequence that begin apart and go over the same: the later ones read what is in a cache.
#[test]
fn parts_that_overlap_are_told() {
    let told = |stream: &str, workload: &str| {
        let text = job("", workload, stream);
        let found = crate::host::read(&text);
        let facts = crate::host::facts(&found, |_| DISK);
        let (_, found) = fathom_planner::plan(&found, &facts, 0);
        found
            .all()
            .iter()
            .filter(|d| d.code == "plan.same-region")
            .map(|d| d.message.clone())
            .collect::<Vec<_>>()
    };
    let four = |size: &str, by: &str, more: &str| {
        let regions = "worker_regions = \"same\"";
        format!("workers = 4\nsize = \"{size}\"\noffset_per_worker = \"{by}\"\n{regions}\n{more}")
    };
    let expect =
        "workers of the stream \"s\" read the same 9 GiB of /dev/x in sequence, from places of their own";
    assert_eq!(told(&four("10GiB", "1GiB", ""), ""), [expect]);
    let none: [&str; 0] = [];
    // Regions that touch, what no operation comes to, what jumps, what only writes, and what leaves gaps for others.
    assert_eq!(told(&four("10GiB", "10GiB", ""), ""), none);
    assert_eq!(told(&four("10GiB", "1GiB", "bytes = \"1GiB\""), ""), none);
    assert_eq!(told(&four("10GiB", "1GiB", "operations = 1000"), ""), none);
    assert_eq!(told(&four("10GiB", "1GiB", ""), "access = \"random\""), none);
    assert_eq!(told(&four("10GiB", "1GiB", ""), "read = \"0%\""), none);
    assert_eq!(told(&four("10GiB", "4KiB", ""), "stride = \"12KiB\""), none);
}
