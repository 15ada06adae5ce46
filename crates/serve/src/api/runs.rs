//! Runs: begun, changed, ended, listed, looked at, named, taken along and deleted.

use super::imports::{self, import};
use super::jobs::{self, Order};
use super::reports::{self, report};
use super::{aside, media};
use crate::fault::Fault;
use crate::routes::{Content, Route, flag, json, number, text, whole};
use crate::running::{Active, file_of};
use crate::session::Role;
use crate::stored::{self, Stored};
use crate::{App, elsewhere};
use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, patch, post};
use fathom_report::{IntervalView, OnTarget, Summary, interval_view, on_targets};
use fathom_run::{NewLoad, RateChange};
use fathom_store::{LABEL_BYTES_MAX, TAGS_MAX, Untimely};
use fathom_units::{Iops, Nanos, RATES};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;

/// Runs of a list at once, and when nothing else is asked for.
const LISTED_MAX: usize = 1000;
/// Intervals of an answer at once: two hours of one stream.
const INTERVALS_MAX: usize = 8192;
/// The states of a run that goes on here, and of one that another process makes; others are the store's.
const RUNNING: &str = "running";
const ELSEWHERE: &str = "elsewhere";

/// States of runs in a list.
fn states() -> impl Iterator<Item = &'static str> {
    [RUNNING, ELSEWHERE].into_iter().chain(fathom_store::State::WORDS)
}

/// Longest text of a mark, in bytes.
const MARK_BYTES_MAX: usize = 500;

/// A run in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunView {
    /// Its identity.
    run: String,
    title: String,
    tags: Vec<String>,
    /// Whether it goes on, how it ended, or why it cannot be read.
    #[schemars(extend("enum" = states().collect::<Vec<_>>()))]
    state: String,
    /// Why it cannot be read; null when it can.
    unreadable: Option<String>,
    /// Wall clock at the start, milliseconds since 1970-01-01 UTC.
    started_ms: Option<u64>,
    /// Seconds from the start to the last event.
    duration_s: f64,
    /// Steps that began.
    steps: u32,
}

/// Which runs.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Filter {
    state: Option<String>,
    title: Option<String>,
    tag: Option<String>,
    since_ms: Option<u64>,
    until_ms: Option<u64>,
    limit: Option<usize>,
}

/// A run that began or came in.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Begun {
    /// Its identity.
    pub(super) run: String,
}

/// Another load for a stream.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
// What is read by a function of its own would count as one that may be missing.
#[schemars(extend("required" = ["stream", "operations_per_s"]))]
pub(crate) struct Rate {
    /// The stream's name.
    stream: String,
    /// Operations per second over all its workers; null for as fast as slots free up, which has to be said.
    #[serde(deserialize_with = "Option::deserialize")]
    operations_per_s: Option<f64>,
}

/// A mark.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mark {
    /// What happened.
    text: String,
    /// When, milliseconds since the run's start; the moment of the request when it is not given, of a run that goes on.
    at_ms: Option<u64>,
}

/// What a run is called.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Naming {
    /// Its title; empty for the job's own. Left as it is when it is not given.
    title: Option<String>,
    /// Its tags. Left as they are when they are not given.
    tags: Option<Vec<String>>,
}

/// Which streams have lines.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Lines {
    streams: Option<String>,
}

/// Which intervals.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Part {
    step: Option<u32>,
    after_s: Option<f64>,
    #[serde(default)]
    targets: bool,
    limit: Option<usize>,
}

/// An interval of a run.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StoredInterval {
    #[serde(flatten)]
    interval: IntervalView,
    /// What was done on each target, where that is asked for and the stream goes to several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    targets: Vec<OnTarget>,
}

/// Intervals of a run, in order.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Intervals {
    intervals: Vec<StoredInterval>,
    /// True when there are more; ask again with `after_s` of the last.
    has_more: bool,
}

#[expect(clippy::too_many_lines, reason = "one list of all routes of runs")]
pub(super) fn routes() -> Vec<Route> {
    let route = |method, path, role, summary, handler| Route {
        method,
        path,
        role: Some(role),
        summary,
        query: &[],
        body: Content::None,
        status: StatusCode::OK,
        answer: Content::None,
        handler,
    };
    let act = |path, summary, body, handler| Route {
        body,
        status: StatusCode::ACCEPTED,
        ..route("post", path, Role::Operator, summary, handler)
    };
    vec![
        Route {
            query: const {
                &[
                    text("state", "only those in this state"),
                    text("title", "only those whose title contains this, whatever the case"),
                    text("tag", "only those with this tag"),
                    whole("since_ms", "only those that began at this time or later"),
                    whole("until_ms", "only those that began before this time"),
                    whole("limit", "at most so many"),
                ]
            },
            answer: json::<Vec<RunView>>(),
            ..route("get", "/runs", Role::Viewer, "The runs, newest first", || get(list))
        },
        Route {
            answer: json::<Begun>(),
            ..act(
                "/runs",
                "Begin a run; what it would overwrite has to be agreed to by name",
                json::<Order>(),
                || post(begin),
            )
        },
        Route {
            body: Content::Media(imports::MEDIA),
            status: StatusCode::CREATED,
            answer: json::<Begun>(),
            ..route("post", "/runs/import", Role::Operator, "Take in a run's file", || post(import))
        },
        Route {
            answer: json::<Summary>(),
            ..route("get", "/runs/{run}", Role::Viewer, "What a run came to", || get(open))
        },
        Route {
            body: json::<Naming>(),
            answer: json::<RunView>(),
            ..route("patch", "/runs/{run}", Role::Operator, "Name a run, tag it", || patch(rename))
        },
        Route {
            status: StatusCode::NO_CONTENT,
            ..route("delete", "/runs/{run}", Role::Admin, "Delete a run", || delete(remove))
        },
        Route {
            query: const {
                &[
                    whole("step", "only those of this step"),
                    number("after_s", "only those that end later, seconds since their step's start"),
                    flag(
                        "targets",
                        "`true`: also what was done on each target, of streams that go to 2 to 64",
                    ),
                    whole("limit", "at most so many"),
                ]
            },
            answer: json::<Intervals>(),
            ..route("get", "/runs/{run}/intervals", Role::Viewer, "The intervals of a run", || get(intervals))
        },
        Route {
            query: const {
                &[text(
                    "streams",
                    "places of streams in their step, from 0, separated by commas: those with lines",
                )]
            },
            answer: Content::Media("application/json"),
            ..route(
                "get",
                "/runs/{run}/charts",
                Role::Viewer,
                "A run reduced to the points of its charts",
                || get(charts),
            )
        },
        Route {
            query: const { &[text("format", reports::FORMAT_HELP)] },
            answer: Content::OneOf(&reports::MEDIA),
            ..route("get", "/runs/{run}/report", Role::Viewer, "A run's report as a document", || get(report))
        },
        Route {
            answer: Content::Media(imports::MEDIA),
            ..route("get", "/runs/{run}/export", Role::Viewer, "A run's file, to be taken along", || {
                get(export)
            })
        },
        act("/runs/{run}/stop", "End a run; what it measured is kept", Content::None, || post(stop)),
        act("/runs/{run}/rate", "Change the load of a stream within a second", json::<Rate>(), || {
            post(change_rate)
        }),
        act(
            "/runs/{run}/marks",
            "Put a mark into the record, now or, with a time, where it was",
            json::<Mark>(),
            || post(mark),
        ),
    ]
}

async fn begin(State(app): State<Arc<App>>, Json(order): Json<Order>) -> Result<Response, Fault> {
    let of_app = Arc::clone(&app);
    let ready = aside(move || {
        let ready = jobs::ready(&of_app, &order)?;
        elsewhere::refuse_beside(&of_app)?;
        Ok(ready)
    })
    .await?;
    // Whoever has gone meanwhile has taken back what was asked for: this is not reached then.
    let run = aside(move || Ok(app.running.begin(&app, ready)?.id)).await?;
    Ok((StatusCode::ACCEPTED, Json(Begun { run })).into_response())
}

fn view(app: &App, summary: fathom_store::Summary) -> RunView {
    let goes_on = app.running.of(&summary.id).is_some_and(|active| !active.is_over());
    let is_elsewhere = !goes_on && elsewhere::goes_on(app, &summary);
    let seen = (summary.state == fathom_store::State::Unfinished).then(|| stored::end_of(app, &summary.id));
    let state = seen.flatten().filter(|_| !goes_on).unwrap_or_else(|| summary.state.clone());
    RunView {
        title: summary.title,
        tags: summary.tags,
        state: match (goes_on, is_elsewhere) {
            (true, _) => RUNNING,
            (_, true) => ELSEWHERE,
            _ => state.word(),
        }
        .to_owned(),
        // Of one that just begins nothing is stored yet, and nothing is wrong with it.
        unreadable: state.unread_because().filter(|_| !goes_on).map(str::to_owned),
        run: summary.id,
        started_ms: summary.wall_ms,
        duration_s: summary.duration.as_secs_f64(),
        steps: summary.steps,
    }
}

async fn list(
    State(app): State<Arc<App>>,
    Query(filter): Query<Filter>,
) -> Result<Json<Vec<RunView>>, Fault> {
    aside(move || {
        let Filter { state, title, tag, since_ms, until_ms, limit } = filter;
        if let Some(state) = state.as_ref().filter(|state| !states().any(|known| known == state.as_str())) {
            let message = format!("\"{state}\" is no state of runs");
            let help = format!("use {}", states().collect::<Vec<_>>().join(", "));
            return Err(Fault::new(StatusCode::UNPROCESSABLE_ENTITY, "runs.state", message, help));
        }
        let title = title.map(|title| title.to_lowercase());
        let began = |run: &fathom_store::Summary| {
            since_ms.is_none_or(|since| run.wall_ms.is_some_and(|at| at >= since))
                && until_ms.is_none_or(|until| run.wall_ms.is_some_and(|at| at < until))
        };
        let wanted = |run: &RunView| {
            state.as_ref().is_none_or(|state| run.state == *state)
                && title.as_ref().is_none_or(|title| run.title.to_lowercase().contains(title))
                && tag.as_ref().is_none_or(|tag| run.tags.contains(tag))
        };
        let runs = fathom_store::list(app.store())?.into_iter().rev().filter(began);
        let limit = limit.unwrap_or(LISTED_MAX).min(LISTED_MAX);
        Ok(Json(runs.map(|run| view(&app, run)).filter(wanted).take(limit).collect()))
    })
    .await
}

async fn open(State(app): State<Arc<App>>, Path(run): Path<String>) -> Result<Json<Summary>, Fault> {
    aside(move || {
        let Stored { record, progress, .. } = stored::overview(&app, &run)?;
        Ok(Json(fathom_report::summary_of(&record, progress)))
    })
    .await
}

async fn rename(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
    Json(Naming { title, tags }): Json<Naming>,
) -> Result<Json<RunView>, Fault> {
    // One that is given twice is one.
    let tags = tags.map(|tags| {
        let mut seen = HashSet::new();
        tags.into_iter().filter(|tag| seen.insert(tag.clone())).collect::<Vec<_>>()
    });
    let mut texts = title.iter().chain(tags.iter().flatten());
    if !texts.all(|text| fathom_store::is_label(text))
        || tags.iter().flatten().any(|tag| tag.trim().is_empty())
    {
        let message = format!(
            "a title or tag is longer than {LABEL_BYTES_MAX} bytes or has control characters, or a tag is empty"
        );
        return Err(Fault::bad("run.label", message, "give a short text"));
    }
    if let Some(tag) = tags.iter().flatten().find(|tag| tag.contains(',')) {
        let message = format!("the tag \"{tag}\" has a comma, which stands between tags");
        let help = "give two tags, or another sign in its place";
        return Err(Fault::new(StatusCode::UNPROCESSABLE_ENTITY, "run.label", message, help));
    }
    if tags.as_ref().is_some_and(|tags| tags.len() > TAGS_MAX) {
        return Err(Fault::bad("run.label", format!("there are more than {TAGS_MAX} tags"), "give fewer"));
    }
    aside(move || {
        let path = file_of(app.store(), &run)?;
        if app.running.going(&run).is_ok() {
            return Err(Fault::conflict("run.going", "the run goes on", "name it when it has ended"));
        }
        elsewhere::refuse(&app, &run, "name it when it has ended")?;
        let mut labels = fathom_store::labels(&path)?;
        if let Some(title) = title {
            labels.title = Some(title).filter(|title| !title.trim().is_empty());
        }
        labels.tags = tags.unwrap_or(labels.tags);
        fathom_store::set_labels(&path, &labels)?;
        Ok(Json(view(&app, fathom_store::look(path))))
    })
    .await
}

async fn remove(State(app): State<Arc<App>>, Path(run): Path<String>) -> Result<StatusCode, Fault> {
    aside(move || {
        let path = file_of(app.store(), &run)?;
        if app.running.going(&run).is_ok() {
            return Err(Fault::conflict("run.going", "the run goes on", "stop it first"));
        }
        elsewhere::refuse(&app, &run, "stop it there first")?;
        fathom_store::remove(&path).map_err(|error| Fault::conflict("run.delete", error.to_string(), ""))?;
        Ok(StatusCode::NO_CONTENT)
    })
    .await
}

async fn intervals(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
    Query(part): Query<Part>,
) -> Result<Json<Intervals>, Fault> {
    aside(move || {
        let Part { step, after_s, targets, limit } = part;
        let limit = limit.unwrap_or(INTERVALS_MAX).min(INTERVALS_MAX);
        if let Some(after) = after_s.filter(|after| !after.is_finite()) {
            let message = format!("after_s: {after} is no number of seconds");
            return Err(Fault::bad("request.query", message, "give one such as 1.5"));
        }
        let path = file_of(app.store(), &run)?;
        if let Some(step) = step {
            has_step(&path, step)?;
        }
        let mut found = Intervals { intervals: Vec::new(), has_more: false };
        fathom_store::each_interval(&path, &mut |_, interval| {
            let is_wanted = step.is_none_or(|step| interval.step == step)
                && after_s.is_none_or(|after| interval.end.as_secs_f64() > after);
            if is_wanted && found.intervals.len() < limit {
                let targets = if targets { on_targets(&interval) } else { Vec::new() };
                found.intervals.push(StoredInterval { interval: interval_view(&interval), targets });
            } else if is_wanted {
                found.has_more = true;
            }
        })?;
        Ok(Json(found))
    })
    .await
}

/// Fails of a step that the run has not begun.
fn has_step(path: &std::path::Path, step: u32) -> Result<(), Fault> {
    let steps = fathom_store::overview(path)?.steps;
    if steps.iter().any(|one| one.started.index == step) {
        return Ok(());
    }
    let message = format!("the run has no step {step}");
    let help = match steps.last() {
        Some(last) => format!("the last that has begun is {}; the first is 0", last.started.index),
        None => "none has begun".to_owned(),
    };
    Err(Fault::new(StatusCode::NOT_FOUND, "run.step", message, help))
}

async fn charts(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
    Query(Lines { streams }): Query<Lines>,
) -> Result<Response, Fault> {
    let place = |text: &str| {
        text.trim().parse::<u32>().map_err(|_| {
            let message = format!("streams: {text:?} is no place of a stream in its step");
            Fault::bad("request.query", message, "give whole numbers from 0, separated by commas")
        })
    };
    let streams: Vec<u32> =
        streams.as_deref().map_or(Ok(Vec::new()), |streams| streams.split(',').map(place).collect())?;
    aside(move || {
        let Stored { record, .. } = stored::overview(&app, &run)?;
        Ok(Json(fathom_report::charts_with(&record, &streams)).into_response())
    })
    .await
}

async fn export(State(app): State<Arc<App>>, Path(run): Path<String>) -> Result<Response, Fault> {
    let name = format!("attachment; filename=\"{run}.fathom\"");
    let bytes = aside(move || {
        let path = file_of(app.store(), &run)?;
        if app.running.going(&run).is_ok() {
            return Err(Fault::conflict("run.going", "the run goes on", "take it along when it has ended"));
        }
        elsewhere::refuse(&app, &run, "take it along when it has ended")?;
        Ok(fathom_store::whole(&path)?)
    })
    .await?;
    Ok(([(header::CONTENT_DISPOSITION, name)], media(imports::MEDIA, bytes)).into_response())
}

async fn stop(State(app): State<Arc<App>>, Path(run): Path<String>) -> Result<StatusCode, Fault> {
    going(app, run, "stop it there").await?.stop.raise();
    Ok(StatusCode::ACCEPTED)
}

/// The run that goes on here. Of one that goes on elsewhere it is said that only the process that makes it can do this.
async fn going(app: Arc<App>, run: String, help: &'static str) -> Result<Active, Fault> {
    match app.running.going(&run) {
        Ok(active) => Ok(active),
        Err(over) => {
            aside(move || {
                file_of(app.store(), &run)?;
                elsewhere::refuse(&app, &run, help)?;
                Err(over)
            })
            .await
        }
    }
}

async fn change_rate(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
    Json(Rate { stream, operations_per_s }): Json<Rate>,
) -> Result<StatusCode, Fault> {
    let active = going(app, run, "its load changes by the commands of that process alone").await?;
    let refused = |code, message: String, help: String| {
        Err(Fault::new(StatusCode::UNPROCESSABLE_ENTITY, code, message, help))
    };
    if !active.streams.contains(&stream) {
        let message = format!("the run has no stream \"{stream}\"");
        return refused("run.stream", message, format!("name one of {}", active.streams.join(", ")));
    }
    if let Some(rate) = operations_per_s.filter(|rate| !RATES.contains(rate)) {
        let message = format!("{rate} operations per second is no rate");
        let help = format!(
            "give a number from {} to {}, or null for as fast as it goes",
            RATES.start(),
            RATES.end()
        );
        return refused("run.rate", message, help);
    }
    let load = operations_per_s.map_or(NewLoad::Maximum, |rate| NewLoad::Rate(Iops(rate)));
    active.changes.ask(RateChange { stream, load });
    Ok(StatusCode::ACCEPTED)
}

async fn mark(
    State(app): State<Arc<App>>,
    Path(run): Path<String>,
    Json(Mark { text, at_ms }): Json<Mark>,
) -> Result<StatusCode, Fault> {
    let text = text.trim();
    if text.is_empty() || text.len() > MARK_BYTES_MAX || text.contains(char::is_control) {
        let message = format!("a mark has 1 to {MARK_BYTES_MAX} bytes and no control characters");
        return Err(Fault::bad("run.mark", message, "say what happened in a few words"));
    }
    if let (Ok(active), None) = (app.running.going(&run), at_ms) {
        active.changes.mark(text.to_owned());
        return Ok(StatusCode::ACCEPTED);
    }
    let text = text.to_owned();
    let now_ms = fathom_run::wall_ms();
    aside(move || {
        let stored = stored::overview(&app, &run)?;
        let goes_on = stored.goes_on();
        let Stored { path, record, .. } = stored;
        let at = at_ms.map(Nanos::millis);
        let at_ms = fathom_store::moment(&record, at, goes_on, now_ms).map_err(untimely)?;
        fathom_store::mark(&path, at_ms, &text)?;
        Ok(StatusCode::ACCEPTED)
    })
    .await
}

fn untimely(untimely: Untimely) -> Fault {
    let refused =
        |message: String, help: &str| Fault::new(StatusCode::UNPROCESSABLE_ENTITY, "run.mark", message, help);
    let up_to = |length: Nanos| format!("up to {}", length.0 / 1_000_000);
    match untimely {
        Untimely::Ahead => {
            refused("at_ms lies ahead, and the run goes on".to_owned(), "leave it out to mark this moment")
        }
        Untimely::Behind { length, has_ended } => {
            let end =
                if has_ended { "the end of the run" } else { "what there is of the run, which was killed" };
            refused(format!("at_ms lies behind {end}"), &format!("give a time {}", up_to(length)))
        }
        Untimely::Untold { length, has_ended } => {
            let ended = if has_ended { "the run has ended" } else { "the run was killed" };
            Fault::conflict("run.over", ended, format!("say with at_ms when it was, {}", up_to(length)))
        }
    }
}
