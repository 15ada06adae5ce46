//! The answer of a test of SNIA's PTS as a document.

use crate::exit::Exit;
use fathom_analysis::pts::{
    self, AfterIdle, Answer, Blocks, Cell, Distribution, Ending, Level, Measure, Minute, PartAnswer,
    RoundsAnswer, SequenceAnswer,
};
use fathom_analysis::steady::{EXCURSION_MAX, RANGE_MAX};
use fathom_metrics::bucket_bounds;
use serde_json::{Value, json};

/// What it comes to for scripts.
pub(super) fn exit(answer: &Answer) -> Exit {
    match answer.ending {
        Ending::Steady | Ending::Complete => Exit::Ok,
        Ending::NotSteady | Ending::Unfinished => Exit::Inconclusive,
    }
}

/// All of it; docs/questions.md explains it.
pub(super) fn document(answer: &Answer) -> Value {
    let Answer { question, parts, ending, idle, setup } = answer;
    json!({
        "sentence": fathom_report::steady_sentence(answer),
        "verdict": ending.name(),
        "test": question.test.name(),
        "class": question.class.name(),
        "is_pts": pts::deviations(question).is_empty(),
        "deviations": pts::deviations(question),
        "haste": question.haste,
        "purged": question.purge || question.purged_before.is_some(),
        "purge": pts::purge_words(question),
        "idle_between": idle.map(|idle| json!({
            "gaps": idle.gaps,
            "median_s": idle.median.as_secs_f64(),
            "longest_s": idle.longest.as_secs_f64(),
        })),
        "resumed": question.resumed,
        "idle_recovery": pts::idle_recovery(answer).map(|found| json!({
            "baseline_iops": found.baseline_iops,
            "after": found.after.iter().map(after_idle).collect::<Vec<_>>(),
        })),
        "setup": {
            "targets": setup.targets.iter().map(|target| json!({
                "name": target.name,
                "model": target.model,
                "serial": target.serial,
                "size_bytes": target.size.map(|size| size.0),
                "facts": target.facts.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
            })).collect::<Vec<_>>(),
            "data_pattern": setup.content,
            "active_range_bytes": setup.active_range.0,
            "active_range_segments": setup.segments,
            "user_capacity_bytes": setup.capacity.map(|capacity| capacity.0),
            "engine": setup.engine.map(fathom_schema::EngineKind::name),
            "direct": setup.mode.map(|mode| mode == fathom_schema::IoMode::Direct),
            "written_bytes": setup.written.0,
        },
        "parts": parts.iter().map(part).collect::<Vec<_>>(),
    })
}

fn after_idle(AfterIdle { idle, burst, iops, share, undrained_share: _ }: &AfterIdle) -> Value {
    json!({ "idle_s": idle.as_secs_f64(), "burst_s": burst.as_secs_f64(), "iops": iops, "share": share })
}

fn part(part: &PartAnswer) -> Value {
    match part {
        PartAnswer::Conditioning(found) => json!({
            "kind": "conditioning",
            "title": found.title,
            "elapsed_s": found.elapsed.map(fathom_units::Nanos::as_secs_f64),
            "bytes": found.bytes,
        }),
        PartAnswer::Rounds(found) => rounds(found),
        PartAnswer::Sequence(found) => {
            let SequenceAnswer { title, cells, distributions, minutes, recovery_s, is_complete } = found;
            let cells: Vec<Value> = cells
                .iter()
                .map(|(load, measure)| with(cell(load), "measured", self::measure(measure)))
                .collect();
            json!({
                "kind": "sequence",
                "title": title,
                "complete": is_complete,
                "recovery_s": recovery_s,
                "cells": cells,
                "histograms": distributions.iter().map(histogram).collect::<Vec<_>>(),
                "samples": minutes.iter().map(sample).collect::<Vec<_>>(),
            })
        }
    }
}

fn rounds(found: &RoundsAnswer) -> Value {
    let RoundsAnswer {
        title,
        rounds,
        measures,
        tracked,
        judgement,
        window,
        means,
        largest_s,
        minutes,
        levels,
        fills,
        is_complete,
    } = found;
    let of_window = judgement.window.map(|judged| {
        json!({
            "first_round": window.start + 1,
            "last_round": window.end,
            "mean": judged.mean,
            "range": judged.range,
            "range_allowed": RANGE_MAX * judged.mean,
            "slope": judged.slope,
            "slope_excursion": judged.slope_excursion(),
            "slope_excursion_allowed": EXCURSION_MAX * judged.mean,
            "intercept": judged.mean - 3.0 * judged.slope,
        })
    });
    let of_cell = |(at, load): (usize, &Cell)| {
        let each: Vec<Value> = measures.iter().map(|round| measure(&round[at])).collect();
        let load = with(cell(load), "mean", means.get(at).map_or(Value::Null, measure));
        let load = with(load, "largest_s", json!(largest_s.get(at)));
        with(load, "rounds", json!(each))
    };
    json!({
        "kind": "rounds",
        "title": title,
        "complete": is_complete,
        "steady_at": judgement.steady_at,
        "rounds_max": rounds.rounds_max,
        "fills": fills,
        "less_than_one_fill": found.is_of_a_fresh_device(),
        "tracked": {
            "cell": rounds.cells[rounds.tracked].name(),
            "figure": rounds.figure.name(),
            "rounds": tracked,
        },
        "window": of_window,
        "cells": rounds.cells.iter().enumerate().map(of_cell).collect::<Vec<_>>(),
        "samples": minutes.iter().map(sample).collect::<Vec<_>>(),
        "levels": levels.iter().map(level).collect::<Vec<_>>(),
    })
}

fn level(Level { until_s, fills, iops }: &Level) -> Value {
    json!({ "until_s": until_s, "fills": fills, "iops": iops })
}

fn with(mut object: Value, name: &str, value: Value) -> Value {
    object[name] = value;
    object
}

fn cell(load: &Cell) -> Value {
    let Cell { row, column, blocks, read_percent, is_random, threads, depth, time, pause } = load;
    json!({
        "name": load.name(),
        "row": row,
        "column": column,
        "block_bytes": match blocks { Blocks::Of(bytes) => Some(bytes), Blocks::Composite => None },
        "read_percent": read_percent,
        "random": is_random,
        "threads": threads,
        "queue_depth": depth,
        "time_s": time.as_secs_f64(),
        "pause_s": pause.as_secs_f64(),
    })
}

fn measure(measure: &Measure) -> Value {
    let Measure { iops, bytes_per_s, mean_s, max_s, five_nines_s, processors_busy, lasted_s: _ } = measure;
    json!({
        "iops": iops,
        "bytes_per_s": bytes_per_s,
        "mean_s": mean_s,
        "max_s": max_s,
        "p99_999_s": five_nines_s,
        "processors_busy": processors_busy,
    })
}

/// Buckets as the lower and upper edge, nanoseconds, and the operations between them.
fn histogram(Distribution { cell: load, response, five_nines_s }: &Distribution) -> Value {
    let bucket = |(index, count): (u32, u64)| {
        let (low, high) = bucket_bounds(index as usize);
        json!([low, high, count])
    };
    let histogram = json!({
        "operations": response.moments.count,
        "mean_s": response.moments.mean_ns() / 1e9,
        "p99_999_s": five_nines_s,
        "max_s": response.moments.max_ns as f64 / 1e9,
        "buckets_ns": response.histogram.buckets().map(bucket).collect::<Vec<_>>(),
    });
    with(cell(load), "response", histogram)
}

fn sample(minute: &Minute) -> Value {
    let Minute { end_s, iops, bytes_per_s, mean_s, five_nines_s, max_s, fills, written, load } = minute;
    json!({
        "end_s": end_s,
        "iops": iops,
        "bytes_per_s": bytes_per_s,
        "mean_s": mean_s,
        "p99_999_s": five_nines_s,
        "max_s": max_s,
        "fills": fills,
        "written_bytes": written.0,
        "cell": load,
    })
}
