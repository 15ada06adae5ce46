//! Whether the steps of a run keep thresholds.

use crate::load::{self, LoadPoint};
use crate::objective::exceeds_clearly;
use crate::pts;
use fathom_schema::{
    Bound, BoundFigure, LatencyGoal, OperationKind, Pacing, Question, Record, Step, Stop, Stream,
    StreamTotals, Threshold, TimeLimit,
};
use fathom_units::Nanos;

/// A threshold and what was found in one step.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// The step's name.
    pub step: String,
    /// The threshold.
    pub threshold: Threshold,
    /// What it was judged by.
    pub found: Found,
    /// Whether it is kept.
    pub verdict: Verdict,
    /// Operations that its percentile takes, where the step has fewer: the largest latency stands for it then.
    pub needs: Option<u64>,
    /// Share of all arrivals that still waited when the time was up, 0 to 1, where they are why it is undecided.
    pub waiting: Option<f64>,
}

/// Whether a threshold is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It is.
    Kept,
    /// Its percentile takes more operations than there were, and these do not show beyond chance that it is broken.
    TooFew,
    /// What was done keeps it, and arrivals that still waited when the time was up would break it, done as fast as those before.
    Undecided,
    /// It is not, or there is nothing to judge it by.
    Breached,
}

impl Verdict {
    /// Name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::TooFew => "too_few",
            Self::Undecided => "undecided",
            Self::Breached => "breached",
        }
    }
}

/// The figure of a threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Found {
    /// Per second, seconds or a count.
    Figure(f64),
    /// No operation that it is about was completed.
    NoOperations,
    /// The step has no end: it was killed, or still goes on.
    NoEnd,
    /// Arrivals that were not done, this share of all, 0 to 1, show by themselves that it is beyond the limit.
    NotDone(f64),
}

impl Found {
    /// The figure, where there is one.
    pub const fn figure(self) -> Option<f64> {
        match self {
            Self::Figure(figure) => Some(figure),
            Self::NoOperations | Self::NoEnd | Self::NotDone(_) => None,
        }
    }
}

/// Every threshold of a run on every step; one that measured nothing keeps none. Steps of a PTS test that prepare its targets
/// measure nothing that is asked about, nor do its loads that are done again because they were cut off or empty, nor
/// those of an objective that offer no rate. Of rounds that have to become steady the figures are those of the measurement
/// window, and so are the thresholds; errors alone count in all rounds. Arrivals that were dropped, or had waited for longer
/// than a limit when the time was up, are beyond it: a latency is not kept by leaving out what was late. `None` where the run has no thresholds.
pub fn thresholds(record: &Record) -> Option<Vec<Kept>> {
    let thresholds = record.thresholds();
    let windows = if thresholds.is_empty() { Vec::new() } else { pts::windows(record) };
    let is_in_window = |step: &fathom_schema::StepRecord| {
        let place = pts::Place::of(&step.started.step);
        let of_part = place.and_then(|place| Some((place, windows.get(place.part)?.as_ref()?)));
        of_part.is_none_or(|(place, window)| window.contains(&place.round))
    };
    let is_measured = |step: &&fathom_schema::StepRecord| match &record.started.question {
        Some(Question::Steady(question)) => {
            let is_cut = step.finished.as_ref().is_none_or(|finished| finished.stop == Stop::Interrupted);
            !is_cut
                && !pts::is_conditioning(question, &step.started.step)
                && pts::repeated(record, step).is_none()
        }
        // At full speed an objective only looks what there is to try.
        Some(Question::Objective { .. }) => load::rate(&step.started.step).is_some(),
        _ => true,
    };
    let is_scan = matches!(record.started.question, Some(Question::Scan(_)));
    let each = |step: &fathom_schema::StepRecord| -> Vec<Kept> {
        let is_in_window = is_in_window(step);
        thresholds
            .iter()
            .filter(|threshold| is_in_window || is_of_errors(threshold))
            .map(|&threshold| {
                let kind = match threshold {
                    Threshold::Bound(bound) => bound.kind,
                    _ => None,
                };
                let finished = step.finished.as_ref();
                let undone = finished.map(|finished| Undone::of(&step.started.step, &finished.streams, kind));
                let undone = undone.unwrap_or_default();
                let point = finished
                    .and_then(|finished| LoadPoint::of_kind(&step.started.step, &finished.streams, kind));
                let needs = point.as_ref().zip(quantile(&threshold)).and_then(|(point, q)| point.needs(q));
                let (found, verdict) = match &point {
                    Some(point) if undone.breaks(&threshold, point, Until::End) => {
                        (Found::NotDone(undone.share()), Verdict::Breached)
                    }
                    Some(point) => {
                        let late = undone.beyond(&threshold, Until::End);
                        let (figure, is_kept) = judged(point, &threshold, late);
                        let verdict = match needs {
                            // What a scan has read is all there is, and no sample of more.
                            Some(_) if !is_scan && !is_told(point, &threshold, is_kept) => Verdict::TooFew,
                            _ if is_kept && !undone.may_keep(&threshold, point) => Verdict::Undecided,
                            _ if is_kept => Verdict::Kept,
                            _ => Verdict::Breached,
                        };
                        (Found::Figure(figure), verdict)
                    }
                    None if finished.is_none() => (Found::NoEnd, Verdict::Breached),
                    None => (Found::NoOperations, Verdict::Breached),
                };
                let waiting = (verdict == Verdict::Undecided).then(|| undone.share_waiting());
                Kept { step: step.started.step.name.clone(), threshold, found, verdict, needs, waiting }
            })
            .collect()
    };
    (!thresholds.is_empty()).then(|| record.steps.iter().filter(is_measured).flat_map(each).collect())
}

fn is_of_errors(threshold: &Threshold) -> bool {
    matches!(
        threshold,
        Threshold::ErrorsBelow(_) | Threshold::Bound(Bound { figure: BoundFigure::Errors, .. })
    )
}

fn quantile(threshold: &Threshold) -> Option<f64> {
    match threshold {
        Threshold::Latency(goal) => goal.quantile,
        Threshold::Bound(Bound { figure: BoundFigure::Quantile(q), .. }) => Some(*q),
        _ => None,
    }
}

/// Whether operations that are too few for the percentile of a threshold tell all the same whether it is kept: where so many lie
/// beyond an upper limit as chance does not bring. That it is below one they cannot show.
fn is_told(point: &LoadPoint, threshold: &Threshold, is_kept: bool) -> bool {
    let (quantile, limit_s) = match threshold {
        Threshold::Latency(goal) => (goal.quantile, goal.limit.as_secs_f64()),
        // The largest of all is not below what a percentile is.
        Threshold::Bound(Bound { is_above: true, .. }) => return !is_kept,
        Threshold::Bound(Bound { figure: BoundFigure::Quantile(q), limit, .. }) => (Some(*q), *limit),
        _ => return true,
    };
    !is_kept && exceeds_clearly(point, quantile, limit_s, 1.0)
}

/// What the streams of a step left undone of what arrives, each with a rate of its own.
#[derive(Debug, Clone, Default)]
struct Undone(Vec<OfStream>);

/// Arrivals of one stream: of one kind, its share of them, or of all.
#[derive(Debug, Clone, Copy)]
struct OfStream {
    /// Whether they arrive, and are not what a queue lets go.
    arrives: bool,
    /// Operations that were done, those that failed among them.
    done: f64,
    /// Still waited when the time was up.
    waiting: f64,
    /// Were given up.
    dropped: f64,
    /// For how long those that waited had done so by then.
    so_far: Waits,
    /// How long they would take, were they done as fast as those before.
    yet: Waits,
}

/// How long those that wait do so, seconds: evenly from one to the other.
#[derive(Debug, Clone, Copy)]
struct Waits {
    least_s: f64,
    most_s: f64,
}

/// Up to when those that wait are looked at.
#[derive(Debug, Clone, Copy)]
enum Until {
    /// When the time was up.
    End,
    /// When they would be done.
    Done,
}

impl Waits {
    /// The share of them that wait for longer, 0 to 1.
    fn beyond(self, limit_s: f64) -> f64 {
        let Self { least_s, most_s } = self;
        match limit_s {
            limit if limit < least_s => 1.0,
            limit if limit < most_s => (most_s - limit) / (most_s - least_s),
            _ => 0.0,
        }
    }

    fn mean_s(self) -> f64 {
        f64::midpoint(self.least_s, self.most_s)
    }
}

impl OfStream {
    /// `None` where the stream does nothing of that kind.
    fn new(stream: &Stream, totals: &StreamTotals, kind: Option<OperationKind>) -> Option<Self> {
        let (mut done, mut meant) = (0.0, 0.0);
        let (mut waiting, mut dropped) = (0.0, 0.0);
        let (mut window_s, mut oldest_s) = (0.0_f64, 0.0_f64);
        let (mut late, mut in_flight_s) = (0.0, 0.0);
        for worker in &totals.workers {
            for of_kind in worker.tally.kinds.iter().filter(|of| of.kind != OperationKind::Sync) {
                let failed: u64 = of_kind.errors.iter().map(|(_, count)| count).sum();
                let count = (of_kind.operations + failed) as f64;
                done += count;
                meant += if kind.is_none_or(|kind| kind == of_kind.kind) { count } else { 0.0 };
            }
            window_s = window_s.max(worker.end.since(worker.start).as_secs_f64());
            waiting += worker.waiting as f64;
            dropped += worker.tally.arrivals_dropped as f64;
            late += worker.tally.arrivals_late as f64;
            in_flight_s += worker.tally.in_flight_ns / 1e9;
            // Nothing came due and nothing was issued while what was in flight completed behind the time that was asked for.
            let behind = match stream.limits.time {
                TimeLimit::Nanoseconds(time) => worker.end.since(worker.start.after(Nanos(time))),
                TimeLimit::Unbounded => Nanos::ZERO,
            };
            oldest_s = oldest_s.max(worker.oldest_waiting.since(behind).as_secs_f64());
        }
        let share = if done > 0.0 { meant / done } else { share_of(stream, kind) };
        let rate = done.max(1.0) / window_s.max(f64::MIN_POSITIVE);
        // Those that wait for a slot came late, and all slots are in use then; else there were slots, and the worker had not come to
        // them. Each is done when those before it are (Little 1961: W = L ÷ λ).
        let slots = f64::from(stream.queue_depth) * stream.workers.len() as f64;
        let in_flight = if late >= waiting { slots } else { in_flight_s / window_s.max(f64::MIN_POSITIVE) };
        let in_queue_s = in_flight / rate;
        let (oldest, last) = (oldest_s + in_queue_s, waiting / rate + in_queue_s);
        (share > 0.0).then(|| Self {
            arrives: matches!(stream.pacing, Pacing::Open { .. }),
            done: done * share,
            waiting: waiting * share,
            dropped: dropped * share,
            so_far: Waits { least_s: 0.0, most_s: oldest_s },
            yet: Waits { least_s: oldest.min(last), most_s: oldest.max(last) },
        })
    }

    fn waits(&self, until: Until) -> Waits {
        match until {
            Until::End => self.so_far,
            Until::Done => self.yet,
        }
    }
}

/// The share of a kind among operations of which none was done: that of each that there may be. Syncs do not arrive.
fn share_of(stream: &Stream, kind: Option<OperationKind>) -> f64 {
    let mut kinds = OperationKind::ALL.into_iter().filter(|kind| *kind != OperationKind::Sync);
    let Some(kind) = kind else { return 1.0 };
    let may = |kind: &OperationKind| stream.workload.may_issue(*kind);
    let count = kinds.by_ref().filter(may).count();
    if kind != OperationKind::Sync && may(&kind) { 1.0 / count.max(1) as f64 } else { 0.0 }
}

impl Undone {
    /// Of one kind of operations, or of all. Each kind is taken to have its share of what its stream left; syncs do not arrive.
    fn of(step: &Step, streams: &[StreamTotals], kind: Option<OperationKind>) -> Self {
        if kind == Some(OperationKind::Sync) {
            return Self::default();
        }
        let planned = step.streams.iter().zip(streams).enumerate();
        let added = planned.filter(|(index, _)| step.adds_up(*index));
        Self(added.filter_map(|(_, (stream, totals))| OfStream::new(stream, totals, kind)).collect())
    }

    fn sum(&self, of: impl Fn(&OfStream) -> f64) -> f64 {
        self.0.iter().map(of).sum()
    }

    fn all(&self) -> f64 {
        self.sum(|of| of.waiting + of.dropped + of.done).max(1.0)
    }

    fn share(&self) -> f64 {
        self.sum(|of| of.waiting + of.dropped) / self.all()
    }

    /// Of all that arrived.
    fn share_waiting(&self) -> f64 {
        let all = |of: &OfStream| if of.arrives { of.waiting + of.dropped + of.done } else { 0.0 };
        self.sum(|of| of.waiting) / self.sum(all).max(1.0)
    }

    /// The share of all that is beyond a limit: what was given up, and of what waits those who wait for longer.
    fn beyond(&self, threshold: &Threshold, until: Until) -> f64 {
        let Some((_, limit_s)) = upper(threshold) else { return 0.0 };
        self.sum(|of| of.dropped + of.waiting * of.waits(until).beyond(limit_s)) / self.all()
    }

    /// Whether they alone show that an upper limit of a latency is not kept.
    fn breaks(&self, threshold: &Threshold, point: &LoadPoint, until: Until) -> bool {
        let Some((of, limit_s)) = upper(threshold) else { return false };
        let beyond = self.beyond(threshold, until);
        match of {
            Latest::Quantile(q) => beyond > 0.0 && q > 1.0 - beyond,
            Latest::Max => beyond > 0.0,
            Latest::Mean => {
                // What was given up has no end.
                let (done, waiting) = (self.sum(|of| of.done), self.sum(|of| of.waiting));
                let waited = self.sum(|of| of.waiting * of.waits(until).mean_s());
                let sum = done * point.mean_s + waited;
                self.sum(|of| of.dropped) > 0.0 || waiting > 0.0 && sum > limit_s * (done + waiting)
            }
        }
    }

    /// Whether a threshold that is kept by what was done would be so with those that still wait.
    fn may_keep(&self, threshold: &Threshold, point: &LoadPoint) -> bool {
        let late = self.beyond(threshold, Until::Done);
        !self.breaks(threshold, point, Until::Done) && judged(point, threshold, late).1
    }
}

/// What a latency is, as far as the latest of them go.
enum Latest {
    Quantile(f64),
    Mean,
    Max,
}

/// The latency that a threshold bounds from above, and its limit in seconds.
fn upper(threshold: &Threshold) -> Option<(Latest, f64)> {
    match threshold {
        Threshold::Latency(goal) => {
            Some((goal.quantile.map_or(Latest::Mean, Latest::Quantile), goal.limit.as_secs_f64()))
        }
        Threshold::Bound(Bound { is_above: false, figure, limit, .. }) => match figure {
            BoundFigure::Quantile(q) => Some((Latest::Quantile(*q), *limit)),
            BoundFigure::Mean => Some((Latest::Mean, *limit)),
            BoundFigure::Max => Some((Latest::Max, *limit)),
            BoundFigure::Iops | BoundFigure::Bandwidth | BoundFigure::Errors => None,
        },
        _ => None,
    }
}

/// The figure of a threshold, and whether it is kept, where such a share of all is late beyond the latencies there are.
fn judged(point: &LoadPoint, threshold: &Threshold, late: f64) -> (f64, bool) {
    let of_done = |q: f64| (q / (1.0 - late)).min(1.0);
    match threshold {
        Threshold::IopsAbove(least) => (point.rate, point.rate >= *least),
        Threshold::IopsBelow(most) => (point.rate, point.rate <= *most),
        Threshold::BandwidthAbove(least) => (point.bytes_per_s, point.bytes_per_s >= *least),
        Threshold::Latency(goal) => {
            let quantile = goal.quantile.map(of_done);
            let found = point.latency_s(&LatencyGoal { quantile, ..*goal });
            (found, found <= goal.limit.as_secs_f64())
        }
        Threshold::Bound(bound) => {
            let found = match bound.figure {
                BoundFigure::Iops => point.rate,
                BoundFigure::Bandwidth => point.bytes_per_s,
                BoundFigure::Mean => point.mean_s,
                BoundFigure::Quantile(q) => {
                    let q = if bound.is_above { q } else { of_done(q) };
                    point.quantile_s(q, bound.limit)
                }
                BoundFigure::Max => point.response.moments.max_ns as f64 / 1e9,
                BoundFigure::Errors => point.errors as f64,
            };
            (found, bound.holds(found) || found == bound.limit && bound.figure != BoundFigure::Errors)
        }
        Threshold::ErrorsBelow(most) => (point.errors as f64, point.errors < *most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{StreamShape, push, record};

    #[test]
    fn what_was_not_measured_is_neither_zero_nor_kept() {
        let shape = StreamShape::default();
        let mut record = record(std::slice::from_ref(&shape));
        push(&mut record, &[StreamShape { rates: vec![(OperationKind::Read, 0)], ..shape.clone() }], 1);
        push(&mut record, &[shape], 2);
        record.steps[2].finished = None;
        assert_eq!(thresholds(&record), None, "nothing was asked");
        record.started.thresholds =
            ["p99<1s", "iops<1k", "errors<1"].map(|text| text.parse().expect("a bound")).to_vec();
        let all = thresholds(&record).expect("they were asked for");
        let found: Vec<Option<f64>> = all.iter().map(|one| one.found.figure()).collect();
        assert!(found[..3].iter().all(Option::is_some), "{all:#?}");
        assert!(found[3..].iter().all(Option::is_none), "{all:#?}");
        assert_eq!((all[3].found, all[6].found), (Found::NoOperations, Found::NoEnd));
        assert!(all[3..].iter().all(|one| one.verdict == Verdict::Breached), "{all:#?}");
        // As version 0.1 wrote them.
        let bounds = std::mem::take(&mut record.started.thresholds);
        record.started.question = Some(Question::Thresholds { thresholds: bounds });
        assert_eq!(thresholds(&record), Some(all));
        // Of a kind that did nothing, while others did.
        let thresholds_of = "write.p99<1s".parse().expect("a bound");
        record.started.question = Some(Question::Thresholds { thresholds: vec![thresholds_of] });
        assert_eq!(thresholds(&record).expect("it was asked for")[0].found, Found::NoOperations);
    }

    #[test]
    fn a_figure_at_its_limit_keeps_it() {
        let of = |bound: &str| {
            let rates = vec![(OperationKind::Read, 1000)];
            let mut all = record(&[StreamShape { rates, ..StreamShape::default() }]);
            all.started.thresholds = vec![bound.parse().expect("a bound")];
            thresholds(&all).expect("one was asked for")[0].clone()
        };
        let rate = of("iops<1").found.figure().expect("it was measured");
        for name in ["iops", "read.iops"] {
            for sign in ["<", "<=", ">", ">="] {
                assert_eq!(of(&format!("{name}{sign}{rate}")).verdict, Verdict::Kept, "{name}{sign}{rate}");
            }
        }
    }

    /// Of 800 operations of 1 ms none is the p99.999.
    #[test]
    fn too_few_operations_keep_no_percentile() {
        let of = |count: u64, bound: &str| {
            let shape = StreamShape { rates: vec![(OperationKind::Read, count)], ..StreamShape::default() };
            let mut all = record(&[shape]);
            let worker = &mut all.steps[0].finished.as_mut().expect("it has an end").streams[0].workers[0];
            let tally = crate::sample::latency(1e6, count);
            (worker.tally.kinds[0].service, worker.tally.kinds[0].response) = (tally, None);
            all.started.thresholds = vec![bound.parse().expect("a bound")];
            let [kept] = &thresholds(&all).expect("one was asked for")[..] else {
                panic!("there is one step")
            };
            (kept.verdict, kept.needs)
        };
        assert_eq!(of(800, "p99.999<40ms"), (Verdict::TooFew, Some(100_000)));
        // All of them are beyond it.
        assert_eq!(of(800, "p99.999<0.5ms"), (Verdict::Breached, Some(100_000)));
        assert_eq!(of(800, "p99<40ms"), (Verdict::Kept, None));
        assert_eq!(of(800, "p99<0.5ms"), (Verdict::Breached, None));
        assert_eq!(of(800, "mean<40ms"), (Verdict::Kept, None));
    }

    /// Of 1,000 arrivals in a second so many are done in 1 ms each, so many fail, and so many are given up; the others wait for so long.
    fn of_arrivals(done: u64, failed: u64, dropped: u64, oldest: Nanos, bound: &str) -> (Verdict, Found) {
        let (course, backlog) = (Vec::new(), fathom_schema::Backlog::Keep);
        let arrival = fathom_schema::Arrival::Constant;
        let pacing = fathom_schema::Pacing::Open { rate: 1000.0, arrival, course, backlog };
        let rates = vec![(OperationKind::Read, done)];
        let mut all = record(&[StreamShape { rates, pacing, ..StreamShape::default() }]);
        let worker = &mut all.steps[0].finished.as_mut().expect("it has an end").streams[0].workers[0];
        let seconds = worker.end.since(worker.start).0 / 1_000_000_000;
        let kind = &mut worker.tally.kinds[0];
        (kind.operations, kind.response) = (done * seconds, None);
        kind.service = crate::sample::latency(1e6, done * seconds);
        kind.errors.extend((failed > 0).then_some((5, failed * seconds)));
        (worker.tally.arrivals, worker.tally.arrivals_dropped) = (1000 * seconds, dropped * seconds);
        (worker.waiting, worker.oldest_waiting) = ((1000 - done - failed - dropped) * seconds, oldest);
        worker.tally.arrivals_late = worker.waiting;
        all.started.thresholds = vec![bound.parse().expect("a bound")];
        let found = thresholds(&all).expect("one was asked for");
        (found[0].verdict, found[0].found)
    }

    #[test]
    fn what_was_never_done_took_longer_than_any_limit() {
        let is_kept = |done: u64, dropped: u64, bound: &str| {
            of_arrivals(done, 0, dropped, Nanos::secs(1000), bound).0 == Verdict::Kept
        };
        for bound in ["p50<1s", "p99<1s", "mean<1s", "max<1s"] {
            assert!(is_kept(1000, 0, bound), "{bound}");
        }
        // Half of them wait at the end, or were given up.
        for (done, dropped) in [(500, 0), (500, 500)] {
            assert!(is_kept(done, dropped, "p49<1s"));
            for bound in ["p51<1s", "p99<1s", "mean<1s", "max<1s"] {
                let (verdict, found) = of_arrivals(done, 0, dropped, Nanos::secs(1000), bound);
                let Found::NotDone(share) = found else { panic!("{bound}: {found:?}") };
                assert!(verdict == Verdict::Breached && (share - 0.5).abs() < 1e-9, "{bound}: {share}");
            }
            assert!(is_kept(done, dropped, "p99>0.5ms") && is_kept(done, dropped, "iops>400"));
        }
        // One in two hundred was given up: of those that were done the p99 of all is the p99.497.
        assert!(is_kept(995, 5, "p99<1s") && !is_kept(995, 5, "p99.9<1s") && !is_kept(995, 5, "mean<1s"));
    }

    #[test]
    fn what_was_done_or_waits_for_less_than_a_limit_is_not_beyond_it() {
        for bound in ["p99<1s", "mean<1s", "max<1s"] {
            // One in ten failed at once; one in twenty waits, the oldest for a quarter of a second.
            assert_eq!(of_arrivals(900, 100, 0, Nanos::ZERO, bound).0, Verdict::Kept, "{bound}");
            assert_eq!(of_arrivals(950, 0, 0, Nanos::millis(250), bound).0, Verdict::Kept, "{bound}");
        }
        // Of those half are beyond an eighth of a second: 2.5 % of all, and all of them once they are done.
        assert_eq!(of_arrivals(950, 0, 0, Nanos::millis(250), "p94<125ms").0, Verdict::Kept);
        assert_eq!(of_arrivals(950, 0, 0, Nanos::millis(250), "p97<125ms").0, Verdict::Undecided);
        assert_eq!(of_arrivals(950, 0, 0, Nanos::millis(250), "p98<125ms").0, Verdict::Breached);
        // A twentieth of 125 ms on average, and 1 ms of the others: 7.2 ms. When all are done those of a twentieth wait for
        // 254 to 531 ms, behind the four in flight: 20.57 ms.
        assert_eq!(of_arrivals(950, 0, 0, Nanos::millis(250), "mean<20.6ms").0, Verdict::Kept);
        assert_eq!(of_arrivals(950, 0, 0, Nanos::millis(250), "mean<20.5ms").0, Verdict::Undecided);
        assert_eq!(of_arrivals(950, 0, 0, Nanos::millis(250), "mean<7.1ms").0, Verdict::Breached);
    }

    /// At twice what a device does, 10 s: half of all still wait, the oldest for 5 s and the last for another 10.
    #[test]
    fn what_still_waits_at_the_end_of_an_overload_leaves_it_open_up_to_its_own_wait() {
        let of = |bound: &str| of_arrivals(500, 0, 0, Nanos::secs(5), bound).0;
        for (bound, verdict) in [
            ("p49<5s", Verdict::Kept),
            ("p99<1s", Verdict::Breached),
            ("p99<5s", Verdict::Undecided),
            ("p99<9.89s", Verdict::Undecided),
            ("p99<9.91s", Verdict::Kept),
            ("max<9.9s", Verdict::Undecided),
            ("max<10.1s", Verdict::Kept),
            ("p99>0.5ms", Verdict::Kept),
        ] {
            assert_eq!(of(bound), verdict, "{bound}");
        }
    }

    /// Reads come at 900/s and are all done; of writes come 1,300/s, of which 1,000 are: what waits is theirs alone, and is done as
    /// fast as they are.
    #[test]
    fn what_waits_is_of_its_own_stream() {
        let open = |rate: f64| {
            let (course, backlog) = (Vec::new(), fathom_schema::Backlog::Keep);
            fathom_schema::Pacing::Open { rate, arrival: fathom_schema::Arrival::Constant, course, backlog }
        };
        let shape = |kind, done: u64, rate| StreamShape {
            rates: vec![(kind, done)],
            pacing: open(rate),
            ..StreamShape::default()
        };
        let shapes = [shape(OperationKind::Read, 900, 900.0), shape(OperationKind::Write, 1000, 1300.0)];
        let of = |bound: &str| {
            let mut all = record(&shapes);
            let streams = &mut all.steps[0].finished.as_mut().expect("it has an end").streams;
            for stream in streams.iter_mut() {
                let kind = &mut stream.workers[0].tally.kinds[0];
                (kind.service, kind.response) = (crate::sample::latency(1e6, kind.operations), None);
            }
            let worker = &mut streams[1].workers[0];
            (worker.waiting, worker.oldest_waiting) = (3000, Nanos::millis(2308));
            worker.tally.arrivals_late = 3000;
            all.started.thresholds = vec![bound.parse().expect("a bound")];
            thresholds(&all).expect("one was asked for")[0].verdict
        };
        for (bound, verdict) in [
            ("read.p99<3ms", Verdict::Kept),
            ("read.max<11ms", Verdict::Kept),
            // 23 % of them wait, the last for 3 s.
            ("write.p99<2.9s", Verdict::Undecided),
            ("write.p99<3s", Verdict::Kept),
            ("write.p99<1s", Verdict::Breached),
            ("p99<2.9s", Verdict::Undecided),
            ("p99<3s", Verdict::Kept),
        ] {
            assert_eq!(of(bound), verdict, "{bound}");
        }
    }

    /// At 1,500/s on a device that does 1,000, with 2,000 in flight at the end: the last of all comes behind these and the 3,000 that
    /// wait.
    #[test]
    fn what_waits_comes_behind_what_is_in_flight() {
        let of = |waiting: u64, late: u64, bound: &str| {
            let (course, backlog) = (Vec::new(), fathom_schema::Backlog::Keep);
            let arrival = fathom_schema::Arrival::Constant;
            let pacing = fathom_schema::Pacing::Open { rate: 1500.0, arrival, course, backlog };
            let rates = vec![(OperationKind::Read, 1000)];
            let mut all =
                record(&[StreamShape { rates, pacing, queue_depth: 2000, ..StreamShape::default() }]);
            let worker = &mut all.steps[0].finished.as_mut().expect("it has an end").streams[0].workers[0];
            let kind = &mut worker.tally.kinds[0];
            (kind.service, kind.response) = (crate::sample::latency(1e6, kind.operations), None);
            (worker.waiting, worker.oldest_waiting) = (waiting, Nanos::secs(2 * u64::from(waiting > 1)));
            (worker.tally.arrivals_late, worker.tally.in_flight_ns) = (late, 1e10);
            all.started.thresholds = vec![bound.parse().expect("a bound")];
            thresholds(&all).expect("one was asked for")[0].verdict
        };
        assert_eq!(of(3000, 3000, "max<4.9s"), Verdict::Undecided);
        assert_eq!(of(3000, 3000, "max<5.1s"), Verdict::Kept);
        // One that came due as the time was up, with slots free for it: it takes as long as the others.
        assert_eq!(of(1, 0, "max<100ms"), Verdict::Kept);
    }

    #[test]
    fn a_load_of_a_test_that_is_done_again_breaks_no_threshold() {
        let shape = StreamShape::default();
        let empty = StreamShape { rates: vec![(OperationKind::Read, 0)], ..shape.clone() };
        let of = |loads: &[&StreamShape], last: Stop| {
            let mut all = record(&[loads[0].clone()]);
            for (load, index) in loads.iter().zip(0..).skip(1) {
                push(&mut all, &[(*load).clone()], index);
            }
            for step in &mut all.steps {
                step.started.step.parameters = pts::Place::default().parameters("");
            }
            all.steps.last_mut().and_then(|step| step.finished.as_mut()).expect("it has an end").stop = last;
            all.started.question = Some(Question::Steady(xsr()));
            all.started.thresholds = vec!["iops>1".parse().expect("a bound")];
            let all = thresholds(&all).expect("one was asked for");
            all.iter().map(|one| one.verdict == Verdict::Kept).collect::<Vec<_>>()
        };
        assert_eq!(of(&[&empty, &shape], Stop::Complete), [true], "the empty one was run again");
        assert_eq!(of(&[&empty, &empty], Stop::Complete), [false], "as empty again: it ended the test");
        assert_eq!(of(&[&shape, &empty], Stop::Interrupted), [true], "the last one was cut");
        assert_eq!(of(&[&shape, &shape], Stop::Complete), [true, true]);
    }

    /// Rounds that are on their way to the steady state prepare for it.
    #[test]
    fn rounds_before_the_window_keep_and_break_nothing() {
        let question = fathom_schema::SteadyQuestion { test: fathom_schema::SteadyTest::Latency, ..xsr() };
        let flow = pts::Flow::of(&question);
        let (part, cells) = flow
            .parts
            .iter()
            .enumerate()
            .find_map(|(index, part)| match &part.kind {
                pts::PartKind::Rounds(rounds) => Some((index, rounds.cells.len())),
                _ => None,
            })
            .expect("it has rounds");
        // Parts come in their order, and none is left out.
        let before = (0..part).map(|part| (pts::Place { part, round: 0, cell: 0 }, 1));
        let of_rounds = |rates: &'static [u64]| {
            let rounds = rates.iter().enumerate();
            rounds.flat_map(move |(round, &rate)| {
                (0..cells).map(move |cell| (pts::Place { part, round, cell }, rate))
            })
        };
        let kept = |rates: &'static [u64], bound: &str| {
            let loads: Vec<(pts::Place, u64)> = before.clone().chain(of_rounds(rates)).collect();
            let shape = |rate: u64| StreamShape {
                rates: vec![(OperationKind::Read, rate)],
                ..StreamShape::default()
            };
            let mut all = record(&[shape(loads[0].1)]);
            for ((_, rate), index) in loads.iter().zip(0..).skip(1) {
                push(&mut all, &[shape(*rate)], index);
            }
            for (step, (place, _)) in all.steps.iter_mut().zip(&loads) {
                step.started.step.parameters = place.parameters("");
            }
            all.started.question = Some(Question::Steady(question.clone()));
            all.started.thresholds = vec![bound.parse().expect("a bound")];
            let all = thresholds(&all).expect("one was asked for");
            (all.len(), all.iter().filter(|one| one.verdict == Verdict::Kept).count())
        };
        let slow_first: &[u64] = &[100, 150, 200, 200, 200, 200, 200];
        assert_eq!(kept(slow_first, "iops>180"), (5 * cells, 5 * cells), "five rounds are the window");
        assert_eq!(kept(slow_first, "iops>210"), (5 * cells, 0));
        assert_eq!(kept(slow_first, "errors<1"), (7 * cells, 7 * cells), "an error is one in any round");
        // Of one that did not become steady they are the last five.
        assert_eq!(kept(&[100, 200, 100, 200, 100, 200], "iops>150"), (5 * cells, 3 * cells));
    }

    fn xsr() -> fathom_schema::SteadyQuestion {
        use fathom_schema::{DeviceClass, SteadyQuestion, SteadyTest, TrimBy};
        SteadyQuestion {
            test: SteadyTest::Xsr,
            class: DeviceClass::Enterprise,
            haste: 6000,
            targets: Vec::new(),
            size: None,
            engine: None,
            direct: None,
            purge: false,
            purge_by: TrimBy::Discard,
            purged_before: None,
            block_min: 512,
            has_histogram: true,
            has_operating_points: true,
            active_percent: 100,
            part: None,
            resumed: None,
        }
    }
}
