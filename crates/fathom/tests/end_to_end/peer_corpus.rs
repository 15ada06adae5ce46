//! The corpus of public job files beside the peer: those that run there run here, with the same jobs in the same order, the same
//! errors, and the same keys in the json+ document. Skipped aloud where the peer or the corpus is missing.

use crate::support::{Bench, FATHOM, project, skip, tool};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Mutex;

/// Keys below which names come from the job, the machine or the distribution.
const OPEN: [&str; 5] = ["percentile", "bins", "job options", "global options", "disk_util"];

/// As the file has it, but for times: what takes seconds there takes a part of one here.
fn shortened(text: &str) -> String {
    let line = |line: &str| {
        let option = line.split('=').next().unwrap_or_default().trim();
        match option {
            "runtime" | "timeout" => format!("{option}=50ms\n"),
            "ramp_time" | "startdelay" => String::new(),
            _ => format!("{line}\n"),
        }
    };
    text.lines().map(line).collect()
}

/// What a tool makes of a job: its exit code, the document's jobs with their groups and errors, and its keys; `None` without a
/// document.
type Made = Option<(i32, Vec<(String, u64, u64)>, BTreeSet<String>)>;

fn made(program: &[&str], text: &str) -> Made {
    let bench = Bench::new();
    bench.write("job.fio", text);
    let ended = bench.run(&[program, &["--output-format=json+", "--output=report", "job.fio"]].concat());
    let report = std::fs::read_to_string(bench.path("report")).ok()?;
    let document: Value = serde_json::from_str(&report[report.find("{\n")?..]).ok()?;
    let jobs = document["jobs"].as_array()?.iter().filter_map(|job| {
        // For each job with stats=0, the peer has an entry without a name.
        let name = job["jobname"].as_str()?.to_owned();
        Some((name, job["groupid"].as_u64()?, job["error"].as_u64()?))
    });
    let mut found = BTreeSet::new();
    keys(&document, "", &mut found);
    Some((ended.code, jobs.collect(), found))
}

fn keys(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(entries) => {
            // What fathom says beside, and what newer versions of the peer have.
            let is_known = |key: &&String| !["fathom", "job_start"].contains(&key.as_str());
            for key in entries.keys().filter(is_known) {
                let path = format!("{path}/{key}");
                found.insert(path.clone());
                if !OPEN.contains(&key.as_str()) {
                    keys(&entries[key], &path, found);
                }
            }
        }
        Value::Array(entries) => entries.iter().for_each(|inner| keys(inner, path, found)),
        _ => {}
    }
}

/// How often two reports that differ are made once more.
const TRIES_MORE: usize = 2;

#[test]
fn what_runs_there_runs_here_and_reports_the_same() {
    let folder = project().join("../shared/corpus/fio/jobs");
    let files = || std::fs::read_dir(&folder).map_err(|error| format!("the corpus of job files: {error}"));
    let files = match tool("fio", &["--version"]).and_then(|_| files()) {
        Ok(files) => files,
        Err(why) => return skip("what_runs_there_runs_here_and_reports_the_same", &why),
    };
    let files: Vec<PathBuf> = files.map(|file| file.expect("the corpus can be read").path()).collect();
    let (left, ran) = (Mutex::new(files), Mutex::new(0));
    let next = || left.lock().expect("no thread panics while it holds the lock").pop();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(path) = next() {
                    let text = shortened(&std::fs::read_to_string(&path).expect("job files are text"));
                    let pair = || made(&["fio"], &text).map(|theirs| (theirs, made(&[FATHOM, "fio"], &text)));
                    // In a second of a busy disk either may come to no write at all, whose percentiles are then missing;
                    // what differs by itself differs every time.
                    let is_same = |(theirs, ours): &(_, Option<_>)| ours.as_ref() == Some(theirs);
                    let Some(mut last) = pair() else { continue };
                    for _ in 0..TRIES_MORE {
                        if is_same(&last) {
                            break;
                        }
                        last = pair().expect("the peer ran it before");
                    }
                    assert_eq!(last.1, Some(last.0), "{}", path.display());
                    *ran.lock().expect("no thread panics while it holds the lock") += 1;
                }
            });
        }
    });
    assert!(ran.into_inner().expect("all threads have ended") > 20, "most of the corpus runs with the peer");
}
