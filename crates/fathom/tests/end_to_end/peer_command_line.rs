//! The command line of `fathom fio` beside the peer's own: what `--showcmd` prints, which codes they end with, and the
//! binary under the peer's name. Skipped aloud where the peer is not installed.

use crate::support::{Bench, FATHOM, project, skip, tool};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::process::Command;

/// Whether the peer is there; says that it is not.
fn peer(test: &str) -> bool {
    tool("fio", &["--version"]).map_err(|why| skip(test, &why)).is_ok()
}

/// Both end with this code and, where `same` is set, print the same.
fn check(bench: &Bench, arguments: &[&str], code: i32, same: bool) {
    let theirs = bench.run(&[&["fio"], arguments].concat());
    let ours = bench.run(&[&[FATHOM, "fio"], arguments].concat());
    assert_eq!(theirs.code, code, "the peer with {arguments:?}: {}", theirs.err);
    assert_eq!(ours.code, code, "fathom with {arguments:?}: {}", ours.err);
    if same {
        assert_eq!(ours.out, theirs.out, "{arguments:?}");
    }
}

#[test]
fn job_files_are_shown_as_the_same_command_lines() {
    if !peer("job_files_are_shown_as_the_same_command_lines") {
        return;
    }
    let bench = Bench::new();
    bench.write("g.fio", "[global]\nblocksize=8k\nrw=write\n[global]\nsize=1m\n[a]\nstonewall\n[globalx]\nbs=16k\n[b]\ntime_based\nruntime=1\nfilename=x\nfilename=y\n");
    // An engine's own options come last, wherever they stand.
    bench.write(
        "e.fio",
        "[a]\nioengine=cpuio\ncpuload=50\nnumjobs=2\ncpumode=noop\n[b]\nioengine=io_uring\nhipri\nbs=4k\nsqthread_poll=1\n\
         filename=x\nallrandrepeat=1\n[c]\nuri=x\nioengine=nbd\nsize=4k\n",
    );
    bench.write(
        "h.fio",
        "[global]\niodepth=2\n[c]\nname=zz\nrw=read\ndescription=foo bar\nexec_prerun=a b\n[d]\n",
    );
    bench.write("i.fio", "[e f]\nfilename=a:b c\nkb_base=1000\nsize=${HOME}\nstartdelay=0\nwrite_bw_log\n");
    for arguments in [
        &["g.fio"][..],
        &["g.fio", "h.fio"],
        &["e.fio"],
        &["--section=b", "g.fio"],
        &["--section=d", "h.fio"],
        &["--section=none", "h.fio"],
        &["--bs=4k", "--iodepth=7", "g.fio", "h.fio"],
        &["--bs=4k", "--name=x", "--rw=read", "h.fio"],
        &["--name=x", "--rw=read"],
        &[],
    ] {
        check(&bench, &[&["--showcmd"], arguments].concat(), 0, true);
    }
    // What stands before a fault is shown.
    bench.write("f.fio", "[a]\nrw=read\nsize=64k\n[b]\nsize=4k\nbs=x\n[c]\nrw=write\n");
    bench.write("k.fio", "[global]\nbs=4k\n[a]\nfoo=1\nrw=read\n[b]\n");
    bench.write("l.fio", "[global]\nbs=x\n[a]\n");
    bench.write("m.fio", "bs=4k\n[a]\n");
    for arguments in [
        &["f.fio"][..],
        &["g.fio", "f.fio", "h.fio"],
        &["h.fio", "absent.fio", "g.fio"],
        &["k.fio"],
        &["l.fio"],
        &["m.fio"],
        &["--name=a", "--bs=x", "h.fio"],
        &["--section=b", "f.fio"],
    ] {
        check(&bench, &[&["--showcmd"], arguments].concat(), 1, true);
    }
    check(&bench, &["--showcmd", "--section=a", "f.fio"], 0, true);
    check(&bench, &["--showcmd", "--section=none", "f.fio"], 0, true);
    // A value that is wrong is met by fathom in any case, by the peer only when it runs.
    check(&bench, &["--showcmd", "--parse-only", "h.fio"], 0, true);
    bench.fathom("fio --showcmd i.fio").expect(1, &["size"]);
    let corpus = project().join("../shared/corpus/fio/jobs");
    let Ok(files) = std::fs::read_dir(&corpus) else {
        return skip("job_files_are_shown_as_the_same_command_lines", "the corpus of job files is not there");
    };
    let mut differing = Vec::new();
    for file in files {
        let path = file.expect("the corpus can be read").path();
        let path = path.to_str().expect("its names are plain");
        let theirs = bench.run(&["fio", "--showcmd", "--parse-only", path]);
        let ours = bench.run(&[FATHOM, "fio", "--showcmd", "--parse-only", path]);
        if theirs.code == 0 && theirs.out != ours.out {
            differing.push(format!("{path}\n  {}\n  {}\n{}", theirs.out, ours.out, ours.err));
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

/// Limits of a steady state are what fio's own tests look for.
#[test]
fn what_is_said_of_limits_while_they_are_read_is_the_same() {
    if !peer("what_is_said_of_limits_while_they_are_read_is_the_same") {
        return;
    }
    let bench = Bench::new();
    for limit in ["iops:10", "iops:10%", "iops_slope:.1%", "bw:12", "bw_slope:10%"] {
        let said = |program: &[&str]| {
            let words = ["--parse-only", "--debug=parse", "--ss_dur=10s", &format!("--ss={limit}")];
            let ended = bench.run(&[program, &words].concat());
            let lines = ended.expect(0, &[]).out.lines();
            // Without the number of the process.
            let of_limits = lines.filter(|line| line.contains("set steady state"));
            of_limits.map(|line| line.split_whitespace().skip(2).collect::<Vec<_>>().join(" ")).collect()
        };
        let (theirs, ours): (Vec<String>, Vec<String>) = (said(&["fio"]), said(&[FATHOM, "fio"]));
        assert_eq!(ours, theirs, "{limit}");
    }
    let seeds = |more: &str| {
        let line = format!("fio --debug=random --name=a --ioengine=null --rw=randread --size=32k {more}");
        let ended = bench.fathom(&line);
        let seeds = ended.expect(0, &[]).out.lines().filter(|line| line.contains("rand_seeds["));
        seeds.filter_map(|line| line.rsplit('=').next()?.parse().ok()).collect::<Vec<u64>>()
    };
    assert_eq!(seeds("--randrepeat=1"), seeds("--randrepeat=1"));
    assert_eq!(seeds("--randseed=12345"), seeds("--randseed=12345 --randrepeat=0"));
    assert_ne!(seeds("--randseed=12345"), seeds("--randseed=67890"));
    assert_ne!(seeds("--randrepeat=0"), seeds("--randrepeat=0"));
}

#[test]
fn both_end_with_the_same_code() {
    if !peer("both_end_with_the_same_code") {
        return;
    }
    let bench = Bench::new();
    bench.write("bad.fio", "[a]\nbss=4k\n");
    bench.write("worse.fio", "[a]\nbs=x\n");
    bench.write("none.fio", "[global]\nbs=4k\n");
    bench.write("early.fio", "bs=4k\n[a]\n");
    bench.write("engine.fio", "[a]\nioengine=nonsense\nsize=4k\n");
    bench.write("j.fio", "[a]\nioengine=null\nsize=64k\n");
    let many: String = (0..=4096).map(|job| format!("[{job}]\nioengine=null\nsize=4k\n")).collect();
    bench.write("many.fio", many);
    bench.write("part.fio", "[a]\nioengine=null\nsize=64k\n[b]\nioengine=null\nsize=64k\nbs=x\n");
    bench.write("empty", "");
    let null = ["--name=a", "--ioengine=null", "--size=64k"];
    for (arguments, code) in [
        (&[][..], 1),
        (&["--version"], 0),
        (&["-v"], 0),
        (&["--help"], 0),
        (&["-h"], 0),
        (&["-c", "bs"], 0),
        (&["-t"], 1),
        (&["--", "none.fio"], 1),
        (&["--nonsense"], 1),
        (&["absent.fio"], 1),
        (&["none.fio"], 1),
        (&["bad.fio"], 1),
        (&["worse.fio"], 1),
        (&["early.fio"], 1),
        (&["--parse-only", "bad.fio"], 1),
        (&["--parse-only", "--name=a", "--bs=4k"], 0),
        (&["--parse-only", "many.fio"], 0),
        (&["--parse-only", "--name=a", "--numjobs=5000"], 0),
        (&["many.fio"], 1),
        (&["--parse-only", "--name=a", "--wait_for=b", "--size=4k"], 0),
        (&["--name=a", "--wait_for=b", "--size=4k", "--ioengine=null"], 1),
        (&["--section=b", "none.fio"], 1),
        (&["--section=a", "part.fio"], 0),
        (&["--section=b", "part.fio"], 1),
        (&["--section=c", "part.fio"], 1),
        (&["--section=c", "--parse-only", "part.fio"], 0),
        (&["--cmdhelp="], 0),
        (&["--enghelp="], 0),
        (&["--enghelp=libaio,"], 1),
        (&["--enghelp=,"], 1),
        (&["--inflate-log=absent"], 1),
        (&["--inflate-log=empty"], 1),
        (&["--inflate-log="], 1),
        (&["--inflate-log"], 1),
        (&["--name=a", "--read_iolog=empty"], 1),
        (&["--name=a", "--read_iolog=absent"], 1),
        (&["--name=a", "--size=64k", "--ioengine= null"], 1),
        (&["--name=a", "--rw=raed", "--size=4k"], 1),
        (&["--name=a", "--ioengine=nonsense", "--size=4k"], 1),
        (&["--name=a", "--rw=read", "--filename=absent"], 1),
        (&["--parse-only", "--name=a", "--ioengine=nonsense"], 1),
        (&["--parse-only", "engine.fio"], 0),
        (&["--showcmd", "engine.fio"], 0),
        (&["engine.fio"], 1),
        (&["--cmdhelp=bs"], 0),
        (&["--cmdhelp=nonsense"], 0),
        (&["--cmdhelp"], 0),
        (&["--enghelp"], 0),
        (&["--enghelp=libaio"], 0),
        (&["--enghelp=nonsense"], 1),
        (&["--output-format=nonsense", "--name=a"], 1),
        (&["--terse-version=6", "--name=a"], 1),
        (&["--eta=nonsense", "--name=a"], 1),
        (&["--eta-newline=x", "--name=a"], 1),
        (&["--status-interval=x", "--name=a"], 1),
        (&["--debug=nonsense", "--name=a"], 1),
        (&["--client"], 1),
        (&["--readonly", "--name=a", "--rw=write", "--size=4k"], 1),
    ] {
        check(&bench, arguments, code, false);
    }
    for (arguments, code) in [
        (&[][..], 0),
        (&["--max-jobs=1", "--numjobs=4"], 0),
        (&["--max-jobs=5000", "--numjobs=4097"], 1),
        (&["--alloc-size=1024", "--aux-path=/tmp"], 0),
        (&["--eta=never", "--eta-newline=1", "--eta-interval=500"], 0),
        (&["--eta=newline"], 0),
        (&["--eta=newline=500ms"], 0),
        (&["--readw=read", "--", "j.fio"], 0),
        (&["-mFjson", "-onothing", "-V", "4"], 0),
        (&["--time_based"], 0),
        (&["--time_based", "--warnings-fatal"], 1),
        (&["--readonly", "--rw=read"], 0),
    ] {
        check(&bench, &[&null, arguments].concat(), code, false);
    }
}

/// Values that mean something else than they seem to, or nothing.
#[test]
fn odd_values_end_with_the_same_code() {
    if !peer("odd_values_end_with_the_same_code") {
        return;
    }
    let bench = Bench::new();
    let null = ["--name=a", "--ioengine=null", "--size=64k"];
    for (arguments, code) in [
        (&["--write_bw_log="][..], 1),
        (&["--write_bw_log"], 1),
        (&["--log_hist_coarseness=7"], 0),
        (&["--log_compression=1"], 1),
        (&["--log_compression=64k"], 0),
        (&["--cpus_allowed=x"], 0),
        (&["--cpus_allowed=0,x"], 0),
        (&["--cpus_allowed=0-"], 0),
        (&["--cpus_allowed="], 1),
        (&["--cpus_allowed=,"], 1),
        (&["--cpus_allowed=9999"], 1),
        (&["--io_size=5%"], 1),
        (&["--io_size=5%", "--numjobs=2"], 2),
        (&["--io_size=7%"], 0),
    ] {
        check(&bench, &[&null, arguments].concat(), code, false);
    }
    for (bytes, code) in [(4095, 0), (4096, 1)] {
        let list = format!("--filename={}", "f:".repeat(bytes / 2) + &"f".repeat(bytes % 2));
        check(&bench, &["--name=a", "--parse-only", &list], code, false);
    }
}

/// Of a list of names on a command line, too, it takes no blanks around them and no comment.
#[test]
fn names_of_a_command_line_are_those_of_the_peer() {
    if !peer("names_of_a_command_line_are_those_of_the_peer") {
        return;
    }
    for list in ["a", " a: b ", "a#b", "a;b:c", "a::b"] {
        let made = |program: &[&str]| {
            let bench = Bench::new();
            let names = format!("--filename={list}");
            let words = ["--name=x", "--rw=write", "--size=8k", &names];
            bench.run(&[program, &words[..]].concat()).expect(0, &[]);
            let paths = bench.snapshot().into_keys();
            paths.filter_map(|path| Some(path.file_name()?.to_owned())).collect::<Vec<_>>()
        };
        assert_eq!(made(&[FATHOM, "fio"]), made(&["fio"]), "{list:?}");
    }
}

#[test]
fn under_the_name_of_the_peer_it_is_the_peer() {
    let bench = Bench::new();
    symlink(FATHOM, bench.path("fio")).expect("the folder is ours");
    let link = bench.path("fio");
    let link = link.to_str().expect("temporary folders have plain names");
    bench.run(&[link, "--version"]).expect(0, &[]);
    let job = b"[a]\nioengine=null\nsize=64k\n";
    let ended = bench.run_with_input(&[link, "--output-format=json", "-"], job);
    assert_eq!(ended.code, 0, "{}", ended.err);
    let document: serde_json::Value = serde_json::from_str(&ended.out).expect("it is a document");
    assert_eq!(document["jobs"][0]["read"]["total_ios"], 16);
    let odd = OsStr::from_bytes(b"--filename=\xff");
    let refused = Command::new(link)
        .args(["--name=a".as_ref(), "--size=4k".as_ref(), odd])
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(1) && said.contains("not UTF-8"), "{said}");
}

#[test]
fn what_is_not_there_points_to_what_is() {
    let bench = Bench::new();
    for (line, says) in [
        ("--client=host --name=a", "each host"),
        ("--server", "each host"),
        ("--profile=act", "write the job out"),
        ("--trigger-remote=x --name=a", "--trigger"),
        ("--idle-prof=each --name=a", "is not one of system, percpu"),
        ("--inflate-log=x", "cannot read x: No such file"),
        ("--name=a --size=4k --write_bw_log", "--write_bw_log requires an argument"),
        ("--name=a --size=4k --rw", "--rw requires an argument"),
    ] {
        bench.check_refused(&format!("fio {line}"), 1, &[says]);
    }
}

#[test]
fn a_trigger_ends_the_jobs_and_runs_a_command() {
    let bench = Bench::new();
    let job = "--name=a --ioengine=null --size=1m --time_based --runtime=50 --output-format=json";
    let command = ["--trigger", "echo it is time > pulled"];
    let words = |more: &[&'static str]| -> Vec<&str> {
        [&["fio"], more, &job.split(' ').collect::<Vec<_>>()].concat()
    };
    // What it runs may do anything: it has to be allowed.
    bench.check_refused_under(
        &[],
        &words(&["--trigger-timeout=1", "--trigger", "true"]),
        1,
        &["--allow-exec"],
    );
    let timed = bench.fathom_with(&words(&["--trigger-timeout=1", "--allow-exec", command[0], command[1]]));
    let document = timed.expect(0, &[]).json();
    let runtime = document["jobs"][0]["read"]["runtime"].as_u64().expect("milliseconds");
    assert!((500..40_000).contains(&runtime), "{runtime} ms of 50 s");
    assert_eq!(std::fs::read_to_string(bench.path("pulled")).ok().as_deref(), Some("it is time\n"));
    // A file is taken away, and is enough; the command that fails is told.
    bench.write("now", "");
    let by_file = bench.fathom_with(&words(&["--trigger-file=now", "--allow-exec", "--trigger", "exit 3"]));
    by_file.expect(0, &["exit 3", "exit status: 3"]).json();
    assert!(!bench.path("now").exists());
    // It may cut the power: what was written is on disk then.
    let job = "fio --name=w --size=1m --rw=write --verify=crc32c --do_verify=0 --rate_iops=50 --trigger-timeout=1 --allow-exec";
    let saved = [&job.split(' ').collect::<Vec<_>>()[..], &["--trigger", "ls > seen"]].concat();
    bench.fathom_with(&saved).expect(0, &[]);
    let seen = std::fs::read_to_string(bench.path("seen")).expect("it has run");
    assert!(seen.lines().any(|name| name == "local-w-0-verify.state"), "{seen}");
}

/// What fio says while it cannot tell, in the first two seconds (3.33).
const UNKNOWN: u64 = 2_147_483_647;

#[test]
fn the_end_of_jobs_that_are_bound_by_size_is_foretold() {
    let job = ["--name=a", "--rw=write", "--filename=f", "--size=6m", "--rate=2m"];
    // Milliseconds that the job has run, and seconds that are left, of each report.
    let told = |program: &[&str]| -> Vec<(u64, u64)> {
        let switches = ["--status-interval=1", "--output-format=json"];
        let ended = Bench::new().run(&[program, &job, &switches].concat());
        ended.expect(0, &[]);
        let begin = ended.out.find("{\n").expect("a document");
        let documents = serde_json::Deserializer::from_str(&ended.out[begin..]).into_iter();
        let of = |document: Result<serde_json::Value, _>| {
            let document = document.expect("a document");
            let job = &document["jobs"][0];
            let number = |key: &str| job[key].as_u64().expect("a number");
            (number("job_runtime"), number("eta"))
        };
        documents.map(of).collect()
    };
    let ours = told(&[FATHOM, "fio"]);
    assert!(ours.len() > 2, "{ours:?}");
    let (last, before) = ours.split_last().expect("there are some");
    assert_eq!(last.1, 0, "{ours:?}");
    for (runtime, eta) in before {
        let foretold = runtime + eta * 1000;
        assert!((2000..=5000).contains(&foretold), "{ours:?}");
    }
    let lines = |program: &[&str]| -> Vec<(f64, u64)> {
        let switches = ["--eta=always", "--output=report"];
        let ended = Bench::new().run(&[program, &job, &switches].concat());
        ended.expect(0, &[]);
        let of = |line: &str| {
            let percent = line.split_once("%]")?.0.rsplit('[').next()?.parse().ok()?;
            let seconds = line.split_once("[eta 00m:")?.1.split('s').next()?.parse().ok()?;
            Some((percent, seconds))
        };
        ended.out.split(['\r', '\n']).filter_map(of).collect()
    };
    let ours = lines(&[FATHOM, "fio"]);
    assert!(ours.len() > 2, "{ours:?}");
    // A machine that is busy for a while makes it look longer for a while.
    let (first, last) = (ours[0], ours[ours.len() - 1]);
    assert!(first.0 < 50.0 && first.1 > 0 && last.0 > 90.0 && last.1 == 0, "{ours:?}");
    if !peer("the_end_of_jobs_that_are_bound_by_size_is_foretold") {
        return;
    }
    let theirs = told(&["fio"]);
    assert!(theirs.iter().all(|(_, eta)| *eta <= 6 || *eta == UNKNOWN), "{theirs:?}");
    assert_eq!(theirs.last().map(|last| last.1), Some(0), "{theirs:?}");
    let theirs = lines(&["fio"]);
    assert!(theirs.iter().all(|(_, left)| *left <= 6), "{theirs:?}");
}
