//! The answer of a scan as a document.

use crate::exit::Exit;
use fathom_analysis::scan::{Area, Scan, Zone};
use serde_json::{Value, json};

/// What it comes to for scripts.
pub(super) fn exit(scan: &Scan) -> Exit {
    if !scan.unreadable.is_empty() {
        Exit::IoErrors
    } else if scan.is_complete && scan.skipped.is_empty() {
        Exit::Ok
    } else {
        Exit::Inconclusive
    }
}

/// All of it; docs/questions.md explains it.
pub(super) fn document(scan: &Scan) -> Value {
    let Scan { question, zones, unreadable, errors_once, slow, slow_once, skipped, is_complete } = scan;
    let verdict = match (unreadable.is_empty(), slow.is_empty() && zones.iter().all(|zone| !zone.is_slow)) {
        (false, _) => "unreadable",
        (true, false) => "slow",
        // What was not read is not known to be sound.
        (true, true) if !skipped.is_empty() => "incomplete",
        (true, true) => "sound",
    };
    let areas = |areas: &[Area]| areas.iter().map(area).collect::<Vec<_>>();
    json!({
        "sentence": fathom_report::scan_sentence(scan),
        "verdict": verdict,
        "complete": is_complete,
        "size_bytes": question.size.0,
        "sector_bytes": question.sector,
        "block_bytes": question.block,
        "slow_from_s": question.slow.as_secs_f64(),
        "whole": question.sample_bytes.is_none(),
        "zones": zones.iter().map(zone).collect::<Vec<_>>(),
        "unreadable": areas(unreadable),
        "errors_once": areas(errors_once),
        "slow": slow.iter().map(|(at, s)| {
            let mut found = area(at);
            found["took_s"] = json!(s);
            found
        }).collect::<Vec<_>>(),
        "slow_once": areas(slow_once),
        "skipped": areas(skipped),
    })
}

fn area(Area { start, length }: &Area) -> Value {
    json!({ "first_byte": start, "bytes": length })
}

fn zone(zone: &Zone) -> Value {
    let Zone { area, bytes_per_s, mean_s, max_s, errors, classes, is_slow, was_slow } = zone;
    json!({
        "first_byte": area.start,
        "bytes": area.length,
        "bytes_per_s": bytes_per_s,
        "mean_s": mean_s,
        "max_s": max_s,
        "errors": errors,
        "classes": classes,
        "slow": is_slow,
        "slow_once": was_slow,
    })
}
