//! Which streams of a step go to which targets. Operations are counted by stream: those of several streams that go to the
//! same targets can be told together, those of a stream that goes to several cannot be told apart.

use fathom_schema::{Step, Stream, Target};
use std::collections::{BTreeMap, BTreeSet};

/// Targets that are named of each: a stream may have a hundred thousand.
pub(crate) const TARGETS_MAX: usize = 16;

/// Numbers of the targets that a stream goes to.
pub(crate) fn targets_of(stream: &Stream) -> BTreeSet<u32> {
    stream.workers.iter().flat_map(|worker| &worker.extents).map(|extent| extent.target).collect()
}

/// Names of the first of them.
pub(crate) fn names(targets: &BTreeSet<u32>, all: &[Target]) -> Vec<String> {
    targets.iter().take(TARGETS_MAX).map(|&at| all[at as usize].name.clone()).collect()
}

/// Streams by their targets, in the order of the first of them.
pub(crate) fn by_targets(step: &Step) -> Vec<(BTreeSet<u32>, Vec<usize>)> {
    let mut groups: BTreeMap<BTreeSet<u32>, Vec<usize>> = BTreeMap::new();
    for (at, stream) in step.streams.iter().enumerate() {
        groups.entry(targets_of(stream)).or_default().push(at);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, streams)| streams[0]);
    groups
}
