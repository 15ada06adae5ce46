//! The layout of a run's file: its marks, its tables, and which of them this fathom can read. Knows nothing of events
//! beyond their names.

use crate::StoreError;
use fathom_schema::{Event, IntervalSum};
use rusqlite::{Connection, OptionalExtension};
use std::path::Path;

/// What the file of every run begins with, as every database of `SQLite` does (its file format, section 1.3).
pub const FILE_HEAD: [u8; 16] = *b"SQLite format 3\0";

/// Marks a database as a run of fathom.
pub(crate) const APPLICATION_ID: i32 = fathom_schema::RECORD_MARK;

/// Version of the tables below; the events inside carry `fathom_schema::VERSION` of their own.
pub(crate) const LAYOUT_VERSION: u32 = 3;

/// The layout in which intervals are events among the others.
pub(crate) const LAYOUT_OF_EVENTS: u32 = 1;

/// The last layout in which intervals are JSON as text; later they are packed.
pub(crate) const LAYOUT_OF_TEXT: u32 = 2;

/// Where intervals lie: each level in a table of its own, from the intervals themselves to the coarsest sums, so that
/// looking through a long record reads the few rows of one level. Rows of all levels are numbered together.
pub(crate) const LEVELS: [&str; IntervalSum::LEVELS as usize + 1] =
    ["interval", "interval_16", "interval_256", "interval_4096"];

/// The tables but those of the levels. `event` is the record without its intervals; `run` holds in one row what a listing
/// shows, so that listing a thousand runs does not parse a million events; `series` and `level` say what lies in the
/// tables of the levels.
const TABLES: &str = "
    CREATE TABLE event (
        seq    INTEGER PRIMARY KEY,
        at_ms  INTEGER NOT NULL,
        kind   TEXT    NOT NULL,
        body   TEXT    NOT NULL
    ) STRICT;
    CREATE TABLE run (
        id              TEXT    NOT NULL,
        schema_version  INTEGER NOT NULL,
        title           TEXT    NOT NULL,
        started_ms      INTEGER NOT NULL,
        steps           INTEGER NOT NULL,
        last_ms         INTEGER NOT NULL,
        outcome         TEXT
    ) STRICT;
    CREATE TABLE series (
        step    INTEGER NOT NULL,
        stream  INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE level (
        level  INTEGER PRIMARY KEY,
        rows   INTEGER NOT NULL
    ) STRICT;
";

/// All tables.
pub(crate) fn tables() -> String {
    let of_level = |(level, table): (usize, &str)| {
        format!(
            "CREATE TABLE {table} (
                seq     INTEGER PRIMARY KEY,
                step    INTEGER NOT NULL,
                stream  INTEGER NOT NULL,
                body    BLOB    NOT NULL
            ) STRICT;
            CREATE INDEX {table}_series ON {table} (step, stream, seq);
            INSERT INTO level VALUES ({level}, 0);"
        )
    };
    LEVELS.into_iter().enumerate().map(of_level).fold(TABLES.to_owned(), |all, table| all + &table)
}

/// The name an event is stored under.
pub(crate) const fn kind_of(event: &Event) -> &'static str {
    match event {
        Event::RunStarted(_) => "run_started",
        Event::StepStarted(_) => "step_started",
        Event::Interval(_) => "interval",
        Event::Sum(_) => "sum",
        Event::Host(_) => "host",
        Event::Note(_) => "note",
        Event::StepFinished(_) => "step_finished",
        Event::RunFinished(_) => "run_finished",
    }
}

/// Refuses what is no run of fathom, and what is too new for this one; its layout.
pub(crate) fn check(db: &Connection, path: &Path) -> Result<u32, StoreError> {
    let pragma = |name| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let application = pragma("application_id").map_err(|error| StoreError::of(path, error))?;
    if application != i64::from(APPLICATION_ID) {
        let reason = if application == 0 {
            "it is a database without fathom's mark".to_owned()
        } else {
            format!("it is a database of another program (application id {application:#x})")
        };
        return Err(StoreError::NotARun { path: path.to_owned(), reason });
    }
    let layout = pragma("user_version").map_err(|error| StoreError::of(path, error))?;
    let layout = newer(path, layout, LAYOUT_VERSION)?;
    check_is_plain(db, path)?;
    let schema = db
        .query_row("SELECT schema_version FROM run", (), |row| row.get::<_, i64>(0))
        .map_err(|error| nothing_stored(path, error))?;
    newer(path, schema, fathom_schema::VERSION)?;
    Ok(layout)
}

/// Refuses a file that computes what it holds: a view may have rows without end, and a column that is generated gigabytes, where
/// tables have no more than there are bytes in the file. Runs are handed from one to another, and no fathom writes such.
fn check_is_plain(db: &Connection, path: &Path) -> Result<(), StoreError> {
    const OTHERS: &str = "
        SELECT name FROM sqlite_master
        WHERE sql NOT LIKE 'CREATE TABLE %' AND sql NOT LIKE 'CREATE INDEX %'
        UNION ALL
        SELECT tables.name FROM sqlite_master AS tables, pragma_table_xinfo(tables.name) AS columns
        WHERE tables.type = 'table' AND columns.hidden <> 0";
    let other = db.query_row(OTHERS, (), |row| row.get::<_, String>(0)).optional();
    match other.map_err(|error| StoreError::of(path, error))? {
        None => Ok(()),
        Some(name) => Err(StoreError::NotARun {
            path: path.to_owned(),
            reason: format!(
                "\"{name}\" in it is none of a run's tables, which hold what they show and compute nothing"
            ),
        }),
    }
}

/// The error for a query of the `run` row: without a row nothing was committed yet.
pub(crate) fn nothing_stored(path: &Path, error: rusqlite::Error) -> StoreError {
    match error {
        rusqlite::Error::QueryReturnedNoRows => StoreError::Damaged {
            path: path.to_owned(),
            reason: "its run was killed before it had stored one, or has only just begun, or its -wal file was left \
                     behind"
                .to_owned(),
            is_empty: true,
        },
        error => StoreError::of(path, error),
    }
}

fn newer(path: &Path, found: i64, readable: u32) -> Result<u32, StoreError> {
    // What does not fit 32 bits was not written by any fathom, and is newest of all.
    let found = u32::try_from(found).unwrap_or(u32::MAX);
    if found > readable {
        return Err(StoreError::Newer { path: path.to_owned(), found, readable });
    }
    Ok(found)
}
