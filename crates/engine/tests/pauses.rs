//! Pauses in a load on the simulated device, in virtual time: what comes due in them.

mod support;

use fathom_schema::*;
use fathom_units::Nanos;
use support::{device, run, step, stream};

const MS: u64 = 1_000_000;

fn close(found: f64, expect: f64, relative: f64) {
    assert!((found / expect - 1.0).abs() <= relative, "{found} is not {expect} ± {}%", relative * 100.0);
}

fn open(rate: f64, arrival: Arrival) -> Pacing {
    Pacing::Open { rate, arrival, course: Vec::new(), backlog: Backlog::Keep }
}

fn seconds(stream: &mut Stream, seconds: u64) {
    stream.limits.time = TimeLimit::Nanoseconds(seconds * 1_000_000_000);
}

#[test]
fn pauses_beside_a_rate_are_caught_up_unless_they_put_it_off() {
    // 100 come due each second; after every 50 completions the worker pauses for 200 ms.
    let think = |by_issue| Think::Every {
        operations: 50,
        pause_ns: 200 * MS,
        by_issue,
        after_ns: u64::MAX,
        spin_ns: 0,
    };
    // Put off, 50 take 49 gaps and a pause: the operation that would have come in it comes as it ends.
    let put_off = 50.0 / (49.0 * 0.01 + 0.2);
    for (puts_off, by_issue, rate, slowest_ms) in [
        (false, false, 100.0, 200),
        (false, true, 100.0, 200),
        (true, false, put_off, 5),
        (true, true, put_off, 5),
    ] {
        let mut stream = stream(EngineKind::Sim, 4);
        stream.pacing = open(100.0, Arrival::Constant);
        stream.pauses = Pauses { think: think(by_issue), puts_off, lead: Nanos::millis(10) };
        seconds(&mut stream, 100);
        let outcome = run(step(TargetKind::Sim(device(SimService::Constant { ns: MS }, 4)), stream));
        let reads = outcome.reads();
        close(reads.operations as f64, rate * 100.0, 0.01);
        let response = reads.response.expect("an open loop has response times");
        close(response.moments.max_ns as f64 / MS as f64, f64::from(slowest_ms), 0.9);
        let tally = &outcome.executed.streams[0].workers[0].tally;
        assert_eq!(tally.arrivals_late > 0, !puts_off, "{tally:?}");
    }
    // Time of load instead: 100 ms of it, then as long a pause.
    let mut stream = stream(EngineKind::Sim, 1);
    stream.pacing = open(100.0, Arrival::Constant);
    let think = Think::Every {
        operations: u64::MAX,
        pause_ns: 100 * MS,
        by_issue: false,
        after_ns: 100 * MS,
        spin_ns: 0,
    };
    stream.pauses = Pauses { think, puts_off: true, lead: Nanos::millis(10) };
    seconds(&mut stream, 100);
    let outcome = run(step(TargetKind::Sim(device(SimService::Constant { ns: MS }, 4)), stream));
    close(outcome.reads().operations as f64, 5000.0, 0.15);
}

/// A pause after each operation, as long as two come due in: what operations take themselves is put off too.
#[test]
fn what_operations_take_before_pauses_adds_up_to_no_backlog() {
    for service_ms in [1, 5, 9] {
        let mut stream = stream(EngineKind::Sim, 1);
        stream.pacing = open(100.0, Arrival::Constant);
        let think = Think::Every {
            operations: 1,
            pause_ns: 20 * MS,
            by_issue: false,
            after_ns: u64::MAX,
            spin_ns: 0,
        };
        stream.pauses = Pauses { think, puts_off: true, lead: Nanos::millis(10) };
        seconds(&mut stream, 100);
        let service = SimService::Constant { ns: service_ms * MS };
        let outcome = run(step(TargetKind::Sim(device(service, 1)), stream));
        let reads = outcome.reads();
        close(reads.operations as f64, 100_000.0 / (20.0 + service_ms as f64), 0.01);
        let response = reads.response.expect("an open loop has response times");
        close(response.moments.max_ns as f64 / MS as f64, service_ms as f64, 0.01);
        assert_eq!(outcome.executed.streams[0].workers[0].tally.arrivals_late, 0);
    }
}

/// In a pause no slot is free for what comes: no more wait than may.
#[test]
fn a_backlog_is_bounded_in_pauses_too() {
    for depth in [1, 64] {
        let mut stream = stream(EngineKind::Sim, depth);
        stream.pacing = Pacing::Open {
            rate: 2000.0,
            arrival: Arrival::Constant,
            course: Vec::new(),
            backlog: Backlog::DropBeyond(10),
        };
        stream.pauses.think = Think::Every {
            operations: 1,
            pause_ns: 200 * MS,
            spin_ns: 0,
            by_issue: false,
            after_ns: u64::MAX,
        };
        seconds(&mut stream, 10);
        let sim = device(SimService::Constant { ns: MS / 10 }, 1);
        let outcome = run(step(TargetKind::Sim(sim), stream));
        let worker = &outcome.executed.streams[0].workers[0];
        assert!(
            (1..=10).contains(&worker.tally.backlog_max),
            "{} at depth {depth}",
            worker.tally.backlog_max
        );
        let accounted = outcome.reads().operations + worker.tally.arrivals_dropped + worker.waiting;
        assert_eq!((worker.tally.arrivals, accounted), (20_000, 20_000), "depth {depth}");
    }
}

/// What completes while a queue empties for a pause counts towards the next one, as in fio 3.33: of 16 in flight the tenth completion
/// brings a pause, at which 25 are done; the next comes after one more, which makes up for what was too many. Of a device that
/// takes 1 ms for each, one after another, 25 and two pauses of 5 ms take 35 ms.
#[test]
fn what_completes_before_a_pause_counts_towards_the_next() {
    for (depth, every, together, pauses) in [(16, 10, 25.0, 2.0), (1, 10, 10.0, 1.0), (16, 100, 100.0, 1.0)] {
        let mut stream = stream(EngineKind::Sim, depth);
        stream.pacing = Pacing::Closed {
            think: Think::Every {
                operations: every,
                pause_ns: 5 * MS,
                by_issue: false,
                after_ns: u64::MAX,
                spin_ns: 0,
            },
        };
        seconds(&mut stream, 35);
        let outcome = run(step(TargetKind::Sim(device(SimService::Constant { ns: MS }, 1)), stream));
        close(outcome.reads().operations as f64, 35_000.0 * together / (together + 5.0 * pauses), 0.01);
    }
}

/// At a rate as well, where the backlog of each pause fills the queue at once: a device that is slower than the rate does as much as in
/// a closed loop, and of a fast one that has nothing in flight each pause lets through as many as it says, and no queue of them.
#[test]
fn what_completes_before_a_pause_of_a_rate_counts_as_well() {
    let done =
        |depth, every, (rate, pause_ms, time_s): (f64, u64, u64), (service_us, parallelism): (u64, u32)| {
            let mut stream = stream(EngineKind::Sim, depth);
            stream.pacing = open(rate, Arrival::Constant);
            stream.pauses.think = Think::Every {
                operations: every,
                pause_ns: pause_ms * MS,
                by_issue: false,
                after_ns: u64::MAX,
                spin_ns: 0,
            };
            seconds(&mut stream, time_s);
            let service = SimService::Constant { ns: service_us * 1000 };
            run(step(TargetKind::Sim(device(service, parallelism)), stream)).reads().operations as f64
        };
    for (depth, every, together, pauses) in [(16, 10, 25.0, 2.0), (1, 10, 10.0, 1.0), (16, 100, 100.0, 1.0)] {
        let expect = 35_000.0 * together / (together + 5.0 * pauses);
        close(done(depth, every, (10_000.0, 5, 35), (1000, 1)), expect, 0.02);
    }
    // A pause of 100 ms behind each operation: ten a second, at most.
    for depth in [1, 16, 64] {
        close(done(depth, 1, (5000.0, 100, 30), (100, 16)), 300.0, 0.02);
    }
}

/// A pause that the end cuts short is followed by nothing, whether an engine waits for each operation or not.
#[test]
fn nothing_follows_a_pause_that_the_end_cuts_short() {
    for (engine, target, depth) in [
        (EngineKind::Null, TargetKind::Null, 1),
        (EngineKind::Sim, TargetKind::Sim(device(SimService::Constant { ns: MS }, 4)), 1),
        (EngineKind::Sim, TargetKind::Sim(device(SimService::Constant { ns: MS }, 4)), 4),
    ] {
        let mut stream = stream(engine, depth);
        let pause_ns = 3_600_000 * MS;
        let think = Think::Every { operations: 4, pause_ns, spin_ns: 0, by_issue: false, after_ns: u64::MAX };
        stream.pacing = Pacing::Closed { think };
        stream.limits.time = TimeLimit::Nanoseconds(50 * MS);
        let outcome = run(step(target, stream));
        assert_eq!(outcome.reads().operations, 4, "{engine:?} at depth {depth}");
    }
}

/// In a flow operations are granted one by one, and pauses come as without it, whether an engine waits for each or not.
#[test]
fn a_stream_in_a_flow_thinks_as_well() {
    for (engine, target) in [
        (EngineKind::Null, TargetKind::Null),
        (EngineKind::Sim, TargetKind::Sim(device(SimService::Constant { ns: MS }, 4))),
    ] {
        let mut stream = stream(engine, 1);
        let pause_ns = 3_600_000 * MS;
        let think = Think::Every { operations: 3, pause_ns, spin_ns: 0, by_issue: false, after_ns: u64::MAX };
        stream.pacing = Pacing::Closed { think };
        stream.flow = Some(Flow { id: 1, weight: 1, pause: Nanos::ZERO });
        stream.limits.time = TimeLimit::Nanoseconds(50 * MS);
        let outcome = run(step(target, stream));
        assert_eq!(outcome.reads().operations, 3, "{engine:?}");
    }
}
