//! An access specification as a workload: its lines are a mix. Knows the two meanings and nothing of who runs it.

use super::tree::{Spec, SpecLine};
use fathom_model::{Access, BlockSizes, ContentSource, Diagnostics, Freshness, MixLine, WorkloadOptions};
use fathom_units::{Bytes, Ratio};

/// The byte that is repeated where Iometer repeats one that it draws for each write.
const REPEATED: u8 = 0xa5;

/// Fills `options`; says what is carried over nearly or not at all.
pub(super) fn lower(
    spec: &Spec,
    pattern: Option<u8>,
    sector_bytes: u64,
    options: &mut WorkloadOptions,
    found: &mut Diagnostics,
) {
    let span = spec.span;
    let lines: Vec<&SpecLine> = spec.lines.iter().filter(|line| line.pct > 0).collect();
    for line in lines.iter().filter(|line| line.size == 0) {
        let message = format!("a line of \"{}\" has operations of 0 bytes", spec.name);
        found.error("icf.bad-value", line.span, message, "give a size in bytes");
    }
    if lines.iter().any(|line| line.size == 0) {
        return;
    }
    if let Some(line) = lines.iter().find(|line| !u64::from(line.size).is_multiple_of(sector_bytes)) {
        let message = format!(
            "operations of {} B of \"{}\" are no whole sectors of {sector_bytes} B: storage refuses them where the page cache \
             is passed by, as Iometer does",
            line.size, spec.name
        );
        found.warn("icf.unaligned", line.span, message, format!("give a multiple of {sector_bytes}"));
    }
    let share = |percent: u32| Ratio::percent(f64::from(percent));
    let size = |line: &SpecLine| BlockSizes::fixed(Bytes(u64::from(line.size)));
    let access = |line: &SpecLine| Access { random: share(line.random) };
    let own_grid = differ(&lines, sector_bytes);
    if let ([line], false) = (lines.as_slice(), own_grid) {
        options.block_size.set(size(line), line.span);
        options.read.set(share(line.read), line.span);
        options.access.set(access(line), line.span);
    } else {
        let line_of = |line: &&SpecLine| MixLine {
            share: f64::from(line.pct),
            block_size: size(line),
            read: share(line.read),
            trim: Ratio::ZERO,
            access: access(line),
            align: own_grid.then(|| Bytes(grid(line, sector_bytes))),
            reply: None,
        };
        options.mix.set(lines.iter().map(line_of).collect(), span);
    }
    set_align(spec, &lines, sector_bytes, options, found);
    if let Some(line) = lines.iter().find(|line| line.reply > 0) {
        let message =
            format!("disk workers leave the replies of \"{}\" out: only its requests run there", spec.name);
        found.warn("icf.ignored", line.span, message, "add lines for what the replies move");
    }
    if let Some(pattern) = pattern.filter(|_| lines.iter().any(|line| line.read < 100)) {
        set_content(spec, pattern, options, found);
    }
}

/// Fills `options` for a network, which has no places: sizes, directions and replies.
pub(super) fn lower_network(spec: &Spec, options: &mut WorkloadOptions, found: &mut Diagnostics) {
    let lines: Vec<&SpecLine> = spec.lines.iter().filter(|line| line.pct > 0).collect();
    if let Some(line) = lines.iter().find(|line| line.size == 0) {
        let message = format!("a line of \"{}\" has operations of 0 bytes", spec.name);
        found.error("icf.bad-value", line.span, message, "give a size in bytes");
        return;
    }
    let share = |percent: u32| Ratio::percent(f64::from(percent));
    let line_of = |line: &&SpecLine| MixLine {
        share: f64::from(line.pct),
        block_size: BlockSizes::fixed(Bytes(u64::from(line.size))),
        read: share(line.read),
        trim: Ratio::ZERO,
        access: Access { random: Ratio::ZERO },
        align: None,
        reply: (line.reply > 0).then(|| Bytes(u64::from(line.reply))),
    };
    options.mix.set(lines.iter().map(line_of).collect(), spec.span);
    // One buffer again and again: what travels is looked at by nobody.
    options.freshness.set(Freshness::Never, spec.span);
}

/// What places of a line are multiples of: of a sector where nothing is said.
fn grid(line: &SpecLine, sector_bytes: u64) -> u64 {
    if line.align == 0 { sector_bytes } else { u64::from(line.align) }
}

/// Whether lines need a grid each: random operations that differ, or sequential ones that follow others which may end
/// between two of their places. A line that is sequential alone has its gaps as a stride.
fn differ(lines: &[&SpecLine], sector_bytes: u64) -> bool {
    if let [line] = lines
        && line.random == 0
    {
        return false;
    }
    let mut random = lines.iter().filter(|line| line.random > 0).map(|line| grid(line, sector_bytes));
    let first = random.next();
    let leaves = |onward: &SpecLine, before: &&SpecLine| {
        let grid_of = grid(onward, sector_bytes);
        !u64::from(before.size).is_multiple_of(grid_of)
            || (before.random > 0 && !grid(before, sector_bytes).is_multiple_of(grid_of))
    };
    random.any(|other| Some(other) != first)
        || lines.iter().any(|line| line.random < 100 && lines.iter().any(|before| leaves(line, before)))
}

/// Iometer aligns line by line; where all lines agree, the workload says it for them.
fn set_align(
    spec: &Spec,
    lines: &[&SpecLine],
    sector_bytes: u64,
    options: &mut WorkloadOptions,
    found: &mut Diagnostics,
) {
    let random: Vec<&&SpecLine> = lines.iter().filter(|line| line.random > 0).collect();
    if let Some(first) = random.first() {
        if !differ(lines, sector_bytes) {
            options.align.set(Bytes(grid(first, sector_bytes)), first.span);
        }
        let unsaid = random.iter().find(|line| line.align == 0 && u64::from(line.size) > sector_bytes);
        if let Some(line) = unsaid.filter(|_| !is_said("icf.align", found)) {
            let message = format!(
                "with align 0, random operations begin at any sector of {sector_bytes} B, first those of \"{}\"",
                spec.name
            );
            let help = "drives and arrays with larger blocks then read before they write; 4096 is usual";
            found.warn("icf.align", line.span, message, help);
        }
    }
    if let Some(line) = lines.iter().find(|line| !u64::from(line.align).is_multiple_of(sector_bytes)) {
        let message = format!(
            "align {} of \"{}\" is no multiple of the sectors of {sector_bytes} B: storage refuses such places where the page \
             cache is passed by, as Iometer does",
            line.align, spec.name
        );
        found.warn("icf.unaligned", line.span, message, format!("give a multiple of {sector_bytes}, or 0"));
    }
    if let [line] = lines
        && line.random == 0
    {
        let size = u64::from(line.size);
        let gap = size.next_multiple_of(grid(line, sector_bytes)) - size;
        if gap > 0 {
            options.stride.set(i64::try_from(gap).unwrap_or(i64::MAX), line.span);
        }
    }
}

fn set_content(spec: &Spec, pattern: u8, options: &mut WorkloadOptions, found: &mut Diagnostics) {
    let span = spec.span;
    let (source, freshness, what) = match pattern {
        0 => (ContentSource::Pattern(vec![REPEATED]), Freshness::Never, "repeat one byte (data pattern 0)"),
        1 => (ContentSource::Random, Freshness::Never, "repeat one buffer (data pattern 1)"),
        _ => (ContentSource::Random, Freshness::Every, ""),
    };
    options.content.set(source, span);
    options.freshness.set(freshness, span);
    if !what.is_empty() && !is_said("icf.content", found) {
        let message = format!(
            "writes {what}, first those of \"{}\": storage that compresses or removes duplicates is faster then",
            spec.name
        );
        found.warn("icf.content", span, message, "data pattern 2 is new random data for every write");
    }
}

/// Whether something is said already that is so of most specifications of a file.
fn is_said(code: &str, found: &Diagnostics) -> bool {
    found.all().iter().any(|one| one.code == code)
}
