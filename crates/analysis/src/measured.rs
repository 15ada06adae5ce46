//! What one stream of a step measured, whether the step ended or was killed. Owns the choice of the window that rates
//! refer to; does not judge the figures.

use fathom_metrics::merge_tally;
use fathom_schema::{
    Interval, OperationKind, Pacing, Phase, StepRecord, Stream, StreamTally, Think, TimeLimit, WorkerTotals,
};
use fathom_units::Nanos;
use std::collections::BTreeMap;

/// What one stream measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// All workers' measure phases merged.
    pub tally: StreamTally,
    /// Earliest start of a worker's measure phase, since the step's start.
    pub start: Nanos,
    /// Latest end of a worker's measure phase, since the step's start.
    pub end: Nanos,
    /// Until when operations were in flight, since the step's start: `end`, unless that is the end of a sync of all that was written.
    pub loaded_until: Nanos,
    /// Per worker; empty when the step was killed, since nothing but intervals was kept then.
    pub workers: Vec<WorkerTotals>,
    /// Queue slots integrated over the time their workers measured, in slot-nanoseconds.
    pub slot_ns: f64,
    /// Operations in flight integrated over the time in which their workers issued some, and no more than there were slots for:
    /// those of a ramp that were still in flight when the last that counts had completed are beyond it.
    pub held_ns: f64,
    /// Until when any worker issued operations, since the step's start: from then on to `end` the queue runs empty.
    pub issued_until: Nanos,
    /// Queue slots that were idle while the queue ran empty, integrated over that time, in slot-nanoseconds; 0 also where that is
    /// not known.
    pub emptied_ns: f64,
    /// Whether a rate sets the load, and not the queue.
    pub is_open: bool,
    /// True when the step never finished: figures are sums over its intervals, up to `end`.
    pub partial: bool,
}

impl Measured {
    /// From the first worker's start to the last one's end: what rates of the stream refer to.
    pub fn window(&self) -> Nanos {
        self.end.since(self.start)
    }

    /// The same without a sync at the end.
    pub fn load_window(&self) -> Nanos {
        self.loaded_until.since(self.start)
    }

    /// Mean queue depth held over all workers together, as long as they issued operations: that a queue runs empty behind the
    /// last of them is no depth that was not held.
    pub fn depth_held(&self) -> f64 {
        let issuing = self.issued_until.since(self.start).0;
        if issuing == 0 { 0.0 } else { self.held_ns / issuing as f64 }
    }

    /// Operations that were to be in flight, over all workers: those asked for, or as many as were found to keep a latency.
    pub fn queue_depth(&self, stream: &Stream) -> u64 {
        if self.workers.is_empty() {
            return u64::from(stream.queue_depth) * stream.workers.len() as u64;
        }
        let depth = |worker: &WorkerTotals| worker.depth.map_or(stream.queue_depth, |found| found.depth);
        self.workers.iter().map(|worker| u64::from(depth(worker))).sum()
    }

    /// Whether the search for a depth that keeps a latency came to its end, where there was one: else the search itself is what was
    /// measured.
    pub fn depth_is_settled(&self) -> Option<bool> {
        self.workers
            .iter()
            .filter_map(|worker| worker.depth)
            .map(|found| found.is_settled)
            .reduce(|a, b| a && b)
    }

    /// Sum of all service times, in nanoseconds.
    pub fn service_ns(&self) -> f64 {
        self.tally.kinds.iter().map(|kind| kind.service.moments.sum_ns).sum()
    }

    /// Little's ratio: (throughput × mean service time) ÷ L, that is the sum of service times ÷ the time that they were in
    /// flight. (Little 1961, L = λ·W.) In a closed loop L is what was asked for, the queue slots: 1 when every slot was busy all
    /// the time. At a rate it is the mean number in flight, integrated over time apart from the service times: 1 when both
    /// were counted right. Operations that failed are in both, with the time that they took. Those that began within the window
    /// and ended after it are in both until they ended, those that began before it in neither. `None` where nothing
    /// was in flight, and where most of what was had begun before: so few operations say nothing. Worked value: 10,000 operations of 0.9 ms in 1 s are 9 s; on 10 slots that is 0.9, and at a rate, with 9
    /// in flight on average, 1.
    pub fn little_ratio(&self) -> Option<f64> {
        let took_ns = self.service_ns() + self.tally.failed_ns;
        let all_ns = if self.is_open { self.tally.in_flight_ns } else { self.slot_ns };
        let in_flight_ns = self.tally.outside_ns + all_ns;
        (in_flight_ns > all_ns * OWN_SHARE_MIN && took_ns > 0.0).then(|| took_ns / in_flight_ns)
    }

    /// The least that Little's ratio may be where the window ended with its last operation: of those that had begun before it, how
    /// long they were in flight after its end is not known.
    pub fn little_ratio_least(&self) -> Option<f64> {
        let all_ns = if self.is_open { self.tally.in_flight_ns } else { self.slot_ns };
        let in_flight_ns = self.tally.outside_ns.max(0.0) + all_ns;
        self.little_ratio().map(|_| (self.service_ns() + self.tally.failed_ns) / in_flight_ns)
    }

    /// Arrivals that had come due at the end and were not issued, and for how long the oldest of them had waited.
    pub fn left_waiting(&self) -> (u64, Nanos) {
        let count = self.workers.iter().map(|worker| worker.waiting).sum();
        (count, self.workers.iter().map(|worker| worker.oldest_waiting).max().unwrap_or_default())
    }

    /// Share of its window that the busiest worker was on a CPU, 0 to 1; of all workers together when the step was
    /// killed.
    pub fn cpu_share_max(&self, worker_count: usize) -> f64 {
        let share = |cpu_ns: u64, window: Nanos| {
            if window.0 == 0 { 0.0 } else { cpu_ns as f64 / window.0 as f64 }
        };
        if self.workers.is_empty() {
            return share(self.tally.cpu_ns, self.window()) / worker_count.max(1) as f64;
        }
        self.workers
            .iter()
            .map(|worker| share(worker.user_ns + worker.system_ns, worker.end.since(worker.start)))
            .fold(0.0, f64::max)
    }

    /// Of the worker that would have used most of its window, had it had a CPU whenever it wanted one: the share that it was
    /// on one, and the share that it waited; of those that these shares make meant. `None` where there is none, and when the step was
    /// killed.
    pub fn cpu_contended(&self, is_meant: impl Fn(f64, f64) -> bool) -> Option<(f64, f64)> {
        let shares = self.workers.iter().filter_map(|worker| {
            let window = worker.end.since(worker.start).0;
            let share = |ns: u64| ns as f64 / window as f64;
            (window > 0).then(|| (share(worker.user_ns + worker.system_ns), share(worker.runnable_ns)))
        });
        let waiting = shares.filter(|(on, waited)| is_meant(*on, *waited));
        waiting.max_by(|(on, waited), (other_on, other)| (on + waited).total_cmp(&(other_on + other)))
    }
}

/// Share of what was in flight in a window that has to have begun in it for Little's ratio to be of it.
const OWN_SHARE_MIN: f64 = 0.5;

/// Operations that count in IOPS: all but synchronising ones.
pub fn operations(tally: &StreamTally) -> u64 {
    tally.kinds.iter().filter(|kind| kind.kind != OperationKind::Sync).map(|kind| kind.operations).sum()
}

/// A stream whose last interval ends so many intervals before that of another, or earlier, has ended or does nothing; less
/// far behind, what it did since was not stored.
const BEHIND_MAX: u64 = 2;

/// Until when all streams of a step that was cut off are stored, since its start: streams hand their intervals over one after
/// another, and what some have beyond would stand for a time in which others are missing. `None` of a step that finished, and
/// where nothing is stored. A stream that ended off the edge of an interval, or when its time was up, ended by itself.
pub fn stored_until(step: &StepRecord) -> Option<Nanos> {
    if step.finished.is_some() {
        return None;
    }
    let length = step.started.step.interval.0.max(1);
    let mut ends = vec![Nanos::ZERO; step.started.step.streams.len()];
    for interval in &step.intervals {
        let end = ends.get_mut(interval.stream as usize);
        end.into_iter().for_each(|end| *end = interval.end.max(*end));
    }
    let last = ends.iter().copied().max().filter(|last| last.0 > 0)?;
    let ended = ended(step);
    let is_cut = |(end, ended): &(Nanos, bool)| {
        !ended && last.since(*end).0 <= length.saturating_mul(BEHIND_MAX) && end.0.is_multiple_of(length)
    };
    let cut = ends.into_iter().zip(ended).filter(|(end, _)| end.0 > 0).filter(is_cut);
    Some(cut.map(|(end, _)| end).min().unwrap_or(last))
}

/// Whether each stream of a step that was cut off had ended before: its time was up, or it ends with streams that had ended.
fn ended(step: &StepRecord) -> Vec<bool> {
    let streams = &step.started.step.streams;
    // That of the measure phase, without what was read back between two rounds.
    let mut covered_ns = vec![0_u64; streams.len()];
    for interval in step.intervals.iter().filter(|interval| interval.phase == Phase::Measure) {
        if let Some(covered_ns) = covered_ns.get_mut(interval.stream as usize) {
            *covered_ns += interval.end.since(interval.start).0;
        }
    }
    let is_up = |(stream, covered_ns): (&Stream, u64)| matches!(stream.limits.time, TimeLimit::Nanoseconds(time) if time <= covered_ns);
    let mut ended: Vec<bool> = streams.iter().zip(covered_ns).map(is_up).collect();
    // In turn, since some end with others that end with others.
    while let Some(next) = (0..streams.len()).find(|&at| {
        let with = &streams[at].control.ends_with;
        !ended[at] && !with.is_empty() && with.iter().all(|&other| ended.get(other as usize) == Some(&true))
    }) {
        ended[next] = true;
    }
    ended
}

/// What each stream of a step measured, in plan order: its totals when the step finished, else the sum of its measure
/// intervals, up to [`stored_until`].
pub fn measured(step: &StepRecord) -> Vec<Measured> {
    let streams = &step.started.step.streams;
    let backlogs = backlogs(step);
    match &step.finished {
        Some(finished) => streams
            .iter()
            .enumerate()
            .map(|(index, stream)| {
                let workers =
                    finished.streams.get(index).map_or_else(Vec::new, |totals| totals.workers.clone());
                from_workers(stream, workers, backlogs.get(index).copied().unwrap_or_default())
            })
            .collect(),
        None => {
            let until = stored_until(step).unwrap_or_default();
            // A sum of many intervals lacks too little of them to be left out whole.
            let is_sum =
                |interval: &Interval| interval.end.since(interval.start) > step.started.step.interval;
            let counts = |interval: &Interval| {
                interval.phase == Phase::Measure && (interval.end <= until || is_sum(interval))
            };
            let mut by_stream: Vec<Vec<&Interval>> = vec![Vec::new(); streams.len()];
            for interval in &step.intervals {
                let slot = by_stream.get_mut(interval.stream as usize);
                if let Some(slot) = slot.filter(|_| counts(interval)) {
                    slot.push(interval);
                }
            }
            streams
                .iter()
                .zip(by_stream)
                .map(|(stream, intervals)| from_intervals(stream, &intervals))
                .collect()
        }
    }
}

/// What those streams of a step measured that all of them together are made of.
pub fn added_up(step: &StepRecord) -> Vec<Measured> {
    let adds_up = step.started.step.streams.iter().map(|stream| stream.engine.kind.adds_up());
    measured(step).into_iter().zip(adds_up).filter_map(|(found, adds_up)| adds_up.then_some(found)).collect()
}

fn is_open(stream: &Stream) -> bool {
    matches!(stream.pacing, Pacing::Open { .. })
}

/// The most that waited in any interval of each stream: in all its workers, each in its own moment. Pieces of an interval that came
/// late hold what waited in workers that the others say nothing of.
fn backlogs(step: &StepRecord) -> Vec<u64> {
    let mut sums: Vec<BTreeMap<u64, u64>> = vec![BTreeMap::new(); step.started.step.streams.len()];
    let waited = |interval: &&Interval| interval.phase == Phase::Measure && interval.tally.backlog_max > 0;
    for interval in step.intervals.iter().filter(waited) {
        if let Some(sums) = sums.get_mut(interval.stream as usize) {
            *sums.entry(interval.sequence).or_default() += interval.tally.backlog_max;
        }
    }
    sums.into_iter().map(|sums| sums.into_values().max().unwrap_or_default()).collect()
}

/// `backlog`: the most that waited in an interval.
fn from_workers(stream: &Stream, workers: Vec<WorkerTotals>, backlog: u64) -> Measured {
    let mut tally = StreamTally::default();
    let (mut slot_ns, mut held_ns, mut emptied_ns) = (0.0, 0.0, 0.0);
    let start = workers.iter().map(|worker| worker.start).min().unwrap_or_default();
    let end = workers.iter().map(|worker| worker.end).max().unwrap_or_default();
    let loaded = |worker: &WorkerTotals| Nanos(worker.end.since(worker.synced).0.max(worker.start.0));
    let loaded_until = workers.iter().map(loaded).max().unwrap_or_default();
    let last_issued =
        workers.iter().map(|worker| worker.emptied.map_or_else(|| loaded(worker), |end| end.since)).max();
    // Operations that all went out at the beginning held the queue for as long as they took, and a pause is no end.
    let issues_long = last_issued.is_some_and(|last| last.since(start).0 >= loaded_until.since(start).0 / 2);
    let is_steady = matches!(stream.pacing, Pacing::Closed { think: Think::None });
    let issued_until = last_issued.filter(|_| issues_long && is_steady).unwrap_or(loaded_until);
    let emptied = |worker: &WorkerTotals| worker.emptied.filter(|_| issues_long && is_steady);
    for worker in &workers {
        merge_tally(&mut tally, &worker.tally);
        // Where a latency was to be kept, the queue was to be as deep as was found to keep it.
        let depth = worker.depth.map_or(stream.queue_depth, |found| found.depth);
        let window_ns = loaded(worker).since(worker.start).0 as f64;
        slot_ns += window_ns * f64::from(depth);
        let most = window_ns * f64::from(stream.queue_depth.max(depth));
        held_ns += worker.tally.in_flight_ns.min(most);
        if let Some(end) = emptied(worker) {
            let (all_ns, in_flight_ns) = (loaded(worker).since(end.since).0 as f64, end.in_flight_ns as f64);
            emptied_ns += (all_ns * f64::from(depth) - in_flight_ns).max(0.0);
            // What one held that had issued its last, while others went on, is of the time in which they did.
            let behind_ns = loaded(worker).since(end.since.max(issued_until)).0 as f64;
            held_ns -= in_flight_ns * behind_ns / all_ns.max(1.0);
        }
    }
    // The most of each added up is no less; what is left at the end waited at once.
    let most: u64 = workers.iter().map(|worker| worker.tally.backlog_max.max(worker.waiting)).sum();
    let left: u64 = workers.iter().map(|worker| worker.waiting).sum();
    let known = if backlog == 0 { most } else { backlog.min(most) };
    tally.backlog_max = known.max(tally.backlog_max).max(left);
    let is_open = is_open(stream);
    Measured {
        tally,
        start,
        end,
        loaded_until,
        workers,
        slot_ns,
        held_ns,
        issued_until,
        emptied_ns,
        is_open,
        partial: false,
    }
}

fn from_intervals(stream: &Stream, intervals: &[&Interval]) -> Measured {
    let mut tally = StreamTally::default();
    let mut covered_ns = 0_u64;
    for interval in intervals {
        merge_tally(&mut tally, &interval.tally);
        covered_ns += interval.end.since(interval.start).0;
    }
    let start = intervals.iter().map(|interval| interval.start).min().unwrap_or_default();
    let end = intervals.iter().map(|interval| interval.end).max().unwrap_or_default();
    // What was read back between two rounds is no part of the window.
    let end = end.min(start.after(Nanos(covered_ns)));
    let slots = stream.workers.len() as f64 * f64::from(stream.queue_depth);
    let slot_ns = covered_ns as f64 * slots;
    let held_ns = tally.in_flight_ns.min(slot_ns);
    let (workers, is_open) = (Vec::new(), is_open(stream));
    let (issued_until, loaded_until, emptied_ns) = (end, end, 0.0);
    Measured {
        tally,
        start,
        end,
        loaded_until,
        workers,
        slot_ns,
        held_ns,
        issued_until,
        emptied_ns,
        is_open,
        partial: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{StreamShape, record};

    #[test]
    fn a_killed_step_measures_what_its_intervals_hold() {
        let whole = record(&[StreamShape::default()]);
        let mut killed = whole.clone();
        killed.steps[0].finished = None;
        let (whole, killed) = (&measured(&whole.steps[0])[0], &measured(&killed.steps[0])[0]);
        assert_eq!(operations(&whole.tally), operations(&killed.tally));
        assert_eq!((whole.window(), killed.window()), (Nanos::secs(10), Nanos::secs(10)));
        assert_eq!((whole.partial, killed.partial), (false, true));
        let (left, right) = (whole.little_ratio().unwrap(), killed.little_ratio().unwrap());
        assert!((left - right).abs() < 1e-9, "{left} {right}");
    }

    /// Eight operations of a ramp were in flight when the one that counts went out, and long after it was done.
    #[test]
    fn what_a_ramp_left_in_flight_is_not_of_a_window_of_one_operation() {
        let shape = StreamShape {
            queue_depth: 8,
            rates: vec![(OperationKind::Read, 1)],
            seconds: 1,
            ..StreamShape::default()
        };
        let mut one = record(&[shape]);
        let step = &mut one.steps[0];
        step.intervals.clear();
        let worker = &mut step.finished.as_mut().unwrap().streams[0].workers[0];
        worker.end = worker.start.after(Nanos::micros(1100));
        worker.tally.kinds[0].service.moments.sum_ns = 1.02e6;
        (worker.tally.in_flight_ns, worker.tally.outside_ns) = (9.8e6, -8.77e6);
        let found = &measured(step)[0];
        assert!((found.depth_held() - 8.0).abs() < 1e-9, "{}", found.depth_held());
        assert_eq!(found.little_ratio(), None);
        assert!(found.held_ns < found.tally.in_flight_ns);
        // Fewer of them leave a ratio, which says nothing against the clock.
        let worker = &mut step.finished.as_mut().unwrap().streams[0].workers[0];
        (worker.tally.kinds[0].service.moments.sum_ns, worker.tally.outside_ns) = (5e6, -4e6);
        let found = &measured(step)[0];
        assert!(found.little_ratio().is_some_and(|ratio| ratio > 1.0));
        assert!(found.little_ratio_least().is_some_and(|ratio| ratio < 1.0));
        let invalid = crate::validity::findings(&one).into_iter().find(|one| one.id == "little.accounting");
        assert_eq!(invalid, None);
    }

    /// Streams hand their seconds over one after another: what only some have of the last is in no figure.
    #[test]
    fn a_killed_step_is_summed_over_what_all_streams_have() {
        let shape = |name, rate| StreamShape {
            name,
            rates: vec![(OperationKind::Read, rate)],
            ..StreamShape::default()
        };
        let check = |seconds: [u64; 3], expect: [u64; 3]| {
            let mut killed = record(&[shape("a", 600), shape("b", 100), shape("c", 10)]);
            let step = &mut killed.steps[0];
            step.finished = None;
            step.intervals.retain(|interval| interval.sequence < seconds[interval.stream as usize]);
            let found = measured(step);
            let windows: Vec<Nanos> = found.iter().map(Measured::window).collect();
            assert_eq!(windows, expect.map(Nanos::secs), "{seconds:?}");
            for (found, rate) in found.iter().zip([600, 100, 10]) {
                assert_eq!(operations(&found.tally), rate * found.window().0 / 1_000_000_000, "{seconds:?}");
            }
        };
        check([4, 4, 4], [4, 4, 4]);
        check([4, 5, 5], [4, 4, 4]);
        check([5, 4, 3], [3, 3, 3]);
        // One that is further behind has ended, and one that has nothing has not begun.
        check([9, 8, 4], [8, 8, 4]);
        check([9, 8, 0], [8, 8, 0]);
    }

    #[test]
    fn a_stream_that_ended_by_itself_cuts_no_other() {
        let mut killed =
            record(&[StreamShape::default(), StreamShape { name: "b", ..StreamShape::default() }]);
        let step = &mut killed.steps[0];
        step.finished = None;
        step.intervals.retain(|interval| interval.stream == 0 || interval.sequence < 9);
        let last = step.intervals.iter_mut().rfind(|interval| interval.stream == 1);
        last.expect("it is there").end = Nanos::millis(8_600);
        assert_eq!(stored_until(step), Some(Nanos::secs(10)));
    }

    /// The first stream has a time of 4 s, the others of 10 s.
    #[test]
    fn a_stream_whose_time_was_up_cuts_no_other() {
        let check = |seconds: [u64; 3], begins: u64, expect: u64| {
            let shape = |seconds| StreamShape { seconds, ..StreamShape::default() };
            let mut killed = record(&[shape(4), shape(10), shape(10)]);
            let step = &mut killed.steps[0];
            step.finished = None;
            // It begins later, after a ramp.
            for interval in step.intervals.iter_mut().filter(|interval| interval.stream == 0) {
                interval.start = interval.start.after(Nanos::secs(begins));
                interval.end = interval.end.after(Nanos::secs(begins));
            }
            step.intervals.retain(|interval| interval.end <= Nanos::secs(seconds[interval.stream as usize]));
            assert_eq!(stored_until(step), Some(Nanos::secs(expect)), "{seconds:?} after {begins}");
        };
        check([4, 6, 6], 0, 6);
        check([4, 6, 5], 0, 5);
        check([4, 5, 5], 0, 5);
        check([5, 6, 6], 1, 6);
        // It goes on: what it did since is not stored.
        check([4, 6, 6], 1, 4);
        check([3, 5, 4], 0, 3);
        // Those that end with it have ended, and those that end with those.
        let with = |ends_with: [&[u32]; 3]| {
            let shape = |seconds| StreamShape { seconds, ..StreamShape::default() };
            let mut killed = record(&[shape(4), shape(10), shape(10)]);
            let step = &mut killed.steps[0];
            step.finished = None;
            for (stream, with) in step.started.step.streams.iter_mut().zip(ends_with) {
                stream.control.ends_with = with.to_vec();
            }
            step.intervals
                .retain(|interval| interval.end <= Nanos::secs([4, 4, 6][interval.stream as usize]));
            stored_until(step)
        };
        assert_eq!(with([&[], &[], &[]]), Some(Nanos::secs(4)));
        assert_eq!(with([&[], &[0], &[]]), Some(Nanos::secs(6)));
        assert_eq!(with([&[], &[0, 2], &[]]), Some(Nanos::secs(4)));
    }

    /// Four workers of which each has its own backlog; by worker, and by interval of all of them.
    #[test]
    fn what_waits_in_different_workers_waits_together() {
        let check = |by_worker: [u64; 2], waiting: [u64; 2], by_interval: &[(u64, u64)], expect: u64| {
            let mut of_two = record(&[StreamShape { workers: 2, ..StreamShape::default() }]);
            let step = &mut of_two.steps[0];
            for (at, &(sequence, backlog)) in by_interval.iter().enumerate() {
                (step.intervals[at].sequence, step.intervals[at].tally.backlog_max) = (sequence, backlog);
            }
            let workers = &mut step.finished.as_mut().expect("it ended").streams[0].workers;
            for (worker, (most, waiting)) in workers.iter_mut().zip(by_worker.into_iter().zip(waiting)) {
                (worker.tally.backlog_max, worker.waiting) = (most, waiting);
            }
            assert_eq!(
                measured(step)[0].tally.backlog_max,
                expect,
                "{by_worker:?} {waiting:?} {by_interval:?}"
            );
        };
        check([500, 500], [500, 500], &[(0, 400), (1, 1000)], 1000);
        // Each at another time.
        check([500, 500], [0, 0], &[(0, 510), (1, 505)], 510);
        // Of one interval, in two pieces.
        check([500, 400], [0, 0], &[(0, 500), (0, 400)], 900);
        // Where intervals are not kept apart, or do not have it.
        check([500, 400], [0, 0], &[], 900);
        check([100, 100], [100, 101], &[(0, 190)], 201);
    }

    #[test]
    fn little_ratio_is_one_when_all_slots_are_busy() {
        for (full, expect) in [(1.0, 1.0), (0.9, 0.9), (0.5, 0.5)] {
            let record = record(&[StreamShape { fullness: full, ..StreamShape::default() }]);
            let ratio = measured(&record.steps[0])[0].little_ratio().unwrap();
            assert!((ratio - expect).abs() < 1e-3, "{ratio} for {full}");
        }
    }
}
