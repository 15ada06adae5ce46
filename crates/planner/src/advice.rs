//! Warnings that a storage engineer would give on reading the plan: it runs, but the number may not be what was meant.
//!
//! Nothing here changes a step.

use crate::links::Links;
use crate::remarks::Remarks;
use crate::scene::{Load, Scene};
use fathom_model::{
    Amount, Dialect, Job, Named, Rate, Span, StreamOptions, TargetKind, TargetOptions, WorkloadOptions,
};
use fathom_schema::{
    Extent, IoMode, OperationKind, Pacing, Quota, Step, Stream, TargetKind as StepTarget, TimeLimit,
};
use fathom_units::{Bytes, Iops, Nanos, Ratio, saturating_sum};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

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

fn say_same_place(who: &str, start: Bytes, target: &str, span: Span, remarks: &mut Remarks) {
    let message = format!("{who} go sequentially from the same place, {start}, of {target}");
    let help = "the later ones find the data in a cache; give each an offset of its own (offset_per_worker)";
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

/// What the job as a whole gives reason to say: sections nobody uses, options without effect. Only native jobs are told
/// so: a peer's job sets options as its dialect does, and its front end has judged them.
pub(crate) fn of_job(job: &Job, offers_rates: bool, remarks: &mut Remarks) {
    if job.dialect != Dialect::Native {
        return;
    }
    unused(job, remarks);
    if job.stages.iter().any(|stage| !stage.options.sweep.get().dimensions.is_empty()) {
        // A sweep may give the option its effect at another point.
        return;
    }
    let mut idle = |span: Option<Span>, option: &str, reason: &str| {
        if span.is_some() {
            let message = format!("{option} has no effect: {reason}");
            remarks.warn("plan.no-effect", span, message, "leave it out");
        }
    };
    for target in &job.targets {
        idle_target_options(target, &mut idle);
    }
    for workload in &job.workloads {
        idle_workload_options(workload, &mut idle);
    }
    let links = Links::of(job);
    for (index, stream) in job.streams.iter().enumerate() {
        idle_stream_options(job, stream, offers_rates, &mut idle);
        let is_simulated = |target: usize| *job.targets[target].options.kind.get() == TargetKind::Sim;
        if *stream.options.flow.get() > 0 && links.targets_of(index).any(is_simulated) {
            let reason =
                "each worker on a simulated target lives in a time of its own, and waits for no other stream";
            idle(stream.options.flow.span(), "flow", reason);
        }
    }
}

fn unused(job: &Job, remarks: &mut Remarks) {
    let mut unused = |what: &str, name: &str, span: Span, by: &str| {
        let message = format!("the {what} \"{name}\" is used by no {by}");
        remarks.warn("plan.unused", Some(span), message, "use it or leave it out");
    };
    let links = Links::of(job);
    let stages = || job.stages.iter().map(|stage| stage.options.streams.get());
    if !job.stages.is_empty() && stages().all(|names| names.is_some()) {
        let run: HashSet<&String> = stages().flatten().flatten().collect();
        for stream in job.streams.iter().filter(|stream| !run.contains(&stream.name)) {
            unused("stream", &stream.name, stream.span, "stage");
        }
    }
    for (_, target) in job.targets.iter().enumerate().filter(|(place, _)| !links.is_used(*place)) {
        unused("target", &target.name, target.span, "stream");
    }
    let run: HashSet<&str> =
        job.streams.iter().filter_map(|stream| Some(links.workload_of(stream)?.name.as_str())).collect();
    for workload in job.workloads.iter().filter(|workload| !run.contains(workload.name.as_str())) {
        unused("workload", &workload.name, workload.span, "stream");
    }
}

type Idle<'a> = dyn FnMut(Option<Span>, &str, &str) + 'a;

fn idle_target_options(target: &Named<TargetOptions>, idle: &mut Idle<'_>) {
    let options = &target.options;
    let kind = *options.kind.get();
    if options.directory.get().is_none() && kind != TargetKind::Tree {
        let reason = "fathom names files only in a directory";
        idle(options.file_names.span(), "file_names", reason);
        idle(options.own_per_worker.span(), "own_per_worker", reason);
    }
    if kind == TargetKind::Tree {
        let reason = "the files of a tree have names and places of their own";
        idle(options.file_names.span(), "file_names", reason);
        idle(options.own_per_worker.span(), "own_per_worker", reason);
    } else {
        for (span, option) in [
            (options.tree_depth.span(), "tree_depth"),
            (options.tree_width.span(), "tree_width"),
            (options.tree_distribution.span(), "tree_distribution"),
        ] {
            idle(span, option, "the target is not of kind \"tree\"");
        }
    }
    if kind != TargetKind::Sim {
        for (span, option) in [
            (options.service_time.span(), "service_time"),
            (options.parallelism.span(), "parallelism"),
            (options.error_share.span(), "error_share"),
            (options.short_share.span(), "short_share"),
            (options.stalls.span(), "stalls"),
            (options.places.span(), "places"),
        ] {
            idle(span, option, "the target is not of kind \"sim\"");
        }
    }
    if kind == TargetKind::Sim {
        let reason = "a simulated device is no storage, and nothing of it is at a path";
        for (span, option) in [
            (options.path.span(), "path"),
            (options.directory.span(), "directory"),
            (options.files.span(), "files"),
        ] {
            idle(span, option, reason);
        }
    }
    if kind != TargetKind::Peer {
        for (span, option) in [
            (options.address.span(), "address"),
            (options.listen.span(), "listen"),
            (options.no_delay.span(), "no_delay"),
            (options.per_connection.span(), "per_connection"),
        ] {
            idle(span, option, "the target is not of kind \"peer\"");
        }
    }
    if matches!(kind, TargetKind::Sim | TargetKind::Null | TargetKind::Peer | TargetKind::Block) {
        idle(options.layout.span(), "layout", "the target is not a file");
        idle(options.make_folder.span(), "make_folder", "the target is not a file");
        idle(options.remove.span(), "remove", "the target is not a file");
    }
}

fn idle_workload_options(workload: &Named<WorkloadOptions>, idle: &mut Idle<'_>) {
    let options = &workload.options;
    let lines = options.mix.get();
    let any = |one: bool, of_line: &dyn Fn(&fathom_model::MixLine) -> bool| {
        lines.map_or(one, |lines| lines.iter().any(of_line))
    };
    let random = any(options.access.get().random > Ratio::ZERO, &|line| line.access.random > Ratio::ZERO);
    let sequential = any(options.access.get().random < Ratio::ONE, &|line| line.access.random < Ratio::ONE);
    let trims = any(*options.trim.get() > Ratio::ZERO, &|line| line.trim > Ratio::ZERO);
    let writes = (trims && *options.trim_then_write.get())
        || any(options.read.get().value() + options.trim.get().value() < 1.0, &|line| {
            line.read.value() + line.trim.value() < 1.0
        });
    if !random {
        for (span, option) in [
            (options.align.span(), "align"),
            (options.distribution.span(), "distribution"),
            (options.coverage.span(), "coverage"),
            (options.run_length.span(), "run_length"),
        ] {
            idle(span, option, "no operation is random");
        }
    }
    if !sequential {
        idle(options.stride.span(), "stride", "no operation is sequential");
    }
    if !writes {
        for (span, option) in [
            (options.content.span(), "content"),
            (options.freshness.span(), "freshness"),
            (options.compressible.span(), "compressible"),
            (options.dedupable.span(), "dedupable"),
            (options.fsync_every.span(), "fsync_every"),
            (options.fdatasync_every.span(), "fdatasync_every"),
        ] {
            idle(span, option, "nothing is written");
        }
    }
    if *options.compressible.get() == Ratio::ZERO {
        idle(options.compress_chunk.span(), "compress_chunk", "compressible is 0%");
    }
    if *options.dedupable.get() == Ratio::ZERO {
        idle(options.repeats.span(), "repeats", "dedupable is 0%");
        idle(options.working_set.span(), "working_set", "dedupable is 0%");
    }
    if options.range_sync_every.get().is_none() {
        idle(options.range_sync.span(), "range_sync", "the workload has no range_sync_every");
    }
    if *options.run_length.get() == 1 {
        idle(options.run.span(), "run", "run_length is 1");
    }
    if !trims {
        idle(options.trim_then_write.span(), "trim_then_write", "nothing is trimmed");
    }
}

fn idle_stream_options(job: &Job, stream: &Named<StreamOptions>, offers_rates: bool, idle: &mut Idle<'_>) {
    let options = &stream.options;
    idle_beside(options, idle);
    let has_curve = job.stages.iter().any(|stage| !stage.options.curve.get().is_empty());
    // A search that offers rates of its own spaces them as the stream says.
    let has_none = *options.rate.get() == Rate::Max && !offers_rates;
    if has_none && options.rate_course.get().is_none() && !has_curve {
        idle(options.arrival.span(), "arrival", "the stream has no rate");
        idle(options.backlog.span(), "backlog", "the stream has no rate");
    }
    if *options.priority_reads.get() == Ratio::ZERO && *options.priority_writes.get() == Ratio::ZERO {
        let reason = "priority_reads and priority_writes are 0%, so no operation has a priority";
        idle(options.priority_class.span(), "priority_class", reason);
        idle(options.priority_level.span(), "priority_level", reason);
    }
    for (asked, span, option) in [
        (options.batch_submit.get().copied(), options.batch_submit.span(), "batch_submit"),
        (options.batch_complete.given().copied(), options.batch_complete.span(), "batch_complete"),
        (options.batch_complete_max.get().copied(), options.batch_complete_max.span(), "batch_complete_max"),
    ] {
        if asked.is_some_and(|asked| asked > *options.queue_depth.get()) {
            idle(span, option, "it is more than queue_depth, which is taken instead");
        }
    }
    if options.refill_at.get().is_some_and(|at| at >= options.queue_depth.get()) {
        idle(options.refill_at.span(), "refill_at", "it is not below queue_depth");
    }
}

/// Options that only say how another one works, where that is not given.
fn idle_beside(options: &StreamOptions, idle: &mut Idle<'_>) {
    let beside = [
        (
            *options.think_time.get() == Nanos::ZERO,
            "think_time is 0",
            vec![
                (options.think_every.span(), "think_every"),
                (options.think_issued.span(), "think_issued"),
                (options.think_after.span(), "think_after"),
                (options.think_spin.span(), "think_spin"),
                (options.think_puts_off.span(), "think_puts_off"),
            ],
        ),
        (
            options.latency_target.get().is_none_or(|&target| target == Nanos::ZERO),
            "the stream has no latency_target above 0",
            vec![
                (options.latency_target.span(), "latency_target"),
                (options.latency_window.span(), "latency_window"),
                (options.latency_share.span(), "latency_share"),
                (options.latency_adapts.span(), "latency_adapts"),
            ],
        ),
        (
            options.steady.get().is_none(),
            "the stream has no steady",
            vec![
                (options.steady_window.span(), "steady_window"),
                (options.steady_after.span(), "steady_after"),
                (options.steady_every.span(), "steady_every"),
                (options.steady_group.span(), "steady_group"),
            ],
        ),
        (
            options.rate_min.get().is_none(),
            "the stream has no rate_min",
            vec![(options.rate_min_window.span(), "rate_min_window")],
        ),
        (
            *options.flow.get() == 0,
            "flow is 0, and the stream issues in proportion to none",
            vec![(options.flow_weight.span(), "flow_weight"), (options.flow_pause.span(), "flow_pause")],
        ),
        (
            options.cpu_load.get().is_none(),
            "the stream has no cpu_load",
            vec![(options.cpu_chunk.span(), "cpu_chunk")],
        ),
        (
            options.cpus.get().is_none_or(Vec::is_empty),
            "no CPU is named, and its workers may run on all",
            vec![(options.cpus.span(), "cpus"), (options.cpus_policy.span(), "cpus_policy")],
        ),
        (
            options.cpu_nodes.get().is_none_or(Vec::is_empty),
            "no node is named, and its workers may run on all",
            vec![(options.cpu_nodes.span(), "cpu_nodes")],
        ),
    ];
    for (_, reason, options) in beside.into_iter().filter(|(is_idle, ..)| *is_idle) {
        options.into_iter().for_each(|(span, option)| idle(span, option, reason));
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
