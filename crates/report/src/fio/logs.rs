//! fio's log files (`write_bw_log` and its kin): averages out of intervals, or every operation. Owns the rows; file names and the job
//! numbers in them are the caller's.

use super::figures::DIRECTIONS;
use super::sums::{block_bytes, measuring_from, trims_at_once, without_submission};
use fathom_metrics::{Histogram, OperationRow, fio_counts, merge_kind};
use fathom_schema::{
    Interval, IoPriority, KindTally, LatencyTally, Moments, OperationKind, Phase, Record, StepRecord, Stream,
};
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

/// Whose log, and how its rows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRequest {
    /// Position of the step in the record.
    pub step: usize,
    /// Position of the stream in the step.
    pub stream: usize,
    /// Which log.
    pub log: FioLog,
    /// `log_avg_msec` or `log_hist_msec`; a window is the smallest whole number of intervals not below it. 0: a row for each
    /// operation, and no histogram at all.
    pub window: Nanos,
    /// What else a row says.
    pub columns: LogColumns,
}

/// Columns of a log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one of fio's own switches")]
pub struct LogColumns {
    /// Which figure of a window.
    pub value: LogValue,
    /// `log_offset`: the operation's offset; 0 of a window.
    pub offset: bool,
    /// `log_prio`: the priority in hexadecimal.
    pub priority: bool,
    /// `log_issue_time`: when the operation was issued, nanoseconds since the start of measuring. As with fio 3.41 it is told of
    /// submission and completion latencies, and 0 of all others and of a window.
    pub issue_time: bool,
    /// `log_alternate_epoch`: times count from 1970.
    pub since_1970: bool,
}

/// Which figure of a window a row says (`log_window_value`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogValue {
    /// The mean.
    #[default]
    Average,
    /// The largest.
    Maximum,
    /// Both.
    Both,
}

/// One row but for its columns.
pub(super) struct Row {
    pub(super) time_ms: u64,
    pub(super) value: f64,
    pub(super) maximum: f64,
    pub(super) kind: OperationKind,
    pub(super) bytes: u32,
    pub(super) offset: u64,
    pub(super) priority: u16,
    issued: Nanos,
}

impl Row {
    /// Appends it as a line. A log of single operations has millions: it goes through no formatting of the standard library.
    fn write(&self, out: &mut String, columns: LogColumns) {
        let Self { time_ms, value, maximum, kind, bytes, offset, priority, issued } = self;
        let mut digits = itoa::Buffer::new();
        let mut add = |out: &mut String, number: u64| out.push_str(digits.format(number));
        add(out, *time_ms);
        out.push_str(", ");
        let (first, second) = match columns.value {
            LogValue::Average => (*value, None),
            LogValue::Maximum => (*maximum, None),
            LogValue::Both => (*value, Some(*maximum)),
        };
        add(out, whole(first));
        if let Some(second) = second {
            out.push_str(", ");
            add(out, whole(second));
        }
        out.push_str(", ");
        add(out, kind.index() as u64);
        out.push_str(", ");
        add(out, u64::from(*bytes));
        out.push_str(", ");
        if columns.offset {
            add(out, *offset);
            out.push_str(", ");
        }
        // Without the priority as it is, fio says whether it is of the real-time class.
        match (columns.priority, priority >> 13) {
            (true, _) => out.push_str(&format!("{priority:#06x}")),
            (false, 1) => out.push('1'),
            (false, _) => out.push('0'),
        }
        if columns.issue_time {
            out.push_str(", ");
            add(out, issued.0);
        }
        out.push('\n');
    }
}

/// A figure of a log, rounded as fio prints it.
pub(super) fn whole(value: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "no figure is below 0")]
    let whole = value.round_ties_even() as u64;
    whole
}

/// The rows of a log of the stream's measure phase: `time_ms, value, direction, 0, 0`, or with a histogram
/// `time_ms, direction, block size, counts…`; the time is the end of the window since the ramp's end, as fio counts it (seen
/// with 3.33). A window without an operation of a direction has no row of it. Empty when the record has no such stream.
pub fn fio_logs(record: &Record, request: &LogRequest) -> String {
    let LogRequest { log, columns, .. } = *request;
    let mut out = String::new();
    each_window(record, request, &mut |window| match log {
        FioLog::Histogram { coarseness } => {
            let Window { time_ms, kind, tally, block, .. } = window;
            let counts = coarse(&completion(&tally).histogram, coarseness).join(", ");
            out.push_str(&format!("{time_ms}, {}, {block}, {counts}\n", kind.index()));
        }
        _ => window.row(log).write(&mut out, columns),
    });
    out
}

/// What a stream did of one kind in one window.
struct Window {
    time_ms: u64,
    length: Nanos,
    kind: OperationKind,
    tally: KindTally,
    block: u32,
}

impl Window {
    fn row(&self, log: FioLog) -> Row {
        let Self { time_ms, length, kind, tally, block: _ } = self;
        let (value, maximum) = values(log, tally, *length);
        let (time_ms, kind) = (*time_ms, *kind);
        Row { time_ms, value, maximum, kind, bytes: 0, offset: 0, priority: 0, issued: Nanos::ZERO }
    }
}

/// The part of a window below which the last one is none of its own: a few operations right behind an edge make no rate.
const SCRAP_PART: u64 = 10;

/// Joins a last window that is a scrap to the one before it.
fn join_scrap(windows: &mut BTreeMap<u64, Vec<&Interval>>, length: Nanos) {
    let is_scrap = windows.last_key_value().is_some_and(|(_, last)| {
        let start = last.iter().map(|interval| interval.start).min().unwrap_or_default();
        let end = last.iter().map(|interval| interval.end).max().unwrap_or_default();
        end.since(start).0 < length.0 / SCRAP_PART
    });
    let mut keys = windows.keys().rev();
    let follows = keys.next().zip(keys.next()).is_some_and(|(last, before)| before + 1 == *last);
    if is_scrap
        && follows
        && let Some((_, last)) = windows.pop_last()
        && let Some(mut before) = windows.last_entry()
    {
        before.get_mut().extend(last);
    }
}

fn each_window(record: &Record, request: &LogRequest, each: &mut dyn FnMut(Window)) {
    let LogRequest { step: step_at, stream, log, window, columns } = *request;
    let Some((step, plan, measuring_from)) = place(record, request) else { return };
    if log == FioLog::Submission && plan.engine.kind.is_synchronous() {
        return;
    }
    let epoch_ms = if columns.since_1970 { epoch_ms(record, request) } else { 0 };
    let intervals_each = window.0.div_ceil(step.started.step.interval.0.max(1)).max(1);
    let mut windows: BTreeMap<u64, Vec<&Interval>> = BTreeMap::new();
    // As with fio, what was read back is in its logs.
    let has_rows = |interval: &&Interval| interval.stream as usize == stream && interval.phase != Phase::Ramp;
    let length = step.started.step.interval.0.max(1).saturating_mul(intervals_each);
    for interval in record.steps[step_at].intervals.iter().filter(has_rows) {
        // By its middle: edges lie on multiples of the interval since the step's start, and measuring may begin between two.
        let middle = Nanos(interval.start.0.midpoint(interval.end.0));
        windows.entry(middle.since(measuring_from).0 / length).or_default().push(interval);
    }
    join_scrap(&mut windows, Nanos(length));
    for intervals in windows.values() {
        let start = intervals.iter().map(|interval| interval.start).min().unwrap_or_default();
        let end = intervals.iter().map(|interval| interval.end).max().unwrap_or_default();
        let time_ms = end.since(measuring_from).0 / 1_000_000 + epoch_ms;
        for kind in DIRECTIONS {
            let Some(mut tally) = merged(intervals, kind).filter(|tally| tally.operations > 0) else {
                continue;
            };
            if trims_at_once(plan) {
                without_submission(&mut tally);
                if log == FioLog::Submission && kind == OperationKind::Trim {
                    continue;
                }
            }
            each(Window { time_ms, length: end.since(start), kind, tally, block: block_bytes(plan, kind) });
        }
    }
}

/// The rows of a log with one for each operation, as fio writes without `log_avg_msec`; `operations` are those of the stream
/// in the order in which they completed. As with fio, bandwidth is bytes over completion latency in units of 1000 bytes,
/// each operation is one of `iops`, and nothing has a submission latency on a synchronous engine.
pub fn fio_operation_log(record: &Record, request: &LogRequest, operations: &[OperationRow]) -> String {
    let mut out = String::new();
    each_operation(record, request, operations, &mut |row| row.write(&mut out, request.columns));
    out
}

/// The rows of a log, of windows or of `operations`, which those of a histogram are not.
pub(super) fn each_row(
    record: &Record,
    request: &LogRequest,
    operations: &[OperationRow],
    each: &mut dyn FnMut(Row),
) {
    match request.log {
        FioLog::Histogram { .. } => {}
        log if request.window > Nanos::ZERO => {
            each_window(record, request, &mut |window| each(window.row(log)));
        }
        _ => each_operation(record, request, operations, each),
    }
}

fn each_operation(
    record: &Record,
    request: &LogRequest,
    operations: &[OperationRow],
    each: &mut dyn FnMut(Row),
) {
    let Some((_, plan, measuring_from)) = place(record, request) else { return };
    let LogRequest { log, columns, .. } = *request;
    let epoch_ms = if columns.since_1970 { epoch_ms(record, request) } else { 0 };
    let mut operations: Vec<&OperationRow> = operations.iter().collect();
    if log == FioLog::Submission {
        if plan.engine.kind.is_synchronous() {
            return;
        }
        operations.sort_by_key(|operation| operation.accepted);
    }
    let of_thread = thread_priority(plan);
    for operation in operations {
        let OperationRow {
            kind,
            reads_back: _,
            priority,
            bytes,
            target: _,
            offset,
            intended: _,
            submitted,
            accepted,
            completed,
        } = *operation;
        let priority = if priority == 0 { of_thread } else { priority };
        let is_at_once = kind == OperationKind::Trim && trims_at_once(plan);
        if is_at_once && log == FioLog::Submission {
            continue;
        }
        let accepted = if is_at_once { submitted } else { accepted };
        let since_accepted_ns = completed.since(accepted).0;
        let (at, value) = match log {
            // Never zero: it stands below a fraction.
            FioLog::Bandwidth => (completed, u64::from(bytes) * 1_000_000 / since_accepted_ns.max(1)),
            FioLog::Iops => (completed, 1),
            FioLog::Latency => (completed, completed.since(submitted).0),
            FioLog::Completion => (completed, since_accepted_ns),
            FioLog::Submission => (accepted, accepted.since(submitted).0),
            FioLog::Histogram { .. } => return,
        };
        let time_ms = at.since(measuring_from).0 / 1_000_000 + epoch_ms;
        let issued = if matches!(log, FioLog::Submission | FioLog::Completion) {
            submitted.since(measuring_from)
        } else {
            Nanos::ZERO
        };
        let value = value as f64;
        each(Row { time_ms, value, maximum: value, kind, bytes, offset, priority, issued });
    }
}

/// The I/O priority of operations that were given none of their own, as `ioprio_set(2)` has it; 0: none was asked for.
pub fn thread_priority(stream: &Stream) -> u16 {
    stream.scheduling.io.map_or(0, |IoPriority { class, level }| u16::from(class) << 13 | u16::from(level))
}

/// The step and stream of a log, and when measuring began since the step's start.
fn place<'a>(record: &'a Record, request: &LogRequest) -> Option<(&'a StepRecord, &'a Stream, Nanos)> {
    let step = record.steps.get(request.step)?;
    let plan = step.started.step.streams.get(request.stream)?;
    Some((step, plan, measuring_from(step, request.stream).unwrap_or(plan.start_delay.after(plan.ramp))))
}

/// When measuring began, milliseconds since 1970.
fn epoch_ms(record: &Record, request: &LogRequest) -> u64 {
    let began = |(step, _, from): (&StepRecord, &Stream, Nanos)| step.started.wall_ms + from.0 / 1_000_000;
    place(record, request).map_or(0, began)
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

/// The mean and the largest value of a window. fio takes one sample of a rate per window, which is both.
fn values(log: FioLog, tally: &KindTally, length: Nanos) -> (f64, f64) {
    let per_second = |n: u64| if length.0 == 0 { 0.0 } else { n as f64 / length.as_secs_f64() };
    let of = |moments: &Moments| (moments.mean_ns(), moments.max_ns as f64);
    match log {
        FioLog::Bandwidth => (per_second(tally.bytes) / 1024.0, per_second(tally.bytes) / 1024.0),
        FioLog::Iops => (per_second(tally.operations), per_second(tally.operations)),
        FioLog::Latency => of(&tally.service.moments),
        FioLog::Submission => of(&tally.submission),
        FioLog::Completion | FioLog::Histogram { .. } => of(&completion(tally).moments),
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
