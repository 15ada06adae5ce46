//! Cached pages of targets before a step: dropped, or all of a target read in. It does not know how targets come about.

use crate::claims::users_by_target;
use crate::prepare::{CHUNK, PrepareError};
use fathom_io::{ClosedFile, OpenTarget, TargetHandle};
use fathom_schema::{OpenRule, Step, Stream, TargetKind};
use rustix::fs;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Drops or reads in cached pages of a file, as its users ask.
pub(crate) fn of_file(
    file: &File,
    path: &Path,
    users: &[&Stream],
    stop: &AtomicBool,
) -> Result<(), PrepareError> {
    let asks = |rule: OpenRule| users.iter().any(|stream| stream.engine.open == rule);
    if asks(OpenRule::FillCache) {
        fill_cache(file, path, stop)?;
    } else if asks(OpenRule::DropCache) {
        // Advice only: a filesystem without a cache to drop has nothing to answer for.
        drop_cache(file);
    }
    Ok(())
}

/// Drops or reads in cached pages of block devices whose streams ask for it. Dropping is advice only, as for files.
pub(crate) fn of_devices<'a>(
    step: &Step,
    claimed: impl Fn(&Path) -> Option<&'a Arc<File>>,
    stop: &AtomicBool,
) -> Result<(), PrepareError> {
    for (target, users) in step.targets.iter().zip(users_by_target(step)) {
        let TargetKind::BlockDevice { path } = &target.kind else { continue };
        let asks = |rule: OpenRule| users.iter().any(|stream| stream.engine.open == rule);
        let Some(file) = claimed(path) else { continue };
        if asks(OpenRule::FillCache) {
            fill_cache(file, path, stop)?;
        } else if asks(OpenRule::DropCache) {
            drop_cache(file);
        }
    }
    Ok(())
}

/// The cached pages of a file or device that a worker works on.
#[derive(Debug)]
pub(crate) enum Pages {
    OfOpen(File),
    OfClosed(ClosedFile),
}

impl Pages {
    /// Those of a worker's targets.
    pub(crate) fn of(targets: &[OpenTarget]) -> io::Result<Vec<Self>> {
        let pages = |target: &OpenTarget| match &target.handle {
            TargetHandle::File(file) | TargetHandle::BlockDevice { file, .. } => {
                Some(file.try_clone().map(Self::OfOpen))
            }
            TargetHandle::Closed(file) => Some(Ok(Self::OfClosed(file.clone()))),
            TargetHandle::Name(_) | TargetHandle::Null | TargetHandle::Sim { .. } | TargetHandle::Peer(_) => {
                None
            }
        };
        targets.iter().filter_map(pages).collect()
    }

    /// Drops those that are clean. Where that cannot be done, they stay.
    pub(crate) fn drop_clean(&self) {
        match self {
            Self::OfOpen(file) => fathom_io::drop_clean(file),
            Self::OfClosed(file) => file.open().iter().for_each(fathom_io::drop_clean),
        }
    }
}

/// Reads all of it once.
fn fill_cache(file: &File, path: &Path, stop: &AtomicBool) -> Result<(), PrepareError> {
    let fail = |error: io::Error| PrepareError::system("cannot read", path, error);
    let mut buffer = vec![0; CHUNK];
    io::Seek::seek(&mut &*file, io::SeekFrom::Start(0)).map_err(fail)?;
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(PrepareError::Stopped);
        }
        match io::Read::read(&mut &*file, &mut buffer) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(fail(error)),
        }
    }
}

/// Filesystems that keep the pages of a file under the file itself, and are done with them when they are written: of stacked
/// ones (overlay) a range of the file above holds none, and those of a network may hold what is written until it is committed.
/// Their magic numbers, of `statfs(2)`: ext4, XFS, btrfs, f2fs.
const PLAIN: [i64; 4] = [0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010];

/// Dirty pages stay in the cache whatever is advised, so they are written first.
fn drop_cache(file: &File) {
    // The number has the sign of its type, which is wider on some machines.
    let magic = |found: fs::StatFs| found.f_type & 0xFFFF_FFFF;
    let is_plain = fs::fstatfs(file).is_ok_and(|found| PLAIN.contains(&magic(found)));
    if !is_plain || fathom_io::write_back(file).is_err() {
        let _ = fs::fdatasync(file);
    }
    fathom_io::drop_clean(file);
}
