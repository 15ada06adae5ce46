//! Findings on what others did while a step was measured, and on what a device may do without.

use super::*;
use fathom_schema::{Filesystem, Fill, Gauges, Pressure, Question, ScanQuestion, Temperature};

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
    // One tick is no share of a step that has few.
    check(&between(start(), gauges(1001, 11, 500, 700)), &[]);
    check(&between(start(), gauges(1099, 15, 500, 700)), &[]);
    check(&between(start(), gauges(1100, 12, 500, 700)), &[("host.stolen-time", Severity::Warn)]);
    // A host that counts nothing, and one that was started anew, say nothing.
    check(&between(Gauges::default(), Gauges::default()), &[]);
    check(&between(start(), gauges(0, 0, 0, 0)), &[]);
}

/// Of 40 steps of a quarter of a second each, in all of which others waited.
#[test]
fn what_others_took_of_a_scan_is_of_all_its_steps() {
    let of = |waited_us: u64, has_question: bool| {
        let mut record = record(&[base()]);
        let step = record.steps[0].clone();
        record.steps = (0..40).map(|_| step.clone()).collect();
        for (at, step) in (0_u64..).zip(&mut record.steps) {
            let gauges = |part: u64| gauges(1000 + 50 * part, 10, 500, 700 + waited_us * part / 80);
            step.started.index = u32::try_from(at).expect("few");
            step.started.wall_ms += 250 * at;
            step.started.gauges = Some(gauges(2 * at));
            let finished = step.finished.as_mut().expect("it ended");
            (finished.elapsed, finished.gauges) = (Nanos::millis(250), Some(gauges(2 * at + 2)));
        }
        record.started.question =
            has_question.then(|| Question::Scan(ScanQuestion::of("/dev/sda", Bytes::gib(1))));
        let all = findings(&record);
        all.into_iter().find(|one| one.id == "host.cpu-pressure").map(|one| one.evidence)
    };
    let told = "something waited for cpu in 80 % of the time".to_owned();
    assert_eq!((of(8_000_000, true), of(2_000_000, true)), (Some(told), None));
    assert_eq!(of(8_000_000, false), None, "each step alone is too short");
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

/// Others that use a device while it is scanned are told, place by place.
#[test]
fn a_scan_beside_other_users() {
    use fathom_schema::{Question, ScanQuestion};
    // A second of 40 MB at each of ten places, and at the third what others do.
    let scanned = |read_sectors: u64, write_sectors: u64, mode: IoMode| {
        let shape = StreamShape { seconds: 1, block_bytes: 1 << 15, mode, ..base() };
        let mut scan = record(std::slice::from_ref(&shape));
        (1..10).for_each(|index| crate::sample::push(&mut scan, std::slice::from_ref(&shape), index));
        let counters = &mut scan.steps[2].finished.as_mut().unwrap().devices[0];
        counters.read_sectors += read_sectors;
        counters.write_sectors += write_sectors;
        scan.started.question = Some(Question::Scan(ScanQuestion {
            zones: 10,
            sample_bytes: Some(1 << 25),
            block: 1 << 15,
            ..ScanQuestion::of("/dev/nvme0n1", Bytes::gib(64))
        }));
        let told = findings(&scan).into_iter().find(|finding| finding.id == "scan.disturbed");
        told.map(|finding| finding.evidence)
    };
    let direct = |read, written| scanned(read, written, IoMode::Direct);
    assert_eq!(direct(0, 0), None);
    // Metadata, and the record.
    assert_eq!(direct(500, 2000), None);
    let told = direct(20_000, 0).expect("10 MB of others");
    assert_eq!(
        told,
        "at 1 of 10 places others used the device: they read 9.8 MiB and wrote 0 B while it was read"
    );
    let told = direct(0, 20_000).expect("as much that is written");
    assert!(told.contains("read 0 B and wrote 9.8 MiB"), "{told}");
    assert_eq!(scanned(20_000, 0, IoMode::Buffered), None, "the kernel may have read ahead");
}

/// A record of reads of 1 MiB, each two for the device, with a queue of these limits.
fn cut(queue: &[(&str, u64)], steps: u32) -> Record {
    let shape = StreamShape {
        rates: vec![(OperationKind::Read, 100)],
        block_bytes: 1 << 20,
        seconds: if steps > 1 { 1 } else { base().seconds },
        ..base()
    };
    let mut cut = record(std::slice::from_ref(&shape));
    (1..steps).for_each(|index| crate::sample::push(&mut cut, std::slice::from_ref(&shape), index));
    for step in &mut cut.steps {
        let before = step.started.devices[0].reads;
        let device = &mut step.finished.as_mut().unwrap().devices[0];
        device.reads += device.reads - before;
    }
    let disk = cut.started.facts.targets[0].device.as_ref().unwrap().disk.clone();
    cut.started.facts.environment.extend(queue.iter().map(|(name, value)| EnvironmentFact {
        subject: format!("device {disk}"),
        name: format!("queue {name}"),
        value: Some(value.to_string()),
        source: format!("/sys/block/{disk}/queue/{name}"),
    }));
    cut
}

/// The limit of the queue that cuts what is larger is named: the least of those that do.
#[test]
fn the_limit_that_cuts_operations_is_named() {
    let told = |queue: &[(&str, u64)]| {
        let found = findings(&cut(queue, 1)).into_iter().find(|one| one.id == "device.split");
        let found = found.expect("two for each of ours");
        (found.evidence, found.remedy)
    };
    let (evidence, remedy) =
        told(&[("max_sectors_kb", 1280), ("max_segments", 128), ("max_segment_size", 65_536)]);
    assert!(
        evidence.ends_with(
            "(2.00 each): ours are of 1 MiB, its queue takes 512 KiB where pages of memory do not lie in a row (128 \
             segments, max_segments, of 4 KiB)"
        ),
        "{evidence}"
    );
    assert!(remedy.contains("max_segments") && !remedy.contains("max_sectors_kb"), "{remedy}");
    let (evidence, remedy) = told(&[("max_sectors_kb", 512), ("max_segments", 168)]);
    assert!(evidence.ends_with("ours are of 1 MiB, its queue takes 512 KiB (max_sectors_kb)"), "{evidence}");
    assert!(remedy.contains("max_sectors_kb") && !remedy.contains("max_segments"), "{remedy}");
    // No limit is met: it is something else.
    let (evidence, remedy) = told(&[("max_sectors_kb", 1280), ("max_segments", 256)]);
    assert!(
        evidence.ends_with("(2.00 each)") && remedy.contains("are within the limits"),
        "{evidence}: {remedy}"
    );
    assert!(told(&[]).1.contains("max_segments"));
}

/// Places of a scan are small, and split alike: they are judged together, however little each of them is.
#[test]
fn a_scan_that_is_split_is_judged_as_a_whole() {
    use fathom_schema::{Question, ScanQuestion};
    let mut scan = cut(&[("max_sectors_kb", 512)], 10);
    scan.started.question = Some(Question::Scan(ScanQuestion::of("/dev/nvme0n1", Bytes::gib(64))));
    let split = |record: &Record| {
        let found = findings(record).into_iter().find(|one| one.id == "device.split");
        found.map(|one| one.evidence)
    };
    let told = split(&scan).expect("all of it is split");
    assert!(told.starts_with("the device did 2000 read operations for 1000 of ours (2.00 each)"), "{told}");
    // Where only one place was, by others perhaps, it is not how the scan reads.
    for step in &mut scan.steps[1..] {
        let before = step.started.devices[0].reads;
        let device = &mut step.finished.as_mut().unwrap().devices[0];
        device.reads -= (device.reads - before) / 2;
    }
    let told = split(&scan).expect("a tenth is more than what is left to chance");
    assert!(told.contains("1100 read operations for 1000 of ours"), "{told}");
    // Of steps of less than 16 MiB each, together more.
    let mut small = cut(&[("max_sectors_kb", 512)], 1);
    small.started.question.clone_from(&scan.started.question);
    assert!(split(&small).is_some());
    let shape =
        StreamShape { rates: vec![(OperationKind::Read, 4)], block_bytes: 1 << 20, seconds: 1, ..base() };
    let mut small = record(std::slice::from_ref(&shape));
    (1..10).for_each(|index| crate::sample::push(&mut small, std::slice::from_ref(&shape), index));
    for step in &mut small.steps {
        step.finished.as_mut().unwrap().devices[0].reads += 12;
    }
    assert_eq!(split(&small), None, "of a run that is no scan each step by itself, and these are too little");
    small.started.question = scan.started.question;
    assert!(split(&small).is_some_and(|told| told.contains("for 40 of ours (4.00 each)")));
}
