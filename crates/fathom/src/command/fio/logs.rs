//! The log files that fio's jobs ask for: their names, and when they are written. Does not know their rows.

use super::shape::workers_of;
use crate::output;
use fathom_frontend::fio::{Extras, JobClone as FioClone, Logs};
use fathom_report::{FioLog, FioWorkers, LogRequest};
use fathom_schema::{OperationKind, Record};
use fathom_units::Nanos;
use std::path::{Path, PathBuf};

/// Names of the log files that a fio job asks for, each once.
pub(crate) fn log_names(extras: &Extras) -> Vec<PathBuf> {
    let mut names = Vec::new();
    for (name, _, _) in extras.clones.iter().flat_map(logs_of) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Writes the log files that a fio job asks for, under fio's names; why which could not be written. Clones that share a
/// name (`per_job_logs=0`) follow one another in one file, as with fio.
pub(crate) fn write_logs(record: &Record, extras: &Extras) -> Vec<String> {
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    for clone in &extras.clones {
        let Some(FioWorkers { step, stream, worker: _ }) = workers_of(record, clone).into_iter().next()
        else {
            continue;
        };
        for (name, log, window) in logs_of(clone) {
            let rows = fathom_report::fio_logs(record, &LogRequest { step, stream, log, window });
            match files.iter_mut().find(|(known, _)| *known == name) {
                Some((_, text)) => text.push_str(&rows),
                None => files.push((name, rows)),
            }
        }
    }
    files.iter().filter_map(|(name, text)| output::write(name, text).err()).collect()
}

/// Writes the logs of `--bandwidth-log`; why which could not be written.
pub(super) fn write_aggregate(record: &Record) -> Vec<String> {
    [OperationKind::Read, OperationKind::Write, OperationKind::Trim]
        .into_iter()
        .filter_map(|kind| {
            let name = format!("agg-{}_bw.log", kind.name());
            output::write(Path::new(&name), &fathom_report::fio_aggregate_log(record, kind)).err()
        })
        .collect()
}

/// The log files of one clone: name, which, and the length of a window.
fn logs_of(clone: &FioClone) -> Vec<(PathBuf, FioLog, Nanos)> {
    let Logs { bandwidth, latency, iops, histogram, average_ms, histogram_ms, coarseness, per_job } =
        &clone.logs;
    let number = if *per_job { format!(".{}", clone.thread_number) } else { String::new() };
    let average = Nanos::millis(*average_ms);
    let coarseness = u32::from(*coarseness);
    [
        (bandwidth, "bw", FioLog::Bandwidth, average),
        (iops, "iops", FioLog::Iops, average),
        (latency, "lat", FioLog::Latency, average),
        (latency, "slat", FioLog::Submission, average),
        (latency, "clat", FioLog::Completion, average),
        (histogram, "clat_hist", FioLog::Histogram { coarseness }, Nanos::millis(*histogram_ms)),
    ]
    .into_iter()
    .filter_map(|(prefix, kind, log, window)| {
        prefix.as_ref().map(|prefix| (PathBuf::from(format!("{prefix}_{kind}{number}.log")), log, window))
    })
    .collect()
}
