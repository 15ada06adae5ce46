//! What holds for every step of every plan, whatever the job.

use crate::host::{Is, facts};
use fathom_model::{
    Access, Amount, BlockSizes, Coverage, Dialect, Engine, Job, Named, Rate, Span, StreamOptions, TargetKind,
    TargetOptions, WorkerRegions, WorkloadOptions,
};
use fathom_planner::plan;
use fathom_schema::{EngineKind, IoMode, Pacing, Quota, Step};
use fathom_units::{Bytes, Iops, Ratio};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn amount() -> impl Strategy<Value = Amount> {
    prop_oneof![
        (0_u32..=100).prop_map(|percent| Amount::Share(Ratio::percent(f64::from(percent)))),
        (0_u64..1 << 22).prop_map(|sectors| Amount::Bytes(Bytes(sectors * 512))),
        (0_u64..1 << 31).prop_map(|bytes| Amount::Bytes(Bytes(bytes))),
    ]
}

fn sizes() -> impl Strategy<Value = BlockSizes> {
    let one = (0_u32..4, 1_u64..64, 0_u64..8, 1_u64..4).prop_map(|(weight, min, more, step)| {
        (f64::from(weight), Bytes(min * 512), Bytes((min + more) * 512), Bytes(step * 512))
    });
    prop::collection::vec(one, 1..4).prop_map(|sizes| BlockSizes { sizes })
}

fn workload() -> impl Strategy<Value = WorkloadOptions> {
    let shares = (0_u32..=10, 0_u32..=10, prop_oneof![Just(0), Just(10), 0_u32..=10]);
    (sizes(), shares, any::<bool>(), 1_u32..600, prop::option::of(1_u64..64)).prop_map(
        |(block_size, (read, trim, random), once, run_length, align)| {
            let span = Span::default();
            let share = |tenths: u32| Ratio::percent(f64::from(tenths) * 10.0);
            let mut options = WorkloadOptions::default();
            options.block_size.set(block_size, span);
            options.read.set(share(read), span);
            options.trim.set(share(trim.min(10 - read)), span);
            options.access.set(Access { random: share(random) }, span);
            if once {
                options.coverage.set(Coverage::OncePerPass, span);
            } else {
                options.run_length.set(run_length, span);
            }
            if let Some(sectors) = align {
                options.align.set(Bytes(sectors * 512), span);
            }
            options
        },
    )
}

fn stream() -> impl Strategy<Value = StreamOptions> {
    let region = (prop::option::of(amount()), prop::option::of(amount()), prop::option::of(amount()));
    let bounds = (prop::option::of(1_u32..5), prop::option::of(amount()), prop::option::of(1_u64..1000));
    let crew = (1_u32..9, 1_u32..9, any::<bool>(), prop_oneof![Just(0), 0_u32..4]);
    let engine = prop_oneof![Just(Engine::Auto), Just(Engine::Psync), Just(Engine::Null)];
    (region, bounds, crew, engine, prop::option::of(any::<bool>()), prop::option::of(1_u32..1000)).prop_map(
        |(
            (offset, size, per_worker),
            (passes, bytes, operations),
            (workers, depth, same, first),
            engine,
            direct,
            rate,
        )| {
            let span = Span::default();
            let mut options = StreamOptions::default();
            offset.into_iter().for_each(|value| options.offset.set(value, span));
            size.into_iter().for_each(|value| options.size.set(value, span));
            per_worker.into_iter().for_each(|value| options.offset_per_worker.set(value, span));
            passes.into_iter().for_each(|value| options.passes.set(value, span));
            bytes.into_iter().for_each(|value| options.bytes.set(value, span));
            operations.into_iter().for_each(|value| options.operations.set(value, span));
            options.workers.set(workers, span);
            options.queue_depth.set(depth, span);
            options.first_worker.set(first, span);
            if same {
                options.worker_regions.set(WorkerRegions::Same, span);
            }
            options.engine.set(engine, span);
            direct.into_iter().for_each(|value| options.direct.set(value, span));
            rate.into_iter()
                .for_each(|value| options.rate.set(Rate::Operations(Iops(f64::from(value))), span));
            options
        },
    )
}

fn target() -> impl Strategy<Value = TargetOptions> {
    (0_usize..4, prop::option::of(amount()), 1_u32..6, any::<bool>()).prop_map(|(form, size, files, own)| {
        let span = Span::default();
        let mut options = TargetOptions::default();
        match form {
            0 => options.path.set(vec!["/dev/x".to_owned()], span),
            1 => options.path.set(vec!["/a".to_owned(), "/b".to_owned(), "/c".to_owned()], span),
            2 => options.kind.set(TargetKind::Null, span),
            _ => {
                options.directory.set("/d".to_owned(), span);
                options.files.set(files, span);
                options.own_per_worker.set(own, span);
            }
        }
        size.into_iter().for_each(|value| options.size.set(value, span));
        options
    })
}

fn job() -> impl Strategy<Value = Job> {
    let streams = prop::collection::vec((workload(), stream()), 1..3);
    (target(), streams, any::<bool>()).prop_map(|(target, streams, fio)| {
        let span = Span::default();
        let mut job = Job { dialect: if fio { Dialect::Fio } else { Dialect::Native }, ..Job::default() };
        job.targets.push(Named { name: "t".to_owned(), span, options: target });
        for (number, (workload, stream)) in streams.into_iter().enumerate() {
            let name = format!("s{number}");
            job.workloads.push(Named { name: name.clone(), span, options: workload });
            job.streams.push(Named { name, span, options: stream });
        }
        job
    })
}

fn check_step(step: &Step, sector: u64, may_be_idle: bool) -> Result<(), TestCaseError> {
    for stream in &step.streams {
        // A peer's job of files that are smaller than a block issues nothing.
        let is_idle = may_be_idle && stream.limits.operations == Quota::AtMost(0);
        let workload = &stream.workload;
        let largest = workload
            .cases
            .iter()
            .map(|case| u64::from(case.size.largest()))
            .max()
            .expect("at least one case");
        prop_assert!((workload.cases.iter().map(|case| case.weight).sum::<f64>() - 1.0).abs() < 1e-9);
        prop_assert!(workload.cases.iter().all(|case| case.weight > 0.0 && case.size.smallest() >= 1));
        prop_assert!(stream.queue_depth >= 1 && !stream.workers.is_empty());
        prop_assert!(stream.engine.kind != EngineKind::Psync || stream.queue_depth == 1);
        prop_assert!((1..=stream.queue_depth).contains(&stream.engine.batch_submit));
        for quota in [stream.limits.bytes, stream.limits.operations] {
            prop_assert!(quota == Quota::Unlimited || matches!(quota, Quota::AtMost(1..)) || is_idle);
        }
        for worker in &stream.workers {
            prop_assert!(worker.part.index < worker.part.count);
            prop_assert!(!worker.extents.is_empty());
            for extent in &worker.extents {
                let target = &step.targets[extent.target as usize];
                prop_assert!(
                    extent.start.0.checked_add(extent.length.0).expect("below 2^64") <= target.size.0
                );
                prop_assert!(extent.length.0 >= largest || is_idle, "the largest block fits everywhere");
                if stream.engine.mode == IoMode::Direct && stream.engine.kind != EngineKind::Null {
                    prop_assert_eq!(extent.start.0 % sector, 0);
                }
            }
        }
        if matches!(stream.pacing, Pacing::Open { .. }) {
            let parts: BTreeSet<u32> = stream.workers.iter().map(|worker| worker.part.index).collect();
            prop_assert_eq!(parts.len(), stream.workers.len(), "every arrival has one worker");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn steps_stay_within_their_targets(
        job in job(),
        sector in prop_oneof![Just(512_u32), Just(4096)],
        there in prop_oneof![Just(None), (1_u64..1 << 24).prop_map(Some)],
        entropy in any::<u64>(),
    ) {
        let is = |path: &std::path::Path| match there {
            Some(sectors) if path.starts_with("/dev") => Is::Device { size: Bytes(sectors * u64::from(sector)), sector },
            Some(sectors) => Is::File { size: Bytes(sectors * 512 + sectors % 7) },
            None => Is::Absent,
        };
        let facts = facts(&job, is);
        let (planned, found) = plan(&job, &facts, entropy);
        prop_assert_eq!(planned.is_none(), found.has_errors());
        if let Some(planned) = planned {
            let sector = if job.targets[0].options.path.get().is_some_and(|paths| paths.len() == 1) && there.is_some() {
                u64::from(sector)
            } else {
                512
            };
            let steps = planned.experiment.preview();
            prop_assert_eq!(steps.len(), planned.points);
            for step in &steps {
                check_step(step, sector, job.dialect == Dialect::Fio)?;
            }
            // The same job, facts and entropy give the same plan.
            let (again, _) = plan(&job, &facts, entropy);
            prop_assert_eq!(again.unwrap().experiment.preview(), steps);
        }
    }
}
