//! Who is asking: invitations that open a session once, sessions as cookies, and what each role may do. Sessions outlive
//! the server: digests of their tokens lie beside the runs, so that whoever watched one comes back by itself.
//! Invitations do not.

use crate::App;
use crate::fault::Fault;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Name of the cookie.
const COOKIE: &str = "fathom_session";
/// Bytes of a token: 256 random bits cannot be guessed.
const TOKEN_BYTES: usize = 32;
/// Invitations and sessions that are kept at once; the oldest give way. A team has far fewer.
const KEPT_MAX: usize = 256;
/// The sessions' file, in the folder of the runs.
const FILE: &str = ".sessions.json";
/// How long after its beginning a session is taken over by another server. A browser forgets its cookie when it ends.
const TAKEN_OVER_MS_MAX: u64 = 30 * 24 * 3_600_000;

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

/// Tokens that are good, in the order they were made.
#[derive(Debug, Default)]
struct Kept(VecDeque<Good>);

impl Kept {
    fn add(&mut self, token: &str, role: Role) {
        self.0.push_back(Good { digest: digest(token), role, wall_ms: fathom_run::wall_ms() });
        while self.0.len() > KEPT_MAX {
            self.0.pop_front();
        }
    }

    fn role(&self, token: &str) -> Option<Role> {
        let digest = digest(token);
        // How long comparing takes tells of the digest, of which nobody can tell a token.
        self.0.iter().find(|good| good.digest == digest).map(|good| good.role)
    }

    fn take(&mut self, token: &str) -> Option<Role> {
        let role = self.role(token)?;
        let digest = digest(token);
        self.0.retain(|good| good.digest != digest);
        Some(role)
    }
}

/// All invitations and sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    invitations: Mutex<Kept>,
    sessions: Mutex<Kept>,
    file: PathBuf,
    is_secure: bool,
}

impl Sessions {
    /// Those that an earlier server has left in `folder`, beside why there are none where that is a fault. `is_secure`:
    /// cookies go over TLS only.
    pub(crate) fn of(folder: &Path, is_secure: bool) -> (Self, Option<String>) {
        let file = folder.join(FILE);
        let (left, fault) = match left_in(&file) {
            Ok(left) => (left, None),
            Err(error) => {
                let fault = format!(
                    "{} cannot be read: {error}; whoever was in has to be invited anew",
                    file.display()
                );
                (VecDeque::new(), Some(fault))
            }
        };
        (Self { invitations: Mutex::default(), sessions: Mutex::new(Kept(left)), file, is_secure }, fault)
    }

    /// A token that opens a session of `role` once.
    pub(crate) fn invite(&self, role: Role) -> String {
        let token = token();
        lock(&self.invitations).add(&token, role);
        token
    }

    /// Opens a session with an invitation, which is used up by that; the cookie's header.
    fn open(&self, invitation: &str) -> Option<(Role, String)> {
        let role = lock(&self.invitations).take(invitation)?;
        let session = token();
        let secure = if self.is_secure { "; Secure" } else { "" };
        let cookie = format!("{COOKIE}={session}; Path=/; HttpOnly; SameSite=Strict{secure}");
        lock(&self.sessions).add(&session, role);
        Some((role, cookie))
    }

    /// Ends the session of a request; the header that takes the cookie away.
    fn close(&self, headers: &HeaderMap) -> String {
        for token in tokens_of(headers) {
            lock(&self.sessions).take(token);
        }
        format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
    }

    /// The role of whoever sends a request.
    pub(crate) fn role(&self, headers: &HeaderMap) -> Option<Role> {
        let sessions = lock(&self.sessions);
        tokens_of(headers).find_map(|token| sessions.role(token))
    }

    /// Writes the sessions down for the next server: for the owner alone, and whole or not at all.
    fn keep(&self) -> io::Result<()> {
        // Held until it is written: of two that write at once, the later has both.
        let sessions = lock(&self.sessions);
        if let Some(folder) = self.file.parent() {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let new = self.file.with_extension("new");
        match std::fs::remove_file(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(&serde_json::to_vec(&sessions.0)?)?;
        std::fs::rename(&new, &self.file)
    }
}

impl App {
    /// Opens a session with an invitation, which is used up by that; the cookie's header.
    pub(crate) fn open_session(&self, invitation: &str) -> Option<(Role, String)> {
        let opened = self.sessions.open(invitation)?;
        self.keep_sessions();
        Some(opened)
    }

    /// Ends the session of a request; the header that takes the cookie away.
    pub(crate) fn close_session(&self, headers: &HeaderMap) -> String {
        let cookie = self.sessions.close(headers);
        self.keep_sessions();
        cookie
    }

    fn keep_sessions(&self) {
        if let Err(error) = self.sessions.keep() {
            let file = self.sessions.file.display();
            self.machine.say(&format!("{file} cannot be written: {error}; sessions end with this server"));
        }
    }
}

/// The sessions of a file that are not too old; none where there is no file.
fn left_in(file: &Path) -> io::Result<VecDeque<Good>> {
    let text = match std::fs::read(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(VecDeque::new()),
        text => text?,
    };
    let mut left: VecDeque<Good> = serde_json::from_slice(&text)?;
    let now = fathom_run::wall_ms();
    left.retain(|good| now.saturating_sub(good.wall_ms) <= TAKEN_OVER_MS_MAX);
    while left.len() > KEPT_MAX {
        left.pop_front();
    }
    Ok(left)
}

fn lock(kept: &Mutex<Kept>) -> std::sync::MutexGuard<'_, Kept> {
    kept.lock().expect("no thread panics while it holds the lock")
}

/// What a request shows: its cookies of our name.
fn tokens_of(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
    cookies
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|cookie| cookie.trim().strip_prefix(COOKIE)?.strip_prefix('='))
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
        Some(_) => Fault::new(
            StatusCode::FORBIDDEN,
            "session.role",
            format!("this needs the role {}", serde_json::json!(role).as_str().unwrap_or_default()),
            "ask an admin for an invitation",
        )
        .into_response(),
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
        let (sessions, fault) = Sessions::of(folder, is_secure);
        assert_eq!(fault, None);
        sessions
    }

    #[test]
    fn an_invitation_opens_one_session() {
        let folder = tempfile::tempdir().expect("there is room");
        let sessions = of(folder.path(), false);
        let invitation = sessions.invite(Role::Operator);
        assert_eq!(sessions.open("x"), None);
        let (role, cookie) = sessions.open(&invitation).expect("it is new");
        assert_eq!(role, Role::Operator);
        assert!(cookie.ends_with("HttpOnly; SameSite=Strict"), "{cookie}");
        assert_eq!(sessions.open(&invitation), None, "it is used up");
        assert_eq!(sessions.role(&with(&cookie)), Some(Role::Operator));
        assert_eq!(sessions.role(&HeaderMap::new()), None);
        assert_eq!(sessions.role(&with(&format!("{COOKIE}={invitation}"))), None, "it is no session");
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
    fn sessions_outlive_the_server_and_their_tokens_are_nowhere() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("there is room");
        let store = folder.path().join("runs");
        let sessions = of(&store, false);
        let open = || sessions.open(&sessions.invite(Role::Operator)).expect("it is new").1;
        let (stays, goes) = (open(), open());
        sessions.keep().expect("there is room");
        assert_eq!(of(&store, false).role(&with(&goes)), Some(Role::Operator));
        sessions.close(&with(&goes));
        sessions.keep().expect("there is room");
        let next = of(&store, false);
        assert_eq!(next.role(&with(&stays)), Some(Role::Operator));
        assert_eq!(next.role(&with(&goes)), None, "it was ended");
        let file = store.join(FILE);
        let text = std::fs::read_to_string(&file).expect("it is there");
        let token = stays.split(['=', ';']).nth(1).expect("it has a value");
        assert!(!text.contains(token), "{text}");
        assert_eq!(std::fs::metadata(&file).expect("it is there").permissions().mode() & 0o777, 0o600);
        // What was read from the file is no cookie.
        let digest = digest(token);
        assert!(text.contains(&digest), "{text}");
        assert_eq!(next.role(&with(&format!("{COOKIE}={digest}"))), None);
        // A month later everybody is asked anew.
        let old = fathom_run::wall_ms() - TAKEN_OVER_MS_MAX - 1;
        let good = Good { digest, role: Role::Admin, wall_ms: old };
        std::fs::write(&file, serde_json::to_vec(&[good]).expect("it can be written"))
            .expect("there is room");
        assert_eq!(of(&store, false).role(&with(&stays)), None);
        std::fs::write(&file, "{").expect("there is room");
        let (none, fault) = Sessions::of(&store, false);
        assert!(fault.expect("it cannot be read").contains("invited anew"));
        assert_eq!(none.role(&with(&stays)), None);
    }
}
