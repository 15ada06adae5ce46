//! fathom beside the peer where a job ends: in a pause, with a filesystem that is full. Skipped aloud where the peer is
//! not installed.

use crate::support::device::{text, with_root};
use crate::support::{Bench, FATHOM, skip, tool};
use serde_json::Value;

/// The document of a run of either tool.
fn document(bench: &Bench, program: &[&str], arguments: &[&str]) -> Value {
    let fixed = ["--output-format=json", "--output=out.json"];
    bench.run(&[program, arguments, &fixed].concat()).expect(0, &[]);
    let text = std::fs::read_to_string(bench.path("out.json")).expect("it was written");
    serde_json::from_str(&text).expect("it is JSON")
}

const TOOLS: [&[&str]; 2] = [&["fio"], &[FATHOM, "fio"]];

#[test]
fn pauses_that_the_end_cuts_short_are_followed_by_nothing() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("pauses_that_the_end_cuts_short_are_followed_by_nothing", &why);
    }
    for options in [
        "--thinktime=700ms --thinktime_blocks=4",
        "--thinktime=2s --thinktime_blocks=3 --ioengine=mmap",
        "--thinktime=700ms --thinktime_blocks=2 --flow=1",
    ] {
        let line = format!("--name=a --filename=f --rw=read --size=1m --time_based --runtime=1 {options}");
        let arguments: Vec<&str> = line.split(' ').collect();
        let [theirs, ours] = TOOLS.map(|program| {
            let found = document(&Bench::new(), program, &arguments);
            found["jobs"][0]["read"]["total_ios"].as_u64()
        });
        assert_eq!(ours, theirs, "{options}");
        assert!(theirs.is_some_and(|count| count < 10), "{options}: {theirs:?}");
    }
}

#[test]
fn what_keeps_cpus_busy_ends_with_its_count() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("what_keeps_cpus_busy_ends_with_its_count", &why);
    }
    for (options, expect) in [
        ("--number_ios=20", 20),
        ("--number_ios=20 --loops=3", 60),
        ("--number_ios=20 --runtime=30", 20),
        ("--number_ios=20 --numjobs=2 --group_reporting", 40),
    ] {
        let line = format!("--name=a --ioengine=cpuio --cpuload=100 --cpuchunks=1000 {options}");
        let arguments: Vec<&str> = line.split(' ').collect();
        let counts = TOOLS.map(|program| {
            document(&Bench::new(), program, &arguments)["jobs"][0]["read"]["total_ios"].as_u64()
        });
        assert_eq!(counts, [Some(expect); 2], "{options}");
    }
}

/// A filesystem is filled, and all of it read back by the next job, which knows as little how much that is.
#[test]
fn what_fills_a_filesystem_is_read_to_its_end() {
    let test = "what_fills_a_filesystem_is_read_to_its_end";
    if let Err(why) = tool("fio", &["--version"]) {
        return skip(test, &why);
    }
    with_root(test, |bench, stage| {
        let small = stage.mount(bench, "small", &["-t", "tmpfs", "-o", "size=4m", "tmpfs"])?;
        let file = small.join("f");
        for (options, there) in [
            ("--bs=64k --verify=crc32c --do_verify=0", false),
            ("--bs=64k --verify=crc32c --do_verify=0", true),
            ("--bs=60k", false),
            ("--bs=64k --ioengine=libaio --iodepth=8", false),
        ] {
            let name = format!("--filename={}", text(&file));
            let written: Vec<&str> = ["--name=w", &name, "--rw=write", "--fill_device=1"]
                .into_iter()
                .chain(options.split(' '))
                .collect();
            let read: Vec<&str> = ["--name=r", &name, "--rw=read", "--stonewall", "--create_serialize=0"]
                .into_iter()
                .chain(options.split(' ').filter(|option| *option != "--do_verify=0"))
                .collect();
            let [theirs, ours] = TOOLS.map(|program| {
                drop(std::fs::remove_file(&file));
                if there {
                    std::fs::write(&file, vec![b'Q'; 1 << 20]).expect("there is room");
                }
                let found = document(bench, program, &[written.clone(), read.clone()].concat());
                let job = |at: usize, kind: &str| found["jobs"][at][kind]["io_bytes"].as_u64();
                let errors = [0, 1].map(|at| found["jobs"][at]["error"].as_u64());
                let length = std::fs::metadata(&file).expect("it was made").len();
                (job(0, "write"), job(1, "read"), errors, length)
            });
            assert_eq!(ours, theirs, "{options}, a file before: {there}");
            assert!(theirs.1.is_some_and(|bytes| bytes > 3 << 20), "{options}: {theirs:?}");
        }
        Ok(())
    });
}
