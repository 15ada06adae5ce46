//! fio jobs as a whole: what they become in the model, what is said about them, and that no text is too bad.
//!
//! Files of other projects are read when they lie beside this one, and skipped with a word when they do not.

use fathom_frontend::fio::{Reading, Surroundings, read, read_all};
use fathom_frontend::{DIAGNOSTICS_MAX, native};
use fathom_model::{Diagnostics, Level, Sources};
use proptest::prelude::*;
use std::path::PathBuf;

fn surroundings() -> Surroundings<'static> {
    Surroundings { cpus: 4, ..Surroundings::empty() }
}

/// Diagnostics as lines `level code line:column message / help`.
fn told(sources: &Sources, diagnostics: &Diagnostics) -> String {
    let line = |d: &fathom_model::Diagnostic| {
        let level = if d.level == Level::Error { "error" } else { "warning" };
        let place = d.span.and_then(|span| sources.line_and_column(span));
        let place = place.map_or_else(|| "-".to_owned(), |(line, column)| format!("{line}:{column}"));
        format!("{level} {} {place} {} / {}\n", d.code, d.message, d.help)
    };
    diagnostics.all().iter().map(line).collect()
}

/// What a job file becomes: its diagnostics, then the job as a native one.
fn shown(text: &str) -> String {
    let Reading { job, diagnostics, .. } = read("job.fio", text, &surroundings());
    format!("{}{}", told(&job.sources, &diagnostics), native::print(&job))
}

fn beside(path: &str) -> Option<PathBuf> {
    let found = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus").join(path);
    if !found.exists() {
        println!("skipped: there is no {} beside the project", found.display());
        return None;
    }
    Some(found)
}
#[test]
fn seeds() {
    for f in ["oltp", "five-regions", "randread-500", "archive-files", "wrong-shared-region"] {
        let t = std::fs::read_to_string(beside(&format!("seeds/{f}.fio")).unwrap()).unwrap();
        println!("=== {f}\n{}", shown(&t));
    }
}
