//! `fathom report`: a stored run again, in another shape.

use crate::cli::{Format, ReportArgs};
use crate::command::store_folder;
use crate::exit::Exit;
use crate::terminal;
use fathom_store::StoreError;

pub(crate) fn run(args: &ReportArgs) -> Exit {
    let folder = store_folder(args.store.as_ref());
    let record = match fathom_store::find(&folder, &args.run).and_then(|path| fathom_store::read(&path)) {
        Ok(record) => record,
        Err(error) => {
            terminal::message(&format!("error: {error}"));
            return match error {
                StoreError::NotFound { .. } | StoreError::Ambiguous { .. } => Exit::Usage,
                _ => Exit::Target,
            };
        }
    };
    let summary = fathom_report::summary(&record);
    crate::printed(&match args.format {
        Format::Text => fathom_report::text(&summary, terminal::width(), terminal::colours_data()),
        Format::Json => fathom_report::json(&summary),
        Format::Csv => fathom_report::csv(&record),
    })
}
