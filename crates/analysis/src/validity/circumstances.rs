//! Checks of the circumstances: how the run ended, errors, the host's settings, the clock.

use super::{Found, Progress, StepView};
use crate::errno::is_of_connection;
use crate::measured::Measured;
use crate::{errno_name, operations, pts, stored_until};
use fathom_schema::{
    EngineKind, EnvironmentFact, FileKind, Interval, KindTally, OperationKind, Outcome, Phase, Question,
    Record, Severity, StepRecord, Stream, TargetKind,
};
use fathom_units::Nanos;
use std::collections::{BTreeMap, BTreeSet};

/// Share of failed operations from which on the figures are those of the failures: a failed operation is often far
/// faster, or far slower, than one that works.
const FAILED_SHARE_MAX: f64 = 0.01;
/// Share by which the wall clock may run slower than the measured time before it is held to have been set: time
/// synchronisation slews by at most 500 ppm (adjtimex(2)), a hundredth is far above.
const WALL_SLOWER_MAX: f64 = 0.01;
/// What the wall clock may lack besides, in milliseconds: both its readings are rounded and taken a moment apart.
const WALL_SLACK_MS: f64 = 100.0;

/// Streams that are named where there may be thousands.
const STREAMS_NAMED: usize = 3;

/// Checks of the run as a whole.
pub(super) fn run(record: &Record, progress: Progress, found: &mut Found) {
    let last = record.steps.last();
    let stored = last.and_then(|step| step.intervals.iter().map(|interval| interval.end).max());
    let seconds = last.and_then(stored_until).or(stored).map_or(0.0, Nanos::as_secs_f64);
    let until = format!("figures end with second {seconds:.0} of step {}", record.steps.len().max(1));
    let is_test = matches!(record.started.question, Some(Question::Steady(_)));
    if is_test {
        fresh_devices(record, found);
    }
    match record.outcome() {
        Some(Outcome::IoErrors) if record.broken_demand().is_some() => found.add(
            "run.demand",
            Severity::Warn,
            format!(
                "a demand of the job was not kept, which ends its stream, and the run unless the job says otherwise: {}; {until}",
                record.broken_demand().map_or("", |note| note.message.as_str())
            ),
            "look at what led there; the figures are of what was measured until then",
        ),
        // I/O errors and mismatches are told by themselves.
        Some(Outcome::Complete | Outcome::IoErrors | Outcome::Mismatch) => {}
        Some(Outcome::Interrupted { signal }) => found.add(
            "run.interrupted",
            Severity::Warn,
            match signal {
                0 => format!("the run was ended on request; {until}"),
                signal => format!("signal {signal} ended the run; {until}"),
            },
            if is_test {
                "go on with it where it was ended, by its page or `fathom steady --resume` with its id; whole rounds are kept"
            } else {
                "let it run to its end for a full result"
            },
        ),
        Some(Outcome::Aborted { reason }) => found.add(
            "run.aborted",
            Severity::Warn,
            format!("a condition of the job ended the run: {reason}; {until}"),
            "look at what led there; the figures are of what was measured until then",
        ),
        Some(Outcome::Failed { reason }) => found.add(
            "run.failed",
            Severity::Invalid,
            format!("the run could not go on: {reason}"),
            "remove the cause and run it again",
        ),
        None => found.add(
            "run.unfinished",
            Severity::Warn,
            format!("the run {}; {until}{}", progress.told(), last.and_then(left_out).unwrap_or_default()),
            match progress {
                Progress::GoesOn => "figures are sums over the stored intervals; look again when it has ended",
                Progress::Unknown | Progress::Killed => {
                    "figures are sums over the stored intervals; run it again for a full result"
                }
            },
        ),
    }
    environment(&record.started.facts.environment, found);
}

/// What is stored of some streams of a step that was cut off, and not of all, in words.
fn left_out(step: &StepRecord) -> Option<String> {
    let until = stored_until(step)?;
    let beyond = step.intervals.iter().filter(|interval| interval.end > until);
    let streams: BTreeSet<u32> = beyond.clone().map(|interval| interval.stream).collect();
    let last = beyond.map(|interval| interval.end).max()?;
    let named =
        streams.iter().filter_map(|&at| step.started.step.streams.get(at as usize)).take(STREAMS_NAMED);
    let mut names: Vec<String> = named.map(|stream| format!("\"{}\"", stream.name)).collect();
    if streams.len() > names.len() {
        names.push(format!("{} more", streams.len() - names.len()));
    }
    let (from, to) = (until.as_secs_f64(), last.as_secs_f64());
    Some(format!(
        "; left out is what is stored from second {from:.0} to {to:.0} of {}, since that of the others is not",
        names.join(", ")
    ))
}

/// Checks of one step.
pub(super) fn step(view: &StepView<'_>, found: &mut Found) {
    nothing_done(view, found);
    errors(view, found);
    mismatches(view, found);
    changes(view, found);
    wall_clock(view, found);
}

/// The null engine under the name of something that is there: quick figures of a device that was never touched.
fn nothing_done(view: &StepView<'_>, found: &mut Found) {
    let facts = &view.record.started.facts.targets;
    let is_there = |name: &str| {
        let named = facts.iter().find(|fact| fact.path.as_os_str() == name);
        named.is_some_and(|fact| matches!(fact.kind, FileKind::File | FileKind::BlockDevice))
    };
    let targets = &view.step.started.step.targets;
    let does_nothing = |stream: &Stream| {
        let extents = stream.workers.iter().flat_map(|worker| &worker.extents);
        let mut named = extents.filter_map(|extent| targets.get(extent.target as usize));
        stream.engine.kind == EngineKind::Null && named.any(|target| is_there(&target.name))
    };
    for (stream, _) in view.streams().filter(|(stream, _)| does_nothing(stream)) {
        found.add(
            "engine.null",
            Severity::Invalid,
            format!("{}the null engine does no I/O: the target was not touched", view.stream_place(stream)),
            "take these for figures of fathom itself; name another engine to measure the target",
        );
    }
}

fn mismatches(view: &StepView<'_>, found: &mut Found) {
    for (stream, measured) in view.streams() {
        let verified = measured.workers.iter().filter_map(|worker| worker.verified.as_ref());
        let checked: u64 = verified.clone().map(|verified| verified.checked).sum();
        let wrong: u64 = verified.flat_map(|verified| &verified.mismatches).map(|(_, count)| count).sum();
        if wrong > 0 {
            let is_shared = stream.workload.verification.rule().is_some_and(|rule| rule.is_shared);
            found.weighed(
                wrong as f64 / checked.max(1) as f64,
                "verify.mismatch",
                Severity::Invalid,
                format!(
                    "{}{wrong} of {checked} blocks that were checked do not hold what was written",
                    view.stream_place(stream)
                ),
                if is_shared {
                    "others write the same blocks, so that this may be their doing: give all that write a region of their own"
                } else {
                    "data was lost or changed: the notes say where; keep the target as it is for a closer look"
                },
            );
        }
    }
}

/// Rounds of a test that are called steady before every block was written once.
fn fresh_devices(record: &Record, found: &mut Found) {
    let parts = pts::answer(record).into_iter().flat_map(|answer| answer.parts);
    for part in parts {
        let pts::PartAnswer::Rounds(rounds) = part else { continue };
        if rounds.is_of_a_fresh_device() {
            found.weighed(
                -rounds.fills,
                "pts.not-filled",
                Severity::Warn,
                format!(
                    "{}: less than one capacity written: {:.2} fills when it was called steady",
                    rounds.title, rounds.fills
                ),
                "the standard's rule may hold for a device that has nothing to clean up yet: write at least its capacity before, \
                 test a smaller part with --size, or take it for the fresh state",
            );
        }
    }
}

/// Tells errors that ended a stream before its measuring began: no figure holds them.
fn errors_in_ramp(view: &StepView<'_>, stream: usize, place: &str, found: &mut Found) {
    let is_of_it = |interval: &&Interval| interval.phase == Phase::Ramp && interval.stream as usize == stream;
    let mut names: BTreeMap<i32, u64> = BTreeMap::new();
    for interval in view.step.intervals.iter().filter(is_of_it) {
        for (errno, count) in interval.tally.kinds.iter().flat_map(|kind| &kind.errors) {
            *names.entry(*errno).or_default() += count;
        }
    }
    let failed: u64 = names.values().sum();
    if failed > 0 {
        let told: Vec<String> =
            names.iter().map(|(errno, count)| format!("{} × {count}", errno_name(*errno))).collect();
        found.add(
            "errors.io",
            Severity::Invalid,
            format!("{place}{failed} of the ramp's operations failed: {}", told.join(", ")),
            asked_for(&view.step.started.step.streams[stream], names.keys()).unwrap_or(
                "nothing was measured after that: look at the kernel log and at the device's health",
            ),
        );
    }
}

/// What to leave out, where all errors come of one thing that a stream asks of the device or its filesystem.
fn asked_for<'a>(stream: &Stream, mut errors: impl Iterator<Item = &'a i32>) -> Option<&'static str> {
    let first = errors.next()?;
    stream.engine.kind.behind(*first).filter(|_| errors.all(|errno| errno == first))
}

/// Tells how many operations of a stream failed, of each kind if several did.
fn failed_operations(stream: &Stream, measured: &Measured, place: &str, found: &mut Found) {
    let kinds = &measured.tally.kinds;
    let failed = |kind: &KindTally| kind.errors.iter().map(|(_, count)| count).sum::<u64>();
    let told = |kind: &KindTally| {
        let names: Vec<String> =
            kind.errors.iter().map(|&(errno, count)| format!("{} × {count}", errno_name(errno))).collect();
        (failed(kind), failed(kind) + kind.operations, kind.kind.name(), names.join(", "))
    };
    let of_kinds: Vec<_> = kinds.iter().filter(|kind| failed(kind) > 0).map(told).collect();
    let all_failed: u64 = kinds.iter().map(failed).sum();
    let all = all_failed + kinds.iter().map(|kind| kind.operations).sum::<u64>();
    let evidence = match &of_kinds[..] {
        [] => return,
        [(failed, of, name, names)] => format!("{place}{failed} of {of} {name} operations failed: {names}"),
        kinds => {
            let each: Vec<String> = kinds
                .iter()
                .map(|(failed, of, name, names)| format!("{failed} of {of} {name} operations ({names})"))
                .collect();
            format!("{place}{all_failed} of {all} operations failed: {}", each.join(", "))
        }
    };
    // One kind may fail each time, and be few of all.
    let share = of_kinds.iter().map(|kind| kind.0 as f64 / kind.1 as f64).fold(0.0, f64::max);
    let errors = || kinds.iter().flat_map(|kind| &kind.errors);
    found.weighed(
        share,
        "errors.io",
        if share > FAILED_SHARE_MAX { Severity::Invalid } else { Severity::Warn },
        evidence,
        if let Some(remedy) = asked_for(stream, errors().map(|(errno, _)| errno)) {
            remedy
        } else if errors().all(|&(errno, _)| is_of_connection(errno)) {
            "failed operations count in no rate or latency: look what became of the other end of the connection"
        } else {
            "failed operations count in no rate or latency: look at the kernel log and at the device's health"
        },
    );
}

fn errors(view: &StepView<'_>, found: &mut Found) {
    if let Some(Question::Steady(question)) = &view.record.started.question
        && pts::is_purge_refused(question, view.step)
    {
        found.add(
            "pts.purge-refused",
            Severity::Invalid,
            format!("{}the targets know no {}", view.place(), question.purge_by.describe()),
            "begin anew with a purge that they know (discard, write-zeroes), or without one after their maker's tool has purged them",
        );
        return;
    }
    for (at, (stream, measured)) in view.streams().enumerate() {
        if operations(&measured.tally) == 0 {
            errors_in_ramp(view, at, &view.stream_place(stream), found);
        }
        failed_operations(stream, measured, &view.stream_place(stream), found);
        for kind in &measured.tally.kinds {
            if kind.short > 0 && kind.kind != OperationKind::Sync {
                found.weighed(
                    kind.short as f64 / kind.operations.max(1) as f64,
                    "transfers.short",
                    Severity::Warn,
                    format!(
                        "{}{} {} operations moved fewer bytes than asked",
                        view.stream_place(stream),
                        kind.short,
                        kind.kind.name()
                    ),
                    "the target ends before the region does, or its filesystem is full",
                );
            }
        }
    }
}

fn changes(view: &StepView<'_>, found: &mut Found) {
    let Some(finished) = &view.step.finished else { return };
    if finished.environment_changes.is_empty() {
        return;
    }
    for fact in finished.environment_changes.iter().filter(|fact| fact.source.ends_with("/md/sync_action")) {
        if let Some(action) = fact.value.as_deref().map(str::trim).filter(|action| *action != "idle") {
            found.add(
                "environment.rebuild",
                Severity::Warn,
                format!("{}{} {} became {action}", view.place(), fact.subject, fact.name),
                "the array works in the background: wait until it is idle and run it again",
            );
        }
    }
    let known = &view.record.started.facts.environment;
    let text = |value: Option<&String>| value.map_or("absent", String::as_str).to_owned();
    let changes: Vec<String> = finished
        .environment_changes
        .iter()
        .map(|now| {
            let before = known.iter().find(|fact| fact.subject == now.subject && fact.name == now.name);
            let before = text(before.and_then(|fact| fact.value.as_ref()));
            format!("{} {}: {before} → {}", now.subject, now.name, text(now.value.as_ref()))
        })
        .collect();
    found.add(
        "environment.changed",
        Severity::Warn,
        format!("{}{}", view.place(), changes.join(", ")),
        "the result covers two settings of the host: keep them fixed and run it again",
    );
}

/// The measured time comes from a monotonic clock. When the wall clock says that less time has passed, one of them is
/// wrong. (More may pass for good reasons: preparation, pauses.)
fn wall_clock(view: &StepView<'_>, found: &mut Found) {
    let step = &view.step.started;
    let is_virtual = step.step.targets.iter().any(|target| matches!(target.kind, TargetKind::Sim(_)));
    let Some(finished) = &view.step.finished else { return };
    let next =
        view.record.steps.iter().map(|other| &other.started).find(|other| other.index == step.index + 1);
    let until =
        next.map(|next| next.wall_ms).or(view.record.finished.as_ref().map(|finished| finished.wall_ms));
    let Some(until) = until.filter(|_| !is_virtual) else { return };
    let wall_ms = until as f64 - step.wall_ms as f64;
    let elapsed_ms = finished.elapsed.0 as f64 / 1e6;
    if wall_ms < elapsed_ms * (1.0 - WALL_SLOWER_MAX) - WALL_SLACK_MS {
        found.weighed(
            elapsed_ms - wall_ms,
            "clock.disagrees",
            Severity::Warn,
            format!(
                "{}{:.1} s were measured while the wall clock went on by {:.1} s",
                view.place(),
                elapsed_ms / 1e3,
                wall_ms / 1e3
            ),
            "the wall clock was set during the run, or the clock that measures is wrong: check `fathom doctor` and the \
             kernel's clock source",
        );
    }
}

/// Settings of the host that are known to spoil figures. Recognised by where they were read, which is the kernel's name.
fn environment(facts: &[EnvironmentFact], found: &mut Found) {
    for fact in facts {
        let Some(value) = fact.value.as_deref().map(str::trim).filter(|value| !value.is_empty()) else {
            continue;
        };
        let read_from = |file: &str| fact.source.ends_with(file);
        let seen = format!("{} {} is {value}", fact.subject, fact.name);
        if read_from("/scaling_governor") && value != "performance" {
            found.add(
                "environment.governor",
                Severity::Info,
                seen,
                "clock-frequency scaling adds latency at low queue depth: set the performance governor to compare runs",
            );
        } else if read_from("/md/sync_action") && value != "idle" {
            found.add(
                "environment.rebuild",
                Severity::Warn,
                seen,
                "the array works in the background: wait until it is idle and run it again",
            );
        } else if read_from("/md/degraded") && value != "0" {
            found.add(
                "environment.degraded",
                Severity::Warn,
                seen,
                "a degraded array reconstructs data as it reads: replace the member and run it again",
            );
        } else if read_from("/current_clocksource") && value != "tsc" && !value.contains("arch_sys") {
            found.add(
                "clock.source",
                Severity::Info,
                seen,
                "reading this clock may cost more than a short operation: see the measured cost in the environment",
            );
        }
    }
}
