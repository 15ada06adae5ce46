//! Preparation of a step: devices are claimed, files laid out, caches dropped, targets opened for each worker.
//!
//! Whether any of it may be done has been judged before; here it is made sure that what is opened is what was judged, and
//! that a preparation that fails or is stopped leaves no half-made file of ours behind.

use crate::caches;
pub use crate::claims::Claims;
use crate::claims::{closed_between_turns, not_taken, users_by_target};
use crate::lock::{self, Lock};
use crate::mark;
use crate::names;
use crate::probe;
use crate::quiet;
use crate::traces;
use crate::used::UsedFile;
pub use crate::used::{Tidied, Used, clean_up};
use fathom_io::{ClosedFile, OpenTarget, TargetHandle};
use fathom_pattern::{Filler, Trace};
use fathom_schema::{
    Content, Durability, EngineKind, Extent, Fill, Freshness, IoMode, LayoutRule, NameOperation, OpenRule,
    Repeats, Step, Stream, TargetKind, WorkerPlan,
};
use fathom_units::{Bytes, Ratio};
use rustix::fs::{self, FallocateFlags, Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ffi::CString;
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes written at once while laying out: large enough for full bandwidth, small enough to stop within milliseconds.
pub(crate) const CHUNK: usize = 1 << 20;

/// Files that are laid out and synced each by itself. Of more small ones, their filesystems are synced once when all are
/// written: a sync costs a flush of the device, 1 ms on a common one, and ten thousand of those are most of such a layout.
/// Large ones take longer than that each, and one sync of all could not be stopped.
const SYNCED_EACH_MAX: usize = 32;

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
    /// Another process of fathom writes to it.
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
            Some(Errno::FBIG) => "its filesystem does not hold files of this size",
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
                "{} is being written by another process of fathom; wait for its end, or put both loads into one job as \
                 two streams",
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
    created: Vec<PathBuf>,
    /// By stream, where it replays one.
    traces: Vec<Option<Arc<Trace>>>,
    files: BTreeMap<PathBuf, FileIdentity>,
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
    match lay_out(&step, claims, &mut created, progress, stop) {
        Ok(files) => {
            let claims = Arc::clone(claims);
            Ok(Arc::new(Ready { step, index, claims, created, traces, files }))
        }
        Err(error) => {
            created.iter().for_each(|path| claims.used.remove_incomplete(path));
            Err(error)
        }
    }
}

impl Ready {
    /// The step.
    pub fn step(&self) -> &Step {
        &self.step
    }

    /// Files that preparing it created.
    pub fn created(&self) -> &[PathBuf] {
        &self.created
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
            drops_cache: stream.engine.mode == IoMode::Buffered && stream.engine.open == OpenRule::DropCache,
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
                let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
                let fail = |error: io::Error| PrepareError::system("cannot create", path, error);
                let file = File::from(
                    fs::open(path, flags | OFlags::EXCL, Mode::from_raw_mode(0o644))
                        .map_err(|error| fail(error.into()))?,
                );
                mark::begin(&file, &used.run());
                let meta = file.metadata().map_err(fail)?;
                used.insert(path, UsedFile::written(&meta, true, 0..=target.size.0));
                self.claims.made().insert(path.clone());
            }
            Ok(OpenTarget {
                handle: TargetHandle::File(open_for(stream, stream.changes(), path)?),
                size: target.size.0,
                trim_by: stream.engine.trim_by,
            })
        };
        plan.extents.iter().map(open).collect()
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
                TargetHandle::BlockDevice(
                    open_for(stream, writes, &through).map_err(|error| named(error, path))?,
                )
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
    flags |= match stream.engine.durability {
        Durability::None => OFlags::empty(),
        Durability::Data => OFlags::DSYNC,
        Durability::All => OFlags::SYNC,
    };
    flags
}

fn open_for(stream: &Stream, writes: bool, path: &Path) -> Result<File, PrepareError> {
    let flags = flags_for(stream, writes);
    let file = quiet::open(path, flags).map_err(|error| PrepareError::system("cannot open", path, error))?;
    fathom_io::advise(&file, stream.engine.advice);
    Ok(file)
}

/// A file of a step while it is laid out.
struct LaidOut<'a> {
    path: &'a Path,
    size: Bytes,
    layout: LayoutRule,
    users: Vec<&'a Stream>,
    /// Absent where it is open only for its turns.
    file: Option<File>,
    /// Ranges without data.
    missing: Vec<std::ops::Range<u64>>,
    /// Its filesystem and inode.
    identity: FileIdentity,
    /// This changes it.
    is_laid_out: bool,
    /// The step writes to it.
    is_written: bool,
}

impl LaidOut<'_> {
    /// The file, opened once more where it was closed meanwhile.
    fn open_again(&self, claims: &Claims) -> Result<File, PrepareError> {
        let file = open_or_create(self.path, self.layout, claims, &mut Vec::new())?;
        if self.identity == identity(&file, self.path)? {
            return Ok(file);
        }
        Err(PrepareError::changed(self.path, "another file is there than was judged"))
    }
}

fn lay_out(
    step: &Step,
    claims: &Claims,
    created: &mut Vec<PathBuf>,
    progress: &mut dyn FnMut(&Progress<'_>),
    stop: &AtomicBool,
) -> Result<BTreeMap<PathBuf, FileIdentity>, PrepareError> {
    let mut identities = names::lay_out(step, claims)?;
    let closed = closed_between_turns(step);
    let mut files = Vec::new();
    for (index, (target, users)) in step.targets.iter().zip(users_by_target(step)).enumerate() {
        let TargetKind::File { path, layout, remove_after: _ } = &target.kind else { continue };
        if *layout == LayoutRule::Untouched {
            continue;
        }
        // A file that only the null engine is aimed at is never opened, so it need not be there either.
        if users.iter().all(|stream| stream.engine.kind == fathom_schema::EngineKind::Null) {
            continue;
        }
        let created_before = created.len();
        let file = open_or_create(path, *layout, claims, created)?;
        let is_new = created.len() > created_before;
        let opened = identity(&file, path)?;
        if !claims.admits(path, opened) {
            return Err(PrepareError::changed(path, "another file is there than was judged"));
        }
        let is_written = users.iter().any(|stream| stream.changes_target(index));
        if is_written {
            if closed[index] {
                // Another step may have it open all the time, and then the lock in the way is this run's own.
                if !claims.locks(opened) {
                    not_taken(&file, path)?;
                }
            } else {
                claims.lock(&file, path)?;
            }
        }
        identities.insert(path.clone(), opened);
        let missing = missing(&file, path, target.size, *layout)?;
        let meta = file.metadata().map_err(|error| PrepareError::system("cannot look at", path, error))?;
        let takes_space = matches!(
            layout,
            LayoutRule::Allocated | LayoutRule::AllocatedIfRoom | LayoutRule::Reserved | LayoutRule::Extended
        );
        let is_laid_out = is_new || !missing.is_empty() || (takes_space && meta.len() < target.size.0);
        // What is only read is locked while it is made: until this descriptor is closed. Where a step of this run writes
        // to it, the run has the lock already, and a second one would stand in its own way.
        if is_laid_out && !claims.locks(opened) && lock::for_writing(&file) == Lock::Taken {
            return Err(PrepareError::Taken { path: path.clone() });
        }
        let ours =
            claims.used.begin(path, &file, &meta, is_new, (is_written || is_laid_out).then_some(target.size));
        // What changes below must not make the mark void. That of a file being laid out says so until it is complete.
        let says_so = is_new && matches!(layout, LayoutRule::Written | LayoutRule::Appended);
        if ours && (is_written || is_laid_out) && !says_so {
            mark::begin(&file, &claims.used.run());
        } else if !ours && (is_written || is_laid_out) {
            // A mark that did not hold says nothing about what is written now.
            mark::take_away(&file);
        }
        let file = (!closed[index]).then_some(file);
        files.push(LaidOut {
            path,
            size: target.size,
            layout: *layout,
            users,
            file,
            missing,
            identity: opened,
            is_laid_out,
            is_written,
        });
    }
    fill(&files, claims, progress, stop)?;
    for laid_out in files {
        let again = laid_out.file.is_none().then(|| laid_out.open_again(claims)).transpose()?;
        let LaidOut { path, users, file, .. } = laid_out;
        let file = file.or(again).expect("it is open, or was opened again");
        caches::of_file(&file, path, &users, stop)?;
        let removes = |stream: &&Stream| stream.engine.kind.of_names().is_some_and(NameOperation::removes);
        if users.iter().any(removes) {
            claims.unlock(identity(&file, path)?);
        }
    }
    caches::of_devices(step, |path| claims.of(path), stop)?;
    Ok(identities)
}

/// Writes what is missing of files, or takes space for it, and marks those that are fathom's.
fn fill(
    files: &[LaidOut<'_>],
    claims: &Claims,
    progress: &mut dyn FnMut(&Progress<'_>),
    stop: &AtomicBool,
) -> Result<(), PrepareError> {
    let total: u64 = files.iter().flat_map(|file| &file.missing).map(|range| range.end - range.start).sum();
    let mut done = 0;
    let count = files.iter().filter(|file| !file.missing.is_empty()).count();
    let together = count > SYNCED_EACH_MAX && total / count as u64 <= CHUNK as u64;
    let mut filesystems = BTreeMap::new();
    for (number, laid_out) in files.iter().enumerate() {
        let LaidOut { path, size, layout, users, missing, identity: (filesystem, _), .. } = laid_out;
        let again = laid_out.file.is_none().then(|| laid_out.open_again(claims)).transpose()?;
        let file = laid_out.file.as_ref().or(again.as_ref()).expect("it is open, or was opened again");
        match layout {
            LayoutRule::Written | LayoutRule::Appended if !missing.is_empty() => {
                let fail = |error: io::Error| PrepareError::system("cannot lay out", path, error);
                if together && let Entry::Vacant(entry) = filesystems.entry(*filesystem) {
                    // Opened before anything is written: it is told of what fails from there on.
                    entry.insert((file.try_clone().map_err(fail)?, *path));
                }
                let writer = users.iter().find(|stream| stream.changes());
                let content = writer.map_or_else(random_content, |stream| stream.workload.content.clone());
                let mut report = |written: u64| {
                    done += written;
                    progress(&Progress { path, done: Bytes(done), total: Bytes(total) });
                };
                let seed = LAYOUT_SEED + number as u64;
                write_ranges(file, path, missing, (&content, seed), &mut report, stop)?;
                if !together {
                    fs::fsync(file).map_err(|error| fail(error.into()))?;
                }
            }
            LayoutRule::Allocated
            | LayoutRule::AllocatedIfRoom
            | LayoutRule::Reserved
            | LayoutRule::Extended => take_space(file, path, *layout, *size)?,
            LayoutRule::Written
            | LayoutRule::Appended
            | LayoutRule::Untouched
            | LayoutRule::MustExist
            | LayoutRule::Created => {}
        }
        // Before the filesystem is synced, so that there is no second journal of it. A mark that outlives its data does not
        // fit the file.
        let truncates = |stream: &&Stream| stream.engine.kind == EngineKind::Ftruncate;
        if laid_out.is_written {
            claims.used.laid_out(path, file, Some((*size, users.iter().any(truncates))));
        } else if laid_out.is_laid_out {
            claims.used.laid_out(path, file, None);
        }
    }
    for (file, path) in filesystems.values() {
        let fail = |error| PrepareError::system("cannot sync the filesystem of", path, error);
        fs::syncfs(file).map_err(fail)?;
    }
    Ok(())
}

fn open_or_create(
    path: &Path,
    layout: LayoutRule,
    claims: &Claims,
    created: &mut Vec<PathBuf>,
) -> Result<File, PrepareError> {
    let fail = |error| match error {
        Errno::EXIST => PrepareError::changed(path, "nothing was there, and now something is"),
        error => PrepareError::system("cannot create", path, error),
    };
    let flags = OFlags::CLOEXEC | OFlags::NONBLOCK;
    let existing = match layout {
        // Looked at only; a file that is read needs no write permission.
        LayoutRule::MustExist | LayoutRule::Untouched => {
            let file = quiet::open(path, flags | OFlags::RDONLY);
            file.map_err(|error| PrepareError::system("cannot open", path, error))?
        }
        LayoutRule::Written
        | LayoutRule::Appended
        | LayoutRule::Allocated
        | LayoutRule::AllocatedIfRoom
        | LayoutRule::Reserved
        | LayoutRule::Extended
        | LayoutRule::Created => {
            match fs::open(path, flags | OFlags::RDWR, Mode::empty()) {
                Ok(file) => File::from(file),
                Err(Errno::NOENT) => {
                    // The planner lets a folder be absent only where the job's dialect makes it.
                    names::make_folder_of(path)?;
                    let mode = Mode::from_raw_mode(0o644);
                    let file = fs::open(path, flags | OFlags::RDWR | OFlags::CREATE | OFlags::EXCL, mode)
                        .map_err(fail)?;
                    created.push(path.to_owned());
                    claims.made().insert(path.to_owned());
                    let file = File::from(file);
                    match layout {
                        LayoutRule::Written | LayoutRule::Appended => {
                            mark::begin_layout(&file, &claims.used.run());
                        }
                        _ => mark::begin(&file, &claims.used.run()),
                    }
                    return Ok(file);
                }
                // Complete and read-only: good enough to be read; what is missing shows below.
                Err(Errno::ACCESS | Errno::ROFS | Errno::PERM) => {
                    let file = fs::open(path, flags | OFlags::RDONLY, Mode::empty());
                    File::from(file.map_err(|error| PrepareError::system("cannot open", path, error))?)
                }
                Err(error) => return Err(PrepareError::system("cannot open", path, error)),
            }
        }
    };
    let stat = fs::fstat(&existing).map_err(|error| PrepareError::system("cannot look at", path, error))?;
    if fs::FileType::from_raw_mode(stat.st_mode) != fs::FileType::RegularFile {
        return Err(PrepareError::Changed {
            path: path.to_owned(),
            what: "it is not a regular file".to_owned(),
        });
    }
    Ok(existing)
}

fn length(file: &File, path: &Path) -> Result<u64, PrepareError> {
    let stat = fs::fstat(file).map_err(|error| PrepareError::system("cannot look at", path, error))?;
    Ok(u64::try_from(stat.st_size).unwrap_or(0))
}

/// Ranges of the file, up to `size`, that hold no written data.
fn missing(
    file: &File,
    path: &Path,
    size: Bytes,
    layout: LayoutRule,
) -> Result<Vec<std::ops::Range<u64>>, PrepareError> {
    let length = length(file, path)?;
    match layout {
        LayoutRule::MustExist if length < size.0 => {
            let what = format!("it has {} where {size} is needed", Bytes(length));
            Err(PrepareError::Changed { path: path.to_owned(), what })
        }
        LayoutRule::Untouched
        | LayoutRule::MustExist
        | LayoutRule::Created
        | LayoutRule::Allocated
        | LayoutRule::AllocatedIfRoom
        | LayoutRule::Reserved
        | LayoutRule::Extended => Ok(Vec::new()),
        LayoutRule::Written => {
            let mut ranges = holes(file, length.min(size.0));
            if length < size.0 {
                ranges.push(length..size.0);
            }
            Ok(ranges)
        }
        LayoutRule::Appended => Ok((length < size.0).then_some(length..size.0).into_iter().collect()),
    }
}

/// Holes and unwritten extents below `end`. A filesystem that cannot tell reports none.
fn holes(file: &File, end: u64) -> Vec<std::ops::Range<u64>> {
    let mut ranges = Vec::new();
    let mut at = 0;
    while at < end {
        let Ok(hole) = fs::seek(file, SeekFrom::Hole(at)) else { break };
        if hole >= end {
            break;
        }
        let data = fs::seek(file, SeekFrom::Data(hole)).unwrap_or(end).min(end);
        ranges.push(hole..data);
        at = data;
    }
    ranges
}

fn write_ranges(
    file: &File,
    path: &Path,
    ranges: &[std::ops::Range<u64>],
    (content, seed): (&Content, u64),
    report: &mut dyn FnMut(u64),
    stop: &AtomicBool,
) -> Result<(), PrepareError> {
    let fail = |error: io::Error| PrepareError::system("cannot lay out", path, error);
    // Ten thousand small files need not make a large buffer each.
    let longest = ranges.iter().map(|range| range.end - range.start).max().unwrap_or_default();
    let room = usize::try_from(longest).unwrap_or(CHUNK).min(CHUNK);
    let mut filler = Filler::new(content, seed, room);
    let mut buffer = vec![0; room];
    filler.prepare(&mut buffer);
    for range in ranges {
        let mut at = range.start;
        (&*file).seek_to(at).map_err(fail)?;
        while at < range.end {
            if stop.load(Ordering::Relaxed) {
                return Err(PrepareError::Stopped);
            }
            let length = usize::try_from(range.end - at).unwrap_or(room).min(room);
            filler.fill(&mut buffer[..length], at);
            (&*file).write_all(&buffer[..length]).map_err(fail)?;
            at += length as u64;
            report(length as u64);
        }
    }
    Ok(())
}

/// Seed of the data of the first file that is laid out; the next has the next, so that no two are alike. Any constant will
/// do, as the stream's own writes use other ones.
const LAYOUT_SEED: u64 = 0x6661_7468_6F6D;

trait SeekTo {
    fn seek_to(&mut self, at: u64) -> io::Result<()>;
}

impl SeekTo for &File {
    fn seek_to(&mut self, at: u64) -> io::Result<()> {
        io::Seek::seek(self, io::SeekFrom::Start(at)).map(|_| ())
    }
}

fn take_space(file: &File, path: &Path, layout: LayoutRule, size: Bytes) -> Result<(), PrepareError> {
    if length(file, path)? >= size.0 {
        return Ok(());
    }
    let allocate = |flags| fs::fallocate(file, flags, 0, size.0);
    match layout {
        LayoutRule::Extended => fs::ftruncate(file, size.0),
        LayoutRule::Reserved => match allocate(FallocateFlags::KEEP_SIZE) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            other => other,
        },
        _ => match allocate(FallocateFlags::empty()) {
            // Filesystems without allocation: extended by truncation, as fio does.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => fs::ftruncate(file, size.0),
            Err(Errno::NOSPC | Errno::DQUOT) if layout == LayoutRule::AllocatedIfRoom => Ok(()),
            other => other,
        },
    }
    .map_err(|error| PrepareError::system("cannot extend", path, error))
}

fn random_content() -> Content {
    Content {
        fill: Fill::Random,
        freshness: Freshness::Every,
        compressible: Ratio::ZERO,
        compress_chunk_bytes: 512,
        dedupable: Ratio::ZERO,
        repeats: Repeats::Any,
    }
}
