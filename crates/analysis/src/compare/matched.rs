//! What of two sides belongs together: steps by their names; of tests the loads of the measurement window, with its rounds as
//! replicates; of curves and objectives the loads that were asked for, with all that measured each. Does not know what comes of it.

use crate::load::{rate, slots};
use crate::pts::{self, Figure};
use fathom_schema::{LoadAxis, Question, Record, StepRecord};
use fathom_units::Iops;

/// What is set beside each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Steps, by their names.
    Steps,
    /// Loads of a test of SNIA's PTS, over its measurement window.
    Cells,
    /// Loads that a curve or an objective asked for.
    Loads,
}

impl Kind {
    /// Name in documents, and of one of them for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Steps => "step",
            Self::Cells => "cell",
            Self::Loads => "load",
        }
    }
}

/// What belongs together, of each run of either side.
pub(super) struct Matched<'a> {
    /// Its name.
    pub name: String,
    /// What it is about, of a test.
    pub figure: Option<Figure>,
    /// Per run of the first side, the steps that measured it.
    pub base: Vec<Vec<&'a StepRecord>>,
    /// Of the second.
    pub new: Vec<Vec<&'a StepRecord>>,
}

impl Matched<'_> {
    /// The figures that the verdict comes of.
    pub(super) fn deciding(&self) -> &'static [&'static str] {
        match self.figure {
            None => &["iops", "p99"],
            Some(Figure::Iops) => &["iops"],
            Some(Figure::Throughput) => &["bandwidth"],
            Some(Figure::MeanLatency) => &["mean latency"],
        }
    }
}

/// Everything that belongs together, and how much has no counterpart.
pub(super) struct Matches<'a> {
    pub kind: Kind,
    pub all: Vec<Matched<'a>>,
    pub left_out: usize,
}

/// What of two sides with at least one run each belongs together.
pub(super) fn matched<'a>(base: &[&'a Record], new: &[&'a Record]) -> Matches<'a> {
    let first = base[0];
    let all = || base.iter().chain(new);
    let kind = match &first.started.question {
        Some(Question::Steady(asked)) if all().all(|run| is_test(run, asked)) => Kind::Cells,
        Some(_) if axis(first).is_some() && all().all(|run| axis(run) == axis(first)) => Kind::Loads,
        _ => Kind::Steps,
    };
    match kind {
        Kind::Steps => of_steps(base, new),
        Kind::Cells => of_loads(kind, &all_loads(base, cells), &all_loads(new, cells)),
        Kind::Loads => of_loads(kind, &all_loads(base, loads), &all_loads(new, loads)),
    }
}

fn is_test(record: &Record, asked: &fathom_schema::SteadyQuestion) -> bool {
    matches!(&record.started.question, Some(Question::Steady(own)) if own.test == asked.test)
}

/// What the loads of a curve or an objective are.
fn axis(record: &Record) -> Option<LoadAxis> {
    match record.started.question {
        Some(Question::Curve { over, .. }) => Some(over),
        Some(Question::Objective { .. }) => Some(LoadAxis::Rate),
        _ => None,
    }
}

/// A load of one run, with the steps that measured it.
type Load<'a> = (String, Option<Figure>, Vec<&'a StepRecord>);

fn all_loads<'a>(side: &[&'a Record], of: fn(&'a Record) -> Vec<Load<'a>>) -> Vec<Vec<Load<'a>>> {
    side.iter().map(|run| of(run)).collect()
}

fn cells(record: &Record) -> Vec<Load<'_>> {
    pts::cells(record).into_iter().map(|cell| (cell.name, Some(cell.figure), cell.steps)).collect()
}

/// The loads that were asked for, from the lowest.
fn loads(record: &Record) -> Vec<Load<'_>> {
    let mut all: Vec<(bool, f64, Vec<&StepRecord>)> = Vec::new();
    for step in record.steps.iter().filter(|step| step.finished.is_some()) {
        let rate = rate(&step.started.step);
        let key = (rate.is_some(), rate.unwrap_or_else(|| slots(&step.started.step)));
        match all.iter_mut().find(|(is_rate, load, _)| (*is_rate, *load) == key) {
            Some((.., steps)) => steps.push(step),
            None => all.push((key.0, key.1, vec![step])),
        }
    }
    all.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let name = |is_rate: bool, load: f64| {
        if is_rate { format!("{} offered", Iops(load)) } else { format!("{load} in flight") }
    };
    all.into_iter().map(|(is_rate, load, steps)| (name(is_rate, load), None, steps)).collect()
}

fn of_loads<'a>(kind: Kind, base: &[Vec<Load<'a>>], new: &[Vec<Load<'a>>]) -> Matches<'a> {
    let has = |run: &Vec<Load<'a>>, name: &str| run.iter().any(|load| load.0 == name);
    let mut names: Vec<(String, Option<Figure>)> = Vec::new();
    for (name, figure, _) in base.iter().chain(new).flatten() {
        if !names.iter().any(|(known, _)| known == name) {
            names.push((name.clone(), *figure));
        }
    }
    let count = names.len();
    let is_in = |side: &[Vec<Load<'a>>], name: &str| match kind {
        // A run that looks for its loads has others than the next one.
        Kind::Loads => side.iter().all(|run| has(run, name)),
        // A run of the test that lacks one has not come to it: nothing can be said of it then.
        Kind::Cells | Kind::Steps => side.iter().any(|run| has(run, name)),
    };
    names.retain(|(name, _)| is_in(base, name) && is_in(new, name));
    let of_side = |side: &[Vec<Load<'a>>], name: &str| -> Vec<Vec<&'a StepRecord>> {
        let of_run = |run: &Vec<Load<'a>>| {
            run.iter().find(|load| load.0 == name).map(|load| load.2.clone()).unwrap_or_default()
        };
        side.iter().map(of_run).collect()
    };
    let left_out = count - names.len();
    let all = names.into_iter().map(|(name, figure)| Matched {
        base: of_side(base, &name),
        new: of_side(new, &name),
        name,
        figure,
    });
    Matches { kind, all: all.collect(), left_out }
}

fn of_steps<'a>(base: &[&'a Record], new: &[&'a Record]) -> Matches<'a> {
    let (first, second) = (base[0], new[0]);
    let names = steps_in_common(&step_names(first), &step_names(second));
    let is_only = first.steps.len() == 1 && second.steps.len() == 1;
    let left_out = first.steps.len().max(second.steps.len()) - names.len();
    let of_side = |side: &[&'a Record], name: &(String, usize)| -> Vec<Vec<&'a StepRecord>> {
        side.iter().map(|run| step_of(run, name, is_only).into_iter().collect()).collect()
    };
    let all = names.into_iter().map(|name| Matched {
        base: of_side(base, &name),
        new: of_side(new, &name),
        name: name.0,
        figure: None,
    });
    Matches { kind: Kind::Steps, all: all.collect(), left_out }
}

/// Names of the steps that two runs with steps of these names have in common, each with how many of that name come
/// before it; the only step of each in any case.
pub fn steps_in_common(base: &[&str], new: &[&str]) -> Vec<(String, usize)> {
    let numbered = |all: &[&str]| -> Vec<(String, usize)> {
        let before = |at: usize| all[..at].iter().filter(|name| **name == all[at]).count();
        (0..all.len()).map(|at| (all[at].to_owned(), before(at))).collect()
    };
    let mut names = numbered(new);
    if base.len() != 1 || new.len() != 1 {
        let base = numbered(base);
        names.retain(|name| base.contains(name));
    }
    names
}

/// Names of a record's steps, in order.
pub fn step_names(record: &Record) -> Vec<&str> {
    record.steps.iter().map(|step| step.started.step.name.as_str()).collect()
}

/// The step of a record with this name, after so many others of it. Where the sides have one step (`is_only`), it belongs to
/// that of the other whatever it is called.
fn step_of<'a>(
    record: &'a Record,
    (name, before): &(String, usize),
    is_only: bool,
) -> Option<&'a StepRecord> {
    match record.steps.as_slice() {
        [only] if is_only => Some(only),
        steps => steps.iter().filter(|step| step.started.step.name == *name).nth(*before),
    }
}
