//! A run's report as a document to be kept, in each of its shapes.

use super::{aside, media};
use crate::App;
use crate::fault::Fault;
use crate::running::file_of;
use crate::stored::{self, Stored};
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use fathom_report::Csv;
use serde::Deserialize;
use std::sync::Arc;

/// Columns of a text.
const COLUMNS: usize = 100;
/// All shapes, as they are asked for.
const FORMATS: &str = "json, csv, answer-csv, text, markdown or html";
/// What the document of the API says of them.
pub(super) const FORMAT_HELP: &str = "json, csv, answer-csv (the answer to the run's question), text, markdown or html; json \
    when it is not given";

/// Their media types, but for what is said of letters.
pub(super) const MEDIA: [&str; 5] =
    ["application/json", "text/csv", "text/plain", "text/markdown", "text/html"];

/// Which form of a report.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Form {
    format: Option<String>,
}

pub(super) async fn report(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
    Query(Form { format }): Query<Form>,
) -> Result<Response, Fault> {
    let form = format.unwrap_or_else(|| "json".to_owned());
    let ending = match form.as_str() {
        "text" => "txt",
        "markdown" => "md",
        "answer-csv" => "answer.csv",
        form => form,
    };
    // Always to be kept, never to be shown in place: a report is a page of its own.
    let name = format!("attachment; filename=\"{run}.{ending}\"");
    let (kind, text) = aside(move || {
        if form == "csv" {
            return Ok(("text/csv; charset=utf-8", rows(&file_of(app.store(), &run)?)?));
        }
        let Stored { record, progress, .. } = stored::overview(&app, &run)?;
        let summary = || fathom_report::summary_of(&record, progress);
        let (kind, text) = match form.as_str() {
            "json" => ("application/json", app.machine.report(&record, &summary())),
            "text" => ("text/plain; charset=utf-8", fathom_report::text(&summary(), COLUMNS, false)),
            "markdown" => ("text/markdown; charset=utf-8", fathom_report::markdown(&summary())),
            "html" => ("text/html; charset=utf-8", fathom_report::html_of(&record, progress)),
            "answer-csv" => {
                let rows = app.machine.answer_rows(&record, &summary());
                ("text/csv; charset=utf-8", rows.ok_or_else(no_question)?)
            }
            _ => {
                let message = format!("there is no report as {form}");
                return Err(Fault::bad("report.format", message, format!("use {FORMATS}")));
            }
        };
        Ok((kind, text.into_bytes()))
    })
    .await?;
    Ok(([(header::CONTENT_DISPOSITION, name)], media(kind, text)).into_response())
}

fn no_question() -> Fault {
    let help = "format=csv has its intervals, format=json its figures";
    let message = "the run was made for no question";
    Fault::new(StatusCode::UNPROCESSABLE_ENTITY, "report.answer", message, help)
}

fn rows(path: &std::path::Path) -> Result<Vec<u8>, Fault> {
    let failed = |error: std::io::Error| Fault::conflict("report.csv", error.to_string(), "");
    let mut text = Vec::new();
    let mut csv = Csv::new(&mut text).map_err(failed)?;
    let mut fault = None;
    fathom_store::each_interval(path, &mut |record, interval| {
        if fault.is_none() {
            fault = csv.interval(record, &interval).err();
        }
    })?;
    fault.map_or(Ok(()), Err).map_err(failed)?;
    csv.finish().map_err(failed)?;
    Ok(text)
}
