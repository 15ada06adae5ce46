//! What the server refuses is told in its own words: no types of the program, no places of the server.

use super::Site;
use crate::support::Bench;
use serde_json::{Value, json};

#[test]
fn no_refusal_speaks_of_types_or_places_of_the_server() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let check = |answer: super::Answer, status: u16, words: &str| {
        let answer = answer.expect(status);
        let told = answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(told.contains(words), "{told}");
        for raw in ["deserialize", "struct ", "target type", "serde", "u64", "/tmp", ".import"] {
            assert!(!answer.text().contains(raw), "{raw}: {}", answer.text());
        }
    };
    let post = |path: &str, body: &Value| site.post(path, body);
    check(post("/api/v1/jobs/check", &json!({ "texts": "" })), 422, "there is no field \"texts\"");
    check(post("/api/v1/jobs/check", &json!({ "name": "a" })), 422, "the field \"text\" is missing");
    check(post("/api/v1/jobs/plan", &json!([])), 422, "stands where an object is expected");
    check(post("/api/v1/jobs/plan", &json!({ "job": { "name": 1, "text": "" } })), 422, "a text is expected");
    check(site.get("/api/v1/runs?limit=many"), 400, "the parameter limit: this is no whole number");
    check(site.get("/api/v1/runs?state=nope"), 422, "\"nope\" is no state of runs");
    let running = site.get("/api/v1/runs?state=running").expect(200).json();
    assert_eq!(running, json!([]));
    check(
        post("/api/v1/runs/import", &json!({ "no": "run" })),
        415,
        "the body is not declared as a run's file",
    );
    let no_run = format!(
        "POST /api/v1/runs/import HTTP/1.0\r\nHost: {}\r\nCookie: {}\r\n\
         Content-Type: application/vnd.fathom.run\r\nContent-Length: 2\r\n\r\n{{}}",
        site.host, site.cookie
    );
    check(site.raw(no_run.as_bytes()), 422, "the file is not a run stored by fathom");
    assert_eq!(bench.stored(), 0, "nothing is left of it");
    for what in ["stop", "rate", "marks"] {
        let order = json!({ "stream": "s", "operations_per_s": 1.0 });
        let order = if what == "marks" { json!({ "text": "m" }) } else { order };
        let path = format!("/api/v1/runs/01JD3T5W2A0000000000000001/{what}");
        assert_eq!(site.post(&path, &order).expect(404).code(), "run.unknown", "{what}");
    }
    site.end();
    for name in ["http://x/", "a b", ""] {
        bench
            .fathom_with(&["serve", "--listen", "127.0.0.1:0", "--allow-host", name])
            .expect(2, &["is no name of a host"]);
    }
}

#[test]
fn a_slip_in_a_built_in_target_is_no_file() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let text =
        "[target.a]\npath = \"sim:fixed=1ms\"\nsize = \"1MiB\"\n[workload.a]\n[stream.a]\npasses = 1\n";
    let order = json!({ "job": { "name": "a.toml", "text": text } });
    let refused = site.post("/api/v1/runs", &order).expect(422);
    assert!(refused.text().contains("sim:fixed=1ms"), "{}", refused.text());
    bench
        .fathom("run --target sim:fixed=1ms --size 1MiB --time 1s")
        .expect(2, &["target.built-in-path", "./sim:fixed=1ms"]);
    bench.fathom("run --target null:x --size 1MiB --time 1s").expect(2, &["target.built-in-path"]);
    assert!(!bench.path("sim:fixed=1ms").exists() && !bench.path("null:x").exists());
    // Whoever means such a file says so.
    bench.fathom("run --target ./sim:fixed=1ms --size 1MiB --time 100ms").expect(0, &[]);
    assert!(bench.path("sim:fixed=1ms").exists());
    site.end();
}
