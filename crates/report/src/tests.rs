//! Renderings of constructed records, kept as snapshots that a person has read, and checks that hold for every record.

use crate::{
    Csv, FioEntry, FioLog, FioMeasures, FioShape, FioUnified, FioUnits, FioWorkers, LogColumns, LogRequest,
    LogValue, fio_json, fio_logs, fio_normal, fio_operation_log, fio_terse, html, json, json_schema,
    markdown, summary, text, text_of_answer,
};
use fathom_analysis::sample::{StreamShape, push, record};
use fathom_metrics::OperationRow;
use fathom_schema::{
    Arrival, Backlog, EnvironmentFact, Event, Note, NoteKind, OperationKind, Outcome, Pacing, Record,
    Severity, Tolerance,
};
use fathom_units::Nanos;
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::process::Command;

mod steady;
mod targets;

const WIDTH: usize = 100;

/// One stream, closed loop, sound.
fn simple() -> Record {
    let mut record = record(&[StreamShape { name: "oltp", ..StreamShape::default() }]);
    record.started.facts.environment = vec![
        EnvironmentFact {
            subject: "kernel".to_owned(),
            name: "release".to_owned(),
            value: Some("6.12.0".to_owned()),
            source: "/proc/sys/kernel/osrelease".to_owned(),
        },
        EnvironmentFact {
            subject: "device nvme0n1".to_owned(),
            name: "scheduler".to_owned(),
            value: None,
            source: "/sys/block/nvme0n1/queue/scheduler".to_owned(),
        },
    ];
    record
}

/// Two streams, one of them open, with errors, notes and a name that tries to steer the terminal.
fn mixed() -> Record {
    let open =
        Pacing::Open { rate: 1000.0, arrival: Arrival::Poisson, course: Vec::new(), backlog: Backlog::Keep };
    let mut record = record(&[
        StreamShape {
            name: "mix\u{1b}[2J",
            rates: vec![(OperationKind::Read, 7000), (OperationKind::Write, 3000), (OperationKind::Sync, 10)],
            block_bytes: 8192,
            workers: 5,
            queue_depth: 30,
            ..StreamShape::default()
        },
        StreamShape {
            name: "=paced()",
            rates: vec![(OperationKind::Write, 1000)],
            random: false,
            queue_depth: 8,
            fullness: 0.2,
            pacing: open,
            ..StreamShape::default()
        },
    ]);
    let finished = record.steps[0].finished.as_mut().unwrap();
    finished.streams[0].workers[0].tally.kinds[0].errors = vec![(5, 3)];
    let tolerant = &mut record.steps[0].started.step.streams[0].control;
    tolerant.tolerates = Tolerance::Listed { reads: vec![5], writes: Vec::new() };
    let note = Note {
        at: Nanos::secs(1),
        kind: NoteKind::Engine,
        severity: Severity::Info,
        message: "psync has no queue: 30 workers at depth 1 stand for one at depth 30".to_owned(),
    };
    record.push(Event::Note(note)).unwrap();
    record
}

/// A sweep whose second step was killed after its third second.
fn killed() -> Record {
    let shape = StreamShape { name: "sweep", seconds: 6, ..StreamShape::default() };
    let mut record = record(std::slice::from_ref(&shape));
    push(&mut record, &[StreamShape { queue_depth: 8, rates: vec![(OperationKind::Read, 30)], ..shape }], 1);
    record.steps[1].started.wall_ms += 6_100;
    record.steps[1].finished = None;
    record.steps[1].intervals.truncate(3);
    record.finished = None;
    record
}

#[test]
fn text_of_one_stream() {
    insta::assert_snapshot!(text(&summary(&simple()), WIDTH, false));
}

#[test]
fn text_of_two_streams_with_errors() {
    insta::assert_snapshot!(text(&summary(&mixed()), WIDTH, false));
}

#[test]
fn text_of_a_killed_sweep() {
    insta::assert_snapshot!(text(&summary(&killed()), WIDTH, false));
}

#[test]
fn text_with_colours_on_a_narrow_terminal() {
    insta::assert_snapshot!(text(&summary(&mixed()), 60, true).replace('\u{1b}', "ESC"));
}

#[test]
fn text_fits_and_says_nothing_unprintable() {
    let mut empty = simple();
    empty.steps.clear();
    empty.finished.as_mut().unwrap().outcome =
        Outcome::Failed { reason: "no space left on the target".to_owned() };
    for record in [simple(), mixed(), killed(), empty] {
        for width in [40, 60, 100, 200] {
            let text = text(&summary(&record), width, false);
            for line in text.lines() {
                assert!(line.chars().count() <= width && !line.chars().any(char::is_control), "{line:?}");
                assert_eq!(line, line.trim_end());
            }
        }
    }
}

/// Ten thousand files are no ten thousand lines.
#[test]
fn of_many_targets_the_first_have_a_line() {
    let with = |targets: usize| {
        let mut record = simple();
        let one = record.started.facts.targets[0].clone();
        record.started.facts.targets = vec![one; targets];
        let summary = summary(&record);
        (text(&summary, WIDTH, false), markdown(&summary))
    };
    for (targets, says) in [(40, false), (41, true), (10_000, true)] {
        let (text, markdown) = with(targets);
        let more = format!("and {} more targets, which are in JSON only", targets - 40);
        assert_eq!((text.contains(&more), markdown.contains(&more)), (says, says), "{targets}");
    }
}

#[test]
fn thresholds_are_in_every_form_of_a_report() {
    let mut record = killed();
    let thresholds = ["p99<1s", "iops>2k", "write.p99<1ms"].map(|text| text.parse().unwrap()).to_vec();
    record.started.thresholds = thresholds;
    let summary = summary(&record);
    for page in [text(&summary, WIDTH, false), markdown(&summary), html(&record)] {
        for part in [
            "5 of 6 thresholds are breached. 2 steps, the most IOPS in main",
            "n/a: no such operation was completed",
            "n/a: the step has no end",
            "kept",
        ] {
            assert!(page.contains(part), "{part} is not in {page}");
        }
    }
    assert!(text_of_answer(&summary, 72, false).lines().all(|line| line.chars().count() <= 72));
    record.steps.clear();
    let page = text(&crate::summary(&record), WIDTH, false);
    assert!(page.starts_with("Nothing was measured: no threshold could be judged."), "{page}");
}

#[test]
fn a_resolved_job_stays_in_its_block_and_has_an_end() {
    let job = |record: &Record| {
        let page = markdown(&summary(record));
        let (_, job) = page.split_once("## Resolved job\n\n").expect("it is there");
        job.split("\n\n## ").next().expect("it ends").to_owned()
    };
    let mut record = simple();
    record.steps[0].started.step.streams[0].name = "a ```` b".to_owned();
    let found = job(&record);
    assert!(found.starts_with("`````\n{") && found.ends_with("}\n`````"), "{found}");
    record.steps[0].started.step.streams[0].name = "x".repeat(70_000);
    let found = job(&record);
    assert!(found.ends_with("\n```\n\ncut here; JSON has the rest"), "{}", &found[found.len() - 80..]);
    assert!(found.len() < 66_000);
}

#[test]
fn percentiles_need_enough_operations() {
    for (per_second, expect) in [
        (1_u64, vec![true, true, false, false, false, false]),
        (10, vec![true, true, true, true, false, false]),
        (1000, vec![true; 6]),
    ] {
        let shape = StreamShape { rates: vec![(OperationKind::Read, per_second)], ..StreamShape::default() };
        let summary = summary(&record(&[shape]));
        let percentiles = &summary.steps[0].total.all.response.percentiles;
        let known: Vec<bool> = percentiles.iter().map(|p| p.ns.is_some()).collect();
        assert_eq!(known, expect, "{per_second}/s for 10 s");
    }
}

#[test]
fn rates_are_over_the_window_of_all_workers() {
    let mut record = record(&[StreamShape { workers: 2, ..StreamShape::default() }]);
    let workers = &mut record.steps[0].finished.as_mut().unwrap().streams[0].workers;
    workers[0].end = Nanos::secs(5);
    workers[1].start = Nanos::secs(10);
    workers[1].end = Nanos::secs(20);
    let total = &summary(&record).steps[0].total;
    assert_eq!((total.start_s, total.end_s, total.all.operations), (0.0, 20.0, 20_000));
    assert_eq!(total.all.iops, 1000.0);
}

#[test]
fn a_total_over_closed_and_open_streams_counts_every_response() {
    let summary = summary(&mixed());
    let write = summary.steps[0].total.kinds.iter().find(|kind| kind.kind == "write").unwrap();
    assert_eq!(write.response.count, write.service.count);
    assert!(write.response.mean_ns > write.service.mean_ns);
}

#[test]
fn json_document_of_one_stream() {
    let mut record = simple();
    record.steps[0].intervals.truncate(2);
    let mut document: Value = serde_json::from_str(&json(&summary(&record))).unwrap();
    // The resolved step is schema's own form, kept by its fixtures.
    document["steps"][0]["resolved"] = Value::Null;
    insta::assert_snapshot!(serde_json::to_string_pretty(&document).unwrap());
}

#[test]
fn json_schema_is_kept_in_docs() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/generated/report.schema.json");
    if std::env::var_os("FATHOM_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, json_schema()).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == json_schema(),
        "docs/generated/report.schema.json is stale; FATHOM_BLESS=1 cargo test -p fathom-report writes it"
    );
}

#[test]
fn json_has_what_its_schema_requires() {
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    let document: Value = serde_json::from_str(&json(&summary(&mixed()))).unwrap();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let check = |name: &str, found: &Value| {
        let definition = if name.is_empty() { &schema } else { &schema["$defs"][name] };
        assert_eq!(keys(found), keys(&definition["properties"]), "{name}");
    };
    check("", &document);
    check("StepSummary", &document["steps"][0]);
    check("StreamSummary", &document["steps"][0]["streams"][0]);
    check("KindSummary", &document["steps"][0]["total"]["all"]);
    check("Point", &document["steps"][0]["streams"][0]["series"][0]);
}

fn csv_of(record: &Record) -> String {
    let mut out = Vec::new();
    let mut rows = Csv::new(&mut out).unwrap();
    for interval in record.steps.iter().flat_map(|step| &step.intervals) {
        rows.interval(record, interval).unwrap();
    }
    rows.finish().unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn csv_rows_are_intervals_and_kinds() {
    let mut record = mixed();
    record.steps[0].intervals.retain(|interval| interval.sequence == 1);
    for interval in &mut record.steps[0].intervals {
        (interval.tally.arrivals_dropped, interval.tally.backlog_max) = (3, 7);
    }
    // The first is on the interval's first instant, the last on that of the next.
    let begun_ms = record.steps[0].started.wall_ms - record.started.wall_ms;
    for (ms, text) in [(1000, "=fan stopped"), (1999, "second"), (2000, "third")] {
        record.notes.push(fathom_schema::Note::mark(fathom_units::Nanos::millis(begun_ms + ms), text));
    }
    insta::assert_snapshot!(csv_of(&record).replace('\r', ""));
}

fn shape(entries: Vec<FioEntry>, json_plus: bool) -> FioShape {
    let version = "fio-3.33".to_owned();
    FioShape {
        running: Vec::new(),
        eta_s: 0,
        entries,
        globals: Vec::new(),
        has_globals: false,
        version,
        json_plus,
        disk_util: true,
        idleness: None,
        pid: 4711,
    }
}

fn entry(worker: Option<usize>) -> FioEntry {
    FioEntry {
        jobname: "a".to_owned(),
        options: vec![("rw".to_owned(), "randrw".to_owned())],
        has_options: true,
        workers: vec![FioWorkers { step: 0, stream: 0, worker }],
        percentiles: vec![
            1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
            99.99,
        ],
        clat_percentiles: true,
        kept_latency: (100.0, 0),
        ..FioEntry::default()
    }
}

#[test]
fn fio_document_of_two_streams() {
    let mut first = shape(vec![entry(None)], false);
    first.has_globals = true;
    first.globals = vec![("bs".to_owned(), "8k".to_owned()), ("time_based".to_owned(), String::new())];
    first.entries[0].desc = "the \"mix\"".to_owned();
    first.entries[0].continues_on_error = true;
    insta::assert_snapshot!(fio_json(&mixed(), &first));
}

/// As its figures are not fio's, only what is printed of them is read here; `peer_reports` compares the lines.
#[test]
fn fio_normal_report_of_two_streams() {
    let mut entry = FioEntry { members: 5, lat_percentiles: true, percentile_digits: 2, ..entry(None) };
    entry.desc = "the \"mix\"".to_owned();
    entry.continues_on_error = true;
    let other = FioEntry {
        jobname: "b".to_owned(),
        groupid: 1,
        members: 1,
        percentiles: vec![99.999, 50.0],
        percentile_digits: 3,
        workers: vec![FioWorkers { step: 0, stream: 1, worker: None }],
        units: FioUnits { is_binary: false, is_bits: true, digits: 6 },
        unified: FioUnified::Both,
        measures: FioMeasures { submission: false, ..FioMeasures::default() },
        ..entry.clone()
    };
    insta::assert_snapshot!(fio_normal(&mixed(), &shape(vec![entry, other], false)));
}

#[test]
fn fio_terse_report_of_two_streams() {
    let described = FioEntry { desc: "mix".to_owned(), continues_on_error: true, ..entry(None) };
    let bare =
        FioEntry { measures: FioMeasures { completion: false, ..FioMeasures::default() }, ..entry(Some(1)) };
    let shape = shape(vec![described, bare], false);
    let lines: String = (2..=5).map(|version| fio_terse(&mixed(), &shape, version)).collect();
    insta::assert_snapshot!(lines.replace(';', "; "));
}

/// Paths of all keys in order; what varies by measurement (bins, options, devices) is left out.
fn key_tree(document: &str) -> Vec<String> {
    fn walk(value: &Value, path: &str, out: &mut Vec<String>) {
        match value {
            Value::Object(object) => {
                for (key, value) in object {
                    let path = format!("{path}/{key}");
                    out.push(path.clone());
                    if !["bins", "job options", "global options"].contains(&key.as_str()) {
                        walk(value, &path, out);
                    }
                }
            }
            Value::Array(items) => items.iter().take(1).for_each(|item| walk(item, path, out)),
            _ => {}
        }
    }
    let mut out = Vec::new();
    walk(&serde_json::from_str(document).unwrap(), "", &mut out);
    out.retain(|path| !path.starts_with("/disk_util") && !path.starts_with("/fathom"));
    out
}

#[test]
fn fio_document_has_the_keys_of_fio_in_its_order() {
    let arguments = ["--name=a", "--ioengine=null", "--size=1m", "--rw=randrw", "--fsync=8", "--iodepth=4"];
    for (format, json_plus) in [("json", false), ("json+", true)] {
        let ran = Command::new("fio").args(arguments).arg(format!("--output-format={format}")).output();
        let Ok(output) = ran else {
            writeln!(std::io::stderr(), "SKIPPED fio_document_has_the_keys: fio is not installed")
                .expect("stderr can be written");
            return;
        };
        let theirs = String::from_utf8(output.stdout).unwrap();
        if !theirs.contains("\"fio version\" : \"fio-3.33\"") {
            writeln!(std::io::stderr(), "SKIPPED fio_document_has_the_keys: this fio is not 3.33")
                .expect("stderr can be written");
            return;
        }
        let mut ours = key_tree(&fio_json(&mixed(), &shape(vec![entry(None)], json_plus)));
        // The one key of later versions.
        ours.retain(|key| key != "/jobs/job_start");
        assert_eq!(ours, key_tree(&theirs), "{format}");
    }
}

#[test]
fn fio_entries_of_workers_add_up_to_their_stream() {
    let check = |record: &Record| {
        let figure = |worker| {
            let document = fio_json(record, &shape(vec![entry(worker)], false));
            let document: Value = serde_json::from_str(&document).unwrap();
            let read = &document["jobs"][0]["read"];
            ["total_ios", "io_bytes", "bw_bytes"].map(|key| read[key].as_u64().unwrap())
        };
        let all = figure(None);
        let sum = (0..5)
            .map(|worker| figure(Some(worker)))
            .fold([0; 3], |sum, one| [sum[0] + one[0], sum[1] + one[1], sum[2] + one[2]]);
        assert!(all[0] > 0);
        assert_eq!((all[0], all[1]), (sum[0], sum[1]));
        // Each rate is cut to a whole number.
        assert!(all[2].abs_diff(sum[2]) <= 5, "{all:?} {sum:?}");
    };
    let mut record = mixed();
    check(&record);
    record.finished = None;
    record.steps[0].finished = None;
    check(&record);
}

#[test]
fn fio_entries_have_percentiles_of_their_own() {
    let check = |changed: FioEntry, latency: &str, expect: Option<usize>| {
        let document = fio_json(&mixed(), &shape(vec![entry(None), changed], false));
        let document: Value = serde_json::from_str(&document).unwrap();
        let count = |job: usize, latency: &str| {
            document["jobs"][job]["read"][latency]["percentile"].as_object().map(serde_json::Map::len)
        };
        assert_eq!((count(0, "clat_ns"), count(0, "lat_ns")), (Some(17), None));
        assert_eq!(count(1, latency), expect, "{latency}");
    };
    check(FioEntry { percentiles: vec![50.0, 99.0], ..entry(None) }, "clat_ns", Some(2));
    check(FioEntry { clat_percentiles: false, ..entry(None) }, "clat_ns", None);
    check(FioEntry { lat_percentiles: true, ..entry(None) }, "lat_ns", Some(17));
}

#[test]
fn fio_entry_without_figures_is_all_zero() {
    let mut lost = entry(None);
    lost.workers = vec![FioWorkers { step: 7, stream: 0, worker: None }];
    let document: Value = serde_json::from_str(&fio_json(&simple(), &shape(vec![lost], true))).unwrap();
    assert_eq!(document["jobs"][0]["read"]["total_ios"], 0);
    assert_eq!(document["jobs"][0]["usr_cpu"].as_f64(), Some(0.0));
}

#[test]
fn fio_logs_have_a_row_per_window_and_direction() {
    let record = mixed();
    let check = |log: FioLog, window: Nanos, expect: &[&str]| {
        let found = fio_logs(
            &record,
            &LogRequest { step: 0, stream: 0, log, window, columns: LogColumns::default() },
        );
        assert_eq!(found.lines().take(expect.len()).collect::<Vec<_>>(), expect, "{log:?}");
        found.lines().count()
    };
    let second = Nanos::secs(1);
    assert_eq!(check(FioLog::Iops, second, &["1000, 35000, 0, 0, 0", "1000, 15000, 1, 0, 0"]), 20);
    assert_eq!(check(FioLog::Bandwidth, Nanos::millis(500), &["1000, 280000, 0, 0, 0"]), 20);
    assert_eq!(check(FioLog::Submission, Nanos::secs(5), &["5000, 1000, 0, 0, 0"]), 4);
    assert_eq!(check(FioLog::Latency, Nanos::secs(4), &["4000, 2997003, 0, 0, 0"]), 6);
    assert_eq!(check(FioLog::Completion, Nanos::secs(100), &["10000, 2997003, 0, 0, 0"]), 2);
    let request = LogRequest {
        step: 0,
        stream: 0,
        log: FioLog::Histogram { coarseness: 4 },
        window: second,
        columns: LogColumns::default(),
    };
    let histogram = fio_logs(&record, &request);
    let row: Vec<u64> =
        histogram.lines().next().unwrap().split(", ").map(|field| field.parse().unwrap()).collect();
    assert_eq!((&row[..3], row.len()), (&[1000, 0, 8192][..], 3 + 1856 / 16));
    assert_eq!(row[3..].iter().sum::<u64>(), 35_000);
    assert_eq!(fio_logs(&record, &LogRequest { stream: 9, ..request }), "");
    let columns = LogColumns {
        value: LogValue::Both,
        offset: true,
        priority: true,
        issue_time: true,
        since_1970: true,
    };
    let request = LogRequest { log: FioLog::Latency, columns, ..request };
    let row = fio_logs(&record, &request).lines().next().unwrap().to_owned();
    let end_ms = record.steps[0].started.wall_ms + 1000;
    let slowest = record.steps[0].intervals[0].tally.kinds[0].service.moments.max_ns;
    assert_eq!(row, format!("{end_ms}, 2997003, {slowest}, 0, 0, 0, 0x0000, 0"));
}

/// A job that ends right behind the edge of a window has no window there, whose rate a few operations would make.
#[test]
fn the_last_window_of_a_fio_log_is_no_scrap() {
    let mut record = mixed();
    let last = |interval: &&mut fathom_schema::Interval| interval.stream == 0 && interval.sequence == 9;
    for interval in record.steps[0].intervals.iter_mut().filter(last) {
        interval.end = interval.start.after(Nanos::millis(1));
    }
    let (log, window, columns) = (FioLog::Iops, Nanos::secs(1), LogColumns::default());
    let found = fio_logs(&record, &LogRequest { step: 0, stream: 0, log, window, columns });
    let rows: Vec<&str> = found.lines().collect();
    // Reads and writes of nine windows, the last of which has what came within a millisecond as well.
    assert_eq!((rows.len(), rows[16]), (18, "9001, 69930, 0, 0, 0"));
    // One that is all there is stays.
    let window = Nanos::secs(1000);
    let found = fio_logs(&record, &LogRequest { step: 0, stream: 0, log, window, columns });
    assert_eq!(found.lines().count(), 2);
}

/// The time of a log counts from where the stream began, however long it had waited for another.
#[test]
fn fio_logs_begin_when_their_stream_does() {
    let mut record = mixed();
    let wait = Nanos::millis(501);
    record.steps[0].started.step.streams[0].control.after = vec![1];
    for interval in record.steps[0].intervals.iter_mut().filter(|interval| interval.stream == 0) {
        (interval.start, interval.end) = (interval.start.after(wait), interval.end.after(wait));
    }
    for worker in &mut record.steps[0].finished.as_mut().unwrap().streams[0].workers {
        (worker.start, worker.end) = (worker.start.after(wait), worker.end.after(wait));
    }
    let mut killed = record.clone();
    (killed.steps[0].finished, killed.finished) = (None, None);
    let begun_ms = record.steps[0].started.wall_ms + 501;
    for record in [record, killed] {
        let request = LogRequest {
            step: 0,
            stream: 0,
            log: FioLog::Iops,
            window: Nanos::secs(1),
            columns: LogColumns::default(),
        };
        assert!(fio_logs(&record, &request).starts_with("1000, 35000, 0, 0, 0\n"));
        let columns = LogColumns { since_1970: true, ..LogColumns::default() };
        let log = fio_logs(&record, &LogRequest { columns, ..request });
        assert!(log.starts_with(&format!("{}, 35000", begun_ms + 1000)), "{log}");
        let document: Value =
            serde_json::from_str(&fio_json(&record, &shape(vec![entry(None)], true))).unwrap();
        assert_eq!(document["jobs"][0]["job_start"], begun_ms);
    }
}

#[test]
fn fio_logs_have_a_row_per_operation() {
    let row = |kind, offset, at_us: u64| OperationRow {
        kind,
        reads_back: false,
        priority: if kind == OperationKind::Write { 1 << 13 | 2 } else { 0 },
        bytes: 4096,
        target: 0,
        offset,
        intended: Nanos::micros(at_us),
        submitted: Nanos::micros(at_us),
        accepted: Nanos::micros(at_us + 10),
        completed: Nanos::micros(at_us + 110),
    };
    let rows = [row(OperationKind::Write, 8192, 2500), row(OperationKind::Read, 0, 1000)];
    let columns = LogColumns { offset: true, ..LogColumns::default() };
    let request = LogRequest { step: 0, stream: 0, log: FioLog::Iops, window: Nanos::ZERO, columns };
    let check = |log: FioLog, expect: &str| {
        assert_eq!(fio_operation_log(&mixed(), &LogRequest { log, ..request }, &rows), expect, "{log:?}");
    };
    check(FioLog::Iops, "2, 1, 1, 4096, 8192, 1\n1, 1, 0, 4096, 0, 0\n");
    check(FioLog::Latency, "2, 110000, 1, 4096, 8192, 1\n1, 110000, 0, 4096, 0, 0\n");
    check(FioLog::Completion, "2, 100000, 1, 4096, 8192, 1\n1, 100000, 0, 4096, 0, 0\n");
    // 4096 bytes in 100 µs.
    check(FioLog::Bandwidth, "2, 40960, 1, 4096, 8192, 1\n1, 40960, 0, 4096, 0, 0\n");
    // A real-time priority is told; which one where that is asked for.
    let columns = LogColumns { priority: true, ..LogColumns::default() };
    let log = fio_operation_log(&mixed(), &LogRequest { columns, ..request }, &rows);
    assert_eq!(log, "2, 1, 1, 4096, 0x2002\n1, 1, 0, 4096, 0x0000\n");
    // In the order in which they went down.
    check(FioLog::Submission, "1, 10000, 0, 4096, 0, 0\n2, 10000, 1, 4096, 8192, 1\n");
    check(FioLog::Histogram { coarseness: 0 }, "");
}
