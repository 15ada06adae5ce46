//! What there is to choose from: the machine with its devices, the options of jobs, the dialects, ready-made jobs, and the
//! document of this API.

use super::{aside, media};
use crate::fault::Fault;
use crate::routes::{Content, Route, json, text};
use crate::session::Role;
use crate::{App, Preset};
use axum::Json;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::get;
use fathom_frontend::fio;
use fathom_model::{Kind, Row, rows};
use fathom_schema::Facts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

/// An option of job files.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OptionView {
    /// Section and name: `stream.queue_depth`.
    path: &'static str,
    /// What it says; the first sentence stands alone.
    doc: &'static str,
    /// What values look like, in words.
    wants: String,
    /// `text`, `texts`, `flag`, `count`, `counts`, `size`, `distance`, `size_or_share`, `time`, `share`, `rate`, `choice` or
    /// `structured`.
    kind: &'static str,
    /// Smallest value of a count.
    min: Option<u64>,
    /// Largest value of a count.
    max: Option<u64>,
    /// Words of a choice.
    choices: &'static [&'static str],
    /// As a user would write it; empty when there is none.
    default: String,
    /// fio's name for it; empty when fio has none.
    fio: &'static str,
    /// Vdbench's.
    vdbench: &'static str,
    /// Iometer's.
    iometer: &'static str,
    /// A value as a user would write it.
    example: &'static str,
}

/// A dialect of job files.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DialectView {
    /// `native`, `fio`, `vdbench` or `iometer`.
    name: &'static str,
    /// Ending of its files.
    ending: &'static str,
    /// Its options, where they are known one by one.
    options: Vec<DialectOption>,
}

/// An option of a dialect.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DialectOption {
    /// Its name.
    name: &'static str,
    /// `built`, `accepted` or `refused`.
    status: &'static str,
    /// What is lost, or why it is refused; empty when there is nothing to say.
    remark: &'static str,
}

/// Paths to look at.
#[derive(Debug, Deserialize)]
pub(crate) struct Paths {
    /// One path, for operators; without it, all block devices.
    path: Option<PathBuf>,
}

fn facts_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "object",
        "description": "What was found on the host: processors, limits, memory, and a target per path with what is there",
    })
}

pub(super) fn routes() -> Vec<Route> {
    let viewer = |path, summary, answer, handler| Route {
        method: "get",
        path,
        role: Some(Role::Viewer),
        summary,
        query: &[],
        body: Content::None,
        status: StatusCode::OK,
        answer,
        handler,
    };
    vec![
        Route {
            query: const { &[text("path", "for operators: look at this path instead of all block devices")] },
            ..viewer(
                "/facts",
                "What is found on this machine, its block devices among it",
                Content::Json(facts_schema),
                || get(facts),
            )
        },
        viewer("/options", "The options of jobs", json::<Vec<OptionView>>(), || get(options)),
        viewer("/dialects", "The dialects of job files", json::<Vec<DialectView>>(), || get(dialects)),
        viewer("/presets", "Ready-made jobs", json::<Vec<Preset>>(), || get(presets)),
        viewer("/openapi.json", "This document", Content::Media("application/json"), || get(document)),
    ]
}

async fn facts(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    Query(Paths { path }): Query<Paths>,
) -> Result<Json<Facts>, Fault> {
    // Whoever only watches learns of devices, and not whether any file of this machine is there.
    if path.is_some() && app.sessions.role(&headers) < Some(Role::Operator) {
        return Err(Fault::role(Role::Operator));
    }
    let look = move || {
        let paths = path.map_or_else(|| app.machine.devices(), |path| vec![path]);
        Ok(Json(app.machine.facts(&paths)))
    };
    aside(look).await
}

async fn options() -> Json<Vec<OptionView>> {
    Json(rows().map(option).collect())
}

fn option(row: &'static Row) -> OptionView {
    let Row { path, doc, kind, default, group: _, fio, vdbench, iometer, example } = row;
    let (name, min, max, choices): (_, _, _, &'static [&'static str]) = match *kind {
        Kind::Text => ("text", None, None, &[]),
        Kind::Texts => ("texts", None, None, &[]),
        Kind::Flag => ("flag", None, None, &[]),
        Kind::Count { min, max } => ("count", Some(min), (max < u64::MAX).then_some(max), &[]),
        Kind::Counts => ("counts", None, None, &[]),
        Kind::Size => ("size", None, None, &[]),
        Kind::Distance => ("distance", None, None, &[]),
        Kind::SizeOrShare => ("size_or_share", None, None, &[]),
        Kind::Time => ("time", None, None, &[]),
        Kind::Share => ("share", None, None, &[]),
        Kind::Rate => ("rate", None, None, &[]),
        Kind::Choice(words) => ("choice", None, None, words),
        Kind::Structured(_) => ("structured", None, None, &[]),
    };
    OptionView {
        path,
        doc: doc.trim(),
        wants: row.wants(),
        kind: name,
        min,
        max,
        choices,
        default: default(),
        fio,
        vdbench,
        iometer,
        example,
    }
}

async fn dialects() -> Json<Vec<DialectView>> {
    let fio = fio::rows().map(|row| {
        let (status, remark) = match row.status {
            fio::Status::Built => ("built", ""),
            fio::Status::Accepted(lost) => ("accepted", lost),
            fio::Status::Refused(_, reason) => ("refused", reason),
            fio::Status::Elsewhere(_) => ("refused", "it belongs to an engine that is not here"),
        };
        DialectOption { name: row.name, status, remark }
    });
    let dialect = |name, ending| DialectView { name, ending, options: Vec::new() };
    Json(vec![
        dialect("native", ".toml"),
        DialectView { options: fio.collect(), ..dialect("fio", ".fio") },
        dialect("iometer", ".icf"),
        dialect("vdbench", ".parm"),
    ])
}

async fn presets(State(app): State<Arc<App>>) -> Json<Vec<Preset>> {
    Json(app.machine.presets())
}

async fn document(State(app): State<Arc<App>>) -> Response {
    media("application/json", crate::openapi::document_of(app.sessions.cookie()))
}
