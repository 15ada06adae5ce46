//! The locality of emitted places, judged by what an LRU cache would make of them: the miss-ratio curve of the trace
//! (Mattson's stack algorithm, exactly, with a Fenwick tree) against the one that was asked for or that theory gives.

use fathom_pattern::{Generator, Planned};
use fathom_schema::*;
use fathom_units::{Bytes, Ratio};
use std::collections::HashMap;

const BLOCK: u64 = 4096;
/// Emitted operations; of each trace only the second half is judged, so that the cache is warm.
const OPERATIONS: usize = 1_000_000;

fn generator(distribution: Distribution, blocks: u64, part: SharePart) -> Generator {
    let case = Case {
        weight: 1.0,
        kind: OperationKind::Read,
        size: Size::Fixed(u32::try_from(BLOCK).expect("small")),
        random: true,
    };
    let workload = Workload {
        cases: vec![case],
        kinds: fathom_schema::KindOrder::Drawn,
        cursor: Cursor::Shared,
        distribution,
        coverage: Coverage::Independent,
        align: Bytes(BLOCK),
        run_length: 1,
        stride_bytes: 0,
        run: Run::Onward,
        ends: PassEnd::Anew,
        zones: Zones::None,
        extents_at_once: Quota::Unlimited,
        file_order: FileOrder::RoundRobin(1),
        content: Content {
            fill: Fill::Zero,
            freshness: Freshness::Never,
            compressible: Ratio::ZERO,
            compress_chunk_bytes: 1,
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
        verification: Verification::Off,
    };
    let extents =
        vec![Extent { target: 0, start: Bytes::ZERO, length: Bytes(blocks * BLOCK), room: Bytes::ZERO }];
    Generator::new(&workload, &WorkerPlan { extents, part, seed: 7, cpus: Vec::new() })
}

/// The blocks that `workers` workers touch, in turn.
fn trace(distribution: &Distribution, blocks: u64, workers: u32) -> Vec<u64> {
    let of_worker = |index| {
        let mut generator = generator(distribution.clone(), blocks, SharePart { index, count: workers });
        let mut out = vec![Planned::BLANK; OPERATIONS / workers as usize];
        generator.fill(&mut out);
        out
    };
    let all: Vec<Vec<Planned>> = (0..workers).map(of_worker).collect();
    (0..all[0].len()).flat_map(|k| all.iter().map(move |of| of[k].offset / BLOCK)).collect()
}

/// Share of the second half of a trace that an LRU cache of each size, in blocks, would miss.
fn miss_ratios(trace: &[u64], sizes: &[u64]) -> Vec<f64> {
    // tree[i] counts, Fenwick's way, the instants that are the last touch of some block.
    let mut tree = vec![0_i64; trace.len() + 1];
    let add = |tree: &mut Vec<i64>, at: usize, by: i64| {
        let mut i = at + 1;
        while i < tree.len() {
            tree[i] += by;
            i += i & i.wrapping_neg();
        }
    };
    let sum = |tree: &Vec<i64>, up_to: usize| {
        let (mut i, mut total) = (up_to, 0);
        while i > 0 {
            total += tree[i];
            i -= i & i.wrapping_neg();
        }
        total
    };
    let mut last: HashMap<u64, usize> = HashMap::new();
    let mut misses = vec![0_u64; sizes.len()];
    let mut judged = 0_u64;
    for (now, &block) in trace.iter().enumerate() {
        let before = last.insert(block, now);
        // Blocks touched since: the last touches after that instant.
        let distance = before.map(|then| {
            add(&mut tree, then, -1);
            u64::try_from(sum(&tree, now) - sum(&tree, then)).expect("a count")
        });
        add(&mut tree, now, 1);
        if now >= trace.len() / 2 {
            judged += 1;
            for (missed, &size) in misses.iter_mut().zip(sizes) {
                *missed += u64::from(distance.is_none_or(|distance| distance >= size));
            }
        }
    }
    misses.into_iter().map(|missed| missed as f64 / judged as f64).collect()
}

fn check(what: &str, trace: &[u64], expect: &[(u64, f64)]) {
    let sizes: Vec<u64> = expect.iter().map(|&(size, _)| size).collect();
    for (found, &(size, expect)) in miss_ratios(trace, &sizes).iter().zip(expect) {
        assert!((found - expect).abs() <= 0.01, "{what}, cache of {size}: misses {found}, not {expect}");
    }
}

#[test]
fn reuse_gives_the_miss_ratios_that_were_asked_for() {
    // A cache of 1,000 blocks serves 50 %, one of 10,000 serves 80 %; in between it is a straight line.
    let asked = [(100, 0.95), (500, 0.75), (1000, 0.5), (5500, 0.35), (10_000, 0.2), (50_000, 0.2)];
    for (workers, blocks) in [(1, 1 << 20), (4, 1 << 20), (1, 1 << 40)] {
        let class = |blocks: u64, share| ReuseClass { blocks: blocks / u64::from(workers), share };
        let distribution = Distribution::Reuse(vec![class(1000, 0.5), class(10_000, 0.3)]);
        check(&format!("{workers} workers on {blocks}"), &trace(&distribution, blocks, workers), &asked);
    }
    // Nearly everything fits: what is new is what was not touched for longest.
    let all = Distribution::Reuse(vec![ReuseClass { blocks: 950, share: 0.9 }]);
    check("small extent", &trace(&all, 1000, 1), &[(475, 0.55), (950, 0.1), (1000, 0.0)]);
}

/// Misses of an LRU cache under independent draws, by Che's approximation (Che, Tung, Wang, IEEE JSAC 20/7, 2002): a
/// block of probability p is there with 1 − e^(−pT), where T makes these sum to the cache's size. `weights` are (how many
/// blocks, the probability of each).
fn independent(weights: &[(f64, f64)], size: u64) -> f64 {
    let held = |t: f64| weights.iter().map(|&(count, p)| count * -(-p * t).exp_m1()).sum::<f64>();
    let (mut low, mut high) = (0.0, 1e12);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if held(middle) < size as f64 { low = middle } else { high = middle }
    }
    weights.iter().map(|&(count, p)| count * p * (-p * low).exp()).sum()
}

#[test]
fn skewed_places_give_the_miss_ratios_of_their_law() {
    let blocks = 100_000_u64;
    let all = blocks as f64;
    let zipf = |theta: f64| {
        let zeta: f64 = (1..=blocks).map(|rank| (rank as f64).powf(-theta)).sum();
        (1..=blocks).map(|rank| (1.0, (rank as f64).powf(-theta) / zeta)).collect::<Vec<_>>()
    };
    let hot = |access: f64, span: f64| {
        vec![(all * span, access / (all * span)), (all * (1.0 - span), (1.0 - access) / (all * (1.0 - span)))]
    };
    let share = |access, span| ZoneShare { access, span };
    for (distribution, weights) in [
        (Distribution::Uniform, vec![(all, 1.0 / all)]),
        (Distribution::Zipf { theta: 0.9 }, zipf(0.9)),
        (Distribution::Zipf { theta: 1.2 }, zipf(1.2)),
        (Distribution::Hot(share(0.8, 0.2)), hot(0.8, 0.2)),
        (Distribution::Zoned(vec![share(0.9, 0.1), share(0.1, 0.9)]), hot(0.9, 0.1)),
    ] {
        let expect: Vec<(u64, f64)> =
            [1000, 10_000, 30_000].map(|size| (size, independent(&weights, size))).to_vec();
        for workers in [1, 2] {
            check(&format!("{distribution:?}"), &trace(&distribution, blocks, workers), &expect);
        }
    }
}

#[test]
fn the_reuse_walk_comes_back_more_often_than_chance() {
    // Reads go through the 8 blocks of a leaf in turn, so what comes back are leaves: 2^16 of them here. 56 % of the steps
    // stay in a neighbourhood of 64, so small caches hit far more than their share of the leaves.
    let leaves = 1 << 16;
    let trace: Vec<u64> =
        trace(&Distribution::ReuseWalk, leaves * 8, 1).into_iter().map(|block| block / 8).collect();
    let sizes: Vec<u64> = (5..15).map(|power| 1 << power).collect();
    let hits: Vec<f64> = miss_ratios(&trace, &sizes).iter().map(|missed| 1.0 - missed).collect();
    for (hit, size) in hits.iter().zip(&sizes) {
        let chance = *size as f64 / leaves as f64;
        assert!(*hit > 1.5 * chance, "cache of {size} leaves: {hit}, by chance {chance}");
    }
    // No cliff: each doubling of the cache adds a little, as measured business applications do.
    let gains: Vec<f64> = hits.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gains.iter().all(|gain| (0.01..0.2).contains(gain)), "{hits:?}");
}
