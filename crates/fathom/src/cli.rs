//! The command line: what there is to say and how it is said. Decides nothing.

use crate::load::Loaded;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Measures storage: runs fio job files and its own, on files and block devices, and says whether the result can be
/// trusted.
#[derive(Debug, Parser)]
#[command(name = "fathom", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

// What the commands that answer say below their options: what scripts go by. docs/questions.md has the whole.

const CURVE_HELP: &str = "\
Answer: what limits it, peak, knee, the load for 95 % of the most and at which each --latency is
reached, each with a 95 % interval. Exit code 0; with --threshold a breach is 99.
--json: sentence, verdict (linear_so_far, saturated_from_the_start, contention_limited, capped,
retrograde, no_law, queueing), over (depth or rate), models[], chosen, peak, most_measured, knee,
n_at_95_percent, parallel_units, limits[], points[], remarks, run, doubts (findings that speak
against the figures). Intervals are beside, as knee_interval is. With --over rate also maximum,
is_held_back, carried, doubled, alone_s. With --threshold also thresholds[], thresholds_verdict.";

const SLO_HELP: &str = "\
Answer (exit code): met (0); not_met or overloaded (99); too_few operations to tell, undecided (no rate
kept the limits, and the lowest broke none beyond chance), depth_limited (--max-depth, and not the
targets, kept more from being done), unfinished (broken off before), or no answer (8).
With --threshold a breach is 99.
--json: sentence, verdict, wanted, rate (in question, or found), missed, reached and
reached_interval, alone (what one operation alone takes, where that is more than a goal: statistic,
limit_s, found_s), undecided (statistic, limit_s, what one operation takes by itself, and what it
took at the lowest rate), held_back (what --max-depth held back: slots, rate, done, each_s), goals[]
(statistic, limit_s, worst_s, margin, together_s and together_interval_s: what all trials of the
rate tell together), trials[] (rate, offered, done, latencies_s, needs, verdict), trials_take_s (how
long each trial would have to last, where it may be luck whether it keeps the limits), remarks, run,
doubts (findings that speak against the figures). With --threshold also thresholds[],
thresholds_verdict.";

const STEADY_HELP: &str = "\
Answer (exit code): steady or complete (0); not_steady or unfinished (8). What was ended goes on with
--resume. With --threshold a breach is 99, as is the end by --abort-when; both are about the loads,
not about what prepares for them (where only errors end it), and thresholds about those of the
measurement window (errors: of all rounds).
--json: sentence, verdict, test, class, is_pts, deviations[], haste, purged, purge, idle_between,
resumed, setup (targets, data_pattern, active_range_bytes, written_bytes and more), fills,
idle_recovery (baseline_iops, after[]) and parts[]: rounds have steady_at, tracked, window
(mean, range, slope and what is allowed), cells[]; run, doubts (findings that speak against the
figures). With --threshold also thresholds[], thresholds_verdict.";

const SCAN_HELP: &str = "\
Answer (exit code): sound or slow (0); unreadable (5); incomplete (8). With --threshold a breach is 99.
--json: sentence, verdict, complete, whole, read_bytes, to_read_bytes, size_bytes, sector_bytes,
block_bytes, slow_from_s, order, rpm, class_limits_s[], slow_zone_share, zones[] (first_byte, bytes,
bytes_per_s, mean_s, max_s, errors, classes[], slow, slow_once), unreadable[] (with error),
errors_once[], slow[] (with took_s, read_again), slow_once[], skipped[] (with why),
burst_bytes_per_s, access (block_bytes, operations, errors, mean_s, min_s, max_s, quantiles[],
reads[]), run, doubts (findings that speak against the figures).
With --threshold also thresholds[], thresholds_verdict.";

const COMPARE_HELP: &str = "\
Verdict (exit code): equivalent or improved (0); inconclusive, or a run that is INVALID (8);
regressed (99).
--json: verdict and comparisons[] with base, new, margin, verdict, more_runs, sentence, invalid[],
findings[] (of either side), of (step, cell or load), curve[] (peak, knee and their kin),
steps[].metrics[] (base, new, change, interval, verdict, decides), job_differences[], differences[],
passing[], remarks.";

const HISTORY_HELP: &str = "\
Outlook (exit code): unchanged or improved (0); inconclusive (8); regressed (99).
--json: outlook, sentence, title, margin, of (step, cell or load), runs[] (the oldest first),
level_from (index of the first run of the newest level), newest (verdict, sentence),
loads[].figures[] (name, decides, values[] per run, drift, changes[] with at, before, after,
change), turns[] (what else is another from a run on), newest_is_out, left_out[], remarks[].";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a job and print what was measured
    Run(RunArgs),
    /// Show what a job would do, without doing it: steps, time, bytes written, what would be overwritten
    Plan(PlanArgs),
    /// Check a job file and report every fault at once
    Check(CheckArgs),
    /// Print a job file in another dialect, with the same plan
    Convert(ConvertArgs),
    /// List stored runs
    Runs(RunsArgs),
    /// Show a stored run again: as text, JSON, CSV, Markdown or a page with charts
    Report(ReportArgs),
    /// Note something on the time line of a run, while it goes on or afterwards
    Mark(crate::command::mark::MarkArgs),
    /// Compare stored runs: regressed, improved, equivalent, or how many more runs it takes to tell
    #[command(after_help = COMPARE_HELP)]
    Compare(crate::command::compare::CompareArgs),
    /// Follow a job over its stored runs: where its level changed, whether the newest run lies apart
    #[command(after_help = HISTORY_HELP)]
    History(crate::command::history::HistoryArgs),
    /// Measure a load curve: peak, knee, what limits it, the load at which latency reaches a limit
    #[command(after_help = CURVE_HELP)]
    Curve(crate::command::curve::CurveArgs),
    /// Prove that a rate keeps its latencies, or find the highest rate that does
    #[command(after_help = SLO_HELP)]
    Slo(crate::command::slo::SloArgs),
    /// Run a test of SNIA's PTS: rounds of a whole matrix until they are steady
    #[command(after_help = STEADY_HELP)]
    Steady(crate::command::steady::SteadyArgs),
    /// Read a target over all its places: how fast, and where it is slow or cannot be read. Never writes
    #[command(after_help = SCAN_HELP)]
    Scan(crate::command::scan::ScanArgs),
    /// Find the scaling law of measured loads and throughputs: peak, knee, what limits it
    Fit(crate::command::fit::FitArgs),
    /// Judge whether series of rounds reached a steady state
    Judge(crate::command::judge::JudgeArgs),
    /// Percentiles of a list of latencies, with their intervals
    Percentiles(crate::command::percentiles::PercentilesArgs),
    /// Show what fathom finds on this machine: engines, limits, environment, its own ceiling
    Doctor(DoctorArgs),
    /// List all options of job files
    Options,
    /// Serve the pages and the API: compose, run, watch and look at runs in a browser
    Serve(ServeArgs),
    /// Take Iometer's command line and configurations (.icf), and write its results.csv
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Iometer {
        /// As for Iometer; `fathom iometer --help` says what is there
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Take fio's command line and job files
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Fio {
        /// As for fio; `fathom fio --help` says what is there
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

/// What to run: job files, or a target and a few figures.
#[derive(Debug, Clone, Args)]
pub(crate) struct JobArgs {
    /// Job files: native (.toml), fio, a parameter file of Vdbench, or an Iometer configuration (.icf)
    #[arg(value_name = "JOB", conflicts_with = "target")]
    pub(crate) jobs: Vec<PathBuf>,
    /// Measure this file or block device without a job file; `null:` and `sim:` need no storage
    #[arg(long, value_name = "PATH", help_heading = "Without a job file")]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) iometer: IometerArgs,
    #[command(flatten)]
    pub(crate) quick: QuickArgs,
}

/// What stands here for the targets of an Iometer configuration.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "With an Iometer configuration")]
pub(crate) struct IometerArgs {
    /// What stands for a target of the file, e.g. `C:=/mnt/disk/file`, `1:=/dev/sdb`; NAME `*` is all others, `sim:` and
    /// `null:` need no storage
    #[arg(long = "map", value_name = "NAME=PATH")]
    pub(crate) maps: Vec<String>,
    /// Bytes that its sectors have: 512 or 4096
    #[arg(long, value_name = "BYTES", default_value_t = SECTOR_BYTES, value_parser = sector_size)]
    pub(crate) sector_size: u64,
    /// Port at which its first network worker listens; each further one has the next
    #[arg(long, value_name = "PORT", default_value_t = FIRST_PORT, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) first_port: u16,
}

impl Default for IometerArgs {
    fn default() -> Self {
        Self { maps: Vec::new(), sector_size: SECTOR_BYTES, first_port: FIRST_PORT }
    }
}

impl IometerArgs {
    /// The options that say something else than is so without them, by name: they mean nothing beside another job.
    pub(crate) fn given(&self) -> Vec<&'static str> {
        let Self { maps, sector_size, first_port } = self;
        [
            ("--map", !maps.is_empty()),
            ("--sector-size", *sector_size != SECTOR_BYTES),
            ("--first-port", *first_port != FIRST_PORT),
        ]
        .into_iter()
        .filter_map(|(name, is_given)| is_given.then_some(name))
        .collect()
    }
}

/// Reads where to listen.
fn listen_address(text: &str) -> Result<std::net::SocketAddr, String> {
    let here = std::net::Ipv4Addr::LOCALHOST;
    let port = text.strip_prefix("localhost:").unwrap_or(text);
    if let Ok(port) = port.parse::<u16>() {
        return Ok((here, port).into());
    }
    text.parse().map_err(|_| {
        format!("{text} is no address to listen at; write one with a port, such as 127.0.0.1:7070 or [::1]:7070, or a port alone")
    })
}

/// A name as it stands in the address of a page, which may have a port.
fn host_name(text: &str) -> Result<String, String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    if !text.is_empty() && text.chars().all(is_name) {
        return Ok(text.to_owned());
    }
    Err(format!("{text} is no name of a host; write one such as bench.lan or bench.lan:8443"))
}

/// A condition as it was written, which can be read.
fn condition(text: &str) -> Result<String, String> {
    text.parse::<fathom_schema::Condition>().map(|_| text.to_owned())
}

/// Where the first network worker of an Iometer configuration listens where nobody says otherwise: near the 1066 of Iometer,
/// which only root may have, and below the ports that Linux gives out (from 32768).
pub(crate) const FIRST_PORT: u16 = 10_660;

/// Bytes of a sector of an Iometer configuration where nobody says otherwise.
pub(crate) const SECTOR_BYTES: u64 = 512;

/// Reads a sector size.
pub(crate) fn sector_size(text: &str) -> Result<u64, String> {
    let size: u64 = text.parse().map_err(|_| format!("{text} is no number of bytes"))?;
    if size.is_power_of_two() && (512..=65_536).contains(&size) {
        Ok(size)
    } else {
        Err(format!("{text} is no power of two from 512 to 65536; disks have 512 or 4096"))
    }
}

/// Figures of a job without a file; each is an option of job files under the same name, whose row judges what it may be: a
/// negative number too is told with what may be written instead.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Without a job file")]
pub(crate) struct QuickArgs {
    /// Size of the file, or the part of a device that is used, e.g. 64MiB
    #[arg(long, requires = "target", allow_hyphen_values = true)]
    pub(crate) size: Option<String>,
    /// A ready-made workload, e.g. oltp, fileserver, webserver; `fathom run --preset help` lists them
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Option<String>,
    /// Share of reads, e.g. 70%; the rest are writes
    #[arg(long, requires = "target", conflicts_with = "preset", allow_hyphen_values = true)]
    pub(crate) read: Option<String>,
    /// Bytes of one operation, e.g. 8KiB
    #[arg(long, requires = "target", conflicts_with = "preset", allow_hyphen_values = true)]
    pub(crate) block_size: Option<String>,
    /// Where operations go: sequential, random, or e.g. "55% random"
    #[arg(long, requires = "target", conflicts_with = "preset")]
    pub(crate) access: Option<String>,
    /// Threads that generate the load
    #[arg(long, requires = "target", allow_hyphen_values = true)]
    pub(crate) workers: Option<String>,
    /// I/Os one worker keeps in flight
    #[arg(long, requires = "target", allow_hyphen_values = true)]
    pub(crate) queue_depth: Option<String>,
    /// Operations or bytes per second, e.g. 5k/s or 200MB/s
    #[arg(long, requires = "target", allow_hyphen_values = true)]
    pub(crate) rate: Option<String>,
    /// How arrivals at a rate are spaced: constant, poisson, uniform, or in bursts (see `fathom options`)
    #[arg(long, requires = "target")]
    pub(crate) arrival: Option<String>,
    /// How long to measure, e.g. 30s
    #[arg(long, requires = "target", allow_hyphen_values = true)]
    pub(crate) time: Option<String>,
    /// Time before measuring whose I/Os never count, e.g. 5s
    #[arg(long, requires = "target", allow_hyphen_values = true)]
    pub(crate) ramp: Option<String>,
    /// Which engine: `auto`, `io_uring`, `libaio`, `psync`, `null` or `sim`
    #[arg(long, requires = "target")]
    pub(crate) engine: Option<String>,
    /// Whether the page cache is passed by: true or false
    #[arg(long, requires = "target", value_name = "BOOL")]
    pub(crate) direct: Option<bool>,
    /// Remove the file after the run, if fathom made it
    #[arg(long, requires = "target")]
    pub(crate) remove: bool,
}

impl QuickArgs {
    /// The options given, by name: they make a job, and mean nothing beside one from a file.
    pub(crate) fn given(&self) -> Vec<&'static str> {
        let Self {
            size,
            preset,
            read,
            block_size,
            access,
            workers,
            queue_depth,
            rate,
            arrival,
            time,
            ramp,
            engine,
            direct,
            remove,
        } = self;
        [
            ("--size", size.is_some()),
            ("--preset", preset.is_some()),
            ("--read", read.is_some()),
            ("--block-size", block_size.is_some()),
            ("--access", access.is_some()),
            ("--workers", workers.is_some()),
            ("--queue-depth", queue_depth.is_some()),
            ("--rate", rate.is_some()),
            ("--arrival", arrival.is_some()),
            ("--time", time.is_some()),
            ("--ramp", ramp.is_some()),
            ("--engine", engine.is_some()),
            ("--direct", direct.is_some()),
            ("--remove", *remove),
        ]
        .into_iter()
        .filter_map(|(name, is_given)| is_given.then_some(name))
        .collect()
    }
}

/// What the user agrees to.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Consent")]
#[expect(clippy::struct_excessive_bools, reason = "each is a consent of its own")]
pub(crate) struct ConsentArgs {
    /// Overwrite content that has no known signature
    #[arg(long)]
    pub(crate) yes: bool,
    /// Overwrite regular files that fathom did not make
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Overwrite this device although it carries a filesystem, partition table or the like; path or serial number
    #[arg(long, value_name = "DEV")]
    pub(crate) destroy: Vec<String>,
    /// Run the commands that the job names (`command_before`, fio's `exec_prerun` and the like)
    #[arg(long)]
    pub(crate) allow_exec: bool,
    /// Talk to peers on other hosts, and listen for them, where the job says so (engine `net`)
    #[arg(long)]
    pub(crate) allow_net: bool,
}

/// Bounds of any run.
#[derive(Debug, Args)]
pub(crate) struct BoundArgs {
    /// Bound that every step has to keep, e.g. 'iops>100k', 'read.p99<1ms' or 'errors<1'; may be given several times. Exit code 99
    /// when one is not kept
    #[arg(long, value_name = "BOUND", help_heading = "Options")]
    threshold: Vec<fathom_schema::Threshold>,
    /// Condition that ends the run, e.g. 'read.p99>10ms for 5s', or 'errors>20' where a job's `on_error` lets so many pass; may be
    /// given several times. Exit code 99 when one does
    #[arg(long, value_name = "CONDITION", value_parser = condition, help_heading = "Options")]
    abort_when: Vec<String>,
}

impl BoundArgs {
    /// Adds them to those of a job.
    pub(crate) fn add_to(&self, loaded: &mut Loaded) {
        loaded.thresholds.extend(self.threshold.iter().copied());
        if !self.abort_when.is_empty() {
            let option = &mut loaded.job.run.abort_when;
            let all = option.get().iter().chain(&self.abort_when).cloned().collect();
            let place = option.span().unwrap_or_default();
            option.set(all, place);
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) job: JobArgs,
    #[command(flatten)]
    pub(crate) consent: ConsentArgs,
    #[command(flatten)]
    pub(crate) bounds: BoundArgs,
    /// Write the report as JSON to this file; `-` for standard output, instead of the text
    #[arg(long, value_name = "FILE", help_heading = "Options")]
    pub(crate) json: Option<PathBuf>,
    /// Write every operation that counts to this file, as a row of CSV
    #[arg(long, value_name = "FILE", help_heading = "Options")]
    pub(crate) operations: Option<PathBuf>,
    /// Keep the run in this folder instead of the usual one
    #[arg(long, value_name = "FOLDER", help_heading = "Options")]
    pub(crate) store: Option<PathBuf>,
    /// Change the load while it runs: lines `rate STREAM RATE` written to this named pipe
    #[arg(long, value_name = "PIPE", help_heading = "Options")]
    pub(crate) control: Option<PathBuf>,
    /// Show no progress
    #[arg(long, short, help_heading = "Options")]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) job: JobArgs,
    #[command(flatten)]
    pub(crate) consent: ConsentArgs,
    /// Print the plan as JSON, with every step fully resolved
    #[arg(long, help_heading = "Options")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) job: JobArgs,
    /// Print the faults as a JSON array
    #[arg(long, help_heading = "Options")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// Job files: native (.toml), fio, a parameter file of Vdbench, or an Iometer configuration (.icf)
    #[arg(value_name = "JOB", required = true)]
    pub(crate) jobs: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) iometer: IometerArgs,
    /// The dialect to print
    #[arg(long, value_enum)]
    pub(crate) to: ConvertTo,
}

/// Dialects that jobs can be printed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConvertTo {
    /// fathom's own, TOML
    Native,
}

#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    /// Print them as a JSON array
    #[arg(long)]
    pub(crate) json: bool,
    /// Folder of the runs
    #[arg(long, value_name = "FOLDER")]
    pub(crate) store: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For programs
    Json,
    /// A row per interval and kind of operation
    Csv,
    /// A row per figure of the answer to the run's question
    AnswerCsv,
    /// For tickets and wikis
    Markdown,
    /// One page with charts that needs nothing else; a browser opens it from disk
    Html,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// Which run: `last`, its id or the beginning of it, or a path
    #[arg(value_name = "RUN", default_value = "last")]
    pub(crate) run: String,
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
    /// Write it to this file, whole or not at all, instead of to standard output; one with further names, an access list or a
    /// link to it is written over where it is, once the document is made and there is room
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Folder of the runs
    #[arg(long, value_name = "FOLDER")]
    pub(crate) store: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Run that the address leads to: `last`, or the beginning of its identity. Without one it is the list of runs
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Where to listen: an address with a port, or a port of this machine alone
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7070", value_parser = listen_address)]
    pub(crate) listen: std::net::SocketAddr,
    /// A further name under which it is asked for, e.g. `bench.lan`
    #[arg(long = "allow-host", value_name = "NAME", value_parser = host_name)]
    pub(crate) hosts: Vec<String>,
    /// Certificate chain, PEM; needed to listen beyond this machine
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Its private key, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Listen beyond this machine without TLS: whoever can read the network can take over sessions
    #[arg(long)]
    pub(crate) insecure_listen: bool,
    /// Folder of the runs
    #[arg(long, value_name = "FOLDER")]
    pub(crate) store: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Paths to look at
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Print the facts as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_on_answers_has_lines_that_fit() {
        for help in [CURVE_HELP, SLO_HELP, STEADY_HELP, SCAN_HELP, COMPARE_HELP, HISTORY_HELP] {
            for line in help.lines() {
                assert!(line.chars().count() <= 104, "{line}");
            }
        }
    }
}
