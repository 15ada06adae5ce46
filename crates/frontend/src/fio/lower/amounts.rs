//! How much each clone moves: passes, bytes, and what of both ends it. Knows fio's options of sizes; not the order of places.

use super::super::ParsedJob;
use super::super::faults::Faults;
use super::super::settings::{Operations, Settings};
use super::super::values::Size;
use super::cpu;
use super::workload::Lowered;
use fathom_model::{Amount, Diagnostic, Engine, Level, Span, StreamOptions};
use fathom_units::{Bytes, Ratio};

/// Passes and bytes that end a clone of `count` files, unless only time does. What keeps CPUs busy has neither.
pub(super) fn set(
    options: &mut StreamOptions,
    parsed: &ParsedJob,
    lowered: &Lowered,
    count: u64,
    loops_go_on: bool,
) {
    let (settings, span) = (&parsed.settings, parsed.span);
    let Settings { control, operations, files, .. } = settings;
    if cpu::is_of(settings) || (control.time_based && control.runtime.is_some()) {
        return;
    }
    let passes = u32::try_from(control.loops).unwrap_or(1_000_000_000).min(1_000_000_000);
    options.passes.set(passes, settings.span("loops", span));
    let size = match operations.size {
        Some(Size::Bytes(size)) if size > 0 => Some(size),
        _ => None,
    };
    if let (Some(size), Some((_, most))) = (size, files.filesize) {
        // Of a mix each kind goes through the files by itself; together they move no more than there is.
        let of_files = most.saturating_mul(count);
        let bytes = if is_sequential_mix(settings) { size.min(of_files) } else { size };
        options.pass_bytes.set(Bytes(bytes), settings.span("size", span));
    }
    let io_size_span = settings.span("io_size", span);
    match operations.io_size {
        None | Some(Size::Bytes(0)) => {}
        Some(Size::Percent(percent)) => {
            let part = |all: u64| share(percent, all).max(1);
            // Each clone has less of a file then.
            let moves_on = operations.offset_increment != Size::Bytes(0);
            let share = match (size, files.filesize) {
                // Of what is asked for, also where a device has less.
                (Some(size), None) => Amount::Bytes(Bytes(part(size))),
                // Observed with fio 3.33: of all files behind their offset, and no more than is asked for.
                (Some(size), Some((low, high))) if low == high && (count > 1 || !moves_on) => {
                    Amount::Bytes(Bytes(part(behind_offset(operations, low).saturating_mul(count)).min(size)))
                }
                _ => Amount::Share(Ratio::percent(f64::from(percent))),
            };
            options.bytes.set(share, io_size_span);
        }
        Some(Size::Bytes(io_size)) => {
            // Observed with fio 3.33: of pairs it counts up to `size` one of both, beyond it both, and ends with a pass.
            if let Some(size) = size.filter(|&size| lowered.is_trimwrite && io_size > size) {
                let both = u32::try_from(io_size.div_ceil(size.saturating_mul(2))).unwrap_or(u32::MAX);
                options.passes.set(passes.max(both).min(1_000_000_000), io_size_span);
                return;
            }
            options.bytes.set(Amount::Bytes(Bytes(io_size)), io_size_span);
            // Observed with fio 3.33: where no pass ends by itself, one goes on to io_size. Of sequential ones, and of those that are so in
            // part, where the engine waits for each operation.
            if lowered.passes_go_on && (loops_go_on || lowered.is_random && lowered.all_jump) {
                options.pass_bytes.set(Bytes(io_size.max(size.unwrap_or(0))), io_size_span);
            }
        }
    }
}

/// Whether a job reads and writes, each in order.
fn is_sequential_mix(settings: &Settings) -> bool {
    matches!(settings.operations.rw.as_str(), "rw" | "readwrite")
}

/// What of a file of so many bytes lies behind the offset of a job.
fn behind_offset(operations: &Operations, file_bytes: u64) -> u64 {
    file_bytes.saturating_sub(match operations.offset {
        Size::Bytes(offset) => offset,
        Size::Percent(percent) => share(percent, file_bytes),
    })
}

/// So many percent of these bytes, rounded down.
fn share(percent: u8, all: u64) -> u64 {
    let percent = u64::from(percent);
    (all / 100).saturating_mul(percent).saturating_add(all % 100 * percent / 100)
}

/// What is said of a job whose `io_size` is a share of a known size, and less than its smallest block: fio 3.33 does not start
/// it, whatever else bounds it.
pub(super) fn shortfall(parsed: &ParsedJob) -> Option<Diagnostic> {
    let Settings { operations, files, .. } = &parsed.settings;
    let Some(Size::Percent(percent)) = operations.io_size else { return None };
    let of_files = files.filesize.filter(|(low, high)| low == high);
    let of_files =
        of_files.map(|(bytes, _)| behind_offset(operations, bytes).saturating_mul(files.count.max(1)));
    let (all, most) = match (operations.size, of_files) {
        (Some(Size::Bytes(size)), Some(of_files)) if size > 0 => (of_files, size),
        (Some(Size::Bytes(size)), None) if size > 0 && files.filesize.is_none() => (size, size),
        (None | Some(Size::Bytes(0)), Some(of_files)) => (of_files, of_files),
        _ => return None,
    };
    let block = super::block_sizes(&parsed.settings).into_iter().map(|(low, _)| low).min()?;
    let (part, all, block) = (Bytes(share(percent, all).min(most)), Bytes(all), Bytes(block));
    // Of a size that is less than a block it is that which is wrong.
    (part < block && block <= all).then(|| Diagnostic {
        code: "fio.io-size",
        level: Level::Error,
        span: Some(parsed.settings.span("io_size", parsed.span)),
        message: format!("io_size={percent}% of {all} is {part}, less than a block of {block}"),
        help: "use smaller blocks, or a larger share".to_owned(),
    })
}

/// What is said of a `size` that is less than the smallest block: fio does not start any job of the file then, `filesize` or not.
pub(super) fn refuse_less_than_a_block(parsed: &ParsedJob, faults: &mut Faults) {
    let Settings { operations: Operations { size: Some(Size::Bytes(size)), .. }, .. } = &parsed.settings
    else {
        return;
    };
    let smallest = super::block_sizes(&parsed.settings).into_iter().map(|(low, _)| low).min();
    let Some(block) = smallest.filter(|block| (1..*block).contains(size)) else { return };
    faults.error(
        "fio.size",
        parsed.settings.span("size", parsed.span),
        format!("size is {}, less than a block of {}", Bytes(*size), Bytes(block)),
        "make size at least one block, or use smaller blocks; units go with the number (size=64k)",
    );
}

/// Whether a job reads its files once in order, to the end that it finds: it says of no amount, and its engine goes beyond what it knows.
pub(super) fn goes_to_the_end(parsed: &ParsedJob, lowered: &Lowered, engine: Engine) -> bool {
    let Settings { control, operations, files, .. } = &parsed.settings;
    let says_amount = operations.io_size.is_some()
        || files.filesize.is_some()
        || matches!(operations.size, Some(Size::Bytes(size)) if size > 0);
    let is_once = control.loops == 1 && !(control.time_based && control.runtime.is_some());
    let knows_no_length =
        !matches!(engine, Engine::Mmap | Engine::Null | Engine::Cpu | Engine::Exec | Engine::Net);
    lowered.reads && !lowered.writes && !lowered.is_random && is_once && !says_amount && knows_no_length
}

/// The job whose offsets are shares of files that nobody opens, with those of equal parts of `size`, whatever `filesize` says: so long
/// are they to fio 3.33. Between two blocks each goes on to the next. `None` for other jobs.
pub(super) fn adapted_to_null(parsed: &ParsedJob) -> Option<ParsedJob> {
    let Settings { operations, files, engine, .. } = &parsed.settings;
    let is_share = |offset: &Size| matches!(offset, Size::Percent(percent) if *percent > 0);
    let Some(Size::Bytes(size)) = operations.size.filter(|size| *size != Size::Bytes(0)) else { return None };
    let has_share = is_share(&operations.offset) || is_share(&operations.offset_increment);
    if engine.name != "null" || !has_share {
        return None;
    }
    let smallest = super::block_sizes(&parsed.settings).into_iter().map(|(low, _)| low).min();
    let align = Some(operations.offset_align).filter(|align| *align > 0).or(smallest).unwrap_or(1);
    let part = size / files.count.max(files.names.len() as u64).max(1);
    let ParsedJob { name, section, span, settings, options } = parsed;
    let mut settings = settings.clone();
    let Operations { offset, offset_increment, .. } = &mut settings.operations;
    for amount in [offset, offset_increment] {
        if let Size::Percent(percent) = *amount {
            *amount = Size::Bytes(share(percent, part).next_multiple_of(align));
        }
    }
    Some(ParsedJob {
        name: name.clone(),
        section: section.clone(),
        span: *span,
        settings,
        options: options.clone(),
    })
}

/// Begins at the start where the offset is a share of files that are not there, which is 0 to fio.
pub(super) fn begin_where_nothing_is(options: &mut StreamOptions, parsed: &ParsedJob, faults: &mut Faults) {
    let is_share = |amount: &Amount| matches!(amount, Amount::Share(share) if share.value() > 0.0);
    if !is_share(options.offset.get()) && !is_share(options.offset_per_worker.get()) {
        return;
    }
    let settings = &parsed.settings;
    let place = settings.span("offset", settings.span("offset_increment", parsed.span));
    let message = "the files are not there, so that a share of them is 0: the offset is 0";
    let help = "give the offset in bytes, or lay the files out first";
    faults.warn("fio.share-of-nothing", place, message, help);
    for amount in [&mut options.offset, &mut options.offset_per_worker] {
        if is_share(amount.get()) {
            amount.set(Amount::Bytes(Bytes(0)), place);
        }
    }
}

/// `size` stays what is moved where a device is smaller, unless its end, or all of its blocks, end a pass. Observed with fio
/// 3.33.
pub(super) fn set_of_device(options: &mut StreamOptions, parsed: &ParsedJob, lowered: &Lowered) {
    let Settings { operations, files, verify, .. } = &parsed.settings;
    let Some(Size::Bytes(size)) = operations.size else { return };
    let is_verified = verify.kind != "0";
    let is_bounded = options.passes.get().is_some() && options.bytes.get().is_none();
    if size == 0 || !is_bounded || is_verified || files.filesize.is_some() || !lowered.leaves_end {
        return;
    }
    let place = parsed.settings.span("size", parsed.span);
    options.bytes.set(Amount::Bytes(Bytes(size)), place);
    options.pass_bytes.set(Bytes(size), place);
}

/// A pass ends where its files do and otherwise with what all loops are to move: zones and jumps do not come to the end of their
/// files, `filesize` puts that behind `size`, and of a mix each kind goes through them by itself. `loops_go_on`: whether a loop goes on
/// where the one before it stopped ([`super::engines::FioEngine::goes_on`]). Observed with fio 3.33.
pub(super) fn join_loops(
    options: &mut StreamOptions,
    parsed: &ParsedJob,
    lowered: &Lowered,
    loops_go_on: bool,
) {
    let Settings { operations, files, .. } = &parsed.settings;
    // A share of the files is what is moved at most: those that are gone through with holes end it before.
    let is_share = matches!(operations.io_size, Some(Size::Percent(_)));
    if is_share && options.passes.get() == Some(&1) && *lowered.options.stride.get() > 0 {
        options.passes_suffice.set(true, parsed.settings.span("io_size", parsed.span));
    }
    if !loops_go_on || *options.passes_suffice.get() {
        return;
    }
    let is_mix = is_sequential_mix(&parsed.settings);
    let is_from_start = options.offset.get() == &Amount::Bytes(Bytes(0));
    // A mix over all of one file, whose size is given for it alone, is one of that size.
    let of_file = files.filesize.filter(|(least, most)| least == most && files.count == 1 && is_from_start);
    let size = match operations.size {
        Some(Size::Bytes(size)) if size > 0 => Some(Bytes(size)),
        Some(Size::Bytes(_) | Size::Percent(100)) | None if is_mix => of_file.map(|(_, most)| Bytes(most)),
        _ => None,
    };
    let each = match options.bytes.get() {
        Some(&Amount::Bytes(bytes)) => Some(bytes),
        Some(Amount::Share(_)) => None,
        None => size,
    };
    let (Some(&loops), Some(each)) = (options.passes.get(), each) else { return };
    let jumps = *lowered.options.stride.get() != 0 && lowered.passes_go_on;
    let goes_on = lowered.options.zones.get().is_some() || files.filesize.is_some() || is_mix;
    let is_more = loops > 1 || options.bytes.get().is_some();
    // Where the files end first, they end every pass. Observed with fio 3.33.
    let of_files = files.filesize.map(|(_, most)| most.saturating_mul(files.count));
    let is_of_files = !is_mix && options.bytes.get().is_none() && of_files.is_some_and(|most| each.0 >= most);
    if !is_more || !(goes_on || jumps) || files.append || is_of_files {
        return;
    }
    let each = match of_files {
        Some(most) if is_mix && options.bytes.get().is_none() => Bytes(each.0.min(most)),
        _ => each,
    };
    let all = Bytes(each.0.saturating_mul(u64::from(loops)));
    let place = parsed.settings.span("loops", parsed.span);
    options.pass_bytes.set(all, place);
    // Files that have come to their end end a pass, unless there is more to be moved for `io_size`; together they move no more.
    if options.bytes.get().is_none() {
        options.bytes.set(Amount::Bytes(each), place);
        options.passes_suffice.set(true, place);
    }
}

/// What is moved in a pass over files that are no whole blocks: their tails count, though nothing may fit into them.
pub(super) fn set_tails(options: &mut StreamOptions, settings: &Settings, files: u64, smallest: u64) {
    let (Some(Size::Bytes(size)), None) = (settings.operations.size, settings.files.filesize) else { return };
    let each = size / files.max(1);
    let has_tails = files > 1 && each > smallest && !each.is_multiple_of(smallest.max(1));
    if has_tails && options.passes.get().is_some() && options.pass_bytes.get().is_none() {
        options.pass_bytes.set(Bytes(each * files), Span::default());
    }
}

/// Says how much of several files no operation comes to, since their equal parts of `size` are no whole blocks, from a hundredth on.
pub(super) fn tell_tails(parsed: &ParsedJob, files: u64, smallest: u64, faults: &mut Faults) {
    let Settings { operations, files: options, .. } = &parsed.settings;
    let (Some(Size::Bytes(size)), None) = (operations.size, options.filesize) else { return };
    let each = size / files.max(1);
    let tail = each % smallest.max(1);
    if files > 1 && each > tail && tail.saturating_mul(100) >= each {
        let (each, tail, block) = (Bytes(each), Bytes(tail), Bytes(smallest));
        let message = format!(
            "each of the {files} files has {each} of size={}, of which the last {tail} are less than a block of {block} and are never \
             touched",
            Bytes(size)
        );
        let help = format!("make size a multiple of {files} × {block}");
        faults.warn("fio.tail", parsed.settings.span("size", parsed.span), message, help);
    }
}

/// What is said of percentages whose place a number has taken: fio 3.33 keeps the one of `size` beside the number, of which it
/// takes that much, and that of `offset` in place of it.
pub(super) fn tell_of_replaced_percents(parsed: &ParsedJob, faults: &mut Faults) {
    for &(name, percent) in &parsed.settings.operations.replaced_percents {
        if (name, percent) == ("size", 100) {
            continue;
        }
        let place = parsed.settings.span(name, parsed.span);
        let message = format!("{name} takes the place of {name}={percent}%, which fio goes on to count with");
        faults.warn("fio.approximate", place, message, format!("leave {name}={percent}% out"));
    }
}
