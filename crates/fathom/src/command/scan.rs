//! `fathom scan`: how fast a target is read over all its places, and where it is slow or cannot be read. Never writes.

use super::search::{SearchManner, answered};
use crate::cli::{ConsentArgs, IometerArgs, JobArgs, QuickArgs};
use crate::command::store_folder;
use crate::exit::Exit;
use crate::load::{self, Loaded};
use crate::session;
use crate::terminal;
use clap::Args;
use fathom_model::{Amount, Job, Layout, OnError, Span};
use fathom_planner::search::{ScanSearch, Search};
use fathom_schema::{Facts, FileKind, Question, ScanQuestion};
use fathom_units::{Bytes, Nanos};
use std::path::Path;

/// Smallest sector there is.
const SECTOR_MIN: u32 = 512;
/// Largest read: a latency says less about a place the more of it was read at once.
const BLOCK_MAX: u64 = 16 << 20;

#[derive(Debug, Args)]
pub(crate) struct ScanArgs {
    /// File or block device to read; `sim:` needs no storage
    #[arg(value_name = "PATH")]
    target: String,
    #[command(flatten)]
    extent: Extent,
    #[command(flatten)]
    manner: SearchManner,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Scan")]
struct Extent {
    /// Read all of it, and not only samples
    #[arg(long, conflicts_with = "sample")]
    full: bool,
    /// Places whose speed is told apart
    #[arg(long, value_name = "N", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    zones: u32,
    /// How much is read at each place
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    sample: Bytes,
    /// Bytes of one read
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    block: Bytes,
    /// From which latency a read is slow and looked at again
    #[arg(long, value_name = "TIME", default_value = "150ms")]
    slow: Nanos,
    /// Which engine: `auto`, `io_uring`, `libaio`, `psync` or `sim`
    #[arg(long)]
    engine: Option<String>,
    /// Whether the page cache is passed by: true or false
    #[arg(long, value_name = "BOOL")]
    direct: Option<bool>,
}

pub(crate) fn run(args: &ScanArgs) -> Exit {
    try_run(args).unwrap_or_else(|exit| exit)
}

fn try_run(args: &ScanArgs) -> Result<Exit, Exit> {
    let Extent { block, sample, slow, full, .. } = &args.extent;
    if !block.0.is_power_of_two() || !(u64::from(SECTOR_MIN)..=BLOCK_MAX).contains(&block.0) {
        let message =
            format!("error: --block {block} is no power of two from 512 B to 16 MiB; write for example 1MiB");
        terminal::message(&message);
        return Err(Exit::Usage);
    }
    let fault = if *slow == Nanos::ZERO {
        Some("--slow 0: every read takes longer than nothing; write for example 150ms".to_owned())
    } else if !full && sample < block {
        Some(format!("--sample {sample} is less than one read (--block {block}); make it {block} or more"))
    } else {
        None
    };
    if let Some(fault) = fault {
        terminal::message(&format!("error: {fault}"));
        return Err(Exit::Usage);
    }
    let store = store_folder(args.manner.store.as_ref());
    let consent = ConsentArgs {
        yes: false,
        overwrite: false,
        destroy: Vec::new(),
        allow_exec: false,
        allow_net: false,
    };
    let mut question = None;
    let mut loaded = loaded(args);
    args.manner.bounds.add_to(&mut loaded);
    let mut planned = session::plan_by(loaded, &consent, &store, |job, facts, entropy| {
        let asked = asked(args, job, facts);
        let (plan, mut found) =
            fathom_planner::plan_search(job, facts, entropy, Search::Scan(Box::new(ScanSearch::new(&asked))));
        question = Some(asked);
        // Zones are read, and not measured for a time.
        found.retain(|one| !one.code.starts_with("plan.short"));
        (plan, found)
    })?;
    planned.loaded.question = question.map(Question::Scan);
    answered(planned, &consent, &args.manner, &store, fathom_report::text).map(|searched| searched.exit)
}

/// The job that the steps change: it reads what is there, and goes on after errors.
fn loaded(args: &ScanArgs) -> Loaded {
    let quick =
        QuickArgs { engine: args.extent.engine.clone(), direct: args.extent.direct, ..QuickArgs::default() };
    let target = Some(args.target.clone());
    let words = JobArgs { jobs: Vec::new(), target, iometer: IometerArgs::default(), quick };
    let mut loaded = load::load(&words);
    let place = Span::default();
    // A simulated device has nothing to be laid out.
    for section in loaded.job.targets.iter_mut().filter(|section| section.options.path.get().is_some()) {
        section.options.layout.set(Layout::MustExist, place);
    }
    loaded.job.run.on_error.set(OnError::Count(u64::MAX), place);
    loaded.title = format!("scan of {}", args.target);
    loaded
}

/// What is asked, with the size and the sectors of what was found.
fn asked(args: &ScanArgs, job: &Job, facts: &Facts) -> ScanQuestion {
    let Extent { full, zones, sample, block, slow, engine: _, direct } = &args.extent;
    let fact = facts.targets.iter().find(|fact| fact.path == Path::new(&args.target));
    let device = fact.filter(|fact| fact.kind == FileKind::BlockDevice).and_then(|fact| fact.device.as_ref());
    let of_job = job.targets.first().and_then(|section| match section.options.size.get() {
        Some(Amount::Bytes(bytes)) => Some(*bytes),
        Some(Amount::Share(_)) | None => None,
    });
    let of_file = fact.and_then(|fact| fact.file.as_ref()).map(|file| file.size);
    let sector = match (device, fact.and_then(|fact| fact.filesystem.as_ref())) {
        (Some(device), _) => device.logical_sector_bytes,
        (None, Some(filesystem)) if *direct != Some(false) => {
            filesystem.direct_align_bytes.unwrap_or(SECTOR_MIN)
        }
        (None, _) => SECTOR_MIN,
    };
    let size = device.map(|device| device.size).or(of_file).or(of_job).unwrap_or_default();
    // Samples that come to all of it are no samples, and would leave out what is no multiple of their number.
    let is_whole = *full || sample.0.saturating_mul(u64::from(*zones)) >= size.0;
    ScanQuestion {
        target: args.target.clone(),
        size,
        zones: *zones,
        sample_bytes: (!is_whole).then_some(sample.0),
        block: u32::try_from(block.0).expect("it was looked at"),
        sector: sector.max(SECTOR_MIN),
        slow: *slow,
    }
}
