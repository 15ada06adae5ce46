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
use crate::terminal;
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
