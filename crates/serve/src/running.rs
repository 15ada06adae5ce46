//! The one run that goes on: begun, changed, ended. It has a thread of its own; the server only leads into it. Judging
//! whether it may run is done before, in the plan.

use crate::fault::Fault;
use crate::hub::Hub;
use crate::{App, Machine};
use fathom_planner::Plan;
use fathom_run::{Bus, Changes, Claims, RunRequest, Sink, SinkError, Stop};
use fathom_schema::{Event, Facts, Note, NoteKind, Question, RunStarted, Severity, StepRecord};
use fathom_store::{Unstored, Writer};
use fathom_units::Nanos;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// A run that goes on, or the last one that did.
#[derive(Clone)]
pub(crate) struct Active {
    pub(crate) id: String,
    /// Names of the streams that it may run.
    pub(crate) streams: Arc<[String]>,
    pub(crate) hub: Hub,
    pub(crate) changes: Changes,
    pub(crate) stop: Stop,
}

impl Active {
    pub(crate) fn is_over(&self) -> bool {
        self.hub.since(u64::MAX).is_over
    }
}

/// The place of the one run.
#[derive(Default)]
pub(crate) struct Running {
    place: Mutex<Option<(Active, JoinHandle<()>)>>,
}

/// A job that may run.
pub(crate) struct Ready {
    pub(crate) plan: Plan,
    pub(crate) facts: Facts,
    pub(crate) title: String,
    pub(crate) description: Option<String>,
    /// What it is to find out by choosing its steps itself.
    pub(crate) question: Option<Question>,
    pub(crate) sources: Vec<(String, String)>,
    pub(crate) echo: Vec<(String, Vec<(String, String)>)>,
    /// What was said of it when it was judged.
    pub(crate) remarks: Vec<String>,
    /// Steps that an earlier run has done for it.
    pub(crate) earlier: Vec<StepRecord>,
}

impl Running {
    /// The run that goes on, or the last one.
    pub(crate) fn latest(&self) -> Option<Active> {
        let place = self.place.lock().expect("no thread panics while it holds the lock");
        place.as_ref().map(|(active, _)| active.clone())
    }

    /// The run `id`, if it is that one; in whatever case it is written, as for [`file_of`].
    pub(crate) fn of(&self, id: &str) -> Option<Active> {
        let id = ulid::Ulid::from_string(id).ok()?.to_string();
        self.latest().filter(|active| active.id == id)
    }

    /// The run `id`, if it goes on; whatever is asked of it would be lost otherwise.
    pub(crate) fn going(&self, id: &str) -> Result<Active, Fault> {
        match self.of(id) {
            Some(active) if !active.is_over() => Ok(active),
            _ => Err(Fault::conflict("run.over", format!("the run {id} does not go on"), "")),
        }
    }

    /// Begins a run; refused while another goes on, since they would measure each other.
    pub(crate) fn begin(&self, app: &Arc<App>, ready: Ready) -> Result<Active, Fault> {
        let mut place = self.place.lock().expect("no thread panics while it holds the lock");
        if let Some((active, _)) = place.as_ref().filter(|(active, _)| !active.is_over()) {
            let message = format!("the run {} goes on", active.id);
            return Err(Fault::conflict("run.busy", message, "stop it, or wait until it has ended"));
        }
        let id = ulid::Ulid::new().to_string();
        let claims = fathom_run::claim(&ready.plan.experiment, &ready.facts, &id)
            .map_err(|error| Fault::conflict("run.claimed", error.to_string(), ""))?;
        let writer = Writer::create(app.store(), &id)?;
        let active = Active {
            id,
            streams: ready.plan.experiment.streams().map(str::to_owned).collect(),
            hub: Hub::default(),
            changes: Changes::default(),
            stop: Stop::default(),
        };
        let (of_run, of_app) = (active.clone(), Arc::clone(app));
        let thread = std::thread::Builder::new()
            .name("fathom-run".to_owned())
            .spawn(move || drive(of_app.machine.as_ref(), ready, claims, &of_run, writer))
            .map_err(|error| Fault::conflict("run.thread", format!("the run cannot start: {error}"), ""))?;
        *place = Some((active.clone(), thread));
        Ok(active)
    }

    /// Ends the run that goes on and waits until what it measured is kept.
    pub(crate) fn end(&self) {
        let taken = self.place.lock().expect("no thread panics while it holds the lock").take();
        if let Some((active, thread)) = taken {
            active.stop.raise();
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

fn drive(machine: &dyn Machine, ready: Ready, claims: Claims, active: &Active, writer: Writer) {
    let Ready { plan, mut facts, title, description, question, sources, echo, remarks, earlier } = ready;
    let clock = machine.clock(&mut facts);
    let planned = plan.notes.iter().map(|note| (note.kind, note.severity, note.message.clone()));
    let judged = remarks.into_iter().map(|message| (NoteKind::Target, Severity::Info, message));
    let notes = planned
        .chain(judged)
        .map(|(kind, severity, message)| Note { at: Nanos::ZERO, kind, severity, message })
        .collect();
    let started = RunStarted {
        schema_version: fathom_schema::VERSION,
        run: active.id.clone(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: vec!["fathom".to_owned(), "serve".to_owned()],
        title,
        description,
        sources,
        echo,
        wall_ms: fathom_run::wall_ms(),
        expected_seconds: plan.expected.map(Nanos::as_secs_f64),
        question,
        thresholds: plan.thresholds,
        abort_when: plan.experiment.conditions().to_vec(),
        facts,
    };
    let experiment = plan.experiment;
    let request =
        RunRequest { started, experiment, claims, notes, clock, changes: active.changes.clone(), earlier };
    let mut keep = Keep { writer };
    let mut live = active.hub.sink();
    let outcome = fathom_run::run(request, &active.stop, &mut Bus::new(vec![&mut keep, &mut live]));
    if let Some(error) = &outcome.error {
        machine.say(&format!("run {}: {error}", active.id));
    }
    for (path, error) in &outcome.left_behind {
        machine.say(&format!("run {}: {} could not be removed: {error}", active.id, path.display()));
    }
    if let Err(Unstored { error, events }) = keep.writer.finish() {
        machine.say(&format!("run {}: {} events could not be kept: {error}", active.id, events.len()));
    }
    // Only now: whoever hears of the end finds the whole record.
    drop(live);
}

/// The store as a sink of the bus.
struct Keep {
    writer: Writer,
}

impl Sink for Keep {
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        self.writer.append(event).map_err(|error| SinkError { message: error.to_string() })
    }

    fn settled(&mut self) -> Result<(), SinkError> {
        self.writer.commit().map_err(|error| SinkError { message: error.to_string() })
    }
}

/// The file of a stored run, by the whole of its identity: no path, no beginning of one, nothing that leads out of the
/// folder.
pub(crate) fn file_of(store: &Path, id: &str) -> Result<std::path::PathBuf, Fault> {
    let path = ulid::Ulid::from_string(id).map(|id| fathom_store::path_of(store, &id.to_string()));
    path.ok().filter(|path| path.is_file()).ok_or_else(|| Fault::no_run(id))
}
