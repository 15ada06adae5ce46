//! Job control: who waits for whom and what ends with whom, beside fio where it is installed.

use crate::support::{Bench, FATHOM, skip, tool};
use serde_json::Value;

/// The jobs of a fio document.
fn jobs(bench: &Bench, program: &[&str], job: &str) -> Vec<Value> {
    bench.write("job.fio", job);
    let arguments = ["--output-format=json", "--output=out.json", "job.fio"];
    bench.run(&[program, &arguments].concat()).expect(0, &[]);
    let text = std::fs::read_to_string(bench.path("out.json")).expect("it was written");
    let document: Value = serde_json::from_str(&text).expect("it is JSON");
    document["jobs"].as_array().expect("a document has jobs").clone()
}

/// Runs a job with fathom, and with fio where it is, and holds each job of both to `expect`.
fn check_both(name: &str, job: &str, expect: impl Fn(&str, &[Value])) {
    let bench = Bench::new();
    expect("fathom", &jobs(&bench, &[FATHOM, "fio"], job));
    if tool("fio", &["--version"]).is_err() {
        return skip(name, "fio is not installed");
    }
    expect("fio", &jobs(&bench, &["fio"], job));
}

fn reads(job: &Value) -> u64 {
    job["read"]["total_ios"].as_u64().expect("a count")
}

#[test]
fn wait_for_delays_one_job() {
    let job = "[global]\nioengine=null\nsize=1g\nrate_iops=100\nnumber_ios=30\n[a]\nnumjobs=2\n[b]\nwait_for=a\n[c]\n";
    check_both("wait_for", job, |who, jobs| {
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
