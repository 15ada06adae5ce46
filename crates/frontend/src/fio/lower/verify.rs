//! fio's verification as options of a workload: which of its switches hold together, and what fio makes of block sizes that
//! headers do not divide.

use super::super::faults::Faults;
use super::super::settings::{Settings, Verification};
use super::super::state::{self, VerifyState};
use super::super::values::Size;
use super::super::{ParsedJob, Surroundings};
use fathom_model::{Freshness, Span, Verify, VerifyPattern, VerifyWhen, WorkloadOptions};
use fathom_units::{Bytes, Ratio};

/// Bytes of a pattern that fio 3.33 uses: 4 KiB written with one of 3000 bytes repeat after 512.
const CUT_BY_3_33: usize = 512;

/// What fio warns of: without a map, blocks of several sizes lie over one another.
fn tell_of_limits(settings: &Settings, span: Span, sizes: (u64, u64), faults: &mut Faults) {
    if settings.operations.no_random_map && sizes.0 < sizes.1 {
        let message = "with norandommap and several block sizes a block may be written over in part, so that only the last write of \
                       each is checked";
        let place = settings.span("norandommap", span);
        faults.warn("fio.verify-limited", place, message, "leave norandommap out, or use one block size");
    }
}

/// `verify_only` without a kind of verification: as with fio, the word alone keeps a job that writes from writing, by which it must
/// stay.
fn keep_from_writing(options: &mut WorkloadOptions, settings: &Settings, place: Span, faults: &mut Faults) {
    let rw = settings.operations.rw.as_str();
    if !(rw.ends_with("write") || matches!(rw, "rw" | "randrw")) {
        faults.warn("fio.no-effect", place, "verify_only checks nothing without verify", "add verify=crc32c");
        return;
    }
    let message = "verify_only checks nothing without verify, and nothing is written";
    let help = "add verify=crc32c, or leave verify_only out to write";
    faults.warn("fio.no-effect", place, message, help);
    options.verify.set(Verify::Null, place);
    options.verify_when.set(VerifyWhen::Never, place);
    options.verify_only.set(true, place);
}

/// Sets what is read back and checked. `sizes`: smallest and largest write, in bytes, or read where nothing is written.
pub(super) fn set(
    options: &mut WorkloadOptions,
    settings: &Settings,
    span: Span,
    sizes: (u64, u64),
    surroundings: &Surroundings<'_>,
    faults: &mut Faults,
) {
    let verify = &settings.verify;
    let place = settings.span("verify", settings.span("verify_pattern", span));
    let Some(kind) = kind(settings) else {
        if verify.only {
            keep_from_writing(options, settings, settings.span("verify_only", span), faults);
        }
        return;
    };
    let needs_pattern = matches!(kind, Verify::Pattern | Verify::PatternHeader);
    if needs_pattern && verify.pattern.is_none() {
        let message = format!("verify={} has no verify_pattern", verify.kind);
        faults.error("fio.contradiction", place, message, "add verify_pattern=0xdeadbeef, say");
        return;
    }
    let kind = if settings.engine.name == "null" && kind != Verify::Null {
        let message = format!(
            "verify={} reads back and compares nothing with ioengine=null, which keeps no data",
            verify.kind
        );
        faults.warn("fio.no-effect", place, message, "verify on an engine that writes");
        Verify::Null
    } else {
        kind
    };
    options.verify.set(kind, place);
    tell_of_limits(settings, span, sizes, faults);
    if let Some(pattern) = &verify.pattern {
        let place = settings.span("verify_pattern", span);
        match VerifyPattern::parse_with(pattern, surroundings.bytes) {
            Ok(pattern) => {
                let length = pattern.length();
                if length > CUT_BY_3_33 {
                    let message = format!(
                        "verify_pattern has {length} bytes, all of which are used, as by fio 3.41; fio 3.33 uses the first {CUT_BY_3_33}"
                    );
                    let help = format!(
                        "what fio 3.33 wrote is checked with no more than {CUT_BY_3_33} bytes of the pattern"
                    );
                    faults.warn("fio.pattern-length", place, message, help);
                }
                options.verify_pattern.set(pattern, place);
            }
            Err(reason) => {
                let help = "write 0xdeadbeef, \"text\", 'file', %o or a number";
                faults.error("fio.bad-value", place, format!("verify_pattern: {reason}"), help);
            }
        }
    }
    if verify.pattern_interval > 0 {
        let place = settings.span("verify_pattern_interval", span);
        options.verify_pattern_interval.set(Bytes(verify.pattern_interval), place);
    }
    let has_headers = !matches!(kind, Verify::Pattern | Verify::Null);
    if settings.operations.unaligned && sizes.0 < sizes.1 && has_headers {
        let message = "bs_unaligned draws blocks of any length, whose headers lie at no multiple of an interval, so that what is \
                       overwritten in part cannot be told from what is damaged";
        let help = "leave bs_unaligned out, use one block size, or write without verify";
        faults.error("fio.contradiction", settings.span("bs_unaligned", span), message, help);
        return;
    }
    if let Some(interval) = interval(verify.interval, sizes) {
        options.verify_interval.set(Bytes(interval), settings.span("verify_interval", place));
    }
    if verify.header_at > 0 {
        options.verify_header_at.set(Bytes(verify.header_at), settings.span("verify_offset", span));
    }
    set_backlog(options, settings, span, faults);
    // fio's first bad block ends its job, verify_fatal or not, unless errors of verification are gone on from.
    let goes_on = settings.control.continues[2];
    for (flag, option, setting) in [
        (verify.fatal || !goes_on, "verify_fatal", &mut options.verify_fatal),
        (verify.dump, "verify_dump", &mut options.verify_dump),
        (verify.only, "verify_only", &mut options.verify_only),
    ] {
        if flag {
            setting.set(true, settings.span(option, span));
        }
    }
    for (flag, option, setting) in [
        (verify.sequence, "verify_write_sequence", &mut options.verify_sequence),
        (verify.seed, "verify_header_seed", &mut options.verify_seed),
    ] {
        if !flag {
            setting.set(false, settings.span(option, span));
        }
    }
    set_trims(options, settings, span, faults);
    // As fio: every write has content of its own.
    if !settings.content.refill.is_given {
        options.freshness.set(Freshness::Every, place);
    }
}

/// When what a job on so many files writes is read back. Observed with fio 3.33: one that writes until its time is over and never
/// comes to an end before, as engines do that `go_on`, has no time left for reading back; and a backlog is all that others read
/// back while there is one.
pub(super) fn set_when(
    options: &mut WorkloadOptions,
    parsed: &ParsedJob,
    goes_on: bool,
    files: u64,
    faults: &mut Faults,
) {
    let (settings, span) = (&parsed.settings, parsed.span);
    let verify = &settings.verify;
    if options.verify.span().is_none() {
        return;
    }
    if !verify.after_pass {
        options.verify_when.set(VerifyWhen::Never, settings.span("do_verify", span));
        return;
    }
    let rw = settings.operations.rw.as_str();
    let is_mix = matches!(rw, "rw" | "readwrite" | "randrw");
    let is_timed = settings.control.time_based && settings.control.runtime.is_some();
    if !is_timed || verify.only || !(is_mix || rw.ends_with("write")) {
        return;
    }
    let place = settings.span("time_based", span);
    if verify.backlog > 0 && !verify.experimental {
        options.verify_when.set(VerifyWhen::Backlog, place);
    } else if goes_on && (files == 1 || rw.starts_with("rand")) {
        options.verify_when.set(VerifyWhen::Never, place);
        if !is_mix {
            let message = "with time_based all of the runtime is spent on writing, and nothing is read back";
            let help = "add verify_backlog=64, say, or leave time_based out and say how often with loops";
            faults.warn("fio.verify-limited", place, message, help);
        }
    }
}

/// How many writes are read back at a time while the job goes on: none with `experimental_verify`, as with fio.
fn set_backlog(options: &mut WorkloadOptions, settings: &Settings, span: Span, faults: &mut Faults) {
    let verify = &settings.verify;
    if verify.backlog > 0 && verify.experimental {
        let place = settings.span("verify_backlog", span);
        let message = "experimental_verify=1 reads back when the writing is over, whatever verify_backlog says, as with fio";
        faults.warn(
            "fio.no-effect",
            place,
            message,
            "leave experimental_verify out: fathom draws the writes again in any case",
        );
    } else if verify.backlog > 0 {
        options.verify_backlog.set(verify.backlog, settings.span("verify_backlog", span));
        if verify.backlog_batch > 0 {
            let span = settings.span("verify_backlog_batch", span);
            options.verify_backlog_batch.set(verify.backlog_batch, span);
        }
    }
}

/// Trims of what was written, which fio begins only where `trim_backlog` says when.
fn set_trims(options: &mut WorkloadOptions, settings: &Settings, span: Span, faults: &mut Faults) {
    let Verification { trim, trim_backlog, trim_batch, trim_zero, .. } = settings.verify;
    if trim == 0 {
        return;
    }
    let place = settings.span("trim_percentage", span);
    if trim_backlog == 0 {
        let message = "trim_percentage trims nothing without trim_backlog, as with fio";
        faults.warn("fio.no-effect", place, message, "add trim_backlog=64, say");
        return;
    }
    options.verify_trim.set(Ratio::percent(trim as f64), place);
    options.verify_trim_backlog.set(trim_backlog, settings.span("trim_backlog", span));
    if trim_batch > 0 {
        options.verify_trim_batch.set(trim_batch, settings.span("trim_backlog_batch", span));
    }
    if !trim_zero {
        options.verify_trim_zero.set(false, settings.span("trim_verify_zero", span));
    }
}

/// What a state tells of.
pub(super) struct Known {
    /// Writes that are known to have finished, from the first.
    pub(super) count: u64,
    /// Writes that were issued.
    pub(super) of: u64,
    /// Name of the state.
    pub(super) file: String,
}

/// How many writes an earlier run is known to have finished in the job with this number over the whole run, from 1.
pub(super) fn known_writes(
    parsed: &ParsedJob,
    thread_number: usize,
    aux_path: &str,
    surroundings: &Surroundings<'_>,
) -> Result<Known, String> {
    let file = state::file_name(aux_path, &parsed.name, thread_number);
    let bytes = (surroundings.bytes)(&file)?;
    let state = VerifyState::read(&bytes).map_err(|reason| format!("{file}: {reason}"))?;
    let rw = &parsed.settings.operations.rw;
    let [_, (smallest, largest), _] = super::block_sizes(&parsed.settings);
    let draws =
        rw.starts_with("rand") || rw.starts_with("rw") || rw.starts_with("readwrite") || smallest != largest;
    if state.finished == 0 && state.writes > 0 && draws {
        // Sound data would be told to be lost.
        return Err(format!(
            "{file} is of fio, which does not say what had finished and draws places and sizes otherwise: fathom cannot tell what it \
             wrote; check it with fio"
        ));
    }
    let start = start_of_row(parsed);
    let place_of = |number: u64| start.unwrap_or(0).saturating_add(number.saturating_mul(smallest));
    Ok(Known {
        count: state.known_writes(start.is_some().then_some(&place_of as &dyn Fn(u64) -> u64)),
        of: state.writes,
        file,
    })
}

/// Where the writes of a job begin that go on block by block from there; `None` of others.
fn start_of_row(parsed: &ParsedJob) -> Option<u64> {
    let Settings { operations, files, control, .. } = &parsed.settings;
    let is_plain = operations.rw == "write"
        && operations.postfix.is_none()
        && operations.offset_increment == Size::Bytes(0)
        && files.zone == [0; 3]
        && !files.append
        && control.loops == 1;
    match operations.offset {
        Size::Bytes(start) if is_plain => Some(start),
        _ => None,
    }
}

/// By what data is checked; `None`: not at all. A pattern alone asks for headers too
/// (seen with fio 3.33).
pub(super) fn kind(settings: &Settings) -> Option<Verify> {
    Some(match settings.verify.kind.as_str() {
        "0" | "none" if settings.verify.pattern.is_some() && !settings.has("verify") => Verify::PatternHeader,
        "md5" => Verify::Md5,
        "crc64" => Verify::Crc64,
        "crc32c" | "crc32c-intel" => Verify::Crc32c,
        "crc32" => Verify::Crc32,
        "crc16" => Verify::Crc16,
        "crc7" => Verify::Crc7,
        "xxhash" => Verify::Xxhash,
        "sha1" => Verify::Sha1,
        "sha256" => Verify::Sha256,
        "sha512" => Verify::Sha512,
        "sha3-224" => Verify::Sha3_224,
        "sha3-256" => Verify::Sha3_256,
        "sha3-384" => Verify::Sha3_384,
        "sha3-512" => Verify::Sha3_512,
        "meta" => Verify::Header,
        "pattern" => Verify::Pattern,
        "pattern_hdr" => Verify::PatternHeader,
        "null" => Verify::Null,
        _ => return None,
    })
}

/// The distance of headers, which fio makes divide the smallest and the largest write; `None`: the operation.
fn interval(asked: u64, (smallest, largest): (u64, u64)) -> Option<u64> {
    let wanted = if asked == 0 { smallest } else { asked.min(smallest) };
    let divides = smallest % wanted == 0 && largest % wanted == 0;
    let interval = if divides { wanted } else { super::greatest_common_divisor(smallest, largest) };
    (interval != smallest || smallest != largest).then_some(interval)
}

#[cfg(test)]
mod tests {
    use super::interval;

    #[test]
    fn headers_divide_every_write() {
        for (asked, sizes, expect) in [
            (0, (4096, 4096), None),
            (512, (4096, 4096), Some(512)),
            (1000, (4096, 4096), None),
            (8192, (4096, 4096), None),
            (0, (1024, 16_384), Some(1024)),
            (0, (3072, 4096), Some(1024)),
        ] {
            assert_eq!(interval(asked, sizes), expect, "{asked} {sizes:?}");
        }
    }
}
