//! The record as rows for a spreadsheet: one per interval, stream and kind. Owns the columns and the safety of cells;
//! does not know of totals or findings.

use crate::charts::{TimeMark, noted};
use crate::summary::{errors, kinds, phase_name, quantile, response};
use crate::table::visible;
use fathom_schema::{Interval, KindTally, LatencyTally, Pacing, Record, StepRecord};
use fathom_units::{Bytes, BytesPerSec, Iops, Nanos};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// The columns, described at [`Csv`].
const HEADER: [&str; 29] = [
    "run",
    "step",
    "step_name",
    "stream",
    "stream_name",
    "phase",
    "start_s",
    "end_s",
    "late",
    "kind",
    "operations",
    "bytes",
    "errors",
    "short",
    "iops",
    "bytes_per_s",
    "service_mean_us",
    "service_p50_us",
    "service_p99_us",
    "service_max_us",
    "response_mean_us",
    "response_p50_us",
    "response_p99_us",
    "response_max_us",
    "queue_depth_held",
    "marks",
    "arrivals",
    "arrivals_dropped",
    "backlog_max",
];

/// The intervals of a record as CSV (RFC 4180, CRLF line ends, a header row): for each interval one row `all`, then one
/// row per kind that occurred.
///
/// Columns: `run` (identity), `step` (index from 0), `step_name`, `stream` (index in the step), `stream_name`, `phase`
/// (`ramp` or `measure`), `start_s` and `end_s` (seconds since the step's start), `late` (`true` when it covers more than
/// one edge), `kind` (`all` for reads, writes and trims together, `read`, `write`, `trim`, `sync`), `operations`, `bytes`,
/// `errors`, `short`, `iops`, `bytes_per_s`, `service_*_us` (submitted → completed) and `response_*_us` (intended start →
/// completed), each as mean, p50, p99 and maximum in microseconds and empty without an operation, and `queue_depth_held`
/// (of the whole stream) and `marks` (what people marked in the interval, or before the first of a stream, joined by "; ", in
/// rows `all`); then, in rows `all` of streams at a rate: `arrivals` (that came due in the interval), `arrivals_dropped` (of
/// them) and `backlog_max` (most that waited at once). Control characters in names are escaped, and names that a spreadsheet would take for a formula are preceded by an apostrophe.
///
/// Rows are given one by one: the intervals of a long run do not fit into memory.
#[derive(Debug)]
pub struct Csv<W: Write> {
    writer: csv::Writer<W>,
    /// Index of the step whose marks these are.
    step: Option<u32>,
    marks: Vec<TimeMark>,
    /// Streams of it whose first interval has been written.
    begun: BTreeSet<u32>,
}

impl<W: Write> Csv<W> {
    /// Writes the header.
    pub fn new(out: W) -> io::Result<Self> {
        let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
        writer.write_record(HEADER).map_err(plain)?;
        Ok(Self { writer, step: None, marks: Vec::new(), begun: BTreeSet::new() })
    }

    /// Writes the rows of one interval of a record.
    pub fn interval(&mut self, record: &Record, interval: &Interval) -> io::Result<()> {
        let Some(step) = record.steps.iter().rev().find(|step| step.started.index == interval.step) else {
            return Ok(());
        };
        if self.step != Some(interval.step) {
            (self.step, self.marks) = (Some(interval.step), noted(record, step));
            self.begun.clear();
        }
        // What was marked before a stream began is in its first row.
        let is_first = self.begun.insert(interval.stream);
        let start_s = if is_first { 0.0 } else { interval.start.as_secs_f64() };
        let within = start_s..interval.end.as_secs_f64();
        let here = self.marks.iter().filter(|mark| within.contains(&mark.at_s));
        let marks = here.map(|mark| mark.label.as_str()).collect::<Vec<_>>().join("; ");
        let (all, kinds) = kinds(std::iter::once(&interval.tally));
        self.writer.write_record(row(record, step, interval, "all", &all, &marks)).map_err(plain)?;
        for kind in &kinds {
            self.writer
                .write_record(row(record, step, interval, kind.kind.name(), kind, ""))
                .map_err(plain)?;
        }
        Ok(())
    }

    /// Hands the rest over.
    pub fn finish(mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// The writer's own error, whose kind tells what became of it: a reader that has gone away is none of ours.
pub(crate) fn plain(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

fn row(
    record: &Record,
    step: &StepRecord,
    interval: &Interval,
    kind: &str,
    tally: &KindTally,
    marks: &str,
) -> [String; HEADER.len()] {
    let length = interval.end.since(interval.start);
    let [service_mean, service_p50, service_p99, service_max] = latency(&tally.service);
    let [response_mean, response_p50, response_p99, response_max] = latency(response(tally));
    let streams = &step.started.step.streams;
    let stream = streams.get(interval.stream as usize);
    let has_rate = kind == "all" && stream.is_some_and(|stream| matches!(stream.pacing, Pacing::Open { .. }));
    let of_rate = |count: u64| if has_rate { count.to_string() } else { String::new() };
    let held = if length.0 == 0 { 0.0 } else { interval.tally.in_flight_ns / length.0 as f64 };
    [
        cell(&record.started.run),
        step.started.index.to_string(),
        cell(&step.started.step.name),
        interval.stream.to_string(),
        cell(stream.map_or("", |stream| &stream.name)),
        phase_name(interval.phase).to_owned(),
        seconds(interval.start),
        seconds(interval.end),
        interval.late.to_string(),
        kind.to_owned(),
        tally.operations.to_string(),
        tally.bytes.to_string(),
        errors(tally).to_string(),
        tally.short.to_string(),
        format!("{:.3}", Iops::of(tally.operations, length).0),
        format!("{:.0}", BytesPerSec::of(Bytes(tally.bytes), length).0),
        service_mean,
        service_p50,
        service_p99,
        service_max,
        response_mean,
        response_p50,
        response_p99,
        response_max,
        format!("{held:.3}"),
        cell(marks),
        of_rate(interval.tally.arrivals),
        of_rate(interval.tally.arrivals_dropped),
        of_rate(interval.tally.backlog_max),
    ]
}

/// Mean, p50, p99 and maximum in microseconds; empty without an operation.
fn latency(tally: &LatencyTally) -> [String; 4] {
    let us = |ns: f64| if tally.moments.count == 0 { String::new() } else { format!("{:.3}", ns / 1e3) };
    let percentile = |q| us(quantile(tally, q).unwrap_or(0) as f64);
    [us(tally.moments.mean_ns()), percentile(0.5), percentile(0.99), us(tally.moments.max_ns as f64)]
}

fn seconds(at: Nanos) -> String {
    format!("{:.3}", at.as_secs_f64())
}

/// A text as a cell of CSV, control characters made visible. Spreadsheets run what begins with one of these as a formula (OWASP,
/// "CSV injection").
pub(crate) fn cell(name: &str) -> String {
    let name = visible(name);
    if name.starts_with(['=', '+', '-', '@']) { format!("'{name}") } else { name }
}
