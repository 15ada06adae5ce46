//! The parts of an answer: what takes the place of a run's steps for people, or stands before them. Owns the form in which
//! every shape of a report gets them, pages of the server included; does not know what they are about.

use crate::plot::{Plot, PlotAxis, PlotLine, Shape};
use crate::table::{left, right, visible};
use crate::tables::Table;
use crate::view::{Summary, Together, Unanswered};
use schemars::JsonSchema;
use serde::Serialize;

/// Shades of a map of figures.
const LEVELS: f64 = 9.0;
/// Ratio that its scale spans at least: figures that differ by noise alone have one shade.
const SPAN_MIN: f64 = 2.0;

/// A part of the report: a title, lines, drawings, tables.
#[derive(Default)]
pub(crate) struct Section {
    /// Heading.
    pub(crate) title: String,
    /// Said above the tables.
    pub(crate) lines: Vec<String>,
    /// Drawings of what the tables hold.
    pub(crate) plots: Vec<Plot>,
    /// Tables with their captions.
    pub(crate) tables: Vec<(String, Table)>,
    /// Tables of what says little, which pages show to whoever asks for them.
    pub(crate) folded: Vec<(String, Table)>,
    /// Tables of rows × columns of one figure.
    pub(crate) matrices: Vec<Matrix>,
}

/// One figure over rows and columns.
pub(crate) struct Matrix {
    /// What it shows.
    pub(crate) caption: String,
    /// Titles of the columns.
    pub(crate) columns: Vec<&'static str>,
    /// Titles of the rows, each with a value per column.
    pub(crate) rows: Vec<(String, Vec<Option<f64>>)>,
    /// How a value is written.
    pub(crate) print: fn(f64) -> String,
}

impl Matrix {
    /// As a table of texts.
    pub(crate) fn table(&self) -> Table {
        let columns =
            std::iter::once(left("")).chain(self.columns.iter().map(|title| right(title))).collect();
        let row = |(name, values): &(String, Vec<Option<f64>>)| {
            std::iter::once(name.clone()).chain(values.iter().map(|value| self.written(*value))).collect()
        };
        Table { columns, rows: self.rows.iter().map(row).collect(), remark: None }
    }

    /// A value as it is written.
    pub(crate) fn written(&self, value: Option<f64>) -> String {
        value.map_or_else(|| "n/a".to_owned(), self.print)
    }

    /// The shade of a value, 1 to 9; 0 where there is none. Block sizes span orders of magnitude, and so do their figures:
    /// equal steps are equal ratios.
    pub(crate) fn level(&self, value: Option<f64>) -> u8 {
        let Some(value) = value else { return 0 };
        let all = || self.rows.iter().flat_map(|(_, row)| row.iter().flatten().copied());
        let (low, high) = all().fold((f64::INFINITY, 0.0_f64), |(low, high), v| (low.min(v), high.max(v)));
        let low = low.min(high / SPAN_MIN);
        let share = if low > 0.0 { (value / low).ln() / (high / low).ln() } else { 1.0 };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "1 to 9")]
        let level = (1.0 + share.clamp(0.0, 1.0) * (LEVELS - 1.0)).round() as u8;
        level
    }

    /// The same as bars: a group per row, in each the columns in their order. `scale` brings values to the axis's unit.
    pub(crate) fn bars(&self, axis: PlotAxis, scale: f64) -> Plot {
        // One place is left free between groups.
        let width = self.columns.len() as f64 + 1.0;
        let place = |row: usize, column: usize| row as f64 * width + column as f64;
        let middle = (self.columns.len().max(1) - 1) as f64 / 2.0;
        let names =
            self.rows.iter().enumerate().map(|(row, (name, _))| (place(row, 0) + middle, name.clone()));
        let line = |(column, title): (usize, &&'static str)| {
            let rows = self.rows.iter().enumerate();
            let points: Vec<(f64, f64)> = rows
                .filter_map(|(row, (_, values))| Some((place(row, column), values[column]? * scale)))
                .collect();
            PlotLine::new(*title, Shape::Bars, &points)
        };
        Plot {
            title: format!("{}, as bars", self.caption),
            x: PlotAxis::named("", names.collect()),
            y: axis,
            lines: self.columns.iter().enumerate().map(line).collect(),
            marks: Vec::new(),
            bands: Vec::new(),
        }
    }
}

/// What the steps come to together, part by part.
pub(crate) fn sections(summary: &Summary) -> Vec<Section> {
    let mut sections = match &summary.together {
        Some(Together::Steady(answer)) => crate::steady::sections(summary, answer),
        Some(Together::Scan(scan)) => crate::scan::sections(scan),
        Some(Together::Curve(curve)) => crate::curve::sections(curve),
        Some(Together::Objective(found)) => crate::objective::sections(found),
        None => Vec::new(),
    };
    sections.extend(summary.thresholds.iter().flat_map(|all| crate::thresholds::sections(all)));
    sections
}

/// The answer of a run to its question, for a page.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Answered {
    /// What was asked: `curve`, `objective`, `steady`, `scan` or `thresholds`; of a comparison `compare`, of one
    /// that is none `apart`.
    pub kind: String,
    /// The answer in one sentence.
    pub sentence: String,
    /// Its parts, in order.
    pub sections: Vec<Part>,
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Part {
    /// Heading.
    pub title: String,
    /// What is said first.
    pub lines: Vec<String>,
    /// Drawings.
    pub plots: Vec<Plot>,
    /// Figures over rows and columns.
    pub maps: Vec<Map>,
    /// Tables.
    pub tables: Vec<Rows>,
    /// Tables of what says little, which are shown to whoever asks for them.
    pub folded: Vec<Rows>,
}

/// One figure over rows and columns.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Map {
    /// What it shows.
    pub caption: String,
    /// Titles of the columns.
    pub columns: Vec<String>,
    /// Titles of the rows with their cells: text, and shade from 1 to 9, 0 without a value.
    pub rows: Vec<(String, Vec<(String, u8)>)>,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Rows {
    /// What it shows.
    pub caption: String,
    /// Titles of the columns, and whether they hold numbers.
    pub columns: Vec<(String, bool)>,
    /// A text per column.
    pub rows: Vec<Vec<String>>,
    /// What stands below it.
    pub remark: Option<String>,
}

/// The answer of a run; `None` of a run without a question, or without an answer yet.
/// Where there is none, the reason stands in its place.
pub fn answered(summary: &Summary) -> Option<Answered> {
    let why = summary.unanswered.as_ref().map(Unanswered::sentence);
    let sentences: Vec<String> = why.into_iter().chain(summary.sentence()).collect();
    if sentences.is_empty() {
        return None;
    }
    Some(Answered {
        kind: summary.asked()?.to_owned(),
        sentence: sentences.join(" "),
        sections: sections(summary).iter().map(part).collect(),
    })
}

pub(crate) fn part(section: &Section) -> Part {
    let Section { title, lines, plots, tables, folded, matrices } = section;
    let listed =
        |all: &[(String, Table)]| all.iter().filter(|(_, table)| !table.rows.is_empty()).map(rows).collect();
    Part {
        title: title.clone(),
        lines: lines.iter().map(|line| visible(line)).collect(),
        plots: plots.clone(),
        maps: matrices.iter().map(map).collect(),
        tables: listed(tables),
        folded: listed(folded),
    }
}

fn map(matrix: &Matrix) -> Map {
    let cell = |value: &Option<f64>| (matrix.written(*value), matrix.level(*value));
    Map {
        caption: matrix.caption.clone(),
        columns: matrix.columns.iter().map(|&title| title.to_owned()).collect(),
        rows: matrix.rows.iter().map(|(name, row)| (name.clone(), row.iter().map(cell).collect())).collect(),
    }
}

fn rows((caption, table): &(String, Table)) -> Rows {
    let filled = table.filled();
    let cells = |row: &Vec<String>| filled.iter().map(|&at| visible(&row[at])).collect();
    Rows {
        caption: caption.clone(),
        columns: filled
            .iter()
            .map(|&at| (table.columns[at].title.to_string(), table.columns[at].right))
            .collect(),
        rows: table.rows.iter().map(cells).collect(),
        remark: table.remark.map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_does_not_fill_the_shades_of_a_map() {
        let of = |values: &[f64]| {
            let row = values.iter().map(|value| Some(*value)).collect();
            let rows = vec![("4 KiB".to_owned(), row)];
            let map = Matrix { caption: String::new(), columns: Vec::new(), rows, print: |v| v.to_string() };
            values.iter().map(|value| map.level(Some(*value))).collect::<Vec<_>>()
        };
        assert_eq!(of(&[1000.0, 1005.0, 990.0]), [9, 9, 9]);
        assert_eq!(of(&[1000.0, 500.0, 10.0]), [9, 8, 1]);
    }
}
