//! What the curves, or the objectives, of two sides come to, beside each other: whether their intervals overlap, and, of rates that
//! are the better the higher they are, whether they changed.

use super::gate::{Verdict, judge};
use super::questions;
use crate::load::curve;
use crate::objective::objective;
use crate::scaling::Estimate;
use fathom_schema::{Pacing, Question, Record};

/// A figure that is read off the whole curve of a side, all its runs together.
#[derive(Debug, Clone, PartialEq)]
pub struct CurveFigure {
    /// `peak`, `load at the peak`, `knee`, `load at 95 %`, over rates also `rate at twice the idle response time` and such as
    /// `rate at p99 < 10.0 ms`; or `highest rate within the limits`.
    pub name: String,
    /// Whether it is operations per second; else a load.
    pub is_rate: bool,
    /// Of the first side, if it has one.
    pub base: Option<Estimate>,
    /// Of the second.
    pub new: Option<Estimate>,
    /// Whether the intervals overlap; `None` where one has none.
    pub overlap: Option<bool>,
    /// How it changed, of rates that an answer is about; `None` where one side has none with an interval.
    pub change: Option<CurveChange>,
    /// Whether it is what was asked for and one side has none, or they differ by more than the margin and one has no interval.
    pub is_open: bool,
}

/// How a rate changed that is the better the higher it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurveChange {
    /// Relative change.
    pub change: f64,
    /// Its interval, from the ends of both: it holds more often than either of them.
    pub interval: (f64, f64),
    /// The statement.
    pub verdict: Verdict,
    /// Whether it decides the comparison's verdict: the highest rate within limits always does, being what was asked for; of rates read
    /// off a curve those that changed.
    pub decides: bool,
}

impl CurveFigure {
    /// How it changed, where that decides.
    pub fn deciding(&self) -> Option<&CurveChange> {
        self.change.as_ref().filter(|change| change.decides)
    }
}

/// What a figure is to a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Part {
    /// A place on the curve, of which more is neither better nor worse, or which its loads decide about.
    Place,
    /// A rate at which something is reached.
    Reached,
    /// The answer itself.
    Answer,
}

/// The rate that decides nothing.
pub(super) const DOUBLED: &str = "rate at twice the idle response time";

/// The figures of two sides that are all of curves, or all of objectives; none else. The highest rate within limits is another
/// figure where the limits are others.
pub(super) fn figures(base: &[&Record], new: &[&Record], margin: f64) -> Vec<CurveFigure> {
    let is_one_question = [base, new].into_iter().all(questions::is_one);
    if !is_one_question || questions::goals(base[0]) != questions::goals(new[0]) {
        return Vec::new();
    }
    let (left, right) = (of_side(base), of_side(new));
    let pairs = left.into_iter().filter_map(|one| {
        let new = right.iter().find(|other| (&other.name, other.is_rate) == (&one.name, one.is_rate))?.found;
        (one.found.is_some() || new.is_some()).then_some((one, new))
    });
    pairs
        .map(|(Named { name, is_rate, part, found: base }, new)| {
            let intervals = base.and_then(|one| one.interval).zip(new.and_then(|one| one.interval));
            let overlap = intervals.map(|(a, b)| a.0 <= b.1 && b.0 <= a.1);
            let both = base.zip(new).filter(|_| part != Part::Place);
            let change = both.and_then(|(base, new)| changed(&base, &new, margin, part));
            let is_open = part == Part::Answer && change.is_none() && is_apart(base, new, margin);
            CurveFigure { name, is_rate, base, new, overlap, change, is_open }
        })
        .collect()
}

fn changed(base: &Estimate, new: &Estimate, margin: f64, part: Part) -> Option<CurveChange> {
    let (of_base, of_new) = base.interval.zip(new.interval)?;
    let is_positive = of_base.0 > 0.0 && of_new.0 > 0.0 && of_base.1.is_finite() && of_new.1.is_finite();
    let interval = (of_new.0 / of_base.1 - 1.0, of_new.1 / of_base.0 - 1.0);
    let verdict = judge(Some(interval), margin, true);
    let decides = part == Part::Answer || matches!(verdict, Verdict::Regressed | Verdict::Improved);
    is_positive.then(|| CurveChange { change: new.value / base.value - 1.0, interval, verdict, decides })
}

/// Whether one side has none, or they differ by more than the margin.
fn is_apart(base: Option<Estimate>, new: Option<Estimate>, margin: f64) -> bool {
    let is_near = |(base, new): (Estimate, Estimate)| (new.value / base.value - 1.0).abs() <= margin;
    !base.zip(new).is_some_and(is_near)
}

/// How arrivals of offered rates are spaced, where that differs: of curves and objectives rates in common may be missing.
pub(super) fn arrivals(base: &Record, new: &Record) -> Option<super::Difference> {
    let of = |record: &Record| {
        let mut streams = record.steps.iter().flat_map(|step| &step.started.step.streams);
        streams.find_map(|stream| match &stream.pacing {
            Pacing::Open { arrival, .. } => Some(*arrival),
            Pacing::Closed { .. } => None,
        })
    };
    let (left, right) = (of(base)?, of(new)?);
    let (_, left, right) = super::words::differing(&left, &right).into_iter().next()?;
    Some(("arrivals".to_owned(), left, right))
}

/// A figure of one side.
struct Named {
    name: String,
    is_rate: bool,
    part: Part,
    found: Option<Estimate>,
}

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
            let place = |name: &str, is_rate, found| Named {
                name: name.to_owned(),
                is_rate,
                part: Part::Place,
                found,
            };
            let mut all = vec![
                place("peak", true, Some(peak.x)),
                place("load at the peak", false, Some(peak.n)),
                place("knee", false, found.answers.knee),
                place("load at 95 %", false, found.answers.n_at_95_percent),
            ];
            if let Some(rates) = &found.rates {
                // Twice of less time is reached earlier, and no worse for that.
                all.push(place(DOUBLED, true, rates.doubled));
                let reached = |name: String, found| Named { name, is_rate: true, part: Part::Reached, found };
                let limits = limits.iter().zip(&found.answers.latency_limits);
                all.extend(limits.map(|(goal, limit)| reached(format!("rate at {goal}"), limit.x)));
            }
            all
        }
        Some(Question::Objective { rate: None, goals }) => {
            let Some(found) = objective(&pooled, None, goals) else { return Vec::new() };
            let highest = found.rate.map(|value| Estimate { value, interval: None });
            let name = "highest rate within the limits".to_owned();
            vec![Named { name, is_rate: true, part: Part::Answer, found: found.reached.or(highest) }]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(value: f64, interval: (f64, f64)) -> Estimate {
        Estimate { value, interval: Some(interval) }
    }

    /// From the ends of both: 700 to 720 against 3480 to 3510 is 700/3510 − 1 to 720/3480 − 1.
    #[test]
    fn an_answer_decides_by_the_ends_of_both_sides() {
        let (high, low) = (known(3500.0, (3480.0, 3510.0)), known(710.0, (700.0, 720.0)));
        let of = |base: &Estimate, new: &Estimate, part| {
            changed(base, new, 0.03, part).map(|one| (one.verdict, one.decides))
        };
        let found = changed(&high, &low, 0.03, Part::Answer).expect("both are known");
        assert!((found.interval.0 - (700.0 / 3510.0 - 1.0)).abs() < 1e-12, "{found:?}");
        assert!((found.interval.1 - (720.0 / 3480.0 - 1.0)).abs() < 1e-12, "{found:?}");
        assert_eq!(of(&high, &low, Part::Answer), Some((Verdict::Regressed, true)));
        assert_eq!(of(&low, &high, Part::Reached), Some((Verdict::Improved, true)));
        // Of rates read off a curve those that changed decide alone; the answer always does.
        assert_eq!(of(&high, &high, Part::Reached), Some((Verdict::Equivalent, false)));
        assert_eq!(of(&high, &high, Part::Answer), Some((Verdict::Equivalent, true)));
        let rough = known(3500.0, (3000.0, 4000.0));
        assert_eq!(of(&high, &rough, Part::Answer), Some((Verdict::Inconclusive, true)));
        // What has no ends tells no change.
        for unknown in [
            Estimate { value: 1.0, interval: None },
            known(1.0, (0.0, 2.0)),
            known(1.0, (1.0, f64::INFINITY)),
        ] {
            assert_eq!(of(&high, &unknown, Part::Answer), None);
        }
    }

    #[test]
    fn an_answer_that_one_side_lacks_leaves_the_verdict_open() {
        let bare = |value| Some(Estimate { value, interval: None });
        assert!(is_apart(bare(100.0), None, 0.03) && is_apart(None, bare(100.0), 0.03));
        assert!(is_apart(bare(100.0), bare(90.0), 0.03) && !is_apart(bare(100.0), bare(98.0), 0.03));
        assert!(is_apart(bare(0.0), bare(0.0), 0.03), "nothing is near nothing");
    }
}
