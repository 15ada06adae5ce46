//! Jobs that the system refuses to set up, beside the peer: each ends with its error and the others run. Skipped aloud where the
//! peer is not installed.

use crate::peer_failures::{NOBODY, between, check, document, prepared};
use crate::support::{FATHOM, skip, tool};
use std::fs;

fn can_be_nobody() -> Result<(), String> {
    let nobody: Vec<&str> = NOBODY.split(' ').chain([FATHOM, "--version"]).collect();
    tool("fio", &["--version"]).and_then(|_| tool(nobody[0], &nobody[1..])).map(drop)
}

#[test]
fn a_priority_that_is_not_granted_fails_its_job_alone() {
    if let Err(why) = can_be_nobody() {
        return skip("a_priority_that_is_not_granted_fails_its_job_alone", &why);
    }
    for priority in ["--prioclass=1", "--prioclass=1 --prio=3", "--nice=-5"] {
        let job = format!("--rw=write --size=64k --filename=fb {priority}");
        check(NOBODY, &format!("--name=a {job}"), &[1]);
        check(NOBODY, &between(&job), &[0, 1, 0]);
        check(NOBODY, &between(&format!("{job} --numjobs=2")), &[0, 1, 1, 0]);
        check(NOBODY, &format!("--group_reporting {}", between(&job)), &[1]);
    }
}

#[test]
fn memory_that_is_not_there_fails_its_job_alone() {
    let huge = |name: &str| {
        let path = format!("/sys/kernel/mm/hugepages/hugepages-2048kB/{name}");
        fs::read_to_string(path).is_ok_and(|count| count.trim() == "0")
    };
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("memory_that_is_not_there_fails_its_job_alone", &why);
    }
    if !huge("nr_hugepages") || !huge("nr_overcommit_hugepages") {
        return skip("memory_that_is_not_there_fails_its_job_alone", "this machine has huge pages");
    }
    for memory in ["mmaphuge", "shmhuge"] {
        check("", &between(&format!("--rw=write --size=64k --filename=fb --mem={memory}")), &[0, 12, 0]);
    }
}

#[test]
fn files_that_cannot_be_made_fail_their_job_alone() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("files_that_cannot_be_made_fail_their_job_alone", &why);
    }
    for (job, error) in [
        ("--rw=write --size=64k --directory=/proc", 2),
        ("--rw=randread --size=64k --directory=/proc", 2),
        ("--rw=write --size=64k --directory=/proc --nrfiles=3 --numjobs=1", 2),
    ] {
        check("", &format!("--name=a {job}"), &[error]);
        check("", &between(job), &[0, error, 0]);
        let next = "--name=d --stonewall --rw=read --filename=plain";
        check("", &format!("{} {next}", between(job)), &[0, error, 0, 0]);
    }
}

/// fio says nothing and ends with 0: what has done nothing would pass for well done.
#[test]
fn memory_that_cannot_be_locked_is_an_error() {
    let bench = prepared();
    let job = "--rw=write --size=64k --filename=fb --lockmem=64t";
    let ended = bench.fathom(&format!("fio {} --output-format=json", between(job)));
    ended.expect(1, &["b: mmap of 70368744177664 B"]);
    let document = document(&ended);
    let jobs = document["jobs"].as_array().expect("a document has jobs");
    let errors: Vec<_> = jobs.iter().map(|job| job["error"].as_i64().expect("a number")).collect();
    assert_eq!(errors, [0, 12, 0]);
    assert_eq!(jobs[2]["write"]["total_ios"], 16);
}
