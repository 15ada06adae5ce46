//! fio's engines that work on the names of files and folders (filecreate and its kin), as jobs of one operation per file.
//!
//! fio makes its call when it opens a file for the first time in a pass and then counts an I/O for each block of the file
//! without doing anything, so that only the calls have latencies. Here the call is the operation; the blocks come back when
//! fio's report is written. Observed with fio 3.33.

use super::super::ParsedJob;
use super::super::extras::Measures;
use super::super::faults::Faults;
use super::super::settings::Settings;
use super::super::values::Size;
use fathom_model::BLOCK_SIZE_MAX;
use fathom_units::Bytes;

/// The engines, and whether fio lays files out for them, for which it wants a size.
const ENGINES: [(&str, bool); 6] = [
    ("filecreate", false),
    ("filestat", true),
    ("filedelete", true),
    ("dircreate", false),
    ("dirstat", false),
    ("dirdelete", false),
];

/// The job with one operation for each file, and what fio counts for one: I/Os, and bytes of each. `None` for other engines.
pub(super) fn adapted(parsed: &ParsedJob, faults: &mut Faults) -> Option<(ParsedJob, (u64, u64))> {
    let name = parsed.settings.engine.name.as_str();
    let (_, needs_size) = ENGINES.into_iter().find(|(engine, _)| *engine == name)?;
    let ParsedJob { name: job, section, span, settings, options } = parsed;
    let mut settings = settings.clone();
    let place = |option: &str| parsed.settings.span(option, *span);
    let rw = settings.operations.rw.clone();
    let direction = usize::from(rw.ends_with("write"));
    if !matches!(rw.as_str(), "read" | "write" | "randread" | "randwrite") {
        let message = format!("rw={rw} with ioengine={name}: its calls are counted as reads or as writes");
        faults.error("fio.refused", place("rw"), message, "use rw=read or rw=write");
    }
    let (block, largest) = settings.operations.block_sizes[direction];
    if block != largest || !settings.operations.splits[direction].is_empty() {
        let message = format!("ioengine={name} works on names; blocks of several sizes mean nothing there");
        let option = if settings.has("bssplit") { "bssplit" } else { "bsrange" };
        faults.error("fio.refused", place(option), message, "use bs with one size");
    }
    // fio makes its headers all the same, and finds nothing to compare.
    if settings.verify.kind != Settings::default().verify.kind {
        let message = format!(
            "verify has no effect with ioengine={name}, which writes nothing that could be read back"
        );
        faults.warn("fio.no-effect", place("verify"), message, "leave it out");
    }
    settings.verify = Settings::default().verify;
    let files = settings.files.count.max(1);
    let file = match (settings.files.filesize, settings.operations.size) {
        (Some((low, high)), _) => {
            if low < high {
                let message = format!("filesize={low}-{high} with ioengine={name}, which looks into no file");
                faults.error("fio.refused", place("filesize"), message, "give all files one size");
            }
            low
        }
        (None, Some(Size::Bytes(size))) if size > 0 => size / files,
        _ => {
            if needs_size {
                let message = format!("ioengine={name} needs a size, as fio does");
                faults.error("fio.contradiction", place("ioengine"), message, "add filesize=4k");
            }
            settings.operations.size = Some(Size::Bytes(block.saturating_mul(files)));
            block
        }
    };
    let blocks = (file / block.max(1)).max(1);
    let bytes = if file < block && file > 0 { file } else { block };
    let mut operation = blocks.saturating_mul(bytes);
    if operation > BLOCK_SIZE_MAX.0 {
        let message = format!(
            "files of {} with ioengine={name} are larger than {BLOCK_SIZE_MAX}, the most that one operation stands for",
            Bytes(file)
        );
        faults.error("fio.refused", place("filesize"), message, "make them smaller; the call is the same");
        operation = block;
    }
    let operations = &mut settings.operations;
    operations.block_sizes = [(operation, operation); 3];
    operations.percentage_random = [0; 3];
    operations.no_random_map = true;
    operations.postfix = None;
    if blocks > 1 {
        // fio goes round the files block by block, so that a few I/Os are enough to meet all of them.
        settings.control.number_ios = settings.control.number_ios.min(files);
        for kind in 0..3 {
            if let Some(iops) = settings.engine.rate_iops[kind].take() {
                settings.engine.rate[kind] = Some(iops.saturating_mul(block));
            }
        }
    }
    let adapted = ParsedJob {
        name: job.clone(),
        section: section.clone(),
        span: *span,
        settings,
        options: options.clone(),
    };
    Some((adapted, (blocks, bytes)))
}

/// Whether fio takes an engine for one that has no disk under it: its reports then say nothing of devices.
pub(super) fn is_diskless(engine: &str) -> bool {
    let has_none = matches!(engine, "net" | "netsplice" | "exec");
    has_none || ENGINES.into_iter().any(|(name, needs_size)| name == engine && !needs_size)
}

/// What fio measures of such a job: the calls, and no latency of I/Os.
pub(super) fn measured(of: Measures) -> Measures {
    Measures { submission: false, service: false, ..of }
}
