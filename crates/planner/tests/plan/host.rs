//! A host made up for tests: its facts say what each path of a job is.

use fathom_model::{Job, Level};
use fathom_planner::{Plan, paths, plan};
use fathom_schema::{BlockDevice, CpuFacts, Facts, FileFact, FileKind, Filesystem, HostLimits, TargetFact};
use fathom_units::Bytes;
use std::path::{Path, PathBuf};

/// What is at a path.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Is {
    Device { size: Bytes, sector: u32 },
    File { size: Bytes },
    Absent,
    NoFolder,
    Folder,
}

pub(crate) fn fact(path: &Path, is: Is) -> TargetFact {
    let (kind, size) = match is {
        Is::Device { size, .. } => (FileKind::BlockDevice, size),
        Is::File { size } => (FileKind::File, size),
        Is::Absent => (FileKind::Absent, Bytes::ZERO),
        Is::NoFolder => (FileKind::NoFolder, Bytes::ZERO),
        Is::Folder => (FileKind::Folder, Bytes::ZERO),
    };
    TargetFact {
        path: path.to_path_buf(),
        resolved: path.to_path_buf(),
        kind,
        error: None,
        errno: None,
        filesystem: (kind != FileKind::BlockDevice).then(|| Filesystem {
            kind: "ext4".to_owned(),
            mount_point: PathBuf::from("/"),
            options: "rw".to_owned(),
            size: Bytes::gib(20_000),
            available: Bytes::gib(20_000),
            direct_align_bytes: Some(512),
            can_create: true,
        }),
        folder_made_by_fathom: false,
        file: (kind == FileKind::File).then(|| FileFact {
            size,
            written: size,
            made_by_fathom: true,
            unfinished: false,
            void_mark: None,
            writable: true,
            readable: true,
            in_use: Vec::new(),
        }),
        device: if let Is::Device { sector, .. } = is {
            Some(BlockDevice { size, logical_sector_bytes: sector, ..BlockDevice::default() })
        } else {
            None
        },
    }
}

/// Facts for all paths of a job.
pub(crate) fn facts(job: &Job, what: impl Fn(&Path) -> Is) -> Facts {
    Facts {
        host: "made-up".to_owned(),
        cpu: CpuFacts { model: String::new(), usable: (0..8).collect(), reachable: Vec::new() },
        limits: HostLimits {
            io_uring_refused: None,
            io_uring_errno: None,
            libaio_refused: None,
            libaio_errno: None,
            open_files: 1 << 20,
            locked_memory_bytes: u64::MAX,
            rings_are_locked: false,
            mappings: 65_530,
            threads: 32_768,
            aio_operations_left: Some(65_536),
        },
        page_size: Bytes::kib(4),
        memory: Bytes::gib(16),
        targets: paths(job).iter().map(|path| fact(path, what(path))).collect(),
        environment: Vec::new(),
        ceiling: None,
        traces: Vec::new(),
    }
}

/// Reads a native job; it has no faults.
pub(crate) fn read(text: &str) -> Job {
    let (job, found) = fathom_frontend::native::read("job", text);
    assert!(found.is_empty(), "{found:?}");
    job
}

/// Plans a job and gives the diagnostics as `error code` or `warning code`.
pub(crate) fn planned(job: &Job, facts: &Facts) -> (Option<Plan>, Vec<String>) {
    let (plan, found) = plan(job, facts, 7);
    let codes = found.all().iter().map(|d| match d.level {
        Level::Error => format!("error {}", d.code),
        Level::Warning => format!("warning {}", d.code),
    });
    (plan, codes.collect())
}
