//! fio's engines: what each is called in the model, whether fio holds it to one operation at a time, and which of fio's
//! options belong to it alone.

use super::super::ParsedJob;
use super::super::faults::Faults;
use super::super::grammar::{Line, shortened};
use super::super::options::{OptionRow, Status, find as row_of};
use super::super::settings::{PriorityEntry, Settings};
use fathom_model::{
    CpuWork, Engine, PriorityClass, PriorityPart, PrioritySplit, Span, StatCall, StreamOptions, nearest,
};
use fathom_units::{Bytes, Nanos, Ratio};

/// One of fio's engines.
pub(super) struct FioEngine {
    names: &'static [&'static str],
    pub(super) engine: Engine,
    /// fio's flag `FIO_SYNCIO`: whatever `iodepth` says, one operation at a time.
    pub(super) is_synchronous: bool,
    /// Options that fio knows with this engine only.
    options: &'static [&'static str],
}

impl FioEngine {
    /// Whether a further loop goes on where the one before it stopped, if the files have not ended. Observed with fio 3.33: with engines
    /// that have done an operation when it is handed to them, as null has at depth 1; the others begin anew, and so does vsync, which
    /// gathers several.
    pub(super) fn goes_on(&self, depth: u64) -> bool {
        self.is_synchronous && self.engine != Engine::Vsync || self.engine == Engine::Null && depth <= 1
    }
}

const fn waiting(names: &'static [&'static str], engine: Engine) -> FioEngine {
    FioEngine { names, engine, is_synchronous: true, options: &[] }
}

static ENGINES: &[FioEngine] = &[
    waiting(&["psync"], Engine::Psync),
    waiting(&["sync"], Engine::Sync),
    waiting(&["vsync"], Engine::Vsync),
    waiting(&["pvsync"], Engine::Pvsync),
    FioEngine {
        options: &["hipri", "hipri_percentage", "uncached", "nowait"],
        ..waiting(&["pvsync2"], Engine::Pvsync2)
    },
    FioEngine { options: &["thp"], ..waiting(&["mmap"], Engine::Mmap) },
    waiting(&["falloc"], Engine::Falloc),
    waiting(&["ftruncate"], Engine::Ftruncate),
    waiting(&["splice"], Engine::Splice),
    waiting(&["filecreate"], Engine::FileCreate),
    FioEngine { options: &["stat_type"], ..waiting(&["filestat"], Engine::FileStat) },
    waiting(&["filedelete"], Engine::FileDelete),
    waiting(&["dircreate"], Engine::DirCreate),
    FioEngine { options: &["stat_type"], ..waiting(&["dirstat"], Engine::DirStat) },
    waiting(&["dirdelete"], Engine::DirDelete),
    FioEngine {
        names: &["libaio", "linuxaio", "aio"],
        engine: Engine::Libaio,
        is_synchronous: false,
        options: &[
            "userspace_reap",
            "cmdprio_percentage",
            "cmdprio_class",
            "cmdprio",
            "cmdprio_bssplit",
            "nowait",
        ],
    },
    FioEngine {
        names: &["io_uring"],
        engine: Engine::IoUring,
        is_synchronous: false,
        options: &[
            "hipri",
            "cmdprio_percentage",
            "cmdprio_class",
            "cmdprio",
            "cmdprio_bssplit",
            "fixedbufs",
            "registerfiles",
            "sqthread_poll",
            "sqthread_poll_cpu",
            "nonvectored",
            "uncached",
            "nowait",
            "force_async",
            "cmd_type",
        ],
    },
    FioEngine {
        options: &["cpuload", "cpuchunks", "cpumode", "exit_on_io_done"],
        ..waiting(&["cpuio"], Engine::Cpu)
    },
    FioEngine {
        names: &["net", "netsplice"],
        options: &[
            "hostname",
            "port",
            "protocol",
            "proto",
            "nodelay",
            "listen",
            "pingpong",
            "interface",
            "ttl",
            "window_size",
            "mss",
        ],
        ..waiting(&[], Engine::Net)
    },
    FioEngine {
        options: &["program", "arguments", "grace_time", "std_redirect"],
        ..waiting(&["exec"], Engine::Exec)
    },
    FioEngine { names: &["posixaio"], engine: Engine::PosixAio, is_synchronous: false, options: &[] },
    FioEngine { names: &["null"], engine: Engine::Null, is_synchronous: false, options: &[] },
];

/// Engines of fio that move no bytes at storage or need what is not there yet.
const NOT_BUILT: &[&str] = &[
    "page_fault",
    "e4defrag",
    "mtd",
    "sg",
    "solarisaio",
    "windowsaio",
    "rbd",
    "rados",
    "rdma",
    "gfapi",
    "gfapi_async",
    "libhdfs",
    "http",
    "nbd",
    "nfs",
    "libiscsi",
    "libzbc",
    "libpmem",
    "pmemblk",
    "dev-dax",
    "dfs",
    "xnvme",
    "libblkio",
    "libcufile",
    "libhipfile",
    "ime",
    "spdk",
    "external",
];

fn find(name: &str) -> Option<&'static FioEngine> {
    ENGINES.iter().find(|engine| engine.names.contains(&name))
}

/// The engine of a job; one that fathom does not have is a fault, and psync stands in for it while others are looked for.
pub(super) fn of(parsed: &ParsedJob, faults: &mut Faults) -> &'static FioEngine {
    let name = parsed.settings.engine.name.as_str();
    let place = parsed.settings.span("ioengine", parsed.span);
    if let Some(engine) = find(name) {
        return engine;
    }
    let built = || ENGINES.iter().map(|engine| engine.names[0]);
    let base = name.split(':').next().unwrap_or(name);
    if name == "io_uring_cmd" {
        let message = "ioengine=io_uring_cmd is not taken: it sends commands to a character device, past the block layer, \
                       where nothing shows whether the device is in use";
        faults.error("fio.refused", place, message, "use io_uring on the block device");
    } else if NOT_BUILT.contains(&base) {
        let message = format!("ioengine={name} is known but not built yet");
        faults.error("fio.not-built", place, message, "use psync, libaio, io_uring or null");
    } else {
        let help = nearest(name, built().chain(NOT_BUILT.iter().copied())).map_or_else(
            || format!("use one of {}", built().collect::<Vec<_>>().join(", ")),
            |near| format!("did you mean {near}?"),
        );
        faults.error("fio.no-engine", place, format!("fio has no ioengine \"{}\"", shortened(name)), help);
    }
    &ENGINES[0]
}

fn takers_of(option: &str) -> impl Iterator<Item = &'static FioEngine> {
    ENGINES.iter().filter(move |engine| engine.options.contains(&option))
}

/// Whether an option belongs to engines alone, which fio looks for after all others.
pub(in super::super) fn is_private(option: &str) -> bool {
    let is_elsewhere = matches!(row_of(option), Some(OptionRow { status: Status::Elsewhere(_), .. }));
    is_elsewhere || takers_of(option).next().is_some()
}

/// The options that belong to an engine; `None` where it is not here.
pub(in super::super) fn private_options(engine: &str) -> Option<&'static [&'static str]> {
    find(engine).map(|engine| engine.options)
}

/// fio takes an engine's own options only where that engine is the section's. Observed with fio 3.33: a `[global]` section
/// without `ioengine` has psync, so that it takes none, and on a command line `--ioengine` has to come first.
pub(in super::super) fn check_private(lines: &[Line], settings: &Settings, faults: &mut Faults) {
    let engine = settings.engine.name.as_str();
    // An engine that is unknown, or not built, is a fault of its own.
    let Some(FioEngine { options, .. }) = find(engine) else { return };
    for line in lines {
        let key = line.key.as_str();
        let message = || format!("fio has no option {key} with ioengine={engine}");
        if let Some(OptionRow { status: Status::Elsewhere(takers), .. }) = row_of(key) {
            let help =
                format!("leave it out; it belongs to ioengine={}, which is not here", takers.join(" or "));
            faults.error("fio.engine-option", line.key_span, message(), help);
            continue;
        }
        let takers: Vec<&str> = takers_of(key).map(|engine| engine.names[0]).collect();
        if takers.is_empty() || options.contains(&key) {
            continue;
        }
        let message = message();
        let help = format!("leave it out, or set ioengine to {} first", takers.join(" or "));
        faults.error("fio.engine-option", line.key_span, message, help);
    }
}

/// Where a section names another engine than the one that its settings have from before, what was said there to that one alone
/// falls away (`ioengine_load` of fio 3.33): options of an engine hold as far as it does.
pub(in super::super) fn forget_of_another_engine(lines: &[Line], settings: &mut Settings) {
    let named =
        lines.iter().rev().filter(|line| line.key == "ioengine").find_map(|line| line.value.as_deref());
    let Some(named) = named else { return };
    let is_same = match (find(named), find(&settings.engine.name)) {
        // Names of one engine, but for those of connections, which fio has two of.
        (Some(one), Some(other)) if one.engine != Engine::Net => std::ptr::eq(one, other),
        _ => named == settings.engine.name,
    };
    if !is_same {
        settings.forget_private(is_private);
    }
}

/// Sets what the options of the engine itself say.
pub(super) fn set_private(
    options: &mut StreamOptions,
    engine: &FioEngine,
    settings: &Settings,
    span: Span,
    faults: &mut Faults,
) {
    let set = &settings.engine;
    let has = |name: &str| engine.options.contains(&name) && settings.has(name);
    let place = |name: &str| settings.span(name, span);
    if has("fixedbufs") {
        options.fixed_buffers.set(set.fixed_buffers, place("fixedbufs"));
    }
    if has("registerfiles") {
        options.registered_files.set(set.registered_files, place("registerfiles"));
    }
    if has("hipri") && set.polled {
        // fio's hipri_percentage is a whole number up to 100.
        options.polled.set(Ratio::percent(set.polled_percent as f64), place("hipri"));
    }
    if has("nowait") {
        options.nowait.set(set.nowait, place("nowait"));
    }
    if has("uncached") {
        options.uncached.set(set.uncached, place("uncached"));
    }
    if has("sqthread_poll") {
        options.submit_thread.set(set.submit_thread, place("sqthread_poll"));
    }
    if let Some(cpu) = set.submit_thread_cpu.filter(|_| has("sqthread_poll_cpu")) {
        if set.submit_thread {
            options.submit_thread_cpu.set(narrow(cpu), place("sqthread_poll_cpu"));
        } else {
            let message = "sqthread_poll_cpu has no effect without sqthread_poll";
            faults.warn("fio.no-effect", place("sqthread_poll_cpu"), message, "add sqthread_poll");
        }
    }
    if has("nonvectored") {
        options.vectored.set(!set.nonvectored, place("nonvectored"));
    }
    if has("force_async") && set.force_async > 0 {
        options.force_async.set(narrow(set.force_async), place("force_async"));
    }
    if has("userspace_reap") {
        options.userspace_reap.set(set.userspace_reap, place("userspace_reap"));
    }
    if has("cpuload") {
        // fio's is a whole number of percent; more than all of a CPU is all of it.
        options.cpu_load.set(Ratio::percent(set.cpu_load.min(100) as f64), place("cpuload"));
        if has("cpuchunks") {
            options.cpu_chunk.set(Nanos::micros(set.cpu_chunk), place("cpuchunks"));
        }
        if has("cpumode") && set.cpu_mode == "qsort" {
            options.cpu_work.set(CpuWork::Sort, place("cpumode"));
        }
        options.end_with_io.set(set.ends_with_io, place("exit_on_io_done"));
    }
    if has("stat_type") {
        let call = match set.stat_type.as_str() {
            "lstat" => StatCall::Lstat,
            "statx" => StatCall::Statx,
            _ => StatCall::Stat,
        };
        options.stat_call.set(call, place("stat_type"));
    }
    if has("pingpong") {
        options.ping_pong.set(set.ping_pong, place("pingpong"));
    }
    if engine.engine == Engine::Exec {
        options.program.set(set.program.clone(), place("program"));
        options.arguments.set(set.arguments.clone(), place("arguments"));
        options.program_grace.set(Nanos::secs(set.grace), place("grace_time"));
        options.program_files.set(set.program_files, place("std_redirect"));
    }
    if has("cmdprio_percentage") {
        let [reads, writes, _] = set.priority_percent.map(|percent| percent.unwrap_or(0));
        let place = place("cmdprio_percentage");
        options.priority_reads.set(Ratio::percent(reads as f64), place);
        options.priority_writes.set(Ratio::percent(writes as f64), place);
    }
    if has("cmdprio_class") {
        options.priority_class.set(class_of(set.priority_class), place("cmdprio_class"));
    }
    if has("cmdprio") {
        options.priority_level.set(narrow(set.priority_level), place("cmdprio"));
    }
    let [reads, writes] = &set.priority_split;
    if has("cmdprio_bssplit") && !(reads.is_empty() && writes.is_empty()) {
        let part = |writes: bool| {
            move |&PriorityEntry { bytes, percent, own }: &PriorityEntry| PriorityPart {
                writes,
                size: Bytes(bytes),
                share: Ratio::percent(percent as f64),
                own: own.map(|(class, level)| (class_of(class), narrow(level))),
            }
        };
        let split = reads.iter().map(part(false)).chain(writes.iter().map(part(true))).collect();
        options.priority_split.set(PrioritySplit(split), place("cmdprio_bssplit"));
    }
}

/// Whether operations of a job have I/O priorities of their own.
pub(super) fn has_priorities(settings: &Settings) -> bool {
    let set = &settings.engine;
    let has = |option: &str| find(&set.name).is_some_and(|engine| engine.options.contains(&option));
    let by_kind = set.priority_percent.iter().any(|percent| percent.is_some_and(|percent| percent > 0));
    let by_size = set.priority_split.iter().any(|part| !part.is_empty());
    (has("cmdprio_percentage") && by_kind) || (has("cmdprio_bssplit") && by_size)
}

/// By its number in `ioprio_set(2)`.
fn class_of(number: u64) -> PriorityClass {
    match number {
        1 => PriorityClass::RealTime,
        2 => PriorityClass::BestEffort,
        _ => PriorityClass::Idle,
    }
}

fn narrow(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
