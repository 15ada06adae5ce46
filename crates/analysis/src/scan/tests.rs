//! What a scan came to, from records of looks at made-up places: what was read, what is slow and what cannot be read.

use super::*;
use fathom_units::{Bytes, Nanos};

fn look(start: u64, length: u64, errors: u64) -> Look {
    let area = Area { start, length };
    Look { area, wanted: area, errors, errno: 5, max_s: 0.0, short: None, is_again: false }
}

/// A record of a scan whose steps are these parts: what is read, with the milliseconds of each read, and how many failed.
fn record(size: u64, retries: u32, steps: &[(Part, Area, &[u64], u64)]) -> Record {
    let mut record = crate::sample::record(&[]);
    let question = ScanQuestion { retries, ..ScanQuestion::of("sim:", Bytes(size)) };
    record.started.question = Some(Question::Scan(question));
    record.steps.clear();
    for (index, (part, area, reads_ms, errors)) in (0_u32..).zip(steps) {
        let shape = crate::sample::StreamShape {
            rates: vec![(fathom_schema::OperationKind::Read, 1)],
            block_bytes: 1 << 20,
            workers: 1,
            seconds: 1,
            ..crate::sample::StreamShape::default()
        };
        crate::sample::push(&mut record, &[shape], index);
        let step = record.steps.last_mut().expect("it was pushed");
        step.started.step.parameters = part.parameters();
        let extent = &mut step.started.step.streams[0].workers[0].extents[0];
        (extent.start, extent.length) = (Bytes(area.start), Bytes(area.length));
        let finished = step.finished.as_mut().expect("it has an end");
        finished.stop = Stop::Complete;
        let mut latency = Latency::default();
        reads_ms.iter().for_each(|ms| latency.record(Nanos::millis(*ms).0));
        let kind = &mut finished.streams[0].workers[0].tally.kinds[0];
        kind.operations = reads_ms.len() as u64;
        kind.service = latency.to_tally();
        kind.response = None;
        kind.errors = if *errors > 0 { vec![(5, *errors)] } else { Vec::new() };
        let reads = reads_ms.iter().map(|ms| (area.start, Nanos::millis(*ms).0)).collect();
        finished.singles = Some(fathom_schema::Singles { classes: Vec::new(), reads });
    }
    record
}

#[test]
fn a_block_that_is_slow_once_is_told_apart_from_one_that_is_slow() {
    let block = Area { start: 0, length: 1 << 20 };
    let of = |again: &[u64]| {
        let all = record(1 << 20, 3, &[(Part::Zone(0), block, &[200], 0), (Part::Retry, block, again, 0)]);
        scan(&all).expect("it is a scan")
    };
    let once = of(&[1, 200, 1]);
    assert_eq!((once.slow, once.slow_once, once.zones[0].max_s > 0.19), (vec![], vec![block], true));
    let slow = of(&[1, 200, 300]);
    assert_eq!((slow.slow.len(), slow.slow_once, slow.slow_unproven), (1, vec![], vec![]));
    assert_eq!(slow.slow[0], (block, 0.2));
    // In a larger zone it is what the closer look at it found.
    let zone = Area { start: 0, length: 4 << 20 };
    let parts = [
        (Part::Zone(0), zone, &[1, 1, 1, 200][..], 0),
        (Part::Closer, Area { start: 3 << 20, length: 1 << 20 }, &[160], 0),
        (Part::Retry, Area { start: 3 << 20, length: 1 << 20 }, &[1, 1, 1], 0),
    ];
    let found = scan(&record(4 << 20, 3, &parts)).expect("it is a scan");
    assert_eq!((found.slow, found.slow_once), (vec![], vec![zone]));
    // One that was not read again was slow once, and is told as that.
    let found = scan(&record(4 << 20, 3, &parts[..2])).expect("it is a scan");
    assert_eq!((found.slow.len(), found.slow_unproven.len()), (1, 1));
}

/// 1 MiB in 200 us each, and one that takes half a second to fail: the zone is as fast as what was read of it.
#[test]
fn the_time_that_a_read_takes_to_fail_is_no_speed() {
    let zone = Area { start: 0, length: 5 << 20 };
    let mut all = record(5 << 20, 3, &[(Part::Zone(0), zone, &[1, 1, 1, 1], 1)]);
    let step = &mut all.steps[0];
    step.started.step.streams[0].queue_depth = 1;
    let worker = &mut step.finished.as_mut().unwrap().streams[0].workers[0];
    worker.end = worker.start.after(Nanos::millis(504));
    worker.tally.kinds[0].bytes = 4 << 20;
    worker.tally.failed_ns = 5e8;
    let found = scan(&all).expect("it is a scan");
    let rate = found.zones[0].bytes_per_s;
    assert!((rate / (1024.0 * 1_048_576.0 / 1.024) - 1.0).abs() < 0.05, "{rate}");
    assert!((found.zones[0].reads() - 4.0).abs() < 1e-9 && found.zones[0].errors == 1);
}

#[test]
fn reads_that_fail_among_several_of_the_same_are_told() {
    let block = Area { start: 0, length: 1 << 20 };
    for part in [Part::Retry, Part::Burst] {
        let steps = [(Part::Zone(0), block, &[200][..], 0), (part, block, &[1, 1], 1)];
        let found = scan(&record(1 << 20, 3, &steps)).expect("it is a scan");
        assert_eq!((found.unreadable, found.errors_once), (vec![], vec![block]), "{part:?}");
    }
    // What cannot be read at all is told once, as that.
    let steps = [(Part::Burst, block, &[][..], 32), (Part::Zone(0), block, &[], 1)];
    let found = scan(&record(1 << 20, 3, &steps)).expect("it is a scan");
    assert_eq!((found.unreadable, found.errors_once), (vec![(block, 5)], vec![]));
}

#[test]
fn what_was_not_looked_at_is_told() {
    let bad = |look: &Look| look.errors > 0;
    let areas = |looks: &[Look]| -> Vec<(u64, u64)> {
        skipped(looks, &bad).iter().map(|(area, _)| (area.start, area.length)).collect()
    };
    // Of four parts the second and the third were looked at; one of those is bad as a whole.
    let parts = [look(0, 1024, 9), look(256, 256, 0), look(512, 256, 1)];
    assert_eq!(areas(&parts), [(0, 256), (768, 256)]);
    // Nothing was looked at closer: the area itself is what is known.
    assert_eq!(areas(&[look(0, 1024, 9)]), []);
    // Given up after a quarter, and read by a closer look later, all but the end.
    let cut = Look { area: Area { start: 0, length: 256 }, ..look(0, 1024, 4) };
    assert_eq!(areas(&[cut]), [(256, 768)]);
    let cut = Look { area: Area { start: 0, length: 256 }, ..look(0, 1024, 4) };
    assert_eq!(areas(&[cut, look(0, 512, 1), look(512, 256, 0)]), [(768, 256)]);
}

#[test]
fn what_short_reads_do_not_bring_is_skipped() {
    let is_short = |look: &Look| look.short.is_some();
    let of = |short, start, length| Look { short: Some(short), ..look(start, length, 0) };
    let found = |looks: &[Look]| skipped(looks, &is_short);
    let area = |start, length| Area { start, length };
    // Of one read it is known what came, of several not.
    assert_eq!(found(&[of(100, 0, 256)]), [(area(100, 156), Skipped::Short)]);
    assert_eq!(found(&[of(0, 0, 1024)]), [(area(0, 1024), Skipped::Short)]);
    // Closer ones tell; what is read whole then has been read, and what was not looked at took too long.
    let closer = [of(0, 0, 512), look(0, 256, 0), of(200, 256, 256)];
    assert_eq!(found(&closer), [(area(456, 56), Skipped::Short)]);
    assert_eq!(found(&[of(0, 0, 512), look(0, 256, 0), look(256, 256, 0)]), []);
    assert_eq!(found(&[of(0, 0, 512), look(0, 256, 0)]), [(area(256, 256), Skipped::TooLong)]);
}

#[test]
fn what_was_still_to_be_looked_at_when_it_ended_did_not_take_too_long() {
    // Two areas of four parts each; of the second one, the second part was looked at last.
    let looks =
        [look(0, 1024, 9), look(256, 256, 0), look(4096, 1024, 9), look(4096, 256, 1), look(4352, 256, 1)];
    let of = |start, why| (Area { start, length: 128 }, why);
    let long = [0, 4096, 4352, 4480, 4608, 4864].map(|start| of(start, Skipped::TooLong));
    let skipped: Vec<(Area, Skipped)> = long.into_iter().chain([of(4992, Skipped::Short)]).collect();
    let untried = |ended| -> Vec<u64> {
        let found = given_up(skipped.clone(), &looks, ended);
        assert!(found.iter().zip(&skipped).all(|(found, before)| found.0 == before.0));
        assert_eq!(found.last(), skipped.last(), "it has a reason of its own");
        found.iter().filter(|one| one.1 == Skipped::Untried).map(|one| one.0.start).collect()
    };
    assert_eq!(untried(Ended::Within), [4352, 4480, 4608, 4864]);
    assert_eq!(untried(Ended::Between), [4608, 4864]);
    assert_eq!(untried(Ended::Complete), [0; 0]);
    assert_eq!(given_up(skipped.clone(), &[], Ended::Within), skipped);
}

/// Records of before the last bytes were read do not have them.
#[test]
fn what_was_not_tried_is_told() {
    let question = ScanQuestion::of("", Bytes((1 << 20) + 513));
    let block = look(0, 1 << 20, 0);
    let rest = Area { start: 1 << 20, length: 513 };
    assert_eq!(untried(&question, &[block]), [(rest, Skipped::Untried)]);
    assert_eq!(untried(&question, &[look(0, (1 << 20) + 512, 0), look((1 << 20) + 512, 1, 0)]), []);
}

#[test]
fn a_look_that_was_cut_off_is_known_by_closer_ones_of_what_it_was_to_read() {
    let cut = Look { area: Area { start: 0, length: 30 }, ..look(0, 1024, 1) };
    let (always, once) = ends(&[cut, look(0, 64, 0)], &|look| look.errors > 0);
    assert_eq!((always, once), (Vec::new(), vec![Area { start: 0, length: 30 }]));
}

#[test]
fn the_smallest_areas_with_errors_are_what_cannot_be_read() {
    let looks = [
        look(0, 1024, 0),
        look(1024, 1024, 2),
        look(1024, 512, 0),
        look(1536, 512, 2),
        look(1536, 1, 1),
        look(1537, 1, 1),
        look(1538, 510, 0),
        // Once, and not again.
        look(4096, 1024, 1),
        look(4096, 512, 0),
        look(4608, 512, 0),
    ];
    let (always, once) = ends(&looks, &|look| look.errors > 0);
    assert_eq!(joined(always), [Area { start: 1536, length: 2 }]);
    assert_eq!(once, [Area { start: 4096, length: 1024 }]);
}

#[test]
fn classes_of_old_records_come_from_their_histograms() {
    let mut latency = Latency::default();
    for ms in [1, 2, 5, 20, 100, 300, 700] {
        latency.record(Nanos::millis(ms).0);
    }
    let limits = ScanQuestion::of("", Bytes(0)).classes_ns;
    assert_eq!(classes(&latency.to_tally(), &limits), [2, 1, 1, 1, 1, 1]);
}

/// What hdck tells for 7200 rotations a minute.
#[test]
fn limits_of_a_disk_that_rotates() {
    let told =
        |rpm| rotation_limits(rpm).iter().map(|ns| format!("{:.2}", *ns as f64 / 1e6)).collect::<Vec<_>>();
    assert_eq!(told(7200), ["2.44", "5.79", "14.12", "22.46", "39.12", "55.79"]);
    assert_eq!(rotation_limits(7200).len() + 1, ROTATION_CLASSES.len());
    // Half as fast: twice as long.
    assert_eq!(told(3600)[0], "4.87");
}

#[test]
fn an_access_time_has_the_percentiles_that_its_reads_are_enough_for() {
    let access = Access { reads: (1..=100).map(|n| (n << 12, n * 1_000_000)).collect(), errors: 0 };
    assert_eq!(access.quantile_s(0.5), Ok(0.050));
    assert_eq!(access.quantile_s(0.99), Ok(0.099));
    assert_eq!(access.quantile_s(0.999), Err(1000));
    assert_eq!((access.mean_s(), access.range_s()), (0.0505, (0.001, 0.1)));
}

#[test]
fn a_zone_is_slow_beside_its_neighbours_and_not_beside_all() {
    let zone = |rate: f64| Zone {
        area: Area { start: 0, length: 1 },
        bytes_per_s: rate,
        mean_s: 0.0,
        max_s: 0.0,
        errors: 0,
        classes: vec![1],
        variance: None,
        is_slow: false,
        was_slow: false,
        is_unproven: false,
    };
    // A disk: twice as fast outside as inside, and one zone that is not as it should be.
    let mut zones: Vec<Zone> = (0..100).map(|at| zone(200.0 - f64::from(at))).collect();
    zones[20] = zone(120.0);
    // What cannot be read is not slow, and makes nobody else look fast.
    zones[50..70].iter_mut().for_each(|lost| *lost = Zone { errors: 64, ..zone(0.0) });
    zones[40] = zone(90.0);
    // One was disturbed: it is as fast as its neighbours when it is read again.
    mark_slow(&mut zones, &[(20, 121.0), (40, 158.0)], 1);
    let slow: Vec<usize> = (0..100).filter(|&at| zones[at].is_slow).collect();
    let was: Vec<usize> = (0..100).filter(|&at| zones[at].was_slow).collect();
    assert_eq!((slow, was, zones[40].bytes_per_s), (vec![20], vec![40], 158.0));
    assert!(!zones[20].is_unproven);
    // As long as nobody has read it again, that is not known.
    zones[20].is_slow = false;
    mark_slow(&mut zones, &[(40, 158.0)], 1);
    assert!(zones[20].is_slow && zones[20].is_unproven);
}

/// What ended a scan was seen in the place that it was reading then.
#[test]
fn what_a_place_that_was_broken_off_showed_is_told() {
    let (first, second) = (Area { start: 0, length: 4 << 20 }, Area { start: 4 << 20, length: 4 << 20 });
    let of = |reads: &[u64], errors: u64| {
        let parts = [(Part::Zone(0), first, &[1, 1, 1, 1][..], 0), (Part::Zone(1), second, reads, errors)];
        let mut all = record(8 << 20, 3, &parts);
        all.steps[1].finished.as_mut().expect("it has an end").stop = Stop::Interrupted;
        all.finished = None;
        scan(&all).expect("it is a scan")
    };
    let tried = Area { length: 2 << 20, ..second };
    let (failed, slow, well) = (of(&[1], 1), of(&[1, 200], 0), of(&[1, 1], 0));
    assert_eq!((failed.unreadable, failed.zones.len()), (vec![(tried, 5)], 1));
    assert_eq!(slow.slow, vec![(tried, 0.2)]);
    assert_eq!((well.unreadable, well.slow, well.is_complete), (vec![], vec![], false));
}

/// A random read that failed is a failure, also where it is what ended the scan.
#[test]
fn a_random_read_that_ended_the_scan_is_told() {
    let all = Area { start: 0, length: 8 << 20 };
    let parts = [(Part::Zone(0), all, &[1, 1, 1, 1][..], 0), (Part::Access(0), all, &[1, 2], 1)];
    let mut made = record(8 << 20, 3, &parts);
    made.steps[1].finished.as_mut().expect("it has an end").stop = Stop::Interrupted;
    made.finished = None;
    let found = scan(&made).expect("it is a scan");
    let access = found.access.clone().expect("there were some");
    assert_eq!((access.errors, access.reads.len(), found.has_failed()), (1, 2, true));
}
