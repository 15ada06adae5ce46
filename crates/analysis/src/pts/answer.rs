//! What a record of a test shows: its parts with their rounds, the window that was judged, and the means over it. A step
//! that did not come to its end shows nothing.

use super::flow::{Cell, Figure, Flow, Part, PartKind, Place, Rounds, operating_points};
use super::samples::minutes;
use super::setup::{Setup, setup};
use crate::load::LoadPoint;
use crate::measured::measured;
use crate::statistics::change_points;
use crate::steady::{Judgement, Rule, WINDOW, judge};
use fathom_metrics::Latency;
use fathom_schema::{
    EngineKind, HostSample, KindTally, LatencyTally, OperationKind, Question, Record, SteadyQuestion, Step,
    StepRecord, Stop, StreamTally,
};
use fathom_units::{Bytes, Nanos};
use std::collections::BTreeMap;
use std::ops::Range;

/// Samples that have to be as good as before in a row, before a load counts as recovered: one lucky sample is no recovery.
const RECOVERED_SAMPLES: usize = 5;
/// How good each of them has to be, as a share of the first load's mean: samples scatter about it, and five in a row above
/// it would hardly ever come.
const RECOVERED_SHARE: f64 = 0.95;
/// Smallest step between two levels of a load, as a share of the greater.
const LEVEL_STEP_MIN: f64 = 0.1;
/// What a device says that does not know a kind of discard (`errno(3)`).
const EOPNOTSUPP: i32 = 95;
/// Operations from which on the fifth nine of latencies means something: n · (1 − p) ≥ 1.
pub const FIVE_NINES_FROM: u64 = 100_000;

/// What one cell did.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Measure {
    /// Operations per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Mean response time, seconds.
    pub mean_s: f64,
    /// Largest response time, seconds; of several rounds, the mean of their largest.
    pub max_s: f64,
    /// 99.999 % of the response times are no longer, seconds; absent where there are too few for it.
    pub five_nines_s: Option<f64>,
    /// Share of the time in which the host's processors did something, 0 to 1; absent where nobody looked.
    pub processors_busy: Option<f64>,
    /// Seconds until the last operation was completed: what was in flight when time was up counts in all figures.
    pub lasted_s: f64,
}

impl Measure {
    fn of(step: &StepRecord, point: &LoadPoint) -> Self {
        Self {
            iops: point.rate,
            bytes_per_s: point.bytes_per_s,
            mean_s: point.mean_s,
            max_s: point.response.moments.max_ns as f64 / 1e9,
            five_nines_s: five_nines_s(&point.response),
            processors_busy: processors_busy(step),
            lasted_s: point.response.moments.count as f64 / point.rate,
        }
    }

    /// The figure that is tracked.
    pub const fn figure(&self, figure: Figure) -> f64 {
        match figure {
            Figure::Iops => self.iops,
            Figure::Throughput => self.bytes_per_s,
            Figure::MeanLatency => self.mean_s,
        }
    }

    /// Figure by figure, the mean.
    fn mean(all: &[Self]) -> Option<Self> {
        let count = all.len() as f64;
        let of = |figure: fn(&Self) -> f64| all.iter().map(figure).sum::<f64>() / count;
        let of_known = |figure: fn(&Self) -> Option<f64>| all.iter().map(figure).sum::<Option<f64>>();
        (!all.is_empty()).then(|| Self {
            iops: of(|one| one.iops),
            bytes_per_s: of(|one| one.bytes_per_s),
            mean_s: of(|one| one.mean_s),
            max_s: of(|one| one.max_s),
            five_nines_s: of_known(|one| one.five_nines_s).map(|sum| sum / count),
            processors_busy: of_known(|one| one.processors_busy).map(|sum| sum / count),
            lasted_s: of(|one| one.lasted_s),
        })
    }
}

/// 99.999 % of the latencies are no longer, seconds; `None` where there are too few for it.
pub(super) fn five_nines_s(latency: &LatencyTally) -> Option<f64> {
    let is_known = latency.moments.count >= FIVE_NINES_FROM;
    is_known.then(|| Latency::from(latency).quantile(0.99999).map(|ns| ns as f64 / 1e9))?
}

/// How busy the host's processors were, over all samples of a step; none in virtual time, whose seconds are not the host's.
fn processors_busy(step: &StepRecord) -> Option<f64> {
    let sum = |of: fn(&HostSample) -> u64| step.host.iter().map(of).sum::<u64>() as f64;
    let ticks = sum(|sample| sample.processor_ticks);
    let is_known = ticks > 0.0 && !is_virtual(&step.started.step);
    is_known.then(|| sum(|sample| sample.busy_ticks) / ticks)
}

/// The response times of a load whose histogram the standard wants.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    /// The load; its row names it.
    pub cell: Cell,
    /// How long its operations took.
    pub response: LatencyTally,
    /// 99.999 % of them are no longer, seconds; absent where there are too few for it.
    pub five_nines_s: Option<f64>,
}

/// A sample of a long load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Minute {
    /// Its end, seconds since the part began; time between steps is not counted.
    pub end_s: f64,
    /// Operations per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Mean response time, seconds.
    pub mean_s: f64,
    /// 99.999 % of the response times are no longer, seconds; absent where there are too few for it.
    pub five_nines_s: Option<f64>,
    /// Largest response time, seconds.
    pub max_s: f64,
    /// User capacities written since the part began.
    pub fills: f64,
    /// Bytes written since the part began.
    pub written: Bytes,
    /// Which load it is of: the index of the first cell that is the same but for its time.
    pub load: usize,
}

/// A stretch of a long load at one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    /// Its end, seconds since the part began.
    pub until_s: f64,
    /// User capacities written until then.
    pub fills: f64,
    /// Mean operations per second.
    pub iops: f64,
}

/// What purging or filling came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditioning {
    /// Of the part.
    pub title: String,
    /// How long it took; absent when it did not come to its end.
    pub elapsed: Option<Nanos>,
    /// Bytes that it trimmed or wrote.
    pub bytes: u64,
}

/// What rounds came to.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundsAnswer {
    /// Of the part.
    pub title: String,
    /// Cells and rule.
    pub rounds: Rounds,
    /// Per complete round, a measure per cell.
    pub measures: Vec<Vec<Measure>>,
    /// The tracked figure of each complete round.
    pub tracked: Vec<f64>,
    /// What the rule says of it.
    pub judgement: Judgement,
    /// Rounds whose mean is given, from 0: the window, or all of them below five.
    pub window: Range<usize>,
    /// Per cell, the mean over that window; empty without a complete round.
    pub means: Vec<Measure>,
    /// Per cell, the largest response time of it, seconds.
    pub largest_s: Vec<f64>,
    /// Samples of the whole load, where it is one, and cells are longer than one. Of cells with different loads each has its
    /// own figures.
    pub minutes: Vec<Minute>,
    /// Its levels, from the fresh one to the last; empty where there are no samples.
    pub levels: Vec<Level>,
    /// User capacities that were written until the end of the window, by what came before the part as well.
    pub fills: f64,
    /// Whether the part came to its end.
    pub is_complete: bool,
}

impl RoundsAnswer {
    /// Whether the steady state was found before every block was written once: what is steady then may be a device that has
    /// nothing to clean up yet.
    pub fn is_of_a_fresh_device(&self) -> bool {
        self.judgement.steady_at.is_some() && self.fills < 1.0 && self.rounds.cells.iter().any(Cell::writes)
    }
}

/// What a sequence of cells came to.
#[derive(Debug, Clone, PartialEq)]
pub struct SequenceAnswer {
    /// Of the part.
    pub title: String,
    /// The cells that came to their end, with what they did.
    pub cells: Vec<(Cell, Measure)>,
    /// Response times of those that have a name.
    pub distributions: Vec<Distribution>,
    /// Samples of it, where cells are longer than one.
    pub minutes: Vec<Minute>,
    /// Seconds of the third load until it did what the first one did on average, and kept to it; absent when it did not, or
    /// there is no third.
    pub recovery_s: Option<f64>,
    /// Whether the part came to its end.
    pub is_complete: bool,
}

/// What a part came to.
#[derive(Debug, Clone, PartialEq)]
pub enum PartAnswer {
    /// A purge or a fill.
    Conditioning(Conditioning),
    /// Rounds.
    Rounds(Box<RoundsAnswer>),
    /// Cells once.
    Sequence(SequenceAnswer),
}

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All rounds became steady.
    Steady,
    /// Some did not.
    NotSteady,
    /// It came to its end, and has no rounds that have to become steady.
    Complete,
    /// It was ended before.
    Unfinished,
}

impl Ending {
    /// Name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::NotSteady => "not_steady",
            Self::Complete => "complete",
            Self::Unfinished => "unfinished",
        }
    }
}

/// How long the targets had no load between one and the next that was to follow at once: known to a millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Idle {
    /// How many gaps there were.
    pub gaps: usize,
    /// Half of them were shorter.
    pub median: Nanos,
    /// The longest.
    pub longest: Nanos,
}

/// What a test came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What was asked.
    pub question: SteadyQuestion,
    /// Its parts, as far as they began.
    pub parts: Vec<PartAnswer>,
    /// How it ended.
    pub ending: Ending,
    /// Its gaps; absent where there are none, or time is virtual.
    pub idle: Option<Idle>,
    /// Under which circumstances it was made.
    pub setup: Setup,
}

/// The answer of a record; `None` when it is of no test.
pub fn answer(record: &Record) -> Option<Answer> {
    let Some(Question::Steady(question)) = &record.started.question else { return None };
    let flow = Flow::of(question);
    // What ended without an operation was done again, or ended the test.
    let places: Vec<(Place, &StepRecord)> = record
        .steps
        .iter()
        .filter(|step| !is_empty(step))
        .filter_map(|step| Some((Place::of(&step.started.step)?, step)))
        .collect();
    let mut parts = Vec::new();
    let mut fills = 0.0;
    for (index, part) in flow.parts.iter().enumerate() {
        let steps: Vec<(Place, &StepRecord)> =
            places.iter().copied().filter(|(place, _)| place.part == index).collect();
        if steps.is_empty() {
            break;
        }
        let found = part_answer(part, &steps, &parts, fills, question);
        fills += match (&part.kind, &found) {
            (PartKind::Fill(_), PartAnswer::Conditioning(found)) => found.bytes as f64 / capacity(steps[0].1),
            (_, PartAnswer::Rounds(found)) => found.fills - fills,
            _ => 0.0,
        };
        parts.push(found);
    }
    let is_complete = |part: &PartAnswer| match part {
        PartAnswer::Conditioning(found) => found.elapsed.is_some(),
        PartAnswer::Rounds(found) => found.is_complete,
        PartAnswer::Sequence(found) => found.is_complete,
    };
    let is_steady = |part: &PartAnswer| match part {
        PartAnswer::Rounds(found) => {
            let steady = found.judgement.steady_at.is_some();
            (steady || found.rounds.has_to_be_steady()).then_some(steady)
        }
        PartAnswer::Conditioning(_) | PartAnswer::Sequence(_) => None,
    };
    let ending = if parts.len() < flow.parts.len() || !parts.iter().all(is_complete) {
        Ending::Unfinished
    } else {
        match parts.iter().filter_map(is_steady).reduce(|all, one| all && one) {
            None => Ending::Complete,
            Some(true) => Ending::Steady,
            Some(false) => Ending::NotSteady,
        }
    };
    let setup = setup(record, question);
    Some(Answer { question: question.clone(), parts, ending, idle: idle(record), setup })
}

/// Bytes of all targets of a step together.
pub(super) fn capacity(step: &StepRecord) -> f64 {
    step.started.step.targets.iter().map(|target| target.size).sum::<Bytes>().0 as f64
}

fn is_virtual(step: &Step) -> bool {
    step.streams.iter().any(|stream| stream.engine.kind == EngineKind::Sim)
}

/// The gaps between steps of the last run, but for those that were asked for.
fn idle(record: &Record) -> Option<Idle> {
    let began = record.started.wall_ms;
    let gap = |pair: &[StepRecord]| {
        let [before, after] = pair else { return None };
        let (from, to) = (before.started.wall_ms, after.started.wall_ms);
        // Of earlier runs nothing tells where one ended and the next began.
        let is_this_run = from >= began && to >= began;
        let elapsed = before.finished.as_ref()?.elapsed.after(after.started.step.pause_before);
        let wall = Nanos::millis(to.saturating_sub(from));
        (is_this_run && !is_virtual(&after.started.step)).then(|| wall.since(elapsed))
    };
    let mut gaps: Vec<Nanos> = record.steps.windows(2).filter_map(gap).collect();
    gaps.sort_unstable();
    let longest = *gaps.last()?;
    Some(Idle { gaps: gaps.len(), median: gaps[(gaps.len() - 1) / 2], longest })
}

/// How many of the first steps of a record a further run need not do again: up to the end of its last whole round.
pub fn resumable(record: &Record) -> usize {
    let Some(Question::Steady(question)) = &record.started.question else { return 0 };
    let flow = Flow::of(question);
    let ends = |step: &StepRecord| {
        let place = Place::of(&step.started.step)?;
        Some(match &flow.parts.get(place.part)?.kind {
            PartKind::Purge | PartKind::Fill(_) | PartKind::Sequence(_) => true,
            PartKind::Rounds(rounds) => place.cell + 1 == rounds.cells.len(),
            PartKind::OperatingPoints => place.cell % 2 == 1,
        })
    };
    // One that came to its end without an operation was done again behind it.
    let whole = record.steps.iter().take_while(|step| point(step).is_some() || is_empty(step)).enumerate();
    whole
        .filter(|(_, step)| ends(step) == Some(true) && !is_empty(step))
        .map(|(at, _)| at + 1)
        .max()
        .unwrap_or(0)
}

/// Whether a step came to its end without an operation.
pub fn is_empty(step: &StepRecord) -> bool {
    let is_whole = step.finished.as_ref().is_some_and(|finished| finished.stop == Stop::Complete);
    is_whole && point(step).is_none()
}

/// The step that did again what a step of a test did without an operation: with operations, or as empty as it.
pub fn repeated<'a>(record: &'a Record, step: &StepRecord) -> Option<&'a StepRecord> {
    let place = Place::of(&step.started.step).filter(|_| is_empty(step))?;
    let later = record.steps.iter().filter(|other| other.started.index > step.started.index);
    later.take_while(|other| Place::of(&other.started.step) == Some(place)).last()
}

/// Whether targets do not know the kind of discard that a test was to purge them by.
pub fn is_purge_refused(question: &SteadyQuestion, step: &StepRecord) -> bool {
    let part =
        Place::of(&step.started.step).and_then(|place| Flow::of(question).parts.into_iter().nth(place.part));
    let is_purge = part.is_some_and(|part| matches!(part.kind, PartKind::Purge));
    let measured = measured(step);
    let mut errors = measured.iter().flat_map(|stream| &stream.tally.kinds).flat_map(|kind| &kind.errors);
    is_purge && errors.any(|&(errno, _)| errno == EOPNOTSUPP)
}

/// Whether a step of a test purges or fills what the others measure.
pub fn is_conditioning(question: &SteadyQuestion, step: &Step) -> bool {
    let part = Place::of(step).and_then(|place| Flow::of(question).parts.into_iter().nth(place.part));
    part.is_some_and(|part| matches!(part.kind, PartKind::Purge | PartKind::Fill(_)))
}

/// Per part of a test, the rounds that its figures are of, where it has rounds that have to become steady: those before
/// prepare for them. Empty where the record is of no test.
pub fn windows(record: &Record) -> Vec<Option<Range<usize>>> {
    let window = |part: PartAnswer| match part {
        PartAnswer::Rounds(found) if found.rounds.has_to_be_steady() => Some(found.window),
        PartAnswer::Rounds(_) | PartAnswer::Conditioning(_) | PartAnswer::Sequence(_) => None,
    };
    answer(record).into_iter().flat_map(|answer| answer.parts).map(window).collect()
}

/// What a step measured, if it came to its end.
fn point(step: &StepRecord) -> Option<LoadPoint> {
    let finished = step.finished.as_ref().filter(|finished| finished.stop == Stop::Complete)?;
    LoadPoint::of(&step.started.step, &finished.streams)
}

fn part_answer(
    part: &Part,
    steps: &[(Place, &StepRecord)],
    before: &[PartAnswer],
    fills: f64,
    question: &SteadyQuestion,
) -> PartAnswer {
    let title = part.title.clone();
    match &part.kind {
        PartKind::Purge | PartKind::Fill(_) => {
            let step = steps[0].1;
            let done = step.finished.as_ref().filter(|finished| finished.stop == Stop::Complete);
            let bytes = done.map_or(0, |done| {
                done.streams
                    .iter()
                    .flat_map(|stream| &stream.workers)
                    .map(|worker| kinds(&worker.tally).map(|kind| kind.bytes).sum::<u64>())
                    .sum()
            });
            PartAnswer::Conditioning(Conditioning { title, elapsed: done.map(|done| done.elapsed), bytes })
        }
        PartKind::Rounds(rounds) => {
            PartAnswer::Rounds(Box::new(rounds_answer(title, rounds, steps, fills, question)))
        }
        PartKind::Sequence(cells) => PartAnswer::Sequence(sequence_answer(title, cells, steps, question)),
        PartKind::OperatingPoints => {
            let cells = before.iter().rev().find_map(|part| match part {
                PartAnswer::Rounds(found) => {
                    let means: Vec<(f64, f64)> =
                        found.means.iter().map(|mean| (mean.iops, mean.mean_s)).collect();
                    Some(operating_points(&found.rounds, &means, question.haste))
                }
                PartAnswer::Conditioning(_) | PartAnswer::Sequence(_) => None,
            });
            PartAnswer::Sequence(sequence_answer(title, &cells.unwrap_or_default(), steps, question))
        }
    }
}

fn rounds_answer(
    title: String,
    rounds: &Rounds,
    steps: &[(Place, &StepRecord)],
    fills_before: f64,
    question: &SteadyQuestion,
) -> RoundsAnswer {
    let found: BTreeMap<Place, Measure> =
        steps.iter().filter_map(|(place, step)| Some((*place, Measure::of(step, &point(step)?)))).collect();
    let part = steps[0].0.part;
    let of_round = |round: usize| -> Option<Vec<Measure>> {
        (0..rounds.cells.len()).map(|cell| found.get(&Place { part, round, cell }).copied()).collect()
    };
    let measures: Vec<Vec<Measure>> = (0..).map_while(of_round).collect();
    let tracked: Vec<f64> =
        measures.iter().map(|cells| cells[rounds.tracked].figure(rounds.figure)).collect();
    let judgement = judge(&tracked, Rule::Literal);
    let last = judgement.steady_at.unwrap_or(measures.len());
    let window = last.saturating_sub(WINDOW)..last;
    let of_cell = |cell: usize| measures[window.clone()].iter().map(|round| round[cell]).collect::<Vec<_>>();
    let cells = || (0..rounds.cells.len()).map(of_cell).filter(|all| !all.is_empty());
    let means: Vec<Measure> = cells().filter_map(|all| Measure::mean(&all)).collect();
    let largest_s = cells().map(|all| all.iter().map(|one| one.max_s).fold(0.0, f64::max)).collect();
    let is_one_load = rounds.cells.iter().all(|cell| cell.is_same_load(&rounds.cells[0]));
    let minutes = if is_one_load { minutes(&rounds.cells, steps, question) } else { Vec::new() };
    let levels = levels(&minutes);
    let capacity = capacity(steps[0].1);
    let of_cells = |round: &Vec<Measure>| {
        rounds.cells.iter().zip(round).map(|(cell, found)| cell.written(found.bytes_per_s)).sum::<f64>()
    };
    let written = |rounds: &[Vec<Measure>]| rounds.iter().map(of_cells).sum::<f64>() / capacity;
    let is_complete = rounds.is_over(&tracked, measures.len(), written(&measures));
    let fills = fills_before + written(&measures[..window.end]);
    let rounds = rounds.clone();
    RoundsAnswer {
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
    }
}

fn sequence_answer(
    title: String,
    cells: &[Cell],
    steps: &[(Place, &StepRecord)],
    question: &SteadyQuestion,
) -> SequenceAnswer {
    let found: Vec<(&Cell, &StepRecord, LoadPoint)> = steps
        .iter()
        .filter_map(|(place, step)| Some((cells.get(place.cell)?, *step, point(step)?)))
        .collect();
    let measured =
        |(cell, step, point): &(&Cell, &StepRecord, LoadPoint)| ((*cell).clone(), Measure::of(step, point));
    let done: Vec<(Cell, Measure)> = found.iter().map(measured).collect();
    let named = found.into_iter().filter(|(cell, ..)| !cell.row.is_empty());
    let distributions = named
        .map(|(cell, _, LoadPoint { response, .. })| {
            let five_nines_s = five_nines_s(&response);
            Distribution { cell: cell.clone(), response, five_nines_s }
        })
        .collect();
    let minutes = minutes(cells, steps, question);
    SequenceAnswer {
        title,
        is_complete: done.len() == cells.len(),
        recovery_s: recovery(&done, steps, question),
        cells: done,
        distributions,
        minutes,
    }
}

/// How long the third load took to do as the first one did.
fn recovery(
    done: &[(Cell, Measure)],
    steps: &[(Place, &StepRecord)],
    question: &SteadyQuestion,
) -> Option<f64> {
    let [(_, first), _, (third, _)] = done else { return None };
    let samples = minutes(std::slice::from_ref(third), &steps[2..], question);
    let is_back = |minute: &Minute| minute.bytes_per_s >= RECOVERED_SHARE * first.bytes_per_s;
    let back = samples.windows(RECOVERED_SAMPLES).position(|samples| samples.iter().all(is_back))?;
    Some(if back == 0 { 0.0 } else { samples[back - 1].end_s })
}

/// The levels of a load: where its rate changes (PELT), and by a tenth at least.
fn levels(minutes: &[Minute]) -> Vec<Level> {
    let rates: Vec<f64> = minutes.iter().map(|minute| minute.iops).collect();
    let mut starts = vec![0];
    starts.extend(change_points(&rates).iter().map(|change| change.at));
    let mean = |from: usize, to: usize| rates[from..to].iter().sum::<f64>() / (to - from) as f64;
    loop {
        let ends = || starts.iter().skip(1).copied().chain([rates.len()]);
        let means: Vec<f64> = starts
            .iter()
            .zip(ends())
            .filter(|(from, to)| *from < to)
            .map(|(&from, to)| mean(from, to))
            .collect();
        let step = |pair: &[f64]| (pair[1] - pair[0]).abs() / pair[0].max(pair[1]).max(f64::MIN_POSITIVE);
        let least = means.windows(2).enumerate().min_by(|a, b| step(a.1).total_cmp(&step(b.1)));
        match least {
            Some((at, pair)) if step(pair) < LEVEL_STEP_MIN => {
                starts.remove(at + 1);
            }
            _ => {
                let level = |(iops, to): (f64, usize)| {
                    let last = &minutes[to - 1];
                    Level { until_s: last.end_s, fills: last.fills, iops }
                };
                return means.into_iter().zip(ends()).map(level).collect();
            }
        }
    }
}

/// What moves data.
pub(super) fn kinds(tally: &StreamTally) -> impl Iterator<Item = &KindTally> {
    tally.kinds.iter().filter(|kind| kind.kind != OperationKind::Sync)
}

#[cfg(test)]
mod tests {
    use super::super::deviations;
    use super::*;
    use crate::sample::{StreamShape, push, record};
    use fathom_schema::{DeviceClass, Interval, SteadyTest, Target, TrimBy};

    /// A test of which the first two parts, with five rounds where it has rounds, and where it has one the third came to their end.
    fn latency(question: &SteadyQuestion, has_run: bool) -> Record {
        let rounds = |part: &Part| match &part.kind {
            PartKind::Rounds(rounds) => rounds.cells.len(),
            _ => 1,
        };
        let mut made = record(&[StreamShape::default()]);
        made.steps.clear();
        let parts =
            Flow::of(&SteadyQuestion { has_histogram: true, has_operating_points: true, ..question.clone() })
                .parts;
        for (part, of) in parts.iter().enumerate().take(if has_run { 3 } else { 2 }) {
            let times = if matches!(of.kind, PartKind::Rounds(_)) { WINDOW } else { 1 };
            for (round, cell) in (0..times).flat_map(|round| (0..rounds(of)).map(move |cell| (round, cell))) {
                let index = u32::try_from(made.steps.len()).expect("few");
                push(&mut made, &[StreamShape::default()], index);
                let step = &mut made.steps.last_mut().expect("it was pushed").started.step;
                step.parameters = Place { part, round, cell }.parameters("");
            }
        }
        made.started.question = Some(Question::Steady(question.clone()));
        made
    }

    fn question() -> SteadyQuestion {
        SteadyQuestion {
            test: SteadyTest::Latency,
            class: DeviceClass::Enterprise,
            haste: 1,
            targets: vec!["/dev/nvme0n1".to_owned()],
            size: None,
            engine: None,
            direct: None,
            purge: false,
            purge_by: TrimBy::Discard,
            purged_before: Some("by its maker's tool".to_owned()),
            block_min: 512,
            has_histogram: true,
            has_operating_points: true,
            active_percent: 100,
            part: None,
            resumed: None,
        }
    }

    #[test]
    fn latency_tests_of_before_the_histogram_run_are_as_complete_as_they_were() {
        // As it was written then: without the field.
        let mut written = serde_json::to_value(question()).expect("it is plain data");
        written.as_object_mut().expect("a group").remove("has_histogram").expect("it is written since");
        let old: SteadyQuestion = serde_json::from_value(written).expect("it can be read");
        assert!(!old.has_histogram);
        let ending = |question: &SteadyQuestion, has_run: bool| {
            let found = answer(&latency(question, has_run)).expect("it is a test");
            (found.ending, found.parts.len())
        };
        assert_eq!(ending(&old, false), (Ending::Steady, 2));
        assert_eq!(ending(&question(), false), (Ending::Unfinished, 2), "its run is still to come");
        assert_eq!(ending(&question(), true), (Ending::Steady, 3));
        // Complete as it is, it is not what the standard has since.
        assert_eq!(deviations(&question()), [] as [&str; 0]);
        assert_eq!(deviations(&old), ["no histogram run, which the standard has since 2.0"]);
    }

    #[test]
    fn composite_tests_of_before_their_operating_points_are_as_complete_as_they_were() {
        let new = SteadyQuestion { test: SteadyTest::Composite, ..question() };
        let mut written = serde_json::to_value(&new).expect("it is plain data");
        written
            .as_object_mut()
            .expect("a group")
            .remove("has_operating_points")
            .expect("it is written since");
        let old: SteadyQuestion = serde_json::from_value(written).expect("it can be read");
        let ending =
            |question: &SteadyQuestion| answer(&latency(question, false)).expect("it is a test").ending;
        assert_eq!((ending(&old), ending(&new)), (Ending::Steady, Ending::Unfinished));
        assert_eq!(deviations(&old), ["no histograms at operating points"]);
    }

    #[test]
    fn targets_may_be_larger_together_than_any_number() {
        let mut made = latency(&question(), true);
        for step in &mut made.steps {
            let target = Target { size: Bytes(4 << 60), ..step.started.step.targets[0].clone() };
            step.started.step.targets = vec![target; 4];
        }
        let found = answer(&made).expect("it is a test");
        assert_eq!((found.ending, found.setup.active_range), (Ending::Steady, Bytes(u64::MAX)));
        let names: Vec<String> = (0..4).map(|name| format!("sim:{name}")).collect();
        made.started.question = Some(Question::Steady(SteadyQuestion { targets: names, ..question() }));
        assert_eq!(answer(&made).expect("it is a test").setup.capacity, Some(Bytes(u64::MAX)));
    }

    /// What some workers told late is a row of its own, and no time of its own.
    #[test]
    fn samples_are_of_the_time_that_went_by() {
        let question = SteadyQuestion { test: SteadyTest::Wsat, haste: 60, ..question() };
        let mut made = latency(&question, true);
        let samples = |made: &Record| {
            let minutes = |part: PartAnswer| match part {
                PartAnswer::Rounds(found) => found.minutes,
                PartAnswer::Sequence(found) => found.minutes,
                PartAnswer::Conditioning(_) => Vec::new(),
            };
            answer(made).expect("it is a test").parts.into_iter().flat_map(minutes).collect::<Vec<Minute>>()
        };
        let whole = samples(&made);
        assert!(whole.len() > 10 && whole.iter().all(|sample| sample.iops > 0.0), "{whole:?}");
        for step in &mut made.steps {
            let halves = |interval: &mut Interval| {
                let own = &mut interval.tally.kinds[0];
                let half = own.operations / 2;
                own.operations -= half;
                let mut late = interval.clone();
                late.late = true;
                late.tally.kinds[0].operations = half;
                (late.tally.kinds[0].bytes, late.tally.kinds[0].service) = (0, LatencyTally::default());
                late
            };
            let late: Vec<Interval> = step.intervals.iter_mut().map(halves).collect();
            step.intervals.extend(late);
        }
        assert_eq!(samples(&made), whole);
        // Though it reaches over the samples behind it, which others told of.
        for step in &mut made.steps {
            let reaches = |interval: &&mut Interval| {
                interval.late && interval.sequence % 7 == 3 && interval.sequence < 50
            };
            for late in step.intervals.iter_mut().filter(reaches) {
                late.end = late.end.after(Nanos::secs(3));
            }
        }
        assert_eq!(samples(&made), whole);
    }

    #[test]
    fn a_load_has_the_levels_that_it_has() {
        // A fast cache for 40 minutes, a cliff, and what is left; each scattered by 2 %.
        let rate = |at: u32| match at {
            0..40 => 80_000.0,
            40..50 => 30_000.0,
            _ => 20_000.0,
        };
        let minute = |at: u32| Minute {
            end_s: f64::from(at + 1) * 60.0,
            iops: rate(at) * (1.0 + 0.02 * f64::from(at * 7 % 11 % 3) - 0.02),
            bytes_per_s: 0.0,
            mean_s: 0.0,
            five_nines_s: None,
            max_s: 0.0,
            fills: f64::from(at + 1) / 100.0,
            written: Bytes(0),
            load: 0,
        };
        let minutes: Vec<Minute> = (0..120).map(minute).collect();
        let found = levels(&minutes);
        let ends: Vec<(f64, f64)> = found.iter().map(|level| (level.until_s / 60.0, level.fills)).collect();
        assert_eq!(ends, [(40.0, 0.4), (50.0, 0.5), (120.0, 1.2)]);
        assert!((found[0].iops / 80_000.0 - 1.0).abs() < 0.02, "{found:?}");
        assert_eq!(levels(&minutes[..1]).len(), 1);
        assert!(levels(&[]).is_empty());
    }
}
