//! An objective for people: whether a load is carried, in one sentence, its tables and its drawings. Owns which figures are
//! shown; they are `fathom_analysis::objective`'s.

use crate::curve::number;
use fathom_analysis::objective::{Objective, State};
use fathom_units::Iops;

/// Whether the load is carried, or which is, in one sentence.
pub fn sentence(found: &Objective, wanted: Option<f64>) -> String {
    let margin = found.margins.iter().map(|(_, _, left)| *left).fold(f64::INFINITY, f64::min);
    let percent = |share: f64| format!("{} %", number((share.abs() * 1000.0).round() / 10.0));
    match (wanted, found.rate, found.state) {
        (Some(rate), _, State::Met) => {
            format!("Met: {}/s are carried, with {} to spare to the limit.", Iops(rate), percent(margin))
        }
        (Some(rate), _, State::NotMet) => {
            format!("Not met: {}/s are carried, but {} above the limit.", Iops(rate), percent(margin))
        }
        (Some(rate), _, State::Overloaded) => {
            let done = found.trials.iter().map(|trial| trial.done).fold(f64::INFINITY, f64::min);
            format!(
                "Overloaded: of {}/s only {}/s are done, the others wait ever longer.",
                Iops(rate),
                Iops(done)
            )
        }
        (None, Some(rate), _) => match found.missed {
            Some(missed) => {
                format!(
                    "{}/s is the highest rate that keeps the limits; {}/s does not.",
                    Iops(rate),
                    Iops(missed)
                )
            }
            None => format!("{}/s keeps the limits, the highest rate that was tried.", Iops(rate)),
        },
        (None, None, _) => {
            let lowest = found.trials.iter().map(|trial| trial.rate).fold(f64::INFINITY, f64::min);
            format!("Not met: even {}/s does not keep the limits.", Iops(lowest))
        }
    }
}
