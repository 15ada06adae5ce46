//! Where a worker's operations really go: the places that it issues have the miss-ratio curve that was asked for, and are those of
//! the generator, whose curves and walks are judged by its own tests.

#[path = "../../pattern/tests/caches/mod.rs"]
mod caches;
mod support;

use caches::{independent, miss_ratios};
use fathom_engine::prepare::{Claims, prepare};
use fathom_engine::{Crew, Observer, RealClock, Share, execute};
use fathom_metrics::IssuedRow;
use fathom_pattern::{Generator, Planned};
use fathom_schema::*;
use fathom_units::{Bytes, Ratio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use support::{device, step, stream};

const BLOCK: u64 = 4096;
const BLOCKS: u64 = 100_000;
/// Of each trace only the second half is judged, so that the cache is warm.
const OPERATIONS: u64 = 400_000;

#[derive(Default)]
struct Issued(Vec<IssuedRow>);

impl Observer for Issued {
    fn engine(&mut self, _: usize, _: &str) {}
    fn started(&mut self) {}
    fn interval(&mut self, _: Interval) {}
    fn settled(&mut self) {}
    fn wants_issued(&self, _: usize) -> bool {
        true
    }
    fn issued(&mut self, _: usize, rows: &[IssuedRow]) {
        self.0.extend_from_slice(rows);
    }
}

/// The stream, and what its worker issued on a simulated device, several operations at a time.
fn issued(distribution: Distribution, write_share: f64) -> (Stream, Vec<IssuedRow>) {
    let mut stream = stream(EngineKind::Sim, 8);
    stream.workload.distribution = distribution;
    let read = stream.workload.cases[0];
    let write = Case { weight: write_share, kind: OperationKind::Write, ..read };
    stream.workload.cases = vec![Case { weight: 1.0 - write_share, ..read }, write];
    stream.workload.cases.retain(|case| case.weight > 0.0);
    stream.workers[0].extents[0].length = Bytes(BLOCKS * BLOCK);
    stream.limits.time = TimeLimit::Unbounded;
    stream.limits.operations = Quota::AtMost(OPERATIONS);
    let sim = device(SimService::Exponential { mean_ns: 1_000_000 }, 4);
    let step = step(TargetKind::Sim(SimDevice { short_share: Ratio::ZERO, ..sim }), stream.clone());
    let ready = prepare(step, 0, &Arc::new(Claims::default()), &mut |_| {}, &AtomicBool::new(false));
    let (ready, stop) = (ready.expect("it can be prepared"), AtomicBool::new(false));
    let mut found = Issued::default();
    execute(&ready, &mut Crew::default(), &RealClock::new(true), Share::WHOLE, &stop, &mut found)
        .expect("it can start");
    (stream, found.0)
}

fn check(distribution: Distribution, write_share: f64, expect: &[(u64, f64)]) {
    let name = format!("{distribution:?}");
    let (stream, rows) = issued(distribution, write_share);
    let mut planned = vec![Planned::BLANK; rows.len()];
    assert_eq!(rows.len() as u64, OPERATIONS, "{name}");
    assert_eq!(Generator::new(&stream.workload, &stream.workers[0]).fill(&mut planned), rows.len());
    for (at, (row, planned)) in rows.iter().zip(&planned).enumerate() {
        let found = (row.kind, row.offset, row.length);
        assert_eq!(found, (planned.kind, planned.offset, planned.length), "{name}, operation {at}");
    }
    let blocks: Vec<u64> = rows.iter().map(|row| row.offset / BLOCK).collect();
    let sizes: Vec<u64> = expect.iter().map(|&(size, _)| size).collect();
    for (found, &(size, expect)) in miss_ratios(&blocks, &sizes).iter().zip(expect) {
        assert!((found - expect).abs() <= 0.01, "{name}, cache of {size}: misses {found}, not {expect}");
    }
}

#[test]
fn reuse_is_issued_as_it_was_asked_for() {
    let class = |blocks, share| ReuseClass { blocks, share };
    let reuse = Distribution::Reuse(vec![class(1000, 0.5), class(10_000, 0.3)]);
    check(reuse, 0.0, &[(100, 0.95), (500, 0.75), (1000, 0.5), (5500, 0.35), (10_000, 0.2)]);
}

#[test]
fn skewed_places_are_issued_by_their_law() {
    let all = BLOCKS as f64;
    let zeta: f64 = (1..=BLOCKS).map(|rank| (rank as f64).powf(-0.9)).sum();
    let zipf: Vec<(f64, f64)> = (1..=BLOCKS).map(|rank| (1.0, (rank as f64).powf(-0.9) / zeta)).collect();
    let hot = vec![(all * 0.2, 0.8 / (all * 0.2)), (all * 0.8, 0.2 / (all * 0.8))];
    let share = |access, span| ZoneShare { access, span };
    for (distribution, weights) in [
        (Distribution::Zipf { theta: 0.9 }, zipf),
        (Distribution::Hot(share(0.8, 0.2)), hot.clone()),
        (Distribution::Zoned(vec![share(0.8, 0.2), share(0.2, 0.8)]), hot),
    ] {
        let expect: Vec<(u64, f64)> =
            [1000, 10_000, 30_000].map(|size| (size, independent(&weights, size))).to_vec();
        check(distribution, 0.3, &expect);
    }
}

#[test]
fn the_reuse_walk_is_issued_as_it_is_drawn() {
    check(Distribution::ReuseWalk, 0.5, &[]);
}
