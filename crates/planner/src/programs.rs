//! Programs that a stream runs in place of I/O (engine exec).

use crate::remarks::Remarks;
use fathom_model::{Named, StreamOptions};
use fathom_schema::{EngineKind, ProgramRun, TimeLimit};
use std::path::PathBuf;

/// The engine that runs a program; `None` where it has storage for a target, or none is named.
pub(crate) fn engine(
    stream: &Named<StreamOptions>,
    is_of_nothing: bool,
    remarks: &mut Remarks,
) -> Option<EngineKind> {
    let options = &stream.options;
    let name = &stream.name;
    let words = options.program.get().map_or(0, |program| program.split_whitespace().count());
    let (code, message, help) = if !is_of_nothing {
        let message = format!("the stream \"{name}\" runs a program and has a target that is storage");
        ("plan.engine-option", message, "give it a target with kind = \"null\"")
    } else if words == 0 {
        let message = format!("the stream \"{name}\" does not say which program it runs");
        ("plan.no-program", message, "add program = \"…\"")
    } else {
        return Some(EngineKind::Exec);
    };
    remarks.error(code, options.engine.span().or(Some(stream.span)), message, help);
    None
}

/// What a stream runs; `None` unless that is its engine. As fio does, words are what has spaces between them, whatever quotes
/// there are.
pub(crate) fn run(
    stream: &Named<StreamOptions>,
    kind: EngineKind,
    time: TimeLimit,
) -> Option<Box<ProgramRun>> {
    let options = &stream.options;
    let program = options.program.get().filter(|_| kind == EngineKind::Exec)?;
    let seconds = match time {
        TimeLimit::Nanoseconds(ns) => ns / 1_000_000_000,
        TimeLimit::Unbounded => 0,
    };
    let arguments = options.arguments.get().replace("%r", &seconds.to_string()).replace("%n", &stream.name);
    let prefix = options.command_output.get().unwrap_or(&stream.name);
    let file = |suffix: &str| PathBuf::from(format!("{prefix}.{suffix}"));
    Some(Box::new(ProgramRun {
        words: program.split_whitespace().chain(arguments.split_whitespace()).map(str::to_owned).collect(),
        output: options.program_files.get().then(|| (file("stdout"), file("stderr"))),
        grace: *options.program_grace.get(),
    }))
}
