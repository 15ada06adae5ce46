//! The log files that fio's jobs ask for: their names, and when they are written. Does not know their rows.

use super::iolog;
use super::operations::OperationLog;
use super::shape::workers_of;
use crate::command::store_folder;
use crate::output::{self, Spared};
use fathom_frontend::fio::{
    Extras, JobClone as FioClone, LogColumns as FioColumns, LogValue as FioValue, Logs, Measures,
};
use fathom_report::{FioLog, FioWorkers, LogColumns, LogRequest, LogValue, NotInflated};
use fathom_schema::{OperationKind, Record};
use fathom_units::Nanos;
use std::fmt::Display;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};

/// Names of the log files that a fio job asks for, each once.
pub(crate) fn log_names(extras: &Extras) -> Vec<PathBuf> {
    let mut names = Vec::new();
    let series = extras.clones.iter().flat_map(logs_of).map(|(name, _, _)| name);
    let issued = extras.clones.iter().filter_map(|clone| clone.logs.issued.as_ref()).map(PathBuf::from);
    for name in series.chain(issued) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Writes the log files that a fio job asks for, under fio's names; what could not be written, and why. Clones that share a
/// name (`per_job_logs=0`) follow one another in one file, as with fio.
pub(crate) fn write_logs(
    record: &Record,
    extras: &Extras,
    operations: &OperationLog,
    spared: &Spared,
) -> Vec<String> {
    let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    for clone in &extras.clones {
        let Some(FioWorkers { step, stream, worker: _ }) = workers_of(record, clone).into_iter().next()
        else {
            continue;
        };
        for (name, log, window) in logs_of(clone) {
            let request = LogRequest { step, stream, log, window, columns: columns(&clone.logs) };
            let operations = operations.rows(&clone.stream);
            let rows = if !clone.is_reported || !has_rows(clone.measures, log, window) {
                Vec::new()
            } else if is_stored(&clone.logs, log) {
                fathom_report::fio_stored_log(record, &request, operations)
            } else if window > Nanos::ZERO {
                fathom_report::fio_logs(record, &request).into_bytes()
            } else {
                fathom_report::fio_operation_log(record, &request, operations).into_bytes()
            };
            match files.iter_mut().find(|(known, _)| *known == name) {
                Some((_, content)) => content.extend(rows),
                None => files.push((name, rows)),
            }
        }
    }
    let write = |(name, content): &(PathBuf, Vec<u8>)| {
        output::write_with(name, spared, |out| out.write_all(content)).err()
    };
    let mut lost: Vec<String> = files.iter().filter_map(write).collect();
    lost.extend(iolog::write(record, extras, operations, spared));
    lost.extend(operations.lost());
    lost
}

/// Whether a log is in fio's binary form. fio 3.33 stores addresses of its memory in the place of histograms, which nobody can
/// read: those stay rows.
fn is_stored(logs: &Logs, log: FioLog) -> bool {
    logs.is_stored && !matches!(log, FioLog::Histogram { .. })
}

/// Prints the rows of a log that was stored (`--inflate-log`); what keeps it from that.
pub(super) fn show_stored(path: &Path) -> Result<(), String> {
    let fail = |reason: &dyn Display| format!("cannot read {}: {reason}", path.display());
    let file = File::open(path).map_err(|error| fail(&error))?;
    // fio wants to read something, too.
    if file.metadata().is_ok_and(|meta| meta.is_file() && meta.len() == 0) {
        return Err(fail(&"it is empty"));
    }
    let spared = Spared::without_targets(&[], &store_folder(None));
    let mut unread = None;
    output::write_with(Path::new("/dev/stdout"), &spared, |out| {
        match fathom_report::fio_inflated(&mut BufReader::new(file), &mut BufWriter::new(out)) {
            Err(NotInflated::Unwritten(error)) => return Err(error),
            Err(NotInflated::Unread(reason)) => unread = Some(reason),
            Ok(()) => {}
        }
        Ok(())
    })?;
    unread.map_or(Ok(()), |reason| Err(fail(&reason)))
}

fn columns(logs: &Logs) -> LogColumns {
    let FioColumns { offset, priority, issue_time, since_1970 } = logs.columns;
    let value = match logs.value {
        FioValue::Average => LogValue::Average,
        FioValue::Maximum => LogValue::Maximum,
        FioValue::Both => LogValue::Both,
    };
    LogColumns { value, offset, priority, issue_time, since_1970 }
}

/// The logs of `--bandwidth-log`: name, and which operations.
pub(super) fn aggregates() -> impl Iterator<Item = (PathBuf, OperationKind)> {
    [OperationKind::Read, OperationKind::Write, OperationKind::Trim]
        .into_iter()
        .map(|kind| (format!("agg-{}_bw.log", kind.name()).into(), kind))
}

/// Writes the logs of `--bandwidth-log`; why which could not be written.
pub(super) fn write_aggregate(record: &Record, spared: &Spared) -> Vec<String> {
    aggregates()
        .filter_map(|(name, kind)| {
            output::write(&name, &fathom_report::fio_aggregate_log(record, kind), spared).err()
        })
        .collect()
}

/// Whether a log has rows at all. Observed with fio 3.33: averages of rates always do; single operations have none of what the
/// job was told not to measure, and no operations per second either where that is everything; histograms are of completion
/// latencies.
fn has_rows(measures: Measures, log: FioLog, window: Nanos) -> bool {
    let Measures { submission, completion, service, bandwidth } = measures;
    let is_averaged = window > Nanos::ZERO;
    match log {
        FioLog::Bandwidth => is_averaged || bandwidth,
        FioLog::Iops => is_averaged || submission || completion || service || bandwidth,
        FioLog::Histogram { .. } => completion,
        // Those have no file.
        FioLog::Latency | FioLog::Completion | FioLog::Submission => true,
    }
}

/// The log files of one clone: name, which, and the length of a window; 0 where each operation has a row. What the job was
/// told not to measure has no log.
fn logs_of(clone: &FioClone) -> Vec<(PathBuf, FioLog, Nanos)> {
    let Logs {
        bandwidth,
        latency,
        iops,
        histogram,
        value: _,
        columns: _,
        rate_ms,
        average_ms,
        histogram_ms,
        coarseness,
        issued: _, // in `iolog`
        per_job,
        is_stored: _,
    } = &clone.logs;
    let Measures { submission, completion, service, bandwidth: _ } = clone.measures;
    let number = if *per_job { format!(".{}", clone.thread_number) } else { String::new() };
    let [bandwidth_window, iops_window] = rate_ms.map(Nanos::millis);
    let average = Nanos::millis(*average_ms);
    let coarseness = u32::from(*coarseness);
    [
        (bandwidth, true, "bw", FioLog::Bandwidth, bandwidth_window),
        (iops, true, "iops", FioLog::Iops, iops_window),
        (latency, service, "lat", FioLog::Latency, average),
        (latency, submission, "slat", FioLog::Submission, average),
        (latency, completion, "clat", FioLog::Completion, average),
        (histogram, true, "clat_hist", FioLog::Histogram { coarseness }, Nanos::millis(*histogram_ms)),
    ]
    .into_iter()
    .filter_map(|(prefix, is_measured, kind, log, window)| {
        let prefix = prefix.as_ref().filter(|_| is_measured)?;
        let ending = if is_stored(&clone.logs, log) { "log.fz" } else { "log" };
        Some((PathBuf::from(format!("{prefix}_{kind}{number}.{ending}")), log, window))
    })
    .collect()
}
