//! `fathom slo`: whether targets carry a load within its limits, or which load they carry.

use super::search::{SearchManner, searched};
use crate::cli::{ConsentArgs, JobArgs};
use crate::exit::Exit;
use crate::{load, terminal};
use clap::Args;
use fathom_planner::search::{ObjectiveSearch, Search};
use fathom_schema::{LatencyGoal, Question};
use fathom_units::{Iops, RATES};

#[derive(Debug, Args)]
pub(crate) struct SloArgs {
    #[command(flatten)]
    job: JobArgs,
    #[command(flatten)]
    consent: ConsentArgs,
    #[command(flatten)]
    question: SloQuestion,
    #[command(flatten)]
    manner: SearchManner,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Question")]
struct SloQuestion {
    /// Operations per second to carry, e.g. 100k; the highest that keeps the limits is looked for when not given
    #[arg(long, value_name = "RATE")]
    iops: Option<Iops>,
    /// Limit to keep, e.g. 'p99<1ms' or 'mean<500us'; may be given several times
    #[arg(long, value_name = "LIMIT", required = true)]
    latency: Vec<LatencyGoal>,
    /// How often the rate is proven
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    replicates: u32,
    /// Largest queue depth of a worker
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    max_depth: u32,
}

pub(crate) fn run(args: &SloArgs) -> Exit {
    let SloQuestion { iops, latency, replicates, max_depth } = &args.question;
    let quick = &args.job.quick;
    if quick.queue_depth.is_some() || quick.rate.is_some() {
        terminal::message(
            "error: --rate and --queue-depth are what an objective tries; give --iops and --max-depth",
        );
        return Exit::Usage;
    }
    let rate = iops.map(|Iops(rate)| rate);
    if rate.is_some_and(|rate| rate <= 0.0) {
        terminal::message("error: --iops: a rate of 0 never comes; write for example 100k");
        return Exit::Usage;
    }
    if let Some(rate) = rate.filter(|rate| !RATES.contains(rate)) {
        let (least, most) = (RATES.start(), RATES.end());
        let bounds = format!("a stream can have {least} to {most} operations per second");
        terminal::message(&format!("error: --iops: {rate:e}/s is out of bounds: {bounds}"));
        return Exit::Usage;
    }
    let question = Question::Objective { rate, goals: latency.clone() };
    let loaded = load::load(&super::brief(&args.job, "10s", "1s"));
    if loaded.job.streams.len() > 1 {
        let count = loaded.job.streams.len();
        terminal::message(&format!("error: the job has {count} streams, and a rate is of one; leave one"));
        return Exit::Usage;
    }
    // Arrivals that the job spaces itself stay; else they are random, as many users' are.
    let spaced = loaded.job.streams.iter().any(|stream| stream.options.arrival.span().is_some());
    let search = ObjectiveSearch::new(latency.clone(), rate, *replicates, *max_depth, !spaced);
    searched(loaded, &args.consent, &args.manner, question, Search::Objective(search))
        .unwrap_or_else(|exit| exit)
}
