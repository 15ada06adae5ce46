//! Answers to the questions of runs, drawn and in tables: of one run as far as it has come, and of several held against each
//! other.

use super::aside;
use crate::App;
use crate::fault::Fault;
use crate::routes::{Content, Route, json};
use crate::running::file_of;
use crate::session::Role;
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::routing::get;
use fathom_report::{Answered, Sides, compare_answered};
use fathom_schema::Record;
use fathom_units::Ratio;
use serde::Deserialize;
use std::sync::Arc;

/// Runs of a comparison at most: each is read whole.
const RUNS_MAX: usize = 24;
/// The change that matters when nothing is said.
const MARGIN: &str = "3%";

/// What is held against each other.
#[derive(Debug, Deserialize)]
pub(crate) struct Compared {
    sides: String,
    margin: Option<String>,
}

pub(super) fn routes() -> Vec<Route> {
    let route = |path, summary, query, answer, handler| Route {
        method: "get",
        path,
        role: Some(Role::Viewer),
        summary,
        query,
        body: Content::None,
        status: StatusCode::OK,
        answer,
        handler,
    };
    vec![
        route(
            "/runs/{run}/answer",
            "What a run answers, as far as it has come; null where it was asked nothing or knows nothing yet",
            &[],
            json::<Option<Answered>>(),
            || get(answer),
        ),
        route(
            "/compare",
            "Sides of runs held against each other, the first against each of the others; null without a step in common",
            &[
                ("sides", "identities of runs; runs of one side joined by ~, sides by commas"),
                ("margin", "the change that matters; 3% when it is not given"),
            ],
            json::<Option<Answered>>(),
            || get(compare),
        ),
    ]
}

async fn answer(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
) -> Result<Json<Option<Answered>>, Fault> {
    aside(move || {
        let record = fathom_store::overview(&file_of(app.store(), &run)?)?;
        Ok(Json(fathom_report::answered(&fathom_report::summary(&record))))
    })
    .await
}

async fn compare(
    State(app): State<Arc<App>>,
    Query(Compared { sides, margin }): Query<Compared>,
) -> Result<Json<Option<Answered>>, Fault> {
    aside(move || {
        let margin: Ratio = margin.as_deref().unwrap_or(MARGIN).parse().map_err(|error| {
            Fault::bad("compare.margin", format!("the margin: {error}"), "write for example 3%")
        })?;
        let count = sides.split([',', '~']).count();
        if count > RUNS_MAX {
            let message = format!("{count} runs are more than {RUNS_MAX}");
            return Err(Fault::bad("compare.runs", message, "fathom compare takes any number"));
        }
        let read =
            |run: &str| -> Result<Record, Fault> { Ok(fathom_store::read(&file_of(app.store(), run)?)?) };
        let records: Vec<Vec<Record>> =
            sides.split(',').map(|side| side.split('~').map(read).collect()).collect::<Result<_, _>>()?;
        let mut all = records.iter().map(|side| side.iter().collect::<Vec<_>>());
        let base = all.next().unwrap_or_default();
        let sides = Sides { base, others: all.collect(), margin };
        if sides.others.is_empty() {
            return Err(Fault::bad(
                "compare.sides",
                "one side has nothing to be compared with",
                "name another",
            ));
        }
        Ok(Json(compare_answered(&sides)))
    })
    .await
}
