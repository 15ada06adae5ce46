//! The operations of the API, and what they take and give.

mod answers;
mod jobs;
mod live;
mod machine;
mod refused;
mod runs;
mod searches;
pub(crate) mod session;

#[cfg(test)]
pub(crate) use searches::{DEPTH_MAX, REPLICATES_MAX};

use crate::fault::Fault;
use crate::routes::Route;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// All operations.
pub(crate) fn routes() -> Vec<Route> {
    [session::routes(), machine::routes(), jobs::routes(), runs::routes(), answers::routes(), live::routes()]
        .into_iter()
        .flatten()
        .collect()
}

/// What is refused before an operation is reached (a body that is no JSON, a method that is none) is said in the form of
/// all other faults.
pub(crate) async fn errors(request: Request, next: Next) -> Response {
    let is_api = request.uri().path().starts_with("/api/");
    let response = next.run(request).await;
    let status = response.status();
    let is_json = response
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    if !is_api || is_json || !(status.is_client_error() || status.is_server_error()) {
        return response;
    }
    let (parts, body) = response.into_parts();
    let text = axum::body::to_bytes(body, 4096).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).trim().to_owned();
    let text = if text.is_empty() { status.canonical_reason().unwrap_or("refused").to_owned() } else { text };
    let refused::Told { message, help } = refused::told(&text);
    let mut answer = Fault::new(status, "request.bad", message, help).into_response();
    for (name, value) in &parts.headers {
        if ![header::CONTENT_TYPE, header::CONTENT_LENGTH].contains(name) {
            answer.headers_mut().insert(name, value.clone());
        }
    }
    answer
}

/// Does what waits for files or computes long beside the threads that answer.
pub(crate) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let broken =
        |_| Fault::new(StatusCode::INTERNAL_SERVER_ERROR, "server.broken", "this failed within fathom", "");
    tokio::task::spawn_blocking(work).await.map_err(broken)?
}

/// An answer of a media type.
pub(crate) fn media(kind: &'static str, body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, kind)], body.into()).into_response()
}
