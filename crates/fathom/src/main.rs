//! The command line: reads it, calls the command, returns the exit code. Nothing else ends the process.
#![forbid(unsafe_code)]

mod answer;
mod ceiling;
mod cli;
mod command;
mod control;
mod diagnose;
mod exit;
mod held;
mod keep;
mod live;
mod load;
mod numbers;
mod operations;
mod output;
mod place;
mod preset;
mod session;
mod standard_input;
mod terminal;

use clap::Parser;
use clap::error::ErrorKind;
use cli::{Cli, Command};
use exit::Exit;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    let name = words.next().unwrap_or_default();
    let name = Path::new(&name).file_name().unwrap_or_default().to_ascii_lowercase();
    // Without it, a limit of file sizes ends fathom where it is met, as it would any program.
    let _ = fathom_run::outlive_file_limits();
    // A link called fio is fio to whoever calls it.
    if name == "fio" {
        return plain(words)
            .map_or(ExitCode::from(command::fio::FAILED), |words| command::fio::run(&words).into());
    }
    if name == "iometer" {
        return plain(words).map_or(Exit::Usage, |words| command::iometer::run(&words)).into();
    }
    let read = match Cli::try_parse() {
        Ok(read) => read,
        Err(error) => {
            if error.kind() == ErrorKind::InvalidUtf8 && plain(words).is_none() {
                return Exit::Usage.into();
            }
            error.exit()
        }
    };
    match read.command {
        Command::Run(args) => command::run::run(&args),
        Command::Plan(args) => command::plan::run(&args),
        Command::Check(args) => command::check::run(&args),
        Command::Convert(args) => command::convert::run(&args),
        Command::Runs(args) => command::runs::run(&args),
        Command::Report(args) => command::report::run(&args),
        Command::Mark(args) => command::mark::run(&args),
        Command::Compare(args) => command::compare::run(&args),
        Command::History(args) => command::history::run(&args),
        Command::Curve(args) => command::curve::run(&args),
        Command::Scan(args) => command::scan::run(&args),
        Command::Slo(args) => command::slo::run(&args),
        Command::Steady(args) => command::steady::run(&args),
        Command::Fit(args) => command::fit::run(&args),
        Command::Judge(args) => command::judge::run(&args),
        Command::Percentiles(args) => command::percentiles::run(&args),
        Command::Doctor(args) => command::doctor::run(&args),
        Command::Options => command::options::run(),
        Command::Serve(args) => command::serve::run(&args),
        Command::Iometer { arguments } => command::iometer::run(&arguments),
        Command::Fio { arguments } => return ExitCode::from(command::fio::run(&arguments)),
    }
    .into()
}

/// The words of a personality. Job texts are UTF-8, and a word that is not would name another file than was meant.
fn plain(words: impl Iterator<Item = OsString>) -> Option<Vec<String>> {
    let tell = |word: OsString| {
        let word = diagnose::printable(&word.to_string_lossy());
        terminal::message(&format!(
            "error: the argument \"{word}\" is not UTF-8; give the file another name or a link"
        ));
    };
    words.map(OsString::into_string).collect::<Result<_, _>>().map_err(tell).ok()
}

/// Prints data; the exit code says whether that worked.
fn printed(text: &str) -> Exit {
    ended(terminal::data(text))
}

/// As [`printed`], of a text for people, which is made to fit a terminal.
fn shown(text: &str) -> Exit {
    ended(terminal::page(text))
}

fn ended(printed: std::io::Result<()>) -> Exit {
    match printed {
        Ok(()) => Exit::Ok,
        Err(error) => {
            terminal::message(&format!("error: cannot write to standard output: {error}"));
            Exit::Target
        }
    }
}
