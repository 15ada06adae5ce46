//! Marks on the time line of a run: what a person notes while it goes on, or afterwards. They lie in a table of their own, so
//! that the run's writer need not know of them.

use crate::{StoreError, reader};
use fathom_schema::{Note, Record};
use fathom_units::Nanos;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS mark (at_ms INTEGER NOT NULL, body TEXT NOT NULL) STRICT";

/// Why a mark cannot be at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untimely {
    /// It lies ahead, and the run goes on.
    Ahead,
    /// The run goes on no longer, and nobody said when it was.
    Untold {
        /// How long the run took, preparation included; of one that was killed, what there is of it.
        length: Nanos,
        /// Whether it came to its end.
        has_ended: bool,
    },
    /// It lies behind the end.
    Behind {
        /// As in [`Untimely::Untold`].
        length: Nanos,
        /// As in [`Untimely::Untold`].
        has_ended: bool,
    },
}

/// The wall clock's time in milliseconds of a mark `at` so long after the run's start, or at `now_ms` where nothing is said of
/// a run that goes on. It lies within the run, as far as that has come.
///
/// # Errors
/// Why it cannot be then.
pub fn moment(record: &Record, at: Option<Nanos>, goes_on: bool, now_ms: u64) -> Result<u64, Untimely> {
    let started_ms = record.started.wall_ms;
    let at_ms = at.map(|at| started_ms.saturating_add(at.0 / 1_000_000));
    if goes_on {
        // In virtual time this moment is what was told last; a run that was in it is ahead of the calendar from then on.
        let is_virtual = record.steps.iter().any(|step| step.started.step.is_simulated());
        let now_ms = if is_virtual { record.known_until_ms() } else { now_ms };
        return match at_ms {
            Some(at_ms) if at_ms > now_ms => Err(Untimely::Ahead),
            at_ms => Ok(at_ms.unwrap_or(now_ms)),
        };
    }
    let length = Nanos::millis(record.known_until_ms().saturating_sub(started_ms));
    let has_ended = record.finished.is_some();
    match (at_ms, at) {
        (Some(at_ms), Some(at)) if at <= length => Ok(at_ms),
        (_, Some(_)) => Err(Untimely::Behind { length, has_ended }),
        (_, None) => Err(Untimely::Untold { length, has_ended }),
    }
}

/// Adds a mark to the run in `path`, at this wall-clock time in milliseconds. The run may be going on: its writer waits for
/// the moment it takes.
pub fn mark(path: &Path, at_ms: u64, text: &str) -> Result<(), StoreError> {
    // Says what is wrong with the file before anything is written to it.
    drop(reader::open(path)?);
    let sqlite = |error| StoreError::of(path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).map_err(sqlite)?;
    db.execute_batch(TABLE).map_err(sqlite)?;
    let at_ms = i64::try_from(at_ms).unwrap_or(i64::MAX);
    db.execute("INSERT INTO mark (at_ms, body) VALUES (?1, ?2)", (at_ms, text)).map_err(sqlite)?;
    Ok(())
}

/// The marks of a run that began at `started_ms`, as notes.
pub(crate) fn read(db: &Connection, started_ms: u64) -> Result<Vec<Note>, rusqlite::Error> {
    let has_marks: bool =
        db.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'mark')", (), |row| {
            row.get(0)
        })?;
    if !has_marks {
        return Ok(Vec::new());
    }
    let mut query = db.prepare("SELECT at_ms, body FROM mark ORDER BY at_ms")?;
    let rows = query.query_map((), |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
    rows.map(|row| {
        let (at_ms, text) = row?;
        let after_ms = u64::try_from(at_ms).unwrap_or(0).saturating_sub(started_ms);
        let at = Nanos(after_ms.saturating_mul(1_000_000));
        Ok(Note::mark(at, &text))
    })
    .collect()
}
