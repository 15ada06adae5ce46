//! No operation ends behind what is its own, whatever is asked for together: sizes by kind and by how an operation finds
//! its place, grids, shares of random ones, zones, maps, distributions.

use fathom_pattern::{Generator, Planned};
use fathom_schema::{
    Case, Content, Coverage, Cursor, Distribution, Extent, FileOrder, Fill, Freshness, KindOrder,
    OperationKind, PassEnd, Quota, RangeSync, Repeats, ReuseClass, Run, SharePart, Size, SyncRule,
    Verification, WorkerPlan, Workload, ZoneShare, Zones,
};
use fathom_units::{Bytes, Ratio};
use proptest::prelude::*;

/// Bytes that all sizes are multiples of.
const UNIT: u32 = 4;
/// The largest operation that is drawn.
const LARGEST: u64 = 64 * UNIT as u64;

fn any_case() -> impl Strategy<Value = Case> {
    let size = prop_oneof![
        (1_u32..=64).prop_map(|n| Size::Fixed(n * UNIT)),
        (1_u32..32, 1_u32..=32, 1_u32..9).prop_map(|(min, more, step)| {
            let max = min + more / step * step;
            if max == min {
                Size::Fixed(min * UNIT)
            } else {
                Size::Range { min: min * UNIT, max: max * UNIT, step: step * UNIT }
            }
        }),
    ];
    let kind = prop::sample::select(vec![OperationKind::Read, OperationKind::Write, OperationKind::Trim]);
    let align = prop::sample::select(vec![None, None, None, Some(3_u32), Some(64)]);
    (0.01_f64..1.0, kind, size, any::<bool>(), align).prop_map(|(weight, kind, size, random, align)| Case {
        weight,
        kind,
        size,
        random,
        align,
    })
}

fn any_distribution() -> impl Strategy<Value = Distribution> {
    let zones = || vec![ZoneShare { access: 0.6, span: 0.1 }, ZoneShare { access: 0.4, span: 0.9 }];
    let zipf = Distribution::Zipf { theta: 1.2 };
    prop::sample::select(vec![
        Distribution::Uniform,
        Distribution::Uniform,
        Distribution::Uniform,
        zipf.clone(),
        Distribution::Pareto { h: 0.3 },
        Distribution::Centered { of: Box::new(zipf), center: 0.9 },
        Distribution::Normal { deviation: 0.2, scattered: false },
        Distribution::Normal { deviation: 0.2, scattered: true },
        Distribution::Zoned(zones()),
        Distribution::ZonedByKind([zones(), zones(), vec![ZoneShare { access: 1.0, span: 1.0 }]]),
        Distribution::Hot(ZoneShare { access: 0.9, span: 0.1 }),
        Distribution::Listed { blocks: vec![9, 2, 1000, 5], advances: true },
        Distribution::Reuse(vec![ReuseClass { share: 0.5, blocks: 8 }]),
        Distribution::ReuseWalk,
    ])
}

/// What only walks that end know.
#[derive(Debug, Clone)]
struct Ending {
    ends: PassEnd,
    maps: bool,
    zones: Zones,
    run: Run,
    kinds: KindOrder,
    align_of: Vec<(OperationKind, u64)>,
}

fn any_ending() -> impl Strategy<Value = Ending> {
    let zones = prop_oneof![
        3 => Just(Zones::None),
        1 => (1_u64..40, 1_u64..40, 0_u64..9).prop_map(|(size, range, skip)| Zones::Strided {
            size: size * 64,
            range: range * 64,
            skip: skip * 64,
        }),
    ];
    let align_of = (1_u64..20, 1_u64..20)
        .prop_map(|(read, write)| vec![(OperationKind::Read, read * 16), (OperationKind::Write, write * 16)]);
    (
        prop::sample::select(vec![PassEnd::Stop, PassEnd::Renew]),
        any::<bool>(),
        zones,
        prop::sample::select(vec![Run::Onward, Run::Again]),
        prop::sample::select(vec![KindOrder::Drawn, KindOrder::Even(fathom_schema::Counted::Operations)]),
        prop_oneof![Just(Vec::new()), align_of],
    )
        .prop_map(|(ends, maps, zones, run, kinds, align_of)| Ending {
            ends,
            maps,
            zones,
            run,
            kinds,
            align_of,
        })
}

prop_compose! {
    fn any_workload()(
        cases in prop::collection::vec(any_case(), 1..6),
        cursor in prop::sample::select(vec![Cursor::Shared, Cursor::PerKind]),
        distribution in any_distribution(),
        once: bool,
        align in prop::sample::select(vec![1_u64, 4, 12, 16, 256]),
        run_length in prop::sample::select(vec![1_u32, 1, 1, 4]),
        stride in prop::sample::select(vec![0_i64, 0, 0, 16, -16, -400]),
        file_order in prop::sample::select(vec![FileOrder::RoundRobin(1), FileOrder::RoundRobin(3), FileOrder::Random(2)]),
        trim_then_write: bool,
        ending in prop::option::weighted(0.7, any_ending()),
    ) -> Workload {
        // Every block once is for blocks of one size on their own grid, each at a random place, as plans have it.
        let only = cases[0].size.smallest();
        let may_cover = cases.iter().all(|case| case.size == Size::Fixed(only) && case.random && case.align.is_none());
        let covers = once && may_cover && run_length == 1 && distribution == Distribution::Uniform;
        let has_history = matches!(distribution, Distribution::Reuse(_) | Distribution::ReuseWalk);
        let ending = ending.filter(|_| !has_history);
        let is_mapped = ending.as_ref().is_some_and(|ending| ending.maps) && distribution == Distribution::Uniform;
        let coverage = match (is_mapped, covers) {
            (true, _) => Coverage::Map,
            (false, true) => Coverage::OncePerPass,
            (false, false) => Coverage::Independent,
        };
        let plain = Ending {
            ends: PassEnd::Anew,
            maps: false,
            zones: Zones::None,
            run: Run::Onward,
            kinds: KindOrder::Drawn,
            align_of: Vec::new(),
        };
        let Ending { ends, maps: _, zones, run, kinds, align_of } = ending.unwrap_or(plain);
        Workload {
            cases,
            replies: Vec::new(),
            kinds,
            cursor,
            distribution,
            coverage,
            align: Bytes(if coverage == Coverage::OncePerPass { u64::from(only) } else { align }),
            align_of: if coverage == Coverage::OncePerPass { Vec::new() } else { align_of },
            run_length,
            run,
            stride_bytes: stride,
            ends,
            zones,
            file_order,
            extents_at_once: Quota::Unlimited,
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
            trim_then_write,
            verification: Verification::Off,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_operation_ends_behind_its_extent(
        workload in any_workload(),
        lengths in prop::collection::vec(LARGEST..4000, 1..3),
        start in 0_u64..5000,
        room in prop::sample::select(vec![0_u64, 40, 3000]),
        seed: u64,
    ) {
        // What remembers a history needs more places.
        let has_history = matches!(workload.distribution, Distribution::Reuse(_) | Distribution::ReuseWalk);
        let lengths: Vec<u64> = lengths.iter().map(|length| length * if has_history { 100 } else { 1 }).collect();
        let extents = lengths.iter().zip(0..).map(|(&length, target)| Extent {
            target,
            start: Bytes(start),
            length: Bytes(length),
            room: Bytes(room),
        });
        let plan = WorkerPlan {
            extents: extents.collect(),
            part: SharePart { index: 0, count: 1 },
            seed,
            cpus: Vec::new(),
        };
        let mut generator = Generator::new(&workload, &plan);
        let mut out = vec![Planned::BLANK; 500];
        let jumps = workload.cases.iter().any(|case| case.random);
        for _ in 0..2 {
            let count = generator.fill(&mut out);
            for Planned { extent, offset, length, .. } in &out[..count] {
                let (own, length) = (start + lengths[*extent as usize], u64::from(*length));
                let end = offset + length;
                prop_assert!(length > 0 && *offset >= start, "{} + {} of {}", offset, length, own);
                if workload.zones != Zones::None {
                    // They go through the target behind the extent as well, and no further.
                    prop_assert!(end <= own + room, "{} + {} of {} and {}", offset, length, own, room);
                } else if jumps || workload.ends == PassEnd::Anew {
                    prop_assert!(end <= own, "{} + {} of {}", offset, length, own);
                } else {
                    // Of those that follow one another the last may reach over the end, as far as the target goes.
                    prop_assert!(*offset < own && end <= own + room, "{} + {} of {}", offset, length, own);
                }
            }
            let has_all_places = workload.zones == Zones::None && workload.coverage == Coverage::Independent;
            let coarsest = workload.align_of.iter().map(|of| of.1).fold(workload.align.0, u64::max);
            let has_grid = lengths.iter().all(|&length| length >= coarsest);
            if jumps && has_all_places && has_grid && workload.stride_bytes == 0 && room == 0 {
                prop_assert_eq!(count, out.len(), "where something jumps there is always a place");
            }
            generator.renew();
        }
    }
}
