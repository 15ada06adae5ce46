//! `fathom steady` on simulated devices, whose figures are known: the answer in every shape, exit codes, and a test that was
//! ended and goes on.

use crate::support::{Bench, number};
use rustix::process::Signal;
use serde_json::Value;

#[test]
fn response_times_of_a_simulated_device_are_steady_at_once() {
    let bench = Bench::new();
    let ended = bench.fathom("steady latency --target sim: --quick --quiet --json");
    let document = ended.expect(0, &["record: "]).json();
    assert_eq!((&document["verdict"], &document["is_pts"]), (&"steady".into(), &false.into()));
    assert_eq!(document["parts"][0]["bytes"], 2_u64 << 30, "twice the capacity");
    let rounds = &document["parts"][1];
    assert_eq!((&rounds["steady_at"], &rounds["rounds_max"]), (&5.into(), &25.into()));
    assert_eq!(rounds["tracked"]["cell"], "RND 4 KiB 0/100");
    assert_eq!(rounds["cells"].as_array().expect("a list").len(), 9);
    // One server, 100 µs, one operation at a time.
    assert!((number(rounds, "/window/mean") - 1e-4).abs() < 1e-9, "{rounds:#}");
    assert_eq!(rounds["window"]["range"], 0.0);
    // What PTS 2.0 adds: 20 minutes of what is tracked, here 20 s, and how its response times are spread.
    let spread = &document["parts"][2]["histograms"][0];
    assert_eq!((&spread["row"], &spread["name"]), (&"histogram".into(), &"RND 4 KiB 0/100".into()));
    assert_eq!(spread["response"]["operations"], 200_000);
    assert!((number(spread, "/response/p99_999_s") / 1e-4 - 1.0).abs() < 0.01, "{spread:#}");
    assert_eq!(bench.report()["answer"]["parts"], document["parts"], "the record knows it");
    let page = bench.fathom("report last").expect(0, &[]).out.clone();
    for line in [
        "A try, not PTS. Response times: steady at round 5, RND 4 KiB 0/100 100 µs (mean of rounds 1 to 5)",
        "            100/0   65/35   0/100\n  0.5 KiB  100 µs  100 µs  100 µs\n  4 KiB    100 µs",
        "  rounds    mean  range  allowed range  slope excursion  allowed excursion  ",
        "      5  100 µs  window\n",
        "Five nines (99.999 %) of the cells are n/a: they need n ≥ 100000 operations a round.",
        "Histogram, RND 4 KiB 0/100 T1Q1      200000  100 µs  100 µs  100 µs   100 µs    100 µs   100 µs",
        "WARN: not PTS: all times are divided by 60",
        "WARN: sim: is not purged, since it is no block device",
        "WARN: not PTS: no purge is possible",
        "  purge: none; what was written before is not known",
    ] {
        assert!(page.contains(line), "{line:?} is not in\n{page}");
    }
    assert_eq!(page.matches("runs on sim").count(), 1, "said once:\n{page}");
    let wiki = bench.fathom("report last --format markdown").expect(0, &[]).out.clone();
    assert!(
        wiki.contains("|  | 100/0 | 65/35 | 0/100 |\n| -- | --: | --: | --: |\n| 0.5 KiB | 100 µs |"),
        "{wiki}"
    );
    let html = bench.fathom("report last --format html").expect(0, &[]).out.clone();
    for part in ["<table class=\"heat\">", "data-chart=\"plot\"", "Steady state: ", "number heat-"] {
        assert!(html.contains(part), "{part} is not in the page");
    }
    assert!(!html.contains("id=\"step-"), "no section for each of 47 steps");
    // Marked in every shape, those without a place for a sentence included.
    assert!(html.contains("not PTS") && wiki.contains("not PTS"));
    let rows = bench.fathom("report last --format csv").expect(0, &[]).out.clone();
    assert!(rows.lines().skip(1).all(|row| row.contains("quick, not PTS: ")), "{rows}");
    assert_eq!(document["deviations"].as_array().map(Vec::len), Some(2), "{document:#}");
}

#[test]
fn throughput_never_exceeds_what_the_device_does() {
    let bench = Bench::new();
    let document = bench
        .fathom("steady throughput --target sim: --size 16MiB --quick --quiet --json")
        .expect(0, &[])
        .json();
    // One server of 100 µs: 10,000 operations in each second, wherever the writes turn over the end of the target.
    for part in document["parts"].as_array().expect("a list").iter().filter(|part| part["kind"] == "rounds") {
        for cell in part["cells"].as_array().expect("a list") {
            let rounds = cell["rounds"].as_array().expect("a list");
            assert!(rounds.iter().all(|round| (number(round, "/iops") - 10_000.0).abs() < 1e-3), "{cell:#}");
        }
    }
}

/// A test that goes on for hours, to its end: its verdict, its parts, and how many loads come once.
/// `shows` is what the standard wants drawn or in tables of it.
fn check_to_the_end(test: &str, verdict: &str, parts: usize, loads: usize, shows: &[&str]) -> Value {
    let bench = Bench::new();
    let ended = bench.fathom(&format!("steady {test} --target sim: --quick --quiet --json"));
    let document = ended.expect(0, &[]).json();
    assert_eq!((&document["test"], &document["verdict"]), (&test.into(), &verdict.into()), "{document:#}");
    let found = document["parts"].as_array().expect("a list");
    assert_eq!(found.len(), parts, "{test}: {document:#}");
    let cells = found.iter().filter(|part| part["kind"] == "sequence");
    let cells: usize = cells.map(|part| part["cells"].as_array().map_or(0, Vec::len)).sum();
    assert_eq!(cells, loads, "{test}");
    let page = bench.fathom("report last --format html").expect(0, &[]).out.clone();
    for title in shows {
        assert!(page.contains(title), "{test}: {title} is not in the page");
    }
    // The text has the same tables as the page.
    let text = bench.fathom("report last").expect(0, &[]).out.clone();
    let is_table = |title: &&&str| page.contains(&format!("<caption>{title}"));
    for title in shows.iter().filter(is_table) {
        assert!(text.contains(title), "{test}: {title} is not in\n{text}");
    }
    document
}

#[test]
fn saturation_and_recovery_come_to_their_ends() {
    // Two thousand steps: bursts with each of five idle times, and back to the baseline after each.
    let recovered = check_to_the_end(
        "hir",
        "steady",
        11,
        5 * (360 + 1),
        &[
            "Bursts after idle times",
            "Bursts of writes over the idle time",
            "Bursts of writes over time, idle times",
            "360 bursts of 83.3 ms of RND 4 KiB 0/100 T4Q32 for each idle time; idle 83.3 ms, 167 ms, 250 ms, 417 ms, 833 ms before",
        ],
    );
    let after = recovered["idle_recovery"]["after"].as_array().expect("a list");
    assert!(
        after.len() == 5 && after.iter().all(|one| (number(one, "/share") - 1.0).abs() < 0.02),
        "{after:?}"
    );
    let sentence = recovered["sentence"].as_str().expect("a sentence");
    assert!(sentence.contains("Idle time recovers nothing: against the baseline of "), "{sentence}");
    let shows = [
        "throughput over time",
        "throughput from load 1 to load 2",
        "throughput from load 2 to load 3",
        "stimulus 1: SEQ 1024 KiB 0/100 T1Q32 for 8 min 0 s; stimulus 2: RND 8 KiB 0/100 T1Q32 for 6 min 0 s; stimulus 1: SEQ ",
    ];
    let stimulated = check_to_the_end("xsr", "complete", 1, 3, &shows);
    // 10,000 operations per second of 1 MiB, and of 8 KiB.
    let figures = "SEQ 1024 KiB 0/100 did 10.5 GB/s before, 10.5 GB/s after; the other load 81.9 MB/s.";
    let sentence = stimulated["sentence"].as_str().expect("a sentence");
    assert!(sentence.ends_with(figures), "{sentence}");
    // Four capacities of a small device are written in the first round.
    let saturated = check_to_the_end("wsat", "complete", 1, 0, &["Response time over time"]);
    let sample = &saturated["parts"][0]["samples"][0];
    assert!(number(sample, "/max_s") >= number(sample, "/mean_s"), "{sample:#}");
}

#[test]
fn demand_intensity_comes_to_its_end() {
    // The matrix of 49 loads until it is steady, then three operating points with what leads up to each.
    let demand = check_to_the_end(
        "dirth",
        "steady",
        4,
        6,
        &[
            "Response times",
            "Response-time histogram: largest, RND 8 KiB 65/35",
            "Response-time histogram: middle, ",
            "Response-time histogram: smallest, RND 8 KiB 65/35 T1Q1",
            "Response time over the share of operations",
        ],
    );
    let rows: Vec<&Value> =
        demand["parts"][3]["histograms"].as_array().expect("a list").iter().map(|one| &one["row"]).collect();
    assert_eq!(rows, ["largest", "middle", "smallest"]);
    // Its cells are of different loads: what goes on from one to the next is no level.
    let of_demand = &demand["parts"][2];
    assert_eq!((&of_demand["title"], &of_demand["levels"]), (&"demand".into(), &serde_json::json!([])));
    assert_eq!(of_demand["samples"], serde_json::json!([]));
    let composite = check_to_the_end(
        "composite",
        "steady",
        3,
        6,
        &[
            "Demand intensity",
            "IOPS over total outstanding I/O",
            "Demand: response time over total outstanding I/O",
            "Response-time histogram: largest, RND composite 40/60",
        ],
    );
    assert_eq!(composite["parts"][2]["histograms"].as_array().expect("a list").len(), 3);
}

/// All tests on a file of a real filesystem, so hasty that a busy machine may complete nothing in a cell, which ends a test: it
/// says so then, and how to go on. Those of fifty loads a round are hastier still: an empty load is run again and not the end.
#[test]
fn every_test_runs_on_a_file() {
    for (test, haste, parts) in [
        ("iops", 6000, 2),
        ("throughput", 6000, 4),
        ("latency", 6000, 3),
        ("wsat", 6000, 1),
        ("hir", 6000, 11),
        ("xsr", 60_000, 1),
        ("composite", 60_000, 3),
        ("dirth", 60_000, 4),
    ] {
        let bench = Bench::new();
        let line = format!("steady {test} --target file --size 8MiB --direct false --quick={haste} --quiet");
        let ended = bench.fathom(&line);
        let report = bench.report();
        let document = &report["answer"];
        let found = document["parts"].as_array().expect("a list");
        match document["verdict"].as_str().expect("it has one") {
            "unfinished" => {
                ended.expect(8, &["record: ", "to go on: fathom steady --resume "]);
                assert!(report["validity"].to_string().contains("operations.none"), "{test}: {ended:#?}");
            }
            verdict => {
                ended.expect(if verdict == "not_steady" { 8 } else { 0 }, &["record: "]);
                // Writes may be steady before four capacities are written.
                let is_complete = ["wsat", "xsr"].contains(&test) && verdict == "complete";
                assert!(is_complete || test != "xsr" && verdict.ends_with("steady"), "{test}: {verdict}");
                assert_eq!(found.len(), parts, "{test}: {document:#}");
                let rounds = found.iter().filter(|part| part["kind"] == "rounds");
                for cell in rounds.flat_map(|part| part["cells"].as_array().into_iter().flatten()) {
                    assert!(number(cell, "/mean/iops") > 0.0, "{test}: {cell:#}");
                }
            }
        }
        let page = bench.fathom("report last --format html").expect(0, &[]).out.clone();
        assert!(page.contains("not PTS"), "{test}");
        // A test that was ended in its first round has none to draw.
        assert!(page.contains("data-chart=\"plot\"") || document["verdict"] == "unfinished", "{test}");
    }
}

/// Thresholds are of the loads that a test measures, and neither of what prepares its targets nor instead of its answer.
#[test]
fn a_test_keeps_thresholds_or_not() {
    let bench = Bench::new();
    let line =
        "steady latency --target sim: --quick --quiet --json --threshold iops>9k --threshold mean<50us";
    let document = bench.fathom(line).expect(99, &[]).json();
    assert_eq!(
        (&document["verdict"], &document["thresholds_verdict"]),
        (&"steady".into(), &"breached".into()),
        "{document:#}"
    );
    let all = document["thresholds"].as_array().expect("a list");
    assert_eq!(
        all.len(),
        2 * (5 * 9 + 1),
        "two of each of the nine loads of five rounds, and of the histogram run"
    );
    assert!(all.iter().all(|one| one["kept"] == (one["threshold"] == "IOPS > 9000")), "{document:#}");
    let page = bench.fathom("report last").expect(0, &[]).out.clone();
    for part in ["46 of 92 thresholds are breached", "46 are kept and not listed", "steady at round 5"] {
        assert!(page.contains(part), "{part:?} is not in\n{page}");
    }
    bench.fathom("curve --target sim: --at 1,2 --quiet --threshold errors<1").expect(0, &[]);
    bench
        .fathom("slo --target sim: --iops 1k --latency mean<1s --quiet --threshold iops>1M")
        .expect(99, &["record: "]);
}

#[test]
fn clients_are_tested_with_less() {
    let bench = Bench::new();
    let document =
        bench.fathom("steady iops --target sim: --quick --class client --quiet --json").expect(0, &[]).json();
    assert_eq!((&document["class"], &document["verdict"]), (&"client".into(), &"steady".into()));
    let cell = &document["parts"][1]["cells"][0];
    assert_eq!((&cell["threads"], &cell["queue_depth"]), (&2.into(), &16.into()), "{cell:#}");
}

/// What a test of this line says of its targets: user capacity and active range, MiB, and what was written before its rounds.
fn check_range(bench: &Bench, line: &str, (capacity, active, filled): (f64, f64, f64)) -> Value {
    bench.fathom(&format!("steady latency {line} --quiet"));
    let document = bench.report()["answer"].clone();
    let setup = &document["setup"];
    let mib = |of: &Value, path: &str| (number(of, path) / f64::from(1 << 20)).floor();
    assert_eq!(mib(setup, "/user_capacity_bytes"), capacity, "{line}: {setup:#}");
    assert_eq!(mib(setup, "/active_range_bytes"), active, "{line}: {setup:#}");
    let parts = document["parts"].as_array().expect("a list");
    let is_fill =
        |part: &&Value| part["title"].as_str().is_some_and(|title| title.starts_with("preconditioning"));
    let fill = parts.iter().find(is_fill).expect("it is preconditioned");
    assert_eq!(mib(fill, "/bytes"), filled, "{line}: {fill:#}");
    document
}

#[test]
fn an_active_range_is_told_beside_the_user_capacity() {
    let bench = Bench::new();
    check_range(&bench, "--target sim: --quick --class client", (1024.0, 768.0, 2048.0));
    check_range(&bench, "--target sim: --quick --size 64MiB --class client", (64.0, 48.0, 128.0));
    // A file has the size that it is made in; of one that is there already a quick test uses a twentieth.
    let file = "--target file --direct false --quick=60000";
    let client = format!("{file} --class client");
    check_range(&bench, &format!("{client} --size 64MiB"), (64.0, 48.0, 128.0));
    check_range(&bench, &format!("{client} --size 64MiB"), (64.0, 48.0, 128.0));
    for line in [file, &client] {
        let document = check_range(&bench, line, (64.0, 3.0, 6.0));
        let told = document["deviations"].to_string();
        assert!(told.contains("of a user capacity of 64 MiB (5 %) are purged and written"), "{told}");
        // Each deviation is a note of its own, of quick tests as well.
        let notes = bench.report()["notes"].to_string();
        assert!(
            notes.contains("not PTS: only ") && notes.contains("not PTS: all times are divided"),
            "{notes}"
        );
    }
    bench.fathom("steady hir --target sim: --quick --quiet").expect(0, &[]);
    let notes = bench.report()["notes"].to_string();
    assert!(notes.contains("a simulated device remembers nothing: what idle time"), "{notes}");
}

#[test]
fn a_test_that_was_ended_goes_on_from_its_record() {
    let bench = Bench::new();
    let mut run = bench.start("steady iops --target sim: --quick");
    run.wait_for("IOPS, round 3: RND 16 KiB 95/5");
    run.signal(Signal::INT);
    let ended = run.ended();
    let ended = ended.expect(130, &["to go on: fathom steady --resume "]);
    assert!(ended.out.contains("There is no answer yet."), "{ended:#?}");
    let first = bench.report();
    // What was cut off is in no figure, and no reason to mistrust the others.
    let told = first["validity"].as_array().expect("a list");
    assert!(told.iter().all(|one| one["severity"] != "invalid"), "{told:#?}");
    let cut = told.iter().find(|one| one["id"] == "run.interrupted").expect("it was ended");
    assert!(cut["remedy"].as_str().unwrap().contains("fathom steady --resume"), "{cut:#}");
    let done = first["answer"]["parts"][1]["tracked"]["rounds"].as_array().expect("a list").len();
    assert!((2..5).contains(&done), "{done} whole rounds");
    let document = bench.fathom("steady --resume last --quiet --json").expect(0, &[]).json();
    assert_eq!((&document["verdict"], &document["resumed"]), (&"steady".into(), &first["run"]));
    assert_eq!(document["parts"][1]["steady_at"], 5);
    let whole = bench.report();
    let steps = whole["steps"].as_array().expect("a list");
    assert_eq!(steps.len(), 1 + 5 * 56, "what was done is there, once");
    // Virtual time went on beyond the clock's; what is gone on from lies before the run that does.
    let (mut taken_over, began) = (steps[0].clone(), &whole["started_ms"]);
    assert!(taken_over["started_ms"].as_u64() < began.as_u64(), "{} and {began}", taken_over["started_ms"]);
    taken_over["started_ms"] = first["steps"][0]["started_ms"].clone();
    assert_eq!(taken_over, first["steps"][0]);
    let numbers: Vec<u64> = steps.iter().filter_map(|step| step["index"].as_u64()).collect();
    assert_eq!(numbers, (0..281).collect::<Vec<_>>());
    assert!(whole["notes"].to_string().contains("the first steps are those of run"), "{}", whole["notes"]);
    bench.check_refused("steady --resume last", 2, &["came to its end"]);
}

#[test]
fn a_killed_test_goes_on_from_what_was_kept() {
    let bench = Bench::new();
    let mut run = bench.start("steady iops --target sim: --quick");
    run.wait_for("IOPS, round 3: RND 16 KiB 95/5");
    run.signal(Signal::KILL);
    run.ended();
    let document = bench.fathom("steady --resume last --quiet --json").expect(0, &[]).json();
    assert_eq!((&document["verdict"], &document["parts"][1]["steady_at"]), (&"steady".into(), &5.into()));
    let steps = bench.report()["steps"].as_array().map(Vec::len);
    assert_eq!(steps, Some(1 + 5 * 56), "whole rounds are taken over, the one that was cut begins again");
}

#[test]
fn a_killed_test_goes_on_with_the_file_that_it_was_writing_and_with_no_other() {
    let bench = Bench::new();
    let kill = || {
        let mut run = bench.start("steady latency --target file --size 2MiB --quick --direct false");
        run.wait_for("response times, round 1");
        run.signal(Signal::KILL);
        run.ended();
    };
    kill();
    // So it does again and again, however each of them ended.
    for signal in [Signal::KILL, Signal::INT, Signal::KILL, Signal::INT] {
        let mut gone_on = bench.start("steady --resume last");
        gone_on.wait_for("response times, round");
        gone_on.signal(signal);
        let ended = gone_on.ended();
        if signal == Signal::INT {
            ended.expect(130, &["to go on: fathom steady --resume "]);
        }
    }
    std::fs::remove_file(bench.path("file")).expect("it is there");
    kill();
    // What someone else has put there is theirs.
    bench.write("file", vec![7; 1 << 20]);
    bench.check_refused("steady --resume last", 2, &["carries no valid mark of fathom"]);
    assert_eq!(std::fs::read(bench.path("file")).expect("it is there"), vec![7; 1 << 20]);
}

/// Whatever it was doing when it was killed: its mark says that nobody's, and the run that goes on knows better.
#[test]
fn a_killed_test_that_goes_on_removes_what_it_was_to_and_does_not_say_otherwise() {
    for at in ["round 1: RND 4 KiB 0/100", "round 2: RND 8 KiB 100/0"] {
        let bench = Bench::new();
        let line =
            "steady latency --target file --size 2MiB --quick=2000 --direct false --overwrite --remove";
        let mut run = bench.start(line);
        run.wait_for(at);
        // What it then writes is after its mark.
        let changed =
            || std::fs::metadata(bench.path("file")).and_then(|meta| meta.modified()).expect("it is there");
        let before = changed();
        while changed() == before {
            std::thread::yield_now();
        }
        run.signal(Signal::KILL);
        run.ended();
        assert!(bench.path("file").exists());
        let ended = bench.fathom("steady --resume last --quiet");
        // Whether rounds of milliseconds become steady is not what this is about.
        assert!(ended.err.contains("record: ") && !ended.err.contains("target.kept"), "{ended:#?}");
        assert!(!bench.path("file").exists(), "{ended:#?}");
        assert!(!bench.report()["notes"].to_string().contains("was to be removed"));
    }
}

#[test]
fn a_steady_state_of_a_device_that_was_not_written_once_is_told_as_that() {
    let bench = Bench::new();
    let line = "steady wsat --target sim: --size 64GiB --quick --quiet --json";
    let document = bench.fathom(line).expect(0, &[]).json();
    let part = &document["parts"][0];
    assert_eq!((&part["steady_at"], &part["less_than_one_fill"]), (&5.into(), &true.into()), "{part:#}");
    let fills = number(part, "/fills");
    assert!(fills > 0.0 && fills < 1.0, "{fills}");
    let says = format!("less than one capacity written: {fills:.2} fills");
    assert!(document["sentence"].as_str().is_some_and(|said| said.contains(&says)), "{document:#}");
    let told = bench.report()["validity"].as_array().expect("a list").clone();
    let found = told.iter().find(|one| one["id"] == "pts.not-filled").expect("it is told");
    assert_eq!(found["severity"], "warn");
    assert!(found["evidence"].as_str().is_some_and(|said| said.contains(&says)), "{found:#}");
    // Twice its capacity is written before the rounds of others.
    let document = bench.fathom("steady latency --target sim: --quick --quiet --json").expect(0, &[]).json();
    assert_eq!(document["parts"][1]["less_than_one_fill"], false);
}

#[test]
fn the_head_of_a_report_has_the_fields_of_the_standard() {
    let bench = Bench::new();
    bench.fathom("steady latency --target sim: --quick --quiet").expect(0, &[]);
    let fields = [
        ("access", "sim"),
        ("data pattern", "random"),
        ("active range", "1 GiB, 100 % of the user capacity"),
        ("active range segments", "1, contiguous from the beginning"),
        ("purge", "none; what was written before is not known"),
        ("preconditioning 1", "twice the capacity, SEQ 128 KiB writes, T1Q32: 2 GiB in "),
        (
            "preconditioning 2",
            "response times: rounds of the test itself, steady at round 5 by RND 4 KiB 0/100 T1Q1",
        ),
        (
            "test parameters",
            "R/W 100/0, 65/35, 0/100, blocks of 512 B, 4 KiB, 8 KiB; TC/QD T1Q1; rounds 1 to 5",
        ),
        ("test parameters", "histogram run: RND 4 KiB 0/100 T1Q1 for 20.0 s"),
    ];
    for format in ["text", "markdown", "html"] {
        let page = bench.fathom(&format!("report last --format {format}")).expect(0, &[]).out.clone();
        // A terminal breaks lines.
        let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!page.contains("through the page cache"), "no page cache is before a simulated target");
        for (field, value) in fields {
            assert!(
                page.contains(field) && page.contains(value),
                "{field}: {value} is not in {format}:\n{page}"
            );
        }
        assert!(!page.contains("page cache"), "nothing of it is in one:\n{page}");
        // A narrow terminal leaves the line out.
        assert!(format == "text" || page.contains("·R + 100 µs (R = 1 … 5)"), "{page}");
    }
}

#[test]
fn a_test_ends_when_a_condition_holds_and_does_so_where_it_goes_on() {
    let bench = Bench::new();
    // One at a time takes 100 µs; in the fill, which is no load of the test, it is many times as much.
    let line = "steady latency --target sim: --quick --abort-when mean>50us";
    let ended = bench.fathom(line);
    ended.expect(99, &["to go on: fathom steady --resume "]);
    assert_eq!(bench.report()["steps"].as_array().map(Vec::len), Some(2), "the first load, after the fill");
    assert!(bench.report()["notes"].to_string().contains("the run is ended by abort_when"));
    bench.fathom("steady --resume last --quiet").expect(99, &["to go on: fathom steady --resume "]);
    bench.fathom("steady --resume last --quiet --abort-when errors>0").expect(0, &["record: "]);
    bench.check_refused("steady latency --target sim: --abort-when slowly", 2, &["slowly"]);
}

#[test]
fn a_test_goes_on_with_the_file_that_it_left_and_with_no_other() {
    let bench = Bench::new();
    let end_in_round_1 = |line: &str| {
        let mut run = bench.start(line);
        run.wait_for("response times, round 1");
        run.signal(Signal::INT);
        run.ended()
    };
    let first = end_in_round_1("steady latency --target file --size 2MiB --quick --remove");
    // It is not removed, for it could not be gone on with.
    first.expect(130, &["to go on: fathom steady --resume "]);
    assert!(
        bench.path("file").exists()
            && bench.report()["notes"].to_string().contains("were to be removed stay")
    );
    end_in_round_1("steady --resume last").expect(130, &["to go on: "]);
    let notes = bench.report()["notes"].to_string();
    assert!(notes.contains("were to be removed stay"), "the notes of the run before are lost: {notes}");
    assert!(notes.contains("purge: not needed: the files are made by the test"), "{notes}");
    std::fs::write(bench.path("file"), vec![0; 2 << 20]).expect("it is there");
    bench.check_refused("steady --resume last --overwrite", 2, &["not known to hold what the test wrote"]);
    std::fs::remove_file(bench.path("file")).expect("it is there");
    bench.check_refused("steady --resume last", 2, &["file is not there any more; begin the test anew"]);
}

#[test]
fn what_makes_no_test_is_refused() {
    let bench = Bench::new();
    bench.fathom("run --target sim: --time 5s --quiet").expect(0, &[]);
    bench.write("letters", "dear diary");
    for (line, code, says) in [
        ("steady iops", 2, "--target"),
        ("steady --target sim:", 2, "TEST"),
        ("steady speed --target sim:", 2, "speed is no test"),
        ("steady iops --target sim: --class home", 2, "there are enterprise and client"),
        ("steady --resume last --class client", 2, "cannot be used"),
        ("steady --resume last", 2, "is no test"),
        ("steady --resume nowhere", 2, "nowhere"),
        ("steady iops --resume last", 2, "cannot be used"),
        // Somebody's file is not written over unasked.
        ("steady latency --target letters --size 2MiB --quick", 3, "--overwrite"),
    ] {
        bench.check_refused(line, code, &[says]);
    }
    assert_eq!(std::fs::read_to_string(bench.path("letters")).expect("it is there"), "dear diary");
}

#[test]
fn a_scan_tells_how_fast_every_place_is() {
    let bench = Bench::new();
    let ended = bench.fathom("scan sim: --zones 16 --quiet --json");
    assert!(!ended.expect(0, &["record: "]).err.contains("warning"), "{ended:#?}");
    let document = ended.json();
    let zones = document["zones"].as_array().expect("a list");
    assert_eq!(zones.len(), 16);
    // 1 MiB in 100 µs, one at a time.
    assert!(
        zones.iter().all(|zone| (number(zone, "/bytes_per_s") / 1.048_576e10 - 1.0).abs() < 1e-3),
        "{document:#}"
    );
    assert_eq!(
        (number(&zones[0], "/first_byte"), number(&zones[15], "/first_byte")),
        (0.0, (960_u64 << 20) as f64)
    );
    assert_eq!(zones[0]["classes"], serde_json::json!([64, 0, 0, 0, 0, 0]));
    // Every read is slower than 50 µs, and stays so: the closer look goes down to the block.
    let document =
        bench.fathom("scan sim: --zones 2 --sample 2MiB --slow 50us --quiet --json").expect(0, &[]).json();
    assert_eq!((&document["verdict"], document["slow"].as_array().map(Vec::len)), (&"slow".into(), Some(4)));
    let page = bench.fathom("report last").expect(0, &[]).out.clone();
    assert!(page.starts_with("Reads 10.5 GB/s on average"), "{page}");
    assert!(page.contains("4 slow blocks of 50.0 µs and more"), "{page}");
    let html = bench.fathom("report last --format html").expect(0, &[]).out.clone();
    assert!(html.contains("data-chart=\"plot\"") && html.contains("Bandwidth of reads by place"));
    // What is not there is not made.
    bench.check_refused("scan nothing", 4, &["nothing"]);
    assert!(!bench.path("nothing").exists());
    bench.write("file", vec![1; 3 << 20]);
    let page = bench.fathom("scan file --full --zones 3 --quiet").expect(0, &[]).out.clone();
    assert!(page.contains("all can be read (all of it)") || page.contains("slow"), "{page}");
    // As small as that, samples come to all of it: also the last part, which no zone of a size would reach.
    bench.write("odd", vec![1; (3 << 20) + 4096 * 5]);
    let document = bench.fathom("scan odd --zones 2 --quiet --json").expect(0, &[]).json();
    assert_eq!(document["whole"], true, "{document:#}");
    assert!(document["sentence"].as_str().is_some_and(|text| text.contains("(all of it).")), "{document:#}");
    let last = document["zones"].as_array().and_then(|zones| zones.last()).expect("it has zones");
    assert_eq!(last["first_byte"], 3 << 20, "{document:#}");
    let document = bench.fathom("scan odd --zones 2 --sample 1MiB --quiet --json").expect(0, &[]).json();
    assert_eq!(document["whole"], false, "{document:#}");
    let breached = bench.fathom("scan sim: --zones 2 --threshold iops>1M --quiet --json");
    let document = breached.expect(99, &[]).json();
    assert_eq!(document["thresholds_verdict"], "breached", "{document:#}");
    bench.fathom("scan sim: --full --zones 2 --abort-when read.iops>1 --quiet").expect(99, &[]);
    assert!(bench.report()["notes"].to_string().contains("the run is ended by abort_when"));
    bench.check_refused("scan sim: --threshold soon", 2, &["soon"]);
    bench.check_refused("scan sim: --block 3MiB", 2, &["power of two"]);
    bench.check_refused("scan sim: --slow 0ms", 2, &["--slow 0", "write for example 150ms"]);
    bench.check_refused("scan sim: --sample 0", 2, &["less than one read", "make it 1 MiB or more"]);
    bench.check_refused("scan sim: --threshold errors<0", 2, &["nothing is below 0", "errors<1"]);
}
