//! `fathom compare`: runs side by side, stored ones or of jobs that it runs itself, with a verdict that scripts can act on.

mod baseline;
mod replicates;

use crate::answer::number;
use crate::cli::ConsentArgs;
use crate::command::store_folder;
use crate::diagnose::printable;
use crate::exit::Exit;
use crate::terminal;
use clap::Args;
use fathom_analysis::compare::{Comparison, Metric, StepComparison, Verdict, compare};
use fathom_analysis::validity;
use fathom_report::calendar;
use fathom_schema::{Record, Severity};
use fathom_store::StoreError;
use fathom_units::{BytesPerSec, Iops, Ratio};
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
    /// Keep the runs under this name, for `--baseline`
    #[arg(long, value_name = "NAME", help_heading = "Options")]
    save_baseline: Option<String>,
    /// Change that matters: less of it is the same
    #[arg(long, value_name = "SHARE", default_value = "3%", help_heading = "Options")]
    margin: Ratio,
    /// Print a JSON document; docs/compare.md explains it
    #[arg(long, help_heading = "Options")]
    json: bool,
    /// Folder of the runs
    #[arg(long, value_name = "FOLDER", help_heading = "Options")]
    store: Option<PathBuf>,
}

/// The runs of one side.
struct Side {
    records: Vec<Record>,
}

impl Side {
    fn names(&self) -> Vec<&str> {
        self.records.iter().map(|record| record.started.run.as_str()).collect()
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
        Some(name) => Some(read(folder, &baseline::runs(folder, name)?.join(","))?),
        None => None,
    };
    let count = sides.len() + args.replicates.jobs.len() + usize::from(baseline.is_some());
    if count < 2 && args.save_baseline.is_none() {
        let reason = "one side has nothing to be compared with; name another run or job, or --baseline";
        return Err((Exit::Usage, reason.to_owned()));
    }
    let ran = args.replicates.run(&args.consent, folder).map_err(|exit| (exit, String::new()))?;
    sides.extend(ran.into_iter().map(|records| Side { records }));
    if let Some(name) = &args.save_baseline {
        let names: Vec<&str> = sides.iter().flat_map(Side::names).collect();
        let path = baseline::keep(folder, name, &names)?;
        terminal::message(&format!("baseline {name}: {}", path.display()));
        if sides.len() == 1 {
            return Ok(Exit::Ok);
        }
    }
    sides.splice(0..0, baseline);
    let (base, others) = sides.split_first().expect("there are two sides");
    let records = |side: &Side| -> Vec<Record> { side.records.clone() };
    let base_records = records(base);
    let mut compared = Vec::new();
    for side in others {
        let found = compare(
            &base_records.iter().collect::<Vec<_>>(),
            &side.records.iter().collect::<Vec<_>>(),
            args.margin.value(),
        );
        let Some(found) = found else {
            let what =
                format!("{} and {} have no step in common", base.names().join(","), side.names().join(","));
            return Err((Exit::Usage, what + "; compare runs of one job"));
        };
        compared.push(doubted(found, base, side));
    }
    let verdict = compared.iter().map(|found| found.verdict).max().expect("there is another side");
    let printed = if args.json {
        let rows: Vec<Value> = compared
            .iter()
            .zip(others)
            .map(|(found, side)| document(found, base, side, args.margin))
            .collect();
        let document = json!({ "verdict": verdict.name(), "comparisons": rows });
        crate::printed(&(serde_json::to_string_pretty(&document).expect("it has only string keys") + "\n"))
    } else {
        let pages: Vec<String> =
            compared.iter().zip(others).map(|(found, side)| page(found, base, side, args.margin)).collect();
        crate::shown(&pages.join("\n"))
    };
    Ok(if printed == Exit::Ok { exit_of(verdict) } else { printed })
}

const fn exit_of(verdict: Verdict) -> Exit {
    match verdict {
        Verdict::Equivalent | Verdict::Improved => Exit::Ok,
        Verdict::Inconclusive => Exit::Inconclusive,
        Verdict::Regressed => Exit::Threshold,
    }
}

fn read(folder: &Path, words: &str) -> Result<Side, (Exit, String)> {
    let records = words
        .split(',')
        .map(|which| {
            fathom_store::find(folder, which).and_then(|path| fathom_store::read(&path)).map_err(|error| {
                let exit = match error {
                    StoreError::NotFound { .. } | StoreError::Ambiguous { .. } => Exit::Usage,
                    _ => Exit::Target,
                };
                (exit, error.to_string())
            })
        })
        .collect::<Result<_, _>>()?;
    Ok(Side { records })
}

/// Runs whose figures are not about the device allow no statement.
fn doubted(mut found: Comparison, base: &Side, side: &Side) -> Comparison {
    for record in base.records.iter().chain(&side.records) {
        let invalid = validity::findings(record).into_iter().find(|one| one.severity == Severity::Invalid);
        if let Some(finding) = invalid {
            found.verdict = Verdict::Inconclusive;
            found.more_runs = None;
            found.remarks.push(format!(
                "run {} is invalid ({}): {}",
                record.started.run, finding.id, finding.evidence
            ));
        }
    }
    found
}

fn document(found: &Comparison, base: &Side, side: &Side, margin: Ratio) -> Value {
    let Comparison { steps, verdict, more_runs, runs: _, differences, remarks } = found;
    let metric = |metric: &Metric| {
        let Metric { name, more_is_better, base, new, change, interval, verdict, more_runs, decides, needs } =
            metric;
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
    let step = |step: &StepComparison| {
        let StepComparison { name, metrics, noise_floor } = step;
        json!({
            "name": name,
            "noise_floor": noise_floor,
            "metrics": metrics.iter().map(metric).collect::<Vec<_>>(),
        })
    };
    json!({
        "base": base.names(),
        "new": side.names(),
        "margin": margin.value(),
        "verdict": verdict.name(),
        "more_runs": more_runs,
        "sentence": sentence(found, margin),
        "steps": steps.iter().map(step).collect::<Vec<_>>(),
        "differences": differences
            .iter()
            .map(|(name, base, new)| json!({ "name": name, "base": base, "new": new }))
            .collect::<Vec<_>>(),
        "remarks": remarks,
    })
}

fn sentence(found: &Comparison, margin: Ratio) -> String {
    let metrics = || found.steps.iter().flat_map(|step| &step.metrics).filter(|metric| metric.decides);
    let told = |verdict: Verdict| {
        let all: Vec<String> = metrics()
            .filter(|metric| metric.verdict == verdict)
            .map(|metric| format!("{} {}", title(&metric.name), percent(metric.change)))
            .collect();
        let shown = all.iter().take(4).cloned().collect::<Vec<_>>().join(", ");
        if all.len() > 4 { format!("{shown} and {} more", all.len() - 4) } else { shown }
    };
    match found.verdict {
        Verdict::Regressed => format!("Regressed: {}.", told(Verdict::Regressed)),
        Verdict::Improved => format!("Improved: {}.", told(Verdict::Improved)),
        Verdict::Equivalent => format!("Equivalent: nothing changed by more than {margin}."),
        Verdict::Inconclusive => match found.more_runs {
            Some(1) => "Inconclusive: about one more run of each side is needed.".to_owned(),
            Some(more) => format!("Inconclusive: about {more} more runs of each side are needed."),
            None => "Inconclusive: too few runs, or too short ones, to tell.".to_owned(),
        },
    }
}

/// `+3.1 %`.
fn percent(change: f64) -> String {
    let tenths = (change * 1000.0).round() / 10.0;
    let sign = match tenths {
        0.0 => "",
        below if below < 0.0 => "−",
        _ => "+",
    };
    format!("{sign}{} %", number(tenths.abs()))
}

fn title(name: &str) -> &str {
    if name == "iops" { "IOPS" } else { name }
}

fn page(found: &Comparison, base: &Side, side: &Side, margin: Ratio) -> String {
    let mut text = sentence(found, margin) + "\n";
    for (letter, side) in [("A", base), ("B", side)] {
        let first = &side.records[0].started;
        let more = match side.records.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        text += &format!(
            "  {letter}  {}{more}  {}  {}\n",
            first.run,
            calendar::date_time(first.wall_ms),
            printable(&first.title)
        );
    }
    for StepComparison { name, metrics, noise_floor } in &found.steps {
        text += &format!("\nStep {}\n", printable(name));
        text += "  figure                A          B    change  interval            verdict\n";
        for metric in metrics {
            let interval = metric.interval.map_or_else(
                || "–".to_owned(),
                |(low, high)| format!("{} to {}", percent(low), percent(high)),
            );
            text += &format!(
                "{} {:<13}{:>10} {:>10} {:>9}  {:<18}  {}\n",
                if metric.decides { '*' } else { ' ' },
                title(&metric.name),
                figure(metric, metric.base),
                figure(metric, metric.new),
                if metric.needs.is_some() { "–".to_owned() } else { percent(metric.change) },
                interval,
                metric.verdict.name()
            );
        }
        if let Some(floor) = noise_floor {
            let of = if found.runs.0 > 1 { "runs of A differ by" } else { "the halves of A differ by" };
            text += &format!("  noise floor: {of} {} of IOPS\n", percent(*floor).trim_start_matches('+'));
        }
    }
    text += &format!("\n  * decides; margin {margin}; intervals hold together with 95 %\n");
    if !found.differences.is_empty() {
        text += "\nWhat else differs\n";
        for (name, base, new) in &found.differences {
            text += &format!("  {}: {} → {}\n", printable(name), printable(base), printable(new));
        }
    }
    for remark in &found.remarks {
        text += &format!("  note: {}\n", printable(remark));
    }
    text
}

fn figure(metric: &Metric, value: f64) -> String {
    match metric.name.as_str() {
        _ if metric.needs.is_some() => "n/a".to_owned(),
        "iops" => Iops(value).to_string(),
        "bandwidth" => BytesPerSec(value).to_string(),
        _ => crate::answer::time(value / 1e9),
    }
}
