//! What the curves, or the objectives, of two sides come to, beside each other: whether their intervals overlap.

use super::questions;
use crate::load::curve;
use crate::objective::objective;
use crate::scaling::Estimate;
use fathom_schema::{Question, Record};

/// A figure that is read off the whole curve of a side, all its runs together.
#[derive(Debug, Clone, PartialEq)]
pub struct CurveFigure {
    /// `peak`, `load at the peak`, `knee`, `load at 95 %`, or `highest rate within the limits`.
    pub name: &'static str,
    /// Whether it is operations per second; else a load.
    pub is_rate: bool,
    /// Of the first side, if it has one.
    pub base: Option<Estimate>,
    /// Of the second.
    pub new: Option<Estimate>,
    /// Whether the intervals overlap; `None` where one has none.
    pub overlap: Option<bool>,
}

/// The figures of two sides that are all of curves, or all of objectives; none else. The highest rate within limits is another
/// figure where the limits are others.
pub(super) fn figures(base: &[&Record], new: &[&Record]) -> Vec<CurveFigure> {
    let is_one_question = [base, new].into_iter().all(questions::is_one);
    if !is_one_question || questions::goals(base[0]) != questions::goals(new[0]) {
        return Vec::new();
    }
    let (left, right) = (of_side(base), of_side(new));
    let pairs = left.into_iter().filter_map(|(name, is_rate, base)| {
        let (.., new) = right.iter().find(|(other, of_rate, _)| (*other, *of_rate) == (name, is_rate))?;
        Some((name, is_rate, base, *new))
    });
    pairs
        .filter(|(.., base, new)| base.is_some() || new.is_some())
        .map(|(name, is_rate, base, new)| {
            let intervals = base.and_then(|one| one.interval).zip(new.and_then(|one| one.interval));
            let overlap = intervals.map(|(a, b)| a.0 <= b.1 && b.0 <= a.1);
            CurveFigure { name, is_rate, base, new, overlap }
        })
        .collect()
}

type Named = (&'static str, bool, Option<Estimate>);

/// Of one side, its runs as one: what each measured is of the same curve.
fn of_side(side: &[&Record]) -> Vec<Named> {
    let mut pooled = side[0].clone();
    for run in &side[1..] {
        pooled.steps.extend(run.steps.iter().cloned());
    }
    match &pooled.started.question {
        // With the limits that were asked about: as chance has it, intervals come out a little different with others.
        Some(Question::Curve { limits, .. }) => {
            let Some(found) = curve(&pooled, limits) else { return Vec::new() };
            // Over rates the answers are in operations per second as well.
            let peak = found.answers.peak;
            vec![
                ("peak", true, Some(peak.x)),
                ("load at the peak", false, Some(peak.n)),
                ("knee", false, found.answers.knee),
                ("load at 95 %", false, found.answers.n_at_95_percent),
            ]
        }
        Some(Question::Objective { rate: None, goals }) => {
            let Some(found) = objective(&pooled, None, goals) else { return Vec::new() };
            let highest = found.rate.map(|value| Estimate { value, interval: None });
            vec![("highest rate within the limits", true, found.reached.or(highest))]
        }
        _ => Vec::new(),
    }
}
