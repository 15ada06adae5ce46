//! One option after the other beside the peer: a row is a command line that its size bounds. Both tools end with the same
//! code, echo the same options, move the same operations and bytes, leave the same files, have the same keys in the JSON
//! document, and show the same command line. Skipped aloud where the peer is not installed.

use crate::support::{Bench, FATHOM, skip, tool};
use serde_json::Value;
use std::collections::BTreeSet;

/// What of the figures is not drawn by chance: operations and bytes of each direction, unless a row begins with `~` (those of
/// all directions together) or `?` (none: sizes are drawn, or bounds of time are met).
const ROWS: &[&str] = &[
    "--rw=write",
    "--rw=write --bs=16k --ioengine=sync",
    "--rw=read --size=100k --bs=8k",
    "--rw=randwrite --norandommap",
    "--rw=readwrite --rwmixread=100",
    "~--rw=randrw --rwmixwrite=25",
    "--rw=write --number_ios=5",
    "--rw=write --io_size=128k",
    "--rw=read --io_size=20k",
    "--rw=write --loops=3",
    "--rw=write --fsync=4",
    "--rw=write --end_fsync=1",
    "--rw=write --fsync_on_close=1",
    "--rw=write --numjobs=3",
    "--rw=write --numjobs=3 --group_reporting",
    "--rw=read --offset=16k",
    "--rw=write --offset=25%",
    "--rw=read --filesize=64k",
    "--nrfiles=4 --rw=write",
    "--nrfiles=4 --rw=read --file_service_type=random",
    "--nrfiles=4 --rw=write --openfiles=2",
    "--nrfiles=2 --openfiles=2 --rw=write --zonemode=strided --zonesize=16k --zoneskip=16k",
    "--nrfiles=4 --rw=write --filesize=256k --io_size=50%",
    "--nrfiles=4 --rw=randwrite --filesize=128k --io_size=75%",
    "--nrfiles=3 --rw=write --filesize=128k --size=100k --io_size=50%",
    "--rw=write --filesize=1m --io_size=50%",
    "--rw=read --bs=16k --filesize=1m --io_size=10%",
    "~--rw=randrw --ba=1k --io_size=512k --loops=2",
    "~--rw=randrw --random_distribution=zipf:1.1 --io_size=512k --loops=3",
    "--ioengine=null --rw=read --offset=25%",
    "--rw=write --verify=crc32c",
    "--rw=randwrite --verify=md5 --verify_interval=1k",
    "--rw=write --verify=pattern --verify_pattern=0xdeadbeef",
    "--rw=write --verify=crc32 --do_verify=0",
    "--rw=write --verify=crc32 --verify_backlog=4",
    "--rw=trim --ioengine=null",
    "--rw=trimwrite --ioengine=null",
    "?--rw=write --bssplit=4k/50:8k/50 --ioengine=null --norandommap",
    "--rw=write --bs=4k,8k",
    "--rw=write --bsrange=8k-8k,",
    "--rw=read --bs=16k --bsrange=,8k-8k",
    "--rw=write --bssplit=8k/50:12k/50",
    "--rw=randread --bssplit=8k/50:12k/50 --loops=2",
    "--rw=randwrite --bssplit=16k/60:24k/40 --verify=md5",
    "--rw=read --bs=16k --ba=8k",
    "--rw=write --bsrange=8k-8k --bs=16k",
    "--rw=write --bs=16k --bsrange=8k-8k",
    "--rw=randread --bs=16k --ba=4k --number_ios=6",
    "--rw=write:4k",
    "--rw=read:-8k",
    "--rw=randread:4",
    "--rw=randread:4 --rw_sequencer=identical",
    "--rw=write --zonemode=strided --zonesize=8k --zonerange=16k",
    "--rw=write --zonemode=strided --zonesize=4k --size=10z",
    "--rw=write --size=10z --io_size=3z --zonemode=strided --zonesize=4k",
    "--rw=write --zonemode=strided --zonesize=4k --zoneskip=1z",
    "--rw=write --zonemode=strided --zonesize=4k --size=10z --offset=2z",
    "--rw=write --zonemode=strided --zonesize=4k --size=5z --offset_increment=2z --numjobs=2 --filename=f",
    "--rw=write --zonemode=strided --zonesize=4k --zonerange=2z",
    "--rw=write --zonemode=strided --zonesize=4k --offset=1.5z",
    "--rw=write --offset=2z",
    "--rw=write --io_size=2z",
    "--rw=write --ioengine=libaio --iodepth=8",
    "--rw=write --ioengine=libaio --iodepth=8 --iodepth_batch=4 --iodepth_low=2",
    "--rw=read --ioengine=posixaio --iodepth=4",
    "--rw=read --ioengine=mmap",
    "--rw=write --ioengine=pvsync2 --thread",
    "--rw=write --unlink=1",
    "--rw=write --fallocate=none",
    "--rw=write --overwrite=1",
    "--rw=read --create_only=1",
    "--rw=write --create_on_open=1",
    "--rw=read --pre_read=1",
    "--rw=write --unified_rw_reporting=mixed",
    "~--rw=rw --unified_rw_reporting=both",
    "--rw=write --gtod_reduce=1",
    "--rw=write --gtod_reduce=1 --gtod_reduce=0",
    "--rw=write --file_append=1 --loops=3",
    "--rw=write --file_append=1 --io_size=1m",
    "--rw=write --file_append=1 --filesize=64k --offset=4k --io_size=1m",
    "--rw=read --file_append=1 --filesize=64k --offset=50% --io_size=32k --loops=3",
    "--rw=write --file_append=1 --time_based --runtime=1",
    "--rw=read --file_append=1 --loops=2",
    "--rw=randwrite --file_append=1 --loops=2",
    "--rw=randwrite --file_append=1 --norandommap --loops=2",
    "--rw=read --ioengine=null --nrfiles=4",
    "--rw=read --ioengine=null --offset=50%",
    "--rw=read --ioengine=null --size=50%",
    "--rw=write --verify=crc32c --verify_offset=8",
    "--rw=read --eta=sometimes",
    "--rw=read --latency-log=x",
    "--rw=randread --percentage_random=50,20",
    "--rw=randwrite --ioengine=null --filename=x:y",
    "--rw=write --ioengine=null --filesize=64k --nrfiles=4",
    "--rw=write --disable_lat=1 --disable_clat=1",
    "--rw=write --lat_percentiles=1 --clat_percentiles=0",
    "--rw=write --slat_percentiles=1 --ioengine=libaio",
    "--rw=write --percentile_list=50:99.9",
    "--rw=write --name=b --size=32k --rw=read --stonewall",
    "--rw=write --name=b --size=32k --rw=read --wait_for=a",
    "--rw=write --name=b --size=32k --rw=read --new_group",
    "--rw=write --description=hello",
    "--rw=write --continue_on_error=all",
    "--rw=write --thinktime=1000 --thinktime_blocks=4",
    "--rw=randwrite --random_distribution=zipf:1.2",
    "--rw=randwrite --percentage_random=50",
    "--rw=randwrite --random_generator=lfsr",
    "--rw=randread --random_generator=lfsr --norandommap",
    "--rw=randwrite --random_generator=lfsr --norandommap --io_size=128k",
    "--rw=randread --random_distribution=zoned:50/5:30/15:20/",
    "--rw=randread --random_distribution=zoned:50/5:30/15",
    "--rw=randread --random_distribution=zoned_abs:50/8k:50/16k",
    "--rw=randread --random_distribution=zipf:1.2:0.3",
    "--rw=randread --random_distribution=pareto:0.2:1.3",
    "--rw=read --startdelay=0-100ms",
    "--rw=read --threads=1 --block=4k --numruns=2 --dir=/tmp --device-names=x --load=1 --prep --threads-per-queue=1",
    "--rw=read --load=x",
    "--rw=read --allrandrepeat=1",
    "--rw=read --log_entries=16",
    "--rw=read --filename=-",
    "--rw=read --direct=-1 --ioengine=null",
    // Switches are hexadecimal where they say so, and have 32 bits.
    "--rw=write --create_only=0x1",
    "--rw=write --numjobs=2 --group_reporting=0x1 --end_fsync=0X1",
    "--rw=write --verify=crc32c --do_verify=0x1",
    "--rw=write --verify=crc32c --do_verify=4294967296",
    "--rw=write --verify=crc32c --do_verify=0x0",
    "--rw=write --unlink=0x1",
    "--rw=write --randrepeat=0x5",
    "--rw=write --unique_filename=0x10",
    "--rw=write --nice=1x",
    "--rw=write --replay_align=65537",
    "--rw=write --read_iolog_chunked=101",
    // Options of an engine hold as far as it does.
    "--direct=1 --ioengine=libaio --cmdprio_percentage=50 --rw=read --name=b --ioengine=io_uring --rw=read",
    "--direct=1 --ioengine=libaio --cmdprio_percentage=50 --rw=read --ioengine=io_uring",
    "--direct=1 --ioengine=libaio --cmdprio_percentage=50 --rw=read --ioengine=libaio",
    "--rw=write --write_hint=short --write_barrier=8 --dedupe_global=1",
    // Any number among the parts of a value is enough for it.
    "--rw=write --write_barrier=write:4 --uid=-1 --gid=a,4 --thread=x:1 --gtod_cpu=10%",
    "--rw=write --write_barrier=write",
    "--rw=write --write_barrier=write:4,sync",
    // A depth that synchronous engines do not reach.
    "--rw=write --ioengine=psync --iodepth=4",
    "--rw=write --ioengine=mmap --iodepth=4 --numjobs=2 --group_reporting",
    // In the order in which they are given.
    "--rw=write --gtod_reduce=1 --disable_clat=0",
    "--rw=write --disable_clat=0 --gtod_reduce=1",
    "--rw=write --gtod_reduce=1 --disable_lat=0 --disable_slat=0",
    // One group has one steady state, and one for all of its jobs or none.
    "--rw=write --ss_dur=5 --name=b --rw=write --size=4k",
    "--rw=write --ss_dur=5 --name=b --rw=write --size=4k --new_group",
    "--rw=write --ss_dur=5 --name=b --rw=write --size=4k --ss_dur=5 --ss=iops:1%",
    "--rw=write --ss_dur=5 --name=b --rw=write --size=4k --ss_dur=5 --ss=iops_slope:0.01%",
    "--rw=write --ss_dur=5 --numjobs=2 --name=b --rw=write --size=4k --ss_dur=5 --ss_ramp=1",
    "--rw=read --percentile_list=1:2:3:4:5:6:7:8:9:10:11:12:13:14:15:16:17:18:19:20:21",
    "--rw=write --buffer_compress_percentage=50 --refill_buffers",
    "--rw=write --zero_buffers",
    "--rw=write --directory=absent",
    "--rw=wrong",
    "--size=3k --rw=write",
    "--rw=write --filename=x:y",
    // Files of which one is longer than its share, and another is made.
    "+--rw=write --filename=x:w --size=100k",
    "+--rw=read --filename=x:w --size=100k",
    "+--rw=write --filename=x:w --size=100k --overwrite=1",
    "+--rw=write --filename=x:w --size=100k --loops=2",
    "+--rw=write --filename=x:w --size=100k --verify=crc32c --verify_state_save=0",
    "+--rw=write --filename=x:w --size=100k --ioengine=libaio --iodepth=8",
    "+--rw=write --filename=x:w --size=1000k --bs=64k",
    "+--rw=write --filename=w:x:y --size=100k",
    "+--rw=randwrite --filename=x:w --size=100k",
    "+--rw=rw --filename=x:w --size=100k",
    "--rw=write --filename_format=$jobname-$filenum --nrfiles=2",
    "--rw=write --serialize_overlap=1 --ioengine=libaio --iodepth=4",
    "--rw=randwrite --io_size=256k",
    "~--rw=randrw --norandommap --number_ios=10",
    "--rw=write --ignore_error=EIO",
    "--rw=write --max_latency=60s",
    "--rw=write --bs=3k",
    "?--rw=randread --bsrange=1k-4k --bs_unaligned=1 --norandommap",
    "--offset_increment=64k --numjobs=2 --filename=f --rw=write",
    "--rw=write --verify=sha512",
    "--rw=write --numa_cpu_nodes=0 --numa_mem_policy=local",
    "--rw=write --numa_mem_policy=prefer",
    "--rw=write --ss=iops",
    "--rw=write --ss_dur=3 --ss=iops:10%",
    "--rw=write --latency_target=10s --latency_window=10s",
    "--rw=write --max_open_zones=4",
    "--rw=write --nice=1 --ioengine=vsync",
    "--rw=write --sync=dsync --lockfile=readwrite",
    "--rw=write --size=0z --size=64k",
    "--rw=write --dedupe_percentage=95 --dedupe_mode=working_set --dedupe_working_set_percentage=10",
];

/// Keys below which names come from the job, the machine or the distribution.
const OPEN: [&str; 3] = ["percentile", "job options", "disk_util"];

struct Found {
    code: i32,
    document: Option<Value>,
    files: Vec<(String, u64)>,
    shown: String,
}

/// `has_file`: a file `x` of 1 MiB is there.
fn run(program: &[&str], options: &[&str], has_file: bool) -> Found {
    let bench = Bench::new();
    if has_file {
        std::fs::write(bench.path("x"), vec![0; 1 << 20]).expect("the folder is ours");
    }
    let job = ["--name=a", "--size=64k"];
    let output = ["--output-format=json", "--output=out.json"];
    let ended = bench.run(&[program, &output, &job, options].concat());
    let shown = bench.run(&[program, &["--showcmd"], &job, options].concat()).out;
    let file = |(path, (size, ..)): (std::path::PathBuf, (u64, i64, i64, Vec<u8>))| {
        (path.file_name().expect("it has one").to_string_lossy().into_owned(), size)
    };
    let mut files: Vec<_> = bench.snapshot().into_iter().map(file).collect();
    // Where nothing runs the peer makes the report, and leaves it empty.
    files.retain(|(name, _)| name != "out.json");
    let text = std::fs::read_to_string(bench.path("out.json")).unwrap_or_default();
    // The peer's messages may stand before the document.
    let from = text.find('{').unwrap_or(text.len());
    let document = serde_json::Deserializer::from_str(&text[from..]).into_iter().next().and_then(Result::ok);
    Found { code: ended.code, document, files, shown }
}

fn figures(document: &Value, kind: char) -> Vec<Vec<(u64, u64)>> {
    let jobs = document["jobs"].as_array().expect("a document has jobs");
    let of_job = |job: &Value| {
        let count = |direction: &Value, key: &str| direction[key].as_u64().expect("a count");
        let directions = ["read", "write", "trim", "mixed"].into_iter().filter_map(|name| job.get(name));
        let moved: Vec<_> = directions.map(|of| (count(of, "total_ios"), count(of, "io_bytes"))).collect();
        match kind {
            '?' => Vec::new(),
            '~' => vec![moved.iter().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1))],
            _ => moved,
        }
    };
    jobs.iter().map(of_job).collect()
}

/// What jobs are called and told, and how they ended.
fn names(document: &Value) -> Vec<[Value; 6]> {
    let jobs = document["jobs"].as_array().expect("a document has jobs");
    let of_job = |job: &Value| {
        let syncs = job["sync"]["total_ios"].clone();
        [
            job["jobname"].clone(),
            job["groupid"].clone(),
            job["error"].clone(),
            job["job options"].clone(),
            job["latency_depth"].clone(),
            syncs,
        ]
    };
    jobs.iter().map(of_job).collect()
}

/// Which latencies were taken of each direction that did anything.
fn timed(document: &Value) -> Vec<bool> {
    let jobs = document["jobs"].as_array().expect("a document has jobs").iter();
    let directions = jobs.flat_map(|job| ["read", "write"].map(|name| &job[name]));
    let latencies = directions.flat_map(|of| ["slat_ns", "clat_ns", "lat_ns"].map(|name| &of[name]["N"]));
    latencies.map(|count| count.as_u64().is_some_and(|count| count > 0)).collect()
}

fn keys(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) if !OPEN.iter().any(|open| at.ends_with(open)) => {
            for (name, member) in members.iter().filter(|(name, _)| *name != "fathom" && *name != "job_start")
            {
                let at = format!("{at}/{name}");
                keys(member, &at, found);
                found.insert(at);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, at, found)),
        _ => {}
    }
}

/// How fathom differs from the peer in this row; empty when it does not.
fn differences(row: &str) -> Vec<String> {
    let kind = row.chars().next().unwrap_or(' ');
    let options: Vec<&str> = row.trim_start_matches(['~', '?', '+']).split(' ').collect();
    let (peer, ours) = (run(&["fio"], &options, kind == '+'), run(&[FATHOM, "fio"], &options, kind == '+'));
    let mut found = Vec::new();
    let mut compare = |what: &str, peer: String, ours: String| {
        if peer != ours {
            found.push(format!("{row}: {what}: {ours}, of the peer {peer}"));
        }
    };
    compare("exit code", peer.code.to_string(), ours.code.to_string());
    compare("files", format!("{:?}", peer.files), format!("{:?}", ours.files));
    if peer.code == 0 {
        compare("command line", peer.shown, ours.shown);
    }
    if let (Some(peer), Some(ours)) = (peer.document, ours.document) {
        compare("jobs", format!("{:?}", names(&peer)), format!("{:?}", names(&ours)));
        // What else leaves latencies out is not the table's.
        if row.contains("gtod_reduce") {
            compare("latencies", format!("{:?}", timed(&peer)), format!("{:?}", timed(&ours)));
        }
        compare("figures", format!("{:?}", figures(&peer, kind)), format!("{:?}", figures(&ours, kind)));
        let (mut of_peer, mut of_ours) = (BTreeSet::new(), BTreeSet::new());
        keys(&peer, "", &mut of_peer);
        keys(&ours, "", &mut of_ours);
        let differing: Vec<_> = of_peer.symmetric_difference(&of_ours).cloned().collect();
        compare("keys", String::new(), differing.join(" "));
    } else if peer.code == 0 {
        compare("a document", "one".to_owned(), "none".to_owned());
    }
    found
}

#[test]
fn every_row_is_as_the_peer_has_it() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("every_row_is_as_the_peer_has_it", &why);
    }
    // The peer mostly sleeps.
    let found: Vec<String> = std::thread::scope(|scope| {
        let parts = (0..6).map(|part| {
            scope.spawn(move || {
                ROWS.iter().skip(part).step_by(6).flat_map(|row| differences(row)).collect::<Vec<_>>()
            })
        });
        let parts: Vec<_> = parts.collect();
        parts.into_iter().flat_map(|part| part.join().expect("it does not panic")).collect()
    });
    assert!(found.is_empty(), "{found:#?}");
}

/// An absent file that nothing says the length of, among others: the peer makes it, and does nothing in it.
#[test]
fn a_file_without_a_length_is_passed_over() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("a_file_without_a_length_is_passed_over", &why);
    }
    for job in ["--rw=write --filename=x:y --size=100%", "--rw=randwrite --filename=y:x --size=50%"] {
        let options: Vec<&str> = job.split(' ').collect();
        let of = |program: &[&str]| {
            let found = run(program, &options, true);
            (found.code, figures(&found.document.expect("a document"), ' '))
        };
        assert_eq!(of(&["fio"]), of(&[FATHOM, "fio"]), "{job}");
    }
}

/// Those that jobs before make have one, whatever becomes of other jobs.
#[test]
fn a_file_without_a_length_is_passed_over_beside_those_of_other_jobs() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("a_file_without_a_length_is_passed_over_beside_those_of_other_jobs", &why);
    }
    let made = "--rw=write --filename=s";
    let (behind, failed) = ("--name=d --stonewall --rw=write", "--name=e --rw=read --filename=none");
    for job in [
        format!("{made} {behind} --filename=t:s"),
        format!("{made} {behind} --filename=s:t --loops=2"),
        format!("{made} {behind} --filename=t:s --size=50%"),
        format!("{made} --name=c --rw=write --size=8k --filename=u {failed} {behind} --filename=s:u"),
    ] {
        let options: Vec<&str> = job.split(' ').collect();
        let of = |program: &[&str]| {
            let found = run(program, &options, false);
            let document = found.document.expect("a document");
            let errors: Vec<Value> = names(&document).into_iter().map(|[_, _, error, ..]| error).collect();
            (found.code, errors, figures(&document, ' '))
        };
        assert_eq!(of(&["fio"]), of(&[FATHOM, "fio"]), "{job}");
    }
}
