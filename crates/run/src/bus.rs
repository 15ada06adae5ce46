//! The bus: every event goes to every sink, in order, on one thread.

use fathom_engine::prepare::Progress;
use fathom_metrics::{IssuedRow, OperationRow};
use fathom_schema::Event;
use std::fmt;

/// Why a sink could not take an event.
#[derive(Debug)]
pub struct SinkError {
    /// In words, with place and remedy.
    pub message: String,
}

impl fmt::Display for SinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SinkError {}

/// Something that listens to a run.
pub trait Sink {
    /// An event happened.
    fn event(&mut self, event: &Event) -> Result<(), SinkError>;
    /// Files are being laid out.
    fn preparing(&mut self, progress: &Progress<'_>) {
        let _ = progress;
    }
    /// Whether it wants the single operations of a stream, by the stream's name.
    fn wants_operations(&self, stream: &str) -> bool {
        let _ = stream;
        false
    }
    /// Single operations of a stream that counted, of one worker, in the order in which they completed. They are passed on
    /// and kept nowhere else.
    fn operations(&mut self, stream: &str, rows: &[OperationRow]) {
        let _ = (stream, rows);
    }
    /// Whether it wants the operations of a stream as they are issued, by the stream's name.
    fn wants_issued(&self, stream: &str) -> bool {
        let _ = stream;
        false
    }
    /// Operations that one worker of a stream issued, in order. They are passed on and kept nowhere else.
    fn issued(&mut self, stream: &str, rows: &[IssuedRow]) {
        let _ = (stream, rows);
    }
    /// No more events for now: what must be kept should be kept. Comes about once a second while a step runs.
    fn settled(&mut self) -> Result<(), SinkError> {
        Ok(())
    }
}

/// The sinks of a run, and the first failure of any of them.
pub struct Bus<'a> {
    sinks: Vec<&'a mut dyn Sink>,
    failure: Option<SinkError>,
}

impl<'a> Bus<'a> {
    /// A bus to these sinks.
    pub fn new(sinks: Vec<&'a mut dyn Sink>) -> Self {
        Self { sinks, failure: None }
    }

    pub(crate) fn send(&mut self, event: &Event) {
        for sink in &mut self.sinks {
            if let Err(error) = sink.event(event) {
                self.failure.get_or_insert(error);
            }
        }
    }

    pub(crate) fn preparing(&mut self, progress: &Progress<'_>) {
        for sink in &mut self.sinks {
            sink.preparing(progress);
        }
    }

    pub(crate) fn wants_operations(&self, stream: &str) -> bool {
        self.sinks.iter().any(|sink| sink.wants_operations(stream))
    }

    pub(crate) fn operations(&mut self, stream: &str, rows: &[OperationRow]) {
        self.sinks.iter_mut().for_each(|sink| sink.operations(stream, rows));
    }

    pub(crate) fn wants_issued(&self, stream: &str) -> bool {
        self.sinks.iter().any(|sink| sink.wants_issued(stream))
    }

    pub(crate) fn issued(&mut self, stream: &str, rows: &[IssuedRow]) {
        self.sinks.iter_mut().for_each(|sink| sink.issued(stream, rows));
    }

    pub(crate) fn settled(&mut self) {
        for sink in &mut self.sinks {
            if let Err(error) = sink.settled() {
                self.failure.get_or_insert(error);
            }
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    pub(crate) fn take_failure(&mut self) -> Option<SinkError> {
        self.failure.take()
    }
}
