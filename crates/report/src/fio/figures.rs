//! The figures that all of fio's reports print, computed once: per entry and direction, and per reporting group. Does not
//! know how any of them is written.

use super::numbers::FioUnits;
use super::settling;
use super::sums::{Sums, gather};
use super::{FioEntry, FioMeasures, FioPriority, FioShape, FioUnified};
use fathom_metrics::{
    Histogram, Settling, bucket_bounds, fio_counts, fio_quantile, merge_kind, merge_latency, merge_sparse,
};
use fathom_schema::{KindTally, LatencyTally, Moments, OperationKind, Record};
use fathom_units::Nanos;
use std::collections::BTreeMap;

/// The kinds of operation that have a direction of their own, in fio's order.
pub(super) const DIRECTIONS: [OperationKind; 3] =
    [OperationKind::Read, OperationKind::Write, OperationKind::Trim];

/// fio raises a share that is not zero to what its two decimals (one for depths) can show.
const LATENCY_SHARE_MIN: f64 = 0.01;
const DEPTH_SHARE_MIN: f64 = 0.1;

/// Everything that the reports print of a record.
pub(super) struct Figures<'a> {
    pub(super) entries: Vec<EntryFigures<'a>>,
    pub(super) groups: Vec<GroupFigures>,
}

/// One entry: a job or a group of jobs.
pub(super) struct EntryFigures<'a> {
    pub(super) entry: &'a FioEntry,
    pub(super) sums: Sums,
    /// Read, write, trim; with `unified_rw_reporting=mixed` all of them in the first and nothing in the others.
    pub(super) directions: [Direction; 3],
    /// All of them together, with `unified_rw_reporting=both`.
    pub(super) mixed: Option<Direction>,
    /// Percent of the operations by latency; all 0 where completion latencies are switched off.
    pub(super) classes: Classes,
    /// The steady state that was to end it.
    pub(super) settling: Option<Settling>,
}

/// What one direction of an entry did.
#[derive(Default)]
pub(super) struct Direction {
    pub(super) bytes: u64,
    pub(super) bytes_per_s: u64,
    pub(super) iops: f64,
    pub(super) runtime_ms: u64,
    /// Operations that were issued: completed and failed ones, as fio counts.
    pub(super) issued: u64,
    pub(super) short: u64,
    pub(super) submission: LatencyTally,
    pub(super) completion: LatencyTally,
    pub(super) service: LatencyTally,
    /// Latencies by I/O priority, where there are at least two of them.
    pub(super) priorities: Vec<PriorityFigures>,
    /// KiB/s of the intervals.
    pub(super) bandwidth: Series,
    pub(super) rate: Series,
    /// Mean of `bandwidth` in percent of the group's.
    pub(super) share_of_group: f64,
}

/// The operations of one I/O priority.
pub(super) struct PriorityFigures {
    /// 1 real-time, 2 best-effort, 3 idle; 0 where none was asked for.
    pub(super) class: u16,
    /// 0 to 7.
    pub(super) level: u16,
    pub(super) latency: LatencyTally,
}

/// One reporting group.
pub(super) struct GroupFigures {
    pub(super) units: FioUnits,
    pub(super) unified: FioUnified,
    pub(super) directions: [GroupDirection; 3],
}

/// What one direction of a group did.
#[derive(Clone, Copy, Default)]
pub(super) struct GroupDirection {
    pub(super) bytes: u64,
    /// Of the whole group: its bytes over its longest runtime.
    pub(super) bytes_per_s: u64,
    /// Of the slowest and the fastest entry.
    pub(super) bytes_per_s_min: u64,
    pub(super) bytes_per_s_max: u64,
    pub(super) runtime_ms_min: u64,
    pub(super) runtime_ms_max: u64,
}

/// Percent of the operations below each bound and not below the one before.
#[derive(Default)]
pub(super) struct Classes {
    pub(super) ns: [f64; 10],
    pub(super) us: [f64; 10],
    pub(super) ms: [f64; 12],
    /// Percent below a microsecond, not raised.
    pub(super) below_us: f64,
}

/// Upper bounds of the classes of latency, each below a power of ten of the unit.
const BOUNDS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];
/// Their labels; milliseconds have two more.
pub(super) const CLASS_LABELS: [&str; 12] =
    ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000", "2000", ">=2000"];

/// Labels of the classes of queue depths.
pub(super) const DEPTH_LABELS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
/// Labels of the classes of batches.
pub(super) const SIZE_LABELS: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];

impl<'a> Figures<'a> {
    pub(super) fn of(record: &Record, shape: &'a FioShape) -> Self {
        let mut entries: Vec<EntryFigures<'a>> =
            shape.entries.iter().map(|entry| EntryFigures::of(record, entry)).collect();
        let groups = shape.entries.iter().map(|entry| entry.groupid + 1).max().unwrap_or(0);
        let groups: Vec<GroupFigures> = (0..groups).map(|id| GroupFigures::of(&entries, id)).collect();
        for figures in &mut entries {
            let group = &groups[figures.entry.groupid as usize];
            for (direction, group) in figures.directions.iter_mut().zip(&group.directions) {
                direction.set_share(group.bytes_per_s);
            }
            if let Some(mixed) = &mut figures.mixed {
                mixed.set_share(group.directions.iter().map(|direction| direction.bytes_per_s).sum());
            }
        }
        Self { entries, groups }
    }
}

impl<'a> EntryFigures<'a> {
    fn of(record: &Record, entry: &'a FioEntry) -> Self {
        let sums = gather(record, entry);
        let of = |kinds: &[OperationKind]| Direction::of(entry, &sums, kinds);
        let (directions, mixed) = match entry.unified {
            FioUnified::Separate => (DIRECTIONS.map(|kind| of(&[kind])), None),
            FioUnified::Both => (DIRECTIONS.map(|kind| of(&[kind])), Some(of(&DIRECTIONS))),
            FioUnified::Mixed => ([of(&DIRECTIONS), Direction::default(), Direction::default()], None),
        };
        let moved = sums.moved();
        let classes = match &moved {
            Some(moved) if entry.measures.completion && entry.names.is_none() => {
                Classes::of(moved.completion.as_ref().unwrap_or(&moved.service))
            }
            _ => Classes::default(),
        };
        Self { entry, sums, directions, mixed, classes, settling: settling::settling(record, entry) }
    }

    /// Whether anything was done or tried.
    pub(super) fn is_empty(&self) -> bool {
        self.directions.iter().all(|direction| direction.issued == 0)
    }

    /// Percent of its time that the entry spent in user and in system mode.
    pub(super) fn cpu(&self) -> [f64; 2] {
        let runtime = self.sums.runtime_sum;
        let share = |ns: u64| if runtime.0 < 1_000_000 { 0.0 } else { ns as f64 / runtime.0 as f64 * 100.0 };
        [share(self.sums.user_ns), share(self.sums.system_ns)]
    }

    /// Syncs as fio counts them, failed ones too, which leaves out `fdatasync` and `sync_file_range`.
    pub(super) fn syncs(&self) -> u64 {
        let sync = self.sync();
        let failed: u64 = sync.errors.iter().map(|(_, count)| count).sum();
        (sync.operations + failed).saturating_sub(sync.data_syncs)
    }

    /// What syncs of all sorts did.
    pub(super) fn sync(&self) -> KindTally {
        self.sums.kind(OperationKind::Sync).cloned().unwrap_or_else(|| nothing(OperationKind::Sync))
    }

    /// How long they took: measured with the completions of the others, as in fio.
    pub(super) fn sync_latency(&self) -> LatencyTally {
        let is_measured = self.entry.measures.completion;
        if is_measured { self.sync().service } else { nothing(OperationKind::Sync).service }
    }

    /// First error, where the job was told to go on after errors.
    pub(super) fn first_error(&self) -> u64 {
        if self.sums.errors == 0 { 0 } else { u64::from(self.sums.error.unsigned_abs()) }
    }

    /// How its queue depth is found: target in nanoseconds, percent of the operations, window in microseconds.
    pub(super) fn depth_search(&self) -> (u64, f64, u64) {
        let (percent, window_us) = self.entry.kept_latency;
        (self.sums.depth_search.map_or(0, |rule| rule.target.0), percent, window_us)
    }

    pub(super) fn depths(&self) -> [f64; 7] {
        shares(self.sums.tally.depth_levels, DEPTH_SHARE_MIN)
    }

    pub(super) fn submissions(&self) -> [f64; 7] {
        shares(self.batches(self.sums.tally.submit_sizes), DEPTH_SHARE_MIN)
    }

    pub(super) fn completions(&self) -> [f64; 7] {
        shares(self.batches(self.sums.tally.complete_sizes), DEPTH_SHARE_MIN)
    }

    /// Without a queue there are no batches; fio then counts each operation as one of 1.
    fn batches(&self, sizes: [u64; 7]) -> [u64; 7] {
        let operations = self.sums.tally.depth_levels.iter().sum();
        if sizes == [0; 7] { [0, operations, 0, 0, 0, 0, 0] } else { sizes }
    }
}

impl Direction {
    fn of(entry: &FioEntry, sums: &Sums, kinds: &[OperationKind]) -> Self {
        let mut tallies = sums.tally.kinds.iter().filter(|tally| kinds.contains(&tally.kind));
        let Some(first) = tallies.next() else { return Self::default() };
        let mut tally = first.clone();
        tallies.for_each(|other| merge_kind(&mut tally, other));
        let failed: u64 = tally.errors.iter().map(|(_, count)| count).sum();
        let issued = tally.operations + failed;
        let runtime = kinds.iter().map(|kind| sums.runtime[kind.index()]).max().unwrap_or(Nanos::ZERO);
        // Whole milliseconds, at least 1 where anything was moved, as fio's rates need.
        let runtime_ms =
            if tally.operations == 0 || entry.is_of_cpu { 0 } else { (runtime.0 / 1_000_000).max(1) };
        let per_s = |n: u64| {
            let per_s = (u128::from(n) * 1000).checked_div(u128::from(runtime_ms)).unwrap_or(0);
            u64::try_from(per_s).unwrap_or(u64::MAX)
        };
        let KindTally { bytes, short, service, submission, completion, .. } = tally;
        let completion = completion.unwrap_or_else(|| service.clone());
        let mut submission = LatencyTally { moments: submission, ..LatencyTally::default() };
        for (_, histogram) in entry.submissions.iter().filter(|(kind, _)| kinds.contains(kind)) {
            merge_sparse(&mut submission.histogram, histogram);
        }
        // A job that ended in its ramp has no single operations to draw percentiles from.
        if entry.slat_percentiles && submission.histogram.is_empty() {
            submission.moments = Moments::default();
        }
        let FioMeasures { service: has_service, completion: has_completion, .. } = entry.measures;
        let has_priorities = if entry.lat_percentiles { has_service } else { has_completion };
        let priorities = if has_priorities { by_priority(entry, kinds) } else { Vec::new() };
        let kept = |is_kept: bool, tally: LatencyTally| if is_kept { tally } else { LatencyTally::default() };
        // fio takes no sample of a direction in an interval without an operation; these it takes even where a job leaves
        // bandwidth out.
        let series = |samples: &[[f64; OperationKind::COUNT]], unit: f64| {
            let sums = samples
                .iter()
                .map(|sample| kinds.iter().map(|kind| sample[kind.index()]).sum::<f64>() / unit);
            let busy: Vec<f64> = sums.filter(|&sum| sum > 0.0).collect();
            Series::of(busy.into_iter())
        };
        let (bandwidth, rate) = (series(&sums.bandwidth, 1024.0), series(&sums.rates, 1.0));
        Self {
            bytes,
            bytes_per_s: per_s(bytes),
            iops: if runtime_ms == 0 { 0.0 } else { issued as f64 * 1000.0 / runtime_ms as f64 },
            runtime_ms,
            issued,
            short,
            submission: kept(entry.measures.submission, submission),
            completion: kept(entry.measures.completion, completion),
            service: kept(entry.measures.service, service),
            priorities,
            bandwidth,
            rate,
            share_of_group: 0.0,
        }
    }

    fn set_share(&mut self, group_bytes_per_s: u64) {
        if self.bandwidth.count > 0 {
            let group_kib = group_bytes_per_s as f64 / 1024.0;
            let share = if group_kib > 1.0 { self.bandwidth.mean * 100.0 / group_kib } else { 100.0 };
            self.share_of_group = share.min(100.0);
        }
    }
}

/// The latencies of these kinds by priority; none where all have the same.
fn by_priority(entry: &FioEntry, kinds: &[OperationKind]) -> Vec<PriorityFigures> {
    let mut by_priority: BTreeMap<u16, LatencyTally> = BTreeMap::new();
    for FioPriority { kind: _, priority, latency } in
        entry.priorities.iter().filter(|of| kinds.contains(&of.kind))
    {
        merge_latency(by_priority.entry(*priority).or_default(), latency);
    }
    if by_priority.len() < 2 {
        return Vec::new();
    }
    let figures = |(priority, latency): (u16, LatencyTally)| PriorityFigures {
        class: priority >> 13,
        level: priority & 7,
        latency,
    };
    by_priority.into_iter().map(figures).collect()
}

impl GroupFigures {
    fn of(entries: &[EntryFigures<'_>], id: u32) -> Self {
        let members: Vec<&EntryFigures<'_>> = entries.iter().filter(|of| of.entry.groupid == id).collect();
        // fio takes the units of the group's last entry.
        let units = members.last().map_or_else(FioUnits::default, |last| last.entry.units);
        let unified = members.iter().map(|of| of.entry.unified).max().unwrap_or_default();
        let directions = [0, 1, 2].map(|at| {
            let busy: Vec<&Direction> =
                members.iter().map(|of| &of.directions[at]).filter(|of| of.runtime_ms > 0).collect();
            let bytes: u64 = busy.iter().map(|of| of.bytes).sum();
            let rates = busy.iter().map(|of| of.bytes_per_s);
            let runtimes = busy.iter().map(|of| of.runtime_ms);
            let runtime_ms_max = runtimes.clone().max().unwrap_or(0);
            GroupDirection {
                bytes,
                bytes_per_s: (bytes.saturating_mul(1000)).checked_div(runtime_ms_max).unwrap_or(0),
                bytes_per_s_min: rates.clone().min().unwrap_or(0),
                bytes_per_s_max: rates.max().unwrap_or(0),
                runtime_ms_min: runtimes.min().unwrap_or(0),
                runtime_ms_max,
            }
        });
        Self { units, unified, directions }
    }
}

impl GroupDirection {
    /// Several directions as one.
    pub(super) fn together(directions: &[Self]) -> Self {
        let busy = directions.iter().filter(|direction| direction.runtime_ms_max > 0);
        Self {
            bytes: busy.clone().map(|of| of.bytes).sum(),
            bytes_per_s: busy.clone().map(|of| of.bytes_per_s).sum(),
            bytes_per_s_min: busy.clone().map(|of| of.bytes_per_s_min).min().unwrap_or(0),
            bytes_per_s_max: busy.clone().map(|of| of.bytes_per_s_max).max().unwrap_or(0),
            runtime_ms_min: busy.clone().map(|of| of.runtime_ms_min).min().unwrap_or(0),
            runtime_ms_max: busy.map(|of| of.runtime_ms_max).max().unwrap_or(0),
        }
    }
}

impl Classes {
    fn of(service: &LatencyTally) -> Self {
        let (mut ns, mut us, mut ms) = ([0; 10], [0; 10], [0; 12]);
        let mut total = 0;
        for (index, count) in service.histogram.buckets() {
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
        let below_us = ns.iter().sum::<u64>();
        Self {
            ns: ns.map(|count| share(count, total, LATENCY_SHARE_MIN)),
            us: us.map(|count| share(count, total, LATENCY_SHARE_MIN)),
            ms: ms.map(|count| share(count, total, LATENCY_SHARE_MIN)),
            below_us: share(below_us, total, 0.0),
        }
    }
}

/// The class of a value below 1000 of its unit.
fn class(value: u64) -> usize {
    BOUNDS.iter().position(|&bound| value < bound).unwrap_or(BOUNDS.len() - 1)
}

fn shares(counts: [u64; 7], smallest: f64) -> [f64; 7] {
    let total: u64 = counts.iter().sum();
    counts.map(|count| share(count, total, smallest))
}

fn share(count: u64, total: u64, smallest: f64) -> f64 {
    if count == 0 { 0.0 } else { (count as f64 * 100.0 / total as f64).max(smallest) }
}

fn nothing(kind: OperationKind) -> KindTally {
    KindTally {
        kind,
        operations: 0,
        bytes: 0,
        short: 0,
        data_syncs: 0,
        errors: Vec::new(),
        service: LatencyTally::default(),
        response: None,
        submission: Moments::default(),
        completion: None,
    }
}

/// The percentiles of an entry with their values in nanoseconds, in rising order; none without a distribution.
pub(super) fn percentiles(entry: &FioEntry, tally: &LatencyTally) -> Vec<(f64, u64)> {
    if tally.histogram.is_empty() {
        return Vec::new();
    }
    let counts = counts(tally);
    let mut wanted = entry.percentiles.clone();
    wanted.sort_by(f64::total_cmp);
    wanted.into_iter().map(|percent| (percent, fio_quantile(&counts, percent))).collect()
}

/// The distribution in fio's buckets.
pub(super) fn counts(tally: &LatencyTally) -> Vec<u64> {
    let mut histogram = Histogram::default();
    histogram.merge_sparse(&tally.histogram);
    fio_counts(&histogram)
}

/// Statistics of a series of rates.
#[derive(Default)]
pub(super) struct Series {
    pub(super) count: u64,
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) mean: f64,
    pub(super) stddev: f64,
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

/// A rate without its fraction, as fio prints the smallest and the largest.
pub(super) fn whole(value: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate: positive, below 2^63"
    )]
    let whole = value as u64;
    whole
}
