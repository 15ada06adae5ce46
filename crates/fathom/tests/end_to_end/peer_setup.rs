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

#[test]
fn what_this_user_may_not_enter_or_lock_fails_its_job_alone() {
    if let Err(why) = can_be_nobody() {
        return skip("what_this_user_may_not_enter_or_lock_fails_its_job_alone", &why);
    }
    for directory in ["--rw=write --size=64k --directory=locked", "--rw=read --size=64k --directory=locked"] {
        check(NOBODY, &between(directory), &[0, 13, 0]);
        check(NOBODY, &between(&format!("{directory} --numjobs=2")), &[0, 13, 13, 0]);
    }
    let unlocked = format!("{NOBODY} prlimit --memlock=0");
    let ring = "--rw=write --size=64k --filename=fb --ioengine=io_uring --iodepth=4";
    let probe: Vec<&str> = unlocked.split(' ').chain(["fio", "--name=a"]).chain(ring.split(' ')).collect();
    if prepared().run(&probe).code == 0 {
        return skip(
            "what_this_user_may_not_enter_or_lock_fails_its_job_alone: rings",
            "they take no locked memory",
        );
    }
    check(&unlocked, &between(ring), &[0, 12, 0]);
}

/// fio's process of that job is ended by the signal; with `thread`, all of it.
#[test]
fn a_limit_of_file_sizes_is_an_error_of_its_job() {
    let limited = ["prlimit", "--fsize=524288", FATHOM, "fio", "--output-format=json", "--fallocate=none"];
    if let Err(why) = tool("prlimit", &["--version"]) {
        return skip("a_limit_of_file_sizes_is_an_error_of_its_job", &why);
    }
    let line = between("--rw=write --size=1m --filename=fb --stonewall") + " --stonewall";
    let line: Vec<&str> = line.split(' ').collect();
    let ended = prepared().run(&[&limited[..], &line].concat());
    let jobs = document(&ended)["jobs"].clone();
    let of = |job: usize| jobs[job]["error"].clone();
    assert_eq!([of(0), of(1), of(2)], [0, 27, 0].map(serde_json::Value::from), "{}", ended.err);
    let written = |job: usize| jobs[job]["write"]["io_bytes"].as_u64().expect("a count");
    assert_eq!([written(0), written(1), written(2)], [65536, 524_288, 65536]);
}

#[test]
fn what_is_found_at_the_start_of_a_job_fails_it_alone() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("what_is_found_at_the_start_of_a_job_fails_it_alone", &why);
    }
    let long = "x".repeat(300);
    for (job, error) in [
        (format!("--rw=write --size=64k --filename={long}"), 36),
        (format!("--rw=read --filename={long}"), 36),
        ("--rw=write --size=64k --filename=plain/x".to_owned(), 20),
        ("--ioengine=cpuio".to_owned(), 22),
        ("--ioengine=cpuio --cpuload=0 --runtime=1".to_owned(), 22),
    ] {
        check("", &between(&job), &[0, error, 0]);
    }
    let ring = "--rw=write --size=64k --filename=fb --ioengine=io_uring --iodepth";
    let words: Vec<&str> = ring.split(' ').collect();
    let shallow = prepared().run(&[&["fio", "--name=a"], &words[..], &["1"]].concat());
    if shallow.code != 0 {
        return skip("what_is_found_at_the_start_of_a_job_fails_it_alone: rings", &shallow.err);
    }
    check("", &between(&format!("{ring}=32768")), &[0, 0, 0]);
    check("", &between(&format!("{ring}=65536")), &[0, 22, 0]);
}

/// Exit code, and the errors of the jobs where there is a document.
fn errors(words: &[&str]) -> (i32, Option<Vec<u64>>) {
    let bench = prepared();
    bench.write("small.fio", "[a]\nrw=write\nsize=64k\n[b]\nrw=write\nsize=4k\nbs=8k\n");
    bench.write("include.fio", "[a]\nrw=write\ninclude absent.fio\nsize=64k\n");
    bench.write("waits.fio", "[a]\nrw=write\nsize=64k\nwait_for=nobody\n");
    let ended = bench.run(&[words, &["--output-format=json"]].concat());
    let document = ended.out.find("{\n").map(|_| document(&ended));
    let error = |job: &serde_json::Value| job["error"].as_u64().expect("a number");
    let errors = |document: serde_json::Value| {
        document["jobs"].as_array().expect("a document has jobs").iter().map(error).collect()
    };
    (ended.code, document.map(errors))
}

#[test]
fn what_is_wrong_as_it_is_written_runs_nothing() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("what_is_wrong_as_it_is_written_runs_nothing", &why);
    }
    for job in [
        "small.fio",
        "include.fio",
        "waits.fio",
        "absent.fio",
        "--name=a --rw=write --size=64k --directory=plain",
        "--name=a --rw=write --size=64k --directory=absent",
        "--name=a --rw=write --size=64k --filename=f --directory=absent",
        "--name=a --rw=write --size=64k --filename=f --directory=.:absent",
        "--name=a --rw=write --size=64k --ioengine=null --filename=f --directory=absent",
        "--name=a --rw=randwrite --size=64k --random_distribution=zipf:",
        "--name=a --rw=randwrite --size=64k --random_distribution=pareto:",
        "--name=a --rw=write --size=64k --nrfiles=2 --file_service_type=zipf:",
        "--name=a --rw=write --size=64k --nrfiles=2 --file_service_type=zipf:1.2:",
        "--name=a --rw=write --size=64k --verify=md5 --verify_interval=32",
        "--name=a --rw=write --size=64k --iodepth=0",
    ] {
        let words: Vec<&str> = job.split(' ').collect();
        let (theirs, ours) =
            (errors(&[&["fio"], &words[..]].concat()), errors(&[&[FATHOM, "fio"], &words[..]].concat()));
        assert_eq!(theirs, (1, None), "the peer with {job}");
        assert_eq!(ours, theirs, "{job}");
    }
}

/// The peer ends with 1 for these jobs as well; for some it says error 0.
#[test]
fn a_job_without_room_for_a_block_is_an_error() {
    for job in [
        "--rw=read --bs=128k --filename=plain",
        "--rw=read --bs=4k --offset=63k --filename=plain",
        "--rw=read --bs=4k --size=64k --io_size=6% --filename=plain",
    ] {
        let words = format!("fio {}", between(job));
        let words: Vec<&str> = std::iter::once(FATHOM).chain(words.split_whitespace()).collect();
        assert_eq!(errors(&words), (1, Some(vec![0, 22, 0])), "{job}");
    }
    let verifies = "--rw=randwrite --size=64k --filename=fb --verify=sha512 --bs=32";
    let words = format!("fio {}", between(verifies));
    let words: Vec<&str> = std::iter::once(FATHOM).chain(words.split_whitespace()).collect();
    assert_eq!(errors(&words), (1, Some(vec![0, 22, 0])));
}

#[test]
fn jobs_that_meet_a_limit_fail_and_the_report_is_whole() {
    let limited = |files: u32, line: &str| {
        let words = format!("prlimit --nofile={files}:{files} {FATHOM} fio {line}");
        errors(&words.split_whitespace().collect::<Vec<_>>())
    };
    if let Err(why) = tool("prlimit", &["--version"]) {
        return skip("jobs_that_meet_a_limit_fail_and_the_report_is_whole", &why);
    }
    // One that is too much by itself, and several that are together: those that come last.
    let many = "--rw=write --size=640k --nrfiles=100";
    assert_eq!(limited(100, &between(many)), (1, Some(vec![0, 24, 0])));
    let (code, found) = limited(100, "--name=a --rw=write --size=4k --numjobs=40");
    let found = found.expect("a document");
    let failed = found.iter().filter(|&&error| error == 24).count();
    assert!((1..40).contains(&failed) && found.iter().all(|&error| error == 0 || error == 24), "{found:?}");
    assert_eq!(code, i32::try_from(failed).expect("fewer than 40"));
    assert!(found.is_sorted(), "{found:?}");
    // All operations in flight that a host has room for, twice. Others may use some of it meanwhile.
    let most = fs::read_to_string("/proc/sys/fs/aio-max-nr").expect("Linux has it");
    if most.trim() != "65536" {
        return skip(
            "jobs_that_meet_a_limit_fail_and_the_report_is_whole: aio",
            "fs.aio-max-nr is not 65536",
        );
    }
    let deep = "--name=a --rw=write --size=64k --ioengine=libaio --iodepth=40000 --numjobs=2";
    let (code, found) = limited(1000, deep);
    let found = found.expect("a document");
    assert_eq!((found.len(), found[1]), (2, 11), "{code}");
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
