//! Job control in virtual time: who waits for whom.

mod support;

use fathom_schema::*;
use fathom_units::Nanos;
use support::{Outcome, device, run, step, stream};

const MS: u64 = 1_000_000;

/// A stream of so many operations of 1 ms each, one after another.
fn counting(operations: u64) -> Stream {
    let mut counting = stream(EngineKind::Sim, 1);
    counting.limits = StreamLimits {
        time: TimeLimit::Unbounded,
        bytes: Quota::Unlimited,
        operations: Quota::AtMost(operations),
        ..counting.limits
    };
    counting
}

fn run_all(streams: Vec<Stream>) -> Outcome {
    let sim = device(SimService::Constant { ns: MS }, 1);
    let mut step = step(TargetKind::Sim(sim), counting(1));
    step.streams = streams;
    run(step)
}

/// Start and end of each stream's first worker, in milliseconds.
fn windows(outcome: &Outcome) -> Vec<(u64, u64)> {
    let window = |stream: &StreamTotals| (stream.workers[0].start.0 / MS, stream.workers[0].end.0 / MS);
    outcome.executed.streams.iter().map(window).collect()
}

#[test]
fn a_stream_starts_when_those_it_waits_for_have_ended() {
    let mut two_workers = counting(30);
    two_workers.workers.push(two_workers.workers[0].clone());
    two_workers.start_delay = Nanos::millis(5);
    let mut last = counting(10);
    last.control.after = vec![1, 2];
    let mut waits = counting(20);
    waits.control.after = vec![0];
    // The one that waits stands first: places in the step say nothing about order.
    let outcome = run_all(vec![two_workers, waits, counting(40), last]);
    assert_eq!(windows(&outcome), [(5, 35), (35, 55), (0, 40), (55, 65)]);
    assert_eq!(outcome.executed.stop, Stop::Complete);
}

#[test]
fn a_start_delay_counts_from_the_steps_start() {
    let (mut sooner, mut later) = (counting(1), counting(1));
    (sooner.start_delay, sooner.control.after) = (Nanos::millis(10), vec![0]);
    (later.start_delay, later.control.after) = (Nanos::millis(60), vec![0]);
    assert_eq!(windows(&run_all(vec![counting(50), sooner, later])), [(0, 50), (50, 51), (60, 61)]);
}

#[test]
fn a_stream_that_ends_with_others_ends_with_the_last_of_them() {
    let endless = || counting(u64::MAX);
    let mut accompanies = endless();
    accompanies.control.ends_with = vec![1, 2];
    let mut waits = counting(20);
    waits.control.after = vec![1];
    let outcome = run_all(vec![accompanies, counting(30), waits]);
    assert_eq!(windows(&outcome)[1..], [(0, 30), (30, 50)]);
    // How far the first came by then is up to its thread: clocks of workers are virtual, and each has its own.
    assert_eq!(outcome.executed.stop, Stop::Complete);
}

#[test]
fn what_was_never_reached_has_no_window() {
    let mut waits = counting(20);
    waits.control.after = vec![0];
    let mut faulty = device(SimService::Constant { ns: MS }, 1);
    faulty.error_share = fathom_units::Ratio::ONE;
    let mut step = step(TargetKind::Sim(faulty), counting(1));
    step.streams.push(waits);
    let outcome = run(step);
    assert_eq!(outcome.executed.stop, Stop::IoErrors);
    let waited = &outcome.executed.streams[1].workers[0];
    assert_eq!(waited.end, waited.start);
    assert!(waited.tally.kinds.is_empty(), "{waited:?}");
    assert!(outcome.intervals.iter().all(|interval| interval.stream == 0));
}

/// Streams of 30, 50 and 70 operations in the groups 1, 2 and 1.
fn three() -> Vec<Stream> {
    let in_group = |operations, group| Stream { report_group: group, ..counting(operations) };
    vec![in_group(30, 1), in_group(50, 2), in_group(70, 1)]
}

#[test]
fn an_end_reaches_as_far_as_it_is_told() {
    for (reach, expect, ends_run) in [
        (Reach::Nothing, [30, 50, 70], false),
        (Reach::Group, [30, 50, 0], false),
        (Reach::Stage, [30, 0, 0], false),
        (Reach::Run, [30, 0, 0], true),
    ] {
        // In virtual time a worker is as fast as its thread; those that wait are seen to be ended exactly.
        let mut streams = three();
        streams[0].control.at_end = reach;
        for waits in &mut streams[1..] {
            waits.control.after = vec![0];
        }
        let outcome = run_all(streams);
        let operations =
            |stream: &StreamTotals| stream.workers[0].tally.kinds.first().map_or(0, |kind| kind.operations);
        let done: Vec<u64> = outcome.executed.streams.iter().map(operations).collect();
        assert_eq!((done.as_slice(), outcome.executed.ends_run), (expect.as_slice(), ends_run), "{reach:?}");
        assert_eq!(outcome.executed.stop, Stop::Complete);
    }
}

#[test]
fn an_error_ends_its_worker_and_what_it_reaches() {
    let faulty = || {
        let mut faulty = device(SimService::Constant { ns: MS }, 1);
        faulty.error_share = fathom_units::Ratio::ONE;
        faulty
    };
    for depth in [1, 4] {
        for (reach, waits, ends_run) in
            [(Reach::Nothing, 10, false), (Reach::Stage, 0, false), (Reach::Run, 0, true)]
        {
            let mut fails = stream(EngineKind::Sim, depth);
            fails.control.at_error = reach;
            let mut other = counting(10);
            other.control.after = vec![0];
            other.control.tolerates = Tolerance::Listed { reads: vec![5], writes: Vec::new() };
            let mut step = step(TargetKind::Sim(faulty()), fails);
            step.streams.push(other);
            let outcome = run(step);
            let errors = |stream: usize| -> u64 {
                let kinds = &outcome.executed.streams[stream].workers[0].tally.kinds;
                kinds.iter().flat_map(|kind| &kind.errors).map(|(_, count)| count).sum()
            };
            assert_eq!(
                (errors(0) <= u64::from(depth), errors(1)),
                (true, waits),
                "{reach:?} at depth {depth}"
            );
            assert_eq!(
                (outcome.executed.stop, outcome.executed.ends_run),
                (Stop::IoErrors, ends_run),
                "{reach:?}"
            );
        }
    }
}

#[test]
fn only_listed_errors_of_the_kind_are_tolerated() {
    let mut faulty = device(SimService::Constant { ns: MS }, 1);
    faulty.error_share = fathom_units::Ratio::ONE;
    for (reads, writes, stop) in [(vec![28, 5], vec![], Stop::Complete), (vec![28], vec![5], Stop::IoErrors)]
    {
        let mut tolerant = counting(50);
        tolerant.control.tolerates = Tolerance::Listed { reads, writes };
        assert_eq!(run(step(TargetKind::Sim(faulty.clone()), tolerant)).executed.stop, stop);
    }
}

/// Asks for another step: at once, or when a worker has failed.
struct Changing {
    after_failure: bool,
}

impl fathom_engine::Observer for Changing {
    fn engine(&mut self, _: usize, _: &str) {}
    fn started(&mut self) {}
    fn interval(&mut self, _: Interval) {}
    fn settled(&mut self) {}
    fn is_changed(&mut self, has_failed: bool) -> bool {
        has_failed || !self.after_failure
    }
}

#[test]
fn a_change_ends_the_step_and_not_the_run() {
    let mut faulty = device(SimService::Constant { ns: MS }, 1);
    faulty.error_share = fathom_units::Ratio::ONE;
    let mut endless = stream(EngineKind::Null, 1);
    endless.limits.time = TimeLimit::Unbounded;
    let changed = step(TargetKind::Null, endless.clone());
    let mut alone = counting(1);
    alone.control.at_error = Reach::Nothing;
    let mut failed = step(TargetKind::Sim(faulty), alone);
    failed.streams.push(endless);
    for (step, after_failure, stop) in [(changed, false, Stop::Changed), (failed, true, Stop::IoErrors)] {
        let claims = std::sync::Arc::new(fathom_engine::prepare::Claims::default());
        let flag = std::sync::atomic::AtomicBool::new(false);
        let ready = fathom_engine::prepare::prepare(step, 0, &claims, &mut |_| {}, &flag);
        let ready = ready.expect("the step can be prepared");
        let (clock, share) = (fathom_engine::RealClock::new(true), fathom_engine::Share::WHOLE);
        let mut observer = Changing { after_failure };
        let executed = fathom_engine::execute(
            &ready,
            &mut fathom_engine::Crew::default(),
            &clock,
            share,
            &flag,
            &mut observer,
        );
        let executed = executed.expect("the step can start");
        assert_eq!((executed.stop, executed.ends_run), (stop, false));
    }
}
