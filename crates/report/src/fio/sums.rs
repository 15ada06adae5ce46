//! What the workers of one entry did together, gathered from totals or, after a kill, from intervals. Owns how figures of
//! a stream are shared out to one of its workers; does not know the document.

use super::{FioEntry, FioNames, FioNotStarted, FioSampling, FioWorkers};
use fathom_metrics::{merge_kind, merge_tally};
use fathom_schema::{
    DepthSearch, EngineKind, Interval, KindTally, Moments, OperationKind, Phase, Quota, Record, StepRecord,
    Stream, StreamTally, ThreadUse, Tolerance, VerifyTotals, WorkerTotals,
};
use fathom_units::Nanos;
use std::collections::BTreeMap;

/// Everything an entry prints.
#[derive(Debug, Default)]
pub(super) struct Sums {
    pub(super) tally: StreamTally,
    /// Longest measure phase of a worker that did this kind, by kind index.
    pub(super) runtime: [Nanos; OperationKind::COUNT],
    /// Measure phases of all workers added up.
    pub(super) runtime_sum: Nanos,
    pub(super) user_ns: u64,
    pub(super) system_ns: u64,
    pub(super) context_switches: u64,
    pub(super) major_faults: u64,
    pub(super) minor_faults: u64,
    /// First error that ended a worker, or that was counted.
    pub(super) error: i32,
    /// Errors of kinds that the job goes on after, whether it went on after this one or not, as fio counts them: failed
    /// operations of all kinds, and those whose data was not what was written.
    pub(super) errors: u64,
    /// `iodepth` of the last job, or the queue depth that it found.
    pub(super) queue_depth: u32,
    /// Its targets were prepared and nothing more.
    pub(super) is_idle: bool,
    /// How the last stream finds its queue depth.
    pub(super) depth_search: Option<DepthSearch>,
    /// Wall clock when the first of them started, milliseconds since 1970-01-01 UTC; `None` when no step was begun.
    pub(super) start_ms: Option<u64>,
    /// Bytes per second by kind index, one for each span of `bwavgtime`.
    pub(super) bandwidth: Vec<[f64; OperationKind::COUNT]>,
    /// Operations per second by kind index, one for each span of `iopsavgtime`.
    pub(super) rates: Vec<[f64; OperationKind::COUNT]>,
}

/// Rates by kind index in one interval, or in several that follow one another.
#[derive(Debug, Clone, Copy, Default)]
struct Sample {
    seconds: f64,
    bytes_per_s: [f64; OperationKind::COUNT],
    iops: [f64; OperationKind::COUNT],
}

impl Sums {
    /// What one kind did.
    pub(super) fn kind(&self, kind: OperationKind) -> Option<&KindTally> {
        self.tally.kinds.iter().find(|tally| tally.kind == kind)
    }

    /// What reads, writes and trims did together.
    pub(super) fn moved(&self) -> Option<KindTally> {
        let mut kinds = self.tally.kinds.iter().filter(|kind| kind.kind != OperationKind::Sync);
        let mut all = kinds.next()?.clone();
        kinds.for_each(|kind| merge_kind(&mut all, kind));
        Some(all)
    }

    /// Counts calls on names as fio does.
    fn count_blocks(&mut self, FioNames { blocks, block_bytes }: FioNames) {
        for kind in &mut self.tally.kinds {
            kind.operations *= blocks;
            kind.bytes = kind.operations * block_bytes;
        }
        for rate in self.rates.iter_mut().flatten() {
            *rate *= blocks as f64;
        }
        for bytes_per_s in self.bandwidth.iter_mut().flatten() {
            *bytes_per_s *= (blocks * block_bytes) as f64;
        }
    }

    fn add_worker(&mut self, stream: &Stream, worker: &WorkerTotals) {
        self.errors += errors_of(stream, worker);
        let WorkerTotals {
            tally,
            start,
            end,
            synced: _,
            user_ns,
            system_ns,
            context_switches,
            major_faults,
            minor_faults,
            runnable_ns: _,
            error,
            verified,
            depth,
            emptied: _,
            waiting: _,
            oldest_waiting: _,
        } = worker;
        if let Some(found) = depth
            && (found.depth < stream.queue_depth || *error != 0)
        {
            self.queue_depth = found.depth;
        }
        self.add_tally(tally, end.since(*start), 1);
        if let Some(verified) = verified {
            // fio shows what it read back among its reads, over the time that took beside that of other reads.
            let VerifyTotals {
                tally,
                elapsed,
                checked: _,
                superseded: _,
                mismatches: _,
                finished: _,
                finished_last: _,
            } = &**verified;
            let reads = self.runtime[OperationKind::Read.index()];
            self.runtime[OperationKind::Read.index()] = Nanos::ZERO;
            self.add_tally(tally, *elapsed, 1);
            let back = &mut self.runtime[OperationKind::Read.index()];
            *back = reads.after(*back);
        }
        self.user_ns += user_ns;
        self.system_ns += system_ns;
        self.context_switches += context_switches;
        self.major_faults += major_faults;
        self.minor_faults += minor_faults;
        if self.error == 0 {
            self.error = *error;
        }
    }

    /// `workers` of them ran for `runtime` and did `tally` together.
    fn add_tally(&mut self, tally: &StreamTally, runtime: Nanos, workers: u64) {
        merge_tally(&mut self.tally, tally);
        for kind in &tally.kinds {
            let longest = &mut self.runtime[kind.kind.index()];
            *longest = (*longest).max(runtime);
        }
        self.runtime_sum = Nanos(self.runtime_sum.0 + runtime.0 * workers);
    }
}

/// See [`Sums::errors`].
fn errors_of(stream: &Stream, worker: &WorkerTotals) -> u64 {
    let read_back = worker.verified.iter().flat_map(|verified| &verified.tally.kinds);
    let failed = errors_among(stream, worker.tally.kinds.iter().chain(read_back));
    let mismatches = worker.verified.iter().flat_map(|verified| &verified.mismatches);
    failed + mismatches.map(|(_, count)| count).sum::<u64>()
}

/// Errors of those kinds that the job goes on after.
fn errors_among<'a>(stream: &Stream, kinds: impl Iterator<Item = &'a KindTally>) -> u64 {
    let (reads, writes) = match &stream.control.tolerates {
        Tolerance::Listed { reads, writes } => (!reads.is_empty(), !writes.is_empty()),
        Tolerance::ByPolicy => (false, false),
    };
    let counts = |kind: OperationKind| if kind == OperationKind::Read { reads } else { writes };
    kinds.filter(|kind| counts(kind.kind)).flat_map(|kind| &kind.errors).map(|(_, count)| count).sum()
}

/// Gathers what `entry` sums up; what the record does not hold counts as nothing.
pub(super) fn gather(record: &Record, entry: &FioEntry) -> Sums {
    let mut sums = Sums::default();
    let mut samples: BTreeMap<(usize, u64), Sample> = BTreeMap::new();
    let mut trims_at_once = false;
    for part in &entry.workers {
        let FioWorkers { step: step_at, stream: stream_at, worker } = *part;
        let Some(step) = record.steps.get(step_at) else { continue };
        let Some(stream) = step.started.step.streams.get(stream_at) else { continue };
        // fio's search raises `iodepth`, also where its engine waits for each operation and nothing changes by that.
        sums.queue_depth = entry.queue_depth.max(stream.queue_depth);
        // fio's engines of storage carry out trims where they are submitted, and take no time of that.
        trims_at_once |= self::trims_at_once(stream);
        sums.depth_search = stream.depth_search;
        sums.is_idle = stream.limits.operations == Quota::AtMost(0);
        // fio's job starts when its delay and its wait are over, and with its ramp.
        let start =
            measuring_from(step, stream_at).map_or(stream.start_delay, |from| from.since(stream.ramp));
        let start_ms = step.started.wall_ms + start.0 / 1_000_000;
        sums.start_ms = Some(sums.start_ms.map_or(start_ms, |earliest| earliest.min(start_ms)));
        let count = stream.workers.len().max(1);
        let share = if worker.is_some() { 1.0 / count as f64 } else { 1.0 };
        match &step.finished {
            Some(finished) => {
                let workers = finished.streams.get(stream_at).map_or(&[][..], |totals| &totals.workers);
                let chosen = workers.iter().enumerate().filter(|(at, _)| worker.is_none_or(|one| one == *at));
                chosen.for_each(|(_, totals)| sums.add_worker(stream, totals));
            }
            None => add_intervals(&mut sums, step, stream_at, worker, count as u64),
        }
        for interval in measured(step, stream_at) {
            let sample = samples.entry((step_at, interval.sequence)).or_default();
            add_sample(sample, interval, share);
        }
    }
    if sums.error == 0 {
        let errors = sums.tally.kinds.iter().flat_map(|kind| &kind.errors);
        sums.error = errors.map(|&(errno, _)| errno).next().unwrap_or(0);
    }
    if let Some(FioNotStarted { errno }) = entry.not_started {
        sums.error = if sums.error == 0 { errno } else { sums.error };
        if entry.workers.is_empty() {
            sums.is_idle = true;
            sums.queue_depth = entry.queue_depth;
        }
    }
    if trims_at_once {
        sums.tally.kinds.iter_mut().for_each(without_submission);
    }
    let FioSampling { bandwidth, operations } = entry.sampling;
    sums.bandwidth = spans(record, &samples, bandwidth, |sample| sample.bytes_per_s);
    // Calls on names move no bytes, and are counted as I/Os on blocks.
    if entry.names.is_some() {
        sums.bandwidth = spans(record, &samples, bandwidth, |sample| sample.iops);
    }
    sums.rates = spans(record, &samples, operations, |sample| sample.iops);
    if entry.is_of_cpu {
        sums.runtime = [Nanos::ZERO; OperationKind::COUNT];
    }
    if let Some(names) = entry.names {
        sums.count_blocks(names);
    }
    sums
}

/// After a kill only intervals of the whole stream are there; one worker of several gets an even share of every count, so
/// that the entries of all workers still add up to the stream.
fn add_intervals(sums: &mut Sums, step: &StepRecord, stream_at: usize, worker: Option<usize>, count: u64) {
    let mut tally = StreamTally::default();
    let (mut start, mut end) = (Nanos::NEVER, Nanos::ZERO);
    for interval in measured(step, stream_at) {
        merge_tally(&mut tally, &interval.tally);
        start = start.min(interval.start);
        end = end.max(interval.end);
    }
    let part = worker.map_or((0, 1), |worker| (worker as u64, count));
    share_out(&mut tally, part);
    let ThreadUse { system_ns, context_switches, major_faults, minor_faults } = tally.used;
    let system_ns = system_ns.min(tally.cpu_ns);
    sums.user_ns += tally.cpu_ns - system_ns;
    sums.system_ns += system_ns;
    sums.context_switches += context_switches;
    sums.major_faults += major_faults;
    sums.minor_faults += minor_faults;
    sums.errors += errors_among(&step.started.step.streams[stream_at], tally.kinds.iter());
    sums.add_tally(&tally, end.since(start), if worker.is_some() { 1 } else { count });
}

/// Whether the trims of a stream are done as they are submitted, as with fio by all engines that have a kernel to ask.
pub(super) fn trims_at_once(stream: &Stream) -> bool {
    !matches!(stream.engine.kind, EngineKind::Null | EngineKind::Sim)
}

/// Leaves of trims that are done at once the whole time alone.
pub(super) fn without_submission(tally: &mut KindTally) {
    if tally.kind == OperationKind::Trim {
        (tally.submission, tally.completion) = (Moments::default(), None);
    }
}

/// Leaves part `index` of `count` of every counter: ⌊(n + index) / count⌋, whose sum over all parts is n (Hermite's
/// identity).
fn share_out(tally: &mut StreamTally, (index, count): (u64, u64)) {
    let share = |n: &mut u64| *n = (*n + index) / count;
    let share_moments = |moments: &mut Moments| {
        share(&mut moments.count);
        moments.sum_ns /= count as f64;
        moments.sum_squares /= count as f64;
    };
    let StreamTally {
        kinds,
        targets: _,
        connections: _,
        in_flight_ns,
        failed_ns: _,
        outside_ns: _,
        cpu_ns,
        used,
        depth_levels,
        submit_sizes,
        complete_sizes,
        arrivals,
        arrivals_late,
        arrivals_dropped,
        left_waiting: _,
        backlog_max: _,
    } = tally;
    *in_flight_ns /= count as f64;
    [cpu_ns, arrivals, arrivals_late, arrivals_dropped].into_iter().for_each(share);
    let ThreadUse { system_ns, context_switches, major_faults, minor_faults } = used;
    [system_ns, context_switches, major_faults, minor_faults].into_iter().for_each(share);
    [depth_levels, submit_sizes, complete_sizes].into_iter().flatten().for_each(share);
    for KindTally {
        kind: _,
        operations,
        bytes,
        short,
        data_syncs,
        errors,
        service,
        response,
        submission,
        completion,
    } in kinds
    {
        [operations, bytes, short, data_syncs].into_iter().for_each(share);
        errors.iter_mut().for_each(|(_, failed)| share(failed));
        share_moments(submission);
        for latency in [Some(service), response.as_mut(), completion.as_mut()].into_iter().flatten() {
            share_moments(&mut latency.moments);
            let shared = latency.histogram.buckets().map(|(bucket, mut held)| {
                share(&mut held);
                (bucket, held)
            });
            latency.histogram = shared.collect();
        }
    }
}

/// Wall clock at the end, or as far as the record goes.
pub(super) fn end_ms(record: &Record) -> u64 {
    let last_step = record.steps.last().map(|step| {
        let end = step.intervals.iter().map(|interval| interval.end).max().unwrap_or_default();
        step.started.wall_ms + end.0 / 1_000_000
    });
    let finished = record.finished.as_ref().map(|finished| finished.wall_ms);
    finished.or(last_step).unwrap_or(record.started.wall_ms)
}

/// Intervals of the measure phase of one stream.
pub(super) fn measured(step: &StepRecord, stream_at: usize) -> impl Iterator<Item = &Interval> {
    step.intervals
        .iter()
        .filter(move |interval| interval.stream as usize == stream_at && interval.phase == Phase::Measure)
}

/// When a stream began to measure, since the step's start, whatever it had waited for: the first of its workers, or after a
/// kill its first interval. `None` when it did not.
pub(super) fn measuring_from(step: &StepRecord, stream_at: usize) -> Option<Nanos> {
    let totals = step.finished.as_ref().and_then(|finished| finished.streams.get(stream_at));
    let of_totals = totals.and_then(|totals| totals.workers.iter().map(|worker| worker.start).min());
    of_totals.or_else(|| measured(step, stream_at).map(|interval| interval.start).min())
}

/// The mean of a figure over each span of intervals of the same step, from the first that was measured on: after a ramp too
/// the first span is as long as the others. One that is shorter than half of what was asked for is no sample of a rate: a
/// last one of a few milliseconds, or of all of a short job.
fn spans(
    record: &Record,
    samples: &BTreeMap<(usize, u64), Sample>,
    span: Nanos,
    figure: impl Fn(&Sample) -> [f64; OperationKind::COUNT],
) -> Vec<[f64; OperationKind::COUNT]> {
    let intervals = |step: usize| (span.0 / record.steps[step].started.step.interval.0.max(1)).max(1);
    let mut found: BTreeMap<(usize, u64), (f64, [f64; OperationKind::COUNT])> = BTreeMap::new();
    let mut firsts: BTreeMap<usize, u64> = BTreeMap::new();
    for (&(step, sequence), sample) in samples {
        let first = *firsts.entry(step).or_insert(sequence);
        let (seconds, sum) = found.entry((step, (sequence - first) / intervals(step))).or_default();
        *seconds += sample.seconds;
        for (sum, rate) in sum.iter_mut().zip(figure(sample)) {
            *sum += rate * sample.seconds;
        }
    }
    let whole =
        |step: usize| Nanos(record.steps[step].started.step.interval.0 * intervals(step)).as_secs_f64();
    let long =
        found.into_iter().filter(|&((step, _), (seconds, _))| seconds > 0.0 && seconds >= whole(step) / 2.0);
    long.map(|(_, (seconds, sum))| sum.map(|sum| sum / seconds)).collect()
}

fn add_sample(sample: &mut Sample, interval: &Interval, share: f64) {
    let seconds = interval.end.since(interval.start).as_secs_f64();
    if seconds == 0.0 {
        return;
    }
    sample.seconds = sample.seconds.max(seconds);
    for kind in &interval.tally.kinds {
        sample.bytes_per_s[kind.kind.index()] += kind.bytes as f64 / seconds * share;
        sample.iops[kind.kind.index()] += kind.operations as f64 / seconds * share;
    }
}

/// Block size that a log line states for a kind: the largest of the stream's cases.
pub(super) fn block_bytes(stream: &Stream, kind: OperationKind) -> u32 {
    let cases = stream.workload.cases.iter().filter(|case| case.kind == kind);
    cases.map(|case| case.size.largest()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::FioWorkers;
    use fathom_analysis::sample::{StreamShape, record};
    use proptest::prelude::*;

    #[test]
    fn samples_last_as_long_as_they_are_to() {
        let shape =
            StreamShape { rates: vec![(OperationKind::Read, 100)], seconds: 7, ..StreamShape::default() };
        let record = record(&[shape]);
        let workers = vec![FioWorkers { step: 0, stream: 0, worker: None }];
        let counts = |bandwidth, operations| {
            let sampling =
                FioSampling { bandwidth: Nanos::millis(bandwidth), operations: Nanos::millis(operations) };
            let sums =
                gather(&record, &FioEntry { workers: workers.clone(), sampling, ..FioEntry::default() });
            let read = OperationKind::Read.index();
            assert!(sums.rates.iter().all(|rates| rates[read] == 100.0), "{:?}", sums.rates);
            [sums.bandwidth.len(), sums.rates.len()]
        };
        // The intervals are of a second; a last one counts from half of what it should be.
        assert_eq!(counts(1000, 3000), [7, 2]);
        assert_eq!(counts(2000, 500), [4, 7]);
        assert_eq!(counts(60_000, 14_000), [0, 1]);
    }

    #[test]
    fn samples_begin_where_the_ramp_ends() {
        let shape =
            StreamShape { rates: vec![(OperationKind::Read, 100)], seconds: 7, ..StreamShape::default() };
        let mut record = record(&[shape]);
        record.steps[0].intervals[0].phase = Phase::Ramp;
        for interval in record.steps[0].intervals.iter_mut().skip(1).step_by(2) {
            interval.tally.kinds[0].operations = 300;
        }
        let sampling = FioSampling { bandwidth: Nanos::secs(2), operations: Nanos::secs(2) };
        let workers = vec![FioWorkers { step: 0, stream: 0, worker: None }];
        let sums = gather(&record, &FioEntry { workers, sampling, ..FioEntry::default() });
        // 300 and 100 in turn, two seconds each from the second on.
        let rates: Vec<f64> = sums.rates.iter().map(|rates| rates[OperationKind::Read.index()]).collect();
        assert_eq!(rates, [200.0; 3]);
        assert_eq!(sums.bandwidth.len(), 3);
    }

    proptest! {
        #[test]
        fn shares_of_all_workers_add_up(rate in 1_u64..5000, count in 1_u64..40) {
            let shape = StreamShape { rates: vec![(OperationKind::Read, rate)], seconds: 1, ..StreamShape::default() };
            let whole = record(&[shape]).steps[0].intervals[0].tally.clone();
            let mut sum = StreamTally::default();
            for index in 0..count {
                let mut part = whole.clone();
                share_out(&mut part, (index, count));
                merge_tally(&mut sum, &part);
            }
            let (found, expect) = (&sum.kinds[0], &whole.kinds[0]);
            prop_assert_eq!((found.operations, found.bytes), (expect.operations, expect.bytes));
            prop_assert_eq!(&found.service.histogram, &expect.service.histogram);
            prop_assert_eq!(found.service.moments.count, expect.service.moments.count);
            prop_assert_eq!(sum.depth_levels, whole.depth_levels);
        }
    }
}
