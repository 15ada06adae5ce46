//! fathom beside the peer where a rate bounds the work: each direction moves what it may, whatever the sizes of operations
//! are. Skipped aloud where the peer is not installed.

use crate::support::{Bench, FATHOM, skip, tool};
use serde_json::Value;

const M4: u64 = 4 << 20;
const K64: u64 = 64 << 10;
const FREE: u64 = u64::MAX;

/// Asserts that a second with these options moves, in each direction, the bytes that are `expected` and that the peer moves,
/// to within one of the `largest` operations more or less, and a fiftieth for when the second ends.
/// A direction that is `FREE` is as fast as it can be, which is more than eight times what the other may.
fn check(options: &str, expected: [u64; 2], largest: u64) {
    for program in [&["fio"][..], &[FATHOM, "fio"]] {
        let bench = Bench::new();
        let fixed = "--name=a --ioengine=null --size=64m --runtime=1 --time_based --output-format=json --output=out.json";
        let arguments: Vec<&str> =
            program.iter().copied().chain(fixed.split(' ')).chain(options.split(' ')).collect();
        bench.run(&arguments).expect(0, &[]);
        let text = std::fs::read_to_string(bench.path("out.json")).expect("it was written");
        let document: Value = serde_json::from_str(&text).expect("it is JSON");
        for (kind, expected) in ["read", "write"].into_iter().zip(expected) {
            let moved = document["jobs"][0][kind]["io_bytes"].as_u64().expect("a count");
            if expected == FREE {
                assert!(moved > 8 * M4, "{program:?} {options}: {kind} {moved} B is held back");
                continue;
            }
            let allowed = largest + expected / 50;
            assert!(
                moved.abs_diff(expected) <= allowed,
                "{program:?} {options}: {kind} {moved} B, not {expected} B ± {allowed} B"
            );
        }
    }
}

#[test]
fn each_direction_keeps_its_rate() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("each_direction_keeps_its_rate", &why);
    }
    check("--rw=randrw --rate=4m --bs=4k,16k", [M4, M4], 16 << 10);
    check("--rw=randrw --rate=4m --bsrange=4k-64k", [M4, M4], K64);
    check("--rw=randrw --rate=4m --bssplit=4k/50:64k/50 --norandommap", [M4, M4], K64);
    check("--rw=read --rate=4m --bsrange=4k-64k", [M4, 0], K64);
    check("--rw=randrw --rate=4m,1m", [M4, 1 << 20], 4 << 10);
    check("--rw=randrw --rate_iops=1000", [1000 << 12, 1000 << 12], 4 << 10);
    check("--rw=rw --rate_iops=1000,300 --rwmixread=90", [1000 << 12, 300 << 12], 4 << 10);
    // One direction of the two.
    check("--rw=randrw --rate=4m,", [M4, FREE], 4 << 10);
    check("--rw=randrw --rate=,4m --bsrange=4k-64k --norandommap", [FREE, M4], K64);
    check("--rw=randrw --rate_iops=,1000 --numjobs=2 --group_reporting", [FREE, 2000 << 12], 8 << 10);
}

/// Reads and writes of a job with these options that lasts a second, by either tool.
fn counts(program: &[&str], options: &str) -> [u64; 2] {
    let bench = Bench::new();
    let fixed =
        "--name=a --ioengine=null --size=64m --runtime=1 --time_based --output-format=json --output=out.json";
    bench.run(&[program, &words(fixed), &words(options)].concat()).expect(0, &[]);
    let text = std::fs::read_to_string(bench.path("out.json")).expect("it was written");
    let document: Value = serde_json::from_str(&text).expect("it is JSON");
    ["read", "write"].map(|kind| document["jobs"][0][kind]["total_ios"].as_u64().expect("a count"))
}

fn words(text: &str) -> Vec<&str> {
    text.split(' ').collect()
}

#[test]
fn each_direction_begins_at_once_however_low_its_rate() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("each_direction_begins_at_once_however_low_its_rate", &why);
    }
    for options in
        ["--rw=randrw --rate=300,300", "--rw=rw --rate=300", "--rw=randrw --rate=300,3000 --bs=4k,64k"]
    {
        let theirs = counts(&["fio"], options);
        assert!(!theirs.contains(&0), "the peer with {options}: {theirs:?}");
        assert_eq!(counts(&[FATHOM, "fio"], options), [1, 1], "{options}");
    }
}

#[test]
fn pauses_beside_a_rate_hold_it_up_as_the_peers_do() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("pauses_beside_a_rate_hold_it_up_as_the_peers_do", &why);
    }
    for (options, expected) in [
        // A pause after each, longer than the rate's gap.
        ("--rw=read --rate_iops=100 --thinktime=100ms", 5..=11),
        ("--rw=read --rate_iops=100 --thinktime=100ms --rate_ignore_thinktime=1", 5..=11),
    ] {
        let (theirs, ours) = (counts(&["fio"], options)[0], counts(&[FATHOM, "fio"], options)[0]);
        assert!(expected.contains(&theirs), "the peer with {options}: {theirs}, not {expected:?}");
        assert!(expected.contains(&ours), "{options}: {ours}, not {expected:?}");
    }
}

#[test]
fn a_native_rate_in_bytes_counts_bytes() {
    let bench = Bench::new();
    let job = r#"
[target.t]
kind = "null"
size = "64MiB"

[workload.w]
access = "random"
block_size = ["4KiB 50%", "64KiB 50%"]
coverage = "map"

[stream.s]
engine = "null"
rate = "8MB/s"
time = "1s"
"#;
    bench.write("job.toml", job);
    bench.fathom("run job.toml").expect(0, &[]);
    let report = bench.report();
    let text = report.to_string();
    let bytes = report["steps"][0]["total"]["all"]["bytes"].as_u64();
    assert!(bytes.is_some_and(|bytes| bytes.abs_diff(8_000_000) < 160_000), "{text}");
}
