//! `fathom run`: measures, keeps the record, prints the answer.

use crate::cli::RunArgs;
use crate::command::fio::{self, OperationLog};
use crate::command::store_folder;
use crate::exit::Exit;
use crate::keep::Keeping;
use crate::operations::Operations;
use crate::output::Spared;
use crate::session::{self, Done, Manner};
use crate::{answer, control, diagnose, load, output, preset, terminal};
use fathom_frontend::fio::Extras;
use fathom_run::{Changes, Sink, Stop};
use fathom_store::Detail;
use std::path::Path;

pub(crate) fn run(args: &RunArgs) -> Exit {
    if args.job.quick.preset.as_deref() == Some("help") {
        return crate::printed(&preset::list());
    }
    try_run(args).unwrap_or_else(|exit| exit)
}

fn try_run(args: &RunArgs) -> Result<Exit, Exit> {
    if args.operations.as_deref() == Some(Path::new("-")) {
        terminal::message(
            "error: --operations: standard output has the report; name a file, or a pipe that something reads",
        );
        return Err(Exit::Usage);
    }
    let store = store_folder(args.store.as_ref());
    let mut loaded = load::load(&args.job);
    args.bounds.add_to(&mut loaded);
    let planned = session::plan(loaded, &args.consent, &store)?;
    let extras = planned.loaded.extras.clone();
    let document = args.json.iter().filter(|file| file.as_path() != Path::new("-")).cloned();
    let outputs: Vec<_> = document.chain(args.operations.clone()).chain(fio::log_names(&extras)).collect();
    let spared = Spared::of(&planned.facts, &planned.loaded.files, &store);
    for path in &outputs {
        output::check(path, &spared).map_err(|fault| fault.refuse())?;
    }
    output::check_apart(&outputs).map_err(|fault| fault.refuse())?;
    let notes = session::judge(&planned, &args.consent, false)?;
    let (changes, refusals) = Changes::telling();
    if let Some(pipe) = &args.control {
        control::listen(pipe, changes.clone(), refusals).map_err(|reason| {
            terminal::message(&format!("error: {}", diagnose::printable(&reason)));
            Exit::Usage
        })?;
    }
    let mut operations = OperationLog::of(&extras);
    let each = args.operations.as_deref().map(|path| Operations::new(path, &spared));
    let mut each = each.transpose().map_err(|reason| {
        terminal::message(&format!("error: {}", diagnose::printable(&reason)));
        Exit::Target
    })?;
    let mut watchers: Vec<&mut dyn Sink> = vec![&mut operations];
    watchers.extend(each.as_mut().map(|each| each as &mut dyn Sink));
    let manner = Manner {
        store: &store,
        keeping: Keeping::Needed,
        live: !args.quiet,
        changes,
        watchers,
        stop: Stop::default(),
    };
    let mut done = session::run(planned, notes, manner)?;
    let mut exit = done.exit;
    let (mut failed, verdict) = show(&mut done, args, &extras, &operations, &spared);
    failed.extend(each.and_then(|each| each.finish(&spared.again()).err()));
    for reason in failed {
        terminal::message(&format!("error: {}", diagnose::printable(&reason)));
        exit = if exit == Exit::Ok { Exit::Target } else { exit };
    }
    exit = if exit == Exit::Ok { verdict } else { exit };
    if let Some(path) = done.path() {
        terminal::message(&format!("record: {}", path.display()));
    }
    Ok(exit)
}

/// Prints the report, and writes what else was asked for. What could not be done keeps nothing else from being done; the
/// reasons, and what became of the thresholds.
fn show(
    done: &mut Done,
    args: &RunArgs,
    extras: &Extras,
    operations: &OperationLog,
    spared: &Spared,
) -> (Vec<String>, Exit) {
    // Logs have every interval in them; a report of a long run is made of sums.
    let has_logs = extras.clones.iter().any(|clone| !clone.logs.are_none());
    let record = match done.record(if has_logs { Detail::Whole } else { Detail::Overview }) {
        Ok(record) => record,
        Err(reason) => return (vec![reason], Exit::Ok),
    };
    let summary = fathom_report::summary(&record);
    let json = || answer::within(&record, &summary);
    let spared = spared.again();
    let mut failed = fio::write_logs(&record, extras, operations, &spared);
    let printed = match args.json.as_deref() {
        Some(file) if file == Path::new("-") => terminal::data(&json()),
        file => {
            let written = file.map(|file| output::write(file, &json(), &spared));
            failed.extend(written.and_then(Result::err));
            let (width, colours) = (terminal::width(), terminal::colours_data());
            terminal::page(&fathom_report::text(&summary, width, colours))
        }
    };
    failed.extend(printed.err().map(|error| format!("cannot write to standard output: {error}")));
    let (_, verdict) = answer::of_summary(&record, &summary);
    (failed, verdict)
}
