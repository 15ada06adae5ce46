//! Which targets a look at single blocks of tells something about: those that are read as somebody has left them. Each is
//! looked at once in a run, after the step that read it first, when nothing is measured.
//!
//! Does not know what blocks of zeros come to.

use crate::Stop;
use fathom_engine::monotonic;
use fathom_engine::probe::{Region, zero_blocks};
use fathom_schema::{
    Facts, LayoutRule, OperationKind, Question, Step, Stream, TargetFact, TargetKind, ZeroBlocks,
};
use fathom_units::Nanos;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// How long looks after one step take at most, together: a rotating disk reads some fifty blocks meanwhile, any other all
/// that are wanted.
const LOOK_MAX: Nanos = Nanos::millis(500);
/// Targets that are looked at after one step.
const TARGETS_MAX: usize = 16;

/// What need not be looked at any more.
#[derive(Debug, Default)]
pub(crate) struct Zeroes {
    done: BTreeSet<PathBuf>,
    /// Whether a step reads one of many parts of what the run reads.
    reads_parts: bool,
}

impl Zeroes {
    /// For a run with this question.
    pub(crate) fn of(question: Option<&Question>) -> Self {
        Self { done: BTreeSet::new(), reads_parts: matches!(question, Some(Question::Scan(_))) }
    }

    /// Leaves out what a step of an earlier part of the run has worked on.
    pub(crate) fn pass_over(&mut self, step: &Step) {
        for (index, used) in uses(step).iter().enumerate() {
            if let Some(path) = path_of(step, index).filter(|_| used.is_read() || used.is_written) {
                self.done.insert(path.to_owned());
            }
        }
    }

    /// Looks at what a step has only read, and no step before it has written.
    pub(crate) fn look(&mut self, step: &Step, facts: &Facts, stop: &Stop) -> Vec<ZeroBlocks> {
        let by_path = facts.by_path();
        let wanted: Vec<(&Path, Vec<Region>, u32)> = uses(step)
            .into_iter()
            .enumerate()
            .filter_map(|(index, used)| {
                let path = path_of(step, index)?;
                let fact = *by_path.get(path)?;
                if self.done.contains(path) || used.is_written || is_ours(step, index, fact) {
                    return None;
                }
                let mut regions = used.regions_read();
                if self.reads_parts && !regions.is_empty() {
                    regions = vec![Region { start: 0, length: step.targets[index].size.0 }];
                }
                let sector = fact.device.as_ref().map_or(512, |device| device.logical_sector_bytes);
                (!regions.is_empty()).then_some((path, regions, sector))
            })
            .take(TARGETS_MAX)
            .collect();
        let begin = monotonic();
        let count = wanted.len() as u64;
        let mut found = Vec::new();
        for (at, (path, regions, sector)) in (1_u64..).zip(&wanted) {
            if stop.is_raised() {
                break;
            }
            // The places are the same in each run of a job, and others than those it reads.
            found.extend(zero_blocks(
                path,
                regions,
                *sector,
                at,
                begin.after(Nanos(LOOK_MAX.0 * at / count)),
            ));
        }
        self.pass_over(step);
        found
    }
}

/// What a step does with one of its targets.
#[derive(Clone, Default)]
struct Use {
    /// Whether it puts data there. What is trimmed is not: it is what reads may find nothing in.
    is_written: bool,
    /// First byte and end of each part that is read.
    read: Vec<(u64, u64)>,
}

impl Use {
    fn is_read(&self) -> bool {
        !self.read.is_empty()
    }

    /// What is read of it, each place once.
    fn regions_read(mut self) -> Vec<Region> {
        self.read.sort_unstable();
        let mut regions: Vec<(u64, u64)> = Vec::new();
        for (start, end) in self.read {
            match regions.last_mut() {
                Some((_, last)) if start <= *last => *last = end.max(*last),
                _ => regions.push((start, end)),
            }
        }
        regions.into_iter().map(|(start, end)| Region { start, length: end - start }).collect()
    }
}

/// What a step does with each of its targets.
fn uses(step: &Step) -> Vec<Use> {
    let mut uses = vec![Use::default(); step.targets.len()];
    for stream in &step.streams {
        let (reads, puts) = (reads(stream), puts_data(stream));
        for extent in stream.workers.iter().flat_map(|worker| &worker.extents) {
            let used = &mut uses[extent.target as usize];
            // Of a trace, thousands of files may be read only: asked once for each.
            used.is_written = used.is_written || puts && stream.changes_target(extent.target as usize);
            if reads {
                used.read.push((extent.start.0, extent.start.0.saturating_add(extent.length.0)));
            }
        }
    }
    uses
}

/// The path of a target that holds data.
fn path_of(step: &Step, target: usize) -> Option<&Path> {
    match &step.targets[target].kind {
        TargetKind::File { path, .. } | TargetKind::BlockDevice { path } => Some(path),
        TargetKind::Folder { .. }
        | TargetKind::MemoryDevice { .. }
        | TargetKind::Null
        | TargetKind::Sim(_)
        | TargetKind::Peer(_) => None,
    }
}

fn reads(stream: &Stream) -> bool {
    stream.engine.kind.moves_bytes()
        && stream.workload.cases.iter().any(|case| case.kind == OperationKind::Read)
}

/// Whether what a stream changes is more than trimmed.
fn puts_data(stream: &Stream) -> bool {
    let workload = &stream.workload;
    workload.trim_then_write || workload.cases.iter().any(|case| case.kind == OperationKind::Write)
}

/// Whether fathom has filled it itself, before the step or at another time.
fn is_ours(step: &Step, target: usize, fact: &TargetFact) -> bool {
    let is_made = fact.file.as_ref().is_none_or(|file| file.made_by_fathom);
    matches!(step.targets[target].kind, TargetKind::File { layout: LayoutRule::Written, .. }) && is_made
}
