//! One job over many runs, in the order of their starts: where its figures went from one level to another, and whether the newest run
//! lies apart from those before it.
//!
//! A change of level is told from two runs on (three in a long history, of which two odd ones may follow one another by chance),
//! by likelihood ([`crate::statistics::course_among`]); what a single run shows is told by the interval of a comparison.

use super::matched::{Matched, Matches, matched};
use super::parts::{self, Part};
use super::side::StepSide;
use super::{Comparison, Difference, Kind, Metric, Verdict, compare, curves, environment, job_differences};
use crate::statistics::{bucket_at, course_among, t_quantile, trend};
use fathom_metrics::bucket_bounds;
use fathom_schema::{Outcome, Record, TargetKind};
use std::path::PathBuf;

/// Fewest runs that say something: two of a new level, and three that show how much runs vary.
pub const RUNS_MIN: usize = 5;
/// Fewest runs of a level that the newest is set beside.
const LEVEL_MIN: usize = 3;
/// Runs that a new level takes, and from how many runs on it takes one more.
const LASTING: usize = 2;
const LONG: usize = 30;
/// Fewest runs beside the newest of which a slow drift is told: of fewer, a change at once looks like one.
const DRIFT_MIN: usize = 8;
/// Percentiles whose course is told, where every run has operations enough.
const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];
/// Figures of a load, of which those that do not decide hold back an answer that all is well.
const FIGURES: usize = 6;
/// Operations that have to lie beyond a percentile.
const BEYOND_MIN: f64 = 10.0;

/// What many runs of one job come to.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// What is followed.
    pub kind: Kind,
    /// Steps, cells or loads that all runs have, and what their curves come to.
    pub loads: Vec<LoadHistory>,
    /// The first run since the last change of a figure that decides: those from there on have one level.
    pub level_from: usize,
    /// The first of the runs that the newest is set beside: those of its level before it, or the three before it.
    pub beside: usize,
    /// The newest run beside those; absent where there are fewer than [`RUNS_MIN`].
    pub newest: Option<Comparison>,
    /// Where something changed, with what else is another there.
    pub turns: Vec<Turn>,
    /// What follows.
    pub outlook: Outlook,
    /// What a reader should know.
    pub remarks: Vec<String>,
}

/// What follows from a history. In the order in which one outweighs another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outlook {
    /// Nothing shows that anything changed.
    Unchanged,
    /// The last change was to the better, or the newest run is.
    Improved,
    /// The runs are too few, or a figure that does not decide is worse.
    Inconclusive,
    /// The last change of a figure was to the worse, or the newest run is.
    Regressed,
}

impl Outlook {
    /// Name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Improved => "improved",
            Self::Inconclusive => "inconclusive",
            Self::Regressed => "regressed",
        }
    }
}

/// A step, a cell or a load over all runs.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadHistory {
    /// Its name.
    pub name: String,
    /// What of it, where it is not the whole: its stream, or the kind of operations.
    pub part: Option<String>,
    /// Its figures.
    pub figures: Vec<FigureHistory>,
}

/// One figure over all runs.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureHistory {
    /// `iops`, `bandwidth` (bytes/s), `mean latency` or a percentile such as `p99` (ns); of a curve such as `peak`.
    pub name: String,
    /// Whether more of it is better.
    pub more_is_better: bool,
    /// Whether it decides.
    pub decides: bool,
    /// Its value in each run, the oldest first.
    pub values: Vec<f64>,
    /// Where it went to another level at once, in order.
    pub changes: Vec<LevelChange>,
    /// How far it drifted from the first to the newest run, as a share, where it did slowly and certainly.
    pub drift: Option<f64>,
}

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelChange {
    /// The first run of the new level.
    pub at: usize,
    /// Mean of the level before.
    pub before: f64,
    /// Mean of the new one.
    pub after: f64,
}

impl LevelChange {
    /// As a share of the level before.
    pub fn change(&self) -> f64 {
        self.after / self.before - 1.0
    }
}

/// A run from which on something is another than in the run before it.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The run.
    pub at: usize,
    /// What differs of the jobs.
    pub jobs: Vec<Difference>,
    /// What differs of the hosts and their environment.
    pub environment: Vec<Difference>,
}

/// Where a figure stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standing {
    /// How far its level is from the one that counts, as a share: the best there was where it is worse by more than the margin, else
    /// the one before the last change.
    pub change: f64,
    /// The first run after that level; `None` of a drift.
    pub since: Option<usize>,
    /// The first run of the newest level, where that is a later one: a part of a loss was made good.
    pub partly: Option<usize>,
}

/// What figures are told apart by.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// The change that matters.
    margin: f64,
    /// Figures that decide, any of which may show a change by chance.
    deciding: usize,
    /// The same with those that do not.
    all: usize,
}

impl FigureHistory {
    fn of(name: &str, more_is_better: bool, decides: bool, values: Vec<f64>, limits: Limits) -> Self {
        let Limits { margin, deciding, all } = limits;
        let series = if decides { deciding } else { all };
        let lasting = if values.len() > LONG { LASTING + 1 } else { LASTING };
        let of = |values: &[f64]| course_among(values, lasting, margin, series);
        let (found, before) = (of(&values), of(&values[..values.len() - 1]));
        // A newest run that lies apart from its level bends a series of steps into a curve.
        let found = if found.jumps.is_empty() && !before.jumps.is_empty() { before } else { found };
        let changes = found.jumps.iter().map(|jump| LevelChange {
            at: jump.at,
            before: jump.before,
            after: jump.after,
        });
        let may_drift = found.jumps.is_empty() && values.len() > DRIFT_MIN;
        let drift = may_drift.then(|| drift(&values, margin, series)).flatten();
        Self { name: name.to_owned(), more_is_better, decides, changes: changes.collect(), drift, values }
    }

    /// Whether a change is to the worse.
    pub fn is_worse(&self, change: f64) -> bool {
        (change < 0.0) == self.more_is_better
    }

    /// Where it stands, if it ever changed. A level that is worse than one before it by more than the `margin` is a loss, though a part of
    /// it was made good.
    pub fn standing(&self, margin: f64) -> Option<Standing> {
        if let Some(change) = self.drift {
            return Some(Standing { change, since: None, partly: None });
        }
        let last = self.changes.last()?;
        let best = |one: &&LevelChange, other: &&LevelChange| {
            let order = one.before.total_cmp(&other.before);
            if self.more_is_better { order } else { order.reverse() }
        };
        let best = self.changes.iter().max_by(best)?;
        let change = last.after / best.before - 1.0;
        Some(if self.is_worse(change) && change.abs() > margin {
            let partly = (best.at < last.at && !self.is_worse(last.change())).then_some(last.at);
            Standing { change, since: Some(best.at), partly }
        } else {
            Standing { change: last.change(), since: Some(last.at), partly: None }
        })
    }

    /// Whether it stands worse than before.
    pub fn is_loss(&self, margin: f64) -> bool {
        self.standing(margin).is_some_and(|one| self.is_worse(one.change))
    }

    /// Whether it changed at all.
    pub fn has_changed(&self) -> bool {
        self.drift.is_some() || !self.changes.is_empty()
    }
}

/// How far a series that goes slowly went, where all of the interval of that is beyond the margin, and the newest run does not make
/// it alone.
fn drift(values: &[f64], margin: f64, series: usize) -> Option<f64> {
    // Each of many is told with the less doubt, so that all of them hold together (Bonferroni).
    let freedom = values.len() as f64 - 3.0;
    let times = t_quantile(1.0 - 0.05 / series.max(1) as f64, freedom) / t_quantile(0.95, freedom);
    let of = |values: &[f64]| {
        let found = trend(values)?;
        let start = found.mean - found.change / 2.0;
        let end = |end: f64| (found.change + (end - found.change) * times) / start;
        let (low, high) = (end(found.interval.0), end(found.interval.1));
        (start > 0.0 && (low > margin || high < -margin)).then(|| found.change / start)
    };
    let without_newest = of(&values[..values.len() - 1])?;
    of(values).filter(|found| found.signum() == without_newest.signum())
}

/// Whether two runs are of one job: the same is asked of the same targets. One that did not come to its end may have fewer steps.
pub fn is_one_job(one: &Record, other: &Record) -> bool {
    // What steps were made of a search comes of what was measured.
    let targets = |record: &Record| -> Vec<(String, Option<PathBuf>)> {
        let first = record.steps.first().map(|step| step.started.step.targets.as_slice());
        let place = |kind: &TargetKind| match kind {
            TargetKind::File { path, .. } | TargetKind::BlockDevice { path } => Some(path.clone()),
            _ => None,
        };
        let targets = first.unwrap_or_default().iter();
        targets.map(|target| (target.name.clone(), place(&target.kind))).collect()
    };
    let is_alike = one.started.title == other.started.title
        && one.started.question.is_some() == other.started.question.is_some();
    let is_whole = [one, other].iter().all(|record| record.outcome() == Some(&Outcome::Complete));
    if is_alike && !is_whole && (one.steps.is_empty() || other.steps.is_empty()) {
        return one.started.sources == other.started.sources;
    }
    let is_same = |found: &Matches<'_>| {
        let (first, second) = (&(true, 0, one), &(false, 0, other));
        let has_all = one.started.question.is_some() || !is_whole || found.left_out == 0;
        found.unlike.iter().all(Vec::is_empty)
            && has_all
            && (one.started.question.is_some() || !found.all.is_empty())
            && job_differences(&found.all, *first, *second).is_empty()
    };
    is_alike && targets(one) == targets(other) && matched(&[one], &[other]).is_ok_and(|found| is_same(&found))
}

/// What runs of one job, the oldest first, come to; `margin` is the change that matters, e.g. 0.03.
///
/// # Errors
/// When they have nothing in common that measures.
///
/// # Panics
/// When there are fewer than two runs.
pub fn history(runs: &[&Record], margin: f64) -> Result<History, String> {
    let (newest, before) = runs.split_last().expect("there are two runs");
    let found = matched(before, &[*newest])?;
    let mut remarks = Vec::new();
    let mut loads = Vec::new();
    let (parts, told) = parts::of_all(found.kind, &found.all);
    let followed: Vec<(&Matched<'_>, Part)> = (found.all.iter().zip(parts))
        .flat_map(|(one, parts)| std::iter::once(Part::default()).chain(parts).map(move |part| (one, part)))
        .collect();
    let deciding = followed.iter().map(|(one, _)| one.deciding().len()).sum();
    let limits = Limits { margin, deciding, all: followed.len() * FIGURES };
    for (one, part) in &followed {
        match of_load(one, part, limits) {
            Some(load) => loads.push(load),
            None => {
                let of = parts::name(part.stream.as_deref(), part.kind);
                let of = if of.is_empty() { of } else { format!(", {of}") };
                remarks.push(format!("{}{of}: some run measured nothing in it, so it is left out", one.name));
            }
        }
    }
    let (curve, missing) = of_curves(runs, limits);
    loads.extend(curve);
    remarks.extend(
        missing.iter().map(|name| format!("{name}: some run does not come to one, so it is left out")),
    );
    // What is left out may be what changed.
    let is_complete = remarks.is_empty();
    remarks.extend(told);
    if loads.is_empty() {
        return Err(format!("they have no {} in common; name runs of one job", found.kind.name()));
    }
    if found.left_out > 0 {
        let kind = found.kind.name();
        remarks.push(match found.left_out {
            1 => format!("1 {kind} that not all runs have is left out"),
            count => format!("{count} {kind}s that not all runs have are left out"),
        });
    }
    let deciding = || loads.iter().flat_map(|load| &load.figures).filter(|figure| figure.decides);
    let level_from =
        deciding().filter_map(|figure| Some(figure.changes.last()?.at)).max().unwrap_or_default();
    let drifts = deciding().any(|figure| figure.drift.is_some());
    // Of a level that has few runs, or goes somewhere, the last three are what it is set beside, whatever they are of.
    let recent = before.len().saturating_sub(LEVEL_MIN);
    let beside = if drifts { recent } else { level_from.min(recent) };
    let newest =
        (runs.len() >= RUNS_MIN).then(|| compare(&before[beside..], &[*newest], margin).ok()).flatten();
    let outlook = match runs.len() {
        ..RUNS_MIN => Outlook::Inconclusive,
        _ => {
            let of_runs = newest.as_ref().map_or(Outlook::Unchanged, of_newest);
            let mut all = loads.iter().flat_map(|load| &load.figures);
            let is_worse = all.any(|figure| !figure.decides && figure.is_loss(margin));
            let mut newest = newest.iter().flat_map(|found| &found.steps).flat_map(|step| &step.metrics);
            let is_unknown = newest.any(|metric| metric.decides && is_untold(metric, margin));
            let is_open = !is_complete || is_worse || is_unknown;
            let open = if is_open { Outlook::Inconclusive } else { Outlook::Unchanged };
            of_changes(deciding(), margin).max(of_runs).max(open)
        }
    };
    Ok(History {
        kind: found.kind,
        turns: turns(runs, &found.all, &loads),
        level_from,
        beside,
        newest,
        outlook,
        loads,
        remarks,
    })
}

/// What follows from where figures stand.
fn of_changes<'a>(deciding: impl Iterator<Item = &'a FigureHistory>, margin: f64) -> Outlook {
    let of = |figure: &FigureHistory| {
        let Standing { change, .. } = figure.standing(margin)?;
        Some(if figure.is_worse(change) { Outlook::Regressed } else { Outlook::Improved })
    };
    deciding.filter_map(of).max().unwrap_or(Outlook::Unchanged)
}

/// What follows from the newest run beside those of its level. That a figure may have changed or not is no news: one run hardly
/// ever shows that it is the same.
fn of_newest(found: &Comparison) -> Outlook {
    let mut deciding = found.steps.iter().flat_map(|step| &step.metrics).filter(|metric| metric.decides);
    if found.verdict == Verdict::Regressed {
        Outlook::Regressed
    } else if found.verdict == Verdict::Improved || deciding.any(|one| one.verdict == Verdict::Improved) {
        Outlook::Improved
    } else {
        Outlook::Unchanged
    }
}

/// Whether a figure is another by more than the margin, and nothing tells how much it varies: of runs that agree to the last digit,
/// and are too short to tell how much they vary within.
pub fn is_untold(metric: &Metric, margin: f64) -> bool {
    let Metric { change, interval, is_wide, needs, .. } = metric;
    interval.is_none() && !is_wide && needs.is_none() && change.abs() > margin
}

/// The figures of a step, a cell or a load, or of a part of it; `None` where some run measured nothing in it.
fn of_load(one: &Matched<'_>, part: &Part, limits: Limits) -> Option<LoadHistory> {
    let of_run = |steps: &Vec<&_>| StepSide::of(std::slice::from_ref(steps), part);
    let sides: Vec<StepSide> = one.base.iter().chain(&one.new).map(of_run).collect::<Option<_>>()?;
    let deciding = one.deciding();
    let figure = |name: &str, more_is_better: bool, of: fn(&StepSide) -> f64| {
        let values = sides.iter().map(of).collect();
        FigureHistory::of(name, more_is_better, deciding.contains(&name), values, limits)
    };
    let mut figures = vec![figure("iops", true, |side| side.iops.figure())];
    if deciding.contains(&"bandwidth") {
        figures.push(figure("bandwidth", true, |side| side.bandwidth.figure()));
    }
    let value_of = |side: &StepSide, q: f64| {
        let is_supported = side.operations() * (1.0 - q) >= BEYOND_MIN;
        let (low, high) = bucket_bounds(bucket_at(&side.latencies(), q).filter(|_| is_supported)?);
        // No operation takes longer than the longest.
        Some((u64::midpoint(low, high) as f64).min(side.longest_ns))
    };
    let of_quantile =
        |q: &f64| Some((*q, sides.iter().map(|side| value_of(side, *q)).collect::<Option<Vec<f64>>>()?));
    let quantiles: Vec<(f64, Vec<f64>)> = QUANTILES.iter().filter_map(of_quantile).collect();
    // Of few operations the highest percentile that they are enough for stands in, or the mean.
    let asks_for_p99 = deciding.contains(&"p99");
    let highest = quantiles.iter().map(|(q, _)| *q).filter(|q| asks_for_p99 && *q <= 0.99).reduce(f64::max);
    let mean = sides.iter().map(|side| side.mean_latency.figure()).collect();
    let mean_decides = deciding.contains(&"mean latency") || asks_for_p99 && highest.is_none();
    figures.push(FigureHistory::of("mean latency", false, mean_decides, mean, limits));
    for (q, values) in quantiles {
        let name = format!("p{}", (q * 1e6).round() / 1e4);
        figures.push(FigureHistory::of(&name, false, highest == Some(q), values, limits));
    }
    let of = parts::name(part.stream.as_deref(), part.kind);
    Some(LoadHistory { name: one.name.clone(), part: Some(of).filter(|of| !of.is_empty()), figures })
}

/// What the curves of all runs come to: rates, of which more is better. And the names of those that some runs do not come to.
fn of_curves(runs: &[&Record], limits: Limits) -> (Option<LoadHistory>, Vec<String>) {
    let of_run = |run: &&Record| -> Vec<(String, f64)> {
        let rates = curves::figures(&[*run], &[*run], limits.margin).into_iter();
        let rates = rates.filter(|one| one.is_rate && one.name != curves::DOUBLED);
        rates.filter_map(|one| Some((one.name, one.new?.value))).collect()
    };
    let of_runs: Vec<Vec<(String, f64)>> = runs.iter().map(of_run).collect();
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in of_runs.iter().flatten() {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let (mut figures, mut missing) = (Vec::new(), Vec::new());
    for name in names {
        let value = |all: &Vec<(String, f64)>| all.iter().find(|one| one.0 == *name).map(|one| one.1);
        match of_runs.iter().map(value).collect::<Option<Vec<f64>>>() {
            Some(values) => figures.push(FigureHistory::of(name, true, true, values, limits)),
            None => missing.push(name.clone()),
        }
    }
    ((!figures.is_empty()).then(|| LoadHistory { name: "curve".to_owned(), part: None, figures }), missing)
}

/// What is another from each change on, beside the run before it, and wherever the job is.
fn turns(runs: &[&Record], all: &[Matched<'_>], loads: &[LoadHistory]) -> Vec<Turn> {
    let changes = || loads.iter().flat_map(|load| &load.figures).flat_map(|figure| &figure.changes);
    let newest = runs.len() - 1;
    let place = |run: usize| if run < newest { (true, run) } else { (false, 0) };
    let of_run = |at: usize| {
        let [(of_before, before), (of_own, own)] = [at - 1, at].map(place);
        let jobs = job_differences(all, (of_before, before, runs[at - 1]), (of_own, own, runs[at]));
        let is_change = at == newest || changes().any(|change| change.at == at);
        // Measured anew each time, and another on a busy host: no cause of anything.
        let is_cause = |one: &Difference| one.0 != "clock cost of a reading";
        let found = is_change.then(|| environment::differences(runs[at - 1], runs[at]).0);
        let environment: Vec<Difference> = found.into_iter().flatten().filter(is_cause).collect();
        (!jobs.is_empty() || !environment.is_empty()).then_some(Turn { at, jobs, environment })
    };
    (1..runs.len()).filter_map(of_run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{StreamShape, normal, record};
    use fathom_schema::{EnvironmentFact, OperationKind};

    /// Runs of one step with these IOPS.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a constructed rate")]
    fn runs(rates: &[f64]) -> Vec<Record> {
        let run = |(at, rate): (usize, &f64)| {
            let rates = vec![(OperationKind::Read, *rate as u64)];
            let mut made = record(&[StreamShape { rates, seconds: 5, ..StreamShape::default() }]);
            made.started.run = format!("run{at}");
            made.started.wall_ms += at as u64 * 86_400_000;
            made
        };
        rates.iter().enumerate().map(run).collect()
    }

    fn of(runs: &[Record]) -> History {
        history(&runs.iter().collect::<Vec<_>>(), 0.03).expect("they are of one job")
    }

    fn iops(found: &History) -> &FigureHistory {
        &found.loads[0].figures[0]
    }

    /// Rates that vary by a share.
    fn noisy(levels: &[(usize, f64)], noise: f64, seed: u64) -> Vec<f64> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut all = Vec::new();
        for &(count, level) in levels {
            all.extend((0..count).map(|_| level * (noise * normal(&mut random)).exp()));
        }
        all
    }

    #[test]
    fn a_change_of_level_is_told_with_its_run() {
        let found = of(&runs(&noisy(&[(12, 100_000.0), (4, 88_000.0)], 0.005, 7)));
        assert_eq!((found.outlook, found.level_from), (Outlook::Regressed, 12));
        let [change] = iops(&found).changes[..] else { panic!("{found:?}") };
        assert!(change.at == 12 && (change.change() + 0.12).abs() < 0.01, "{change:?}");
        // Repaired again: the last change is what counts. In part: what is left of the loss is.
        let found = of(&runs(&noisy(&[(8, 100_000.0), (4, 88_000.0), (6, 100_000.0)], 0.005, 7)));
        assert_eq!((found.outlook, found.level_from, iops(&found).changes.len()), (Outlook::Improved, 12, 2));
        let found = of(&runs(&noisy(&[(8, 100_000.0), (6, 50_000.0), (6, 55_000.0)], 0.005, 7)));
        let standing = iops(&found).standing(0.03).expect("it changed");
        assert_eq!((found.outlook, standing.since, standing.partly), (Outlook::Regressed, Some(8), Some(14)));
        assert!((standing.change + 0.45).abs() < 0.01, "{standing:?}");
        // Below what matters.
        let found = of(&runs(&noisy(&[(12, 100_000.0), (8, 98_500.0)], 0.0005, 7)));
        assert_eq!((found.outlook, found.level_from), (Outlook::Unchanged, 0));
    }

    #[test]
    fn a_single_run_that_lies_apart_is_told() {
        let mut rates = noisy(&[(10, 100_000.0)], 0.005, 3);
        rates.push(90_000.0);
        let found = of(&runs(&rates));
        assert_eq!((found.outlook, found.level_from), (Outlook::Regressed, 0));
        *rates.last_mut().expect("it was pushed") = 110_000.0;
        let found = of(&runs(&rates));
        assert_eq!(found.outlook, Outlook::Improved, "{:#?}", found.newest);
        // It is set beside its own level, not beside what was before.
        let mut rates = noisy(&[(10, 100_000.0), (6, 80_000.0)], 0.005, 3);
        rates.push(100_000.0);
        let found = of(&runs(&rates));
        assert_eq!(found.newest.as_ref().map(of_newest), Some(Outlook::Improved));
        assert_eq!(found.outlook, Outlook::Regressed, "one good run is no new level");
        // A level that has just begun hides no loss behind it.
        let mut rates = noisy(&[(10, 100_000.0), (2, 110_000.0)], 0.002, 3);
        rates.push(40_000.0);
        assert_eq!(of(&runs(&rates)).outlook, Outlook::Regressed);
    }

    #[test]
    fn runs_that_are_alike_are_seldom_told_apart() {
        for count in [5, 6, 8, 12, 20, 40] {
            for noise in [0.01, 0.05] {
                let is_told = |seed: &u64| {
                    let found = of(&runs(&noisy(&[(count, 100_000.0)], noise, *seed)));
                    matches!(found.outlook, Outlook::Regressed | Outlook::Improved)
                };
                let told = (0..60).filter(is_told).count();
                // One in twenty are 3, and 8 lie three standard errors above.
                assert!(told < 8, "{told} of 60 histories of {count} runs with {noise}");
            }
        }
    }

    /// As docs/compare.md has it, of one figure.
    #[test]
    fn levels_are_told_as_often_as_the_manual_says() {
        let told = |count: usize, noise: f64, (back, level): (usize, f64)| {
            let is_told = |seed: &u64| {
                let values = noisy(&[(count - back, 1.0), (back, level)], noise, *seed);
                let limits = Limits { margin: 0.03, deciding: 1, all: 1 };
                !FigureHistory::of("iops", true, true, values, limits).changes.is_empty()
            };
            (0..400).filter(is_told).count()
        };
        for count in [5, 6, 8, 10, 12, 20, 30, 60] {
            let found = told(count, 0.05, (0, 1.0));
            assert!(found <= 12, "{found} of 400 histories of {count} runs");
        }
        assert!(told(10, 0.01, (2, 0.9)) >= 388);
        assert!(told(10, 0.02, (2, 0.9)) >= 280);
    }

    /// A job of twenty steps has forty figures, of which hardly any may show a change by chance.
    #[test]
    fn many_figures_are_no_more_changes() {
        let of_steps = |seed: u64| {
            let rates: Vec<Vec<f64>> =
                (0..20).map(|step| noisy(&[(12, 100_000.0)], 0.03, 100 * seed + step)).collect();
            let run = |at: usize| {
                let mut all = rates.iter().map(|rates| runs(&rates[at..=at]).remove(0));
                let mut made = all.next().expect("there are twenty");
                made.steps.extend(all.flat_map(|run| run.steps));
                for (index, step) in (0_u32..).zip(&mut made.steps) {
                    (step.started.index, step.started.step.name) = (index, format!("step{index}"));
                }
                made.started.run = format!("run{at}");
                made.started.wall_ms += at as u64;
                made
            };
            of(&(0..12).map(run).collect::<Vec<Record>>())
        };
        let told = (0..20)
            .filter(|seed| of_steps(*seed).loads.iter().any(|load| load.figures[0].has_changed()))
            .count();
        assert!(told <= 3, "{told} of 20 histories of 20 steps");
    }

    #[test]
    fn what_goes_down_slowly_is_no_step() {
        let rates: Vec<f64> = noisy(&[(20, 100_000.0)], 0.005, 5);
        let falling: Vec<f64> =
            rates.iter().enumerate().map(|(at, rate)| rate * (1.0 - 0.01 * at as f64)).collect();
        let found = of(&runs(&falling));
        let drift = iops(&found).drift.expect("it falls by a fifth");
        assert!((drift + 0.19).abs() < 0.02 && iops(&found).changes.is_empty(), "{drift}");
        assert_eq!((found.outlook, found.beside), (Outlook::Regressed, 16));
    }

    #[test]
    fn few_runs_allow_no_statement() {
        for count in [2, 4] {
            let found = of(&runs(&noisy(&[(count - 1, 100_000.0), (1, 50_000.0)], 0.001, 1)));
            assert_eq!((found.outlook, found.newest), (Outlook::Inconclusive, None));
        }
    }

    #[test]
    fn what_is_another_where_a_level_begins_is_told() {
        let mut made = runs(&noisy(&[(10, 100_000.0), (5, 80_000.0)], 0.005, 2));
        for run in &mut made[10..] {
            run.started.facts.environment.push(EnvironmentFact {
                subject: "cpu".to_owned(),
                name: "governor".to_owned(),
                value: Some("powersave".to_owned()),
                source: String::new(),
            });
        }
        let found = of(&made);
        let expect = ("cpu governor".to_owned(), "absent".to_owned(), "powersave".to_owned());
        assert_eq!(found.turns, [Turn { at: 10, jobs: Vec::new(), environment: vec![expect] }]);
    }

    #[test]
    fn only_runs_of_one_job_are_one_history() {
        let made = runs(&[100.0, 101.0]);
        assert!(is_one_job(&made[0], &made[1]));
        let with = |change: &dyn Fn(&mut Record)| {
            let mut other = made[1].clone();
            change(&mut other);
            is_one_job(&made[0], &other)
        };
        assert!(
            with(&|other| other.steps[0].started.step.streams[0].workers[0].seed += 1),
            "seeds are no difference"
        );
        assert!(!with(&|other| other.started.title.push('x')));
        assert!(!with(&|other| other.steps[0].started.step.streams[0].queue_depth = 99));
        assert!(!with(&|other| other.steps[0].started.step.targets[0].name.push('x')));
        assert!(!with(&|other| other.steps.clear()));
        // One that broke off has what it has.
        let broken = |other: &mut Record| {
            other.steps.clear();
            other.finished = None;
        };
        assert!(with(&broken));
        assert!(!with(&|other| {
            broken(other);
            other.started.sources = vec![("another".to_owned(), String::new())];
        }));
    }
}
