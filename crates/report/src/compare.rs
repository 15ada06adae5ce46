//! Two sides of runs held against each other, for people: the verdict in one sentence, tables, and drawings of what changed,
//! of how latencies shifted and of both over time. Owns which figures are shown; they are `fathom_analysis::compare`'s.

mod cells;
mod parts;
mod trust;

pub use cells::{CellRow, cell_rows, curve_rows, interval, noise, noise_of};
pub use parts::part_rows;
pub use trust::{Trusted, lines as trust_lines, trusted};

use crate::calendar;
use crate::charts::{Curve, curves, over_time};
use crate::curve::{number, time};
use crate::plot::{Plot, PlotAxis, PlotBand, PlotLine, PlotMark, PlotPoint, Shape, Unit};
use crate::section::{Answered, Section, part};
use crate::table::{left, visible};
use crate::tables::Table;
use fathom_analysis::compare::{
    Apart, Comparison, Difference, FactDifference, InvalidRun, Kind, MORE_RUNS_MAX, Metric, QUANTILES,
    RunFinding, StepComparison, Verdict, compare,
};
use fathom_analysis::{added_up, validity};
use fathom_schema::{Finding, Record, Severity, StepRecord};
use fathom_units::{BytesPerSec, Iops, Ratio};
use schemars::JsonSchema;
use serde::Serialize;

/// Points of a run's line over time at most.
const POINTS_MAX: usize = 240;
/// Runs of a side with lines of their own at most.
const RUNS_MAX: usize = 4;
/// Operations that have to lie on either side of a quantile for its shift to be drawn.
const BEYOND_MIN: f64 = 10.0;
/// Steps that the verdict names at most.
const NAMED: usize = 4;
/// Loads of a side that it names at most.
const LOADS_NAMED: usize = 8;
/// Differences of jobs that the verdict names at most.
const DIFFERENCES_NAMED: usize = 3;
/// The order in which they are drawn. A line's place gives its colour, so that each is there also where no figure has it:
/// blue, orange, green, purple.
const VERDICTS: [Verdict; 4] =
    [Verdict::Equivalent, Verdict::Regressed, Verdict::Improved, Verdict::Inconclusive];

/// What is compared: the first side with each of the others.
pub struct Sides<'a> {
    /// The runs of the first.
    pub base: Vec<&'a Record>,
    /// Those of the others.
    pub others: Vec<Vec<&'a Record>>,
    /// The change that matters.
    pub margin: Ratio,
}

impl Sides<'_> {
    /// What to say where a run would count more than once: within a side, as if it were runs that agree to the last digit, or
    /// on the first side and another, as if it were held against something.
    pub fn twice(&self) -> Option<String> {
        let name = |record: &&Record| record.started.run.clone();
        for side in std::iter::once(&self.base).chain(&self.others) {
            let mut seen = Vec::new();
            for run in side.iter().map(name) {
                if seen.contains(&run) {
                    return Some(format!(
                        "run {run} is named twice on one side; it is one run, however often it is named: leave it out once"
                    ));
                }
                seen.push(run);
            }
        }
        let is_in_base = |run: &String| self.base.iter().any(|record| record.started.run == *run);
        let run = self.others.iter().flatten().map(name).find(is_in_base)?;
        Some(format!(
            "run {run} is on both sides, and would be compared with itself; name another run, or run the job again"
        ))
    }
}

/// Compares two sides. Runs whose figures are not about the device allow no statement.
///
/// # Errors
/// When they have nothing in common that measures.
pub fn compared(base: &[&Record], new: &[&Record], margin: Ratio) -> Result<Comparison, Apart> {
    let mut found = compare(base, new, margin.value())?;
    let sides = base.iter().map(|record| (true, record)).chain(new.iter().map(|record| (false, record)));
    for (is_base, record) in sides {
        let run = || record.started.run.clone();
        let mut is_told = false;
        for finding in validity::findings(record) {
            match finding.severity {
                // One says that nothing follows; the others are told beside it.
                Severity::Invalid if !is_told => {
                    let Finding { id, evidence, .. } = finding;
                    is_told = true;
                    found.remarks.push(format!("run {} is INVALID ({id}): {evidence}", run()));
                    found.invalid.push(InvalidRun { is_base, run: run(), finding: id, evidence });
                }
                Severity::Invalid | Severity::Warn => {
                    found.warnings.push(RunFinding { is_base, run: run(), finding });
                }
                Severity::Info => {}
            }
        }
    }
    if !found.invalid.is_empty() {
        found.verdict = Verdict::Inconclusive;
        found.more_runs = None;
        for step in &mut found.steps {
            let parts = step.parts.iter_mut().flat_map(|part| &mut part.metrics);
            for metric in step.metrics.iter_mut().chain(parts) {
                (metric.verdict, metric.more_runs) = (Verdict::Inconclusive, None);
            }
        }
        for change in found.curve.iter_mut().filter_map(|one| one.change.as_mut()) {
            change.verdict = Verdict::Inconclusive;
        }
    }
    Ok(found)
}

/// The verdict in one sentence, and in a second one what to be careful about.
pub fn sentence(found: &Comparison, margin: Ratio) -> String {
    std::iter::once(verdict(found, margin)).chain(caution(found)).collect::<Vec<_>>().join(" ")
}

/// That the jobs are not the same, where they are not.
pub fn caution(found: &Comparison) -> Option<String> {
    if found.job_differences.is_empty() || !found.invalid.is_empty() {
        return None;
    }
    let names: Vec<String> = found.job_differences.iter().map(|(name, ..)| visible(name)).collect();
    let more = names.len().saturating_sub(DIFFERENCES_NAMED);
    let mut shown = names.into_iter().take(DIFFERENCES_NAMED).collect::<Vec<_>>().join("; ");
    if more > 0 {
        shown += &format!(" and {more} more");
    }
    Some(format!("Caution: the jobs differ ({shown}), and what changed may come of that."))
}

/// The verdict in one sentence.
pub fn verdict(found: &Comparison, margin: Ratio) -> String {
    let of_step = |step: &StepComparison, verdict: Verdict| -> Option<String> {
        let is_it = |metric: &&Metric| metric.decides && metric.verdict == verdict;
        let change = |metric: &Metric| format!("{} {}", title(&metric.name), percent(metric.change));
        let mut all: Vec<String> = step.metrics.iter().filter(is_it).map(change).collect();
        all.extend(parts::told(step, is_it, change));
        let text = all.join(", ");
        // Where there are several steps, a figure is of one of them.
        let is_one = found.steps.len() == 1;
        let text =
            if is_one { text } else { format!("{text} in {} {}", found.kind.name(), visible(&step.name)) };
        (!all.is_empty()).then_some(text)
    };
    let told = |verdict: Verdict| {
        let of_curves = cells::told_of_curves(&found.curve, verdict);
        let all: Vec<String> = of_curves
            .into_iter()
            .chain(found.steps.iter().filter_map(|step| of_step(step, verdict)))
            .collect();
        let shown = all.iter().take(NAMED).cloned().collect::<Vec<_>>().join("; ");
        let more = all.len().saturating_sub(NAMED);
        if more > 0 { format!("{shown}; and in {more} {}s more", found.kind.name()) } else { shown }
    };
    if !found.invalid.is_empty() {
        return cannot(&found.invalid, found.runs);
    }
    match found.verdict {
        Verdict::Regressed => format!("Regressed: {}.", told(Verdict::Regressed)),
        Verdict::Improved => format!("Improved: {}.", told(Verdict::Improved)),
        Verdict::Equivalent => {
            format!("Equivalent: {} changed by no more than {margin}.", all_deciding(found))
        }
        Verdict::Inconclusive if let Some(open) = cells::open_answer(found) => open,
        Verdict::Inconclusive if found.steps.is_empty() => nothing_decides(found),
        Verdict::Inconclusive if is_incomplete(&found.steps) => format!(
            "Inconclusive: {} changed by no more than {margin} or improved, but {}.",
            deciding(&found.steps),
            parts::doubts(found, margin)
        ),
        Verdict::Inconclusive => {
            let place = untold(found.kind, &found.steps);
            match found.more_runs {
                Some(1) => format!("Inconclusive{place}: about one more run of each side is needed."),
                Some(MORE_RUNS_MAX..) => {
                    format!("Inconclusive{place}: {MORE_RUNS_MAX} more runs of each side or more are needed.")
                }
                Some(more) => format!("Inconclusive{place}: about {more} more runs of each side are needed."),
                None if on_margin(&found.steps).next().is_some() && margin == Ratio::ZERO => {
                    format!(
                        "Inconclusive{place}: {} changed by nothing, or by less than can be told, so that no number of runs tells \
                         whether it did; --margin names the change that matters.",
                        titles(on_margin(&found.steps))
                    )
                }
                None if on_margin(&found.steps).next().is_some() => {
                    format!(
                        "Inconclusive{place}: a change lies so near to the margin of {margin} that no number of runs tells its side."
                    )
                }
                None => format!("Inconclusive{place}: too few runs, or too short ones, to tell."),
            }
        }
    }
}

/// Whether all that decides of the whole is told, so that it is a part that leaves it open.
fn is_incomplete(steps: &[StepComparison]) -> bool {
    let mut deciding = steps.iter().flat_map(|step| &step.metrics).filter(|metric| metric.decides).peekable();
    deciding.peek().is_some() && deciding.all(|metric| metric.verdict != Verdict::Inconclusive)
}

/// What decides and lies nearer to a margin than it is told: next to it, or within half a bucket of a percentile.
fn on_margin(steps: &[StepComparison]) -> impl Iterator<Item = &Metric> {
    let is_it = |metric: &&Metric| {
        metric.decides
            && metric.verdict == Verdict::Inconclusive
            && metric.interval.is_some()
            && metric.more_runs.is_none()
    };
    steps.iter().flat_map(|step| &step.metrics).filter(is_it)
}

/// That the sides have nothing in common that decides, what of them there is to be seen, and what to do.
fn nothing_decides(found: &Comparison) -> String {
    let kind = found.kind.name();
    let mut text = format!("Inconclusive: they have no {kind} in common that both measured");
    let [left, right] = found.unlike.each_ref().map(|loads| {
        let shown = loads.iter().take(LOADS_NAMED).map(|load| visible(load)).collect::<Vec<_>>().join(", ");
        if loads.len() > LOADS_NAMED { format!("{shown} …") } else { shown }
    });
    if left.is_empty() || right.is_empty() {
        return text + ", so that nothing decides.";
    }
    text += &format!(
        " (A: {left}; B: {right}), so that nothing decides: measure both at the same loads, which `--at` of fathom curve names."
    );
    let peak = found.curve.iter().find(|figure| figure.name == "peak");
    let rows = curve_rows(peak.map(std::slice::from_ref).unwrap_or_default());
    if let (Some(is_in_common), [[_, base, new, _]]) = (peak.and_then(|peak| peak.overlap), rows.as_slice()) {
        let overlap = if is_in_common { "overlap" } else { "do not overlap" };
        text += &format!(" Their peaks are {base} and {new}, whose intervals {overlap}.");
    }
    text
}

/// Titles of the figures that decide, each once.
fn deciding(steps: &[StepComparison]) -> String {
    titles(steps.iter().flat_map(|step| &step.metrics).filter(|metric| metric.decides))
}

/// The same, with what is read off curves in front.
fn all_deciding(found: &Comparison) -> String {
    let of_curves = found.curve.iter().filter(|one| one.deciding().is_some()).map(|one| one.name.as_str());
    let metrics = found.steps.iter().flat_map(|step| &step.metrics).filter(|metric| metric.decides);
    each_once(of_curves.chain(metrics.map(|metric| title(&metric.name))))
}

/// Titles of figures, each once.
fn titles<'a>(metrics: impl Iterator<Item = &'a Metric>) -> String {
    each_once(metrics.map(|metric| title(&metric.name)))
}

fn each_once<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut titles: Vec<&str> = Vec::new();
    for name in names {
        if !titles.contains(&name) {
            titles.push(name);
        }
    }
    match titles.split_last() {
        Some((last, rest @ [_, ..])) => format!("{} and {last}", rest.join(", ")),
        _ => titles.concat(),
    }
}

/// Of several steps, those in which nothing can be told; nothing where that is all of them.
fn untold(kind: Kind, steps: &[StepComparison]) -> String {
    let kind = kind.name();
    let is_untold = |step: &&StepComparison| {
        step.metrics.iter().any(|metric| metric.decides && metric.verdict == Verdict::Inconclusive)
    };
    let names: Vec<String> = steps.iter().filter(is_untold).map(|step| visible(&step.name)).collect();
    match names.as_slice() {
        all if all.is_empty() || all.len() == steps.len() => String::new(),
        [one] => format!(" in {kind} {one}"),
        all if all.len() > NAMED => format!(" in {} of {} {kind}s", all.len(), steps.len()),
        all => format!(" in {kind}s {}", all.join(", ")),
    }
}

/// That nothing can be said, and because of which runs.
fn cannot(invalid: &[InvalidRun], runs: (usize, usize)) -> String {
    let of_side = |is_base: bool, count: usize| -> Option<String> {
        let own: Vec<&InvalidRun> = invalid.iter().filter(|one| one.is_base == is_base).collect();
        let first = own.first()?;
        let side = if is_base { "the first side" } else { "the other side" };
        Some(match (own.len(), count) {
            (_, 1) => format!("{side} is INVALID ({})", first.finding),
            (1, count) => format!("1 of {count} runs of {side} is INVALID ({})", first.finding),
            (some, count) => format!("{some} of {count} runs of {side} are INVALID ({})", first.finding),
        })
    };
    let told: Vec<String> = of_side(true, runs.0).into_iter().chain(of_side(false, runs.1)).collect();
    format!(
        "They cannot be compared: {}; figures that are not about the device say nothing of what changed.",
        told.join(", and ")
    )
}

/// A change: `+3.1 %`.
pub fn percent(change: f64) -> String {
    let tenths = (change * 1000.0).round() / 10.0;
    let sign = match tenths {
        0.0 => "",
        below if below < 0.0 => "−",
        _ => "+",
    };
    format!("{sign}{} %", number(tenths.abs()))
}

/// A figure's name as people write it.
pub fn title(name: &str) -> &str {
    if name == "iops" { "IOPS" } else { name }
}

/// A figure's value of one side.
pub fn figure(metric: &Metric, value: f64) -> String {
    match metric.name.as_str() {
        _ if metric.needs.is_some() => "n/a".to_owned(),
        "iops" => Iops(value).to_string(),
        "bandwidth" => BytesPerSec(value).to_string(),
        _ => time(value / 1e9),
    }
}

/// The comparison as an answer, all sides; of kind `apart`, with the reason, where none can be compared with the first.
pub fn compare_answered(sides: &Sides<'_>) -> Answered {
    let Together { sentence, sections, is_any } = together(sides);
    let kind = if is_any { "compare" } else { "apart" };
    Answered { kind: kind.to_owned(), sentence, sections: sections.iter().map(part).collect() }
}

/// The sentence and the parts; `None` where a side cannot be compared with the first.
pub(crate) fn sections(sides: &Sides<'_>) -> Option<(String, Vec<Section>)> {
    let Sides { base, others, margin } = sides;
    let is_each = others.iter().all(|new| compared(base, new, *margin).is_ok());
    let Together { sentence, sections, .. } = is_each.then(|| together(sides))?;
    Some((sentence, sections))
}

/// What is to be said of all sides.
struct Together {
    sentence: String,
    sections: Vec<Section>,
    /// Whether any other side could be compared with the first.
    is_any: bool,
}

/// The sentence and the parts; with several sides each is told by its letter.
fn together(sides: &Sides<'_>) -> Together {
    let Sides { base, others, margin } = sides;
    let mut sentences = Vec::new();
    let mut all = vec![runs(sides)];
    let mut is_any = false;
    for (new, letter) in others.iter().zip('B'..) {
        let found = match compared(base, new, *margin) {
            Ok(found) => found,
            Err(Apart { reason, curve }) => {
                sentences.push(format!("A and {letter} cannot be compared: {reason}."));
                all.extend(cells::curves(&curve, letter));
                continue;
            }
        };
        is_any = true;
        let own = sentence(&found, *margin);
        sentences.push(if others.len() > 1 { format!("{letter}: {own}") } else { own.clone() });
        if others.len() > 1 {
            all.push(Section { title: format!("A and {letter}"), lines: vec![own], ..Section::default() });
        }
        all.push(trust::section(&found, letter, letter == 'B'));
        match found.kind {
            Kind::Steps => {
                all.extend(found.steps.iter().map(|step| of_step(step, base, new, letter, *margin)));
            }
            Kind::Cells | Kind::Loads => all.extend(cells::sections(&found, letter, *margin)),
        }
        all.push(differences(&found, letter));
    }
    Together { sentence: sentences.join(" "), sections: all, is_any }
}

/// Which run stands on which side.
fn runs(sides: &Sides<'_>) -> Section {
    let grade = |record: &Record| match validity::findings(record).first().map(|finding| finding.severity) {
        Some(Severity::Invalid) => "INVALID",
        Some(Severity::Warn) => "with warnings",
        _ => "",
    };
    let letters = ('A'..).zip(std::iter::once(&sides.base).chain(&sides.others));
    let rows = letters.flat_map(|(letter, records)| {
        records.iter().map(move |record| {
            let started = &record.started;
            vec![
                letter.to_string(),
                visible(&started.title),
                started.run.clone(),
                calendar::date_time(started.wall_ms),
                grade(record).to_owned(),
            ]
        })
    });
    let columns = vec![left("side"), left("title"), left("run"), left("started"), left("to be trusted")];
    let table = Table { columns, rows: rows.collect(), remark: None };
    Section {
        title: "Runs".to_owned(),
        tables: vec![("Sides and their runs".to_owned(), table)],
        ..Section::default()
    }
}

fn of_step(step: &StepComparison, base: &[&Record], new: &[&Record], letter: char, margin: Ratio) -> Section {
    let steps = |records: &[&Record]| -> Vec<StepRecord> {
        let of_record = |record: &&Record| match record.steps.as_slice() {
            [only] => Some(only.clone()),
            all => all.iter().find(|one| one.started.step.name == step.name).cloned(),
        };
        records.iter().filter_map(of_record).collect()
    };
    let (before, after) = (steps(base), steps(new));
    let mut plots = vec![changes(step, margin)];
    let of_side = |records: &[StepRecord]| curves(&records.iter().flat_map(added_up).collect::<Vec<_>>());
    if let (Some(left), Some(right)) = (of_side(&before).first(), of_side(&after).first()) {
        plots.push(shift(step, left, right, margin));
        plots.push(percentiles(left, right, letter));
    }
    plots.extend(parts::plots(step, margin));
    plots.extend(rates(&before, &after, letter));
    let noise = cells::noise_of(step, "").map(|noise| format!("Noise floor: {noise}."));
    let lines = noise.into_iter().chain(not_drawn(before.len().max(after.len()))).collect();
    Section {
        title: format!("Step {}", visible(&step.name)),
        lines,
        plots,
        tables: std::iter::once(("Figures of both sides".to_owned(), parts::figures(step, letter)))
            .chain(parts::table(step, letter))
            .collect(),
        ..Section::default()
    }
}

fn band(margin: Ratio) -> PlotBand {
    let share = margin.value();
    PlotBand { label: format!("no matter: within {margin}"), x: None, y: (-share, share) }
}

/// How much each figure of a step changed.
fn changes(step: &StepComparison, margin: Ratio) -> Plot {
    // Short, so that they stand beside one another.
    let name = |metric: &Metric| match metric.name.as_str() {
        "bandwidth" => "MB/s".to_owned(),
        other => title(other.trim_end_matches(" latency")).to_owned(),
    };
    let all: Vec<(String, &Metric)> = step.metrics.iter().map(|metric| (name(metric), metric)).collect();
    changed("Change of each figure, with its interval".to_owned(), &all, margin)
}

/// How much named figures changed, with their intervals, by what that says; those that are not known are left out.
fn changed(title: String, all: &[(String, &Metric)], margin: Ratio) -> Plot {
    let known = || all.iter().filter(|(_, metric)| metric.needs.is_none()).enumerate();
    let line = |verdict: Verdict| {
        let points: Vec<PlotPoint> = known()
            .filter(|(_, (_, metric))| metric.verdict == verdict)
            .map(|(at, (_, metric))| PlotPoint { x: at as f64, y: metric.change, interval: metric.interval })
            .collect();
        PlotLine::measured(verdict.name(), Shape::Points, &points)
    };
    let names = cells::places(known().map(|(_, (name, _))| name.as_str()));
    Plot {
        title,
        x: PlotAxis::named("", names),
        y: PlotAxis::linear("change", Unit::Change),
        lines: VERDICTS.into_iter().map(line).collect(),
        marks: vec![PlotMark::y("no change", 0.0, None)],
        bands: vec![band(margin)],
    }
}

/// How much longer the slower share of operations takes: all shares, and the percentiles that have an interval.
fn shift(step: &StepComparison, left: &Curve, right: &Curve, margin: Ratio) -> Plot {
    // Beyond that a quantile is one slow moment's accident, and before it one lucky operation's: either would set the scale.
    let fewest = left.count.min(right.count) as f64;
    let last = (fewest / BEYOND_MIN).log10();
    let is_supported =
        |nines: f64| nines <= last && fewest * (1.0 - 10_f64.powf(-nines)) >= BEYOND_MIN - 1e-6;
    let points: Vec<(f64, f64)> = left
        .points
        .iter()
        .filter(|(nines, _)| is_supported(*nines))
        .filter_map(|&(nines, before)| {
            let (_, after) = right.points.iter().find(|(other, _)| (other - nines).abs() < 1e-6)?;
            (before > 0.0).then(|| (nines, after / before - 1.0))
        })
        .collect();
    let told: Vec<PlotPoint> = QUANTILES
        .iter()
        .filter_map(|q| {
            let name = format!("p{}", (q * 1e6).round() / 1e4);
            let Metric { change, interval, .. } =
                step.metrics.iter().find(|metric| metric.name == name && metric.needs.is_none())?;
            Some(PlotPoint { x: -(1.0 - q).log10(), y: *change, interval: *interval })
        })
        .collect();
    Plot {
        title: "Quantile shift: change of the response time by share of operations".to_owned(),
        x: PlotAxis::linear("operations at least as fast", Unit::Nines),
        y: PlotAxis::linear("change", Unit::Change),
        lines: vec![
            PlotLine::new("all shares", Shape::Line, &points),
            PlotLine::measured("percentiles with their interval", Shape::Points, &told),
        ],
        marks: vec![PlotMark::y("no change", 0.0, None)],
        bands: vec![band(margin)],
    }
    .readable("times as long")
}

fn percentiles(left: &Curve, right: &Curve, letter: char) -> Plot {
    Plot {
        title: "Response time by share of operations".to_owned(),
        x: PlotAxis::linear("operations at least as fast", Unit::Nines),
        y: PlotAxis::log("response time", Unit::Latency),
        lines: vec![
            PlotLine::new("A", Shape::Line, &left.points),
            PlotLine::new(letter, Shape::Line, &right.points),
        ],
        marks: Vec::new(),
        bands: Vec::new(),
    }
}

/// What to say of runs that have no line of their own.
fn not_drawn(runs: usize) -> Option<String> {
    (runs > RUNS_MAX).then(|| {
        format!("IOPS over time has lines of the first {RUNS_MAX} runs of each side, of {runs}; figures are of all.")
    })
}

/// IOPS over time of each run.
fn rates(before: &[StepRecord], after: &[StepRecord], letter: char) -> Option<Plot> {
    let of_side = |letter: char, steps: &[StepRecord]| -> Vec<PlotLine> {
        let runs = steps.iter().take(RUNS_MAX).enumerate();
        runs.map(|(run, step)| {
            let (cell_s, series, _) = over_time(step, POINTS_MAX);
            let points: Vec<(f64, f64)> = series
                .iops
                .iter()
                .enumerate()
                .filter_map(|(at, value)| Some(((at as f64 + 0.5) * cell_s, (*value)?)))
                .collect();
            let name =
                if steps.len() > 1 { format!("{letter}, run {}", run + 1) } else { letter.to_string() };
            PlotLine::new(name, Shape::Line, &points)
        })
        .filter(|line| line.x.len() > 1)
        .collect()
    };
    let lines: Vec<PlotLine> = of_side('A', before).into_iter().chain(of_side(letter, after)).collect();
    (!lines.is_empty()).then(|| Plot {
        title: "IOPS over time".to_owned(),
        x: PlotAxis::linear("time since the step's start", Unit::Clock),
        y: PlotAxis::linear("IOPS", Unit::Rate),
        lines,
        marks: Vec::new(),
        bands: Vec::new(),
    })
}

/// What stands above facts that a verdict passes over.
fn passing(count: usize) -> String {
    match count {
        1 => "One fact that is another whenever one looks".to_owned(),
        _ => format!("{count} facts that are others whenever one looks"),
    }
}

/// A fact of the environment of which not all runs have the same value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct EnvironmentDifference {
    /// What it is about and its name.
    pub name: String,
    /// For people, of each run in their order.
    pub values: Vec<String>,
    /// Whether a verdict passes over it: it is another whenever one looks.
    pub passes: bool,
}

/// Facts of the environment of which not all of these runs have the same value.
pub fn environments(records: &[&Record]) -> Vec<EnvironmentDifference> {
    let of = |one: FactDifference| {
        let values = one.told();
        EnvironmentDifference { name: one.name, values, passes: one.passes }
    };
    fathom_analysis::compare::environments(records).into_iter().map(of).collect()
}

fn differences(found: &Comparison, letter: char) -> Section {
    let table = |all: &[Difference]| {
        let rows = all.iter().map(|(name, base, new)| vec![visible(name), visible(base), visible(new)]);
        let columns = vec![left("what"), left("A"), left("the other side")];
        Table { columns, rows: rows.collect(), remark: None }
    };
    let mut lines = found.remarks.clone();
    if found.differences.is_empty() {
        lines.insert(0, "Nothing of the hosts and their environment differs.".to_owned());
    }
    if found.job_differences.is_empty() {
        lines.insert(0, "The jobs are the same.".to_owned());
    }
    Section {
        title: if letter == 'B' {
            "What else differs".to_owned()
        } else {
            format!("What else differs in {letter}")
        },
        lines,
        tables: vec![
            ("Jobs".to_owned(), table(&found.job_differences)),
            ("Hosts and environment".to_owned(), table(&found.differences)),
        ],
        folded: vec![(passing(found.passing.len()), table(&found.passing))],
        ..Section::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_analysis::sample::{StreamShape, push, record};
    use fathom_schema::OperationKind;

    /// A run of steps of these rates.
    fn run(rates: &[(&str, u64)]) -> Record {
        let of =
            |rate: u64| StreamShape { rates: vec![(OperationKind::Read, rate)], ..StreamShape::default() };
        let mut made = record(&[of(rates[0].1)]);
        for (at, (_, rate)) in rates.iter().enumerate().skip(1) {
            push(&mut made, &[of(*rate)], u32::try_from(at).expect("few steps"));
        }
        for (step, (name, _)) in made.steps.iter_mut().zip(rates) {
            (*name).clone_into(&mut step.started.step.name);
        }
        made
    }

    fn says(base: &[(&str, u64)], new: &[(&str, u64)]) -> String {
        let (base, new) = (run(base), run(new));
        let margin = Ratio::new(0.03).expect("a share");
        let found = compared(&[&base], &[&new], margin).expect("they have steps in common");
        verdict(&found, margin)
    }

    #[test]
    fn runs_without_a_line_are_told() {
        assert_eq!(not_drawn(4), None);
        assert!(not_drawn(5).is_some_and(|said| said.contains("the first 4 runs of each side, of 5")));
    }

    #[test]
    fn a_verdict_names_the_step_where_there_are_several() {
        assert!(says(&[("only", 1000)], &[("only", 800)]).starts_with("Regressed: IOPS −20 %, p99 +"));
        let three = |second: u64, third: u64| [("a", 1000), ("b", second), ("c", third)];
        let lost = says(&three(1000, 1000), &three(800, 1000));
        assert!(lost.starts_with("Regressed: IOPS −20 %") && lost.ends_with(" in step b."), "{lost}");
        let both = says(&three(1000, 1000), &three(800, 500));
        assert!(both.contains(" in step b; IOPS −50 %") && both.ends_with(" in step c."), "{both}");
    }

    #[test]
    fn what_is_not_known_is_said_in_words() {
        let (base, new) = (run(&[("only", 1000)]), run(&[("only", 990)]));
        let margin = Ratio::new(0.03).expect("a share");
        let mut found = compared(&[&base], &[&new], margin).expect("they have a step in common");
        let metric = |interval, needs| Metric { interval, needs, ..found.steps[0].metrics[0].clone() };
        for (interval_of, needs, expect) in [
            (Some((-0.01, 0.02)), None, "−1 % to +2 %"),
            (Some((0.5, 42.0)), None, "+50 % to > +1000 %"),
            (Some((20.0, 1e9)), None, "> +1000 %"),
            (None, None, "n/a"),
            (None, Some(1000), "n/a (needs n ≥ 1000 operations)"),
        ] {
            assert_eq!(interval(&metric(interval_of, needs)), expect);
        }
        // What does not vary at all has no floor, and one that rounds to nothing is no 0.
        for (floor, expect) in [
            (None, None),
            (Some(0.0), None),
            (Some(0.0002), Some("less than 0.1 %")),
            (Some(0.02), Some("2 %")),
        ] {
            found.steps[0].noise_floor = floor;
            let expect = expect.map(|share| format!("the halves of A differ by {share} of IOPS"));
            assert_eq!(noise(&found), expect);
        }
        found.verdict = Verdict::Inconclusive;
        found.steps[0].metrics.iter_mut().for_each(|metric| metric.verdict = Verdict::Inconclusive);
        found.more_runs = Some(MORE_RUNS_MAX);
        let told = verdict(&found, margin);
        assert!(told.ends_with(": 1000 more runs of each side or more are needed."), "{told}");
        found.more_runs = None;
        for (interval, expect) in [
            (None, ": too few runs, or too short ones, to tell."),
            (
                Some((0.0, 0.05)),
                ": a change lies so near to the margin of 3% that no number of runs tells its side.",
            ),
        ] {
            for metric in &mut found.steps[0].metrics {
                (metric.verdict, metric.interval, metric.more_runs) = (Verdict::Inconclusive, interval, None);
            }
            let told = verdict(&found, margin);
            assert!(told.ends_with(expect), "{told}");
        }
        let told = verdict(&found, Ratio::ZERO);
        assert!(
            told.contains(": IOPS and p99 changed by nothing, or") && told.contains("--margin"),
            "{told}"
        );
        // All that decides is told: what is missing is what some run did nothing of.
        for metric in &mut found.steps[0].metrics {
            metric.verdict = Verdict::Equivalent;
        }
        let told = verdict(&found, margin);
        assert!(
            told.starts_with("Inconclusive: IOPS and p99 changed by no more than 3% ")
                && told.ends_with(", but some run did nothing of what the others did."),
            "{told}"
        );
        found.steps.clear();
        let told = verdict(&found, margin);
        assert!(told.starts_with("Inconclusive: they have no step in common"), "{told}");
    }

    #[test]
    fn a_single_fastest_operation_sets_no_scale() {
        let made = run(&[("only", 1000)]);
        let margin = Ratio::new(0.03).expect("a share");
        let found =
            compared(&[&made], &[&run(&[("only", 990)])], margin).expect("they have a step in common");
        let curve = |fastest: f64| Curve {
            kind: "read".to_owned(),
            latency: "response".to_owned(),
            count: 1000,
            points: vec![
                (0.0, fastest),
                (0.001, fastest),
                (0.1, 1000.0),
                (1.0, 1100.0),
                (2.0, 1300.0),
                (2.9, 9000.0),
            ],
        };
        let drawn = shift(&found.steps[0], &curve(100.0), &curve(900.0), margin);
        // Ten operations have to lie on either side: 1 % of them are 0.0044 nines, and 99 % are two.
        assert_eq!(
            (drawn.lines[0].x.as_slice(), drawn.lines[0].y.as_slice()),
            (&[0.1, 1.0, 2.0][..], &[0.0; 3][..])
        );
    }

    #[test]
    fn warnings_of_either_side_are_told() {
        let margin = Ratio::new(0.03).expect("a share");
        let of = |seconds: u64| {
            record(&[StreamShape {
                seconds,
                rates: vec![(OperationKind::Read, 1000)],
                ..StreamShape::default()
            }])
        };
        let (long, mut short, mut ended) = (of(60), of(3), of(60));
        short.started.run = "short".to_owned();
        ended.started.run = "ended".to_owned();
        ended.finished.as_mut().expect("it ended").outcome =
            fathom_schema::Outcome::Interrupted { signal: 2 };
        let found = compared(&[&long], &[&short, &ended], margin).expect("they have a step in common");
        assert_eq!(trusted(&found, true), []);
        let told: Vec<String> = trusted(&found, false).into_iter().map(|one| one.id).collect();
        for id in ["duration.short", "run.interrupted"] {
            assert!(told.iter().any(|one| one == id), "{id}: {told:?}");
        }
        let lines = trust_lines(&found, false).concat();
        assert!(lines.contains("WARN duration.short (1 of 2 runs): measured for 3.00 s"), "{lines}");
        let sides = Sides { base: vec![&long], others: vec![vec![&short, &ended]], margin };
        let page = crate::compare_html(&sides).expect("they were compared");
        assert!(page.contains("Can it be trusted?") && page.contains("B: WARN duration.short"), "{page}");
        assert!(page.contains("A: nothing was found against its figures"));
    }
}
