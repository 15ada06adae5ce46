//! Workload section to operations: the mix flattened into weighted cases, coverage settled, content and syncs mapped.
//!
//! It does not know which targets the operations go to.

use crate::demands;
use crate::locality;
use crate::remarks::Remarks;
use crate::verification;
use fathom_model::{
    Access, BlockSizes, ContentSource, Coverage, Cursor, Dialect, FileOrder, FilesEnd, Freshness, KindOrder,
    MixLine, Named, RandomDistribution, RangeSync, RepeatKind, RunKind, Span, WorkloadOptions, Zones,
};
use fathom_schema::{
    self as schema, Case, Content, Counted, Distribution, FileSkew, Fill, NoteKind, OperationKind, PassEnd,
    Quota, Repeats, Run, Severity, Size, SyncRule, Workload, ZoneShare,
};
use fathom_units::{Bytes, Ratio};

/// A workload with what the rest of planning asks about it.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "five independent facts, not states")]
pub(crate) struct Operations {
    pub workload: Workload,
    /// Smallest operation, in bytes.
    pub smallest: u64,
    /// Largest operation, in bytes.
    pub largest: u64,
    /// Mean operation, in bytes.
    pub mean_bytes: f64,
    /// Where the sizes are said; `None` where they are the default.
    pub block_place: Option<Span>,
    pub sequential: bool,
    pub random: bool,
    pub reads: bool,
    pub writes: bool,
    pub trims: bool,
    /// What is checked, as far as it is known without workers.
    pub verification: schema::Verification,
}

impl Operations {
    /// What the other end of the connection does meanwhile.
    pub(crate) fn mirrored(mut self) -> Self {
        for case in &mut self.workload.cases {
            case.kind = case.kind.opposite().unwrap_or(case.kind);
        }
        std::mem::swap(&mut self.reads, &mut self.writes);
        self
    }

    /// The size of every operation when there is only one.
    pub(crate) fn only_size(&self) -> Option<u64> {
        (self.smallest == self.largest).then_some(self.smallest)
    }

    /// Whether its extents end and are not each the other's equal: sizes need not fit every one of them.
    pub(crate) fn ends(&self) -> bool {
        self.workload.ends != PassEnd::Anew
    }

    /// What slices of a region are multiples of, so that every operation fits and stays aligned.
    pub(crate) fn slice_unit(&self) -> u64 {
        self.largest.next_multiple_of(self.smallest)
    }
}

/// Resolves one workload section; `None` when it has faults, which are then among the remarks.
#[expect(clippy::too_many_lines, reason = "one thing: every option of a section has its line")]
pub(crate) fn resolve(
    section: &Named<WorkloadOptions>,
    dialect: Dialect,
    remarks: &mut Remarks,
) -> Option<Operations> {
    let WorkloadOptions {
        block_size,
        read,
        trim,
        access,
        mix,
        distribution,
        coverage: _,
        align,
        align_of,
        run_length,
        run,
        stride,
        kind_order,
        cursor,
        files_end,
        zones,
        files_at_once,
        file_order,
        content,
        freshness,
        compressible,
        compress_chunk,
        dedupable,
        repeats,
        working_set: _, // with the region's size, in streams
        fsync_every,
        fdatasync_every,
        range_sync_every,
        range_sync,
        fsync_at_end,
        syncfs_at_end,
        trim_then_write,
        verify: _, // here to `verify_trim_zero`: verification
        verify_pattern: _,
        verify_pattern_interval: _,
        verify_when: _,
        verify_order: _,
        verify_interval: _,
        verify_header_at: _,
        verify_backlog: _,
        verify_backlog_batch: _,
        verify_fatal: _,
        verify_dump: _,
        verify_sequence: _,
        verify_seed: _,
        verify_only: _,
        verify_trim: _,
        verify_trim_backlog: _,
        verify_trim_batch: _,
        verify_trim_zero: _,
    } = &section.options;
    let lines = mix.get().cloned().unwrap_or_else(|| {
        let (block_size, read) = (block_size.get().clone(), *read.get());
        vec![MixLine {
            share: 1.0,
            block_size,
            read,
            trim: *trim.get(),
            access: *access.get(),
            align: None,
            reply: None,
        }]
    });
    let (cases, replies) = match cases(&lines) {
        Ok(found) => found,
        Err(reason) => {
            let span = mix.span().or(block_size.span());
            let message = format!("the mix of the workload \"{}\" has {reason}", section.name);
            remarks.error("plan.mix", span, message, "shares are percentages from 0, and not all 0");
            return None;
        }
    };
    let smallest = cases.iter().map(|case| u64::from(case.size.smallest())).min()?;
    let largest = cases.iter().map(|case| case.size.largest()).chain(replies.iter().copied()).max()?;
    let largest = u64::from(largest);
    let does = |kind| cases.iter().any(|case| case.kind == kind);
    let (reads, writes, trims) =
        (does(OperationKind::Read), does(OperationKind::Write), does(OperationKind::Trim));
    let draft = verification::draft(section, &cases, dialect, remarks)?;
    // What an earlier run wrote is only read.
    let changes = draft.lets_write();
    let quota = |every: Option<&u64>| every.map_or(Quota::Unlimited, |&every| Quota::AtMost(every.max(1)));
    let kinds = match kind_order.get() {
        KindOrder::Drawn => schema::KindOrder::Drawn,
        KindOrder::Even => schema::KindOrder::Even(Counted::Operations),
        KindOrder::Redrawn => redrawn(section, &cases, false, remarks)?,
        KindOrder::RedrawnOnward => redrawn(section, &cases, true, remarks)?,
    };
    let mut operations = Operations {
        smallest,
        largest,
        mean_bytes: cases.iter().map(|case| case.weight * case.size.mean()).sum(),
        block_place: section.options.block_size.span().or(section.options.mix.span()),
        sequential: cases.iter().any(|case| !case.random),
        random: cases.iter().any(|case| case.random),
        reads: reads || !changes,
        writes: changes && (writes || (trims && *trim_then_write.get())),
        trims: changes && (trims || draft.rule().is_some_and(|rule| rule.trims.is_some())),
        verification: draft,
        workload: Workload {
            cases,
            replies,
            kinds,
            cursor: match cursor.get() {
                Cursor::Shared => schema::Cursor::Shared,
                Cursor::PerKind => schema::Cursor::PerKind,
            },
            distribution: self::distribution(distribution.get(), smallest),
            coverage: schema::Coverage::Independent,
            align: align.get().copied().unwrap_or(Bytes(smallest)),
            align_of: demands::by_kind(align_of.get(), |bytes| bytes.0),
            run_length: *run_length.get(),
            run: match run.get() {
                RunKind::Onward => Run::Onward,
                RunKind::Again => Run::Again,
            },
            stride_bytes: *stride.get(),
            ends: match files_end.get() {
                FilesEnd::Anew if needs_ends(section) => PassEnd::Renew,
                FilesEnd::Anew => PassEnd::Anew,
                FilesEnd::Renew => PassEnd::Renew,
                FilesEnd::Stop => PassEnd::Stop,
            },
            zones: zones.get().map_or(schema::Zones::None, |&Zones { size, range, skip }| {
                schema::Zones::Strided { size: size.0, range: range.0, skip: skip.0 }
            }),
            extents_at_once: quota(files_at_once.get()),
            file_order: self::file_order(*file_order.get()),
            content: Content {
                fill: match content.get() {
                    ContentSource::Random => Fill::Random,
                    ContentSource::Zero => Fill::Zero,
                    ContentSource::Pattern(bytes) => Fill::Pattern(bytes.clone()),
                },
                freshness: match freshness.get() {
                    Freshness::Every => schema::Freshness::Every,
                    Freshness::Scrambled => schema::Freshness::Scrambled,
                    Freshness::Never => schema::Freshness::Never,
                },
                compressible: *compressible.get(),
                compress_chunk_bytes: u32::try_from(compress_chunk.get().0)
                    .expect("checked by the model: at most 1 GiB"),
                dedupable: *dedupable.get(),
                repeats: match repeats.get() {
                    RepeatKind::Any => Repeats::Any,
                    RepeatKind::Last => Repeats::Last,
                    // Its size follows from the region's, in streams.
                    RepeatKind::WorkingSet => Repeats::Of(1),
                },
            },
            sync: SyncRule {
                fsync_every: quota(fsync_every.get()),
                fdatasync_every: quota(fdatasync_every.get()),
                range_every: quota(range_sync_every.get()),
                range: {
                    let RangeSync { wait_before, write, wait_after } = *range_sync.get();
                    schema::RangeSync { wait_before, write, wait_after }
                },
                fsync_at_end: *fsync_at_end.get(),
                syncfs_at_end: *syncfs_at_end.get(),
            },
            trim_then_write: *trim_then_write.get(),
            verification: schema::Verification::Off,
        },
    };
    operations.workload.coverage = coverage(section, &operations, dialect, remarks)?;
    Some(operations)
}

/// Whether something is asked for that only walks with ends have.
fn needs_ends(section: &Named<WorkloadOptions>) -> bool {
    let options = &section.options;
    options.zones.get().is_some()
        || options.files_at_once.get().is_some()
        || options.align_of.get().is_some()
        || *options.coverage.get() == Coverage::Map
        || *options.run.get() == RunKind::Again
        || *options.kind_order.get() != KindOrder::Drawn
        || matches!(
            options.file_order.get(),
            FileOrder::Zipf(..) | FileOrder::Pareto(..) | FileOrder::Normal(..)
        )
}

/// Kinds that are drawn anew: there have to be reads and writes for it, and nothing else.
fn redrawn(
    section: &Named<WorkloadOptions>,
    cases: &[Case],
    onward: bool,
    remarks: &mut Remarks,
) -> Option<schema::KindOrder> {
    let share = |kind| cases.iter().filter(|case| case.kind == kind).map(|case| case.weight).sum::<f64>();
    let (reads, writes) = (share(OperationKind::Read), share(OperationKind::Write));
    if share(OperationKind::Trim) > 0.0 {
        let message = format!(
            "the workload \"{}\" trims, and kinds that are drawn anew are reads and writes",
            section.name
        );
        remarks.error("plan.mix", section.options.kind_order.span(), message, "use kind_order = \"drawn\"");
        return None;
    }
    let percent = 100.0 * reads / (reads + writes);
    if (percent - percent.round()).abs() > 1e-6 {
        let message = format!(
            "of the workload \"{}\" {percent:.3} % are reads, and kinds are drawn anew by whole percentages",
            section.name
        );
        remarks.error("plan.mix", section.options.kind_order.span(), message, "use kind_order = \"drawn\"");
        return None;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a hundred")]
    let read_percent = percent.round() as u32;
    Some(match read_percent {
        1..=99 => schema::KindOrder::Redrawn { read_percent, onward },
        _ => schema::KindOrder::Drawn,
    })
}

fn file_order(order: FileOrder) -> schema::FileOrder {
    let skewed =
        |by, favourite: Ratio, turns| schema::FileOrder::Skewed { by, favourite: favourite.value(), turns };
    match order {
        FileOrder::RoundRobin(n) => schema::FileOrder::RoundRobin(n),
        FileOrder::Sequential => schema::FileOrder::Sequential,
        FileOrder::Random(n) => schema::FileOrder::Random(n),
        FileOrder::Zipf(theta, center, n) => skewed(FileSkew::Zipf { theta }, center, n),
        FileOrder::Pareto(h, center, n) => skewed(FileSkew::Pareto { h }, center, n),
        FileOrder::Normal(deviation, center, n) => {
            skewed(FileSkew::Normal { deviation: deviation.value() }, center, n)
        }
    }
}

/// Every combination of size, kind and access that occurs, with its share of all operations, the weights summing to 1; and
/// the replies to each, none where there are none.
fn cases(lines: &[MixLine]) -> Result<(Vec<Case>, Vec<u32>), String> {
    let (mut cases, mut replies) = (Vec::new(), Vec::new());
    for line in lines {
        let MixLine { share, block_size: BlockSizes { sizes }, read, trim, access, align, reply } = line;
        let Access { random } = access;
        let reply = reply.map_or(0, |reply| u32::try_from(reply.0).expect("checked by the model: 1 GiB"));
        let of_sizes: f64 = sizes.iter().map(|&(weight, ..)| weight).sum();
        let write = 1.0 - (read.value() + trim.value()).min(1.0);
        // 70% and 30% leave 5e-17 in binary; a share that small is not one that somebody wrote.
        let write = if write < 1e-9 { 0.0 } else { write };
        let kinds = [
            (OperationKind::Read, read.value()),
            (OperationKind::Write, write),
            (OperationKind::Trim, trim.value()),
        ];
        for &(weight, min, max, step) in sizes {
            if !weight.is_finite() || weight < 0.0 || !share.is_finite() || *share < 0.0 {
                return Err(format!("a share of {weight}% in a line of {share}%"));
            }
            let size = size(min, max, step)?;
            let align = align.map(|align| u32::try_from(align.0).expect("checked by the model: below 4 GiB"));
            for (kind, of_kind) in kinds {
                for (random, of_access) in [(true, random.value()), (false, random.rest().value())] {
                    let weight = share * weight / of_sizes * of_kind * of_access;
                    if weight > 0.0 {
                        cases.push(Case { weight, kind, size, random, align });
                        replies.push(if kind.opposite().is_some() { reply } else { 0 });
                    }
                }
            }
        }
    }
    let total: f64 = cases.iter().map(|case| case.weight).sum();
    if cases.is_empty() || !total.is_finite() {
        return Err("no share above 0%".to_owned());
    }
    for case in &mut cases {
        case.weight /= total;
    }
    if replies.iter().all(|&bytes| bytes == 0) {
        replies.clear();
    }
    Ok((cases, replies))
}

fn size(min: Bytes, max: Bytes, step: Bytes) -> Result<Size, String> {
    let narrow = |Bytes(n): Bytes| {
        u32::try_from(n).ok().filter(|&n| n > 0).ok_or_else(|| format!("a block of {}", Bytes(n)))
    };
    let (min, max) = (narrow(min)?, narrow(max)?);
    let step = u32::try_from(step.0).unwrap_or(u32::MAX).max(1);
    match max.checked_sub(min) {
        None => Err(format!("a range of blocks from {min} B down to {max} B")),
        Some(width) if width < step => Ok(Size::Fixed(min)),
        Some(width) => Ok(Size::Range { min, max: min + width / step * step, step }),
    }
}

fn distribution(of: &RandomDistribution, block: u64) -> Distribution {
    match of {
        RandomDistribution::Uniform => Distribution::Uniform,
        RandomDistribution::Zipf(theta, center) => centered(Distribution::Zipf { theta: *theta }, *center),
        RandomDistribution::Pareto(h, center) => centered(Distribution::Pareto { h: *h }, *center),
        RandomDistribution::Normal(deviation) => {
            Distribution::Normal { deviation: deviation.value(), scattered: false }
        }
        RandomDistribution::ScatteredNormal(deviation) => {
            Distribution::Normal { deviation: deviation.value(), scattered: true }
        }
        RandomDistribution::Hot(access, span) => {
            Distribution::Hot(ZoneShare { access: access.value(), span: span.value() })
        }
        RandomDistribution::Reuse(points) => Distribution::Reuse(locality::classes(points, block)),
        RandomDistribution::ReuseWalk => Distribution::ReuseWalk,
        RandomDistribution::Listed(blocks, advances) => {
            Distribution::Listed { blocks: blocks.clone(), advances: *advances }
        }
        RandomDistribution::Zoned(zones) => Distribution::Zoned(zone_shares(zones)),
        RandomDistribution::ZonedByKind(lists) => {
            Distribution::ZonedByKind(std::array::from_fn(|kind| match &lists[kind][..] {
                [] => vec![ZoneShare { access: 1.0, span: 1.0 }],
                zones => zone_shares(zones),
            }))
        }
    }
}

fn zone_shares(zones: &[(Ratio, Ratio)]) -> Vec<ZoneShare> {
    zones.iter().map(|(access, span)| ZoneShare { access: access.value(), span: span.value() }).collect()
}

fn centered(of: Distribution, center: Option<Ratio>) -> Distribution {
    match center {
        None => of,
        Some(center) => Distribution::Centered { of: Box::new(of), center: center.value() },
    }
}

/// Once-per-pass order numbers blocks of one size, so it holds only where all operations are such blocks. A native job
/// that asks for more is told; a peer's job, where the order is a default that the peer bends silently, goes on with a
/// note.
fn coverage(
    section: &Named<WorkloadOptions>,
    operations: &Operations,
    dialect: Dialect,
    remarks: &mut Remarks,
) -> Option<schema::Coverage> {
    let wanted = &section.options.coverage;
    if *wanted.get() == Coverage::Independent || !operations.random {
        return Some(schema::Coverage::Independent);
    }
    let Workload { cases, distribution, align, align_of, run_length, .. } = &operations.workload;
    if *wanted.get() == Coverage::Map && *distribution == Distribution::Uniform {
        return Some(schema::Coverage::Map);
    }
    let obstacle = if operations.only_size().is_none() {
        "several block sizes"
    } else if operations.sequential {
        "sequential operations among the random ones"
    } else if *distribution != Distribution::Uniform {
        "a distribution that prefers some blocks"
    } else if *run_length > 1 {
        "runs of consecutive operations"
    } else if align.0 != operations.smallest
        || !align_of.is_empty()
        || cases.iter().any(|case| case.align.is_some())
    {
        "an align that is not the block size"
    } else {
        return Some(schema::Coverage::OncePerPass);
    };
    let message = format!(
        "the workload \"{}\" has {obstacle}, so it cannot touch every block once per pass",
        section.name
    );
    if dialect == Dialect::Native {
        remarks.error("plan.coverage", wanted.span(), message, "use coverage = \"independent\"");
        return None;
    }
    remarks.note(NoteKind::Job, Severity::Info, format!("{message}; its draws are independent"));
    Some(schema::Coverage::Independent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_model::{Literal, Options, Span};

    fn check(options: &[(&str, &str)], expect: &[(f64, OperationKind, Size, bool)]) {
        let mut section = Named::<WorkloadOptions>::new("w", Span::default());
        for (name, value) in options {
            let literal = match value.split_once('|') {
                None => Literal::from(*value),
                Some(_) => Literal::List(
                    value
                        .split('|')
                        .map(|item| fathom_model::Spanned {
                            value: Literal::from(item),
                            span: Span::default(),
                        })
                        .collect(),
                ),
            };
            section.options.set(name, &literal, Span::default()).unwrap().unwrap();
        }
        let operations = resolve(&section, Dialect::Native, &mut Remarks::default()).unwrap();
        let found: Vec<_> = operations
            .workload
            .cases
            .iter()
            .map(|case| ((case.weight * 1e6).round() / 1e6, case.kind, case.size, case.random))
            .collect();
        assert_eq!(found, expect, "{options:?}");
    }

    #[test]
    fn mixes_flatten_into_weighted_cases() {
        use OperationKind::{Read, Write};
        let k4 = Size::Fixed(4096);
        check(&[], &[(1.0, Read, k4, false)]);
        check(&[("read", "70%"), ("access", "random")], &[(0.7, Read, k4, true), (0.3, Write, k4, true)]);
        check(
            &[("read", "40%"), ("access", "55% random")],
            &[
                (0.22, Read, k4, true),
                (0.18, Read, k4, false),
                (0.33, Write, k4, true),
                (0.27, Write, k4, false),
            ],
        );
        check(
            &[("block_size", "4KiB 75%|8KiB..16KiB")],
            &[
                (0.75, Read, k4, false),
                (0.25, Read, Size::Range { min: 8192, max: 16384, step: 8192 }, false),
            ],
        );
    }

    #[test]
    fn once_per_pass_needs_blocks_of_one_size() {
        for (dialect, errors, notes) in [(Dialect::Native, 1, 0), (Dialect::Fio, 0, 1)] {
            let mut section = Named::<WorkloadOptions>::new("w", Span::default());
            section.options.access.set(Access { random: Ratio::ONE }, Span::default());
            section.options.coverage.set(Coverage::OncePerPass, Span::default());
            section.options.run_length.set(500, Span::default());
            let mut remarks = Remarks::default();
            let operations = resolve(&section, dialect, &mut remarks);
            assert_eq!((remarks.diagnostics.all().len(), remarks.notes.len()), (errors, notes));
            assert_eq!(operations.is_none(), errors == 1);
        }
    }
}
