//! `--operations FILE`: every operation that counts as a row of CSV. Writes them to a file without a name while the run goes on;
//! the file that was asked for is made of it when the run has ended.

use crate::output::{self, Spared};
use fathom_metrics::OperationRow;
use fathom_report::OperationsCsv;
use fathom_run::{Sink, SinkError};
use fathom_schema::{Event, Step};
use std::fs::File;
use std::io::{self, BufWriter, Seek};
use std::path::{Path, PathBuf};

/// Takes operations down as they come.
pub(crate) struct Operations {
    path: PathBuf,
    csv: OperationsCsv<BufWriter<File>>,
    step: Option<Step>,
    failure: Option<io::Error>,
}

impl Operations {
    /// For a document at `path`; what comes of the run lies on the same filesystem until then, or among temporary files where that
    /// is a pipe or the like.
    pub(crate) fn new(path: &Path) -> Result<Self, String> {
        let fail = |error: io::Error| cannot(path, &error);
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let is_other = path.metadata().is_ok_and(|there| !there.is_file());
        let file = if is_other { tempfile::tempfile() } else { tempfile::tempfile_in(folder) };
        let file = file.or_else(|_| tempfile::tempfile()).map_err(fail)?;
        let csv = OperationsCsv::new(BufWriter::new(file)).map_err(fail)?;
        Ok(Self { path: path.to_owned(), csv, step: None, failure: None })
    }

    /// Writes the document.
    pub(crate) fn finish(self, spared: &Spared) -> Result<(), String> {
        let Self { path, csv, step: _, failure } = self;
        let fail = |error: io::Error| cannot(&path, &error);
        if let Some(error) = failure {
            return Err(fail(error));
        }
        let mut file = csv.finish().and_then(|out| out.into_inner().map_err(io::IntoInnerError::into_error));
        let file = file.as_mut().map_err(|error| cannot(&path, error))?;
        file.rewind().map_err(fail)?;
        output::write_with(&path, spared, |out| io::copy(file, out).map(drop))
    }
}

fn cannot(path: &Path, error: &io::Error) -> String {
    format!("cannot write {}: {error}", path.display())
}

impl Sink for Operations {
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        if let Event::StepStarted(started) = event {
            self.step = Some(started.step.clone());
        }
        Ok(())
    }

    fn wants_operations(&self, _: &str) -> bool {
        true
    }

    fn operations(&mut self, stream: &str, rows: &[OperationRow]) {
        if let (Some(step), None) = (&self.step, &self.failure) {
            self.failure = self.csv.operations(step, stream, rows).err();
        }
    }

    /// A run whose operations are asked for and cannot be kept goes on for nothing.
    fn settled(&mut self) -> Result<(), SinkError> {
        match &self.failure {
            Some(error) => Err(SinkError { message: cannot(&self.path, error) }),
            None => Ok(()),
        }
    }
}
