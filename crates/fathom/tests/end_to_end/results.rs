//! The figures of whole runs: exact where a run is bound by its size, within tolerance where it is bound by time, in
//! virtual time on the simulated device wherever that can be.

use crate::support::device::text;
use crate::support::{Bench, moved, number};
use serde_json::Value;

/// Runs a native job; its report.
fn report_of(job: &str) -> Value {
    let bench = Bench::new();
    bench.write("job.toml", job);
    bench.fathom("run job.toml").expect(0, &[]);
    bench.report()
}

/// Operations and bytes by kind in the totals of step 0.
fn check(job: &str, expect: &[(&str, u64, u64)]) {
    let report = report_of(job);
    for (kind, operations, bytes) in expect {
        assert_eq!(
            moved(&report, "/steps/0/total", kind),
            (*operations, *bytes),
            "{kind} of {job}\n{report:#}"
        );
    }
}

fn near(found: f64, expected: f64, share: f64) {
    assert!((found - expected).abs() <= expected * share, "{found} is not within {share} of {expected}");
}

const NULL: &str = "[target.t]\nkind = \"null\"\nsize = \"64MiB\"\n";
const SIM: &str = "[target.t]\nkind = \"sim\"\nsize = \"64MiB\"\nservice_time = \"constant 100us\"\n";

#[test]
fn size_bound_runs_are_exact() {
    for target in [NULL, SIM] {
        // A sync comes before the next write, so the last write has none, as with the peer.
        for (rest, expect) in [
            ("[workload.w]\n[stream.s]\npasses = 1\n", &[("read", 16384, 64 << 20), ("write", 0, 0)][..]),
            ("[workload.w]\n[stream.s]\npasses = 3\n", &[("read", 3 * 16384, 192 << 20)]),
            (
                "[workload.w]\nread = \"0%\"\nblock_size = \"1MiB\"\n[stream.s]\npasses = 2\n",
                &[("write", 128, 128 << 20)],
            ),
            (
                "[workload.w]\naccess = \"random\"\n[stream.s]\nqueue_depth = 8\npasses = 1\n",
                &[("read", 16384, 64 << 20)],
            ),
            (
                "[workload.w]\n[stream.s]\nworkers = 4\nqueue_depth = 3\npasses = 1\n",
                &[("all", 16384, 64 << 20)],
            ),
            (
                "[workload.w]\n[stream.s]\nworkers = 4\nworker_regions = \"same\"\npasses = 1\n",
                &[("all", 4 * 16384, 256 << 20)],
            ),
            ("[workload.w]\n[stream.s]\noperations = 1000\n", &[("all", 1000, 4_096_000)]),
            (
                "[workload.w]\n[stream.s]\nworkers = 2\noperations = 1000\nqueue_depth = 32\n",
                &[("all", 2000, 8_192_000)],
            ),
            ("[workload.w]\nread = \"50%\"\n[stream.s]\nbytes = \"8MiB\"\n", &[("all", 2048, 8 << 20)]),
            (
                "[workload.w]\nread = \"0%\"\nfsync_every = 16\n[stream.s]\noperations = 1600\n",
                &[("write", 1600, 6_553_600), ("sync", 99, 0)],
            ),
            (
                "[workload.w]\nread = \"0%\"\nfsync_at_end = true\n[stream.s]\noperations = 10\n",
                // The sync at the end is time of what is measured, and no operation of it.
                &[("write", 10, 40960), ("sync", 0, 0)],
            ),
            (
                "[workload.w]\ntrim = \"100%\"\nread = \"0%\"\n[stream.s]\npasses = 1\n",
                &[("trim", 16384, 64 << 20)],
            ),
        ] {
            check(&format!("{target}{rest}"), expect);
        }
    }
}

/// Engines that move real bytes do exactly as much, and what they wrote is there.
#[test]
fn real_files_are_moved_exactly() {
    for (engine, depth) in [("psync", 1), ("io_uring", 4), ("libaio", 4)] {
        let bench = Bench::new();
        bench.write(
            "job.toml",
            format!(
                "[target.t]\npath = \"data\"\nsize = \"4MiB\"\n\
                 [workload.w]\nread = \"0%\"\nblock_size = \"16KiB\"\naccess = \"random\"\ncoverage = \"once-per-pass\"\n\
                 content = \"0xa5\"\nfreshness = \"never\"\nfsync_every = 32\n\
                 [stream.s]\nengine = \"{engine}\"\nqueue_depth = {depth}\npasses = 1\n"
            ),
        );
        let ended = bench.fathom("run job.toml");
        if ended.code == 9 {
            crate::support::skip("real_files_are_moved_exactly", &ended.err);
            continue;
        }
        ended.expect(0, &[]);
        let report = bench.report();
        assert_eq!(moved(&report, "/steps/0/total", "write"), (256, 4 << 20), "{engine}");
        assert_eq!(moved(&report, "/steps/0/total", "sync"), (7, 0), "{engine}");
        let content = std::fs::read(bench.path("data")).expect("it is ours");
        assert!(
            content.len() == 4 << 20 && content.iter().all(|&byte| byte == 0xa5),
            "{engine} missed a block"
        );
        bench
            .fathom(&format!(
                "run --target {} --engine {engine} --block-size 16KiB --time 100ms",
                text(&bench.path("data"))
            ))
            .expect(0, &[]);
        assert!(moved(&bench.report(), "/steps/0/total", "read").0 > 0, "{engine}");
    }
}

/// A rate is kept on the null target in real time and on the simulated device in virtual time.
#[test]
fn a_rate_is_kept() {
    for arrival in ["constant", "poisson"] {
        // Ten thousand arrivals: a Poisson count strays by 1 % (one standard deviation).
        let report = report_of(&format!(
            "{SIM}[workload.w]\n[stream.s]\nrate = \"1k/s\"\narrival = \"{arrival}\"\nqueue_depth = 8\ntime = \"10s\"\n"
        ));
        let share = if arrival == "constant" { 0.001 } else { 0.05 };
        near(number(&report, "/steps/0/total/all/iops"), 1000.0, share);
        assert_eq!(number(&report, "/steps/0/streams/0/arrivals_late"), 0.0);
    }
    let bench = Bench::new();
    bench.fathom("run --target null: --rate 1k/s --time 2s").expect(0, &[]);
    let report = bench.report();
    near(number(&report, "/steps/0/total/all/iops"), 1000.0, 0.02);
    assert_eq!(number(&report, "/steps/0/streams/0/arrivals"), 2000.0);
}

/// Above what the device can do the backlog grows, and the response time holds it while the service time does not.
#[test]
fn an_overload_shows_in_the_response_time() {
    let report = report_of(&format!("{SIM}[workload.w]\n[stream.s]\nrate = \"20k/s\"\ntime = \"5s\"\n"));
    near(number(&report, "/steps/0/total/all/iops"), 10_000.0, 0.01);
    near(number(&report, "/steps/0/total/all/service/mean_ns"), 100_000.0, 0.01);
    assert!(number(&report, "/steps/0/total/all/response/mean_ns") > 100e6);
    assert!(number(&report, "/steps/0/streams/0/backlog_max") > 10_000.0);
    assert!(report["validity"].to_string().contains("overload"), "{:#}", report["validity"]);
}

/// A queue that takes all that comes is no device that does it.
#[test]
fn a_deep_queue_does_not_make_a_device_faster() {
    let of = |rate: &str, time: &str, ramp: &str| {
        report_of(&format!(
            "{SIM}[workload.w]\n[stream.s]\nqueue_depth = 65536\nrate = \"{rate}\"\n[stage.m]\n{ramp}time = \"{time}\"\n"
        ))
    };
    let has = |report: &Value, code: &str| {
        report["validity"].as_array().is_some_and(|all| all.iter().any(|one| one["id"] == code))
    };
    for rate in ["20k/s", "12k/s"] {
        let report = of(rate, "5s", "");
        near(number(&report, "/steps/0/total/all/iops"), 10_000.0, 0.01);
        near(number(&report, "/steps/0/streams/0/little_ratio"), 1.0, 0.01);
        assert!(has(&report, "pacing.overloaded"), "{}", report["validity"]);
    }
    // Hardly more than is done, for long.
    let report = of("10090/s", "100s", "");
    assert!(has(&report, "pacing.overloaded"), "{}", report["validity"]);
    // What the ramp left in flight is done first; as much is left at the end.
    let report = of("20k/s", "5s", "ramp = \"1s\"\n");
    near(number(&report, "/steps/0/total/all/iops"), 10_000.0, 0.001);
    assert!(has(&report, "pacing.overloaded"), "{}", report["validity"]);
    for ramp in ["", "ramp = \"1s\"\n"] {
        let report = of("9k/s", "5s", ramp);
        near(number(&report, "/steps/0/total/all/iops"), 9_000.0, 0.001);
        assert!(!has(&report, "pacing.overloaded"), "{}", report["validity"]);
    }
}

/// What is in flight at the end of a load that the device carries is no sign of an overload, however long operations take: the
/// rate is what came, and nothing is said against it.
#[test]
fn long_operations_are_no_overload() {
    let of = |device: &str, stream: &str, stage: &str| {
        let report = report_of(&format!(
            "[target.d]\nkind = \"sim\"\nsize = \"1GiB\"\n{device}[workload.w]\naccess = \"random\"\n[stream.s]\n{stream}\
             [stage.m]\n{stage}"
        ));
        let said: Vec<String> = report["validity"]
            .as_array()
            .expect("findings")
            .iter()
            .map(|one| one["id"].as_str().expect("a name").to_owned())
            .filter(|id| id.starts_with("pacing.") || id.starts_with("little."))
            .collect();
        assert_eq!(said, Vec::<String>::new(), "{stage}: {}", report["validity"]);
        number(&report, "/steps/0/total/all/iops")
    };
    let device = "service_time = \"constant 300ms\"\nparallelism = 1024\n";
    for (ramp, within) in [("", 0.002), ("ramp = \"3s\"\n", 0.0005)] {
        let stream = "queue_depth = 1024\nrate = \"500/s\"\n";
        near(of(device, stream, &format!("{ramp}time = \"10s\"\n")), 500.0, within);
    }
    // What comes in five seconds is random by 2 %, and so is what is in flight at their end.
    let device = "service_time = \"constant 1s\"\nparallelism = 1000\n";
    for seed in 0..8 {
        let stream = format!("queue_depth = 1024\nrate = \"500/s\"\narrival = \"poisson\"\nseed = {seed}\n");
        near(of(device, &stream, "ramp = \"5s\"\ntime = \"5s\"\n"), 500.0, 0.06);
    }
}

/// The rate of a device that cannot carry a load is its own, with and without a ramp.
#[test]
fn a_device_that_is_overloaded_shows_its_own_rate() {
    for (depth, rate, stage) in [
        (60_000, "1009/s", "ramp = \"300s\"\ntime = \"10s\"\n"),
        (1024, "1100/s", "ramp = \"5s\"\ntime = \"1s\"\n"),
        // What the ramp left takes longer than the measured time: none of what counts completes in that.
        (65_536, "2000/s", "ramp = \"12s\"\ntime = \"6s\"\n"),
        (65_536, "2000/s", "ramp = \"30s\"\ntime = \"10s\"\n"),
        (64, "2000/s", "time = \"100s\"\n"),
        (64, "2000/s", "ramp = \"3s\"\ntime = \"10s\"\n"),
        (1, "2000/s", "time = \"2s\"\n"),
    ] {
        let report = report_of(&format!(
            "[target.d]\nkind = \"sim\"\nsize = \"1GiB\"\nservice_time = \"constant 1ms\"\n[workload.w]\naccess = \"random\"\n\
             [stream.s]\nqueue_depth = {depth}\nrate = \"{rate}\"\n[stage.m]\n{stage}"
        ));
        near(number(&report, "/steps/0/total/all/iops"), 1000.0, 0.001);
    }
}

/// Names of what is found in a run of a simulated device.
fn found_of(target: &str, stream: &str, time: &str) -> Vec<String> {
    let report = report_of(&format!(
        "[run]\nseed = 4\n[target.d]\nkind = \"sim\"\nsize = \"1GiB\"\n{target}\n[workload.w]\naccess = \"random\"\n[stream.s]\n\
         {stream}\n[stage.m]\ntime = \"{time}\"\n"
    ));
    let found = report["validity"].as_array().expect("findings");
    found.iter().map(|one| one["id"].as_str().expect("a name").to_owned()).collect()
}

/// Each of many workers with a device of its own that leaves a few more behind all the time is overloaded together with the others; a
/// device that is merely slow to begin with is not, but for a run that is hardly longer than an operation.
#[test]
fn an_overload_that_is_a_few_of_each_worker_is_told() {
    let told = |service: &str, rate: u32, time: &str| {
        let mut found = found_of(
            &format!("service_time = \"constant {service}\"\nparallelism = 1"),
            &format!("workers = 10\nqueue_depth = 64\nrate = {rate}"),
            time,
        );
        found.retain(|id| id.starts_with("pacing."));
        found
    };
    assert_eq!(told("1s", 20, "8s"), ["pacing.overloaded"]);
    assert_eq!(told("1s", 9, "8s"), Vec::<String>::new());
    assert_eq!(told("5s", 2, "10s"), ["pacing.behind"]);
    assert_eq!(told("5s", 2, "100s"), Vec::<String>::new());
}

/// What waits for one stop of a device becomes less again, wherever it lies; stops that keep coming are what the device does, and what is
/// more than that is an overload.
#[test]
fn one_stop_is_no_overload() {
    let told = |depth: u32, rate: u32, stalls: &str, time: &str| {
        let mut found = found_of(
            &format!("service_time = \"constant 1ms\"\nstalls = [{stalls}]"),
            &format!("queue_depth = {depth}\nrate = {rate}"),
            time,
        );
        found.retain(|id| id == "pacing.overloaded");
        !found.is_empty()
    };
    for (rate, stall, time) in [
        (800, "\"53s for 2s\"", "60s"),
        (300, "\"52s for 6s\"", "60s"),
        (500, "\"55s for 3s\"", "60s"),
        (800, "\"280s for 10s\"", "300s"),
        (800, "\"26s for 2s\"", "30s"),
        (800, "\"8500ms for 800ms\"", "10s"),
        // To the end, and beyond it.
        (100, "\"55s for 5s\"", "60s"),
        (100, "\"55500ms for 20s\"", "60s"),
        (100, "\"40s for 20s\"", "60s"),
    ] {
        for depth in [1, 4, 64, 65_536] {
            assert!(!told(depth, rate, stall, time), "{rate}/s, {stall} of {time}, depth {depth}");
        }
    }
    // A fifth of the time it does nothing.
    let regular: Vec<String> = (0..6).map(|at| format!("\"{}s for 2s\"", 10 * at + 5)).collect();
    for (depth, rate, stalls) in
        [(4, 850, regular.join(", ")), (4, 1050, "\"53s for 2s\"".to_owned()), (64, 1010, String::new())]
    {
        assert!(told(depth, rate, &stalls, "60s"), "{rate}/s, {stalls}, depth {depth}");
    }
    // A queue that takes all that comes holds it however brief the run is.
    assert!(told(65_536, 5000, "", "2s"));
    let bench = Bench::new();
    let verdict = |workers: u32, rate: u32, code: i32| {
        bench.write(
            "stop.toml",
            format!(
                "[target.s]\nkind = \"sim\"\nsize = \"1GiB\"\nservice_time = \"constant 1ms\"\nstalls = [\"53s for 2s\"]\n\
                 [workload.w]\naccess = \"random\"\n[stream.s]\nqueue_depth = 4\nworkers = {workers}\n[stage.m]\ntime = \"60s\"\n"
            ),
        );
        let line = format!("slo stop.toml --iops {rate} --latency p50<5ms --quiet --json");
        bench.fathom(&line).expect(code, &[]).json()["verdict"].clone()
    };
    assert_eq!((verdict(1, 800, 0), verdict(1, 1100, 99)), ("met".into(), "overloaded".into()));
    // Each worker has a device of its own.
    assert_eq!((verdict(4, 3200, 0), verdict(4, 4400, 99)), ("met".into(), "overloaded".into()));
}

/// For as long as an operation takes after a ramp, all that is done had begun in it.
#[test]
fn behind_a_ramp_nothing_stands_still_for_as_long_as_operations_take() {
    for (service, depth) in [("constant 10ms", 96), ("constant 10ms", 97), ("exponential 10ms", 103)] {
        let bench = Bench::new();
        bench.write(
            "ramp.toml",
            format!(
                "[target.s]\nkind = \"sim\"\nsize = \"1GiB\"\nservice_time = \"{service}\"\n[workload.w]\n\
                 access = \"random\"\n[stream.s]\nqueue_depth = {depth}\n[stage.m]\nramp = \"5s\"\ntime = \"10s\"\n"
            ),
        );
        let report = bench.fathom("run ramp.toml --quiet").expect(0, &[]).out.clone();
        assert!(!report.contains("throughput stopped"), "{service}, depth {depth}: {report}");
    }
}

/// Where operations or bytes end it, what waits then is done all the same, and arrivals have come to an end long before.
#[test]
fn an_overload_is_told_however_the_load_ends() {
    let told = |stream: &str| {
        let mut found =
            found_of("service_time = \"constant 1ms\"", &format!("queue_depth = 65536\n{stream}"), "60s");
        found.retain(|id| id.starts_with("pacing."));
        found
    };
    for stream in [
        "rate = 2000\noperations = 20000",
        "rate = 1500\narrival = \"poisson\"\nbytes = \"64MiB\"",
        "rate = 1100\nbytes = \"40MiB\"",
    ] {
        assert_eq!(told(stream), ["pacing.overloaded"], "{stream}");
    }
    assert_eq!(told("rate = 2000\noperations = 2000"), ["pacing.behind"], "two seconds show no growth");
    for stream in ["rate = 900\noperations = 9000", "rate = 500\narrival = \"poisson\"\noperations = 500"] {
        assert_eq!(told(stream), Vec::<String>::new(), "{stream}");
    }
}

/// What ends a run in virtual time for what was seen of it ends it at the same edge each time.
#[test]
fn a_condition_ends_simulated_streams_at_the_same_edge_each_time() {
    let two = "rate = 2000\nqueue_depth = 64\n[stream.v]\nworkers = 3\nqueue_depth = 4\noperations = 2000";
    let settles = "queue_depth = 4\nsteady = \"iops:5%\"\nsteady_window = \"5s\"";
    let fails = "on_error = 100000\nabort_when = [\"errors > 20\"]";
    for (run, target, stream, code) in [
        ("abort_when = [\"p99 > 100ms for 3s\"]", "", two, 99),
        ("abort_when = [\"iops > 1\"]", "", "queue_depth = 4", 99),
        (fails, "error_share = \"1%\"", "rate = 500\nqueue_depth = 4", 99),
        ("", "", settles, 0),
    ] {
        let of = || {
            let bench = Bench::new();
            bench.write(
                "job.toml",
                format!(
                    "[run]\nseed = 3\n{run}\n[target.d]\nkind = \"sim\"\nsize = \"1GiB\"\nservice_time = \"exponential 1ms\"\n\
                     {target}\n[workload.w]\naccess = \"random\"\n[stream.s]\n{stream}\n[stage.m]\ntime = \"10min\"\n"
                ),
            );
            bench.fathom("run job.toml").expect(code, &[]);
            let report = bench.report();
            let figures = [
                "/steps/0/total/all/operations",
                "/steps/0/total/end_s",
                "/steps/0/streams/0/queue_depth_held",
            ];
            figures.map(|figure| number(&report, figure))
        };
        let first = of();
        assert!(first[1] > 0.9 && first[1] < 10.0, "it ends after some seconds: {run} {stream}: {first:?}");
        assert!((0..3).all(|_| of() == first), "{run} {stream}: {first:?}");
    }
}

/// What comes in bursts waits for them however long it is measured, and that is no matter of how long.
#[test]
fn bursts_that_most_wait_for_are_told() {
    for time in ["60s", "300s"] {
        let found = found_of(
            "service_time = \"constant 1ms\"",
            "rate = 1050\narrival = \"on-off:100ms/400ms\"",
            time,
        );
        assert!(found.iter().any(|id| id.starts_with("pacing.")), "{time}: {found:?}");
    }
}

/// A load that comes faster than the device for a while fills its queue as a stall would, and stops nothing.
#[test]
fn a_load_that_comes_faster_for_a_while_is_no_stall() {
    let constant = "service_time = \"constant 1ms\"";
    for (target, stream, time) in [
        (
            constant,
            "queue_depth = 65536\nrate_course = [\"500/s for 10s\", \"1500/s for 10s\", \"500/s for 30s\"]",
            "60s",
        ),
        (
            constant,
            "queue_depth = 256\nrate_course = [\"500/s for 10s\", \"1500/s for 500ms\", \"500/s for 30s\"]",
            "60s",
        ),
        (constant, "queue_depth = 4096\nrate = 500\narrival = \"b-model:0.7:10s\"", "60s"),
        (constant, "queue_depth = 8192\nrate = 500\narrival = \"on-off:1s/4s\"", "60s"),
        (
            "service_time = \"exponential 1ms\"",
            "queue_depth = 1024\nrate = 950\narrival = \"poisson\"",
            "60s",
        ),
    ] {
        let found = found_of(target, stream, time);
        assert!(!found.iter().any(|id| id.starts_with("behaviour.stall")), "{stream}: {found:?}");
    }
    // Stalls all the same: at a rate that stays, in the faster part of a course, and beside a few that come in bursts.
    let course = "rate_course = [\"500/s for 16s\", \"900/s for 20s\", \"500/s for 20s\"]";
    let beside = "rate = 500\n[stream.b]\nrate = 10\narrival = \"on-off:1s/4s\"";
    for stream in ["rate = 500\narrival = \"poisson\"", course, beside] {
        let stalled = "service_time = \"constant 1ms\"\nstalls = [\"20s for 500ms\"]";
        let found = found_of(stalled, &format!("queue_depth = 256\n{stream}"), "56s");
        assert!(found.iter().any(|id| id == "behaviour.stall"), "{stream}: {found:?}");
    }
}

/// Where the record knows no better than the interval, bounds are told, and they hold wherever in it or across its edges the stall was.
#[test]
fn a_stall_shorter_than_an_interval_is_told_by_its_bounds() {
    let rate = "queue_depth = 256\nrate = \"3400/s\"\narrival = \"poisson\"";
    for (at_ms, lasted_ms, interval, stream) in [
        (20_000, 300, "1s", rate),
        (20_400, 300, "1s", rate),
        (19_900, 300, "1s", rate),
        (20_500, 560, "1s", rate),
        (20_000, 300, "1s", "queue_depth = 1"),
        (20_600, 300, "1s", "queue_depth = 8"),
        (20_010, 70, "100ms", "queue_depth = 8"),
    ] {
        let report = report_of(&format!(
            "[run]\ninterval = \"{interval}\"\n[target.d]\nkind = \"sim\"\nsize = \"8GiB\"\n\
             service_time = \"exponential 1ms\"\nparallelism = 4\nstalls = [\"{at_ms}ms for {lasted_ms}ms\"]\n[workload.w]\n\
             access = \"random\"\n[stream.s]\n{stream}\n[stage.m]\nramp = \"1s\"\ntime = \"40s\"\n"
        ));
        let found = report["validity"].as_array().expect("findings");
        let of_stall = |one: &&Value| one["id"] == "behaviour.stall";
        let told: Vec<&str> =
            found.iter().filter(of_stall).filter_map(|one| one["evidence"].as_str()).collect();
        let place = format!("{lasted_ms} ms at {at_ms} ms, {stream}: {told:?}");
        let (_, bounds) = told[0].split_once(", begun between ").expect(&place);
        let (from, rest) = bounds.split_once(" s and ").expect(&place);
        let to = rest.split(" s: ").next().expect(&place);
        let [from, to] = [from, to].map(|edge| edge.parse::<f64>().expect(&place));
        let began = f64::from(at_ms) / 1000.0;
        // What was under way when it began waited through it as well: by a little more.
        assert!(from - 0.06 <= began && began <= to + 0.06 && from < to && to - from < 1.1, "{place}");
    }
}

/// A queue that a search made shorter is not one that the generator did not fill, and a search that found none says so.
#[test]
fn a_depth_that_keeps_a_latency_is_told() {
    let of = |time: &str| {
        let report = report_of(&format!(
            "[target.d]\nkind = \"sim\"\nsize = \"1GiB\"\nservice_time = \"constant 1ms\"\nparallelism = 8\n[workload.w]\n\
             access = \"random\"\n[stream.s]\nqueue_depth = 64\nlatency_target = \"3ms\"\n[stage.m]\ntime = \"{time}\"\n"
        ));
        let found = report["validity"].as_array().expect("findings");
        let ids: Vec<String> =
            found.iter().map(|one| one["id"].as_str().expect("a name").to_owned()).collect();
        (report["steps"][0]["streams"][0].clone(), ids)
    };
    // Eight at once, a millisecond each: 24 take three.
    let (stream, found) = of("60s");
    assert_eq!((&stream["queue_depth"], &stream["depth_is_settled"]), (&Value::from(24), &Value::from(true)));
    near(number(&stream, "/little_ratio"), 1.0, 0.01);
    assert!(!found.iter().any(|id| id.starts_with("little.")), "{found:?}");
    let (stream, found) = of("3s");
    assert_eq!(stream["depth_is_settled"], false);
    assert!(found.iter().any(|id| id == "latency-target.unsettled"), "{found:?}");
    assert!(!found.iter().any(|id| id.starts_with("little.")), "{found:?}");
}

#[test]
fn the_queue_depth_is_held() {
    for depth in [1, 4, 32] {
        let report = report_of(&format!(
            "{SIM}parallelism = 64\n[workload.w]\naccess = \"random\"\n[stream.s]\nqueue_depth = {depth}\ntime = \"2s\"\n"
        ));
        near(number(&report, "/steps/0/streams/0/queue_depth_held"), f64::from(depth), 0.01);
        near(number(&report, "/steps/0/streams/0/little_ratio"), 1.0, 0.01);
        near(number(&report, "/steps/0/total/all/iops"), f64::from(depth) * 10_000.0, 0.01);
    }
}

/// However slow the device: what a queue of 32 takes to run empty, 4 times 100 ms here (the sum of 1 ÷ n up to 32), is no time in which
/// it was to be held, and is told, since the rate is one of all the time.
#[test]
fn the_queue_depth_of_a_slow_device_is_held() {
    let of = |ramp: &str| {
        report_of(&format!(
            "[target.d]\nkind = \"sim\"\nsize = \"1GiB\"\nservice_time = \"exponential 100ms\"\nparallelism = 64\n\
             [workload.w]\naccess = \"random\"\n[stream.s]\nqueue_depth = 16\nworkers = 2\n[stage.m]\n{ramp}time = \"5s\"\n"
        ))
    };
    let told = |report: &Value| {
        let mut found = report["validity"].as_array().expect("findings").iter();
        found.find(|one| one["id"] == "little.ran-empty").map(|one| one["severity"].clone())
    };
    let report = of("");
    near(number(&report, "/steps/0/streams/0/queue_depth_held"), 32.0, 0.003);
    let ratio = number(&report, "/steps/0/streams/0/little_ratio");
    // 0.4 s of 5.4 are left to them, with a fourth of the slots in use.
    assert!((0.93..0.97).contains(&ratio), "{ratio}");
    let severity = if ratio < 0.95 { "warn" } else { "info" };
    assert_eq!(told(&report), Some(Value::from(severity)), "{ratio} {}", report["validity"]);
    let report = of("ramp = \"1s\"\n");
    near(number(&report, "/steps/0/streams/0/queue_depth_held"), 32.0, 0.003);
    near(number(&report, "/steps/0/streams/0/little_ratio"), 1.0, 0.003);
    assert_eq!(told(&report), None);
}

#[test]
fn the_ramp_never_counts() {
    let report = report_of(&format!(
        "{SIM}[workload.w]\n[stream.s]\nqueue_depth = 1\n[stage.main]\nramp = \"3s\"\ntime = \"2s\"\n"
    ));
    assert_eq!(moved(&report, "/steps/0/total", "read").0, 20_000);
    assert_eq!(number(&report, "/steps/0/total/start_s"), 3.0);
    let series = report["steps"][0]["streams"][0]["series"].as_array().expect("a series");
    let phases: Vec<&str> = series.iter().filter_map(|second| second["phase"].as_str()).collect();
    assert_eq!(phases, ["ramp", "ramp", "ramp", "measure", "measure"]);
}

#[test]
fn stages_follow_one_another() {
    let report = report_of(&format!(
        "{SIM}[workload.w]\n[workload.v]\nread = \"0%\"\n[stream.s]\nworkload = \"w\"\n[stream.z]\nworkload = \"v\"\n\
         [stage.first]\nstreams = [\"s\"]\ntime = \"1s\"\n[stage.second]\nstreams = [\"z\"]\ntime = \"2s\"\n\
         [stage.both]\ntime = \"1s\"\n"
    ));
    let names: Vec<&str> =
        report["steps"].as_array().expect("steps").iter().filter_map(|step| step["name"].as_str()).collect();
    assert_eq!(names, ["first", "second", "both"]);
    assert_eq!(moved(&report, "/steps/0/total", "read").0, 10_000);
    assert_eq!(moved(&report, "/steps/0/total", "write").0, 0);
    assert_eq!(moved(&report, "/steps/1/total", "write").0, 20_000);
    assert_eq!(moved(&report, "/steps/2/streams/0/total", "read").0, 10_000);
    assert_eq!(moved(&report, "/steps/2/streams/1/total", "write").0, 10_000);
    assert_eq!(moved(&report, "/steps/2/total", "all").0, 20_000);
}

#[test]
fn a_sweep_has_a_step_for_each_point() {
    let report = report_of(&format!(
        "{SIM}parallelism = 256\n[workload.w]\n[stream.s]\n[stage.cycle]\ntime = \"1s\"\n\
         sweep = {{ \"stream.queue_depth\" = {{ from = 1, to = 64, factor = 2 }} }}\n"
    ));
    let steps = report["steps"].as_array().expect("steps");
    let depths: Vec<u64> =
        steps.iter().filter_map(|step| step["streams"][0]["queue_depth"].as_u64()).collect();
    assert_eq!(depths, [1, 2, 4, 8, 16, 32, 64]);
    for (step, depth) in steps.iter().zip(depths) {
        near(number(step, "/total/all/iops"), depth as f64 * 10_000.0, 0.01);
        assert!(step["parameters"].to_string().contains(&depth.to_string()), "{:#}", step["parameters"]);
    }
}

/// Mixed sizes and kinds come out in their shares, and the same seed gives the same operations.
#[test]
fn a_mix_comes_out_as_asked() {
    let job = format!(
        "{SIM}[workload.w]\naccess = \"random\"\nread = \"70%\"\n\
         block_size = [\"4KiB 60%\", \"64KiB 40%\"]\n[stream.s]\noperations = 20000\n"
    );
    let (first, second) = (report_of(&job), report_of(&job));
    let (reads, read_bytes) = moved(&first, "/steps/0/total", "read");
    let (writes, write_bytes) = moved(&first, "/steps/0/total", "write");
    assert_eq!(reads + writes, 20_000);
    near(reads as f64, 14_000.0, 0.03);
    near((read_bytes + write_bytes) as f64 / 20_000.0, 0.6 * 4096.0 + 0.4 * 65536.0, 0.03);
    assert_eq!(moved(&second, "/steps/0/total", "read"), (reads, read_bytes));
}

/// Errors of the simulated device: counted on as the policy has it.
#[test]
fn injected_errors_follow_the_policy() {
    let job = |policy: &str| {
        format!(
            "[run]\non_error = {policy}\n{SIM}error_share = \"1%\"\n[workload.w]\n[stream.s]\noperations = 10000\n"
        )
    };
    let bench = Bench::new();
    bench.write("stop.toml", job("\"stop\""));
    bench.fathom("run stop.toml").expect(5, &[]);
    assert_eq!(number(&bench.report(), "/steps/0/total/all/errors"), 1.0);
    bench.write("count.toml", job("1000000"));
    bench.fathom("run count.toml").expect(0, &[]);
    near(number(&bench.report(), "/steps/0/total/all/errors"), 100.0, 0.5);
}

#[test]
fn a_run_bound_by_time_takes_its_time() {
    let bench = Bench::new();
    bench
        .fathom("run --target data --size 4MiB --access random --rate 500/s --ramp 500ms --time 1s")
        .expect(0, &[]);
    let report = bench.report();
    near(number(&report, "/steps/0/total/end_s") - number(&report, "/steps/0/total/start_s"), 1.0, 0.05);
    assert_eq!(number(&report, "/steps/0/streams/0/arrivals"), 500.0);
    // What waited at the end of the ramp is done in the measured time: a machine that stood still adds up to a ramp's arrivals.
    let done = number(&report, "/steps/0/total/all/operations");
    assert!((250.0..=751.0).contains(&done), "{done}");
    let report = report_of(&format!(
        "{SIM}[workload.w]\n[stream.s]\nrate = \"500/s\"\n[stage.main]\nramp = \"500ms\"\ntime = \"1s\"\n"
    ));
    assert_eq!(number(&report, "/steps/0/total/all/operations"), 500.0);
    assert_eq!(number(&report, "/steps/0/total/end_s") - number(&report, "/steps/0/total/start_s"), 1.0);
}

/// What keeps CPUs busy is no I/O: it is told by itself and is in no sum, no headline and no threshold.
#[test]
fn cpus_that_are_kept_busy_are_in_no_sum() {
    let bench = Bench::new();
    bench.write(
        "job.toml",
        "[run]\nthresholds = [\"max < 1s\"]\n[target.n]\nkind = \"null\"\nsize = \"1MiB\"\n[workload.w]\n\
         [stream.io]\npasses = 1\n[stream.cpu]\nengine = \"cpuio\"\ncpu_load = \"100%\"\ncpu_chunk = \"50ms\"\ntime = \"200ms\"\n",
    );
    let ended = bench.fathom("run job.toml");
    ended.expect(0, &[]);
    let report = bench.report();
    let step = &report["steps"][0];
    let (io, cpu) = (&step["streams"][0], &step["streams"][1]);
    assert!(cpu["total"]["all"]["operations"].as_u64().is_some_and(|done| done > 0), "{cpu}");
    assert_eq!(step["total"], io["total"], "the total is what did I/O");
    assert!(ended.out.contains("all I/O"), "{}", ended.out);
    assert!(!ended.out.contains("workloads together"), "{}", ended.out);
}

/// What a device misses while it stands still is made up for within the same second, and told all the same.
#[test]
fn a_freeze_below_a_rate_is_told() {
    let told = |stalls: &str, rest: &str| {
        let job = format!(
            "[target.t]\nkind = \"sim\"\nsize = \"64MiB\"\nservice_time = \"constant 100us\"\n{stalls}\
             [workload.w]\naccess = \"random\"\n[stream.s]\nqueue_depth = 8\ntime = \"60s\"\n{rest}\n"
        );
        let report = report_of(&job);
        let findings = report["validity"].as_array().expect("a list").clone();
        let of = findings.iter().filter(|one| one["id"] == "behaviour.stall");
        of.map(|one| one["evidence"].as_str().expect("words").to_owned()).collect::<Vec<_>>()
    };
    for (stall, rest, says) in [
        ("10.1s for 500ms", "rate = \"1k/s\"", "once for about 500 ms, begun between 9.5 s and 10.5 s: "),
        ("10.1s for 200ms", "rate = \"5k/s\"", "once for about 200 ms, begun between 9.8 s and 10.8 s: "),
        (
            "10.1s for 200ms",
            "rate = \"1k/s\"\narrival = \"poisson\"",
            "once for about 199 ms, begun between 9.8 s and 10.8 s: ",
        ),
        (
            "10.1s for 5s",
            "rate = \"1k/s\"\narrival = \"on-off:100ms/400ms\"",
            "once for about 4.87 s, at 10.1",
        ),
        (
            "10.05s for 900ms",
            "rate = \"2k/s\"\nworkers = 4",
            "once for about 900 ms, begun between 9.1 s and 10.1 s: ",
        ),
    ] {
        let found = told(&format!("stalls = [\"{stall}\"]\n"), rest);
        assert!(found.len() == 1 && found[0].contains(says), "{stall}, {rest}: {found:?}");
        let none = told("", rest);
        assert!(none.is_empty(), "{rest}: {none:?}");
    }
}

/// In bursts of 2 s with 8 s between them a device stands still for 20 s, from one burst on: the pause before it is not of it.
#[test]
fn a_freeze_begins_no_sooner_than_something_was_asked() {
    for seed in [3, 4, 5] {
        let report = report_of(&format!(
            "[run]\nseed = {seed}\n[target.t]\nkind = \"sim\"\nsize = \"64MiB\"\nservice_time = \"constant 100us\"\n\
             stalls = [\"60s for 20s\"]\n[workload.w]\n[stream.s]\ntime = \"200s\"\nrate = 1000\n\
             arrival = \"on-off:2s/8s\"\nqueue_depth = 16\n"
        ));
        for one in
            report["validity"].as_array().expect("a list").iter().filter(|one| one["id"] == "behaviour.stall")
        {
            let told = one["evidence"].as_str().expect("words");
            let seconds = |before: &str, after: char| -> f64 {
                let rest = told.split_once(before).expect(told).1;
                rest.split_once([after, ':']).expect(told).0.trim_end_matches(" s").parse().expect(told)
            };
            let (lasted, began) = (seconds("for about ", ','), seconds(", at ", ':'));
            assert!(lasted <= 20.5 && (59.0..=81.0).contains(&began), "seed {seed}: {told}");
        }
    }
}

/// A course that ends before its time was asked for what it came to by then.
#[test]
fn a_course_that_ends_early_was_asked_for_less() {
    let report = report_of(
        "[target.t]\nkind = \"sim\"\nsize = \"64MiB\"\nservice_time = \"constant 100us\"\n[workload.w]\n[stream.s]\n\
         operations = 3000\nrate_course = [\"1k/s for 4s\", \"5k/s for 10s\"]\n[stage.m]\ntime = \"14s\"\n",
    );
    near(number(&report, "/steps/0/streams/0/rate_per_s"), 1000.0, 0.001);
}

/// The case of G. Tene ("How not to measure latency"): 200 s at 100/s, of which a device stands still for the last 100. Of the arrivals half
/// are done in 1 ms, and the others had waited for up to 100 s when the time was up: p75 is 50 s, p99 98 s, the mean 25 s,
/// however few are in flight at once.
#[test]
fn what_a_freeze_until_the_end_left_waiting_is_in_the_percentiles() {
    let frozen = |workload: &str, depth: u32| {
        report_of(&format!(
            "[target.t]\nkind = \"sim\"\nsize = \"64MiB\"\nservice_time = \"constant 1ms\"\nstalls = [\"100s for 100s\"]\n\
             [workload.w]\n{workload}\n[stream.s]\nrate = 100\nqueue_depth = {depth}\n[stage.m]\ntime = \"200s\"\n"
        ))
    };
    let percentile = |latency: &serde_json::Value, percent: f64| {
        let all = latency["percentiles"].as_array().expect("a list");
        let found = all.iter().find(|one| one["percent"] == percent).expect("it is told");
        found["ns"].as_f64().expect("a number") / 1e9
    };
    for depth in [1, 16] {
        let report = frozen("", depth);
        let total = &report["steps"][0]["streams"][0]["total"];
        for latency in [&total["all"]["response"], &total["kinds"][0]["response"]] {
            near(percentile(latency, 50.0), 0.001, 0.01);
            near(percentile(latency, 99.0), 98.0, 0.01);
            near(number(latency, "/mean_ns") / 1e9, 25.0, 0.01);
            near(number(latency, "/max_ns") / 1e9, 100.0, 0.001);
            assert_eq!(number(latency, "/count"), 20_000.0, "all that came");
        }
        assert!(percentile(&total["all"]["service"], 99.0) < 0.002, "{total}");
        assert!(number(total, "/all/operations") < 10_020.0, "what waits was not done: {total}");
    }
    // Of several kinds nobody knows which they would have been.
    let report = frozen("read = \"50%\"", 1);
    let total = &report["steps"][0]["streams"][0]["total"];
    near(percentile(&total["all"]["response"], 99.0), 98.0, 0.01);
    for kind in total["kinds"].as_array().expect("a list") {
        near(percentile(&kind["response"], 99.0), 0.001, 0.01);
    }
}
