//! What `fathom fio` says about itself: its switches, its options, its engines. What is said of options is the front end's.

use super::VERSION;
use fathom_frontend::fio::{self, manual};

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

  --idle-prof=system|percpu         how idle the CPUs were; calibrate: only what a unit of work takes
  --trigger-timeout=TIME, --trigger-file=FILE
                                    ends the jobs then, or when the file is there
  --trigger=COMMAND                 what a shell runs then; only with --allow-exec
  --aux-path=FOLDER                 where states of verification are kept; the current folder without
  --max-jobs=N, --alloc-size=KB, --debug=LIST
                                    are read and not needed: there is no such limit, and nothing to trace

  --cmdhelp[=OPTION]                what an option takes; without one, all options
  --enghelp[=ENGINE[,OPTION]]       the engines
  --crctest[=LIST]                  how fast the checksums of verification are
  --inflate-log=FILE                the rows of a log of log_store_compressed
  --version, --help

  --destroy=DEV, --yes              consent to overwrite a device's content (fathom's own rule)
  --overwrite                       without a value: consent to trim files that fathom did not make
  --allow-exec                      consent to run the commands that jobs name (fathom's own rule)
  --allow-net                       consent to peers on other hosts with ioengine=net (fathom's own rule)

`fathom check JOB` shows every fault of a job file; docs/fio-compatibility.md says what differs from fio.
";

/// The switches, behind whose they are: as with fio the first line says the version.
pub(super) fn usage() -> String {
    format!("{VERSION}\n{USAGE}")
}

/// What is said: data, a message where something is not there, and fio's exit code.
#[derive(Debug, Default)]
pub(super) struct Help {
    pub(super) text: String,
    pub(super) message: String,
    pub(super) fails: bool,
}

impl Help {
    fn of(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

/// `--cmdhelp`: one option, or all of them. As with fio, one that is not there is no failure.
pub(super) fn options(which: &str) -> Help {
    if which == "all" {
        return Help::of(manual::all_options());
    }
    match manual::option(which) {
        Ok(text) => Help::of(text),
        Err(near) => Help {
            text: near.map_or_else(|| "\n".to_owned(), |near| format!(" - showing closest match\n{near}")),
            message: format!("No such command: {which}"),
            fails: false,
        },
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

/// `--enghelp`: the engines there are, the options of one of them, or one of its options.
pub(super) fn engines(which: &str) -> Help {
    let (engine, option) =
        which.split_once(',').map_or((which, None), |(engine, option)| (engine, Some(option)));
    if which.is_empty() {
        let is_here = |engine: &&str| manual::engine_options(engine).is_some();
        let built: String = ENGINES.into_iter().filter(is_here).map(|name| format!("\t{name}\n")).collect();
        return Help::of(format!("Available IO engines:\n{built}"));
    }
    let Some(options) = manual::engine_options(engine) else {
        let message = format!("fio: engine {engine} not loadable; --enghelp lists those that are here");
        return Help { text: format!("IO engine {engine} not found\n"), message, fails: true };
    };
    if options.is_empty() {
        return Help { text: format!("IO engine {engine} has no options\n"), fails: true, ..Help::default() };
    }
    let Some(option) = option else { return Help::of(options) };
    manual::engine_option(engine, option).map_or_else(
        || Help { text: "\n".to_owned(), message: format!("No such command: {option}"), fails: true },
        Help::of,
    )
}

/// `--debug=help`.
pub(super) fn areas() -> Help {
    Help::of(format!("fio: dumping debug options:{}\n", fio::DEBUG_AREAS.join(",")))
}
