//! The experiment goes through its points and takes rates from what earlier steps reached.

use crate::examples::DISK;
use crate::host::{facts, read};
use fathom_model::{Dialect, Job};
use fathom_planner::plan;
use fathom_schema::{
    KindTally, LatencyTally, Moments, OperationKind, Pacing, StepFinished, Stop, StreamTally, StreamTotals,
    TimeLimit, WorkerTotals,
};
use fathom_units::Nanos;

/// A step of one stream that did `operations` reads in ten seconds, on two workers, and as many syncs.
fn finished(index: u32, operations: u64) -> StepFinished {
    let kind = |kind| KindTally {
        kind,
        operations: operations / 2,
        bytes: 0,
        short: 0,
        data_syncs: 0,
        errors: Vec::new(),
        service: LatencyTally::default(),
        response: None,
        submission: Moments::default(),
        completion: None,
    };
    let worker = |start| WorkerTotals {
        tally: StreamTally {
            kinds: vec![kind(OperationKind::Read), kind(OperationKind::Sync)],
            ..StreamTally::default()
        },
        start: Nanos::secs(start),
        end: Nanos::secs(start + 9),
        synced: Nanos::ZERO,
        user_ns: 0,
        system_ns: 0,
        context_switches: 0,
        major_faults: 0,
        minor_faults: 0,
        runnable_ns: 0,
        error: 0,
        verified: None,
        depth: None,
        emptied: None,
        waiting: 0,
        oldest_waiting: Nanos::ZERO,
    };
    StepFinished {
        index,
        streams: vec![StreamTotals { workers: vec![worker(5), worker(6)] }],
        stop: Stop::Complete,
        elapsed: Nanos::secs(20),
        devices: Vec::new(),
        environment_changes: Vec::new(),
        gauges: None,
        zero_blocks: Vec::new(),
        singles: None,
    }
}

/// Runs a job whose steps reach these operations in ten seconds; gives the rate of each step, 0 for a closed loop.
fn rates(job: &Job, operations: &[u64]) -> Vec<f64> {
    let (plan, found) = plan(job, &facts(job, |_| DISK), 0);
    let plan = plan.unwrap_or_else(|| panic!("{found:?}"));
    let mut experiment = plan.experiment;
    assert_eq!((experiment.steps_hint(), plan.points), (operations.len(), operations.len()));
    let mut rates = Vec::new();
    let mut last = None;
    while let Some(step) = experiment.next(last.as_ref()) {
        rates.push(match step.streams[0].pacing {
            Pacing::Closed { .. } => 0.0,
            Pacing::Open { rate, .. } => rate,
        });
        last =
            Some(finished(u32::try_from(rates.len()).expect("few steps") - 1, operations[rates.len() - 1]));
    }
    assert_eq!(experiment.next(last.as_ref()), None);
    rates
}

const HEAD: &str = "[target.t]\npath = \"/dev/x\"\n[stream.s]\n";

#[test]
fn a_course_has_its_rates_and_its_mean() {
    let pacing = |stream: &str| {
        let job = read(&format!("{HEAD}{stream}"));
        let (plan, found) = plan(&job, &facts(&job, |_| DISK), 0);
        let plan = plan.unwrap_or_else(|| panic!("{found:?}"));
        let step = plan.experiment.preview().remove(0);
        let Pacing::Open { rate, course, .. } = step.streams[0].pacing.clone() else { panic!("not open") };
        let pieces: Vec<(u64, f64, f64)> =
            course.iter().map(|p| (p.length_ns / 1_000_000_000, p.from_per_s, p.to_per_s)).collect();
        (rate, pieces, step.streams[0].limits.time)
    };
    let seconds = |n: u64| TimeLimit::Nanoseconds(n * 1_000_000_000);
    // Without a time it lasts as long as its pieces; a bandwidth is one of blocks of 4 KiB.
    let text = "ramp = \"5s\"\nrate_course = [\"1k/s for 10s\", \"to 8192kB/s over 10s\"]";
    let pieces = vec![(5, 1000.0, 1000.0), (10, 1000.0, 1000.0), (10, 1000.0, 2000.0)];
    assert_eq!(pacing(text), (1250.0, pieces, seconds(20)));
    // The last rate stays.
    let text = "time = \"40s\"\nrate_course = [\"idle for 10s\", \"2k/s for 1s\"]";
    assert_eq!(pacing(text), (1500.0, vec![(10, 0.0, 0.0), (1, 2000.0, 2000.0)], seconds(40)));
}

#[test]
fn curves_are_shares_of_what_the_first_point_reached() {
    let job = read(&format!(
        "{HEAD}[stage.a]\ntime = \"9s\"\ncurve = [\"10%\", \"55%\"]\nsweep = {{ \"stream.queue_depth\" = [1, 2] }}"
    ));
    let operations = [12_340, 0, 0, 20_000, 0, 0];
    assert_eq!(rates(&job, &operations), [0.0, 123.4, 678.7, 0.0, 200.0, 1100.0]);
    // Vdbench: the next 10 upwards, above 1,000 the next 100.
    let job = Job { dialect: Dialect::Vdbench, ..job };
    assert_eq!(rates(&job, &operations), [0.0, 130.0, 680.0, 0.0, 200.0, 1100.0]);
    let job = read(&format!("{HEAD}[stage.a]\ntime = \"9s\"\ncurve = [\"10%\"]"));
    assert_eq!(rates(&Job { dialect: Dialect::Vdbench, ..job.clone() }, &[123_450, 0]), [0.0, 1300.0]);
    // A first point that did nothing leaves a rate that still ends.
    assert_eq!(rates(&job, &[0, 0]), [0.0, 1.0]);
}

#[test]
fn shares_refer_to_an_earlier_stage_or_point() {
    let sweep = read(&format!(
        "{HEAD}[stage.a]\ntime = \"9s\"\nsweep = {{ \"stream.rate\" = [\"max\", \"50%\", \"100/s\", \"max\", \"50%\"] }}"
    ));
    assert_eq!(rates(&sweep, &[10_000, 1, 1, 20_000, 0]), [0.0, 500.0, 100.0, 0.0, 1000.0]);
    let order =
        read(&format!("{HEAD}[stage.a]\ntime = \"9s\"\nsweep = {{ \"stream.rate\" = [\"50%\", \"max\"] }}"));
    let (none, found) = plan(&order, &facts(&order, |_| DISK), 0);
    assert!(none.is_none());
    assert_eq!(found.all()[0].code, "plan.no-maximum");
}
