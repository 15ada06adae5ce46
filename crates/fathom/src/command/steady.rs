//! `fathom steady`: what targets do in the long run, by the tests of SNIA's PTS.

use super::curve::SearchManner;
use crate::cli::{ConsentArgs, IometerArgs, JobArgs, QuickArgs};
use crate::command::store_folder;
use crate::exit::Exit;
use crate::load::{self, Loaded};
use crate::session::{self, Manner, Planned};
use crate::{answer, diagnose, terminal};
use clap::Args;
use fathom_analysis::pts;
use fathom_model::Span;
use fathom_planner::PlanNote;
use fathom_planner::search::{Search, SteadySearch};
use fathom_run::Changes;
use fathom_schema::{
    Facts, FileKind, NoteKind, Question, Record, Severity, SteadyQuestion, SteadyTest, StepRecord,
};
use fathom_store::Detail;
use std::path::Path;

/// What a quick test divides the standard's times by: a minute becomes a second.
const QUICK: u32 = 60;
/// The part of a target that a quick test uses.
const QUICK_SIZE: &str = "5%";
/// Smallest block of any test.
const BLOCK_MIN: u32 = 512;

#[derive(Debug, Args)]
pub(crate) struct SteadyArgs {
    /// The test: iops, throughput, latency, wsat, hir, xsr, composite or dirth
    #[arg(value_name = "TEST", required_unless_present = "resume")]
    test: Option<SteadyTest>,
    /// File or block device to test, all of it; several are tested together. `sim:` needs no storage
    #[arg(long, value_name = "PATH", required_unless_present = "resume")]
    target: Vec<String>,
    #[command(flatten)]
    conditions: Conditions,
    #[command(flatten)]
    consent: ConsentArgs,
    #[command(flatten)]
    manner: SearchManner,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Test")]
struct Conditions {
    /// Go on where the test of a stored run was ended: `last`, its id or the beginning of it, or a path
    #[arg(long, value_name = "RUN", conflicts_with_all = ["test", "target", "size", "engine", "direct", "quick", "no_purge"])]
    resume: Option<String>,
    /// Divide all times by 60 and use 5 % of each target: a try, not PTS
    #[arg(long)]
    quick: bool,
    /// Do not trim devices before the test
    #[arg(long)]
    no_purge: bool,
    /// Size of the file, or the part of a device that is used, e.g. 64GiB
    #[arg(long)]
    size: Option<String>,
    /// Which engine: `auto`, `io_uring`, `libaio`, `psync`, `null` or `sim`
    #[arg(long)]
    engine: Option<String>,
    /// Whether the page cache is passed by: true or false
    #[arg(long, value_name = "BOOL")]
    direct: Option<bool>,
    /// Remove the file after the run, if fathom made it
    #[arg(long)]
    remove: bool,
}

pub(crate) fn run(args: &SteadyArgs) -> Exit {
    try_run(args).unwrap_or_else(|exit| exit)
}

fn try_run(args: &SteadyArgs) -> Result<Exit, Exit> {
    let store = store_folder(args.manner.store.as_ref());
    let (asked, earlier) = match &args.conditions.resume {
        Some(run) => resumed(&store, run)?,
        None => (question(args), Vec::new()),
    };
    let loaded = loaded(&asked, args.conditions.remove);
    let mut planned = planned(loaded, asked, args, &store)?;
    if let Err(reason) = planned.plan.experiment.replay(&earlier) {
        terminal::message(&format!(
            "error: the run cannot be gone on with: {}",
            diagnose::printable(&reason)
        ));
        return Err(Exit::Usage);
    }
    planned.earlier = earlier;
    let notes = session::judge(&planned, &args.consent, false)?;
    let how =
        Manner { store: &store, live: !args.manner.quiet, changes: Changes::default(), watchers: Vec::new() };
    let mut done = session::run(planned, notes, how)?;
    let record = done.record(Detail::Overview).map_err(|reason| fail(&reason, Exit::Target))?;
    let (document, verdict) = answer::of_record(&record, args.manner.json);
    let printed = if args.manner.json {
        crate::printed(&document)
    } else {
        let summary = fathom_report::summary(&record);
        let text = fathom_report::text(&summary, terminal::width(), terminal::colours_data());
        crate::printed(&text)
    };
    if let Some(path) = done.path() {
        terminal::message(&format!("record: {}", path.display()));
        if is_unfinished(&record) {
            terminal::message(&format!("to go on: fathom steady --resume {}", record.started.run));
        }
    }
    Ok([done.exit, printed, verdict].into_iter().find(|exit| *exit != Exit::Ok).unwrap_or(Exit::Ok))
}

fn fail(reason: &str, exit: Exit) -> Exit {
    terminal::message(&format!("error: {}", diagnose::printable(reason)));
    exit
}

fn is_unfinished(record: &Record) -> bool {
    pts::answer(record).is_some_and(|answer| answer.ending == pts::Ending::Unfinished)
}

/// What is asked, as far as the command line says it.
fn question(args: &SteadyArgs) -> SteadyQuestion {
    let Conditions { resume: _, quick, no_purge, size, engine, direct, remove: _ } = &args.conditions;
    let all_there = args.target.iter().all(|target| Path::new(target).exists());
    let part = (*quick && all_there).then(|| QUICK_SIZE.to_owned());
    SteadyQuestion {
        test: args.test.expect("the command line demands it"),
        haste: if *quick { QUICK } else { 1 },
        targets: args.target.clone(),
        size: size.clone().or(part),
        engine: engine.clone(),
        direct: *direct,
        purge: !no_purge,
        block_min: BLOCK_MIN,
        resumed: None,
    }
}

/// What a stored run asked, and the steps of it that need not be done again.
fn resumed(store: &Path, run: &str) -> Result<(SteadyQuestion, Vec<StepRecord>), Exit> {
    let record = fathom_store::find(store, run)
        .and_then(|path| fathom_store::read(&path))
        .map_err(|error| fail(&error.to_string(), Exit::Usage))?;
    let id = record.started.run.clone();
    let Some(Question::Steady(question)) = &record.started.question else {
        return Err(fail(&format!("run {id} is no test: `fathom steady` makes such runs"), Exit::Usage));
    };
    if !is_unfinished(&record) {
        let reason = format!(
            "run {id} came to its end: there is nothing to go on with; `fathom report {id}` shows it"
        );
        return Err(fail(&reason, Exit::Usage));
    }
    let question = SteadyQuestion { resumed: Some(id), ..question.clone() };
    let done = pts::resumable(&record);
    let mut steps = record.steps;
    steps.truncate(done);
    Ok((question, steps))
}

/// The job that the steps change.
fn loaded(question: &SteadyQuestion, removes: bool) -> Loaded {
    let SteadyQuestion { test, haste, targets, size, engine, direct, .. } = question;
    let quick = QuickArgs {
        size: size.clone(),
        engine: engine.clone(),
        direct: *direct,
        remove: removes,
        ..QuickArgs::default()
    };
    let target = targets.first().cloned();
    let words = JobArgs { jobs: Vec::new(), target, iometer: IometerArgs::default(), quick };
    let mut loaded = load::load(&words);
    if targets.len() > 1 {
        for section in &mut loaded.job.targets {
            let place = section.options.path.span().unwrap_or(Span::default());
            section.options.path.set(targets.clone(), place);
        }
    }
    let (kind, manner) = if *haste == 1 { ("PTS ", "") } else { ("quick ", ", not PTS") };
    loaded.title = format!("{kind}{} test of {}{manner}", test.name(), targets.join(", "));
    loaded
}

/// Plans the test on what was found; the question is then complete.
fn planned(
    loaded: Loaded,
    mut asked: SteadyQuestion,
    args: &SteadyArgs,
    store: &Path,
) -> Result<Planned, Exit> {
    let is_new = asked.resumed.is_none();
    let mut notes = Vec::new();
    let mut planned = session::plan_by(loaded, &args.consent, store, |job, facts, entropy| {
        if is_new {
            notes = complete(&mut asked, facts);
        }
        let search = Search::Steady(Box::new(SteadySearch::new(&asked)));
        let (plan, mut found) = fathom_planner::plan_search(job, facts, entropy, search);
        // A quick test is known to be short.
        found.retain(|one| asked.haste == 1 || one.code != "plan.short-time");
        (plan, found)
    })?;
    if asked.haste != 1 {
        notes.push((Severity::Warn, format!("not PTS: all times are divided by {}", asked.haste)));
    }
    if let Some(run) = &asked.resumed {
        let message =
            format!("the first steps are those of run {run}: targets were idle between it and this one");
        notes.push((Severity::Warn, message));
    }
    let note = |(severity, message)| PlanNote { kind: NoteKind::Job, severity, message };
    planned.plan.notes.extend(notes.into_iter().map(note));
    planned.loaded.question = Some(Question::Steady(asked));
    Ok(planned)
}

/// How the write cache of a device is set: that is the operator's.
fn write_cache(target: &str, device: &str, facts: &Facts) -> Option<String> {
    let is_of_device = |subject: &str| subject.split_whitespace().any(|word| word == device);
    let mut all = facts.environment.iter();
    let fact = all.find(|fact| fact.name.ends_with("write_cache") && is_of_device(&fact.subject))?;
    let value = fact.value.as_deref()?.trim();
    Some(format!(
        "the write cache of {target} is \"{value}\": PTS-E wants it off (write through), PTS-C on (write back)"
    ))
}

/// Fills in what depends on the targets; what of the standard is left out is said.
fn complete(asked: &mut SteadyQuestion, facts: &Facts) -> Vec<(Severity, String)> {
    let mut notes = Vec::new();
    let found = |target: &String| facts.targets.iter().find(|fact| fact.path == Path::new(target));
    let wants_purge = asked.purge;
    for target in &asked.targets {
        let fact = found(target);
        let device =
            fact.filter(|fact| fact.kind == FileKind::BlockDevice).and_then(|fact| fact.device.as_ref());
        let why = match device {
            Some(device) if device.discards => None,
            Some(_) => Some("since it cannot discard"),
            None => Some("since it is no block device"),
        };
        if let (true, Some(why)) = (wants_purge, why) {
            notes.push((
                Severity::Warn,
                format!("{target} is not purged, {why}: what was written before is not known"),
            ));
            asked.purge = false;
        }
        if let Some(device) = device {
            notes.extend(write_cache(target, &device.name, facts).map(|message| (Severity::Info, message)));
        }
        let sector = device.map(|device| device.logical_sector_bytes);
        let of_file = || fact?.filesystem.as_ref()?.direct_align_bytes;
        if asked.direct != Some(false) {
            asked.block_min = asked.block_min.max(sector.or_else(of_file).unwrap_or(0));
        }
    }
    if !wants_purge {
        notes.push((Severity::Warn, "no purge, as asked: what was written before is not known".to_owned()));
    }
    if asked.block_min > BLOCK_MIN {
        let message = format!(
            "not PTS: smaller blocks than {} B cannot be done here and are left out",
            asked.block_min
        );
        notes.push((Severity::Warn, message));
    }
    notes
}
