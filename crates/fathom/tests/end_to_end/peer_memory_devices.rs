//! Jobs on the kernel's memory devices beside the peer's own: `/dev/full` is the usual way to try what happens on errors.
//! Skipped aloud where the peer is not installed.

use crate::support::{Bench, FATHOM, skip, tool};
use serde_json::Value;

/// Exit code, whether an error is said, and of the job: the error, operations of reads and writes, and errors counted.
fn outcome(program: &[&str], line: &str) -> (i32, bool, u64, [u64; 2], Option<u64>) {
    let bench = Bench::new();
    let words: Vec<&str> = line.split(' ').collect();
    let options = ["--name=a", "--size=64k", "--bs=4k", "--output-format=json"];
    let ended = bench.run(&[program, &options, &words].concat());
    let from = ended.out.find('{').unwrap_or_else(|| panic!("no document: {ended:#?}"));
    let document: Value = serde_json::from_str(&ended.out[from..]).expect("a document");
    let job = &document["jobs"][0];
    let bytes = ["read", "write"].map(|kind| job[kind]["io_bytes"].as_u64().expect("a count") / 4096);
    let is_said = ended.err.contains("io_u error");
    (ended.code, is_said, job["error"].as_u64().expect("an error number"), bytes, job["total_err"].as_u64())
}

#[test]
fn they_are_measured_as_by_the_peer() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("they_are_measured_as_by_the_peer", &why);
    }
    for line in [
        "--filename=/dev/null --rw=write --numjobs=1 --ioengine=psync",
        "--filename=/dev/null --rw=randwrite --ioengine=io_uring --iodepth=4",
        "--filename=/dev/null --rw=write --direct=1",
        "--filename=/dev/null --rw=write --unlink=1 --ioengine=psync",
        "--filename=/dev/zero --rw=read --ioengine=psync --invalidate=1",
        "--filename=/dev/urandom --rw=randread --ioengine=psync",
        "--filename=/dev/full --rw=read --ioengine=psync",
        "--filename=/dev/full --rw=write --ioengine=psync",
        "--filename=/dev/full --rw=write --ioengine=psync --ignore_error=,ENOSPC",
        "--filename=/dev/full --rw=write --ioengine=psync --ignore_error=,EIO",
        "--filename=/dev/full --rw=write --ioengine=psync --continue_on_error=write",
    ] {
        assert_eq!(outcome(&[FATHOM, "fio"], line), outcome(&["fio"], line), "{line}");
    }
    let bench = Bench::new();
    bench.fathom("fio --name=a --filename=/dev/null --rw=write").expect(1, &["has no end"]);
    assert!(std::path::Path::new("/dev/null").exists());
}
