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
    if content.zero || content.compress == 100 {
        let place =
            settings.span(if content.zero { "zero_buffers" } else { "buffer_compress_percentage" }, span);
        options.content.set(ContentSource::Zero, place);
        options.freshness.set(Freshness::Never, place);
        return;
    }
    if !content.pattern.is_empty() && content.compress == 0 {
        let place = settings.span("buffer_pattern", span);
        match pattern(&content.pattern, surroundings.bytes) {
            Ok(bytes) => options.content.set(ContentSource::Pattern(bytes), place),
            Err(reason) => {
                let help = "write 0xdeadbeef, \"text\", 'file' or a number";
                faults.error("fio.bad-value", place, format!("buffer_pattern: {reason}"), help);
            }
        }
    }
    if content.compress > 0 {
        let place = settings.span("buffer_compress_percentage", span);
        options.compressible.set(share(content.compress), place);
        options.compress_chunk.set(Bytes(content.chunk), settings.span("buffer_compress_chunk", place));
        if !content.pattern.is_empty() {
            let message = "the compressible share is zeroes, not the bytes of buffer_pattern";
            faults.warn(
                "fio.approximate",
                settings.span("buffer_pattern", span),
                message,
                "it compresses alike",
            );
        }
    }
    if content.dedupe > 0 {
        options.dedupable.set(share(content.dedupe), settings.span("dedupe_percentage", span));
        let (is_set, percent) = content.working_set;
        let place = settings.span("dedupe_mode", span);
        if is_set {
            options.repeats.set(RepeatKind::WorkingSet, place);
            options.working_set.set(share(percent), settings.span("dedupe_working_set_percentage", place));
        } else {
            options.repeats.set(RepeatKind::Last, place);
        }
    }
    let refills = content.refill.unwrap_or(false) || content.compress > 0 || content.dedupe > 0;
    let (freshness, option) = match (refills, content.scramble) {
        (true, _) => (Freshness::Every, "refill_buffers"),
        (false, true) => (Freshness::Scrambled, "scramble_buffers"),
        (false, false) => (Freshness::Never, "scramble_buffers"),
    };
    options.freshness.set(freshness, settings.span(option, span));
}
