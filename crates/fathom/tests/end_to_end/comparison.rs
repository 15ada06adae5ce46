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
    let (one, two) = (runs(&bench, 1, 2), runs(&bench, 2, 2));
    let (one, two) = (one.join(","), two.join(","));
    let compare =
        |rest: &str, code: i32| bench.fathom(&format!("compare {rest}")).expect(code, &[]).out.clone();
    let page = compare(&format!("{one} {one}"), 0);
    assert!(page.starts_with("Equivalent: nothing changed by more than 3%."), "{page}");
    // The simulated device serves one operation after another: twice the depth is twice the latency.
    let page = compare(&format!("{one} {two}"), 99);
    assert!(page.starts_with("Regressed: p99 +100 %."), "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
    let page = compare(&format!("{two} {one}"), 0);
    assert!(page.starts_with("Improved: p99 −50 %."), "{page}");
    let document = bench.fathom(&format!("compare {one} {two} --json")).expect(99, &[]).json();
    assert_eq!(document["verdict"], "regressed");
    let metrics = document["comparisons"][0]["steps"][0]["metrics"].as_array().expect("a list");
    let p99 = metrics.iter().find(|metric| metric["name"] == "p99").expect("it decides");
    assert_eq!((&p99["verdict"], &p99["decides"]), (&"regressed".into(), &true.into()));
}

#[test]
fn baselines_are_kept_by_name() {
    let bench = Bench::new();
    let run = runs(&bench, 1, 1).remove(0);
    bench.fathom(&format!("compare {run} --save-baseline gold")).expect(0, &["baseline gold"]);
    let page = bench.fathom("compare last --baseline gold").expect(0, &[]).out.clone();
    assert!(page.starts_with("Equivalent") && page.contains("a side has one run"), "{page}");
    assert_eq!(bench.fathom("runs --json").expect(0, &[]).json().as_array().map(Vec::len), Some(1));
    for (line, says) in [
        ("compare last --baseline silver", "there are gold"),
        ("compare last --save-baseline ../up", "is no name of a baseline"),
        ("compare last", "nothing to be compared with"),
        ("compare last nowhere", "nowhere"),
        ("compare last last --margin 3", "%"),
    ] {
        bench.check_refused(line, 2, &[says]);
    }
}

#[test]
fn too_little_data_is_inconclusive() {
    let bench = Bench::new();
    bench.fathom("run --target sim: --time 2s --quiet").expect(0, &[]);
    let page = bench.fathom("compare last last").expect(8, &[]).out.clone();
    assert!(page.starts_with("Inconclusive"), "{page}");
}
