//! `fathom curve`: the load curve of a job's targets, and what limits it.

use crate::cli::{ConsentArgs, JobArgs};
use crate::command::store_folder;
use crate::exit::Exit;
use crate::load::{self, Loaded};
use crate::session::{self, Manner};
use crate::{answer, diagnose, terminal};
use clap::Args;
use fathom_planner::search::{CurveSearch, Search};
use fathom_run::Changes;
use fathom_schema::{LatencyGoal, Question};
use fathom_store::Detail;
use std::path::PathBuf;

/// Seed of the order of depths: the same question, the same order.
const SEED: u64 = 41;

#[derive(Debug, Args)]
pub(crate) struct CurveArgs {
    #[command(flatten)]
    job: JobArgs,
    #[command(flatten)]
    consent: ConsentArgs,
    #[command(flatten)]
    question: CurveQuestion,
    #[command(flatten)]
    manner: SearchManner,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Question")]
struct CurveQuestion {
    /// Latency whose load is asked for, e.g. 1ms (the mean's) or 'p99<2ms'; may be given several times
    #[arg(long, value_name = "LIMIT", default_value = "1ms")]
    latency: Vec<LatencyGoal>,
    /// Largest queue depth of a worker
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(2..=65_536))]
    max_depth: u32,
    /// How often each depth is measured, in random order
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    replicates: u32,
}

/// How a search is shown and kept.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options")]
pub(super) struct SearchManner {
    /// Print the answer as a JSON document; docs/answers-json.md explains it
    #[arg(long)]
    pub(super) json: bool,
    /// Keep the run in this folder instead of the usual one
    #[arg(long, value_name = "FOLDER")]
    pub(super) store: Option<PathBuf>,
    /// Show no progress
    #[arg(long, short)]
    pub(super) quiet: bool,
}

pub(crate) fn run(args: &CurveArgs) -> Exit {
    let CurveQuestion { latency, max_depth, replicates } = &args.question;
    let question = Question::Curve { limits: latency.clone() };
    let search = Search::Curve(CurveSearch::new(*max_depth, *replicates, SEED));
    if args.job.quick.queue_depth.is_some() {
        terminal::message("error: --queue-depth is what a curve goes through; bound it with --max-depth");
        return Exit::Usage;
    }
    let loaded = load::load(&super::brief(&args.job, "5s", "1s"));
    searched(loaded, &args.consent, &args.manner, question, search).unwrap_or_else(|exit| exit)
}

/// Runs a search and prints its answer.
pub(super) fn searched(
    mut loaded: Loaded,
    consent: &ConsentArgs,
    manner: &SearchManner,
    question: Question,
    search: Search,
) -> Result<Exit, Exit> {
    let store = store_folder(manner.store.as_ref());
    loaded.question = Some(question);
    let planned = session::plan_search(loaded, consent, &store, search)?;
    let notes = session::judge(&planned, consent, false)?;
    let how =
        Manner { store: &store, live: !manner.quiet, changes: Changes::default(), watchers: Vec::new() };
    let mut done = session::run(planned, notes, how)?;
    let record = done.record(Detail::Overview).map_err(|reason| {
        terminal::message(&format!("error: {}", diagnose::printable(&reason)));
        Exit::Target
    })?;
    let (text, verdict) = answer::of_record(&record, manner.json);
    let printed = if manner.json { crate::printed(&text) } else { crate::shown(&text) };
    if let Some(path) = done.path() {
        terminal::message(&format!("record: {}", path.display()));
    }
    Ok([done.exit, printed, verdict].into_iter().find(|exit| *exit != Exit::Ok).unwrap_or(Exit::Ok))
}
