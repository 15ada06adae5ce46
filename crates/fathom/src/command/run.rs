//! `fathom run`: measures, keeps the record, prints the answer.

use crate::cli::RunArgs;
use crate::command::{fio, store_folder};
use crate::exit::Exit;
use crate::session::{self, Done, Manner};
use crate::{load, preset, terminal};
use std::path::Path;

pub(crate) fn run(args: &RunArgs) -> Exit {
    if args.job.quick.preset.as_deref() == Some("help") {
        return crate::printed(&preset::list());
    }
    try_run(args).unwrap_or_else(|exit| exit)
}

fn try_run(args: &RunArgs) -> Result<Exit, Exit> {
    let store = store_folder(args.store.as_ref());
    let planned = session::plan(load::load(&args.job), &args.consent, &store)?;
    let notes = session::judge(&planned, &args.consent, false)?;
    let extras = planned.loaded.extras.clone();
    let manner = Manner { store: &store, live: !args.quiet };
    let Done { mut exit, path } = session::run(planned, notes, &manner)?;
    let Some(path) = path else { return Ok(exit) };
    if let Err(reason) = show(&path, args, &extras) {
        terminal::message(&format!("error: {reason}"));
        exit = if exit == Exit::Ok { Exit::Target } else { exit };
    }
    terminal::message(&format!("record: {}", path.display()));
    Ok(exit)
}

/// Prints the report, and writes what else was asked for.
fn show(path: &Path, args: &RunArgs, extras: &fathom_frontend::fio::Extras) -> Result<(), String> {
    let record = fathom_store::read(path).map_err(|error| error.to_string())?;
    let summary = fathom_report::summary(&record);
    fio::write_logs(&record, extras)?;
    match args.json.as_deref() {
        Some(file) if file == Path::new("-") => {
            return terminal::data(&fathom_report::json(&summary)).map_err(|error| error.to_string());
        }
        Some(file) => session::write_file(file, &fathom_report::json(&summary))?,
        None => {}
    }
    let text = fathom_report::text(&summary, terminal::width(), terminal::colours_data());
    terminal::data(&text).map_err(|error| error.to_string())
}
