//! Scans of devices that are made up: slow and broken places are found down to the block and the sector.

use crate::examples::DISK;
use crate::host::{facts, read};
use crate::search::finished;
use fathom_planner::plan_search;
use fathom_planner::search::{ScanSearch, Search};
use fathom_schema::{ScanOrder, ScanQuestion, Step, StepFinished};
use fathom_units::Bytes;
use std::ops::Range;

const JOB: &str = "[target.disk]\npath = \"/dev/nvme0n1\"\n[workload.w]\n[stream.s]\n[stage.main]\n";

fn question(zones: u32, sample_bytes: Option<u64>) -> ScanQuestion {
    ScanQuestion { zones, sample_bytes, ..ScanQuestion::of("/dev/nvme0n1", Bytes::gib(1000)) }
}

fn area(step: &Step) -> Range<u64> {
    let extent = step.streams[0].workers[0].extents[0];
    extent.start.0..extent.start.0 + extent.length.0
}

/// The areas that a scan reads on a device where these bytes fail, and these take 200 ms.
fn areas(question: &ScanQuestion, broken: &[u64], slow: &[u64]) -> Vec<Range<u64>> {
    let job = read(JOB);
    let search = Search::Scan(Box::new(ScanSearch::new(question)));
    let (plan, found) = plan_search(&job, &facts(&job, |_| DISK), 0, search);
    let plan = plan.unwrap_or_else(|| panic!("{found:?}"));
    assert!(plan.intents.iter().all(|intent| !intent.changes()), "a scan only reads");
    let mut experiment = plan.experiment;
    let (mut areas, mut last) = (Vec::new(), None);
    while let Some(step) = experiment.next(last.as_ref()) {
        let at = area(&step);
        last = Some(done(
            &step,
            broken.iter().any(|byte| at.contains(byte)),
            slow.iter().any(|byte| at.contains(byte)),
        ));
        areas.push(at);
        assert!(areas.len() < 20_000, "it goes on for ever");
    }
    areas
}

fn done(step: &Step, fails: bool, is_slow: bool) -> StepFinished {
    let latency = if is_slow { 200_000_000 } else { 1_000_000 };
    let mut finished = finished(step, 1000.0, &[latency]);
    let kind = &mut finished.streams[0].workers[0].tally.kinds[0];
    if fails {
        kind.errors = vec![(5, 1)];
        // A sector by itself: nothing at all was read.
        let at = area(step);
        if at.end - at.start <= 512 {
            kind.operations = 0;
        }
    }
    finished
}

#[test]
fn samples_reach_from_the_first_byte_to_the_last() {
    let found = areas(&question(100, Some(64 << 20)), &[], &[]);
    assert_eq!(found.len(), 100);
    assert_eq!((found[0].start, found[99].end), (0, 1000 << 30));
    assert!(found.iter().all(|area| area.end - area.start == 64 << 20 && area.start % (1 << 20) == 0));
}

#[test]
fn zones_of_a_whole_scan_leave_nothing_out() {
    // A size that is no multiple of the block: the rest is a zone of its own.
    let odd = ScanQuestion { size: Bytes((10 << 30) + 3 * 512), ..question(7, None) };
    let found = areas(&odd, &[], &[]);
    assert_eq!(found.len(), 8);
    let mut end = 0;
    for area in found {
        assert_eq!(area.start, end);
        end = area.end;
    }
    assert_eq!(end, odd.size.0);
}

#[test]
fn a_broken_sector_and_a_slow_block_are_found() {
    let (broken, slow) = ((123_u64 << 30) + 5 * 512, 777_u64 << 30);
    let found = areas(&question(100, None), &[broken], &[slow]);
    let smallest = |byte: u64| {
        let of = found.iter().filter(|area| area.contains(&byte));
        of.min_by_key(|area| area.end - area.start).expect("it was read").clone()
    };
    assert_eq!(smallest(broken), broken..broken + 512);
    assert_eq!(smallest(slow), slow..slow + (1 << 20));
    // 10 GiB, 640 MiB, 40 MiB, 3 MiB, 1 MiB; then 64 KiB, 4 KiB, 512 B.
    assert!(found.len() < 100 + 2 * 4 * 16 + 3 * 16, "{}", found.len());
}

#[test]
fn closer_looks_end_after_half_an_hour() {
    // Each look takes ten seconds here, as `finished` has it: 180 of them beside the zones.
    let found = areas(&question(10, None), &[0, 500 << 30, 999 << 30], &[]);
    let closer = found.len() - 10;
    assert!((180..=195).contains(&closer), "{closer}");
}

#[test]
fn reads_of_slow_blocks_again_are_part_of_the_half_hour() {
    // A thousand zones of one block each, all of them slow, of which each takes ten seconds to be read again.
    let places = areas(&question(1000, Some(1 << 20)), &[], &[]);
    let slow: Vec<u64> = places.iter().map(|area| area.start).collect();
    let asked = ScanQuestion { retries: 3, ..question(1000, Some(1 << 20)) };
    let found = areas(&asked, &[], &slow);
    assert_eq!(found.len() - 1000, 180);
}

#[test]
fn a_device_that_fails_everywhere_is_not_looked_at_for_ever() {
    let all: Vec<u64> = (0..1000).map(|gib| gib << 30).collect();
    let found = areas(&question(1000, None), &all, &[]);
    assert!(found.len() < 6000, "{}", found.len());
}

#[test]
fn a_zone_that_is_slow_beside_its_neighbours_is_read_once_more() {
    let job = read(JOB);
    let search = Search::Scan(Box::new(ScanSearch::new(&question(40, Some(64 << 20)))));
    let (plan, found) = plan_search(&job, &facts(&job, |_| DISK), 0, search);
    let mut experiment = plan.unwrap_or_else(|| panic!("{found:?}")).experiment;
    let (mut names, mut last) = (Vec::new(), None);
    while let Some(step) = experiment.next(last.as_ref()) {
        // The zones with these numbers, at first and again.
        let rate = if step.name.starts_with("zone 7 ") || step.name.starts_with("zone 30 ") {
            500.0
        } else {
            1000.0
        };
        let mut done = finished(&step, rate, &[1_000_000]);
        let kind = &mut done.streams[0].workers[0].tally.kinds[0];
        kind.bytes = kind.operations << 20;
        last = Some(done);
        names.push(step.name.clone());
    }
    assert_eq!(names.len(), 42, "{names:?}");
    assert!(names[40].starts_with("zone 7 of 40") && names[40].ends_with(" again"), "{names:?}");
    assert!(names[41].starts_with("zone 30 of 40") && names[41].ends_with(" again"), "{names:?}");
}

/// Names of the steps of a scan of which nothing is slow but one block.
fn names(question: &ScanQuestion, slow: u64) -> Vec<String> {
    let job = read(JOB);
    let search = Search::Scan(Box::new(ScanSearch::new(question)));
    let (plan, found) = plan_search(&job, &facts(&job, |_| DISK), 0, search);
    let mut experiment = plan.unwrap_or_else(|| panic!("{found:?}")).experiment;
    let (mut names, mut last) = (Vec::new(), None);
    while let Some(step) = experiment.next(last.as_ref()) {
        let is_random = step.name.starts_with("access time");
        last = Some(done(&step, false, !is_random && area(&step).contains(&slow)));
        names.push(step.name.clone());
    }
    names
}

#[test]
fn places_are_read_in_the_order_that_is_asked_for() {
    let order = |order: ScanOrder| -> Vec<u64> {
        let found = areas(&ScanQuestion { order, ..question(5, Some(64 << 20)) }, &[], &[]);
        let all: Vec<u64> = areas(&question(5, Some(64 << 20)), &[], &[]).iter().map(|a| a.start).collect();
        found.iter().map(|area| all.iter().position(|start| *start == area.start).unwrap() as u64).collect()
    };
    assert_eq!(order(ScanOrder::Linear), [0, 1, 2, 3, 4]);
    assert_eq!(order(ScanOrder::Reverse), [4, 3, 2, 1, 0]);
    assert_eq!(order(ScanOrder::Butterfly), [0, 4, 1, 3, 2]);
    let mut random = order(ScanOrder::Random);
    assert_ne!(random, [0, 1, 2, 3, 4]);
    assert_eq!(random, order(ScanOrder::Random), "the same again");
    random.sort_unstable();
    assert_eq!(random, [0, 1, 2, 3, 4]);
}

#[test]
fn reads_for_the_access_time_come_between_places_and_slow_blocks_are_read_again() {
    let asked = ScanQuestion { access_reads: 4, burst_reads: 16, retries: 3, ..question(3, Some(64 << 20)) };
    let found = names(&asked, 0);
    let starts: Vec<&str> = found.iter().take(7).map(|name| name.split([' ', ',']).next().unwrap()).collect();
    assert_eq!(starts, ["the", "zone", "access", "zone", "access", "zone", "access"], "{found:?}");
    let retries: Vec<&String> = found.iter().filter(|name| name.contains("more reads")).collect();
    assert_eq!(retries, ["3 more reads of 0 B"], "{found:?}");
}

/// Reads that brought less are looked at down to the block, of which it is known what came, and are not repeated for being slow.
#[test]
fn short_reads_are_looked_at_closer() {
    let asked = ScanQuestion { retries: 3, ..question(3, Some(4 << 20)) };
    let job = read(JOB);
    let search = Search::Scan(Box::new(ScanSearch::new(&asked)));
    let (plan, found) = plan_search(&job, &facts(&job, |_| DISK), 0, search);
    let mut experiment = plan.unwrap_or_else(|| panic!("{found:?}")).experiment;
    let (mut names, mut last) = (Vec::new(), None);
    while let Some(step) = experiment.next(last.as_ref()) {
        let mut done = done(&step, false, false);
        done.streams[0].workers[0].tally.kinds[0].short = u64::from(area(&step).start == 0);
        last = Some(done);
        names.push(step.name.clone());
    }
    let closer: Vec<&str> = names[3..].iter().map(String::as_str).collect();
    let block = |mib: u64| format!("closer look at {}, 1 MiB", Bytes::mib(mib));
    assert_eq!(closer, [0, 1, 2, 3].map(block), "{names:?}");
}
