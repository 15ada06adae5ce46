//! The results file while tests run: each test is added once it is over, so that a kill or a lost host takes no test that has
//! ended. What cannot be added then is added at the end.

use super::host::HostWatch;
use crate::output::{self, Spared};
use fathom_report::{IometerHost, IometerShape};
use fathom_run::{Sink, SinkError};
use fathom_schema::{Event, Record};
use std::path::Path;

/// Watches tests come to their ends.
pub(super) struct Results<'a> {
    /// Where they are added; none for the standard output, which gets them at the end.
    file: Option<(&'a Path, Spared)>,
    shape: &'a IometerShape,
    host: HostWatch,
    /// The steps without their intervals; of those that are in the file nothing but that they were.
    record: Option<Record>,
    /// Tests that are in the file.
    added: usize,
    is_failed: bool,
}

impl<'a> Results<'a> {
    pub(super) fn new(file: Option<(&'a Path, Spared)>, shape: &'a IometerShape) -> Self {
        Self { file, shape, host: HostWatch::default(), record: None, added: 0, is_failed: false }
    }

    /// What the host did in each step.
    pub(super) fn hosts(&self) -> &[Option<IometerHost>] {
        self.host.steps()
    }

    /// What of a whole record is not in the file yet.
    pub(super) fn rest(&self, record: &Record) -> String {
        let tests = fathom_report::iometer_results_from(record, self.shape, self.host.steps(), self.added);
        tests + &fathom_report::iometer_end(record, self.shape)
    }

    /// Adds the tests that have ended. A fault is told at the end, where all that is missing is tried again.
    fn add(&mut self) {
        let (Some((file, spared)), Some(record)) = (&self.file, &mut self.record) else { return };
        let lines = fathom_report::iometer_results_from(record, self.shape, self.host.steps(), self.added);
        self.is_failed |= output::append(file, &lines, &spared.again()).is_err();
        if self.is_failed {
            return;
        }
        for step in record.steps.iter_mut().skip(self.added) {
            step.started.step.streams.clear();
            step.finished.iter_mut().for_each(|finished| finished.streams.clear());
        }
        self.added = record.steps.len();
    }
}

impl Sink for Results<'_> {
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        self.host.event(event)?;
        match (event, &mut self.record) {
            (Event::RunStarted(started), none) => *none = Some(Record::begin((**started).clone())),
            (Event::StepStarted(_) | Event::StepFinished(_), Some(record)) if self.file.is_some() => {
                // What comes in an order that is none is told by whoever keeps the record.
                let _ = record.push(event.clone());
            }
            _ => {}
        }
        if matches!(event, Event::StepFinished(_)) && !self.is_failed {
            self.add();
        }
        Ok(())
    }
}
