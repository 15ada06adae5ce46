//! Parameter files of Vdbench: what they become in native words, what is refused and where, and the corpus, of which the
//! peer itself has told the runs.

use fathom_frontend::{native, vdbench};
use fathom_model::{Amount, Job, Level};
use fathom_units::Bytes;
use std::io::Write;
use std::path::PathBuf;

/// What was found, by line: `3 error vdbench.unknown-keyword`.
fn found(text: &str) -> Vec<String> {
    let (job, found) = vdbench::read("a.parm", text);
    let one = |one: &fathom_model::Diagnostic| {
        let line = one.span.and_then(|span| job.sources.line_and_column(span)).map_or(0, |(line, _)| line);
        let level = if one.level == Level::Error { "error" } else { "warning" };
        format!("{line} {level} {}", one.code)
    };
    found.all().iter().map(one).collect()
}

#[test]
fn the_common_part_of_the_language_becomes_a_native_job() {
    let text = include_str!("../../../fuzz/corpus/vdbench/sweeps");
    let (job, found) = vdbench::read("sweeps.parm", text);
    assert!(!found.has_errors(), "{found:?}");
    assert!(!fathom_model::check(&job).has_errors(), "{:?}", fathom_model::check(&job));
    insta::assert_snapshot!(native::print(&job));
}

#[test]
fn what_is_not_imported_is_refused_at_its_line() {
    let text = include_str!("../../../fuzz/corpus/vdbench/refused");
    assert_eq!(
        found(text),
        [
            "1 warning vdbench.ignored",
            "2 warning vdbench.ignored",
            "3 error vdbench.not-imported",
            "4 error vdbench.not-imported",
            "5 error vdbench.not-imported",
            "5 error vdbench.not-imported",
            "6 error vdbench.bad-value",
            "7 error vdbench.bad-value",
            "8 error vdbench.bad-value",
            "8 error vdbench.not-imported",
            "8 error vdbench.unknown-keyword",
            "9 error vdbench.unknown-keyword",
            "9 error vdbench.bad-value",
            "10 error vdbench.not-imported",
            "10 error vdbench.bad-value",
            "11 error vdbench.bad-value",
            "11 error vdbench.bad-value",
            "12 error vdbench.syntax",
        ]
    );
}

#[test]
fn doubtful_values_are_told() {
    const HEAD: &str = "sd=a,lun=/tmp/a,size=1g\nsd=b,lun=/tmp/b\n";
    for (rest, expect) in [
        ("wd=w,sd=a\nrd=r,wd=w,iorate=max,elapsed=10", &[][..]),
        ("wd=w,sd=a\nrd=r,wd=w,elapsed=10", &["4 error vdbench.bad-value"]),
        ("wd=w,sd=a\nrd=r,wd=w,iorate=max,elapsed=10,interval=3", &["4 error vdbench.bad-value"]),
        ("wd=w,sd=a\nrd=r,wd=w,iorate=max,forthreads=1-4", &["4 error vdbench.bad-value"]),
        ("wd=w,sd=a\nrd=r,wd=w,iorate=(50%,80%)", &["4 error vdbench.not-imported"]),
        ("wd=w,sd=a,skew=60\nwd=v,sd=b,skew=50\nrd=r,wd=*,iorate=9", &["5 error vdbench.bad-value"]),
        ("wd=w,sd=a,xfersize=(4k,50,8k,40)\nrd=r,wd=w,iorate=9", &["3 error vdbench.bad-value"]),
        ("wd=w,sd=a,xfersize=(4k,50,8k,50)\nrd=r,wd=w,iorate=9", &["3 warning vdbench.approximate"]),
        ("wd=w,sd=a,range=(0,9)\nwd=v,sd=a\nrd=r,wd=*,iorate=9", &["3 error vdbench.not-imported"]),
        // A warning takes the place of no other check.
        ("wd=w,sd=a\nrd=r,wd=w,openflags=fsync", &["4 error vdbench.bad-value", "4 warning vdbench.ignored"]),
        ("wd=w,sd=a\nrd=r,wd=w,iorate=9,openflags=fsync,interval=0", &["4 error vdbench.bad-value"]),
        (
            "wd=w,sd=a\nrd=r,wd=w,iorate=9,openflags=fsync,elapsed=3,interval=5",
            &["4 error vdbench.bad-value"],
        ),
        // A workload without a place would vanish with its share.
        ("wd=w,sd=a\nwd=v\nrd=r,wd=*,iorate=9", &["4 error vdbench.bad-value"]),
        ("wd=w\nwd=v\nrd=r,wd=*,iorate=9", &["3 error vdbench.bad-value", "4 error vdbench.bad-value"]),
        ("wd=w,sd=a\nwd=v\nrd=r,wd=*,sd=b,iorate=9", &[]),
        ("sd=c,lun=/tmp/c,align=1000\nrd=r,sd=c,iorate=9", &["3 error vdbench.bad-value"]),
        ("sd=c,lun=/tmp/c,count=(1e20,2)\nrd=r,sd=c*,iorate=9", &["3 error vdbench.bad-value"]),
        ("sd=c,lun=/tmp/c,count=(0.5,2)\nrd=r,sd=c*,iorate=9", &["3 error vdbench.bad-value"]),
        ("wd=w,sd=a\nwd=w,sd=b\nrd=r,wd=w,iorate=9", &["4 error vdbench.bad-value"]),
        ("rd=r,sd=a,iorate=9\nrd=r,sd=b,iorate=9", &["4 error vdbench.bad-value"]),
        // What differs between workloads on one target.
        ("wd=w,sd=a,seekpct=eof\nwd=v,sd=a\nrd=r,wd=*,iorate=(8,9)", &["3 error vdbench.not-imported"]),
        ("wd=w,sd=a\nwd=v,sd=a,seekpct=eof\nrd=r,wd=*,iorate=9", &["3 error vdbench.not-imported"]),
        ("wd=w,sd=a,seekpct=eof\nwd=v,sd=a,seekpct=-1\nrd=r,wd=*,iorate=9", &[]),
        ("wd=w,sd=a,seekpct=eof\nwd=v,sd=a\nrd=r,wd=*,iorate=9,seekpct=0", &[]),
        ("wd=w,sd=a,openflags=o_direct\nwd=v,sd=a\nrd=r,wd=*,iorate=9", &["3 error vdbench.not-imported"]),
        ("wd=w,sd=a\nwd=v,sd=a,openflags=o_dsync\nrd=r,wd=*,iorate=9", &["3 error vdbench.not-imported"]),
        ("wd=w,sd=a,openflags=o_direct\nwd=v,sd=a\nrd=r,wd=*,iorate=9,openflags=o_sync", &[]),
        ("rd=r,sd=setsof2,iorate=9", &["3 error vdbench.not-imported"]),
        ("rd=r,iorate=9", &["3 error vdbench.bad-value"]),
        ("", &["0 error vdbench.nothing-to-run"]),
    ] {
        let text = format!("{HEAD}{rest}\n");
        let told = found(&text);
        let told_first: Vec<&str> = told.iter().take(expect.len()).map(String::as_str).collect();
        assert_eq!(told_first, expect, "{rest}: {told:?}");
        assert_eq!(told.is_empty(), expect.is_empty(), "{rest}: {told:?}");
    }
}

/// What is told of several steps and streams is told once.
#[test]
fn a_fault_of_all_steps_is_told_once() {
    let text = "sd=a,lun=/tmp/a,size=1g\nwd=w,sd=a,seekpct=eof\nwd=v,sd=a,openflags=o_direct\n\
                rd=r,wd=*,iorate=(7,8,9)\n";
    assert_eq!(found(text), ["2 error vdbench.not-imported"; 2]);
}

#[test]
fn streams_move_their_shares_of_maxdata() {
    for (wds, expect) in [
        ("wd=w,sd=a,skew=75\nwd=v,sd=b,skew=25\n", [3 << 28, 1 << 28]),
        // A quarter of the operations, each three times as large as the others.
        ("wd=w,sd=a,skew=75\nwd=v,sd=b,skew=25,xfersize=(8k,50,16k,50)\n", [1 << 29; 2]),
        ("wd=w,sd=(a,b)\nwd=v,sd=b\n", [1 << 28, 3 << 28]),
    ] {
        let text = format!("sd=a,lun=/tmp/a\nsd=b,lun=/tmp/b\n{wds}rd=r,wd=*,iorate=max,maxdata=1g\n");
        let (job, found) = vdbench::read("a.parm", &text);
        assert!(!found.has_errors(), "{found:?}");
        let bytes: Vec<_> = job.streams.iter().map(|stream| stream.options.bytes.get().copied()).collect();
        assert_eq!(bytes, expect.map(|bytes| Some(Amount::Bytes(Bytes(bytes)))), "{wds}");
    }
}

#[test]
fn random_places_keep_to_the_align_of_their_target() {
    let text = "sd=a,lun=/tmp/a,align=8k\nsd=b,lun=/tmp/b,align=0\nsd=c,lun=/tmp/c,align=1m\n\
                wd=w,sd=*,xfersize=(4k,50,8k,50)\nrd=r,wd=w,iorate=max\n";
    let (job, found) = vdbench::read("a.parm", text);
    assert!(!found.has_errors(), "{found:?}");
    let of = |stream: &fathom_model::Named<fathom_model::StreamOptions>| {
        let name = stream.options.workload.get();
        let workload = job.workloads.iter().find(|one| Some(&one.name) == name).expect("it is there");
        workload.options.align.get().copied()
    };
    let aligns: Vec<_> = job.streams.iter().map(of).collect();
    assert_eq!(aligns, [Some(Bytes::kib(8)), None, Some(Bytes(1 << 20))]);
    // Only where none is given do sizes that differ share the places of the smallest.
    let told = found.all().iter().filter(|one| one.code == "vdbench.approximate");
    assert_eq!(told.count(), 1, "{found:?}");
}

/// How many steps a job has.
fn steps(job: &Job) -> usize {
    let of = |stage: &fathom_model::Named<fathom_model::StageOptions>| {
        let sweep = stage.options.sweep.get().dimensions.iter().map(|(_, values)| values.len());
        sweep.product::<usize>() * (stage.options.curve.get().len() + 1)
    };
    job.stages.iter().map(of).sum()
}

fn corpus() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/vdbench");
    if folder.is_dir() {
        return Some(folder);
    }
    let folder = folder.display();
    writeln!(std::io::stderr(), "SKIPPED: there is no {folder} beside the project")
        .expect("stderr can be written");
    None
}

/// As many steps as the peer has runs, or a refusal by name; never another number of steps.
#[test]
fn published_files_have_the_runs_of_the_peer() {
    let Some(folder) = corpus() else { return };
    let (mut read, mut refused) = (0, 0);
    for file in std::fs::read_dir(folder.join("parmfiles")).expect("it is there") {
        let path = file.expect("it can be listed").path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".parm")) else {
            continue;
        };
        let text = String::from_utf8_lossy(&std::fs::read(&path).expect("it can be read")).into_owned();
        let (job, found) = vdbench::read(name, &text);
        if found.has_errors() {
            let all = found.all().iter().filter(|one| one.level == Level::Error);
            let has_place = all.into_iter().all(|one| one.span.is_some());
            assert!(has_place || name == "Avilir__Multi_host", "{name}: {found:?}");
            refused += 1;
            continue;
        }
        let runs = std::fs::read_to_string(folder.join(format!("runlists/{name}.runs.txt")));
        let runs = runs.unwrap_or_else(|_| panic!("the peer refuses {name}"));
        let runs = runs.lines().filter(|line| line.starts_with("RD=")).count();
        assert_eq!(steps(&job), runs, "{name}");
        assert!(!fathom_model::check(&job).has_errors(), "{name}: {:?}", fathom_model::check(&job));
        read += 1;
    }
    assert!(read >= 15 && refused >= 30, "{read} were read, {refused} refused");
}

#[test]
fn cases_of_the_grammar_have_the_verdict_of_the_peer() {
    let Some(folder) = corpus() else { return };
    let text = std::fs::read_to_string(folder.join("grammar/expected.json")).expect("it is there");
    let expected: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    for case in expected["cases"].as_array().expect("it has cases") {
        let name = case["case"].as_str().expect("cases have names");
        // Words of a command line are not those of a file.
        if name.starts_with("subst") || name.starts_with("plusextra") {
            continue;
        }
        let file = folder.join("grammar").join(case["file"].as_str().expect("cases have files"));
        let (job, found) = vdbench::read(name, &std::fs::read_to_string(file).expect("it is there"));
        let is_accepted = case["verdict"] == "accepted";
        match name {
            "hostrep" | "pct" => assert!(found.has_errors(), "{name}: {found:?}"),
            _ if is_accepted => {
                assert!(!found.has_errors(), "{name}: {found:?}");
                assert_eq!(steps(&job), case["runs"].as_array().map_or(0, Vec::len), "{name}");
            }
            _ => assert!(found.has_errors(), "{name}: {found:?}"),
        }
    }
}
