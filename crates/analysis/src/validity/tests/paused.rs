//! Pauses beside a rate: what they make of it is told as theirs.

use super::{base, findings, open};
use crate::sample::{StreamShape, record};
use fathom_schema::{Finding, OperationKind, Pauses, Record, Severity, Think};
use fathom_units::Nanos;

/// Ten operations per second, at 1,000 that are asked for and `arrivals` that come due in ten seconds.
fn paused(pauses: Pauses, arrivals: u64) -> Record {
    let rates = vec![(OperationKind::Read, 10)];
    let mut made = record(&[StreamShape { pacing: open(1000.0), rates, queue_depth: 1, ..base() }]);
    let step = &mut made.steps[0];
    step.started.step.streams[0].pauses = pauses;
    for interval in &mut step.intervals {
        interval.tally.backlog_max = arrivals / 10 * (interval.sequence + 1);
    }
    step.finished.as_mut().expect("it ended").streams[0].workers[0].tally.arrivals = arrivals;
    made
}

fn pause(operations: u64, puts_off: bool) -> Pauses {
    let think =
        Think::Every { operations, pause_ns: 100_000_000, by_issue: false, after_ns: u64::MAX, spin_ns: 0 };
    Pauses { think, puts_off, lead: Nanos::ZERO }
}

fn of_pacing(record: &Record) -> Vec<Finding> {
    findings(record).into_iter().filter(|one| one.id.starts_with("pacing.")).collect()
}

#[test]
fn a_rate_that_pauses_put_off_is_told() {
    let told = of_pacing(&paused(pause(1, true), 100));
    let [one] = &told[..] else { panic!("{told:?}") };
    assert_eq!((one.id.as_str(), one.severity), ("pacing.put-off", Severity::Info));
    assert_eq!(
        one.evidence,
        "10.0 of the 1000 operations per second that were asked for came due: pauses put off the others"
    );
    // Those that are as rare as not to matter are not told.
    let rare = of_pacing(&paused(pause(1, true), 9_999));
    assert!(rare.iter().all(|one| one.id != "pacing.put-off"), "{rare:?}");
}

/// Half of what comes due waits for a pause to end, for 50 ms at the longest, beside a free slot.
#[test]
fn what_waits_for_a_pause_is_not_issued_late() {
    let late = |pauses| {
        let mut made = record(&[StreamShape { pacing: open(1000.0), ..base() }]);
        made.steps[0].started.step.streams[0].pauses = pauses;
        let tally = &mut made.steps[0].finished.as_mut().expect("it ended").streams[0].workers[0].tally;
        tally.arrivals = 10_000;
        let mut response = fathom_metrics::Latency::default();
        (0..10_000).for_each(|at| response.record(if at % 2 == 0 { 50_000_000 } else { 4_000_000 }));
        tally.kinds[0].response = Some(response.to_tally());
        of_pacing(&made).iter().any(|one| one.id == "pacing.issued-late")
    };
    assert!(late(Pauses::default()));
    assert!(!late(pause(8, false)));
    // What a pause puts off is not due in it.
    assert!(late(pause(8, true)));
}

#[test]
fn an_overload_that_pauses_make_is_told_as_theirs() {
    let remedy = |pauses| {
        let told = of_pacing(&paused(pauses, 10_000));
        let [one] = &told[..] else { panic!("{told:?}") };
        assert_eq!((one.id.as_str(), one.severity), ("pacing.overloaded", Severity::Invalid));
        one.remedy.clone()
    };
    assert!(remedy(pause(1, false)).starts_with("its own pauses let through fewer than come due"));
    // A hundred operations between two of them are the rate: the device is what keeps it from it.
    assert!(remedy(pause(100, false)).starts_with("response times grow"));
    assert!(remedy(Pauses::default()).starts_with("response times grow"));
}
