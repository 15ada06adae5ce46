//! The drawings of a test of the PTS, as the standard wants them: what is tracked and every other cell over the rounds, the
//! window that was judged, its matrices as bars, and long loads over time and over what was written.

use super::tracked_name;
use crate::plot::{Plot, PlotAxis, PlotBand, PlotLine, PlotMark, Shape, Unit, ns};
use crate::section::Matrix;
use fathom_analysis::pts::{Cell, Figure, Measure, Minute, RoundsAnswer, SequenceAnswer};
use fathom_analysis::steady::RANGE_MAX;

/// Cells with lines of their own in one drawing; of a matrix of 56 it is those with the mix that is tracked.
const CELLS_MAX: usize = 8;

/// The drawings of rounds.
pub(super) fn of_rounds(found: &RoundsAnswer, matrices: &[Matrix]) -> Vec<Plot> {
    let mut plots: Vec<Plot> = [window(found), convergence(found)].into_iter().flatten().collect();
    let (axis, scale) = axis(found.rounds.figure);
    plots.extend(matrices.iter().map(|matrix| {
        let is_latency = matrix.caption.contains("response time");
        let (axis, scale) = if is_latency { self::axis(Figure::MeanLatency) } else { (axis.clone(), scale) };
        matrix.bars(PlotAxis { is_log: false, ..axis }, scale)
    }));
    plots.extend(demand(found));
    plots.extend(over_time(
        "",
        &found.minutes,
        &found.levels.iter().map(|one| one.until_s).collect::<Vec<_>>(),
    ));
    plots
}

/// The drawings of a sequence of loads.
pub(super) fn of_sequence(found: &SequenceAnswer) -> Vec<Plot> {
    let name = format!("{}: ", super::capital(&found.title));
    over_time(&name, &found.minutes, &[])
}

/// The axis of a figure, and what its values are multiplied with there.
fn axis(figure: Figure) -> (PlotAxis, f64) {
    match figure {
        Figure::Iops => (PlotAxis::linear("IOPS", Unit::Rate), 1.0),
        Figure::Throughput => (PlotAxis::linear("throughput", Unit::Bandwidth), 1.0),
        Figure::MeanLatency => (PlotAxis::linear("response time", Unit::Latency), 1e9),
    }
}

/// What is tracked over the rounds, and the window with its mean, its line, and how far values may lie apart.
fn window(found: &RoundsAnswer) -> Option<Plot> {
    let (y, scale) = axis(found.rounds.figure);
    let points: Vec<(f64, f64)> =
        found.tracked.iter().enumerate().map(|(at, value)| (at as f64 + 1.0, value * scale)).collect();
    if points.is_empty() {
        return None;
    }
    let mut lines = vec![PlotLine::new(tracked_name(found), Shape::Joined, &points)];
    let mut bands = Vec::new();
    let mut marks = Vec::new();
    if let Some(judged) = found.judgement.window {
        let (first, last) = (found.window.start as f64 + 1.0, found.window.end as f64);
        let mean = judged.mean * scale;
        // Rounds of the window count from 1, and their middle is the third.
        let height = |round: f64| mean + judged.slope * scale * (round - f64::midpoint(first, last));
        lines.push(PlotLine::new(
            "line of the window",
            Shape::Line,
            &[(first, height(first)), (last, height(last))],
        ));
        bands.push(PlotBand {
            label: "window, 20 % of its mean high".to_owned(),
            x: Some((first, last)),
            y: (mean * (1.0 - RANGE_MAX / 2.0), mean * (1.0 + RANGE_MAX / 2.0)),
        });
        marks.push(PlotMark::y("mean of the window", mean, None));
    }
    marks.extend(found.judgement.steady_at.map(|round| PlotMark::x("steady", round as f64, None)));
    Some(Plot {
        title: format!("Steady state: {}", tracked_name(found)),
        x: PlotAxis::linear("round", Unit::Plain),
        y,
        lines,
        marks,
        bands,
    })
}

/// Cells of a matrix over the rounds: those of the column that is tracked, all sizes or all numbers of threads.
fn convergence(found: &RoundsAnswer) -> Option<Plot> {
    let RoundsAnswer { rounds, measures, .. } = found;
    let tracked = &rounds.cells[rounds.tracked];
    let of_mix: Vec<usize> = rounds
        .cells
        .iter()
        .enumerate()
        .filter(|(_, cell)| !cell.row.is_empty() && cell.column == tracked.column)
        .map(|(at, _)| at)
        .take(CELLS_MAX)
        .collect();
    if of_mix.len() < 2 || measures.len() < 2 {
        return None;
    }
    let is_demand = is_demand(tracked);
    let (y, scale) = axis(rounds.figure);
    let line = |&cell: &usize| {
        let points: Vec<(f64, f64)> = measures
            .iter()
            .enumerate()
            .map(|(round, all)| (round as f64 + 1.0, all[cell].figure(rounds.figure) * scale))
            .filter(|(_, value)| *value > 0.0)
            .collect();
        let cell = &rounds.cells[cell];
        let name = if is_demand { cell.row.clone() } else { cell.name() };
        PlotLine::new(name, Shape::Joined, &points)
    };
    Some(Plot {
        title: if is_demand {
            format!("Convergence of all numbers of threads at {}", tracked.column)
        } else {
            "Convergence of all block sizes".to_owned()
        },
        x: PlotAxis::linear("round", Unit::Plain),
        y: PlotAxis { is_log: true, ..y },
        lines: of_mix.iter().map(line).collect(),
        marks: Vec::new(),
        bands: Vec::new(),
    })
}

/// Whether it is one of many numbers of threads and queue depths, which move the same blocks.
fn is_demand(cell: &Cell) -> bool {
    cell.column.starts_with("depth")
}

/// Over numbers of threads and queue depths: how much, and how long one waits for it.
fn demand(found: &RoundsAnswer) -> Vec<Plot> {
    let RoundsAnswer { rounds, means, .. } = found;
    let cells = || rounds.cells.iter().zip(means).filter(|(cell, _)| !cell.row.is_empty());
    if !cells().any(|(cell, _)| is_demand(cell)) {
        return Vec::new();
    }
    let mut threads: Vec<u32> = cells().map(|(cell, _)| cell.threads).collect();
    threads.sort_unstable();
    threads.dedup();
    let lines = |point: fn(u32, &Measure) -> (f64, f64)| -> Vec<PlotLine> {
        let line = |&count: &u32| {
            let of = cells().filter(|(cell, _)| cell.threads == count);
            let points: Vec<(f64, f64)> = of.map(|(cell, mean)| point(cell.depth, mean)).collect();
            PlotLine::new(format!("T{count}"), Shape::Joined, &points)
        };
        threads.iter().take(CELLS_MAX).map(line).collect()
    };
    vec![
        Plot {
            title: "Demand variation: IOPS over queue depth".to_owned(),
            x: PlotAxis::log("queue depth of a thread", Unit::Plain),
            y: PlotAxis::linear("IOPS", Unit::Rate),
            lines: lines(|depth, mean| (f64::from(depth), mean.iops)),
            marks: Vec::new(),
            bands: Vec::new(),
        },
        Plot {
            title: "Demand intensity: response time over IOPS".to_owned(),
            x: PlotAxis::linear("IOPS", Unit::Rate),
            y: PlotAxis::log("mean response time", Unit::Latency),
            lines: lines(|_, mean| (mean.iops, ns(mean.mean_s))),
            marks: Vec::new(),
            bands: Vec::new(),
        },
    ]
}

/// A long load over time, and over what it wrote; nothing for less than two samples. `levels` are where its rate changes.
fn over_time(name: &str, minutes: &[Minute], levels: &[f64]) -> Vec<Plot> {
    if minutes.len() < 2 {
        return Vec::new();
    }
    let of = |x: fn(&Minute) -> f64, y: fn(&Minute) -> f64| -> Vec<(f64, f64)> {
        minutes.iter().map(|one| (x(one), y(one))).collect()
    };
    let plot = |title: &str, x: PlotAxis, y: PlotAxis, label: &str, points: &[(f64, f64)]| Plot {
        title: format!("{name}{title}"),
        x,
        y,
        lines: vec![PlotLine::new(label, Shape::Line, points)],
        marks: Vec::new(),
        bands: Vec::new(),
    };
    let time = PlotAxis::linear("time", Unit::Clock);
    let rate = PlotAxis::linear("IOPS", Unit::Rate);
    let mut rates =
        plot("IOPS over time", time.clone(), rate.clone(), "IOPS", &of(|one| one.end_s, |one| one.iops));
    // The end of the last level is the end of all.
    let changes = levels.iter().take(levels.len().saturating_sub(1));
    rates.marks.extend(changes.map(|&at| PlotMark::x("the rate changes", at, None)));
    let response = PlotAxis::log("mean response time", Unit::Latency);
    let mut plots = vec![
        rates,
        plot("Response time over time", time, response, "mean", &of(|one| one.end_s, |one| ns(one.mean_s))),
    ];
    if minutes.last().is_some_and(|last| last.fills > 0.0) {
        let written = PlotAxis::linear("capacities written", Unit::Plain);
        plots.push(plot(
            "IOPS over what was written",
            written,
            rate,
            "IOPS",
            &of(|one| one.fills, |one| one.iops),
        ));
    }
    plots
}
