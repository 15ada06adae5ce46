//! Checks that need no facts: what an editor can say while the user types.

mod simulated;
mod trace;

use crate::diagnostic::{Diagnostics, Span, nearest};
use crate::job::{Job, Named};
use crate::literal::Literal;
use crate::options::{StageOptions, StreamOptions, TargetOptions, WorkloadOptions};
use crate::row::{Group, OptionValue, Options, Row, rows};
use crate::value::{Amount, Arrival, AtEnd, AtError, Rate, TargetKind};
use fathom_units::{Bytes, Nanos, Ratio};
use std::collections::{BTreeMap, HashSet};

/// Points of all sweeps of a job together, at most. Chosen so that a plan stays readable and 10,000 one-minute points
/// (a week) still go.
pub const POINTS_MAX: usize = 10_000;

/// Workers of a job together, at most: the peers' limit is 4,096 (fio), a host's threads rarely pass 32 Ki; 65,536 leaves
/// room for many hosts.
pub const WORKERS_MAX: u64 = 65_536;

/// Sections of one kind in a job, at most: as many streams as there may be workers, and as many targets and workloads for
/// them. A section takes kilobytes, and what has a million of them is no job that somebody wrote.
pub const SECTIONS_MAX: usize = 65_536;

/// Largest block size. Results are 32-bit, and Linux moves at most 2 GiB − 4 KiB in one call (`MAX_RW_COUNT`); a power of
/// two below both.
pub const BLOCK_SIZE_MAX: Bytes = Bytes::gib(1);

/// Largest huge page: those of `x86_64`.
const HUGE_PAGE_MAX: Bytes = Bytes::gib(1);

/// All that is wrong with a job and can be told without looking at a host.
pub fn check(job: &Job) -> Diagnostics {
    let mut found = Diagnostics::default();
    names_are_unique(&job.targets, "target", &mut found);
    names_are_unique(&job.workloads, "workload", &mut found);
    names_are_unique(&job.streams, "stream", &mut found);
    names_are_unique(&job.stages, "stage", &mut found);
    if job.streams.is_empty() {
        found.error("job.no-stream", None, "the job has no stream", "add a [stream.NAME] section");
    }
    found.extend(check_sections(job));
    let streams = Names::of(&job.streams, "stream");
    for stage in &job.stages {
        check_stage(job, stage, &streams, &mut found);
    }
    if *job.run.interval.get() < Nanos::millis(10) {
        found.error("job.interval", job.run.interval.span(), "interval is below 10 ms", "use 10ms or more");
    }
    check_amount_of_work(job, &mut found);
    found
}

/// What is wrong within the targets, workloads and streams of a job: what a point of a sweep can change.
pub fn check_sections(job: &Job) -> Diagnostics {
    let mut found = Diagnostics::default();
    for target in &job.targets {
        check_target(target, &mut found);
        // A job of fio names its files, whatever its engine does.
        if job.dialect == crate::Dialect::Native {
            check_unused_place(target, &mut found);
        }
    }
    for workload in &job.workloads {
        check_workload(workload, &mut found);
    }
    let (targets, workloads) = (Names::of(&job.targets, "target"), Names::of(&job.workloads, "workload"));
    for stream in &job.streams {
        check_stream(job, stream, &targets, &workloads, &mut found);
    }
    check_waits(job, &mut found);
    found
}

/// Names of the sections of one kind.
struct Names<'a> {
    what: &'static str,
    in_order: Vec<&'a str>,
    all: HashSet<&'a str>,
}

impl<'a> Names<'a> {
    fn of<T>(sections: &'a [Named<T>], what: &'static str) -> Self {
        let in_order: Vec<&str> = sections.iter().map(|section| section.name.as_str()).collect();
        Self { what, all: in_order.iter().copied().collect(), in_order }
    }

    /// Complains of a name that none of them has.
    fn refers(&self, name: &str, span: Option<Span>, found: &mut Diagnostics) {
        if self.all.contains(name) {
            return;
        }
        let help = match nearest(name, self.in_order.iter().copied()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("the job has: {}", self.in_order.join(", ")),
        };
        found.error("job.unknown-name", span, format!("there is no {} \"{name}\"", self.what), help);
    }
}

fn names_are_unique<T>(sections: &[Named<T>], what: &str, found: &mut Diagnostics) {
    let mut seen = std::collections::BTreeSet::new();
    for section in sections {
        if !seen.insert(&section.name) {
            let message = format!("the {what} \"{}\" is declared twice", section.name);
            found.error("job.duplicate-name", section.span, message, "give one of them another name");
        }
    }
}

/// Whether a path begins like what stands for a target without storage.
fn is_like_a_built_in(path: &str) -> bool {
    ["sim:", "null:"].iter().any(|word| path.starts_with(word))
}

/// What is no storage is nowhere: a path beside it is of something else that was meant.
fn check_unused_place(target: &Named<TargetOptions>, found: &mut Diagnostics) {
    let options = &target.options;
    let kind = *options.kind.get();
    let word = match kind {
        TargetKind::Null => "null",
        TargetKind::Sim => "sim",
        _ => return,
    };
    for (name, span) in [("path", options.path.span()), ("directory", options.directory.span())] {
        if let Some(span) = span {
            found.warn(
                "target.unused-place",
                span,
                format!("the target \"{}\" is of kind {word}, so that its {name} is not used", target.name),
                format!("leave {name} out, or the kind, if what is there is meant"),
            );
        }
    }
}

fn check_target(target: &Named<TargetOptions>, found: &mut Diagnostics) {
    let options = &target.options;
    let kind = *options.kind.get();
    let substitute = matches!(kind, TargetKind::Null | TargetKind::Sim | TargetKind::Peer);
    if kind == TargetKind::Peer && options.address.get().is_none() {
        let message = format!("the target \"{}\" has no address", target.name);
        let help = "add address = \"tcp://localhost:9000\"";
        found.error("target.no-address", target.span, message, help);
    }
    match (options.path.get(), options.directory.get()) {
        (Some(_), Some(_)) if kind != TargetKind::Tree => found.error(
            "target.path-and-directory",
            options.directory.span(),
            format!("the target \"{}\" has both a path and a directory", target.name),
            "use path for files and devices that you name, directory for files that fathom names",
        ),
        (None, None) if !substitute => found.error(
            "target.no-path",
            target.span,
            format!("the target \"{}\" has neither path nor directory", target.name),
            "add path = \"/dev/…\" or directory = \"/mnt/…\"",
        ),
        (Some(paths), _) if paths.iter().any(String::is_empty) => {
            found.error(
                "target.empty-path",
                options.path.span(),
                "the path is empty",
                "name a file or a block device",
            );
        }
        (Some(paths), _) => {
            if let Some(path) = paths.iter().find(|path| is_like_a_built_in(path)) {
                let (word, _) = path.split_once(':').unwrap_or((path, ""));
                found.error(
                    "target.built-in-path",
                    options.path.span(),
                    format!("\"{path}\" would be a file of that name, and not fathom's own target {word}:"),
                    format!(
                        "write kind = \"{word}\" instead of a path, and what it is like beside it; or ./{path} for such a file"
                    ),
                );
            }
        }
        _ => {}
    }
    if substitute
        && options.size.get().is_none_or(|size| matches!(size, Amount::Share(_)))
        && kind == TargetKind::Sim
    {
        found.error(
            "target.sim-size",
            target.span,
            "a simulated device needs a size in bytes",
            "add size = \"1GiB\"",
        );
    }
    if kind == TargetKind::Sim {
        simulated::check(target, found);
    }
    if matches!(options.size.get(), Some(&Amount::Bytes(Bytes::ZERO) | &Amount::Share(Ratio::ZERO))) {
        let help = "say how much is used, e.g. \"64MiB\", or leave it out for all that is there";
        found.error("target.size", options.size.span(), "the size is 0", help);
    }
    if options.files.given().is_some_and(|&files| files > 1)
        && kind != TargetKind::Tree
        && options.path.get().is_some()
    {
        let message = format!("the target \"{}\" has a number of files and paths", target.name);
        let help = "files counts those that fathom names in a directory; list the paths, or use directory";
        found.error("target.files-and-path", options.files.span(), message, help);
    }
}

fn check_workload(workload: &Named<WorkloadOptions>, found: &mut Diagnostics) {
    let options = &workload.options;
    if options.read.get().value() + options.trim.get().value() > 1.0 + 1e-9 {
        let message =
            format!("read {} and trim {} are more than all", options.read.get(), options.trim.get());
        found.error(
            "workload.shares",
            options.trim.span(),
            message,
            "let them sum to 100% or less; the rest are writes",
        );
    }
    if options.trim.given().is_some() && options.read.given().is_none() && options.trim.get().value() > 0.0 {
        // read defaults to 100%, which a trim share contradicts: say what is taken rather than guess silently.
        found.error(
            "workload.shares",
            options.trim.span(),
            "a trim share needs the read share beside it",
            "add read = \"0%\" for trims and writes only",
        );
    }
    if let Some(span) = options.mix.span() {
        for (name, given) in [
            ("block_size", options.block_size.span()),
            ("read", options.read.span()),
            ("trim", options.trim.span()),
            ("access", options.access.span()),
        ] {
            if given.is_some() {
                let message = format!("mix and {name} are both given");
                found.error(
                    "workload.mix-and-single",
                    span,
                    message,
                    format!("put {name} into the lines of the mix"),
                );
            }
        }
    }
    let of_mix = options.mix.get().into_iter().flatten().flat_map(|line| &line.block_size.sizes);
    let single = &options.block_size.get().sizes;
    if let Some((_, _, max, _)) = single.iter().chain(of_mix).find(|(_, _, max, _)| *max > BLOCK_SIZE_MAX) {
        let place = options.block_size.span().or(options.mix.span()).or(Some(workload.span));
        let message = format!(
            "block size {max} of the workload \"{}\" is above {BLOCK_SIZE_MAX}, the most that one operation moves",
            workload.name
        );
        found.error("workload.block-size", place, message, format!("use {BLOCK_SIZE_MAX} or less"));
    }
    if let Some(align) = options.align.get()
        && align.0 == 0
    {
        found.error(
            "workload.align",
            options.align.span(),
            "align is 0",
            "use the sector size or leave it out",
        );
    }
    if options.compress_chunk.get().0 == 0 || options.compress_chunk.get().0 > 1 << 30 {
        let message = format!("compress_chunk {} is outside 1 B to 1 GiB", options.compress_chunk.get());
        found.error("workload.compress-chunk", options.compress_chunk.span(), message, "512B is usual");
    }
}

fn check_stream(
    job: &Job,
    stream: &Named<StreamOptions>,
    targets: &Names<'_>,
    workloads: &Names<'_>,
    found: &mut Diagnostics,
) {
    let options = &stream.options;
    match options.workload.get() {
        Some(name) => workloads.refers(name, options.workload.span(), found),
        None if job.workloads.len() > 1 && !workloads.all.contains(stream.name.as_str()) => found.error(
            "stream.no-workload",
            stream.span,
            format!("the stream \"{}\" does not say which workload it runs", stream.name),
            "add workload = \"NAME\"",
        ),
        None => {}
    }
    for name in options.targets.get().into_iter().flatten() {
        targets.refers(name, options.targets.span(), found);
    }
    if job.targets.is_empty() && options.trace.get().is_none() {
        found.error(
            "stream.no-target",
            stream.span,
            "the job has no target",
            "add a [target.NAME] section with a path",
        );
    }
    if *options.think_time.get() > Nanos::ZERO && options.rate_course.get().is_some() {
        found.error(
            "stream.think-and-course",
            options.think_time.span(),
            "think_time and rate_course contradict each other",
            "write the pauses into the course, as \"idle for TIME\"",
        );
    }
    // What fio makes of it is its front end's.
    if let (crate::Dialect::Native, Some(&most)) = (job.dialect, options.batch_complete_max.get())
        && most < *options.batch_complete.get()
    {
        let least = options.batch_complete.get();
        let message = format!("batch_complete_max is {most}, and batch_complete waits for {least}");
        let help = "make it at least as much as batch_complete";
        found.error("stream.batch-complete", options.batch_complete_max.span(), message, help);
    }
    if job.dialect == crate::Dialect::Native {
        rates_can_be_kept(stream, found);
    }
    let in_no_group = *options.report_group.get() == 0;
    let group_ends = [
        ("at_end", options.at_end.span(), *options.at_end.get() == AtEnd::Group),
        ("at_error", options.at_error.span(), *options.at_error.get() == AtError::Group),
    ];
    for (name, span, _) in group_ends.into_iter().filter(|(_, _, is_group)| *is_group && in_no_group) {
        let message = format!("{name} is \"group\", and the stream \"{}\" is in none", stream.name);
        found.error("stream.no-group", span, message, "give it a report_group from 1 up");
    }
    if let Some(span) = options.rate_course.span() {
        if options.rate.span().is_some() {
            let message = "rate and rate_course are both given";
            found.error("stream.rate-and-course", span, message, "put the rate into the course");
        }
        if let Arrival::ByKind | Arrival::OnOff(..) | Arrival::ParetoOnOff(..) | Arrival::BModel(..) =
            options.arrival.get()
        {
            let message =
                format!("arrivals of this sort ({}) have no rate_course", options.arrival.get().print());
            let help = "use constant, poisson or uniform arrivals, or write the bursts into the course";
            found.error("stream.course-of-bursts", span, message, help);
        }
    }
    let page = *options.huge_page.get();
    if !page.0.is_power_of_two() || page > HUGE_PAGE_MAX {
        let message = format!("huge_page {page} is no power of two up to {HUGE_PAGE_MAX}");
        found.error("stream.huge-page", options.huge_page.span(), message, "2MiB and 1GiB are usual");
    }
    if *options.memory_shift.get() > Bytes::mib(1) {
        let message = format!("memory_shift {} is above 1 MiB", options.memory_shift.get());
        found.error("stream.memory-shift", options.memory_shift.span(), message, "use less");
    }
    // In a job of fio it is the end of a file that the job makes longer.
    let is_all = matches!(options.offset.get(), Amount::Share(share) if *share == Ratio::ONE);
    if is_all && job.dialect != crate::Dialect::Fio {
        found.error("stream.offset", options.offset.span(), "an offset of 100% leaves nothing", "use less");
    }
    time_is_some(options.time.get(), options.time.span(), found);
    trace::check(job, stream, found);
}

fn time_is_some(time: Option<&Nanos>, span: Option<Span>, found: &mut Diagnostics) {
    if time == Some(&Nanos::ZERO) {
        found.error("job.time", span, "the time is 0", "give the time to measure, e.g. \"30s\"");
    }
}

/// Streams wait for others that exist, and not in a circle.
fn check_waits(job: &Job, found: &mut Diagnostics) {
    let by_name: BTreeMap<&str, usize> =
        job.streams.iter().enumerate().map(|(index, stream)| (stream.name.as_str(), index)).collect();
    let names = Names::of(&job.streams, "stream");
    let mut left: Vec<usize> = vec![0; job.streams.len()];
    let mut waiting: Vec<Vec<usize>> = vec![Vec::new(); job.streams.len()];
    for (index, stream) in job.streams.iter().enumerate() {
        for name in stream.options.wait_for.get() {
            match by_name.get(name.as_str()) {
                Some(&awaited) => {
                    left[index] += 1;
                    waiting[awaited].push(index);
                }
                None => names.refers(name, stream.options.wait_for.span(), found),
            }
        }
    }
    // Those that wait for nobody go first, then whoever waited for them only; a circle never gets its turn.
    let mut ready: Vec<usize> = (0..left.len()).filter(|&index| left[index] == 0).collect();
    let mut gone = 0;
    while let Some(index) = ready.pop() {
        gone += 1;
        for &next in &waiting[index] {
            left[next] -= 1;
            if left[next] == 0 {
                ready.push(next);
            }
        }
    }
    if gone < job.streams.len()
        && let Some(stream) = job.streams.iter().zip(&left).find(|(_, left)| **left > 0).map(|(s, _)| s)
    {
        found.error(
            "stream.wait-for",
            stream.options.wait_for.span(),
            format!("the stream \"{}\" would wait for itself, directly or through others", stream.name),
            "take one of the streams out of the circle",
        );
    }
}

/// A rate that is to be kept at least is not above the one that is offered.
fn rates_can_be_kept(stream: &Named<StreamOptions>, found: &mut Diagnostics) {
    let options = &stream.options;
    let offered = options.rate.get();
    for (_, least) in options.rate_min.get().iter().flat_map(|kinds| &kinds.0) {
        let is_more = match (least, offered) {
            (Rate::Operations(least), Rate::Operations(offered)) => least.0 > offered.0,
            (Rate::Bandwidth(least), Rate::Bandwidth(offered)) => least.0 > offered.0,
            _ => false,
        };
        if is_more {
            let message = format!("the stream \"{}\" is to keep a rate_min above its own rate", stream.name);
            let help = "make rate_min at most as much as rate";
            found.error("stream.rate-min", options.rate_min.span(), message, help);
            return;
        }
    }
}

fn check_stage(job: &Job, stage: &Named<StageOptions>, streams: &Names<'_>, found: &mut Diagnostics) {
    let mut seen = HashSet::new();
    for name in stage.options.streams.get().into_iter().flatten() {
        let span = stage.options.streams.span();
        streams.refers(name, span, found);
        if !seen.insert(name) {
            let message = format!("the stage \"{}\" names the stream \"{name}\" twice", stage.name);
            let help = "name it once; for more of its load give it more workers";
            found.error("job.duplicate-name", span, message, help);
        }
    }
    time_is_some(stage.options.time.get(), stage.options.time.span(), found);
    let span = stage.options.sweep.span();
    for (path, values) in &stage.options.sweep.get().dimensions {
        check_sweep(job, path, values, span, found);
    }
    if stage.options.curve.get().contains(&Ratio::ZERO) {
        found.error(
            "stage.curve",
            stage.options.curve.span(),
            "0% of the maximum never comes",
            "start above 0%",
        );
    }
}

fn check_sweep(job: &Job, path: &str, values: &[Literal], span: Option<Span>, found: &mut Diagnostics) {
    let place = span.unwrap_or_default();
    let outcomes = values.iter().map(|value| apply(&mut job.clone(), path, value, place));
    for (value, outcome) in values.iter().zip(outcomes) {
        let place = span.map(|span| within(job, span, path));
        match outcome {
            Ok(()) => continue,
            Err(Unswept::NoSuchPath(reason)) => {
                let message = format!("sweep over {path}: {reason}");
                found.error("stage.sweep", place, message, nearest_path(job, path));
            }
            Err(Unswept::BadValue(reason)) => {
                let message = format!("sweep over {path} with {}: {reason}", value.describe());
                let help = "sweep values that the option can have";
                found.error("stage.sweep", place, message, help);
            }
        }
        return;
    }
}

/// The place of `words` within a place of the job's text; the whole of it where they are not.
fn within(job: &Job, span: Span, words: &str) -> Span {
    let text = job.sources.of(span).and_then(|source| source.text.get(span.start..span.end));
    text.and_then(|text| text.find(words)).map_or(span, |at| {
        let start = span.start + at;
        Span { start, end: start + words.len(), ..span }
    })
}

/// Why a sweep's value cannot be set.
pub(crate) enum Unswept {
    /// The path leads to no option of the job.
    NoSuchPath(String),
    /// The option cannot have the value.
    BadValue(String),
}

/// A way out for a sweep path that leads nowhere: the path that was likely meant.
fn nearest_path(job: &Job, path: &str) -> String {
    let form = "sweep paths are stream.OPTION, stream.NAME.OPTION, workload.OPTION …";
    let swept = [Group::Target, Group::Workload, Group::Stream];
    let in_group = |group: Group| rows().filter(move |row| row.group == group).map(Row::name);
    let (written, name, option) = Job::split_path(path).unwrap_or(("", None, path));
    // The section as written, or as it was likely meant, or the one that has such an option.
    let by_option = || swept.into_iter().find(|&group| in_group(group).any(|known| known == option));
    let by_name = swept.into_iter().find(|group| nearest(written, [group.name()]).is_some());
    let Some(group) = by_name.or_else(by_option) else { return form.to_owned() };
    let (group, option) = match nearest(option, in_group(group)) {
        Some(near) => (group, near),
        None => match by_option() {
            Some(other) => (other, option),
            None => {
                let help = format!("`fathom options` lists those of [{}]", group.name());
                return help;
            }
        },
    };
    let names: Vec<&str> = match group {
        Group::Target => job.targets.iter().map(|section| section.name.as_str()).collect(),
        Group::Workload => job.workloads.iter().map(|section| section.name.as_str()).collect(),
        _ => job.streams.iter().map(|section| section.name.as_str()).collect(),
    };
    match name.and_then(|name| nearest(name, names)) {
        Some(name) => format!("did you mean {}.{name}.{option}?", group.name()),
        None => format!("did you mean {}.{option}?", group.name()),
    }
}

/// Sets the option at a sweep path to `value` in every section it names.
pub(crate) fn apply(job: &mut Job, path: &str, value: &Literal, span: Span) -> Result<(), Unswept> {
    fn to_all<T: Options>(
        sections: &mut [Named<T>],
        name: Option<&str>,
        option: &str,
        value: &Literal,
        span: Span,
    ) -> Result<(), Unswept> {
        let group = T::GROUP.name();
        let mut touched = false;
        for section in sections.iter_mut().filter(|section| name.is_none_or(|name| section.name == name)) {
            let set = section.options.set(option, value, span).ok_or_else(|| {
                Unswept::NoSuchPath(format!("there is no option \"{option}\" in {group} sections"))
            })?;
            set.map_err(Unswept::BadValue)?;
            touched = true;
        }
        let missing = || match name {
            Some(name) => format!("there is no {group} \"{name}\""),
            None => format!("the job has no {group} section"),
        };
        if touched { Ok(()) } else { Err(Unswept::NoSuchPath(missing())) }
    }
    let no_path = || Unswept::NoSuchPath("a path has the form SECTION.OPTION".to_owned());
    let (group, name, option) = Job::split_path(path).ok_or_else(no_path)?;
    match group {
        "target" => to_all(&mut job.targets, name, option, value, span),
        "workload" => to_all(&mut job.workloads, name, option, value, span),
        "stream" => to_all(&mut job.streams, name, option, value, span),
        _ => {
            let reason = format!("\"{group}\" cannot be swept; target, workload and stream can");
            Err(Unswept::NoSuchPath(reason))
        }
    }
}

fn check_amount_of_work(job: &Job, found: &mut Diagnostics) {
    let of_stream = |stream: &Named<StreamOptions>| u64::from(*stream.options.workers.get());
    let workers: u64 = job.streams.iter().map(of_stream).sum();
    if workers > WORKERS_MAX {
        let mut until = 0;
        let beyond = job.streams.iter().find(|stream| {
            until += of_stream(stream);
            until > WORKERS_MAX
        });
        let place = beyond.map(|stream| stream.options.workers.span().unwrap_or(stream.span));
        let message = format!("the job has {workers} workers; the limit is {WORKERS_MAX}");
        found.error("job.too-many-workers", place, message, "use fewer workers with a larger queue_depth");
    }
    let points = |stage: &Named<StageOptions>| -> usize {
        let of_sweep = stage.options.sweep.get().dimensions.iter().map(|(_, values)| values.len());
        of_sweep.fold(1_usize, usize::saturating_mul).saturating_mul(stage.options.curve.get().len() + 1)
    };
    let largest = job.stages.iter().max_by_key(|stage| points(stage));
    let points = job.stages.iter().map(points).fold(0_usize, usize::saturating_add);
    if points > POINTS_MAX {
        let place = largest.map(|stage| stage.options.sweep.span().unwrap_or(stage.span));
        let message = format!("the job's sweeps make more than {POINTS_MAX} points, the limit");
        found.error("job.too-many-points", place, message, "sweep fewer values, or split the job");
    }
}

impl Job {
    /// Sets the option at a sweep path (`stream.queue_depth`, `stream.NAME.queue_depth`) in every section it names.
    /// `place` is where its faults are said to be.
    pub fn apply(&mut self, path: &str, value: &Literal, place: Span) -> Result<(), String> {
        apply(self, path, value, place)
            .map_err(|(Unswept::NoSuchPath(reason) | Unswept::BadValue(reason))| reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::literal::{Literal, Spanned};
    use crate::value::{BlockSizes, RatePiece, Sweep};
    use fathom_units::Iops;

    fn job() -> Job {
        let mut job = Job::default();
        let span = Span::default();
        let mut target = Named::<TargetOptions>::new("disk", span);
        target.options.path.set(vec!["/tmp/x".to_owned()], span);
        job.targets.push(target);
        job.workloads.push(Named::new("w", span));
        job.streams.push(Named::new("s", span));
        job.stages.push(Named::new("main", span));
        job
    }

    fn codes(job: &Job) -> Vec<&'static str> {
        check(job).all().iter().map(|d| d.code).collect()
    }

    #[test]
    fn a_minimal_job_has_no_fault() {
        assert_eq!(codes(&job()), Vec::<&str>::new());
    }

    #[test]
    fn a_course_stands_alone() {
        let span = Span::default();
        let mut job = job();
        let options = &mut job.streams[0].options;
        let hold = RatePiece::Hold(Rate::Operations(Iops(5.0)), Nanos::secs(1));
        options.rate_course.set(vec![hold], span);
        assert_eq!(codes(&job), Vec::<&str>::new());
        let options = &mut job.streams[0].options;
        options.rate.set(Rate::Operations(Iops(5.0)), span);
        options.think_time.set(Nanos::secs(1), span);
        options.arrival.set(Arrival::OnOff(Nanos::secs(1), Nanos::secs(1)), span);
        let expect = ["stream.think-and-course", "stream.rate-and-course", "stream.course-of-bursts"];
        assert_eq!(codes(&job), expect);
    }

    #[test]
    fn all_faults_are_found_at_once() {
        let span = Span::default();
        let mut job = job();
        job.streams[0].options.workload.set("v".to_owned(), span);
        job.streams[0].options.targets.set(vec!["dick".to_owned()], span);
        job.targets.push(Named::new("disk", span));
        job.streams[0].options.workers.set(65_536, span);
        job.streams.push(Named::new("t", span));
        assert_eq!(
            codes(&job),
            [
                "job.duplicate-name",
                "target.no-path",
                "job.unknown-name",
                "job.unknown-name",
                "job.too-many-workers"
            ]
        );
    }

    /// Text is held to the limit where it is read; a dialect sets values that nobody read.
    #[test]
    fn one_operation_moves_at_most_a_gibibyte() {
        for (size, expect) in [(BLOCK_SIZE_MAX, &[][..]), (Bytes::gib(2), &["workload.block-size"][..])] {
            let mut job = job();
            job.workloads[0].options.block_size.set(BlockSizes::fixed(size), Span::default());
            assert_eq!(codes(&job), expect, "{size}");
        }
    }

    #[test]
    fn a_path_of_what_is_no_storage_is_told() {
        for (kind, dialect, expect) in [
            (TargetKind::Null, crate::Dialect::Native, &["target.unused-place"][..]),
            (TargetKind::Sim, crate::Dialect::Native, &["target.unused-place"][..]),
            (TargetKind::Null, crate::Dialect::Fio, &[][..]),
        ] {
            let mut job = job();
            job.dialect = dialect;
            let options = &mut job.targets[0].options;
            options.path.set(vec!["data".to_owned()], Span::default());
            options.size.set(Amount::Bytes(Bytes::gib(1)), Span::default());
            options.kind.set(kind, Span::default());
            assert_eq!(codes(&job), expect, "{kind:?}");
        }
    }

    #[test]
    fn sweeps_are_checked_with_each_value() {
        let mut with = job();
        let values = vec![Literal::Integer(1), Literal::Integer(0)];
        let sweep = Sweep { dimensions: vec![("stream.queue_depth".to_owned(), values)] };
        with.stages[0].options.sweep.set(sweep, Span::default());
        assert_eq!(codes(&with), ["stage.sweep"]);
        let mut with = job();
        let values = |n: i64| (0..n).map(|i| Literal::Integer(i + 1)).collect::<Vec<_>>();
        let dimensions =
            vec![("stream.queue_depth".to_owned(), values(1000)), ("stream.workers".to_owned(), values(100))];
        with.stages[0].options.sweep.set(Sweep { dimensions }, Span::default());
        assert_eq!(codes(&with), ["job.too-many-points"]);
    }

    #[test]
    fn a_sweep_path_that_leads_nowhere_names_the_nearest() {
        let mut job = job();
        job.streams[0].name = "oltp".to_owned();
        for (path, help) in [
            ("stream.que_depth", "did you mean stream.queue_depth?"),
            ("strem.workers", "did you mean stream.workers?"),
            ("stream.olpt.workers", "did you mean stream.oltp.workers?"),
            ("stream.block_size", "did you mean workload.block_size?"),
            ("queue_depth", "did you mean stream.queue_depth?"),
            ("streams.oltp.queue_deph", "did you mean stream.oltp.queue_depth?"),
            ("workload.zzzzzzzzzz", "`fathom options` lists those of [workload]"),
            ("x.y", "sweep paths are stream.OPTION, stream.NAME.OPTION, workload.OPTION …"),
        ] {
            let dimensions = vec![(path.to_owned(), vec![Literal::Integer(1)])];
            job.stages[0].options.sweep.set(Sweep { dimensions }, Span::default());
            let found = check(&job);
            assert_eq!(found.all().len(), 1, "{path}: {found:?}");
            assert_eq!((found.all()[0].code, found.all()[0].help.as_str()), ("stage.sweep", help), "{path}");
        }
    }

    /// A sweep's fault is shown where its path stands, not over all lines of the table.
    #[test]
    fn a_fault_of_a_sweep_is_placed_at_its_path() {
        let mut job = job();
        let text = "sweep = { \"stream.workers\" = [1], \"stream.deph\" = [1] }";
        let source = job.sources.add("job.toml", text);
        let dimensions = vec![
            ("stream.workers".to_owned(), vec![Literal::Integer(1)]),
            ("stream.deph".to_owned(), vec![Literal::Integer(1)]),
        ];
        job.stages[0].options.sweep.set(Sweep { dimensions }, Span { source, start: 8, end: text.len() });
        let found = check(&job);
        let span = found.all()[0].span.expect("it has a place");
        assert_eq!(&text[span.start..span.end], "stream.deph");
    }

    #[test]
    fn nothing_lasts_no_time_and_has_no_bytes() {
        let span = Span::default();
        let mut job = job();
        job.targets[0].options.size.set(Amount::Share(Ratio::ZERO), span);
        job.stages[0].options.time.set(Nanos::ZERO, Span { start: 3, end: 4, ..span });
        let found = check(&job);
        assert_eq!(codes(&job), ["target.size", "job.time"]);
        assert_eq!(found.all()[1].span, Some(Span { start: 3, end: 4, ..span }));
    }

    #[test]
    fn unknown_options_name_the_nearest() {
        let mut found = Diagnostics::default();
        let name = Spanned { value: "queue_deph".to_owned(), span: Span::default() };
        let value = Spanned { value: Literal::Integer(1), span: Span::default() };
        StreamOptions::default().set_or_report(&name, &value, &mut found);
        assert_eq!(found.all()[0].help, "did you mean queue_depth?");
    }
}
