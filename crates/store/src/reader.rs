//! Reads a run's file back: whole, killed in the middle, on read-only media, of an old version. Owns how a file is
//! opened without changing the run in it; does not know what the numbers mean.

use crate::beside::{beside, fold, has_some};
use crate::held::Reading;
use crate::layout::LEVELS;
use crate::packed::Unpacker;
use crate::{StoreError, layout};
use fathom_schema::{Event, Interval, Record};
use rusqlite::{Connection, OpenFlags, Row};
use std::fs::{self, File};
use std::io::Read;
use std::ops::Deref;
use std::path::Path;
use tempfile::TempDir;

/// Rows of one level that a record is looked through by, at most: over four hours of seconds of one stream, and parsed in a
/// fifth of a second. Of a longer record, sums are read.
const OVERVIEW_ROWS_MAX: u64 = 16 << 10;

/// The whole record in `path`, up to the last committed event when its writer was killed. Where a long run has forgotten
/// its oldest intervals, their sums are in their place. May take as much memory as the file; see [`overview`] and
/// [`each_interval`].
pub fn read(path: &Path) -> Result<Record, StoreError> {
    read_with(path, Detail::Whole, Vec::new())
}

/// The record in `path`, with sums in the place of intervals where those are too many to be read at once.
pub fn overview(path: &Path) -> Result<Record, StoreError> {
    read_with(path, Detail::Overview, Vec::new())
}

/// How much of a record is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// As [`read`].
    Whole,
    /// As [`overview`].
    Overview,
}

/// The record in `path` with `unstored` after it: the events that a writer could not put there. They may be all of them.
pub fn read_with(path: &Path, detail: Detail, unstored: Vec<Event>) -> Result<Record, StoreError> {
    let rows_max = match detail {
        Detail::Whole => u64::MAX,
        Detail::Overview => OVERVIEW_ROWS_MAX,
    };
    let mut record = if matches!(unstored.first(), Some(Event::RunStarted(_))) {
        None
    } else {
        Some(open(path)?.record(path, rows_max)?)
    };
    unstored.into_iter().try_for_each(|event| take(path, &mut record, event))?;
    record.ok_or_else(|| damaged(path, "it holds no event".to_owned()))
}

/// Takes the next event into a record, which begins with its first.
fn take(path: &Path, record: &mut Option<Record>, event: Event) -> Result<(), StoreError> {
    let rejected = match (&mut *record, event) {
        (Some(record), event) => record.push(event).err(),
        (none, Event::RunStarted(started)) => {
            *none = Some(Record::begin(*started));
            None
        }
        (None, event) => Some(event),
    };
    let Some(event) = rejected else { return Ok(()) };
    let kind = layout::kind_of(&event);
    Err(damaged(path, format!("an event \"{kind}\" comes where none can be")))
}

/// The record in `path` without its intervals; these go to `sink` one by one with it, in the order they came.
pub fn each_interval(path: &Path, sink: &mut dyn FnMut(&Record, Interval)) -> Result<(), StoreError> {
    let opened = open(path)?;
    let mut record = opened.events(path)?;
    // Of the first layout: those that came with the events.
    let steps: Vec<Vec<Interval>> =
        record.steps.iter_mut().map(|step| std::mem::take(&mut step.intervals)).collect();
    steps.into_iter().flatten().for_each(|interval| sink(&record, interval));
    opened.intervals(path, u64::MAX, &mut |interval| sink(&record, interval))
}

impl Opened {
    fn record(&self, path: &Path, rows_max: u64) -> Result<Record, StoreError> {
        let mut record = self.events(path)?;
        let mut misplaced = false;
        self.intervals(path, rows_max, &mut |interval| {
            misplaced |= record.push(Event::Interval(Box::new(interval))).is_err();
        })?;
        if misplaced {
            return Err(damaged(path, "an event \"interval\" comes where none can be".to_owned()));
        }
        Ok(record)
    }

    /// All events but the intervals, which only the first layout has among them.
    fn events(&self, path: &Path) -> Result<Record, StoreError> {
        let sqlite = |error| StoreError::of(path, error);
        let mut record: Option<Record> = None;
        let mut query = self.prepare("SELECT seq, body FROM event ORDER BY seq").map_err(sqlite)?;
        let mut rows = query.query(()).map_err(sqlite)?;
        let mut expected = 0_i64;
        while let Some(row) = rows.next().map_err(sqlite)? {
            let (seq, body): (i64, String) = (row.get(0).map_err(sqlite)?, row.get(1).map_err(sqlite)?);
            if seq != expected {
                return Err(damaged(path, format!("event {expected} is missing")));
            }
            expected += 1;
            let event: Event = serde_json::from_str(&body)
                .map_err(|error| damaged(path, format!("event {seq} cannot be read: {error}")))?;
            take(path, &mut record, event)?;
        }
        let mut record = record.ok_or_else(|| damaged(path, "it holds no event".to_owned()))?;
        let marks = crate::marks::read(self, record.started.wall_ms).map_err(sqlite)?;
        if !marks.is_empty() {
            record.notes.extend(marks);
            record.notes.sort_by_key(|note| note.at);
        }
        // What people call it later is what everybody who reads it calls it.
        let labels = crate::labels::read(self, path).unwrap_or_default();
        record.started.title = labels.title.unwrap_or(record.started.title);
        Ok(record)
    }

    /// Hands every time of every stream over once: of the finest level of which there are no more than `rows_max`, of a
    /// coarser one where the finer has been forgotten, of a finer one where a sum is not complete yet.
    fn intervals(
        &self,
        path: &Path,
        rows_max: u64,
        sink: &mut dyn FnMut(Interval),
    ) -> Result<(), StoreError> {
        if self.layout == layout::LAYOUT_OF_EVENTS {
            return Ok(());
        }
        let sqlite = |error| StoreError::of(path, error);
        let chosen = self.choose(rows_max).map_err(sqlite)?;
        let mut bodies = LEVELS
            .iter()
            .map(|table| self.prepare(&format!("SELECT body FROM {table} WHERE seq = ?1")))
            .collect::<Result<Vec<_>, _>>()
            .map_err(sqlite)?;
        let mut unpacker = Unpacker::default();
        for (seq, level) in chosen {
            let read = |row: &Row<'_>| {
                let body = row.get_ref(0)?;
                Ok(match body.as_blob() {
                    Ok(packed) if self.layout > layout::LAYOUT_OF_TEXT => unpacker.unpack(packed),
                    _ => serde_json::from_str(body.as_str()?).map_err(|error| error.to_string()),
                })
            };
            let interval = bodies[level].query_row([seq], read).map_err(sqlite)?;
            sink(
                interval
                    .map_err(|reason| damaged(path, format!("interval {seq} cannot be read: {reason}")))?,
            );
        }
        Ok(())
    }

    /// Numbers and levels of the rows to read, in order.
    fn choose(&self, rows_max: u64) -> Result<Vec<(i64, usize)>, rusqlite::Error> {
        let held = self
            .prepare("SELECT rows FROM level ORDER BY level")?
            .query_map((), |row| row.get::<_, u64>(0))?
            .collect::<Result<Vec<_>, _>>()?;
        let finest = held.iter().position(|&rows| rows <= rows_max).unwrap_or(LEVELS.len() - 1);
        let series = self
            .prepare("SELECT step, stream FROM series")?
            .query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<Vec<(u32, u32)>, _>>()?;
        let mut queries = LEVELS
            .iter()
            .map(|table| {
                self.prepare(&format!(
                    "SELECT seq FROM {table} WHERE step = ?1 AND stream = ?2 AND seq > ?3 AND seq < ?4"
                ))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let mut chosen = Vec::new();
        for (step, stream) in series {
            let mut rows = |level: usize, after: i64, before: i64| -> Result<Vec<i64>, rusqlite::Error> {
                queries[level].query_map((step, stream, after, before), |row| row.get(0))?.collect()
            };
            // A sum has a higher number than all that it covers.
            let (mut first, mut last) = (i64::MAX, -1);
            for level in finest..LEVELS.len() {
                let found = rows(level, -1, first)?;
                first = found.iter().copied().min().unwrap_or(first);
                last = found.iter().copied().max().unwrap_or(last).max(last);
                chosen.extend(found.into_iter().map(|seq| (seq, level)));
            }
            for level in (0..finest).rev() {
                let found = rows(level, last, i64::MAX)?;
                last = found.iter().copied().max().unwrap_or(last);
                chosen.extend(found.into_iter().map(|seq| (seq, level)));
            }
        }
        chosen.sort_unstable();
        Ok(chosen)
    }
}

/// A run's file, open for reading and checked to be one this fathom can read.
pub(crate) struct Opened {
    db: Connection,
    layout: u32,
    /// Where the copy lies, when the file could not be opened in place. Goes after the connection.
    _copy: Option<TempDir>,
    /// Ends after the connection.
    _reading: Option<Reading>,
}

impl Deref for Opened {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.db
    }
}

/// Opens `path` for reading and refuses what this fathom cannot read. What a writer has left beside it is folded in.
pub(crate) fn open(path: &Path) -> Result<Opened, StoreError> {
    // To close a file ends all locks that this process has on it (fcntl(2)): that of a run which is written here is not opened
    // but by the database, which knows of that.
    let reading = Reading::of(path);
    let is_in_use = has_some(path);
    if is_in_use || check_header(path)? == Journal::Wal {
        fold(path);
    }
    match open_in_place(path) {
        Ok((db, layout)) => Ok(Opened { db, layout, _copy: None, _reading: Some(reading) }),
        Err(error)
            if is_in_use
                && !matches!(
                    error,
                    StoreError::Database { .. } | StoreError::ReadOnly { .. } | StoreError::SizeLimit { .. }
                ) =>
        {
            check_header(path)?;
            Err(error)
        }
        // A file whose writer was killed is still in WAL mode and needs files beside it, which a folder without write
        // permission refuses. Opened as immutable it would lose what only the WAL holds, so a copy is read instead.
        Err(StoreError::Database { .. } | StoreError::ReadOnly { .. }) => open_copy(path),
        Err(error) => Err(error),
    }
}

fn open_in_place(path: &Path) -> Result<(Connection, u32), StoreError> {
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
    let (db, layout) = connect(&copy, path)?;
    Ok(Opened { db, layout, _copy: Some(folder), _reading: None })
}

/// The bytes of a run as one file that stands alone, with all that its writer left in the WAL: the file at `path` itself lacks
/// that where the writer was killed.
///
/// # Errors
/// What cannot be read as a run, and what the system refuses.
pub fn whole(path: &Path) -> Result<Vec<u8>, StoreError> {
    let opened = open(path)?;
    let of_path = |error| StoreError::of(path, error);
    let io = |source| StoreError::Io { doing: "make a whole copy of", path: path.to_owned(), source };
    let folder = tempfile::tempdir().map_err(io)?;
    let copy = folder.path().join("whole.fathom");
    // It was opened to be read as of one commit, and VACUUM begins a transaction of its own.
    opened.execute_batch("COMMIT").map_err(of_path)?;
    opened.execute("VACUUM INTO ?1", [copy.to_string_lossy()]).map_err(of_path)?;
    fs::read(&copy).map_err(io)
}

/// Opens `file` read-only; errors name `path`, which the user knows.
fn connect(file: &Path, path: &Path) -> Result<(Connection, u32), StoreError> {
    let db =
        Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)
            .map_err(|error| StoreError::of(path, error))?;
    // Events and intervals are read one after the other: all of it as it was at one commit, whatever a run that goes on puts
    // there meanwhile. It ends with the connection.
    db.execute_batch("BEGIN").map_err(|error| StoreError::of(path, error))?;
    let layout = layout::check(&db, path)?;
    Ok((db, layout))
}

/// How the database keeps what is not yet in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Journal {
    Rollback,
    Wal,
}

/// Tells what `SQLite` would only call "unable to open": not there, no permission, a folder, empty, cut short.
fn check_header(path: &Path) -> Result<Journal, StoreError> {
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
        return if wal_bytes > 0 { Ok(Journal::Wal) } else { Err(not_a_run("it is empty")) };
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
    // The version that a reader has to know, at 19: 2 of a file in WAL mode.
    Ok(if start[19] == 2 { Journal::Wal } else { Journal::Rollback })
}

pub(crate) fn damaged(path: &Path, reason: String) -> StoreError {
    StoreError::Damaged { path: path.to_owned(), reason, is_empty: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{RUN, interval, run_started, step_started};
    use crate::{Writer, path_of};

    #[test]
    fn a_run_that_goes_on_is_read_as_of_one_commit() {
        let folder = tempfile::tempdir().expect("there is room");
        let mut writer = Writer::create(folder.path(), RUN).expect("it can be made");
        let mut put = |events: &[Event]| {
            events.iter().for_each(|event| writer.append(event).expect("it fits"));
            writer.commit().expect("there is room");
        };
        put(&[run_started(), step_started(0), interval(0, 0, 0)]);
        let path = path_of(folder.path(), RUN);
        let opened = open(&path).expect("it is there");
        let mut record = opened.events(&path).expect("it is whole");
        // A step more begins after its events were read, and before its intervals are.
        put(&[step_started(1), interval(1, 0, 0)]);
        let mut count = 0;
        let taken = &mut |interval| {
            record.push(Event::Interval(Box::new(interval))).expect("its step is there");
            count += 1;
        };
        opened.intervals(&path, u64::MAX, taken).expect("it is whole");
        assert_eq!(count, 1);
        assert_eq!(read(&path).expect("it is whole").steps.len(), 2);
    }
}
