//! The job as it ran: steps with every option resolved. Owns which of many steps are shown, and how much of one; does not know
//! how a shape sets them.

use crate::view::{StepSummary, Summary, Together};
use fathom_analysis::pts::PartAnswer;

/// Characters shown of a resolved step; one of thousands of workers is read as JSON.
const RESOLVED_MAX: usize = 64 * 1024;
/// What is said of one that is longer.
pub(crate) const CUT: &str = "cut here; JSON has the rest";

/// A step as JSON, and whether it was cut.
pub(crate) fn text(step: &StepSummary) -> (String, bool) {
    let mut text = serde_json::to_string_pretty(&step.resolved).expect("a step has only string keys");
    let end = text.char_indices().nth(RESOLVED_MAX).map(|(at, _)| at);
    if let Some(end) = end {
        text.truncate(end);
    }
    (text, end.is_some())
}

/// The first step of each part of a run whose steps are hundreds: those of a part differ in depth, size, mix and place only.
pub(crate) fn of_each_part(summary: &Summary) -> Vec<&StepSummary> {
    let mut shown: Vec<&StepSummary> = Vec::new();
    for step in &summary.steps {
        if shown.iter().all(|other| part(other) != part(step)) {
            shown.push(step);
        }
    }
    shown
}

/// The first step that measured something: what only conditions is none, where another was begun.
pub(crate) fn first(summary: &Summary) -> Option<&StepSummary> {
    let conditions = |step: &StepSummary| {
        let Some(Together::Steady(answer)) = &summary.together else { return false };
        let found = part(step).parse().ok().and_then(|part: usize| answer.parts.get(part));
        matches!(found, Some(PartAnswer::Conditioning(_)))
    };
    let measured = |step: &&StepSummary| step.total.all.operations > 0 && !conditions(step);
    summary.steps.iter().find(measured).or(summary.steps.first())
}

/// Where those are that are not shown.
pub(crate) fn elsewhere(summary: &Summary) -> String {
    format!("JSON has those of all steps (steps[].resolved): fathom report {} --format json", summary.run)
}

/// What part of a test a step is of, or what kind of reads of a scan it does.
fn part(step: &StepSummary) -> &str {
    let value = |name: &str| {
        let found = step.parameters.iter().find(|parameter| parameter.name == name);
        found.map(|parameter| parameter.value.as_str())
    };
    // "access 3" is one of many, and a number alone is a zone.
    let of_scan = || value("scan.zone").map(|zone| zone.trim_end_matches(|c: char| c.is_ascii_digit()));
    value("steady.part").or_else(of_scan).unwrap_or_default()
}
