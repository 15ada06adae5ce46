//! Two sides of runs compared: is the new one worse, better, the same within a margin, or can that not be told yet?
//!
//! The unit of replication is the run. Where a side has a single one, its intervals stand in for runs, thinned to as many
//! as are independent; that says nothing about what differs from one run to the next, and the result says so.

mod change;
mod curves;
mod environment;
mod gate;
mod history;
mod jobs;
mod matched;
mod parts;
mod percentiles;
mod places;
mod questions;
mod side;
mod words;

pub use curves::{CurveChange, CurveFigure};
pub use environment::{FactDifference, environments};
pub use gate::{MORE_RUNS_MAX, Verdict, judge, more_runs};
pub use history::{
    FigureHistory, History, LevelChange, LoadHistory, Outlook, RUNS_MIN, Standing, Turn, history, is_one_job,
    is_untold,
};
pub use matched::{Kind, step_names, steps_in_common};
pub use parts::{PartComparison, other_losses, possible_losses};
pub use side::{Replicates, Series, StepSide};

use crate::pts::{self, Ending};
use change::{Between, Told, change_interval, change_of_one, sample, widened};
use fathom_schema::{Finding, Record, StepRecord};
use gate::more_runs_of;
use matched::{Matched, Matches, matched};
use parts::{Compared, Part};
use percentiles::percentiles;

/// Quantiles of the latency that are set side by side.
pub const QUANTILES: [f64; 6] = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999];
/// The change from which on an interval that reaches so far to either side says nothing, not even an order of magnitude: of
/// many statements together with two runs a side, Student's t goes to hundreds, and its exponential to any number.
pub const WIDE: f64 = 10.0;

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
    /// Interval of the change; `None` as well where it is so wide that it says nothing ([`WIDE`]).
    pub interval: Option<(f64, f64)>,
    /// Whether it is known and so wide that it says nothing.
    pub is_wide: bool,
    /// The statement.
    pub verdict: Verdict,
    /// Runs per side still needed for a statement, at most [`MORE_RUNS_MAX`]; for [`Verdict::Inconclusive`] only, where it is known
    /// how much the figure varies.
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
    /// runs, or with one run of its rounds, else the difference of its halves.
    pub noise_floor: Option<f64>,
    /// What the values of the first and of the second side are of.
    pub replicates: (Replicates, Replicates),
    /// Its streams, and the kinds of operations of those that mix some; none where it has one of one kind.
    pub parts: Vec<PartComparison>,
}

/// Two sides compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// What is set beside each other.
    pub kind: Kind,
    /// Steps, cells or loads that both have.
    pub steps: Vec<StepComparison>,
    /// What the curves or objectives of both come to; empty where they are neither.
    pub curve: Vec<CurveFigure>,
    /// The loads of each side, where they have none in common.
    pub unlike: [Vec<String>; 2],
    /// The worst of the deciding figures: regressed, else inconclusive, else improved, else equivalent. Figures of parts are
    /// among them where something is told of them. Nothing is equivalent of which another figure regressed ([`other_losses`]).
    pub verdict: Verdict,
    /// Runs per side still needed, for an inconclusive verdict.
    pub more_runs: Option<u64>,
    /// Runs of the first and of the second side.
    pub runs: (usize, usize),
    /// Runs whose figures are not about the device, so that nothing follows from theirs.
    pub invalid: Vec<InvalidRun>,
    /// What else was found about runs: warnings, and further findings of those that are invalid.
    pub warnings: Vec<RunFinding>,
    /// What differs between the jobs, so that a change may come of it.
    pub job_differences: Vec<Difference>,
    /// What differs between the hosts and their environment.
    pub differences: Vec<Difference>,
    /// The same of facts that are others whenever one looks.
    pub passing: Vec<Difference>,
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

/// A finding about a run that does not forbid a statement, but may be why something changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFinding {
    /// Whether it is of the first side.
    pub is_base: bool,
    /// The run's identity.
    pub run: String,
    /// What was found.
    pub finding: Finding,
}

/// Why two sides are not compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Apart {
    /// A fragment that says it of "they", and what to do.
    pub reason: String,
    /// What their curves come to nevertheless.
    pub curve: Vec<CurveFigure>,
}

/// Compares sides of at least one run each; `margin` is the change that matters, e.g. 0.03.
///
/// # Errors
/// When the sides have nothing in common that measures.
///
/// # Panics
/// When a side has no run.
pub fn compare(base: &[&Record], new: &[&Record], margin: f64) -> Result<Comparison, Apart> {
    let (first, second) = (base[0], new[0]);
    let curve = curves::figures(base, new, margin);
    let Matches { kind, all, left_out, unlike } = match matched(base, new) {
        Ok(found) => found,
        Err(reason) => return Err(Apart { reason, curve }),
    };
    // What the curves of one axis come to can be told apart without a load in common.
    if all.is_empty() && curve.is_empty() {
        let reason = format!("they have no {} in common; compare runs of one job", kind.name());
        return Err(Apart { reason, curve });
    }
    let (parts, mut remarks) = parts::of_all(kind, &all);
    let levels = parts::levels(&all, &parts);
    let mut steps = Vec::new();
    let (mut agree, mut is_complete) = ([false; 2], true);
    for (one, parts) in all.iter().zip(&parts) {
        match [&one.base, &one.new].map(|runs| StepSide::of(runs, &Part::default())) {
            [Some(left), Some(right)] => {
                let sides = Sides { one, base: &left, new: &right, margin, level: levels.0 };
                let agreed = [left.agrees, right.agrees];
                let found = parts::compared(one, agreed, parts, margin, levels.1);
                let Compared { parts, latencies, silent } = found;
                is_complete &= silent.is_empty();
                remarks.extend(silent);
                let mut found = StepComparison { parts, ..step(&sides) };
                let operations = [left.operations(), right.operations()];
                remarks.extend(parts::weighed(&mut found, &latencies, operations, margin));
                remarks.extend(of_step(&found, operations[0].min(operations[1])));
                agree = [agree[0] | left.agrees, agree[1] | right.agrees];
                steps.push(found);
            }
            _ => remarks
                .push(format!("{}: some run measured nothing in it, so nothing can be said of it", one.name)),
        }
    }
    is_complete &= steps.len() == all.len();
    let deciding = || steps.iter().flat_map(|step| &step.metrics).filter(|metric| metric.decides);
    let of_curves = curve.iter().filter_map(CurveFigure::deciding).map(|change| change.verdict);
    let open = curve.iter().filter(|one| one.is_open).map(|_| Verdict::Inconclusive);
    let verdicts = deciding().map(|metric| metric.verdict).chain(of_curves).chain(open);
    let verdict = verdicts.max().unwrap_or(Verdict::Inconclusive);
    // A loss in one step is a loss; anything milder says nothing of steps without figures.
    let verdict = if is_complete { verdict } else { verdict.max(Verdict::Inconclusive) };
    let verdict = parts::verdict(&steps).map_or(verdict, |of_parts| verdict.max(of_parts));
    let lost = || steps.iter().flat_map(|step| possible_losses(step, margin)).map(|(_, metric)| metric);
    let verdict = if lost().next().is_some() { verdict.max(Verdict::Inconclusive) } else { verdict };
    let is_unlike =
        verdict == Verdict::Equivalent && steps.iter().any(|step| other_losses(step).next().is_some());
    let verdict = if is_unlike { Verdict::Inconclusive } else { verdict };
    if verdict == Verdict::Improved {
        remarks.extend(steps.iter().filter_map(parts::worse_besides));
    }
    if matches!(verdict, Verdict::Equivalent | Verdict::Improved) {
        remarks.extend(steps.iter().filter_map(parts::untold));
    }
    let runs = (base.len(), new.len());
    remarks.extend(of_single_runs(&steps, runs));
    remarks.extend(of_alike(agree));
    if kind == Kind::Cells {
        remarks.extend(base.iter().chain(new).filter_map(|run| not_steady(run)));
    }
    if left_out > 0 {
        remarks.push(match left_out {
            1 => format!("1 {} has no counterpart and is left out", kind.name()),
            _ => format!("{left_out} {}s have no counterpart and are left out", kind.name()),
        });
    }
    if questions::goals(first).zip(questions::goals(second)).is_some_and(|(one, other)| one != other) {
        let what = "the highest rates within them are two figures, which are not set beside each other";
        remarks.push(format!("the limits to keep differ: {what}"));
    }
    remarks.extend(of_other_jobs(&all, base, new));
    remarks.extend(places::remark(&all, first, second));
    let (differences, passing) = environment::differences(first, second);
    Ok(Comparison {
        kind,
        job_differences: job_differences(&all, (true, 0, first), (false, 0, second)),
        more_runs: if verdict == Verdict::Inconclusive {
            more_runs_of(deciding().chain(lost()))
        } else {
            None
        },
        steps,
        curve,
        unlike,
        verdict,
        runs,
        invalid: Vec::new(),
        warnings: Vec::new(),
        differences,
        passing,
        remarks,
    })
}

/// One run: whether it is of the first side, which of that, and its record.
type Run<'a> = (bool, usize, &'a Record);

/// What two runs were asked to do differently: what to find out, and in what belongs together of both.
fn job_differences(all: &[Matched<'_>], left: Run<'_>, right: Run<'_>) -> Vec<Difference> {
    let pairs: Vec<(&StepRecord, &StepRecord)> = all
        .iter()
        .filter_map(|one| one.first_step(left.0, left.1).zip(one.first_step(right.0, right.1)))
        .collect();
    let mut found = questions::differences(left.2, right.2);
    found.extend(jobs::differences(&pairs));
    let is_told = found.iter().any(|(name, ..)| name.contains("pacing"));
    found.extend(curves::arrivals(left.2, right.2).filter(|_| left.2.started.question.is_some() && !is_told));
    found
}

/// That not all runs of a side are of one job.
fn of_other_jobs(all: &[Matched<'_>], base: &[&Record], new: &[&Record]) -> Vec<String> {
    let of_side = |(name, is_base, side): (&str, bool, &[&Record])| {
        let is_other = |run: &usize| {
            !job_differences(all, (is_base, 0, side[0]), (is_base, *run, side[*run])).is_empty()
        };
        let others = (1..side.len()).filter(is_other).count();
        let count = side.len();
        let told =
            || format!("{others} of the {count} runs of the {name} side are of another job than its first");
        (others > 0).then(told)
    };
    [("first", true, base), ("other", false, new)].into_iter().filter_map(of_side).collect()
}

/// What stands in for runs where a side has one.
fn of_single_runs(steps: &[StepComparison], (base, new): (usize, usize)) -> Option<String> {
    let is_of_rounds =
        |step: &StepComparison| [step.replicates.0, step.replicates.1].contains(&Replicates::Rounds);
    let stand_in = if steps.iter().any(is_of_rounds) {
        "its rounds stand in for runs, with intervals that allow for rounds which resemble one another or go somewhere, and "
    } else {
        ""
    };
    (base.min(new) == 1).then(|| match base.max(new) {
        1 => format!(
            "a side has one run: {stand_in}what differs from run to run is not in the intervals; five runs a side, in turns, tell"
        ),
        _ => "a side has one run, which is taken to differ from run to run as those of the other do; five runs a side, in turns, tell"
            .to_owned(),
    })
}

/// That runs of a side which are one and the same count as one.
fn of_alike(agree: [bool; 2]) -> Option<String> {
    let sides = match agree {
        [false, false] => return None,
        [true, false] => "the first side",
        [false, true] => "the other side",
        [true, true] => "both sides",
    };
    Some(format!(
        "the runs of {sides} agree to the last digit, as a simulated device does with one seed: they count as one run, and the \
         intervals come of what varies within it"
    ))
}

/// What to say of a step's figures that decide and are not known, or have no interval.
fn of_step(found: &StepComparison, fewest: f64) -> Vec<String> {
    let name = &found.name;
    let of_needs = |metric: &Metric| {
        let needs = metric.needs?;
        Some(format!(
            "{name}: {} is n/a (needs n ≥ {needs} operations a side, one has {fewest}): with fewer than ten of them beyond a \
             percentile it is too much of an accident to compare",
            metric.name
        ))
    };
    let mut all: Vec<String> = found.metrics.iter().filter_map(of_needs).collect();
    let untold = |is_wide: bool| {
        let is_untold = |metric: &&Metric| {
            metric.decides && metric.interval.is_none() && metric.needs.is_none() && metric.is_wide == is_wide
        };
        found.metrics.iter().filter(is_untold).map(|metric| metric.name.as_str()).collect::<Vec<_>>()
    };
    let (wide, untold) = (untold(true), untold(false));
    if !wide.is_empty() {
        all.push(format!(
            "{name}: the interval of {} is n/a: so few values do not even tell whether it is ten times as much or a tenth",
            wide.join(" and ")
        ));
    }
    if !untold.is_empty() {
        all.push(format!(
            "{name}: no interval of {}: the intervals of a run are too few, or follow one another too closely; \
             measure for longer, or several runs a side",
            untold.join(" and ")
        ));
    }
    all
}

/// That a run's test did not become steady, or did not come to its end.
fn not_steady(run: &Record) -> Option<String> {
    let said = match pts::answer(run)?.ending {
        Ending::NotSteady => "did not become steady: its last rounds stand for it",
        Ending::Unfinished => "did not come to its end: what there is stands for it",
        Ending::Steady | Ending::Complete => return None,
    };
    Some(format!("run {} {said}", run.started.run))
}

/// What belongs together, measured by both sides.
struct Sides<'a> {
    one: &'a Matched<'a>,
    base: &'a StepSide,
    new: &'a StepSide,
    margin: f64,
    level: f64,
}

impl Sides<'_> {
    /// Runs like these of the smaller side: with one on a side its rounds or intervals are values, but no runs.
    fn runs(&self) -> usize {
        let (base, new) = (&self.base.iops, &self.new.iops);
        if base.is_of_runs() && new.is_of_runs() { base.values.len().min(new.values.len()) } else { 1 }
    }

    /// Rounds of each run where they stand in for runs; else 1.
    fn rounds(&self) -> usize {
        let sides = [&self.base.iops, &self.new.iops];
        let are_rounds = sides.iter().all(|side| side.of == Replicates::Rounds);
        if are_rounds { sides.map(|side| side.values.len()).into_iter().min().unwrap_or(1) } else { 1 }
    }

    /// Interval of a change of values of both sides: what a run beside several differs by is taken from these.
    fn interval(&self, base: &Told<'_>, new: &Told<'_>, change: f64) -> Option<Between> {
        let (of_base, of_new) = (self.base.iops.of, self.new.iops.of);
        let of_chance = match (of_base == Replicates::Runs, of_new == Replicates::Runs) {
            (true, false) => change_of_one(&base.sample(), change, self.level),
            (false, true) => change_of_one(&new.sample(), change, self.level),
            _ => {
                let samples = sample(base, of_base).zip(sample(new, of_new));
                samples.and_then(|(left, right)| change_interval(&left, &right, change, self.level))
            }
        };
        of_chance.map(|found| widened(found, change, base.off() + new.off(), 1.0))
    }
}

fn step(sides: &Sides<'_>) -> StepComparison {
    let &Sides { one, base, new, .. } = sides;
    StepComparison {
        name: one.name.clone(),
        metrics: metrics(sides),
        noise_floor: base.iops.noise_floor(),
        replicates: (base.iops.of, new.iops.of),
        parts: Vec::new(),
    }
}

fn metrics(sides: &Sides<'_>) -> Vec<Metric> {
    means(sides).into_iter().chain(percentiles(sides)).collect()
}

/// IOPS, bandwidth and the mean latency.
fn means(sides: &Sides<'_>) -> Vec<Metric> {
    let &Sides { one, base, new, margin, level } = sides;
    let metric = |(name, more_is_better, left, right): (&str, bool, &Series, &Series)| {
        let change = right.figure() / left.figure() - 1.0;
        let figure = Figure {
            name: name.to_owned(),
            more_is_better,
            figures: (left.figure(), right.figure()),
            interval: sides.interval(&Told::exactly(&left.values), &Told::exactly(&right.values), change),
            off: 0.0,
            decides: one.deciding().contains(&name),
            count: (sides.runs(), sides.rounds()),
            needs: None,
        };
        figure.judged(margin, level)
    };
    [
        ("iops", true, &base.iops, &new.iops),
        ("bandwidth", true, &base.bandwidth, &new.bandwidth),
        ("mean latency", false, &base.mean_latency, &new.mean_latency),
    ]
    .map(metric)
    .to_vec()
}

/// A figure of both sides, not judged yet.
struct Figure {
    name: String,
    more_is_better: bool,
    figures: (f64, f64),
    interval: Option<Between>,
    /// What the interval reaches in any case, a share: see [`widened`].
    off: f64,
    decides: bool,
    /// Runs of the smaller side, and the rounds of each.
    count: (usize, usize),
    needs: Option<u64>,
}

impl Figure {
    fn judged(self, margin: f64, level: f64) -> Metric {
        let Self { name, more_is_better, figures: (base, new), interval, off, decides, count, needs } = self;
        let change = if base == new { 0.0 } else { new / base - 1.0 };
        let interval = interval.filter(|interval| !interval.half().is_nan());
        let verdict = judge(interval.map(Between::changes), margin, more_is_better);
        let is_open = verdict == Verdict::Inconclusive;
        let more_runs = interval.filter(|_| is_open).and_then(|interval| {
            // Of a dozen figures that are alike, one lies next to a margin by chance; what may be no change is taken for none. Not
            // where any change matters: none lies on the margin then.
            let (low, high) = interval.changes();
            let change = if margin > 0.0 && low <= 0.0 && high >= 0.0 { 0.0 } else { change };
            more_runs(change, (interval.half(), off), margin, count, level)
        });
        // Where it was enough for a verdict, it says something however wide it is.
        let is_wide = is_open && interval.is_some_and(|interval| interval.half() > WIDE.ln_1p());
        let interval = interval.filter(|_| !is_wide).map(Between::changes);
        Metric {
            name,
            more_is_better,
            base,
            new,
            change,
            interval,
            is_wide,
            verdict,
            more_runs,
            decides,
            needs,
        }
    }
}

#[cfg(test)]
mod tests {
    mod buckets;
    mod parts;
    mod queues;
    mod replicates;
    mod streams;

    use super::*;
    use crate::sample::{StreamShape, record};
    use fathom_schema::{EngineKind, EnvironmentFact, Fill, IoMode, OperationKind, Size, TimeLimit};

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
        // t(0.975 of each of two statements, 2 degrees) = 6.205, s = 1 %, √(1 + 1/3): a factor of e^0.07165 either way.
        let (low, high) = found.steps[0].metrics[0].interval.expect("three runs tell how they vary");
        assert!(((high.ln_1p() - low.ln_1p()) / 2.0 - 0.07165).abs() < 2e-4, "{low} {high}");
        assert!((f64::midpoint(high.ln_1p(), low.ln_1p()) - 1.005_f64.ln()).abs() < 1e-9, "{low} {high}");
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

    /// What is told apart from no change at all is told, and what is not yet takes some more runs, as of any other margin.
    #[test]
    fn a_margin_of_nothing_is_one() {
        let found = |new: &[u64]| {
            let (base, new) = (runs(&[10_000, 10_100, 9_900]), runs(new));
            let (base, new): (Vec<_>, Vec<_>) = (base.iter().collect(), new.iter().collect());
            compare(&base, &new, 0.0).expect("both have the step").steps[0].metrics[0].clone()
        };
        for (new, expect) in
            [([9_000, 9_100, 8_900], Verdict::Regressed), ([11_200, 11_300, 11_100], Verdict::Improved)]
        {
            let iops = found(&new);
            assert_eq!(
                (iops.name.as_str(), iops.verdict, iops.more_runs),
                ("iops", expect, None),
                "{iops:?}"
            );
        }
        // t(0.975 of each of two statements, 4 degrees) = 3.495 · 1 % · √(2/3) = 2.85 %, of which a change of 1 % takes a third.
        let iops = found(&[10_100, 10_200, 10_000]);
        assert_eq!(iops.verdict, Verdict::Inconclusive, "{iops:?}");
        assert!(iops.more_runs.is_some_and(|more| (5..20).contains(&more)), "{iops:?}");
        // A change of exactly nothing is told by no number.
        let iops = found(&[10_000, 10_100, 9_900]);
        assert_eq!(
            (iops.change, iops.verdict, iops.more_runs),
            (0.0, Verdict::Inconclusive, None),
            "{iops:?}"
        );
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
            &[("content: fill", "random", "zero")],
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
