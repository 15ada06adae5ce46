//! How much a fio job does that appends to files: it is over where they end. Knows what was asked of it, not where its files
//! begin nor how large they are where the job does not say.

use super::super::ParsedJob;
use super::super::faults::Faults;
use super::super::settings::{Operations, Settings};
use super::super::values::Size;
use super::workload::Lowered;
use fathom_model::{Amount, Engine, StreamOptions};
use fathom_units::{Bytes, Ratio};

/// Bounds what appends to `files` files and ends where those end: a job of fio 3.33 has come to the end for good then,
/// whatever else it was to do. Observed: one pass; of a mix of both directions, each one's. With `io_size` each loop goes on
/// where the one before it stopped. What is no regular file has no such end.
pub(super) fn end(
    options: &mut StreamOptions,
    parsed: &ParsedJob,
    lowered: &Lowered,
    files: u64,
    faults: &mut Faults,
) {
    let settings = &parsed.settings;
    if end_with_zones(options, parsed, lowered, files, faults) {
        return;
    }
    let is_timed = options.passes.get().is_none();
    let goes_round = is_timed && goes_round(settings, lowered, files);
    let goes_on = lowered.is_random && (is_timed || lowered.leaves_end) || goes_round;
    if !settings.files.append || goes_on {
        return;
    }
    let Operations { rw, mix_read, .. } = &settings.operations;
    let is_mix = matches!(rw.as_str(), "rw" | "readwrite") && (1..100).contains(mix_read);
    let most: u32 = if is_mix { 2 } else { 1 };
    let place = settings.span("file_append", parsed.span);
    let name = match (options.passes.get().copied(), asked(settings, files)) {
        (None, _) => {
            options.passes.set(most, place);
            "time_based"
        }
        (Some(loops), Asked::Passes) => {
            if loops <= most {
                return;
            }
            options.passes.set(most, place);
            "loops"
        }
        (Some(loops), Asked::Bytes { each, there }) => {
            let (all, most) = (each.saturating_mul(u64::from(loops)), there.saturating_mul(u64::from(most)));
            if loops == 1 && all <= most {
                return;
            }
            // Further passes would begin where the first did, whatever is left to be moved.
            options.passes.set(1, place);
            options.passes_suffice.set(true, place);
            let bytes = Bytes(all.min(most));
            options.bytes.set(Amount::Bytes(bytes), place);
            if options.pass_bytes.get().is_some() {
                options.pass_bytes.set(bytes, place);
            }
            match (all > most, each > most) {
                (false, _) => return,
                (true, true) if settings.operations.io_size.is_some() => "io_size",
                (true, _) => "loops",
            }
        }
        (Some(loops), Asked::Percent(each)) => {
            let (all, passes) = (each * f64::from(loops), loops.min(most));
            options.passes.set(passes, place);
            options.bytes.set(Amount::Share(Ratio::percent(all / f64::from(passes))), place);
            if all <= 100.0 * f64::from(most) {
                return;
            }
            "loops"
        }
    };
    let message =
        format!("file_append=1 ends the job where its files end, as with fio, whatever {name} says");
    let help = "leave file_append out, or use norandommap with random writes";
    faults.warn("fio.appends-once", place, message, help);
}

/// Whether jumps begin anew where they leave their files, for as long as time goes on: where the last block before that comes to the end,
/// or over it, they stop there. Observed with fio 3.33.
fn goes_round(settings: &Settings, lowered: &Lowered, files: u64) -> bool {
    let Ok(jump) = u64::try_from(*lowered.options.stride.get()) else { return true };
    let (Some(Size::Bytes(size)), None) = (settings.operations.size, settings.files.filesize) else {
        return false;
    };
    let (each, block) = (size / files.max(1), lowered.smallest.max(1));
    jump > 0 && each >= block && (each - 1) / (block + jump) * (block + jump) + block < each
}

/// Begins what the null engine appends behind an equal part of `size` in each of its `files`, whatever `offset` says: so long are
/// files to fio 3.33 that nobody opens.
pub(super) fn begin_where_nothing_is_opened(
    options: &mut StreamOptions,
    parsed: &ParsedJob,
    engine: Engine,
    files: u64,
) {
    let Settings { files: asked, operations, .. } = &parsed.settings;
    let Some(Size::Bytes(size)) = operations.size else { return };
    // Where `filesize` says how long they are, the region ends with them.
    if engine != Engine::Null || !asked.append || asked.filesize.is_some() {
        return;
    }
    let place = parsed.settings.span("file_append", parsed.span);
    options.append.set(false, place);
    options.offset.set(Amount::Bytes(Bytes(size / files.max(1))), place);
    options.offset_per_worker.set(Amount::Bytes(Bytes(0)), place);
}

/// A mapping is as long as its file was when it was made. fio 3.33 refuses them as well.
pub(super) fn refuse_mappings(parsed: &ParsedJob, engine: Engine, faults: &mut Faults) {
    let settings = &parsed.settings;
    if settings.files.append && engine == Engine::Mmap {
        let message =
            "file_append=1 needs an engine that makes files longer; ioengine=mmap writes to what is there";
        let help = "use ioengine=psync, or leave file_append out";
        faults.error("fio.contradiction", settings.span("file_append", parsed.span), message, help);
    }
}

/// What appends in zones, one operation after another, is over with the last of them; false where that is not asked for. Of
/// zones that move more than they hold, as much is done.
fn end_with_zones(
    options: &mut StreamOptions,
    parsed: &ParsedJob,
    lowered: &Lowered,
    files: u64,
    faults: &mut Faults,
) -> bool {
    let settings = &parsed.settings;
    let there = match (settings.files.filesize, settings.operations.size) {
        (Some((low, high)), _) if low == high => high,
        (None, Some(Size::Bytes(size))) => size,
        _ => 0,
    };
    let Some(zones) = lowered.options.zones.get().filter(|_| there > 0 && files == 1) else { return false };
    if !settings.files.append || lowered.is_random {
        return false;
    }
    let (block, step) = (lowered.smallest.max(1), zones.range.0.saturating_add(zones.skip.0).max(1));
    let each = zones.size.0.next_multiple_of(block);
    // The last one ends where the file does.
    let rest = there % step;
    let last = if zones.size <= zones.range { each.min(rest - rest % block) } else { each };
    let bytes = (there / step).saturating_mul(each).saturating_add(if rest < block { 0 } else { last });
    let place = settings.span("file_append", parsed.span);
    let is_less = match (options.passes.get(), options.bytes.get()) {
        (None, _) => true,
        (Some(&passes), _) if passes > 1 => true,
        (_, Some(&Amount::Bytes(asked))) => asked.0 > bytes,
        _ => false,
    };
    let asked = match options.bytes.get() {
        Some(&Amount::Bytes(asked)) if options.passes.get().is_some() => asked.0.min(bytes),
        _ => bytes,
    };
    options.passes.set(1, place);
    options.bytes.set(Amount::Bytes(Bytes(asked)), place);
    options.pass_bytes.set(Bytes(asked), place);
    if is_less {
        let message =
            "file_append=1 ends the job with the last of its zones, as with fio, whatever else it is to move";
        faults.warn("fio.appends-once", place, message, "leave file_append or zonemode out");
    }
    true
}

/// What each loop is to do.
enum Asked {
    /// Go through what there is.
    Passes,
    /// Move so many bytes, where the files have so many.
    Bytes { each: u64, there: u64 },
    /// Move so many percent of what there is.
    Percent(f64),
}

fn asked(settings: &Settings, files: u64) -> Asked {
    let size = match settings.operations.size {
        Some(Size::Bytes(size)) if size > 0 => Some(size),
        _ => None,
    };
    // Whatever `offset` says: what is appended begins at the end.
    let there = match settings.files.filesize {
        Some((low, high)) => (low == high).then(|| high.saturating_mul(files)),
        None => size,
    };
    match (settings.operations.io_size, there) {
        (Some(Size::Bytes(each)), Some(there)) if each > 0 => Asked::Bytes { each, there },
        (Some(Size::Percent(percent)), Some(there)) => {
            let each = u128::from(there) * u128::from(percent) / 100;
            Asked::Bytes { each: u64::try_from(each).unwrap_or(u64::MAX), there }
        }
        (Some(Size::Percent(percent)), None) => Asked::Percent(f64::from(percent)),
        // Of files that are longer than `size` for each loop.
        (_, Some(there)) => match size.filter(|&size| size < there) {
            Some(each) => Asked::Bytes { each, there },
            None => Asked::Passes,
        },
        _ => Asked::Passes,
    }
}
