//! `fathom mark`: a note on the time line of a run, while it goes on or afterwards.

use crate::command::store_folder;
use crate::exit::Exit;
use crate::terminal;
use clap::Args;
use fathom_store::{StoreError, Untimely, moment};
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
    /// When, from the run's start, e.g. 90s; now when not given, of a run that goes on
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    at: Option<Nanos>,
    /// Folder of the runs
    #[arg(long, value_name = "FOLDER")]
    store: Option<PathBuf>,
}

pub(crate) fn run(args: &MarkArgs) -> Exit {
    if args.text.trim().is_empty() {
        terminal::message("error: a mark says what happened, and this one is blank");
        return Exit::Usage;
    }
    if args.text.len() > TEXT_BYTES_MAX {
        terminal::message(&format!(
            "error: a mark has {TEXT_BYTES_MAX} bytes at most, not {}",
            args.text.len()
        ));
        return Exit::Usage;
    }
    // The moment that is meant is this one, however long it takes to find out whether the run goes on.
    let now_ms = fathom_engine::wall_ms();
    let folder = store_folder(args.store.as_ref());
    let marked = fathom_store::find(&folder, &args.run).and_then(|path| {
        let (record, goes_on) = fathom_store::with_progress(&path, now_ms)?;
        let at_ms = match moment(&record, args.at, goes_on, now_ms) {
            Ok(at_ms) => at_ms,
            Err(untimely) => return Ok(Err(reason(untimely, args.at))),
        };
        fathom_store::mark(&path, at_ms, args.text.trim())?;
        Ok(Ok(path))
    });
    match marked {
        Ok(Err(reason)) => {
            terminal::message(&format!("error: {reason}"));
            Exit::Usage
        }
        Ok(Ok(path)) => {
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

/// Why a mark cannot be at a time, in the words of this command.
fn reason(untimely: Untimely, at: Option<Nanos>) -> String {
    match (untimely, at) {
        (Untimely::Ahead, _) => {
            "--at lies ahead, and the run goes on: leave it out to mark this moment".to_owned()
        }
        (Untimely::Behind { length, has_ended }, Some(at)) => {
            let end =
                if has_ended { "the end of the run" } else { "what there is of the run, which was killed" };
            let length = length.approximate();
            format!("--at {at} lies behind {end}: it took {length}, preparation included")
        }
        (Untimely::Untold { length, has_ended } | Untimely::Behind { length, has_ended }, _) => {
            let ended = if has_ended { "the run has ended" } else { "the run was killed" };
            format!("{ended}: say when it was with --at, up to {}", length.approximate())
        }
    }
}
