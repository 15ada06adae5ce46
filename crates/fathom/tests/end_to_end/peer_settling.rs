//! fathom beside the peer in jobs that end by what they measure: in a steady state, or with a queue depth that keeps a
//! latency. Skipped aloud where the peer is not installed.

use crate::support::{Bench, FATHOM, skip, tool};
use serde_json::Value;

const JOB: &str = "--name=a --ioengine=null --size=64m --rw=randread --output-format=json --output=out.json";

/// The first job in the documents of both for these options, which run at the same time.
fn both(options: &str, code: i32, says: &str) -> [Value; 2] {
    let run = |program: &[&str]| {
        let bench = Bench::new();
        let ended = bench.run(
            &[program, &JOB.split(' ').collect::<Vec<_>>(), &options.split(' ').collect::<Vec<_>>()].concat(),
        );
        ended.expect(code, &[says]);
        let text = std::fs::read_to_string(bench.path("out.json")).expect("it was written");
        let start = text.find('{').expect("there is a document");
        let document: Value = serde_json::Deserializer::from_str(&text[start..])
            .into_iter()
            .next()
            .expect("one")
            .expect("it is JSON");
        document["jobs"][0].clone()
    };
    std::thread::scope(|scope| {
        let peer = scope.spawn(|| run(&["fio"]));
        let ours = run(&[FATHOM, "fio"]);
        [peer.join().expect("it does not panic"), ours]
    })
}

fn keys(value: &Value) -> Vec<&String> {
    value.as_object().map(|object| object.keys().collect()).unwrap_or_default()
}

#[test]
fn a_steady_job_ends_as_the_peers_does() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("a_steady_job_ends_as_the_peers_does", &why);
    }
    for (options, attained, ss) in [
        ("--rate_iops=500 --time_based --runtime=9 --ss=iops:50% --ss_dur=2", 1, "iops:50.000000%"),
        (
            "--rate_iops=500 --time_based --runtime=9 --ss=bw_slope:2m --ss_dur=2 --numjobs=2 --group_reporting",
            1,
            "bw_slope:2097152.000000",
        ),
        ("--rate_iops=500 --time_based --runtime=2 --ss_dur=5", 0, "iops_slope:0.010000%"),
    ] {
        let documents = both(options, 0, "");
        for document in &documents {
            let steady = &document["steadystate"];
            assert_eq!(
                (&steady["attained"], &steady["ss"]),
                (&attained.into(), &ss.into()),
                "{options} {steady:#}"
            );
            let (samples, duration) =
                (&steady["data"]["iops"], steady["duration"].as_u64().expect("a count"));
            assert_eq!(samples.as_array().map(Vec::len), usize::try_from(duration).ok(), "{options}");
            let taken = samples[0].as_u64().expect("a count");
            let jobs = if options.contains("numjobs") { 2 } else { 1 };
            assert!(taken.abs_diff(500 * jobs) < 50 * jobs, "{options} {steady:#}");
        }
        let [peer, ours] = &documents;
        let (peer, ours) = (&peer["steadystate"], &ours["steadystate"]);
        assert_eq!((keys(ours), keys(&ours["data"])), (keys(peer), keys(&peer["data"])), "{options}");
        for text in ["criterion", "ss"] {
            let form = |of: &Value| of[text].as_str().map(|text| text.ends_with('%'));
            assert_eq!(form(ours), form(peer), "{options} {text}");
        }
    }
}

#[test]
fn a_depth_is_found_as_the_peer_finds_it() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("a_depth_is_found_as_the_peer_finds_it", &why);
    }
    let target = "--ioengine=libaio --size=1m --filename=f --iodepth=8 --latency_window=100ms --time_based --runtime=9 --latency_percentile=90.5";
    let documents = both(&format!("{target} --latency_target=1s"), 0, "");
    for document in documents {
        let shown = ["latency_depth", "latency_target", "latency_percentile", "latency_window"]
            .map(|key| document[key].as_f64());
        assert_eq!(shown, [8.0, 1e9, 90.5, 100_000.0].map(Some), "{document:#}");
        let ms = document["read"]["runtime"].as_u64().expect("a count");
        assert!((95..300).contains(&ms), "one window is measured, not {ms} ms");
    }
    // Without a target nothing is looked for, and what would be kept is told all the same; without a window it is 0.
    let few = "--ioengine=psync --size=64k --filename=f";
    for (options, expect) in [
        ("--latency_percentile=99 --latency_window=1s", [0.0, 99.0, 1e6]),
        ("--latency_target=10ms", [1e7, 100.0, 0.0]),
    ] {
        for document in both(&format!("{few} {options}"), 0, "") {
            let shown =
                ["latency_target", "latency_percentile", "latency_window"].map(|key| document[key].as_f64());
            assert_eq!(shown, expect.map(Some), "{options}: {document:#}");
        }
    }
    // To fio the search raises the depth also where the engine waits for each operation.
    let waits = "--ioengine=psync --size=1m --filename=f --iodepth=8 --latency_window=100ms --time_based --runtime=9 --latency_percentile=99";
    for document in both(&format!("{waits} --latency_target=1s"), 0, "") {
        assert_eq!(document["latency_depth"], 8, "{document:#}");
    }
    // On a file nothing is as fast as that.
    let missed = "--ioengine=psync --iodepth=1 --latency_target=1us --latency_window=100ms --time_based --runtime=9 --filename=f --rw=write --sync=1 --bs=64k";
    for document in both(missed, 1, "exceeds specified max (1000 nsec): ") {
        assert_eq!(document["error"], 110, "{document:#}");
    }
}
