//! `fathom report`: a stored run again, in another shape.

use crate::answer;
use crate::cli::{Format, ReportArgs};
use crate::command::store_folder;
use crate::exit::Exit;
use crate::output::{self, Spared};
use crate::terminal;
use fathom_report::{Csv, Progress};
use fathom_schema::Record;
use fathom_store::StoreError;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

pub(crate) fn run(args: &ReportArgs) -> Exit {
    if args.format == Format::Html && args.output.is_none() && io::stdout().is_terminal() {
        terminal::message(
            "error: a page is nothing to read in a terminal; name a file for it: --output report.html",
        );
        return Exit::Usage;
    }
    let folder = store_folder(args.store.as_ref());
    super::found(&folder, &args.run).and_then(|path| show(&path, args)).unwrap_or_else(|error| {
        terminal::message(&format!("error: {error}"));
        match error {
            StoreError::NotFound { .. } | StoreError::Ambiguous { .. } => Exit::Usage,
            _ => Exit::Target,
        }
    })
}

fn show(path: &Path, args: &ReportArgs) -> Result<Exit, StoreError> {
    let (record, goes_on) = fathom_store::with_progress(path, fathom_run::wall_ms())?;
    // Of one that has an end nobody asks.
    let progress = if goes_on { Progress::GoesOn } else { Progress::Killed };
    let spared = spared(&record, path);
    if let Some(output) = &args.output
        && let Err(fault) = output::check(output, &spared)
    {
        return Ok(fault.refuse());
    }
    if args.format == Format::Csv {
        return csv(path, args.output.as_deref(), &spared);
    }
    let summary = || fathom_report::summary_of(&record, progress);
    let text = match args.format {
        Format::Text if args.output.is_some() => fathom_report::text(&summary(), TEXT_WIDTH, false),
        Format::Text => fathom_report::text(&summary(), terminal::width(), terminal::colours_data()),
        Format::AnswerCsv => {
            let Some(rows) = answer::rows(&record, &summary()) else {
                terminal::message(
                    "error: the run was made for no question; --format csv has its intervals, --format json its figures",
                );
                return Ok(Exit::Usage);
            };
            rows
        }
        Format::Json | Format::Csv => answer::within(&record, &summary()),
        Format::Markdown => fathom_report::markdown(&summary()),
        Format::Html => fathom_report::html_of(&record, progress),
    };
    Ok(match &args.output {
        None if args.format == Format::Text => crate::shown(&text),
        None => crate::printed(&text),
        Some(output) => ended(output, output::write(output, &text, &spared)),
    })
}

/// Columns of a text that goes to a file.
const TEXT_WIDTH: usize = 100;

/// What no report is written over: the run's targets and job files, and every run beside it.
fn spared(record: &Record, path: &Path) -> Spared {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let job_files: Vec<_> = record.started.sources.iter().map(|(name, _)| name.into()).collect();
    Spared::of(&record.started.facts, &job_files, folder)
}

fn ended(output: &Path, written: Result<(), String>) -> Exit {
    match written {
        Ok(()) => {
            terminal::message(&format!("report: {}", output.display()));
            Exit::Ok
        }
        Err(error) => {
            terminal::message(&format!("error: {error}"));
            Exit::Target
        }
    }
}

/// Every interval, as it is read: all of them together may be more than fits into memory.
fn csv(path: &Path, output: Option<&Path>, spared: &Spared) -> Result<Exit, StoreError> {
    let Some(output) = output else {
        let mut unread = Ok(());
        let written = rows(path, io::stdout().lock(), &mut unread);
        return unread.map(|()| crate::ended(terminal::written(written)));
    };
    let mut unread = Ok(());
    let written = output::write_with(output, spared, |out| {
        let written = rows(path, out, &mut unread);
        // A record that cannot be read to its end leaves no half of a report.
        written.and_then(|()| if unread.is_ok() { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) })
    });
    unread.map(|()| ended(output, written))
}

/// Writes the rows; `unread` is what kept the record from being read.
fn rows(path: &Path, out: impl Write, unread: &mut Result<(), StoreError>) -> io::Result<()> {
    let mut rows = Csv::new(BufWriter::new(out))?;
    let mut failure = Ok(());
    *unread = fathom_store::each_interval(path, &mut |record, interval| {
        if failure.is_ok() {
            failure = rows.interval(record, &interval);
        }
    });
    failure.and_then(|()| rows.finish())
}
