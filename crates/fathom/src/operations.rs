//! `--operations FILE`: every operation that counts as a row of CSV, written as they come.

use crate::output::{Growing, Spared};
use fathom_metrics::OperationRow;
use fathom_report::OperationsCsv;
use fathom_run::{Sink, SinkError};
use fathom_schema::Event;
use std::io;
use std::path::{Path, PathBuf};

/// Takes operations down as they come.
pub(crate) struct Operations {
    path: PathBuf,
    csv: OperationsCsv<Growing>,
    failure: Option<io::Error>,
    /// The run has ended for the failure, which says it.
    is_told: bool,
}

impl Operations {
    /// For a document at `path`.
    pub(crate) fn new(path: &Path, spared: &Spared) -> Result<Self, String> {
        let csv = OperationsCsv::new(Growing::begin(path, spared)?).map_err(|error| cannot(path, &error))?;
        Ok(Self { path: path.to_owned(), csv, failure: None, is_told: false })
    }

    /// Ends the document.
    pub(crate) fn finish(self, spared: &Spared) -> Result<(), String> {
        let Self { path, csv, failure, is_told } = self;
        match failure {
            Some(_) if is_told => Ok(()),
            Some(error) => Err(cannot(&path, &error)),
            None => csv.finish().map_err(|error| cannot(&path, &error))?.finish(spared),
        }
    }
}

fn cannot(path: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {error}", path.display())
}

impl Sink for Operations {
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        if let Event::StepStarted(started) = event {
            self.csv.begin(&started.step);
        }
        Ok(())
    }

    fn wants_operations(&self, _: &str) -> bool {
        true
    }

    fn operations(&mut self, stream: &str, rows: &[OperationRow]) {
        if self.failure.is_none() {
            self.failure = self.csv.operations(stream, rows).err();
        }
    }

    /// A run whose operations are asked for and cannot be kept goes on for nothing.
    fn settled(&mut self) -> Result<(), SinkError> {
        match &self.failure {
            Some(error) => {
                self.is_told = true;
                Err(SinkError { message: cannot(&self.path, error) })
            }
            None => Ok(()),
        }
    }
}
