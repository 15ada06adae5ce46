//! Figures of a step, and of its streams and the kinds of their operations: tables, which of the parts the verdict names, and drawings.

use super::cells::CellRow;
use super::{Table, changed, figure, interval, percent, title};
use crate::plot::Plot;
use crate::table::{left, right, visible};
use fathom_analysis::compare::{
    Comparison, MORE_RUNS_MAX, Metric, PartComparison, StepComparison, other_losses, possible_losses,
};
use fathom_units::Ratio;

/// Parts that the verdict names at most, of each step.
const NAMED: usize = 4;

/// The figures that decide, part by part.
pub fn part_rows(step: &StepComparison) -> Vec<CellRow> {
    let of = |(name, metrics): (String, Vec<&Metric>)| {
        metrics.into_iter().map(move |metric| CellRow::of(name.clone(), metric)).collect::<Vec<_>>()
    };
    deciding(step).flat_map(of).collect()
}

/// Each part's name with its figures that decide.
fn deciding(step: &StepComparison) -> impl Iterator<Item = (String, Vec<&Metric>)> {
    step.parts
        .iter()
        .map(|part| (visible(&part.name()), part.metrics.iter().filter(|metric| metric.decides).collect()))
}

/// What the verdict says of parts whose figures are such: `p99 +40 % of writer`.
pub(super) fn told(
    step: &StepComparison,
    is_it: impl Fn(&&Metric) -> bool,
    change: impl Fn(&Metric) -> String,
) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for (name, metrics) in deciding(step) {
        let own = metrics.into_iter().filter(|metric| is_it(metric));
        all.extend(own.map(|metric| format!("{} of {name}", change(metric))));
    }
    let more = all.len().saturating_sub(NAMED);
    all.truncate(NAMED);
    if more > 0 {
        all.push(format!("and {more} figures more of streams and kinds"));
    }
    all
}

/// What of parts leaves a comparison open of which all that decides of the whole is told.
pub(super) fn doubts(found: &Comparison, margin: Ratio) -> String {
    let of = |(part, metric): (&PartComparison, &Metric)| {
        format!("{} {} of {}", title(&metric.name), percent(metric.change), visible(&part.name()))
    };
    let lost = found.steps.iter().flat_map(|step| possible_losses(step, margin.value())).map(of);
    let mut lost: Vec<String> = lost.collect();
    if lost.is_empty() {
        return other_doubts(found);
    }
    let more = lost.len().saturating_sub(NAMED);
    lost.truncate(NAMED);
    let more_figures =
        if more > 0 { format!(", and {more} figures more of streams and kinds,") } else { String::new() };
    let needed = match found.more_runs {
        None => "longer runs, or more of each side, tell".to_owned(),
        Some(1) => "about one more run of each side tells".to_owned(),
        Some(MORE_RUNS_MAX..) => format!("{MORE_RUNS_MAX} more runs of each side or more tell"),
        Some(more) => format!("about {more} more runs of each side tell"),
    };
    format!("{}{more_figures} may be a loss; {needed}", lost.join(", "))
}

/// What leaves it open where no part may be a loss.
fn other_doubts(found: &Comparison) -> String {
    let of = |step: &StepComparison| -> Vec<String> {
        let change = |metric: &Metric| format!("{} {}", title(&metric.name), percent(metric.change));
        let place = match found.steps.as_slice() {
            [_] => String::new(),
            _ => format!(" in {} {}", found.kind.name(), visible(&step.name)),
        };
        other_losses(step).map(|metric| change(metric) + &place).collect()
    };
    let mut worse: Vec<String> = found.steps.iter().flat_map(of).collect();
    let more = worse.len().saturating_sub(NAMED);
    worse.truncate(NAMED);
    match (worse.as_slice(), more) {
        ([], _) => "some run did nothing of what the others did".to_owned(),
        ([one], 0) => format!("{one} is worse, which does not decide by itself"),
        (all, 0) => format!("{} are worse, which do not decide by themselves", all.join(", ")),
        (all, more) => {
            format!(
                "{}, and {more} figures more are worse, which do not decide by themselves",
                all.join(", ")
            )
        }
    }
}

/// How much each figure that decides changed, part by part.
pub(super) fn plots(step: &StepComparison, margin: Ratio) -> Vec<Plot> {
    let mut by_figure: Vec<(&str, Vec<(String, &Metric)>)> = Vec::new();
    for (name, metrics) in deciding(step) {
        for metric in metrics {
            match by_figure.iter_mut().find(|(figure, _)| *figure == metric.name) {
                Some((_, parts)) => parts.push((name.clone(), metric)),
                None => by_figure.push((&metric.name, vec![(name.clone(), metric)])),
            }
        }
    }
    let of = |(name, parts): (&str, Vec<(String, &Metric)>)| {
        changed(format!("Change of {} by stream and kind, with its interval", title(name)), &parts, margin)
    };
    by_figure.into_iter().map(of).collect()
}

/// The same as a table; nothing where a step has no parts.
pub(super) fn table(step: &StepComparison, letter: char) -> Option<(String, Table)> {
    let rows = part_rows(step).into_iter().map(|CellRow { cell, figure, values }| {
        [cell, figure].into_iter().chain(values).collect::<Vec<String>>()
    });
    let columns = vec![
        left("stream or kind"),
        left("figure"),
        right("A"),
        right(side(letter)),
        right("change"),
        right("interval"),
        left("verdict"),
    ];
    let table = Table { columns, rows: rows.collect(), remark: Some("intervals hold together with 95 %") };
    (!step.parts.is_empty()).then(|| ("Streams and kinds of operations".to_owned(), table))
}

/// Heading of another side's figures, which is a fixed text: of sides beyond D there are hardly any.
const fn side(letter: char) -> &'static str {
    match letter {
        'B' => "B",
        'C' => "C",
        'D' => "D",
        _ => "new",
    }
}

/// Every figure of the whole step.
pub(super) fn figures(step: &StepComparison, letter: char) -> Table {
    let row = |metric: &Metric| {
        let Metric {
            name,
            base,
            new,
            change,
            interval: _,
            is_wide: _,
            verdict,
            decides,
            needs,
            more_is_better: _,
            more_runs: _,
        } = metric;
        let change = if needs.is_some() { String::new() } else { percent(*change) };
        vec![
            title(name).to_owned(),
            figure(metric, *base),
            figure(metric, *new),
            change,
            interval(metric),
            verdict.name().to_owned(),
            if *decides { "decides" } else { "" }.to_owned(),
        ]
    };
    let columns = vec![
        left("figure"),
        right("A"),
        right(side(letter)),
        right("change"),
        right("interval"),
        left("verdict"),
        left(""),
    ];
    let remark = Some("intervals hold together with 95 %");
    Table { columns, rows: step.metrics.iter().map(row).collect(), remark }
}
