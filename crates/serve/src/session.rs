//! Who is asking: invitations that open a session once, sessions as cookies, and what each role may do. All of it is in
//! memory: after a restart everybody is asked anew.

use crate::App;
use crate::fault::Fault;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::io::Read;
use std::sync::{Arc, Mutex};

/// Name of the cookie.
const COOKIE: &str = "fathom_session";
/// Bytes of a token: 256 random bits cannot be guessed.
const TOKEN_BYTES: usize = 32;
/// Invitations and sessions that are kept at once; the oldest give way. A team has far fewer.
const KEPT_MAX: usize = 256;

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

/// Tokens and the roles they stand for, in the order they were made.
#[derive(Debug, Default)]
struct Kept {
    roles: BTreeMap<String, Role>,
    order: VecDeque<String>,
}

impl Kept {
    fn add(&mut self, token: String, role: Role) {
        self.order.push_back(token.clone());
        self.roles.insert(token, role);
        while self.order.len() > KEPT_MAX {
            if let Some(oldest) = self.order.pop_front() {
                self.roles.remove(&oldest);
            }
        }
    }

    fn take(&mut self, token: &str) -> Option<Role> {
        self.order.retain(|kept| kept != token);
        self.roles.remove(token)
    }
}

/// All invitations and sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    invitations: Mutex<Kept>,
    sessions: Mutex<Kept>,
    is_secure: bool,
}

impl Sessions {
    /// `is_secure`: cookies go over TLS only.
    pub(crate) fn new(is_secure: bool) -> Self {
        Self { invitations: Mutex::default(), sessions: Mutex::default(), is_secure }
    }

    /// A token that opens a session of `role` once.
    pub(crate) fn invite(&self, role: Role) -> String {
        let token = token();
        lock(&self.invitations).add(token.clone(), role);
        token
    }

    /// Opens a session with an invitation, which is used up by that; the cookie's header.
    pub(crate) fn open(&self, invitation: &str) -> Option<(Role, String)> {
        let role = lock(&self.invitations).take(invitation)?;
        let session = token();
        let secure = if self.is_secure { "; Secure" } else { "" };
        let cookie = format!("{COOKIE}={session}; Path=/; HttpOnly; SameSite=Strict{secure}");
        lock(&self.sessions).add(session, role);
        Some((role, cookie))
    }

    /// Ends the session of a request; the header that takes the cookie away.
    pub(crate) fn close(&self, headers: &HeaderMap) -> String {
        for token in tokens_of(headers) {
            lock(&self.sessions).take(token);
        }
        format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
    }

    /// The role of whoever sends a request.
    pub(crate) fn role(&self, headers: &HeaderMap) -> Option<Role> {
        let sessions = lock(&self.sessions);
        // Looked up by all of it in a tree: 256 random bits leave nothing to learn from how long that takes.
        tokens_of(headers).find_map(|token| sessions.roles.get(token).copied())
    }
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

    #[test]
    fn an_invitation_opens_one_session() {
        let sessions = Sessions::new(false);
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
        assert!(Sessions::new(true).open("x").is_none());
        let secure = Sessions::new(true);
        assert!(secure.open(&secure.invite(Role::Viewer)).expect("it is new").1.ends_with("; Secure"));
    }

    #[test]
    fn the_oldest_give_way() {
        let sessions = Sessions::new(false);
        let first = sessions.invite(Role::Viewer);
        let others: Vec<String> = (0..KEPT_MAX).map(|_| sessions.invite(Role::Viewer)).collect();
        assert_eq!(sessions.open(&first), None);
        assert!(sessions.open(&others[0]).is_some());
        assert!(Role::Viewer < Role::Operator && Role::Operator < Role::Admin);
    }
}
