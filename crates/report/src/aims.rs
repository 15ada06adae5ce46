//! Which streams of a step go to which targets, and what each did there: operations are counted by stream, and by target
//! those of a stream that goes to a few. Knows nothing of how it is shown.

use fathom_schema::{KindTally, LatencySum, OperationKind, Step, Stream, StreamTally, Target, TargetTally};
use std::collections::{BTreeMap, BTreeSet};

/// Targets that are named of each: a stream may have a hundred thousand.
pub(crate) const TARGETS_MAX: usize = 16;

/// Names of the first of them.
pub(crate) fn names(targets: &BTreeSet<u32>, all: &[Target]) -> Vec<String> {
    targets.iter().take(TARGETS_MAX).map(|&at| all[at as usize].name.clone()).collect()
}

/// Streams of which it is not known what they did on each of their targets, by target: figures of one that others go to, too,
/// are without theirs.
#[derive(Debug)]
pub(crate) struct Uncounted(BTreeMap<u32, Missing>);

/// Streams that go to a target and are not in its figures.
#[derive(Debug, Clone, Default)]
pub(crate) struct Missing {
    /// The first of them: a page cannot name thousands.
    pub(crate) first: Vec<usize>,
    /// How many they are.
    pub(crate) count: u64,
}

impl Uncounted {
    /// These streams of a step.
    pub(crate) fn of(step: &Step, streams: impl Iterator<Item = usize>) -> Self {
        let mut missing: BTreeMap<u32, Missing> = BTreeMap::new();
        for at in streams {
            for target in step.streams[at].targets() {
                let Missing { first, count } = missing.entry(target).or_default();
                *count += 1;
                if first.len() < TARGETS_MAX {
                    first.push(at);
                }
            }
        }
        Self(missing)
    }

    /// Those of them that go to a target.
    pub(crate) fn on(&self, target: u32) -> Missing {
        self.0.get(&target).cloned().unwrap_or_default()
    }
}

/// Streams by their targets, in the order of the first of them.
pub(crate) fn by_targets(step: &Step) -> Vec<(BTreeSet<u32>, Vec<usize>)> {
    let mut groups: BTreeMap<BTreeSet<u32>, Vec<usize>> = BTreeMap::new();
    for (at, stream) in step.streams.iter().enumerate() {
        groups.entry(stream.targets()).or_default().push(at);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, streams)| streams[0]);
    groups
}

/// How what a stream did is told by target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Apart {
    /// All of it went to this one.
    One(u32),
    /// It was counted for each of these.
    Each(Vec<u32>),
    /// It was not: they are too many.
    Not,
}

impl Apart {
    pub(crate) fn of(stream: &Stream) -> Self {
        let counted = stream.counted_targets();
        if !counted.is_empty() {
            return Self::Each(counted);
        }
        let mut all = stream.targets().into_iter();
        match (all.next(), all.next()) {
            (Some(one), None) => Self::One(one),
            _ => Self::Not,
        }
    }

    /// The targets.
    pub(crate) fn targets(&self) -> &[u32] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Each(targets) => targets,
            Self::Not => &[],
        }
    }

    /// Whether they are several.
    pub(crate) const fn is_several(&self) -> bool {
        matches!(self, Self::Each(_))
    }

    /// What of a tally of the stream was done on one of the targets, by kind. Nothing is known of it in records of before it
    /// was counted.
    pub(crate) fn on(&self, target: u32, tally: &StreamTally) -> Vec<TargetTally> {
        match self {
            Self::One(one) if *one == target => tally.kinds.iter().map(|kind| whole(target, kind)).collect(),
            Self::Each(_) => tally.targets.iter().filter(|of| of.target == target).copied().collect(),
            Self::One(_) | Self::Not => Vec::new(),
        }
    }
}

/// What operations of a kind did, all of them on one target.
fn whole(target: u32, kind: &KindTally) -> TargetTally {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a sum of non-negative integers"
    )]
    let sum = |latency: &fathom_schema::LatencyTally| LatencySum {
        sum_ns: latency.moments.sum_ns as u64,
        max_ns: latency.moments.max_ns,
    };
    TargetTally {
        target,
        kind: kind.kind,
        operations: kind.operations,
        bytes: kind.bytes,
        errors: crate::summary::errors(kind),
        service: sum(&kind.service),
        response: kind.response.as_ref().map(sum),
    }
}

/// The same added up: by kind, and all of them but syncs.
pub(crate) fn added_up(tallies: impl IntoIterator<Item = TargetTally>) -> (TargetTally, Vec<TargetTally>) {
    let mut all = TargetTally::nothing(0, OperationKind::Read);
    let mut kinds: Vec<TargetTally> = Vec::new();
    for tally in tallies {
        if tally.kind != OperationKind::Sync {
            all.merge(&tally);
        }
        match kinds.iter_mut().find(|known| known.kind == tally.kind) {
            Some(known) => known.merge(&tally),
            None => kinds.push(tally),
        }
    }
    kinds.sort_by_key(|tally| tally.kind);
    (all, kinds)
}

/// Intended start → completed, whichever loop it was.
pub(crate) fn response(tally: &TargetTally) -> &LatencySum {
    tally.response.as_ref().unwrap_or(&tally.service)
}
