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
    assert!(page.starts_with("Too few runs to tell: 3 of one job; 5 are needed"), "{page}");
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
    let last = bench.fathom(&format!("history {} --last 5 --json", before[0])).expect(0, &[]).json();
    assert_eq!(last["runs"].as_array().map(Vec::len), Some(5));
    assert_eq!(last["left_out"], serde_json::json!(["older runs are not looked at (--last 5)"]));

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
    assert!(page.starts_with("Left out: the newest run, "), "{page}");
    assert!(page.contains("ended early (aborted)"), "{page}");
    let page = bench
        .fathom(&format!("history {} {cut}", all[0]))
        .expect(8, &["fewer than two runs to follow"])
        .out
        .clone();
    assert_eq!(page, "");
    let document = bench
        .fathom(&format!("history {} {cut} --json", all[0]))
        .expect(8, &["fewer than two runs to follow"])
        .json();
    assert_eq!(
        (&document["outlook"], &document["runs"][0]["run"], &document["loads"]),
        (&serde_json::json!("inconclusive"), &serde_json::json!(all[0]), &serde_json::json!([]))
    );
    assert!(document["newest_is_out"].as_str().is_some_and(|why| why.contains("ended early")), "{document}");
    for (line, told) in [
        (format!("history {0} {0}", all[0]), "is named twice"),
        (format!("history {} --from nothing", all[0]), "no run \"nothing\""),
        (format!("history {} --last 1", all[0]), "--last"),
        (format!("history {} --margin -3%", all[0]), "a margin is a share"),
    ] {
        bench.check_refused(&line, 2, &[told]);
    }
}

/// Runs of a job of which one option is another; the identities in the order of their starts.
fn varied(bench: &Bench, job: &dyn Fn(&str) -> String, services: &[(&str, usize)]) -> String {
    let mut all = Vec::new();
    for (service, count) in services {
        bench.write("varied.toml", job(service));
        for _ in 0..*count {
            bench.fathom("run varied.toml --quiet").expect(0, &[]);
            all.push(bench.report()["run"].as_str().expect("an identity").to_owned());
        }
    }
    all.join(",")
}

#[test]
fn what_the_whole_does_not_show_is_told() {
    let bench = Bench::new();
    let head = "[run]\nseed = \"fresh\"\n[workload.w]\naccess = \"random\"\n";
    let target = |name: &str, service: &str| {
        format!(
            "[target.{name}]\nkind = \"sim\"\nsize = \"1GiB\"\nparallelism = 8\nservice_time = \"exponential {service}\"\n"
        )
    };
    // At a rate IOPS stay, and so few operations have no p99.
    let rate = |service: &str| {
        let stream = "[stream.s]\nqueue_depth = 64\nrate = \"50/s\"\n[stage.m]\ntime = \"4s\"\n";
        format!("{head}{}{stream}", target("s", service))
    };
    let page = bench
        .fathom(&format!("history {}", varied(&bench, &rate, &[("1ms", 6), ("5ms", 4)])))
        .expect(99, &[])
        .out
        .clone();
    assert!(page.starts_with("Regressed: p90 +"), "{page}");
    // A small stream beside a large one.
    let beside = |service: &str| {
        let streams = "[stream.big]\nqueue_depth = 8\ntargets = [\"fast\"]\n[stream.small]\nqueue_depth = 2\nrate = \"200/s\"\n\
                       targets = [\"slow\"]\n[stage.m]\ntime = \"8s\"\n";
        format!("{head}{}{}{streams}", target("fast", "1ms"), target("slow", service))
    };
    let page = bench
        .fathom(&format!("history {}", varied(&bench, &beside, &[("1ms", 6), ("4ms", 4)])))
        .expect(99, &[])
        .out
        .clone();
    assert!(page.starts_with("Regressed: p99 +") && page.contains(" of small since"), "{page}");
    // Runs that agree to the last digit do not tell how much they vary.
    let alike =
        |service: &str| rate(service).replace("\"fresh\"", "7").replace("50/s", "2000/s").replace("4s", "1s");
    let page = bench
        .fathom(&format!("history {}", varied(&bench, &alike, &[("1ms", 5), ("2ms", 1)])))
        .expect(8, &[])
        .out
        .clone();
    assert!(
        page.replace('\n', " ").contains("; nothing tells how much that varies, of runs that agree and"),
        "{page}"
    );
    // Longer ones tell how much each varies within.
    let longer = |service: &str| alike(service).replace("1s", "4s");
    let line = format!("history {}", varied(&bench, &longer, &[("1ms", 5), ("2ms", 1)]));
    let page = bench.fathom(&line).expect(99, &[]).out.clone();
    assert!(
        page.starts_with("Regressed: the newest run, beside the 5 of its level before it: p99 +100 %."),
        "{page}"
    );
}

/// A run counts once, however often it lies in the store, and one that was killed is told.
#[test]
fn what_lies_in_the_store_is_told() {
    let bench = Bench::new();
    let all = runs(&bench, 4, 5);
    let file = |run: &str| bench.store().join(format!("{run}.fathom"));
    std::fs::copy(file(&all[1]), bench.store().join("copy.fathom")).expect("there is room");
    let whole = std::fs::read(file(&all[2])).expect("it is there");
    std::fs::write(bench.store().join("half.fathom"), &whole[..whole.len() / 2]).expect("there is room");
    let document = bench.fathom("history --json").expect(0, &[]).json();
    let told: Vec<&str> =
        document["runs"].as_array().unwrap().iter().filter_map(|run| run["run"].as_str()).collect();
    assert_eq!(told, all);
    assert_eq!(
        document["left_out"],
        serde_json::json!(["1 files of the store cannot be read: `fathom runs` names them"])
    );
    let job = "[target.n]\nkind = \"null\"\nsize = \"1GiB\"\n[workload.w]\n[stream.s]\nrate = \"500/s\"\n[stage.m]\ntime = \"2s\"\n";
    bench.write("real.toml", job);
    for is_killed in [false, true, false] {
        let mut run = bench.start("run real.toml");
        if is_killed {
            run.wait_for("1 s  ");
            run.signal(rustix::process::Signal::KILL);
        }
        drop(run.ended());
    }
    let page = bench.fathom("history").expect(8, &[]).out.clone();
    assert!(page.contains("is left out: it did not come to its end"), "{page}");
    // One that goes on is no run yet.
    let mut going = bench.start("run real.toml");
    going.wait_for("1 s  ");
    let page = bench.fathom("history").expect(8, &[]).out.clone();
    assert!(page.starts_with("Too few runs to tell: 2 of one job"), "{page}");
    drop(going.ended());
    // No target of any of the runs is written over.
    let runs = ["one", "two"].map(|name| {
        let line =
            format!("run --target {name} --size 1MiB --read 0% --access random --time 200ms --yes --quiet");
        bench.fathom(&line).expect(0, &[]);
        bench.report()["run"].as_str().expect("an identity").to_owned()
    });
    let before = std::fs::read(bench.path("two")).expect("it was made");
    for command in ["history", "compare"] {
        let line = format!("{command} {} --output two", runs.join(" "));
        bench.fathom(&line).expect(2, &["the output two is the target"]);
    }
    assert_eq!(std::fs::read(bench.path("two")).expect("it is there"), before);
}
