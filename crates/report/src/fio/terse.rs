//! fio's terse report: one line of fields between semicolons per entry, versions 2 to 5. Owns the order of the fields.

use super::disks::{Disk, disks};
use super::figures::{Direction, EntryFigures, Figures, percentiles, whole};
use super::{FioEntry, FioShape, FioUnified};
use fathom_schema::{LatencyTally, Moments, Record};
use std::fmt::Write;

/// Places for percentiles; those not asked for are filled up.
const PERCENTILES: usize = 20;

/// The record as fio's terse report. `version` is 2 to 5.
pub fn fio_terse(record: &Record, shape: &FioShape, version: u8) -> String {
    let Figures { entries, groups: _ } = Figures::of(record, shape);
    let disks = if shape.disk_util && version >= 3 { disks(record, &shape.running) } else { Vec::new() };
    entries.iter().map(|entry| line(entry, shape, version, &disks)).collect()
}

fn line(figures: &EntryFigures<'_>, shape: &FioShape, version: u8, disks: &[Disk]) -> String {
    let entry = figures.entry;
    let FioEntry { jobname, groupid, desc, .. } = entry;
    let mut out = match version {
        2 => format!("2;{jobname}"),
        _ => format!("{version};{};{jobname}", shape.version),
    };
    let mut add = |field: std::fmt::Arguments<'_>| out.write_fmt(field).expect("a string takes everything");
    add(format_args!(";{groupid};{}", figures.sums.error.unsigned_abs()));
    let [read, write, trim] = &figures.directions;
    let mut shown = vec![read];
    if entry.unified != FioUnified::Mixed {
        shown.push(write);
        if version != 3 {
            shown.push(trim);
        }
    }
    shown.extend(&figures.mixed);
    for of in shown {
        add(format_args!("{}", direction(entry, of, version)));
    }
    let [user, system] = figures.cpu();
    let sums = &figures.sums;
    add(format_args!(
        ";{user:.6}%;{system:.6}%;{};{};{}",
        sums.context_switches, sums.major_faults, sums.minor_faults
    ));
    for share in figures.depths() {
        add(format_args!(";{share:.1}%"));
    }
    // There are no fields for nanoseconds: what took less than a microsecond is in the first.
    for (at, share) in figures.classes.us.into_iter().enumerate() {
        let share = if at == 0 { share + figures.classes.below_us } else { share };
        add(format_args!(";{share:.2}%"));
    }
    for share in figures.classes.ms {
        add(format_args!(";{share:.2}%"));
    }
    for disk in disks {
        add(format_args!(
            ";{};{};{};{};{};{};{};{};{:.2}%",
            disk.name,
            disk.reads,
            disk.writes,
            disk.read_merges,
            disk.write_merges,
            disk.read_ms,
            disk.write_ms,
            disk.queue_ms,
            disk.utilisation
        ));
    }
    if entry.continues_on_error {
        add(format_args!(";{};{}", sums.errors, figures.first_error()));
    }
    if !desc.is_empty() {
        // Version 2 has it on a line of its own.
        add(format_args!("{};{desc}", if version == 2 { "\n" } else { "" }));
    }
    out.push('\n');
    out
}

fn direction(entry: &FioEntry, direction: &Direction, version: u8) -> String {
    let Direction {
        bytes,
        bytes_per_s,
        iops,
        runtime_ms,
        submission,
        completion,
        service,
        bandwidth,
        rate,
        ..
    } = direction;
    let mut out = format!(";{};{};{};{runtime_ms}", bytes >> 10, bytes_per_s / 1024, whole(*iops));
    out += &latency(&submission.moments);
    out += &latency(&completion.moments);
    out += &distribution(entry, if entry.lat_percentiles { service } else { completion });
    out += &latency(&service.moments);
    out += &format!(
        ";{};{};{:.6}%;{:.6};{:.6}",
        whole(bandwidth.min),
        whole(bandwidth.max),
        direction.share_of_group,
        bandwidth.mean,
        bandwidth.stddev
    );
    if version == 5 {
        out += &format!(
            ";{};{};{};{:.6};{:.6};{}",
            bandwidth.count,
            whole(rate.min),
            whole(rate.max),
            rate.mean,
            rate.stddev,
            rate.count
        );
    }
    out
}

/// Smallest, largest, mean and deviation in microseconds.
fn latency(moments: &Moments) -> String {
    let (mean, stddev) = (moments.mean_ns() / 1000.0, moments.stddev_ns() / 1000.0);
    format!(";{};{};{mean:.6};{stddev:.6}", moments.min_ns / 1000, moments.max_ns / 1000)
}

fn distribution(entry: &FioEntry, tally: &LatencyTally) -> String {
    let mut fields = Vec::new();
    if entry.lat_percentiles || entry.clat_percentiles {
        fields = percentiles(entry, tally).iter().map(|(p, ns)| format!(";{p:.6}%={}", ns / 1000)).collect();
        if fields.is_empty() {
            let mut wanted = entry.percentiles.clone();
            wanted.sort_by(f64::total_cmp);
            fields = wanted.iter().map(|percent| format!(";{percent:.6}%=0")).collect();
        }
    }
    fields.resize(PERCENTILES, ";0%=0".to_owned());
    fields.concat()
}
