//! `fathom scan`: how fast a target is read over all its places, and where it is slow or cannot be read. Never writes.

use super::search::{SearchManner, answered};
use crate::cli::{ConsentArgs, IometerArgs, JobArgs, QuickArgs};
use crate::command::store_folder;
use crate::exit::Exit;
use crate::load::{self, Loaded};
use crate::output::{self, Spared};
use crate::session;
use crate::{diagnose, terminal};
use clap::Args;
use fathom_analysis::scan::rotation_limits;
use fathom_model::{Amount, Diagnostics, Job, Layout, OnError, Span};
use fathom_planner::search::{ScanSearch, Search};
use fathom_schema::{Facts, FileKind, Question, ScanOrder, ScanQuestion};
use fathom_units::{Bytes, Nanos};
use std::path::{Path, PathBuf};

/// Smallest sector there is.
const SECTOR_MIN: u32 = 512;
/// Largest read: a latency says less about a place the more of it was read at once.
const BLOCK_MAX: u64 = 16 << 20;
/// What limits that come out of the rotation are about: 256 sectors.
const ROTATION_BLOCK: Bytes = Bytes::kib(128);
/// Of these limits the one of reads that are tried twice more.
const TWO_RE_READS: usize = 3;
/// Classes of latency that a table shows without being lost in.
const CLASSES_MAX: usize = 16;
/// Reads of the burst rate: their median stands still from a dozen on.
const BURST_READS: u32 = 32;
/// Reads more of a block that stays slow, of which the median counts: one of three may be disturbed.
const RETRIES: u32 = 3;

#[derive(Debug, Args)]
pub(crate) struct ScanArgs {
    /// File or block device to read. `sim:` needs no storage; it may have places of its own:
    /// 'sim:size=8GiB,64MiB..65MiB takes 20ms,96MiB..97MiB fails'
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
    /// Bytes of one read [default: 1MiB; with --rpm 128KiB]
    #[arg(long, value_name = "SIZE")]
    block: Option<Bytes>,
    /// From which latency a read is slow and looked at again [default: 150ms; with --rpm what two re-reads take]
    #[arg(long, value_name = "TIME")]
    slow: Option<Nanos>,
    /// Limits of the classes of latency, ascending; a read that takes just as long as one is in the next
    #[arg(long, value_name = "LIST", default_value = "3ms,10ms,50ms,150ms,500ms")]
    classes: String,
    /// Rotations of the disk a minute: classes are then what reads take that are tried 1, 2, 4 and 6 times more
    #[arg(long, value_name = "N", conflicts_with = "classes", value_parser = clap::value_parser!(u32).range(1000..=60_000))]
    rpm: Option<u32>,
    /// In which order places are read: `linear`, `reverse`, `butterfly` (ends first, then inwards) or `random`
    #[arg(long, value_name = "ORDER", default_value = "linear")]
    order: ScanOrder,
    /// Random reads after each place, for the access time; 0 leaves it out
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(0..=64))]
    access: u32,
    /// Bytes of a random read
    #[arg(long, value_name = "SIZE", default_value = "4KiB")]
    access_block: Bytes,
    /// Write what is slow or cannot be read, and where, into this file as CSV
    #[arg(long, value_name = "FILE")]
    places: Option<PathBuf>,
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
    let manner = manner(&args.extent).map_err(|fault| {
        terminal::message(&format!("error: {}", diagnose::printable(&fault)));
        Exit::Usage
    })?;
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
        let asked = asked(args, &manner, job, facts);
        if let Some(refused) = refused(args, &asked, job, facts) {
            return (None, refused);
        }
        let (plan, mut found) =
            fathom_planner::plan_search(job, facts, entropy, Search::Scan(Box::new(ScanSearch::new(&asked))));
        question = Some(asked);
        // Zones are read, and not measured for a time.
        found.retain(|one| !one.code.starts_with("plan.short"));
        // What is less than a sector is no part of what could be read otherwise.
        let is_direct = args.extent.direct != Some(false) && can_be_direct(facts);
        found.retain(|one| !is_direct || !matches!(one.code, "plan.cached" | "plan.buffered-libaio"));
        (plan, found)
    })?;
    planned.loaded.question = question.map(Question::Scan);
    let list = args.extent.places.as_ref().map(|path| (path, Spared::of(&planned.facts, &[], &store)));
    if let Some((path, spared)) = &list {
        output::check(path, spared).map_err(|fault| fault.refuse())?;
    }
    let searched = answered(planned, &consent, &args.manner, &store, fathom_report::text)?;
    let Some((path, spared)) = list else { return Ok(searched.exit) };
    let found = fathom_analysis::scan::scan(&searched.record);
    let csv = found.map(|scan| fathom_report::scan_places(&scan)).unwrap_or_default();
    output::write(path, &csv, &spared.again()).map_err(|error| {
        terminal::message(&format!("error: {}", diagnose::printable(&error)));
        Exit::Target
    })?;
    terminal::message(&format!("places: {}", path.display()));
    Ok(searched.exit)
}

/// How it reads, of what the words say.
struct ReadsBy {
    block: u32,
    slow: Nanos,
    classes_ns: Vec<u64>,
    access_block: u32,
}

/// What is wrong with the words, otherwise.
fn manner(extent: &Extent) -> Result<ReadsBy, String> {
    let Extent { full, sample, block, slow, classes, rpm, access_block, .. } = extent;
    let of_reads = |flag: &str, block: Bytes, example: &str| {
        let fits = block.0.is_power_of_two() && (u64::from(SECTOR_MIN)..=BLOCK_MAX).contains(&block.0);
        let block = fits.then(|| u32::try_from(block.0).expect("16 MiB at most")).ok_or(block);
        block.map_err(|block| {
            format!("{flag} {block} is no power of two from 512 B to 16 MiB; write for example {example}")
        })
    };
    let block = block.unwrap_or(if rpm.is_some() { ROTATION_BLOCK } else { Bytes::mib(1) });
    let reads = of_reads("--block", block, "1MiB")?;
    let access_block = of_reads("--access-block", *access_block, "4KiB")?;
    let classes_ns = match rpm {
        Some(rpm) => rotation_limits(*rpm),
        None => limits(classes)?,
    };
    let slow = slow.unwrap_or(match rpm {
        Some(_) => Nanos(classes_ns[TWO_RE_READS]),
        None => Nanos::millis(150),
    });
    if slow == Nanos::ZERO {
        return Err("--slow 0: every read takes longer than nothing; write for example 150ms".to_owned());
    }
    if !full && *sample < block {
        return Err(format!(
            "--sample {sample} is less than one read (--block {block}); make it {block} or more"
        ));
    }
    Ok(ReadsBy { block: reads, slow, classes_ns, access_block })
}

/// Limits of classes, in nanoseconds.
fn limits(list: &str) -> Result<Vec<u64>, String> {
    let mut limits: Vec<u64> = Vec::new();
    for (place, text) in list.split(',').map(str::trim).enumerate() {
        let at = format!("--classes {list}: limit {}", place + 1);
        let limit: Nanos = text.parse().map_err(|error| format!("{at}: {error}"))?;
        if limit == Nanos::ZERO {
            return Err(format!("{at}: no read takes less than 0; begin with for example 3ms"));
        }
        if let Some(before) = limits.last().copied().filter(|before| *before >= limit.0) {
            return Err(format!(
                "{at}: {limit} is not above the {} before it; write them in ascending order",
                Nanos(before)
            ));
        }
        limits.push(limit.0);
    }
    if limits.len() > CLASSES_MAX {
        return Err(format!(
            "--classes: {} limits are more than {CLASSES_MAX}; leave some out",
            limits.len()
        ));
    }
    Ok(limits)
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
    // What a simulated device is like says its source.
    let target = if args.target.starts_with("sim:") { "a simulated device" } else { &args.target };
    loaded.title = format!("scan of {target}");
    loaded
}

/// Whether direct I/O is possible on all targets.
fn can_be_direct(facts: &Facts) -> bool {
    let mut filesystems = facts.targets.iter().filter_map(|fact| fact.filesystem.as_ref());
    filesystems.all(|filesystem| filesystem.direct_align_bytes.is_some())
}

/// What cannot be scanned, since it is not there or has no places: planning would say it of a layout that nobody asked for, or
/// of a region of no bytes.
fn refused(args: &ScanArgs, asked: &ScanQuestion, job: &Job, facts: &Facts) -> Option<Diagnostics> {
    let fact = facts.targets.iter().find(|fact| fact.path == Path::new(&args.target));
    let (code, why) = match fact.map(|fact| fact.kind) {
        Some(FileKind::Absent | FileKind::NoFolder) => ("target.absent", "does not exist"),
        Some(FileKind::MemoryDevice) => ("target.kind", "has no end, and no places to tell apart"),
        Some(FileKind::File | FileKind::BlockDevice) if asked.size == Bytes::ZERO => {
            ("target.empty", "is empty: there is nothing to read")
        }
        // What has no path is simulated, with a size, or nothing at all.
        None if asked.size == Bytes::ZERO => {
            ("target.kind", "holds nothing, and has no places to tell apart")
        }
        _ => return None,
    };
    let options = job.targets.first().map(|section| &section.options);
    let span = options.and_then(|options| options.path.span().or(options.kind.span()));
    let mut refused = Diagnostics::default();
    refused.error(
        code,
        span,
        format!("{} {why}", args.target),
        "name a file or a block device that holds data",
    );
    Some(refused)
}

/// What is asked, with the size and the sectors of what was found.
fn asked(args: &ScanArgs, by: &ReadsBy, job: &Job, facts: &Facts) -> ScanQuestion {
    let Extent { full, zones, sample, rpm, order, access, direct, .. } = &args.extent;
    let ReadsBy { block, slow, classes_ns, access_block } = by;
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
        block: *block,
        sector: sector.max(SECTOR_MIN),
        slow: *slow,
        classes_ns: classes_ns.clone(),
        rpm: *rpm,
        order: *order,
        access_reads: *access,
        access_block: *access_block,
        burst_reads: BURST_READS,
        retries: RETRIES,
    }
}
