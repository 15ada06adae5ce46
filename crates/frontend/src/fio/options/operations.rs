//! Rows of directions, sizes, places and randomness.

use super::super::settings::Settings;
use super::super::values::{Misread, Size, Unit, number, split, weights};
use super::Priority::{P0, P1, P2};
use super::{NO_BOOLEAN, OptionRow, Status, Value, accepted, built, refused, row};

/// What `rw` takes.
const DIRECTIONS: &[&str] = &[
    "read",
    "write",
    "trim",
    "randread",
    "randwrite",
    "randtrim",
    "rw",
    "readwrite",
    "randrw",
    "trimwrite",
    "randtrimwrite",
];
/// The largest block: sizes are 32-bit in the plan.
const BLOCK_MAX: u64 = u32::MAX as u64;

pub(super) const ROWS: &[OptionRow] = &[
    built(
        "rw",
        &["readwrite"],
        P0,
        Value::Word(DIRECTIONS, |s, word, postfix| {
            word.clone_into(&mut s.operations.rw);
            s.operations.postfix = postfix.map(str::to_owned);
        }),
    ),
    built(
        "rw_sequencer",
        &[],
        P1,
        Value::Word(&["sequential", "identical"], |s, word, _| {
            s.operations.repeats_place = word == "identical";
        }),
    ),
    built(
        "size",
        &[],
        P0,
        Value::Size(|s, size| {
            let before = s.operations.size.replace(size);
            note_replaced(s, "size", before, size);
        }),
    ),
    built("io_size", &["io_limit"], P0, Value::Size(|s, size| s.operations.io_size = Some(size))),
    built(
        "offset",
        &["fileoffset"],
        P0,
        Value::Size(|s, size| {
            let before = std::mem::replace(&mut s.operations.offset, size);
            note_replaced(s, "offset", Some(before), size);
        }),
    ),
    built("offset_align", &[], P1, Value::Bytes(0, 1 << 40, |s, bytes| s.operations.offset_align = bytes)),
    built("offset_increment", &[], P0, Value::Size(|s, size| s.operations.offset_increment = size)),
    built(
        "bs",
        &["blocksize"],
        P0,
        Value::Triple(Unit::Bytes, 1, BLOCK_MAX, |s, triple| {
            // A range that was given holds, whichever line comes last.
            let has_range = s.operations.has_block_range;
            for (slot, size) in s.operations.block_sizes.iter_mut().zip(triple).filter(|_| !has_range) {
                if let Some(size) = size {
                    *slot = (size, size);
                }
            }
        }),
    ),
    built(
        "ba",
        &["blockalign"],
        P0,
        Value::Triple(Unit::Bytes, 1, BLOCK_MAX, |s, triple| {
            for (slot, align) in s.operations.align.iter_mut().zip(triple) {
                *slot = align.unwrap_or(*slot);
            }
        }),
    ),
    built("bsrange", &["blocksize_range"], P0, Value::Text(ranges)),
    built("bssplit", &[], P0, Value::Text(splits)),
    built("bs_unaligned", &["blocksize_unaligned"], P1, Value::Flag(|s, flag| s.operations.unaligned = flag)),
    built("bs_is_seq_rand", &[], P2, Value::Boolean(|s, flag| s.operations.sizes_by_access = flag)),
    built("rwmixread", &[], P0, Value::Text(|s, text, misreads| mix(s, text, misreads, |read| read))),
    built(
        "rwmixwrite",
        &[],
        P0,
        Value::Text(|s, text, misreads| mix(s, text, misreads, |write| 100 - write)),
    ),
    built("num_range", &[], P1, Value::Count(1, 1 << 20, |s, n| s.operations.ranges = n)),
    built("randrepeat", &[], P0, Value::Boolean(|s, flag| s.operations.rand_repeat = flag)),
    built("allrandrepeat", &[], P1, Value::Boolean(|s, flag| s.operations.all_rand_repeat = flag)),
    built("randseed", &[], P0, Value::Count(0, i64::MAX as u64, |s, seed| s.operations.seed = Some(seed))),
    built("norandommap", &[], P0, Value::Flag(|s, flag| s.operations.no_random_map = flag)),
    // The map is a permutation here and always fits in memory.
    accepted("softrandommap", &[], P1, NO_BOOLEAN, ""),
    // All three cover every block once per pass, in an order that is the generator's own; lfsr does so without a map too.
    built(
        "random_generator",
        &[],
        P0,
        Value::Word(&["tausworthe", "lfsr", "tausworthe64"], |s, word, _| s.operations.lfsr = word == "lfsr"),
    ),
    built(
        "random_distribution",
        &[],
        P0,
        Value::Text(|s, text, _| {
            // As with all words of fio, a blank before it is a part of it.
            text.trim_end().clone_into(&mut s.operations.distribution);
            Ok(())
        }),
    ),
    built("random_sequence_stride", &[], P2, Value::Boolean(|s, flag| s.operations.sequence_advances = flag)),
    built(
        "percentage_random",
        &[],
        P1,
        Value::Triple(Unit::Count, 0, 100, |s, triple| {
            for (slot, percent) in s.operations.percentage_random.iter_mut().zip(triple) {
                *slot = percent.unwrap_or(*slot);
            }
        }),
    ),
    row(
        "percentage_sequential",
        &[],
        P2,
        Status::Refused(&[], "fio itself took it out; percentage_random says the same"),
        Value::Any,
    ),
    row("rwmixcycle", &[], P2, Status::Refused(&[], "fio itself took it out"), Value::Any),
    refused("sprandom", &[], &["0"], "the preconditioning of fathom steady is the standard's (SNIA PTS)"),
    refused("spr_num_regions", &[], &["100"], "it belongs to sprandom"),
    refused("spr_op", &[], &["0.15"], "it belongs to sprandom"),
    refused("spr_cs", &[], &["0"], "it belongs to sprandom"),
];

/// `4k-64k`, up to three of them for reads, writes and trims.
fn ranges(s: &mut Settings, text: &str, misreads: &mut Vec<Misread>) -> Result<(), String> {
    let mut ends = |text: &str| -> Result<(u64, u64), String> {
        let (low, high) = text
            .split_once('-')
            .or_else(|| text.split_once(':'))
            .ok_or(format!("\"{text}\" is no range LOW-HIGH"))?;
        let mut end = |text: &str| {
            let read = number(text, Unit::Bytes, s.kb_base)?;
            misreads.extend(read.misread);
            u64::try_from(read.value)
                .ok()
                .filter(|size| (1..=BLOCK_MAX).contains(size))
                .ok_or(format!("\"{text}\" is no size"))
        };
        let (low, high) = (end(low)?, end(high)?);
        Ok((low.min(high), low.max(high)))
    };
    if text.trim().chars().all(|c| c == ',') {
        return Err("it is empty".to_owned());
    }
    // A direction for which nothing is written keeps what it has.
    let mut read = |text: &str| if text.trim().is_empty() { Ok(None) } else { ends(text).map(Some) };
    let given: Vec<Option<(u64, u64)>> = text.split(',').take(3).map(&mut read).collect::<Result<_, _>>()?;
    s.operations.has_block_range = true;
    for (at, slot) in s.operations.block_sizes.iter_mut().enumerate() {
        *slot = given.get(at).or(given.last()).copied().flatten().unwrap_or(*slot);
    }
    Ok(())
}

/// A percentage whose place a number takes, or none any more where a percentage takes that of a number.
fn note_replaced(s: &mut Settings, name: &'static str, before: Option<Size>, now: Size) {
    let replaced = &mut s.operations.replaced_percents;
    match (before, now) {
        (_, Size::Percent(_)) => replaced.retain(|(known, _)| *known != name),
        (Some(Size::Percent(percent)), Size::Bytes(_)) => replaced.push((name, percent)),
        (_, Size::Bytes(_)) => {}
    }
}

/// The share of reads, of a percentage without its sign.
fn mix(
    s: &mut Settings,
    text: &str,
    misreads: &mut Vec<Misread>,
    reads: fn(u64) -> u64,
) -> Result<(), String> {
    let read = number(text, Unit::Count, s.kb_base)?;
    if read.is_percent {
        // Observed with fio 3.33, for both options and any number before the sign.
        s.operations.mix_read = 100;
        let piece = text.trim().to_owned();
        let instead = piece.trim_end_matches('%').to_owned();
        let because = "the percent sign makes it a number beyond all";
        misreads.push(Misread { piece, reads_as: "reads alone".to_owned(), because, instead });
        return Ok(());
    }
    misreads.extend(read.misread);
    let percent = u64::try_from(read.value).map_err(|_| format!("{} is below 0", read.value))?;
    if percent > 100 {
        return Err(format!("{percent} is above 100"));
    }
    s.operations.mix_read = reads(percent);
    Ok(())
}

/// Most sizes of one direction, as with fio.
const SPLIT_MAX: usize = 64;

/// A direction that is left empty has the sizes of `bs` or `bsrange`, as with fio. fio drops
/// blanks at both ends of this value; one within it hides a unit.
fn splits(s: &mut Settings, text: &str, misreads: &mut Vec<Misread>) -> Result<(), String> {
    let text = text.trim();
    let (splits, found) = split(text, Unit::Bytes, s.kb_base, SPLIT_MAX)?;
    misreads.extend(found);
    for group in &splits {
        weights(group)?;
        let asked: u32 = group.iter().filter_map(|entry| entry.1).sum();
        if asked > 100 && misreads.is_empty() {
            let (piece, kept) = (text.trim().to_owned(), weights(group)?);
            let kept: Vec<String> = kept.iter().map(|(weight, size)| format!("{size}/{weight}")).collect();
            let instead = kept.join(":");
            let because = "the percentages sum to more than 100, and what is beyond is taken off the largest";
            misreads.push(Misread { piece, reads_as: instead.clone(), because, instead });
        }
        if let Some((size, _)) = group.iter().find(|(size, _)| !(1..=BLOCK_MAX).contains(size)) {
            return Err(format!("{size} is no block size"));
        }
    }
    s.operations.splits = splits;
    Ok(())
}
