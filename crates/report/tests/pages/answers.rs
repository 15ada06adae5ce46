//! Records that answer a question: a load curve, an objective that was searched for, tests of the PTS, a scan. Their devices
//! follow closed forms, so that a reader of the pages sees what has to be there.

use crate::records::scatter;
use fathom_analysis::pts::{Flow, PartKind, Place};
use fathom_analysis::sample::{StreamShape, push, record};
use fathom_schema::{
    Arrival, Backlog, DeviceClass, EnvironmentFact, LatencyGoal, LoadAxis, OperationKind, Pacing, Question,
    Record, ScanQuestion, Singles, SteadyQuestion, SteadyTest,
};
use fathom_units::Bytes;

/// All of them by name.
pub(crate) fn samples() -> Vec<(&'static str, Record)> {
    vec![
        ("curve", curve()),
        ("objective", objective()),
        ("pts-iops", pts_rounds(SteadyTest::Iops)),
        ("pts-throughput", pts_rounds(SteadyTest::Throughput)),
        ("pts-latency", pts_rounds(SteadyTest::Latency)),
        ("pts-dirth", pts_rounds(SteadyTest::Dirth)),
        ("wsat", wsat()),
        ("scan", scan()),
    ]
}

/// A record without steps.
fn begun(title: &str, question: Question) -> Record {
    let mut made = record(&[StreamShape::default()]);
    made.steps.clear();
    made.started.title = title.to_owned();
    made.started.question = Some(question);
    made
}

fn add(made: &mut Record, shape: StreamShape, parameters: Vec<(String, String)>) {
    let index = u32::try_from(made.steps.len()).expect("few steps");
    let before = made.steps.last().map_or(made.started.wall_ms, |step| step.started.wall_ms);
    let took =
        made.steps.last().and_then(|step| step.finished.as_ref()).map_or(0, |end| end.elapsed.0 / 1_000_000);
    push(made, &[shape], index);
    let started = &mut made.steps.last_mut().expect("it was pushed").started;
    started.wall_ms = before + took + 500;
    if let [(name, value)] = parameters.as_slice() {
        started.step.name = format!("{} {value}", name.rsplit('.').next().unwrap_or(name));
    }
    started.step.parameters = parameters;
    if let Some(finished) = &mut made.finished {
        let last = made.steps.last().and_then(|step| step.finished.as_ref());
        finished.wall_ms = before + took + 520 + last.map_or(0, |end| end.elapsed.0 / 1_000_000);
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

/// A device of the universal scalability law, contention 3 %, coherency 0.02 %: its peak is at a load of 70.
fn curve() -> Record {
    let limit = |text: &str| text.parse::<LatencyGoal>().expect("it is one");
    let limits = vec![limit("1ms"), limit("p99<5ms")];
    let mut made = begun("load curve of /dev/nvme0n1", Question::Curve { limits, over: LoadAxis::Depth });
    // As a search does it: doubling, between, then all again in another order.
    let first = [1_u32, 2, 4, 8, 16, 32, 64, 128, 48, 80];
    let again = [64_u32, 2, 128, 16, 1, 48, 8, 80, 32, 4];
    for (round, depths) in [first, again, first].into_iter().enumerate() {
        for depth in depths {
            let n = f64::from(depth);
            let wavers = 1.0 + 0.02 * (n * 7.0 + round as f64 * 2.1).sin();
            let rate = 12_000.0 * n / (1.0 + 0.03 * (n - 1.0) + 0.0002 * n * (n - 1.0)) * wavers;
            let rates = vec![(OperationKind::Read, whole(rate))];
            let shape = StreamShape { seconds: 5, queue_depth: depth, rates, ..StreamShape::default() };
            add(&mut made, shape, vec![("stream.queue_depth".to_owned(), depth.to_string())]);
        }
    }
    made
}

/// A server of 50 µs that is hit at random: the response time is 50 µs ÷ (1 − rate ÷ 20,000).
fn objective() -> Record {
    let goals = vec!["p99<2ms".parse().expect("it is one")];
    let mut made = begun("highest rate of /dev/nvme0n1", Question::Objective { rate: None, goals });
    let tried =
        [10_000.0, 15_000.0, 22_000.0, 18_500.0, 16_750.0, 15_900.0, 16_300.0, 16_100.0, 15_900.0, 15_900.0];
    for rate in tried {
        let done = f64::min(rate, 19_800.0);
        let response_s = 50e-6 / (1.0 - done / 20_000.0);
        let open =
            Pacing::Open { rate, arrival: Arrival::Poisson, course: Vec::new(), backlog: Backlog::Keep };
        let rates = vec![(OperationKind::Read, whole(done))];
        let fullness = (done * response_s / 256.0).min(1.0);
        let shape = StreamShape {
            seconds: 10,
            queue_depth: 256,
            rates,
            fullness,
            pacing: open,
            ..StreamShape::default()
        };
        add(&mut made, shape, vec![("stream.rate".to_owned(), format!("{rate}/s"))]);
    }
    scatter(&mut made, 0.3);
    for step in &mut made.steps {
        let Some(finished) = &mut step.finished else { continue };
        let Pacing::Open { rate, .. } = step.started.step.streams[0].pacing else { continue };
        let tally = &mut finished.streams[0].workers[0].tally;
        let done: u64 = tally.kinds.iter().map(|kind| kind.operations).sum();
        // What came is what was done, but where more comes than can be.
        tally.arrivals = if rate > 20_000.0 { whole(rate * 10.0) } else { done };
    }
    made
}

fn steady(test: SteadyTest) -> SteadyQuestion {
    SteadyQuestion {
        test,
        class: DeviceClass::Enterprise,
        haste: 1,
        targets: vec!["/dev/nvme0n1".to_owned()],
        size: None,
        engine: None,
        direct: None,
        purge: true,
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

/// A drive whose writes become slower until the sixth round, as fresh ones do.
fn pts_rounds(test: SteadyTest) -> Record {
    let question = steady(test);
    let flow = Flow::of(&question);
    let title = format!("PTS {} test of /dev/nvme0n1", test.name());
    let mut made = begun(&title, Question::Steady(question));
    for (part, of) in flow.parts.iter().enumerate() {
        let at = |round: usize, cell: usize| Place { part, round, cell };
        let PartKind::Rounds(rounds) = &of.kind else {
            let rates = vec![(OperationKind::Write, 2000)];
            let shape = StreamShape {
                seconds: 1,
                block_bytes: 128 << 10,
                random: false,
                rates,
                ..StreamShape::default()
            };
            add(&mut made, shape, at(0, 0).parameters(""));
            continue;
        };
        for round in 0..11 {
            for (index, cell) in rounds.cells.iter().enumerate() {
                let bytes = match cell.blocks {
                    fathom_analysis::pts::Blocks::Of(bytes) => bytes,
                    fathom_analysis::pts::Blocks::Composite => 8 << 10,
                };
                let reads = f64::from(cell.read_percent) / 100.0;
                let fresh = 1.0 + 2.5 * (1.0 - reads) * (-(round as f64) / 1.3).exp();
                let wavers = 1.0 + 0.02 * ((round * 5 + index) as f64).sin();
                let cost = f64::from(bytes) / 3e9 + 4e-6 + (1.0 - reads) * 22e-6;
                // Of many numbers of threads and depths: more of either, more at once.
                let demand = f64::from(cell.threads * cell.depth).sqrt().min(8.0) / 8.0;
                let cost = if test == SteadyTest::Iops { cost } else { cost / demand };
                let rate = 1.0 / cost * fresh * wavers;
                let rates = [(OperationKind::Read, reads), (OperationKind::Write, 1.0 - reads)]
                    .into_iter()
                    .filter(|(_, share)| *share > 0.0)
                    .map(|(kind, share)| (kind, whole(rate * share).max(1)))
                    .collect();
                let shape = StreamShape {
                    seconds: 1,
                    block_bytes: bytes,
                    rates,
                    queue_depth: 128,
                    ..StreamShape::default()
                };
                add(&mut made, shape, at(round, index).parameters(&cell.name()));
            }
        }
    }
    made
}

/// Fast while its cache lasts, then slower, then steady.
fn wsat() -> Record {
    let question = SteadyQuestion { purge: false, ..steady(SteadyTest::Wsat) };
    let mut made = begun("PTS wsat test of /dev/nvme0n1", Question::Steady(question));
    for step in 0..24_u32 {
        let rate = match step {
            0..4 => 9000,
            4..7 => 5200,
            _ => 2600 + u64::from(step % 3) * 20,
        };
        let place = Place { part: 0, round: step as usize / 2, cell: step as usize % 2 };
        let rates = vec![(OperationKind::Write, rate)];
        add(&mut made, StreamShape { seconds: 240, rates, ..StreamShape::default() }, place.parameters(""));
    }
    made
}

/// A disk: faster outside than inside, one slow zone, one place that cannot be read.
fn scan() -> Record {
    const ZONES: u64 = 48;
    const BLOCK: u32 = 1 << 20;
    let size = Bytes::gib(64);
    let question = ScanQuestion {
        zones: 48,
        sample_bytes: Some(64 << 20),
        block: BLOCK,
        access_reads: 4,
        ..ScanQuestion::of("/dev/nvme0n1", size)
    };
    let mut made = begun("scan of /dev/nvme0n1", Question::Scan(question));
    let mut look = |part: &str, start: u64, length: u64, rate: u64, errors: u64| {
        let rates = vec![(OperationKind::Read, rate)];
        let shape =
            StreamShape { seconds: 1, block_bytes: BLOCK, rates, queue_depth: 1, ..StreamShape::default() };
        add(&mut made, shape, vec![("scan.zone".to_owned(), part.to_owned())]);
        let step = made.steps.last_mut().expect("it was pushed");
        let extent = &mut step.started.step.streams[0].workers[0].extents[0];
        (extent.start, extent.length) = (Bytes(start), Bytes(length));
        let totals = &mut step.finished.as_mut().expect("it ended").streams[0].workers[0];
        if errors > 0 {
            totals.tally.kinds[0].errors = vec![(5, errors)];
        }
    };
    for zone in 0..ZONES {
        let rate = if zone == 30 { 90 } else { 260 - zone * 2 };
        look(&(zone + 1).to_string(), zone * (size.0 / ZONES), 64 << 20, rate, u64::from(zone == 12));
    }
    // Random reads: the further from the middle, the longer the way of the head, and half a rotation more or less.
    for turn in 0..ZONES {
        look(&format!("access {}", turn + 1), 0, size.0, 100, 0);
    }
    look("closer", 12 * (size.0 / ZONES) + (3 << 20), 1 << 20, 40, 1);
    let random = made.steps.iter_mut().filter(|step| step.started.step.parameters[0].1.starts_with("access"));
    for (turn, step) in (0_u64..).zip(random) {
        let read = |nth: u64| {
            let (at, late) = ((turn * 4 + nth) * 7919 % 1009, (turn * 4 + nth) * 4241 % 997);
            (at * (size.0 / 1009), 4_000_000 + at.abs_diff(504) * 12_000 + late * 8300)
        };
        let reads: Vec<(u64, u64)> = (0..4).map(read).collect();
        step.finished.as_mut().expect("it ended").singles = Some(Singles { classes: vec![0; 6], reads });
    }
    with_drive(&mut made, "nvme0n1", [("media errors", "0", "2"), ("wear", "3 %", "3 %")]);
    made
}

/// What a drive said of itself before and after.
pub(crate) fn with_drive(record: &mut Record, device: &str, said: [(&str, &str, &str); 2]) {
    let fact = |name: &str, value: &str| EnvironmentFact {
        subject: format!("drive {device}"),
        name: name.to_owned(),
        value: Some(value.to_owned()),
        source: "health log of the controller".to_owned(),
    };
    record.started.facts.environment.extend(said.map(|(name, before, _)| fact(name, before)));
    record.finished.as_mut().expect("it ended").drives =
        said.map(|(name, _, after)| fact(name, after)).to_vec();
}

/// Three runs of a device, and three of it with slower tails and a tenth less of everything.
pub(crate) fn sides() -> (Vec<Record>, Vec<Record>) {
    let run = |rate: u64, tail: f64| {
        let rates = vec![(OperationKind::Read, rate)];
        let mut made = record(&[StreamShape { name: "oltp", rates, seconds: 60, ..StreamShape::default() }]);
        made.started.title = if tail > 1.0 { "firmware <2>" } else { "firmware <1>" }.to_owned();
        scatter(&mut made, 0.2 / tail);
        made
    };
    let before = [10_000, 10_020, 9_990].map(|rate| run(rate, 1.0)).to_vec();
    let mut after = [8_800, 8_790, 8_815].map(|rate| run(rate, 1.5)).to_vec();
    for record in &mut after {
        record.started.facts.host = "lab<2>".to_owned();
    }
    (before, after)
}

/// A sample and the same a fifth slower, as two runs.
pub(crate) fn slower(before: &Record) -> Record {
    let mut after = before.clone();
    after.started.run = format!("{}-slower", before.started.run);
    let finished = after.steps.iter_mut().filter_map(|step| step.finished.as_mut());
    let workers = finished.flat_map(|finished| &mut finished.streams).flat_map(|stream| &mut stream.workers);
    for kind in workers.flat_map(|worker| &mut worker.tally.kinds) {
        (kind.operations, kind.bytes) = (kind.operations * 4 / 5, kind.bytes * 4 / 5);
    }
    after
}
