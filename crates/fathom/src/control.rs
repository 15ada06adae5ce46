//! Changing the load of a running test from outside: a named pipe whose lines say what is to change. It does not know
//! what becomes of a change.

use crate::{diagnose, terminal};
use fathom_model::{Kind, Literal, OptionValue, Rate};
use fathom_run::{Changes, NewLoad, RateChange};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Listens at the pipe `path` for as long as the program runs.
pub(crate) fn listen(path: &Path, changes: Changes) -> Result<(), String> {
    let is_pipe = std::fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo());
    if !is_pipe {
        return Err(format!("--control {} is no named pipe; make one with mkfifo", path.display()));
    }
    let path = path.to_owned();
    // Opening waits for whoever writes; when all have gone away it waits for the next.
    std::thread::spawn(move || {
        while let Ok(pipe) = File::open(&path) {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                match read(&line) {
                    Ok(change) => changes.ask(change),
                    Err(reason) => {
                        terminal::message(&format!("warning: {}", diagnose::printable(&reason)));
                    }
                }
            }
        }
    });
    Ok(())
}

/// `rate STREAM RATE`.
fn read(line: &str) -> Result<RateChange, String> {
    let words = line.trim().strip_prefix("rate ").and_then(|rest| rest.trim().rsplit_once(' '));
    let (stream, rate) = words.ok_or(format!("\"{line}\" is not \"rate STREAM RATE\""))?;
    let load = match Rate::read(&Literal::from(rate), Kind::Rate)? {
        Rate::Operations(rate) => NewLoad::Rate(rate),
        Rate::Max => NewLoad::Maximum,
        Rate::Bandwidth(_) | Rate::OfMaximum(_) => {
            return Err(format!("{rate} is no rate in operations per second, e.g. 5k/s, or \"max\""));
        }
    };
    Ok(RateChange { stream: stream.trim().to_owned(), load })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_units::Iops;

    #[test]
    fn lines_say_stream_and_rate() {
        let change = |stream: &str, load| Ok(RateChange { stream: stream.to_owned(), load });
        for (line, expect) in [
            ("rate users 5k/s", change("users", NewLoad::Rate(Iops(5000.0)))),
            (" rate  two words 20 ", change("two words", NewLoad::Rate(Iops(20.0)))),
            ("rate users max", change("users", NewLoad::Maximum)),
        ] {
            assert_eq!(read(line), expect);
        }
        for line in [
            "",
            "rate",
            "rate users",
            "speed users 5",
            "rate users 0/s",
            "rate users 50%",
            "rate users 5MB/s",
        ] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
