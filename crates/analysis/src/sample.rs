//! Constructed records for tests: a step of a few streams whose figures obey Little's law exactly, on which a test then
//! changes what it is about. Not compiled into the product.

#[cfg(test)]
mod noise;

#[cfg(test)]
pub(crate) use noise::normal;

use fathom_metrics::{bucket_of, merge_tally};
use fathom_schema::{
    Advice, BlockDevice, Case, Content, Coverage, CpuFacts, Cursor, DeviceCounters, DeviceNumber,
    Distribution, Durability, EngineKind, EngineSettings, ErrorPolicy, Event, Extent, Facts, FileKind,
    FileLock, FileOrder, Fill, Freshness, Interval, IoMode, KindTally, LatencySum, LatencyTally, LayoutRule,
    Memory, Moments, OpenRule, OperationKind, Outcome, Pacing, PassEnd, Passes, Phase, Quota, RangeSync,
    Record, Repeats, RingSettings, Run, RunFinished, RunStarted, SharePart, Size, SparseHistogram, Step,
    StepFinished, StepRecord, StepStarted, Stop, Stream, StreamLimits, StreamTally, StreamTotals, SyncRule,
    Target, TargetFact, TargetKind, TargetTally, Think, ThreadUse, TimeLimit, WorkerPlan, WorkerTotals,
    Workload, Zones,
};
use fathom_units::{Bytes, Nanos, Ratio};

/// Wall clock at the start of every constructed run, milliseconds since 1970: 2026-11-20 08:59:24 UTC.
pub const WALL_MS: u64 = 1_795_165_164_000;

/// One stream of a constructed record.
#[derive(Debug, Clone)]
pub struct StreamShape {
    /// Its name.
    pub name: &'static str,
    /// Kinds, and operations per second of one worker of each.
    pub rates: Vec<(OperationKind, u64)>,
    /// Bytes of one operation.
    pub block_bytes: u32,
    /// Random or sequential.
    pub random: bool,
    /// Number of workers.
    pub workers: u32,
    /// Queue depth of one worker.
    pub queue_depth: u32,
    /// Length of the measure phase; it starts with the step.
    pub seconds: u64,
    /// Share of the queue slots that are busy.
    pub fullness: f64,
    /// Share of its time that a worker is on a CPU.
    pub cpu: f64,
    /// Direct or buffered.
    pub mode: IoMode,
    /// Closed or open.
    pub pacing: Pacing,
}

impl Default for StreamShape {
    /// Random reads of 4 KiB at 1,000/s on one worker at depth 4, for 10 s.
    fn default() -> Self {
        Self {
            name: "stream",
            rates: vec![(OperationKind::Read, 1000)],
            block_bytes: 4096,
            random: true,
            workers: 1,
            queue_depth: 4,
            seconds: 10,
            fullness: 1.0,
            cpu: 0.2,
            mode: IoMode::Direct,
            pacing: Pacing::Closed { think: Think::None },
        }
    }
}

/// The device under the target of a constructed record.
pub const DEVICE: DeviceNumber = DeviceNumber { major: 259, minor: 0 };

/// The record of one complete run of one step on a 64 GiB device, with the device's counters agreeing.
pub fn record(shapes: &[StreamShape]) -> Record {
    let mut record = Record::begin(run_started());
    push(&mut record, shapes, 0);
    let end = record.steps[0].finished.as_ref().map_or(Nanos::ZERO, |finished| finished.elapsed);
    record.finished = Some(RunFinished {
        outcome: Outcome::Complete,
        wall_ms: WALL_MS + 500 + end.0 / 1_000_000 + 20,
        drives: Vec::new(),
    });
    record
}

/// Adds one more step.
pub fn push(record: &mut Record, shapes: &[StreamShape], index: u32) {
    let before = counters();
    let streams: Vec<Stream> = shapes.iter().map(stream).collect();
    let step = Step {
        name: if index == 0 { "main".to_owned() } else { format!("main ({index})") },
        stage_index: 0,
        point_index: index,
        parameters: Vec::new(),
        pause_before: Nanos::ZERO,
        targets: vec![Target {
            name: "/dev/nvme0n1".to_owned(),
            kind: TargetKind::BlockDevice { path: "/dev/nvme0n1".into() },
            size: Bytes::gib(64),
        }],
        streams,
        errors: ErrorPolicy::Stop,
        interval: Nanos::secs(1),
        abort_when: Vec::new(),
        trees: Vec::new(),
    };
    let started =
        StepStarted { index, step, wall_ms: WALL_MS + 500, devices: vec![before.clone()], gauges: None };
    record.push(Event::StepStarted(Box::new(started))).expect("a step may always start");
    let mut totals = Vec::new();
    let mut after = before;
    for (stream, shape) in (0_u32..).zip(shapes) {
        let mut worker = StreamTally::default();
        for sequence in 0..shape.seconds {
            let second = second(shape);
            let mut all = StreamTally::default();
            (0..shape.workers).for_each(|_| merge_tally(&mut all, &second));
            merge_tally(&mut worker, &second);
            count_on_device(&mut after, &all);
            let interval = Interval {
                step: index,
                stream,
                sequence,
                start: Nanos::secs(sequence),
                end: Nanos::secs(sequence + 1),
                phase: Phase::Measure,
                late: false,
                tally: all,
            };
            record.push(Event::Interval(Box::new(interval))).expect("its step has started");
        }
        let worker = WorkerTotals {
            start: Nanos::ZERO,
            end: Nanos::secs(shape.seconds),
            synced: Nanos::ZERO,
            user_ns: worker.cpu_ns / 4,
            system_ns: worker.cpu_ns - worker.cpu_ns / 4,
            context_switches: 1000,
            major_faults: 0,
            minor_faults: 12,
            runnable_ns: 0,
            error: 0,
            verified: None,
            depth: None,
            emptied: None,
            waiting: 0,
            oldest_waiting: Nanos::ZERO,
            tally: worker,
        };
        totals.push(StreamTotals { workers: vec![worker; shape.workers as usize] });
    }
    let longest = shapes.iter().map(|shape| shape.seconds).max().unwrap_or(0);
    let finished = StepFinished {
        index,
        streams: totals,
        stop: Stop::Complete,
        elapsed: Nanos::secs(longest),
        devices: vec![after],
        environment_changes: Vec::new(),
        gauges: None,
        zero_blocks: Vec::new(),
        singles: None,
    };
    record.push(Event::StepFinished(Box::new(finished))).expect("its step has started");
}

/// Has one stream of a step go to these targets, which are made up, and counts what it did by them: the first got the most
/// operations, the last the longest ones and all errors.
pub fn spread(step: &mut StepRecord, stream: usize, names: &[&str]) {
    let Step { targets, streams, .. } = &mut step.started.step;
    let first = u32::try_from(targets.len()).expect("few targets");
    let numbers: Vec<u32> = (first..).take(names.len()).collect();
    let mut added = vec![targets[0].clone(); names.len()];
    added.iter_mut().zip(names).for_each(|(target, name)| (*name).clone_into(&mut target.name));
    targets.append(&mut added);
    for WorkerPlan { extents, .. } in &mut streams[stream].workers {
        *extents = numbers.iter().map(|&target| Extent { target, ..extents[0] }).collect();
    }
    let totals = step.finished.iter_mut().flat_map(|finished| &mut finished.streams[stream].workers);
    let of_stream = |interval: &&mut Interval| interval.stream as usize == stream;
    let tallies = totals.map(|worker| &mut worker.tally);
    for tally in
        tallies.chain(step.intervals.iter_mut().filter(of_stream).map(|interval| &mut interval.tally))
    {
        tally.targets = numbers
            .iter()
            .enumerate()
            .flat_map(|(at, &target)| tally.kinds.iter().map(move |kind| part(kind, target, at, names.len())))
            .collect();
    }
}

/// What of a tally belongs to the target at a place among so many: their parts add up.
fn part(kind: &KindTally, target: u32, at: usize, count: usize) -> TargetTally {
    let (is_last, place, places) = (at + 1 == count, at as u64, count as u64);
    let share = |total: u64, weight: &dyn Fn(u64) -> u64| {
        let all: u64 = (0..places).map(weight).sum();
        let of = |place: u64| total * weight(place) / all;
        if is_last { total - (0..place).map(of).sum::<u64>() } else { of(place) }
    };
    let often = |place: u64| places - place;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "constructed: small, positive"
    )]
    let times = |latency: &LatencyTally| LatencySum {
        sum_ns: share(latency.moments.sum_ns as u64, &|place| often(place) * (place + 1)),
        max_ns: latency.moments.max_ns / if is_last { 1 } else { 2 },
    };
    TargetTally {
        target,
        kind: kind.kind,
        operations: share(kind.operations, &often),
        bytes: share(kind.bytes, &often),
        errors: if is_last { kind.errors.iter().map(|(_, count)| count).sum() } else { 0 },
        service: times(&kind.service),
        response: kind.response.as_ref().map(times),
    }
}

/// The latency of `count` operations of mean `mean_ns`: 0.2 % at 10 times and 9 % at twice the mean, the others at what
/// makes the mean exact (0.881 times it when `count` is a multiple of 500). No usual percentile lies beside a jump, but p90.
pub fn latency(mean_ns: f64, count: u64) -> LatencyTally {
    let mut tally = LatencyTally::default();
    let (slow, medium) = (count / 500, count * 9 / 100);
    let fast = count - slow - medium;
    let fast_factor = (count as f64 - 2.0 * medium as f64 - 10.0 * slow as f64) / fast.max(1) as f64;
    for (factor, count) in [(fast_factor, fast), (2.0, medium), (10.0, slow)] {
        if count == 0 {
            continue;
        }
        let ns = mean_ns * factor;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "constructed: small, positive"
        )]
        let whole = ns as u64;
        let n = count as f64;
        tally.moments.merge(&Moments {
            count,
            min_ns: whole,
            max_ns: whole,
            sum_ns: ns * n,
            sum_squares: ns * ns * n,
        });
        let index = u32::try_from(bucket_of(whole)).expect("bucket indices are small");
        fathom_metrics::merge_sparse(&mut tally.histogram, &SparseHistogram::from_iter([(index, count)]));
    }
    tally
}

/// What one worker does in one second.
fn second(shape: &StreamShape) -> StreamTally {
    let all: u64 = shape.rates.iter().map(|(_, rate)| rate).sum();
    let slot_ns = f64::from(shape.queue_depth) * 1e9 * shape.fullness;
    let mean_ns = if all == 0 { 0.0 } else { slot_ns / all as f64 };
    let is_open = matches!(shape.pacing, Pacing::Open { .. });
    let mut kinds: Vec<KindTally> = shape
        .rates
        .iter()
        .map(|&(kind, rate)| KindTally {
            kind,
            operations: rate,
            bytes: if kind == OperationKind::Sync { 0 } else { rate * u64::from(shape.block_bytes) },
            short: 0,
            data_syncs: 0,
            errors: Vec::new(),
            service: latency(mean_ns, rate),
            response: is_open.then(|| latency(mean_ns * 1.5, rate)),
            submission: Moments {
                count: rate,
                min_ns: 900,
                max_ns: 4000,
                sum_ns: 1000.0 * rate as f64,
                sum_squares: 1.2e6 * rate as f64,
            },
            completion: None,
        })
        .collect();
    kinds.sort_by_key(|kind| kind.kind);
    let mut depth_levels = [0; 7];
    depth_levels[(shape.queue_depth.ilog2() as usize).min(6)] = all;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of one second")]
    let cpu_ns = (shape.cpu * 1e9) as u64;
    StreamTally {
        kinds,
        targets: Vec::new(),
        connections: Moments::default(),
        in_flight_ns: slot_ns,
        failed_ns: 0.0,
        outside_ns: 0.0,
        cpu_ns,
        used: ThreadUse::default(),
        depth_levels,
        submit_sizes: [0, all, 0, 0, 0, 0, 0],
        complete_sizes: [0, all, 0, 0, 0, 0, 0],
        arrivals: if is_open { all } else { 0 },
        arrivals_late: 0,
        arrivals_dropped: 0,
        left_waiting: None,
        backlog_max: 0,
    }
}

fn count_on_device(device: &mut DeviceCounters, tally: &StreamTally) {
    for kind in &tally.kinds {
        let ms = 1000;
        match kind.kind {
            OperationKind::Read => {
                device.reads += kind.operations;
                device.read_sectors += kind.bytes / 512;
                device.read_ms += ms;
            }
            OperationKind::Write => {
                device.writes += kind.operations;
                device.write_sectors += kind.bytes / 512;
                device.write_ms += ms;
            }
            OperationKind::Trim => {
                device.discards += kind.operations;
                device.discard_sectors += kind.bytes / 512;
            }
            OperationKind::Sync => device.flushes += kind.operations,
        }
    }
    device.busy_ms += 990;
    device.queue_ms += 2000;
}

fn stream(shape: &StreamShape) -> Stream {
    let moving = shape.rates.iter().filter(|(kind, _)| *kind != OperationKind::Sync);
    let all: u64 = moving.clone().map(|(_, rate)| rate).sum();
    let cases = moving
        .map(|&(kind, rate)| Case {
            weight: rate as f64 / all as f64,
            kind,
            size: Size::Fixed(shape.block_bytes),
            random: shape.random,
            align: None,
        })
        .collect();
    // Each worker its own 4 GiB, so that no two share a region unless a test makes them.
    let workers = (0..shape.workers)
        .map(|index| WorkerPlan {
            extents: vec![Extent {
                target: 0,
                start: Bytes::gib(4 * u64::from(index)),
                length: Bytes::gib(4),
                room: Bytes::ZERO,
            }],
            part: SharePart { index: 0, count: 1 },
            seed: u64::from(index),
            cpus: Vec::new(),
        })
        .collect();
    Stream {
        name: shape.name.to_owned(),
        report_group: 0,
        engine: EngineSettings {
            kind: EngineKind::IoUring(RingSettings::USUAL),
            mode: shape.mode,
            durability: Durability::None,
            open: OpenRule::DropCache,
            batch_submit: shape.queue_depth,
            exact_batches: false,
            batch_complete: 1,
            advice: Advice::None,
            memory: Memory::default(),
            refill_at: fathom_schema::Quota::Unlimited,
            batch_complete_max: fathom_schema::Quota::Unlimited,
            serialize_overlap: false,
            priorities: Vec::new(),
            trim_by: fathom_schema::TrimBy::Discard,
            program: None,
        },
        queue_depth: shape.queue_depth,
        workload: workload(cases, shape.block_bytes),
        trace: None,
        pacing: shape.pacing.clone(),
        rate_counts: fathom_schema::Counted::Operations,
        limits: StreamLimits {
            time: TimeLimit::Nanoseconds(shape.seconds * 1_000_000_000),
            bytes: Quota::Unlimited,
            operations: Quota::Unlimited,
            full_ends: false,
            ramp_counts: false,
            passes: Passes::Endless,
            steady: None,
        },
        start_delay: Nanos::ZERO,
        start_delay_of_run: false,
        ramp: Nanos::ZERO,
        workers,
        record_completion: false,
        control: fathom_schema::Control::default(),
        lock: FileLock::None,
        fresh_files: false,
        demands: fathom_schema::Demands::default(),
        flow: None,
        scheduling: fathom_schema::Scheduling::default(),
        depth_search: None,
        ramp_bytes: fathom_schema::Quota::Unlimited,
        kind_rates: Vec::new(),
        pauses: fathom_schema::Pauses::default(),
    }
}

fn workload(cases: Vec<Case>, block_bytes: u32) -> Workload {
    Workload {
        cases,
        replies: Vec::new(),
        kinds: fathom_schema::KindOrder::Drawn,
        cursor: Cursor::Shared,
        distribution: Distribution::Uniform,
        coverage: Coverage::Independent,
        align: Bytes(u64::from(block_bytes)),
        align_of: Vec::new(),
        run_length: 1,
        run: Run::Onward,
        stride_bytes: 0,
        ends: PassEnd::Anew,
        zones: Zones::None,
        file_order: FileOrder::RoundRobin(1),
        extents_at_once: Quota::Unlimited,
        content: Content {
            fill: Fill::Random,
            freshness: Freshness::Every,
            compressible: Ratio::ZERO,
            compress_chunk_bytes: 4096,
            dedupable: Ratio::ZERO,
            repeats: Repeats::Any,
        },
        sync: SyncRule {
            fsync_every: Quota::Unlimited,
            fdatasync_every: Quota::Unlimited,
            range_every: Quota::Unlimited,
            range: RangeSync::default(),
            fsync_at_end: false,
            syncfs_at_end: false,
        },
        trim_then_write: false,
        verification: fathom_schema::Verification::Off,
    }
}

fn run_started() -> RunStarted {
    let device = BlockDevice {
        name: "nvme0n1".to_owned(),
        number: DEVICE,
        disk: "nvme0n1".to_owned(),
        size: Bytes::gib(64),
        logical_sector_bytes: 512,
        physical_sector_bytes: 4096,
        model: "Example NVMe 64".to_owned(),
        serial: "S0000001".to_owned(),
        ..BlockDevice::default()
    };
    let target = TargetFact {
        path: "/dev/nvme0n1".into(),
        resolved: "/dev/nvme0n1".into(),
        kind: FileKind::BlockDevice,
        error: None,
        errno: None,
        filesystem: None,
        folder_made_by_fathom: false,
        file: None,
        device: Some(device),
    };
    RunStarted {
        schema_version: fathom_schema::VERSION,
        run: "01JD3T5W2A0000000000000001".to_owned(),
        tool_version: "0.1.0".to_owned(),
        command: vec!["fathom".to_owned(), "run".to_owned(), "job.toml".to_owned()],
        title: "a job".to_owned(),
        description: Some("before the firmware update".to_owned()),
        sources: vec![("job.toml".to_owned(), "title = \"a job\"\n".to_owned())],
        echo: vec![("stream".to_owned(), vec![("access".to_owned(), "random".to_owned())])],
        wall_ms: WALL_MS,
        expected_seconds: Some(10.0),
        question: None,
        thresholds: Vec::new(),
        abort_when: Vec::new(),
        facts: Facts {
            host: "lab1".to_owned(),
            cpu: CpuFacts { model: "Example CPU".to_owned(), usable: vec![0, 1], reachable: Vec::new() },
            memory: Bytes::gib(16),
            page_size: Bytes::kib(4),
            targets: vec![target],
            ..Facts::default()
        },
    }
}

fn counters() -> DeviceCounters {
    DeviceCounters {
        name: "nvme0n1".to_owned(),
        number: DEVICE,
        reads: 10,
        read_merges: 0,
        read_sectors: 80,
        read_ms: 3,
        writes: 20,
        write_merges: 0,
        write_sectors: 160,
        write_ms: 4,
        busy_ms: 7,
        queue_ms: 9,
        discards: 0,
        discard_sectors: 0,
        flushes: 1,
    }
}

/// The file target of a constructed record: replaces the device by a file of `size` on it.
pub fn on_file(record: &mut Record, size: Bytes) {
    let path = std::path::PathBuf::from("/mnt/scratch/file");
    for step in &mut record.steps {
        step.started.step.targets[0] = Target {
            name: "/mnt/scratch/file".to_owned(),
            kind: TargetKind::File { path: path.clone(), layout: LayoutRule::Written, remove_after: true },
            size,
        };
    }
    let fact = &mut record.started.facts.targets[0];
    fact.path.clone_from(&path);
    fact.resolved = path;
    fact.kind = FileKind::File;
}
