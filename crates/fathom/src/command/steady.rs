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
use fathom_run::{Changes, Stop};
use fathom_schema::{
    DeviceClass, Facts, FileKind, Note, NoteKind, Question, Record, Severity, SteadyQuestion, SteadyTest,
    StepRecord, TargetFact,
};
use fathom_store::Detail;
use std::path::{Path, PathBuf};

/// What a quick test divides the standard's times by: a minute becomes a second.
const QUICK: u32 = 60;
/// The part of a target that a quick test uses.
const QUICK_SIZE: &str = "5%";
/// The part of a target that PTS-C tests: a client's drive is not full.
const CLIENT_SIZE: &str = "75%";
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
    #[arg(long, value_name = "RUN", conflicts_with_all = ["test", "target", "size", "engine", "direct", "quick", "class", "no_purge"])]
    resume: Option<String>,
    /// Divide all times by 60 and use 5 % of each target: a try, not PTS
    #[arg(long)]
    quick: bool,
    /// The standard: enterprise (PTS-E), or client (PTS-C): three quarters of each target, two threads of depth 16 instead
    /// of four of 32
    #[arg(long, value_name = "CLASS", default_value = "enterprise")]
    class: DeviceClass,
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
    /// Remove the file after the test, if fathom made it; it stays where the test was ended before
    #[arg(long)]
    remove: bool,
}

pub(crate) fn run(args: &SteadyArgs) -> Exit {
    try_run(args).unwrap_or_else(|exit| exit)
}

fn try_run(args: &SteadyArgs) -> Result<Exit, Exit> {
    let store = store_folder(args.manner.store.as_ref());
    let (asked, earlier) = match &args.conditions.resume {
        Some(run) => {
            let (asked, earlier) = resumed(&store, run)?;
            (asked, Some(earlier))
        }
        None => (question(args), None),
    };
    let loaded = loaded(&asked, args.conditions.remove);
    let mut planned = planned(loaded, asked, args, &store)?;
    if let Some(earlier) = earlier {
        go_on(&mut planned, earlier)
            .map_err(|reason| fail(&format!("the run cannot be gone on with: {reason}"), Exit::Usage))?;
    }
    let notes = session::judge(&planned, &args.consent, false)?;
    let how = Manner {
        store: &store,
        live: !args.manner.quiet,
        changes: Changes::default(),
        watchers: Vec::new(),
        stop: Stop::default(),
    };
    let mut done = session::run(planned, notes, how)?;
    let record = done.record(Detail::Overview).map_err(|reason| fail(&reason, Exit::Target))?;
    let (document, verdict) = answer::of_record(&record);
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
            say_how_to_go_on(&record, &store);
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

/// How an ended test is gone on with, or why it cannot be.
fn say_how_to_go_on(record: &Record, store: &Path) {
    let Some(Question::Steady(question)) = &record.started.question else { return };
    let paths: Vec<PathBuf> = record.started.facts.targets.iter().map(|fact| fact.path.clone()).collect();
    let now = session::facts_of(&paths, store);
    let message = match same_targets(&question.targets, &record.started.facts, &now) {
        Ok(()) => format!("to go on: fathom steady --resume {}", record.started.run),
        Err(reason) => format!("the test cannot be gone on with: {reason}"),
    };
    terminal::message(&diagnose::printable(&message));
}

/// What is asked, as far as the command line says it.
fn question(args: &SteadyArgs) -> SteadyQuestion {
    let Conditions { resume: _, quick, class, no_purge, size, engine, direct, remove: _ } = &args.conditions;
    let all_there = args.target.iter().all(|target| Path::new(target).exists());
    let part = match (quick, class) {
        (true, _) => Some(QUICK_SIZE),
        (false, DeviceClass::Client) => Some(CLIENT_SIZE),
        (false, DeviceClass::Enterprise) => None,
    };
    let part = part.filter(|_| all_there).map(str::to_owned);
    SteadyQuestion {
        test: args.test.expect("the command line demands it"),
        class: *class,
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

/// What an earlier run leaves to the one that goes on from it.
struct Earlier {
    targets: Vec<String>,
    facts: Facts,
    /// Those that need not be done again.
    steps: Vec<StepRecord>,
    notes: Vec<Note>,
}

/// What a stored run asked and what is left of it.
fn resumed(store: &Path, run: &str) -> Result<(SteadyQuestion, Earlier), Exit> {
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
    let Record { started, mut steps, notes, finished: _ } = record;
    steps.truncate(done);
    let earlier = Earlier { targets: question.targets.clone(), facts: started.facts, steps, notes };
    Ok((question, earlier))
}

/// Makes a planned test one that goes on from an earlier run, or says why it cannot.
fn go_on(planned: &mut Planned, earlier: Earlier) -> Result<(), String> {
    let Earlier { targets, facts, steps, notes } = earlier;
    same_targets(&targets, &facts, &planned.facts)?;
    planned.plan.experiment.replay(&steps)?;
    planned.earlier = steps;
    // What makes a result doubtful stays with it.
    for Note { at: _, kind, severity, message } in notes {
        let note = PlanNote { kind, severity, message };
        if !planned.plan.notes.contains(&note) {
            planned.plan.notes.push(note);
        }
    }
    Ok(())
}

/// Whether targets are what they were at the start of an earlier run, in the state that it left them in, as far as can be
/// told: else rounds on different things would be judged together.
fn same_targets(targets: &[String], then: &Facts, now: &Facts) -> Result<(), String> {
    let found = |facts: &Facts, target: &String| {
        facts.targets.iter().find(|fact| fact.path == Path::new(target)).cloned()
    };
    for target in targets {
        // A simulated target is nothing that could have changed.
        let (Some(was), Some(is)) = (found(then, target), found(now, target)) else { continue };
        if let Some(why) = difference(&was, &is) {
            return Err(format!("{target} {why}; begin the test anew"));
        }
    }
    Ok(())
}

/// What makes a target another one than it was.
fn difference(was: &TargetFact, is: &TargetFact) -> Option<String> {
    let device = |fact: &TargetFact| fact.kind == FileKind::BlockDevice;
    let serial =
        |fact: &TargetFact| fact.device.as_ref().map(|device| device.serial.clone()).unwrap_or_default();
    if matches!(is.kind, FileKind::Absent | FileKind::NoFolder) {
        return Some("is not there any more".to_owned());
    }
    if was.resolved != is.resolved {
        return Some(format!("was {} and is {} now", was.resolved.display(), is.resolved.display()));
    }
    if device(was) != device(is) {
        return Some("has become something else: a device or a file".to_owned());
    }
    if serial(was) != serial(is) {
        return Some(format!(
            "has another device: its serial number was \"{}\" and is \"{}\" now",
            serial(was),
            serial(is)
        ));
    }
    let is_foreign = is.file.as_ref().is_some_and(|file| !file.made_by_fathom);
    is_foreign
        .then(|| "is not known to hold what the test wrote: it carries no valid mark of fathom".to_owned())
}

/// The job that the steps change.
fn loaded(question: &SteadyQuestion, removes: bool) -> Loaded {
    let SteadyQuestion { test, class, haste, targets, size, engine, direct, .. } = question;
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
    let (kind, manner) = match (*haste, class) {
        (1, DeviceClass::Enterprise) => ("PTS ", ""),
        (1, DeviceClass::Client) => ("PTS-C ", ""),
        _ => ("quick ", ", not PTS"),
    };
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
        "the write cache of {target} is \"{value}\": PTS-E wants it off (write through), PTS-C (--class client) on (write back)"
    ))
}

/// Fills in what depends on the targets; what of the standard is left out is said.
pub(super) fn complete(asked: &mut SteadyQuestion, facts: &Facts) -> Vec<(Severity, String)> {
    let mut notes = Vec::new();
    let found = |target: &String| facts.targets.iter().find(|fact| fact.path == Path::new(target));
    let wants_purge = asked.purge;
    let mut could_be_purged = Vec::new();
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
        } else {
            could_be_purged.push(target);
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
    if wants_purge && !asked.purge {
        let message = |target| {
            format!(
                "{target} is not purged, since not all targets can be: what was written before is not known"
            )
        };
        notes.extend(could_be_purged.into_iter().map(|target| (Severity::Warn, message(target))));
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

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_schema::{BlockDevice, FileFact};
    use fathom_units::Bytes;

    fn device(path: &str, serial: &str, discards: bool) -> TargetFact {
        TargetFact {
            path: path.into(),
            resolved: path.into(),
            kind: FileKind::BlockDevice,
            error: None,
            filesystem: None,
            file: None,
            folder_made_by_fathom: false,
            device: Some(BlockDevice { serial: serial.to_owned(), discards, ..BlockDevice::default() }),
        }
    }

    fn file(made_by_fathom: bool) -> TargetFact {
        let file = FileFact {
            size: Bytes::gib(1),
            written: Bytes::gib(1),
            made_by_fathom,
            unfinished: false,
            void_mark: None,
            writable: true,
            readable: true,
            in_use: Vec::new(),
        };
        TargetFact { kind: FileKind::File, file: Some(file), ..device("t", "", false) }
    }

    #[test]
    fn a_test_goes_on_with_the_same_targets_alone() {
        let absent = || TargetFact { kind: FileKind::Absent, file: None, device: None, ..file(true) };
        let moved = TargetFact { resolved: "/dev/sdb".into(), ..device("t", "A1", true) };
        let check = |was: TargetFact, is: TargetFact, expect: Option<&str>| {
            let facts = |target| Facts { targets: vec![target], ..Facts::default() };
            let found = same_targets(&["t".to_owned(), "sim:".to_owned()], &facts(was), &facts(is));
            match expect {
                None => assert_eq!(found, Ok(())),
                Some(says) => {
                    assert!(found.as_ref().is_err_and(|why| why.contains(says)), "{says}: {found:?}");
                }
            }
        };
        check(device("t", "A1", true), device("t", "A1", true), None);
        check(device("t", "", true), device("t", "", true), None);
        check(device("t", "A1", true), device("t", "B2", true), Some("\"A1\" and is \"B2\""));
        check(device("t", "A1", true), device("t", "", true), Some("\"A1\" and is \"\""));
        check(device("t", "A1", true), moved, Some("was t and is /dev/sdb now"));
        check(device("t", "", true), file(true), Some("become something else"));
        check(TargetFact { device: None, ..absent() }, TargetFact { device: None, ..file(true) }, None);
        check(file(true), file(true), None);
        check(file(true), absent(), Some("not there any more"));
        check(file(true), file(false), Some("not known to hold what the test wrote"));
    }

    #[test]
    fn each_target_that_is_not_purged_is_named() {
        let targets =
            vec![device("/dev/a", "", true), device("/dev/b", "", false), device("/dev/c", "", true)];
        let mut asked = SteadyQuestion {
            test: SteadyTest::Iops,
            class: DeviceClass::Enterprise,
            haste: 1,
            targets: ["/dev/a", "/dev/b", "/dev/c"].map(str::to_owned).to_vec(),
            size: None,
            engine: None,
            direct: None,
            purge: true,
            block_min: BLOCK_MIN,
            resumed: None,
        };
        let notes = complete(&mut asked, &Facts { targets, ..Facts::default() });
        assert!(!asked.purge);
        let mut said: Vec<&str> = notes.iter().filter_map(|(_, note)| note.split(':').next()).collect();
        said.sort_unstable();
        let others = "is not purged, since not all targets can be";
        let expect = [
            format!("/dev/a {others}"),
            "/dev/b is not purged, since it cannot discard".to_owned(),
            format!("/dev/c {others}"),
        ];
        assert_eq!(said, expect);
    }
}
