//! The store as a sink of the bus, and a run that goes on in memory since it need not be stored.

use crate::held::Held;
use crate::{diagnose, terminal};
use fathom_run::{Sink, SinkError};
use fathom_schema::Event;
use fathom_store::{StoreError, Unstored, Writer};
use fathom_units::Nanos;
use std::path::{Path, PathBuf};

/// Two commits are at least so far apart, those at starts and ends aside: in virtual time thousands of intervals come in a
/// second, and in real time what comes within this is of one edge.
const COMMIT_EVERY: Nanos = Nanos::millis(50);

/// What becomes of a run that cannot be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeping {
    /// It does not begin, or ends: a record is what it is for.
    Needed,
    /// It goes on in memory, since its report is what it is for.
    Offered,
    /// It is not stored at all.
    Nowhere,
}

/// Keeps every event of a run.
pub(crate) struct Keep {
    writer: Option<Writer>,
    /// Where the run's file is, or would be.
    path: PathBuf,
    keeping: Keeping,
    /// What came since the file could not be made or written any more.
    held: Held,
    /// Whether all events go there.
    holds: bool,
    /// When it was last asked to commit and did, on the monotonic clock.
    committed: Nanos,
    /// Why a run that need not be stored has no file.
    failed: Option<StoreError>,
}

impl Keep {
    /// Makes the file of run `id` in `folder`, where that is to be had.
    pub(crate) fn new(folder: &Path, id: &str, keeping: Keeping) -> Result<Self, StoreError> {
        let mut failed = None;
        let writer = match keeping {
            Keeping::Needed => Some(Writer::create(folder, id)?),
            Keeping::Offered => Writer::create(folder, id)
                .inspect_err(warn_unstored)
                .map_err(|error| failed = Some(error))
                .ok(),
            Keeping::Nowhere => None,
        };
        let holds = writer.is_none();
        let path = fathom_store::path_of(folder, id);
        Ok(Self { writer, path, keeping, held: Held::default(), holds, committed: Nanos::ZERO, failed })
    }

    /// Where the run's file is, or would be.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves one complete file, or says why that failed and what is not in it; nothing failed where nothing was to be stored.
    pub(crate) fn finish(self) -> Result<(), Unfinished> {
        let held = self.held.into_events();
        let Some(writer) = self.writer else {
            return Err(Unfinished { error: self.failed, events: held });
        };
        // There may be room again by now. Where there is none, the writer hands them back.
        match writer.finish_with(held) {
            Ok(_) => Ok(()),
            Err(Unstored { error, events }) => {
                if self.keeping == Keeping::Offered {
                    if !self.holds {
                        warn_unstored(&error);
                    }
                    if matches!(events.first(), Some(Event::RunStarted(_))) {
                        discard(&self.path);
                    }
                }
                Err(Unfinished { error: Some(error), events })
            }
        }
    }

    /// What failed, unless the run goes on without.
    fn bear(&mut self, failed: Result<(), StoreError>) -> Result<(), SinkError> {
        match failed {
            Err(error) if self.keeping == Keeping::Offered => {
                warn_unstored(&error);
                self.holds = true;
                Ok(())
            }
            other => other.map_err(|error| SinkError { message: error.to_string() }),
        }
    }
}

/// What of a run is in no file.
pub(crate) struct Unfinished {
    /// Why; none where nothing was to be stored.
    pub(crate) error: Option<StoreError>,
    /// All that is not in the file, in order.
    pub(crate) events: Vec<Event>,
}

/// Removes a file that nothing of its run got into: it would only show as damaged in every listing.
fn discard(path: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        // What cannot be removed is listed as what it is.
        let _ = std::fs::remove_file(name);
    }
}

/// What is to be said of a run that need not be stored and is not.
pub(crate) fn unstored(error: &StoreError) -> String {
    format!("this run is not stored, and goes on: {error}")
}

/// Says so to whoever watches: what reads standard error of a run that nobody watches takes any word there for a failure, and finds
/// it among the notes.
fn warn_unstored(error: &StoreError) {
    if terminal::shows_messages() {
        terminal::message(&diagnose::printable(&format!("warning: {}", unstored(error))));
    }
}

impl Sink for Keep {
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        match &mut self.writer {
            Some(writer) if !self.holds => {
                self.held.pass(event);
                let appended = writer.append(event);
                self.bear(appended)
            }
            _ => {
                self.held.take(event);
                Ok(())
            }
        }
    }

    fn settled(&mut self) -> Result<(), SinkError> {
        let now = fathom_engine::monotonic();
        if now.since(self.committed) < COMMIT_EVERY {
            return Ok(());
        }
        self.committed = now;
        match &mut self.writer {
            Some(writer) if !self.holds => {
                let committed = writer.commit();
                self.bear(committed)
            }
            _ => Ok(()),
        }
    }
}
