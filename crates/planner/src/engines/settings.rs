//! What an engine itself is set to, and whether it has what a stream asks of it.

use crate::host;
use crate::remarks::Remarks;
use crate::scene::{Load, Scene};
use crate::targets::{Addressed, Class};
use fathom_model::{
    Amount, Durability, Named, PriorityClass, PriorityPart, Rate, Setting, Span, StreamOptions,
};
use fathom_schema::{
    AioSettings, CallFlags, EngineKind, ForcedAsync, IoMode, NameOperation, NoteKind, OperationPriority,
    Quota, Registration, RingSettings, Severity, SizedPriority, Stream, Submitter, Target, Zones,
};
use fathom_units::{Bytes, Nanos, Ratio};
use std::collections::BTreeSet;

pub(super) fn of_calls(options: &StreamOptions) -> CallFlags {
    CallFlags {
        polled_percent: percent(*options.polled.get()),
        nowait: *options.nowait.get(),
        uncached: *options.uncached.get(),
        untorn: *options.untorn.get(),
    }
}

/// Largest operation for which registered buffers save something where the kernel copies. To those it copies by registers, to
/// others by a string instruction, which takes its time to begin and is faster then. Cached reads per second at depth 32 with
/// buffers registered, over those without, medians of five turns (Linux 6.18 on EPYC): 1.07 of 512 B, 0.88 of 1 KiB, 0.81 of
/// 2 KiB, 0.80 of 4 KiB, 0.79 of 16 KiB.
const COPIED_BY_REGISTERS_MAX: u32 = 512;

/// `largest`: bytes of the largest operation.
pub(super) fn of_ring(options: &StreamOptions, mode: IoMode, largest: u32) -> RingSettings {
    let buffers = match mode {
        IoMode::Buffered if largest > COPIED_BY_REGISTERS_MAX => Registration::Never,
        IoMode::Direct | IoMode::Buffered => Registration::WherePossible,
    };
    RingSettings {
        fixed_buffers: registration(&options.fixed_buffers, buffers),
        registered_files: registration(&options.registered_files, Registration::WherePossible),
        polled: *options.polled.get() > Ratio::ZERO,
        submitter: match (*options.submit_thread.get(), options.submit_thread_cpu.get()) {
            (false, _) => Submitter::Worker,
            (true, None) => Submitter::Kernel,
            (true, Some(&cpu)) => Submitter::KernelOn(cpu),
        },
        vectored: *options.vectored.get(),
        forced_async: options
            .force_async
            .get()
            .map_or(ForcedAsync::Never, |&every| ForcedAsync::OneOf(every)),
        nowait: *options.nowait.get(),
        uncached: *options.uncached.get(),
        untorn: *options.untorn.get(),
        priority: priority(options),
    }
}

pub(super) fn of_aio(options: &StreamOptions) -> AioSettings {
    AioSettings {
        userspace_reap: *options.userspace_reap.get(),
        nowait: *options.nowait.get(),
        untorn: *options.untorn.get(),
        priority: priority(options),
    }
}

/// What is asked for has to be; what fathom does of its own accord may be left out.
fn registration(option: &Setting<bool>, unasked: Registration) -> Registration {
    match option.given() {
        Some(true) => Registration::Required,
        Some(false) => Registration::Never,
        None => unasked,
    }
}

fn priority(options: &StreamOptions) -> OperationPriority {
    OperationPriority {
        reads_percent: percent(*options.priority_reads.get()),
        writes_percent: percent(*options.priority_writes.get()),
        class: number_of(*options.priority_class.get()),
        level: u8::try_from(*options.priority_level.get()).expect("the option is at most 7"),
    }
}

/// As `ioprio_set(2)` has it.
const fn number_of(class: PriorityClass) -> u8 {
    match class {
        PriorityClass::RealTime => 1,
        PriorityClass::BestEffort => 2,
        PriorityClass::Idle => 3,
    }
}

/// Priorities of operations of one kind and size; those that none has are left out.
pub(crate) fn sized_priorities(options: &StreamOptions) -> Vec<SizedPriority> {
    let whole = priority(options);
    let parts = options.priority_split.get().into_iter().flat_map(|split| &split.0);
    let parts = parts.map(|&PriorityPart { writes, size, share, own }| SizedPriority {
        writes,
        bytes: u32::try_from(size.0).unwrap_or(u32::MAX),
        percent: percent(share),
        class: own.map_or(whole.class, |(class, _)| number_of(class)),
        level: own.map_or(whole.level, |(_, level)| u8::try_from(level).unwrap_or(7)),
    });
    parts.filter(|part| part.percent > 0).collect()
}

/// A share in whole percent; [`fits`] has seen to that it is one.
fn percent(share: Ratio) -> u8 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share is between 0 and 1")]
    let percent = (share.value() * 100.0).round() as u8;
    percent
}

/// An option of engines: its name, where it was given if it asks for something, whether this engine has it, which have.
type Asked = (&'static str, Option<Option<Span>>, bool, &'static str);

/// Whether the engine has what the stream asks of it; faults are among the remarks.
pub(super) fn fits(
    scene: &Scene<'_>,
    stream: &Named<StreamOptions>,
    kind: EngineKind,
    mode: IoMode,
    remarks: &mut Remarks,
) -> bool {
    let missing =
        asked(&stream.options, kind).into_iter().filter(|(_, span, has_it, _)| span.is_some() && !has_it);
    let mut is_right = true;
    for (option, span, _, engines) in missing {
        let message = format!(
            "the stream \"{}\" has the engine {}, which does not have {option}",
            stream.name,
            kind.name()
        );
        let help = format!("leave it out, or use one of the engines that have it: {engines}");
        remarks.error("plan.engine-option", span.flatten(), message, help);
        is_right = false;
    }
    for (option, share) in [
        ("polled", &stream.options.polled),
        ("priority_reads", &stream.options.priority_reads),
        ("priority_writes", &stream.options.priority_writes),
    ] {
        let percent = share.get().value() * 100.0;
        if (percent - percent.round()).abs() > 1e-9 {
            let message = format!(
                "the stream \"{}\" has {option} = {}; engines take it in whole percent",
                stream.name,
                share.get()
            );
            remarks.error("plan.engine-option", share.span(), message, "use a whole percentage");
            is_right = false;
        }
    }
    is_right &= split_fits(stream, remarks);
    if *stream.options.untorn.get() && mode == IoMode::Buffered {
        let message =
            format!("the stream \"{}\" has untorn writes and goes through the page cache", stream.name);
        let help = "use direct = true, or leave untorn (atomic) out";
        remarks.error("plan.engine-option", stream.options.untorn.span(), message, help);
        is_right = false;
    }
    match kind {
        EngineKind::IoUring(ring) => {
            say_priority(stream, ring.priority, remarks);
            is_right && ring_fits(scene, stream, ring, mode, remarks)
        }
        EngineKind::Libaio(aio) => {
            say_priority(stream, aio.priority, remarks);
            is_right
        }
        _ => is_right,
    }
}

fn asked(options: &StreamOptions, kind: EngineKind) -> [Asked; 23] {
    let (calls, ring, aio) = (
        matches!(kind, EngineKind::Pvsync2(_)),
        matches!(kind, EngineKind::IoUring(_)),
        matches!(kind, EngineKind::Libaio(_)),
    );
    let spins = matches!(kind, EngineKind::Spin { .. });
    let maps = matches!(kind, EngineKind::Mmap { .. });
    let flag = |option: &Setting<bool>| (option.given() == Some(&true)).then(|| option.span());
    let share = |option: &Setting<Ratio>| (*option.get() > Ratio::ZERO).then(|| option.span());
    let durable = &options.durability;
    [
        (
            "durability",
            (*durable.get() != Durability::None).then(|| durable.span()),
            !maps && kind.of_names().is_none(),
            "all but mmap (fsync_every = 1 makes each of its writes stable)",
        ),
        (
            "stat_call",
            options.stat_call.given().map(|_| options.stat_call.span()),
            matches!(kind.of_names(), Some(NameOperation::StatFile(_) | NameOperation::StatFolder(_))),
            "filestat, dirstat",
        ),
        ("cpu_load", options.cpu_load.get().map(|_| options.cpu_load.span()), spins, "cpuio"),
        ("cpu_work", options.cpu_work.given().map(|_| options.cpu_work.span()), spins, "cpuio"),
        ("ping_pong", flag(&options.ping_pong), matches!(kind, EngineKind::Net { .. }), "net"),
        ("program", options.program.get().map(|_| options.program.span()), kind == EngineKind::Exec, "exec"),
        ("end_with_io", flag(&options.end_with_io), spins, "cpuio"),
        (
            "rate",
            (*options.rate.get() != Rate::Max).then(|| options.rate.span()),
            !spins,
            "all but cpuio (cpu_load says how busy it is)",
        ),
        (
            "think_time",
            (*options.think_time.get() != Nanos::ZERO).then(|| options.think_time.span()),
            !spins,
            "all but cpuio (cpu_load says how busy it is)",
        ),
        ("fixed_buffers", flag(&options.fixed_buffers), ring, "io_uring"),
        ("registered_files", flag(&options.registered_files), ring, "io_uring"),
        ("polled", share(&options.polled), calls || ring, "pvsync2, io_uring"),
        ("nowait", flag(&options.nowait), calls || ring || aio, "pvsync2, libaio, io_uring"),
        ("uncached", flag(&options.uncached), calls || ring, "pvsync2, io_uring"),
        ("untorn", flag(&options.untorn), calls || ring || aio, "pvsync2, libaio, io_uring"),
        ("submit_thread", flag(&options.submit_thread), ring, "io_uring"),
        (
            "submit_thread_cpu",
            options.submit_thread_cpu.get().map(|_| options.submit_thread_cpu.span()),
            ring,
            "io_uring",
        ),
        ("vectored", flag(&options.vectored), ring, "io_uring"),
        ("force_async", options.force_async.get().map(|_| options.force_async.span()), ring, "io_uring"),
        (
            "userspace_reap",
            options.userspace_reap.given().map(|_| options.userspace_reap.span()),
            aio,
            "libaio",
        ),
        ("priority_reads", share(&options.priority_reads), ring || aio, "libaio, io_uring"),
        ("priority_writes", share(&options.priority_writes), ring || aio, "libaio, io_uring"),
        (
            "priority_split",
            options.priority_split.get().map(|_| options.priority_split.span()),
            ring || aio,
            "libaio, io_uring",
        ),
    ]
}

fn ring_fits(
    scene: &Scene<'_>,
    stream: &Named<StreamOptions>,
    ring: RingSettings,
    mode: IoMode,
    remarks: &mut Remarks,
) -> bool {
    let options = &stream.options;
    let name = &stream.name;
    let mut faults: Vec<(Option<Span>, String, &str)> = Vec::new();
    if ring.polled && mode == IoMode::Buffered {
        let message = format!("the stream \"{name}\" polls for completions and goes through the page cache");
        let help = "use direct = true, or leave polling (hipri) out";
        remarks.error("plan.polled-buffered", options.polled.span(), message, help);
        return false;
    }
    if ring.polled && *options.polled.get() < Ratio::ONE {
        let message = format!(
            "the stream \"{name}\" polls for {} of its I/Os; a ring polls for all or none",
            options.polled.get()
        );
        faults.push((options.polled.span(), message, "use polled = \"100%\", or the engine pvsync2"));
    }
    if let Some(&cpu) = options.submit_thread_cpu.get() {
        if ring.submitter == Submitter::Worker {
            let message =
                format!("the stream \"{name}\" has a CPU for a submitting thread that there is not");
            faults.push((
                options.submit_thread_cpu.span(),
                message,
                "add submit_thread = true, or leave it out",
            ));
        } else if !host::has_cpu(scene, cpu) {
            let message = format!(
                "the stream \"{name}\" asks for its submitting thread on CPU {cpu}, which is not there"
            );
            faults.push((
                options.submit_thread_cpu.span(),
                message,
                "name a CPU that this process may run on",
            ));
        }
    }
    let is_right = faults.is_empty();
    for (span, message, help) in faults {
        remarks.error("plan.engine-option", span, message, help);
    }
    is_right
}

/// Whether the engine has the stream's operations: those that change the size of a file have no reads and no devices,
/// those that work on names have nothing but names.
pub(super) fn has_operations(
    load: &Load<'_>,
    kind: EngineKind,
    targets: &[&Addressed],
    remarks: &mut Remarks,
) -> bool {
    if let Some(operation) = kind.of_names() {
        return works_on_names(load, operation, targets, remarks);
    }
    let operations = &load.operations;
    if let EngineKind::Mmap { .. } = kind
        && let Some(device) = targets.iter().find(|target| target.class == Class::Memory)
    {
        let message =
            format!("the engine mmap maps files and block devices; {} is a character device", device.name);
        let help = "use engine = \"psync\"";
        remarks.error("plan.not-mapped", load.section.options.engine.span(), message, help);
        return false;
    }
    let lacks = match kind {
        EngineKind::Falloc => [("reads", operations.reads), ("", false)],
        EngineKind::Ftruncate => [("reads", operations.reads), ("trims", operations.trims)],
        _ => return true,
    };
    let name = &load.section.name;
    let mut is_right = true;
    let devices = targets.iter().filter(|target| matches!(target.class, Class::Block | Class::Memory));
    let faults = lacks
        .into_iter()
        .filter(|(_, is_asked)| *is_asked)
        .map(|(what, _)| {
            format!("the stream \"{name}\" has {what}, which the engine {} does not", kind.name())
        })
        .chain(devices.map(|target| {
            format!("the engine {} changes the size of files; {} is a device", kind.name(), target.name)
        }));
    for message in faults {
        let help = "let it only write, to files; or use another engine";
        remarks.error("plan.engine-operation", load.section.options.engine.span(), message, help);
        is_right = false;
    }
    is_right
}

/// Whether all that is asked of a stream can be had of calls on names, of which there is one for each.
fn works_on_names(
    load: &Load<'_>,
    operation: NameOperation,
    targets: &[&Addressed],
    remarks: &mut Remarks,
) -> bool {
    let (operations, options) = (&load.operations, &load.section.options);
    let (name, engine) = (&load.section.name, operation.name());
    let sync = &operations.workload.sync;
    let syncs = [sync.fsync_every, sync.fdatasync_every, sync.range_every] != [Quota::Unlimited; 3]
        || sync.fsync_at_end
        || sync.syncfs_at_end;
    let is_moved = |amount: &Amount| *amount != Amount::Bytes(Bytes::ZERO);
    let asked = [
        ("trims", operations.trims),
        ("reads beside writes", operations.reads && operations.writes),
        ("blocks of several sizes", operations.only_size().is_none()),
        ("syncs", syncs),
        ("an offset", is_moved(options.offset.get()) || is_moved(options.offset_per_worker.get())),
        ("append", *options.append.get()),
        ("until_full", *options.until_full.get()),
        ("pre_read", *options.pre_read.get()),
        ("zones", operations.workload.zones != Zones::None),
    ];
    let lacks = asked
        .into_iter()
        .filter(|(_, is_asked)| *is_asked)
        .map(|(what, _)| format!("the stream \"{name}\" has {what}, which the engine {engine} does not"));
    let devices = targets.iter().filter(|target| matches!(target.class, Class::Block | Class::Memory));
    let devices = devices
        .map(|target| format!("the engine {engine} works on names in a folder; {} is a device", target.name));
    let mut is_right = true;
    for message in lacks.chain(devices) {
        let help = "let it only read or only write, in blocks of one size, on files; or use another engine";
        remarks.error("plan.engine-operation", options.engine.span(), message, help);
        is_right = false;
    }
    if is_right {
        let message = format!(
            "each operation of the stream \"{name}\" is a call on one name ({engine}) and moves no bytes; its block size is \
             only what bounds in bytes are counted in"
        );
        remarks.note(NoteKind::Engine, Severity::Info, message);
    }
    is_right
}

/// Whether the engines of a step's streams leave each other what they work on: an access to the part of a mapping that
/// the file no longer has ends the whole process.
pub(crate) fn get_along(streams: &[(&Load<'_>, &mut Stream)], targets: &[Target], remarks: &mut Remarks) {
    let files = |stream: &Stream| -> BTreeSet<u32> {
        stream.workers.iter().flat_map(|worker| &worker.extents).map(|extent| extent.target).collect()
    };
    for (load, stream) in streams {
        let registers = matches!(
            stream.engine.kind,
            EngineKind::IoUring(RingSettings { registered_files: Registration::Required, .. })
        );
        if registers && stream.workers.iter().any(|worker| stream.open_at_once(worker, targets).is_some()) {
            let message = format!(
                "the stream \"{}\" registers its files, of which not all are open at once",
                stream.name
            );
            let help = "leave registered_files (registerfiles) or files_at_once (openfiles) out";
            remarks.error("plan.engine-option", load.section.options.registered_files.span(), message, help);
        }
    }
    let of_kind =
        |is_it: fn(&EngineKind) -> bool| streams.iter().filter(move |(_, stream)| is_it(&stream.engine.kind));
    for (cuts, cutting) in of_kind(|kind| matches!(kind, EngineKind::Ftruncate)) {
        let cut = files(cutting);
        for (_, mapping) in of_kind(|kind| matches!(kind, EngineKind::Mmap { .. })) {
            let Some(&both) = cut.intersection(&files(mapping)).next() else { continue };
            let message = format!(
                "the stream \"{}\" cuts {} short while the stream \"{}\" maps it; an access past its end would end \
                 fathom",
                cutting.name, targets[both as usize].name, mapping.name
            );
            let help = "let them run in stages of their own or on files of their own, or use an engine other than mmap";
            remarks.error("plan.engine-operation", cuts.section.options.engine.span(), message, help);
        }
    }
}

/// Whether the shares of operations of one kind and size are whole percentages and no more than all of them.
fn split_fits(stream: &Named<StreamOptions>, remarks: &mut Remarks) -> bool {
    let options = &stream.options;
    let Some(split) = options.priority_split.get() else { return true };
    let name = &stream.name;
    let percent = |share: Ratio| share.value() * 100.0;
    let of_all = *options.priority_reads.get() > Ratio::ZERO || *options.priority_writes.get() > Ratio::ZERO;
    let all_of = |of: &PriorityPart| {
        let alike = split.0.iter().filter(|part| (part.writes, part.size) == (of.writes, of.size));
        alike.map(|part| percent(part.share)).sum::<f64>()
    };
    let fault = if of_all {
        Some((
            "has priorities for a share of all operations and for shares by size".to_owned(),
            "leave one of them out",
        ))
    } else if split.0.iter().any(|part| (percent(part.share) - percent(part.share).round()).abs() > 1e-9) {
        Some(("has a share of priorities that is no whole percentage".to_owned(), "use whole percentages"))
    } else {
        split.0.iter().find(|part| all_of(part) > 100.001).map(|part| {
            let kind = if part.writes { "writes" } else { "reads" };
            let what = format!("gives priorities to more than all of the {kind} of {}", part.size);
            (what, "make the shares of one size add up to at most 100 %")
        })
    };
    let Some((what, help)) = fault else { return true };
    let message = format!("the stream \"{name}\" {what}");
    remarks.error("plan.engine-option", options.priority_split.span(), message, help);
    false
}

fn say_priority(stream: &Named<StreamOptions>, priority: OperationPriority, remarks: &mut Remarks) {
    let OperationPriority { reads_percent, writes_percent, class, level } = priority;
    if stream.options.priority_split.get().is_some() {
        let message = format!(
            "the stream \"{}\" gives shares of its I/Os priorities of their own, by size; their latencies are kept together \
             with the others",
            stream.name
        );
        remarks.note(NoteKind::Engine, Severity::Info, message);
    }
    if reads_percent > 0 || writes_percent > 0 {
        let message = format!(
            "the stream \"{}\" gives {reads_percent} % of its reads and {writes_percent} % of its writes priority {level} of \
             class {class}; their latencies are kept together with the others",
            stream.name
        );
        remarks.note(NoteKind::Engine, Severity::Info, message);
    }
}
