//! Tests and curves beside each other: a row per load for what decides, the same drawn with all loads in one, and what the
//! curves come to. Dozens of loads would fill dozens of pages drawn one by one.

use super::{changed, figure, percent, title};
use crate::curve::{number, too_few_for, with_interval};
use crate::plot::{Plot, PlotAxis, PlotLine, Shape, Unit};
use crate::section::Section;
use crate::table::{left, right, visible};
use crate::tables::Table;
use fathom_analysis::compare::{
    Comparison, CurveFigure, Kind, Metric, Replicates, StepComparison, Verdict, WIDE,
};
use fathom_analysis::scaling::Estimate;
use fathom_units::{Iops, Ratio};

/// One figure of one load, as texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellRow {
    /// The load.
    pub cell: String,
    /// Name of the figure.
    pub figure: String,
    /// Of the first side, of the second, the change, its interval and the verdict.
    pub values: [String; 5],
}

impl CellRow {
    /// A figure of the load, or the part, of this name.
    pub(super) fn of(cell: String, metric: &Metric) -> Self {
        let values = [
            figure(metric, metric.base),
            figure(metric, metric.new),
            if metric.needs.is_some() { "–".to_owned() } else { percent(metric.change) },
            interval(metric),
            metric.verdict.name().to_owned(),
        ];
        Self { cell, figure: title(&metric.name).to_owned(), values }
    }
}

/// The figures that decide, load by load.
pub fn cell_rows(found: &Comparison) -> Vec<CellRow> {
    let of_step = |step: &StepComparison| -> Vec<CellRow> {
        let deciding = step.metrics.iter().filter(|metric| metric.decides);
        deciding.map(|metric| CellRow::of(visible(&step.name), metric)).collect()
    };
    found.steps.iter().flat_map(of_step).collect()
}

/// The interval of a change, or why there is none.
pub fn interval(metric: &Metric) -> String {
    let end = |change: f64| if change > WIDE { beyond() } else { percent(change) };
    match (metric.needs, metric.interval) {
        (Some(needs), _) => too_few_for(needs),
        (None, Some((low, _))) if low > WIDE => beyond(),
        (None, Some((low, high))) => format!("{} to {}", end(low), end(high)),
        (None, None) => "n/a".to_owned(),
    }
}

/// An end of an interval that only says that it is far away.
fn beyond() -> String {
    format!("> {}", percent(WIDE))
}

/// What varies, and by how much where it varies most; nothing where that is not known, or nothing varies.
pub fn noise(found: &Comparison) -> Option<String> {
    let floor = |step: &&StepComparison| step.noise_floor.unwrap_or(0.0);
    let most = found.steps.iter().max_by(|a, b| floor(a).total_cmp(&floor(b)))?;
    noise_of(most, if found.steps.len() > 1 { "up to " } else { "" })
}

/// What varies of one step, and by how much; nothing where that is not known, or nothing varies: what a simulated device does is
/// exact, and there is no floor then. `up_to`: what stands before the share.
pub fn noise_of(step: &StepComparison, up_to: &str) -> Option<String> {
    let floor = step.noise_floor.filter(|floor| *floor > 0.0)?;
    let of = vary(step.replicates.0);
    let share = percent(floor);
    Some(if share == percent(0.0) {
        format!("{of} differ by less than 0.1 % of IOPS")
    } else {
        format!("{of} differ by {up_to}{} of IOPS", share.trim_start_matches('+'))
    })
}

/// What of the first side differs from one to the next.
fn vary(of: Replicates) -> &'static str {
    match of {
        Replicates::Runs => "runs of A",
        Replicates::Rounds => "rounds of A",
        Replicates::Intervals => "the halves of A",
    }
}

/// What the curves come to, per figure: its name, both sides, and whether they differ.
pub fn curve_rows(curve: &[CurveFigure]) -> Vec<[String; 4]> {
    let row = |one: &CurveFigure| {
        let CurveFigure { name, is_rate, base, new, overlap, change, is_open: _ } = one;
        let text = |estimate: &Option<Estimate>| match estimate {
            None => "none".to_owned(),
            Some(one) if *is_rate => with_interval(one, "/s", &|x| Iops(x).to_string()),
            Some(one) => with_interval(one, "", &number),
        };
        let differ = match overlap {
            Some(true) => "intervals overlap",
            Some(false) => "intervals do not overlap",
            None => "n/a: no interval on both sides",
        };
        let changed = change.as_ref().map(|one| {
            let (low, high) = (percent(one.interval.0), percent(one.interval.1));
            format!("; {} (at least 95 %: {low} to {high}), {}", percent(one.change), one.verdict.name())
        });
        [name.clone(), text(base), text(new), differ.to_owned() + &changed.unwrap_or_default()]
    };
    curve.iter().map(row).collect()
}

/// What is read off curves and decides, with a verdict: `highest rate within the limits −80 %`.
pub(super) fn told_of_curves(curve: &[CurveFigure], verdict: Verdict) -> Vec<String> {
    let told = |one: &CurveFigure| {
        let change = one.deciding().filter(|change| change.verdict == verdict)?;
        Some(format!("{} {}", one.name, percent(change.change)))
    };
    curve.iter().filter_map(told).collect()
}

/// That what was asked for may have changed, or not, where that leaves the verdict open.
pub(super) fn open_answer(found: &Comparison) -> Option<String> {
    if let Some(one) = found.curve.iter().find(|one| one.is_open) {
        return Some(format!(
            "Inconclusive: not both sides have a {} that is known well enough to be set beside the other; longer trials, or more runs, \
             tell more.",
            one.name
        ));
    }
    let is_open = |one: &&CurveFigure| one.deciding().is_some_and(|it| it.verdict == Verdict::Inconclusive);
    let one = found.curve.iter().find(is_open)?;
    let change = one.deciding()?;
    let (low, high) = (percent(change.interval.0), percent(change.interval.1));
    Some(format!(
        "Inconclusive: the {} changed by {} (at least 95 %: {low} to {high}); longer trials, or more runs, tell more.",
        one.name,
        percent(change.change)
    ))
}

/// The figures that decide, each with the loads that it decides about, in their order.
fn deciding(found: &Comparison) -> Vec<(&str, Vec<(String, &Metric)>)> {
    let mut all: Vec<(&str, Vec<(String, &Metric)>)> = Vec::new();
    for step in &found.steps {
        for metric in step.metrics.iter().filter(|metric| metric.decides) {
            let one = (visible(&step.name), metric);
            match all.iter_mut().find(|(name, _)| *name == metric.name) {
                Some((_, loads)) => loads.push(one),
                None => all.push((&metric.name, vec![one])),
            }
        }
    }
    all
}

/// Of each figure that decides: how much it changed, load by load, and what it was on either side. The table below them holds
/// the same in words.
fn plots(found: &Comparison, letter: char, margin: Ratio) -> Vec<Plot> {
    let of = |(name, loads): (&str, Vec<(String, &Metric)>)| {
        let (title, kind) = (title(name), found.kind.name());
        let change = changed(format!("Change of {title} by {kind}, with its interval"), &loads, margin);
        [change, both(format!("{title} of both sides by {kind}"), name, &loads, letter)]
    };
    deciding(found).into_iter().flat_map(of).collect()
}

/// Names along an axis, as short as they stay distinct: loads of the PTS are many, so that `RND 64 KiB 65/35` beside others that
/// are random becomes `64K 65/35`.
pub(super) fn places<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<(f64, String)> {
    let access =
        ["RND ", "SEQ "].into_iter().find(|access| names.clone().all(|name| name.starts_with(access)));
    let short = |name: &str| {
        let units = [(" KiB", "K"), (" MiB", "M"), (" B ", "B ")];
        let name = access.and_then(|access| name.strip_prefix(access)).unwrap_or(name);
        units.iter().fold(name.to_owned(), |name, (unit, letter)| name.replace(unit, letter))
    };
    names.enumerate().map(|(at, name)| (at as f64, short(name))).collect()
}

/// What named figures were on either side. Equal distances are equal ratios: block sizes and loads span orders of magnitude, and
/// so do their figures.
fn both(title: String, name: &str, loads: &[(String, &Metric)], letter: char) -> Plot {
    let y = match name {
        "iops" => PlotAxis::log("IOPS", Unit::Rate),
        "bandwidth" => PlotAxis::log("bandwidth", Unit::Bandwidth),
        other => PlotAxis::log(other, Unit::Latency),
    };
    let known = || loads.iter().filter(|(_, metric)| metric.needs.is_none()).enumerate();
    let line = |side: String, value: fn(&Metric) -> f64| {
        let points: Vec<(f64, f64)> = known().map(|(at, (_, metric))| (at as f64, value(metric))).collect();
        PlotLine::new(side, Shape::Joined, &points)
    };
    Plot {
        title,
        x: PlotAxis::named("", places(known().map(|(_, (name, _))| name.as_str()))),
        y,
        lines: vec![line("A".to_owned(), |one| one.base), line(letter.to_string(), |one| one.new)],
        marks: Vec::new(),
        bands: Vec::new(),
    }
}

/// What the curves come to, for a page; nothing where the sides have none.
pub(super) fn curves(curve: &[CurveFigure], letter: char) -> Option<Section> {
    let name = if letter == 'B' { "B" } else { "the other side" };
    let rows: Vec<Vec<String>> = curve_rows(curve).into_iter().map(Vec::from).collect();
    let columns = vec![left("figure"), left("A"), left(name), left("")];
    let is_any = !rows.is_empty();
    let table = Table { columns, rows, remark: Some("intervals of 95 % each") };
    is_any.then(|| Section {
        title: "Curves".to_owned(),
        tables: vec![("What the curves of both sides come to".to_owned(), table)],
        ..Section::default()
    })
}

/// The loads and the curves, for a page.
pub(super) fn sections(found: &Comparison, letter: char, margin: Ratio) -> Vec<Section> {
    let name = if letter == 'B' { "B" } else { "the other side" };
    let mut all: Vec<Section> = curves(&found.curve, letter).into_iter().collect();
    if found.steps.is_empty() {
        return all;
    }
    let rows = cell_rows(found).into_iter().map(|CellRow { cell, figure, values }| {
        [cell, figure].into_iter().chain(values).collect::<Vec<String>>()
    });
    let columns = vec![
        left(found.kind.name()),
        left("figure"),
        right("A"),
        right(name),
        right("change"),
        right("interval"),
        left("verdict"),
    ];
    let table = Table { columns, rows: rows.collect(), remark: Some("intervals hold together with 95 %") };
    let heading = match found.kind {
        Kind::Cells => "Loads of the measurement window",
        Kind::Loads => "Loads that were asked for",
        Kind::Steps => "Steps",
    };
    all.push(Section {
        title: heading.to_owned(),
        lines: noise(found).map(|noise| format!("Noise floor: {noise}.")).into_iter().collect(),
        plots: plots(found, letter, margin),
        tables: vec![("Figures that decide, of both sides".to_owned(), table)],
        ..Section::default()
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_along_an_axis_have_short_names() {
        let of = |names: &[&str]| -> Vec<String> {
            places(names.iter().copied()).into_iter().map(|(_, name)| name).collect()
        };
        assert_eq!(of(&["RND 64 KiB 65/35", "RND 512 B 0/100"]), ["64K 65/35", "512B 0/100"]);
        assert_eq!(of(&["RND 4 KiB 0/100", "SEQ 1 MiB 100/0"]), ["RND 4K 0/100", "SEQ 1M 100/0"]);
        assert_eq!(of(&["p99 read", "IOPS"]), ["p99 read", "IOPS"]);
    }
}
