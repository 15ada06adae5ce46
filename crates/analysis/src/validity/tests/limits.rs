//! Levels that a limit sets, and blocks that random operations leave out.

use super::timeline::counted;
use super::*;
use crate::sample::normal;
use fathom_schema::{
    Arrival, Backlog, Coverage, Distribution, Extent, Pacing, SharePart, Think, TimeLimit, WorkerPlan,
};

fn told(record: &Record, id: &str) -> Option<String> {
    findings(record).into_iter().find(|finding| finding.id == id).map(|finding| finding.evidence)
}

/// Counts at levels: how many seconds, how many operations, scatter as a share.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "constructed counts")]
fn counts(levels: &[(usize, f64, f64)], seed: u64) -> Vec<u64> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut of = |&(seconds, rate, scatter): &(usize, f64, f64)| -> Vec<u64> {
        (0..seconds).map(|_| (rate * (1.0 + scatter * normal(&mut random))).round() as u64).collect()
    };
    levels.iter().flat_map(&mut of).collect()
}

#[test]
fn a_level_that_a_limit_holds_is_told() {
    let id = "device.limited";
    for (levels, expect) in [
        (&[(60, 3000.0, 0.001)][..], Some("held at 3000 IOPS throughout")),
        // The credit is used up; what it was before scatters like a device.
        (&[(40, 11_300.0, 0.03), (60, 3000.0, 0.0)], Some("held at 3000 IOPS from 40 s to 100 s")),
        // 125 MiB/s in blocks of 4 KiB, and 250 MB/s.
        (&[(60, 32_000.0, 0.001)], Some("held at 125 MiB/s")),
        (&[(60, 61_035.0, 0.001)], Some("held at 250 MB/s")),
        (&[(60, 16_000.0, 0.001)], Some("held at 16.0k IOPS")),
        // A device that happens to do as many in the mean, one that does what is not round, and too short a time.
        (&[(60, 3000.0, 0.02)], None),
        (&[(60, 3100.0, 0.001)], None),
        (&[(19, 3000.0, 0.001)], None),
        (&[(60, 300.0, 0.0)], None),
    ] {
        let found = told(&counted(&counts(levels, 1), false), id);
        let is_right = match (&found, expect) {
            (Some(found), Some(expect)) => found.contains(expect),
            (found, expect) => found.is_none() && expect.is_none(),
        };
        assert!(is_right, "{found:?}, not {expect:?}: {levels:?}");
    }
    // The job itself limits.
    let mut paced = counted(&counts(&[(60, 3000.0, 0.001)], 1), false);
    let pause =
        Think::Every { operations: 1, pause_ns: 300_000, by_issue: false, after_ns: u64::MAX, spin_ns: 0 };
    paced.steps[0].started.step.streams[0].pacing = Pacing::Closed { think: pause };
    assert_eq!(told(&paced, id), None);
    assert_eq!(told(&counted(&counts(&[(60, 3000.0, 0.001)], 1), true), id), None);
}

/// Devices that scatter by half a percent, wherever their speed lies: few are taken for a limit.
#[test]
fn speeds_at_random_are_seldom_taken_for_limits() {
    let mut random = fastrand::Rng::with_seed(7);
    let taken = |scatter: f64, random: &mut fastrand::Rng| {
        let is_taken = |seed: u64, random: &mut fastrand::Rng| {
            let rate = 10_f64.powf(3.0 + 2.0 * random.f64());
            told(&counted(&counts(&[(60, rate, scatter)], seed), false), "device.limited").is_some()
        };
        (0..300).filter(|&seed| is_taken(seed, random)).count()
    };
    let (half, two) = (taken(0.005, &mut random), taken(0.02, &mut random));
    assert!(half <= 30 && two == 0, "{half} and {two} of 300");
}

#[test]
fn blocks_that_random_operations_leave_out_are_told() {
    let id = "region.part-touched";
    // A thousand reads a second for ten seconds.
    let of = |blocks: u64, change: &dyn Fn(&mut fathom_schema::Stream)| {
        let mut record = record(&[base()]);
        let stream = &mut record.steps[0].started.step.streams[0];
        let extent =
            Extent { target: 0, start: Bytes::ZERO, length: Bytes(blocks * 4096), room: Bytes::ZERO };
        stream.workers[0].extents = vec![extent];
        stream.workload.coverage = Coverage::Independent;
        stream.workload.distribution = Distribution::Uniform;
        stream.workload.align = Bytes(4096);
        stream.limits.time = TimeLimit::Unbounded;
        change(stream);
        told(&record, id)
    };
    // e⁻¹, e⁻², e⁻⁵ are left out.
    for (blocks, expect) in [
        (10_001, None),
        (
            10_000,
            Some("1.00 times what 39.1 MiB hold, and have touched about 63.2 % of its 10000 blocks of 4 KiB"),
        ),
        (5000, Some("2.00 times what 19.5 MiB hold, and have touched about 86.5 % of its 5000 blocks")),
        (2000, Some("about 99.3 %")),
        // Less than one in a thousand.
        (1400, None),
    ] {
        let found = of(blocks, &|_| ());
        assert_eq!(found.is_some(), expect.is_some(), "{found:?}");
        assert!(found.as_deref().unwrap_or_default().contains(expect.unwrap_or_default()), "{found:?}");
    }
    // Two workers that go over all of it together, and two with a half each.
    let two = |stream: &mut fathom_schema::Stream, starts: [u64; 2], length: u64| {
        let of = |start: u64| {
            let extent = Extent { target: 0, start: Bytes(start), length: Bytes(length), room: Bytes::ZERO };
            WorkerPlan {
                extents: vec![extent],
                part: SharePart { index: 0, count: 1 },
                seed: start,
                cpus: Vec::new(),
            }
        };
        stream.workers = starts.map(of).to_vec();
    };
    assert!(
        of(0, &|stream| two(stream, [0, 0], 10_000 * 4096)).is_some_and(|told| told.contains("1.00 times"))
    );
    assert!(
        of(0, &|stream| two(stream, [0, 1 << 30], 5000 * 4096))
            .is_some_and(|told| told.contains("1.00 times"))
    );
    // Reads for a time, of which nobody asks what they touch.
    let ten_s = TimeLimit::Nanoseconds(10_000_000_000);
    assert_eq!(of(5000, &|stream| stream.limits.time = ten_s), None);
    // Each block once, popular blocks, and blocks of a finer grid are nothing that this says something of.
    assert_eq!(of(5000, &|stream| stream.workload.coverage = Coverage::OncePerPass), None);
    assert_eq!(of(5000, &|stream| stream.workload.distribution = Distribution::Zipf { theta: 1.2 }), None);
    assert_eq!(of(5000, &|stream| stream.workload.align = Bytes(512)), None);
    assert_eq!(of(5000, &|stream| stream.workload.cases[0].random = false), None);
}

#[test]
fn bursts_that_are_too_long_for_the_run_are_told() {
    let of = |arrival: Arrival, came: u64| {
        let mut record = record(&[base()]);
        let step = &mut record.steps[0];
        let stream = &mut step.started.step.streams[0];
        stream.limits.time = TimeLimit::Nanoseconds(10_000_000_000);
        stream.pacing = Pacing::Open { rate: 1000.0, arrival, course: Vec::new(), backlog: Backlog::Keep };
        let worker = &mut step.finished.as_mut().expect("it has ended").streams[0].workers[0];
        worker.tally.arrivals = came;
        told(&record, "pacing.off-mean")
    };
    let bursts = Arrival::OnOff { on_ns: 10_000_000_000, off_ns: 90_000_000_000 };
    let evidence = of(bursts, 20_000).expect("twice as many came");
    let twice = "20000 operations came due where 10000 were asked for in the mean, 100 % more";
    assert!(evidence.contains(twice), "{evidence}");
    assert!(of(bursts, 1_000).is_some_and(|told| told.contains("90 % less")));
    assert_eq!(of(bursts, 10_500), None);
    assert_eq!(of(Arrival::Poisson, 20_000), None, "such a number says something else");
}
