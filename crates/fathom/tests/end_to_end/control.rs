//! Job control: who waits for whom and what ends with whom, beside fio where it is installed.

use crate::support::device::{SIZE, image, with_root};
use crate::support::{Bench, FATHOM, skip, tool};
use serde_json::Value;

/// The jobs of a fio document; the program has to end with this code.
fn jobs(bench: &Bench, program: &[&str], job: &str, code: i32) -> Vec<Value> {
    bench.write("job.fio", job);
    let arguments = ["--output-format=json", "--output=out.json", "job.fio"];
    bench.run(&[program, &arguments].concat()).expect(code, &[]);
    let text = std::fs::read_to_string(bench.path("out.json")).expect("it was written");
    // fio puts what it has to say before the document.
    let document = text.find("{\n").map_or("", |start| &text[start..]);
    let document: Value = serde_json::from_str(document).expect("it is JSON");
    document["jobs"].as_array().expect("a document has jobs").clone()
}

/// Runs a job with fathom, and with fio where it is, and holds each job of both to `expect`.
fn check_both(name: &str, job: &str, code: i32, expect: impl Fn(&str, &[Value])) {
    let bench = Bench::new();
    expect("fathom", &jobs(&bench, &[FATHOM, "fio"], job, code));
    if tool("fio", &["--version"]).is_err() {
        return skip(name, "fio is not installed");
    }
    expect("fio", &jobs(&bench, &["fio"], job, code));
}

fn reads(job: &Value) -> u64 {
    job["read"]["total_ios"].as_u64().expect("a count")
}

#[test]
fn wait_for_delays_one_job() {
    let job = "[global]\nioengine=null\nsize=1g\nrate_iops=100\nnumber_ios=30\n[a]\nnumjobs=2\n[b]\nwait_for=a\n[c]\n";
    check_both("wait_for", job, 0, |who, jobs| {
        assert_eq!(jobs.iter().map(reads).collect::<Vec<_>>(), [30, 30, 30, 30], "{who}");
    });
    let bench = Bench::new();
    bench.write("job.fio", job);
    bench.fathom("run job.fio").expect(0, &[]);
    let document = bench.report();
    let streams = document["steps"][0]["streams"].as_array().expect("streams");
    let time = |stream: usize, key: &str| streams[stream]["total"][key].as_f64().expect("a time");
    assert!(time(2, "start_s") >= time(0, "end_s").max(time(1, "end_s")), "{document}");
    assert!(time(3, "start_s") < 0.01, "{document}");
    let groups = document["steps"][0]["groups"].as_array().expect("groups");
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0]["total"]["all"]["operations"], 120);
}

#[test]
fn a_description_comes_back_with_the_result() {
    let bench = Bench::new();
    let job = "[run]\ndescription = \"before the firmware update\"\n[target.t]\nkind = \"null\"\n[stream.s]\noperations = 10\n";
    bench.write("job.toml", job);
    bench.fathom("run job.toml").expect(0, &[]);
    let report = bench.fathom("report last");
    assert!(report.expect(0, &[]).out.contains("before the firmware update"), "{report:?}");
}

#[test]
fn exitall_ends_what_exit_what_names() {
    // a ends after 20 operations; a2, and b in another group where it is to be ended, would take 500 times as long, so that
    // no load lets them end by themselves; c waits behind a barrier.
    let of = |what: &str, b: u64| {
        format!(
            "[global]\nioengine=null\nsize=1g\nrate_iops=200\n[a]\nnumber_ios=20\nexitall\nexit_what={what}\n\
             [a2]\nnumber_ios=10000\n[b]\nnew_group\nnumber_ios={b}\n[c]\nstonewall\nnumber_ios=20\n"
        )
    };
    for (what, b_ends, c_runs) in [("group", false, true), ("stonewall", true, true), ("all", true, false)] {
        let b = if b_ends { 10_000 } else { 100 };
        check_both("exitall", &of(what, b), 0, |who, jobs| {
            let done: Vec<u64> = jobs.iter().map(reads).collect();
            assert_eq!(done[0], 20, "{who} {what}");
            assert!(done[1] < 10_000, "{who} {what}: {done:?}");
            assert_eq!((done[2] < b, done[3] == 20), (b_ends, c_runs), "{who} {what}: {done:?}");
            assert!(jobs.iter().all(|job| job["error"] == 0), "{who} {what}");
        });
    }
}

/// The second half of a device lost its backing: reading there fails with EIO.
#[test]
fn an_error_ends_its_own_job_unless_it_is_ignored() {
    with_root("an error ends its own job", |bench, stage| {
        let backing = image(bench, "image", SIZE, &[]);
        let device = stage.attach(&backing)?;
        let file = std::fs::OpenOptions::new().write(true).open(&backing).expect("it is ours");
        file.set_len(SIZE / 2).expect("it is ours");
        // A b that is to be ended would take 50 s.
        let of = |options: &str, b: u64| {
            format!(
                "[a]\nfilename={device}\nbs=64k\nrw=read\ndirect=1\n{options}\n\
                 [b]\nioengine=null\nsize=1g\nrate_iops=200\nnumber_ios={b}\n[c]\nstonewall\nioengine=null\nsize=1m\n"
            )
        };
        for (options, code, b_ends) in [
            ("", 1, false),
            ("continue_on_error=write", 1, false),
            ("continue_on_error=read", 0, false),
            ("ignore_error=ENOSPC", 1, false),
            ("ignore_error=ENOSPC:EIO", 0, false),
            ("exitall_on_error", 1, true),
        ] {
            let b = if b_ends { 10_000 } else { 100 };
            for program in [&[FATHOM, "fio"][..], &["fio"]] {
                if program == ["fio"] && tool("fio", &["--version"]).is_err() {
                    skip("an error ends its own job, beside fio", "fio is not installed");
                    continue;
                }
                let jobs = jobs(bench, program, &of(options, b), code);
                let done = (reads(&jobs[1]), reads(&jobs[2]));
                assert_eq!(jobs[0]["error"], 5, "{program:?} {options}");
                assert_eq!(jobs[0]["read"]["io_bytes"], SIZE / 2, "{program:?} {options}");
                // Whom it ends before it has begun anything the peer may end together with all that would follow.
                let ends_all = program == ["fio"] && b_ends && done == (0, 0);
                assert!((done.0 < b, done.1) == (b_ends, 256) || ends_all, "{program:?} {options}: {done:?}");
            }
        }
        Ok(())
    });
}
