//! When the jobs will be done, as fio reckons it: from the share of what a job is to move and has moved, from its `runtime`, and
//! of jobs that have not begun from what they are held to. Knows bounds and sums, nothing of how they are shown.

use fathom_schema::{
    Interval, OperationKind, Pacing, Passes, Phase, Quota, Reach, Step, Stream, TimeLimit, VerifySchedule,
};
use fathom_units::Nanos;
use std::collections::BTreeMap;

/// What fio's documents say where nobody can tell (`INT_MAX`).
pub(super) const UNKNOWN_S: u64 = 2_147_483_647;

/// How far the jobs are.
#[derive(Debug)]
pub(super) struct Outlook {
    steps: Vec<StepAhead>,
    /// By step and stream.
    done: BTreeMap<(u32, u32), Done>,
    /// The step and the number of the interval that came last.
    now: (u32, u64),
}

#[derive(Debug)]
struct StepAhead {
    streams: Vec<Bounds>,
    /// Whether the first that ends ends the others.
    first_ends_all: bool,
}

/// What one stream is to do.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Bounds {
    bytes: Option<f64>,
    operations: Option<f64>,
    seconds: Option<f64>,
    /// Before it moves anything that is measured.
    lead_s: f64,
    /// What it is held to, per second.
    rate: Option<f64>,
    /// Whether it ends with others, whatever its own bounds are.
    follows: bool,
}

/// What one stream has done.
#[derive(Debug, Clone, Copy, Default)]
struct Done {
    bytes: f64,
    operations: f64,
    start: Nanos,
    end: Nanos,
    measured: Nanos,
    sequence: u64,
}

impl Outlook {
    pub(super) fn of(steps: &[Step]) -> Self {
        let step = |step: &Step| StepAhead {
            streams: step.streams.iter().map(Bounds::of).collect(),
            first_ends_all: step.streams.iter().any(|stream| stream.control.at_end != Reach::Nothing),
        };
        Self { steps: steps.iter().map(step).collect(), done: BTreeMap::new(), now: (0, 0) }
    }

    /// Takes in what a stream did.
    pub(super) fn add(&mut self, interval: &Interval) {
        let Interval { step, stream, sequence, start, end, phase, .. } = interval;
        let first = Done { start: *start, ..Done::default() };
        let done = self.done.entry((*step, *stream)).or_insert(first);
        for kind in &interval.tally.kinds {
            done.bytes += kind.bytes as f64;
            if *phase == Phase::Measure && kind.kind != OperationKind::Sync {
                done.operations += kind.operations as f64;
            }
        }
        done.end = done.end.max(*end);
        if *phase == Phase::Measure {
            done.measured = done.measured.after(end.since(*start));
        }
        done.sequence = *sequence;
        self.now = self.now.max((*step, *sequence));
    }

    /// Seconds that are left; `None` where nobody can tell.
    pub(super) fn left_s(&self) -> Option<f64> {
        let (step, sequence) = self.now;
        let now = self.steps.get(step as usize)?;
        let of_stream = |(stream, bounds): (u32, &Bounds)| match self.done.get(&(step, stream)) {
            _ if bounds.follows => Some(0.0),
            // Intervals come in turn: one that is two behind gives no more of them.
            Some(done) if done.sequence + 1 < sequence => Some(0.0),
            Some(done) => bounds.left_s(done),
            None => Some(bounds.guess_s()),
        };
        let running = now.joined((0..).zip(&now.streams).map(of_stream))?;
        let later = self.steps.iter().skip(step as usize + 1);
        let ahead = later.map(|step| step.joined(step.streams.iter().map(|bounds| Some(bounds.guess_s()))));
        Some(running + ahead.sum::<Option<f64>>()?)
    }
}

impl StepAhead {
    /// The time of all from that of each, as far as it is known.
    fn joined(&self, each: impl Iterator<Item = Option<f64>>) -> Option<f64> {
        if self.first_ends_all {
            return each.flatten().reduce(f64::min);
        }
        each.collect::<Option<Vec<f64>>>().map(|each| each.into_iter().fold(0.0, f64::max))
    }
}

impl Bounds {
    fn of(stream: &Stream) -> Self {
        let limits = &stream.limits;
        let quota = |quota: Quota| if let Quota::AtMost(most) = quota { Some(most as f64) } else { None };
        let workers = stream.workers.len() as f64;
        let passes = match limits.passes {
            Passes::Endless => None,
            Passes::Counted { count, bytes, at_least } => Some(
                stream
                    .workers
                    .iter()
                    .map(|plan| {
                        let extents = plan.extents.iter().map(|extent| extent.length.0);
                        let pass = bytes.min(extents.fold(0, u64::saturating_add));
                        (count as f64 * pass as f64).max(at_least as f64)
                    })
                    .sum::<f64>(),
            ),
        };
        let bytes = smaller(quota(limits.bytes).map(|bytes| bytes * workers), passes);
        let rate = match stream.pacing {
            Pacing::Open { rate, .. } => Some(rate * mean_size(stream)),
            Pacing::Closed { .. } => None,
        };
        Self {
            bytes: bytes.map(|bytes| bytes * (1.0 + share_read_back(stream))),
            operations: quota(limits.operations).map(|operations| operations * workers),
            seconds: match limits.time {
                TimeLimit::Unbounded => None,
                TimeLimit::Nanoseconds(most) => Some(Nanos(most).as_secs_f64()),
            },
            lead_s: stream.start_delay.after(stream.ramp).as_secs_f64(),
            rate,
            follows: !stream.control.ends_with.is_empty(),
        }
    }

    /// Of one that runs.
    fn left_s(&self, done: &Done) -> Option<f64> {
        let share =
            |total: Option<f64>, done: f64| total.map(|total| if total > 0.0 { done / total } else { 1.0 });
        let shares = [share(self.bytes, done.bytes), share(self.operations, done.operations)];
        let share = shares.into_iter().flatten().fold(0.0, f64::max).min(1.0);
        let elapsed = done.end.since(done.start).as_secs_f64();
        let by_work = (share > 0.0).then(|| elapsed / share - elapsed);
        let lead = if done.measured == Nanos::ZERO { self.lead_s - done.end.as_secs_f64() } else { 0.0 };
        let by_time =
            self.seconds.map(|seconds| (seconds - done.measured.as_secs_f64()).max(0.0) + lead.max(0.0));
        smaller(by_work, by_time)
    }

    /// Of one that has not begun: 0 where nothing is known, as with fio.
    fn guess_s(&self) -> f64 {
        let by_rate =
            self.bytes.zip(self.rate).filter(|(_, rate)| *rate > 0.0).map(|(bytes, rate)| bytes / rate);
        smaller(by_rate, self.seconds).map_or(0.0, |seconds| seconds + self.lead_s)
    }
}

fn smaller(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// How much is read back of what is moved.
fn share_read_back(stream: &Stream) -> f64 {
    match stream.workload.verification.rule() {
        Some(rule) if rule.writes && rule.schedule != VerifySchedule::Never => {
            let cases = &stream.workload.cases;
            let all: f64 = cases.iter().map(|case| case.weight).sum();
            let writes = cases.iter().filter(|case| case.kind == OperationKind::Write);
            writes.map(|case| case.weight).sum::<f64>() / all
        }
        _ => 0.0,
    }
}

/// Bytes of an operation on average.
fn mean_size(stream: &Stream) -> f64 {
    let cases = &stream.workload.cases;
    let all: f64 = cases.iter().map(|case| case.weight).sum();
    let size = |case: &fathom_schema::Case| {
        f64::midpoint(f64::from(case.size.smallest()), f64::from(case.size.largest())) * case.weight
    };
    cases.iter().map(size).sum::<f64>() / all
}

#[cfg(test)]
mod tests {
    use super::{Bounds, Done, Outlook, StepAhead};
    use fathom_units::Nanos;
    use std::collections::BTreeMap;

    fn done(bytes: f64, seconds: u64, sequence: u64) -> Done {
        let end = Nanos::secs(seconds);
        Done { bytes, operations: bytes / 100.0, start: Nanos::ZERO, end, measured: end, sequence }
    }

    /// Seconds that are left of these streams, of which the first have done something, and of the steps behind them.
    fn left(streams: &[Bounds], done: &[Done], later: &[Bounds], first_ends_all: bool) -> Option<f64> {
        let now = StepAhead { streams: streams.to_vec(), first_ends_all };
        let later = later.iter().map(|bounds| StepAhead { streams: vec![*bounds], first_ends_all: false });
        let last = done.iter().map(|done| done.sequence).max().unwrap_or(0);
        let done: BTreeMap<_, _> = (0..).zip(done).map(|(stream, done)| ((0, stream), *done)).collect();
        Outlook { steps: std::iter::once(now).chain(later).collect(), done, now: (0, last) }.left_s()
    }

    #[test]
    fn what_is_left_follows_from_what_is_done() {
        let sized = Bounds { bytes: Some(8000.0), ..Bounds::default() };
        let timed = Bounds { seconds: Some(10.0), ..Bounds::default() };
        let both = Bounds { bytes: Some(8000.0), seconds: Some(4.0), ..Bounds::default() };
        let counted = Bounds { operations: Some(80.0), ..Bounds::default() };
        let held = Bounds { rate: Some(1000.0), lead_s: 2.0, ..sized };
        let (quarter, none) = (done(2000.0, 3, 2), done(0.0, 3, 2));
        for (streams, of, later, expect) in [
            (vec![sized], vec![quarter], vec![], Some(9.0)),
            (vec![counted], vec![quarter], vec![], Some(9.0)),
            (vec![timed], vec![none], vec![], Some(7.0)),
            (vec![both], vec![quarter], vec![], Some(1.0)),
            // Nothing is moved yet, and nothing else bounds it.
            (vec![sized], vec![none], vec![], None),
            (vec![sized, timed], vec![quarter, quarter], vec![], Some(9.0)),
            // The first is at its end.
            (vec![sized, timed], vec![done(2000.0, 1, 0), quarter], vec![], Some(7.0)),
            // Not begun: held to a rate, or nothing is known.
            (vec![timed, held], vec![none], vec![], Some(10.0)),
            (vec![timed, sized], vec![none], vec![], Some(7.0)),
            (vec![sized], vec![quarter], vec![timed, held], Some(29.0)),
        ] {
            assert_eq!(left(&streams, &of, &later, false), expect, "{streams:?} {of:?} {later:?}");
        }
        assert_eq!(left(&[sized, timed], &[quarter, quarter], &[], true), Some(7.0));
        // One that has no bounds of its own.
        let endless = Bounds::default();
        assert_eq!(left(&[timed, endless], &[quarter, quarter], &[], false), None);
        assert_eq!(left(&[timed, endless], &[quarter, quarter], &[], true), Some(7.0));
        let follows = Bounds { follows: true, ..endless };
        assert_eq!(left(&[timed, follows], &[quarter, quarter], &[], false), Some(7.0));
    }
}
