//! Job control: which streams of a step wait for which, and what ends with which.
//!
//! It knows names and places in the step, and nothing of what the streams do.

use crate::remarks::Remarks;
use crate::safety::{Command, Outside};
use fathom_model::{AtEnd, AtError, Engine, Given, Job, Named, StageOptions, StreamOptions, Tolerated};
use fathom_schema::{Control, Reach, ShellCommand, Step, TargetKind, Tolerance};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Place in the step of each of its streams, by name.
pub(crate) type Running<'a> = BTreeMap<&'a str, u32>;

/// Names of the streams that ran in stages before; all of them when one of those stages names none.
pub(crate) enum Earlier<'a> {
    All,
    Named(BTreeSet<&'a str>),
}

/// Places of the streams of a step.
pub(crate) fn running<'a>(job: &'a Job, running: &[usize]) -> Running<'a> {
    (0..).zip(running).map(|(place, &index)| (job.streams[index].name.as_str(), place)).collect()
}

/// Places of the streams of a step that have to do with storage.
pub(crate) fn of_storage(job: &Job, running: &Running<'_>) -> Vec<u32> {
    let is_of_storage = |stream: &&Named<StreamOptions>| *stream.options.engine.get() != Engine::Cpu;
    let names = job.streams.iter().filter(is_of_storage).map(|stream| stream.name.as_str());
    names.filter_map(|name| running.get(name).copied()).collect()
}

/// Streams of the stages before.
pub(crate) fn earlier(stages: &[Named<StageOptions>]) -> Earlier<'_> {
    let mut names = BTreeSet::new();
    for stage in stages {
        let Some(streams) = stage.options.streams.get() else { return Earlier::All };
        names.extend(streams.iter().map(String::as_str));
    }
    Earlier::Named(names)
}

/// A stream's job control; `others`: the streams of the step that have to do with storage. `None` when it cannot be, which is then among the remarks.
pub(crate) fn of(
    stream: &Named<StreamOptions>,
    running: &Running<'_>,
    earlier: &Earlier<'_>,
    others: &[u32],
    remarks: &mut Remarks,
) -> Option<Control> {
    let options = &stream.options;
    let prefix = options.command_output.get().unwrap_or(&stream.name);
    let command = |line: &Given<String>, suffix: &str| {
        let line = line.get()?.clone();
        Some(ShellCommand { line, output: PathBuf::from(format!("{prefix}.{suffix}.txt")) })
    };
    Some(Control {
        before: command(&options.command_before, "prerun"),
        after_end: command(&options.command_after, "postrun"),
        after: after(stream, running, earlier, remarks)?,
        ends_with: if *options.end_with_io.get() { others.to_vec() } else { Vec::new() },
        at_end: match options.at_end.get() {
            AtEnd::Nothing => Reach::Nothing,
            AtEnd::Group => Reach::Group,
            AtEnd::Running => Reach::Running,
            AtEnd::Stage => Reach::Stage,
            AtEnd::Run => Reach::Run,
        },
        at_error: match options.at_error.get() {
            AtError::Worker => Reach::Nothing,
            AtError::Group => Reach::Group,
            AtError::Running => Reach::Running,
            AtError::Stage => Reach::Stage,
            AtError::Run => Reach::Run,
        },
        tolerates: options.tolerate.get().map_or(Tolerance::ByPolicy, |Tolerated { reads, writes }| {
            Tolerance::Listed { reads: reads.clone(), writes: writes.clone() }
        }),
    })
}

/// The commands and programs that the streams of a step run, and the peers that they talk to.
pub(crate) fn commands(step: &Step) -> Vec<Command> {
    let of_stream = |stream: &fathom_schema::Stream| {
        let all = stream.control.before.iter().chain(&stream.control.after_end);
        let name = &stream.name;
        let command = |ShellCommand { line, output }: &ShellCommand| Command {
            stream: name.clone(),
            line: line.clone(),
            outputs: vec![output.clone()],
            what: Outside::Command,
        };
        let program = stream.engine.program.iter().map(|run| Command {
            stream: name.clone(),
            line: run.words.join(" "),
            outputs: run.output.iter().flat_map(|(out, err)| [out.clone(), err.clone()]).collect(),
            what: Outside::Command,
        });
        let targets = stream.workers.iter().flat_map(|worker| &worker.extents).map(|extent| extent.target);
        let peers = targets.filter_map(|target| match &step.targets.get(target as usize)?.kind {
            TargetKind::Peer(peer) => Some(Command {
                stream: name.clone(),
                line: peer.to_string(),
                outputs: Vec::new(),
                what: Outside::Peer { is_here: peer.is_here(), listens: peer.listens },
            }),
            _ => None,
        });
        all.map(command).chain(program).chain(peers).collect::<Vec<_>>()
    };
    step.streams.iter().flat_map(of_stream).collect()
}

/// Streams of the step that a stream waits for; `None` when one of them never runs before it, which is then among the
/// remarks.
fn after(
    stream: &Named<StreamOptions>,
    running: &Running<'_>,
    earlier: &Earlier<'_>,
    remarks: &mut Remarks,
) -> Option<Vec<u32>> {
    let wait_for = &stream.options.wait_for;
    let mut places = BTreeSet::new();
    let mut is_right = true;
    for name in wait_for.get() {
        let has_run = match earlier {
            Earlier::All => true,
            Earlier::Named(names) => names.contains(name.as_str()),
        };
        match running.get(name.as_str()) {
            Some(&place) => _ = places.insert(place),
            None if has_run => {}
            None => {
                let message = format!(
                    "the stream \"{}\" waits for \"{name}\", which runs neither in its stage nor in one before",
                    stream.name
                );
                let help = "add it to the stage's streams, or do not wait for it";
                remarks.error("plan.wait-for", wait_for.span(), message, help);
                is_right = false;
            }
        }
    }
    is_right.then(|| places.into_iter().collect())
}
