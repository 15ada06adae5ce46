//! Streams that replay a trace: the files that it names become targets, and its operations take the place of a workload's.
//!
//! It works on what a look at the trace found. What the operations are, one by one, it does not know.

use crate::operations::Operations;
use crate::remarks::Remarks;
use crate::targets::Addressed;
use crate::workers::Manned;
use fathom_model::{
    Amount, Diagnostics, Dialect, Job, Layout, Named, Span, StreamOptions, TargetOptions, TraceSkips,
};
use fathom_schema::{
    Arrival, Backlog, Case, Coverage, Distribution, Extent, NoteKind, OperationKind, Pacing, PassEnd, RATES,
    Replay, Severity, Size, Think, TraceFact, TraceFile, TraceKind, TraceName, TraceRule, Verification,
    WorkerPlan, Workload,
};
use fathom_units::{Bytes, Nanos, saturating_sum};
use std::borrow::Cow;
use std::path::PathBuf;

/// What has to be looked at before a job can be planned: its traces, each once.
pub fn traces(job: &Job) -> Vec<TraceRule> {
    let mut rules: Vec<TraceRule> =
        job.streams.iter().filter_map(|stream| rule_of(&stream.options)).collect();
    rules.sort_unstable();
    rules.dedup();
    rules
}

/// The job with the files of its traces among its targets, and what is wrong with those traces. To be planned with the same
/// facts.
pub fn with_traces<'a>(job: &'a Job, facts: &[TraceFact]) -> (Cow<'a, Job>, Diagnostics) {
    let mut found = Diagnostics::default();
    if job.streams.iter().all(|stream| stream.options.trace.get().is_none()) {
        return (Cow::Borrowed(job), found);
    }
    let mut job = job.clone();
    let own: Vec<String> = job.targets.iter().map(|target| target.name.clone()).collect();
    for index in 0..job.streams.len() {
        let stream = &mut job.streams[index];
        let Some(rule) = rule_of(&stream.options) else {
            // "All targets" are those of the job, not those of its traces.
            if stream.options.targets.get().is_none() {
                stream.options.targets.set(own.clone(), stream.span);
            }
            continue;
        };
        let Some(fact) = facts.iter().find(|fact| fact.rule == rule) else { continue };
        let place = stream.options.trace.span().unwrap_or(stream.span);
        tell(fact, place, job.dialect, &mut found);
        if fact.error.is_some() {
            continue;
        }
        if let Some(targets) = stream.options.targets.get() {
            if let [only] = targets.as_slice() {
                if !*stream.options.trace_makes_files.get() {
                    continue;
                }
                // fio lays out nothing for a trace; here only what it reads is.
                if job.dialect == Dialect::Fio && !fact.files.iter().any(|file| file.reads) {
                    let section = job.targets.iter_mut().find(|section| section.name == *only);
                    section
                        .into_iter()
                        .for_each(|section| section.options.layout.set(Layout::Created, place));
                }
                continue;
            }
            let message =
                format!("the trace of the stream \"{}\" goes to {} targets", stream.name, targets.len());
            let help = "name the one target that takes all its operations, or none: then its own files do";
            found.error("trace.targets", stream.options.targets.span().or(Some(place)), message, help);
            continue;
        }
        let name = stream.name.clone();
        let makes_files = (*stream.options.trace_makes_files.get(), place);
        let sections: Vec<Named<TargetOptions>> =
            fact.files.iter().filter_map(|file| section(&name, file, makes_files, &mut found)).collect();
        let names = sections.iter().map(|section| section.name.clone()).collect();
        job.streams[index].options.targets.set(names, place);
        job.targets.extend(sections);
    }
    (Cow::Owned(job), found)
}

/// The target that a file of a trace is.
fn section(
    stream: &str,
    file: &TraceFile,
    (makes_it, place): (bool, Span),
    found: &mut Diagnostics,
) -> Option<Named<TargetOptions>> {
    let path = match &file.name {
        TraceName::Path(path) => path.clone(),
        TraceName::Device(major, minor) => {
            let message =
                format!("the trace has operations on the device {major}:{minor}, which is not here");
            let help = "name one target that takes all its operations (replay_redirect in fio's jobs)";
            found.error("trace.no-device", Some(place), message, help);
            return None;
        }
    };
    let mut section = Named::<TargetOptions>::new(format!("{stream}: {path}"), place);
    section.options.path.set(vec![path], place);
    // One that is only synced has to be there, however long.
    section.options.size.set(Amount::Bytes(Bytes(file.end.max(1))), place);
    if !makes_it {
        section.options.layout.set(Layout::MustExist, place);
    } else if !file.reads {
        section.options.layout.set(Layout::Created, place);
    }
    Some(section)
}

/// Says which of its lines are wrong. That it cannot be read at all is said of the streams that replay it.
fn tell(fact: &TraceFact, place: Span, dialect: Dialect, found: &mut Diagnostics) {
    let path = fact.rule.path.display();
    let told = fact.faults.len() as u64;
    for fault in &fact.faults {
        let message = format!("{path}, {fault}");
        if dialect == Dialect::Fio {
            found.warn("trace.fault", place, message, "it is left out, and the rest replayed");
        } else {
            found.error("trace.fault", Some(place), message, "correct it, or take it out");
        }
    }
    if fact.faults_total > told {
        let message = format!("{path} has {} more of such faults", fact.faults_total - told);
        found.warn("trace.fault", place, message, "");
    }
}

/// What is asked of a stream's trace.
pub(crate) fn rule_of(options: &StreamOptions) -> Option<TraceRule> {
    let path = PathBuf::from(options.trace.get()?);
    let TraceSkips { reads, writes, trims, syncs } = options.trace_skip.get().copied().unwrap_or_default();
    let mut skips = [false; OperationKind::COUNT];
    for (kind, skip) in [
        (OperationKind::Read, reads),
        (OperationKind::Write, writes),
        (OperationKind::Trim, trims),
        (OperationKind::Sync, syncs),
    ] {
        skips[kind.index()] = skip;
    }
    let align = options.trace_align.get().map_or(1, |align| align.0.max(1));
    Some(TraceRule { path, skips, scale: (*options.trace_scale.get()).max(1), align })
}

/// A trace as one stream replays it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Traced<'a> {
    fact: &'a TraceFact,
    place: Span,
    speed: f64,
    is_timed: bool,
}

impl<'a> Traced<'a> {
    /// The trace of a stream; `Ok(None)` when it has none. One that nobody could read has been told of.
    pub(crate) fn of(
        stream: &Named<StreamOptions>,
        facts: &'a [TraceFact],
        remarks: &mut Remarks,
    ) -> Result<Option<Self>, ()> {
        let options = &stream.options;
        let Some(rule) = rule_of(options) else { return Ok(None) };
        let (path, name) = (rule.path.display(), &stream.name);
        let (message, help) =
            match facts.iter().find(|fact| fact.rule == rule).map(|fact| (fact, &fact.error)) {
                Some((fact, None)) => return Ok(Some(Self::with(fact, stream))),
                Some((_, Some(error))) => (
                    format!("the trace {path} cannot be replayed by the stream \"{name}\": {error}"),
                    "a trace is a log of fio's write_iolog, or what blkparse -d made of those of blktrace",
                ),
                None => (
                    format!("the trace {path} of the stream \"{name}\" was not read"),
                    "name one that can be, and sweep over no option of its own",
                ),
            };
        remarks.error("trace.unusable", options.trace.span().or(Some(stream.span)), message, help);
        Err(())
    }

    fn with(fact: &'a TraceFact, stream: &Named<StreamOptions>) -> Self {
        let options = &stream.options;
        let speed = f64::from(*options.trace_speed_percent.get()) / 100.0;
        let place = options.trace.span().unwrap_or(stream.span);
        Self { fact, place, speed, is_timed: *options.trace_timed.get() }
    }

    /// Where its last byte ends, all files taken as one.
    pub(crate) fn end(&self) -> u64 {
        self.fact.files.iter().map(|file| file.end).max().unwrap_or(0)
    }

    /// The queue depth that it shows.
    pub(crate) fn depth(&self) -> Option<u32> {
        self.fact.depth
    }

    /// What it does to the target `section` of its stream: whether it reads, and whether it writes or trims.
    pub(crate) fn use_of(&self, stream: &Named<StreamOptions>, section: &str) -> (bool, bool) {
        let targets = stream.options.targets.get().map_or(&[][..], Vec::as_slice);
        let position = targets.iter().position(|name| name == section).filter(|_| targets.len() > 1);
        let files = match position.and_then(|position| self.fact.files.get(position)) {
            Some(file) => std::slice::from_ref(file),
            None => &self.fact.files,
        };
        (files.iter().any(|file| file.reads), files.iter().any(|file| file.changes))
    }

    /// What the step keeps of it, where its worker has these extents.
    pub(crate) fn replay(&self, extents: &[Extent]) -> Replay {
        let changes = |extent: &&Extent| {
            let same =
                extents.iter().zip(&self.fact.files).filter(|(other, _)| other.target == extent.target);
            extents.len() == 1 || same.into_iter().any(|(_, file)| file.changes)
        };
        let only_read = extents.iter().filter(|extent| !changes(extent)).map(|extent| extent.target);
        Replay {
            rule: self.fact.rule.clone(),
            operations: self.operations(),
            has_syncs: self.fact.kinds.iter().any(|of| of.kind == OperationKind::Sync),
            fingerprint: self.fact.fingerprint,
            only_read: only_read.collect(),
        }
    }

    pub(crate) fn operations(&self) -> u64 {
        self.fact.kinds.iter().map(|of| of.operations).sum()
    }

    /// What it says in place of a workload. Of the sizes the smallest, the largest and what divides them are known.
    pub(crate) fn stand_in(&self, base: Operations) -> Operations {
        let moving: Vec<&TraceKind> =
            self.fact.kinds.iter().filter(|of| of.kind != OperationKind::Sync).collect();
        let total: u64 = moving.iter().map(|of| of.operations).sum();
        let bytes = saturating_sum(moving.iter().map(|of| of.bytes));
        let case = |of: &&TraceKind| Case {
            weight: of.operations as f64 / total as f64,
            kind: of.kind,
            size: if of.smallest == of.largest {
                Size::Fixed(of.smallest)
            } else {
                Size::Range { min: of.smallest, max: of.largest, step: of.granule.max(1) }
            },
            random: true,
            align: None,
        };
        let does = |kind| moving.iter().any(|of| of.kind == kind);
        let smallest = moving.iter().map(|of| of.smallest).min().unwrap_or(1);
        let align = match self.fact.offset_granule {
            0 => 1 << 30,
            granule => granule,
        };
        Operations {
            smallest: u64::from(smallest),
            largest: u64::from(moving.iter().map(|of| of.largest).max().unwrap_or(1)),
            mean_bytes: bytes as f64 / total as f64,
            block_place: Some(self.place),
            sequential: false,
            random: true,
            reads: does(OperationKind::Read),
            writes: does(OperationKind::Write),
            trims: does(OperationKind::Trim),
            verification: Verification::Off,
            workload: Workload {
                cases: moving.iter().map(case).collect(),
                replies: Vec::new(),
                distribution: Distribution::Uniform,
                coverage: Coverage::Independent,
                align: Bytes(align),
                ends: PassEnd::Stop,
                trim_then_write: false,
                verification: Verification::Off,
                ..base.workload
            },
        }
    }

    /// Its one worker, with an extent for each of its files; one target takes the operations of all of them.
    pub(crate) fn manned(
        &self,
        stream: &Named<StreamOptions>,
        addressed: &[&Addressed],
        plan: WorkerPlan,
        remarks: &mut Remarks,
    ) -> Option<Manned> {
        let onto_one = addressed.len() == 1;
        if !onto_one && addressed.len() != self.fact.files.len() {
            let message =
                format!("the trace of the stream \"{}\" goes to {} targets", stream.name, addressed.len());
            let help = "name one file or device, or leave targets out";
            remarks.error(
                "trace.targets",
                stream.options.targets.span().or(Some(stream.span)),
                message,
                help,
            );
            return None;
        }
        let mut extents = Vec::with_capacity(addressed.len());
        for (index, item) in addressed.iter().enumerate() {
            let end = if onto_one { self.end() } else { self.fact.files[index].end };
            if end > item.size {
                let message = format!(
                    "the trace of the stream \"{}\" goes up to {}, past the {} of {}",
                    stream.name,
                    Bytes(end),
                    Bytes(item.size),
                    item.name
                );
                let help = "use a larger target, or bring its offsets nearer with trace_scale (replay_scale in a job of fio)";
                remarks.error(
                    "plan.past-end",
                    stream.options.trace.span().or(Some(stream.span)),
                    message,
                    help,
                );
                return None;
            }
            let length = Bytes(end.max(1).min(item.size.max(1)));
            extents.push(Extent { target: item.index, start: Bytes(0), length, room: Bytes::ZERO });
        }
        let region_bytes = saturating_sum(extents.iter().map(|extent| extent.length.0));
        let plans = vec![WorkerPlan { extents, ..plan }];
        Some(Manned {
            plans,
            pass_bytes: region_bytes,
            region_bytes,
            coverage: Coverage::Independent,
            ends_with_shares: false,
            is_idle: false,
        })
    }

    /// When its operations are due. One without times goes as fast as it can.
    pub(crate) fn pacing(&self, think: Think, name: &str, remarks: &mut Remarks) -> Pacing {
        let seconds = Nanos(self.fact.span_ns).as_secs_f64() / self.speed;
        if !self.is_timed || self.fact.span_ns == 0 {
            if self.is_timed {
                let message = format!(
                    "the trace of the stream \"{name}\" says no times: it is replayed as fast as it goes"
                );
                remarks.note(NoteKind::Job, Severity::Info, message);
            }
            return Pacing::Closed { think };
        }
        let rate = (self.operations() as f64 / seconds).clamp(*RATES.start(), *RATES.end());
        let arrival = Arrival::Traced { speed: self.speed };
        Pacing::Open { rate, arrival, course: Vec::new(), backlog: Backlog::Keep }
    }
}

/// What a trace that nobody looked at might be, where only the job is judged: one read.
pub(crate) fn imagined(rule: &TraceRule) -> TraceFact {
    let read = TraceKind {
        kind: OperationKind::Read,
        operations: 1,
        bytes: 4096,
        smallest: 4096,
        largest: 4096,
        granule: 4096,
    };
    let name = TraceName::Path("trace".to_owned());
    TraceFact {
        rule: rule.clone(),
        error: None,
        faults: Vec::new(),
        faults_total: 0,
        files: vec![TraceFile { name, end: 4096, reads: true, changes: false }],
        kinds: vec![read],
        offset_granule: 0,
        span_ns: 0,
        depth: None,
        fingerprint: 0,
    }
}
