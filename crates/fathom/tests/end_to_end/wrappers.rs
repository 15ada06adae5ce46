//! What scripts and wrappers around fio see of `fathom fio`: which words go where. Most of them take any word on standard
//! error for a failure.

use crate::support::{Bench, FATHOM};

/// A job that fathom warns of and fio does not: buffered reads through libaio.
const WARNED: &str = "fio --name=a --filename=f --ioengine=libaio --rw=read --size=64k";

#[test]
fn warnings_are_notes_of_the_report_and_of_the_record() {
    let bench = Bench::new();
    let note = "note: ";
    let code = "[plan.buffered-libaio]";
    let ended = bench.fathom(WARNED);
    assert_eq!((ended.code, ended.err.as_str()), (0, ""), "{ended:#?}");
    let (opening, report) = ended.out.split_once("\n\n").expect("a banner, and a report");
    let notes: Vec<&str> = opening.lines().filter(|line| line.starts_with(note)).collect();
    assert!(notes.iter().any(|line| line.contains(code)), "{ended:#?}");
    assert!(!report.contains(note), "{ended:#?}");
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
