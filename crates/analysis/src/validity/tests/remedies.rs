//! What readers are told to do where several causes look alike.

use super::stops::loop_of;
use super::{base, findings};
use crate::sample::{StreamShape, record};
use fathom_schema::{EngineKind, Interval, OperationKind, Record, RingSettings};

fn remedy(record: &Record, id: &str) -> String {
    let all = findings(record);
    all.iter().find(|one| one.id == id).unwrap_or_else(|| panic!("no {id}: {all:?}")).remedy.clone()
}

/// EOPNOTSUPP is number 95.
#[test]
fn a_disk_that_cannot_be_polled_is_no_broken_one() {
    let failed = |polled: bool, errors: Vec<(i32, u64)>| {
        let mut made = record(&[base()]);
        let ring = RingSettings { polled, ..RingSettings::USUAL };
        made.steps[0].started.step.streams[0].engine.kind = EngineKind::IoUring(ring);
        made.steps[0].finished.as_mut().expect("it ended").streams[0].workers[0].tally.kinds[0].errors =
            errors;
        remedy(&made, "errors.io")
    };
    assert!(failed(true, vec![(95, 32)]).contains("polling (hipri) needs"));
    assert!(failed(false, vec![(95, 32)]).contains("kernel log"));
    assert!(failed(true, vec![(5, 1), (95, 32)]).contains("kernel log"), "one is the device's");
}

/// A worker that was stopped looks like a device that stood still.
#[test]
fn a_stall_in_an_interval_that_came_late_may_be_the_generators() {
    let mut made = loop_of(8, 60, 1, &[(20.0, 3.0)]);
    assert!(remedy(&made, "behaviour.stall").starts_with("look at what happened then"));
    made.steps[0].intervals[40].late = true;
    assert!(remedy(&made, "behaviour.stall").starts_with("look at what happened then"), "elsewhere");
    made.steps[0].intervals[21].late = true;
    assert!(remedy(&made, "behaviour.stall").starts_with("an interval came late then"));
}

#[test]
fn the_longest_late_interval_is_told() {
    let rates = vec![(OperationKind::Read, 1100)];
    let mut made = record(&[StreamShape { seconds: 200, rates, ..base() }]);
    let intervals = &mut made.steps[0].intervals;
    (intervals[20].end, intervals[20].late) = (intervals[22].end, true);
    intervals.drain(21..23);
    let told = findings(&made).into_iter().find(|one| one.id == "intervals.late").expect("it is told");
    assert!(
        told.evidence.contains("1 of 198 intervals") && told.evidence.ends_with("the longest 3.00 s"),
        "{told:?}"
    );
}

#[test]
fn what_some_workers_told_late_is_told_as_such() {
    let rates = vec![(OperationKind::Read, 1100)];
    let mut made = record(&[StreamShape { seconds: 200, rates, ..base() }]);
    let intervals = &mut made.steps[0].intervals;
    let part = Interval { late: true, ..intervals[20].clone() };
    intervals.insert(21, part);
    let told = findings(&made).into_iter().find(|one| one.id == "intervals.late").expect("it is told");
    assert!(
        told.evidence.ends_with(
            "1 of 200 intervals came late or in parts, with what some workers did in rows of their own"
        ),
        "{told:?}"
    );
}
