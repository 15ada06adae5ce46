//! Which parts of its targets each worker of a stream addresses.
//!
//! Pure arithmetic over sizes; it does not know what the targets are.

use crate::engines;
use crate::lengths::Grown;
use crate::operations::Operations;
use crate::remarks::Remarks;
use crate::targets::{Addressed, Class};
use fathom_model::{Amount, Named, StreamOptions};
use fathom_schema::Extent;
use fathom_units::{Bytes, Ratio, saturating_sum};

/// Shares are kept to this fraction, so that 5 × 20% is exactly all: 0.2 itself has no exact binary form.
const SHARE_PARTS: f64 = 1e12;

/// `share` of `whole`, rounded down.
pub(crate) fn share_of(share: Ratio, whole: u64) -> u64 {
    times_share(share, 1, whole)
}

/// `times` × `share` of `whole`, rounded down; at most 2^64 − 1.
fn times_share(share: Ratio, times: u64, whole: u64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share is within 0 to 1")]
    let parts = (share.value() * SHARE_PARTS).round() as u128;
    // At most 2^64 × 1e12 × 2^17 < 2^128: workers are fewer than 2^17.
    u64::try_from(parts * u128::from(whole) * u128::from(times) / 1_000_000_000_000).unwrap_or(u64::MAX)
}

/// Bytes of file `number` of `count` that share `total`: whole blocks dealt out evenly, the first files one more.
fn part_of_set(total: u64, block: u64, count: u64, number: u64) -> u64 {
    if count == 1 {
        return total;
    }
    let blocks = total / block;
    (blocks / count + u64::from(number < blocks % count)) * block
}

/// How far a stream reaches into each file of a set of `count`, when its options alone say so.
pub(crate) fn reach(options: &StreamOptions, count: usize, block: u64) -> Option<u64> {
    let in_bytes = |amount: &Amount| matches!(amount, Amount::Bytes(_));
    let knows_start =
        *options.append.get() || in_bytes(options.offset.get()) && in_bytes(options.offset_per_worker.get());
    reach_of(options, count, block, 0).filter(|_| knows_start)
}

/// How far a stream reaches into each file of a set of `count` that has `there` bytes, of which it begins at a share; `None`
/// when it begins at no share or has no size in bytes.
pub(crate) fn reach_from_share(options: &StreamOptions, count: usize, block: u64, there: u64) -> Option<u64> {
    let is_share = |amount: &Amount| matches!(amount, Amount::Share(_));
    let begins_at_share = is_share(options.offset.get()) || is_share(options.offset_per_worker.get());
    reach_of(options, count, block, there).filter(|_| begins_at_share)
}

/// Bytes of file `position` of `count` that a stream uses, when its size is in bytes.
pub(crate) fn part(options: &StreamOptions, count: u64, block: u64, position: u64) -> Option<u64> {
    let Some(&Amount::Bytes(size)) = options.size.get() else { return None };
    Some(part_of_set(size.0, block, count.max(1), position))
}

fn reach_of(options: &StreamOptions, count: usize, block: u64, there: u64) -> Option<u64> {
    let part = part(options, count as u64, block, 0)?;
    let last = u64::from(*options.first_worker.get()) + u64::from(*options.workers.get()).saturating_sub(1);
    // What is appended begins where the file ends.
    if *options.append.get() {
        return Some(part);
    }
    Some(start_in(options, block, last, there).saturating_add(part))
}

/// Where the region of worker `number` begins in something of `whole` bytes.
pub(crate) fn start_in(options: &StreamOptions, block: u64, number: u64, whole: u64) -> u64 {
    let mut in_shares = false;
    let mut distance = |amount: &Amount, times: u64| match *amount {
        Amount::Bytes(bytes) => bytes.0.saturating_mul(times),
        Amount::Share(share) => {
            in_shares = true;
            times_share(share, times, whole)
        }
    };
    let start =
        distance(options.offset.get(), 1).saturating_add(distance(options.offset_per_worker.get(), number));
    // A place given as a share means "about there": the block boundary below it, or the next multiple of what was asked.
    // One given in bytes is meant.
    match options.offset_align.get() {
        Some(align) if in_shares => start.next_multiple_of(align.0.max(1)),
        None if in_shares => Bytes(start).round_down(Bytes(block)).0,
        _ => start,
    }
}

/// The extents that worker `number` of a stream addresses before workers divide them, in the order of the targets. `fios`: of a job of
/// fio, what it knows of its files.
pub(crate) fn of_worker(
    stream: &Named<StreamOptions>,
    operations: &Operations,
    number: u32,
    sections: &[&[Addressed]],
    fios: Option<&Grown>,
    remarks: &mut Remarks,
) -> Option<Vec<Extent>> {
    let (mut extents, mut behind) = (Vec::new(), false);
    let may_have_tails = may_have_tails(stream, operations, number, sections, fios);
    for section in sections {
        let own = || section.iter().filter(|item| item.owner.is_none_or(|owner| owner == number));
        let count = own().count() as u64;
        for (position, item) in own().enumerate() {
            if engines::of_names(&stream.options).is_some() {
                // One operation for each name.
                let length = Bytes(operations.largest);
                extents.push(Extent { target: item.index, start: Bytes(0), length, room: Bytes(0) });
                continue;
            }
            let place = (position as u64, count);
            let (start, length) = span_in(stream, operations.smallest, number, item, place, fios);
            let (start, length) = if fios.is_some_and(|fios| fios.before(position as u64, item.there) == 0) {
                from_the_start_where_nothing_is(stream, item, (start, length), remarks)
            } else {
                (start, length)
            };
            let (start, length) = if fios.is_some() {
                cut_at_the_end(stream, operations.smallest, number, item, (start, length), remarks)
            } else {
                (start, length)
            };
            let has_tail = may_have_tails && has_tail(stream, operations.smallest, number, item, place, fios);
            let tail = if has_tail { operations.smallest } else { 0 };
            let mut room = item.end.saturating_sub(start.saturating_add(length));
            // Zones and last operations of fio's jobs go on behind the region; all others stay in it. A tail without room for an
            // operation is part of it.
            if fios.is_none() && room >= operations.smallest {
                room = 0;
            }
            // fio's jobs know files as long as they found or made them, or others made them before, and not what others make of
            // them later. What the job itself adds behind whole blocks is less than one.
            let by_others = matches!(item.class, Class::File | Class::Null) && room >= operations.smallest;
            if by_others && fios.is_some() && (count == 1 || goes_on_behind(operations)) {
                let known = match fios {
                    Some(fios) if count == 1 => fios.of_worker(&stream.options, number, item.there),
                    Some(fios) => fios.before(place.0, item.there),
                    None => item.there,
                };
                room = room.min(known.saturating_sub(start.saturating_add(length)));
            }
            if fios.is_some() && room > 0 && count == 1 {
                tell_of_early_end(stream, operations, item, (length, room), remarks);
            }
            let served = fios.is_some_and(|fios| is_begun(stream, operations, item, place, fios, start));
            let length = if served { operations.smallest } else { length };
            let is_small = fios.is_some() && !served && item.size.saturating_sub(start) < operations.smallest;
            let is_empty = fios.is_some() && (start, item.size) == (0, 0);
            if count > 1 && (is_empty || start < item.size && (length == 0 || is_small)) {
                // A set with more files than the region has blocks: the last files get none. fio passes over files that
                // are smaller than a block, or empty.
                continue;
            }
            if fios.is_some() && lies_behind(stream, operations.smallest, item, (start, length), remarks) {
                behind = true;
                continue;
            }
            if !served && !fits(stream, operations, number, item, (start, length), remarks) {
                return None;
            }
            extents.push(Extent {
                target: item.index,
                start: Bytes(start),
                length: Bytes(length + tail),
                room: Bytes(room.saturating_sub(tail)),
            });
        }
    }
    let files: u64 = sections.iter().map(|section| section.len() as u64).sum();
    let whole = saturating_sum(sections.iter().flat_map(|section| section.iter()).map(|item| item.size));
    let is_enough = match stream.options.size.get() {
        Some(Amount::Bytes(size)) => size.0 >= operations.smallest,
        Some(&Amount::Share(share)) => share_of(share, whole) >= operations.smallest,
        None => whole >= operations.smallest,
    };
    let is_idle = extents.is_empty() && fios.is_some() && files > 1 && is_enough;
    if is_idle && !behind {
        let message = format!(
            "no file of the stream \"{}\" has room for one operation of {}, so that it does nothing",
            stream.name,
            Bytes(operations.smallest)
        );
        let help = "use fewer files (nrfiles), a larger size, or a smaller block size";
        remarks.warn("plan.nothing-fits", stream.options.size.span().or(Some(stream.span)), message, help);
    }
    if is_idle || extents.is_empty() && behind {
        // They are laid out all the same.
        let own = sections.iter().flat_map(|section| section.iter());
        let own = own.filter(|item| item.owner.is_none_or(|owner| owner == number));
        let nothing = |item: &Addressed| Extent {
            target: item.index,
            start: Bytes(0),
            length: Bytes(0),
            room: Bytes(0),
        };
        return Some(own.map(nothing).collect());
    }
    if extents.is_empty() {
        let message = format!("the stream \"{}\" has nothing to work on", stream.name);
        let help = "make its size at least one block";
        remarks.error("plan.empty-region", stream.options.size.span().or(Some(stream.span)), message, help);
        return None;
    }
    Some(extents)
}

/// Whether worker `number` goes on behind its part of any of its files.
pub(crate) fn has_tails(
    stream: &Named<StreamOptions>,
    operations: &Operations,
    number: u32,
    sections: &[&[Addressed]],
    fios: Option<&Grown>,
) -> bool {
    let own = || {
        let all = sections.iter().flat_map(|section| section.iter());
        all.filter(|item| item.owner.is_none_or(|owner| owner == number))
    };
    let count = own().count() as u64;
    let of = |(position, item): (u64, &Addressed)| {
        has_tail(stream, operations.smallest, number, item, (position, count), fios)
    };
    may_have_tails(stream, operations, number, sections, fios) && (0..).zip(own()).any(of)
}

/// Whether worker `number` may go on behind its parts of several files, which are none of whole blocks: fio's sequential jobs end
/// in those that are longer with an operation that begins in the part, until all have moved what was asked for.
fn may_have_tails(
    stream: &Named<StreamOptions>,
    operations: &Operations,
    number: u32,
    sections: &[&[Addressed]],
    fios: Option<&Grown>,
) -> bool {
    let [section] = sections else { return false };
    let (Some(pass), Some(Amount::Bytes(size))) =
        (stream.options.pass_bytes.get(), stream.options.size.get())
    else {
        return false;
    };
    let own = || section.iter().filter(|item| item.owner.is_none_or(|owner| owner == number));
    let count = own().count() as u64;
    let left = pass.0.saturating_sub(size.0);
    fios.is_some() && is_plain(operations) && count > 1 && left > 0 && left < count * operations.smallest
}

/// Whether a file has one operation though its part of `size` is less: fio's sequential jobs begin one in each file that is longer than
/// that, until all have moved what was asked for.
fn is_begun(
    stream: &Named<StreamOptions>,
    operations: &Operations,
    item: &Addressed,
    (position, count): (u64, u64),
    fios: &Grown,
    start: u64,
) -> bool {
    let Some(&Amount::Bytes(size)) = stream.options.size.get() else { return false };
    let block = operations.smallest;
    let part = size.0 / count;
    let begun = (part * count).div_ceil(block);
    let is_longer = fios.before(position, item.there) >= start.saturating_add(block);
    let is_short = count > 1 && (1..block).contains(&part);
    is_short && is_longer && position < begun && item.class == Class::File && is_plain(operations)
}

/// Whether operations of one kind and size go on through the files: those of several sizes end in their part.
fn is_plain(operations: &Operations) -> bool {
    let workload = &operations.workload;
    operations.sequential
        && workload.stride_bytes >= 0
        && operations.only_size().is_some()
        && workload.cases.iter().all(|case| case.kind == workload.cases[0].kind)
}

/// Whether a file goes on behind the part of it that the worker has by a block or more.
fn has_tail(
    stream: &Named<StreamOptions>,
    block: u64,
    number: u32,
    item: &Addressed,
    place: (u64, u64),
    fios: Option<&Grown>,
) -> bool {
    let (start, length) = span_in(stream, block, number, item, place, fios);
    let known = fios.map_or(item.there, |fios| fios.before(place.0, item.there));
    let there = if item.class == Class::Block { item.end } else { known };
    there >= start.saturating_add(length).saturating_add(block)
}

/// Start and length of the region in one target; not yet checked against its size.
fn span_in(
    stream: &Named<StreamOptions>,
    block: u64,
    number: u32,
    item: &Addressed,
    (position, count): (u64, u64),
    fios: Option<&Grown>,
) -> (u64, u64) {
    let options = &stream.options;
    let known = fios.map_or(item.there, |fios| fios.before(position, item.there));
    let is_known_file = fios.is_some() && item.class == Class::File && known > 0;
    // fio takes a share of the file or device that is there, however much of it a job uses.
    let whole = match item.class {
        Class::File if is_known_file => known,
        Class::Block if fios.is_some() => item.end,
        _ => item.size,
    };
    // Only a file has an end to append to.
    let start = if *options.append.get() && item.class == Class::File {
        known
    } else {
        start_in(options, block, u64::from(number), whole)
    };
    // What others make of it later is nothing to a job that uses what it finds.
    let is_found = is_known_file && !item.is_sized && !*options.until_full.get();
    let size = if is_found { item.size.min(known) } else { item.size };
    let length = match options.size.get() {
        None => size.saturating_sub(start),
        Some(&Amount::Share(share)) => Bytes(share_of(share, size)).round_down(Bytes(block)).0,
        Some(&Amount::Bytes(size)) => part_of_set(size.0, block, count, position),
    };
    (start, length)
}

/// A share of a file that is not there is 0 to fio: the region begins at the start, and of what the null engine does not open where it
/// would not fit otherwise.
fn from_the_start_where_nothing_is(
    stream: &Named<StreamOptions>,
    item: &Addressed,
    (start, length): (u64, u64),
    remarks: &mut Remarks,
) -> (u64, u64) {
    let StreamOptions { offset, offset_per_worker, size, .. } = &stream.options;
    let in_shares =
        [offset.get(), offset_per_worker.get()].iter().any(|amount| matches!(amount, Amount::Share(_)));
    let fits = start < item.size && start.saturating_add(length) <= item.size;
    let is_nothing = item.class == Class::File || item.class == Class::Null && !fits;
    if !in_shares || !is_nothing {
        return (start, length);
    }
    let place = offset.span().or(offset_per_worker.span()).or(Some(stream.span));
    let message = format!("{} is not there, so that a share of it is 0: the offset is 0", item.name);
    remarks.warn(
        "plan.share-of-nothing",
        place,
        message,
        "give the offset in bytes, or lay the file out first",
    );
    (0, if size.get().is_some() { length } else { item.size })
}

/// fio goes to the end of what is there, however large a region was asked for.
fn cut_at_the_end(
    stream: &Named<StreamOptions>,
    block: u64,
    number: u32,
    item: &Addressed,
    (start, length): (u64, u64),
    remarks: &mut Remarks,
) -> (u64, u64) {
    let left = item.size.saturating_sub(start);
    if length <= left || left < block {
        return (start, length);
    }
    let StreamOptions { offset, offset_per_worker, size, workers, .. } = &stream.options;
    let worker = if *workers.get() > 1 { format!(" (worker {number})") } else { String::new() };
    let message = format!(
        "the region of the stream \"{}\"{worker} is cut to {}: from {} on, {} has no more of the {} asked for",
        stream.name,
        Bytes(left),
        Bytes(start),
        item.name,
        Bytes(length)
    );
    let place = size.span().or(offset.span()).or(offset_per_worker.span()).or(Some(stream.span));
    remarks.warn("plan.cut-at-end", place, message, "make size or offset smaller, or the target larger");
    let whole = matches!(size.get(), Some(Amount::Share(_)));
    (start, if whole { Bytes(left).round_down(Bytes(block)).0 } else { left })
}

/// Whether a device ends before the region has room for one operation. To fio that is a region in which nothing is done.
fn lies_behind(
    stream: &Named<StreamOptions>,
    block: u64,
    item: &Addressed,
    (start, length): (u64, u64),
    remarks: &mut Remarks,
) -> bool {
    let StreamOptions { offset, size, workers, .. } = &stream.options;
    let is_known = matches!(size.get(), Some(Amount::Bytes(_))) && *workers.get() == 1;
    let left = item.size.saturating_sub(start);
    if item.class != Class::Block || !is_known || left >= block || length < block {
        return false;
    }
    let message = format!(
        "the stream \"{}\" does nothing on {}, which has {} from {} on and no room for one operation of {}",
        stream.name,
        item.name,
        Bytes(left),
        Bytes(start),
        Bytes(block)
    );
    let place = offset.span().or(size.span()).or(Some(stream.span));
    remarks.warn("plan.nothing-fits", place, message, "make offset smaller, or leave this stream out");
    true
}

/// Whether it comes to places behind its region by jumps.
pub(crate) fn goes_on_behind(operations: &Operations) -> bool {
    operations.sequential && operations.workload.stride_bytes > 0
}

/// Jumps that go on behind the region end fio's jobs where they find more of the file or device there.
fn tell_of_early_end(
    stream: &Named<StreamOptions>,
    operations: &Operations,
    item: &Addressed,
    (length, room): (u64, u64),
    remarks: &mut Remarks,
) {
    if !goes_on_behind(operations) {
        return;
    }
    let message = format!(
        "the stream \"{}\" may end before it has moved its {}: as with fio it ends where it leaves its region, and {} goes on \
         for {} behind that",
        stream.name,
        Bytes(length),
        item.name,
        Bytes(room)
    );
    let place = stream.options.size.span().or(Some(stream.span));
    remarks.warn("plan.may-end-early", place, message, "let its region end where the file or device does");
}

fn fits(
    stream: &Named<StreamOptions>,
    operations: &Operations,
    number: u32,
    item: &Addressed,
    (start, length): (u64, u64),
    remarks: &mut Remarks,
) -> bool {
    let options = &stream.options;
    let place = options.size.span().or(options.offset.span()).or(options.offset_per_worker.span());
    let place = place.or(Some(stream.span));
    let of = format!("the region of the stream \"{}\"", stream.name);
    let worker = if *options.workers.get() > 1 { format!(" (worker {number})") } else { String::new() };
    let end = start.saturating_add(length);
    if start >= item.size || end > item.size {
        let message = format!(
            "{of}{worker} goes from {} to {}, past the {} of {}",
            Bytes(start),
            Bytes(end.max(start)),
            Bytes(item.size),
            item.name
        );
        remarks.error("plan.past-end", place, message, "make size or offset smaller, or the target larger");
        return false;
    }
    // Where extents end, an operation that does not fit is cut, left out or smaller.
    let needed = if operations.ends() { operations.smallest } else { operations.largest };
    if length < needed {
        let block = Bytes(needed);
        let message =
            format!("{of}{worker} has {} of {}, less than one block of {block}", Bytes(length), item.name);
        let place = options.size.span().or(operations.block_place).or(place);
        remarks.error("plan.block-too-large", place, message, "use smaller blocks or a larger region");
        return false;
    }
    true
}

/// `extents` in `parts` equal parts, for operations that go from the start of a part to its end.
///
/// Whole extents are dealt out where they come out even; else each is cut, at multiples of `unit`; else, where an
/// extent is too small to cut, they are dealt out as they come. `None` when there is not enough for everyone.
pub(crate) fn cut(extents: &[Extent], parts: u64, unit: u64) -> Option<Vec<Vec<Extent>>> {
    let count = extents.len() as u64;
    let deal = || {
        let mut dealt = vec![Vec::new(); usize::try_from(parts).expect("at most WORKERS_MAX parts")];
        let hands = dealt.len();
        for (number, &extent) in extents.iter().enumerate() {
            dealt[number % hands].push(extent);
        }
        dealt
    };
    let even = extents.windows(2).all(|pair| pair[0].length == pair[1].length);
    if parts == 1 || (count > 1 && even && count.is_multiple_of(parts)) {
        return Some(deal());
    }
    let slice = |extent: &Extent| Bytes(extent.length.0 / parts).round_down(Bytes(unit)).0;
    if extents.iter().all(|extent| slice(extent) > 0) {
        let part = |number: u64| {
            let cut = |extent: &Extent| {
                let length = slice(extent);
                Extent { start: Bytes(extent.start.0 + number * length), length: Bytes(length), ..*extent }
            };
            extents.iter().map(cut).collect()
        };
        return Some((0..parts).map(part).collect());
    }
    (count >= parts).then(deal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sets_share_whole_blocks_and_the_first_get_the_rest() {
        for (total, block, count, expect) in [
            (100, 10, 1, vec![100]),
            (105, 10, 1, vec![105]),
            (100, 10, 4, vec![30, 30, 20, 20]),
            (105, 10, 4, vec![30, 30, 20, 20]),
            (20, 10, 4, vec![10, 10, 0, 0]),
        ] {
            let found: Vec<u64> = (0..count).map(|number| part_of_set(total, block, count, number)).collect();
            assert_eq!(found, expect, "{total} in {count}");
        }
    }

    fn extents(lengths: &[u64]) -> Vec<Extent> {
        let extent = |(target, &length): (usize, &u64)| Extent {
            target: u32::try_from(target).unwrap(),
            start: Bytes(0),
            length: Bytes(length),
            room: Bytes::ZERO,
        };
        lengths.iter().enumerate().map(extent).collect()
    }

    #[test]
    fn parts_are_dealt_when_even_and_cut_otherwise() {
        for (lengths, parts, expect) in [
            (&[80][..], 2, Some(vec![vec![40], vec![40]])),
            (&[85], 2, Some(vec![vec![40], vec![40]])),
            (&[80, 80], 2, Some(vec![vec![80], vec![80]])),
            (&[80, 40], 2, Some(vec![vec![40, 20], vec![40, 20]])),
            (&[10, 10, 10], 2, Some(vec![vec![10, 10], vec![10]])),
            (&[10], 2, None),
        ] {
            let found = cut(&extents(lengths), parts, 10);
            let found = found.map(|parts| {
                parts.iter().map(|part| part.iter().map(|e| e.length.0).collect()).collect::<Vec<Vec<u64>>>()
            });
            assert_eq!(found, expect, "{lengths:?} in {parts}");
        }
    }

    proptest! {
        #[test]
        fn parts_stay_inside_and_never_overlap(
            lengths in prop::collection::vec(1_u64..1 << 40, 1..5), parts in 1_u64..64, unit in 1_u64..1 << 20,
        ) {
            let whole = extents(&lengths);
            if let Some(cut) = cut(&whole, parts, unit) {
                let mut all: Vec<Extent> = cut.concat();
                prop_assert_eq!(cut.len() as u64, parts);
                prop_assert!(cut.iter().all(|part| !part.is_empty()));
                all.sort_by_key(|e| (e.target, e.start));
                for e in &all {
                    prop_assert!(e.length.0 > 0 && e.start.0 + e.length.0 <= lengths[e.target as usize]);
                }
                for pair in all.windows(2) {
                    let [a, b] = pair else { unreachable!() };
                    prop_assert!(a.target != b.target || a.start.0 + a.length.0 <= b.start.0);
                }
            }
        }

        #[test]
        fn n_equal_shares_make_no_more_than_all(n in 1_u64..1000, size in 0_u64..1 << 60) {
            let share = Ratio::percent(100.0 / n as f64);
            prop_assert!(times_share(share, n, size) <= size.saturating_add(n + size / 1_000_000_000));
            prop_assert_eq!(times_share(Ratio::percent(20.0), 5, size), size);
        }
    }
}
