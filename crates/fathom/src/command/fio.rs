//! `fathom fio`: fio's command line and job files, fio's JSON out. Files that a job names are written as fio writes them;
//! for devices the rules are fathom's.

use crate::cli::ConsentArgs;
use crate::command::store_folder;
use crate::exit::Exit;
use crate::load::{self, Loaded};
use crate::session::{self, Done, Manner, Planned};
use crate::{diagnose, output, terminal};
use fathom_frontend::fio::{self, Extras, JobClone as FioClone, Logs, OutputFormat, Switches};
use fathom_report::{FioEntry, FioLog, FioShape, FioWorkers, LogRequest};
use fathom_schema::{FileKind, Record};
use fathom_units::Nanos;
use std::path::{Path, PathBuf};

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
    if switches.output_format.contains(&OutputFormat::Terse) {
        let remedy = "use --output-format=json, or leave it out for fathom's own text";
        terminal::message(&format!(
            "error[fio.not-built]: terse output is known but not built yet; {remedy}"
        ));
        return FIO_FAILED;
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
    if switches.readonly {
        forbid_changes(&planned)?;
    }
    check_outputs(&planned, switches)?;
    warn_of_dropped(&extras);
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
        for reason in write_logs(&record, &extras) {
            terminal::message(&format!("warning: {}", diagnose::printable(&reason)));
        }
        let text = if wants_json {
            let plus = switches.output_format.contains(&OutputFormat::JsonPlus);
            fathom_report::fio_json(&record, &shape(&record, &extras, &echo, plus))
        } else {
            fathom_report::text(&fathom_report::summary(&record), terminal::width(), terminal::colours_data())
        };
        match &switches.output {
            Some(file) => output::write(Path::new(file), &text),
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

/// `--readonly`: nothing that is there may change, and nothing be made. fio ends with 1 too where a file it is to read is
/// absent or short (seen with 3.33), though only after it has tried.
fn forbid_changes(planned: &Planned) -> Result<(), Exit> {
    let Planned { loaded: _, facts, plan } = planned;
    for intent in &plan.intents {
        let is_absent =
            facts.targets.iter().any(|fact| fact.path == intent.path && fact.kind == FileKind::Absent);
        let would = match intent {
            _ if is_absent => "created",
            intent if intent.writes => "written",
            intent if intent.trims => "trimmed",
            intent if intent.lays_out.0 > 0 => "laid out",
            intent if intent.changes() => "removed",
            _ => continue,
        };
        let path = diagnose::printable(&intent.path.display().to_string());
        terminal::message(&format!(
            "refused [fio.readonly]: {path}: would be {would}, which --readonly forbids; leave --readonly out, or \
             read what is there"
        ));
        return Err(Exit::Unsafe);
    }
    Ok(())
}

/// Looks at the report's file and the logs before the run. A log that merely cannot be written does not keep fio from
/// running.
fn check_outputs(planned: &Planned, switches: &Switches) -> Result<(), Exit> {
    if let Some(file) = &switches.output {
        output::check(Path::new(file), &planned.facts).map_err(|fault| fault.refuse())?;
    }
    for log in log_names(&planned.loaded.extras) {
        match output::check(&log, &planned.facts) {
            Err(fault) if fault.destroys => return Err(fault.refuse()),
            _ => {}
        }
    }
    Ok(())
}

/// Says which of fio's figures are asked for and have no place in the document.
fn warn_of_dropped(extras: &Extras) {
    if extras.clones.iter().any(|clone| clone.is_reported && clone.slat_percentiles) {
        terminal::message(
            "warning [fio.not-honoured]: slat_percentiles: of submission latencies only minimum, maximum, mean and \
             deviation are kept; the document has no percentiles of them",
        );
    }
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
                continues_on_error: clone.continues_on_error,
                percentiles: clone.percentiles.clone(),
                clat_percentiles: clone.clat_percentiles,
                lat_percentiles: clone.lat_percentiles,
            }),
        }
    }
    FioShape {
        entries,
        globals: extras.globals.clone(),
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

/// Names of the log files that a fio job asks for, each once.
pub(crate) fn log_names(extras: &Extras) -> Vec<PathBuf> {
    let mut names = Vec::new();
    for (name, _, _) in extras.clones.iter().flat_map(logs_of) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Writes the log files that a fio job asks for, under fio's names; why which could not be written. Clones that share a
/// name (`per_job_logs=0`) follow one another in one file, as with fio.
pub(crate) fn write_logs(record: &Record, extras: &Extras) -> Vec<String> {
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    for clone in &extras.clones {
        let Some(FioWorkers { step, stream, worker: _ }) = workers_of(record, clone).into_iter().next()
        else {
            continue;
        };
        for (name, log, window) in logs_of(clone) {
            let rows = fathom_report::fio_logs(record, &LogRequest { step, stream, log, window });
            match files.iter_mut().find(|(known, _)| *known == name) {
                Some((_, text)) => text.push_str(&rows),
                None => files.push((name, rows)),
            }
        }
    }
    files.iter().filter_map(|(name, text)| output::write(name, text).err()).collect()
}

/// The log files of one clone: name, which, and the length of a window.
fn logs_of(clone: &FioClone) -> Vec<(PathBuf, FioLog, Nanos)> {
    let Logs { bandwidth, latency, iops, histogram, average_ms, histogram_ms, coarseness, per_job } =
        &clone.logs;
    let number = if *per_job { format!(".{}", clone.thread_number) } else { String::new() };
    let average = Nanos::millis(*average_ms);
    let coarseness = u32::from(*coarseness);
    [
        (bandwidth, "bw", FioLog::Bandwidth, average),
        (iops, "iops", FioLog::Iops, average),
        (latency, "lat", FioLog::Latency, average),
        (latency, "slat", FioLog::Submission, average),
        (latency, "clat", FioLog::Completion, average),
        (histogram, "clat_hist", FioLog::Histogram { coarseness }, Nanos::millis(*histogram_ms)),
    ]
    .into_iter()
    .filter_map(|(prefix, kind, log, window)| {
        prefix.as_ref().map(|prefix| (PathBuf::from(format!("{prefix}_{kind}{number}.log")), log, window))
    })
    .collect()
}
