//! The live view: a bar with the time left and a line per stream each second; plain lines where there is no terminal.

use crate::terminal;
use fathom_metrics::{Latency, merge_tally};
use fathom_run::{Progress, Sink, SinkError};
use fathom_schema::{Event, Interval, OperationKind, Phase, Quota, Step, StreamTally, TimeLimit};
use fathom_units::{Bytes, BytesPerSec, Iops, Nanos};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;

/// Streams that get a line of their own; further ones share one.
const LINES_MAX: usize = 8;

/// Shows a run while it runs, on standard error.
pub(crate) struct Live {
    on_terminal: bool,
    screen: MultiProgress,
    bar: ProgressBar,
    lines: Vec<ProgressBar>,
    step: Option<Step>,
    steps: usize,
    /// Interval number and merged tallies of streams that share a line.
    together: Option<(u64, Merged)>,
    /// Decile of the preparation last reported where there is no terminal.
    prepared: u64,
}

struct Merged {
    tally: StreamTally,
    start: Nanos,
    end: Nanos,
    phase: Phase,
    streams: usize,
}

impl Live {
    /// One that shows `steps` steps.
    pub(crate) fn new(steps: usize) -> Self {
        let on_terminal = std::io::stderr().is_terminal();
        let target =
            if on_terminal { ProgressDrawTarget::stderr_with_hz(4) } else { ProgressDrawTarget::hidden() };
        let screen = MultiProgress::with_draw_target(target);
        let bar = screen.add(ProgressBar::new(0));
        Self { on_terminal, screen, bar, lines: Vec::new(), step: None, steps, together: None, prepared: 0 }
    }

    fn style(template: &str) -> ProgressStyle {
        ProgressStyle::with_template(template).expect("the template is a constant").progress_chars("━╸─")
    }

    /// Begins the bar again in another shape. Every change is drawn at once, so figures come while no shape shows them.
    fn restart(&self, template: &str, prefix: &str, length: u64) {
        self.bar.set_style(Self::style("{prefix}"));
        self.bar.set_prefix(prefix.to_owned());
        self.bar.set_length(length);
        self.bar.reset();
        self.bar.set_style(Self::style(template));
    }

    fn begin(&mut self, step: &Step, index: u32) {
        let seconds = length(step);
        let which = if self.steps > 1 { format!("[{}/{}] ", index + 1, self.steps) } else { String::new() };
        let name = terminal_text(&step.name);
        if self.on_terminal {
            for line in self.lines.drain(..) {
                line.finish_and_clear();
            }
            let template = if seconds.is_some() {
                "{prefix} {wide_bar} {pos}/{len} s, {eta} left"
            } else {
                "{prefix} {spinner} {elapsed}"
            };
            self.restart(template, &format!("{which}{name}"), seconds.unwrap_or(0));
            let rows = if step.streams.len() <= LINES_MAX { step.streams.len() } else { 1 };
            for _ in 0..rows {
                let line = self.screen.add(ProgressBar::new_spinner());
                line.set_style(Self::style("  {msg}"));
                self.lines.push(line);
            }
        } else {
            let length =
                seconds.map_or_else(String::new, |s| format!(", about {}", Nanos::secs(s).approximate()));
            let streams = match step.streams.len() {
                1 => "1 stream".to_owned(),
                several => format!("{several} streams"),
            };
            terminal::message(&format!("{which}{name}: {streams}{length}"));
        }
        self.step = Some(step.clone());
        self.together = None;
    }

    fn interval(&mut self, interval: &Interval) {
        let Some(step) = &self.step else { return };
        let seconds = interval.end.0.div_ceil(1_000_000_000);
        if self.on_terminal && seconds > self.bar.position() {
            self.bar.set_position(seconds);
        }
        if step.streams.len() <= LINES_MAX {
            let stream = interval.stream as usize;
            let name = terminal_text(&step.streams[stream].name);
            let Interval { start, end, phase, tally, .. } = interval;
            let text = describe(&name, *start, *end, *phase, tally);
            self.say(stream, &text);
            return;
        }
        // Many streams: one line for all, said when the next interval begins.
        let same = self.together.as_ref().is_some_and(|(sequence, _)| *sequence == interval.sequence);
        if !same {
            self.say_together();
            let empty = Merged {
                tally: StreamTally::default(),
                start: interval.start,
                end: interval.end,
                phase: interval.phase,
                streams: 0,
            };
            self.together = Some((interval.sequence, empty));
        }
        if let Some((_, merged)) = &mut self.together {
            merge_tally(&mut merged.tally, &interval.tally);
            merged.start = merged.start.min(interval.start);
            merged.end = merged.end.max(interval.end);
            merged.streams += 1;
        }
    }

    fn say_together(&mut self) {
        if let Some((_, Merged { tally, start, end, phase, streams })) = self.together.take() {
            let text = describe(&format!("{streams} streams"), start, end, phase, &tally);
            self.say(0, &text);
        }
    }

    fn say(&self, line: usize, text: &str) {
        match self.lines.get(line) {
            Some(line) => line.set_message(text.to_owned()),
            None => terminal::message(text),
        }
    }

    fn end(&mut self) {
        self.say_together();
        for line in self.lines.drain(..) {
            line.finish_and_clear();
        }
        self.bar.finish_and_clear();
        self.step = None;
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.end();
    }
}

impl Sink for Live {
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        match event {
            Event::StepStarted(started) => self.begin(&started.step, started.index),
            Event::Interval(interval) => self.interval(interval),
            Event::StepFinished(_) | Event::RunFinished(_) => self.end(),
            Event::RunStarted(_) | Event::Note(_) => {}
        }
        Ok(())
    }

    fn preparing(&mut self, progress: &Progress<'_>) {
        let Progress { path, done, total } = progress;
        if self.on_terminal {
            if self.bar.length() != Some(total.0) {
                let template = "{prefix} {msg} {wide_bar} {binary_bytes}/{binary_total_bytes}, {eta} left";
                self.restart(template, "laying out", total.0);
            }
            self.bar.set_message(terminal_text(&path.display().to_string()));
            self.bar.set_position(done.0);
            return;
        }
        let decile = done.0 * 10 / total.0.max(1);
        if decile > self.prepared || self.prepared == 0 {
            self.prepared = decile.max(1);
            let name = terminal_text(&path.display().to_string());
            terminal::message(&format!(
                "laying out {name}: {} of {}",
                done.approximate(),
                total.approximate()
            ));
        }
    }
}

/// Seconds a step takes, when time bounds all its streams and nothing else may end them earlier.
fn length(step: &Step) -> Option<u64> {
    let of_stream = |stream: &fathom_schema::Stream| match (stream.limits.time, stream.limits.bytes) {
        (TimeLimit::Nanoseconds(ns), Quota::Unlimited) => {
            Some((stream.start_delay.0 + stream.ramp.0 + ns).div_ceil(1_000_000_000))
        }
        _ => None,
    };
    step.streams.iter().map(of_stream).try_fold(0, |longest, seconds| seconds.map(|s| longest.max(s)))
}

fn describe(name: &str, start: Nanos, end: Nanos, phase: Phase, tally: &StreamTally) -> String {
    let window = end.since(start);
    let (mut operations, mut bytes, mut errors) = (0, 0, 0);
    let mut latency = Latency::default();
    for kind in tally.kinds.iter().filter(|kind| kind.kind != OperationKind::Sync) {
        operations += kind.operations;
        bytes += kind.bytes;
        errors += kind.errors.iter().map(|(_, count)| count).sum::<u64>();
        latency.merge_tally(kind.response.as_ref().unwrap_or(&kind.service));
    }
    let quantile = |q| latency.quantile(q).map_or_else(|| "–".to_owned(), |ns| Nanos(ns).approximate());
    let ramp = if phase == Phase::Ramp { " (ramp)" } else { "" };
    let errors = if errors > 0 { format!("  {errors} errors") } else { String::new() };
    format!(
        "{:>6}  {name:<16} {:>8} IOPS  {:>10}  p50 {:>8}  p99 {:>8}{errors}{ramp}",
        format!("{} s", end.0.div_ceil(1_000_000_000)),
        Iops::of(operations, window),
        BytesPerSec::of(Bytes(bytes), window),
        quantile(0.5),
        quantile(0.99),
    )
}

fn terminal_text(text: &str) -> String {
    crate::diagnose::printable(text)
}
