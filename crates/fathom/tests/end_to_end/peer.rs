//! fathom beside the peer whose job files it runs: the same jobs and groups, operations and bytes, and the same keys in the
//! JSON. Skipped aloud where the peer is not installed.

use crate::support::{Bench, FATHOM, skip, tool};
use serde_json::Value;
use std::collections::BTreeSet;

/// Where a run's figures may differ although the job is the same.
#[derive(Clone, Copy, PartialEq)]
enum Same {
    /// Operations and bytes of each direction.
    EachDirection,
    /// Of all directions together: which of them are reads is drawn by another generator.
    Together,
}

/// Keys that only one of the two has, with the reason. A key covers all below it.
const PEER_ONLY: &[(&str, &str)] = &[];
const FATHOM_ONLY: &[(&str, &str)] = &[];

/// Runs `job` through both; their documents.
fn documents(bench: &Bench, job: &str) -> [Value; 2] {
    bench.write("job.fio", job);
    [["fio", ""], [FATHOM, "fio"]].map(|program| {
        let command: Vec<&str> = program.into_iter().filter(|word| !word.is_empty()).collect();
        let arguments = ["--output-format=json", "--output=out.json", "job.fio"];
        bench.run(&[&command[..], &arguments].concat()).expect(0, &[]);
        let text = std::fs::read_to_string(bench.path("out.json")).expect("it was written");
        // The files of one may not help the other.
        for path in bench.snapshot().into_keys() {
            std::fs::remove_file(path).expect("the folder is ours");
        }
        bench.write("job.fio", job);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"))
    })
}

fn check(job: &str, same: Same) {
    let bench = Bench::new();
    let [peer, ours] = documents(&bench, job);
    let figures = |document: &Value| -> Vec<(String, u64, Vec<(u64, u64)>)> {
        let jobs = document["jobs"].as_array().expect("jobs");
        jobs.iter()
            .map(|job| {
                let of = |direction: &str| {
                    let count = |key: &str| job[direction][key].as_u64().expect("a count");
                    (count("total_ios"), count("io_bytes"))
                };
                let each: Vec<(u64, u64)> = ["read", "write", "trim"].map(of).to_vec();
                let moved = match same {
                    Same::EachDirection => each,
                    Same::Together => vec![each.iter().fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1))],
                };
                let name = job["jobname"].as_str().expect("a name").to_owned();
                (name, job["groupid"].as_u64().expect("a number"), moved)
            })
            .collect()
    };
    assert_eq!(figures(&ours), figures(&peer), "{job}");
    let syncs = |document: &Value| -> Vec<u64> {
        let jobs = document["jobs"].as_array().expect("jobs");
        jobs.iter().map(|job| job["sync"]["total_ios"].as_u64().unwrap_or(0)).collect()
    };
    assert_eq!(syncs(&ours), syncs(&peer), "{job}");
    let (peer_keys, our_keys) = (keys(&peer), keys(&ours));
    let missing = lacking(&peer_keys, &our_keys, PEER_ONLY);
    assert!(missing.is_empty(), "the peer has, and fathom lacks, {missing:#?}\n{job}");
    let more = lacking(&our_keys, &peer_keys, FATHOM_ONLY);
    assert!(more.is_empty(), "fathom has, and the peer lacks, {more:#?}\n{job}");
}

/// All keys of a document by their paths. What is named after the job, the machine or the distribution is left out.
fn keys(document: &Value) -> BTreeSet<String> {
    fn walk(value: &Value, path: &str, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(entries) => {
                for (key, inner) in entries {
                    let path = format!("{path}/{key}");
                    let is_open =
                        ["percentile", "job options", "global options", "disk_util"].contains(&key.as_str());
                    found.insert(path.clone());
                    if !is_open {
                        walk(inner, &path, found);
                    }
                }
            }
            Value::Array(entries) => entries.iter().for_each(|inner| walk(inner, path, found)),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    walk(document, "", &mut found);
    found
}

fn lacking(wanted: &BTreeSet<String>, there: &BTreeSet<String>, allowed: &[(&str, &str)]) -> Vec<String> {
    wanted
        .difference(there)
        .filter(|key| !allowed.iter().any(|(prefix, _)| key.starts_with(prefix)))
        .cloned()
        .collect()
}

#[test]
fn the_same_job_files_give_the_same_counts_and_keys() {
    let test = "the_same_job_files_give_the_same_counts_and_keys";
    match tool("fio", &["--version"]) {
        Ok(version) => skip(test, &format!("nothing; compared with {version}")),
        Err(why) => return skip(test, &why),
    }
    let global = "[global]\nsize=2m\n";
    for (rest, same) in [
        ("[a]\nrw=read\n", Same::EachDirection),
        ("[a]\nrw=write\nbs=64k\n", Same::EachDirection),
        ("[a]\nrw=randread\nioengine=libaio\niodepth=8\n", Same::EachDirection),
        ("[a]\nrw=randwrite\nbs=8k\ndirect=1\nioengine=libaio\niodepth=4\n", Same::EachDirection),
        ("[a]\nrw=randrw\n", Same::Together),
        ("[a]\nrw=rw\nrwmixread=70\n", Same::Together),
        ("[a]\nrw=write\nbs=3k\n", Same::EachDirection),
        ("[a]\nrw=read\nnumjobs=3\n", Same::EachDirection),
        ("[a]\nrw=read\nnumjobs=3\ngroup_reporting\n", Same::EachDirection),
        ("[a]\nrw=write\n[b]\nstonewall\nrw=read\n", Same::EachDirection),
        ("[a]\nrw=write\n[b]\nrw=read\nnumjobs=2\ngroup_reporting\n", Same::EachDirection),
        ("[a]\nrw=write\n[b]\nnew_group\nrw=read\n", Same::EachDirection),
        ("[a]\nrw=read\nloops=3\n", Same::EachDirection),
        ("[a]\nrw=read\nnumber_ios=100\n", Same::EachDirection),
        ("[a]\nrw=read\nio_size=5m\n", Same::EachDirection),
        ("[a]\nrw=write\nfsync=16\n", Same::EachDirection),
        ("[a]\nrw=write\nfdatasync=10\nbs=16k\n", Same::EachDirection),
        ("[a]\nrw=write\nend_fsync=1\n", Same::EachDirection),
        ("[a]\nrw=write\nnrfiles=4\n", Same::EachDirection),
        ("[a]\nrw=randread:8\n", Same::EachDirection),
        ("[a]\nrw=read\noffset=1m\n", Same::EachDirection),
        ("[a]\nrw=read\noffset=25%\nsize=50%\nfilesize=4m\n", Same::EachDirection),
        ("[a]\nrw=read\noffset_increment=25%\nsize=25%\nfilesize=4m\nnumjobs=4\n", Same::EachDirection),
        ("[a]\nrw=write\nfilename=one:two\n", Same::EachDirection),
        ("[a]\nrw=randwrite\nbssplit=4k/50:16k/50\nnorandommap\nnumber_ios=64\n", Same::Together),
        ("[a]\nioengine=null\nrw=randrw\nsize=16m\n", Same::Together),
    ] {
        check(&format!("{global}{rest}"), same);
    }
}
