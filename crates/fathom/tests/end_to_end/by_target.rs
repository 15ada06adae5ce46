//! What streams did on each of their targets, through the binary: native jobs and the peer's, their reports and documents.

use crate::support::{Bench, project, schema};
use serde_json::Value;

/// Two files of unlike size and a device that takes no writes, by two workers, and the smaller file by another stream.
const JOB: &str = r#"
[run]
on_error = 1000000000
[target.small]
path = "small.dat"
size = "1MiB"
[target.large]
path = "large.dat"
size = "4MiB"
[target.full]
path = "/dev/full"
size = "1MiB"
[workload.mix]
access = "random"
read = "50%"
[stream.s]
targets = ["small", "large", "full"]
workload = "mix"
workers = 2
operations = 3000
[stream.lone]
targets = ["small"]
workload = "mix"
operations = 500
[stage.main]
time = "60s"
"#;

fn number(of: &Value, name: &str) -> u64 {
    of[name].as_u64().unwrap_or_else(|| panic!("there is no number {name} in {of}"))
}

fn list(of: &Value) -> &[Value] {
    of.as_array().unwrap_or_else(|| panic!("{of} is no list"))
}

/// Name, operations and errors of each.
fn counted(targets: &Value) -> Vec<(String, u64, u64)> {
    let one = |of: &Value| {
        let name = of["target"].as_str().expect("it has a name").rsplit('/').next().unwrap_or_default();
        (name.to_owned(), number(&of["all"], "operations"), number(&of["all"], "errors"))
    };
    list(targets).iter().map(one).collect()
}

/// What the targets of a stream have adds up to what it has.
fn check_sum(stream: &Value) {
    let targets = list(&stream["targets"]);
    for name in ["operations", "bytes", "errors"] {
        let sum: u64 = targets.iter().map(|of| number(&of["all"], name)).sum();
        assert_eq!(sum, number(&stream["total"]["all"], name), "{name} of {stream}");
    }
    let longest = targets.iter().filter_map(|of| of["all"]["response_max_ns"].as_u64()).max();
    assert_eq!(longest, stream["total"]["all"]["response"]["max_ns"].as_u64());
}

#[test]
fn a_stream_on_several_targets_is_told_by_each() {
    let bench = Bench::new();
    bench.write("three.toml", JOB);
    let ended = bench.fathom("run three.toml --yes --quiet");
    let text = &ended.expect(0, &[]).out;
    let row = |line: &&str| line.contains("/dev/full") && line.contains("MB/s");
    assert_eq!(text.lines().filter(row).count(), 2, "of the stream and of all:\n{text}");
    let report = bench.report();
    let path = project().join("docs/generated/report.schema.json");
    let schema = std::fs::read_to_string(&path).expect("the schema is part of the project");
    let violations = schema::violations(&report, &serde_json::from_str(&schema).expect("it is JSON"));
    assert!(violations.is_empty(), "{}", violations.join("\n"));
    let step = &report["steps"][0];
    let [several, lone] = list(&step["streams"]) else { panic!("{step}") };
    check_sum(several);
    assert_eq!((number(several, "target_count"), number(lone, "target_count")), (3, 1));
    assert!(list(&lone["targets"]).is_empty());
    let [small, large, full] = counted(&several["targets"]).try_into().expect("there are three");
    // In turns, each worker 1,000 times on each; what fails was an operation of its turn, too.
    assert_eq!((small.0.as_str(), small.1, small.2), ("small.dat", 2000, 0));
    assert_eq!((large.0.as_str(), large.1, large.2), ("large.dat", 2000, 0));
    assert_eq!((full.0.as_str(), full.1 + full.2), ("full", 2000), "{full:?}");
    // Reads of it are zeroes, and all its writes fail.
    let kinds = list(&several["targets"][2]["kinds"]);
    let of = |kind: &str| kinds.iter().find(|of| of["kind"] == kind).expect("both occurred");
    assert_eq!((number(of("read"), "errors"), number(of("write"), "operations")), (0, 0));
    assert!(number(of("write"), "errors") > 800, "{}", of("write"));
    let all = counted(&step["targets"]);
    assert_eq!((all[0].0.as_str(), all[0].1), ("small.dat", 2500), "with those of the other stream");
    assert_eq!(step["targets"][0]["streams"], serde_json::json!(["s", "lone"]));
    assert_eq!(all[1..], [large, full]);
}

#[test]
fn files_of_the_peers_jobs_are_targets_up_to_as_many_as_are_counted_apart() {
    let bench = Bench::new();
    bench.write(
        "files.fio",
        "[global]\nioengine=psync\nbs=4k\n\
         [named]\nfilename=x:y\nsize=1m\nrw=randread\n\
         [several]\nnrfiles=3\nsize=3m\nrw=write\nfsync=64\n\
         [most]\nnrfiles=64\nsize=1m\nrw=read\n\
         [many]\nnrfiles=65\nsize=1040k\nrw=read\n\
         [one]\nsize=1m\nrw=read\n",
    );
    let document = bench.fathom("fio files.fio --output-format=json").expect(0, &[]).json();
    assert!(!document.to_string().contains("target_count"), "the peer's document is the peer's");
    let report = bench.report();
    let streams = list(&report["steps"][0]["streams"]);
    let [named, several, most, many, one] = streams else { panic!("{streams:?}") };
    for stream in [named, several, most] {
        check_sum(stream);
        let operations: Vec<u64> = counted(&stream["targets"]).iter().map(|of| of.1).collect();
        let each = number(&stream["total"]["all"], "operations") / number(stream, "target_count");
        assert!(each > 0 && operations.iter().all(|&count| count == each), "{operations:?} in {stream}");
    }
    let counts = [named, several, most, many, one]
        .map(|stream| (number(stream, "target_count"), list(&stream["targets"]).len()));
    assert_eq!(counts, [(2, 2), (3, 3), (64, 64), (65, 0), (1, 0)]);
    let syncs =
        list(&several["targets"]).iter().flat_map(|of| list(&of["kinds"])).filter(|of| of["kind"] == "sync");
    let whole =
        list(&several["total"]["kinds"]).iter().find(|of| of["kind"] == "sync").expect("it has syncs");
    assert_eq!(syncs.map(|of| number(of, "operations")).sum::<u64>(), number(whole, "operations"));
    let text = bench.fathom("report last").expect(0, &[]).out.clone();
    assert!(text.contains("65 targets: more than 64 are not counted apart"), "{text}");
}
