//! From command line to job: reads job files of any dialect, or makes a job of a target and a few figures.

use crate::cli::{IometerArgs, JobArgs, QuickArgs};
use crate::command::fio::log_names;
use crate::{diagnose, place, preset, terminal};
use fathom_frontend::fio::{self, Extras};
use fathom_frontend::{dialect_of, icf, native, vdbench};
use fathom_model::{
    Diagnostics, Dialect, Job, Kind, Literal, Named, OddPlace, OptionValue, Options, Source, Sources, Span,
    TargetKind, TargetOptions,
};
use fathom_schema::{Question, RunStarted, Threshold};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Largest job file that is read: a thousand times the largest seen in use.
const JOB_BYTES_MAX: u64 = 64 << 20;

/// Lines of a file with bytes that are no UTF-8 that are told: more of them, and it is no text.
const REPLACED_LINES_MAX: usize = 8;

/// A job as far as it could be read, and all that is wrong with it.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) job: Job,
    pub(crate) diagnostics: Diagnostics,
    /// What fio's outputs need beside; empty for other dialects.
    pub(crate) extras: Extras,
    /// What Iometer's results need beside; empty for other dialects.
    pub(crate) iometer: Option<Configuration>,
    /// What the run is to find out beyond its figures.
    pub(crate) question: Option<Question>,
    /// Bounds that every step has to keep.
    pub(crate) thresholds: Vec<Threshold>,
    /// Title for people when the job has none.
    pub(crate) title: String,
    /// The files that it was read from.
    pub(crate) files: Vec<PathBuf>,
    /// No job could be read at all, so that what is missing in it would be a misleading complaint.
    pub(crate) is_unread: bool,
    /// Warnings are kept with the run, as its notes, and are messages only where somebody watches standard error: to
    /// wrappers of fio whatever it says there is a failure.
    pub(crate) keeps_warnings: bool,
    /// A document is shown where messages are, so that even there warnings are but notes of it.
    pub(crate) shows_document: bool,
}

/// An Iometer configuration and what became of it.
#[derive(Debug)]
pub(crate) struct Configuration {
    /// As it was read, with the clients of network workers.
    pub(crate) document: icf::Document,
    /// By test: which stream a worker has on a target.
    pub(crate) streams: Vec<icf::Streams>,
    /// The tests that the steps are, in their order.
    pub(crate) tests: Vec<icf::Test>,
}

impl Loaded {
    /// Whether its warnings are messages.
    pub(crate) fn says_warnings(&self) -> bool {
        !self.keeps_warnings || (terminal::shows_messages() && !self.shows_document)
    }

    /// The warnings that are kept with the run, a line each.
    pub(crate) fn kept_warnings(&self) -> Vec<String> {
        if !self.keeps_warnings {
            return Vec::new();
        }
        diagnose::warning_lines(&self.diagnostics, &self.job.sources)
    }

    /// The faults of its sections that show beside those of reading.
    pub(crate) fn check(&self) -> Diagnostics {
        if self.is_unread { Diagnostics::default() } else { fathom_model::check(&self.job) }
    }

    /// Refuses lines of these sources in which bytes that are no UTF-8 were replaced: a value with such bytes would name
    /// another file than was meant. Comments and descriptions in other encodings are common in old job files and harmless.
    pub(crate) fn judge_replaced(&mut self, replaced: &[String]) {
        for (index, source) in (0..).zip(self.job.sources.all()) {
            if !replaced.contains(&source.name) {
                continue;
            }
            let (mut start, mut told) = (0, 0);
            for line in source.text.split_inclusive('\n') {
                let content = line.trim_end();
                let span = Span { source: index, start, end: start + content.len() };
                start += line.len();
                let Some(at) = content.find(char::REPLACEMENT_CHARACTER) else { continue };
                told += 1;
                if told > REPLACED_LINES_MAX {
                    break;
                }
                let (before, head) = (&content[..at], content.trim_start());
                // Of a line that holds a sign of a comment in a text before, nobody can be sure.
                let is_comment =
                    head.starts_with(['#', ';']) || (before.contains(" #") && !before.contains(['"', '\'']));
                let message = "bytes that are not UTF-8";
                if is_comment || head.starts_with("description") {
                    let help = "they are replaced where they are shown";
                    self.diagnostics.warn("job.not-utf8", span, message, help);
                } else {
                    let help =
                        "write the job in UTF-8; where a file's name has such bytes, name a link to it";
                    self.diagnostics.error("job.not-utf8", span, message, help);
                }
            }
        }
    }

    /// Refuses options that are for Iometer configurations alone, where this is none.
    fn judge_iometer_options(&mut self, args: &IometerArgs) {
        let given = args.given();
        if !given.is_empty() {
            let message = format!("{} without an Iometer configuration", given.join(" and "));
            self.diagnostics.error(
                "run.no-icf",
                None,
                message,
                "leave it out, or name a configuration (.icf)",
            );
        }
    }

    /// As [`Loaded::check`], with all that would show on any host.
    pub(crate) fn check_in_full(&self) -> Diagnostics {
        // What could not be read would be missed in a plan, and be complained about twice.
        if self.diagnostics.has_errors() { self.check() } else { fathom_planner::check(&self.job) }
    }
}

/// Reads what the command line names, to run it.
pub(crate) fn load(args: &JobArgs) -> Loaded {
    read(args, true)
}

/// Reads what the command line names, to look at it or print it: that targets are not here does not matter.
pub(crate) fn look_at(args: &JobArgs) -> Loaded {
    read(args, false)
}

fn read(args: &JobArgs, is_to_run: bool) -> Loaded {
    if let Some(target) = &args.target {
        let mut loaded = of_target(target, &args.quick);
        loaded.judge_iometer_options(&args.iometer);
        return loaded;
    }
    let (mut texts, mut replaced) = (Vec::new(), Vec::new());
    let mut faults = Loaded::default();
    let given = args.quick.given();
    if args.jobs.is_empty() {
        let named = if given.is_empty() { String::new() } else { format!(", only {}", given.join(", ")) };
        let message = format!("neither a job file nor a target is named{named}");
        let help = "name a job file, or measure without one: --target PATH --size 1GiB";
        faults.diagnostics.error("run.nothing", None, message, help);
    } else if !given.is_empty() {
        let message = format!("{} and a job file are given", given.join(", "));
        let help = "change the job file, or leave it out and name a --target";
        faults.diagnostics.error("run.job-and-figures", None, message, help);
    }
    for path in &args.jobs {
        match read_text(path) {
            Ok((text, is_replaced)) => {
                let name = path.display().to_string();
                replaced.extend(is_replaced.then(|| name.clone()));
                texts.push((name, text));
            }
            Err(reason) => {
                faults.diagnostics.error("job.unreadable", None, reason, "name a job file that can be read");
            }
        }
    }
    if faults.diagnostics.has_errors() {
        faults.is_unread = true;
        return faults;
    }
    let mut loaded = of_texts(&texts, &args.iometer, is_to_run);
    if texts.first().is_some_and(|(name, text)| dialect_of(name, text) != Dialect::Iometer) {
        loaded.judge_iometer_options(&args.iometer);
    }
    loaded.files.extend(args.jobs.iter().map(|path| file_of(path)));
    loaded.judge_replaced(&replaced);
    loaded.title = args.jobs.iter().map(|path| file_stem(path)).collect::<Vec<_>>().join(", ");
    loaded
}

fn of_texts(texts: &[(String, String)], iometer: &IometerArgs, is_to_run: bool) -> Loaded {
    let mut loaded = Loaded::default();
    match texts.first().map(|(name, text)| dialect_of(name, text)) {
        Some(Dialect::Native) if texts.len() == 1 => {
            let (job, diagnostics) = native::read(&texts[0].0, &texts[0].1);
            // A slip in a section's head loses the section; that it is missing follows from what is said already.
            let is_unread = diagnostics.all().iter().any(|one| one.code == native::SYNTAX);
            Loaded { job, diagnostics, is_unread, ..Loaded::default() }
        }
        Some(Dialect::Iometer) if texts.len() == 1 => {
            configuration(&texts[0].0, &texts[0].1, iometer, is_to_run)
        }
        Some(Dialect::Vdbench) if texts.len() == 1 => parameters(&texts[0].0, &texts[0].1),
        Some(dialect @ (Dialect::Native | Dialect::Iometer | Dialect::Vdbench)) => {
            let what = match dialect {
                Dialect::Iometer => "Iometer configurations",
                Dialect::Vdbench => "Vdbench parameter files",
                Dialect::Native | Dialect::Fio => "native job files",
            };
            let message = format!("{} {what} are given", texts.len());
            loaded.diagnostics.error("job.several", None, message, "run one at a time");
            loaded
        }
        _ => {
            let files: Vec<(&str, &str)> =
                texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
            let (fio::Reading { job, diagnostics, extras }, Asked { files, replaced }) =
                with_surroundings(|world| fio::read_all(&files, world));
            // Sections with faults are left out; that no job is left then follows from what is said already.
            let is_unread = diagnostics.has_errors() && job.streams.is_empty();
            let mut loaded = Loaded { job, diagnostics, extras, files, is_unread, ..Loaded::default() };
            loaded.judge_replaced(&replaced);
            loaded
        }
    }
}

/// Reads a job that someone sent. What it names is not opened: neither files to include nor contents of patterns, nor
/// traces, of whose lines the faults would tell.
pub(crate) fn uploaded(name: &str, text: &str, args: &IometerArgs) -> Loaded {
    let mut loaded = sent(name, text, args);
    for stream in &loaded.job.streams {
        if let Some(span) = stream.options.trace.span() {
            let message = format!(
                "the stream \"{}\" replays a trace, and files of this machine are not read",
                stream.name
            );
            let help = "run it there, with fathom run";
            loaded.diagnostics.error("job.sent-trace", Some(span), message, help);
        }
        let options = &stream.options;
        let commands = [options.command_before.span(), options.command_after.span(), options.program.span()];
        if let Some(span) = commands.into_iter().flatten().next() {
            let message = format!(
                "the stream \"{}\" runs a command, and a server runs none for those who send jobs: it will refuse to start this",
                stream.name
            );
            let help = "take the command out, or run it there, with fathom run --allow-exec";
            loaded.diagnostics.warn("job.sent-command", Some(span), message, help);
        }
    }
    for workload in &loaded.job.workloads {
        if let Some(span) = workload.options.verify_dump.span() {
            let message =
                "blocks that are wrong are dumped to files, and a server writes none for those who send jobs";
            let help = "leave verify_dump out: the record says which blocks were wrong; or run it there, with fathom run";
            loaded.diagnostics.error("job.sent-dump", Some(span), message, help);
        }
    }
    if let Some(name) = log_names(&loaded.extras).first() {
        let message = format!("the log {} and its like are not written by a server", name.display());
        let help =
            "the run's record has every interval, and its report as CSV; or run it there, with fathom run";
        loaded.diagnostics.warn("job.sent-logs", None, message, help);
    }
    loaded
}

fn sent(name: &str, text: &str, args: &IometerArgs) -> Loaded {
    if let Some(at) = text.find('\0') {
        let mut loaded = Loaded { is_unread: true, ..Loaded::default() };
        let name = if name.is_empty() { "the job" } else { name };
        let line = line_of(text.as_bytes(), at);
        let message = format!("{name} is not a text: in line {line}, byte {at} of it is 0");
        loaded.diagnostics.error("job.no-text", None, message, "send a job file");
        return loaded;
    }
    let dialect = dialect_of(name, text);
    let mut loaded = match dialect {
        Dialect::Vdbench => parameters(name, text),
        Dialect::Iometer => configuration(name, text, args, true),
        Dialect::Native => {
            let (job, diagnostics) = native::read(name, text);
            Loaded { job, diagnostics, ..Loaded::default() }
        }
        Dialect::Fio => {
            let cpus =
                std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1));
            let unread =
                |_: &str| Err("a server reads no files of its machine for those who send jobs".to_owned());
            let bytes =
                |_: &str| Err("a server reads no files of its machine for those who send jobs".to_owned());
            let missed = RefCell::new(BTreeSet::new());
            let variable = |name: &str| {
                missed.borrow_mut().insert(name.to_owned());
                None
            };
            let world = fio::Surroundings {
                cpus,
                read: &unread,
                bytes: &bytes,
                variable: &variable,
                ..fio::Surroundings::empty()
            };
            let fio::Reading { job, diagnostics, extras } = fio::read(name, text, &world);
            let mut loaded = Loaded { job, diagnostics, extras, ..Loaded::default() };
            for name in missed.take() {
                let span = text.find(&format!("${{{name}}}")).map(|start| Span {
                    source: 0,
                    start,
                    end: start + name.len() + 3,
                });
                let message =
                    format!("${{{name}}} of the environment is not known to a server, and would be empty");
                let help = "write what it stands for; or run it there, with fathom run";
                loaded.diagnostics.error("job.sent-variable", span, message, help);
            }
            loaded
        }
    };
    // Also of a text that is no job at all.
    loaded.job.dialect = dialect;
    loaded
}

/// Reads a parameter file of Vdbench.
fn parameters(name: &str, text: &str) -> Loaded {
    let (job, diagnostics) = vdbench::read(name, text);
    Loaded { is_unread: diagnostics.has_errors(), job, diagnostics, ..Loaded::default() }
}

/// Reads an Iometer configuration.
pub(crate) fn configuration(name: &str, text: &str, args: &IometerArgs, is_to_run: bool) -> Loaded {
    let mut loaded = Loaded { is_unread: true, title: file_stem(Path::new(name)), ..Loaded::default() };
    let source = loaded.job.sources.add(name, text);
    let (document, diagnostics) = icf::parse(source, text);
    loaded.diagnostics = diagnostics;
    let map = match place::Map::read(&args.maps) {
        Ok(map) => map,
        Err(reason) => {
            let help = "write --map NAME=PATH, for example --map C:=/mnt/disk/file";
            loaded.diagnostics.error("run.map", None, reason, help);
            return loaded;
        }
    };
    if loaded.diagnostics.has_errors() {
        return loaded;
    }
    let place = |target: &str| map.place(target);
    let surroundings = icf::Surroundings {
        place: &place,
        sector_bytes: args.sector_size,
        is_to_run,
        is_here: &place::is_here,
        first_port: args.first_port,
    };
    let icf::Lowered { job, diagnostics, streams, document: expanded, tests } =
        icf::lower(&document, &surroundings);
    loaded.is_unread = diagnostics.has_errors();
    loaded.diagnostics.extend(diagnostics);
    // What stands for its targets is a part of the job that its text does not have.
    let maps = args.maps.iter().map(|map| (RunStarted::ICF_MAP.to_owned(), map.clone()));
    let sectors = (RunStarted::ICF_SECTOR_SIZE.to_owned(), args.sector_size.to_string());
    let echo = vec![(RunStarted::ICF.to_owned(), maps.chain([sectors]).collect())];
    loaded.job = Job { sources: loaded.job.sources, echo, ..job };
    let document = expanded.unwrap_or(document);
    loaded.iometer = Some(Configuration { document, streams, tests });
    loaded
}

/// Where a job comes from that a command line names: `-` is standard input, which may be a file.
fn file_of(path: &Path) -> PathBuf {
    if path == Path::new("-") { "/dev/stdin".into() } else { path.to_owned() }
}

/// What a job file's world was asked for.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// Files that were read.
    pub(crate) files: Vec<PathBuf>,
    /// Those of them, by the names in the sources, in which bytes were replaced.
    pub(crate) replaced: Vec<String>,
}

/// The world a fio job file may ask about. Returns what it was asked for, too.
pub(crate) fn with_surroundings<R>(with: impl FnOnce(&fio::Surroundings<'_>) -> R) -> (R, Asked) {
    let asked = RefCell::new(Asked::default());
    let read = |name: &str| {
        asked.borrow_mut().files.push(file_of(Path::new(name)));
        let (text, is_replaced) = read_text(Path::new(name))?;
        asked.borrow_mut().replaced.extend(is_replaced.then(|| name.to_owned()));
        Ok(text)
    };
    let variable = |name: &str| std::env::var(name).ok();
    let bytes = |name: &str| {
        asked.borrow_mut().files.push(name.into());
        std::fs::read(name).map_err(|error| format!("cannot read {name}: {error}"))
    };
    let is_special = |path: &str| {
        let kind = std::fs::metadata(path).map(|meta| meta.file_type());
        kind.is_ok_and(|kind| {
            kind.is_block_device() || kind.is_char_device() || kind.is_fifo() || kind.is_socket()
        })
    };
    let length =
        |path: &str| std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|meta| meta.len());
    let cpus = std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1));
    let memory = rustix::system::sysinfo();
    let made = with(&fio::Surroundings {
        read: &read,
        is_there: &|name| Path::new(name).exists(),
        bytes: &bytes,
        below: &files_below,
        variable: &variable,
        is_special: &is_special,
        length: &length,
        cpus,
        page_size_bytes: rustix::param::page_size() as u64,
        memory_mib: (memory.totalram.saturating_mul(u64::from(memory.mem_unit))) >> 20,
    });
    (made, asked.into_inner())
}

/// All regular files below a folder, by name. Links are not followed: they may lead round in a circle, or out of it.
fn files_below(folder: &str) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        let fail = |error: std::io::Error| format!("cannot look into {}: {error}", folder.display());
        for entry in std::fs::read_dir(&folder).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let path = entry.path();
            // A name with a byte replaced would be that of another file, which would be made.
            let odd = |name: OsString| {
                format!("the name of the file {} is not UTF-8; give it another", name.to_string_lossy())
            };
            match entry.file_type().map_err(fail)? {
                kind if kind.is_dir() => folders.push(path),
                kind if kind.is_file() => found.push(path.into_os_string().into_string().map_err(odd)?),
                _ => {}
            }
        }
    }
    found.sort();
    Ok(found)
}

/// A file's text, or why there is none, in words. Bytes that are no UTF-8 are replaced; see [`Loaded::judge_replaced`].
fn read_text(path: &Path) -> Result<(String, bool), String> {
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("icf")) {
        return Ok((read_icf(path)?, false));
    }
    Ok(match String::from_utf8(read_bytes(path)?) {
        Ok(text) => (text, false),
        Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), true),
    })
}

/// As [`read_text`], of an Iometer configuration, which may be in the code page of Windows.
pub(crate) fn read_icf(path: &Path) -> Result<String, Unread> {
    read_bytes(path).map(|bytes| icf::decode(&bytes))
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, Unread> {
    let fail = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        // Bounded, as pipes and terminals have no size to look at.
        std::io::stdin().lock().take(JOB_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(fail)?;
    } else {
        let meta = std::fs::metadata(path).map_err(fail)?;
        let kind = meta.file_type();
        if kind.is_block_device() {
            return Err(Unread::from(format!(
                "{} is a block device, not a job file; measure it with --target",
                path.display()
            )));
        }
        if kind.is_char_device() {
            return Err(Unread::from(format!("{} is a character device, not a job file", path.display())));
        }
        if meta.is_file() && meta.len() > JOB_BYTES_MAX {
            return Err(Unread::from(too_large(path)));
        }
        let file = std::fs::File::open(path).map_err(fail)?;
        file.take(JOB_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(fail)?;
    }
    if bytes.len() as u64 > JOB_BYTES_MAX {
        return Err(Unread::from(too_large(path)));
    }
    if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
        let help = if matches!(bytes[..], [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
            "; save it as UTF-8, not UTF-16"
        } else {
            ""
        };
        let line = line_of(&bytes, at);
        let reason = format!("{} is not a text: in line {line}, byte {at} of it is 0{help}", path.display());
        return Err(Unread { reason, line: Some(line) });
    }
    Ok(bytes)
}

/// Why a file has no text, in words, and where in it, if that is known.
pub(crate) struct Unread {
    pub(crate) reason: String,
    pub(crate) line: Option<usize>,
}

impl From<String> for Unread {
    fn from(reason: String) -> Self {
        Self { reason, line: None }
    }
}

impl From<Unread> for String {
    fn from(unread: Unread) -> Self {
        unread.reason
    }
}

/// The line, from 1, that a byte lies in.
fn line_of(bytes: &[u8], at: usize) -> usize {
    bytes[..at].split(|byte| *byte == b'\n').count()
}

fn too_large(path: &Path) -> String {
    format!("{} is larger than {} MiB, which no job file is", path.display(), JOB_BYTES_MAX >> 20)
}

fn file_stem(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// A job that runs the null engine for a time, e.g. `333ms`.
pub(crate) fn null_for(time: &str) -> Loaded {
    of_target("null:", &QuickArgs { time: Some(time.to_owned()), ..QuickArgs::default() })
}

/// A job of one stream on one target, from command line figures.
pub(crate) fn of_target(target: &str, quick: &QuickArgs) -> Loaded {
    let mut loaded = Loaded { title: target.to_owned(), ..Loaded::default() };
    let mut words = Words::default();
    match &quick.preset {
        Some(name) => match preset::job(name) {
            Ok(job) => loaded.job = job,
            Err(reason) => {
                loaded.diagnostics.error("run.preset", None, reason, "`fathom run --preset help` lists them");
                return loaded;
            }
        },
        None => {
            loaded.job.workloads.push(Named::new("quick", Span::default()));
            loaded.job.streams.push(Named::new("quick", Span::default()));
            loaded.job.stages.push(Named::new("main", Span::default()));
        }
    }
    let mut section: Named<TargetOptions> = Named::new("target", Span::default());
    let kind = match target {
        "null:" => Some(TargetKind::Null),
        _ if target.starts_with(SIMULATED) => Some(TargetKind::Sim),
        _ => None,
    };
    let place = words.place("--target", target);
    match kind {
        Some(kind) => section.options.kind.set(kind, place),
        None => section.options.path.set(vec![target.to_owned()], place),
    }
    let diagnostics = &mut loaded.diagnostics;
    words.set(&mut section.options, "--size", "size", quick.size.as_deref(), diagnostics);
    if let Some(said) = target.strip_prefix(SIMULATED) {
        for (reason, help) in simulated(&mut section.options, said, place) {
            let help = format!("{help}; a file of that name is ./{target}");
            diagnostics.error("target.built-in-path", place, format!("{SIMULATED} {reason}"), help);
        }
    }
    if kind == Some(TargetKind::Sim) && section.options.size.get().is_none() {
        section.options.size.set(fathom_model::Amount::Bytes(fathom_units::Bytes::gib(1)), place);
    }
    if quick.remove {
        section.options.remove.set(true, words.place("--remove", ""));
    }
    loaded.job.targets = vec![section];
    for stream in &mut loaded.job.streams {
        stream.options.targets = fathom_model::Given::default();
    }
    let Job { workloads, streams, stages, .. } = &mut loaded.job;
    for workload in workloads {
        words.set(&mut workload.options, "--read", "read", quick.read.as_deref(), diagnostics);
        words.set(
            &mut workload.options,
            "--block-size",
            "block_size",
            quick.block_size.as_deref(),
            diagnostics,
        );
        words.set(&mut workload.options, "--access", "access", quick.access.as_deref(), diagnostics);
    }
    for stream in streams {
        words.set(&mut stream.options, "--workers", "workers", quick.workers.as_deref(), diagnostics);
        words.set(
            &mut stream.options,
            "--queue-depth",
            "queue_depth",
            quick.queue_depth.as_deref(),
            diagnostics,
        );
        words.set(&mut stream.options, "--rate", "rate", quick.rate.as_deref(), diagnostics);
        words.set(&mut stream.options, "--arrival", "arrival", quick.arrival.as_deref(), diagnostics);
        words.set(&mut stream.options, "--engine", "engine", quick.engine.as_deref(), diagnostics);
        if let Some(direct) = quick.direct {
            stream.options.direct.set(direct, words.place("--direct", &direct.to_string()));
        }
    }
    for stage in stages {
        words.set(&mut stage.options, "--time", "time", quick.time.as_deref(), diagnostics);
        words.set(&mut stage.options, "--ramp", "ramp", quick.ramp.as_deref(), diagnostics);
        // A preset's ramp is made for its own time: ten minutes of it before one second are not what was asked for.
        if let (Some(time), None) = (stage.options.time.get().copied(), &quick.ramp)
            && quick.time.is_some()
            && *stage.options.ramp.get() > time
        {
            stage.options.ramp.set(time, words.place("--time", quick.time.as_deref().unwrap_or_default()));
        }
    }
    loaded.job.sources = words.into_sources();
    loaded
}

/// What names a simulated device; behind it may be what it is like, and its odd places, with commas between.
const SIMULATED: &str = "sim:";
/// What may be said of it, as options of a job's target.
const OF_SIMULATED: [&str; 5] = ["size", "service_time", "parallelism", "error_share", "short_share"];

/// Sets what is said of a simulated device, words with commas between: options, and places. What is wrong, each with a way out.
fn simulated(options: &mut TargetOptions, said: &str, place: Span) -> Vec<(String, String)> {
    let mut wrong = Vec::new();
    let mut places: Vec<OddPlace> = Vec::new();
    let mut known = BTreeSet::new();
    for word in said.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let Some((name, value)) = word.split_once('=').map(|(name, value)| (name.trim(), value.trim()))
        else {
            match OptionValue::read(&Literal::from(word), Kind::Structured("")) {
                Ok(more) => places.extend::<Vec<OddPlace>>(more),
                Err(reason) => wrong.push((
                    reason,
                    "write for example 'sim:64MiB..65MiB takes 20ms,96MiB..97MiB fails'".to_owned(),
                )),
            }
            continue;
        };
        if !OF_SIMULATED.contains(&name) {
            let reason = format!("{name} is nothing that is set of a simulated device");
            wrong.push((reason, format!("there are {}", OF_SIMULATED.join(", "))));
            continue;
        }
        if !known.insert(name) {
            wrong.push((format!("{name} is given twice"), "leave one of them out".to_owned()));
            continue;
        }
        let literal = value.parse().map_or_else(|_| Literal::from(value), Literal::Integer);
        if let Some(Err(reason)) = options.set(name, &literal, place) {
            let help = "write for example 'sim:size=8GiB,service_time=exponential 1ms,parallelism=8'";
            wrong.push((format!("{name}: {reason}"), help.to_owned()));
        }
    }
    if !places.is_empty() {
        options.places.set(places, place);
    }
    wrong
}

/// A value of a job file as one word of a command line.
fn as_word(example: &str) -> String {
    let bare = example.trim_matches('"');
    if bare.contains(|c: char| !(c.is_ascii_alphanumeric() || "%./_:,-".contains(c))) {
        format!("'{bare}'")
    } else {
        bare.to_owned()
    }
}

/// The command line as a source, so that its faults have a place like any other.
#[derive(Debug, Default)]
struct Words {
    text: String,
}

impl Words {
    /// Writes `flag value` and returns the value's place.
    fn place(&mut self, flag: &str, value: &str) -> Span {
        let known = format!("{flag} {value} ");
        if let Some(at) = self.text.find(&known) {
            return Span { source: 0, start: at + flag.len() + 1, end: at + flag.len() + 1 + value.len() };
        }
        self.text += flag;
        self.text.push(' ');
        let start = self.text.len();
        self.text += value;
        let end = self.text.len();
        self.text.push(' ');
        Span { source: 0, start, end }
    }

    fn set<T: Options>(
        &mut self,
        options: &mut T,
        flag: &str,
        name: &str,
        value: Option<&str>,
        diagnostics: &mut Diagnostics,
    ) {
        if let Some(value) = value {
            let span = self.place(flag, value);
            // A bare number is the same as in a job file: bytes for a size, operations per second for a rate.
            let literal = value.parse().map_or_else(|_| Literal::from(value), Literal::Integer);
            let Some(Err(reason)) = options.set(name, &literal, span) else { return };
            let row = T::rows().iter().find(|row| row.name() == name).expect("it was set by this name");
            let help = format!("write {}, for example {flag} {}", row.wants(), as_word(row.example));
            diagnostics.error("job.bad-value", span, format!("{flag}: {reason}"), help);
        }
    }

    fn into_sources(self) -> Sources {
        let mut sources = Sources::default();
        let Source { name, text } = Source { name: "command line".to_owned(), text: self.text };
        sources.add(name, text);
        sources
    }
}
