//! Single operations as rows of CSV. Owns the columns; which operations there are is the caller's.

use crate::rows::{cell, plain};
use fathom_metrics::OperationRow;
use fathom_schema::Step;
use fathom_units::Nanos;
use std::io::{self, Write};

/// Columns of [`OperationsCsv`].
const HEADER: [&str; 10] = [
    "step",
    "stream",
    "kind",
    "target",
    "offset",
    "bytes",
    "intended_s",
    "submitted_s",
    "accepted_s",
    "completed_s",
];

/// CSV with a row for each operation: names of step, stream, kind and target (control characters and formulas made harmless as in
/// [`crate::Csv`]), first byte in the target and bytes moved, and in seconds since the step's start, to the nanosecond, when it was
/// to begin, was handed to the engine, had been taken by the kernel and had completed.
#[derive(Debug)]
pub struct OperationsCsv<W: Write> {
    writer: csv::Writer<W>,
    /// Names of the step and of its targets, as cells.
    step: String,
    targets: Vec<String>,
}

impl<W: Write> OperationsCsv<W> {
    /// Writes the header.
    pub fn new(out: W) -> io::Result<Self> {
        let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
        writer.write_record(HEADER).map_err(plain)?;
        Ok(Self { writer, step: String::new(), targets: Vec::new() })
    }

    /// What follows is of this step.
    pub fn begin(&mut self, step: &Step) {
        self.step = cell(&step.name);
        self.targets = step.targets.iter().map(|target| cell(&target.name)).collect();
    }

    /// Writes operations of a stream, but for those that read back.
    pub fn operations(&mut self, stream: &str, rows: &[OperationRow]) -> io::Result<()> {
        let stream = cell(stream);
        for row in rows.iter().filter(|row| !row.reads_back) {
            let OperationRow {
                kind,
                reads_back: _,
                priority: _,
                bytes,
                target,
                offset,
                intended,
                submitted,
                accepted,
                completed,
            } = *row;
            let [intended, submitted, accepted, completed] =
                [intended, submitted, accepted, completed].map(seconds);
            let fields: [&str; HEADER.len()] = [
                &self.step,
                &stream,
                kind.name(),
                self.targets.get(target as usize).map_or("", String::as_str),
                &offset.to_string(),
                &bytes.to_string(),
                &intended,
                &submitted,
                &accepted,
                &completed,
            ];
            self.writer.write_record(fields).map_err(plain)?;
        }
        Ok(())
    }

    /// Hands the rest over, and what was written to back.
    pub fn finish(self) -> io::Result<W> {
        self.writer.into_inner().map_err(csv::IntoInnerError::into_error)
    }
}

/// To the nanosecond.
fn seconds(at: Nanos) -> String {
    format!("{}.{:09}", at.0 / 1_000_000_000, at.0 % 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_analysis::sample::{StreamShape, record};
    use fathom_schema::OperationKind;

    #[test]
    fn a_row_has_names_and_instants_to_the_nanosecond() {
        let mut step = record(&[StreamShape::default()]).steps.remove(0).started.step;
        (step.name, step.targets[0].name) = ("=1+1".to_owned(), "a,b\n".to_owned());
        let row = OperationRow {
            kind: OperationKind::Write,
            reads_back: false,
            priority: 0,
            bytes: 4096,
            target: 0,
            offset: 8192,
            intended: Nanos(7),
            submitted: Nanos(1_000_000_001),
            accepted: Nanos(1_000_000_002),
            completed: Nanos(12_000_000_000),
        };
        let mut out = OperationsCsv::new(Vec::new()).expect("memory takes it");
        out.begin(&step);
        out.operations("s", &[row, OperationRow { reads_back: true, ..row }]).expect("memory takes it");
        let text = String::from_utf8(out.finish().expect("memory takes it")).expect("it is text");
        let lines: Vec<&str> = text.split("\r\n").collect();
        assert_eq!(lines[0], HEADER.join(","));
        assert_eq!(
            lines[1],
            "'=1+1,s,write,\"a,b\\u{a}\",8192,4096,0.000000007,1.000000001,1.000000002,12.000000000"
        );
        assert_eq!(&lines[2..], [""]);
    }
}
