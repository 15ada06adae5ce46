//! What of two sides belongs together: steps by their names; of tests the loads of the measurement window, with its rounds as
//! replicates; of curves and objectives the loads that were asked for, with all that measured each. Does not know what comes of it.

use crate::load::{rate, slots};
use crate::pts::{self, Figure};
use fathom_schema::{LoadAxis, Question, Record, SteadyTest, StepRecord};
use fathom_units::Iops;

/// How far two loads may lie apart and be one, as a share: rates of several streams are added up, and written and read again
/// as decimals, each of which costs a few units in the last of 15 digits. At a million a second it is an operation in a
/// quarter of an hour, far less than any two rates that somebody asks for, or a search tries, differ by.
const SAME_SHARE: f64 = 1e-9;

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

impl<'a> Matched<'a> {
    /// The first step in which a run measured it; `run` counts those of the side.
    pub(super) fn first_step(&self, is_base: bool, run: usize) -> Option<&'a StepRecord> {
        let side = if is_base { &self.base } else { &self.new };
        side[run].first().copied()
    }

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
    /// What each side measured, where that has no counterpart at all.
    pub unlike: [Vec<String>; 2],
}

/// What of two sides with at least one run each belongs together, or why nothing of them can.
pub(super) fn matched<'a>(base: &[&'a Record], new: &[&'a Record]) -> Result<Matches<'a>, String> {
    let first = base[0];
    let all = || base.iter().chain(new);
    // Steps that have a name in common are of no use here: those that prepare for a test, which measure nothing.
    if all().any(|run| test(run) != test(first)) {
        return Err(other_tests(base, new));
    }
    if all().any(|run| axis(run).zip(axis(first)).is_some_and(|(own, other)| own != other)) {
        let why =
            "they have no load in common: those of some are operations in flight, those of others rates";
        return Err(format!("{why}; compare curves over the same"));
    }
    let kind = match first.started.question {
        Some(Question::Steady(_)) => Kind::Cells,
        Some(_) if axis(first).is_some() && all().all(|run| axis(run) == axis(first)) => Kind::Loads,
        _ => Kind::Steps,
    };
    Ok(match kind {
        Kind::Steps => of_steps(base, new),
        Kind::Cells => of_loads(kind, &all_loads(base, cells), &all_loads(new, cells)),
        Kind::Loads => of_loads(kind, &all_loads(base, loads), &all_loads(new, loads)),
    })
}

/// The test of the PTS that a run is of; none of others.
fn test(record: &Record) -> Option<SteadyTest> {
    match &record.started.question {
        Some(Question::Steady(asked)) => Some(asked.test),
        _ => None,
    }
}

/// That runs are not all of one test: of a side that mixes several, else of the sides.
fn other_tests(base: &[&Record], new: &[&Record]) -> String {
    let names = |side: &[&Record]| -> String {
        let mut names: Vec<&str> = Vec::new();
        for name in side.iter().map(|run| test(run).map_or("none", SteadyTest::name)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    };
    let is_mixed = |side: &&&[&Record]| side.iter().any(|run| test(run) != test(side[0]));
    let sides = [("first", base), ("other", new)];
    let what = match sides.iter().find(|(_, side)| is_mixed(&side)) {
        Some((which, side)) => format!("the {which} side mixes runs of several tests ({})", names(side)),
        None => format!("they are of different tests ({} and {})", names(base), names(new)),
    };
    format!("{what}, which have no load in common; compare runs of one test")
}

/// What the loads of a curve or an objective are.
fn axis(record: &Record) -> Option<LoadAxis> {
    match record.started.question {
        Some(Question::Curve { over, .. }) => Some(over),
        Some(Question::Objective { .. }) => Some(LoadAxis::Rate),
        _ => None,
    }
}

/// What makes a load the same in several runs.
#[derive(Debug, Clone, PartialEq)]
enum Key {
    /// The name of a test's cell, which is the same in every run of the test.
    Cell(String),
    /// Operations per second that were asked for.
    Rate(f64),
    /// Operations in flight.
    InFlight(f64),
}

impl Key {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Cell(one), Self::Cell(other)) => one == other,
            (Self::Rate(one), Self::Rate(other)) | (Self::InFlight(one), Self::InFlight(other)) => {
                (one - other).abs() <= SAME_SHARE * one.abs().max(other.abs())
            }
            _ => false,
        }
    }

    /// Its name among others, for people: with as many digits as tell it from each of them.
    fn name(&self, others: &[&Self]) -> String {
        let (load, of) = match self {
            Self::Cell(name) => return name.clone(),
            Self::InFlight(load) => return format!("{load} in flight"),
            Self::Rate(load) => (*load, "offered"),
        };
        let forms: [fn(f64) -> String; 4] =
            [|x| Iops(x).to_string(), |x| format!("{x:.0}"), |x| format!("{x:.3}"), |x| x.to_string()];
        let is_clear = |form: &&fn(f64) -> String| {
            let looks_alike =
                |other: &&Self| matches!(other, Self::Rate(own) if *own != load && form(*own) == form(load));
            !others.iter().any(looks_alike)
        };
        let form = forms.iter().find(is_clear).unwrap_or(&forms[3]);
        format!("{} {of}", form(load))
    }
}

/// A load of one run, with the steps that measured it.
type Load<'a> = (Key, Option<Figure>, Vec<&'a StepRecord>);

fn all_loads<'a>(side: &[&'a Record], of: fn(&'a Record) -> Vec<Load<'a>>) -> Vec<Vec<Load<'a>>> {
    side.iter().map(|run| of(run)).collect()
}

fn cells(record: &Record) -> Vec<Load<'_>> {
    pts::cells(record).into_iter().map(|cell| (Key::Cell(cell.name), Some(cell.figure), cell.steps)).collect()
}

/// The loads that were asked for, those in flight first, from the lowest.
fn loads(record: &Record) -> Vec<Load<'_>> {
    let mut all: Vec<Load<'_>> = Vec::new();
    for step in record.steps.iter().filter(|step| step.finished.is_some()) {
        let asked = &step.started.step;
        let key = rate(asked).map_or_else(|| Key::InFlight(slots(asked)), Key::Rate);
        match all.iter_mut().find(|(known, ..)| known.is_same(&key)) {
            Some((.., steps)) => steps.push(step),
            None => all.push((key, None, vec![step])),
        }
    }
    let order = |key: &Key| match key {
        Key::InFlight(load) => (false, *load),
        Key::Rate(load) => (true, *load),
        Key::Cell(_) => (false, 0.0),
    };
    all.sort_by(|(a, ..), (b, ..)| {
        let (a, b) = (order(a), order(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    all
}

fn of_loads<'a>(kind: Kind, base: &[Vec<Load<'a>>], new: &[Vec<Load<'a>>]) -> Matches<'a> {
    let has = |run: &Vec<Load<'a>>, key: &Key| run.iter().any(|load| load.0.is_same(key));
    let mut keys: Vec<(&Key, Option<Figure>)> = Vec::new();
    for (key, figure, _) in base.iter().chain(new).flatten() {
        if !keys.iter().any(|(known, _)| known.is_same(key)) {
            keys.push((key, *figure));
        }
    }
    let count = keys.len();
    let is_in = |side: &[Vec<Load<'a>>], key: &Key| match kind {
        // A run that looks for its loads has others than the next one.
        Kind::Loads => side.iter().all(|run| has(run, key)),
        // A run of the test that lacks one has not come to it: nothing can be said of it then.
        Kind::Cells | Kind::Steps => side.iter().any(|run| has(run, key)),
    };
    keys.retain(|(key, _)| is_in(base, key) && is_in(new, key));
    let of_side = |side: &[Vec<Load<'a>>], key: &Key| -> Vec<Vec<&'a StepRecord>> {
        let of_run = |run: &Vec<Load<'a>>| {
            run.iter().find(|load| load.0.is_same(key)).map(|load| load.2.clone()).unwrap_or_default()
        };
        side.iter().map(of_run).collect()
    };
    let distinct: Vec<&Key> = keys.iter().map(|(key, _)| *key).collect();
    let all = keys.iter().map(|&(key, figure)| Matched {
        name: key.name(&distinct),
        base: of_side(base, key),
        new: of_side(new, key),
        figure,
    });
    let all: Vec<Matched<'a>> = all.collect();
    let named = |side: &[Vec<Load<'a>>]| -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (key, ..) in side.iter().flatten() {
            let name = key.name(&[]);
            if all.is_empty() && !names.contains(&name) {
                names.push(name);
            }
        }
        names
    };
    Matches { kind, unlike: [named(base), named(new)], left_out: count - keys.len(), all }
}

fn of_steps<'a>(base: &[&'a Record], new: &[&'a Record]) -> Matches<'a> {
    let (first, second) = (base[0], new[0]);
    let mut names = steps_in_common(&step_names(first), &step_names(second));
    // Of a scan the places alone: four random reads tell nothing, and where it looks closer is by what it found.
    let is_aside = |name: &String| {
        let mut steps = first.steps.iter().map(|step| &step.started.step);
        steps.any(|step| step.name == *name && crate::scan::is_aside(step))
    };
    names.retain(|(name, _)| !is_aside(name));
    let is_only = first.steps.len() == 1 && second.steps.len() == 1;
    let counted =
        |run: &Record| run.steps.iter().filter(|step| !crate::scan::is_aside(&step.started.step)).count();
    let left_out = [first, second].map(|run| counted(run).saturating_sub(names.len())).iter().sum();
    let of_side = |side: &[&'a Record], name: &(String, usize)| -> Vec<Vec<&'a StepRecord>> {
        side.iter().map(|run| step_of(run, name, is_only).into_iter().collect()).collect()
    };
    let all = names.into_iter().map(|name| Matched {
        base: of_side(base, &name),
        new: of_side(new, &name),
        name: name.0,
        figure: None,
    });
    Matches { kind: Kind::Steps, all: all.collect(), left_out, unlike: Default::default() }
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

#[cfg(test)]
mod tests {
    use super::super::compare;
    use super::*;
    use crate::sample::{StreamShape, record};
    use fathom_schema::{Arrival, Backlog, LatencyGoal, OperationKind, Pacing};

    /// A run of an objective that tried these rates.
    fn tried(rates: &[f64]) -> Record {
        let mut made = record(&[StreamShape::default()]);
        for index in 1..rates.len() {
            let shape = StreamShape { rates: vec![(OperationKind::Read, 1000)], ..StreamShape::default() };
            crate::sample::push(&mut made, &[shape], u32::try_from(index).expect("few"));
        }
        for (step, &rate) in made.steps.iter_mut().zip(rates) {
            step.started.step.streams[0].pacing =
                Pacing::Open { rate, arrival: Arrival::Poisson, course: Vec::new(), backlog: Backlog::Keep };
        }
        let goals = vec!["p99<1ms".parse::<LatencyGoal>().expect("a goal")];
        made.started.question = Some(Question::Objective { rate: None, goals });
        made
    }

    fn names(base: &[f64], new: &[f64]) -> (Vec<String>, usize) {
        let (base, new) = (tried(base), tried(new));
        let found = matched(&[&base], &[&new]).expect("both are of rates");
        assert_eq!(found.kind, Kind::Loads);
        (found.all.into_iter().map(|one| one.name).collect(), found.left_out)
    }

    #[test]
    fn steps_without_a_counterpart_are_counted_on_both_sides() {
        let of = |names: &[&str]| {
            let mut made = record(&[StreamShape::default()]);
            for index in 1..names.len() {
                crate::sample::push(&mut made, &[StreamShape::default()], u32::try_from(index).expect("few"));
            }
            for (step, name) in made.steps.iter_mut().zip(names) {
                step.started.step.name = (*name).to_owned();
            }
            made
        };
        let (left, right) = (of(&["a", "b", "c"]), of(&["b", "c", "d"]));
        assert_eq!(matched(&[&left], &[&right]).expect("two are in common").left_out, 2);
        assert_eq!(matched(&[&left], &[&left]).expect("all are in common").left_out, 0);
    }

    #[test]
    fn loads_are_the_same_by_what_they_are_and_not_by_how_they_print() {
        // All four are 12.3k to people.
        assert_eq!([12_301.0, 12_349.0].map(|x| Iops(x).to_string()), ["12.3k", "12.3k"]);
        assert_eq!(
            names(&[12_301.0, 20_000.0], &[12_349.0, 20_000.0]),
            (vec!["20.0k offered".to_owned()], 2)
        );
        assert_eq!(
            names(&[12_301.0, 12_349.0], &[12_349.0, 12_301.0]),
            (vec!["12301 offered".to_owned(), "12349 offered".to_owned()], 0)
        );
        assert_eq!(
            names(&[12_301.25, 12_301.375], &[12_301.25, 12_301.375]),
            (vec!["12301.250 offered".to_owned(), "12301.375 offered".to_owned()], 0)
        );
        // What writing and reading a decimal leaves of a rate is the same rate.
        let third = 10_000.0 / 3.0;
        assert_eq!(names(&[third], &[third * (1.0 + 4.0 * f64::EPSILON)]).1, 0);
        assert_eq!(names(&[third], &[third + 0.01]), (Vec::new(), 2));
        // Replicates of one load are one.
        assert_eq!(names(&[500.0, 500.0], &[500.0]), (vec!["500 offered".to_owned()], 0));
    }

    fn asked(question: Question) -> Record {
        let mut made = record(&[StreamShape::default()]);
        made.started.question = Some(question);
        made
    }

    fn steady(test: SteadyTest) -> Record {
        asked(Question::Steady(fathom_schema::SteadyQuestion {
            test,
            class: fathom_schema::DeviceClass::Enterprise,
            haste: 1,
            targets: vec!["/dev/a".to_owned()],
            size: None,
            engine: None,
            direct: None,
            purge: false,
            purge_by: fathom_schema::TrimBy::Discard,
            purged_before: None,
            block_min: 512,
            has_histogram: true,
            has_operating_points: true,
            active_percent: 100,
            part: None,
            resumed: None,
        }))
    }

    #[test]
    fn what_has_nothing_in_common_that_measures_is_not_compared() {
        let why = |base: &[&Record], new: &[&Record]| {
            compare(base, new, 0.03).expect_err("nothing is in common").reason
        };
        let [iops, latency] = [SteadyTest::Iops, SteadyTest::Latency].map(steady);
        // A step of either has the same name: those that prepare have.
        assert_eq!(step_names(&iops), step_names(&latency));
        let other = "which have no load in common; compare runs of one test";
        assert_eq!(
            why(&[&iops], &[&latency]),
            format!("they are of different tests (iops and latency), {other}")
        );
        let plain = record(&[StreamShape::default()]);
        assert_eq!(why(&[&plain], &[&iops]), format!("they are of different tests (none and iops), {other}"));
        let mixed = "side mixes runs of several tests (latency, iops)";
        assert_eq!(why(&[&iops], &[&latency, &iops]), format!("the other {mixed}, {other}"));
        assert_eq!(why(&[&latency, &iops], &[&latency, &iops]), format!("the first {mixed}, {other}"));
        // Nothing of either was measured.
        assert!(why(&[&iops], &[&iops]).starts_with("they have no cell in common"));
        let curve = |over| asked(Question::Curve { limits: Vec::new(), over });
        let (depths, rates) = (curve(LoadAxis::Depth), curve(LoadAxis::Rate));
        assert!(why(&[&depths], &[&rates]).starts_with("they have no load in common: "));
        assert!(why(&[&depths, &rates], &[&depths]).starts_with("they have no load in common: "));
    }
}
