//! Job and facts to steps: percentages, defaults and dialects' quirks end here.
//!
//! [`plan`] is pure: the same job, facts and entropy give the same plan. It opens nothing and asks the system nothing;
//! whether what a plan means to do may be done is judged by [`safety`] on the plan's intents. It does not know the
//! dialects' texts, nor how a step is carried out.
#![forbid(unsafe_code)]

mod advice;
mod alignment;
mod anywhere;
mod bounds;
mod changed;
mod control;
mod course;
mod demands;
mod endings;
mod engines;
mod experiment;
mod files;
mod host;
mod idle;
mod lengths;
mod links;
mod locality;
mod native;
mod operations;
mod peers;
mod points;
mod programs;
mod regions;
mod remarks;
pub mod safety;
mod scene;
pub mod search;
mod seeds;
mod steady;
mod steps;
mod streams;
mod targets;
mod traces;
mod verification;
mod workers;

pub use anywhere::check;
pub use engines::ENGINE_UNAVAILABLE;
use experiment::First;
pub use experiment::{Experiment, PREVIEW_MAXIMUM};
pub use files::TARGETS_MAX;
pub use native::in_native_terms;
pub use remarks::PlanNote;
pub use seeds::Turn;
pub use streams::TIME_DEFAULT;
pub use traces::{traces, with_traces};

use fathom_model::{Diagnostics, Job, Named, Seed, Sources, StageOptions};
use fathom_schema::{Facts, NoteKind, OperationKind, Severity, Threshold};
use fathom_units::Nanos;
use links::Links;
use points::{Load, Point};
use remarks::Remarks;
use safety::{Command, Intent};
use scene::{Maxima, Scene};
use search::{Choice, Search};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Parts of targets over all workers of all points, at most: what a plan looks at before it says yes. Ten million took
/// 1.4 s on one core with opt-level 1; a job of five times that would run for months and is a slip.
const EXTENTS_OF_PLAN_MAX: u64 = 50_000_000;

/// What a job comes to on a host.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Yields the steps.
    pub experiment: Experiment,
    /// What will be done to each path, over all steps: for [`safety::judge`].
    pub intents: Vec<Intent>,
    /// What will be run and whom will be talked to, over all steps: for [`safety::judge`].
    pub commands: Vec<Command>,
    /// What was chosen or changed, for the record.
    pub notes: Vec<PlanNote>,
    /// From the first step's start to the last one's end; `None` when something other than time ends a step.
    pub expected: Option<Nanos>,
    /// How many steps there will be.
    pub points: usize,
    /// What every step has to keep.
    pub thresholds: Vec<Threshold>,
}

impl Plan {
    /// How long it takes at most, where it may take longer than is expected and that is known: a search measures again what
    /// it does not know well enough.
    pub fn expected_at_most(&self) -> Option<Nanos> {
        let most = self.experiment.steps_max().filter(|most| *most > self.points)?;
        let each = self.expected?.0 / (self.points.max(1) as u64);
        Some(Nanos(each.saturating_mul(most as u64)))
    }
}

/// All paths whose facts planning needs, each once, in the order of the job. Sweeps over targets are gone through.
pub fn paths(job: &Job) -> Vec<PathBuf> {
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    let mut add = |job: &Job| {
        let links = Links::of(job);
        for (place, section) in job.targets.iter().enumerate() {
            let items = files::items(&links, place).into_iter().filter_map(|item| item.path);
            for path in files::root(section).into_iter().chain(items) {
                if all.len() <= TARGETS_MAX && seen.insert(path.clone()) {
                    all.push(path);
                }
            }
        }
    };
    add(job);
    for mut stage in points::stages(job) {
        let mut sweep = stage.options.sweep.get().clone();
        sweep.dimensions.retain(|(path, _)| changes_paths(path));
        if sweep.dimensions.is_empty() {
            continue;
        }
        stage.options.sweep.set(sweep, stage.span);
        stage.options.curve.set(Vec::new(), stage.span);
        for point in points::points(std::slice::from_ref(&stage)).iter().take(fathom_model::POINTS_MAX) {
            if let Ok(job) = point.apply(job) {
                add(&job);
            }
        }
    }
    all
}

/// Whether a swept option changes which files there are.
fn changes_paths(path: &str) -> bool {
    path.starts_with("target.")
        || path.starts_with("stream.") && (path.ends_with(".workers") || path.ends_with(".first_worker"))
}

/// Plans a job on a host. `entropy` is what `seed = "fresh"` stands for.
///
/// The plan is `None` exactly when there are errors. A job that fails [`fathom_model::check`]
/// is not planned; its faults come back.
pub fn plan(job: &Job, facts: &Facts, entropy: u64) -> (Option<Plan>, Diagnostics) {
    plan_points(job, facts, entropy, &points::points, false)
}

/// Plans the points that `points_of` makes of the stages. `offers_rates`: whether some of them have a rate that the job has not.
fn plan_points(
    job: &Job,
    facts: &Facts,
    entropy: u64,
    points_of: &dyn Fn(&[Named<StageOptions>]) -> Vec<Point>,
    offers_rates: bool,
) -> (Option<Plan>, Diagnostics) {
    let mut checked = fathom_model::check(job);
    if checked.has_errors() {
        // The bounds of the run depend on nothing else, so that their faults can come at once.
        let mut remarks = Remarks::default();
        bounds::of(&job.run, &mut remarks);
        checked.extend(remarks.diagnostics);
        return (None, checked);
    }
    let mut remarks = Remarks::default();
    // Planning needs no texts; an experiment that carries them would copy them at every point.
    let job = Job { sources: Sources::default(), echo: Vec::new(), ..job.clone() };
    // A native integer is signed; a seed within 63 bits can be written into a job to repeat the run.
    let entropy = entropy >> 1;
    let stages = points::stages(&job);
    let points = points_of(&stages);
    idle::of_job(&job, offers_rates, &mut remarks);
    let nothing = BTreeSet::new();
    let (thresholds, abort_when) = bounds::of(&job.run, &mut remarks);
    let unknown = Scene::new(facts, entropy, &nothing, &[], &[]);
    let changed = changed::places(&unknown, &job, &stages, &points);
    let grown = lengths::grown(&unknown, &job);
    let scene = Scene::new(facts, entropy, &changed, &grown, &abort_when);
    let survey = survey(&scene, &job, &stages, &points, &mut remarks);
    bounds::judge_kinds(&job.run, &thresholds, survey.issues, &mut remarks);
    bounds::judge_times(&job.run, &abort_when, survey.longest, &mut remarks);
    if remarks.has_faults() {
        return (None, remarks.diagnostics);
    }
    let plan = Plan {
        points: points.len(),
        intents: survey.intents,
        commands: survey.commands,
        notes: remarks.notes,
        expected: survey.expected,
        thresholds,
        experiment: Experiment {
            job,
            facts: facts.clone(),
            entropy,
            changed,
            grown,
            abort_when,
            stages,
            points,
            maxima: Maxima::new(),
            position: 0,
            awaited: Vec::new(),
            search: None,
            last: None,
            replayed: None,
            impossible: None,
            first: survey.first,
        },
    };
    (Some(plan), remarks.diagnostics)
}

/// As [`plan`], of a job that is run several times to be compared: each time with random places and arrivals of its own, or where
/// it names its seed with those of the block, which are the same for any job of that seed. The plan's notes say which seed that is.
pub fn plan_replicate(job: &Job, facts: &Facts, entropy: u64, turn: Turn) -> (Option<Plan>, Diagnostics) {
    let job = seeds::for_replicate(job, turn, entropy);
    let (mut plan, diagnostics) = plan(&job, facts, entropy);
    if let (Some(plan), Seed::Fixed(seed)) = (&mut plan, job.run.seed.get()) {
        let message = format!("seed {seed}, as one of several runs to be compared");
        plan.notes.push(PlanNote { kind: NoteKind::Job, severity: Severity::Info, message });
    }
    (plan, diagnostics)
}

/// As [`plan`], of an experiment that picks its steps by their results. The job is judged at the least and the most that
/// the search may ask for; it may have one stage, without a sweep or a curve.
pub fn plan_search(job: &Job, facts: &Facts, entropy: u64, search: Search) -> (Option<Plan>, Diagnostics) {
    let mut diagnostics = Diagnostics::default();
    let stages = points::stages(job);
    if stages.len() > 1 {
        let message = format!("the job has {} stages", stages.len());
        diagnostics.error(
            "plan.search-stages",
            Some(stages[1].span),
            message,
            "leave one: the search repeats it",
        );
    }
    for stage in &stages {
        if let Some(span) = stage.options.sweep.span().or(stage.options.curve.span()) {
            let message = format!("the stage \"{}\" has a sweep or a curve of its own", stage.name);
            diagnostics.error(
                "plan.search-sweep",
                Some(span),
                message,
                "leave it out: the search chooses the load",
            );
        }
    }
    if diagnostics.has_errors() {
        return (None, diagnostics);
    }
    let extremes = |_: &[Named<StageOptions>]| {
        let point = |(index, Choice { settings, label })| Point {
            stage: 0,
            index,
            settings,
            load: Load::AsDeclared,
            label,
        };
        search.extremes().into_iter().enumerate().map(point).collect()
    };
    let (plan, diagnostics) = plan_points(job, facts, entropy, &extremes, search.offers_rates());
    let plan = plan.map(|mut plan| {
        plan.points = search.steps_hint();
        // The longest step stands for all.
        let of_step = plan.experiment.preview().iter().filter_map(fathom_schema::Step::ends).flatten().max();
        plan.expected = match search {
            // Its steps end with their bytes; their times are only bounds.
            Search::Scan(_) => None,
            _ => of_step.map(|step| Nanos(step.0.saturating_mul(plan.points as u64))),
        };
        plan.experiment.search = Some(search);
        plan
    });
    (plan, diagnostics)
}

struct Survey {
    intents: Vec<Intent>,
    commands: Vec<Command>,
    expected: Option<Nanos>,
    /// How long the longest step takes, where that is known of all.
    longest: Option<Nanos>,
    /// Which kinds of operations any step may have.
    issues: [bool; OperationKind::COUNT],
    first: Option<First>,
}

/// Builds every point once and keeps what they come to together.
fn survey(
    scene: &Scene<'_>,
    job: &Job,
    stages: &[Named<StageOptions>],
    points: &[Point],
    remarks: &mut Remarks,
) -> Survey {
    let mut maxima = Maxima::new();
    let mut intents: BTreeMap<PathBuf, Intent> = BTreeMap::new();
    let (mut expected, mut longest) = (Some(Nanos::ZERO), Some(Nanos::ZERO));
    let mut commands = BTreeSet::new();
    let mut extents = 0_u64;
    let mut issues = [false; OperationKind::COUNT];
    let mut first = None;
    for point in points {
        let Some(built) = steps::build(scene, job, stages, point, &maxima, remarks) else { continue };
        experiment::assume_maxima(&built.at_maximum, &mut maxima);
        expected = expected.zip(built.duration).map(|(sum, duration)| sum.after(duration));
        longest = longest.zip(built.duration).map(|(most, duration)| most.max(duration));
        commands.extend(control::commands(&built.step));
        for intent in built.intents {
            match intents.get_mut(&intent.path) {
                Some(known) => known.unite(&intent),
                None => {
                    intents.insert(intent.path.clone(), intent);
                }
            }
        }
        for kind in OperationKind::ALL {
            issues[kind.index()] |= built.step.streams.iter().any(|stream| stream.workload.may_issue(kind));
        }
        extents = extents.saturating_add(built.extents);
        if extents > EXTENTS_OF_PLAN_MAX {
            let message = format!(
                "the points of the job have more than {EXTENTS_OF_PLAN_MAX} worker-target pairs together"
            );
            remarks.error(
                "plan.too-large",
                None,
                message,
                "sweep fewer values, or use fewer workers or files",
            );
            break;
        }
        first.get_or_insert(First { step: built.step, at_maximum: built.at_maximum });
    }
    Survey {
        intents: intents.into_values().collect(),
        commands: commands.into_iter().collect(),
        expected,
        longest,
        issues,
        first,
    }
}
