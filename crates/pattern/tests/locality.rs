//! The locality of emitted places, judged by what an LRU cache would make of them: the miss-ratio curve of the trace
//! (Mattson's stack algorithm, exactly, with a Fenwick tree) against the one that was asked for or that theory gives.

mod caches;

use caches::{independent, miss_ratios};
use fathom_pattern::{Generator, Planned};
use fathom_schema::*;
use fathom_units::{Bytes, Ratio};
use std::collections::HashMap;
use std::io::Write;

const BLOCK: u64 = 4096;
/// Emitted operations; of each trace only the second half is judged, so that the cache is warm.
const OPERATIONS: usize = 1_000_000;

fn generator(distribution: Distribution, blocks: u64, part: SharePart) -> Generator {
    generator_of(vec![case(OperationKind::Read, 1.0, BLOCK, true)], distribution, blocks, part)
}

fn case(kind: OperationKind, weight: f64, bytes: u64, random: bool) -> Case {
    Case { weight, kind, size: Size::Fixed(u32::try_from(bytes).expect("small")), random, align: None }
}

fn generator_of(cases: Vec<Case>, distribution: Distribution, blocks: u64, part: SharePart) -> Generator {
    let workload = Workload {
        cases,
        replies: Vec::new(),
        kinds: fathom_schema::KindOrder::Drawn,
        cursor: Cursor::Shared,
        distribution,
        coverage: Coverage::Independent,
        align: Bytes(BLOCK),
        align_of: Vec::new(),
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

/// The walk as it is published (`spc1.c` 1.4, as the corpus and the literature describe it), drawn by itself: over
/// leaves of 8 blocks, a step stays among 64 leaves, or with a likelihood of 0.44 for each doubling among more. Reads go
/// through a leaf's blocks in turn; writes go to every eighth leaf, half of them where it was read last, and 15 % come twice.
fn published_walk(leaves: u64, reads: f64, operations: usize) -> Vec<u64> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut unit = move || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1_u64 << 53) as f64
    };
    // One of a power of two, from the draw's bits.
    let below = |draw: f64, count: u64| {
        (0..count.ilog2()).rev().fold((draw, 0), |(draw, sum), bit| {
            if draw >= 0.5 { (draw * 2.0 - 1.0, sum + (1 << bit)) } else { (draw * 2.0, sum) }
        })
    };
    let mut leaf = leaves / 3;
    let mut turn: HashMap<u64, u64> = HashMap::new();
    let mut twice = None;
    let mut trace = Vec::with_capacity(operations);
    while trace.len() < operations {
        let is_read = unit() < reads;
        if !is_read && let Some(block) = twice.take() {
            leaf = block / 8;
            trace.push(block);
            continue;
        }
        let mut width = 64.min(leaves);
        while width < leaves && unit() < 0.44 {
            width *= 2;
        }
        let first = leaf - leaf % width;
        leaf = first + below(unit(), width).1;
        if !is_read {
            leaf -= leaf % 8;
        }
        let next = turn.entry(leaf).or_insert(0);
        let within = if is_read {
            *next += 1;
            (*next - 1) % 8
        } else if unit() < 0.5 {
            (*next + 7) % 8
        } else {
            below(unit(), 8).1
        };
        trace.push(leaf * 8 + within);
        if !is_read && unit() < 0.15 {
            twice = Some(leaf * 8 + within);
        }
    }
    trace
}

#[test]
fn the_reuse_walk_has_the_miss_ratios_of_the_published_one() {
    // So few that a million operations go through each many times over: the walks' own chance stays below the bound.
    let leaves = 1_u64 << 11;
    let sizes: Vec<u64> = (4..=14).map(|power| 1 << power).collect();
    for reads in [1.0, 0.5] {
        let mut cases = vec![case(OperationKind::Read, reads, BLOCK, true)];
        if reads < 1.0 {
            cases.push(case(OperationKind::Write, 1.0 - reads, BLOCK, true));
        }
        let part = SharePart { index: 0, count: 1 };
        let mut generator = generator_of(cases, Distribution::ReuseWalk, leaves * 8, part);
        let mut emitted = vec![Planned::BLANK; OPERATIONS];
        generator.fill(&mut emitted);
        let emitted: Vec<u64> = emitted.iter().map(|planned| planned.offset / BLOCK).collect();
        let asked = miss_ratios(&published_walk(leaves, reads, OPERATIONS), &sizes);
        let expect: Vec<(u64, f64)> = sizes.iter().copied().zip(asked).collect();
        check(&format!("{:.0} % reads", reads * 100.0), &emitted, &expect);
    }
}

/// A stream of the benchmark: its share of the load, of it the reads, and how it goes through its place.
struct SpcStream {
    share: f64,
    reads: f64,
    is_mixed: bool,
    walk: SpcWalk,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum SpcWalk {
    Uniform,
    Reuse,
    Sequential,
}

/// Sizes of the streams that have several: KiB and share.
const SPC_SIZES: [(u64, f64); 5] = [(4, 0.40), (8, 0.24), (16, 0.20), (32, 0.08), (64, 0.08)];

/// What the streams emit together: share of reads, of sequential operations, mean KiB; and of the reads, how they split.
fn spc_mix(streams: &[SpcStream]) -> ([f64; 3], [f64; 3]) {
    let (mut reads, mut sequential, mut kib, mut all) = (0.0, 0.0, 0.0, 0.0);
    let mut split = [0.0; 3];
    for SpcStream { share, reads: of_reads, is_mixed, walk } in streams {
        let sizes = if *is_mixed { &SPC_SIZES[..] } else { &[(4, 1.0)] };
        let random = *walk != SpcWalk::Sequential;
        let kinds = [(OperationKind::Read, *of_reads), (OperationKind::Write, 1.0 - of_reads)];
        let cases = kinds.iter().filter(|(_, weight)| *weight > 0.0).flat_map(|&(kind, weight)| {
            sizes.iter().map(move |&(kib, of)| case(kind, weight * of, kib << 10, random))
        });
        let distribution =
            if *walk == SpcWalk::Reuse { Distribution::ReuseWalk } else { Distribution::Uniform };
        let part = SharePart { index: 0, count: 1 };
        let mut generator = generator_of(cases.collect(), distribution, 1 << 16, part);
        let mut out = vec![Planned::BLANK; 100_000];
        generator.fill(&mut out);
        for planned in &out {
            let is_read = planned.kind == OperationKind::Read;
            let weight = share / out.len() as f64;
            all += weight;
            kib += weight * f64::from(planned.length) / 1024.0;
            sequential += if random { 0.0 } else { weight };
            if is_read {
                reads += weight;
                split[*walk as usize] += weight;
            }
        }
    }
    ([reads / all, sequential / all, kib / all], split.map(|part| part / reads))
}

fn check_spc(streams: &[SpcStream], expect: [f64; 3], split: [f64; 3]) {
    let (found, found_split) = spc_mix(streams);
    for (found, expect) in found.iter().chain(&found_split).zip(expect.iter().chain(&split)) {
        assert!((found - expect).abs() <= 0.01 * expect.max(1.0), "{found}, not {expect}");
    }
}

/// The eight streams of the benchmark's first version, as the corpus has them in a table, and what follows from them.
#[test]
fn the_streams_of_spc_1_have_its_mix() {
    use SpcWalk::{Reuse, Sequential, Uniform};
    let stream = |share, reads, is_mixed, walk| SpcStream { share, reads, is_mixed, walk };
    let own = [
        stream(0.035, 0.5, false, Uniform),
        stream(0.281, 0.5, false, Reuse),
        stream(0.070, 1.0, true, Sequential),
        stream(0.210, 0.5, false, Reuse),
        stream(0.018, 0.3, false, Uniform),
        stream(0.070, 0.3, false, Reuse),
        stream(0.035, 1.0, true, Sequential),
        stream(0.281, 0.0, true, Sequential),
    ];
    check_spc(&own, [0.3944, 0.386, 8.0144], [0.058, 0.676, 0.266]);
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/spc1");
    let read = |name: &str| std::fs::read_to_string(folder.join(name));
    let (Ok(table), Ok(expect)) = (read("streams_v1.csv"), read("expected.json")) else {
        writeln!(
            std::io::stderr(),
            "SKIPPED the_streams_of_spc_1_have_its_mix: there is no {}",
            folder.display()
        )
        .expect("standard error can be written");
        return;
    };
    let streams: Vec<SpcStream> = table
        .lines()
        .skip(1)
        .map(|line| {
            let fields: Vec<&str> = line.splitn(6, ',').collect();
            let walk = match fields[5].trim_matches('"').split(' ').next() {
                Some("uniform") => Uniform,
                Some("HRRW") => Reuse,
                Some("incremental" | "sequential") => Sequential,
                other => panic!("{other:?} in {line}"),
            };
            let number = |field: &str| field.parse::<f64>().expect("a number");
            stream(number(fields[2]), number(fields[3]), fields[4] == "SMIX", walk)
        })
        .collect();
    assert_eq!(streams.len(), 8);
    let expect: serde_json::Value = serde_json::from_str(&expect).expect("it is JSON");
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    let split = &expect["reads_split"];
    check_spc(
        &streams,
        [&expect["read_fraction"], &expect["sequential_fraction"], &expect["overall_mean_kib"]].map(number),
        [&split["uniform"], &split["hrrw"], &split["sequential"]].map(number),
    );
}
