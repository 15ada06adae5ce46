//! How a fio job's files are opened and kept, and where its buffers lie. Knows neither operations nor sizes.

use super::super::ParsedJob;
use super::super::faults::Faults;
use fathom_model::{Advice, FileLock, MemoryKind, StreamOptions};
use fathom_units::Bytes;

/// What is done with files and their cache beside the operations.
pub(super) fn set_files(options: &mut StreamOptions, parsed: &ParsedJob, is_random: bool) {
    let (settings, span) = (&parsed.settings, parsed.span);
    let files = &settings.files;
    if files.pre_read {
        options.pre_read.set(true, settings.span("pre_read", span));
    }
    let advice = match files.advice.as_str() {
        "random" => Advice::Random,
        "noreuse" => Advice::NoReuse,
        "1" if is_random => Advice::Random,
        "sequential" | "1" => Advice::Sequential,
        _ => Advice::None,
    };
    if advice != Advice::None {
        options.advice.set(advice, settings.span("fadvise_hint", span));
    }
    match files.lock.as_str() {
        "exclusive" => options.file_lock.set(FileLock::Exclusive, settings.span("lockfile", span)),
        "readwrite" => options.file_lock.set(FileLock::ReadWrite, settings.span("lockfile", span)),
        _ => {}
    }
    for (flag, name, option) in [
        (files.append, "file_append", &mut options.append),
        (files.fill, "fill_device", &mut options.until_full),
        (files.unlink_each_loop, "unlink_each_loop", &mut options.fresh_files),
        (files.create_only, "create_only", &mut options.prepare_only),
    ] {
        if flag {
            option.set(true, settings.span(name, span));
        }
    }
}

/// Where buffers lie.
pub(super) fn set_memory(options: &mut StreamOptions, parsed: &ParsedJob, faults: &mut Faults) {
    let (settings, span) = (&parsed.settings, parsed.span);
    let engine = &settings.engine;
    let place = settings.span("mem", span);
    let (word, file) = &engine.memory;
    if let Some(file) = file {
        let message = format!("mem={word}:{file} would put buffers into a file, over what it holds");
        faults.error(
            "fio.refused",
            place,
            message,
            format!("use mem={word}, or ioengine=mmap to measure mappings"),
        );
    }
    let kind = match word.as_str() {
        "shm" => MemoryKind::Segment,
        "shmhuge" => MemoryKind::SegmentHuge,
        "mmap" => MemoryKind::Mapped,
        "mmaphuge" => MemoryKind::MappedHuge,
        "mmapshared" => MemoryKind::MappedShared,
        _ => MemoryKind::Heap,
    };
    if kind != MemoryKind::Heap {
        options.memory.set(kind, place);
    }
    if engine.memory_shift > 0 {
        options.memory_shift.set(Bytes(engine.memory_shift), settings.span("iomem_align", span));
    }
    if engine.huge_page > 0 && matches!(kind, MemoryKind::MappedHuge | MemoryKind::SegmentHuge) {
        options.huge_page.set(Bytes(engine.huge_page), settings.span("hugepage-size", span));
    }
    if engine.locked > 0 {
        options.locked_memory.set(Bytes(engine.locked), settings.span("lockmem", span));
    }
}
