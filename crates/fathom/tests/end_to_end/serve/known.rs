//! What the server tells of runs beyond what their files say: answers in reports, ends that found no room, what just begins.

use super::{Site, null, simulated};
use crate::support::device::with_root;
use crate::support::{Bench, project};
use serde_json::{Value, json};

/// A load curve of a job.
fn curve(job: &str) -> Value {
    json!({
        "job": { "name": "curve.toml", "text": job },
        "search": { "kind": "curve", "latency": [], "max_depth": 4, "replicates": 1 },
    })
}

#[test]
fn a_report_has_the_answer_here_as_on_the_command_line() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let job = "[target.disk]\nkind = \"sim\"\nsize = \"1GiB\"\n[workload.w]\naccess = \"random\"\n\
               [stream.users]\nworkload = \"w\"\n[stage.main]\ntime = \"1s\"\n";
    let run = site.begin(&curve(job));
    site.events(&run, 0, "");
    let report = |run: &str, form: &str| site.get(&format!("/api/v1/runs/{run}/report?format={form}"));
    let told = |form: &str| bench.fathom(&format!("report {run} --format {form}")).expect(0, &[]).out.clone();
    let document = report(&run, "json").expect(200);
    assert!(document.json()["answer"]["sentence"].is_string(), "{}", document.text());
    assert_eq!(document.text(), told("json"));
    let rows = report(&run, "answer-csv").expect(200);
    let name = rows.header("content-disposition").expect("it is to be kept");
    assert!(name.ends_with(".answer.csv\""), "{name}");
    assert_eq!(rows.text(), told("answer-csv"));
    let plain = site.begin(&simulated("1s"));
    site.events(&plain, 0, "");
    assert!(report(&plain, "json").expect(200).json().get("answer").is_none());
    assert_eq!(report(&plain, "answer-csv").expect(422).code(), "report.answer");
    assert!(report(&plain, "xml").expect(400).text().contains("answer-csv"));
    site.end();
}

#[test]
fn a_question_that_was_stopped_early_says_why_it_has_no_answer() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let run = site.begin(&curve(
        "[target.disk]\nkind = \"null\"\nsize = \"1GiB\"\n[stream.users]\n[stage.main]\ntime = \"10min\"\n",
    ));
    let answer = || site.get(&format!("/api/v1/runs/{run}/answer")).expect(200).json();
    site.events(&run, 0, "interval");
    assert_eq!(answer(), Value::Null, "it may come to have one");
    site.post(&format!("/api/v1/runs/{run}/stop"), &Value::Null).expect(202);
    site.events(&run, 0, "");
    let answer = answer();
    let sentence = answer["sentence"].as_str().expect("it says why");
    assert_eq!(answer["kind"], "curve");
    assert!(sentence.starts_with("No answer: the run measured fewer than two loads"), "{sentence}");
    let text = site.get(&format!("/api/v1/runs/{run}/report?format=text")).expect(200).text();
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(sentence), "{sentence}\n{text}");
    site.end();
}

#[test]
fn a_run_can_be_looked_at_from_its_first_moment() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let text = "[target.disk]\nkind = \"null\"\nsize = \"1GiB\"\n[stream.users]\nrate = \"500/s\"\n\
                [stage.main]\nramp = \"10min\"\ntime = \"1s\"\n";
    let run = site.begin(&json!({ "job": { "name": "null.toml", "text": text } }));
    let look = || site.get(&format!("/api/v1/runs/{run}")).expect(200).json();
    let summary = look();
    assert_eq!((&summary["state"], &summary["reason"]), (&json!("unfinished"), &json!("it still goes on")));
    let listed = site.get("/api/v1/runs").json();
    assert_eq!((&listed[0]["state"], &listed[0]["unreadable"]), (&json!("running"), &Value::Null));
    let page = site.get(&format!("/api/v1/runs/{run}/report?format=html")).expect(200).text();
    assert!(page.contains("the run still goes on") && !page.contains("killed"), "{page}");
    site.events(&run, 0, "interval");
    site.post(&format!("/api/v1/runs/{run}/stop"), &Value::Null).expect(202);
    site.events(&run, 0, "");
    // It never came to measure: nothing failed, and a longer measuring would not have helped.
    let ended = look();
    let findings = ended["validity"].as_array().expect("it has some");
    let nothing = findings.iter().find(|one| one["id"] == "operations.none").expect("there are no figures");
    assert_eq!(nothing["evidence"], "the run was ended before its measuring began");
    assert!(nothing["remedy"].as_str().is_some_and(|way| way.starts_with("let it run")), "{nothing}");
    site.end();
}

/// The file lacks its end, and nobody killed it.
#[test]
fn a_run_that_ended_for_want_of_room_is_told_as_that() {
    with_root("a_run_that_ended_for_want_of_room_is_told_as_that", |bench, stage| {
        let at = stage.mount(bench, "small", &["-t", "tmpfs", "-o", "size=1m", "tmpfs"])?;
        let site = Site::of(bench, "serve --listen 127.0.0.1:0 --store small/runs");
        let earlier = site.begin(&simulated("1s"));
        site.events(&earlier, 0, "");
        let file = site.get(&format!("/api/v1/runs/{earlier}/export")).expect(200).body;
        let run = site.begin(&null("10min"));
        site.events(&run, 0, "interval");
        let mut filler = std::fs::File::create(at.join("filler")).expect("it is mounted");
        while std::io::Write::write(&mut filler, &[1; 4096]).is_ok() {}
        site.events(&run, 0, "");
        let path = |rest: &str| format!("/api/v1/runs/{run}{rest}");
        let summary = site.get(&path("")).expect(200).json();
        assert_eq!(summary["state"], "failed", "{summary:#}");
        assert!(summary["reason"].as_str().is_some_and(|why| why.contains("no space left")), "{summary:#}");
        let listed = site.get("/api/v1/runs").json();
        assert_eq!((&listed[0]["run"], &listed[0]["state"]), (&json!(run), &json!("failed")));
        let untold = site.post(&path("/marks"), &json!({ "text": "when" })).expect(409);
        assert!(untold.text().contains("the run has ended"), "{}", untold.text());
        let head = format!(
            "POST /api/v1/runs/import HTTP/1.0\r\nHost: {}\r\nCookie: {}\r\nContent-Type: application/octet-stream\r\n\
             Content-Length: {}\r\n\r\n",
            site.host,
            site.cookie,
            file.len()
        );
        let refused = site.raw(&[head.as_bytes(), &file].concat()).expect(507);
        assert_eq!(refused.code(), "store.full");
        site.end();
        Ok(())
    });
}

#[test]
fn what_is_asked_in_a_wrong_way_is_refused_as_that() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    for method in ["POST", "OPTIONS", "DELETE"] {
        let refused = site.send(method, "/", &[("Cookie", &site.cookie)], &Value::Null).expect(405);
        assert_eq!(refused.header("allow").as_deref(), Some("GET, HEAD"), "{method}");
    }
    site.get("/").expect(200);
    let undeclared = site.post("/api/v1/runs/import", &json!({})).expect(415);
    assert!(undeclared.text().contains("application/vnd.fathom.run"), "{}", undeclared.text());
    let run = site.begin(&simulated("1s"));
    site.events(&run, 0, "");
    for after in ["", "abc"] {
        let refused = site.get(&format!("/api/v1/runs/{run}/intervals?after_s={after}")).expect(400);
        assert_eq!(refused.json()["error"]["message"], "the parameter after_s: this is no number");
    }
    let tags = json!({ "tags": ["nvme", "a, b"] });
    let path = format!("/api/v1/runs/{run}");
    let refused = site.send("PATCH", &path, &[("Cookie", &site.cookie)], &tags).expect(422);
    assert!(refused.text().contains("has a comma"), "{}", refused.text());
    site.end();
    let document =
        std::fs::read_to_string(project().join("docs/generated/openapi.json")).expect("it is there");
    let document: Value = serde_json::from_str(&document).expect("it is JSON");
    let parameters = document["paths"]["/api/v1/runs/{run}/intervals"]["get"]["parameters"].as_array();
    let kind = |name: &str| {
        let found = parameters.expect("it has some").iter().find(|one| one["name"] == name);
        found.map(|one| one["schema"]["type"].clone())
    };
    for (name, expected) in
        [("step", "integer"), ("after_s", "number"), ("targets", "boolean"), ("limit", "integer")]
    {
        assert_eq!(kind(name), Some(json!(expected)), "{name}");
    }
}
