//! The store as a sink of the bus.

use fathom_run::{Sink, SinkError};
use fathom_schema::Event;
use fathom_store::Writer;

/// Keeps every event in the run's file.
pub(crate) struct Keep {
    writer: Writer,
}

impl Keep {
    pub(crate) fn new(writer: Writer) -> Self {
        Self { writer }
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
        self.writer.commit().map_err(|error| SinkError { message: error.to_string() })
    }
}
