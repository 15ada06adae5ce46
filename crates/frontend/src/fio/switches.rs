//! The switches of fio's command line that are no job options: their names, whether they take a value, what they ask for.
//! Knows neither jobs nor how a command line is split into words.

use super::grammar::shortened;
use super::values::{Unit, number};

/// What a command line asks for beside its jobs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one of fio's own switches")]
pub struct Switches {
    /// `--output`: file for the report; standard output without.
    pub output: Option<String>,
    /// `--output-format` and `--minimal`, each once; empty: the normal one.
    pub output_format: Vec<OutputFormat>,
    /// `--append-terse`: a terse report beside the others.
    pub append_terse: bool,
    /// `--terse-version`, 2 to 5; absent: 3.
    pub terse_version: Option<u8>,
    /// `--section`, repeatable: only these jobs are read.
    pub section: Vec<String>,
    /// `--showcmd`: prints the jobs as command lines, runs nothing.
    pub showcmd: bool,
    /// `--parse-only`: runs nothing.
    pub parse_only: bool,
    /// `--eta`.
    pub eta: Eta,
    /// `--eta-newline`: microseconds after which the status line begins a new line; 0: never.
    pub eta_newline_us: u64,
    /// `--status-interval`: microseconds after which the report is given out as it stands; 0: never.
    pub status_interval_us: u64,
    /// `--bandwidth-log`: the bandwidth of all jobs together goes to `agg-read_bw.log` and its kin.
    pub bandwidth_log: bool,
    /// `--readonly`: refuses jobs that write.
    pub readonly: bool,
    /// `--warnings-fatal`: what fio warns of keeps the jobs from running.
    pub warnings_fatal: bool,
    /// `--version`.
    pub version: bool,
    /// `--help`.
    pub help: bool,
    /// `--cmdhelp`: of which option; `all`, which is what it is without a value: of all.
    pub cmdhelp: Option<String>,
    /// `--enghelp`: of which engine, after a comma which of its options; empty: the list of engines.
    pub enghelp: Option<String>,
    /// `--crctest`: of which checksums the speed is asked, separated by commas; empty: of all.
    pub crctest: Option<String>,
    /// `--inflate-log`: the stored log that is shown as rows.
    pub inflate_log: Option<String>,
    /// `--debug=help`: which areas there are.
    pub asks_for_areas: bool,
    /// `--debug`: the areas that are named.
    pub debug: Vec<String>,
    /// `--idle-prof`.
    pub idle_profile: IdleProfile,
    /// `--trigger` and its kin.
    pub trigger: Trigger,
    /// `--aux-path`: folder for states of verification; empty: the current one.
    pub aux_path: String,
    /// Job files named, in order; `-` is standard input.
    pub files: Vec<String>,
}

/// When the status of a running job is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Eta {
    /// On a terminal.
    #[default]
    Auto,
    /// In any case.
    Always,
    /// In no case.
    Never,
}

/// What ends the jobs early, and what is done then.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trigger {
    /// `--trigger-file`: they end when this file is there.
    pub file: Option<String>,
    /// `--trigger-timeout`: they end after so many microseconds; 0: not by that.
    pub after_us: u64,
    /// `--trigger`: what a shell runs then.
    pub command: Option<String>,
}

impl Trigger {
    /// Whether anything ends them.
    pub fn is_set(&self) -> bool {
        self.file.is_some() || self.after_us > 0
    }
}

/// What `--idle-prof` asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IdleProfile {
    /// Nothing.
    #[default]
    None,
    /// How idle all CPUs were together.
    System,
    /// Each of them, too.
    EachCpu,
    /// What a unit of work takes; no job runs.
    Calibration,
}

/// One format of `--output-format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// For people.
    Normal,
    /// Semicolon-separated.
    Terse,
    /// JSON.
    Json,
    /// JSON with full histograms.
    JsonPlus,
}

impl Switches {
    /// Whether a report in this format is to be printed; without any asked for, the normal one.
    pub fn wants(&self, format: OutputFormat) -> bool {
        match format {
            OutputFormat::Normal if self.output_format.is_empty() => true,
            OutputFormat::Terse if self.append_terse => true,
            // json+ is json with more in it.
            OutputFormat::Json if self.output_format.contains(&OutputFormat::JsonPlus) => true,
            format => self.output_format.contains(&format),
        }
    }
}

/// Whether a switch takes a value.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Takes {
    /// None.
    Nothing,
    /// One, after `=` or as the next word.
    Value,
    /// One after `=`, or none.
    Maybe,
}

/// What a switch does.
#[derive(Clone, Copy)]
pub(super) enum Act {
    /// Sets something; the error says what is wrong with the value.
    Set(fn(&mut Switches, &str) -> Result<(), String>),
    /// It is taken without effect; the text says why.
    Pass(fn(&mut Switches, &str) -> String),
    /// Sets something that an empty value and none mean something else for.
    Ask(fn(&mut Switches, Option<&str>)),
    /// Sets something, and may say what of it fio does not know and takes all the same.
    Take(fn(&mut Switches, &str) -> Result<Option<String>, String>),
    /// It is an error for good: why, and what there is instead.
    Refuse(&'static str, &'static str),
}

/// A switch.
pub(super) struct Switch {
    /// Name without dashes.
    pub(super) name: &'static str,
    /// Whether it takes a value.
    pub(super) takes: Takes,
    /// What it does.
    pub(super) act: Act,
}

type Set = fn(&mut Switches, &str) -> Result<(), String>;

const fn flag(name: &'static str, set: Set) -> Switch {
    Switch { name, takes: Takes::Nothing, act: Act::Set(set) }
}

const fn value(name: &'static str, set: Set) -> Switch {
    Switch { name, takes: Takes::Value, act: Act::Set(set) }
}

const fn maybe(name: &'static str, set: Set) -> Switch {
    Switch { name, takes: Takes::Maybe, act: Act::Set(set) }
}

const fn refused(name: &'static str, takes: Takes, why: &'static str, instead: &'static str) -> Switch {
    Switch { name, takes, act: Act::Refuse(why, instead) }
}

const NO_NETWORK: &str = "fathom does not speak fio's network protocol";
const INSTEAD_OF_NETWORK: &str =
    "run fathom on each host; each run leaves a record that `fathom report` shows";
const NO_BENCHMARK: &str = "fathom measures storage, not its own routines";
const INSTEAD_OF_BENCHMARK: &str = "leave it out; `fathom doctor` shows the clock and fathom's own ceiling";

/// All switches.
pub(super) const SWITCHES: &[Switch] = &[
    value("output", |s, text| {
        s.output = Some(text.to_owned());
        Ok(())
    }),
    value("output-format", formats),
    flag("minimal", |s, _| formats(s, "terse")),
    maybe("append-terse", |s, _| {
        s.append_terse = true;
        Ok(())
    }),
    value("terse-version", |s, text| {
        let version = text.parse().ok().filter(|version| (2..=5).contains(version));
        s.terse_version = Some(version.ok_or(format!("\"{text}\" is not 2 to 5"))?);
        Ok(())
    }),
    value("section", |s, text| {
        if text.starts_with("global") {
            return Err("the global section is no job".to_owned());
        }
        s.section.push(text.to_owned());
        Ok(())
    }),
    flag("showcmd", |s, _| {
        s.showcmd = true;
        Ok(())
    }),
    flag("parse-only", |s, _| {
        s.parse_only = true;
        Ok(())
    }),
    Switch { name: "eta", takes: Takes::Value, act: Act::Take(eta) },
    value("eta-newline", |s, text| {
        s.eta_newline_us = period_of_at_least(text, 1)?;
        Ok(())
    }),
    // The status is as old as the interval that is counted, whatever is asked for.
    value("eta-interval", |_, text| period_of_at_least(text, 250).map(|_| ())),
    value("status-interval", |s, text| {
        s.status_interval_us = period_of_at_least(text, 1)?;
        Ok(())
    }),
    flag("bandwidth-log", |s, _| {
        s.bandwidth_log = true;
        Ok(())
    }),
    flag("readonly", |s, _| {
        s.readonly = true;
        Ok(())
    }),
    flag("warnings-fatal", |s, _| {
        s.warnings_fatal = true;
        Ok(())
    }),
    flag("version", |s, _| {
        s.version = true;
        Ok(())
    }),
    flag("help", |s, _| {
        s.help = true;
        Ok(())
    }),
    Switch {
        name: "cmdhelp",
        takes: Takes::Maybe,
        act: Act::Ask(|s, text| s.cmdhelp = Some(text.unwrap_or("all").to_owned())),
    },
    maybe("enghelp", |s, text| {
        s.enghelp = Some(text.to_owned());
        Ok(())
    }),
    Switch { name: "debug", takes: Takes::Value, act: Act::Pass(areas) },
    // These change nothing that fathom measures: it has no pool of shared memory and no table of jobs.
    value("max-jobs", |_, _| Ok(())),
    value("alloc-size", |_, _| Ok(())),
    value("aux-path", |s, text| {
        text.clone_into(&mut s.aux_path);
        Ok(())
    }),
    value("idle-prof", |s, text| {
        s.idle_profile = match text {
            "system" => IdleProfile::System,
            "percpu" => IdleProfile::EachCpu,
            "calibrate" => IdleProfile::Calibration,
            _ => return Err(format!("\"{text}\" is not one of system, percpu, calibrate")),
        };
        Ok(())
    }),
    maybe("crctest", |s, text| {
        s.crctest = Some(text.to_owned());
        Ok(())
    }),
    refused("latency-log", Takes::Maybe, "fio has it no more", "use the option write_lat_log of each job"),
    refused("profile", Takes::Value, "fio's profiles are not built", "write the job out"),
    refused(
        "merge-blktrace-only",
        Takes::Nothing,
        "fathom merges no traces",
        "merge them with fio, and replay them with fathom",
    ),
    value("inflate-log", |s, text| {
        s.inflate_log = Some(text.to_owned());
        Ok(())
    }),
    value("trigger-file", |s, text| {
        s.trigger.file = Some(text.to_owned());
        Ok(())
    }),
    value("trigger-timeout", |s, text| {
        s.trigger.after_us = period_us(text)?;
        Ok(())
    }),
    value("trigger", |s, text| {
        s.trigger.command = Some(text.to_owned());
        Ok(())
    }),
    refused("trigger-remote", Takes::Value, NO_NETWORK, "use --trigger, which is run on this host"),
    refused("memcpytest", Takes::Maybe, NO_BENCHMARK, INSTEAD_OF_BENCHMARK),
    refused("cpuclock-test", Takes::Nothing, NO_BENCHMARK, INSTEAD_OF_BENCHMARK),
    refused("server", Takes::Maybe, NO_NETWORK, INSTEAD_OF_NETWORK),
    refused("client", Takes::Value, NO_NETWORK, INSTEAD_OF_NETWORK),
    refused("remote-config", Takes::Value, NO_NETWORK, INSTEAD_OF_NETWORK),
    // Of a server alone: everything else stays in the foreground, in fio too.
    value("daemonize", |_, _| Ok(())),
];

/// The letters of those that have one, as fio 3.33 takes them behind a single dash.
const LETTERS: &[(char, &str)] = &[
    ('a', "alloc-size"),
    ('b', "bandwidth-log"),
    ('c', "cmdhelp"),
    ('d', "debug"),
    ('e', "eta"),
    ('E', "eta-newline"),
    ('f', "append-terse"),
    ('F', "output-format"),
    ('h', "help"),
    ('i', "enghelp"),
    ('I', "idle-prof"),
    ('j', "max-jobs"),
    ('K', "aux-path"),
    ('L', "status-interval"),
    ('m', "minimal"),
    ('o', "output"),
    ('O', "eta-interval"),
    ('p', "profile"),
    ('P', "parse-only"),
    ('r', "readonly"),
    ('s', "showcmd"),
    ('S', "server"),
    ('v', "version"),
    ('V', "terse-version"),
    ('w', "warnings-fatal"),
    ('x', "section"),
];

/// The switch of a letter.
pub(super) fn of_letter(letter: char) -> Option<&'static Switch> {
    let (_, name) = LETTERS.iter().find(|(known, _)| *known == letter)?;
    SWITCHES.iter().find(|switch| switch.name == *name)
}

/// What `--debug` knows, in fio's order.
pub const DEBUG_AREAS: &[&str] = &[
    "process",
    "file",
    "io",
    "mem",
    "blktrace",
    "verify",
    "random",
    "parse",
    "diskutil",
    "job",
    "mutex",
    "profile",
    "time",
    "net",
    "rate",
    "compress",
    "steadystate",
    "helperthread",
    "zbd",
    "all",
];

/// What fio does not know is `auto` to it.
fn eta(switches: &mut Switches, text: &str) -> Result<Option<String>, String> {
    let (word, time) = text.split_once('=').map_or((text, None), |(word, time)| (word, Some(time)));
    let mut told = None;
    switches.eta = match (word, time) {
        ("always", None) => Eta::Always,
        ("never", None) => Eta::Never,
        ("auto" | "newline", None) => Eta::Auto,
        // fio takes it for `auto`; what it asks for is what --eta-newline does.
        ("newline", Some(time)) => {
            switches.eta_newline_us = period_us(time)?;
            Eta::Auto
        }
        _ => {
            told = Some(format!("\"{}\" is not always, never or auto, and is auto to fio", shortened(text)));
            Eta::Auto
        }
    };
    Ok(told)
}

/// Why `--debug` does next to nothing. Areas that are not there are no errors, as with fio.
fn areas(switches: &mut Switches, text: &str) -> String {
    if ["help", "?"].contains(&text) {
        switches.asks_for_areas = true;
    }
    switches.debug.extend(text.split(',').map(str::to_owned));
    // `job:N` names one job.
    let unknown =
        text.split(',').find(|area| !DEBUG_AREAS.contains(&area.split(':').next().unwrap_or_default()));
    unknown.map_or_else(
        || {
            "fathom prints no single steps, but seeds (random) and limits of a steady state (parse); `fathom plan` shows what it makes of a job, `fathom report` what happened"
                .to_owned()
        },
        |unknown| format!("\"{}\" is not one of {}", shortened(unknown), DEBUG_AREAS.join(", ")),
    )
}

fn formats(switches: &mut Switches, text: &str) -> Result<(), String> {
    switches.output_format.clear();
    // As in fio, a list that comes later is the whole of it.
    switches.append_terse = false;
    for word in text.split(',') {
        let format = match word.trim() {
            "normal" => OutputFormat::Normal,
            "terse" | "minimal" | "csv" => OutputFormat::Terse,
            "json" => OutputFormat::Json,
            "json+" => OutputFormat::JsonPlus,
            other => return Err(format!("\"{other}\" is not one of normal, terse, json, json+")),
        };
        if !switches.output_format.contains(&format) {
            switches.output_format.push(format);
        }
    }
    Ok(())
}

/// A period that fio takes no shorter than so many milliseconds.
fn period_of_at_least(text: &str, least_ms: u64) -> Result<u64, String> {
    let period = period_us(text)?;
    let too_short = || format!("\"{text}\" is too short; give {least_ms} ms or more, or leave it out");
    if period / 1000 < least_ms { Err(too_short()) } else { Ok(period) }
}

/// A bare number is seconds.
fn period_us(text: &str) -> Result<u64, String> {
    let value = number(text, Unit::Seconds, 1024)?.value;
    u64::try_from(value).map_err(|_| format!("\"{text}\" is below 0"))
}
