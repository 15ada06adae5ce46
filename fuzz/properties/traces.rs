//! What holds of all bytes that somebody may take for a trace: an answer comes, and what is replayed lies within the files
//! that were told of. Shared by the fuzz target and by the test that runs its corpus.

use fathom_pattern::{Generator, Planned, Trace};
use fathom_schema::{OperationKind, TraceRule, WorkerPlan};
use std::sync::Arc;

/// As a trace of any kind, all of it and with each kind of operation left out.
pub(crate) fn any_bytes(bytes: &[u8]) {
    for (skipped, scale, align) in [(None, 1, 1), (Some(0), 3, 512), (Some(1), 1, 4096), (Some(3), 7, 1)] {
        let skips = std::array::from_fn(|kind| Some(kind) == skipped);
        replayed(bytes, &TraceRule { path: "trace".into(), skips, scale, align });
    }
}

fn replayed(bytes: &[u8], rule: &TraceRule) {
    let looked = Trace::look(&mut &*bytes, rule);
    let Ok((trace, fact)) = Trace::read(&mut &*bytes, rule) else {
        assert!(looked.is_err(), "a look finds what reading does not");
        return;
    };
    assert_eq!(looked.ok().as_ref(), Some(&fact), "a look finds the same");
    // The shortest operation of a text takes more than 10 bytes, that of a binary trace 48.
    assert!(trace.operations() * 4 <= bytes.len() as u64, "{} operations", trace.operations());
    assert_eq!(fact.kinds.iter().map(|of| of.operations).sum::<u64>(), trace.operations());
    let plan = WorkerPlan { extents: Vec::new(), part: ALONE, seed: 0, cpus: Vec::new() };
    let mut generator = Generator::of_trace(Arc::new(trace), &plan);
    let mut one = [Planned::BLANK];
    while generator.fill(&mut one) == 1 {
        let Planned { kind, extent, offset, length } = one[0];
        let file = &fact.files[extent as usize];
        assert!(!rule.skips[kind.index()], "{kind:?} was to be left out");
        assert!(
            kind == OperationKind::Sync || offset + u64::from(length) <= file.end,
            "{:?} of {file:?}",
            one[0]
        );
    }
}

const ALONE: fathom_schema::SharePart = fathom_schema::SharePart { index: 0, count: 1 };
