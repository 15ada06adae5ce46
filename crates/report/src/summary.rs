//! Record → summary: every figure a report shows, computed once. Owns the windows that rates refer to and which
//! percentiles a sample can carry; does not know how anything is drawn.

use crate::aims::{Apart, by_targets, names};
use crate::on_targets::{of_stream, together as on_targets};
use crate::view::{
    Asked, ConnectionFigures, DeviceSummary, DriveFactSummary, DriveSummary, EnvironmentSummary, ErrorCount,
    FindingSummary, GroupSummary, HostSummary, KindSummary, LatencySummary, MismatchCount, NoteSummary,
    Parameter, Percentile, Point, SCHEMA_VERSION, Source, StepSummary, StreamSummary, Summary, TargetGroup,
    TargetSummary, Together, Totals, Unanswered, VerifySummary,
};
use fathom_analysis::drives::{self, Drive, DriveFact, drives};
use fathom_analysis::objective::objective;
use fathom_analysis::validity::Progress;
use fathom_analysis::{
    Measured, describe, errno_name, load, measured, operations, pts, scan, thresholds, validity,
};
use fathom_metrics::{Latency, kinds_with_left, merge_kind, merge_latency};
use fathom_schema::{
    DeviceCounters, EngineKind, EnvironmentFact, Facts, FileKind, Finding, Interval, IoMode, KindTally,
    LatencyTally, MismatchKind, Note, NoteKind, OperationKind, Outcome, Pacing, Phase, Question, RatePiece,
    Record, RunStarted, Severity, Step, StepRecord, Stop, Stream, StreamTally, TargetFact, TimeLimit,
    VerifyTotals,
};
use fathom_units::{Bytes, BytesPerSec, Iops, Nanos};
use std::collections::{BTreeMap, BTreeSet};

/// Percentiles a report shows, each with the number of operations from which on n · (1 − p) ≥ 1: below that no
/// operation lies beyond it and nearest rank would only repeat the maximum.
const PERCENTILES: [(f64, u64); 6] =
    [(50.0, 2), (90.0, 10), (95.0, 20), (99.0, 100), (99.9, 1000), (99.99, 10_000)];

/// The summary of a record. Rates of a stream are operations ÷ (latest end − earliest start of its workers' measure
/// phases); those of a step, operations of all its streams ÷ the window from the first start to the last end among them.
/// A step that was killed is summed over its measure intervals.
pub fn summary(record: &Record) -> Summary {
    summary_of(record, Progress::Unknown)
}

/// As [`summary`], where it is known what became of a run without an end.
pub fn summary_of(record: &Record, progress: Progress) -> Summary {
    let Record { started, steps, notes, finished } = record;
    let (state, reason) = state(record, progress);
    let answer = together(record);
    Summary {
        schema_version: SCHEMA_VERSION,
        run: started.run.clone(),
        title: started.title.clone(),
        description: started.description.clone(),
        state: state.to_owned(),
        reason,
        partial: steps.iter().any(|step| step.finished.is_none()),
        tool_version: started.tool_version.clone(),
        command: started.command.clone(),
        host: host(&started.facts),
        started_ms: started.wall_ms,
        finished_ms: finished.as_ref().map(|finished| finished.wall_ms),
        validity: validity::findings_of(record, progress).into_iter().map(finding).collect(),
        steps: steps.iter().map(step).collect(),
        notes: told(notes, started.question.as_ref()).map(note).collect(),
        environment: around(&started.facts).map(environment).collect(),
        drives: drives(record).into_iter().map(drive).collect(),
        sources: sources(started),
        unanswered: answer.as_ref().err().map(|what| Unanswered {
            asked: started.question.as_ref().map_or("", asked),
            why: unanswered(record, what),
        }),
        together: answer.ok().flatten(),
        thresholds: thresholds::thresholds(record),
    }
}

/// The job's texts; what was said beside an Iometer configuration, which is one text, with it.
fn sources(started: &RunStarted) -> Vec<Source> {
    let (maps, sector_size) = started.beside_text();
    let of = |(name, text): &(String, String)| Source {
        name: name.clone(),
        text: text.clone(),
        maps: maps.clone(),
        sector_size,
    };
    started.sources.iter().map(of).collect()
}

/// The answer to the run's question; none of a run without one, and the reason where one has no answer.
fn together(record: &Record) -> Result<Option<Together>, &'static str> {
    let Some(question) = &record.started.question else { return Ok(None) };
    let found = match question {
        Question::Steady(_) => {
            let found = pts::answer(record).map(|answer| Together::Steady(Box::new(answer)));
            found.ok_or("the run is of no test")
        }
        Question::Scan(_) => {
            let found = scan::scan(record).map(|scan| Together::Scan(Box::new(scan)));
            found.ok_or("the run is no scan")
        }
        Question::Curve { limits, .. } => {
            let found = load::curve(record, limits).map(|curve| Together::Curve(Box::new(curve)));
            found.ok_or_else(|| {
                if holds_nothing(record) {
                    "the target completes operations at once, so that none is ever in flight: every depth is the same load, and \
                     there is no curve"
                } else {
                    "the run measured fewer than two loads: no curve can be drawn"
                }
            })
        }
        Question::Objective { rate, goals } => {
            let asked = |found| Asked { found, wanted: *rate, goals: goals.clone() };
            let found =
                objective(record, *rate, goals).map(|found| Together::Objective(Box::new(asked(found))));
            found.ok_or_else(|| {
                if holds_nothing(record) {
                    "the target completes operations at once: no rate is more than it does, and none is too much but for fathom itself"
                } else {
                    "the run tried no rate"
                }
            })
        }
        Question::Thresholds { .. } => return Ok(None),
    };
    found.map(Some)
}

/// What a question asks, in the words of [`Together::name`].
const fn asked(question: &Question) -> &'static str {
    match question {
        Question::Steady(_) => "steady",
        Question::Scan(_) => "scan",
        Question::Curve { .. } => "curve",
        Question::Objective { .. } => "objective",
        Question::Thresholds { .. } => "thresholds",
    }
}

/// Whether all steps ran at depths that nothing filled, as those of the null target do.
fn holds_nothing(record: &Record) -> bool {
    let streams = record.steps.iter().flat_map(|step| &step.started.step.streams);
    record.steps.len() > 1 && streams.into_iter().all(|stream| stream.engine.kind == EngineKind::Null)
}

/// Why there is no answer: what is missing, and what kept the last step from it.
fn unanswered(record: &Record, what: &str) -> String {
    let Some(last) = record.steps.last() else {
        return format!("{what}, since no load was run; the notes say why");
    };
    let measured = measured(last);
    // Those of a ramp, after which nothing was measured, stand in its intervals alone.
    let is_empty = measured.iter().all(|stream| operations(&stream.tally) == 0);
    let ramp = last.intervals.iter().filter(|interval| is_empty && interval.phase == Phase::Ramp);
    let errors: Vec<(i32, u64)> = measured
        .iter()
        .flat_map(|stream| &stream.tally.kinds)
        .chain(ramp.flat_map(|interval| &interval.tally.kinds))
        .flat_map(|kind| kind.errors.iter().copied())
        .collect();
    let name = &last.started.step.name;
    if let Some((errno, _)) = errors.iter().max_by_key(|(_, count)| *count) {
        let count: u64 = errors.iter().map(|(_, count)| count).sum();
        let times = if count == 1 { "an operation".to_owned() } else { format!("{count} operations") };
        let cause = format!("in the load \"{name}\" {times} failed ({})", errno_name(*errno));
        return format!("{what}; {cause}: look at the kernel's log and the target's health, then ask again");
    }
    match (record.outcome(), is_empty) {
        (Some(Outcome::Complete), true) => {
            let cause = format!("in the load \"{name}\" no operation was completed");
            format!("{what}; {cause}: measure for longer than one operation takes")
        }
        (Some(Outcome::Complete), false) | (None, _) => what.to_owned(),
        _ => format!("{what}; it was ended in the load \"{name}\": ask again and let it run"),
    }
}

/// The notes that are told: hundreds of steps choose their engine as often, and it is said once; the answer of a scan has
/// the places of its errors.
fn told<'a>(notes: &'a [Note], question: Option<&'a Question>) -> impl Iterator<Item = &'a Note> {
    let is_scan = matches!(question, Some(Question::Scan(_)));
    let mut seen = BTreeSet::new();
    notes.iter().filter(move |note| match note.kind {
        NoteKind::Engine => seen.insert(&note.message),
        NoteKind::IoError => !is_scan,
        _ => true,
    })
}

/// Nearest-rank percentile of a stored latency, nanoseconds.
pub(crate) fn quantile(tally: &LatencyTally, q: f64) -> Option<u64> {
    Latency::quantile_of(tally, q)
}

/// Intended start → completed, whichever loop it was.
pub(crate) fn response(kind: &KindTally) -> &LatencyTally {
    kind.response.as_ref().unwrap_or(&kind.service)
}

/// Failed operations of a kind.
pub(crate) fn errors(kind: &KindTally) -> u64 {
    kind.errors.iter().map(|(_, count)| count).sum()
}

/// Lower-case name of a severity.
pub(crate) const fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Warn => "warn",
        Severity::Invalid => "invalid",
    }
}

/// Lower-case name of a phase.
pub(crate) const fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Ramp => "ramp",
        Phase::Measure => "measure",
        Phase::Verify => "verify",
    }
}

/// All kinds of several tallies, each kind once; `all` of them but sync comes first. Arrivals that were left waiting are in the
/// response times.
pub(crate) fn kinds<'a>(
    tallies: impl Iterator<Item = &'a StreamTally> + Clone,
) -> (KindTally, Vec<KindTally>) {
    // One closed and one open stream together have a response time only when the closed one's is filled in.
    let has_response = tallies.clone().flat_map(|tally| &tally.kinds).any(|kind| kind.response.is_some());
    let mut all = empty(OperationKind::Read);
    let mut kinds: Vec<KindTally> = Vec::new();
    let (found, of_no_kind): (Vec<_>, Vec<_>) = tallies.map(kinds_with_left).unzip();
    for mut kind in found.into_iter().flatten() {
        if has_response && kind.response.is_none() {
            kind.response = Some(kind.service.clone());
        }
        if kind.kind != OperationKind::Sync {
            merge_kind(&mut all, &kind);
        }
        match kinds.iter_mut().find(|known| known.kind == kind.kind) {
            Some(known) => merge_kind(known, &kind),
            None => kinds.push(kind),
        }
    }
    for left in of_no_kind.into_iter().flatten() {
        merge_latency(all.response.get_or_insert_with(|| all.service.clone()), left);
    }
    kinds.sort_by_key(|kind| kind.kind);
    (all, kinds)
}

fn empty(kind: OperationKind) -> KindTally {
    KindTally {
        kind,
        operations: 0,
        bytes: 0,
        short: 0,
        data_syncs: 0,
        errors: Vec::new(),
        service: LatencyTally::default(),
        response: None,
        submission: fathom_schema::Moments::default(),
        completion: None,
    }
}

fn state(record: &Record, progress: Progress) -> (&'static str, Option<String>) {
    match record.outcome() {
        Some(Outcome::Complete) => ("complete", None),
        Some(Outcome::Interrupted { signal: 0 }) => ("interrupted", Some("on request".to_owned())),
        Some(Outcome::Interrupted { signal }) => ("interrupted", Some(format!("by signal {signal}"))),
        Some(Outcome::IoErrors) => {
            let has_errors = record.notes.iter().any(|note| note.kind == NoteKind::IoError);
            let reason = match record.broken_demand() {
                None => "more I/O errors than the policy allows".to_owned(),
                Some(note) if has_errors => format!("{}; there were I/O errors as well", note.message),
                Some(note) => note.message.clone(),
            };
            ("io_errors", Some(reason))
        }
        Some(Outcome::Mismatch) => {
            ("mismatch", Some("data that was read back is not what was written".to_owned()))
        }
        Some(Outcome::Aborted { reason }) => ("aborted", Some(reason.clone())),
        Some(Outcome::Failed { reason }) => ("failed", Some(reason.clone())),
        None => ("unfinished", Some(format!("it {}", progress.told()))),
    }
}

fn step(step: &StepRecord) -> StepSummary {
    let StepRecord { started, intervals, host: _, finished } = step;
    let measured = measured(step);
    let mut series: Vec<Vec<Point>> = vec![Vec::new(); measured.len()];
    for interval in intervals {
        series.get_mut(interval.stream as usize).into_iter().for_each(|points| points.push(point(interval)));
    }
    let added =
        || measured.iter().enumerate().filter(|(at, _)| started.step.adds_up(*at)).map(|(_, found)| found);
    let (start, end) = window(added());
    let after = finished.as_ref();
    StepSummary {
        index: started.index,
        name: started.step.name.clone(),
        parameters: started
            .step
            .parameters
            .iter()
            .map(|(name, value)| Parameter { name: name.clone(), value: value.clone() })
            .collect(),
        started_ms: started.wall_ms,
        elapsed_s: after.map(|finished| finished.elapsed.as_secs_f64()),
        stop: after.map(|finished| stop_name(finished.stop).to_owned()),
        partial_until_s: after.is_none().then(|| end.as_secs_f64()),
        total: totals(added().map(|m| &m.tally), start, end),
        streams: started
            .step
            .streams
            .iter()
            .zip(&measured)
            .zip(series)
            .map(|((stream, measured), series)| stream_summary(&started.step, stream, measured, series))
            .collect(),
        by_target: by_target(&started.step, &measured),
        targets: on_targets(&started.step, &measured),
        groups: groups(&started.step.streams, &measured),
        devices: after
            .map_or_else(Vec::new, |finished| devices(&started.devices, &finished.devices, finished.elapsed)),
        environment_changes: after
            .map_or_else(Vec::new, |finished| finished.environment_changes.iter().map(environment).collect()),
        resolved: serde_json::to_value(&started.step).expect("a step has only string keys"),
    }
}

/// From the first start to the last end of streams; one that never came to measure has no part in it.
pub(crate) fn window<'a>(measured: impl Iterator<Item = &'a Measured>) -> (Nanos, Nanos) {
    let windows = measured.filter(|m| m.window().0 > 0).map(|m| (m.start, m.end));
    windows.reduce(|(start, end), (from, to)| (start.min(from), end.max(to))).unwrap_or_default()
}

fn by_target(step: &Step, measured: &[Measured]) -> Vec<TargetGroup> {
    let groups = by_targets(step);
    if groups.len() < 2 {
        return Vec::new();
    }
    let group = |(aims, streams): (BTreeSet<u32>, Vec<usize>)| {
        let of = || streams.iter().map(|&at| &measured[at]);
        let (start, end) = window(of());
        TargetGroup {
            targets: names(&aims, &step.targets),
            target_count: aims.len() as u64,
            streams: streams.iter().map(|&at| step.streams[at].name.clone()).collect(),
            total: totals(of().map(|measured| &measured.tally), start, end),
        }
    };
    groups.into_iter().map(group).collect()
}

fn groups(streams: &[Stream], measured: &[Measured]) -> Vec<GroupSummary> {
    let numbers: BTreeSet<u32> = streams.iter().map(|s| s.report_group).filter(|&group| group > 0).collect();
    let of = |number: u32| streams.iter().zip(measured).filter(move |(s, _)| s.report_group == number);
    let added =
        |number: u32| of(number).filter(|(s, _)| s.engine.kind.adds_up()).map(|(_, measured)| measured);
    let group = |number| {
        let (start, end) = window(added(number));
        GroupSummary {
            number,
            streams: of(number).map(|(stream, _)| stream.name.clone()).collect(),
            total: totals(added(number).map(|measured| &measured.tally), start, end),
        }
    };
    numbers.into_iter().map(group).collect()
}

/// The rate that a stream was asked for in the mean of what was measured, which may have ended before its time.
fn rate_asked(stream: &Stream, measured: &Measured) -> Option<f64> {
    match &stream.pacing {
        Pacing::Closed { .. } => None,
        Pacing::Open { course, .. } if !course.is_empty() && measured.end > measured.start => {
            let until = stream.ramp.after(measured.end.since(measured.start));
            // What is waited for at the end is no time of the load.
            let until = match stream.limits.time {
                TimeLimit::Nanoseconds(time) => until.min(stream.ramp.after(Nanos(time))),
                TimeLimit::Unbounded => until,
            };
            Some(RatePiece::mean(course, stream.ramp, until))
        }
        Pacing::Open { rate, .. } => Some(*rate),
    }
}

fn stream_summary(step: &Step, stream: &Stream, measured: &Measured, series: Vec<Point>) -> StreamSummary {
    let seconds = |ns: fn(&fathom_schema::WorkerTotals) -> u64| {
        (!measured.partial).then(|| measured.workers.iter().map(|worker| ns(worker) as f64 / 1e9).sum())
    };
    let tally = &measured.tally;
    let (waiting, oldest) = measured.left_waiting();
    StreamSummary {
        name: stream.name.clone(),
        workload: describe::workload(&stream.workload),
        engine: stream.engine.kind.name().to_owned(),
        adds_up: stream.engine.kind.adds_up(),
        direct: stream.engine.mode == IoMode::Direct,
        workers: stream.workers.len() as u64,
        queue_depth: measured.queue_depth(stream),
        depth_is_settled: measured.depth_is_settled(),
        queue_depth_held: measured.depth_held(),
        little_ratio: measured.little_ratio(),
        worker_cpu_share: measured.cpu_share_max(stream.workers.len()),
        user_s: seconds(|worker| worker.user_ns),
        system_s: seconds(|worker| worker.system_ns),
        rate_per_s: rate_asked(stream, measured),
        arrivals: tally.arrivals,
        arrivals_late: tally.arrivals_late,
        arrivals_dropped: tally.arrivals_dropped,
        backlog_max: tally.backlog_max,
        waiting_at_end: waiting,
        oldest_waiting_s: (waiting > 0).then(|| oldest.as_secs_f64()),
        verified: verified(measured),
        connections: connections(measured),
        total: totals(std::iter::once(tally), measured.start, measured.end),
        target_count: stream.targets().len() as u64,
        targets: of_stream(step, &Apart::of(stream), measured),
        series,
    }
}

fn connections(measured: &Measured) -> Option<ConnectionFigures> {
    let all = &measured.tally.connections;
    (all.count > 0).then(|| ConnectionFigures {
        count: all.count,
        per_s: all.count as f64 / measured.window().as_secs_f64(),
        mean_s: all.mean_ns() / 1e9,
        max_s: all.max_ns as f64 / 1e9,
    })
}

/// What verification came to, over all workers; rates of its reads refer to the slowest worker's time.
fn verified(measured: &Measured) -> Option<VerifySummary> {
    let all: Vec<&VerifyTotals> =
        measured.workers.iter().filter_map(|worker| worker.verified.as_deref()).collect();
    if all.is_empty() {
        return None;
    }
    let elapsed = all.iter().map(|verified| verified.elapsed).max().unwrap_or_default();
    let (reads, _) = kinds(all.iter().map(|verified| &verified.tally));
    let by_kind = MismatchKind::ALL.into_iter().map(|kind| {
        let of_kind = all.iter().flat_map(|verified| &verified.mismatches).filter(|found| found.0 == kind);
        MismatchCount { kind: kind.name().to_owned(), count: of_kind.map(|found| found.1).sum() }
    });
    let mismatches_by_kind: Vec<MismatchCount> = by_kind.filter(|found| found.count > 0).collect();
    Some(VerifySummary {
        checked: all.iter().map(|verified| verified.checked).sum(),
        superseded: all.iter().map(|verified| verified.superseded).sum(),
        mismatches: mismatches_by_kind.iter().map(|found| found.count).sum(),
        mismatches_by_kind,
        read: kind_summary("read", &reads, elapsed),
        elapsed_s: elapsed.as_secs_f64(),
    })
}

fn totals<'a>(tallies: impl Iterator<Item = &'a StreamTally> + Clone, start: Nanos, end: Nanos) -> Totals {
    let window = end.since(start);
    let (all, kinds) = kinds(tallies);
    Totals {
        start_s: start.as_secs_f64(),
        end_s: end.as_secs_f64(),
        all: kind_summary("all", &all, window),
        kinds: kinds.iter().map(|kind| kind_summary(kind.kind.name(), kind, window)).collect(),
    }
}

fn kind_summary(name: &str, tally: &KindTally, window: Nanos) -> KindSummary {
    let mut by_number: Vec<ErrorCount> = tally
        .errors
        .iter()
        .map(|&(errno, count)| ErrorCount { errno, name: errno_name(errno), count })
        .collect();
    by_number.sort_by_key(|error| error.errno);
    KindSummary {
        kind: name.to_owned(),
        operations: tally.operations,
        bytes: tally.bytes,
        iops: Iops::of(tally.operations, window).0,
        bytes_per_s: BytesPerSec::of(Bytes(tally.bytes), window).0,
        short: tally.short,
        errors: errors(tally),
        errors_by_number: by_number,
        service: latency(&tally.service),
        response: latency(response(tally)),
    }
}

fn latency(tally: &LatencyTally) -> LatencySummary {
    let moments = &tally.moments;
    let dense = Latency::from(tally);
    LatencySummary {
        count: moments.count,
        mean_ns: moments.mean_ns(),
        stddev_ns: moments.stddev_ns(),
        min_ns: moments.min_ns,
        max_ns: moments.max_ns,
        percentiles: PERCENTILES
            .iter()
            .map(|&(percent, needs)| {
                let ns = if moments.count >= needs { dense.quantile(percent / 100.0) } else { None };
                Percentile { percent, ns, needs }
            })
            .collect(),
    }
}

fn point(interval: &Interval) -> Point {
    let length = interval.end.since(interval.start);
    let (all, kinds) = kinds(std::iter::once(&interval.tally));
    let response = response(&all);
    Point {
        start_s: interval.start.as_secs_f64(),
        end_s: interval.end.as_secs_f64(),
        phase: phase_name(interval.phase).to_owned(),
        late: interval.late,
        iops: Iops::of(all.operations, length).0,
        bytes_per_s: BytesPerSec::of(Bytes(all.bytes), length).0,
        errors: kinds.iter().map(errors).sum(),
        mean_ns: (response.moments.count > 0).then(|| response.moments.mean_ns()),
        p50_ns: quantile(response, 0.5),
        p99_ns: quantile(response, 0.99),
        queue_depth_held: if length.0 == 0 { 0.0 } else { interval.tally.in_flight_ns / length.0 as f64 },
    }
}

/// What the kernel counted between two readings; a device that is missing in one of them, or whose counters went
/// backwards because another took its name, is left out.
fn devices(before: &[DeviceCounters], after: &[DeviceCounters], elapsed: Nanos) -> Vec<DeviceSummary> {
    let elapsed_ms = elapsed.0 as f64 / 1e6;
    let per_time = |ms: u64| if elapsed_ms > 0.0 { ms as f64 / elapsed_ms } else { 0.0 };
    after
        .iter()
        .filter_map(|after| {
            let before = before.iter().find(|before| before.number == after.number)?;
            let delta = |of: fn(&DeviceCounters) -> u64| of(after).checked_sub(of(before));
            Some(DeviceSummary {
                name: after.name.clone(),
                reads: delta(|d| d.reads)?,
                read_bytes: delta(|d| d.read_sectors)? * DeviceCounters::SECTOR_BYTES,
                read_merges: delta(|d| d.read_merges)?,
                writes: delta(|d| d.writes)?,
                write_bytes: delta(|d| d.write_sectors)? * DeviceCounters::SECTOR_BYTES,
                write_merges: delta(|d| d.write_merges)?,
                discards: delta(|d| d.discards)?,
                discard_bytes: delta(|d| d.discard_sectors)? * DeviceCounters::SECTOR_BYTES,
                flushes: delta(|d| d.flushes)?,
                busy_share: per_time(delta(|d| d.busy_ms)?).min(1.0),
                queue_depth: per_time(delta(|d| d.queue_ms)?),
            })
        })
        .collect()
}

fn host(facts: &Facts) -> HostSummary {
    HostSummary {
        name: facts.host.clone(),
        cpu_model: facts.cpu.model.clone(),
        cpus: facts.cpu.usable.len() as u64,
        memory_bytes: facts.memory.0,
        ceiling_per_s: facts.ceiling.as_ref().map(|ceiling| ceiling.operations_per_s),
        engine_ceilings_per_s: facts
            .ceiling
            .as_ref()
            .map_or_else(BTreeMap::new, |ceiling| ceiling.engines.clone()),
        targets: facts.targets.iter().map(target).collect(),
    }
}

fn target(fact: &TargetFact) -> TargetSummary {
    let kind = match fact.kind {
        FileKind::Absent => "absent",
        FileKind::NoFolder => "no_folder",
        FileKind::File => "file",
        FileKind::Folder => "folder",
        FileKind::BlockDevice => "block_device",
        FileKind::MemoryDevice => "memory_device",
        FileKind::Other => "other",
    };
    let device = fact.device.as_ref();
    let size = match fact.kind {
        FileKind::BlockDevice => device.map(|device| device.size.0),
        _ => fact.file.as_ref().map(|file| file.size.0),
    };
    TargetSummary {
        path: fact.path.to_string_lossy().into_owned(),
        kind: kind.to_owned(),
        size_bytes: size,
        filesystem: fact.filesystem.as_ref().map(|filesystem| filesystem.kind.clone()),
        mount_options: fact.filesystem.as_ref().map(|filesystem| filesystem.options.clone()),
        device: device.map(|device| device.name.clone()),
        model: device.map(|device| device.model.clone()),
        serial: device.map(|device| device.serial.clone()),
    }
}

fn finding(finding: Finding) -> FindingSummary {
    let Finding { id, severity, evidence, remedy } = finding;
    FindingSummary { id, severity: severity_name(severity).to_owned(), evidence, remedy }
}

fn note(note: &Note) -> NoteSummary {
    let Note { at, kind, severity, message } = note;
    NoteSummary {
        at_s: at.as_secs_f64(),
        kind: note_kind_name(*kind).to_owned(),
        severity: severity_name(*severity).to_owned(),
        message: message.clone(),
    }
}

pub(crate) const fn note_kind_name(kind: NoteKind) -> &'static str {
    match kind {
        NoteKind::Engine => "engine",
        NoteKind::Job => "job",
        NoteKind::Target => "target",
        NoteKind::LateInterval => "late_interval",
        NoteKind::IoError => "io_error",
        NoteKind::Mismatch => "mismatch",
        NoteKind::Demand => "demand",
        NoteKind::Environment => "environment",
        NoteKind::Mark => "mark",
    }
}

/// Facts of the host, without what its drives said of themselves.
fn around(facts: &Facts) -> impl Iterator<Item = &EnvironmentFact> {
    facts.environment.iter().filter(|fact| drives::device(fact).is_none())
}

fn drive(Drive { device, silent, facts }: Drive) -> DriveSummary {
    let of = |DriveFact { name, before, after }| DriveFactSummary { name, before, after };
    DriveSummary { device, silent, facts: facts.into_iter().map(of).collect() }
}

fn environment(fact: &EnvironmentFact) -> EnvironmentSummary {
    let bytes = fact.bytes().map(|bytes| bytes.0);
    let EnvironmentFact { subject, name, value, source } = fact.clone();
    EnvironmentSummary { subject, name, value, bytes, source }
}

const fn stop_name(stop: Stop) -> &'static str {
    match stop {
        Stop::Complete => "complete",
        Stop::Interrupted => "interrupted",
        Stop::IoErrors => "io_errors",
        Stop::Changed => "changed",
        Stop::Mismatch => "mismatch",
        Stop::Failed => "failed",
    }
}
