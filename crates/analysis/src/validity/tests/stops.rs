//! A device that stands still for most of the time, or across the end of the ramp: on closed loops that are simulated slot by
//! slot, and on rates. Steady series, and loads that pause by themselves, have none of it.

use super::frequent::{exponential, simulated};
use super::timeline::{behaviour, counted};
use super::{base, findings};
use crate::sample::{StreamShape, normal, record};
use fathom_schema::{Finding, Interval, Phase, Record, Severity, Stop, StreamTally, TimeLimit};

fn told(record: &Record) -> Vec<String> {
    let words = |one: Finding| format!("{}: {}", one.id.trim_start_matches("behaviour."), one.evidence);
    behaviour(record).into_iter().map(words).collect()
}

/// From one second on, every so many, for so long.
fn every(first: f64, period: f64, length: f64, seconds: usize) -> Vec<(f64, f64)> {
    let moments = (0..).map(|k| first + f64::from(k) * period);
    moments.take_while(|at| at + length < seconds as f64).map(|at| (at, length)).collect()
}

/// A closed loop at about 4,000/s with such stalls.
pub(super) fn loop_of(slots: u32, seconds: usize, seed: u64, stalls: &[(f64, f64)]) -> Record {
    let mean = f64::from(slots) / 4000.0;
    simulated(slots, seconds, seed, &|random, _| exponential(random, mean), stalls)
}

#[test]
fn stalls_that_take_most_of_the_time_are_told() {
    for (period, length, expect) in [
        (5.0, 2.6, "stalls of about 2.6"),
        (5.0, 2.9, "stalls of about 2.9"),
        (5.0, 3.0, "stalls of about 3.0"),
        (5.0, 4.0, "stalls of about 4.0"),
        (5.0, 4.5, "stalls of about 4.5"),
        (10.0, 5.0, "stalls of about 5.0"),
        (10.0, 6.0, "stalls of about 6.0"),
        (10.0, 9.0, "stalls of about 9.0"),
        (3.0, 2.8, "stalls of about 2.8"),
        // At another place of an interval each time.
        (5.3, 3.4, "stalls of about 3.4"),
        (5.03, 4.1, "stalls of about 4.1"),
    ] {
        for (slots, first) in [(1, 5.0), (8, 5.0), (8, 10.4)] {
            for seed in 0..3 {
                let found = told(&loop_of(slots, 120, seed, &every(first, period, length, 120)));
                let place = format!("{found:#?}: {length} s every {period} s, {slots} slots, seed {seed}");
                assert_eq!(found.len(), 1, "{place}");
                assert!(found[0].starts_with(&format!("stalls: {expect}")), "{place}");
                let told = found[0].split("every ").nth(1).and_then(|rest| rest.split(" s").next()).unwrap();
                assert!((told.parse::<f64>().unwrap() - period).abs() < 0.05, "{place}");
            }
        }
    }
    // Of those that come anyhow, the longest.
    let anyhow = [(5.0, 8.0), (15.0, 5.0), (29.0, 11.0), (42.0, 9.0), (55.0, 4.0)];
    let found = told(&loop_of(8, 60, 1, &anyhow));
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(
        found[0].starts_with("stall: throughput stopped 5 times, at the longest for about 11.0"),
        "{found:#?}"
    );
    let found = told(&loop_of(8, 60, 1, &[(10.0, 35.0)]));
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].starts_with("stall: throughput stopped once for about 35.0 s, at 10 s"), "{found:#?}");
}

/// 900 ms of each second, from the start and from 1 s on: no interval is without, and the first is no warm-up of five.
#[test]
fn stalls_that_take_most_of_each_interval_are_told() {
    for seed in 0..10 {
        for first in [0.0, 1.0] {
            let found = told(&loop_of(8, 120, seed, &every(first + 0.001, 1.0, 0.9, 120)));
            assert!(found[0].starts_with("stalls: stalls about every 1.00 s: "), "{found:#?}, seed {seed}");
            let is_brief = |one: &String| one.starts_with("warm-up: warm-up of about 1 s");
            assert!(found[1..].iter().all(is_brief), "{found:#?}, seed {seed}");
        }
        // One interval is too little of all to be told.
        let half = told(&loop_of(8, 120, seed, &every(1.001, 1.0, 0.5, 120)));
        assert!(half.len() == 1 && half[0].starts_with("stalls: "), "{half:#?}, seed {seed}");
    }
}

/// At a rate, what came meanwhile is made up for at once; nothing else is between two stops.
#[test]
fn stops_of_a_load_at_a_rate_are_told() {
    let counts: Vec<u64> = (0..120).map(|at| if at % 5 == 0 { 2500 } else { 0 }).collect();
    let mut record = counted(&counts, true);
    let of = |waited_ms: u64, record: &mut Record| {
        for interval in &mut record.steps[0].intervals {
            let kind = &mut interval.tally.kinds[0];
            kind.service.moments.max_ns = if kind.operations == 0 { 0 } else { waited_ms * 1_000_000 };
        }
        told(record)
    };
    let found = of(4000, &mut record);
    assert!(
        found.len() == 1 && found[0].starts_with("stalls: stalls of about 4.00 s every 5.00 s"),
        "{found:#?}"
    );
    // A load that pauses: nobody waited.
    let found = of(20, &mut record);
    assert!(found.iter().all(|one| !one.starts_with("stall")), "{found:#?}");
}

/// Its larger part is in the one interval, and the rest in the one before or behind.
#[test]
fn a_stall_across_an_edge_is_told_in_full() {
    for (began, lasted) in [(23.8, 0.7), (23.4, 0.7), (23.9, 0.4), (23.95, 0.3), (23.5, 1.6)] {
        for seed in 0..10 {
            let found = told(&loop_of(8, 60, seed, &[(began, lasted)]));
            let place = format!("{found:#?}: {lasted} s at {began} s, seed {seed}");
            assert_eq!(found.len(), 1, "{place}");
            let of = |before: &str, after: &str| -> f64 {
                let rest = found[0].split(before).nth(1).expect("it is told");
                rest.split(after).next().and_then(|number| number.parse().ok()).expect("a number")
            };
            let is_ms = found[0].split(':').nth(1).is_some_and(|told| told.contains(" ms, "));
            let told_s = if is_ms { of("for about ", " ms, ") / 1000.0 } else { of("for about ", " s, ") };
            assert!((told_s / lasted - 1.0).abs() < 0.1, "{place}");
            // One that lies in one interval but for a little is told by bounds.
            if found[0].contains(" begun ") {
                let (from, to) = (of(" between ", " s and "), of(" s and ", " s: "));
                assert!(from - 0.06 <= began && began <= to + 0.06 && to - from < 1.1, "{place}");
            } else {
                assert!((of(", at ", " s: ") - began).abs() < 0.15, "{place}");
            }
        }
    }
}

/// Steps of curves and of searches are as short as that.
#[test]
fn a_single_stall_of_a_short_step_is_told() {
    for seconds in 4..8_u32 {
        let length = f64::from(seconds);
        for (began, lasted) in [(1.5, 0.5), (2.0, 0.5), (1.2, 1.5), (length - 1.6, 0.5)] {
            let missed = (0..20).filter(|&seed| {
                let found = told(&loop_of(8, seconds as usize, seed, &[(began, lasted)]));
                !(found.len() == 1 && found[0].starts_with("stall: throughput stopped once"))
            });
            let missed = missed.count();
            assert!(missed <= 1, "{missed} of 20: {lasted} s at {began} s of {seconds}");
        }
        let alarms = (0..200).filter(|&seed| !told(&loop_of(8, seconds as usize, seed, &[])).is_empty());
        let alarms = alarms.count();
        assert!(alarms <= 2, "{alarms} of 200 in {seconds} s");
    }
}

/// A fall that hardly ever turns is told of as few intervals as there are, whatever its curve.
#[test]
fn a_fall_of_a_short_step_is_told() {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "constructed counts")]
    let of = |seconds: usize, noise: f64, seed: u64, course: &dyn Fn(f64) -> f64| {
        let mut random = fastrand::Rng::with_seed(seed);
        let count =
            |at: usize| 1000.0 * course(at as f64 / seconds as f64) * (1.0 + noise * normal(&mut random));
        let counts: Vec<u64> = (0..seconds).map(count).map(|count| count.max(0.0) as u64).collect();
        told(&counted(&counts, false))
    };
    let courses: [(&str, usize, &Course); 4] = [
        ("a line", 14, &|t| 1.0 - 0.65 * t),
        ("an approach", 14, &|t| 0.3 + 0.7 * (-3.0 * t).exp()),
        ("a hyperbola", 14, &|t| 1.0 / (1.0 + 2.0 * t)),
        // Its first half has to have twelve intervals.
        ("a fall that ends", 24, &|t| (1.0 - 1.6 * t).max(0.15)),
    ];
    for (name, least, course) in courses {
        for seconds in [14, 16, 20, 24, 28].into_iter().filter(|&seconds| seconds >= least) {
            let missed = (0..20).filter(|&seed| of(seconds, 0.02, seed, course).is_empty()).count();
            assert!(missed <= 1, "{missed} of 20 in {seconds} s: {name}");
        }
    }
}

/// Operations that all take as long and end together are no stalls, although nothing ends between them.
#[test]
fn a_slow_device_does_not_stall() {
    for seed in 0..20 {
        let draw = |random: &mut fastrand::Rng, _: u32| 4.0 + 0.001 * random.f64();
        let found = told(&simulated(64, 120, seed, &draw, &[]));
        assert!(found.iter().all(|one| !one.starts_with("stall")), "{found:#?}, seed {seed}");
    }
}

/// A record whose first seconds are a ramp, the rest at such rates.
fn behind_a_ramp(ramp: usize, counts: &[u64]) -> Record {
    let mut record = counted(counts, false);
    for interval in &mut record.steps[0].intervals[..ramp] {
        interval.phase = Phase::Ramp;
    }
    let start = record.steps[0].intervals[ramp].start;
    let finished = record.steps[0].finished.as_mut().expect("it has ended");
    finished.streams[0].workers[0].start = start;
    record
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "constructed counts")]
fn steady(seconds: usize, rate: f64, seed: u64) -> Vec<u64> {
    let mut random = fastrand::Rng::with_seed(seed);
    (0..seconds).map(|_| (rate + rate.sqrt() * normal(&mut random)).max(0.0) as u64).collect()
}

#[test]
fn a_stall_across_the_end_of_the_ramp_is_no_warm_up() {
    for seed in 0..20 {
        let mut counts = steady(65, 4000.0, seed);
        counts[4..7].fill(0);
        let stalled = behind_a_ramp(5, &counts);
        let expect = "stall: throughput stopped once for about 2.00 s, at 5 s: what was in flight had begun in the ramp";
        assert_eq!(told(&stalled), [expect], "seed {seed}");
        // It ends within an interval.
        counts[7] /= 2;
        let found = told(&behind_a_ramp(5, &counts));
        assert!(
            found.len() == 1 && found[0].starts_with("stall: throughput stopped once for about 2."),
            "{found:#?}"
        );
        // Nothing was in flight: there was no load yet.
        let mut idle = stalled;
        idle.steps[0].intervals.iter_mut().for_each(|one| one.tally.in_flight_ns = 0.0);
        let found = told(&idle);
        assert!(found.iter().all(|one| !one.starts_with("stall")), "{found:#?}, seed {seed}");
    }
    // Neither is what is merely rare or steady.
    for rate in [1.0, 5.0, 20.0, 1000.0] {
        let alarms =
            (0..200).filter(|&seed| !told(&behind_a_ramp(5, &steady(65, rate, seed))).is_empty()).count();
        assert!(alarms <= 2, "{alarms} of 200 at {rate}");
    }
}

/// A queue that takes three seconds to pass ends nothing in the first three of what counts.
#[test]
fn what_the_ramp_left_in_a_deep_queue_is_no_stall() {
    for seed in 0..20 {
        let mut counts = steady(65, 4000.0, seed);
        counts[5..8].fill(0);
        let of = |takes_ns: u64| {
            let mut record = behind_a_ramp(5, &counts);
            for interval in &mut record.steps[0].intervals {
                let kind = &mut interval.tally.kinds[0];
                let mut service = fathom_metrics::Latency::default();
                (0..kind.operations).for_each(|_| service.record(takes_ns));
                kind.service = service.to_tally();
            }
            told(&record)
        };
        assert_eq!(of(3_000_000_000), [""; 0], "seed {seed}");
        // Operations of one second cannot be what three were spent on.
        let found = of(1_000_000_000);
        assert!(found.len() == 1 && found[0].starts_with("stall: throughput stopped once"), "{found:#?}");
    }
}

type Course = dyn Fn(f64) -> f64;

/// A smooth dip is one wherever it lies, and no fall or rise; what goes somewhere is none, however noisy.
#[test]
fn a_smooth_dip_is_a_wave_wherever_it_lies() {
    let of = |seconds: usize, noise: f64, seed: u64, course: &dyn Fn(f64) -> f64| {
        let mut random = fastrand::Rng::with_seed(seed);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "constructed counts")]
        let counts: Vec<u64> = (0..seconds)
            .map(|at| (1000.0 * course(at as f64 + 0.5) * (1.0 + noise * normal(&mut random))) as u64)
            .collect();
        told(&counted(&counts, false))
    };
    for (seconds, centre) in [(120, 30.0), (120, 40.0), (120, 60.0), (120, 80.0), (150, 40.0), (140, 60.0)] {
        for width in [10.0, 15.0, 25.0] {
            for (noise, seed) in [(0.0, 0), (0.01, 1), (0.01, 2)] {
                let dip = |at: f64| 1.0 / (1.0 + (-((at - centre) / width).powi(2) / 2.0).exp());
                // One that begins far down goes somewhere as well.
                if dip(0.0) < 0.8 {
                    continue;
                }
                let found = of(seconds, noise, seed, &dip);
                let is_wave = |one: &String| {
                    one.starts_with("drift: throughput went up and down smoothly, between ")
                        || one.starts_with("drift: throughput fell smoothly from ")
                            && one.contains("and came back")
                };
                let place = format!("{found:#?}: {width} at {centre} of {seconds} s, {noise}, seed {seed}");
                assert!(found.len() == 1 && is_wave(&found[0]), "{place}");
            }
        }
    }
    let courses: [(&str, &Course); 4] = [
        ("a line", &|at| 1.0 - 0.2 * at / 120.0),
        ("a steep line", &|at| 1.0 - 0.7 * at / 120.0),
        ("an approach", &|at| 1.0 - 0.6 * (-at / 40.0).exp()),
        ("a bend", &|at| 1.0 - 0.4 * (at / 120.0).powi(2)),
    ];
    for (name, course) in courses {
        for noise in [0.01, 0.05] {
            let waves = (0..100)
                .filter(|&seed| of(120, noise, seed, course).iter().any(|one| one.contains("smoothly")));
            let count = waves.count();
            assert!(count <= 1, "{count} of 100 with {noise}: {name}");
        }
    }
    for seconds in [30, 60, 120] {
        let waves = (0..200)
            .filter(|&seed| of(seconds, 0.05, seed, &|_| 1.0).iter().any(|one| one.contains("drift")));
        let count = waves.count();
        assert!(count <= 2, "{count} of 200 in {seconds} s");
    }
}

/// A first level that keeps coming back is no warm-up, however brief it is.
#[test]
fn a_level_that_keeps_coming_back_is_no_warm_up() {
    for seed in 0..20 {
        let mut random = fastrand::Rng::with_seed(seed);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "constructed counts")]
        let counts: Vec<u64> = (0..180)
            .map(|at| {
                let level = if f64::from(at) % 30.7 < 10.24 { 989.0 } else { 506.0 };
                (level + 2.0 * normal(&mut random)).round() as u64
            })
            .collect();
        let found = told(&counted(&counts, false));
        assert_eq!(found.len(), 1, "{found:#?}, seed {seed}");
        assert!(
            found[0].starts_with("level-returned: throughput goes to and fro between 50")
                && found[0].contains(" 11 changes from 11 s "),
            "{found:#?}, seed {seed}"
        );
    }
}

/// Of what goes on without waiting for it, as a job that pauses: no rate is below 0, and none is a stop.
#[test]
fn a_level_of_nothing_is_told_as_a_stop() {
    for seed in 0..5 {
        let mut counts = steady(300, 4000.0, seed);
        [30..45, 80..95, 150..190, 230..245].into_iter().for_each(|stop| counts[stop].fill(0));
        let found = told(&counted(&counts, false));
        assert_eq!(found.len(), 1, "{found:#?}, seed {seed}");
        let expect = "level-returned: throughput stops and comes back to ";
        assert!(found[0].starts_with(expect) && found[0].contains(" IOPS over and over: "), "{found:#?}");
        let mut once = steady(100, 4000.0, seed);
        once[60..].fill(0);
        let found = told(&counted(&once, false));
        assert!(found[0].starts_with("cliff: at 60 s throughput stopped, from "), "{found:#?}");
    }
}

/// An operation that fails in the ramp ends a step before anything is measured.
#[test]
fn errors_in_a_ramp_are_told() {
    let mut early = record(&[base()]);
    let step = &mut early.steps[0];
    step.intervals.truncate(1);
    step.intervals[0].phase = Phase::Ramp;
    step.intervals[0].tally.kinds[0].errors = vec![(5, 1)];
    let finished = step.finished.as_mut().unwrap();
    finished.stop = Stop::IoErrors;
    finished.streams[0].workers[0].tally = StreamTally::default();
    let all = findings(&early);
    let one = all.iter().find(|one| one.id == "errors.io").expect("the ramp has one");
    assert_eq!(
        (one.severity, one.evidence.as_str()),
        (Severity::Invalid, "1 of the ramp's operations failed: EIO × 1")
    );
}

#[test]
fn sums_that_stand_for_intervals_are_told() {
    let mut record = record(&[StreamShape { seconds: 64, ..base() }]);
    let is_told = |record: &Record| findings(record).iter().any(|finding| finding.id == "behaviour.summed");
    assert!(!is_told(&record));
    // What was in flight when the time was up took long.
    let mut drained = record.clone();
    let last = drained.steps[0].intervals.last_mut().expect("there are some");
    last.end = last.end.after(fathom_units::Nanos::secs(5));
    assert!(!is_told(&drained));
    // The only one as well.
    drained.steps[0].intervals.truncate(1);
    let only = &mut drained.steps[0].intervals[0];
    only.end = only.start.after(fathom_units::Nanos::secs(5));
    drained.steps[0].started.step.streams[0].limits.time = TimeLimit::Nanoseconds(1_000_000_000);
    assert!(!is_told(&drained));
    let intervals = &mut record.steps[0].intervals;
    let edge = intervals[16].start;
    intervals.drain(1..16);
    intervals[0].end = edge;
    assert!(is_told(&record));
}

/// Stalls in intervals next to one another are told one by one, and a long one is told as one.
#[test]
fn stalls_beside_one_another_are_told_apart() {
    for stalls in [
        &[(10.0, 0.25), (11.0, 0.25), (12.0, 0.25)][..],
        &[(10.5, 0.25), (11.5, 0.25)],
        &[(10.0, 0.7), (11.0, 0.7), (12.0, 0.7), (13.0, 0.7)],
        &[(10.2, 0.5), (11.1, 0.3)],
        &[(10.9, 0.4), (12.2, 1.0)],
        &[(10.3, 3.0)],
        &[(10.6, 1.3)],
    ] {
        let longest = stalls.iter().map(|stall| stall.1).fold(0.0, f64::max);
        let expect = match stalls.len() {
            1 => "stall: throughput stopped once for about ".to_owned(),
            count => format!("stall: throughput stopped {count} times, at the longest for about "),
        };
        for (slots, seed) in [(1, 1), (1, 2), (8, 3), (8, 4), (16, 5), (16, 6)] {
            let found = told(&loop_of(slots, 30, seed, stalls));
            let place = format!("{found:#?}: {stalls:?}, {slots} slots, seed {seed}");
            assert_eq!(found.len(), 1, "{place}");
            let rest = found[0].strip_prefix(&expect).unwrap_or_else(|| panic!("{place}"));
            let mut words = rest.split([' ', ',']);
            let figure: f64 = words.next().unwrap().parse().unwrap();
            let seconds = if words.next() == Some("ms") { figure / 1000.0 } else { figure };
            // An operation that waited has its own time beside.
            assert!((seconds - longest).abs() <= 0.05 * longest + 0.03, "{place}");
        }
    }
}

/// What takes longer for a while does not stop, though in each interval something took as long as a stop would: it is a dip.
#[test]
fn slow_operations_are_no_stalls() {
    for (slots, takes_ms, seconds) in [(64, 300, 3), (64, 200, 4), (32, 160, 3), (64, 400, 2)] {
        for seed in 0..5 {
            let mut random = fastrand::Rng::with_seed(seed);
            let counts: Vec<u64> = (0..30).map(|_| random.u64(12_700..12_900)).collect();
            let mut record = counted(&counts, false);
            for interval in &mut record.steps[0].intervals[10..10 + seconds] {
                let kind = &mut interval.tally.kinds[0];
                kind.operations = slots * 1000 / takes_ms;
                kind.service.moments.max_ns = takes_ms * 1_000_000;
            }
            let found = told(&record);
            let expect = format!("for about {seconds}.00 s, at 10 s, where ");
            let place = format!("{found:#?}: {takes_ms} ms, {slots} slots, seed {seed}");
            assert!(found.len() == 1 && found[0].starts_with("dip: throughput fell to "), "{place}");
            assert!(found[0].contains(&expect), "{place}");
        }
    }
}

/// Streams beside one another, each a closed loop at about 4,000/s on a device of its own, the first of which has these stalls.
fn beside(streams: usize, slots: u32, seed: u64, stalls: &[(f64, f64)]) -> Record {
    let seconds = 60;
    let names = ["s0", "s1", "s2", "s3"];
    let shape = |name: &&'static str| StreamShape {
        name,
        rates: vec![(fathom_schema::OperationKind::Read, 1)],
        seconds: seconds as u64,
        queue_depth: slots,
        ..StreamShape::default()
    };
    let mut all = record(&names[..streams].iter().map(shape).collect::<Vec<_>>());
    let step = &mut all.steps[0];
    for which in 0..streams {
        let own = loop_of(slots, seconds, seed + which as u64, if which == 0 { stalls } else { &[] });
        let mut total = StreamTally::default();
        let intervals = step.intervals.iter_mut().filter(|interval| interval.stream as usize == which);
        for (interval, measured) in intervals.zip(&own.steps[0].intervals) {
            interval.tally = measured.tally.clone();
            fathom_metrics::merge_tally(&mut total, &measured.tally);
        }
        step.finished.as_mut().expect("it ended").streams[which].workers[0].tally = total;
    }
    all
}

/// What all do together falls by a part, and says neither how long the one stood still nor that the others did not.
#[test]
fn a_stream_that_stops_beside_others_is_named() {
    for (streams, slots) in [(2, 1), (2, 4), (3, 4), (4, 4)] {
        for seed in 0..3 {
            let found = told(&beside(streams, slots, seed * 10, &[(30.0, 5.0)]));
            let place = format!("{found:#?}, {streams} streams, {slots} slots, seed {seed}");
            assert_eq!(found.len(), 1, "{place}");
            let begin = "stall: stream s0 stopped, while others went on, once for about ";
            let rest = found[0].strip_prefix(begin).unwrap_or_else(|| panic!("{place}"));
            let length: f64 = rest.split(" s").next().and_then(|told| told.parse().ok()).expect("a length");
            assert!((length - 5.0).abs() < 0.1 && rest.contains(", at 30"), "{place}");
        }
    }
    let found = told(&beside(2, 4, 1, &[(20.0, 20.0)]));
    assert!(
        found.len() == 1 && found[0].contains("stream s0 stopped") && found[0].contains("about 20.0 s"),
        "{found:#?}"
    );
    assert_eq!(told(&beside(4, 4, 1, &[])), [] as [String; 0]);
    // What a worker told late, long after the others, is of the interval that it began in.
    let mut made = beside(2, 4, 1, &[(20.0, 20.0)]);
    let step = &mut made.steps[0];
    let whole =
        step.intervals.iter_mut().find(|one| one.stream == 0 && one.sequence == 50).expect("it is measured");
    let own = &mut whole.tally.kinds[0];
    let part = own.operations / 4;
    own.operations -= part;
    let mut late = Interval { late: true, ..whole.clone() };
    late.tally.kinds[0].operations = part;
    step.intervals.push(late);
    let found = told(&made);
    assert!(
        found.iter().any(|one| one.contains("stream s0 stopped") && one.contains("about 20.0 s")),
        "{found:#?}"
    );
}

/// One of four devices that a stream goes to.
#[test]
fn a_stall_of_a_part_of_what_a_stream_goes_to_is_no_stop_of_all() {
    let mut all = beside(4, 4, 1, &[(12.0, 4.0), (30.0, 5.0)]);
    let parts: Vec<_> = all.steps[0].intervals.drain(60..).collect();
    for (at, part) in parts.into_iter().enumerate() {
        fathom_metrics::merge_tally(&mut all.steps[0].intervals[at % 60].tally, &part.tally);
    }
    let step = &mut all.steps[0];
    step.started.step.streams.truncate(1);
    step.finished.as_mut().expect("it ended").streams.truncate(1);
    let found = told(&all);
    let begin = "stall: throughput fell to 75 % of what is usual 2 times, at the longest for about 5.0";
    assert!(found.len() == 1 && found[0].starts_with(begin), "{found:#?}");
}
