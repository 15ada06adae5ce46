//! Files that cannot or must not be written: refused with code, reason and way out, and byte-identical afterwards.

use crate::support::device::{image, text, with_root};
use crate::support::{Bench, FATHOM, moved, skip, tool};
use std::os::unix::fs::PermissionsExt;

/// A run on `target` with these options is refused in a folder that holds some files of other people.
fn check(options: &str, code: i32, says: &[&str]) {
    let bench = Bench::new();
    bench.write("foreign", "0123456789abcdef".repeat(65536));
    std::os::unix::fs::symlink("foreign", bench.path("link")).expect("the folder is ours");
    std::os::unix::fs::symlink("nowhere", bench.path("dangling")).expect("the folder is ours");
    std::fs::create_dir(bench.path("folder")).expect("the folder is ours");
    bench.check_refused(&format!("run --time 1s {options}"), code, says);
}

#[test]
fn options_that_cannot_be() {
    for (options, says) in [
        ("--target null: --queue-dept 4", &["--queue-dept", "--queue-depth"][..]),
        ("--target null: --block-size 4XiB", &["4XiB", "^"]),
        ("--target null: --queue-depth 0", &["--queue-depth", "0"]),
        ("--target null: --workers 0", &["--workers", "0"]),
        ("--target null: --read 120%", &["120%"]),
        ("--target null: --rate fast", &["fast"]),
        ("--target null: --rate 100M/s", &["100M", "20.0M", "more workers", "^"]),
        ("--target null: --rate 0/s", &["never comes", "\"max\"", "^"]),
        ("--target null: --rate=-5/s", &["-5/s", "for example --rate 5k/s", "^"]),
        ("--target null: --rate -5/s", &["--rate: \"-5/s\"", "for example --rate 5k/s", "^"]),
        ("--target null: --queue-depth -1", &["--queue-depth: -1 is negative", "from 1 to 65536", "^"]),
        ("--target null: --workers -1", &["--workers: -1 is negative", "from 1 to 65536", "^"]),
        ("--target null: --rate=-1MB/s", &["-1MB/s", "for example --rate 5k/s", "^"]),
        (
            "--target null: --rate 99999999999999999999999/s",
            &["100000000 operations per second are possible", "write a rate", "^"],
        ),
        ("--target null: --queue-depth 1000000", &["above 65536", "from 1 to 65536", "^"]),
        ("--target null: --queue-depth 99999999999999999999", &["--queue-depth", "from 1 to 65536", "^"]),
        ("--target null: --workers 1000000", &["above 65536", "^"]),
        ("--target null: --time 5lightyears", &["--time"]),
        ("--target null: --ramp 5", &["--ramp: 5 has no unit", "\"5s\"", "\"5min\"", "--ramp 15s"]),
        ("--target null: --read 70", &["--read: 70 has no unit", "\"70%\""]),
        ("--target null: --engine psync", &["psync", "only null", "^"]),
        ("--target null: --engine warp", &["warp", "psync"]),
        ("--target null: --preset nothing", &["nothing", "oltp"]),
        ("--target new --size 4KiB --block-size 1MiB", &["4 KiB", "1 MiB"]),
        (
            "--target new --size 1000000 --block-size 1000 --direct true --engine psync",
            &["1000 B", "512", "direct"],
        ),
        ("foreign --target null:", &["--target"]),
        ("", &["--target"]),
    ] {
        check(options, 2, says);
    }
}

#[test]
fn a_file_that_fathom_did_not_make_is_not_written() {
    for options in [
        "--target foreign --read 0%",
        "--target foreign --read 50% --yes",
        "--target link --read 0%",
        "--target foreign --read 0% --destroy=foreign",
        // Longer than it is: its tail would be laid out.
        "--target foreign --size 2MiB",
        "--target foreign --read 50% --remove",
    ] {
        check(options, 3, &["foreign-file", "1 MiB", "--overwrite"]);
    }
    for options in ["--target folder --read 0%", "--target /dev/tty --read 0%", "--target /dev/tty"] {
        check(options, 4, &["target.kind", "block device"]);
    }
}

#[test]
fn a_device_without_an_end_needs_a_size_and_is_not_direct() {
    for options in ["--target /dev/null --read 0%", "--target /dev/zero"] {
        check(options, 2, &["plan.needs-size", "has no end, and has no size"]);
    }
    check("--target /dev/zero --size 1MiB --direct true", 2, &["plan.direct-refused", "/dev/zero"]);
    let bench = Bench::new();
    bench.fathom("run --quiet --target /dev/zero --size 1MiB --time 200ms").expect(0, &[]);
    let report = bench.report();
    assert_eq!(report["host"]["targets"][0]["kind"], "memory_device", "{report:#}");
    assert!(report["steps"][0]["total"]["all"]["operations"].as_u64().is_some_and(|n| n > 0));
}

#[test]
fn a_file_that_is_not_there_and_has_no_size() {
    for options in ["--target absent", "--target absent --read 0%"] {
        check(options, 2, &["does not exist", "size"]);
    }
    for options in
        ["--target dangling", "--target dangling --size 1MiB", "--target dangling --size 1MiB --read 0%"]
    {
        check(options, 4, &["dangling cannot be used", "symbolic link to nowhere, where nothing is"]);
    }
    let folder = Bench::new();
    std::os::unix::fs::symlink("nowhere", folder.path("dangling")).expect("the folder is ours");
    folder.check_refused("plan --target dangling --size 1MiB", 4, &["symbolic link to nowhere"]);
    let bench = Bench::new();
    for path in ["/dev/fathom-no-such-disk", "/dev/disk/by-fathom/x", "/dev/fathom-no-such-disk/x"] {
        check(&format!("--target {path} --size 1MiB"), 4, &["there is no device", "lsblk", "^"]);
        // Nothing is said of what would be done to it.
        bench.check_refused(&format!("plan --target {path} --size 1MiB"), 4, &["there is no device"]);
    }
    check("--target nowhere/file --size 1MiB", 4, &["nowhere", "mkdir"]);
}

#[test]
fn a_foreign_file_is_read_and_with_consent_written() {
    let bench = Bench::new();
    let before = vec![0x5a; 1 << 20];
    let path = bench.write("foreign", &before);
    bench.fathom("run --target foreign --time 100ms").expect(0, &[]);
    assert!(std::fs::read(&path).expect("it is ours") == before, "a run that reads has written");
    bench.fathom("run --target foreign --read 0% --overwrite --time 100ms").expect(0, &[]);
    let after = std::fs::read(&path).expect("it is ours");
    assert!(after != before && after.len() == before.len());
    let notes = bench.report()["notes"].to_string();
    assert!(notes.contains("is overwritten, as agreed"), "{notes}");
}

/// The peer writes files that its jobs name, and so does its command line here; a run of the same job asks.
#[test]
fn a_file_named_in_a_peers_job() {
    let bench = Bench::new();
    let before = vec![0x5a; 1 << 20];
    let path = bench.write("foreign", &before);
    bench.write("job.fio", "[a]\nfilename=foreign\nrw=write\nbs=64k\n");
    bench.check_refused("run job.fio", 3, &["foreign-file", "--overwrite"]);
    bench.fathom("fio job.fio").expect(0, &[]);
    assert!(std::fs::read(&path).expect("it is ours") != before);
    assert!(bench.report()["notes"].to_string().contains("as the job names it"));
}

#[test]
fn a_swap_file_is_in_use() {
    with_root("a_swap_file_is_in_use", |bench, stage| {
        let path = bench.write("swap", vec![0; 1 << 20]);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("it is ours");
        stage.swap(text(&path))?;
        bench.check_refused(
            "run --target swap --read 0% --overwrite --time 1s",
            3,
            &["in-use", "swap space", "swapoff"],
        );
        Ok(())
    });
}

/// What cannot be kept is not measured on; what was kept can be read, and the report at the end has all of it.
#[test]
fn a_store_that_fills_up_ends_the_run() {
    with_root("a_store_that_fills_up_ends_the_run", |bench, stage| {
        stage.mount(bench, "small", &["-t", "tmpfs", "-o", "size=256k", "tmpfs"])?;
        let line = "run --target null: --rate 1k/s --time 30s --store small/runs --json -";
        let started = fathom_engine::monotonic();
        let ended = bench.fathom(line);
        let document =
            ended.expect(4, &["no space left to store the run", "FATHOM_STORE", "lacks its end"]).json();
        assert_eq!((&document["state"], &document["partial"]), (&"failed".into(), &false.into()));
        assert!(document["reason"].as_str().is_some_and(|why| why.contains("no space left")), "{document:#}");
        assert!(document["steps"][0]["total"]["all"]["operations"].as_u64() > Some(0));
        let took = fathom_engine::monotonic().since(started);
        assert!(took < fathom_units::Nanos::secs(20), "went on for {took} without a record");
        bench.fathom("runs --store small/runs").expect(0, &[]);
        bench.fathom("report --store small/runs").expect(0, &[]);
        Ok(())
    });
}

/// The report is what fio's users want: with a store that cannot be made, that has no room to begin with, that fills up, or
/// without a home, the jobs run to their end, and no folder appears where they are started.
#[test]
fn a_job_of_fio_needs_no_store() {
    with_root("a_job_of_fio_needs_no_store", |bench, stage| {
        let begins = stage.mount(bench, "begins", &["-t", "tmpfs", "-o", "size=64k", "tmpfs"])?;
        let fills = stage.mount(bench, "fills", &["-t", "tmpfs", "-o", "size=256k", "tmpfs"])?;
        // Intervals of 10 ms, so that some are stored and some are not.
        let line = "fio --name=a --ioengine=null --size=1m --rate_iops=1000 --io_size=8m --output-format=json \
                    --write_bw_log=log --log_avg_msec=10";
        // Programs that read the document take any word on standard error for a failure: it is among the notes.
        let run_with = |surroundings: &[&str], says: &[&str]| {
            let command = [&["env"], surroundings, &[FATHOM], &line.split_whitespace().collect::<Vec<_>>()];
            let ended = bench.run(&command.concat());
            let document = ended.expect(0, &[]).json();
            assert_eq!(document["jobs"][0]["read"]["total_ios"], 2048, "{surroundings:?}: {document:#}");
            assert_eq!(ended.err, "", "{surroundings:?}");
            let notes = document["fathom"]["notes"].to_string();
            assert!(says.iter().all(|says| notes.contains(says)), "{surroundings:?}: {notes}");
        };
        for store in ["/proc/none", text(&begins), text(&fills)] {
            run_with(&[&format!("FATHOM_STORE={store}")], &["this run is not stored, and goes on"]);
        }
        bench.fathom("runs --store begins").expect(0, &[]);
        assert_eq!(std::fs::read_dir(&begins).expect("it is mounted").count(), 0);
        // What was stored before is kept.
        bench.fathom("report --store fills").expect(0, &[]);
        let homeless = ["-u", "FATHOM_STORE", "-u", "HOME", "-u", "XDG_DATA_HOME"];
        let run_homeless = || {
            let words = line.split_whitespace().collect::<Vec<_>>();
            bench.run(&[&["env"], &homeless[..], &[FATHOM], &words].concat())
        };
        let ended = run_homeless();
        let document = ended.expect(0, &[]).json();
        assert_eq!(document["jobs"][0]["read"]["total_ios"], 2048, "{document:#}");
        // No run has the name that nothing is stored under, and nobody is told who did not ask.
        assert!(document["fathom"].is_object() && document["fathom"]["run"].is_null(), "{document:#}");
        assert!(!ended.err.contains("stored") && !bench.path("fathom-runs").exists(), "{ended:?}");
        std::fs::create_dir(bench.path("fathom-runs")).expect("the folder is ours");
        run_homeless().expect(0, &["this run is not stored", "FATHOM_STORE=fathom-runs"]);
        Ok(())
    });
}

/// Runs as a user without rights, with a copy of the binary, since the build folder may be closed to others.
#[test]
fn a_user_without_rights_is_told_so() {
    let test = "a_user_without_rights_is_told_so";
    with_root(test, |bench, _| {
        let open = |name: &str, mode: u32| {
            let path = bench.path(name);
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("the file is ours");
        };
        let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--"];
        open("..", 0o755);
        std::fs::copy(FATHOM, bench.path("../fathom")).expect("the binary can be read");
        open("../fathom", 0o755);
        let binary = bench.path("../fathom").canonicalize().expect("it was copied");
        let version = [&nobody[..], &[text(&binary), "--version"]].concat();
        if bench.run(&version).code != 0 {
            return Err("another user cannot run a program in the temporary folder".to_owned());
        }
        for (name, mode) in [("secret", 0o600), ("readable", 0o644)] {
            bench.write(name, vec![7; 1 << 20]);
            open(name, mode);
        }
        bench.write("secret.fio", "[a]\nrw=read\n");
        open("secret.fio", 0o600);
        std::fs::create_dir(bench.path("../store")).expect("the folder is ours");
        open("../store", 0o777);
        for (arguments, code, says) in [
            ("run --target secret --time 1s", 4, &["secret", "may not read"][..]),
            ("run --target secret --read 0% --overwrite --time 1s", 4, &["secret", "may not write"]),
            ("run --target readable --read 0% --overwrite --time 1s", 4, &["readable", "may not write"]),
            ("run --target new --size 1MiB --time 1s", 4, &["new", "permissions"]),
            ("run secret.fio", 2, &["secret.fio", "Permission denied"]),
        ] {
            let before = bench.snapshot();
            let ended = bench
                .run(&[&nobody[..], &[text(&binary)], &arguments.split(' ').collect::<Vec<_>>()].concat());
            ended.expect(code, says);
            assert!(bench.snapshot() == before, "{ended:?}");
            assert_eq!(bench.stored(), 0, "{ended:?}");
        }
        open("../store", 0o755);
        let unkept = [&nobody[..], &[text(&binary), "run", "--target", "null:", "--time", "1s"]].concat();
        bench.run(&unkept).expect(4, &["cannot be kept", "store"]);
        Ok(())
    });
}

#[test]
fn a_full_filesystem_is_told_before_anything_is_written() {
    with_root("a_full_filesystem_is_told_before_anything_is_written", |bench, stage| {
        let at = stage.mount(bench, "small", &["-t", "tmpfs", "-o", "size=16m", "tmpfs"])?;
        std::fs::write(at.join("filler"), vec![1; 12 << 20]).expect("there is room");
        for options in ["--target small/new --size 8MiB", "--target small/filler --size 20MiB --overwrite"] {
            bench.check_refused(
                &format!("run {options} --time 1s"),
                4,
                &["small", "free", "ask for at most"],
            );
        }
        std::fs::remove_file(at.join("filler")).expect("it is ours");
        bench.fathom("run --target small/new --size 8MiB --time 100ms").expect(0, &[]);
        Ok(())
    });
}

/// The space runs out although there was enough at the look: sparse files promise more than there is.
#[test]
fn a_filesystem_that_fills_up_meanwhile_loses_nothing() {
    with_root("a_filesystem_that_fills_up_meanwhile_loses_nothing", |bench, stage| {
        let at = stage.mount(bench, "small", &["-t", "tmpfs", "-o", "size=8m", "tmpfs"])?;
        std::fs::write(at.join("precious"), vec![1; 4 << 20]).expect("there is room");
        let image = image(bench, "small/image", 8 << 20, &[]);
        let device = stage.attach(&image)?;
        tool("mkfs.ext4", &["-q", "-F", "-O", "^has_journal", &device])?;
        stage.mount(bench, "inner", &[&device])?;
        // The device behind the inner filesystem cannot take what the filesystem believes it can.
        let ended = bench.fathom("run --target inner/new --size 6MiB --time 1s");
        ended.expect(4, &["cannot lay out inner/new", "No space left", "ask for a smaller size"]);
        assert!(!bench.path("inner/new").exists(), "half a file is left");
        assert_eq!(bench.report()["state"], "failed");
        assert!(std::fs::read(at.join("precious")).expect("it is there").iter().all(|&byte| byte == 1));
        Ok(())
    });
}

#[test]
fn a_file_behind_a_loop_device_is_in_use() {
    with_root("a_file_behind_a_loop_device_is_in_use", |bench, stage| {
        // Without holes, so that reading it lays nothing out.
        let backing = bench.write("backing", vec![1; 8 << 20]);
        let device = stage.attach(&backing)?;
        bench.check_refused(
            "run --target backing --read 0% --overwrite --time 1s",
            3,
            &["in-use", device.trim_start_matches("/dev/"), "backing store"],
        );
        bench.fathom("run --target backing --time 100ms").expect(0, &[]);
        Ok(())
    });
}

/// Without `io_uring`: asked for by name it is an error; left to fathom, another engine does the work and the record says so.
#[test]
fn io_uring_that_is_forbidden() {
    let test = "io_uring_that_is_forbidden";
    let bench = Bench::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/end_to_end/support/no_io_uring.c");
    let filter = bench.path("../no_io_uring");
    if let Err(why) = tool("cc", &["-o", text(&filter), source]) {
        return skip(test, &why);
    }
    let filter = text(&filter);
    if let Err(why) = tool(filter, &["true"]) {
        return skip(test, &why);
    }
    bench.write("data", vec![1; 1 << 20]);
    bench.check_refused_under(
        &[filter],
        &["run", "--target", "data", "--engine", "io_uring", "--time", "1s"],
        9,
        &["io_uring", "Operation not permitted"],
    );
    let ended =
        bench.run(&[filter, FATHOM, "run", "--target", "data", "--queue-depth", "4", "--time", "100ms"]);
    ended.expect(0, &[]);
    let report = bench.report();
    assert!(moved(&report, "/steps/0/total", "read").0 > 0);
    assert_ne!(report["steps"][0]["streams"][0]["engine"], "io_uring");
    assert!(report["notes"].to_string().contains("io_uring"), "{:#}", report["notes"]);
}

/// What the system lets a process have: told before anything is touched, with the way out; and what is said to be enough is.
#[test]
fn limits_of_the_process_and_the_host() {
    let test = "limits_of_the_process_and_the_host";
    let bench = Bench::new();
    bench.write("data", vec![1; 1 << 20]);
    let run = ["run", "--target", "data", "--engine", "psync", "--workers", "100", "--time", "100ms"];
    let few = ["prlimit", "--nofile=90:90"];
    bench.check_refused_under(&few, &run, 2, &["plan.open-files", "open files", "is 90", "ulimit -n"]);
    let said = bench.run(&[&few[..], &[FATHOM], &run].concat()).err;
    let number = |said: &str, after: &str| {
        let rest = said.split(after).nth(1).unwrap_or_else(|| panic!("{after} is not in {said}"));
        rest.split(|c: char| !c.is_ascii_digit()).next().expect("a number").to_owned()
    };
    let needed = number(&said, "ulimit -n ");
    let enough = format!("--nofile={needed}:{needed}");
    bench.run(&[&["prlimit", &enough, FATHOM], &run[..]].concat()).expect(0, &[]);
    // Of fio's jobs those run that have room; what is said is enough for all.
    let jobs = ["fio", "--name=a", "--filename=data", "--rw=randread", "--numjobs=20", "--io_size=4k"];
    let said = bench.run(&[&["prlimit", "--nofile=70:70", FATHOM], &jobs[..]].concat()).err;
    let needed = number(&said, "ulimit -n ");
    let enough = format!("--nofile={needed}:{needed}");
    let ended = bench.run(&[&["prlimit", &enough, FATHOM], &jobs[..]].concat());
    assert!(!ended.expect(0, &[]).err.contains("open files"), "{}", ended.err);

    let job = "[target.t]\npath = \"data\"\n[workload.w]\naccess = \"random\"\n[stream.s]\nengine = \"io_uring\"\nqueue_depth = 64\n";
    bench.write("locked.toml", format!("{job}fixed_buffers = true\n"));
    bench.write(
        "held.toml",
        format!("{job}locked_memory = \"1MiB\"\n").replace("io_uring", "psync").replace("64", "1"),
    );
    bench.write("aio.toml", job.replace("io_uring", "libaio").replace("64", "65536\nworkers = 100"));
    let unprivileged = ["setpriv", "--bounding-set=-ipc_lock", "prlimit", "--memlock=65536:65536"];
    match tool("setpriv", &["--bounding-set=-ipc_lock", "true"]) {
        Ok(_) if fathom_io::probe_io_uring().is_none() => {
            let says = ["plan.locked-memory", "256 KiB", "64 KiB", "ulimit -l", "fixed_buffers = false", "^"];
            bench.check_refused_under(&unprivileged, &["run", "locked.toml"], 2, &says);
            // fio's jobs go on without, and say so.
            let fixed = "fio --name=a --filename=data --rw=read --ioengine=io_uring --iodepth=8 --bs=64k --fixedbufs=1";
            let fixed: Vec<&str> = fixed.split(' ').collect();
            let ended = bench.run(&[&unprivileged[..], &[FATHOM], &fixed].concat());
            let said = &ended.expect(0, &[]).out;
            assert!(said.contains("so they are not") && said.contains("leave fixedbufs out"), "{said}");
            // The shell's limit is in KiB, and room for what is said to be enough is enough.
            let said = bench.run(&[&unprivileged[..], &[FATHOM, "plan", "locked.toml"]].concat()).err;
            let enough = number(&said, "ulimit -l ").parse::<u64>().expect("a number") * 1024;
            let enough = format!("--memlock={enough}:{enough}");
            let run =
                ["setpriv", "--bounding-set=-ipc_lock", "prlimit", &enough, FATHOM, "plan", "locked.toml"];
            bench.run(&run).expect(0, &[]);
            let says = ["plan.locked-memory", "held.toml:8", "1 MiB", "64 KiB", "ulimit -l 1024", "^"];
            bench.check_refused_under(&unprivileged, &["run", "held.toml"], 2, &says);
            // A job of fio goes without what it only asked for, and ends as there where it cannot.
            let fio = ["fio", "--name=a", "--filename=data", "--rw=read", "--size=1m", "--bs=64k"];
            let fixed = ["--ioengine=io_uring", "--fixedbufs", "--iodepth=4"];
            bench.run(&[&unprivileged[..], &[FATHOM], &fio, &fixed].concat()).expect(0, &[]);
            let ended = bench.run(&[&unprivileged[..], &[FATHOM], &fio, &["--lockmem=1m"]].concat());
            ended.expect(1, &["mlock of 1048576 B", "ulimit -l"]);
            // Some kernels count the rings themselves.
            bench.write(
                "rings.toml",
                format!("{job}workers = 64\nworker_regions = \"same\"\n[stage.main]\ntime = \"10ms\"\n"),
            );
            let unprivileged = ["setpriv", "--bounding-set=-ipc_lock", "prlimit", "--memlock=16384:16384"];
            let ended = bench.run(&[&unprivileged[..], &[FATHOM, "run", "rings.toml"]].concat());
            if ended.err.contains("plan.locked-memory") {
                let says = ["rings.toml", "need 512 KiB", "is 16 KiB", "ulimit -l 512", "fewer workers"];
                ended.expect(2, &says);
                // Nobody asked for one here, and another engine needs none.
                bench.write(
                    "auto.toml",
                    std::fs::read_to_string(bench.path("rings.toml"))
                        .expect("it is ours")
                        .replace("engine = \"io_uring\"\n", ""),
                );
                let ended = bench.run(&[&unprivileged[..], &[FATHOM, "run", "auto.toml"]].concat());
                ended.expect(0, &[]);
            } else {
                ended.expect(0, &[]);
            }
        }
        other => skip(test, &format!("locked memory: no io_uring, or {other:?}")),
    }
    let most = std::fs::read_to_string("/proc/sys/fs/aio-max-nr")
        .ok()
        .and_then(|text| text.trim().parse::<u64>().ok());
    if most.is_none_or(|most| most >= 6_553_600) || fathom_io::probe_libaio().is_some() {
        return skip(test, "this host has no libaio, or more room for it than a job can ask for");
    }
    bench.check_refused("run aio.toml", 2, &["6553600 operations", "fs.aio-max-nr", "sysctl", "queue_depth"]);
}
