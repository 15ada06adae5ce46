//! What a run may open: devices that it holds, files that were judged before it began, and what it has made and locked
//! itself. It lays nothing out and does not know what is done with what it lets through.

use crate::lock::{self, Lock};
use crate::prepare::{FileIdentity, PrepareError, identity};
use crate::probe;
use crate::used::Used;
use fathom_schema::{DeviceNumber, Facts, FileKind, SHOWN_AS_READ_MAX, Step, Stream, TargetFact, TargetKind};
use fathom_units::Bytes;
use rustix::fs::{self, Mode, OFlags};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a run may open: block devices held for the whole run, and the files that were judged.
#[derive(Debug, Default)]
pub struct Claims {
    held: Vec<(DeviceNumber, Arc<File>)>,
    /// Those that are held exclusively, since they are written or trimmed.
    exclusive: BTreeSet<DeviceNumber>,
    /// Which device each path led to.
    devices: BTreeMap<PathBuf, DeviceNumber>,
    /// What was at the paths of files when the run began. A path that is not here was judged by nobody and is not
    /// compared: tests prepare steps without a look at the host.
    files: HashMap<PathBuf, Judged>,
    /// Files that this run made itself.
    made: Mutex<BTreeSet<PathBuf>>,
    /// Names that workers make files or folders at, and whether one of them has.
    names: Mutex<BTreeMap<PathBuf, Arc<AtomicBool>>>,
    /// Files that this run has opened, as it left them.
    pub(crate) used: Used,
    /// Files that are written, locked against other runs until the end of this one.
    locked: Mutex<BTreeMap<FileIdentity, File>>,
    /// Files and devices that are only read, with a word to whoever writes them.
    announced: Vec<File>,
    /// What the reader of the result should know.
    remarks: Vec<String>,
}

/// What was seen at the paths of a run when it was judged.
type Judgements<'a> = HashMap<&'a Path, &'a TargetFact>;

/// What was at a file's path when it was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judged {
    Absent,
    File(FileIdentity),
}

impl Claims {
    /// Claims every block device of the steps: exclusively (`O_EXCL`) where it is written or trimmed, which keeps the kernel
    /// from mounting it or giving it to md or dm meanwhile. What is opened must have the device number that `facts` have,
    /// and what is at the paths of files must still be what `facts` saw there.
    pub fn take(steps: &[Step], facts: &Facts) -> Result<Self, PrepareError> {
        let mut claims = Self::default();
        let facts = &facts.by_path();
        for target in steps.iter().flat_map(|step| &step.targets) {
            match &target.kind {
                TargetKind::BlockDevice { path } => claims.hold(path, steps, facts)?,
                TargetKind::File { path, .. } | TargetKind::Folder { path, .. } => {
                    claims.note(path, facts)?;
                }
                // Shared by all: nothing of anyone's is in it, and what is opened is looked at.
                TargetKind::MemoryDevice { .. }
                | TargetKind::Null
                | TargetKind::Sim(_)
                | TargetKind::Peer(_) => {}
            }
        }
        claims.lock_out_others(steps)?;
        Ok(claims)
    }

    /// The same, of the run with this name: what it writes carries that until it has ended.
    #[must_use]
    pub fn of_run(self, run: &str) -> Self {
        self.used.set_run(run);
        self
    }

    /// What the reader of the result should know about the targets: lower-case fragments.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// The files that the run has opened so far and opens later.
    pub fn used(&self) -> Used {
        self.used.clone()
    }

    /// Locks what is there and will be written. What is only read is shared, with a word when another run writes to it.
    fn lock_out_others(&mut self, steps: &[Step]) -> Result<(), PrepareError> {
        let mut written = BTreeMap::new();
        for step in steps {
            let changed = changed_targets(step);
            for (index, target) in step.targets.iter().enumerate() {
                if let TargetKind::File { path, .. } | TargetKind::BlockDevice { path } = &target.kind {
                    *written.entry(path).or_insert(false) |= changed.contains(&index);
                }
            }
        }
        let mut closed = HashMap::new();
        for step in steps {
            for (target, is_closed) in step.targets.iter().zip(closed_between_turns(step)) {
                if let TargetKind::File { path, .. } = &target.kind {
                    *closed.entry(path).or_insert(true) &= is_closed;
                }
            }
        }
        let is_closed = |path: &PathBuf| closed.get(path).is_some_and(|&closed| closed);
        for path in written.iter().filter_map(|(path, is_written)| is_written.then_some(path)) {
            self.lock_out_writers(path, is_closed(path))?;
        }
        let unlocked = written.iter().filter(|(path, is_written)| **is_written && is_closed(path)).count();
        if unlocked > 0 {
            self.remarks.push(format!(
                "{unlocked} files are open only for their turns; another process of fathom that writes to them meanwhile \
                 would not be noticed"
            ));
        }
        let mut unshown = 0_u64;
        // Afterwards, so that a file that this run writes under another name is not taken for another run's.
        for path in written.iter().filter_map(|(path, is_written)| (!is_written).then_some(path)) {
            let behind = self.written_behind(path);
            if behind.is_some() || lock::is_written_elsewhere(path) {
                let path = behind.as_deref().unwrap_or(path).display();
                self.remarks.push(format!("{path} is being written by another process of fathom meanwhile"));
            } else if self.of(path).is_some() {
                self.used.expect_still(path);
            }
            if is_closed(path) {
                continue;
            }
            if self.announced.len() < SHOWN_AS_READ_MAX {
                self.announced.extend(lock::for_reading(path));
            } else {
                unshown += 1;
            }
        }
        if unshown > 0 {
            self.remarks.push(format!(
                "of the files that are only read, {unshown} are not shown as such to other processes of fathom: that would \
                 take as many descriptors"
            ));
        }
        Ok(())
    }

    /// Locks a file or device that is there and will be written; one that is `closed` between its turns only for a look.
    fn lock_out_writers(&mut self, path: &Path, closed: bool) -> Result<(), PrepareError> {
        let is_read = if let Some(device) = self.of(path) {
            if lock::for_writing(device) == Lock::Taken {
                return Err(PrepareError::Taken { path: path.to_owned() });
            }
            if let Some(path) = self.written_behind(path) {
                return Err(PrepareError::Taken { path });
            }
            lock::is_read_elsewhere(path)
        } else if matches!(self.files.get(path), Some(Judged::File(_))) {
            let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK;
            let file = fs::open(path, flags, Mode::empty())
                .map_err(|error| PrepareError::system("cannot open", path, error))?;
            let file = File::from(file);
            if closed {
                not_taken(&file, path)?;
            } else if self.lock(&file, path)? == Lock::Impossible {
                self.remarks.push(format!(
                    "{} cannot be locked; another process of fathom that writes to it would not be noticed",
                    path.display()
                ));
            }
            lock::is_read_elsewhere(path)
        } else {
            false
        };
        if is_read {
            let path = path.display();
            self.remarks.push(format!("{path} is being read by another process of fathom meanwhile"));
        }
        Ok(())
    }

    /// The file behind a claimed loop device where another process writes to that. It is not locked: another loop device may show
    /// another part of it. Its name is that of the mount namespace which made the device, so that from within another it may not be found.
    fn written_behind(&self, path: &Path) -> Option<PathBuf> {
        let number = self.devices.get(path)?;
        let node = PathBuf::from(format!("/sys/dev/block/{}:{}", number.major, number.minor));
        // Of a partition the folder is within that of its device.
        let told = ["loop/backing_file", "../loop/backing_file"]
            .iter()
            .find_map(|file| std::fs::read_to_string(node.join(file)).ok());
        let file = told.map(|text| PathBuf::from(text.trim_end_matches('\n')))?;
        // A job may read through the device what it writes to the file.
        let is_own = file.metadata().is_ok_and(|meta| self.locks((meta.dev(), meta.ino())));
        (!is_own && lock::is_written_elsewhere(&file)).then_some(file)
    }

    /// Keeps other runs from writing to an open file until the end of this one.
    pub(crate) fn lock(&self, file: &File, path: &Path) -> Result<Lock, PrepareError> {
        let mut locked = self.locked.lock().unwrap_or_else(PoisonError::into_inner);
        let identity = identity(file, path)?;
        if locked.contains_key(&identity) {
            return Ok(Lock::Held);
        }
        let answer = lock::for_writing(file);
        match answer {
            Lock::Taken => return Err(PrepareError::Taken { path: path.to_owned() }),
            Lock::Impossible => {}
            Lock::Held => {
                let kept =
                    file.try_clone().map_err(|error| PrepareError::system("cannot hold", path, error))?;
                locked.insert(identity, kept);
            }
        }
        Ok(answer)
    }

    /// Files whose lock the run has.
    pub(crate) fn locked_files(&self) -> BTreeSet<FileIdentity> {
        self.locked.lock().unwrap_or_else(PoisonError::into_inner).keys().copied().collect()
    }

    /// Gives the lock of a file back: while a descriptor is open, removing its name frees nothing and would take no time.
    pub(crate) fn unlock(&self, file: FileIdentity) {
        self.locked.lock().unwrap_or_else(PoisonError::into_inner).remove(&file);
    }

    /// Whether the run shows other processes that it reads a file, up to its end.
    pub(crate) fn shows_as_read(&self, file: FileIdentity) -> bool {
        let is_it = |shown: &File| shown.metadata().is_ok_and(|meta| (meta.dev(), meta.ino()) == file);
        self.announced.iter().any(is_it)
    }

    /// Whether the run has a file locked for writing.
    pub(crate) fn locks(&self, file: FileIdentity) -> bool {
        self.locked.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&file)
    }

    /// Looks once more at the content of the devices that are held exclusively: between the first look and the claim
    /// someone may have made a filesystem on one, while a person was being asked.
    pub fn unchanged(&self, facts: &Facts) -> Result<(), PrepareError> {
        let facts = facts.by_path();
        for (path, number) in &self.devices {
            let Some(device) = facts.get(path.as_path()).and_then(|fact| fact.device.as_ref()) else {
                continue;
            };
            if self.exclusive.contains(number) && probe::content_of(path, device) != device.content {
                let what = "its content is another one than was judged".to_owned();
                return Err(PrepareError::Changed { path: path.clone(), what });
            }
        }
        Ok(())
    }

    fn hold(&mut self, path: &Path, steps: &[Step], facts: &Judgements<'_>) -> Result<(), PrepareError> {
        if self.devices.contains_key(path) {
            return Ok(());
        }
        let number = judged_number(path, facts)?;
        self.devices.insert(path.to_owned(), number);
        // One device under two names is one claim.
        if self.of(path).is_some() {
            return Ok(());
        }
        let same = |target: &TargetKind| match target {
            TargetKind::BlockDevice { path } => judged_number(path, facts).is_ok_and(|other| other == number),
            TargetKind::File { .. }
            | TargetKind::Folder { .. }
            | TargetKind::MemoryDevice { .. }
            | TargetKind::Null
            | TargetKind::Sim(_)
            | TargetKind::Peer(_) => false,
        };
        let changes = steps.iter().any(|step| is_changed(step, &same));
        let flags = if changes { OFlags::RDWR | OFlags::EXCL } else { OFlags::RDONLY };
        let file = fs::open(path, flags | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())
            .map_err(|error| PrepareError::system("cannot claim", path, error))?;
        let file = File::from(file);
        same_device(path, &file, number)?;
        if changes {
            self.exclusive.insert(number);
        }
        self.held.push((number, Arc::new(file)));
        Ok(())
    }

    fn note(&mut self, path: &Path, facts: &Judgements<'_>) -> Result<(), PrepareError> {
        let Some(fact) = facts.get(path) else { return Ok(()) };
        let changed = |what: String| Err(PrepareError::changed(path, what));
        let judged = match (fact.kind, std::fs::metadata(path)) {
            (FileKind::Absent | FileKind::NoFolder, Err(error))
                if error.kind() == io::ErrorKind::NotFound =>
            {
                Judged::Absent
            }
            (FileKind::Absent | FileKind::NoFolder, _) => {
                return changed("nothing was there, and now something is".to_owned());
            }
            (FileKind::Folder, Ok(meta)) => {
                if !meta.is_dir() {
                    return changed("a folder was judged, and now something else is there".to_owned());
                }
                Judged::File((meta.dev(), meta.ino()))
            }
            (_, Ok(meta)) => {
                let size = fact.file.as_ref().map_or(Bytes(meta.len()), |file| file.size);
                if !meta.is_file() || meta.len() != size.0 {
                    return changed(format!("a file of {size} was judged, {} are there", Bytes(meta.len())));
                }
                Judged::File((meta.dev(), meta.ino()))
            }
            (_, Err(error)) => return Err(PrepareError::system("cannot look at", path, error)),
        };
        self.files.insert(path.to_owned(), judged);
        Ok(())
    }

    /// Whether what was opened at a path is what was judged, or what this run made itself.
    pub(crate) fn admits(&self, path: &Path, opened: FileIdentity) -> bool {
        match self.files.get(path) {
            None => true,
            Some(Judged::File(judged)) => *judged == opened || self.made().contains(path),
            Some(Judged::Absent) => self.made().contains(path),
        }
    }

    pub(crate) fn made(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a worker has made what is at a name; all workers share the answer.
    pub(crate) fn name(&self, path: &Path) -> Arc<AtomicBool> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(names.entry(path.to_owned()).or_default())
    }

    pub(crate) fn of(&self, path: &Path) -> Option<&Arc<File>> {
        let number = self.devices.get(path)?;
        self.held.iter().find(|(held, _)| held == number).map(|(_, file)| file)
    }
}

/// Whether no other process writes to a file now.
pub(crate) fn not_taken(file: &File, path: &Path) -> Result<(), PrepareError> {
    match lock::for_writing(file) {
        Lock::Taken => Err(PrepareError::Taken { path: path.to_owned() }),
        Lock::Held | Lock::Impossible => Ok(()),
    }
}

/// By target of a step: whether it is a file that all its workers have open for their turns only. What holds a descriptor of
/// each of those for longer meets the limit that they are there to keep.
pub(crate) fn closed_between_turns(step: &Step) -> Vec<bool> {
    let (mut closed, mut open) = (vec![false; step.targets.len()], vec![false; step.targets.len()]);
    for stream in &step.streams {
        for plan in &stream.workers {
            let takes_turns = stream.open_at_once(plan, &step.targets).is_some();
            let marks = if takes_turns { &mut closed } else { &mut open };
            plan.extents.iter().for_each(|extent| marks[extent.target as usize] = true);
        }
    }
    closed.into_iter().zip(open).map(|(closed, open)| closed && !open).collect()
}

fn judged_number(path: &Path, facts: &Judgements<'_>) -> Result<DeviceNumber, PrepareError> {
    let judged = facts.get(path).and_then(|fact| fact.device.as_ref());
    judged
        .map(|device| device.number)
        .ok_or_else(|| PrepareError::Changed { path: path.to_owned(), what: "no facts about it".to_owned() })
}

pub(crate) fn same_device(path: &Path, file: &File, judged: DeviceNumber) -> Result<(), PrepareError> {
    let stat = fs::fstat(file).map_err(|error| PrepareError::system("cannot look at", path, error))?;
    let is_block = fs::FileType::from_raw_mode(stat.st_mode) == fs::FileType::BlockDevice;
    let found = DeviceNumber { major: fs::major(stat.st_rdev), minor: fs::minor(stat.st_rdev) };
    if is_block && found == judged {
        return Ok(());
    }
    let what = format!(
        "device {}:{} was judged, {}:{} is there",
        judged.major, judged.minor, found.major, found.minor
    );
    Err(PrepareError::Changed { path: path.to_owned(), what })
}

/// True when a stream of the step writes or trims a target that `is_it`, whatever its index there.
pub(crate) fn is_changed(step: &Step, is_it: &dyn Fn(&TargetKind) -> bool) -> bool {
    changed_by(step, &|_| true).any(|index| step.targets.get(index).is_some_and(|target| is_it(&target.kind)))
}

/// Indices of the targets that streams of the step write or trim. The null engine opens nothing.
pub(crate) fn changed_targets(step: &Step) -> BTreeSet<usize> {
    changed_by(step, &|stream| stream.engine.kind != fathom_schema::EngineKind::Null).collect()
}

/// Indices of the targets that such streams write or trim, each as often as it comes.
fn changed_by<'a>(step: &'a Step, is_meant: &'a dyn Fn(&Stream) -> bool) -> impl Iterator<Item = usize> + 'a {
    let streams = step.streams.iter().filter(|stream| is_meant(stream) && stream.changes());
    streams.flat_map(|stream| {
        let targets =
            stream.workers.iter().flat_map(|plan| &plan.extents).map(|extent| extent.target as usize);
        targets.filter(|&target| stream.changes_target(target))
    })
}

/// The streams of a step that work on each of its targets, in their order.
pub(crate) fn users_by_target(step: &Step) -> Vec<Vec<&Stream>> {
    let mut users: Vec<Vec<&Stream>> = vec![Vec::new(); step.targets.len()];
    for stream in &step.streams {
        for extent in stream.workers.iter().flat_map(|plan| &plan.extents) {
            let users = &mut users[extent.target as usize];
            if users.last().is_none_or(|last| !std::ptr::eq(*last, stream)) {
                users.push(stream);
            }
        }
    }
    users
}
