//! Tests of the PTS in the browser: begun, stopped, gone on with there and from the command line.

use super::Site;
use crate::support::Bench;
use serde_json::json;

#[test]
fn a_test_of_the_pts_is_begun_grows_and_is_stopped() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let text = "[target.a]\nkind = \"sim\"\nsize = \"8MiB\"\n[workload.a]\n[stream.a]\n";
    let search = json!({ "kind": "steady", "test": "latency", "quick": true });
    let run = site.begin(&json!({ "job": { "name": "a.toml", "text": text }, "search": search }));
    site.events(&run, 0, "step_finished");
    let answer = || site.get(&format!("/api/v1/runs/{run}/answer")).expect(200).json();
    assert_eq!(answer()["kind"], "steady", "it is answered while it goes on");
    site.post(&format!("/api/v1/runs/{run}/stop"), &json!({})).expect(202);
    site.events(&run, 0, "run_finished");
    let found = answer();
    assert!(
        found["sentence"]
            .as_str()
            .is_some_and(|said| said.starts_with("A try, not PTS. There is no answer yet")),
        "{found}"
    );
    let report = site.get(&format!("/api/v1/runs/{run}")).expect(200).json();
    assert_eq!(report["title"], "quick latency test of sim:, not PTS");
    // It goes on where it was, which is planned and judged like any run; what has ended does not.
    let nothing = json!({ "name": "", "text": "" });
    let resume = |run: &str| json!({ "job": nothing, "search": { "kind": "resume", "run": run } });
    let planned = site.post("/api/v1/jobs/plan", &resume(&run)).expect(200).json();
    assert_eq!(planned["may_run"], true, "{planned}");
    let next = site.begin(&resume(&run));
    site.events(&next, 0, "run_finished");
    let report = site.get(&format!("/api/v1/runs/{next}")).expect(200).json();
    assert_eq!(report["state"], "complete");
    let notes = report["notes"].to_string();
    assert!(notes.contains(&format!("the first steps are those of run {run}")), "{notes}");
    // So does one that was begun here from the command line.
    bench.fathom(&format!("steady --resume {run} --quiet")).expect(0, &[]);
    for (run, says) in [(next.as_str(), "came to its end"), ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "there is no run")]
    {
        let planned = site.post("/api/v1/jobs/plan", &resume(run)).expect(200).json();
        assert!(planned["diagnostics"].to_string().contains(says), "{planned}");
        site.post("/api/v1/runs", &resume(run)).expect(422);
    }
    site.end();
}

#[test]
fn what_was_said_of_a_test_of_the_pts_holds_where_it_goes_on() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let nothing = json!({ "name": "", "text": "" });
    let resume = |run: &str| json!({ "job": nothing, "search": { "kind": "resume", "run": run } });
    let plan = |run: &str| site.post("/api/v1/jobs/plan", &resume(run)).expect(200).json();
    let stored = || bench.report()["run"].as_str().expect("it has an identity").to_owned();
    // It ends in its first step, which is done again: nothing of it is taken over but what was said.
    let line = "steady latency --target file --size 2MiB --quick --remove --abort-when write.iops>1 --quiet";
    bench.fathom(line).expect(99, &["to go on: "]);
    let planned = plan(&stored());
    assert_eq!((&planned["may_run"], &planned["targets"][0]["removes"]), (&json!(true), &json!(true)));
    bench.fathom("steady --resume last --quiet").expect(99, &["to go on: "]);
    // A job that was sent with what is warned of, and does not remove its file.
    let text = "[a]\nfilename=sent\nsize=2MiB\nrw=randwrite\nwrite_bw_log=log\n";
    let order = json!({
        "job": { "name": "a.fio", "text": text },
        "search": { "kind": "steady", "test": "latency", "quick": true },
    });
    let run = site.begin(&order);
    site.events(&run, 0, "step_started");
    site.post(&format!("/api/v1/runs/{run}/stop"), &json!({})).expect(202);
    site.events(&run, 0, "run_finished");
    let planned = plan(&run);
    assert_eq!(planned["may_run"], true, "{planned}");
    assert!(planned["diagnostics"].to_string().contains("job.sent-logs"), "{planned}");
    assert_eq!(planned["targets"][0]["removes"], false, "{planned}");
    bench
        .fathom(&format!("steady --resume {run} --remove --abort-when write.iops>1 --quiet"))
        .expect(99, &["to go on: "]);
    let planned = plan(&stored());
    assert_eq!(planned["targets"][0]["removes"], true, "{planned}");
    site.end();
}
