//! The experiment: a pure state machine that yields the next step from the results so far.
//!
//! It keeps the job and the facts rather than the steps, since the rates of a curve come out of earlier steps and a plan
//! of ten thousand points would not fit in memory. It knows neither time nor the world.

use crate::lengths::Grown;
use crate::points::{Load, Point};
use crate::remarks::Remarks;
use crate::scene::{Maxima, Scene};
use crate::search::{Choice, Search};
use crate::seeds;
use crate::steps::{self, Built};
use fathom_model::{Dialect, Job, Named, StageOptions};
use fathom_schema::{Condition, Facts, OperationKind, Step, StepFinished, StepRecord, StreamTotals};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What a preview takes as the maximum of every stream, in operations per second, where only a run can tell. A round
/// figure that shows the shares at a glance.
pub const PREVIEW_MAXIMUM: f64 = 10_000.0;

/// The rule that yields a run's steps.
#[derive(Debug, Clone)]
pub struct Experiment {
    pub(crate) job: Job,
    pub(crate) facts: Facts,
    pub(crate) entropy: u64,
    /// Places that the job writes at any of its points.
    pub(crate) changed: BTreeSet<PathBuf>,
    /// By stream of a job of fio: what it knows of its files.
    pub(crate) grown: Vec<Grown>,
    /// What ends the run before its time.
    pub(crate) abort_when: Vec<Condition>,
    pub(crate) stages: Vec<Named<StageOptions>>,
    pub(crate) points: Vec<Point>,
    pub(crate) maxima: Maxima,
    /// Index of the next point.
    pub(crate) position: usize,
    /// Streams of the step handed out last that show their maximum: index in the step, index in the job.
    pub(crate) awaited: Vec<(usize, usize)>,
    /// What chooses the next step, where the points are not all known beforehand; they then are its extremes.
    pub(crate) search: Option<Search>,
    /// The step that the search handed out last.
    pub(crate) last: Option<Step>,
    /// The end of the last step of an earlier run.
    pub(crate) replayed: Option<StepFinished>,
    /// Why the first step that a search asked for and that could not be planned could not be.
    pub(crate) impossible: Option<String>,
    /// The step of the first point as the plan has built it, until it is handed out: one of ten thousand streams is not built
    /// again for each look at it.
    pub(crate) first: Option<First>,
}

/// What [`Built`] says of a step that is kept.
#[derive(Debug, Clone)]
pub(crate) struct First {
    pub step: Step,
    pub at_maximum: Vec<(usize, usize)>,
}

impl Experiment {
    /// The next step, or `None` when all are done. `finished` is the end of the step handed out before; absent at the
    /// first call.
    pub fn next(&mut self, finished: Option<&StepFinished>) -> Option<Step> {
        if self.search.is_some() {
            return self.next_of_search(finished);
        }
        for &(in_step, in_job) in finished.map_or(&[][..], |_| &self.awaited) {
            let totals = finished.and_then(|finished| finished.streams.get(in_step));
            if let Some(rate) = totals.and_then(reached) {
                self.maxima.insert(in_job, rate);
            }
        }
        let point = self.points.get(self.position)?;
        let built = || self.build(point, &self.maxima);
        let First { step, at_maximum } = match (self.position, &self.first) {
            (0, Some(_)) => self.first.take().expect("it is there"),
            _ => built(),
        };
        for &(_, in_job) in &at_maximum {
            // A step that ends before it did anything has no maximum; the shares of it then fall back to the floor of
            // one operation a second rather than to another point's figure.
            self.maxima.insert(in_job, 0.0);
        }
        self.awaited = at_maximum;
        self.position += 1;
        Some(step)
    }

    fn next_of_search(&mut self, finished: Option<&StepFinished>) -> Option<Step> {
        let replayed = self.replayed.take();
        let last = self.last.take();
        let mut done = last.as_ref().zip(finished.or(replayed.as_ref()));
        let mut step = loop {
            let Choice { settings, label } = self.search.as_mut()?.next(done)?;
            let point = Point { stage: 0, index: self.position, settings, load: Load::AsDeclared, label };
            let job = seeds::for_step(&self.job, self.position, self.entropy);
            let scene = Scene::new(&self.facts, self.entropy, &self.changed, &self.grown, &self.abort_when);
            let mut remarks = Remarks::default();
            if let Some(built) = steps::build(&scene, &job, &self.stages, &point, &self.maxima, &mut remarks)
            {
                break built.step;
            }
            let why: Vec<&str> = remarks.diagnostics.all().iter().map(|one| one.message.as_str()).collect();
            self.impossible.get_or_insert_with(|| why.join("; "));
            // Which rates there are comes out of the run; one that is too high for the workers leaves the others as they are.
            if !matches!(self.search, Some(Search::Rates(_))) {
                return None;
            }
            done = None;
        };
        self.position += 1;
        self.search.as_mut()?.built(&mut step);
        self.last = Some(step.clone());
        Some(step)
    }

    /// Takes in steps that an earlier run of the same search has done, as if they had been handed out and had ended so.
    ///
    /// # Errors
    /// Where this experiment comes to another step than the earlier run did, in words.
    pub fn replay(&mut self, done: &[StepRecord]) -> Result<(), String> {
        for StepRecord { started, intervals: _, host: _, finished } in done {
            let was = &started.step;
            let step =
                self.next(None).ok_or_else(|| format!("\"{}\" is a step more than there are", was.name))?;
            let is_alike = step.name == was.name && step.parameters == was.parameters;
            if !is_alike {
                return Err(format!(
                    "step {} is \"{}\" and was \"{}\"",
                    started.index + 1,
                    step.name,
                    was.name
                ));
            }
            if step
                .targets
                .iter()
                .map(|t| (&t.name, t.size))
                .ne(was.targets.iter().map(|t| (&t.name, t.size)))
            {
                return Err(format!(
                    "the targets of \"{}\" have other names or sizes than they had",
                    was.name
                ));
            }
            self.replayed.clone_from(finished);
        }
        Ok(())
    }

    /// Names of the streams that any of its steps may run.
    pub fn streams(&self) -> impl Iterator<Item = &str> {
        self.job.streams.iter().map(|stream| stream.name.as_str())
    }

    /// How many steps it takes at most, where they are chosen as they go and that is known.
    pub fn steps_max(&self) -> Option<usize> {
        self.search.as_ref().and_then(Search::steps_max)
    }

    /// Whether its steps are chosen as they go: [`Experiment::preview`] then has the least and the most that is asked.
    pub const fn is_search(&self) -> bool {
        self.search.is_some()
    }

    /// Whether the files of all steps are laid out before the first, as far as its dialect has it so.
    pub fn lays_out_ahead(&self) -> bool {
        self.job.dialect == Dialect::Fio && !self.is_search()
    }

    /// What ends the run before its time.
    pub fn conditions(&self) -> &[Condition] {
        &self.abort_when
    }

    /// Ends the run under these conditions, where it has none of its own.
    pub fn abort_when(&mut self, conditions: impl IntoIterator<Item = Condition>) {
        if !self.abort_when.is_empty() {
            return;
        }
        for condition in conditions {
            if !self.abort_when.contains(&condition) {
                self.abort_when.push(condition);
            }
        }
        // It was built without them.
        self.first = None;
    }

    /// Why a search had to do without a step that it asked for.
    pub fn impossible(&self) -> Option<&str> {
        self.impossible.as_deref()
    }

    /// Whether a run that was ended before its time may be gone on with, on the same targets, from its record.
    pub const fn can_be_resumed(&self) -> bool {
        matches!(self.search, Some(Search::Steady(_)))
    }

    /// How many steps there are in all; of a search, about how many.
    pub fn steps_hint(&self) -> usize {
        self.search.as_ref().map_or(self.points.len(), Search::steps_hint)
    }

    /// All steps (of a search: the least and the most that it may ask for), for people: where a rate is a share of a maximum that only the run finds, [`PREVIEW_MAXIMUM`] stands
    /// for it and the step's name or parameters say "50% of maximum".
    pub fn preview(&self) -> Vec<Step> {
        let mut maxima = Maxima::new();
        let mut all = Vec::with_capacity(self.points.len());
        for (index, point) in self.points.iter().enumerate() {
            let kept = self.first.as_ref().filter(|_| index == 0).cloned();
            let built = kept.unwrap_or_else(|| self.build(point, &maxima));
            assume_maxima(&built.at_maximum, &mut maxima);
            all.push(built.step);
        }
        all
    }

    fn build(&self, point: &Point, maxima: &Maxima) -> First {
        let scene = Scene::new(&self.facts, self.entropy, &self.changed, &self.grown, &self.abort_when);
        let built = steps::build(&scene, &self.job, &self.stages, point, maxima, &mut Remarks::default());
        let Built { step, at_maximum, .. } = built.expect("every point was built when it was planned");
        First { step, at_maximum }
    }
}

/// Puts a stand-in where a run would put what the streams reached: pairs of index in the step and index in the job.
pub(crate) fn assume_maxima(at_maximum: &[(usize, usize)], maxima: &mut Maxima) {
    maxima.extend(at_maximum.iter().map(|&(_, in_job)| (in_job, PREVIEW_MAXIMUM)));
}

/// Operations per second of a stream over its measure phase; syncs are not counted in rates.
fn reached(totals: &StreamTotals) -> Option<f64> {
    let start = totals.workers.iter().map(|worker| worker.start).min()?;
    let end = totals.workers.iter().map(|worker| worker.end).max()?;
    let kinds = totals.workers.iter().flat_map(|worker| &worker.tally.kinds);
    let operations: u64 =
        kinds.filter(|kind| kind.kind != OperationKind::Sync).map(|kind| kind.operations).sum();
    let elapsed = end.since(start).as_secs_f64();
    (elapsed > 0.0).then(|| operations as f64 / elapsed)
}
