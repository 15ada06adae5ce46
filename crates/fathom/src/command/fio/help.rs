//! What `fathom fio` says about itself: its switches, its options, its engines. Everything about options comes out of the
//! front end's table.

use fathom_frontend::fio::{self, OptionRow, Status, Surroundings};
use std::fmt::Write;

const USAGE: &str = "\
fathom fio [switches] [options] [job files]: runs fio's job files and command lines.

  --name=NAME --rw=read --bs=4k …   a job on the command line, as with fio; - reads a job file from standard input
  --section=NAME                    reads only these jobs; repeatable
  --showcmd                         prints job files as command lines, runs nothing
  --parse-only                      reads the jobs, runs nothing
  --readonly                        refuses jobs that would change anything
  --warnings-fatal                  a warning keeps the jobs from running

  --output=FILE                     writes the report to this file
  --output-format=LIST              of normal, terse, json, json+; normal without
  --minimal, --append-terse         terse instead of, or beside, the others
  --terse-version=N                 2, 3, 4 or 5; 3 without
  --bandwidth-log                   bandwidth of all jobs together in agg-read_bw.log and its kin
  --eta=always|never|auto           the state of the jobs while they run; auto: on a terminal
  --eta-newline=TIME                begins a new line of it this often
  --status-interval=TIME            gives out the report as it stands this often

  --cmdhelp[=OPTION]                what an option takes; without one, all options
  --enghelp[=ENGINE[,OPTION]]       the engines
  --version, --help

  --destroy=DEV, --yes              consent to overwrite a device's content (fathom's own rule)
  --overwrite                       without a value: consent to trim files that fathom did not make
  --allow-exec                      consent to run the commands that jobs name (fathom's own rule)
  --allow-net                       consent to peers on other hosts with ioengine=net (fathom's own rule)

`fathom check JOB` shows every fault of a job file; docs/fio-compatibility.md says what differs from fio.
";

/// The switches.
pub(super) fn usage() -> String {
    USAGE.to_owned()
}

/// One option, or all of them.
pub(super) fn options(which: &str) -> String {
    let mut text = String::new();
    if which.is_empty() || which == "all" {
        for row in fio::rows() {
            let names = std::iter::once(row.name).chain(row.aliases.iter().copied()).collect::<Vec<_>>();
            // A string takes everything.
            let _ = writeln!(text, "{:<32}: {}", names.join(", "), status(row));
        }
        return text;
    }
    match fio::row_of(which) {
        Some(row) => describe(row),
        None => {
            let near = fathom_model::nearest(which, fio::rows().map(|row| row.name));
            let mut text = format!("No such command: {which}\n");
            if let Some(row) = near.and_then(fio::row_of) {
                text.push_str(" - showing closest match\n");
                text.push_str(&describe(row));
            }
            text
        }
    }
}

fn describe(row: &OptionRow) -> String {
    let mut text = format!("{:>20}: {}\n", row.name, status(row));
    for alias in row.aliases {
        let _ = writeln!(text, "{:>20}: {alias}", "alias");
    }
    let how = row.how_to_write();
    if !how.is_empty() {
        let _ = writeln!(text, "{:>20}: {how}", "value");
    }
    text
}

fn status(row: &OptionRow) -> String {
    match row.status {
        Status::Built => "works".to_owned(),
        Status::Accepted("") => "no effect".to_owned(),
        Status::Accepted(loses) => format!("no effect: {loses}"),
        Status::Refused(_, why) => format!("refused: {why}"),
        Status::Elsewhere(engines) => format!("refused: it belongs to ioengine={}", engines.join(", ")),
    }
}

/// Engines that fio has on Linux, whether or not fathom has them.
const ENGINES: [&str; 34] = [
    "cpuio",
    "mmap",
    "sync",
    "psync",
    "vsync",
    "pvsync",
    "pvsync2",
    "null",
    "net",
    "netsplice",
    "ftruncate",
    "filecreate",
    "filestat",
    "filedelete",
    "dircreate",
    "dirstat",
    "dirdelete",
    "exec",
    "posixaio",
    "falloc",
    "e4defrag",
    "splice",
    "gfapi",
    "mtd",
    "sg",
    "io_uring",
    "io_uring_cmd",
    "nbd",
    "libaio",
    "rdma",
    "rados",
    "rbd",
    "http",
    "nfs",
];

/// The engines there are, or one of them with its options.
pub(super) fn engines(which: &str) -> String {
    let (engine, option) = which.split_once(',').unwrap_or((which, ""));
    if engine.is_empty() {
        let built: String =
            ENGINES.into_iter().filter(|name| runs(name)).map(|name| format!("\t{name}\n")).collect();
        return format!("Available IO engines:\n{built}");
    }
    if !option.is_empty() {
        return options(option);
    }
    if runs(engine) {
        format!("{engine} works; --cmdhelp lists all options, those of engines among them\n")
    } else {
        format!("engine {engine} is not there; --enghelp lists those that are\n")
    }
}

/// Whether `--enghelp` has something to say to this.
pub(super) fn is_engine(which: &str) -> bool {
    let engine = which.split(',').next().unwrap_or_default();
    engine.is_empty() || runs(engine)
}

/// Whether a job with this engine is taken: asked of the front end, which alone knows.
fn runs(engine: &str) -> bool {
    let text = format!("[a]\nioengine={engine}\nsize=1m\n");
    !fio::read("", &text, &Surroundings::empty()).diagnostics.has_errors()
}
