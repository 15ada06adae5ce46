//! What goes wrong with a request, as JSON: a code for programs, words for people, and the way out.

use crate::session::Role;
use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use fathom_store::StoreError;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::ErrorKind;

/// Why a request was not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Fault {
    #[serde(skip)]
    #[schemars(skip)]
    pub(crate) status: StatusCode,
    /// Stable name, e.g. `run.unknown`.
    pub(crate) code: &'static str,
    /// What is wrong.
    pub(crate) message: String,
    /// The way out; empty when the message says it.
    pub(crate) help: String,
}

impl Fault {
    pub(crate) fn new(
        status: StatusCode,
        code: &'static str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { status, code, message: message.into(), help: help.into() }
    }

    pub(crate) fn bad(code: &'static str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message, help)
    }

    pub(crate) fn conflict(code: &'static str, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, message, help)
    }

    /// What was asked is for those of `role` and above.
    pub(crate) fn role(role: Role) -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            "session.role",
            format!("this needs the role {}", serde_json::json!(role).as_str().unwrap_or_default()),
            "ask an admin for an invitation",
        )
    }

    pub(crate) fn no_run(id: &str) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "run.unknown",
            format!("there is no run {id}"),
            "GET /api/v1/runs lists all",
        )
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        let (status, code) = match &error {
            StoreError::ReadOnly { .. } => (StatusCode::CONFLICT, "store.read-only"),
            StoreError::NotFound { .. } => (StatusCode::NOT_FOUND, "run.unreadable"),
            // Nothing is wrong with what was asked for, nor with a run.
            StoreError::Full { .. } => (StatusCode::INSUFFICIENT_STORAGE, "store.full"),
            StoreError::Io { source, .. }
                if [ErrorKind::StorageFull, ErrorKind::QuotaExceeded].contains(&source.kind()) =>
            {
                (StatusCode::INSUFFICIENT_STORAGE, "store.full")
            }
            _ => (StatusCode::UNPROCESSABLE_ENTITY, "run.unreadable"),
        };
        Self::new(status, code, error.to_string(), "")
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        (self.status, Json(serde_json::json!({ "error": &self }))).into_response()
    }
}
