//! From a loaded job to a finished run: the one path that every command and personality takes, so that none can skip
//! the look at the targets, the judgement, or the record.

use crate::ceiling;
use crate::cli::ConsentArgs;
use crate::diagnose;
use crate::exit::Exit;
use crate::keep::{self, Keep, Keeping, Unfinished};
use crate::live::Live;
use crate::load::Loaded;
use crate::output::{self, Spared};
use crate::standard_input;
use crate::terminal;
use fathom_engine::RealClock;
use fathom_engine::probe::{self, EngineRefusals};
use fathom_engine::traces;
use fathom_model::{Diagnostics, Job, Level};
use fathom_planner::safety::{self, Consent, PeersAllowed, Verdict};
use fathom_planner::search::Search;
use fathom_planner::{ENGINE_UNAVAILABLE, Plan, PlanNote};
use fathom_run::{Bus, Changes, RunError, RunOutcome, RunRequest, Sink, Stop};
use fathom_schema::{
    EnvironmentFact, Event, Facts, Note, NoteKind, Outcome, Record, RunFinished, RunStarted, Severity,
    TargetFact,
};
use fathom_store::{Detail, StoreError};
use fathom_units::Nanos;
use std::borrow::Cow;
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// A job with what was found on the host and what it comes to there.
pub(crate) struct Planned {
    pub(crate) loaded: Loaded,
    pub(crate) facts: Facts,
    pub(crate) plan: Plan,
    /// What an earlier run has left that it goes on from.
    pub(crate) earlier: fathom_run::Earlier,
}

/// Prints what is wrong with a job; the exit code when that keeps it from running.
pub(crate) fn report_faults(loaded: &Loaded) -> Result<(), Exit> {
    let mut said = loaded.diagnostics.clone();
    if !loaded.says_warnings() {
        said.retain(|diagnostic| diagnostic.level == Level::Error);
    }
    if !said.is_empty() {
        let (colour, width) = (terminal::colours_messages(), terminal::width_of_messages());
        let text = diagnose::render(&said, &loaded.job.sources, colour, width);
        terminal::styled(text.trim_end());
    }
    let errors: Vec<&str> =
        loaded.diagnostics.all().iter().filter(|d| d.level == Level::Error).map(|d| d.code).collect();
    match errors.as_slice() {
        [] => Ok(()),
        // Nothing is wrong with the job itself: this fathom, or this machine, cannot run it.
        codes if codes.iter().all(|code| is_unsupported(code)) => Err(Exit::Unsupported),
        // The job could run where its targets are there.
        codes if codes.iter().all(|code| TARGET_FAULTS.contains(code)) => Err(Exit::Target),
        _ => Err(Exit::Usage),
    }
}

/// Codes of faults that lie in what is at a target's path, not in the words of the job.
const TARGET_FAULTS: [&str; 9] = [
    "icf.unmapped",
    "target.unusable",
    "target.absent",
    "target.empty",
    "target.no-folder",
    "target.kind",
    "target.no-medium",
    "plan.device-too-small",
    "plan.file-too-small",
];

fn is_unsupported(code: &str) -> bool {
    [ENGINE_UNAVAILABLE, "fio.not-built", "icf.not-built", "job.dialect-not-built"].contains(&code)
}

/// Looks at the host and plans. Faults are printed; `Err` when it cannot run.
pub(crate) fn plan(loaded: Loaded, consent: &ConsentArgs, store: &Path) -> Result<Planned, Exit> {
    plan_by(loaded, consent, store, fathom_planner::plan)
}

/// As [`plan`], of a search that picks its steps by their results.
pub(crate) fn plan_search(
    loaded: Loaded,
    consent: &ConsentArgs,
    store: &Path,
    search: Search,
) -> Result<Planned, Exit> {
    plan_by(loaded, consent, store, |job, facts, entropy| {
        fathom_planner::plan_search(job, facts, entropy, search)
    })
}

/// As [`plan`], by another planner.
pub(crate) fn plan_by(
    loaded: Loaded,
    consent: &ConsentArgs,
    store: &Path,
    planner: impl FnOnce(&Job, &Facts, u64) -> (Option<Plan>, Diagnostics),
) -> Result<Planned, Exit> {
    plan_going_on(loaded, consent, store, &|_| false, planner)
}

/// As [`plan_by`], of a run that goes on from another: `is_left` says which files that one left: they are its own.
pub(crate) fn plan_going_on(
    loaded: Loaded,
    consent: &ConsentArgs,
    store: &Path,
    is_left: &dyn Fn(&TargetFact) -> bool,
    planner: impl FnOnce(&Job, &Facts, u64) -> (Option<Plan>, Diagnostics),
) -> Result<Planned, Exit> {
    attempt_by(loaded, consent, store, planner)?.settle_but_for(is_left)
}

/// A job that was looked at and planned, whether or not it can run: what is wrong with it there is not printed yet.
pub(crate) struct Attempt {
    pub(crate) loaded: Loaded,
    pub(crate) facts: Facts,
    pub(crate) plan: Option<Plan>,
    /// What planning found.
    pub(crate) found: Diagnostics,
}

/// Looks at the host and plans. `Err`, with the faults printed, when the job is wrong on any host.
pub(crate) fn attempt(loaded: Loaded, consent: &ConsentArgs, store: &Path) -> Result<Attempt, Exit> {
    attempt_by(loaded, consent, store, fathom_planner::plan)
}

fn attempt_by(
    mut loaded: Loaded,
    consent: &ConsentArgs,
    store: &Path,
    planner: impl FnOnce(&Job, &Facts, u64) -> (Option<Plan>, Diagnostics),
) -> Result<Attempt, Exit> {
    let checked = loaded.check();
    if loaded.diagnostics.has_errors() || checked.has_errors() {
        loaded.diagnostics.extend(checked);
        report_faults(&loaded)?;
        return Err(Exit::Usage);
    }
    let facts = look_at_all(&mut loaded, consent, store);
    let (plan, found) = planner(&loaded.job, &facts, entropy());
    Ok(Attempt { loaded, facts, plan, found })
}

impl Attempt {
    /// Prints the faults; `Err` when it cannot run.
    pub(crate) fn settle(self) -> Result<Planned, Exit> {
        self.settle_but_for(&|_| false)
    }

    /// As [`Attempt::settle`], where the run takes over files that its mark does not show as fathom's: those are removed as asked.
    fn settle_but_for(self, is_left: &dyn Fn(&TargetFact) -> bool) -> Result<Planned, Exit> {
        let Self { mut loaded, facts, plan, found } = self;
        loaded.diagnostics.extend(found);
        for path in plan.iter().flat_map(|plan| kept_files(plan, &facts, is_left)) {
            let message = format!("{} was to be removed and is left: fathom did not make it", path.display());
            loaded.diagnostics.warn("target.kept", None, message, "remove it by hand");
        }
        report_faults(&loaded)?;
        match plan {
            Some(mut plan) => {
                plan.thresholds.splice(..0, std::mem::take(&mut loaded.thresholds));
                Ok(Planned { loaded, facts, plan, earlier: fathom_run::Earlier::default() })
            }
            None => Err(Exit::Internal),
        }
    }

    /// The record of a run of which nothing could start.
    pub(crate) fn unstarted(&self, notes: impl Iterator<Item = PlanNote>) -> Record {
        let mut record = Record::begin(started("", &self.loaded, self.facts.clone(), None));
        let kept = self.loaded.kept_warnings().into_iter();
        let kept = kept.map(|message| (NoteKind::Job, Severity::Warn, message));
        record.notes = notes
            .map(|PlanNote { kind, severity, message }| (kind, severity, message))
            .chain(kept)
            .map(|(kind, severity, message)| Note { at: Nanos::ZERO, kind, severity, message })
            .collect();
        let outcome = Outcome::Failed { reason: "none of its jobs could start".to_owned() };
        let wall_ms = record.started.wall_ms;
        record.finished = Some(RunFinished { outcome, wall_ms, drives: Vec::new() });
        record
    }
}

/// Looks at the traces that a job replays, whose files become targets of it, then at all its targets.
pub(crate) fn look_at_all(loaded: &mut Loaded, consent: &ConsentArgs, store: &Path) -> Facts {
    raise_file_limit();
    if let Err(reason) = standard_input::becomes_a_file(&mut loaded.job) {
        loaded.diagnostics.error("trace.unusable", None, reason, "write the trace to a file, and name that");
    }
    let traces = traces::look(&fathom_planner::traces(&loaded.job));
    let (job, found) = fathom_planner::with_traces(&loaded.job, &traces);
    if let Cow::Owned(job) = job {
        loaded.job = job;
    }
    loaded.diagnostics.extend(found);
    // One that is not there yet may become a log.
    let there = traces.iter().map(|trace| &trace.rule.path).filter(|path| path.symlink_metadata().is_ok());
    loaded.files.extend(there.cloned());
    Facts { traces, ..look(loaded, consent, store) }
}

/// The facts of all paths of a job, and of those that the user consents to destroy.
fn look(loaded: &Loaded, consent: &ConsentArgs, store: &Path) -> Facts {
    let mut paths = fathom_planner::paths(&loaded.job);
    paths.extend(
        consent
            .destroy
            .iter()
            .map(PathBuf::from)
            .filter(|path| path.is_absolute() && !paths.contains(path))
            .collect::<Vec<_>>(),
    );
    facts_of(&paths, store)
}

/// The facts of these paths and of the machine.
pub(crate) fn facts_of(paths: &[PathBuf], store: &Path) -> Facts {
    let facts = probe::probe(paths, store, EngineRefusals::tried());
    Facts { ceiling: ceiling::known(&facts), ..facts }
}

/// Every worker opens its targets itself; the soft limit is often 1,024 where the hard one is half a million.
pub(crate) fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current: _, maximum } = getrlimit(Resource::Nofile);
    // Where this is not allowed, the planner says what is missing.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// What `seed = "fresh"` stands for in this run.
pub(crate) fn entropy() -> u64 {
    // ULIDs carry 80 random bits from the system's generator; these are 64 of them.
    #[expect(clippy::cast_possible_truncation, reason = "the low 64 of 80 random bits are wanted")]
    let random = ulid::Ulid::new().random() as u64;
    random
}

/// What the command line consents to.
pub(crate) fn consent_of(args: &ConsentArgs, writes_named_files: bool) -> Consent {
    let ConsentArgs { yes, overwrite, destroy, allow_exec, allow_net } = args.clone();
    let peers = if allow_net { PeersAllowed::Anyone } else { PeersAllowed::Here };
    Consent {
        yes,
        overwrite,
        destroy,
        confirmed: Vec::new(),
        dialect_writes_named_files: writes_named_files,
        allow_exec,
        peers,
    }
}

/// Judges a plan, asks where a person is there to be asked, and prints what is refused.
pub(crate) fn judge(
    planned: &Planned,
    args: &ConsentArgs,
    writes_named_files: bool,
) -> Result<Vec<String>, Exit> {
    agree(planned, &mut consent_of(args, writes_named_files))
}

/// As [`judge`], with what was consented to so far, to which answers are added.
pub(crate) fn agree(planned: &Planned, consent: &mut Consent) -> Result<Vec<String>, Exit> {
    loop {
        let verdict = safety::judge(&planned.plan.intents, &planned.plan.commands, &planned.facts, consent);
        let Verdict { refusals, questions, notes } = &verdict;
        for refusal in refusals {
            terminal::message(&format!(
                "refused [{}]: {}",
                refusal.code,
                diagnose::printable(&refusal.to_string())
            ));
        }
        if !refusals.is_empty() {
            return Err(Exit::of_refusals(refusals.iter()));
        }
        let Some(question) = questions.first() else { return Ok(notes.clone()) };
        if !terminal::can_ask() {
            for question in questions {
                let text = diagnose::printable(&question.to_string());
                terminal::message(&format!("refused [{}]: {text}", question.code));
            }
            return Err(Exit::Unsafe);
        }
        let device = diagnose::printable(&question.device);
        let reason = diagnose::printable(&question.reason);
        terminal::message(&format!(
            "{device}\n{reason}\nType {} to destroy its content:",
            diagnose::printable(&question.wanted())
        ));
        let mut typed = String::new();
        let read = std::io::stdin().lock().read_line(&mut typed);
        if read.is_err() || !consent.answer(&verdict, &question.path, &typed) {
            terminal::message("refused: not confirmed; nothing was written");
            return Err(Exit::Unsafe);
        }
    }
}

/// How a run is to be shown and kept.
pub(crate) struct Manner<'a> {
    pub(crate) store: &'a Path,
    /// What becomes of it where it cannot be stored there.
    pub(crate) keeping: Keeping,
    pub(crate) live: bool,
    /// Through which the load may be changed.
    pub(crate) changes: Changes,
    /// Who else listens.
    pub(crate) watchers: Vec<&'a mut dyn Sink>,
    /// Ends it early when raised, which signals do too.
    pub(crate) stop: Stop,
}

/// What is left after a run.
pub(crate) struct Done {
    pub(crate) exit: Exit,
    /// The record's file.
    path: PathBuf,
    /// What did not get into it.
    unstored: Vec<Event>,
    /// What is to be said of a run that need not be stored and is not.
    why_unstored: Option<String>,
    /// The error of a run of which nothing could be prepared to start.
    pub(crate) unprepared: Option<i32>,
}

impl Done {
    /// The record's file; absent when nothing could be kept.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.exists().then_some(&self.path)
    }

    /// The record, what could not be stored included; or why there is none.
    pub(crate) fn record(&mut self, detail: Detail) -> Result<Record, String> {
        let unstored = std::mem::take(&mut self.unstored);
        let mut record =
            fathom_store::read_with(&self.path, detail, unstored).map_err(|error| error.to_string())?;
        if let Some(message) = self.why_unstored.take() {
            // Behind all others; notes of the plan are at 0.
            let at = record.notes.last().map_or(Nanos(1), |last| last.at.max(Nanos(1)));
            record.notes.push(Note { at, kind: NoteKind::Job, severity: Severity::Warn, message });
        }
        Ok(record)
    }
}

/// Runs a judged plan, keeping its record.
pub(crate) fn run(planned: Planned, verdict_notes: Vec<String>, manner: Manner<'_>) -> Result<Done, Exit> {
    let Manner { store, keeping, live, changes, watchers, stop } = manner;
    check_commands(&planned, store)?;
    let Planned { loaded, mut facts, plan, earlier } = planned;
    stop.listen_to_signals().map_err(|error| {
        terminal::message(&format!("cannot listen to signals: {error}"));
        Exit::Internal
    })?;
    let id = ulid::Ulid::new().to_string();
    let claims = fathom_run::claim(&plan.experiment, &facts, &id).map_err(|error| {
        let text = error.to_string();
        terminal::message(&format!("refused [unsafe.in-use]: {}", diagnose::printable(&text)));
        Exit::Unsafe
    })?;
    let mut keep = Keep::new(store, &id, keeping).map_err(|error| {
        let text = format!("error: nothing was run, since it cannot be kept: {error}");
        terminal::message(&diagnose::printable(&text));
        Exit::Target
    })?;
    let path = keep.path().to_owned();
    let mut clock = RealClock::new(kernel_trusts_tsc());
    describe_clock(&mut clock, &mut facts);
    let notes = notes(&loaded, &plan, verdict_notes);
    let steps = plan.experiment.steps_hint();
    if let (true, Some(message)) = (live, outlook(&plan)) {
        terminal::message(&message);
    }
    let mut live = live.then(|| Live::new(steps, earlier.steps.len()));
    let request = RunRequest {
        started: started(&id, &loaded, facts, Some(&plan)),
        experiment: plan.experiment,
        claims,
        notes,
        clock,
        changes,
        earlier,
    };
    let mut sinks: Vec<&mut dyn Sink> = vec![&mut keep];
    if let Some(live) = &mut live {
        sinks.push(live);
    }
    for watcher in watchers {
        sinks.push(&mut *watcher);
    }
    let outcome = fathom_run::run(request, &stop, &mut Bus::new(sinks));
    drop(live);
    if let Some(error) = &outcome.error {
        terminal::message(&format!("error: {}", diagnose::printable(&error.to_string())));
    }
    for (path, error) in &outcome.left_behind {
        terminal::message(&format!("warning: {} could not be removed: {error}", path.display()));
    }
    let mut exit = Exit::of_run(&outcome);
    let (mut unstored, mut why_unstored) = (Vec::new(), None);
    if let Err(Unfinished { error, events }) = keep.finish() {
        why_unstored = error.as_ref().filter(|_| keeping == Keeping::Offered).map(keep::unstored);
        // A run that need not be stored has said by then that it is not.
        if let (Some(error), Keeping::Needed) = (error, keeping) {
            exit = say_unstored(&error, events.is_empty(), &outcome, exit);
        }
        unstored = events;
    }
    let unprepared = match &outcome.error {
        // What somebody else has got hold of, or has changed since, has no error of the system.
        Some(RunError::Prepare(error)) => {
            Some(error.raw_os_error().unwrap_or(rustix::io::Errno::BUSY.raw_os_error()))
        }
        _ => None,
    };
    Ok(Done { exit, path, unstored, why_unstored, unprepared })
}

/// How long a search takes that may measure more than it begins with.
fn outlook(plan: &Plan) -> Option<String> {
    let (about, most) = (plan.points, plan.experiment.steps_max()?);
    let (time, longest) = (plan.expected?, plan.expected_at_most()?);
    Some(format!(
        "about {about} measurements in {}; at most {most} in {}, where some have to be repeated",
        time.approximate(),
        longest.approximate()
    ))
}

/// Says what of a run is not in its file as it should be; the exit code then.
fn say_unstored(error: &StoreError, is_whole: bool, outcome: &RunOutcome, exit: Exit) -> Exit {
    if is_whole {
        let text =
            format!("warning: the record is whole, but still in two files, with -wal beside it: {error}");
        terminal::message(&diagnose::printable(&text));
        return exit;
    }
    // A run that ended since its events could not be kept has said why.
    let why = match &outcome.error {
        Some(RunError::Sink(_)) => String::new(),
        _ => format!(": {error}"),
    };
    let text = format!("error: the stored record lacks its end; what is reported now has it{why}");
    terminal::message(&diagnose::printable(&text));
    if exit == Exit::Ok { Exit::Target } else { exit }
}

/// Looks at the files that take what the job's commands print.
fn check_commands(planned: &Planned, store: &Path) -> Result<(), Exit> {
    let Planned { loaded, facts, plan, earlier: _ } = planned;
    if plan.commands.is_empty() {
        return Ok(());
    }
    let spared = Spared::of(facts, &loaded.files, store);
    for output in plan.commands.iter().flat_map(|command| &command.outputs) {
        output::check(output, &spared).map_err(|fault| fault.refuse())?;
    }
    Ok(())
}

/// Files that the job wants removed after the run and that stay, since they were there before and are not fathom's, nor left by
/// the run that this one goes on from.
fn kept_files(plan: &Plan, facts: &Facts, is_left: &dyn Fn(&TargetFact) -> bool) -> Vec<PathBuf> {
    let wanted = plan.intents.iter().filter(|intent| intent.removes);
    let facts = facts.by_path();
    let is_foreign = |path: &Path| {
        facts
            .get(path)
            .is_some_and(|fact| fact.file.as_ref().is_some_and(|file| !file.made_by_fathom) && !is_left(fact))
    };
    wanted.map(|intent| intent.path.clone()).filter(|path| is_foreign(path)).collect()
}

fn started(id: &str, loaded: &Loaded, facts: Facts, plan: Option<&Plan>) -> RunStarted {
    let job = &loaded.job;
    RunStarted {
        schema_version: fathom_schema::VERSION,
        run: id.to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
        title: job.run.title.get().cloned().unwrap_or_else(|| loaded.title.clone()),
        description: job.run.description.get().cloned(),
        sources: job.sources.all().iter().map(|source| (source.name.clone(), source.text.clone())).collect(),
        echo: job.echo.clone(),
        wall_ms: fathom_engine::wall_ms(),
        expected_seconds: plan.and_then(|plan| plan.expected).map(Nanos::as_secs_f64),
        question: loaded.question.clone(),
        thresholds: plan.map(|plan| plan.thresholds.clone()).unwrap_or_default(),
        abort_when: plan.map(|plan| plan.experiment.conditions().to_vec()).unwrap_or_default(),
        facts,
    }
}

fn notes(loaded: &Loaded, plan: &Plan, verdict: Vec<String>) -> Vec<Note> {
    // What of an Iometer configuration is run otherwise than Iometer would is part of its result.
    let read = loaded.diagnostics.all().iter().filter(|one| one.code.starts_with("icf."));
    let read = read.map(|one| (NoteKind::Job, Severity::Warn, one.message.clone()));
    let planned = plan.notes.iter().map(|note| (note.kind, note.severity, note.message.clone()));
    let kept = loaded.kept_warnings().into_iter();
    let kept = kept.map(|message| (NoteKind::Job, Severity::Warn, message));
    let judged = verdict.into_iter().map(|message| (NoteKind::Target, Severity::Info, message));
    read.chain(planned)
        .chain(judged)
        .chain(kept)
        .map(|(kind, severity, message)| Note { at: Nanos::ZERO, kind, severity, message })
        .collect()
}

/// Whether the kernel's own clock is the time stamp counter.
pub(crate) fn kernel_trusts_tsc() -> bool {
    std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        .is_ok_and(|source| source.trim() == "tsc")
}

/// Adds what a reading of the clock costs, which bounds what can be told apart.
pub(crate) fn describe_clock(clock: &mut RealClock, facts: &mut Facts) {
    let fact = |name: &str, value: String| EnvironmentFact {
        subject: "clock".to_owned(),
        name: name.to_owned(),
        value: Some(value),
        source: "measured at start".to_owned(),
    };
    let cost = clock.cost_ns();
    facts.environment.push(fact("source used", clock.source().name().to_owned()));
    facts.environment.push(fact("cost of a reading", format!("{cost:.1} ns")));
}
