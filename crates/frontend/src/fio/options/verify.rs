//! Rows of verification: what protects written data, when it is read back, what a mismatch does.

use super::Priority::{P0, P1, P2};
use super::{OptionRow, Value, accepted, built, refused};
use fathom_model::VerifyPattern;

/// What `verify` takes; `pattern_hdr` came after 3.33.
const KINDS: &[&str] = &[
    "0",
    "md5",
    "crc64",
    "crc32",
    "crc32c-intel",
    "crc32c",
    "crc16",
    "crc7",
    "sha1",
    "sha256",
    "sha512",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "xxhash",
    "meta",
    "pattern",
    "pattern_hdr",
    "null",
];
/// Bytes of the part of fio's header that all kinds of verification have; it cannot be moved into its own place.
const HEADER_BYTES_MIN: u64 = 40;
const ANY_COUNT: u64 = u32::MAX as u64;

pub(super) const ROWS: &[OptionRow] = &[
    built("verify", &[], P0, Value::Word(KINDS, |s, word, _| word.clone_into(&mut s.verify.kind))),
    built("do_verify", &[], P0, Value::Boolean(|s, flag| s.verify.after_pass = flag)),
    built("verify_only", &[], P1, Value::Flag(|s, flag| s.verify.only = flag)),
    built(
        "verify_pattern",
        &[],
        P0,
        Value::Text(|s, text, _| {
            // What a file holds is read when the job is put together; here it stands for any.
            VerifyPattern::parse_with(text, &|_| Ok(vec![0]))?;
            s.verify.pattern = Some(text.to_owned());
            Ok(())
        }),
    ),
    built("verify_fatal", &[], P0, Value::Boolean(|s, flag| s.verify.fatal = flag)),
    built("verify_dump", &[], P0, Value::Boolean(|s, flag| s.verify.dump = flag)),
    refused(
        "verify_policy",
        &[],
        &["completed"],
        "which fsync a write came before is not kept; verify_state_load checks what was completed",
    ),
    built(
        "verify_interval",
        &[],
        P1,
        Value::Bytes(2 * HEADER_BYTES_MIN, ANY_COUNT, |s, bytes| s.verify.interval = bytes),
    ),
    built(
        "verify_offset",
        &[],
        P1,
        Value::Bytes(HEADER_BYTES_MIN, ANY_COUNT, |s, bytes| s.verify.header_at = bytes),
    ),
    built(
        "verify_pattern_interval",
        &[],
        P2,
        Value::Bytes(0, ANY_COUNT, |s, bytes| s.verify.pattern_interval = bytes),
    ),
    accepted("verify_async", &[], P1, Value::Count(0, ANY_COUNT, |_, _| {}), "each job checks its own reads"),
    accepted("verify_async_cpus", &[], P2, Value::Any, "each job checks its own reads"),
    built("verify_backlog", &[], P0, Value::Count(0, ANY_COUNT, |s, n| s.verify.backlog = n)),
    built("verify_backlog_batch", &[], P1, Value::Count(0, ANY_COUNT, |s, n| s.verify.backlog_batch = n)),
    // Writes are always found again by generating their sequence once more; but with it fio reads nothing back meanwhile.
    built("experimental_verify", &[], P1, Value::Boolean(|s, flag| s.verify.experimental = flag)),
    built("verify_state_load", &[], P1, Value::Boolean(|s, flag| s.verify.loads_state = flag)),
    built("verify_state_save", &[], P1, Value::Boolean(|s, flag| s.verify.saves_state = flag)),
    built("verify_write_sequence", &[], P1, Value::Boolean(|s, flag| s.verify.sequence = flag)),
    built("verify_header_seed", &[], P1, Value::Boolean(|s, flag| s.verify.seed = flag)),
    accepted("verifysort", &[], P2, Value::Any, "fio itself took it out"),
    accepted("verifysort_nr", &[], P2, Value::Any, "fio itself took it out"),
    built("trim_percentage", &[], P1, Value::Count(0, 100, |s, percent| s.verify.trim = percent)),
    built("trim_verify_zero", &[], P2, Value::Boolean(|s, flag| s.verify.trim_zero = flag)),
    built("trim_backlog", &[], P2, Value::Count(0, ANY_COUNT, |s, n| s.verify.trim_backlog = n)),
    built("trim_backlog_batch", &[], P2, Value::Count(0, ANY_COUNT, |s, n| s.verify.trim_batch = n)),
];
