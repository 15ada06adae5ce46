//! What is kept of runs that were killed, and of what is noted afterwards: files of the store, marks, deleting and taking in.

use super::{Site, null};
use crate::support::{Bench, number};
use rustix::process::Signal;
use serde_json::{Value, json};

/// Two streams whose seconds do not come at one instant.
const TWO: &str = "[target.a]\nkind = \"null\"\nsize = \"1GiB\"\n[workload.l]\naccess = \"random\"\n\
                   [stream.one]\nrate = \"600/s\"\n[stream.two]\nrate = \"100/s\"\n[stage.m]\ntime = \"60s\"\n";

/// Kills a run of [`TWO`]; its identity.
fn killed(bench: &Bench) -> String {
    bench.write("two.toml", TWO);
    let mut running = bench.start("run two.toml");
    running.wait_for("3 s  ");
    running.signal(Signal::KILL);
    running.ended();
    let names = names(bench);
    assert!(names.iter().any(|name| name.ends_with(".fathom-wal")), "{names:?}");
    let run = names.iter().find_map(|name| name.strip_suffix(".fathom")).expect("it is there");
    run.to_owned()
}

/// Files of the store but those of sessions.
fn names(bench: &Bench) -> Vec<String> {
    let entries = std::fs::read_dir(bench.store()).expect("it is there");
    let names =
        entries.map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned());
    names.filter(|name| !name.starts_with('.')).collect()
}

#[test]
fn a_killed_run_has_the_rates_of_its_streams_and_is_one_file_again() {
    let bench = Bench::new();
    let run = killed(&bench);
    let report = bench.report();
    assert_eq!(names(&bench), [format!("{run}.fathom")], "it was looked at");
    let iops = |at: &str| number(&report, &format!("/steps/0/{at}/all/iops"));
    let sum = iops("streams/0/total") + iops("streams/1/total");
    assert!((iops("total") / sum - 1.0).abs() < 1e-9, "{} of {sum}", iops("total"));
    assert!((iops("total") / 700.0 - 1.0).abs() < 0.05, "{}", iops("total"));
    let copy = bench.path("copy.fathom");
    std::fs::copy(bench.store().join(format!("{run}.fathom")), &copy).expect("it can be copied");
    let of_copy = bench.fathom(&format!("report {} --format json", copy.display())).expect(0, &[]).json();
    assert_eq!(of_copy["steps"], report["steps"]);
}

#[test]
fn a_killed_run_is_deleted_whole_and_comes_back_as_it_is_taken_in() {
    let bench = Bench::new();
    let run = killed(&bench);
    let site = Site::start(&bench);
    let path = |what: &str| format!("/api/v1/runs/{run}{what}");
    let cookie = [("Cookie", site.cookie.as_str())];
    let export = site.get(&path("/export")).expect(200).body;
    let copy = bench.write("copy.fathom", &export);
    for at in ["1s", "2s"] {
        bench.fathom(&format!("mark {} noted --at {at}", copy.display())).expect(0, &[]);
    }
    site.send("DELETE", &path(""), &cookie, &Value::Null).expect(204);
    assert_eq!(names(&bench), [""; 0]);
    // What an older fathom has left there.
    for suffix in ["-wal", "-shm"] {
        std::fs::write(bench.store().join(format!("{run}.fathom{suffix}")), &export).expect("there is room");
    }
    let bytes = std::fs::read(&copy).expect("it is there");
    let head = format!(
        "POST /api/v1/runs/import HTTP/1.0\r\nHost: {}\r\nCookie: {}\r\nContent-Type: application/vnd.fathom.run\r\n\
         Content-Length: {}\r\n\r\n",
        site.host,
        site.cookie,
        bytes.len()
    );
    site.raw(&[head.as_bytes(), &bytes].concat()).expect(201);
    assert_eq!(names(&bench), [format!("{run}.fathom")]);
    let notes = site.get(&path("")).expect(200).json()["notes"].to_string();
    assert_eq!(notes.matches("noted").count(), 2, "{notes}");
    site.end();
}

#[test]
fn a_mark_is_made_afterwards_by_the_rules_of_the_command_line() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let run = site.begin(&null("10min"));
    let marks = format!("/api/v1/runs/{run}/marks");
    site.events(&run, 0, "interval");
    let mark = |mark: &Value| site.post(&marks, mark);
    let ahead = mark(&json!({ "text": "late", "at_ms": 3_600_000 })).expect(422);
    assert!(ahead.text().contains("lies ahead"), "{}", ahead.text());
    mark(&json!({ "text": "meanwhile", "at_ms": 1 })).expect(202);
    site.post(&format!("/api/v1/runs/{run}/stop"), &Value::Null).expect(202);
    site.events(&run, 0, "");
    let untold = mark(&json!({ "text": "when" })).expect(409);
    assert_eq!(untold.code(), "run.over");
    assert!(untold.text().contains("say with at_ms when it was, up to "), "{}", untold.text());
    let behind = mark(&json!({ "text": "behind", "at_ms": 3_600_000 })).expect(422);
    assert!(behind.text().contains("behind the end of the run"), "{}", behind.text());
    mark(&json!({ "text": "", "at_ms": 500 })).expect(400);
    mark(&json!({ "text": "afterwards", "at_ms": 500 })).expect(202);
    let report = site.get(&format!("/api/v1/runs/{run}")).expect(200).json();
    let notes = report["notes"].as_array().expect("it has some");
    let at = |text: &str| {
        let note =
            notes.iter().find(|note| note["message"].as_str().is_some_and(|said| said.ends_with(text)));
        note.map(|note| number(note, "/at_s"))
    };
    assert_eq!((at("meanwhile"), at("afterwards"), at("late")), (Some(0.001), Some(0.5), None));
    site.end();
}

#[test]
fn what_is_not_obeyed_is_not_passed_over() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    for (path, help) in [
        ("runs?bogus=1", "parameters are state, title, tag, since_ms, until_ms, limit"),
        ("runs?limit=1&Limit=2", "parameters are state,"),
        ("status?x", "there are none here"),
    ] {
        let refused = site.get(&format!("/api/v1/{path}")).expect(400);
        assert_eq!(refused.code(), "request.query");
        assert!(refused.text().contains(help), "{}", refused.text());
    }
    site.get("/api/v1/runs?limit=1&title=%61").expect(200);
    let large = json!({ "name": "x.fio", "text": "x".repeat(5 << 20) });
    let refused = site.post("/api/v1/jobs/check", &large).expect(413).json();
    assert_eq!(refused["error"]["code"], "request.large");
    assert_eq!(refused["error"]["message"], "the body has more than 4 MiB");
    assert_ne!(refused["error"]["help"], "");
    site.end();
}

#[test]
fn a_job_has_the_same_faults_here_and_on_the_command_line() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let tidy = "[target.a]\nkind = \"null\"\nsize = \"1MiB\"\n[workload.unused]\n[stream.s]\nworkload = \"w\"\n[workload.w]\n";
    let broken = format!("{tidy}[stream.t]\nworkload = \"nope\"\nqueue_depth = \"abc\"\nfoo = 1\n");
    for (text, count) in [(tidy, 1), (&broken, 3)] {
        let file = bench.write("job.toml", text);
        let there = bench.fathom(&format!("check --json {}", file.display()));
        let codes = |found: &Value| {
            let found = found.as_array().expect("it is a list");
            found.iter().map(|one| one["code"].to_string()).collect::<Vec<_>>()
        };
        let there: Value = serde_json::from_str(&there.out).expect("it is JSON");
        let here =
            site.post("/api/v1/jobs/check", &json!({ "name": "job.toml", "text": text })).expect(200).json();
        assert_eq!(codes(&here["diagnostics"]), codes(&there), "{here:#}");
        assert!(codes(&here["diagnostics"]).len() >= count, "{here:#}");
    }
    site.end();
}

/// What people call a run afterwards is its name wherever it is shown.
#[test]
fn a_run_that_is_renamed_has_its_name_everywhere() {
    let bench = Bench::new();
    bench.fathom("run --target null: --time 100ms --quiet").expect(0, &[]);
    let site = Site::start(&bench);
    let runs = site.get("/api/v1/runs").expect(200).json();
    let path = format!("/api/v1/runs/{}", runs[0]["run"].as_str().expect("it has an identity"));
    let names = json!({ "title": "fünf <b>", "tags": ["nightly"] });
    let cookie = [("Cookie", site.cookie.as_str())];
    let named = site.send("PATCH", &path, &cookie, &names).expect(200).json();
    assert_eq!((&named["title"], &named["tags"]), (&names["title"], &names["tags"]));
    assert_eq!(site.get(&path).expect(200).json()["title"], names["title"]);
    for (form, title) in
        [("text", "fünf <b>"), ("html", "fünf &lt;b&gt;"), ("markdown", "fünf"), ("json", "fünf <b>")]
    {
        let report = site.get(&format!("{path}/report?format={form}")).expect(200).text();
        assert!(report.contains(title), "{form}: {report}");
    }
    bench.fathom("runs").expect(0, &[]);
    let listed = bench.fathom("runs --json").json();
    assert_eq!((&listed[0]["title"], &listed[0]["tags"]), (&names["title"], &names["tags"]));
    assert!(bench.fathom("runs").out.contains("fünf <b>  [nightly]"));
    assert!(bench.fathom("report last").out.contains("fünf <b>"));
    // Without one of its own it has the job's again.
    site.send("PATCH", &path, &cookie, &json!({ "title": "", "tags": [] })).expect(200);
    assert_eq!(site.get(&path).expect(200).json()["title"], runs[0]["title"]);
    site.end();
}
