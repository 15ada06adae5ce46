//! One side of a comparison: what its runs measured in one step, as series to take samples from and as blocks of the
//! latency distribution to resample.

use super::parts::Part;
use crate::measured::operations;
use crate::statistics::{bucket_at, memory, subsessions};
use fathom_metrics::{BUCKETS, merge_tally};
use fathom_schema::{Interval, LatencyTally, OperationKind, Phase, StepRecord, StreamTally};

/// Blocks of one run's latencies at most: more add little, and each holds a distribution.
const BLOCKS_MAX: usize = 60;
/// Share of the usual length from which on an interval counts; a shorter one holds the edge of a phase.
const WHOLE_SHARE: f64 = 0.5;

/// What the values of a side are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replicates {
    /// Runs: they show what differs from one to the next.
    Runs,
    /// The only run, which measured the same load several times: rounds of a test, steps of a curve at one load.
    Rounds,
    /// Intervals of the only step of the only run.
    Intervals,
}

impl Replicates {
    /// Name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Runs => "runs",
            Self::Rounds => "rounds",
            Self::Intervals => "intervals",
        }
    }
}

/// A figure of one side.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its value in each run; with one run in each of its rounds, or in each interval.
    pub values: Vec<f64>,
    /// Its value over all that was measured: the mean of runs or rounds, or the step's total.
    total: f64,
    /// What `values` are of.
    pub of: Replicates,
}

impl Series {
    /// Over all that was measured.
    pub fn figure(&self) -> f64 {
        self.total
    }

    /// Whether its values are those of runs.
    pub(super) fn is_of_runs(&self) -> bool {
        self.of == Replicates::Runs
    }

    /// Standard deviation between runs or rounds as a share of their mean; of intervals, the difference of the halves.
    pub(super) fn noise_floor(&self) -> Option<f64> {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let is_of_intervals = self.of == Replicates::Intervals;
        let floor = if !is_of_intervals && self.values.len() >= 2 {
            let sample = crate::statistics::Sample::of(&self.values);
            sample.stddev() / sample.mean
        } else if is_of_intervals && self.values.len() >= 8 {
            let (left, right) = self.values.split_at(self.values.len() / 2);
            (mean(left) - mean(right)).abs() / mean(&self.values)
        } else {
            return None;
        };
        floor.is_finite().then_some(floor)
    }
}

/// What one side measured in one step.
#[derive(Debug, Clone, PartialEq)]
pub struct StepSide {
    /// Operations per second.
    pub iops: Series,
    /// Bytes per second.
    pub bandwidth: Series,
    /// Mean response time, nanoseconds.
    pub mean_latency: Series,
    /// Latency counts per bucket, of runs, of rounds or of independent stretches of the only step.
    pub blocks: Vec<Vec<u64>>,
    /// The longest response time, nanoseconds: a percentile is no longer, though the middle of its bucket may be.
    pub longest_ns: f64,
    /// Whether there are several runs which agree to the last digit, and count as one.
    pub agrees: bool,
}

/// Operations, bytes and summed latency of a stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sums {
    operations: f64,
    bytes: f64,
    latency_ns: f64,
    /// How many latencies that is the sum of: those of operations, and of arrivals that were left waiting.
    latencies: f64,
    longest_ns: f64,
    seconds: f64,
}

impl Sums {
    fn of(tally: &StreamTally, seconds: f64) -> Self {
        let mut sums = Self { seconds, operations: operations(tally) as f64, ..Self::default() };
        for kind in tally.kinds.iter().filter(|kind| kind.kind != OperationKind::Sync) {
            sums.bytes += kind.bytes as f64;
        }
        for latency in latencies(tally) {
            sums.latency_ns += latency.moments.sum_ns;
            sums.latencies += latency.moments.count as f64;
            sums.longest_ns = sums.longest_ns.max(latency.moments.max_ns as f64);
        }
        sums
    }

    fn iops(&self) -> f64 {
        self.operations / self.seconds
    }

    fn bandwidth(&self) -> f64 {
        self.bytes / self.seconds
    }

    fn mean_latency(&self) -> f64 {
        self.latency_ns / self.latencies
    }
}

impl StepSide {
    /// Of one load as each of the runs measured it, in one step or in several; `None` when one of them lacks it or measured
    /// nothing in it. `part`: what of it.
    pub(super) fn of(runs: &[Vec<&StepRecord>], part: &Part) -> Option<Self> {
        // Per run, the steps.
        let totals: Vec<Vec<(Sums, Vec<u64>)>> = runs
            .iter()
            .map(|steps| steps.iter().map(|step| whole(step, part)).collect::<Option<Vec<_>>>())
            .map(|steps| steps.filter(|steps| !steps.is_empty()))
            .collect::<Option<_>>()?;
        // A simulated device does the same for the same seed. What it did again is no further run: that it does not differ says
        // nothing of chance, of which the parts of one run tell something. A part that always does the same in runs that differ is
        // one that does not vary.
        if *part == Part::default() && runs.len() > 1 && totals.windows(2).all(|pair| pair[0] == pair[1]) {
            return Self::of(&runs[..1], part).map(|one| Self { agrees: true, ..one });
        }
        let (of, intervals) = match runs {
            [steps] => match steps.as_slice() {
                [only] => (Replicates::Intervals, by_interval(only, part)),
                _ => (Replicates::Rounds, Vec::new()),
            },
            _ => (Replicates::Runs, Vec::new()),
        };
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let series = |figure: fn(&Sums) -> f64| {
            let of_steps = |steps: &Vec<(Sums, Vec<u64>)>| -> Vec<f64> {
                steps.iter().map(|(sums, _)| figure(sums)).collect()
            };
            let of_runs: Vec<f64> = totals.iter().map(|steps| mean(&of_steps(steps))).collect();
            let total = mean(&of_runs);
            let values = match of {
                Replicates::Runs => of_runs,
                Replicates::Rounds => of_steps(&totals[0]),
                // What has no operation has no mean latency.
                Replicates::Intervals => {
                    intervals.iter().map(|(sums, _)| figure(sums)).filter(|value| !value.is_nan()).collect()
                }
            };
            Series { values, total, of }
        };
        let iops = series(Sums::iops);
        let blocks = match of {
            Replicates::Runs => {
                totals.iter().map(|steps| added(steps.iter().map(|(_, counts)| counts))).collect()
            }
            Replicates::Rounds => totals[0].iter().map(|(_, counts)| counts.clone()).collect(),
            Replicates::Intervals => blocks(&intervals),
        };
        Some(Self {
            longest_ns: totals.iter().flatten().map(|(sums, _)| sums.longest_ns).fold(0.0, f64::max),
            bandwidth: series(Sums::bandwidth),
            mean_latency: series(Sums::mean_latency),
            iops,
            blocks,
            agrees: false,
        })
    }

    /// A quantile's bucket in each block.
    pub(super) fn quantile_of_blocks(&self, q: f64) -> Vec<usize> {
        self.blocks.iter().filter_map(|counts| bucket_at(counts, q)).collect()
    }

    /// Latency counts over all blocks.
    pub(super) fn latencies(&self) -> Vec<u64> {
        added(self.blocks.iter())
    }

    /// Operations over all blocks.
    pub(super) fn operations(&self) -> f64 {
        self.blocks.iter().flatten().sum::<u64>() as f64
    }
}

/// Totals of the part's streams of a step over their common window.
fn whole(step: &StepRecord, part: &Part) -> Option<(Sums, Vec<u64>)> {
    let streams = part.streams(step);
    let windows = streams.iter().filter(|stream| stream.window().0 > 0);
    let start = windows.clone().map(|stream| stream.start).min()?;
    let end = windows.map(|stream| stream.end).max()?;
    let mut tally = StreamTally::default();
    streams.iter().for_each(|stream| merge_tally(&mut tally, &stream.tally));
    let tally = part.narrowed(tally);
    let sums = Sums::of(&tally, end.since(start).as_secs_f64());
    (sums.operations > 0.0).then(|| (sums, counts(&tally)))
}

/// Sums and latency counts of each measured interval, all streams of the part together. What a short one at the edge of a phase counted is
/// with its neighbour's: a percentile is of all operations, as everywhere else.
fn by_interval(step: &StepRecord, part: &Part) -> Vec<(Sums, Vec<u64>)> {
    let is_meant =
        |interval: &&Interval| interval.phase == Phase::Measure && part.has(step, interval.stream as usize);
    let mut measured: Vec<&Interval> = step.intervals.iter().filter(is_meant).collect();
    measured.sort_by_key(|interval| interval.sequence);
    let usual = step.started.step.interval.as_secs_f64();
    let mut whole: Vec<(Sums, Vec<u64>)> = Vec::new();
    let mut early: Vec<u64> = Vec::new();
    for group in measured.chunk_by(|a, b| a.sequence == b.sequence) {
        let mut tally = StreamTally::default();
        group.iter().for_each(|interval| merge_tally(&mut tally, &interval.tally));
        let tally = part.narrowed(tally);
        let lengths = group.iter().map(|interval| interval.end.since(interval.start).as_secs_f64());
        let sums = Sums::of(&tally, lengths.fold(0.0, f64::max));
        let counts = counts(&tally);
        // A part of few operations has intervals without any, which are as much a part of how it varies.
        let counts_too = sums.operations > 0.0 || *part != Part::default();
        if sums.seconds >= WHOLE_SHARE * usual && counts_too {
            whole.push((sums, added([&std::mem::take(&mut early), &counts].into_iter())));
        } else {
            let beside = whole.last_mut().map_or(&mut early, |(_, last)| last);
            *beside = added([&*beside, &counts].into_iter());
        }
    }
    // What was left waiting was so at the end.
    let tallies = part.streams(step).into_iter().map(|stream| part.narrowed(stream.tally));
    for left in tallies.filter_map(|tally| tally.left_waiting) {
        if let Some((sums, last)) = whole.last_mut() {
            sums.latency_ns += left.moments.sum_ns;
            sums.latencies += left.moments.count as f64;
            let tally = StreamTally { left_waiting: Some(left), ..StreamTally::default() };
            *last = added([&*last, &counts(&tally)].into_iter());
        }
    }
    whole
}

/// Stretches that are as good as independent, each with its latency counts; the last one with what is left. What waits in a queue is
/// remembered by the latencies alone where operations come at a rate.
fn blocks(intervals: &[(Sums, Vec<u64>)]) -> Vec<Vec<u64>> {
    let iops: Vec<f64> = intervals.iter().map(|(sums, _)| sums.iops()).collect();
    let latency: Vec<f64> =
        intervals.iter().map(|(sums, _)| sums.mean_latency()).filter(|mean| !mean.is_nan()).collect();
    let lasts = |values: &[f64]| memory(values).max(subsessions(values).map_or(1, |found| found.length));
    let length = lasts(&iops).max(lasts(&latency)).max(intervals.len().div_ceil(BLOCKS_MAX)).max(1);
    let count = if intervals.is_empty() { 0 } else { (intervals.len() / length).max(1) };
    (0..count)
        .map(|at| {
            let end = if at + 1 == count { intervals.len() } else { (at + 1) * length };
            added(intervals[at * length..end].iter().map(|(_, counts)| counts))
        })
        .collect()
}

/// Latency counts together.
fn added<'a>(all: impl Iterator<Item = &'a Vec<u64>>) -> Vec<u64> {
    let mut sum: Vec<u64> = Vec::new();
    for counts in all {
        sum.resize(sum.len().max(counts.len()), 0);
        sum.iter_mut().zip(counts).for_each(|(into, from)| *into += from);
    }
    sum
}

/// Response times of all kinds but sync, and of arrivals that were left waiting.
fn latencies(tally: &StreamTally) -> impl Iterator<Item = &LatencyTally> {
    let kinds = tally.kinds.iter().filter(|kind| kind.kind != OperationKind::Sync);
    kinds.map(|kind| kind.response.as_ref().unwrap_or(&kind.service)).chain(tally.left_waiting.as_deref())
}

/// The same per bucket, up to the last one that is not empty.
fn counts(tally: &StreamTally) -> Vec<u64> {
    let mut counts: Vec<u64> = Vec::new();
    for latency in latencies(tally) {
        for (bucket, count) in latency.histogram.buckets() {
            let bucket = (bucket as usize).min(BUCKETS - 1);
            counts.resize(counts.len().max(bucket + 1), 0);
            counts[bucket] += count;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{StreamShape, record};
    use fathom_units::Nanos;

    /// A percentile is of all operations: neither a last part of a second nor what is left of blocks is without a place.
    #[test]
    fn every_operation_is_in_a_block() {
        for (seconds, last_ns) in [(7, 1_000_000_000), (7, 300_000_000), (150, 10_000_000), (1, 100_000_000)]
        {
            let rates = vec![(OperationKind::Read, 100)];
            let mut made = record(&[StreamShape { rates, seconds, ..StreamShape::default() }]);
            let step = &mut made.steps[0];
            let last = step.intervals.last_mut().expect("there is one");
            last.end = last.start.after(Nanos(last_ns));
            let all: u64 = step.intervals.iter().map(|interval| operations(&interval.tally)).sum();
            let intervals = by_interval(step, &Part::default());
            let is_short = last_ns < 500_000_000;
            assert_eq!(intervals.len() as u64, seconds - u64::from(is_short));
            let counted: u64 = blocks(&intervals).iter().flatten().sum();
            // The only one is too short to be held against another.
            assert_eq!(counted, if intervals.is_empty() { 0 } else { all }, "{seconds} s");
        }
    }

    #[test]
    fn what_was_left_waiting_is_in_the_latencies_of_the_run_and_of_its_end() {
        let mut made = record(&[StreamShape::default()]);
        let step = &mut made.steps[0];
        let (before, parts_before) =
            (whole(step, &Part::default()).expect("it was measured"), by_interval(step, &Part::default()));
        let worker = &mut step.finished.as_mut().expect("it ended").streams[0].workers[0];
        worker.tally.left_waiting = Some(Box::new(crate::sample::latency(5e9, 1000)));
        let (after, parts) =
            (whole(step, &Part::default()).expect("it was measured"), by_interval(step, &Part::default()));
        let count = |counts: &Vec<u64>| counts.iter().sum::<u64>();
        assert_eq!(count(&after.1), count(&before.1) + 1000);
        assert_eq!(
            (after.0.operations, after.0.latencies),
            (before.0.operations, before.0.latencies + 1000.0)
        );
        assert!((after.0.latency_ns - before.0.latency_ns - 5e12).abs() < 1e3);
        let last = parts.len() - 1;
        assert_eq!(parts[..last], parts_before[..last]);
        assert_eq!(count(&parts[last].1), count(&parts_before[last].1) + 1000);
        assert!(parts[last].0.mean_latency() > parts_before[last].0.mean_latency());
    }
}
