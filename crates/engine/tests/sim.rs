//! Whole steps on the simulated device, in virtual time, against closed forms.

mod support;

use fathom_engine::prepare::{Claims, prepare};
use fathom_engine::{Crew, Observer, Share, execute};
use fathom_io::clock::RealClock;
use fathom_schema::*;
use fathom_units::{Bytes, Nanos, Ratio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use support::{device, run, step, stream};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

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
fn a_closed_loop_holds_its_depth_and_obeys_littles_law() {
    // 4 servers of 1 ms at depth 8: 4,000 per second, half of the time spent queueing, so 2 ms each.
    let sim = device(SimService::Constant { ns: MS }, 4);
    let outcome = run(step(TargetKind::Sim(sim), stream(EngineKind::Sim, 8)));
    let reads = outcome.reads();
    close(reads.operations as f64 / outcome.seconds(), 4000.0, 0.005);
    close(reads.service.moments.mean_ns(), 2.0 * MS as f64, 0.005);
    let held = outcome.executed.streams[0].workers[0].tally.in_flight_ns / (outcome.seconds() * 1e9);
    close(held, 8.0, 0.005);
    assert_eq!(outcome.executed.stop, Stop::Complete);
}

#[test]
fn a_kind_keeps_its_rate_while_the_others_come_as_fast_as_they_can() {
    // 4 servers of 1 ms for each worker: 4,000 per second at depth 4 and above, of which 2,000 each would be drawn.
    let sim = device(SimService::Constant { ns: MS }, 4);
    for (engine, depth, workers, all) in
        [(EngineKind::Sim, 8, 1, 40_000), (EngineKind::Sim, 4, 2, 80_000), (EngineKind::Sim, 1, 3, 30_000)]
    {
        for (unit, per_second) in [(RateUnit::Operations, 250.0), (RateUnit::Bytes, 250.0 * 4096.0)] {
            let mut stream = stream(engine, depth);
            let case = stream.workload.cases[0];
            stream.workload.cases = [OperationKind::Read, OperationKind::Write]
                .map(|kind| Case { weight: 0.5, kind, ..case })
                .to_vec();
            stream.workers = vec![stream.workers[0].clone(); workers];
            for (worker, seed) in stream.workers.iter_mut().zip(1..) {
                worker.seed = seed;
            }
            let (kind, arrival) = (OperationKind::Write, Arrival::Constant);
            stream.kind_rates = vec![KindRate { kind, unit, per_second, arrival }];
            seconds(&mut stream, 10);
            let outcome = run(step(TargetKind::Sim(sim.clone()), stream));
            let writes = outcome.kind(OperationKind::Write).expect("there were writes").operations;
            let reads = outcome.reads().operations;
            assert!(writes.abs_diff(2500) <= 2, "{depth} {workers} {unit:?}: {writes} writes");
            assert!((reads + writes).abs_diff(all) <= 400, "{depth} {workers} {unit:?}: {reads} reads");
        }
    }
}

#[test]
fn a_kind_that_was_held_up_makes_up_for_a_second_at_most() {
    // 100 writes a second, among reads; nothing at all is done from the 2nd second to the 7th.
    let sim =
        SimDevice { stalls: vec![(2 * SECOND, 5 * SECOND)], ..device(SimService::Constant { ns: MS }, 4) };
    let mut stream = stream(EngineKind::Sim, 4);
    let case = stream.workload.cases[0];
    stream.workload.cases =
        [OperationKind::Read, OperationKind::Write].map(|kind| Case { weight: 0.5, kind, ..case }).to_vec();
    let (kind, unit, arrival) = (OperationKind::Write, RateUnit::Operations, Arrival::Constant);
    stream.kind_rates = vec![KindRate { kind, unit, per_second: 100.0, arrival }];
    seconds(&mut stream, 10);
    let outcome = run(step(TargetKind::Sim(sim), stream));
    let writes = outcome.kind(OperationKind::Write).expect("there were writes").operations;
    // Five seconds without a stall, and one to make up for.
    assert!((598..=604).contains(&writes), "{writes}");
}

#[test]
fn intervals_lie_on_edges_and_add_up_to_the_totals() {
    let sim = device(SimService::Exponential { mean_ns: MS }, 2);
    let mut stream = stream(EngineKind::Sim, 4);
    stream.ramp = Nanos::millis(1500);
    seconds(&mut stream, 3);
    let outcome = run(step(TargetKind::Sim(sim), stream));
    let edges: Vec<(Phase, u64, u64)> =
        outcome.intervals.iter().map(|i| (i.phase, i.start.0 / MS, i.end.0 / MS)).collect();
    assert_eq!(
        edges,
        [
            (Phase::Ramp, 0, 1000),
            (Phase::Ramp, 1000, 1500),
            (Phase::Measure, 1500, 2000),
            (Phase::Measure, 2000, 3000),
            (Phase::Measure, 3000, 4000),
            (Phase::Measure, 4000, 4500),
        ]
    );
    let measured: u64 = outcome
        .intervals
        .iter()
        .filter(|interval| interval.phase == Phase::Measure)
        .flat_map(|interval| &interval.tally.kinds)
        .map(|kind| kind.operations)
        .sum();
    assert_eq!(measured, outcome.reads().operations);
    assert!(outcome.intervals.iter().all(|interval| !interval.late));
}

/// Raises the flag when stream 0 has come so far.
struct StopsAt<'a> {
    instant: Nanos,
    stop: &'a AtomicBool,
    ends: Vec<(u32, Nanos)>,
}

impl Observer for StopsAt<'_> {
    fn engine(&mut self, _: usize, _: &str) {}
    fn started(&mut self) {}
    fn interval(&mut self, interval: Interval) {
        self.ends.push((interval.stream, interval.end));
        if interval.stream == 0 && interval.end >= self.instant {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
    fn settled(&mut self) {}
}

#[test]
fn streams_in_virtual_time_are_at_the_same_time_and_end_at_the_same() {
    // The first costs a tenth of what the second costs to compute, the third has two workers; none ends by itself.
    let mut streams = [MS, 100_000, 500_000].map(|ns| (stream(EngineKind::Sim, 1), ns)).to_vec();
    streams[2].0.workers = vec![streams[2].0.workers[0].clone(); 2];
    let mut step = step(TargetKind::Null, stream(EngineKind::Sim, 1));
    let target = |(at, (_, ns)): (usize, &(Stream, u64))| Target {
        name: at.to_string(),
        kind: TargetKind::Sim(device(SimService::Constant { ns: *ns }, 1)),
        size: Bytes::gib(1),
    };
    step.targets = streams.iter().enumerate().map(target).collect();
    for (at, (stream, _)) in (0..).zip(streams.iter_mut()) {
        stream.limits.time = TimeLimit::Unbounded;
        stream.workers.iter_mut().for_each(|worker| worker.extents[0].target = at);
    }
    step.streams = streams.iter().map(|(stream, _)| stream.clone()).collect();
    let stop = AtomicBool::new(false);
    let mut observer = StopsAt { instant: Nanos::secs(5), stop: &stop, ends: Vec::new() };
    let ready = prepare(step, 0, &Arc::new(Claims::default()), &mut |_| {}, &AtomicBool::new(false));
    let ready = ready.expect("the step can be prepared");
    let clock = RealClock::new(true);
    let executed = execute(&ready, &mut Crew::default(), &clock, Share::WHOLE, &stop, &mut observer);
    let executed = executed.expect("it can start");
    assert_eq!(executed.stop, Stop::Interrupted);
    let workers: Vec<(usize, &WorkerTotals)> = executed
        .streams
        .iter()
        .enumerate()
        .flat_map(|(at, s)| s.workers.iter().map(move |w| (at, w)))
        .collect();
    let end = workers[0].1.end;
    assert!(end >= Nanos::secs(5) && end.0 < 60 * SECOND, "{end:?}");
    for (stream, worker) in workers {
        // Each ends with the operation that was in flight at the edge.
        assert!(worker.end.0.abs_diff(end.0) <= MS, "{stream}: {:?} beside {end:?}", worker.end);
        let operations = worker.tally.kinds[0].operations;
        close(operations as f64 / worker.end.as_secs_f64(), 1e9 / streams[stream].1 as f64, 0.001);
    }
    // What is told meanwhile belongs together, too: whatever is told of one stream, the others are as far but for what
    // is on its way.
    let mut told = [Nanos::ZERO; 3];
    for (stream, end) in observer.ends {
        told[stream as usize] = end;
        let (least, most) = (told.iter().min().copied(), told.iter().max().copied());
        let apart = most.unwrap_or_default().since(least.unwrap_or_default());
        assert!(apart <= Nanos::secs(5), "{told:?}");
    }
}

#[test]
fn a_stop_is_seen_in_virtual_time_at_the_edge_that_ends_the_ramp() {
    let mut load = stream(EngineKind::Sim, 1);
    load.ramp = Nanos::secs(1);
    load.limits.time = TimeLimit::Unbounded;
    let mut ends_it = stream(EngineKind::Sim, 1);
    ends_it.limits.operations = Quota::AtMost(500);
    ends_it.control.at_end = Reach::Stage;
    let mut step = step(TargetKind::Sim(device(SimService::Constant { ns: MS }, 1)), load);
    step.streams.push(ends_it);
    let executed = run(step).executed;
    // Half a second after the start it is to end; it comes to know that at the first edge.
    let end = executed.streams[0].workers[0].end;
    assert!(end.0.abs_diff(SECOND) <= MS, "{end:?}");
    assert!(executed.held_up.is_empty(), "{:?}", executed.held_up);
}

#[test]
fn a_stream_that_starts_later_in_virtual_time_does_not_run_ahead_of_what_ends_it() {
    let mut late = stream(EngineKind::Sim, 1);
    late.start_delay = Nanos::secs(10);
    late.limits.time = TimeLimit::Unbounded;
    let mut ends_it = stream(EngineKind::Sim, 1);
    ends_it.limits.time = TimeLimit::Unbounded;
    ends_it.limits.operations = Quota::AtMost(5000);
    ends_it.control.at_end = Reach::Stage;
    let mut step = step(TargetKind::Sim(device(SimService::Constant { ns: MS }, 1)), late);
    step.streams.push(ends_it);
    let executed = run(step).executed;
    let operations = |stream: usize| -> u64 {
        executed.streams[stream]
            .workers
            .iter()
            .flat_map(|worker| &worker.tally.kinds)
            .map(|kind| kind.operations)
            .sum()
    };
    assert_eq!((operations(0), operations(1)), (0, 5000));
    assert!(executed.held_up.is_empty(), "{:?}", executed.held_up);
}

#[test]
fn quotas_end_the_step_exactly() {
    let sim = device(SimService::Constant { ns: MS }, 4);
    let mut by_count = stream(EngineKind::Sim, 32);
    by_count.limits =
        StreamLimits { time: TimeLimit::Unbounded, operations: Quota::AtMost(1001), ..by_count.limits };
    assert_eq!(run(step(TargetKind::Sim(sim.clone()), by_count.clone())).reads().operations, 1001);
    // 10 blocks and a half: the eleventh goes, since the quota is not yet reached after ten.
    by_count.limits.operations = Quota::Unlimited;
    by_count.limits.bytes = Quota::AtMost(10 * 4096);
    assert_eq!(run(step(TargetKind::Sim(sim), by_count)).reads().bytes, 10 * 4096);
}

#[test]
fn m_d_1_mean_response_is_pollaczek_khinchins() {
    // R = S + ρS / (2(1 − ρ)): ρ = 0.5 → 1.5 ms, ρ = 0.8 → 3 ms for S = 1 ms.
    for (rate, expect_ms) in [(500.0, 1.5), (800.0, 3.0)] {
        let sim = device(SimService::Constant { ns: MS }, 1);
        let mut stream = stream(EngineKind::Sim, 4096);
        stream.pacing = open(rate, Arrival::Poisson);
        seconds(&mut stream, 2000);
        let outcome = run(step(TargetKind::Sim(sim), stream));
        let response = outcome.reads().response.expect("an open loop has response times");
        close(response.moments.mean_ns() / 1e6, expect_ms, 0.02);
    }
}

#[test]
fn m_m_1_mean_and_tail_are_the_closed_form() {
    // R = S / (1 − ρ), every quantile q is −R ln(1 − q). Waiting times are correlated: the closer to saturation, the
    // longer it takes to see their mean within 2 %.
    for (rate, hours, expect_ms) in [(500.0, 1, 2.0), (800.0, 2, 5.0)] {
        let sim = device(SimService::Exponential { mean_ns: MS }, 1);
        let mut stream = stream(EngineKind::Sim, 4096);
        stream.pacing = open(rate, Arrival::Poisson);
        seconds(&mut stream, hours * 3600);
        let outcome = run(step(TargetKind::Sim(sim), stream));
        let response = outcome.reads().response.expect("an open loop has response times");
        close(response.moments.mean_ns() / 1e6, expect_ms, 0.02);
        let latency = fathom_metrics::Latency::from(&response);
        for q in [0.5, 0.9, 0.99, 0.999] {
            let found = latency.quantile(q).expect("there are values") as f64 / 1e6;
            close(found, -expect_ms * (1.0 - q).ln(), if q > 0.99 { 0.05 } else { 0.03 });
        }
        // L = λ·W: what was in flight was integrated apart from the service times, and is ρ ÷ (1 − ρ) in the device.
        let tally = &outcome.executed.streams[0].workers[0].tally;
        close(outcome.reads().service.moments.sum_ns / tally.in_flight_ns, 1.0, 0.001);
        close(tally.in_flight_ns / 1e9 / outcome.seconds(), rate / (1000.0 - rate), 0.03);
    }
}

/// The percentiles of a load that cannot be carried are those of whom the device came to serve; the others are counted.
#[test]
fn who_still_waits_at_the_end_is_told() {
    // One server of 1 ms, asked for 2,000/s for 10 s: it serves who comes in the first 5 s, of whom four are in flight.
    let sim = device(SimService::Constant { ns: MS }, 1);
    for (rate, count, oldest_ms) in [(2000.0, 9_996, 4_998), (500.0, 0, 0)] {
        let mut stream = stream(EngineKind::Sim, 4);
        stream.pacing = open(rate, Arrival::Constant);
        seconds(&mut stream, 10);
        let outcome = run(step(TargetKind::Sim(sim.clone()), stream));
        let worker = &outcome.executed.streams[0].workers[0];
        let found = (worker.waiting, worker.oldest_waiting.0 / MS);
        assert!(found.0.abs_diff(count) <= 5 && found.1.abs_diff(oldest_ms) <= 5, "{rate}/s: {found:?}");
        let longest = outcome.reads().response.expect("an open loop has them").moments.max_ns;
        assert_eq!(
            worker.oldest_waiting.0 > longest.saturating_sub(10 * MS),
            count > 0,
            "no one done waited for longer"
        );
    }
}

/// Of all that came due it is known what became of it, whatever ends the load.
#[test]
fn arrivals_are_those_done_given_up_and_left() {
    let sim = |error_share: Ratio| SimDevice { error_share, ..device(SimService::Constant { ns: MS }, 1) };
    for by_operations in [true, false] {
        for (depth, rate, backlog, errors) in [
            (64, 2000.0, Backlog::Keep, 0.0),
            (1, 2000.0, Backlog::Keep, 0.0),
            (64, 2000.0, Backlog::DropBeyond(100), 0.0),
            (64, 500.0, Backlog::Keep, 0.0),
            (64, 2000.0, Backlog::Keep, 0.5),
        ] {
            let mut stream = stream(EngineKind::Sim, depth);
            stream.pacing = Pacing::Open { rate, arrival: Arrival::Constant, course: Vec::new(), backlog };
            if by_operations {
                stream.limits.operations = Quota::AtMost(2000);
            } else {
                seconds(&mut stream, 5);
            }
            stream.control.tolerates = Tolerance::Listed { reads: vec![5], writes: Vec::new() };
            let error_share = Ratio::new(errors).expect("it is a share");
            let outcome = run(step(TargetKind::Sim(sim(error_share)), stream));
            let worker = &outcome.executed.streams[0].workers[0];
            let failed: u64 = outcome.reads().errors.iter().map(|(_, count)| count).sum();
            let case = format!(
                "by operations: {by_operations}, depth {depth}, {rate}/s, {backlog:?}, {errors}: {worker:?}"
            );
            assert_eq!(failed > 0, errors > 0.0, "{case}");
            let told = outcome.reads().operations + failed + worker.tally.arrivals_dropped + worker.waiting;
            assert_eq!(worker.tally.arrivals, told, "{case}");
            assert_eq!(worker.waiting > 0, rate > 1000.0, "{case}");
        }
    }
}

#[test]
fn the_queue_is_as_deep_as_asked_on_any_device() {
    for service in [
        SimService::Constant { ns: 10_000 },
        SimService::Exponential { mean_ns: MS },
        SimService::Uniform { min_ns: 1000, max_ns: MS },
    ] {
        for (depth, parallelism) in [(1, 1), (2, 8), (32, 1), (32, 32), (256, 64)] {
            let mut stream = stream(EngineKind::Sim, depth);
            seconds(&mut stream, 5);
            let outcome = run(step(TargetKind::Sim(device(service, parallelism)), stream));
            let slots_ns = f64::from(depth) * outcome.seconds() * 1e9;
            let held = outcome.executed.streams[0].workers[0].tally.in_flight_ns / slots_ns;
            let little = outcome.reads().service.moments.sum_ns / slots_ns;
            let case = format!("{service:?} × {parallelism}, depth {depth}: held {held}, Little {little}");
            assert!((0.99..=1.000_001).contains(&held), "{case}");
            assert!((0.99..=1.000_001).contains(&little), "{case}");
        }
    }
}

#[test]
fn a_rate_is_the_devices_however_deep_the_queue_and_short_the_window() {
    // 100 operations per second. Within one second 256 are issued at once and 100 as others complete.
    for (ramp_s, window_s, operations) in [(0, 3.56, 356), (10, 1.0, 100)] {
        let mut stream = stream(EngineKind::Sim, 256);
        seconds(&mut stream, 1);
        stream.ramp = Nanos::secs(ramp_s);
        let outcome = run(step(TargetKind::Sim(device(SimService::Constant { ns: 10 * MS }, 1)), stream));
        let (found, took) = (outcome.reads().operations, outcome.seconds());
        assert!(found.abs_diff(operations) <= 1, "{found} operations after a ramp of {ramp_s} s");
        close(took, window_s, 0.005);
        close(found as f64 / took, 100.0, 0.01);
    }
}

/// What is due comes faster than a device of 100 per second takes it, and fills the queue on the way.
#[test]
fn a_rate_above_the_devices_is_the_devices_whenever_the_queue_was_full() {
    for (depth, rate, window_s) in
        [(256, 200.0, 5), (1024, 1500.0, 1), (256, 1200.0, 1), (16, 101.0, 60), (1000, 150.0, 10)]
    {
        let mut stream = stream(EngineKind::Sim, depth);
        stream.pacing = open(rate, Arrival::Constant);
        seconds(&mut stream, window_s);
        let outcome = run(step(TargetKind::Sim(device(SimService::Constant { ns: 10 * MS }, 1)), stream));
        let found = outcome.reads().operations as f64 / outcome.seconds();
        let case = format!("{rate}/s at depth {depth}, {window_s} s: {found}");
        assert!((99.0..=101.0).contains(&found), "{case}");
    }
}

#[test]
fn a_freeze_shows_in_response_times_and_not_in_the_closed_loops() {
    // Tene's case: one operation per 10 ms, 1 ms of service, 100 s of good, then frozen for 100 s.
    let frozen = SimDevice {
        stalls: vec![(100_000 * MS, 100_000 * MS)],
        ..device(SimService::Constant { ns: MS }, 1_000_000 / 50)
    };
    let mut open_loop = stream(EngineKind::Sim, 20_000);
    open_loop.pacing = open(100.0, Arrival::Constant);
    seconds(&mut open_loop, 200);
    let outcome = run(step(TargetKind::Sim(frozen.clone()), open_loop));
    let response = outcome.reads().response.expect("an open loop has response times");
    let latency = fathom_metrics::Latency::from(&response);
    let at = |q| latency.quantile(q).expect("there are values") as f64 / 1e9;
    close(response.moments.mean_ns() / 1e9, 25.0, 0.02);
    assert!(at(0.49) < 0.002);
    // Half of all came before the freeze: p50 is the last of them.
    close(at(0.5), 0.001, 0.02);
    close(at(0.75), 50.0, 0.02);
    close(at(0.99), 98.0, 0.02);
    let mut closed_loop = stream(EngineKind::Sim, 1);
    closed_loop.pacing = Pacing::Closed {
        think: Think::Every {
            operations: 1,
            pause_ns: 9 * MS,
            by_issue: false,
            after_ns: u64::MAX,
            spin_ns: 0,
        },
    };
    seconds(&mut closed_loop, 200);
    let outcome = run(step(TargetKind::Sim(frozen), closed_loop));
    assert!(outcome.service_quantile(0.999) < 0.002, "a closed loop hides the freeze");
    assert_eq!(outcome.reads().service.moments.max_ns / (1000 * MS), 100);
}

/// Whatever the arrivals are, those that are done and those that are left are all that came, and one that is left has waited from when
/// it was due.
#[test]
fn what_is_left_waiting_had_waited_since_it_was_due() {
    for arrival in [Arrival::Constant, Arrival::Poisson] {
        for depth in [1, 64] {
            let mut stream = stream(EngineKind::Sim, depth);
            stream.pacing = open(1000.0, arrival);
            seconds(&mut stream, 10);
            let stalls = vec![(6_000 * MS, 60_000 * MS)];
            let sim = SimDevice { stalls, ..device(SimService::Constant { ns: MS / 4 }, 64) };
            let outcome = run(step(TargetKind::Sim(sim), stream));
            let worker = &outcome.executed.streams[0].workers[0];
            let left = &worker.tally.left_waiting.as_ref().expect("some are left").moments;
            let done = outcome.reads().operations;
            assert_eq!((left.count, left.max_ns), (worker.waiting, worker.oldest_waiting.0));
            assert_eq!(left.count + done, worker.tally.arrivals, "{arrival:?} at depth {depth}");
            // The window ends with the last completion, 66 s after its start: those that came in the last 4 s of 10 wait.
            let waited = worker.end.since(worker.start).0 - 10_000 * MS;
            assert!(left.min_ns >= waited && left.max_ns <= waited + 4_000 * MS, "{left:?}");
            close(left.mean_ns(), waited as f64 + 2e9, 0.02);
        }
    }
}

#[test]
fn a_backlog_is_counted_when_the_device_is_too_slow() {
    // 1,500 arrivals per second on a device that serves 1,000: after 10 s some 5,000 wait.
    let sim = device(SimService::Constant { ns: MS }, 1);
    let mut stream = stream(EngineKind::Sim, 4);
    stream.pacing = open(1500.0, Arrival::Constant);
    seconds(&mut stream, 10);
    let outcome = run(step(TargetKind::Sim(sim), stream));
    let tally = &outcome.executed.streams[0].workers[0].tally;
    close(tally.backlog_max as f64, 5000.0, 0.02);
    assert!(tally.arrivals_late * 10 > tally.arrivals * 9);
    close(outcome.reads().operations as f64, 10_000.0, 0.002);
}

/// However long the intervals are, whose edges pass while the device stands still.
#[test]
fn what_came_due_without_a_free_slot_is_late_whatever_the_intervals_are() {
    // 100/s; from the first arrival in the stall on, all wait for it or for those that do: 9,000/s of 1 ms each are made up for then.
    for (rate, depth, stall, late) in
        [(100.0, 1, (10, 80), 8888), (100.0, 1, (1, 119), 11_899), (1000.0, 2, (10, 90), 109_998)]
    {
        for interval in [Nanos::millis(100), Nanos::secs(1), Nanos::secs(60)] {
            let stalls = vec![(stall.0 * SECOND, stall.1 * SECOND)];
            let sim = SimDevice { stalls, ..device(SimService::Constant { ns: MS }, 1) };
            let mut stream = stream(EngineKind::Sim, depth);
            stream.pacing = open(rate, Arrival::Constant);
            seconds(&mut stream, 120);
            let outcome = run(Step { interval, ..step(TargetKind::Sim(sim), stream) });
            let tally = &outcome.executed.streams[0].workers[0].tally;
            assert_eq!(tally.arrivals_late, late, "{rate}/s, depth {depth}, {interval}");
        }
    }
}

#[test]
fn arrivals_belong_to_the_interval_they_come_due_in() {
    // 1,500 come due each second, whatever the device does with them: it freezes from 2 s to 5 s and is too slow besides.
    let sim =
        SimDevice { stalls: vec![(2000 * MS, 3000 * MS)], ..device(SimService::Constant { ns: MS }, 1) };
    for (engine_depth, ramp) in [(4, 0), (1, 1), (4096, 2)] {
        let mut stream = stream(EngineKind::Sim, engine_depth);
        stream.pacing = open(1500.0, Arrival::Constant);
        stream.ramp = Nanos::secs(ramp);
        seconds(&mut stream, 10);
        let outcome = run(step(TargetKind::Sim(sim.clone()), stream));
        let arrivals: Vec<u64> = outcome.intervals.iter().map(|interval| interval.tally.arrivals).collect();
        assert_eq!(arrivals, vec![1500; 10 + usize::try_from(ramp).unwrap()], "depth {engine_depth}");
        assert_eq!(outcome.executed.streams[0].workers[0].tally.arrivals, 15_000);
    }
}

#[test]
fn a_bounded_backlog_drops_what_waited_longest_and_counts_it() {
    // 1,500 arrivals per second, 1,000 served: with room for 100 some 500 are given up each second.
    let mut stream = stream(EngineKind::Sim, 4);
    stream.pacing = Pacing::Open {
        rate: 1500.0,
        arrival: Arrival::Constant,
        course: Vec::new(),
        backlog: Backlog::DropBeyond(100),
    };
    seconds(&mut stream, 10);
    let outcome = run(step(TargetKind::Sim(device(SimService::Constant { ns: MS }, 1)), stream));
    let tally = &outcome.executed.streams[0].workers[0].tally;
    assert_eq!(tally.backlog_max, 100);
    assert_eq!(tally.arrivals, 15_000);
    let issued = outcome.reads().operations;
    assert!(tally.arrivals - tally.arrivals_dropped - issued <= 100, "{tally:?}");
    close(tally.arrivals_dropped as f64, 5000.0, 0.03);
    // Nobody waits for longer than 100 others and the queue take: 104 ms.
    let response = outcome.reads().response.expect("an open loop has response times");
    assert!(response.moments.max_ns < 110 * MS, "{}", response.moments.max_ns);
}

#[test]
fn what_a_slot_is_free_for_is_not_dropped() {
    // As many servers as slots, and many arrivals within a service time: none ever waits.
    for backlog in [0, 1] {
        let mut stream = stream(EngineKind::Sim, 256);
        stream.pacing = Pacing::Open {
            rate: 20_000.0,
            arrival: Arrival::OnOff { on_ns: MS, off_ns: 9 * MS },
            course: Vec::new(),
            backlog: Backlog::DropBeyond(backlog),
        };
        seconds(&mut stream, 10);
        let outcome = run(step(TargetKind::Sim(device(SimService::Constant { ns: MS / 10 }, 256)), stream));
        let tally = &outcome.executed.streams[0].workers[0].tally;
        assert_eq!((tally.arrivals_dropped, tally.backlog_max), (0, 0));
        assert_eq!(tally.arrivals, outcome.reads().operations);
        // Of a thousand bursts of exponential length in exponential distances √(2/1000), 4.5 %, is one standard deviation: three of them.
        close(tally.arrivals as f64, 200_000.0, 0.13);
    }
}

#[test]
fn no_arrival_is_counted_after_the_last_operation() {
    for arrival in [Arrival::Constant, Arrival::Poisson] {
        for (depth, backlog) in [(1, Backlog::Keep), (8, Backlog::Keep), (8, Backlog::DropBeyond(1))] {
            let mut stream = stream(EngineKind::Sim, depth);
            stream.pacing = Pacing::Open { rate: 10.0, arrival, course: Vec::new(), backlog };
            stream.limits.operations = Quota::AtMost(10);
            let outcome = run(step(TargetKind::Sim(device(SimService::Constant { ns: MS }, 8)), stream));
            let tally = &outcome.executed.streams[0].workers[0].tally;
            assert_eq!((tally.arrivals, outcome.reads().operations), (10, 10), "{arrival:?}, depth {depth}");
        }
    }
}

#[test]
fn a_queue_that_was_full_refills_when_it_has_run_low() {
    for (refill_at, runs_low) in [(Quota::Unlimited, false), (Quota::AtMost(2), true)] {
        let mut stream = stream(EngineKind::Sim, 8);
        stream.engine.refill_at = refill_at;
        stream.engine.batch_submit = 8;
        stream.limits.time = TimeLimit::Nanoseconds(SECOND);
        let sim = TargetKind::Sim(device(SimService::Uniform { min_ns: MS, max_ns: 2 * MS }, 8));
        let tally = run(support::step(sim, stream)).executed.streams[0].workers[0].tally.clone();
        // But for the first time, several go at once only where the queue had to run low first.
        let several: u64 = tally.submit_sizes[2..].iter().sum();
        assert_eq!(several > 100, runs_low, "{refill_at:?}: {:?}", tally.submit_sizes);
    }
}

#[test]
fn operations_wait_for_those_that_touch_their_place() {
    for (serialize_overlap, depth) in [(false, 8.0), (true, 1.0)] {
        let mut stream = stream(EngineKind::Sim, 8);
        stream.engine.serialize_overlap = serialize_overlap;
        stream.workers[0].extents[0].length = Bytes(4096); // one block
        stream.limits.time = TimeLimit::Nanoseconds(SECOND);
        let sim = TargetKind::Sim(device(SimService::Constant { ns: MS }, 8));
        let tally = run(support::step(sim, stream)).executed.streams[0].workers[0].tally.clone();
        let mean = tally.in_flight_ns / SECOND as f64;
        assert!((mean - depth).abs() < 0.05 * depth, "{serialize_overlap}: {mean}");
    }
}

#[test]
fn a_rate_follows_its_course() {
    // 5 s at 1,000/s, then along a line to 3,000/s within 10 s, where it stays.
    let piece = |seconds: u64, from_per_s, to_per_s| RatePiece {
        length_ns: seconds * 1000 * MS,
        from_per_s,
        to_per_s,
    };
    let course = vec![piece(5, 1000.0, 1000.0), piece(10, 1000.0, 3000.0)];
    let mut stream = stream(EngineKind::Sim, 64);
    stream.pacing = Pacing::Open { rate: 2250.0, arrival: Arrival::Constant, course, backlog: Backlog::Keep };
    seconds(&mut stream, 20);
    let outcome = run(step(TargetKind::Sim(device(SimService::Constant { ns: MS / 10 }, 8)), stream));
    for (second, interval) in outcome.intervals.iter().enumerate() {
        let middle = second as f64 + 0.5;
        let expect = 1000.0 + 200.0 * (middle - 5.0).clamp(0.0, 10.0);
        let found = interval.tally.kinds[0].operations as f64;
        assert!((found - expect).abs() <= 2.0, "second {second}: {found}, not {expect}");
    }
    assert_eq!(outcome.intervals.len(), 20);
    assert_eq!(outcome.executed.streams[0].workers[0].tally.arrivals_late, 0);
}

#[test]
fn bursts_wait_where_a_steady_rate_does_not() {
    // 500/s on average on a device that serves 1,000/s: fine when steady; in bursts of 2,500/s a backlog comes and goes.
    let response = |arrival| {
        let mut stream = stream(EngineKind::Sim, 8);
        stream.pacing = open(500.0, arrival);
        seconds(&mut stream, 60);
        let outcome = run(step(TargetKind::Sim(device(SimService::Constant { ns: MS }, 1)), stream));
        let tally = &outcome.executed.streams[0].workers[0].tally;
        let response = outcome.reads().response.expect("an open loop has response times");
        (response.moments.mean_ns(), tally.backlog_max)
    };
    assert_eq!(response(Arrival::Constant), (MS as f64, 0));
    for arrival in [
        Arrival::OnOff { on_ns: 100 * MS, off_ns: 400 * MS },
        Arrival::ParetoOnOff { shape: 1.4, on_ns: 100 * MS, off_ns: 400 * MS, sources: 1 },
        Arrival::BModel { bias: 0.8, window_ns: 10_000 * MS },
    ] {
        let (mean_ns, backlog) = response(arrival);
        assert!(mean_ns > 20.0 * MS as f64 && backlog > 50, "{arrival:?}: {mean_ns} ns, {backlog}");
    }
}

#[test]
fn ramp_operations_never_count() {
    // Slow for the first second (a freeze), fast afterwards: the measured latencies know nothing of it.
    let slow_start = SimDevice { stalls: vec![(0, 900 * MS)], ..device(SimService::Constant { ns: MS }, 1) };
    let mut stream = stream(EngineKind::Sim, 1);
    stream.ramp = Nanos::secs(1);
    let outcome = run(step(TargetKind::Sim(slow_start), stream));
    assert_eq!(outcome.reads().service.moments.max_ns, MS);
    close(outcome.reads().operations as f64, 2000.0, 0.001);
}

#[test]
fn errors_stop_the_step_or_are_counted_on() {
    let faulty = SimDevice { error_share: Ratio::percent(1.0), ..device(SimService::Constant { ns: MS }, 1) };
    let stopped = run(step(TargetKind::Sim(faulty.clone()), stream(EngineKind::Sim, 4)));
    assert_eq!(stopped.executed.stop, Stop::IoErrors);
    assert!(
        stopped.executed.io_errors[0].contains("read of 4096 B at offset"),
        "{:?}",
        stopped.executed.io_errors
    );
    let mut counting = step(TargetKind::Sim(faulty), stream(EngineKind::Sim, 4));
    counting.errors = ErrorPolicy::CountUpTo(1_000_000);
    let counted = run(counting);
    assert_eq!(counted.executed.stop, Stop::Complete);
    let errors = counted.reads().errors;
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].0, 5);
    assert!((5..=45).contains(&errors[0].1), "{errors:?} of about 2,000 at 1 %");
}

#[test]
fn short_transfers_are_counted_with_the_bytes_that_moved() {
    let short = SimDevice { short_share: Ratio::ONE, ..device(SimService::Constant { ns: MS }, 1) };
    let reads = run(step(TargetKind::Sim(short), stream(EngineKind::Sim, 1))).reads();
    assert_eq!(reads.short, reads.operations);
    assert_eq!(reads.bytes, reads.operations * 2048);
}

#[test]
fn syncs_come_after_every_nth_write_and_are_no_iops() {
    // 2,048 writes: the sync that falls due at the very last one is not issued (as with fio).
    for (depth, every, expect) in [(1, 64, 31), (2, 64, 31), (32, 64, 31), (32, 5, 409), (32, 1, 2047)] {
        check_syncs(depth, every, expect);
    }
}

fn check_syncs(depth: u32, every: u64, expect: u64) {
    let sim = device(SimService::Constant { ns: MS }, 1);
    let mut writes = stream(EngineKind::Sim, depth);
    writes.workload.cases[0].kind = OperationKind::Write;
    writes.workload.sync.fsync_every = Quota::AtMost(every);
    writes.limits =
        StreamLimits { time: TimeLimit::Unbounded, operations: Quota::AtMost(2048), ..writes.limits };
    let outcome = run(step(TargetKind::Sim(sim), writes));
    assert_eq!(outcome.kind(OperationKind::Write).expect("writes").operations, 2048);
    let syncs = outcome.kind(OperationKind::Sync).expect("syncs");
    assert_eq!((syncs.operations, syncs.bytes), (expect, 0), "every {every} writes at depth {depth}");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let sim = device(SimService::Exponential { mean_ns: MS }, 3);
    let once = || run(step(TargetKind::Sim(sim.clone()), stream(EngineKind::Sim, 8)));
    let (first, second) = (once(), once());
    assert_eq!(first.reads(), second.reads());
}

#[test]
fn places_of_one_target_are_one_device() {
    // One server of 1 ms: 1,000 per second, however its places are cut up and whichever comes next.
    let mut stream = stream(EngineKind::Sim, 32);
    stream.workload.cases[0].random = false;
    stream.workload.file_order = FileOrder::Sequential;
    let place = |start: u64| Extent {
        target: 0,
        start: Bytes(start * 64 * 4096),
        length: Bytes(64 * 4096),
        room: Bytes::ZERO,
    };
    stream.workers[0].extents = [1, 0, 3, 2].map(place).to_vec();
    seconds(&mut stream, 10);
    let outcome = run(step(TargetKind::Sim(device(SimService::Constant { ns: MS }, 1)), stream));
    assert!((9_999..=10_031).contains(&outcome.reads().operations), "{}", outcome.reads().operations);
    close(outcome.reads().operations as f64 / outcome.seconds(), 1000.0, 1e-9);
}

/// Workers that share their places share their seed too, and a device each that drew alike would count each sample as often
/// as there are workers.
#[test]
fn the_devices_of_several_workers_are_no_copies() {
    let totals = |workers: u32| {
        let mut stream = support::stream(EngineKind::Sim, 4);
        stream.workers = vec![stream.workers[0].clone(); workers as usize];
        for (index, plan) in (0..).zip(&mut stream.workers) {
            plan.part = SharePart { index, count: workers };
        }
        let device = support::device(SimService::Exponential { mean_ns: 100_000 }, 1);
        let outcome = run(support::step(TargetKind::Sim(device), stream));
        let of_worker = |worker: &WorkerTotals| worker.tally.kinds[0].operations;
        outcome.executed.streams[0].workers.iter().map(of_worker).collect::<Vec<u64>>()
    };
    let four = totals(4);
    let different: std::collections::BTreeSet<u64> = four.iter().copied().collect();
    assert_eq!(different.len(), 4, "{four:?}");
    assert_eq!(four[0], totals(1)[0], "the first is what it is alone");
}

/// Virtual time goes on to the completion that it waits for.
#[test]
fn an_arrival_that_waits_for_one_on_its_place_holds_no_time_up() {
    for (depth, parallelism) in [(2, 2), (8, 8)] {
        let mut stream = stream(EngineKind::Sim, depth);
        stream.pacing = open(3000.0, Arrival::Constant);
        stream.engine.serialize_overlap = true;
        stream.workers[0].extents[0].length = Bytes::kib(4);
        seconds(&mut stream, 2);
        let sim = device(SimService::Constant { ns: MS }, parallelism);
        let outcome = run(step(TargetKind::Sim(sim), stream));
        // All go to one place, one after the other.
        let worker = &outcome.executed.streams[0].workers[0];
        let done = outcome.reads().operations;
        close(done as f64, 2000.0, 0.01);
        assert_eq!(worker.tally.arrivals, 6000);
        assert_eq!(done + worker.waiting, 6000, "depth {depth}");
    }
}
