//! Findings about behaviour over time and about what lies around a measurement, each provoked on a constructed record.

use super::{base, check};
use crate::sample::{StreamShape, on_file, record};
use crate::validity::findings;
use fathom_schema::{EnvironmentFact, Finding, OperationKind, Record, Severity};
use fathom_units::Bytes;

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
    check_rates(&noisy(&[(20, 10_000), (5, 2_000)]), &[], "");
    check_rates(
        &noisy(&[(150, 10_000), (100, 3_000)]),
        &["behaviour.cliff"],
        "at 150 s throughput went from 10.1k to 3027",
    );
    check_rates(&noisy(&[(100, 10_000), (100, 8_000)]), &["behaviour.level-changed"], "at 100 s");
    check_rates(
        &noisy(&[(10, 2_000), (190, 10_000)]),
        &["behaviour.warm-up"],
        "the first 10 s are 80 % below",
    );
    let drifting: Vec<u64> =
        noisy(&[(300, 10_000)]).iter().enumerate().map(|(i, r)| r - 5 * i as u64).collect();
    check_rates(&drifting, &["behaviour.drift"], "throughput fell by 16 %");
    let stalling: Vec<u64> = noisy(&[(300, 10_000)])
        .iter()
        .enumerate()
        .map(|(i, &r)| if i % 30 == 29 { 500 } else { r })
        .collect();
    check_rates(&stalling, &["behaviour.stalls"], "10 times, about every 30 s");
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
fn counted(counts: &[u64], is_open: bool) -> Record {
    let mean = counts.iter().sum::<u64>() / counts.len() as u64;
    let rates = vec![(OperationKind::Read, mean.max(1))];
    let mut whole = record(&[StreamShape { rates, seconds: counts.len() as u64, ..base() }]);
    let step = &mut whole.steps[0];
    for (interval, &count) in step.intervals.iter_mut().zip(counts) {
        let kind = &mut interval.tally.kinds[0];
        kind.operations = count;
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

fn behaviour(record: &Record) -> Vec<Finding> {
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
            assert_eq!(
                found.iter().map(|one| one.id.as_str()).collect::<Vec<_>>(),
                ["behaviour.stall"],
                "{told:?}, {rate}/s, {length} s at {at} s, seed {seed}"
            );
            // A second beside it may have been lean as well.
            let near = at.saturating_sub(3)..=at;
            assert!(
                near.clone().any(|at| told[0].contains(&format!("at {at} s"))),
                "{told:?}, not at {at} s"
            );
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
        ["behaviour.stall: throughput stopped once for about 1.99 s, at 20 s: an operation took 2.00 s then"]
    );
    // Two that come anyhow.
    let mut twice = stalled.clone();
    stall(&mut twice, 90, 5);
    assert!(told(&twice)[0].contains("stopped 2 times, at the longest for about 5.00 s, at 90 s"));
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
        &[("io.max", "/outer: 8:0 rbps=1048576 wbps=max")],
        &[("cgroup.io-limit", Severity::Warn)],
    );
    with("cgroup", &[("io.max", "8:0 rbps=max wbps=max")], &[]);
    with("cgroup", &[("blkio.throttle.read_bps_device", "8:0 4096")], &[("cgroup.io-limit", Severity::Warn)]);
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
    assert_eq!(file(16, false, read, 50), ["target.unwritten"]);
    assert_eq!(file(64, false, read, 50), [] as [&str; 0]);
    assert_eq!(file(0, true, read, 50), [] as [&str; 0], "fathom fills what it made");
    assert_eq!(file(16, false, write, 50), [] as [&str; 0]);
    assert_eq!(file(64, false, write, 2), ["filesystem.nearly-full"]);
    assert_eq!(file(64, false, read, 2), [] as [&str; 0]);
}
