//! The loads of a test that its figures are of, each with the steps that measured it: those of the measurement window, and
//! none that only prepared for it. For those who set two tests beside each other.

use super::answer::{PartAnswer, answer};
use super::flow::{Cell, Figure, PartKind, Place, operating_points};
use super::{Flow, Measure};
use fathom_schema::{Question, Record, SteadyTest, StepRecord, Stop};
use std::collections::BTreeMap;

/// Title of the rounds of a test that prepare for those that it is about.
const PREPARES: &str = "preconditioning";

/// One load of a test as it was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct CellSteps<'a> {
    /// Name that it has in every run of the test.
    pub name: String,
    /// What the test tells of it.
    pub figure: Figure,
    /// The steps that measured it: of rounds those of the window, else all.
    pub steps: Vec<&'a StepRecord>,
}

/// The loads of a record's test, in order; empty where the record is of no test, or has not come to one.
pub fn cells(record: &Record) -> Vec<CellSteps<'_>> {
    let (Some(Question::Steady(question)), Some(answer)) = (&record.started.question, answer(record)) else {
        return Vec::new();
    };
    let is_whole =
        |step: &&StepRecord| step.finished.as_ref().is_some_and(|finished| finished.stop == Stop::Complete);
    let whole = record.steps.iter().filter(is_whole);
    // What was done again stands in place of what was done before.
    let steps: BTreeMap<Place, &StepRecord> =
        whole.filter_map(|step| Some((Place::of(&step.started.step)?, step))).collect();
    let mut all = Vec::new();
    let mut means: Option<(super::Rounds, Vec<Measure>)> = None;
    for (part, (plan, found)) in Flow::of(question).parts.iter().zip(&answer.parts).enumerate() {
        let at = |round: usize, cell: usize| steps.get(&Place { part, round, cell }).copied();
        match (&plan.kind, found) {
            (PartKind::Rounds(rounds), PartAnswer::Rounds(found)) => {
                means = Some((found.rounds.clone(), found.means.clone()));
                let shown = rounds.cells.iter().enumerate().filter(|(_, cell)| !cell.row.is_empty());
                for (index, cell) in shown.filter(|_| plan.title != PREPARES) {
                    let steps: Vec<&StepRecord> =
                        found.window.clone().filter_map(|round| at(round, index)).collect();
                    let name = rounds_name(cell, &rounds.cells);
                    all.push(CellSteps { name, figure: rounds.figure, steps });
                }
            }
            (PartKind::Sequence(cells), PartAnswer::Sequence(_)) => {
                // The long load of a latency test is about what its rounds are about.
                let of_latency = question.test == SteadyTest::Latency;
                let figure = if of_latency { Figure::MeanLatency } else { Figure::Iops };
                let mut number = 0;
                let mut from = 0;
                for same in cells.chunk_by(|a, b| a == b) {
                    number += 1;
                    let steps: Vec<&StepRecord> =
                        (from..from + same.len()).filter_map(|index| at(0, index)).collect();
                    from += same.len();
                    let is_only = same.len() == cells.len();
                    let place =
                        if is_only { String::new() } else { format!(" {number}, {}", same[0].name()) };
                    all.push(CellSteps { name: plan.title.clone() + &place, figure, steps });
                }
            }
            (PartKind::OperatingPoints, PartAnswer::Sequence(_)) => {
                let Some((rounds, means)) = &means else { continue };
                let means: Vec<(f64, f64)> = means.iter().map(|mean| (mean.iops, mean.mean_s)).collect();
                let cells = operating_points(rounds, &means, question.haste);
                for (index, cell) in cells.iter().enumerate().filter(|(_, cell)| !cell.row.is_empty()) {
                    let name = format!("{} operating point", cell.row);
                    all.push(CellSteps {
                        name,
                        figure: Figure::Iops,
                        steps: at(0, index).into_iter().collect(),
                    });
                }
            }
            _ => {}
        }
    }
    all.retain(|cell| !cell.steps.is_empty());
    all
}

/// The name of a cell of a matrix: its threads and depth where these differ among those shown.
fn rounds_name(cell: &Cell, all: &[Cell]) -> String {
    let is_other =
        |other: &&Cell| !other.row.is_empty() && (other.threads, other.depth) != (cell.threads, cell.depth);
    if all.iter().find(is_other).is_some() {
        format!("{} T{}Q{}", cell.name(), cell.threads, cell.depth)
    } else {
        cell.name()
    }
}
