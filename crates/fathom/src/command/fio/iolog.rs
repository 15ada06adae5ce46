//! The files of `write_iolog`: what a job issued, in the third version of fio's format, for `read_iolog` to replay. Knows
//! the format; when operations are told of is behind it.

use super::operations::OperationLog;
use super::shape::workers_of;
use crate::output::{self, Spared};
use fathom_frontend::fio::{Extras, JobClone};
use fathom_metrics::IssuedRow;
use fathom_report::FioWorkers;
use fathom_schema::{OperationKind, Record};
use std::fmt::Write;
use std::path::Path;

/// The first line.
const HEADER: &str = "fio version 3 iolog";

/// Text that is written at once: a few files' worth of buffers, however long the log.
const PIECE_BYTES: usize = 4 << 20;

/// Adds what was issued to the files that the jobs name; why what could not be. As fio, clones that name one file add to it
/// each with a first line of its own, here one after another.
pub(super) fn write(
    record: &Record,
    extras: &Extras,
    operations: &OperationLog,
    spared: &Spared,
) -> Vec<String> {
    let mut lost = Vec::new();
    for clone in &extras.clones {
        let Some(path) = &clone.logs.issued else { continue };
        let names = files_of(record, clone);
        if let Some(name) = names.iter().find(|name| name.contains(char::is_whitespace)) {
            lost.push(format!("{path}: the name \"{name}\" has blanks, which separate fields there"));
        }
        let written = in_pieces(&names, operations.issued(&clone.stream), &mut |text| {
            output::append(Path::new(path), text, spared)
        });
        lost.extend(written.err());
    }
    lost
}

/// Names of a clone's files, by extent, as fio says them.
fn files_of(record: &Record, clone: &JobClone) -> Vec<String> {
    let Some(FioWorkers { step, stream, worker: _ }) = workers_of(record, clone).into_iter().next() else {
        return Vec::new();
    };
    let step = &record.steps[step].started.step;
    let extents = step.streams[stream].workers.first().map_or(&[][..], |worker| &worker.extents);
    let name = |target: u32| step.targets[target as usize].name.as_str();
    extents.iter().map(|extent| name(extent.target).to_owned()).collect()
}

/// The lines of one clone, in pieces of [`PIECE_BYTES`].
fn in_pieces(
    names: &[String],
    rows: &[IssuedRow],
    write: &mut dyn FnMut(&str) -> Result<(), String>,
) -> Result<(), String> {
    let mut text = format!("{HEADER}\n");
    // Writing to a text cannot fail.
    let line = |text: &mut String, micros: u64, name: &str, rest: std::fmt::Arguments<'_>| {
        let _ = writeln!(text, "{micros} {name} {rest}");
    };
    for name in names {
        line(&mut text, 0, name, format_args!("add"));
    }
    let mut is_open = vec![false; names.len()];
    let mut last = 0;
    for row in rows {
        let IssuedRow { at, kind, data_only, is_ranged, extent, offset, length } = *row;
        let Some(name) = names.get(extent as usize) else { continue };
        last = at.0 / 1000;
        if !std::mem::replace(&mut is_open[extent as usize], true) {
            line(&mut text, last, name, format_args!("open"));
        }
        let action = match kind {
            OperationKind::Sync if is_ranged => "sync_file_range",
            OperationKind::Sync if data_only => "datasync",
            kind => kind.name(),
        };
        line(&mut text, last, name, format_args!("{action} {offset} {length}"));
        if text.len() >= PIECE_BYTES {
            write(&text)?;
            text.clear();
        }
    }
    for (name, _) in names.iter().zip(&is_open).filter(|(_, is_open)| **is_open) {
        line(&mut text, last, name, format_args!("close"));
    }
    write(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_units::Nanos;

    #[test]
    fn a_file_is_added_first_and_opened_when_it_is_touched() {
        let row = |us: u64, kind, extent, offset, length| IssuedRow {
            at: Nanos::micros(us),
            kind,
            data_only: us == 30,
            is_ranged: us == 40,
            extent,
            offset,
            length,
        };
        let rows = [
            row(10, OperationKind::Read, 1, 4096, 512),
            row(20, OperationKind::Trim, 0, 0, 8192),
            row(25, OperationKind::Sync, 0, 0, 0),
            row(30, OperationKind::Sync, 0, 0, 0),
            row(40, OperationKind::Sync, 1, 512, 512),
        ];
        let names = ["a", "b", "c"].map(str::to_owned);
        let mut found = String::new();
        let written = in_pieces(&names, &rows, &mut |text| {
            found += text;
            Ok(())
        });
        assert_eq!(written, Ok(()));
        let expect = "fio version 3 iolog\n0 a add\n0 b add\n0 c add\n10 b open\n10 b read 4096 512\n\
                      20 a open\n20 a trim 0 8192\n25 a sync 0 0\n30 a datasync 0 0\n\
                      40 b sync_file_range 512 512\n40 a close\n40 b close\n";
        assert_eq!(found, expect);
    }
}
