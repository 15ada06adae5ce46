//! Preparation of a step: devices are claimed, files laid out, caches dropped, targets opened for each worker.
//!
//! Whether any of it may be done has been judged before; here it is made sure that what is opened is what was judged, and
//! that a preparation that fails or is stopped leaves no half-made file of ours behind.

pub use crate::claims::Claims;
use crate::layout::lay_out;
use crate::lock;
use crate::mark;
use crate::names;
use crate::probe;
use crate::quiet;
use crate::traces;
use crate::unable::{Refusal, Unable};
use crate::used::UsedFile;
pub use crate::used::{Tidied, Used, clean_up, place, remove_early};
use fathom_io::{ClosedFile, OpenTarget, TargetHandle};
use fathom_pattern::Trace;
use fathom_schema::{Durability, Extent, IoMode, NameOperation, Step, Stream, TargetKind, WorkerPlan};
use fathom_units::Bytes;
use rustix::fs::{self, Mode, OFlags};
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::CString;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes written at once while laying out: large enough for full bandwidth, small enough to stop within milliseconds.
pub(crate) const CHUNK: usize = 1 << 20;

/// How far preparation is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The file being laid out.
    pub path: &'a Path,
    /// Bytes written of all that this step lays out.
    pub done: Bytes,
    /// All that this step lays out.
    pub total: Bytes,
}

/// Why a step could not be prepared.
#[derive(Debug)]
#[non_exhaustive]
pub enum PrepareError {
    /// The system refused something.
    System {
        /// What was being done, e.g. `cannot create`.
        action: &'static str,
        /// To which path.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
        /// The way out; empty when none is known.
        remedy: &'static str,
    },
    /// A path is no longer what was judged.
    Changed {
        /// Which path.
        path: PathBuf,
        /// What differs.
        what: String,
    },
    /// Another process writes to it: it holds its lock, as those of fathom do.
    Taken {
        /// Which path.
        path: PathBuf,
    },
    /// The stop flag was raised.
    Stopped,
}

impl PrepareError {
    pub(crate) fn system(action: &'static str, path: &Path, error: impl Into<io::Error>) -> Self {
        let error: io::Error = error.into();
        let remedy = match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::NOSPC) => "free some space, or ask for a smaller size",
            Some(Errno::DQUOT) => "the quota is used up; ask for a smaller size",
            Some(Errno::ACCESS | Errno::PERM) => "run as a user that may, or choose another path",
            Some(Errno::BUSY) => "someone else holds it; close what uses it",
            Some(Errno::MFILE) => "raise the limit of open files (ulimit -n)",
            Some(Errno::INVAL) if action == "cannot open" => {
                "its filesystem may refuse direct I/O; turn that off"
            }
            Some(Errno::TXTBSY) => "it is a program that runs; end it, or name another file",
            Some(Errno::ROFS) => "its filesystem is mounted read-only",
            Some(Errno::FBIG) => {
                "neither its filesystem nor this process may hold files of this size (ulimit -f)"
            }
            _ => "",
        };
        Self::System { action, path: path.to_owned(), error, remedy }
    }

    /// What is at a path is not what was judged: mostly since another process of fathom was quicker.
    pub(crate) fn changed(path: &Path, what: impl Into<String>) -> Self {
        if lock::is_written_elsewhere(path) {
            return Self::Taken { path: path.to_owned() };
        }
        Self::Changed { path: path.to_owned(), what: what.into() }
    }

    /// What the system said, when it did.
    pub fn raw_os_error(&self) -> Option<i32> {
        match self {
            Self::System { error, .. } => error.raw_os_error(),
            Self::Changed { .. } | Self::Taken { .. } | Self::Stopped => None,
        }
    }
}

impl fmt::Display for PrepareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System { action, path, error, remedy: "" } => {
                write!(f, "{action} {}: {error}", path.display())
            }
            Self::System { action, path, error, remedy } => {
                write!(f, "{action} {}: {error}; {remedy}", path.display())
            }
            Self::Changed { path, what } => {
                write!(f, "{} is no longer what was looked at: {what}; start again", path.display())
            }
            Self::Taken { path } => write!(
                f,
                "{} is being written by another process, of fathom or of a program that locks it as well (flock); wait for its \
                 end, or put both loads into one job as two streams",
                path.display()
            ),
            Self::Stopped => write!(f, "stopped while preparing"),
        }
    }
}

impl std::error::Error for PrepareError {}

/// Why a worker could not open a target.
pub type OpenError = PrepareError;

/// A step whose targets are there and laid out.
#[derive(Debug)]
pub struct Ready {
    pub(crate) step: Step,
    pub(crate) index: u32,
    claims: Arc<Claims>,
    unable: Unable,
    /// By stream, where it replays one.
    traces: Vec<Option<Arc<Trace>>>,
    files: HashMap<PathBuf, FileIdentity>,
}

/// What a file is, whatever its path leads to later: filesystem and inode.
pub(crate) type FileIdentity = (u64, u64);

/// Prepares a step: lays out its files and drops caches. `index`: its number in the run. `progress` is called about every
/// MiB; `stop` ends it early. Files that this call created are removed again when it fails.
pub fn prepare(
    step: Step,
    index: u32,
    claims: &Arc<Claims>,
    progress: &mut dyn FnMut(&Progress<'_>),
    stop: &AtomicBool,
) -> Result<Arc<Ready>, PrepareError> {
    // Before anything is made: a trace that is not there any more costs nothing then.
    let traces = traces::load(&step)?;
    let mut created = Vec::new();
    let mut unable = Unable::default();
    match lay_out(&step, claims, &mut unable, &mut created, progress, stop) {
        Ok(files) => {
            let claims = Arc::clone(claims);
            Ok(Arc::new(Ready { step, index, claims, unable, traces, files }))
        }
        Err(error) => {
            created.iter().for_each(|path| claims.used.remove_incomplete(path));
            Err(error)
        }
    }
}

/// Lays out the files of a step that is still to come, which no step before it opens. What fails leaves no file behind that was not
/// there: the step tries it again, and tells.
pub fn lay_out_ahead(
    step: &Step,
    claims: &Claims,
    progress: &mut dyn FnMut(&Progress<'_>),
    stop: &AtomicBool,
) {
    // By a link it may be a file of the step that is about to begin.
    let locked = claims.locked_files();
    let mut created = Vec::new();
    match lay_out(step, claims, &mut Unable::default(), &mut created, progress, stop) {
        // A lock takes a descriptor, and there may be more of later files than of those: the step takes them anew.
        Ok(files) => {
            files.into_values().filter(|file| !locked.contains(file)).for_each(|file| claims.unlock(file));
        }
        Err(_) => {
            for path in created {
                // What has no name any more takes its space as long as it is open.
                if let Ok(meta) = std::fs::symlink_metadata(&path) {
                    claims.unlock((meta.dev(), meta.ino()));
                }
                claims.used.remove_incomplete(&path);
            }
        }
    }
}

impl Ready {
    /// The step.
    pub fn step(&self) -> &Step {
        &self.step
    }

    /// Why the workers of a stream cannot begin, where that is known by now.
    pub(crate) fn refusal(&self, stream: usize) -> Option<&Refusal> {
        self.unable.of(stream)
    }

    /// The trace that a stream replays.
    pub(crate) fn trace(&self, stream: usize) -> Option<Arc<Trace>> {
        self.traces[stream].clone()
    }

    /// Which files one worker works on; absent where it is none.
    pub(crate) fn identities(&self, plan: &WorkerPlan) -> Vec<Option<FileIdentity>> {
        let of = |extent: &Extent| match &self.step.targets[extent.target as usize].kind {
            TargetKind::File { path, .. } => self.files.get(path).copied(),
            _ => None,
        };
        plan.extents.iter().map(of).collect()
    }

    /// Opens what one worker works on, one entry per extent.
    pub(crate) fn open(&self, stream: &Stream, plan: &WorkerPlan) -> Result<Vec<OpenTarget>, OpenError> {
        let takes_turns = stream.open_at_once(plan, &self.step.targets).is_some();
        let open = |extent: &Extent| match extent.target as usize {
            target if takes_turns => self.closed_target(stream, target),
            target => self.open_target(stream, target),
        };
        plan.extents.iter().map(open).collect()
    }

    /// What it takes to open a file for its turns.
    fn closed_target(&self, stream: &Stream, index: usize) -> Result<OpenTarget, OpenError> {
        let target = &self.step.targets[index];
        let prepared = match &target.kind {
            TargetKind::File { path, .. } => self.files.get(path).map(|there| (path, *there)),
            _ => None,
        };
        let Some((path, there)) = prepared else { return self.open_target(stream, index) };
        let text = CString::new(path.as_os_str().as_bytes());
        let text = text.map_err(|error| PrepareError::system("cannot open", path, io::Error::from(error)))?;
        let flags = flags_for(stream, stream.changes_target(index)).bits();
        let file = ClosedFile {
            path: text,
            flags: i32::from_ne_bytes(flags.to_ne_bytes()),
            there,
            advice: stream.engine.advice,
            drops_cache: stream.engine.mode == IoMode::Buffered && stream.engine.open.drops_cache(),
        };
        let (size, trim_by) = (target.size.0, stream.engine.trim_by);
        Ok(OpenTarget { handle: TargetHandle::Closed(file), size, trim_by })
    }

    /// Opens what one worker works on anew for its next pass: files that fathom made are removed, and made again where the
    /// stream writes; others are left as they are.
    pub(crate) fn open_fresh(
        &self,
        stream: &Stream,
        plan: &WorkerPlan,
    ) -> Result<Vec<OpenTarget>, OpenError> {
        let names = stream.engine.kind.of_names();
        self.adopt(stream, plan);
        let open = |extent: &Extent| {
            let target = &self.step.targets[extent.target as usize];
            let (TargetKind::File { path, .. } | TargetKind::Folder { path, .. }) = &target.kind else {
                return self.open_target(stream, extent.target as usize);
            };
            let used = &self.claims.used;
            match std::fs::symlink_metadata(path) {
                Ok(meta) if used.is_ours_as_left(path, &meta) => {
                    let removed =
                        if meta.is_dir() { std::fs::remove_dir(path) } else { std::fs::remove_file(path) };
                    removed.map_err(|error| PrepareError::system("cannot remove", path, error))?;
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                _ => return self.open_target(stream, extent.target as usize),
            }
            if names.is_some() {
                self.claims.name(path).store(false, Ordering::Relaxed);
                return self.open_target(stream, extent.target as usize);
            }
            if stream.changes() {
                self.make_again(path, target.size)?;
            }
            Ok(OpenTarget {
                handle: TargetHandle::File(open_for(stream, stream.changes(), path)?),
                size: target.size.0,
                trim_by: stream.engine.trim_by,
            })
        };
        plan.extents.iter().map(open).collect()
    }

    /// Opens what one worker works on once more, after a command of its stream that may have removed its files: what is written is
    /// made again. `None` where all files are those that were opened.
    pub(crate) fn open_again(
        &self,
        stream: &Stream,
        plan: &WorkerPlan,
    ) -> Result<Option<Vec<OpenTarget>>, OpenError> {
        let is_another = |extent: &Extent| -> Result<bool, OpenError> {
            let target = &self.step.targets[extent.target as usize];
            match &target.kind {
                TargetKind::File { path, .. } => {
                    self.is_another(path, target.size, stream.changes_target(extent.target as usize))
                }
                _ => Ok(false),
            }
        };
        let others = plan.extents.iter().map(is_another).collect::<Result<Vec<bool>, _>>()?;
        if !others.contains(&true) {
            return Ok(None);
        }
        if stream.open_at_once(plan, &self.step.targets).is_some() {
            let what = "the command before its load has removed a file of those that are opened in turn";
            let first = plan.extents.iter().zip(&others).find(|(_, is_another)| **is_another);
            let name = first.map(|(extent, _)| &self.step.targets[extent.target as usize].name);
            return Err(PrepareError::changed(Path::new(name.map_or("", String::as_str)), what));
        }
        let open = |(extent, &is_another): (&Extent, &bool)| {
            let target = &self.step.targets[extent.target as usize];
            match &target.kind {
                TargetKind::File { path, .. } if is_another => Ok(OpenTarget {
                    handle: TargetHandle::File(open_for(stream, stream.changes(), path)?),
                    size: target.size.0,
                    trim_by: stream.engine.trim_by,
                }),
                _ => self.open_target(stream, extent.target as usize),
            }
        };
        plan.extents.iter().zip(&others).map(open).collect::<Result<_, _>>().map(Some)
    }

    /// Whether another file of the run's is at a path than the one that was prepared. One that is gone is made again where it is
    /// written; where it is read, opening it tells.
    fn is_another(&self, path: &Path, size: Bytes, writes: bool) -> Result<bool, OpenError> {
        let Some(before) = self.files.get(path) else { return Ok(false) };
        let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        let mut meta = std::fs::metadata(path);
        if writes && meta.as_ref().is_err_and(is_gone) {
            match self.make_again(path, size) {
                // Another worker was quicker.
                Err(error) if error.raw_os_error() == Some(Errno::EXIST.raw_os_error()) => {}
                made => return made.map(|()| true),
            }
            meta = std::fs::metadata(path);
        }
        match meta {
            Ok(meta) if (meta.dev(), meta.ino()) == *before => Ok(false),
            Ok(meta) if self.claims.used.has(path, &meta) => Ok(true),
            Ok(_) => {
                Err(PrepareError::changed(path, "the command before its load has put another file there"))
            }
            Err(_) if writes => {
                Err(PrepareError::changed(path, "the command before its load has removed it"))
            }
            Err(error) => Err(PrepareError::system("cannot open", path, error)),
        }
    }

    /// Makes a file that the run had, and that is not there any more.
    fn make_again(&self, path: &Path, size: Bytes) -> Result<(), PrepareError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fail = |error: io::Error| PrepareError::system("cannot create", path, error);
        let file = fs::open(path, flags, Mode::from_raw_mode(0o644)).map_err(|error| fail(error.into()))?;
        let file = File::from(file);
        let used = &self.claims.used;
        mark::begin(&file, &used.run());
        let meta = file.metadata().map_err(fail)?;
        used.insert(path, UsedFile::written(&meta, true, 0..=size.0));
        self.claims.made().insert(path.to_owned());
        Ok(())
    }

    /// Takes in what a worker has made at the names that it worked on: it is the run's from here on.
    pub(crate) fn adopt(&self, stream: &Stream, plan: &WorkerPlan) {
        if !stream.engine.kind.of_names().is_some_and(NameOperation::creates) {
            return;
        }
        for extent in &plan.extents {
            let target = &self.step.targets[extent.target as usize].kind;
            if let TargetKind::File { path, .. } | TargetKind::Folder { path, .. } = target {
                names::adopt(path, &self.claims);
            }
        }
    }

    /// Flushes the filesystems that one worker's targets are on (`syncfs(2)`).
    pub(crate) fn sync_filesystems(&self, plan: &WorkerPlan) -> Result<(), OpenError> {
        for extent in &plan.extents {
            let TargetKind::File { path, .. } = &self.step.targets[extent.target as usize].kind else {
                continue;
            };
            let fail = |error: Errno| PrepareError::system("cannot sync the filesystem of", path, error);
            let file = fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(fail)?;
            fs::syncfs(file).map_err(fail)?;
        }
        Ok(())
    }

    fn open_target(&self, stream: &Stream, index: usize) -> Result<OpenTarget, OpenError> {
        let target = &self.step.targets[index];
        let writes = stream.changes_target(index);
        let (size, trim_by) = (target.size.0, stream.engine.trim_by);
        if let (Some(operation), TargetKind::File { path, .. } | TargetKind::Folder { path, .. }) =
            (stream.engine.kind.of_names(), &target.kind)
        {
            let prepared = self.files.get(path).copied();
            let name = names::open(path, operation, prepared, self.claims.name(path))?;
            return Ok(OpenTarget { handle: TargetHandle::Name(name), size, trim_by });
        }
        let null_engine = stream.engine.kind == fathom_schema::EngineKind::Null;
        let handle = match &target.kind {
            // Nothing but its name is worked on.
            TargetKind::Null | TargetKind::Folder { .. } => TargetHandle::Null,
            TargetKind::Sim(description) => {
                let number = u32::try_from(index).expect("targets are counted in 32 bits");
                TargetHandle::Sim { number, description: description.clone() }
            }
            TargetKind::Peer(peer) => TargetHandle::Peer(peer.clone()),
            _ if null_engine => TargetHandle::Null,
            TargetKind::File { path, .. } => {
                let file = open_for(stream, writes, path)?;
                // A path that was moved meanwhile must not lead to someone else's file or device.
                if self.files.get(path) != Some(&identity(&file, path)?) {
                    let what = "another file is there than was prepared".to_owned();
                    return Err(PrepareError::Changed { path: path.clone(), what });
                }
                TargetHandle::File(file)
            }
            TargetKind::MemoryDevice { path } => {
                let file = open_for(stream, writes, path)?;
                let meta = file.metadata();
                let meta = meta.map_err(|error| PrepareError::system("cannot look at", path, error))?;
                if !probe::is_memory_device(&meta) {
                    let what = "something else is there than was judged".to_owned();
                    return Err(PrepareError::Changed { path: path.clone(), what });
                }
                TargetHandle::File(file)
            }
            TargetKind::BlockDevice { path } => {
                // Through the claim's descriptor, so that a link that moved meanwhile cannot lead elsewhere.
                let claimed = self.claims.of(path).ok_or_else(|| PrepareError::Changed {
                    path: path.clone(),
                    what: "it was not claimed".to_owned(),
                })?;
                let through = PathBuf::from(format!("/proc/self/fd/{}", claimed.as_raw_fd()));
                let file = open_for(stream, writes, &through).map_err(|error| named(error, path))?;
                // Trims are judged by whether the device is the descriptor's own, so they go through the claim's.
                TargetHandle::BlockDevice { file, held: writes.then(|| Arc::clone(claimed)) }
            }
        };
        Ok(OpenTarget { handle, size, trim_by })
    }
}

pub(crate) fn identity(file: &File, path: &Path) -> Result<FileIdentity, PrepareError> {
    let stat = fs::fstat(file).map_err(|error| PrepareError::system("cannot look at", path, error))?;
    Ok((stat.st_dev, stat.st_ino))
}

fn named(error: PrepareError, name: &Path) -> PrepareError {
    match error {
        PrepareError::System { action, path: _, error, remedy } => {
            PrepareError::System { action, path: name.to_owned(), error, remedy }
        }
        other => other,
    }
}

fn flags_for(stream: &Stream, writes: bool) -> OFlags {
    let mut flags = if writes { OFlags::RDWR } else { OFlags::RDONLY } | OFlags::CLOEXEC;
    if stream.engine.mode == IoMode::Direct {
        flags |= OFlags::DIRECT;
    }
    flags | durable(stream.engine.durability)
}

fn durable(durability: Durability) -> OFlags {
    match durability {
        Durability::None => OFlags::empty(),
        Durability::Data => OFlags::from_bits_retain(fathom_io::DATA_SYNC),
        Durability::All => OFlags::SYNC,
    }
}

fn open_for(stream: &Stream, writes: bool, path: &Path) -> Result<File, PrepareError> {
    let flags = flags_for(stream, writes);
    let file = quiet::open(path, flags).map_err(|error| PrepareError::system("cannot open", path, error))?;
    fathom_io::advise(&file, stream.engine.advice);
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `O_SYNC` has the bit of `O_DSYNC` and another one, so that more than was asked for may be waited for unseen.
    #[test]
    fn files_are_opened_as_durable_as_asked_and_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, [0; 512]).unwrap();
        let flags_of = |durability: Durability| {
            let mut flags = OFlags::RDWR;
            flags |= durable(durability);
            let file = quiet::open(&path, flags).unwrap();
            fs::fcntl_getfl(&file).unwrap() & OFlags::SYNC
        };
        assert_eq!(flags_of(Durability::None), OFlags::empty());
        assert_eq!(flags_of(Durability::Data).bits(), fathom_io::DATA_SYNC);
        assert_eq!(flags_of(Durability::All), OFlags::SYNC);
        assert_ne!(OFlags::SYNC.bits(), fathom_io::DATA_SYNC);
    }
}
