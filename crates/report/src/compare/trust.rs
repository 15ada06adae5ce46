//! What was found about the runs of a comparison, side by side: a change may come of it.

use crate::section::Section;
use crate::table::visible;
use fathom_analysis::compare::{Comparison, InvalidRun, RunFinding};
use fathom_schema::{Finding, Severity};

/// Said of a side against which nothing was found.
const NOTHING: &str = "nothing was found against its figures";

/// A finding about some runs of a side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trusted {
    /// `INVALID` or `WARN`.
    pub severity: &'static str,
    /// The finding's name.
    pub id: String,
    /// Runs that have it.
    pub runs: usize,
    /// What was seen in the first of them.
    pub evidence: String,
    /// What to do about it; empty where that is said elsewhere.
    pub remedy: String,
}

/// The findings about one side, each once, the gravest first.
pub fn trusted(found: &Comparison, is_base: bool) -> Vec<Trusted> {
    let mut all: Vec<Trusted> = Vec::new();
    let mut add =
        |severity, id: &str, evidence: &str, remedy: &str| match all.iter_mut().find(|one| one.id == id) {
            Some(known) => known.runs += 1,
            None => all.push(Trusted {
                severity,
                id: id.to_owned(),
                runs: 1,
                evidence: evidence.to_owned(),
                remedy: remedy.to_owned(),
            }),
        };
    for InvalidRun { finding, evidence, .. } in found.invalid.iter().filter(|one| one.is_base == is_base) {
        add("INVALID", finding, evidence, "");
    }
    let own = || found.warnings.iter().filter(|one| one.is_base == is_base);
    for severity in [Severity::Invalid, Severity::Warn] {
        for RunFinding { finding, .. } in own().filter(|one| one.finding.severity == severity) {
            let Finding { id, severity: _, evidence, remedy } = finding;
            let word = if severity == Severity::Invalid { "INVALID" } else { "WARN" };
            add(word, id, evidence, remedy);
        }
    }
    all
}

/// The same in lines: a finding in one, what to do about it behind an arrow.
pub fn lines(found: &Comparison, is_base: bool) -> Vec<String> {
    let runs = if is_base { found.runs.0 } else { found.runs.1 };
    let line = |one: &Trusted| {
        let Trusted { severity, id, runs: own, evidence, remedy } = one;
        let which = if runs == 1 { String::new() } else { format!(" ({own} of {runs} runs)") };
        let remedy = if remedy.is_empty() { String::new() } else { format!(" → {}", visible(remedy)) };
        format!("{severity} {id}{which}: {}{remedy}", visible(evidence))
    };
    let all = trusted(found, is_base);
    if all.is_empty() { vec![NOTHING.to_owned()] } else { all.iter().map(line).collect() }
}

/// For a page: both sides, the first where it was not told before.
pub(super) fn section(found: &Comparison, letter: char, tells_base: bool) -> Section {
    let of_side = |letter: char, is_base: bool| -> Vec<String> {
        lines(found, is_base).into_iter().map(|line| format!("{letter}: {line}")).collect()
    };
    let mut told = if tells_base { of_side('A', true) } else { Vec::new() };
    told.extend(of_side(letter, false));
    let title =
        if letter == 'B' { "Can it be trusted?".to_owned() } else { format!("Can {letter} be trusted?") };
    Section { title, lines: told, ..Section::default() }
}
