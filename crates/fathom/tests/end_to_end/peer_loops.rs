//! fathom beside the peer, operation by operation as both log them, where a job goes over its files again: with some engines a loop
//! goes on where the one before it stopped, with others it begins anew. Skipped aloud where the peer is not installed.

use crate::support::{Bench, FATHOM, skip, tool};

/// What a run left: exit code, operations (also those logged to `next`) with their file, first byte and bytes, the content of the file that was there.
#[derive(Debug, PartialEq)]
struct Left {
    code: i32,
    operations: Vec<(String, String, u64, u64)>,
    content: Vec<u8>,
}

fn left(program: &[&str], line: &str, there: usize) -> Left {
    let bench = Bench::new();
    if there > 0 {
        bench.write("p", vec![b'Q'; there]);
    }
    let given = ["--name=a", "--write_iolog=log", "--buffer_pattern=0x41", "--minimal"];
    let arguments: Vec<&str> = program.iter().chain(&given).copied().chain(line.split(' ')).collect();
    let code = bench.run(&arguments).code;
    let mut log = std::fs::read_to_string(bench.path("log")).expect("it was asked for");
    log += &std::fs::read_to_string(bench.path("next")).unwrap_or_default();
    let operation = |line: &str| {
        let mut words = line.split(' ').rev();
        let (bytes, offset) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let (kind, file) = (words.next()?.to_owned(), words.next()?.to_owned());
        let name = file.rsplit('/').next().unwrap_or_default().to_owned();
        Some((kind, name, offset, bytes))
    };
    let content = std::fs::read(bench.path("p")).unwrap_or_default();
    Left { code, operations: log.lines().filter_map(operation).collect(), content }
}

fn check(test: &str, lines: &[(&str, usize)]) {
    if let Err(why) = tool("fio", &["--version"]) {
        skip(test, &why);
        return;
    }
    for (line, there) in lines {
        let (ours, peer) = (left(&[FATHOM, "fio"], line, *there), left(&["fio"], line, *there));
        assert!(!peer.operations.is_empty(), "{line}");
        assert_eq!(ours.operations, peer.operations, "{line}");
        assert!(ours == peer, "{line}: codes {} and {}, or contents", ours.code, peer.code);
    }
}

#[test]
fn a_further_loop_goes_on_or_begins_anew_by_the_engine() {
    let test = "a_further_loop_goes_on_or_begins_anew_by_the_engine";
    let strided = "--size=100k --zonemode=strided --zonesize=16k --zonerange=64k";
    for engine in ["psync", "mmap", "vsync", "null", "libaio --iodepth=8", "io_uring"] {
        let lines = [
            ("--filename=p --rw=write --bs=4k --size=64k --filesize=128k --loops=2", 128 << 10),
            ("--rw=read --bs=4k --size=16k --filesize=64k --loops=3", 0),
            ("--rw=read --bs=16k --size=100k --io_size=200k --filesize=1m", 0),
            ("--rw=read --bs=16k --size=100k --io_size=250k --filesize=1m --loops=2", 0),
            ("--rw=read --bs=4k --offset=16k --size=32k --filesize=128k --loops=5", 0),
            (&format!("--rw=read --bs=4k {strided} --zoneskip=32k --loops=2"), 0),
            (&format!("--rw=write --bs=4k {strided} --zoneskip=32k --loops=3"), 0),
            (&format!("--rw=write:-4k --bs=8k {strided} --zoneskip=8k --loops=3"), 0),
            ("--filename=p --rw=write:12k --bs=4k --size=100k --filesize=128k --loops=2", 150_000),
            ("--rw=read:8k --bs=4k --size=96k --io_size=50%", 0),
            ("--rw=read:8k --bs=4k --size=96k --io_size=30%", 0),
            ("--rw=rw --bs=4k --size=32k --loops=2", 0),
            ("--rw=rw --bs=12k --size=256k --loops=3", 0),
            ("--rw=rw --bs=4k --size=32k --filesize=128k --loops=3", 0),
            ("--rw=rw --bs=4k --size=32k --io_size=64k --loops=2", 0),
            ("--rw=rw --bs=4k --size=32k --io_size=64k", 0),
            ("--rw=rw --bs=4k --filesize=64k --loops=2", 0),
        ]
        .map(|(line, there)| (format!("--ioengine={engine} {line}"), there));
        check(test, &lines.each_ref().map(|(line, there)| (line.as_str(), *there)));
    }
    check(test, &[("--rw=rw --bs=4k --size=32k --filesize=24k --loops=3", 0)]);
}

/// Which of reads and writes comes is drawn on from loop to loop where the seed is given, and again from the first number else.
#[test]
fn a_mix_whose_seed_is_given_draws_on_in_further_loops() {
    let test = "a_mix_whose_seed_is_given_draws_on_in_further_loops";
    for engine in ["psync", "mmap", "vsync", "null", "libaio --iodepth=4", "io_uring"] {
        for seed in ["--randseed=3", "--randseed=99", "--randseed=1 --allrandrepeat=1", "--randrepeat=1"] {
            let lines = [
                "--rw=rw --bs=64k --size=4m --loops=2",
                "--rw=rw --bs=64k --size=5m --io_size=12m --rwmixread=30",
                "--rw=rw --bs=32k --size=1m --loops=3 --nrfiles=2",
            ];
            let lines = lines.map(|line| format!("--ioengine={engine} {seed} {line}"));
            check(test, &lines.each_ref().map(|line| (line.as_str(), 0)));
        }
    }
}

/// The null engine opens no file of which a share could be taken: it is one of `size`.
#[test]
fn offsets_in_percent_of_what_nobody_opens_are_of_the_size() {
    let lines = [
        "--offset=50% --size=4m",
        "--offset=50% --size=4m --filesize=8m",
        "--offset=50% --size=4m --filesize=3m",
        "--offset=50% --size=4m --nrfiles=2",
        "--offset=50% --size=4m --filename=y:z",
        "--offset=33% --size=3m --offset_align=1k",
        "--offset=33% --size=3m",
        "--offset=50% --size=4m --io_size=50%",
        "--offset_increment=25% --size=4m --offset=50% --new_group --name=b --filename=y --size=4m --offset=25% --write_iolog=next",
    ]
    .map(|line| format!("--ioengine=null --rw=write --bs=128k {line}"));
    let test = "offsets_in_percent_of_what_nobody_opens_are_of_the_size";
    check(test, &lines.each_ref().map(|line| (line.as_str(), 0)));
}

/// Pairs of a trim and a write, and writes that `experimental_verify` keeps from being read back on the way, in the peer's number.
#[test]
fn pairs_and_backlogs_are_as_many_as_those_of_the_peer() {
    let test = "pairs_and_backlogs_are_as_many_as_those_of_the_peer";
    if let Err(why) = tool("fio", &["--version"]) {
        skip(test, &why);
        return;
    }
    let pairs = "--ioengine=null --rw=trimwrite --bs=4k --size=4m";
    let backlog =
        "--rw=write --bs=4k --size=256k --verify=crc32c --experimental_verify=1 --verify_backlog=16";
    for line in [
        format!("{pairs} --io_size=3m"),
        format!("{pairs} --io_size=6m"),
        format!("{pairs} --io_size=9m"),
        format!("{pairs} --io_size=6m --loops=3"),
        format!("{pairs} --io_size=17m --nrfiles=2"),
        backlog.to_owned(),
        format!("{backlog} --number_ios=50"),
    ] {
        let [theirs, ours] = [&["fio"][..], &[FATHOM, "fio"]].map(|program| {
            let words: Vec<&str> =
                ["--name=a", "--output-format=json"].into_iter().chain(line.split(' ')).collect();
            let document = Bench::new().run(&[program, &words].concat()).expect(0, &[]).json();
            ["read", "write", "trim"].map(|kind| document["jobs"][0][kind]["total_ios"].clone())
        });
        assert_eq!(ours, theirs, "{line}");
    }
}

#[test]
fn jumps_that_leave_the_files_room_go_on_in_the_next_loop() {
    let jumps = "--rw=write:9k --bs=4k --size=384k --loops=2";
    let lines = [
        (jumps.to_owned(), 0),
        (format!("{jumps} --ioengine=mmap"), 0),
        (format!("{jumps} --ioengine=libaio"), 0),
        (format!("{jumps} --nrfiles=2"), 0),
        (format!("{jumps} --nrfiles=2 --file_service_type=sequential"), 0),
        ("--rw=write:7k --bs=4k --size=384k --io_size=768k".to_owned(), 0),
        ("--rw=read:9k --bs=4k --size=100k --loops=3".to_owned(), 0),
        // The last block before the end reaches over it: there each loop is over.
        ("--rw=write:5k --bs=4k --size=100k --loops=2".to_owned(), 0),
        ("--rw=write:1k --bs=4k --size=98k --loops=3".to_owned(), 0),
        ("--rw=write:4k --bs=4k --size=100000 --loops=2".to_owned(), 0),
        ("--rw=write:9k --bs=4k --size=100k --loops=2 --filename=p".to_owned(), 300_000),
        ("--rw=read:4k --bs=4k --size=100000 --filename=p:q".to_owned(), 300_000),
        // Of files that are longer than their share all loops together move no more.
        ("--rw=write:32k --bs=32k --size=64k --filename=p:q --loops=2".to_owned(), 65_536),
        ("--rw=write:4k --bs=4k --size=8k --filename=p:q --loops=3".to_owned(), 8192),
        ("--rw=read:16k --bs=16k --size=64k --filename=p:q --loops=2".to_owned(), 262_144),
    ];
    check(
        "jumps_that_leave_the_files_room_go_on_in_the_next_loop",
        &lines.each_ref().map(|(line, there)| (line.as_str(), *there)),
    );
}

#[test]
fn mixes_go_on_or_begin_anew_by_engine_size_and_number() {
    let mix = "--rw=rw --bs=1k --size=300000 --filesize=64k --rwmixread=10";
    let job = "--rw=rw --bs=4k --size=64k --loops=3";
    let lines = [
        format!("{mix} --loops=3 --ioengine=libaio"),
        format!("{mix} --ioengine=libaio"),
        format!("{mix} --loops=3"),
        mix.to_owned(),
        // From the second job on a loop ends in the midst of what is drawn once for several operations.
        format!("{job} --filename=p --name=b {job} --filename=q --write_iolog=next"),
    ];
    let test = "mixes_go_on_or_begin_anew_by_engine_size_and_number";
    check(test, &lines.each_ref().map(|line| (line.as_str(), 0)));
    if tool("fio", &["--version"]).is_err() {
        return;
    }
    // Of several at once the peer logs some twice.
    let mixed = "--name=a --rw=rw --bs=8k,4k --size=1m --io_size=3m --rwmixread=70 --ioengine=null --output-format=json";
    for depth in ["--iodepth=1", "--iodepth=2"] {
        let [theirs, ours] = [&["fio"][..], &[FATHOM, "fio"]].map(|program| {
            let words: Vec<&str> = mixed.split(' ').chain([depth]).collect();
            let document = Bench::new().run(&[program, &words].concat()).expect(0, &[]).json();
            ["read", "write"].map(|kind| document["jobs"][0][kind]["total_ios"].clone())
        });
        assert_eq!(ours, theirs, "{depth}");
    }
}

/// Sizes are drawn, so that operations are not the same: what they cover is.
#[test]
fn operations_of_several_sizes_end_in_their_part_of_a_longer_file() {
    let test = "operations_of_several_sizes_end_in_their_part_of_a_longer_file";
    if let Err(why) = tool("fio", &["--version"]) {
        return skip(test, &why);
    }
    for line in [
        "--rw=write --bsrange=4k-8k --size=100000 --filename=p:q",
        "--rw=read --bssplit=4k/50:16k/50 --size=100000 --filename=p:q",
        "--rw=write --bsrange=4k-8k --size=100000 --filename=p",
    ] {
        let covered = |program: &[&str]| {
            let Left { code, operations, .. } = left(program, line, 300_000);
            let ends = |file: &str| {
                operations.iter().filter(|(_, of, ..)| of == file).map(|(_, _, at, bytes)| at + bytes).max()
            };
            (code, operations.iter().map(|(.., bytes)| bytes).sum::<u64>(), ends("p"), ends("q"))
        };
        let (ours, theirs) = (covered(&[FATHOM, "fio"]), covered(&["fio"]));
        assert_eq!(ours, theirs, "{line}");
        assert_eq!(theirs.1, 98_304, "{line}");
    }
}

#[test]
fn what_goes_backwards_through_files_begins_at_their_ends() {
    let lines = [
        ("--rw=read:-8k --bs=4k --size=100k --nrfiles=3", 0),
        ("--rw=write:-8k --bs=4k --size=100k --nrfiles=3 --loops=2", 0),
        ("--rw=read:-8k --bs=5000 --size=100k --nrfiles=3", 0),
        ("--rw=read:-8k --bs=3k --size=192k --offset=4k --nrfiles=3", 0),
        ("--rw=read:-8k --bs=4k --size=33k", 0),
        ("--rw=read:-8k --bs=5000 --size=100k", 0),
    ];
    check("what_goes_backwards_through_files_begins_at_their_ends", &lines);
}

#[test]
fn what_is_appended_lies_at_the_end_whatever_the_offset() {
    let lines = [
        ("--filename=p --file_append=1 --rw=write --bs=10k --size=60k --offset=30000", 150_000),
        ("--filename=p --file_append=1 --rw=write --bs=4k --size=60k --offset=50%", 150_000),
        ("--filename=p --file_append=1 --rw=write --bs=4k --size=60k --offset=16k --overwrite=1", 40_960),
        ("--filename=p --file_append=1 --rw=write --bs=4k --size=60k --offset=16k --fallocate=none", 20_000),
    ];
    check("what_is_appended_lies_at_the_end_whatever_the_offset", &lines);
    let several = "--filename=p:q:r --file_append=1 --rw=write --filesize=100k --io_size=555555";
    let lines =
        [format!("{several} --bs=5000 --size=1m"), format!("{several} --bs=4k --size=300k --loops=2")];
    check(
        "what_is_appended_lies_at_the_end_whatever_the_offset",
        &lines.each_ref().map(|line| (line.as_str(), 10_000)),
    );
}

#[test]
fn what_is_appended_begins_where_the_jobs_before_it_make_the_file_end() {
    let first = "--bs=8k --filename=p";
    let next = format!("--name=b {first} --stonewall --write_iolog=next --buffer_pattern=0x42");
    let last = format!("--name=c {first} --buffer_pattern=0x43");
    let appends = "--rw=write --file_append=1";
    let mut lines = Vec::new();
    for there in [0, 150_000] {
        lines.extend([
            (format!("{first} {appends} --size=64k {next} {appends} --size=32k"), there),
            (format!("{first} {appends} --size=64k {next} {appends} --size=32k --offset=8k"), there),
            (format!("{first} {appends} --size=64k --fallocate=none {next} {appends} --size=32k"), there),
            (format!("{first} {appends} --size=64k --fallocate=keep {next} {appends} --size=32k"), there),
            (format!("{first} --rw=write --size=256k {next} {appends} --size=32k"), there),
            (format!("{first} --rw=write --size=64k --offset=80k {next} {appends} --size=32k"), there),
            (format!("{first} {appends} --filesize=512k {next} {appends} --size=32k"), there),
            (format!("{first} {appends} --size=32k {next} {appends} --filesize=512k"), there),
            (format!("{first} {appends} --size=32k {next} --rw=read {last} {appends} --size=8k"), there),
            (format!("{first} {appends} --size=32k {next} --rw=read --size=50%"), there),
            (format!("{first}:q {appends} --size=64k {next} --filename=q {appends} --size=96k"), there),
        ]);
    }
    // A file that is read, and shorter, the peer makes anew: what was in it is lost.
    lines.push((format!("{first} {appends} --size=32k {next} --file_append=1 --rw=read --size=32k"), 0));
    let test = "what_is_appended_begins_where_the_jobs_before_it_make_the_file_end";
    check(test, &lines.iter().map(|(line, there)| (line.as_str(), *there)).collect::<Vec<_>>());
}

#[test]
fn files_are_as_long_as_the_jobs_before_have_made_them_in_whatever_list() {
    let next = "--name=b --bs=8k --write_iolog=next --buffer_pattern=0x42 --stonewall";
    let other = "--name=c --bs=8k --rw=write --buffer_pattern=0x43";
    let two = format!("--filename=p --bs=8k --rw=write --size=64k {other} --filename=q --size=32k");
    let mut lines = Vec::new();
    for there in [0, 40_000] {
        lines.extend([
            (format!("{two} {next} --rw=read --filename=p:q"), there),
            (format!("{two} {next} --rw=read --filename=q:p --size=50%"), there),
            (format!("{two} {next} --rw=read --filename=p:q --size=160k"), there),
            (format!("--filename=p:q --bs=8k --rw=write --size=64k {next} --rw=read --filename=p"), there),
            (
                format!("--filename=p:q --bs=8k --rw=write --filesize=64k {next} --rw=read --filename=q"),
                there,
            ),
            (
                format!(
                    "--filename=p --bs=8k --rw=write --size=64k {next} --rw=read --filename=p --offset=50%"
                ),
                there,
            ),
            (
                format!(
                    "--filename=p --bs=8k --rw=write --size=64k {next} --rw=write --filename=./p --offset=25%"
                ),
                there,
            ),
            (format!("--nrfiles=2 --bs=8k --rw=write --size=64k {next} --rw=read --filename=a.0.1"), there),
        ]);
    }
    let test = "files_are_as_long_as_the_jobs_before_have_made_them_in_whatever_list";
    check(test, &lines.iter().map(|(line, there)| (line.as_str(), *there)).collect::<Vec<_>>());
}

/// Where a map keeps places from being written twice, it is read back as it was written, else file by file from its start on.
#[test]
fn what_is_read_back_goes_by_place_but_for_maps() {
    let test = "what_is_read_back_goes_by_place_but_for_maps";
    let writes = [
        "--filename=g:h --rw=write --size=64k",
        "--filename=g:h --rw=write --size=64k --loops=2",
        "--filename=g --rw=write:16k --size=64k",
        "--filename=g --rw=write:-16k --size=64k",
        "--filename=g:h --rw=write --size=64k --zonemode=strided --zonesize=16k --zonerange=32k",
        "--filename=g:h --rw=write --size=64k --ioengine=libaio --iodepth=4",
    ]
    .map(|line| format!("{line} --bs=8k --verify=crc32c"));
    check(test, &writes.each_ref().map(|line| (line.as_str(), 0)));
    if let Err(why) = tool("fio", &["--version"]) {
        return skip(test, &why);
    }
    let random = "--filename=g --rw=randwrite --size=128k --bs=4k --verify=crc32c";
    for (how, ascends) in [("--norandommap", true), ("--random_generator=tausworthe64", false)] {
        for program in [&[FATHOM, "fio"][..], &["fio"]] {
            let operations = left(program, &format!("{random} {how}"), 0).operations;
            let offsets = |wanted: &str| -> Vec<u64> {
                let of = operations.iter().filter(|(kind, ..)| kind == wanted);
                of.map(|&(_, _, offset, _)| offset).collect()
            };
            assert_eq!(offsets("read").is_sorted(), ascends, "{how}: {operations:?}");
            assert!(ascends || offsets("read") == offsets("write"), "{how}: {operations:?}");
        }
    }
    // So is each part of a backlog.
    for program in [&[FATHOM, "fio"][..], &["fio"]] {
        let operations = left(program, &format!("{random} --norandommap --verify_backlog=8"), 0).operations;
        let parts =
            operations.chunk_by(|(one, ..), (next, ..)| one == next).filter(|part| part[0].0 == "read");
        let parts: Vec<_> = parts.collect();
        assert!(parts.len() >= 4, "{operations:?}");
        let ascends = |part: &&[_]| part.is_sorted_by_key(|&(_, _, offset, _): &(_, _, u64, _)| offset);
        assert!(parts.iter().all(ascends), "{program:?}: {parts:?}");
    }
}

#[test]
fn files_with_a_part_below_a_block_are_begun_in_order() {
    let test = "files_with_a_part_below_a_block_are_begun_in_order";
    let made = "--filename=p:q:r --rw=write --bs=4k --filesize=64k --size=192k --name=b --stonewall --filename=p:q:r --bs=16k";
    check(
        test,
        &[
            (&format!("{made} --rw=read --size=32k --write_iolog=next"), 0),
            (&format!("{made} --rw=read --size=40000 --write_iolog=next"), 0),
            (&format!("{made} --rw=write --size=40000 --buffer_pattern=0x41 --write_iolog=next"), 0),
            (&format!("{made} --rw=read --size=32k --offset=4k --write_iolog=next"), 0),
        ],
    );
}

#[test]
fn after_no_operation_a_file_is_never_left() {
    let test = "after_no_operation_a_file_is_never_left";
    let of = |postfix| {
        format!("--rw=write --bs=4k --size=64k --nrfiles=3 --file_service_type=roundrobin:{postfix}")
    };
    check(test, &[(&of("0"), 0), (&of("-3"), 0)]);
}
