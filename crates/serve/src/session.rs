//! Who is asking: invitations that open a session once, sessions as cookies, and what each role may do. Sessions outlive
//! the server: digests of their tokens lie beside the runs, so that whoever watched one comes back by itself.
//! Invitations do not.

mod file;

use crate::App;
use crate::fault::Fault;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use file::SessionsFile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

/// What the cookie's name begins with; the server's port follows, since cookies of one host go to all its ports.
const COOKIE: &str = "fathom_session_";
/// Bytes of a token: 256 random bits cannot be guessed.
const TOKEN_BYTES: usize = 32;
/// Invitations and sessions that are kept at once; the oldest give way. A team has far fewer.
const KEPT_MAX: usize = 256;
/// How long a session lasts. A browser forgets its cookie when it ends.
const AGE_MS_MAX: u64 = 30 * 24 * 3_600_000;

/// What someone may do; each may also do what those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Look at runs and at the machine.
    Viewer,
    /// Run jobs, change their load, name runs.
    Operator,
    /// Delete runs, invite others.
    Admin,
}

/// A token that is good, and for what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Good {
    /// SHA-256 of the token, in hexadecimal: whoever reads it cannot show the token.
    digest: String,
    role: Role,
    /// When it was made.
    wall_ms: u64,
}

impl Good {
    fn new(token: &str, role: Role) -> Self {
        Self { digest: digest(token), role, wall_ms: fathom_run::wall_ms() }
    }

    fn is_too_old(&self) -> bool {
        fathom_run::wall_ms().saturating_sub(self.wall_ms) > AGE_MS_MAX
    }
}

/// Tokens that are good, in the order they were made.
#[derive(Debug, Default, Clone)]
struct Kept(VecDeque<Good>);

impl Kept {
    fn add(&mut self, good: Good) {
        self.0.push_back(good);
        while self.0.len() > KEPT_MAX {
            self.0.pop_front();
        }
    }

    fn find(&self, token: &str) -> Option<&Good> {
        let digest = digest(token);
        // How long comparing takes tells of the digest, of which nobody can tell a token.
        self.0.iter().find(|good| good.digest == digest)
    }

    fn take(&mut self, token: &str) -> Option<Good> {
        let found = self.find(token)?.clone();
        self.0.retain(|good| good.digest != found.digest);
        Some(found)
    }

    fn change(&mut self, change: &Change) {
        match change {
            Change::Opened(good) => self.add(good.clone()),
            Change::Closed(closed) => self.0.retain(|good| !closed.contains(good)),
        }
    }
}

/// What becomes of sessions.
#[derive(Debug)]
enum Change {
    Opened(Good),
    Closed(Vec<Good>),
}

/// All invitations and sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    invitations: Mutex<Kept>,
    sessions: Mutex<Kept>,
    /// Told of each session that ends: what was begun under it may go on for hours.
    ended: watch::Sender<()>,
    file: SessionsFile,
    cookie: String,
    is_secure: bool,
}

impl Sessions {
    /// Those that an earlier server has left in `folder`, beside why there are none where that is a fault. `port`: where
    /// this server listens. `is_secure`: cookies go over TLS only.
    pub(crate) fn of(folder: &Path, port: u16, is_secure: bool) -> (Self, Option<String>) {
        let file = SessionsFile::of(folder);
        let (left, fault) = match file.read() {
            Ok(left) => (left, None),
            Err(error) => {
                let fault = format!(
                    "{} cannot be read: {error}; whoever was in has to be invited anew",
                    file.path().display()
                );
                (Kept::default(), Some(fault))
            }
        };
        let cookie = format!("{COOKIE}{port}");
        let (invitations, sessions) = (Mutex::default(), Mutex::new(left));
        let ended = watch::Sender::new(());
        (Self { invitations, sessions, ended, file, cookie, is_secure }, fault)
    }

    /// A token that opens a session of `role` once.
    pub(crate) fn invite(&self, role: Role) -> String {
        let token = token();
        lock(&self.invitations).add(Good::new(&token, role));
        token
    }

    /// Opens a session with an invitation, which is used up by that; the cookie's header.
    fn open(&self, invitation: &str) -> Option<(Good, String)> {
        let role = lock(&self.invitations).take(invitation)?.role;
        let session = token();
        let secure = if self.is_secure { "; Secure" } else { "" };
        let cookie = format!("{}={session}; Path=/; HttpOnly; SameSite=Strict{secure}", self.cookie);
        let good = Good::new(&session, role);
        lock(&self.sessions).add(good.clone());
        Some((good, cookie))
    }

    /// Ends the session of a request; the header that takes the cookie away.
    fn close(&self, headers: &HeaderMap) -> (Vec<Good>, String) {
        let closed = self.tokens_of(headers).filter_map(|token| lock(&self.sessions).take(token)).collect();
        self.ended.send_replace(());
        (closed, format!("{}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0", self.cookie))
    }

    /// The role of whoever sends a request.
    pub(crate) fn role(&self, headers: &HeaderMap) -> Option<Role> {
        let sessions = lock(&self.sessions);
        let mut found = self.tokens_of(headers).filter_map(|token| sessions.find(token));
        found.find(|good| !good.is_too_old()).map(|good| good.role)
    }

    /// Wakes whoever waits when a session ends.
    pub(crate) fn watch(&self) -> watch::Receiver<()> {
        self.ended.subscribe()
    }

    /// Writes a change down for the next server.
    fn keep(&self, change: &Change) -> io::Result<()> {
        // Requests look at the sessions all the time: they are not held while storage is waited for.
        let own = lock(&self.sessions).clone();
        self.file.change(change, own)
    }

    /// The name of the cookie that a session is kept in.
    pub(crate) fn cookie(&self) -> &str {
        &self.cookie
    }

    /// What a request shows: its cookies of our name.
    fn tokens_of<'a>(&'a self, headers: &'a HeaderMap) -> impl Iterator<Item = &'a str> {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
        cookies
            .flat_map(|cookies| cookies.split(';'))
            .filter_map(|cookie| cookie.trim().strip_prefix(&self.cookie)?.strip_prefix('='))
    }
}

impl App {
    /// Opens a session with an invitation, which is used up by that; the cookie's header.
    pub(crate) async fn open_session(self: &Arc<Self>, invitation: &str) -> Option<(Role, String)> {
        let (good, cookie) = self.sessions.open(invitation)?;
        let role = good.role;
        self.keep(Change::Opened(good)).await;
        Some((role, cookie))
    }

    /// Ends the session of a request; the header that takes the cookie away.
    pub(crate) async fn close_session(self: &Arc<Self>, headers: &HeaderMap) -> String {
        let (closed, cookie) = self.sessions.close(headers);
        self.keep(Change::Closed(closed)).await;
        cookie
    }

    /// Writes a change down, in a thread that may wait for storage.
    async fn keep(self: &Arc<Self>, change: Change) {
        let app = Arc::clone(self);
        let kept = tokio::task::spawn_blocking(move || app.sessions.keep(&change)).await;
        if let Err(error) = kept.unwrap_or_else(|error| Err(io::Error::other(error))) {
            let file = self.sessions.file.path().display();
            self.machine.say(&format!("{file} cannot be written: {error}; sessions end with this server"));
        }
    }
}

fn lock(kept: &Mutex<Kept>) -> std::sync::MutexGuard<'_, Kept> {
    kept.lock().expect("no thread panics while it holds the lock")
}

/// Random bits of the kernel's generator, in hexadecimal.
fn token() -> String {
    let mut bytes = [0; TOKEN_BYTES];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut random| random.read_exact(&mut bytes))
        .expect("the kernel has random numbers");
    hexadecimal(&bytes)
}

fn digest(token: &str) -> String {
    hexadecimal(&Sha256::digest(token))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Lets requests through whose session may do what `role` may.
pub(crate) async fn require(
    State((app, role)): State<(Arc<App>, Role)>,
    request: Request,
    next: Next,
) -> Response {
    match app.sessions.role(request.headers()) {
        Some(own) if own >= role => next.run(request).await,
        Some(_) => Fault::role(role).into_response(),
        None => Fault::new(
            StatusCode::UNAUTHORIZED,
            "session.none",
            "there is no session",
            "open the address that fathom serve printed, or ask an admin for an invitation",
        )
        .into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(cookie: &str) -> HeaderMap {
        let value = cookie.split(';').next().expect("it has a first part");
        HeaderMap::from_iter([(header::COOKIE, format!("a=b; {value}; c=d").parse().expect("it is plain"))])
    }

    fn of(folder: &Path, is_secure: bool) -> Sessions {
        let (sessions, fault) = Sessions::of(folder, 7070, is_secure);
        assert_eq!(fault, None);
        sessions
    }

    #[test]
    fn an_invitation_opens_one_session() {
        let folder = tempfile::tempdir().expect("there is room");
        let sessions = of(folder.path(), false);
        let invitation = sessions.invite(Role::Operator);
        assert_eq!(sessions.open("x"), None);
        let (Good { role, .. }, cookie) = sessions.open(&invitation).expect("it is new");
        assert_eq!(role, Role::Operator);
        assert!(cookie.ends_with("HttpOnly; SameSite=Strict"), "{cookie}");
        assert_eq!(sessions.open(&invitation), None, "it is used up");
        assert_eq!(sessions.role(&with(&cookie)), Some(Role::Operator));
        assert_eq!(sessions.role(&HeaderMap::new()), None);
        assert_eq!(sessions.role(&with(&format!("{COOKIE}7070={invitation}"))), None, "it is no session");
        sessions.close(&with(&cookie));
        assert_eq!(sessions.role(&with(&cookie)), None);
        let secure = of(folder.path(), true);
        assert!(secure.open(&secure.invite(Role::Viewer)).expect("it is new").1.ends_with("; Secure"));
    }

    #[test]
    fn the_oldest_give_way() {
        let folder = tempfile::tempdir().expect("there is room");
        let sessions = of(folder.path(), false);
        let first = sessions.invite(Role::Viewer);
        let others: Vec<String> = (0..KEPT_MAX).map(|_| sessions.invite(Role::Viewer)).collect();
        assert_eq!(sessions.open(&first), None);
        assert!(sessions.open(&others[0]).is_some());
        assert!(Role::Viewer < Role::Operator && Role::Operator < Role::Admin);
    }

    #[test]
    fn servers_of_one_host_do_not_take_each_others_cookies() {
        let folder = tempfile::tempdir().expect("there is room");
        let (one, other) = (of(folder.path(), false), Sessions::of(folder.path(), 7071, false).0);
        let open = |sessions: &Sessions| sessions.open(&sessions.invite(Role::Viewer)).expect("it is new").1;
        let (first, second) = (open(&one), open(&other));
        let name = |cookie: &str| cookie.split('=').next().map(str::to_owned);
        assert_ne!(name(&first), name(&second), "a browser would replace the one by the other");
        let [first, second] = [&first, &second].map(|cookie| cookie.split(';').next().expect("it has one"));
        let shown = format!("{second}; {first}").parse().expect("it is plain");
        let both = HeaderMap::from_iter([(header::COOKIE, shown)]);
        assert_eq!((one.role(&both), other.role(&both)), (Some(Role::Viewer), Some(Role::Viewer)));
    }

    #[test]
    fn a_session_ends_after_a_month_while_the_server_runs() {
        let folder = tempfile::tempdir().expect("there is room");
        let sessions = of(folder.path(), false);
        let (_, cookie) = sessions.open(&sessions.invite(Role::Admin)).expect("it is new");
        let is_made = |ago: u64| lock(&sessions.sessions).0[0].wall_ms = fathom_run::wall_ms() - ago;
        is_made(AGE_MS_MAX / 2);
        assert_eq!(sessions.role(&with(&cookie)), Some(Role::Admin));
        is_made(AGE_MS_MAX + 1);
        assert_eq!(sessions.role(&with(&cookie)), None);
    }

    #[test]
    fn sessions_outlive_the_server_and_their_tokens_are_nowhere() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("there is room");
        let store = folder.path().join("runs");
        let sessions = of(&store, false);
        let open = || {
            let (good, cookie) = sessions.open(&sessions.invite(Role::Operator)).expect("it is new");
            sessions.keep(&Change::Opened(good)).expect("there is room");
            cookie
        };
        let (stays, goes) = (open(), open());
        assert_eq!(of(&store, false).role(&with(&goes)), Some(Role::Operator));
        let (closed, _) = sessions.close(&with(&goes));
        sessions.keep(&Change::Closed(closed)).expect("there is room");
        let next = of(&store, false);
        assert_eq!(next.role(&with(&stays)), Some(Role::Operator));
        assert_eq!(next.role(&with(&goes)), None, "it was ended");
        let file = sessions.file.path();
        let text = std::fs::read_to_string(file).expect("it is there");
        let token = stays.split(['=', ';']).nth(1).expect("it has a value");
        assert!(!text.contains(token), "{text}");
        assert_eq!(std::fs::metadata(file).expect("it is there").permissions().mode() & 0o777, 0o600);
        // What was read from the file is no cookie.
        let digest = digest(token);
        assert!(text.contains(&digest), "{text}");
        assert_eq!(next.role(&with(&format!("{COOKIE}7070={digest}"))), None);
    }

    #[test]
    fn two_servers_of_one_store_keep_each_others_sessions() {
        let folder = tempfile::tempdir().expect("there is room");
        let servers = [of(folder.path(), false), of(folder.path(), false)];
        let open = |at: usize| {
            let sessions = &servers[at % 2];
            let (good, cookie) = sessions.open(&sessions.invite(Role::Viewer)).expect("it is new");
            sessions.keep(&Change::Opened(good)).expect("there is room");
            with(&cookie)
        };
        let mut all = vec![open(0), open(1), open(2)];
        // At once as well, where each has threads that write.
        let open = &open;
        let more = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|at| scope.spawn(move || open(at))).collect();
            threads.into_iter().map(|one| one.join().expect("it opens one")).collect::<Vec<_>>()
        });
        all.extend(more);
        let next = of(folder.path(), false);
        assert!(all.iter().all(|cookie| next.role(cookie) == Some(Role::Viewer)));
    }
}
