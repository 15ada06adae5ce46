//! The live view: a bar with the time left and a line per stream each second; plain lines where there is no terminal.

use crate::terminal;
use fathom_analysis::pts::{Flow, Outlook, PartKind, Place};
use fathom_metrics::{Latency, merge_tally};
use fathom_run::{Progress, Sink, SinkError};
use fathom_schema::{
    Event, Interval, OperationKind, Passes, Phase, Question, Quota, Step, Stream, StreamLimits, StreamTally,
    TimeLimit, WorkerPlan,
};
use fathom_units::{Bytes, BytesPerSec, Iops, Nanos, saturating_sum};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::BTreeMap;
use std::io::IsTerminal;

/// Streams that get a line of their own; further ones share one.
const LINES_MAX: usize = 8;

/// Intervals of streams that share a line that are gathered at once: the one that most are in, and the one after it.
const AHEAD_MAX: usize = 2;
/// What an interval may take longer than a whole second without counting as another one.
const OVERTIME: Nanos = Nanos::millis(100);
/// Columns of a stream's name; half of them where figures need the room.
const NAME_COLUMNS: usize = 16;

/// Shows a run while it runs, on standard error.
pub(crate) struct Live {
    on_terminal: bool,
    screen: MultiProgress,
    bar: ProgressBar,
    lines: Vec<ProgressBar>,
    step: Option<Step>,
    steps: usize,
    /// Steps of an earlier run, which are passed over.
    earlier: usize,
    /// The test of a standard that runs.
    flow: Option<Flow>,
    /// How long it took to fill the targets of the test.
    filled: Option<Nanos>,
    /// What lies between the cells of the test.
    between: Between,
    /// Whether the bytes it has moved are what ends the step; found once, since it takes a look at all streams.
    is_by_volume: bool,
    /// Bytes that the step has moved.
    moved: u64,
    /// Merged tallies of streams that share a line, by interval number. Streams are not all in the same interval.
    together: BTreeMap<u64, Merged>,
    /// The first interval number that no line was given up on: what still comes for those before is in the record alone.
    awaited: u64,
    /// Streams that share a line.
    sharing: usize,
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
    /// One that shows `steps` steps, the first `earlier` of which are those of an earlier run.
    pub(crate) fn new(steps: usize, earlier: usize) -> Self {
        let on_terminal = std::io::stderr().is_terminal();
        let target =
            if on_terminal { ProgressDrawTarget::stderr_with_hz(4) } else { ProgressDrawTarget::hidden() };
        let screen = MultiProgress::with_draw_target(target);
        let bar = screen.add(ProgressBar::new(0));
        Self {
            on_terminal,
            screen,
            bar,
            lines: Vec::new(),
            step: None,
            steps,
            earlier,
            flow: None,
            filled: None,
            between: Between::default(),
            is_by_volume: false,
            moved: 0,
            together: BTreeMap::new(),
            awaited: 0,
            sharing: 0,
            prepared: 0,
        }
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

    fn begin(&mut self, step: &Step, index: u32, wall_ms: u64) {
        let bounded = length(step);
        let seconds = bounded.map(|time| time.0.div_ceil(1_000_000_000));
        // A search may take more steps than was thought.
        let which = match (index as usize + 1, self.steps) {
            (_, 0 | 1) => String::new(),
            (number, steps) if number > steps => format!("[{number}] "),
            (number, steps) => format!("[{number}/{steps}] "),
        };
        let name = terminal_text(&step.name);
        let volume = volume(step);
        self.moved = 0;
        self.is_by_volume = bounded.is_none() && volume.is_some();
        let place = self.flow.as_ref().zip(Place::of(step));
        let outlook = place.map(|(flow, place)| {
            let left = flow.outlook(place);
            self.between.begins(wall_ms, left);
            outlook(left, self.filled, self.between.mean())
        });
        if self.on_terminal {
            for line in self.lines.drain(..) {
                line.finish_and_clear();
            }
            let template = match (seconds, volume) {
                (Some(_), _) => "{prefix} {wide_bar} {pos}/{len} s, {eta} left",
                (None, Some(_)) => "{prefix} {wide_bar} {binary_bytes}/{binary_total_bytes}, {eta} left",
                (None, None) => "{prefix} {spinner} {elapsed}",
            };
            // The bar gets at least half of the line.
            let prefix = cut(&format!("{which}{name}"), terminal::width_of_messages() / 3);
            self.restart(template, &prefix, seconds.or(volume).unwrap_or(0));
            let rows = if step.streams.len() <= LINES_MAX { step.streams.len() } else { 1 };
            for _ in 0..rows {
                let line = self.screen.add(ProgressBar::new_spinner());
                line.set_style(Self::style("  {msg}"));
                self.lines.push(line);
            }
            if let Some(outlook) = outlook {
                let line = self.screen.add(ProgressBar::new_spinner());
                line.set_style(Self::style("  {msg}"));
                line.set_message(cut(&outlook, self.width()));
                self.lines.push(line);
            }
        } else {
            let length = match (bounded, volume) {
                (Some(time), _) => format!(", about {}", time.approximate()),
                (None, Some(bytes)) => format!(", {}", Bytes(bytes).approximate()),
                (None, None) => String::new(),
            };
            let streams = match step.streams.len() {
                1 => "1 stream".to_owned(),
                several => format!("{several} streams"),
            };
            let outlook = outlook.map_or_else(String::new, |outlook| format!("; {outlook}"));
            terminal::message(&format!("{which}{name}: {streams}{length}{outlook}"));
        }
        self.step = Some(step.clone());
        self.together.clear();
        self.awaited = 0;
        self.sharing = (0..step.streams.len()).filter(|&stream| step.adds_up(stream)).count();
    }

    fn interval(&mut self, interval: &Interval) {
        let Some(step) = &self.step else { return };
        self.moved += interval.tally.kinds.iter().map(|kind| kind.bytes).sum::<u64>();
        let length = self.bar.length().filter(|&length| length > 0).unwrap_or(u64::MAX);
        let done = if self.is_by_volume { self.moved } else { whole_seconds(interval.end) }.min(length);
        if self.on_terminal && done > self.bar.position() {
            self.bar.set_position(done);
        }
        if step.streams.len() <= LINES_MAX {
            let stream = interval.stream as usize;
            let name = terminal_text(&step.streams[stream].name);
            let Interval { start, end, phase, tally, .. } = interval;
            let text = describe(&name, *start, *end, *phase, tally, self.width());
            self.say(stream, &text);
            return;
        }
        if !step.adds_up(interval.stream as usize) || interval.sequence < self.awaited {
            return;
        }
        // Many streams: one line for all, said when all have given theirs, or some are an interval ahead of it.
        let merged = self.together.entry(interval.sequence).or_insert_with(|| Merged {
            tally: StreamTally::default(),
            start: interval.start,
            end: interval.end,
            phase: interval.phase,
            streams: 0,
        });
        merge_tally(&mut merged.tally, &interval.tally);
        merged.start = merged.start.min(interval.start);
        merged.end = merged.end.max(interval.end);
        merged.streams += 1;
        if merged.streams == self.sharing || self.together.len() > AHEAD_MAX {
            self.say_together();
        }
    }

    /// Columns that a stream's line may take; all of it goes to what is no terminal.
    fn width(&self) -> usize {
        // Two of indent, and the last column, where some terminals wrap already.
        if self.on_terminal { terminal::width_of_messages().saturating_sub(3) } else { usize::MAX }
    }

    /// Says the earliest interval of streams that share a line, as far as it is known; false where there is none.
    fn say_together(&mut self) -> bool {
        let Some((sequence, merged)) = self.together.pop_first() else { return false };
        let Merged { tally, start, end, phase, streams } = merged;
        if streams < self.sharing {
            self.awaited = sequence + 1;
        }
        let name = if streams == 1 { "1 stream".to_owned() } else { format!("{streams} streams") };
        self.say(0, &describe(&name, start, end, phase, &tally, self.width()));
        true
    }

    fn say(&self, line: usize, text: &str) {
        match self.lines.get(line) {
            Some(line) => line.set_message(text.to_owned()),
            None => terminal::message(text),
        }
    }

    fn end(&mut self) {
        while self.say_together() {}
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
            Event::RunStarted(started) => {
                if let Some(Question::Steady(question)) = &started.question {
                    self.flow = Some(Flow::of(question));
                }
            }
            Event::StepStarted(started) if (started.index as usize) < self.earlier => {}
            Event::StepStarted(started) => self.begin(&started.step, started.index, started.wall_ms),
            Event::Interval(interval) => self.interval(interval),
            Event::StepFinished(finished) => {
                let part = self.step.as_ref().and_then(Place::of).map(|place| place.part);
                let part = part.zip(self.flow.as_ref()).and_then(|(part, flow)| flow.parts.get(part));
                if part.is_some_and(|part| matches!(part.kind, PartKind::Fill(_))) {
                    self.filled = Some(finished.elapsed);
                }
                self.end();
            }
            Event::RunFinished(_) => self.end(),
            Event::Sum(_) | Event::Host(_) | Event::Note(_) => {}
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

/// What lies between one cell of a test and the next: handing over, ending, what is looked at in between.
#[derive(Default)]
struct Between {
    /// The cell that began last, by the wall clock, and what was left then.
    last: Option<(u64, Outlook)>,
    /// All of it, and of how many cells.
    sum: Nanos,
    cells: u64,
}

impl Between {
    /// Learns from a cell that begins now, where that is the one that was to come behind the last.
    fn begins(&mut self, wall_ms: u64, left: Outlook) {
        if let Some((began_ms, before)) = self.last.replace((wall_ms, left))
            && before.fills == left.fills
            && before.cells.1 == left.cells.1 + 1
        {
            let took = Nanos::millis(wall_ms.saturating_sub(began_ms));
            self.sum = self.sum.after(took.since(before.latest.since(left.latest)));
            self.cells += 1;
        }
    }

    /// Of one cell; `None` before there were two.
    fn mean(&self) -> Option<Nanos> {
        Some(Nanos(self.sum.0.checked_div(self.cells)?))
    }
}

/// When a test may end, in words; `filled` is how long it took to fill its targets, `between` what lies between cells.
fn outlook(left: Outlook, filled: Option<Nanos>, between: Option<Nanos>) -> String {
    let Outlook { earliest, latest, fills, cells } = left;
    let filling = filled.map_or(Nanos::ZERO, |once| Nanos(once.0.saturating_mul(u64::from(fills))));
    let unknown = match (fills > 0 && filled.is_none(), between.is_none() && cells.1 > 1) {
        (false, false) => "",
        (true, false) => ", and what the preconditioning takes",
        (false, true) => ", and what lies between cells",
        (true, true) => ", and what the preconditioning takes and what lies between cells",
    };
    let around = |cells: u64| Nanos(between.unwrap_or_default().0.saturating_mul(cells));
    let earliest = earliest.after(filling).after(around(cells.0));
    let latest = latest.after(filling).after(around(cells.1));
    if earliest == latest {
        return format!("the test ends in {}{unknown}", earliest.approximate());
    }
    format!(
        "the test ends in {} at the earliest, {} at the latest{unknown}",
        earliest.approximate(),
        latest.approximate()
    )
}

/// The second that an interval completes; its last operation may have come a little later.
fn whole_seconds(end: Nanos) -> u64 {
    end.0.saturating_sub(OVERTIME.0).div_ceil(1_000_000_000).max(1)
}

/// How long a step takes, when time bounds all its streams and nothing else may end them earlier.
fn length(step: &Step) -> Option<Nanos> {
    let has_quota = |stream: &Stream| {
        (stream.limits.bytes, stream.limits.operations) != (Quota::Unlimited, Quota::Unlimited)
    };
    if step.streams.iter().any(has_quota) {
        return None;
    }
    step.ends()?.into_iter().max()
}

/// Bytes after which a step ends, where that is what ends all its streams; fewer where something else does so before.
fn volume(step: &Step) -> Option<u64> {
    let of_stream = |stream: &Stream| {
        let StreamLimits { bytes, passes, operations, .. } = &stream.limits;
        let whole = |part: &WorkerPlan| {
            let extents: Bytes = part.extents.iter().map(|extent| extent.length).sum();
            extents.0 / u64::from(part.part.count)
        };
        let of_passes = |count: u64| saturating_sum(stream.workers.iter().map(whole)).saturating_mul(count);
        let of_bytes = |bytes: u64| bytes.saturating_mul(stream.workers.len() as u64);
        match (bytes, passes, operations) {
            (Quota::AtMost(bytes), _, Quota::Unlimited) => Some(of_bytes(*bytes)),
            (_, Passes::Counted { count, .. }, Quota::Unlimited) => Some(of_passes(*count)),
            _ => None,
        }
    };
    let is_timed = step.streams.iter().any(|stream| stream.limits.time != TimeLimit::Unbounded);
    let all: Vec<u64> = step.streams.iter().map(of_stream).collect::<Option<_>>()?;
    Some(saturating_sum(all)).filter(|all| *all > 0 && !is_timed)
}

/// A stream's second in at most `width` columns: what is least missed goes first.
fn describe(name: &str, start: Nanos, end: Nanos, phase: Phase, tally: &StreamTally, width: usize) -> String {
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
    let render = |detail: u8, name_columns: usize| {
        let mut parts = vec![format!("{:>6}", format!("{} s", whole_seconds(end)))];
        if name_columns > 0 {
            let least = name_columns.min(NAME_COLUMNS);
            parts.push(format!("{:<least$}", cut(name, name_columns)));
        }
        parts.push(format!("{:>8} IOPS", Iops::of(operations, window).to_string()));
        if detail > 1 {
            parts.push(format!("{:>10}", BytesPerSec::of(Bytes(bytes), window).to_string()));
        }
        if detail > 2 {
            parts.push(format!("p50 {:>8}", quantile(0.5)));
        }
        if detail > 0 {
            parts.push(format!("p99 {:>8}", quantile(0.99)));
        }
        if errors > 0 {
            parts.push(format!("{errors} errors"));
        }
        match phase {
            Phase::Ramp => parts.push("(ramp)".to_owned()),
            Phase::Verify => parts.push("(reading back)".to_owned()),
            Phase::Measure => {}
        }
        parts.join("  ")
    };
    // What is least missed goes first; streams stay told apart as long as anything of their names fits.
    let forms = [
        (3, usize::MAX),
        (3, NAME_COLUMNS),
        (3, NAME_COLUMNS / 2),
        (2, NAME_COLUMNS),
        (1, NAME_COLUMNS),
        (1, NAME_COLUMNS / 2),
        (0, NAME_COLUMNS / 2),
    ];
    let mut lines = forms.into_iter().map(|(detail, columns)| render(detail, columns));
    lines.find(|line| line.chars().count() <= width).unwrap_or_else(|| render(0, 0))
}

/// At most so many characters of a text.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    kept + "…"
}

fn terminal_text(text: &str) -> String {
    crate::diagnose::printable(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_as_long_as_what_waits_in_it() {
        let of = |option: &str| {
            let text = format!(
                "[target.t]\nkind = \"null\"\nsize = \"1MiB\"\n[stream.a]\ntime = \"2s\"\n{option}\n\
                 [stream.b]\ntime = \"3s\"\nwait_for = [\"a\"]\n"
            );
            let (job, found) = fathom_frontend::native::read("job", &text);
            assert!(found.is_empty(), "{found:?}");
            let (plan, found) = fathom_planner::plan(&job, &fathom_schema::Facts::default(), 1);
            let plan = plan.unwrap_or_else(|| panic!("{found:?}"));
            length(&plan.experiment.preview()[0])
        };
        assert_eq!(
            (of(""), of("start_delay = \"500ms\""), of("operations = 10")),
            (Some(Nanos::secs(5)), Some(Nanos::millis(5500)), None)
        );
    }

    #[test]
    fn what_ends_by_volume_has_one() {
        let of = |options: &str| {
            let text = format!("[target.t]\nkind = \"sim\"\nsize = \"1MiB\"\n[stream.a]\n{options}\n");
            let (job, found) = fathom_frontend::native::read("job", &text);
            assert!(found.is_empty(), "{found:?}");
            let (plan, found) = fathom_planner::plan(&job, &fathom_schema::Facts::default(), 1);
            let plan = plan.unwrap_or_else(|| panic!("{found:?}"));
            volume(&plan.experiment.preview()[0])
        };
        assert_eq!(of("passes = 2"), Some(2 << 20));
        assert_eq!(of("passes = 2\nworkers = 2\nworker_regions = \"same\""), Some(4 << 20));
        assert_eq!(of("bytes = \"64KiB\"\nworkers = 3"), Some(192 << 10));
        assert_eq!((of("time = \"2s\""), of("operations = 10")), (None, None));
    }

    #[test]
    fn the_time_to_fill_is_told_as_soon_as_it_is_known() {
        let of = |from, to, fills, filled| {
            let left =
                Outlook { earliest: Nanos::secs(from), latest: Nanos::secs(to), fills, cells: (5, 25) };
            outlook(left, filled, Some(Nanos::ZERO))
        };
        assert_eq!(of(60, 120, 1, None), of(60, 120, 0, None) + ", and what the preconditioning takes");
        assert_eq!(of(60, 120, 2, Some(Nanos::secs(60))), of(180, 240, 0, None));
    }

    /// Cells of a tenth of a second each, with half a second between them: as many of them as there are to come.
    #[test]
    fn what_lies_between_cells_is_counted_as_far_as_it_is_known() {
        let left = |cells: u64| Outlook {
            earliest: Nanos::millis(100 * (cells - 20)),
            latest: Nanos::millis(100 * cells),
            fills: 0,
            cells: (cells - 20, cells),
        };
        let mut between = Between::default();
        between.begins(1_000_000, left(50));
        let told = |left, between: &Between| outlook(left, None, between.mean());
        assert_eq!(
            told(left(50), &between),
            "the test ends in 3.00 s at the earliest, 5.00 s at the latest, and what lies between cells"
        );
        between.begins(1_000_600, left(49));
        between.begins(1_001_200, left(48));
        assert_eq!(told(left(48), &between), "the test ends in 16.8 s at the earliest, 28.8 s at the latest");
        // A part that was steady early: what came between says nothing of cells.
        between.begins(1_009_000, left(40));
        assert_eq!(between.mean(), Some(Nanos::millis(500)));
    }

    #[test]
    fn a_line_fits_its_terminal() {
        let at = |width| {
            let (start, end) = (Nanos::secs(11), Nanos::secs(12));
            describe("reads", start, end, Phase::Ramp, &StreamTally::default(), width)
        };
        for width in [usize::MAX, 120, 80, 60, 40, 37] {
            assert!(at(width).chars().count() <= width, "{width}: {}", at(width));
        }
        for (width, parts) in [
            (usize::MAX, &["12 s", "reads", "IOPS", "B/s", "p50", "p99", "(ramp)"][..]),
            (77, &["12 s", "reads", "IOPS", "B/s", "p99", "(ramp)"]),
            (62, &["12 s", "reads", "IOPS", "p99", "(ramp)"]),
            (40, &["12 s", "reads", "IOPS", "(ramp)"]),
        ] {
            assert!(parts.iter().all(|part| at(width).contains(part)), "{width}: {}", at(width));
        }
        let measured = |width| {
            let (start, end) = (Nanos::secs(11), Nanos::secs(12));
            describe("reads", start, end, Phase::Measure, &StreamTally::default(), width)
        };
        assert!(measured(77).contains("p50") && measured(77).contains("p99"), "{}", measured(77));
        // Its last operation has come after the second, which is no third.
        let end = Nanos(Nanos::secs(2).0 + 3_000_000);
        let line = describe(
            "a long name of a stream",
            Nanos::secs(1),
            end,
            Phase::Measure,
            &StreamTally::default(),
            50,
        );
        assert!(line.starts_with("   2 s  a long …  "), "{line}");
    }
}
