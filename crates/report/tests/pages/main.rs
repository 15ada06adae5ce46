//! Whole pages of constructed records: what stands in them, that nothing in them is loaded or run but the page's own
//! script, and the files that the browser's tests (`web/tests/report.js`) open.
#![expect(clippy::unwrap_used, reason = "in a test, a panic is the report")]
#![expect(clippy::assigning_clones, reason = "records are constructed once; the plain form reads better")]

mod answers;
mod records;

use fathom_report::{Sides, answered, charts, compare_answered, compare_html, html, json, markdown, summary};
use fathom_units::Ratio;
use records::{sample, samples};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn web() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web")
}

fn page(name: &str) -> String {
    html(sample(name))
}

/// Leaves the pages, and what a server says of their records, where the browser's tests look for them.
#[test]
fn pages_are_written_for_the_browser() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, record) in samples() {
        std::fs::write(folder.join(format!("{name}.html")), html(record)).unwrap();
        std::fs::write(folder.join(format!("{name}.json")), json(&summary(record))).unwrap();
        let charts = serde_json::to_string(&charts(record)).unwrap();
        std::fs::write(folder.join(format!("{name}.charts.json")), charts).unwrap();
        let answer = serde_json::to_string(&answered(&summary(record))).unwrap();
        std::fs::write(folder.join(format!("{name}.answer.json")), answer).unwrap();
    }
}

/// Two sides of three runs each, as page and as what the server gives.
fn comparison() -> (String, String) {
    let (before, after) = answers::sides();
    let margin = Ratio::new(0.03).unwrap();
    let sides = Sides { base: before.iter().collect(), others: vec![after.iter().collect()], margin };
    let answer = serde_json::to_string(&compare_answered(&sides)).unwrap();
    (compare_html(&sides).unwrap(), answer)
}

#[test]
fn a_comparison_is_one_page() {
    let (page, answer) = comparison();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("comparison.html"), &page).unwrap();
    std::fs::write(folder.join("comparison.answer.json"), answer).unwrap();
    assert!(page.contains("<p class=\"answer\">Regressed: IOPS −"), "the verdict comes first");
    assert_eq!(page.matches("data-chart=\"plot\"").count(), 4);
    for part in ["Quantile shift", "firmware &lt;1&gt;", "lab&lt;2&gt;", "Figures of both sides", "decides"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("firmware <") && !page.contains("lab<2"), "names stay names");
}

/// Tests and curves are drawn as steps are: all their loads in one drawing per figure that decides.
#[test]
fn loads_beside_each_other_are_drawn() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, section, titles) in [
        (
            "pts-iops",
            "Loads of the measurement window",
            &["Change of IOPS by cell, with its interval", "IOPS of both sides by cell"][..],
        ),
        (
            "curve",
            "Loads that were asked for",
            &[
                "Change of IOPS by load, with its interval",
                "IOPS of both sides by load",
                "Change of p99 by load, with its interval",
                "p99 of both sides by load",
            ],
        ),
    ] {
        let (before, after) = (sample(name), answers::slower(sample(name)));
        let margin = Ratio::new(0.03).unwrap();
        let sides = Sides { base: vec![before], others: vec![vec![&after]], margin };
        let answer = compare_answered(&sides);
        let part = answer.sections.iter().find(|part| part.title == section).unwrap();
        let drawn: Vec<&str> = part.plots.iter().map(|plot| plot.title.as_str()).collect();
        assert_eq!(drawn, titles);
        let rows = &part.tables[0].rows;
        let loads: BTreeSet<&str> = rows.iter().map(|row| row[0].as_str()).collect();
        for pair in part.plots.chunks(2) {
            let [plot, other] = pair else { panic!("two of each figure") };
            // Every load has its name below, if a shorter one, a change under the verdict that the table has, and a point of
            // either side.
            let names: BTreeSet<&str> = plot.x.names.iter().map(|(_, name)| name.as_str()).collect();
            let short = |load: &&str| load.trim_start_matches("RND ").replace(" KiB", "K");
            let expect: BTreeSet<String> = loads.iter().map(short).collect();
            assert!(expect.iter().eq(&names), "{names:?} of {loads:?}");
            assert_eq!(other.x.names, plot.x.names);
            let changes: usize = plot.lines.iter().map(|line| line.x.len()).sum();
            assert_eq!(changes, loads.len());
            let figure = if plot.title.contains("p99") { "p99" } else { "IOPS" };
            for line in &plot.lines {
                let is_it = |row: &&Vec<String>| row[1] == figure && row[6] == line.label;
                assert_eq!(rows.iter().filter(is_it).count(), line.x.len(), "{} of {figure}", line.label);
            }
            let sides: Vec<(&str, usize)> =
                other.lines.iter().map(|line| (line.label.as_str(), line.x.len())).collect();
            assert_eq!(sides, [("A", loads.len()), ("B", loads.len())]);
            if figure == "IOPS" {
                let fell = |(a, b): (&f64, &f64)| (b / a - 0.8).abs() < 1e-3;
                assert!(other.lines[0].y.iter().zip(&other.lines[1].y).all(fell), "{:?}", other.lines);
            }
        }
        let page = compare_html(&sides).unwrap();
        for title in titles {
            let told =
                format!("{title}<span class=\"unseen\">. The tables of this part have its figures.</span>");
            assert!(page.contains(&told), "{title} is not told to those who cannot see it");
        }
        std::fs::write(folder.join(format!("comparison-{name}.html")), page).unwrap();
    }
}

#[test]
fn the_time_line_has_what_happened_on_it() {
    let record = sample("marked");
    let step = &charts(record).steps[0];
    let labels: Vec<&str> = step.marks.iter().map(|mark| mark.label.as_str()).collect();
    for part in ["warm-up ends", "stall, 3.00 s", "rebuild started <b>", "IOPS", "outside max < 1.00 s"] {
        assert!(labels.iter().any(|label| label.contains(part)), "{part} is not in {labels:?}");
    }
    // The step began half a second after the run.
    let noted = step.marks.iter().find(|mark| mark.label == "alarm").unwrap();
    assert!((noted.at_s - 100.5).abs() < 1e-9, "{noted:?}");
    let stall = step.marks.iter().find(|mark| mark.label.starts_with("stall")).unwrap();
    assert!((stall.at_s - 55.0).abs() < 1e-9, "{stall:?}");
    assert!(step.marks.is_sorted_by(|a, b| a.at_s <= b.at_s));
    let limits: Vec<(&str, f64)> = step.limits.iter().map(|limit| (limit.chart, limit.at)).collect();
    assert_eq!(limits, [("iops", 6000.0), ("latency", 8e6), ("latency", 1e9)]);
    let page = page("marked");
    let without_script = page.split("<script").next().unwrap();
    for part in ["On the time line", "rebuild started &lt;b&gt;", "Thresholds", "breached"] {
        assert!(without_script.contains(part), "{part} is missing");
    }
    // Streams that begin or end apart from the others.
    let mixed = charts(sample("mixed"));
    assert!(mixed.steps[0].marks.iter().any(|mark| mark.label == "backup ends" && mark.at_s == 40.0));
}

#[test]
fn what_is_not_about_the_device_is_not_compared() {
    let (before, mut after) = answers::sides();
    let margin = Ratio::new(0.03).unwrap();
    for tally in after[1].steps[0].finished.as_mut().unwrap().streams.iter_mut().flat_map(|s| &mut s.workers)
    {
        // More in flight than the queue holds: the accounts are wrong.
        tally.tally.kinds[0].service.moments.sum_ns *= 3.0;
    }
    let sides = Sides { base: before.iter().collect(), others: vec![after.iter().collect()], margin };
    let page = compare_html(&sides).unwrap();
    let says = "<p class=\"answer\">They cannot be compared: 1 of 3 runs of the other side is INVALID (";
    assert!(
        page.contains(says),
        "{}",
        page.split("class=\"answer\"").nth(1).unwrap().split("</p>").next().unwrap()
    );
    assert!(!page.contains(">regressed<") && !page.contains(">improved<"), "no figure has a verdict");
}

#[test]
fn a_page_tells_everything_without_its_script() {
    let page = page("steady");
    let without_script = page.split("<script").next().unwrap();
    for part in [
        "Can it be trusted?",
        "throughput fell ",
        "IOPS",
        "Operations and rates",
        "Latencies",
        "Over time, as a table",
        "The step with every option resolved",
        "How to repeat it",
        "fathom run job.toml",
        "Environment",
        "Example NVMe 64",
    ] {
        assert!(without_script.contains(part), "{part} is missing");
    }
}

#[test]
fn a_page_loads_and_runs_nothing_else() {
    for (name, record) in samples() {
        let page = html(record);
        assert!(page.contains("default-src 'none'; script-src 'sha256-"), "{name}");
        // What the page itself says, its script aside: no address is fetched, no handler is set. Names stand between tags,
        // where no `<` of theirs is left, so that all that begins with one is a tag of the page.
        let said = page.replace(&std::fs::read_to_string(web().join("dist/report.js")).unwrap(), "");
        for tag in said.split('<').skip(1).filter_map(|rest| rest.split_once('>')).map(|(tag, _)| tag) {
            let is_foreign = ["link", "img", "iframe", "svg", "object", "embed", "base"];
            assert!(!is_foreign.iter().any(|name| tag.starts_with(name)), "{name}: <{tag}>");
            assert!(!tag.contains(" src=") && !tag.contains(" on"), "{name}: <{tag}>");
        }
        let style = said.split("<style>").nth(1).and_then(|rest| rest.split("</style>").next()).unwrap();
        assert!(!style.contains("url(") && !style.contains("@import"), "{name}");
        assert_eq!(said.matches("<script").count(), 2, "{name}: the data and the script");
        assert_eq!(said.matches("</script").count(), 2, "{name}");
    }
}

#[test]
fn hostile_names_stay_names() {
    let page = page("hostile");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(!page.contains("<script>alert"));
    assert!(!page.contains("<img"));
    assert!(page.contains("\\u{202e}"), "what turns the direction of text is made visible");
    let record = sample("hostile");
    let markdown = markdown(&summary(record));
    // Outside of fences every sign is escaped; the job's own text stands in a fence that nothing in it ends.
    let mut fence: Option<&str> = None;
    for line in markdown.lines() {
        match fence {
            None if line.starts_with("```") => fence = Some(line),
            None => assert!(!line.replace("\\<", "").contains('<'), "{line}"),
            Some(end) if line == end => fence = None,
            Some(_) => {}
        }
    }
    assert!(markdown.contains("\n````\ntitle"), "{markdown}");
}

/// Asserts that an answer comes first in words, then drawn under these titles, then in tables with these cells.
fn check(name: &str, sentence: &str, titles: &[&str], cells: &[&str]) {
    let record = sample(name);
    let (page, wiki) = (html(record), markdown(&summary(record)));
    assert!(page.contains(sentence), "{name}: {sentence}: {}", page.split("</header>").next().unwrap());
    assert_eq!(page.matches("data-chart=\"plot\"").count(), titles.len(), "{name}");
    for title in titles {
        assert!(page.contains(&format!("<figcaption>{title}")), "{name}: {title}");
    }
    for cell in cells {
        assert!(page.contains(&format!(">{cell}<")), "{name}: {cell}");
        assert!(wiki.contains(&cell.replace("&lt;", "\\<")), "{name}: {cell}");
    }
}

#[test]
fn rounds_of_a_test_are_drawn_as_the_standard_has_them() {
    check(
        "pts-iops",
        "steady at round",
        &[
            "Steady state: IOPS of RND 4 KiB 0/100",
            "Convergence of all block sizes",
            "Convergence of other sizes and mixes",
            "IOPS by block size and reads/writes, mean of the window, as bars",
            "IOPS by block size, a line per mix of reads and writes",
        ],
        &["0.5 KiB", "window"],
    );
    check(
        "pts-throughput",
        "at round",
        &[
            "Steady state: throughput of SEQ 128 KiB 0/100",
            "Convergence of reads and writes",
            "Throughput by block size and reads/writes, mean of the window, as bars",
            "Steady state: throughput of SEQ 1024 KiB 0/100",
            "Convergence of reads and writes",
            "Throughput by block size and reads/writes, mean of the window, as bars",
        ],
        &["SEQ 128 KiB 100/0", "Round by round: reads and writes"],
    );
    check(
        "pts-latency",
        "at round",
        &[
            "Steady state: mean response time of RND 4 KiB 0/100",
            "Convergence of all block sizes",
            "Convergence of the largest response times of all block sizes",
            "Mean response time, mean of the window, as bars",
            "Largest response time of a round, mean of the window, as bars",
            "Response-time histogram: histogram, RND 4 KiB 0/100 T1Q1",
            "Response time over the share of operations",
        ],
        &["Round by round: the largest response times of all block sizes"],
    );
    check(
        "pts-dirth",
        "at round",
        &[
            "Steady state: IOPS of RND 8 KiB 0/100",
            "Steady state: IOPS of RND 8 KiB 65/35",
            "Convergence of all numbers of threads at depth 32",
            "IOPS, mean of the window, as bars",
            "Mean response time, mean of the window, as bars",
            "Demand variation: IOPS over queue depth",
            "Demand intensity: response time over IOPS",
            "Demand: IOPS over total outstanding I/O",
            "Demand: response time over total outstanding I/O",
            "IOPS over time",
            "Response time over time",
            "IOPS over what was written",
            "IOPS over total gigabytes written",
            "IOPS over time, logarithmic axis",
            "IOPS over what was written, logarithmic axis",
            "IOPS over total gigabytes written, logarithmic axis",
        ],
        &["1 thread", "32 threads"],
    );
}

#[test]
fn an_answer_comes_first_in_words_then_drawn_then_in_tables() {
    check(
        "curve",
        "More load does harm: throughput peaks",
        &["Throughput over load", "Response time over load"],
        &["3 times", "p99 latency 5.00 ms", "usl"],
    );
    check(
        "objective",
        "The limits are reached at ",
        &[
            "p99 of the response time over the rate",
            "What was done of what was asked",
            "Rates in the order in which they were tried",
        ],
        &["overloaded", "p99 &lt; 2.00 ms"],
    );
    check(
        "wsat",
        "steady at round",
        &[
            "Steady state: IOPS of RND 4 KiB 0/100",
            "IOPS over time",
            "Response time over time",
            "IOPS over what was written",
            "IOPS over total gigabytes written",
            "IOPS over time, logarithmic axis",
            "IOPS over what was written, logarithmic axis",
            "IOPS over total gigabytes written, logarithmic axis",
        ],
        &[],
    );
    check(
        "scan",
        "CANNOT BE READ",
        &[
            "Bandwidth of reads by place",
            "Latency of reads by place",
            "Places by the class of their slowest read",
            "Reads by latency",
            "Access time by place",
        ],
        &["unreadable", "EIO", "n/a (needs n ≥ 1000 reads)", "drive nvme0n1: media errors 0 → 2, wear 3 %"],
    );
}

#[test]
fn markdown_of_a_sweep() {
    let record = sample("sweep");
    insta::assert_snapshot!(markdown(&summary(record)));
}

/// The form that `web/src/charts/types.ts` reads: its tests open the same file.
#[test]
fn the_data_of_charts_has_the_form_that_the_browser_reads() {
    let record = sample("short");
    let text = serde_json::to_string_pretty(&charts(record)).unwrap() + "\n";
    let path = web().join("src/charts/charts.fixture.json");
    if std::env::var_os("FATHOM_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == text,
        "web/src/charts/charts.fixture.json is stale; FATHOM_BLESS=1 cargo test -p fathom-report writes it"
    );
}

/// Sources of the bundles, as paths from `web/`.
fn web_sources() -> Vec<String> {
    let mut found: Vec<String> = [
        "index.html",
        "package.json",
        "package-lock.json",
        "svelte.config.js",
        "tsconfig.json",
        "vite.config.js",
    ]
    .map(str::to_owned)
    .to_vec();
    found.push("scripts/build.js".to_owned());
    let mut folders = vec![web().join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(web()).unwrap().to_string_lossy().into_owned());
            }
        }
    }
    found.retain(|path| !path.ends_with(".test.ts") && !path.ends_with(".fixture.json"));
    found.sort();
    found
}

#[test]
fn built_assets_are_those_of_the_sources() {
    let stale = "web/dist is stale; run: cd web && npm ci && npm run build";
    let sums = std::fs::read_to_string(web().join("dist/SOURCES.sha256")).unwrap();
    let listed: Vec<&str> =
        sums.lines().filter_map(|line| line.split_once("  ")).map(|(_, path)| path).collect();
    assert_eq!(listed, web_sources(), "{stale}");
    let output = Command::new("sha256sum")
        .args(["--check", "--strict", "--quiet", "dist/SOURCES.sha256"])
        .current_dir(web())
        .output()
        .expect("coreutils has sha256sum");
    assert!(output.status.success(), "{stale}\n{}", String::from_utf8_lossy(&output.stdout));
}
