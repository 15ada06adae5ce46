//! fio's engines cpuio and exec: jobs that keep CPUs busy or run a program beside others, as streams without storage. What fio's jobs say of files,
//! sizes, rates and verification means nothing to it, mostly since a `[global]` section says it for others.

use super::super::ParsedJob;
use super::super::settings::{Content, Engine, Settings};

/// Bytes of an operation, which none of them moves.
const BLOCK: u64 = 4096;

/// Whether a job has the engine.
pub(super) fn is_of(settings: &Settings) -> bool {
    settings.engine.name == "cpuio"
}

/// What fio says of such a job: percent, microseconds at a stretch, and the work.
pub(super) fn shown(settings: &Settings) -> (u64, u64, &'static str) {
    let Engine { cpu_load, cpu_chunk, cpu_mode, .. } = &settings.engine;
    ((*cpu_load).min(100), *cpu_chunk, if cpu_mode == "qsort" { "qsort" } else { "noop" })
}

/// Whether a job runs a program.
pub(super) fn is_program(settings: &Settings) -> bool {
    settings.engine.name == "exec"
}

/// The job with nothing that only storage has; `None` for other engines. One that lacks its load or its program is one that
/// cannot start, as with fio.
pub(super) fn adapted(parsed: &ParsedJob) -> Option<ParsedJob> {
    let runs = is_program(&parsed.settings);
    if !is_of(&parsed.settings) && !runs {
        return None;
    }
    let ParsedJob { name, section, span, settings, options } = parsed;
    let mut settings = settings.clone();
    settings.engine.arguments = settings.engine.arguments.replace("%n", name);
    let usual = Settings::default();
    let operations = &mut settings.operations;
    // Whatever they are called, they count as reads (fio 3.33).
    operations.rw = usual.operations.rw;
    operations.block_sizes = [(BLOCK, BLOCK); 3];
    operations.splits = usual.operations.splits;
    operations.percentage_random = [0; 3];
    operations.no_random_map = true;
    (operations.size, operations.io_size) = (None, None);
    (operations.offset, operations.offset_increment) =
        (usual.operations.offset, usual.operations.offset_increment);
    operations.postfix = None;
    settings.files = usual.files;
    settings.files.names = std::sync::Arc::new(vec![name.clone()]);
    let control = &mut settings.control;
    // As with fio 3.33: loops of so many operations follow one another, and what runs for a time counts none.
    let is_timed = control.time_based && control.runtime.is_some();
    let is_counted = !runs && !is_timed;
    control.number_ios = if is_counted { control.number_ios.saturating_mul(control.loops) } else { 0 };
    control.loops = 1;
    control.time_based = control.runtime.is_some() && control.number_ios == 0;
    let engine = &mut settings.engine;
    (engine.rate, engine.rate_iops, engine.thinktime) = (usual.engine.rate, usual.engine.rate_iops, 0);
    engine.depth = 1;
    settings.content = Content { ..usual.content };
    settings.verify = usual.verify;
    settings.demands = usual.demands;
    let (name, section) = (name.clone(), section.clone());
    Some(ParsedJob { name, section, span: *span, settings, options: options.clone() })
}
