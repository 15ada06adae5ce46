//! That both sides have read at the same places, which a cache may hold for the later one. Does not know which side was first.

use super::matched::Matched;
use fathom_schema::{Extent, OperationKind, Record, StepRecord, Stream, TargetKind, WorkerPlan, Workload};
use fathom_units::Bytes;
use std::collections::HashSet;

/// What is read of a step that a cache of a device, of a controller or of a host below may hold: those have a quarter to some
/// gibibytes.
const CACHE: Bytes = Bytes::gib(1);

/// The remark, where a step of the first runs of two sides on one host shows it.
pub(super) fn remark(all: &[Matched<'_>], base: &Record, new: &Record) -> Option<String> {
    let is_one_run = base.started.run == new.started.run;
    if is_one_run || base.started.facts.host != new.started.facts.host {
        return None;
    }
    all.iter().find_map(|one| {
        let (left, right) = (one.first_step(true, 0)?, one.first_step(false, 0)?);
        let mut of_left = read_at_random(left).into_iter();
        let of_right: HashSet<Places<'_>> = read_at_random(right).into_iter().collect();
        let same = of_left.find(|one| of_right.contains(one))?;
        let most = bytes_read(left).max(bytes_read(right));
        (most < CACHE).then(|| {
            format!(
                "both sides read the same random places of {}, {} of them, since their seeds are one: a cache of the device, or \
                 below it, may hold them for whoever comes later; seed = \"fresh\" in the job reads others each time",
                same.0,
                most.approximate()
            )
        })
    })
}

/// Where a stream reads at random: the target's name, how places are drawn, and per worker its seed and its first region.
type Places<'a> = (&'a str, String, Vec<(u64, u64, u64)>);

fn read_at_random(step: &StepRecord) -> Vec<Places<'_>> {
    let reads = |stream: &&Stream| {
        let cases = &stream.workload.cases;
        cases.iter().any(|case| case.random && case.kind == OperationKind::Read)
            && stream.engine.kind.moves_bytes()
    };
    let targets = &step.started.step.targets;
    let of_stream = |stream: &Stream| {
        let first = stream.workers.first()?.extents.first()?;
        let target = targets.get(first.target as usize)?;
        let is_real = matches!(target.kind, TargetKind::File { .. } | TargetKind::BlockDevice { .. });
        let Workload { coverage, distribution, align, .. } = &stream.workload;
        let drawn = format!("{coverage:?} {distribution:?} {align}");
        let of_worker = |one: &WorkerPlan| {
            let Extent { start, length, .. } = one.extents.first()?;
            Some((one.seed, start.0, length.0))
        };
        let regions = stream.workers.iter().filter_map(of_worker);
        is_real.then(|| (target.name.as_str(), drawn, regions.collect()))
    };
    step.started.step.streams.iter().filter(reads).filter_map(of_stream).collect()
}

fn bytes_read(step: &StepRecord) -> Bytes {
    let kinds = step.intervals.iter().flat_map(|interval| &interval.tally.kinds);
    Bytes(kinds.filter(|one| one.kind == OperationKind::Read).map(|one| one.bytes).sum())
}
