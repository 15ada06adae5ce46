//! Verification of a workload to the rule that workers keep: what may be asked for together, what a round is, and how the last
//! write at a place is known. It does not know the format on the medium beyond its sizes.

use crate::operations::Operations;
use crate::remarks::Remarks;
use fathom_model::{Dialect, Named, PatternPiece, Span, Verify, VerifyOrder, VerifyWhen, WorkloadOptions};
use fathom_schema::{
    self as schema, Case, Coverage, Extent, FileOrder, Ledger, NoteKind, OperationKind, PassEnd, Protection,
    Quota, Run, Severity, Size, Stream, TrimRule, Verification, VerifyRule, VerifySchedule, WorkerPlan,
    Workload, Zones,
};
use fathom_units::{Bytes, Ratio, saturating_sum};
use std::collections::BTreeSet;

/// Bytes that the table of last writes costs for each stretch.
const LEDGER_ENTRY_BYTES: u64 = 4;

/// What a section asks for, as far as it is known without workers; `None` when it has faults, which are then among the remarks. `cases` are the operations of the workload.
pub(crate) fn draft(
    section: &Named<WorkloadOptions>,
    cases: &[Case],
    dialect: Dialect,
    remarks: &mut Remarks,
) -> Option<Verification> {
    let options = &section.options;
    let Some(protection) = protection(*options.verify.get()) else {
        return without(section, cases, remarks);
    };
    let place = options.verify.span();
    let pattern: Vec<schema::PatternPiece> = options.verify_pattern.get().map_or_else(Vec::new, |pattern| {
        let piece = |piece: &PatternPiece| match piece {
            PatternPiece::Bytes(bytes) => schema::PatternPiece::Bytes(bytes.clone()),
            PatternPiece::Offset => schema::PatternPiece::Offset,
        };
        pattern.pieces.iter().map(piece).collect()
    });
    if matches!(protection, Protection::Pattern | Protection::PatternHeader) && pattern.is_empty() {
        let message = format!("the workload \"{}\" verifies a pattern and has none", section.name);
        remarks.error("plan.verify", place, message, "add verify_pattern = \"0xdeadbeef\", say");
        return None;
    }
    let pattern_interval = match options.verify_pattern_interval.get() {
        Some(Bytes(0)) => {
            let place = options.verify_pattern_interval.span();
            let message =
                format!("the pattern of the workload \"{}\" would begin anew after no byte", section.name);
            remarks.error("plan.verify", place, message, "use a size from 1 byte on, or leave it out");
            return None;
        }
        given => given.map_or(Quota::Unlimited, |bytes| Quota::AtMost(bytes.0)),
    };
    let (interval, header_at) = headers(section, cases, protection, remarks)?;
    if *options.dedupable.get() > Ratio::ZERO {
        let message = format!(
            "no block of the workload \"{}\" is written twice: each has a header of its own, so that dedupable has no effect",
            section.name
        );
        let help = "leave out dedupable or verify";
        if dialect == Dialect::Fio {
            remarks.warn("plan.verify", options.dedupable.span(), message, help);
        } else {
            remarks.error("plan.verify", options.dedupable.span(), message, help);
        }
    }
    if protection == Protection::Sha512 {
        let message = "sha512 is what fio 3.33 calls so: it covers some bytes at both ends of each interval and no \
                       more; use sha3-512, or crc32c, to find all damage";
        remarks.note(NoteKind::Job, Severity::Warn, message);
    }
    let changes = cases.iter().any(|case| case.kind != OperationKind::Read);
    // Where nothing is written anyway, every read is checked: then it says no more than verify does.
    let only = changes && *options.verify_only.get();
    // fio compares neither where it only checks what an earlier run wrote, which may have been a run of its own.
    let knows_writes = !(dialect == Dialect::Fio && only);
    let schedule = match (options.verify_backlog.get(), options.verify_when.get()) {
        _ if !changes => VerifySchedule::Never,
        (_, VerifyWhen::Never) => VerifySchedule::Never,
        (None, VerifyWhen::Backlog) => {
            let message = "verify_when = \"backlog\" reads nothing back without verify_backlog";
            remarks.error(
                "plan.verify",
                options.verify_when.span(),
                message,
                "add verify_backlog = 1024, say",
            );
            return None;
        }
        (Some(&operations), when) => VerifySchedule::Backlog {
            operations: operations.max(1),
            batch: options.verify_backlog_batch.get().copied().unwrap_or(operations).max(1),
            alone: *when == VerifyWhen::Backlog,
        },
        (None, VerifyWhen::AfterPass) => VerifySchedule::AfterRound,
    };
    let stops = *options.verify_fatal.get();
    Some(Verification::On(Box::new(VerifyRule {
        protection,
        pattern,
        pattern_interval,
        interval,
        header_at,
        schedule,
        round_bytes: u64::MAX,
        stops,
        // Only continue_on_error keeps a job of fio's going, and then its exit code too.
        fails: dialect != Dialect::Fio || stops,
        dumps: *options.verify_dump.get(),
        checks_sequence: *options.verify_sequence.get() && knows_writes,
        checks_seed: *options.verify_seed.get() && knows_writes,
        is_shared: false,
        writes: !only,
        ledger: Ledger::NotNeeded,
        trims: trims(options).filter(|_| changes),
        until: Quota::Unlimited,
        checks_count: false,
        by_place: *options.verify_order.get() == VerifyOrder::Place,
    })))
}

/// Of a section that asks for no verification.
fn without(section: &Named<WorkloadOptions>, cases: &[Case], remarks: &mut Remarks) -> Option<Verification> {
    let only = &section.options.verify_only;
    if !*only.get() {
        return Some(Verification::Off);
    }
    if cases.iter().all(|case| case.kind == OperationKind::Read) {
        remarks.warn(
            "plan.no-effect",
            only.span(),
            "verify_only has no effect: verify is none",
            "leave it out",
        );
        return Some(Verification::Off);
    }
    // Left out, the word would let a job write over what it was to check.
    let message = format!("the workload \"{}\" is only to verify, and does not say how", section.name);
    let help = "add verify = \"crc32c\", or what it was written with; without verify_only it writes";
    remarks.error("plan.verify", only.span(), message, help);
    None
}

/// Distance and place of headers; `None` when they do not fit, which is then among the remarks.
fn headers(
    section: &Named<WorkloadOptions>,
    cases: &[Case],
    protection: Protection,
    remarks: &mut Remarks,
) -> Option<(Quota, u32)> {
    let options = &section.options;
    let place = options.verify.span();
    let mut fault = |span, message: String, help: &str| {
        remarks.error("plan.verify", span, message, help);
    };
    let writes: Vec<Size> =
        cases.iter().filter(|case| case.kind == OperationKind::Write).map(|case| case.size).collect();
    let sizes: Vec<Size> =
        if writes.is_empty() { cases.iter().map(|case| case.size).collect() } else { writes.clone() };
    let smallest = sizes.iter().map(|size| size.smallest()).min()?;
    let unit = sizes.iter().copied().fold(0, |unit, size| common(unit, of_size(size)));
    let given = options.verify_interval.get().map(|bytes| bytes.0);
    let interval = match given {
        Some(bytes) if bytes == 0 || u64::from(unit) % bytes != 0 => {
            let message = format!(
                "verify_interval {} does not divide all block sizes of the workload \"{}\"",
                Bytes(bytes),
                section.name
            );
            fault(options.verify_interval.span(), message, "use a divisor of the smallest block size");
            return None;
        }
        Some(bytes) => Quota::AtMost(bytes),
        None if unit == smallest && sizes.iter().all(|size| size.largest() == smallest) => Quota::Unlimited,
        None => Quota::AtMost(u64::from(unit)),
    };
    let room = if let Quota::AtMost(bytes) = interval { bytes } else { u64::from(smallest) };
    let header = u64::from(protection.header_bytes());
    if header >= room {
        let message = format!(
            "a header of {} does not fit into an interval of {} of the workload \"{}\"",
            Bytes(header),
            Bytes(room),
            section.name
        );
        let help = "use larger blocks, a larger verify_interval or a shorter digest";
        // An interval that is given is wrong by itself; else it is the block, which fio tells apart.
        remarks.error(
            if given.is_some() { "plan.verify" } else { "plan.verify-block" },
            place,
            message,
            help,
        );
        return None;
    }
    let header_at = options.verify_header_at.get().0;
    if header_at != 0 && header != 0 && (header_at < header || header_at + header > room) {
        let message = format!(
            "a header of {} at {} lies over its own place or beyond the interval of {}",
            Bytes(header),
            Bytes(header_at),
            Bytes(room)
        );
        fault(
            options.verify_header_at.span(),
            message,
            "use 0, or a place between its length and the interval's end",
        );
        return None;
    }
    Some((interval, u32::try_from(header_at).unwrap_or(0)))
}

/// What is known of a stream when its rule is completed.
pub(crate) struct Circumstances<'a> {
    pub stream: &'a str,
    /// Where it is asked for.
    pub place: Option<Span>,
    pub operations: &'a Operations,
    pub workload: &'a Workload,
    pub plans: &'a [WorkerPlan],
    /// Whole blocks of one worker's part, in bytes.
    pub pass_bytes: u64,
    /// All of it.
    pub region_bytes: u64,
    pub depth: u32,
    /// Whether no two operations in flight touch one place.
    pub serializes: bool,
    /// How many writes are checked.
    pub until: Quota,
    /// Whether it is one of fio's jobs: what is read back while the load goes on counts towards its operations, and what is read
    /// back behind it goes by place where there is no map.
    pub is_fios: bool,
    /// Whether the engine keeps what is written.
    pub keeps_data: bool,
    pub memory: Bytes,
}

/// The rule of a stream; `None` when it has faults, which are then among the remarks.
pub(crate) fn complete(
    draft: &Verification,
    circumstances: &Circumstances<'_>,
    remarks: &mut Remarks,
) -> Option<Verification> {
    let Circumstances {
        stream,
        place,
        operations,
        workload,
        plans,
        pass_bytes,
        region_bytes,
        depth,
        serializes,
        until,
        is_fios,
        keeps_data,
        memory,
    } = circumstances;
    let Some(draft) = draft.rule() else { return Some(Verification::Off) };
    if !keeps_data && draft.protection != Protection::Null {
        let message = format!("the stream \"{stream}\" verifies data on an engine that keeps none");
        remarks.error("plan.verify-engine", *place, message, "leave verify out, or use another engine");
        return None;
    }
    let mut rule = draft.clone();
    (rule.until, rule.checks_count) = (*until, *is_fios);
    if rule.schedule == VerifySchedule::Never {
        return Some(Verification::On(Box::new(rule)));
    }
    rule.round_bytes = match workload.ends {
        PassEnd::Anew => (*pass_bytes).max(1),
        PassEnd::Renew => (*region_bytes).max(1),
        PassEnd::Stop => u64::MAX,
    };
    if mixes_trims(workload) && *depth > 1 && !*serializes {
        let message = format!(
            "the stream \"{stream}\" has trims among verified writes at a depth above 1: in flight together, either may win"
        );
        remarks.error("plan.verify", *place, message, "add serialize_overlap = true, or use a depth of 1");
    }
    rule.ledger = ledger(operations, workload, plans);
    // One file that is gone through once from its start on is written in that order.
    let is_in_order = rule.ledger == Ledger::NotNeeded
        && workload.stride_bytes >= 0
        && plans.iter().all(|plan| plan.extents.len() <= 1);
    let has_map = !operations.sequential && workload.coverage != Coverage::Independent;
    rule.by_place = (draft.by_place || *is_fios && !has_map) && !is_in_order;
    if let Ledger::Every(bytes) = rule.ledger {
        let stretches = |plan: &WorkerPlan| -> u64 {
            let stretches = |extent: &Extent| workload.reach(extent).div_ceil(u64::from(bytes));
            saturating_sum(plan.extents.iter().map(stretches))
        };
        let needed =
            plans.iter().map(stretches).fold(0, u64::saturating_add).saturating_mul(LEDGER_ENTRY_BYTES);
        if needed > memory.0 / 2 {
            let message = format!(
                "the stream \"{stream}\" needs {} to remember which of its writes was the last at each place, more \
                 than half of the {} of memory",
                Bytes(needed).approximate(),
                memory.approximate()
            );
            let help = "use coverage = \"once-per-pass\" or sequential writes of one size, which need none, or a smaller region";
            remarks.error("plan.verify-memory", *place, message, help);
            return None;
        }
        let message = format!(
            "the stream \"{stream}\" may write a place twice; remembering its last writes costs {}",
            Bytes(needed).approximate()
        );
        remarks.note(NoteKind::Job, Severity::Info, message);
        if *depth > 1 && !*serializes && (rule.checks_sequence || rule.checks_seed) {
            (rule.checks_sequence, rule.checks_seed) = (false, false);
            let message = format!(
                "the stream \"{stream}\" may have two writes of one place in flight, of which either may win: numbers and \
                 seeds of writes are not compared"
            );
            remarks.note(NoteKind::Job, Severity::Warn, message);
        }
    }
    Some(Verification::On(Box::new(rule)))
}

/// What is written, and the stream and worker that write it.
type Written = (Extent, (usize, usize));

/// Where workers write what others verify, whose write a block is cannot be told: numbers and seeds are not compared.
pub(crate) fn shared(streams: &mut [&mut Stream], remarks: &mut Remarks) {
    let writes = |stream: &Stream| {
        let mut cases = stream.workload.cases.iter();
        stream.workload.verification.lets_write() && cases.any(|case| case.kind != OperationKind::Read)
    };
    // Whole extents with the worker they belong to, in order of their place.
    let mut written: Vec<Written> = Vec::new();
    for (at, stream) in streams.iter().enumerate().filter(|(_, stream)| writes(stream)) {
        for (worker, plan) in stream.workers.iter().enumerate() {
            let whole = |extent: &Extent| Extent { length: Bytes(stream.workload.span(extent)), ..*extent };
            written.extend(plan.extents.iter().map(|extent| (whole(extent), (at, worker))));
        }
    }
    for at in meeting(written) {
        let stream = &mut *streams[at];
        let goes_anywhere = stream.workload.coverage == Coverage::Independent;
        // Workers of one stream that take turns at one once-per-pass order keep off each other's blocks.
        if let Verification::On(rule) = &mut stream.workload.verification
            && rule.schedule != VerifySchedule::Never
            && (goes_anywhere || rule.checks_sequence || rule.checks_seed)
        {
            rule.is_shared = true;
            (rule.checks_sequence, rule.checks_seed) = (false, false);
            let message = format!(
                "several workers write what the stream \"{}\" verifies: blocks may be someone else's or half written, \
                 and numbers and seeds of writes are not compared",
                stream.name
            );
            let help =
                "give each stream a region of its own (offset, size), and leave worker_regions as it is";
            remarks.warn("plan.verify-shared", None, message, help);
        }
    }
}

/// The streams of which a worker writes what another worker writes too.
fn meeting(mut written: Vec<Written>) -> BTreeSet<usize> {
    written.sort_by_key(|(extent, _)| (extent.target, extent.start));
    let end = |extent: &Extent| extent.start.0 + extent.length.0;
    let mut found = BTreeSet::new();
    // Of those that begin no later, the one that reaches farthest, and the farthest of any other worker: what begins before
    // such an end meets it.
    let farther = |one: Written, other: Written| if end(&other.0) > end(&one.0) { other } else { one };
    let mut reach: [Option<Written>; 2] = [None, None];
    for one in written {
        if reach[0].is_some_and(|held| held.0.target != one.0.target) {
            reach = [None, None];
        }
        for held in reach.iter().flatten() {
            if held.1 != one.1 && one.0.start.0 < end(&held.0) {
                found.extend([held.1.0, one.1.0]);
            }
        }
        reach = match reach {
            [Some(first), second] if first.1 == one.1 => [Some(farther(first, one)), second],
            [Some(first), _] if end(&one.0) > end(&first.0) => [Some(one), Some(first)],
            [Some(first), second] => [Some(first), Some(second.map_or(one, |second| farther(second, one)))],
            [None, _] => [Some(one), None],
        };
    }
    found
}

/// Whether a place may be written twice in a round, and then the stretches that all operations are made of.
fn ledger(operations: &Operations, workload: &Workload, plans: &[WorkerPlan]) -> Ledger {
    if !mixes_trims(workload) && goes_everywhere_once(operations, workload, plans) {
        return Ledger::NotNeeded;
    }
    let Workload { cases, align, stride_bytes, zones, .. } = workload;
    let narrow = |bytes: u64| u32::try_from(bytes).unwrap_or(1);
    let mut unit = cases.iter().fold(0, |unit, case| common(unit, of_size(case.size)));
    let own = cases.iter().filter_map(|case| case.align);
    unit = own.fold(unit, common);
    unit = common(common(unit, narrow(align.0)), narrow(stride_bytes.unsigned_abs()));
    if let Zones::Strided { size: _, range, skip } = *zones {
        unit = common(unit, narrow(range + skip));
    }
    if workload.ends != PassEnd::Anew && *stride_bytes < 0 {
        // Backwards is counted from the end.
        unit = plans.iter().flat_map(|plan| &plan.extents).fold(unit, |unit, extent| {
            let divides = extent.length.0.is_multiple_of(u64::from(unit.max(1)));
            if divides { unit } else { 1 }
        });
    }
    Ledger::Every(unit.max(1))
}

/// Whether trims take away what was written, with nothing written there next.
fn mixes_trims(workload: &Workload) -> bool {
    !workload.trim_then_write && workload.cases.iter().any(|case| case.kind == OperationKind::Trim)
}

/// Trims of what was written.
fn trims(options: &WorkloadOptions) -> Option<TrimRule> {
    let operations = *options.verify_trim_backlog.get();
    let share = options.verify_trim.get().value();
    (share > 0.0).then(|| TrimRule {
        operations,
        batch: options.verify_trim_batch.get().copied().unwrap_or(operations),
        share,
        zeroes: *options.verify_trim_zero.get(),
    })
}

/// Whether a round writes no place twice.
fn goes_everywhere_once(operations: &Operations, workload: &Workload, plans: &[WorkerPlan]) -> bool {
    let Workload { coverage, align, run_length, run, stride_bytes, ends, zones, file_order, .. } = workload;
    let (random, sequential) = (operations.random, operations.sequential);
    match ends {
        PassEnd::Anew => {
            let is_even = |plan: &WorkerPlan| {
                let length = plan.extents[0].length;
                plan.extents.iter().all(|extent| extent.length == length)
            };
            let blocks = |plan: &WorkerPlan| plan.extents[0].length.0 / operations.smallest;
            let is_whole = |plan: &WorkerPlan| blocks(plan) % u64::from(plan.part.count) == 0;
            operations.only_size().is_some()
                && plans.iter().all(is_even)
                && match (random, sequential) {
                    (true, false) => *coverage == Coverage::OncePerPass && plans.iter().all(is_whole),
                    (false, true) => *stride_bytes == 0,
                    _ => false,
                }
        }
        PassEnd::Renew => false,
        PassEnd::Stop => {
            let is_block = operations.only_size().is_some_and(|size| size <= align.0);
            // A skewed order of files begins those anew that were gone through.
            *zones == Zones::None
                && *run == Run::Onward
                && !matches!(file_order, FileOrder::Skewed { .. })
                && match (random, sequential) {
                    (true, false) if *run_length == 1 => {
                        *coverage == Coverage::Map || (*coverage == Coverage::OncePerPass && is_block)
                    }
                    (false, true) => *stride_bytes == 0,
                    _ => false,
                }
        }
    }
}

/// The largest size that divides all sizes of a case.
fn of_size(size: Size) -> u32 {
    match size {
        Size::Fixed(bytes) => bytes,
        Size::Range { min, max, step } => common(common(min, max), step),
    }
}

/// Greatest common divisor; of 0 and n, n.
fn common(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { common(b, a % b) }
}

fn protection(verify: Verify) -> Option<Protection> {
    Some(match verify {
        Verify::None => return None,
        Verify::Md5 => Protection::Md5,
        Verify::Crc64 => Protection::Crc64,
        Verify::Crc32c => Protection::Crc32c,
        Verify::Crc32 => Protection::Crc32,
        Verify::Crc16 => Protection::Crc16,
        Verify::Crc7 => Protection::Crc7,
        Verify::Xxhash => Protection::Xxhash,
        Verify::Sha1 => Protection::Sha1,
        Verify::Sha256 => Protection::Sha256,
        Verify::Sha512 => Protection::Sha512,
        Verify::Sha3_224 => Protection::Sha3_224,
        Verify::Sha3_256 => Protection::Sha3_256,
        Verify::Sha3_384 => Protection::Sha3_384,
        Verify::Sha3_512 => Protection::Sha3_512,
        Verify::Header => Protection::Header,
        Verify::Pattern => Protection::Pattern,
        Verify::PatternHeader => Protection::PatternHeader,
        Verify::Null => Protection::Null,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn extents_that_meet_are_those_that_share_a_byte(
            all in prop::collection::vec((0_u32..2, 0_u64..40, 1_u64..30, 0_usize..3, 0_usize..2), 0..12),
        ) {
            let written: Vec<Written> = all
                .iter()
                .map(|&(target, start, length, stream, worker)| {
                    (Extent { target, start: Bytes(start), length: Bytes(length), room: Bytes(0) }, (stream, worker))
                })
                .collect();
            let share = |one: &Extent, other: &Extent| {
                one.target == other.target
                    && one.start.0 < other.start.0 + other.length.0
                    && other.start.0 < one.start.0 + one.length.0
            };
            let mut expect = BTreeSet::new();
            for one in &written {
                for other in &written {
                    if one.1 != other.1 && share(&one.0, &other.0) {
                        expect.insert(one.1.0);
                    }
                }
            }
            prop_assert_eq!(meeting(written), expect);
        }
    }
}
