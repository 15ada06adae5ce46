//! Records to make pages of: constructed runs whose latencies scatter like a device's, seeded.

use crate::answers::with_drive;
use fathom_analysis::sample::{StreamShape, push, record, spread};
use fathom_metrics::{Latency, merge_tally};
use fathom_schema::{
    Arrival, Backlog, DeviceUse, EnvironmentFact, Event, HostSample, Note, NoteKind, OperationKind, Outcome,
    Pacing, Phase, Record, Severity, StreamTally,
};
use fathom_units::Nanos;
use std::sync::LazyLock;

/// Operations drawn per interval and kind; the rest are taken to be like them.
const DRAWN: u64 = 1500;

/// All samples by name.
pub(crate) fn samples() -> &'static [(&'static str, Record)] {
    static ALL: LazyLock<Vec<(&str, Record)>> = LazyLock::new(made);
    &ALL
}

/// The sample of this name.
pub(crate) fn sample(name: &str) -> &'static Record {
    samples()
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, record)| record)
        .expect("there is such a sample")
}

fn made() -> Vec<(&'static str, Record)> {
    vec![
        ("short", short()),
        ("steady", steady()),
        ("mixed", mixed()),
        ("sweep", sweep()),
        ("long", long()),
        ("killed", killed()),
        ("empty", empty()),
        ("hostile", hostile()),
        ("marked", marked()),
    ]
    .into_iter()
    .chain(crate::answers::samples())
    .collect()
}

/// A few seconds as they are constructed: small enough to be kept as a file.
fn short() -> Record {
    record(&[
        StreamShape { name: "a", seconds: 4, ..StreamShape::default() },
        StreamShape {
            name: "b",
            seconds: 2,
            rates: vec![(OperationKind::Write, 500)],
            ..StreamShape::default()
        },
    ])
}

fn steady() -> Record {
    let rates = vec![(OperationKind::Read, 7000), (OperationKind::Write, 3000)];
    let mut record = record(&[StreamShape { name: "oltp", rates, seconds: 120, ..StreamShape::default() }]);
    record.steps[0].intervals[..10].iter_mut().for_each(|interval| interval.phase = Phase::Ramp);
    record.steps[0].finished.as_mut().unwrap().streams[0].workers[0].start = Nanos::secs(10);
    record.started.title = "OLTP on the new array".to_owned();
    scatter(&mut record, 1.0);
    record.steps[0].host = (0..120).map(|at| busy(at, "nvme0n1")).collect();
    record
}

/// A second in which the processors did something for a quarter to a half, and the device for most of it.
fn busy(at: u64, device: &str) -> HostSample {
    let devices =
        vec![DeviceUse { name: device.to_owned(), busy_ms: 900 + at * 7 % 100, ..DeviceUse::default() }];
    let (start, end) = (Nanos::secs(at), Nanos::secs(at + 1));
    HostSample { step: 0, start, end, processor_ticks: 800, busy_ticks: 200 + at * 37 % 200, devices }
}

/// With all that a time line can have on it: notes of a person, a warm-up, a stall, a cliff, thresholds that are not kept.
fn marked() -> Record {
    let rates = vec![(OperationKind::Read, 9000)];
    let mut record = record(&[StreamShape { name: "oltp", rates, seconds: 150, ..StreamShape::default() }]);
    scatter(&mut record, 0.2);
    let sound = record.steps[0].intervals[10].tally.clone();
    for interval in &mut record.steps[0].intervals {
        let (share, slower) = match interval.sequence {
            0..10 => (0.4, 2),
            100.. => (0.5, 2),
            _ => (1.0, 1),
        };
        interval.tally = sound.clone();
        let kind = &mut interval.tally.kinds[0];
        let scattered = kind.operations + interval.sequence * 7919 % 150;
        kind.operations = scaled(scattered, share);
        let slowed =
            kind.service.histogram.buckets().map(|(index, count)| (index + 128 * (slower - 1), count));
        kind.service.histogram = slowed.collect();
        if (55..58).contains(&interval.sequence) {
            kind.operations = 0;
            kind.service = fathom_schema::LatencyTally::default();
        }
        if interval.sequence == 58 {
            kind.service.moments.max_ns = 3_000_000_000;
        }
    }
    let mut total = StreamTally::default();
    record.steps[0].intervals.iter().for_each(|interval| merge_tally(&mut total, &interval.tally));
    record.steps[0].finished.as_mut().unwrap().streams[0].workers[0].tally = total;
    record.started.title = "a rebuild beside the load".to_owned();
    let thresholds = ["iops>6k", "p99<8ms", "max<1s"].map(|text| text.parse().unwrap()).to_vec();
    record.started.thresholds = thresholds;
    for (at, text) in
        [(96, "rebuild started <b>"), (99, "second disk pulled"), (101, "alarm"), (149, "rebuild at 3 %")]
    {
        let message = format!("mark at {at} s: {text}");
        let (kind, severity) = (NoteKind::Mark, Severity::Info);
        record.push(Event::Note(Note { at: Nanos::secs(at), kind, severity, message })).unwrap();
    }
    record
}

fn mixed() -> Record {
    let open =
        Pacing::Open { rate: 1500.0, arrival: Arrival::Poisson, course: Vec::new(), backlog: Backlog::Keep };
    let mut record = record(&[
        StreamShape {
            name: "database",
            seconds: 90,
            workers: 4,
            rates: vec![(OperationKind::Read, 2500)],
            ..StreamShape::default()
        },
        StreamShape {
            name: "log",
            seconds: 90,
            random: false,
            rates: vec![(OperationKind::Write, 1500)],
            pacing: open,
            fullness: 0.2,
            ..StreamShape::default()
        },
        StreamShape {
            name: "backup",
            seconds: 40,
            block_bytes: 1 << 20,
            rates: vec![(OperationKind::Read, 300)],
            ..StreamShape::default()
        },
    ]);
    record.steps[0].finished.as_mut().unwrap().streams[0].workers[0].tally.kinds[0].errors = vec![(5, 3)];
    record.started.title = "three at once".to_owned();
    scatter(&mut record, 1.0);
    // Errors are of the last of them.
    spread(&mut record.steps[0], 0, &["/mnt/fast/data", "/mnt/slow/data"]);
    let message = "interval 17 of stream \"log\" came 1.2 s late".to_owned();
    note(&mut record, NoteKind::LateInterval, Severity::Warn, message);
    record
}

fn note(record: &mut Record, kind: NoteKind, severity: Severity, message: String) {
    record.push(Event::Note(Note { at: Nanos::secs(1), kind, severity, message })).unwrap();
}

fn sweep() -> Record {
    let depths = [1_u32, 2, 4, 8, 16, 32, 64, 128, 256];
    let shape = |depth: u32| {
        // A device with eight units of 100 µs: faster up to depth 8, only slower beyond.
        let rate = 10_000 * u64::from(depth.min(8));
        StreamShape {
            name: "reads",
            seconds: 30,
            queue_depth: depth,
            rates: vec![(OperationKind::Read, rate)],
            ..StreamShape::default()
        }
    };
    let mut record = record(&[shape(1)]);
    for (index, depth) in (0_u32..).zip(depths).skip(1) {
        push(&mut record, &[shape(depth)], index);
    }
    for (step, (depth, at)) in record.steps.iter_mut().zip(depths.into_iter().zip(0_u64..)) {
        step.started.wall_ms += at * 30_500;
        step.started.step.name = format!("curve, queue depth {depth}");
        step.started.step.parameters = vec![("stream.queue_depth".to_owned(), depth.to_string())];
    }
    record.finished.as_mut().unwrap().wall_ms += 8 * 30_500;
    record.started.title = "how deep to queue".to_owned();
    scatter(&mut record, 1.0);
    record
}

/// A day.
fn long() -> Record {
    let mut record = record(&[StreamShape { name: "soak", seconds: 6000, ..StreamShape::default() }]);
    record.started.title = "a long soak".to_owned();
    scatter(&mut record, 0.1);
    record
}

fn killed() -> Record {
    let mut record = sweep();
    record.steps.truncate(2);
    record.steps[1].finished = None;
    record.steps[1].intervals.truncate(7);
    record.finished = None;
    record
}

fn empty() -> Record {
    let mut record = short();
    record.steps.clear();
    record.finished.as_mut().unwrap().outcome =
        Outcome::Failed { reason: "no space left on the target".to_owned() };
    record
}

/// Everywhere a name may come from someone else, it tries to be more than a name.
fn hostile() -> Record {
    const NAME: &str = "<script>alert(1)</script>";
    let mut record = mixed();
    let started = &mut record.started;
    started.title = format!("{NAME} \"quoted\" 'and' & \u{202e}turned אבג");
    started.description = Some("</script><img src=x onerror=alert(2)><!-- <script>".to_owned());
    started.command = vec!["fathom".to_owned(), "run".to_owned(), "a'; $(reboot) `x` <b>.toml".to_owned()];
    started.sources = vec![(
        "</pre><script>alert(3)</script>.toml".to_owned(),
        "title = \"</code></pre><script>alert(4)</script>\"\n```\n[x](javascript:alert(5))\n".to_owned(),
    )];
    started.facts.host = "<h1>host".to_owned();
    started.facts.cpu.model = "\"><svg onload=alert(6)>".to_owned();
    started.facts.targets[0].path = "/dev/<img src=x onerror=alert(7)>".into();
    started.facts.environment = vec![EnvironmentFact {
        subject: "device \"onmouseover=\"alert(8)".to_owned(),
        name: "</td><script>alert(9)</script>".to_owned(),
        value: Some("{{constructor.constructor('alert(10)')()}}\u{2028}".to_owned()),
        source: "/sys/block/x/queue/scheduler".to_owned(),
    }];
    with_drive(&mut record, "<i>sda", [("<b>wear", "<u>1", "<u>2"), ("\u{202e}spare", "", "9 %")]);
    let step = &mut record.steps[0].started.step;
    step.name = format!("</h2>{NAME}");
    step.streams[0].name = format!("{NAME}<!--");
    step.streams[1].name = "اختبار القرص 4k".to_owned();
    step.streams[2].name = "a very long name that goes on and on ".repeat(6);
    step.parameters = vec![("stream.<b>".to_owned(), "</script>".to_owned())];
    note(&mut record, NoteKind::Job, Severity::Warn, format!("job {NAME} & co"));
    record
}

/// A small generator of its own, so that pages do not change with a library (Knuth, MMIX).
struct Scatter(u64);

impl Scatter {
    /// 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// About normal: the sum of twelve uniform values.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.next()).sum::<f64>() - 6.0
    }
}

/// Gives every interval latencies that scatter around the constructed mean, a rate that wavers, and twice a dip; totals
/// become the sums of the intervals of the measure phase.
pub(crate) fn scatter(record: &mut Record, share_drawn: f64) {
    let mut random = Scatter(7);
    for step in &mut record.steps {
        let count = step.intervals.iter().map(|interval| interval.sequence + 1).max().unwrap_or(1);
        let streams = step.started.step.streams.len();
        let mut totals = vec![StreamTally::default(); streams];
        for interval in &mut step.intervals {
            let is_dip = interval.sequence == count * 2 / 5 || interval.sequence == count * 4 / 5;
            let wavers = 1.0 + 0.03 * random.normal() - if is_dip { 0.55 } else { 0.0 };
            for kind in &mut interval.tally.kinds {
                let mean_ns = kind.service.moments.mean_ns() * if is_dip { 3.0 } else { 1.0 };
                let before = kind.operations;
                kind.operations = scaled(before, wavers);
                kind.bytes = kind.bytes / before.max(1) * kind.operations;
                let drawn = scaled(DRAWN, share_drawn).min(kind.operations).max(1);
                let is_open = kind.response.is_some();
                kind.service = latencies(&mut random, mean_ns * 0.83, kind.operations, drawn).to_tally();
                kind.response =
                    is_open.then(|| latencies(&mut random, mean_ns * 1.4, kind.operations, drawn).to_tally());
            }
            if interval.phase == Phase::Measure {
                merge_tally(&mut totals[interval.stream as usize], &interval.tally);
            }
        }
        let Some(finished) = &mut step.finished else { continue };
        let (before, after) = (&step.started.devices[0], &mut finished.devices[0]);
        after.clone_from(before);
        after.busy_ms += count * 990;
        after.queue_ms += count * 4000;
        for kind in step.intervals.iter().flat_map(|interval| &interval.tally.kinds) {
            let (operations, sectors) = match kind.kind {
                OperationKind::Read => (&mut after.reads, &mut after.read_sectors),
                _ => (&mut after.writes, &mut after.write_sectors),
            };
            *operations += kind.operations;
            *sectors += kind.bytes / 512;
        }
        for (stream, total) in finished.streams.iter_mut().zip(totals) {
            let errors = stream.workers[0].tally.kinds[0].errors.clone();
            let rest = StreamTally { kinds: Vec::new(), ..StreamTally::default() };
            stream.workers.iter_mut().skip(1).for_each(|worker| worker.tally = rest.clone());
            stream.workers[0].tally = total;
            stream.workers[0].tally.kinds[0].errors = errors;
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
fn scaled(count: u64, factor: f64) -> u64 {
    (count as f64 * factor).round() as u64
}

/// Log-normal, one in two hundred twenty times slower.
fn latencies(random: &mut Scatter, mean_ns: f64, count: u64, drawn: u64) -> Latency {
    let mut latency = Latency::default();
    for at in 0..drawn {
        let tail = if random.next() < 0.005 { 20.0 } else { 1.0 };
        let ns = scaled(1, mean_ns * (0.35 * random.normal()).exp() * tail).max(1);
        // The first stands for what does not divide.
        let like_it = count / drawn + if at == 0 { count % drawn } else { 0 };
        (0..like_it).for_each(|_| latency.record(ns));
    }
    latency
}
