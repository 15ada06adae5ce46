//! Experiments that pick the next step by the results so far: which load comes next, and when it is enough. Pure: results
//! in, settings out. Does not know the job, nor how a step is run.

mod curve;
mod objective;
mod rates;
mod scan;
mod steady;

pub use curve::{CurveSearch, paced};
pub use objective::ObjectiveSearch;
pub use rates::{RateOf, RateSearch};
pub use scan::ScanSearch;
pub use steady::SteadySearch;

use crate::points::Label;
use fathom_analysis::load::LoadPoint;
use fathom_model::Literal;
use fathom_schema::{Step, StepFinished, Stop};

/// What a step changes of the job: option paths and values.
pub(crate) type Settings = Vec<(String, Literal)>;

/// A step that a search wants.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Choice {
    /// What it changes of the job.
    pub settings: Settings,
    /// What it is called, where that is not what it changes.
    pub label: Option<Label>,
}

impl From<Settings> for Choice {
    fn from(settings: Settings) -> Self {
        Self { settings, label: None }
    }
}

/// The rule of a search.
#[derive(Debug, Clone)]
pub enum Search {
    /// Depths, from one operation in flight to where more of them bring nothing.
    Curve(CurveSearch),
    /// Rates, towards the highest that keeps its latencies, or one rate to be proven.
    Objective(ObjectiveSearch),
    /// Rates, from a tenth of what the targets do to all of it, or given ones.
    Rates(Box<RateSearch>),
    /// Zones over a target, and a closer look where it is slow or cannot be read.
    Scan(Box<ScanSearch>),
    /// The parts and rounds of a test of SNIA's PTS.
    Steady(Box<SteadySearch>),
}

impl Search {
    /// The next step; `None` when the question is answered. `finished` is the step before, and its end; absent at the first
    /// call.
    pub(crate) fn next(&mut self, finished: Option<(&Step, &StepFinished)>) -> Option<Choice> {
        if let Self::Scan(search) = self {
            // Where nothing could be read, it looks closer.
            return search.next(finished);
        }
        let result = finished.and_then(|(step, finished)| LoadPoint::of(step, &finished.streams));
        if finished.is_some() && result.is_none() {
            // A step that measured nothing says nothing about the next.
            let is_whole = finished.is_some_and(|(_, finished)| finished.stop == Stop::Complete);
            return match self {
                Self::Steady(search) if is_whole => search.again(),
                _ => None,
            };
        }
        match self {
            Self::Curve(search) => search.next(result.as_ref()).map(Choice::from),
            Self::Objective(search) => search.next(result.as_ref()).map(Choice::from),
            Self::Rates(search) => search.next(result.as_ref()).map(Choice::from),
            Self::Steady(search) => search.next(result.as_ref()),
            Self::Scan(search) => search.next(finished),
        }
    }

    /// Tells it of the step that its choice has become, in which it may set what no option does.
    pub(crate) fn built(&mut self, step: &mut Step) {
        match self {
            Self::Curve(_) | Self::Objective(_) | Self::Rates(_) | Self::Scan(_) => {}
            Self::Steady(search) => search.built(step),
        }
    }

    /// The least and the most that it may ask for, for judging the job beforehand.
    pub(crate) fn extremes(&self) -> Vec<Choice> {
        match self {
            Self::Curve(search) => search.extremes().into_iter().map(Choice::from).collect(),
            Self::Objective(search) => vec![search.extreme().into()],
            Self::Rates(search) => search.extremes().into_iter().map(Choice::from).collect(),
            Self::Steady(search) => search.extremes(),
            Self::Scan(search) => search.extremes(),
        }
    }

    /// Whether its steps are offered rates of its own.
    pub(crate) const fn offers_rates(&self) -> bool {
        match self {
            Self::Objective(_) | Self::Rates(_) => true,
            Self::Curve(_) | Self::Steady(_) | Self::Scan(_) => false,
        }
    }

    /// How many steps it takes at most, where that is known.
    pub(crate) fn steps_max(&self) -> Option<usize> {
        match self {
            Self::Curve(search) => search.steps_max(),
            Self::Objective(_) | Self::Rates(_) | Self::Steady(_) | Self::Scan(_) => None,
        }
    }

    /// About how many steps it takes.
    pub(crate) fn steps_hint(&self) -> usize {
        match self {
            Self::Curve(search) => search.steps_hint(),
            Self::Objective(search) => search.steps_hint(),
            Self::Rates(search) => search.steps_hint(),
            Self::Steady(search) => search.steps_hint(),
            Self::Scan(search) => search.steps_hint(),
        }
    }
}

fn depth(n: u32) -> (String, Literal) {
    ("stream.queue_depth".to_owned(), Literal::Integer(i64::from(n)))
}

fn rate(per_second: f64) -> (String, Literal) {
    ("stream.rate".to_owned(), Literal::Text(format!("{per_second:.3}/s")))
}

fn full_speed() -> (String, Literal) {
    ("stream.rate".to_owned(), Literal::Text("max".to_owned()))
}

/// An open loop at a rate, with so many queue slots and the arrivals named, or those of the job.
fn open(slots: u32, per_second: f64, arrival: Option<&str>) -> Settings {
    let arrival = arrival.map(|name| ("stream.arrival".to_owned(), Literal::Text(name.to_owned())));
    [depth(slots), rate(per_second)].into_iter().chain(arrival).collect()
}
