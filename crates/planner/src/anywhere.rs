//! What planning would say on any host: a job is planned on one where nothing is missing, so that whatever is wrong then
//! is wrong with the job. It keeps no plan and knows no host.

use crate::links::Links;
use crate::traces::{imagined, traces, with_traces};
use crate::{engines, files, paths, plan};
use fathom_model::{Diagnostics, Job, Named, StreamOptions, TargetKind};
use fathom_schema::{
    BlockDevice, Facts, FileFact, FileKind, Filesystem, HostLimits, NameOperation, TargetFact, TraceFact,
};
use fathom_units::Bytes;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Size of what the job does not say a size of: beyond any device, so that no region in bytes is past its end, and below
/// the 2^63 bytes that an offset of the system calls can be.
const SIZE_UNTOLD: Bytes = Bytes(1 << 60);

/// All that is wrong with a job whatever the host: what [`fathom_model::check`] finds and, when that is no error, what
/// planning says of every point of its sweeps: regions past the end of sizes that the job gives, blocks larger than
/// their region, options without effect, sections that nothing uses.
pub fn check(job: &Job) -> Diagnostics {
    let traces: Vec<TraceFact> = traces(job).iter().map(imagined).collect();
    let (job, mut found) = with_traces(job, &traces);
    let (_, planned) = plan(&job, &Facts { traces, ..ideal(&job) }, 0);
    found.extend(planned);
    // A walk, or a list of blocks that come back, has room for so many; how many a device has nobody said.
    let is_untold = job.targets.iter().any(|target| target.options.size.get().is_none());
    let walks_too_far = is_untold && found.all().iter().any(|one| one.code == "plan.locality");
    let appends = job.streams.iter().any(|stream| *stream.options.append.get());
    found.retain(|one| match one.code {
        // What takes memory takes it for what the target's size is, of what the host has.
        "plan.map-too-large" | "plan.verify-memory" => false,
        "plan.locality" if is_untold => false,
        // A point that was not planned for that has no maximum.
        "plan.no-maximum" => !walks_too_far,
        // Regions that begin where a file ends begin where that is.
        "plan.past-end" => !appends,
        _ => true,
    });
    found
}

/// A host with every engine, where every target is there, as large as the job says, and takes any alignment.
fn ideal(job: &Job) -> Facts {
    let targets = job.targets.iter().filter(|target| *target.options.kind.get() == TargetKind::Block);
    let devices: BTreeSet<PathBuf> = targets
        .flat_map(|target| target.options.path.get().into_iter().flatten())
        .map(PathBuf::from)
        .collect();
    let folders = folders(job);
    let fact = |path: &Path| {
        let is_device = devices.contains(path);
        let kind = match (is_device, folders.contains(path)) {
            (true, _) => FileKind::BlockDevice,
            (false, true) => FileKind::Folder,
            (false, false) => FileKind::File,
        };
        TargetFact {
            path: path.to_owned(),
            resolved: path.to_owned(),
            kind,
            error: None,
            errno: None,
            filesystem: (!is_device).then(filesystem),
            file: (kind == FileKind::File).then(file),
            folder_made_by_fathom: true,
            device: is_device.then(device),
        }
    };
    Facts {
        limits: HostLimits { locked_memory_bytes: u64::MAX, ..HostLimits::default() },
        targets: paths(job).iter().map(|path| fact(path)).collect(),
        ..Facts::default()
    }
}

/// Paths whose names streams use as those of folders, and roots of trees.
fn folders(job: &Job) -> BTreeSet<PathBuf> {
    let of_folders = |stream: &Named<StreamOptions>| {
        engines::of_names(&stream.options).is_some_and(NameOperation::is_of_folders)
    };
    let links = Links::of(job);
    let streams = (0..job.streams.len()).filter(|&stream| of_folders(&job.streams[stream]));
    let targets: BTreeSet<usize> = streams.flat_map(|stream| links.targets_of(stream)).collect();
    let named = targets.into_iter().flat_map(|target| files::items(&links, target));
    named.filter_map(|item| item.path).chain(job.targets.iter().filter_map(files::root)).collect()
}

fn file() -> FileFact {
    FileFact {
        size: SIZE_UNTOLD,
        written: SIZE_UNTOLD,
        made_by_fathom: true,
        unfinished: false,
        void_mark: None,
        writable: true,
        readable: true,
        in_use: Vec::new(),
    }
}

fn filesystem() -> Filesystem {
    Filesystem {
        kind: String::new(),
        mount_point: PathBuf::from("/"),
        options: String::new(),
        size: SIZE_UNTOLD,
        available: SIZE_UNTOLD,
        direct_align_bytes: Some(1),
        can_create: true,
    }
}

fn device() -> BlockDevice {
    BlockDevice { size: SIZE_UNTOLD, logical_sector_bytes: 1, discards: true, ..BlockDevice::default() }
}
