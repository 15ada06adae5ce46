//! What two runs were asked to do differently, step by step and stream by stream: what changed may then come of that.
//!
//! Owns the names that people read. Seeds and paths are no difference: the same job has others on every host.

use super::Difference;
use super::words::{differing, shortened};
use crate::describe;
use fathom_schema::{
    Case, Extent, IoMode, OperationKind, Pacing, Quota, RatePiece, SimDevice, Step, StepRecord, Stream,
    StreamLimits, Target, TargetKind, Think, TimeLimit, WorkerPlan, Workload,
};
use fathom_units::{Bytes, Iops, Nanos};
use serde::Serialize;
use std::collections::BTreeSet;

/// What differs between steps that are set beside each other: what is the same in all of them once, else with the
/// step's name.
pub(super) fn differences(pairs: &[(&StepRecord, &StepRecord)]) -> Vec<Difference> {
    let of_pairs: Vec<(&str, Vec<Difference>)> = pairs
        .iter()
        .map(|(left, right)| {
            let (left, right) = (&left.started.step, &right.started.step);
            (right.name.as_str(), of_steps(left, right))
        })
        .collect();
    let mut all: Vec<Difference> = Vec::new();
    for (step, found) in &of_pairs {
        for one in found {
            let is_in_all = of_pairs.iter().all(|(_, others)| others.contains(one));
            let (name, left, right) = one.clone();
            let name = if is_in_all { name } else { format!("step {step}: {name}") };
            if !all.iter().any(|known| known.0 == name && (is_in_all || known.1 == left)) {
                all.push((name, left, right));
            }
        }
    }
    all
}

/// Collects what differs.
#[derive(Default)]
struct Differing {
    place: String,
    all: Vec<Difference>,
}

impl Differing {
    fn add(&mut self, name: &str, left: String, right: String) {
        if left != right {
            self.all.push((format!("{}{name}", self.place), left, right));
        }
    }

    /// What has no form for people: the fields in which it differs, by their names.
    fn add_raw<T: PartialEq + Serialize>(&mut self, name: &str, left: &T, right: &T) {
        if left != right {
            let named = |(place, left, right): Difference| {
                let separator = if place.is_empty() { "" } else { ": " };
                (format!("{}{name}{separator}{place}", self.place), left, right)
            };
            self.all.extend(differing(left, right).into_iter().map(named));
        }
    }
}

fn of_steps(left: &Step, right: &Step) -> Vec<Difference> {
    // Taken apart in full, here and below: a new field is a difference as well.
    let Step {
        name: _,
        stage_index: _,
        point_index: _,
        parameters: _,
        pause_before,
        targets,
        streams,
        errors,
        interval,
        abort_when: _,
        trees: _,
    } = left;
    let mut found = Differing::default();
    found.add("streams", streams.len().to_string(), right.streams.len().to_string());
    for (stream, other) in streams.iter().zip(&right.streams) {
        found.place = match streams.len().max(right.streams.len()) {
            1 => String::new(),
            _ => format!("stream {}: ", stream.name),
        };
        of_streams(stream, other, &mut found);
    }
    found.place.clear();
    found.add("kinds of targets", kinds(targets), kinds(&right.targets));
    found.add("size of targets", sizes(targets), sizes(&right.targets));
    let simulated = |targets: &[Target]| -> Vec<SimDevice> {
        let device = |target: &Target| match &target.kind {
            TargetKind::Sim(device) => Some(device.clone()),
            _ => None,
        };
        targets.iter().filter_map(device).collect()
    };
    found.add_raw("simulated device", &simulated(targets), &simulated(&right.targets));
    found.add("pause before", pause_before.to_string(), right.pause_before.to_string());
    found.add("interval", interval.to_string(), right.interval.to_string());
    found.add_raw("errors", errors, &right.errors);
    found.all
}

fn of_streams(left: &Stream, right: &Stream, found: &mut Differing) {
    let Stream {
        name: _,
        report_group: _,
        engine,
        queue_depth,
        workload,
        trace,
        pacing,
        rate_counts,
        limits,
        start_delay,
        start_delay_of_run: _, // of a step that has not started
        ramp,
        ramp_bytes,
        pauses,
        kind_rates,
        workers,
        record_completion: _,
        control,
        lock,
        fresh_files,
        demands,
        flow,
        scheduling,
        depth_search,
    } = left;
    of_workloads(workload, &right.workload, found);
    found.add("queue depth", queue_depth.to_string(), right.queue_depth.to_string());
    found.add("workers", workers.len().to_string(), right.workers.len().to_string());
    found.add("rate", rate(pacing), rate(&right.pacing));
    found.add("course of the rate", course(pacing), course(&right.pacing));
    if course(pacing) == course(&right.pacing) && rate(pacing) == rate(&right.pacing) {
        found.add_raw("pacing", pacing, &right.pacing);
    }
    of_limits(limits, &right.limits, found);
    found.add("ramp", ramp.to_string(), right.ramp.to_string());
    found.add_raw("bytes before the measurement", ramp_bytes, &right.ramp_bytes);
    found.add("engine", engine.kind.name().to_owned(), right.engine.kind.name().to_owned());
    found.add("page cache", cache(engine.mode), cache(right.engine.mode));
    // What else is set of it, where those are the same: batches follow the queue depth.
    let is_alike = engine.kind.name() == right.engine.kind.name() && engine.mode == right.engine.mode;
    if is_alike && *queue_depth == right.queue_depth {
        found.add_raw("settings of the engine", engine, &right.engine);
    }
    if workers.len() == right.workers.len() {
        of_regions(workers, &right.workers, found);
    }
    found.add_raw("trace", trace, &right.trace);
    found.add_raw("what the rate counts", rate_counts, &right.rate_counts);
    found.add("delay of the start", start_delay.to_string(), right.start_delay.to_string());
    found.add_raw("pauses", pauses, &right.pauses);
    found.add_raw("rates of kinds", kind_rates, &right.kind_rates);
    found.add_raw("control", control, &right.control);
    found.add_raw("lock", lock, &right.lock);
    found.add_raw("fresh files", fresh_files, &right.fresh_files);
    found.add_raw("demands", demands, &right.demands);
    found.add_raw("flow", flow, &right.flow);
    found.add_raw("scheduling", scheduling, &right.scheduling);
    found.add_raw("search for a depth", depth_search, &right.depth_search);
}

fn of_workloads(left: &Workload, right: &Workload, found: &mut Differing) {
    let Workload {
        cases: _, // each kind's by itself, below
        replies,
        kinds,
        cursor,
        distribution,
        coverage,
        align,
        align_of,
        run_length,
        run,
        stride_bytes,
        ends,
        zones,
        file_order,
        extents_at_once,
        content,
        sync,
        trim_then_write,
        verification,
    } = left;
    found.add("mix", describe::mix(left), describe::mix(right));
    of_cases(left, right, found);
    found.add_raw("replies", replies, &right.replies);
    found.add_raw("distribution", distribution, &right.distribution);
    found.add_raw("coverage", coverage, &right.coverage);
    // It follows the block size where nothing else is said.
    if describe::sizes(left) == describe::sizes(right) {
        found.add("alignment", align.to_string(), right.align.to_string());
        found.add_raw("alignment of kinds", align_of, &right.align_of);
    }
    found.add_raw("order of kinds", kinds, &right.kinds);
    found.add_raw("positions", cursor, &right.cursor);
    found.add_raw("length of a run", run_length, &right.run_length);
    found.add_raw("course of a run", run, &right.run);
    found.add_raw("bytes skipped", stride_bytes, &right.stride_bytes);
    found.add_raw("end of a pass", ends, &right.ends);
    found.add_raw("zones", zones, &right.zones);
    found.add_raw("order of files", file_order, &right.file_order);
    found.add_raw("files at once", extents_at_once, &right.extents_at_once);
    found.add_raw("content", content, &right.content);
    found.add_raw("sync", sync, &right.sync);
    found.add_raw("writes after trims", trim_then_write, &right.trim_then_write);
    found.add_raw("verification", verification, &right.verification);
}

/// What operations of each kind do: a mix that looks alike as a whole may have its parts exchanged.
fn of_cases(left: &Workload, right: &Workload, found: &mut Differing) {
    let kinds = OperationKind::ALL.into_iter();
    let of_kinds: Vec<(OperationKind, Workload, Workload)> = kinds
        .map(|kind| (kind, of_kind(left, kind), of_kind(right, kind)))
        .filter(|(_, one, other)| !one.cases.is_empty() && !other.cases.is_empty())
        .collect();
    let words = [("block size", describe::sizes as fn(&Workload) -> String), ("access", describe::access)];
    for (name, of) in words {
        let whole = (of(left), of(right));
        let mut each: Vec<(OperationKind, (String, String))> =
            of_kinds.iter().map(|(kind, one, other)| (*kind, (of(one), of(other)))).collect();
        each.retain(|(_, (one, other))| one != other);
        // What all kinds have in common is told once; so is what comes of their shares alone.
        if whole.0 != whole.1 && each.iter().all(|(_, pair)| *pair == whole) {
            found.add(name, whole.0, whole.1);
            continue;
        }
        for (kind, (one, other)) in each {
            found.add(&format!("{name} of {}s", kind.name()), one, other);
        }
    }
    for (kind, one, other) in &of_kinds {
        let is_told = words.iter().any(|(_, of)| of(one) != of(other));
        if !is_told && one.cases != other.cases {
            let name = match &of_kinds[..] {
                [_] => "shares of operations".to_owned(),
                _ => format!("shares of {}s", kind.name()),
            };
            let (in_words, of_other) = (shares(&one.cases), shares(&other.cases));
            if in_words == of_other {
                found.add_raw(&name, &one.cases, &other.cases);
            } else {
                found.add(&name, in_words, of_other);
            }
        }
    }
    // Less than words have room for.
    if describe::mix(left) == describe::mix(right) {
        found.add("exact mix", exact_mix(left), exact_mix(right));
    }
}

/// The share of each kind to a billionth: `70.01 % read 29.99 % write`.
fn exact_mix(workload: &Workload) -> String {
    let of = |kind: OperationKind| {
        let of_kind = workload.cases.iter().filter(|case| case.kind == kind);
        let share: f64 = of_kind.map(|case| case.weight).sum();
        (share > 0.0).then(|| format!("{} % {}", (share * 1e9).round() / 1e7, kind.name()))
    };
    OperationKind::ALL.into_iter().filter_map(of).collect::<Vec<_>>().join(" ")
}

/// The operations of one kind, whose shares add up to one.
fn of_kind(workload: &Workload, kind: OperationKind) -> Workload {
    let of_kind = workload.cases.iter().filter(|case| case.kind == kind);
    let all: f64 = of_kind.clone().map(|case| case.weight).sum();
    let cases = of_kind.map(|case| Case { weight: exact(case.weight / all), ..*case }).collect();
    Workload { cases, ..workload.clone() }
}

/// A share without what rounding has left of it: a billionth of all operations is nobody's wish.
fn exact(share: f64) -> f64 {
    (share * 1e9).round() / 1e9
}

/// `40 % random 4 KiB, 60 % random 8 KiB at multiples of 64 KiB`.
fn shares(cases: &[Case]) -> String {
    let of = |case: &Case| {
        let Case { weight, kind: _, size, random, align } = case;
        let (smallest, largest) = (Bytes(size.smallest().into()), Bytes(size.largest().into()));
        let size =
            if smallest == largest { smallest.to_string() } else { format!("{smallest} to {largest}") };
        let grid = align.map(|align| format!(" at multiples of {}", Bytes(align.into()))).unwrap_or_default();
        format!(
            "{} {} {size}{grid}",
            describe::percent(*weight),
            if *random { "random" } else { "sequential" }
        )
    };
    shortened(cases.iter().map(of).collect())
}

fn of_limits(left: &StreamLimits, right: &StreamLimits, found: &mut Differing) {
    let StreamLimits { time, bytes, operations, full_ends, passes, ramp_counts, steady } = left;
    let lasting = |time: TimeLimit| match time {
        TimeLimit::Unbounded => "unbounded".to_owned(),
        TimeLimit::Nanoseconds(ns) => Nanos(ns).exact(),
    };
    let quota = |quota: Quota, print: fn(u64) -> String| match quota {
        Quota::Unlimited => "unlimited".to_owned(),
        Quota::AtMost(most) => print(most),
    };
    let bytes_of = |most| Bytes(most).to_string();
    found.add("time", lasting(*time), lasting(right.time));
    found.add("bytes of a worker", quota(*bytes, bytes_of), quota(right.bytes, bytes_of));
    let count = |most: u64| most.to_string();
    found.add("operations of a worker", quota(*operations, count), quota(right.operations, count));
    found.add_raw("end where it is full", full_ends, &right.full_ends);
    found.add_raw("passes", passes, &right.passes);
    found.add_raw("whether the ramp counts", ramp_counts, &right.ramp_counts);
    found.add_raw("steady state", steady, &right.steady);
}

fn cache(mode: IoMode) -> String {
    match mode {
        IoMode::Buffered => "used",
        IoMode::Direct => "passed by",
    }
    .to_owned()
}

fn rate(pacing: &Pacing) -> String {
    match pacing {
        Pacing::Closed { think: Think::None } => "as fast as it goes".to_owned(),
        Pacing::Closed { think: Think::Every { .. } } => "as fast as it goes, with pauses".to_owned(),
        Pacing::Open { rate, .. } => format!("{} per second", Iops(*rate)),
    }
}

/// `1000 per second for 5 s, 1000 to 2000 per second for 10 s`; as job files have it, but for what the mean rate says.
fn course(pacing: &Pacing) -> String {
    let Pacing::Open { course, .. } = pacing else { return "none".to_owned() };
    let piece = |piece: &RatePiece| {
        let RatePiece { length_ns, from_per_s, to_per_s } = *piece;
        let from = if from_per_s == to_per_s { String::new() } else { format!("{} to ", Iops(from_per_s)) };
        format!("{from}{} per second for {}", Iops(to_per_s), Nanos(length_ns).exact())
    };
    if course.is_empty() { "none".to_owned() } else { shortened(course.iter().map(piece).collect()) }
}

/// Kinds of targets, each once.
fn kinds(targets: &[Target]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for target in targets {
        let name = match target.kind {
            TargetKind::File { .. } => "files",
            TargetKind::Folder { .. } => "folders",
            TargetKind::BlockDevice { .. } => "block devices",
            TargetKind::MemoryDevice { .. } => "memory devices",
            TargetKind::Null => "null",
            TargetKind::Sim(_) => "simulated",
            TargetKind::Peer(_) => "connections",
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

fn sizes(targets: &[Target]) -> String {
    let total: Bytes = targets.iter().map(|target| target.size).sum();
    match targets {
        [] => "none".to_owned(),
        [one] => one.size.to_string(),
        many => format!("{total} in {}", many.len()),
    }
}

/// Which parts of targets workers are on, where they differ; those that are alike once.
fn of_regions(left: &[WorkerPlan], right: &[WorkerPlan], found: &mut Differing) {
    // What is behind a region is the target's, whose size is told.
    let region = |extent: &Extent| {
        let Extent { target, start, length, room: _ } = *extent;
        (target, start, length)
    };
    let regions = |worker: &WorkerPlan| worker.extents.iter().map(region).collect::<Vec<_>>();
    let mut pairs = Vec::new();
    for (one, other) in left.iter().zip(right) {
        let (one, other) = (regions(one), regions(other));
        for at in 0..one.len().max(other.len()) {
            let pair = (one.get(at).copied(), other.get(at).copied());
            if pair.0 != pair.1 {
                pairs.push(pair);
            }
        }
    }
    let is_elsewhere =
        pairs.iter().any(|(one, other)| one.zip(*other).is_some_and(|(one, other)| one.0 != other.0));
    let words = |region: Option<(u32, Bytes, Bytes)>| match region {
        Some((target, start, length)) if is_elsewhere => {
            format!("{length} from {start} of target {}", target + 1)
        }
        Some((_, start, length)) => format!("{length} from {start}"),
        None => "none".to_owned(),
    };
    let mut known = BTreeSet::new();
    pairs.retain(|pair| known.insert(*pair));
    let (one, other): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    let all = |side: Vec<_>| shortened(side.into_iter().map(words).collect());
    found.add("regions", all(one), all(other));
}
