//! `fathom compare`: runs side by side, stored ones or of jobs that it runs itself, with a verdict that scripts can act on.

mod baseline;
mod replicates;

use crate::cli::ConsentArgs;
use crate::command::store_folder;
use crate::diagnose::printable;
use crate::exit::Exit;
use crate::output::{self, Spared};
use crate::terminal;
use clap::{Args, ValueEnum};
use fathom_analysis::compare::{
    Apart, Comparison, CurveFigure, Difference, InvalidRun, Kind, Metric, PartComparison, RunFinding,
    StepComparison, Verdict,
};
use fathom_analysis::scaling::Estimate;
use fathom_report::compare::{
    CellRow, Sides, caution, cell_rows, compared, curve_rows, figure, interval, noise, noise_of, part_rows,
    percent, sentence, title, trust_lines, verdict,
};
use fathom_report::{calendar, compare_html, compare_markdown, figures_csv};
use fathom_schema::{Facts, Finding, OperationKind, Record};
use fathom_store::StoreError;
use fathom_units::{QuantityError, Ratio};
use replicates::Replicates;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Sides to compare, the first with each of the others: a run, or several runs of one side joined by commas, each as
    /// for `fathom report`
    #[arg(value_name = "RUN[,RUN…]", required_unless_present = "jobs")]
    sides: Vec<String>,
    #[command(flatten)]
    replicates: Replicates,
    #[command(flatten)]
    consent: ConsentArgs,
    /// Compare every side with the runs that are kept under this name
    #[arg(long, value_name = "NAME", conflicts_with = "save_baseline", help_heading = "Options")]
    baseline: Option<String>,
    /// Keep the runs of the first side under this name, for `--baseline`
    #[arg(long, value_name = "NAME", help_heading = "Options")]
    save_baseline: Option<String>,
    /// Keep them in place of the runs that have that name
    #[arg(long, requires = "save_baseline", help_heading = "Options")]
    replace: bool,
    /// Change that matters: less of it is the same
    #[arg(long, value_name = "SHARE", default_value = "3%", help_heading = "Options", value_parser = margin, allow_hyphen_values = true)]
    margin: Ratio,
    /// Print a JSON document; docs/compare.md explains it
    #[arg(long, help_heading = "Options")]
    json: bool,
    /// Form of what is printed
    #[arg(long, value_enum, default_value = "text", conflicts_with = "json", help_heading = "Options")]
    format: Format,
    /// Write it to this file, whole or not at all, instead of to standard output; one with further names, an access list or a
    /// link to it is written over where it is, once the document is made and there is room
    #[arg(long, short, value_name = "FILE", help_heading = "Options")]
    output: Option<PathBuf>,
    /// Folder of the runs
    #[arg(long, value_name = "FOLDER", help_heading = "Options")]
    store: Option<PathBuf>,
}

/// A change to either side.
pub(crate) fn margin(text: &str) -> Result<Ratio, String> {
    if text.starts_with('-') {
        return Err("a margin is a share, of change to either side; write for example 3%".to_owned());
    }
    text.parse().map_err(|error: QuantityError| error.to_string())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For programs; the same as `--json`
    Json,
    /// A row per figure of that document, for a spreadsheet
    Csv,
    /// One page with charts that needs nothing else; a browser opens it from disk
    Html,
    /// For tickets and wikis
    Markdown,
}

/// The runs of one side.
struct Side {
    records: Vec<Record>,
    /// The files that they were read from, in the same order.
    files: Vec<PathBuf>,
}

impl Side {
    fn names(&self) -> Vec<&str> {
        self.records.iter().map(|record| record.started.run.as_str()).collect()
    }

    /// Each run with the file that it was read from.
    fn named_files(&self) -> Vec<(&str, &Path)> {
        self.names().into_iter().zip(self.files.iter().map(PathBuf::as_path)).collect()
    }

    /// Runs that were made just now, and stored.
    fn stored(records: Vec<Record>, folder: &Path) -> Self {
        let files = records.iter().map(|record| fathom_store::path_of(folder, &record.started.run)).collect();
        Self { records, files }
    }
}

pub(crate) fn run(args: &CompareArgs) -> Exit {
    let folder = store_folder(args.store.as_ref());
    match outcome(args, &folder) {
        Ok(exit) => exit,
        Err((exit, reason)) => {
            // What kept a job from running was told where it was found.
            if !reason.is_empty() {
                terminal::message(&format!("error: {reason}"));
            }
            exit
        }
    }
}

fn outcome(args: &CompareArgs, folder: &Path) -> Result<Exit, (Exit, String)> {
    let mut sides = args.sides.iter().map(|words| read(folder, words)).collect::<Result<Vec<Side>, _>>()?;
    let baseline = match &args.baseline {
        Some(name) => Some(baseline::read(folder, name)?),
        None => None,
    };
    let count = sides.len() + args.replicates.jobs.len() + usize::from(baseline.is_some());
    if count < 2 && args.save_baseline.is_none() {
        let reason = "one side has nothing to be compared with; name another run or job, or --baseline";
        return Err((Exit::Usage, reason.to_owned()));
    }
    if let Some(name) = &args.save_baseline {
        baseline::check(folder, name, args.replace)?;
    }
    check_once(baseline.as_ref(), &sides)?;
    if let Some(output) = &args.output
        && let Err(fault) = output::check(output, &Spared::of(&Facts::default(), &[], folder))
    {
        return Ok(fault.refuse());
    }
    let first = baseline.as_ref().or(sides.first()).and_then(|side| side.records.first());
    let ran = args.replicates.run(&args.consent, folder, first).map_err(|exit| (exit, String::new()))?;
    sides.extend(ran.into_iter().map(|records| Side::stored(records, folder)));
    let kept = match &args.save_baseline {
        Some(name) => baseline::keep(folder, name, &sides[0].named_files(), args.replace).map(Some),
        None => Ok(None),
    };
    if let Ok(Some(told)) = &kept {
        terminal::message(told);
    }
    if sides.len() == 1 && baseline.is_none() {
        return kept.map(|_| Exit::Ok);
    }
    sides.splice(0..0, baseline);
    let judged = judged(args, folder, &sides);
    // The runs took their time: what they tell is not lost because their names cannot be kept.
    match (judged, kept) {
        (Err(fault), Err((_, reason))) => {
            terminal::message(&format!("error: {reason}"));
            Err(fault)
        }
        (judged, kept) => kept.and(judged),
    }
}

/// Compares the first side with each of the others, and says what comes of it.
fn judged(args: &CompareArgs, folder: &Path, sides: &[Side]) -> Result<Exit, (Exit, String)> {
    let (base, others) = sides.split_first().expect("there are two sides");
    let records = |side: &Side| -> Vec<Record> { side.records.clone() };
    let base_records = records(base);
    let mut all = Vec::new();
    for side in others {
        let found = compared(
            &base_records.iter().collect::<Vec<_>>(),
            &side.records.iter().collect::<Vec<_>>(),
            args.margin,
        );
        all.push(found.map_err(|apart| (Exit::Usage, why_apart(&apart, base, side)))?);
    }
    let worst = all.iter().map(|found| found.verdict).max().expect("there is another side");
    let format = if args.json { Format::Json } else { args.format };
    let text = formed(format, &all, base, others, args.margin);
    let printed = match &args.output {
        None if format == Format::Text => crate::shown(&text),
        None => crate::printed(&text),
        Some(output) => super::told_to(output, &text, sides.iter().flat_map(|side| &side.records), folder),
    };
    Ok(if printed == Exit::Ok { exit_of(worst) } else { printed })
}

/// Why two sides are not compared, and what there is to be seen of them nevertheless.
fn why_apart(Apart { reason, curve }: &Apart, base: &Side, side: &Side) -> String {
    let (base, side) = (base.names().join(","), side.names().join(","));
    let mut text = format!("{base} and {side} cannot be compared: {reason}");
    for [name, base, new, differ] in curve_rows(curve) {
        text += &format!("\n  {name}: A {base}, B {new}; {differ}");
    }
    text
}

/// The comparisons of the first side with each of the others in one form.
fn formed(format: Format, all: &[Comparison], base: &Side, others: &[Side], margin: Ratio) -> String {
    match format {
        Format::Text => {
            let pages = all.iter().zip(others).map(|(found, side)| page(found, base, side, margin));
            pages.collect::<Vec<_>>().join("\n")
        }
        Format::Json | Format::Csv => {
            let worst = all.iter().map(|found| found.verdict).max();
            let rows = all.iter().zip(others).map(|(found, side)| document(found, base, side, margin));
            let rows: Vec<Value> = rows.collect();
            let document = json!({ "verdict": worst.map(Verdict::name), "comparisons": rows });
            if format == Format::Csv {
                figures_csv(&document)
            } else {
                serde_json::to_string_pretty(&document).expect("it has only string keys") + "\n"
            }
        }
        Format::Html | Format::Markdown => {
            let others = others.iter().map(|side| side.records.iter().collect()).collect();
            let sides = Sides { base: base.records.iter().collect(), others, margin };
            let page = if format == Format::Html { compare_html(&sides) } else { compare_markdown(&sides) };
            page.expect("they were compared before")
        }
    }
}

/// Refuses runs that would count more than once: stored ones, since those that are run are new.
fn check_once(baseline: Option<&Side>, sides: &[Side]) -> Result<(), (Exit, String)> {
    let mut all = baseline.into_iter().chain(sides).map(|side| side.records.iter().collect());
    let Some(base) = all.next() else { return Ok(()) };
    let sides = Sides { base, others: all.collect(), margin: Ratio::ZERO };
    sides.twice().map_or(Ok(()), |reason| Err((Exit::Usage, reason)))
}

const fn exit_of(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Equivalent | Verdict::Improved => Exit::Ok,
        Verdict::Inconclusive => Exit::Inconclusive,
        Verdict::Regressed => Exit::Threshold,
    }
}

/// The runs of a side, as they are named on the command line.
fn read(folder: &Path, words: &str) -> Result<Side, (Exit, String)> {
    read_all(words.split(',').map(|which| super::found(folder, which)))
}

/// The runs of a side, of the files that were found.
fn read_all(found: impl Iterator<Item = Result<PathBuf, StoreError>>) -> Result<Side, (Exit, String)> {
    let mut side = Side { records: Vec::new(), files: Vec::new() };
    for file in found {
        let (file, record) = file
            .and_then(|file| fathom_store::read(&file).map(|record| (file, record)))
            .map_err(|error| {
                let exit = match error {
                    StoreError::NotFound { .. } | StoreError::Ambiguous { .. } => Exit::Usage,
                    _ => Exit::Target,
                };
                (exit, error.to_string())
            })?;
        side.records.push(record);
        side.files.push(file);
    }
    Ok(side)
}

fn document(found: &Comparison, base: &Side, side: &Side, margin: Ratio) -> Value {
    let Comparison {
        kind,
        steps,
        curve,
        unlike: _, // what the sentence says of it
        verdict,
        more_runs,
        runs: _,
        invalid,
        warnings,
        job_differences,
        differences,
        passing,
        remarks,
    } = found;
    let listed = |all: &[Difference]| -> Vec<Value> {
        all.iter().map(|(name, base, new)| json!({ "name": name, "base": base, "new": new })).collect()
    };
    let side_name = |is_base: bool| if is_base { "base" } else { "new" };
    let finding = |one: &RunFinding| {
        let RunFinding { is_base, run, finding: Finding { id, severity, evidence, remedy } } = one;
        json!({
            "side": side_name(*is_base),
            "run": run,
            "severity": severity,
            "finding": id,
            "evidence": evidence,
            "remedy": remedy,
        })
    };
    let estimate = |one: &Option<Estimate>| {
        one.map(|Estimate { value, interval }| {
            json!({ "value": value, "interval": interval.map(|(low, high)| [low, high]) })
        })
    };
    let curve_figure = |one: &CurveFigure| {
        let CurveFigure { name, is_rate, base, new, overlap, change, is_open: _ } = one;
        json!({
            "name": name,
            "unit": if *is_rate { "iops" } else { "in flight" },
            "base": estimate(base),
            "new": estimate(new),
            "intervals_overlap": overlap,
            "change": change.map(|one| json!({
                "change": one.change,
                "interval": [one.interval.0, one.interval.1],
                "verdict": one.verdict.name(),
                "decides": one.decides,
            })),
        })
    };
    json!({
        "base": base.names(),
        "new": side.names(),
        "margin": margin.value(),
        "verdict": verdict.name(),
        "more_runs": more_runs,
        "sentence": sentence(found, margin),
        "invalid": invalid
            .iter()
            .map(|InvalidRun { is_base, run, finding, evidence }| json!({
                "side": side_name(*is_base),
                "run": run,
                "finding": finding,
                "evidence": evidence,
            }))
            .collect::<Vec<_>>(),
        "findings": warnings.iter().map(finding).collect::<Vec<_>>(),
        "of": kind.name(),
        "curve": curve.iter().map(curve_figure).collect::<Vec<_>>(),
        "steps": steps.iter().map(step_document).collect::<Vec<_>>(),
        "job_differences": listed(job_differences),
        "differences": listed(differences),
        "passing": listed(passing),
        "remarks": remarks,
    })
}

fn step_document(step: &StepComparison) -> Value {
    let metric = |metric: &Metric| {
        let Metric {
            name,
            more_is_better,
            base,
            new,
            change,
            interval,
            is_wide: _,
            verdict,
            more_runs,
            decides,
            needs,
        } = metric;
        json!({
            "name": name,
            "more_is_better": more_is_better,
            "base": base,
            "new": new,
            "change": change,
            "interval": interval.map(|(low, high)| [low, high]),
            "verdict": verdict.name(),
            "more_runs": more_runs,
            "decides": decides,
            "needs": needs,
        })
    };
    let part = |part: &PartComparison| {
        let PartComparison { stream, kind, metrics } = part;
        let metrics = metrics.iter().map(metric).collect::<Vec<_>>();
        json!({ "stream": stream, "kind": kind.map(OperationKind::name), "metrics": metrics })
    };
    let StepComparison { name, metrics, noise_floor, replicates: (base, new), parts } = step;
    json!({
        "name": name,
        "noise_floor": noise_floor,
        "replicates": { "base": base.name(), "new": new.name() },
        "metrics": metrics.iter().map(metric).collect::<Vec<_>>(),
        "parts": parts.iter().map(part).collect::<Vec<_>>(),
    })
}

fn page(found: &Comparison, base: &Side, side: &Side, margin: Ratio) -> String {
    let mut text = words(&verdict(found, margin));
    text.extend(caution(found).map(|caution| words(&caution)));
    for (letter, side) in [("A", base), ("B", side)] {
        let first = &side.records[0].started;
        let more = match side.records.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        let invalid = found.invalid.iter().any(|one| one.is_base == (letter == "A"));
        text += &words(&format!(
            "  {letter}  {}{more}  {}  {}{}",
            first.run,
            calendar::date_time(first.wall_ms),
            printable(&first.title),
            if invalid { "  INVALID" } else { "" }
        ));
    }
    text += "\nCan it be trusted?\n";
    for (letter, is_base) in [("A", true), ("B", false)] {
        for line in trust_lines(found, is_base) {
            text += &words(&format!("  {letter}  {}", printable(&line)));
        }
    }
    text += &match found.kind {
        Kind::Steps => steps(found),
        Kind::Cells | Kind::Loads => cells(found),
    };
    text += &format!("\n  * decides; margin {margin}; intervals hold together with 95 %\n");
    for (heading, all) in
        [("What differs of the jobs", &found.job_differences), ("What else differs", &found.differences)]
    {
        if !all.is_empty() {
            text += &format!("\n{heading}\n");
        }
        for (name, base, new) in all {
            text += &words(&format!("  {}: {} → {}", printable(name), printable(base), printable(new)));
        }
    }
    for remark in &found.remarks {
        text += &words(&format!("  note: {}", printable(remark)));
    }
    text
}

/// A line of words, broken where it would be wider than what it is printed on.
fn words(line: &str) -> String {
    terminal::folded(line, terminal::width()) + "\n"
}

/// Columns that a column of intervals takes.
fn width<'a>(all: impl Iterator<Item = &'a String>) -> usize {
    all.map(|text| text.chars().count()).max().unwrap_or(0).max(18)
}

/// Every figure of each step.
fn steps(found: &Comparison) -> String {
    let mut text = String::new();
    for step in &found.steps {
        let StepComparison { name, metrics, .. } = step;
        text += &format!("\nStep {}\n", printable(name));
        let intervals: Vec<String> = metrics.iter().map(interval).collect();
        let wide = width(intervals.iter());
        text += &format!("  figure                A          B    change  {:<wide$}  verdict\n", "interval");
        for (metric, interval) in metrics.iter().zip(&intervals) {
            text += &format!(
                "{} {:<13}{:>10} {:>10} {:>9}  {interval:<wide$}  {}\n",
                if metric.decides { '*' } else { ' ' },
                title(&metric.name),
                figure(metric, metric.base),
                figure(metric, metric.new),
                if metric.needs.is_some() { "–".to_owned() } else { percent(metric.change) },
                metric.verdict.name()
            );
        }
        text += &table("stream or kind", part_rows(step));
        if let Some(noise) = noise_of(step, "") {
            text += &format!("  noise floor: {noise}\n");
        }
    }
    text
}

/// What the curves come to, and what decides of each load, a line each.
fn cells(found: &Comparison) -> String {
    let mut text = String::new();
    let curves = curve_rows(&found.curve);
    if !curves.is_empty() {
        text += "\nCurves\n";
    }
    for [name, base, new, differ] in curves {
        text += &words(&format!("  {name}: A {base}, B {new}; {differ}"));
    }
    text += &table(found.kind.name(), cell_rows(found));
    if let Some(noise) = noise(found) {
        text += &format!("  noise floor: {noise}\n");
    }
    text
}

/// What decides of each load, or of each part of a step: a line each.
fn table(heading: &str, rows: Vec<CellRow>) -> String {
    let cells = rows.iter().map(|row| row.cell.chars().count());
    let wide = cells.max().unwrap_or(0).max(heading.chars().count());
    let breadth = width(rows.iter().map(|row| &row.values[3]));
    let figure = rows.iter().map(|row| row.figure.chars().count()).max().unwrap_or(0).max(6);
    let mut text = String::new();
    if !rows.is_empty() {
        text += &format!(
            "\n  {heading:<wide$}  {:<figure$} {:>10} {:>10} {:>9}  {:<breadth$}  verdict\n",
            "figure", "A", "B", "change", "interval"
        );
    }
    for CellRow { cell, figure: name, values: [base, new, change, interval, verdict] } in rows {
        text += &format!(
            "* {:<wide$}  {name:<figure$} {base:>10} {new:>10} {change:>9}  {interval:<breadth$}  {verdict}\n",
            printable(&cell)
        );
    }
    text
}
