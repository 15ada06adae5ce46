//! Intervals on a grid of equal cells. Owns how long a cell is and what falls into it; does not know what is drawn of it.

use super::{Series, rounded};
use crate::summary::{errors, kinds, response};
use fathom_metrics::Latency;
use fathom_schema::{Interval, Phase, Step, StepRecord};
use fathom_units::Nanos;

/// A cell of which less than this share was measured has no rate: the few milliseconds that a last interval may be long
/// say nothing about it.
pub(super) const COVERED_MIN: f64 = 0.1;

/// The grid of one step.
pub(super) struct Grid<'a> {
    /// Length of a cell; above 0.
    pub(super) cell: Nanos,
    /// Stored intervals of one stream in a cell, at most.
    pub(super) reduced: u64,
    /// What lies in each cell, by time. An interval that reaches into the next cell (a late one) lies in the cell of its
    /// middle.
    pub(super) cells: Vec<Vec<&'a Interval>>,
    /// Says which streams all of them together are made of.
    step: &'a Step,
}

impl<'a> Grid<'a> {
    /// Cells as long as the longest regular interval, or as many of those as `cells_max` cells need.
    pub(super) fn of(record: &'a StepRecord, cells_max: usize) -> Self {
        let StepRecord { started, intervals, host: _, finished: _ } = record;
        let edge = started.step.interval.0.max(1);
        let end = intervals.iter().map(|interval| interval.end.0).max().unwrap_or(0);
        // Sums of a long record span several edges; a late interval does too, and is no measure.
        let regular = intervals.iter().filter(|interval| !interval.late);
        let longest = regular.map(|interval| interval.end.since(interval.start).0).max().unwrap_or(edge);
        // On a real clock one is longer than asked by its last operation.
        let fine = (longest + edge / 2).div_euclid(edge).max(1) * edge;
        let together = end.div_ceil(fine).div_ceil(cells_max.max(1) as u64).max(1);
        let cell = fine * together;
        let count = usize::try_from(end.div_ceil(cell)).unwrap_or(0);
        let mut cells: Vec<Vec<&Interval>> = vec![Vec::new(); count];
        // What is read back to be checked is no load.
        for interval in intervals.iter().filter(|interval| interval.phase != Phase::Verify) {
            let middle = u64::midpoint(interval.start.0, interval.end.0);
            if let Some(cell) = usize::try_from(middle / cell).ok().and_then(|index| cells.get_mut(index)) {
                cell.push(interval);
            }
        }
        Self { cell: Nanos(cell), reduced: cell / edge, cells, step: &started.step }
    }

    /// Whether all streams together are made of this one's intervals too.
    pub(super) fn adds_up(&self, interval: &Interval) -> bool {
        self.step.adds_up(interval.stream as usize)
    }

    /// The lines of one stream, or of all together.
    pub(super) fn series(&self, name: &str, stream: Option<u32>) -> Series {
        let mut series = Series { name: name.to_owned(), ..Series::default() };
        for cell in &self.cells {
            let is_chosen =
                |i: &&Interval| stream.map_or_else(|| self.adds_up(i), |stream| i.stream == stream);
            let chosen: Vec<&Interval> = cell.iter().copied().filter(is_chosen).collect();
            self.add(&mut series, &chosen);
        }
        if self.reduced == 1 {
            series.iops_min.clear();
            series.iops_max.clear();
        }
        series
    }

    fn add(&self, series: &mut Series, cell: &[&Interval]) {
        let Series {
            name: _,
            iops,
            iops_min,
            iops_max,
            bytes_per_s,
            mean_ns,
            p50_ns,
            p99_ns,
            p999_ns,
            max_ns,
            depth,
            errors: failed,
        } = series;
        let covered_ns = covered_ns(cell) as f64;
        let is_covered = covered_ns >= COVERED_MIN * self.cell.0 as f64;
        let rate = |sum: f64| is_covered.then(|| rounded(sum / (covered_ns / 1e9)));
        let (all, by_kind) = kinds(cell.iter().map(|interval| &interval.tally));
        let mut latency = Latency::default();
        latency.merge_tally(response(&all));
        let count = latency.count();
        let quantile = |q: f64, needs: u64| {
            (count >= needs).then(|| latency.quantile(q)).flatten().map(|ns| rounded(ns as f64))
        };
        iops.push(rate(all.operations as f64));
        let (low, high) = extremes(cell);
        iops_min.push(low.filter(|_| is_covered).map(rounded));
        iops_max.push(high.filter(|_| is_covered).map(rounded));
        bytes_per_s.push(rate(all.bytes as f64));
        let moments = latency.moments();
        mean_ns.push((count > 0).then(|| rounded(moments.mean_ns())));
        p50_ns.push(quantile(0.5, 2));
        p99_ns.push(quantile(0.99, 100));
        p999_ns.push(quantile(0.999, 1000));
        max_ns.push((count > 0).then(|| rounded(moments.max_ns as f64)));
        let in_flight_ns: f64 = cell.iter().map(|interval| interval.tally.in_flight_ns).sum();
        depth.push(is_covered.then(|| rounded(in_flight_ns / covered_ns)));
        failed.push(by_kind.iter().map(errors).sum());
    }
}

/// Length of the union of intervals of several streams, nanoseconds.
fn covered_ns(cell: &[&Interval]) -> u64 {
    let mut spans: Vec<(u64, u64)> = cell.iter().map(|i| (i.start.0, i.end.0)).collect();
    spans.sort_unstable();
    let mut reached = 0;
    spans
        .into_iter()
        .map(|(start, end)| {
            let new = end.saturating_sub(start.max(reached));
            reached = reached.max(end);
            new
        })
        .sum()
}

/// Lowest and highest rate of the intervals in a cell, streams that began together added up.
fn extremes(cell: &[&Interval]) -> (Option<f64>, Option<f64>) {
    let mut sums: Vec<(u64, u64, u64)> = Vec::new();
    let mut sorted = cell.to_vec();
    sorted.sort_by_key(|interval| interval.start);
    for interval in sorted {
        let operations = fathom_analysis::operations(&interval.tally);
        let length = interval.end.since(interval.start).0;
        match sums.last_mut() {
            Some((start, longest, sum)) if *start == interval.start.0 => {
                *longest = (*longest).max(length);
                *sum += operations;
            }
            _ => sums.push((interval.start.0, length, operations)),
        }
    }
    let longest = sums.iter().map(|&(_, length, _)| length).max().unwrap_or(0) as f64;
    let rates = sums
        .iter()
        .filter(|&&(_, length, _)| length > 0 && length as f64 >= COVERED_MIN * longest)
        .map(|&(_, length, operations)| operations as f64 / (length as f64 / 1e9));
    rates.fold((None, None), |(low, high): (Option<f64>, Option<f64>), rate| {
        (Some(low.map_or(rate, |low| low.min(rate))), Some(high.map_or(rate, |high| high.max(rate))))
    })
}
