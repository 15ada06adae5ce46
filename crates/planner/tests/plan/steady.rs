//! Tests of SNIA's PTS on devices that are made up and change as they are written: which steps come, when it is steady, where
//! an ended test goes on.

use crate::examples::DISK;
use crate::host::{facts, read};
use crate::search::finished;
use fathom_planner::search::{Search, SteadySearch};
use fathom_planner::{Experiment, Plan, plan_search};
use fathom_schema::{
    CapacityPart, DeviceClass, FileOrder, OperationKind, Pacing, Quota, SteadyQuestion, SteadyTest, Step,
    StepFinished, StepRecord, StepStarted, Think, TimeLimit,
};
use fathom_units::{Bytes, Nanos};

const JOB: &str = "[target.disk]\npath = \"/dev/nvme0n1\"\n[workload.w]\n[stream.s]\n[stage.main]\n";

fn question(test: SteadyTest) -> SteadyQuestion {
    SteadyQuestion {
        test,
        class: DeviceClass::Enterprise,
        haste: 1,
        targets: vec!["/dev/nvme0n1".to_owned()],
        size: None,
        engine: None,
        direct: None,
        purge: false,
        purge_by: fathom_schema::TrimBy::Discard,
        purged_before: None,
        block_min: 512,
        has_histogram: true,
        has_operating_points: true,
        active_percent: 100,
        part: None,
        resumed: None,
    }
}

fn planned(question: &SteadyQuestion) -> Plan {
    let job = read(JOB);
    let mut facts = facts(&job, |_| DISK);
    facts.targets[0].device.as_mut().expect("it is a device").discards = true;
    let (plan, found) = plan_search(&job, &facts, 0, Search::Steady(Box::new(SteadySearch::new(question))));
    plan.unwrap_or_else(|| panic!("{found:?}"))
}

/// What a device shows that does `rate` operations a second of the step's size.
fn at(step: &Step, rate: f64) -> StepFinished {
    let mut finished = finished(step, rate, &[1_000_000]);
    let size = step.streams[0].workload.cases[0].size.largest();
    let kind = &mut finished.streams[0].workers[0].tally.kinds[0];
    kind.bytes = kind.operations * u64::from(size);
    finished
}

/// All steps of a test on a device whose rate depends on the step and on how many steps there were before.
fn steps(experiment: &mut Experiment, rate: impl Fn(&Step, usize) -> f64) -> Vec<(Step, StepFinished)> {
    let mut done: Vec<(Step, StepFinished)> = Vec::new();
    while let Some(step) = experiment.next(done.last().map(|(_, finished)| finished)) {
        let finished = at(&step, rate(&step, done.len()));
        done.push((step, finished));
        assert!(done.len() < 5000, "it goes on for ever");
    }
    done
}

/// Fast while it is fresh, then ever closer to a quarter of that: 1 + 3·0.75^r in round r from 0.
fn ageing(round: usize) -> f64 {
    100_000.0 * (1.0 + 3.0 * 0.75_f64.powi(i32::try_from(round).unwrap_or(i32::MAX)))
}

#[test]
fn rounds_of_the_whole_matrix_end_when_an_ageing_device_is_steady() {
    let done = steps(&mut planned(&question(SteadyTest::Iops)).experiment, |_, step| {
        ageing(step.saturating_sub(1) / 56)
    });
    // Worked out by hand from the rule: range 8.04 %, excursion 7.98 % in rounds 12 to 16, and 10.6 % one round before.
    assert_eq!(done.len(), 1 + 16 * 56);
    let (fill, first, last) = (&done[0].0, &done[1].0, &done[56].0);
    assert_eq!(fill.name, "preconditioning: twice the capacity, SEQ 128 KiB writes");
    let stream = &fill.streams[0];
    assert_eq!((stream.workers.len(), stream.queue_depth), (1, 32));
    assert_eq!(stream.limits.time, TimeLimit::Unbounded);
    assert_eq!(stream.limits.bytes, Quota::AtMost(Bytes::gib(2000).0), "twice the capacity");
    assert_eq!(first.name, "IOPS, round 1: RND 1024 KiB 100/0 T4Q32");
    assert_eq!(last.name, "IOPS, round 1: RND 0.5 KiB 0/100 T4Q32");
    let stream = &first.streams[0];
    assert_eq!((stream.workers.len(), stream.queue_depth), (4, 32));
    assert_eq!(stream.limits.time, TimeLimit::Nanoseconds(60_000_000_000));
    assert!(
        stream.workers.iter().all(|worker| worker.extents[0].length == Bytes::gib(1000)),
        "each goes everywhere"
    );
    assert_eq!(stream.pacing, Pacing::Closed { think: Think::None });
    let order: Vec<&str> = done[1..57].iter().map(|(step, _)| step.parameters[3].1.as_str()).collect();
    assert_eq!(order[6..9], ["RND 4 KiB 100/0 T4Q32", "RND 0.5 KiB 100/0 T4Q32", "RND 1024 KiB 95/5 T4Q32"]);
    assert_eq!(order[54], "RND 4 KiB 0/100 T4Q32");
    // No cell of any round hits the places of another.
    let mut seeds: Vec<u64> = done.iter().map(|(step, _)| step.streams[0].workers[0].seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), done.len());
}

#[test]
fn an_active_range_bounds_the_loads_and_neither_the_purge_nor_what_is_written_before() {
    let asked = SteadyQuestion { purge: true, active_percent: 75, ..question(SteadyTest::Latency) };
    let done = steps(&mut planned(&asked).experiment, |_, _| 10_000.0);
    let goes_to = |step: &Step| {
        let workers = &step.streams[0].workers;
        workers.iter().map(|worker| worker.extents[0].length).collect::<Vec<_>>()
    };
    let limit = |step: &Step| step.streams[0].limits.bytes;
    let (purge, fill) = (&done[0].0, &done[1].0);
    assert_eq!((purge.name.as_str(), goes_to(purge)), ("purge", vec![Bytes::gib(1000)]), "all of the device");
    assert_eq!(goes_to(fill), [Bytes::gib(750)]);
    assert_eq!(limit(fill), Quota::AtMost(Bytes::gib(2000).0), "twice the user capacity");
    assert!(done.len() > 2 + 5 * 9);
    for (step, _) in &done[2..] {
        assert_eq!(goes_to(step), [Bytes::gib(750)], "{}", step.name);
        assert_eq!(step.targets[0].size, Bytes::gib(1000), "{}: its user capacity", step.name);
    }
}

#[test]
fn a_test_of_a_part_of_a_device_says_so_in_every_step() {
    let part = Some(CapacityPart { used: Bytes::gib(250), capacity: Bytes::gib(1000) });
    let asked = SteadyQuestion { part, ..question(SteadyTest::Latency) };
    let done = steps(&mut planned(&asked).experiment, |_, _| 10_000.0);
    assert!(done.iter().all(|(step, _)| step.name.starts_with("not PTS: ")), "{}", done[0].0.name);
}

#[test]
fn a_device_that_never_settles_gets_25_rounds() {
    let swings = |_: &Step, step: usize| {
        if (step.saturating_sub(1) / 56).is_multiple_of(2) { 100_000.0 } else { 130_000.0 }
    };
    assert_eq!(steps(&mut planned(&question(SteadyTest::Iops)).experiment, swings).len(), 1 + 25 * 56);
}

#[test]
fn small_blocks_are_left_out_where_sectors_are_larger() {
    let asked = SteadyQuestion { block_min: 4096, ..question(SteadyTest::Latency) };
    let done = steps(&mut planned(&asked).experiment, |_, _| 10_000.0);
    // What prepares, five rounds of six, and the long load of the histogram.
    assert_eq!(done.len(), 1 + 5 * 6 + 1);
    assert!(done.iter().all(|(step, _)| !step.name.contains("0.5 KiB")));
}

#[test]
fn throughput_is_a_test_per_block_size_and_writes_on_where_it_ended() {
    let asked = SteadyQuestion { purge: true, ..question(SteadyTest::Throughput) };
    let mut plan = planned(&asked);
    assert!(plan.intents[0].trims && plan.intents[0].writes);
    // 8192 × 128 KiB = 1 GiB/s.
    let done = steps(&mut plan.experiment, |_, _| 8192.0);
    assert_eq!(done.len(), 2 * (2 + 5 * 2));
    let names: Vec<&str> = done.iter().take(4).map(|(step, _)| step.name.as_str()).collect();
    assert_eq!(names[0], "purge");
    assert_eq!(done[0].0.streams[0].workload.cases[0].kind, OperationKind::Trim);
    assert_eq!(names[2], "throughput in 128 KiB, round 1: SEQ 128 KiB 100/0 T1Q32");
    assert_eq!(starts(&done, "0/100"), [0, 60, 120, 180, 240]);
    assert_eq!(starts(&done, "100/0"), [0; 5]);
    // 5 GiB/s: round 4 begins 100 GiB before the end, and goes on at the start.
    let done = steps(&mut planned(&asked).experiment, |_, _| 5.0 * 8192.0);
    assert_eq!(starts(&done, "0/100"), [0, 300, 600, 900, 200]);
    let round =
        done.iter().map(|(step, _)| step).filter(|step| step.name.ends_with("SEQ 128 KiB 0/100 T1Q32"));
    let workloads: Vec<FileOrder> = round.map(|step| step.streams[0].workload.file_order).collect();
    assert_eq!(workloads[1..], [FileOrder::Sequential; 4], "one part after the other");
}

/// Where the cells of 128 KiB with this share of reads begin, in GiB; each goes over all of the target, once.
fn starts(done: &[(Step, StepFinished)], read: &str) -> Vec<u64> {
    let is_cell = |step: &&Step| step.name.ends_with(&format!("SEQ 128 KiB {read} T1Q32"));
    let start = |step: &Step| {
        let extents = &step.streams[0].workers[0].extents;
        let mut parts: Vec<(u64, u64)> = extents.iter().map(|one| (one.start.0, one.length.0)).collect();
        parts.sort_unstable();
        let end = parts.iter().fold(0, |at, (start, length)| if at == *start { at + length } else { 0 });
        assert_eq!(end, Bytes::gib(1000).0, "{}: {extents:?}", step.name);
        extents[0].start.0 >> 30
    };
    done.iter().map(|(step, _)| step).filter(is_cell).map(start).collect()
}

#[test]
fn saturation_ends_when_steady_or_when_four_capacities_are_written() {
    let slow = steps(&mut planned(&question(SteadyTest::Wsat)).experiment, |_, _| 1000.0);
    assert_eq!(slow.len(), 5 * 2);
    assert_eq!(slow[0].0.streams[0].limits.time, TimeLimit::Nanoseconds(1_800_000_000_000));
    // 550,000 × 4 KiB × 31 min is a little more than four times 1000 GiB.
    let fast = steps(&mut planned(&question(SteadyTest::Wsat)).experiment, |_, _| 600_000.0);
    assert_eq!(fast.len(), 2);
}

#[test]
fn idle_recovery_has_bursts_with_every_idle_time_and_goes_back_between() {
    let done = steps(&mut planned(&question(SteadyTest::Hir)).experiment, |_, _| 1000.0);
    assert_eq!(done.len(), 5 * 2 + 5 * (360 + 1));
    let pauses: Vec<u64> =
        (0..5).map(|state| done[10 + state * 361].0.pause_before.0 / 1_000_000_000).collect();
    assert_eq!(pauses, [5, 10, 15, 25, 50]);
    let back = &done[10 + 360].0;
    assert_eq!(
        (back.pause_before, back.streams[0].limits.time),
        (Nanos::ZERO, TimeLimit::Nanoseconds(1_800_000_000_000))
    );
}

#[test]
fn demand_intensity_ends_with_the_operating_points_it_found() {
    // Threads × depth in flight, 1000 of them at most: beyond 8 in flight only latency grows.
    let rate = |step: &Step, _: usize| {
        let stream = &step.streams[0];
        1000.0 * (stream.workers.len() as f64 * f64::from(stream.queue_depth)).min(8.0)
    };
    let done = steps(&mut planned(&question(SteadyTest::Dirth)).experiment, rate);
    assert_eq!(done.len(), 1 + 5 * 2 + 5 * 50 + 6);
    let points: Vec<&str> = done[done.len() - 6..].iter().map(|(step, _)| step.name.as_str()).collect();
    assert!(
        points.iter().step_by(2).all(|name| *name == "operating points: RND 8 KiB 0/100 T32Q32"),
        "{points:?}"
    );
    assert_eq!(points[5], "operating points: RND 8 KiB 65/35 T1Q1");
    // 4000/s of 1000 to 8000 is nearest to the middle.
    assert!(["T4Q1", "T2Q2", "T1Q4"].iter().any(|load| points[3].ends_with(load)), "{points:?}");
}

#[test]
fn the_composite_and_cross_stimulus_are_planned_in_full() {
    let done = steps(&mut planned(&question(SteadyTest::Composite)).experiment, |_, _| 1000.0);
    assert_eq!(done.len(), 5 * 2 + 5 * 50 + 6, "with histograms at three loads");
    let last = done.last().map(|(step, _)| step.name.as_str());
    assert_eq!(last, Some("operating points: RND composite 40/60 T1Q1"));
    assert_eq!(done[0].0.streams[0].workload.cases.len(), 2 * 12, "twelve sizes, read and written");
    let done = steps(&mut planned(&question(SteadyTest::Xsr)).experiment, |_, _| 1000.0);
    let hours: Vec<TimeLimit> = done.iter().map(|(step, _)| step.streams[0].limits.time).collect();
    assert_eq!(hours, [8, 6, 8].map(|hours| TimeLimit::Nanoseconds(hours * 3_600_000_000_000)));
}

#[test]
fn a_load_without_an_operation_comes_again_and_not_for_ever() {
    let is_stuck = |at: usize, ends: usize| {
        move |_: &Step, step: usize| if (at..ends).contains(&step) { 0.0 } else { 10_000.0 }
    };
    let whole = steps(&mut planned(&question(SteadyTest::Latency)).experiment, |_, _| 10_000.0);
    let twice = steps(&mut planned(&question(SteadyTest::Latency)).experiment, is_stuck(7, 9));
    assert_eq!(twice.len(), whole.len() + 2);
    assert!(twice[7..10].iter().all(|(step, _)| step.name == whole[7].0.name));
    assert_eq!(twice[10].0.name, whole[8].0.name);
    // What was done goes on, with the loads that were repeated.
    let kept = 1 + 9 + 2;
    let mut resumed = planned(&question(SteadyTest::Latency)).experiment;
    resumed.replay(&recorded(&twice[..kept])).expect("it is the same test");
    assert_eq!(steps(&mut resumed, |_, _| 10_000.0).len(), twice.len() - kept);
    let stuck = steps(&mut planned(&question(SteadyTest::Latency)).experiment, is_stuck(7, usize::MAX));
    assert_eq!(stuck.len(), 7 + 3, "it ends with the third that is empty");
}

#[test]
fn conditions_are_about_the_loads_and_errors_about_all() {
    let mut test = planned(&question(SteadyTest::Latency)).experiment;
    let all = ["iops<1k for 5s", "errors>0"].map(|text| text.parse().expect("it is a condition"));
    test.abort_when(all);
    let done = steps(&mut test, |_, _| 10_000.0);
    let of_step = |at: usize| -> Vec<String> {
        done[at].0.abort_when.iter().map(std::string::ToString::to_string).collect()
    };
    assert!(done[0].0.name.starts_with("preconditioning"));
    assert_eq!(of_step(0), ["errors > 0"]);
    assert_eq!(of_step(1).len(), 2);
    assert_eq!(test.conditions().len(), 2, "the record has them, wherever it is ended");
}

fn recorded(done: &[(Step, StepFinished)]) -> Vec<StepRecord> {
    let record = |(index, (step, finished)): (u32, &(Step, StepFinished))| StepRecord {
        started: StepStarted { index, step: step.clone(), wall_ms: 0, devices: Vec::new(), gauges: None },
        intervals: Vec::new(),
        host: Vec::new(),
        finished: Some(finished.clone()),
    };
    (0..).zip(done).map(record).collect()
}

#[test]
fn a_test_that_was_ended_goes_on_as_if_it_had_not() {
    let rate = |_: &Step, step: usize| ageing(step.saturating_sub(1) / 56);
    let whole = steps(&mut planned(&question(SteadyTest::Iops)).experiment, rate);
    // Six whole rounds.
    let kept = 1 + 6 * 56;
    let mut resumed = planned(&question(SteadyTest::Iops)).experiment;
    resumed.replay(&recorded(&whole[..kept])).expect("it is the same test");
    let rest = steps(&mut resumed, |_, step| ageing((step + kept - 1) / 56));
    assert_eq!(rest.len(), whole.len() - kept);
    assert!(rest.iter().zip(&whole[kept..]).all(|((now, _), (then, _))| now == then));
    // Another test, another device.
    let refusal = planned(&question(SteadyTest::Latency)).experiment.replay(&recorded(&whole[..kept]));
    assert!(refusal.unwrap_err().contains("was \"IOPS, round 1: RND 1024 KiB 100/0 T4Q32\""));
    let mut other = recorded(&whole[..kept]);
    other[5].started.step.targets[0].size = Bytes::gib(999);
    let refusal = planned(&question(SteadyTest::Iops)).experiment.replay(&other);
    assert!(refusal.unwrap_err().contains("other names or sizes"));
}
