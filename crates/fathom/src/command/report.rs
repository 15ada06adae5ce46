//! `fathom report`: a stored run again, in another shape.

use crate::cli::{Format, ReportArgs};
use crate::command::store_folder;
use crate::exit::Exit;
use crate::terminal;
use fathom_report::Csv;
use fathom_store::StoreError;
use std::io::{self, BufWriter};
use std::path::Path;

pub(crate) fn run(args: &ReportArgs) -> Exit {
    let folder = store_folder(args.store.as_ref());
    fathom_store::find(&folder, &args.run).and_then(|path| show(&path, args)).unwrap_or_else(|error| {
        terminal::message(&format!("error: {error}"));
        match error {
            StoreError::NotFound { .. } | StoreError::Ambiguous { .. } => Exit::Usage,
            _ => Exit::Target,
        }
    })
}

fn show(path: &Path, args: &ReportArgs) -> Result<Exit, StoreError> {
    if args.format == Format::Csv {
        return csv(path);
    }
    let summary = fathom_report::summary(&fathom_store::overview(path)?);
    Ok(crate::printed(&match args.format {
        Format::Text => fathom_report::text(&summary, terminal::width(), terminal::colours_data()),
        Format::Json | Format::Csv => fathom_report::json(&summary),
    }))
}

/// Every interval, as it is read: all of them together may be more than fits into memory.
fn csv(path: &Path) -> Result<Exit, StoreError> {
    let mut out = Csv::new(BufWriter::new(io::stdout().lock()));
    let mut failure = None;
    fathom_store::each_interval(path, &mut |record, interval| {
        if let (Ok(rows), None) = (&mut out, &failure) {
            failure = rows.interval(record, &interval).err();
        }
    })?;
    let written = failure.map_or(Ok(()), Err).and_then(|()| out.and_then(Csv::finish));
    Ok(crate::ended(terminal::written(written)))
}
