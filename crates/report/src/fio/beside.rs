//! What fathom puts beside fio's own figures, under the one key `fathom`: figures that fio has no field for, or whose field
//! means something else, and whether the result can be trusted. fio's fields stay as they are.

use super::figures::EntryFigures;
use super::node::Node::{self, Array, Float, Integer, Object, Text};
use crate::summary::{errors, quantile, response, severity_name};
use fathom_analysis::validity;
use fathom_schema::{KindTally, LatencyTally, OperationKind, Record};

/// Percentiles, by nearest rank, so that none is above the maximum.
const PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 99.99];

/// The object `fathom` of the document. No key below its `jobs` is one of fio's: scripts that look for a key by its name
/// alone find no more of them than with fio.
pub(super) fn beside(record: &Record, entries: &[EntryFigures<'_>]) -> Node {
    let findings = validity::findings(record).into_iter().map(|finding| {
        Node::object([
            ("id", Text(finding.id)),
            ("severity", Text(severity_name(finding.severity).to_owned())),
            ("evidence", Text(finding.evidence)),
            ("remedy", Text(finding.remedy)),
        ])
    });
    let notes = record.notes.iter().map(|note| {
        Node::object([
            ("severity", Text(severity_name(note.severity).to_owned())),
            ("message", Text(note.message.clone())),
        ])
    });
    // What could not start is stored nowhere.
    let run = (!record.started.run.is_empty()).then(|| ("run", Text(record.started.run.clone())));
    let rest = [
        ("jobs", Array(entries.iter().map(job).collect())),
        ("findings", Array(findings.collect())),
        ("notes", Array(notes.collect())),
    ];
    let all = [("version", Text(record.started.tool_version.clone()))].into_iter().chain(run).chain(rest);
    Object(all.map(|(name, value)| (name.to_owned(), value)).collect())
}

fn job(figures: &EntryFigures<'_>) -> Node {
    let mut job = vec![("job".to_owned(), Text(figures.entry.jobname.clone()))];
    for tally in &figures.sums.tally.kinds {
        job.push((format!("{}s", tally.kind.name()), direction(figures, tally)));
    }
    Object(job)
}

fn direction(figures: &EntryFigures<'_>, tally: &KindTally) -> Node {
    let seconds = figures.sums.runtime[tally.kind.index()].as_secs_f64();
    let per_s = |n: u64| Float(if seconds > 0.0 { n as f64 / seconds } else { 0.0 });
    let mut direction = vec![
        ("completed_ios", Integer(tally.operations)),
        ("failed_ios", Integer(errors(tally))),
        ("runtime_s", Float(seconds)),
        ("completed_per_s", per_s(tally.operations)),
    ];
    if tally.kind != OperationKind::Sync {
        direction.push(("bytes_per_s", per_s(tally.bytes)));
    }
    direction.push(("service_ns", latency(&tally.service)));
    direction.push(("response_ns", latency(response(tally))));
    Object(direction.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn latency(tally: &LatencyTally) -> Node {
    let percentiles = PERCENTILES
        .into_iter()
        .filter_map(|percent| Some((format!("p{percent}"), Integer(quantile(tally, percent / 100.0)?))));
    Node::object([
        ("mean_ns", Float(tally.moments.mean_ns())),
        ("max_ns", Integer(tally.moments.max_ns)),
        ("percentiles_ns", Object(percentiles.collect())),
    ])
}
