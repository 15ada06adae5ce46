//! A run's events as a viewer wants them while it goes on: small, with the figures computed and names instead of numbers.
//! The same form serves the intervals of a stored record. Knows nothing of how they get to whoever looks.

mod gauges;

pub use gauges::Gauges;

use crate::aims::names;
use crate::charts::spread;
use crate::summary::{errors, kinds, note_kind_name, phase_name, quantile, response};
use fathom_analysis::describe;
use fathom_schema::{
    DeviceUse, Event, HostSample, Interval, KindTally, OperationKind, Outcome, Pacing, Severity, Step, Stop,
    Stream, Target, TargetTally, TimeLimit,
};
use fathom_units::{Bytes, BytesPerSec, Iops, Nanos};
use schemars::JsonSchema;
use serde::Serialize;

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Live {
    /// The run began.
    RunStarted {
        /// Its identity.
        run: String,
        /// Title for people.
        title: String,
        /// What is to be found out; null when nothing is said.
        description: Option<String>,
        /// Wall clock, milliseconds since 1970-01-01 UTC.
        started_ms: u64,
        /// Seconds that it is expected to take; null when nothing bounds it in time.
        expected_seconds: Option<f64>,
    },
    /// A step's workers were released.
    StepStarted {
        /// Index in the run, from 0.
        step: u32,
        /// Name for people.
        name: String,
        /// What is swept, and its value here.
        parameters: Vec<(String, String)>,
        /// Wall clock, milliseconds since 1970-01-01 UTC.
        started_ms: u64,
        /// Its streams, in plan order.
        streams: Vec<StreamView>,
    },
    /// A stream did something in one interval.
    Interval(IntervalView),
    /// What streams did together, about once per interval.
    Figures(Box<FiguresView>),
    /// What was done on each target, beside the figures, in a step with a stream that goes to several.
    Targets(Box<TargetsView>),
    /// How busy the host was, about once a second.
    Host(HostView),
    /// Something that the reader should know.
    Note {
        /// Seconds since the run's start.
        at_s: f64,
        /// What it is about: `engine`, `job`, `target`, `mark` and others.
        kind: String,
        /// `info`, `warn` or `invalid`.
        severity: String,
        /// In words.
        message: String,
    },
    /// A step's workers have all ended.
    StepFinished {
        /// Index in the run.
        step: u32,
        /// Why: `complete`, `interrupted`, `io_errors`, `mismatch`, `failed`, `changed`.
        stop: String,
        /// Seconds from the workers' start to the last one's end.
        elapsed_s: f64,
    },
    /// The run has ended.
    RunFinished {
        /// How: `complete`, `interrupted`, `io_errors`, `mismatch`, `aborted` (`abort_when`), `failed`.
        state: String,
        /// Why, in words, when it did not end well.
        reason: Option<String>,
        /// Wall clock, milliseconds since 1970-01-01 UTC.
        finished_ms: u64,
    },
}

/// A stream of a step.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StreamView {
    /// Its name.
    pub name: String,
    /// What it does, in a few words.
    pub workload: String,
    /// Names of the targets that it aims at, the first 16.
    pub targets: Vec<String>,
    /// How many there are.
    pub target_count: u64,
    /// Number of workers.
    pub workers: u64,
    /// Operations asked to be in flight, over all workers.
    pub queue_depth: u64,
    /// Asked operations per second; null in a closed loop.
    pub rate_per_s: Option<f64>,
    /// Time before measuring, seconds.
    pub ramp_s: f64,
    /// Time it measures at most, seconds; null when its work ends it.
    pub time_s: Option<f64>,
}

/// One interval of one stream.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct IntervalView {
    /// Index of the step in the run.
    pub step: u32,
    /// Index of the stream in the step.
    pub stream: u32,
    /// Start, seconds since the step's start.
    pub start_s: f64,
    /// End, in the same unit.
    pub end_s: f64,
    /// `ramp` or `measure`.
    pub phase: String,
    /// True when it covers more than one edge.
    pub late: bool,
    /// Mean number of operations in flight.
    pub queue_depth_held: f64,
    /// Arrivals that came due while no slot was free (open loop).
    pub arrivals_late: u64,
    /// Arrivals that were given up (open loop).
    pub arrivals_dropped: u64,
    /// Reads, writes and trims together.
    pub all: KindView,
    /// Each kind that occurred.
    pub kinds: Vec<KindView>,
    /// How their response times are spread: pairs of a row and its operations, from the fastest. Row r holds 2^(r/4) to
    /// 2^((r+1)/4) ns.
    pub spread: Vec<(usize, u64)>,
}

/// What a stream did on one of its targets, reads, writes and trims together.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OnTarget {
    /// Index of the target in the step.
    pub target: u32,
    /// Operations completed without an error.
    pub operations: u64,
    /// Failed operations.
    pub errors: u64,
    /// Operations per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Mean response time, nanoseconds; null without an operation.
    pub mean_ns: Option<f64>,
    /// Longest response time, nanoseconds; null without an operation.
    pub max_ns: Option<u64>,
}

/// What streams of a step do together: at the moment, and since the measuring began.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FiguresView {
    /// Index of the step in the run.
    pub step: u32,
    /// End of the newest interval, seconds since the step's start.
    pub reached_s: f64,
    /// The newest interval of all streams; rates add up, and percentiles are those of all operations.
    pub last: Option<SpanView>,
    /// All streams from the first start of a measure phase on; null before.
    pub since: Option<SpanView>,
    /// Each stream since it measures, in plan order; null before.
    pub streams: Vec<Option<SpanView>>,
    /// Streams that go to the same targets.
    pub groups: Vec<GroupView>,
}

/// Streams of a step that go to the same targets.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GroupView {
    /// Their indices in the step.
    pub streams: Vec<u64>,
    /// Their newest interval.
    pub last: Option<SpanView>,
    /// Since one of them measures.
    pub since: Option<SpanView>,
}

/// What was done on each target: at the moment, and since the measuring began. One in a step that is told anew takes the place
/// of the last.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TargetsView {
    /// Index of the step in the run.
    pub step: u32,
    /// Each stream that goes to 2 to 64 targets, in plan order, on each of them. Those that go to one alone have their figures
    /// there; those that go to more are not counted apart.
    pub parts: Vec<TargetView>,
    /// Each target that those go to, and those that go to one alone: what they do there together.
    pub targets: Vec<TargetView>,
}

/// What streams did on one target.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TargetView {
    /// Its name.
    pub target: String,
    /// Indices of the streams in the step.
    pub streams: Vec<u64>,
    /// Indices of streams that go there too and are not counted by target, at most 16: figures of a target are without
    /// theirs.
    pub without: Vec<u64>,
    /// How many they are, those that are not named among them.
    pub without_count: u64,
    /// Their newest interval; null where none of them goes on.
    pub last: Option<TargetSpan>,
    /// Since one of them measures; null before.
    pub since: Option<TargetSpan>,
}

/// What operations did on one target in a span of time: reads, writes and trims together. Latencies are response times
/// (intended start to completion) in nanoseconds, null without an operation.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TargetSpan {
    /// Start, seconds since the step's start.
    pub start_s: f64,
    /// End, in the same unit.
    pub end_s: f64,
    /// Completed without an error.
    pub operations: u64,
    /// Failed.
    pub errors: u64,
    /// Per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Mean.
    pub mean_ns: Option<f64>,
    /// Largest.
    pub max_ns: Option<u64>,
}

/// What operations did in a span of time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SpanView {
    /// Start, seconds since the step's start.
    pub start_s: f64,
    /// End, in the same unit.
    pub end_s: f64,
    /// Mean number of operations in flight.
    pub queue_depth_held: f64,
    /// Reads, writes and trims together.
    pub all: KindView,
}

/// How busy the host was for a part of a step.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HostView {
    /// Index of the step in the run.
    pub step: u32,
    /// Start, seconds since the step's start.
    pub start_s: f64,
    /// End, in the same unit.
    pub end_s: f64,
    /// Share of the processors' time in which they did something, 0 to 1; null where the kernel tells nothing.
    pub processors: Option<f64>,
    /// Block devices under the targets.
    pub devices: Vec<DeviceView>,
}

/// What a block device did, as the kernel counts it: for all who use it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DeviceView {
    /// Kernel name.
    pub name: String,
    /// Share of the time in which it had a request in flight, 0 to 1.
    pub busy: f64,
    /// Completed reads, writes and discards.
    pub operations: u64,
    /// Bytes read and written.
    pub bytes: u64,
    /// Seconds from when requests were made until they completed, summed over them, as whole milliseconds are counted.
    pub waited_s: f64,
}

/// What operations of one kind did in an interval. Latencies are response times (intended start to completion) in
/// nanoseconds, null without an operation.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct KindView {
    /// `all`, `read`, `write`, `trim` or `sync`.
    pub kind: String,
    /// Completed without an error.
    pub operations: u64,
    /// Failed.
    pub errors: u64,
    /// Per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Mean.
    pub mean_ns: Option<f64>,
    /// 50th percentile.
    pub p50_ns: Option<u64>,
    /// 90th percentile.
    pub p90_ns: Option<u64>,
    /// 95th percentile.
    pub p95_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub p999_ns: Option<u64>,
    /// Largest.
    pub max_ns: Option<u64>,
}

/// An event as a viewer wants it; `None` for those that only a store needs.
pub fn live(event: &Event) -> Option<Live> {
    Some(match event {
        Event::RunStarted(started) => Live::RunStarted {
            run: started.run.clone(),
            title: started.title.clone(),
            description: started.description.clone(),
            started_ms: started.wall_ms,
            expected_seconds: started.expected_seconds,
        },
        Event::StepStarted(started) => {
            let Step { name, parameters, streams, targets, .. } = &started.step;
            Live::StepStarted {
                step: started.index,
                name: name.clone(),
                parameters: parameters.clone(),
                started_ms: started.wall_ms,
                streams: streams.iter().map(|stream| stream_view(stream, targets)).collect(),
            }
        }
        Event::Interval(interval) => Live::Interval(interval_view(interval)),
        Event::Sum(_) => return None,
        Event::Host(sample) => Live::Host(host_view(sample)),
        Event::Note(note) => Live::Note {
            at_s: note.at.as_secs_f64(),
            kind: note_kind_name(note.kind).to_owned(),
            severity: match note.severity {
                Severity::Info => "info",
                Severity::Warn => "warn",
                Severity::Invalid => "invalid",
            }
            .to_owned(),
            message: note.message.clone(),
        },
        Event::StepFinished(finished) => Live::StepFinished {
            step: finished.index,
            stop: match finished.stop {
                Stop::Complete => "complete",
                Stop::Interrupted => "interrupted",
                Stop::IoErrors => "io_errors",
                Stop::Mismatch => "mismatch",
                Stop::Failed => "failed",
                Stop::Changed => "changed",
            }
            .to_owned(),
            elapsed_s: finished.elapsed.as_secs_f64(),
        },
        Event::RunFinished(finished) => {
            let (state, reason) = match &finished.outcome {
                Outcome::Complete => ("complete", None),
                Outcome::Interrupted { .. } => ("interrupted", None),
                Outcome::IoErrors => ("io_errors", None),
                Outcome::Mismatch => ("mismatch", None),
                Outcome::Aborted { reason } => ("aborted", Some(reason.clone())),
                Outcome::Failed { reason } => ("failed", Some(reason.clone())),
            };
            Live::RunFinished { state: state.to_owned(), reason, finished_ms: finished.wall_ms }
        }
    })
}

fn host_view(sample: &HostSample) -> HostView {
    let device = |device: &DeviceUse| DeviceView {
        name: device.name.clone(),
        busy: sample.device_busy(device),
        operations: device.operations,
        bytes: device.bytes,
        waited_s: device.waited_ms as f64 / 1e3,
    };
    HostView {
        step: sample.step,
        start_s: sample.start.as_secs_f64(),
        end_s: sample.end.as_secs_f64(),
        processors: sample.processors_busy(),
        devices: sample.devices.iter().map(device).collect(),
    }
}

fn stream_view(stream: &Stream, targets: &[Target]) -> StreamView {
    let aims = stream.targets();
    StreamView {
        name: stream.name.clone(),
        workload: describe::workload(&stream.workload),
        targets: names(&aims, targets),
        target_count: aims.len() as u64,
        workers: stream.workers.len() as u64,
        queue_depth: describe::queue_depth(stream),
        rate_per_s: match &stream.pacing {
            Pacing::Open { rate, .. } => Some(*rate),
            Pacing::Closed { .. } => None,
        },
        ramp_s: stream.ramp.as_secs_f64(),
        time_s: match stream.limits.time {
            TimeLimit::Nanoseconds(ns) => Some(Nanos(ns).as_secs_f64()),
            TimeLimit::Unbounded => None,
        },
    }
}

/// An interval with its figures.
pub fn interval_view(interval: &Interval) -> IntervalView {
    let length = interval.end.since(interval.start);
    let (all, kinds) = kinds(std::iter::once(&interval.tally));
    let held = if length.0 == 0 { 0.0 } else { interval.tally.in_flight_ns / length.0 as f64 };
    IntervalView {
        step: interval.step,
        stream: interval.stream,
        start_s: interval.start.as_secs_f64(),
        end_s: interval.end.as_secs_f64(),
        phase: phase_name(interval.phase).to_owned(),
        late: interval.late,
        queue_depth_held: held,
        arrivals_late: interval.tally.arrivals_late,
        arrivals_dropped: interval.tally.arrivals_dropped,
        spread: spread(response(&all)),
        all: kind_view("all", &all, length),
        kinds: kinds.iter().map(|kind| kind_view(kind.kind.name(), kind, length)).collect(),
    }
}

/// What the stream of an interval did on each of its targets, ascending; nothing where it has one alone, which has all.
pub fn on_targets(interval: &Interval) -> Vec<OnTarget> {
    let length = interval.end.since(interval.start);
    let counts = |tally: &&TargetTally| tally.kind != OperationKind::Sync;
    let mut found: Vec<TargetTally> = Vec::new();
    for tally in interval.tally.targets.iter().filter(counts) {
        match found.last_mut().filter(|last| last.target == tally.target) {
            Some(last) => last.merge(tally),
            None => found.push(*tally),
        }
    }
    let view = |tally: TargetTally| {
        let TargetTally { target, kind: _, operations, bytes, errors, service, response } = tally;
        let latency = response.unwrap_or(service);
        let some = (operations > 0).then_some(());
        OnTarget {
            target,
            operations,
            errors,
            iops: Iops::of(operations, length).0,
            bytes_per_s: BytesPerSec::of(Bytes(bytes), length).0,
            mean_ns: some.map(|()| latency.sum_ns as f64 / operations as f64),
            max_ns: some.map(|()| latency.max_ns),
        }
    };
    found.into_iter().map(view).collect()
}

fn kind_view(name: &str, tally: &KindTally, length: Nanos) -> KindView {
    let latency = response(tally);
    let some = (latency.moments.count > 0).then_some(());
    let percentile = |q| some.and_then(|()| quantile(latency, q));
    KindView {
        kind: name.to_owned(),
        operations: tally.operations,
        errors: errors(tally),
        iops: Iops::of(tally.operations, length).0,
        bytes_per_s: BytesPerSec::of(Bytes(tally.bytes), length).0,
        mean_ns: some.map(|()| latency.moments.mean_ns()),
        p50_ns: percentile(0.5),
        p90_ns: percentile(0.9),
        p95_ns: percentile(0.95),
        p99_ns: percentile(0.99),
        p999_ns: percentile(0.999),
        max_ns: some.map(|()| latency.moments.max_ns),
    }
}
