//! Job files as engineers publish them, from a corpus beside the project: each runs with only its target and its length
//! changed, as a job of fathom's and through the peer's command line. Skipped aloud where the corpus is not.

use crate::support::{Bench, moved, number, project, skip};
use std::collections::BTreeSet;
use std::fs;

/// Job files of the corpus: name, text.
fn seeds(test: &str) -> Vec<(String, String)> {
    let folder = project().join("../shared/corpus/seeds");
    let Ok(entries) = fs::read_dir(&folder) else {
        skip(test, &format!("there is no {}", folder.display()));
        return Vec::new();
    };
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "fio"))
        .map(|path| {
            let name = path.file_name().expect("it is a file").to_string_lossy().into_owned();
            (name, fs::read_to_string(&path).expect("job files are text"))
        })
        .collect()
}

/// Aimed at a file of 20 MiB or a folder, and a day shortened to a second.
fn adapted(text: &str) -> String {
    let target = text
        .replace("/dev/sda", "data")
        .replace("/dev/sde", "data")
        .replace("directory=/mnt/", "directory=.");
    target
        .replace("runtime=24h", "runtime=2s")
        .replace("ramp_time=60s", "ramp_time=1s")
        .replace("filesize=10g", "filesize=256k")
        .replace("nrfiles=140", "nrfiles=14")
}

/// Names of the log files in the working folder.
fn logs(bench: &Bench) -> BTreeSet<String> {
    let files = bench.snapshot().into_keys();
    files
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .map(|path| path.file_name().expect("it is a file").to_string_lossy().into_owned())
        .collect()
}

#[test]
fn every_seed_runs() {
    for (name, text) in seeds("every_seed_runs") {
        for command in ["run", "fio --output-format=json"] {
            let bench = Bench::new();
            bench.write("data", vec![0x5a; 20 << 20]);
            bench.write(&name, adapted(&text));
            let consent = if command == "run" { "--overwrite" } else { "" };
            let ended = bench.fathom(&format!("{command} {name} {consent}"));
            ended.expect(0, &[]);
            let report = bench.report();
            assert_eq!(report["state"], "complete", "{name}");
            check_work(&name, &report);
            check_logs(&name, &bench);
        }
    }
}

fn check_work(name: &str, report: &serde_json::Value) {
    let all = moved(report, "/steps/0/total", "all");
    let size = 20_u64 << 20;
    match name {
        "archive-files.fio" => assert_eq!(all.1, 8 * 14 * (256 << 10), "{name}"),
        "five-regions.fio" => assert_eq!(all.1, size, "{name}"),
        "randread-500.fio" | "wrong-shared-region.fio" => assert_eq!(all.1, 2 * size, "{name}"),
        "oltp.fio" => {
            let reads = number(report, "/steps/0/total/kinds/0/operations");
            let share = reads / number(report, "/steps/0/total/all/operations");
            assert!((share - 0.7).abs() < 0.05, "{share} of the operations read");
            assert_eq!(number(report, "/steps/0/total/start_s"), 1.0);
        }
        _ => assert!(all.0 > 0, "{name}"),
    }
}

/// Only the transaction load asks for logs: five clones, each with six files.
fn check_logs(name: &str, bench: &Bench) {
    let expect: BTreeSet<String> = if name == "oltp.fio" {
        let kinds = ["bw", "iops", "lat", "slat", "clat", "clat_hist"];
        (1..=5).flat_map(|clone| kinds.map(|kind| format!("oltp_{kind}.{clone}.log"))).collect()
    } else {
        BTreeSet::new()
    };
    assert_eq!(logs(bench), expect, "{name}");
    for log in &expect {
        let text = fs::read_to_string(bench.path(log)).expect("it is ours");
        let lines: Vec<Vec<u64>> = text
            .lines()
            .map(|line| line.split(", ").map(|cell| cell.parse().expect("logs hold numbers")).collect())
            .collect();
        // Two seconds, reads and writes.
        assert_eq!(lines.len(), 4, "{log}\n{text}");
        assert!(
            lines.iter().all(|cells| (1..=2_100).contains(&cells[0])),
            "{log} begins after the ramp\n{text}"
        );
        assert!(
            lines.iter().flat_map(|cells| &cells[1..2]).any(|&value| value > 0) || log.contains("hist"),
            "{log}"
        );
    }
}

/// Two sequential readers of one region read each other's cache: said before and after.
#[test]
fn a_shared_region_is_pointed_out() {
    for (name, text) in seeds("a_shared_region_is_pointed_out") {
        let bench = Bench::new();
        bench.write("data", vec![0x5a; 20 << 20]);
        bench.write(&name, adapted(&text));
        let plan = bench.fathom(&format!("plan --overwrite {name}"));
        let said = plan.err.contains("region") || plan.out.contains("region");
        assert_eq!(said, name == "wrong-shared-region.fio", "{name}: {plan:#?}");
    }
}
