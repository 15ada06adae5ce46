//! Where the fio front end collects its diagnostics: each said once, cheap however many there are.

use crate::cap::{DIAGNOSTICS_MAX, capped};
use fathom_model::{Diagnostics, Span};
use std::collections::BTreeSet;

/// Errors of fathom alone while a job is read, and those that fio has only when it runs one.
const NOT_OF_READING: [&str; 3] = ["fio.refused", "fio.no-folder", "fio.too-many-jobs"];

/// Diagnostics without repetitions: an option in `[global]` is applied to many jobs, its faults are told once.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    found: Diagnostics,
    said: BTreeSet<(&'static str, Option<Span>, String)>,
    is_mistaken: bool,
}

impl Faults {
    /// Adds an error.
    pub(crate) fn error(
        &mut self,
        code: &'static str,
        span: impl Into<Option<Span>>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let (span, message) = (span.into(), message.into());
        self.is_mistaken |= !NOT_OF_READING.contains(&code);
        if self.said.insert((code, span, message.clone())) {
            self.found.error(code, span, message, help);
        }
    }

    /// Adds a warning.
    pub(crate) fn warn(
        &mut self,
        code: &'static str,
        span: impl Into<Option<Span>>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let (span, message) = (span.into(), message.into());
        if self.said.insert((code, span, message.clone())) {
            self.found.warn(code, span, message, help);
        }
    }

    /// True when more are there than anybody is told: what is costly to say need not be said.
    pub(crate) fn are_too_many(&self) -> bool {
        self.found.all().len() > DIAGNOSTICS_MAX
    }

    /// Whether something is wrong already.
    pub(crate) fn has_errors(&self) -> bool {
        self.found.has_errors()
    }

    /// Whether there is something that fio cannot read either: it ends there, and shows what stands before.
    pub(crate) fn would_end_fio(&self) -> bool {
        self.is_mistaken
    }

    /// The diagnostics, bounded.
    pub(crate) fn into_diagnostics(self) -> Diagnostics {
        capped(self.found)
    }
}
