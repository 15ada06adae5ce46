//! Results over what is swept. Owns which swept option becomes the axis and how its values are placed on it; does not fit
//! anything to them.

use super::{rounded, window};
use crate::summary::{kinds, response};
use fathom_analysis::added_up;
use fathom_metrics::Latency;
use fathom_schema::{Record, StepRecord};
use fathom_units::Bytes;
use serde::Serialize;

/// Lines at most; a sweep of more is read as a table.
const LINES_MAX: usize = 8;
/// A geometric axis is drawn where the largest value is at least so many times the smallest.
const GEOMETRIC_FROM: f64 = 16.0;

/// Steps over one swept option; where several are swept, the others tell the lines apart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sweep {
    /// Path of the option on the axis, e.g. `stream.queue_depth`; empty when the axis is the order of the steps.
    pub option: String,
    /// Values on the axis as the job has them, in order.
    pub labels: Vec<String>,
    /// Where they stand on the axis: their size if they have one, else 0, 1, 2 and so on.
    pub positions: Vec<f64>,
    /// `linear`, `log` or `steps` (the position is a mere number of a step).
    pub axis: String,
    /// Lines that were left out since there are too many.
    pub lines_left_out: usize,
    /// The lines.
    pub lines: Vec<Line>,
}

/// One line; an entry per label, null where that point was not run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// The values of the other swept options; empty when there is but one line.
    pub name: String,
    /// Reads, writes and trims per second.
    pub iops: Vec<Option<f64>>,
    /// Bytes moved per second.
    pub bytes_per_s: Vec<Option<f64>>,
    /// Mean response time, nanoseconds.
    pub mean_ns: Vec<Option<f64>>,
    /// Median, nanoseconds.
    pub p50_ns: Vec<Option<f64>>,
    /// p99, nanoseconds; null below 100 operations.
    pub p99_ns: Vec<Option<f64>>,
    /// p99.9, nanoseconds; null below 1000 operations.
    pub p999_ns: Vec<Option<f64>>,
}

/// The sweep of a record with at least two steps.
pub(super) fn of(record: &Record) -> Option<Sweep> {
    let steps = &record.steps;
    if steps.len() < 2 {
        return None;
    }
    let Some(option) = axis_of(steps) else { return Some(by_order(steps)) };
    let has_stages =
        steps.iter().any(|step| step.started.step.stage_index != steps[0].started.step.stage_index);
    let mut labels: Vec<String> = Vec::new();
    let mut lines: Vec<(String, Vec<(usize, &StepRecord)>)> = Vec::new();
    for step in steps {
        let value = value_of(step, &option).unwrap_or_default();
        let place = labels.iter().position(|label| label == value).unwrap_or_else(|| {
            labels.push(value.to_owned());
            labels.len() - 1
        });
        let name = others(step, &option, has_stages);
        match lines.iter_mut().find(|(known, _)| *known == name) {
            // A point that was run twice, or whose load was changed on the way, has two results; none may hide the other.
            Some((_, points)) if points.iter().any(|&(known, _)| known == place) => {
                return Some(by_order(steps));
            }
            Some((_, points)) => points.push((place, step)),
            None => lines.push((name, vec![(place, step)])),
        }
    }
    let sizes: Option<Vec<f64>> = labels.iter().map(|label| size_of(label)).collect();
    let (positions, axis) = match sizes {
        Some(sizes) => {
            let smallest = sizes.iter().copied().fold(f64::INFINITY, f64::min);
            let largest = sizes.iter().copied().fold(0.0, f64::max);
            let is_log = smallest > 0.0 && largest >= GEOMETRIC_FROM * smallest;
            (sizes, if is_log { "log" } else { "linear" })
        }
        None => (in_order(labels.len()), "steps"),
    };
    // A line goes from left to right, in whatever order its points were run.
    let mut order: Vec<usize> = (0..labels.len()).collect();
    order.sort_by(|&a, &b| positions[a].total_cmp(&positions[b]));
    Some(Sweep {
        labels: order.iter().map(|&at| labels[at].clone()).collect(),
        positions: order.iter().map(|&at| positions[at]).collect(),
        axis: axis.to_owned(),
        lines_left_out: lines.len().saturating_sub(LINES_MAX),
        lines: lines.into_iter().take(LINES_MAX).map(|(name, points)| line(name, &points, &order)).collect(),
        option,
    })
}

/// The option with the most different values, of several the first; none when steps do not differ in one.
fn axis_of(steps: &[StepRecord]) -> Option<String> {
    let first = &steps[0].started.step.parameters;
    let is_everywhere = |name: &str| steps.iter().all(|step| value_of(step, name).is_some());
    let different = |name: &str| {
        let mut values: Vec<&str> = steps.iter().filter_map(|step| value_of(step, name)).collect();
        values.sort_unstable();
        values.dedup();
        values.len()
    };
    let mut best: Option<(usize, &str)> = None;
    for (name, _) in first {
        let count = different(name);
        if is_everywhere(name) && count > best.map_or(1, |(count, _)| count) {
            best = Some((count, name));
        }
    }
    best.map(|(_, name)| name.to_owned())
}

fn by_order(steps: &[StepRecord]) -> Sweep {
    let order: Vec<usize> = (0..steps.len()).collect();
    let points: Vec<(usize, &StepRecord)> = steps.iter().enumerate().collect();
    Sweep {
        option: String::new(),
        labels: steps.iter().map(|step| step.started.step.name.clone()).collect(),
        positions: in_order(steps.len()),
        axis: "steps".to_owned(),
        lines_left_out: 0,
        lines: vec![line(String::new(), &points, &order)],
    }
}

fn in_order(count: usize) -> Vec<f64> {
    (0..count).map(|at| at as f64).collect()
}

fn value_of<'a>(step: &'a StepRecord, option: &str) -> Option<&'a str> {
    let found = step.started.step.parameters.iter().find(|(name, _)| name == option);
    found.map(|(_, value)| value.as_str())
}

/// What else is swept, and the stage where a job has several.
fn others(step: &StepRecord, option: &str, has_stages: bool) -> String {
    let stage = has_stages.then(|| format!("stage {}", step.started.step.stage_index + 1));
    let rest = step.started.step.parameters.iter().filter(|(name, _)| name != option);
    let values = rest.map(|(name, value)| format!("{} {value}", name.rsplit('.').next().unwrap_or(name)));
    stage.into_iter().chain(values).collect::<Vec<_>>().join(", ")
}

/// The size of a value: `16`, `4KiB`, `70%`, `5k/s`; none for a name.
fn size_of(value: &str) -> Option<f64> {
    let value = value.trim();
    let number = value.strip_suffix("/s").unwrap_or(value).trim();
    if let Ok(plain) = number.trim_end_matches('%').trim().parse::<f64>() {
        return plain.is_finite().then_some(plain);
    }
    if let Some(thousands) = number.strip_suffix('k').and_then(|n| n.trim().parse::<f64>().ok()) {
        return Some(thousands * 1e3);
    }
    if let Some(millions) = number.strip_suffix('M').and_then(|n| n.trim().parse::<f64>().ok()) {
        return Some(millions * 1e6);
    }
    number.parse::<Bytes>().ok().map(|bytes| bytes.0 as f64)
}

fn line(name: String, points: &[(usize, &StepRecord)], order: &[usize]) -> Line {
    let mut line = Line {
        name,
        iops: Vec::new(),
        bytes_per_s: Vec::new(),
        mean_ns: Vec::new(),
        p50_ns: Vec::new(),
        p99_ns: Vec::new(),
        p999_ns: Vec::new(),
    };
    for place in order {
        let step = points.iter().find(|(at, _)| at == place).map(|(_, step)| *step);
        let measured = step.map(added_up).unwrap_or_default();
        let [start, end] = window(&measured);
        let (all, _) = kinds(measured.iter().map(|m| &m.tally));
        let latency = Latency::from(response(&all));
        let count = latency.count();
        let quantile = |q: f64, needs: u64| {
            (count >= needs).then(|| latency.quantile(q)).flatten().map(|ns| rounded(ns as f64))
        };
        let rate = |sum: u64| (end > start).then(|| rounded(sum as f64 / (end - start)));
        line.iops.push(rate(all.operations));
        line.bytes_per_s.push(rate(all.bytes));
        line.mean_ns.push((count > 0).then(|| rounded(latency.moments().mean_ns())));
        line.p50_ns.push(quantile(0.5, 2));
        line.p99_ns.push(quantile(0.99, 100));
        line.p999_ns.push(quantile(0.999, 1000));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_size_that_people_mean() {
        for (value, expect) in [
            ("16", Some(16.0)),
            ("70%", Some(70.0)),
            ("70 %", Some(70.0)),
            ("4KiB", Some(4096.0)),
            ("4 KiB", Some(4096.0)),
            ("5k/s", Some(5000.0)),
            ("1.5M/s", Some(1_500_000.0)),
            ("random", None),
            ("", None),
            ("inf", None),
        ] {
            assert_eq!(size_of(value), expect, "{value}");
        }
    }
}
