//! Files of a step are made and laid out: what is missing is written or takes its space, under the lock of who writes, and marked
//! as fathom's. Whether it may be done was judged before; what is there is what was judged, or nothing is done.

use crate::caches;
use crate::claims::{Claims, closed_between_turns, not_taken, users_by_target};
use crate::lock::{self, Lock};
use crate::mark;
use crate::names;
use crate::prepare::{CHUNK, FileIdentity, PrepareError, Progress, identity};
use crate::quiet;
use crate::unable::Unable;
use fathom_pattern::Filler;
use fathom_schema::{
    Content, EngineKind, Fill, Freshness, LayoutRule, NameOperation, Repeats, Step, Stream, TargetKind,
};
use fathom_units::{Bytes, Ratio};
use rustix::fs::{self, FallocateFlags, Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Files that are laid out and synced each by itself. Of more small ones, their filesystems are synced once when all are
/// written: a sync costs a flush of the device, 1 ms on a common one, and ten thousand of those are most of such a layout.
/// Large ones take longer than that each, and one sync of all could not be stopped.
const SYNCED_EACH_MAX: usize = 32;

/// A file of a step while it is laid out.
struct LaidOut<'a> {
    /// Its place among the step's targets.
    index: usize,
    path: &'a Path,
    size: Bytes,
    layout: LayoutRule,
    users: Vec<&'a Stream>,
    /// Absent where it is open only for its turns.
    file: Option<File>,
    /// Ranges without data.
    missing: Vec<Range<u64>>,
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

    /// Has what was written of it on the device.
    fn sync(&self, claims: &Claims) -> Result<(), PrepareError> {
        let again = self.file.is_none().then(|| self.open_again(claims)).transpose()?;
        let file = self.file.as_ref().or(again.as_ref()).expect("it is open, or was opened again");
        fs::fsync(file).map_err(|error| PrepareError::system("cannot lay out", self.path, error))
    }
}

/// Makes the files and folders of a step and lays them out. Streams whose own these are, and that fail by themselves, are taken
/// out into `unable` where that is not possible.
pub(crate) fn lay_out(
    step: &Step,
    claims: &Claims,
    unable: &mut Unable,
    created: &mut Vec<PathBuf>,
    progress: &mut dyn FnMut(&Progress<'_>),
    stop: &AtomicBool,
) -> Result<HashMap<PathBuf, FileIdentity>, PrepareError> {
    let mut identities = names::lay_out(step, claims, unable)?;
    let closed = closed_between_turns(step);
    let mut files = Vec::new();
    for (index, users) in users_by_target(step).into_iter().enumerate() {
        // Others of its files cannot be made either; this one would be left behind for nobody.
        if unable.all_users(step, index) {
            continue;
        }
        let before = created.len();
        match begin(step, index, users, closed[index], claims, created, &mut identities) {
            Ok(laid_out) => files.extend(laid_out),
            Err(error) => {
                unable.take(step, index, error)?;
                created.drain(before..).for_each(|path| claims.used.remove_incomplete(&path));
            }
        }
    }
    let mut lost = |index, path: &Path, error| {
        unable.take(step, index, error)?;
        if created.iter().any(|made| made == path) {
            claims.used.remove_incomplete(path);
        }
        Ok(())
    };
    fill(&mut files, claims, progress, stop, &mut lost)?;
    for laid_out in files {
        let (index, path) = (laid_out.index, laid_out.path);
        if let Err(error) = leave(laid_out, claims, stop) {
            lost(index, path, error)?;
        }
    }
    caches::of_devices(step, |path| claims.of(path), stop)?;
    Ok(identities)
}

/// Drops from the caches what is not to be there when the load begins, and closes the file.
fn leave(laid_out: LaidOut<'_>, claims: &Claims, stop: &AtomicBool) -> Result<(), PrepareError> {
    let again = laid_out.file.is_none().then(|| laid_out.open_again(claims)).transpose()?;
    let LaidOut { path, users, file, .. } = laid_out;
    let file = file.or(again).expect("it is open, or was opened again");
    caches::of_file(&file, path, &users, stop)?;
    let removes = |stream: &&Stream| stream.engine.kind.of_names().is_some_and(NameOperation::removes);
    if users.iter().any(removes) {
        claims.unlock(identity(&file, path)?);
    }
    Ok(())
}

/// Opens or makes a file that is to be laid out, and takes the lock of those that are written; `None` where there is nothing to
/// do.
fn begin<'a>(
    step: &'a Step,
    index: usize,
    users: Vec<&'a Stream>,
    is_closed: bool,
    claims: &Claims,
    created: &mut Vec<PathBuf>,
    identities: &mut HashMap<PathBuf, FileIdentity>,
) -> Result<Option<LaidOut<'a>>, PrepareError> {
    let target = &step.targets[index];
    let TargetKind::File { path, layout, remove_after: _ } = &target.kind else { return Ok(None) };
    // A file that only the null engine is aimed at is never opened, so it need not be there either.
    let is_opened = users.iter().any(|stream| stream.engine.kind != EngineKind::Null);
    if *layout == LayoutRule::Untouched || !is_opened {
        return Ok(None);
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
        if is_closed {
            // Another step may have it open all the time, and then the lock in the way is this run's own.
            if !claims.locks(opened) {
                not_taken(&file, path)?;
            }
        } else {
            claims.lock(&file, path)?;
        }
    }
    identities.insert(path.clone(), opened);
    let missing = missing(&file, path, target.size, *layout, &reach(&users, index))?;
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
    let file = (!is_closed).then_some(file);
    Ok(Some(LaidOut {
        index,
        path,
        size: target.size,
        layout: *layout,
        users,
        file,
        missing,
        identity: opened,
        is_laid_out,
        is_written,
    }))
}

/// Writes what is missing of files, or takes space for it, and marks those that are fathom's. Those of which `lost` takes the
/// error are left out.
fn fill(
    files: &mut Vec<LaidOut<'_>>,
    claims: &Claims,
    progress: &mut dyn FnMut(&Progress<'_>),
    stop: &AtomicBool,
    lost: &mut dyn FnMut(usize, &Path, PrepareError) -> Result<(), PrepareError>,
) -> Result<(), PrepareError> {
    let total: u64 = files.iter().flat_map(|file| &file.missing).map(|range| range.end - range.start).sum();
    let count = files.iter().filter(|file| !file.missing.is_empty()).count();
    let together = count > SYNCED_EACH_MAX && total / count as u64 <= CHUNK as u64;
    let mut filling =
        Filling { claims, total: Bytes(total), done: 0, together, filesystems: BTreeMap::new() };
    let mut kept = Vec::with_capacity(files.len());
    for (number, laid_out) in files.drain(..).enumerate() {
        match filling.fill(&laid_out, LAYOUT_SEED + number as u64, progress, stop) {
            Ok(()) => kept.push(laid_out),
            Err(error) => lost(laid_out.index, laid_out.path, error)?,
        }
    }
    *files = kept;
    for (&filesystem, file) in &filling.filesystems {
        if fs::syncfs(file).is_err() {
            sync_each(files, filesystem, claims, lost)?;
        }
    }
    Ok(())
}

/// Syncs what was written on a filesystem file by file, where syncing all of it failed: that does not say whose data was
/// lost, and it may be that of nobody here.
fn sync_each(
    files: &mut Vec<LaidOut<'_>>,
    filesystem: u64,
    claims: &Claims,
    lost: &mut dyn FnMut(usize, &Path, PrepareError) -> Result<(), PrepareError>,
) -> Result<(), PrepareError> {
    let mut kept = Vec::with_capacity(files.len());
    for laid_out in files.drain(..) {
        let is_written = !laid_out.missing.is_empty() && laid_out.identity.0 == filesystem;
        match if is_written { laid_out.sync(claims) } else { Ok(()) } {
            Ok(()) => kept.push(laid_out),
            Err(error) => lost(laid_out.index, laid_out.path, error)?,
        }
    }
    *files = kept;
    Ok(())
}

/// What filling one file and the next have in common.
struct Filling<'a> {
    claims: &'a Claims,
    total: Bytes,
    done: u64,
    /// Whether their filesystems are synced when all are written, instead of each file by itself.
    together: bool,
    /// A file of each filesystem that is to be synced.
    filesystems: BTreeMap<u64, File>,
}

impl Filling<'_> {
    fn fill(
        &mut self,
        laid_out: &LaidOut<'_>,
        seed: u64,
        progress: &mut dyn FnMut(&Progress<'_>),
        stop: &AtomicBool,
    ) -> Result<(), PrepareError> {
        let Self { claims, total, done, together, filesystems } = self;
        let LaidOut { path, size, layout, users, missing, identity: (filesystem, _), .. } = laid_out;
        let again = laid_out.file.is_none().then(|| laid_out.open_again(claims)).transpose()?;
        let file = laid_out.file.as_ref().or(again.as_ref()).expect("it is open, or was opened again");
        match layout {
            LayoutRule::Written | LayoutRule::Appended if !missing.is_empty() => {
                let fail = |error: io::Error| PrepareError::system("cannot lay out", path, error);
                if *together && let Entry::Vacant(entry) = filesystems.entry(*filesystem) {
                    // Opened before anything is written: it is told of what fails from there on.
                    entry.insert(file.try_clone().map_err(fail)?);
                }
                // Of several that use it, who writes goes first. What is only read holds what its reader says of content: that of
                // a device which compresses is read as fast as it is made small.
                let writer = users.iter().find(|stream| stream.changes()).or(users.first());
                let content = writer.map_or_else(random_content, |stream| stream.workload.content.clone());
                let mut report = |written: u64| {
                    *done += written;
                    progress(&Progress { path, done: Bytes(*done), total: *total });
                };
                write_ranges(file, path, missing, (&content, seed), &mut report, stop)?;
                if !*together {
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
        Ok(())
    }
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
                    names::make_folder_of(path, claims)?;
                    let create = || {
                        let flags = flags | OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
                        fs::open(path, flags, Mode::from_raw_mode(0o644))
                    };
                    let mut made = create();
                    // Another run that has made the folder may remove it at its end, while nothing is in it.
                    if made.as_ref().is_err_and(|error| *error == Errno::NOENT) {
                        names::make_folder_of(path, claims)?;
                        made = create();
                    }
                    let file = made.map_err(fail)?;
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

/// From where to where operations of its users begin in a target.
fn reach(users: &[&Stream], index: usize) -> Range<u64> {
    let spans = users.iter().flat_map(|stream| {
        let extents = stream.workers.iter().flat_map(|worker| &worker.extents);
        let ours = extents.filter(|extent| extent.target as usize == index);
        ours.map(|extent| extent.start.0..extent.start.0.saturating_add(stream.workload.span(extent)))
    });
    spans.reduce(|all, one| all.start.min(one.start)..all.end.max(one.end)).unwrap_or(0..0)
}

/// Ranges of the file, up to `size`, that hold no written data: all behind its end, and those before it where somebody goes. Holes
/// that nobody is aimed at belong to whoever made the file.
fn missing(
    file: &File,
    path: &Path,
    size: Bytes,
    layout: LayoutRule,
    reach: &Range<u64>,
) -> Result<Vec<Range<u64>>, PrepareError> {
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
            let known = holes(file, length.min(size.0)).into_iter();
            let clipped = known.map(|hole| hole.start.max(reach.start)..hole.end.min(reach.end));
            let mut ranges: Vec<Range<u64>> = clipped.filter(|hole| !hole.is_empty()).collect();
            if length < size.0 {
                ranges.push(length..size.0);
            }
            Ok(ranges)
        }
        LayoutRule::Appended => Ok((length < size.0).then_some(length..size.0).into_iter().collect()),
    }
}

/// Holes and unwritten extents below `end`. A filesystem that cannot tell reports none.
fn holes(file: &File, end: u64) -> Vec<Range<u64>> {
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
    ranges: &[Range<u64>],
    (content, seed): (&Content, u64),
    report: &mut dyn FnMut(u64),
    stop: &AtomicBool,
) -> Result<(), PrepareError> {
    let fail = |error: io::Error| PrepareError::system("cannot lay out", path, error);
    // Ten thousand small files need not make a large buffer each.
    let longest = ranges.iter().map(|range| range.end - range.start).max().unwrap_or_default();
    let room = usize::try_from(longest).unwrap_or(CHUNK).min(CHUNK);
    // Stamps belong to writes of the load; zeroes and patterns are laid out as they are.
    let content = match content.fill {
        Fill::Random => content.clone(),
        Fill::Zero | Fill::Pattern(_) => Content { freshness: Freshness::Every, ..content.clone() },
    };
    let mut filler = Filler::new(&content, seed, room);
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
