//! Options and sections of a native job that are written and change nothing.
//!
//! Nothing here changes a step.

use crate::links::Links;
use crate::remarks::Remarks;
use fathom_model::{
    Amount, ByKind, Dialect, Direction, Job, MemoryKind, MixLine, Named, Rate, Setting, Span, StageOptions,
    StreamOptions, TargetKind, TargetOptions, Verify, WorkloadOptions,
};
use fathom_units::{Bytes, Nanos, Ratio};
use std::collections::HashSet;

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
    for workload in &job.workloads {
        unreached_sizes(&workload.options, remarks);
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
    let links = Links::of(job);
    let replayed = Replayed::of(job, &links);
    for workload in &job.workloads {
        idle_beside(&beside_of_workload(&workload.options), &mut idle);
        if replayed.alone.contains(workload.name.as_str()) {
            idle_of_replay(&workload.options, &mut idle);
        } else if !replayed.any.contains(workload.name.as_str()) {
            idle_operations(&workload.options, &mut idle);
        }
    }
    for (index, stream) in job.streams.iter().enumerate() {
        idle_stream_options(job, stream, offers_rates, &mut idle);
        let is_simulated = |target: usize| *job.targets[target].options.kind.get() == TargetKind::Sim;
        let (mut aims_at_some, mut all_are, mut one_is) = (false, true, false);
        for target in links.targets_of(index) {
            aims_at_some = true;
            all_are &= is_simulated(target);
            one_is |= is_simulated(target);
            if one_is && !all_are {
                break;
            }
        }
        if *stream.options.flow.get() > 0 && one_is {
            let reason =
                "each worker on a simulated target lives in a time of its own, and waits for no other stream";
            idle(stream.options.flow.span(), "flow", reason);
        }
        if aims_at_some && all_are {
            idle_on_simulated(&stream.options, &mut idle);
        } else if let Some(workload) = links.workload_of(stream)
            && !Kinds::of(&workload.options).writes
            && stream.options.trace.get().is_none()
        {
            idle(stream.options.until_full.span(), "until_full", "nothing is written");
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
            (options.size_max.span(), "size_max"),
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

/// The upper end of a range of sizes that no size of it has.
fn unreached_sizes(options: &WorkloadOptions, remarks: &mut Remarks) {
    let of_lines = options.mix.get().into_iter().flatten().map(|line| (&line.block_size, options.mix.span()));
    for (sizes, span) in of_lines.chain([(options.block_size.get(), options.block_size.span())]) {
        for &(_, min, max, step) in &sizes.sizes {
            let beyond = (max.0 - min.0) % step.0.max(1);
            if beyond > 0 {
                let message = format!(
                    "no operation has the {max} of the range {min} to {max}: its sizes are {step} apart, up to {}",
                    Bytes(max.0 - beyond)
                );
                remarks.warn(
                    "plan.no-effect",
                    span,
                    message,
                    "write the step, as in \"4KiB..10KiB step 2KiB\"",
                );
            }
        }
    }
}

/// Which workloads are replaced by traces: names of those that all of their streams replay one for, and that any does.
#[derive(Default)]
struct Replayed<'a> {
    alone: HashSet<&'a str>,
    any: HashSet<&'a str>,
}

impl<'a> Replayed<'a> {
    fn of(job: &'a Job, links: &Links<'a>) -> Self {
        let mut found = Self::default();
        let mut drawn = HashSet::new();
        for stream in &job.streams {
            let Some(workload) = links.workload_of(stream) else { continue };
            let by_trace = stream.options.trace.get().is_some();
            let _ = if by_trace { &mut found.any } else { &mut drawn }.insert(workload.name.as_str());
        }
        found.alone = found.any.difference(&drawn).copied().collect();
        found
    }
}

/// Options of operations that come from a trace.
fn idle_of_replay(options: &WorkloadOptions, idle: &mut Idle<'_>) {
    for (span, option) in [
        (options.block_size.span(), "block_size"),
        (options.read.span(), "read"),
        (options.trim.span(), "trim"),
        (options.access.span(), "access"),
        (options.mix.span(), "mix"),
        (options.distribution.span(), "distribution"),
        (options.coverage.span(), "coverage"),
        (options.align.span(), "align"),
        (options.run_length.span(), "run_length"),
        (options.stride.span(), "stride"),
        (options.kind_order.span(), "kind_order"),
        (options.cursor.span(), "cursor"),
    ] {
        idle(span, option, "the trace says which operations there are, and where");
    }
}

/// Options that are for what stores data, where nothing does. Planning leaves them out; of those of engines that ask for
/// something it says itself that there is no such thing.
fn idle_on_simulated(options: &StreamOptions, idle: &mut Idle<'_>) {
    let unset = |option: &Setting<bool>| option.span().filter(|_| option.given() != Some(&true));
    let polled = options.polled.span().filter(|_| *options.polled.get() == Ratio::ZERO);
    for (span, option) in [
        (options.append.span(), "append"),
        (options.fresh_files.span(), "fresh_files"),
        (options.until_full.span(), "until_full"),
        (options.direct.span(), "direct"),
        (options.durability.span(), "durability"),
        (options.keep_cache.span(), "keep_cache"),
        (options.drop_each_pass.span(), "drop_each_pass"),
        (options.pre_read.span(), "pre_read"),
        (options.advice.span(), "advice"),
        (options.memory.span(), "memory"),
        (options.huge_page.span(), "huge_page"),
        (options.memory_shift.span(), "memory_shift"),
        (options.file_lock.span(), "file_lock"),
        (unset(&options.fixed_buffers), "fixed_buffers"),
        (unset(&options.registered_files), "registered_files"),
        (polled, "polled"),
        (unset(&options.nowait), "nowait"),
        (unset(&options.uncached), "uncached"),
        (unset(&options.untorn), "untorn"),
        (unset(&options.submit_thread), "submit_thread"),
        (unset(&options.vectored), "vectored"),
    ] {
        idle(
            span,
            option,
            "a simulated device is no storage: nothing is opened, cached or handed to the kernel",
        );
    }
}

/// Whether something is so of any line of a workload's mix, or, where it has none, of its own options.
fn is_any(options: &WorkloadOptions, own: bool, of_line: &dyn Fn(&MixLine) -> bool) -> bool {
    options.mix.get().map_or(own, |lines| lines.iter().any(of_line))
}

/// Which kinds of operations a workload has.
struct Kinds {
    reads: bool,
    writes: bool,
    trims: bool,
}

impl Kinds {
    fn of(options: &WorkloadOptions) -> Self {
        let any = |one: bool, of_line: &dyn Fn(&MixLine) -> bool| is_any(options, one, of_line);
        let trims = any(*options.trim.get() > Ratio::ZERO, &|line| line.trim > Ratio::ZERO);
        let writes = (trims && *options.trim_then_write.get())
            || any(options.read.get().value() + options.trim.get().value() < 1.0, &|line| {
                line.read.value() + line.trim.value() < 1.0
            });
        let reads = any(*options.read.get() > Ratio::ZERO, &|line| line.read > Ratio::ZERO);
        Self { reads, writes, trims }
    }
}

/// Options that are only about kinds of operations, or about ways to choose places, that the workload has not.
fn idle_operations(options: &WorkloadOptions, idle: &mut Idle<'_>) {
    let any = |one: bool, of_line: &dyn Fn(&MixLine) -> bool| is_any(options, one, of_line);
    let random = any(options.access.get().random > Ratio::ZERO, &|line| line.access.random > Ratio::ZERO);
    let sequential = any(options.access.get().random < Ratio::ONE, &|line| line.access.random < Ratio::ONE);
    let Kinds { reads, writes, trims } = Kinds::of(options);
    let kinds = [reads, writes, trims].into_iter().filter(|&does| does).count();
    let of_none = |kind: &Option<Direction>| match kind {
        Some(Direction::Read) => !reads,
        Some(Direction::Write) => !writes,
        Some(Direction::Trim) => !trims,
        None => false,
    };
    if options.align_of.get().is_some_and(|ByKind(parts)| parts.iter().all(|(kind, _)| of_none(kind))) {
        idle(options.align_of.span(), "align_of", "no operation is of a kind that it names");
    }
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
        idle(options.cursor.span(), "cursor", "no operation is sequential");
    } else if kinds < 2 {
        idle(options.cursor.span(), "cursor", "all operations are of one kind");
    }
    if kinds < 2 {
        idle(options.kind_order.span(), "kind_order", "all operations are of one kind");
    }
    if !writes {
        for (span, option) in [
            (options.content.span(), "content"),
            (options.freshness.span(), "freshness"),
            (options.compressible.span(), "compressible"),
            (options.dedupable.span(), "dedupable"),
            (options.fsync_every.span(), "fsync_every"),
            (options.fdatasync_every.span(), "fdatasync_every"),
            (options.range_sync_every.span(), "range_sync_every"),
            (options.fsync_at_end.span(), "fsync_at_end"),
            (options.syncfs_at_end.span(), "syncfs_at_end"),
        ] {
            idle(span, option, "nothing is written");
        }
    }
    if !trims {
        idle(options.trim_then_write.span(), "trim_then_write", "nothing is trimmed");
    }
}

fn idle_stream_options(job: &Job, stream: &Named<StreamOptions>, offers_rates: bool, idle: &mut Idle<'_>) {
    let options = &stream.options;
    idle_beside(&beside_of_stream(options), idle);
    idle_beside(&beside_of_passage(options), idle);
    let has_curve = job.stages.iter().any(|stage| !stage.options.curve.get().is_empty());
    // A search that offers rates of its own spaces them as the stream says.
    let has_none = *options.rate.get() == Rate::Max && !offers_rates;
    if has_none && options.rate_course.get().is_none() && !has_curve {
        idle(options.arrival.span(), "arrival", "the stream has no rate");
        idle(options.backlog.span(), "backlog", "the stream has no rate");
    }
    let of_stage = |stage: &Named<StageOptions>| *stage.options.ramp.get() > Nanos::ZERO;
    let has_ramp = match (options.ramp_bytes.get(), options.ramp.get()) {
        (None, None) => job.stages.iter().any(of_stage),
        (bytes, time) => bytes.is_some() || time.is_some_and(|&time| time > Nanos::ZERO),
    };
    if *options.workers.get() == 1 {
        idle(options.offset_per_worker.span(), "offset_per_worker", "the stream has one worker");
        idle(options.worker_regions.span(), "worker_regions", "the stream has one worker");
    }
    if !has_ramp {
        idle(options.ramp_counts.span(), "ramp_counts", "the stream has no ramp");
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

/// Options that only say how another one works: whether that one is not at work, what to say then, and which they are.
type Beside = Vec<(bool, &'static str, Vec<(Option<Span>, &'static str)>)>;

fn idle_beside(beside: &Beside, idle: &mut Idle<'_>) {
    for (_, reason, options) in beside.iter().filter(|(is_idle, ..)| *is_idle) {
        options.iter().for_each(|&(span, option)| idle(span, option, reason));
    }
}

fn beside_of_workload(options: &WorkloadOptions) -> Beside {
    vec![
        (
            *options.compressible.get() == Ratio::ZERO,
            "compressible is 0%",
            vec![(options.compress_chunk.span(), "compress_chunk")],
        ),
        (
            *options.dedupable.get() == Ratio::ZERO,
            "dedupable is 0%",
            vec![(options.repeats.span(), "repeats"), (options.working_set.span(), "working_set")],
        ),
        (
            options.range_sync_every.get().is_none(),
            "the workload has no range_sync_every",
            vec![(options.range_sync.span(), "range_sync")],
        ),
        (*options.run_length.get() == 1, "run_length is 1", vec![(options.run.span(), "run")]),
        (
            *options.verify.get() == Verify::None,
            "verify is none",
            vec![
                (options.verify_pattern.span(), "verify_pattern"),
                (options.verify_pattern_interval.span(), "verify_pattern_interval"),
                (options.verify_when.span(), "verify_when"),
                (options.verify_order.span(), "verify_order"),
                (options.verify_interval.span(), "verify_interval"),
                (options.verify_header_at.span(), "verify_header_at"),
                (options.verify_backlog.span(), "verify_backlog"),
                (options.verify_backlog_batch.span(), "verify_backlog_batch"),
                (options.verify_fatal.span(), "verify_fatal"),
                (options.verify_dump.span(), "verify_dump"),
                (options.verify_sequence.span(), "verify_sequence"),
                (options.verify_seed.span(), "verify_seed"),
                (options.verify_trim.span(), "verify_trim"),
            ],
        ),
        (
            *options.verify.get() != Verify::None && options.verify_backlog.get().is_none(),
            "the workload has no verify_backlog",
            vec![(options.verify_backlog_batch.span(), "verify_backlog_batch")],
        ),
        (
            *options.verify_trim.get() == Ratio::ZERO,
            "verify_trim is 0%",
            vec![
                (options.verify_trim_backlog.span(), "verify_trim_backlog"),
                (options.verify_trim_batch.span(), "verify_trim_batch"),
                (options.verify_trim_zero.span(), "verify_trim_zero"),
            ],
        ),
    ]
}

/// Those of what a stream goes through.
fn beside_of_passage(options: &StreamOptions) -> Beside {
    vec![
        (
            options.trace.get().is_none(),
            "the stream replays no trace",
            vec![
                (options.trace_timed.span(), "trace_timed"),
                (options.trace_makes_files.span(), "trace_makes_files"),
                (options.trace_speed_percent.span(), "trace_speed_percent"),
                (options.trace_scale.span(), "trace_scale"),
                (options.trace_align.span(), "trace_align"),
                (options.trace_skip.span(), "trace_skip"),
            ],
        ),
        (
            options.bytes.get().is_none(),
            "the stream has no bytes that passes would have to move",
            vec![(options.passes_suffice.span(), "passes_suffice")],
        ),
        (
            ![options.offset.get(), options.offset_per_worker.get()]
                .iter()
                .any(|amount| matches!(amount, Amount::Share(_))),
            "the stream begins at no share of its target",
            vec![(options.offset_align.span(), "offset_align")],
        ),
    ]
}

fn beside_of_stream(options: &StreamOptions) -> Beside {
    vec![
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
        (
            *options.priority_reads.get() == Ratio::ZERO
                && *options.priority_writes.get() == Ratio::ZERO
                && options.priority_split.get().is_none(),
            "priority_reads and priority_writes are 0%, so no operation has a priority",
            vec![
                (options.priority_class.span(), "priority_class"),
                (options.priority_level.span(), "priority_level"),
            ],
        ),
        (
            options.trace.get().is_some() && !*options.trace_timed.get(),
            "trace_timed is false, and nothing of the trace is due at a time",
            vec![(options.trace_speed_percent.span(), "trace_speed_percent")],
        ),
        (
            options.program.get().is_none(),
            "the stream runs no program",
            vec![
                (options.arguments.span(), "arguments"),
                (options.program_grace.span(), "program_grace"),
                (options.program_files.span(), "program_files"),
            ],
        ),
        (
            options.program.get().is_none()
                && options.command_before.get().is_none()
                && options.command_after.get().is_none(),
            "the stream runs no program and no command",
            vec![(options.command_output.span(), "command_output")],
        ),
        (
            *options.start_delay.get() == Nanos::ZERO,
            "start_delay is 0",
            vec![(options.start_delay_of_run.span(), "start_delay_of_run")],
        ),
        (
            !matches!(options.memory.get(), MemoryKind::MappedHuge | MemoryKind::SegmentHuge),
            "the stream's memory is of no huge pages",
            vec![(options.huge_page.span(), "huge_page")],
        ),
    ]
}
