//! Jobs that fail, beside the peer: one that cannot start has its error in the report and the others run, in every format and
//! with the same exit code. Skipped aloud where the peer is not installed.

use crate::support::{Bench, Ended, FATHOM, skip, tool};
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

/// Somebody who may do little.
pub(crate) const NOBODY: &str = "setpriv --reuid=65534 --regid=65534 --clear-groups";
/// A filesystem of a mebibyte at `small`, for this command alone.
const SMALL: &str = "unshare --mount -- small/within";
const WITHIN: &str = "#!/bin/sh\nmount -t tmpfs -o size=1m,mode=777 tmpfs small && exec \"$@\"\n";

/// Asserts that both report these errors, job by job, with equal counts; `wrapper` runs either tool.
pub(crate) fn check(wrapper: &str, line: &str, errors: &[u64]) {
    let (theirs, ours) = (reported(&["fio"], wrapper, line), reported(&[FATHOM, "fio"], wrapper, line));
    let of_theirs: Vec<u64> = theirs.1.iter().map(|job| job.2).collect();
    assert_eq!(of_theirs, errors, "the peer with {line}");
    assert_eq!(ours, theirs, "{line}");
}

/// Name, group, error, and operations of each direction of each job.
type Jobs = Vec<(String, u64, u64, [u64; 3])>;

/// What a tool ends with and reports: exit code, jobs of the JSON document, begin of the terse lines, jobs of the normal report.
fn reported(program: &[&str], wrapper: &str, line: &str) -> (i32, Jobs, Vec<String>, Vec<String>) {
    let run = |format: &str| {
        let bench = prepared();
        let format = format!("--output-format={format}");
        let words: Vec<&str> = wrapper.split_whitespace().chain(program.iter().copied()).collect();
        let line: Vec<&str> = line.split_whitespace().collect();
        bench.run(&[&words[..], &line, &[&format]].concat())
    };
    let json = run("json");
    let count = |job: &Value, kind: &str| job[kind]["total_ios"].as_u64().expect("a count");
    let of_job = |job: &Value| {
        let name = job["jobname"].as_str().expect("a name").to_owned();
        let number = |key: &str| job[key].as_u64().expect("a number");
        (name, number("groupid"), number("error"), ["read", "write", "trim"].map(|kind| count(job, kind)))
    };
    let document = document(&json);
    let jobs = document["jobs"].as_array().expect("a document has jobs").iter().map(of_job).collect();
    let (terse, normal) = (run("terse"), run("normal"));
    assert_eq!([terse.code, normal.code], [json.code; 2], "{line}");
    // Version, then name, group and error.
    let begins = terse.out.lines().filter(|line| line.matches(';').count() > 20);
    let begins = begins.map(|line| line.split(';').skip(2).take(3).collect::<Vec<_>>().join(";")).collect();
    let named = normal.out.lines().filter(|line| line.contains(": (groupid="));
    let named = named.map(|line| line.split(" (").next().unwrap_or_default().to_owned() + &error_of(line));
    (json.code, jobs, begins, named.collect())
}

/// `err=28` of a line of a normal report.
fn error_of(line: &str) -> String {
    let rest = line.split("err=").nth(1).unwrap_or_default().trim_start();
    rest.chars().take_while(char::is_ascii_digit).collect()
}

/// The peer prints lines before its document.
pub(crate) fn document(ended: &Ended) -> Value {
    let begin = ended.out.find("{\n").unwrap_or(0);
    serde_json::from_str(&ended.out[begin..]).unwrap_or_else(|error| panic!("{error} in {ended:#?}"))
}

/// A folder that everybody may write, with a file that only its owner may read, and one that nobody else may write.
pub(crate) fn prepared() -> Bench {
    let bench = Bench::new();
    let allow = |path: &std::path::Path, mode| {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("the folder is ours");
    };
    allow(bench.path("").parent().expect("it has one"), 0o777);
    allow(&bench.path(""), 0o777);
    for (name, mode) in [("secret", 0o600), ("fixed", 0o644), ("plain", 0o666)] {
        bench.write(name, vec![1; 65536]);
        allow(&bench.path(name), mode);
    }
    bench.write("empty", "");
    for (name, mode) in [("folder", 0o777), ("closed", 0o555), ("locked", 0o700), ("small", 0o777)] {
        fs::create_dir(bench.path(name)).expect("it is new");
        allow(&bench.path(name), mode);
    }
    bench.write("small/within", WITHIN);
    allow(&bench.path("small/within"), 0o755);
    bench
}

/// A job between two that run.
pub(crate) fn between(job: &str) -> String {
    format!(
        "--name=a --rw=write --size=64k --filename=fa --name=b {job} --name=c --rw=write --size=64k --filename=fc"
    )
}

#[test]
fn a_job_that_cannot_start_fails_by_itself() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("a_job_that_cannot_start_fails_by_itself", &why);
    }
    check("", "--name=a --rw=read --filename=absent", &[22]);
    check("", "--name=a --rw=read --filename=empty", &[22]);
    check("", "--name=a --rw=read --size=16k --filename=folder", &[21]);
    for (job, error) in
        [("--rw=read --filename=absent", 22), ("--rw=randread --filename=empty --numjobs=1 --thread", 22)]
    {
        check("", &between(job), &[0, error, 0]);
        check(
            "",
            &format!("{} --name=d --stonewall --rw=read --filename=plain", between(job)),
            &[0, error, 0, 0],
        );
        check("", &format!("--group_reporting {}", between(job)), &[error]);
    }
    // No room for a block behind the offset, which is found as late as the file's size.
    let line = format!(
        "{} --output-format=json",
        between("--rw=read --bs=64k --size=777777 --filesize=64k --offset=5000")
    );
    let [theirs, ours] = [&["fio"][..], &[FATHOM, "fio"]].map(|program| {
        let ended = prepared().run(&[program, &line.split(' ').collect::<Vec<_>>()].concat());
        let document = document(&ended);
        // The peer has no error in the report of such a job.
        let written = [0, 1, 2].map(|at| document["jobs"][at]["write"]["total_ios"].as_u64());
        (ended.code, written)
    });
    assert_eq!(ours, theirs);
    assert_eq!(theirs, (1, [Some(16), Some(0), Some(16)]));
    // A setting of the kernel, which would have to be made anew.
    check("", &between("--rw=read --size=4k --filename=/proc/version"), &[0, 1, 0]);
    // Made empty when it is opened: an error of the read, whatever would be checked and gone on after.
    let fresh = "--name=a --rw=read --size=64k --filename=fresh --create_on_open=1";
    for verified in
        ["", "--verify=crc32c", "--verify=md5 --continue_on_error=verify", "--verify=meta --verify_fatal=1"]
    {
        check("", &format!("{fresh} {verified}"), &[5]);
    }
    // Each clone fails, and counts.
    check(
        "",
        "--name=a --rw=read --filename=absent --numjobs=3 --name=b --rw=read --filename=plain",
        &[22, 22, 22, 0],
    );
    // One that waits for one that failed goes on.
    check(
        "",
        "--name=a --rw=read --filename=absent --name=b --wait_for=a --rw=read --filename=plain",
        &[22, 0],
    );
}

/// Polling wants direct I/O. The peer's job has the error of its first operation, ours of its start; the others run.
#[test]
fn a_job_that_cannot_poll_fails_by_itself() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("a_job_that_cannot_poll_fails_by_itself", &why);
    }
    let bench = Bench::new();
    bench.write("plain", vec![7; 64 << 10]);
    let line = "--filename=plain --rw=read --size=64k --output-format=json --output=out --name=a --ioengine=io_uring \
                --hipri=1 --name=b --ioengine=psync";
    for program in [&["fio"][..], &[FATHOM, "fio"]] {
        let words: Vec<&str> = program.iter().copied().chain(line.split_whitespace()).collect();
        assert_eq!(bench.run(&words).code, 1);
        let text = fs::read_to_string(bench.path("out")).expect("there is a report");
        let report: Value =
            serde_json::from_str(&text[text.find('{').expect("it is JSON")..]).expect("it is JSON");
        let jobs = report["jobs"].as_array().expect("a list");
        let errors: Vec<&Value> = jobs.iter().map(|job| &job["error"]).collect();
        assert_eq!(errors, [95, 0]);
        assert_eq!(jobs[1]["read"]["total_ios"], 16);
    }
}

/// Errors that a job goes on after are none of the exit code's, whatever another job has, nor are they told.
#[test]
fn a_job_that_goes_on_after_its_errors_has_not_failed() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("a_job_that_goes_on_after_its_errors_has_not_failed", &why);
    }
    let full = "--filename=/dev/full --rw=write --size=64k";
    for first in [
        &format!("{full} --ignore_error=,ENOSPC --error_dump=0"),
        &format!("{full} --ignore_error=ENOSPC --error_dump=0"),
        &format!("{full} --continue_on_error=read"),
        "--filename=plain --rw=read --size=64k --verify=crc32c --continue_on_error=verify",
        "--filename=plain --rw=read --size=64k --verify=crc32c",
    ] {
        let line = format!("--name=a {first} --name=b --stonewall {full}");
        let told = |program: &[&str]| {
            let ended = prepared().run(&program.iter().copied().chain(line.split(' ')).collect::<Vec<_>>());
            // The peer tells the one on one stream and the other on the other.
            let of = |start| [&ended.err, &ended.out].map(|text| text.matches(start).count());
            let of = |start| of(start).iter().sum::<usize>();
            (ended.code, of("fio: io_u error"), of("fio: pid="))
        };
        assert_eq!(told(&[FATHOM, "fio"]), told(&["fio"]), "{line}");
    }
}

/// The depth at which operations were handed over is that of those that failed, too.
#[test]
fn failed_operations_were_in_flight() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("failed_operations_were_in_flight", &why);
    }
    for engine in ["psync", "sync", "pvsync2"] {
        let line = format!(
            "--name=a --filename=/dev/full --rw=write --size=64k --continue_on_error=write --ioengine={engine} \
             --output-format=json"
        );
        let of = |program: &[&str]| {
            let ended = prepared().run(&program.iter().copied().chain(line.split(' ')).collect::<Vec<_>>());
            let from = ended.out.find('{').expect("there is a document");
            let document: serde_json::Value = serde_json::from_str(&ended.out[from..]).expect("it is whole");
            let job = document["jobs"][0].clone();
            (job["write"]["total_ios"].clone(), job["iodepth_level"].clone(), job["iodepth_submit"].clone())
        };
        assert_eq!(of(&[FATHOM, "fio"]), of(&["fio"]), "{line}");
    }
}

#[test]
fn a_job_whose_files_may_not_be_opened_fails_by_itself() {
    let nobody: Vec<&str> = NOBODY.split(' ').chain([FATHOM, "--version"]).collect();
    if let Err(why) = tool("fio", &["--version"]).and_then(|_| tool(nobody[0], &nobody[1..])) {
        return skip("a_job_whose_files_may_not_be_opened_fails_by_itself", &why);
    }
    for job in [
        "--rw=read --filename=secret",
        "--rw=write --size=64k --filename=fixed",
        "--rw=write --size=64k --filename=closed/x",
    ] {
        check(NOBODY, &format!("--name=a {job}"), &[13]);
        check(NOBODY, &between(job), &[0, 13, 0]);
    }
}

/// The file of a program that runs may be written by nobody, whatever its mode says.
#[test]
fn a_job_on_the_file_of_a_running_program_fails_by_itself() {
    let test = "a_job_on_the_file_of_a_running_program_fails_by_itself";
    if let Err(why) = tool("fio", &["--version"]) {
        return skip(test, &why);
    }
    for program in [&["fio"][..], &[FATHOM, "fio"]] {
        let bench = Bench::new();
        fs::copy("/bin/sh", bench.path("busy")).expect("there is a shell");
        let mut running = std::process::Command::new(bench.path("busy"))
            .args(["-c", "echo runs; read end"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("it is a program");
        let mut said = [0; 5];
        let mut from = running.stdout.take().expect("it is piped");
        std::io::Read::read_exact(&mut from, &mut said).expect("it runs");
        let line =
            "--name=x --filename=busy --rw=write --size=20k --name=ok --filename=other --rw=write --size=64k";
        let line: Vec<&str> = line.split(' ').chain(["--output-format=json"]).collect();
        let ended = bench.run(&[program, &line].concat());
        drop(running.stdin.take());
        running.wait().expect("it is ours");
        let document = document(&ended);
        let of = |at: usize| (&document["jobs"][at]["error"], &document["jobs"][at]["write"]["total_ios"]);
        assert_eq!((ended.code, of(0).0), (1, &Value::from(26)), "{program:?}: {document:#}");
        assert_eq!(of(1), (&Value::from(0), &Value::from(16)), "{program:?}: {document:#}");
        let whole = fs::read("/bin/sh").expect("it is there");
        assert_eq!(fs::read(bench.path("busy")).expect("it is there"), whole, "nothing of it was written");
    }
}

#[test]
fn a_filesystem_without_room_fails_the_job_that_wants_it() {
    let has_small = || {
        let bench = prepared();
        let words: Vec<&str> = SMALL.split(' ').chain(["true"]).collect();
        let ended = bench.run(&words);
        if ended.code == 0 { Ok(()) } else { Err(ended.err) }
    };
    if let Err(why) = tool("fio", &["--version"]).and_then(|_| has_small()) {
        return skip("a_filesystem_without_room_fails_the_job_that_wants_it", &why);
    }
    let job = "--rw=read --size=2m --filename=small/x --fallocate=none";
    check(SMALL, &format!("--name=a {job}"), &[28]);
    check(SMALL, &between(job), &[0, 28, 0]);
    // One that writes goes on until there is no room: 15 blocks beside the script, and the one that failed.
    let job = "--rw=write --size=2m --bs=64k --filename=small/x";
    for more in
        ["--fallocate=native", "--fallocate=none --fsync=1 --continue_on_error=all", "--fallocate=truncate"]
    {
        check(SMALL, &between(&format!("{job} {more}")), &[0, 28, 0]);
    }
    let rest = "--fallocate=none --ignore_error=,ENOSPC";
    check(SMALL, &format!("--name=a {job} {rest}"), &[28]);
    // It does begin where a part of it fits.
    check(SMALL, &format!("--name=a {job} --fallocate=none --number_ios=3"), &[0]);
}

#[test]
fn files_are_as_long_as_fallocate_makes_them() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("files_are_as_long_as_fallocate_makes_them", &why);
    }
    let lengths = |program: &[&str], how: &str| {
        let bench = Bench::new();
        let job = ["--name=a", "--rw=write", "--bs=64k", "--size=512k", "--number_ios=3", how];
        bench.run(&[program, &job].concat()).expect(0, &[]);
        let meta = fs::metadata(bench.path("a.0.0")).expect("it was written");
        (meta.len(), meta.blocks())
    };
    for how in ["none", "native", "posix", "keep", "truncate"] {
        let how = format!("--fallocate={how}");
        assert_eq!(lengths(&[FATHOM, "fio"], &how), lengths(&["fio"], &how), "{how}");
    }
}

#[test]
fn a_sync_that_fails_is_counted_and_ends_the_job() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("a_sync_that_fails_is_counted_and_ends_the_job", &why);
    }
    let made = |program: &[&str], job: &str| {
        let bench = Bench::new();
        let words: Vec<&str> = job.split(' ').collect();
        let job = &["--name=a", "--rw=write", "--size=64k", "--filename=/dev/null", "--output-format=json"];
        let ended = bench.run(&[program, job, &words].concat());
        let document = document(&ended);
        let job = &document["jobs"][0];
        let number = |place: &str| job.pointer(place).and_then(Value::as_u64);
        let places = [
            "/error",
            "/write/total_ios",
            "/write/io_bytes",
            "/sync/total_ios",
            "/total_err",
            "/first_error",
        ];
        (ended.code, places.map(number))
    };
    // `/dev/null` takes no sync.
    for job in [
        "--fsync=1",
        "--fdatasync=1",
        "--fsync=4 --continue_on_error=all",
        "--sync_file_range=write:4",
        "--ioengine=libaio --fsync=1",
        "--end_fsync=1",
    ] {
        assert_eq!(made(&[FATHOM, "fio"], job), made(&["fio"], job), "{job}");
    }
}

#[test]
fn a_mapping_of_a_character_device_fails_by_itself() {
    let bench = prepared();
    let job = "fio --name=a --ioengine=mmap --filename=/dev/null --rw=write --size=64k --name=b --rw=read \
               --filename=plain --output-format=json";
    let ended = bench.fathom(job);
    ended.expect(1, &["maps files and block devices"]);
    let document = document(&ended);
    assert_eq!(document["jobs"][0]["error"], 19);
    assert_eq!(document["jobs"][1]["read"]["total_ios"], 16);
}

#[test]
fn a_job_that_cannot_start_leaves_the_seeds_of_others() {
    let log = |first: &str| {
        let bench = prepared();
        let job = format!(
            "fio {first} --name=b --rw=randread --norandommap --ioengine=null --filename=n --size=1m --write_iolog=log --randrepeat=1"
        );
        bench.fathom(&job);
        fs::read_to_string(bench.path("log")).expect("it was written")
    };
    let places = |text: &str| -> Vec<String> {
        let offset = |line: &str| line.split(' ').nth(3).map(str::to_owned);
        text.lines().filter(|line| line.contains(" read ")).filter_map(offset).collect()
    };
    let (runs, fails) =
        (log("--name=a --rw=read --filename=plain"), log("--name=a --rw=read --filename=absent"));
    assert_eq!(places(&runs).len(), 256);
    assert_eq!(places(&fails), places(&runs));
    let alone = log("");
    assert_ne!(places(&alone), places(&runs), "each job of a run has places of its own");
    assert_eq!(places(&log("")), places(&alone), "and the same in each run");
}

#[test]
fn all_clones_are_listed_in_the_order_of_the_peer() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("all_clones_are_listed_in_the_order_of_the_peer", &why);
    }
    // Clones tell themselves apart by the sizes of their files.
    let moved = |program: &[&str], more: &str| -> (Jobs, Vec<u64>) {
        let bench = Bench::new();
        for (name, blocks) in [("f.0", 1), ("f.1", 2), ("f.2", 3), ("f.3", 4)] {
            bench.write(name, vec![1; blocks << 12]);
        }
        bench.write("j.fio", "[a]\nfilename_format=f.$jobnum\nrw=read\nnumjobs=4\nwrite_bw_log=l\n[b]\nfilename=f.2\nrw=read\n");
        let words: Vec<&str> = program.iter().copied().chain(more.split_whitespace()).collect();
        let ended = bench.run(&[&words[..], &["--output-format=json", "j.fio"]].concat());
        let document = document(&ended);
        let jobs = document["jobs"].as_array().expect("a document has jobs").iter().map(|job| {
            let name = job["jobname"].as_str().expect("a name").to_owned();
            (name, 0, 0, [job["read"]["total_ios"].as_u64().expect("a count"), 0, 0])
        });
        let rows = (1..=4).map(|number| {
            let log = fs::read_to_string(bench.path(&format!("l_bw.{number}.log"))).expect("it was written");
            log.lines().count() as u64
        });
        (jobs.collect(), rows.collect())
    };
    for more in ["", "--thread", "--group_reporting", "--eta=never --max-jobs=8"] {
        let (theirs, ours) = (moved(&["fio"], more), moved(&[FATHOM, "fio"], more));
        assert_eq!(ours, theirs, "{more}");
    }
}

#[test]
fn a_filesystem_that_cannot_be_synced_is_an_error_of_whose_files_it_lost() {
    if let Err(why) = tool("strace", &["--version"]) {
        return skip("a_filesystem_that_cannot_be_synced_is_an_error_of_whose_files_it_lost", &why);
    }
    // So many small files are synced together, by way of the first of them.
    let job =
        "--rw=read --bs=4k --nrfiles=40 --filesize=4k --openfiles=1 --output-format=json --name=a --name=b";
    for (faults, expect) in [("syncfs", [(0, 40), (0, 40)]), ("syncfs,fsync", [(5, 0), (0, 40)])] {
        let bench = prepared();
        let first = bench.path("a.0.0");
        let first = first.to_str().expect("a temporary path is text");
        let inject = format!("inject={faults}:error=EIO");
        let strace = ["strace", "-f", "-o", "/dev/null", "-P", first, "-e", &inject, FATHOM, "fio"];
        let ended = bench.run(&[&strace[..], &job.split(' ').collect::<Vec<_>>()].concat());
        let report = document(&ended);
        let jobs = report["jobs"].as_array().expect("a document has jobs");
        let of_job = |job: &Value| (job["error"].as_u64(), job["read"]["total_ios"].as_u64());
        let got: Vec<_> = jobs.iter().map(of_job).collect();
        assert_eq!(got, expect.map(|(error, reads)| (Some(error), Some(reads))), "{faults}: {ended:#?}");
    }
}

/// What a pass leaves for the next one to open is gone.
#[test]
fn a_job_that_removes_what_it_reads_again_fails() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("a_job_that_removes_what_it_reads_again_fails", &why);
    }
    let reads = "--size=64k --rw=read --unlink_each_loop=1 --loops=3";
    check("", &format!("--name=again {reads}"), &[2]);
    check("", &format!("--name=again {reads} --name=other --size=64k --rw=write"), &[2, 0]);
}
