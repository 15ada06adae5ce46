//! Jobs of fio that cannot start where they are: a file that is not there and has no size, one that this user may not open, a
//! filesystem without room. As with fio they fail by themselves, and the others run. Owns which faults are such and how they
//! are told; does not know how a report shows a job that failed.

use crate::session::{self, Attempt};
use crate::{diagnose, terminal};
use fathom_model::{Diagnostics, Job, Level, Named, Sources, StreamOptions};
use fathom_planner::PlanNote;
use fathom_planner::safety::{self, Consent};
use fathom_schema::{Facts, FileKind, NoteKind, Severity};
use rustix::io::Errno;
use std::collections::BTreeSet;

/// Faults that fio finds when a job starts, not when it is read, with the error that the job then has: those of fio 3.33, but
/// for a file that `allow_file_create=0` forbids to make, which fio calls no error and ends with 1 all the same.
const AT_START: [(&str, Errno); 13] = [
    ("plan.needs-size", Errno::INVAL),
    ("plan.not-aligned", Errno::INVAL),
    ("plan.direct-refused", Errno::INVAL),
    ("plan.file-too-small", Errno::INVAL),
    ("plan.past-end", Errno::INVAL),
    ("plan.not-mapped", Errno::NODEV),
    ("target.absent", Errno::NOENT),
    ("target.permission", Errno::ACCESS),
    ("target.kind", Errno::ISDIR),
    ("target.no-space", Errno::NOSPC),
    ("target.read-only", Errno::ROFS),
    ("target.no-medium", Errno::NOMEDIUM),
    ("trace.unusable", Errno::INVAL),
];

/// Streams up to which each is tried alone. Each try plans with all facts, so that thousands would take minutes; of more, none
/// runs where one cannot.
const TRIED_MAX: usize = 256;

/// A stream that cannot start.
#[derive(Debug)]
pub(super) struct Fallen {
    pub(super) stream: String,
    /// The error that its jobs have.
    pub(super) errno: i32,
    reasons: Vec<String>,
    faults: Diagnostics,
}

/// Takes the streams that cannot start out of what is to be run; there may be none left. Faults of another sort leave
/// everything as it is.
pub(super) fn split(attempt: Attempt, consent: &Consent) -> (Attempt, Vec<Fallen>) {
    if attempt.loaded.job.streams.len() > TRIED_MAX
        || attempt.loaded.diagnostics.has_errors()
        || !is_refused(&attempt, consent)
    {
        return (attempt, Vec::new());
    }
    let job = &attempt.loaded.job;
    let fates = job.streams.iter().filter_map(|stream| fate(job, stream, &attempt.facts, consent));
    let fallen: Vec<Fallen> = fates.collect();
    if fallen.is_empty() {
        return (attempt, fallen);
    }
    let names: BTreeSet<&str> = fallen.iter().map(|fallen| fallen.stream.as_str()).collect();
    let rest = only(job, |name| !names.contains(name));
    let (mut plan, found) = if rest.streams.is_empty() {
        (None, Diagnostics::default())
    } else {
        fathom_planner::plan(&rest, &attempt.facts, session::entropy())
    };
    if let Some(plan) = &mut plan {
        plan.notes.extend(notes(&fallen));
    }
    let Attempt { mut loaded, facts, .. } = attempt;
    loaded.job = rest;
    (Attempt { loaded, facts, plan, found }, fallen)
}

/// What a record says of them.
pub(super) fn notes(fallen: &[Fallen]) -> impl Iterator<Item = PlanNote> {
    fallen.iter().map(|Fallen { stream, errno, reasons, faults: _ }| PlanNote {
        kind: NoteKind::Target,
        severity: Severity::Warn,
        message: format!("the stream \"{stream}\" did not start (error {errno}): {}", reasons.join("; ")),
    })
}

/// Says why they do not start, and closes with a line that has the shape of fio's.
pub(super) fn tell(fallen: &[Fallen], sources: &Sources) {
    let (colour, width) = (terminal::colours_messages(), terminal::width_of_messages());
    for Fallen { stream, errno, reasons, faults } in fallen {
        if faults.is_empty() {
            for reason in reasons {
                terminal::message(&format!("refused: {}", diagnose::printable(reason)));
            }
        } else {
            terminal::message(diagnose::render(faults, sources, colour, width).trim_end());
        }
        let (pid, words) = (std::process::id(), fathom_report::fio_error(*errno));
        let stream = diagnose::printable(stream);
        terminal::message(&format!("fio: pid={pid}, err={errno}/job:{stream}, func=start, error={words}"));
    }
}

/// Whether something keeps the whole from running that is no question to a person.
fn is_refused(attempt: &Attempt, consent: &Consent) -> bool {
    match &attempt.plan {
        Some(plan) => {
            !safety::judge(&plan.intents, &plan.commands, &attempt.facts, consent).refusals.is_empty()
        }
        None => attempt.found.has_errors(),
    }
}

/// What keeps a stream from starting when it is alone; `None` when nothing does, or something that is not for it alone.
fn fate(job: &Job, stream: &Named<StreamOptions>, facts: &Facts, consent: &Consent) -> Option<Fallen> {
    let mut alone = only(job, |name| name == stream.name);
    alone.stages.clear();
    let (plan, mut faults) = fathom_planner::plan(&alone, facts, 0);
    faults.retain(|fault| fault.level == Level::Error);
    let mut codes: Vec<&str> = faults.all().iter().map(|fault| fault.code).collect();
    let mut reasons: Vec<String> = faults.all().iter().map(|fault| fault.message.clone()).collect();
    if let Some(plan) = plan {
        let refusals = safety::judge(&plan.intents, &plan.commands, facts, consent).refusals;
        codes.extend(refusals.iter().map(|refusal| refusal.code));
        reasons.extend(refusals.iter().map(ToString::to_string));
    }
    let has_folder = || {
        let paths = fathom_planner::paths(&alone);
        facts.targets.iter().any(|fact| fact.kind == FileKind::Folder && paths.contains(&fact.path))
    };
    let error_of = |code: &&str| match AT_START.iter().find(|(known, _)| known == code) {
        // Pipes, sockets and character devices are not measured.
        Some((_, Errno::ISDIR)) if !has_folder() => Some(Errno::NOTBLK),
        known => known.map(|&(_, errno)| errno),
    };
    let errors: Option<Vec<Errno>> = codes.iter().map(error_of).collect();
    let errno = errors?.first()?.raw_os_error();
    Some(Fallen { stream: stream.name.clone(), errno, reasons, faults })
}

/// The job with those of its streams alone whose names are wanted, and the targets that these have.
pub(super) fn only(job: &Job, is_wanted: impl Fn(&str) -> bool) -> Job {
    let mut job = job.clone();
    job.keep_streams(|stream| is_wanted(&stream.name));
    let (mut targets, mut workloads) = (BTreeSet::new(), BTreeSet::new());
    for stream in &mut job.streams {
        targets.extend(stream.options.targets.get().into_iter().flatten().cloned());
        workloads.extend(stream.options.workload.get().cloned());
        if let Some(span) = stream.options.wait_for.span() {
            let awaited = stream.options.wait_for.get().iter().filter(|name| is_wanted(name)).cloned();
            stream.options.wait_for.set(awaited.collect(), span);
        }
    }
    job.targets.retain(|target| targets.contains(&target.name));
    job.workloads.retain(|workload| workloads.contains(&workload.name));
    for stage in &mut job.stages {
        if let (Some(streams), Some(span)) = (stage.options.streams.get(), stage.options.streams.span()) {
            let streams: Vec<String> = streams.iter().filter(|name| is_wanted(name)).cloned().collect();
            stage.options.streams.set(streams, span);
        }
    }
    job.stages.retain(|stage| stage.options.streams.get().is_none_or(|streams| !streams.is_empty()));
    job
}
