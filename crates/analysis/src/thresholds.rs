//! Whether the steps of a run keep thresholds.

use crate::load::{self, LoadPoint};
use crate::pts;
use fathom_metrics::Latency;
use fathom_schema::{Bound, BoundFigure, Question, Record, Stop, Threshold};

/// A threshold and what was found in one step.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// The step's name.
    pub step: String,
    /// The threshold.
    pub threshold: Threshold,
    /// What it was judged by.
    pub found: Found,
    /// Whether it is kept.
    pub is_kept: bool,
    /// Operations that its percentile takes, where the step has fewer: the largest latency stands for it then.
    pub needs: Option<u64>,
}

/// The figure of a threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Found {
    /// Per second, seconds or a count.
    Figure(f64),
    /// No operation that it is about was completed.
    NoOperations,
    /// The step has no end: it was killed, or still goes on.
    NoEnd,
}

impl Found {
    /// The figure, where there is one.
    pub const fn figure(self) -> Option<f64> {
        match self {
            Self::Figure(figure) => Some(figure),
            Self::NoOperations | Self::NoEnd => None,
        }
    }
}

/// Every threshold of a run on every step; one that measured nothing keeps none. Steps of a PTS test that prepare its targets
/// measure nothing that is asked about, nor do its loads that are done again because they were cut off or empty, nor
/// those of an objective that offer no rate. Of rounds that have to become steady the figures are those of the measurement
/// window, and so are the thresholds; errors alone count in all rounds. `None` where the run has no thresholds.
pub fn thresholds(record: &Record) -> Option<Vec<Kept>> {
    let thresholds = record.thresholds();
    let windows = if thresholds.is_empty() { Vec::new() } else { pts::windows(record) };
    let is_in_window = |step: &fathom_schema::StepRecord| {
        let place = pts::Place::of(&step.started.step);
        let of_part = place.and_then(|place| Some((place, windows.get(place.part)?.as_ref()?)));
        of_part.is_none_or(|(place, window)| window.contains(&place.round))
    };
    let is_measured = |step: &&fathom_schema::StepRecord| match &record.started.question {
        Some(Question::Steady(question)) => {
            let is_cut = step.finished.as_ref().is_none_or(|finished| finished.stop == Stop::Interrupted);
            !is_cut
                && !pts::is_conditioning(question, &step.started.step)
                && pts::repeated(record, step).is_none()
        }
        // At full speed an objective only looks what there is to try.
        Some(Question::Objective { .. }) => load::rate(&step.started.step).is_some(),
        _ => true,
    };
    let each = |step: &fathom_schema::StepRecord| -> Vec<Kept> {
        let is_in_window = is_in_window(step);
        thresholds
            .iter()
            .filter(|threshold| is_in_window || is_of_errors(threshold))
            .map(|&threshold| {
                let kind = match threshold {
                    Threshold::Bound(bound) => bound.kind,
                    _ => None,
                };
                let finished = step.finished.as_ref();
                let point = finished
                    .and_then(|finished| LoadPoint::of_kind(&step.started.step, &finished.streams, kind));
                let (found, is_kept) = match &point {
                    Some(point) => {
                        let (figure, is_kept) = judged(point, &threshold);
                        (Found::Figure(figure), is_kept)
                    }
                    None if finished.is_none() => (Found::NoEnd, false),
                    None => (Found::NoOperations, false),
                };
                let needs = point.as_ref().zip(quantile(&threshold)).and_then(|(point, q)| point.needs(q));
                Kept { step: step.started.step.name.clone(), threshold, found, is_kept, needs }
            })
            .collect()
    };
    (!thresholds.is_empty()).then(|| record.steps.iter().filter(is_measured).flat_map(each).collect())
}

fn is_of_errors(threshold: &Threshold) -> bool {
    matches!(
        threshold,
        Threshold::ErrorsBelow(_) | Threshold::Bound(Bound { figure: BoundFigure::Errors, .. })
    )
}

fn quantile(threshold: &Threshold) -> Option<f64> {
    match threshold {
        Threshold::Latency(goal) => goal.quantile,
        Threshold::Bound(Bound { figure: BoundFigure::Quantile(q), .. }) => Some(*q),
        _ => None,
    }
}

/// The figure of a threshold, and whether it is kept.
pub fn judged(point: &LoadPoint, threshold: &Threshold) -> (f64, bool) {
    match threshold {
        Threshold::IopsAbove(least) => (point.rate, point.rate >= *least),
        Threshold::IopsBelow(most) => (point.rate, point.rate < *most),
        Threshold::BandwidthAbove(least) => (point.bytes_per_s, point.bytes_per_s >= *least),
        Threshold::Latency(goal) => {
            let found = point.latency_s(goal);
            (found, found <= goal.limit.as_secs_f64())
        }
        Threshold::Bound(bound) => {
            let found = match bound.figure {
                BoundFigure::Iops => point.rate,
                BoundFigure::Bandwidth => point.bytes_per_s,
                BoundFigure::Mean => point.mean_s,
                BoundFigure::Quantile(q) => {
                    Latency::quantile_of(&point.response, q).map_or(0.0, |ns| ns as f64 / 1e9)
                }
                BoundFigure::Max => point.response.moments.max_ns as f64 / 1e9,
                BoundFigure::Errors => point.errors as f64,
            };
            (found, bound.holds(found) || found == bound.limit && bound.figure != BoundFigure::Errors)
        }
        Threshold::ErrorsBelow(most) => (point.errors as f64, point.errors < *most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{StreamShape, push, record};
    use fathom_schema::OperationKind;

    #[test]
    fn what_was_not_measured_is_neither_zero_nor_kept() {
        let shape = StreamShape::default();
        let mut record = record(std::slice::from_ref(&shape));
        push(&mut record, &[StreamShape { rates: vec![(OperationKind::Read, 0)], ..shape.clone() }], 1);
        push(&mut record, &[shape], 2);
        record.steps[2].finished = None;
        assert_eq!(thresholds(&record), None, "nothing was asked");
        record.started.thresholds =
            ["p99<1s", "iops<1k", "errors<1"].map(|text| text.parse().expect("a bound")).to_vec();
        let all = thresholds(&record).expect("they were asked for");
        let found: Vec<Option<f64>> = all.iter().map(|one| one.found.figure()).collect();
        assert!(found[..3].iter().all(Option::is_some), "{all:#?}");
        assert!(found[3..].iter().all(Option::is_none), "{all:#?}");
        assert_eq!((all[3].found, all[6].found), (Found::NoOperations, Found::NoEnd));
        assert!(all[3..].iter().all(|one| !one.is_kept), "{all:#?}");
        // As version 0.1 wrote them.
        let bounds = std::mem::take(&mut record.started.thresholds);
        record.started.question = Some(Question::Thresholds { thresholds: bounds });
        assert_eq!(thresholds(&record), Some(all));
        // Of a kind that did nothing, while others did.
        let thresholds_of = "write.p99<1s".parse().expect("a bound");
        record.started.question = Some(Question::Thresholds { thresholds: vec![thresholds_of] });
        assert_eq!(thresholds(&record).expect("it was asked for")[0].found, Found::NoOperations);
    }

    #[test]
    fn a_load_of_a_test_that_is_done_again_breaks_no_threshold() {
        let shape = StreamShape::default();
        let empty = StreamShape { rates: vec![(OperationKind::Read, 0)], ..shape.clone() };
        let of = |loads: &[&StreamShape], last: Stop| {
            let mut all = record(&[loads[0].clone()]);
            for (load, index) in loads.iter().zip(0..).skip(1) {
                push(&mut all, &[(*load).clone()], index);
            }
            for step in &mut all.steps {
                step.started.step.parameters = pts::Place::default().parameters("");
            }
            all.steps.last_mut().and_then(|step| step.finished.as_mut()).expect("it has an end").stop = last;
            all.started.question = Some(Question::Steady(xsr()));
            all.started.thresholds = vec!["iops>1".parse().expect("a bound")];
            let all = thresholds(&all).expect("one was asked for");
            all.iter().map(|one| one.is_kept).collect::<Vec<_>>()
        };
        assert_eq!(of(&[&empty, &shape], Stop::Complete), [true], "the empty one was run again");
        assert_eq!(of(&[&empty, &empty], Stop::Complete), [false], "as empty again: it ended the test");
        assert_eq!(of(&[&shape, &empty], Stop::Interrupted), [true], "the last one was cut");
        assert_eq!(of(&[&shape, &shape], Stop::Complete), [true, true]);
    }

    /// Rounds that are on their way to the steady state prepare for it.
    #[test]
    fn rounds_before_the_window_keep_and_break_nothing() {
        let question = fathom_schema::SteadyQuestion { test: fathom_schema::SteadyTest::Latency, ..xsr() };
        let flow = pts::Flow::of(&question);
        let (part, cells) = flow
            .parts
            .iter()
            .enumerate()
            .find_map(|(index, part)| match &part.kind {
                pts::PartKind::Rounds(rounds) => Some((index, rounds.cells.len())),
                _ => None,
            })
            .expect("it has rounds");
        // Parts come in their order, and none is left out.
        let before = (0..part).map(|part| (pts::Place { part, round: 0, cell: 0 }, 1));
        let of_rounds = |rates: &'static [u64]| {
            let rounds = rates.iter().enumerate();
            rounds.flat_map(move |(round, &rate)| {
                (0..cells).map(move |cell| (pts::Place { part, round, cell }, rate))
            })
        };
        let kept = |rates: &'static [u64], bound: &str| {
            let loads: Vec<(pts::Place, u64)> = before.clone().chain(of_rounds(rates)).collect();
            let shape = |rate: u64| StreamShape {
                rates: vec![(OperationKind::Read, rate)],
                ..StreamShape::default()
            };
            let mut all = record(&[shape(loads[0].1)]);
            for ((_, rate), index) in loads.iter().zip(0..).skip(1) {
                push(&mut all, &[shape(*rate)], index);
            }
            for (step, (place, _)) in all.steps.iter_mut().zip(&loads) {
                step.started.step.parameters = place.parameters("");
            }
            all.started.question = Some(Question::Steady(question.clone()));
            all.started.thresholds = vec![bound.parse().expect("a bound")];
            let all = thresholds(&all).expect("one was asked for");
            (all.len(), all.iter().filter(|one| one.is_kept).count())
        };
        let slow_first: &[u64] = &[100, 150, 200, 200, 200, 200, 200];
        assert_eq!(kept(slow_first, "iops>180"), (5 * cells, 5 * cells), "five rounds are the window");
        assert_eq!(kept(slow_first, "iops>210"), (5 * cells, 0));
        assert_eq!(kept(slow_first, "errors<1"), (7 * cells, 7 * cells), "an error is one in any round");
        // Of one that did not become steady they are the last five.
        assert_eq!(kept(&[100, 200, 100, 200, 100, 200], "iops>150"), (5 * cells, 3 * cells));
    }

    fn xsr() -> fathom_schema::SteadyQuestion {
        use fathom_schema::{DeviceClass, SteadyQuestion, SteadyTest, TrimBy};
        SteadyQuestion {
            test: SteadyTest::Xsr,
            class: DeviceClass::Enterprise,
            haste: 6000,
            targets: Vec::new(),
            size: None,
            engine: None,
            direct: None,
            purge: false,
            purge_by: TrimBy::Discard,
            purged_before: None,
            block_min: 512,
            has_histogram: true,
            active_percent: 100,
            part: None,
            resumed: None,
        }
    }
}
