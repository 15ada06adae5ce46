//! `fathom curve`: the load curve of a job's targets, and what limits it.

use super::search::{SearchManner, searched};
use crate::cli::{ConsentArgs, JobArgs, QuickArgs};
use crate::exit::Exit;
use crate::load::{self, Loaded};
use crate::{diagnose, terminal};
use clap::Args;
use fathom_model::{Job, Setting};
use fathom_planner::search::{CurveSearch, RateOf, RateSearch, Search, paced};
use fathom_schema::{LatencyGoal, LoadAxis, Question};

/// Seed of the order of loads: the same question, the same order.
const SEED: u64 = 41;
/// Largest queue depth of a worker, as `stream.queue_depth` has it.
const DEPTH_MAX: u32 = 65_536;

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
    /// What grows: depth (operations in flight) or rate (offered per second, after a step at full speed) [default: depth, or
    /// rate where the job has a curve of its own]
    #[arg(long, value_name = "LOAD")]
    over: Option<LoadAxis>,
    /// Loads to measure instead of those that are found: depths such as 1,2,4, or rates such as 10k,20k or 10%,50%,100% of
    /// full speed
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    at: Vec<String>,
    /// Largest queue depth of a worker
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(2..=65_536))]
    max_depth: u32,
    /// How often each load is measured, in random order
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    replicates: u32,
}

pub(crate) fn run(args: &CurveArgs) -> Exit {
    let QuickArgs { queue_depth, rate, .. } = &args.job.quick;
    if queue_depth.is_some() {
        terminal::message("error: --queue-depth is what a curve goes through; bound it with --max-depth");
        return Exit::Usage;
    }
    if rate.is_some() {
        terminal::message(
            "error: --rate is what a curve goes through; give --over rate, and --at for some alone",
        );
        return Exit::Usage;
    }
    let mut loaded = load::load(&super::brief(&args.job, "5s", "1s"));
    let shares = take_shares(&mut loaded.job);
    let own = if shares.is_empty() { LoadAxis::Depth } else { LoadAxis::Rate };
    let over = args.question.over.unwrap_or(own);
    if !shares.is_empty() && (over == LoadAxis::Depth || !args.question.at.is_empty()) {
        terminal::message("note: the job's own curve is left out, since other loads are asked for");
    }
    let question = Question::Curve { limits: args.question.latency.clone(), over };
    search(&args.question, over, &shares, &loaded)
        .map_err(|reason| {
            terminal::message(&format!("error: {}", diagnose::printable(&reason)));
            Exit::Usage
        })
        .and_then(|search| searched(loaded, &args.consent, &args.manner, question, search))
        .unwrap_or_else(|exit| exit)
}

/// The shares of full speed that a job goes through by itself (Vdbench's `iorate=curve`), which it does not any more: the search does.
fn take_shares(job: &mut Job) -> Vec<RateOf> {
    let [stage] = job.stages.as_mut_slice() else { return Vec::new() };
    let curve = std::mem::replace(&mut stage.options.curve, Setting::with_default(Vec::new()));
    curve.get().iter().copied().map(RateOf::Share).collect()
}

/// The search that the question asks for, or what is wrong with it. `own`: the rates that the job has, where none are asked for.
fn search(
    question: &CurveQuestion,
    over: LoadAxis,
    own: &[RateOf],
    loaded: &Loaded,
) -> Result<Search, String> {
    let CurveQuestion { latency, over: _, at, max_depth, replicates } = question;
    if let (LoadAxis::Depth, Some((message, _))) = (over, paced(&loaded.job)) {
        return Err(message);
    }
    match over {
        LoadAxis::Depth if at.is_empty() => {
            Ok(Search::Curve(CurveSearch::new(*max_depth, *replicates, SEED).beyond(latency)))
        }
        LoadAxis::Depth => {
            let depths = at.iter().map(|text| depth(text)).collect::<Result<Vec<u32>, String>>()?;
            enough(&depths)?;
            Ok(Search::Curve(CurveSearch::at(&depths, *replicates, SEED)))
        }
        LoadAxis::Rate => {
            let streams = loaded.job.streams.len();
            if streams > 1 {
                return Err(format!("the job has {streams} streams, and a rate is of one; leave one"));
            }
            let rates = at
                .iter()
                .map(|text| text.parse().map_err(|reason| format!("--at: {reason}")))
                .collect::<Result<Vec<RateOf>, String>>()?;
            if let [share] = own
                && rates.is_empty()
            {
                return Err(format!(
                    "the job's curve: {share} alone is none; give several shares, or others with --at"
                ));
            }
            let rates = if rates.is_empty() { own.to_vec() } else { rates };
            if !rates.is_empty() {
                enough(&rates)?;
            }
            let spaced = loaded.job.streams.iter().any(|stream| stream.options.arrival.span().is_some());
            let search = RateSearch::new(rates, latency.clone(), *max_depth, *replicates, !spaced, SEED);
            Ok(Search::Rates(Box::new(search)))
        }
    }
}

fn depth(text: &str) -> Result<u32, String> {
    let found = text.trim().parse().ok().filter(|depth| (1..=DEPTH_MAX).contains(depth));
    found.ok_or_else(|| {
        format!("--at: {text} is no queue depth from 1 to {DEPTH_MAX}; with --over rate it may be a rate")
    })
}

/// A curve has two different loads at least.
fn enough<T: PartialEq>(loads: &[T]) -> Result<(), String> {
    if loads.iter().all(|load| *load == loads[0]) {
        return Err("--at: one load is no curve; give several, such as 1,4,16".to_owned());
    }
    Ok(())
}
