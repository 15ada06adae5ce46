//! Whether what a stream does fits the sectors of its targets, where the page cache is passed by. Knows plans, and not how they
//! came about.

use crate::remarks::Remarks;
use crate::scene::Load;
use crate::targets::{Addressed, Class, Direct};
use fathom_schema::{Size, WorkerPlan, Workload};
use fathom_units::Bytes;

/// Whether everything a direct stream does is a multiple of what its targets need; faults are among the remarks.
pub(crate) fn aligned(
    load: &Load<'_>,
    plans: &[WorkerPlan],
    targets: &[&Addressed],
    remarks: &mut Remarks,
) -> bool {
    let mut sector = 0;
    let mut name = "";
    for target in targets.iter().filter(|target| matches!(target.class, Class::File | Class::Block)) {
        if let Direct::Aligned(align) = target.direct
            && align > sector
        {
            (sector, name) = (align, &target.name);
        }
    }
    if sector <= 1 {
        return true;
    }
    let Workload { cases, align, align_of, stride_bytes, .. } = &load.operations.workload;
    let sizes = cases.iter().flat_map(|case| match case.size {
        Size::Fixed(size) => [size, size, size],
        Size::Range { min, max, step } => [min, max, step],
    });
    let options = &load.section.options;
    let mut wrong: Vec<(&str, u64)> = sizes
        .map(|size| ("block size", u64::from(size)))
        .filter(|&(_, size)| size % sector != 0)
        .take(1)
        .collect();
    if wrong.is_empty() && load.operations.random && align.0 % sector != 0 {
        wrong.push(("align", align.0));
    }
    if load.operations.random {
        let aligns = align_of.iter().map(|&(_, align)| align);
        wrong.extend(aligns.filter(|align| align % sector != 0).take(1).map(|align| ("align_of", align)));
    }
    let own = cases.iter().filter_map(|case| case.align.map(u64::from)).find(|align| align % sector != 0);
    wrong.extend(own.map(|align| ("align of the mix", align)));
    if load.operations.sequential && stride_bytes.unsigned_abs() % sector != 0 {
        wrong.push(("stride", stride_bytes.unsigned_abs()));
    }
    let starts = plans.iter().flat_map(|plan| &plan.extents).map(|extent| extent.start.0);
    wrong.extend(starts.filter(|start| start % sector != 0).take(1).map(|start| ("offset", start)));
    let (sector, is_right) = (Bytes(sector), wrong.is_empty());
    for (what, value) in wrong {
        let place = match what {
            "offset" => options.offset.span(),
            "block size" => load.operations.block_place,
            "align" => load.workload.and_then(|workload| workload.options.align.span()),
            "align_of" => load.workload.and_then(|workload| workload.options.align_of.span()),
            _ => None,
        };
        let message = format!(
            "{what} {} is not a multiple of the {sector} sector of {name}, which direct I/O needs",
            Bytes(value)
        );
        let help = format!("use a multiple of {sector} or turn direct I/O off");
        remarks.error("plan.not-aligned", place.or(Some(load.section.span)), message, help);
    }
    is_right
}
