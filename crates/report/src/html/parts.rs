//! The parts of a page: a step, a table, the place of a chart. Owns how each reads without a script; does not know what
//! else is on the page.

use crate::answer::{beside_operations, step_line, what};
use crate::charts::{Series, StepCharts, over_time};
use crate::resolved;
use crate::section::{Matrix, Section};
use crate::table::visible;
use crate::tables::{self, STREAMS_SHOWN, Table, percentile, seconds, time};
use crate::view::{EnvironmentSummary, StepSummary};
use fathom_schema::StepRecord;
use fathom_units::{Bytes, BytesPerSec, Iops, significant};
use maud::{Markup, html};

/// Rows of the table behind a step's charts at most: what someone reads, or has read to them.
const ROWS_MAX: usize = 60;

/// The parts of an answer: drawings first, each with its figures in the tables after it.
pub(super) fn answer(sections: &[Section]) -> Markup {
    let firsts = sections.iter().scan(0, |next, section| {
        let first = *next;
        *next += section.plots.len();
        Some(first)
    });
    html! {
        @for (section, first) in sections.iter().zip(firsts) {
            section.part {
                h2 { (section.title) }
                @for line in &section.lines { p { (visible(line)) } }
                @if !section.plots.is_empty() {
                    div.charts {
                        @for (at, plot) in section.plots.iter().enumerate() {
                            figure.chart data-chart="plot" data-plot=(first + at) hidden {
                                figcaption {
                                    (plot.title) span.unseen { ". The tables of this part have its figures." }
                                }
                            }
                        }
                    }
                }
                @for matrix in &section.matrices { (map(matrix)) }
                @for (caption, part) in &section.tables { (table(part, caption)) }
                @for (caption, part) in section.folded.iter().filter(|(_, part)| !part.rows.is_empty()) {
                    details { summary { (caption) } (table(part, caption)) }
                }
            }
        }
    }
}

/// Figures over rows and columns, each on a shade of its size.
fn map(matrix: &Matrix) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(matrix.caption) {
            table.heat {
                caption { (matrix.caption) }
                thead { tr { td {} @for title in &matrix.columns { th.number scope="col" { (title) } } } }
                tbody {
                    @for (name, row) in &matrix.rows {
                        tr {
                            th scope="row" { (name) }
                            @for value in row {
                                td class={ "number heat-" (matrix.level(*value)) } { (matrix.written(*value)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// One step: what ran, its figures, charts and tables.
pub(super) fn step(
    step: &StepSummary,
    record: &StepRecord,
    charts: &StepCharts,
    is_one_of_several: bool,
) -> Markup {
    let shown = &step.streams[..step.streams.len().min(STREAMS_SHOWN)];
    let parts = tables::parts(step, shown);
    let has_intervals = !record.intervals.is_empty();
    html! {
        @if is_one_of_several { p.answer { (step_line(step)) } }
        @if let Some(until) = step.partial_until_s {
            p.note { "No end was stored: figures go up to second " (format!("{until:.0}")) "." }
        }
        p { "Measured for " (seconds(step.total.end_s - step.total.start_s)) ":" }
        ul.streams {
            @for stream in shown {
                li {
                    @if shown.len() > 1 { strong { bdi { (visible(&stream.name)) } } ": " }
                    (what(stream))
                }
            }
            @if shown.len() < step.streams.len() {
                li { "and " (step.streams.len() - shown.len()) " more, which JSON and CSV have" }
            }
        }
        (tiles(step))
        @if has_intervals {
            @let behind = "The table over time has its figures.";
            div.charts {
                (chart("iops", Some(step.index), "IOPS over time", behind))
                (chart("latency", Some(step.index), "Response time over time", behind))
                (chart("heat", Some(step.index), "Response times of all operations over time", behind))
                (chart("percentiles", Some(step.index), "Latency by share of operations",
                    "The table of latencies has its figures."))
                (chart("bandwidth", Some(step.index), "Bandwidth over time", behind))
                (chart("depth", Some(step.index), "Operations in flight over time", behind))
                (chart("busy", Some(step.index), "Processors and devices in use", behind))
            }
        }
        (table(&tables::rates(&parts), "Operations and rates"))
        (table(&tables::latencies(&parts), "Latencies"))
        (table(&tables::targets(step, shown), "By target"))
        (table(&tables::queues(shown), "Queues and workers"))
        @for line in beside_operations(shown) { p { bdi { (line) } } }
        (table(&tables::errors(&parts), "Errors"))
        (table(&tables::devices(&step.devices), "Block devices"))
        (table(&tables::timeline(&charts.marks), "On the time line"))
        @if has_intervals { (time_table(record, charts)) }
        (resolved(step, "The step with every option resolved", None))
        @if !step.environment_changes.is_empty() {
            details {
                summary { "What of the environment was different at the end" }
                (facts(&step.environment_changes))
            }
        }
    }
}

/// The figures that people look for first.
fn tiles(step: &StepSummary) -> Markup {
    let all = &step.total.all;
    let latency = &all.response;
    let mean = if latency.count == 0 { "n/a".to_owned() } else { time(latency.mean_ns) };
    let tiles = [
        ("IOPS", Iops(all.iops).to_string()),
        ("bandwidth", BytesPerSec(all.bytes_per_s).to_string()),
        ("mean", mean),
        ("p50", percentile(latency, 50.0)),
        ("p99", percentile(latency, 99.0)),
        ("p99.9", percentile(latency, 99.9)),
    ];
    html! {
        dl.tiles { @for (name, value) in tiles { div { dt { (name) } dd { (value) } } } }
    }
}

/// The place of a chart, shown once the script has drawn it, and a word on where its figures are told.
pub(super) fn chart(kind: &str, step: Option<u32>, title: &str, figures: &str) -> Markup {
    html! {
        figure.chart data-chart=(kind) data-step=[step] hidden {
            figcaption { (title) span.unseen { ". " (figures) } }
        }
    }
}

/// Characters from which on a cell goes on in the next line: as many as the widest figures with their intervals have.
const LONG_MIN: usize = 48;

/// Whether a cell is text that does not fit beside others on a page of paper.
fn is_long(cell: &str) -> bool {
    cell.chars().count() > LONG_MIN
}

/// A table with its caption and remark; nothing without rows.
pub(super) fn table(table: &Table, caption: &str) -> Markup {
    let filled = table.filled();
    let class = |at: usize| table.columns[at].right.then_some("number");
    let of_cell = |at: usize, cell: &str| class(at).or_else(|| is_long(cell).then_some("long"));
    html! {
        @if !table.rows.is_empty() {
            div.scroll tabindex="0" role="region" aria-label=(caption) {
                table {
                    caption { (caption) }
                    thead { tr {
                        @for &at in &filled {
                            @if table.columns[at].title.is_empty() { td {} }
                            @else { th scope="col" class=[class(at)] { (table.columns[at].title) } }
                        }
                    } }
                    tbody {
                        @for row in &table.rows {
                            tr { @for &at in &filled { td class=[of_cell(at, &row[at])] { bdi { (row[at]) } } } }
                        }
                    }
                }
            }
            @if let Some(remark) = table.remark { p.remark { (remark) } }
        }
    }
}

/// What the charts over time show, in few rows.
fn time_table(record: &StepRecord, charts: &StepCharts) -> Markup {
    let (cell_s, series, busy) = over_time(record, ROWS_MAX);
    let is_reduced = cell_s > charts.cell_s || charts.reduced > 1;
    let has_errors = series.errors.iter().any(|&count| count > 0);
    let titles = ["IOPS", "least", "most", "bandwidth", "mean", "p50", "p99", "p99.9", "max", "in flight"];
    html! {
        details {
            summary { "Over time, as a table" }
            div.scroll tabindex="0" role="region" aria-label="Over time" {
                table {
                    caption {
                        "All streams together, response times, per " (seconds(cell_s))
                        @if is_reduced { "; least and most are those of an interval" }
                    }
                    thead { tr {
                        th scope="col" { "from second" }
                        @for title in titles { th.number scope="col" { (title) } }
                        @for line in &busy {
                            th.number scope="col" {
                                @if line.name.is_empty() { "processors" } @else { bdi { (visible(&line.name)) } }
                                " in use"
                            }
                        }
                        @if has_errors { th.number scope="col" { "errors" } }
                    } }
                    tbody {
                        @for (at, cells) in time_rows(&series).into_iter().enumerate() {
                            tr {
                                td.number { (format!("{:.3}", at as f64 * cell_s).trim_end_matches('0').trim_end_matches('.')) }
                                @for cell in cells { td.number { (cell) } }
                                @for line in &busy { td.number { (in_use(line.share[at])) } }
                                @if has_errors { td.number { (series.errors[at]) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn in_use(share: Option<f64>) -> String {
    share.map_or("n/a".to_owned(), |share| format!("{} %", significant(share * 100.0)))
}

/// A row per cell, in the order of the headings.
fn time_rows(series: &Series) -> Vec<[String; 10]> {
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
        errors: _,
    } = series;
    let shown = |value: Option<f64>, how: fn(f64) -> String| value.map_or("n/a".to_owned(), how);
    let rate = |value| shown(value, |iops| Iops(iops).to_string());
    (0..iops.len())
        .map(|at| {
            let [mean, p50, p99, p999, max] =
                [mean_ns, p50_ns, p99_ns, p999_ns, max_ns].map(|values| shown(values[at], time));
            let bandwidth = shown(bytes_per_s[at], |bytes| BytesPerSec(bytes).to_string());
            let [mid, low, high] = [iops, iops_min, iops_max].map(|values| rate(values[at]));
            [mid, low, high, bandwidth, mean, p50, p99, p999, max, shown(depth[at], significant)]
        })
        .collect()
}

/// A step with every option resolved; `name` tells it from others.
pub(super) fn resolved(step: &StepSummary, title: &str, name: Option<&str>) -> Markup {
    let (text, is_cut) = resolved::text(step);
    html! {
        details {
            summary { (title) @if let Some(name) = name { ": " bdi { (visible(name)) } } }
            pre tabindex="0" { code { (super::lines_visible(&text)) } }
            @if is_cut { p.remark { (resolved::CUT) } }
        }
    }
}

/// Facts as a table.
pub(super) fn facts(facts: &[EnvironmentSummary]) -> Markup {
    let told = |bytes: u64| Bytes(bytes).approximate();
    let value = |value: Option<&String>, bytes: Option<u64>| {
        let value = || value.map_or("not readable".to_owned(), |value| visible(value.trim()));
        bytes.map_or_else(value, told)
    };
    html! {
        div.scroll tabindex="0" role="region" aria-label="Facts" {
            table {
                thead { tr {
                    @for title in ["of", "fact", "value", "read from"] { th scope="col" { (title) } }
                } }
                tbody {
                    @for fact in facts {
                        @let EnvironmentSummary { subject, name, value: found, bytes, source } = fact;
                        tr {
                            td { bdi { (visible(subject)) } }
                            td { (visible(name)) }
                            td.value { bdi { (value(found.as_ref(), *bytes)) } }
                            td { code { (visible(source)) } }
                        }
                    }
                }
            }
        }
    }
}
