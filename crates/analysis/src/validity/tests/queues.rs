//! Backlogs of queues that are simulated arrival by arrival: what grows without end, and what comes and goes.

use super::*;
use std::collections::VecDeque;

/// Operations per second of the device.
const CAPACITY: f64 = 1000.0;
const DEPTH: usize = 8;

/// Times between arrivals, or of service.
#[derive(Debug, Clone, Copy)]
enum Times {
    Constant,
    Exponential,
    /// Four times the rate for a time, then nothing for three times as long, both of Pareto with exponent 1.5.
    Bursts,
}

/// What a queue of [`DEPTH`] slots and one server showed in each second.
#[derive(Default, Clone, Copy)]
struct Second {
    arrivals: u64,
    late: u64,
    backlog: u64,
    done: u64,
}

/// The seconds of a queue, and how many waited at its end.
fn queue((arrivals, service): (Times, Times), rate: f64, seconds: u64, seed: u64) -> (Vec<Second>, u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut exponential = |mean: f64| -(1.0 - random.f64()).ln() * mean;
    let mut random = fastrand::Rng::with_seed(!seed);
    let mut pareto = |mean: f64| (1.0 - random.f64()).powf(-1.0 / 1.5) * mean / 3.0;
    let end = seconds as f64;
    let mut found = vec![Second::default(); usize::try_from(seconds).unwrap()];
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time within the step")]
    let second = |at: f64| at as usize;
    let (mut due, mut free_at, mut burst_end) = (0.0, 0.0_f64, pareto(1.0));
    // Arrival and completion of each that is there.
    let mut there: VecDeque<(f64, f64)> = VecDeque::new();
    loop {
        due += match arrivals {
            Times::Constant => 1.0 / rate,
            Times::Exponential => exponential(1.0 / rate),
            Times::Bursts => 0.25 / rate,
        };
        if matches!(arrivals, Times::Bursts) && due > burst_end {
            due += pareto(3.0);
            burst_end = due + pareto(1.0);
        }
        while let Some(&(_, done)) = there.front().filter(|(_, done)| *done <= due.min(end)) {
            let last = found.len() - 1;
            found[second(done).min(last)].done += 1;
            there.pop_front();
        }
        if due >= end {
            break;
        }
        let now = &mut found[second(due)];
        now.arrivals += 1;
        now.late += u64::from(there.len() >= DEPTH);
        now.backlog = now.backlog.max((there.len() + 1).saturating_sub(DEPTH) as u64);
        let took =
            if matches!(service, Times::Exponential) { exponential(1.0 / CAPACITY) } else { 1.0 / CAPACITY };
        free_at = free_at.max(due) + took;
        there.push_back((due, free_at));
    }
    (found, there.len().saturating_sub(DEPTH) as u64)
}

/// What is said of the rate.
fn told(times: (Times, Times), rate: f64, seconds: u64, seed: u64) -> Option<Finding> {
    let (found, waiting) = queue(times, rate, seconds, seed);
    let arrival = if matches!(times.0, Times::Bursts) {
        Arrival::OnOff { on_ns: 1_000_000_000, off_ns: 3_000_000_000 }
    } else {
        Arrival::Poisson
    };
    let pacing = Pacing::Open { rate, arrival, course: Vec::new(), backlog: Backlog::Keep };
    let shape = StreamShape { pacing, seconds, queue_depth: 8, ..base() };
    let mut record = record(&[shape]);
    let step = &mut record.steps[0];
    let worker = &mut step.finished.as_mut().unwrap().streams[0].workers[0];
    worker.waiting = waiting;
    let total = &mut worker.tally;
    (total.arrivals, total.arrivals_late, total.kinds[0].operations) = (0, 0, 0);
    for (interval, second) in step.intervals.iter_mut().zip(found) {
        let Second { arrivals, late, backlog, done } = second;
        let tally = &mut interval.tally;
        (tally.arrivals, tally.arrivals_late, tally.backlog_max) = (arrivals, late, backlog);
        tally.kinds[0].operations = done;
        tally.in_flight_ns = if backlog > 0 { 8e9 } else { 4e9 };
        total.arrivals += arrivals;
        total.arrivals_late += late;
        total.kinds[0].operations += done;
        total.backlog_max = total.backlog_max.max(backlog);
    }
    findings(&record).into_iter().find(|one| one.id.starts_with("pacing."))
}

use Times::{Bursts, Constant, Exponential};

/// Three in a thousand more than a device does: the backlog wanders, and grows for as long as it lasts.
#[test]
fn a_backlog_that_grows_at_random_is_told() {
    let check = |times, rate, seconds, seeds: std::ops::Range<u64>, most_warned: usize| {
        let mut warned = 0;
        for seed in seeds {
            let one = told(times, rate, seconds, seed);
            let id = one.as_ref().map(|one| one.id.as_str());
            assert!(
                matches!(id, Some("pacing.overloaded" | "pacing.backlog")),
                "{times:?} {rate} for {seconds} s, seed {seed}: {one:?}"
            );
            warned += usize::from(id == Some("pacing.backlog"));
        }
        assert!(
            warned <= most_warned,
            "{times:?} {rate} for {seconds} s: {warned} are no more than a warning"
        );
    };
    check((Exponential, Constant), 1003.0, 3600, 0..6, 0);
    check((Exponential, Exponential), 1003.0, 3600, 0..6, 0);
    check((Exponential, Constant), 1005.0, 600, 0..30, 2);
    check((Exponential, Exponential), 1005.0, 600, 0..30, 8);
    check((Constant, Exponential), 1005.0, 600, 0..30, 2);
    check((Constant, Constant), 1001.0, 600, 0..1, 0);
}

/// What comes at just the rate of a device is nowhere in a steady state: where much waited for long, that is told.
#[test]
fn a_backlog_at_capacity_is_told_where_it_is_large() {
    let mut silent = 0;
    for seed in 0..40 {
        let (found, waiting) = queue((Exponential, Constant), 1000.0, 600, seed);
        let one = told((Exponential, Constant), 1000.0, 600, seed);
        silent += usize::from(one.is_none());
        let most = found.iter().map(|second| second.backlog).max().unwrap();
        assert!(one.is_some() || waiting < 784, "seed {seed}: {waiting} of at most {most} waited at the end");
    }
    assert!(silent <= 10, "{silent} of 40 are not told");
}

#[test]
fn a_queue_below_capacity_is_no_backlog() {
    let times = [(Exponential, Constant), (Exponential, Exponential), (Constant, Exponential)];
    for times in times {
        for (rate, seconds, seeds) in
            [(900.0, 60, 20), (950.0, 60, 20), (950.0, 600, 10), (980.0, 600, 40), (980.0, 3600, 4)]
        {
            for seed in 0..seeds {
                let one = told(times, rate, seconds, seed);
                assert_eq!(one, None, "{times:?} {rate} for {seconds} s, seed {seed}");
            }
        }
        // As long as a few of its busy periods: some waits are long, and none is an overload.
        for seed in 0..40 {
            let one = told(times, 980.0, 60, seed);
            assert!(
                one.as_ref().is_none_or(|one| one.severity < Severity::Invalid),
                "{times:?}, seed {seed}: {one:?}"
            );
        }
    }
}

/// Bursts of more than twice what the device does, worked off in between: they are no fault of the load.
#[test]
fn bursts_that_are_worked_off_are_no_overload() {
    for rate in [300.0, 600.0] {
        for seed in 0..20 {
            let (found, waiting) = queue((Bursts, Constant), rate, 600, seed);
            let total: u64 = found.iter().map(|second| second.arrivals).sum();
            if total > 540_000 || waiting > 80 {
                continue;
            }
            let one = told((Bursts, Constant), rate, 600, seed);
            assert!(one.as_ref().is_none_or(|one| one.severity == Severity::Info), "seed {seed}: {one:?}");
        }
    }
}

/// A queue that is filled again when so many are left is not kept full by anybody.
#[test]
fn a_queue_that_is_to_run_down_is_judged_by_what_it_keeps() {
    let of = |fullness: f64, refill_at: fathom_schema::Quota| {
        let mut record = record(&[StreamShape { fullness, queue_depth: 32, ..base() }]);
        record.steps[0].started.step.streams[0].engine.refill_at = refill_at;
        record
    };
    let not_full = ("little.queue-not-full", Severity::Warn);
    check(&of(0.6, fathom_schema::Quota::Unlimited), &[not_full]);
    check(&of(0.6, fathom_schema::Quota::AtMost(8)), &[]);
    check(&of(0.2, fathom_schema::Quota::AtMost(8)), &[not_full]);
}
