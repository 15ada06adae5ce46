//! How the response times of single loads are spread: the histograms of the standard, drawn and as tables. Owns their form; which
//! loads have one is `fathom_analysis::pts`'s.

use super::capital;
use crate::charts::{curve, spread};
use crate::plot::{Plot, PlotAxis, PlotLine, PlotMark, Shape, Unit, ns};
use crate::table::{left, right};
use crate::tables::{Table, seconds};
use fathom_analysis::pts::{Distribution, FIVE_NINES_FROM};
use fathom_metrics::Latency;
use fathom_schema::LatencyTally;
use fathom_units::significant;

/// Rows of the table of a histogram at most; those of one that is wider are twice as high, and so on.
const ROWS_MAX: usize = 24;
/// Rows of a histogram per power of two.
const ROWS_PER_OCTAVE: f64 = 4.0;
/// What is given where the operations are too few for the fifth nine.
const TOO_FEW: &str = "n/a";
/// Shares of operations whose response times the table has.
const NINES: [(f64, u64); 3] = [(0.99, 100), (0.999, 1000), (0.9999, 10_000)];

/// The drawings: each histogram with its mean, five nines and largest response time, and all of them over the share of
/// operations (the standard's confidence level plot).
pub(super) fn plots(all: &[&Distribution]) -> Vec<Plot> {
    let mut plots: Vec<Plot> = all.iter().map(|one| histogram(one)).collect();
    let line = |one: &&Distribution| {
        let points = curve("all", "response", &one.response)?.points;
        Some(PlotLine::new(name(one), Shape::Line, &points))
    };
    let lines: Vec<PlotLine> = all.iter().filter_map(line).collect();
    if !lines.is_empty() {
        plots.push(Plot {
            title: "Response time over the share of operations".to_owned(),
            x: PlotAxis::linear("operations that are no slower", Unit::Nines),
            y: PlotAxis::log("response time", Unit::Latency),
            lines,
            marks: Vec::new(),
            bands: Vec::new(),
        });
    }
    plots
}

fn histogram(one: &Distribution) -> Plot {
    let Distribution { cell: _, response, five_nines_s } = one;
    let points: Vec<(f64, f64)> = steps(response);
    let mut marks = vec![PlotMark::x("mean", response.moments.mean_ns(), None)];
    marks.extend(five_nines_s.map(|s| PlotMark::x("99.999 %", ns(s), None)));
    marks.push(PlotMark::x("largest", response.moments.max_ns as f64, None));
    Plot {
        title: format!("Response-time histogram: {}", name(one)),
        x: PlotAxis::log("response time", Unit::Latency),
        y: PlotAxis::log("operations", Unit::Plain),
        lines: vec![PlotLine::new("operations", Shape::Joined, &points)],
        marks,
        bands: Vec::new(),
    }
}

/// Middles of the rows of a histogram, nanoseconds, with how many operations fell into each.
fn steps(response: &LatencyTally) -> Vec<(f64, f64)> {
    let middle = |row: usize| ((row as f64 + 0.5) / ROWS_PER_OCTAVE).exp2();
    spread(response).into_iter().map(|(row, count)| (middle(row), count as f64)).collect()
}

/// `largest, RND 8 KiB 65/35 T16Q16`.
fn name(one: &Distribution) -> String {
    let Distribution { cell, .. } = one;
    format!("{}, {} T{}Q{}", cell.row, cell.name(), cell.threads, cell.depth)
}

/// The tables: what all come to, then each histogram.
pub(super) fn tables(all: &[&Distribution]) -> Vec<(String, Table)> {
    if all.is_empty() {
        return Vec::new();
    }
    let mut tables = vec![("Response times".to_owned(), figures(all))];
    tables.extend(
        all.iter().map(|one| (format!("Response-time histogram: {}", name(one)), rows(&one.response))),
    );
    tables
}

/// Mean, nines and largest of each.
fn figures(all: &[&Distribution]) -> Table {
    let columns = vec![
        left("load"),
        right("operations"),
        right("mean"),
        right("99 %"),
        right("99.9 %"),
        right("99.99 %"),
        right("99.999 %"),
        right("largest"),
    ];
    let row = |one: &&Distribution| {
        let Distribution { cell: _, response, five_nines_s } = *one;
        let latency = Latency::from(response);
        let count = latency.count();
        let quantile = |(q, needs): (f64, u64)| {
            let found = latency.quantile(q).filter(|_| count >= needs);
            found.map_or_else(|| TOO_FEW.to_owned(), |ns| seconds(ns as f64 / 1e9))
        };
        let head = [capital(&name(one)), count.to_string(), seconds(response.moments.mean_ns() / 1e9)];
        let nines = NINES.map(quantile);
        let five = five_nines_s.map_or_else(|| TOO_FEW.to_owned(), seconds);
        let tail = [five, seconds(response.moments.max_ns as f64 / 1e9)];
        head.into_iter().chain(nines).chain(tail).collect()
    };
    debug_assert_eq!(FIVE_NINES_FROM, 100_000, "the remark says so");
    let remark = Some("n/a: too few operations; 99.999 % needs n ≥ 100000");
    let is_short = all.iter().any(|one| one.five_nines_s.is_none());
    Table { columns, rows: all.iter().map(row).collect(), remark: remark.filter(|_| is_short) }
}

/// How many operations took how long.
fn rows(response: &LatencyTally) -> Table {
    let all = spread(response);
    let span = all.last().map_or(0, |last| last.0 + 1) - all.first().map_or(0, |first| first.0);
    let height = span.div_ceil(ROWS_MAX).max(1);
    let total: u64 = all.iter().map(|(_, count)| count).sum();
    let share = |count: u64| format!("{} %", significant(count as f64 / total as f64 * 100.0));
    let mut below = 0;
    let row = |group: &[(usize, u64)]| {
        let count: u64 = group.iter().map(|(_, count)| count).sum();
        below += count;
        let edge = ((group[0].0 / height + 1) * height) as f64;
        let upto = (edge / ROWS_PER_OCTAVE).exp2();
        vec![seconds(upto / 1e9), count.to_string(), share(count), share(below)]
    };
    let rows = all.chunk_by(|a, b| a.0 / height == b.0 / height).map(row).collect();
    let columns = vec![right("less than"), right("operations"), right("share"), right("together")];
    Table { columns, rows, remark: None }
}
