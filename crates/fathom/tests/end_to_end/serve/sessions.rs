//! What was let in ends with the session that let it in, however long the run goes on.

use super::{Site, null};
use crate::support::Bench;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Events that come while a session is being ended, at most: the run tells one or two a second.
const EVENTS_MAX: usize = 50;

#[test]
fn an_event_stream_ends_with_its_session() {
    let bench = Bench::new();
    let site = Site::start(&bench);
    let run = site.begin(&null("10min"));
    let invited = site.post("/api/v1/invitations", &json!({ "role": "viewer" })).expect(200).json();
    let cookie = site.session(invited["token"].as_str().expect("it has a token"));
    let mut stream = TcpStream::connect(&site.host).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("it can be set");
    let request =
        format!("GET /api/v1/runs/{run}/events HTTP/1.0\r\nHost: {}\r\nCookie: {cookie}\r\n\r\n", site.host);
    stream.write_all(request.as_bytes()).expect("it is sent");
    let mut lines =
        BufReader::new(stream).lines().map(|line| line.expect("it ends, and does not stand still"));
    assert!(lines.any(|line| line.starts_with("event: ")), "it is let in");
    site.send("DELETE", "/api/v1/session", &[("Cookie", &cookie)], &Value::Null).expect(204);
    let left = lines.filter(|line| line.starts_with("event: ")).take(EVENTS_MAX).count();
    assert!(left < EVENTS_MAX, "{left} more events came");
    // The others' go on.
    assert!(!site.events(&run, 0, "interval").is_empty());
    site.end();
}
