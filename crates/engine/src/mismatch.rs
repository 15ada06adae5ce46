//! What verification found, in words and as totals: a mismatch with its file, place, what should be there and what is.

use crate::verify::{Found, Verified};
use fathom_pattern::{Evidence, Mismatch};
use fathom_schema::{MismatchKind, Step, StreamTally, VerifyTotals, WorkerPlan};

/// Totals of one worker; `reads`: what it read in its verify phases.
pub(crate) fn totals(verified: &Verified, reads: Option<&StreamTally>) -> VerifyTotals {
    let Verified {
        elapsed,
        checked,
        superseded,
        mismatches,
        kept: _,
        dump_failure: _,
        finished,
        finished_last,
    } = verified;
    let counts = MismatchKind::ALL.into_iter().zip(*mismatches);
    VerifyTotals {
        tally: reads.cloned().unwrap_or_default(),
        elapsed: *elapsed,
        checked: *checked,
        superseded: *superseded,
        mismatches: counts.filter(|&(_, count)| count > 0).collect(),
        finished: *finished,
        finished_last: finished_last.iter().copied().collect(),
    }
}

/// One line for each mismatch that was kept, and one for those that were not.
pub(crate) fn describe(step: &Step, plan: &WorkerPlan, verified: Option<&Verified>) -> Vec<String> {
    let Some(Verified { mismatches, kept, dump_failure, .. }) = verified else { return Vec::new() };
    let mut lines: Vec<String> = kept
        .iter()
        .map(|found| {
            let target = plan.extents[found.extent as usize].target as usize;
            line(&step.targets[target].name, found)
        })
        .collect();
    let more = mismatches.iter().sum::<u64>() - kept.len() as u64;
    if more > 0 {
        lines.push(format!("{more} more blocks did not hold what was written"));
    }
    if let Some(reason) = dump_failure {
        lines.push(format!("blocks could not be dumped: {reason}"));
    }
    lines
}

fn line(target: &str, found: &Found) -> String {
    let Found { extent: _, offset, length, mismatch, dumps } = found;
    let Mismatch { kind, at, length: part, expected, found } = mismatch;
    let (name, expected_hex, found_hex) = (field(expected), shown(expected), shown(found));
    let (expected, found) = (decimal(expected), decimal(found));
    let what = match kind {
        MismatchKind::Zeroed => "holds only zeroes".to_owned(),
        MismatchKind::NoHeader => told("has no header", "magic", &expected_hex, &found_hex),
        MismatchKind::Header => told("has a damaged header", &name, &expected_hex, &found_hex),
        MismatchKind::Length => told("has a header of another length", "length", &expected, &found),
        MismatchKind::Misplaced => told("holds the block of another place", "offset", &expected, &found),
        MismatchKind::Stale => told("holds an earlier write", "number or seed", &expected_hex, &found_hex),
        MismatchKind::OtherKind => told("is protected by something else", "kind", &expected, &found),
        MismatchKind::Data => told("has damaged data", "digest", &expected_hex, &found_hex),
        MismatchKind::Pattern => told("does not hold the pattern", &name, &expected_hex, &found_hex),
        MismatchKind::Untrimmed => told("was trimmed and is not zeroes", "byte", &expected_hex, &found_hex),
        MismatchKind::Short => told("ends too soon", "length", &expected, &found),
    };
    let place = offset + u64::from(*at);
    let of = if part == length { String::new() } else { format!(" (read of {length} B at {offset})") };
    let names: Vec<String> = dumps.iter().map(|name| format!("\"{name}\"")).collect();
    let dumped =
        if names.is_empty() { String::new() } else { format!("; dumped as {}", names.join(" and ")) };
    format!("verification of {target} at offset {place}, length {part}{of}: the block {what}{dumped}")
}

/// What of a damaged header, and which byte of a pattern, is wrong.
fn field(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Length(_) => "length".to_owned(),
        Evidence::Offset(_) => "offset".to_owned(),
        Evidence::Byte { at, .. } => format!("byte {at}"),
        Evidence::None | Evidence::Number(_) | Evidence::Digest(_) => "checksum".to_owned(),
    }
}

fn told(what: &str, name: &str, expected: &str, found: &str) -> String {
    format!("{what}; {name} expected {expected}, found {found}")
}

/// Places and lengths are decimal; all else is hexadecimal.
fn decimal(evidence: &Evidence) -> String {
    if let Evidence::Number(number) = evidence { number.to_string() } else { shown(evidence) }
}

fn shown(evidence: &Evidence) -> String {
    match evidence {
        Evidence::None => "nothing".to_owned(),
        Evidence::Number(number) => format!("{number:#x}"),
        Evidence::Length(number) | Evidence::Offset(number) => number.to_string(),
        Evidence::Byte { value, at: _ } => format!("{value:#x}"),
        Evidence::Digest(digest) => digest.bytes().iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}
