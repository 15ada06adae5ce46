//! A stored run as this server reads it: with the events of it that found no room in its file, and with whether it goes on,
//! which its file alone tells nobody.

use crate::fault::Fault;
use crate::running::file_of;
use crate::{App, elsewhere};
use fathom_report::Progress;
use fathom_schema::{Event, Outcome, Record};
use fathom_store::{Detail, State, StoreError};
use std::path::PathBuf;

/// A run that was read.
pub(crate) struct Stored {
    /// Its file.
    pub(crate) path: PathBuf,
    pub(crate) record: Record,
    /// Whether it goes on, of a record without an end.
    pub(crate) progress: Progress,
}

impl Stored {
    pub(crate) fn goes_on(&self) -> bool {
        self.record.finished.is_none() && self.progress == Progress::GoesOn
    }
}

/// The run `id`, as far as it is looked through.
pub(crate) fn overview(app: &App, id: &str) -> Result<Stored, Fault> {
    let path = file_of(app.store(), id)?;
    // Asked before it is read: what a run that is over by then has left is all there.
    let is_here = app.running.going(id).is_ok();
    let record = fathom_store::read_with(&path, Detail::Overview, app.running.unstored(id));
    let record = record.map_err(|error| match error {
        StoreError::Damaged { .. } if is_here => Fault::conflict(
            "run.beginning",
            format!("of the run {id}, which goes on, nothing is stored yet"),
            "ask again in a moment",
        ),
        error => error.into(),
    })?;
    let goes_on =
        is_here || record.finished.is_none() && elsewhere::goes_on(app, &fathom_store::look(path.clone()));
    let progress = if goes_on { Progress::GoesOn } else { Progress::Killed };
    Ok(Stored { path, record, progress })
}

/// How a run ended whose file lacks its end, where this server has seen it.
pub(crate) fn end_of(app: &App, id: &str) -> Option<State> {
    let ended = app.running.unstored(id).into_iter().rev().find_map(|event| match event {
        Event::RunFinished(finished) => Some(finished.outcome),
        _ => None,
    });
    ended.map(|outcome: Outcome| State::Ended(outcome))
}
