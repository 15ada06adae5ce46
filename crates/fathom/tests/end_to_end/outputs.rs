//! Reports and logs go only where nothing is lost by it: not into a target, a job file, a record, or what is in use.

use crate::support::Bench;
use crate::support::device::{SIZE, image, text, with_root};
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
