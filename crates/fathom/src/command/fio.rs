//! `fathom fio`: fio's command line and job files, fio's JSON out. Files that a job names are written as fio writes them;
//! for devices the rules are fathom's.

use crate::cli::ConsentArgs;
use crate::command::store_folder;
use crate::exit::Exit;
use crate::load::{self, Loaded};
use crate::session::{self, Done, Manner};
use crate::{diagnose, terminal};
use fathom_frontend::fio::{self, Extras, JobClone as FioClone, Logs, OutputFormat, Switches};
use fathom_report::{FioEntry, FioLog, FioShape, FioWorkers, LogRequest};
use fathom_schema::Record;
use fathom_units::Nanos;
use std::path::Path;

/// fio's exit code for whatever went wrong before or in a job.
const FIO_FAILED: u8 = 1;

const HELP: &str = "\
fathom fio [options] [job files]: runs fio's job files and command lines.

  --name=NAME --rw=read --bs=4k …   a job on the command line, as with fio
  --output=FILE --output-format=json
  --section=NAME --parse-only --showcmd
  --destroy=DEV, --yes              consent to overwrite a device's content (fathom's own rule)

Without --output-format=json the report is fathom's own text.
`fathom check JOB` shows every fault of a job file.
";

/// Returns the number the shell sees: fio's, not fathom's.
pub(crate) fn run(arguments: &[String]) -> u8 {
    let (consent, arguments) = split_consent(arguments);
    let (reading, switches) = load::with_surroundings(|world| fio::read_arguments(&arguments, world));
    if switches.help || arguments.is_empty() {
        return crate::printed(HELP).number();
    }
    if switches.version {
        return crate::printed(&format!("fathom-{}\n", env!("CARGO_PKG_VERSION"))).number();
    }
    let fio::Reading { job, diagnostics, extras } = reading;
    let title = extras.clones.first().map_or_else(String::new, |clone| clone.job_name.clone());
    let is_unread = diagnostics.has_errors() && job.streams.is_empty();
    let loaded = Loaded { job, diagnostics, extras, title, is_unread };
    if switches.parse_only || switches.showcmd {
        return u8::from(session::report_faults(&loaded).is_err()) * FIO_FAILED;
    }
    match run_job(loaded, &consent, &switches) {
        Ok(number) => number,
        Err(Exit::Signal(_)) => 128,
        Err(_) => FIO_FAILED,
    }
}

/// fathom's own switches among fio's.
fn split_consent(arguments: &[String]) -> (ConsentArgs, Vec<String>) {
    let mut consent = ConsentArgs { yes: false, overwrite: false, destroy: Vec::new() };
    let mut rest = Vec::new();
    for argument in arguments {
        match argument.strip_prefix("--destroy=") {
            Some(device) => consent.destroy.push(device.to_owned()),
            None if argument == "--yes" => consent.yes = true,
            None => rest.push(argument.clone()),
        }
    }
    (consent, rest)
}

fn run_job(loaded: Loaded, consent: &ConsentArgs, switches: &Switches) -> Result<u8, Exit> {
    let store = store_folder(None);
    let extras = loaded.extras.clone();
    let echo = loaded.job.echo.clone();
    let planned = session::plan(loaded, consent, &store)?;
    if switches.readonly && planned.plan.intents.iter().any(|intent| intent.writes || intent.trims) {
        terminal::message("refused: the job writes or trims, and --readonly is given");
        return Ok(FIO_FAILED);
    }
    let notes = session::judge(&planned, consent, true)?;
    let wants_json = switches
        .output_format
        .iter()
        .any(|format| matches!(format, OutputFormat::Json | OutputFormat::JsonPlus));
    let live = switches.eta.as_deref() != Some("never") && !(wants_json && switches.output.is_none());
    let Done { exit, path } = session::run(planned, notes, &Manner { store: &store, live })?;
    let Some(path) = path else { return Ok(FIO_FAILED) };
    let written = fathom_store::read(&path).map_err(|error| error.to_string()).and_then(|record| {
        // As with fio, a log that cannot be written is said and costs neither the report nor the exit code.
        if let Err(reason) = write_logs(&record, &extras) {
            terminal::message(&format!("warning: {}", diagnose::printable(&reason)));
        }
        let text = if wants_json {
            let plus = switches.output_format.contains(&OutputFormat::JsonPlus);
            fathom_report::fio_json(&record, &shape(&record, &extras, &echo, plus))
        } else {
            fathom_report::text(&fathom_report::summary(&record), terminal::width(), terminal::colours_data())
        };
        match &switches.output {
            Some(file) => session::write_file(Path::new(file), &text),
            None => terminal::data(&text).map_err(|error| error.to_string()),
        }
    });
    if let Err(reason) = written {
        terminal::message(&format!("error: {}", diagnose::printable(&reason)));
        return Ok(FIO_FAILED);
    }
    Ok(match exit {
        Exit::Ok => 0,
        Exit::Signal(_) => 128,
        _ => FIO_FAILED,
    })
}

/// What fio's document says beside the record: one entry per clone, or per group where the group reports together.
fn shape(
    record: &Record,
    extras: &Extras,
    echo: &[(String, Vec<(String, String)>)],
    json_plus: bool,
) -> FioShape {
    let mut entries: Vec<FioEntry> = Vec::new();
    let mut last: Option<&FioClone> = None;
    for clone in extras.clones.iter().filter(|clone| clone.is_reported) {
        let workers = workers_of(record, clone);
        let joins = clone.group_reporting
            && last.is_some_and(|last| last.group_reporting && last.group_id == clone.group_id);
        last = Some(clone);
        match entries.last_mut().filter(|_| joins) {
            Some(entry) => {
                let new =
                    workers.into_iter().filter(|worker| !entry.workers.contains(worker)).collect::<Vec<_>>();
                entry.workers.extend(new);
            }
            None => entries.push(FioEntry {
                jobname: clone.job_name.clone(),
                groupid: clone.group_id,
                desc: clone.description.clone().unwrap_or_default(),
                options: echo.get(clone.echo_index).map_or_else(Vec::new, |(_, options)| options.clone()),
                workers,
                continues_on_error: false,
            }),
        }
    }
    let first = extras.clones.first();
    FioShape {
        entries,
        globals: extras.globals.clone(),
        percentiles: first.map_or_else(Vec::new, |clone| clone.percentiles.clone()),
        clat_percentiles: first.is_none_or(|clone| clone.clat_percentiles),
        lat_percentiles: first.is_some_and(|clone| clone.lat_percentiles),
        version: format!("fathom-{}", env!("CARGO_PKG_VERSION")),
        json_plus,
    }
}

/// Where in the record a clone's work is.
fn workers_of(record: &Record, clone: &FioClone) -> Vec<FioWorkers> {
    let mut found = Vec::new();
    for (step, of_step) in record.steps.iter().enumerate() {
        for (stream, of_stream) in of_step.started.step.streams.iter().enumerate() {
            if of_stream.name == clone.stream {
                let worker = (of_stream.workers.len() > 1).then_some(clone.worker as usize);
                found.push(FioWorkers { step, stream, worker });
            }
        }
    }
    found
}

/// Writes the log files that a fio job asks for, under fio's names.
pub(crate) fn write_logs(record: &Record, extras: &Extras) -> Result<(), String> {
    for clone in &extras.clones {
        let Logs { bandwidth, latency, iops, histogram, average_ms, histogram_ms, coarseness, per_job } =
            &clone.logs;
        let Some(at) = workers_of(record, clone).into_iter().next() else { continue };
        let number = if *per_job { format!(".{}", clone.thread_number) } else { String::new() };
        let average = Nanos::millis(*average_ms);
        let histogram_window = Nanos::millis(*histogram_ms);
        let coarseness = u32::from(*coarseness);
        for (prefix, kind, log, window) in [
            (bandwidth, "bw", FioLog::Bandwidth, average),
            (iops, "iops", FioLog::Iops, average),
            (latency, "lat", FioLog::Latency, average),
            (latency, "slat", FioLog::Submission, average),
            (latency, "clat", FioLog::Completion, average),
            (histogram, "clat_hist", FioLog::Histogram { coarseness }, histogram_window),
        ] {
            let Some(prefix) = prefix else { continue };
            let request = LogRequest { step: at.step, stream: at.stream, log, window };
            let name = format!("{prefix}_{kind}{number}.log");
            session::write_file(Path::new(&name), &fathom_report::fio_logs(record, &request))?;
        }
    }
    Ok(())
}
