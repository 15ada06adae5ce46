//! Writes one run's file while the run goes on. Owns when something becomes durable; does not know what the events mean
//! beyond the few figures a listing shows.

use crate::layout::{APPLICATION_ID, LAYOUT_VERSION, TABLES, kind_of};
use crate::{StoreError, path_of};
use fathom_schema::{Event, Outcome};
use rusqlite::{Connection, OpenFlags, params};
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Events held back at most before they are committed unasked. At one commit a second nothing comes near; it bounds the
/// memory of a caller that never commits.
const PENDING_MAX: usize = 4096;

/// The writer of one run's file. Dropping it without [`Writer::finish`] commits what it can and leaves a readable file.
#[derive(Debug)]
pub struct Writer {
    db: Connection,
    path: PathBuf,
    /// Not yet committed, in order. Kept when a commit fails, so that a retry loses nothing.
    pending: Vec<Row>,
    next_seq: i64,
    run: RunRow,
    /// Wall clock at the latest step's start, for the times of its intervals.
    step_wall_ms: u64,
}

/// Why a run's file could not be finished, and what is missing in it.
#[derive(Debug)]
pub struct Unstored {
    /// What kept it from being stored.
    pub error: StoreError,
    /// The events that are not in the file, in order.
    pub events: Vec<Event>,
}

/// One event as stored.
#[derive(Debug)]
struct Row {
    at_ms: u64,
    kind: &'static str,
    body: String,
}

/// What the `run` table holds.
#[derive(Debug, Default)]
struct RunRow {
    id: String,
    schema_version: u32,
    title: String,
    started_ms: u64,
    steps: u32,
    last_ms: u64,
    outcome: Option<String>,
}

impl Writer {
    /// Creates the file of run `run_id` (a ULID) in `folder`, which is created too when it is not there.
    pub fn create(folder: &Path, run_id: &str) -> Result<Self, StoreError> {
        if ulid::Ulid::from_string(run_id).is_err() {
            return Err(StoreError::BadId { id: run_id.to_owned() });
        }
        fs::create_dir_all(folder).map_err(|source| io_error("create folder", folder, source))?;
        let path = path_of(folder, run_id);
        // SQLite cannot create exclusively; an empty file that is ours from the start can be handed to it.
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(StoreError::Exists { path });
            }
            Err(source) => return Err(io_error("create", &path, source)),
        }
        let db = open(&path).map_err(|error| {
            // Nothing of the run is in it yet: an empty file would only show as damaged in every listing.
            for suffix in ["", "-wal", "-shm"] {
                let mut name = path.clone().into_os_string();
                name.push(suffix);
                drop(fs::remove_file(name));
            }
            StoreError::of(&path, error)
        })?;
        let run = RunRow { id: run_id.to_owned(), ..RunRow::default() };
        Ok(Self { db, path, pending: Vec::new(), next_seq: 0, run, step_wall_ms: 0 })
    }

    /// Where the file lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes one event. The start and the end of the run and of a step are committed at once; all else with the next
    /// [`Writer::commit`], which the caller makes at least once a second. After an error nothing is lost yet: the event
    /// is held, and the next commit tries again.
    pub fn append(&mut self, event: &Event) -> Result<(), StoreError> {
        let at_ms = self.account(event);
        let body = serde_json::to_string(event).map_err(|error| StoreError::Io {
            doing: "serialise an event for",
            path: self.path.clone(),
            source: error.into(),
        })?;
        self.pending.push(Row { at_ms, kind: kind_of(event), body });
        let at_once = match event {
            Event::RunStarted(_) | Event::StepStarted(_) | Event::StepFinished(_) | Event::RunFinished(_) => {
                true
            }
            Event::Interval(_) | Event::Note(_) => self.pending.len() >= PENDING_MAX,
        };
        if at_once { self.commit() } else { Ok(()) }
    }

    /// Makes everything appended so far survive the end of this process, however it comes.
    pub fn commit(&mut self) -> Result<(), StoreError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let written = self.write_pending().map_err(|error| StoreError::of(&self.path, error))?;
        self.next_seq += written;
        self.pending.clear();
        Ok(())
    }

    /// Commits the rest and makes the file stand alone: no `-wal` and no `-shm` beside it, readable from read-only media.
    /// What cannot be stored is handed back, so that it can at least be shown.
    pub fn finish(mut self) -> Result<PathBuf, Unstored> {
        self.stand_alone().map_err(|error| {
            // What was written as JSON a moment ago reads back; nothing else is held here.
            let read = |row: Row| serde_json::from_str(&row.body).ok();
            Unstored {
                error,
                events: std::mem::take(&mut self.pending).into_iter().filter_map(read).collect(),
            }
        })
    }

    fn stand_alone(&mut self) -> Result<PathBuf, StoreError> {
        self.commit()?;
        let path = self.path.clone();
        // Leaving WAL mode checkpoints and removes the files beside; a reader that holds the file meanwhile prevents it.
        let mode: String = self
            .db
            .pragma_update_and_check(None, "journal_mode", "DELETE", |row| row.get(0))
            .map_err(|error| StoreError::of(&path, error))?;
        debug_assert_eq!(mode, "delete");
        Ok(path)
    }

    /// Keeps what the listing shows up to date; the event's wall-clock time in milliseconds, as well as it is known.
    fn account(&mut self, event: &Event) -> u64 {
        let run = &mut self.run;
        let at_ms = match event {
            Event::RunStarted(started) => {
                run.schema_version = started.schema_version;
                run.title.clone_from(&started.title);
                run.started_ms = started.wall_ms;
                started.wall_ms
            }
            Event::StepStarted(started) => {
                run.steps += 1;
                self.step_wall_ms = started.wall_ms;
                started.wall_ms
            }
            Event::Interval(interval) => self.step_wall_ms + interval.end.0 / 1_000_000,
            Event::Note(note) => run.started_ms + note.at.0 / 1_000_000,
            Event::StepFinished(finished) => self.step_wall_ms + finished.elapsed.0 / 1_000_000,
            Event::RunFinished(finished) => {
                run.outcome = Some(outcome_text(&finished.outcome));
                finished.wall_ms
            }
        };
        run.last_ms = run.last_ms.max(at_ms);
        at_ms
    }

    /// One transaction with all that is pending; how many events it holds.
    fn write_pending(&mut self) -> Result<i64, rusqlite::Error> {
        let transaction = self.db.transaction()?;
        let mut seq = self.next_seq;
        {
            let mut insert = transaction
                .prepare_cached("INSERT INTO event (seq, at_ms, kind, body) VALUES (?1, ?2, ?3, ?4)")?;
            for Row { at_ms, kind, body } in &self.pending {
                insert.execute(params![seq, integer(*at_ms), kind, body])?;
                seq += 1;
            }
            let RunRow { id, schema_version, title, started_ms, steps, last_ms, outcome } = &self.run;
            transaction.prepare_cached("DELETE FROM run")?.execute(())?;
            transaction
                .prepare_cached(
                    "INSERT INTO run (id, schema_version, title, started_ms, steps, last_ms, outcome)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                )?
                .execute(params![
                    id,
                    schema_version,
                    title,
                    integer(*started_ms),
                    steps,
                    integer(*last_ms),
                    outcome
                ])?;
        }
        transaction.commit()?;
        Ok(seq - self.next_seq)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Whoever drops a writer has no way to hear of an error; what was committed before stays readable.
        drop(self.commit());
    }
}

fn open(path: &Path) -> Result<Connection, rusqlite::Error> {
    let db = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    // WAL: a commit appends once and readers never block the writer. With synchronous=NORMAL a commit does not call
    // fsync, which would stall a store that shares the disk under test each second; a killed process still loses
    // nothing (the pages are the kernel's), a power cut at most the last commits, and neither can tear the file
    // (https://www.sqlite.org/pragma.html#pragma_synchronous).
    db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    db.pragma_update(None, "synchronous", "NORMAL")?;
    db.pragma_update(None, "application_id", APPLICATION_ID)?;
    db.pragma_update(None, "user_version", LAYOUT_VERSION)?;
    db.execute_batch(TABLES)?;
    // The marks and tables go into the file itself, so that a copy taken without its -wal file still says what it is.
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()))?;
    Ok(db)
}

/// The outcome as the listing keeps it: JSON, so that a reason or a signal goes with it.
fn outcome_text(outcome: &Outcome) -> String {
    serde_json::to_string(outcome).expect("an outcome has only string keys")
}

/// A time for an `SQLite` integer, which is signed; what does not fit is cut (year 292 million).
fn integer(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

fn io_error(doing: &'static str, path: &Path, source: io::Error) -> StoreError {
    StoreError::Io { doing, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{RUN, interval, note, run_started};

    #[test]
    fn a_full_store_says_so_loses_nothing_committed_and_goes_on_when_there_is_room() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(folder.path(), RUN).unwrap();
        writer.append(&run_started()).unwrap();
        let limit = |writer: &Writer, pages: u32| {
            writer.db.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
        };
        limit(&writer, 6);
        let mut committed = 1_u64;
        let error = loop {
            writer.append(&interval(0, 0, committed)).unwrap();
            match writer.commit() {
                Ok(()) => committed += 1,
                Err(error) => break error.to_string(),
            }
            assert!(committed < 1000, "the limit was never met");
        };
        assert!(error.contains(folder.path().to_str().unwrap()) && error.contains("FATHOM_STORE"), "{error}");
        let stored = || {
            let mut events = 0_u64;
            crate::read_events(&path_of(folder.path(), RUN), &mut |_| events += 1).unwrap();
            events
        };
        assert_eq!(stored(), committed);

        writer.append(&note("after the fault")).unwrap();
        assert_eq!(writer.pending.len(), 2);
        limit(&writer, 1000);
        writer.finish().unwrap();
        assert_eq!(stored(), committed + 2);
    }

    /// What the file has no room for can still be shown: with it the record is whole.
    #[test]
    fn what_cannot_be_stored_is_handed_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(folder.path(), RUN).unwrap();
        writer.append(&run_started()).unwrap();
        writer.db.pragma_update_and_check(None, "max_page_count", 4, |_| Ok(())).unwrap();
        let long = note(&"n".repeat(100_000));
        writer.append(&long).unwrap();
        let Unstored { error, events } = writer.finish().unwrap_err();
        assert!(matches!(error, StoreError::Full { .. }), "{error}");
        assert_eq!(events, [long]);
        let path = path_of(folder.path(), RUN);
        let record = crate::read_with(&path, events).unwrap();
        assert_eq!(record.notes.len(), 1);
        assert_eq!(crate::read(&path).unwrap().notes.len(), 0);
        // Without room for even the first event there is a record all the same.
        let record = crate::read_with(Path::new("/nowhere"), vec![run_started(), note("n")]).unwrap();
        assert_eq!(record.notes.len(), 1);
    }

    #[test]
    fn a_caller_that_never_commits_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(folder.path(), RUN).unwrap();
        writer.append(&run_started()).unwrap();
        for _ in 0..PENDING_MAX + 10 {
            writer.append(&note("n")).unwrap();
        }
        assert_eq!(writer.pending.len(), 10);
    }
}
