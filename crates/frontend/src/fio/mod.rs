//! fio's dialect: job files and command lines to the one model, with fio's grammar, its silent slips, and what its outputs
//! need beside. Owns everything that is peculiar to fio; opens no file and asks no host, which come as arguments.

mod arguments;
mod demands;
mod extras;
mod faults;
mod grammar;
mod lower;
pub mod manual;
mod options;
mod settings;
pub mod state;
mod substitution;
mod switches;
mod values;

pub use arguments::read_arguments;
pub use extras::{Extras, HeldTo, JobClone, LogColumns, LogValue, Logs, Measures, ReportUnits, Unified};
pub use options::{OptionRow, Priority, Status, find as row_of, rows};
pub use switches::{DEBUG_AREAS, Eta, IdleProfile, OutputFormat, Switches, Trigger};

use fathom_model::{Diagnostics, Dialect, Job, Sources, Span};
use faults::Faults;
use grammar::{Line, Section};
use settings::Settings;
use std::collections::BTreeSet;

/// Jobs of one run, clones included, at most: fio's own limit.
pub const JOBS_MAX: usize = 4096;

/// What reading may ask of the world around it.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Text of a file, for `include` and for job files named on a command line; the error says why it cannot be read.
    pub read: &'a dyn Fn(&str) -> Result<String, String>,
    /// Whether anything stands at a path: a file to include that is not there is looked for beside the file that includes it.
    pub is_there: &'a dyn Fn(&str) -> bool,
    /// Bytes of a regular file; absent where there is none.
    pub length: &'a dyn Fn(&str) -> Option<u64>,
    /// Content of a file, for patterns; the error says why it cannot be read.
    pub bytes: &'a dyn Fn(&str) -> Result<Vec<u8>, String>,
    /// All regular files below a folder, in order; the error says why it cannot be looked into.
    pub below: &'a dyn Fn(&str) -> Result<Vec<String>, String>,
    /// Value of an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Whether something that is no regular file stands at a path: a job named like a device uses the device.
    pub is_special: &'a dyn Fn(&str) -> bool,
    /// Configured CPUs (`$ncpus`).
    pub cpus: u32,
    /// Bytes of a memory page (`$pagesize`).
    pub page_size_bytes: u64,
    /// Memory of the machine in MiB (`$mb_memory`).
    pub memory_mib: u64,
}

impl Surroundings<'_> {
    /// A world without files and variables, with one CPU, 4 KiB pages and 1 GiB of memory.
    pub fn empty() -> Self {
        Self {
            read: &|name| Err(format!("there is no {name}")),
            is_there: &|_| false,
            length: &|_| None,
            bytes: &|name| Err(format!("there is no {name}")),
            below: &|name| Err(format!("there is no {name}")),
            variable: &|_| None,
            is_special: &|path| path.starts_with("/dev/"),
            cpus: 1,
            page_size_bytes: 4096,
            memory_mib: 1024,
        }
    }
}

/// A fio job that was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// The job, however incomplete.
    pub job: Job,
    /// All that is wrong with it.
    pub diagnostics: Diagnostics,
    /// What fio's outputs need beside.
    pub extras: Extras,
}

/// Reads one job file. `name` is the file's, for messages.
pub fn read(name: &str, text: &str, surroundings: &Surroundings<'_>) -> Reading {
    read_all(&[(name, text)], surroundings)
}

/// Reads several job files as one run: globals end with their file, and the first job of each further file waits for all
/// before it.
pub fn read_all(files: &[(&str, &str)], surroundings: &Surroundings<'_>) -> Reading {
    let mut reader = Reader::new(surroundings);
    for (name, text) in files {
        reader.file(name, text);
    }
    reader.finish()
}

/// One section that is a job, with its settings.
#[derive(Debug)]
struct ParsedJob {
    /// What it is called: `name`, else its section's.
    name: String,
    /// Its section's, which its files are named after.
    section: String,
    span: Span,
    settings: Settings,
    options: Given,
}

/// Options in the order fio keeps them: canonical names, values as written; a flag may have none.
type Given = Vec<(String, Option<String>)>;

/// Those of them that fio's document lists: it leaves out flags without a value, and what has nothing behind its sign.
fn listed(options: &Given) -> Vec<(String, String)> {
    let has_value = |value: &String| !value.is_empty();
    options
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), value.clone().filter(has_value)?)))
        .collect()
}

/// Collects jobs from files and command lines.
struct Reader<'a> {
    surroundings: &'a Surroundings<'a>,
    sources: Sources,
    faults: Faults,
    /// Settings before a file's own globals: fio's defaults, or the command line's.
    base: Settings,
    jobs: Vec<ParsedJob>,
    /// Options of the command line before its first job, and of the `[global]` sections of the file being read.
    globals: Given,
    /// The jobs of each file as a command line.
    command_lines: Vec<String>,
    /// Only sections with these names become jobs; empty: all.
    wanted: Vec<String>,
    files_read: u32,
    /// Folder for states of verification (`--aux-path`).
    aux_path: String,
}

impl<'a> Reader<'a> {
    fn new(surroundings: &'a Surroundings<'a>) -> Self {
        Self {
            surroundings,
            sources: Sources::default(),
            faults: Faults::default(),
            base: Settings::default(),
            jobs: Vec::new(),
            globals: Given::new(),
            command_lines: Vec::new(),
            wanted: Vec::new(),
            files_read: 0,
            aux_path: String::new(),
        }
    }

    fn file(&mut self, name: &str, text: &str) {
        let source = self.sources.add(name, text);
        // As with fio, of which nothing is shown behind the first fault.
        let is_reached = !self.faults.would_end_fio();
        let sections =
            grammar::sections(source, text, self.surroundings, &mut self.sources, &mut self.faults);
        let mut is_first = self.files_read > 0;
        if is_first {
            // Defaults end with their file, also those of the command line (seen with fio 3.33).
            self.base = Settings::default();
            self.globals.clear();
        }
        let mut defaults = self.base.clone();
        let mut command_line = String::new();
        for mut section in sections {
            // Nor is what `--section` leaves out looked at.
            if !section.is_global() && !self.is_wanted(&section.name) {
                continue;
            }
            if command_line.is_empty() && !self.faults.would_end_fio() {
                command_line.push_str("fio ");
            }
            // Applied in fio's order: stable, so that of two equal options the later still wins.
            section.lines.sort_by_key(|line| options::find(&line.key).map_or(0, OptionRow::order));
            if section.is_global() {
                let echoed = self.apply(&section, &mut defaults);
                self.globals.extend(echoed);
                if !self.faults.would_end_fio() {
                    show(&mut command_line, &self.globals);
                }
                continue;
            }
            if !self.faults.would_end_fio() {
                command_line += &format!("--name={} ", section.name);
            }
            let mut settings = defaults.clone();
            settings.control.name = None;
            let echoed = self.apply(&section, &mut settings);
            settings.control.stonewall |= std::mem::take(&mut is_first);
            if !self.faults.would_end_fio() {
                show(&mut command_line, &echoed);
            }
            self.job(&section.name, section.span, settings, echoed);
        }
        if is_reached {
            self.command_lines.push(command_line);
        }
        self.files_read += 1;
    }

    fn is_wanted(&self, name: &str) -> bool {
        self.wanted.is_empty() || self.wanted.iter().any(|wanted| wanted == name)
    }

    /// Applies a section's options; returns them as fio echoes them.
    fn apply(&mut self, section: &Section, settings: &mut Settings) -> Given {
        let mut seen = BTreeSet::new();
        let mut echoed = Vec::new();
        lower::forget_of_another_engine(&section.lines, settings);
        for line in &section.lines {
            let Some((row, value)) = options::apply(line, settings, &mut self.faults) else { continue };
            if !seen.insert(row.name) && row.name != "filename" && row.name != "opendir" {
                let message =
                    format!("{} is given twice in [{}]; the last one counts", row.name, section.name);
                self.faults.warn("fio.duplicate", line.key_span, message, "keep one of them");
            }
            echoed.push((row.name.to_owned(), value));
        }
        lower::check_private(&section.lines, settings, &mut self.faults);
        echoed
    }

    fn no_folder(&mut self, folder: &str, reason: &str, place: Span) {
        let message = format!("opendir={folder}: {reason}");
        self.faults.error("fio.no-folder", place, message, "name a folder with files in it");
    }

    fn job(&mut self, section: &str, span: Span, mut settings: Settings, options: Given) {
        let mut empty = None;
        for folder in std::mem::take(&mut settings.files.folders) {
            let added = match (self.surroundings.below)(&folder) {
                Ok(new) if new.is_empty() => {
                    empty.get_or_insert(folder);
                    continue;
                }
                found => found.and_then(|new| settings.files.add(new)),
            };
            if let Err(reason) = added {
                self.no_folder(&folder, &reason, settings.span("opendir", span));
            }
        }
        // One with nothing in it adds nothing to names that there are.
        if let Some(folder) = empty.filter(|_| settings.files.names.is_empty()) {
            self.no_folder(&folder, "it names no file", settings.span("opendir", span));
        }
        if let Some(most) = settings.files.most.take() {
            settings.files.count = settings.files.count.min(most);
        }
        if !self.is_wanted(section) {
            return;
        }
        options::resolve_zones(&mut settings, &mut self.faults);
        let name = settings.control.name.clone().unwrap_or_else(|| section.to_owned());
        if self.jobs.len() >= JOBS_MAX {
            let message = format!("maximum number of jobs reached: there are more than {JOBS_MAX}");
            self.faults.error("fio.too-many-jobs", None, message, "use fewer sections, or a deeper iodepth");
            return;
        }
        self.jobs.push(ParsedJob { name, section: section.to_owned(), span, settings, options });
    }

    fn finish(mut self) -> Reading {
        // Where something else is wrong, that there is no job follows from it.
        if self.jobs.is_empty() && !self.faults.has_errors() {
            let message = if self.wanted.is_empty() {
                "the text defines no job".to_owned()
            } else {
                format!("no job is named {}", self.wanted.join(" or "))
            };
            self.faults.error(
                "fio.no-job",
                None,
                message,
                "add a [NAME] section, or --name=NAME on the command line",
            );
        }
        let mut job = Job { dialect: Dialect::Fio, sources: self.sources, ..Job::default() };
        let globals = listed(&self.globals);
        job.echo.push(("global".to_owned(), globals.clone()));
        let has_globals = !self.globals.is_empty();
        let folders = folders(&self.jobs);
        let command_lines = self.command_lines;
        let extras = Extras { globals, has_globals, command_lines, folders, ..Extras::default() };
        let (job, extras) =
            lower::lower(&self.jobs, job, extras, self.surroundings, &self.aux_path, &mut self.faults);
        Reading { job, diagnostics: self.faults.into_diagnostics(), extras }
    }
}

/// The folders of all jobs' `directory`, each once, with where the first that names it stands.
fn folders(jobs: &[ParsedJob]) -> Vec<(String, Span)> {
    let mut seen = BTreeSet::new();
    let all =
        jobs.iter().flat_map(|job| job.settings.files.directories.iter().map(move |folder| (job, folder)));
    all.filter(|(_, folder)| seen.insert(folder.as_str()))
        .map(|(job, folder)| (folder.clone(), job.settings.span("directory", job.span)))
        .collect()
}

/// The longest command line that is put together: more than the kernel takes in all (`ARG_MAX`, 2 MiB).
const COMMAND_LINE_MAX: usize = 2 << 20;

/// Adds options to a command line as fio's `--showcmd` prints them: nothing is quoted but a description. Each section of
/// globals repeats those before it, so that a file of nothing else would grow with its square; nobody could run that.
fn show(command_line: &mut String, options: &Given) {
    for (name, value) in options {
        if command_line.len() > COMMAND_LINE_MAX {
            return;
        }
        match value {
            Some(value) if name == "description" => *command_line += &format!("--{name}=\"{value}\" "),
            Some(value) => *command_line += &format!("--{name}={value} "),
            None => *command_line += &format!("--{name} "),
        }
    }
}

/// An option line that was not written in a file.
fn line(key: &str, value: Option<&str>, key_span: Span, value_span: Span) -> Line {
    Line { key: key.to_owned(), value: value.map(str::to_owned), key_span, value_span }
}
