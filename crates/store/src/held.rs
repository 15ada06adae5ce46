//! Whether a run goes on, which its file tells nobody by itself: a writer that was killed could not say so. Owns that decision for
//! all who ask: those who delete, take in, mark. Does not know what is in a run.

use crate::beside::beside;
use crate::{StoreError, overview};
use fathom_schema::Record;
use rustix::process::{Flock, FlockType, fcntl_getlk};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
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
    // (fcntl(2)), after which everybody else takes the run for one that was killed.
    if is_written_here(path) {
        return Ok(true);
    }
    let index = beside(path, "-shm");
    let io = |source| StoreError::Io { doing: "look at", path: index.clone(), source };
    let file = match File::open(&index) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(io(error)),
    };
    let wanted = Flock { start: DEADMAN_BYTE, length: 1, ..Flock::from(FlockType::WriteLock) };
    fcntl_getlk(&file, &wanted).map(|in_the_way| in_the_way.is_some()).map_err(|error| io(error.into()))
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
    use crate::tests::{RUN, run_started};
    use crate::{Writer, remove};

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
