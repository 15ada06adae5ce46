//! What planning has to say: diagnostics about the job and notes for the record, each said once.
//!
//! A job of many points meets the same fault at every point; here it is kept once. It does not know what the faults are.

use fathom_model::{Diagnostics, Level, Span};
use fathom_schema::{NoteKind, Severity};

/// Diagnostics of one plan, at most. A thousand files that are all missing read no better than the first hundred.
const DIAGNOSTICS_MAX: usize = 100;

/// Something the reader of the result should know, decided before the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanNote {
    /// What it is about.
    pub kind: NoteKind,
    /// How much it matters.
    pub severity: Severity,
    /// In words: a lower-case fragment.
    pub message: String,
}

/// How the note begins that says which seed "fresh" stands for.
const FRESH: &str = "seed \"fresh\" stands for";

impl PlanNote {
    /// That a run has drawn this seed.
    pub(crate) fn of_fresh_seed(seed: u64) -> String {
        format!("{FRESH} {seed} in this run")
    }

    /// What it says in a plan, of which nothing has been run: another seed is drawn then.
    pub fn in_plan(&self) -> &str {
        if self.message.starts_with(FRESH) {
            "seed \"fresh\": it is drawn when the run starts, which notes it"
        } else {
            &self.message
        }
    }
}

/// Collects what planning has to say.
#[derive(Debug, Default)]
pub(crate) struct Remarks {
    pub diagnostics: Diagnostics,
    pub notes: Vec<PlanNote>,
}

impl Remarks {
    pub(crate) fn error(
        &mut self,
        code: &'static str,
        span: Option<Span>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let (message, span) = (message.into(), place(span));
        if self.is_new(Level::Error, code, span, &message) {
            self.diagnostics.error(code, span, message, help);
        }
    }

    pub(crate) fn warn(
        &mut self,
        code: &'static str,
        span: Option<Span>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let (message, span) = (message.into(), place(span));
        if self.is_new(Level::Warning, code, span, &message) {
            self.diagnostics.warn(code, span, message, help);
        }
    }

    pub(crate) fn note(&mut self, kind: NoteKind, severity: Severity, message: impl Into<String>) {
        let note = PlanNote { kind, severity, message: message.into() };
        if !self.notes.contains(&note) && self.notes.len() < DIAGNOSTICS_MAX {
            self.notes.push(note);
        }
    }

    /// One place warns of one thing once: fio's clones share their lines, and each would repeat it under its own name.
    /// Errors are each said: a list of files names every one that is missing.
    fn is_new(&self, level: Level, code: &str, span: Option<Span>, message: &str) -> bool {
        let all = self.diagnostics.all();
        let once = level == Level::Warning && span.is_some();
        all.len() < DIAGNOSTICS_MAX
            && !all.iter().any(|d| d.code == code && d.span == span && (once || d.message == message))
    }

    /// Whether there are errors.
    pub(crate) fn has_faults(&self) -> bool {
        self.diagnostics.all().iter().any(|d| d.level == Level::Error)
    }
}

/// A value that came out of a sweep has an empty place; no place is better than a wrong one.
fn place(span: Option<Span>) -> Option<Span> {
    span.filter(|span| *span != Span::default())
}
