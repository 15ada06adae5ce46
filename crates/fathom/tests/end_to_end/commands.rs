//! The commands that scripts rely on: what they print and where, their JSON, and which run they mean.

use crate::support::{Bench, Ended, FATHOM, project, schema};
use serde_json::Value;

fn check_schema(document: &Value) {
    let path = project().join("docs/generated/report.schema.json");
    let text = std::fs::read_to_string(&path).expect("the schema is part of the project");
    let schema = serde_json::from_str(&text).expect("the schema is JSON");
    let violations = schema::violations(document, &schema);
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}

fn short_run(bench: &Bench) -> Ended {
    bench.fathom("run --target sim: --time 2s")
}

#[test]
fn a_run_prints_its_answer_and_where_the_record_is() {
    let bench = Bench::new();
    let ended = short_run(&bench);
    ended.expect(0, &["IOPS", "record: "]);
    for part in ["10.0k IOPS", "p50", "Can it be trusted?"] {
        assert!(ended.out.contains(part), "{part} is missing in {ended:#?}");
    }
    assert_eq!(ended.err.matches(" IOPS ").count(), 2, "a line per second: {ended:#?}");
    let path = ended.err.lines().find_map(|line| line.strip_prefix("record: ")).expect("it was said");
    assert!(std::path::Path::new(path).is_file(), "{path}");
    assert_eq!(bench.stored(), 1, "one complete file and nothing beside it");
}

#[test]
fn json_goes_to_standard_output_alone_or_into_a_file() {
    let bench = Bench::new();
    let ended = bench.fathom("run --target sim: --time 1s --json -");
    let document = ended.expect(0, &[]).json();
    check_schema(&document);
    let ended = bench.fathom("run --target sim: --time 1s --json report.json");
    assert!(ended.expect(0, &[]).out.contains("IOPS"), "{ended:#?}");
    let text = std::fs::read_to_string(bench.path("report.json")).expect("it was written");
    check_schema(&serde_json::from_str(&text).expect("one document"));
    // A reader of the old document keeps it whole: a new file takes its place.
    let inode = |name: &str| {
        let meta = std::fs::metadata(bench.path(name)).expect("it was written");
        std::os::unix::fs::MetadataExt::ino(&meta)
    };
    let old = inode("report.json");
    let _kept = std::fs::File::open(bench.path("report.json")).expect("it was written");
    bench.fathom("run --target sim: --time 1s --json report.json").expect(0, &[]);
    assert_ne!(inode("report.json"), old);
    let files = bench.snapshot();
    assert_eq!(files.len(), 1, "only the document is left: {:?}", files.keys());
    // Found only when it is written: the record is kept, and the text was printed.
    let ended = bench.fathom("run --target sim: --time 1s --json /dev/full");
    assert!(ended.expect(4, &["/dev/full", "record: "]).out.contains("IOPS"), "{ended:#?}");
    assert_eq!(bench.stored(), 4);
}

#[test]
fn where_documents_go_is_looked_at_before_the_run() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("folder")).expect("the folder is ours");
    bench.write("old", [0x5a; 8192]);
    std::fs::hard_link(bench.path("old"), bench.path("hard")).expect("the folder is ours");
    bench.write("agg-read_bw.log", [0x5a; 8192]);
    std::os::unix::fs::symlink("old", bench.path("link")).expect("the folder is ours");
    bench.write("log.fio", "[a]\nfilename=old\nrw=read\nwrite_bw_log=folder/x\nlog_avg_msec=1000\n");
    std::fs::create_dir(bench.path("folder/x_bw.1.log")).expect("the folder is ours");
    bench.write(
        "lost.fio",
        "[a]\nioengine=null\nsize=1m\nrw=read\nwrite_bw_log=nowhere/x\nlog_avg_msec=1000\n",
    );
    for (line, code, says) in [
        ("run --target sim: --time 1s --json nowhere/report.json", 4, "nowhere"),
        ("run --target sim: --time 1s --json folder", 2, "is a folder"),
        ("run --target new --size 8KiB --json new", 2, "is the target"),
        ("run --target new --size 8KiB --json folder/../new", 2, "is the target"),
        ("run --target old --json link", 2, "is the target"),
        ("run --target link --json old", 2, "is the target"),
        ("run --target link --json hard", 2, "is the target"),
        ("run log.fio", 2, "folder/x_bw.1.log"),
        ("run lost.fio", 4, "nowhere"),
        ("fio log.fio", 1, "folder/x_bw.1.log"),
        ("fio --name=a --filename=old --rw=read --output=link", 1, "is the target"),
        ("fio --name=a --filename=old --rw=read --output=nowhere/out", 1, "nowhere"),
        ("fio --bandwidth-log --name=a --filename=agg-read_bw.log --rw=read", 1, "is the target"),
        ("fio --bandwidth-log --output=agg-trim_bw.log --name=a --filename=old --rw=read", 1, "are one file"),
    ] {
        bench.check_refused(line, code, &[says]);
    }
    // As with fio, a log without a folder costs neither the report nor the exit code.
    let ended = bench.fathom("fio lost.fio --output-format=json");
    assert_eq!(ended.expect(0, &["nowhere/x_bw.1.log"]).json()["jobs"][0]["read"]["io_kbytes"], 1024);
}

#[test]
fn documents_go_through_links_and_to_what_is_no_file() {
    let bench = Bench::new();
    bench.write("old", "");
    std::os::unix::fs::symlink("old", bench.path("link")).expect("the folder is ours");
    bench.fathom("run --target sim: --time 1s --json link").expect(0, &[]);
    assert!(bench.path("link").is_symlink());
    let text = std::fs::read_to_string(bench.path("old")).expect("it was written");
    check_schema(&serde_json::from_str(&text).expect("one document"));
    bench.fathom("run --target sim: --time 1s --json /dev/null").expect(0, &[]);
    let ended = bench
        .fathom("fio --name=a --ioengine=null --size=1m --rw=read --output-format=json --output=/dev/stdout");
    assert_eq!(ended.expect(0, &[]).json()["jobs"][0]["jobname"], "a");
}

/// What `--readonly` allows changes nothing and makes nothing.
#[test]
fn readonly_forbids_every_change() {
    let bench = Bench::new();
    bench.write("old", [0x5a; 8192]);
    bench.fathom("fio --name=a --ioengine=filecreate --filename=made --filesize=4k").expect(0, &[]);
    bench.check_refused("fio --readonly --name=a --bs=4k --filename=old --rw=write", 1, &["--readonly"]);
    let before = bench.snapshot();
    for (rest, says) in [
        ("--filename=old --rw=read --size=1m", "old: would be laid out"),
        ("--filename=new --rw=read --size=1m", "new: would be created"),
        ("--filename=old --rw=read --unlink=1", "old: would be removed"),
        ("--filename=nd/new --rw=read --size=4k", "nd/new: would be created"),
        ("--ioengine=filecreate --filename=new", "new: would be created"),
        ("--ioengine=filecreate --filename=nd/new", "nd/new: would be created"),
        ("--ioengine=filestat --filename=nd/new --filesize=4k", "nd/new: would be created"),
        ("--ioengine=dircreate --filename=nd/new", "nd/new: would be created"),
        ("--ioengine=filedelete --filename=made --filesize=4k", "made: would be removed"),
    ] {
        // As in fio it is the job that fails, with a document that says so.
        let ended = bench.fathom(&format!("fio --readonly --output-format=json --name=a --bs=4k {rest}"));
        let job = &ended.expect(1, &[says]).json()["jobs"][0];
        let errno = if says.ends_with("created") { 2 } else { 1 };
        assert_eq!((&job["error"], &job["read"]["total_ios"]), (&errno.into(), &0.into()), "{ended:?}");
        assert!(bench.snapshot() == before, "{rest} changed something");
    }
    // Others of the run are done.
    let line = "fio --readonly --output-format=json --bs=4k --rw=read --name=a --filename=new --size=1m --name=b --filename=old";
    let document = bench.fathom(line).expect(1, &["new: would be created"]).json();
    let done = |at: usize| document["jobs"][at]["read"]["total_ios"].as_u64();
    assert_eq!((done(0), done(1)), (Some(0), Some(2)), "{document}");
    bench.fathom("fio --readonly --name=a --bs=4k --filename=old --rw=read").expect(0, &[]);
    assert!(bench.snapshot() == before);
}

#[test]
fn a_foreign_file_that_was_to_be_removed_is_left_and_said() {
    let bench = Bench::new();
    bench.write("old", [0x5a; 8192]);
    let ended = bench.fathom("fio --name=a --filename=old --rw=read --unlink=1");
    assert!(ended.expect(0, &[]).out.contains("old was to be removed and is left"), "{ended:#?}");
    assert!(bench.path("old").is_file());
    let ended = bench.fathom("run --target new --size 8KiB --time 1s --remove");
    assert!(!ended.expect(0, &[]).err.contains("is left"), "{ended:#?}");
}

/// Clones with `per_job_logs=0` share one log, one after another, as with fio.
#[test]
fn logs_of_one_name_follow_one_another() {
    let bench = Bench::new();
    let job = |per_job: u8| {
        format!(
            "[a]\nioengine=null\nsize=1m\nrw=read\nnumjobs=3\nwrite_iops_log=x\nlog_avg_msec=1000\nper_job_logs={per_job}\n"
        )
    };
    bench.write("shared.fio", job(0));
    bench.write("each.fio", job(1));
    let rows = |name: &str| {
        let text = std::fs::read_to_string(bench.path(name)).expect("it was written");
        text.lines().count()
    };
    for line in ["run --quiet shared.fio", "fio shared.fio"] {
        bench.fathom(line).expect(0, &[]);
        assert_eq!(rows("x_iops.log"), 3, "{line}");
        std::fs::remove_file(bench.path("x_iops.log")).expect("it is ours");
    }
    bench.fathom("fio each.fio").expect(0, &[]);
    assert_eq!([1, 2, 3].map(|number| rows(&format!("x_iops.{number}.log"))), [1, 1, 1]);
    // A log that cannot be written costs neither the report nor the document, and fathom's own code says so.
    std::os::unix::fs::symlink("/dev/full", bench.path("x_iops.log")).expect("the folder is ours");
    let ended = bench.fathom("run --quiet --json report.json shared.fio");
    assert!(ended.expect(4, &["x_iops.log", "record: "]).out.contains("IOPS"), "{ended:#?}");
    assert!(bench.path("report.json").is_file());
    bench.fathom("fio shared.fio").expect(0, &["x_iops.log"]);
}

#[test]
fn quiet_means_no_progress() {
    let bench = Bench::new();
    let ended = bench.fathom("run --quiet --target sim: --time 10s");
    assert_eq!(ended.expect(0, &[]).err.lines().count(), 1, "{ended:#?}");
}

#[test]
fn a_run_is_found_by_last_by_prefix_and_by_path() {
    let bench = Bench::new();
    short_run(&bench).expect(0, &[]);
    let first = bench.report()["run"].as_str().expect("an id").to_owned();
    bench.fathom("run --target sim: --queue-depth 2 --time 1s").expect(0, &[]);
    let last = bench.report()["run"].as_str().expect("an id").to_owned();
    assert!(first < last);
    let path = bench.store().join(format!("{first}.fathom"));
    let names = [first.clone(), first.to_lowercase(), path.display().to_string(), first[..20].to_owned()];
    for name in &names {
        let ended = bench.fathom(&format!("report {name} --format json"));
        if name.len() == 20 && last.starts_with(name.as_str()) {
            ended.expect(2, &[&last]);
            continue;
        }
        let document = ended.expect(0, &[]).json();
        assert_eq!(document["run"], first.as_str(), "{name}");
        check_schema(&document);
    }
    for (line, says) in [
        ("report 7ZZZZZZZ", "7ZZZZZZZ"),
        ("report ./nothing.fathom", "nothing.fathom"),
        ("report 01", "01"),
        ("report last --format xml", "xml"),
    ] {
        bench.check_refused(line, 2, &[says]);
    }
    let empty = Bench::new();
    empty.check_refused("report", 2, &["last"]);
    empty.fathom("runs").expect(0, &["no runs in"]);
    assert_eq!(empty.fathom("runs --json").expect(0, &[]).json(), serde_json::json!([]));
}

#[test]
fn a_stored_run_is_shown_in_every_format() {
    let bench = Bench::new();
    short_run(&bench).expect(0, &[]);
    let text = bench.fathom("report last --format text");
    assert_eq!(text.expect(0, &[]).out, bench.fathom("report").out);
    let csv = bench.fathom("report last --format csv");
    let mut lines = csv.expect(0, &[]).out.lines();
    let columns = lines.next().expect("a header").split(',').count();
    let rows: Vec<&str> = lines.collect();
    assert_eq!(rows.len(), 4, "two seconds, all and read: {csv:#?}");
    assert!(rows.iter().all(|row| row.split(',').count() == columns), "{csv:#?}");
    let runs = bench.fathom("runs --json").expect(0, &[]).json();
    for key in ["run", "path", "title", "started_ms", "state", "steps", "duration_ns"] {
        assert!(!runs[0][key].is_null(), "{key} of {runs:#}");
    }
    assert_eq!(runs[0]["run"], bench.report()["run"]);
}

/// Files that cannot be read are listed as what they are, without a date, and hide no other.
#[test]
fn what_is_no_record_hides_no_other() {
    let bench = Bench::new();
    short_run(&bench).expect(0, &[]);
    let good = bench.report()["run"].as_str().expect("an id").to_owned();
    let odd = bench.store().join("00000000000000000000000000.fathom");
    std::fs::write(&odd, "no database").expect("it is ours");
    let runs = bench.fathom("runs --json").expect(0, &[]).json();
    assert_eq!((&runs[0]["state"], &runs[0]["started_ms"]), (&"foreign".into(), &Value::Null));
    assert_eq!(runs[1]["run"], good.as_str());
    let listed = bench.fathom("runs");
    assert!(
        !listed.out.contains("1970") && listed.out.contains("is not a run stored by fathom"),
        "{listed:#?}"
    );
    bench.fathom("report 00000000000000000000000000").expect(4, &["00000000000000000000000000.fathom"]);
}

#[test]
fn the_store_is_where_the_environment_says() {
    let bench = Bench::new();
    let run = [FATHOM, "run", "--target", "sim:", "--time", "1s"];
    let data = bench.path("data").display().to_string();
    let environment = ["env", "-u", "FATHOM_STORE", &format!("XDG_DATA_HOME={data}")];
    bench.run(&[&environment[..], &run].concat()).expect(0, &["data/fathom/runs/"]);
    bench.run(&[&run[..], &["--store", "elsewhere"]].concat()).expect(0, &["elsewhere/"]);
    assert_eq!(std::fs::read_dir(bench.path("elsewhere")).map_or(0, Iterator::count), 1);
    assert_eq!(bench.stored(), 0);
}

#[test]
fn a_plan_tells_what_would_happen_and_does_nothing() {
    let bench = Bench::new();
    bench.write("foreign", vec![1; 1 << 20]);
    let before = bench.snapshot();
    let plan = bench.fathom("plan --json --target foreign --read 0% --time 1s");
    let document = plan.expect(3, &[]).json();
    assert_eq!(document["steps"].as_array().map(Vec::len), Some(1), "{document:#}");
    assert_eq!(document["expected_seconds"], 1.0);
    assert_eq!(document["targets"][0]["writes"], true);
    assert!(document["refusals"][0]["remedy"].as_str().is_some_and(|remedy| remedy.contains("--overwrite")));
    let plan = bench.fathom("plan --target foreign --read 0% --time 1s");
    assert!(plan.expect(3, &[]).out.contains("WRITTEN"), "{plan:#?}");
    let plan = bench.fathom("plan --target new --size 1GiB --time 1m --ramp 5s");
    for part in ["1 step;", "new: created when absent, read", "laid out", "at most 1 min", "ramp 5 s"] {
        assert!(plan.expect(0, &[]).out.contains(part), "{part} is missing in {plan:#?}");
    }
    assert!(bench.snapshot() == before, "a plan changed something");
    assert_eq!(bench.stored(), 0);
    bench.write(
        "sizes.toml",
        "[target.t]\nkind = \"null\"\n[workload.w]\nblock_size = [\"4KiB 30%\", \"8KiB\", \"16KiB..64KiB\"]\nread = \"50%\"\n\
         [stream.s]\ntime = \"1m\"\n",
    );
    let plan = bench.fathom("plan sizes.toml");
    let sizes = "sizes: 4 KiB 30 %, 8 KiB 35 %, 16 KiB to 64 KiB 35 %";
    assert!(plan.expect(0, &[]).out.contains(sizes), "{plan:#?}");
    // How fast the targets are is not known before.
    bench.write(
        "curve.toml",
        "[target.t]\nkind = \"null\"\n[stream.s]\n[stage.m]\ntime = \"1m\"\ncurve = [\"50%\"]\n",
    );
    let plan = bench.fathom("plan curve.toml");
    assert!(
        plan.expect(0, &[]).out.contains(", 50% of its maximum, which the run finds, at most"),
        "{plan:#?}"
    );
    assert!(!plan.out.contains("per second"), "{plan:#?}");
    // Beside it what has a rate of its own keeps that.
    let two = "[target.t]\nkind = \"null\"\n[stream.s]\n[stream.own]\nrate = \"1k/s\"\n[stage.m]\ntime = \"1m\"\ncurve = [\"50%\"]\n";
    bench.write("two.toml", two);
    let plan = bench.fathom("plan two.toml");
    for part in ["s: 1 worker × depth 1, 50% of its maximum", "own: 1 worker × depth 1, 1000 per second"] {
        assert!(plan.expect(0, &[]).out.contains(part), "{part}: {plan:#?}");
    }
}

#[test]
fn commands_that_only_tell() {
    let bench = Bench::new();
    for (line, parts) in [
        ("--help", &["run", "plan", "check", "report", "runs", "doctor", "fio"][..]),
        ("run --help", &["--target", "--destroy", "--json"]),
        ("--version", &["fathom 0"]),
        ("options", &["queue_depth", "[stream]"]),
        ("doctor", &["io_uring", "kernel", "store"]),
        ("run --preset help", &["oltp", "webserver"]),
        ("fio --help", &["--output-format"]),
        ("fio --version", &["fio-3.33"]),
    ] {
        let ended = bench.fathom(line);
        for part in parts {
            assert!(ended.expect(0, &[]).out.contains(part), "{part} is missing in {ended:#?}");
        }
        assert!(!ended.out.contains('\u{1b}'), "{line} sends escape sequences where there is no terminal");
    }
    let facts = bench.fathom("doctor --json").expect(0, &[]).json();
    assert!(facts["environment"].as_array().is_some_and(|facts| facts.len() > 10));
    bench.check_refused("", 2, &["Usage"]);
    bench.check_refused("rnu", 2, &["rnu", "run"]);
    assert!(bench.snapshot().is_empty() && bench.stored() == 0);
}

/// The ceiling that the doctor measured is in the records of later runs; results near it are marked.
#[test]
fn the_ceiling_is_kept_for_records() {
    let bench = Bench::new();
    let run =
        "run --target data --size 1MiB --engine psync --direct false --time 200ms --quiet --json - --yes";
    let without = bench.fathom(run).expect(0, &[]).json();
    assert!(without["host"]["ceiling_per_s"].is_null());
    let doctor = bench.fathom("doctor");
    let says = &doctor.expect(0, &[]).out;
    assert!(says.contains("with psync from the page cache"), "{says}");
    let with = bench.fathom(run).expect(0, &[]).json();
    assert!(with["host"]["ceiling_per_s"].as_f64().is_some_and(|rate| rate > 1000.0), "{with:#}");
    let psync = &with["host"]["engine_ceilings_per_s"]["psync"];
    assert!(psync.as_f64().is_some_and(|rate| rate > 1000.0), "{with:#}");
    // As if this machine were slow: whatever is measured is then far beyond it.
    let path = bench.cache().join("fathom/ceiling.json");
    let text = std::fs::read_to_string(&path).expect("the doctor kept it");
    let mut kept: Value = serde_json::from_str(&text).expect("it is JSON");
    kept["ceiling"] = serde_json::json!({ "operations_per_s": 10.0, "engines": {} });
    std::fs::write(&path, kept.to_string()).expect("it can be written");
    let near = bench.fathom(run).expect(0, &[]).json();
    let marks = |finding: &Value| finding["id"] == "generator.near-ceiling";
    assert!(near["validity"].as_array().is_some_and(|all| all.iter().any(marks)), "{near:#}");
}

/// A ramp whose load was changed measured nothing, which is no fault of the run: the next step counts.
#[test]
fn the_load_changes_in_its_ramp() {
    let bench = Bench::new();
    let job = "[target.t]\nkind = \"null\"\n[stream.users]\nrate = \"200/s\"\n[stage.main]\nramp = \"1s\"\ntime = \"1s\"\n";
    bench.write("job.toml", job);
    let pipe = bench.path("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("coreutils have mkfifo");
    assert!(made.success());
    // Opening waits until fathom listens.
    let writer = std::thread::spawn(move || std::fs::write(pipe, "rate users 1k/s\n"));
    let result = bench.fathom("run job.toml --control pipe --quiet --json -").expect(0, &[]).json();
    writer.join().expect("it ended").expect("it is listened to");
    let steps = result["steps"].as_array().expect("steps");
    assert_eq!((steps.len(), &steps[0]["stop"]), (2, &Value::from("changed")));
    let found = result["validity"].as_array().expect("findings");
    assert!(found.iter().all(|finding| finding["id"] != "operations.none"), "{found:?}");
}

/// A changed rate is a step of its own: the record has both, and the time is what was asked for.
#[test]
fn the_load_changes_while_it_runs() {
    let bench = Bench::new();
    let job = "[target.t]\npath = \"data\"\nsize = \"1MiB\"\n[stream.users]\nengine = \"psync\"\nrate = \"200/s\"\n\
               [stream.others]\nrate = \"100/s\"\n[stage.main]\ntime = \"2s\"\n";
    bench.write("job.toml", job);
    let pipe = bench.path("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("coreutils have mkfifo");
    assert!(made.success());
    let writer = std::thread::spawn(move || {
        // Opening waits until fathom listens.
        std::fs::write(pipe, "rate nobody 5/s\nspeed users 7\nrate users 50%\nrate users 1k/s\n")
            .expect("it is listened to");
    });
    let ended = bench.fathom("run job.toml --control pipe --quiet --json -");
    let says = ["the line \"speed users 7\" is not", "the load was not changed: no stream \"nobody\" runs"];
    let result = ended.expect(0, &says).json();
    writer.join().expect("it wrote");
    let steps = result["steps"].as_array().expect("steps");
    let rates = |step: &Value| -> Vec<f64> {
        let streams = step["streams"].as_array().expect("streams");
        streams.iter().map(|stream| stream["rate_per_s"].as_f64().expect("a rate")).collect()
    };
    assert_eq!(steps.iter().map(rates).collect::<Vec<_>>(), [[200.0, 100.0], [1000.0, 100.0]]);
    assert_eq!(steps[0]["stop"], "changed");
    assert_eq!(steps[1]["stop"], "complete");
    assert_eq!(steps[1]["parameters"][0]["name"], "stream.users.rate");
    let elapsed: f64 = steps.iter().map(|step| step["elapsed_s"].as_f64().expect("it has an end")).sum();
    // The end is the time that was asked for, not when a worker noticed it; or, where more had come due than a late worker had done
    // by then, when the last of that completed.
    let longest = steps[1]["total"]["all"]["response"]["max_ns"].as_f64().expect("operations have one") / 1e9;
    assert!((-1e-6..=longest + 1e-6).contains(&(elapsed - 2.0)), "{elapsed}, the longest took {longest}");
    let notes = result["notes"].to_string();
    assert!(notes.contains("the load is changed: stream.users.rate = 1000/s"), "{notes}");
    // What is no change at all is in the record as well as what could not be made.
    for refused in [
        "no stream \\\"nobody\\\" runs",
        "the line \\\"speed users 7\\\" is",
        "the line \\\"rate users 50%\\\" has",
    ] {
        assert!(notes.contains(&format!("the load was not changed: {refused}")), "{refused}: {notes}");
    }
    bench.check_refused("run job.toml --control job.toml", 2, &["mkfifo"]);
}

/// A reader that goes away ends the output, not the program.
#[test]
fn a_closed_pipe_is_no_fault() {
    let bench = Bench::new();
    // More rows than a pipe holds.
    bench.fathom("run --target sim: --rate 10/s --time 3000s --quiet").expect(0, &[]);
    for command in [
        "options",
        "doctor",
        "report --format csv",
        "report --format json",
        "runs",
        "plan --json --target null:",
        "run --target sim: --time 1s --json -",
        "--help",
    ] {
        let line = format!("set -o pipefail; {FATHOM} {command} | true");
        let ended = bench.run(&["bash", "-c", &line]);
        assert!(!ended.err.contains("panicked") && [0, 141].contains(&ended.code), "{ended:#?}");
    }
    let ended = bench.run(&["sh", "-c", &format!("{FATHOM} report > /dev/full")]);
    ended.expect(4, &["standard output", "No space left"]);
}

/// A few a minute are no rate of nothing.
#[test]
fn rates_below_one_a_second_are_told_in_plans() {
    let bench = Bench::new();
    for (rate, told) in [("0.3/s", ", 0.300 per second"), ("2k/s", ", 2000 per second")] {
        let job =
            format!("[target.t]\nkind = \"null\"\n[stream.s]\nrate = \"{rate}\"\n[stage.m]\ntime = \"5s\"\n");
        bench.write("job.toml", job);
        let plan = bench.fathom("plan job.toml");
        assert!(plan.expect(0, &[]).out.contains(told), "{}", plan.out);
    }
}

/// What waited where a load is changed is gone, which is told.
#[test]
fn arrivals_that_wait_where_the_load_changes_are_told() {
    let bench = Bench::new();
    let job = "[target.t]\npath = \"data\"\nsize = \"1MiB\"\n[stream.users]\nengine = \"psync\"\nrate = \"1k/s\"\n\
               think_time = \"10ms\"\n[stage.main]\ntime = \"3s\"\n";
    bench.write("job.toml", job);
    let pipe = bench.path("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("coreutils have mkfifo");
    assert!(made.success());
    let mut running = bench.start("run job.toml --control pipe");
    running.wait_for("1 s  ");
    std::fs::write(pipe, "rate users 10/s\n").expect("it is listened to");
    running.ended();
    let notes = bench.report()["notes"].to_string();
    assert!(notes.contains("of the stream \\\"users\\\" still waited as the load was changed"), "{notes}");
}
