//! Charts of constructed records: what a cell keeps, and that nothing is lost on the way to it.

use super::*;
use fathom_analysis::sample::{StreamShape, push, record};
use fathom_schema::{Interval, OperationKind};

fn lengthened(seconds: u64) -> Record {
    record(&[StreamShape { seconds, ..StreamShape::default() }])
}

fn sum(values: &[Option<f64>]) -> f64 {
    values.iter().flatten().sum()
}

#[test]
fn a_short_step_has_a_cell_per_interval() {
    let charts = charts(&lengthened(10));
    let step = &charts.steps[0];
    assert_eq!((step.cell_s, step.reduced, step.window_s), (1.0, 1, [0.0, 10.0]));
    assert_eq!(step.series.len(), 1);
    let all = &step.series[0];
    assert_eq!(all.iops, vec![Some(1000.0); 10]);
    assert!(all.iops_min.is_empty() && all.iops_max.is_empty());
    assert!(all.p99_ns.iter().all(Option::is_some) && all.p999_ns.iter().all(Option::is_some));
    assert_eq!(charts.sweep, None);
}

#[test]
fn a_long_step_keeps_its_mean_and_its_extremes() {
    let mut record = lengthened(5000);
    // One second in which nothing went through, and one with twice as much.
    let twice = |interval: &mut Interval, factor: u64| {
        for kind in &mut interval.tally.kinds {
            kind.operations *= factor;
        }
    };
    twice(&mut record.steps[0].intervals[1234], 0);
    twice(&mut record.steps[0].intervals[4321], 2);
    let step = &charts(&record).steps[0];
    assert_eq!((step.cell_s, step.reduced), (9.0, 9));
    let all = &step.series[0];
    assert_eq!(all.iops.len(), 556);
    let (low, high) = (all.iops_min.iter().flatten(), all.iops_max.iter().flatten());
    assert_eq!(low.copied().fold(f64::INFINITY, f64::min), 0.0);
    assert_eq!(high.copied().fold(0.0, f64::max), 2000.0);
    // 555 cells of 9 s and one of 5 s: one second too few and one too many make up for each other.
    assert!((sum(&all.iops[..555]) * 9.0 + all.iops[555].unwrap() * 5.0 - 5e6).abs() < 500.0);
}

#[test]
fn of_many_streams_eight_have_lines_and_which_can_be_chosen() {
    let names: Vec<&'static str> = (0..20).map(|at| &*Box::leak(format!("s{at}").into_boxed_str())).collect();
    let shapes: Vec<StreamShape> =
        names.iter().map(|name| StreamShape { name, ..StreamShape::default() }).collect();
    let record = record(&shapes);
    let lines = |streams: &[u32]| {
        let step = charts_with(&record, streams).steps.remove(0);
        let names: Vec<String> = step.series.into_iter().skip(1).map(|series| series.name).collect();
        (names, step.streams_left_out)
    };
    let first: Vec<String> = names[..8].iter().map(|&name| name.to_owned()).collect();
    assert_eq!(lines(&[]), (first.clone(), 12));
    assert_eq!(lines(&[17, 3]), (vec!["s3".to_owned(), "s17".to_owned()], 18));
    assert_eq!(lines(&[20]), (first.clone(), 12), "there is none");
    let all: Vec<u32> = (0..20).collect();
    assert_eq!(lines(&all), (first, 12), "more cannot be told apart");
    assert_eq!(charts(&lengthened(3)).steps[0].streams_left_out, 0);
}

#[test]
fn streams_are_added_where_they_ran_together() {
    let shapes = [
        StreamShape { name: "a", ..StreamShape::default() },
        StreamShape {
            name: "b",
            rates: vec![(OperationKind::Write, 500)],
            seconds: 4,
            ..StreamShape::default()
        },
    ];
    let series = &charts(&record(&shapes)).steps[0].series;
    let names: Vec<&str> = series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, ["", "a", "b"]);
    assert_eq!(series[0].iops[..5], [1500.0, 1500.0, 1500.0, 1500.0, 1000.0].map(Some));
    assert_eq!(series[2].iops[3..5], [Some(500.0), None]);
}

#[test]
fn a_sliver_at_the_end_has_no_rate() {
    let mut record = lengthened(3);
    record.steps[0].intervals[2].end = Nanos(2_000_000_000 + 20_000_000);
    let all = &charts(&record).steps[0].series[0];
    assert_eq!(all.iops, [Some(1000.0), Some(1000.0), None]);
    assert!(all.p50_ns[2].is_some());
}

#[test]
fn curves_end_where_one_operation_is_left() {
    let step = &charts(&lengthened(10)).steps[0];
    let [curve] = step.curves.as_slice() else { panic!("{:?}", step.curves) };
    assert_eq!((curve.kind.as_str(), curve.latency.as_str(), curve.count), ("read", "response", 10_000));
    assert_eq!(curve.points.last().unwrap().0, 4.0);
    assert!(curve.points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
}

/// The levels that a packed text stands for.
fn unpacked(cells: &str) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    for c in cells.bytes() {
        match c {
            b'a'..=b'z' => {
                let last = *out.last().unwrap();
                out.extend(std::iter::repeat_n(last, usize::from(c - b'a') + 1));
            }
            digit => out.push(digit - b'0'),
        }
    }
    out
}

#[test]
fn a_heat_map_has_a_level_for_every_operation() {
    let heat = charts(&lengthened(700)).steps[0].heat.clone().unwrap();
    assert_eq!((heat.column_s, heat.columns), (4.0, 175));
    let levels = unpacked(&heat.cells);
    assert_eq!(levels.len(), heat.columns * heat.rows);
    // 90.8 % at 0.881 of the mean, 9 % at twice, 0.2 % at ten times it: three rows in every column.
    for column in levels.chunks(heat.rows) {
        assert_eq!(column.iter().filter(|&&level| level > 0).count(), 3);
        assert_eq!(column.iter().max(), Some(&9));
    }
    assert_eq!(heat.share_max, 0.908);
}

#[test]
fn swept_values_stand_in_order_on_their_axis() {
    let at = |record: &mut Record, index: usize, parameters: &[(&str, &str)]| {
        record.steps[index].started.step.parameters =
            parameters.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    };
    let mut record = lengthened(2);
    for index in 1..4 {
        push(&mut record, &[StreamShape { seconds: 2, ..StreamShape::default() }], index);
    }
    let depth = "stream.queue_depth";
    for (index, value) in ["16", "1", "64", "4"].into_iter().enumerate() {
        at(&mut record, index, &[(depth, value)]);
    }
    let sweep = of(&record);
    assert_eq!((sweep.option.as_str(), sweep.axis.as_str()), (depth, "log"));
    assert_eq!(sweep.labels, ["1", "4", "16", "64"]);
    assert_eq!(sweep.lines[0].iops, vec![Some(1000.0); 4]);
    for (index, value) in ["16", "1", "16", "1"].into_iter().enumerate() {
        at(&mut record, index, &[("workload.read", if index < 2 { "70%" } else { "0%" }), (depth, value)]);
    }
    // Both options have two values: the first is the axis.
    let sweep = of(&record);
    assert_eq!((sweep.option.as_str(), sweep.labels.len(), sweep.lines.len()), ("workload.read", 2, 2));
    assert_eq!(sweep.lines[0].name, "queue_depth 16");
    // What ran twice is not told apart on an axis.
    at(&mut record, 3, &[("workload.read", "0%"), (depth, "16")]);
    assert_eq!(of(&record).axis, "steps");
    // In a stage of its own it is.
    record.steps[3].started.step.stage_index = 1;
    assert_eq!(of(&record).lines.last().unwrap().name, "stage 2, queue_depth 16");
    for index in 0..4 {
        at(&mut record, index, &[]);
    }
    let sweep = of(&record);
    assert_eq!((sweep.option.as_str(), sweep.axis.as_str(), sweep.labels.len()), ("", "steps", 4));
}

fn of(record: &Record) -> Sweep {
    charts(record).sweep.unwrap()
}

#[test]
fn numbers_have_five_digits() {
    for (value, expect) in
        [(0.0, 0.0), (123_456.7, 123_460.0), (1.0 / 3.0, 0.33333), (99_999.6, 100_000.0), (5.0, 5.0)]
    {
        assert_eq!(rounded(value), expect);
    }
    assert_eq!(rounded(f64::INFINITY), 0.0);
}

#[test]
fn a_record_without_intervals_has_empty_charts() {
    let mut record = lengthened(2);
    record.steps[0].intervals.clear();
    let step = &charts(&record).steps[0];
    assert_eq!((step.series[0].iops.len(), &step.heat), (0, &None));
}

#[test]
fn charts_of_many_steps_stay_small() {
    let mut record = lengthened(300);
    for index in 1..200 {
        push(&mut record, &[StreamShape { seconds: 300, ..StreamShape::default() }], index);
    }
    let text = serde_json::to_string(&charts(&record)).unwrap();
    assert!(text.len() < 2_000_000, "{}", text.len());
}

/// Steps in virtual time end later than the next begins, by the wall clock: a mark is on one of them.
#[test]
fn a_mark_is_on_the_time_line_of_one_step() {
    let mut record = lengthened(10);
    push(&mut record, &[StreamShape::default()], 1);
    record.steps[1].started.wall_ms = record.steps[0].started.wall_ms + 1;
    record.notes.push(fathom_schema::Note {
        at: fathom_units::Nanos::secs(4),
        kind: fathom_schema::NoteKind::Mark,
        severity: fathom_schema::Severity::Info,
        message: "mark at 4.00 s: fan stopped".to_owned(),
    });
    let charts = charts(&record);
    let marked = |step: usize| charts.steps[step].marks.iter().any(|mark| mark.label == "fan stopped");
    assert_eq!((marked(0), marked(1)), (true, false));
}

/// A step begins a little after its run, or the one before it: what is marked until then is at its start.
#[test]
fn a_mark_in_front_of_a_step_is_at_its_start() {
    let mut record = lengthened(10);
    push(&mut record, &[StreamShape::default()], 1);
    record.steps[0].started.wall_ms = record.started.wall_ms + 500;
    record.steps[1].started.wall_ms = record.started.wall_ms + 30_000;
    for (seconds, text) in [(0, "begun"), (29, "between"), (31, "later")] {
        record.notes.push(fathom_schema::Note::mark(fathom_units::Nanos::secs(seconds), text));
    }
    assert_eq!(record.notes.last_chunk::<3>().unwrap()[0].message, "mark at 0 s: begun");
    let charts = charts(&record);
    let told = |step: usize| -> Vec<(f64, String)> {
        let marks = charts.steps[step].marks.iter();
        let marks = marks.filter(|mark| ["begun", "between", "later"].contains(&mark.label.as_str()));
        marks.map(|mark| (mark.at_s, mark.label.clone())).collect()
    };
    assert_eq!(told(0), [(0.0, "begun".to_owned())]);
    assert_eq!(told(1), [(0.0, "between".to_owned()), (1.0, "later".to_owned())]);
}
