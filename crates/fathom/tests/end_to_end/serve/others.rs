//! What others make in the store of a server, and what they send that it cannot use: names given twice, runs of other
//! processes, files that are none.

use super::{Site, null, simulated};
use crate::support::device::with_root;
use crate::support::{Bench, number};
use rustix::process::Signal;
use serde_json::{Value, json};

#[test]
fn a_tag_that_is_given_twice_is_one() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    bench.fathom("run --target sim: --time 1s").expect(0, &[]);
    let run = bench.report()["run"].as_str().expect("it has an identity").to_owned();
    let cookie = ("Cookie", site.cookie.as_str());
    let path = format!("/api/v1/runs/{run}");
    let named = site.send("PATCH", &path, &[cookie], &json!({ "tags": ["d", "e", "d"] })).expect(200).json();
    assert_eq!(named["tags"], json!(["d", "e"]));
    assert_eq!(site.get("/api/v1/runs").json()[0]["tags"], json!(["d", "e"]));
    // More than are kept, but for those that are there twice.
    let many: Vec<String> = (0..40).map(|at| format!("t{}", at % 20)).collect();
    let named = site.send("PATCH", &path, &[cookie], &json!({ "tags": many })).expect(200).json();
    assert_eq!(named["tags"].as_array().map(Vec::len), Some(20));
    site.end();
}

#[test]
fn what_stands_for_the_targets_of_a_configuration_is_kept_with_it() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let icf = "'TEST SETUP\n'Run Time\n0 0 1\n'END test setup\n'ACCESS SPECIFICATIONS\n\
        'Access specification name,default assignment\ns,NONE\n'size,\n4096,100,100,100,0,1,4096,0\n\
        'END access specifications\n'MANAGER LIST\n'Manager ID, manager name\n1,M\n'Manager network address\n\n\
        'Worker\nw\n'Worker type\nDISK\n'Assigned access specs\ns\n'End assigned access specs\n\
        'Target assignments\n'Target\nTEST: Synthetic Disk\n'Target type\nDISK\n'End target\n\
        'End target assignments\n'End worker\n'End manager\n'END manager list\n";
    let job = json!({ "name": "a.icf", "text": icf, "maps": ["*=sim:"], "sector_size": 4096 });
    let sent = site.begin(&json!({ "job": job }));
    site.events(&sent, 0, "");
    bench.write("a.icf", icf);
    bench.fathom("iometer -c a.icf -r r.csv --map *=sim: --sector-size 4096").expect(0, &[]);
    let local = bench.report()["run"].as_str().expect("it has an identity").to_owned();
    assert_ne!(sent, local);
    for run in [sent, local] {
        let source = site.get(&format!("/api/v1/runs/{run}")).expect(200).json()["sources"][0].clone();
        assert_eq!(source, job, "it can be sent as it is");
        let converted = site.post("/api/v1/jobs/convert", &source).expect(200).json();
        assert!(!converted["diagnostics"].to_string().contains("error"), "{converted}");
        let page = site.get(&format!("/api/v1/runs/{run}/report?format=markdown")).expect(200).text();
        assert!(page.contains("--map"), "{page}");
    }
    site.end();
}

#[test]
fn what_is_asked_of_a_run_is_recorded_in_its_order() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let run = site.begin(&null("10min"));
    let path = |what: &str| format!("/api/v1/runs/{run}{what}");
    site.events(&run, 0, "step_started");
    // Each pair falls into one look at what is asked, mostly.
    for round in 0..4 {
        site.post(
            &path("/rate"),
            &json!({ "stream": "users", "operations_per_s": 300.0 + f64::from(round) }),
        )
        .expect(202);
        site.post(&path("/marks"), &json!({ "text": format!("round {round}") })).expect(202);
    }
    site.post(&path("/stop"), &Value::Null).expect(202);
    site.events(&run, 0, "");
    let notes = site.get(&path("")).json()["notes"].clone();
    let is_ours = |note: &&Value| {
        let message = note["message"].as_str().unwrap_or_default();
        message.contains("mark at ")
            || message.contains("the load is changed")
            || (message.contains("the load was not changed") && !message.contains("after all"))
    };
    let ours: Vec<_> = notes.as_array().expect("there are notes").iter().filter(is_ours).collect();
    let is_mark = |note: &&Value| note["message"].as_str().is_some_and(|one| one.contains("mark at "));
    let order: Vec<bool> = ours.iter().map(is_mark).collect();
    assert_eq!(order, [false, true].repeat(4), "{ours:?}");
    assert!(ours.is_sorted_by(|a, b| number(a, "/at_s") <= number(b, "/at_s")), "{ours:?}");
    site.end();
}

#[test]
fn a_file_that_is_no_run_is_not_taken_to_its_end() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let head = |length: u64| {
        format!(
            "POST /api/v1/runs/import HTTP/1.0\r\nHost: {}\r\nCookie: {}\r\n\
             Content-Type: application/vnd.fathom.run\r\nContent-Length: {length}\r\n\r\n",
            site.host, site.cookie
        )
    };
    // What is refused is answered while its sender has sent but a part of what was announced.
    let large = site.raw(head(3 << 30).as_bytes()).expect(413);
    assert!(large.text().contains("2 GiB"), "{}", large.text());
    let other = site.raw(format!("{}not a database at all", head(1 << 30)).as_bytes()).expect(422);
    assert_eq!(other.code(), "run.unreadable");
    for short in ["", "SQLite format"] {
        let request = format!("{}{short}", head(short.len() as u64));
        assert_eq!(site.raw(request.as_bytes()).expect(422).code(), "run.unreadable", "{short:?}");
    }
    assert_eq!(bench.stored(), 0, "nothing is left of it");
    let document = site.get("/api/v1/openapi.json").json();
    let most = |path: &str| document["paths"][path]["post"]["requestBody"]["x-bytes-max"].clone();
    assert_eq!([most("/api/v1/runs/import"), most("/api/v1/runs")], [json!(2_u64 << 30), json!(4 << 20)]);
    site.end();
}

#[test]
fn a_run_of_another_process_is_told_and_left_to_it() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    assert_eq!(site.get("/api/v1/status").json(), json!({ "run": null, "elsewhere": [] }));
    bench.write("null.toml", null("10min")["job"]["text"].as_str().expect("it has a text"));
    let mut other = bench.start("run null.toml");
    other.wait_for("1 s  ");
    let status = site.get("/api/v1/status").expect(200).json();
    assert_eq!((&status["run"], status["elsewhere"].as_array().map(Vec::len)), (&Value::Null, Some(1)));
    let run = status["elsewhere"][0].as_str().expect("it has an identity").to_owned();
    let path = |what: &str| format!("/api/v1/runs/{run}{what}");
    let listed = site.get("/api/v1/runs?state=elsewhere").expect(200).json();
    assert_eq!((&listed[0]["run"], &listed[0]["state"]), (&json!(run), &json!("elsewhere")));
    let cookie = [("Cookie", site.cookie.as_str())];
    let nothing = Value::Null;
    let rate = json!({ "stream": "users", "operations_per_s": 200.0 });
    for (method, what, body) in [
        ("POST", "/stop", nothing.clone()),
        ("POST", "/rate", rate),
        ("GET", "/export", nothing.clone()),
        ("PATCH", "", json!({ "tags": ["d"] })),
        ("DELETE", "", nothing.clone()),
    ] {
        let refused = site.send(method, &path(what), &cookie, &body).expect(409);
        assert_eq!(refused.code(), "run.elsewhere", "{method} {what}");
        assert!(refused.text().contains("another process"), "{}", refused.text());
    }
    let busy = site.post("/api/v1/runs", &simulated("1s")).expect(409);
    assert_eq!(busy.code(), "run.busy");
    assert!(busy.text().contains(&run) && busy.text().contains("another process"), "{}", busy.text());
    other.signal(Signal::KILL);
    other.ended();
    // Nobody makes it any more, and it broke off.
    assert_eq!(site.get("/api/v1/status").json()["elsewhere"], json!([]));
    assert_eq!(site.get("/api/v1/runs").json()[0]["state"], json!("unfinished"));
    assert_eq!(site.post(&path("/stop"), &nothing).expect(409).code(), "run.over");
    site.get(&path("/export")).expect(200);
    let own = site.begin(&simulated("1s"));
    site.events(&own, 0, "");
    site.end();
}

/// Nothing is wrong with what was asked for: who asks has to know that room is what lacks.
#[test]
fn a_run_that_the_store_has_no_room_for_is_refused_as_that() {
    with_root("a_run_that_the_store_has_no_room_for_is_refused_as_that", |bench, stage| {
        let at = stage.mount(bench, "small", &["-t", "tmpfs", "-o", "size=512k", "tmpfs"])?;
        let site = Site::of(bench, "serve --listen 127.0.0.1:0 --store small/runs");
        let mut filler = std::fs::File::create(at.join("filler")).expect("it is mounted");
        while std::io::Write::write(&mut filler, &[1; 4096]).is_ok() {}
        let refused = site.post("/api/v1/runs", &null("1s")).expect(507);
        assert_eq!(refused.code(), "store.full");
        assert!(refused.text().contains("no space left"), "{}", refused.text());
        site.end();
        Ok(())
    });
}
