//! Sessions: opened with an invitation, looked at, ended; and invitations for others.

use crate::App;
use crate::fault::Fault;
use crate::routes::{Content, Route, json};
use crate::session::Role;
use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What opens a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Invitation {
    /// The token of an invitation, which works once.
    token: String,
}

/// Who is asking.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Whoami {
    /// What the session may do.
    role: Role,
    /// Version of fathom.
    version: &'static str,
}

/// For whom an invitation is.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Invite {
    role: Role,
}

/// An invitation.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Invited {
    /// Opens one session: `/?token=…`.
    token: String,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route {
            method: "post",
            path: "/session",
            role: None,
            summary: "Open a session with an invitation; the cookie is in the answer",
            query: &[],
            body: json::<Invitation>(),
            status: StatusCode::OK,
            answer: json::<Whoami>(),
            handler: || post(open),
        },
        Route {
            method: "get",
            path: "/session",
            role: Some(Role::Viewer),
            summary: "Say what the session may do",
            query: &[],
            body: Content::None,
            status: StatusCode::OK,
            answer: json::<Whoami>(),
            handler: || get(whoami),
        },
        Route {
            method: "delete",
            path: "/session",
            role: Some(Role::Viewer),
            summary: "End the session",
            query: &[],
            body: Content::None,
            status: StatusCode::NO_CONTENT,
            answer: Content::None,
            handler: || delete(close),
        },
        Route {
            method: "post",
            path: "/invitations",
            role: Some(Role::Admin),
            summary: "Invite someone",
            query: &[],
            body: json::<Invite>(),
            status: StatusCode::OK,
            answer: json::<Invited>(),
            handler: || post(invite),
        },
    ]
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

async fn open(State(app): State<Arc<App>>, Json(invitation): Json<Invitation>) -> Result<Response, Fault> {
    let opened = app.open_session(&invitation.token).await;
    let (role, cookie) = opened.ok_or_else(|| {
        let help = "each works once; start fathom serve again, or ask an admin for another";
        Fault::new(StatusCode::UNAUTHORIZED, "session.invitation", "there is no such invitation", help)
    })?;
    Ok(([(header::SET_COOKIE, cookie)], Json(Whoami { role, version: VERSION })).into_response())
}

async fn whoami(State(app): State<Arc<App>>, headers: HeaderMap) -> Json<Whoami> {
    // The session was looked at before; one that ended since may do the least.
    Json(Whoami { role: app.sessions.role(&headers).unwrap_or(Role::Viewer), version: VERSION })
}

async fn close(State(app): State<Arc<App>>, headers: HeaderMap) -> Response {
    (StatusCode::NO_CONTENT, [(header::SET_COOKIE, app.close_session(&headers).await)]).into_response()
}

async fn invite(State(app): State<Arc<App>>, Json(Invite { role }): Json<Invite>) -> Json<Invited> {
    Json(Invited { token: app.sessions.invite(role) })
}

/// A page that is asked for with an invitation opens the session and takes the invitation out of the address.
pub(crate) async fn enter(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let token =
        request.uri().query().and_then(|query| query.split('&').find_map(|part| part.strip_prefix("token=")));
    match token {
        Some(token) if request.method() == Method::GET && !path.starts_with("/api/") => {
            let opened = app.open_session(token).await.and_then(|(_, cookie)| cookie.parse().ok());
            // Whoever has a session needs no other; to others the page says that this invitation opens none.
            let is_shut = opened.is_none() && app.sessions.role(request.headers()).is_none();
            let location = if is_shut { "/?invitation=none" } else { "/" };
            let mut answer = (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response();
            if let Some(cookie) = opened {
                answer.headers_mut().insert(header::SET_COOKIE, cookie);
            }
            answer
        }
        _ => next.run(request).await,
    }
}
