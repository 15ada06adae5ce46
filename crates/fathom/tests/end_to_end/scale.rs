//! Jobs of ten thousand streams and of a hundred thousand files: planning them takes work in proportion. Bounded is the
//! processor time of the process, not how long it takes. And runs of days: what their records and reports take.

use crate::support::{Bench, FATHOM, skip, tool};

const STREAMS: usize = 10_000;
/// Seconds of processor time that a plan may take: several times what it takes without optimisation, and a small part of what
/// it would with one look at all sections for each of them (minutes).
const CPU_S: u32 = 20;

fn check(sections: impl Fn(usize) -> String, head: &str) {
    let bench = Bench::new();
    let text = head.to_owned() + &(0..STREAMS).map(sections).collect::<String>();
    bench.write("job.toml", text + "[stage.main]\ntime = \"10s\"\n");
    let limit = format!("--cpu={CPU_S}:{CPU_S}");
    let plan = bench.run(&["prlimit", &limit, FATHOM, "plan", "--json", "job.toml"]);
    // Where so many descriptors may not be had, the plan says how many it needs.
    if plan.err.contains("plan.open-files") {
        plan.expect(2, &["11088 open files", "ulimit -n"]);
        return;
    }
    let plan = plan.expect(0, &[]).json();
    let streams = plan["steps"][0]["streams"].as_array().map(Vec::len);
    assert_eq!(streams, Some(STREAMS), "{:.300}", plan.to_string());
}

#[test]
fn ten_thousand_streams_with_a_workload_each() {
    let section = |n| format!("[workload.s{n}]\naccess = \"random\"\n[stream.s{n}]\n");
    check(section, "[target.t]\nkind = \"null\"\nsize = \"1GiB\"\n");
}

#[test]
fn ten_thousand_streams_with_a_file_each() {
    let section = |n| {
        format!(
            "[target.t{n}]\npath = \"f{n}\"\nsize = \"16KiB\"\n[stream.s{n}]\ntargets = [\"t{n}\"]\nengine = \"psync\"\n"
        )
    };
    check(section, "[workload.w]\naccess = \"random\"\n");
}

#[test]
fn more_than_a_hundred_thousand_files() {
    let bench = Bench::new();
    bench.write("job.fio", "[a]\nrw=write\nsize=404m\nnrfiles=101000\nopenfiles=100\n");
    let limit = format!("--cpu={CPU_S}:{CPU_S}");
    let plan = bench.run(&["prlimit", &limit, FATHOM, "plan", "--json", "job.fio"]).expect(0, &[]).json();
    assert_eq!(plan["steps"][0]["targets"].as_array().map(Vec::len), Some(101_000));
}

/// A soft limit below the hard one holds nothing up: a plan says of it what a run does.
#[test]
fn a_soft_limit_of_open_files_is_raised() {
    let bench = Bench::new();
    let files = |soft: u32, hard: u32, command: &str| {
        let limit = format!("--nofile={soft}:{hard}");
        let job =
            ["--target", "f", "--size", "2MiB", "--workers", "300", "--engine", "psync", "--time", "10ms"];
        bench.run(&[&["prlimit", &limit, FATHOM, command], &job[..], &["--direct=false"]].concat())
    };
    files(64, 4096, "plan").expect(0, &[]);
    files(64, 4096, "run").expect(0, &[]);
    files(64, 128, "plan")
        .expect(2, &["open files; the limit of this process is 128", "raise it with: ulimit -n"]);
    files(64, 128, "run")
        .expect(2, &["open files; the limit of this process is 128", "raise it with: ulimit -n"]);
}

/// More files than may be open: both tools go on where `openfiles` closes some. With as many as there are, fathom says before
/// anything is made how many may not be.
#[test]
fn more_files_than_may_be_open_are_opened_in_turn() {
    const TEST: &str = "more_files_than_may_be_open_are_opened_in_turn";
    let job = ["--name=a", "--rw=randrw", "--nrfiles=400", "--size=1600k", "--bs=4k", "--openfiles=30"];
    let engines = ["psync", "sync", "libaio", "io_uring"].map(|engine| format!("--ioengine={engine}"));
    let of = |program: &[&str], more: &[&str]| {
        let bench = Bench::new();
        let all = [&["prlimit", "--nofile=200:200"], program, &job, more, &["--output-format=json"]].concat();
        let report = bench.run(&all).expect(0, &[]).json();
        let [read, write] =
            ["read", "write"].map(|kind| report["jobs"][0][kind]["total_ios"].as_u64().unwrap());
        assert_eq!(bench.snapshot().len(), 400, "{more:?}");
        read + write
    };
    if let Err(why) = tool("fio", &["--version"]) {
        return skip(TEST, &why);
    }
    let expected = of(&["fio"], &[]);
    for engine in &engines {
        assert_eq!(of(&[FATHOM, "fio"], &[engine, "--iodepth=8"]), expected, "{engine}");
    }
    let bench = Bench::new();
    let all = [&["prlimit", "--nofile=200:200", FATHOM, "fio"], &job[..], &["--openfiles=400"]].concat();
    bench.run(&all).expect(1, &["the limit of this process is 200", "openfiles"]);
    assert!(bench.snapshot().is_empty());
}

/// A step with a depth above `files_at_once` has all files open all the time, and locks them: the steps around it, which open
/// them in turn, are not kept out by that.
#[test]
fn a_step_that_opens_files_in_turn_is_not_in_its_own_runs_way() {
    let bench = Bench::new();
    let job = "[target.t]\npath = [\"f0\", \"f1\", \"f2\", \"f3\", \"f4\", \"f5\"]\nsize = \"64KiB\"\n\
               [workload.w]\nread = \"0%\"\nfiles_at_once = 2\n[stream.s]\npasses = 1\n\
               [stage.main]\nsweep.\"stream.queue_depth\" = [1, 6, 1]\n";
    bench.write("job.toml", job);
    for _ in 0..2 {
        bench.fathom("run job.toml --quiet").expect(0, &["record: "]);
    }
}

/// Two hours of virtual time in which hardly two operations of a second take the same, with the report at the end: what an
/// interval takes, so that ten days stay below 2 GiB, and memory, which the kernel bounds. With all distributions spelt out the
/// record is twice too large, and the report takes 130 MB.
#[test]
fn days_of_spread_latencies_stay_small() {
    const SECONDS: u64 = 2 * 3600;
    const TEN_DAYS_S: u64 = 10 * 24 * 3600;
    const DATA_MAX: u64 = 96 << 20;
    let bench = Bench::new();
    bench.write(
        "job.toml",
        format!(
            "[target.t]\nkind = \"sim\"\nsize = \"1GiB\"\nservice_time = \"exponential 1ms\"\nparallelism = 8\n\
             [workload.w]\naccess = \"random\"\nread = \"70%\"\n\
             [stream.s]\nrate = \"500/s\"\narrival = \"poisson\"\nqueue_depth = 32\n\
             [stage.m]\ntime = \"{SECONDS}s\"\n"
        ),
    );
    let limit = format!("--data={DATA_MAX}");
    for command in [&["run", "--quiet", "job.toml"][..], &["report", "last"]] {
        let ended = bench.run(&[&["prlimit", &limit, FATHOM], command].concat());
        assert!(ended.expect(0, &[]).out.contains("measured for 2 h 0 min"), "{ended:#?}");
    }
    let record = std::fs::read_dir(bench.store()).expect("a run is there").next().expect("it is one");
    let bytes = record.and_then(|record| record.metadata()).expect("it is there").len();
    assert!(bytes * TEN_DAYS_S < SECONDS * (2 << 30), "{} bytes for a second", bytes / SECONDS);
    // All that happened is in there.
    let rows = bench.fathom("report last --format csv").expect(0, &[]).out.lines().count() as u64;
    assert_eq!(rows, 1 + 3 * SECONDS);
}
