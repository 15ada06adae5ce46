//! Distributions that remember what was touched: from the sizes of caches that they are about to what one worker keeps,
//! and what they cannot be combined with. It does not know how places are drawn.

use crate::operations::Operations;
use crate::remarks::Remarks;
use fathom_model::{Named, StreamOptions};
use fathom_schema::{Distribution, FileOrder, ReuseClass, WorkerPlan};
use fathom_units::{Bytes, Ratio};

/// Blocks that one worker remembers on one extent, at most: 4 Mi need 100 MiB of memory and reach 16 GiB of blocks of
/// 4 KiB.
const REUSE_BLOCKS_MAX: u64 = 1 << 22;
/// Blocks of a walk's extent, at most: one byte for every 8 of them makes 64 MiB, enough for 2 TiB of blocks of 4 KiB.
const WALK_BLOCKS_MAX: u64 = 1 << 29;
/// Blocks of a walk's extent, at least: one of its leaves.
const WALK_BLOCKS_MIN: u64 = 8;

/// Hit ratios of caches as classes of distances, in blocks of all workers together.
pub(crate) fn classes(points: &[(Bytes, Ratio)], block: u64) -> Vec<ReuseClass> {
    let mut below = 0.0;
    let class = |&(size, hits): &(Bytes, Ratio)| {
        let share = hits.value() - below;
        below = hits.value();
        ReuseClass { blocks: size.0 / block.max(1), share }
    };
    points.iter().map(class).collect()
}

/// The distribution of one worker of a stream; `None` when it cannot be, which is then among the remarks.
pub(crate) fn of_workers(
    stream: &Named<StreamOptions>,
    operations: &Operations,
    plans: &[WorkerPlan],
    remarks: &mut Remarks,
) -> Option<Distribution> {
    let workload = &operations.workload;
    let word = match workload.distribution {
        Distribution::Reuse(_) => "reuse",
        Distribution::ReuseWalk => "reuse-walk",
        _ => return Some(workload.distribution.clone()),
    };
    let block = operations.smallest;
    let several_files = plans.iter().any(|plan| plan.extents.len() > 1);
    let obstacle = if operations.only_size().is_none() {
        Some("several block sizes")
    } else if workload.align.0 != block || workload.cases.iter().any(|case| case.align.is_some()) {
        Some("an align that is not the block size")
    } else if workload.run_length > 1 {
        Some("runs of consecutive operations")
    } else if several_files && workload.file_order == FileOrder::Sequential {
        Some("files that are visited one after the other")
    } else {
        None
    };
    if let Some(obstacle) = obstacle {
        let message = format!("the stream \"{}\" has a distribution {word} and {obstacle}", stream.name);
        let help = "use one block size at its own multiples, and files in turn";
        remarks.error("plan.locality", Some(stream.span), message, help);
        return None;
    }
    let blocks = || plans.iter().flat_map(|plan| &plan.extents).map(|extent| extent.length.0 / block);
    let Distribution::Reuse(classes) = &workload.distribution else {
        let (least, most) = (blocks().min()?, blocks().max()?);
        if least < WALK_BLOCKS_MIN || most > WALK_BLOCKS_MAX {
            let message = format!(
                "the stream \"{}\" walks over {least} to {most} blocks; {WALK_BLOCKS_MIN} to {WALK_BLOCKS_MAX} are possible",
                stream.name
            );
            let help = "change the size of its region, or the block size";
            remarks.error("plan.locality", Some(stream.span), message, help);
            return None;
        }
        return Some(Distribution::ReuseWalk);
    };
    // All workers go through one cache, each on all of its extents in turn: every one has its part of it.
    let parts = plans.iter().map(|plan| plan.extents.len() as u64).sum::<u64>().max(1);
    let scaled: Vec<ReuseClass> =
        classes.iter().map(|class| ReuseClass { blocks: class.blocks / parts, ..*class }).collect();
    let shared = plans.iter().map(|plan| u64::from(plan.part.count)).max().unwrap_or(1);
    let own = blocks().min()? / shared;
    let (least, most) = (scaled.first()?.blocks, scaled.last()?.blocks);
    let message = if least == 0 {
        format!("the smallest cache has less than one of the {block} B blocks for each of {parts} parts")
    } else if most >= own {
        format!("the largest cache has {most} blocks for each of {parts} parts, and these have only {own}")
    } else if most > REUSE_BLOCKS_MAX {
        format!(
            "the largest cache has {most} blocks for each of {parts} parts; {REUSE_BLOCKS_MAX} can be remembered"
        )
    } else if scaled.windows(2).any(|pair| pair[0].blocks >= pair[1].blocks) {
        "two of its caches have the same number of blocks".to_owned()
    } else {
        return Some(Distribution::Reuse(scaled));
    };
    let help = "change the sizes of the caches, of the blocks or of the region, or use more or fewer workers";
    let message = format!("reuse of the stream \"{}\": {message}", stream.name);
    remarks.error("plan.locality", Some(stream.span), message, help);
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hit_ratios_become_classes() {
        let points = [(Bytes::mib(1), Ratio::percent(50.0)), (Bytes::mib(4), Ratio::percent(75.0))];
        let classes: Vec<(u64, f64)> =
            classes(&points, 4096).iter().map(|class| (class.blocks, class.share)).collect();
        assert_eq!(classes, [(256, 0.5), (1024, 0.25)]);
    }
}
