//! The answer to the question that a run was made for, from its record: at the end of the run and whenever it is reported
//! again.

use super::{number, time, with_interval};
use crate::diagnose::printable;
use crate::exit::Exit;
use fathom_analysis::load::curve;
use fathom_analysis::objective::{Objective, State, Trial, objective as objective_of};
use fathom_analysis::thresholds::{Kept, thresholds};
use fathom_analysis::{pts, scan, validity};
use fathom_report::objective;
use fathom_schema::{Question, Record, Severity, Threshold};
use fathom_units::Iops;
use serde_json::{Value, json};

/// The page or the document, and what it comes to for scripts. Of a run without a question, nothing.
pub(crate) fn of_record(record: &Record, as_json: bool) -> (String, Exit) {
    let (text, document, exit) = match &record.started.question {
        None => return (String::new(), Exit::Ok),
        Some(Question::Thresholds { thresholds: bounds }) => {
            let all = thresholds(record, bounds);
            let exit = if all.iter().all(|one| one.is_kept) { Exit::Ok } else { Exit::Threshold };
            // The report below has the findings.
            if !as_json {
                return (thresholds_page(&all), exit);
            }
            (String::new(), thresholds_document(&all), exit)
        }
        Some(Question::Steady(_)) => match pts::answer(record) {
            // The report has its tables itself.
            Some(found) if !as_json => return (String::new(), super::steady::exit(&found)),
            Some(found) => (String::new(), super::steady::document(&found), super::steady::exit(&found)),
            None => nothing("the run is of no test"),
        },
        Some(Question::Scan(_)) => match scan::scan(record) {
            Some(found) if !as_json => return (String::new(), super::scan::exit(&found)),
            Some(found) => (String::new(), super::scan::document(&found), super::scan::exit(&found)),
            None => nothing("the run is no scan"),
        },
        Some(Question::Curve { limits, .. }) => match curve(record, limits) {
            Some(found) => (super::load::page(&found), super::load::document(&found, limits), Exit::Ok),
            None => nothing("the run measured fewer than two loads: no curve can be drawn"),
        },
        Some(Question::Objective { rate, goals }) => match objective_of(record, *rate, goals) {
            Some(found) => {
                let exit = if found.state == State::Met { Exit::Ok } else { Exit::Threshold };
                (objective_page(&found, *rate), objective_document(&found, *rate), exit)
            }
            None => nothing("the run tried no rate: there is no answer"),
        },
    };
    let doubts: Vec<String> = validity::findings(record)
        .into_iter()
        .filter(|finding| finding.severity > Severity::Info)
        .map(|finding| {
            let word = if finding.severity == Severity::Invalid { "INVALID" } else { "WARN" };
            format!("{word} {}: {}", finding.id, printable(&finding.evidence))
        })
        .collect();
    if as_json {
        let mut document = document;
        document["run"] = json!(record.started.run);
        document["doubts"] = json!(doubts);
        let text = serde_json::to_string_pretty(&document).expect("it has only string keys") + "\n";
        return (text, exit);
    }
    let doubts: String = doubts.iter().map(|doubt| format!("  {doubt}\n")).collect();
    let doubts = if doubts.is_empty() { doubts } else { format!("\nCan it be trusted?\n{doubts}") };
    (text + &doubts, exit)
}

/// The answer to the run's question, to stand above its figures; empty for a plain run.
pub(crate) fn above(record: &Record) -> String {
    let (text, _) = of_record(record, false);
    if text.is_empty() { text } else { text + "\n" }
}

/// A report's document with the answer as one more field, where the run was made for a question.
pub(crate) fn within(record: &Record, document: String) -> String {
    let (answer, _) = of_record(record, true);
    match (serde_json::from_str(&answer), serde_json::from_str::<Value>(&document)) {
        (Ok(answer), Ok(mut whole)) => {
            whole["answer"] = answer;
            serde_json::to_string_pretty(&whole).expect("it has only string keys") + "\n"
        }
        _ => document,
    }
}

fn nothing(why: &str) -> (String, Value, Exit) {
    (format!("{why}\n"), json!({ "sentence": why }), Exit::Inconclusive)
}

fn thresholds_sentence(all: &[Kept]) -> String {
    match all.iter().filter(|one| !one.is_kept).count() {
        0 => format!("Kept: all {} thresholds.", all.len()),
        broken => format!("Breached: {broken} of {} thresholds.", all.len()),
    }
}

fn thresholds_page(all: &[Kept]) -> String {
    let mut text = thresholds_sentence(all) + "\n";
    for Kept { step, threshold, found, is_kept, needs } in all {
        let figure = match threshold {
            Threshold::IopsAbove(_) | Threshold::IopsBelow(_) => Iops(*found).to_string(),
            Threshold::BandwidthAbove(_) => fathom_units::BytesPerSec(*found).to_string(),
            Threshold::Latency(_) => time(*found),
            Threshold::ErrorsBelow(_) => number(*found),
            Threshold::Bound(bound) => bound.print(*found),
        };
        let verdict = if *is_kept { "kept" } else { "breached" };
        let figure = match needs {
            Some(needs) => format!("n/a (needs n ≥ {needs}), {figure} at most"),
            None => figure,
        };
        text += &format!("  {verdict:<9} {threshold}: {figure}, step {}\n", printable(step));
    }
    text
}

fn thresholds_document(all: &[Kept]) -> Value {
    let row = |Kept { step, threshold, found, is_kept, needs }: &Kept| {
        json!({
            "step": step,
            "threshold": threshold.to_string(),
            "found": found,
            "kept": is_kept,
            "needs": needs,
        })
    };
    json!({
        "sentence": thresholds_sentence(all),
        "verdict": if all.iter().all(|one| one.is_kept) { "kept" } else { "breached" },
        "thresholds": all.iter().map(row).collect::<Vec<_>>(),
    })
}

fn objective_page(found: &Objective, wanted: Option<f64>) -> String {
    let Objective { rate: _, state: _, missed: _, reached, margins, trials, remarks } = found;
    let mut text = objective::sentence(found, wanted) + "\n\n";
    if let Some(reached) = reached {
        let rate = with_interval(reached, "/s", &|x| Iops(x).to_string());
        text += &format!("  by all trials near it, the limit is reached at {rate}\n");
    }
    for (goal, worst, left) in margins {
        let side = if *left >= 0.0 { "below" } else { "above" };
        text += &format!(
            "  {goal}: {}, {} % {side}\n",
            time(*worst),
            number((left.abs() * 1000.0).round() / 10.0)
        );
    }
    let titles: Vec<String> =
        margins.iter().map(|(goal, _, _)| format!("{:>10}", goal.statistic())).collect();
    text += &format!("\n      rate      done{}  verdict\n", titles.concat());
    for Trial { rate, done, latencies_s, state } in trials {
        let latencies: String =
            latencies_s.iter().take(margins.len()).map(|s| format!("{:>10}", time(*s))).collect();
        text += &format!(
            "{:>10}{:>10}{latencies}  {}\n",
            Iops(*rate).to_string(),
            Iops(*done).to_string(),
            state.name().replace('_', " ")
        );
    }
    for remark in remarks {
        text += &format!("  note: {remark}\n");
    }
    text
}

fn objective_document(found: &Objective, wanted: Option<f64>) -> Value {
    let Objective { rate, state, missed, reached, margins, trials, remarks } = found;
    json!({
        "sentence": objective::sentence(found, wanted),
        "verdict": state.name(),
        "wanted": wanted,
        "rate": rate,
        "missed": missed,
        "reached": reached.map(|reached| reached.value),
        "reached_interval": reached.and_then(|reached| reached.interval).map(|(low, high)| [low, high]),
        "goals": margins.iter().map(|(goal, worst, left)| json!({
            "statistic": goal.statistic(),
            "limit_s": goal.limit.as_secs_f64(),
            "worst_s": worst,
            "margin": left,
        })).collect::<Vec<_>>(),
        "trials": trials.iter().map(|Trial { rate, done, latencies_s, state }| json!({
            "rate": rate,
            "done": done,
            "latencies_s": latencies_s,
            "verdict": state.name(),
        })).collect::<Vec<_>>(),
        "remarks": remarks,
    })
}
