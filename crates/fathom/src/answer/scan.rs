//! The answer of a scan as a document.

use crate::exit::Exit;
use fathom_analysis::errno_name;
use fathom_analysis::scan::{ACCESS_QUANTILES, Access, Area, Scan, Zone};
use serde_json::{Value, json};

/// What it comes to for scripts.
pub(super) fn exit(scan: &Scan) -> Exit {
    if scan.has_failed() {
        Exit::IoErrors
    } else if scan.is_through() {
        Exit::Ok
    } else {
        Exit::Inconclusive
    }
}

/// All of it; docs/questions.md explains it.
pub(super) fn document(scan: &Scan) -> Value {
    let Scan {
        question,
        zones,
        slow_share,
        unreadable,
        errors_once,
        slow,
        slow_once,
        slow_unproven,
        skipped,
        is_complete,
        access,
        burst,
    } = scan;
    // A zone that nobody has read again may have been disturbed.
    let is_slow = |zone: &Zone| zone.is_slow && (scan.is_complete || !zone.is_unproven);
    let verdict = match (!scan.has_failed(), slow.is_empty() && !zones.iter().any(is_slow)) {
        (false, _) => "unreadable",
        (true, false) => "slow",
        // What was not read is not known to be sound.
        (true, true) if !scan.is_through() => "incomplete",
        (true, true) => "sound",
    };
    let (read, to_read) = scan.read_of();
    let areas = |areas: &[Area]| areas.iter().map(area).collect::<Vec<_>>();
    json!({
        "sentence": fathom_report::scan_sentence(scan),
        "verdict": verdict,
        "complete": is_complete,
        "size_bytes": question.size.0,
        "sector_bytes": question.sector,
        "block_bytes": question.block,
        "slow_from_s": question.slow.as_secs_f64(),
        "whole": question.sample_bytes.is_none() && scan.is_through(),
        "read_bytes": read,
        "to_read_bytes": to_read,
        "order": question.order.name(),
        "rpm": question.rpm,
        "class_limits_s": question.classes_ns.iter().map(|ns| *ns as f64 / 1e9).collect::<Vec<_>>(),
        "slow_zone_share": slow_share,
        "zones": zones.iter().map(zone).collect::<Vec<_>>(),
        "unreadable": unreadable.iter().map(|(at, errno)| {
            let mut found = area(at);
            found["error"] = json!(errno_name(*errno));
            found
        }).collect::<Vec<_>>(),
        "errors_once": areas(errors_once),
        "slow": slow.iter().map(|(at, s)| {
            let mut found = area(at);
            found["took_s"] = json!(s);
            found["read_again"] = json!(!slow_unproven.contains(at));
            found
        }).collect::<Vec<_>>(),
        "slow_once": areas(slow_once),
        "skipped": skipped.iter().map(|(at, why)| {
            let mut found = area(at);
            found["why"] = json!(why.name());
            found
        }).collect::<Vec<_>>(),
        "access": access.as_ref().map(|access| accessed(access, question.access_block.max(question.sector))),
        "burst_bytes_per_s": burst,
    })
}

fn accessed(access: &Access, block: u32) -> Value {
    let has_read = !access.reads.is_empty();
    let (least, most) = access.range_s();
    let known = |s: f64| has_read.then_some(s);
    let quantile = |&quantile: &f64| {
        let found = access.quantile_s(quantile);
        json!({ "quantile": quantile, "s": found.ok(), "needs": found.err() })
    };
    json!({
        "block_bytes": block,
        "operations": access.reads.len(),
        "errors": access.errors,
        "mean_s": known(access.mean_s()),
        "min_s": known(least),
        "max_s": known(most),
        "quantiles": ACCESS_QUANTILES.iter().map(quantile).collect::<Vec<_>>(),
        "reads": access.reads.iter().map(|(at, ns)| json!([at, *ns as f64 / 1e9])).collect::<Vec<_>>(),
    })
}

fn area(Area { start, length }: &Area) -> Value {
    json!({ "first_byte": start, "bytes": length })
}

fn zone(zone: &Zone) -> Value {
    let Zone {
        area,
        bytes_per_s,
        mean_s,
        max_s,
        errors,
        classes,
        variance: _,
        is_slow,
        was_slow,
        is_unproven,
    } = zone;
    // What nothing was read of has neither a speed nor a latency.
    let known = |figure: &f64| zone.worst().map(|_| *figure);
    json!({
        "first_byte": area.start,
        "bytes": area.length,
        "bytes_per_s": known(bytes_per_s),
        "mean_s": known(mean_s),
        "max_s": known(max_s),
        "errors": errors,
        "classes": classes,
        "slow": is_slow,
        "read_again": is_slow.then_some(!is_unproven),
        "slow_once": was_slow,
    })
}
