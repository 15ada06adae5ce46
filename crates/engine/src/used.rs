//! What a run has done to the files it opened, and what becomes of them at its end.
//!
//! Other programs may put another file in the place of one, or write into it, while the run goes on. What is not as this
//! run left it is someone else's: it is not removed, and its mark is not renewed.

use crate::{lock, mark};
use fathom_schema::{Step, TargetKind};
use fathom_units::Bytes;
use rustix::fs::{self, Mode, OFlags};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, Metadata};
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The files that a run has opened, as it left them. Clones share the same list.
#[derive(Debug, Clone, Default)]
pub struct Used(Arc<Mutex<BTreeMap<PathBuf, UsedFile>>>);

/// A file that a run has opened.
#[derive(Debug, Clone)]
pub(crate) struct UsedFile {
    device: u64,
    inode: u64,
    /// fathom made it.
    pub(crate) ours: bool,
    left: Left,
}

/// What tells that a file is as the run left it.
#[derive(Debug, Clone)]
enum Left {
    /// The run writes it: its size is one of these.
    Written(RangeInclusive<u64>),
    /// The run only reads it: its size and the time of its last change.
    Still(u64, (i64, i64)),
}

impl UsedFile {
    /// A file that the run writes and thereby gives one of these sizes.
    pub(crate) fn written(meta: &Metadata, ours: bool, sizes: RangeInclusive<u64>) -> Self {
        Self { device: meta.dev(), inode: meta.ino(), ours, left: Left::Written(sizes) }
    }

    /// A file that is only read from here on.
    pub(crate) fn still(meta: &Metadata, ours: bool) -> Self {
        let left = Left::Still(meta.len(), (meta.mtime(), meta.mtime_nsec()));
        Self { device: meta.dev(), inode: meta.ino(), ours, left }
    }

    fn is(&self, meta: &Metadata) -> bool {
        (self.device, self.inode) == (meta.dev(), meta.ino())
    }

    /// Whether this is the file, as the run left it.
    pub(crate) fn fits(&self, meta: &Metadata) -> bool {
        self.is(meta)
            && match &self.left {
                Left::Written(sizes) => sizes.contains(&meta.len()),
                Left::Still(size, changed) => {
                    (*size, *changed) == (meta.len(), (meta.mtime(), meta.mtime_nsec()))
                }
            }
    }

    pub(crate) fn is_written(&self) -> bool {
        matches!(self.left, Left::Written(_))
    }
}

/// What could not be tidied up after a run.
#[derive(Debug, Default)]
pub struct Tidied {
    /// Files that could not be removed, with the reason.
    pub left_behind: Vec<(PathBuf, io::Error)>,
    /// What the reader of the result should know: files that someone else has changed. Lower-case fragments.
    pub remarks: Vec<String>,
}

impl Used {
    pub(crate) fn files(&self) -> MutexGuard<'_, BTreeMap<PathBuf, UsedFile>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A file that a step has opened; `grows_to`: the size that writing or laying it out may give it, `None` when it is only
    /// read. True when it is fathom's.
    pub(crate) fn begin(
        &self,
        path: &Path,
        file: &File,
        meta: &Metadata,
        is_made: bool,
        grows_to: Option<Bytes>,
    ) -> bool {
        let mut files = self.files();
        let earlier = files.get(path).filter(|earlier| earlier.is(meta));
        let ours = is_made
            || earlier.map_or_else(|| mark::is_ours(path), |earlier| earlier.ours && earlier.fits(meta));
        let now = match grows_to {
            Some(size) => UsedFile::written(meta, ours, meta.len()..=size.0.max(meta.len())),
            None => {
                // What an earlier step wrote is left as it is from here on.
                if ours && earlier.is_some_and(UsedFile::is_written) {
                    mark::finish(file);
                }
                UsedFile::still(meta, ours)
            }
        };
        files.insert(path.to_owned(), now);
        ours
    }

    /// A file is laid out. `written`: the size below which the step writes it, and whether it may shrink; `None` when the
    /// step only reads it.
    pub(crate) fn laid_out(&self, path: &Path, file: &File, written: Option<(Bytes, bool)>) {
        let (mut files, Ok(meta)) = (self.files(), file.metadata()) else { return };
        let Some(used) = files.get_mut(path) else { return };
        let ours = used.ours;
        *used = match written {
            Some((size, shrinks)) => {
                let least = if shrinks { 0 } else { meta.len() };
                let sizes = least..=size.0.max(meta.len());
                if ours {
                    mark::begin(file, &sizes);
                }
                UsedFile::written(&meta, ours, sizes)
            }
            None => {
                if ours {
                    mark::complete(file);
                }
                UsedFile::still(&meta, ours)
            }
        };
    }

    /// Removes a file that this run made and could not complete, unless another one is there by now.
    pub(crate) fn remove_incomplete(&self, path: &Path) {
        let is_made_here = |meta: &Metadata| self.files().get(path).is_some_and(|used| used.is(meta));
        if std::fs::symlink_metadata(path).is_ok_and(|meta| is_made_here(&meta)) {
            // The first failure is the one to report; what cannot be removed either was never complete.
            drop(std::fs::remove_file(path));
        }
    }
}

/// Ends a run's hold on its files: those that are to be removed are, where fathom made them; the marks of those that it
/// wrote are brought up to date. What someone else has changed meanwhile is left to them. To be called when the claims have
/// been given back.
pub fn clean_up(steps: &[Step], used: &Used) -> Tidied {
    let mut tidied = Tidied::default();
    let mut seen = BTreeSet::new();
    for target in steps.iter().flat_map(|step| &step.targets) {
        let TargetKind::File { path, layout: _, remove_after } = &target.kind else { continue };
        if !seen.insert(path) {
            continue;
        }
        // What the run has not opened, or made by others, it has no say in.
        let Some(file) = used.files().get(path).filter(|file| file.ours).cloned() else { continue };
        if let Err(error) = release(path, &file, *remove_after, &mut tidied.remarks)
            && error.kind() != io::ErrorKind::NotFound
        {
            tidied.left_behind.push((path.clone(), error));
        }
    }
    tidied
}

fn release(path: &Path, used: &UsedFile, remove: bool, remarks: &mut Vec<String>) -> io::Result<()> {
    if !remove && !used.is_written() {
        return Ok(());
    }
    let meta = std::fs::metadata(path)?;
    if !used.is(&meta) {
        if remove {
            remarks.push(format!(
                "{} was to be removed and is left: another file has taken its place since",
                path.display()
            ));
        }
        return Ok(());
    }
    if lock::is_written_elsewhere(path) {
        return Ok(());
    }
    if !used.fits(&meta) {
        let fate =
            if remove { "was to be removed and is left" } else { "counts as not made by fathom from now on" };
        remarks.push(format!("{} {fate}: another program has written to it during the run", path.display()));
        if used.is_written() {
            marked(path, used, mark::take_away);
        }
    } else if !remove {
        marked(path, used, mark::finish);
    } else if std::fs::symlink_metadata(path)?.is_file() {
        std::fs::remove_file(path)?;
    }
    Ok(())
}

/// Changes the mark of a file, if the path still leads to it. One that cannot be opened keeps the mark that it has.
fn marked(path: &Path, used: &UsedFile, change: fn(&File)) {
    let Ok(file) = fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty()) else {
        return;
    };
    let file = File::from(file);
    if file.metadata().is_ok_and(|meta| used.is(&meta)) {
        change(&file);
    }
}
