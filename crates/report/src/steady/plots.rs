//! The drawings of a test of the PTS, as the standard wants them: what is tracked and every other cell over the rounds, the
//! window that was judged, its matrices as bars, and long loads over time and over what was written.

use super::tracked_name;
use crate::plot::{Plot, PlotAxis, PlotBand, PlotLine, PlotMark, Shape, Unit, ns};
use crate::section::Matrix;
use fathom_analysis::pts::{
    Blocks, Cell, Figure, IdleRecovery, Measure, Minute, RoundsAnswer, SequenceAnswer,
};
use fathom_analysis::steady::RANGE_MAX;
use fathom_units::Nanos;

/// Cells with lines of their own in one drawing; of a matrix of 56 it is those with the mix that is tracked.
const CELLS_MAX: usize = 8;

/// The drawings of rounds, with what was noted while they ran.
pub(super) fn of_rounds(found: &RoundsAnswer, matrices: &[Matrix], noted: &[PlotMark]) -> Vec<Plot> {
    let mut plots: Vec<Plot> = window(found).into_iter().chain(convergence(found)).collect();
    let (axis, scale) = axis(found.rounds.figure);
    plots.extend(matrices.iter().map(|matrix| {
        let (axis, scale) = match &matrix.caption {
            of_time if of_time.contains("response time") => self::axis(Figure::MeanLatency),
            of_host if of_host.contains("System CPU") => (PlotAxis::linear("busy, %", Unit::Plain), 100.0),
            _ => (axis.clone(), scale),
        };
        matrix.bars(PlotAxis { is_log: false, ..axis }, scale)
    }));
    plots.extend(by_size(found));
    plots.extend(demand(found));
    plots.extend(over_time(
        "",
        &found.minutes,
        &found.levels.iter().map(|one| one.until_s).collect::<Vec<_>>(),
        noted,
    ));
    plots.extend(over_written(&found.minutes));
    // Of a device that falls from its fresh rate to a hundredth, an even axis shows the first minutes alone.
    let on_ratios: Vec<Plot> =
        plots.iter().filter(|plot| plot.title.starts_with(OVER)).map(logarithmic).collect();
    plots.extend(on_ratios);
    plots
}

/// How the titles of drawings of IOPS over time, and over what was written, begin.
const OVER: &str = "IOPS over ";

/// The same with equal distances for equal ratios from bottom to top; what is 0 has no place there.
fn logarithmic(plot: &Plot) -> Plot {
    let line = |line: &PlotLine| {
        let points: Vec<(f64, f64)> =
            line.x.iter().copied().zip(line.y.iter().copied()).filter(|(_, y)| *y > 0.0).collect();
        PlotLine::new(line.label.clone(), line.shape, &points)
    };
    Plot {
        title: format!("{}, logarithmic axis", plot.title),
        y: PlotAxis { is_log: true, ..plot.y.clone() },
        lines: plot.lines.iter().map(line).collect(),
        ..plot.clone()
    }
}

/// IOPS over the total of gigabytes written (TGBW), as the standard has it beside the capacities written.
fn over_written(minutes: &[Minute]) -> Option<Plot> {
    let points: Vec<(f64, f64)> = minutes.iter().map(|one| (one.written.0 as f64 / 1e9, one.iops)).collect();
    let is_written = points.len() > 1 && points.last().is_some_and(|(gigabytes, _)| *gigabytes > 0.0);
    is_written.then(|| Plot {
        title: format!("{OVER}total gigabytes written"),
        x: PlotAxis::linear("total gigabytes written (TGBW), GB", Unit::Plain),
        y: PlotAxis::linear("IOPS", Unit::Rate),
        lines: vec![PlotLine::new("IOPS", Shape::Line, &points)],
        marks: Vec::new(),
        bands: Vec::new(),
    })
}

/// The 2-D plot of the standard: IOPS over block size, a line per mix of reads and writes.
fn by_size(found: &RoundsAnswer) -> Option<Plot> {
    let RoundsAnswer { rounds, means, .. } = found;
    if rounds.figure != Figure::Iops || rounds.cells.iter().any(is_demand) {
        return None;
    }
    let mut mixes: Vec<&'static str> = Vec::new();
    let cells = || rounds.cells.iter().zip(means).filter(|(cell, _)| !cell.row.is_empty());
    for (cell, _) in cells() {
        if !mixes.contains(&cell.column) {
            mixes.push(cell.column);
        }
    }
    // Decades of KiB are round numbers, those of bytes are none in the units of the axis.
    let point = |(cell, mean): (&Cell, &Measure)| match cell.blocks {
        Blocks::Of(bytes) if mean.iops > 0.0 => Some((f64::from(bytes) / 1024.0, mean.iops)),
        Blocks::Of(_) | Blocks::Composite => None,
    };
    let line = |mix: &&'static str| {
        let points: Vec<(f64, f64)> =
            cells().filter(|(cell, _)| cell.column == *mix).filter_map(point).collect();
        PlotLine::new(*mix, Shape::Joined, &points)
    };
    let lines: Vec<PlotLine> = mixes.iter().take(CELLS_MAX).map(line).collect();
    lines.iter().any(|line| line.x.len() > 1).then(|| Plot {
        title: "IOPS by block size, a line per mix of reads and writes".to_owned(),
        x: PlotAxis::log("block size, KiB", Unit::Plain),
        y: PlotAxis::log("IOPS", Unit::Rate),
        lines,
        marks: Vec::new(),
        bands: Vec::new(),
    })
}

/// The drawings of a sequence of loads, with what was noted while they ran.
pub(super) fn of_sequence(found: &SequenceAnswer, noted: &[PlotMark]) -> Vec<Plot> {
    let name = format!("{}: ", super::capital(&found.title));
    over_time(&name, &found.minutes, &[], noted)
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

/// Cells of a matrix that are shown over the rounds.
pub(super) struct Converging {
    /// What they are together.
    pub(super) what: String,
    /// Each by its place in the matrix, with what to call it; at least two.
    pub(super) cells: Vec<(usize, String)>,
    /// Which figure of them.
    pub(super) value: Box<dyn Fn(&Measure) -> f64>,
}

/// Block sizes, bytes, and mixes that the standard follows besides those of the mix that is tracked.
const FOLLOWED: [(u32, &str); 2] = [(64 << 10, "65/35"), (1024 << 10, "100/0")];

/// What is shown over the rounds: the column that is tracked, of all sizes or all numbers of threads, and what the standard follows
/// besides. Nothing of a single round.
pub(super) fn converging(found: &RoundsAnswer) -> Vec<Converging> {
    let RoundsAnswer { rounds, measures, .. } = found;
    let (tracked, figure) = (&rounds.cells[rounds.tracked], rounds.figure);
    let is_demand = is_demand(tracked);
    let of = |what: &str, value: Box<dyn Fn(&Measure) -> f64>, is_meant: &dyn Fn(&Cell) -> bool| {
        let name = |cell: &Cell| if is_demand { cell.row.clone() } else { cell.name() };
        let cells = rounds.cells.iter().enumerate();
        let cells = cells.filter(|(_, cell)| !cell.row.is_empty() && is_meant(cell));
        let cells = cells.map(|(at, cell)| (at, name(cell))).take(CELLS_MAX).collect();
        Converging { what: what.to_owned(), cells, value }
    };
    let tracks = || Box::new(move |measure: &Measure| measure.figure(figure));
    let of_mix = |cell: &Cell| cell.column == tracked.column;
    let mut all = if is_demand {
        vec![of(&format!("all numbers of threads at {}", tracked.column), tracks(), &of_mix)]
    } else {
        vec![of("all block sizes", tracks(), &of_mix)]
    };
    match figure {
        Figure::Iops => {
            let is_followed = |cell: &Cell| {
                let is = |(bytes, column): &(u32, &str)| {
                    cell.blocks == Blocks::Of(*bytes) && cell.column == *column
                };
                FOLLOWED.iter().any(is)
            };
            all.push(of("other sizes and mixes", tracks(), &is_followed));
        }
        Figure::Throughput => all.push(of("reads and writes", tracks(), &|_| true)),
        Figure::MeanLatency => {
            let largest = Box::new(|measure: &Measure| measure.max_s);
            all.push(of("the largest response times of all block sizes", largest, &of_mix));
        }
    }
    all.retain(|one| one.cells.len() > 1 && measures.len() > 1);
    all
}

fn convergence(found: &RoundsAnswer) -> impl Iterator<Item = Plot> {
    let RoundsAnswer { rounds, measures, .. } = found;
    let (y, scale) = axis(rounds.figure);
    converging(found).into_iter().map(move |Converging { what, cells, value }| {
        let line = |(cell, name): &(usize, String)| {
            let points: Vec<(f64, f64)> = measures
                .iter()
                .enumerate()
                .map(|(round, all)| (round as f64 + 1.0, value(&all[*cell]) * scale))
                .filter(|(_, value)| *value > 0.0)
                .collect();
            PlotLine::new(name.clone(), Shape::Joined, &points)
        };
        Plot {
            title: format!("Convergence of {what}"),
            x: PlotAxis::linear("round", Unit::Plain),
            y: PlotAxis { is_log: true, ..y.clone() },
            lines: cells.iter().map(line).collect(),
            marks: Vec::new(),
            bands: Vec::new(),
        }
    })
}

/// Whether it is one of many numbers of threads and queue depths, which move the same blocks.
fn is_demand(cell: &Cell) -> bool {
    cell.column.starts_with("depth")
}

/// Its total outstanding I/O.
fn toio(cell: &Cell) -> f64 {
    f64::from(cell.threads) * f64::from(cell.depth)
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
    let plot = |title: &str, x: PlotAxis, y: PlotAxis, point: fn(&Cell, &Measure) -> (f64, f64)| {
        let line = |&count: &u32| {
            let of = cells().filter(|(cell, _)| cell.threads == count);
            let points: Vec<(f64, f64)> = of.map(|(cell, mean)| point(cell, mean)).collect();
            PlotLine::new(format!("T{count}"), Shape::Joined, &points)
        };
        let lines = threads.iter().take(CELLS_MAX).map(line).collect();
        Plot { title: title.to_owned(), x, y, lines, marks: Vec::new(), bands: Vec::new() }
    };
    let rate = || PlotAxis::linear("IOPS", Unit::Rate);
    let response = || PlotAxis::log("mean response time", Unit::Latency);
    let outstanding = || PlotAxis::log("total outstanding I/O (TOIO): threads × queue depth", Unit::Plain);
    vec![
        plot(
            "Demand variation: IOPS over queue depth",
            PlotAxis::log("queue depth of a thread", Unit::Plain),
            rate(),
            |cell, mean| (f64::from(cell.depth), mean.iops),
        ),
        plot("Demand intensity: response time over IOPS", rate(), response(), |_, mean| {
            (mean.iops, ns(mean.mean_s))
        }),
        plot("Demand: IOPS over total outstanding I/O", outstanding(), rate(), |cell, mean| {
            (toio(cell), mean.iops)
        }),
        plot("Demand: response time over total outstanding I/O", outstanding(), response(), |cell, mean| {
            (toio(cell), ns(mean.mean_s))
        }),
    ]
}

/// Bursts of writes after idle times: their mean over the idle time, and each of them, in order.
pub(super) fn of_idle(found: &IdleRecovery, parts: &[&SequenceAnswer]) -> Vec<Plot> {
    let means: Vec<(f64, f64)> = found.after.iter().map(|one| (one.idle.as_secs_f64(), one.iops)).collect();
    if means.is_empty() {
        return Vec::new();
    }
    let rate = PlotAxis::linear("IOPS", Unit::Rate);
    let over_wait = Plot {
        title: "Bursts of writes over the idle time before them".to_owned(),
        x: PlotAxis::linear("idle time, s", Unit::Plain),
        y: rate.clone(),
        lines: vec![PlotLine::new("mean of the bursts", Shape::Joined, &means)],
        marks: vec![PlotMark::y("baseline", found.baseline_iops, None)],
        bands: Vec::new(),
    };
    let waits = parts.iter().filter(|part| part.cells.iter().any(|(cell, _)| cell.pause > Nanos::ZERO));
    let line = |part: &&&SequenceAnswer| {
        let mut now = 0.0;
        let points = part.cells.iter().map(|(cell, measure)| {
            now += cell.pause.after(cell.time).as_secs_f64();
            (now, measure.iops)
        });
        PlotLine::new(part.title.clone(), Shape::Points, &points.collect::<Vec<_>>())
    };
    let over_time = Plot {
        title: "Bursts of writes over time, idle times included".to_owned(),
        x: PlotAxis::linear("time since the first idle time of its length began", Unit::Clock),
        y: rate,
        lines: waits.map(|part| line(&part)).collect(),
        marks: vec![PlotMark::y("baseline", found.baseline_iops, None)],
        bands: Vec::new(),
    };
    vec![over_wait, over_time]
}

/// Samples around a change of load that a drawing of the change alone has, on either side.
const AROUND_CHANGE: usize = 60;

/// Changes of load with drawings of their own: those of a cross stimulus.
const CHANGES_SHOWN: usize = 2;

/// A long load over time, and over what it wrote; nothing for less than two samples. `levels` are where its rate changes.
fn over_time(name: &str, minutes: &[Minute], levels: &[f64], noted: &[PlotMark]) -> Vec<Plot> {
    if minutes.len() < 2 {
        return Vec::new();
    }
    // The end of the last level is the end of all.
    let changes = levels.iter().take(levels.len().saturating_sub(1));
    let mut marks: Vec<PlotMark> = changes.map(|&at| PlotMark::x("the rate changes", at, None)).collect();
    let loads: Vec<usize> =
        (1..minutes.len()).filter(|&at| minutes[at].load != minutes[at - 1].load).collect();
    marks.extend(loads.iter().map(|&at| PlotMark::x("the load changes", minutes[at - 1].end_s, None)));
    // Nothing is drawn behind the last sample.
    let end_s = minutes.last().map_or(0.0, |last| last.end_s);
    marks.extend(noted.iter().map(|mark| PlotMark { at: mark.at.min(end_s), ..mark.clone() }));
    let plot = |title: &str, x: PlotAxis, y: PlotAxis, lines: Vec<PlotLine>| Plot {
        title: format!("{name}{title}"),
        x,
        y,
        lines,
        marks: Vec::new(),
        bands: Vec::new(),
    };
    let line = |label: &str, minutes: &[Minute], x: fn(&Minute) -> f64, y: fn(&Minute) -> Option<f64>| {
        let points: Vec<(f64, f64)> = minutes.iter().filter_map(|one| Some((x(one), y(one)?))).collect();
        PlotLine::new(label, Shape::Line, &points)
    };
    let end: fn(&Minute) -> f64 = |one| one.end_s;
    let fills: fn(&Minute) -> f64 = |one| one.fills;
    let time = || PlotAxis::linear("time", Unit::Clock);
    let rate = || PlotAxis::linear("IOPS", Unit::Rate);
    let bandwidth = || PlotAxis::linear("throughput", Unit::Bandwidth);
    let bytes = |minutes: &[Minute]| vec![line("throughput", minutes, end, |one| Some(one.bytes_per_s))];
    let iops = |x| vec![line("IOPS", minutes, x, |one| Some(one.iops))];
    let mut response = vec![
        line("mean", minutes, end, |one| Some(ns(one.mean_s))),
        line("99.999 %", minutes, end, |one| one.five_nines_s.map(ns)),
        line("largest", minutes, end, |one| Some(ns(one.max_s))),
    ];
    response.retain(|line| !line.x.is_empty());
    let mut plots = vec![plot("IOPS over time", time(), rate(), iops(end))];
    // Loads of different blocks are compared by what they move.
    if !loads.is_empty() {
        plots.insert(0, plot("throughput over time", time(), bandwidth(), bytes(minutes)));
    }
    plots.push(plot(
        "Response time over time",
        time(),
        PlotAxis::log("response time", Unit::Latency),
        response,
    ));
    plots.iter_mut().for_each(|plot| plot.marks.clone_from(&marks));
    for (at, change) in loads.iter().enumerate().filter(|_| loads.len() <= CHANGES_SHOWN) {
        let around = change.saturating_sub(AROUND_CHANGE)..(change + AROUND_CHANGE).min(minutes.len());
        let title = format!("throughput from load {} to load {}", at + 1, at + 2);
        let shown = minutes[around.start].end_s..=minutes[around.end - 1].end_s;
        let mut zoom = plot(&title, time(), bandwidth(), bytes(&minutes[around]));
        zoom.marks = vec![PlotMark::x("the load changes", minutes[change - 1].end_s, None)];
        zoom.marks.extend(noted.iter().filter(|mark| shown.contains(&mark.at)).cloned());
        plots.push(zoom);
    }
    if minutes.last().is_some_and(|last| last.fills > 0.0) {
        let written = PlotAxis::linear("capacities written", Unit::Plain);
        plots.push(plot("IOPS over what was written", written, rate(), iops(fills)));
    }
    plots
}
