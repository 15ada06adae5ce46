//! Questions that a run answers by choosing its steps itself: what a page may ask, as on the command line. Owns what is
//! taken and its bounds; how steps are chosen is the planner's, what a test of the PTS finds on its targets the machine's.

use crate::running::file_of;
use crate::{App, Unfinished};
use fathom_model::{Amount, Diagnostics, Job, Named, TargetOptions};
use fathom_planner::PlanNote;
use fathom_planner::search::{CurveSearch, ObjectiveSearch, RateSearch, Search, SteadySearch, paced};
use fathom_schema::{
    DeviceClass, Facts, LatencyGoal, LoadAxis, NoteKind, Question, Severity, SteadyQuestion, SteadyTest,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// Seed of the order of depths: the same question, the same order.
const SEED: u64 = 41;
/// What a quick test divides the standard's times by.
const QUICK: u32 = 60;
/// Smallest block of any test, bytes.
const BLOCK_MIN: u32 = 512;
/// Largest queue depth there is.
pub(crate) const DEPTH_MAX: u32 = 65_536;
/// How often a load is measured at most.
pub(crate) const REPLICATES_MAX: u32 = 100;

/// What a run is to find out.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum SearchOrder {
    /// Where does it saturate?
    Curve {
        /// What it goes over: `depth` (operations in flight) or `rate` (operations that come due, of one stream).
        #[serde(default = "depth")]
        over: String,
        /// Latencies whose load is asked for: `1ms` (the mean's) or `p99<2ms`.
        latency: Vec<String>,
        /// Largest queue depth of a worker.
        #[serde(default = "max_depth")]
        max_depth: u32,
        /// How often each depth is measured.
        #[serde(default = "replicates")]
        replicates: u32,
    },
    /// Does it carry a rate within limits, or which does it?
    Objective {
        /// Operations per second to carry; null: the highest that keeps the limits.
        iops: Option<f64>,
        /// Limits to keep: `p99<1ms`.
        latency: Vec<String>,
        /// Largest queue depth of a worker.
        #[serde(default = "max_depth")]
        max_depth: u32,
        /// How often the rate is proven.
        #[serde(default = "replicates")]
        replicates: u32,
    },
    /// What do the targets do in the long run?
    Steady {
        /// The test of the PTS: `iops`, `throughput`, `latency`, `wsat`, `hir`, `xsr`, `composite`, `dirth`.
        test: String,
        /// The standard: `enterprise` (PTS-E) or `client` (PTS-C).
        #[serde(default = "class")]
        class: String,
        /// Divide all times by 60: a try, not PTS.
        #[serde(default)]
        quick: bool,
        /// Trim devices before the test.
        #[serde(default)]
        purge: bool,
    },
    /// A test of the PTS that was ended goes on where it was. The job that is sent with it is not looked at.
    Resume {
        /// Identity of its run.
        run: String,
    },
}

fn depth() -> String {
    LoadAxis::Depth.name().to_owned()
}

fn class() -> String {
    DeviceClass::Enterprise.name().to_owned()
}

const fn max_depth() -> u32 {
    256
}

const fn replicates() -> u32 {
    3
}

/// A search as it is planned.
pub(super) struct Asked {
    pub(super) search: Search,
    pub(super) question: Question,
    /// What of the question the targets do not allow.
    pub(super) notes: Vec<PlanNote>,
    /// Whether its steps are known to be short.
    pub(super) is_quick: bool,
    /// Title of the run, where it is not the job's.
    pub(super) title: Option<String>,
}

/// What is asked of a job on what was found; `None` with the faults told.
pub(super) fn asked(
    app: &App,
    order: &SearchOrder,
    job: &Job,
    facts: &Facts,
    left: Option<&Unfinished>,
    faults: &mut Diagnostics,
) -> Option<Asked> {
    let plain =
        |search, question| Asked { search, question, notes: Vec::new(), is_quick: false, title: None };
    match order {
        SearchOrder::Curve { over, latency, max_depth, replicates } => {
            let limits = goals(latency, faults)?;
            bounded(*max_depth, *replicates, faults)?;
            let over = match over.parse::<LoadAxis>() {
                Ok(LoadAxis::Rate) if job.streams.len() > 1 => Err("a rate is of one stream".to_owned()),
                other => other,
            };
            let over = match over {
                Ok(over) => over,
                Err(message) => {
                    faults.error("search.over", None, message, "choose depth, or rate with one stream");
                    return None;
                }
            };
            if let (LoadAxis::Depth, Some((message, place))) = (over, paced(job)) {
                faults.error("search.paced", Some(place), message, "leave the rate out");
                return None;
            }
            let search = match over {
                LoadAxis::Depth => {
                    Search::Curve(CurveSearch::new(*max_depth, *replicates, SEED).beyond(&limits))
                }
                LoadAxis::Rate => {
                    let poisson = !is_spaced(job);
                    let rates =
                        RateSearch::new(Vec::new(), limits.clone(), *max_depth, *replicates, poisson, SEED);
                    Search::Rates(Box::new(rates))
                }
            };
            Some(plain(search, Question::Curve { limits, over }))
        }
        SearchOrder::Objective { iops, latency, max_depth, replicates } => {
            let goals = goals(latency, faults)?;
            bounded(*max_depth, *replicates, faults)?;
            let is_rate = iops.is_none_or(|rate| rate.is_finite() && rate > 0.0);
            if !is_rate || goals.is_empty() || job.streams.len() > 1 {
                let message =
                    "an objective is a rate above 0, or none, and at least one limit, of one stream";
                faults.error("search.objective", None, message, "write for example p99<1ms");
                return None;
            }
            let search = ObjectiveSearch::new(goals.clone(), *iops, *replicates, *max_depth, !is_spaced(job));
            Some(plain(Search::Objective(search), Question::Objective { rate: *iops, goals }))
        }
        SearchOrder::Steady { test, class, quick, purge } => {
            let test: SteadyTest = match test.parse() {
                Ok(test) => test,
                Err(message) => {
                    faults.error("search.steady", None, message, "choose one of them");
                    return None;
                }
            };
            let class: DeviceClass = match class.parse() {
                Ok(class) => class,
                Err(message) => {
                    faults.error("search.steady", None, message, "choose one of them");
                    return None;
                }
            };
            let options = job.streams.first().map(|stream| &stream.options);
            let mut question = SteadyQuestion {
                test,
                class,
                haste: if *quick { QUICK } else { 1 },
                targets: targets(job),
                size: size(job),
                engine: options.and_then(|of| of.engine.span().map(|_| of.engine.get().word().to_owned())),
                direct: options.and_then(|of| of.direct.get().copied()),
                purge: *purge,
                purge_by: fathom_schema::TrimBy::Discard,
                purged_before: None,
                block_min: BLOCK_MIN,
                has_histogram: true,
                has_operating_points: true,
                active_percent: 100,
                part: None,
                resumed: None,
            };
            let notes = app.machine.complete(&mut question, facts);
            let title = app.machine.title_of(&question);
            Some(steady(question, title, notes))
        }
        SearchOrder::Resume { run } => {
            let Unfinished { question, title, .. } = left?;
            let message =
                format!("the first steps are those of run {run}: targets were idle between it and this one");
            Some(steady(question.clone(), title.clone(), vec![(Severity::Warn, message)]))
        }
    }
}

/// A test of the PTS as it is planned, with what is to be said of it.
fn steady(question: SteadyQuestion, title: String, mut notes: Vec<(Severity, String)>) -> Asked {
    let is_quick = question.haste != 1;
    if is_quick {
        notes.push((Severity::Warn, format!("not PTS: all times are divided by {}", question.haste)));
    }
    let note = |(severity, message)| PlanNote { kind: NoteKind::Job, severity, message };
    Asked {
        search: Search::Steady(Box::new(SteadySearch::new(&question))),
        question: Question::Steady(question),
        notes: notes.into_iter().map(note).collect(),
        is_quick,
        title: Some(title),
    }
}

/// What the run that is to be gone on with has left; nothing where something else is asked.
pub(super) fn left(app: &App, order: Option<&SearchOrder>) -> Result<Option<Unfinished>, String> {
    let Some(SearchOrder::Resume { run }) = order else { return Ok(None) };
    let path = file_of(app.store(), run).map_err(|_| format!("there is no run {run}"))?;
    let record = fathom_store::read(&path).map_err(|error| error.to_string())?;
    app.machine.unfinished(record).map(Some)
}

/// Whether the job spaces its arrivals itself: those stay, others are random, as many users' are.
fn is_spaced(job: &Job) -> bool {
    job.streams.iter().any(|stream| stream.options.arrival.span().is_some())
}

fn goals(texts: &[String], faults: &mut Diagnostics) -> Option<Vec<LatencyGoal>> {
    let mut all = Vec::new();
    for text in texts {
        match text.parse::<LatencyGoal>() {
            Ok(goal) => all.push(goal),
            Err(message) => {
                faults.error("search.latency", None, message, "write for example p99<1ms");
                return None;
            }
        }
    }
    Some(all)
}

fn bounded(max_depth: u32, replicates: u32, faults: &mut Diagnostics) -> Option<()> {
    let is_within = (2..=DEPTH_MAX).contains(&max_depth) && (1..=REPLICATES_MAX).contains(&replicates);
    if !is_within {
        let message = format!(
            "a largest depth of {max_depth} or {replicates} replicates is not within 2 to {DEPTH_MAX} and 1 to {REPLICATES_MAX}"
        );
        faults.error("search.bounds", None, message, "give others");
    }
    is_within.then_some(())
}

/// Targets as the command line names them.
fn targets(job: &Job) -> Vec<String> {
    let of = |section: &Named<TargetOptions>| match section.options.path.get() {
        Some(paths) => paths.clone(),
        None => vec![format!("{}:", section.options.kind.get().word())],
    };
    job.targets.iter().flat_map(of).collect()
}

/// The part of the first target that is used, as the command line takes it.
fn size(job: &Job) -> Option<String> {
    job.targets.first()?.options.size.get().map(|size| match size {
        Amount::Bytes(bytes) => bytes.0.to_string(),
        Amount::Share(share) => share.to_string(),
    })
}
