//! What planning looks at: the job at one point, the facts by path, what earlier points measured.

use crate::lengths::Grown;
use crate::links::Links;
use crate::operations::{self, Operations};
use crate::peers;
use crate::remarks::Remarks;
use crate::traces::Traced;
use fathom_model::{Named, StreamOptions, WorkloadOptions};
use fathom_schema::{Condition, Facts, TargetFact, TraceFact};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// The host, and what `"fresh"` seeds stand for in this run.
pub(crate) struct Scene<'a> {
    pub facts: &'a Facts,
    pub entropy: u64,
    /// Places, links followed, that the job writes at any of its points.
    pub changed: &'a BTreeSet<PathBuf>,
    /// By stream of a job of fio: what it knows of its files.
    pub grown: &'a [Grown],
    /// What ends the run before its time.
    pub abort_when: &'a [Condition],
    by_path: HashMap<&'a Path, &'a TargetFact>,
}

impl<'a> Scene<'a> {
    pub(crate) fn new(
        facts: &'a Facts,
        entropy: u64,
        changed: &'a BTreeSet<PathBuf>,
        grown: &'a [Grown],
        abort_when: &'a [Condition],
    ) -> Self {
        let by_path = facts.targets.iter().map(|fact| (fact.path.as_path(), fact)).collect();
        Self { facts, entropy, changed, grown, abort_when, by_path }
    }

    pub(crate) fn fact(&self, path: &Path) -> Option<&'a TargetFact> {
        self.by_path.get(path).copied()
    }
}

/// Highest rates that streams reached, by index of the stream in the job, in operations per second.
pub(crate) type Maxima = BTreeMap<usize, f64>;

/// A stream with the operations it runs.
pub(crate) struct Load<'a> {
    /// Index of the stream in the job.
    pub index: usize,
    pub section: &'a Named<StreamOptions>,
    pub operations: Operations,
    /// Its workload's section; none where nothing is set.
    pub workload: Option<&'a Named<WorkloadOptions>>,
    /// The trace that it replays instead.
    pub trace: Option<Traced<'a>>,
    /// Index of the stream whose other end it is.
    pub mirrors: Option<usize>,
    /// Whether it is one of two ends that do the same at once.
    pub is_paired: bool,
}

/// The streams of a job with their operations; those whose workload or trace has faults are left out.
pub(crate) fn loads<'a>(links: &Links<'a>, traces: &'a [TraceFact], remarks: &mut Remarks) -> Vec<Load<'a>> {
    let job = links.job();
    let mut loads = Vec::new();
    let mirrored = peers::mirrored(job);
    for (index, section) in job.streams.iter().enumerate() {
        let nothing_set = Named::<WorkloadOptions>::default();
        let workload = links.workload_of(section);
        let set = workload.unwrap_or(&nothing_set);
        let Ok(trace) = Traced::of(section, traces, remarks) else { continue };
        if let Some(operations) = operations::resolve(set, job.dialect, remarks) {
            let operations = match &trace {
                Some(trace) => trace.stand_in(operations),
                None => operations,
            };
            let mirrors = section.options.mirrors.get().and_then(|name| mirrored.get(name.as_str()).copied());
            let operations = if mirrors.is_some() { operations.mirrored() } else { operations };
            let is_paired = mirrors.is_some() || mirrored.contains_key(section.name.as_str());
            loads.push(Load { index, section, operations, workload, trace, mirrors, is_paired });
        }
    }
    loads
}
