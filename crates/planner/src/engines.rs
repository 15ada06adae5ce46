//! Which engine a stream gets and whether it passes the page cache by.
//!
//! The choice is made here once, from facts; what could not be had is an error when it was asked for and a note when it
//! was fathom's own wish.

mod settings;

pub(crate) use settings::{get_along, sized_priorities};

use crate::peers;
use crate::programs;
use crate::remarks::Remarks;
use crate::scene::{Load, Scene};
use crate::targets::{Addressed, Class, Direct};
use fathom_model::{CpuWork, Engine, Named, StatCall, StreamOptions};
use fathom_schema::{
    self as schema, EngineKind, EngineSettings, IoMode, NameOperation, NoteKind, Pacing, Severity, Think,
    ring_bytes,
};
use fathom_units::{Bytes, Nanos, Ratio};

/// Error code: the host does not have the engine that was asked for.
pub const ENGINE_UNAVAILABLE: &str = "plan.engine-unavailable";

/// Whether the stream uses direct I/O; `None` when it was asked for and is refused.
pub(crate) fn mode(
    stream: &Named<StreamOptions>,
    targets: &[&Addressed],
    remarks: &mut Remarks,
) -> Option<IoMode> {
    let direct = &stream.options.direct;
    let opened: Vec<&&Addressed> =
        targets.iter().filter(|target| target.direct != Direct::Substitute).collect();
    let opens_nothing = matches!(stream.options.engine.get(), Engine::Null | Engine::Net | Engine::Exec)
        || of_names(&stream.options).is_some();
    if opened.is_empty() || opens_nothing {
        let is_direct = direct.get() == Some(&true) && *stream.options.engine.get() != Engine::Net;
        return Some(if is_direct { IoMode::Direct } else { IoMode::Buffered });
    }
    if *stream.options.engine.get() == Engine::Mmap {
        if direct.get() == Some(&true) {
            let message = format!(
                "the stream \"{}\" goes through the page cache, as every mapping does: each operation is followed by msync \
                 in place of direct I/O",
                stream.name
            );
            remarks.note(NoteKind::Engine, Severity::Warn, message);
        }
        return Some(IoMode::Buffered);
    }
    let refused = opened.iter().find_map(|target| match &target.direct {
        Direct::Refused(by) => Some((&target.name, by)),
        Direct::Aligned(_) | Direct::Substitute => None,
    });
    match (direct.get(), refused) {
        (Some(false), _) => Some(IoMode::Buffered),
        (Some(true) | None, None) => Some(IoMode::Direct),
        (Some(true), Some((name, by))) => {
            let message = format!("direct I/O on {name} is refused by {by}");
            remarks.error(
                "plan.direct-refused",
                direct.span(),
                message,
                "use it through the page cache, with direct off, or name another filesystem",
            );
            None
        }
        (None, Some((name, by))) => {
            let message = format!("{name} is used through the page cache: {by} refuses direct I/O");
            remarks.note(NoteKind::Target, Severity::Warn, message);
            Some(IoMode::Buffered)
        }
    }
}

/// What a stream does to names, where its engine works on names alone.
pub(crate) fn of_names(options: &StreamOptions) -> Option<NameOperation> {
    let call = match options.stat_call.get() {
        StatCall::Stat => schema::StatCall::Stat,
        StatCall::Lstat => schema::StatCall::Lstat,
        StatCall::Statx => schema::StatCall::Statx,
    };
    match options.engine.get() {
        Engine::FileCreate => Some(NameOperation::CreateFile),
        Engine::FileStat => Some(NameOperation::StatFile(call)),
        Engine::FileDelete => Some(NameOperation::RemoveFile),
        Engine::DirCreate => Some(NameOperation::CreateFolder),
        Engine::DirStat => Some(NameOperation::StatFolder(call)),
        Engine::DirDelete => Some(NameOperation::RemoveFolder),
        _ => None,
    }
}

/// The engine of a stream; `None` when the one asked for cannot be had.
pub(crate) fn engine(
    scene: &Scene<'_>,
    load: &Load<'_>,
    targets: &[&Addressed],
    mode: IoMode,
    remarks: &mut Remarks,
) -> Option<EngineKind> {
    let kind = choose(scene, load, targets, mode, remarks)?;
    let fits = settings::fits(scene, load.section, kind, mode, remarks);
    (fits & settings::has_operations(load, kind, targets, remarks)).then_some(kind)
}

fn choose(
    scene: &Scene<'_>,
    load: &Load<'_>,
    targets: &[&Addressed],
    mode: IoMode,
    remarks: &mut Remarks,
) -> Option<EngineKind> {
    let stream = load.section;
    let asked = *stream.options.engine.get();
    let span = stream.options.engine.span();
    let is = |class| targets.iter().filter(|target| target.class == class).count();
    let substitutes = is(Class::Null) + is(Class::Sim);
    let most = is(Class::Null).max(is(Class::Sim)).max(is(Class::Peer));
    if substitutes + is(Class::Peer) > 0 && most < targets.len() {
        let message =
            format!("the stream \"{}\" mixes real, null or simulated targets, or peers", stream.name);
        remarks.error("plan.mixed-targets", Some(stream.span), message, "use one stream for each kind");
        return None;
    }
    if asked == Engine::Net || is(Class::Peer) > 0 {
        return peers::engine(load, is(Class::Peer), remarks);
    }
    if asked == Engine::Exec {
        return programs::engine(stream, is(Class::Null) == targets.len(), remarks);
    }
    if asked == Engine::Cpu {
        return spin(stream, is(Class::Null) == targets.len(), remarks);
    }
    if substitutes > 0 {
        return substitute(stream, is(Class::Null) > 0, remarks);
    }
    let limits = &scene.facts.limits;
    let io_uring =
        EngineKind::IoUring(settings::of_ring(&stream.options, mode, load.operations.workload.largest()));
    let refused = |engine: &str, reason: &str, remarks: &mut Remarks| {
        let message = format!("the engine {engine} cannot be used on this host: {reason}");
        remarks.error(ENGINE_UNAVAILABLE, span, message, "leave engine out, or name psync");
        None
    };
    match asked {
        Engine::Null => Some(EngineKind::Null),
        Engine::Cpu | Engine::Net | Engine::Exec => unreachable!("returned above"),
        Engine::Psync => Some(EngineKind::Psync),
        Engine::Sync => Some(EngineKind::Sync),
        Engine::Vsync => Some(EngineKind::Vsync),
        Engine::Pvsync => Some(EngineKind::Pvsync),
        Engine::Pvsync2 => Some(EngineKind::Pvsync2(settings::of_calls(&stream.options))),
        Engine::Falloc => Some(EngineKind::Falloc),
        Engine::Ftruncate => Some(EngineKind::Ftruncate),
        Engine::Splice => Some(EngineKind::Splice),
        Engine::FileCreate
        | Engine::FileStat
        | Engine::FileDelete
        | Engine::DirCreate
        | Engine::DirStat
        | Engine::DirDelete => of_names(&stream.options).map(EngineKind::Names),
        Engine::Mmap => Some(EngineKind::Mmap {
            write_through: stream.options.direct.get() == Some(&true),
            random_access: load.operations.random,
        }),
        Engine::PosixAio => {
            let kind = automatic(scene, stream, io_uring, mode, remarks);
            let message = format!(
                "the stream \"{}\" asks for posixaio and has {}: the C library's own would be threads that wait for \
                 one another",
                stream.name,
                kind.name()
            );
            remarks.note(NoteKind::Engine, Severity::Warn, message);
            Some(kind)
        }
        Engine::Sim => {
            let message =
                format!("the stream \"{}\" has the sim engine, but its target is real", stream.name);
            remarks.error("plan.sim-target", span, message, "use a target with kind = \"sim\"");
            None
        }
        Engine::IoUring => match &limits.io_uring_refused {
            None => Some(io_uring),
            Some(reason) => refused("io_uring", reason, remarks),
        },
        Engine::Libaio => match &limits.libaio_refused {
            Some(reason) => refused("libaio", reason, remarks),
            None => {
                if mode == IoMode::Buffered {
                    let message = "libaio through the page cache does one operation at a time".to_owned();
                    remarks.warn(
                        "plan.buffered-libaio",
                        span,
                        message,
                        "use direct I/O, or the engine io_uring",
                    );
                }
                Some(EngineKind::Libaio(settings::of_aio(&stream.options)))
            }
        },
        Engine::Auto => Some(automatic(scene, stream, io_uring, mode, remarks)),
    }
}

/// The only engine that runs a target that is no storage; `None` when another one is asked for.
fn substitute(stream: &Named<StreamOptions>, is_null: bool, remarks: &mut Remarks) -> Option<EngineKind> {
    let (asked, span) = (*stream.options.engine.get(), stream.options.engine.span());
    let (kind, fits) =
        if is_null { (EngineKind::Null, Engine::Null) } else { (EngineKind::Sim, Engine::Sim) };
    if asked != Engine::Auto && asked != fits {
        let message = format!(
            "the stream \"{}\" asks for the engine {}, and only {} can run its target, which is no storage",
            stream.name,
            asked.word(),
            fits.word()
        );
        let help = "leave engine out, or name a file or a block device as target";
        remarks.error("plan.engine-and-target", span.or(Some(stream.span)), message, help);
        return None;
    }
    Some(kind)
}

/// The engine that keeps CPUs busy; `None` where it has storage for a target or does not know how busy.
fn spin(stream: &Named<StreamOptions>, is_of_nothing: bool, remarks: &mut Remarks) -> Option<EngineKind> {
    let options = &stream.options;
    let name = &stream.name;
    let load = options.cpu_load.get().copied().unwrap_or(Ratio::ZERO);
    let (code, message, help) = if !is_of_nothing {
        let message = format!("the stream \"{name}\" keeps CPUs busy and has a target that is storage");
        ("plan.engine-option", message, "give it a target with kind = \"null\"")
    } else if load <= Ratio::ZERO {
        let message = format!("the stream \"{name}\" does not say how busy it keeps its CPU");
        ("plan.no-cpu-load", message, "add cpu_load = \"50%\" (cpuload=50 in jobs of fio)")
    } else if *options.cpu_chunk.get() == Nanos::ZERO {
        let message = format!("the stream \"{name}\" is busy for no time at a stretch");
        ("plan.engine-option", message, "make cpu_chunk at least 1us")
    } else {
        return Some(EngineKind::Spin {
            chunk_ns: options.cpu_chunk.get().0,
            sorts: *options.cpu_work.get() == CpuWork::Sort,
        });
    };
    remarks.error(code, options.engine.span().or(Some(stream.span)), message, help);
    None
}

/// Busy for a while, then a pause that makes the share what was asked for: fio's `cpuchunks` × (100 − `cpuload`) /
/// `cpuload`. 50 ms at 25 % have 150 ms between them.
pub(crate) fn pauses_between(options: &StreamOptions, chunk_ns: u64) -> Pacing {
    let load = options.cpu_load.get().copied().unwrap_or(Ratio::ONE);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive; what is too long is cut"
    )]
    let pause_ns = (chunk_ns as f64 * load.rest().value() / load.value()) as u64;
    let think = if pause_ns == 0 {
        Think::None
    } else {
        Think::Every { operations: 1, pause_ns, by_issue: false, after_ns: u64::MAX, spin_ns: 0 }
    };
    Pacing::Closed { think }
}

/// Why the rings of a stream cannot be made, where the kernel counts them as locked memory.
fn no_room_for_rings(scene: &Scene<'_>, stream: &Named<StreamOptions>, kind: EngineKind) -> Option<String> {
    let (limits, options) = (&scene.facts.limits, &stream.options);
    let EngineKind::IoUring(ring) = kind else { return None };
    let (depth, workers) = (*options.queue_depth.get(), *options.workers.get());
    let needed = ring_bytes(ring.entries(depth)).saturating_mul(u64::from(workers));
    (limits.rings_are_locked && needed > limits.locked_memory_bytes).then(|| {
        format!(
            "its rings need {} of locked memory, and the limit of this process is {}",
            Bytes(needed).approximate(),
            Bytes(limits.locked_memory_bytes).approximate()
        )
    })
}

/// `io_uring` where it works, else Linux AIO where that is asynchronous, else plain system calls; a note says why not.
fn automatic(
    scene: &Scene<'_>,
    stream: &Named<StreamOptions>,
    io_uring: EngineKind,
    mode: IoMode,
    remarks: &mut Remarks,
) -> EngineKind {
    let limits = &scene.facts.limits;
    let reason = limits.io_uring_refused.clone().or_else(|| no_room_for_rings(scene, stream, io_uring));
    let Some(reason) = reason else { return io_uring };
    let (kind, name, also) = match (&limits.libaio_refused, mode) {
        (None, IoMode::Direct) => {
            (EngineKind::Libaio(settings::of_aio(&stream.options)), "libaio", String::new())
        }
        (None, IoMode::Buffered) => {
            (EngineKind::Psync, "psync", "; libaio needs direct I/O to be asynchronous".to_owned())
        }
        (Some(reason), _) => (EngineKind::Psync, "psync", format!("; libaio cannot be used: {reason}")),
    };
    let message = format!("{name} is used because io_uring cannot be: {reason}{also}");
    remarks.note(NoteKind::Engine, Severity::Warn, message);
    kind
}
/// How operations go down that come at a rate: through the cache, libaio does each while it is handed over, and those behind it in a batch
/// would wait for it as if the device took that long.
pub(crate) fn batched(settings: EngineSettings, pacing: &Pacing) -> EngineSettings {
    let is_done_there = matches!(settings.kind, EngineKind::Libaio(_)) && settings.mode == IoMode::Buffered;
    let is_paced = matches!(pacing, Pacing::Open { .. });
    if settings.exact_batches || !is_done_there || !is_paced {
        return settings;
    }
    EngineSettings { batch_submit: 1, exact_batches: true, ..settings }
}
