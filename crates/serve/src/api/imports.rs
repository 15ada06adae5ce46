//! Runs that come in as files: received beside the others, and taken in where they can be read.

use super::aside;
use super::runs::Begun;
use crate::App;
use crate::fault::Fault;
use crate::routes::IMPORT_BYTES_MAX;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use fathom_store::StoreError;
use fathom_units::Bytes;
use futures_util::StreamExt;
use std::io::ErrorKind;
use std::sync::Arc;
use tokio::io::AsyncWriteExt;

/// The media type of a run's file.
pub(super) const MEDIA: &str = "application/vnd.fathom.run";
/// What programs call a file of which they know nothing more.
const MEDIA_ANY: &str = "application/octet-stream";

/// Writes what comes in beside the runs, and makes it one when it can be read as one that is not there yet.
pub(super) async fn import(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Fault> {
    if !headers.get(header::CONTENT_TYPE).is_some_and(is_run_file) {
        let help = format!("send the header Content-Type: {MEDIA}");
        let message = "the body is not declared as a run's file";
        return Err(Fault::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "request.bad", message, help));
    }
    let declared = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if declared.is_some_and(|bytes: u64| bytes > IMPORT_BYTES_MAX as u64) {
        return Err(too_large());
    }
    let failed = |error: std::io::Error| unkept(&error);
    tokio::fs::create_dir_all(app.store()).await.map_err(failed)?;
    let part = app.store().join(format!("{}.import", ulid::Ulid::new()));
    let received = receive(body, &part).await;
    let taken = match received {
        Ok(()) => {
            let part = part.clone();
            aside(move || take_in(&app, &part)).await
        }
        Err(fault) => Err(fault),
    };
    // What became a run has another name by now; looking into it may have left files of the database beside it.
    for ending in ["import", "import-wal", "import-shm"] {
        let _ = tokio::fs::remove_file(part.with_extension(ending)).await;
    }
    Ok((StatusCode::CREATED, Json(Begun { run: taken? })).into_response())
}

/// Whether a body is declared as a run's file, with whatever parameters.
fn is_run_file(kind: &HeaderValue) -> bool {
    let kind = kind.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    [MEDIA, MEDIA_ANY].iter().any(|known| kind.eq_ignore_ascii_case(known))
}

/// Why the file cannot be kept, with the remedy where the store is full.
fn unkept(error: &std::io::Error) -> Fault {
    let is_full = [ErrorKind::StorageFull, ErrorKind::QuotaExceeded].contains(&error.kind());
    if is_full {
        let message = "there is no space left in the store for the run's file";
        let help = "make room there; nothing of the file is kept";
        return Fault::new(StatusCode::INSUFFICIENT_STORAGE, "store.full", message, help);
    }
    Fault::conflict("run.import", format!("the run cannot be kept: {error}"), "")
}

fn too_large() -> Fault {
    let message = format!("the file has more than {}", Bytes(IMPORT_BYTES_MAX as u64));
    Fault::new(StatusCode::PAYLOAD_TOO_LARGE, "run.import", message, "copy it into the folder of the store")
}

async fn receive(body: Body, part: &std::path::Path) -> Result<(), Fault> {
    let failed = |error: std::io::Error| unkept(&error);
    let mut file = tokio::fs::File::create_new(part).await.map_err(failed)?;
    let mut pieces = axum::body::Body::into_data_stream(body);
    let mut bytes = 0;
    // What a run does not begin like is not taken to its end.
    let mut head = fathom_store::FILE_HEAD.as_slice();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| Fault::bad("run.import", error.to_string(), ""))?;
        bytes += piece.len();
        if bytes > IMPORT_BYTES_MAX {
            return Err(too_large());
        }
        let (begun, rest) = head.split_at(head.len().min(piece.len()));
        if !piece.starts_with(begun) {
            return Err(no_run_file());
        }
        head = rest;
        file.write_all(&piece).await.map_err(failed)?;
    }
    if !head.is_empty() {
        return Err(no_run_file());
    }
    file.flush().await.map_err(failed)
}

fn no_run_file() -> Fault {
    // In the words of the store, which reads it where it begins as one.
    let message = "the file is not a run stored by fathom: it does not begin as one";
    Fault::new(StatusCode::UNPROCESSABLE_ENTITY, "run.unreadable", message, "take one that was exported")
}

fn take_in(app: &App, part: &std::path::Path) -> Result<String, Fault> {
    // Where it lies meanwhile is nobody's business.
    let unread = |error: StoreError| {
        let is_io = matches!(error, StoreError::Io { .. });
        let message = error.to_string().replace(&part.display().to_string(), "the file");
        let Fault { status, code, .. } = Fault::from(error);
        // Nothing is wrong with what was sent where the system refuses to have it read.
        let is_ours = is_io && status != StatusCode::INSUFFICIENT_STORAGE;
        Fault::new(if is_ours { StatusCode::INTERNAL_SERVER_ERROR } else { status }, code, message, "")
    };
    let run = fathom_store::overview(part).map_err(unread)?.started.run;
    // A name that a file gives itself may not lead anywhere.
    let id = ulid::Ulid::from_string(&run)
        .map_err(|_| Fault::bad("run.import", format!("\"{run}\" is no identity of a run"), ""))?;
    let place = fathom_store::path_of(app.store(), &id.to_string());
    let is_there = || Fault::conflict("run.there", format!("the run {id} is here already"), "");
    fathom_store::make_room(&place).map_err(|error| match error {
        StoreError::Exists { .. } => is_there(),
        error => match Fault::from(error) {
            full if full.status == StatusCode::INSUFFICIENT_STORAGE => full,
            other => {
                let message = format!("the run {id} cannot be kept: {}", other.message);
                Fault::conflict("run.import", message, "")
            }
        },
    })?;
    // Fails where a run of that name is, unlike renaming.
    std::fs::hard_link(part, &place).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => is_there(),
        _ => unkept(&error),
    })?;
    Ok(id.to_string())
}
