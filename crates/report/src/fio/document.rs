//! The document itself: root, jobs, latencies, distributions, disks. Key order and formats as fio 3.33 prints them.

use super::node::Node::{self, Array, Float, Integer, Object, Text};
use super::sums::{Sample, Sums, gather};
use super::{FioEntry, FioShape};
use crate::calendar;
use fathom_metrics::{Histogram, bucket_bounds, fio_bucket_value, fio_counts, fio_quantile};
use fathom_schema::{KindTally, LatencyTally, Moments, OperationKind, Record};
use std::collections::BTreeMap;

/// Upper bounds of fio's latency classes, each below a power of ten of the unit.
const CLASSES: [(u64, &str); 10] = [
    (2, "2"),
    (4, "4"),
    (10, "10"),
    (20, "20"),
    (50, "50"),
    (100, "100"),
    (250, "250"),
    (500, "500"),
    (750, "750"),
    (1000, "1000"),
];
const DEPTH_LABELS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
const SIZE_LABELS: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];
/// fio raises a share that is not zero to what its two decimals (one for depths) can show.
const LATENCY_SHARE_MIN: f64 = 0.01;
const DEPTH_SHARE_MIN: f64 = 0.1;

/// The record as fio's JSON document. Rates are over the longest measure phase of an entry's workers, in whole
/// milliseconds; `bw_*` and `iops_*` are statistics of our intervals, those of one worker of several being its even share
/// of the stream's. Where no completion latency of its own was recorded, `clat_ns` repeats the service time.
pub fn fio_json(record: &Record, shape: &FioShape) -> String {
    let FioShape { entries, globals, version, .. } = shape;
    let end_ms = end_ms(record);
    let mut root = vec![
        ("fio version".to_owned(), Text(version.clone())),
        ("timestamp".to_owned(), Integer(end_ms / 1000)),
        ("timestamp_ms".to_owned(), Integer(end_ms)),
        ("time".to_owned(), Text(calendar::ctime(end_ms))),
    ];
    if !globals.is_empty() {
        root.push(("global options".to_owned(), Node::texts(globals)));
    }
    let sums: Vec<Sums> = entries.iter().map(|entry| gather(record, entry)).collect();
    let mut group_bw: BTreeMap<(u32, usize), f64> = BTreeMap::new();
    for (entry, sums) in entries.iter().zip(&sums) {
        for kind in OperationKind::ALL {
            *group_bw.entry((entry.groupid, kind.index())).or_default() +=
                (bytes_per_s(sums, kind) / 1024) as f64;
        }
    }
    let elapsed_s = end_ms.saturating_sub(record.started.wall_ms).div_ceil(1000);
    let jobs = entries.iter().zip(&sums).map(|(entry, sums)| {
        let group = |kind: OperationKind| group_bw[&(entry.groupid, kind.index())];
        job(shape, entry, sums, elapsed_s, &group)
    });
    root.push(("jobs".to_owned(), Array(jobs.collect())));
    let disks = disks(record);
    if !disks.is_empty() {
        root.push(("disk_util".to_owned(), Array(disks)));
    }
    Object(root).print()
}

fn job(
    shape: &FioShape,
    entry: &FioEntry,
    sums: &Sums,
    elapsed_s: u64,
    group: &dyn Fn(OperationKind) -> f64,
) -> Node {
    let mut job = vec![
        ("jobname", Text(entry.jobname.clone())),
        ("groupid", Integer(u64::from(entry.groupid))),
        ("error", Integer(u64::from(sums.error.unsigned_abs()))),
        ("eta", Integer(0)),
        ("elapsed", Integer(elapsed_s)),
    ];
    if !entry.options.is_empty() {
        job.push(("job options", Node::texts(&entry.options)));
    }
    for kind in [OperationKind::Read, OperationKind::Write, OperationKind::Trim] {
        job.push((kind.name(), direction(shape, entry, sums, kind, group(kind))));
    }
    job.push(("sync", sync(shape, entry, sums)));
    let runtime_ms = sums.runtime_sum.0 / 1_000_000;
    let cpu =
        |ns: u64| Float(if runtime_ms == 0 { 0.0 } else { ns as f64 / sums.runtime_sum.0 as f64 * 100.0 });
    let moved = sums.moved();
    let service = moved.as_ref().map(|moved| &moved.service);
    job.extend([
        ("job_runtime", Integer(runtime_ms)),
        ("usr_cpu", cpu(sums.user_ns)),
        ("sys_cpu", cpu(sums.system_ns)),
        ("ctx", Integer(sums.context_switches)),
        ("majf", Integer(sums.major_faults)),
        ("minf", Integer(sums.minor_faults)),
        ("iodepth_level", shares(&DEPTH_LABELS, &sums.tally.depth_levels, DEPTH_SHARE_MIN)),
        ("iodepth_submit", shares(&SIZE_LABELS, &sums.tally.submit_sizes, DEPTH_SHARE_MIN)),
        ("iodepth_complete", shares(&SIZE_LABELS, &sums.tally.complete_sizes, DEPTH_SHARE_MIN)),
    ]);
    let [ns, us, ms] = classes(service);
    job.extend([("latency_ns", ns), ("latency_us", us), ("latency_ms", ms)]);
    if entry.continues_on_error {
        let first = if sums.errors() == 0 { 0 } else { u64::from(sums.error.unsigned_abs()) };
        job.extend([("total_err", Integer(sums.errors())), ("first_error", Integer(first))]);
    }
    job.extend([
        ("latency_depth", Integer(u64::from(sums.queue_depth))),
        ("latency_target", Integer(0)),
        ("latency_percentile", Float(100.0)),
        ("latency_window", Integer(0)),
    ]);
    if !entry.desc.is_empty() {
        job.push(("desc", Text(entry.desc.clone())));
    }
    Object(job.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// `read`, `write` or `trim` of a job.
fn direction(
    shape: &FioShape,
    entry: &FioEntry,
    sums: &Sums,
    kind: OperationKind,
    group_kib_per_s: f64,
) -> Node {
    let nothing = LatencyTally::default();
    let tally = sums.kind(kind);
    let figure = |of: fn(&KindTally) -> u64| tally.map_or(0, of);
    let runtime_ms = runtime_ms(sums, kind);
    let per_s = bytes_per_s(sums, kind);
    let operations = figure(|tally| tally.operations);
    let iops = if runtime_ms == 0 { 0.0 } else { operations as f64 * 1000.0 / runtime_ms as f64 };
    let service = tally.map_or(&nothing, |tally| &tally.service);
    let completion = tally.and_then(|tally| tally.completion.as_ref()).unwrap_or(service);
    let submission = tally.map_or_else(Moments::default, |tally| tally.submission);
    // fio takes no sample of a direction in an interval without an operation.
    let busy: Vec<&Sample> =
        sums.samples.iter().map(|sample| &sample[kind.index()]).filter(|sample| sample.iops > 0.0).collect();
    let bw = Series::of(busy.iter().map(|sample| sample.bytes_per_s / 1024.0));
    let rate = Series::of(busy.iter().map(|sample| sample.iops));
    let agg = if group_kib_per_s > 0.0 { (bw.mean * 100.0 / group_kib_per_s).min(100.0) } else { 0.0 };
    Node::object([
        ("io_bytes", Integer(figure(|tally| tally.bytes))),
        ("io_kbytes", Integer(figure(|tally| tally.bytes) >> 10)),
        ("bw_bytes", Integer(per_s)),
        ("bw", Integer(per_s / 1024)),
        ("iops", Float(iops)),
        ("runtime", Integer(runtime_ms)),
        ("total_ios", Integer(operations)),
        ("short_ios", Integer(figure(|tally| tally.short))),
        ("drop_ios", Integer(0)),
        ("slat_ns", Object(moments(&submission))),
        ("clat_ns", latency(shape, entry, completion, entry.clat_percentiles)),
        ("lat_ns", latency(shape, entry, service, entry.lat_percentiles)),
        ("bw_min", Integer(whole(bw.min))),
        ("bw_max", Integer(whole(bw.max))),
        ("bw_agg", Float(agg)),
        ("bw_mean", Float(bw.mean)),
        ("bw_dev", Float(bw.stddev)),
        ("bw_samples", Integer(bw.count)),
        ("iops_min", Integer(whole(rate.min))),
        ("iops_max", Integer(whole(rate.max))),
        ("iops_mean", Float(rate.mean)),
        ("iops_stddev", Float(rate.stddev)),
        ("iops_samples", Integer(rate.count)),
    ])
}

fn sync(shape: &FioShape, entry: &FioEntry, sums: &Sums) -> Node {
    let nothing = LatencyTally::default();
    let tally = sums.kind(OperationKind::Sync);
    let service = tally.map_or(&nothing, |tally| &tally.service);
    let has_percentiles = entry.clat_percentiles || entry.lat_percentiles;
    Node::object([
        ("total_ios", Integer(tally.map_or(0, |tally| tally.operations))),
        ("lat_ns", latency(shape, entry, service, has_percentiles)),
    ])
}

/// Whole milliseconds, at least 1 where anything was done, as fio's rates need.
fn runtime_ms(sums: &Sums, kind: OperationKind) -> u64 {
    let is_idle = sums.kind(kind).is_none_or(|tally| tally.operations == 0);
    if is_idle { 0 } else { (sums.runtime[kind.index()].0 / 1_000_000).max(1) }
}

fn bytes_per_s(sums: &Sums, kind: OperationKind) -> u64 {
    match (runtime_ms(sums, kind), sums.kind(kind)) {
        (0, _) | (_, None) => 0,
        (ms, Some(tally)) => {
            u64::try_from(u128::from(tally.bytes) * 1000 / u128::from(ms)).unwrap_or(u64::MAX)
        }
    }
}

fn moments(moments: &Moments) -> Vec<(String, Node)> {
    [
        ("min", Integer(moments.min_ns)),
        ("max", Integer(moments.max_ns)),
        ("mean", Float(moments.mean_ns())),
        ("stddev", Float(moments.stddev_ns())),
        ("N", Integer(moments.count)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// A latency with its percentiles, when they are asked for and there is a value.
fn latency(shape: &FioShape, entry: &FioEntry, tally: &LatencyTally, has_percentiles: bool) -> Node {
    let mut object = moments(&tally.moments);
    if has_percentiles && tally.moments.count > 0 {
        let counts = fio_counts(&dense(tally));
        let percentiles = entry.percentiles.iter();
        let values = percentiles.map(|&p| (format!("{p:.6}"), Integer(fio_quantile(&counts, p))));
        object.push(("percentile".to_owned(), Object(values.collect())));
        if shape.json_plus {
            let bins = counts.iter().enumerate().filter(|&(_, &count)| count > 0);
            let bins = bins.map(|(index, &count)| (fio_bucket_value(index).to_string(), Integer(count)));
            object.push(("bins".to_owned(), Object(bins.collect())));
        }
    }
    Object(object)
}

fn dense(tally: &LatencyTally) -> Histogram {
    let mut histogram = Histogram::default();
    histogram.merge_sparse(&tally.histogram);
    histogram
}

/// Shares of a sum in percent, under these labels.
fn shares(labels: &[&str; 7], counts: &[u64; 7], smallest: f64) -> Node {
    let total: u64 = counts.iter().sum();
    let values = labels.iter().zip(counts);
    Object(values.map(|(label, &count)| ((*label).to_owned(), share(count, total, smallest))).collect())
}

fn share(count: u64, total: u64, smallest: f64) -> Node {
    Float(if count == 0 { 0.0 } else { (count as f64 * 100.0 / total as f64).max(smallest) })
}

/// `latency_ns`, `latency_us`, `latency_ms`: percent of the operations below each bound and not below the one before.
fn classes(service: Option<&LatencyTally>) -> [Node; 3] {
    let (mut ns, mut us, mut ms) = ([0; 10], [0; 10], [0; 12]);
    let mut total = 0;
    for &(index, count) in service.map_or(&[][..], |tally| &tally.histogram.buckets) {
        let low = bucket_bounds(index as usize).0;
        total += count;
        match low {
            0..1_000 => ns[class(low)] += count,
            1_000..1_000_000 => us[class(low / 1_000)] += count,
            1_000_000..1_000_000_000 => ms[class(low / 1_000_000)] += count,
            1_000_000_000..2_000_000_000 => ms[10] += count,
            _ => ms[11] += count,
        }
    }
    let node = |counts: &[u64], more: &[&str]| {
        let labels = CLASSES.iter().map(|(_, label)| label).chain(more);
        let values = labels
            .zip(counts)
            .map(|(label, &count)| ((*label).to_owned(), share(count, total, LATENCY_SHARE_MIN)));
        Object(values.collect())
    };
    [node(&ns, &[]), node(&us, &[]), node(&ms, &["2000", ">=2000"])]
}

/// The class of a value below 1000 of its unit.
fn class(value: u64) -> usize {
    CLASSES.iter().position(|&(bound, _)| value < bound).unwrap_or(CLASSES.len() - 1)
}

/// Statistics of a series of rates.
#[derive(Default)]
struct Series {
    count: u64,
    min: f64,
    max: f64,
    mean: f64,
    stddev: f64,
}

impl Series {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let count = values.clone().count() as u64;
        if count == 0 {
            return Self::default();
        }
        let n = count as f64;
        let mean = values.clone().sum::<f64>() / n;
        let squares: f64 = values.clone().map(|value| (value - mean).powi(2)).sum();
        Self {
            count,
            min: values.clone().fold(f64::INFINITY, f64::min),
            max: values.fold(0.0, f64::max),
            mean,
            stddev: if count > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 },
        }
    }
}

fn whole(value: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate: positive, below 2^63"
    )]
    let whole = value as u64;
    whole
}

/// Counters of each device, summed over the steps.
fn disks(record: &Record) -> Vec<Node> {
    let mut disks: BTreeMap<&str, [u64; 8]> = BTreeMap::new();
    let mut elapsed_ms = 0;
    for step in &record.steps {
        let Some(finished) = &step.finished else { continue };
        elapsed_ms += finished.elapsed.0 / 1_000_000;
        for after in &finished.devices {
            let Some(before) = step.started.devices.iter().find(|before| before.number == after.number)
            else {
                continue;
            };
            let deltas = [
                (after.reads, before.reads),
                (after.writes, before.writes),
                (after.read_merges, before.read_merges),
                (after.write_merges, before.write_merges),
                (after.read_ms, before.read_ms),
                (after.write_ms, before.write_ms),
                (after.queue_ms, before.queue_ms),
                (after.busy_ms, before.busy_ms),
            ];
            let sums = disks.entry(&after.name).or_default();
            sums.iter_mut().zip(deltas).for_each(|(sum, (now, then))| *sum += now.saturating_sub(then));
        }
    }
    disks
        .into_iter()
        .map(|(name, [reads, writes, read_merges, write_merges, read_ms, write_ms, queue_ms, busy_ms])| {
            let busy = if elapsed_ms == 0 { 0.0 } else { busy_ms as f64 * 100.0 / elapsed_ms as f64 };
            Node::object([
                ("name", Text(name.to_owned())),
                ("read_ios", Integer(reads)),
                ("write_ios", Integer(writes)),
                ("read_merges", Integer(read_merges)),
                ("write_merges", Integer(write_merges)),
                ("read_ticks", Integer(read_ms)),
                ("write_ticks", Integer(write_ms)),
                ("in_queue", Integer(queue_ms)),
                ("util", Float(busy.min(100.0))),
            ])
        })
        .collect()
}

/// Wall clock at the end, or as far as the record goes.
fn end_ms(record: &Record) -> u64 {
    let last_step = record.steps.last().map(|step| {
        let end = step.intervals.iter().map(|interval| interval.end).max().unwrap_or_default();
        step.started.wall_ms + end.0 / 1_000_000
    });
    let finished = record.finished.as_ref().map(|finished| finished.wall_ms);
    finished.or(last_step).unwrap_or(record.started.wall_ms)
}
