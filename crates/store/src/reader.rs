//! Reads a run's file back: whole, killed in the middle, on read-only media, of an old version. Owns how a file is
//! opened without changing the run in it; does not know what the numbers mean.

use crate::{StoreError, layout};
use fathom_schema::{Event, Record};
use rusqlite::{Connection, OpenFlags};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The whole record in `path`, up to the last committed event when its writer was killed.
pub fn read(path: &Path) -> Result<Record, StoreError> {
    read_with(path, Vec::new())
}

/// The record in `path` with `unstored` after it: the events that a writer could not put there. They may be all of them.
pub fn read_with(path: &Path, unstored: Vec<Event>) -> Result<Record, StoreError> {
    let mut record: Option<Record> = None;
    let mut misplaced: Option<&'static str> = None;
    let mut take = |event| {
        let rejected = match (&mut record, event) {
            (Some(record), event) => record.push(event).err(),
            (none, Event::RunStarted(started)) => {
                *none = Some(Record::begin(*started));
                None
            }
            (None, event) => Some(event),
        };
        if let Some(event) = rejected {
            misplaced.get_or_insert(layout::kind_of(&event));
        }
    };
    if !matches!(unstored.first(), Some(Event::RunStarted(_))) {
        read_events(path, &mut take)?;
    }
    unstored.into_iter().for_each(take);
    match (record, misplaced) {
        (Some(record), None) => Ok(record),
        (_, Some(kind)) => Err(damaged(path, format!("an event \"{kind}\" comes where none can be"))),
        (None, None) => Err(damaged(path, "it holds no event".to_owned())),
    }
}

/// Hands every event in `path` to `sink`, in the order they happened. Events before a damaged one are handed over before
/// the error comes back.
pub fn read_events(path: &Path, sink: &mut dyn FnMut(Event)) -> Result<(), StoreError> {
    let db = open(path)?;
    let sqlite = |error| StoreError::of(path, error);
    let mut query = db.prepare("SELECT seq, body FROM event ORDER BY seq").map_err(sqlite)?;
    let mut rows = query.query(()).map_err(sqlite)?;
    let mut expected = 0_i64;
    while let Some(row) = rows.next().map_err(sqlite)? {
        let (seq, body): (i64, String) = (row.get(0).map_err(sqlite)?, row.get(1).map_err(sqlite)?);
        if seq != expected {
            return Err(damaged(path, format!("event {expected} is missing")));
        }
        expected += 1;
        let event = serde_json::from_str(&body)
            .map_err(|error| damaged(path, format!("event {seq} cannot be read: {error}")))?;
        sink(event);
    }
    Ok(())
}

/// A run's file, open for reading and checked to be one this fathom can read.
pub(crate) struct Opened {
    db: Connection,
    /// Where the copy lies, when the file could not be opened in place. Goes after the connection.
    _copy: Option<TempDir>,
}

impl Deref for Opened {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.db
    }
}

/// Opens `path` for reading and refuses what this fathom cannot read.
pub(crate) fn open(path: &Path) -> Result<Opened, StoreError> {
    check_header(path)?;
    match open_in_place(path) {
        Ok(db) => Ok(Opened { db, _copy: None }),
        // A file whose writer was killed is still in WAL mode and needs files beside it, which a folder without write
        // permission refuses. Opened as immutable it would lose what only the WAL holds, so a copy is read instead.
        Err(StoreError::Database { .. }) => open_copy(path),
        Err(error) => Err(error),
    }
}

fn open_in_place(path: &Path) -> Result<Connection, StoreError> {
    connect(path, path)
}

/// Reads a private copy of the file and of what its writer left in the WAL.
pub(crate) fn open_copy(path: &Path) -> Result<Opened, StoreError> {
    let io = |doing, path: &Path| {
        let path = path.to_owned();
        move |source| StoreError::Io { doing, path, source }
    };
    let folder = tempfile::tempdir().map_err(io("create a temporary folder for a copy of", path))?;
    let copy = folder.path().join("run.fathom");
    fs::copy(path, &copy).map_err(io("read", path))?;
    let wal = beside(path, "-wal");
    if wal.exists() {
        fs::copy(&wal, beside(&copy, "-wal")).map_err(io("read", &wal))?;
    }
    let db = connect(&copy, path)?;
    Ok(Opened { db, _copy: Some(folder) })
}

/// Opens `file` read-only; errors name `path`, which the user knows.
fn connect(file: &Path, path: &Path) -> Result<Connection, StoreError> {
    let db =
        Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .map_err(|error| StoreError::of(path, error))?;
    layout::check(&db, path)?;
    Ok(db)
}

/// Tells what `SQLite` would only call "unable to open": not there, no permission, a folder, empty, cut short.
fn check_header(path: &Path) -> Result<(), StoreError> {
    const MAGIC: &[u8; 16] = b"SQLite format 3\0";
    let io = |source| StoreError::Io { doing: "read", path: path.to_owned(), source };
    let not_a_run = |reason: &str| StoreError::NotARun { path: path.to_owned(), reason: reason.to_owned() };
    let mut file = File::open(path).map_err(io)?;
    let metadata = file.metadata().map_err(io)?;
    if !metadata.is_file() {
        return Err(not_a_run("it is not a regular file"));
    }
    if metadata.len() == 0 {
        // Right after creation everything is still in the WAL.
        let wal_bytes = fs::metadata(beside(path, "-wal")).map_or(0, |wal| wal.len());
        return if wal_bytes > 0 { Ok(()) } else { Err(not_a_run("it is empty")) };
    }
    let mut start = [0; 32];
    let is_short = file.read_exact(&mut start).is_err();
    if is_short || &start[..16] != MAGIC {
        return Err(not_a_run("it does not begin like a database"));
    }
    // Page size at 16 (1 means 65 536), pages in the file at 28; both big-endian (SQLite file format, §1.3). In WAL mode
    // pages may still be in the WAL, so the size is judged only when there is none.
    let page_bytes = match u16::from_be_bytes([start[16], start[17]]) {
        1 => 65_536,
        n => u64::from(n),
    };
    let pages = u64::from(u32::from_be_bytes([start[28], start[29], start[30], start[31]]));
    let (has, needs) = (metadata.len(), pages * page_bytes);
    if has < needs && !beside(path, "-wal").exists() {
        return Err(damaged(path, format!("it is cut short, {has} of {needs} bytes are there")));
    }
    Ok(())
}

/// `run.fathom` → `run.fathom-wal`.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

pub(crate) fn damaged(path: &Path, reason: String) -> StoreError {
    StoreError::Damaged { path: path.to_owned(), reason }
}
