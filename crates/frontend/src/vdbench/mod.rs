//! Vdbench's dialect, the part of it that puts load on raw storage: storage, workload and run definitions (`sd`, `wd`,
//! `rd`) to the one model. File systems, several hosts, validation and what else the language has are refused by name,
//! each at its line. Opens no file and asks no host; `docs/vdbench-compatibility.md` has the differences.

mod definitions;
mod keywords;
mod lower;
mod numbers;
mod scan;

use crate::cap::capped;
use fathom_model::{Diagnostic, Diagnostics, Job, Level};

/// A value that is none, or not within its bounds.
const BAD_VALUE: &str = "vdbench.bad-value";
/// Something of the language that fathom does not take over, and that would change what is measured.
const NOT_IMPORTED: &str = "vdbench.not-imported";
/// Something that changes nothing of what is measured here.
const IGNORED: &str = "vdbench.ignored";
/// Something that is carried over nearly.
const APPROXIMATE: &str = "vdbench.approximate";
/// A line that is no list of `keyword=value`.
const SYNTAX: &str = "vdbench.syntax";
/// A keyword that nobody knows.
const UNKNOWN: &str = "vdbench.unknown-keyword";

/// Reads a parameter file. However bad the text, there is a job and all that is wrong with it.
pub fn read(name: &str, text: &str) -> (Job, Diagnostics) {
    let mut job = Job { dialect: fathom_model::Dialect::Vdbench, ..Job::default() };
    let source = job.sources.add(name, text);
    let mut found = Diagnostics::default();
    let statements = scan::statements(source, text, &mut found);
    let defined = definitions::read(&statements, &mut found);
    if defined.rds.is_empty() && !found.has_errors() {
        let help = "an rd= says what runs, how long and how fast";
        found.error("vdbench.nothing-to-run", None, "there is no run definition", help);
    }
    // What definitions with faults would come to is nobody's guess, and complaints about it would follow from the first.
    if !found.has_errors() {
        lower::lower(&defined, &mut job, &mut found);
    }
    (job, capped(in_order(&found)))
}

/// What was found, from the first line to the last.
fn in_order(found: &Diagnostics) -> Diagnostics {
    let mut all = found.all().to_vec();
    all.sort_by_key(|one| one.span.map(|span| span.start));
    let mut sorted = Diagnostics::default();
    for Diagnostic { code, level, span, message, help } in all {
        match level {
            Level::Error => sorted.error(code, span, message, help),
            Level::Warning => sorted.warn(code, span, message, help),
        }
    }
    sorted
}
