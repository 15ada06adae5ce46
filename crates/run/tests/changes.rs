//! Changes of the load, through whole runs on targets that need no device.

use fathom_engine::prepare::Claims;
use fathom_planner::plan;
use fathom_run::{Bus, Changes, Earlier, NewLoad, RateChange, RunRequest, Sink, SinkError, Stop, run};
use fathom_schema::{CpuFacts, Event, Facts, NoteKind, Outcome, Pacing, RunStarted, Step};
use fathom_units::{Bytes, Iops, Nanos};

/// The steps that were begun.
#[derive(Default)]
struct Steps(Vec<Step>);

impl Sink for Steps {
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        if let Event::StepStarted(started) = event {
            self.0.push(started.step.clone());
        }
        Ok(())
    }
}

/// Marks the end of each step, and what is noted.
#[derive(Default)]
struct Late {
    changes: Changes,
    notes: Vec<String>,
    /// The calendar at the start of each step, at the end of the run.
    wall_ms: Vec<u64>,
    /// When marks were made, since the run's start.
    marked_at: Vec<Nanos>,
}

impl Sink for Late {
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        match event {
            Event::StepFinished(_) => self.changes.mark("it has ended".to_owned()),
            Event::Note(note) => {
                self.notes.push(note.message.clone());
                self.marked_at.extend((note.kind == NoteKind::Mark).then_some(note.at));
            }
            Event::StepStarted(started) => self.wall_ms.push(started.wall_ms),
            Event::RunFinished(finished) => self.wall_ms.push(finished.wall_ms),
            _ => {}
        }
        Ok(())
    }
}

/// Runs a job that is asked for 1,000 operations per second of its stream `s` as soon as it runs.
fn changed(job: &str) -> Vec<Step> {
    let changes = Changes::default();
    changes.ask(RateChange { stream: "s".to_owned(), load: NewLoad::Rate(Iops(1000.0)) });
    let mut steps = Steps::default();
    ran(job, changes, &mut steps);
    steps.0
}

/// What is refused is told at once, not with the record alone; a load that comes back has a name of its own.
#[test]
fn refusals_are_told_at_once() {
    let job = "[target.t]\nkind = \"null\"\n[workload.w]\n[stream.s]\nrate = \"100/s\"\n[stream.other]\nrate = \"100/s\"\n\
               operations = 10\n[stage.a]\ntime = \"1s\"\n";
    let (changes, told) = Changes::telling();
    for (stream, rate) in [("s", 1000.0), ("nobody", 1000.0), ("s", 5e7), ("s", 5e8)] {
        changes.ask(RateChange { stream: stream.to_owned(), load: NewLoad::Rate(Iops(rate)) });
    }
    ran(job, changes, &mut Steps::default());
    let told: Vec<String> = told.iter().collect();
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(
        told[2].contains("50.0M operations per second of each worker of \"s\"; one can follow 20.0M"),
        "{told:?}"
    );
    assert!(told[3].contains("is not one of"), "{told:?}");
    assert!(
        told[0].contains("\"other\" ends by its work") && told[0].contains("give each stream"),
        "{told:?}"
    );
    assert!(
        told[1].contains("no stream \"nobody\" runs") && told[1].contains("\"s\", \"other\""),
        "{told:?}"
    );
}

/// Who asks twice before it is looked at gets one step, and the record says why there is no other.
#[test]
fn a_change_that_another_replaces_at_once_is_told_as_such() {
    let changes = Changes::default();
    for rate in [500.0, 1000.0] {
        changes.ask(RateChange { stream: "s".to_owned(), load: NewLoad::Rate(Iops(rate)) });
    }
    let mut told = Late::default();
    let job = "[target.t]\nkind = \"null\"\n[stream.s]\nrate = \"100/s\"\n[stage.a]\ntime = \"300ms\"\n";
    ran(job, changes, &mut told);
    let of_changes: Vec<&String> = told.notes.iter().filter(|note| note.contains("is changed")).collect();
    let [first, second] = of_changes[..] else { panic!("{:?}", told.notes) };
    assert_eq!(first, "the load is changed: stream.s.rate = 500/s");
    assert_eq!(
        second,
        "the load is changed: stream.s.rate = 1000/s, in place of 500/s, which had no time yet"
    );
    assert_eq!(told.wall_ms.len(), 3, "two steps and the end: {:?}", told.wall_ms);
}

/// Asks for 1,000 operations per second of the stream `s` when the first interval is told, when surely something has been
/// due. Asked before the run, the change may come before anything is.
#[derive(Default)]
struct AskedOnTheWay {
    told: Late,
    is_asked: bool,
}

impl Sink for AskedOnTheWay {
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        if matches!(event, Event::Interval(_)) && !std::mem::replace(&mut self.is_asked, true) {
            self.told.changes.ask(RateChange { stream: "s".to_owned(), load: NewLoad::Rate(Iops(1000.0)) });
        }
        self.told.event(event)
    }
}

/// More than can be issued, on a stream that is not changed itself: what waits is no part of the step that follows.
#[test]
fn what_waits_at_a_change_is_told_to_be_given_up() {
    let mut asked = AskedOnTheWay::default();
    let job = "[run]\ninterval = \"100ms\"\n[target.t]\nkind = \"null\"\n[stream.s]\nrate = \"100/s\"\n[stream.full]\n\
               rate = \"20M/s\"\nqueue_depth = 1\n[stage.a]\ntime = \"2s\"\n";
    ran(job, asked.told.changes.clone(), &mut asked);
    let notes = asked.told.notes;
    let of_waiting: Vec<&String> =
        notes.iter().filter(|note| note.contains("still waited as the load was changed")).collect();
    let [one] = of_waiting[..] else { panic!("{notes:?}") };
    assert!(one.contains("of the stream \"full\"") && one.contains("given up"), "{one}");
}

fn ran(job: &str, changes: Changes, sink: &mut dyn Sink) {
    let (job, found) = fathom_frontend::native::read("job", job);
    assert!(found.is_empty(), "{found:?}");
    let mut facts = Facts {
        cpu: CpuFacts { model: String::new(), usable: vec![0], reachable: Vec::new() },
        page_size: Bytes::kib(4),
        memory: Bytes::gib(1),
        ..Facts::default()
    };
    facts.limits.open_files = 1024;
    let (plan, found) = plan(&job, &facts, 7);
    let plan = plan.unwrap_or_else(|| panic!("{found:?}"));
    let started = RunStarted {
        schema_version: fathom_schema::VERSION,
        run: String::new(),
        tool_version: String::new(),
        command: Vec::new(),
        title: String::new(),
        description: None,
        sources: Vec::new(),
        echo: Vec::new(),
        wall_ms: 0,
        expected_seconds: None,
        question: None,
        thresholds: Vec::new(),
        abort_when: Vec::new(),
        facts,
    };
    let clock = fathom_engine::RealClock::new(true);
    let request = RunRequest {
        experiment: plan.experiment,
        claims: Claims::default(),
        started,
        notes: Vec::new(),
        clock,
        changes,
        earlier: Earlier::default(),
    };
    let outcome = run(request, &Stop::default(), &mut Bus::new(vec![sink]));
    assert_eq!(outcome.outcome, Outcome::Complete, "{:?}", outcome.error);
}

#[test]
fn what_is_asked_behind_the_last_step_is_not_lost() {
    let changes = Changes::default();
    let mut late = Late { changes: changes.clone(), ..Late::default() };
    let job = "[target.t]\nkind = \"sim\"\nsize = \"1GiB\"\n[stream.s]\nqueue_depth = 1\n[stage.a]\ntime = \"1s\"\n";
    ran(job, changes, &mut late);
    let marks = late
        .notes
        .iter()
        .filter(|note| note.starts_with("mark at 1.") && note.ends_with(": it has ended"))
        .count();
    assert_eq!(marks, 1, "{:?}", late.notes);
}

/// One step after the other, on the time line of the run as on the calendar, however fast the host is.
#[test]
fn steps_in_virtual_time_do_not_overlap() {
    let changes = Changes::default();
    let mut told = Late { changes: changes.clone(), ..Late::default() };
    let job = "[target.t]\nkind = \"sim\"\nsize = \"1GiB\"\nservice_time = \"constant 1ms\"\n[stream.s]\nqueue_depth = 1\n\
               [stage.a]\ntime = \"100s\"\n[stage.b]\ntime = \"100s\"\n";
    ran(job, changes, &mut told);
    let [first, second, end] = told.wall_ms[..] else { panic!("{:?}", told.wall_ms) };
    assert!(second >= first + 100_000 && end >= second + 100_000, "{:?}", told.wall_ms);
    let [after_first, after_second] = told.marked_at[..] else { panic!("{:?}", told.marked_at) };
    assert!(after_first >= Nanos::secs(100) && after_second >= Nanos::secs(200), "{:?}", told.marked_at);
    assert!(after_second < Nanos::secs(290), "{:?}", told.marked_at);
}

#[test]
fn a_maximum_is_what_was_reached_before_a_change() {
    let job = "[target.t]\nkind = \"null\"\nsize = \"1GiB\"\n[stream.s]\n[stage.a]\ntime = \"400ms\"\ncurve = [\"50%\"]\n";
    let steps = changed(job);
    let rates: Vec<Option<f64>> = steps
        .iter()
        .map(|step| match step.streams[0].pacing {
            Pacing::Closed { .. } => None,
            Pacing::Open { rate, .. } => Some(rate),
        })
        .collect();
    let [None, Some(1000.0), Some(half)] = rates[..] else { panic!("{rates:?}") };
    // Half of 1,000/s would be 500/s; nothing that does no I/O is as slow as 4,000/s.
    assert!(half > 2000.0, "{half}");
}

/// In virtual time the first stage is over, or nearly so, before anybody asks for the change.
#[test]
fn a_change_at_the_end_of_a_step_keeps_the_stages_after_it() {
    let job = "[target.t]\nkind = \"sim\"\nsize = \"1GiB\"\nservice_time = \"constant 1ms\"\n[stream.s]\nqueue_depth = 1\n\
               [stage.a]\ntime = \"1s\"\n[stage.b]\ntime = \"1s\"\n";
    let steps = changed(job);
    assert_eq!(steps.last().map(|step| step.name.as_str()), Some("b"), "{steps:?}");
}
