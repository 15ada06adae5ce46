//! `fathom mark`: a note on the time line of a run, while it goes on or afterwards.

use crate::command::store_folder;
use crate::exit::Exit;
use crate::terminal;
use clap::Args;
use fathom_schema::Record;
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
    /// When, from the run's start, e.g. 90s; now when not given, of a run that goes on
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
        let record = fathom_store::overview(&path)?;
        let at_ms = match moment(&record, args.at) {
            Ok(at_ms) => at_ms,
            Err(reason) => return Ok(Err(reason)),
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

/// The wall clock's time of a mark in milliseconds, which lies within the run.
fn moment(record: &Record, at: Option<Nanos>) -> Result<u64, String> {
    let started_ms = record.started.wall_ms;
    let Some(finished) = &record.finished else {
        let now_ms = fathom_engine::wall_ms();
        return match at.map(|at| started_ms.saturating_add(at.0 / 1_000_000)) {
            Some(at_ms) if at_ms > now_ms => {
                Err("--at lies ahead, and the run goes on: leave it out to mark this moment".to_owned())
            }
            at_ms => Ok(at_ms.unwrap_or(now_ms)),
        };
    };
    // Virtual time goes on beyond the wall clock's.
    let ends = record.steps.iter().filter_map(|step| {
        let elapsed = step.finished.as_ref()?.elapsed;
        Some(step.started.wall_ms.saturating_add(elapsed.0 / 1_000_000))
    });
    let end_ms = ends.chain([finished.wall_ms]).max().unwrap_or(finished.wall_ms);
    let length = Nanos::millis(end_ms.saturating_sub(started_ms));
    match at {
        None => Err(format!("the run has ended: say when it was with --at, up to {}", length.approximate())),
        Some(at) if at > length => Err(format!(
            "--at {at} lies behind the end of the run: it took {}, preparation included",
            length.approximate()
        )),
        Some(at) => Ok(started_ms.saturating_add(at.0 / 1_000_000)),
    }
}
