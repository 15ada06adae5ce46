//! The states of verification that fio's jobs leave when they end: which job leaves one, and what of the record is in it.

use super::shape::workers_of;
use crate::output::{self, Spared};
use fathom_frontend::fio::state::{VerifyState, file_name};
use fathom_frontend::fio::{Extras, JobClone};
use fathom_report::FioWorkers;
use fathom_schema::{OperationKind, Record};
use std::path::PathBuf;

/// Writes the states of all jobs that wrote verified data, each to a file of its own; what could not be written, and why.
pub(crate) fn write(record: &Record, extras: &Extras, aux_path: &str, spared: &Spared) -> Vec<String> {
    let mut lost = Vec::new();
    let path_of = |clone: &JobClone| {
        let number = usize::try_from(clone.thread_number).unwrap_or(usize::MAX);
        PathBuf::from(file_name(aux_path, &clone.job_name, number))
    };
    // A job that loads its state leaves a new one in its place, as fio's does; what is no state stays what it is.
    let is_state = |path: &PathBuf| {
        // Who reads a pipe waits for its writer.
        path.is_file() && std::fs::read(path).is_ok_and(|bytes| VerifyState::read(&bytes).is_ok())
    };
    let saved = extras.clones.iter().filter(|clone| clone.saves_state);
    let states: Vec<PathBuf> = saved.map(path_of).filter(is_state).collect();
    let spared = &spared.but_for(&states);
    for clone in extras.clones.iter().filter(|clone| clone.saves_state) {
        for worker in workers_of(record, clone) {
            let Some(mut state) = state_of(record, &worker) else { continue };
            state.name.clone_from(&clone.job_name);
            state.index = u64::from(clone.thread_number).saturating_sub(1);
            lost.extend(output::write_unnamed(&path_of(clone), spared, &state.write()).err());
        }
    }
    lost
}

/// The state of one worker, without its name and place; `None` where it wrote nothing that is verified.
fn state_of(record: &Record, worker: &FioWorkers) -> Option<VerifyState> {
    let FioWorkers { step, stream, worker } = *worker;
    let step = &record.steps[step];
    let planned = step.started.step.streams.get(stream)?;
    let workload = &planned.workload;
    let writes =
        workload.trim_then_write || workload.cases.iter().any(|case| case.kind == OperationKind::Write);
    if !writes || !workload.verification.lets_write() {
        return None;
    }
    let totals = step.finished.as_ref()?.streams.get(stream)?.workers.get(worker.unwrap_or(0))?;
    let verified = totals.verified.as_deref()?;
    let place = |&(extent, offset): &(u32, u64)| (u64::from(extent), offset);
    Some(VerifyState {
        name: String::new(),
        index: 0,
        depth: planned.queue_depth,
        files: u32::try_from(planned.workers.first()?.extents.len()).unwrap_or(u32::MAX),
        writes: verified.finished,
        finished: verified.finished,
        last: verified.finished_last.iter().rev().map(place).collect(),
    })
}
