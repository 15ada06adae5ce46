//! `fathom history`: one job over the stored runs of the simulated device.

use crate::support::Bench;

/// A job of which each run has operations of its own.
fn job(depth: u32) -> String {
    format!(
        "[run]\nseed = \"fresh\"\n[target.s]\nkind = \"sim\"\nsize = \"1GiB\"\nservice_time = \"exponential 1ms\"\n\
         [workload.w]\naccess = \"random\"\n[stream.s]\nqueue_depth = {depth}\n[stage.m]\ntime = \"20s\"\n"
    )
}

/// Runs it so often; the identities.
fn runs(bench: &Bench, depth: u32, count: usize) -> Vec<String> {
    bench.write("nightly.toml", job(depth));
    (0..count)
        .map(|_| {
            bench.fathom("run nightly.toml --quiet").expect(0, &[]);
            bench.report()["run"].as_str().expect("an identity").to_owned()
        })
        .collect()
}

#[test]
fn a_job_is_followed_over_its_runs() {
    let bench = Bench::new();
    bench.check_refused("history", 2, &["no run \"last\""]);
    let before = runs(&bench, 4, 6);
    let page = bench.fathom("history").expect(0, &[]).out.clone();
    assert!(page.starts_with("No change found over 6 runs. The newest run shows nothing new"), "{page}");
    // Another queue depth is another job: it has a history of its own, and one with the others where they are named.
    let after = runs(&bench, 6, 3);
    let page = bench.fathom("history").expect(8, &[]).out.clone();
    assert!(page.starts_with("Too few runs to tell: 3 of one job; 4 are needed"), "{page}");
    let named = [before.join(","), after.join(",")].join(" ");
    let page = bench.fathom(&format!("history {named}")).expect(99, &[]).out.clone();
    let sentence = page.split("\n\n").next().expect("it begins with it").replace('\n', " ");
    assert!(sentence.starts_with("Regressed: p99 +"), "{sentence}");
    assert!(sentence.contains("(3 of 9 runs), with another job: queue depth 4 → 6"), "{sentence}");
    assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");

    let document = bench.fathom(&format!("history {named} --json")).expect(99, &[]).json();
    assert_eq!((&document["outlook"], &document["level_from"]), (&"regressed".into(), &6.into()));
    let told: Vec<&str> =
        document["runs"].as_array().unwrap().iter().filter_map(|run| run["run"].as_str()).collect();
    assert_eq!(told, [before.clone(), after.clone()].concat());
    let figures = document["loads"][0]["figures"].as_array().unwrap();
    let p99 = figures.iter().find(|figure| figure["name"] == "p99").expect("it decides");
    assert_eq!((&p99["changes"][0]["at"], &p99["changes"][0]["run"]), (&6.into(), &after[0].as_str().into()));
    // One operation after another: six in flight take half as long again as four.
    let change = p99["changes"][0]["change"].as_f64().unwrap();
    assert!((0.2..0.8).contains(&change), "{change}");
    assert_eq!(
        document["turns"][0]["jobs"],
        serde_json::json!([{ "name": "queue depth", "before": "4", "after": "6" }])
    );

    // What was accepted counts no more.
    let since = bench.fathom(&format!("history {named} --from {}", after[0])).expect(8, &[]).out.clone();
    assert!(since.starts_with("Too few runs to tell: 3"), "{since}");
    let last = bench.fathom(&format!("history {} --last 4 --json", before[0])).expect(0, &[]).json();
    assert_eq!(last["runs"].as_array().map(Vec::len), Some(4));

    bench
        .fathom(&format!("history {named} --format html --output page.html"))
        .expect(99, &["report: page.html"]);
    let drawn = std::fs::read_to_string(bench.path("page.html")).expect("it was written");
    assert!(drawn.contains("p99 over the runs") && drawn.contains("queue depth"));
    let markdown = bench.fathom(&format!("history {named} --format markdown")).expect(99, &[]).out.clone();
    assert!(markdown.contains("| 4 | 6 |"), "{markdown}");
    let csv = bench.fathom(&format!("history {named} --format csv")).expect(99, &[]).out.clone();
    assert!(csv.contains("answer,0,outlook,regressed"), "{csv}");
}

#[test]
fn runs_that_say_nothing_are_left_out() {
    let bench = Bench::new();
    let all = runs(&bench, 4, 5);
    bench.fathom("run nightly.toml --quiet --abort-when p50>1us").expect(99, &[]);
    // A job with a condition is another; named beside the others it ended early.
    let cut = bench.report()["run"].as_str().expect("an identity").to_owned();
    let page = bench.fathom(&format!("history {} {cut}", all.join(" "))).expect(8, &[]).out.clone();
    assert!(page.starts_with("Left out is what is to be told of most: the newest run, "), "{page}");
    assert!(page.contains("ended early (aborted)"), "{page}");
    for (line, told) in [
        (format!("history {0} {0}", all[0]), "is named twice"),
        (format!("history {} {cut}", all[0]), "fewer than two runs to follow"),
        (format!("history {} --from nothing", all[0]), "no run \"nothing\""),
        (format!("history {} --last 1", all[0]), "--last"),
        (format!("history {} --margin -3%", all[0]), "a margin is a share"),
    ] {
        bench.check_refused(&line, 2, &[told]);
    }
}
