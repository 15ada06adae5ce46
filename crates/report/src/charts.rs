//! A record as the data of charts: what a browser draws, reduced to a bounded number of points. Owns which points there
//! are and what they keep; does not know how they are drawn, nor figures of tables.
//!
//! Intervals are laid on a grid of equal cells per step, all streams on the same one. Where a cell holds several
//! intervals it keeps the mean rate and the lowest and highest of them, and percentiles of all operations in it together.
//! Numbers are rounded to five significant digits: a chart shows no more, and a report stays small.

mod distribution;
mod grid;
mod host;
mod sweep;
mod timeline;

use distribution::Heat;
pub(crate) use distribution::{Curve, curve, curves, spread};
use fathom_analysis::validity::{self, Moment};
use fathom_analysis::{Measured, added_up};
use fathom_schema::{Record, StepRecord};
use fathom_units::Nanos;
use grid::Grid;
use host::Busy;
use serde::Serialize;
use sweep::Sweep;
pub(crate) use timeline::noted;
pub use timeline::{LimitMark, TimeMark};

/// Version of the form that [`charts`] gives.
pub(crate) const CHARTS_VERSION: u32 = 1;
/// Cells of one step at most: a chart is hardly ever wider in pixels than twice this.
const CELLS_MAX: usize = 600;
/// Cells of all steps together, which keeps a report of many steps below a few megabytes.
const CELLS_ALL_MAX: usize = 6000;
/// A step gets at least this many, however many steps there are.
const CELLS_MIN: usize = 24;
/// Streams with lines of their own; more cannot be told apart, and all of them are in JSON and CSV.
const STREAMS_MAX: usize = 8;

/// The charts of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Charts {
    /// Version of this form, 1.
    pub version: u32,
    /// One per step, in order.
    pub steps: Vec<StepCharts>,
    /// Results over what is swept; null when nothing is.
    pub sweep: Option<Sweep>,
}

/// The charts of one step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepCharts {
    /// Index of the step in the run, from 0.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Length of a cell, seconds; cell `i` begins at `i` times this after the step's start.
    pub cell_s: f64,
    /// Stored intervals in one cell at most; 1 when nothing was reduced.
    pub reduced: u64,
    /// Where the measure phase begins and ends, seconds since the step's start.
    pub window_s: [f64; 2],
    /// All streams together, then each of them where there are several (up to eight).
    pub series: Vec<Series>,
    /// Streams that have no series of their own.
    pub streams_left_out: u64,
    /// Latency over the share of operations, per kind of operation.
    pub curves: Vec<Curve>,
    /// Latencies over time, of all operations; null without an operation.
    pub heat: Option<Heat>,
    /// How busy the processors and the devices under the targets were; empty in records that do not know.
    pub busy: Vec<Busy>,
    /// What is marked on the time line, in order.
    pub marks: Vec<TimeMark>,
    /// Where thresholds lie.
    pub limits: Vec<LimitMark>,
}

/// One stream, or all, over time: an entry per cell, null where nothing was measured or the sample is too small.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Series {
    /// The stream's name; empty for all together.
    pub name: String,
    /// Reads, writes and trims per second.
    pub iops: Vec<Option<f64>>,
    /// The least of an interval in the cell; empty when each cell is one interval.
    pub iops_min: Vec<Option<f64>>,
    /// The most of an interval in the cell; empty when each cell is one interval.
    pub iops_max: Vec<Option<f64>>,
    /// Bytes moved per second.
    pub bytes_per_s: Vec<Option<f64>>,
    /// Mean response time, nanoseconds.
    pub mean_ns: Vec<Option<f64>>,
    /// Median response time, nanoseconds.
    pub p50_ns: Vec<Option<f64>>,
    /// p99, nanoseconds; null below 100 operations.
    pub p99_ns: Vec<Option<f64>>,
    /// p99.9, nanoseconds; null below 1000 operations.
    pub p999_ns: Vec<Option<f64>>,
    /// Largest response time, nanoseconds.
    pub max_ns: Vec<Option<f64>>,
    /// Mean number of operations in flight.
    pub depth: Vec<Option<f64>>,
    /// Failed operations.
    pub errors: Vec<u64>,
}

/// The charts of a record, whole or an overview.
pub fn charts(record: &Record) -> Charts {
    charts_with(record, &[])
}

/// The same with series of these streams, by their place in their step, the first eight of them; of a step that has none of
/// them, of its first ones.
pub fn charts_with(record: &Record, streams: &[u32]) -> Charts {
    let cells_max = (CELLS_ALL_MAX / record.steps.len().max(1)).clamp(CELLS_MIN, CELLS_MAX);
    let moments = validity::moments(record);
    Charts {
        version: CHARTS_VERSION,
        steps: record
            .steps
            .iter()
            .map(|step| step_charts(record, step, &moments, cells_max, streams))
            .collect(),
        sweep: sweep::of(record),
    }
}

/// The length of a cell in seconds, all streams of a step together and the host in at most `rows_max` cells: its charts as
/// a table.
pub(crate) fn over_time(step: &StepRecord, rows_max: usize) -> (f64, Series, Vec<Busy>) {
    let grid = Grid::of(step, rows_max);
    let mut series = grid.series("", None);
    if series.iops_min.is_empty() {
        series.iops_min.clone_from(&series.iops);
        series.iops_max.clone_from(&series.iops);
    }
    (grid.cell.as_secs_f64(), series, host::busy(step, grid.cell, grid.cells.len()))
}

fn step_charts(
    record: &Record,
    step: &StepRecord,
    moments: &[Moment],
    cells_max: usize,
    chosen: &[u32],
) -> StepCharts {
    let measured = added_up(step);
    let grid = Grid::of(step, cells_max);
    let streams = &step.started.step.streams;
    let mut series = vec![grid.series("", None)];
    if streams.len() > 1 {
        let is_chosen = |index: u32| chosen.contains(&index);
        let is_any = (0_u32..).zip(streams).any(|(index, _)| is_chosen(index));
        let shown = streams.iter().zip(0_u32..).filter(|(_, index)| !is_any || is_chosen(*index));
        let shown = shown.take(STREAMS_MAX);
        series.extend(shown.map(|(stream, index)| grid.series(&stream.name, Some(index))));
    }
    let streams_left_out = if streams.len() > 1 { streams.len() - (series.len() - 1) } else { 0 } as u64;
    StepCharts {
        index: step.started.index,
        name: step.started.step.name.clone(),
        cell_s: grid.cell.as_secs_f64(),
        reduced: grid.reduced,
        window_s: window(&measured),
        marks: timeline::marks(record, step, moments, &series[0], grid.cell.as_secs_f64()),
        limits: timeline::limits(record),
        series,
        streams_left_out,
        curves: distribution::curves(&measured),
        heat: distribution::heat(&grid),
        busy: host::busy(step, grid.cell, grid.cells.len()),
    }
}

fn window(measured: &[Measured]) -> [f64; 2] {
    let windows = measured.iter().filter(|m| m.window() > Nanos::ZERO).map(|m| [m.start, m.end]);
    let all = windows.reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]).unwrap_or_default();
    all.map(Nanos::as_secs_f64)
}

/// Five significant digits.
pub(crate) fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return 0.0;
    }
    #[expect(clippy::cast_possible_truncation, reason = "an exponent of a double")]
    let digits = 4 - value.abs().log10().floor() as i32;
    // Dividing by a power of ten gives the nearest double of the decimal, multiplying by its inverse does not.
    if digits >= 0 {
        let scale = 10_f64.powi(digits);
        (value * scale).round() / scale
    } else {
        let scale = 10_f64.powi(-digits);
        (value / scale).round() * scale
    }
}

#[cfg(test)]
mod tests;
