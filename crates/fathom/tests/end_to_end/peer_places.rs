//! fathom beside the peer where it works and how much: passes, shares of files, files too small for a block, folders that
//! are not there. Lines of the command line, each run by both in a folder of its own. Skipped aloud where the peer is not
//! installed.

use crate::support::device::{content, image, text, with_root};
use crate::support::{Bench, FATHOM, noise, skip, tool};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// What a run left: exit code, operations and bytes of each direction of each job, the files with their sizes.
#[derive(Debug, PartialEq)]
struct Left {
    code: i32,
    moved: Vec<[(u64, u64); 3]>,
    files: BTreeMap<String, u64>,
}

/// Asserts that `program` leaves the same as the peer; with `Drawn`, which direction an operation has is drawn.
fn check(line: &str, before: &[(&str, u64)], is_drawn: bool) {
    let (mut peer, mut ours) = (left(&["fio"], line, before), left(&[FATHOM, "fio"], line, before));
    if is_drawn {
        for left in [&mut peer, &mut ours] {
            for moved in &mut left.moved {
                let (operations, bytes) = moved.iter().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
                *moved = [(operations, bytes), (0, 0), (0, 0)];
            }
        }
    }
    assert_eq!(ours, peer, "{line}");
}

fn left(program: &[&str], line: &str, before: &[(&str, u64)]) -> Left {
    let bench = Bench::new();
    for &(name, bytes) in before {
        let file = std::fs::File::create(bench.path(name)).expect("the folder is ours");
        file.set_len(bytes).expect("it is sparse");
    }
    let outputs = ["--name=a", "--output-format=json", "--output=out.json"];
    let arguments: Vec<&str> = program.iter().chain(&outputs).copied().chain(line.split(' ')).collect();
    let ran = bench.run(&arguments);
    let text = std::fs::read_to_string(bench.path("out.json")).unwrap_or_default();
    // The peer says some things in front of the document; one of a job that failed is not looked at.
    let document = if ran.code == 0 { &text[text.find('{').unwrap_or(0)..] } else { "" };
    let document: Value = serde_json::from_str(document).unwrap_or_default();
    let count = |job: &Value, kind: &str, key: &str| job[kind][key].as_u64().unwrap_or(0);
    let moved = document["jobs"].as_array().into_iter().flatten().map(|job| {
        ["read", "write", "trim"].map(|kind| (count(job, kind, "total_ios"), count(job, kind, "io_bytes")))
    });
    let sizes = bench.snapshot().into_iter().filter(|(path, _)| !path.ends_with("out.json"));
    let files = sizes.map(|(path, (size, ..))| {
        let path = path.strip_prefix(bench.path("")).expect("it is in the folder");
        (path.to_string_lossy().into_owned(), size)
    });
    Left { code: ran.code, moved: moved.collect(), files: files.collect() }
}

fn checked(test: &str, lines: &[&str], before: &[(&str, u64)], is_drawn: bool) {
    match tool("fio", &["--version"]) {
        Ok(_) => lines.iter().for_each(|line| check(line, before, is_drawn)),
        Err(why) => skip(test, &why),
    }
}

#[test]
fn loops_and_io_size_end_together() {
    let lines = [
        "--size=1m --rw=read --loops=2 --io_size=3m",
        "--size=1m --rw=read --loops=3 --io_size=2m",
        "--size=1m --rw=randwrite --loops=3 --io_size=1500k",
        "--size=1m --rw=randread --loops=2 --io_size=3m",
        "--size=1m --rw=read --loops=4 --io_size=2500k",
        "--size=1m --rw=read --loops=4 --io_size=512k",
        "--size=1m --rw=write --loops=7 --io_size=300k",
        "--size=1m --rw=randread --norandommap --loops=2 --io_size=1500k",
        "--size=1m --rw=write --number_ios=300 --loops=2 --io_size=3m",
        "--size=1m --rw=read --nrfiles=4 --loops=2 --io_size=3m",
        "--size=1m --rw=read --io_size=1030k",
        "--size=1m --rw=write --loops=3 --number_ios=10",
    ];
    checked("loops_and_io_size_end_together", &lines, &[], false);
    let drawn = [
        "--size=1m --rw=randrw --loops=3 --io_size=1500k",
        "--size=1m --rw=rw --loops=2 --io_size=512k",
        "--size=1m --rw=randrw --norandommap --loops=2 --io_size=1500k",
    ];
    checked("loops_and_io_size_end_together", &drawn, &[], true);
}

#[test]
fn a_share_of_a_file_is_of_what_is_there() {
    let there = [
        "--filename=pre --rw=read --size=256k --offset=25%",
        "--filename=pre --rw=read --size=256k --offset_increment=25% --numjobs=4",
        "--filename=pre --rw=read --offset=25% --size=50%",
        "--filename=pre --rw=write --offset=25% --size=2m",
        "--filename=pre --rw=read --offset=75% --size=512k",
        "--filename=pre --rw=write --offset=100% --size=1m",
        "--filename=pre --rw=read --offset=100%",
    ];
    checked("a_share_of_a_file_is_of_what_is_there", &there, &[("pre", 1 << 20)], false);
    let absent =
        ["--size=1m --rw=read --offset=100%", "--size=64k --rw=write --offset_increment=25% --numjobs=2"];
    checked("a_share_of_a_file_is_of_what_is_there", &absent, &[], false);
}

#[test]
fn regions_end_where_their_files_do() {
    let lines = [
        "--filename=pre --bs=4k --rw=read --size=90% --offset=33%",
        "--filename=pre --bs=4k --rw=write --size=90% --offset=33%",
        "--filename=pre --bs=4k --rw=read --size=100% --offset=100k",
        "--filename=pre --bs=4k --rw=read --size=50% --offset=50% --offset_increment=30% --numjobs=2",
        "--filename=pre --bs=4k --rw=read --size=900k --offset=200k",
    ];
    checked("regions_end_where_their_files_do", &lines, &[("pre", 1_024_000)], false);
}

#[test]
fn regions_end_where_their_devices_do() {
    let test = "regions_end_where_their_devices_do";
    with_root(test, |bench, stage| {
        tool("fio", &["--version"])?;
        let device = stage.attach(&image(bench, "image", 64 << 20, &[]))?;
        for line in [
            "--size=100m",
            "--size=100m --io_size=1m",
            "--size=100m --rw=randread",
            "--size=100m --rw=write --loops=2",
            "--size=100m --io_size=200m",
            "--filesize=100m --size=10m",
            "--size=64m --offset=32m",
            "--size=64m --offset=4k",
            "--size=90% --offset=33%",
            "--size=64m --offset_increment=8m --numjobs=2",
            "--size=50% --numjobs=3 --offset_increment=33%",
            // A share of the size that is asked for, not of what there is.
            "--size=100m --io_size=50%",
            "--size=100m --io_size=7% --rw=randread --norandommap",
            "--size=50% --io_size=50%",
            "--size=1m --io_size=0%",
            // Regions in which there is no room for a block: nothing is done, and nothing is wrong.
            "--size=1m --offset=64m",
            "--size=1m --offset=100m --rw=randwrite",
            "--size=1m --offset=65500k --rw=randread",
            "--size=1m --offset=64m --time_based --runtime=1",
            "--size=1m --offset=63m --offset_increment=1m --numjobs=2",
            "--size=1m --offset=64m --iodepth=4 --ioengine=libaio --name=b --size=1m --rw=read",
            "--offset=64m",
            "--size=50% --offset=64m",
        ] {
            check(&format!("--filename={device} --bs=64k --rw=read {line}"), &[], false);
        }
        // As long as it is to last, whatever its size; and what was cut is said.
        let line = format!(
            "fio --name=a --filename={device} --bs=64k --rw=read --size=1t --time_based --runtime=200ms --warnings-fatal"
        );
        bench.fathom(&line).expect(0, &["plan.cut-at-end", "is cut to 64 MiB", "1 TiB asked for"]);
        let line = format!("fio --name=a --filename={device} --rw=read --size=1m --offset=64m");
        let ended = bench.fathom(&line);
        let says = ended.expect(0, &[]).out.contains("which has 0 B from 64 MiB on");
        assert!(says, "{ended:#?}");
        Ok(())
    });
}

/// What `--filesize` leaves alone on a device stays as it is: jobs that write 64 KiB blocks of ones, each alone and with what
/// begins behind it.
#[test]
fn nothing_is_written_behind_the_filesize_of_a_device() {
    let test = "nothing_is_written_behind_the_filesize_of_a_device";
    with_root(test, |bench, stage| {
        tool("fio", &["--version"])?;
        let path = image(bench, "image", 10 << 20, &[]);
        let device = stage.attach(&path)?;
        let other = stage.attach(&image(bench, "other", 10 << 20, &[]))?;
        let left = |program: &[&str], line: &str| {
            for device in [&device, &other] {
                std::fs::write(device, vec![0; 10 << 20]).expect("root may write a device");
            }
            let fixed = format!("--name=a --bs=64k --buffer_pattern=0xff --direct=1 --output=out {line}");
            let ran = bench.run(&program.iter().copied().chain(fixed.split(' ')).collect::<Vec<_>>());
            let filled = |device: &String| {
                let blocks = content(device);
                let blocks = blocks.chunks(65536).enumerate();
                blocks.filter(|(_, block)| block[0] == 0xff).map(|(at, _)| at).collect::<Vec<_>>()
            };
            (ran.code, [filled(&device), filled(&other)])
        };
        let check = |line: &str, has_code: bool| {
            let (theirs, ours) = (left(&["fio"], line), left(&[FATHOM, "fio"], line));
            assert_eq!(ours.1, theirs.1, "{line}");
            assert!(!has_code || ours.0 == theirs.0, "{line}: {} and {}", ours.0, theirs.0);
        };
        let one = format!("--filename={device}");
        for line in [
            "--rw=write --filesize=4m --offset=3m",
            "--rw=write --filesize=4m",
            "--rw=write --filesize=4m --size=1m --offset=1m",
            "--rw=randwrite --filesize=4m --size=8m --offset=1m",
            "--rw=write --filesize=4m --size=50%",
            "--rw=write --filesize=4m --size=50% --offset=3m",
            "--rw=write --filesize=4m --size=20% --offset=10%",
            "--rw=write --filesize=4m --offset=10%",
            "--rw=randwrite --filesize=4m --offset_increment=1m --numjobs=3",
            "--rw=write --filesize=4m --offset_increment=1m --numjobs=3 --group_reporting",
            "--rw=write --filesize=4m --offset_increment=10% --numjobs=2 --size=20%",
            "--rw=write --filesize=16m --offset=3m --size=50%",
            "--rw=write --filesize=16m --size=20% --offset=5m",
            "--rw=write --filesize=16m --offset_increment=3m --numjobs=2",
        ] {
            check(&format!("{one} {line}"), true);
        }
        // What begins behind is refused by some of the peer's ways and left out by others.
        for line in [
            "--rw=write --filesize=4m --offset=50%",
            "--rw=write --filesize=4m --offset=5m --size=1m",
            "--rw=write --filesize=2m --offset_increment=1m --numjobs=3 --size=1m",
            "--rw=write --filesize=2m --offset_increment=3m --numjobs=2 --group_reporting",
        ] {
            check(&format!("{one} {line}"), false);
        }
        let both = format!("--filename={device}:{other}");
        for line in [
            "--rw=write --filesize=4m --offset=1m",
            "--rw=write --filesize=4m --size=50%",
            "--rw=randwrite --filesize=4m --nrfiles=1",
        ] {
            check(&format!("{both} {line}"), true);
        }
        // Of two jobs on one device each has its own.
        check(
            &format!(
                "{one} --rw=write --filesize=2m --name=b --filesize=3m {one} --rw=write --bs=64k --buffer_pattern=0xff --offset=2m"
            ),
            true,
        );
        Ok(())
    });
}

#[test]
fn size_stays_what_is_moved_where_nothing_ends_a_pass() {
    let test = "size_stays_what_is_moved_where_nothing_ends_a_pass";
    with_root(test, |bench, stage| {
        tool("fio", &["--version"])?;
        let device = stage.attach(&image(bench, "image", 10 << 20, &[]))?;
        let strided = "--offset=6m --size=8m --zonemode=strided --zonesize=1m --zoneskip=1m";
        for (line, is_drawn) in [
            ("--rw=randwrite --size=20m --norandommap", false),
            ("--rw=randwrite --size=20m --norandommap --loops=2", false),
            ("--rw=randread --size=12m --random_distribution=zipf", false),
            ("--rw=write:64k --size=20m", false),
            ("--rw=randread:4 --size=20m", false),
            ("--rw=randrw --size=20m --norandommap", true),
            (&format!("--rw=read {strided}"), false),
            (&format!("--rw=randread {strided}"), false),
            (&format!("--rw=read {strided} --zonerange=2m"), false),
            // These end with the device, when all of it was touched, or where jumps leave a region within it.
            ("--rw=read --size=20m", false),
            ("--rw=read:64k --size=1m", false),
            ("--rw=write:64k --size=1m --offset=2m", false),
            ("--rw=read:64k --size=1m --offset=9m", false),
            ("--rw=read:64k --size=1m --loops=2", false),
            ("--rw=read:64k --size=1m --io_size=2m", false),
            ("--rw=read:4 --size=4m --offset=8m", false),
            ("--rw=randread --size=20m", false),
            ("--rw=randread --size=20m --random_generator=lfsr --norandommap", false),
            ("--rw=randrw --size=20m", true),
            ("--rw=write --size=20m --verify=crc32c", false),
        ] {
            check(&format!("--filename={device} --bs=64k {line}"), &[], is_drawn);
        }
        Ok(())
    });
}

#[test]
fn what_appends_ends_with_its_files() {
    let test = "what_appends_ends_with_its_files";
    let lines = [
        "--rw=write --io_size=256k --loops=2",
        "--rw=write --io_size=512k --loops=3",
        "--rw=write --io_size=50% --loops=3",
        "--rw=write --io_size=768k --loops=2",
        "--rw=write --io_size=300k --loops=3 --bs=7k",
        "--rw=write --io_size=300k --loops=5 --bs=7k",
        "--rw=write --io_size=512k --loops=3 --number_ios=50",
        "--rw=write --io_size=256k --loops=2 --verify=crc32c",
        "--rw=randwrite --io_size=512k --loops=3",
        "--rw=read --io_size=3m --loops=2",
        "--rw=write --nrfiles=2 --io_size=300k --loops=2",
        "--rw=write --filesize=2m --io_size=50% --loops=3",
        "--rw=write --filesize=2m --io_size=512k --loops=3",
        "--rw=write --filesize=2m --loops=3",
        "--filename=p --rw=write --numjobs=3 --group_reporting",
        // A mix in which one direction does everything.
        "--rw=readwrite --rwmixread=0 --loops=3",
        "--rw=readwrite --rwmixread=100 --loops=3",
        "--rw=readwrite --rwmixread=0 --io_size=3m",
        "--rw=readwrite --rwmixread=0 --io_size=512k --loops=3",
        "--rw=readwrite --rwmixread=0 --time_based --runtime=1",
    ]
    .map(|line| format!("--size=1m --bs=4k --file_append=1 {line}"));
    checked(test, &lines.each_ref().map(String::as_str), &[], false);
    let mix = "--size=1m --bs=4k --file_append=1 --rw=rw --io_size=512k --loops=3";
    checked(test, &[mix], &[], true);
    // It is told only where the files end first.
    for (how, is_told) in
        [("--io_size=256k --loops=4", false), ("--io_size=256k --loops=5", true), ("--io_size=2m", true)]
    {
        let ended = Bench::new().fathom(&format!("fio --name=a --size=1m --rw=write --file_append=1 {how}"));
        assert_eq!((ended.code, ended.out.contains("file_append=1 ends")), (0, is_told), "{how}: {ended:#?}");
    }
}

#[test]
fn what_appends_to_a_device_goes_on() {
    let test = "what_appends_to_a_device_goes_on";
    with_root(test, |bench, stage| {
        tool("fio", &["--version"])?;
        let device = stage.attach(&image(bench, "image", 4 << 20, &[]))?;
        let of = |how: &str| format!("--filename={device} --bs=64k --direct=1 --file_append=1 {how}");
        for (how, is_drawn) in [
            ("--rw=write --size=1m --io_size=3m", false),
            ("--rw=write --size=1m --loops=2", false),
            ("--rw=write --size=1m --io_size=256k --loops=3", false),
            ("--rw=randwrite --size=1m --loops=3", false),
            ("--rw=read --loops=2", false),
            ("--rw=read --io_size=9m", false),
            ("--rw=write --offset=2m", false),
            ("--rw=rw --size=1m --loops=3", true),
        ] {
            check(&of(how), &[], is_drawn);
        }
        // Where it begins, and nowhere else.
        for program in [&["fio"][..], &[FATHOM, "fio"]] {
            std::fs::write(&device, vec![0; 4 << 20]).expect("the device can be written");
            left(program, &of("--rw=write --offset=2m --size=1m"), &[]);
            let bytes = std::fs::read(&device).expect("the device can be read");
            let written: Vec<bool> =
                bytes.chunks(1 << 20).map(|part| part.iter().any(|byte| *byte != 0)).collect();
            assert_eq!(written, [false, false, true, false], "{program:?}");
        }
        for how in ["--rw=write --size=1m", "--rw=read"] {
            let line = of(&format!("{how} --time_based --runtime=1"));
            for program in [&["fio"][..], &[FATHOM, "fio"]] {
                let Left { code, moved, .. } = left(program, &line, &[]);
                let bytes: u64 = moved.iter().flatten().map(|of| of.1).sum();
                assert!(code == 0 && bytes > 4 << 20, "{bytes} bytes of {program:?} with {line}");
            }
        }
        Ok(())
    });
}

/// A job knows its files as long as it found them, whatever others make of them.
#[test]
fn runs_of_operations_do_not_end_for_what_another_job_adds() {
    let test = "runs_of_operations_do_not_end_for_what_another_job_adds";
    let writes = "--name=b --filename=f --size=2m --bs=4k --rw=write --offset=1m";
    let lines = ["--rw=randread:8", "--rw=read:4k", "--rw=randread:8 --norandommap"]
        .map(|rw| format!("--filename=f --size=2m --bs=4k {rw} {writes}"));
    checked(test, &lines.each_ref().map(String::as_str), &[], false);
    let bench = Bench::new();
    bench.write("long", vec![0; 3 << 20]);
    let line = |size, rw| format!("fio --name=a --filename=long --size={size} --bs=4k --rw={rw}");
    for (size, rw, is_told) in
        [("2m", "read:4k", true), ("3m", "read:4k", false), ("2m", "randread:8", false)]
    {
        let ended = bench.fathom(&line(size, rw));
        let told = ended.out.contains("goes on for 1 MiB behind that");
        assert_eq!((ended.code, told), (0, is_told), "{ended:?}");
    }
}

/// The last operation of a sequential job reaches behind its size only into what was there, or what jobs before it made.
#[test]
fn tails_are_those_of_files_as_each_job_knows_them() {
    let test = "tails_are_those_of_files_as_each_job_knows_them";
    let lines = [
        "--size=10000 --filename=f --name=b --size=1m --filename=f",
        "--size=1m --filename=f --name=b --size=10000 --filename=f",
        "--size=10000 --offset=4k --filename=f --name=b --size=1m --filename=f",
        "--rw=write --size=10000 --filename=f --name=b --rw=write --size=1m --filename=f --stonewall",
        "--rw=write --size=1m --filename=f --name=b --rw=write --size=10000 --filename=f --stonewall",
        "--fallocate=none --rw=write --size=1m --filename=f --name=b --fallocate=none --rw=write --size=10000 --filename=f",
        "--ioengine=null --size=10000 --filename=f --name=b --ioengine=null --size=1m --filename=f",
        "--ioengine=null --size=1m --filename=f --name=b --ioengine=null --size=10000 --filename=f",
        "--size=10000 --filename=f --numjobs=3 --offset_increment=16384",
        "--size=10000 --filename=f --numjobs=3 --offset_increment=16384 --group_reporting",
    ];
    checked(test, &lines, &[], false);
    checked(test, &lines[..2], &[("f", 2 << 20)], false);
}

/// What a job asks of a file, or finds of it, is its own region, whatever other jobs of the run make of the file.
#[test]
fn regions_are_those_of_files_as_each_job_knows_them() {
    let test = "regions_are_those_of_files_as_each_job_knows_them";
    let filled = "--filename=f --bs=4k --rw=write --size=256k --name=b --filename=f --bs=4k --stonewall";
    let by_filesize = [
        format!("{filled} --rw=randread --filesize=64k"),
        format!("{filled} --rw=randread --filesize=64k --offset=16k"),
        format!("{filled} --rw=read --filesize=64k --name=c --filename=f --bs=4k --rw=read --filesize=16k"),
        "--filename=f --bs=4k --rw=read --filesize=64k --name=b --filename=f --bs=4k --rw=write --size=256k"
            .to_owned(),
    ];
    let lines: Vec<&str> = by_filesize.iter().map(String::as_str).collect();
    checked(test, &lines, &[], false);
    checked(test, &lines, &[("f", 256 << 10)], false);
    let bigger = "--name=b --filename=f --bs=4k --rw=write --size=256k";
    let found: Vec<String> = ["--rw=read", "--rw=read --size=50%", "--rw=read --offset=50%", "--rw=write"]
        .iter()
        .flat_map(|job| ["", " --stonewall"].map(|wall| format!("--filename=f --bs=4k {job} {bigger}{wall}")))
        .chain([
            format!("{filled} --rw=read"),
            "--filename=f --bs=4k --rw=read --name=b --filename=f --bs=4k --rw=write --offset=64k --size=64k --stonewall"
                .to_owned(),
        ])
        .collect();
    let lines: Vec<&str> = found.iter().map(String::as_str).collect();
    checked(test, &lines, &[("f", 64 << 10)], false);
    checked(test, &lines, &[("f", 1 << 20)], false);
}

/// What a mix reads it has not written: without writes nothing is checked, with them what they wrote.
#[test]
fn mixes_without_writes_check_nothing() {
    let test = "mixes_without_writes_check_nothing";
    let lines = [
        "--rw=rw --rwmixread=100 --verify=crc32c --verify_state_save=0 --size=64k",
        "--rw=randrw --rwmixread=100 --verify=md5 --do_verify=0 --verify_state_save=0 --size=64k --numjobs=2",
        "--rw=rw --rwmixread=100 --verify=crc32c --verify_only --verify_state_save=0 --size=64k",
        "--rw=rw --rwmixread=0 --verify=crc32c --size=64k",
        // A job that is for reading checks what it reads.
        "--rw=read --verify=crc32c --size=64k --filename=plain",
    ];
    checked(test, &lines, &[("plain", 1 << 16)], false);
}

/// Parts of files that are no whole blocks: jobs in sequence reach behind them into what is there, until all is moved.
#[test]
fn several_larger_files_are_read_until_all_is_moved() {
    let test = "several_larger_files_are_read_until_all_is_moved";
    let files = [("x", 4 << 20), ("y", 4 << 20), ("z", 4 << 20)];
    let lines = [
        "--rw=read --bs=256k --size=2560k --filename=x:y:z",
        "--rw=write --bs=256k --size=2816k --filename=x:y:z --loops=2",
        "--rw=write --bs=256k --size=2560k --filename=x:y:z --verify=crc32c --verify_state_save=0",
        "--rw=read --bs=256k --size=11m --filename=x:y:z --offset=128k",
        "--rw=rw --bs=256k --size=2560k --filename=x:y:z",
        "--rw=randread --bs=256k --size=2560k --filename=x:y:z",
        "--rw=write --bs=256k --size=2560k --nrfiles=3",
    ];
    checked(test, &lines, &files, false);
}

/// A pass ends with the files where they end before `size`.
#[test]
fn loops_of_files_that_are_smaller_than_the_size_end_with_them() {
    let test = "loops_of_files_that_are_smaller_than_the_size_end_with_them";
    let lines = [
        "--rw=write --bs=64k --filesize=512k --size=10m --loops=2",
        "--rw=write --bs=64k --filesize=500k --size=2m --loops=3",
        "--rw=randwrite --bs=64k --filesize=512k --size=2m --loops=3",
        "--rw=write --bs=64k --filesize=512k --nrfiles=4 --size=100m --loops=2",
        "--rw=write --bs=64k --filesize=512k --size=320k --loops=3",
    ];
    checked(test, &lines, &[], false);
}

/// With `allrandrepeat` the numbers are those of every run, whatever the seed says.
#[test]
fn mixes_that_repeat_all_numbers_draw_those_of_the_peer() {
    let test = "mixes_that_repeat_all_numbers_draw_those_of_the_peer";
    let lines = [
        "--rw=randrw --bs=4k --size=1m --allrandrepeat=1",
        "--rw=randrw --bs=4k --size=1m --allrandrepeat=1 --randseed=77 --numjobs=2",
        "--rw=randrw --bs=4k --size=1m --allrandrepeat=0",
    ];
    checked(test, &lines, &[], false);
}

/// What a set of files has made is read by its name.
#[test]
fn files_of_a_set_are_found_under_their_names_by_later_jobs() {
    let test = "files_of_a_set_are_found_under_their_names_by_later_jobs";
    let lines = [
        "--rw=write --size=256k --nrfiles=2 --name=k --rw=read --size=128k --filename=a.0.0 --stonewall",
        "--rw=write --size=256k --nrfiles=2 --name=k --rw=write --size=128k --filename=a.0.0:a.0.1 --stonewall",
    ];
    checked(test, &lines, &[], false);
}

#[test]
fn clones_that_begin_behind_a_device_leave_the_others_of_their_group_alone() {
    let test = "clones_that_begin_behind_a_device_leave_the_others_of_their_group_alone";
    with_root(test, |bench, stage| {
        tool("fio", &["--version"])?;
        let device = stage.attach(&image(bench, "image", 10 << 20, &[]))?;
        for clones in ["--numjobs=4 --offset_increment=4m", "--numjobs=3 --offset_increment=5m"] {
            let line = format!(
                "--name=a --filename={device} --bs=64k --rw=read --size=4m --group_reporting {clones} --output-format=json --output=out"
            );
            let read = |program: &[&str]| {
                bench.run(&program.iter().copied().chain(line.split(' ')).collect::<Vec<_>>());
                let text = std::fs::read_to_string(bench.path("out")).expect("a report is written");
                let document: Value = serde_json::from_str(&text).expect("it is JSON");
                let jobs = document["jobs"].as_array().expect("it has jobs").iter();
                jobs.map(|job| job["read"]["total_ios"].as_u64()).collect::<Vec<_>>()
            };
            assert_eq!(read(&[FATHOM, "fio"]), read(&["fio"]), "{clones}");
        }
        Ok(())
    });
}

#[test]
fn operations_that_are_counted_include_what_is_read_back_meanwhile() {
    let lines = [
        "--rw=write --size=256k --verify=crc32c --verify_backlog=8 --number_ios=20",
        "--rw=write --size=256k --verify=crc32c --number_ios=20",
        "--rw=randwrite --size=256k --verify=crc32c --verify_backlog=4 --verify_backlog_batch=2 --number_ios=21",
        "--rw=write --size=256k --verify=crc32c --verify_backlog=8 --number_ios=100",
        "--rw=write --size=256k --verify=crc32c --verify_backlog=16 --number_ios=7",
    ];
    checked("operations_that_are_counted_include_what_is_read_back_meanwhile", &lines, &[], false);
}

#[test]
fn files_smaller_than_a_block_are_made_and_passed_over() {
    let lines = [
        "--nrfiles=3 --size=10k --rw=read",
        "--nrfiles=20 --size=64k --rw=randwrite",
        "--nrfiles=4 --filesize=2k --rw=write --runtime=1 --time_based",
        "--nrfiles=3 --size=10k --bs=4k,2k --rw=randrw",
        "--nrfiles=2 --size=10k --rw=write --loops=3 --numjobs=2",
        "--nrfiles=2 --size=3k --rw=write",
        "--size=3k --rw=write",
    ];
    checked("files_smaller_than_a_block_are_made_and_passed_over", &lines, &[], false);
}

#[test]
fn empty_files_are_passed_over_beside_others() {
    let lines = [
        "--bs=4k --rw=read --filename=empty:full",
        "--bs=4k --rw=write --filename=full:empty",
        "--bs=4k --rw=read --filename=empty:full --size=100% --loops=2",
        "--bs=4k --rw=read --filename=empty:full --numjobs=2",
        "--bs=4k --rw=read --filename=empty:full --size=128k",
        // Where all of them together have no room for a block it is an error.
        "--bs=4k --rw=write --filename=empty:small",
        "--bs=512 --rw=write --filename=empty:small",
    ];
    let before = [("empty", 0), ("full", 1 << 16), ("small", 1000)];
    checked("empty_files_are_passed_over_beside_others", &lines, &before, false);
}

#[test]
fn folders_of_names_are_made_and_those_of_directory_are_not() {
    let lines = [
        "--filename=new/x --rw=write --size=64k",
        "--filename=new/er/x --rw=read --size=64k",
        "--filename=new/x --rw=write --size=64k --create_on_open=1",
        "--filename=new/x --rw=write --size=64k --allow_file_create=0",
        "--directory=new --rw=write --size=64k",
        "--directory=new --nrfiles=3 --rw=write --size=96k",
    ];
    checked("folders_of_names_are_made_and_those_of_directory_are_not", &lines, &[], false);
    // Below one that is there they are.
    let below = [
        "--directory=. --filename=s1/x --rw=write --size=64k",
        "--directory=./ --filename=s2/s3/x --rw=read --size=64k",
        "--directory=. --filename=/abs/x --rw=write --size=64k",
        "--directory=. --filename_format=q/$jobname.$filenum --rw=write --size=64k",
        "--directory=. --filename_format=q/$jobname.$filenum --rw=write --size=64k --nrfiles=2",
        "--directory=new --filename=s1/x --rw=write --size=64k",
        "--directory=new --filename_format=q/$jobname.$filenum --rw=write --size=64k",
    ];
    checked("folders_of_names_are_made_and_those_of_directory_are_not", &below, &[], false);
}

#[test]
fn percent_signs_and_sums_above_all_are_read_as_the_peer_does() {
    let lines = ["--size=1m --rw=randrw --rwmixread=70%", "--size=1m --rw=randrw --rwmixwrite=30%"];
    checked("percent_signs_and_sums_above_all_are_read_as_the_peer_does", &lines, &[], false);
}

/// Asserts that both move `size` and at most one operation of `largest` more, and write nothing behind it. Where the file
/// goes on behind `size`, what follows a random operation at its end may end a job of the peer.
fn check_all_is_moved(line: &str, file_bytes: usize, largest: u64) {
    const SIZE: u64 = 1 << 20;
    for program in [&["fio"][..], &[FATHOM, "fio"]] {
        let bench = Bench::new();
        std::fs::write(bench.path("f"), vec![0; file_bytes]).expect("the folder is ours");
        let given = ["--name=a", "--filename=f", "--size=1m", "--output-format=json", "--output=out.json"];
        let arguments: Vec<&str> = program.iter().chain(&given).copied().chain(line.split(' ')).collect();
        let ran = bench.run(&arguments);
        assert_eq!(ran.code, 0, "{program:?} {line}");
        let text = std::fs::read_to_string(bench.path("out.json")).expect("it was written");
        let document: Value = serde_json::from_str(&text[text.find('{').unwrap_or(0)..]).expect("it is JSON");
        let moved = |kind: &str| document["jobs"][0][kind]["io_bytes"].as_u64().unwrap_or(0);
        let all = moved("read") + moved("write");
        let least = if program[0] == "fio" && file_bytes > 1 << 20 { 1 } else { SIZE };
        assert!((least..SIZE + largest).contains(&all), "{program:?} {line}: {all}");
        let content = std::fs::read(bench.path("f")).expect("it is there");
        let behind = content[1 << 20..].iter().filter(|&&byte| byte != 0).count();
        assert_eq!(behind, 0, "{program:?} {line}: bytes behind size");
    }
}

/// Where random operations end by chance before `size` with the peer, because one goes over it, these seeds have none such.
#[test]
fn sizes_by_access_move_all_and_stay_inside() {
    let test = "sizes_by_access_move_all_and_stay_inside";
    if let Err(why) = tool("fio", &["--version"]) {
        return skip(test, &why);
    }
    let by_access = "--bs=4k,64k --bs_is_seq_rand=1 --percentage_random=30 --norandommap";
    for (seed, rw) in [(1, "randwrite"), (4, "randwrite"), (6, "randwrite"), (1, "randread"), (2, "randread")]
    {
        for file_bytes in [1 << 20, 2 << 20] {
            check_all_is_moved(&format!("--randseed={seed} --rw={rw} {by_access}"), file_bytes, 64 << 10);
        }
        let runs = format!("--randseed={seed} --rw={rw}:8 --bs=4k --norandommap");
        check_all_is_moved(&runs, 2 << 20, 4096);
    }
}

#[test]
fn files_that_may_not_be_made_are_not() {
    let lines = [
        "--rw=write --size=64k --create_on_open=1 --allow_file_create=0",
        "--rw=read --size=64k --create_on_open=1 --allow_file_create=0",
    ];
    checked("files_that_may_not_be_made_are_not", &lines, &[], false);
    let there = ["--rw=write --size=64k --create_on_open=1 --allow_file_create=0 --filename=f"];
    checked("files_that_may_not_be_made_are_not", &there, &[("f", 16 << 10)], false);
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("files_that_may_not_be_made_are_not", &why);
    }
    for program in [&["fio"][..], &[FATHOM, "fio"]] {
        let bench = Bench::new();
        let log = "fio version 2 iolog\ng add\ng open\ng write 0 4096\ng close\n";
        std::fs::write(bench.path("log"), log).expect("the folder is ours");
        let given = ["--name=a", "--read_iolog=log", "--allow_file_create=0"];
        let ran = bench.run(&program.iter().chain(&given).copied().collect::<Vec<_>>());
        assert_eq!((ran.code, bench.path("g").exists()), (1, false), "{program:?}");
    }
}

#[test]
fn what_appends_in_zones_ends_with_the_last() {
    let zones = "--filename=f --size=256k --bs=16k --fallocate=none --rw=write --file_append=1 --zonemode=strided \
         --zonesize=32k --zonerange=64k";
    let lines =
        ["", " --loops=3", " --io_size=2m", " --time_based --runtime=2"].map(|more| format!("{zones}{more}"));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    checked("what_appends_in_zones_ends_with_the_last", &lines, &[("f", 100_000)], false);
}

#[test]
fn jumps_through_a_file_go_on_to_io_size_in_every_loop() {
    let lines: Vec<String> = ["4k", "-4k", "8k", "1k", "-1k"]
        .iter()
        .flat_map(|stride| ["256k", "100k", "32k"].map(|io_size| (stride, io_size)))
        .flat_map(|(stride, io_size)| ["", " --offset=16k"].map(|offset| (stride, io_size, offset)))
        .map(|(stride, io_size, offset)| {
            format!(
                "--filename=f --size=64k --bs=4k --loops=3 --rw=write:{stride} --io_size={io_size}{offset}"
            )
        })
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    checked("jumps_through_a_file_go_on_to_io_size_in_every_loop", &lines, &[("f", 128 << 10)], false);
}

#[test]
fn shares_without_room_for_a_block_are_refused() {
    let lines = ["write", "read"].map(|rw| format!("--filename=f:g --rw={rw} --bs=64k --size=33%"));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    checked(
        "shares_without_room_for_a_block_are_refused",
        &lines,
        &[("f", 64 << 10), ("g", 64 << 10)],
        false,
    );
}

#[test]
fn what_appends_is_not_mapped() {
    let lines = [
        "--rw=write --size=64k --file_append=1 --ioengine=mmap",
        "--rw=read --size=64k --file_append=1 --ioengine=mmap",
    ];
    for line in lines {
        let Err(why) = tool("fio", &["--version"]) else {
            let codes = [&["fio"][..], &[FATHOM, "fio"]].map(|program| left(program, line, &[]).code);
            assert_eq!(codes, [1, 1], "{line}");
            continue;
        };
        return skip("what_appends_is_not_mapped", &why);
    }
}

/// How long each job of `text` ran with the peer and with fathom, in seconds.
fn runtimes(text: &str) -> [Vec<u64>; 2] {
    [&["fio"][..], &[FATHOM, "fio"]].map(|program| {
        let bench = Bench::new();
        std::fs::write(bench.path("job.fio"), text).expect("the folder is ours");
        let given = ["--output-format=json", "--output=out.json", "job.fio"];
        let ran = bench.run(&program.iter().chain(&given).copied().collect::<Vec<_>>());
        assert_eq!(ran.code, 0, "{text}");
        let text = std::fs::read_to_string(bench.path("out.json")).expect("it was written");
        let document: Value = serde_json::from_str(&text[text.find('{').unwrap_or(0)..]).expect("it is JSON");
        let jobs = document["jobs"].as_array().expect("there are jobs").iter();
        jobs.map(|job| (job["read"]["runtime"].as_u64().unwrap_or(0) + 200) / 1000).collect()
    })
}

#[test]
fn a_job_ends_only_those_that_run_and_delays_count_from_the_start() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("a_job_ends_only_those_that_run_and_delays_count_from_the_start", &why);
    }
    let global =
        "[global]\nsize=1m\nbs=4k\nioengine=null\nrw=read\ntime_based\nrate_iops=100\nexit_what=stonewall\n";
    for (jobs, expect) in [
        ("[a]\nruntime=1\nexitall\n[b]\nwait_for=a\nruntime=1\n", vec![1, 1]),
        ("[a]\nruntime=1\nexitall\n[c]\nstonewall\nruntime=3\n[d]\nstartdelay=1\nruntime=1\n", vec![1, 1, 1]),
    ] {
        let [peer, ours] = runtimes(&format!("{global}{jobs}"));
        assert_eq!((&ours, &peer), (&expect, &expect), "{jobs}");
    }
}

/// How often a file of 4 MiB was read off its device, and how often a job went over it.
fn read_off(bench: &Bench, device: &str, program: &[&str], line: &str) -> (f64, f64) {
    let stat = Path::new("/sys/block").join(device.trim_start_matches("/dev/")).join("stat");
    let sectors = || {
        let counts = std::fs::read_to_string(&stat).expect("a block device counts");
        counts
            .split_ascii_whitespace()
            .nth(2)
            .and_then(|count| count.parse::<f64>().ok())
            .expect("sectors read")
    };
    let job = "--name=a --filename=plain/file --size=4m --bs=4k --output-format=json --output=out.json";
    let arguments: Vec<&str> = program.iter().copied().chain(job.split(' ')).chain(line.split(' ')).collect();
    let before = sectors();
    assert_eq!(bench.run(&arguments).code, 0, "{line}");
    let off_device = (sectors() - before) * 512.0 / f64::from(4 << 20);
    let text = std::fs::read_to_string(bench.path("out.json")).expect("it is written");
    let document: Value = serde_json::from_str(&text[text.find('{').unwrap_or(0)..]).expect("JSON");
    (off_device, document["jobs"][0]["read"]["total_ios"].as_f64().expect("a count") / 1024.0)
}

/// Who goes over a file again without direct I/O reads it off the device again: the peer drops it from the page cache before each
/// pass, and not only at the beginning.
#[test]
fn each_pass_of_a_buffered_job_reads_the_device() {
    with_root("each_pass_of_a_buffered_job_reads_the_device", |bench, stage| {
        let device = stage.ext4(bench, "plain.img")?;
        let at = stage.mount(bench, "plain", &[&device])?;
        std::fs::write(at.join("file"), noise(4 << 20)).expect("there is room");
        tool("sync", &["-f", text(&at)])?;
        let peer = tool("fio", &["--version"]).map_err(|why| skip("the peer's passes", &why)).is_ok();
        for (line, again) in [
            ("--rw=randread --loops=5", true),
            ("--rw=read --loops=5", true),
            ("--rw=randread --io_size=20m", true),
            ("--rw=randread --loops=5 --ioengine=libaio --iodepth=8", true),
            ("--rw=randread --time_based --runtime=1", true),
            ("--rw=read --time_based --runtime=1 --ioengine=io_uring --iodepth=4", true),
            // No place is told from another, and the pass of a time has no end.
            ("--rw=randread --norandommap --time_based --runtime=1", false),
            ("--rw=randread --loops=5 --invalidate=0", false),
        ] {
            for program in [&[FATHOM, "fio"][..], &["fio"]].into_iter().take(1 + usize::from(peer)) {
                let (off_device, passes) = read_off(bench, &device, program, line);
                assert!(passes > 4.0, "{program:?} {line}: {passes} passes");
                // What a CPU has just put into the cache may stay there, and a pass may be under way at the end.
                let is_as_often = off_device > 0.6 * (passes - 1.0);
                assert!(is_as_often == again, "{program:?} {line}: {off_device} of {passes} passes");
                assert!(again || off_device < 2.0, "{program:?} {line}: {off_device} of {passes} passes");
            }
        }
        Ok(())
    });
}
