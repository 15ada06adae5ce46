//! What fio's reports say of a job that was to end in a steady state: found again out of the record's intervals by the rule
//! that ended it.

use super::FioEntry;
use super::node::Node::{self, Array, Float, Integer, Object, Text};
use super::numbers::{FioUnits, short};
use fathom_metrics::Settling;
use fathom_schema::{Record, SteadyFigure, SteadyLimit, SteadyRule};
use fathom_units::Nanos;

/// The steady state of the streams of an entry; `None` where it was to have none.
pub(super) fn settling(record: &Record, entry: &FioEntry) -> Option<Settling> {
    let part = entry.workers.first()?;
    let step = record.steps.get(part.step)?;
    let stream = u32::try_from(part.stream).ok()?;
    let mut settling = Settling::of(&step.started.step).into_iter().find(|settling| settling.has(stream))?;
    let members: Vec<u32> = settling.streams().collect();
    let of = |stream: u32| step.intervals.iter().filter(move |interval| interval.stream == stream);
    let last: Vec<(u32, Nanos)> = members
        .iter()
        .map(|&stream| (stream, of(stream).map(|interval| interval.end).max().unwrap_or_default()))
        .collect();
    for interval in &step.intervals {
        settling.add(interval);
        // Of a stream that still goes on, more intervals may come.
        if step.finished.is_some() && last.contains(&(interval.stream, interval.end)) {
            settling.ended(interval.stream);
        }
    }
    Some(settling)
}

fn name(rule: &SteadyRule) -> (&'static str, &'static str) {
    let figure = match rule.figure {
        SteadyFigure::Operations => "iops",
        SteadyFigure::Bytes => "bw",
        SteadyFigure::Latency => "lat",
    };
    (figure, if rule.by_slope { "_slope" } else { "" })
}

/// A figure in the unit of the limit, as fio writes it.
fn in_limit(rule: &SteadyRule, figure: f64) -> String {
    match rule.limit {
        SteadyLimit::Share(_) => format!("{:.6}%", figure * 100.0),
        SteadyLimit::Absolute(_) => format!("{figure:.6}"),
    }
}

/// Means over the window as fio takes them: what was not sampled counts as 0.
fn mean(settling: &Settling, figure: impl Fn(&fathom_metrics::SteadySample) -> u64) -> u64 {
    let sum: u64 = settling.window().map(figure).sum();
    sum / u64::from(settling.rule().samples.max(1))
}

/// The member `steadystate` of a job.
pub(super) fn node(settling: &Settling) -> Node {
    let rule = settling.rule();
    let (figure, slope) = name(rule);
    let (SteadyLimit::Share(limit) | SteadyLimit::Absolute(limit)) = rule.limit;
    let (max_deviation, rise) = match (settling.is_full(), rule.by_slope) {
        (false, _) => (0.0, 0.0),
        (true, false) => (settling.deviation(), 0.0),
        (true, true) => (0.0, settling.slope()),
    };
    let samples = |figure: fn(&fathom_metrics::SteadySample) -> u64| {
        let missing = (rule.samples as usize).saturating_sub(settling.window().len());
        let known = settling.window().map(figure);
        Array(known.chain(std::iter::repeat_n(0, missing)).map(Integer).collect())
    };
    let mut data = vec![
        ("bw_mean", Integer(mean(settling, |sample| sample.bytes))),
        ("iops_mean", Integer(mean(settling, |sample| sample.operations))),
        ("iops", samples(|sample| sample.operations)),
        ("bw", samples(|sample| sample.bytes)),
    ];
    if rule.figure == SteadyFigure::Latency {
        // As in newer versions of fio; 3.33 has no such figure.
        data.insert(2, ("lat_mean", Integer(mean(settling, |sample| sample.latency_ns))));
        data.push(("lat_ns", samples(|sample| sample.latency_ns)));
    }
    Node::object([
        ("ss", Text(format!("{figure}{slope}:{}", in_limit(rule, limit)))),
        ("duration", Integer(rule.every.0 * u64::from(rule.samples) / 1_000_000_000)),
        ("attained", Integer(u64::from(settling.is_steady()))),
        ("criterion", Text(in_limit(rule, settling.criterion().unwrap_or(0.0)))),
        ("max_deviation", Float(max_deviation)),
        ("slope", Float(rise)),
        ("data", Object(data.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())),
    ])
}

/// The line of the normal report, without its beginning.
pub(super) fn line(settling: &Settling, units: FioUnits) -> String {
    let rule = settling.rule();
    let (figure, _) = name(rule);
    let attained = if settling.is_steady() { "yes" } else { "no" };
    let kib_per_s = mean(settling, |sample| sample.bytes) / 1024;
    let ([rate, _], [_, other_rate]) = (units.rate(kib_per_s * 1024), units.rate(kib_per_s * 1000));
    let iops = short(mean(settling, |sample| sample.operations), units.digits, false, "");
    let what = if rule.by_slope { "slope" } else { "mean dev" };
    let found = settling.criterion().unwrap_or(0.0);
    let found = match rule.limit {
        SteadyLimit::Share(_) => format!("{:.3}%", found * 100.0),
        SteadyLimit::Absolute(_) => format!("{found:.3}"),
    };
    format!("attained={attained}, bw={rate} ({other_rate}), iops={iops}, {figure} {what}={found}")
}
