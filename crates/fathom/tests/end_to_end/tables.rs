//! The commands that answer from tables of numbers: their documents, their pages, and what they say about faults.

use crate::support::{Bench, number};
use serde_json::Value;

/// X = 8000 N / (N + 7): eight equal units.
const EIGHT_UNITS: &str = "depth,iops\n1,1000\n2,1777.777778\n4,2909.090909\n8,4266.666667\n16,5565.217391\n32,6564.102564\n64,7211.267606\n";

#[test]
fn a_curve_is_fitted_and_explained() {
    let bench = Bench::new();
    bench.write("units.csv", EIGHT_UNITS);
    let document = bench.fathom("fit units.csv --json").expect(0, &[]).json();
    assert_eq!(document["chosen"], "usl");
    assert_eq!(document["verdict"], "contention_limited");
    let close = |pointer: &str, expect: f64| {
        let found = number(&document, pointer);
        assert!((found / expect - 1.0).abs() < 1e-3, "{pointer}: {found}, not {expect}");
    };
    close("/models/0/coefficients/alpha", 0.125);
    close("/models/0/coefficients/gamma", 1000.0);
    close("/models/0/limit", 8000.0);
    close("/parallel_units", 8.0);
    close("/n_at_95_percent", 133.0);
    assert_eq!(document["peak"]["source"], "measured");
    let limit = |kind: &str| -> Value {
        let limits = document["limits"].as_array().expect("a list");
        limits.iter().find(|limit| limit["kind"] == kind).expect("it is there").clone()
    };
    assert!((number(&limit("latency"), "/n") - 1.0).abs() < 1e-3);
    assert!((number(&limit("throughput"), "/x") - 8000.0).abs() < 1.0);
    let names: Vec<&str> =
        document["models"].as_array().unwrap().iter().filter_map(|model| model["name"].as_str()).collect();
    assert_eq!(names, ["usl", "softmin", "linear"]);
    let page = bench.fathom("fit units.csv").expect(0, &[]).out.clone();
    for part in ["≈ 8 parallel units", "ceiling", "* usl", "α 0.125"] {
        assert!(page.contains(part), "{part} is not in\n{page}");
    }
    assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
}

/// Thousands of operations are operations, bytes are none, and a percentile is no mean.
#[test]
fn titles_of_throughput_name_their_unit() {
    let bench = Bench::new();
    let table = |titles: &str, scale: f64| {
        let rows = EIGHT_UNITS.lines().skip(1).map(|row| {
            let (n, x) = row.split_once(',').expect("two cells");
            format!("{n},{}\n", x.parse::<f64>().expect("a number") * scale)
        });
        format!("{titles}\n") + &rows.collect::<String>()
    };
    for title in ["kiops", "IOPS (k)", "iops_k", "Kops/s", "iops (thousands)"] {
        bench.write("k.csv", table(&format!("threads,{title}"), 1e-3));
        let document = bench.fathom("fit k.csv --json").expect(0, &[]).json();
        assert!((number(&document, "/models/0/limit") / 8000.0 - 1.0).abs() < 1e-3, "{title}");
        assert!((number(&document, "/limits/0/n") - 1.0).abs() < 1e-2, "{title}");
    }
    bench.write("b.csv", table("threads,MiB/s", 1.0));
    let page = bench.fathom("fit b.csv").expect(0, &[]).out.clone();
    let unit = page.replace("(MiB/s)", "").replace("in MiB/s", "");
    assert!(page.contains("(MiB/s)") && !unit.contains("/s") && !page.contains("latency 1.00 ms"), "{page}");
    let document = bench.fathom("fit b.csv --json").expect(0, &[]).json();
    assert_eq!(document["throughput_unit"], "MiB/s");
    let with_tail = |titles: &str| format!("{titles}\n1,1000,5\n2,1990,6\n4,3900,7\n8,7000,9\n16,9000,20\n");
    for titles in ["threads,iops,p99_ms", "threads,MB/s,p99_ms"] {
        bench.write("tail.csv", with_tail(titles));
        let page = bench.fathom("fit tail.csv").expect(0, &[]).out.clone();
        assert!(page.contains("not used: p99_ms"), "{page}");
        let said = "p99_ms is a percentile or an extreme by its title";
        bench.fathom("fit tail.csv --columns 1,2,3").expect(2, &[said]);
    }
}

/// A time is no throughput, wherever it stands; what is not plainly per second is scaled or refused.
#[test]
fn columns_are_what_their_titles_say() {
    let bench = Bench::new();
    for titles in [
        "users,response_ms,requests/s",
        "concurrency,rt_ms,hits/s",
        "n,lat_ms,iops",
        "a,rt_ms,transactions/s",
    ] {
        bench.write("three.csv", format!("{titles}\n1,1,1000\n2,1,2000\n4,1,4000\n8,1,8000\n"));
        let document = bench.fathom("fit three.csv --json").expect(0, &[]).json();
        assert_eq!(number(&document, "/points/3/x"), 8000.0, "{titles}");
        assert_eq!(document["latency_unit"], "ms", "{titles}");
    }
    // A time, a size or a number of rounds is no load, and no column is two.
    let no_load =
        ["time_s,iops", "timestamp,iops", "round,iops", "block_size,iops", "latency_ms,iops", "iops,time_s"];
    for titles in no_load.into_iter().chain([
        "threads,seconds,transactions",
        "depth,latency_ms",
        "depth,p99_ms",
        "depth,time",
    ]) {
        let more = if titles.matches(',').count() == 2 { ",9" } else { "" };
        bench.write("time.csv", format!("{titles}\n1,1{more}\n2,2{more}\n4,3{more}\n8,4{more}\n"));
        bench.check_refused("fit time.csv", 2, &["titles do not say", "--columns N,X"]);
    }
    // Other titles say nothing, and the place does.
    for titles in
        ["avg_qd,iops", "mean concurrency,iops", "pool_size,tps", "jobs_run,iops", "clients (x1000),tps"]
    {
        bench.write("other.csv", format!("{titles}\n1,100\n2,200\n4,400\n8,800\n"));
        let document = bench.fathom("fit other.csv --json").expect(0, &[]).json();
        assert_eq!(number(&document, "/points/3/n"), 8.0, "{titles}");
    }
    bench.check_refused("fit time.csv --columns 2,2", 2, &["--columns 2,2 names one column twice"]);
    bench.write("one.csv", "1\n2\n3\n");
    bench.check_refused("fit one.csv", 2, &["has one column"]);
    for (title, factor) in [
        ("ops/min", 1.0 / 60.0),
        ("tpm", 1.0 / 60.0),
        ("ops/ms", 1e3),
        ("iops (x1000)", 1e3),
        ("iops/1000", 1e3),
    ] {
        bench.write("scaled.csv", format!("depth,{title}\n1,60\n2,120\n4,240\n8,480\n"));
        let document = bench.fathom("fit scaled.csv --json").expect(0, &[]).json();
        assert!(
            (number(&document, "/points/0/x") / (60.0 * factor) - 1.0).abs() < 1e-9,
            "{title}: {document:#}"
        );
    }
    for title in ["iops_m", "iops per minute", "ops/10s"] {
        bench.write("doubt.csv", format!("depth,{title}\n1,60\n2,120\n4,240\n8,480\n"));
        bench.check_refused(
            "fit doubt.csv",
            2,
            &[&format!("the title {title} leaves open"), "rename the column"],
        );
    }
}

#[test]
fn rounds_by_their_title_alone_have_the_value_beside_them() {
    let bench = Bench::new();
    let rows = "1,100,900\n2,101,100\n3,102,500\n4,103,100\n5,104,900\n";
    for titles in ["round,iops,bw", "Round,IOPS,MB/s", "round,iops,seconds"] {
        bench.write("rounds.csv", format!("{titles}\n{rows}"));
        bench.check_refused("judge rounds.csv", 2, &["may be the value", "name it with --value"]);
        let value = titles.split(',').nth(1).expect("three titles");
        let found = bench.fathom(&format!("judge rounds.csv --json --value {value}")).expect(0, &[]).json();
        assert_eq!(
            (&found[0]["series"], &found[0]["at_round"], &found[0]["mean"]),
            (&Value::Null, &5.into(), &102.0.into())
        );
    }
    bench.write("turned.csv", "iops,round\n100,11\n101,12\n102,13\n103,14\n104,15\n");
    let found = bench.fathom("judge turned.csv --json").expect(0, &[]).json();
    assert_eq!((&found[0]["at_round"], &found[0]["mean"]), (&15.into(), &102.0.into()));
    bench.write("named.csv", "drive,round,iops\na,1,100\na,2,100\nb,1,5\nb,2,5\n");
    let found = bench.fathom("judge named.csv --json").expect(0, &[]).json();
    assert_eq!((&found[1]["series"], &found[1]["rounds"]), (&"b".into(), &2.into()));
}

#[test]
fn measured_latencies_answer_instead_of_the_law() {
    let bench = Bench::new();
    bench.write("r.csv", "n,x,r\n1,1000,1.0\n2,1990,1.1\n4,3900,1.3\n8,7000,1.9\n16,9000,2.9\n");
    let document = bench.fathom("fit r.csv --json --latency 1600us").expect(0, &[]).json();
    // Milliseconds, by Little's law; half way between 1.3 and 1.9.
    assert!((number(&document, "/limits/0/n") - 6.0).abs() < 1e-9, "{document:#}");
    // N/X is 4/3900 and 8/7000 there, half way 1.0842 ms: 6 ÷ that.
    let expect = 6.0 / f64::midpoint(4.0 / 3900.0, 8.0 / 7000.0);
    assert!((number(&document, "/limits/0/x") - expect).abs() < 1e-6, "{document:#}");
}

#[test]
fn a_series_without_a_name_and_a_negative_mean_are_told_as_such() {
    let bench = Bench::new();
    let rounds: String = (1..=6).map(|round| format!(",{round},-5\n")).collect();
    bench.write("odd.csv", "series,round,value\n".to_owned() + &rounds);
    let page = bench.fathom("judge odd.csv").expect(0, &[]).out.clone();
    let told = "\"\": not steady after round 6: mean -5 over rounds 2 to 6, range 0.0 %, slope 0.0 %";
    assert!(page.contains(told), "{page}");
    let document = bench.fathom("judge odd.csv --json").expect(0, &[]).out.clone();
    assert!(!document.contains("-0.0"), "{document}");
}

#[test]
fn rounds_are_judged_by_series() {
    let bench = Bench::new();
    let mut text = "series,round,value\n".to_owned();
    for (round, ramp) in [94, 97, 100, 103, 106].iter().enumerate() {
        text += &format!("ramp,{},{ramp}\nflat,{},100\n", round + 1, round + 1);
    }
    bench.write("rounds.csv", text + "short,1,5\n");
    let judged = |rule: &str| -> Vec<(String, bool, Option<u64>)> {
        let line = format!("judge rounds.csv --json --rule {rule}");
        let document = bench.fathom(&line).expect(0, &[]).json();
        let rows = document.as_array().expect("a list").iter();
        rows.map(|row| {
            let name = row["series"].as_str().expect("a name").to_owned();
            (name, row["steady"].as_bool().expect("a flag"), row["at_round"].as_u64())
        })
        .collect()
    };
    let row = |name: &str, at: Option<u64>| (name.to_owned(), at.is_some(), at);
    assert_eq!(judged("literal"), [row("ramp", None), row("flat", Some(5)), row("short", None)]);
    assert_eq!(judged("envelope"), [row("ramp", Some(5)), row("flat", Some(5)), row("short", None)]);
    let document = bench.fathom("judge rounds.csv --json").expect(0, &[]).json();
    assert_eq!((&document[0]["range"], &document[0]["slope_excursion"]), (&12.0.into(), &12.0.into()));
    let page = bench.fathom("judge rounds.csv").expect(0, &[]).out.clone();
    assert!(page.contains("1 of 3 series") && page.contains("flat: steady at round 5"), "{page}");
}

#[test]
fn windows_do_not_go_over_rounds_that_are_missing() {
    let bench = Bench::new();
    let rounds = |numbers: &[u32]| -> String {
        let rows = numbers.iter().map(|number| format!("{number},100\n"));
        "round,value\n".to_owned() + &rows.collect::<String>()
    };
    bench.write("gap.csv", rounds(&[1, 2, 3, 5, 6, 9]));
    let document = bench.fathom("judge gap.csv --json").expect(0, &[]).json();
    assert_eq!((&document[0]["steady"], &document[0]["window"]), (&false.into(), &Value::Null));
    assert_eq!(document[0]["missing"], serde_json::json!([[4, 4], [7, 8]]));
    let page = bench.fathom("judge gap.csv").expect(0, &[]).out.clone();
    assert!(page.contains("no 5 rounds in a row") && page.contains("rounds missing: 4, 7 to 8"), "{page}");
    bench.write("after.csv", rounds(&[1, 2, 4, 5, 6, 7, 8]));
    let document = bench.fathom("judge after.csv --json").expect(0, &[]).json();
    assert_eq!((&document[0]["at_round"], &document[0]["window"]), (&8.into(), &serde_json::json!([4, 8])));
}

#[test]
fn percentiles_come_with_what_the_sample_can_tell() {
    let bench = Bench::new();
    let lines = |count: u32| (1..=count).map(|value| format!("{value}000\n")).collect::<String>();
    bench.write("some.txt", lines(400));
    let document = bench.fathom("percentiles some.txt --json --percentiles 50,99,99.9").expect(0, &[]).json();
    assert_eq!(document["count"], 400);
    assert_eq!(document["quantiles"][0]["value_ns"], 200_000.0);
    assert_eq!(document["quantiles"][1]["value_ns"], 396_000.0);
    assert_eq!(document["quantiles"][1]["interval_ns"][1], 400_000.0);
    assert_eq!(document["quantiles"][2]["value_ns"], Value::Null);
    assert_eq!(document["quantiles"][2]["needs"], 3688);
    let page = bench.fathom("percentiles some.txt").expect(0, &[]).out.clone();
    assert!(page.contains("n/a (needs n ≥ 1000, an interval n ≥ 3688)"), "{page}");
    assert!(page.contains("A percentile is printed where a value lies beyond it"), "{page}");
}

#[test]
fn latencies_have_the_unit_of_their_title() {
    let bench = Bench::new();
    for (title, unit_ns) in [
        ("latency_ns", 1.0),
        ("latency_us", 1e3),
        ("lat_ms", 1e6),
        ("Latency (ms)", 1e6),
        ("latency_s", 1e9),
        ("clat usec", 1e3),
        ("milliseconds", 1e6),
        ("read latency in ms (1 sec average)", 1e6),
        ("value", 1.0),
        ("Latency", 1.0),
        ("clat", 1.0),
    ] {
        bench.write("own.csv", format!("{title}\n5\n6\n7\n"));
        let document = bench.fathom("percentiles own.csv --json --percentiles 50").expect(0, &[]).json();
        assert_eq!(document["quantiles"][0]["value_ns"], 6.0 * unit_ns, "{title}");
        let page = bench.fathom("percentiles own.csv").expect(0, &[]).out.clone();
        let unit = document["unit"].as_str().expect("it is named");
        assert_eq!(
            format!("6{unit}").parse::<fathom_units::Nanos>().map(|time| time.0 as f64),
            Ok(6.0 * unit_ns)
        );
        assert!(page.contains(&format!("3 latencies, taken in {unit}: ")), "{page}");
        bench.write("two.csv", format!("n,{title}\n1,5\n2,6\n3,7\n"));
        let document =
            bench.fathom("percentiles two.csv --json --percentiles 50 --column 2").expect(0, &[]).json();
        assert_eq!(document["max_ns"], 7.0 * unit_ns, "{title}");
    }
    // One rule: a title names a unit of time, or it is refused.
    for title in [
        "lat_min",
        "second_disk",
        "response_time",
        "service_time",
        "mean latency",
        "duration",
        "iops",
        "queue depth",
        "bandwidth_kb",
        "Mbps",
        "lba",
    ] {
        bench.write("own.csv", format!("{title}\n5\n6\n7\n"));
        let said = format!("own.csv: the title {title} names no unit of time");
        bench.check_refused("percentiles own.csv", 2, &[&said, "_us"]);
    }
}

#[test]
fn nothing_is_a_share_of_a_mean_of_nothing() {
    let bench = Bench::new();
    bench.write("zero.csv", "round,value\n1,0\n2,0\n3,0\n4,0\n5,0\n");
    let page = bench.fathom("judge zero.csv").expect(0, &[]).out.clone();
    assert!(page.contains("range n/a (the mean is 0), slope n/a (the mean is 0)"), "{page}");
    assert!(!page.contains("NaN"), "{page}");
}

#[test]
fn faults_of_tables_are_told_with_their_line() {
    let bench = Bench::new();
    bench.write("letters.csv", "n,x\n1,100\n2,abc\n4,300\n");
    bench.write("late.csv", "n,lat_us\n1,100\n2,1e308\n");
    bench.write("wordy.csv", "n,lat_us\n1,100\n2,abc\n");
    bench.write("two.csv", "n,x\n1,100\n2,200\n");
    bench.write("wide.csv", "a,b,c,d\n1,2,3,4\n");
    bench.write("twice.csv", "round,value\n1,2\n1,3\n");
    bench.write("halves.csv", "round,value\n1,2\n1.5,3\n");
    bench.write("huge.csv", "n,x\n1,100\n2,1e308\n4,300\n");
    bench.write("comma.csv", "n,x\n1,10,5\n2,19,5\n4,36,5\n");
    bench.write("decimal.csv", "round;value\n1;10,5\n2;11,5\n");
    bench.write("later.csv", "250\n251,5\n249,75\n");
    bench.write("lacks.csv", "1\n2,3\n3,3\n4,3\n5,3\n6,3\n");
    bench.write("more.csv", "1,100\n2,200,3\n4,400\n8,800,5\n");
    bench.write("titled.csv", "n,x\n1,100\n2,200,3\n4,400\n8,800,5\n");
    bench.write("empty.csv", "");
    bench.write("binary.csv", [0, 159, 146, 150]);
    for (line, says) in [
        ("fit comma.csv", "comma.csv:2: has 3 cells below 2 titles; write numbers with a decimal point"),
        (
            "judge decimal.csv",
            "decimal.csv:2: value: \"10,5\" has a decimal comma; write numbers with a point",
        ),
        ("percentiles later.csv", "later.csv:2: has 2 cells, but the first row, in line 1, has 1"),
        ("judge later.csv", "later.csv:2: has 2 cells"),
        ("judge lacks.csv", "and a cell for each column in every row"),
        ("fit more.csv", "more.csv:2: has 3 cells, but the first row, in line 1, has 2"),
        ("fit titled.csv", "titled.csv:3: has 3 cells below 2 titles"),
        ("percentiles decimal.csv --column value", "decimal.csv:2: value: \"10,5\" has a decimal comma"),
        ("fit two.csv --latency 0ms", "no operation takes no time; write for example 1ms"),
        ("fit letters.csv", "letters.csv:3: x: \"abc\" is no number"),
        ("fit two.csv", "2 different loads"),
        ("fit wide.csv", "--columns N,X"),
        ("fit wide.csv --columns a,e", "no column e; its columns are a, b, c, d"),
        ("fit empty.csv", "no row of numbers"),
        ("fit nowhere.csv", "cannot read nowhere.csv"),
        ("judge twice.csv", "twice.csv:3: round 1 is there twice"),
        ("judge halves.csv", "halves.csv:3: round: 1.5 is no number of a round"),
        ("judge huge.csv --round n --value x", "huge.csv:3: x: 1e308 is beyond 1e18"),
        ("fit huge.csv", "huge.csv:3: x: 1e308 is beyond 1e18"),
        ("percentiles late.csv --column lat_us", "late.csv:3: lat_us: 1e308 is beyond 1e18"),
        ("judge wide.csv", "--value"),
        ("judge binary.csv", "binary.csv"),
        ("percentiles two.csv", "--column"),
        ("percentiles wordy.csv --column lat_us", "wordy.csv:3"),
        ("percentiles letters.csv --column x", "the title x names no unit of time"),
        ("percentiles two.csv --percentiles 100", "not between 0 and 100"),
        ("percentiles two.csv --percentiles -1", "not between 0 and 100"),
        ("percentiles two.csv --percentiles 50,x", "it is no number; write for example"),
        ("mark last text --at -1s", "\"-1s\" is negative"),
    ] {
        bench.check_refused(line, 2, &[says]);
    }
}

#[test]
fn depth_and_jobs_are_one_load_and_remarks_end_a_line() {
    let bench = Bench::new();
    // 8 units that are hit at random: X = 8000·N/(N + 7), with N = depth × jobs.
    let row =
        |depth: f64| format!("4,{depth},{:.3} # run {depth}\n", 8000.0 * 4.0 * depth / (4.0 * depth + 7.0));
    let rows: String = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0].map(row).concat();
    bench.write("jobs.csv", format!("numjobs,iodepth,iops\n{rows}"));
    let document = bench.fathom("fit jobs.csv --json").expect(0, &[]).json();
    let alpha = document["models"][0]["coefficients"]["alpha"].as_f64().expect("a number");
    assert!((alpha - 0.125).abs() < 1e-4, "{document:#}");
    let depths = bench.fathom("fit jobs.csv --columns iodepth,iops --json").expect(0, &[]).json();
    assert_ne!(depths["models"][0]["coefficients"], document["models"][0]["coefficients"]);
    // What the load does is what is read and what is written.
    let row = |depth: f64| format!("{depth},{},{}\n", 600.0 * depth, 400.0 * depth);
    let rows_of_both: String = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0].map(row).concat();
    bench.write("both.csv", format!("depth,Read IOPS,Write IOPS\n{rows_of_both}"));
    let both = bench.fathom("fit both.csv --json --latency 1ms").expect(0, &[]).json();
    assert_eq!(number(&both, "/peak/x"), 32_000.0, "{both:#}");
    let said = bench.fathom("fit both.csv").expect(0, &[]).out.clone();
    assert!(said.contains("the throughput is Read IOPS + Write IOPS"), "{said}");
    // Jobs that are names are no numbers of them, and a # in a name is a part of it.
    bench.write(
        "names.csv",
        format!("jobs,{}", "iodepth,iops\n") + &rows.replace("\n4,", "\nread,").replacen("4,", "read,", 1),
    );
    let said = bench.fathom("fit names.csv").expect(0, &[]).out.clone();
    assert!(said.contains("not used: jobs"), "{said}");
    let rounds = |name: &str| (1..=5).map(|round| format!("{name},{round},100\n")).collect::<String>();
    bench.write("series.csv", format!("series,round,value\n{}{}", rounds("disk #1"), rounds("disk #2")));
    let judged = bench.fathom("judge series.csv --json").expect(0, &[]).json();
    let names: Vec<&str> =
        judged.as_array().expect("a list").iter().filter_map(|one| one["series"].as_str()).collect();
    assert_eq!(
        (names, &judged[0]["rule"]),
        (vec!["disk #1", "disk #2"], &Value::from("literal")),
        "{judged:#}"
    );
}
