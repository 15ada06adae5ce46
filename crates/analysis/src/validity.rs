//! Findings about whether a record can be trusted: each with a stable name, what was seen, and what to do about it.
//!
//! Owns the list of checks and how findings of many streams are told once. Does not know how findings are shown, and
//! changes no figure.

mod behaviour;
mod circumstances;
mod device;
mod disturbed;
mod drives;
mod host;
mod load;
mod pacing;
mod paused;
mod places;
mod single_stop;
mod surroundings;
mod unfinished;

use crate::measured::{Measured, measured};
use fathom_schema::{Finding, LoadAxis, Question, Record, Severity, StepRecord, Stop, Stream, TargetKind};
use fathom_units::Nanos;
use std::cmp::Ordering;
use std::collections::HashSet;

/// Places told in one finding; the rest is counted.
const PLACES_SHOWN: usize = 3;

/// What became of a run whose record has no end, which the record itself cannot tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Nobody has asked.
    Unknown,
    /// It goes on.
    GoesOn,
    /// It has ended without being able to say so: it was killed, or could not be stored.
    Killed,
}

impl Progress {
    /// In words, of the run.
    pub const fn told(self) -> &'static str {
        match self {
            Self::Unknown => "was killed or still goes on",
            Self::GoesOn => "still goes on",
            Self::Killed => "was killed, or could not be stored to its end",
        }
    }
}

/// All findings of a record, the gravest first; those of one severity in the order of the checks.
pub fn findings(record: &Record) -> Vec<Finding> {
    findings_of(record, Progress::Unknown)
}

/// As [`findings`], where it is known what became of a run without an end.
pub fn findings_of(record: &Record, progress: Progress) -> Vec<Finding> {
    let mut found = Found::default();
    circumstances::run(record, progress, &mut found);
    surroundings::run(record, &mut found);
    drives::run(record, &mut found);
    disturbed::run(record, &mut found);
    device::scanned(record, &mut found);
    host::scanned(record, &mut found);
    behaviour::run(record, &mut found);
    // A load of a test that was cut off is done again where the test goes on, and is in no figure; what befell it is told.
    let is_test = matches!(record.started.question, Some(Question::Steady(_)));
    let is_cut =
        |step: &StepRecord| step.finished.as_ref().is_none_or(|finished| finished.stop == Stop::Interrupted);
    for step in &record.steps {
        let view = StepView { record, step, measured: measured(step) };
        circumstances::step(&view, &mut found);
        if is_test && is_cut(step) {
            continue;
        }
        load::check(&view, &mut found);
        device::check(&view, &mut found);
        places::check(&view, &mut found);
        surroundings::step(&view, &mut found);
        host::step(&view, &mut found);
        behaviour::check(&view, &mut found);
    }
    found.without(untold(record)).into_findings()
}

/// A moment of a step at which its course changed, as findings tell of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Moment {
    /// Index of the step.
    pub step: u32,
    /// Since the step's start.
    pub at: Nanos,
    /// In few words.
    pub label: String,
}

/// The ends of warm-ups, changes of level and stalls of all steps, in order.
pub fn moments(record: &Record) -> Vec<Moment> {
    let mut found = Found::default();
    for step in &record.steps {
        behaviour::check(&StepView { record, step, measured: measured(step) }, &mut found);
    }
    found.moments
}

/// One step with what the checks of it need.
struct StepView<'a> {
    record: &'a Record,
    step: &'a StepRecord,
    /// Per stream.
    measured: Vec<Measured>,
}

impl StepView<'_> {
    /// Streams with what they measured.
    fn streams(&self) -> impl Iterator<Item = (&Stream, &Measured)> {
        self.step.started.step.streams.iter().zip(&self.measured)
    }

    /// The step, for the evidence; empty when the run has only one.
    fn place(&self) -> String {
        if self.record.steps.len() > 1 {
            format!("step \"{}\": ", self.step.started.step.name)
        } else {
            String::new()
        }
    }

    /// The stream, for the evidence; without a name when it is the run's only one.
    fn stream_place(&self, stream: &Stream) -> String {
        let step = self.place();
        if self.step.started.step.streams.len() > 1 {
            format!("{step}stream \"{}\": ", stream.name)
        } else {
            step
        }
    }

    /// Whether the stream moves bytes on real storage: neither simulated nor discarded.
    fn is_real(&self, stream: &Stream) -> bool {
        let targets = &self.step.started.step.targets;
        let on_storage = stream
            .workers
            .iter()
            .flat_map(|worker| &worker.extents)
            .filter_map(|extent| targets.get(extent.target as usize))
            .all(|target| matches!(target.kind, TargetKind::File { .. } | TargetKind::BlockDevice { .. }));
        on_storage && stream.engine.kind.moves_bytes()
    }
}

/// Findings that say nothing about a run with this question: a scan reads each place for as long as that takes, and its answer
/// has the places that cannot be read; a curve over rates, and a search for the highest, go beyond what is carried.
fn untold(record: &Record) -> &'static [&'static str] {
    match record.started.question {
        // Rates above what it carries are what such a curve, and a search for the highest, look for: each says which they were.
        Some(Question::Curve { over: LoadAxis::Rate, .. }) => {
            &["pacing.overloaded", "pacing.dropped", "pacing.behind", "pacing.backlog"]
        }
        // Full speed is where a search begins, and no part of its answer.
        Some(Question::Objective { rate: None, .. }) => {
            &["pacing.overloaded", "pacing.dropped", "pacing.behind", "pacing.backlog", "little.ran-empty"]
        }
        Some(Question::Scan(_)) => {
            &["duration.short", "samples.few", "operations.none", "errors.io", "generator.cpu-bound"]
        }
        _ => &[],
    }
}

/// Findings while they are collected: one per name, however many streams show it.
#[derive(Default)]
struct Found {
    kinds: Vec<Kind>,
    moments: Vec<Moment>,
}

struct Kind {
    id: &'static str,
    severity: Severity,
    sights: Vec<Sight>,
    remedy: &'static str,
}

/// What was seen of a finding in one step or stream.
struct Sight {
    severity: Severity,
    /// How grave it is among the sights of its finding: more is worse, 0 where there is nothing to weigh.
    magnitude: f64,
    evidence: String,
}

impl Found {
    /// Adds one sight of the finding `id`, which is there or not, and no worse in one place than in another.
    fn add(&mut self, id: &'static str, severity: Severity, evidence: String, remedy: &'static str) {
        self.weighed(0.0, id, severity, evidence, remedy);
    }

    /// Adds one sight of the finding `id` that is so grave, in the measure that the finding has: of several the gravest is told.
    fn weighed(
        &mut self,
        magnitude: f64,
        id: &'static str,
        severity: Severity,
        evidence: String,
        remedy: &'static str,
    ) {
        let sight = Sight { severity, magnitude, evidence };
        match self.kinds.iter_mut().find(|kind| kind.id == id) {
            // What one does about it goes with what is told.
            Some(kind) => {
                if kind.sights.iter().all(|known| sight.outweighs(known)) {
                    kind.remedy = remedy;
                }
                kind.severity = kind.severity.max(severity);
                kind.sights.push(sight);
            }
            None => self.kinds.push(Kind { id, severity, sights: vec![sight], remedy }),
        }
    }

    /// Marks a moment of a step.
    fn mark(&mut self, view: &StepView<'_>, at: Nanos, label: String) {
        self.moments.push(Moment { step: view.step.started.index, at, label });
    }

    fn without(mut self, untold: &[&str]) -> Self {
        self.kinds.retain(|kind| !untold.contains(&kind.id));
        self
    }

    fn into_findings(mut self) -> Vec<Finding> {
        self.kinds.sort_by_key(|kind| std::cmp::Reverse(kind.severity));
        self.kinds
            .into_iter()
            .map(|Kind { id, severity, sights, remedy }| Finding {
                id: id.to_owned(),
                severity,
                evidence: folded(sights),
                remedy: remedy.to_owned(),
            })
            .collect()
    }
}

impl Sight {
    /// Whether it is graver than another.
    fn outweighs(&self, other: &Self) -> bool {
        self.order(other).is_gt()
    }

    fn order(&self, other: &Self) -> Ordering {
        self.severity.cmp(&other.severity).then(self.magnitude.total_cmp(&other.magnitude))
    }
}

/// The sights of one finding in few words: what was seen in several steps or streams is told of the gravest, and where else it
/// was; of equals the first is told.
fn folded(mut sights: Vec<Sight>) -> String {
    sights.sort_by(|a, b| b.order(a));
    let evidence: Vec<&str> = sights.iter().map(|sight| sight.evidence.as_str()).collect();
    let places: Vec<&str> = evidence.iter().map(|one| place_of(one)).collect();
    let Some((gravest, others)) =
        evidence.split_first().filter(|_| places.iter().all(|place| !place.is_empty()))
    else {
        let mut text = evidence.iter().take(PLACES_SHOWN).copied().collect::<Vec<_>>().join("; ");
        if evidence.len() > PLACES_SHOWN {
            text.push_str(&format!("; and {} more like this", evidence.len() - PLACES_SHOWN));
        }
        return text;
    };
    // Of one step or stream there may be several.
    let mut told = HashSet::from([places[0]]);
    let elsewhere: Vec<&str> = places.iter().copied().filter(|place| told.insert(place)).collect();
    if elsewhere.is_empty() {
        let more =
            if others.is_empty() { String::new() } else { format!("; and {} more like this", others.len()) };
        return format!("{gravest}{more}");
    }
    let shown = elsewhere.iter().take(PLACES_SHOWN).copied().collect::<Vec<_>>().join(", ");
    match elsewhere.len().saturating_sub(PLACES_SHOWN) {
        0 => format!("{gravest}; also in {shown}"),
        more => format!("{gravest}; also in {shown} and {more} more"),
    }
}

/// The steps and streams that evidence begins with, without the colon behind them; empty where it is of the whole run.
fn place_of(evidence: &str) -> &str {
    let mut end = 0;
    while let Some(rest) =
        evidence.get(end..).filter(|rest| rest.starts_with("step \"") || rest.starts_with("stream \""))
    {
        let Some(colon) = rest.find("\": ") else { break };
        end += colon + 3;
    }
    evidence[..end].trim_end_matches([':', ' '])
}

#[cfg(test)]
mod tests;
