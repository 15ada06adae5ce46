//! Who may ask at all: requests meant for another host, and those that a page of another site sends, end here. Sets the
//! headers that keep a page to what this server gives it. Knows nothing of sessions.

use crate::App;
use crate::fault::Fault;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::SocketAddr;
use std::sync::Arc;

/// What a page may load, and from where: everything from here, nothing from anywhere else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
    connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), microphone=(), geolocation=()"),
];

/// Under which names the server may be asked for.
#[derive(Debug, Clone)]
pub(crate) struct Allowed {
    scheme: &'static str,
    /// With port, in lower case.
    hosts: Vec<String>,
    /// Where it listens at all addresses of the machine: the port at which any of them is meant. No name leads to an address
    /// that is asked for by itself, so that DNS rebinding has no part in it.
    any_at: Option<u16>,
}

impl Allowed {
    /// The address itself, `localhost` where it is of this machine alone, and `named` hosts, which may have a port.
    pub(crate) fn new(address: SocketAddr, scheme: &'static str, named: &[String]) -> Self {
        let port = address.port();
        let mut hosts = vec![address.to_string()];
        if address.ip().is_loopback() || address.ip().is_unspecified() {
            hosts.extend(["localhost", "127.0.0.1", "[::1]"].map(|host| format!("{host}:{port}")));
        }
        for host in named.iter().map(|host| host.to_ascii_lowercase()) {
            // Behind a proxy the port may be another, or none.
            hosts.push(format!("{host}:{port}"));
            hosts.push(host);
        }
        Self { scheme, hosts, any_at: address.ip().is_unspecified().then_some(port) }
    }

    /// A host with its port: browsers leave the one out that the scheme has anyway (RFC 9110, 4.2.1 and 4.2.2).
    fn in_full(&self, host: &str) -> String {
        let host = host.to_ascii_lowercase();
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
        let port = if self.scheme == "https" { 443 } else { 80 };
        if has_port { host } else { format!("{host}:{port}") }
    }

    /// Whether it is one of the names; one without a port is as well what a proxy serves.
    fn has_name(&self, host: &str) -> bool {
        self.hosts.contains(&host.to_ascii_lowercase()) || self.hosts.contains(&self.in_full(host))
    }

    fn has(&self, host: &str) -> bool {
        let is_any = |address: SocketAddr| Some(address.port()) == self.any_at;
        self.has_name(host) || self.in_full(host).parse().is_ok_and(is_any)
    }

    /// Why a request is refused, if it is. `is_api` tells the API from pages, which a link elsewhere may lead to.
    pub(crate) fn refusal(
        &self,
        method: &Method,
        target: &Uri,
        headers: &HeaderMap,
        is_api: bool,
    ) -> Option<(StatusCode, &'static str)> {
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        // One in the target itself goes before the header (RFC 9112, 3.2.2).
        let is_other = target.authority().is_some_and(|authority| !self.has(authority.as_str()));
        if hosts.next().is_some() || is_other || !host.is_some_and(|host| self.has(host)) {
            // A name that an attacker controls may lead here (DNS rebinding).
            return Some((StatusCode::MISDIRECTED_REQUEST, "this host is not served here"));
        }
        let changes = !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
        if let Some(origin) = text("origin") {
            let prefix = format!("{}://", self.scheme);
            // Among all addresses only the one that is asked for is this server: others may be anybody's.
            let is_asked_for = |from: &str| host.is_some_and(|host| self.in_full(host) == self.in_full(from));
            let is_own =
                origin.strip_prefix(&prefix).is_some_and(|from| self.has_name(from) || is_asked_for(from));
            if !is_own && (changes || is_api) {
                return Some((StatusCode::FORBIDDEN, "the request comes from a page of another site"));
            }
        }
        match text("sec-fetch-site") {
            None | Some("same-origin" | "none") => None,
            Some(_) if changes || is_api => {
                Some((StatusCode::FORBIDDEN, "the request comes from another site"))
            }
            // Following a link to a page is no harm.
            Some(_) if text("sec-fetch-mode").is_none_or(|mode| mode == "navigate") => None,
            Some(_) => Some((StatusCode::FORBIDDEN, "the request comes from another site")),
        }
    }
}

/// Refuses what must not be answered, and adds the headers to what is.
pub(crate) async fn check(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let is_api = request.uri().path().starts_with("/api/");
    let mut response = match app.guard.refusal(request.method(), request.uri(), request.headers(), is_api) {
        Some((status, reason)) => {
            let help = if status == StatusCode::MISDIRECTED_REQUEST {
                "ask for the address that the server printed, or start it with --allow-host and the name that you ask for"
            } else {
                ""
            };
            Fault::new(status, "request.refused", reason, help).into_response()
        }
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A target that names no host.
    fn here() -> Uri {
        Uri::from_static("/")
    }

    #[test]
    fn the_host_of_a_target_goes_before_that_of_the_header() {
        let allowed = Allowed::new("127.0.0.1:8080".parse().expect("it is one"), "http", &[]);
        let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static("localhost:8080"))]);
        let is_served =
            |target| allowed.refusal(&Method::GET, &Uri::from_static(target), &headers, true).is_none();
        assert!(is_served("/api/v1/session") && is_served("http://127.0.0.1:8080/api/v1/session"));
        assert!(!is_served("http://evil.example/api/v1/session"));
    }

    #[test]
    fn only_what_is_meant_for_here_is_answered() {
        let allowed =
            Allowed::new("127.0.0.1:8080".parse().expect("it is one"), "http", &["Bench.lan".to_owned()]);
        let check = |method: Method, is_api: bool, headers: &[(&'static str, &'static str)]| {
            let headers: HeaderMap = headers
                .iter()
                .map(|&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
                .collect();
            allowed.refusal(&method, &here(), &headers, is_api).map(|(status, _)| status.as_u16())
        };
        let host = ("host", "localhost:8080");
        for good in ["127.0.0.1:8080", "LOCALHOST:8080", "[::1]:8080", "bench.lan", "bench.lan:8080"] {
            assert_eq!(check(Method::GET, true, &[("host", good)]), None, "{good}");
        }
        for bad in ["evil.example", "127.0.0.1", "localhost:80", "127.0.0.1:8080.evil.example", ""] {
            assert_eq!(check(Method::GET, false, &[("host", bad)]), Some(421), "{bad}");
        }
        let everywhere = Allowed::new("0.0.0.0:8080".parse().expect("it is one"), "http", &[]);
        for (host, is_served) in [
            ("192.0.2.7:8080", true),
            ("[2001:db8::7]:8080", true),
            ("localhost:8080", true),
            ("192.0.2.7:80", false),
            ("192.0.2.7", false),
            ("evil.example:8080", false),
        ] {
            let headers = [(header::HOST, HeaderValue::from_static(host))].into_iter().collect();
            assert_eq!(
                everywhere.refusal(&Method::GET, &here(), &headers, false).is_none(),
                is_served,
                "{host}"
            );
        }
        for (origin, is_served) in [
            ("http://192.0.2.7:8080", true),
            ("http://localhost:8080", true),
            ("http://198.51.100.9:8080", false),
            ("https://192.0.2.7:8080", false),
        ] {
            let headers = [
                (header::HOST, HeaderValue::from_static("192.0.2.7:8080")),
                (header::ORIGIN, HeaderValue::from_static(origin)),
            ];
            let refusal = everywhere.refusal(
                &Method::POST,
                &Uri::from_static("/"),
                &headers.into_iter().collect(),
                true,
            );
            assert_eq!(refusal.is_none(), is_served, "{origin}");
        }
        // Ports that the scheme has anyway are left out, of hosts and origins.
        for (listens, scheme, host, from, status) in [
            ("0.0.0.0:443", "https", "192.0.2.7", "https://192.0.2.7", None),
            ("0.0.0.0:443", "https", "192.0.2.7:443", "https://192.0.2.7", None),
            ("0.0.0.0:443", "https", "localhost", "https://localhost", None),
            ("0.0.0.0:443", "https", "192.0.2.7", "http://192.0.2.7", Some(403)),
            ("0.0.0.0:443", "https", "192.0.2.7", "https://198.51.100.9", Some(403)),
            ("0.0.0.0:443", "https", "192.0.2.7:80", "https://192.0.2.7", Some(421)),
            ("0.0.0.0:443", "https", "evil.example", "https://evil.example", Some(421)),
            ("[::]:80", "http", "[2001:db8::7]", "http://[2001:db8::7]", None),
            ("[::]:80", "http", "192.0.2.7", "http://192.0.2.7", None),
            ("0.0.0.0:443", "http", "192.0.2.7", "http://192.0.2.7", Some(421)),
            ("127.0.0.1:80", "http", "localhost", "http://127.0.0.1", None),
            ("127.0.0.1:80", "http", "[::1]", "http://[::1]:80", None),
            ("127.0.0.1:80", "http", "192.0.2.7", "http://192.0.2.7", Some(421)),
            ("192.0.2.7:443", "https", "192.0.2.7", "https://192.0.2.7", None),
        ] {
            let allowed = Allowed::new(listens.parse().expect("it is one"), scheme, &[]);
            let headers = [
                (header::HOST, HeaderValue::from_static(host)),
                (header::ORIGIN, HeaderValue::from_static(from)),
            ];
            let refusal = allowed.refusal(&Method::POST, &here(), &headers.into_iter().collect(), true);
            assert_eq!(refusal.map(|(code, _)| code.as_u16()), status, "{listens} {scheme} {host} {from}");
        }
        assert_eq!(
            check(Method::GET, false, &[("host", "192.0.2.7:8080")]),
            Some(421),
            "not where it listens"
        );
        assert_eq!(check(Method::GET, true, &[]), Some(421), "no host");
        let own = ("origin", "http://localhost:8080");
        assert_eq!(check(Method::POST, true, &[host, own, ("sec-fetch-site", "same-origin")]), None);
        assert_eq!(check(Method::POST, true, &[host]), None, "a program sends neither");
        for (name, value) in [
            ("origin", "http://evil.example"),
            ("origin", "https://localhost:8080"),
            ("origin", "http://localhost:8081"),
            ("origin", "null"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
        ] {
            assert_eq!(check(Method::POST, true, &[host, (name, value)]), Some(403), "{name} {value}");
            assert_eq!(check(Method::GET, true, &[host, (name, value)]), Some(403), "{name} {value}");
        }
        let navigate = [host, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")];
        assert_eq!(check(Method::GET, false, &navigate), None, "a link to a page");
        let embedded = [host, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")];
        assert_eq!(check(Method::GET, false, &embedded), Some(403));
    }
}
