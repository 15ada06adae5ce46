//! Warnings that a storage engineer would give on reading the plan: it runs, but the number may not be what was meant.
//!
//! Nothing here changes a step.

use crate::links::Links;
use crate::remarks::Remarks;
use crate::scene::{Load, Scene};
use fathom_model::{Amount, RatePiece, Span};
use fathom_schema::{
    Extent, IoMode, OperationKind, Pacing, Quota, Step, Stream, TargetKind as StepTarget, TimeLimit, Zones,
};
use fathom_units::{Bytes, Iops, Nanos, saturating_sum};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Below this a measurement is mostly its own start: caches filling, queues building up, clocks stepping up.
const TIME_SHORT: Nanos = Nanos::secs(5);

/// What the step itself gives reason to say.
pub(crate) fn of_step(
    scene: &Scene<'_>,
    links: &Links<'_>,
    step: &Step,
    loads: &[&Load<'_>],
    remarks: &mut Remarks,
) {
    same_place(step, loads, remarks);
    overlapping(step, loads, remarks);
    for (stream, load) in step.streams.iter().zip(loads) {
        let real = |extent: &Extent| !is_substitute(&step.targets[extent.target as usize].kind);
        let region: BTreeSet<(u32, u64, u64)> = stream
            .workers
            .iter()
            .flat_map(|worker| &worker.extents)
            .filter(|extent| real(extent))
            .map(|extent| (extent.target, extent.start.0, extent.length.0))
            .collect();
        if !region.is_empty() {
            small_region(stream, load, &region, remarks);
            cached(scene, stream, load, &region, remarks);
            tail(links, load, &region, remarks);
        }
        let stage = links.job().stages.get(step.stage_index as usize);
        let of_stage = stage.and_then(|stage| stage.options.time.span());
        short_time(stream, load, of_stage, remarks);
    }
    if links.job().stages.len() <= 1 {
        beyond_the_end(links, step, loads, remarks);
    }
}

/// What is to happen when all is over: freezes of simulated devices, pieces of a course.
fn beyond_the_end(links: &Links<'_>, step: &Step, loads: &[&Load<'_>], remarks: &mut Remarks) {
    let mut tell = |span: Option<Span>, what: String, at: Nanos, end: Nanos| {
        let message = format!("{what} begins at {}, and all has ended by {}", at.exact(), end.exact());
        remarks.warn("plan.no-effect", span, message, "leave it out, or measure for longer");
    };
    for (stream, load) in step.streams.iter().zip(loads) {
        let course = &load.section.options.rate_course;
        let (Some(pieces), TimeLimit::Nanoseconds(time)) = (course.get(), stream.limits.time) else {
            continue;
        };
        let starts = pieces.iter().scan(Nanos::ZERO, |next, piece| {
            let (RatePiece::Hold(_, time) | RatePiece::Ramp(_, time) | RatePiece::Idle(time)) = piece;
            Some(std::mem::replace(next, next.after(*time)))
        });
        if let Some((index, at)) = starts.enumerate().find(|&(_, at)| at >= Nanos(time)) {
            let what = format!("piece {} of the rate_course of the stream \"{}\"", index + 1, stream.name);
            tell(course.span(), what, at, Nanos(time));
        }
    }
    let Some(end) = step.ends().and_then(|ends| ends.into_iter().max()) else { return };
    for target in &step.targets {
        let StepTarget::Sim(device) = &target.kind else { continue };
        let late = device.stalls.iter().map(|&(at, _)| Nanos(at)).filter(|&at| at >= end).min();
        let section = links.job().targets.iter().find(|section| section.name == target.name);
        if let (Some(at), Some(section)) = (late, section) {
            tell(section.options.stalls.span(), format!("a freeze of {}", target.name), at, end);
        }
    }
}

/// Whether no data of a target lies anywhere.
fn is_substitute(kind: &StepTarget) -> bool {
    matches!(kind, StepTarget::Null | StepTarget::Sim(_) | StepTarget::MemoryDevice { .. })
}

/// Sequential operations that start at the same place follow each other through the caches.
fn same_place(step: &Step, loads: &[&Load<'_>], remarks: &mut Remarks) {
    let mut first_at: HashMap<(u32, Bytes), (usize, usize)> = HashMap::new();
    // Of streams that start where another does: what is shared, the one that was first, the others. They may be thousands.
    let mut shared: BTreeMap<(u32, Bytes), (usize, Vec<usize>)> = BTreeMap::new();
    for (index, (stream, load)) in step.streams.iter().zip(loads).enumerate() {
        if !load.operations.sequential {
            continue;
        }
        let starts = stream.workers.iter().enumerate().flat_map(|(worker, plan)| {
            plan.extents.iter().map(move |extent| ((extent.target, extent.start), (index, worker)))
        });
        for ((target, start), who) in starts {
            let target_of_step = &step.targets[target as usize];
            let first = *first_at.entry((target, start)).or_insert(who);
            if first == who || is_substitute(&target_of_step.kind) {
                continue;
            }
            if first.0 == index {
                let who = format!("several workers of the stream \"{}\"", stream.name);
                say_same_place(&who, start, &target_of_step.name, load.section.span, remarks);
            } else {
                shared.entry((target, start)).or_insert((first.0, Vec::new())).1.push(index);
            }
            break;
        }
    }
    for ((target, start), (first, others)) in shared {
        let name = |index: usize| format!("\"{}\"", step.streams[index].name);
        let who = match others[..] {
            [only] => format!("the streams {} and {}", name(first), name(only)),
            _ => format!("the streams {}, {} and {} more", name(first), name(others[0]), others.len() - 1),
        };
        let target = &step.targets[target as usize].name;
        say_same_place(&who, start, target, loads[others[0]].section.span, remarks);
    }
}

/// Sequential readers that begin at places of their own and go over what others go over: the later one finds in a cache what the
/// earlier one left. Once for each target.
fn overlapping(step: &Step, loads: &[&Load<'_>], remarks: &mut Remarks) {
    // Per target: from where to where, whose, and whether it reads.
    let mut parts: BTreeMap<u32, Vec<(Bytes, u64, usize)>> = BTreeMap::new();
    for (index, (stream, load)) in step.streams.iter().zip(loads).enumerate() {
        // What leaves gaps, others may fill.
        let leaves_gaps = stream.workload.stride_bytes != 0 || stream.workload.zones != Zones::None;
        if !load.operations.sequential || !load.operations.reads || load.trace.is_some() || leaves_gaps {
            continue;
        }
        let at_most = |quota: Quota, each: u64| match quota {
            Quota::AtMost(most) => most.saturating_mul(each),
            Quota::Unlimited => u64::MAX,
        };
        let of_operations = at_most(stream.limits.operations, load.operations.largest);
        let most = at_most(stream.limits.bytes, 1).min(of_operations);
        for extent in stream.workers.iter().flat_map(|worker| &worker.extents) {
            let length = extent.length.0.min(most);
            let part = (extent.start, extent.start.0.saturating_add(length), index);
            parts.entry(extent.target).or_default().push(part);
        }
    }
    for (target, mut parts) in parts {
        let target = &step.targets[target as usize];
        if is_substitute(&target.kind) {
            continue;
        }
        parts.sort_unstable();
        // Those that begin at one place are told as such.
        let mut furthest = (Bytes(0), 0, 0);
        let found = parts.iter().find_map(|&(start, end, index)| {
            let (first, until, other) = furthest;
            if end > until {
                furthest = (start, end, index);
            }
            (first < start && start.0 < until).then(|| (other, index, Bytes(until.min(end) - start.0)))
        });
        let Some((first, later, shared)) = found else { continue };
        let name = |index: usize| format!("\"{}\"", step.streams[index].name);
        let who = if first == later {
            format!("workers of the stream {}", name(first))
        } else {
            format!("the streams {} and {}", name(first), name(later))
        };
        let message = format!(
            "{who} read the same {} of {} in sequence, from places of their own",
            shared.approximate(),
            target.name
        );
        let help = "what the one has read the other finds in a cache; let regions lie as far apart as they are long \
                    (offset_per_worker; in a job of fio offset_increment, or io_size to read less of each)";
        remarks.warn("plan.same-region", Some(loads[later].section.span), message, help);
    }
}

fn say_same_place(who: &str, start: Bytes, target: &str, span: Span, remarks: &mut Remarks) {
    let message = format!("{who} go sequentially from the same place, {start}, of {target}");
    let help = "the later ones find the data in a cache; give each an offset of its own (offset_per_worker; offset_increment in a \
                job of fio)";
    remarks.warn("plan.same-region", Some(span), message, help);
}

/// Fewer places than operations in flight: they fall on each other. Where those of a trace go, it says itself.
fn small_region(stream: &Stream, load: &Load<'_>, region: &BTreeSet<(u32, u64, u64)>, remarks: &mut Remarks) {
    let block = load.operations.largest;
    let blocks = saturating_sum(region.iter().map(|&(_, _, length)| length / block));
    let in_flight = stream.workers.len() as u64 * u64::from(stream.queue_depth);
    let workload = &stream.workload;
    // How far apart two places are at least, as far as that is more than a block.
    let apart = workload.cases.iter().map(|case| match (case.random, case.align) {
        (true, own) => own.map_or(workload.align.0, u64::from),
        (false, _) => block.saturating_add(workload.stride_bytes.max(0).unsigned_abs()),
    });
    let apart = apart.min().unwrap_or(block).max(block);
    let places =
        saturating_sum(region.iter().map(|&(_, _, length)| length.saturating_sub(block) / apart + 1));
    if load.trace.is_none() && apart > block && blocks > 1 && places < in_flight.max(2) {
        let message = format!(
            "the stream \"{}\" goes to {places} place{} of its region alone: places are {} apart",
            stream.name,
            if places == 1 { "" } else { "s" },
            Bytes(apart).approximate()
        );
        let help = "operations on one block at a time are a cache's or a lock's speed; let places lie closer (align, stride)";
        remarks.warn("plan.small-region", Some(load.section.span), message, help);
        return;
    }
    if load.trace.is_none() && blocks < in_flight {
        let message = format!(
            "the region of the stream \"{}\" has {blocks} blocks of {}, fewer than the {in_flight} operations in flight",
            stream.name,
            Bytes(block)
        );
        let help = "operations on one block at a time are a cache's or a lock's speed; use a larger region";
        remarks.warn("plan.small-region", Some(load.section.span), message, help);
    }
}

/// Buffered reads of what fits into memory come from there.
fn cached(
    scene: &Scene<'_>,
    stream: &Stream,
    load: &Load<'_>,
    region: &BTreeSet<(u32, u64, u64)>,
    remarks: &mut Remarks,
) {
    let bytes: u64 = region.iter().map(|&(_, _, length)| length).fold(0, u64::saturating_add);
    let memory = scene.facts.memory;
    if stream.engine.mode == IoMode::Buffered
        && stream.engine.kind.moves_bytes()
        && stream.engine.kind.opens_targets()
        && load.operations.reads
        && bytes < memory.0
    {
        let message = format!(
            "the stream \"{}\" reads {} through the page cache of a host with {} of memory",
            stream.name,
            Bytes(bytes).approximate(),
            memory.approximate()
        );
        let help = "this measures memory; use direct I/O, or a region larger than memory";
        remarks.warn("plan.cached", Some(load.section.span), message, help);
    }
}

/// A size that somebody wrote and that is not made of whole blocks.
fn tail(links: &Links<'_>, load: &Load<'_>, region: &BTreeSet<(u32, u64, u64)>, remarks: &mut Remarks) {
    let Some(block) = load.operations.only_size() else { return };
    let in_bytes = |size: Option<&Amount>| matches!(size, Some(Amount::Bytes(_)));
    let written = in_bytes(load.section.options.size.get())
        || links.targets_of(load.index).any(|place| in_bytes(links.job().targets[place].options.size.get()));
    let tail = region.iter().map(|&(_, _, length)| length % block).find(|&tail| tail > 0);
    if let (true, Some(tail)) = (written, tail) {
        let message = format!(
            "the last {} of the region of the stream \"{}\" are less than a block of {} and are never touched",
            Bytes(tail),
            load.section.name,
            Bytes(block)
        );
        let help = "make the size a multiple of block_size";
        remarks.warn(
            "plan.tail",
            load.section.options.size.span().or(Some(load.section.span)),
            message,
            help,
        );
    }
}

fn short_time(stream: &Stream, load: &Load<'_>, of_stage: Option<Span>, remarks: &mut Remarks) {
    let unbounded = stream.limits.bytes == Quota::Unlimited && stream.limits.operations == Quota::Unlimited;
    if let TimeLimit::Nanoseconds(time) = stream.limits.time
        && unbounded
        && Nanos(time) < TIME_SHORT
    {
        let message = format!("the stream \"{}\" measures for {} only", stream.name, Nanos(time).exact());
        let help = format!("caches and queues are still filling; measure {TIME_SHORT} or more");
        remarks.warn("plan.short-time", load.section.options.time.span().or(of_stage), message, help);
    }
    // The first operation is due at once, whatever the rate: it alone says nothing of one.
    if let (TimeLimit::Nanoseconds(time), Pacing::Open { rate, course, .. }) =
        (stream.limits.time, &stream.pacing)
        && course.is_empty()
        && rate * Nanos(time).as_secs_f64() < 1.0
    {
        let message = format!(
            "at {}/s the stream \"{}\" has no second operation within the {} that it measures",
            Iops(*rate),
            stream.name,
            Nanos(time).exact()
        );
        let place = load.section.options.rate.span().or(Some(load.section.span));
        remarks.warn("plan.short-time", place, message, "measure for longer, or raise the rate");
    }
}

/// Trims on devices that cannot: an error, since every one of them would fail.
pub(crate) fn trims_are_possible(scene: &Scene<'_>, step: &Step, loads: &[&Load<'_>], remarks: &mut Remarks) {
    for (stream, load) in step.streams.iter().zip(loads) {
        let trims = stream.workload.cases.iter().any(|case| case.kind == OperationKind::Trim);
        let targets = stream.workers.iter().flat_map(|worker| &worker.extents).map(|extent| extent.target);
        for target in targets.filter(|_| trims).collect::<BTreeSet<u32>>() {
            let target = &step.targets[target as usize];
            let StepTarget::BlockDevice { path } = &target.kind else { continue };
            if scene.fact(path).and_then(|fact| fact.device.as_ref()).is_some_and(|device| !device.discards) {
                let message = format!("{} cannot trim (discard)", target.name);
                remarks.error(
                    "plan.no-discards",
                    Some(load.section.span),
                    message,
                    "leave the trim share out",
                );
            }
        }
    }
}
