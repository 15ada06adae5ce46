//! What a person noted while a test ran, on the time axis of the part in which it lies. Owns that place; does not know what
//! is drawn there.

use crate::plot::PlotMark;
use crate::summary::note_kind_name;
use crate::view::{NoteSummary, StepSummary, Summary};
use fathom_schema::NoteKind;

/// Marks of one part at most: what a reader can tell apart.
const MARKS_MAX: usize = 40;

/// Marks of a part, at seconds since it began; time between its steps is not counted.
pub(super) fn of_part(summary: &Summary, part: usize) -> Vec<PlotMark> {
    let part = part.to_string();
    let is_of_part = |step: &StepSummary| {
        step.parameters.iter().any(|parameter| parameter.name == "steady.part" && parameter.value == part)
    };
    let mark = note_kind_name(NoteKind::Mark);
    let mut marks = Vec::new();
    let (mut base_s, mut earlier_s) = (0.0, f64::NEG_INFINITY);
    // What was done again, since it had no operation, is in no drawing.
    for step in summary.steps.iter().filter(|step| step.total.all.operations > 0) {
        let length_s = step.elapsed_s.or(step.partial_until_s).unwrap_or(0.0);
        // Steps of an earlier run, which this one went on from, have none of its marks.
        if let Some(since_ms) = step.started_ms.checked_sub(summary.started_ms) {
            // Virtual time goes on beyond the wall clock's: a step begins no sooner than the one before it ended.
            let began_s = (since_ms as f64 / 1e3).max(earlier_s);
            let end_s = began_s + length_s;
            let is_here =
                |note: &&NoteSummary| note.kind == mark && earlier_s < note.at_s && note.at_s <= end_s;
            for note in summary.notes.iter().filter(is_here).filter(|_| is_of_part(step)) {
                // "mark at 12 s: …" says when; here its place does.
                let text = note.message.split_once(": ").map_or(note.message.as_str(), |(_, text)| text);
                // What lies between two steps is at the start of the later.
                marks.push(PlotMark::x(text, base_s + (note.at_s - began_s).max(0.0), None));
            }
            earlier_s = end_s;
        }
        if is_of_part(step) {
            base_s += length_s;
        }
    }
    marks.truncate(MARKS_MAX);
    marks
}
