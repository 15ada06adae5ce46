//! The files that the database keeps beside a run's while it is written: `-wal` holds what is not yet in the run's own file,
//! `-shm` is shared by those who have it open. Owns when they are folded in and removed; does not know what is in them.

use crate::{StoreError, is_held, layout};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the names of the files beside a run's end with.
const SUFFIXES: [&str; 2] = ["-wal", "-shm"];

/// `run.fathom` → `run.fathom-wal`.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Whether there are files beside the one at `path`.
pub(crate) fn has_some(path: &Path) -> bool {
    SUFFIXES.iter().any(|suffix| beside(path, suffix).exists())
}

/// Makes the run in `path` one file again where its writer could not, since it was killed or somebody was reading: what is
/// in the WAL goes into the file, and nothing is left beside it. Leaves everything as it is where somebody has the run open,
/// where this process may not write, and where it is no run.
pub(crate) fn fold(path: &Path) {
    // Whoever reads on finds out what is wrong with the file, and says it.
    drop(try_fold(path));
}

fn try_fold(path: &Path) -> Result<(), StoreError> {
    let sqlite = |error| StoreError::of(path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).map_err(sqlite)?;
    // Of a file that is none of fathom's nothing is written, not even when it is closed.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(sqlite)?;
    db.busy_timeout(Duration::ZERO).map_err(sqlite)?;
    layout::check(&db, path)?;
    // Needs the file for itself, which everybody who has it open in WAL mode keeps from happening.
    db.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(())).map_err(sqlite)
}

/// Deletes the run in `path` with what lies beside it.
///
/// # Errors
/// What the system refuses, and [`StoreError::Held`] where somebody writes the run or another process reads it.
pub fn remove(path: &Path) -> Result<(), StoreError> {
    if is_held(path)? {
        return Err(StoreError::Held { path: path.to_owned() });
    }
    fs::remove_file(path).map_err(|source| io_error("delete", path, source))?;
    clear(path)
}

/// Makes room for a run's file at `path`, where none is: what a run of that name has left beside would be taken for a part of
/// the new one.
///
/// # Errors
/// What the system refuses, and [`StoreError::Held`] where another process still has the run open that was there.
pub fn make_room(path: &Path) -> Result<(), StoreError> {
    if path.exists() {
        return Err(StoreError::Exists { path: path.to_owned() });
    }
    if is_held(path)? {
        return Err(StoreError::Held { path: path.to_owned() });
    }
    clear(path)
}

fn clear(path: &Path) -> Result<(), StoreError> {
    for suffix in SUFFIXES {
        let file = beside(path, suffix);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io_error("delete", &file, error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn io_error(doing: &'static str, path: &Path, source: io::Error) -> StoreError {
    StoreError::Io { doing, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{RUN, names, note, run_started, step_started};
    use crate::{Writer, mark, path_of, read};
    use fathom_schema::Event;

    /// The files of a run whose writer was killed: a copy of what it has written so far.
    fn killed(folder: &Path, events: &[Event]) -> PathBuf {
        let of_writer = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(of_writer.path(), RUN).unwrap();
        events.iter().for_each(|event| writer.append(event).unwrap());
        writer.commit().unwrap();
        let path = path_of(folder, RUN);
        fs::copy(writer.path(), &path).unwrap();
        fs::copy(beside(writer.path(), "-wal"), beside(&path, "-wal")).unwrap();
        path
    }

    #[test]
    fn a_killed_run_is_one_file_from_the_next_opening_on() {
        let folder = tempfile::tempdir().unwrap();
        let path = killed(folder.path(), &[run_started(), step_started(0), note("n")]);
        let record = read(&path).unwrap();
        assert_eq!((record.steps.len(), record.notes.len()), (1, 1));
        assert_eq!(names(folder.path()), [format!("{RUN}.fathom")]);
        let copy = folder.path().join("copy.fathom");
        fs::copy(&path, &copy).unwrap();
        assert_eq!(read(&copy).unwrap(), record);
    }

    #[test]
    fn a_run_that_is_written_or_read_is_not_folded() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(folder.path(), RUN).unwrap();
        let path = writer.path().to_owned();
        for text in ["a", "b", "c"] {
            writer.append(&if text == "a" { run_started() } else { note(text) }).unwrap();
            writer.commit().unwrap();
            read(&path).unwrap();
            assert_eq!(names(folder.path()).len(), 3, "its writer has it open");
        }
        let reader = crate::reader::open(&path).unwrap();
        drop(writer);
        assert_eq!(read(&path).unwrap().notes.len(), 2);
        assert_eq!(names(folder.path()).len(), 3, "somebody reads it");
        drop(reader);
        assert_eq!(read(&path).unwrap().notes.len(), 2);
        assert_eq!(names(folder.path()).len(), 1);
    }

    #[test]
    fn what_is_no_run_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other.fathom");
        let db = Connection::open(&path).unwrap();
        db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).unwrap();
        db.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1)").unwrap();
        let copy = folder.path().join("copy.fathom");
        for suffix in ["", "-wal"] {
            fs::copy(beside(&path, suffix), beside(&copy, suffix)).unwrap();
        }
        let bytes = |suffix| fs::read(beside(&copy, suffix)).unwrap();
        let before = (bytes(""), bytes("-wal"));
        assert!(read(&copy).is_err());
        assert_eq!((bytes(""), bytes("-wal")), before);
    }

    #[test]
    fn a_run_is_deleted_with_what_lies_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = killed(folder.path(), &[run_started(), note("old")]);
        remove(&path).unwrap();
        assert_eq!(names(folder.path()), [""; 0]);
        assert!(remove(&path).is_err());
    }

    /// What an older fathom left beside a run that it deleted is not taken for a part of the one that comes in.
    #[test]
    fn a_run_that_comes_in_is_not_read_with_the_rest_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = killed(folder.path(), &[run_started(), note("old")]);
        read(&path).unwrap();
        let whole = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let path = killed(folder.path(), &[run_started(), note("old")]);
        assert!(matches!(make_room(&path), Err(StoreError::Exists { .. })));
        fs::remove_file(&path).unwrap();
        make_room(&path).unwrap();
        fs::write(&path, whole).unwrap();
        mark(&path, 0, "new").unwrap();
        assert_eq!(read(&path).unwrap().notes.len(), 2);
        assert_eq!(names(folder.path()).len(), 1);
    }
}
