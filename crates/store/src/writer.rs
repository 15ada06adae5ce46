//! Writes one run's file while the run goes on. Owns when something becomes durable; does not know what the events mean
//! beyond the few figures a listing shows.

use crate::held::Writing;
use crate::layout::{self, APPLICATION_ID, LAYOUT_VERSION, LEVELS, kind_of};
use crate::packed::{self, Packer, Unpacker};
use crate::{StoreError, path_of};
use fathom_schema::{Event, HostSample, Interval, IntervalSum, Outcome};
use rusqlite::{Connection, OpenFlags, Transaction, params};
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Events held back at most before they are committed unasked. At one commit a second nothing comes near; it bounds the
/// memory of a caller that never commits.
const PENDING_MAX: usize = 4096;

/// Bytes that the rows of a level take of a file at most; the oldest beyond are forgotten, since sums of the next level tell
/// of them. Together with what lies beside them a run of any length stays below 2 GiB. Ten days of seconds fit where one
/// takes 1.2 kB, as with one stream of some 500 operations per second that all take a different time.
const LEVEL_BYTES_MAX: [u64; LEVELS.len()] = [1 << 30, 256 << 20, 128 << 20, u64::MAX];

/// A sample of the host that is kept covers at least this part of the time since the run's start; those before are added
/// to it. A run of a year then has some 18,000, and none of a quarter of an hour loses any.
const HOST_PART: u64 = 1024;
/// Pages of the WAL (4 MiB) after which a commit brings them into the file, as `SQLite` has it unasked.
const CHECKPOINT_PAGES: u32 = 1000;
/// Events whose commit does not: of ten thousand streams they have tens of MB, and the load waits for it.
const STARTS: [&str; 2] = ["run_started", "step_started"];
/// How long the end of a run waits for those who read its file.
const READERS_WAIT: Duration = Duration::from_secs(5);

/// The writer of one run's file. Dropping it without [`Writer::finish`] commits what it can and leaves a readable file.
#[derive(Debug)]
pub struct Writer {
    db: Connection,
    path: PathBuf,
    /// Goes after the connection: until then there is something to be disturbed.
    _writing: Writing,
    /// Not yet committed, in order. Kept when a commit fails, so that a retry loses nothing.
    pending: Vec<Row>,
    packer: Packer,
    next: Next,
    levels: [Level; LEVELS.len()],
    checkpoint_pages: u32,
    /// Steps and streams that have intervals.
    series: BTreeSet<(u32, u32)>,
    run: RunRow,
    /// Wall clock at the latest step's start, for the times of its intervals.
    step_wall_ms: u64,
    /// Samples of the host that do not cover enough yet to be kept, added up.
    host: Option<Box<HostSample>>,
}

/// Why a run's file could not be finished, and what is missing in it.
#[derive(Debug)]
pub struct Unstored {
    /// What kept it from being stored.
    pub error: StoreError,
    /// The events that are not in the file, in order.
    pub events: Vec<Event>,
}

/// Numbers of the next rows.
#[derive(Debug, Default, Clone, Copy)]
struct Next {
    event: i64,
    interval: i64,
}

/// What a level holds.
#[derive(Debug, Clone, Copy)]
struct Level {
    rows: i64,
    bytes: u64,
    bytes_max: u64,
    /// The last sum of the next level whose intervals were forgotten here.
    forgotten: i64,
}

/// One event as stored.
#[derive(Debug)]
enum Row {
    Event { at_ms: u64, kind: &'static str, body: String },
    Level { level: usize, step: u32, stream: u32, packed: Vec<u8> },
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
        // Before the database has locks on it, which whoever asks meanwhile whether it is held would end.
        let writing = Writing::of(&path).map_err(|source| io_error("look at", &path, source))?;
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
        Ok(Self {
            db,
            path,
            _writing: writing,
            pending: Vec::new(),
            packer: Packer::default(),
            next: Next::default(),
            levels: LEVEL_BYTES_MAX.map(|bytes_max| Level { rows: 0, bytes: 0, bytes_max, forgotten: -1 }),
            checkpoint_pages: CHECKPOINT_PAGES,
            series: BTreeSet::new(),
            run,
            step_wall_ms: 0,
            host: None,
        })
    }

    /// Where the file lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes one event. The start and the end of the run and of a step are committed at once; all else with the next
    /// [`Writer::commit`], which the caller makes at least once a second. After an error nothing is lost yet: the event
    /// is held, and the next commit tries again.
    pub fn append(&mut self, event: &Event) -> Result<(), StoreError> {
        self.take(event)?;
        let at_once = match event {
            Event::RunStarted(_) | Event::StepStarted(_) | Event::StepFinished(_) | Event::RunFinished(_) => {
                true
            }
            Event::Interval(_) | Event::Sum(_) | Event::Host(_) | Event::Note(_) => {
                self.pending.len() >= PENDING_MAX
            }
        };
        if at_once { self.commit() } else { Ok(()) }
    }

    /// Takes one event, to be committed with the next.
    fn take(&mut self, event: &Event) -> Result<(), StoreError> {
        match event {
            Event::Host(sample) => match self.thinned(sample) {
                Some(host) => self.put(&Event::Host(host)),
                None => Ok(()),
            },
            // A step that was cut off has no end of its own.
            Event::StepStarted(_) | Event::StepFinished(_) | Event::RunFinished(_) => {
                let rest = self.put_host();
                // What comes after is taken all the same.
                self.put(event).and(rest)
            }
            _ => self.put(event),
        }
    }

    fn take_all(&mut self, events: &mut impl Iterator<Item = Event>) -> Result<(), StoreError> {
        events.try_for_each(|event| self.take(&event))
    }

    fn put_host(&mut self) -> Result<(), StoreError> {
        self.host.take().map_or(Ok(()), |host| self.put(&Event::Host(host)))
    }

    /// The samples until here as one, where that covers enough to be kept.
    fn thinned(&mut self, sample: &HostSample) -> Option<Box<HostSample>> {
        let host = match self.host.take() {
            Some(mut host) if host.step == sample.step => {
                host.extend(sample.clone());
                host
            }
            _ => Box::new(sample.clone()),
        };
        let since_start_ms = (self.step_wall_ms + host.end.0 / 1_000_000).saturating_sub(self.run.started_ms);
        let covers_ms = host.end.since(host.start).0 / 1_000_000;
        if covers_ms.saturating_mul(HOST_PART) >= since_start_ms {
            return Some(host);
        }
        self.host = Some(host);
        None
    }

    fn put(&mut self, event: &Event) -> Result<(), StoreError> {
        let at_ms = self.account(event);
        let mut of_level = |level: usize, interval: &Interval| {
            let Interval { step, stream, .. } = *interval;
            self.packer.pack(interval).map(|packed| Row::Level { level, step, stream, packed })
        };
        let row = match event {
            Event::Interval(interval) => of_level(0, interval),
            Event::Sum(sum) => of_level(usize::from(sum.level.min(IntervalSum::LEVELS)), &sum.sum),
            _ => serde_json::to_string(event).map(|body| Row::Event { at_ms, kind: kind_of(event), body }),
        };
        self.pending.push(row.map_err(|error| StoreError::Io {
            doing: "serialise an event for",
            path: self.path.clone(),
            source: error.into(),
        })?);
        Ok(())
    }

    /// Makes everything appended so far survive the end of this process, however it comes.
    pub fn commit(&mut self) -> Result<(), StoreError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let is_start = |row: &Row| matches!(row, Row::Event { kind, .. } if STARTS.contains(kind));
        self.set_checkpoint(if self.pending.iter().any(is_start) { 0 } else { CHECKPOINT_PAGES })?;
        let (next, levels) = self.write_pending().map_err(|error| StoreError::of(&self.path, error))?;
        (self.next, self.levels) = (next, levels);
        self.series.extend(self.pending.drain(..).filter_map(|row| match row {
            Row::Level { step, stream, .. } => Some((step, stream)),
            Row::Event { .. } => None,
        }));
        Ok(())
    }

    /// After how many pages in the WAL the next commit brings them into the file, for which it waits for the disk; 0: it does not.
    fn set_checkpoint(&mut self, pages: u32) -> Result<(), StoreError> {
        if self.checkpoint_pages != pages {
            self.db
                .pragma_update_and_check(None, "wal_autocheckpoint", pages, |_| Ok(()))
                .map_err(|error| StoreError::of(&self.path, error))?;
            self.checkpoint_pages = pages;
        }
        Ok(())
    }

    /// Commits the rest and makes the file stand alone: no `-wal` and no `-shm` beside it, readable from read-only media.
    /// What cannot be stored is handed back, so that it can at least be shown.
    pub fn finish(self) -> Result<PathBuf, Unstored> {
        self.finish_with(Vec::new())
    }

    /// As [`Writer::finish`], with these events after all others. There is one commit for all of them: where the disk is full,
    /// one attempt says so.
    pub fn finish_with(mut self, rest: Vec<Event>) -> Result<PathBuf, Unstored> {
        let mut rest = rest.into_iter();
        let taken = self.take_all(&mut rest);
        taken.and_then(|()| self.stand_alone()).map_err(|error| {
            // What was written a moment ago reads back. Sums say nothing that their intervals do not.
            let mut unpacker = Unpacker::default();
            let read = |row| match row {
                Row::Event { body, .. } => serde_json::from_str(&body).ok(),
                Row::Level { level: 0, packed, .. } => {
                    unpacker.unpack(&packed).ok().map(|interval| Event::Interval(Box::new(interval)))
                }
                Row::Level { .. } => None,
            };
            let pending = std::mem::take(&mut self.pending);
            Unstored { error, events: pending.into_iter().filter_map(read).chain(rest).collect() }
        })
    }

    fn stand_alone(&mut self) -> Result<PathBuf, StoreError> {
        self.put_host()?;
        self.commit()?;
        let path = self.path.clone();
        let of_path = |error| StoreError::of(&path, error);
        // Waits for those who read. One that goes on reading for longer keeps the file in WAL mode, and what was written since
        // it began stays in the WAL beside it, which an export takes along.
        self.db.busy_timeout(READERS_WAIT).map_err(of_path)?;
        self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(())).map_err(of_path)?;
        // Leaving WAL mode removes the files beside.
        match self.db.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(())) {
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) => Ok(()),
            other => other,
        }
        .map_err(of_path)?;
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
            Event::Sum(sum) => self.step_wall_ms + sum.sum.end.0 / 1_000_000,
            Event::Host(sample) => self.step_wall_ms + sample.end.0 / 1_000_000,
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

    /// One transaction with all that is pending; what comes next then, and what the levels hold.
    fn write_pending(&mut self) -> Result<(Next, [Level; LEVELS.len()]), rusqlite::Error> {
        let transaction = self.db.transaction()?;
        let (mut next, mut levels, mut series) = (self.next, self.levels, BTreeSet::new());
        {
            for row in &self.pending {
                match *row {
                    Row::Event { at_ms, kind, ref body } => {
                        transaction
                            .prepare_cached(
                                "INSERT INTO event (seq, at_ms, kind, body) VALUES (?1, ?2, ?3, ?4)",
                            )?
                            .execute(params![next.event, integer(at_ms), kind, body])?;
                        next.event += 1;
                    }
                    Row::Level { level, step, stream, ref packed } => {
                        let table = LEVELS[level];
                        transaction
                            .prepare_cached(&format!(
                                "INSERT INTO {table} (seq, step, stream, body) VALUES (?1, ?2, ?3, ?4)"
                            ))?
                            .execute(params![next.interval, step, stream, packed])?;
                        next.interval += 1;
                        levels[level].rows += 1;
                        levels[level].bytes += packed::taken(packed.len());
                        if !self.series.contains(&(step, stream)) && series.insert((step, stream)) {
                            transaction
                                .prepare_cached("INSERT INTO series (step, stream) VALUES (?1, ?2)")?
                                .execute(params![step, stream])?;
                        }
                    }
                }
            }
            for (level, held) in levels.iter_mut().enumerate() {
                forget(&transaction, level, held)?;
                transaction
                    .prepare_cached("UPDATE level SET rows = ?2 WHERE level = ?1")?
                    .execute(params![level, held.rows])?;
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
        Ok((next, levels))
    }
}

/// Forgets the oldest rows of a level until the rest is as large as may be: always all that one sum of the next level
/// covers, so that every time is told of by some level.
fn forget(transaction: &Transaction<'_>, level: usize, held: &mut Level) -> Result<(), rusqlite::Error> {
    let (Some(sums), table) = (LEVELS.get(level + 1), LEVELS[level]) else { return Ok(()) };
    while held.bytes > held.bytes_max {
        let oldest = format!("SELECT seq, step, stream FROM {sums} WHERE seq > ?1 ORDER BY seq LIMIT 1");
        let sum = transaction.prepare_cached(&oldest)?.query_row([held.forgotten], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, u32>(1)?, row.get::<_, u32>(2)?))
        });
        let (seq, step, stream) = match sum {
            Err(rusqlite::Error::QueryReturnedNoRows) => break,
            other => other?,
        };
        let covered = "step = ?1 AND stream = ?2 AND seq < ?3";
        let lengths = format!("SELECT octet_length(body) FROM {table} WHERE {covered}");
        let (mut rows, mut bytes) = (0, 0);
        let mut lengths = transaction.prepare_cached(&lengths)?;
        for length in lengths.query_map(params![step, stream, seq], |row| row.get::<_, usize>(0))? {
            rows += 1;
            bytes += packed::taken(length?);
        }
        transaction
            .prepare_cached(&format!("DELETE FROM {table} WHERE {covered}"))?
            .execute(params![step, stream, seq])?;
        held.rows -= rows;
        held.bytes -= bytes;
        held.forgotten = seq;
    }
    Ok(())
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
    db.execute_batch(&layout::tables())?;
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
    use crate::Detail;
    use crate::tests::{RUN, interval, note, run_started, step_started};

    #[test]
    fn a_full_store_says_so_loses_nothing_committed_and_goes_on_when_there_is_room() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(folder.path(), RUN).unwrap();
        writer.append(&run_started()).unwrap();
        writer.append(&step_started(0)).unwrap();
        let limit = |writer: &Writer, pages: u32| {
            writer.db.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
        };
        limit(&writer, 25);
        let mut committed = 2_u64;
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
            let record = crate::read(&path_of(folder.path(), RUN)).unwrap();
            (1 + record.steps.len() + record.steps[0].intervals.len() + record.notes.len()) as u64
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
        writer.db.pragma_update_and_check(None, "max_page_count", 15, |_| Ok(())).unwrap();
        let long = note(&"n".repeat(100_000));
        writer.append(&long).unwrap();
        let Unstored { error, events } = writer.finish().unwrap_err();
        assert!(matches!(error, StoreError::Full { .. }), "{error}");
        assert_eq!(events, [long]);
        let path = path_of(folder.path(), RUN);
        let record = crate::read_with(&path, Detail::Whole, events).unwrap();
        assert_eq!(record.notes.len(), 1);
        assert_eq!(crate::read(&path).unwrap().notes.len(), 0);
        // Without room for even the first event there is a record all the same.
        let record =
            crate::read_with(Path::new("/nowhere"), Detail::Whole, vec![run_started(), note("n")]).unwrap();
        assert_eq!(record.notes.len(), 1);
    }

    /// Writes `count` intervals of a stream with their sums of both lower levels; each level keeps `bytes_max`.
    fn long_run(folder: &Path, count: u64, bytes_max: [u64; LEVELS.len()], finish: bool) -> PathBuf {
        let mut writer = Writer::create(folder, RUN).unwrap();
        for (level, bytes_max) in writer.levels.iter_mut().zip(bytes_max) {
            level.bytes_max = bytes_max;
        }
        writer.append(&run_started()).unwrap();
        writer.append(&step_started(0)).unwrap();
        for sequence in 0..count {
            writer.append(&interval(0, 0, sequence)).unwrap();
            for (level, of) in [(1, 16), (2, 256), (3, 4096)] {
                if (sequence + 1) % of == 0 {
                    writer.append(&sum_of(level, sequence + 1 - of, of)).unwrap();
                }
            }
            if sequence % 100 == 0 {
                writer.commit().unwrap();
            }
        }
        writer.commit().unwrap();
        if finish { writer.finish().unwrap() } else { path_of(folder, RUN) }
    }

    /// A sum has the arrivals of its intervals, and one each.
    fn sum_of(level: u8, first: u64, count: u64) -> Event {
        let Event::Interval(mut sum) = interval(0, 0, first) else { unreachable!() };
        sum.end = fathom_units::Nanos::secs(first + count);
        sum.tally.kinds[0].operations *= count;
        Event::Sum(Box::new(IntervalSum { level, sum: *sum }))
    }

    /// Each second is told of once, in order, by rows of at most these many, and nothing is lost.
    fn check_covers(record: &fathom_schema::Record, seconds: u64, rows_max: usize) {
        let intervals = &record.steps[0].intervals;
        assert!(intervals.len() <= rows_max, "{} rows", intervals.len());
        let mut at = fathom_units::Nanos::ZERO;
        let mut operations = 0;
        for interval in intervals {
            assert_eq!(interval.start, at);
            at = interval.end;
            operations += interval.tally.kinds[0].operations;
        }
        assert_eq!((at, operations), (fathom_units::Nanos::secs(seconds), 3 * seconds));
    }

    #[test]
    fn a_long_record_is_looked_through_by_sums() {
        let folder = tempfile::tempdir().unwrap();
        // Killed in the middle of sums of every level.
        let path = long_run(folder.path(), 20_007, LEVEL_BYTES_MAX, false);
        check_covers(&crate::overview(&path).unwrap(), 20_007, 20_007 / 16 + 7);
        let record = crate::read(&path).unwrap();
        assert_eq!(record.steps[0].intervals.len(), 20_007);
        check_covers(&record, 20_007, 20_007);
    }

    #[test]
    fn a_long_run_forgets_its_oldest_intervals_and_not_what_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let path = long_run(folder.path(), 20_000, [100_000, 25_000, 8_000, u64::MAX], true);
        assert!(fs::metadata(&path).unwrap().len() < 1_000_000);
        let record = crate::read(&path).unwrap();
        check_covers(&record, 20_000, 2000);
        let length =
            |interval: &fathom_schema::Interval| interval.end.since(interval.start).0 / 1_000_000_000;
        let intervals = &record.steps[0].intervals;
        assert_eq!(length(&intervals[0]), 4096, "the oldest are kept coarsest");
        assert_eq!(length(intervals.last().unwrap()), 1, "the newest are all there");
        check_covers(&crate::overview(&path).unwrap(), 20_000, 2000);
    }

    /// As many attempts as there are events would keep a full disk busy for minutes.
    #[test]
    fn what_was_held_elsewhere_is_stored_with_one_commit_or_handed_back() {
        let count = 3 * PENDING_MAX as u64;
        let rest: Vec<Event> = std::iter::once(step_started(0))
            .chain((0..count).map(|sequence| interval(0, 0, sequence)))
            .chain([note("n"), step_started(1)])
            .collect();
        for has_room in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let path = path_of(folder.path(), RUN);
            let mut writer = Writer::create(folder.path(), RUN).unwrap();
            writer.append(&run_started()).unwrap();
            if !has_room {
                writer.db.pragma_update_and_check(None, "max_page_count", 15, |_| Ok(())).unwrap();
            }
            // Nothing is attempted before all are taken.
            writer.take_all(&mut rest.iter().cloned()).unwrap();
            assert_eq!(writer.pending.len(), rest.len());
            assert!(crate::read(&path).unwrap().steps.is_empty());
            let unstored = match writer.finish_with(Vec::new()) {
                Ok(_) => Vec::new(),
                Err(Unstored { error, events }) => {
                    assert!(matches!(error, StoreError::Full { .. }), "{error}");
                    events
                }
            };
            assert_eq!(unstored, if has_room { Vec::new() } else { rest.clone() });
            let record = crate::read_with(&path, Detail::Whole, unstored).unwrap();
            assert_eq!((record.steps.len(), record.notes.len()), (2, 1));
            check_covers(&record, count, rest.len());
        }
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
