//! The answer to the question that a run was made for, as a document and as an exit code: at the end of the run and whenever
//! it is reported again. For people it is in the report itself.

use crate::diagnose::printable;
use crate::exit::Exit;
use fathom_analysis::objective::{HeldBack, Margin, Objective, State, Trial, Undecided};
use fathom_analysis::thresholds::{Kept, Verdict};
use fathom_report::{FindingSummary, Summary, Together, objective};
use fathom_schema::{Question, Record};
use serde_json::{Value, json};

/// The document of the answer to the run's question, and what it comes to for scripts. Of a run without a question, null.
pub(crate) fn of_summary(record: &Record, summary: &Summary) -> (String, Exit) {
    let (document, exit) = document(record, summary);
    (written(&document), exit)
}

/// The report's document with the answer as one more field, where the run was made for a question.
pub(crate) fn within(record: &Record, summary: &Summary) -> String {
    let report = fathom_report::json(summary);
    match document(record, summary) {
        (Value::Null, _) => report,
        (answer, _) => {
            let mut whole: Value = serde_json::from_str(&report).expect("it was just written");
            whole["answer"] = answer;
            written(&whole)
        }
    }
}

/// The answer as rows for a spreadsheet; none of a run that was made for no question.
pub(crate) fn rows(record: &Record, summary: &Summary) -> Option<String> {
    let (document, _) = document(record, summary);
    (!document.is_null()).then(|| fathom_report::figures_csv(&document))
}

fn written(document: &Value) -> String {
    serde_json::to_string_pretty(document).expect("it has only string keys") + "\n"
}

fn document(record: &Record, summary: &Summary) -> (Value, Exit) {
    let (mut document, exit) = answered(record, summary);
    if !document.is_null() {
        document["run"] = json!(record.started.run);
        document["doubts"] = json!(doubts(summary));
    }
    (document, exit)
}

/// The answer to the question, with what became of thresholds beside it; null where nothing was asked.
fn answered(record: &Record, summary: &Summary) -> (Value, Exit) {
    let (mut answer, exit) = of_question(record, summary);
    let Some(all) = &summary.thresholds else { return (answer, exit) };
    let (verdict, of_thresholds) = match all.iter().map(|one| one.verdict).max() {
        // None of none is kept.
        None => ("nothing_measured", Exit::Inconclusive),
        Some(worst) => {
            let exit = match worst {
                Verdict::Kept => Exit::Ok,
                Verdict::TooFew | Verdict::Undecided => Exit::Inconclusive,
                Verdict::Breached => Exit::Threshold,
            };
            (worst.name(), exit)
        }
    };
    if answer.is_null() {
        answer = json!({ "verdict": verdict });
    } else {
        answer["thresholds_verdict"] = json!(verdict);
    }
    let sentence = summary.sentence().unwrap_or_default();
    answer["sentence"] = match &summary.unanswered {
        Some(unanswered) => json!(format!("{} {sentence}", unanswered.sentence())),
        None => json!(sentence),
    };
    answer["thresholds"] = all.iter().map(kept).collect();
    (answer, if exit == Exit::Ok { of_thresholds } else { exit })
}

fn of_question(record: &Record, summary: &Summary) -> (Value, Exit) {
    let Some(together) = &summary.together else {
        let exit = if summary.unanswered.is_some() { Exit::Inconclusive } else { Exit::Ok };
        let unanswered = summary.unanswered.as_ref();
        return (
            unanswered
                .map_or(Value::Null, |unanswered| json!({ "sentence": unanswered.why, "verdict": null })),
            exit,
        );
    };
    match together {
        Together::Steady(found) => (super::steady::document(found), super::steady::exit(found)),
        Together::Scan(found) => (super::scan::document(found), super::scan::exit(found)),
        Together::Curve(found) => {
            let limits = match &record.started.question {
                Some(Question::Curve { limits, .. }) => limits.as_slice(),
                _ => &[],
            };
            (super::load::document(found, limits), Exit::Ok)
        }
        Together::Objective(asked) => {
            let exit = match asked.found.state {
                State::Met => Exit::Ok,
                State::TooFew | State::Undecided | State::Unfinished | State::DepthLimited => {
                    Exit::Inconclusive
                }
                State::NotMet | State::Overloaded => Exit::Threshold,
            };
            (objective_document(&asked.found, asked.wanted), exit)
        }
    }
}

/// Findings that speak against the figures.
fn doubts(summary: &Summary) -> Vec<String> {
    let findings = summary.validity.iter().filter(|finding| finding.severity != "info");
    let told = |finding: &FindingSummary| {
        format!("{} {}: {}", finding.severity.to_uppercase(), finding.id, printable(&finding.evidence))
    };
    findings.map(told).collect()
}

fn kept(one: &Kept) -> Value {
    let Kept { step, threshold, found, verdict, needs, waiting } = one;
    json!({
        "step": step,
        "threshold": threshold.to_string(),
        "found": found.figure(),
        "kept": *verdict == Verdict::Kept,
        "verdict": verdict.name(),
        "needs": needs,
        "waiting": waiting,
    })
}

fn objective_document(found: &Objective, wanted: Option<f64>) -> Value {
    let Objective {
        rate,
        state,
        missed,
        reached,
        alone,
        undecided,
        held_back,
        margins,
        trials,
        trials_take_s,
        remarks,
    } = found;
    json!({
        "sentence": objective::sentence(found, wanted),
        "verdict": state.name(),
        "wanted": wanted,
        "rate": rate,
        "missed": missed,
        "reached": reached.map(|reached| reached.value),
        "reached_interval": reached.and_then(|reached| reached.interval).map(|(low, high)| [low, high]),
        "alone": alone.map(|(goal, seconds)| json!({
            "statistic": goal.statistic(),
            "limit_s": goal.limit.as_secs_f64(),
            "found_s": seconds,
        })),
        "undecided": undecided.map(|Undecided { goal, alone, is_alone, lowest, there }| json!({
            "statistic": goal.statistic(),
            "limit_s": goal.limit.as_secs_f64(),
            "at_alone": is_alone,
            "alone_s": alone.value,
            "alone_interval_s": alone.interval.map(|(low, high)| [low, high]),
            "lowest": lowest,
            "lowest_s": there.value,
            "lowest_interval_s": there.interval.map(|(low, high)| [low, high]),
        })),
        "held_back": held_back.map(|HeldBack { slots, rate, done, each_s, is_done: _ }| json!({
            "slots": slots,
            "rate": rate,
            "done": done,
            "each_s": each_s,
        })),
        "goals": margins.iter().map(|Margin { goal, worst_s, left, together_s, is_split: _, is_single: _ }| json!({
            "statistic": goal.statistic(),
            "limit_s": goal.limit.as_secs_f64(),
            "worst_s": worst_s,
            "margin": left,
            "together_s": together_s.map(|together| together.value),
            "together_interval_s": together_s.and_then(|together| together.interval).map(|(low, high)| [low, high]),
        })).collect::<Vec<_>>(),
        "trials": trials.iter().map(|Trial { rate, offered, done, latencies_s, intervals_s: _, needs, state, held_back: _ }| json!({
            "rate": rate,
            "offered": offered,
            "done": done,
            "latencies_s": latencies_s,
            "needs": needs,
            "verdict": state.name(),
        })).collect::<Vec<_>>(),
        "trials_take_s": trials_take_s,
        "remarks": remarks,
    })
}
