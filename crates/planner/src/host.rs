//! Whether the host has room for a step: open files, locked memory, memory, CPUs.
//!
//! It knows limits, not what the streams do.

use crate::remarks::Remarks;
use crate::scene::{Load, Scene};
use fathom_model::{Dialect, Span};
use fathom_schema::{
    CpuFacts, EngineKind, HostLimits, NoteKind, Registration, SHOWN_AS_READ_MAX, Severity, Stream, Submitter,
    Target, WorkerPlan, ring_bytes,
};
use fathom_units::{Bytes, saturating_sum};
use std::collections::BTreeSet;

/// Files that fathom itself holds open beside the targets: the store with its journal, standard streams, counters of
/// devices, pipes of the live view. Counted 23 at most; doubled and rounded up.
const FILES_OF_FATHOM: u64 = 64;

/// Operations that a ring of `io_uring` has room for.
const RING_ENTRIES_MAX: u32 = 32_768;

/// Mappings of a worker: its stack, the stack for signals, a guard page beside each, and its buffers.
const MAPPINGS_PER_WORKER: u64 = 5;
/// Mappings that fathom has without any worker: its program, libraries, heap and store. Counted 60; rounded up.
const MAPPINGS_OF_FATHOM: u64 = 500;
/// One of so many threads is left to everything else on the host.
const SHARE_OF_OTHERS: u64 = 8;

/// Checks a step's streams against the host's limits, and lets go of what is only an optimisation.
pub(crate) fn check(
    scene: &Scene<'_>,
    dialect: Dialect,
    streams: &mut [(&Load<'_>, &mut Stream)],
    targets: &[Target],
    remarks: &mut Remarks,
) {
    check_cpus(scene, dialect, streams, remarks);
    check_rings(streams, remarks);
    check_threads(scene, streams, remarks);
    check_open_files(scene, streams, targets, remarks);
    check_memory(scene, streams, remarks);
    check_held_memory(scene, dialect, streams, remarks);
    check_ring_memory(scene, dialect, streams, remarks);
    check_locked_memory(scene, dialect, streams, remarks);
    check_aio(scene, streams, remarks);
}

/// Contexts of Linux AIO are made for as many operations as the queue is deep, and the host has so many in all.
fn check_aio(scene: &Scene<'_>, streams: &[(&Load<'_>, &mut Stream)], remarks: &mut Remarks) {
    let Some(left) = scene.facts.limits.aio_operations_left else { return };
    let needs: Vec<(Span, u64)> = streams
        .iter()
        .filter(|(_, stream)| matches!(stream.engine.kind, EngineKind::Libaio(_)))
        .map(|(load, stream)| {
            (load.section.span, stream.workers.len() as u64 * u64::from(stream.queue_depth))
        })
        .collect();
    let needed = saturating_sum(needs.iter().map(|(_, needed)| *needed));
    if needed > left {
        let message = format!(
            "libaio needs room for {needed} operations in flight; the host has {left} left (fs.aio-max-nr)"
        );
        let help = format!(
            "raise it with: sysctl fs.aio-max-nr={}; or use fewer workers, a smaller queue_depth, or io_uring",
            needed.saturating_mul(2).next_power_of_two()
        );
        remarks.error("plan.aio-limit", largest(needs), message, help);
    }
}

fn buffers(load: &Load<'_>, stream: &Stream) -> u64 {
    let slots = stream.workers.len() as u64 * u64::from(stream.queue_depth);
    slots.saturating_mul(load.operations.largest.next_multiple_of(4096))
}

/// Whether this process may run on a CPU. Where nothing is known of the host's CPUs it may.
pub(crate) fn has_cpu(scene: &Scene<'_>, cpu: u32) -> bool {
    let CpuFacts { usable, reachable, model: _ } = &scene.facts.cpu;
    usable.is_empty() || usable.contains(&cpu) || reachable.contains(&cpu)
}

/// Rings have room for so many operations at most (`IORING_MAX_ENTRIES` in the kernel's `io_uring/io_uring.h`).
fn check_rings(streams: &[(&Load<'_>, &mut Stream)], remarks: &mut Remarks) {
    for (load, stream) in streams {
        let EngineKind::IoUring(settings) = &stream.engine.kind else { continue };
        // Where a thread of the kernel takes them, a ring has room for twice as many as are in flight.
        let (most, how) = match settings.submitter {
            Submitter::Worker => (RING_ENTRIES_MAX, ""),
            Submitter::Kernel | Submitter::KernelOn(_) => {
                (RING_ENTRIES_MAX / 2, " where a thread of the kernel submits")
            }
        };
        if stream.queue_depth > most {
            let message = format!(
                "the stream \"{}\" has queue depth {}; a ring of io_uring has room for {most}{how}",
                load.section.name, stream.queue_depth
            );
            let help =
                format!("use a queue_depth of {most} or less with more workers, or engine = \"libaio\"");
            remarks.error("plan.ring-depth", load.section.options.queue_depth.span(), message, help);
        }
    }
}

fn check_cpus(
    scene: &Scene<'_>,
    dialect: Dialect,
    streams: &[(&Load<'_>, &mut Stream)],
    remarks: &mut Remarks,
) {
    let usable = &scene.facts.cpu.usable;
    // What waits in virtual time waits for no CPU.
    let real = streams.iter().filter(|(_, stream)| stream.engine.kind != EngineKind::Sim);
    let workers: usize = real.map(|(_, stream)| stream.workers.len()).sum();
    if !usable.is_empty() && workers > usable.len() {
        let message = format!(
            "{workers} workers share {} CPUs, so that some wait for one while their operations are done, which counts as \
             latency, and at a rate goes out late; fewer workers with a larger queue_depth each do not",
            usable.len()
        );
        // With fio a job of its own for each operation in flight is how its synchronous engines are used.
        let severity = if dialect == Dialect::Native { Severity::Warn } else { Severity::Info };
        remarks.note(NoteKind::Job, severity, message);
    }
    for (load, _) in streams {
        let cpus = load.section.options.cpus.get().into_iter().flatten();
        if let Some(cpu) = cpus.copied().find(|&cpu| !has_cpu(scene, cpu)) {
            let reachable = &scene.facts.cpu.reachable;
            let known = if reachable.is_empty() { usable } else { reachable };
            let message = format!(
                "the stream \"{}\" asks for CPU {cpu}; its threads may run on {}, numbered {} to {}",
                load.section.name,
                match known.len() {
                    1 => "one CPU".to_owned(),
                    count => format!("{count} CPUs"),
                },
                known.iter().min().unwrap_or(&0),
                known.iter().max().unwrap_or(&0)
            );
            let help = "name CPUs that are online and that the control group has (cpuset)";
            remarks.error("plan.cpu", load.section.options.cpus.span(), message, help);
        }
    }
}

/// Every worker is a thread with a stack, a guard page, an alternate stack for signals with its guard page, and buffers.
fn check_threads(scene: &Scene<'_>, streams: &[(&Load<'_>, &mut Stream)], remarks: &mut Remarks) {
    let count = |stream: &Stream| stream.workers.len() as u64;
    let workers: u64 = streams.iter().map(|(_, stream)| count(stream)).sum();
    let place = || largest(streams.iter().map(|(load, stream)| (load.section.span, count(stream))));
    let HostMost { threads, mappings } = HostMost::of(&scene.facts.limits);
    let help = "use fewer workers with a larger queue depth; or raise";
    if workers > threads {
        let message = format!("the step has {workers} workers; {threads} more threads may run on this host");
        let help = format!("{help} ulimit -u, kernel.threads-max and kernel.pid_max (sysctl)");
        remarks.error("plan.threads", place(), message, help);
    } else if workers.saturating_mul(MAPPINGS_PER_WORKER) > mappings {
        let most = mappings / MAPPINGS_PER_WORKER;
        let message = format!("the step has {workers} workers; the kernel has room for the memory of {most}");
        let needed = workers * MAPPINGS_PER_WORKER + MAPPINGS_OF_FATHOM;
        remarks.error(
            "plan.threads",
            place(),
            message,
            format!("{help} it: sysctl vm.max_map_count={needed}"),
        );
    }
}

/// What is left of the host's limits for workers.
struct HostMost {
    threads: u64,
    mappings: u64,
}

impl HostMost {
    fn of(limits: &HostLimits) -> Self {
        let left = |most: u64, taken: u64| if most == 0 { u64::MAX } else { most.saturating_sub(taken) };
        Self {
            threads: left(limits.threads, limits.threads / SHARE_OF_OTHERS),
            mappings: left(limits.mappings, MAPPINGS_OF_FATHOM),
        }
    }
}

fn check_open_files(
    scene: &Scene<'_>,
    streams: &[(&Load<'_>, &mut Stream)],
    targets: &[Target],
    remarks: &mut Remarks,
) {
    let limit = scene.facts.limits.open_files;
    let of_worker = |stream: &Stream, worker: &WorkerPlan| {
        let of_ring = u64::from(matches!(stream.engine.kind, EngineKind::IoUring(_)));
        let all = || worker.extents.iter().map(|extent| extent.target).collect::<BTreeSet<_>>().len() as u64;
        // A file that takes the place of another is open before that one is closed.
        of_ring + stream.open_at_once(worker, targets).map_or_else(all, |open| u64::from(open) + 1)
    };
    let real = streams.iter().filter(|(_, stream)| stream.engine.kind.opens_targets());
    let of_stream = |stream: &Stream| stream.workers.iter().map(|worker| of_worker(stream, worker)).sum();
    let of_streams: Vec<(Span, u64)> =
        real.clone().map(|(load, stream)| (load.section.span, of_stream(stream))).collect();
    let files: u64 = of_streams.iter().map(|(_, files)| files).sum();
    // Each that is written is held once more, locked against other runs; so many of the others are shown to them as being
    // read. Not so what is open in turn.
    let (mut written, mut read) = (BTreeSet::new(), BTreeSet::new());
    for (_, stream) in real.clone() {
        let changes = stream.changes();
        let open = stream.workers.iter().filter(|worker| stream.open_at_once(worker, targets).is_none());
        for target in open.flat_map(|worker| &worker.extents).map(|extent| extent.target) {
            let is_written = changes && stream.changes_target(target as usize);
            if is_written { &mut written } else { &mut read }.insert(target);
        }
    }
    let shown = read.difference(&written).count().min(SHOWN_AS_READ_MAX);
    let held = (written.len() + shown) as u64;
    let needed = files.saturating_add(held).saturating_add(FILES_OF_FATHOM);
    if limit > 0 && needed > limit {
        let message = format!("the step needs {needed} open files; the limit of this process is {limit}");
        // A synchronous engine has a worker for each place in a queue, with files of its own.
        let mut rings =
            real.clone().filter(|(_, stream)| matches!(stream.engine.kind, EngineKind::IoUring(_)));
        let spares = rings.clone().next().is_some() && rings.all(|(_, stream)| stream.queue_depth == 1);
        let spare = if spares { ", or engine = \"psync\", which needs one less for each worker" } else { "" };
        let help = format!(
            "raise it with: ulimit -n {needed} (above the hard limit as root; LimitNOFILE={needed} for a \
             service); or use fewer \
             workers or files, or files_at_once (openfiles){spare}"
        );
        remarks.error("plan.open-files", largest(of_streams), message, help);
    }
}

/// The place of what needs most of all.
fn largest(needs: impl IntoIterator<Item = (Span, u64)>) -> Option<Span> {
    needs.into_iter().max_by_key(|&(_, needed)| needed).map(|(span, _)| span)
}

fn check_memory(scene: &Scene<'_>, streams: &[(&Load<'_>, &mut Stream)], remarks: &mut Remarks) {
    let needed = streams.iter().fold(0_u64, |sum, (load, stream)| sum.saturating_add(buffers(load, stream)));
    let memory = scene.facts.memory;
    if memory > Bytes::ZERO && needed > memory.0 {
        let message = format!(
            "the buffers of the step need {}, more than the host's memory of {}",
            Bytes(needed).approximate(),
            memory.approximate()
        );
        let help = "use fewer workers, a smaller queue_depth or a smaller block_size";
        let place = largest(streams.iter().map(|(load, stream)| (load.section.span, buffers(load, stream))));
        remarks.error("plan.memory", place, message, help);
    }
}

/// How to be allowed so much locked memory; the shell counts it in KiB.
fn raise_locked(bytes: u64) -> String {
    format!(
        "raise it with: ulimit -l {} (above the hard limit as root; LimitMEMLOCK={bytes} for a service)",
        bytes.div_ceil(1024)
    )
}

/// Memory that a native job wants held has to fit. One of fio is told by its job, as there.
fn check_held_memory(
    scene: &Scene<'_>,
    dialect: Dialect,
    streams: &[(&Load<'_>, &mut Stream)],
    remarks: &mut Remarks,
) {
    let (limit, memory) = (scene.facts.limits.locked_memory_bytes, scene.facts.memory);
    let held = |stream: &Stream| stream.engine.memory.locked.0.saturating_mul(stream.workers.len() as u64);
    let needed = streams.iter().fold(0_u64, |sum, (_, stream)| sum.saturating_add(held(stream)));
    // Who may lock without a limit has no more than there is.
    let is_beyond_memory = memory > Bytes::ZERO && needed > memory.0;
    if (needed <= limit && !is_beyond_memory) || dialect != Dialect::Native {
        return;
    }
    let needs = format!("the memory that is held needs {} of locked memory", Bytes(needed).approximate());
    let (message, help) = if is_beyond_memory {
        let message = format!("{needs}, more than the host's memory of {}", memory.approximate());
        (message, "ask for less: each worker holds that much".to_owned())
    } else {
        let message = format!("{needs}; the limit of this process is {}", Bytes(limit).approximate());
        (message, format!("{}, or ask for less", raise_locked(needed)))
    };
    let place = streams.iter().max_by_key(|(_, stream)| held(stream));
    let place = place.and_then(|(load, _)| load.section.options.locked_memory.span());
    remarks.error("plan.locked-memory", place, message, help);
}

/// Memory of the rings of a stream's workers.
fn of_rings(stream: &Stream) -> u64 {
    match &stream.engine.kind {
        EngineKind::IoUring(ring) => {
            ring_bytes(ring.entries(stream.queue_depth)).saturating_mul(stream.workers.len() as u64)
        }
        _ => 0,
    }
}

/// Rings count as locked memory with some kernels. One of fio is told by its job, as there.
fn check_ring_memory(
    scene: &Scene<'_>,
    dialect: Dialect,
    streams: &[(&Load<'_>, &mut Stream)],
    remarks: &mut Remarks,
) {
    let limits = &scene.facts.limits;
    if !limits.rings_are_locked || dialect != Dialect::Native {
        return;
    }
    let needed = saturating_sum(streams.iter().map(|(_, stream)| of_rings(stream)));
    if needed <= limits.locked_memory_bytes {
        return;
    }
    let message = format!(
        "the rings of io_uring need {} of locked memory; the limit of this process is {}",
        Bytes(needed).approximate(),
        Bytes(limits.locked_memory_bytes).approximate()
    );
    let place = largest(streams.iter().map(|(load, stream)| (load.section.span, of_rings(stream))));
    let help = format!(
        "{}; or use fewer workers, a smaller queue_depth, or engine = \"libaio\" or \"psync\"",
        raise_locked(needed)
    );
    remarks.error("plan.locked-memory", place, message, help);
}

/// Registered buffers count against `RLIMIT_MEMLOCK`. They are an optimisation: where the user did not ask for them they
/// are left out, with a note.
fn check_locked_memory(
    scene: &Scene<'_>,
    dialect: Dialect,
    streams: &mut [(&Load<'_>, &mut Stream)],
    remarks: &mut Remarks,
) {
    let registers = |stream: &Stream| matches!(stream.engine.kind, EngineKind::IoUring(ring) if ring.fixed_buffers != Registration::Never);
    let limit = scene.facts.limits.locked_memory_bytes;
    let of_buffers = saturating_sum(
        streams.iter().filter(|(_, stream)| registers(stream)).map(|(load, stream)| buffers(load, stream)),
    );
    // Where rings are counted as well, all of them have to be locked beside the buffers.
    let rings = saturating_sum(streams.iter().map(|(_, stream)| of_rings(stream)));
    let rings = if scene.facts.limits.rings_are_locked { rings } else { 0 };
    let needed = of_buffers.saturating_add(rings);
    // Rings that have no room by themselves are told of as that.
    if of_buffers == 0 || needed <= limit || rings > limit {
        return;
    }
    let figures = format!(
        "registered buffers need {} of locked memory{}; the limit of this process is {}",
        Bytes(of_buffers).approximate(),
        if rings > 0 { format!(", beside {} for rings", Bytes(rings).approximate()) } else { String::new() },
        Bytes(limit).approximate()
    );
    for (load, stream) in streams {
        let asked = load.section.options.fixed_buffers.given() == Some(&true);
        if asked && dialect == Dialect::Native && registers(stream) {
            let help = format!("{}, or use fixed_buffers = false", raise_locked(needed));
            remarks.error(
                "plan.locked-memory",
                load.section.options.fixed_buffers.span(),
                figures.clone(),
                help,
            );
        } else if let EngineKind::IoUring(ring) = &mut stream.engine.kind
            && ring.fixed_buffers != Registration::Never
        {
            ring.fixed_buffers = Registration::Never;
            if asked {
                let span = load.section.options.fixed_buffers.span();
                let help = format!("{}, or leave fixedbufs out", raise_locked(needed));
                remarks.warn("plan.locked-memory", span, format!("{figures}, so they are not"), help);
            }
            remarks.note(NoteKind::Engine, Severity::Info, format!("buffers are not registered: {figures}"));
        }
    }
}
