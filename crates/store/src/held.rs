//! Whether a run goes on, which its file tells nobody by itself: a writer that was killed could not say so. Owns that decision for
//! all who ask: those who delete, take in, mark. Does not know what is in a run.

use crate::beside::beside;
use crate::{StoreError, overview};
use fathom_schema::Record;
use rustix::process::{Flock, FlockType, fcntl_getlk};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The byte of the WAL index (`-shm`) that every process with a connection holds a shared lock on, the deadman switch of
/// `SQLite`: `UNIX_SHM_DMS` in its `os_unix.c`, behind the eight locks at 120.
const DEADMAN_BYTE: u64 = 128;
/// How long a run under load tells nothing, milliseconds: an interval, and a second until that is committed.
const SILENT_MS: u64 = 3000;
/// How often and how far apart it is looked whether a silent run's file is held: over a second, which reading takes at most of
/// any but the longest records.
const LOOKS: u32 = 40;
const BETWEEN_LOOKS: Duration = Duration::from_millis(30);

/// The runs that this process writes. As global as the locks of a process, which do not show to itself.
static WRITTEN_HERE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn written_here() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // A set of paths is whole whatever went wrong meanwhile.
    WRITTEN_HERE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The runs that this process reads, how often, and the files beside them that were opened meanwhile to ask who has them: to
/// close one would end the locks that the readers have (fcntl(2)), and with them the state that they read.
static READ_HERE: Mutex<BTreeMap<PathBuf, Readers>> = Mutex::new(BTreeMap::new());

#[derive(Debug, Default)]
struct Readers {
    count: usize,
    /// One of each file that lay there is enough to ask again.
    asked: Vec<File>,
}

fn read_here() -> MutexGuard<'static, BTreeMap<PathBuf, Readers>> {
    READ_HERE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// That this process reads the run in a file, for as long as this lives: from before it is opened until it is closed.
#[derive(Debug)]
pub(crate) struct Reading(PathBuf);

impl Reading {
    pub(crate) fn of(path: &Path) -> Self {
        // One that is not there cannot be read, which its opening will say.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        read_here().entry(path.clone()).or_default().count += 1;
        Self(path)
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        let mut all = read_here();
        if let Some(readers) = all.get_mut(&self.0) {
            readers.count -= 1;
            if readers.count == 0 {
                all.remove(&self.0);
            }
        }
    }
}

/// That this process writes the run in a file, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Writing(PathBuf);

impl Writing {
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let path = fs::canonicalize(path)?;
        written_here().insert(path.clone());
        Ok(Self(path))
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        written_here().remove(&self.0);
    }
}

fn is_written_here(path: &Path) -> bool {
    fs::canonicalize(path).is_ok_and(|path| written_here().contains(&path))
}

/// Whether somebody has the run in `path` open: its writer, in this process or another, until the run ends; and for the moment
/// that takes, another process that reads it. Of a run that was killed nobody has.
///
/// # Errors
/// What the system refuses.
pub fn is_held(path: &Path) -> Result<bool, StoreError> {
    // Asked first, and the file beside is left alone then: to close it would end the locks that this process has on it
    // (fcntl(2)), after which everybody else takes the run for one that was killed. Nobody here begins to write or to read
    // between the question and the closing of the file.
    let (written, mut all) = (written_here(), read_here());
    let canonical = fs::canonicalize(path).ok();
    if canonical.as_ref().is_some_and(|path| written.contains(path)) {
        return Ok(true);
    }
    let index = beside(path, "-shm");
    let io = |source| StoreError::Io { doing: "look at", path: index.clone(), source };
    let there = match fs::metadata(&index) {
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(io(error)),
    };
    // A file that was replaced while somebody here reads the one before says nothing of the new one.
    let is_it = |file: &File| {
        file.metadata().is_ok_and(|known| (known.dev(), known.ino()) == (there.dev(), there.ino()))
    };
    let ask = |file: &File| {
        let wanted = Flock { start: DEADMAN_BYTE, length: 1, ..Flock::from(FlockType::WriteLock) };
        fcntl_getlk(file, &wanted).map(|in_the_way| in_the_way.is_some()).map_err(|error| io(error.into()))
    };
    let readers = canonical.and_then(|path| all.get_mut(&path));
    if let Some(known) = readers.as_ref().and_then(|readers| readers.asked.iter().find(|file| is_it(file))) {
        return ask(known);
    }
    let file = match File::open(&index) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(io(error)),
    };
    let found = ask(&file);
    if let Some(readers) = readers {
        readers.asked.push(file);
    }
    found
}

/// The run in `path` as [`overview`] has it, and whether it goes on at `now_ms`, the wall clock's time in milliseconds. Of one
/// that has told nothing for some seconds this takes more than a second to say.
///
/// # Errors
/// Those of [`overview`] and [`is_held`].
pub fn with_progress(path: &Path, now_ms: u64) -> Result<(Record, bool), StoreError> {
    // Asked before it is read: what a run that has let go of its file wrote is all there then.
    let was_held = is_held(path)?;
    let record = overview(path)?;
    let told_lately = now_ms.saturating_sub(record.known_until_ms()) <= SILENT_MS;
    let goes_on = was_held && record.finished.is_none() && (told_lately || stays_held(path)?);
    Ok((record, goes_on))
}

/// A run that tells nothing may be preparing, or may have been killed while somebody reads its record: only the first holds its
/// file all the time.
fn stays_held(path: &Path) -> Result<bool, StoreError> {
    for _ in 0..LOOKS {
        if is_written_here(path) {
            return Ok(true);
        }
        std::thread::park_timeout(BETWEEN_LOOKS);
        if !is_held(path)? {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader;
    use crate::tests::{RUN, run_started};
    use crate::{Writer, remove};
    use std::process::Command;

    /// Locks of this process on a file, as the kernel lists them: `1: POSIX  ADVISORY  READ 1234 fe:00:5678 128 128`.
    fn locks_on(path: &Path) -> usize {
        let inode = fs::metadata(path).unwrap().ino();
        let all = fs::read_to_string("/proc/locks").unwrap();
        let is_own = |line: &&str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words.get(4) == Some(&std::process::id().to_string().as_str())
                && words.get(5).is_some_and(|place| place.ends_with(&format!(":{inode}")))
        };
        all.lines().filter(is_own).count()
    }

    /// The run of a writer that was killed, read here: whoever asks whether it is held leaves the locks of the reader alone.
    #[test]
    fn to_ask_ends_no_lock_of_a_reader_here() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(folder.path(), RUN).unwrap();
        writer.append(&run_started()).unwrap();
        // Its files as they are while it writes.
        let killed = folder.path().join("killed");
        fs::create_dir(&killed).unwrap();
        let files = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        // To copy them here would end the locks of the writer.
        let copied =
            Command::new("cp").args(files.filter(|path| path.is_file())).arg(&killed).status().unwrap();
        assert!(copied.success());
        let path = killed.join(writer.path().file_name().unwrap());
        let kept = rusqlite::Connection::open(&path).unwrap();
        kept.query_row("SELECT count(*) FROM sqlite_schema", (), |_| Ok(())).unwrap();
        let opened = reader::open(&path).unwrap();
        let index = beside(&path, "-shm");
        // The kernel lists them piece by piece, while those of others come and go: one may be missed.
        let are_there = |wanted: bool| (0..100).any(|_| (locks_on(&index) > 0) == wanted);
        assert!(are_there(true), "it has locks");
        for _ in 0..3 {
            is_held(&path).unwrap();
        }
        assert!(are_there(true), "they are still there");
        // What lies there instead is asked, not what lay there before.
        let aside = folder.path().join("aside");
        fs::rename(&index, &aside).unwrap();
        assert!(!is_held(&path).unwrap());
        fs::rename(&aside, &index).unwrap();
        drop(opened);
        is_held(&path).unwrap();
        assert!(are_there(false), "nothing is kept open for readers that have gone");
    }

    #[test]
    fn what_this_process_writes_is_held_and_stays_so() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(folder.path(), RUN).unwrap();
        writer.append(&run_started()).unwrap();
        let path = writer.path().to_owned();
        let alias = folder.path().join(".").join(path.file_name().unwrap());
        for path in [&path, &alias] {
            assert!(is_held(path).unwrap());
            assert!(matches!(remove(path), Err(StoreError::Held { .. })));
            assert!(with_progress(path, u64::MAX).unwrap().1, "however long it tells nothing");
        }
        drop(writer);
        assert!(!is_held(&path).unwrap());
        assert!(!with_progress(&path, 0).unwrap().1, "it told of itself a moment ago, and was broken off");
        remove(&path).unwrap();
    }
}
