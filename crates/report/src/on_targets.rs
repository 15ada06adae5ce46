//! A step's measured streams → what was done on each target: of every stream by itself, and of all together. Owns the windows
//! that rates refer to; which operations went where is in `aims`.

use crate::aims::{Apart, Missing, Uncounted, added_up, response};
use crate::summary::window;
use crate::view::{TargetFigures, TargetKind, TargetTogether};
use fathom_analysis::Measured;
use fathom_schema::{LatencySum, Step, TargetTally};
use fathom_units::{Bytes, BytesPerSec, Iops, Nanos};
use std::collections::BTreeSet;

/// Each target of a stream that goes to several, where they were counted apart.
pub(crate) fn of_stream(step: &Step, apart: &Apart, measured: &Measured) -> Vec<TargetFigures> {
    if !is_counted(apart, measured) {
        return Vec::new();
    }
    let figures = |&target: &u32| {
        target_figures(
            &step.targets[target as usize].name,
            apart.on(target, &measured.tally),
            measured.window(),
        )
    };
    apart.targets().iter().map(figures).collect()
}

/// Each target of a step, where a stream goes to several that were counted apart: all streams that go there together.
pub(crate) fn together(step: &Step, measured: &[Measured]) -> Vec<TargetTogether> {
    let streams = || step.streams.iter().zip(measured).enumerate().filter(|(at, _)| step.adds_up(*at));
    let known: Vec<(usize, Apart, &Measured)> = streams()
        .map(|(at, (stream, measured))| (at, Apart::of(stream), measured))
        .filter(|(_, apart, measured)| match apart {
            Apart::One(_) => true,
            Apart::Each(_) => is_counted(apart, measured),
            Apart::Not => false,
        })
        .collect();
    if !known.iter().any(|(_, apart, _)| apart.is_several()) {
        return Vec::new();
    }
    let is_known = |at: &usize| known.iter().any(|(known, ..)| known == at);
    let uncounted = Uncounted::of(step, streams().map(|(at, _)| at).filter(|at| !is_known(at)));
    let targets: BTreeSet<u32> = known.iter().flat_map(|(_, apart, _)| apart.targets()).copied().collect();
    let together = |target: u32| {
        let here = || known.iter().filter(move |(_, apart, _)| apart.targets().contains(&target));
        let (start, end) = window(here().map(|(.., measured)| *measured));
        let tallies = here().flat_map(|(_, apart, measured)| apart.on(target, &measured.tally));
        let Missing { first, count } = uncounted.on(target);
        TargetTogether {
            streams: here().map(|(at, ..)| step.streams[*at].name.clone()).collect(),
            without: first.into_iter().map(|at| step.streams[at].name.clone()).collect(),
            without_count: count,
            figures: target_figures(&step.targets[target as usize].name, tallies, end.since(start)),
        }
    };
    targets.into_iter().map(together).collect()
}

/// Whether a stream on several targets was counted by them: records of before it was have nothing of it.
fn is_counted(apart: &Apart, measured: &Measured) -> bool {
    apart.is_several() && (!measured.tally.targets.is_empty() || measured.tally.kinds.is_empty())
}

fn target_figures(
    name: &str,
    tallies: impl IntoIterator<Item = TargetTally>,
    window: Nanos,
) -> TargetFigures {
    let (all, kinds) = added_up(tallies);
    TargetFigures {
        target: name.to_owned(),
        all: target_kind("all", &all, window),
        kinds: kinds.iter().map(|kind| target_kind(kind.kind.name(), kind, window)).collect(),
    }
}

fn target_kind(name: &str, tally: &TargetTally, window: Nanos) -> TargetKind {
    let some = (tally.operations > 0).then_some(());
    let mean = |sum: &LatencySum| some.map(|()| sum.sum_ns as f64 / tally.operations as f64);
    let max = |sum: &LatencySum| some.map(|()| sum.max_ns);
    TargetKind {
        kind: name.to_owned(),
        operations: tally.operations,
        bytes: tally.bytes,
        iops: Iops::of(tally.operations, window).0,
        bytes_per_s: BytesPerSec::of(Bytes(tally.bytes), window).0,
        errors: tally.errors,
        service_mean_ns: mean(&tally.service),
        service_max_ns: max(&tally.service),
        response_mean_ns: mean(response(tally)),
        response_max_ns: max(response(tally)),
    }
}
