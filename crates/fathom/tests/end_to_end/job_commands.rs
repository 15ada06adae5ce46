//! Commands that a job names: run with permission, refused by name without it, and never run by the server.

use crate::support::{Bench, FATHOM, skip, tool};
use std::fs;
use std::io::{BufRead, BufReader, Read};

const JOB: &str = "--name=a --ioengine=null --size=64k --rw=read";

fn fio(bench: &Bench, consent: &[&str], command: &[&str]) -> crate::support::Ended {
    let words: Vec<&str> = JOB.split(' ').collect();
    bench.run(&[&[FATHOM, "fio"], consent, &words, command].concat())
}

fn said(bench: &Bench, name: &str) -> String {
    fs::read_to_string(bench.path(name)).unwrap_or_else(|error| format!("{name}: {error}"))
}

#[test]
fn commands_are_refused_by_name_without_permission() {
    let bench = Bench::new();
    let refused = ["unsafe.exec", "the command \"touch made\"", "--allow-exec"];
    for option in ["--exec_prerun=touch made", "--exec_postrun=touch made"] {
        let (before, stored) = (bench.snapshot(), bench.stored());
        fio(&bench, &[], &[option]).expect(1, &refused);
        assert!(bench.snapshot() == before && bench.stored() == stored, "{option}");
    }
    bench.write("job.toml", "[target.t]\nkind = \"null\"\nsize = \"1MiB\"\n[workload.w]\n[stream.s]\npasses = 1\ncommand_before = \"touch made\"\n");
    for line in ["run job.toml", "run --yes --overwrite job.toml"] {
        bench.check_refused(line, 3, &refused);
    }
    bench.fathom("plan job.toml").expect(3, &[]);
    bench.fathom("run --allow-exec --quiet job.toml").expect(0, &[]);
    assert!(bench.path("made").exists());
}

#[test]
fn commands_run_before_and_after() {
    let bench = Bench::new();
    let order = "--exec_prerun=echo before | tee order; echo said";
    fio(&bench, &["--allow-exec"], &[order, "--exec_postrun=echo after >> order; echo no >&2; false"])
        .expect(0, &[]);
    assert_eq!(said(&bench, "order"), "before\nafter\n");
    assert_eq!(said(&bench, "a.prerun.txt"), "before\nsaid\n");
    assert_eq!(said(&bench, "a.postrun.txt"), "no\n");
    // A job that cannot begin has no result; the peer says that it went well.
    let failed = fio(&bench, &["--allow-exec"], &["--exec_prerun=echo oh; exit 3", "--name=b", "--size=8k"]);
    failed.expect(1, &["the command \"echo oh; exit 3\" ended with exit status: 3", "a.prerun.txt"]);
    assert_eq!(said(&bench, "a.prerun.txt"), "oh\n");
}

#[test]
fn what_commands_print_takes_the_place_of_nothing() {
    let bench = Bench::new();
    let target = bench.write("a.prerun.txt", vec![7; 65536]);
    let line = ["--exec_prerun=echo oh", "--filename=a.prerun.txt", "--ioengine=psync"];
    fio(&bench, &["--allow-exec"], &line).expect(1, &["is the target"]);
    assert_eq!(fs::read(target).expect("it is there"), vec![7; 65536]);
}

/// What a command before the load removes is made again where it is written, and missed where it is read, as with the peer. Another
/// file in its place was not looked at.
#[test]
fn what_a_command_removes_before_the_load_is_made_again() {
    let line = "--name=a --filename=f --size=64k";
    for (load, command, code, bytes) in [
        ("--rw=write", "rm -f f", 0, Some(64 << 10)),
        ("--rw=write --ioengine=io_uring --iodepth=4", "rm -f f", 0, Some(64 << 10)),
        ("--rw=write --verify=crc32c", "rm -f f", 0, Some(64 << 10)),
        ("--rw=write", "true", 0, Some(64 << 10)),
        ("--rw=read", "rm -f f", 1, None),
        ("--rw=write", "cp f g && mv g f", 1, Some(64 << 10)),
    ] {
        let bench = Bench::new();
        let command = format!("--exec_prerun={command}");
        let words: Vec<&str> = line.split(' ').chain(load.split(' ')).chain([command.as_str()]).collect();
        let ended = bench.run(&[&[FATHOM, "fio", "--allow-exec"], &words[..]].concat());
        assert_eq!(ended.code, code, "{load} {command}: {ended:?}");
        let there = fs::metadata(bench.path("f")).ok().map(|meta| meta.len());
        assert_eq!(there, bytes, "{load} {command}");
    }
}

#[test]
fn the_peer_leaves_the_same_files() {
    if let Err(why) = tool("fio", &["--version"]) {
        return skip("the_peer_leaves_the_same_files", &why);
    }
    let clones = ["--numjobs=2", "--exec_prerun=echo early", "--exec_postrun=echo late"];
    let names = |bench: &Bench| {
        bench
            .snapshot()
            .into_iter()
            .map(|(path, of)| (path.file_name().map(ToOwned::to_owned), of.3))
            .collect::<Vec<_>>()
    };
    let (peer, ours) = (Bench::new(), Bench::new());
    let words: Vec<&str> = JOB.split(' ').collect();
    peer.run(&[&["fio"], &words[..], &clones].concat()).expect(0, &[]);
    fio(&ours, &["--allow-exec"], &clones).expect(0, &[]);
    assert_eq!(names(&ours), names(&peer));
}

/// A command after the load that does not end is killed with all that it started, some time after the run was to stop.
#[test]
fn a_command_after_the_load_does_not_outlive_the_stop() {
    let bench = Bench::new();
    let lines = ["sleep 1000 & echo $! > pid; echo its $! >&2; wait", "echo oh >&2; exit 3"];
    let job = |line: &str| {
        let line = line.replace('"', "'");
        format!(
            "[target.t]\nkind = \"null\"\nsize = \"1MiB\"\n[workload.w]\n[stream.s]\ntime = \"60s\"\nrate = \"10/s\"\n\
             command_after = \"{line}\"\n"
        )
    };
    bench.write("job.toml", job(lines[0]));
    let mut running = bench.start("run --allow-exec job.toml");
    running.wait_for("main: 1 stream");
    running.signal(rustix::process::Signal::INT);
    let unfolded = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let ended = running.ended();
    ended.expect(130, &[]);
    assert!(unfolded(&ended.out).contains("was killed: it still ran 3.00 s after"), "{ended:?}");
    let child = said(&bench, "pid");
    let status = fs::read_to_string(format!("/proc/{}/status", child.trim())).unwrap_or_default();
    // Whoever takes in orphans may be slow to: it is gone, or dead.
    assert!(status.is_empty() || status.contains("State:\tZ"), "{status}");
    // One that ends badly by itself spoils nothing, and is told.
    bench.write("job.toml", job(lines[1]).replace("60s", "100ms"));
    let ended = bench.fathom("run --allow-exec job.toml");
    ended.expect(0, &[]);
    let says = "the command \"echo oh >&2; exit 3\" ended with exit status: 3";
    assert!(unfolded(&ended.out).contains(says), "{ended:?}");
}

/// A second signal ends fathom at once, and the command with it.
#[test]
fn a_command_after_the_load_does_not_outlive_a_second_signal() {
    let bench = Bench::new();
    let alive = bench.path("alive");
    tool("mkfifo", &[alive.to_str().expect("a temporary path is text")]).expect("coreutils have mkfifo");
    bench.write(
        "job.toml",
        "[target.t]\nkind = \"null\"\nsize = \"1MiB\"\n[workload.w]\n[stream.s]\ntime = \"60s\"\nrate = \"10/s\"\n\
         command_after = \"exec 3>alive; echo up >&3; exec sleep 1000\"\n",
    );
    let mut running = bench.start("run --allow-exec job.toml");
    running.wait_for("main: 1 stream");
    running.signal(rustix::process::Signal::INT);
    // Opened once the command is there, and at its end only when nobody has it open any more.
    let mut held = BufReader::new(fs::File::open(alive).expect("it is there"));
    let mut said = String::new();
    held.read_line(&mut said).expect("it is text");
    // One that comes too soon counts as the first.
    while running.is_running() {
        running.signal(rustix::process::Signal::INT);
    }
    assert_eq!(running.ended().code, 130);
    held.read_to_string(&mut said).expect("it is text");
    assert_eq!(said, "up\n");
}
