//! A drawing as data: lines, points or bars over axes, with what is marked on them. Owns the form that `web/src/charts`
//! draws, for reports and pages alike; does not know what it is about, nor how it looks.

use crate::charts::rounded;
use schemars::JsonSchema;
use serde::Serialize;

/// Points of a line that was computed rather than measured.
const DENSE: u32 = 96;

/// One drawing.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// From left to right.
    pub x: PlotAxis,
    /// From bottom to top.
    pub y: PlotAxis,
    /// What is drawn, in the order of the legend.
    pub lines: Vec<PlotLine>,
    /// Values of an axis that mean something.
    pub marks: Vec<PlotMark>,
    /// Parts of the plane that mean something.
    pub bands: Vec<PlotBand>,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PlotAxis {
    /// What it measures.
    pub label: String,
    /// How values are written.
    pub unit: Unit,
    /// Whether equal distances are equal ratios.
    pub is_log: bool,
    /// Names of places on it; where there are some, nothing else is written at the axis.
    pub names: Vec<(f64, String)>,
}

/// What values of an axis are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// A number.
    Plain,
    /// Operations per second.
    Rate,
    /// Bytes per second.
    Bandwidth,
    /// Nanoseconds.
    Latency,
    /// Seconds since something began.
    Clock,
    /// Bytes.
    Bytes,
    /// Nines of a share: 2 is 99 %.
    Nines,
    /// A change as a share of what it was: 0.03 is +3 %.
    Change,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A line through all points.
    Line,
    /// Points alone.
    Points,
    /// Points, joined.
    Joined,
    /// A bar from zero at each point.
    Bars,
}

/// A line, points or bars.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PlotLine {
    /// Its name in the legend.
    pub label: String,
    /// How it is drawn.
    pub shape: Shape,
    /// Places on the x axis, ascending.
    pub x: Vec<f64>,
    /// As many values.
    pub y: Vec<f64>,
    /// Lower ends of the intervals of the values; empty where none has one.
    pub low: Vec<f64>,
    /// Upper ends.
    pub high: Vec<f64>,
}

impl PlotLine {
    /// Of points without intervals; those that are no numbers are left out.
    pub(crate) fn new(label: impl Into<String>, shape: Shape, points: &[(f64, f64)]) -> Self {
        let mut kept: Vec<(f64, f64)> =
            points.iter().copied().filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
        kept.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (x, y) = kept.into_iter().map(|(x, y)| (rounded(x), rounded(y))).unzip();
        Self { label: label.into(), shape, x, y, low: Vec::new(), high: Vec::new() }
    }

    /// Of a function, between two places; the steps are equal ratios where `is_log`.
    pub(crate) fn of(
        label: impl Into<String>,
        from: f64,
        to: f64,
        is_log: bool,
        y: impl Fn(f64) -> f64,
    ) -> Self {
        let at = |step: u32| {
            let share = f64::from(step) / f64::from(DENSE);
            if is_log { from * (to / from).powf(share) } else { from + (to - from) * share }
        };
        let points: Vec<(f64, f64)> = (0..=DENSE).map(|step| (at(step), y(at(step)))).collect();
        Self::new(label, Shape::Line, &points)
    }

    /// Points with their intervals, which a single measurement has none of.
    pub(crate) fn measured(label: impl Into<String>, shape: Shape, points: &[PlotPoint]) -> Self {
        let mut points: Vec<&PlotPoint> = points.iter().filter(|point| point.y.is_finite()).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        let plain: Vec<(f64, f64)> = points.iter().map(|point| (point.x, point.y)).collect();
        let mut line = Self::new(label, shape, &plain);
        if points.iter().any(|point| point.interval.is_some()) {
            let ends = points.iter().map(|point| point.interval.unwrap_or((point.y, point.y)));
            (line.low, line.high) = ends.map(|(low, high)| (rounded(low), rounded(high))).unzip();
        }
        line
    }
}

/// A measured point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PlotPoint {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) interval: Option<(f64, f64)>,
}

/// A value of an axis that means something.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PlotMark {
    /// What it means.
    pub label: String,
    /// Whether it is a value of the x axis; else of the y axis.
    pub is_x: bool,
    /// The value.
    pub at: f64,
    /// Its interval, 95 %.
    pub interval: Option<(f64, f64)>,
}

impl PlotMark {
    /// A place of the x axis.
    pub(crate) fn x(label: impl Into<String>, at: f64, interval: Option<(f64, f64)>) -> Self {
        // Of one that is open nothing can be drawn.
        let interval = interval.filter(|(low, high)| low.is_finite() && high.is_finite());
        let interval = interval.map(|(low, high)| (rounded(low), rounded(high)));
        Self { label: label.into(), is_x: true, at: rounded(at), interval }
    }

    /// A height.
    pub(crate) fn y(label: impl Into<String>, at: f64, interval: Option<(f64, f64)>) -> Self {
        Self { is_x: false, ..Self::x(label, at, interval) }
    }
}

/// A part of the plane.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PlotBand {
    /// What it means.
    pub label: String,
    /// From and to on the x axis; absent: all of it.
    pub x: Option<(f64, f64)>,
    /// From and to on the y axis.
    pub y: (f64, f64),
}

impl PlotAxis {
    /// An axis of even distances.
    pub(crate) fn linear(label: &str, unit: Unit) -> Self {
        Self { label: label.to_owned(), unit, is_log: false, names: Vec::new() }
    }

    /// An axis of even ratios.
    pub(crate) fn log(label: &str, unit: Unit) -> Self {
        Self { is_log: true, ..Self::linear(label, unit) }
    }

    /// An axis on which places have names.
    pub(crate) fn named(label: &str, names: Vec<(f64, String)>) -> Self {
        Self { names, ..Self::linear(label, Unit::Plain) }
    }
}

/// A change above which shares of what it was leave no room for the others on an even axis: three times is more than most
/// comparisons are about.
const STEEP: f64 = 2.0;
/// The least ratio that is drawn: of an interval that ends at 0, or below.
const RATIO_MIN: f64 = 1e-3;

impl Plot {
    /// A plot over changes, as one over ratios on an axis of even ratios where a change is so large that all others would lie on
    /// one line.
    pub(crate) fn readable(mut self, ratio: &str) -> Self {
        let mut values = self.lines.iter().flat_map(|line| &line.y);
        if self.y.unit != Unit::Change || values.all(|change| *change <= STEEP) {
            return self;
        }
        let of = |change: f64| rounded((1.0 + change).max(RATIO_MIN));
        for line in &mut self.lines {
            let PlotLine { label: _, shape: _, x: _, y, low, high } = line;
            [y, low, high].into_iter().flatten().for_each(|value| *value = of(*value));
        }
        for mark in self.marks.iter_mut().filter(|mark| !mark.is_x) {
            mark.at = of(mark.at);
            mark.interval = mark.interval.map(|(low, high)| (of(low), of(high)));
        }
        for band in &mut self.bands {
            band.y = (of(band.y.0), of(band.y.1));
        }
        self.y = PlotAxis::log(ratio, Unit::Plain);
        self
    }
}

/// Nanoseconds of seconds.
pub(crate) fn ns(seconds: f64) -> f64 {
    seconds * 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_stand_in_order_and_are_numbers() {
        let line = PlotLine::new("a", Shape::Line, &[(2.0, 1.0), (1.0, 3.0), (3.0, f64::NAN)]);
        assert_eq!((line.x, line.y), (vec![1.0, 2.0], vec![3.0, 1.0]));
        let points = [
            PlotPoint { x: 2.0, y: 20.0, interval: None },
            PlotPoint { x: 1.0, y: 10.0, interval: Some((9.0, 11.0)) },
        ];
        let line = PlotLine::measured("b", Shape::Points, &points);
        assert_eq!((line.low, line.high), (vec![9.0, 20.0], vec![11.0, 20.0]));
    }

    #[test]
    fn a_jump_of_one_quantile_leaves_the_others_to_be_seen() {
        let plot = |last: f64| {
            let points = [(1.0, 0.02), (2.0, -0.1), (3.0, last)];
            let interval = PlotPoint { x: 2.0, y: -0.1, interval: Some((-1.2, 0.1)) };
            Plot {
                title: String::new(),
                x: PlotAxis::linear("", Unit::Nines),
                y: PlotAxis::linear("change", Unit::Change),
                lines: vec![
                    PlotLine::new("a", Shape::Line, &points),
                    PlotLine::measured("b", Shape::Points, &[interval]),
                ],
                marks: vec![PlotMark::y("no change", 0.0, None)],
                bands: vec![PlotBand { label: String::new(), x: None, y: (-0.05, 0.05) }],
            }
            .readable("ratio")
        };
        assert_eq!((plot(1.9).y.is_log, plot(1.9).lines[0].y[2]), (false, 1.9));
        let found = plot(330.0);
        assert_eq!((found.y.is_log, found.y.unit, found.y.label.as_str()), (true, Unit::Plain, "ratio"));
        assert_eq!(found.lines[0].y, [1.02, 0.9, 331.0]);
        // Less than nothing has no place on such an axis.
        assert_eq!((found.lines[1].low[0], found.lines[1].high[0]), (RATIO_MIN, 1.1));
        assert_eq!((found.marks[0].at, found.bands[0].y), (1.0, (0.95, 1.05)));
    }

    #[test]
    fn a_function_is_drawn_from_end_to_end() {
        let line = PlotLine::of("law", 1.0, 64.0, true, |n| n * 2.0);
        assert_eq!((line.x[0], line.x[48], line.x[96]), (1.0, 8.0, 64.0));
        assert_eq!(line.y[96], 128.0);
    }
}
