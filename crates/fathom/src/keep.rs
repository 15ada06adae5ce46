//! The store as a sink of the bus.

use fathom_run::{Sink, SinkError};
use fathom_schema::Event;
use fathom_store::Writer;
use fathom_units::Nanos;

/// Two commits are at least so far apart, those at starts and ends aside: in virtual time thousands of intervals come in a
/// second, and in real time what comes within this is of one edge.
const COMMIT_EVERY: Nanos = Nanos::millis(50);

/// Keeps every event in the run's file.
pub(crate) struct Keep {
    writer: Writer,
    /// When it was last asked to commit and did, on the monotonic clock.
    committed: Nanos,
}

impl Keep {
    pub(crate) fn new(writer: Writer) -> Self {
        Self { writer, committed: Nanos::ZERO }
    }

    /// Leaves one complete file; its path, or why that failed and what is not in it.
    pub(crate) fn finish(self) -> Result<std::path::PathBuf, fathom_store::Unstored> {
        self.writer.finish()
    }
}

impl Sink for Keep {
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        self.writer.append(event).map_err(|error| SinkError { message: error.to_string() })
    }

    fn settled(&mut self) -> Result<(), SinkError> {
        let now = fathom_engine::monotonic();
        if now.since(self.committed) < COMMIT_EVERY {
            return Ok(());
        }
        self.committed = now;
        self.writer.commit().map_err(|error| SinkError { message: error.to_string() })
    }
}
