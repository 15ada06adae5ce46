//! What went wrong in fio's jobs while they ran, in lines of the shape that fio's have: scripts look for `verify:` at the
//! beginning of a line, for `err=` and `func=`. Owns the words; does not know what a report shows of them.

use super::shape::workers_of;
use crate::{diagnose, terminal};
use fathom_frontend::fio::{Extras, JobClone};
use fathom_report::FioWorkers;
use fathom_schema::{
    NoteKind, OperationKind, Outcome, Protection, Record, StepRecord, Stop, Stream, Tolerance, WorkerTotals,
};
use rustix::io::Errno;

/// Says what verification found, which demands were not kept, and which jobs ended with an error.
pub(super) fn tell(record: &Record, extras: &Extras) {
    let protection = protection_of(record);
    let mut told_of = told_of(record);
    // fio says nothing of errors that its jobs are to go on after. Each worker's first has a note, in their order.
    let mut is_ignored = |message: &str| {
        let number = number_in(message);
        let met = number.and_then(|number| told_of.find(|(_, totals)| totals.error == number));
        met.is_some_and(|(stream, totals)| is_spared(stream, totals))
    };
    for note in &record.notes {
        let line = match note.kind {
            NoteKind::Mismatch => of_mismatch(&note.message, protection),
            NoteKind::IoError if is_ignored(&note.message) => continue,
            NoteKind::IoError => of_io_error(&note.message),
            NoteKind::Demand => {
                // Without the stream before it, as fio has it.
                let bare = note.message.split_once(": ").map_or("", |(_, rest)| rest);
                format!("fio: {}", if bare.starts_with("latency of") { bare } else { &note.message })
            }
            _ => continue,
        };
        for line in line.lines() {
            terminal::message(&diagnose::printable(line));
        }
    }
    for clone in &extras.clones {
        let errno = of(record, clone);
        if errno != 0 {
            let (pid, words) = (std::process::id(), fathom_report::fio_error(errno));
            let name = diagnose::printable(&clone.job_name);
            terminal::message(&format!("fio: pid={pid}, err={errno}/job:{name}, func=run, error={words}"));
        }
    }
}

/// The streams of a step that failed by what is no operation of theirs (a file that is gone before a further pass), and the error of the
/// system that it failed with. Those are told that go to what the reason names; all where it names none.
pub(super) fn of_failure(record: &Record) -> Option<(Vec<String>, i32)> {
    let Some(Outcome::Failed { reason }) = record.outcome() else { return None };
    let failed =
        |step: &&StepRecord| step.finished.as_ref().is_some_and(|finished| finished.stop == Stop::Failed);
    let step = &record.steps.iter().rev().find(failed)?.started.step;
    let errno = number_in(reason)?;
    let is_named = |stream: &&Stream| {
        let extents = stream.workers.iter().flat_map(|worker| &worker.extents);
        let mut targets = extents.filter_map(|extent| step.targets.get(extent.target as usize));
        targets.any(|target| names(reason, &target.name))
    };
    let named: Vec<String> = step.streams.iter().filter(is_named).map(|stream| stream.name.clone()).collect();
    let all = || step.streams.iter().map(|stream| stream.name.clone()).collect();
    Some((if named.is_empty() { all() } else { named }, errno))
}

/// Whether a sentence names a file: as a word of its own, and not as a part of a longer name.
fn names(sentence: &str, file: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
    sentence.match_indices(file).any(|(at, _)| {
        let (before, after) = (&sentence[..at], &sentence[at + file.len()..]);
        !before.ends_with(is_part) && !after.starts_with(is_part)
    })
}

/// The error that a job failed with, which counts in the exit code; 0 where it has none or goes on after such.
pub(super) fn of(record: &Record, clone: &JobClone) -> i32 {
    let error = |FioWorkers { step, stream, worker }: FioWorkers| {
        let step = &record.steps[step];
        let workers = &step.finished.as_ref()?.streams.get(stream)?.workers;
        let planned = &step.started.step.streams[stream];
        let is_wanted = |at: usize| worker.is_none_or(|wanted| wanted == at);
        let mut wanted = workers.iter().enumerate().filter(|(at, _)| is_wanted(*at)).map(|(_, of)| of);
        wanted.find(|totals| totals.error != 0 && !is_spared(planned, totals)).map(|totals| totals.error)
    };
    workers_of(record, clone).into_iter().find_map(error).unwrap_or(0)
}

/// The name of the sum that guards blocks; `verify` where streams have different ones.
fn protection_of(record: &Record) -> &'static str {
    let streams = record.steps.iter().flat_map(|step| &step.started.step.streams);
    let mut names =
        streams.filter_map(|stream| stream.workload.verification.rule()).map(|rule| match rule.protection {
            Protection::Md5 => "md5",
            Protection::Crc64 => "crc64",
            Protection::Crc32 => "crc32",
            Protection::Crc32c => "crc32c",
            Protection::Crc16 => "crc16",
            Protection::Crc7 => "crc7",
            Protection::Sha256 => "sha256",
            Protection::Sha512 => "sha512",
            Protection::Sha3_224 => "sha3-224",
            Protection::Sha3_256 => "sha3-256",
            Protection::Sha3_384 => "sha3-384",
            Protection::Sha3_512 => "sha3-512",
            Protection::Xxhash => "xxhash",
            Protection::Sha1 => "sha1",
            Protection::Header | Protection::PatternHeader | Protection::Pattern | Protection::Null => {
                "verify"
            }
        });
    let first = names.next().unwrap_or("verify");
    if names.all(|name| name == first) { first } else { "verify" }
}

/// The error number that an I/O error has in the record's words.
fn number_in(message: &str) -> Option<i32> {
    // A read behind the end of its file has words of its own, and counts as EIO.
    if message.contains(": nothing was moved, ") {
        return Some(Errno::IO.raw_os_error());
    }
    message.rsplit_once("(os error ").and_then(|(_, rest)| rest.split(')').next()?.parse().ok())
}

/// Workers that met errors which are told one by one, in the order in which they are.
fn told_of(record: &Record) -> impl Iterator<Item = (&Stream, &WorkerTotals)> {
    let of_streams = record.steps.iter().flat_map(|step| {
        let finished = step.finished.iter().flat_map(|finished| &finished.streams);
        step.started.step.streams.iter().zip(finished)
    });
    let workers = of_streams.flat_map(|(stream, totals)| totals.workers.iter().map(move |of| (stream, of)));
    workers.filter(|(_, totals)| totals.error != 0 && totals.error != Errno::ILSEQ.raw_os_error())
}

/// Whether all errors of a worker are such as its job goes on after.
fn is_spared(stream: &Stream, totals: &WorkerTotals) -> bool {
    let Tolerance::Listed { reads, writes } = &stream.control.tolerates else {
        return is_spared_mismatch(stream, totals) && errors_of(totals).next().is_none();
    };
    let is_listed = |(kind, errno): (OperationKind, i32)| {
        (if kind == OperationKind::Read { reads } else { writes }).contains(&errno)
    };
    let is_known = errors_of(totals).any(|(_, errno)| errno == totals.error);
    (is_known || is_spared_mismatch(stream, totals)) && errors_of(totals).all(is_listed)
}

/// Whether it is one of verification, after which its job goes on.
fn is_spared_mismatch(stream: &Stream, totals: &WorkerTotals) -> bool {
    totals.error == Errno::ILSEQ.raw_os_error()
        && stream.workload.verification.rule().is_some_and(|rule| !rule.stops)
}

/// The kinds of operations that failed, with their errors.
fn errors_of(totals: &WorkerTotals) -> impl Iterator<Item = (OperationKind, i32)> {
    let read_back = totals.verified.iter().flat_map(|verified| &verified.tally.kinds);
    let kinds = totals.tally.kinds.iter().chain(read_back);
    kinds.flat_map(|kind| kind.errors.iter().map(|&(errno, _)| (kind.kind, errno)))
}

/// An I/O error as fio tells it, from the record's words (`engine::told`).
fn of_io_error(message: &str) -> String {
    let parts = || {
        let (kind, rest) = message.split_once(" of ")?;
        let (length, rest) = rest.split_once(" B at offset ")?;
        let (offset, rest) = rest.split_once(" of ")?;
        let (file, reason) = rest.rsplit_once(": ")?;
        let reason = reason.split(" (os error").next().unwrap_or(reason);
        Some(format!("fio: io_u error on file {file}: {reason}: {kind} offset={offset}, buflen={length}"))
    };
    parts().unwrap_or_else(|| format!("fio: io_u error: {message}"))
}

/// A mismatch as fio tells it, from the record's words (`engine::mismatch`): what is wrong first, then where. What fio has
/// no words for stays in fathom's. `protection` names the sum.
fn of_mismatch(message: &str, protection: &str) -> String {
    let (message, dumps) = message.rsplit_once("; dumped as \"").unwrap_or((message, ""));
    let mut told = of_wrong(message, protection);
    let names = dumps.strip_suffix('"').unwrap_or(dumps).split("\" and \"");
    for name in names.filter(|name| !name.is_empty()) {
        let has = |what: &&str| name.rsplit('.').take(2).any(|part| part == *what);
        let what = ["received", "expected", "hdr_fail"].into_iter().find(has).unwrap_or("received");
        told.push_str(&format!("\n       {what} data dumped as {name}"));
    }
    told
}

/// The same, of what is wrong and where alone.
fn of_wrong(message: &str, protection: &str) -> String {
    let parts = message.strip_prefix("verification of ").and_then(|rest| rest.split_once(": the block "));
    let Some((place, what)) = parts else { return format!("verify: {message}") };
    let Some((file, place)) = place.rsplit_once(" at offset ") else { return format!("verify: {message}") };
    let (offset, rest) = place.split_once(", length ").unwrap_or((place, ""));
    let length = rest.split(' ').next().unwrap_or_default();
    // A part of what one operation read has that behind it.
    let read =
        rest.split_once(" (read of ").and_then(|(_, read)| read.strip_suffix(')')?.split_once(" B at "));
    let (read_length, read_offset) = read.unwrap_or((length, offset));
    let place = |flags: &str| {
        format!(
            "at file {file} offset {offset}, length {length} (requested block: offset={read_offset}, \
             length={read_length}{flags})"
        )
    };
    // fio tells the flags of an operation whose data is wrong, and not of one whose header is.
    let of_data = place(", flags=8");
    let values = what.split_once(" expected ").and_then(|(_, values)| values.split_once(", found "));
    let (expected, found) = values.unwrap_or(("", ""));
    let [expected, found] = [expected, found].map(|value| value.strip_prefix("0x").unwrap_or(value));
    let header = |field: &str| format!("bad header {field} {found}, wanted {expected}");
    let what = match what {
        // A pattern alone has no header.
        what if what.starts_with("holds only zeroes") && protection == "pattern" => {
            return format!("{protection}: verify failed {of_data}");
        }
        what if what.starts_with("holds only zeroes") => "bad magic header 0, wanted acca".to_owned(),
        what if what.starts_with("has no header") => format!("bad magic header {found}, wanted {expected}"),
        what if what.starts_with("has a damaged header; length") => header("length"),
        what if what.starts_with("has a damaged header; offset") => header("offset"),
        what if what.starts_with("has a damaged header") => {
            format!("bad header crc {found}, calculated {expected}")
        }
        what if what.starts_with("has a header of another length") => header("length"),
        what if what.starts_with("holds the block of another place") => header("offset"),
        what if what.starts_with("holds an earlier write") => header("numberio or rand_seed"),
        what if what.starts_with("has damaged data") => {
            let sums = format!("       Expected CRC: {expected}\n       Received CRC: {found}");
            return format!("{protection}: verify failed {of_data}\n{sums}");
        }
        what if what.starts_with("does not hold the pattern") => {
            let byte = |hex| u8::from_str_radix(hex, 16).unwrap_or_default();
            let (expected, found) = (byte(expected), byte(found));
            let bits = (expected ^ found).count_ones();
            let first = format!("fio: got pattern '{found:02x}', wanted '{expected:02x}'. Bad bits {bits}");
            let at = what.split_once("; byte ").and_then(|(_, rest)| rest.split(' ').next()).unwrap_or("0");
            return format!("{first}\nfio: bad pattern block offset {at}\npattern: verify failed {of_data}");
        }
        what if what.starts_with("is protected by something else") => {
            let mismatch = format!("fio: verify type mismatch ({found} media, {expected} given)");
            return format!("{protection}: verify failed {of_data}\n{mismatch}");
        }
        what => what.to_owned(),
    };
    format!("verify: {what} {}", place(""))
}

#[cfg(test)]
mod tests {
    use super::{of_io_error, of_mismatch};

    #[test]
    fn mismatches_have_the_shape_of_the_peers() {
        let at = "verification of g at offset 4096, length 4096";
        let of_header = "at file g offset 4096, length 4096 (requested block: offset=4096, length=4096)";
        let of_data =
            "at file g offset 4096, length 4096 (requested block: offset=4096, length=4096, flags=8)";
        for (what, before, after) in [
            ("holds only zeroes", "verify: bad magic header 0, wanted acca ", ""),
            (
                "has no header; magic expected 0xacca, found 0xac58",
                "verify: bad magic header ac58, wanted acca ",
                "",
            ),
            (
                "holds the block of another place; offset expected 4096, found 0",
                "verify: bad header offset 0, wanted 4096 ",
                "",
            ),
            (
                "has a damaged header; length expected 4096, found 1",
                "verify: bad header length 1, wanted 4096 ",
                "",
            ),
            (
                "has a damaged header; offset expected 4096, found 1",
                "verify: bad header offset 1, wanted 4096 ",
                "",
            ),
            (
                "has a damaged header; checksum expected 0x1, found 0x2",
                "verify: bad header crc 2, calculated 1 ",
                "",
            ),
            (
                "has damaged data; digest expected 0badcafe, found 12345678",
                "crc32c: verify failed ",
                "\n       Expected CRC: 0badcafe\n       Received CRC: 12345678",
            ),
            (
                "is protected by something else; kind expected 2, found 5",
                "crc32c: verify failed ",
                "\nfio: verify type mismatch (5 media, 2 given)",
            ),
            (
                "does not hold the pattern; byte 2000 expected 0xde, found 0x58",
                "fio: got pattern '58', wanted 'de'. Bad bits 3\nfio: bad pattern block offset 2000\npattern: verify failed ",
                "",
            ),
            (
                "was trimmed and is not zeroes; byte expected 0x0, found 0x1",
                "verify: was trimmed and is not zeroes; byte expected 0x0, found 0x1 ",
                "",
            ),
            (
                "has damaged data; digest expected 01, found 02; dumped as \"a and b.4096.received.1\" and \"g.4096.expected\"",
                "crc32c: verify failed ",
                "\n       Expected CRC: 01\n       Received CRC: 02\n       received data dumped as a and b.4096.received.1\n       \
                 expected data dumped as g.4096.expected",
            ),
        ] {
            let told = of_mismatch(&format!("{at}: the block {what}"), "crc32c");
            let place = if before.contains("verify failed") { of_data } else { of_header };
            assert_eq!(told, format!("{before}{place}{after}"));
        }
        let part = "verification of g at offset 4608, length 512 (read of 4096 B at 4096): the block holds only zeroes";
        assert_eq!(
            of_mismatch(part, "md5"),
            "verify: bad magic header 0, wanted acca at file g offset 4608, length 512 (requested block: offset=4096, \
             length=4096)"
        );
        // A pattern alone has no header that could be missing.
        assert_eq!(
            of_mismatch(part, "pattern"),
            "pattern: verify failed at file g offset 4608, length 512 (requested block: offset=4096, length=4096, flags=8)"
        );
        let rest = "3 more blocks did not hold";
        assert_eq!(of_mismatch(rest, "md5"), "verify: 3 more blocks did not hold");
    }

    #[test]
    fn io_errors_have_the_shape_of_the_peers() {
        assert_eq!(
            of_io_error("write of 4096 B at offset 8192 of a: b: No space left on device (os error 28)"),
            "fio: io_u error on file a: b: No space left on device: write offset=8192, buflen=4096"
        );
        assert_eq!(of_io_error("2 more"), "fio: io_u error: 2 more");
    }
}
