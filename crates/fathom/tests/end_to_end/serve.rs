//! The server, through real HTTP: who is let in, what a run looks like from outside, and what nobody gets it to do.

mod consent;
mod figures;
mod kept;
mod known;
mod others;
mod refusals;
mod resume;
mod sent;
mod sessions;

use crate::support::{Bench, Running, project, skip, tool};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// A server with a folder and a store of its own.
struct Site<'a> {
    bench: &'a Bench,
    running: Running,
    /// `127.0.0.1:PORT`.
    host: String,
    /// The cookie of an admin.
    cookie: String,
    /// Where its address leads to: `#/run/RUN`, or nothing.
    page: String,
}

/// An answer.
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn header(&self, name: &str) -> Option<String> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    }

    fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}\n{}", self.head, self.text());
        self
    }

    /// Of a fault: its code.
    fn code(&self) -> String {
        self.json()["error"]["code"].as_str().expect("faults have a code").to_owned()
    }
}

impl<'a> Site<'a> {
    fn start(bench: &'a Bench) -> Self {
        Self::start_at(bench, "127.0.0.1:0")
    }

    fn start_at(bench: &'a Bench, listen: &str) -> Self {
        Self::of(bench, &format!("serve --listen {listen}"))
    }

    fn of(bench: &'a Bench, line: &str) -> Self {
        let mut running = bench.start(line);
        let address = running.wait_for("?token=");
        let (address, page) = address.split_at(address.find('#').unwrap_or(address.len()));
        let (host, token) =
            address.trim().trim_start_matches("http://").split_once("/?token=").expect("it has both");
        let mut site = Self {
            bench,
            running,
            host: host.to_owned(),
            cookie: String::new(),
            page: page.trim().to_owned(),
        };
        site.cookie = site.session(token);
        site
    }

    /// Opens a session; its cookie.
    fn session(&self, token: &str) -> String {
        let opened = self.send("POST", "/api/v1/session", &[], &json!({ "token": token })).expect(200);
        let cookie = opened.header("set-cookie").expect("a session has a cookie");
        for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        cookie.split(';').next().expect("it has a first part").to_owned()
    }

    /// Sends a request as it is written, and reads what comes until the end.
    fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(&self.host).expect("the server listens");
        // It may have refused before all was sent.
        let _ = stream.write_all(request);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let at = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or(bytes.len());
        let head = String::from_utf8_lossy(&bytes[..at]).into_owned();
        let status = head.split_whitespace().nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Answer { status, head, body: bytes.get(at + 4..).unwrap_or_default().to_vec() }
    }

    /// Sends a request with just these headers. Of HTTP 1.0, whose answers end with the connection.
    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut head = format!("{method} {path} HTTP/1.0\r\nContent-Length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "Host") {
            head += &format!("Host: {}\r\n", self.host);
        }
        if !body.is_empty() {
            head += "Content-Type: application/json\r\n";
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        self.raw(format!("{head}\r\n{body}").as_bytes())
    }

    fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[("Cookie", &self.cookie)], &Value::Null)
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[("Cookie", &self.cookie)], body)
    }

    /// Begins a run; its identity.
    fn begin(&self, order: &Value) -> String {
        let begun = self.post("/api/v1/runs", order).expect(202).json();
        begun["run"].as_str().expect("it has an identity").to_owned()
    }

    /// The events of a run after `from` as (number, kind, data), up to the end or to one of `kind`.
    fn events(&self, run: &str, from: u64, until: &str) -> Vec<(u64, String, Value)> {
        let mut stream = TcpStream::connect(&self.host).expect("the server listens");
        let request = format!(
            "GET /api/v1/runs/{run}/events HTTP/1.0\r\nHost: {}\r\nCookie: {}\r\nLast-Event-ID: {from}\r\n\r\n",
            self.host, self.cookie
        );
        stream.write_all(request.as_bytes()).expect("the server reads");
        let mut events = Vec::new();
        let (mut number, mut kind) = (0, String::new());
        for line in BufReader::new(stream).lines().map(|line| line.expect("events are text")) {
            if let Some(id) = line.strip_prefix("id: ") {
                number = id.parse().expect("events are numbered");
            } else if let Some(name) = line.strip_prefix("event: ") {
                name.clone_into(&mut kind);
            } else if let Some(data) = line.strip_prefix("data: ") {
                events.push((number, kind.clone(), serde_json::from_str(data).expect("data are JSON")));
                if kind == until {
                    return events;
                }
            }
        }
        events
    }

    fn end(self) {
        self.running.signal(Signal::TERM);
        self.running.ended().expect(0, &[]);
    }
}

/// A job on the simulated device for a time.
fn simulated(time: &str) -> Value {
    let text = format!(
        "[target.disk]\nkind = \"sim\"\nsize = \"1GiB\"\n[workload.w]\naccess = \"random\"\n\
         [stream.users]\nworkload = \"w\"\nqueue_depth = 4\n[stage.main]\ntime = \"{time}\"\n"
    );
    json!({ "job": { "name": "sim.toml", "text": text } })
}

/// As [`simulated`], in real time, as long as it takes.
fn null(time: &str) -> Value {
    let text = format!(
        "[target.disk]\nkind = \"null\"\nsize = \"1GiB\"\n[stream.users]\nrate = \"500/s\"\n[stage.main]\ntime = \"{time}\"\n"
    );
    json!({ "job": { "name": "null.toml", "text": text } })
}

#[test]
fn only_those_who_were_invited_are_let_in() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let nothing = Value::Null;
    let (name, _) = site.cookie.split_once('=').expect("it has a value");
    assert_eq!(name.strip_prefix("fathom_session_"), site.host.split(':').nth(1), "cookies know no port");
    for path in
        ["/api/v1/runs", "/api/v1/facts", "/api/v1/options", "/api/v1/openapi.json", "/api/v1/session"]
    {
        let refused = site.send("GET", path, &[], &nothing).expect(401);
        assert_eq!(refused.code(), "session.none", "{path}");
        site.send("GET", path, &[("Cookie", &format!("{name}=0"))], &nothing).expect(401);
        site.get(path).expect(200);
    }
    assert_eq!(site.get("/api/v1/session").json()["role"], "admin");
    // An invitation works once, in the page's address as well.
    let invite = |role: &str| {
        let invited = site.post("/api/v1/invitations", &json!({ "role": role })).expect(200).json();
        invited["token"].as_str().expect("it has a token").to_owned()
    };
    let token = invite("viewer");
    let viewer = site.session(&token);
    site.send("POST", "/api/v1/session", &[], &json!({ "token": token })).expect(401);
    let entered = site.send("GET", &format!("/?token={}", invite("operator")), &[], &nothing).expect(303);
    assert_eq!(entered.header("location").as_deref(), Some("/"));
    let used = site.send("GET", &format!("/?token={token}"), &[], &nothing).expect(303);
    assert_eq!(used.header("location").as_deref(), Some("/?invitation=none"), "the page says so");
    assert_eq!(used.header("set-cookie"), None);
    let again = site.send("GET", &format!("/?token={token}"), &[("Cookie", &viewer)], &nothing).expect(303);
    assert_eq!(again.header("location").as_deref(), Some("/"), "who has a session goes in");
    let operator = entered.header("set-cookie").expect("it opens a session");
    let operator = operator.split(';').next().expect("it has a first part");
    // Each role may do its own and no more.
    let role = |cookie: &str, method: &str, path: &str, body: &Value| {
        site.send(method, path, &[("Cookie", cookie)], body).status
    };
    let unknown = "/api/v1/runs/01ARZ3NDEKTSV4RRFFQ69G5FAV";
    for (method, path, body, expect) in [
        ("GET", "/api/v1/runs", nothing.clone(), [200, 200]),
        ("GET", "/api/v1/facts", nothing.clone(), [200, 200]),
        ("GET", "/api/v1/facts?path=/etc/shadow", nothing.clone(), [403, 200]),
        ("POST", "/api/v1/jobs/plan", simulated("1s"), [403, 200]),
        ("POST", "/api/v1/runs", json!({ "job": { "text": "" } }), [403, 422]),
        ("DELETE", unknown, nothing.clone(), [403, 403]),
        ("POST", "/api/v1/invitations", json!({ "role": "admin" }), [403, 403]),
    ] {
        assert_eq!(
            [role(&viewer, method, path, &body), role(operator, method, path, &body)],
            expect,
            "{method} {path}"
        );
    }
    site.send("DELETE", "/api/v1/session", &[("Cookie", &viewer)], &nothing).expect(204);
    assert_eq!(role(&viewer, "GET", "/api/v1/runs", &nothing), 401, "it has ended");
    // Killed and started again: sessions go on, with their roles; those that have ended do not, and invitations neither.
    let unused = invite("admin");
    site.running.signal(Signal::KILL);
    let (operator, admin, host) = (operator.to_owned(), site.cookie.clone(), site.host.clone());
    site.running.ended();
    let next = Site::start_at(&bench, &host);
    let role = |cookie: &str, method: &str, path: &str| {
        next.send(method, path, &[("Cookie", cookie)], &Value::Null).status
    };
    assert_eq!([role(&operator, "GET", "/api/v1/runs"), role(&operator, "DELETE", unknown)], [200, 403]);
    assert_eq!(role(&admin, "DELETE", unknown), 404, "an admin is still one");
    assert_eq!(role(&viewer, "GET", "/api/v1/runs"), 401);
    next.send("POST", "/api/v1/session", &[], &json!({ "token": unused })).expect(401);
    next.end();
}

#[test]
fn requests_of_other_sites_are_refused() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let cookie = ("Cookie", site.cookie.as_str());
    let nothing = Value::Null;
    // A name that someone else made lead here.
    for host in ["evil.example", "evil.example:7070", "127.0.0.1"] {
        let refused = site.send("GET", "/api/v1/runs", &[("Host", host), cookie], &nothing).expect(421);
        assert_eq!(refused.code(), "request.refused");
        site.send("GET", "/", &[("Host", host)], &nothing).expect(421);
    }
    // A page of another site, with the cookie even.
    for foreign in [("Origin", "http://evil.example"), ("Origin", "null"), ("Sec-Fetch-Site", "cross-site")] {
        site.send("POST", "/api/v1/runs", &[cookie, foreign], &simulated("1s")).expect(403);
        site.send("GET", "/api/v1/runs", &[cookie, foreign], &nothing).expect(403);
    }
    assert_eq!(site.bench.stored(), 0);
    let own = format!("http://{}", site.host);
    site.send("POST", "/api/v1/jobs/check", &[cookie, ("Origin", &own)], &simulated("1s")["job"]).expect(200);
    // A form can send no JSON.
    let form = format!(
        "POST /api/v1/runs HTTP/1.0\r\nHost: {}\r\nCookie: {}\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{{}}",
        site.host, site.cookie
    );
    site.raw(form.as_bytes()).expect(415);
    // Pages load nothing from elsewhere, and are in no other page.
    let page = site.send("GET", "/", &[], &nothing).expect(200);
    let policy = page.header("content-security-policy").expect("pages have a policy");
    for part in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    assert_eq!(page.header("x-content-type-options").as_deref(), Some("nosniff"));
    assert!(page.header("access-control-allow-origin").is_none());
    // They are packed for who takes them so.
    let text = page.text();
    let asset = text
        .split('"')
        .find(|word| word.contains("assets/index-") && word.contains(".js"))
        .expect("it has a script");
    let asset = format!("/{}", asset.trim_start_matches(['.', '/']));
    let plain = site.get(&asset).expect(200);
    let packed = site.send("GET", &asset, &[("Accept-Encoding", "gzip")], &nothing).expect(200);
    assert_eq!(
        (plain.header("content-encoding"), packed.header("content-encoding").as_deref()),
        (None, Some("gzip"))
    );
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(&packed.body[..]).read_to_end(&mut unpacked).expect("it is gzip");
    assert!(unpacked == plain.body && packed.body.len() * 2 < plain.body.len());
    site.end();
}

#[test]
fn bad_requests_end_as_such() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    for path in [
        "/api/v1/nothing",
        "/api/v1/runs/last",
        "/api/v1/runs/..%2f..%2fetc%2fpasswd",
        "/api/v1/runs/%2e%2e/report",
        "/api/v1/runs/01ARZ3NDEKTSV4RRFFQ69G5FAV/export",
        "/assets/../../Cargo.toml",
        "/assets/index",
        "/assets/",
    ] {
        site.get(path).expect(404);
    }
    for path in ["/../../etc/passwd", "/..%2f..%2f..%2fetc%2fpasswd", "//etc/passwd"] {
        assert!(!site.get(path).text().contains("root:"), "{path}");
    }
    let large = json!({ "name": "x.fio", "text": "x".repeat(5 << 20) });
    site.post("/api/v1/jobs/check", &large).expect(413);
    // Nothing of it need have come.
    let declared = format!(
        "POST /api/v1/jobs/check HTTP/1.0\r\nHost: {}\r\nCookie: {}\r\nContent-Type: application/json\r\n\
         Content-Length: 99999999999\r\n\r\n{{",
        site.host, site.cookie
    );
    site.raw(declared.as_bytes()).expect(413);
    site.post("/api/v1/jobs/check", &json!({ "texts": "" })).expect(422);
    site.post("/api/v1/runs/import", &json!({ "no": "run" })).expect(415);
    assert_eq!(bench.stored(), 0, "nothing is left of it");
    site.send("PUT", "/api/v1/runs", &[("Cookie", &site.cookie)], &Value::Null).expect(405);
    // What never says what it wants is not waited for by anyone else.
    let silent = TcpStream::connect(&site.host).expect("the server listens");
    site.get("/api/v1/status").expect(200);
    drop(silent);
    site.raw(b"\x16\x03\x01\x02\x00nonsense\r\n\r\n").expect(400);
    site.get("/api/v1/status").expect(200);
    site.end();
}

#[test]
fn a_run_is_composed_planned_watched_and_looked_at() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let order = simulated("3s");
    // A fault has its line.
    let checked = site
        .post("/api/v1/jobs/check", &json!({ "name": "a.fio", "text": "[a]\nrw=reed\nsize=1m\n" }))
        .expect(200)
        .json();
    assert_eq!((&checked["is_sound"], &checked["dialect"]), (&json!(false), &json!("fio")));
    assert_eq!(checked["diagnostics"][0]["line"], 2);
    let planned = site.post("/api/v1/jobs/plan", &order).expect(200).json();
    assert_eq!((&planned["may_run"], &planned["expected_seconds"]), (&json!(true), &json!(3.0)));
    assert_eq!(planned["steps"].as_array().map(Vec::len), Some(1));
    let converted = site
        .post("/api/v1/jobs/convert", &json!({ "name": "a.fio", "text": "[a]\nrw=randread\nsize=1m\n" }))
        .expect(200)
        .json();
    assert!(converted["text"].as_str().is_some_and(|text| text.contains("[stream.a]")), "{converted}");

    let run = site.begin(&order);
    let events = site.events(&run, 0, "");
    let kinds = |kind: &str| events.iter().filter(|(_, found, _)| found == kind).count();
    assert_eq!(
        [kinds("run_started"), kinds("step_started"), kinds("step_finished"), kinds("run_finished")],
        [1; 4]
    );
    assert_eq!(kinds("interval"), 3);
    let numbers: Vec<u64> = events.iter().map(|(number, _, _)| *number).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "without gaps");
    let interval = events
        .iter()
        .find(|(_, kind, _)| kind == "interval")
        .map(|(_, _, data)| data)
        .expect("there are some");
    assert_eq!(interval["all"]["p99_ns"], 400_000, "four wait for a device that takes 100 us for each");
    assert!(interval["all"]["iops"].as_f64().is_some_and(|iops| iops > 1000.0), "{interval}");
    // Whoever was cut off goes on after what it had, though the run is over.
    assert_eq!(site.events(&run, 3, ""), events[3..]);

    // The record says the same.
    let summary = site.get(&format!("/api/v1/runs/{run}")).expect(200).json();
    assert_eq!((&summary["run"], &summary["state"]), (&json!(run), &json!("complete")));
    let intervals = site.get(&format!("/api/v1/runs/{run}/intervals")).expect(200).json();
    let stored = intervals["intervals"].as_array().expect("they are a list");
    assert_eq!(stored.len(), 3);
    assert_eq!(stored[0]["all"], interval["all"]);
    let part = site.get(&format!("/api/v1/runs/{run}/intervals?after_s=1.5&limit=1")).expect(200).json();
    assert_eq!((&part["intervals"][0], &part["has_more"]), (&stored[1], &json!(true)));
    let of_step = |query: &str| site.get(&format!("/api/v1/runs/{run}/intervals?{query}"));
    assert_eq!(of_step("step=0").expect(200).json(), intervals);
    assert_eq!(of_step("step=99").expect(404).code(), "run.step");
    for bad in ["nan", "inf", "-inf"] {
        assert_eq!(of_step(&format!("after_s={bad}")).expect(400).code(), "request.query", "{bad}");
    }
    let csv = site.get(&format!("/api/v1/runs/{run}/report?format=csv")).expect(200);
    assert_eq!(csv.text().lines().count(), 1 + 3 * 2);
    assert!(site.get(&format!("/api/v1/runs/{run}/report?format=text")).expect(200).text().contains("IOPS"));
    let charts = site.get(&format!("/api/v1/runs/{run}/charts")).expect(200).json();
    assert_eq!(charts["steps"].as_array().map(Vec::len), Some(1), "{charts}");
    // A name in a header is none that someone sent.
    let page = site.get(&format!("/api/v1/runs/{run}/report?format=html")).expect(200);
    assert_eq!(page.header("content-disposition"), Some(format!("attachment; filename=\"{run}.html\"")));
    assert!(page.text().starts_with("<!DOCTYPE html>"));
    site.get(&format!("/api/v1/runs/{run}/report?format=x%22%0d%0aSet-Cookie:a")).expect(400);
    site.end();
}

#[test]
fn a_question_is_asked_answered_and_compared() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let text = "[target.a]\nkind = \"sim\"\nsize = \"1GiB\"\n[workload.a]\naccess = \"random\"\n[stream.a]\n[stage.a]\ntime = \"1s\"\n";
    let order = |search: Value| json!({ "job": { "name": "a.toml", "text": text }, "search": search });
    let curve = |depth: u32| {
        order(json!({ "kind": "curve", "latency": ["1ms"], "max_depth": depth, "replicates": 1 }))
    };
    let planned = site.post("/api/v1/jobs/plan", &curve(4)).expect(200).json();
    assert_eq!(planned["may_run"], true);
    assert_eq!(planned["measurements"], json!({ "about": 4, "at_most": 4 }), "depths 1 to 4, each once");
    let ask = |depth: u32| {
        let run = site.begin(&curve(depth));
        site.events(&run, 0, "run_finished");
        run
    };
    let run = ask(4);
    let answer = site.get(&format!("/api/v1/runs/{run}/answer")).expect(200).json();
    assert_eq!(answer["kind"], "curve");
    let section = &answer["sections"][0];
    let titles: Vec<&str> = section["plots"]
        .as_array()
        .expect("drawings")
        .iter()
        .filter_map(|plot| plot["title"].as_str())
        .collect();
    assert_eq!(titles, ["Throughput over load", "Response time over load"]);
    let loads = section["tables"][1]["rows"].as_array().map_or(0, Vec::len);
    assert!(loads >= 3, "1, 2 and 4 in flight at least: {section}");
    // The stored run has the question: the command line answers it as well.
    bench.fathom("report last").expect(0, &[]);
    let other = ask(4);
    let compared = site.get(&format!("/api/v1/compare?sides={run},{other}&margin=10%25")).expect(200).json();
    assert_eq!(compared["kind"], "compare");
    assert!(compared["sentence"].as_str().is_some_and(|said| !said.is_empty()), "{compared}");
    // What cannot be compared is told with the reason; what can be beside it is compared.
    bench.fathom("run --target sim: --time 1s --quiet").expect(0, &[]);
    let plain = bench.report()["run"].as_str().expect("it has an identity").to_owned();
    let apart = site.get(&format!("/api/v1/compare?sides={run},{plain}")).expect(200).json();
    let reason = "A and B cannot be compared: they have no step in common; compare runs of one job.";
    assert_eq!((&apart["kind"], &apart["sentence"]), (&json!("apart"), &json!(reason)));
    let partly = site.get(&format!("/api/v1/compare?sides={run},{other},{plain}")).expect(200).json();
    assert_eq!(partly["kind"], "compare");
    assert!(partly["sentence"].as_str().is_some_and(|told| told.contains("A and C cannot be")), "{partly}");
    for (query, code) in [
        (format!("sides={run}"), "compare.sides"),
        (format!("sides={run},{other}&margin=3"), "compare.margin"),
        (format!("sides={run},{run}"), "compare.twice"),
        (format!("sides={run},{other}~{other}"), "compare.twice"),
        (format!("sides={run},../../etc/passwd"), "run.unknown"),
        (format!("sides={}", vec![run.as_str(); 30].join(",")), "compare.runs"),
    ] {
        assert_eq!(site.get(&format!("/api/v1/compare?{query}")).code(), code, "{query}");
    }
    // Facts around runs are told with whether a verdict passes over them, as it does over the load of the host.
    let around = site.get(&format!("/api/v1/environments?runs={run},{other}")).expect(200).json();
    let passes =
        |fact: &Value| fact["values"].as_array().map(Vec::len) == Some(2) && fact["passes"].is_boolean();
    let is_load = |fact: &&Value| fact["name"].as_str().is_some_and(|name| name.starts_with("load "));
    let facts = around.as_array().expect("a list");
    assert!(
        facts.iter().all(passes) && facts.iter().filter(is_load).all(|fact| fact["passes"] == true),
        "{around}"
    );
    assert_eq!(site.get("/api/v1/environments?runs=../x").code(), "run.unknown");
    // A plain run has no answer; what cannot be asked is told with the plan.
    let plain = site.begin(&simulated("1s"));
    site.events(&plain, 0, "run_finished");
    assert_eq!(site.get(&format!("/api/v1/runs/{plain}/answer")).expect(200).json(), Value::Null);
    for (search, code) in [
        (json!({ "kind": "curve", "latency": ["p99"] }), "search.latency"),
        (json!({ "kind": "curve", "latency": [], "max_depth": 1 }), "search.bounds"),
        (json!({ "kind": "curve", "over": "time", "latency": [] }), "search.over"),
        (json!({ "kind": "objective", "iops": 0.0, "latency": ["p99<1ms"] }), "search.objective"),
        (json!({ "kind": "steady", "test": "speed" }), "search.steady"),
    ] {
        let plan = site.post("/api/v1/jobs/plan", &order(search)).expect(200).json();
        assert_eq!(
            (&plan["may_run"], &plan["diagnostics"][0]["code"]),
            (&json!(false), &json!(code)),
            "{plan}"
        );
    }
    site.end();
}

#[test]
fn runs_are_listed_named_taken_along_and_deleted() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let first = site.begin(&simulated("1s"));
    site.events(&first, 0, "");
    let second = site.begin(&simulated("2s"));
    site.events(&second, 0, "");
    let listed = |query: &str| -> Vec<Value> {
        let runs = site.get(&format!("/api/v1/runs{query}")).expect(200).json();
        runs.as_array().expect("it is a list").iter().map(|run| run["run"].clone()).collect()
    };
    assert_eq!(listed(""), [json!(second), json!(first)], "the newest first");
    assert_eq!(listed("?limit=1"), [json!(second)]);
    let path = format!("/api/v1/runs/{first}");
    let cookie = ("Cookie", site.cookie.as_str());
    let naming = json!({ "title": "<script>alert(1)</script>", "tags": ["old", "array 1"] });
    let named = site.send("PATCH", &path, &[cookie], &naming).expect(200).json();
    assert_eq!(
        (&named["title"], &named["tags"]),
        (&naming["title"], &naming["tags"]),
        "kept as it is, shown as text"
    );
    assert_eq!(site.get(&path).json()["title"], naming["title"]);
    assert_eq!(listed("?tag=old"), [json!(first)]);
    assert_eq!(listed("?title=SCRIPT&state=complete"), [json!(first)]);
    assert!(listed("?state=failed").is_empty());
    let kept = site.send("PATCH", &path, &[cookie], &json!({ "title": "" })).expect(200).json();
    assert_eq!((&kept["title"], &kept["tags"]), (&json!("sim"), &naming["tags"]));
    for bad in [json!({ "title": "a\nb" }), json!({ "tags": [""] }), json!({ "title": "x".repeat(500) })] {
        site.send("PATCH", &path, &[cookie], &bad).expect(400);
    }
    // Out, gone, in again: the same run with its tags.
    let before = site.get(&path).json();
    let file = site.get(&format!("{path}/export")).expect(200);
    site.send("DELETE", &path, &[cookie], &Value::Null).expect(204);
    site.get(&path).expect(404);
    let head = format!(
        "POST /api/v1/runs/import HTTP/1.0\r\nHost: {}\r\nCookie: {}\r\nContent-Type: application/vnd.fathom.run\r\n\
         Content-Length: {}\r\n\r\n",
        site.host,
        site.cookie,
        file.body.len()
    );
    let import = [head.as_bytes(), &file.body].concat();
    assert_eq!(site.raw(&import).expect(201).json()["run"], json!(first));
    assert_eq!(site.raw(&import).expect(409).code(), "run.there");
    assert_eq!(site.get(&path).json(), before);
    assert_eq!(listed("?tag=old"), [json!(first)]);
    // Only the two are in the folder.
    assert_eq!(bench.stored(), 2);
    bench.fathom("runs").expect(0, &[]);
    site.end();
}

#[test]
fn a_run_that_goes_on_is_changed_marked_and_ended() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let run = site.begin(&null("10min"));
    let path = |what: &str| format!("/api/v1/runs/{run}{what}");
    site.events(&run, 0, "step_started");
    assert_eq!(site.get("/api/v1/status").json()["run"], json!(run));
    assert_eq!(site.post("/api/v1/runs", &simulated("1s")).expect(409).code(), "run.busy");
    for what in ["/export", ""] {
        let method = if what.is_empty() { "DELETE" } else { "GET" };
        let refused = site.send(method, &path(what), &[("Cookie", &site.cookie)], &Value::Null).expect(409);
        assert_eq!(refused.code(), "run.going");
    }
    // An identity is the same in whatever case it is written.
    let alike = format!("/api/v1/runs/{}", run.to_ascii_lowercase());
    let refused = site.send("DELETE", &alike, &[("Cookie", &site.cookie)], &Value::Null).expect(409);
    assert_eq!(refused.code(), "run.going");
    site.post(&format!("{alike}/marks"), &json!({ "text": "before", "at_ms": 0 })).expect(202);
    site.post(&path("/marks"), &json!({ "text": "the cache is off" })).expect(202);
    let marked = site.events(&run, 0, "interval");
    let is_of = |message: &Value| message.as_str().is_some_and(|one| one.ends_with(": the cache is off"));
    let is_mark = |(_, _, data): &(u64, String, Value)| data["kind"] == "mark" && is_of(&data["message"]);
    assert!(
        marked.iter().any(is_mark) || site.events(&run, 0, "note").iter().any(is_mark) || {
            // It comes with the next look at what is asked.
            let from = marked.last().map_or(0, |(number, _, _)| *number);
            site.events(&run, from, "note").iter().any(is_mark)
        }
    );
    for (order, says) in [
        (
            json!({ "stream": "nope", "operations_per_s": 200.0 }),
            ["no stream \\\"nope\\\"", "name one of users"],
        ),
        (json!({ "stream": "users", "operations_per_s": -1.0 }), ["-1 operations", "give a number from"]),
        (
            json!({ "stream": "users", "operations_per_s": 1e20 }),
            ["operations per second is no rate", "or null"],
        ),
        (json!({ "stream": "users" }), ["operations_per_s", "is missing"]),
    ] {
        let refused = site.post(&path("/rate"), &order).expect(422).json().to_string();
        assert!(says.iter().all(|part| refused.contains(part)), "{refused}");
    }
    site.post(&path("/rate"), &json!({ "stream": "users", "operations_per_s": 200.0 })).expect(202);
    let from = site.events(&run, 0, "step_finished").last().map_or(0, |(number, _, _)| *number);
    let next = site.events(&run, from, "step_started");
    assert_eq!(next.last().map(|(_, _, data)| &data["streams"][0]["rate_per_s"]), Some(&json!(200.0)));
    site.post(&path("/stop"), &Value::Null).expect(202);
    let end = site.events(&run, from, "");
    assert_eq!(end.last().map(|(_, _, data)| &data["state"]), Some(&json!("interrupted")));
    assert_eq!(site.post(&path("/stop"), &Value::Null).expect(409).code(), "run.over");
    let summary = site.get(&path("")).json();
    assert_eq!(summary["reason"], "on request");
    let is_here = |mark: &Value| mark["label"] == "the cache is off" && mark["at_s"].is_number();
    let charts = site.get(&path("/charts")).json();
    let steps = charts["steps"].as_array().expect("there are charts");
    let marks = steps.iter().filter_map(|step| step["marks"].as_array()).flatten();
    assert_eq!(marks.filter(|mark| is_here(mark)).count(), 1, "{charts}");
    // A signal ends the server and its run, and what was measured is kept.
    let last = site.begin(&null("10min"));
    site.events(&last, 0, "interval");
    site.end();
    bench.fathom(&format!("report {last}")).expect(0, &[]);
}

#[test]
fn what_there_is_to_choose_from_is_told() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let options = site.get("/api/v1/options").expect(200).json();
    let depth =
        options.as_array().expect("it is a list").iter().find(|row| row["path"] == "stream.queue_depth");
    let depth = depth.expect("there is such an option");
    assert_eq!(
        (&depth["kind"], &depth["max"], &depth["fio"]),
        (&json!("count"), &json!(65_536), &json!("iodepth"))
    );
    let dialects = site.get("/api/v1/dialects").expect(200).json();
    assert!(dialects[1]["options"].as_array().is_some_and(|rows| rows.len() > 100));
    for preset in site.get("/api/v1/presets").expect(200).json().as_array().expect("it is a list") {
        let job = json!({ "name": "p.toml", "text": preset["text"] });
        assert_eq!(
            site.post("/api/v1/jobs/check", &job).expect(200).json()["is_sound"],
            json!(true),
            "{preset}"
        );
    }
    let facts = site.get("/api/v1/facts").expect(200).json();
    assert!(facts["cpu"]["usable"].as_array().is_some_and(|cpus| !cpus.is_empty()));
    let file = bench.write("file", "x");
    let facts = site.get(&format!("/api/v1/facts?path={}", file.display())).expect(200).json();
    assert_eq!(facts["targets"][0]["kind"], json!("file"));
    // The document of the API is the generated one.
    let generated =
        std::fs::read_to_string(project().join("docs/generated/openapi.json")).expect("it is generated");
    let served = site.get("/api/v1/openapi.json").expect(200).text();
    let cookie = site.cookie.split('=').next().expect("it has a name");
    assert_eq!(served, generated.replace("fathom_session_7070", cookie), "but for the port");
    // An Iometer configuration comes with what stands for its targets.
    let icf = "'TEST SETUP\n'Run Time\n0 0 1\n'END test setup\n'ACCESS SPECIFICATIONS\n\
        'Access specification name,default assignment\ns,NONE\n'size,\n4096,100,100,100,0,1,4096,0\n'END access specifications\n\
        'MANAGER LIST\n'Manager ID, manager name\n1,M\n'Manager network address\n\n'Worker\nw\n'Worker type\nDISK\n\
        'Assigned access specs\ns\n'End assigned access specs\n'Target assignments\n'Target\nC:\n'Target type\nDISK\n\
        'End target\n'End target assignments\n'End worker\n'End manager\n'END manager list\n";
    let order = |maps: Value| json!({ "job": { "name": "a.icf", "text": icf, "maps": maps } });
    site.post("/api/v1/runs", &order(json!([]))).expect(422);
    let run = site.begin(&order(json!(["C:=sim:"])));
    assert_eq!(
        site.events(&run, 0, "").last().map(|(_, kind, _)| kind.clone()),
        Some("run_finished".to_owned())
    );
    site.end();
}

#[test]
fn the_last_command_of_the_demonstration_opens_its_run() {
    let bench = Bench::new();
    bench.fathom("run --target sim: --time 1s").expect(0, &[]);
    let script = std::fs::read_to_string(project().join("scripts/demo")).expect("it is there");
    let last =
        script.lines().last().and_then(|line| line.split_once("$fathom ")).expect("it names a command");
    let words = last.1.trim_end_matches('"');
    assert_eq!(words, "serve last");
    let site = Site::of(&bench, &format!("{words} --listen 0"));
    let run = bench.report()["run"].as_str().expect("it has an identity").to_owned();
    assert_eq!(site.page, format!("#/run/{run}"));
    site.get(&format!("/api/v1/runs/{run}")).expect(200);
    site.end();
    bench.fathom("serve absent").expect(2, &["absent"]);
}

#[test]
fn where_to_listen_is_written_plainly() {
    let bench = Bench::new();
    for wrong in ["bench.lan:7070", "127.0.0.1", "70700", ":7070", "127.0.0.1:x"] {
        bench
            .fathom(&format!("serve --listen {wrong}"))
            .expect(2, &[wrong, "127.0.0.1:7070", "[::1]:7070", "a port alone"]);
    }
    for right in ["0", "localhost:0", "127.0.0.1:0"] {
        let site = Site::start_at(&bench, right);
        assert!(site.host.starts_with("127.0.0.1:"), "{right} is of this machine: {}", site.host);
        site.end();
    }
}

#[test]
fn a_run_without_a_title_is_called_after_its_target() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let mut order = null("200ms");
    order["job"]["name"] = json!("scratch, sdb.toml");
    let run = site.begin(&order);
    site.events(&run, 0, "");
    assert_eq!(site.get("/api/v1/runs").expect(200).json()[0]["title"], json!("scratch, sdb"));
    site.end();
}

#[test]
fn nothing_listens_beyond_this_machine_unprotected() {
    let bench = Bench::new();
    bench
        .fathom("serve --listen 0.0.0.0:0")
        .expect(2, &["other machines", "--tls-cert", "--insecure-listen"]);
    bench.fathom("serve --listen 127.0.0.1:0 --tls-cert absent --tls-key absent").expect(2, &["absent"]);
    let (key, certificate) = (bench.path("key.pem"), bench.path("cert.pem"));
    let plain = |path: &std::path::Path| path.to_str().expect("its name is plain").to_owned();
    let made = tool(
        "openssl",
        &[
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "1",
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
            "-keyout",
            &plain(&key),
            "-out",
            &plain(&certificate),
        ],
    );
    if let Err(reason) = made.and_then(|_| tool("curl", &["--version"])) {
        return skip("nothing_listens_beyond_this_machine_unprotected", &reason);
    }
    let mut running =
        bench.start("serve --listen 0.0.0.0:0 --tls-cert cert.pem --tls-key key.pem --allow-host 127.0.0.1");
    let address = running.wait_for("?token=");
    // It invites to the address that others see, which the certificate does not have.
    let (_, behind) = address.trim().rsplit_once(':').expect("it has a port");
    let address = format!("https://127.0.0.1:{behind}");
    let asked = ["--silent", "--show-error", "--include", "--cacert", &plain(&certificate), &address];
    let answer = tool("curl", &asked).unwrap_or_else(|reason| panic!("{reason}"));
    assert!(answer.contains("303") && answer.contains("; Secure"), "{answer}");
    running.signal(Signal::TERM);
    running.ended().expect(0, &[]);
}
