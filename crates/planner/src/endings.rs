//! Whether a walk that ends is worth its cost: most jobs whose files end do the same when they begin anew, and the endless
//! sequence is the shorter way.

use crate::remarks::Remarks;
use fathom_model::{Named, StreamOptions};
use fathom_schema::{
    Coverage, Distribution, FileOrder, KindOrder, PassEnd, Passes, Quota, Run, Size, WorkerPlan, Workload,
    Zones,
};
use fathom_units::{Bytes, saturating_sum};

/// Memory of one worker's map of touched blocks, at most: a device of 32 TiB in blocks of 4 KiB.
const MAP_BYTES_MAX: u64 = 1 << 30;

/// Whether the endless sequence gives the same operations up to the end of the stream.
pub(crate) fn are_alike(workload: &Workload, plans: &[WorkerPlan], passes: Passes) -> bool {
    let Workload {
        cases,
        kinds,
        coverage,
        align,
        align_of,
        run_length,
        run,
        stride_bytes,
        ends,
        zones,
        file_order,
        ..
    } = workload;
    let [first, others @ ..] = &cases[..] else { return false };
    let (Size::Fixed(size), true) = (first.size, others.iter().all(|case| case.size == first.size)) else {
        return false;
    };
    let size = u64::from(size);
    let is_plain = *zones == Zones::None
        && *run == Run::Onward
        && *run_length == 1
        && *stride_bytes == 0
        && *coverage != Coverage::Map
        && (*kinds == KindOrder::Drawn || cases.len() == 1)
        && align_of.is_empty()
        && !matches!(file_order, FileOrder::Skewed { .. })
        && cases.iter().all(|case| case.random == first.random && case.align.is_none());
    // Sequential reads and writes each have a position: a further pass begins both anew, wherever they are.
    let begins_anew = first.random || cases.len() == 1 || *ends == PassEnd::Renew;
    let (once, whole) = match passes {
        Passes::Endless => (true, true),
        Passes::Counted { count, bytes, at_least } => {
            let is_region =
                plans.iter().all(|plan| saturating_sum(plan.extents.iter().map(|e| e.length.0)) == bytes);
            (count == 1 && at_least <= bytes, is_region || (count == 1 && at_least == 0))
        }
    };
    // What is drawn by itself never ends, so that only its bytes count.
    let never_ends = first.random && *coverage == Coverage::Independent;
    is_plain
        && (once || begins_anew)
        && (whole || never_ends)
        && plans.iter().all(|plan| match &plan.extents[..] {
            [only] => never_ends || (only.length.0.is_multiple_of(size) && align.0 == size),
            _ => false,
        })
}

/// The bytes that all passes of a workload that is like the endless one move together, at most `total`. Where a pass ends
/// by its bytes, as many follow the counted ones as it takes to move what is asked for, less one operation.
pub(crate) fn bytes_of(passes: Passes, total: Quota, workload: &Workload) -> Quota {
    let Passes::Counted { count, bytes, at_least } = passes else { return total };
    let never_ends =
        workload.coverage == Coverage::Independent && workload.cases.iter().all(|case| case.random);
    if never_ends || bytes == 0 {
        return total;
    }
    let largest = workload.cases.iter().map(|case| u64::from(case.size.largest())).max().unwrap_or(1).max(1);
    let enough = at_least.saturating_sub(largest - 1).div_ceil(bytes);
    let moved = bytes.saturating_mul(count.max(enough));
    match total {
        Quota::Unlimited => Quota::AtMost(moved),
        Quota::AtMost(total) => Quota::AtMost(total.min(moved)),
    }
}

/// Turns the workload into the endless one.
pub(crate) fn make_endless(workload: &mut Workload) {
    workload.ends = PassEnd::Anew;
    workload.extents_at_once = Quota::Unlimited;
}

/// Whether places are drawn without looking at those before; walks that end know no others. A fault is among the remarks.
pub(crate) fn have_no_memory_of_places(
    workload: &Workload,
    stream: &Named<StreamOptions>,
    remarks: &mut Remarks,
) -> bool {
    let remembers = matches!(workload.distribution, Distribution::Reuse(_) | Distribution::ReuseWalk);
    if !remembers || workload.ends == PassEnd::Anew {
        return true;
    }
    let message = format!(
        "the stream \"{}\" has a distribution that goes back to what was touched, and files that end",
        stream.name
    );
    let help = "use files_end = \"anew\", without zones, files_at_once and runs to the same place";
    remarks.error("plan.locality", Some(stream.span), message, help);
    false
}

/// Whether lines of a mix keep to their own grids; walks that end know none. A fault is among the remarks.
pub(crate) fn keep_to_grids(
    workload: &Workload,
    stream: &Named<StreamOptions>,
    remarks: &mut Remarks,
) -> bool {
    if workload.ends == PassEnd::Anew || workload.cases.iter().all(|case| case.align.is_none()) {
        return true;
    }
    let message =
        format!("the stream \"{}\" has a mix with an align of its lines, and files that end", stream.name);
    let help = "use one align for all lines, or files_end = \"anew\" without zones, a map, files_at_once and kind_order = \"even\"";
    remarks.error("plan.mix-align", Some(stream.span), message, help);
    false
}

/// Whether the maps of touched blocks are small enough; a fault is among the remarks.
pub(crate) fn fit_in_memory(
    workload: &Workload,
    plans: &[WorkerPlan],
    stream: &Named<StreamOptions>,
    remarks: &mut Remarks,
) -> bool {
    if workload.coverage != Coverage::Map {
        return true;
    }
    let unit = workload.cases.iter().map(|case| case.size.smallest()).min().map_or(1, u64::from);
    let map =
        |plan: &WorkerPlan| saturating_sum(plan.extents.iter().map(|extent| extent.length.0 / unit / 8));
    let largest = plans.iter().map(map).max().unwrap_or(0);
    if largest <= MAP_BYTES_MAX {
        return true;
    }
    let message = format!(
        "the map of the blocks that the stream \"{}\" has touched would take {} for each worker, more than {}",
        stream.name,
        Bytes(largest).approximate(),
        Bytes(MAP_BYTES_MAX)
    );
    let help = "use blocks of one size, or coverage = \"independent\" (norandommap)";
    remarks.error("plan.map-too-large", Some(stream.span), message, help);
    false
}
