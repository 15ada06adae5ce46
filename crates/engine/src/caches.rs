//! Cached pages of targets before a step: dropped, or all of a target read in. It does not know how targets come about.

use crate::claims::users_by_target;
use crate::prepare::{CHUNK, PrepareError};
use fathom_io::{ClosedFile, OpenTarget, TargetHandle};
use fathom_schema::{Coverage, Extent, OpenRule, Step, Stream, TargetKind, WorkerPlan};
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
    if users.iter().any(|stream| stream.engine.open == OpenRule::FillCache) {
        fill_cache(file, path, stop)?;
    } else if users.iter().any(|stream| stream.engine.open.drops_cache()) {
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
        let Some(file) = claimed(path) else { continue };
        if users.iter().any(|stream| stream.engine.open == OpenRule::FillCache) {
            fill_cache(file, path, stop)?;
        } else if users.iter().any(|stream| stream.engine.open.drops_cache()) {
            // What others have written to a device that is only read is not pushed to it, nor is its own cache emptied.
            if users.iter().any(|stream| stream.changes()) {
                drop_cache(file);
            } else {
                fathom_io::drop_clean(file);
            }
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

/// What a worker drops of the cache before each further pass.
#[derive(Debug)]
pub(crate) struct Forgetting {
    pages: Vec<Pages>,
    /// Bytes of a pass of which nothing else sees the end; `u64::MAX` where others begin each.
    pass: u64,
    left: u64,
}

impl Forgetting {
    /// Of a worker with these targets; `None` where its stream does not ask for it.
    pub(crate) fn of(
        stream: &Stream,
        plan: &WorkerPlan,
        targets: &[OpenTarget],
    ) -> io::Result<Option<Box<Self>>> {
        // Files that are made anew have nothing in the cache.
        if stream.engine.open != OpenRule::DropCacheEachPass || stream.fresh_files {
            return Ok(None);
        }
        let pages = Pages::of(targets)?;
        // What has no pages, as the null device, goes on as fast as without.
        if pages.is_empty() {
            return Ok(None);
        }
        let workload = &stream.workload;
        let has_end =
            workload.coverage != Coverage::Independent || workload.cases.iter().any(|case| !case.random);
        // What is less than a block at the end is never touched.
        let largest = u64::from(workload.largest()).max(1);
        let whole = |extent: &Extent| extent.length.0 / largest * largest;
        let pass = if has_end { plan.extents.iter().map(whole).sum::<u64>().max(largest) } else { u64::MAX };
        Ok(Some(Box::new(Self { pages, pass, left: pass })))
    }

    /// A pass begins that is not the first.
    #[cold]
    pub(crate) fn begin_pass(&mut self) {
        self.pages.iter().for_each(Pages::drop_clean);
        self.left = self.pass;
    }

    /// An operation of so many bytes comes.
    pub(crate) fn note(&mut self, bytes: u32) {
        if self.left == 0 {
            self.begin_pass();
        }
        if self.pass != u64::MAX {
            self.left = self.left.saturating_sub(u64::from(bytes));
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
