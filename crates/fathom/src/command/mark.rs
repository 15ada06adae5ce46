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
        let goes_on = record.finished.is_none() && fathom_store::is_held(&path)?;
        let at_ms = match moment(&record, args.at, goes_on) {
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

/// The wall clock's time of a mark in milliseconds, which lies within the run, as far as that has come.
fn moment(record: &Record, at: Option<Nanos>, goes_on: bool) -> Result<u64, String> {
    let started_ms = record.started.wall_ms;
    let at_ms = at.map(|at| started_ms.saturating_add(at.0 / 1_000_000));
    if goes_on {
        let now_ms = fathom_engine::wall_ms();
        return match at_ms {
            Some(at_ms) if at_ms > now_ms => {
                Err("--at lies ahead, and the run goes on: leave it out to mark this moment".to_owned())
            }
            at_ms => Ok(at_ms.unwrap_or(now_ms)),
        };
    }
    let length = Nanos::millis(end_ms(record).saturating_sub(started_ms));
    let (ended, end) = match record.finished {
        Some(_) => ("the run has ended", "the end of the run"),
        None => ("the run was killed", "what there is of the run, which was killed"),
    };
    match (at_ms, at) {
        (Some(at_ms), Some(at)) if at <= length => Ok(at_ms),
        (_, Some(at)) => {
            let length = length.approximate();
            Err(format!("--at {at} lies behind {end}: it took {length}, preparation included"))
        }
        (_, None) => Err(format!("{ended}: say when it was with --at, up to {}", length.approximate())),
    }
}

/// When a run ended that goes on no longer, of the wall clock in milliseconds; of one that was killed, the end of what is
/// there of it.
fn end_ms(record: &Record) -> u64 {
    // Virtual time goes on beyond the wall clock's.
    let ends = record.steps.iter().map(|step| {
        let last = || step.intervals.iter().map(|interval| interval.end).max().unwrap_or(Nanos::ZERO);
        let elapsed = step.finished.as_ref().map_or_else(last, |finished| finished.elapsed);
        step.started.wall_ms.saturating_add(elapsed.0 / 1_000_000)
    });
    let finished_ms = record.finished.as_ref().map(|finished| finished.wall_ms);
    ends.chain(finished_ms).max().unwrap_or(record.started.wall_ms)
}
