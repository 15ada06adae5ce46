//! fio's logs of operations, versions 2 and 3: `NAME ACTION [OFFSET LENGTH]`, in version 3 with microseconds before it.
//! A line that says nothing that can be replayed is a fault; those before and after it count.

use super::{Action, Called, Gatherer, TraceError};
use std::io::{BufRead, Read};

/// Longest line that is read; fio reads 4,096 bytes, and takes names of 256.
const LINE_MAX: u64 = 16 << 10;

/// First words of a log.
const VERSIONS: [(&str, Version); 2] =
    [("fio version 2 iolog", Version::Two), ("fio version 3 iolog", Version::Three)];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    Two,
    Three,
}

fn version(line: &str) -> Option<Version> {
    VERSIONS.iter().find(|(words, _)| line.starts_with(words)).map(|&(_, version)| version)
}

pub(super) fn read(input: &mut dyn BufRead, gatherer: &mut Gatherer<'_>) -> Result<(), TraceError> {
    let mut lines = Lines { input, bytes: Vec::new(), number: 0 };
    let first = lines.next(gatherer)?.map_or("", |(_, line)| line);
    let Some(mut spoken) = version(first) else {
        let shown: String = first.chars().take(40).filter(|c| !c.is_control()).collect();
        return Err(TraceError::Format(format!(
            "its first line is \"{shown}\", neither \"fio version 2 iolog\" nor \"fio version 3 iolog\", and it is no binary \
             trace of blktrace; logs of fio before 1.20 have to be converted"
        )));
    };
    while let Some((number, line)) = lines.next(gatherer)? {
        // A file that several jobs added to has several first lines.
        if let Some(version) = version(line) {
            spoken = version;
            continue;
        }
        if let Err(what) = read_line(line, spoken, number, gatherer)? {
            gatherer.fault(&format!("line {number}"), &what);
        }
    }
    Ok(())
}

/// Reads one line; the inner error says what is wrong with it.
fn read_line(
    line: &str,
    version: Version,
    number: u64,
    gatherer: &mut Gatherer<'_>,
) -> Result<Result<(), String>, TraceError> {
    let mut fields = line.split_ascii_whitespace();
    if version == Version::Three {
        let Some(stamp) = fields.next() else { return Ok(Ok(())) };
        match stamp.parse::<u64>() {
            Ok(micros) => {
                if let Err(what) = gatherer.stamp(micros.saturating_mul(1000)) {
                    return Ok(Err(what));
                }
            }
            Err(_) => return Ok(Err(format!("\"{}\" is no time in microseconds", short(stamp)))),
        }
    }
    let Some(name) = fields.next() else {
        return Ok(if version == Version::Two { Ok(()) } else { Err("it has no name".to_owned()) });
    };
    let Some(word) = fields.next() else { return Ok(Err("it has no action".to_owned())) };
    let action = match word {
        // Files are opened once, before the start.
        "add" | "open" | "close" => return Ok(Ok(())),
        "read" => Action::Read,
        "write" => Action::Write,
        "trim" => Action::Trim,
        "sync" => Action::Sync,
        "datasync" => Action::DataSync,
        "wait" if version == Version::Two => {
            // fio's manual says microseconds since the wait before; fio itself (3.33) waits until so many milliseconds
            // after its start. As it does, a line counts only with a length, of which nothing is made.
            let [millis, length] = [fields.next(), fields.next()];
            let length = length.and_then(|word| word.parse::<u32>().ok());
            return Ok(match (millis.and_then(|word| word.parse::<u64>().ok()), length) {
                (Some(millis), Some(_)) => gatherer.wait_until(millis.saturating_mul(1_000_000)),
                (Some(_), None) => {
                    Err("wait without a length, with which fio passes it over: add a 0".to_owned())
                }
                (None, _) => Err("wait without a time".to_owned()),
            });
        }
        "wait" => return Ok(Err("version 3 has no wait: its times say when".to_owned())),
        other => return Ok(Err(format!("there is no action \"{}\"", short(other)))),
    };
    let (Some(offset), Some(length)) = (fields.next(), fields.next()) else {
        return Ok(Err(format!("{word} without offset and length")));
    };
    let Ok(offset) = offset.parse::<u64>() else {
        return Ok(Err(format!("\"{}\" is no offset in bytes", short(offset))));
    };
    let Ok(length) = length.parse::<u32>() else {
        return Ok(Err(format!("\"{}\" is no length in bytes below 4 GiB", short(length))));
    };
    gatherer.take(Called::Path(name), action, offset, length, &|| format!("line {number}")).map(Ok)
}

fn short(word: &str) -> String {
    word.chars().take(40).filter(|c| !c.is_control()).collect()
}

struct Lines<'a> {
    input: &'a mut dyn BufRead,
    bytes: Vec<u8>,
    /// Of the line read last, from 1.
    number: u64,
}

impl Lines<'_> {
    /// The next line and its number, without its end; of one that is too long or no text nothing is left but a fault.
    fn next(&mut self, gatherer: &mut Gatherer<'_>) -> Result<Option<(u64, &str)>, TraceError> {
        loop {
            self.bytes.clear();
            let input: &mut dyn BufRead = &mut *self.input;
            if input.take(LINE_MAX).read_until(b'\n', &mut self.bytes)? == 0 {
                return Ok(None);
            }
            self.number += 1;
            let is_whole = self.bytes.last() == Some(&b'\n');
            if !is_whole && self.bytes.len() as u64 == LINE_MAX {
                gatherer.fault(&format!("line {}", self.number), &format!("longer than {LINE_MAX} bytes"));
                self.skip_rest()?;
                continue;
            }
            if std::str::from_utf8(&self.bytes).is_ok() {
                break;
            }
            gatherer.fault(&format!("line {}", self.number), "bytes that are not UTF-8");
        }
        // Seen a moment ago; what is borrowed inside of the loop could not be given back from it.
        Ok(std::str::from_utf8(self.bytes.trim_ascii()).ok().map(|line| (self.number, line)))
    }

    fn skip_rest(&mut self) -> Result<(), TraceError> {
        loop {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() {
                return Ok(());
            }
            match buffer.iter().position(|&byte| byte == b'\n') {
                Some(at) => {
                    self.input.consume(at + 1);
                    return Ok(());
                }
                None => {
                    let all = buffer.len();
                    self.input.consume(all);
                }
            }
        }
    }
}
