//! Each finding is provoked once on a constructed record, and shown not to appear on a sound one.

mod content;
mod dips;
mod drives;
mod frequent;
mod generator;
mod host;
mod issued_late;
mod levels;
mod limits;
mod others;
mod passages;
mod paused;
mod queues;
mod remedies;
mod stops;
mod timeline;
mod warmup;

use super::*;
use crate::sample::{StreamShape, on_file, push, record};
use fathom_schema::{
    Arrival, Backlog, Ceiling, DeviceCounters, EngineKind, EnvironmentFact, FileFact, IoMode, LayoutRule,
    OperationKind, Outcome, Pacing, Severity, SimDevice, SimService, TargetKind, Think, ZeroBlocks,
};
use fathom_units::{Bytes, Ratio};
use std::collections::BTreeMap;

/// Checks which findings a record has: names and severities, the gravest first.
fn check(record: &Record, expect: &[(&str, Severity)]) {
    let found = findings(record);
    let names: Vec<(&str, Severity)> = found.iter().map(|f| (f.id.as_str(), f.severity)).collect();
    assert_eq!(names, expect, "{found:#?}");
    for finding in &found {
        assert!(!finding.evidence.is_empty() && !finding.remedy.is_empty(), "{finding:?}");
    }
}

fn base() -> StreamShape {
    StreamShape::default()
}

fn counters(record: &mut Record) -> &mut DeviceCounters {
    &mut record.steps[0].finished.as_mut().unwrap().devices[0]
}

fn open(rate: f64) -> Pacing {
    Pacing::Open { rate, arrival: Arrival::Constant, course: Vec::new(), backlog: Backlog::Keep }
}

#[test]
fn a_sound_record_has_no_findings() {
    check(&record(&[base()]), &[]);
    let mixed = StreamShape {
        rates: vec![(OperationKind::Read, 700), (OperationKind::Write, 300), (OperationKind::Sync, 10)],
        workers: 4,
        ..base()
    };
    check(
        &record(&[mixed, StreamShape { queue_depth: 1, pacing: open(1000.0), fullness: 0.3, ..base() }]),
        &[],
    );
    let mut sweep = record(&[base()]);
    push(&mut sweep, &[base()], 1);
    // Two steps of ten seconds need a run of twenty.
    sweep.steps[1].started.wall_ms += 10_100;
    sweep.finished.as_mut().unwrap().wall_ms += 10_200;
    check(&sweep, &[]);
}

#[test]
fn little() {
    check(&record(&[StreamShape { fullness: 1.01, ..base() }]), &[("little.accounting", Severity::Invalid)]);
    check(&record(&[StreamShape { fullness: 0.94, ..base() }]), &[("little.queue-not-full", Severity::Warn)]);
    check(&record(&[StreamShape { fullness: 0.96, ..base() }]), &[]);
    check(&record(&[StreamShape { fullness: 0.5, queue_depth: 1, ..base() }]), &[]);
    // However slow the operations: while time was, slots were idle.
    let slow =
        StreamShape { fullness: 0.8, rates: vec![(OperationKind::Read, 1)], block_bytes: 1 << 20, ..base() };
    let not_full = ("little.queue-not-full", Severity::Warn);
    check(&record(std::slice::from_ref(&slow)), &[not_full, ("samples.few", Severity::Info)]);
    // Where work ends them, few operations are mostly filling and draining.
    let mut few = record(&[slow]);
    few.steps[0].started.step.streams[0].limits.time = fathom_schema::TimeLimit::Unbounded;
    check(&few, &[("samples.few", Severity::Info)]);
}

/// The queue is full for ten seconds; what is in flight then takes more of them.
#[test]
fn a_queue_that_runs_empty_at_the_end_is_told() {
    let of = |drained_s: u64, fullness: f64, time: fathom_schema::TimeLimit| {
        let mut record = record(&[StreamShape { fullness, ..base() }]);
        let step = &mut record.steps[0];
        step.started.step.streams[0].limits.time = time;
        // Half of the slots are busy on average while they run empty.
        let beyond_ns = drained_s as f64 * 1e9 * 4.0 / 2.0;
        let last = step.intervals.last_mut().unwrap();
        last.end = last.end.after(Nanos::secs(drained_s));
        last.tally.in_flight_ns += beyond_ns;
        let worker = &mut step.finished.as_mut().unwrap().streams[0].workers[0];
        worker.end = worker.end.after(Nanos::secs(drained_s));
        worker.tally.in_flight_ns += beyond_ns;
        let service = &mut worker.tally.kinds[0].service.moments;
        service.sum_ns += beyond_ns;
        service.max_ns = service.max_ns.max(drained_s * 1_000_000_000);
        findings(&record)
    };
    let time = fathom_schema::TimeLimit::Nanoseconds(10_000_000_000);
    for (drained_s, fullness, time, expect) in [
        // 1 − ½/11 is 0.955, 1 − 1/12 is 0.917.
        (1, 1.0, time, None),
        (2, 1.0, time, Some("little.ran-empty")),
        (5, 1.0, time, Some("little.ran-empty")),
        (5, 0.9, time, Some("little.queue-not-full")),
        (5, 1.0, fathom_schema::TimeLimit::Unbounded, Some("little.ran-empty")),
    ] {
        let found = findings_of_little(&of(drained_s, fullness, time));
        assert_eq!(
            found.first().map(|(id, _)| id.as_str()),
            expect,
            "{drained_s} {fullness} {time:?}: {found:?}"
        );
        if expect == Some("little.ran-empty") {
            let percent =
                format!("{:.0} % of its slots", drained_s as f64 / 2.0 / (10.0 + drained_s as f64) * 100.0);
            assert!(found[0].1.contains(&percent), "{found:?}");
        }
    }
}

/// As workers say it themselves: half of the slots are busy on average in the last seconds.
#[test]
fn what_runs_empty_is_told_from_a_hundredth_on_and_is_no_depth_that_was_not_held() {
    let of = |emptying_ms: u64, fullness: f64| {
        let mut record = record(&[StreamShape { fullness, ..base() }]);
        let step = &mut record.steps[0];
        let worker = &mut step.finished.as_mut().unwrap().streams[0].workers[0];
        let in_flight_ns = emptying_ms * 1_000_000 * 4 / 2;
        worker.emptied = Some(fathom_schema::Emptied { since: worker.end, in_flight_ns });
        worker.end = worker.end.after(Nanos::millis(emptying_ms));
        worker.tally.in_flight_ns += in_flight_ns as f64;
        worker.tally.kinds[0].service.moments.sum_ns += in_flight_ns as f64;
        let held = crate::measured::measured(step)[0].depth_held() / 4.0;
        assert!((held - fullness).abs() < 1e-9, "{emptying_ms} {fullness}: {held}");
        let found = findings(&record);
        let of_little = found.into_iter().filter(|one| one.id.starts_with("little."));
        of_little.map(|one| (one.id, one.severity)).collect::<Vec<_>>()
    };
    let told = |severity| vec![("little.ran-empty".to_owned(), severity)];
    // 0.5 × 0.2 ÷ 10.2 is 0.0098, 0.5 × 0.21 ÷ 10.21 is 0.0103, 0.5 × 1.2 ÷ 11.2 is 0.054.
    assert_eq!(of(200, 1.0), []);
    assert_eq!(of(210, 1.0), told(Severity::Info));
    assert_eq!(of(1200, 1.0), told(Severity::Warn));
    let not_full = ("little.queue-not-full".to_owned(), Severity::Warn);
    assert_eq!(of(210, 0.9), [vec![not_full], told(Severity::Info)].concat());
}

fn findings_of_little(found: &[Finding]) -> Vec<(String, String)> {
    let of_little = found.iter().filter(|one| one.id.starts_with("little."));
    of_little.map(|one| (one.id.clone(), one.evidence.clone())).collect()
}

/// Operations that failed were in flight like others.
#[test]
fn errors_are_no_idle_slots() {
    let of = |fullness: f64, failed: f64| {
        let mut record = record(&[StreamShape { fullness, ..base() }]);
        let tally = &mut record.steps[0].finished.as_mut().unwrap().streams[0].workers[0].tally;
        tally.failed_ns = failed * 4.0 * 1e10;
        tally.in_flight_ns += tally.failed_ns;
        findings_of_little(&findings(&record)).first().map(|(id, _)| id.clone())
    };
    assert_eq!(of(0.9, 0.1), None);
    assert_eq!(of(0.5, 0.5), None);
    assert_eq!(of(0.5, 0.4).as_deref(), Some("little.queue-not-full"));
    assert_eq!(of(0.9, 0.2).as_deref(), Some("little.accounting"));
}

/// Operations that a window ends in are in flight beyond it.
#[test]
fn what_ends_after_the_window_was_in_flight_until_then() {
    let of = |outside_s: f64, service_s: f64| {
        let mut record = record(&[base()]);
        let tally = &mut record.steps[0].finished.as_mut().unwrap().streams[0].workers[0].tally;
        tally.outside_ns = outside_s * 1e9;
        tally.kinds[0].service.moments.sum_ns += service_s * 1e9;
        tally.kinds[0].service.moments.max_ns = 100_000_000_000;
        findings_of_little(&findings(&record)).first().map(|(id, _)| id.clone())
    };
    assert_eq!(of(376.0, 376.0), None);
    assert_eq!(of(360.0, 376.0).as_deref(), Some("little.accounting"));
}

#[test]
fn an_engine_that_does_nothing() {
    let mut named = record(&[base()]);
    let step = &mut named.steps[0].started.step;
    step.streams[0].engine.kind = EngineKind::Null;
    // It is planned as nothing, and keeps its name.
    step.targets[0].kind = TargetKind::Null;
    let told = findings(&named);
    let is_told = |one: &Finding| (one.id.as_str(), one.severity) == ("engine.null", Severity::Invalid);
    assert!(told.iter().any(is_told), "{told:?}");
    named.steps[0].started.step.targets[0].name = "nothing".to_owned();
    assert!(!findings(&named).iter().any(is_told));
}

#[test]
fn length() {
    check(&record(&[StreamShape { seconds: 4, ..base() }]), &[("duration.short", Severity::Warn)]);
    check(&record(&[StreamShape { seconds: 5, ..base() }]), &[]);
    let mut coarse = record(&[base()]);
    coarse.steps[0].intervals.truncate(2);
    counters(&mut coarse).read_sectors = 80 + 2 * 8000;
    check(&coarse, &[("duration.short", Severity::Warn)]);
    let few = StreamShape { rates: vec![(OperationKind::Read, 36)], ..base() };
    check(&record(&[few]), &[("samples.few", Severity::Info)]);
    let enough = StreamShape { rates: vec![(OperationKind::Read, 37)], ..base() };
    check(&record(&[enough]), &[]);
    check(&record(&[StreamShape { rates: Vec::new(), ..base() }]), &[("operations.none", Severity::Invalid)]);
}

#[test]
fn pacing() {
    // 1,200 come due per second, 1,000 are done.
    let shape = StreamShape { pacing: open(1200.0), ..base() };
    let mut slow = record(std::slice::from_ref(&shape));
    slow.steps[0].finished.as_mut().unwrap().streams[0].workers[0].tally.arrivals = 12_000;
    let mut growing = slow.clone();
    for interval in &mut growing.steps[0].intervals {
        interval.tally.backlog_max = 200 * (interval.sequence + 1);
    }
    check(&growing, &[("pacing.overloaded", Severity::Invalid)]);
    // A curve over rates goes there on purpose.
    let mut curve = growing.clone();
    let of = |over| Some(fathom_schema::Question::Curve { limits: Vec::new(), over });
    curve.started.question = of(fathom_schema::LoadAxis::Rate);
    check(&curve, &[]);
    curve.started.question = of(fathom_schema::LoadAxis::Depth);
    check(&curve, &[("pacing.overloaded", Severity::Invalid)]);
    // So does a search for the highest rate; whoever asks for one rate is told.
    let highest = |rate| Some(fathom_schema::Question::Objective { rate, goals: Vec::new() });
    curve.started.question = highest(None);
    check(&curve, &[]);
    curve.started.question = highest(Some(1200.0));
    check(&curve, &[("pacing.overloaded", Severity::Invalid)]);
    // Short of the rate without a growing backlog is no overload, but is not passed over; nor is a run too short to tell.
    check(&slow, &[("pacing.behind", Severity::Warn)]);
    growing.steps[0].intervals.truncate(2);
    check(&growing, &[("duration.short", Severity::Warn), ("pacing.behind", Severity::Warn)]);
    // What is still in flight at the end is not done and not missing.
    let mut in_flight = slow.clone();
    in_flight.steps[0].finished.as_mut().unwrap().streams[0].workers[0].tally.arrivals = 10_004;
    check(&in_flight, &[]);
    // A course or bursts that bring less than their mean within the window are none either.
    let mut sparse = record(&[shape]);
    for interval in &mut sparse.steps[0].intervals {
        interval.tally.backlog_max = 200 * (interval.sequence + 1);
    }
    check(&sparse, &[]);
    let mut keeps_up = record(&[StreamShape { pacing: open(1000.0), ..base() }]);
    for interval in &mut keeps_up.steps[0].intervals {
        interval.tally.backlog_max = 200 * (interval.sequence + 1);
    }
    check(&keeps_up, &[]);
    for worker in &mut keeps_up.steps[0].finished.as_mut().unwrap().streams[0].workers {
        (worker.tally.arrivals, worker.tally.arrivals_dropped) = (1000, 1);
    }
    check(&keeps_up, &[("pacing.dropped", Severity::Invalid)]);
}

/// What a queue took and did not get done in time is no more done than what waited for it.
#[test]
fn a_queue_that_takes_everything_hides_no_overload() {
    let mut deep = record(&[StreamShape { pacing: open(1000.0), ..base() }]);
    let step = &mut deep.steps[0];
    step.started.step.streams[0].limits.time = fathom_schema::TimeLimit::Nanoseconds(10_000_000_000);
    for worker in &mut step.finished.as_mut().unwrap().streams[0].workers {
        worker.tally.arrivals = 10_000;
        worker.end = worker.end.after(Nanos::secs(10));
        worker.tally.in_flight_ns = worker.tally.kinds[0].service.moments.sum_ns;
    }
    check(&deep, &[("pacing.behind", Severity::Warn)]);
    // Some more, as by chance, and as many more as were not done in time.
    let grown = |times: f64| {
        let mut grown = deep.clone();
        for interval in &mut grown.steps[0].intervals {
            interval.tally.in_flight_ns *= 1.0 + times * interval.sequence as f64;
        }
        grown
    };
    check(&grown(1.0), &[("pacing.behind", Severity::Warn)]);
    check(&grown(1000.0), &[("pacing.overloaded", Severity::Invalid)]);
}

#[test]
fn a_backlog_that_grows_slowly_or_goes_again_is_told() {
    // Half a percent more than is done, for as long as it lasts.
    let mut slow = record(&[StreamShape { pacing: open(1005.0), seconds: 40, ..base() }]);
    for interval in &mut slow.steps[0].intervals {
        interval.tally.backlog_max = 5 * (interval.sequence + 1);
    }
    let worker = &mut slow.steps[0].finished.as_mut().unwrap().streams[0].workers[0];
    (worker.tally.arrivals, worker.tally.backlog_max) = (40_200, 200);
    check(&slow, &[]);
    let mut left = slow.clone();
    left.steps[0].finished.as_mut().unwrap().streams[0].workers[0].waiting = 200;
    check(&left, &[("pacing.overloaded", Severity::Invalid)]);
    // One that is worked off before the end.
    let worker = &mut slow.steps[0].finished.as_mut().unwrap().streams[0].workers[0];
    (worker.tally.arrivals, worker.tally.backlog_max) = (40_000, 4_000);
    check(&slow, &[("pacing.backlog", Severity::Warn)]);
}

/// Just as slow, in a queue so deep that nothing ever waits for it.
#[test]
fn what_grows_slowly_in_a_deep_queue_is_told() {
    // `more` per second come due that are not done within it, of 1,000 that are.
    let of = |more: u64, seconds: u64, course: Vec<fathom_schema::RatePiece>, jumps: bool| {
        let rate = 1000.0 + more as f64;
        let pacing = Pacing::Open { rate, arrival: Arrival::Constant, course, backlog: Backlog::Keep };
        let mut record = record(&[StreamShape { seconds, pacing, ..base() }]);
        let step = &mut record.steps[0];
        step.started.step.streams[0].queue_depth = 60_000;
        for interval in &mut step.intervals {
            let grown = if jumps { seconds / 2 } else { interval.sequence };
            interval.tally.in_flight_ns = (more * grown) as f64 * 1e9;
        }
        // Done when the time is up, a thousandth of a second each.
        let drained = Nanos::millis(more * seconds);
        step.intervals.last_mut().unwrap().end = Nanos::secs(seconds).after(drained);
        let worker = &mut step.finished.as_mut().unwrap().streams[0].workers[0];
        worker.end = worker.end.after(drained);
        worker.tally.arrivals = (1000 + more) * seconds;
        worker.tally.kinds[0].operations = worker.tally.arrivals;
        worker.tally.in_flight_ns = worker.tally.kinds[0].service.moments.sum_ns;
        findings(&record)
            .into_iter()
            .map(|one| one.id)
            .filter(|id| id.starts_with("pacing."))
            .collect::<Vec<_>>()
    };
    let none: [&str; 0] = [];
    assert_eq!(of(9, 1000, Vec::new(), false), ["pacing.overloaded"]);
    assert_eq!(of(5, 100, Vec::new(), false), ["pacing.overloaded"]);
    // So few more may be chance.
    assert_eq!(of(2, 100, Vec::new(), false), none);
    // As many as before, and what is there at once at a rate that rises.
    assert_eq!(of(9, 1000, Vec::new(), true), none);
    let course =
        vec![fathom_schema::RatePiece { length_ns: 1_000_000_000_000, from_per_s: 1.0, to_per_s: 2017.0 }];
    assert_eq!(of(9, 1000, course, false), none);
}

/// All of a trace is done in the end, however long after.
#[test]
fn a_trace_that_is_more_than_a_device_does_is_an_overload() {
    // So many per second come due in each of twenty seconds, of which a device does 1,000.
    let of = |due: [u64; 20]| {
        let pacing = Pacing::Open {
            rate: 1000.0,
            arrival: Arrival::Traced { speed: 1.0 },
            course: Vec::new(),
            backlog: Backlog::Keep,
        };
        let mut record = record(&[StreamShape { pacing, seconds: 20, ..base() }]);
        let step = &mut record.steps[0];
        step.started.step.streams[0].limits.time = fathom_schema::TimeLimit::Unbounded;
        let (mut waiting, mut most) = (0, 0);
        for (interval, due) in step.intervals.iter_mut().zip(due) {
            waiting = (waiting + due).saturating_sub(1000);
            most = most.max(waiting);
            (interval.tally.arrivals, interval.tally.backlog_max) = (due, waiting);
        }
        let worker = &mut step.finished.as_mut().unwrap().streams[0].workers[0];
        (worker.tally.arrivals, worker.tally.backlog_max) = (due.iter().sum(), most);
        findings(&record)
            .into_iter()
            .map(|one| one.id)
            .filter(|id| id.starts_with("pacing."))
            .collect::<Vec<_>>()
    };
    let none: [&str; 0] = [];
    let due = |at: fn(usize) -> u64| std::array::from_fn(at);
    assert_eq!(of(due(|second| if second < 10 { 2000 } else { 0 })), ["pacing.overloaded"]);
    assert_eq!(of(due(|_| 1000)), none);
    // A burst that is done before the trace ends.
    assert_eq!(
        of(due(|second| [1000, 1000, 4000, 0, 0, 0, 1000].get(second).copied().unwrap_or(1000))),
        ["pacing.backlog"]
    );
}

/// Ten thousand streams have more intervals than are looked through one by one.
#[test]
fn sums_of_intervals_are_as_long_as_those() {
    let mut summed = record(&[StreamShape { pacing: open(1200.0), ..base() }]);
    counters(&mut summed).read_sectors = 80 + 10 * 8000;
    let step = &mut summed.steps[0];
    let end = step.intervals.last().unwrap().end;
    step.intervals.truncate(1);
    step.intervals[0].end = end;
    let of = |late: u64, waiting: u64| {
        let mut summed = summed.clone();
        let worker = &mut summed.steps[0].finished.as_mut().unwrap().streams[0].workers[0];
        let tally = &mut worker.tally;
        (tally.arrivals, tally.arrivals_late, tally.backlog_max, worker.waiting) =
            (10_000 + waiting, late, waiting, waiting);
        summed
    };
    let is_summed = ("behaviour.summed", Severity::Info);
    check(&of(11_900, 2_000), &[("pacing.overloaded", Severity::Invalid), is_summed]);
    // A device that stood still at the end, and one arrival that had to wait just then.
    check(&of(2_000, 2_000), &[("pacing.behind", Severity::Warn), is_summed]);
    check(&of(5_100, 101), &[is_summed]);
}

/// Ten times as much as is done, for less than two intervals; and the same share of a tiny load, which is chance.
#[test]
fn an_overload_needs_no_series_where_most_wait_at_the_end() {
    let of = |rate: u64, due: u64, waiting: u64| {
        let rates = vec![(OperationKind::Read, rate)];
        let mut brief =
            record(&[StreamShape { pacing: open(due as f64), seconds: 2, rates, queue_depth: 1, ..base() }]);
        let step = &mut brief.steps[0];
        step.intervals.truncate(1);
        let worker = &mut step.finished.as_mut().unwrap().streams[0].workers[0];
        (worker.tally.arrivals, worker.tally.backlog_max, worker.waiting) = (2 * due, waiting, waiting);
        findings(&brief).into_iter().map(|one| one.id).find(|id| id.starts_with("pacing."))
    };
    assert_eq!(of(1000, 10_000, 17_997).as_deref(), Some("pacing.overloaded"));
    assert_eq!(of(1000, 1_500, 999).as_deref(), Some("pacing.overloaded"));
    // What one burst may leave, and eight of eleven that came by chance in one moment.
    assert_eq!(of(1000, 1_200, 399).as_deref(), Some("pacing.behind"));
    assert_eq!(of(4, 8, 8).as_deref(), Some("pacing.behind"));
}

#[test]
fn late_intervals() {
    let rates = vec![(OperationKind::Read, 1100)];
    let mut record = record(&[StreamShape { seconds: 200, rates, ..base() }]);
    record.steps[0].intervals[7].late = true;
    check(&record, &[("intervals.late", Severity::Info)]);
    record.steps[0].intervals[8].late = true;
    record.steps[0].intervals[9].late = true;
    check(&record, &[("intervals.late", Severity::Warn)]);
}

/// What the disk below a loop device has read is what tells whether the page cache of its file answered.
#[test]
fn reads_of_a_loop_device_that_reach_no_disk() {
    let below = fathom_schema::DeviceNumber { major: 8, minor: 3 };
    let of_loop = |share: u64, mode: IoMode| {
        let mut record = record(&[StreamShape { mode, ..base() }]);
        let device = record.started.facts.targets[0].device.as_mut().expect("there is one");
        device.below = Some(below);
        let step = &mut record.steps[0];
        let before = DeviceCounters { number: below, ..step.started.devices[0].clone() };
        let finished = step.finished.as_mut().expect("it has ended");
        let read = finished.devices[0].read_sectors - step.started.devices[0].read_sectors;
        let sectors = before.read_sectors + read * share / 100;
        finished.devices.push(DeviceCounters { read_sectors: sectors, ..before.clone() });
        step.started.devices.push(before);
        record
    };
    check(&of_loop(9, IoMode::Direct), &[("cache.loop-read", Severity::Invalid)]);
    check(&of_loop(11, IoMode::Direct), &[]);
    check(&of_loop(300, IoMode::Direct), &[]);
    let facts = of_loop(9, IoMode::Direct).started.facts;
    assert!(
        facts.is_only_below(below) && !facts.is_only_below(facts.targets[0].device.as_ref().unwrap().number)
    );
}

#[test]
fn device_counters() {
    let large =
        || StreamShape { rates: vec![(OperationKind::Read, 500), (OperationKind::Write, 500)], ..base() };
    let spoil = |change: fn(&mut DeviceCounters)| {
        let mut record = record(&[large()]);
        change(counters(&mut record));
        record
    };
    let buffered = |change: fn(&mut DeviceCounters)| {
        let mut record = record(&[StreamShape { mode: IoMode::Buffered, ..large() }]);
        on_file(&mut record, Bytes::gib(32));
        change(counters(&mut record));
        record
    };
    check(&spoil(|_| ()), &[]);
    let cached: fn(&mut DeviceCounters) = |device| device.read_sectors /= 2;
    check(&spoil(cached), &[("cache.direct-not-honoured", Severity::Invalid)]);
    check(&buffered(cached), &[("cache.page-cache-read", Severity::Warn)]);
    // A tenth of it is on the device; or less: then it is memory that was measured.
    let of_counted = |share: u64| {
        let mut record = buffered(|_| ());
        let counted = counters(&mut record.clone()).read_sectors;
        counters(&mut record).read_sectors = counted * share / 100;
        record
    };
    check(&of_counted(11), &[("cache.page-cache-read", Severity::Warn)]);
    check(&of_counted(9), &[("cache.page-cache-read", Severity::Invalid)]);
    let mut trimmed = spoil(cached);
    on_file(&mut trimmed, Bytes::gib(32));
    check(&trimmed, &[("cache.direct-not-honoured", Severity::Invalid)]);
    let mut sparse = trimmed.clone();
    trimmed.steps[0].started.step.streams[0].workload.trim_then_write = true;
    check(&trimmed, &[("target.holes-read", Severity::Invalid)]);
    let fact = &mut sparse.started.facts.targets[0];
    fact.file = Some(FileFact {
        size: Bytes::gib(32),
        written: Bytes::gib(16),
        made_by_fathom: true,
        unfinished: false,
        void_mark: None,
        writable: true,
        readable: true,
        in_use: Vec::new(),
    });
    // What is laid out with data has no holes any more.
    check(&sparse, &[("cache.direct-not-honoured", Severity::Invalid)]);
    let target = &mut sparse.steps[0].started.step.targets[0];
    if let TargetKind::File { layout, .. } = &mut target.kind {
        *layout = LayoutRule::MustExist;
    }
    check(&sparse, &[("target.holes-read", Severity::Invalid)]);
    check(&buffered(|device| device.write_sectors /= 2), &[("cache.written-to-memory", Severity::Warn)]);
    check(&spoil(|device| device.write_sectors *= 2), &[("device.amplified", Severity::Warn)]);
    check(&spoil(|device| device.reads *= 2), &[("device.split", Severity::Warn)]);
    check(&spoil(|device| device.writes /= 2), &[("device.merged", Severity::Info)]);
    // A counter that went backwards belongs to another device of that name; nothing is concluded from it.
    check(&spoil(|device| device.reads = 0), &[]);
    // Little volume: a few foreign requests would decide.
    let mut small = record(&[StreamShape { rates: vec![(OperationKind::Read, 100)], ..base() }]);
    counters(&mut small).read_sectors = 80;
    check(&small, &[]);
}

#[test]
fn files_that_fit_memory() {
    let shape = StreamShape { mode: IoMode::Buffered, ..base() };
    let mut small = record(std::slice::from_ref(&shape));
    on_file(&mut small, Bytes::gib(1));
    check(&small, &[("cache.fits-memory", Severity::Warn)]);
    let mut large = record(&[shape]);
    on_file(&mut large, Bytes::gib(32));
    check(&large, &[]);
}

#[test]
fn shared_regions() {
    let sequential = StreamShape { random: false, workers: 2, ..base() };
    check(&record(std::slice::from_ref(&sequential)), &[]);
    let mut shared = record(&[sequential]);
    shared.steps[0].started.step.streams[0].workers[1].extents[0].start = Bytes::gib(3);
    check(&shared, &[("region.shared", Severity::Warn)]);
    let one = |name| StreamShape { name, random: false, ..base() };
    let both = record(&[one("a"), one("b")]);
    check(&both, &[("region.shared", Severity::Warn)]);
    assert!(findings(&both)[0].evidence.contains("\"a\" and \"b\""), "{:?}", findings(&both));
    check(&record(&[one("a"), base()]), &[]);
    // Random ones meet where the region is no larger than a cache may be.
    let mut small = record(&[base(), StreamShape { name: "b", ..base() }]);
    for stream in &mut small.steps[0].started.step.streams {
        stream
            .workers
            .iter_mut()
            .flat_map(|worker| &mut worker.extents)
            .for_each(|one| one.length = Bytes::mib(64));
    }
    check(&small, &[("region.shared", Severity::Info), ("device.small-part", Severity::Info)]);
}

#[test]
fn errors() {
    let mut some = record(&[base()]);
    let tally = &mut some.steps[0].finished.as_mut().unwrap().streams[0].workers[0].tally;
    tally.kinds[0].errors = vec![(5, 3), (61, 1)];
    check(&some, &[("errors.io", Severity::Warn)]);
    assert!(findings(&some)[0].evidence.contains("4 of 10004 read operations failed: EIO × 3, ENODATA × 1"));
    some.finished.as_mut().unwrap().outcome = Outcome::IoErrors;
    check(&some, &[("errors.io", Severity::Warn)]);
    let tally = &mut some.steps[0].finished.as_mut().unwrap().streams[0].workers[0].tally;
    tally.kinds[0].errors = vec![(5, 3 * tally.kinds[0].operations)];
    check(&some, &[("errors.io", Severity::Invalid)]);
    // Of a stream all that failed is told, and of which kind.
    let rates = vec![(OperationKind::Read, 1000), (OperationKind::Write, 100)];
    let mut both = record(&[StreamShape { rates, ..base() }]);
    let tally = &mut both.steps[0].finished.as_mut().unwrap().streams[0].workers[0].tally;
    (tally.kinds[0].errors, tally.kinds[1].errors) = (vec![(5, 40)], vec![(28, 2)]);
    let told = findings(&both).into_iter().find(|one| one.id == "errors.io").expect("they failed").evidence;
    assert!(
        told.contains("42 of 11042 operations failed: 40 of 10040 read operations (EIO × 40), 2 of 1002"),
        "{told}"
    );

    let mut short = record(&[base()]);
    short.steps[0].finished.as_mut().unwrap().streams[0].workers[0].tally.kinds[0].short = 1;
    check(&short, &[("transfers.short", Severity::Warn)]);
}

#[test]
fn endings() {
    let mut killed = record(&[base()]);
    killed.finished = None;
    killed.steps[0].finished = None;
    killed.steps[0].intervals.truncate(7);
    check(&killed, &[("run.unfinished", Severity::Warn)]);
    assert!(findings(&killed)[0].evidence.contains("second 7"));
    let mut of_two = record(&[base(), StreamShape { name: "other", ..base() }]);
    (of_two.finished, of_two.steps[0].finished) = (None, None);
    of_two.steps[0].intervals.retain(|interval| interval.sequence < 7 - u64::from(interval.stream));
    let evidence = findings(&of_two)[0].evidence.clone();
    assert!(evidence.contains("figures end with second 6 of step 1; left out is"), "{evidence}");
    assert!(evidence.contains("from second 6 to 7 of \"stream\", since"), "{evidence}");
    for (outcome, expect) in [
        (Outcome::Interrupted { signal: 2 }, ("run.interrupted", Severity::Warn)),
        (Outcome::Interrupted { signal: 0 }, ("run.interrupted", Severity::Warn)),
        (Outcome::Failed { reason: "gone".to_owned() }, ("run.failed", Severity::Invalid)),
    ] {
        let mut ended = record(&[base()]);
        ended.finished.as_mut().unwrap().outcome = outcome;
        check(&ended, &[expect]);
    }
    let mut before_any_step = record(&[base()]);
    before_any_step.steps.clear();
    before_any_step.finished = None;
    check(&before_any_step, &[("run.unfinished", Severity::Warn)]);
}

/// Of a test of the PTS: what was cut off or empty is in no figure, unless it was what ended it.
#[test]
fn loads_of_a_test() {
    use fathom_schema::{DeviceClass, Question, SteadyQuestion, SteadyTest, Stop, TrimBy};
    let question = SteadyQuestion {
        test: SteadyTest::Xsr,
        class: DeviceClass::Enterprise,
        haste: 6000,
        targets: Vec::new(),
        size: None,
        engine: None,
        direct: None,
        purge: false,
        purge_by: TrimBy::Discard,
        purged_before: None,
        block_min: 512,
        has_histogram: true,
        has_operating_points: true,
        active_percent: 100,
        part: None,
        resumed: None,
    };
    let with = |empty: &[bool]| {
        let mut all = record(&[base()]);
        for index in 1..empty.len() {
            crate::sample::push(&mut all, &[base()], u32::try_from(index).expect("few"));
        }
        all.started.question = Some(Question::Steady(question.clone()));
        all.finished.as_mut().expect("it has ended").wall_ms += 10_000 * empty.len() as u64;
        for (step, is_empty) in all.steps.iter_mut().zip(empty) {
            step.started.wall_ms += 10_000 * u64::from(step.started.index);
            step.started.step.parameters = crate::pts::Place::default().parameters("");
            if *is_empty {
                step.intervals.clear();
                let finished = step.finished.as_mut().expect("it has ended");
                finished.streams[0].workers.iter_mut().for_each(|worker| worker.tally.kinds.clear());
            }
        }
        all
    };
    check(&with(&[false]), &[]);
    check(&with(&[true, false]), &[("pts.load-repeated", Severity::Info)]);
    check(&with(&[true, true, true]), &[("operations.none", Severity::Invalid)]);
    // What is purged first is over when it is, however soon; a load of a test is to last.
    let mut short = record(&[StreamShape { seconds: 1, ..base() }]);
    short.steps[0].started.step.parameters = crate::pts::Place::default().parameters("");
    for purge in [true, false] {
        short.started.question = Some(Question::Steady(SteadyQuestion { purge, ..question.clone() }));
        let is_told = findings(&short).iter().any(|one| one.id == "duration.short");
        assert_eq!(is_told, !purge);
    }
    let mut cut = with(&[false, true]);
    cut.steps[1].finished.as_mut().expect("it has ended").stop = Stop::Interrupted;
    cut.finished.as_mut().expect("it has ended").outcome = Outcome::Interrupted { signal: 2 };
    check(&cut, &[("run.interrupted", Severity::Warn)]);
    assert!(findings(&cut)[0].remedy.contains("fathom steady --resume"));
    // What befell it is told all the same.
    let mut failed = with(&[false, false]);
    failed.finished.as_mut().expect("it has ended").outcome = Outcome::Interrupted { signal: 2 };
    let finished = failed.steps[1].finished.as_mut().expect("it has ended");
    finished.stop = Stop::Interrupted;
    finished.streams[0].workers[0].tally.kinds[0].errors = vec![(5, 3)];
    check(&failed, &[("run.interrupted", Severity::Warn), ("errors.io", Severity::Warn)]);
}

#[test]
fn environment() {
    let fact = |source: &str, value: &str| EnvironmentFact {
        subject: "cpu".to_owned(),
        name: "x".to_owned(),
        value: Some(value.to_owned()),
        source: source.to_owned(),
    };
    let check_fact = |source: &str, value: &str, expect: &[(&str, Severity)]| {
        let mut record = record(&[base()]);
        record.started.facts.environment = vec![fact(source, value)];
        check(&record, expect);
    };
    let governor = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    check_fact(governor, "powersave", &[("environment.governor", Severity::Info)]);
    check_fact(governor, "performance\n", &[]);
    check_fact("/sys/block/md0/md/sync_action", "resync", &[("environment.rebuild", Severity::Warn)]);
    check_fact("/sys/block/md0/md/sync_action", "idle", &[]);
    check_fact("/sys/block/md0/md/degraded", "1", &[("environment.degraded", Severity::Warn)]);
    let clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    check_fact(clock, "hpet", &[("clock.source", Severity::Info)]);
    check_fact(clock, "tsc", &[]);

    let mut changed = record(&[base()]);
    changed.started.facts.environment = vec![fact("/x", "on")];
    changed.steps[0].finished.as_mut().unwrap().environment_changes = vec![fact("/x", "off")];
    check(&changed, &[("environment.changed", Severity::Warn)]);
    assert!(findings(&changed)[0].evidence.contains("cpu x: on → off"));
}

#[test]
fn clocks() {
    let mut set_back = record(&[base()]);
    set_back.finished.as_mut().unwrap().wall_ms -= 5_000;
    check(&set_back, &[("clock.disagrees", Severity::Warn)]);
    let mut prepared_long = record(&[base()]);
    prepared_long.finished.as_mut().unwrap().wall_ms += 500_000;
    check(&prepared_long, &[]);
}

#[test]
fn many_streams_tell_one_thing_once() {
    let shapes: Vec<StreamShape> = (0..10).map(|_| StreamShape { seconds: 2, ..base() }).collect();
    let found = findings(&record(&shapes));
    assert_eq!(found.len(), 1);
    assert!(found[0].evidence.ends_with("; and 9 more like this"), "{}", found[0].evidence);
}

#[test]
fn a_finding_of_many_steps_is_one_sentence() {
    let mut made = record(&[base()]);
    made.steps.clear();
    for index in 0..280 {
        push(&mut made, &[StreamShape { seconds: 2, ..base() }], index);
    }
    let found = findings(&made);
    let short = found.iter().find(|one| one.id == "duration.short").expect("two seconds are short");
    assert!(short.evidence.starts_with("step \"main\": "), "{}", short.evidence);
    let others = "; also in step \"main (1)\", step \"main (2)\", step \"main (3)\" and 276 more";
    assert!(short.evidence.ends_with(others), "{}", short.evidence);
}

/// What is told is the gravest, wherever it is, and nothing claims that the others are like it.
#[test]
fn a_finding_of_several_steps_tells_the_gravest() {
    let zeroes = |zero: &[u64]| {
        let mut made = record(&[base()]);
        made.steps.clear();
        for (index, zero) in (0..).zip(zero) {
            push(&mut made, &[base()], index);
            let finished = made.steps[index as usize].finished.as_mut().expect("it has ended");
            let of = |path: &str, zero: u64| ZeroBlocks {
                path: path.into(),
                block_bytes: 4096,
                blocks: 100,
                sampled: 100,
                zero,
            };
            // A second target in every step: its step is told once.
            finished.zero_blocks = vec![of("/dev/a", *zero), of("/dev/b", 3)];
        }
        let found = findings(&made);
        found.into_iter().find(|one| one.id == "target.zero-blocks").expect("zeroes were read").evidence
    };
    let told = zeroes(&[2, 5, 98, 5]);
    assert!(
        told.starts_with("step \"main (2)\": 98 % of the 100 blocks of 4 KiB of what was read"),
        "{told}"
    );
    assert!(told.ends_with("zero; also in step \"main (1)\", step \"main (3)\", step \"main\""), "{told}");
    // Of equals the first.
    assert!(zeroes(&[7, 7]).starts_with("step \"main\": 7 %"));
    // What is INVALID in one place is told before what is doubtful in another, however little of it there is.
    let mut failed = record(&[base(), base()]);
    let workers = &mut failed.steps[0].finished.as_mut().expect("it has ended").streams;
    workers[0].workers[0].tally.kinds[0].errors = vec![(5, 1)];
    workers[1].workers[0].tally.kinds[0].errors = vec![(5, 90_000_000)];
    let errors = findings(&failed).into_iter().find(|one| one.id == "errors.io").expect("some failed");
    assert_eq!(errors.severity, Severity::Invalid);
    assert!(errors.evidence.contains("90000000 of "), "{}", errors.evidence);
}
