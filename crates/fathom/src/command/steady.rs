//! `fathom steady`: what targets do in the long run, by the tests of SNIA's PTS.

use super::search::{SearchManner, Searched, answered};
use crate::cli::{ConsentArgs, IometerArgs, JobArgs, QuickArgs};
use crate::command::store_folder;
use crate::exit::Exit;
use crate::load::{self, Loaded};
use crate::session::{self, Planned};
use crate::{cli, diagnose, terminal};
use clap::Args;
use fathom_analysis::pts::{self, BLOCK_MIN};
use fathom_model::{Amount, Kind, Literal, OptionValue, Span};
use fathom_planner::search::{Search, SteadySearch};
use fathom_planner::{Plan, PlanNote};
use fathom_run::{Earlier, LeftFile};
use fathom_schema::{
    CapacityPart, DeviceClass, Facts, FileKind, Note, NoteKind, Question, Record, Severity, SteadyQuestion,
    SteadyTest, TargetFact, TargetKind, Threshold, TrimBy, VoidMark,
};
use fathom_units::Bytes;
use std::borrow::Cow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a quick test divides the standard's times by: a minute becomes a second.
const QUICK: &str = "60";
/// The part of a target that a quick test uses.
const QUICK_SIZE: &str = "5%";
/// Filesystems that give the blocks of a file back (`fallocate(2)`).
const PUNCHING: [&str; 8] = ["ext4", "xfs", "btrfs", "tmpfs", "f2fs", "bcachefs", "zfs", "overlay"];
/// Those of them that take no zeroes for the blocks of a file, or whose answer is another's.
const NOT_ZEROING: [&str; 2] = ["tmpfs", "overlay"];

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
    #[arg(long, value_name = "RUN", conflicts_with_all = ["test", "target", "size", "engine", "direct", "quick", "class", "purge", "no_purge", "purged"])]
    resume: Option<String>,
    /// Divide all times by 60, or by this, and use 5 % of the targets that are there, where --size says nothing else: a try,
    /// not PTS
    #[arg(long, value_name = "DIVISOR", num_args = 0..=1, require_equals = true, default_missing_value = QUICK,
        value_parser = clap::value_parser!(u32).range(2..=100_000))]
    quick: Option<u32>,
    /// The standard: enterprise (PTS-E), or client (PTS-C): loads go to three quarters of each target, by two threads of
    /// depth 16 instead of four of 32
    #[arg(long, value_name = "CLASS", default_value = "enterprise")]
    class: DeviceClass,
    /// How targets are purged: discard (files: holes are punched), secure-discard, write-zeroes, or none
    #[arg(long, value_name = "HOW", default_value = "discard", value_parser = purge_of)]
    purge: Purge,
    /// Purge nothing: the same as --purge none
    #[arg(long)]
    no_purge: bool,
    /// What purged the targets just before, e.g. "nvme format --ses=1", for the report; nothing else is purged then
    #[arg(long, value_name = "WHAT", conflicts_with = "no_purge")]
    purged: Option<String>,
    /// Size of a file that is made, or the part of a larger file or a device that is used, which is not PTS then, e.g. 64GiB
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

/// How the command line wants targets purged; `None`: not at all.
type Purge = Option<TrimBy>;

fn purge_of(text: &str) -> Result<Purge, String> {
    if text == "none" {
        return Ok(None);
    }
    // Not done here: after it a device may have another size, or take hours without a word.
    if ["format", "sanitize"].contains(&text.trim_start_matches("nvme-")) {
        return Err(format!(
            "fathom does not {0} drives; run `nvme {0}` on it, then fathom steady … --purged \"nvme {0}\"",
            text.trim_start_matches("nvme-")
        ));
    }
    TrimBy::ALL.into_iter().find(|by| by.name() == text).map(Some).ok_or_else(|| {
        let names: Vec<&str> = TrimBy::ALL.iter().map(|by| by.name()).collect();
        format!("there are {} and none", names.join(", "))
    })
}

pub(crate) fn run(args: &SteadyArgs) -> Exit {
    try_run(args).unwrap_or_else(|exit| exit)
}

fn try_run(args: &SteadyArgs) -> Result<Exit, Exit> {
    let store = store_folder(args.manner.store.as_ref());
    let (asked, earlier) = match &args.conditions.resume {
        Some(run) => {
            let record = super::found(&store, run).and_then(|path| fathom_store::read(&path));
            let (asked, earlier) = record
                .map_err(|error| error.to_string())
                .and_then(left)
                .map_err(|reason| fail(&reason, Exit::Usage))?;
            (asked, Some(earlier))
        }
        None => (question(args), None),
    };
    let mut loaded = match &earlier {
        Some(record) => job_of(&asked, record, args.conditions.remove || removes(record)),
        None => loaded(&asked, args.conditions.remove),
    };
    args.manner.bounds.add_to(&mut loaded);
    let mut consent = args.consent.clone();
    // What this very run was writing when it was killed is its own.
    consent.overwrite |= earlier.as_ref().is_some_and(|record| is_all_left(record, &store));
    let mut planned = planned(loaded, asked, &consent, &store, earlier.as_ref())?;
    if let Some(earlier) = earlier {
        planned.earlier = go_on(&mut planned.plan, &planned.facts, earlier)
            .map_err(|reason| fail(&format!("the run cannot be gone on with: {reason}"), Exit::Usage))?;
    }
    let Searched { exit, record, is_kept } =
        answered(planned, &consent, &args.manner, &store, fathom_report::text)?;
    if is_kept && is_unfinished(&record) {
        say_how_to_go_on(&record, &store);
    }
    Ok(exit)
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
    let is_refused = |step| pts::is_purge_refused(question, step);
    if record.steps.last().is_some_and(is_refused) {
        let how = question.purge_by.name();
        terminal::message(&format!(
            "error: the targets cannot be purged by {how}: begin anew with --purge discard or write-zeroes, or with --purged WHAT \
             after another tool has purged them"
        ));
        return;
    }
    let message =
        match same_targets(&question.targets, &record.started.facts, &now, &|is| is_left(record, is)) {
            Ok(()) => format!("to go on: fathom steady --resume {}", record.started.run),
            Err(reason) => format!("the test cannot be gone on with: {reason}"),
        };
    terminal::message(&diagnose::printable(&message));
}

/// What is asked, as far as the command line says it.
fn question(args: &SteadyArgs) -> SteadyQuestion {
    let Conditions { resume: _, quick, class, purge, no_purge, purged, size, engine, direct, remove: _ } =
        &args.conditions;
    let all_there = args.target.iter().all(|target| Path::new(target).exists());
    let part = (quick.is_some() && all_there).then(|| QUICK_SIZE.to_owned());
    SteadyQuestion {
        test: args.test.expect("the command line demands it"),
        class: *class,
        haste: quick.unwrap_or(1),
        targets: args.target.clone(),
        size: size.clone().or(part),
        engine: engine.clone(),
        direct: *direct,
        purge: purge.is_some() && !no_purge && purged.is_none(),
        purge_by: purge.unwrap_or_default(),
        purged_before: purged.as_ref().map(|how| format!("before the test, as the operator says: {how}")),
        block_min: BLOCK_MIN,
        has_histogram: true,
        has_operating_points: true,
        active_percent: 100,
        part: None,
        resumed: None,
    }
}

/// What a stored test asked, and what was recorded of it; else why it cannot be gone on with.
pub(crate) fn left(record: Record) -> Result<(SteadyQuestion, Record), String> {
    let id = record.started.run.clone();
    let Some(Question::Steady(question)) = &record.started.question else {
        return Err(format!("run {id} is no test: `fathom steady` makes such runs"));
    };
    if !is_unfinished(&record) {
        return Err(format!(
            "run {id} came to its end: there is nothing to go on with; `fathom report {id}` shows it"
        ));
    }
    let question = SteadyQuestion { resumed: Some(id), ..question.clone() };
    Ok((question, record))
}

/// Makes a planned test one that goes on from an earlier run: the steps that need not be done again and the files that it was killed at,
/// or why it cannot.
pub(crate) fn go_on(plan: &mut Plan, now: &Facts, earlier: Record) -> Result<Earlier, String> {
    let done = pts::resumable(&earlier);
    if let Some(Question::Steady(SteadyQuestion { targets, .. })) = &earlier.started.question {
        same_targets(targets, &earlier.started.facts, now, &|is| is_left(&earlier, is))?;
    }
    let until_ms = earlier.known_until_ms().saturating_add(KILLED_WITHIN_MS);
    let as_left = |fact: &TargetFact| {
        let size = fact.file.as_ref().filter(|_| is_left(&earlier, fact))?.size.0;
        Some(LeftFile { path: fact.path.clone(), run: earlier.started.run.clone(), size, until_ms })
    };
    let left = now.targets.iter().filter_map(as_left).collect();
    let Record { started, mut steps, notes, finished: _ } = earlier;
    // In an older record the steps alone have them. What is asked for now takes their place: else a test that its condition has
    // ended could not be gone on with while that still holds.
    let of_steps = steps.iter().flat_map(|step| step.started.step.abort_when.clone());
    plan.experiment.abort_when(started.abort_when.iter().copied().chain(of_steps));
    steps.truncate(done);
    plan.experiment.replay(&steps)?;
    let further: Vec<Threshold> =
        started.thresholds.into_iter().filter(|one| !plan.thresholds.contains(one)).collect();
    plan.thresholds.extend(further);
    // What makes a result doubtful stays with it.
    for Note { at: _, kind, severity, message } in notes {
        // A mark belongs to a time of that run, and so does that its files were left to this one.
        if kind == NoteKind::Mark || message == fathom_run::FILES_STAY {
            continue;
        }
        let note = PlanNote { kind, severity, message };
        if !plan.notes.contains(&note) {
            plan.notes.push(note);
        }
    }
    Ok(Earlier { steps, left })
}

/// Whether targets are what they were at the start of an earlier run, in the state that it left them in, as far as can be
/// told: else rounds on different things would be judged together.
fn same_targets(
    targets: &[String],
    then: &Facts,
    now: &Facts,
    is_left: &dyn Fn(&TargetFact) -> bool,
) -> Result<(), String> {
    let found = |facts: &Facts, target: &String| {
        facts.targets.iter().find(|fact| fact.path == Path::new(target)).cloned()
    };
    for target in targets {
        // A simulated target is nothing that could have changed.
        let (Some(was), Some(is)) = (found(then, target), found(now, target)) else { continue };
        if let Some(why) = difference(&was, &is, is_left) {
            return Err(format!("{target} {why}; begin the test anew"));
        }
    }
    Ok(())
}

/// What makes a target another one than it was.
fn difference(was: &TargetFact, is: &TargetFact, is_left: &dyn Fn(&TargetFact) -> bool) -> Option<String> {
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
    (is_foreign && !is_left(is))
        .then(|| "is not known to hold what the test wrote: it carries no valid mark of fathom".to_owned())
}

/// How long after the last that a record holds its run may have gone on before it was killed, milliseconds: commits are at most a
/// second apart, and the clock of a filesystem has ticks of up to 10 ms.
const KILLED_WITHIN_MS: u64 = 1100;

/// Whether a file is as a killed run left it: the mark names that run, the size is what the run gave it, and it was changed no
/// later than the run can have gone on (docs/adr/0011).
fn is_left(earlier: &Record, fact: &TargetFact) -> bool {
    let Some(file) = fact.file.as_ref().filter(|file| !file.unfinished) else { return false };
    let is_of_run = matches!(&file.void_mark, Some(VoidMark::Unended { run }) if *run == earlier.started.run);
    let targets = earlier.steps.iter().flat_map(|step| &step.started.step.targets);
    let sizes: Vec<_> =
        targets.filter(|target| Path::new(&target.name) == fact.path).map(|target| target.size).collect();
    let is_same_size = !sizes.is_empty() && sizes.iter().all(|size| *size == file.size);
    let changed = std::fs::metadata(&fact.path).ok();
    let changed_ms = changed.and_then(|meta| {
        let ms = meta.ctime().checked_mul(1000)?.checked_add(meta.ctime_nsec() / 1_000_000)?;
        u64::try_from(ms).ok()
    });
    is_of_run
        && is_same_size
        && changed_ms.is_some_and(|at| at <= earlier.known_until_ms().saturating_add(KILLED_WITHIN_MS))
}

/// Whether there are files that the run of a record was writing when it was killed, and every file is its own.
fn is_all_left(earlier: &Record, store: &Path) -> bool {
    let paths: Vec<PathBuf> = earlier.started.facts.targets.iter().map(|fact| fact.path.clone()).collect();
    let now = session::facts_of(&paths, store);
    let is_foreign = |fact: &&TargetFact| fact.file.as_ref().is_some_and(|file| !file.made_by_fathom);
    let mut foreign = now.targets.iter().filter(is_foreign).peekable();
    foreign.peek().is_some() && foreign.all(|fact| is_left(earlier, fact))
}

/// Whether a test that was ended was to remove its files, which it has left to the one that goes on.
pub(crate) fn removes(record: &Record) -> bool {
    // Its first steps may be those of a run before it. Of targets that differ in it, the job says it.
    let targets = record.steps.last().into_iter().flat_map(|step| &step.started.step.targets);
    let mut files = targets.filter_map(|target| match target.kind {
        TargetKind::File { remove_after, .. } => Some(remove_after),
        _ => None,
    });
    files.next() == Some(true) && files.all(|is_removed| is_removed)
}

/// The job that the steps of a test changed that is gone on with: as it was sent, or as the command line made it. `removes`:
/// its files go with the end of the test, whatever was sent.
pub(crate) fn job_of(question: &SteadyQuestion, record: &Record, removes: bool) -> Loaded {
    let made = loaded(question, removes);
    let is_made = |name: &str| made.job.sources.all().iter().any(|source| source.name == name);
    match record.started.sources.first() {
        Some((name, text)) if !is_made(name) => {
            let (maps, sector_size) = record.started.beside_text();
            let sector_size = sector_size.unwrap_or(cli::SECTOR_BYTES);
            let args = IometerArgs { maps, sector_size, first_port: cli::FIRST_PORT };
            let mut sent = load::uploaded(name, text, &args);
            if removes {
                for section in &mut sent.job.targets {
                    section.options.remove.set(true, Span::default());
                }
            }
            Loaded { title: made.title, ..sent }
        }
        _ => made,
    }
}

/// The job that the steps change.
fn loaded(question: &SteadyQuestion, removes: bool) -> Loaded {
    let SteadyQuestion { targets, size, engine, direct, .. } = question;
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
    loaded.title = pts::title(question);
    loaded
}

/// Plans the test on what was found; the question is then complete. `earlier`: the run that it goes on from.
fn planned(
    loaded: Loaded,
    mut asked: SteadyQuestion,
    consent: &ConsentArgs,
    store: &Path,
    earlier: Option<&Record>,
) -> Result<Planned, Exit> {
    let is_new = asked.resumed.is_none();
    let mut notes = Vec::new();
    let is_left = |fact: &TargetFact| earlier.is_some_and(|run| is_left(run, fact));
    let mut planned = session::plan_going_on(loaded, consent, store, &is_left, |job, facts, entropy| {
        if is_new {
            notes = complete(&mut asked, facts);
        }
        let search = Search::Steady(Box::new(SteadySearch::new(&asked)));
        let (plan, mut found) =
            fathom_planner::plan_search(job, &takes_trims(facts, &asked), entropy, search);
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
    // What was found may make it another test than the standard's.
    planned.loaded.title = pts::title(&asked);
    planned.loaded.question = Some(Question::Steady(asked));
    Ok(planned)
}

/// The facts that the plan is made on: what is purged otherwise than by discards does not have to be able to discard.
fn takes_trims<'a>(facts: &'a Facts, asked: &SteadyQuestion) -> Cow<'a, Facts> {
    if !asked.purge || asked.purge_by == TrimBy::Discard {
        return Cow::Borrowed(facts);
    }
    let mut facts = facts.clone();
    facts
        .targets
        .iter_mut()
        .filter_map(|fact| fact.device.as_mut())
        .for_each(|device| device.discards = true);
    Cow::Owned(facts)
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

/// Why a target cannot be purged as asked; `None` when it can, or holds nothing yet.
fn purge_refused(asked: &SteadyQuestion, fact: Option<&TargetFact>) -> Option<&'static str> {
    let Some(fact) = fact else { return Some("since it is no block device") };
    match (fact.kind, asked.purge_by) {
        // A file that is not there yet holds nothing; whether a device can do more than discard is not told before it is tried.
        (FileKind::Absent, _) | (FileKind::BlockDevice, TrimBy::SecureDiscard | TrimBy::WriteZeroes) => None,
        (FileKind::BlockDevice, TrimBy::Discard) => {
            let discards = fact.device.as_ref().is_some_and(|device| device.discards);
            (!discards).then_some("since it cannot discard")
        }
        (FileKind::File, TrimBy::SecureDiscard) => Some("since a file cannot be discarded securely"),
        (FileKind::File, TrimBy::Discard | TrimBy::WriteZeroes) => {
            let kind = fact.filesystem.as_ref().map(|filesystem| filesystem.kind.as_str());
            let gives_back = kind.is_some_and(|kind| PUNCHING.contains(&kind));
            let zeroes = kind.is_some_and(|kind| !NOT_ZEROING.contains(&kind));
            if asked.purge_by == TrimBy::WriteZeroes && !zeroes {
                return Some("since its filesystem is not known to write zeroes");
            }
            (!gives_back).then_some("since its filesystem is not known to give blocks back")
        }
        _ => Some("since it is no block device"),
    }
}

/// Decides on the purge; what is not purged is said.
fn settle_purge(asked: &mut SteadyQuestion, facts: &Facts, notes: &mut Vec<(Severity, String)>) {
    let found = |target: &String| facts.targets.iter().find(|fact| fact.path == Path::new(target));
    let is_new = |target: &String| found(target).is_some_and(|fact| fact.kind == FileKind::Absent);
    if let (false, Some(how)) = (asked.purge, &asked.purged_before) {
        notes.push((Severity::Info, format!("purge: {how}")));
        return;
    }
    if !asked.purge {
        notes.push((
            Severity::Warn,
            "not PTS: no purge, as asked: what was written before is not known".to_owned(),
        ));
        return;
    }
    if asked.targets.iter().all(is_new) {
        asked.purge = false;
        let how = "not needed: the files are made by the test";
        notes.push((Severity::Info, format!("purge: {how}")));
        asked.purged_before = Some(how.to_owned());
        return;
    }
    let mut purgeable = Vec::new();
    for target in &asked.targets {
        match purge_refused(asked, found(target)) {
            Some(why) => {
                let what = "what was written before is not known";
                notes.push((Severity::Warn, format!("{target} is not purged, {why}: {what}")));
            }
            None => purgeable.push(target),
        }
    }
    if purgeable.len() == asked.targets.len() {
        notes.push((Severity::Info, format!("purge: {}", asked.purge_by.describe())));
        return;
    }
    let message = |target| {
        format!("{target} is not purged, since not all targets can be: what was written before is not known")
    };
    notes.extend(purgeable.into_iter().map(|target| (Severity::Warn, message(target))));
    notes.push((Severity::Warn, "not PTS: no purge is possible".to_owned()));
    asked.purge = false;
}

/// Decides on the active range: the class's share of what is tested, or what was asked for where targets hold more than that.
fn settle_range(asked: &mut SteadyQuestion, facts: &Facts, notes: &mut Vec<(Severity, String)>) {
    let literal = asked.size.as_ref().map(|size| Literal::Text(size.clone()));
    let amount = literal.and_then(|literal| Amount::read(&literal, Kind::SizeOrShare).ok());
    let found = |target: &String| facts.targets.iter().find(|fact| fact.path == Path::new(target));
    let (mut part, mut is_of_device): (Option<CapacityPart>, bool) = (None, false);
    for fact in asked.targets.iter().filter_map(found) {
        let device = fact.device.as_ref().filter(|_| fact.kind == FileKind::BlockDevice);
        is_of_device |= device.is_some();
        let of_file = || fact.file.as_ref().map(|file| file.size);
        let Some(capacity) = device.map(|device| device.size).or_else(of_file) else { continue };
        let used = match amount {
            None => capacity,
            Some(Amount::Bytes(bytes)) => bytes,
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of it")]
            Some(Amount::Share(share)) => Bytes((capacity.0 as f64 * share.value()) as u64),
        };
        let share = |part: &CapacityPart| part.used.0 as f64 / part.capacity.0 as f64;
        let found = CapacityPart { used, capacity };
        if used < capacity && part.as_ref().is_none_or(|least| share(&found) < share(least)) {
            part = Some(found);
        }
    }
    // A size is that of what has none of its own, and the active range of what has.
    let is_asked_for = amount.is_some() && (is_of_device || part.is_some());
    asked.active_percent = if is_asked_for { 100 } else { asked.class.active_percent() };
    asked.part = part;
    // Of the deviations those of the part; the others are told by themselves.
    if part.is_some() {
        let least = SteadyQuestion {
            haste: 1,
            purge: true,
            block_min: BLOCK_MIN,
            has_histogram: true,
            has_operating_points: true,
            ..asked.clone()
        };
        notes.extend(pts::deviations(&least).iter().map(|why| (Severity::Warn, format!("not PTS: {why}"))));
    }
}

/// Fills in what depends on the targets; what of the standard is left out is said.
pub(super) fn complete(asked: &mut SteadyQuestion, facts: &Facts) -> Vec<(Severity, String)> {
    let mut notes = Vec::new();
    settle_range(asked, facts, &mut notes);
    settle_purge(asked, facts, &mut notes);
    for target in &asked.targets {
        let fact = facts.targets.iter().find(|fact| fact.path == Path::new(target));
        let device =
            fact.filter(|fact| fact.kind == FileKind::BlockDevice).and_then(|fact| fact.device.as_ref());
        if let Some(device) = device {
            notes.extend(write_cache(target, &device.name, facts).map(|message| (Severity::Info, message)));
        }
        let sector = device.map(|device| device.logical_sector_bytes);
        let of_file = || fact?.filesystem.as_ref()?.direct_align_bytes;
        if asked.direct != Some(false) {
            asked.block_min = asked.block_min.max(sector.or_else(of_file).unwrap_or(0));
        }
    }
    let remembers = matches!(asked.test, SteadyTest::Wsat | SteadyTest::Hir | SteadyTest::Xsr);
    if remembers && asked.targets.iter().any(|target| target.starts_with("sim:")) {
        let what = "what idle time and earlier loads leave behind, which this test is about, cannot show";
        notes.push((Severity::Warn, format!("a simulated device remembers nothing: {what}")));
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
    use fathom_schema::{BlockDevice, FileFact, Filesystem};

    fn device(path: &str, serial: &str, discards: bool) -> TargetFact {
        TargetFact {
            path: path.into(),
            resolved: path.into(),
            kind: FileKind::BlockDevice,
            error: None,
            errno: None,
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

    fn question(targets: &[&str]) -> SteadyQuestion {
        SteadyQuestion {
            test: SteadyTest::Iops,
            class: DeviceClass::Enterprise,
            haste: 1,
            targets: targets.iter().map(|&target| target.to_owned()).collect(),
            size: None,
            engine: None,
            direct: None,
            purge: true,
            purge_by: TrimBy::Discard,
            purged_before: None,
            block_min: BLOCK_MIN,
            has_histogram: true,
            has_operating_points: true,
            active_percent: 100,
            part: None,
            resumed: None,
        }
    }

    #[test]
    fn a_test_goes_on_with_the_same_targets_alone() {
        let absent = || TargetFact { kind: FileKind::Absent, file: None, device: None, ..file(true) };
        let moved = TargetFact { resolved: "/dev/sdb".into(), ..device("t", "A1", true) };
        let check = |was: TargetFact, is: TargetFact, expect: Option<&str>| {
            let facts = |target| Facts { targets: vec![target], ..Facts::default() };
            let found =
                same_targets(&["t".to_owned(), "sim:".to_owned()], &facts(was), &facts(is), &|_| false);
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
        let (was, is) = (Facts { targets: vec![file(true)], ..Facts::default() }, file(false));
        let is = Facts { targets: vec![is], ..Facts::default() };
        assert_eq!(same_targets(&["t".to_owned()], &was, &is, &|_| true), Ok(()), "left by the killed run");
    }

    #[test]
    fn each_target_that_is_not_purged_is_named() {
        let targets =
            vec![device("/dev/a", "", true), device("/dev/b", "", false), device("/dev/c", "", true)];
        let mut asked = question(&["/dev/a", "/dev/b", "/dev/c"]);
        let notes = complete(&mut asked, &Facts { targets, ..Facts::default() });
        assert!(!asked.purge);
        let mut said: Vec<&str> = notes.iter().filter_map(|(_, note)| note.split(':').next()).collect();
        said.sort_unstable();
        let others = "is not purged, since not all targets can be";
        let expect = [
            format!("/dev/a {others}"),
            "/dev/b is not purged, since it cannot discard".to_owned(),
            format!("/dev/c {others}"),
            "not PTS".to_owned(),
        ];
        assert_eq!(said, expect);
    }

    #[test]
    fn an_active_range_that_is_none_of_the_standards_is_named() {
        use DeviceClass::{Client, Enterprise};
        let of_device = |gib| {
            let fact = device("t", "", true);
            let device = fact.device.map(|device| BlockDevice { size: Bytes::gib(gib), ..device });
            TargetFact { device, ..fact }
        };
        let of_file = |gib| {
            let fact = file(true);
            let file = fact.file.map(|file| FileFact { size: Bytes::gib(gib), ..file });
            TargetFact { file, ..fact }
        };
        let absent = || TargetFact { kind: FileKind::Absent, file: None, device: None, ..file(true) };
        // Without facts it is simulated. A question that is purged before is PTS but for what the range makes of it.
        let check = |class, size: Option<&str>, facts: Vec<TargetFact>, percent: u32, why: &str| {
            let mut asked = SteadyQuestion { class, size: size.map(str::to_owned), ..question(&["t"]) };
            (asked.purge, asked.purged_before) = (false, Some("before".to_owned()));
            let notes = complete(&mut asked, &Facts { targets: facts, ..Facts::default() });
            assert_eq!(asked.active_percent, percent, "{class:?} {size:?}");
            assert_eq!(pts::deviations(&asked).join("; "), why, "{class:?} {size:?}");
            let is_told = notes.iter().any(|(_, note)| note.starts_with("not PTS: only "));
            assert_eq!(is_told, !why.is_empty(), "{notes:?}");
            let title = pts::title(&asked);
            assert_eq!(title.ends_with(", not PTS") && !title.starts_with("PTS"), !why.is_empty(), "{title}");
        };
        let quarter =
            "only 64 GiB of a user capacity of 256 GiB (25 %) are purged and written where PTS-E has 100 %";
        check(Enterprise, None, vec![of_device(256)], 100, "");
        check(Enterprise, Some("100%"), vec![of_device(256)], 100, "");
        check(Enterprise, Some("64GiB"), vec![of_device(256)], 100, quarter);
        check(Enterprise, Some("25%"), vec![of_device(256)], 100, quarter);
        check(Enterprise, Some("64GiB"), vec![of_file(256)], 100, quarter);
        // Of several targets it is the one that is used least of.
        check(
            Enterprise,
            Some("64GiB"),
            vec![TargetFact { path: "u".into(), ..of_device(64) }, of_device(256)],
            100,
            quarter,
        );
        check(Client, None, vec![of_device(256)], 75, "");
        // What is left out of the purge makes it another test, however large the active range is.
        let most = "only 192 GiB of a user capacity of 256 GiB (75 %) are purged and written where PTS-C purges 100 % and tests \
                    75 %";
        check(Client, Some("192GiB"), vec![of_device(256)], 100, most);
        check(Client, Some("256GiB"), vec![of_device(256)], 100, "");
        // It is the size of what is made, and of a file that was made so.
        check(Client, Some("64GiB"), vec![absent()], 75, "");
        check(Client, Some("64GiB"), vec![of_file(64)], 75, "");
        check(Client, Some("64GiB"), Vec::new(), 75, "");
        check(Enterprise, Some("64GiB"), vec![absent()], 100, "");
    }

    #[test]
    fn a_purge_is_the_best_that_the_targets_take() {
        let on = |kind: &str, fact: TargetFact| TargetFact {
            filesystem: Some(Filesystem {
                kind: kind.to_owned(),
                mount_point: "/".into(),
                options: String::new(),
                size: Bytes::gib(1),
                available: Bytes::gib(1),
                direct_align_bytes: None,
                can_create: true,
            }),
            ..fact
        };
        let absent = TargetFact { kind: FileKind::Absent, file: None, device: None, ..file(true) };
        let check = |fact: TargetFact, by: TrimBy, is_purged: bool, words: &str, is_pts: bool| {
            let mut asked = question(&["t"]);
            asked.purge_by = by;
            let facts = Facts { targets: vec![TargetFact { path: "t".into(), ..fact }], ..Facts::default() };
            complete(&mut asked, &facts);
            assert_eq!(asked.purge, is_purged, "{words}");
            assert!(pts::purge_words(&asked).starts_with(words), "{}", pts::purge_words(&asked));
            assert_eq!(pts::deviations(&asked).is_empty(), is_pts, "{words}");
        };
        let (nothing, zeroes) = ("none; what was written before is not known", "zeroes written (BLKZEROOUT");
        check(device("t", "", true), TrimBy::Discard, true, "discard (BLKDISCARD", true);
        check(device("t", "", false), TrimBy::Discard, false, nothing, false);
        check(device("t", "", false), TrimBy::WriteZeroes, true, zeroes, true);
        check(device("t", "", false), TrimBy::SecureDiscard, true, "secure discard", true);
        check(on("ext4", file(true)), TrimBy::Discard, true, "discard (BLKDISCARD; files: holes", true);
        check(on("vfat", file(true)), TrimBy::Discard, false, nothing, false);
        check(on("ext4", file(true)), TrimBy::SecureDiscard, false, nothing, false);
        check(absent, TrimBy::Discard, false, "not needed: the files are made by the test", true);
        let mut told = question(&["t"]);
        (told.purge, told.purged_before) =
            (false, Some("before the test, as the operator says: x".to_owned()));
        let notes = complete(&mut told, &Facts::default());
        assert_eq!(notes[0].1, "purge: before the test, as the operator says: x");
        assert!(pts::deviations(&told).is_empty());
    }

    #[test]
    fn what_fathom_does_not_do_is_pointed_to() {
        let said = purge_of("nvme-format").expect_err("it is not done here");
        assert!(said.contains("run `nvme format` on it, then fathom steady … --purged"), "{said}");
        assert!(purge_of("sanitize").is_err() && purge_of("magic").is_err());
        assert_eq!((purge_of("none"), purge_of("discard")), (Ok(None), Ok(Some(TrimBy::Discard))));
    }
}
