//! Rows of what writes carry and of synchronising operations.

use super::super::settings::{Settings, Switch};
use super::super::values::pattern;
use super::Priority::{P0, P1, P2};
use super::{NO_BOOLEAN, OptionRow, Value, accepted, built};

pub(super) const ROWS: &[OptionRow] = &[
    built("zero_buffers", &[], P1, Value::Flag(|s, flag| s.content.zero = Switch::given(flag))),
    built("refill_buffers", &[], P0, Value::Flag(|s, flag| s.content.refill = Switch::given(flag))),
    built("scramble_buffers", &[], P1, Value::Boolean(|s, flag| s.content.scramble = Switch::given(flag))),
    built(
        "buffer_pattern",
        &[],
        P1,
        Value::Text(|s, text, _| {
            // What a file holds is read when the job is put together; here it stands for any.
            pattern(text, &|_| Ok(vec![0]))?;
            text.clone_into(&mut s.content.pattern);
            // As fio: it turns others over as they stand at its place, which is not what was given for them.
            let reads = s.operations.rw.contains("read") || s.operations.rw.ends_with("rw");
            s.content.refill.on = s.content.compress > 0 || reads;
            s.content.scramble.on = false;
            s.content.zero.on = false;
            Ok(())
        }),
    ),
    built(
        "buffer_compress_percentage",
        &[],
        P0,
        Value::Count(0, 100, |s, percent| {
            s.content.compress = percent;
            s.content.is_mixed = true;
        }),
    ),
    built("buffer_compress_chunk", &[], P0, Value::Bytes(0, 1 << 30, |s, bytes| s.content.chunk = bytes)),
    built(
        "dedupe_percentage",
        &[],
        P1,
        Value::Count(0, 100, |s, percent| {
            s.content.dedupe = percent;
            s.content.is_mixed = true;
            s.content.refill.on = true;
        }),
    ),
    built(
        "dedupe_mode",
        &[],
        P1,
        Value::Word(&["repeat", "working_set"], |s, word, _| {
            s.content.working_set.0 = word == "working_set";
        }),
    ),
    built(
        "dedupe_working_set_percentage",
        &[],
        P1,
        Value::Count(0, 100, |s, percent| s.content.working_set.1 = percent),
    ),
    accepted(
        "dedupe_global",
        &[],
        P2,
        NO_BOOLEAN,
        "each job repeats what it wrote itself, not what others wrote",
    ),
    // Synchronising.
    built("fsync", &[], P0, Value::Count(0, u32::MAX as u64, |s, n| s.content.fsync = n)),
    built("fdatasync", &[], P0, Value::Count(0, u32::MAX as u64, |s, n| s.content.fdatasync = n)),
    built("sync_file_range", &[], P1, Value::Text(|s, text, _| range_sync(s, text))),
    accepted(
        "write_barrier",
        &[],
        P2,
        Value::Count(0, u32::MAX as u64, |_, _| {}),
        "no engine on Linux has such a flag, in fio neither; fdatasync=N makes writes stable",
    ),
    built("end_fsync", &[], P0, Value::Boolean(|s, flag| s.content.end_fsync = flag)),
    built("fsync_on_close", &[], P0, Value::Boolean(|s, flag| s.content.fsync_on_close = flag)),
    built("end_syncfs", &[], P1, Value::Boolean(|s, flag| s.content.end_syncfs = flag)),
];

/// `write:8`, `wait_before,write,wait_after:8`: flags, and after how many writes.
fn range_sync(s: &mut Settings, text: &str) -> Result<(), String> {
    for part in text.split(',') {
        let (word, every) = part.split_once(':').map_or((part, None), |(word, every)| (word, Some(every)));
        let words = ["wait_before", "write", "wait_after"];
        let Some(flag) = words.iter().position(|&known| known == word.trim()) else {
            return Err(format!("\"{word}\" is not one of {}", words.join(", ")));
        };
        s.content.range_sync.0[flag] = true;
        if let Some(every) = every {
            let every = every.trim();
            s.content.range_sync.1 =
                every.parse().map_err(|_| format!("\"{every}\" is no number of writes"))?;
        }
    }
    // As with fio: without a number, after each.
    s.content.range_sync.1 = s.content.range_sync.1.max(1);
    Ok(())
}
