//! Checks of which places were touched: random operations that may repeat leave some out.

use super::{Found, StepView};
use fathom_schema::{
    Coverage, Distribution, Extent, FileOrder, Interval, OperationKind, Severity, Size, Stream, TimeLimit,
    Zones,
};
use fathom_units::Bytes;
use std::collections::HashSet;

/// Of these each goes over the region by itself.
const KINDS: [OperationKind; 2] = [OperationKind::Read, OperationKind::Write];
/// Share of blocks that are left out which matters to nobody: what seven passes leave.
const LEFT_MIN: f64 = 0.001;

/// Tells how much of a region random operations have touched that did as many as it has blocks, or more: that many look as if
/// they had filled it.
pub(super) fn check(view: &StepView<'_>, found: &mut Found) {
    // Sorted out once: ten thousand streams must not each look through the intervals of all.
    let mut done = vec![[0_u64; 2]; view.step.started.step.streams.len()];
    for Interval { stream, tally, .. } in &view.step.intervals {
        let Some(of_stream) = done.get_mut(*stream as usize) else { continue };
        for (sum, kind) in of_stream.iter_mut().zip(KINDS) {
            *sum += tally.kinds.iter().filter(|one| one.kind == kind).map(|one| one.operations).sum::<u64>();
        }
    }
    for (stream, done) in view.step.started.step.streams.iter().zip(done).filter(|(one, _)| view.is_real(one))
    {
        let Some(region) = region(stream) else { continue };
        // Who reads for a time wants no region read whole.
        let is_timed = stream.limits.time != TimeLimit::Unbounded;
        let told = |kind: OperationKind| kind == OperationKind::Write || !is_timed;
        for (kind, operations) in KINDS.into_iter().zip(done).filter(|(kind, _)| told(*kind)) {
            tell(&view.stream_place(stream), kind, operations, region, found);
        }
    }
}

/// A region as random operations of a stream see it.
#[derive(Clone, Copy)]
struct Region {
    /// Those of all workers together.
    blocks: u64,
    block: Bytes,
}

fn tell(place: &str, kind: OperationKind, operations: u64, region: Region, found: &mut Found) {
    let Region { blocks, block } = region;
    if operations < blocks {
        return;
    }
    let passes = operations as f64 / blocks as f64;
    // Each of n independent draws leaves a given one of B blocks out with probability 1 − 1/B: (1 − 1/B)ⁿ is left in the mean.
    let left = (operations as f64 * (-1.0 / blocks as f64).ln_1p()).exp();
    if left < LEFT_MIN || blocks < 2 {
        return;
    }
    found.weighed(
        left,
        "region.part-touched",
        Severity::Info,
        format!(
            "{place}random {}s have come to {passes:.2} times what {} hold, and have touched about {:.1} % of its {blocks} \
             blocks of {block}",
            kind.name(),
            Bytes(blocks * block.0).approximate(),
            (1.0 - left) * 100.0
        ),
        "operations that are each drawn anew repeat some blocks and leave out others: coverage = \"once-per-pass\" (with \
         fio: without norandommap) touches each once before any comes again",
    );
}

/// The region of a stream all of whose operations are of one size and draw uniformly among all its blocks; `None` of others.
fn region(stream: &Stream) -> Option<Region> {
    let workload = &stream.workload;
    let first = workload.cases.first()?;
    let Size::Fixed(bytes) = first.size else { return None };
    let is_plain = workload.cases.iter().all(|case| case.random && case.size == first.size)
        && workload.coverage == Coverage::Independent
        && workload.distribution == Distribution::Uniform
        && workload.run_length == 1
        && workload.zones == Zones::None
        && workload.align.0 == u64::from(bytes)
        && workload.align_of.is_empty()
        && !matches!(workload.file_order, FileOrder::Skewed { .. })
        && stream.trace.is_none();
    let parts: HashSet<(u32, u64, u64)> = stream
        .workers
        .iter()
        .flat_map(|worker| &worker.extents)
        .map(|Extent { target, start, length, .. }| (*target, start.0, length.0))
        .collect();
    // Parts that differ in length are drawn from as often, which one share does not tell; those that meet are few.
    let length = parts.iter().next()?.2;
    let is_even = parts.iter().all(|part| part.2 == length);
    let blocks = length / u64::from(bytes).max(1) * parts.len() as u64;
    (is_plain && is_even && blocks > 0).then_some(Region { blocks, block: Bytes(u64::from(bytes)) })
}
