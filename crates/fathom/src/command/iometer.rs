//! `fathom iometer`: Iometer's command line and configurations, and its results file. What is overwritten is asked for as
//! for any other job.

mod arguments;
mod host;
mod plan;
mod results;
mod shape;

use crate::exit::Exit;
use crate::keep::Keeping;
use crate::load;
use crate::output::{self, Spared};
use crate::session::{self, Manner};
use crate::{diagnose, terminal};
use arguments::Arguments;
use fathom_run::{Changes, Stop};
use fathom_schema::TARGETS_COUNTED_MAX;
use fathom_store::Detail;
use results::Results;
use std::path::Path;

/// What fathom says where Iometer says its version: whose behaviour it is, as scripts want to know, and who did it.
const VERSION: &str = concat!("1.1.0-fathom-", env!("CARGO_PKG_VERSION"));

/// Takes the words of Iometer's command line.
pub(crate) fn run(words: &[String]) -> Exit {
    match Arguments::read(words) {
        Err(reason) => {
            terminal::message(&format!("error: {}", diagnose::printable(&reason)));
            Exit::Usage
        }
        Ok(Arguments { help: true, .. }) => crate::printed(arguments::USAGE),
        Ok(Arguments { version: true, .. }) => crate::printed(&format!("{VERSION}\n")),
        Ok(arguments) => started(&arguments),
    }
}

fn started(arguments: &Arguments) -> Exit {
    let Some(file) = &arguments.configuration else {
        terminal::message("error: no configuration is named; give one with -c FILE.icf");
        return Exit::Usage;
    };
    let text = match load::read_icf(Path::new(file)) {
        Ok(text) => text,
        Err(load::Unread { reason, line }) => {
            terminal::message(&format!("error: {}", diagnose::printable(&reason)));
            if arguments.json {
                // What went wrong is said; that it cannot be said twice changes nothing.
                let _ = terminal::data(&plan::error(line, &reason));
            }
            return Exit::Usage;
        }
    };
    if arguments.plan {
        return plan::run(file, &text, arguments.targets().sector_size, arguments.json);
    }
    measured(arguments, file, &text).unwrap_or_else(|exit| exit)
}

/// Runs all tests, and adds what they came to to the results file.
fn measured(arguments: &Arguments, file: &str, text: &str) -> Result<Exit, Exit> {
    let store = crate::command::store_folder(arguments.store.as_ref());
    let loaded = load::configuration(file, text, &arguments.targets(), true);
    let consent = arguments.consent();
    let planned = session::plan(loaded, &consent, &store)?;
    let shape = planned.loaded.iometer.as_ref().map(shape::of).ok_or(Exit::Internal)?;
    let updates = planned.loaded.iometer.as_ref().and_then(|of| of.document.setup.updates_seconds);
    // Iometer calls the file of updates after that of the results.
    let updates = arguments.results.as_ref().zip(updates).and_then(|(results, every_s)| {
        let name = results.file_name()?.to_string_lossy();
        Some((results.with_file_name(format!("inst{name}")), every_s))
    });
    let spared = Spared::of(&planned.facts, &[file.into()], &store);
    for file in arguments.results.iter().chain(updates.as_ref().map(|(file, _)| file)) {
        output::check(file, &spared).map_err(|fault| fault.refuse())?;
    }
    let notes = session::judge(&planned, &consent, false)?;
    // A pipe is opened once, or its reader would take each test for the end.
    let is_file = |file: &&Path| std::fs::metadata(file).map_or(true, |meta| meta.is_file());
    let file = arguments.results.as_deref().filter(is_file).map(|file| (file, spared.again()));
    let mut results = Results::new(file, &shape);
    let manner = Manner {
        store: &store,
        keeping: Keeping::Needed,
        live: !arguments.quiet,
        changes: Changes::default(),
        watchers: vec![&mut results],
        stop: Stop::default(),
    };
    let mut done = session::run(planned, notes, manner)?;
    let detail = if updates.is_some() { Detail::Whole } else { Detail::Overview };
    let mut uncounted = Vec::new();
    // Results first, and what becomes of one file keeps nothing from the other.
    let given_out = done.record(detail).map(|record| {
        let rest = results.rest(&record);
        let written = match &arguments.results {
            Some(file) => output::append(file, &rest, &spared.again()),
            None => {
                terminal::data(&rest).map_err(|error| format!("cannot write to standard output: {error}"))
            }
        };
        uncounted = fathom_report::iometer_uncounted(&record, &shape);
        let updates = updates.as_ref().map_or(Ok(()), |(file, every_s)| {
            let updates = fathom_report::iometer_updates(&record, &shape, results.hosts(), *every_s);
            output::append(file, &updates, &spared.again())
        });
        [written, updates]
    });
    let faults: Vec<String> = match given_out {
        Ok(written) => written.into_iter().filter_map(Result::err).collect(),
        Err(reason) => vec![reason],
    };
    if let Some(path) = done.path() {
        terminal::message(&format!("record: {}", path.display()));
    }
    if let [first, others @ ..] = &uncounted[..] {
        let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
        let message = format!(
            "the rows of the target {first}{more} have no figures: a worker that pauses between bursts is counted by target on 2 to \
             {TARGETS_COUNTED_MAX} of them, each with a path of its own; use several workers, or map them apart"
        );
        terminal::message(&format!("warning: {}", diagnose::printable(&message)));
    }
    for reason in &faults {
        terminal::message(&format!("error: {}", diagnose::printable(reason)));
    }
    Ok(if !faults.is_empty() && done.exit == Exit::Ok { Exit::Target } else { done.exit })
}
