//! Checks of where the bytes went: through a cache, split on the way, amplified below, or shared between streams.

use super::{Found, StepView, surroundings};
use crate::measured::measured;
use crate::queues;
use crate::scan;
use crate::statistics::share_interval;
use fathom_schema::{
    BlockDevice, DeviceCounters, DeviceNumber, Extent, IoMode, KindTally, LayoutRule, OperationKind,
    Question, Record, Severity, StepFinished, StepStarted, Stream, Target, TargetKind, ZeroBlocks,
};
use fathom_units::Bytes;
use std::collections::BTreeSet;
use std::path::Path;

/// A region of this size may lie in a device's own cache: those of disks and of controllers have a quarter to some gibibytes.
const CACHE_OF_DEVICE: Bytes = Bytes::gib(1);
/// Below this share of our bytes on the device, a cache served the rest: the kernel's counters are exact, and
/// 2 % is left to operations that straddle the two readings.
const DEVICE_BYTES_MIN: f64 = 0.98;
/// Below this share of our reads on the device the figures are those of memory, whatever was asked for.
const DEVICE_READ_MIN: f64 = 0.1;
/// Above this multiple of our bytes on the device something below or beside us added to them: metadata and journal
/// of a filesystem under large writes stay below a tenth.
const DEVICE_BYTES_MAX: f64 = 1.10;
/// Operations of the device per one of ours above which they were split, and below which they were merged; the
/// slack is that of the bytes.
const DEVICE_OPERATIONS: (f64, f64) = (0.98, 1.02);
/// Share of blocks that are all zero which says nothing yet: files have empty pages here and there.
const ZERO_MAX: f64 = 0.02;
/// Volume below which the device's counters are not compared: a few requests of others would decide.
const COMPARED_MIN: Bytes = Bytes::mib(16);

pub(super) fn check(view: &StepView<'_>, found: &mut Found) {
    cached_file(view, found);
    zeroes_read(view, found);
    shared_region(view, found);
    if is_scan(view.record) {
        return;
    }
    for direction in [OperationKind::Read, OperationKind::Write] {
        match compare(view, direction) {
            Some(compared) if compared.is_enough() => {
                judge(view, &view.place(), direction, &compared, found);
                if direction == OperationKind::Read {
                    below_loops(view, &compared, found);
                }
            }
            Some(compared) => others(view, direction, &compared, found),
            None => {}
        }
    }
}

/// What the device did in a direction in which we asked for little or nothing, where that is much beside all that we moved. What
/// may be our own is left out: what was written through the page cache, by this step or one before it, reaches the device later, and
/// verification reads back what was written.
fn others(view: &StepView<'_>, direction: OperationKind, compared: &Compared, found: &mut Found) {
    let so_far = view.record.steps.iter().filter(|other| other.started.index <= view.step.started.index);
    let mut streams = so_far.flat_map(|other| &other.started.step.streams);
    // What a filesystem writes for writes of files, in its journal and elsewhere, is nobody else's.
    let is_file = |target: &Target| matches!(target.kind, TargetKind::File { .. });
    let has_journal = direction == OperationKind::Write && view.step.started.step.targets.iter().any(is_file);
    let is_told_apart = |stream: &Stream| {
        stream.engine.mode == IoMode::Direct
            && stream.workload.verification.rule().is_none()
            && !(has_journal && stream.changes())
    };
    // A record may lack intervals, whose totals it has.
    let moved = |is_meant: &dyn Fn(OperationKind) -> bool| -> u64 {
        let sum = |kinds: &mut dyn Iterator<Item = &KindTally>| -> u64 {
            kinds.filter(|kind| is_meant(kind.kind)).map(|kind| kind.bytes).sum()
        };
        let workers =
            view.step.finished.iter().flat_map(|finished| &finished.streams).flat_map(|of| &of.workers);
        let of_totals = sum(&mut workers.flat_map(|worker| &worker.tally.kinds));
        of_totals.max(sum(&mut view.step.intervals.iter().flat_map(|interval| &interval.tally.kinds)))
    };
    let all = moved(&|_| true);
    let foreign = compared.device.bytes.saturating_sub(moved(&|kind| kind == direction));
    let is_much = foreign >= COMPARED_MIN.0 && foreign as f64 >= (DEVICE_BYTES_MAX - 1.0) * all as f64;
    // Of a step in which nothing was done there is nothing that others could take from.
    if all == 0 || !is_much || !streams.all(is_told_apart) {
        return;
    }
    let verb = if direction == OperationKind::Read { "read" } else { "written" };
    found.weighed(
        foreign as f64 / all as f64,
        "device.others",
        Severity::Warn,
        format!(
            "{}the device has {verb} {} that nobody asked for here, beside {} that we moved in all",
            view.place(),
            Bytes(foreign).approximate(),
            Bytes(all).approximate()
        ),
        "others use the device, and what they do takes from it: see that nothing else does (iotop, other guests of its host)",
    );
}

/// The steps of a scan are many and small, and all read the same way: what the device counted is held beside all of them together.
pub(super) fn scanned(record: &Record, found: &mut Found) {
    if !is_scan(record) {
        return;
    }
    let views = || record.steps.iter().map(|step| StepView { record, step, measured: measured(step) });
    // What is tried again after an error is counted by the device, and is none of ours.
    let has_errors = |view: &StepView<'_>| {
        let tallies = view.step.intervals.iter().flat_map(|interval| &interval.tally.kinds);
        tallies.into_iter().any(|kind| !kind.errors.is_empty())
    };
    let mut all: Option<Compared> = None;
    for compared in
        views().filter(|view| !has_errors(view)).filter_map(|view| compare(&view, OperationKind::Read))
    {
        match &mut all {
            Some(all) => all.add(&compared),
            None => all = Some(compared),
        }
    }
    if let (Some(compared), Some(view)) = (all.filter(Compared::is_enough), views().next()) {
        judge(&view, "", OperationKind::Read, &compared, found);
    }
}

fn is_scan(record: &Record) -> bool {
    matches!(record.started.question, Some(Question::Scan(_)))
}

/// Our count of one direction beside the device's, over the whole step.
struct Compared {
    ours: Volume,
    device: Volume,
    is_direct: bool,
    /// Bytes of the largest operation.
    largest: u64,
}

impl Compared {
    /// Whether there is so much that a few requests of others decide nothing.
    fn is_enough(&self) -> bool {
        self.ours.bytes >= COMPARED_MIN.0
    }

    fn add(&mut self, other: &Self) {
        let Self { ours, device, is_direct, largest } = other;
        self.ours.add(ours);
        self.device.add(device);
        self.is_direct &= is_direct;
        self.largest = self.largest.max(*largest);
    }
}

#[derive(Default, Clone, Copy)]
struct Volume {
    operations: u64,
    bytes: u64,
}

impl Volume {
    fn add(&mut self, other: &Self) {
        let Self { operations, bytes } = other;
        self.operations += operations;
        self.bytes += bytes;
    }
}

/// `None` when the counters say nothing: killed step, targets without a device, several devices stacked.
fn compare(view: &StepView<'_>, direction: OperationKind) -> Option<Compared> {
    let finished = view.step.finished.as_ref()?;
    let step = &view.step.started;
    let active: Vec<&Stream> = step.step.streams.iter().collect();
    if active.is_empty() || !active.iter().all(|stream| view.is_real(stream)) {
        return None;
    }
    let numbers: BTreeSet<DeviceNumber> =
        queues::devices(&view.record.started.facts, &view.step.started.step)?
            .iter()
            .map(|device| device.number)
            .collect();
    let mut device = Volume::default();
    for number in numbers {
        device.add(&counted(step, finished, number, direction)?);
    }
    let mut ours = Volume::default();
    // Ramp included: the device counts from the step's start.
    for kind in view.step.intervals.iter().flat_map(|interval| &interval.tally.kinds) {
        if kind.kind == direction {
            ours.operations += kind.operations;
            ours.bytes += kind.bytes;
        }
    }
    let is_direct = active.iter().all(|stream| stream.engine.mode == IoMode::Direct);
    let cases = active.iter().flat_map(|stream| &stream.workload.cases).filter(|case| case.kind == direction);
    let largest = cases.map(|case| u64::from(case.size.largest())).max().unwrap_or(0);
    Some(Compared { ours, device, is_direct, largest })
}

/// What a device did in one direction over a step.
fn counted(
    step: &StepStarted,
    finished: &StepFinished,
    number: DeviceNumber,
    direction: OperationKind,
) -> Option<Volume> {
    let before = step.devices.iter().find(|counters| counters.number == number)?;
    let after = finished.devices.iter().find(|counters| counters.number == number)?;
    let (operations, sectors) = match direction {
        OperationKind::Read => {
            (after.reads.checked_sub(before.reads)?, after.read_sectors.checked_sub(before.read_sectors)?)
        }
        _ => {
            (after.writes.checked_sub(before.writes)?, after.write_sectors.checked_sub(before.write_sectors)?)
        }
    };
    Some(Volume { operations, bytes: sectors * DeviceCounters::SECTOR_BYTES })
}

/// Reads of loop devices that the page cache of their files answered: what the disks below have read beside what we have. Who
/// else reads there makes it more, never less.
fn below_loops(view: &StepView<'_>, compared: &Compared, found: &mut Found) {
    let facts = &view.record.started.facts;
    let (Some(finished), Some(devices)) =
        (&view.step.finished, queues::devices(facts, &view.step.started.step))
    else {
        return;
    };
    let below: Option<BTreeSet<DeviceNumber>> = devices.iter().map(|device| device.below).collect();
    let read = below.and_then(|below| {
        let read = |&number: &DeviceNumber| {
            Some(counted(&view.step.started, finished, number, OperationKind::Read)?.bytes)
        };
        below.iter().map(read).sum::<Option<u64>>()
    });
    let Some(read) = read else { return };
    let ratio = read as f64 / compared.ours.bytes as f64;
    if compared.is_direct && ratio < DEVICE_READ_MIN {
        found.weighed(
            1.0 - ratio,
            "cache.loop-read",
            Severity::Invalid,
            format!(
                "{}the disk below the loop device has read {} where we have read {} ({:.1} %)",
                view.place(),
                Bytes(read).approximate(),
                Bytes(compared.ours.bytes).approximate(),
                ratio * 100.0
            ),
            "the page cache of its file, or holes in it, answered: make the device with `losetup --direct-io=on`, and its \
             file with data in it",
        );
    }
}

/// What of a queue cuts larger operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Limit {
    /// Its requests are no larger.
    Size,
    /// They have so many segments, in a row in memory each; of a buffer that may be no more than its pages are.
    Segments { count: u64, page: u64 },
}

/// The bytes from which on the queues under a step cut operations, the least of them, and what of the queue says so; `None`
/// where they are not known.
fn limit(view: &StepView<'_>) -> Option<(u64, Limit)> {
    let facts = &view.record.started.facts;
    let of_device = |device: &BlockDevice| {
        let subject = format!("device {}", device.disk);
        let number = |name: &str| -> Option<u64> {
            let found = facts.environment.iter().find(|fact| fact.subject == subject && fact.name == name);
            found?.value.as_ref()?.trim().parse().ok().filter(|number| *number > 0)
        };
        let size = number("queue max_sectors_kb").map(|kib| (kib << 10, Limit::Size));
        let page = number("queue max_segment_size").unwrap_or(u64::MAX).min(facts.page_size.0);
        let segments = number("queue max_segments").filter(|_| page > 0);
        size.into_iter().chain(segments.map(|count| (count * page, Limit::Segments { count, page }))).min()
    };
    queues::devices(&view.record.started.facts, &view.step.started.step)?
        .into_iter()
        .filter_map(of_device)
        .min()
}

/// Why reads of the step's files may have met places without data: holes that were there, or what the run itself has
/// trimmed. `None` where there are none, as far as is known.
fn without_data(view: &StepView<'_>) -> Option<String> {
    let step = &view.step.started;
    let trims = |stream: &Stream| {
        let workload = &stream.workload;
        workload.trim_then_write || workload.cases.iter().any(|case| case.kind == OperationKind::Trim)
    };
    let is_file = |target: &Target| matches!(target.kind, TargetKind::File { .. });
    let so_far = view.record.steps.iter().filter(|other| other.started.index <= step.index);
    let mut streams = so_far.flat_map(|other| &other.started.step.streams);
    if step.step.targets.iter().any(is_file) && streams.any(trims) {
        return Some("the run itself has trimmed what it reads".to_owned());
    }
    let facts = view.record.started.facts.by_path();
    step.step.targets.iter().find_map(|target| {
        let TargetKind::File { path, layout, .. } = &target.kind else { return None };
        let file = facts.get(path.as_path())?.file.as_ref()?;
        let has_holes = *layout != LayoutRule::Written && file.written < file.size;
        has_holes.then(|| {
            format!(
                "of the {} of {} only {} hold data",
                file.size,
                path.display(),
                file.written.approximate()
            )
        })
    })
}

fn judge(view: &StepView<'_>, place: &str, direction: OperationKind, compared: &Compared, found: &mut Found) {
    let Compared { ours, device, is_direct, largest } = compared;
    let verb = if direction == OperationKind::Read { "read" } else { "written" };
    let bytes_ratio = device.bytes as f64 / ours.bytes as f64;
    let bytes = format!(
        "{place}the device has {verb} {} where we have {verb} {} ({:.1} %)",
        Bytes(device.bytes).approximate(),
        Bytes(ours.bytes).approximate(),
        bytes_ratio * 100.0
    );
    if bytes_ratio < DEVICE_BYTES_MIN {
        if let (OperationKind::Read, Some(why)) = (direction, without_data(view)) {
            found.weighed(
                1.0 - bytes_ratio,
                "target.holes-read",
                if *is_direct { Severity::Invalid } else { Severity::Warn },
                format!("{bytes}: {why}"),
                "reads of what was never written, or was trimmed, reach no device: lay the file out with data, or \
                 write to it before it is read",
            );
            return;
        }
        match (is_direct, direction) {
            (true, _) => found.weighed(
                1.0 - bytes_ratio,
                "cache.direct-not-honoured",
                Severity::Invalid,
                bytes,
                "direct I/O was asked for and a cache answered: measure the device itself, or a filesystem that \
                 honours direct I/O (a loop device needs direct I/O on its backing file too)",
            ),
            (false, OperationKind::Read) => found.weighed(
                1.0 - bytes_ratio,
                "cache.page-cache-read",
                if bytes_ratio < DEVICE_READ_MIN { Severity::Invalid } else { Severity::Warn },
                bytes,
                "the rest came from memory: use direct I/O, or a target larger than memory",
            ),
            (false, _) => found.weighed(
                1.0 - bytes_ratio,
                "cache.written-to-memory",
                Severity::Warn,
                bytes,
                "the rest was in memory at the end: use direct I/O, or end with fsync and count its time",
            ),
        }
        return;
    }
    if bytes_ratio > DEVICE_BYTES_MAX {
        found.weighed(
            bytes_ratio,
            "device.amplified",
            Severity::Warn,
            bytes,
            "readahead, read-modify-write, RAID, a journal or other users of the device added to it: check the \
             alignment, and that nothing else uses the device",
        );
        return;
    }
    let ratio = device.operations as f64 / ours.operations.max(1) as f64;
    let operations = format!(
        "{place}the device did {} {} operations for {} of ours ({ratio:.2} each)",
        device.operations,
        direction.name(),
        ours.operations
    );
    if *is_direct && ratio > DEVICE_OPERATIONS.1 {
        let (why, remedy) = cause(view, *largest);
        found.weighed(ratio, "device.split", Severity::Warn, operations + &why, remedy);
    } else if *is_direct && ratio < DEVICE_OPERATIONS.0 {
        found.weighed(
            1.0 - ratio,
            "device.merged",
            Severity::Info,
            operations,
            "the kernel joined our operations: the device saw larger ones than the block size says",
        );
    }
}

/// Why operations that are as large as the largest are split, for the evidence, and what to do about it.
fn cause(view: &StepView<'_>, largest: u64) -> (String, &'static str) {
    let limit = limit(view);
    match limit.filter(|(bytes, _)| largest > *bytes) {
        Some((bytes, Limit::Size)) => (
            format!(": ours are of {}, its queue takes {} (max_sectors_kb)", Bytes(largest), Bytes(bytes)),
            "the kernel cut our operations, so that latencies are those of several requests: use blocks no larger than \
                 the queue's max_sectors_kb, or raise it where max_hw_sectors_kb allows more",
        ),
        Some((bytes, Limit::Segments { count, page })) => (
            format!(
                ": ours are of {}, its queue takes {} where pages of memory do not lie in a row ({count} segments, \
                     max_segments, of {})",
                Bytes(largest),
                Bytes(bytes),
                Bytes(page)
            ),
            "the kernel cut our operations, so that latencies are those of several requests: use blocks no larger than \
                 the queue's max_segments times a page",
        ),
        None if limit.is_some() => (
            String::new(),
            "our operations are within the limits of the queue (max_sectors_kb, max_segments): others use the device \
                 too, or something cuts what is not aligned to it; align blocks to the device, and leave it alone",
        ),
        None => (
            String::new(),
            "the kernel cut our operations, so that latencies are those of several requests, or others use the device \
                 too: use blocks no larger than the queue's limits (max_sectors_kb, max_segments), aligned to the device, \
                 and leave it alone",
        ),
    }
}

/// Blocks without data in what was only read. Where the filesystem says of a file that it has holes, that is told instead.
fn zeroes_read(view: &StepView<'_>, found: &mut Found) {
    let facts = view.record.started.facts.by_path();
    let has_holes = |path: &Path| {
        let file = facts.get(path).and_then(|fact| fact.file.as_ref());
        file.is_some_and(|file| surroundings::is_told_unwritten(view, path, file))
    };
    let sampled = view.step.finished.iter().flat_map(|finished| &finished.zero_blocks);
    for ZeroBlocks { path, block_bytes, blocks, sampled, zero } in sampled.filter(|one| !has_holes(&one.path))
    {
        let share = *zero as f64 / (*sampled).max(1) as f64;
        let is_whole = sampled >= blocks;
        let (low, high) = if is_whole { (share, share) } else { share_interval(*zero, *sampled) };
        if low <= ZERO_MAX {
            continue;
        }
        let block = Bytes(u64::from(*block_bytes));
        let of = if is_whole {
            format!("{:.0} % of the {blocks} blocks of {block}", share * 100.0)
        } else {
            format!(
                "{:.0} % ({:.1} to {:.1} %, with 95 %) of {sampled} blocks of {block} at random places",
                share * 100.0,
                low * 100.0,
                high * 100.0
            )
        };
        found.weighed(
            share,
            "target.zero-blocks",
            Severity::Warn,
            format!("{}{of} of what was read of {} are all zero", view.place(), path.display()),
            "a device may answer reads of never-written or deallocated blocks without its medium: write all that is to be \
             read first, with data that does not compress",
        );
    }
}

/// Buffered I/O on files that fit into memory measures memory.
fn cached_file(view: &StepView<'_>, found: &mut Found) {
    let step = &view.step.started.step;
    let memory = view.record.started.facts.memory;
    // The end of a file that is no whole sector is not read otherwise, and is little of what a scan reads.
    if scan::reads_below_sector(view.record, step) {
        return;
    }
    let mut files = BTreeSet::new();
    for stream in step.streams.iter().filter(|stream| stream.engine.mode == IoMode::Buffered) {
        if view.is_real(stream) {
            files
                .extend(stream.workers.iter().flat_map(|worker| &worker.extents).map(|extent| extent.target));
        }
    }
    let size: Bytes =
        files.iter().filter_map(|&index| step.targets.get(index as usize)).map(|t| t.size).sum();
    if !files.is_empty() && size < memory {
        found.weighed(
            -(size.0 as f64),
            "cache.fits-memory",
            Severity::Warn,
            format!(
                "{}buffered I/O on {} with {} of memory",
                view.place(),
                size.approximate(),
                memory.approximate()
            ),
            "the page cache is measured: use direct I/O, or a target at least twice as large as memory",
        );
    }
}

/// Two sequential workers in one region meet each other's data in a cache, or make one disk seek between them; so do random ones
/// of different streams in a region that a cache may hold, though that may be what is wanted.
fn shared_region(view: &StepView<'_>, found: &mut Found) {
    let step = &view.step.started.step;
    let parts = |is_wanted: fn(&Stream) -> bool| -> Vec<(Extent, usize)> {
        let streams = step.streams.iter().enumerate();
        let wanted = streams.filter(|(_, stream)| is_wanted(stream) && view.is_real(stream));
        let of = |(index, stream): (usize, &Stream)| -> Vec<(Extent, usize)> {
            let extents = stream.workers.iter().flat_map(|worker| &worker.extents);
            let whole = |extent: &Extent| Extent { length: Bytes(stream.workload.span(extent)), ..*extent };
            extents.map(|extent| (whole(extent), index)).collect()
        };
        wanted.flat_map(of).collect()
    };
    let is_sequential = |stream: &Stream| stream.workload.cases.iter().any(|case| !case.random);
    let sequential = first_overlap(parts(is_sequential), false);
    let (severity, how, (extent, other, stream)) = match sequential {
        Some(overlap) => (Severity::Warn, "run sequentially over", overlap),
        None => match first_overlap(parts(|_| true), true) {
            Some(overlap) if overlap.0.length <= CACHE_OF_DEVICE => (Severity::Info, "share", overlap),
            _ => return,
        },
    };
    let name = |index: usize| format!("\"{}\"", step.streams[index].name);
    let who = if other == stream {
        format!("two workers of {}", name(stream))
    } else {
        format!("{} and {}", name(other), name(stream))
    };
    let target = step.targets.get(extent.target as usize).map_or("", |target| target.name.as_str());
    found.add(
        "region.shared",
        severity,
        format!(
            "{}{who} {how} one region of {target}, at offset {}",
            view.place(),
            extent.start.approximate()
        ),
        "the second finds what the first has brought into a cache: give each worker a region of its own",
    );
}

/// The first part that begins inside another, with the stream of that one and its own; `apart`: of different streams only.
fn first_overlap(mut parts: Vec<(Extent, usize)>, apart: bool) -> Option<(Extent, usize, usize)> {
    // Sorted by start, a part overlaps an earlier one exactly when it begins before the furthest end so far: of any, or of
    // those of the stream that reaches furthest and of all others.
    parts.sort_by_key(|(extent, _)| (extent.target, extent.start));
    let mut furthest: Vec<(Extent, usize)> = Vec::with_capacity(2);
    for (extent, stream) in parts {
        furthest.retain(|(far, _)| far.target == extent.target);
        let overlapped =
            |(far, other): &&(Extent, usize)| extent.start < end_of(far) && (!apart || *other != stream);
        if let Some(&(_, other)) = furthest.iter().find(overlapped) {
            return Some((extent, other, stream));
        }
        match furthest.iter_mut().find(|(_, other)| *other == stream) {
            Some((far, _)) if end_of(far) >= end_of(&extent) => {}
            Some((far, _)) => *far = extent,
            None => furthest.push((extent, stream)),
        }
        furthest.sort_by_key(|(far, _)| std::cmp::Reverse(end_of(far)));
        furthest.truncate(2);
    }
    None
}

fn end_of(extent: &Extent) -> Bytes {
    Bytes(extent.start.0.saturating_add(extent.length.0))
}
