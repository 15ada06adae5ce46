//! Experiments that pick the next step by the results so far: which load comes next, and when it is enough. Pure: results
//! in, settings out. Does not know the job, nor how a step is run.

mod curve;
mod objective;

pub use curve::CurveSearch;
pub use objective::ObjectiveSearch;

use fathom_analysis::load::LoadPoint;
use fathom_model::Literal;

/// What a step changes of the job: option paths and values.
pub(crate) type Settings = Vec<(String, Literal)>;

/// The rule of a search.
#[derive(Debug, Clone)]
pub enum Search {
    /// Depths, from one operation in flight to where more of them bring nothing.
    Curve(CurveSearch),
    /// Rates, towards the highest that keeps its latencies, or one rate to be proven.
    Objective(ObjectiveSearch),
}

impl Search {
    /// The next step; `None` when the question is answered. `result` is what the step before showed; `None` at the first
    /// call, and when a step measured nothing.
    pub(crate) fn next(&mut self, result: Option<&LoadPoint>) -> Option<Settings> {
        match self {
            Self::Curve(search) => search.next(result),
            Self::Objective(search) => search.next(result),
        }
    }

    /// The least and the most that it may ask for, for judging the job beforehand.
    pub(crate) fn extremes(&self) -> Vec<(String, Vec<Literal>)> {
        match self {
            Self::Curve(search) => search.extremes(),
            Self::Objective(search) => search.extremes(),
        }
    }

    /// About how many steps it takes.
    pub(crate) fn steps_hint(&self) -> usize {
        match self {
            Self::Curve(search) => search.steps_hint(),
            Self::Objective(search) => search.steps_hint(),
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
