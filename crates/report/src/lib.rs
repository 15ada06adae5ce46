//! A record rendered: a summary for programs (JSON) and people (text, Markdown, HTML with charts), rows for spreadsheets
//! (CSV), and fio's shapes.
//!
//! Owns which figures are shown, in which units and from which window. Does not know how a record is stored, nor the job
//! texts it came from: what peers' outputs echo is handed in.
#![forbid(unsafe_code)]

mod aims;
mod answer;
pub mod calendar;
mod charts;
pub mod compare;
pub mod curve;
mod figures;
mod fio;
mod history;
mod html;
mod iometer;
mod live;
mod markdown;
pub mod objective;
mod on_targets;
mod operations;
mod plot;
mod resolved;
mod rows;
mod scan;
mod section;
mod steady;
mod summary;
mod table;
mod tables;
mod text;
mod thresholds;
mod view;

pub use charts::{Charts, LimitMark, StepCharts, TimeMark, charts, charts_with};
pub use compare::{EnvironmentDifference, Sides, compare_answered, environments};
pub use fathom_analysis::validity::Progress;
pub use figures::figures_csv;
pub use fio::{
    FioBanner, FioEntry, FioIdleness, FioLog, FioMeasures, FioNames, FioNotStarted, FioPriority, FioSampling,
    FioShape, FioUnified, FioUnits, FioWorkers, LogColumns, LogRequest, LogValue, NotInflated,
    fio_aggregate_log, fio_banner, fio_error, fio_inflated, fio_json, fio_logs, fio_normal,
    fio_operation_log, fio_stored_log, fio_terse, thread_priority,
};
pub use history::Followed;
pub use html::{compare_html, history_html, html, html_of};
pub use iometer::{
    IOMETER_COLUMNS, IometerCpu, IometerHost, IometerRow, IometerShape, IometerSpec, IometerStream,
    IometerTest, iometer_end, iometer_results_from, iometer_uncounted, iometer_updates,
};
pub use live::{
    FiguresView, Gauges, GroupView, IntervalView, KindView, Live, OnTarget, SpanView, StreamView, TargetSpan,
    TargetView, TargetsView, interval_view, live, on_targets,
};
pub use markdown::{compare_markdown, history_markdown, markdown};
pub use operations::OperationsCsv;
pub use plot::{Plot, PlotAxis, PlotBand, PlotLine, PlotMark, Shape, Unit};
pub use rows::Csv;
pub use scan::{places_csv as scan_places, sentence as scan_sentence};
pub use section::{Answered, Map, Part, Rows, answered};
pub use steady::sentence as steady_sentence;
pub use summary::{summary, summary_of};
pub use table::visible;
pub use text::{history_text, text, text_of_answer};
pub use view::{
    Asked, DeviceSummary, EnvironmentSummary, ErrorCount, FindingSummary, HostSummary, KindSummary,
    LatencySummary, NoteSummary, Parameter, Percentile, Point, SCHEMA_VERSION, Source, StepSummary,
    StreamSummary, Summary, TargetFigures, TargetKind, TargetSummary, TargetTogether, Together, Totals,
    Unanswered,
};

/// The summary as a JSON document, pretty-printed with a final newline; its schema is [`json_schema`].
pub fn json(summary: &Summary) -> String {
    let mut text = serde_json::to_string_pretty(summary).expect("a summary has only string keys");
    text.push('\n');
    text
}

/// The JSON schema of [`json`]'s document, kept in `docs/generated/report.schema.json`.
pub fn json_schema() -> String {
    let mut text =
        serde_json::to_string_pretty(&schemars::schema_for!(Summary)).expect("a schema has only string keys");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests;
