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
    /// Poisson of five times the rate for 100 ms on average, then nothing for 400 ms, both exponential.
    OnOff,
    /// Each 10 s have as many; of each half, quarter and so on one half has 0.7.
    BModel,
}

/// Halvings of a window of [`Times::BModel`].
const HALVINGS: usize = 10;
const WINDOW_S: f64 = 10.0;

/// When arrivals are due.
struct Dues {
    arrivals: Times,
    rate: f64,
    random: fastrand::Rng,
    at: f64,
    burst_end: f64,
    /// Those of the rest of a window, the next last.
    window: Vec<f64>,
    windows: f64,
}

impl Dues {
    fn new(arrivals: Times, rate: f64, seed: u64) -> Self {
        let random = fastrand::Rng::with_seed(!seed);
        let mut dues =
            Self { arrivals, rate, random, at: 0.0, burst_end: 0.0, window: Vec::new(), windows: 0.0 };
        dues.burst_end = match arrivals {
            Times::Bursts => dues.pareto(1.0),
            Times::OnOff => dues.exponential(0.1),
            _ => 0.0,
        };
        dues
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -(1.0 - self.random.f64()).ln() * mean
    }

    fn pareto(&mut self, mean: f64) -> f64 {
        (1.0 - self.random.f64()).powf(-1.0 / 1.5) * mean / 3.0
    }

    fn next(&mut self) -> f64 {
        match self.arrivals {
            Times::Constant => self.at += 1.0 / self.rate,
            Times::Exponential => self.at += self.exponential(1.0 / self.rate),
            Times::Bursts => {
                self.at += 0.25 / self.rate;
                if self.at > self.burst_end {
                    self.at += self.pareto(3.0);
                    self.burst_end = self.at + self.pareto(1.0);
                }
            }
            Times::OnOff => {
                self.at += self.exponential(0.2 / self.rate);
                while self.at > self.burst_end {
                    let off = self.exponential(0.4);
                    self.at += off;
                    self.burst_end += off + self.exponential(0.1);
                }
            }
            Times::BModel => {
                if self.window.is_empty() {
                    self.halve(0.0, WINDOW_S, self.rate * WINDOW_S, HALVINGS);
                    self.window.reverse();
                    self.windows += 1.0;
                }
                self.at = self.window.pop().unwrap_or(0.0) + (self.windows - 1.0) * WINDOW_S;
            }
        }
        self.at
    }

    fn halve(&mut self, from: f64, length: f64, count: f64, halvings: usize) {
        if halvings == 0 {
            // Parts of one come as often as they are large.
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some hundred")]
            let whole = (count + self.random.f64()) as u32;
            let at = |k: u32| from + length * f64::from(k) / f64::from(whole);
            self.window.extend((0..whole).map(at));
            return;
        }
        let share = if self.random.bool() { 0.7 } else { 0.3 };
        self.halve(from, length / 2.0, count * share, halvings - 1);
        self.halve(from + length / 2.0, length / 2.0, count * (1.0 - share), halvings - 1);
    }
}

/// What a queue of so many slots and one server showed in each second.
#[derive(Default, Clone, Copy)]
struct Second {
    arrivals: u64,
    late: u64,
    backlog: u64,
    done: u64,
    /// Slots in use, in seconds.
    held: f64,
}

/// The seconds of a queue of [`DEPTH`] slots, and how many waited at its end.
fn queue(times: (Times, Times), rate: f64, seconds: u64, seed: u64) -> (Vec<Second>, u64) {
    let (found, there) = queue_of(DEPTH, times, rate, seconds, seed);
    (found, there.saturating_sub(DEPTH as u64))
}

/// The seconds of a queue, and how many were there at its end.
fn queue_of(
    depth: usize,
    (arrivals, service): (Times, Times),
    rate: f64,
    seconds: u64,
    seed: u64,
) -> (Vec<Second>, u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut exponential = |mean: f64| -(1.0 - random.f64()).ln() * mean;
    let mut dues = Dues::new(arrivals, rate, seed);
    let end = seconds as f64;
    let mut found = vec![Second::default(); usize::try_from(seconds).unwrap()];
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time within the step")]
    let second = |at: f64| at as usize;
    let mut free_at = 0.0_f64;
    // Arrival and completion of each that is there.
    let mut there: VecDeque<(f64, f64)> = VecDeque::new();
    loop {
        let due = dues.next();
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
        now.late += u64::from(there.len() >= depth);
        now.backlog = now.backlog.max((there.len() + 1).saturating_sub(depth) as u64);
        let took =
            if matches!(service, Times::Exponential) { exponential(1.0 / CAPACITY) } else { 1.0 / CAPACITY };
        let begins = there.len().checked_sub(depth).map_or(due, |before| there[before].1);
        free_at = free_at.max(due) + took;
        there.push_back((due, free_at));
        let mut from = begins.min(end);
        while from < free_at.min(end) {
            let until = (from.floor() + 1.0).min(free_at);
            found[second(from)].held += until - from;
            from = until;
        }
    }
    (found, there.len() as u64)
}

/// What is said of the rate.
fn told(times: (Times, Times), rate: f64, seconds: u64, seed: u64) -> Option<Finding> {
    let (found, waiting) = queue(times, rate, seconds, seed);
    told_of(times.0, rate, &found, waiting)
}

fn told_of(arrivals: Times, rate: f64, found: &[Second], waiting: u64) -> Option<Finding> {
    findings(&record_of(arrivals, rate, found, waiting)).into_iter().find(|one| one.id.starts_with("pacing."))
}

fn record_of(arrivals: Times, rate: f64, found: &[Second], waiting: u64) -> Record {
    let arrival = match arrivals {
        Times::Bursts => Arrival::OnOff { on_ns: 1_000_000_000, off_ns: 3_000_000_000 },
        Times::OnOff => Arrival::OnOff { on_ns: 100_000_000, off_ns: 400_000_000 },
        Times::BModel => Arrival::BModel { bias: 0.7, window_ns: 10_000_000_000 },
        Times::Constant | Times::Exponential => Arrival::Poisson,
    };
    let seconds = found.len() as u64;
    let pacing = Pacing::Open { rate, arrival, course: Vec::new(), backlog: Backlog::Keep };
    let shape = StreamShape { pacing, seconds, queue_depth: 8, ..base() };
    let mut record = record(&[shape]);
    let step = &mut record.steps[0];
    let worker = &mut step.finished.as_mut().unwrap().streams[0].workers[0];
    worker.waiting = waiting;
    let total = &mut worker.tally;
    (total.arrivals, total.arrivals_late, total.kinds[0].operations) = (0, 0, 0);
    for (interval, second) in step.intervals.iter_mut().zip(found) {
        let Second { arrivals, late, backlog, done, held } = *second;
        let tally = &mut interval.tally;
        (tally.arrivals, tally.arrivals_late, tally.backlog_max) = (arrivals, late, backlog);
        tally.kinds[0].operations = done;
        tally.in_flight_ns = held * 1e9;
        total.arrivals += arrivals;
        total.arrivals_late += late;
        total.kinds[0].operations += done;
        total.backlog_max = total.backlog_max.max(backlog);
    }
    record
}

use Times::{BModel, Bursts, Constant, Exponential, OnOff};

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

/// A queue that slots take whole has no backlog: what grows is in flight.
#[test]
fn a_queue_that_grows_in_its_slots_is_told() {
    let told = |times: (Times, Times), depth: usize, rate: f64, seconds, seed| {
        let (found, there) = queue_of(depth, times, rate, seconds, seed);
        let mut record = record_of(times.0, rate, &found, there.saturating_sub(depth as u64));
        record.steps[0].started.step.streams[0].queue_depth = u32::try_from(depth).unwrap();
        let told = findings(&record).into_iter().find(|one| one.id.starts_with("pacing."));
        told.map(|one| one.id)
    };
    let times = [(Exponential, Constant), (Exponential, Exponential), (Constant, Exponential)];
    for times in times {
        for depth in [256, 4096] {
            for (rate, seconds, seeds) in
                [(900.0, 60, 20), (950.0, 60, 20), (950.0, 600, 10), (980.0, 600, 40)]
            {
                for seed in 0..seeds {
                    let id = told(times, depth, rate, seconds, seed);
                    assert_eq!(id, None, "{times:?}, {depth} slots, {rate} for {seconds} s, seed {seed}");
                }
            }
            for (rate, seconds) in [(1010.0, 300), (1010.0, 600), (1020.0, 120), (1050.0, 60)] {
                let is_told = |seed: &u64| {
                    told(times, depth, rate, seconds, *seed).is_some_and(|id| id == "pacing.overloaded")
                };
                let count = (0..30).filter(is_told).count();
                assert!(count >= 28, "{times:?}, {depth} slots, {rate} for {seconds} s: {count} of 30");
            }
        }
    }
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

/// Slots that an option keeps empty are no fault of the generator.
#[test]
fn operations_that_wait_for_overlapping_ones_are_told_as_such() {
    let mut record = record(&[StreamShape { fullness: 0.2, queue_depth: 32, ..base() }]);
    record.steps[0].started.step.streams[0].engine.serialize_overlap = true;
    let found = findings(&record);
    let one = found.iter().find(|one| one.id == "little.queue-not-full").expect("most slots were empty");
    assert!(one.evidence.contains("serialize_overlap"), "{one:?}");
    assert!(!one.evidence.contains("generator-limited") && !one.remedy.contains("generator"), "{one:?}");
}

/// What a burst shortly before the end leaves waiting is no overload where less came in all than the device does.
#[test]
fn bursts_cut_at_any_moment_are_no_overload() {
    let (mut overloaded, mut below, mut behind, mut above, mut told_above) = (0, 0, 0, 0, 0);
    for arrivals in [OnOff, BModel] {
        for (rate, seconds) in [(700.0, 60), (900.0, 60), (950.0, 60), (950.0, 300)] {
            for seed in 0..30 {
                let seconds = seconds - seed % 10;
                let (found, waiting) = queue((arrivals, Constant), rate, seconds, seed);
                let came = found.iter().map(|second| second.arrivals).sum::<u64>() as f64;
                let share = came / (CAPACITY * seconds as f64);
                let one = told_of(arrivals, rate, &found, waiting);
                let is_invalid = one.as_ref().is_some_and(|one| one.severity == Severity::Invalid);
                let place = format!("{arrivals:?} {rate} for {seconds} s, seed {seed}: {share:.4} {one:?}");
                assert!(!is_invalid || share > 0.98, "{place}");
                below += u64::from(share <= 0.98);
                behind += u64::from(share <= 0.98 && one.is_some());
                overloaded += u64::from(is_invalid);
            }
        }
        for (rate, seconds) in [(1100.0, 60), (1050.0, 300)] {
            for seed in 0..30 {
                let (found, waiting) = queue((arrivals, Constant), rate, seconds, seed);
                let came = found.iter().map(|second| second.arrivals).sum::<u64>() as f64;
                let share = came / (CAPACITY * seconds as f64);
                let one = told_of(arrivals, rate, &found, waiting);
                let place = format!("{arrivals:?} {rate} for {seconds} s, seed {seed}: {share:.4} {one:?}");
                let id = one.as_ref().map(|one| one.id.as_str());
                // One that was longer before is about to go, for all that is known.
                above += u64::from(share >= 1.03);
                told_above += u64::from(share >= 1.03 && id == Some("pacing.overloaded"));
                assert!(share < 1.01 || id.is_some(), "{place}");
            }
        }
    }
    assert!(above > 50 && told_above * 4 > above * 3, "{told_above} of {above} are told as overloaded");
    assert!(
        below > 150 && behind > 50,
        "{below} below capacity, {behind} of them told, {overloaded} overloaded"
    );
}

/// Near the limit some of what comes waits, and throughput still goes as the load does: that is no behaviour of the device.
#[test]
fn what_bursts_make_of_throughput_is_no_behaviour() {
    let mut not_carried = 0;
    for arrivals in [OnOff, BModel, Bursts] {
        for (rate, seconds) in [(700.0, 60), (900.0, 60), (950.0, 300)] {
            for seed in 0..30 {
                let (found, waiting) = queue((arrivals, Constant), rate, seconds, seed);
                let came = found.iter().map(|second| second.arrivals).sum::<u64>() as f64;
                if came > 0.98 * CAPACITY * seconds as f64 {
                    continue;
                }
                let all = findings(&record_of(arrivals, rate, &found, waiting));
                not_carried += u64::from(all.iter().any(|one| one.id == "pacing.behind"));
                let of_levels = ["behaviour.warm-up", "behaviour.drift", "behaviour.cliff"];
                let told = all.iter().find(|one| {
                    of_levels.contains(&one.id.as_str()) || one.id.starts_with("behaviour.level")
                });
                assert_eq!(told, None, "{arrivals:?} {rate} for {seconds} s, seed {seed}");
            }
        }
    }
    assert!(not_carried > 50, "{not_carried} are not carried to their end");
}

/// A device that falls behind what comes changes its level, however the load comes.
#[test]
fn a_device_that_falls_behind_has_levels_in_an_open_loop() {
    let at = |second: u64| if second < 60 { 1000 } else { 500 };
    let found: Vec<Second> = (0..120)
        .map(|second: u64| {
            let backlog = second.saturating_sub(60) * 500;
            let (late, held) = (if backlog > 0 { 1000 } else { 0 }, if backlog > 0 { 8.0 } else { 1.0 });
            Second { arrivals: 1000, late, backlog, done: at(second), held }
        })
        .collect();
    let all = findings(&record_of(Exponential, 1000.0, &found, 30_000));
    assert!(all.iter().any(|one| one.id == "behaviour.cliff"), "{all:#?}");
}

/// A device that stands still all the time: that nothing was done does not hide what waited. What a slot could take is no backlog.
#[test]
fn what_waited_is_told_where_nothing_was_done() {
    for (waiting, errors, is_told) in [(2096, 0, true), (8, 0, false), (2096, 3, false)] {
        let pacing = Pacing::Open {
            rate: 100.0,
            arrival: Arrival::Constant,
            course: Vec::new(),
            backlog: Backlog::Keep,
        };
        let mut record = record(&[StreamShape { pacing, queue_depth: 8, ..base() }]);
        record.steps[0].intervals.clear();
        let worker = &mut record.steps[0].finished.as_mut().expect("it has ended").streams[0].workers[0];
        worker.tally.kinds.retain(|_| errors > 0);
        for kind in &mut worker.tally.kinds {
            (kind.operations, kind.errors) = (0, vec![(5, errors)]);
        }
        (worker.tally.arrivals, worker.tally.backlog_max) = (2100, waiting);
        (worker.waiting, worker.oldest_waiting) = (waiting, Nanos::secs(20));
        let found = findings(&record);
        let overloaded = found.iter().find(|one| one.id == "pacing.overloaded");
        assert_eq!(overloaded.is_some(), is_told, "{found:#?}");
        let none = found.iter().find(|one| one.id == "operations.none").expect("nothing was done");
        assert_eq!(none.remedy.contains("errors"), !is_told, "{none:?}");
        if let Some(one) = overloaded {
            assert!(
                one.evidence.contains("none of the 2100") && one.evidence.contains("2096 still waited"),
                "{one:?}"
            );
        }
    }
}
