//! `fathom fio`: fio's command line and job files, fio's JSON out. Files that a job names are written as fio writes them;
//! for devices the rules are fathom's.

mod checksums;
mod debug;
mod errors;
mod fallen;
mod help;
mod idle;
mod iolog;
mod logs;
mod operations;
mod outlook;
mod parts;
mod reports;
mod shape;
mod states;
mod trigger;
mod watch;

pub(crate) use logs::{log_names, write_logs};
pub(crate) use operations::OperationLog;

use crate::cli::ConsentArgs;
use crate::command::store_folder;
use crate::exit::Exit;
use crate::keep::Keeping;
use crate::load::{self, Loaded};
use crate::output::Spared;
use crate::session::{self, Attempt, Manner};
use crate::{diagnose, output, terminal};
use fallen::{Fallen, Permitted};
use fathom_frontend::fio::{self, Eta, Extras, IdleProfile, JobClone, OutputFormat, Switches};
use fathom_model::{Diagnostic, Level};
use fathom_run::{Asked, Changes, Stop};
use fathom_schema::{Facts, Record};
use fathom_store::Detail;
use fathom_units::Nanos;
use help::Help;
use idle::Idleness;
use outlook::Outlook;
use parts::Ran;
use reports::{Collected, Reports};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use trigger::Trigger;
use watch::Watch;

/// What fathom says where fio says its version: whose behaviour it is. Scripts read a number behind the dash and nothing else;
/// fathom's own version is in the key `fathom` of the document, and said by `fathom --version`.
const VERSION: &str = "fio-3.33";
/// fio's exit code for whatever went wrong before or in a job.
pub(crate) const FAILED: u8 = 1;
/// Most failed jobs that an exit code counts; from 128 on it would stand for a signal.
const FAILED_MAX: u8 = 127;
/// fio's exit code after a signal.
const FIO_SIGNALLED: u8 = 128;
/// fio ignores signals behind the first: wrappers send a second one soon, and want the report. Not for ever, since a device that
/// hangs lets no job end.
const ENDING: Nanos = Nanos::secs(10);
/// Codes of faults that fio warns of too.
const FIO_WARNS: [&str; 3] = ["fio.no-runtime", "fio.map-off", "fio.verify-limited"];

/// Returns the number the shell sees: fio's, not fathom's.
pub(crate) fn run(arguments: &[String]) -> u8 {
    let (consent, arguments) = split_consent(arguments);
    let ((reading, switches), load::Asked { files, replaced }) =
        load::with_surroundings(|world| fio::read_arguments(&arguments, world));
    if switches.help {
        return crate::printed(&help::usage()).number();
    }
    if switches.version {
        return crate::printed(&format!("{VERSION}\n")).number();
    }
    if let Some(option) = &switches.cmdhelp {
        return say(&help::options(option));
    }
    if let Some(engine) = &switches.enghelp {
        return say(&help::engines(engine));
    }
    if let Some(list) = &switches.crctest {
        return say(&checksums::speeds(list));
    }
    if let Some(file) = &switches.inflate_log {
        return match logs::show_stored(Path::new(file)) {
            Ok(()) => 0,
            Err(reason) => {
                terminal::message(&format!("error: {}", diagnose::printable(&reason)));
                FAILED
            }
        };
    }
    if switches.asks_for_areas {
        return say(&help::areas());
    }
    if switches.idle_profile == IdleProfile::Calibration {
        return crate::printed(&idle::calibration()).number();
    }
    if arguments.is_empty() {
        terminal::message("error: no job is defined; name a job file, or --name=NAME and its options");
        // Where to write it is said already; that it cannot be written changes nothing.
        let _ = crate::printed(&help::usage());
        return FAILED;
    }
    let fio::Reading { job, diagnostics, extras } = reading;
    let title = extras.clones.first().map_or_else(String::new, |clone| clone.job_name.clone());
    let is_unread = diagnostics.has_errors() && job.streams.is_empty();
    let mut loaded = Loaded { job, diagnostics, extras, title, files, is_unread, ..Loaded::default() };
    loaded.judge_replaced(&replaced);
    if switches.parse_only || switches.showcmd {
        return parsed(&mut loaded, &switches);
    }
    require_folders(&mut loaded);
    if switches.warnings_fatal && warns(&loaded) {
        // The faults that make it an error are printed with the others.
        let _ = session::report_faults(&loaded);
        terminal::message("error: the job is warned about, and --warnings-fatal makes that an error");
        leave_empty(&switches, &logs_of(&loaded.extras, &switches), &spared_unplanned(&loaded));
        return FAILED;
    }
    loaded.keeps_warnings = !switches.warnings_fatal;
    loaded.shows_document = shows_document(&switches);
    say_nowhere();
    let (spared, logs) = (spared_unplanned(&loaded), logs_of(&loaded.extras, &switches));
    match run_job(loaded, &consent, &switches) {
        Ok(number) => number,
        Err(Exit::Signal(_)) => FIO_SIGNALLED,
        Err(_) => {
            leave_empty(&switches, &logs, &spared);
            FAILED
        }
    }
}

/// Whether a document goes to a terminal: a container or a remote shell that was given one has a program read all that comes
/// from it, whether it went to standard output or to standard error.
fn shows_document(switches: &Switches) -> bool {
    switches.output.is_none() && !switches.wants(OutputFormat::Normal) && std::io::stdout().is_terminal()
}

/// Tells the folders of `directory` that are not there and hold no file of a job: of those that do, the plan tells.
fn require_folders(loaded: &mut Loaded) {
    let targets = fathom_planner::paths(&loaded.job);
    for (folder, span) in &loaded.extras.folders {
        let path = Path::new(folder);
        if path.is_dir() || targets.iter().any(|target| target.starts_with(path)) {
            continue;
        }
        let message = format!("directory={folder}: {folder} is no folder");
        loaded.diagnostics.error("fio.no-folder", *span, message, "make it first, or name another");
    }
}

/// Empties the file of `--output` where there is nothing to report, as fio does before it reads its jobs: what an earlier run
/// left there must not be taken for what came of this one.
/// A file that is to be a log as well was no such report.
fn leave_empty(switches: &Switches, logs: &[PathBuf], spared: &Spared) {
    if let Some(file) = switches.output.as_deref().map(Path::new)
        && std::fs::metadata(file).map_or(true, |meta| meta.is_file())
        && output::check_apart(&[&[file.to_owned()], logs].concat()).is_ok()
    {
        // Where it cannot be written, that is what was said already, or less than what was.
        let _ = output::write(file, "", spared);
    }
}

/// What no output may write over where no plan says what the targets are.
fn spared_unplanned(loaded: &Loaded) -> Spared {
    let targets: Vec<PathBuf> = fathom_planner::paths(&loaded.job);
    Spared::without_targets(&loaded.files, &store_folder(None)).joined(&targets, &[])
}

/// Help that is asked for instead of a run.
fn say(help: &Help) -> u8 {
    let Help { text, message, fails } = help;
    if !message.is_empty() {
        terminal::message(&diagnose::printable(message));
    }
    let printed = crate::printed(text).number();
    if *fails { FAILED } else { printed }
}

/// `--parse-only` and `--showcmd`: nothing runs. That no job is there, or not the one waited for, is no fault then, and a command line can be shown
/// whether or not fathom could run it.
fn parsed(loaded: &mut Loaded, switches: &Switches) -> u8 {
    let is_fault = |diagnostic: &Diagnostic| match diagnostic.code {
        // fio looks for jobs that are waited for, into folders, and at sizes beside blocks, when it runs.
        "fio.no-job" | "fio.wait-for" | "fio.no-folder" | "fio.uneven-trimwrite" | "fio.size" => false,
        // Nor does it count them before.
        "fio.too-many-jobs" => switches.showcmd,
        "fio.not-built" | "fio.refused" => !switches.showcmd,
        // fio looks for the engine that a command line names at once, and for one of a job file when it runs.
        "fio.no-engine" => {
            let source = diagnostic.span.and_then(|span| loaded.job.sources.of(span));
            source.is_none_or(|source| source.name == diagnose::COMMAND_LINE)
        }
        _ => diagnostic.level == Level::Error,
    };
    let fails = loaded.diagnostics.all().iter().any(is_fault) || (switches.warnings_fatal && warns(loaded));
    if !fails {
        // That is what fio says nothing of.
        loaded.diagnostics.retain(|diagnostic| diagnostic.code != "fio.no-job");
    }
    if fails || !switches.showcmd {
        // Whether they keep the job from running is decided above.
        let _ = session::report_faults(loaded);
    }
    if fails {
        // As fio does, what could be read before the first fault.
        if switches.showcmd && !loaded.extras.command_lines.is_empty() {
            // Where it cannot be given out, that is said, and it fails in any case.
            let _ = give_out(&command_lines(loaded), loaded, switches);
        }
        return FAILED;
    }
    if !switches.debug.is_empty() {
        // Whoever reads it may be gone; nothing else depends on it.
        let _ = terminal::data(&debug::of_options(switches, &loaded.job.echo));
    }
    if switches.showcmd {
        return u8::from(give_out(&command_lines(loaded), loaded, switches).is_err()) * FAILED;
    }
    0
}

/// The jobs of each job file, a line each.
fn command_lines(loaded: &Loaded) -> String {
    loaded.extras.command_lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Whether fio itself would warn of something: fathom warns of more than `--warnings-fatal` is meant for.
fn warns(loaded: &Loaded) -> bool {
    loaded.diagnostics.all().iter().any(|diagnostic| FIO_WARNS.contains(&diagnostic.code))
}

/// Data to where `--output` says; what keeps it from there is said.
fn give_out(text: &str, loaded: &Loaded, switches: &Switches) -> Result<(), ()> {
    let given = match &switches.output {
        Some(file) => {
            let spared = Spared::without_targets(&loaded.files, &store_folder(None));
            output::write(Path::new(file), text, &spared)
        }
        None => terminal::data(text).map_err(|error| error.to_string()),
    };
    given.map_err(|reason| terminal::message(&format!("error: {}", diagnose::printable(&reason))))
}

/// fathom's own switches among fio's.
fn split_consent(arguments: &[String]) -> (ConsentArgs, Vec<String>) {
    let mut consent = ConsentArgs {
        yes: false,
        overwrite: false,
        destroy: Vec::new(),
        allow_exec: false,
        allow_net: false,
    };
    let mut rest = Vec::new();
    // What stands behind `--` names files.
    let switches = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    for (index, argument) in arguments.iter().enumerate() {
        if index >= switches {
            rest.push(argument.clone());
            continue;
        }
        // With a value it is fio's option of that name.
        let has_value = || matches!(arguments.get(index + 1).map(String::as_str), Some("0" | "1"));
        match argument.strip_prefix("--destroy=") {
            Some(device) => consent.destroy.push(device.to_owned()),
            None if argument == "--yes" => consent.yes = true,
            None if argument == "--overwrite" && !has_value() => consent.overwrite = true,
            None if argument == "--allow-exec" => consent.allow_exec = true,
            None if argument == "--allow-net" => consent.allow_net = true,
            None => rest.push(argument.clone()),
        }
    }
    (consent, rest)
}

fn run_job(loaded: Loaded, consent: &ConsentArgs, switches: &Switches) -> Result<u8, Exit> {
    let extras = loaded.extras.clone();
    let mut reports = Reports::of(&loaded, switches);
    allow_trigger(switches, consent)?;
    let mut done: Option<Ran> = None;
    let mut is_whole = true;
    let parts = parts::of(loaded);
    let targets = parts::targets(&parts);
    // What ends the jobs ends those of all parts, when it comes between two of them too.
    let stop = Stop::patient(ENDING);
    let mut trigger = Trigger::new(&switches.trigger, stop.clone());
    for part in parts {
        let ended = run_part(
            part,
            consent,
            switches,
            &mut reports,
            (&targets, &extras),
            (&mut trigger, &stop),
            done.as_ref(),
        );
        let mut ran = match (ended, &done) {
            (Ok(ran), _) => ran,
            (Err(exit), None) => return Err(exit),
            // The others have run all the same.
            (Err(_), Some(_)) => {
                is_whole = false;
                break;
            }
        };
        if let Some(before) = done.take() {
            ran = before.followed_by(ran);
        }
        let is_over = ran.is_over;
        done = Some(ran);
        if is_over {
            break;
        }
    }
    let Some(Ran { record, collected, exit, fallen, spared, shown, is_over: _ }) = done else {
        return Ok(FAILED);
    };
    if switches.bandwidth_log {
        say_lost(&logs::write_aggregate(&record, &spared));
    }
    let Collected { idleness, operations } = &collected;
    let report = reports.ending(exit)
        + &reports.text(&record, Some(idleness), Some(operations), 0)
        + &reports.closing(&record);
    let given = match &switches.output {
        Some(file) => output::write(Path::new(file), &(shown + &report), &spared),
        None => terminal::data(&report).map_err(|error| error.to_string()),
    };
    if let Err(reason) = given {
        terminal::message(&format!("error: {}", diagnose::printable(&reason)));
        return Ok(FAILED);
    }
    Ok(match exit {
        Exit::Ok if fallen.is_empty() && is_whole => 0,
        Exit::Signal(_) => FIO_SIGNALLED,
        _ => failed(&record, &extras, &fallen),
    })
}

/// Runs a part of the jobs, which is all of them as a rule, and writes their logs. `targets` are those of
/// all parts, and `whole` is what is beside all jobs; `before`: what came of the parts before.
fn run_part(
    loaded: Loaded,
    consent: &ConsentArgs,
    switches: &Switches,
    reports: &mut Reports,
    (targets, whole): (&[PathBuf], &Extras),
    (trigger, stop): (&mut Trigger<'_>, &Stop),
    before: Option<&Ran>,
) -> Result<Ran, Exit> {
    let store = store_folder(None);
    let extras = loaded.extras.clone();
    let sources = loaded.job.sources.clone();
    let attempt = session::attempt(loaded, consent, &store)?;
    let permitted = if switches.readonly { Permitted::Reading } else { Permitted::All };
    let (attempt, fallen) = fallen::split(attempt, &session::consent_of(consent, true), permitted);
    fallen::tell(&fallen, &sources);
    reports.say_fallen(&fallen);
    let collected =
        Collected { operations: OperationLog::of(&extras), idleness: Idleness::of(switches.idle_profile) };
    if attempt.loaded.job.streams.is_empty() {
        return Ok(ran_none(&attempt, fallen, collected, reports, switches, targets, before));
    }
    let planned = attempt.settle()?;
    permitted.refuse(&planned.plan, &planned.facts)?;
    let spared = spared_by_all(&planned.facts, &planned.loaded.files, targets, before);
    // With the first part all of them are looked at: what is amiss with the last shall not cost the time of the others.
    check_outputs(if before.is_none() { whole } else { &extras }, switches, &spared)?;
    let notes = session::judge(&planned, consent, true)?;
    let asked = Asked::on_signal().map_err(|error| {
        terminal::message(&format!("cannot listen to signals: {error}"));
        Exit::Internal
    })?;
    let mut shown = before.map_or_else(String::new, |before| before.shown.clone());
    if before.is_none() {
        let opening = debug::of_options(switches, &planned.loaded.job.echo)
            + &debug::of_seeds(switches, &planned.plan)
            + &reports.opening(&planned.loaded, Some(&planned.plan), &planned.facts);
        show_opening(&opening, switches);
        shown = opening;
    }
    let outlook = Outlook::of(&planned.plan.experiment.preview());
    let streams: Vec<String> = planned.loaded.job.streams.iter().map(|stream| stream.name.clone()).collect();
    let says_ending = reports.says_ending() && switches.output.is_none();
    let mut watch = Watch::new(reports, collected, outlook, switches, &spared, &store, asked);
    let manner = Manner {
        store: &store,
        keeping: keeping(),
        live: switches.eta == Eta::Auto
            && !watch::has_line(switches)
            && terminal::shows_messages()
            && !shows_document(switches),
        changes: Changes::default(),
        watchers: vec![&mut watch, trigger],
        stop: stop.clone(),
    };
    let mut done = session::run(planned, notes, manner)?;
    // What ended them was asked for.
    let exit = if trigger.is_pulled() && matches!(done.exit, Exit::Signal(_)) { Exit::Ok } else { done.exit };
    // In fio's words, which its users look for; not in the midst of a document.
    if let (Exit::Signal(signal), true) = (exit, !says_ending) {
        terminal::message(&format!("fio: terminating on signal {signal}"));
    }
    let is_over = trigger.is_pulled() || matches!(exit, Exit::Signal(_));
    let mut record = done.record(Detail::Whole).map_err(|reason| {
        terminal::message(&format!("error: {}", diagnose::printable(&reason)));
        trigger.run_command();
        Exit::Target
    })?;
    if done.path().is_none() {
        // Nothing finds a run by its name that is in no file.
        record.started.run.clear();
    }
    let (collected, given_out) = watch.done();
    if let (Some(errno), true) = (done.unprepared, record.steps.iter().all(|step| step.finished.is_none())) {
        reports.say_unprepared(&streams, errno);
    }
    if let Some((streams, errno)) = errors::of_failure(&record) {
        reports.say_unprepared(&streams, errno);
    }
    errors::tell(&record, &extras);
    // As with fio, a log that cannot be written is said and costs neither the report nor the exit code.
    let spared = spared.again();
    let mut lost = states::write(&record, &extras, &switches.aux_path, &spared);
    // What it runs may be what cuts the power: the states are for after that.
    trigger.run_command();
    lost.extend(write_logs(&record, &extras, &collected.operations, &spared));
    say_lost(&lost);
    Ok(Ran { record, collected, exit, fallen, spared, shown: shown + &given_out, is_over })
}

/// fio's users want the report: no disk that is full, and no folder that is missing, keeps their jobs from running. Nor do they
/// find a folder of runs where they happened to stand.
fn keeping() -> Keeping {
    let folder = fathom_store::folder_of_user(&|name| std::env::var_os(name));
    if folder.is_some() { Keeping::Offered } else { Keeping::Nowhere }
}

/// Says that a run is not stored to those alone who have a folder that runs were stored in where they stand: `fathom report last`
/// would show them an older one.
fn say_nowhere() {
    let folder = store_folder(None);
    if keeping() == Keeping::Nowhere && folder.is_dir() {
        let folder = diagnose::printable(&folder.display().to_string());
        terminal::message(&format!(
            "note: without a home this run is not stored, in {folder} neither; set FATHOM_STORE={folder} to have it there"
        ));
    }
}

/// What neither this part of the jobs nor another may write over.
fn spared_by_all(facts: &Facts, files: &[PathBuf], targets: &[PathBuf], before: Option<&Ran>) -> Spared {
    let spared = Spared::of(facts, files, &store_folder(None)).joined(targets, &[]);
    match before {
        Some(before) => spared.and(&before.spared),
        None => spared,
    }
}

/// What comes before the report, on standard output if that is where the report goes.
fn show_opening(opening: &str, switches: &Switches) {
    if switches.output.is_none() {
        // Whoever reads it may be gone already; that is found out when there is a report.
        let _ = terminal::data(opening);
    }
}

fn say_lost(lost: &[String]) {
    for reason in lost {
        terminal::message(&format!("warning: {}", diagnose::printable(reason)));
    }
}

/// Jobs of which none could start.
fn ran_none(
    attempt: &Attempt,
    fallen: Vec<Fallen>,
    collected: Collected,
    reports: &mut Reports,
    switches: &Switches,
    targets: &[PathBuf],
    before: Option<&Ran>,
) -> Ran {
    let record = attempt.unstarted(fallen::notes(&fallen));
    let shown = before.map_or_else(
        || {
            let opening = reports.opening(&attempt.loaded, None, &attempt.facts);
            show_opening(&opening, switches);
            opening
        },
        |before| before.shown.clone(),
    );
    let spared = spared_by_all(&attempt.facts, &attempt.loaded.files, targets, before);
    Ran { record, collected, exit: Exit::Ok, fallen, spared, shown, is_over: false }
}

/// How many of fio's jobs failed, which is its exit code; at least one, and no more than a shell can tell from a signal.
fn failed(record: &Record, extras: &Extras, fallen: &[Fallen]) -> u8 {
    let has_fallen = |clone: &&JobClone| fallen.iter().any(|fallen| fallen.stream == clone.stream);
    let has_failed = |clone: &&JobClone| errors::of(record, clone) != 0 || has_fallen(clone);
    let failed = extras.clones.iter().filter(has_failed).count();
    u8::try_from(failed).unwrap_or(FAILED_MAX).clamp(FAILED, FAILED_MAX)
}

/// What a trigger runs may do anything, as the commands of jobs may.
fn allow_trigger(switches: &Switches, consent: &ConsentArgs) -> Result<(), Exit> {
    let Some(line) = switches.trigger.command.as_ref().filter(|_| !consent.allow_exec) else { return Ok(()) };
    let line = diagnose::printable(line);
    terminal::message(&format!(
        "refused [unsafe.exec]: --trigger would run the command \"{line}\"; read it, then allow it with --allow-exec on \
         the command line"
    ));
    Err(Exit::Unsafe)
}

/// Looks at the report's file and the logs before the run. A log that merely cannot be written does not keep fio from
/// running, unless it is the trace of what the job issues.
fn check_outputs(extras: &Extras, switches: &Switches, spared: &Spared) -> Result<(), Exit> {
    let mut outputs: Vec<PathBuf> = switches.output.iter().map(PathBuf::from).collect();
    let traces = extras.clones.iter().filter_map(|clone| clone.logs.issued.as_ref());
    for output in outputs.iter().map(PathBuf::as_path).chain(traces.map(Path::new)) {
        output::check(output, spared).map_err(|fault| fault.refuse())?;
    }
    let logs = logs_of(extras, switches);
    for log in &logs {
        match output::check(log, spared) {
            Err(fault) if fault.destroys => return Err(fault.refuse()),
            _ => {}
        }
    }
    outputs.extend(logs);
    output::check_apart(&outputs).map_err(|fault| fault.refuse())
}

/// The logs of all jobs, and those of the whole run.
fn logs_of(extras: &Extras, switches: &Switches) -> Vec<PathBuf> {
    let mut logs = log_names(extras);
    if switches.bandwidth_log {
        logs.extend(logs::aggregates().map(|(name, _)| name));
    }
    logs
}
