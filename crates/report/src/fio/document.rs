//! The JSON document: root, jobs, latencies, distributions, disks. Key order and formats as fio 3.33 prints them.

use super::beside::beside;
use super::disks::disks;
use super::figures::{
    CLASS_LABELS, DEPTH_LABELS, Direction, EntryFigures, Figures, PriorityFigures, SIZE_LABELS, counts,
    percentiles, whole,
};
use super::node::Node::{self, Array, Float, Integer, Object, Text};
use super::settling;
use super::sums::end_ms;
use super::{FioEntry, FioIdleness, FioShape, FioUnified};
use crate::calendar;
use fathom_metrics::fio_bucket_value;
use fathom_schema::{LatencyTally, Record};

/// The record as fio's JSON document. Rates are over the longest measure phase of an entry's workers, in whole
/// milliseconds; `bw_*` and `iops_*` are statistics of our intervals, those of one worker of several being its even share
/// of the stream's. Where no completion latency of its own was recorded, `clat_ns` repeats the service time.
pub fn fio_json(record: &Record, shape: &FioShape) -> String {
    let FioShape { globals, version, .. } = shape;
    let end_ms = end_ms(record);
    let mut root = vec![
        ("fio version".to_owned(), Text(version.clone())),
        ("timestamp".to_owned(), Integer(end_ms / 1000)),
        ("timestamp_ms".to_owned(), Integer(end_ms)),
        ("time".to_owned(), Text(calendar::ctime(end_ms))),
    ];
    if shape.has_globals {
        root.push(("global options".to_owned(), Node::texts(globals)));
    }
    let Figures { entries, groups: _ } = Figures::of(record, shape);
    let elapsed_ms = end_ms.saturating_sub(record.started.wall_ms);
    // Seconds that have begun.
    let elapsed_s = elapsed_ms.div_ceil(1000);
    root.push((
        "jobs".to_owned(),
        Array(entries.iter().map(|entry| job(shape, entry, end_ms, elapsed_s)).collect()),
    ));
    if shape.disk_util {
        let disks = disk_nodes(record, shape);
        if !disks.is_empty() {
            root.push(("disk_util".to_owned(), Array(disks)));
        }
    }
    if let Some(idleness) = &shape.idleness {
        root.push(("cpu_idleness".to_owned(), idle(idleness)));
    }
    root.push(("fathom".to_owned(), beside(record, &entries)));
    Object(root).print()
}

fn job(shape: &FioShape, figures: &EntryFigures<'_>, end_ms: u64, elapsed_s: u64) -> Node {
    let EntryFigures { entry, sums, directions, mixed, classes, settling } = figures;
    let mut job = vec![
        ("jobname", Text(entry.jobname.clone())),
        ("groupid", Integer(u64::from(entry.groupid))),
        // Not in 3.33 but in 3.36: wrappers made for either find what they look for.
        ("job_start", Integer(sums.start_ms.unwrap_or(end_ms))),
        ("error", Integer(u64::from(sums.error.unsigned_abs()))),
        ("eta", Integer(shape.eta_s)),
        ("elapsed", Integer(elapsed_s)),
    ];
    if entry.has_options {
        job.push(("job options", Node::texts(&entry.options)));
    }
    if entry.unified == FioUnified::Mixed {
        job.push(("mixed", direction(shape, entry, &directions[0])));
    } else {
        for (name, of) in ["read", "write", "trim"].into_iter().zip(directions) {
            job.push((name, direction(shape, entry, of)));
        }
        job.push(("sync", sync(shape, figures)));
    }
    if let Some(mixed) = mixed {
        job.push(("mixed", direction(shape, entry, mixed)));
    }
    let (target_ns, percent, window_us) = figures.depth_search();
    let [user, system] = figures.cpu();
    job.extend([
        ("job_runtime", Integer(sums.runtime_sum.0 / 1_000_000)),
        ("usr_cpu", Float(user)),
        ("sys_cpu", Float(system)),
        ("ctx", Integer(sums.context_switches)),
        ("majf", Integer(sums.major_faults)),
        ("minf", Integer(sums.minor_faults)),
        ("iodepth_level", shares(&DEPTH_LABELS, &figures.depths())),
        ("iodepth_submit", shares(&SIZE_LABELS, &figures.submissions())),
        ("iodepth_complete", shares(&SIZE_LABELS, &figures.completions())),
        ("latency_ns", shares(&CLASS_LABELS, &classes.ns)),
        ("latency_us", shares(&CLASS_LABELS, &classes.us)),
        ("latency_ms", shares(&CLASS_LABELS, &classes.ms)),
    ]);
    if entry.continues_on_error {
        job.push(("total_err", Integer(sums.errors)));
        job.push(("first_error", Integer(figures.first_error())));
    }
    // fio has none of a job that only laid out its files, or never began.
    if !sums.is_idle {
        job.extend([
            ("latency_depth", Integer(u64::from(sums.queue_depth))),
            ("latency_target", Integer(target_ns)),
            ("latency_percentile", Float(percent)),
            ("latency_window", Integer(window_us)),
        ]);
    }
    if !entry.desc.is_empty() {
        job.push(("desc", Text(entry.desc.clone())));
    }
    if let Some(settling) = settling {
        job.push(("steadystate", settling::node(settling)));
    }
    Object(job.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn idle(FioIdleness { system, cpus, unit_mean_us, unit_stddev_us }: &FioIdleness) -> Node {
    let mut object = vec![("system".to_owned(), Float(*system))];
    object.extend(cpus.iter().enumerate().map(|(cpu, idle)| (format!("cpu-{cpu}"), Float(*idle))));
    object.push(("unit_mean".to_owned(), Float(*unit_mean_us)));
    object.push(("unit_stddev".to_owned(), Float(*unit_stddev_us)));
    Object(object)
}

/// `read`, `write`, `trim` or `mixed` of a job.
fn direction(shape: &FioShape, entry: &FioEntry, direction: &Direction) -> Node {
    let Direction {
        bytes,
        bytes_per_s,
        iops,
        runtime_ms,
        issued,
        short,
        submission,
        completion,
        service,
        priorities,
        bandwidth,
        rate,
        share_of_group,
    } = direction;
    let mut object = vec![
        ("io_bytes", Integer(*bytes)),
        ("io_kbytes", Integer(bytes >> 10)),
        ("bw_bytes", Integer(*bytes_per_s)),
        ("bw", Integer(bytes_per_s / 1024)),
        ("iops", Float(*iops)),
        ("runtime", Integer(*runtime_ms)),
        ("total_ios", Integer(*issued)),
        ("short_ios", Integer(*short)),
        ("drop_ios", Integer(0)),
        ("slat_ns", latency(shape, entry, submission, entry.slat_percentiles)),
        ("clat_ns", latency(shape, entry, completion, entry.clat_percentiles)),
        ("lat_ns", latency(shape, entry, service, entry.lat_percentiles)),
    ];
    if !priorities.is_empty() {
        let of = |of: &PriorityFigures| priority(shape, entry, of);
        object.push(("prios", Array(priorities.iter().map(of).collect())));
    }
    object.extend([
        ("bw_min", Integer(whole(bandwidth.min))),
        ("bw_max", Integer(whole(bandwidth.max))),
        ("bw_agg", Float(*share_of_group)),
        ("bw_mean", Float(bandwidth.mean)),
        ("bw_dev", Float(bandwidth.stddev)),
        ("bw_samples", Integer(bandwidth.count)),
        ("iops_min", Integer(whole(rate.min))),
        ("iops_max", Integer(whole(rate.max))),
        ("iops_mean", Float(rate.mean)),
        ("iops_stddev", Float(rate.stddev)),
        ("iops_samples", Integer(rate.count)),
    ]);
    Object(object.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// The operations of one priority.
fn priority(shape: &FioShape, entry: &FioEntry, figures: &PriorityFigures) -> Node {
    let PriorityFigures { class, level, latency: tally } = figures;
    let name = if entry.lat_percentiles { "lat_ns" } else { "clat_ns" };
    let has_percentiles = entry.clat_percentiles || entry.lat_percentiles;
    Node::object([
        ("prioclass", Integer(u64::from(*class))),
        ("prio", Integer(u64::from(*level))),
        (name, latency(shape, entry, tally, has_percentiles)),
    ])
}

fn sync(shape: &FioShape, figures: &EntryFigures<'_>) -> Node {
    let entry = figures.entry;
    let has_percentiles = entry.clat_percentiles || entry.lat_percentiles;
    Node::object([
        ("total_ios", Integer(figures.syncs())),
        ("lat_ns", latency(shape, entry, &figures.sync_latency(), has_percentiles)),
    ])
}

/// A latency with its percentiles, when they are asked for and there is a value.
fn latency(shape: &FioShape, entry: &FioEntry, tally: &LatencyTally, has_percentiles: bool) -> Node {
    let moments = &tally.moments;
    let mut object: Vec<(String, Node)> = [
        ("min", Integer(moments.min_ns)),
        ("max", Integer(moments.max_ns)),
        ("mean", Float(moments.mean_ns())),
        ("stddev", Float(moments.stddev_ns())),
        ("N", Integer(moments.count)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    if has_percentiles && !tally.histogram.is_empty() {
        let values = percentiles(entry, tally);
        let values = values.into_iter().map(|(percent, ns)| (format!("{percent:.6}"), Integer(ns)));
        object.push(("percentile".to_owned(), Object(values.collect())));
        if shape.json_plus {
            let counts = counts(tally);
            let bins = counts.iter().enumerate().filter(|&(_, &count)| count > 0);
            let bins = bins.map(|(index, &count)| (fio_bucket_value(index).to_string(), Integer(count)));
            object.push(("bins".to_owned(), Object(bins.collect())));
        }
    }
    Object(object)
}

/// Percentages under these labels.
fn shares(labels: &[&str], shares: &[f64]) -> Node {
    let pairs = labels.iter().zip(shares);
    Object(pairs.map(|(label, &share)| ((*label).to_owned(), Float(share))).collect())
}

fn disk_nodes(record: &Record, shape: &FioShape) -> Vec<Node> {
    disks(record, &shape.running)
        .into_iter()
        .map(|disk| {
            Node::object([
                ("name", Text(disk.name)),
                ("read_ios", Integer(disk.reads)),
                ("write_ios", Integer(disk.writes)),
                ("read_merges", Integer(disk.read_merges)),
                ("write_merges", Integer(disk.write_merges)),
                ("read_ticks", Integer(disk.read_ms)),
                ("write_ticks", Integer(disk.write_ms)),
                ("in_queue", Integer(disk.queue_ms)),
                ("util", Float(disk.utilisation)),
            ])
        })
        .collect()
}
