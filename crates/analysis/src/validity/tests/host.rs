//! Findings on what others did while a step was measured, and on what a device may do without.

use super::*;
use fathom_schema::{Filesystem, Fill, Gauges, Pressure, Temperature};

fn gauges(ticks: u64, stolen: u64, memory_us: u64, cpu_us: u64) -> Gauges {
    let pressure = |resource: &str, waited_us| Pressure { resource: resource.to_owned(), waited_us };
    Gauges {
        processor_ticks: ticks,
        stolen_ticks: stolen,
        pressure: vec![pressure("memory", memory_us), pressure("cpu", cpu_us)],
        temperatures: Vec::new(),
    }
}

/// A step of ten seconds between these.
fn between(before: Gauges, after: Gauges) -> Record {
    let mut record = record(&[base()]);
    record.steps[0].started.gauges = Some(before);
    record.steps[0].finished.as_mut().unwrap().gauges = Some(after);
    record
}

#[test]
fn what_others_took() {
    let start = || gauges(1000, 10, 500, 700);
    check(&between(start(), gauges(3000, 30, 500 + 100_000, 700 + 2_500_000)), &[]);
    for (after, id) in [
        (gauges(3000, 31, 500, 700), "host.stolen-time"),
        (gauges(3000, 10, 500 + 100_001, 700), "host.memory-pressure"),
        (gauges(3000, 10, 500, 700 + 2_500_100), "host.cpu-pressure"),
    ] {
        check(&between(start(), after), &[(id, Severity::Warn)]);
    }
    // The kernel's sums are too coarse for a second; and nothing waits for longer than a step lasts.
    let mut short = between(start(), gauges(3000, 10, 500, 700 + 2_500_100));
    short.steps[0].finished.as_mut().unwrap().elapsed = Nanos::secs(1);
    assert!(!findings(&short).iter().any(|one| one.id == "host.cpu-pressure"));
    let waited = findings(&between(start(), gauges(3000, 10, 500, 700 + 12_000_000)));
    assert!(waited.iter().any(|one| one.evidence.contains("waited for cpu in 100 % of the time")));
    // A host that counts nothing, and one that was started anew, say nothing.
    check(&between(Gauges::default(), Gauges::default()), &[]);
    check(&between(start(), gauges(0, 0, 0, 0)), &[]);
}

#[test]
fn heat() {
    let at = |now, warns_at| Gauges {
        temperatures: vec![Temperature { device: "nvme0n1".to_owned(), now, warns_at }],
        ..Gauges::default()
    };
    check(&between(at(90_000, Some(80_000)), at(79_999, Some(80_000))), &[]);
    check(&between(Gauges::default(), at(80_000, Some(80_000))), &[("device.hot", Severity::Warn)]);
    check(&between(Gauges::default(), at(80_000, None)), &[]);
    check(&between(Gauges::default(), at(80_000, Some(0))), &[]);
}

#[test]
fn a_small_part_of_a_device() {
    let with = |size| {
        let mut record = record(&[base()]);
        for worker in &mut record.steps[0].started.step.streams[0].workers {
            worker.extents[0].length = Bytes::gib(1);
        }
        let fact = &mut record.started.facts.targets[0];
        let device = fact.device.as_mut().expect("the sample is on a device");
        device.size = size;
        record
    };
    check(&with(Bytes::gib(100)), &[]);
    check(&with(Bytes::gib(101)), &[("device.small-part", Severity::Info)]);
}

#[test]
fn data_that_something_compresses() {
    let writes = StreamShape { rates: vec![(OperationKind::Write, 1000)], ..base() };
    let with = |kind: &str, options: &str, fill: Fill| {
        let mut record = record(std::slice::from_ref(&writes));
        on_file(&mut record, Bytes::gib(32));
        record.steps[0].started.step.streams[0].workload.content.fill = fill;
        record.started.facts.targets[0].filesystem = Some(Filesystem {
            kind: kind.to_owned(),
            mount_point: "/mnt".into(),
            options: options.to_owned(),
            size: Bytes::gib(100),
            available: Bytes::gib(50),
            direct_align_bytes: Some(512),
            can_create: true,
        });
        findings(&record).iter().any(|finding| finding.id == "data.compressed")
    };
    assert!(with("zfs", "rw", Fill::Zero));
    assert!(with("btrfs", "rw,compress=zstd:3", Fill::Zero));
    assert!(!with("btrfs", "rw", Fill::Zero));
    assert!(!with("btrfs", "rw,compress-force=lzo", Fill::Random));
    assert!(!with("ext4", "rw", Fill::Zero));
}

#[test]
fn a_rebuild_that_began() {
    let mut record = record(&[base()]);
    record.steps[0].finished.as_mut().unwrap().environment_changes.push(EnvironmentFact {
        subject: "device md0".to_owned(),
        name: "md sync_action".to_owned(),
        value: Some("recover".to_owned()),
        source: "/sys/block/md0/md/sync_action".to_owned(),
    });
    check(&record, &[("environment.rebuild", Severity::Warn), ("environment.changed", Severity::Warn)]);
}
