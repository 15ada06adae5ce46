//! The one run that goes on: begun, changed, ended. It has a thread of its own; the server only leads into it. Judging
//! whether it may run is done before, in the plan.

use crate::fault::Fault;
use crate::hub::Hub;
use crate::{App, Machine};
use fathom_planner::Plan;
use fathom_run::Earlier;
use fathom_run::{Bus, Changes, Claims, RunRequest, Sink, SinkError, Stop};
use fathom_schema::{Event, Facts, Note, NoteKind, Question, RunStarted, Severity};
use fathom_store::{StoreError, Unstored, Writer};
use fathom_units::Nanos;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long it is waited for the first event of a run to be stored: the clock is set in some 30 ms, but a disk that sleeps
/// answers after 15 s, for which nobody is kept waiting.
const FIRST_EVENT_MAX: Duration = Duration::from_secs(5);
/// Runs whose unstored events are kept, the newest ones: each found no room, of which there are few.
const UNSTORED_MAX: usize = 16;

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
        self.hub.is_over()
    }
}

/// The run that goes on, or the last one, with its thread.
type Place = Option<(Active, JoinHandle<()>)>;

/// The place of the one run.
#[derive(Default)]
pub(crate) struct Running {
    place: Mutex<Place>,
    /// Events that found no room in the files of their runs, oldest first: what is known of how these ended.
    unstored: Mutex<VecDeque<(String, Vec<Event>)>>,
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
    pub(crate) earlier: Earlier,
}

impl Running {
    /// The place of the one run. It is taken or given whole, so that who panics beside it leaves it sound.
    fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run that goes on, or the last one.
    pub(crate) fn latest(&self) -> Option<Active> {
        let place = self.place();
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

    /// The events of a run that are not in its file; of one that was stored whole, none.
    pub(crate) fn unstored(&self, id: &str) -> Vec<Event> {
        let Ok(id) = ulid::Ulid::from_string(id).map(|id| id.to_string()) else { return Vec::new() };
        let all = self.unstored.lock().expect("no thread panics while it holds the lock");
        all.iter().find(|(of, _)| *of == id).map(|(_, events)| events.clone()).unwrap_or_default()
    }

    fn hold(&self, id: &str, events: Vec<Event>) {
        let mut all = self.unstored.lock().expect("no thread panics while it holds the lock");
        all.push_back((id.to_owned(), events));
        if all.len() > UNSTORED_MAX {
            all.pop_front();
        }
    }

    /// Begins a run and waits until it can be read, as long as that takes no longer than it may; refused while another goes
    /// on, since they would measure each other, and where there is no room for its first event.
    pub(crate) fn begin(&self, app: &Arc<App>, ready: Ready) -> Result<Active, Fault> {
        let (active, stored) = self.spawn(app, ready)?;
        // A thread that ended without a word has said elsewhere what it died of.
        match stored.recv_timeout(FIRST_EVENT_MAX) {
            Ok(Err(fault)) => Err(fault),
            Ok(Ok(())) | Err(_) => Ok(active),
        }
    }

    fn spawn(&self, app: &Arc<App>, ready: Ready) -> Result<(Active, Receiver<Result<(), Fault>>), Fault> {
        let mut place = self.place();
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
        let (begun, stored) = sync_channel(1);
        let keep = Keep { writer, begun: Some(begun), fault: None };
        let thread = std::thread::Builder::new()
            .name("fathom-run".to_owned())
            .spawn(move || drive(&of_app, ready, claims, &of_run, keep))
            .map_err(|error| Fault::conflict("run.thread", format!("the run cannot start: {error}"), ""))?;
        *place = Some((active.clone(), thread));
        Ok((active, stored))
    }

    /// Ends the run that goes on and waits until what it measured is kept.
    pub(crate) fn end(&self) {
        let taken = self.place().take();
        if let Some((active, thread)) = taken {
            active.stop.raise();
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

fn drive(app: &App, ready: Ready, claims: Claims, active: &Active, mut keep: Keep) {
    let machine: &dyn Machine = app.machine.as_ref();
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
    let mut live = active.hub.sink();
    let outcome = fathom_run::run(request, &active.stop, &mut Bus::new(vec![&mut keep, &mut live]));
    if let Some(error) = &outcome.error {
        machine.say(&format!("run {}: {error}", active.id));
    }
    for (path, error) in &outcome.left_behind {
        machine.say(&format!("run {}: {} could not be removed: {error}", active.id, path.display()));
    }
    let Keep { writer, begun, fault } = keep;
    let path = writer.path().to_owned();
    if let Err(Unstored { error, events }) = writer.finish() {
        machine.say(&format!("run {}: {} events could not be kept: {error}", active.id, events.len()));
        if fault.is_some() && matches!(events.first(), Some(Event::RunStarted(_))) {
            // Nothing of it is in the file, which would only show as damaged; who began it is told.
            drop(fathom_store::remove(&path));
        } else {
            app.running.hold(&active.id, events);
        }
    }
    // Only now: whoever hears of the end finds the whole record.
    drop(live);
    if let (Some(begun), Some(fault)) = (begun, fault) {
        // Who has waited for too long does not listen any more.
        let _ = begun.send(Err(fault));
    }
}

/// The store as a sink of the bus.
struct Keep {
    writer: Writer,
    /// Told once the first event is stored, or the run has ended for want of room for it.
    begun: Option<SyncSender<Result<(), Fault>>>,
    /// Why the first event could not be stored.
    fault: Option<Fault>,
}

impl Keep {
    /// Passes on whether something was stored; the first word of it goes to who has begun the run.
    fn told(&mut self, stored: Result<(), StoreError>, is_first: bool) -> Result<(), SinkError> {
        match stored {
            Ok(()) => {
                if let Some(begun) = self.begun.take_if(|_| is_first) {
                    let _ = begun.send(Ok(()));
                }
                Ok(())
            }
            Err(error) => {
                let message = error.to_string();
                if is_first {
                    self.fault = Some(error.into());
                }
                Err(SinkError { message })
            }
        }
    }
}

impl Sink for Keep {
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        let stored = self.writer.append(event);
        self.told(stored, matches!(event, Event::RunStarted(_)))
    }

    fn settled(&mut self) -> Result<(), SinkError> {
        let stored = self.writer.commit();
        self.told(stored, false)
    }
}

/// The file of a stored run, by the whole of its identity: no path, no beginning of one, nothing that leads out of the
/// folder.
pub(crate) fn file_of(store: &Path, id: &str) -> Result<std::path::PathBuf, Fault> {
    let path = ulid::Ulid::from_string(id).map(|id| fathom_store::path_of(store, &id.to_string()));
    path.ok().filter(|path| path.is_file()).ok_or_else(|| Fault::no_run(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_beside_the_one_run_takes_it_from_nobody() {
        let running = Arc::new(Running::default());
        let held = Arc::clone(&running);
        let panicked = std::thread::spawn(move || {
            let _place = held.place();
            panic!("while it holds the place");
        });
        assert!(panicked.join().is_err() && running.place.is_poisoned());
        assert!(running.latest().is_none());
        running.end();
    }
}
