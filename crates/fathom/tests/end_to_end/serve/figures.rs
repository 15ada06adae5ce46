//! Figures of several streams while they run: what is told of them is what the report says in the end.

use super::{Site, null};
use crate::support::Bench;
use serde_json::{Value, json};

/// Two streams on a simulated device, one on another and one on both, one of them twenty times as much as another to compute;
/// they go on until they are stopped.
const JOB: &str = r#"
[target.fast]
kind = "sim"
size = "1GiB"
service_time = "exponential 100us"
[target.slow]
kind = "sim"
size = "1GiB"
service_time = "exponential 2ms"
[workload.w]
access = "random"
[stream.a]
targets = ["fast"]
workload = "w"
[stream.b]
targets = ["fast"]
workload = "w"
rate = "200/s"
[stream.c]
targets = ["slow"]
workload = "w"
[stream.both]
targets = ["slow", "fast"]
workload = "w"
[stage.main]
time = "10h"
"#;

#[test]
fn what_is_told_of_streams_together_is_what_the_report_of_the_stopped_run_says() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let run = site.begin(&json!({ "job": { "name": "three.toml", "text": JOB } }));
    let so_far = site.events(&run, 0, "figures");
    let (_, _, first) = so_far.last().expect("something was told");
    assert!(first["last"]["all"]["p99_ns"].is_u64(), "{first}");
    site.post(&format!("/api/v1/runs/{run}/stop"), &json!({})).expect(202);
    let events = site.events(&run, 0, "");
    let figures = events.iter().rfind(|(_, kind, _)| kind == "figures").expect("they are told");
    let report = site.get(&format!("/api/v1/runs/{run}")).expect(200).json();
    assert_eq!(report["state"], "interrupted");
    let check = |found: &Value, total: &Value| {
        let (found, all) = (&found["all"], &total["all"]);
        assert_eq!(found["operations"], all["operations"]);
        let number = |of: &Value, name: &str| of[name].as_f64().unwrap_or_else(|| panic!("no {name}: {of}"));
        let (live, kept) = (number(found, "iops"), number(all, "iops"));
        // A stopped window ends with its last completion.
        assert!((live / kept - 1.0).abs() < 0.01, "{live} beside {kept}");
        let p50 = all["response"]["percentiles"][0].clone();
        assert_eq!((found["p50_ns"].clone(), json!(50.0)), (p50["ns"].clone(), p50["percent"].clone()));
    };
    let (figures, step) = (&figures.2, &report["steps"][0]);
    check(&figures["since"], &step["total"]);
    let streams = step["streams"].as_array().expect("they are a list");
    for (at, stream) in streams.iter().enumerate() {
        check(&figures["streams"][at], &stream["total"]);
    }
    assert_eq!(figures["groups"][0]["streams"], json!([0, 1]), "{}", figures["groups"]);
    check(&figures["groups"][1]["since"], &streams[2]["total"]);
    let (_, _, of_targets) = events.iter().rfind(|(_, kind, _)| kind == "targets").expect("they are told");
    let parts = of_targets["parts"].as_array().expect("they are a list");
    assert_eq!(parts.len(), 2, "{of_targets}");
    for (part, figures) in parts.iter().zip(streams[3]["targets"].as_array().expect("it goes to two")) {
        assert_eq!((&part["target"], &part["streams"]), (&figures["target"], &json!([3])));
        let (found, all) = (&part["since"], &figures["all"]);
        for (name, of) in
            [("operations", "operations"), ("mean_ns", "response_mean_ns"), ("max_ns", "response_max_ns")]
        {
            assert_eq!(found[name], all[of], "{name}");
        }
    }
    // Interval by interval the same, where that is asked for.
    let intervals = |query: &str| {
        let told = site.get(&format!("/api/v1/runs/{run}/intervals{query}")).expect(200).json();
        told["intervals"].as_array().expect("they are a list").clone()
    };
    assert!(intervals("").iter().all(|interval| interval.get("targets").is_none()));
    let told = intervals("?targets=true");
    let on_target = |number: u64| -> u64 {
        let of_both = told.iter().filter(|interval| interval["stream"] == 3);
        let on = of_both.flat_map(|interval| interval["targets"].as_array().into_iter().flatten());
        on.filter(|on| on["target"] == number).filter_map(|on| on["operations"].as_u64()).sum()
    };
    let mut apart = [0, 1].map(on_target);
    let mut whole = [0, 1].map(|at| parts[at]["since"]["operations"].as_u64().expect("it is a count"));
    // Both go by numbers of targets there, and by names here.
    apart.sort_unstable();
    whole.sort_unstable();
    assert_eq!(apart, whole);
    assert!(told.iter().filter(|interval| interval["stream"] != 3).all(|one| one.get("targets").is_none()));
    for (target, figures) in
        of_targets["targets"].as_array().into_iter().flatten().zip(step["targets"].as_array().expect("two"))
    {
        assert_eq!(target["since"]["operations"], figures["all"]["operations"], "{target}");
        assert_eq!(target["streams"].as_array().map(Vec::len), figures["streams"].as_array().map(Vec::len));
    }
    assert_eq!(step["targets"][0]["streams"], json!(["a", "b", "both"]));
    // All of them ran for the same time, though they were stopped while each was at a time of its own.
    let end = |of: &Value| of["total"]["end_s"].as_f64().expect("it has ended");
    for stream in streams {
        assert!((end(stream) - end(step)).abs() < 0.1, "{} of {}", end(stream), end(step));
    }
    let sum: f64 =
        streams.iter().map(|stream| stream["total"]["all"]["iops"].as_f64().unwrap_or_default()).sum();
    let together = step["total"]["all"]["iops"].as_f64().expect("it has a rate");
    assert!((together / sum - 1.0).abs() < 0.01, "{together} of {sum}");
    let findings = report["validity"].to_string();
    assert!(!findings.contains("behaviour.cliff"), "{findings}");
    site.end();
}

#[test]
fn how_busy_the_host_was_is_told_and_kept() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let run = site.begin(&null("700ms"));
    let events = site.events(&run, 0, "");
    let (_, _, host) = events.iter().find(|(_, kind, _)| kind == "host").expect("the host was looked at");
    assert!(host["processors"].as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)), "{host}");
    let charts = site.get(&format!("/api/v1/runs/{run}/charts")).expect(200).json();
    let busy = &charts["steps"][0]["busy"][0];
    assert_eq!(busy["name"], "", "the processors come first: {charts}");
    assert!(busy["share"][0].is_number(), "{busy}");
    site.end();
}
