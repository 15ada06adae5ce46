//! `fathom mark`: a note on the time line of a run, while it goes on or afterwards.

use crate::command::store_folder;
use crate::exit::Exit;
use crate::terminal;
use clap::Args;
use fathom_store::StoreError;
use fathom_units::Nanos;
use std::path::PathBuf;

/// Longest text of a mark: a line, not a report.
const TEXT_BYTES_MAX: usize = 1000;

#[derive(Debug, Args)]
pub(crate) struct MarkArgs {
    /// Which run: `last`, its id or the beginning of it, or a path
    #[arg(value_name = "RUN")]
    run: String,
    /// What happened, e.g. "rebuild started"
    #[arg(value_name = "TEXT")]
    text: String,
    /// When, from the run's start, e.g. 90s; now when not given
    #[arg(long, value_name = "TIME")]
    at: Option<Nanos>,
    /// Folder of the runs
    #[arg(long, value_name = "FOLDER")]
    store: Option<PathBuf>,
}

pub(crate) fn run(args: &MarkArgs) -> Exit {
    if args.text.trim().is_empty() || args.text.len() > TEXT_BYTES_MAX {
        terminal::message(&format!("error: a mark has 1 to {TEXT_BYTES_MAX} bytes, not {}", args.text.len()));
        return Exit::Usage;
    }
    let folder = store_folder(args.store.as_ref());
    let marked = fathom_store::find(&folder, &args.run).and_then(|path| {
        let at_ms = match args.at {
            None => fathom_engine::wall_ms(),
            Some(at) => {
                let started_ms = fathom_store::overview(&path)?.started.wall_ms;
                started_ms.saturating_add(at.0 / 1_000_000)
            }
        };
        fathom_store::mark(&path, at_ms, args.text.trim())?;
        Ok(path)
    });
    match marked {
        Ok(path) => {
            terminal::message(&format!("marked: {}", path.display()));
            Exit::Ok
        }
        Err(error) => {
            terminal::message(&format!("error: {error}"));
            match error {
                StoreError::NotFound { .. } | StoreError::Ambiguous { .. } => Exit::Usage,
                _ => Exit::Target,
            }
        }
    }
}
