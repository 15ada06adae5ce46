//! What was done on each target, of records whose streams go to several.

use crate::{TargetFigures, html, json, markdown, summary, text};
use fathom_analysis::sample::{StreamShape, record, spread};
use fathom_schema::{Arrival, Backlog, OperationKind, Pacing, Record};
use serde_json::Value;

/// Three streams: mixed operations on two targets, paced writes on the second of them and a third, reads on the usual one.
fn several() -> Record {
    let open =
        Pacing::Open { rate: 1000.0, arrival: Arrival::Poisson, course: Vec::new(), backlog: Backlog::Keep };
    let mixed = vec![(OperationKind::Read, 6000), (OperationKind::Write, 3000), (OperationKind::Sync, 9)];
    let mut record = record(&[
        StreamShape { name: "mix", rates: mixed, workers: 2, ..StreamShape::default() },
        StreamShape {
            name: "paced",
            rates: vec![(OperationKind::Write, 900)],
            pacing: open,
            ..StreamShape::default()
        },
        StreamShape {
            name: "lone",
            rates: vec![(OperationKind::Read, 500)],
            seconds: 5,
            ..StreamShape::default()
        },
    ]);
    let step = &mut record.steps[0];
    step.finished.as_mut().expect("it has ended").streams[0].workers[0].tally.kinds[0].errors = vec![(5, 3)];
    spread(step, 0, &["/data/a", "/data/b"]);
    spread(step, 1, &["/data/c", "/data/d"]);
    // The first target of the second is the second one of the first.
    let second = &mut step.started.step.streams[1].workers;
    second.iter_mut().flat_map(|worker| &mut worker.extents).for_each(|extent| {
        extent.target -= u32::from(extent.target == 3);
    });
    let workers = step.finished.iter_mut().flat_map(|finished| &mut finished.streams[1].workers);
    let tallies = workers.map(|worker| &mut worker.tally);
    let intervals = step.intervals.iter_mut().filter(|interval| interval.stream == 1);
    for tally in tallies.chain(intervals.map(|interval| &mut interval.tally)) {
        tally.targets.iter_mut().for_each(|part| part.target -= u32::from(part.target == 3));
    }
    record
}

fn check_sum(parts: &[TargetFigures], total: &crate::Totals) {
    let sum = |of: fn(&crate::TargetKind) -> f64| parts.iter().map(|part| of(&part.all)).sum::<f64>();
    let all = &total.all;
    assert_eq!(sum(|kind| kind.operations as f64), all.operations as f64);
    assert_eq!(sum(|kind| kind.bytes as f64), all.bytes as f64);
    assert_eq!(sum(|kind| kind.errors as f64), all.errors as f64);
    assert!((sum(|kind| kind.iops) / all.iops - 1.0).abs() < 1e-9);
    let waited = sum(|kind| kind.response_mean_ns.unwrap_or(0.0) * kind.operations as f64);
    assert!((waited / all.operations as f64 / all.response.mean_ns - 1.0).abs() < 1e-6);
    let longest = parts.iter().filter_map(|part| part.all.response_max_ns).max();
    assert_eq!(longest, Some(all.response.max_ns));
}

#[test]
fn targets_add_up_to_their_stream_and_are_summed_over_streams() {
    let summary = summary(&several());
    let step = &summary.steps[0];
    for stream in &step.streams[..2] {
        assert_eq!((stream.target_count, stream.targets.len()), (2, 2));
        check_sum(&stream.targets, &stream.total);
    }
    assert_eq!((step.streams[2].target_count, step.streams[2].targets.len()), (1, 0));
    let all: Vec<(&str, Vec<&str>, u64)> = step
        .targets
        .iter()
        .map(|of| {
            let streams = of.streams.iter().map(String::as_str).collect();
            (of.figures.target.as_str(), streams, of.figures.all.operations)
        })
        .collect();
    let of = |stream: usize, target: usize| step.streams[stream].targets[target].all.operations;
    assert_eq!(
        all,
        [
            ("/dev/nvme0n1", vec!["lone"], step.streams[2].total.all.operations),
            ("/data/a", vec!["mix"], of(0, 0)),
            ("/data/b", vec!["mix", "paced"], of(0, 1) + of(1, 0)),
            ("/data/d", vec!["paced"], of(1, 1)),
        ]
    );
    // Over the five seconds that the one stream there measured, not over the ten of the step.
    assert!((step.targets[0].figures.all.iops - 500.0).abs() < 1e-9);
    let kinds: Vec<&str> = step.streams[0].targets[0].kinds.iter().map(|kind| kind.kind.as_str()).collect();
    assert_eq!(kinds, ["read", "write", "sync"]);
}

#[test]
fn a_killed_step_has_what_its_intervals_have() {
    let mut killed = several();
    let whole = summary(&killed);
    let finished = killed.steps[0].finished.take().expect("it has ended");
    let errors = finished.streams[0].workers[0].tally.kinds[0].errors[0].1;
    let killed = summary(&killed);
    let of = |summary: &crate::Summary| {
        let targets = summary.steps[0].targets.iter();
        targets.map(|of| (of.figures.target.clone(), of.figures.all.operations)).collect::<Vec<_>>()
    };
    assert_eq!(of(&killed), of(&whole));
    let failed = |summary: &crate::Summary| summary.steps[0].targets[2].figures.all.errors;
    assert_eq!((failed(&killed), failed(&whole)), (0, errors), "no interval was told of them");
}

#[test]
fn text_by_target() {
    let text = text(&summary(&several()), 100, false);
    let tables = text.split("\n\n").filter(|part| part.starts_with("  stream       target"));
    insta::assert_snapshot!(tables.collect::<Vec<_>>().join("\n\n"));
}

#[test]
fn all_reports_have_the_table_and_none_without_several_targets() {
    let (record, plain) = (several(), record(&[StreamShape::default()]));
    assert!(html(&record).contains("By target") && !html(&plain).contains("By target"));
    let markdown_of = |record| markdown(&summary(record));
    assert!(
        markdown_of(&record).contains("| mix | /data/a |") && !markdown_of(&plain).contains("| target |")
    );
    assert!(!text(&summary(&plain), 100, false).contains("target  "));
    let document: Value = serde_json::from_str(&json(&summary(&record))).expect("it is JSON");
    let of = &document["steps"][0]["targets"][2];
    assert_eq!((of["target"].as_str(), of["streams"].as_array().map(Vec::len)), (Some("/data/b"), Some(2)));
}

#[test]
fn a_stream_on_too_many_targets_says_so_and_an_old_record_says_nothing() {
    let mut record = several();
    for interval in &mut record.steps[0].intervals {
        interval.tally.targets.clear();
    }
    let finished = record.steps[0].finished.as_mut().expect("it has ended");
    for worker in finished.streams.iter_mut().flat_map(|stream| &mut stream.workers) {
        worker.tally.targets.clear();
    }
    let old = text(&summary(&record), 100, false);
    assert!(!old.contains("/data/b") && !old.contains("not counted apart"), "{old}");
    let step = &mut record.steps[0].started.step;
    step.targets = vec![step.targets[0].clone(); 100];
    let extent = step.streams[0].workers[0].extents[0];
    step.streams[0].workers[0].extents =
        (0..100).map(|target| fathom_schema::Extent { target, ..extent }).collect();
    let summary = summary(&record);
    assert_eq!((summary.steps[0].streams[0].target_count, summary.steps[0].targets.len()), (100, 0));
    let text = text(&summary, 100, false);
    assert!(text.contains("mix     100 targets: more than 64 are not counted apart"), "{text}");
}

/// A part of what was done on a target is not shown as all of it.
#[test]
fn figures_of_a_target_name_the_streams_that_are_not_in_them() {
    let mut record = several();
    let step = &mut record.steps[0].started.step;
    step.targets.resize(100, step.targets[0].clone());
    let extent = step.streams[2].workers[0].extents[0];
    step.streams[2].workers[0].extents =
        (0..100).map(|target| fathom_schema::Extent { target, ..extent }).collect();
    let summary = summary(&record);
    let targets = &summary.steps[0].targets;
    assert_eq!(targets.len(), 3);
    assert!(targets.iter().all(|target| target.without == ["lone"]), "{targets:?}");
    for report in [text(&summary, 200, false), markdown(&summary), html(&record)] {
        assert!(report.contains("/data/b (without lone)"), "{report}");
        assert!(!report.contains("(without mix)"));
    }
    let document: Value = serde_json::from_str(&json(&summary)).expect("it is JSON");
    assert_eq!(document["steps"][0]["targets"][2]["without"], serde_json::json!(["lone"]));
    assert_eq!(document["steps"][0]["targets"][2]["without_count"], 1);
    // Sixteen of many are named, and all are counted.
    let step = &mut record.steps[0];
    step.started.step.streams.extend(vec![step.started.step.streams[2].clone(); 499]);
    let finished = step.finished.as_mut().expect("it finished");
    finished.streams.extend(vec![finished.streams[2].clone(); 499]);
    let summary = crate::summary(&record);
    let [target, ..] = summary.steps[0].targets.as_slice() else { panic!("there are three") };
    assert_eq!((target.without.len(), target.without_count), (16, 500));
    for report in [text(&summary, 200, false), markdown(&summary), html(&record)] {
        assert!(report.contains("/data/b (without lone and 499 more)"), "{report}");
    }
}
