//! Changing the load of a running test from outside: a named pipe whose lines say what is to change. It does not know
//! what becomes of a change.

use crate::{diagnose, terminal};
use fathom_model::{Kind, Literal, OptionValue, Rate};
use fathom_run::{Changes, NewLoad, RateChange};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::mpsc::Receiver;

/// Listens at the pipe `path` for as long as the program runs.
/// What it says is not done, or is no change, is told on standard error at once; `refusals` are those of the run.
pub(crate) fn listen(path: &Path, changes: Changes, refusals: Receiver<String>) -> Result<(), String> {
    let found = std::fs::metadata(path);
    if !found.is_ok_and(|found| found.file_type().is_fifo()) {
        return Err(format!("{}; make one with mkfifo", no_pipe(path)));
    }
    std::thread::spawn(move || refusals.iter().for_each(|reason| warn(&reason)));
    let path = path.to_owned();
    std::thread::spawn(move || {
        let end = follow(&path, |line| match read(line) {
            Ok(change) => changes.ask(change),
            Err(reason) => {
                warn(&reason);
                changes.unreadable(reason);
            }
        });
        warn(&format!("{end}; the load is no longer changed through it"));
    });
    Ok(())
}

/// Gives the lines that come in at the pipe `path` until there is no pipe there any more; says what is.
fn follow(path: &Path, mut line: impl FnMut(&str)) -> String {
    loop {
        // Opening waits for whoever writes; when all have gone away it waits for the next. What has taken the place of the
        // pipe, such as a file, would be there to be read at once, again and again.
        let pipe = match File::open(path) {
            Ok(pipe) => pipe,
            Err(error) => return format!("--control {}: {error}", path.display()),
        };
        if !pipe.metadata().is_ok_and(|found| found.file_type().is_fifo()) {
            return no_pipe(path);
        }
        // What is no text is no change, and no reason to pass over the lines behind it.
        let lines = BufReader::new(pipe).split(b'\n').map_while(Result::ok);
        lines.for_each(|bytes| line(&String::from_utf8_lossy(&bytes)));
    }
}

fn no_pipe(path: &Path) -> String {
    format!("--control {} is no named pipe", path.display())
}

fn warn(reason: &str) {
    terminal::message(&format!("warning: {}", diagnose::printable(reason)));
}

/// Characters of a line that are shown where it is none.
const LINE_SHOWN: usize = 80;

/// `rate STREAM RATE`.
fn read(line: &str) -> Result<RateChange, String> {
    let words = line.trim().strip_prefix("rate ").and_then(|rest| rest.trim().rsplit_once(' '));
    let shown: String = line.chars().take(LINE_SHOWN).collect();
    let no = |reason: &str| {
        format!("the line \"{shown}\" {reason}; write for example \"rate users 5k/s\" or \"rate users max\"")
    };
    let (stream, rate) = words.ok_or_else(|| no("is not \"rate STREAM RATE\""))?;
    let read = Rate::read(&Literal::from(rate), Kind::Rate);
    let load = match read.map_err(|reason| no(&format!("has no rate: {reason}")))? {
        Rate::Operations(rate) => NewLoad::Rate(rate),
        Rate::Max => NewLoad::Maximum,
        Rate::Bandwidth(_) | Rate::OfMaximum(_) => {
            return Err(no(&format!("has no rate in operations per second: {rate}")));
        }
    };
    Ok(RateChange { stream: stream.trim().to_owned(), load })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_units::Iops;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::fs::OpenOptions;
    use std::io::Write;

    #[test]
    fn only_a_pipe_is_listened_to() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        // One who writes, so that opening it to read does not wait; it reads too, so that this one's opening does not.
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let mut writer = Some(OpenOptions::new().read(true).write(true).open(&path).unwrap());
        writer.as_mut().unwrap().write_all(b"rate users max\n").unwrap();
        let mut lines = Vec::new();
        let end = follow(&path, |line| {
            assert!(lines.is_empty(), "what took its place was read");
            lines.push(line.to_owned());
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, "rate users 1/s\n").unwrap();
            writer = None;
        });
        assert_eq!(lines, ["rate users max"]);
        assert!(end.contains("is no named pipe"), "{end}");
    }

    #[test]
    fn a_line_that_is_no_text_hides_none_behind_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let mut writer = Some(OpenOptions::new().read(true).write(true).open(&path).unwrap());
        writer.as_mut().unwrap().write_all(b"rate users \xe9\nrate users 77/s\n").unwrap();
        let mut lines = Vec::new();
        follow(&path, |line| {
            lines.push(line.to_owned());
            if lines.len() == 2 {
                std::fs::remove_file(&path).unwrap();
                writer = None;
            }
        });
        assert_eq!(lines, ["rate users \u{fffd}", "rate users 77/s"]);
        assert!(read(&lines[0]).is_err() && read(&lines[1]).is_ok());
    }

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
            "rate users abc",
            "rate users 50%",
            "rate users 5MB/s",
        ] {
            let reason = read(line).unwrap_err();
            assert!(reason.contains(&format!("the line \"{line}\"")), "{reason}");
            assert!(reason.contains("write for example \"rate users 5k/s\""), "{reason}");
        }
    }
}
