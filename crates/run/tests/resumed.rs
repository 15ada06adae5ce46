//! Runs that go on from an earlier one: what its steps become in the new record.

use fathom_engine::prepare::Claims;
use fathom_planner::plan;
use fathom_run::{Bus, Changes, Earlier, RunRequest, Sink, SinkError, Stop, run};
use fathom_schema::{CpuFacts, Event, Facts, IntervalSum, Outcome, Record, RunStarted, StepRecord};
use fathom_units::Bytes;

/// What a run tells.
#[derive(Default)]
struct Told {
    record: Option<Record>,
    sums: Vec<IntervalSum>,
}

impl Sink for Told {
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        match (event, &mut self.record) {
            (Event::Sum(sum), _) => self.sums.push((**sum).clone()),
            (Event::RunStarted(started), _) => self.record = Some(Record::begin((**started).clone())),
            (event, Some(record)) => record.push(event.clone()).expect("it follows"),
            (event, None) => panic!("{event:?} before the start"),
        }
        Ok(())
    }
}

/// A run of 40 intervals after these steps.
fn told(earlier: Vec<StepRecord>) -> Told {
    let job = "[target.t]\nkind = \"sim\"\nsize = \"1GiB\"\nservice_time = \"constant 1ms\"\n[stream.s]\n\
               [stage.a]\ntime = \"40s\"\n";
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
    let request = RunRequest {
        experiment: plan.unwrap_or_else(|| panic!("{found:?}")).experiment,
        claims: Claims::default(),
        started,
        notes: Vec::new(),
        clock: fathom_engine::RealClock::new(true),
        changes: Changes::default(),
        earlier: Earlier { steps: earlier, left: Vec::new() },
    };
    let mut told = Told::default();
    let outcome = run(request, &Stop::default(), &mut Bus::new(vec![&mut told]));
    assert_eq!(outcome.outcome, Outcome::Complete, "{:?}", outcome.error);
    told
}

#[test]
fn steps_of_an_earlier_run_are_summed_as_they_were() {
    let first = told(Vec::new());
    let steps = first.record.expect("it began").steps;
    assert!(steps[0].intervals.len() >= 40 && first.sums.len() > 3, "{} sums", first.sums.len());
    let second = told(steps.clone());
    // When it began is put before the run that goes on from it, whose calendar begins with 0 here.
    let mut again = second.record.expect("it began").steps[0].clone();
    assert_eq!(again.started.wall_ms, 0);
    again.started.wall_ms = steps[0].started.wall_ms;
    assert_eq!(again, steps[0]);
    let of_first: Vec<IntervalSum> = second.sums.into_iter().filter(|sum| sum.sum.step == 0).collect();
    assert_eq!(of_first, first.sums);
}
