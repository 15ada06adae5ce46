//! What a fio job's writes carry. Knows neither files nor operations.

use super::super::Surroundings;
use super::super::faults::Faults;
use super::super::settings::{Content, Settings};
use super::super::values::pattern;
use fathom_model::{ContentSource, Freshness, RepeatKind, Span, WorkloadOptions};
use fathom_units::{Bytes, Ratio};

/// What writes carry.
pub(super) fn set(
    options: &mut WorkloadOptions,
    settings: &Settings,
    span: Span,
    surroundings: &Surroundings<'_>,
    faults: &mut Faults,
) {
    let content = &settings.content;
    let share = |percent: u64| Ratio::percent(percent as f64);
    // All of it is fio's other word for zeroes, which a pattern and repeats are stronger than.
    let (is_zero, compress) = match content.compress {
        100 => (true, 0),
        percent => (content.zero.on, percent),
    };
    // What compresses or repeats in part is random otherwise.
    let is_mixed = compress > 0 || content.dedupe > 0;
    if is_zero && content.pattern.is_empty() && !is_mixed {
        let place =
            settings.span(if content.zero.on { "zero_buffers" } else { "buffer_compress_percentage" }, span);
        options.content.set(ContentSource::Zero, place);
        set_freshness(options, settings, compress, place);
        return;
    }
    if !content.pattern.is_empty() && (compress > 0 || !is_mixed) {
        let place = settings.span("buffer_pattern", span);
        match pattern(&content.pattern, surroundings.bytes) {
            Ok(bytes) => options.content.set(ContentSource::Pattern(bytes), place),
            Err(reason) => {
                let help = "write 0xdeadbeef, \"text\", 'file' or a number";
                faults.error("fio.bad-value", place, format!("buffer_pattern: {reason}"), help);
            }
        }
    }
    if compress > 0 {
        let place = settings.span("buffer_compress_percentage", span);
        options.compressible.set(share(compress), place);
        // No chunk is larger than the smallest block that is written, and one of 0 is as large (io_u.c).
        let least = super::block_sizes(settings)[1].0.max(1);
        let chunk = if content.chunk == 0 { least } else { content.chunk.min(least) };
        options.compress_chunk.set(Bytes(chunk), settings.span("buffer_compress_chunk", place));
    }
    if content.dedupe > 0 {
        options.dedupable.set(share(content.dedupe), settings.span("dedupe_percentage", span));
        let (is_set, percent) = content.working_set;
        let place = settings.span("dedupe_mode", span);
        if is_set {
            if content.dedupe + percent > 100 {
                let message = format!(
                    "dedupe_percentage={} leaves no room for a working set of {percent} %: its blocks are unique",
                    content.dedupe
                );
                faults.error("fio.bad-value", place, message, "let the two come to 100 at most");
            }
            options.repeats.set(RepeatKind::WorkingSet, place);
            options.working_set.set(share(percent), settings.span("dedupe_working_set_percentage", place));
        } else {
            options.repeats.set(RepeatKind::Last, place);
        }
    }
    set_freshness(options, settings, compress, span);
}

/// How different one write is from the next, by fio's rules: what compresses in part is new for each, unless that was spoken
/// of; what is neither is changed a little, but neither where a share was given or blocks are verified, nor zeroes that were
/// asked for without asking for this.
fn set_freshness(options: &mut WorkloadOptions, settings: &Settings, compress: u64, span: Span) {
    let Content { zero, refill, scramble, is_mixed, .. } = settings.content;
    let refills = refill.on || (compress > 0 && !refill.is_given);
    let is_verified = super::verify::kind(settings).is_some();
    let zero_wanted = zero.on && zero.is_given && !scramble.is_given;
    let scrambles = scramble.on && !zero_wanted && !is_mixed && !is_verified;
    let (freshness, option) = match (refills, scrambles) {
        (true, _) => (Freshness::Every, "refill_buffers"),
        (false, true) => (Freshness::Scrambled, "scramble_buffers"),
        (false, false) => (Freshness::Never, "scramble_buffers"),
    };
    options.freshness.set(freshness, settings.span(option, span));
}
