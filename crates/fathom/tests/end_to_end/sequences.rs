//! fathom beside fio, operation by operation: the same job by both under strace, and every read and write of its files
//! compared by place and size, in order where the job says it, as a set where it is drawn. Skipped aloud where fio or
//! strace is missing.

use crate::support::{Bench, FATHOM, skip, tool};
use Alike::{Counts, Coverage, Sequence, Set};
use serde_json::Value;
use std::collections::BTreeMap;

/// What of the two sequences has to be equal.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Alike {
    /// Each operation, in order.
    Sequence,
    /// The operations, in any order.
    Set,
    /// The bytes that are touched, each once, in whatever operations.
    Coverage,
    /// What is reported, and nothing more: places and sizes are drawn.
    Counts,
}

/// An operation: read or write, file, first byte, bytes.
type Moved = (char, String, u64, u64);

/// What one tool did.
#[derive(Debug)]
struct Did {
    moved: Vec<Moved>,
    /// Operations and bytes of each direction, and the error, by job.
    counts: Vec<([(u64, u64); 3], u64)>,
    /// Names and sizes of all files afterwards.
    files: BTreeMap<String, u64>,
    code: i32,
}

/// Runs `tool` on the arguments in an empty folder, with a file `x` of `existing` bytes when that is not 0, and these.
fn did(program: &[&str], arguments: &[&str], existing: usize, files: &[(&str, &[u8])]) -> Did {
    let bench = Bench::new();
    for (name, content) in files {
        bench.write(name, content);
    }
    if existing > 0 {
        bench.write("x", vec![7; existing]);
    }
    let trace = bench.store().with_file_name("trace");
    let trace = trace.to_str().expect("a temporary path is text");
    let report = bench.store().with_file_name("report");
    let output = format!("--output={}", report.display());
    let traced = ["strace", "-f", "-y", "-o", trace, "-e", "trace=execve,pread64,pwrite64"];
    let ended = bench
        .run(&[&traced[..], program, &["--name=a"], arguments, &["--output-format=json", &output]].concat());
    let text = std::fs::read_to_string(&report).unwrap_or_default();
    let document = text.find('{').map_or("null", |at| &text[at..]);
    let document: Value =
        serde_json::from_str(document).unwrap_or_else(|error| panic!("{error}: {ended:#?}"));
    let here = bench.path("").canonicalize().expect("it is there");
    let here = here.to_str().expect("a temporary path is text");
    let trace = std::fs::read_to_string(trace).expect("strace wrote it");
    // Jobs have threads of their own. The first one looks for blocks of zeros, when they have ended.
    let first = trace.split_whitespace().next().unwrap_or_default();
    let is_job = |line: &&str| line.split_once(' ').is_some_and(|(thread, _)| thread != first);
    Did {
        moved: whole(trace.lines().filter(is_job)).iter().filter_map(|line| moved(line, here)).collect(),
        counts: document["jobs"].as_array().into_iter().flatten().map(counts).collect(),
        files: bench
            .snapshot()
            .into_iter()
            .map(|(path, (size, ..))| {
                (path.file_name().expect("a file").to_string_lossy().into_owned(), size)
            })
            .collect(),
        code: ended.code,
    }
}

/// Calls on one line each: where another thread came between, strace says `123 pread64(… <unfinished ...>` and later
/// `123 <... pread64 resumed>…`.
fn whole<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut begun = BTreeMap::new();
    let mut calls = Vec::new();
    for line in lines {
        let thread = line.split(' ').next().unwrap_or_default();
        if let Some(start) = line.strip_suffix(" <unfinished ...>") {
            begun.insert(thread, start);
        } else if let Some((start, (_, end))) =
            begun.get(thread).filter(|_| line.contains(" <... ")).zip(line.split_once(" resumed>"))
        {
            calls.push(format!("{start}{end}"));
            begun.remove(thread);
        } else {
            calls.push(line.to_owned());
        }
    }
    calls
}

/// Reads `123 pread64(5</tmp/x/a.0.0>, "…"..., 4096, 8192) = 4096`; nothing of other files.
fn moved(line: &str, here: &str) -> Option<Moved> {
    let (_, call) = line.split_once(' ')?;
    let call = call.trim_start();
    let kind = call.strip_prefix('p')?.chars().next()?;
    let (path, rest) = call.split_once('<')?.1.split_once(">,")?;
    let name = path.strip_prefix(here)?.trim_start_matches('/');
    let numbers = rest.rsplit_once(") ")?.0;
    let mut numbers = numbers.rsplit(", ");
    let (offset, length) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    Some((kind, name.to_owned(), offset, length))
}

fn counts(job: &Value) -> ([(u64, u64); 3], u64) {
    let of = |direction: &str| {
        let count = |key: &str| job[direction][key].as_u64().expect("a count");
        (count("total_ios"), count("io_bytes"))
    };
    (["read", "write", "trim"].map(of), job["error"].as_u64().unwrap_or_default())
}

/// All bytes of each file in pieces of 512, in order.
fn pieces(moved: &[Moved]) -> Vec<(String, u64)> {
    let of = |(_, name, offset, length): &Moved| {
        let name = name.clone();
        (offset / 512..(offset + length) / 512).map(move |piece| (name.clone(), piece))
    };
    let mut pieces: Vec<(String, u64)> = moved.iter().flat_map(of).collect();
    pieces.sort();
    pieces
}

fn check(arguments: &str, existing: usize, alike: Alike) {
    check_with(arguments, existing, &[], alike);
}

/// As [`check`], with these files in the folder.
pub(crate) fn check_with(arguments: &str, existing: usize, files: &[(&str, &[u8])], alike: Alike) {
    let words: Vec<&str> = arguments.split_whitespace().collect();
    let (peer, ours) =
        (did(&["fio"], &words, existing, files), did(&[FATHOM, "fio"], &words, existing, files));
    assert_eq!(ours.code, peer.code, "{arguments}\n{ours:#?}\n{peer:#?}");
    assert_eq!(ours.files, peer.files, "{arguments}");
    let sorted = |moved: &[Moved]| {
        let mut sorted = moved.to_vec();
        sorted.sort();
        sorted
    };
    match alike {
        Alike::Sequence => assert_eq!(ours.moved, peer.moved, "{arguments}"),
        Alike::Set => assert_eq!(sorted(&ours.moved), sorted(&peer.moved), "{arguments}"),
        Alike::Coverage => {
            assert!(!ours.moved.is_empty(), "{arguments}");
            assert_eq!(pieces(&ours.moved), pieces(&peer.moved), "{arguments}");
            return;
        }
        Alike::Counts => {}
    }
    assert_eq!(ours.counts, peer.counts, "{arguments}");
}

pub(crate) fn tools_are_missing(test: &str) -> bool {
    let missing = [("fio", "--version"), ("strace", "--version")]
        .into_iter()
        .find_map(|(name, argument)| tool(name, &[argument]).err());
    if let Some(why) = &missing {
        skip(test, why);
    }
    missing.is_some()
}

#[test]
fn operations_go_where_those_of_fio_go() {
    if tools_are_missing("operations_go_where_those_of_fio_go") {
        return;
    }
    let cases = [
        // Ends and wraps of sequential positions.
        ("--rw=read:4k --size=40k", 0, Sequence),
        ("--rw=read:4k --size=40k --io_size=80k", 0, Sequence),
        ("--rw=read:4k --size=40k --filename=x", 102_400, Sequence),
        ("--rw=read:-8k --size=64k --offset=16k --filename=x", 102_400, Sequence),
        ("--rw=read --size=18k", 0, Sequence),
        ("--rw=read --size=18k --filename=x", 102_400, Sequence),
        ("--rw=write --size=16k --io_size=40k", 0, Sequence),
        ("--rw=read --bs=3k --size=16k --io_size=40k", 0, Sequence),
        ("--rw=read --bs=3k --size=16k --loops=2", 0, Sequence),
        // Zones.
        ("--rw=read --size=64k --zonemode=strided --zonesize=8k --zonerange=16k", 0, Sequence),
        ("--rw=write --size=64k --zonemode=strided --zonesize=16k --zonerange=8k --zoneskip=8k", 0, Sequence),
        (
            "--rw=write --size=32k --zonesize=8k --zoneskip=8k --zonemode=strided --loops=2 --filename=x",
            1 << 20,
            Sequence,
        ),
        (
            "--rw=write --size=32k --zonesize=8k --zoneskip=8k --zonemode=strided --io_size=128k --filename=x",
            102_400,
            Sequence,
        ),
        (
            "--rw=read --bs=3k --size=70000 --zonesize=8k --zoneskip=8k --zonemode=strided --loops=3",
            0,
            Sequence,
        ),
        (
            "--rw=write --size=32k --zonesize=8k --zoneskip=8k --zonemode=strided --verify=crc32c --filename=x",
            1 << 20,
            Set,
        ),
        (
            "--rw=randwrite --size=256k --zonesize=64k --zoneskip=64k --zonemode=strided --verify=md5 --filename=x",
            1 << 20,
            Counts,
        ),
        ("--rw=write --size=64k --zonesize=16k --zonemode=strided --loops=3 --filesize=512k", 0, Sequence),
        (
            "--rw=write --size=128k --bs=64k --zonesize=64k --zonemode=strided --loops=3 --filename=x:y --openfiles=1",
            1 << 20,
            Counts,
        ),
        ("--rw=write --size=64k --loops=3 --filesize=512k", 0, Sequence),
        ("--rw=write:-8k --size=96k --bs=16k --loops=3 --filename=x", 1 << 20, Sequence),
        ("--rw=write:-4k --size=64k --bs=8k --loops=2 --filename=x", 1 << 20, Sequence),
        // Several files.
        ("--rw=write --nrfiles=3 --size=64k", 0, Sequence),
        ("--rw=read --nrfiles=4 --openfiles=2 --size=64k", 0, Sequence),
        ("--rw=write --nrfiles=30 --openfiles=5 --size=1m", 0, Sequence),
        // What is read back is read in the order of the writes, and with the peer file by file.
        ("--rw=write --nrfiles=30 --openfiles=5 --size=1m --verify=crc32c --verify_state_save=0", 0, Set),
        ("--rw=read --nrfiles=30 --openfiles=7 --size=1m --loops=2", 0, Sequence),
        ("--rw=randread --nrfiles=9 --openfiles=2 --size=144k --file_service_type=random", 0, Set),
        ("--rw=read --nrfiles=4 --file_service_type=sequential --size=64k", 0, Sequence),
        ("--rw=read --nrfiles=4 --file_service_type=roundrobin:2 --size=64k", 0, Sequence),
        ("--rw=read --nrfiles=4 --file_service_type=random --size=64k", 0, Set),
        ("--rw=read --nrfiles=4 --file_service_type=zipf:1.2 --size=64k", 0, Counts),
        // Random places.
        ("--rw=randread --size=64k --loops=2", 0, Set),
        ("--rw=randread --size=70k --nrfiles=3", 0, Set),
        ("--rw=randwrite --size=16k --io_size=40k --norandommap", 0, Counts),
        // Tails of files that hold no block count towards what is moved.
        ("--rw=randwrite --size=50k --nrfiles=3 --norandommap", 0, Counts),
        ("--rw=randwrite --size=50k --nrfiles=3 --norandommap --bs=3k", 0, Counts),
        ("--rw=write:-4k --size=40k --nrfiles=3", 0, Sequence),
        ("--rw=read:8k --size=100k --nrfiles=3", 0, Sequence),
        ("--rw=write --size=50k --nrfiles=3 --loops=2", 0, Sequence),
        ("--rw=randread --size=50k --nrfiles=3", 0, Set),
        ("--rw=randread:4 --rw_sequencer=identical --size=64k", 0, Counts),
        ("--rw=randread --bsrange=4k-16k --size=256k", 0, Coverage),
        ("--rw=randwrite --bssplit=4k/50:16k/50 --size=256k --nrfiles=2", 0, Coverage),
        ("--rw=randread --percentage_random=0 --size=64k", 0, Sequence),
        // Reads and writes are drawn as by the peer.
        ("--rw=rw --size=1m", 0, Sequence),
        ("--rw=rw --rwmixread=80 --size=256k --nrfiles=4", 0, Sequence),
        ("--rw=rw --bs=4k,8k --rwmixwrite=30 --randseed=77 --size=1m", 0, Sequence),
        ("--rw=randrw --rwmixread=70 --size=1m --filename=x", 1 << 20, Counts),
        ("--rw=randrw --rwmixread=5 --norandommap --size=1m", 0, Counts),
        ("--rw=rw --size=2m --numjobs=3 --group_reporting --filename=x", 2 << 20, Counts),
        ("--rw=rw --size=1m --numjobs=3 --number_ios=200", 0, Counts),
        ("--rw=readwrite --verify=crc32c --do_verify=1 --verify_backlog=1 --size=2m", 0, Counts),
        // What is done with files.
        ("--rw=write --file_append=1 --size=64k --filename=x", 20_000, Sequence),
        ("--rw=read --file_append=1 --size=64k --filename=x", 20_480, Sequence),
        ("--rw=write --loops=2 --unlink_each_loop=1 --size=64k", 0, Sequence),
        ("--rw=write --create_only=1 --size=64k", 0, Sequence),
        ("--rw=write --size=64k --unlink=1", 0, Sequence),
        ("--rw=write --sync_file_range=write:4 --size=64k", 0, Sequence),
        ("--rw=write --lockfile=exclusive --size=64k", 0, Sequence),
        ("--rw=read --mem=shm --iomem_align=64 --size=64k", 0, Sequence),
        ("--rw=write --number_ios=5 --size=64k", 0, Sequence),
        ("--rw=randwrite --norandommap --random_generator=lfsr --size=256k", 0, Set),
        ("--rw=randread --norandommap --random_generator=lfsr --size=256k --loops=2", 0, Set),
    ];
    // Both tools mostly wait for their own start and end.
    let cases: &[(&str, usize, Alike)] = &cases;
    std::thread::scope(|scope| {
        for part in cases.chunks(cases.len().div_ceil(6)) {
            scope.spawn(|| {
                part.iter().for_each(|&(arguments, existing, alike)| check(arguments, existing, alike));
            });
        }
    });
}

#[test]
fn a_full_filesystem_ends_a_job_that_fills_it() {
    const TEST: &str = "a_full_filesystem_ends_a_job_that_fills_it";
    if let Err(why) = tool("fio", &["--version"]) {
        return skip(TEST, &why);
    }
    let in_tmpfs = "mount -t tmpfs -o size=1m none . && cd \"$PWD\" && exec \"$@\"";
    if let Err(why) = tool("unshare", &["-m", "sh", "-c", "mount -t tmpfs none /mnt"]) {
        return skip(TEST, &why);
    }
    let of = |program: &[&str], fill: &str| {
        let bench = Bench::new();
        let report = bench.store().with_file_name("report");
        let output = format!("--output={}", report.display());
        let wrapper = ["unshare", "-m", "sh", "-c", in_tmpfs, "sh"];
        let job = ["--name=a", "--rw=write", "--bs=64k", "--size=3m", fill, "--output-format=json", &output];
        let code = bench.run(&[&wrapper[..], program, &job].concat()).code;
        let document = std::fs::read_to_string(report).unwrap_or_default();
        let document: Value = serde_json::from_str(&document).unwrap_or_default();
        (code, document["jobs"][0]["error"].as_u64(), document["jobs"][0]["write"]["io_bytes"].as_u64())
    };
    assert_eq!(of(&[FATHOM, "fio"], "--fill_device=1"), of(&["fio"], "--fill_device=1"));
    assert_eq!(of(&[FATHOM, "fio"], "--fill_device=1").2, Some(1 << 20));
    // Without it, there is no room for what is asked.
    assert_ne!(of(&[FATHOM, "fio"], "--fill_device=0").0, 0);
}

/// A disk that holds the file of one job at a time is enough for two that remove theirs, one after the other; and a job that fills
/// it leaves what a later one reads its room.
#[test]
fn stages_leave_one_another_room() {
    const TEST: &str = "stages_leave_one_another_room";
    if let Err(why) = tool("fio", &["--version"]) {
        return skip(TEST, &why);
    }
    if let Err(why) = tool("unshare", &["-m", "sh", "-c", "mount -t tmpfs none /mnt"]) {
        return skip(TEST, &why);
    }
    let of = |program: &[&str], jobs: [&str; 2]| {
        let bench = Bench::new();
        let report = bench.store().with_file_name("report");
        let output = format!("--output={}", report.display());
        let in_tmpfs = "mount -t tmpfs -o size=1m none . && cd \"$PWD\" && \"$@\"; code=$?; ls; exit $code";
        let line = format!(
            "--output-format=json --name=a --bs=64k {} --name=b --stonewall --bs=64k {}",
            jobs[0], jobs[1]
        );
        let words: Vec<&str> = line.split(' ').collect();
        let wrapper = ["unshare", "-m", "sh", "-c", in_tmpfs, "sh"];
        let ended = bench.run(&[&wrapper[..], program, &[output.as_str()], &words].concat());
        let document = std::fs::read_to_string(report).unwrap_or_default();
        let from = document.find('{').unwrap_or_default();
        let document: Value = serde_json::from_str(&document[from..]).unwrap_or_default();
        let of_job = |job: usize| {
            let job = &document["jobs"][job];
            (job["error"].as_u64(), job["write"]["io_bytes"].as_u64(), job["read"]["io_bytes"].as_u64())
        };
        (ended.code, of_job(0), of_job(1), ended.out.contains("b.0.0"))
    };
    let of_both = |jobs| [of(&["fio"], jobs), of(&[FATHOM, "fio"], jobs)];
    let removing = "--rw=write --size=704k --unlink=1";
    let both = (Some(0), Some(704 << 10), Some(0));
    assert_eq!(of_both([removing, removing]), [(0, both, both, false); 2]);
    let filling = "--rw=write --size=10m --fill_device=1";
    let (filled, read) = ((Some(0), Some(768 << 10), Some(0)), (Some(0), Some(0), Some(256 << 10)));
    assert_eq!(of_both([filling, "--rw=read --size=256k"]), [(0, filled, read, true); 2]);
    let written = (Some(0), Some(256 << 10), Some(0));
    assert_eq!(of_both([filling, "--rw=write --size=256k"]), [(0, filled, written, true); 2]);
    // Whether a file goes is the last job's to say.
    let job = "--rw=write --size=256k --filename=b.0.0";
    let removing = format!("{job} --unlink=1");
    assert_eq!(of_both([&removing, job]), [(0, written, written, true); 2]);
    assert_eq!(of_both([job, &removing]), [(0, written, written, false); 2]);
}

/// `nrfiles` behind a folder is the most of its files; before it, it says nothing.
#[test]
fn an_opened_folder_has_as_many_files_as_asked_for() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("an_opened_folder_has_as_many_files_as_asked_for", &why);
    }
    let bench = Bench::new();
    std::fs::create_dir(bench.path("od")).expect("the folder is ours");
    for name in ["x", "y", "z"] {
        bench.write(&format!("od/{name}"), [1; 16 << 10]);
    }
    std::fs::create_dir(bench.path("empty")).expect("the folder is ours");
    for (options, files) in [
        ("--filename=od/x --opendir=empty", 1),
        ("--opendir=od --opendir=empty", 3),
        ("--opendir=od", 3),
        ("--opendir=od --nrfiles=2", 2),
        ("--opendir=od --nrfiles=1", 1),
        ("--opendir=od --nrfiles=5", 3),
        ("--nrfiles=2 --opendir=od", 3),
    ] {
        for program in [&["fio"][..], &[FATHOM, "fio"]] {
            let line = format!("--output-format=json --output=report --name=a --rw=read {options}");
            bench.run(&[program, &line.split(' ').collect::<Vec<_>>()].concat()).expect(0, &[]);
            let report = std::fs::read_to_string(bench.path("report")).expect("it was written");
            // The peer says there how many files it has found.
            let document = &report[report.find('{').expect("a document")..];
            let report: Value = serde_json::from_str(document).expect("a document");
            assert_eq!(report["jobs"][0]["read"]["io_bytes"], files * (16 << 10), "{program:?} {options}");
        }
    }
}
