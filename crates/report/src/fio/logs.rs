//! fio's log files (`write_bw_log` and its kin) in averaged mode, out of intervals. Owns the rows; file names and the job
//! numbers in them are the caller's.

use super::sums::{block_bytes, measured};
use fathom_metrics::{Histogram, fio_counts, merge_kind};
use fathom_schema::{Interval, KindTally, LatencyTally, Moments, OperationKind, Record};
use fathom_units::Nanos;
use std::collections::BTreeMap;

/// Which log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FioLog {
    /// `write_bw_log`: KiB/s.
    Bandwidth,
    /// `write_iops_log`.
    Iops,
    /// `lat` of `write_lat_log`: mean nanoseconds.
    Latency,
    /// `clat` of `write_lat_log`: mean nanoseconds; the service time where no completion latency was recorded.
    Completion,
    /// `slat` of `write_lat_log`: mean nanoseconds.
    Submission,
    /// `write_hist_log`: counts of completion latencies.
    Histogram {
        /// `log_hist_coarseness`: 2 to the power of this many neighbouring buckets of the 1,856 are one; 0 to 6.
        coarseness: u32,
    },
}

/// Whose log, and how long its windows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRequest {
    /// Position of the step in the record.
    pub step: usize,
    /// Position of the stream in the step.
    pub stream: usize,
    /// Which log.
    pub log: FioLog,
    /// `log_avg_msec` or `log_hist_msec`; a window is the smallest whole number of intervals not below it.
    pub window: Nanos,
}

/// The rows of a log of the stream's measure phase: `time_ms, value, direction, 0, 0`, or with a histogram
/// `time_ms, direction, block size, counts…`; the time is the end of the window since the ramp's end, as fio counts it (seen
/// with 3.33). A window without an operation of a direction has no row of it. Empty when the record has no such stream.
pub fn fio_logs(record: &Record, request: &LogRequest) -> String {
    let LogRequest { step, stream, log, window } = *request;
    let Some(step) = record.steps.get(step) else { return String::new() };
    let Some(plan) = step.started.step.streams.get(stream) else { return String::new() };
    let measuring_from = plan.start_delay.after(plan.ramp);
    let intervals_each = window.0.div_ceil(step.started.step.interval.0.max(1)).max(1);
    let mut windows: BTreeMap<u64, Vec<&Interval>> = BTreeMap::new();
    for interval in measured(step, stream) {
        windows.entry(interval.sequence / intervals_each).or_default().push(interval);
    }
    let mut out = String::new();
    for intervals in windows.values() {
        let start = intervals.iter().map(|interval| interval.start).min().unwrap_or_default();
        let end = intervals.iter().map(|interval| interval.end).max().unwrap_or_default();
        let end_ms = end.since(measuring_from).0 / 1_000_000;
        for kind in [OperationKind::Read, OperationKind::Write, OperationKind::Trim] {
            let Some(tally) = merged(intervals, kind).filter(|tally| tally.operations > 0) else { continue };
            let direction = kind.index();
            if let FioLog::Histogram { coarseness } = log {
                let counts = coarse(&completion(&tally).histogram, coarseness);
                let block = block_bytes(plan, kind);
                out.push_str(&format!("{end_ms}, {direction}, {block}, {}\n", counts.join(", ")));
            } else {
                let value = value(log, &tally, end.since(start));
                out.push_str(&format!("{end_ms}, {value:.0}, {direction}, 0, 0\n"));
            }
        }
    }
    out
}

/// The rows of `--bandwidth-log` for one kind: KiB/s of all streams together in each interval, by milliseconds since the
/// run began. As with fio, intervals without an operation have a row too.
pub fn fio_aggregate_log(record: &Record, kind: OperationKind) -> String {
    let mut out = String::new();
    for step in &record.steps {
        let offset_ms = step.started.wall_ms.saturating_sub(record.started.wall_ms);
        let mut windows: BTreeMap<u64, (Nanos, f64)> = BTreeMap::new();
        for interval in &step.intervals {
            let seconds = interval.end.since(interval.start).as_secs_f64();
            let bytes: u64 =
                interval.tally.kinds.iter().filter(|tally| tally.kind == kind).map(|tally| tally.bytes).sum();
            let (end, rate) = windows.entry(interval.sequence).or_default();
            *end = (*end).max(interval.end);
            *rate += if seconds > 0.0 { bytes as f64 / 1024.0 / seconds } else { 0.0 };
        }
        for (end, rate) in windows.into_values() {
            let direction = kind.index();
            out.push_str(&format!("{}, {rate:.0}, {direction}, 0, 0\n", offset_ms + end.0 / 1_000_000));
        }
    }
    out
}

fn value(log: FioLog, tally: &KindTally, length: Nanos) -> f64 {
    let per_second = |n: u64| if length.0 == 0 { 0.0 } else { n as f64 / length.as_secs_f64() };
    match log {
        FioLog::Bandwidth => per_second(tally.bytes) / 1024.0,
        FioLog::Iops => per_second(tally.operations),
        FioLog::Latency => tally.service.moments.mean_ns(),
        FioLog::Submission => Moments::mean_ns(&tally.submission),
        FioLog::Completion | FioLog::Histogram { .. } => completion(tally).moments.mean_ns(),
    }
}

fn completion(tally: &KindTally) -> &LatencyTally {
    tally.completion.as_ref().unwrap_or(&tally.service)
}

fn merged(intervals: &[&Interval], kind: OperationKind) -> Option<KindTally> {
    let mut tallies =
        intervals.iter().flat_map(|interval| &interval.tally.kinds).filter(|tally| tally.kind == kind);
    let mut all = tallies.next()?.clone();
    tallies.for_each(|tally| merge_kind(&mut all, tally));
    Some(all)
}

fn coarse(histogram: &fathom_schema::SparseHistogram, coarseness: u32) -> Vec<String> {
    let mut dense = Histogram::default();
    dense.merge_sparse(histogram);
    let neighbours = 1_usize << coarseness.min(6);
    fio_counts(&dense).chunks(neighbours).map(|counts| counts.iter().sum::<u64>().to_string()).collect()
}
