//! Latencies as charts: over the share of operations, and over time. Owns the reduction of histograms to what a screen
//! can show; does not know which figures stand in tables.

use super::grid::Grid;
use super::rounded;
use crate::summary::{kinds, response};
use fathom_analysis::Measured;
use fathom_metrics::{Latency, bucket_bounds};
use fathom_schema::LatencyTally;
use serde::Serialize;

/// Points of a curve per nine.
const POINTS_PER_NINE: u32 = 20;
/// Columns of a heat map at most; more would be narrower than three pixels.
const COLUMNS_MAX: usize = 240;
/// Rows of a heat map per power of two.
const ROWS_PER_OCTAVE: f64 = 4.0;
/// Share of a column's operations, as a power of ten below 1, that still has a colour of its own.
const DECADES: f64 = 5.0;

/// Latency over the share of operations that are at least as fast.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// Kind of operation; `all` first where there are several.
    pub kind: String,
    /// `response` (intended start → completed) or, beside it in an open loop, `service` (submitted → completed).
    pub latency: String,
    /// Operations.
    pub count: u64,
    /// Pairs of nines and nanoseconds: nines are −log₁₀ of the share that is slower, so 2 is p99. They end where a single
    /// operation is left.
    pub points: Vec<(f64, f64)>,
}

/// Latencies over time: how the operations of each column are spread over rows of latencies.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Heat {
    /// Length of a column, seconds.
    pub column_s: f64,
    /// Number of columns.
    pub columns: usize,
    /// Number of rows, from the fastest.
    pub rows: usize,
    /// Lower edge of the first row, log₂ of nanoseconds; each row is a quarter higher.
    pub from_log2_ns: f64,
    /// Highest share of a column in one row, 0 to 1.
    pub share_max: f64,
    /// Per column, from the fastest row: 0 without an operation, else 1 to 9 for the share of the column's operations on a
    /// logarithmic scale from 10⁻⁵ to 1. Runs of one digit may be written as the digit and their length in letters (a is
    /// 2).
    pub cells: String,
}

/// Curves of all kinds, and of each where there are several; service times, where they differ, of single kinds only.
pub(crate) fn curves(measured: &[Measured]) -> Vec<Curve> {
    let (all, by_kind) = kinds(measured.iter().map(|m| &m.tally));
    let several = by_kind.len() > 1;
    let named = by_kind.iter().map(|kind| (kind.kind.name(), kind));
    let mut out = Vec::new();
    for (name, kind) in several.then_some(("all", &all)).into_iter().chain(named) {
        out.extend(curve(name, "response", response(kind)));
        let is_one = name != "all";
        if is_one && kind.response.as_ref().is_some_and(|response| *response != kind.service) {
            out.extend(curve(name, "service", &kind.service));
        }
    }
    out
}

/// One curve; nothing without two operations, which would have no tail.
pub(crate) fn curve(kind: &str, which: &str, tally: &LatencyTally) -> Option<Curve> {
    let latency = Latency::from(tally);
    let count = latency.count();
    if count < 2 {
        return None;
    }
    // A single operation lies beyond this many nines.
    let last = (count as f64).log10();
    let mut points: Vec<(f64, f64)> = vec![(0.0, rounded(latency.moments().min_ns as f64))];
    for step in 1.. {
        let nines = f64::from(step) / f64::from(POINTS_PER_NINE);
        if nines >= last {
            break;
        }
        let ns = latency.quantile(1.0 - 10_f64.powf(-nines)).expect("it has values");
        points.push((rounded(nines), rounded(ns as f64)));
    }
    points.push((rounded(last), rounded(latency.moments().max_ns as f64)));
    Some(Curve { kind: kind.to_owned(), latency: which.to_owned(), count, points })
}

/// The heat map of all operations of a step.
pub(super) fn heat(grid: &Grid<'_>) -> Option<Heat> {
    let together = grid.cells.len().div_ceil(COLUMNS_MAX).max(1);
    // Per column, rows with their counts; the row number is that of the latency, not yet of the chart.
    let columns: Vec<Vec<(usize, u64)>> = grid
        .cells
        .chunks(together)
        .map(|cells| {
            let added = cells.iter().flatten().filter(|interval| grid.adds_up(interval));
            let (all, _) = kinds(added.clone().map(|interval| &interval.tally));
            spread(response(&all))
        })
        .collect();
    let filled = columns.iter().flatten().map(|&(row, _)| row);
    let (first, last) = (filled.clone().min()?, filled.max()?);
    let rows = last - first + 1;
    let mut levels = Vec::with_capacity(columns.len() * rows);
    let mut share_max = 0.0_f64;
    for column in &columns {
        let total: u64 = column.iter().map(|(_, count)| count).sum();
        let begin = levels.len();
        levels.resize(begin + rows, 0_u8);
        for &(row, count) in column {
            let share = count as f64 / total as f64;
            share_max = share_max.max(share);
            levels[begin + row - first] = level(share);
        }
    }
    Some(Heat {
        column_s: grid.cell.as_secs_f64() * together as f64,
        columns: columns.len(),
        rows,
        from_log2_ns: first as f64 / ROWS_PER_OCTAVE,
        share_max: rounded(share_max),
        cells: packed(&levels),
    })
}

/// Rows of latencies that operations fell into, with how many, from the fastest; each row is a quarter of a power of two,
/// row 0 begins at 1 ns.
pub(crate) fn spread(latency: &LatencyTally) -> Vec<(usize, u64)> {
    let mut counts: Vec<(usize, u64)> = Vec::new();
    for (index, count) in latency.histogram.buckets() {
        let row = row_of(index as usize);
        match counts.last_mut() {
            Some((last, sum)) if *last == row => *sum += count,
            _ => counts.push((row, count)),
        }
    }
    counts
}

/// Row of a histogram's bucket: a quarter of a power of two, from 1 ns on.
fn row_of(bucket: usize) -> usize {
    let (low, high) = bucket_bounds(bucket);
    let middle = low.midpoint(high).max(1) as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 4 × 42")]
    let row = (middle.log2() * ROWS_PER_OCTAVE).floor() as usize;
    row
}

/// 1 to 9, on a logarithmic scale.
fn level(share: f64) -> u8 {
    let scaled = (1.0 + share.log10() / DECADES).clamp(0.0, 1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 9")]
    let level = (1.0 + scaled * 8.0).round() as u8;
    level
}

/// Digits, runs of up to 27 shortened.
fn packed(levels: &[u8]) -> String {
    let mut out = String::new();
    for run in levels.chunk_by(|a, b| a == b) {
        for part in run.chunks(27) {
            out.push(char::from(b'0' + part[0]));
            match part.len() {
                1 => {}
                #[expect(clippy::cast_possible_truncation, reason = "2 to 27")]
                length => out.push(char::from(b'a' + (length - 2) as u8)),
            }
        }
    }
    out
}
