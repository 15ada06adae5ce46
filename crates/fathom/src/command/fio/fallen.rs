//! Jobs of fio that cannot start where they are: a file that is not there and has no size, one that this user may not open, a
//! filesystem without room. As with fio they fail by themselves, and the others run. Owns which faults are such and how they
//! are told; does not know how a report shows a job that failed.

use crate::exit::Exit;
use crate::session::{self, Attempt};
use crate::{diagnose, terminal};
use fathom_model::{Diagnostic, Diagnostics, Engine, Job, Level, Named, Sources, StreamOptions};
use fathom_planner::safety::{self, Consent, Intent};
use fathom_planner::{Plan, PlanNote};
use fathom_schema::{Facts, FileKind, HostLimits, NoteKind, Severity};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Faults that fio finds when a job starts, not when it is read, with the error that the job then has: those of fio 3.33, but
/// for a file that `allow_file_create=0` forbids to make, which fio calls no error and ends with 1 all the same.
const AT_START: [(&str, Errno); 24] = [
    (NEEDS_SIZE, Errno::INVAL),
    ("plan.not-aligned", Errno::INVAL),
    ("plan.direct-refused", Errno::INVAL),
    ("plan.file-too-small", Errno::INVAL),
    ("plan.past-end", Errno::INVAL),
    ("plan.block-too-large", Errno::INVAL),
    ("plan.ring-depth", Errno::INVAL),
    ("plan.verify-block", Errno::INVAL),
    ("plan.verify-engine", Errno::INVAL),
    ("plan.no-cpu-load", Errno::INVAL),
    ("plan.no-program", Errno::INVAL),
    ("plan.not-mapped", Errno::NODEV),
    ("plan.polled-buffered", Errno::OPNOTSUPP),
    ("target.absent", Errno::NOENT),
    ("target.permission", Errno::ACCESS),
    ("target.kind", Errno::ISDIR),
    ("target.no-space", Errno::NOSPC),
    ("target.read-only", Errno::ROFS),
    ("target.no-medium", Errno::NOMEDIUM),
    ("trace.unusable", Errno::INVAL),
    ("trace.no-device", Errno::INVAL),
    ("unsafe.kind", Errno::PERM),
    (READ_ONLY_ABSENT, Errno::NOENT),
    (READ_ONLY, Errno::PERM),
];

/// A file without a length, which a job before may give it.
const NEEDS_SIZE: &str = "plan.needs-size";

/// What `--readonly` forbids: to make a file, and to change one.
const READ_ONLY_ABSENT: &str = "fio.readonly-absent";
const READ_ONLY: &str = "fio.readonly";

/// What nobody may write to as things are, whatever its mode says: an attribute (`chattr`) or a running program keeps it from that.
const UNWRITABLE: &str = "fio.unwritable";

/// What could not be looked at, and an engine that this host lacks; the facts have the error.
const UNUSABLE: &str = "target.unusable";
const NO_ENGINE: &str = "plan.engine-unavailable";

/// Limits of the process or the host that all jobs share, with the error of the job that meets them.
const LIMITS: [(&str, Errno); 4] = [
    ("plan.open-files", Errno::MFILE),
    ("plan.aio-limit", Errno::AGAIN),
    ("plan.memory", Errno::NOMEM),
    ("plan.locked-memory", Errno::NOMEM),
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

/// What jobs may do: with `--readonly` change nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Permitted {
    All,
    Reading,
}

impl Permitted {
    /// What of a plan is forbidden: a code with the reason for each. fio ends with 1 too where a file it is to read is absent or short
    /// (seen with 3.33), though only after it has tried.
    fn forbidden(self, plan: &Plan, facts: &Facts) -> Vec<(&'static str, String)> {
        let intents = plan.intents.iter().filter(|_| self == Self::Reading);
        intents.filter_map(|intent| forbidden(intent, facts)).collect()
    }

    /// Lets nothing begin that is forbidden, where no stream could be told to be the one that would do it.
    pub(super) fn refuse(self, plan: &Plan, facts: &Facts) -> Result<(), Exit> {
        let Some((_, reason)) = self.forbidden(plan, facts).into_iter().next() else { return Ok(()) };
        terminal::message(&format!("refused [{READ_ONLY}]: {}", diagnose::printable(&reason)));
        Err(Exit::Unsafe)
    }
}

fn forbidden(intent: &Intent, facts: &Facts) -> Option<(&'static str, String)> {
    let is_absent = facts
        .targets
        .iter()
        .any(|fact| fact.path == intent.path && matches!(fact.kind, FileKind::Absent | FileKind::NoFolder));
    let (code, would) = match intent {
        _ if is_absent => (READ_ONLY_ABSENT, "created"),
        intent if intent.deletes => (READ_ONLY, "removed"),
        intent if intent.writes => (READ_ONLY, "written"),
        intent if intent.trims => (READ_ONLY, "trimmed"),
        intent if intent.needs().0 > 0 => (READ_ONLY, "laid out"),
        intent if intent.changes() => (READ_ONLY, "removed"),
        _ => return None,
    };
    let path = intent.path.display();
    let reason = format!(
        "{path}: would be {would}, which --readonly forbids; leave --readonly out, or read what is there"
    );
    Some((code, reason))
}

/// Takes the streams that cannot start out of what is to be run; there may be none left. Faults of another sort leave
/// everything as it is.
pub(super) fn split(attempt: Attempt, consent: &Consent, permitted: Permitted) -> (Attempt, Vec<Fallen>) {
    let job = &attempt.loaded.job;
    let starved = &attempt.loaded.extras.starved;
    let is_unwritable = || attempt.plan.as_ref().is_some_and(|plan| unwritable(plan).next().is_some());
    // Nothing is opened for writing that was not judged.
    if job.streams.len() > TRIED_MAX
        || attempt.loaded.diagnostics.has_errors()
        || (starved.is_empty() && !is_refused(&attempt, consent, permitted) && !is_unwritable())
    {
        return (attempt, Vec::new());
    }
    let fates = |job: &Job, together: &Diagnostics| -> Vec<Fallen> {
        let of_stream = |stream: &Named<StreamOptions>| {
            let fate = || fate(job, stream, &attempt.facts, together, consent, permitted);
            starvation(&stream.name, starved).or_else(fate)
        };
        job.streams.iter().filter_map(of_stream).collect()
    };
    let mut fallen = fates(job, &attempt.found);
    let (mut rest, (mut plan, mut found)) = without(job, &fallen, &attempt.facts);
    // Files that only those make that have fallen take others with them.
    while plan.is_none() && !fallen.is_empty() {
        let more = fates(&rest, &found);
        if more.is_empty() {
            break;
        }
        fallen.extend(more);
        (rest, (plan, found)) = without(job, &fallen, &attempt.facts);
    }
    let all: Option<Vec<Errno>> = errors(&found).map(|fault| limit(fault.code)).collect();
    // Each has room where it is alone, and all together have not.
    if plan.is_none() && all.is_some_and(|all| !all.is_empty()) {
        found.retain(|fault| fault.level == Level::Error);
        fallen.extend(crowded_out(&rest, &attempt.facts, &found));
        (rest, (plan, found)) = without(job, &fallen, &attempt.facts);
    }
    if fallen.is_empty() {
        return (attempt, fallen);
    }
    if let Some(plan) = &mut plan {
        plan.notes.extend(notes(&fallen));
    }
    let Attempt { mut loaded, facts, .. } = attempt;
    loaded.job = rest;
    (Attempt { loaded, facts, plan, found }, fallen)
}

/// A stream whose share of a size is less than a block.
fn starvation(stream: &str, starved: &[(String, Diagnostic)]) -> Option<Fallen> {
    let (_, fault) = starved.iter().find(|(name, _)| name == stream)?;
    let mut faults = Diagnostics::default();
    faults.error(fault.code, fault.span, fault.message.clone(), fault.help.clone());
    let (stream, errno) = (stream.to_owned(), Errno::INVAL.raw_os_error());
    Some(Fallen { stream, errno, reasons: vec![fault.message.clone()], faults })
}

/// The job without these, and what it comes to.
fn without(job: &Job, fallen: &[Fallen], facts: &Facts) -> (Job, (Option<Plan>, Diagnostics)) {
    let names: BTreeSet<&str> = fallen.iter().map(|fallen| fallen.stream.as_str()).collect();
    let rest = only(job, |name| !names.contains(name));
    let planned = if rest.streams.is_empty() {
        (None, Diagnostics::default())
    } else {
        fathom_planner::plan(&rest, facts, session::entropy())
    };
    (rest, planned)
}

/// Streams for which the limits have no room beside those that stand before them, which is whom fio's limits meet; each is told
/// with `together`, what all of them need.
fn crowded_out(job: &Job, facts: &Facts, together: &Diagnostics) -> Vec<Fallen> {
    let mut kept: BTreeSet<&str> = BTreeSet::new();
    let mut fallen = Vec::new();
    for stream in &job.streams {
        kept.insert(&stream.name);
        let (_, faults) = fathom_planner::plan(&only(job, |name| kept.contains(name)), facts, 0);
        let Some(errno) = errors(&faults).find_map(|fault| limit(fault.code)) else { continue };
        kept.remove(stream.name.as_str());
        let reasons = together.all().iter().map(|fault| fault.message.clone()).collect();
        let (stream, errno) = (stream.name.clone(), errno.raw_os_error());
        fallen.push(Fallen { stream, errno, reasons, faults: together.clone() });
    }
    fallen
}

fn errors(found: &Diagnostics) -> impl Iterator<Item = &Diagnostic> {
    found.all().iter().filter(|fault| fault.level == Level::Error)
}

fn limit(code: &str) -> Option<Errno> {
    LIMITS.iter().find(|(known, _)| *known == code).map(|(_, errno)| *errno)
}

/// The error of the first of these paths that cannot be used; `None` where the system has no number for one of them.
fn unusable(paths: &[PathBuf], facts: &Facts) -> Option<Errno> {
    let facts = facts.by_path();
    let unusable =
        paths.iter().filter_map(|path| facts.get(path.as_path())).filter(|fact| fact.error.is_some());
    let numbers: Option<Vec<i32>> = unusable.map(|fact| fact.errno).collect();
    numbers?.first().copied().map(Errno::from_raw_os_error)
}

/// Files that are there, would be written and cannot be opened for that, with the error.
fn unwritable(plan: &Plan) -> impl Iterator<Item = (&Path, Errno)> {
    let written = plan.intents.iter().filter(|intent| intent.writes || intent.trims);
    written.take(TRIED_MAX).filter_map(|intent| Some((&*intent.path, refused_writing(&intent.path)?)))
}

/// Why a regular file cannot be opened for writing, where that is neither its mode nor its filesystem.
fn refused_writing(path: &Path) -> Option<Errno> {
    let is_file = std::fs::metadata(path).is_ok_and(|meta| meta.is_file());
    let opened = || std::fs::OpenOptions::new().write(true).open(path);
    let errno = if is_file { Errno::from_io_error(&opened().err()?)? } else { return None };
    [Errno::PERM, Errno::TXTBSY].contains(&errno).then_some(errno)
}

/// The error that the kernel refuses an engine with.
fn no_engine(engine: Engine, limits: &HostLimits) -> Option<Errno> {
    let errno = match engine {
        Engine::IoUring => limits.io_uring_errno,
        Engine::Libaio => limits.libaio_errno,
        _ => None,
    };
    errno.map(Errno::from_raw_os_error)
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
    let mut told: &[String] = &[];
    for Fallen { stream, errno, reasons, faults } in fallen {
        // Of a thousand clones it is one reason.
        let is_told = std::mem::replace(&mut told, reasons) == reasons;
        if is_told {
            // Only that this one does not start either.
        } else if faults.is_empty() {
            for reason in reasons {
                terminal::message(&format!("refused: {}", diagnose::printable(reason)));
            }
        } else {
            terminal::styled(diagnose::render(faults, sources, colour, width).trim_end());
        }
        let (pid, words) = (std::process::id(), fathom_report::fio_error(*errno));
        let stream = diagnose::printable(stream);
        terminal::message(&format!("fio: pid={pid}, err={errno}/job:{stream}, func=start, error={words}"));
    }
}

/// Whether something keeps the whole from running that is no question to a person.
fn is_refused(attempt: &Attempt, consent: &Consent, permitted: Permitted) -> bool {
    match &attempt.plan {
        Some(plan) => {
            !safety::judge(&plan.intents, &plan.commands, &attempt.facts, consent).refusals.is_empty()
                || !permitted.forbidden(plan, &attempt.facts).is_empty()
        }
        None => attempt.found.has_errors(),
    }
}

/// What keeps a stream from starting when it is alone; `None` when nothing does, or something that is not for it alone, such as a
/// length that its files lack and get from the others: it is not among what is wrong with all of them `together`.
fn fate(
    job: &Job,
    stream: &Named<StreamOptions>,
    facts: &Facts,
    together: &Diagnostics,
    consent: &Consent,
    permitted: Permitted,
) -> Option<Fallen> {
    let mut alone = only(job, |name| name == stream.name);
    alone.stages.clear();
    let (plan, mut faults) = fathom_planner::plan(&alone, facts, 0);
    let is_lacked = |fault: &Diagnostic| fault.code != NEEDS_SIZE || together.all().contains(fault);
    faults.retain(|fault| fault.level == Level::Error && is_lacked(fault));
    let mut found: Vec<(&str, String)> =
        faults.all().iter().map(|fault| (fault.code, fault.message.clone())).collect();
    if let Some(plan) = plan {
        let refusals = safety::judge(&plan.intents, &plan.commands, facts, consent).refusals;
        found.extend(refusals.iter().map(|refusal| (refusal.code, refusal.to_string())));
        found.extend(permitted.forbidden(&plan, facts));
        let reason = |(path, errno): (&Path, Errno)| {
            let why = std::io::Error::from(errno);
            (UNWRITABLE, format!("{} cannot be opened for writing: {why}", path.display()))
        };
        if found.is_empty() {
            found.extend(unwritable(&plan).map(reason));
        }
    }
    let unwritten = || fathom_planner::paths(&alone).iter().find_map(|path| refused_writing(path));
    let has_folder = || {
        let paths = fathom_planner::paths(&alone);
        facts.targets.iter().any(|fact| fact.kind == FileKind::Folder && paths.contains(&fact.path))
    };
    let names_folder = || {
        let places = errors(&faults).filter(|fault| fault.code == UNUSABLE).filter_map(|fault| fault.span);
        let mut words = places.filter_map(|span| job.sources.of(span)?.text.get(span.start..span.end));
        words.any(|words| words.trim_start_matches('-').starts_with("directory"))
    };
    let has_parents = || {
        let paths = fathom_planner::paths(&alone);
        // A bare name lies in the current folder.
        let parents = paths.iter().filter_map(|path| path.parent());
        parents.filter(|parent| !parent.as_os_str().is_empty()).all(Path::is_dir)
    };
    let error_of = |(code, _): &(&str, String)| {
        let known = AT_START.iter().find(|(known, _)| known == code).map(|(_, errno)| *errno);
        match (*code, known) {
            // Where `directory` itself is none, fio runs nothing; one that may not be entered is found at the start.
            (UNUSABLE, _) if names_folder() && !has_parents() => None,
            (UNUSABLE, _) => unusable(&fathom_planner::paths(&alone), facts),
            (UNWRITABLE, _) => unwritten(),
            // Which an attribute may have as well.
            ("target.permission", known) => unwritten().or(known),
            (NO_ENGINE, _) => no_engine(*stream.options.engine.get(), &facts.limits),
            // Pipes, sockets and character devices are not measured.
            (_, Some(Errno::ISDIR)) if !has_folder() => Some(Errno::NOTBLK),
            (code, known) => known.or_else(|| limit(code)),
        }
    };
    let numbers: Option<Vec<Errno>> = found.iter().map(error_of).collect();
    let errno = numbers?.first()?.raw_os_error();
    let reasons = found.into_iter().map(|(_, reason)| reason).collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_schema::TargetFact;

    /// What the system said is a number, whatever the words are.
    #[test]
    fn errors_of_what_cannot_be_used_are_those_of_the_facts() {
        let fact = |path: &str, error: Option<&str>, errno: Option<i32>| TargetFact {
            path: path.into(),
            resolved: path.into(),
            kind: FileKind::Other,
            error: error.map(str::to_owned),
            errno,
            filesystem: None,
            file: None,
            folder_made_by_fathom: false,
            device: None,
        };
        let words = Some("verboten (os error 5)");
        let facts = Facts {
            targets: vec![
                fact("fine", None, None),
                fact("refused", words, Some(13)),
                fact("ring", words, Some(40)),
                fact("strange", words, None),
            ],
            limits: HostLimits { io_uring_errno: Some(1), libaio_errno: Some(11), ..HostLimits::default() },
            ..Facts::default()
        };
        for (paths, expect) in [
            (&["fine"][..], None),
            (&["fine", "refused", "ring"], Some(Errno::ACCESS)),
            (&["ring", "unknown"], Some(Errno::LOOP)),
            (&["refused", "strange"], None),
        ] {
            let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
            assert_eq!(unusable(&paths, &facts), expect, "{paths:?}");
        }
        let engines = [Engine::IoUring, Engine::Libaio, Engine::Psync];
        let of = |engine| no_engine(engine, &facts.limits);
        assert_eq!(engines.map(of), [Some(Errno::PERM), Some(Errno::AGAIN), None]);
    }
}
