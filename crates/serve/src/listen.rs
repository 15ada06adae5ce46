//! Connections: accepted up to a limit, over TLS where there is a certificate, each with times within which it has to say
//! what it wants and to send it. Ends when a signal asks for it. Knows nothing of what is asked.

use crate::ServeError;
use axum::Router;
use axum::http::StatusCode;
use axum::routing::MethodRouter;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tower_http::timeout::{RequestBodyTimeoutLayer, TimeoutLayer};

/// Connections at once: a browser opens six, and far fewer than forty people watch one run.
const CONNECTIONS_MAX: usize = 256;

/// Connections on which nothing was asked for yet, the oldest first. Whoever opens many and says nothing keeps nobody out: where
/// there is no place left, the one that has waited longest gives up its own.
#[derive(Debug, Default)]
struct Silent {
    next: AtomicU64,
    since: Mutex<BTreeMap<u64, AbortHandle>>,
}

impl Silent {
    fn since(&self) -> MutexGuard<'_, BTreeMap<u64, AbortHandle>> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection has asked for something, or is over.
    fn forget(&self, connection: u64) {
        self.since().remove(&connection);
    }

    /// Ends the oldest; whether there was one.
    fn end_oldest(&self) -> bool {
        let oldest = self.since().pop_first();
        oldest.as_ref().inspect(|(_, task)| task.abort()).is_some()
    }
}

/// How long others may keep the server waiting.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// To agree on TLS, and to say what is wanted: from the beginning of a connection, or from the last answer on it.
    header: Duration,
    /// Between two pieces of what is sent.
    piece: Duration,
    /// From the request to the beginning of its answer.
    answer: Duration,
}

/// Those of the server: what comes over a bad line comes within seconds; planning thousands of steps takes some, too.
pub(crate) const TIMES: Times = Times {
    header: Duration::from_secs(10),
    piece: Duration::from_secs(20),
    answer: Duration::from_secs(60),
};

/// A handler that waits no longer than this for what it is sent, and that has to answer in time but where `is_long`: events
/// have no end, and a large file takes its time.
pub(crate) fn bounded<S: Clone + Send + Sync + 'static>(
    handler: MethodRouter<S>,
    times: Times,
    is_long: bool,
) -> MethodRouter<S> {
    let handler = handler.layer(RequestBodyTimeoutLayer::new(times.piece));
    if is_long {
        return handler;
    }
    handler.layer(TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, times.answer))
}

/// Largest header of a request.
const HEADER_BYTES_MAX: usize = 16 << 10;

/// Listens, and speaks TLS where that is asked for.
pub(crate) struct Listener {
    tcp: TcpListener,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
}

impl Listener {
    pub(crate) async fn bind(
        address: SocketAddr,
        tls: Option<&(PathBuf, PathBuf)>,
    ) -> Result<Self, ServeError> {
        let tls = tls.map(|(chain, key)| acceptor(chain, key)).transpose()?;
        let fail = |error| ServeError::Listen(address, error);
        let tcp = TcpListener::bind(address).await.map_err(fail)?;
        let address = tcp.local_addr().map_err(fail)?;
        Ok(Self { tcp, address, tls })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until SIGINT, SIGTERM or SIGHUP.
    pub(crate) async fn serve(self, router: Router, times: Times) -> std::io::Result<()> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hang_up = signal(SignalKind::hangup())?;
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let silent = Arc::new(Silent::default());
        loop {
            let accepted = tokio::select! {
                accepted = self.tcp.accept() => accepted,
                _ = interrupt.recv() => return Ok(()),
                _ = terminate.recv() => return Ok(()),
                _ = hang_up.recv() => return Ok(()),
            };
            // One connection that could not be accepted is no reason to end.
            let Ok((stream, _)) = accepted else { continue };
            if places.available_permits() == 0 && !silent.end_oldest() {
                continue;
            }
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { continue };
            let (router, tls) = (router.clone(), self.tls.clone());
            let id = silent.next.fetch_add(1, Ordering::Relaxed);
            let quiet = Arc::clone(&silent);
            // It is known as silent before it can ask.
            let mut since = silent.since();
            let task = tokio::spawn(async move {
                let asked = Arc::clone(&quiet);
                // Whoever goes away in the middle of something needs no words about it.
                let _ = connection(stream, tls, router, times.header, move || asked.forget(id)).await;
                quiet.forget(id);
                drop(place);
            });
            since.insert(id, task.abort_handle());
        }
    }
}

async fn connection(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    router: Router,
    header: Duration,
    asked: impl Fn() + Send + 'static,
) -> Result<(), ()> {
    // Events are small and should not wait for more.
    let _ = stream.set_nodelay(true);
    match tls {
        None => answer(stream, router, header, asked).await,
        Some(tls) => {
            let agreed = tokio::time::timeout(header, tls.accept(stream)).await;
            answer(agreed.map_err(drop)?.map_err(drop)?, router, header, asked).await
        }
    }
}

async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    header: Duration,
    asked: impl Fn() + Send + 'static,
) -> Result<(), ()> {
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |request| {
        asked();
        router.call(request)
    });
    hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(header)
        .max_buf_size(HEADER_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service)
        .await
        .map_err(drop)
}

fn acceptor(chain: &Path, key: &Path) -> Result<TlsAcceptor, ServeError> {
    let fail = |path: &Path, reason: String| ServeError::Certificate(path.to_owned(), reason);
    let certificates = CertificateDer::pem_file_iter(chain)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| fail(chain, error.to_string()))?;
    if certificates.is_empty() {
        return Err(fail(chain, "it has no certificate".to_owned()));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| fail(key, error.to_string()))?;
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(certificates, secret)
        .map_err(|error| fail(chain, error.to_string()))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::post;
    use std::io::{Read, Write};

    /// What a client gets until the server ends the connection, which it does by itself.
    fn check(header: Duration, piece: Duration, sent: &str, expect: &str) {
        let patience = Duration::from_secs(3600);
        let times = Times { header, piece, answer: patience };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("threads can be made");
        let here = "127.0.0.1:0".parse().expect("it is an address");
        let listener = runtime.block_on(Listener::bind(here, None)).expect("there is a free port");
        let address = listener.address();
        // All is sent before anybody accepts: however slow this machine is, the server finds it there when its time begins.
        let mut stream = std::net::TcpStream::connect(address).expect("the server listens");
        stream.write_all(sent.as_bytes()).expect("there is room for it");
        // Where the server waits for ever this is what ends the test, as a failure.
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("it is a time");
        let echo = bounded(post(|body: String| async { body }), times, false);
        runtime.spawn(listener.serve(Router::new().route("/", echo), times));
        let mut got = String::new();
        stream
            .read_to_string(&mut got)
            .unwrap_or_else(|error| panic!("{sent:?} is waited for: {error}; {got}"));
        assert!(if expect.is_empty() { got.is_empty() } else { got.contains(expect) }, "{sent:?}: {got}");
        runtime.shutdown_background();
    }

    #[test]
    fn who_says_nothing_keeps_nobody_out() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("threads can be made");
        let here = "127.0.0.1:0".parse().expect("it is an address");
        let listener = runtime.block_on(Listener::bind(here, None)).expect("there is a free port");
        let address = listener.address();
        let patience = Duration::from_secs(3600);
        let times = Times { header: patience, piece: patience, answer: patience };
        let echo = bounded(post(|body: String| async { body }), times, false);
        runtime.spawn(listener.serve(Router::new().route("/", echo), times));
        let open = |sent: &str| {
            let mut stream = std::net::TcpStream::connect(address).expect("the server listens");
            stream.set_read_timeout(Some(Duration::from_secs(60))).expect("it is a time");
            stream.write_all(sent.as_bytes()).expect("there is room for it");
            stream
        };
        let ask = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello";
        let answered = |stream: &mut std::net::TcpStream| {
            let mut got = [0; 15];
            stream.read_exact(&mut got).is_ok_and(|()| got == *b"HTTP/1.1 200 OK")
        };
        let mut first = open(ask);
        assert!(answered(&mut first));
        let mut silent: Vec<_> = (0..CONNECTIONS_MAX + 20).map(|_| open("POST / HT")).collect();
        assert!(answered(&mut open(ask)), "there is a place for who asks");
        // The oldest of the silent have gone, and not the one that had asked.
        let ended = silent[0].read(&mut [0; 16]);
        let is_reset = |error: &std::io::Error| error.kind() == std::io::ErrorKind::ConnectionReset;
        assert!(matches!(&ended, Ok(0)) || ended.as_ref().is_err_and(is_reset), "{ended:?}");
        first.write_all(ask.as_bytes()).expect("it is open");
        // What is left of the first answer comes before the next.
        let mut both = String::new();
        while both.matches("hello").count() < 2 {
            let mut some = [0; 256];
            let count = first.read(&mut some).expect("it is open");
            assert_ne!(count, 0, "it has ended after {both}");
            both.push_str(&String::from_utf8_lossy(&some[..count]));
        }
        runtime.shutdown_background();
    }

    #[test]
    fn nobody_keeps_a_connection_by_saying_little() {
        let (short, long) = (Duration::from_millis(50), Duration::from_secs(3600));
        check(short, long, "", "");
        check(short, long, "POST / HT", "");
        check(short, long, "POST / HTTP/1.1\r\nHost: localhost\r\nX: y", "");
        // After an answer the time begins anew.
        let whole = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello";
        check(short, long, whole, "200 OK");
        // What is promised and does not come; with the answer, or soon after it, the connection ends.
        check(short, short, &whole.replace("hello", "hel"), "400 Bad Request");
    }
}
