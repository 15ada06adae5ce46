//! A fio job's operations as a workload: directions, sizes, places, rates, content. Knows neither files nor clones.

use super::super::ParsedJob;
use super::super::Surroundings;
use super::super::faults::Faults;
use super::super::settings::{Operations, Settings};
use super::super::values::{Size, Unit, number, weights};
use super::distribution::{Refused, distribution};
use super::{content, files};
use fathom_model::{
    Access, BlockSizes, ByKind, Coverage, Cursor, Direction as ModelDirection, FilesEnd, KindOrder, MixLine,
    RandomDistribution, RangeSync, Rate, RunKind, Span, WorkloadOptions, Zones,
};
use fathom_units::{Bytes, BytesPerSec, Iops, Ratio};

/// A workload and what else follows from the operations.
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not states")]
pub(super) struct Lowered {
    pub(super) options: WorkloadOptions,
    /// Rate of one clone.
    pub(super) rate: Rate,
    /// What one direction of a mix is held at while the other is not.
    pub(super) rate_max: Option<(ModelDirection, Rate)>,
    /// Whether the rate is the sum of those of several directions.
    pub(super) has_rates_by_kind: bool,
    /// Whether reads and writes are drawn as fio does it.
    pub(super) redraws: bool,
    /// Whether anything is read.
    pub(super) reads: bool,
    /// Whether anything is written.
    pub(super) writes: bool,
    /// Smallest block of all directions in use, in bytes.
    pub(super) smallest: u64,
    /// Whether the job is random, be it only in part.
    pub(super) is_random: bool,
    /// Whether each trim is followed by a write.
    pub(super) is_trimwrite: bool,
    /// Whether each operation goes to a place of its own, where places are random.
    pub(super) all_jump: bool,
    /// Whether a pass goes on to `io_size`, even where that is more than `size`.
    pub(super) passes_go_on: bool,
    /// Whether neither the end of what is there nor that all of its blocks were touched ends a pass.
    pub(super) leaves_end: bool,
}

/// What one direction does.
#[derive(Clone, PartialEq)]
struct Direction {
    share: f64,
    sizes: BlockSizes,
    access: Access,
}

const READ: usize = 0;
const WRITE: usize = 1;
const TRIM: usize = 2;

pub(super) fn lower(job: &ParsedJob, surroundings: &Surroundings<'_>, faults: &mut Faults) -> Lowered {
    let ParsedJob { settings, span, .. } = job;
    let operations = &settings.operations;
    let rw = operations.rw.as_str();
    let is_random = rw.starts_with("rand");
    let is_trimwrite = rw.ends_with("trimwrite");
    let mix = operations.mix_read as f64 / 100.0;
    let mut shares = match rw {
        "write" | "randwrite" => [0.0, 1.0, 0.0],
        "trim" | "randtrim" | "trimwrite" | "randtrimwrite" => [0.0, 0.0, 1.0],
        "rw" | "readwrite" | "randrw" => [mix, 1.0 - mix, 0.0],
        _ => [1.0, 0.0, 0.0],
    };
    let sizes = [READ, WRITE, TRIM].map(|kind| sizes(settings, kind));
    tell_of_rounded_splits(settings, shares, *span, faults);
    let aligns = [READ, WRITE, TRIM].map(|kind| match operations.align[kind] {
        0 => super::block_sizes(settings)[kind].0,
        align => align,
    });
    // With bs_is_seq_rand, the sizes of reads are those of sequential operations, those of writes of random ones.
    let by_access = operations.sizes_by_access;
    let differs_by_access = by_access && sizes[READ] != sizes[WRITE];
    let own_sizes = |kind: usize| match (by_access, is_random) {
        (false, _) => kind,
        (true, true) => WRITE,
        (true, false) => READ,
    };
    let sizes = [READ, WRITE, TRIM].map(|kind| sizes[own_sizes(kind)].clone());
    let sequential_sizes = (by_access && is_random).then(|| self::sizes(settings, READ));
    let (rate, rate_max) = rate(settings, *span, &mut shares, &sizes, is_trimwrite, faults);
    let mut options = WorkloadOptions::default();
    let directions: [Direction; 3] = [READ, WRITE, TRIM].map(|kind| Direction {
        share: shares[kind],
        sizes: sizes[kind].clone(),
        access: Access {
            random: if is_random {
                Ratio::percent(operations.percentage_random[kind] as f64)
            } else {
                Ratio::ZERO
            },
        },
    });
    let has_rates_by_kind = rate != Rate::Max && shares.iter().filter(|&&share| share > 0.0).count() > 1;
    if has_rates_by_kind {
        // Each direction has a rate of its own.
        options.kind_order.set(KindOrder::Even, settings.span("rate_iops", settings.span("rate", *span)));
    }
    let reads_and_writes = [READ, WRITE, TRIM].map(|kind| shares[kind] > 0.0) == [true, true, false];
    let redraws = reads_and_writes && !has_rates_by_kind && rate_max.is_none();
    if redraws {
        // fio begins its numbers anew in each loop, unless it was told with which to begin.
        let onward = settings.operations.seed.is_some() || !settings.operations.rand_repeat;
        let order = if onward { KindOrder::RedrawnOnward } else { KindOrder::Redrawn };
        options.kind_order.set(order, settings.span("rwmixread", *span));
    }
    set_mix(&mut options, &directions, sequential_sizes.as_ref(), settings, *span);
    let used = || directions.iter().filter(|direction| direction.share > 0.0);
    let smallest =
        used().map(|direction| &direction.sizes).chain(&sequential_sizes).map(|sizes| ends(sizes).0).min();
    let smallest = smallest.unwrap_or(4096);
    options.cursor.set(Cursor::PerKind, *span);
    if is_trimwrite {
        options.trim_then_write.set(true, settings.span("rw", *span));
        if sizes[WRITE] != sizes[TRIM] {
            tell_of_uneven_trimwrite(settings, *span, is_random, faults);
        }
    }
    set_postfix(&mut options, settings, is_random, *span, faults);
    let used: Vec<&Direction> = used().collect();
    set_places(&mut options, settings, *span, is_random, &used, faults);
    if is_random {
        set_aligns(&mut options, settings, *span, (&directions, aligns), differs_by_access);
    }
    let reads_and_writes = shares[READ] > 0.0 && shares[WRITE] > 0.0;
    let is_mix = matches!(rw, "rw" | "readwrite" | "randrw");
    set_ends(&mut options, job, faults);
    files::set_order(&mut options, settings, *span, faults);
    content::set(&mut options, settings, *span, surroundings, faults);
    set_syncs(&mut options, settings, *span);
    let verified = if shares[WRITE] > 0.0 || is_trimwrite { WRITE } else { READ };
    // fio checks what was written, or what a job reads that is for reading; of a mix without writes it checks nothing.
    if !is_mix || shares[WRITE] > 0.0 {
        super::verify::set(&mut options, settings, *span, ends(&sizes[verified]), surroundings, faults);
    }
    debug_assert!(is_mix || !reads_and_writes);
    let writes = is_mix || rw.ends_with("write");
    let stride = *options.stride.get();
    let wraps = u64::try_from(stride).is_ok_and(|jump| jump > 0 && wraps(settings, smallest.max(1), jump));
    let has_offset = settings.has("offset") || settings.has("offset_increment");
    let goes_on = is_random && goes_on_at_random(operations, writes, *options.coverage.get());
    Lowered {
        options,
        rate,
        rate_max,
        has_rates_by_kind,
        redraws,
        reads: shares[READ] > 0.0,
        writes: shares[WRITE] > 0.0,
        smallest,
        is_random,
        is_trimwrite,
        all_jump: all_jump(operations),
        passes_go_on: (is_mix && !is_random) || stride < 0 || (wraps && !has_offset) || goes_on,
        leaves_end: !is_trimwrite && (wraps || leaves_end(settings, is_random, is_mix)),
    }
}

/// Whether what jumps on begins anew at the end of its files: where the last block before that reaches over it, it stops there.
fn wraps(settings: &Settings, block: u64, jump: u64) -> bool {
    let Settings { operations, files, .. } = settings;
    let of_each = match (operations.size, files.filesize) {
        (Some(Size::Bytes(size)), None) if size > 0 => {
            Some(size / files.count.max(files.names.len() as u64).max(1))
        }
        _ => None,
    };
    let has_room = |length: u64| (length - 1) / (block + jump) * (block + jump) + block <= length;
    of_each.map_or(jump.is_multiple_of(block), |length| length >= block && has_room(length))
}

/// Whether no pass of a random job ends by itself: where places come as they may, of jobs that write, and where some operations go on from
/// others. Observed with fio 3.33.
fn goes_on_at_random(operations: &Operations, writes: bool, coverage: Coverage) -> bool {
    !operations.lfsr && (!all_jump(operations) || writes && coverage == Coverage::Independent)
}

/// Whether each operation goes to a place of its own.
fn all_jump(operations: &Operations) -> bool {
    operations.percentage_random == [100; 3] && !has_runs(operations.postfix.as_deref())
}

/// Whether several operations go on from each jump.
fn has_runs(postfix: Option<&str>) -> bool {
    let number = postfix.unwrap_or_default().trim();
    !number.is_empty() && number != "1"
}

/// See [`Lowered::leaves_end`].
fn leaves_end(settings: &Settings, is_random: bool, is_mix: bool) -> bool {
    let Settings { operations, files, .. } = settings;
    let Operations { no_random_map, lfsr, distribution, percentage_random, postfix, .. } = operations;
    let is_strided = files.zone_mode.as_deref().is_none_or(|mode| mode == "strided")
        && files.zone[0] > 0
        && files.open_at_once <= 1;
    if is_random {
        let has_map = (*lfsr || !no_random_map) && distribution == "random" && percentage_random == &[100; 3];
        is_strided || has_runs(postfix.as_deref()) || !has_map
    } else {
        is_strided || is_mix
    }
}

/// Writes that are not as large as the trims they follow. Observed with fio 3.33: those at random places have the size of the
/// trim; else each direction goes through the file by itself, and most writes follow no trim.
fn tell_of_uneven_trimwrite(settings: &Settings, span: Span, is_random: bool, faults: &mut Faults) {
    let given = ["bssplit", "bsrange", "bs"].into_iter().find(|name| settings.has(name)).unwrap_or("bs");
    let place = settings.span(given, span);
    if is_random {
        let message = format!("{given} of writes has no effect: a write is as large as the trim before it");
        faults.warn("fio.no-effect", place, message, "");
    } else {
        let message = format!("{given} differs between the writes and the trims of rw=trimwrite");
        let help = "give both one size, e.g. bs=4k: a write goes to what was trimmed before it";
        faults.error("fio.uneven-trimwrite", place, message, help);
    }
}

/// Where files end, and the windows in them.
fn set_ends(options: &mut WorkloadOptions, job: &ParsedJob, faults: &mut Faults) {
    let ParsedJob { settings, span, .. } = job;
    let is_timed = settings.control.time_based && settings.control.runtime.is_some();
    let place = settings.span("rw", *span);
    let end = if is_timed { FilesEnd::Renew } else { FilesEnd::Stop };
    options.files_end.set(end, place);
    if settings.operations.repeats_place {
        options.run.set(RunKind::Again, settings.span("rw_sequencer", *span));
    }
    if settings.operations.ranges > 1 {
        let message =
            "num_range above 1 needs an engine that trims several ranges in one command (io_uring_cmd)";
        faults.error("fio.refused", settings.span("num_range", *span), message, "leave num_range out");
    }
    let [size, range, skip] = settings.files.zone;
    let mode = settings.files.zone_mode.as_deref().unwrap_or(if size > 0 { "strided" } else { "none" });
    let place = settings.span("zonemode", settings.span("zonesize", *span));
    match mode {
        "zbd" => {
            let message = "zonemode=zbd drives zoned devices by their zones, which fathom does not";
            let help = "use zonemode=strided for windows of a plain device or file";
            faults.error("fio.refused", place, message, help);
        }
        "strided" if size == 0 => {
            faults.error("fio.contradiction", place, "zonemode=strided has no zonesize", "add zonesize=1m");
        }
        "strided" => {
            if settings.files.zone_mode.is_none() {
                let message = "zonesize without zonemode is taken for zonemode=strided; fio 3.33 refuses it";
                faults.warn("fio.misread", place, message, "add zonemode=strided");
            }
            let range = if range > 0 { range } else { size };
            if settings.files.open_at_once > 1 {
                let message = "zonemode=strided has no effect with openfiles above 1, as with fio";
                faults.warn("fio.no-effect", place, message, "leave one of them out");
                return;
            }
            options.zones.set(Zones { size: Bytes(size), range: Bytes(range), skip: Bytes(skip) }, place);
        }
        _ if size > 0 => {
            let message = "zonemode=none and zonesize contradict each other";
            faults.error("fio.contradiction", place, message, "use zonemode=strided, or leave zonesize out");
        }
        _ => {}
    }
}

/// Sizes of one direction.
fn sizes(settings: &Settings, kind: usize) -> BlockSizes {
    let operations = &settings.operations;
    // The option's reader has checked the sum already.
    let split = weights(&operations.splits[kind]).unwrap_or_default();
    if !split.is_empty() {
        let step = split_step(settings, kind);
        let mut sizes: Vec<(f64, Bytes, Bytes, Bytes)> = Vec::new();
        for (weight, bytes) in split {
            let bytes = Bytes(bytes - bytes % step);
            match sizes.iter_mut().find(|size| size.1 == bytes) {
                Some(same) => same.0 += weight,
                None => sizes.push((weight, bytes, bytes, bytes)),
            }
        }
        if let [only] = sizes.as_mut_slice() {
            only.0 = 1.0;
        }
        return BlockSizes { sizes };
    }
    let (low, high) = operations.block_sizes[kind];
    if low == high {
        return BlockSizes::fixed(Bytes(low));
    }
    // fio draws from as many bytes as the largest has, from the smallest on, rounds down to multiples of the smallest, and
    // takes the largest for what comes out larger: sizes on the grid are equally likely, the rest is the largest's.
    let weigh = |part: u64| part as f64 / high as f64 * 100.0;
    let (last, rest, step) =
        if operations.unaligned { (high - 1, low, 1) } else { (high - high % low, high % low, low) };
    let grid = (Bytes(low), Bytes(last), Bytes(if low == last { low } else { step }));
    if rest == 0 {
        return BlockSizes { sizes: vec![(1.0, grid.0, grid.1, grid.2)] };
    }
    let largest = (weigh(rest), Bytes(high), Bytes(high), Bytes(high));
    BlockSizes { sizes: vec![(weigh(high - rest), grid.0, grid.1, grid.2), largest] }
}

/// What sizes of `bssplit` are multiples of, in bytes: fio rounds them down to such of the smallest, drawn or not.
fn split_step(settings: &Settings, kind: usize) -> u64 {
    if settings.operations.unaligned { 1 } else { super::block_sizes(settings)[kind].0.max(1) }
}

/// Sizes of `bssplit` that are issued as others, of the directions that a job has.
fn tell_of_rounded_splits(settings: &Settings, shares: [f64; 3], span: Span, faults: &mut Faults) {
    for kind in [READ, WRITE, TRIM].into_iter().filter(|&kind| shares[kind] > 0.0) {
        let step = split_step(settings, kind);
        let drawn = weights(&settings.operations.splits[kind]).unwrap_or_default();
        let rounded: Vec<String> = drawn
            .iter()
            .filter(|(_, size)| size % step > 0)
            .map(|(_, size)| format!("{} as {}", Bytes(*size), Bytes(size - size % step)))
            .collect();
        if rounded.is_empty() {
            continue;
        }
        let message = format!(
            "blocks are issued smaller than bssplit says ({}): as in fio, sizes are rounded down to multiples of the smallest, {}",
            rounded.join(", "),
            Bytes(step)
        );
        let help = "write the sizes that are meant, or add bs_unaligned";
        faults.warn("fio.size-distortion", settings.span("bssplit", span), message, help);
        return;
    }
}

/// Smallest and largest, in bytes.
fn ends(BlockSizes { sizes }: &BlockSizes) -> (u64, u64) {
    let low = sizes.iter().map(|size| size.1.0).min().unwrap_or(4096);
    (low, sizes.iter().map(|size| size.2.0).max().unwrap_or(low))
}

fn mean(sizes: &BlockSizes) -> f64 {
    let (weight, sum) = sizes.sizes.iter().fold((0.0, 0.0), |(weight, sum), &(share, low, high, _)| {
        (weight + share, sum + share * (low.0 as f64 + high.0 as f64) / 2.0)
    });
    sum / weight
}

/// The rate of one clone, or of one direction of its mix. Directions have rates of their own in fio, so that a mix follows them and not `rwmixread`.
fn rate(
    settings: &Settings,
    span: Span,
    shares: &mut [f64; 3],
    sizes: &[BlockSizes; 3],
    is_trimwrite: bool,
    faults: &mut Faults,
) -> (Rate, Option<(ModelDirection, Rate)>) {
    let limit = |kind: usize| {
        let iops = settings.engine.rate_iops[kind].filter(|&rate| rate > 0).map(|rate| rate as f64);
        let bytes = settings.engine.rate[kind].filter(|&rate| rate > 0).map(|rate| rate as f64);
        (iops, bytes)
    };
    let option = if settings.has("rate_iops") { "rate_iops" } else { "rate" };
    let place = settings.span(option, span);
    // Of a trim and the write after it, each waits for its own rate.
    let is_used = |kind: usize| shares[kind] > 0.0 || (is_trimwrite && kind == WRITE);
    let used: Vec<usize> = (0..3).filter(|&kind| is_used(kind)).collect();
    let limits: Vec<(Option<f64>, Option<f64>)> = used.iter().map(|&kind| limit(kind)).collect();
    if limits.iter().all(|limit| limit.0.is_none() && limit.1.is_none()) {
        return (Rate::Max, None);
    }
    if limits.iter().any(|limit| limit.0.is_some()) && limits.iter().any(|limit| limit.1.is_some()) {
        faults.error(
            "fio.contradiction",
            place,
            "rate and rate_iops are both given",
            "leave one of them out",
        );
        return (Rate::Max, None);
    }
    let of_one = |limit: &(Option<f64>, Option<f64>)| match *limit {
        (Some(iops), _) => Some(Rate::Operations(Iops(iops))),
        (None, bytes) => bytes.map(|bytes| Rate::Bandwidth(BytesPerSec(bytes))),
    };
    if is_trimwrite {
        // They come in turn. Observed with fio 3.33: the rate of writes holds both; that of trims alone is not kept.
        let (iops, bytes) =
            [WRITE, TRIM].map(limit).into_iter().find(|limit| *limit != (None, None)).unwrap_or_default();
        let both = |rate: Option<f64>| rate.map(|rate| rate * 2.0);
        return (of_one(&(both(iops), both(bytes))).unwrap_or(Rate::Max), None);
    }
    match (used.as_slice(), limits.as_slice()) {
        (_, [only]) => (of_one(only).unwrap_or(Rate::Max), None),
        (&[first, second], &[one, other]) => {
            let iops = |kind: usize, limit: (Option<f64>, Option<f64>)| {
                limit.0.or(limit.1.map(|bytes| bytes / mean(&sizes[kind])))
            };
            let (Some(one), Some(other)) = (iops(first, one), iops(second, other)) else {
                let directions = [ModelDirection::Read, ModelDirection::Write, ModelDirection::Trim];
                let limited = [(first, &one), (second, &other)].into_iter();
                let mut limited =
                    limited.filter_map(|(kind, limit)| Some((directions[kind], of_one(limit)?)));
                return (Rate::Max, limited.next());
            };
            let bytes = limits.iter().filter_map(|limit| limit.1).sum::<f64>();
            let share = one / (one + other);
            if (share - shares[first]).abs() > 1e-9 {
                let message = format!(
                    "{option} holds reads at {one:.1}/s and writes at {other:.1}/s, so that {:.1}% are reads, not {:.1}%",
                    share * 100.0,
                    shares[first] * 100.0
                );
                let help =
                    "fio does the same: rates of a mix overrule rwmixread; give rates in its proportion";
                faults.warn("fio.rate-and-mix", place, message, help);
            }
            (shares[first], shares[second]) = (share, 1.0 - share);
            if limits.iter().all(|limit| limit.1.is_some()) {
                return (Rate::Bandwidth(BytesPerSec(bytes)), None);
            }
            (Rate::Operations(Iops(one + other)), None)
        }
        _ => (Rate::Max, None),
    }
}

/// `sequential`: sizes of the operations that do not jump, where they have their own.
fn set_mix(
    options: &mut WorkloadOptions,
    directions: &[Direction; 3],
    sequential: Option<&BlockSizes>,
    settings: &Settings,
    span: Span,
) {
    let rw = settings.span("rw", span);
    let sizes_span = ["bssplit", "bsrange", "bs"].into_iter().find(|name| settings.has(name));
    let sizes_span = sizes_span.map_or(span, |name| settings.span(name, span));
    let used: Vec<(usize, &Direction)> =
        directions.iter().enumerate().filter(|(_, direction)| direction.share > 0.0).collect();
    let ratio = |share: f64| Ratio::new(share).unwrap_or_default();
    let is_alike = used
        .windows(2)
        .all(|pair| pair[0].1.sizes == pair[1].1.sizes && pair[0].1.access == pair[1].1.access);
    let jumps_always = used.iter().all(|(_, direction)| direction.access.random == Ratio::ONE);
    let sequential = sequential.filter(|_| !jumps_always);
    if is_alike && sequential.is_none() {
        let first = used.first().map_or(&directions[READ], |(_, direction)| *direction);
        options.block_size.set(first.sizes.clone(), sizes_span);
        options.access.set(first.access, rw);
        let read_span = if used.len() > 1 { settings.span("rwmixread", rw) } else { rw };
        options.read.set(ratio(directions[READ].share), read_span);
        if directions[TRIM].share > 0.0 {
            options.trim.set(ratio(directions[TRIM].share), rw);
        }
        return;
    }
    let line = |kind: usize, share: f64, sizes: &BlockSizes, random: Ratio| MixLine {
        // To 1e-9 percent, so that 0.2 prints as 20% and not with the tail of its binary form.
        share: (share * 1e11).round() / 1e9,
        block_size: sizes.clone(),
        read: if kind == READ { Ratio::ONE } else { Ratio::ZERO },
        trim: if kind == TRIM { Ratio::ONE } else { Ratio::ZERO },
        access: Access { random },
        align: None,
        reply: None,
    };
    let lines = used.into_iter().flat_map(|(kind, Direction { share, sizes, access })| match sequential {
        None => vec![line(kind, *share, sizes, access.random)],
        Some(sequential) => {
            let jumping = access.random.value();
            let both = [
                line(kind, share * jumping, sizes, Ratio::ONE),
                line(kind, share * (1.0 - jumping), sequential, Ratio::ZERO),
            ];
            both.into_iter().filter(|line| line.share > 0.0).collect()
        }
    });
    options.mix.set(lines.collect(), sizes_span);
}

/// `rw=randread:N` and `rw=read:K`.
fn set_postfix(
    options: &mut WorkloadOptions,
    settings: &Settings,
    is_random: bool,
    span: Span,
    faults: &mut Faults,
) {
    // Behind a colon there may be nothing for random jobs alone.
    let given = settings.operations.postfix.as_deref();
    let Some(postfix) = given.filter(|postfix| !is_random || !postfix.is_empty()) else { return };
    let place = settings.span("rw", span);
    let rw = settings.operations.rw.as_str();
    if is_random {
        let digits: String = postfix.trim_start().chars().take_while(char::is_ascii_digit).collect();
        let every = digits.parse::<u32>().unwrap_or(0).clamp(1, 1_000_000_000);
        if digits.len() != postfix.trim().len() || every.to_string() != digits {
            let message = format!(
                "rw={rw}:{postfix} jumps after {every} operations to fio, which reads no suffix here"
            );
            faults.warn("fio.misread", place, message, format!("write rw={rw}:{every}"));
        }
        options.run_length.set(every, place);
        return;
    }
    match number(postfix, Unit::Bytes, settings.kb_base).map(|read| (i64::try_from(read.value), read.misread))
    {
        Ok((Ok(bytes), misread)) => {
            if let Some(misread) = misread.filter(|_| bytes >= 0) {
                let message =
                    format!("rw={rw}:{postfix} skips {} to fio: {}", misread.reads_as, misread.because);
                faults.warn("fio.misread", place, message, format!("write rw={rw}:{}", misread.instead));
            }
            options.stride.set(bytes, place);
        }
        _ => {
            let message = format!("\"{postfix}\" behind the colon is no distance");
            let help =
                format!("write rw={rw}:8k to skip 8 KiB after each operation, or rw={rw} to skip none");
            faults.error("fio.bad-value", place, message, help);
        }
    }
}

/// In fio each direction has an alignment of its own: its smallest block, where `ba` says nothing, and that of the option also
/// where sizes are not those of the directions.
fn set_aligns(
    options: &mut WorkloadOptions,
    settings: &Settings,
    span: Span,
    (directions, aligns): (&[Direction; 3], [u64; 3]),
    differs_by_access: bool,
) {
    let names = [ModelDirection::Read, ModelDirection::Write, ModelDirection::Trim];
    let used = (0..3).filter(|&kind| directions[kind].share > 0.0);
    let aligns: Vec<_> = used.map(|kind| (Some(names[kind]), Bytes(aligns[kind]))).collect();
    if differs_by_access || aligns.windows(2).any(|pair| pair[0].1 != pair[1].1) {
        let place = ["ba", "bssplit", "bsrange", "bs"].into_iter().find(|name| settings.has(name));
        options.align_of.set(ByKind(aligns), place.map_or(span, |name| settings.span(name, span)));
    }
}

/// Distribution, alignment and coverage.
fn set_places(
    options: &mut WorkloadOptions,
    settings: &Settings,
    span: Span,
    is_random: bool,
    used: &[&Direction],
    faults: &mut Faults,
) {
    let operations = &settings.operations;
    let mut sizes =
        used.iter().flat_map(|direction| direction.sizes.sizes.iter().flat_map(|size| [size.1.0, size.2.0]));
    let first = sizes.next().unwrap_or(4096);
    let is_one_size = sizes.all(|size| size == first);
    let align = operations.align.iter().copied().find(|&align| align > 0);
    if let Some(align) = align.filter(|_| is_random) {
        options.align.set(Bytes(align), settings.span("ba", span));
    }
    let place = settings.span("random_distribution", span);
    let is_uniform = match distribution(&operations.distribution, settings, place, faults) {
        Ok(distribution) => {
            let is_uniform = distribution == RandomDistribution::Uniform;
            if !is_uniform && is_random {
                options.distribution.set(distribution, place);
            }
            is_uniform
        }
        Err(Refused { code, message, help }) => {
            faults.error(code, place, message, help);
            true
        }
    };
    let may_cover = is_uniform && align.is_none_or(|align| align == first);
    if is_random && is_uniform && !may_cover && !operations.no_random_map {
        let message = "ba turns the random map off: places come more than once, and others never";
        faults.warn("fio.map-off", settings.span("ba", span), message, "add norandommap, or leave ba out");
    }
    if !is_random || !may_cover || (operations.no_random_map && !operations.lfsr) {
        return;
    }
    let jumps_each_time =
        options.run_length.get() == &1 && used.iter().all(|direction| direction.access.random == Ratio::ONE);
    let place = settings.span("rw", span);
    if is_one_size && jumps_each_time {
        options.coverage.set(Coverage::OncePerPass, place);
        return;
    }
    if operations.no_random_map || operations.lfsr && !is_one_size {
        // The shift register of fio goes on over blocks of any size, and over those that sequential operations touched; what an
        // operation of several blocks covers, it comes to again.
        let message = "random_generator=lfsr comes to a block more than once where operations have several sizes or do not all \
                       jump";
        let help = "leave it out, or use one block size and no sequential operations";
        faults.warn("fio.approximate", settings.span("random_generator", span), message, help);
        return;
    }
    options.coverage.set(Coverage::Map, place);
    // What never jumps comes to no block that was touched.
    if !is_one_size && used.iter().any(|direction| direction.access.random > Ratio::ZERO) {
        let message = "with several block sizes, operations are cut where a block was touched already, to sizes that \
                       were not asked for";
        let help = "add norandommap to keep sizes; fio cuts them in the same way";
        faults.warn("fio.random-map", place, message, help);
    }
}

fn set_syncs(options: &mut WorkloadOptions, settings: &Settings, span: Span) {
    let content = &settings.content;
    if content.fsync > 0 {
        options.fsync_every.set(content.fsync, settings.span("fsync", span));
    }
    if content.fdatasync > 0 {
        options.fdatasync_every.set(content.fdatasync, settings.span("fdatasync", span));
    }
    let ([wait_before, write, wait_after], every) = content.range_sync;
    if every > 0 {
        let place = settings.span("sync_file_range", span);
        options.range_sync_every.set(every, place);
        options.range_sync.set(RangeSync { wait_before, write, wait_after }, place);
    }
    if content.end_syncfs {
        options.syncfs_at_end.set(true, settings.span("end_syncfs", span));
    }
    if content.end_fsync || content.fsync_on_close {
        // Files are closed once, when the job ends, so that both mean the same.
        let option = if content.end_fsync { "end_fsync" } else { "fsync_on_close" };
        options.fsync_at_end.set(true, settings.span(option, span));
    }
}
