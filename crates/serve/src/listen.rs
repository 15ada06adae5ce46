//! Connections: accepted up to a limit, over TLS where there is a certificate, each with times within which it has to say
//! what it wants. Ends when a signal asks for it. Knows nothing of what is asked.

use crate::ServeError;
use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Connections at once: a browser opens six, and far fewer than forty people watch one run.
const CONNECTIONS_MAX: usize = 256;
/// How long a client may take to say what it wants, and to agree on TLS.
const HEADER_TIME: Duration = Duration::from_secs(10);
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
    pub(crate) async fn serve(self, router: Router) -> std::io::Result<()> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hang_up = signal(SignalKind::hangup())?;
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        loop {
            let accepted = tokio::select! {
                accepted = self.tcp.accept() => accepted,
                _ = interrupt.recv() => return Ok(()),
                _ = terminate.recv() => return Ok(()),
                _ = hang_up.recv() => return Ok(()),
            };
            // One connection that could not be accepted is no reason to end.
            let Ok((stream, _)) = accepted else { continue };
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else { continue };
            let (router, tls) = (router.clone(), self.tls.clone());
            tokio::spawn(async move {
                // Whoever goes away in the middle of something needs no words about it.
                let _ = connection(stream, tls, router).await;
                drop(place);
            });
        }
    }
}

async fn connection(stream: TcpStream, tls: Option<TlsAcceptor>, router: Router) -> Result<(), ()> {
    // Events are small and should not wait for more.
    let _ = stream.set_nodelay(true);
    match tls {
        None => answer(stream, router).await,
        Some(tls) => {
            let agreed = tokio::time::timeout(HEADER_TIME, tls.accept(stream)).await;
            answer(agreed.map_err(drop)?.map_err(drop)?, router).await
        }
    }
}

async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
) -> Result<(), ()> {
    hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_buf_size(HEADER_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
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
