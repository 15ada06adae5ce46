//! What a fio job's writes carry. Knows neither files nor operations.

use super::super::Surroundings;
use super::super::faults::Faults;
use super::super::settings::Settings;
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
        percent => (content.zero, percent),
    };
    // What compresses or repeats in part is random otherwise.
    let is_mixed = compress > 0 || content.dedupe > 0;
    if is_zero && content.pattern.is_empty() && !is_mixed {
        let place =
            settings.span(if content.zero { "zero_buffers" } else { "buffer_compress_percentage" }, span);
        options.content.set(ContentSource::Zero, place);
        options.freshness.set(Freshness::Never, place);
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
        options.compress_chunk.set(Bytes(content.chunk), settings.span("buffer_compress_chunk", place));
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
    let refills = content.refill.unwrap_or(false) || is_mixed;
    let (freshness, option) = match (refills, content.scramble) {
        (true, _) => (Freshness::Every, "refill_buffers"),
        (false, true) => (Freshness::Scrambled, "scramble_buffers"),
        (false, false) => (Freshness::Never, "scramble_buffers"),
    };
    options.freshness.set(freshness, settings.span(option, span));
}
