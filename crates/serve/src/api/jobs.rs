//! Jobs before they run: read, checked, printed in native words, planned and judged. Everything is judged anew for each
//! request; what a page shows is no consent.

use super::aside;
use super::searches::{self, Asked, SearchOrder};
use crate::fault::Fault;
use crate::routes::{Route, json};
use crate::running::Ready;
use crate::session::Role;
use crate::{App, Unfinished, Upload};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use fathom_frontend::native;
use fathom_model::{Diagnostic, Diagnostics, Job, Level, Sources};
use fathom_planner::Plan;
use fathom_planner::safety::{self, Consent, Intent, PeersAllowed, Refusal, Verdict};
use fathom_run::Earlier;
use fathom_schema::{Facts, FileKind, Question};
use fathom_units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A job and what its sender agrees to.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    /// The job.
    pub(crate) job: Upload,
    /// What may be overwritten.
    #[serde(default)]
    pub(crate) consent: Agreed,
    /// What the run is to find out by choosing its steps itself; without it the job's own steps run.
    #[serde(default)]
    pub(crate) search: Option<SearchOrder>,
}

/// What the sender agrees to: the same, named in the same words, as on the command line.
#[derive(Debug, Default, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Agreed {
    /// Overwrite content that has no known signature.
    #[serde(default)]
    pub(crate) yes: bool,
    /// Overwrite regular files that fathom did not make.
    #[serde(default)]
    pub(crate) overwrite: bool,
    /// Devices whose signed content may be overwritten: path or serial number.
    #[serde(default)]
    pub(crate) destroy: Vec<String>,
    /// What was typed for each question of the plan.
    #[serde(default)]
    pub(crate) answers: Vec<Answer>,
}

/// What was typed for a question.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answer {
    /// The question's path.
    pub(crate) path: PathBuf,
    /// What was typed.
    pub(crate) typed: String,
}

/// One fault of a job.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DiagnosticView {
    /// Stable name, e.g. `fio.unknown-option`.
    code: &'static str,
    /// `error` or `warning`.
    severity: &'static str,
    /// Line, from 1; null when it is about the job as a whole.
    line: Option<usize>,
    /// Column in characters, from 1.
    column: Option<usize>,
    /// What is wrong.
    message: String,
    /// The way out.
    help: String,
}

/// What is wrong with a job.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Checked {
    /// `native`, `fio`, `vdbench` or `iometer`.
    dialect: &'static str,
    /// True when it can run, as far as can be told without looking at the machine.
    is_sound: bool,
    diagnostics: Vec<DiagnosticView>,
}

/// A job in native words.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Converted {
    /// TOML.
    text: String,
    diagnostics: Vec<DiagnosticView>,
}

/// What a job would do here.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Planned {
    /// True when it would run as it is.
    may_run: bool,
    /// Seconds that it takes; null when something other than time ends it.
    expected_seconds: Option<f64>,
    /// Seconds that it takes at most, where a search may take longer than is expected.
    expected_seconds_at_most: Option<f64>,
    /// Every step, fully resolved; empty when there are errors. Of a search, those of the least and the most that is asked.
    steps: Vec<Value>,
    /// How many measurements a search makes; null where `steps` are all there are.
    measurements: Option<Measurements>,
    /// What is done to each path.
    targets: Vec<IntentView>,
    /// What must not be done.
    refusals: Vec<RefusalView>,
    /// What may be done after one of its `answers` was typed.
    questions: Vec<QuestionView>,
    /// What goes on and is worth saying.
    notes: Vec<String>,
    diagnostics: Vec<DiagnosticView>,
}

/// How many measurements a search makes.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Measurements {
    /// About so many; the expected time is that of these.
    about: usize,
    /// No more than so many; null where that is not known beforehand.
    at_most: Option<usize>,
}

/// What is done to a path.
#[expect(clippy::struct_excessive_bools, reason = "independent facts about one path")]
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct IntentView {
    path: PathBuf,
    reads: bool,
    writes: bool,
    trims: bool,
    /// The workload itself removes it.
    deletes: bool,
    creates: bool,
    lays_out_bytes: u64,
    /// It is removed at the end: never what fathom did not make.
    removes: bool,
}

/// Something that must not be done.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RefusalView {
    code: &'static str,
    path: PathBuf,
    reason: String,
    remedy: String,
    /// What may be typed to have it done all the same; empty where nothing helps.
    answers: Vec<String>,
}

/// Something that a person has to confirm.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct QuestionView {
    code: &'static str,
    path: PathBuf,
    /// The device in words.
    device: String,
    /// What would be lost.
    reason: String,
    /// What may be typed to agree, the clearest first.
    answers: Vec<String>,
}

pub(super) fn routes() -> Vec<Route> {
    let post_of = |path, role, summary, body, answer, handler| Route {
        method: "post",
        path,
        role: Some(role),
        summary,
        query: &[],
        body,
        status: StatusCode::OK,
        answer,
        handler,
    };
    let upload = json::<Upload>;
    vec![
        post_of(
            "/jobs/check",
            Role::Viewer,
            "All faults of a job at once",
            upload(),
            json::<Checked>(),
            || post(check),
        ),
        post_of(
            "/jobs/convert",
            Role::Viewer,
            "A job in native words",
            upload(),
            json::<Converted>(),
            || post(convert),
        ),
        post_of(
            "/jobs/plan",
            Role::Operator,
            "What a job would do here: steps, time, what would be overwritten",
            json::<Order>(),
            json::<Planned>(),
            || post(plan),
        ),
    ]
}

fn views(diagnostics: &Diagnostics, sources: &Sources) -> Vec<DiagnosticView> {
    let view = |Diagnostic { code, level, span, message, help }: &Diagnostic| {
        let place = span.and_then(|span| sources.line_and_column(span));
        DiagnosticView {
            code,
            severity: match level {
                Level::Error => "error",
                Level::Warning => "warning",
            },
            line: place.map(|(line, _)| line),
            column: place.map(|(_, column)| column),
            message: message.clone(),
            help: help.clone(),
        }
    };
    diagnostics.all().iter().map(view).collect()
}

async fn check(State(app): State<Arc<App>>, Json(upload): Json<Upload>) -> Result<Json<Checked>, Fault> {
    aside(move || {
        let (job, diagnostics) = app.machine.check(&upload);
        let dialect = match job.dialect {
            fathom_model::Dialect::Native => "native",
            fathom_model::Dialect::Fio => "fio",
            fathom_model::Dialect::Vdbench => "vdbench",
            fathom_model::Dialect::Iometer => "iometer",
        };
        let is_sound = !diagnostics.has_errors();
        Ok(Json(Checked { dialect, is_sound, diagnostics: views(&diagnostics, &job.sources) }))
    })
    .await
}

async fn convert(State(app): State<Arc<App>>, Json(upload): Json<Upload>) -> Result<Json<Converted>, Fault> {
    aside(move || {
        let (job, diagnostics) = app.machine.read(&upload);
        let text = native::print(&fathom_planner::in_native_terms(&job));
        Ok(Json(Converted { text, diagnostics: views(&diagnostics, &job.sources) }))
    })
    .await
}

async fn plan(State(app): State<Arc<App>>, Json(order): Json<Order>) -> Result<Json<Planned>, Fault> {
    aside(move || {
        let Judged { job, diagnostics, facts, plan, .. } = judge(&app, &order);
        let diagnostics = views(&diagnostics, &job.sources);
        let Some((plan, verdict)) = plan else {
            return Ok(Json(Planned {
                may_run: false,
                expected_seconds: None,
                expected_seconds_at_most: None,
                steps: Vec::new(),
                measurements: None,
                targets: Vec::new(),
                refusals: Vec::new(),
                questions: Vec::new(),
                notes: Vec::new(),
                diagnostics,
            }));
        };
        let measurements = plan.experiment.is_search().then(|| Measurements {
            about: plan.experiment.steps_hint(),
            at_most: plan.experiment.steps_max(),
        });
        let steps = plan.experiment.preview();
        let steps = steps.iter().map(|step| serde_json::to_value(step).unwrap_or_default()).collect();
        Ok(Json(Planned {
            may_run: verdict.allows(),
            expected_seconds: plan.expected.map(Nanos::as_secs_f64),
            expected_seconds_at_most: plan.expected_at_most().map(Nanos::as_secs_f64),
            steps,
            measurements,
            targets: plan.intents.iter().map(|one| intent(one, &facts)).collect(),
            notes: plan
                .notes
                .iter()
                .map(|note| note.in_plan().to_owned())
                .chain(verdict.notes.clone())
                .collect(),
            refusals: verdict.refusals.iter().map(refusal).collect(),
            questions: questions(&verdict),
            diagnostics,
        }))
    })
    .await
}

/// What a plan would do to a path; what is there already is not made.
fn intent(intent: &Intent, facts: &Facts) -> IntentView {
    let found = facts.targets.iter().find(|fact| fact.path == intent.path);
    let Intent {
        path,
        reads,
        writes,
        trims,
        deletes,
        creates,
        makes_folder: _,
        is_folder: _,
        lays_out: _,
        grows: _,
        removes,
    } = intent.of_found(found);
    let creates =
        creates && found.is_none_or(|fact| matches!(fact.kind, FileKind::Absent | FileKind::NoFolder));
    let lays_out_bytes = intent.needs().0;
    IntentView { path, reads, writes, trims, deletes, creates, lays_out_bytes, removes }
}

fn refusal(refusal: &Refusal) -> RefusalView {
    let Refusal { code, path, reason, remedy, answers } = refusal.clone();
    // An option of the command line is no way out here.
    let remedy = if answers.is_empty() { remedy } else { "agree to lose it, or name another".to_owned() };
    RefusalView { code, path, reason, remedy, answers }
}

fn questions(verdict: &Verdict) -> Vec<QuestionView> {
    let view = |question: &safety::Question| QuestionView {
        code: question.code,
        path: question.path.clone(),
        device: question.device.clone(),
        reason: question.reason.clone(),
        answers: question.answers.clone(),
    };
    verdict.questions.iter().map(view).collect()
}

/// A job that was read, planned and judged.
struct Judged {
    job: Job,
    diagnostics: Diagnostics,
    facts: Facts,
    plan: Option<(Plan, Verdict)>,
    question: Option<Question>,
    /// Title of the run, where it is not the job's.
    title: Option<String>,
    /// What an earlier run has left to it.
    earlier: Earlier,
}

/// A job that was read with its faults, and what the run that it goes on from has left.
fn read_order(app: &App, order: &Order) -> (Job, Diagnostics, Option<Unfinished>) {
    match searches::left(app, order.search.as_ref()) {
        Ok(None) => {
            let (job, diagnostics) = app.machine.read(&order.job);
            (job, diagnostics, None)
        }
        Ok(Some(left)) => (left.job.clone(), left.diagnostics.clone(), Some(left)),
        Err(reason) => {
            let mut diagnostics = Diagnostics::default();
            diagnostics.error("search.resume", None, reason, "begin the test anew");
            (Job::default(), diagnostics, None)
        }
    }
}

fn judge(app: &App, order: &Order) -> Judged {
    let (job, mut diagnostics, left) = read_order(app, order);
    if diagnostics.has_errors() {
        let (facts, earlier) = (Facts::default(), Earlier::default());
        return Judged { job, diagnostics, facts, plan: None, question: None, title: None, earlier };
    }
    let Agreed { yes, overwrite, destroy, answers } = order.consent.clone();
    let mut paths = fathom_planner::paths(&job);
    paths.extend(destroy.iter().map(PathBuf::from).filter(|path| path.is_absolute()));
    let facts = app.machine.facts(&paths);
    let asked = order
        .search
        .as_ref()
        .map(|search| searches::asked(app, search, &job, &facts, left.as_ref(), &mut diagnostics));
    let (mut question, mut title, mut earlier) = (None, None, Earlier::default());
    let mut plan = match asked {
        None => {
            let (plan, planned) = fathom_planner::plan(&job, &facts, app.machine.entropy());
            diagnostics.extend(planned);
            plan
        }
        // What is wrong with the question was said.
        Some(None) => None,
        Some(Some(Asked { search, question: of_run, notes, is_quick, title: own })) => {
            let (plan, mut planned) =
                fathom_planner::plan_search(&job, &facts, app.machine.entropy(), search);
            // A quick test is known to be short.
            planned.retain(|one| !is_quick || one.code != "plan.short-time");
            diagnostics.extend(planned);
            (question, title) = (Some(of_run), own);
            plan.map(|mut plan| {
                plan.notes.extend(notes);
                plan
            })
        }
    };
    if let (Some(plan), Some(Unfinished { record, .. })) = (&mut plan, left) {
        match app.machine.go_on(plan, &facts, record) {
            Ok(done) => earlier = done,
            Err(reason) => diagnostics.error("search.resume", None, reason, ""),
        }
    }
    let mut consent = Consent {
        yes,
        overwrite,
        destroy,
        confirmed: Vec::new(),
        dialect_writes_named_files: false,
        allow_exec: false,
        peers: PeersAllowed::Nobody,
    };
    let plan = plan.filter(|_| !diagnostics.has_errors()).map(|plan| {
        let mut verdict = safety::judge(&plan.intents, &plan.commands, &facts, &consent);
        // Each answer settles what was asked about its path; none lifts what no words lift.
        let before = verdict.clone();
        for Answer { path, typed } in &answers {
            consent.answer(&before, path, typed);
        }
        if !consent.confirmed.is_empty() {
            verdict = safety::judge(&plan.intents, &plan.commands, &facts, &consent);
        }
        (plan, verdict)
    });
    Judged { job, diagnostics, facts, plan, question, title, earlier }
}

/// A job that may run; else why not.
pub(super) fn ready(app: &App, order: &Order) -> Result<Ready, Fault> {
    let Judged { job, diagnostics, facts, plan, question, title, earlier } = judge(app, order);
    let first = diagnostics.all().iter().find(|one| one.level == Level::Error);
    let Some((plan, verdict)) = plan else {
        let message = first.map_or_else(|| "the job cannot be planned".to_owned(), |one| one.message.clone());
        let help = "POST /api/v1/jobs/plan has all faults with their places";
        return Err(Fault::new(StatusCode::UNPROCESSABLE_ENTITY, "job.faults", message, help));
    };
    let told = |path: &Path, reason: &str, way_out: &str| format!("{}: {reason}; {way_out}", path.display());
    let refused = verdict.refusals.iter().map(refusal);
    let refused = refused.map(|one| (one.code, told(&one.path, &one.reason, &one.remedy)));
    let asked = verdict.questions.iter();
    let asked = asked.map(|one| {
        (one.code, told(&one.path, &one.reason, &format!("answer with {} to lose it", one.wanted())))
    });
    if let Some((code, message)) = refused.chain(asked).next() {
        let help = "POST /api/v1/jobs/plan has all that is refused, and what may be typed about it in `consent.answers`";
        return Err(Fault::new(StatusCode::FORBIDDEN, code, message, help));
    }
    // A job that is composed is called after its targets; that it would be a native file is no part of that.
    let name = order.job.name.strip_suffix(".toml").unwrap_or(&order.job.name);
    let name = if name.is_empty() { "job" } else { name };
    Ok(Ready {
        facts,
        title: job.run.title.get().cloned().or(title).unwrap_or_else(|| name.to_owned()),
        question,
        description: job.run.description.get().cloned(),
        sources: job.sources.all().iter().map(|source| (source.name.clone(), source.text.clone())).collect(),
        echo: job.echo.clone(),
        // What differs from what the job's own program would do is part of the result.
        remarks: diagnostics.all().iter().map(|one| one.message.clone()).chain(verdict.notes).collect(),
        plan,
        earlier,
    })
}
