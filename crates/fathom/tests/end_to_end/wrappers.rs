//! What scripts and wrappers around fio see of `fathom fio`: which words go where. Most of them take any word on standard
//! error for a failure.

use crate::support::{Bench, FATHOM, skip, tool};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;

/// A job that fathom warns of and fio does not: buffered reads through libaio.
const WARNED: &str = "fio --name=a --filename=f --ioengine=libaio --rw=read --size=64k";

#[test]
fn warnings_are_notes_of_the_report_and_of_the_record() {
    let bench = Bench::new();
    let note = "note: ";
    let code = "[plan.buffered-libaio]";
    let ended = bench.fathom(WARNED);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{ended:#?}");
    // After all else: scripts take figures by the number of a line.
    let (report, notes) = ended.out.split_once(&format!("\n{note}")).expect("a report, and notes");
    assert!(notes.contains(code) && !report.contains(note), "{ended:#?}");
    // The record has them for whoever looks later.
    let report = bench.report();
    let kept = report["notes"].as_array().expect("a report has notes");
    assert!(kept.iter().any(|note| note["message"].as_str().is_some_and(|text| text.contains(code))));
    // A document stays one document, and has them too.
    let ended = bench.fathom(&format!("{WARNED} --output-format=json"));
    assert_eq!(ended.err, "");
    let document = ended.json();
    let kept = document["fathom"]["notes"].as_array().expect("fathom's key has notes");
    assert!(kept.iter().any(|note| note["message"].as_str().is_some_and(|text| text.contains(code))));
    let ended = bench.fathom(&format!("{WARNED} --minimal"));
    assert_eq!((ended.err.as_str(), ended.out.lines().count()), ("", 1), "{ended:#?}");
    // With the report they go into its file.
    let ended = bench.fathom(&format!("{WARNED} --output=report"));
    assert_eq!((ended.err.as_str(), ended.out.as_str()), ("", ""));
    let report = std::fs::read_to_string(bench.path("report")).expect("it was written");
    assert!(report.contains(code), "{report}");
}

#[test]
fn what_makes_figures_invalid_is_said_behind_the_report_and_in_the_document() {
    let bench = Bench::new();
    bench.write("f", "x".repeat(65_536));
    let job = "fio --name=a --filename=f --ioengine=null --rw=read --size=64k";
    let ended = bench.fathom(job);
    let invalid = "note: INVALID: the null engine does no I/O";
    let last = ended.out.lines().last().expect("a report");
    assert!(last.starts_with(invalid) && last.ends_with("[engine.null]"), "{ended:#?}");
    assert_eq!(
        (ended.code, ended.err.as_str(), ended.out.matches("INVALID").count()),
        (0, "", 1),
        "{ended:#?}"
    );
    let document = bench.fathom(&format!("{job} --output-format=json")).json();
    let found = document["fathom"]["findings"].as_array().expect("a list");
    assert!(found.iter().any(|one| one["id"] == "engine.null" && one["severity"] == "invalid"), "{found:#?}");
    let ended = bench.fathom(&format!("{job} --minimal"));
    assert_eq!((ended.err.as_str(), ended.out.lines().count()), ("", 1), "{ended:#?}");
}

#[test]
fn warnings_stay_messages_where_somebody_wants_them() {
    let bench = Bench::new();
    let code = "warning[plan.buffered-libaio]";
    bench.fathom(&format!("{WARNED} --warnings-fatal")).expect(0, &[code]);
    bench.write("job.fio", "[a]\nfilename=f\nioengine=libaio\nrw=read\nsize=64k\n");
    bench.fathom("run --quiet job.fio").expect(0, &[code]);
    bench.fathom("fio --parse-only --readw=read --name=a").expect(0, &["warning[fio.misread]"]);
    // A terminal: `script` gives one.
    let line = format!("{FATHOM} {WARNED}");
    let ended = bench.run(&["script", "-qec", &line, "/dev/null"]);
    assert!(ended.out.contains("plan.buffered-libaio") && !ended.out.contains("note: "), "{ended:#?}");
}

#[test]
fn an_old_report_is_not_left_for_that_of_jobs_that_are_wrong() {
    let left = |program: &[&str], line: &str| {
        let bench = Bench::new();
        bench.write("report", "what was before");
        bench.write("wrong.fio", "[a]\nsize=4k\nbogus=1\n");
        let words: Vec<&str> = program.iter().copied().chain(line.split(' ')).collect();
        let code = bench.run(&words).code;
        (code, std::fs::read_to_string(bench.path("report")).expect("it is there"))
    };
    let lines = [
        "--output=report wrong.fio",
        "--output=report absent.fio",
        "--output=report --name=a --size=64k --bs=128k",
        "--output=report --readonly --name=a --rw=write --size=64k",
    ];
    for line in lines {
        assert_eq!(left(&[FATHOM, "fio"], line), (1, String::new()), "{line}");
        if tool("fio", &["--version"]).is_ok() {
            // Its messages go there.
            let (code, theirs) = left(&["fio"], line);
            assert!(code == 1 && !theirs.contains("what was before"), "{line}: {theirs}");
        }
    }
    // A target is no report, whatever is wrong.
    let line = "--output=report --name=a --filename=report --rw=read --size=64k --bs=128k";
    assert_eq!(left(&[FATHOM, "fio"], line), (1, "what was before".to_owned()));
}

/// The scripts that come with Debian's fio, on what both tools have written of the same job: they end alike, and make the
/// same files of it.
#[test]
fn the_scripts_that_come_with_the_peer_read_what_is_written() {
    const NAME: &str = "the_scripts_that_come_with_the_peer_read_what_is_written";
    let needed = ["fio_jsonplus_clat2csv", "fio2gnuplot", "/usr/share/doc/fio/fio-histo-log-pctiles.py.gz"];
    if let Err(why) = tool("which", &needed[..2]).and(tool("test", &["-r", needed[2]])) {
        return skip(NAME, &why);
    }
    let job = "--name=a --filename=f --size=4m --rw=randrw --time_based --runtime=1200ms --log_avg_msec=200 --log_hist_msec=200 \
               --write_bw_log=x --write_iops_log=x --write_hist_log=x --output-format=json+ --output=o.json";
    let made = |program: &[&str]| {
        let bench = Bench::new();
        bench.run(&[program, &job.split_whitespace().collect::<Vec<_>>()].concat()).expect(0, &[]);
        let document: serde_json::Value =
            serde_json::from_slice(&std::fs::read(bench.path("o.json")).expect("it was written"))
                .expect("it is a document");
        let mut said = Vec::new();
        // Counts add up to those of the document.
        let ended = bench.run(&["fio_jsonplus_clat2csv", "o.json", "o.csv"]);
        said.push(ended.expect(0, &[]).out.clone());
        let table = std::fs::read_to_string(bench.path("o_job0.csv")).expect("it was written");
        let header: Vec<&str> = table.lines().next().unwrap_or_default().split(", ").collect();
        let column = header.iter().position(|name| *name == "read_clat_ns_count").expect("it has one");
        let counts = table.lines().skip(1).filter_map(|row| row.split(", ").nth(column)?.parse::<u64>().ok());
        let of_document = document["jobs"][0]["read"]["clat_ns"]["N"].as_u64().expect("a count");
        assert_eq!(counts.sum::<u64>(), of_document, "{program:?}");
        said.push(header.join(","));
        // Rows of percentiles over time: how many, a busy machine decides.
        let unpack = format!(
            "gzip -dc {} > p.py && python3 p.py --fio-version 3 --log-hist-msec 200 x_clat_hist.1.log",
            needed[2]
        );
        let ended = bench.run(&["sh", "-c", &unpack]);
        let (head, rows) = ended.expect(0, &[]).out.split_once("max, ").expect("a heading");
        assert!(rows.lines().filter(|row| row.contains(',')).count() >= 1, "{program:?}: {rows}");
        said.push(head.to_owned());
        let ended = bench.run(&["fio2gnuplot", "-b", "-k", "-p", "x_bw*.log"]);
        said.push(ended.expect(0, &[]).out.clone());
        let mut files: Vec<String> = bench.snapshot().keys().map(|path| path.display().to_string()).collect();
        files.iter_mut().for_each(|path| *path = path.rsplit('/').next().unwrap_or_default().to_owned());
        files.sort();
        said.extend(files);
        said
    };
    assert_eq!(made(&[FATHOM, "fio"]), made(&["fio"]));
}

/// Job files that `genfio` writes are read.
#[test]
fn job_files_that_the_peers_script_writes_are_read() {
    if let Err(why) = tool("which", &["genfio"]) {
        return skip("job_files_that_the_peers_script_writes_are_read", &why);
    }
    let bench = Bench::new();
    bench.write("f", vec![1; 1 << 20]);
    let file = bench.path("f").display().to_string();
    bench.run(&["genfio", "-d", &file, "-z", "1m", "-r", "1", "-b", "4k,64k", "-m", "write,randwrite", "-s"]);
    let jobs: Vec<_> =
        bench.snapshot().into_keys().filter(|path| path.extension().is_some_and(|of| of == "fio")).collect();
    assert!(!jobs.is_empty(), "it writes one");
    for job in jobs {
        let path = job.display().to_string();
        let shown = |program: &[&str]| bench.run(&[program, &["--showcmd", &path]].concat());
        assert_eq!(shown(&[FATHOM, "fio"]).expect(0, &[]).out.trim(), shown(&["fio"]).out.trim(), "{path}");
    }
}

/// Scripts that look for a key by its name, line by line, find no more of them than in a document of fio's.
#[test]
fn no_key_below_fathoms_own_is_one_of_fios() {
    fn keys(value: &Value, into: &mut BTreeSet<String>) {
        match value {
            Value::Object(map) => map.iter().for_each(|(key, value)| {
                into.insert(key.clone());
                keys(value, into);
            }),
            Value::Array(all) => all.iter().for_each(|value| keys(value, into)),
            _ => {}
        }
    }
    let bench = Bench::new();
    let line = "fio --name=a --ioengine=null --rw=randrw --size=4m --fsync=64 --output-format=json+";
    let mut document = bench.fathom(line).expect(0, &[]).json();
    let own = document.as_object_mut().expect("an object").remove("fathom").expect("it has the key");
    let (mut ours, mut theirs) = (BTreeSet::new(), BTreeSet::new());
    keys(&own, &mut ours);
    assert!(ours.remove("jobs"), "the list itself has the name of fio's");
    keys(&document, &mut theirs);
    assert!(ours.contains("percentiles_ns") && theirs.contains("percentile"), "{ours:?}");
    assert_eq!(ours.intersection(&theirs).collect::<Vec<_>>(), [] as [&String; 0]);
}

/// A container or a remote shell that was given a terminal: all that comes from it is read as one.
#[test]
fn a_document_on_a_terminal_is_nothing_but_the_document() {
    let bench = Bench::new();
    for options in ["--output-format=json", "--output-format=json --eta=never"] {
        let line = format!("{FATHOM} {WARNED} --time_based --runtime=1 {options}");
        let ended = bench.run(&["script", "-qec", &line, "/dev/null"]);
        let document: Value =
            serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error}: {ended:#?}"));
        let notes = document["fathom"]["notes"].as_array().expect("fathom's key has notes");
        assert!(notes.iter().any(|note| note.to_string().contains("plan.buffered-libaio")), "{notes:#?}");
    }
    let ended = bench.run(&["script", "-qec", &format!("{FATHOM} {WARNED} --minimal"), "/dev/null"]);
    assert_eq!(ended.out.trim_end().lines().count(), 1, "{ended:#?}");
    // Errors are said wherever it is.
    let line = format!("{FATHOM} fio --name=a --filename=none/f --rw=read --output-format=json");
    let ended = bench.run(&["script", "-qec", &line, "/dev/null"]);
    assert!(ended.code != 0 && ended.out.contains("none/f"), "{ended:#?}");
}

/// Wrappers send a second signal while the first is obeyed; what was measured is reported all the same.
#[test]
fn signals_behind_the_first_cost_no_report() {
    let bench = Bench::new();
    let mut running = bench.start(
        "fio --name=a --filename=f --rw=write --size=8m --time_based --runtime=60 --rate_iops=500 --output-format=json \
         --output=out --eta=always --eta-newline=100ms --status-interval=100ms",
    );
    while !std::fs::read_to_string(bench.path("out")).is_ok_and(|text| text.contains("jobs")) {
        assert!(running.is_running(), "it would go on for a minute");
    }
    running.signal(Signal::INT);
    while running.is_running() {
        running.signal(Signal::TERM);
    }
    let ended = running.ended();
    assert_eq!(ended.code, 128, "{ended:#?}");
    let text = std::fs::read_to_string(bench.path("out")).expect("it was written");
    let documents = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    let last = documents.map(|document| document.expect("each is whole")).last().expect("a report");
    assert!(last["jobs"][0]["write"]["total_ios"].as_u64().is_some_and(|count| count > 0), "{last:#}");
}

/// Monitors divide by what the lines say: a ramp is no time in which nothing is done.
#[test]
fn reports_in_a_ramp_tell_what_is_done_in_it() {
    let bench = Bench::new();
    let line = "fio --name=a --filename=f --rw=read --size=1m --rate_iops=200 --time_based --runtime=1 --ramp_time=2 --minimal \
                --status-interval=500ms";
    let ended = bench.fathom(line).expect(0, &[]).out.clone();
    let field = |line: &str, at: usize| -> u64 {
        line.split(';').nth(at).and_then(|word| word.parse().ok()).unwrap_or(0)
    };
    // Fields 6 to 9: kilobytes, bandwidth, operations per second, runtime in milliseconds.
    let told: Vec<[u64; 4]> = ended.lines().map(|line| [5, 6, 7, 8].map(|at| field(line, at))).collect();
    assert!(told.len() >= 3, "one in the ramp, one behind it, and the last: {told:?}");
    assert!(told.iter().all(|figures| figures.iter().all(|&figure| figure > 0)), "{told:?}");
    assert!(
        told.windows(2).any(|pair| pair[1][3] < pair[0][3]),
        "figures begin anew behind the ramp: {told:?}"
    );
}
