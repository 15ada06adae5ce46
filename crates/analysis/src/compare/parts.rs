//! Parts of a step beside each other: its streams, by their names, and the kinds of operations of those that mix some. A small
//! stream beside a large one, or the writes of a mix of few, may change without a trace in the figures of the whole.

use super::matched::{Kind, Matched};
use super::side::StepSide;
use super::{Metric, Sides, StepComparison, Verdict, metrics};
use crate::measured::{Measured, measured};
use fathom_metrics::{BUCKETS, bucket_bounds};
use fathom_schema::{OperationKind, StepRecord, Stream, StreamTally};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Parts of a step at most: of more, each would have to change by far to be told apart, and nobody reads as many.
const PARTS_MAX: usize = 32;
/// Names of parts that a remark holds at most.
const NAMED: usize = 6;
/// Share of the 5 % of false statements that those about parts have, together: what the whole says is asked for first.
const SHARE: f64 = 0.2;

/// Share of a side's operations that have to be of its parts for these to be all of it: what lies at edges of phases is counted with one
/// or the other.
const ALL_MIN: f64 = 0.99;
/// Times that a figure without an interval has to be worse for it to hold back a verdict that knows of no loss: of few operations it
/// goes up and down by tens of per cent.
const BY_FAR: f64 = 2.0;

/// What of a step is set beside each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// Name of the streams; all where there is none.
    pub stream: Option<String>,
    /// Kind of the operations; all where there is none.
    pub kind: Option<OperationKind>,
}

impl Part {
    fn is_of(&self, stream: &Stream) -> bool {
        stream.engine.kind.adds_up() && self.stream.as_ref().is_none_or(|name| *name == stream.name)
    }

    /// Whether the stream of this place in a step belongs to it; one that the step does not know does so of the whole.
    pub(super) fn has(&self, step: &StepRecord, stream: usize) -> bool {
        let streams = &step.started.step.streams;
        streams.get(stream).map_or(self.stream.is_none(), |stream| self.is_of(stream))
    }

    /// What the streams measured that belong to it.
    pub(super) fn streams(&self, step: &StepRecord) -> Vec<Measured> {
        let is_of = step.started.step.streams.iter().map(|stream| self.is_of(stream));
        measured(step).into_iter().zip(is_of).filter_map(|(found, is_of)| is_of.then_some(found)).collect()
    }

    /// What of a tally belongs to it. Arrivals that were left waiting are of no kind yet.
    pub(super) fn narrowed(&self, mut tally: StreamTally) -> StreamTally {
        if let Some(kind) = self.kind {
            tally.kinds.retain(|one| one.kind == kind);
            tally.left_waiting = None;
        }
        tally
    }
}

/// A part of a step, of two sides.
#[derive(Debug, Clone, PartialEq)]
pub struct PartComparison {
    /// Name of its streams; `None` where the step has one.
    pub stream: Option<String>,
    /// Kind of its operations; `None` where the stream has one.
    pub kind: Option<OperationKind>,
    /// Its figures.
    pub metrics: Vec<Metric>,
}

impl PartComparison {
    /// Its name for people, short: `reader`, `writes`, `reader, writes`.
    pub fn name(&self) -> String {
        name(self.stream.as_deref(), self.kind)
    }
}

pub(super) fn name(stream: Option<&str>, kind: Option<OperationKind>) -> String {
    let kind = kind.map(|kind| format!("{}s", kind.name()));
    stream.map(str::to_owned).into_iter().chain(kind).collect::<Vec<_>>().join(", ")
}

/// The streams of a step by name, in their order, with the kinds of operations that each did, or was to do.
fn streams(steps: &[&StepRecord]) -> Vec<(String, BTreeSet<OperationKind>)> {
    let mut all: Vec<(String, BTreeSet<OperationKind>)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for step in steps {
        for (stream, found) in step.started.step.streams.iter().zip(measured(step)) {
            if !stream.engine.kind.adds_up() {
                continue;
            }
            let done = found.tally.kinds.iter().filter(|one| one.operations > 0).map(|one| one.kind);
            let asked = stream.workload.cases.iter().filter(|case| case.weight > 0.0).map(|case| case.kind);
            let kinds = done.chain(asked).filter(|kind| *kind != OperationKind::Sync);
            let at = *places.entry(&stream.name).or_insert_with(|| {
                all.push((stream.name.clone(), BTreeSet::new()));
                all.len() - 1
            });
            all[at].1.extend(kinds);
        }
    }
    all
}

/// The parts of a step, and what to say of those that are not set beside each other. A step of one stream with one kind of operations
/// has none.
fn of(one: &Matched<'_>) -> (Vec<Part>, Option<String>) {
    let side = |runs: &[Vec<&StepRecord>]| streams(&runs.concat());
    let (base, new) = (side(&one.base), side(&one.new));
    let kinds = |stream: &Option<String>, left: &BTreeSet<OperationKind>, right: &BTreeSet<OperationKind>| {
        let are_mixed = left.len() > 1 || right.len() > 1;
        // What one of two jobs does not do at all is a difference of the jobs.
        let kinds = left.intersection(right).copied();
        let of = |kind| Part { stream: stream.clone(), kind: Some(kind) };
        if are_mixed { kinds.map(of).collect() } else { vec![Part { stream: stream.clone(), kind: None }] }
    };
    if let ([(_, left)], [(_, right)]) = (&base[..], &new[..]) {
        let mut parts = kinds(&None, left, right);
        parts.retain(|part| *part != Part::default());
        return (parts, None);
    }
    let (of_base, of_new) = (by_name(&base), by_name(&new));
    let pairs = base.iter().filter_map(|(name, left)| Some((name, left, *of_new.get(name.as_str())?)));
    let parts: Vec<Part> =
        pairs.flat_map(|(name, left, right)| kinds(&Some(name.clone()), left, right)).collect();
    if parts.len() > PARTS_MAX {
        let remark = format!(
            "{}: {} streams and kinds of operations are too many to be set beside each other one by one; the verdict is of all \
             together",
            one.name,
            parts.len()
        );
        return (Vec::new(), Some(remark));
    }
    let alone = base.iter().filter(|(name, _)| !of_new.contains_key(name.as_str()));
    let alone = alone.chain(new.iter().filter(|(name, _)| !of_base.contains_key(name.as_str())));
    let alone: Vec<String> = alone.map(|(name, _)| name.clone()).collect();
    let remark = (!alone.is_empty()).then(|| {
        format!(
            "{}: only one side has the stream{} {}, of which nothing is said alone",
            one.name,
            if alone.len() == 1 { "" } else { "s" },
            named(&alone)
        )
    });
    (parts, remark)
}

fn by_name(streams: &[(String, BTreeSet<OperationKind>)]) -> BTreeMap<&str, &BTreeSet<OperationKind>> {
    streams.iter().map(|(name, kinds)| (name.as_str(), kinds)).collect()
}

/// The parts of each that belongs together, and what is to be said of those that are not set beside each other. Loads of tests and curves
/// have none: their figures are of the whole.
pub(super) fn of_all(kind: Kind, all: &[Matched<'_>]) -> (Vec<Vec<Part>>, Vec<String>) {
    if kind != Kind::Steps {
        return (vec![Vec::new(); all.len()], Vec::new());
    }
    let (parts, remarks): (Vec<_>, Vec<_>) = all.iter().map(of).unzip();
    (parts, remarks.into_iter().flatten().collect())
}

/// The parts of a step, of two sides.
#[derive(Debug, Default)]
pub(super) struct Compared {
    /// Those of which all runs did something.
    pub parts: Vec<PartComparison>,
    /// Their latency counts, of either side.
    pub latencies: Vec<[Vec<u64>; 2]>,
    /// What is to be said of those of which some run did nothing.
    pub silent: Vec<String>,
}

/// The parts of both sides.
pub(super) fn compared(
    one: &Matched<'_>,
    agree: [bool; 2],
    parts: &[Part],
    margin: f64,
    level: f64,
) -> Compared {
    let mut found = Compared::default();
    // Runs that count as one do so of their parts.
    let [base, new] = [(&one.base, agree[0]), (&one.new, agree[1])]
        .map(|(runs, agree)| if agree { &runs[..1] } else { &runs[..] });
    for of in parts {
        if let (Some(base), Some(new)) = (StepSide::of(base, of), StepSide::of(new, of)) {
            let mut metrics = metrics(&Sides { one, base: &base, new: &new, margin, level });
            stand_in(&mut metrics);
            found.latencies.push([base.latencies(), new.latencies()]);
            found.parts.push(PartComparison { stream: of.stream.clone(), kind: of.kind, metrics });
        } else {
            let part = name(of.stream.as_deref(), of.kind);
            let step = &one.name;
            let told = format!("{step}: some run did nothing of {part}, so that nothing can be said of it");
            found.silent.push(told);
        }
    }
    found
}

/// Where a part has too few operations for the percentile that decides, the highest that they are enough for does so instead, and where
/// they are enough for none, the mean.
fn stand_in(metrics: &mut [Metric]) {
    let is_known = |metric: &Metric| !metric.more_is_better && metric.needs.is_none();
    let Some(at) = metrics.iter().position(|metric| metric.decides && metric.needs.is_some()) else { return };
    // Percentiles come last, each higher than the one before.
    if let Some(instead) = metrics.iter_mut().rev().find(|metric| is_known(metric)) {
        instead.decides = true;
        metrics[at].decides = false;
    }
}

/// The first of these, and how many more there are.
fn named(names: &[String]) -> String {
    let shown = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// At which level each statement about a whole, and about a part, has to hold so that all of them do together with 95 % (Bonferroni).
pub(super) fn levels(all: &[Matched<'_>], parts: &[Vec<Part>]) -> (f64, f64) {
    let wholes: usize = all.iter().map(|one| one.deciding().len()).sum();
    let of_parts: usize = all.iter().zip(parts).map(|(one, parts)| one.deciding().len() * parts.len()).sum();
    let of = |share: f64, count: usize| 1.0 - 0.05 * share / count.max(1) as f64;
    if of_parts == 0 { (of(1.0, wholes), 0.0) } else { (of(1.0 - SHARE, wholes), of(SHARE, of_parts)) }
}

/// The worst that is told of parts: what is not told of one leaves the whole's verdict as it is.
pub(super) fn verdict(steps: &[StepComparison]) -> Option<Verdict> {
    let parts = steps.iter().flat_map(|step| &step.parts).flat_map(|part| &part.metrics);
    let told = parts.filter(|metric| metric.decides && metric.verdict != Verdict::Inconclusive);
    told.map(|metric| metric.verdict).max()
}

/// Leaves the p99 of all together out of what decides where it changed by the parts' shares of the operations alone, and says so: with
/// the shares of the first side the second's would lie within the margin, or on the other side (direct standardisation; Simpson 1951).
/// A slow stream that does more than before, at no longer times, makes the latencies of all together longer. `operations`: those of
/// each side, which all have to be of parts.
pub(super) fn weighed(
    step: &mut StepComparison,
    latencies: &[[Vec<u64>; 2]],
    operations: [f64; 2],
    margin: f64,
) -> Option<String> {
    let whole = step.metrics.iter_mut().find(|metric| metric.decides && metric.name == "p99")?;
    let is_worse = match whole.verdict {
        Verdict::Regressed => true,
        Verdict::Improved => false,
        Verdict::Equivalent | Verdict::Inconclusive => return None,
    };
    let sum = |counts: &[u64]| counts.iter().sum::<u64>() as f64;
    let of_parts = |side: usize| latencies.iter().map(|part| sum(&part[side])).sum::<f64>();
    if [0, 1].into_iter().any(|side| of_parts(side) < ALL_MIN * operations[side]) {
        return None;
    }
    let p99 = |weight: &dyn Fn(&[Vec<u64>; 2]) -> f64, side: usize| {
        let mut all = vec![0.0; BUCKETS];
        for part in latencies {
            let weight = weight(part);
            all.iter_mut().zip(&part[side]).for_each(|(all, count)| *all += *count as f64 * weight);
        }
        let rank = 0.99 * all.iter().sum::<f64>();
        let mut below = 0.0;
        let bucket = all.iter().position(|count| {
            below += count;
            below >= rank
        })?;
        let (low, high) = bucket_bounds(bucket);
        Some(u64::midpoint(low, high) as f64)
    };
    let by_base = p99(&|[base, new]| sum(base) / sum(new).max(1.0), 1)?;
    let change = by_base / p99(&|_| 1.0, 0)? - 1.0;
    let is_by_shares = if is_worse { change <= margin } else { change >= -margin };
    is_by_shares.then(|| {
        whole.decides = false;
        format!(
            "{}: the p99 of all together is {} by the shares of streams or kinds of operations alone, with those of the first side it \
             would not be: it does not decide",
            step.name,
            if is_worse { "longer" } else { "shorter" }
        )
    })
}

/// Figures of parts that decide and may be losses: worse by more than the margin, and either told to be worse than before, or without an
/// interval and so by far. No verdict is given that knows of no loss beside one.
pub fn possible_losses(
    step: &StepComparison,
    margin: f64,
) -> impl Iterator<Item = (&PartComparison, &Metric)> {
    let may_be = move |metric: &Metric| {
        let times = if metric.more_is_better { metric.base / metric.new } else { metric.new / metric.base };
        let is_beyond = if metric.more_is_better { metric.change < -margin } else { metric.change > margin };
        let is_told = match metric.interval {
            Some((_, high)) if metric.more_is_better => high < 0.0,
            Some((low, _)) => low > 0.0,
            None => metric.needs.is_none() && times >= BY_FAR,
        };
        metric.decides && metric.verdict == Verdict::Inconclusive && is_beyond && is_told
    };
    let all = step.parts.iter().flat_map(|part| part.metrics.iter().map(move |metric| (part, metric)));
    all.filter(move |(_, metric)| may_be(metric))
}

/// Figures of a step as a whole that do not decide and are told to be worse by more than the margin. What is worse so is not the same,
/// though IOPS and p99 are: at a rate IOPS cannot change, and a tail beyond p99 is not in it. Not where p99 does not decide, of tests
/// that are about one figure, and of sides whose parts have other shares.
pub fn other_losses(step: &StepComparison) -> impl Iterator<Item = &Metric> {
    let is_general = step.metrics.iter().any(|metric| metric.decides && metric.name == "p99");
    step.metrics
        .iter()
        .filter(move |metric| is_general && !metric.decides && metric.verdict == Verdict::Regressed)
}

/// That other figures of a step are worse than before, though those that decide are better.
pub(super) fn worse_besides(step: &StepComparison) -> Option<String> {
    let names: Vec<String> = other_losses(step).map(|metric| metric.name.clone()).collect();
    (!names.is_empty()).then(|| {
        let (verb, decide) = if names.len() == 1 { ("is", "does") } else { ("are", "do") };
        format!("{}: {} {verb} worse than before, and {decide} not decide", step.name, named(&names))
    })
}

/// What a verdict that knows of no loss does not speak of: parts of which nothing is told.
pub(super) fn untold(step: &StepComparison) -> Option<String> {
    let is_untold = |part: &&PartComparison| {
        part.metrics.iter().any(|metric| metric.decides && metric.verdict == Verdict::Inconclusive)
    };
    let names: Vec<String> = step.parts.iter().filter(is_untold).map(PartComparison::name).collect();
    (!names.is_empty()).then(|| {
        format!(
            "{}: whether {} changed by more than the margin is not told by what there is; the verdict is of the whole",
            step.name,
            named(&names)
        )
    })
}
