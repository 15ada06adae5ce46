//! The summary as text for people: the answer in one sentence, then whether it can be trusted, then the figures.
//!
//! Owns order, wording and alignment. Computes nothing beyond units; whatever a figure is, the summary has it.

use crate::calendar;
use crate::table::{Column, left, lines, right, spare, visible, wrap};
use crate::view::{
    DeviceSummary, FindingSummary, GroupSummary, KindSummary, LatencySummary, StepSummary, StreamSummary,
    Summary, Totals, VerifySummary,
};
use fathom_units::{Bytes, BytesPerSec, Iops, Nanos, significant};

/// Streams shown per table; a job of thousands is read as JSON or CSV.
const STREAMS_SHOWN: usize = 40;
/// Narrowest text that is still laid out; below it lines run over.
const WIDTH_MIN: usize = 40;

/// Below this, what belongs to a finding stands under its word and not beside it.
const NARROW: usize = 60;

/// Environment facts worth a line, recognised by where they were read.
const ENVIRONMENT_SHOWN: [&str; 7] = [
    "/osrelease",
    "/scaling_governor",
    "/current_clocksource",
    "/queue/scheduler",
    "/queue/write_cache",
    "/queue/nr_requests",
    "/md/sync_action",
];

/// The report, `width` columns wide (at least 40), with ANSI colours when `colour` is set.
pub fn text(summary: &Summary, width: usize, colour: bool) -> String {
    let mut page = Page { out: String::new(), width: width.max(WIDTH_MIN), colour };
    page.heading(summary);
    page.validity(summary);
    if summary.steps.len() > 1 {
        page.overview(&summary.steps);
    }
    for step in &summary.steps {
        page.step(step, summary.steps.len() > 1);
    }
    page.notes(summary);
    page.environment(summary);
    page.out
}

struct Page {
    out: String,
    width: usize,
    colour: bool,
}

const BOLD: &str = "1";
const RED: &str = "1;31";
const YELLOW: &str = "1;33";
const CYAN: &str = "36";

impl Page {
    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    fn paint(&self, style: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{style}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// A blank line and a title.
    fn section(&mut self, title: &str) {
        let title = self.paint(BOLD, title);
        self.line("");
        self.line(&title);
    }

    fn paragraph(&mut self, text: &str, indent: usize) {
        for line in wrap(text, self.width - indent) {
            self.line(format!("{:indent$}{line}", "").trim_end());
        }
    }

    fn table(&mut self, columns: &[Column], rows: &[Vec<String>]) {
        if !rows.is_empty() {
            lines(columns, rows, self.width).iter().for_each(|line| self.line(line));
        }
    }

    /// The answer, and what run it is.
    fn heading(&mut self, summary: &Summary) {
        let trust = match summary.validity.first().map(|finding| finding.severity.as_str()) {
            Some("invalid") => " — INVALID, see below",
            Some("warn") => " — see the warnings below",
            _ => "",
        };
        let answer = format!("{}{trust}", headline(summary));
        for line in wrap(&answer, self.width) {
            let line = self.paint(BOLD, &line);
            self.line(&line);
        }
        let reason = summary.reason.as_ref().map_or(String::new(), |reason| format!(": {}", visible(reason)));
        self.paragraph(
            &format!(
                "{}, {}{reason}; run {} on {}, {}, fathom {}",
                visible(&summary.title),
                summary.state.replace('_', " "),
                summary.run,
                visible(&summary.host.name),
                calendar::date_time(summary.started_ms),
                summary.tool_version
            ),
            0,
        );
        if let Some(description) = &summary.description {
            self.paragraph(&visible(description), 0);
        }
    }

    fn validity(&mut self, summary: &Summary) {
        self.section("Can it be trusted?");
        if summary.validity.is_empty() {
            self.paragraph("Nothing was found against these figures.", 2);
        }
        for FindingSummary { id, severity, evidence, remedy } in &summary.validity {
            let (style, word) = match severity.as_str() {
                "invalid" => (RED, "INVALID"),
                "warn" => (YELLOW, "WARN"),
                _ => (CYAN, "INFO"),
            };
            let word = format!("{}{:pad$}", self.paint(style, word), "", pad = 9 - word.len());
            self.line(&format!("  {word}{id}"));
            let indent = if self.width < NARROW { 4 } else { 11 };
            self.paragraph(&visible(evidence), indent);
            self.paragraph(&format!("→ {remedy}"), indent);
        }
    }

    /// One row per step of a run with several.
    fn overview(&mut self, steps: &[StepSummary]) {
        self.section("Steps");
        let columns = [
            left("step"),
            right("IOPS"),
            right("bandwidth"),
            right("mean"),
            right("p50"),
            right("p99"),
            spare("p99.9", 1),
            right("errors"),
            right("depth held"),
        ];
        let rows: Vec<Vec<String>> = steps
            .iter()
            .map(|step| {
                let all = &step.total.all;
                vec![
                    visible(&step.name),
                    Iops(all.iops).to_string(),
                    BytesPerSec(all.bytes_per_s).to_string(),
                    mean(&all.response),
                    percentile(&all.response, 50.0),
                    percentile(&all.response, 99.0),
                    percentile(&all.response, 99.9),
                    count_or_nothing(step.total.kinds.iter().map(|kind| kind.errors).sum()),
                    significant(step.streams.iter().map(|stream| stream.queue_depth_held).sum()),
                ]
            })
            .collect();
        self.table(&columns, &rows);
    }

    fn step(&mut self, step: &StepSummary, is_one_of_several: bool) {
        let Totals { start_s, end_s, all: _, kinds: _ } = &step.total;
        let length = time_of(end_s - start_s);
        let title = format!("Step {}: measured for {length}", visible(&step.name));
        self.section(&title);
        if is_one_of_several {
            self.paragraph(&step_line(step), 2);
        }
        if let Some(until) = step.partial_until_s {
            self.paragraph(&format!("no end was stored: figures go up to second {until:.0}"), 2);
        }
        let shown = &step.streams[..step.streams.len().min(STREAMS_SHOWN)];
        if shown.len() < step.streams.len() {
            let rest = step.streams.len() - shown.len();
            self.paragraph(
                &format!("{} streams; the last {rest} are in JSON and CSV only", step.streams.len()),
                2,
            );
        }
        for stream in shown {
            let name = if shown.len() > 1 { format!("{}: ", visible(&stream.name)) } else { String::new() };
            self.paragraph(&format!("{name}{}", what(stream)), 2);
        }
        // (name, figures): a single stream needs no name, several need a total.
        let mut parts: Vec<(String, &Totals)> =
            shown.iter().map(|stream| (visible(&stream.name), &stream.total)).collect();
        if parts.len() == 1 {
            parts[0].0.clear();
        } else {
            // A group of one stream, or of all, would only repeat a row.
            let told =
                |group: &&GroupSummary| group.streams.len() > 1 && group.streams.len() < step.streams.len();
            parts.extend(
                step.groups
                    .iter()
                    .filter(told)
                    .map(|group| (format!("group {}", group.number), &group.total)),
            );
            parts.push(("all streams".to_owned(), &step.total));
        }
        self.line("");
        self.rates(&parts);
        self.line("");
        self.latencies(&parts);
        self.line("");
        self.queues(shown);
        self.verified(shown);
        self.errors(&parts);
        self.devices(&step.devices);
    }

    fn rates(&mut self, parts: &[(String, &Totals)]) {
        let columns = [
            left("stream"),
            left("kind"),
            right("operations"),
            right("moved"),
            right("IOPS"),
            right("bandwidth"),
            spare("short", 1),
            right("errors"),
        ];
        let mut rows = Vec::new();
        for (name, totals) in parts {
            for (position, kind) in kind_rows(totals).into_iter().enumerate() {
                rows.push(vec![
                    if position == 0 { name.clone() } else { String::new() },
                    kind.kind.clone(),
                    kind.operations.to_string(),
                    Bytes(kind.bytes).approximate(),
                    Iops(kind.iops).to_string(),
                    BytesPerSec(kind.bytes_per_s).to_string(),
                    count_or_nothing(kind.short),
                    count_or_nothing(kind.errors),
                ]);
            }
        }
        self.table(&columns, &rows);
    }

    /// Response times; where service times differ (in an open loop) those as well.
    fn latencies(&mut self, parts: &[(String, &Totals)]) {
        let columns = [
            left("stream"),
            left("kind"),
            left("latency"),
            right("mean"),
            spare("stddev", 4),
            spare("min", 3),
            right("p50"),
            spare("p90", 2),
            spare("p95", 5),
            right("p99"),
            right("p99.9"),
            spare("p99.99", 1),
            right("max"),
        ];
        let mut rows = Vec::new();
        let mut missing = 0;
        let is_open =
            parts.iter().flat_map(|(_, totals)| &totals.kinds).any(|kind| kind.response != kind.service);
        for (name, totals) in parts {
            for (position, kind) in kind_rows(totals).into_iter().enumerate() {
                let both = [("response", &kind.response), ("service", &kind.service)];
                let both = if !is_open {
                    vec![("", &kind.response)]
                } else if kind.response == kind.service {
                    vec![both[0]]
                } else {
                    both.to_vec()
                };
                for (row, (which, latency)) in both.iter().enumerate() {
                    let first = row == 0;
                    rows.push(vec![
                        if first && position == 0 { name.clone() } else { String::new() },
                        if first { kind.kind.clone() } else { String::new() },
                        (*which).to_owned(),
                        mean(latency),
                        if latency.count > 1 { time(latency.stddev_ns) } else { "n/a".to_owned() },
                        extreme(latency, latency.min_ns),
                        percentile(latency, 50.0),
                        percentile(latency, 90.0),
                        percentile(latency, 95.0),
                        percentile(latency, 99.0),
                        percentile(latency, 99.9),
                        percentile(latency, 99.99),
                        extreme(latency, latency.max_ns),
                    ]);
                    let lacking = latency.percentiles.iter().filter(|p| p.ns.is_none()).map(|p| p.needs);
                    missing = missing.max(lacking.min().unwrap_or(0));
                }
            }
        }
        self.table(&columns, &rows);
        if missing > 0 {
            self.paragraph("n/a: too few operations; p99 needs n ≥ 100, p99.9 n ≥ 1000, p99.99 n ≥ 10000", 2);
        }
    }

    fn queues(&mut self, streams: &[StreamSummary]) {
        let columns = [
            left("stream"),
            right("depth"),
            right("held"),
            spare("Little", 1),
            right("worker CPU"),
            right("asked/s"),
            spare("late", 2),
            right("backlog"),
            spare("dropped", 3),
        ];
        let is_single = streams.len() == 1;
        let rows: Vec<Vec<String>> = streams
            .iter()
            .map(|stream| {
                let is_open = stream.rate_per_s.is_some();
                let late = if stream.arrivals == 0 {
                    0.0
                } else {
                    stream.arrivals_late as f64 / stream.arrivals as f64
                };
                vec![
                    if is_single { String::new() } else { visible(&stream.name) },
                    stream.queue_depth.to_string(),
                    significant(stream.queue_depth_held),
                    stream.little_ratio.map_or("n/a".to_owned(), |ratio| format!("{ratio:.3}")),
                    format!("{:.0} %", stream.worker_cpu_share * 100.0),
                    stream.rate_per_s.map_or(String::new(), |rate| Iops(rate).to_string()),
                    if is_open { format!("{:.1} %", late * 100.0) } else { String::new() },
                    if is_open { stream.backlog_max.to_string() } else { String::new() },
                    if stream.arrivals_dropped > 0 {
                        stream.arrivals_dropped.to_string()
                    } else {
                        String::new()
                    },
                ]
            })
            .collect();
        self.table(&columns, &rows);
    }

    /// What was read back, and whether it was what was written.
    fn verified(&mut self, streams: &[StreamSummary]) {
        for stream in streams {
            let Some(verified) = &stream.verified else { continue };
            let VerifySummary { checked, superseded, mismatches, mismatches_by_kind, read, elapsed_s } =
                verified;
            let of = if streams.len() == 1 { String::new() } else { format!("{}: ", visible(&stream.name)) };
            let kinds: Vec<String> =
                mismatches_by_kind.iter().map(|found| format!("{} {}", found.count, found.kind)).collect();
            let found = if *mismatches == 0 {
                "no mismatch".to_owned()
            } else {
                format!("{mismatches} MISMATCHES ({})", kinds.join(", "))
            };
            let mut line = format!("{of}verified {checked} blocks: {found}");
            if *superseded > 0 {
                line += &format!("; {superseded} writes were overwritten before");
            }
            if read.operations > 0 {
                line += &format!(
                    "; read back {} in {}, {}",
                    Bytes(read.bytes).approximate(),
                    time_of(*elapsed_s),
                    BytesPerSec(read.bytes_per_s)
                );
            }
            self.paragraph(&line, 2);
        }
    }

    fn errors(&mut self, parts: &[(String, &Totals)]) {
        let columns = [left("stream"), left("kind"), left("error"), right("failed")];
        let mut rows = Vec::new();
        for (name, totals) in parts {
            // The rows of the streams add up to those of all of them.
            let is_sum = parts.len() > 1 && std::ptr::eq(*totals, parts[parts.len() - 1].1);
            for kind in totals.kinds.iter().filter(|_| !is_sum) {
                for error in &kind.errors_by_number {
                    rows.push(vec![
                        name.clone(),
                        kind.kind.clone(),
                        error.name.clone(),
                        error.count.to_string(),
                    ]);
                }
            }
        }
        if !rows.is_empty() {
            self.line("");
            self.table(&columns, &rows);
        }
    }

    fn devices(&mut self, devices: &[DeviceSummary]) {
        let columns = [
            left("device"),
            right("reads"),
            right("read"),
            right("writes"),
            right("written"),
            spare("merges", 1),
            right("discards"),
            right("flushes"),
            right("busy"),
            right("in flight"),
        ];
        let rows: Vec<Vec<String>> = devices
            .iter()
            .map(|device| {
                vec![
                    visible(&device.name),
                    device.reads.to_string(),
                    Bytes(device.read_bytes).approximate(),
                    device.writes.to_string(),
                    Bytes(device.write_bytes).approximate(),
                    count_or_nothing(device.read_merges + device.write_merges),
                    count_or_nothing(device.discards),
                    count_or_nothing(device.flushes),
                    format!("{:.0} %", device.busy_share * 100.0),
                    significant(device.queue_depth),
                ]
            })
            .collect();
        if !rows.is_empty() {
            self.line("");
            self.table(&columns, &rows);
            self.paragraph(
                "counted by the kernel over the whole step, its ramp and other users of the device included",
                2,
            );
        }
    }

    fn notes(&mut self, summary: &Summary) {
        if summary.notes.is_empty() {
            return;
        }
        self.section("Notes");
        for note in &summary.notes {
            let word = match note.severity.as_str() {
                "info" => String::new(),
                other => format!("{}: ", other.to_uppercase()),
            };
            self.paragraph(&format!("{word}{}", visible(&note.message)), 2);
        }
    }

    fn environment(&mut self, summary: &Summary) {
        self.section("Environment");
        let host = &summary.host;
        let model = if host.cpu_model.is_empty() { "unknown model" } else { &host.cpu_model };
        let memory = Bytes(host.memory_bytes).approximate();
        self.paragraph(&format!("{} CPUs ({}), {memory} of memory", host.cpus, visible(model)), 2);
        if let Some(ceiling) = host.ceiling_per_s {
            let line = format!(
                "one worker of fathom reaches {} operations per second without a device",
                Iops(ceiling)
            );
            self.paragraph(&line, 2);
        }
        for target in &host.targets {
            let mut words = vec![target.kind.replace('_', " ")];
            words.extend(target.size_bytes.map(|size| Bytes(size).approximate()));
            words.extend(target.filesystem.as_ref().map(|kind| format!("on {kind}")));
            words.extend(target.device.as_ref().map(|name| format!("device {name}")));
            words.extend(target.model.clone().filter(|model| !model.is_empty()));
            self.paragraph(&visible(&format!("{}: {}", target.path, words.join(", "))), 2);
        }
        let shown = summary.environment.iter().filter(|fact| {
            ENVIRONMENT_SHOWN.iter().any(|source| fact.source.ends_with(source)) && fact.value.is_some()
        });
        // One governor per CPU is one line, not sixty-four.
        let mut told: Vec<String> = Vec::new();
        for fact in shown {
            let value = fact.value.as_deref().unwrap_or_default().trim();
            let line = visible(&format!("{} {}: {value}", fact.subject, fact.name));
            if !told.contains(&line) {
                told.push(line);
            }
        }
        told.iter().for_each(|line| self.paragraph(line, 2));
    }
}

/// The run's answer in one sentence.
fn headline(summary: &Summary) -> String {
    match summary.steps.as_slice() {
        [] => "nothing was measured".to_owned(),
        [step] => step_line(step),
        steps => {
            let best = steps.iter().max_by(|a, b| a.total.all.iops.total_cmp(&b.total.all.iops));
            let best = best.expect("there are at least two");
            format!("{} steps, the most IOPS in {}: {}", steps.len(), visible(&best.name), step_line(best))
        }
    }
}

/// A step's answer: what ran, rate, bandwidth, two percentiles, queue depth.
fn step_line(step: &StepSummary) -> String {
    let all = &step.total.all;
    let mut workloads: Vec<&str> = step.streams.iter().map(|stream| stream.workload.as_str()).collect();
    workloads.dedup();
    let what = match workloads.as_slice() {
        [one] => (*one).to_owned(),
        many => format!("{} workloads together", many.len()),
    };
    if all.operations == 0 {
        return format!("{what}: no operation was completed");
    }
    let depth: u64 = step.streams.iter().map(|stream| stream.queue_depth).sum();
    let is_open = step.streams.iter().all(|stream| stream.rate_per_s.is_some());
    let load = if is_open {
        let asked: f64 = step.streams.iter().filter_map(|stream| stream.rate_per_s).sum();
        format!("at {} asked per second", Iops(asked))
    } else {
        format!("at queue depth {depth}")
    };
    // A sample too small for p99 still has a largest value.
    let tail = match all.response.percentile(99.0) {
        Some(ns) => format!("p99 {}", Nanos(ns).approximate()),
        None => format!("max {}", extreme(&all.response, all.response.max_ns)),
    };
    format!(
        "{what}: {} IOPS, {}, p50 {}, {tail} {load}",
        Iops(all.iops),
        BytesPerSec(all.bytes_per_s),
        percentile(&all.response, 50.0)
    )
}

/// What a stream is: workload, engine, workers and their depth.
fn what(stream: &StreamSummary) -> String {
    let mode = if stream.direct { "direct" } else { "buffered" };
    let plural = if stream.workers == 1 { "" } else { "s" };
    let depth = stream.queue_depth / stream.workers.max(1);
    format!(
        "{}, {} {mode}, {} worker{plural} × depth {depth}",
        stream.workload, stream.engine, stream.workers
    )
}

/// The kinds of a part, and their sum when there are several of those that count.
fn kind_rows(totals: &Totals) -> Vec<&KindSummary> {
    let mut rows: Vec<&KindSummary> = totals.kinds.iter().collect();
    let counted = rows.iter().filter(|kind| kind.kind != "sync").count();
    if counted > 1 {
        rows.push(&totals.all);
    }
    rows
}

fn time(ns: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a latency: positive, below 2^63"
    )]
    let whole = ns.round() as u64;
    Nanos(whole).approximate()
}

fn time_of(seconds: f64) -> String {
    time(seconds * 1e9)
}

fn mean(latency: &LatencySummary) -> String {
    if latency.count == 0 { "n/a".to_owned() } else { time(latency.mean_ns) }
}

fn extreme(latency: &LatencySummary, ns: u64) -> String {
    if latency.count == 0 { "n/a".to_owned() } else { Nanos(ns).approximate() }
}

fn percentile(latency: &LatencySummary, percent: f64) -> String {
    latency.percentile(percent).map_or_else(|| "n/a".to_owned(), |ns| Nanos(ns).approximate())
}

/// A count that is only worth a column when it is not zero.
fn count_or_nothing(count: u64) -> String {
    if count == 0 { String::new() } else { count.to_string() }
}
