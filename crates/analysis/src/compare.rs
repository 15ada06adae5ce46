//! Two sides of runs compared: is the new one worse, better, the same within a margin, or can that not be told yet?
//!
//! The unit of replication is the run. Where a side has a single one, its intervals stand in for runs, thinned to as many
//! as are independent; that says nothing about what differs from one run to the next, and the result says so.

mod gate;
mod jobs;
#[cfg(test)]
mod replicates;
mod side;
mod words;

pub use gate::{Verdict, judge, more_runs};
pub use side::{Series, StepSide};

use crate::statistics::{self, Sample, Shift, quantile_shifts, subsessions, t_quantile, welch};
use fathom_metrics::bucket_bounds;
use fathom_schema::{EnvironmentFact, Record, StepRecord};

/// Quantiles of the latency that are set side by side.
pub const QUANTILES: [f64; 6] = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999];
/// Resamples of a bootstrap.
const RESAMPLES: usize = 1000;
/// Facts that are never the same twice: subject, and the name where only that one is.
const PASSING: [(&str, Option<&str>); 3] =
    [("load", None), ("memory", Some("available")), ("memory", Some("dirty"))];
/// Facts that are measured, and so never quite the same: told where the greater exceeds the smaller by this share.
/// The mean of 10,000 readings of a clock differs by up to a tenth from one run to the next on an idle machine, and
/// more on a busy one.
const MEASURED: [(&str, &str, f64); 1] = [("clock", "cost of a reading", 1.0 / 3.0)];
/// Seed of the resampling: the same runs give the same answer.
const SEED: u64 = 17;
/// Operations that have to lie beyond a quantile: fewer are one slow moment's accident.
const BEYOND_MIN: f64 = 10.0;
/// Fewest independent blocks that a quantile's interval can be resampled from.
const BLOCKS_MIN: usize = 4;

/// One figure of two sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// `iops`, `bandwidth`, `mean latency`, or a percentile such as `p99`.
    pub name: String,
    /// Whether more of it is better.
    pub more_is_better: bool,
    /// Of the first side.
    pub base: f64,
    /// Of the second.
    pub new: f64,
    /// Relative change and its interval; `None` where there is too little to tell.
    pub change: f64,
    /// Interval of the change.
    pub interval: Option<(f64, f64)>,
    /// The statement.
    pub verdict: Verdict,
    /// Runs per side still needed for a statement; for [`Verdict::Inconclusive`] only, where that can be told.
    pub more_runs: Option<u64>,
    /// Whether it decides the comparison's verdict.
    pub decides: bool,
    /// Operations that a side takes for this percentile, where one has fewer: it is not known then.
    pub needs: Option<u64>,
}

/// One step of two sides.
#[derive(Debug, Clone, PartialEq)]
pub struct StepComparison {
    /// Its name.
    pub name: String,
    /// Its figures.
    pub metrics: Vec<Metric>,
    /// How much runs of the first side differ from one another, as a share of their mean IOPS: standard deviation of
    /// runs, or with one run, the difference of its halves.
    pub noise_floor: Option<f64>,
}

/// Two sides compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Steps that both have.
    pub steps: Vec<StepComparison>,
    /// The worst of the deciding figures: regressed, else inconclusive, else improved, else equivalent.
    pub verdict: Verdict,
    /// Runs per side still needed, for an inconclusive verdict.
    pub more_runs: Option<u64>,
    /// Runs of the first and of the second side.
    pub runs: (usize, usize),
    /// Runs whose figures are not about the device, so that nothing follows from theirs.
    pub invalid: Vec<InvalidRun>,
    /// What differs between the jobs, so that a change may come of it.
    pub job_differences: Vec<Difference>,
    /// What differs between the hosts and their environment.
    pub differences: Vec<Difference>,
    /// What a reader should know.
    pub remarks: Vec<String>,
}

/// Something that differs: name, first side, second side.
pub type Difference = (String, String, String);

/// A run with a finding that its figures are not about the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidRun {
    /// Whether it is of the first side.
    pub is_base: bool,
    /// The run's identity.
    pub run: String,
    /// The finding's name.
    pub finding: String,
    /// What was seen.
    pub evidence: String,
}

/// Compares; `margin` is the change that matters, e.g. 0.03. `None` when the sides have no step in common.
pub fn compare(base: &[&Record], new: &[&Record], margin: f64) -> Option<Comparison> {
    let (first, second) = (base.first()?, new.first()?);
    let names = steps_in_common(&step_names(first), &step_names(second));
    if names.is_empty() {
        return None;
    }
    // Several statements at 95 % together: each at 1 − 5 % ÷ their number (Bonferroni).
    let deciding = 2 * names.len();
    let level = 1.0 - 0.05 / deciding as f64;
    let is_only = first.steps.len() == 1 && second.steps.len() == 1;
    let mut remarks = Vec::new();
    let mut steps = Vec::new();
    for name in &names {
        let in_each = |side: &[&Record]| {
            StepSide::of(&side.iter().map(|run| step_of(run, name, is_only)).collect::<Vec<_>>())
        };
        match (in_each(base), in_each(new)) {
            (Some(left), Some(right)) => {
                let found = step(&name.0, &left, &right, margin, level);
                remarks.extend(found.metrics.iter().filter_map(|metric| {
                    let fewest = left.operations().min(right.operations());
                    let needs = metric.needs?;
                    Some(format!(
                        "{}: {} is n/a (needs n ≥ {needs} operations a side, one has {fewest})",
                        name.0, metric.name
                    ))
                }));
                let is_untold =
                    |metric: &&Metric| metric.decides && metric.interval.is_none() && metric.needs.is_none();
                let untold: Vec<&str> =
                    found.metrics.iter().filter(is_untold).map(|metric| metric.name.as_str()).collect();
                if !untold.is_empty() {
                    remarks.push(format!(
                        "{}: no interval of {}: the intervals of a run are too few, or follow one another too closely; \
                         measure for longer, or several runs a side",
                        name.0,
                        untold.join(" and ")
                    ));
                }
                steps.push(found);
            }
            _ => remarks
                .push(format!("{}: some run measured nothing in it, so nothing can be said of it", name.0)),
        }
    }
    let is_complete = steps.len() == names.len();
    let deciding = || steps.iter().flat_map(|step| &step.metrics).filter(|metric| metric.decides);
    let verdict = deciding().map(|metric| metric.verdict).max().unwrap_or(Verdict::Inconclusive);
    // A loss in one step is a loss; anything milder says nothing of steps without figures.
    let verdict = if is_complete { verdict } else { verdict.max(Verdict::Inconclusive) };
    let runs = (base.len(), new.len());
    if runs.0.min(runs.1) == 1 {
        remarks.push(
            "a side has one run: what differs from run to run is not in the intervals; five runs a side, in turns, tell"
                .to_owned(),
        );
    }
    let unmatched = first.steps.len().max(second.steps.len()) - names.len();
    if unmatched > 0 {
        remarks.push(format!("{unmatched} steps have no counterpart and are left out"));
    }
    for (letter, side) in [("first", base), ("other", new)] {
        let pairs =
            |run: &&Record| -> bool { !jobs::differences(&pairs(side[0], run, &names, is_only)).is_empty() };
        let others = side[1..].iter().filter(|run| pairs(run)).count();
        if others > 0 {
            remarks.push(format!(
                "{others} of the {} runs of the {letter} side are of another job than its first",
                side.len()
            ));
        }
    }
    Some(Comparison {
        job_differences: jobs::differences(&pairs(first, second, &names, is_only)),
        more_runs: deciding().filter_map(|metric| metric.more_runs).max(),
        steps,
        verdict,
        runs,
        invalid: Vec::new(),
        differences: differences(first, second),
        remarks,
    })
}

/// The steps of two runs that belong together.
fn pairs<'a>(
    base: &'a Record,
    new: &'a Record,
    names: &[(String, usize)],
    is_only: bool,
) -> Vec<(&'a StepRecord, &'a StepRecord)> {
    names
        .iter()
        .filter_map(|name| Some((step_of(base, name, is_only)?, step_of(new, name, is_only)?)))
        .collect()
}

/// Names of the steps that two runs with steps of these names have in common, each with how many of that name come
/// before it; the only step of each in any case.
pub fn steps_in_common(base: &[&str], new: &[&str]) -> Vec<(String, usize)> {
    let numbered = |all: &[&str]| -> Vec<(String, usize)> {
        let before = |at: usize| all[..at].iter().filter(|name| **name == all[at]).count();
        (0..all.len()).map(|at| (all[at].to_owned(), before(at))).collect()
    };
    let mut names = numbered(new);
    if base.len() != 1 || new.len() != 1 {
        let base = numbered(base);
        names.retain(|name| base.contains(name));
    }
    names
}

/// Names of a record's steps, in order.
pub fn step_names(record: &Record) -> Vec<&str> {
    record.steps.iter().map(|step| step.started.step.name.as_str()).collect()
}

/// The step of a record with this name, after so many others of it. Where the sides have one step (`is_only`), it belongs to
/// that of the other whatever it is called.
fn step_of<'a>(
    record: &'a Record,
    (name, before): &(String, usize),
    is_only: bool,
) -> Option<&'a StepRecord> {
    match record.steps.as_slice() {
        [only] if is_only => Some(only),
        steps => steps.iter().filter(|step| step.started.step.name == *name).nth(*before),
    }
}

fn step(name: &str, base: &StepSide, new: &StepSide, margin: f64, level: f64) -> StepComparison {
    let mut metrics = Vec::new();
    for (name, more_is_better, decides) in
        [("iops", true, true), ("bandwidth", true, false), ("mean latency", false, false)]
    {
        let of = |side: &StepSide| match name {
            "iops" => side.iops.clone(),
            "bandwidth" => side.bandwidth.clone(),
            _ => side.mean_latency.clone(),
        };
        let (left, right) = (of(base), of(new));
        let change = right.figure() / left.figure() - 1.0;
        let interval = match (left.is_of_runs, right.is_of_runs) {
            (true, false) => change_of_one(&Sample::of(&left.values), left.figure(), change, level),
            (false, true) => change_of_one(&Sample::of(&right.values), left.figure(), change, level),
            _ => {
                let samples = sample(&left).zip(sample(&right));
                samples.and_then(|(left, right)| change_interval(&left, &right, change, level))
            }
        };
        // Runs like these: with one on a side its intervals are independent values, but no runs.
        let are_runs = left.is_of_runs && right.is_of_runs;
        let count = if are_runs { left.values.len().min(right.values.len()) } else { 1 };
        let figures = (left.figure(), right.figure());
        let figure =
            Figure { name: name.to_owned(), more_is_better, figures, interval, decides, count, needs: None };
        metrics.push(figure.judged(margin));
    }
    let value_of = |bucket: usize| {
        let (low, high) = bucket_bounds(bucket);
        u64::midpoint(low, high) as f64
    };
    let are_of_runs = base.iops.is_of_runs && new.iops.is_of_runs;
    let blocks = base.blocks.len().min(new.blocks.len());
    let count = if are_of_runs { blocks } else { 1 };
    for shift in quantile_shifts(&base.blocks, &new.blocks, &QUANTILES, &value_of, level, RESAMPLES, SEED) {
        let Shift { q, first, second, ratio_interval } = shift;
        let decides = q == 0.99;
        let is_supported = base.operations().min(new.operations()) * (1.0 - q) >= BEYOND_MIN;
        // What decides is there even where there are too few operations to say something.
        if !is_supported && !decides {
            continue;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let needs = (!is_supported).then(|| (BEYOND_MIN / (1.0 - q)).round() as u64);
        // Runs are few: Student's t allows for that, resampling does not.
        let of = |side: &StepSide| {
            Sample::of(&side.quantile_of_blocks(q).into_iter().map(value_of).collect::<Vec<_>>())
        };
        let change = second / first - 1.0;
        let interval = match (base.iops.is_of_runs, new.iops.is_of_runs) {
            _ if !is_supported => None,
            (true, true) => change_interval(&of(base), &of(new), change, level),
            (true, false) => change_of_one(&of(base), first, change, level),
            (false, true) => change_of_one(&of(new), first, change, level),
            (false, false) => {
                ratio_interval.filter(|_| blocks >= BLOCKS_MIN).map(|(low, high)| (low - 1.0, high - 1.0))
            }
        };
        let name = format!("p{}", (q * 1e6).round() / 1e4);
        let figure =
            Figure { name, more_is_better: false, figures: (first, second), interval, decides, count, needs };
        metrics.push(figure.judged(margin));
    }
    StepComparison { name: name.to_owned(), metrics, noise_floor: base.iops.noise_floor() }
}

/// A figure of both sides, not judged yet.
struct Figure {
    name: String,
    more_is_better: bool,
    figures: (f64, f64),
    interval: Option<(f64, f64)>,
    decides: bool,
    /// Runs of the smaller side.
    count: usize,
    needs: Option<u64>,
}

impl Figure {
    fn judged(self, margin: f64) -> Metric {
        let Self { name, more_is_better, figures: (base, new), interval, decides, count, needs } = self;
        let change = if base == new { 0.0 } else { new / base - 1.0 };
        let verdict = judge(interval, margin, more_is_better);
        let more_runs = match (verdict, interval) {
            (Verdict::Inconclusive, Some(interval)) => more_runs(change, interval, margin, count),
            _ => None,
        };
        Metric { name, more_is_better, base, new, change, interval, verdict, more_runs, decides, needs }
    }
}

/// Independent values of a side: its runs, or as many of a run's intervals as are independent.
fn sample(series: &Series) -> Option<Sample> {
    if series.is_of_runs {
        return (series.values.len() >= 2).then(|| Sample::of(&series.values));
    }
    let found = subsessions(&series.values)?;
    // Those that resemble their neighbours are worth fewer, by what such a series forgets from one to the next (Bayley &
    // Hammersley 1946, of a first-order autoregression); those that are unlike them are worth more, which is left alone.
    let resemblance = if found.is_independent { 0.0 } else { found.correlation.max(0.0) };
    let worth = found.sample.count as f64 * (1.0 - resemblance) / (1.0 + resemblance);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "no more than there are")]
    let sample = Sample { count: worth.floor() as usize, ..found.sample };
    (sample.count >= 2).then_some(sample)
}

/// Interval of the relative change between the runs of one side and the only run of the other, which is taken to vary
/// as they do: Student's t with the pooled variance of `n` values and one (n − 1 degrees of freedom). `base` is the
/// base's figure.
fn change_of_one(runs: &Sample, base: f64, change: f64, level: f64) -> Option<(f64, f64)> {
    if base <= 0.0 || runs.count < 2 {
        return None;
    }
    let count = runs.count as f64;
    let half = t_quantile(level, count - 1.0) * (runs.variance * (1.0 + 1.0 / count)).sqrt() / base;
    Some((change - half, change + half))
}

/// Interval of the relative change of means.
fn change_interval(base: &Sample, new: &Sample, change: f64, level: f64) -> Option<(f64, f64)> {
    if base.mean <= 0.0 {
        return None;
    }
    match welch(new, base) {
        Some(found) => {
            let statistics::Difference { difference, .. } = found;
            let (low, high) = found.interval(level);
            // Around the change of the totals, which weigh every operation alike.
            Some((change + (low - difference) / base.mean, change + (high - difference) / base.mean))
        }
        // Neither side varies at all.
        None => (base.count >= 2 && new.count >= 2).then_some((change, change)),
    }
}

/// Environment and host, where they differ.
fn differences(base: &Record, new: &Record) -> Vec<Difference> {
    let mut all = Vec::new();
    let mut add = |name: String, left: String, right: String| {
        if left != right {
            all.push((name, left, right));
        }
    };
    let (left, right) = (&base.started, &new.started);
    add("fathom".to_owned(), left.tool_version.clone(), right.tool_version.clone());
    add("host".to_owned(), left.facts.host.clone(), right.facts.host.clone());
    add("processor".to_owned(), left.facts.cpu.model.clone(), right.facts.cpu.model.clone());
    add("memory".to_owned(), left.facts.memory.to_string(), right.facts.memory.to_string());
    let targets = |record: &Record| -> String {
        let step = record.steps.first().map(|step| &step.started.step);
        step.map_or_else(String::new, |step| {
            step.targets.iter().map(|target| target.name.clone()).collect::<Vec<_>>().join(", ")
        })
    };
    add("targets".to_owned(), targets(base), targets(new));
    let fact = |facts: &[EnvironmentFact], subject: &str, name: &str| {
        let found = facts.iter().find(|fact| fact.subject == subject && fact.name == name);
        found.and_then(|fact| fact.value.clone()).unwrap_or_else(|| "absent".to_owned())
    };
    let (before, after) = (&left.facts.environment, &right.facts.environment);
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for EnvironmentFact { subject, name, .. } in before.iter().chain(after) {
        let passes =
            PASSING.iter().any(|(of, which)| of == subject && which.is_none_or(|which| which == name));
        let (was, is) = (fact(before, subject, name), fact(after, subject, name));
        let passes = passes || is_noise(subject, name, &was, &is);
        if !passes && !seen.contains(&(subject, name)) {
            seen.push((subject, name));
            add(format!("{subject} {name}"), was, is);
        }
    }
    all
}

/// Whether a fact that is measured differs by no more than measuring does.
fn is_noise(subject: &str, name: &str, was: &str, is: &str) -> bool {
    let Some((.., share)) = MEASURED.iter().find(|(of, which, _)| (*of, *which) == (subject, name)) else {
        return false;
    };
    let number = |text: &str| text.split(' ').next().and_then(|number| number.parse::<f64>().ok());
    let pair = number(was).zip(number(is));
    pair.is_some_and(|(was, is)| was.max(is) <= was.min(is) * (1.0 + share))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{StreamShape, record};
    use fathom_schema::{EngineKind, Fill, IoMode, OperationKind, Size, TimeLimit};

    fn run(rate: u64) -> Record {
        record(&[StreamShape {
            rates: vec![(OperationKind::Read, rate)],
            seconds: 60,
            ..StreamShape::default()
        }])
    }

    fn runs(rates: &[u64]) -> Vec<Record> {
        rates.iter().map(|&rate| run(rate)).collect()
    }

    fn check(base: &[u64], new: &[u64], expect: Verdict) -> Comparison {
        let (base, new) = (runs(base), runs(new));
        let (base, new): (Vec<_>, Vec<_>) = (base.iter().collect(), new.iter().collect());
        let found = compare(&base, &new, 0.03).expect("both have the step");
        assert_eq!(found.verdict, expect, "{found:#?}");
        found
    }

    #[test]
    fn equals_are_equivalent_and_a_tenth_is_not() {
        let found = check(&[10_000], &[10_000], Verdict::Equivalent);
        assert!(found.differences.is_empty() && found.remarks[0].contains("one run"), "{found:#?}");
        check(&[10_000], &[9_000], Verdict::Regressed);
        check(&[10_000], &[11_200], Verdict::Improved);
        check(&[10_000, 10_010, 9_990], &[10_005, 10_000, 9_995], Verdict::Equivalent);
        check(&[10_000, 10_010, 9_990], &[9_000, 9_010, 9_020], Verdict::Regressed);
    }

    #[test]
    fn one_run_is_held_against_several_as_one_more_of_them() {
        check(&[10_000, 10_010], &[9_000], Verdict::Regressed);
        check(&[10_000, 10_010, 9_990], &[11_200], Verdict::Improved);
        check(&[10_500], &[10_000, 10_010, 9_990], Verdict::Regressed);
        let found = check(&[10_000, 10_100, 9_900], &[10_050], Verdict::Inconclusive);
        // t(0.975 of each of two statements, 2 degrees) = 6.205, s = 100, √(1 + 1/3): ± 716 of 10,000.
        let (low, high) = found.steps[0].metrics[0].interval.expect("three runs tell how they vary");
        assert!(((high - low) / 2.0 - 0.07165).abs() < 2e-4, "{low} {high}");
    }

    #[test]
    fn runs_that_differ_too_much_ask_for_more() {
        let found = check(&[10_000, 10_600, 9_400], &[9_900, 10_500, 9_300], Verdict::Inconclusive);
        assert!(found.more_runs.is_some_and(|more| more > 5), "{:?}", found.more_runs);
        let floor = found.steps[0].noise_floor.expect("there are three runs");
        assert!((floor - 0.06).abs() < 1e-3, "{floor}");
        // Two runs a side tell little: t has two degrees of freedom.
        check(&[10_000, 10_200], &[9_000, 9_200], Verdict::Inconclusive);
    }

    #[test]
    fn a_step_without_figures_is_not_passed_over() {
        let mut base = run(10_000);
        crate::sample::push(&mut base, &[StreamShape::default()], 1);
        base.steps[1].started.step.name = "second".to_owned();
        let mut failed = base.clone();
        for worker in &mut failed.steps[1].finished.as_mut().unwrap().streams[0].workers {
            worker.tally.kinds.clear();
        }
        let found = compare(&[&base], &[&failed], 0.03).unwrap();
        assert_eq!(found.verdict, Verdict::Inconclusive);
        assert!(found.remarks.iter().any(|remark| remark.contains("second")), "{:?}", found.remarks);
        // In one of several runs alike, and by name wherever it stands.
        let mut turned = base.clone();
        turned.steps.swap(0, 1);
        let found = compare(&[&base, &turned], &[&base, &failed], 0.03).unwrap();
        assert_eq!((found.verdict, found.steps.len()), (Verdict::Inconclusive, 1));
        let change = found.steps[0].metrics[0].change;
        assert!(change.abs() < 1e-9, "{change}");
    }

    #[test]
    fn one_run_asks_for_few_more_and_not_for_as_many_as_it_has_intervals() {
        let (base, mut new) = (run(10_000), run(9_800));
        for interval in &mut new.steps[0].intervals {
            let is_even = interval.sequence.is_multiple_of(2);
            interval.tally.kinds[0].operations = if is_even { 10_780 } else { 8_820 };
        }
        let found = compare(&[&base], &[&new], 0.03).unwrap();
        assert!(found.more_runs.is_none_or(|more| more < 20), "{found:#?}");
    }

    #[test]
    fn what_differs_between_hosts_is_named() {
        let (base, mut new) = (run(100), run(100));
        new.started.facts.host = "lab2".to_owned();
        new.started.facts.environment.push(EnvironmentFact {
            subject: "cpu".to_owned(),
            name: "governor".to_owned(),
            value: Some("powersave".to_owned()),
            source: String::new(),
        });
        let found = compare(&[&base], &[&new], 0.03).unwrap().differences;
        let of = |name: &str, left: &str, right: &str| (name.to_owned(), left.to_owned(), right.to_owned());
        assert_eq!(found, [of("host", "lab1", "lab2"), of("cpu governor", "absent", "powersave")]);
    }

    #[test]
    fn what_is_measured_of_a_host_differs_by_more_than_its_noise() {
        let with = |cost: &str| {
            let mut one = run(100);
            one.started.facts.environment.push(EnvironmentFact {
                subject: "clock".to_owned(),
                name: "cost of a reading".to_owned(),
                value: Some(cost.to_owned()),
                source: String::new(),
            });
            one
        };
        let base = with("10.0 ns");
        for (cost, expect) in [("13.3 ns", 0), ("7.6 ns", 0), ("13.4 ns", 1), ("1000.0 ns", 1)] {
            let found = compare(&[&base], &[&with(cost)], 0.03).unwrap().differences;
            assert_eq!(found.len(), expect, "{cost}: {found:?}");
        }
        assert_eq!(compare(&[&base], &[&run(100)], 0.03).unwrap().differences.len(), 1, "absent");
    }

    #[test]
    fn what_differs_between_jobs_is_named() {
        let check = |change: &dyn Fn(&mut fathom_schema::Step), expect: &[(&str, &str, &str)]| {
            let (base, mut new) = (run(100), run(100));
            change(&mut new.steps[0].started.step);
            let found = compare(&[&base], &[&new], 0.03).unwrap();
            assert!(found.differences.is_empty(), "{:?}", found.differences);
            let told: Vec<(&str, &str, &str)> =
                found.job_differences.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str())).collect();
            assert_eq!(told, expect);
        };
        check(&|_| (), &[]);
        // Seeds are no difference.
        check(&|step| step.streams[0].workers[0].seed += 1, &[]);
        check(&|step| step.streams[0].queue_depth = 32, &[("queue depth", "4", "32")]);
        check(
            &|step| step.streams[0].workload.cases[0].size = Size::Fixed(65_536),
            &[("block size", "4 KiB", "64 KiB")],
        );
        check(
            &|step| step.streams[0].workload.cases[0].kind = OperationKind::Write,
            &[("mix", "read", "write")],
        );
        check(
            &|step| step.streams[0].workload.cases[0].random = false,
            &[("access", "random", "sequential")],
        );
        check(
            &|step| {
                step.streams[0].pacing = fathom_schema::Pacing::Open {
                    rate: 1000.0,
                    arrival: fathom_schema::Arrival::Constant,
                    course: Vec::new(),
                    backlog: fathom_schema::Backlog::Keep,
                };
            },
            &[("rate", "as fast as it goes", "1000 per second")],
        );
        check(
            &|step| {
                step.streams[0].limits.time = TimeLimit::Nanoseconds(5_000_000_000);
                step.streams[0].engine.kind = EngineKind::Psync;
                step.streams[0].engine.mode = IoMode::Buffered;
            },
            &[("time", "1 min", "5 s"), ("engine", "io_uring", "psync"), ("page cache", "passed by", "used")],
        );
        check(
            &|step| step.streams[0].workload.content.fill = Fill::Zero,
            &[("content, fill", "random", "zero")],
        );
        check(
            &|step| step.targets[0].size = fathom_units::Bytes::gib(1),
            &[("size of targets", "64 GiB", "1 GiB")],
        );
    }

    #[test]
    fn what_differs_in_all_steps_is_told_once() {
        let mut base = run(10_000);
        crate::sample::push(&mut base, &[StreamShape::default()], 1);
        base.steps[1].started.step.name = "second".to_owned();
        let mut new = base.clone();
        for step in &mut new.steps {
            step.started.step.streams[0].queue_depth = 99;
        }
        new.steps[1].started.step.streams[0].workload.run_length = 8;
        let found = compare(&[&base, &base], &[&base, &new], 0.03).unwrap();
        assert_eq!(found.job_differences, [], "the first runs are of one job");
        assert!(
            found
                .remarks
                .iter()
                .any(|one| one == "1 of the 2 runs of the other side are of another job than its first")
        );
        let found = compare(&[&base], &[&new], 0.03).unwrap().job_differences;
        let names: Vec<&str> = found.iter().map(|one| one.0.as_str()).collect();
        assert_eq!(names, ["queue depth", "step second: length of a run"]);
    }
}
