//! Answers to the questions of runs, drawn and in tables: of one run as far as it has come, and of several held against each
//! other.

use super::aside;
use crate::App;
use crate::fault::Fault;
use crate::routes::{Content, Route, json, text};
use crate::running::file_of;
use crate::session::Role;
use crate::stored;
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::routing::get;
use fathom_report::{Answered, EnvironmentDifference, Sides, compare_answered};
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

/// Runs whose environments are held beside each other.
#[derive(Debug, Deserialize)]
pub(crate) struct Beside {
    runs: String,
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
            "Sides of runs held against each other, the first against each of the others; of kind `apart`, with the reason, where none can be compared with the first",
            const {
                &[
                    text("sides", "identities of runs; runs of one side joined by ~, sides by commas"),
                    text("margin", "the change that matters; 3% when it is not given"),
                ]
            },
            json::<Answered>(),
            || get(compare),
        ),
        route(
            "/environments",
            "Facts of the environment of which not all of these runs have the same value",
            const { &[text("runs", "identities of runs, separated by commas")] },
            json::<Vec<EnvironmentDifference>>(),
            || get(environments),
        ),
    ]
}

async fn environments(
    State(app): State<Arc<App>>,
    Query(Beside { runs }): Query<Beside>,
) -> Result<Json<Vec<EnvironmentDifference>>, Fault> {
    aside(move || {
        let runs: Vec<&str> = runs.split(',').collect();
        bounded(runs.len())?;
        let read = |run: &&str| -> Result<Record, Fault> {
            Ok(fathom_store::overview(&file_of(app.store(), run)?)?)
        };
        let records: Vec<Record> = runs.iter().map(read).collect::<Result<_, _>>()?;
        Ok(Json(fathom_report::environments(&records.iter().collect::<Vec<_>>())))
    })
    .await
}

/// Refuses more runs than are read for one answer.
fn bounded(count: usize) -> Result<(), Fault> {
    if count > RUNS_MAX {
        let message = format!("{count} runs are more than {RUNS_MAX}");
        return Err(Fault::bad("compare.runs", message, "fathom compare takes any number"));
    }
    Ok(())
}

async fn answer(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
) -> Result<Json<Option<Answered>>, Fault> {
    aside(move || {
        let stored = stored::overview(&app, &run)?;
        let summary = fathom_report::summary_of(&stored.record, stored.progress);
        // What has no answer yet may come to have one.
        let answered = fathom_report::answered(&summary);
        Ok(Json(answered.filter(|_| summary.unanswered.is_none() || !stored.goes_on())))
    })
    .await
}

async fn compare(
    State(app): State<Arc<App>>,
    Query(Compared { sides, margin }): Query<Compared>,
) -> Result<Json<Answered>, Fault> {
    aside(move || {
        let margin: Ratio = margin.as_deref().unwrap_or(MARGIN).parse().map_err(|error| {
            Fault::bad("compare.margin", format!("the margin: {error}"), "write for example 3%")
        })?;
        bounded(sides.split([',', '~']).count())?;
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
        if let Some(reason) = sides.twice() {
            return Err(Fault::bad("compare.twice", reason, "name each run once"));
        }
        Ok(Json(compare_answered(&sides)))
    })
    .await
}
