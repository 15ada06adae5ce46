//! Runs that are ended from outside: what was measured is kept, the exit code says how it ended.

use crate::support::{Bench, Running, number};
use fathom_units::Nanos;
use rustix::process::Signal;

/// A run that would take half a minute, a little load each second.
const LONG: &str = "run --target null: --rate 1k/s --time 30s";

/// Waits until `seconds` of it are over, as its own messages say.
fn after(running: &mut Running, seconds: u32) {
    running.wait_for(&format!("{seconds} s  "));
}

/// `signal` ends `line` within a second with `code`; the record says so and has what was measured.
fn check(line: &str, signal: Signal, code: i32) {
    let bench = Bench::new();
    let mut running = bench.start(line);
    after(&mut running, 1);
    let sent = fathom_engine::monotonic();
    running.signal(signal);
    let ended = running.ended();
    let took = fathom_engine::monotonic().since(sent);
    ended.expect(code, &["record: "]);
    assert!(took < Nanos::secs(1), "{line} took {} to end", took.approximate());
    let report = bench.report();
    assert_eq!(report["state"], "interrupted", "{line}");
    assert_eq!(report["partial"], false, "{line}: the step was drained and has its totals");
    assert_eq!(report["steps"][0]["stop"], "interrupted", "{line}");
    let seconds = number(&report, "/steps/0/total/end_s");
    assert!((1.0..10.0).contains(&seconds), "{line} measured {seconds} s");
    let operations = number(&report, "/steps/0/total/all/operations");
    assert!(operations > 0.0, "{line}");
    // What came due up to the end is counted, though a worker that was late came to nothing of it.
    let [rate, arrivals] =
        ["rate_per_s", "arrivals"].map(|figure| number(&report, &format!("/steps/0/streams/0/{figure}")));
    let start = number(&report, "/steps/0/total/start_s");
    let due = rate * (seconds - start);
    assert!((arrivals - due).abs() <= 2.0 + due / 100.0, "{line}: {arrivals} of {due}");
    assert!(ended.out.contains("interrupted"), "{ended:#?}");
    let runs = bench.fathom("runs --json").expect(0, &[]).json();
    assert_eq!(runs[0]["state"], "interrupted", "{runs:#}");
}

#[test]
fn ctrl_c_drains_and_saves() {
    check(LONG, Signal::INT, 130);
}

#[test]
fn a_file_in_direct_mode_is_drained_too() {
    check(
        "run --target file --size 4MiB --access random --queue-depth 8 --rate 200/s --time 30s",
        Signal::INT,
        130,
    );
}

#[test]
fn sigterm_has_its_own_exit_code() {
    check(LONG, Signal::TERM, 143);
}

#[test]
fn what_nohup_ignores_ends_no_run() {
    let bench = Bench::new();
    let script = "trap '' HUP; \"$0\" run --target null: --rate 1k/s --time 2s --quiet & \
                  while kill -HUP $! 2>/dev/null; do :; done; wait $!";
    bench.run(&["bash", "-c", script, crate::support::FATHOM]).expect(0, &[]);
    assert_eq!(bench.report()["state"], "complete");
}

/// Long intervals, gaps between arrivals, pauses and delays do not put the end off.
#[test]
fn ctrl_c_does_not_wait_for_an_interval_to_end() {
    for waiting in ["rate = \"0.1/s\"", "think_time = \"30s\"", "start_delay = \"30s\""] {
        for engine in ["psync", "io_uring"] {
            let bench = Bench::new();
            bench.write(
                "job.toml",
                format!(
                    "[run]\ninterval = \"10s\"\n[target.t]\npath = \"data\"\nsize = \"1MiB\"\n[workload.w]\n\
                     [stream.s]\ntime = \"60s\"\nengine = \"{engine}\"\n{waiting}\n"
                ),
            );
            let mut running = bench.start("run job.toml");
            running.wait_for("main: 1 stream");
            let sent = fathom_engine::monotonic();
            running.signal(Signal::INT);
            let ended = running.ended();
            if ended.code != 9 {
                ended.expect(130, &[]);
            }
            let took = fathom_engine::monotonic().since(sent);
            assert!(took < Nanos::secs(1), "{engine} with {waiting} took {} to end", took.approximate());
        }
    }
}

/// A terminal that goes away.
#[test]
fn a_hangup_saves_too() {
    check(LONG, Signal::HUP, 129);
}

#[test]
fn the_peers_command_line_has_the_peers_exit_code() {
    let bench = Bench::new();
    let line = "fio --name=a --ioengine=null --size=1g --rate_iops=1000 --time_based --runtime=30 \
                --eta=always --eta-newline=500ms";
    let mut running = bench.start(line);
    running.wait_for_data("Jobs: 1 (f=1), 0-1000 IOPS: [R(1)]");
    // Asked how it stands, it says so and goes on.
    running.signal(Signal::USR1);
    running.wait_for_data("a: (groupid=0, jobs=1): err= 0");
    let folder = bench.path("");
    std::fs::write(folder.join("fio-dump-status"), "").expect("the folder is ours");
    running.wait_for_data("a: (groupid=0, jobs=1): err= 0");
    assert!(!folder.join("fio-dump-status").exists(), "it is taken away");
    running.signal(Signal::INT);
    let ended = running.ended();
    ended.expect(128, &[]);
    let (_, last) = ended.out.split_once("\nfio: terminating on signal 2\n\na: (groupid=0").expect("its end");
    assert!(last.contains("READ: bw="), "{ended:#?}");
    assert_eq!(bench.report()["state"], "interrupted");
}

#[test]
fn jobs_that_are_not_stored_say_how_they_stand() {
    let bench = Bench::new();
    std::fs::write(bench.store(), "in the way").expect("the folder is ours");
    let line = "fio --name=a --ioengine=null --size=1g --rate_iops=1000 --time_based --runtime=30 \
                --eta=always --eta-newline=500ms";
    let mut running = bench.start(line);
    running.wait_for_data("Jobs: 1 (f=1), 0-1000 IOPS: [R(1)]");
    running.signal(Signal::USR1);
    running.wait_for_data("a: (groupid=0, jobs=1): err= 0");
    running.signal(Signal::INT);
    let ended = running.ended();
    ended.expect(128, &[]);
    assert!(ended.out.contains("note: this run is not stored, and goes on"), "{ended:#?}");
    // Once, as with fio, and with the report.
    assert_eq!((ended.out.matches("terminating on signal").count(), &*ended.err), (1, ""), "{ended:#?}");
}

#[test]
fn json_is_complete_after_ctrl_c() {
    let bench = Bench::new();
    let mut running = bench.start(&format!("{LONG} --json -"));
    after(&mut running, 1);
    running.signal(Signal::INT);
    let ended = running.ended();
    assert_eq!(ended.expect(130, &[]).json()["state"], "interrupted");
}

/// Where nothing came for a while, that while was measured as well.
#[test]
fn a_slow_rate_that_is_ended_is_one_of_all_the_time() {
    let bench = Bench::new();
    let mut running = bench.start("run --target null: --rate 1/s --time 600s --json -");
    after(&mut running, 2);
    running.signal(Signal::INT);
    let report = running.ended().expect(130, &[]).json();
    let total = &report["steps"][0]["streams"][0]["total"];
    let (end_s, iops) = (total["end_s"].as_f64().unwrap(), total["all"]["iops"].as_f64().unwrap());
    let done = total["all"]["operations"].as_u64().unwrap();
    assert!(end_s >= 2.0 && (iops * end_s - done as f64).abs() < 1e-6 && iops <= 1.5, "{total}");
    let late = report["validity"].as_array().unwrap().iter().find(|one| one["id"] == "intervals.late");
    assert_eq!(late, None);
}

#[test]
fn stages_that_had_not_begun_are_left_out() {
    let bench = Bench::new();
    bench.write(
        "job.toml",
        "[target.t]\nkind = \"null\"\n[workload.w]\n[stream.s]\nrate = \"1k/s\"\n\
         [stage.a]\ntime = \"30s\"\n[stage.b]\ntime = \"30s\"\n",
    );
    let mut running = bench.start("run job.toml");
    after(&mut running, 1);
    running.signal(Signal::INT);
    running.ended().expect(130, &[]);
    assert_eq!(bench.report()["steps"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_pause_between_stages_ends_too() {
    let bench = Bench::new();
    bench.write(
        "job.toml",
        "[target.t]\nkind = \"null\"\n[workload.w]\n[stream.s]\nrate = \"1k/s\"\ntime = \"1s\"\n\
         [stage.a]\npause = \"60s\"\nsweep = { \"stream.queue_depth\" = [1, 2] }\n",
    );
    let mut running = bench.start("run job.toml");
    after(&mut running, 1);
    let sent = fathom_engine::monotonic();
    running.signal(Signal::INT);
    running.ended().expect(130, &[]);
    assert!(fathom_engine::monotonic().since(sent) < Nanos::secs(1));
    assert_eq!(bench.report()["state"], "interrupted");
}

#[test]
fn laying_out_a_file_ends_too_and_leaves_no_half_file() {
    let bench = Bench::new();
    let mut running = bench.start("run --target big --size 8GiB --time 30s");
    running.wait_for("laying out");
    let sent = fathom_engine::monotonic();
    running.signal(Signal::INT);
    running.ended().expect(130, &[]);
    assert!(fathom_engine::monotonic().since(sent) < Nanos::secs(2));
    assert!(!bench.path("big").exists());
    assert_eq!(bench.report()["state"], "interrupted");
}

#[test]
fn what_was_committed_survives_sigkill() {
    let bench = Bench::new();
    let mut running = bench.start(LONG);
    after(&mut running, 2);
    // The line of a second comes before its commit; with the third one the first two are surely kept.
    after(&mut running, 3);
    running.signal(Signal::KILL);
    running.ended().expect(137, &[]);
    let runs = bench.fathom("runs --json").expect(0, &[]).json();
    assert_eq!(runs[0]["state"], "unfinished", "{runs:#}");
    assert!(bench.fathom("runs").expect(0, &[]).out.contains("unfinished"));
    let report = bench.report();
    assert_eq!(report["state"], "unfinished");
    assert_eq!(report["partial"], true);
    let series = report["steps"][0]["streams"][0]["series"].as_array().expect("a series");
    assert!(series.len() >= 2, "{series:#?}");
    for second in series {
        assert!((second["iops"].as_f64().expect("a rate") - 1000.0).abs() < 50.0, "{second:#}");
    }
    let operations = number(&report, "/steps/0/total/all/operations");
    assert!((1950.0..4050.0).contains(&operations), "{operations}");
    let text = bench.fathom("report last");
    assert!(text.expect(0, &[]).out.contains("unfinished"), "{text:#?}");
    assert!(bench.fathom("report last --format csv").expect(0, &[]).out.lines().count() > 2);
    // And the next run begins as if nothing had been.
    bench.fathom("run --target null: --time 100ms").expect(0, &[]);
}

/// What stood under the name of a file of operations stays until the whole one takes its place.
#[test]
fn operations_have_their_name_when_the_run_has_ended() {
    for (signal, code) in [(Signal::KILL, 137), (Signal::INT, 130)] {
        let bench = Bench::new();
        bench.write("all.csv", "old");
        let mut running = bench.start(&format!("{LONG} --operations all.csv"));
        after(&mut running, 2);
        let text = || std::fs::read_to_string(bench.path("all.csv")).expect("it is there");
        assert_eq!(text(), "old");
        running.signal(signal);
        running.ended().expect(code, &[]);
        if signal == Signal::KILL {
            assert_eq!(text(), "old");
        } else {
            let counted = number(&bench.report(), "/steps/0/total/all/operations");
            assert!((text().lines().count() as f64 - 1.0 - counted).abs() < 0.5, "{counted}");
        }
    }
}

/// Where the end never comes, a second signal gets out: here a document for a pipe that nobody reads.
#[test]
fn a_second_signal_ends_at_once() {
    let bench = Bench::new();
    std::process::Command::new("mkfifo").arg(bench.path("fifo")).status().expect("coreutils have mkfifo");
    let mut running = bench.start(&format!("{LONG} --json fifo"));
    after(&mut running, 1);
    running.signal(Signal::INT);
    // The record ends before the document is written.
    while bench.fathom("runs --json").expect(0, &[]).json()[0]["state"] != "interrupted" {}
    // One that comes too soon counts as the first.
    while running.is_running() {
        running.signal(Signal::INT);
    }
    assert_eq!(running.ended().code, 128 + 2);
    assert_eq!(bench.report()["state"], "interrupted");
}

/// `timeout` signals the program and then its group: one end, and its report.
#[test]
fn one_signal_that_comes_twice_is_one() {
    let bench = Bench::new();
    let mut running = bench.start(&format!("{LONG} --json report.json"));
    after(&mut running, 1);
    running.signal(Signal::TERM);
    running.signal(Signal::TERM);
    assert_eq!(running.ended().code, 128 + 15);
    assert_eq!(bench.report()["state"], "interrupted");
    assert!(bench.path("report.json").exists());
}
