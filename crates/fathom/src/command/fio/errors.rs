//! What went wrong in fio's jobs while they ran, in lines of the shape that fio's have: scripts look for `verify:` at the
//! beginning of a line, for `err=` and `func=`. Owns the words; does not know what a report shows of them.

use super::shape::workers_of;
use crate::{diagnose, terminal};
use fathom_frontend::fio::{Extras, JobClone};
use fathom_report::FioWorkers;
use fathom_schema::{NoteKind, Record};

/// Says what verification found, which demands were not kept, and which jobs ended with an error.
pub(super) fn tell(record: &Record, extras: &Extras) {
    for note in &record.notes {
        let line = match note.kind {
            NoteKind::Mismatch => of_mismatch(&note.message),
            NoteKind::Demand => {
                // Without the stream before it, as fio has it.
                let bare = note.message.split_once(": ").map_or("", |(_, rest)| rest);
                format!("fio: {}", if bare.starts_with("latency of") { bare } else { &note.message })
            }
            _ => continue,
        };
        terminal::message(&diagnose::printable(&line));
    }
    for clone in extras.clones.iter().filter(|clone| !clone.continues_on_error) {
        let errno = of(record, clone);
        if errno != 0 {
            let (pid, words) = (std::process::id(), fathom_report::fio_error(errno));
            let name = diagnose::printable(&clone.job_name);
            terminal::message(&format!("fio: pid={pid}, err={errno}/job:{name}, func=run, error={words}"));
        }
    }
}

/// The error that a job ended with; 0 where it has none.
pub(super) fn of(record: &Record, clone: &JobClone) -> i32 {
    let error = |FioWorkers { step, stream, worker }: FioWorkers| {
        let totals = &record.steps[step].finished.as_ref()?.streams.get(stream)?.workers;
        let is_wanted = |at: usize| worker.is_none_or(|wanted| wanted == at);
        let mut errors = totals.iter().enumerate().filter(|(at, _)| is_wanted(*at)).map(|(_, of)| of.error);
        errors.find(|&error| error != 0)
    };
    workers_of(record, clone).into_iter().find_map(error).unwrap_or(0)
}

/// A mismatch as fio tells it, from the record's words (`engine::mismatch`): what is wrong first, then where. What fio has
/// no words for stays in fathom's.
fn of_mismatch(message: &str) -> String {
    let parts = message.strip_prefix("verification of ").and_then(|rest| rest.split_once(": the block "));
    let Some((place, what)) = parts else { return format!("verify: {message}") };
    let Some((file, place)) = place.rsplit_once(" at offset ") else { return format!("verify: {message}") };
    let (offset, length) = place.split_once(", length ").unwrap_or((place, ""));
    let length = length.split(' ').next().unwrap_or_default();
    let values = what.split_once(" expected ").and_then(|(_, values)| values.split_once(", found "));
    let (expected, found) = values.unwrap_or(("", ""));
    let [expected, found] = [expected, found].map(|value| value.strip_prefix("0x").unwrap_or(value));
    let header = |field: &str| format!("bad header {field} {found}, wanted {expected}");
    let what = match what {
        what if what.starts_with("holds only zeroes") => "bad magic header 0, wanted acca".to_owned(),
        what if what.starts_with("has no header") => format!("bad magic header {found}, wanted {expected}"),
        what if what.starts_with("has a damaged header") => {
            format!("bad header crc {found}, calculated {expected}")
        }
        what if what.starts_with("has a header of another length") => header("length"),
        what if what.starts_with("holds the block of another place") => header("offset"),
        what if what.starts_with("holds an earlier write") => header("numberio or rand_seed"),
        what if what.starts_with("has damaged data") => {
            format!("verify failed, digest {found}, wanted {expected},")
        }
        what => what.to_owned(),
    };
    format!(
        "verify: {what} at file {file} offset {offset}, length {length} (requested block: offset={offset}, length={length})"
    )
}

#[cfg(test)]
mod tests {
    use super::of_mismatch;

    #[test]
    fn mismatches_have_the_shape_of_the_peers() {
        let at = "verification of g at offset 4096, length 4096";
        let place = "at file g offset 4096, length 4096 (requested block: offset=4096, length=4096)";
        for (what, expect) in [
            ("holds only zeroes", "bad magic header 0, wanted acca"),
            ("has no header; magic expected 0xacca, found 0xac58", "bad magic header ac58, wanted acca"),
            (
                "holds the block of another place; offset expected 4096, found 0",
                "bad header offset 0, wanted 4096",
            ),
            (
                "has damaged data; digest expected 0badcafe, found 12345678",
                "verify failed, digest 12345678, wanted 0badcafe,",
            ),
            (
                "was trimmed and is not zeroes; byte expected 0x0, found 0x1",
                "was trimmed and is not zeroes; byte expected 0x0, found 0x1",
            ),
        ] {
            assert_eq!(of_mismatch(&format!("{at}: the block {what}")), format!("verify: {expect} {place}"));
        }
        assert_eq!(of_mismatch("3 more blocks did not hold"), "verify: 3 more blocks did not hold");
    }
}
