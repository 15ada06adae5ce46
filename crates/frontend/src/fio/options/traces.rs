//! Rows of traces: what is replayed, and how.

use super::super::values::{Unit, names};
use super::Priority::{P1, P2};
use super::{NO_BOOLEAN, OptionRow, Status, Value, accepted, built, number_of, row};

/// Why traces are not merged.
const MERGE: Status =
    Status::Refused(&[], "merge the traces with fio (--merge-blktrace-only), and replay what it writes");

/// Largest factor of a trace's time or offsets.
const FACTOR_MAX: u64 = 1_000_000;

pub(super) const ROWS: &[OptionRow] = &[
    built(
        "read_iolog",
        &[],
        P1,
        Value::Text(|s, text, _| {
            s.trace.files = names(text);
            if s.trace.files.is_empty() { Err("it names no file".to_owned()) } else { Ok(()) }
        }),
    ),
    accepted(
        "read_iolog_chunked",
        &[],
        P2,
        NO_BOOLEAN,
        "a trace is read before the start, in 24 bytes per operation",
    ),
    built("replay_no_stall", &[], P1, Value::Boolean(|s, flag| s.trace.no_stall = flag)),
    built(
        "replay_redirect",
        &[],
        P1,
        Value::Text(|s, text, _| {
            s.trace.redirect = Some(text.trim().to_owned());
            Ok(())
        }),
    ),
    built("replay_scale", &[], P2, Value::Count(1, FACTOR_MAX, |s, factor| s.trace.scale = factor)),
    built(
        "replay_align",
        &[],
        P2,
        Value::Text(|s, text, misreads| {
            let align = number_of(text, Unit::Bytes, s.kb_base, misreads)?;
            let bytes =
                u64::try_from(align).ok().filter(|bytes| bytes.is_power_of_two() && *bytes <= 1 << 30);
            s.trace.align = bytes.ok_or_else(|| format!("\"{text}\" is no power of two up to 1g"))?;
            Ok(())
        }),
    ),
    built("replay_time_scale", &[], P1, Value::Count(1, FACTOR_MAX, |s, percent| s.trace.percent = percent)),
    built(
        "replay_skip",
        &[],
        P2,
        Value::Text(|s, text, _| {
            for word in text.split(',') {
                match word.trim() {
                    "read" => s.trace.skip[0] = true,
                    "write" => s.trace.skip[1] = true,
                    "trim" => s.trace.skip[2] = true,
                    "sync" => s.trace.skip[3] = true,
                    other => return Err(format!("\"{other}\" is not read, write, trim or sync")),
                }
            }
            Ok(())
        }),
    ),
    row("merge_blktrace_file", &[], P2, MERGE, Value::Any),
    row("merge_blktrace_scalars", &[], P2, MERGE, Value::Any),
    row("merge_blktrace_iters", &[], P2, MERGE, Value::Any),
];
