//! What a person at a terminal sees: the live bar, colours, a question before something is lost; and that none of it
//! reaches a file or a pipe.

use crate::support::device::{content, with_root};
use crate::support::{Bench, Ended, FATHOM, skip};

/// Runs `fathom` at a terminal of its own.
fn at_terminal(bench: &Bench, line: &str, typed: &str) -> Option<Ended> {
    at_terminal_of(100, bench, line, typed)
}

/// As [`at_terminal`], with so many columns.
fn at_terminal_of(columns: usize, bench: &Bench, line: &str, typed: &str) -> Option<Ended> {
    let command = format!("stty cols {columns} rows 30; {FATHOM} {line}");
    let ended = bench.run_with_input(&["script", "-qec", &command, "/dev/null"], typed.as_bytes());
    if ended.code == 127 || ended.err.contains("failed to run command") {
        skip("a terminal", "script is not installed");
        return None;
    }
    Some(ended)
}

#[test]
fn the_live_view_shows_and_goes_away() {
    let bench = Bench::new();
    let Some(ended) = at_terminal(&bench, "run --target null: --rate 1k/s --time 2s", "") else { return };
    ended.expect(0, &[]);
    for part in ["left", "p99", "record: "] {
        assert!(ended.out.contains(part), "{part} is missing in {ended:#?}");
    }
    // A busy host issues some of the thousand of a second in the next one.
    let (bar, _) = ended.out.split_once(" IOPS").expect("the bar tells the rate");
    let shown: u32 = bar.rsplit(' ').next().unwrap_or_default().parse().expect("a rate");
    assert!((1..=2000).contains(&shown), "{shown} IOPS of 2000 arrivals in {ended:#?}");
    assert!(!ended.out.contains(" 0/0"), "a bar shows before there is something to show: {ended:#?}");
    let answer = ended.out.rfind("Can it be trusted?").expect("the report comes");
    let last_bar = ended.out.rfind(" left").expect("the bar was there");
    assert!(last_bar < answer, "the bar is gone before the report: {ended:#?}");
    // The last thing on the line of the bar is its erasure.
    assert!(ended.out[last_bar..answer].contains("\u{1b}[2K"), "{ended:#?}");
}

/// Nothing that is said is broken by the terminal itself, in the middle of a word.
#[test]
fn what_is_shown_fits_the_terminal() {
    let bench = Bench::new();
    bench.write("job.fio", "[a]\nrw=raed\nsize=1m\n");
    for columns in [40, 60, 80, 120] {
        for (line, code) in [
            ("check job.fio", 2),
            ("plan --target new --size 1MiB", 0),
            ("run --target null: --rate 1k/s --time 1s", 0),
        ] {
            let Some(ended) = at_terminal_of(columns, &bench, line, "") else { return };
            ended.expect(code, &[]);
            for shown in ended.out.split(['\n', '\r']).map(without_escapes) {
                // A path is not broken, nor is a table whose columns are all needed.
                let is_words = shown.contains(' ') && !shown.contains("record: ") && !shown.contains("  ");
                let wide = shown.trim_end().chars().count();
                assert!(!is_words || wide <= columns, "{wide} of {columns} in {line}: {shown:?}");
            }
        }
    }
}

/// A line without escape sequences.
fn without_escapes(line: &str) -> String {
    let mut in_escape = false;
    let is_seen = |c: &char| {
        let was_in_escape = in_escape;
        in_escape = if in_escape { !c.is_ascii_alphabetic() } else { *c == '\u{1b}' };
        !was_in_escape && !in_escape
    };
    line.chars().filter(is_seen).collect()
}

#[test]
fn colours_only_at_a_terminal_that_wants_them() {
    let bench = Bench::new();
    bench.write("job.fio", "[a]\nrw=raed\n");
    let coloured = |ended: &Ended| ended.out.contains("\u{1b}[1m\u{1b}[") || ended.out.contains("\u{1b}[1;");
    if let Some(ended) = at_terminal(&bench, "check job.fio", "") {
        assert!(coloured(ended.expect(2, &[])), "{ended:#?}");
    }
    let no_color = format!("NO_COLOR=1 {FATHOM} check job.fio");
    let ended = bench.run(&["script", "-qec", &no_color, "/dev/null"]);
    assert!(!ended.out.contains('\u{1b}'), "{ended:#?}");
    let piped = bench.fathom("check job.fio");
    assert!(!piped.expect(2, &[]).err.contains('\u{1b}'), "{piped:#?}");
    let run = bench.fathom("run --target sim: --time 2s");
    assert!(!run.out.contains('\u{1b}') && !run.err.contains('\u{1b}'), "{run:#?}");
}

#[test]
fn a_person_is_asked_before_something_is_lost() {
    with_root("a_person_is_asked_before_something_is_lost", |bench, stage| {
        let device = stage.ext4(bench, "image")?;
        let before = content(&device);
        let line = format!("run --target {device} --read 0% --time 200ms");
        let name = device.trim_start_matches("/dev/");
        // A name that is no path could be another's, in another folder.
        for answer in ["\n", "yes\n", "y\n", &format!("{name}\n"), &format!("{device}x\n")] {
            let Some(ended) = at_terminal(bench, &line, answer) else { return Ok(()) };
            assert_eq!(ended.code, 3, "{answer:?}: {ended:#?}");
            for part in [&device, "ext4", &format!("Type \"{device}\" to destroy"), "nothing was written"] {
                assert!(ended.out.contains(part), "{part} is missing in {ended:#?}");
            }
            assert!(content(&device) == before, "{answer:?} destroyed it");
        }
        let Some(ended) = at_terminal(bench, &line, &format!("{device}\n")) else { return Ok(()) };
        assert_eq!(ended.code, 0, "{ended:#?}");
        assert!(content(&device) != before);
        Ok(())
    });
}
