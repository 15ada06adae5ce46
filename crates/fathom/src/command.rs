//! The commands, one file each.

pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod curve;
pub(crate) mod doctor;
pub(crate) mod fio;
pub(crate) mod fit;
pub(crate) mod history;
pub(crate) mod iometer;
pub(crate) mod judge;
pub(crate) mod mark;
pub(crate) mod options;
pub(crate) mod percentiles;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod scan;
mod search;
pub(crate) mod serve;
pub(crate) mod slo;
pub(crate) mod steady;

use crate::cli::JobArgs;
use crate::exit::Exit;
use crate::output::{self, Spared};
use crate::terminal;
use fathom_schema::Record;
use fathom_store::StoreError;
use std::path::{Path, PathBuf};

/// The run that is named; of `last` the newest of which anything is stored, which is said where there are newer files.
pub(crate) fn found(folder: &Path, which: &str) -> Result<PathBuf, StoreError> {
    let (path, skipped) = fathom_store::find_begun(folder, which)?;
    if skipped > 0 {
        let run = path.file_stem().unwrap_or_default().to_string_lossy();
        terminal::message(&format!(
            "note: nothing is stored of what was begun last (killed at once, or just beginning): last is {run}, the run before"
        ));
    }
    Ok(path)
}

/// Writes what is told of runs to a file; never over a run, or over a target of any of them.
pub(crate) fn told_to<'a>(
    output: &Path,
    text: &str,
    records: impl IntoIterator<Item = &'a Record>,
    folder: &Path,
) -> Exit {
    let of = |record: &Record| Spared::of(&record.started.facts, &[], folder);
    let spared = records.into_iter().map(of).reduce(|all, one| all.and(&one));
    let spared = spared.unwrap_or_else(|| Spared::without_targets(&[], folder));
    if let Err(fault) = output::check(output, &spared) {
        return fault.refuse();
    }
    match output::write(output, text, &spared) {
        Ok(()) => {
            terminal::message(&format!("report: {}", output.display()));
            Exit::Ok
        }
        Err(error) => {
            terminal::message(&format!("error: {error}"));
            Exit::Target
        }
    }
}

/// The folder of runs: as given, else the usual one.
pub(crate) fn store_folder(given: Option<&PathBuf>) -> PathBuf {
    given.cloned().unwrap_or_else(|| fathom_store::default_folder(&|name| std::env::var_os(name)))
}

/// The words of a job, with times for each step of a search where a target is named and no times are.
fn brief(job: &JobArgs, time: &str, ramp: &str) -> JobArgs {
    let mut job = job.clone();
    if job.target.is_some() && job.quick.preset.is_none() && job.quick.time.is_none() {
        job.quick.time = Some(time.to_owned());
        job.quick.ramp.get_or_insert_with(|| ramp.to_owned());
    }
    job
}
