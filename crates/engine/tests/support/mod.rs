//! Steps for tests, from a few figures; and running them.
#![expect(dead_code, reason = "each test file uses its part of it")]
#![expect(unreachable_pub, reason = "a module of test files")]

use fathom_engine::prepare::{Claims, Ready, prepare};
use fathom_engine::{Crew, ExecuteError, Executed, Observer, Share, execute};
use fathom_io::clock::RealClock;
use fathom_metrics::Latency;
use fathom_schema::*;
use fathom_units::{Bytes, Nanos, Ratio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A stream of 4 KiB random reads at this depth, closed loop, one worker, on target 0 of 1 GiB.
pub fn stream(engine: EngineKind, depth: u32) -> Stream {
    Stream {
        name: "s".to_owned(),
        report_group: 0,
        engine: EngineSettings {
            kind: engine,
            mode: IoMode::Buffered,
            durability: Durability::None,
            open: OpenRule::KeepCache,
            batch_submit: depth,
            exact_batches: false,
            batch_complete: 1,
            advice: Advice::None,
            memory: Memory::default(),
            refill_at: fathom_schema::Quota::Unlimited,
            batch_complete_max: fathom_schema::Quota::Unlimited,
            serialize_overlap: false,
            priorities: Vec::new(),
            trim_by: TrimBy::Discard,
            program: None,
        },
        queue_depth: depth,
        workload: Workload {
            cases: vec![Case {
                weight: 1.0,
                kind: OperationKind::Read,
                size: Size::Fixed(4096),
                random: true,
                align: None,
            }],
            replies: Vec::new(),
            kinds: fathom_schema::KindOrder::Drawn,
            cursor: Cursor::Shared,
            distribution: Distribution::Uniform,
            coverage: Coverage::Independent,
            align: Bytes::kib(4),
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
                compress_chunk_bytes: 512,
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
        },
        trace: None,
        pacing: Pacing::Closed { think: Think::None },
        rate_counts: fathom_schema::Counted::Operations,
        limits: StreamLimits {
            time: TimeLimit::Nanoseconds(2_000_000_000),
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
        workers: vec![WorkerPlan {
            extents: vec![Extent { target: 0, start: Bytes::ZERO, length: Bytes::gib(1), room: Bytes::ZERO }],
            part: SharePart { index: 0, count: 1 },
            seed: 7,
            cpus: Vec::new(),
        }],
        record_completion: false,
        control: Control::default(),
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

/// A step of one stream on one target.
pub fn step(target: TargetKind, stream: Stream) -> Step {
    Step {
        name: "test".to_owned(),
        stage_index: 0,
        point_index: 0,
        parameters: Vec::new(),
        pause_before: Nanos::ZERO,
        targets: vec![Target { name: "t".to_owned(), kind: target, size: Bytes::gib(1) }],
        streams: vec![stream],
        errors: ErrorPolicy::Stop,
        interval: Nanos::secs(1),
        abort_when: Vec::new(),
        trees: Vec::new(),
    }
}

/// A simulated device without faults.
pub fn device(service: SimService, parallelism: u32) -> SimDevice {
    SimDevice {
        service,
        parallelism,
        error_share: Ratio::ZERO,
        short_share: Ratio::ZERO,
        stalls: Vec::new(),
        places: Vec::new(),
    }
}

/// What a run of a step gave.
#[derive(Debug)]
pub struct Outcome {
    pub executed: Executed,
    pub intervals: Vec<Interval>,
    pub engines: Vec<String>,
}

#[derive(Default)]
struct Collected {
    intervals: Vec<Interval>,
    engines: Vec<String>,
}

impl Observer for Collected {
    fn engine(&mut self, _: usize, description: &str) {
        self.engines.push(description.to_owned());
    }
    fn started(&mut self) {}
    fn interval(&mut self, interval: Interval) {
        self.intervals.push(interval);
    }
    fn settled(&mut self) {}
}

/// Prepares and runs a step without claims.
pub fn try_run(step: Step) -> Result<Outcome, ExecuteError> {
    let claims = Arc::new(Claims::default());
    let ready = prepare(step, 0, &claims, &mut |_| {}, &AtomicBool::new(false));
    try_ready(&ready.expect("the step can be prepared"))
}

/// Runs a step that was prepared.
pub fn try_ready(ready: &Arc<Ready>) -> Result<Outcome, ExecuteError> {
    try_crew(ready, &mut Crew::default())
}

/// Runs a step that was prepared, by these threads.
pub fn try_crew(ready: &Arc<Ready>, crew: &mut Crew) -> Result<Outcome, ExecuteError> {
    let mut collected = Collected::default();
    let stop = AtomicBool::new(false);
    let executed = execute(ready, crew, &RealClock::new(true), Share::WHOLE, &stop, &mut collected)?;
    Ok(Outcome { executed, intervals: collected.intervals, engines: collected.engines })
}

pub fn run(step: Step) -> Outcome {
    try_run(step).expect("the step can start")
}

impl Outcome {
    /// Totals of one kind over all workers of stream 0.
    pub fn kind(&self, kind: OperationKind) -> Option<KindTally> {
        let mut total: Option<KindTally> = None;
        for worker in &self.executed.streams[0].workers {
            for found in worker.tally.kinds.iter().filter(|found| found.kind == kind) {
                match &mut total {
                    Some(total) => fathom_metrics::merge_kind(total, found),
                    None => total = Some(found.clone()),
                }
            }
        }
        total
    }

    pub fn reads(&self) -> KindTally {
        self.kind(OperationKind::Read).expect("there were reads")
    }

    /// Length of worker 0's window, in seconds.
    pub fn seconds(&self) -> f64 {
        let worker = &self.executed.streams[0].workers[0];
        worker.end.since(worker.start).as_secs_f64()
    }

    /// Quantile of the reads' service time, in seconds.
    pub fn service_quantile(&self, q: f64) -> f64 {
        Latency::from(&self.reads().service).quantile(q).expect("there were reads") as f64 / 1e9
    }
}
