//! `fathom history`: one job over many stored runs: where its level changed, and whether the newest run lies apart.

use crate::command::compare::{Format, margin};
use crate::command::store_folder;
use crate::exit::Exit;
use crate::terminal;
use clap::Args;
use fathom_analysis::compare::{
    Difference, FigureHistory, LevelChange, LoadHistory, Outlook, Turn, is_one_job,
};
use fathom_analysis::validity;
use fathom_report::{Followed, figures_csv, history_html, history_markdown, history_text, visible};
use fathom_schema::{Outcome, Record, Severity};
use fathom_store::{State, StoreError};
use fathom_units::Ratio;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Columns of a text that goes to a file.
const TEXT_WIDTH: usize = 100;

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// One run: all stored runs of its job, on the same targets (without any: of the newest run's job). Several: these
    /// alone. Each as for `fathom report`
    #[arg(value_name = "RUN[,RUN…]")]
    runs: Vec<String>,
    /// Begin with this run: what was before it counts no more
    #[arg(long, value_name = "RUN")]
    from: Option<String>,
    /// Look at the newest of them alone, so many at most
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u16).range(2..))]
    last: u16,
    /// Change that matters: less of it is the same
    #[arg(long, value_name = "SHARE", default_value = "3%", value_parser = margin, allow_hyphen_values = true)]
    margin: Ratio,
    /// Print a JSON document; docs/compare.md explains it
    #[arg(long)]
    json: bool,
    /// Form of what is printed
    #[arg(long, value_enum, default_value = "text", conflicts_with = "json")]
    format: Format,
    /// Write it to this file, whole or not at all, instead of to standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Folder of the runs
    #[arg(long, value_name = "FOLDER")]
    store: Option<PathBuf>,
}

/// Runs that belong together, and what is not among them.
struct Chosen {
    /// The oldest first.
    records: Vec<Record>,
    /// What was left out, and why.
    left_out: Vec<String>,
    /// Why the newest one is not among them, where it is not.
    newest_is_out: Option<String>,
}

/// What is said where nothing can be followed.
const TOO_FEW: &str = "there are fewer than two runs to follow; run the job again, or name the runs";

pub(crate) fn run(args: &HistoryArgs) -> Exit {
    let folder = store_folder(args.store.as_ref());
    outcome(args, &folder).unwrap_or_else(|(exit, reason)| {
        terminal::message(&format!("error: {reason}"));
        exit
    })
}

fn outcome(args: &HistoryArgs, folder: &Path) -> Result<Exit, (Exit, String)> {
    let Chosen { records, left_out, newest_is_out } = chosen(args, folder)?;
    let runs: Vec<&Record> = records.iter().collect();
    let format = if args.json { Format::Json } else { args.format };
    if runs.len() < 2 {
        if format == Format::Json {
            let document = document_of_too_few(&runs, args, &left_out, newest_is_out.as_deref());
            match given_out(&document, format, args, &records, folder) {
                Exit::Ok => {}
                exit => return Ok(exit),
            }
        }
        let mut reason = TOO_FEW.to_owned();
        left_out.iter().for_each(|one| reason += &format!("\n  {one}"));
        return Err((Exit::Inconclusive, reason));
    }
    let mut followed = Followed::of(runs, args.margin, left_out).map_err(|reason| (Exit::Usage, reason))?;
    followed.newest_is_out = newest_is_out;
    let exit = match followed.outlook() {
        Outlook::Unchanged | Outlook::Improved => Exit::Ok,
        Outlook::Inconclusive => Exit::Inconclusive,
        Outlook::Regressed => Exit::Threshold,
    };
    let text = match format {
        Format::Text if args.output.is_some() => history_text(&followed, TEXT_WIDTH, false),
        Format::Text => history_text(&followed, terminal::width(), terminal::colours_data()),
        Format::Json => json_text(&document(&followed)),
        Format::Csv => figures_csv(&document(&followed)),
        Format::Html => history_html(&followed),
        Format::Markdown => history_markdown(&followed),
    };
    let printed = given_out(&text, format, args, &records, folder);
    Ok(if printed == Exit::Ok { exit } else { printed })
}

fn given_out(text: &str, format: Format, args: &HistoryArgs, records: &[Record], folder: &Path) -> Exit {
    match &args.output {
        None if format == Format::Text => crate::shown(text),
        None => crate::printed(text),
        Some(output) => super::told_to(output, text, records, folder),
    }
}

fn json_text(document: &Value) -> String {
    serde_json::to_string_pretty(document).expect("it has only string keys") + "\n"
}

/// The document of one run, or none, of which nothing can be said.
fn document_of_too_few(
    runs: &[&Record],
    args: &HistoryArgs,
    left_out: &[String],
    newest_is_out: Option<&str>,
) -> String {
    json_text(&json!({
        "outlook": Outlook::Inconclusive.name(),
        "sentence": TOO_FEW,
        "title": runs.first().map(|run| visible(&run.started.title)),
        "margin": args.margin.value(),
        "of": null,
        "runs": runs.iter().map(|run| of_run(run)).collect::<Vec<_>>(),
        "level_from": null,
        "newest": null,
        "loads": [],
        "turns": [],
        "newest_is_out": newest_is_out,
        "left_out": left_out,
        "remarks": [],
    }))
}

fn of_run(record: &Record) -> Value {
    json!({
        "run": record.started.run,
        "started_ms": record.started.wall_ms,
        "tool_version": record.started.tool_version,
    })
}

fn of_store(error: &StoreError) -> (Exit, String) {
    let exit = match error {
        StoreError::NotFound { .. } | StoreError::Ambiguous { .. } => Exit::Usage,
        _ => Exit::Target,
    };
    (exit, error.to_string())
}

fn read(folder: &Path, which: &str) -> Result<Record, (Exit, String)> {
    let found = super::found(folder, which).and_then(|file| fathom_store::read(&file));
    found.map_err(|error| of_store(&error))
}

/// The runs to follow.
fn chosen(args: &HistoryArgs, folder: &Path) -> Result<Chosen, (Exit, String)> {
    let from = args.from.as_ref().map(|which| read(folder, which)).transpose()?;
    let named: Vec<&str> = args.runs.iter().flat_map(|words| words.split(',')).collect();
    let (mut records, mut left_out) = match named.as_slice() {
        [] => of_job(&read(folder, "last")?, args.last, folder)?,
        [one] => of_job(&read(folder, one)?, args.last, folder)?,
        named => (of_names(named, folder)?, Vec::new()),
    };
    records.sort_by(|a, b| (a.started.wall_ms, &a.started.run).cmp(&(b.started.wall_ms, &b.started.run)));
    if let Some(from) = &from {
        let since = (from.started.wall_ms, &from.started.run);
        records.retain(|record| (record.started.wall_ms, &record.started.run) >= since);
    }
    let newest = records.last().map(|record| record.started.run.clone());
    let mut newest_is_out = None;
    records.retain(|record| {
        let Some(why) = unfit(record) else { return true };
        let told = format!("run {} is left out: it {why}", record.started.run);
        if newest.as_ref() == Some(&record.started.run) {
            newest_is_out = Some(format!("the newest run, {}, {why}", record.started.run));
        }
        left_out.push(told);
        false
    });
    let older = records.len().saturating_sub(usize::from(args.last));
    if older > 0 {
        records.drain(..older);
        left_out.push(format!("{older} older runs are not looked at (--last {})", args.last));
    }
    Ok(Chosen { records, left_out, newest_is_out })
}

/// The runs that were named, each once.
fn of_names(named: &[&str], folder: &Path) -> Result<Vec<Record>, (Exit, String)> {
    let mut records: Vec<Record> = Vec::new();
    for which in named {
        let record = read(folder, which)?;
        if records.iter().any(|known| known.started.run == record.started.run) {
            let reason = format!("run {} is named twice; leave it out once", record.started.run);
            return Err((Exit::Usage, reason));
        }
        records.push(record);
    }
    Ok(records)
}

/// All stored runs of this one's job but those that go on, and what of the store cannot be read. The newest are read first,
/// until so many say something.
fn of_job(one: &Record, most: u16, folder: &Path) -> Result<(Vec<Record>, Vec<String>), (Exit, String)> {
    let all = fathom_store::list(folder).map_err(|error| of_store(&error))?;
    let mut unread = all.iter().filter(|summary| summary.state.unread_because().is_some()).count();
    let (mut records, mut fit, mut left_out) = (Vec::new(), 0_u16, Vec::new());
    let mut is_going = false;
    for summary in all.iter().rev().filter(|summary| summary.title == one.started.title) {
        if fit == most {
            left_out.push(format!("older runs are not looked at (--last {most})"));
            break;
        }
        let goes_on =
            summary.state == State::Unfinished && fathom_store::is_held(&summary.path).unwrap_or(true);
        is_going |= goes_on && summary.id == one.started.run;
        if goes_on || summary.state.unread_because().is_some() {
            continue;
        }
        match fathom_store::read(&summary.path) {
            // A copy of a run is no further one.
            Ok(record) if records.iter().any(|known: &Record| known.started.run == record.started.run) => {}
            Ok(record) if is_one_job(one, &record) => {
                fit += u16::from(unfit(&record).is_none());
                records.push(record);
            }
            Ok(_) => {}
            Err(_) => unread += 1,
        }
    }
    // One that was named by its file need not be in the store.
    if left_out.is_empty() && !is_going && !records.iter().any(|record| record.started.run == one.started.run)
    {
        records.push(one.clone());
    }
    if unread > 0 {
        left_out.push(format!("{unread} files of the store cannot be read: `fathom runs` names them"));
    }
    Ok((records, left_out))
}

/// Why a run says nothing of the job's level; `None` where it does.
fn unfit(record: &Record) -> Option<String> {
    match record.finished.as_ref().map(|finished| &finished.outcome) {
        None => return Some("did not come to its end".to_owned()),
        Some(Outcome::Complete) => {}
        Some(outcome) => return Some(format!("ended early ({})", State::Ended(outcome.clone()).word())),
    }
    let finding = validity::findings(record).into_iter().find(|one| one.severity == Severity::Invalid)?;
    Some(format!("is INVALID ({}): {}", finding.id, finding.evidence))
}

fn document(followed: &Followed<'_>) -> Value {
    let Followed { runs, margin, found, left_out, newest_is_out } = followed;
    let run_at = |at: usize| &runs[at].started.run;
    let listed = |all: &[Difference]| -> Vec<Value> {
        all.iter()
            .map(|(name, before, after)| json!({ "name": name, "before": before, "after": after }))
            .collect()
    };
    let change = |change: &LevelChange| {
        let LevelChange { at, before, after } = change;
        json!({ "at": at, "run": run_at(*at), "before": before, "after": after, "change": change.change() })
    };
    let figure = |one: &FigureHistory| {
        let FigureHistory { name, more_is_better, decides, values, changes, drift } = one;
        json!({
            "name": name,
            "more_is_better": more_is_better,
            "decides": decides,
            "values": values,
            "changes": changes.iter().map(change).collect::<Vec<_>>(),
            "drift": drift,
        })
    };
    let load = |LoadHistory { name, part, figures }: &LoadHistory| {
        let figures: Vec<Value> = figures.iter().map(figure).collect();
        json!({ "name": name, "part": part, "figures": figures })
    };
    let turn = |Turn { at, jobs, environment }: &Turn| {
        let (jobs, environment) = (listed(jobs), listed(environment));
        json!({ "at": at, "run": run_at(*at), "jobs": jobs, "environment": environment })
    };
    json!({
        "outlook": followed.outlook().name(),
        "sentence": followed.sentence(),
        "title": visible(&runs[0].started.title),
        "margin": margin.value(),
        "of": found.kind.name(),
        "runs": runs.iter().map(|run| of_run(run)).collect::<Vec<_>>(),
        "level_from": found.level_from,
        "newest": found.newest.as_ref().map(|newest| json!({
            "verdict": newest.verdict.name(),
            "sentence": fathom_report::compare::sentence(newest, *margin),
        })),
        "loads": found.loads.iter().map(load).collect::<Vec<_>>(),
        "turns": found.turns.iter().map(turn).collect::<Vec<_>>(),
        "newest_is_out": newest_is_out,
        "left_out": left_out,
        "remarks": found.remarks,
    })
}
