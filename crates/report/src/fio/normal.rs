//! fio's report for people, line for line as fio 3.33 writes it, so that whatever looks for `IOPS=`, `lat (usec)` or
//! `READ: bw=` finds it. Owns the lines; the figures are made elsewhere.

use super::FioShape;
use super::disks::disks;
use super::figures::{
    CLASS_LABELS, Classes, DEPTH_LABELS, Direction, EntryFigures, Figures, GroupDirection, GroupFigures,
    PriorityFigures, SIZE_LABELS, percentiles, whole,
};
use super::numbers::{FioUnits, Scaled, short};
use super::settling;
use super::sums::end_ms;
use super::{FioEntry, FioIdleness, FioUnified};
use crate::calendar;
use fathom_schema::{DeviceCounters, LatencyTally, Record};
use std::fmt::Write;

/// Digits of a latency's smallest and largest value.
const LATENCY_DIGITS: usize = 6;
/// Columns that fio fills with percentiles.
const PERCENTILE_COLUMNS: usize = 80 - 7;
/// Latency classes on one line.
const CLASSES_PER_LINE: usize = 5;

/// The record as fio's normal report.
pub fn fio_normal(record: &Record, shape: &FioShape) -> String {
    let Figures { entries, groups } = Figures::of(record, shape);
    let time = calendar::ctime(end_ms(record));
    let mut out = Lines(String::from("\n"));
    for entry in entries.iter().filter(|entry| !entry.is_empty()) {
        out.entry(entry, shape.pid, &time);
    }
    for (id, group) in groups.iter().enumerate() {
        out.group(id, group);
    }
    if shape.disk_util {
        out.disks(record, &shape.running);
    }
    if let Some(idleness) = &shape.idleness {
        out.idleness(idleness);
    }
    out.0
}

/// The report as far as it is written.
struct Lines(String);

impl Lines {
    fn add(&mut self, line: std::fmt::Arguments<'_>) {
        self.0.write_fmt(line).expect("a string takes everything");
        self.0.push('\n');
    }

    fn entry(&mut self, figures: &EntryFigures<'_>, pid: u32, time: &str) {
        let entry = figures.entry;
        let FioEntry { jobname, groupid, members, desc, .. } = entry;
        let error = figures.sums.error;
        // fio names the place in its source.
        let reason = match error {
            0 => String::new(),
            error => format!(" (job:{jobname}, func=run, error={})", fio_error(error)),
        };
        self.add(format_args!(
            "{jobname}: (groupid={groupid}, jobs={members}): err={error:2}{reason}: pid={pid}: {time}"
        ));
        if !desc.is_empty() {
            self.add(format_args!("  Description  : [{desc}]"));
        }
        let names =
            if entry.unified == FioUnified::Mixed { ["mixed", "", ""] } else { ["read", "write", "trim"] };
        for (name, direction) in names.into_iter().zip(&figures.directions) {
            self.direction(entry, name, direction);
        }
        if let Some(mixed) = &figures.mixed {
            self.direction(entry, "mixed", mixed);
        }
        self.classes(&figures.classes);
        let sync = figures.sync_latency();
        if sync.moments.count > 0 {
            self.add(format_args!("  fsync/fdatasync/sync_file_range:"));
            self.latency("sync", &sync);
            self.percentiles(entry, "sync", &sync);
        }
        self.totals(figures);
    }

    fn direction(&mut self, entry: &FioEntry, name: &str, direction: &Direction) {
        let Direction { bytes, bytes_per_s, iops, runtime_ms, submission, completion, service, .. } =
            direction;
        if *bytes == 0 || *runtime_ms == 0 {
            return;
        }
        let units = entry.units;
        let [rate, other_rate] = units.rate(*bytes_per_s);
        let [moved, _] = units.bytes(*bytes);
        let iops = short(whole(*iops), units.digits, false, "");
        let zones = if name == "write" { "; 0 zone resets" } else { "" };
        self.add(format_args!(
            "  {name}: IOPS={iops}, BW={rate} ({other_rate})({moved}/{runtime_ms}msec){zones}"
        ));
        let latencies = [("slat", submission), ("clat", completion), (" lat", service)];
        for (name, tally) in latencies.into_iter().filter(|(_, tally)| tally.moments.count > 0) {
            self.latency(name, tally);
        }
        let kind = if entry.lat_percentiles { "lat" } else { "clat" };
        for PriorityFigures { class, level, latency } in &direction.priorities {
            self.latency(&format!("{kind} prio {class}/{level}"), latency);
        }
        for (is_wanted, name, tally) in [
            (entry.slat_percentiles, "slat", submission),
            (entry.clat_percentiles, "clat", completion),
            (entry.lat_percentiles, "lat", service),
        ] {
            if is_wanted {
                self.percentiles(entry, name, tally);
            }
        }
        if entry.clat_percentiles || entry.lat_percentiles {
            let all: u64 = direction.priorities.iter().map(|of| of.latency.moments.count).sum();
            for PriorityFigures { class, level, latency } in &direction.priorities {
                let share = latency.moments.count as f64 * 100.0 / all as f64;
                let name = format!("{kind} prio {class}/{level} ({share:.2}% of IOs)");
                self.percentiles(entry, &name, latency);
            }
        }
        self.series(units, direction);
    }

    fn latency(&mut self, name: &str, tally: &LatencyTally) {
        let Scaled { unit, min, max, mean, stddev } = Scaled::of(&tally.moments);
        let [min, max] = [min, max].map(|value| short(value, LATENCY_DIGITS, false, ""));
        self.add(format_args!(
            "    {name} ({unit}): min={min}, max={max}, avg={mean:5.2}, stdev={stddev:5.2}"
        ));
    }

    fn percentiles(&mut self, entry: &FioEntry, name: &str, tally: &LatencyTally) {
        let values = percentiles(entry, tally);
        let (Some(&(_, lowest)), Some(&(_, highest))) = (values.first(), values.last()) else { return };
        let (unit, divisor) = if lowest > 2_000_000 && highest > 99_999_999 {
            ("msec", 1_000_000)
        } else if lowest > 2_000 && highest > 99_999 {
            ("usec", 1_000)
        } else {
            ("nsec", 1)
        };
        let digits = entry.percentile_digits;
        let width = (highest / divisor).to_string().len().max(5);
        let per_line = (PERCENTILE_COLUMNS / (digits + 10 + width)).max(1);
        self.add(format_args!("    {name} percentiles ({unit}):"));
        for line in values.chunks(per_line).zip(1..) {
            let (values, number) = line;
            let cells = values.iter().map(|&(percent, ns)| {
                let value = ns.div_ceil(divisor);
                format!(" {percent:>0$.digits$}th=[{value:>width$}]", digits + 3)
            });
            let end = if number * per_line < entry.percentiles.len() { "," } else { "" };
            self.add(format_args!("     |{}{end}", cells.collect::<Vec<_>>().join(",")));
        }
    }

    fn series(&mut self, units: FioUnits, direction: &Direction) {
        let Direction { bandwidth, rate, share_of_group, .. } = direction;
        if bandwidth.count == 0 {
            return;
        }
        // Bytes whatever `unit_base` is, and mega for kilo where the mean is long: both as seen with fio 3.33.
        let base = units.base();
        let is_mega = bandwidth.mean > base * base;
        let unit = match (units.is_binary, is_mega) {
            (_, true) => "MiB",
            (true, false) => "KiB",
            (false, false) => "kB",
        };
        let scaled = |value: f64| if is_mega { value / base } else { value };
        self.add(format_args!(
            "   bw ({unit:>5}/s): min={:5}, max={:5}, per={share_of_group:.2}%, avg={:5.2}, stdev={:5.2}, samples={}",
            whole(scaled(bandwidth.min)),
            whole(scaled(bandwidth.max)),
            scaled(bandwidth.mean),
            scaled(bandwidth.stddev),
            bandwidth.count
        ));
        self.add(format_args!(
            "   iops        : min={:5}, max={:5}, avg={:5.2}, stdev={:5.2}, samples={}",
            whole(rate.min),
            whole(rate.max),
            rate.mean,
            rate.stddev,
            rate.count
        ));
    }

    fn classes(&mut self, classes: &Classes) {
        let Classes { ns, us, ms, below_us: _ } = classes;
        for (unit, shares) in [("nsec", &ns[..]), ("usec", &us[..]), ("msec", &ms[..])] {
            let shown: Vec<String> = CLASS_LABELS
                .iter()
                .zip(shares)
                .filter(|(_, share)| **share > 0.0)
                .map(|(label, share)| format!("{label}={share:.2}%"))
                .collect();
            for line in shown.chunks(CLASSES_PER_LINE) {
                self.add(format_args!("  lat ({unit})   : {}", line.join(", ")));
            }
        }
    }

    fn totals(&mut self, figures: &EntryFigures<'_>) {
        let [user, system] = figures.cpu();
        let sums = &figures.sums;
        self.add(format_args!(
            "  cpu          : usr={user:.2}%, sys={system:.2}%, ctx={}, majf={}, minf={}",
            sums.context_switches, sums.major_faults, sums.minor_faults
        ));
        for (name, labels, shares) in [
            ("  IO depths    ", DEPTH_LABELS, figures.depths()),
            ("     submit    ", SIZE_LABELS, figures.submissions()),
            ("     complete  ", SIZE_LABELS, figures.completions()),
        ] {
            let shares = labels.into_iter().zip(shares).map(|(label, share)| format!("{label}={share:.1}%"));
            self.add(format_args!("{name}: {}", shares.collect::<Vec<_>>().join(", ")));
        }
        let [read, write, trim] = &figures.directions;
        self.add(format_args!(
            "     issued rwts: total={},{},{},{} short={},{},{},0 dropped=0,0,0,0",
            read.issued,
            write.issued,
            trim.issued,
            figures.syncs(),
            read.short,
            write.short,
            trim.short
        ));
        let (target_ns, percent, window_us) = figures.depth_search();
        if figures.entry.continues_on_error {
            let first = figures.first_error();
            let text = match i32::try_from(first) {
                Ok(0) | Err(_) => "Success".to_owned(),
                Ok(first) => fio_error(first),
            };
            self.add(format_args!("     errors    : total={}, first_error={first}/<{text}>", sums.errors));
        }
        self.add(format_args!(
            "     latency   : target={target_ns}, window={window_us}, percentile={percent:.2}%, depth={}",
            sums.queue_depth
        ));
        if let Some(settling) = &figures.settling {
            let line = settling::line(settling, figures.entry.units);
            self.add(format_args!("  steadystate  : {line}"));
        }
    }

    fn group(&mut self, id: usize, group: &GroupFigures) {
        let GroupFigures { units, unified, directions } = group;
        self.add(format_args!("\nRun status group {id} (all jobs):"));
        for (name, direction) in ["   READ", "  WRITE", "   TRIM"].into_iter().zip(directions) {
            let name = if *unified == FioUnified::Mixed { "  MIXED" } else { name };
            self.group_direction(name, *units, direction);
        }
        if *unified == FioUnified::Both {
            self.group_direction("  MIXED", *units, &GroupDirection::together(directions));
        }
    }

    fn group_direction(&mut self, name: &str, units: FioUnits, direction: &GroupDirection) {
        let GroupDirection {
            bytes,
            bytes_per_s,
            bytes_per_s_min,
            bytes_per_s_max,
            runtime_ms_min,
            runtime_ms_max,
        } = *direction;
        if runtime_ms_max == 0 {
            return;
        }
        let [all, other_all] = units.rate(bytes_per_s);
        let [min, other_min] = units.rate(bytes_per_s_min);
        let [max, other_max] = units.rate(bytes_per_s_max);
        let [moved, other_moved] = units.bytes(bytes);
        self.add(format_args!(
            "{name}: bw={all} ({other_all}), {min}-{max} ({other_min}-{other_max}), io={moved} ({other_moved}), \
             run={runtime_ms_min}-{runtime_ms_max}msec"
        ));
    }

    fn idleness(&mut self, idleness: &FioIdleness) {
        let FioIdleness { system, cpus, unit_mean_us, unit_stddev_us } = idleness;
        self.add(format_args!("\nCPU idleness:\n  system: {system:3.2}%"));
        if !cpus.is_empty() {
            let cpus: Vec<String> = cpus.iter().map(|idle| format!("{idle:3.2}%")).collect();
            self.add(format_args!("  percpu: {}", cpus.join(", ")));
        }
        self.add(format_args!("  unit work: mean={unit_mean_us:3.2}us, stddev={unit_stddev_us:3.2}"));
    }

    fn disks(&mut self, record: &Record, running: &[DeviceCounters]) {
        let disks = disks(record, running);
        if disks.is_empty() {
            return;
        }
        self.add(format_args!("\nDisk stats (read/write):"));
        for disk in disks {
            self.add(format_args!(
                "  {}: ios={}/{}, merge={}/{}, ticks={}/{}, in_queue={}, util={:.2}%",
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
    }
}

/// The system's words for an error number.
pub fn fio_error(errno: i32) -> String {
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// What fio says of one section before it starts.
#[derive(Debug, Clone, PartialEq)]
pub struct FioBanner {
    /// Name of the section.
    pub jobname: String,
    /// Number of the reporting group.
    pub groupid: u32,
    /// `rw`.
    pub rw: String,
    /// Smallest and largest block of reads, writes and trims, bytes.
    pub block_sizes: [(u64, u64); 3],
    /// `ioengine`.
    pub engine: String,
    /// `thread`.
    pub is_thread: bool,
    /// `iodepth`.
    pub queue_depth: u64,
    /// Of jobs that keep CPUs busy: percent, and microseconds at a stretch.
    pub cpu: Option<(u64, u64, &'static str)>,
    /// How sizes are written.
    pub units: FioUnits,
    /// How many jobs it stands for.
    pub jobs: u32,
}

/// What fio says before the jobs start: a line for each section, its version, how many jobs there are.
pub fn fio_banner(banners: &[FioBanner], version: &str) -> String {
    let mut out = Lines(String::new());
    for banner in banners {
        let FioBanner { jobname, groupid, rw, block_sizes, engine, queue_depth, cpu, units, .. } = banner;
        // Those have a line of their own, below.
        if cpu.is_some() {
            continue;
        }
        let [read, write, trim] = block_sizes.map(|(low, high)| {
            let [low, high] = [low, high].map(|bytes| short(bytes, units.digits, units.is_binary, "B"));
            format!("{low}-{high}")
        });
        out.add(format_args!(
            "{jobname}: (g={groupid}): rw={rw}, bs=(R) {read}, (W) {write}, (T) {trim}, ioengine={engine}, \
             iodepth={queue_depth}"
        ));
        if banner.jobs > 1 {
            out.add(format_args!("..."));
        }
    }
    let of = |is_thread| -> u32 {
        banners.iter().filter(|banner| banner.is_thread == is_thread).map(|banner| banner.jobs).sum()
    };
    let started: Vec<String> = [(of(true), "thread", "threads"), (of(false), "process", "processes")]
        .into_iter()
        .filter(|(jobs, ..)| *jobs > 0)
        .map(|(jobs, one, several)| format!("{jobs} {}", if jobs == 1 { one } else { several }))
        .collect();
    out.add(format_args!("{version}\nStarting {}", started.join(" and ")));
    for banner in banners {
        let Some((load, chunk_us, work)) = banner.cpu else { continue };
        for _ in 0..banner.jobs {
            out.add(format_args!(
                "{} ({work}): ioengine=cpuio, cpuload={load}, cpucycle={chunk_us}",
                banner.jobname
            ));
        }
    }
    out.0
}
