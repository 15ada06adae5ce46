//! Jobs that replay what jobs before them write (`read_iolog` of a file that `write_iolog` names): what a trace does has to be
//! known before it is planned, so that they are a run of their own behind that of the others. Knows where the jobs part, and
//! makes one record of both runs for fio's reports.

use super::fallen::{Fallen, only};
use super::reports::Collected;
use crate::exit::Exit;
use crate::load::Loaded;
use crate::output::Spared;
use fathom_frontend::fio::Extras;
use fathom_model::{Diagnostics, Job};
use fathom_schema::Record;
use fathom_units::Nanos;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What came of jobs that have run.
pub(super) struct Ran {
    pub(super) record: Record,
    pub(super) collected: Collected,
    pub(super) exit: Exit,
    pub(super) fallen: Vec<Fallen>,
    pub(super) spared: Spared,
    /// What was given out before the last report.
    pub(super) shown: String,
    /// They were ended, and none is to follow.
    pub(super) is_over: bool,
}

impl Ran {
    /// Both together, as if they had been one run.
    pub(super) fn followed_by(self, later: Self) -> Self {
        let Self { mut record, mut collected, exit, mut fallen, spared, shown: _, is_over: _ } = self;
        append(&mut record, later.record);
        collected.operations.join(later.collected.operations);
        collected.idleness.join(&later.collected.idleness);
        fallen.extend(later.fallen);
        Self {
            record,
            collected,
            exit: if exit == Exit::Ok || later.is_over { later.exit } else { exit },
            fallen,
            spared: later.spared.and(&spared),
            shown: later.shown,
            is_over: later.is_over,
        }
    }
}

/// All targets that the jobs name, whichever part they are in: no part may write over those of another. None where a part is
/// all of them, whose run finds its targets itself.
pub(super) fn targets(parts: &[Loaded]) -> Vec<PathBuf> {
    match parts {
        [_] => Vec::new(),
        parts => parts.iter().flat_map(|part| fathom_planner::paths(&part.job)).collect(),
    }
}

/// The jobs in parts that have to run one after another; as a rule there is one. Jobs of which one is wrong on any host are
/// one part, so that none of them runs.
pub(super) fn of(loaded: Loaded) -> Vec<Loaded> {
    let starts = starts(&loaded.job, &loaded.extras);
    if starts.is_empty() || loaded.diagnostics.has_errors() || loaded.check().has_errors() {
        return vec![loaded];
    }
    let Loaded { job, diagnostics, extras, title, files, keeps_warnings, shows_document, .. } = loaded;
    let mut diagnostics = Some(diagnostics);
    let ends = starts.iter().copied().chain([job.stages.len()]);
    let parts = [0].into_iter().chain(starts.iter().copied()).zip(ends);
    parts
        .map(|(first, end)| {
            let stages = &job.stages[first..end];
            let names = stages.iter().flat_map(|stage| stage.options.streams.get().into_iter().flatten());
            let names: BTreeSet<&str> = names.map(String::as_str).collect();
            let clones = extras.clones.iter().filter(|clone| names.contains(clone.stream.as_str()));
            Loaded {
                job: only(&job, |name| names.contains(name)),
                // All is told with the first.
                diagnostics: diagnostics.take().unwrap_or_else(Diagnostics::default),
                extras: Extras { clones: clones.cloned().collect(), ..extras.clone() },
                title: title.clone(),
                files: files.clone(),
                keeps_warnings,
                shows_document,
                ..Loaded::default()
            }
        })
        .collect()
}

/// Stages before which those before have to have run.
fn starts(job: &Job, extras: &Extras) -> Vec<usize> {
    let mut written: BTreeSet<PathBuf> = BTreeSet::new();
    let mut starts = Vec::new();
    for (index, stage) in job.stages.iter().enumerate() {
        let streams: BTreeSet<&String> = stage.options.streams.get().into_iter().flatten().collect();
        let of_stage = job.streams.iter().filter(|stream| streams.contains(&stream.name));
        let mut traces = of_stage.filter_map(|stream| stream.options.trace.get());
        if traces.any(|trace| written.contains(&plain(trace))) {
            starts.push(index);
            written.clear();
        }
        let clones = extras.clones.iter().filter(|clone| streams.contains(&clone.stream));
        written.extend(clones.filter_map(|clone| clone.logs.issued.as_deref()).map(plain));
    }
    starts
}

/// A path without what changes nothing.
fn plain(path: impl AsRef<Path>) -> PathBuf {
    path.as_ref().components().filter(|part| *part != std::path::Component::CurDir).collect()
}

/// Adds the steps of a run that came after the record's own.
fn append(record: &mut Record, later: Record) {
    let Record { started, steps, notes, finished } = later;
    let shift = u32::try_from(record.steps.len()).expect("steps are counted in 32 bits");
    for mut step in steps {
        step.started.index += shift;
        step.intervals.iter_mut().for_each(|interval| interval.step += shift);
        step.host.iter_mut().for_each(|sample| sample.step += shift);
        step.finished.iter_mut().for_each(|finished| finished.index += shift);
        record.steps.push(step);
    }
    for fact in started.facts.targets {
        if record.started.facts.targets.iter().all(|known| known.path != fact.path) {
            record.started.facts.targets.push(fact);
        }
    }
    let behind = Nanos::millis(started.wall_ms.saturating_sub(record.started.wall_ms));
    record.notes.extend(notes.into_iter().map(|mut note| {
        note.at = behind.after(note.at);
        note
    }));
    record.finished = finished;
}
