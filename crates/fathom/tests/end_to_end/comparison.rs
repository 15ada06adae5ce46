//! `fathom compare` on stored runs of the simulated device: its verdicts, exit codes, baselines and document.

use crate::support::Bench;

/// Runs the simulated device at a depth and a number of times; the identities.
fn runs(bench: &Bench, depth: u32, count: usize) -> Vec<String> {
    (0..count)
        .map(|_| {
            bench
                .fathom(&format!("run --target sim: --time 8s --queue-depth {depth} --quiet"))
                .expect(0, &[]);
            let report = bench.report();
            report["run"].as_str().expect("an identity").to_owned()
        })
        .collect()
}

#[test]
fn verdicts_come_with_exit_codes() {
    let bench = Bench::new();
    let [one, same, two] = [1, 1, 2].map(|depth| runs(&bench, depth, 2).join(","));
    let compare =
        |rest: &str, code: i32| bench.fathom(&format!("compare {rest}")).expect(code, &[]).out.clone();
    let page = compare(&format!("{one} {same}"), 0);
    assert!(page.starts_with("Equivalent: ") && page.contains(" changed by no more than 3%."), "{page}");
    // The simulated device serves one operation after another: twice the depth is twice the latency.
    let page = compare(&format!("{one} {two}"), 99);
    assert!(
        page.starts_with("Regressed: p99 +100 %.\nCaution: the jobs differ (queue depth), and"),
        "{page}"
    );
    assert!(page.contains("What differs of the jobs\n  queue depth: 1 → 2\n"), "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
    let page = compare(&format!("{two} {one}"), 0);
    assert!(page.starts_with("Improved: p99 −50 %."), "{page}");
    let drawn = compare(&format!("{one} {two} --format html"), 99);
    assert!(drawn.contains("<p class=\"answer\">Regressed: p99 +100 %.") && drawn.contains("Quantile shift"));
    bench
        .fathom(&format!("compare {one} {two} --format html --output page.html"))
        .expect(99, &["report: page.html"]);
    assert_eq!(std::fs::read_to_string(bench.path("page.html")).expect("it was written"), drawn);
    let document = bench.fathom(&format!("compare {one} {two} --json")).expect(99, &[]).json();
    assert_eq!(document["verdict"], "regressed");
    let told = &document["comparisons"][0];
    assert!(
        told["sentence"].as_str().unwrap().contains("Caution: the jobs differ (queue depth)"),
        "{told:#}"
    );
    assert_eq!(
        told["job_differences"],
        serde_json::json!([{ "name": "queue depth", "base": "1", "new": "2" }])
    );
    assert!(drawn.contains("Caution: the jobs differ (queue depth)"));
    assert!(drawn.contains(">queue depth<"), "in the table of differences");
    let markdown = compare(&format!("{one} {two} --format markdown"), 99);
    assert!(markdown.contains("Caution: the jobs differ (queue depth)"), "{markdown}");
    assert!(markdown.contains("| queue depth | 1 | 2 |"), "{markdown}");
    let csv = compare(&format!("{one} {two} --format csv"), 99);
    assert!(csv.contains("queue depth"), "{csv}");
    let metrics = document["comparisons"][0]["steps"][0]["metrics"].as_array().expect("a list");
    let p99 = metrics.iter().find(|metric| metric["name"] == "p99").expect("it decides");
    assert_eq!((&p99["verdict"], &p99["decides"]), (&"regressed".into(), &true.into()));
}

#[test]
fn baselines_are_kept_by_name() {
    let bench = Bench::new();
    let all = runs(&bench, 1, 3);
    let [run, second, third] = [&all[0], &all[1], &all[2]];
    let told = format!("compare {run} --save-baseline gold");
    bench.fathom(&told).expect(0, &["baseline gold: 1 run of the first side: "]);
    let page = bench.fathom("compare last --baseline gold").expect(0, &[]).out.clone();
    assert!(page.starts_with("Equivalent") && page.contains("a side has one run"), "{page}");
    assert_eq!(bench.fathom("runs --json").expect(0, &[]).json().as_array().map(Vec::len), Some(3));
    // What is there stays, unless the command says that it may go; then what went is told.
    let again = format!("compare {second} --save-baseline gold");
    bench.check_refused(
        &again,
        2,
        &[&format!("baseline gold is there already ({run}); add --replace"), "--replace"],
    );
    let kept = || std::fs::read_to_string(bench.store().join("baselines/gold.txt")).expect("it is kept");
    assert_eq!(kept(), format!("{run}\n"));
    bench.fathom(&format!("{again} --replace")).expect(0, &[&format!("in place of {run}: ")]);
    assert_eq!(kept(), format!("{second}\n"));
    // The first side is kept, whatever it is compared with.
    let both = format!("compare {run},{second} {third} --save-baseline silver");
    bench.fathom(&both).expect(0, &["baseline silver: 2 runs of the first side: "]);
    bench.fathom(&format!("compare {third} --baseline silver")).expect(0, &[]);
    let kept = std::fs::read_to_string(bench.store().join("baselines/silver.txt")).expect("it is kept");
    assert_eq!(kept, format!("{run}\n{second}\n"));
    for (line, says) in [
        ("compare last --baseline lead", "there are gold, silver"),
        ("compare last --save-baseline ../up", "is no name of a baseline"),
        ("compare last --replace", "--save-baseline"),
        ("compare last", "nothing to be compared with"),
        ("compare last nowhere", "nowhere"),
        ("compare last gold --margin 3", "%"),
        (
            "compare last gold --margin -1",
            "a margin is a share, of change to either side; write for example 3%",
        ),
        ("compare last gold --margin -1%", "a margin is a share"),
    ] {
        bench.check_refused(line, 2, &[says]);
    }
}

#[test]
fn a_run_counts_once() {
    let bench = Bench::new();
    let all = runs(&bench, 1, 3);
    let [one, two, three] = [&all[0], &all[1], &all[2]];
    let twice = |run: &str| format!("run {run} is named twice on one side");
    let both = |run: &str| format!("run {run} is on both sides");
    let path = bench.store().join(format!("{one}.fathom"));
    assert!(path.exists(), "{}", path.display());
    for (sides, says) in [
        (format!("{one},{one},{one} {two}"), twice(one)),
        (format!("{one} {two},{three},{two}"), twice(two)),
        // By its identity and by its file, and by its name for people.
        (format!("{one},{} {two}", path.display()), twice(one)),
        (format!("{three},last {two}"), twice(three)),
        (format!("{one},{one} --save-baseline gold"), twice(one)),
        (format!("{one},{two} {three},{one}"), both(one)),
        ("last last".to_owned(), both(three)),
    ] {
        bench.check_refused(&format!("compare {sides}"), 2, &[&says]);
    }
    bench.fathom(&format!("compare {one} --save-baseline gold")).expect(0, &[]);
    bench.check_refused(&format!("compare {one},{two} --baseline gold"), 2, &[&both(one)]);
    bench.fathom(&format!("compare {two},{three} --baseline gold")).expect(0, &[]);
}

#[test]
fn too_little_data_is_inconclusive() {
    let bench = Bench::new();
    let short = |rest: &str| {
        for _ in 0..2 {
            bench.fathom(&format!("run --target sim: --time 2s {rest}--quiet")).expect(0, &[]);
        }
    };
    let run = |at: usize| {
        let all = bench.fathom("runs --json").expect(0, &[]).json();
        let mut ids: Vec<String> = all
            .as_array()
            .expect("a list")
            .iter()
            .map(|run| run["run"].as_str().expect("an identity").to_owned())
            .collect();
        ids.sort();
        ids[at].clone()
    };
    short("--rate 100/s ");
    let page = bench.fathom(&format!("compare {} {}", run(0), run(1))).expect(8, &[]).out.clone();
    assert!(page.contains("p99 is n/a (needs n ≥ 1000 operations a side, one has 200)"), "{page}");
    assert!(page.lines().any(|line| line.starts_with("* p99") && line.contains("n/a")), "{page}");
    short("");
    let page = bench.fathom(&format!("compare {} {}", run(2), run(3))).expect(8, &[]).out.clone();
    assert!(page.starts_with("Inconclusive"), "{page}");
}

/// A simulated device with random service times of this mean: runs differ by chance as real ones do.
fn job(service: &str) -> String {
    format!(
        "[target.d]\nkind = \"sim\"\nsize = \"1GiB\"\nservice_time = \"exponential {service}\"\n[stream.s]\n[stage.main]\ntime = \"20s\"\n"
    )
}

#[test]
fn jobs_are_run_in_turns_and_judged() {
    let bench = Bench::new();
    bench.write("a.toml", job("100us"));
    bench.write("b.toml", job("110us"));
    let document = bench
        .fathom("compare --run a.toml --run b.toml --replicates 4 --quiet --json")
        .expect(99, &[])
        .json();
    assert_eq!(document["verdict"], "regressed");
    let found = &document["comparisons"][0];
    let iops = &found["steps"][0]["metrics"][0];
    let change = iops["change"].as_f64().expect("a share");
    // 100/110 − 1; the interval of four runs a side holds it.
    assert!((change + 0.0909).abs() < 0.01, "{iops:#}");
    let (low, high) = (iops["interval"][0].as_f64().unwrap(), iops["interval"][1].as_f64().unwrap());
    assert!(low < -0.0909 && -0.0909 < high && high < -0.03, "{iops:#}");
    assert_eq!(found["remarks"].to_string(), "[]", "each side has several runs");
    // A B B A A B B A, and no two runs of a side alike.
    let runs = bench.fathom("runs --json").expect(0, &[]).json();
    let mut in_order: Vec<(String, bool)> = Vec::new();
    for run in runs.as_array().expect("a list") {
        let id = run["run"].as_str().expect("an identity").to_owned();
        let is_base = found["base"].as_array().expect("a list").iter().any(|own| *own == id.as_str());
        in_order.push((id, is_base));
    }
    in_order.sort();
    let order: String = in_order.iter().map(|(_, is_base)| if *is_base { 'A' } else { 'B' }).collect();
    assert_eq!(order, "ABBAABBA");
    let floor = found["steps"][0]["noise_floor"].as_f64().expect("there are four runs");
    assert!(floor > 0.0 && floor < 0.02, "{floor}");
}

/// The simulated device does the same for the same places and times, to the last operation: sides that share their seeds do
/// not differ at all, which says nothing of how runs differ.
#[test]
fn runs_have_seeds_of_their_own_unless_the_job_names_one() {
    for (seed, is_same) in [("", false), ("[run]\nseed = \"fresh\"\n", false), ("[run]\nseed = 7\n", true)] {
        let bench = Bench::new();
        let job = job("100us").replace("[stage.main]", &format!("{seed}[stage.main]"));
        bench.write("a.toml", &job);
        bench.write("b.toml", &job);
        let ended =
            bench.fathom("compare --run a.toml --run b.toml --replicates 2 --margin 50% --quiet --json");
        let found = ended.expect(0, &[]).json();
        let iops = &found["comparisons"][0]["steps"][0]["metrics"][0];
        assert_eq!(iops["change"] == 0.0, is_same, "{seed}: {iops:#}");
        // Which seed it was is kept with the run.
        let report = bench.report();
        let notes = report["notes"].to_string();
        assert!(notes.contains("as one of several runs to be compared"), "{seed}: {notes}");
    }
}

#[test]
fn a_job_is_equivalent_to_itself() {
    let bench = Bench::new();
    bench.write("a.toml", job("100us"));
    let ended = bench.fathom("compare --run a.toml --run a.toml --quiet");
    let page = ended.expect(0, &[]).out.clone();
    assert!(page.starts_with("Equivalent: ") && page.contains(" changed by no more than 3%."), "{page}");
    assert!(page.contains("and 4 more") && page.contains("noise floor: runs of A differ by"), "{page}");
    // Against what is kept, without running that again.
    bench
        .fathom("compare --run a.toml --replicates 3 --quiet --save-baseline gold")
        .expect(0, &["baseline gold"]);
    let ended = bench.fathom("compare --baseline gold --run a.toml --replicates 3 --quiet");
    assert!(ended.expect(0, &[]).out.starts_with("Equivalent"), "{ended:#?}");
}

#[test]
fn what_cannot_be_run_is_told_before_anything_runs() {
    let bench = Bench::new();
    bench.write("a.toml", job("100us"));
    bench.write("b.toml", job("never"));
    bench.write(
        "file.toml",
        "[target.f]\npath = \"kept\"\n[workload.w]\nread = \"0%\"\n[stream.s]\ntime = \"1s\"\n",
    );
    let two = job("100us").replace("[stage.main]\n", "[stage.first]\ntime = \"1s\"\n[stage.second]\n");
    bench.write("other.toml", two);
    bench.write("kept", "content".repeat(1000));
    for (line, code, says) in [
        ("compare --run a.toml --run b.toml", 2, "never"),
        ("compare --run a.toml", 2, "nothing to be compared with"),
        ("compare --run a.toml --run nowhere.toml", 2, "nowhere.toml"),
        ("compare --run a.toml --run file.toml", 3, "kept"),
        ("compare --run a.toml --baseline silver", 2, "no baseline silver"),
        ("compare --run a.toml --run other.toml", 2, "other.toml has no step in common with the first side"),
    ] {
        bench.check_refused(line, code, &[says]);
    }
    let runs = bench.fathom("runs --json").expect(0, &[]).json();
    assert_eq!(runs.as_array().map(Vec::len), Some(0), "nothing was run");
}

/// Runs of a question about the simulated device; the identities.
fn asked(bench: &Bench, question: &str) -> [String; 2] {
    [(), ()].map(|()| {
        bench.fathom(&format!("{question} --target sim: --quiet")).expect(0, &[]);
        bench.report()["run"].as_str().expect("an identity").to_owned()
    })
}

#[test]
fn tests_are_compared_cell_by_cell_over_their_windows() {
    let bench = Bench::new();
    let [base, new] = asked(&bench, "steady latency --quick");
    let document = bench.fathom(&format!("compare {base} {new} --json")).expect(0, &[]).json();
    let found = &document["comparisons"][0];
    assert_eq!(found["of"], "cell");
    let cells = found["steps"].as_array().expect("a list");
    let names: Vec<&str> = cells.iter().filter_map(|cell| cell["name"].as_str()).collect();
    // Three sizes and three mixes, and the long load of the histogram: neither what prepares nor rounds one by one.
    assert_eq!((names.len(), names.last()), (10, Some(&"histogram run")), "{names:?}");
    assert!(
        names.contains(&"RND 4 KiB 65/35") && !names.iter().any(|name| name.contains("SEQ")),
        "{names:?}"
    );
    let (long, rounds) = cells.split_last().expect("there are ten");
    assert_eq!(long["replicates"], serde_json::json!({ "base": "intervals", "new": "intervals" }));
    for cell in rounds {
        // Five rounds of one run are no runs, and are called what they are.
        assert_eq!(cell["replicates"], serde_json::json!({ "base": "rounds", "new": "rounds" }));
        let metrics = cell["metrics"].as_array().expect("a list");
        let decides: Vec<&str> = metrics
            .iter()
            .filter(|metric| metric["decides"] == true)
            .filter_map(|metric| metric["name"].as_str())
            .collect();
        assert_eq!(decides, ["mean latency"], "what the test is about");
    }
    assert!(found["remarks"].to_string().contains("its rounds stand in for runs"), "{found:#}");
    let page = bench.fathom(&format!("compare {base} {new}")).expect(0, &[]).out.clone();
    assert!(page.starts_with("Equivalent: mean latency changed by no more than 3%."), "{page}");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("* ")).collect();
    assert!(rows.len() == 10 && rows.iter().all(|row| row.ends_with("equivalent")), "{page}");
    // A short test says that it is one, of either side.
    let of_side = |side: &str| {
        let all = found["findings"].as_array().expect("a list");
        all.iter()
            .any(|one| one["side"] == side && one["finding"] == "duration.short" && one["severity"] == "warn")
    };
    assert!(of_side("base") && of_side("new"), "{found:#}");
    assert!(page.contains("Can it be trusted?\n  A  WARN duration.short: "), "{page}");
    let drawn = bench.fathom(&format!("compare {base} {new} --format html")).expect(0, &[]).out.clone();
    assert!(drawn.contains("Loads of the measurement window") && drawn.contains("A: WARN duration.short"));
}

#[test]
fn curves_are_compared_load_by_load() {
    let bench = Bench::new();
    let [base, new] = asked(&bench, "curve");
    let document = bench.fathom(&format!("compare {base} {new} --json")).expect(0, &[]).json();
    let found = &document["comparisons"][0];
    assert_eq!(found["of"], "load");
    let names: Vec<&str> =
        found["steps"].as_array().expect("a list").iter().filter_map(|load| load["name"].as_str()).collect();
    assert_eq!(names[..2], ["1 in flight", "2 in flight"], "each load once, however often it was measured");
    let figures: Vec<(&str, bool)> = found["curve"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| Some((one["name"].as_str()?, one["intervals_overlap"] == true)))
        .collect();
    assert!(figures.contains(&("peak", true)) && figures.contains(&("load at 95 %", true)), "{figures:?}");
    let page = bench.fathom(&format!("compare {base} {new}")).expect(0, &[]).out.clone();
    assert!(page.contains("  peak: A 10.0k/s") && page.contains("; intervals overlap"), "{page}");
}

/// Two runs of a test: so many cells, among them `some`, whose values in a single run are of `kind`.
fn check_test(test: &str, cells: usize, some: &str, kind: &str) {
    let bench = Bench::new();
    let [base, new] = asked(&bench, &format!("steady {test} --size 8MiB --quick"));
    let document = bench.fathom(&format!("compare {base} {new} --json")).expect(0, &[]).json();
    let found = &document["comparisons"][0];
    assert_eq!((&found["of"], &found["verdict"]), (&"cell".into(), &"equivalent".into()), "{test}");
    let all = found["steps"].as_array().expect("a list");
    let names: Vec<&str> = all.iter().filter_map(|cell| cell["name"].as_str()).collect();
    assert!(names.len() == cells && names.contains(&some), "{test}: {} of {names:?}", names.len());
    assert!(!names.iter().any(|name| name.contains("precondition")), "{test}: {names:?}");
    for cell in all {
        let metrics = cell["metrics"].as_array().expect("a list");
        let decides: Vec<&str> = metrics
            .iter()
            .filter(|metric| metric["decides"] == true)
            .filter_map(|metric| metric["name"].as_str())
            .collect();
        assert_eq!(decides, ["iops"], "{test}: what it is about");
        assert!(metrics[0]["base"].as_f64().is_some_and(|rate| rate > 0.0), "{test}: {cell:#}");
    }
    let own = &all[names.iter().position(|name| *name == some).expect("it is there")];
    assert_eq!(own["replicates"]["base"], kind, "{test}");
    assert_eq!(found["job_differences"], serde_json::json!([]), "{test}");
    let page = bench.fathom(&format!("compare {base} {new}")).expect(0, &[]).out.clone();
    assert_eq!(page.lines().filter(|line| line.starts_with("* ")).count(), cells, "{test}: {page}");
    let drawn = bench.fathom(&format!("compare {base} {new} --format html")).expect(0, &[]).out.clone();
    for title in ["Change of IOPS by cell, with its interval", "IOPS of both sides by cell"] {
        assert!(drawn.contains(title), "{test}: {title}");
    }
}

#[test]
fn recoveries_are_compared_load_by_load() {
    // The baseline, bursts after each of five idle times, and what follows each.
    check_test("hir", 1 + 5 * 2, "83.3 ms of writes, 417 ms idle", "rounds");
    check_test("xsr", 3, "cross stimulus recovery 2, RND 8 KiB 0/100", "intervals");
}

#[test]
fn matrices_of_demand_are_compared_cell_by_cell() {
    check_test("composite", 49 + 3, "RND composite 40/60 T32Q32", "rounds");
    check_test("dirth", 49 + 3, "largest operating point", "intervals");
}

#[test]
fn what_was_asked_differently_is_told() {
    let bench = Bench::new();
    let ask = |question: &str| {
        bench.fathom(&format!("{question} --target sim: --quiet")).expect(0, &[]);
        bench.report()["run"].as_str().expect("an identity").to_owned()
    };
    // The highest rates within other limits are two figures.
    let [narrow, again, wide] =
        ["p99<1ms", "p99<1ms", "p99<5ms"].map(|limit| ask(&format!("slo --latency {limit}")));
    let compared = |base: &str, new: &str| {
        let page = bench.fathom(&format!("compare {base} {new}")).out.clone();
        let document = bench.fathom(&format!("compare {base} {new} --json")).json();
        (page, document["comparisons"][0].clone())
    };
    let (page, alike) = compared(&narrow, &again);
    assert_eq!(alike["curve"][0]["name"], "highest rate within the limits", "{alike:#}");
    assert!(!page.contains("Caution"), "{page}");
    let (page, apart) = compared(&narrow, &wide);
    assert_eq!(apart["curve"], serde_json::json!([]));
    assert!(page.contains("Caution: the jobs differ (limits to keep"), "{page}");
    assert!(page.contains("  limits to keep: p99 < 1.00 ms → p99 < 5.00 ms\n"), "{page}");
    assert!(page.contains("the limits to keep differ"), "{page}");
    assert!(!page.contains("highest rate within the limits:"), "{page}");
    // A purge is part of a test.
    let test = "steady latency --quick";
    let (with, without) = (ask(&format!("{test} --purged nvme-format")), ask(test));
    let (page, found) = compared(&with, &without);
    let names: Vec<&str> = found["job_differences"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    assert_eq!(names, ["purge"]);
    assert!(
        page.contains("Caution: the jobs differ (purge)") && page.contains("nvme-format → none"),
        "{page}"
    );
    // Whatever is said, no line is wider than a page.
    assert!(page.lines().all(|line| line.starts_with("* ") || line.chars().count() <= 100), "{page}");
    assert!(page.contains("WARN"), "{page}");
}

#[test]
fn a_baseline_that_cannot_be_kept_is_told_before_anything_runs() {
    let bench = Bench::new();
    bench.write("a.toml", job("100us"));
    std::fs::create_dir_all(bench.store().join("baselines/gold.txt")).expect("it is new");
    let line = "compare --run a.toml --replicates 2 --quiet --save-baseline gold --replace";
    bench.check_refused(line, 4, &["gold.txt: it is a folder; move it away"]);
    let runs = bench.fathom("runs --json").expect(0, &[]).json();
    assert_eq!(runs.as_array().map(Vec::len), Some(0), "nothing was run");
    // What nobody can read may go, after the runs as well as before.
    std::fs::write(bench.store().join("baselines/silver.txt"), [0xff, 0xfe]).expect("it is new");
    bench.fathom(&line.replace("gold", "silver")).expect(0, &["in place of what cannot be read"]);
}

#[test]
fn what_has_no_load_in_common_is_refused_with_the_reason() {
    let bench = Bench::new();
    let ask = |question: &str| {
        bench.fathom(&format!("{question} --target sim: --quiet")).expect(0, &[]);
        bench.report()["run"].as_str().expect("an identity").to_owned()
    };
    let [iops, latency] = ["iops", "latency"].map(|test| ask(&format!("steady {test} --size 8MiB --quick")));
    for (sides, says) in [
        (format!("{iops} {latency}"), "they are of different tests (iops and latency)"),
        (format!("{latency},{iops} {}", ask("run --time 1s")), "the first side mixes runs of several tests"),
    ] {
        bench.check_refused(&format!("compare {sides}"), 2, &[says]);
    }
    let (depths, rates) = (ask("curve"), ask("curve --over rate"));
    // What can be seen of both is told nevertheless.
    bench.check_refused(
        &format!("compare {depths} {rates}"),
        2,
        &["they have no load in common", "peak: A 10.0k/s"],
    );
}

#[test]
fn a_baseline_says_what_it_lacks() {
    let bench = Bench::new();
    let all = runs(&bench, 1, 2);
    bench.fathom(&format!("compare {} --save-baseline gold", all[0])).expect(0, &[]);
    std::fs::remove_file(bench.store().join(format!("{}.fathom", all[0]))).expect("it is there");
    bench.check_refused(
        &format!("compare {} --baseline gold", all[1]),
        2,
        &["a run of baseline gold", &all[0], "--save-baseline gold --replace"],
    );
    bench.write("a.toml", job("100us"));
    let long = "a".repeat(300);
    let line = format!("compare --run a.toml --replicates 2 --quiet --save-baseline {long}");
    bench.check_refused(&line, 2, &["a baseline's name of 300 characters is too long; use at most 100"]);
    let runs = bench.fathom("runs --json").expect(0, &[]).json();
    assert_eq!(runs.as_array().map(Vec::len), Some(1), "nothing was run");
}

#[test]
fn a_baseline_has_copies_of_runs_that_are_not_in_the_store() {
    let bench = Bench::new();
    let all = runs(&bench, 1, 3);
    let in_store = |run: &str| bench.store().join(format!("{run}.fathom"));
    let [one, two, three] = [&all[0], &all[1], &all[2]];
    for run in [one, two] {
        std::fs::rename(in_store(run), bench.path(&format!("{run}.fathom"))).expect("it is there");
    }
    let line = format!("compare ./{one}.fathom,{two}.fathom --save-baseline gold");
    bench
        .fathom(&line)
        .expect(0, &["2 runs of the first side, of which some are not in the store and are copied"]);
    for run in [one, two] {
        std::fs::remove_file(bench.path(&format!("{run}.fathom"))).expect("it stays until here");
    }
    let page = bench.fathom(&format!("compare {three} --baseline gold")).expect(0, &[]).out.clone();
    assert!(page.starts_with("Equivalent") && page.contains(&format!("{one} and 1 more")), "{page}");
    let listed = bench.fathom("runs --json").expect(0, &[]).json();
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "copies are no runs of the store: {listed:#}");
    // What is in the store stays the only one, however it is named.
    let line = format!("compare {} --save-baseline silver", in_store(three).display());
    bench.fathom(&line).expect(0, &["1 run of the first side: "]);
    assert!(!bench.store().join(format!("baselines/{three}.fathom")).exists());
}

#[test]
fn what_was_compared_is_told_where_its_baseline_cannot_be_kept() {
    let bench = Bench::new();
    let all = runs(&bench, 1, 2);
    // Nothing is there when it is looked for, and no folder can be made in its place.
    std::os::unix::fs::symlink("gone/deeper", bench.store().join("baselines")).expect("it is new");
    let ended = bench.fathom(&format!("compare {} {} --save-baseline gold", all[0], all[1]));
    let page = &ended.expect(4, &["error: cannot write ", "gold.txt"]).out;
    assert!(page.starts_with("Equivalent"), "{page}");
    bench.fathom(&format!("compare {} --save-baseline gold", all[0])).expect(4, &["error: cannot write "]);
}

/// What decides needs a load in common: where there is none, the sentence has the loads of both, what to do, and the peaks.
#[test]
fn curves_without_a_load_in_common_say_what_to_do() {
    let bench = Bench::new();
    let ask = |at: &str| {
        let device = "sim:parallelism=8,service_time=exponential 1ms";
        let words =
            ["curve", "--target", device, "--access", "random", "--time", "20s", "--quiet", "--at", at];
        bench.fathom_with(&words).expect(0, &[]);
        bench.report()["run"].as_str().expect("it has an identity").to_owned()
    };
    let (base, new) = (ask("1,4,16"), ask("2,8,32"));
    let document = bench.fathom(&format!("compare {base} {new} --json")).expect(8, &[]).json();
    let sentence = document["comparisons"][0]["sentence"].as_str().expect("a text").to_owned();
    let start = "Inconclusive: they have no load in common that both measured (A: 1 in flight, 4 in flight, 16 in \
                 flight; B: 2 in flight, 8 in flight, 32 in flight), so that nothing decides: measure both at the same \
                 loads, which `--at` of fathom curve names. Their peaks are ";
    assert!(sentence.starts_with(start) && sentence.contains("whose intervals overlap."), "{sentence}");
}

/// A large stream on a fast simulated device and a small one on another, which serves an operation in so long on average.
fn two_streams(service: &str) -> String {
    format!(
        "[target.a]\nkind = \"sim\"\nsize = \"1GiB\"\nservice_time = \"exponential 20us\"\n\
         [target.b]\nkind = \"sim\"\nsize = \"1GiB\"\nservice_time = \"exponential {service}\"\n\
         [workload.reads]\n[workload.mix]\nread = \"70%\"\n\
         [stream.large]\ntargets = [\"a\"]\nworkload = \"reads\"\n\
         [stream.small]\ntargets = [\"b\"]\nworkload = \"mix\"\n[stage.main]\ntime = \"20s\"\n"
    )
}

#[test]
fn a_small_stream_that_lost_beside_a_large_one_is_named() {
    let bench = Bench::new();
    bench.write("a.toml", two_streams("2ms"));
    bench.write("b.toml", two_streams("8ms"));
    let run = "compare --run a.toml --run b.toml --replicates 4 --quiet";
    let document = bench.fathom(&format!("{run} --json")).expect(99, &[]).json();
    let found = &document["comparisons"][0];
    let step = &found["steps"][0];
    // Of 50,000 a second the small one is 1 %: the whole lost less than the margin.
    let iops = &step["metrics"][0];
    assert_eq!(
        (iops["name"].as_str(), iops["verdict"].as_str()),
        (Some("iops"), Some("equivalent")),
        "{iops:#}"
    );
    let parts = step["parts"].as_array().expect("a list");
    let named: Vec<_> = parts.iter().map(|part| (part["stream"].as_str(), part["kind"].as_str())).collect();
    let expect = [(Some("large"), None), (Some("small"), Some("read")), (Some("small"), Some("write"))];
    assert_eq!(named, expect, "{step:#}");
    for (part, verdict) in parts.iter().zip(["equivalent", "regressed", "regressed"]) {
        assert_eq!(part["metrics"][0]["verdict"], verdict, "{part:#}");
    }
    let sentence = found["sentence"].as_str().expect("a text");
    assert!(sentence.starts_with("Regressed: ") && sentence.contains(" of small, reads, "), "{sentence}");
    let runs = |side: &str| {
        let all = found[side].as_array().expect("a list").iter();
        all.map(|run| run.as_str().expect("an identity")).collect::<Vec<_>>().join(",")
    };
    let sides = format!("compare {} {}", runs("base"), runs("new"));
    let page = bench.fathom(&sides).expect(99, &[]).out.clone();
    assert!(page.contains("\n  stream or kind"), "{page}");
    assert_eq!(page.lines().filter(|line| line.starts_with("* small, ")).count(), 4, "{page}");
    let markdown = bench.fathom(&format!("{sides} --format markdown")).expect(99, &[]).out.clone();
    assert!(markdown.contains("| small, writes | IOPS |"), "{markdown}");
    let csv = bench.fathom(&format!("{sides} --format csv")).expect(99, &[]).out.clone();
    assert!(csv.contains("].steps[0].parts,2,kind,write"), "{csv}");
    let drawn = bench.fathom(&format!("{sides} --format html")).expect(99, &[]).out.clone();
    assert!(drawn.contains("Change of p99 by stream and kind"), "a drawing of them");
}

/// Searches have hardly a rate in common: what they found decides, and what they offered is told.
#[test]
fn the_highest_rate_within_limits_decides() {
    let bench = Bench::new();
    let ask = |command: &str, arrival: &str, seed: u32| {
        let job = format!(
            "[run]\nseed = {seed}\n[target.d]\nkind = \"sim\"\nsize = \"8GiB\"\nservice_time = \"uniform 900us..1100us\"\n\
             parallelism = 4\n[workload.w]\naccess = \"random\"\n[stream.s]\narrival = \"{arrival}\"\n[stage.m]\n\
             ramp = \"1s\"\ntime = \"20s\"\n"
        );
        bench.write("asked.toml", job);
        bench.fathom(&format!("{command} asked.toml --quiet")).expect(0, &[]);
        bench.report()["run"].as_str().expect("an identity").to_owned()
    };
    for (command, name) in [
        ("slo --latency p99<10ms", "highest rate within the limits"),
        ("curve --over rate --latency 5ms", "rate at mean < 5.00 ms"),
    ] {
        let [even, again, bursts] = [("poisson", 1), ("poisson", 2), ("on-off:100ms/400ms", 3)]
            .map(|(arrival, seed)| ask(command, arrival, seed));
        let fallen = bench.fathom(&format!("compare {even} {bursts}"));
        fallen.expect(99, &[]);
        assert!(fallen.out.starts_with(&format!("Regressed: {name} −")), "{}", fallen.out);
        assert!(fallen.out.contains("Caution: the jobs differ (arrivals)"), "{}", fallen.out);
        let document = bench.fathom(&format!("compare {bursts} {even} --json")).expect(0, &[]).json();
        let found = &document["comparisons"][0];
        let figure = found["curve"].as_array().expect("a list").iter().find(|one| one["name"] == name);
        assert_eq!(figure.expect("it is there")["change"]["verdict"], "improved", "{found:#}");
        assert_eq!(found["verdict"], "improved");
        // Two of one device are not told apart.
        let alike = bench.fathom(&format!("compare {even} {again} --json")).json();
        assert_ne!(alike["verdict"], "regressed", "{alike:#}");
    }
}
