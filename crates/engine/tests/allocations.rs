//! Nothing in a worker loop allocates: a run of a million operations allocates no more than one of ten thousand.

mod support;

use fathom_engine::prepare::{Claims, prepare};
use fathom_engine::{Crew, Observer, RealClock, Share, execute};
use fathom_schema::*;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use support::{device, run, step, stream};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// One test at a time: the allocator counts for all.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Allocations of a whole run of `operations`, set-up included.
fn allocations(target: &TargetKind, stream: &Stream, operations: u64) -> usize {
    let mut stream = stream.clone();
    stream.limits = StreamLimits {
        time: TimeLimit::Unbounded,
        bytes: Quota::Unlimited,
        operations: Quota::AtMost(operations),
        ..stream.limits
    };
    let mut step = step(target.clone(), stream);
    step.targets = vec![step.targets[0].clone(); 3];
    // One interval holds the whole run, so that the collector's events do not count.
    step.interval = fathom_units::Nanos::secs(100_000);
    let region = Region::new(ALLOCATOR);
    let outcome = run(step);
    let count = region.change().allocations;
    assert_eq!(
        outcome.reads().operations + outcome.kind(OperationKind::Write).map_or(0, |k| k.operations),
        operations
    );
    count
}

#[test]
fn a_hundred_times_the_operations_allocate_nothing_more() {
    let _alone = alone();
    let sim = TargetKind::Sim(device(SimService::Exponential { mean_ns: 1000 }, 8));
    let mut mixed = stream(EngineKind::Sim, 32);
    mixed.workload.cases = [(0.7, OperationKind::Read, true), (0.3, OperationKind::Write, false)]
        .map(|(weight, kind, random)| Case {
            weight,
            kind,
            size: Size::Range { min: 512, max: 8192, step: 512 },
            random,
            align: None,
        })
        .to_vec();
    let mut paced = mixed.clone();
    paced.pacing =
        Pacing::Open { rate: 1e6, arrival: Arrival::Poisson, course: Vec::new(), backlog: Backlog::Keep };
    let mut bursts = paced.clone();
    let pareto = Arrival::ParetoOnOff { shape: 1.4, on_ns: 1_000_000, off_ns: 9_000_000, sources: 16 };
    bursts.pacing = Pacing::Open { rate: 1e6, arrival: pareto, course: Vec::new(), backlog: Backlog::Keep };
    let mut apart = mixed.clone();
    let first = apart.workers[0].extents[0];
    apart.workers[0].extents = (0..3).map(|target| Extent { target, ..first }).collect();
    let mut recalled = stream(EngineKind::Sim, 32);
    recalled.workload.distribution = Distribution::Reuse(vec![ReuseClass { blocks: 5000, share: 0.8 }]);
    let mut overloaded = paced.clone();
    overloaded.pacing =
        Pacing::Open { rate: 2e7, arrival: pareto, course: Vec::new(), backlog: Backlog::Keep };
    for (name, target, stream) in [
        ("sim, overloaded", &sim, overloaded),
        ("sim, closed", &sim, mixed.clone()),
        ("sim, open", &sim, paced),
        ("sim, bursts", &sim, bursts),
        ("sim, reuse", &sim, recalled),
        ("sim, three targets", &sim, apart),
        (
            "null, closed",
            &TargetKind::Null,
            Stream {
                queue_depth: 1,
                ..{
                    let mut s = stream(EngineKind::Null, 1);
                    s.workload = mixed.workload.clone();
                    s
                }
            },
        ),
    ] {
        // Warm up what the process allocates once (thread-local state, channel blocks).
        allocations(target, &stream, 1000);
        let (few, many) = (allocations(target, &stream, 10_000), allocations(target, &stream, 1_000_000));
        // The collector's channel and histogram copies vary by a few allocations with the timing of its wake-ups.
        assert!(many <= few + 16, "{name}: {many} allocations for 10⁶ operations, {few} for 10⁴");
    }
}

/// Live bytes as each interval of a run comes in.
struct Watch {
    seen: u64,
    early: usize,
    late: usize,
}

impl Observer for Watch {
    fn engine(&mut self, _: usize, _: &str) {}
    fn started(&mut self) {}
    fn interval(&mut self, _: Interval) {
        self.seen += 1;
        let stats = ALLOCATOR.stats();
        let live = stats.bytes_allocated.wrapping_sub(stats.bytes_deallocated);
        match self.seen {
            500..1000 => self.early = self.early.max(live),
            5000.. => self.late = self.late.max(live),
            _ => {}
        }
    }
    fn settled(&mut self) {}
}

#[test]
fn a_longer_run_takes_no_more_memory() {
    let _alone = alone();
    // A day and a half at an interval of ten seconds, in virtual time.
    let mut stream = stream(EngineKind::Sim, 8);
    stream.pacing =
        Pacing::Open { rate: 2.0, arrival: Arrival::Poisson, course: Vec::new(), backlog: Backlog::Keep };
    stream.limits.time = TimeLimit::Nanoseconds(130_000_000_000_000);
    let mut step = step(TargetKind::Sim(device(SimService::Exponential { mean_ns: 300_000_000 }, 1)), stream);
    step.interval = fathom_units::Nanos::secs(10);
    let claims = Arc::new(Claims::default());
    let ready = prepare(step, 0, &claims, &mut |_| {}, &AtomicBool::new(false)).expect("nothing is laid out");
    let mut watch = Watch { seen: 0, early: 0, late: 0 };
    let stop = AtomicBool::new(false);
    execute(&ready, &mut Crew::default(), &RealClock::new(true), Share::WHOLE, &stop, &mut watch)
        .expect("the step can start");
    assert_eq!(watch.seen, 13_000);
    // Cells on their way to the collector are live as well, more or fewer of them as the threads get their turns; 64 bytes
    // kept for each of the later intervals would be as much as this.
    assert!(watch.late < watch.early + 524_288, "{} bytes live at first, {} later", watch.early, watch.late);
}
