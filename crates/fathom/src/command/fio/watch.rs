//! What fio shows while its jobs run: the status line of `--eta=always`, the reports of `--status-interval`, and those that
//! are asked for by SIGUSR1 or a file. Knows how far the jobs are; the reports are made elsewhere.

use super::outlook::{Outlook, UNKNOWN_S};
use super::reports::{Collected, Reports};
use crate::held::Held;
use crate::output::{self, Spared};
use crate::terminal;
use fathom_frontend::fio::{Eta, HeldTo, JobClone, OutputFormat, Switches};
use fathom_metrics::{IssuedRow, OperationRow, merge_tally};
use fathom_report::FioUnits;
use fathom_run::{Asked, Sink, SinkError};
use fathom_schema::{Event, Interval, OperationKind, Phase, Record, StreamTally};
use fathom_store::Detail;
use fathom_units::Nanos;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Listens to a run and gives out what is asked for.
pub(super) struct Watch<'a> {
    reports: &'a Reports,
    collected: Collected,
    outlook: Outlook,
    output: Option<&'a str>,
    spared: &'a Spared,
    status_every: Nanos,
    status_next: Nanos,
    shows_line: bool,
    line_next: Nanos,
    /// What the next line tells: since the last one.
    untold: Option<Current>,
    newline_every: Nanos,
    newline_next: Nanos,
    asked: Asked,
    store: &'a Path,
    /// The run's file, from which a report is made that was not expected.
    path: Option<PathBuf>,
    /// What has come of a run that is in no file.
    held: Option<Held>,
    /// Step and number of the interval at which it was last looked whether somebody asks.
    looked_at: Option<(u32, u64)>,
    record: Option<Record>,
    /// The interval that is coming in: its number, and what the streams did in it.
    current: Option<Current>,
    given_out: String,
}

struct Current {
    step: u32,
    sequence: u64,
    streams: BTreeMap<u32, (Nanos, Nanos, StreamTally)>,
}

/// Time from one of fio's lines to the next, but for what an interval may come early by.
const LINE_EVERY: Nanos = Nanos::millis(950);

impl Current {
    /// This and what came next.
    fn and(mut self, next: &Self) -> Self {
        for (stream, (from, to, more)) in &next.streams {
            let (_, end, tally) =
                self.streams.entry(*stream).or_insert_with(|| (*from, *to, StreamTally::default()));
            *end = (*end).max(*to);
            merge_tally(tally, more);
        }
        self.sequence = next.sequence;
        self
    }
}

/// Whether the state of the jobs is told in fio's line: where that is asked for, be it by how often a new one begins, and where
/// it is not in the midst of a document, as with fio. Else a terminal has fathom's own view of the run.
pub(super) fn has_line(switches: &Switches) -> bool {
    let is_wanted = match switches.eta {
        Eta::Always => true,
        Eta::Never => false,
        Eta::Auto => switches.eta_newline_us > 0 && std::io::stdout().is_terminal(),
    };
    is_wanted && (switches.output.is_some() || switches.wants(OutputFormat::Normal))
}

impl<'a> Watch<'a> {
    pub(super) fn new(
        reports: &'a Reports,
        collected: Collected,
        outlook: Outlook,
        switches: &'a Switches,
        spared: &'a Spared,
        store: &'a Path,
        asked: Asked,
    ) -> Self {
        let status_every = Nanos::micros(switches.status_interval_us);
        let newline_every = Nanos::micros(switches.eta_newline_us);
        Self {
            reports,
            collected,
            outlook,
            output: switches.output.as_deref(),
            spared,
            status_every,
            status_next: status_every,
            shows_line: has_line(switches),
            line_next: Nanos::ZERO.after(LINE_EVERY),
            untold: None,
            newline_every,
            newline_next: newline_every,
            asked,
            store,
            path: None,
            held: None,
            looked_at: None,
            record: None,
            current: None,
            given_out: String::new(),
        }
    }

    /// What was collected, and the reports given out.
    pub(super) fn done(self) -> (Collected, String) {
        (self.collected, self.given_out)
    }

    /// Whole seconds that are left, as fio's documents have them.
    fn eta_s(&self) -> u64 {
        self.outlook.left_s().map_or(UNKNOWN_S, whole)
    }

    fn is_idle(&self) -> bool {
        !self.shows_line && self.status_every == Nanos::ZERO
    }

    /// An interval of one stream is in; when it is the last of its number, or one of a later number comes, all streams are
    /// as far as that.
    fn interval(&mut self, interval: &Interval) {
        let is_same = self
            .current
            .as_ref()
            .is_some_and(|current| (current.step, current.sequence) == (interval.step, interval.sequence));
        if !is_same {
            self.tick();
            self.current =
                Some(Current { step: interval.step, sequence: interval.sequence, streams: BTreeMap::new() });
        }
        let Some(current) = &mut self.current else { return };
        let (_, end, tally) = current
            .streams
            .entry(interval.stream)
            .or_insert_with(|| (interval.start, interval.end, StreamTally::default()));
        *end = (*end).max(interval.end);
        merge_tally(tally, &interval.tally);
        let streams = self.record.as_ref().and_then(|record| record.steps.last());
        if streams.is_some_and(|step| step.started.step.streams.len() == current.streams.len()) {
            self.tick();
        }
    }

    /// Time has come as far as the current interval.
    fn tick(&mut self) {
        let (Some(current), Some(record)) = (self.current.take(), &self.record) else { return };
        let Some(step) = record.steps.iter().find(|step| step.started.index == current.step) else { return };
        let before = Nanos::millis(step.started.wall_ms.saturating_sub(record.started.wall_ms));
        let end = current.streams.values().map(|(_, end, _)| *end).max().unwrap_or_default();
        let now = before.after(end);
        if self.shows_line {
            let untold = match self.untold.take().filter(|untold| untold.step == current.step) {
                Some(untold) => untold.and(&current),
                None => current,
            };
            let is_new = self.newline_every > Nanos::ZERO && now >= self.newline_next;
            if is_new || now >= self.line_next {
                let line = line(self.reports, record, &untold, now, self.outlook.left_s());
                self.line_next = now.after(LINE_EVERY);
                self.newline_next = self.newline_next.max(past(now, self.newline_every));
                // Whoever read it may be gone; that is found out when there is a report.
                let _ = terminal::data(&format!("{line}{}", if is_new { '\n' } else { '\r' }));
            } else {
                self.untold = Some(untold);
            }
        }
        if self.status_every > Nanos::ZERO && now >= self.status_next {
            self.status_next = past(now, self.status_every);
            let Collected { idleness, operations } = &self.collected;
            let (record, eta_s) = (so_far(record), self.eta_s());
            let report = self.reports.text(&record, Some(idleness), Some(operations), eta_s);
            if !self.give_out(&report) {
                self.status_every = Nanos::ZERO;
            }
        }
    }

    /// A report while the jobs run, to where the last one goes; false, and said, where it cannot be written.
    fn give_out(&mut self, report: &str) -> bool {
        let failed = match self.output {
            Some(file) => {
                self.given_out += report;
                output::write(Path::new(file), &self.given_out, &self.spared.again()).err()
            }
            None => terminal::data(report).err().map(|error| error.to_string()),
        };
        if let Some(reason) = &failed {
            terminal::message(&format!("warning: {reason}"));
        }
        failed.is_none()
    }

    /// Gives a report out if somebody asks, once for each number of an interval: by the signal, or by a file.
    fn answer(&mut self, interval: &Interval) {
        let now = Some((interval.step, interval.sequence));
        if self.looked_at == now {
            return;
        }
        self.looked_at = now;
        let (is_signalled, is_by_file) = (self.asked.take(), is_asked_by_file());
        let Some(path) = self.path.as_ref().filter(|_| is_signalled || is_by_file) else { return };
        if let Some(record) = self.held.as_ref().and_then(Held::record) {
            let idleness = Some(&self.collected.idleness);
            self.give_out(&self.reports.text(&so_far(&record), idleness, None, self.eta_s()));
            return;
        }
        // Up to its last commit, a second ago at most: nobody pays for a record in memory that is never asked for. Latencies
        // of single operations are collected until now, more than that record counts, and are left out.
        match fathom_store::read_with(path, Detail::Whole, Vec::new()) {
            Ok(record) => {
                let idleness = Some(&self.collected.idleness);
                self.give_out(&self.reports.text(&so_far(&record), idleness, None, self.eta_s()));
            }
            Err(error) => terminal::message(&format!("warning: {error}")),
        }
    }
}

/// A record that still grows, for fio's reports: what jobs do in their ramp counts up to its end, from which on they begin anew.
fn so_far(record: &Record) -> Cow<'_, Record> {
    let Some(step) = record.steps.last().filter(|step| step.finished.is_none()) else {
        return Cow::Borrowed(record);
    };
    let of_phase = |is_ramp: bool| {
        let intervals =
            step.intervals.iter().filter(move |interval| (interval.phase == Phase::Ramp) == is_ramp);
        intervals.map(|interval| interval.stream).collect::<BTreeSet<u32>>()
    };
    let ramping = &of_phase(true) - &of_phase(false);
    if ramping.is_empty() {
        return Cow::Borrowed(record);
    }
    let mut record = record.clone();
    let intervals = record.steps.last_mut().into_iter().flat_map(|step| &mut step.intervals);
    intervals
        .filter(|interval| ramping.contains(&interval.stream))
        .for_each(|interval| interval.phase = Phase::Measure);
    Cow::Owned(record)
}

/// Whether the file is there that asks for a report, which is taken away (fio 3.33).
fn is_asked_by_file() -> bool {
    let folder = ["TMPDIR", "TEMP"].into_iter().find_map(std::env::var_os).unwrap_or_else(|| "/tmp".into());
    let path = Path::new(&folder).join("fio-dump-status");
    // One that cannot be removed would ask for ever.
    path.symlink_metadata().is_ok_and(|meta| meta.is_file()) && std::fs::remove_file(&path).is_ok()
}

/// The next multiple of `every` after `now`.
fn past(now: Nanos, every: Nanos) -> Nanos {
    if every == Nanos::ZERO { Nanos::NEVER } else { Nanos((now.0 / every.0 + 1) * every.0) }
}

impl Sink for Watch<'_> {
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        self.collected.idleness.event(event)?;
        match event {
            Event::RunStarted(started) => {
                let path = fathom_store::path_of(self.store, &started.run);
                // What stores it made its file before anything happens.
                self.held = (!path.exists()).then(Held::default);
                self.path = Some(path);
            }
            Event::Interval(interval) => {
                self.outlook.add(interval);
                self.answer(interval);
            }
            _ => {}
        }
        if let Some(held) = &mut self.held {
            held.take(event);
        }
        if self.is_idle() {
            return Ok(());
        }
        if let (Event::RunStarted(started), None) = (event, &self.record) {
            self.record = Some(Record::begin((**started).clone()));
            return Ok(());
        }
        if let Some(record) = &mut self.record {
            // What cannot follow is no part of the record; the store says so.
            let _ = record.push(event.clone());
        }
        match event {
            Event::Interval(interval) => self.interval(interval),
            Event::StepFinished(_) => self.tick(),
            _ => {}
        }
        Ok(())
    }

    fn wants_operations(&self, stream: &str) -> bool {
        self.collected.operations.wants_operations(stream)
    }

    fn operations(&mut self, stream: &str, rows: &[OperationRow]) {
        self.collected.operations.operations(stream, rows);
    }

    fn wants_issued(&self, stream: &str) -> bool {
        self.collected.operations.wants_issued(stream)
    }

    fn issued(&mut self, stream: &str, rows: &[IssuedRow]) {
        Sink::issued(&mut self.collected.operations, stream, rows);
    }
}

/// What a rate of that line is over at least, where the intervals of its step are that long: the last piece of a job may be a few
/// operations long.
const RATE_OVER_MIN: Nanos = Nanos::millis(250);

/// `Jobs: 2 (f=2), 0B/s-128MiB/s: [r(2)][50.0%][r=62.5MiB/s][r=16.0k IOPS][eta 00m:05s]`, as fio has it.
fn line(reports: &Reports, record: &Record, current: &Current, now: Nanos, left_s: Option<f64>) -> String {
    let clones = &reports.extras().clones;
    let step = record.steps.iter().find(|step| step.started.index == current.step);
    let streams = step.map_or(&[][..], |step| &step.started.step.streams);
    let rate_over = step.map_or(RATE_OVER_MIN, |step| RATE_OVER_MIN.min(step.started.step.interval));
    let is_running = |clone: &JobClone| {
        let stream = streams.iter().position(|stream| stream.name == clone.stream);
        stream.and_then(|at| u32::try_from(at).ok()).is_some_and(|at| current.streams.contains_key(&at))
    };
    let was_before = |clone: &JobClone| {
        let mut steps = record.steps.iter().filter(|step| step.started.index <= current.step);
        steps.any(|step| step.started.step.streams.iter().any(|stream| stream.name == clone.stream))
    };
    let states: Vec<char> = clones
        .iter()
        .map(|clone| match (is_running(clone), was_before(clone)) {
            (true, _) => state(&clone.rw),
            (false, true) => '_',
            (false, false) => 'P',
        })
        .collect();
    let running = clones.iter().filter(|clone| is_running(clone)).count();
    let mut rates = Vec::new();
    let mut iops = Vec::new();
    let units = FioUnits::default();
    for (kind, letter) in
        [(OperationKind::Read, 'r'), (OperationKind::Write, 'w'), (OperationKind::Trim, 't')]
    {
        let sum = |of: fn(&fathom_schema::KindTally) -> u64| -> f64 {
            let streams = current.streams.values().map(|(start, end, tally)| {
                let seconds = end.since(*start).as_secs_f64();
                let n: u64 = tally.kinds.iter().filter(|tally| tally.kind == kind).map(of).sum();
                n as f64 / seconds.max(rate_over.as_secs_f64())
            });
            streams.sum()
        };
        let operations = sum(|tally| tally.operations);
        if operations > 0.0 {
            rates.push(format!("{letter}={}", units.rate_per_s(sum(|tally| tally.bytes))));
            iops.push(format!("{letter}={}", units.count(operations)));
        }
    }
    let elapsed = now.as_secs_f64();
    let (percent, eta) = match left_s {
        Some(left) if elapsed + left > 0.0 => {
            (format!("{:.1}%", elapsed / (elapsed + left) * 100.0), span(left))
        }
        _ => ("-.-%".to_owned(), "--".to_owned()),
    };
    let held_to = held_to(clones.iter().filter(|clone| is_running(clone)).map(|clone| clone.rates), units);
    format!(
        "Jobs: {running} (f={running}){held_to}: [{}][{percent}][{}][{} IOPS][eta {eta}]",
        runs(&states),
        rates.join(","),
        iops.join(",")
    )
}

/// What the jobs that run have to reach and are held to together: `, 0-300 IOPS`.
fn held_to(jobs: impl Iterator<Item = HeldTo>, units: FioUnits) -> String {
    let all = jobs.fold(HeldTo::default(), |all, job| HeldTo {
        bytes_min: all.bytes_min.saturating_add(job.bytes_min),
        bytes: all.bytes.saturating_add(job.bytes),
        operations_min: all.operations_min.saturating_add(job.operations_min),
        operations: all.operations.saturating_add(job.operations),
    });
    match all {
        HeldTo { bytes_min: 0, bytes: 0, operations_min: 0, operations: 0 } => String::new(),
        HeldTo { bytes_min: 0, bytes: 0, operations_min, operations } => {
            format!(", {operations_min}-{operations} IOPS")
        }
        HeldTo { bytes_min, bytes, .. } => {
            format!(", {}-{}", units.rate_per_s(bytes_min as f64), units.rate_per_s(bytes as f64))
        }
    }
}

/// The letter of a job that runs.
fn state(rw: &str) -> char {
    match rw {
        "read" => 'R',
        "randread" => 'r',
        "write" | "trimwrite" => 'W',
        "randwrite" | "randtrimwrite" => 'w',
        "trim" => 'D',
        "randtrim" => 'd',
        rw if rw.starts_with("rand") => 'm',
        _ => 'M',
    }
}

/// `rr_` as `r(2),_(1)`.
fn runs(states: &[char]) -> String {
    let runs = states.chunk_by(|a, b| a == b).map(|run| format!("{}({})", run[0], run.len()));
    runs.collect::<Vec<_>>().join(",")
}

/// Days and hours only where there are any.
fn span(seconds: f64) -> String {
    let seconds = whole(seconds);
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    let days = if days > 0 { format!("{days:02}d:") } else { String::new() };
    let hours = if hours > 0 || !days.is_empty() { format!("{hours:02}h:") } else { String::new() };
    format!("{days}{hours}{:02}m:{:02}s", seconds / 60 % 60, seconds % 60)
}

/// Seconds as a whole number, and no more than fio has room for.
fn whole(seconds: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and below 2^31")]
    let whole = seconds.round().clamp(0.0, UNKNOWN_S as f64) as u64;
    whole
}
