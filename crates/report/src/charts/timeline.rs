//! What is marked on the time line of a step: what a person noted, when its course changed, when streams came and
//! went, where thresholds lie and when one was first not kept. Owns which of that is drawn; does not know how.

use super::{Series, rounded};
use fathom_analysis::{measured, validity::Moment};
use fathom_schema::{BoundFigure, LatencyGoal, Note, NoteKind, Record, StepRecord, Threshold};
use serde::Serialize;

/// Marks of one step at most: what a reader can tell apart.
const MARKS_MAX: usize = 40;
/// Share of a step by which a stream has to begin later, or end earlier, than the first or last for that to be marked.
const APART_MIN: f64 = 0.02;

/// A moment that is marked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimeMark {
    /// Seconds since the step's start.
    pub at_s: f64,
    /// What it is.
    pub label: String,
}

/// A height that is marked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LimitMark {
    /// Which chart has it: `iops`, `bandwidth` or `latency`.
    pub chart: &'static str,
    /// In operations or bytes per second, or nanoseconds.
    pub at: f64,
    /// What it is.
    pub label: String,
}

/// What people marked during a step, or before it and behind the one before.
pub(crate) fn noted(record: &Record, step: &StepRecord) -> Vec<TimeMark> {
    // A mark has the wall clock's time, as the start of a step does.
    let before_s = step.started.wall_ms.saturating_sub(record.started.wall_ms) as f64 / 1e3;
    // Steps of an earlier run, which this one went on from, have none of its marks.
    let is_of_this_run = step.started.wall_ms >= record.started.wall_ms;
    // Virtual time goes on beyond the wall clock's: what lies in an earlier step is not of this one as well.
    let earlier = record.steps.iter().filter(|other| other.started.index < step.started.index);
    let mut earlier = earlier.filter(|other| other.started.wall_ms >= record.started.wall_ms).peekable();
    let is_first = earlier.peek().is_none();
    let ends = earlier.filter_map(|other| {
        let began_ms = other.started.wall_ms - record.started.wall_ms;
        Some(began_ms as f64 / 1e3 + other.finished.as_ref()?.elapsed.as_secs_f64())
    });
    let earlier_s = ends.fold(0.0, f64::max);
    let is_mark = |note: &&Note| is_of_this_run && note.kind == NoteKind::Mark;
    let marks = record.notes.iter().filter(is_mark).filter_map(|note| {
        let since_s = note.at.as_secs_f64() - before_s;
        // What lies in front of a step, and behind the end of those before it, is at its start.
        let is_between = since_s < 0.0 && (is_first || note.at.as_secs_f64() > earlier_s);
        let at_s = if is_between { 0.0 } else { since_s };
        // "mark at 12 s: …" says when; here its place does.
        let text = note.message.split_once(": ").map_or(note.message.as_str(), |(_, text)| text);
        let is_here = at_s >= 0.0 && note.at.as_secs_f64() >= earlier_s;
        is_here.then(|| TimeMark { at_s, label: text.to_owned() })
    });
    marks.collect()
}

/// All marks of a step, in order.
pub(super) fn marks(
    record: &Record,
    step: &StepRecord,
    moments: &[Moment],
    all: &Series,
    cell_s: f64,
) -> Vec<TimeMark> {
    let end_s = all.iops.len() as f64 * cell_s;
    let noted = noted(record, step).into_iter().filter(|mark| mark.at_s <= end_s);
    let own = moments.iter().filter(|moment| moment.step == step.started.index);
    let course = own.map(|moment| TimeMark { at_s: moment.at.as_secs_f64(), label: moment.label.clone() });
    let broken = record.thresholds().iter().filter_map(|threshold| {
        let at = broken_at(threshold, all)?;
        Some(TimeMark { at_s: at as f64 * cell_s, label: format!("outside {threshold}") })
    });
    let mut marks: Vec<TimeMark> = noted.chain(course).chain(streams(step, end_s)).chain(broken).collect();
    marks.truncate(MARKS_MAX);
    marks.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    for mark in &mut marks {
        mark.at_s = rounded(mark.at_s);
    }
    marks
}

/// Where streams of several begin or end apart from the others.
fn streams(step: &StepRecord, end_s: f64) -> Vec<TimeMark> {
    let measured = measured(step);
    let spans = step.started.step.streams.iter().zip(&measured).filter(|(_, own)| own.window().0 > 0);
    let spans: Vec<(&str, f64, f64)> = spans
        .map(|(stream, own)| (stream.name.as_str(), own.start.as_secs_f64(), own.end.as_secs_f64()))
        .collect();
    let first = spans.iter().map(|span| span.1).fold(f64::INFINITY, f64::min);
    let last = spans.iter().map(|span| span.2).fold(0.0, f64::max);
    let mut marks = Vec::new();
    for (name, from, to) in spans {
        if from > first + APART_MIN * end_s {
            marks.push(TimeMark { at_s: from, label: format!("{name} begins") });
        }
        if to < last - APART_MIN * end_s {
            marks.push(TimeMark { at_s: to, label: format!("{name} ends") });
        }
    }
    marks
}

/// The figure that a threshold bounds, its limit in the unit of the chart, and whether it is to be above.
fn bounded(threshold: &Threshold) -> Option<(BoundFigure, f64, bool)> {
    let latency = |goal: &LatencyGoal| goal.quantile.map_or(BoundFigure::Mean, BoundFigure::Quantile);
    Some(match threshold {
        Threshold::IopsAbove(limit) => (BoundFigure::Iops, *limit, true),
        Threshold::IopsBelow(limit) => (BoundFigure::Iops, *limit, false),
        Threshold::BandwidthAbove(limit) => (BoundFigure::Bandwidth, *limit, true),
        Threshold::Latency(goal) => (latency(goal), goal.limit.0 as f64, false),
        Threshold::ErrorsBelow(_) => return None,
        // Of one kind of operations there is no line that could cross it.
        Threshold::Bound(bound) if bound.kind.is_some() => return None,
        Threshold::Bound(bound) => match bound.figure {
            BoundFigure::Errors => return None,
            BoundFigure::Iops | BoundFigure::Bandwidth => (bound.figure, bound.limit, bound.is_above),
            figure => (figure, bound.limit * 1e9, bound.is_above),
        },
    })
}

/// The first cell whose figure lies outside of a threshold. The threshold is about the whole step, and may be kept
/// all the same.
fn broken_at(threshold: &Threshold, all: &Series) -> Option<usize> {
    let (figure, limit, is_above) = bounded(threshold)?;
    let values = match figure {
        BoundFigure::Iops => &all.iops,
        BoundFigure::Bandwidth => &all.bytes_per_s,
        BoundFigure::Mean => &all.mean_ns,
        BoundFigure::Max => &all.max_ns,
        BoundFigure::Quantile(0.5) => &all.p50_ns,
        BoundFigure::Quantile(0.99) => &all.p99_ns,
        BoundFigure::Quantile(0.999) => &all.p999_ns,
        BoundFigure::Quantile(_) | BoundFigure::Errors => return None,
    };
    values
        .iter()
        .position(|value| value.is_some_and(|value| if is_above { value < limit } else { value > limit }))
}

/// Where thresholds lie.
pub(super) fn limits(record: &Record) -> Vec<LimitMark> {
    let mark = |threshold: &Threshold| {
        let (figure, at, _) = bounded(threshold)?;
        let chart = match figure {
            BoundFigure::Iops => "iops",
            BoundFigure::Bandwidth => "bandwidth",
            _ => "latency",
        };
        Some(LimitMark { chart, at: rounded(at), label: threshold.to_string() })
    };
    record.thresholds().iter().filter_map(mark).collect()
}
