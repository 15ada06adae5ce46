//! How a run that answers a question goes: planned, judged, run, and its answer printed.

use crate::cli::{BoundArgs, ConsentArgs};
use crate::command::store_folder;
use crate::exit::Exit;
use crate::keep::Keeping;
use crate::load::Loaded;
use crate::session::{self, Manner, Planned};
use crate::{answer, diagnose, terminal};
use clap::Args;
use fathom_planner::search::Search;
use fathom_report::Summary;
use fathom_run::{Changes, Stop};
use fathom_schema::{Question, Record};
use fathom_store::Detail;
use std::path::{Path, PathBuf};

/// How a search is shown and kept.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options")]
pub(super) struct SearchManner {
    #[command(flatten)]
    pub(super) bounds: BoundArgs,
    /// Print the answer as a JSON document; docs/questions.md explains its members
    #[arg(long)]
    pub(super) json: bool,
    /// Keep the run in this folder instead of the usual one
    #[arg(long, value_name = "FOLDER")]
    pub(super) store: Option<PathBuf>,
    /// Show no progress
    #[arg(long, short)]
    pub(super) quiet: bool,
}

/// The answer for people, so many columns wide, with colours or without.
type Page = fn(&Summary, usize, bool) -> String;

/// A search that ran, its answer printed.
pub(super) struct Searched {
    /// Of the run, of the printing and of the answer, the first that is not success.
    pub(super) exit: Exit,
    pub(super) record: Record,
    /// Whether the store has the record.
    pub(super) is_kept: bool,
}

/// Runs a search for `question` and prints its answer alone.
pub(super) fn searched(
    mut loaded: Loaded,
    consent: &ConsentArgs,
    manner: &SearchManner,
    question: Question,
    search: Search,
) -> Result<Exit, Exit> {
    let store = store_folder(manner.store.as_ref());
    loaded.question = Some(question);
    manner.bounds.add_to(&mut loaded);
    let planned = session::plan_search(loaded, consent, &store, search)?;
    answered(planned, consent, manner, &store, fathom_report::text_of_answer).map(|searched| searched.exit)
}

/// Runs what was planned to answer a question, if it may be run, and prints the answer.
///
/// # Errors
/// The exit of a run that was refused, or of which there is no record; the reason was printed.
pub(super) fn answered(
    planned: Planned,
    consent: &ConsentArgs,
    manner: &SearchManner,
    store: &Path,
    page: Page,
) -> Result<Searched, Exit> {
    let notes = session::judge(&planned, consent, false)?;
    let how = Manner {
        store,
        keeping: Keeping::Needed,
        live: !manner.quiet,
        changes: Changes::default(),
        watchers: Vec::new(),
        stop: Stop::default(),
    };
    let mut done = session::run(planned, notes, how)?;
    let record = done.record(Detail::Overview).map_err(|reason| {
        terminal::message(&format!("error: {}", diagnose::printable(&reason)));
        Exit::Target
    })?;
    let summary = fathom_report::summary(&record);
    let (document, verdict) = answer::of_summary(&record, &summary);
    let printed = if manner.json {
        crate::printed(&document)
    } else {
        crate::shown(&page(&summary, terminal::width(), terminal::colours_data()))
    };
    if let Some(path) = done.path() {
        terminal::message(&format!("record: {}", path.display()));
    }
    let exit = [done.exit, printed, verdict].into_iter().find(|exit| *exit != Exit::Ok).unwrap_or(Exit::Ok);
    Ok(Searched { exit, record, is_kept: done.path().is_some() })
}
