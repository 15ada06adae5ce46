//! The browser's side of fathom: an HTTP API, a stream of a run's events, and the embedded pages.
//!
//! Everything happens in threads of its own, and nothing here can hold a run up: events leave the run through a queue that
//! never blocks, and whoever is slow reads later. It keeps no figures of its own; runs are in the store. How jobs are read
//! and what the machine is like comes in through [`Machine`].
#![forbid(unsafe_code)]

mod api;
mod assets;
mod elsewhere;
mod fault;
mod guard;
mod hub;
mod listen;
mod openapi;
#[cfg(test)]
mod pages;
mod routes;
mod running;
mod session;
mod stored;

pub use openapi::document as openapi_document;
pub use session::Role;

use fathom_model::{Diagnostics, Job};
use fathom_planner::Plan;
use fathom_report::Summary;
use fathom_run::Earlier;
use fathom_run::RealClock;
use fathom_schema::{Facts, Record, Severity, SteadyQuestion};
use running::Running;
use session::Sessions;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What the server is told of the machine it runs on, and how jobs are read there.
pub trait Machine: Send + Sync + 'static {
    /// Reads a job that someone sent, with all faults of its sections. It opens no file that the text names, and runs nothing.
    fn read(&self, upload: &Upload) -> (Job, Diagnostics);
    /// The same, with all that planning would find wrong on any machine.
    fn check(&self, upload: &Upload) -> (Job, Diagnostics);
    /// What is at these paths, and the machine's own facts.
    fn facts(&self, paths: &[PathBuf]) -> Facts;
    /// Block devices of this machine.
    fn devices(&self) -> Vec<PathBuf>;
    /// The clock of a run; what there is to say of it goes into the facts.
    fn clock(&self, facts: &mut Facts) -> RealClock;
    /// Ready-made jobs.
    fn presets(&self) -> Vec<Preset>;
    /// The report of a run as JSON, with the answer to its question where it was made for one.
    fn report(&self, record: &Record, summary: &Summary) -> String;
    /// That answer as rows for a spreadsheet; none of a run that was made for no question.
    fn answer_rows(&self, record: &Record, summary: &Summary) -> Option<String>;
    /// Fills in what of a test of the PTS depends on its targets; what of the standard is left out is said.
    fn complete(&self, asked: &mut SteadyQuestion, facts: &Facts) -> Vec<(Severity, String)>;
    /// What the run of a test of the PTS is called.
    fn title_of(&self, asked: &SteadyQuestion) -> String;
    /// What a stored test of the PTS leaves to one that goes on from it, or why none can.
    fn unfinished(&self, record: Record) -> Result<Unfinished, String>;
    /// Makes a planned test one that goes on from there: what that leaves to it, or why it cannot.
    fn go_on(&self, plan: &mut Plan, facts: &Facts, left: Record) -> Result<Earlier, String>;
    /// What `seed = "fresh"` stands for.
    fn entropy(&self) -> u64;
    /// Says something to whoever started the server.
    fn say(&self, message: &str);
}

/// A test of the PTS that was ended.
#[derive(Debug, Clone)]
pub struct Unfinished {
    /// What it asked, of which run it goes on.
    pub question: SteadyQuestion,
    /// The job that its steps change.
    pub job: Job,
    /// What is worth saying of that job; no errors.
    pub diagnostics: Diagnostics,
    /// Title of the run that goes on.
    pub title: String,
    /// What was recorded.
    pub record: Record,
}

/// A job that someone sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Upload {
    /// Name of the file, for messages and for telling the dialect: `.toml`, `.fio`, `.icf`.
    #[serde(default)]
    pub name: String,
    /// Its text.
    pub text: String,
    /// What stands for the targets of an Iometer configuration: `NAME=PATH`.
    #[serde(default)]
    pub maps: Vec<String>,
    /// Bytes that its sectors have; 512 when it is not given.
    #[serde(default)]
    pub sector_size: Option<u64>,
}

/// A ready-made job.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct Preset {
    /// Its name.
    pub name: String,
    /// What it is, in a few words.
    pub title: String,
    /// Its native text; the targets are examples.
    pub text: String,
}

/// How to serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Names under which the server may be asked for, beside its address and `localhost`.
    pub hosts: Vec<String>,
    /// Folder of the runs.
    pub store: PathBuf,
    /// Certificate chain and private key, PEM.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Listen beyond this machine without TLS.
    pub insecure_listen: bool,
}

/// Why the server cannot start.
#[derive(Debug)]
#[non_exhaustive]
pub enum ServeError {
    /// The address is not of this machine alone, and nothing protects what goes over the wire.
    Exposed(SocketAddr),
    /// The address cannot be listened at.
    Listen(SocketAddr, std::io::Error),
    /// The certificate or its key cannot be used.
    Certificate(PathBuf, String),
    /// The threads of the server cannot start.
    Start(std::io::Error),
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exposed(address) => write!(
                f,
                "{address} can be reached from other machines; give --tls-cert and --tls-key, or listen at 127.0.0.1 \
                 (--insecure-listen sends everything, sessions included, in the clear)"
            ),
            Self::Listen(address, error) => {
                write!(f, "cannot listen at {address}: {error}; choose another with --listen")
            }
            Self::Certificate(path, reason) => write!(f, "cannot use {}: {reason}", path.display()),
            Self::Start(error) => write!(f, "cannot start the server: {error}"),
        }
    }
}

impl std::error::Error for ServeError {}

/// What all requests share.
pub(crate) struct App {
    pub(crate) store: PathBuf,
    pub(crate) guard: guard::Allowed,
    pub(crate) sessions: Sessions,
    pub(crate) machine: Box<dyn Machine>,
    pub(crate) running: Running,
}

impl App {
    fn store(&self) -> &Path {
        &self.store
    }
}

/// How long answers that are being worked out may take once the server ends.
const LEFT_TO_ANSWERS: Duration = Duration::from_secs(5);

/// A server that listens.
pub struct Server {
    app: Arc<App>,
    listener: listen::Listener,
    scheme: &'static str,
    runtime: tokio::runtime::Runtime,
}

impl Server {
    /// Begins to listen; nothing is answered before [`Server::run`].
    pub fn bind(settings: Settings, machine: Box<dyn Machine>) -> Result<Self, ServeError> {
        let Settings { listen, hosts, store, tls, insecure_listen } = settings;
        if !listen.ip().is_loopback() && tls.is_none() && !insecure_listen {
            return Err(ServeError::Exposed(listen));
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            // What viewers ask for shares the machine with the measurement: two threads are enough for many of them.
            .worker_threads(2)
            .max_blocking_threads(8)
            .thread_name("fathom-serve")
            .enable_all()
            .build()
            .map_err(ServeError::Start)?;
        let listener = runtime.block_on(listen::Listener::bind(listen, tls.as_ref()))?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let guard = guard::Allowed::new(listener.address(), scheme, &hosts);
        let (sessions, fault) = Sessions::of(&store, listener.address().port(), scheme == "https");
        if let Some(fault) = fault {
            machine.say(&fault);
        }
        let app = Arc::new(App { store, guard, sessions, machine, running: Running::default() });
        Ok(Self { app, listener, scheme, runtime })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// An address that opens a session of `role` in a browser, once.
    pub fn invitation(&self, role: Role) -> String {
        format!(
            "{}://{}/?token={}",
            self.scheme,
            reachable(self.address(), own_towards),
            self.app.sessions.invite(role)
        )
    }

    /// Answers until a signal asks for the end. A run that goes on is ended like by Ctrl-C, and what it measured is kept.
    pub fn run(self) -> Result<(), ServeError> {
        let Self { app, listener, scheme: _, runtime } = self;
        let router = routes::router(&app);
        runtime.block_on(listener.serve(router, listen::TIMES)).map_err(ServeError::Start)?;
        app.running.end();
        // What is worked out for somebody who asked, and may have gone, does not keep the server.
        runtime.shutdown_timeout(LEFT_TO_ANSWERS);
        Ok(())
    }
}

/// An address that others can ask for: of all addresses of the machine the one that leads out of it, where there is one.
/// `own` is the machine's address on its way to another.
fn reachable(address: SocketAddr, own: impl Fn(SocketAddr) -> Option<IpAddr>) -> SocketAddr {
    // TEST-NET-1 and the documentation prefix are nobody's (RFC 5737 and RFC 3849).
    let away = [
        SocketAddr::from((Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), 9)),
        SocketAddr::from((Ipv4Addr::new(192, 0, 2, 1), 9)),
    ];
    // Whoever listens at all addresses of IPv6 does so at those of IPv4 as well.
    let mut ways = away.into_iter().filter(|away| address.is_ipv6() || away.is_ipv4());
    if !address.ip().is_unspecified() {
        return address;
    }
    let own = ways.find_map(|away| own(away).filter(|own| !own.is_unspecified()));
    own.map_or(address, |own| SocketAddr::new(own, address.port()))
}

/// The address from which this machine would send to another.
fn own_towards(away: SocketAddr) -> Option<IpAddr> {
    let here: IpAddr =
        if away.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    // To connect a datagram socket sends nothing; the kernel chooses a way, and with it an address.
    let socket = std::net::UdpSocket::bind((here, 0)).ok()?;
    socket.connect(away).ok()?;
    socket.local_addr().ok().map(|own| own.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_that_is_printed_leads_here() {
        let v4 = |away: SocketAddr| away.is_ipv4().then(|| IpAddr::from([198, 51, 100, 7]));
        let both = |away: SocketAddr| v4(away).or(Some(IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, 7])));
        let v6 = |away: SocketAddr| both(away).filter(|_| away.is_ipv6());
        let check = |listens: &str, own: &dyn Fn(SocketAddr) -> Option<IpAddr>, expect: &str| {
            let address = reachable(listens.parse().expect("it is one"), own);
            assert_eq!(address.to_string(), expect, "{listens}");
        };
        check("[::]:7070", &both, "[2001:db8::7]:7070");
        check("[::]:7070", &v4, "198.51.100.7:7070");
        check("[::]:7070", &|_| None, "[::]:7070");
        check("0.0.0.0:7070", &both, "198.51.100.7:7070");
        check("0.0.0.0:7070", &v6, "0.0.0.0:7070");
        check("192.0.2.9:80", &both, "192.0.2.9:80");
        check("[::1]:80", &both, "[::1]:80");
    }
}
