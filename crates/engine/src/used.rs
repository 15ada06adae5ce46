//! What a run has done to the files it opened, and what becomes of them at its end.
//!
//! Other programs may put another file in the place of one, or write into it, while the run goes on. What is not as this
//! run left it is someone else's: it is not removed, and its mark is not renewed. What the run only read and someone has
//! changed meanwhile is told: its figures are not those of a file at rest.

use crate::claims::Claims;
use crate::{lock, mark};
use fathom_schema::{Step, Target, TargetKind};
use fathom_units::Bytes;
use rustix::fs::{self, Mode, OFlags};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{File, Metadata};
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The files that a run has opened, as it left them. Clones share the same list.
#[derive(Debug, Clone, Default)]
pub struct Used(Arc<Mutex<List>>);

#[derive(Debug, Default)]
struct List {
    /// Which run it is; files that it writes are marked with that.
    run: String,
    files: HashMap<PathBuf, UsedFile>,
    /// Folders that it has made above its files, by device and inode.
    folders: BTreeMap<PathBuf, (u64, u64)>,
    /// Devices that it only reads, and that nobody wrote when it began.
    still_devices: BTreeSet<PathBuf>,
    /// Paths at which a later step has found another file than the one that an earlier step wrote.
    replaced: BTreeSet<PathBuf>,
    /// Files that it has removed itself, by device and inode: links to them lead nowhere since.
    removed: BTreeSet<(u64, u64)>,
}

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
#[derive(Debug, Clone, PartialEq, Eq)]
enum Left {
    /// The run writes it: its size is one of these.
    Written(RangeInclusive<u64>),
    /// The run only reads it: its size, and the times of its last change and of its last change of status.
    Still { size: u64, changed: (i64, i64), status_changed: (i64, i64) },
}

impl Left {
    fn still(meta: &Metadata) -> Self {
        Self::Still {
            size: meta.len(),
            changed: (meta.mtime(), meta.mtime_nsec()),
            status_changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

impl UsedFile {
    /// A file that the run writes and thereby gives one of these sizes.
    pub(crate) fn written(meta: &Metadata, ours: bool, sizes: RangeInclusive<u64>) -> Self {
        Self { device: meta.dev(), inode: meta.ino(), ours, left: Left::Written(sizes) }
    }

    /// A file that is only read from here on.
    pub(crate) fn still(meta: &Metadata, ours: bool) -> Self {
        Self { device: meta.dev(), inode: meta.ino(), ours, left: Left::still(meta) }
    }

    fn identity(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    fn is(&self, meta: &Metadata) -> bool {
        self.identity() == (meta.dev(), meta.ino())
    }

    /// Whether this is the file, as the run left it.
    pub(crate) fn fits(&self, meta: &Metadata) -> bool {
        self.is(meta)
            && match &self.left {
                Left::Written(sizes) => sizes.contains(&meta.len()),
                still @ Left::Still { .. } => *still == Left::still(meta),
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
    fn list(&self) -> MutexGuard<'_, List> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names the run.
    pub(crate) fn set_run(&self, run: &str) {
        run.clone_into(&mut self.list().run);
    }

    /// The run's name, as the marks of what it writes have it.
    pub(crate) fn run(&self) -> String {
        self.list().run.clone()
    }

    /// Whether the file at a path, which is this one, is fathom's and as the run left it.
    pub(crate) fn is_ours_as_left(&self, path: &Path, meta: &Metadata) -> bool {
        self.list().files.get(path).is_some_and(|file| file.ours && file.fits(meta))
    }

    /// Takes a file in, or takes it anew.
    pub(crate) fn insert(&self, path: &Path, file: UsedFile) {
        self.list().removed.remove(&file.identity());
        self.list().files.insert(path.to_owned(), file);
    }

    /// Whether this is the file that the run has at a path.
    pub(crate) fn has(&self, path: &Path, meta: &Metadata) -> bool {
        self.list().files.get(path).is_some_and(|file| file.is(meta))
    }

    /// Takes note that a file is gone by the run's own doing, if it is.
    fn note_removed(&self, path: &Path, file: &UsedFile) {
        if std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            self.list().removed.insert(file.identity());
        }
    }

    /// A folder that was not there and is made above a file.
    pub(crate) fn made_folder(&self, path: &Path) {
        if let Ok(meta) = std::fs::symlink_metadata(path) {
            self.list().folders.insert(path.to_owned(), (meta.dev(), meta.ino()));
        }
    }

    /// A device that is only read, and that nobody writes yet.
    pub(crate) fn expect_still(&self, device: &Path) {
        self.list().still_devices.insert(device.to_owned());
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
        let List { run: _, files, folders: _, still_devices: _, replaced, removed } = &mut *self.list();
        // A filesystem gives the number of what is gone to what comes.
        removed.remove(&(meta.dev(), meta.ino()));
        if files.get(path).is_some_and(|earlier| earlier.is_written() && !earlier.is(meta)) {
            replaced.insert(path.to_owned());
        }
        let earlier = files.get(path).filter(|earlier| earlier.is(meta));
        let ours = is_made
            || earlier.map_or_else(|| mark::is_ours(file), |earlier| earlier.ours && earlier.fits(meta));
        let now = match grows_to {
            Some(size) => UsedFile::written(meta, ours, meta.len()..=size.0.max(meta.len())),
            None => {
                // What an earlier step wrote is left as it is from here on.
                if ours && earlier.is_some_and(UsedFile::is_written) {
                    mark::finish(file);
                }
                UsedFile::still(&file.metadata().unwrap_or_else(|_| meta.clone()), ours)
            }
        };
        files.insert(path.to_owned(), now);
        ours
    }

    /// A file is laid out. `written`: the size below which the step writes it, and whether it may shrink; `None` when the
    /// step only reads it.
    pub(crate) fn laid_out(&self, path: &Path, file: &File, written: Option<(Bytes, bool)>) {
        let List { run, files, folders: _, still_devices: _, replaced: _, removed: _ } = &mut *self.list();
        let Some(used) = files.get_mut(path) else { return };
        let ours = used.ours;
        match written {
            Some(_) if ours => mark::begin(file, run),
            None if ours => mark::complete(file),
            _ => {}
        }
        let Ok(meta) = file.metadata() else { return };
        *used = match written {
            Some((size, shrinks)) => {
                let least = if shrinks { 0 } else { meta.len() };
                UsedFile::written(&meta, ours, least..=size.0.max(meta.len()))
            }
            None => UsedFile::still(&meta, ours),
        };
    }

    /// Removes a file that this run made and could not complete, unless another one is there by now.
    pub(crate) fn remove_incomplete(&self, path: &Path) {
        let is_made_here = |meta: &Metadata| self.list().files.get(path).is_some_and(|used| used.is(meta));
        if std::fs::symlink_metadata(path).is_ok_and(|meta| is_made_here(&meta)) {
            // The first failure is the one to report; what cannot be removed either was never complete.
            drop(std::fs::remove_file(path));
            // What a further try makes there takes the place of nothing.
            self.list().files.remove(path);
        }
    }
}

/// One for all paths to a file that lead through links of folders or `..`.
pub fn place(path: &Path) -> PathBuf {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return path.to_owned() };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    folder.canonicalize().map_or_else(|_| path.to_owned(), |folder| folder.join(name))
}

/// Whether files and folders go, by their place: the last step that has one says so.
fn removed_after(steps: &[Step]) -> BTreeMap<PathBuf, bool> {
    fn of_target(target: &Target) -> Option<(PathBuf, bool)> {
        match &target.kind {
            TargetKind::File { path, remove_after, .. } | TargetKind::Folder { path, remove_after, .. } => {
                Some((place(path), *remove_after))
            }
            _ => None,
        }
    }
    steps.iter().flat_map(|step| &step.targets).filter_map(of_target).collect()
}

/// Ends a run's hold on its files: those that are to be removed are, where fathom made them; the marks of those that it
/// wrote are brought up to date. What someone else has changed meanwhile is left to them, and told; so is what is not there
/// any more of that which the run wrote. To be called when the claims have been given back.
pub fn clean_up(steps: &[Step], used: &Used) -> Tidied {
    let mut tidied = Tidied::default();
    let mut seen = BTreeSet::new();
    let by_name = worked_on_by_name(steps);
    let removes = removed_after(steps);
    for target in steps.iter().flat_map(|step| &step.targets) {
        let (path, remove) = match &target.kind {
            TargetKind::File { path, .. } | TargetKind::Folder { path, .. } => {
                (path, removes.get(&place(path)).is_some_and(|removes| *removes))
            }
            TargetKind::BlockDevice { path } => (path, false),
            TargetKind::MemoryDevice { .. } | TargetKind::Null | TargetKind::Sim(_) | TargetKind::Peer(_) => {
                continue;
            }
        };
        if !seen.insert(path) {
            continue;
        }
        if used.list().still_devices.contains(path) && lock::is_written_elsewhere(path) {
            tidied.remarks.push(format!(
                "another process of fathom has begun to write to {} while this run read it",
                path.display()
            ));
        }
        // What the run has not opened it has no say in.
        let Some(file) = used.list().files.get(path).cloned() else { continue };
        let is_by_name = by_name.contains(path.as_path());
        if !is_by_name && used.list().replaced.contains(path) {
            tidied.remarks.push(format!(
                "{} was another file in an earlier step: what was written to that one cannot be looked at",
                path.display()
            ));
        }
        if !(file.is_written() || file.ours && remove) {
            tidied.remarks.extend(disturbed(path, &file));
        } else if !is_by_name && let Some(lost) = lost(path, &file, file.ours && remove) {
            // A link is lost with the file that it led to, which this run may have removed itself.
            let is_own = used.list().removed.contains(&file.identity());
            tidied.remarks.extend((!is_own).then_some(lost));
        } else if file.ours {
            match release(path, &file, remove, &mut tidied.remarks) {
                Ok(()) if remove => used.note_removed(path, &file),
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => tidied.left_behind.push((path.clone(), error)),
            }
        }
    }
    remove_trees(steps, used, &mut tidied);
    if used.list().files.values().any(|file| file.ours) {
        mark::settle();
    }
    tidied
}

/// Removes files that no further step of the run opens, as they are to be removed and fathom made them. What someone else has
/// changed meanwhile is left to them, and told; what cannot be removed yet is tried again at the end. To be called when nothing
/// has them open.
pub fn remove_early(targets: &[Target], claims: &Claims) -> Vec<String> {
    let used = claims.used();
    let mut remarks = Vec::new();
    for target in targets {
        let TargetKind::File { path, layout: _, remove_after: true } = &target.kind else { continue };
        let Some(file) = used.list().files.get(path).filter(|file| file.ours).cloned() else { continue };
        let identity = file.identity();
        // Its own sign would be taken for another's.
        if claims.shows_as_read(identity) {
            continue;
        }
        claims.unlock(identity);
        let removed = release(path, &file, true, &mut remarks);
        if removed.is_ok() || removed.is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            used.note_removed(path, &file);
            used.list().files.remove(path);
        }
    }
    remarks
}

/// Removes the folders of trees that the run has made, the deepest first. One that somebody has put something into stays.
fn remove_trees(steps: &[Step], used: &Used, tidied: &mut Tidied) {
    let roots: BTreeSet<&Path> =
        steps.iter().flat_map(|step| &step.trees).map(|tree| tree.root.as_path()).collect();
    let folders = std::mem::take(&mut used.list().folders);
    let is_of_tree = |folder: &Path| folder.ancestors().any(|above| roots.contains(above));
    // In the order of paths what lies in a folder comes after it.
    for (folder, identity) in folders.iter().rev().filter(|(folder, _)| is_of_tree(folder)) {
        // Another one may be there by now, which is somebody's.
        let is_it = |meta: &Metadata| meta.is_dir() && (meta.dev(), meta.ino()) == *identity;
        if !std::fs::symlink_metadata(folder).is_ok_and(|meta| is_it(&meta)) {
            continue;
        }
        match std::fs::remove_dir(folder) {
            Ok(()) => {}
            Err(error)
                if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) => {}
            Err(error) => tidied.left_behind.push((folder.clone(), error)),
        }
    }
}

/// Paths of steps whose streams make and remove what has a name: that another file is there, or none, is their work.
fn worked_on_by_name(steps: &[Step]) -> BTreeSet<&Path> {
    let by_name = |step: &&Step| step.streams.iter().any(|stream| stream.engine.kind.of_names().is_some());
    let targets = steps.iter().filter(by_name).flat_map(|step| &step.targets);
    let paths = targets.filter_map(|target| match &target.kind {
        TargetKind::File { path, .. } | TargetKind::Folder { path, .. } => Some(path.as_path()),
        _ => None,
    });
    paths.collect()
}

/// What has become of a file that the run has written or laid out, where it is not at its path any more. What is in the place of
/// one that was to be removed is told where that is tried.
fn lost(path: &Path, used: &UsedFile, removes: bool) -> Option<String> {
    let fate = match std::fs::metadata(path) {
        Ok(meta) if removes || used.is(&meta) => return None,
        Ok(_) => "is another file than the run has opened",
        Err(error) if error.kind() == io::ErrorKind::NotFound && used.is_written() => {
            "is gone since the run began"
        }
        Err(_) => return disturbed(path, used),
    };
    Some(format!("{} {fate}: what was written to it cannot be looked at", path.display()))
}

/// What has become of a file that was only read, where it is not as it was.
fn disturbed(path: &Path, file: &UsedFile) -> Option<String> {
    let path_text = path.display();
    match std::fs::metadata(path) {
        Ok(meta) if file.fits(&meta) => None,
        Ok(meta) if file.is(&meta) => {
            Some(format!("{path_text} has been changed by another program while this run read it"))
        }
        Ok(_) => Some(format!("another file has taken the place of {path_text} while this run read it")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Some(format!("{path_text} has been removed by another program while this run read it"))
        }
        // Nothing is known against it.
        Err(_) => None,
    }
}

fn release(path: &Path, used: &UsedFile, remove: bool, remarks: &mut Vec<String>) -> io::Result<()> {
    let meta = std::fs::metadata(path)?;
    let shown = path.display();
    if !used.is(&meta) {
        if remove {
            remarks.push(format!(
                "{shown} was to be removed and is left: another file has taken its place since"
            ));
        }
        return Ok(());
    }
    if lock::is_written_elsewhere(path) {
        if remove {
            remarks.push(format!(
                "{shown} was to be removed and is left: another process of fathom writes to it"
            ));
        }
        return Ok(());
    }
    if !used.fits(&meta) {
        let fate =
            if remove { "was to be removed and is left" } else { "counts as not made by fathom from now on" };
        remarks.push(format!("{shown} {fate}: another program has written to it during the run"));
        if used.is_written() {
            marked(path, used, mark::take_away);
        }
        return Ok(());
    }
    let is_read = remove && lock::is_read_elsewhere(path);
    if is_read {
        remarks.push(format!("{shown} was to be removed and is left: another process of fathom reads it"));
    }
    if !remove || is_read {
        if used.is_written() {
            marked(path, used, mark::finish);
        }
        return Ok(());
    }
    let meta = std::fs::symlink_metadata(path)?;
    if meta.is_dir() {
        // Only an empty one goes.
        std::fs::remove_dir(path)?;
    } else if meta.is_file() {
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
