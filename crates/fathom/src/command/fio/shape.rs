//! From what fio's jobs say to what fio's reports print beside the record: which clones make one entry, and whose figures it
//! sums up.

use fathom_frontend::fio::{Extras, JobClone as FioClone, Measures, ReportUnits, Unified};
use fathom_planner::Plan;
use fathom_report::{
    FioBanner, FioEntry, FioMeasures, FioNames, FioNotStarted, FioSampling, FioShape, FioUnified, FioUnits,
    FioWorkers,
};
use fathom_schema::{Facts, LayoutRule, Record, TargetKind};
use fathom_units::{Bytes, Nanos};
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::Path;

/// Bytes of a job's name in fio's reports, and of its description (3.33).
const NAME_BYTES_MAX: usize = 127;
const DESCRIPTION_BYTES_MAX: usize = 255;

/// What fio's document says beside the record: one entry per clone, or per group where the group reports together.
pub(super) fn shape(
    record: &Record,
    extras: &Extras,
    echo: &[(String, Vec<(String, String)>)],
    fallen: &BTreeMap<String, i32>,
) -> FioShape {
    let mut entries: Vec<FioEntry> = Vec::new();
    let mut last: Option<&FioClone> = None;
    let echoed = |clone: &FioClone| -> Vec<(String, String)> {
        echo.get(clone.echo_index).map_or_else(Vec::new, |(_, options)| options.clone())
    };
    for clone in extras.clones.iter().filter(|clone| clone.is_reported) {
        let workers = workers_of(record, clone);
        let joins = clone.group_reporting
            && last.is_some_and(|last| last.group_reporting && last.group_id == clone.group_id);
        last = Some(clone);
        let not_started = fallen.get(&clone.stream).map(|&errno| FioNotStarted { errno });
        let queue_depth = u32::try_from(clone.queue_depth).unwrap_or(u32::MAX);
        match entries.last_mut().filter(|_| joins) {
            Some(entry) => {
                let new =
                    workers.into_iter().filter(|worker| !entry.workers.contains(worker)).collect::<Vec<_>>();
                entry.workers.extend(new);
                entry.members += 1;
                // The last one's, beside the name and the description of the first.
                entry.options = echoed(clone);
                entry.has_options = clone.has_options;
                entry.not_started = entry.not_started.or(not_started);
                // As with fio, the last job of the group has the say.
                entry.percentiles.clone_from(&clone.percentiles);
                entry.percentile_digits = clone.percentile_digits;
                entry.slat_percentiles = clone.slat_percentiles;
                entry.clat_percentiles = clone.clat_percentiles;
                entry.lat_percentiles = clone.lat_percentiles;
                entry.continues_on_error = clone.continues_on_error;
                entry.kept_latency = clone.kept_latency;
                entry.queue_depth = queue_depth;
            }
            None => entries.push(FioEntry {
                jobname: clipped(&clone.job_name, NAME_BYTES_MAX),
                groupid: clone.group_id,
                desc: clipped(clone.description.as_deref().unwrap_or_default(), DESCRIPTION_BYTES_MAX),
                options: echoed(clone),
                has_options: clone.has_options,
                members: 1,
                queue_depth,
                workers,
                continues_on_error: clone.continues_on_error,
                kept_latency: clone.kept_latency,
                percentiles: clone.percentiles.clone(),
                percentile_digits: clone.percentile_digits,
                slat_percentiles: clone.slat_percentiles,
                clat_percentiles: clone.clat_percentiles,
                lat_percentiles: clone.lat_percentiles,
                unified: match clone.unified {
                    Unified::Separate => FioUnified::Separate,
                    Unified::Mixed => FioUnified::Mixed,
                    Unified::Both => FioUnified::Both,
                },
                measures: measures(clone.measures),
                units: units(clone.units),
                names: clone.names.map(|(blocks, block_bytes)| FioNames { blocks, block_bytes }),
                is_of_cpu: clone.cpu.is_some() || clone.engine == "exec",
                submissions: Vec::new(),
                priorities: Vec::new(),
                not_started,
                sampling: FioSampling {
                    bandwidth: Nanos::millis(clone.sample_ms[0]),
                    operations: Nanos::millis(clone.sample_ms[1]),
                },
            }),
        }
    }
    FioShape {
        entries,
        globals: extras.globals.clone(),
        has_globals: extras.has_globals,
        version: super::VERSION.to_owned(),
        json_plus: false,
        eta_s: 0,
        running: Vec::new(),
        disk_util: extras.clones.iter().any(|clone| clone.disk_util),
        idleness: None,
        pid: std::process::id(),
    }
}

/// What is said of each section before it starts.
pub(super) fn banners(extras: &Extras) -> Vec<FioBanner> {
    let mut banners: Vec<FioBanner> = Vec::new();
    let mut last = None;
    for clone in &extras.clones {
        match banners.last_mut().filter(|_| last == Some(clone.echo_index)) {
            Some(banner) => banner.jobs += 1,
            None => banners.push(FioBanner {
                jobname: clone.job_name.clone(),
                groupid: clone.group_id,
                // As fio has it, by whichever name it was asked for.
                rw: if clone.rw == "readwrite" { "rw".to_owned() } else { clone.rw.clone() },
                block_sizes: clone.block_sizes,
                engine: clone.engine.clone(),
                is_thread: clone.is_thread,
                queue_depth: clone.queue_depth,
                cpu: clone.cpu,
                units: units(clone.units),
                jobs: 1,
            }),
        }
        last = Some(clone.echo_index);
    }
    banners
}

/// A line for each job that lays out files: the first of several that use the same.
pub(super) fn layouts(extras: &Extras, plan: &Plan, facts: &Facts) -> String {
    if plan.intents.iter().all(|intent| intent.needs() == Bytes::ZERO) {
        return String::new();
    }
    let (steps, facts) = (plan.experiment.preview(), facts.by_path());
    let mut laid_out: BTreeSet<&Path> = BTreeSet::new();
    let mut lines = String::new();
    for clone in &extras.clones {
        let (mut files, mut bytes) = (0_u64, 0_u64);
        for step in &steps {
            let stream = step.streams.iter().find(|stream| stream.name == clone.stream);
            let worker = stream.and_then(|stream| {
                stream.workers.get(if stream.workers.len() > 1 { clone.worker as usize } else { 0 })
            });
            for extent in worker.iter().flat_map(|worker| &worker.extents) {
                let target = &step.targets[extent.target as usize];
                let TargetKind::File {
                    path,
                    layout:
                        LayoutRule::Written
                        | LayoutRule::Appended
                        | LayoutRule::Allocated
                        | LayoutRule::AllocatedIfRoom,
                    ..
                } = &target.kind
                else {
                    continue;
                };
                let file = facts.get(path.as_path()).and_then(|fact| fact.file.as_ref());
                if file.is_none_or(|file| file.size < target.size) && laid_out.insert(path) {
                    files += 1;
                    bytes += target.size.0;
                }
            }
        }
        let (name, mib) = (&clone.job_name, bytes >> 20);
        lines += &match files {
            0 => String::new(),
            1 => format!("{name}: Laying out IO file (1 file / {mib}MiB)\n"),
            _ => format!("{name}: Laying out IO files ({files} files / total {mib}MiB)\n"),
        };
    }
    lines
}

/// As much of a text as fio's reports have room for.
fn clipped(text: &str, bytes_max: usize) -> String {
    let end = (0..=bytes_max.min(text.len())).rev().find(|&end| text.is_char_boundary(end));
    text[..end.unwrap_or(0)].to_owned()
}

fn units(ReportUnits { is_binary, is_bits, digits }: ReportUnits) -> FioUnits {
    FioUnits { is_binary, is_bits, digits: usize::try_from(digits).unwrap_or(usize::MAX) }
}

fn measures(Measures { submission, completion, service, bandwidth: _ }: Measures) -> FioMeasures {
    FioMeasures { submission, completion, service }
}

/// Where in the record a clone's work is.
pub(super) fn workers_of(record: &Record, clone: &FioClone) -> Vec<FioWorkers> {
    let mut found = Vec::new();
    for (step, of_step) in record.steps.iter().enumerate() {
        for (stream, of_stream) in of_step.started.step.streams.iter().enumerate() {
            if of_stream.name == clone.stream {
                let worker = (of_stream.workers.len() > 1).then_some(clone.worker as usize);
                found.push(FioWorkers { step, stream, worker });
            }
        }
    }
    found
}
