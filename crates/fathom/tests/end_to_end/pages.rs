//! `fathom report` in shapes for people, into files: written whole or not at all, and over nothing that matters.

use crate::support::Bench;

/// A stored run of a file target, with its id.
fn kept(bench: &Bench) -> String {
    bench.fathom("run --target data --size 64KiB --time 1s --block-size 4KiB --access random").expect(0, &[]);
    bench.report()["run"].as_str().expect("an id").to_owned()
}

#[test]
fn a_page_goes_to_standard_output_or_into_a_file() {
    let bench = Bench::new();
    let run = kept(&bench);
    let page = bench.fathom("report last --format html").expect(0, &[]).out.clone();
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"), "{page:.200}");
    assert!(page.contains(&run));
    let ended = bench.fathom("report last --format html --output report.html");
    assert_eq!(ended.expect(0, &["report: report.html"]).out, "");
    let read = |name: &str| std::fs::read_to_string(bench.path(name)).expect("it was written");
    assert_eq!(read("report.html"), page);
    for (format, part) in [
        ("markdown", "## Can it be trusted?"),
        ("text", "Can it be trusted?"),
        ("json", "\"validity\""),
        ("csv", "run,step,"),
    ] {
        bench.fathom(&format!("report last --format {format} -o report.html")).expect(0, &["report: "]);
        assert!(read("report.html").contains(part), "{format}");
        let printed = bench.fathom(&format!("report last --format {format}")).expect(0, &[]).out.clone();
        assert_eq!(read("report.html"), printed, "{format}");
    }
    let files: Vec<_> = bench.snapshot().into_keys().collect();
    assert_eq!(files.len(), 2, "the target and the report: {files:?}");
}

#[test]
fn a_report_is_written_over_nothing_that_matters() {
    let bench = Bench::new();
    let run = kept(&bench);
    std::os::unix::fs::symlink("data", bench.path("link")).expect("the folder is ours");
    let record = bench.store().join(format!("{run}.fathom"));
    let (record, store) = (record.display(), bench.store());
    let before =
        (bench.snapshot(), std::fs::read(bench.store().join(format!("{run}.fathom"))).expect("it is kept"));
    for (output, code, says) in [
        ("data", 2, "is the target"),
        ("link", 2, "is the target"),
        (&*record.to_string(), 2, "own store"),
        ("nowhere/report.html", 4, "nowhere"),
        (".", 2, "is a folder"),
        ("/dev/full", 4, "/dev/full"),
    ] {
        for format in ["html", "csv"] {
            let line = format!("report last --format {format} --output {output}");
            bench.fathom(&line).expect(code, &[says]);
        }
    }
    let after = (bench.snapshot(), std::fs::read(store.join(format!("{run}.fathom"))).expect("it is kept"));
    assert!(before == after, "something was changed");
}
