//! Rows of what writes carry and of synchronising operations.

use super::super::values::pattern;
use super::Priority::{P0, P1, P2};
use super::{OptionRow, Value, accepted, built, not_yet};

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
];
