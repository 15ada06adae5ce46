//! The file of updates that Iometer 1.1.0 writes beside its results (`inst…`): a row per worker each time its window would
//! have shown new figures, then what each test has come to. The form is that of files of Iometer 1.1.0; what fathom knows of
//! them is in docs/iometer-compatibility.md.

use super::{
    Figures, IOMETER_COLUMNS, IometerHost, IometerRow, IometerShape, Lines, Part, Timed, framed, host_of,
    iometer_end, real,
};
use crate::calendar;
use fathom_schema::{Interval, Phase, Record, StepRecord};
use fathom_units::Nanos;
use std::collections::BTreeMap;

/// Digits of a number here: what C++ prints unasked.
const DIGITS: i32 = 6;

/// The updates of a run, ready to be added to their file; every so many seconds, 0 for none but the last.
pub fn iometer_updates(
    record: &Record,
    shape: &IometerShape,
    hosts: &[Option<IometerHost>],
    every_s: u64,
) -> String {
    let tests = framed(record, shape, 0, |lines, timed, test| {
        let step = timed.step;
        lines.add("'Results");
        // Its headings are those of before 1.1.0.
        lines.add(&format!("TimeStamp,'{}", IOMETER_COLUMNS.join(",").replace("MiBps", "MBps")));
        let workers: Vec<&IometerRow> = test.rows.iter().filter(|row| row.cells[0] == "WORKER").collect();
        for (at, window) in windows(timed, every_s) {
            for row in &workers {
                lines.update(at, &Figures { real: short, ..window.figures(step) }.row(&without_spec(row)));
            }
        }
        let finished = step.finished.as_ref()?;
        let at = timed.wall_ms_at(finished.elapsed);
        for row in workers {
            lines.update(at, &Figures { real: short, ..Figures::of(step, finished, None) }.row(row));
        }
        for row in test.rows.iter().filter(|row| row.cells[0] == "ALL") {
            lines.update(
                at,
                &Figures { real, ..Figures::of(step, finished, host_of(hosts, timed.index)) }.row(row),
            );
        }
        Some(finished)
    });
    tests + &iometer_end(record, shape)
}

impl Lines {
    fn update(&mut self, wall_ms: u64, cells: &[String]) {
        self.add(&format!("{},{}", calendar::iometer(wall_ms), cells.join(",")));
    }
}

/// What was counted between two updates.
struct Window<'a> {
    intervals: Vec<&'a Interval>,
    time: Nanos,
}

impl Window<'_> {
    fn figures<'b>(&'b self, step: &'b StepRecord) -> Figures<'b> {
        let streams = &step.started.step.streams;
        let part = |interval: &&'b Interval| {
            let stream = streams.get(usize::try_from(interval.stream).ok()?)?;
            let targets = &step.started.step.targets;
            Some(Part { stream, targets, tally: &interval.tally, time: self.time })
        };
        Figures { parts: self.intervals.iter().filter_map(part).collect(), host: None, real: short }
    }
}

/// The windows of a step, each with the wall clock at its end.
fn windows(timed: Timed<'_>, every_s: u64) -> Vec<(u64, Window<'_>)> {
    let step = timed.step;
    let measured = || step.intervals.iter().filter(|interval| interval.phase == Phase::Measure);
    let every = Nanos::secs(every_s).0;
    let (Some(from), true) = (measured().map(|interval| interval.start).min(), every > 0) else {
        return Vec::new();
    };
    let mut windows: BTreeMap<u64, Vec<&Interval>> = BTreeMap::new();
    for interval in measured() {
        windows.entry(interval.start.since(from).0 / every).or_default().push(interval);
    }
    let ends = windows.into_values().map(|intervals| {
        let start = intervals.iter().map(|interval| interval.start).min().unwrap_or(Nanos::ZERO);
        let end = intervals.iter().map(|interval| interval.end).max().unwrap_or(Nanos::ZERO);
        (timed.wall_ms_at(end), Window { intervals, time: end.since(start) })
    });
    ends.collect()
}

/// Rows between two updates do not name what runs.
fn without_spec(row: &IometerRow) -> IometerRow {
    let mut row = row.clone();
    row.cells[2].clear();
    row
}

/// A number as C++ prints it: six digits, without zeros at the end, with an exponent where it is large or small.
fn short(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return "0".to_owned();
    }
    // What is rounded decides on the exponent: 999999.7 is 1e+06.
    let digits = format!("{number:.*e}", usize::try_from(DIGITS - 1).unwrap_or(0));
    let (mantissa, exponent) = digits.split_once('e').unwrap_or((&digits, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trimmed = |text: &str| {
        let bare = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text };
        bare.to_owned()
    };
    if (-4..DIGITS).contains(&exponent) {
        let after = usize::try_from(DIGITS - 1 - exponent).unwrap_or(0);
        return trimmed(&format!("{number:.after$}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_real_file() {
        // Those of an `inst…` file of Iometer 1.1.0, but for the exponent's third digit, which is of Windows.
        for (number, expect) in [
            (2174.84, "2174.84"),
            (67.96375, "67.9638"),
            (0.459_285, "0.459285"),
            (2141.0, "2141"),
            (0.0, "0"),
            (1e7, "1e+07"),
            (1e9, "1e+09"),
            (123_456.0, "123456"),
            (999_999.7, "1e+06"),
            (0.000_012_34, "1.234e-05"),
        ] {
            assert_eq!(short(number), expect);
        }
    }
}
