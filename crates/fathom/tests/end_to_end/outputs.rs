//! Reports and logs go only where nothing is lost by it: not into a target, a job file, a record, or what is in use.

use crate::support::device::{SIZE, image, text, with_root};
use crate::support::{Bench, FATHOM, tool};
use std::path::Path;

/// Every kind of output, written to `path`, which keeps its content: refused before anything runs.
fn check_kept(bench: &Bench, path: &str, says: &[&str]) {
    bench.check_refused(&format!("run --target null: --time 100ms --json {path}"), 2, says);
    bench.write("plain.fio", "[a]\nioengine=null\nsize=1m\n");
    for line in [
        format!("fio --output={path} plain.fio"),
        format!("fio --output={path} --output-format=json --status-interval=1 plain.fio"),
        format!("fio --output={path} --showcmd plain.fio"),
    ] {
        bench.check_refused(&line, 1, says);
    }
}

#[test]
fn a_job_file_is_no_output() {
    let bench = Bench::new();
    let job = "[a]\nioengine=null\nsize=1m\n";
    bench.write("j.fio", job);
    bench.write("outer.fio", "[a]\ninclude options.inc\nioengine=null\nsize=1m\n");
    bench.write("options.inc", "bs=4k\n");
    bench.write("job.toml", "[target.t]\nkind = \"null\"\nsize = \"1MiB\"\n[stream.s]\npasses = 1\n");
    std::fs::hard_link(bench.path("j.fio"), bench.path("link")).expect("the folder is ours");
    for (line, code) in [
        ("run j.fio --json j.fio", 2),
        ("run j.fio --json link", 2),
        ("run job.toml --json ./job.toml", 2),
        ("run outer.fio --json options.inc", 2),
        ("fio --output=link j.fio", 1),
        ("fio --output=options.inc outer.fio", 1),
        ("fio --output=j.fio --showcmd j.fio", 1),
    ] {
        let before = bench.snapshot();
        bench.fathom(line).expect(code, &["the output", "is the job file", "name another file"]);
        assert!(bench.snapshot() == before, "{line}");
    }
    bench.write("logged.fio", "[a]\nioengine=null\nsize=1m\nwrite_bw_log=x\nlog_avg_msec=100\n");
    std::fs::hard_link(bench.path("logged.fio"), bench.path("x_bw.1.log")).expect("the folder is ours");
    bench.check_refused("fio logged.fio", 1, &["x_bw.1.log is the job file"]);
    let piped = bench.run(&["sh", "-c", &format!("{} run - --json j.fio < j.fio", crate::support::FATHOM)]);
    piped.expect(2, &["is the job file"]);
    assert_eq!(std::fs::read_to_string(bench.path("j.fio")).expect("it is ours"), job);
}

/// By its own name, by a link, and copied elsewhere: neither a report nor a load is written over a stored run.
#[test]
fn a_stored_run_is_never_written_over() {
    let bench = Bench::new();
    bench.fathom("run --target null: --time 100ms").expect(0, &[]);
    let run = bench.report()["run"].as_str().expect("an id").to_owned();
    let path = bench.store().join(format!("{run}.fathom"));
    let before = std::fs::read(&path).expect("it is ours");
    std::fs::hard_link(&path, bench.path("hard")).expect("both are ours");
    std::os::unix::fs::symlink(&path, bench.path("soft")).expect("the folder is ours");
    std::fs::copy(&path, bench.path("copy")).expect("the folder is ours");
    for (name, what) in [
        (text(&path), "fathom's own store"),
        ("hard", "fathom's own store"),
        ("soft", "fathom's own store"),
        ("copy", "the record of a run"),
    ] {
        check_kept(&bench, name, &["is in use", what]);
        let line = format!("run --target {name} --read 0% --overwrite --time 1s");
        bench.check_refused(&line, 3, &["unsafe.in-use", what, "never written"]);
        let line = format!("fio --name=a --rw=write --bs=4k --filename={name}");
        bench.check_refused(&line, 1, &[what]);
    }
    assert!(std::fs::read(&path).expect("it is ours") == before);
    assert!(std::fs::read(bench.path("copy")).expect("it is ours") == before);
}

#[test]
fn a_stored_run_is_known_through_another_mount() {
    with_root("a_stored_run_is_known_through_another_mount", |bench, stage| {
        bench.fathom("run --target null: --time 100ms").expect(0, &[]);
        let run = bench.report()["run"].as_str().expect("an id").to_owned();
        let at = stage.mount(bench, "mounted", &["--bind", text(&bench.store())])?;
        let path = at.join(format!("{run}.fathom"));
        let before = std::fs::read(&path).expect("it is ours");
        let line = format!("run --target {} --read 0% --overwrite --time 1s", text(&path));
        bench.fathom(&line).expect(3, &["unsafe.in-use", "fathom's own store"]);
        let line = format!("run --target null: --time 100ms --json {}", text(&path));
        bench.fathom(&line).expect(2, &["is in use", "fathom's own store"]);
        assert!(std::fs::read(&path).expect("it is ours") == before);
        Ok(())
    });
}

#[test]
fn what_a_loop_device_stands_on_is_no_output() {
    with_root("what_a_loop_device_stands_on_is_no_output", |bench, stage| {
        let backing: &Path = &image(bench, "image", SIZE, &[(0, b"content")]);
        let device = stage.attach(backing)?;
        std::fs::hard_link(backing, bench.path("link")).expect("the folder is ours");
        for name in ["image", "link"] {
            let says = ["is in use", "backing store", device.trim_start_matches("/dev/")];
            check_kept(bench, name, &says);
        }
        Ok(())
    });
}

/// A single file that a container has from outside: nothing can be renamed to it.
#[test]
fn a_file_that_something_is_mounted_on_takes_an_output() {
    with_root("a_file_that_something_is_mounted_on_takes_an_output", |bench, _| {
        let script = "mount --bind kept out && exec \"$@\"";
        let within = ["unshare", "--mount", "--", "sh", "-c", script, "sh"];
        bench.write("kept", "what was there before, and longer than what comes: ".repeat(500));
        bench.write("out", "");
        tool("unshare", &["--mount", "true"])?;
        let line = "fio --name=a --ioengine=null --size=1m --output-format=json --output=out";
        let words: Vec<&str> = std::iter::once(FATHOM).chain(line.split(' ')).collect();
        bench.run(&[&within[..], &words].concat()).expect(0, &[]);
        let text = std::fs::read_to_string(bench.path("kept")).expect("it was written");
        let document: serde_json::Value = serde_json::from_str(&text).expect("a whole document");
        assert_eq!(document["jobs"][0]["jobname"], "a");
        assert_eq!(std::fs::read_to_string(bench.path("out")).expect("it lies below"), "");
        let parts = bench.snapshot().into_keys().filter(|path| path.to_string_lossy().ends_with(".part"));
        assert_eq!(parts.count(), 0);
        Ok(())
    });
}

#[test]
fn logs_and_reports_go_where_links_lead() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("elsewhere")).expect("the folder is ours");
    for name in ["out", "log_bw.1.log"] {
        let to = format!("elsewhere/{name}");
        std::os::unix::fs::symlink(to, bench.path(name)).expect("the folder is ours");
    }
    bench.fathom("fio --name=a --ioengine=null --size=1m --write_bw_log=log --output=out").expect(0, &[]);
    for name in ["out", "log_bw.1.log"] {
        assert!(bench.path(name).is_symlink(), "{name}");
        let text = std::fs::read_to_string(bench.path(&format!("elsewhere/{name}"))).expect("it was written");
        assert!(!text.is_empty(), "{name}");
    }
}
