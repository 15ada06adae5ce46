//! What one step showed as a point of a load curve: the load it held, the throughput, and latencies. For those who pick the
//! next step and for those who give the answer.

mod rates;

pub use rates::Rates;

use crate::queues;
use crate::scaling::{Answers, LatencyLimit, Point, Statistic, Weighting, answers, anywhere, measured_limit};
pub use fathom_metrics::operations_for;
use fathom_metrics::{Latency, bucket_bounds, bucket_of, merge_kind, merge_tally};
use fathom_schema::{
    KindTally, LatencyGoal, LatencyTally, LoadAxis, OperationKind, Pacing, Question, Record, Step, Stream,
    StreamTally, StreamTotals, TimeLimit, WorkerTotals,
};
use fathom_units::Nanos;

/// One step as a point of a load curve, all streams together.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadPoint {
    /// Operations in flight, averaged over time.
    pub held: f64,
    /// Operations per second.
    pub rate: f64,
    /// Mean response time, seconds.
    pub mean_s: f64,
    /// Response time of all operations.
    pub response: LatencyTally,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Operations that failed.
    pub errors: u64,
    /// Arrivals that came due per second; 0 in a closed loop.
    pub offered: f64,
    /// Arrivals that were given up.
    pub dropped: u64,
    /// Most arrivals waiting at once, of each worker, added up.
    pub backlog_max: u64,
    /// How long the target stood still, seconds, where the most that waited came due in that time; else 0.
    pub stopped_s: f64,
}

/// Times the usual service time that one takes in flight of a target that stands still.
pub(crate) const STOP_TIMES: u64 = 20;
/// How many times as many may wait as came due while it stood still, or as a part of that.
const STOP_PART: f64 = 2.0;

/// How long a target stood still, by the longest of its service times; 0 where that is none that shows it.
pub(crate) fn stop_ns(service: &LatencyTally) -> u64 {
    let usual_ns = Latency::quantile_of(service, 0.5).unwrap_or(0);
    let longest_ns = service.moments.max_ns;
    if longest_ns > usual_ns.saturating_mul(STOP_TIMES) { longest_ns } else { 0 }
}

impl LoadPoint {
    /// Of a step's totals; `None` when nothing was measured.
    pub fn of(step: &Step, streams: &[StreamTotals]) -> Option<Self> {
        Self::of_kind(step, streams, None)
    }

    /// As [`LoadPoint::of`], of operations of one kind, or of all that move data or trim.
    pub fn of_kind(step: &Step, streams: &[StreamTotals], only: Option<OperationKind>) -> Option<Self> {
        let added = || streams.iter().enumerate().filter(|(index, _)| step.adds_up(*index));
        let workers = || added().flat_map(|(_, stream)| &stream.workers);
        let start = workers().map(|worker| worker.start).min()?;
        let end = workers().map(|worker| worker.end).max()?;
        let seconds = end.since(start).as_secs_f64();
        let mut tally = StreamTally::default();
        workers().for_each(|worker| merge_tally(&mut tally, &worker.tally));
        let mut all: Option<KindTally> = None;
        let is_meant = |kind: &&KindTally| match only {
            Some(only) => kind.kind == only,
            None => kind.kind != OperationKind::Sync,
        };
        for kind in tally.kinds.iter().filter(is_meant) {
            match &mut all {
                Some(all) => merge_kind(all, kind),
                None => all = Some(kind.clone()),
            }
        }
        let all = all.filter(|all| all.operations > 0 && seconds > 0.0)?;
        let stop_ns = stop_ns(&all.service);
        let response = all.response.unwrap_or(all.service);
        // Arrivals come due until the time is up; what is in flight then may take longer.
        let last_due = |stream: &Stream, totals: &StreamTotals| {
            let of_worker = |worker: &WorkerTotals| match stream.limits.time {
                TimeLimit::Nanoseconds(time) => worker.end.min(worker.start.after(Nanos(time))),
                TimeLimit::Unbounded => worker.end,
            };
            totals.workers.iter().map(of_worker).max()
        };
        let due_until =
            added().filter_map(|(index, totals)| last_due(step.streams.get(index)?, totals)).max();
        let due_s = due_until.map_or(seconds, |until| until.since(start).as_secs_f64());
        let offered = tally.arrivals as f64 / due_s;
        // Those that came due while it stood still, and about as many as that.
        let by_stop = offered * stop_ns as f64 / 1e9;
        // What waits in different workers adds up.
        let backlog_max = workers().map(|worker| worker.tally.backlog_max.max(worker.waiting)).sum::<u64>();
        let is_by_stop = (by_stop / STOP_PART..=by_stop * STOP_PART).contains(&(backlog_max as f64));
        Some(Self {
            // What a ramp left in flight may have been so beyond the end.
            held: (tally.in_flight_ns / 1e9 / seconds).min(slots(step)),
            rate: all.operations as f64 / seconds,
            mean_s: response.moments.mean_ns() / 1e9,
            response,
            bytes_per_s: all.bytes as f64 / seconds,
            errors: tally
                .kinds
                .iter()
                .filter(|kind| only.is_none_or(|only| kind.kind == only))
                .flat_map(|kind| &kind.errors)
                .map(|(_, count)| count)
                .sum(),
            offered,
            dropped: tally.arrivals_dropped,
            backlog_max,
            stopped_s: if is_by_stop { stop_ns as f64 / 1e9 } else { 0.0 },
        })
    }

    /// Operations that a quantile takes for one of them to lie beyond it, where there are fewer: it would only repeat the largest
    /// latency.
    pub fn needs(&self, q: f64) -> Option<u64> {
        let needs = operations_for(q);
        (self.response.moments.count < needs).then_some(needs)
    }

    /// Whether it takes longer than a goal allows.
    pub fn exceeds(&self, goal: &LatencyGoal) -> bool {
        self.latency_s(goal) > goal.limit.as_secs_f64()
    }

    /// What a goal is about, in seconds.
    pub fn latency_s(&self, goal: &LatencyGoal) -> f64 {
        match goal.quantile {
            None => self.mean_s,
            Some(q) => self.quantile_s(q, goal.limit.as_secs_f64()),
        }
    }

    /// By how much that may lie off by chance in one measurement, in seconds: the standard error of independent operations; of a
    /// quantile the way to the one that as many more operations make (the binomial's standard deviation).
    pub fn scatter_s(&self, goal: &LatencyGoal) -> f64 {
        let count = self.response.moments.count.max(1) as f64;
        match goal.quantile {
            None => self.response.moments.stddev_ns() / 1e9 / count.sqrt(),
            Some(q) => {
                let limit_s = goal.limit.as_secs_f64();
                let above = (q + (q * (1.0 - q) / count).sqrt()).min(1.0);
                (self.quantile_s(above, limit_s) - self.quantile_s(q, limit_s)).max(0.0)
            }
        }
    }

    /// A quantile of the response time, in seconds, that is held against a limit. Where it lies in the bucket of the limit, and of the
    /// shortest of all, that one is what most operations take that wait for nothing (a device of constant service): the bucket's
    /// upper end, which stands for it else, would exceed a limit that all of them keep exactly.
    pub(crate) fn quantile_s(&self, q: f64, limit_s: f64) -> f64 {
        let found = Latency::quantile_of(&self.response, q).unwrap_or(0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a latency in seconds")]
        let limit = (limit_s * 1e9).round() as u64;
        let shortest = self.response.moments.min_ns;
        let is_shortest = bucket_of(found) == bucket_of(limit) && bucket_of(found) == bucket_of(shortest);
        let found_s = found as f64 / 1e9;
        if is_shortest && shortest <= limit { found_s.min(limit_s) } else { found_s }
    }
}

/// How far a percentile may lie off to either side for the bucket that it is kept in, seconds. One that is told to be exactly at its
/// limit keeps that wherever it lies.
fn half_bucket_s(latency_s: f64, limit_s: f64) -> f64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a latency in seconds")]
    let (low, high) = bucket_bounds(bucket_of((latency_s * 1e9).round() as u64));
    if latency_s == limit_s { 0.0 } else { (high - low) as f64 / 2.0 / 1e9 }
}

/// Puts the percentiles that some limits are about anywhere in the buckets that they were kept in.
fn anywhere_in_buckets(latencies_s: &mut [f64], limits: &[LatencyGoal], random: &mut fastrand::Rng) {
    for (latency_s, goal) in latencies_s.iter_mut().zip(limits) {
        let half_s = half_bucket_s(*latency_s, goal.limit.as_secs_f64());
        *latency_s = anywhere(*latency_s, goal.quantile.map_or(0.0, |_| half_s), random);
    }
}

/// Share of its slots that a step has to keep busy for its load to be the depth that was asked for.
const FULL_SHARE: f64 = 0.98;
/// Seed of the resampling: the same record gives the same intervals.
const SEED: u64 = 23;

/// The answer of a load curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// What the curve says; its limits are those asked for, in their order.
    pub answers: Answers,
    /// Load and throughput of each step.
    pub points: Vec<Point>,
    /// The steps themselves, in the order they ran; of a curve over rates, those at a rate.
    pub steps: Vec<LoadPoint>,
    /// Of a curve over rates.
    pub rates: Option<Rates>,
}

/// The load curve that a record's steps make, over rates where its question says so and else over depths; `None` with fewer
/// than two loads.
pub fn curve(record: &Record, limits: &[LatencyGoal]) -> Option<Curve> {
    let mut curve = match record.started.question {
        Some(Question::Curve { over: LoadAxis::Rate, .. }) => over_rates(record, limits),
        _ => over_depths(record, limits),
    }?;
    curve.answers.remarks.extend(unsupported(&curve.steps, limits));
    Some(curve)
}

/// What to say of percentiles that the smallest of some steps cannot support.
pub fn unsupported<'a>(steps: impl IntoIterator<Item = &'a LoadPoint>, goals: &[LatencyGoal]) -> Vec<String> {
    let Some(smallest) = steps.into_iter().min_by_key(|step| step.response.moments.count) else {
        return Vec::new();
    };
    let fewest = smallest.response.moments.count;
    let remark = |goal: &LatencyGoal| {
        let (needs, statistic) = (smallest.needs(goal.quantile?)?, goal.statistic());
        Some(format!(
            "{statistic} is n/a (needs n ≥ {needs} operations a step, one has {fewest}): with fewer none lies beyond it, and the largest latency stands for it"
        ))
    };
    goals.iter().filter_map(remark).collect()
}

fn over_rates(record: &Record, limits: &[LatencyGoal]) -> Option<Curve> {
    let (mut full_speed, mut offered) = (Vec::new(), Vec::new());
    for step in &record.steps {
        let Some(finished) = &step.finished else { continue };
        let Some(point) = LoadPoint::of(&step.started.step, &finished.streams) else { continue };
        match rate(&step.started.step) {
            Some(rate) => offered.push((rate, point)),
            None => full_speed.push((slots(&step.started.step), point)),
        }
    }
    rates::curve(&full_speed, offered, queues::of(record), limits)
}

fn over_depths(record: &Record, limits: &[LatencyGoal]) -> Option<Curve> {
    let found: Vec<(Option<f64>, LoadPoint)> = record
        .steps
        .iter()
        .filter_map(|step| {
            let point = LoadPoint::of(&step.started.step, &step.finished.as_ref()?.streams)?;
            Some((depth(&step.started.step), point))
        })
        .collect();
    let loads: Vec<f64> = found.iter().map(|(depth, point)| load(*depth, point, &found)).collect();
    let (steps, points): (Vec<LoadPoint>, Vec<Point>) = found
        .into_iter()
        .zip(loads)
        .filter(|(_, n)| *n > 0.0)
        .map(|((_, point), n)| (Point { n, x: point.rate }, point))
        .map(|(load, point)| (point, load))
        .unzip();
    if points.iter().all(|point| Some(point.n) == points.first().map(|first| first.n)) {
        return None;
    }
    let means: Vec<f64> =
        limits.iter().filter(|goal| goal.quantile.is_none()).map(|goal| goal.limit.as_secs_f64()).collect();
    let mut found = answers(&points, None, Weighting::Relative, &means, SEED);
    let mut of_means = found.latency_limits.into_iter();
    found.latency_limits = limits
        .iter()
        .filter_map(|goal| match goal.quantile {
            None => of_means.next(),
            // No law says how percentiles grow: they are read off.
            Some(_) => {
                let latencies: Vec<f64> = steps.iter().map(|step| step.latency_s(goal)).collect();
                let limit_s = goal.limit.as_secs_f64();
                let off = |latency_s| half_bucket_s(latency_s, limit_s);
                let limit = measured_limit(&points, &latencies, Statistic::Quantile, &off, limit_s);
                Some(LatencyLimit { quantile: goal.quantile, ..limit })
            }
        })
        .collect();
    Some(Curve { answers: found, points, steps, rates: None })
}

/// The queue slots that a step asks to be kept busy; `None` in an open loop.
fn depth(step: &Step) -> Option<f64> {
    let is_closed = loading(step).all(|stream| matches!(stream.pacing, Pacing::Closed { .. }));
    is_closed.then(|| slots(step))
}

/// The load of a step: its queue slots, where they were kept busy; else what all steps of that depth held on average, since they
/// are measurements of one load; in an open loop what it held itself.
fn load(depth: Option<f64>, point: &LoadPoint, all: &[(Option<f64>, LoadPoint)]) -> f64 {
    let Some(slots) = depth else { return point.held };
    let held: Vec<f64> =
        all.iter().filter(|(other, _)| *other == Some(slots)).map(|(_, point)| point.held).collect();
    if held.iter().all(|held| *held >= FULL_SHARE * slots) {
        slots
    } else {
        held.iter().sum::<f64>() / held.len() as f64
    }
}

fn loading(step: &Step) -> impl Iterator<Item = &Stream> {
    step.streams.iter().filter(|stream| stream.engine.kind.adds_up())
}

/// Operations that all workers of a step keep in flight together.
pub(crate) fn slots(step: &Step) -> f64 {
    loading(step).map(|stream| stream.workers.len() as f64 * f64::from(stream.queue_depth)).sum()
}

/// Operations per second that come due in a step; `None` where a stream goes at full speed.
pub(crate) fn rate(step: &Step) -> Option<f64> {
    let of = |stream: &Stream| match stream.pacing {
        Pacing::Open { rate, .. } => Some(rate),
        Pacing::Closed { .. } => None,
    };
    loading(step).map(of).sum()
}
