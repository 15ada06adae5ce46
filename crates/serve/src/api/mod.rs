//! The operations of the API, and what they take and give.

mod answers;
mod imports;
mod jobs;
mod live;
mod machine;
mod refused;
mod reports;
mod runs;
mod searches;
pub(crate) mod session;

#[cfg(test)]
pub(crate) use searches::{DEPTH_MAX, REPLICATES_MAX};

use crate::fault::Fault;
use crate::routes::{BASE, Query, Route, body_bytes_max};
use axum::body::Body;
use axum::extract::{self, Request};
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
    let bytes_max = body_bytes_max(request.uri().path().strip_prefix(BASE).unwrap_or_default());
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
    let (code, refused::Told { message, help }) = match status {
        StatusCode::PAYLOAD_TOO_LARGE => ("request.large", refused::too_large(bytes_max)),
        _ => ("request.bad", refused::told(&text)),
    };
    let mut answer = Fault::new(status, code, message, help).into_response();
    for (name, value) in &parts.headers {
        if ![header::CONTENT_TYPE, header::CONTENT_LENGTH].contains(name) {
            answer.headers_mut().insert(name, value.clone());
        }
    }
    answer
}

/// Refuses parameters of a query that an operation does not have: what is not obeyed is not passed over.
pub(crate) async fn known_query(known: Query, request: Request, next: Next) -> Response {
    // A query that cannot be read is refused where it is.
    let given = extract::Query::<Vec<(String, String)>>::try_from_uri(request.uri());
    let given = given.map(|extract::Query(given)| given).unwrap_or_default();
    match refused::unknown_parameter(given.iter().map(|(name, _)| name.as_str()), known) {
        Some(refused::Told { message, help }) => Fault::bad("request.query", message, help).into_response(),
        None => next.run(request).await,
    }
}

/// Refuses a body that is declared to be longer than it may be, before any of it has come.
pub(crate) async fn known_length(bytes_max: usize, request: Request, next: Next) -> Response {
    let declared = request.headers().get(header::CONTENT_LENGTH);
    let declared: Option<u64> = declared.and_then(|length| length.to_str().ok()?.parse().ok());
    if declared.is_none_or(|bytes| bytes <= bytes_max as u64) {
        return next.run(request).await;
    }
    let refused::Told { message, help } = refused::too_large(bytes_max);
    Fault::new(StatusCode::PAYLOAD_TOO_LARGE, "request.large", message, help).into_response()
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
