//! One run: from the first event to the last, whatever happens in between.

use crate::ahead;
use crate::bus::{Bus, SinkError};
use crate::changes::{Asked, Changes, RateChange, follow, refusal};
use crate::host::HostMeter;
use crate::removals::Removals;
use crate::signals::Stop;
use crate::sums::Sums;
use crate::time::RunTime;
use crate::watch::Watch;
use crate::zeroes::Zeroes;
use fathom_engine::prepare::{self, Claims, PrepareError, Tidied};
use fathom_engine::{Crew, ExecuteError, Executed, LeftFile, Observer, Share, execute, probe};
use fathom_metrics::{IssuedRow, OperationRow};
use fathom_planner::Experiment;
use fathom_schema::{
    DeviceNumber, EnvironmentFact, Event, Facts, Interval, Note, NoteKind, Outcome, Question, RunFinished,
    RunStarted, Severity, Singles, Step, StepFinished, StepRecord, StepStarted, Stop as StepStop, Stream,
    StreamTotals, TargetKind,
};
use fathom_units::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// What is noted where files stay that were to be removed, since the run may be gone on with.
pub const FILES_STAY: &str = "files that were to be removed stay, so that the test can be gone on with";

/// What is needed to run.
pub struct RunRequest {
    /// Yields the steps; already judged to be safe.
    pub experiment: Experiment,
    /// What the steps may open, held since it was judged.
    pub claims: Claims,
    /// The first event.
    pub started: RunStarted,
    /// Notes that the record should begin with.
    pub notes: Vec<Note>,
    /// The clock that all workers use.
    pub clock: fathom_engine::RealClock,
    /// Through which its load may be changed while it runs.
    pub changes: Changes,
    /// What an earlier run has left that this one goes on from.
    pub earlier: Earlier,
}

/// What a run that was broken off leaves to the one that goes on from it.
#[derive(Debug, Default)]
pub struct Earlier {
    /// Its steps: the record begins with them, and the experiment has replayed them.
    pub steps: Vec<StepRecord>,
    /// Files that it was writing when it was killed.
    pub left: Vec<LeftFile>,
}

/// How a run ended, for the caller; the record says the same.
#[derive(Debug)]
pub struct RunOutcome {
    /// As in the last event.
    pub outcome: Outcome,
    /// What went wrong, when something did.
    pub error: Option<RunError>,
    /// Files that could not be removed although they were to be, with the reason.
    pub left_behind: Vec<(PathBuf, std::io::Error)>,
}

/// Why a run could not go on.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError {
    /// A step could not be prepared.
    Prepare(PrepareError),
    /// A step could not start.
    Execute(ExecuteError),
    /// Workers could not go on; in words.
    Worker(Vec<String>),
    /// Events could not be kept.
    Sink(SinkError),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prepare(error) => write!(f, "{error}"),
            Self::Execute(error) => write!(f, "{error}"),
            Self::Worker(reasons) => f.write_str(&reasons.join("; ")),
            Self::Sink(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for RunError {}

/// Claims what the steps of the run with this name open. To be called before anything of the run is kept: what someone else
/// has got hold of since the look is refused like what was seen at the look.
///
/// # Errors
/// What is not as it was judged, or is held by someone else.
pub fn claim(experiment: &Experiment, facts: &Facts, run: &str) -> Result<Claims, PrepareError> {
    let claims = Claims::take(&experiment.preview(), facts)?;
    claims.unchanged(facts)?;
    Ok(claims.of_run(run))
}

/// How long drives may take to say how they are: a disk that sleeps takes up to 15 s to spin up.
const DRIVES_PATIENCE: Nanos = Nanos::secs(20);
/// The same when somebody waits for the end.
const DRIVES_PATIENCE_STOPPED: Nanos = Nanos::secs(2);

/// Runs all steps. Always ends with [`Event::RunFinished`], and removes what was to be removed.
pub fn run(request: RunRequest, stop: &Stop, bus: &mut Bus<'_>) -> RunOutcome {
    let RunRequest { experiment, claims, mut started, notes, clock, changes, earlier } = request;
    let Earlier { steps: earlier, left } = earlier;
    let used = claims.used();
    let mut preview = experiment.preview();
    let can_be_resumed = experiment.can_be_resumed();
    // What a search comes to next nobody knows.
    let removals = if experiment.is_search() {
        Removals::default()
    } else {
        Removals::of(preview.iter().map(|step| step.targets.as_slice()))
    };
    // Here, and not where the job was judged: drives are asked only where there is a run. And first: the kernel may count the
    // question itself as a failed command.
    started.facts.environment.extend(probe::drives(&started.facts.targets, DRIVES_PATIENCE));
    let mut runner = Runner {
        environment: probe::environment(&started.facts.targets),
        facts: started.facts.clone(),
        clock,
        changes,
        changed: Vec::new(),
        began: None,
        ahead: if experiment.lays_out_ahead() { ahead::of(preview.clone()) } else { Vec::new() },
        engines: BTreeSet::new(),
        aborted: None,
        zeroes: Zeroes::of(started.question.as_ref()),
        classes_ns: match &started.question {
            Some(Question::Scan(scan)) => Some(scan.classes_ns.clone()),
            _ => None,
        },
        time: RunTime::from(fathom_engine::monotonic()),
        stop,
        bus,
    };
    let started_ms = started.wall_ms;
    runner.bus.send(&Event::RunStarted(Box::new(started)));
    for note in notes {
        runner.bus.send(&Event::Note(note));
    }
    // Else this run's writes would be nobody's, and it could not be gone on with in its turn. They are claimed by now.
    for file in left.iter().filter(|file| !file.take_over()) {
        let path = file.path.display();
        let message =
            format!("{path} is not as the run before left it: after a kill this test cannot be gone on with");
        runner.note(NoteKind::Target, Severity::Warn, message);
    }
    let done = u32::try_from(earlier.len()).expect("an experiment has fewer steps than 2^32");
    let behind_ms = known_until_ms(&earlier).saturating_sub(started_ms);
    for mut step in earlier {
        // Virtual time went on beyond the clock's: what is gone on from lies before this run all the same.
        step.started.wall_ms = step.started.wall_ms.saturating_sub(behind_ms);
        runner.take_over(step);
    }
    let ended = runner.steps(experiment, claims, done, removals);
    runner.answer_late();
    let aborted = runner.aborted.take();
    let (outcome, error) = match (ended, aborted) {
        (Ok(StepStop::Complete | StepStop::Changed | StepStop::Interrupted), Some(reason)) => {
            (Outcome::Aborted { reason }, None)
        }
        (ended, _) => outcome_of(ended, stop.signal()),
    };
    if can_be_resumed && outcome != Outcome::Complete && keep(&mut preview) {
        runner.note(NoteKind::Target, Severity::Info, FILES_STAY.to_owned());
    }
    let Tidied { left_behind, remarks } = prepare::clean_up(&preview, &used);
    for message in remarks {
        runner.note(NoteKind::Target, Severity::Warn, message);
    }
    let wall_ms = runner.time.wall_ms(fathom_engine::monotonic(), fathom_engine::wall_ms());
    let patience = if stop.is_raised() { DRIVES_PATIENCE_STOPPED } else { DRIVES_PATIENCE };
    let drives = probe::drives(&runner.facts.targets, patience);
    bus.send(&Event::RunFinished(RunFinished { outcome: outcome.clone(), wall_ms, drives }));
    bus.settled();
    let error = error.or_else(|| bus.take_failure().map(RunError::Sink));
    RunOutcome { outcome, error, left_behind }
}

/// Until when steps went on, by the calendar.
fn known_until_ms(steps: &[StepRecord]) -> u64 {
    steps.iter().map(StepRecord::known_until_ms).max().unwrap_or(0)
}

/// How a run ended that no condition has ended, and the fault that a caller has to tell.
fn outcome_of(ended: Result<StepStop, RunError>, signal: i32) -> (Outcome, Option<RunError>) {
    let outcome = match ended {
        Ok(StepStop::Complete | StepStop::Changed) => Outcome::Complete,
        Ok(StepStop::Interrupted) | Err(RunError::Prepare(PrepareError::Stopped)) => {
            Outcome::Interrupted { signal }
        }
        Ok(StepStop::IoErrors) => Outcome::IoErrors,
        Ok(StepStop::Mismatch) => Outcome::Mismatch,
        Ok(StepStop::Failed) => Outcome::Failed { reason: "a worker could not go on".to_owned() },
        Err(error) => return (Outcome::Failed { reason: error.to_string() }, Some(error)),
    };
    (outcome, None)
}

/// Lets the targets of these steps stay; whether one was to be removed.
fn keep(steps: &mut [Step]) -> bool {
    let mut was_to_go = false;
    steps.iter_mut().for_each(|step| step.trees.clear());
    for target in steps.iter_mut().flat_map(|step| &mut step.targets) {
        match &mut target.kind {
            TargetKind::File { remove_after, .. } | TargetKind::Folder { remove_after, .. } => {
                was_to_go |= std::mem::take(remove_after);
            }
            TargetKind::BlockDevice { .. }
            | TargetKind::MemoryDevice { .. }
            | TargetKind::Null
            | TargetKind::Sim(_)
            | TargetKind::Peer(_) => {}
        }
    }
    was_to_go
}

/// What a run came to after one step and the next: lost data outweighs all else, then what came last and was not well.
fn graver(so_far: StepStop, next: StepStop) -> StepStop {
    match (so_far, next) {
        (StepStop::Mismatch, _) => StepStop::Mismatch,
        (_, StepStop::Complete | StepStop::Changed) => so_far,
        (_, next) => next,
    }
}

struct Runner<'a, 'b> {
    facts: Facts,
    /// What the probe saw of the environment at the start; the facts may hold more, which does not change.
    environment: Vec<EnvironmentFact>,
    clock: fathom_engine::RealClock,
    changes: Changes,
    /// Steps that took the place of another.
    changed: Vec<String>,
    /// When the first step began.
    began: Option<Nanos>,
    /// Steps whose files are laid out behind those of the first, before it begins.
    ahead: Vec<Step>,
    /// What was told of what streams run on: a sweep of a thousand steps says it once.
    engines: BTreeSet<String>,
    /// Why a condition of the job has ended the run.
    aborted: Option<String>,
    zeroes: Zeroes,
    /// Limits of the classes of latency of a scan, whose reads are counted by themselves.
    classes_ns: Option<Vec<u64>>,
    time: RunTime,
    stop: &'a Stop,
    bus: &'a mut Bus<'b>,
}

impl Runner<'_, '_> {
    /// Puts a step of an earlier run into the record.
    fn take_over(&mut self, StepRecord { started, intervals, host, finished }: StepRecord) {
        self.zeroes.pass_over(&started.step);
        self.bus.send(&Event::StepStarted(Box::new(started)));
        let mut sums = Sums::default();
        for interval in intervals {
            let event = Event::Interval(Box::new(interval));
            self.bus.send(&event);
            if let Event::Interval(interval) = &event {
                sums.add(interval, &mut |sum| self.bus.send(&Event::Sum(Box::new(sum))));
            }
        }
        sums.finish(&mut |sum| self.bus.send(&Event::Sum(Box::new(sum))));
        host.into_iter().for_each(|sample| self.bus.send(&Event::Host(Box::new(sample))));
        finished.into_iter().for_each(|finished| self.bus.send(&Event::StepFinished(Box::new(finished))));
        self.bus.settled();
    }

    /// The claims are given back when it returns.
    fn steps(
        &mut self,
        mut experiment: Experiment,
        claims: Claims,
        done: u32,
        mut removals: Removals,
    ) -> Result<StepStop, RunError> {
        let claims = Arc::new(claims);
        // Its threads and what they hold open live through all steps, and end before anything is tidied up.
        let mut crew = Crew::default();
        for message in claims.remarks() {
            self.note(NoteKind::Target, Severity::Warn, message.clone());
        }
        let mut handed_out = 0;
        let mut finished: Option<StepFinished> = None;
        let mut index = done;
        let mut so_far = StepStop::Complete;
        while let Some(step) = experiment.next(finished.as_ref()) {
            // The time of a simulated device is not ours, and it keeps nothing from one step to the next.
            if !step.is_simulated() && !self.wait(step.pause_before) {
                return Ok(graver(so_far, StepStop::Interrupted));
            }
            let gone = removals.due(handed_out);
            handed_out += 1;
            if !gone.is_empty() {
                crew.make_room(&step, Share::WHOLE);
                for message in prepare::remove_early(&gone, &claims) {
                    self.note(NoteKind::Target, Severity::Warn, message);
                }
            }
            let mut step = step;
            let mut first = None;
            let (done, ends_run) = loop {
                let Done { finished, ends_run, next } = self.step(step, index, &claims, &mut crew)?;
                index += 1;
                match next {
                    Some(changed) => {
                        step = changed;
                        first.get_or_insert(finished);
                    }
                    None => break (finished, ends_run),
                }
            };
            so_far = graver(so_far, done.stop);
            if self.aborted.is_some() {
                break;
            }
            if ends_run {
                let left = (experiment.steps_hint() as u64 + self.changed.len() as u64)
                    .saturating_sub(u64::from(index));
                if left > 0 && so_far == StepStop::Complete {
                    let message =
                        format!("a stream of the step ended the run: {left} further steps were not run");
                    self.note(NoteKind::Job, Severity::Info, message);
                }
                break;
            }
            // What a stream reached after a change is not its maximum, and later parts may have fewer streams.
            finished = first.or(Some(done));
        }
        if let Some(reason) = experiment.impossible() {
            let message = format!("the search had to do without a step that is not possible: {reason}");
            self.note(NoteKind::Job, Severity::Warn, message);
        }
        Ok(so_far)
    }

    /// False when the stop flag was raised meanwhile.
    fn wait(&self, pause: Nanos) -> bool {
        // Short pieces, so that a signal ends the pause within a tenth of a second.
        let end = fathom_engine::monotonic().after(pause);
        while fathom_engine::monotonic() < end && !self.stop.is_raised() {
            let piece = fathom_engine::monotonic().after(Nanos::millis(100));
            fathom_engine::sleep_until(piece.min(end));
        }
        !self.stop.is_raised()
    }

    /// The step that takes the place of one whose load was changed, if it is still to come.
    fn follow(
        &mut self,
        step: &Step,
        accepted: &[RateChange],
        elapsed: Nanos,
        streams: &[StreamTotals],
    ) -> Option<Step> {
        let next = follow(step, accepted, elapsed, &self.changed)?;
        self.changed.push(next.name.clone());
        for message in given_up(step, streams) {
            self.note(NoteKind::Job, Severity::Warn, message);
        }
        Some(next)
    }

    /// Lays out what later steps alone open, once.
    fn lay_out_ahead(&mut self, claims: &Arc<Claims>) {
        for later in std::mem::take(&mut self.ahead) {
            if self.stop.is_raised() {
                return;
            }
            let bus = &mut *self.bus;
            prepare::lay_out_ahead(&later, claims, &mut |progress| bus.preparing(progress), self.stop.flag());
        }
    }

    fn step(
        &mut self,
        step: Step,
        index: u32,
        claims: &Arc<Claims>,
        crew: &mut Crew,
    ) -> Result<Done, RunError> {
        let mut step = step;
        count_from_now(&mut step, self.began);
        crew.make_room(&step, Share::WHOLE);
        let devices = devices_under(&step, &self.facts);
        let bus = &mut *self.bus;
        let ready =
            prepare::prepare(step, index, claims, &mut |progress| bus.preparing(progress), self.stop.flag())
                .map_err(RunError::Prepare)?;
        self.lay_out_ahead(claims);
        self.began.get_or_insert_with(fathom_engine::monotonic);
        let mut observer = Relay {
            step: ready.step(),
            index,
            devices: &devices,
            targets: &self.facts.targets,
            time: &mut self.time,
            stop: self.stop,
            bus: self.bus,
            changes: &self.changes,
            engines: &mut self.engines,
            accepted: Vec::new(),
            sums: Sums::default(),
            watch: Watch::new(
                &ready.step().abort_when,
                ready.step().streams.iter().map(|stream| stream.engine.kind.adds_up()).collect(),
            ),
            aborted: None,
            ready: BTreeMap::new(),
            meter: None,
            singles: self.classes_ns.as_deref().map(|limits| (limits, Singles::new(limits.len()))),
        };
        let executed = execute(&ready, crew, &self.clock, Share::WHOLE, self.stop.flag(), &mut observer);
        observer.finish();
        let singles = observer.singles.take().map(|(_, singles)| singles);
        let (accepted, aborted) = (observer.accepted, observer.aborted);
        self.aborted = self.aborted.take().or(aborted);
        let Executed {
            streams,
            stop,
            ends_run,
            elapsed,
            io_errors,
            mismatches,
            broken,
            settled,
            farewells,
            held_up,
            failures,
        } = executed.map_err(RunError::Execute)?;
        self.time.step_ended(fathom_engine::monotonic(), elapsed);
        let next = if stop == StepStop::Changed {
            self.follow(ready.step(), &accepted, elapsed, &streams)
        } else {
            None
        };
        if !accepted.is_empty() && next.is_none() {
            let message = "the load was not changed after all: the step was at its end".to_owned();
            self.changes.refuse(&message);
            self.note(NoteKind::Job, Severity::Warn, message);
        }
        for message in &io_errors {
            self.note(NoteKind::IoError, Severity::Warn, message.clone());
        }
        for message in held_up {
            self.note(NoteKind::Job, Severity::Warn, message);
        }
        for message in settled {
            self.note(NoteKind::Job, Severity::Info, message);
        }
        for message in broken {
            self.note(NoteKind::Demand, Severity::Warn, message);
        }
        for message in farewells {
            self.note(NoteKind::Job, Severity::Warn, message);
        }
        for message in mismatches {
            self.note(NoteKind::Mismatch, Severity::Invalid, message);
        }
        let after = probe::environment(&self.facts.targets);
        let finished = StepFinished {
            index,
            streams,
            stop,
            elapsed,
            devices: probe::device_counters(&devices),
            environment_changes: probe::environment_changes(&self.environment, &after),
            gauges: Some(probe::gauges(&self.facts.targets)),
            // Last, when all that is measured has been.
            zero_blocks: self.zeroes.look(ready.step(), &self.facts, self.stop),
            singles,
        };
        self.bus.send(&Event::StepFinished(Box::new(finished.clone())));
        self.bus.settled();
        if !failures.is_empty() {
            return Err(RunError::Worker(failures));
        }
        if let Some(failure) = self.bus.take_failure() {
            return Err(RunError::Sink(failure));
        }
        Ok(Done { finished, ends_run, next })
    }

    /// What was asked when no step ran any more is not lost.
    fn answer_late(&mut self) {
        for (at, asked) in self.changes.take() {
            let at = self.time.at(at);
            let note = match asked {
                Asked::Mark(text) => Note::mark(at, &text),
                Asked::Unreadable(reason) => unread(at, &reason),
                Asked::Load(_) => {
                    let (kind, severity) = (NoteKind::Job, Severity::Warn);
                    let message = unchanged("the run was at its end");
                    self.changes.refuse(&message);
                    Note { at, kind, severity, message }
                }
            };
            self.bus.send(&Event::Note(note));
        }
    }

    fn note(&mut self, kind: NoteKind, severity: Severity, message: String) {
        let at = self.time.at(fathom_engine::monotonic());
        self.bus.send(&Event::Note(Note { at, kind, severity, message }));
    }
}

/// Lets delays that count from the run's first step, which began then, count from now on.
fn count_from_now(step: &mut Step, began: Option<Nanos>) {
    let gone = began.map_or(Nanos::ZERO, |began| fathom_engine::monotonic().since(began));
    for stream in &mut step.streams {
        if std::mem::take(&mut stream.start_delay_of_run) {
            stream.start_delay = stream.start_delay.since(gone);
        }
    }
}

/// A step that has ended.
struct Done {
    finished: StepFinished,
    /// Whether no further step is to follow.
    ends_run: bool,
    /// The step that takes its place, where its load was changed.
    next: Option<Step>,
}

/// Numbers of the block devices that a step's targets are or lie on, and of those below loop devices.
fn devices_under(step: &Step, facts: &Facts) -> Vec<DeviceNumber> {
    let facts = facts.by_path();
    let mut numbers: Vec<DeviceNumber> = step
        .targets
        .iter()
        .filter_map(|target| match &target.kind {
            TargetKind::File { path, .. }
            | TargetKind::Folder { path, .. }
            | TargetKind::BlockDevice { path } => Some(path),
            TargetKind::MemoryDevice { .. } | TargetKind::Null | TargetKind::Sim(_) | TargetKind::Peer(_) => {
                None
            }
        })
        .filter_map(|path| facts.get(path.as_path()))
        .filter_map(|fact| fact.device.as_ref())
        .flat_map(|device| [Some(device.number), device.below])
        .flatten()
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// What is told of arrivals that waited where a load was changed: the next step begins without them.
fn given_up(step: &Step, streams: &[StreamTotals]) -> Vec<String> {
    let waiting = |totals: &StreamTotals| totals.workers.iter().map(|worker| worker.waiting).sum::<u64>();
    let told = |(stream, totals): (&Stream, &StreamTotals)| match waiting(totals) {
        0 => None,
        count => Some(format!(
            "{count} arrival{} of the stream \"{}\" still waited as the load was changed, and {} given up: the next step begins \
             without",
            if count == 1 { "" } else { "s" },
            stream.name,
            if count == 1 { "was" } else { "were" },
        )),
    };
    step.streams.iter().zip(streams).filter_map(told).collect()
}

/// What is told of a load that stays.
fn unchanged(reason: &str) -> String {
    format!("the load was not changed: {reason}")
}

/// The note on what was asked and is no change.
fn unread(at: Nanos, reason: &str) -> Note {
    Note { at, kind: NoteKind::Job, severity: Severity::Warn, message: unchanged(reason) }
}

/// Streams that a note names; of more it gives the number.
const NAMED_STREAMS: usize = 4;

/// Passes what a step tells on to the bus.
struct Relay<'a, 'b> {
    step: &'a Step,
    index: u32,
    devices: &'a [DeviceNumber],
    /// All of the run.
    targets: &'a [fathom_schema::TargetFact],
    time: &'a mut RunTime,
    stop: &'a Stop,
    bus: &'a mut Bus<'b>,
    changes: &'a Changes,
    engines: &'a mut BTreeSet<String>,
    /// What was asked of it and is possible.
    accepted: Vec<RateChange>,
    sums: Sums,
    watch: Watch,
    /// Why a condition of the job ends the run.
    aborted: Option<String>,
    /// What streams of this step run on, as told before its start, and which do.
    ready: BTreeMap<String, BTreeSet<usize>>,
    /// Looks at the host; absent before the start, and in the time of a simulated device, which is not the host's.
    meter: Option<HostMeter>,
    /// The reads of a scan by themselves, with the limits that they are counted by.
    singles: Option<(&'a [u64], Singles)>,
}

impl Relay<'_, '_> {
    fn note(&mut self, severity: Severity, message: String) {
        let at = self.time.at(fathom_engine::monotonic());
        self.bus.send(&Event::Note(Note { at, kind: NoteKind::Job, severity, message }));
    }

    /// Ends the run where there is a reason to.
    fn abort(&mut self, reason: Option<String>) {
        let Some(reason) = reason.filter(|_| self.aborted.is_none()) else { return };
        self.note(Severity::Warn, format!("the run is ended by abort_when: {reason}"));
        self.aborted = Some(reason);
        self.stop.raise();
    }

    /// Notes what the streams run on: once for all that run on the same, of which there may be thousands.
    fn note_engines(&mut self) {
        let at = self.time.at(fathom_engine::monotonic());
        for (description, streams) in std::mem::take(&mut self.ready) {
            let named = streams.iter().take(NAMED_STREAMS);
            let named: Vec<_> =
                named.map(|&stream| format!("\"{}\"", self.step.streams[stream].name)).collect();
            let message = match (streams.len(), streams.len().saturating_sub(NAMED_STREAMS)) {
                (1, _) => format!("stream {} runs on {description}", named[0]),
                (_, 0) => format!("streams {} run on {description}", named.join(", ")),
                (_, more) => format!("streams {} and {more} more run on {description}", named.join(", ")),
            };
            if self.engines.insert(message.clone()) {
                let severity = Severity::Info;
                self.bus.send(&Event::Note(Note { at, kind: NoteKind::Engine, severity, message }));
            }
        }
    }

    /// No more intervals come.
    fn finish(&mut self) {
        self.note_engines();
        let last = self.watch.finish();
        self.abort(last);
        let Self { sums, bus, meter, .. } = self;
        sums.finish(&mut |sum| bus.send(&Event::Sum(Box::new(sum))));
        let rest = meter.as_mut().and_then(|meter| meter.finish(fathom_engine::monotonic()));
        rest.into_iter().for_each(|sample| bus.send(&Event::Host(Box::new(sample))));
    }
}

impl Observer for Relay<'_, '_> {
    fn is_changed(&mut self, has_failed: bool) -> bool {
        for (at, asked) in self.changes.take() {
            let at = self.time.at(at);
            let change = match asked {
                Asked::Mark(text) => {
                    self.bus.send(&Event::Note(Note::mark(at, &text)));
                    continue;
                }
                Asked::Unreadable(reason) => {
                    self.bus.send(&Event::Note(unread(at, &reason)));
                    continue;
                }
                Asked::Load(change) => change,
            };
            let failed = has_failed.then(|| "a worker of the step has ended for an error".to_owned());
            let (severity, message) = match failed.or_else(|| refusal(self.step, &change)) {
                Some(reason) => {
                    let message = unchanged(&reason);
                    self.changes.refuse(&message);
                    (Severity::Warn, message)
                }
                None => {
                    let replaced = self.accepted.iter().rfind(|before| before.stream == change.stream);
                    let replaced = replaced
                        .map(|before| format!(", in place of {}, which had no time yet", before.load));
                    let message = format!("the load is changed: {change}{}", replaced.unwrap_or_default());
                    self.accepted.push(change);
                    (Severity::Info, message)
                }
            };
            self.bus.send(&Event::Note(Note { at, kind: NoteKind::Job, severity, message }));
        }
        !self.accepted.is_empty()
    }

    fn engine(&mut self, stream: usize, description: &str) {
        self.ready.entry(description.to_owned()).or_default().insert(stream);
    }

    fn started(&mut self) {
        self.note_engines();
        let now = fathom_engine::monotonic();
        let wall_ms = self.time.wall_ms(now, fathom_engine::wall_ms());
        let is_simulated = self.step.is_simulated();
        if is_simulated {
            self.time.simulate(now);
        }
        self.bus.send(&Event::StepStarted(Box::new(StepStarted {
            index: self.index,
            step: self.step.clone(),
            wall_ms,
            devices: probe::device_counters(self.devices),
            gauges: Some(probe::gauges(self.targets)),
        })));
        self.meter =
            (!is_simulated).then(|| HostMeter::start(self.index, self.step.interval, self.devices, now));
    }

    fn interval(&mut self, interval: Interval) {
        self.time.reached(interval.end);
        if interval.late {
            let at = self.time.at(fathom_engine::monotonic());
            let message = format!(
                "interval {} of stream \"{}\" came late and covers {}",
                interval.sequence,
                self.step.streams[interval.stream as usize].name,
                interval.end.since(interval.start).approximate()
            );
            self.bus.send(&Event::Note(Note {
                at,
                kind: NoteKind::LateInterval,
                severity: Severity::Warn,
                message,
            }));
        }
        let reason = self.watch.interval(&interval);
        self.abort(reason);
        let event = Event::Interval(Box::new(interval));
        let Self { sums, bus, .. } = self;
        bus.send(&event);
        if let Event::Interval(interval) = &event {
            sums.add(interval, &mut |sum| bus.send(&Event::Sum(Box::new(sum))));
        }
    }

    fn wants_operations(&self, stream: usize) -> bool {
        self.singles.is_some() || self.bus.wants_operations(&self.step.streams[stream].name)
    }

    fn operations(&mut self, stream: usize, rows: &[OperationRow]) {
        if let Some((limits, singles)) = &mut self.singles {
            for row in rows {
                singles.add(limits, row.offset, row.completed.since(row.submitted).0);
            }
        }
        if self.bus.wants_operations(&self.step.streams[stream].name) {
            self.bus.operations(&self.step.streams[stream].name, rows);
        }
    }

    fn wants_issued(&self, stream: usize) -> bool {
        self.bus.wants_issued(&self.step.streams[stream].name)
    }

    fn issued(&mut self, stream: usize, rows: &[IssuedRow]) {
        self.bus.issued(&self.step.streams[stream].name, rows);
    }

    fn settled(&mut self) {
        let sample = self.meter.as_mut().and_then(|meter| meter.sample(fathom_engine::monotonic()));
        sample.into_iter().for_each(|sample| self.bus.send(&Event::Host(Box::new(sample))));
        self.bus.settled();
        if self.bus.has_failed() {
            // What cannot be kept should not be measured on: the step ends, and the failure is reported.
            self.stop.raise();
        }
    }
}
