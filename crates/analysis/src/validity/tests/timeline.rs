//! Findings about behaviour over time and about what lies around a measurement, each provoked on a constructed record.

use super::{base, check};
use crate::sample::{StreamShape, on_file, record};
use crate::validity::findings;
use fathom_schema::{EnvironmentFact, Finding, OperationKind, Record, Severity};
use fathom_units::{Bytes, Nanos};

/// A record of this many reads per second, second by second.
fn timeline(rates: &[u64]) -> Record {
    let mut whole = record(&[StreamShape { seconds: rates.len() as u64, ..base() }]);
    let tallies: Vec<_> = rates
        .iter()
        .map(|&rate| {
            let one =
                record(&[StreamShape { rates: vec![(OperationKind::Read, rate)], seconds: 1, ..base() }]);
            one.steps[0].intervals[0].tally.clone()
        })
        .collect();
    for (interval, tally) in whole.steps[0].intervals.iter_mut().zip(tallies) {
        interval.tally = tally;
    }
    whole
}

/// As [`timeline`], in an open loop that keeps up, or in one that gave arrivals up.
fn offered(rates: &[u64], dropped: u64) -> Record {
    let mut whole = timeline(rates);
    let step = &mut whole.steps[0];
    step.started.step.streams[0].pacing = super::open(1000.0);
    let tally = &mut step.finished.as_mut().expect("it has ended").streams[0].workers[0].tally;
    tally.arrivals = tally.kinds[0].operations + dropped;
    tally.arrivals_dropped = dropped;
    // As many come due all the time: what is not done is given up.
    let most = rates.iter().copied().max().unwrap_or(0);
    for interval in &mut step.intervals {
        interval.tally.arrivals = if dropped > 0 { most } else { interval.tally.kinds[0].operations };
    }
    whole
}

/// Rates with a little noise, which is the same each time.
fn noisy(parts: &[(usize, u64)]) -> Vec<u64> {
    let levels = parts.iter().flat_map(|&(count, level)| std::iter::repeat_n(level, count));
    levels.enumerate().map(|(i, level)| level + (i as u64 * 7919) % (level / 50).max(1)).collect()
}

#[test]
fn behaviour_over_time() {
    let check_rates = |rates: &[u64], expect: &[&str], says: &str| {
        // The device's counters are still those of the sound record.
        let all = findings(&timeline(rates)).into_iter();
        let found: Vec<Finding> = all.filter(|finding| finding.id.starts_with("behaviour.")).collect();
        let names: Vec<&str> = found.iter().map(|f| f.id.as_str()).collect();
        assert_eq!(names, expect, "{found:#?}");
        assert!(found.iter().all(|f| f.evidence.contains(says)), "{found:#?}");
    };
    check_rates(&noisy(&[(200, 10_000)]), &[], "");
    // Short runs have levels too; one of fewer than ten seconds says nothing of its course.
    check_rates(
        &noisy(&[(20, 10_000), (5, 2_000)]),
        &["behaviour.cliff"],
        "at 20 s throughput went from 10.1k",
    );
    check_rates(&noisy(&[(5, 10_000), (4, 2_000)]), &[], "");
    check_rates(
        &noisy(&[(30, 10_000), (30, 5_000)]),
        &["behaviour.cliff"],
        "at 30 s throughput went from 10.1k",
    );
    check_rates(&noisy(&[(9, 4_000), (15, 10_000)]), &["behaviour.level-changed"], "at 9 s");
    check_rates(
        &noisy(&[(150, 10_000), (100, 3_000)]),
        &["behaviour.cliff"],
        "at 150 s throughput went from 10.1k to 3027",
    );
    check_rates(&noisy(&[(100, 10_000), (100, 8_000)]), &["behaviour.level-changed"], "at 100 s");
    check_rates(
        &noisy(&[(10, 2_000), (190, 10_000)]),
        &["behaviour.warm-up"],
        "warm-up of about 10 s: throughput is 80 % below the rest then",
    );
    // What comes later is no part of it: a warm-up and a cliff are told both.
    check_rates(
        &noisy(&[(20, 4_000), (180, 10_000), (60, 6_000)]),
        &["behaviour.warm-up", "behaviour.cliff"],
        " ",
    );
    let drifting: Vec<u64> =
        noisy(&[(300, 10_000)]).iter().enumerate().map(|(i, r)| r - 5 * i as u64).collect();
    check_rates(&drifting, &["behaviour.drift"], "throughput fell by 15 %");
    // However steep: no cliff is in it.
    let steep: Vec<u64> = noisy(&[(60, 10_000)]).iter().zip(0..).map(|(r, i)| r - 120 * i).collect();
    check_rates(&steep, &["behaviour.drift"], "throughput fell by 70 %");
    let stalling: Vec<u64> = noisy(&[(300, 10_000)])
        .iter()
        .enumerate()
        .map(|(i, &r)| if i % 30 == 29 { 500 } else { r })
        .collect();
    check_rates(
        &stalling,
        &["behaviour.stalls"],
        "throughput fell every 30.0 s, by what is done in 950 ms otherwise: 10 times from 29 s to 299 s",
    );
    // What arrivals make of throughput is no behaviour of the device, unless it did not keep up.
    let cliff = noisy(&[(150, 10_000), (100, 3_000)]);
    for (dropped, expect) in [(0, 0), (1000, 1)] {
        let found = findings(&offered(&cliff, dropped));
        assert_eq!(found.iter().filter(|one| one.id == "behaviour.cliff").count(), expect, "{found:#?}");
    }
    // Bursts within bursts: of each length from one second to half of all one that is a hundredth up or down.
    let sign = |i: usize, octave: u32| {
        let mixed = ((i >> octave) as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ u64::from(octave) << 17);
        if mixed.count_ones().is_multiple_of(2) { 1 } else { -1 }
    };
    let bursts: Vec<u64> = (0..1024)
        .map(|i| (0..9).fold(10_000_u64, |rate, octave| rate.saturating_add_signed(60 * sign(i, octave))))
        .collect();
    check_rates(&bursts, &["behaviour.memory"], "bursts within bursts: its Hurst exponent is 0.");
}

/// Counts that come at random: events of a Poisson process in each second (Knuth 1969, 3.4.1).
fn random_counts(rate: f64, seconds: usize, random: &mut fastrand::Rng) -> Vec<u64> {
    let count = |_| {
        let mut product = random.f64();
        let mut events = 0;
        while product > (-rate).exp() {
            product *= random.f64();
            events += 1;
        }
        events
    };
    (0..seconds).map(count).collect()
}

/// A record of these counts, second by second, whose slowest operation takes 20 ms; in an open loop or a closed one.
pub(super) fn counted(counts: &[u64], is_open: bool) -> Record {
    let mean = counts.iter().sum::<u64>() / counts.len() as u64;
    let rates = vec![(OperationKind::Read, mean.max(1))];
    let mut whole = record(&[StreamShape { rates, seconds: counts.len() as u64, ..base() }]);
    let step = &mut whole.steps[0];
    for (interval, &count) in step.intervals.iter_mut().zip(counts) {
        let kind = &mut interval.tally.kinds[0];
        kind.operations = count;
        kind.bytes = count * 4096;
        kind.service.moments.max_ns = 20_000_000;
    }
    let all: u64 = counts.iter().sum();
    let tally = &mut step.finished.as_mut().expect("it has ended").streams[0].workers[0].tally;
    tally.kinds[0].operations = all;
    if is_open {
        step.started.step.streams[0].pacing = super::open(mean as f64);
        // The last is under way when time is up.
        tally.arrivals = all + 1;
    }
    whole
}

/// Nothing is completed for so many seconds, and what was under way waits for as long.
fn stall(record: &mut Record, at: usize, seconds: usize) {
    let intervals = &mut record.steps[0].intervals;
    for interval in &mut intervals[at..at + seconds] {
        interval.tally.kinds[0].operations = 0;
        interval.tally.kinds[0].service.moments.max_ns = 0;
    }
    intervals[at + seconds].tally.kinds[0].service.moments.max_ns = seconds as u64 * 1_000_000_000;
}

pub(super) fn behaviour(record: &Record) -> Vec<Finding> {
    findings(record).into_iter().filter(|finding| finding.id.starts_with("behaviour.")).collect()
}

/// Two hundred plain streams of each rate: at most one in a hundred has any finding about its course.
#[test]
fn random_counts_are_no_behaviour() {
    for is_open in [false, true] {
        for rate in [5.0, 10.0, 20.0, 50.0, 100.0] {
            let alarms: Vec<String> = (0..200)
                .flat_map(|seed| {
                    let mut random = fastrand::Rng::with_seed(seed);
                    let seconds = if seed % 4 == 0 { 300 } else { 60 };
                    behaviour(&counted(&random_counts(rate, seconds, &mut random), is_open))
                })
                .map(|finding| format!("{}: {}", finding.id, finding.evidence))
                .collect();
            assert!(alarms.len() <= 2, "{} of 200 at {rate}/s, open {is_open}: {alarms:#?}", alarms.len());
        }
    }
}

/// The same streams with one stall each: all are found, where and as long as they are.
#[test]
fn one_stall_is_found_among_random_counts() {
    for (rate, length) in [(5.0, 6), (10.0, 3), (20.0, 2), (100.0, 1)] {
        for seed in 0..50 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut record = counted(&random_counts(rate, 60, &mut random), seed % 2 == 0);
            let at = random.usize(1..50);
            stall(&mut record, at, length);
            let found = behaviour(&record);
            let told: Vec<&str> = found.iter().map(|one| one.evidence.as_str()).collect();
            let ids: Vec<&str> = found.iter().map(|one| one.id.as_str()).collect();
            assert_eq!(ids, ["behaviour.stall"], "{told:?}, {rate}/s, {length} s at {at} s, seed {seed}");
            // A second beside it may have been lean as well.
            let (_, place) = told[0].split_once(" at ").or(told[0].split_once(" between ")).expect("a place");
            let told_at: f64 = place.split(" s").next().and_then(|at| at.parse().ok()).expect("seconds");
            assert!((at as f64 - 3.0..=at as f64).contains(&told_at), "{told:?}, not at {at} s");
        }
    }
}

#[test]
fn a_stall_is_told_with_its_time_and_length() {
    let told = |record: &Record| -> Vec<String> {
        behaviour(record).iter().map(|one| format!("{}: {}", one.id, one.evidence)).collect()
    };
    let mut stalled = counted(&noisy(&[(120, 10_000)]), false);
    stall(&mut stalled, 42, 3);
    assert_eq!(
        told(&stalled),
        ["behaviour.stall: throughput stopped once for about 3.00 s, at 42 s: an operation took 3.00 s then"]
    );
    // Within a second: a third of it is missing, and something waited for as long.
    let mut brief = counted(&noisy(&[(12, 10_000)]), false);
    let kind = &mut brief.steps[0].intervals[5].tally.kinds[0];
    (kind.operations, kind.service.moments.max_ns) = (6_600, 340_000_000);
    assert!(told(&brief)[0].contains("once for about 34"), "{:?}", told(&brief));
    // As few, while nothing waited: slower, but no stall.
    brief.steps[0].intervals[5].tally.kinds[0].service.moments.max_ns = 25_000_000;
    assert_eq!(told(&brief), [] as [&str; 0]);
    // An interval that came late, as a worker that is stuck leaves it: it is as long as three.
    let mut late = counted(&noisy(&[(60, 10_000)]), false);
    let intervals = &mut late.steps[0].intervals;
    (intervals[20].end, intervals[20].late) = (intervals[22].end, true);
    intervals[20].tally.kinds[0].service.moments.max_ns = 2_000_000_000;
    intervals.drain(21..23);
    assert_eq!(
        told(&late),
        [
            "behaviour.stall: throughput stopped once for about 1.99 s, begun between 18.0 s and 21.0 s: an operation took 2.00 s then"
        ]
    );
    // Two that come anyhow.
    let mut twice = stalled.clone();
    stall(&mut twice, 90, 5);
    assert!(told(&twice)[0].contains("stopped 2 times, at the longest for about 5.00 s, at 90 s"));
}

/// It lasts for longer than is left, which may be most of it: what is in flight ends after the window, and is in its last interval.
#[test]
fn a_stall_that_outlasts_the_window_is_told_in_full() {
    let of = |from: usize, slowest_s: u64, in_last: u64| {
        let mut stalled = counted(&noisy(&[(10, 10_000)]), false);
        for interval in &mut stalled.steps[0].intervals[from..] {
            interval.tally.kinds[0].operations = 0;
        }
        let last = &mut stalled.steps[0].intervals[9].tally.kinds[0];
        (last.operations, last.service.moments.max_ns) = (in_last, slowest_s * 1_000_000_000);
        behaviour(&stalled).iter().map(|one| format!("{}: {}", one.id, one.evidence)).collect::<Vec<_>>()
    };
    for (from, lasted) in [(4, "6.0"), (2, "8.0"), (7, "3.0"), (8, "2.0")] {
        let found = of(from, 100, 4);
        let (begun, told) =
            (format!("at {from} s and did not come back"), "took 1 min 40 s, and ended only after");
        assert_eq!(found.len(), 1, "{found:?}");
        let is_told = found[0].contains(&begun) && found[0].contains(told);
        let about = found[0].split("for about ").nth(1).unwrap().split(' ').next().unwrap();
        let about: f64 = about.parse().unwrap();
        assert!(is_told && (about - lasted.parse::<f64>().unwrap()).abs() < 0.1, "{found:?}");
    }
    // One that ends within it.
    let found = of(7, 2, 5_000);
    assert!(found.iter().all(|one| !one.contains("did not come back")), "{found:?}");
}

/// Nothing is completed for so long from each of these moments on, all in seconds, and what was under way waits for as long.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "constructed counts and times")]
fn stall_at(record: &mut Record, moments: impl Iterator<Item = f64>, length: f64) {
    let intervals = &mut record.steps[0].intervals;
    for begin in moments {
        let end = begin + length;
        for (at, interval) in intervals.iter_mut().enumerate() {
            let (from, to) = (at as f64, at as f64 + 1.0);
            let kind = &mut interval.tally.kinds[0];
            let stopped = (end.min(to) - begin.max(from)).max(0.0);
            kind.operations -= (kind.operations as f64 * stopped).round() as u64;
            if (from..to).contains(&end) {
                let waited = (length * 1e9) as u64;
                kind.service.moments.max_ns = kind.service.moments.max_ns.max(waited);
            }
        }
    }
}

/// Stalls every ten seconds: one statement, with their length, their distance and marks on the time line.
/// Stalls of a load at 2,000/s on a device that does 4,000: nothing in them, all that came meanwhile behind them, in tenths of a
/// second.
fn made_up_for(seconds: u64, stalls: &[(u64, u64)]) -> Vec<String> {
    let (mut waiting, mut counts) = (0_u64, vec![0_u64; usize::try_from(seconds).unwrap()]);
    let mut ends = Vec::new();
    for tenth in 0..seconds * 10 {
        waiting += 200;
        let is_stalled = stalls.iter().any(|(at, length)| (*at..at + length).contains(&tenth));
        let done = if is_stalled { 0 } else { waiting.min(400) };
        waiting -= done;
        counts[usize::try_from(tenth / 10).unwrap()] += done;
        ends.extend(
            stalls.iter().filter(|(at, length)| at + length == tenth).map(|(_, length)| (tenth, *length)),
        );
    }
    let mut record = counted(&counts, true);
    for (tenth, length) in ends {
        let interval = &mut record.steps[0].intervals[usize::try_from(tenth / 10).unwrap()];
        interval.tally.kinds[0].service.moments.max_ns = length * 100_000_000 + 5_000_000;
    }
    behaviour(&record).iter().map(|one| format!("{}: {}", one.id, one.evidence)).collect()
}

#[test]
fn stalls_at_a_rate_are_as_long_as_what_waited_for_them() {
    let regular =
        |first: u64, length: u64| -> Vec<(u64, u64)> { (0..11).map(|k| (first + k * 100, length)).collect() };
    for (first, length, expect) in [
        (
            50,
            30,
            "stalls of about 3.00 s every 10.0 s, an operation took up to 3.00 s then: 11 times from 5 s to 105 s",
        ),
        (
            55,
            30,
            "stalls of about 3.00 s every 10.0 s, an operation took up to 3.00 s then: 11 times from 5.5 s to 105.5 s",
        ),
        (
            50,
            14,
            "stalls of about 1.40 s every 10.0 s, an operation took up to 1.40 s then: 11 times from 5 s to 105 s",
        ),
    ] {
        let told = made_up_for(120, &regular(first, length));
        let told: Vec<String> =
            told.iter().map(|one| one.replace("3.01 s", "3.00 s").replace("1.41 s", "1.40 s")).collect();
        assert_eq!(told, [format!("behaviour.stalls: {expect}")]);
    }
    let once = made_up_for(60, &[(50, 14)]);
    assert_eq!(once.len(), 1, "{once:?}");
    assert!(
        once[0].contains("once for about 1.40 s, at 5 s")
            || once[0].contains("once for about 1.41 s, at 5 s"),
        "{once:?}"
    );
}

#[test]
fn stalls_that_come_regularly_are_told_as_such() {
    let check = |seconds: usize, period: f64, length: f64, expect: &str| {
        let mut record = counted(&noisy(&[(seconds, 10_000)]), false);
        let moments =
            (0..).map(|k| 4.3 + f64::from(k) * period).take_while(|at| at + length < seconds as f64);
        stall_at(&mut record, moments, length);
        let told: Vec<String> =
            behaviour(&record).iter().map(|one| format!("{}: {}", one.id, one.evidence)).collect();
        assert_eq!(told, [expect]);
        let labels: Vec<String> = moments_of(&record);
        let first = expect.split([':', ',']).nth(1).unwrap().trim();
        assert_eq!((labels[0].as_str(), labels[1].as_str()), (first, "stall"), "{labels:?}");
    };
    check(
        60,
        10.0,
        0.2,
        "behaviour.stalls: stalls of about 201 ms every 10.0 s, an operation took up to 200 ms then: 6 times \
         from 4 s to 54 s",
    );
    // Too brief to be told one by one.
    check(
        120,
        10.0,
        0.12,
        "behaviour.stalls: stalls of about 120 ms every 10.0 s, an operation took up to 120 ms then: 12 times \
         from 4 s to 114 s",
    );
    // Each at another place within its second, some over the edge of one.
    check(
        300,
        9.7,
        0.4,
        "behaviour.stalls: stalls of about 397 ms every 9.70 s, an operation took up to 400 ms then: 31 times \
         from 4 s to 295 s",
    );
    // Longer than an interval.
    check(
        300,
        30.0,
        2.5,
        "behaviour.stalls: stalls of about 2.50 s every 30.0 s, an operation took up to 2.50 s then: 10 times \
         from 4 s to 274 s",
    );
    // Some wait, and the others go on.
    let mut some = counted(&noisy(&[(120, 10_000)]), false);
    for at in (7..120).step_by(15) {
        some.steps[0].intervals[at].tally.kinds[0].service.moments.max_ns = 700_000_000;
    }
    let told: Vec<String> = behaviour(&some).into_iter().map(|one| one.evidence).collect();
    assert_eq!(
        told,
        [
            "some operations took up to 700 ms every 15.0 s, where at most 20.0 ms is usual: 8 times from 7 s to 112 s"
        ]
    );
    // One more that comes of itself is told beside them, and so is a change of level.
    let mut both = counted(&noisy(&[(100, 10_000), (100, 5_000)]), false);
    stall_at(&mut both, (0..20).map(|k| 4.0 + f64::from(k) * 10.0), 0.5);
    stall_at(&mut both, std::iter::once(47.0), 3.0);
    let names: Vec<String> = behaviour(&both).into_iter().map(|one| one.id).collect();
    assert_eq!(names, ["behaviour.stalls", "behaviour.stall", "behaviour.cliff"]);
}

/// Noise around 10,000/s whose neighbours correlate, of this share; with a course.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "constructed counts")]
fn remembering(seconds: usize, memory: f64, share: f64, course: impl Fn(f64) -> f64, seed: u64) -> Record {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut normal = || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
    let mut off = normal();
    let counts: Vec<u64> = (0..seconds)
        .map(|at| {
            let rate = 10_000.0 * course(at as f64 / seconds as f64) * (1.0 + share * off);
            off = memory * off + (1.0 - memory * memory).sqrt() * normal();
            rate.max(0.0) as u64
        })
        .collect();
    counted(&counts, false)
}

/// How many of a hundred records have a finding about their course, by name.
fn told_of(of: impl Fn(u64) -> Record) -> std::collections::BTreeMap<String, u32> {
    let mut all = std::collections::BTreeMap::new();
    for finding in (0..100).flat_map(|seed| behaviour(&of(seed))) {
        *all.entry(finding.id).or_default() += 1;
    }
    all
}

#[test]
fn noise_that_remembers_is_no_behaviour() {
    for seconds in [24, 60, 300] {
        for memory in [0.0, 0.5, 0.7] {
            for share in [0.02, 0.1] {
                let told = told_of(|seed| remembering(seconds, memory, share, |_| 1.0, seed));
                let count: u32 = told.values().sum();
                assert!(count <= 5, "{told:?} in {seconds} s, {memory} of {share}");
            }
        }
    }
}

#[test]
fn steps_are_cliffs_and_ramps_are_drifts() {
    for seconds in [60, 120, 300] {
        for (memory, share) in [(0.0, 0.02), (0.0, 0.06), (0.4, 0.06)] {
            // By a fifth, which is more than three standard deviations, and by half.
            for (left, id) in [(0.8, "behaviour.level-changed"), (0.5, "behaviour.cliff")] {
                let course = |t: f64| if t < 0.6 { 1.0 } else { left };
                let told = told_of(|seed| remembering(seconds, memory, share, course, seed));
                let found = told.get(id).copied().unwrap_or(0);
                assert!(found >= 90, "{told:?} in {seconds} s to {left}, {memory} of {share}");
            }
            let told = told_of(|seed| remembering(seconds, memory, share, |t| 1.0 - 0.7 * t, seed));
            assert_eq!(
                told.keys().map(String::as_str).collect::<Vec<_>>(),
                ["behaviour.drift"],
                "{seconds} s"
            );
            assert!(told["behaviour.drift"] >= 90, "{told:?} in {seconds} s, {memory} of {share}");
        }
    }
}

/// Two streams of 4,000/s each: the first measures from one second to another of sixty, without a change of its own; the second
/// all the time, with this share of its rate in each second.
fn two_streams(from: u64, to: u64, course: impl Fn(u64) -> f64) -> Record {
    let shape =
        |name, seconds| StreamShape { rates: vec![(OperationKind::Read, 4_000)], name, seconds, ..base() };
    let mut whole = record(&[shape("a", to - from), shape("b", 60)]);
    let step = &mut whole.steps[0];
    for interval in &mut step.intervals {
        if interval.stream == 0 {
            interval.sequence += from;
            interval.start = Nanos::secs(interval.sequence);
            interval.end = Nanos::secs(interval.sequence + 1);
        }
        let share = if interval.stream == 0 { 1.0 } else { course(interval.sequence) };
        let noise = (interval.sequence * 53 + u64::from(interval.stream) * 13) % 80;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "constructed counts")]
        let count = (4_000.0 * share) as u64 + noise;
        interval.tally.kinds[0].operations = count;
    }
    let worker = &mut step.finished.as_mut().expect("it has ended").streams[0].workers[0];
    (worker.start, worker.end) = (Nanos::secs(from), Nanos::secs(to));
    whole
}

/// What a job starts and ends is no behaviour of the device; what the device does meanwhile is.
#[test]
fn streams_that_start_and_end_as_planned_are_no_cliff() {
    let check = |record: &Record, expect: &[&str]| {
        let told: Vec<String> =
            behaviour(record).iter().map(|one| format!("{}: {}", one.id, one.evidence)).collect();
        assert_eq!(told, expect);
    };
    let even = |_| 1.0;
    check(&two_streams(0, 60, even), &[]);
    check(&two_streams(0, 58, even), &[]);
    let apart = |of: &str, stream: &str| {
        format!("behaviour.streams-apart: its 2 streams measured all at once in {of} of 60.0 s: {stream}")
    };
    check(&two_streams(0, 10, even), &[&apart("10.0 s", "\"a\" from 0 s to 10 s")]);
    check(&two_streams(0, 30, even), &[&apart("30.0 s", "\"a\" from 0 s to 30 s")]);
    check(&two_streams(40, 60, even), &[&apart("20.0 s", "\"a\" from 40 s to 60 s")]);
    check(&two_streams(20, 40, even), &[&apart("20.0 s", "\"a\" from 20 s to 40 s")]);
    // One stream before the other.
    let mut behind = two_streams(0, 30, even);
    let step = &mut behind.steps[0];
    step.intervals.retain(|one| one.stream == 0 || one.sequence >= 30);
    step.finished.as_mut().expect("it has ended").streams[1].workers[0].start = Nanos::secs(30);
    let never =
        "behaviour.streams-apart: its 2 streams measured never all at once in 60.0 s: \"a\" from 0 s to 30 s";
    check(&behind, &[never]);
    // In the midst of an interval: it is of neither.
    let mut between = two_streams(0, 31, even);
    let step = &mut between.steps[0];
    let last =
        step.intervals.iter_mut().find(|one| one.stream == 0 && one.sequence == 30).expect("it is there");
    last.end = Nanos::millis(30_500);
    last.tally.kinds[0].operations = 2_000;
    step.finished.as_mut().expect("it has ended").streams[0].workers[0].end = Nanos::millis(30_500);
    check(&between, &[&apart("30.5 s", "\"a\" from 0 s to 30 s")]);
    // Killed before its end: what is known of streams is what their intervals say.
    let mut killed = two_streams(0, 30, even);
    killed.steps[0].finished = None;
    check(&killed, &[&apart("30.0 s", "\"a\" from 0 s to 30 s")]);
    // A worker that ends before the others is as a stream that does.
    let mut workers = two_streams(0, 60, |second| if second < 30 { 1.0 } else { 0.5 });
    let streams = &mut workers.steps[0].finished.as_mut().expect("it has ended").streams;
    let mut brief = streams[1].workers[0].clone();
    brief.end = Nanos::secs(30);
    streams[1].workers.push(brief);
    check(&workers, &[]);
    // The device's own cliff, beside the job's.
    let cliff = |second| if second < 40 { 1.0 } else { 0.4 };
    let told = "behaviour.cliff: at 40 s throughput went from 4032 to 1649 IOPS";
    check(&two_streams(0, 10, cliff), &[told, &apart("10.0 s", "\"a\" from 0 s to 10 s")]);
    // And one before it, while both go on.
    let early = |second| if second < 15 { 1.0 } else { 0.1 };
    let told = behaviour(&two_streams(0, 30, early));
    assert!(told[0].evidence.starts_with("at 15 s throughput went from 8") && told.len() == 2, "{told:#?}");
}

/// Counts at random, before and behind the end of a stream: at most one step in fifty has a finding about its course.
#[test]
fn random_counts_of_streams_that_end_apart_are_no_behaviour() {
    for rate in [10.0, 50.0] {
        let alarms = told_of(|seed| {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut record = two_streams(0, 10 + seed % 40, |_| 1.0);
            let count = record.steps[0].intervals.len();
            let counts = random_counts(rate, count, &mut random);
            for (interval, count) in record.steps[0].intervals.iter_mut().zip(counts) {
                interval.tally.kinds[0].operations = count;
                interval.tally.kinds[0].service.moments.max_ns = 20_000_000;
            }
            record
        });
        let count: u32 =
            alarms.iter().filter(|(id, _)| *id != "behaviour.streams-apart").map(|(_, n)| n).sum();
        assert!(count <= 2, "{alarms:?} at {rate}/s");
        assert_eq!(alarms["behaviour.streams-apart"], 100);
    }
}

/// Seconds at 8,000/s, and those at half of it.
fn alternating(seconds: u64, is_half: impl Fn(u64) -> bool, seed: u64) -> Record {
    let mut random = fastrand::Rng::with_seed(seed);
    let counts: Vec<u64> = (0..seconds)
        .map(|second| (if is_half(second) { 4_000 } else { 8_000 }) - 80 + random.u64(0..160))
        .collect();
    counted(&counts, false)
}

/// A level that comes back is told as such, and never as a fall that lasts: not where it has just turned when the step ends, either.
#[test]
fn levels_that_come_back_are_no_cliffs() {
    let check = |seconds: u64, is_half: &dyn Fn(u64) -> bool, expect: &[&str]| {
        for seed in 0..20 {
            let told = behaviour(&alternating(seconds, is_half, seed));
            assert_eq!(told.len(), 1, "{told:#?}, seed {seed}");
            assert_eq!(told[0].id, "behaviour.level-returned", "{told:#?}, seed {seed}");
            assert!(expect.iter().all(|part| told[0].evidence.contains(part)), "{told:#?}, seed {seed}");
        }
    };
    let brief = |second| [10..15, 30..35, 50..55].iter().any(|half| half.contains(&second));
    check(60, &brief, &["goes to and fro between ", "6 changes from 10 s to 55 s"]);
    check(120, &|second| second / 20 % 2 == 1, &["goes to and fro between ", "5 changes from 20 s to 100 s"]);
    check(120, &|second| second / 20 % 2 == 0, &["goes to and fro between "]);
    check(42, &|second| second / 10 % 2 == 1, &["goes to and fro between "]);
    check(
        60,
        &|second| (20..40).contains(&second),
        &["at 20 s throughput went from ", " and came back to ", " at 40 s"],
    );
    // Faster for a while.
    check(
        60,
        &|second| !(20..40).contains(&second),
        &["at 20 s throughput went from ", " and came back to ", " at 40 s"],
    );
    // Up in part, but not nearer to where it was: the fall lasts.
    let partly = noisy(&[(40, 10_000), (30, 3_000), (30, 4_500)]);
    let told = behaviour(&counted(&partly, false));
    assert_eq!(told[0].id, "behaviour.cliff", "{told:#?}");
    assert!(told[0].evidence.ends_with(" IOPS, and one change more"), "{told:#?}");
    // Back for a while, and then below anything before: that lasts.
    let at_last = noisy(&[(30, 10_000), (30, 5_000), (30, 10_000), (30, 2_000)]);
    let told = behaviour(&counted(&at_last, false));
    assert_eq!(told[0].id, "behaviour.cliff", "{told:#?}");
    assert!(told[0].evidence.starts_with("at 90 s"), "{told:#?}");
}

fn moments_of(record: &Record) -> Vec<String> {
    crate::validity::moments(record).into_iter().map(|moment| moment.label).collect()
}

/// Single slow moments at random, in noise: one run in fifty, at most, is said to have a rhythm.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "constructed counts and times")]
#[test]
fn slow_moments_at_random_have_no_rhythm() {
    for (share, length) in [(0.03, 60), (0.1, 60), (0.2, 60), (0.1, 300)] {
        for is_open in [false, true] {
            let alarms = (0..300)
                .filter(|&seed| {
                    let mut random = fastrand::Rng::with_seed(seed);
                    let mut record = counted(&random_counts(100.0, length, &mut random), is_open);
                    for at in 0..length {
                        if random.f64() < share {
                            let wait = 0.2 + random.f64() * 0.7;
                            let is_stall = random.bool();
                            stall_at(
                                &mut record,
                                std::iter::once(at as f64 + 0.05),
                                if is_stall { wait } else { 0.0 },
                            );
                            record.steps[0].intervals[at].tally.kinds[0].service.moments.max_ns =
                                (wait * 1e9) as u64;
                        }
                    }
                    behaviour(&record).iter().any(|finding| finding.id == "behaviour.stalls")
                })
                .count();
            assert!(alarms <= 6, "{alarms} of 300 with {share} of {length}, open {is_open}");
        }
    }
}

#[test]
fn surroundings() {
    let with = |subject: &str, facts: &[(&str, &str)], expect: &[(&str, Severity)]| {
        let mut record = record(&[base()]);
        record.started.facts.environment = facts
            .iter()
            .map(|(name, value)| EnvironmentFact {
                subject: subject.to_owned(),
                name: (*name).to_owned(),
                value: Some((*value).to_owned()),
                source: String::new(),
            })
            .collect();
        check(&record, expect);
    };
    with(
        "cgroup",
        &[("cpu.max", "50000 100000; /outer: max 100000")],
        &[("cgroup.cpu-limit", Severity::Warn)],
    );
    with("cgroup", &[("cpu.max", "max 100000; /outer: max 100000"), ("cpu.cfs_quota_us", "-1")], &[]);
    with(
        "cgroup",
        &[("io.max", "/outer: 259:0 rbps=1048576 wbps=max")],
        &[("cgroup.io-limit", Severity::Warn)],
    );
    with("cgroup", &[("io.max", "259:0 rbps=max wbps=max")], &[]);
    with(
        "cgroup",
        &[("blkio.throttle.read_bps_device", "259:0 4096")],
        &[("cgroup.io-limit", Severity::Warn)],
    );
    with("device loop0", &[("loop dio", "0")], &[("device.loop-buffered", Severity::Warn)]);
    with("device loop0", &[("loop dio", "1")], &[]);
    with("device sda1", &[("alignment", "512 bytes off 4096")], &[("device.misaligned", Severity::Warn)]);
    with("device sda1", &[("alignment", "aligned to 4096")], &[]);
    with(
        "device nvme0n1",
        &[("pcie link speed", "8.0 GT/s PCIe"), ("pcie link speed max", "16.0 GT/s PCIe")],
        &[("device.link-slow", Severity::Warn)],
    );
    with("device nvme0n1", &[("pcie link width", "4"), ("pcie link width max", "4")], &[]);
    with("device nvme0n1", &[("queue nr_requests", "2")], &[("device.queue-short", Severity::Info)]);
    with("device nvme0n1", &[("queue nr_requests", "2"), ("hardware queues", "2")], &[]);

    // A cap on a disk that is not under test is none of what is measured, alone or beside one that is.
    with("cgroup", &[("io.max", "8:0 rbps=1048576 wbps=max")], &[]);
    with("cgroup", &[("blkio.throttle.read_bps_device", "8:0 4096")], &[]);
    let mut two = record(&[base()]);
    two.started.facts.environment = vec![EnvironmentFact {
        subject: "cgroup".to_owned(),
        name: "io.max".to_owned(),
        value: Some(
            "8:0 rbps=1 wbps=max, 259:0 rbps=2 wbps=max; /outer: 8:16 rbps=3; /: 259:0 riops=4".to_owned(),
        ),
        source: String::new(),
    }];
    let evidence = |record: &Record| findings(record)[0].evidence.clone();
    assert_eq!(evidence(&two), "cgroup io.max is 259:0 rbps=2 wbps=max; /: 259:0 riops=4");
    // Which disk a volume lies on is not known; of a partition it is one with its major number.
    let device = |record: &mut Record, name: &str, disk: &str, major: u32| {
        let device = record.started.facts.targets[0].device.as_mut().unwrap();
        (device.name, device.disk) = (name.to_owned(), disk.to_owned());
        device.number.major = major;
    };
    device(&mut two, "dm-3", "dm-3", 253);
    assert!(evidence(&two).contains("8:0 rbps=1") && evidence(&two).contains("/outer: 8:16 rbps=3"));
    device(&mut two, "sdb1", "sdb", 8);
    assert_eq!(evidence(&two), "cgroup io.max is 8:0 rbps=1 wbps=max; /outer: 8:16 rbps=3");

    // A cap that was set while it was measured.
    let mut capped = record(&[base()]);
    let cap = |value: &str| EnvironmentFact {
        subject: "cgroup".to_owned(),
        name: "io.max".to_owned(),
        value: Some(value.to_owned()),
        source: String::new(),
    };
    capped.started.facts.environment = vec![cap("259:0 riops=max wiops=max")];
    capped.steps[0].finished.as_mut().unwrap().environment_changes = vec![cap("259:0 riops=500 wiops=max")];
    let told = findings(&capped);
    let limit = told.iter().find(|finding| finding.id == "cgroup.io-limit").expect("it is told");
    assert_eq!(limit.evidence, "cgroup io.max became 259:0 riops=500 wiops=max while it was measured");
    // Another one than before is told once, by the one that was.
    capped.started.facts.environment = vec![cap("259:0 riops=900 wiops=max")];
    let told = findings(&capped);
    let limit = told.iter().find(|finding| finding.id == "cgroup.io-limit").expect("it is told");
    assert_eq!(limit.evidence, "cgroup io.max is 259:0 riops=900 wiops=max");

    let mut hot = record(&[base()]);
    hot.steps[0].finished.as_mut().unwrap().environment_changes = vec![EnvironmentFact {
        subject: "cpu".to_owned(),
        name: "core throttle count".to_owned(),
        value: Some("3".to_owned()),
        source: String::new(),
    }];
    assert!(findings(&hot).iter().any(|finding| finding.id == "environment.throttled"));
}

#[test]
fn holes_and_full_filesystems() {
    let file = |written: u64, made_by_fathom: bool, kind: OperationKind, free_gib: u64| {
        let mut record = record(&[StreamShape { rates: vec![(kind, 1000)], ..base() }]);
        on_file(&mut record, Bytes::gib(64));
        let fact = &mut record.started.facts.targets[0];
        fact.file = Some(fathom_schema::FileFact {
            size: Bytes::gib(64),
            written: Bytes::gib(written),
            made_by_fathom,
            unfinished: false,
            void_mark: None,
            writable: true,
            readable: true,
            in_use: Vec::new(),
        });
        fact.filesystem = Some(fathom_schema::Filesystem {
            kind: "ext4".to_owned(),
            mount_point: "/mnt/scratch".into(),
            options: String::new(),
            size: Bytes::gib(100),
            available: Bytes::gib(free_gib),
            direct_align_bytes: Some(512),
            can_create: true,
        });
        findings(&record).iter().map(|finding| finding.id.clone()).collect::<Vec<_>>()
    };
    let (read, write) = (OperationKind::Read, OperationKind::Write);
    assert_eq!(file(1, false, read, 50), ["target.unwritten"]);
    assert_eq!(file(4, false, read, 50), [] as [&str; 0], "all that is read of it may be what is written");
    assert_eq!(file(64, false, read, 50), [] as [&str; 0]);
    assert_eq!(file(0, true, read, 50), [] as [&str; 0], "fathom fills what it made");
    assert_eq!(file(1, false, write, 50), [] as [&str; 0]);
    assert_eq!(file(64, false, write, 2), ["filesystem.nearly-full"]);
    assert_eq!(file(64, false, read, 2), [] as [&str; 0]);
}
