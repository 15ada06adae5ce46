//! Rows of what writes carry, of synchronising operations, and of verification.

use super::super::values::pattern;
use super::Priority::{P0, P1, P2};
use super::{NO_BOOLEAN, OptionRow, Value, accepted, built, not_yet};

pub(super) const ROWS: &[OptionRow] = &[
    built("zero_buffers", &[], P1, Value::Flag(|s, flag| s.content.zero = flag)),
    built("refill_buffers", &[], P0, Value::Flag(|s, flag| s.content.refill = Some(flag))),
    built("scramble_buffers", &[], P1, Value::Boolean(|s, flag| s.content.scramble = flag)),
    built(
        "buffer_pattern",
        &[],
        P1,
        Value::Text(|s, text, _| {
            s.content.pattern = pattern(text)?;
            s.content.scramble = false;
            s.content.zero = false;
            if s.content.compress == 0 {
                s.content.refill = Some(false);
            }
            Ok(())
        }),
    ),
    built(
        "buffer_compress_percentage",
        &[],
        P0,
        Value::Count(0, 100, |s, percent| s.content.compress = percent),
    ),
    built("buffer_compress_chunk", &[], P0, Value::Bytes(1, 1 << 30, |s, bytes| s.content.chunk = bytes)),
    built("dedupe_percentage", &[], P1, Value::Count(0, 100, |s, percent| s.content.dedupe = percent)),
    not_yet("dedupe_mode", &[], P1, &["repeat"]),
    accepted("dedupe_working_set_percentage", &[], P1, Value::Any, ""),
    not_yet("dedupe_global", &[], P2, &["0"]),
    // Synchronising.
    built("fsync", &[], P0, Value::Count(0, u32::MAX as u64, |s, n| s.content.fsync = n)),
    built("fdatasync", &[], P0, Value::Count(0, u32::MAX as u64, |s, n| s.content.fdatasync = n)),
    not_yet("sync_file_range", &[], P1, &[]),
    not_yet("write_barrier", &[], P2, &["0"]),
    built("end_fsync", &[], P0, Value::Boolean(|s, flag| s.content.end_fsync = flag)),
    built("fsync_on_close", &[], P0, Value::Boolean(|s, flag| s.content.fsync_on_close = flag)),
    not_yet("end_syncfs", &[], P1, &["0"]),
    // Verification: what only shapes it has no effect as long as verify itself is an error.
    not_yet("verify", &[], P0, &["0", "none"]),
    accepted("do_verify", &[], P0, NO_BOOLEAN, ""),
    not_yet("verify_only", &[], P1, &["0"]),
    not_yet("verify_pattern", &[], P0, &[]),
    accepted("verify_fatal", &[], P0, NO_BOOLEAN, ""),
    accepted("verify_dump", &[], P0, NO_BOOLEAN, ""),
    accepted("verify_policy", &[], P2, Value::Any, ""),
    accepted("verify_interval", &[], P1, Value::Any, ""),
    accepted("verify_offset", &[], P1, Value::Any, ""),
    accepted("verify_pattern_interval", &[], P2, Value::Any, ""),
    accepted("verify_async", &[], P1, Value::Any, ""),
    accepted("verify_async_cpus", &[], P2, Value::Any, ""),
    accepted("verify_backlog", &[], P0, Value::Any, ""),
    accepted("verify_backlog_batch", &[], P1, Value::Any, ""),
    accepted("experimental_verify", &[], P1, NO_BOOLEAN, ""),
    not_yet("verify_state_load", &[], P1, &["0"]),
    accepted("verify_state_save", &[], P1, NO_BOOLEAN, ""),
    accepted("verify_write_sequence", &[], P1, NO_BOOLEAN, ""),
    accepted("verify_header_seed", &[], P1, NO_BOOLEAN, ""),
    accepted("verifysort", &[], P2, Value::Any, "fio itself took it out"),
    accepted("verifysort_nr", &[], P2, Value::Any, "fio itself took it out"),
    not_yet("trim_percentage", &[], P1, &["0"]),
    accepted("trim_verify_zero", &[], P2, NO_BOOLEAN, ""),
    not_yet("trim_backlog", &[], P2, &["0"]),
    accepted("trim_backlog_batch", &[], P2, Value::Any, ""),
];
