//! The tables of a report, as texts: which figures stand in which column. Owns the choice and the units; does not know
//! whether a terminal, a browser or a wiki shows them.

use crate::charts::TimeMark;
use crate::table::{Column, left, right, spare, visible};
use crate::view::{
    DeviceSummary, GroupSummary, KindSummary, LatencySummary, StepSummary, StreamSummary, TargetFigures,
    Totals,
};
use fathom_schema::TARGETS_COUNTED_MAX;
use fathom_units::{Bytes, BytesPerSec, Iops, Nanos, significant};

/// Streams shown per table; a job of thousands is read as JSON or CSV.
pub(crate) const STREAMS_SHOWN: usize = 40;
/// Rows by target shown; two streams of 64 targets each.
const TARGET_ROWS_SHOWN: usize = 128;
/// Said where there are more.
const MORE_TARGETS: &str = "the first rows only; JSON has all";
/// Said where a percentile is not given.
const TOO_FEW: &str = "n/a: too few operations for one beyond it; to be printed p99 needs n ≥ 100, p99.9 n ≥ 1000, p99.99 n ≥ 10000";
/// Said below the devices.
const KERNEL: &str =
    "counted by the kernel over the whole step, its ramp and other users of the device included";

/// Rows of texts under headings; a column that is empty in all rows is not shown.
pub(crate) struct Table {
    /// The columns, in order.
    pub(crate) columns: Vec<Column>,
    /// A cell per column.
    pub(crate) rows: Vec<Vec<String>>,
    /// What stands below it.
    pub(crate) remark: Option<&'static str>,
}

impl Table {
    /// Positions of the columns with something in them.
    pub(crate) fn filled(&self) -> Vec<usize> {
        (0..self.columns.len()).filter(|&at| self.rows.iter().any(|row| !row[at].is_empty())).collect()
    }
}

/// What a table of a step has rows for: streams, groups of them, all together, each with its name. A single stream needs
/// no name, several need a total.
pub(crate) fn parts<'a>(step: &'a StepSummary, shown: &'a [StreamSummary]) -> Vec<(String, &'a Totals)> {
    let mut parts: Vec<(String, &Totals)> =
        shown.iter().map(|stream| (visible(&stream.name), &stream.total)).collect();
    if let [(name, _)] = parts.as_mut_slice() {
        name.clear();
        return parts;
    }
    // A group of one stream, or of all, would only repeat a row.
    let told = |group: &&GroupSummary| group.streams.len() > 1 && group.streams.len() < step.streams.len();
    let groups = step.groups.iter().filter(told);
    parts.extend(groups.map(|group| (format!("group {}", group.number), &group.total)));
    parts.push((all_of(step).to_owned(), &step.total));
    parts
}

/// What all streams of a step together are called.
fn all_of(step: &StepSummary) -> &'static str {
    if step.streams.iter().all(|stream| stream.adds_up) { "all streams" } else { "all I/O" }
}

/// One row per step of a run with several.
pub(crate) fn overview(steps: &[StepSummary]) -> Table {
    let columns = [
        left("step"),
        right("IOPS"),
        right("bandwidth"),
        right("mean"),
        right("p50"),
        right("p99"),
        spare("p99.9", 1),
        right("errors"),
        right("depth held"),
    ];
    let rows: Vec<Vec<String>> = steps
        .iter()
        .map(|step| {
            let all = &step.total.all;
            vec![
                visible(&step.name),
                Iops(all.iops).to_string(),
                BytesPerSec(all.bytes_per_s).to_string(),
                mean(&all.response),
                percentile(&all.response, 50.0),
                percentile(&all.response, 99.0),
                percentile(&all.response, 99.9),
                count_or_nothing(step.total.kinds.iter().map(|kind| kind.errors).sum()),
                significant(step.streams.iter().map(|stream| stream.queue_depth_held).sum()),
            ]
        })
        .collect();
    Table { columns: columns.to_vec(), rows, remark: None }
}

/// Operations, bytes and rates per part and kind.
pub(crate) fn rates(parts: &[(String, &Totals)]) -> Table {
    let columns = [
        left("stream"),
        left("kind"),
        right("operations"),
        right("moved"),
        right("IOPS"),
        right("bandwidth"),
        spare("short", 1),
        right("errors"),
    ];
    let mut rows = Vec::new();
    for (name, totals) in parts {
        for (position, kind) in kind_rows(totals).into_iter().enumerate() {
            rows.push(vec![
                if position == 0 { name.clone() } else { String::new() },
                kind.kind.clone(),
                kind.operations.to_string(),
                Bytes(kind.bytes).approximate(),
                Iops(kind.iops).to_string(),
                BytesPerSec(kind.bytes_per_s).to_string(),
                count_or_nothing(kind.short),
                count_or_nothing(kind.errors),
            ]);
        }
    }
    Table { columns: columns.to_vec(), rows, remark: None }
}

/// Response times; where service times differ (in an open loop) those as well.
pub(crate) fn latencies(parts: &[(String, &Totals)]) -> Table {
    let columns = [
        left("stream"),
        left("kind"),
        left("latency"),
        right("mean"),
        spare("stddev", 4),
        spare("min", 3),
        right("p50"),
        spare("p90", 2),
        spare("p95", 5),
        right("p99"),
        right("p99.9"),
        spare("p99.99", 1),
        right("max"),
    ];
    let mut rows = Vec::new();
    let mut missing = 0;
    let is_open =
        parts.iter().flat_map(|(_, totals)| &totals.kinds).any(|kind| kind.response != kind.service);
    for (name, totals) in parts {
        for (position, kind) in kind_rows(totals).into_iter().enumerate() {
            let both = [("response", &kind.response), ("service", &kind.service)];
            let both = if !is_open {
                vec![("", &kind.response)]
            } else if kind.response == kind.service {
                vec![both[0]]
            } else {
                both.to_vec()
            };
            for (row, (which, latency)) in both.iter().enumerate() {
                let first = row == 0;
                rows.push(vec![
                    if first && position == 0 { name.clone() } else { String::new() },
                    if first { kind.kind.clone() } else { String::new() },
                    (*which).to_owned(),
                    mean(latency),
                    if latency.count > 1 { time(latency.stddev_ns) } else { "n/a".to_owned() },
                    extreme(latency, latency.min_ns),
                    percentile(latency, 50.0),
                    percentile(latency, 90.0),
                    percentile(latency, 95.0),
                    percentile(latency, 99.0),
                    percentile(latency, 99.9),
                    percentile(latency, 99.99),
                    extreme(latency, latency.max_ns),
                ]);
                let lacking = latency.percentiles.iter().filter(|p| p.ns.is_none()).map(|p| p.needs);
                missing = missing.max(lacking.min().unwrap_or(0));
            }
        }
    }
    let remark = (missing > 0).then_some(TOO_FEW);
    Table { columns: columns.to_vec(), rows, remark }
}

/// What was done on each target by streams that go to several, and by all streams together where several go to one.
pub(crate) fn targets(step: &StepSummary, shown: &[StreamSummary]) -> Table {
    let columns = [
        left("stream"),
        left("target"),
        right("IOPS"),
        right("bandwidth"),
        right("mean"),
        right("max"),
        right("errors"),
    ];
    let is_single = step.streams.len() == 1;
    let mut rows = Vec::new();
    let mut part = |name: &str, figures: &mut dyn Iterator<Item = (&TargetFigures, Without<'_>)>| {
        for (position, (TargetFigures { target, all, kinds: _ }, without)) in figures.enumerate() {
            let is_named = position == 0 && !is_single;
            rows.push(vec![
                if is_named { visible(name) } else { String::new() },
                visible(target) + &lacks(without),
                Iops(all.iops).to_string(),
                BytesPerSec(all.bytes_per_s).to_string(),
                all.response_mean_ns.map_or("n/a".to_owned(), time),
                all.response_max_ns.map_or("n/a".to_owned(), |ns| Nanos(ns).approximate()),
                count_or_nothing(all.errors),
            ]);
        }
    };
    for stream in shown {
        part(&stream.name, &mut stream.targets.iter().map(|figures| (figures, (&[][..], 0))));
    }
    if step.targets.iter().any(|target| target.streams.len() > 1) {
        let together = step.targets.iter();
        let mut together =
            together.map(|target| (&target.figures, (target.without.as_slice(), target.without_count)));
        part(all_of(step), &mut together);
    }
    let cut = rows.len() > TARGET_ROWS_SHOWN;
    rows.truncate(TARGET_ROWS_SHOWN);
    for StreamSummary { name, target_count, .. } in shown {
        if *target_count > TARGETS_COUNTED_MAX as u64 {
            let name = if is_single { String::new() } else { visible(name) };
            let told =
                format!("{target_count} targets: more than {TARGETS_COUNTED_MAX} are not counted apart");
            let mut row = vec![name, told];
            row.resize(columns.len(), String::new());
            rows.push(row);
        }
    }
    Table { columns: columns.to_vec(), rows, remark: cut.then_some(MORE_TARGETS) }
}

/// Names of the first streams that are not in the figures of a target, and how many they are.
type Without<'a> = (&'a [String], u64);

/// Of whom the figures of a target know nothing: a part is not to be taken for all.
fn lacks((first, count): Without<'_>) -> String {
    match (first, count) {
        ([], _) => String::new(),
        ([one, ..], 0 | 1) => format!(" (without {})", visible(one)),
        ([first, ..], count) => format!(" (without {} and {} more)", visible(first), count - 1),
    }
}

/// Depth asked and held, load of the workers, arrivals of open loops.
pub(crate) fn queues(streams: &[StreamSummary]) -> Table {
    let columns = [
        left("stream"),
        right("depth"),
        right("held"),
        spare("Little", 1),
        right("worker CPU"),
        right("asked/s"),
        spare("late", 2),
        right("backlog"),
        right("oldest waits"),
        spare("dropped", 3),
    ];
    let is_single = streams.len() == 1;
    let rows: Vec<Vec<String>> = streams
        .iter()
        .map(|stream| {
            let is_open = stream.rate_per_s.is_some();
            let late =
                if stream.arrivals == 0 { 0.0 } else { stream.arrivals_late as f64 / stream.arrivals as f64 };
            vec![
                if is_single { String::new() } else { visible(&stream.name) },
                stream.queue_depth.to_string(),
                significant(stream.queue_depth_held),
                stream.little_ratio.map_or("n/a".to_owned(), |ratio| format!("{ratio:.3}")),
                format!("{:.0} %", stream.worker_cpu_share * 100.0),
                stream.rate_per_s.map_or(String::new(), |rate| Iops(rate).to_string()),
                if is_open { format!("{:.1} %", late * 100.0) } else { String::new() },
                if is_open { stream.backlog_max.to_string() } else { String::new() },
                stream.oldest_waiting_s.map_or(String::new(), seconds),
                if stream.arrivals_dropped > 0 { stream.arrivals_dropped.to_string() } else { String::new() },
            ]
        })
        .collect();
    let is_unknown =
        streams.iter().any(|stream| stream.little_ratio.is_none() && stream.queue_depth_held > 0.0);
    let remark = is_unknown
        .then_some("n/a: most of what was in flight had begun before the measuring, or nothing was done");
    Table { columns: columns.to_vec(), rows, remark }
}

/// Failed operations by part, kind and error.
pub(crate) fn errors(parts: &[(String, &Totals)]) -> Table {
    let columns = [left("stream"), left("kind"), left("error"), right("failed")];
    let mut rows = Vec::new();
    for (name, totals) in parts {
        // The rows of the streams add up to those of all of them.
        let is_sum = parts.len() > 1 && std::ptr::eq(*totals, parts[parts.len() - 1].1);
        for kind in totals.kinds.iter().filter(|_| !is_sum) {
            for error in &kind.errors_by_number {
                rows.push(vec![name.clone(), kind.kind.clone(), error.name.clone(), error.count.to_string()]);
            }
        }
    }
    Table { columns: columns.to_vec(), rows, remark: None }
}

/// What is marked on a step's time line.
pub(crate) fn timeline(marks: &[TimeMark]) -> Table {
    let row = |mark: &TimeMark| vec![seconds(mark.at_s), visible(&mark.label)];
    Table { columns: vec![right("after"), left("what")], rows: marks.iter().map(row).collect(), remark: None }
}

/// What the kernel counted.
pub(crate) fn devices(devices: &[DeviceSummary]) -> Table {
    let columns = [
        left("device"),
        right("reads"),
        right("read"),
        right("writes"),
        right("written"),
        spare("merges", 1),
        right("discards"),
        right("flushes"),
        right("busy"),
        right("in flight"),
    ];
    let rows: Vec<Vec<String>> = devices
        .iter()
        .map(|device| {
            vec![
                visible(&device.name),
                device.reads.to_string(),
                Bytes(device.read_bytes).approximate(),
                device.writes.to_string(),
                Bytes(device.write_bytes).approximate(),
                count_or_nothing(device.read_merges + device.write_merges),
                count_or_nothing(device.discards),
                count_or_nothing(device.flushes),
                format!("{:.0} %", device.busy_share * 100.0),
                significant(device.queue_depth),
            ]
        })
        .collect();
    Table { columns: columns.to_vec(), rows, remark: Some(KERNEL) }
}

/// The kinds of a part, and their sum when there are several of those that count.
fn kind_rows(totals: &Totals) -> Vec<&KindSummary> {
    let mut rows: Vec<&KindSummary> = totals.kinds.iter().collect();
    let counted = rows.iter().filter(|kind| kind.kind != "sync").count();
    if counted > 1 {
        rows.push(&totals.all);
    }
    rows
}

/// A latency as people read it.
pub(crate) fn time(ns: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a latency: positive, below 2^63"
    )]
    let whole = ns.round() as u64;
    Nanos(whole).approximate()
}

pub(crate) fn seconds(seconds: f64) -> String {
    time(seconds * 1e9)
}

fn mean(latency: &LatencySummary) -> String {
    if latency.count == 0 { "n/a".to_owned() } else { time(latency.mean_ns) }
}

pub(crate) fn extreme(latency: &LatencySummary, ns: u64) -> String {
    if latency.count == 0 { "n/a".to_owned() } else { Nanos(ns).approximate() }
}

pub(crate) fn percentile(latency: &LatencySummary, percent: f64) -> String {
    latency.percentile(percent).map_or_else(|| "n/a".to_owned(), |ns| Nanos(ns).approximate())
}

/// A count that is only worth a column when it is not zero.
fn count_or_nothing(count: u64) -> String {
    if count == 0 { String::new() } else { count.to_string() }
}
