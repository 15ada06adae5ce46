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
