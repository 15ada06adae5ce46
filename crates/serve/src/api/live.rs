//! The events of a run as they happen (server-sent events). A connection that was lost goes on after the event it had last
//! (`Last-Event-ID`); where some are no longer kept here, an event `gap` says to look into the store.

use super::aside;
use crate::fault::Fault;
use crate::hub::{Hub, Since, Told};
use crate::routes::{Content, Route, json, whole};
use crate::running::file_of;
use crate::session::Role;
use crate::{App, elsewhere};
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::future::select;
use futures_util::stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How long a browser waits before it asks again.
const RETRY: Duration = Duration::from_secs(1);

/// What goes on.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Status {
    /// The run that goes on here; null when none does.
    run: Option<String>,
    /// Runs that other processes make in the store of this server, oldest first: they are stopped there, and no other begins
    /// beside them.
    elsewhere: Vec<String>,
}

/// Where to go on.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct From {
    last_event_id: Option<u64>,
}

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route {
            method: "get",
            path: "/status",
            role: Some(Role::Viewer),
            summary: "What goes on",
            query: &[],
            body: Content::None,
            status: StatusCode::OK,
            answer: json::<Status>(),
            handler: || get(status),
        },
        Route {
            method: "get",
            path: "/runs/{run}/events",
            role: Some(Role::Viewer),
            summary: "The events of a run as they happen, each with a number to go on from; 204 when it is over and only stored",
            query: const {
                &[whole("last_event_id", "go on after this event, as the header Last-Event-ID says it")]
            },
            body: Content::None,
            status: StatusCode::OK,
            answer: Content::Media("text/event-stream"),
            handler: || get(events),
        },
    ]
}

async fn status(State(app): State<Arc<App>>) -> Result<Json<Status>, Fault> {
    aside(move || {
        let run = app.running.latest().filter(|active| !active.is_over()).map(|active| active.id);
        Ok(Json(Status { run, elsewhere: elsewhere::all(&app) }))
    })
    .await
}

async fn events(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
    Query(From { last_event_id }): Query<From>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let Some(active) = app.running.of(&run) else {
        file_of(app.store(), &run)?;
        // Browsers do not ask again after this.
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let header = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let from = header.or(last_event_id).unwrap_or(0);
    let follow = Follow {
        ended: app.sessions.watch(),
        app,
        headers,
        changed: active.hub.watch(),
        hub: active.hub,
        next: VecDeque::new(),
        last: from,
        is_first: true,
    };
    let events = stream::unfold(follow, |mut follow| async move {
        let event = follow.next().await?;
        Some((Ok::<_, Infallible>(event), follow))
    });
    let keep_alive = KeepAlive::new().interval(Duration::from_secs(15));
    Ok(Sse::new(events).keep_alive(keep_alive).into_response())
}

/// One who watches a run.
struct Follow {
    app: Arc<App>,
    /// Of the request, which say whose session this is.
    headers: HeaderMap,
    ended: watch::Receiver<()>,
    hub: Hub,
    changed: watch::Receiver<u64>,
    next: VecDeque<Event>,
    /// Number of the last event that was sent.
    last: u64,
    is_first: bool,
}

impl Follow {
    async fn next(&mut self) -> Option<Event> {
        loop {
            self.ended.mark_unchanged();
            // What was let in once is asked for its session again: it may have ended long before the run does.
            self.app.sessions.role(&self.headers)?;
            if let Some(event) = self.next.pop_front() {
                return Some(event);
            }
            self.changed.mark_unchanged();
            let Since { told, has_gap, is_over } = self.hub.since(self.last);
            if std::mem::take(&mut self.is_first) {
                self.next.push_back(Event::default().retry(RETRY).comment("fathom"));
            }
            if has_gap {
                self.next.push_back(Event::default().event("gap").data(r#"{"event":"gap"}"#));
            }
            if let Some(told) = told.last() {
                self.last = told.number;
            }
            let is_all = told.is_empty();
            self.next.extend(told.into_iter().map(|Told { number, kind, text }| {
                Event::default().id(number.to_string()).event(kind).data(&*text)
            }));
            if is_all && self.next.is_empty() {
                if is_over {
                    return None;
                }
                // The hub and the sessions are there as long as this is.
                let (changed, ended) = (pin!(self.changed.changed()), pin!(self.ended.changed()));
                select(changed, ended).await;
            }
        }
    }
}
