//! Whether a condition that ends the run holds: each interval of a step is looked at as it comes, all streams together; a percentile is over as
//! many as it takes to tell it. Only what is measured is looked at; a ramp ends nothing.

use fathom_metrics::{Latency, merge_kind, merge_tally, operations_for};
use fathom_schema::{
    Bound, BoundFigure, Condition, Interval, KindTally, LatencyTally, OperationKind, Phase, StreamTally,
};
use fathom_units::Nanos;

/// The conditions of a step, and since when each of them holds.
#[derive(Debug)]
pub(crate) struct Watch {
    conditions: Vec<Watched>,
    /// Of each stream, whether all of them together are made of it too.
    adds_up: Vec<bool>,
    /// Per stream of the step, the number after that of the last interval that came.
    next: Vec<u64>,
    /// What workers did in intervals that were looked at without them (`late`, ADR 6): it counts with the next one. By
    /// itself it is a few operations of one worker, whose rate and percentiles say nothing of the step.
    carried: StreamTally,
    /// The interval that is not whole: its number, and the streams of it that came.
    pending: Option<Pending>,
}

#[derive(Debug)]
struct Watched {
    condition: Condition,
    /// For how long it has held.
    held: Nanos,
    /// Failed operations that it is about, since the step began to measure: they are counted up.
    errors: f64,
    /// What was done since it was looked at last, and in what time: a percentile takes operations of which one lies beyond it.
    gathered: StreamTally,
    gathered_in: Nanos,
}

#[derive(Debug)]
struct Pending {
    sequence: u64,
    start: Nanos,
    end: Nanos,
    tally: StreamTally,
    came: usize,
}

impl Watch {
    /// `adds_up`: of each stream, whether all of them together are made of it too.
    pub(crate) fn new(conditions: &[Condition], adds_up: Vec<bool>) -> Self {
        let watched = |&condition: &Condition| Watched {
            condition,
            held: Nanos::ZERO,
            errors: 0.0,
            gathered: StreamTally::default(),
            gathered_in: Nanos::ZERO,
        };
        Self {
            conditions: conditions.iter().map(watched).collect(),
            next: vec![0; adds_up.len()],
            adds_up,
            carried: StreamTally::default(),
            pending: None,
        }
    }

    /// Takes the next interval of a stream; why the run is to end, when it is.
    pub(crate) fn interval(&mut self, interval: &Interval) -> Option<String> {
        let is_meant = interval.phase == Phase::Measure && self.adds_up[interval.stream as usize];
        if self.conditions.is_empty() || !is_meant {
            return None;
        }
        let next = &mut self.next[interval.stream as usize];
        if interval.sequence < *next {
            merge_tally(&mut self.carried, &interval.tally);
            return None;
        }
        *next = interval.sequence + 1;
        // A stream that lags behind the others is looked at with what comes next.
        let is_next = self.pending.as_ref().is_some_and(|pending| interval.sequence > pending.sequence);
        let before = if is_next { self.finish() } else { None };
        let pending = self.pending.get_or_insert_with(|| Pending {
            sequence: interval.sequence,
            start: interval.start,
            end: interval.end,
            tally: StreamTally::default(),
            came: 0,
        });
        pending.start = pending.start.min(interval.start);
        pending.end = pending.end.max(interval.end);
        pending.came += 1;
        merge_tally(&mut pending.tally, &interval.tally);
        let is_whole = pending.came >= self.adds_up.iter().filter(|adds_up| **adds_up).count();
        if before.is_none() && is_whole { self.finish() } else { before }
    }

    /// Looks at what came of the last interval.
    pub(crate) fn finish(&mut self) -> Option<String> {
        let Pending { start, end, mut tally, .. } = self.pending.take()?;
        merge_tally(&mut tally, &std::mem::take(&mut self.carried));
        let length = end.since(start);
        let mut reason = None;
        for watched in &mut self.conditions {
            let Some((found, time)) = watched.look(&tally, length) else { continue };
            let Watched { condition, held, .. } = watched;
            *held = match found {
                Some(found) if condition.bound.holds(found) => held.after(time),
                _ => Nanos::ZERO,
            };
            if let Some(found) = found
                && *held > Nanos::ZERO
                && *held >= condition.hold
                && reason.is_none()
            {
                let found = condition.bound.print(found);
                let when = if time > length {
                    format!("the {} that ended", time.approximate())
                } else {
                    "the interval that ended".to_owned()
                };
                reason = Some(format!("{condition}: {found} in {when} after {}", end.approximate()));
            }
        }
        reason
    }
}

impl Watched {
    /// Looks at what was done in a time: the figure, and in what time it was found; `None` as long as there is too little for one.
    fn look(&mut self, tally: &StreamTally, length: Nanos) -> Option<(Option<f64>, Nanos)> {
        let bound = &self.condition.bound;
        match bound.figure {
            BoundFigure::Quantile(q) => {
                if answered(bound, tally) == 0 {
                    (self.gathered, self.gathered_in) = (StreamTally::default(), Nanos::ZERO);
                    return Some((None, length));
                }
                merge_tally(&mut self.gathered, tally);
                self.gathered_in = self.gathered_in.after(length);
                if !is_told(bound, q, &self.gathered) {
                    return None;
                }
                let (tally, time) =
                    (std::mem::take(&mut self.gathered), std::mem::take(&mut self.gathered_in));
                Some((figure(bound, &tally, time), time))
            }
            BoundFigure::Errors => {
                self.errors += figure(bound, tally, length).unwrap_or(0.0);
                Some((Some(self.errors), length))
            }
            BoundFigure::Iops | BoundFigure::Bandwidth | BoundFigure::Mean | BoundFigure::Max => {
                Some((figure(bound, tally, length), length))
            }
        }
    }
}

/// What all kinds did that a bound is about.
fn merged(bound: &Bound, tally: &StreamTally) -> Option<KindTally> {
    let mut all: Option<KindTally> = None;
    let is_meant = |kind: &KindTally| match bound.kind {
        Some(only) => kind.kind == only,
        None => kind.kind != OperationKind::Sync,
    };
    for kind in tally.kinds.iter().filter(|kind| is_meant(kind)) {
        match &mut all {
            Some(all) => merge_kind(all, kind),
            None => all = Some(kind.clone()),
        }
    }
    all
}

/// From an operation's arrival to its end.
fn response(kind: &KindTally) -> &LatencyTally {
    kind.response.as_ref().unwrap_or(&kind.service)
}

fn answered(bound: &Bound, tally: &StreamTally) -> u64 {
    merged(bound, tally).map_or(0, |all| response(&all).moments.count)
}

/// Whether a percentile is told: there are as many operations as have one beyond it, or two of fewer are above the limit already, so that it will
/// be as well, whatever follows.
fn is_told(bound: &Bound, q: f64, tally: &StreamTally) -> bool {
    let Some(all) = merged(bound, tally) else { return false };
    let count = response(&all).moments.count;
    let second_largest = || Latency::quantile_of(response(&all), 1.0 - 1.5 / count as f64);
    count >= operations_for(q)
        || bound.is_above && count >= 2 && second_largest().is_some_and(|ns| bound.holds(ns as f64 / 1e9))
}

/// The figure of an interval; a latency of no operation is none.
fn figure(bound: &Bound, tally: &StreamTally, length: Nanos) -> Option<f64> {
    let seconds = length.as_secs_f64();
    let per_second = |count: u64| (seconds > 0.0).then(|| count as f64 / seconds);
    let Some(all) = merged(bound, tally) else {
        // Nothing was done: that is no rate, and no error.
        return match bound.figure {
            BoundFigure::Iops | BoundFigure::Bandwidth => per_second(0),
            BoundFigure::Errors => Some(0.0),
            BoundFigure::Mean | BoundFigure::Quantile(_) | BoundFigure::Max => None,
        };
    };
    let response = response(&all);
    let answered = response.moments.count > 0;
    match bound.figure {
        BoundFigure::Iops => per_second(all.operations),
        BoundFigure::Bandwidth => per_second(all.bytes),
        BoundFigure::Errors => Some(all.errors.iter().map(|(_, count)| count).sum::<u64>() as f64),
        BoundFigure::Mean => answered.then(|| response.moments.mean_ns() / 1e9),
        BoundFigure::Max => answered.then(|| response.moments.max_ns as f64 / 1e9),
        BoundFigure::Quantile(q) => Latency::quantile_of(response, q).map(|ns| ns as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_schema::Moments;

    /// One second of a stream: reads at a rate, all of one latency, and errors.
    fn second(stream: u32, sequence: u64, rate: u64, latency: Nanos, errors: u64) -> Interval {
        let mut latencies = Latency::default();
        (0..rate).for_each(|_| latencies.record(latency.0));
        let kind = KindTally {
            kind: OperationKind::Read,
            operations: rate,
            bytes: rate * 4096,
            short: 0,
            data_syncs: 0,
            errors: if errors > 0 { vec![(5, errors)] } else { Vec::new() },
            service: latencies.to_tally(),
            response: None,
            submission: Moments::default(),
            completion: None,
        };
        Interval {
            step: 0,
            stream,
            sequence,
            start: Nanos::secs(sequence),
            end: Nanos::secs(sequence + 1),
            phase: Phase::Measure,
            late: false,
            tally: StreamTally { kinds: vec![kind], ..StreamTally::default() },
        }
    }

    /// The second after which a condition ends a run of these rates, latencies in ms and errors.
    fn ends(condition: &str, seconds: &[(u64, u64, u64)]) -> Option<usize> {
        let mut watch = Watch::new(&[condition.parse().unwrap()], vec![true]);
        let at = |(at, &(rate, ms, errors)): (u64, &(u64, u64, u64))| {
            second(0, at, rate, Nanos::millis(ms), errors)
        };
        (0..).zip(seconds).map(at).position(|interval| watch.interval(&interval).is_some()).map(|at| at + 1)
    }

    #[test]
    fn a_condition_has_to_hold_without_a_gap() {
        let fast = (1000, 1, 0);
        let slow = (100, 20, 0);
        let check = |condition: &str, seconds: &[(u64, u64, u64)], expect: Option<usize>| {
            assert_eq!(ends(condition, seconds), expect, "{condition} on {seconds:?}");
        };
        check("p99 > 10ms", &[fast, slow], Some(2));
        check("p99 > 10ms for 3s", &[slow, slow, fast, slow, slow, slow, slow], Some(6));
        check("p99 > 10ms for 3s", &[slow, slow, fast, slow, slow], None);
        check("iops < 500 for 2s", &[fast, slow, slow], Some(3));
        check("iops < 100 for 2s", &[slow, slow, slow], None);
        check("iops < 1", &[fast, (0, 0, 0)], Some(2));
        // No operation has no latency: it neither holds nor goes on holding.
        check("read.max > 10ms for 2s", &[slow, (0, 0, 0), slow], None);
        check("errors > 0", &[fast, (10, 1, 1)], Some(2));
        check("errors > 2", &[(10, 1, 2), fast, (10, 1, 1)], Some(3));
        check("write.errors > 0", &[fast, (10, 1, 1)], None);
        check("bandwidth < 1MB/s", &[fast, slow], Some(2));
        // A percentile takes as many operations as have one beyond it.
        let one_slow = [fast, (1, 20, 0), fast];
        // Of 10,000 one may be slow: the second comes in the fifth second.
        check("p99.99 > 10ms", &one_slow, None);
        check("p99.99 > 10ms", &one_slow.repeat(6), Some(5));
        check("p99.9 > 10ms", &one_slow, None);
        check("p99.99 < 10ms", &[fast; 12], Some(10));
        check("p99.99 < 10ms", &[fast; 9], None);
        // Two that are slow are more than there may be of so many: a device that hardly does anything is not waited for.
        check("p99.99 > 10ms", &[fast, (2, 20, 0)], Some(2));
        check("p99.99 > 10ms for 3s", &[(10, 20, 0); 4], Some(3));
        check("p99.99 > 10ms for 3s", &[(10, 20, 0), (10, 20, 0), (0, 0, 0), (10, 20, 0), (10, 20, 0)], None);
    }

    #[test]
    fn streams_are_looked_at_together_and_ramps_are_not() {
        let condition = ["iops < 150".parse().unwrap()];
        let mut watch = Watch::new(&condition, vec![true, true]);
        let at = |stream: u32, sequence: u64, rate: u64| second(stream, sequence, rate, Nanos::millis(1), 0);
        let mut ramp = at(0, 0, 1);
        ramp.phase = Phase::Ramp;
        assert_eq!(watch.interval(&ramp), None);
        assert_eq!(watch.interval(&at(0, 1, 100)), None, "the other stream is still to come");
        assert_eq!(watch.interval(&at(1, 1, 100)), None, "200 together");
        assert_eq!(watch.interval(&at(0, 2, 100)), None);
        // The other stream has ended: the next interval says so.
        let reason = watch.interval(&at(0, 3, 100)).expect("100 of 150");
        assert_eq!(reason, "IOPS < 150: 100 in the interval that ended after 3.00 s");
        assert!(watch.finish().is_some(), "the last interval is looked at as well");
    }

    /// A worker that hung in one operation brings its part of an interval after the others were looked at.
    #[test]
    fn what_comes_late_counts_and_is_no_interval_of_its_own() {
        let conditions = ["iops < 150", "p50 > 10ms", "errors > 2"].map(|text| text.parse().unwrap());
        let mut watch = Watch::new(&conditions, vec![true]);
        let late = |sequence: u64, errors: u64| Interval {
            late: true,
            ..second(0, sequence, 2, Nanos::millis(900), errors)
        };
        for sequence in 0..4 {
            assert_eq!(watch.interval(&second(0, sequence, 200, Nanos::millis(1), 0)), None);
            assert_eq!(watch.interval(&late(sequence, 1)), None, "{sequence}");
            if sequence == 2 {
                let reason = watch.interval(&second(0, 3, 200, Nanos::millis(1), 0)).expect("three errors");
                assert!(reason.starts_with("errors > 2: 3 "), "{reason}");
                break;
            }
        }
        // One that covers several edges is the only word on them.
        let mut watch = Watch::new(&conditions, vec![true]);
        let whole = Interval { late: true, end: Nanos::secs(3), ..second(0, 0, 300, Nanos::millis(1), 0) };
        assert!(watch.interval(&whole).is_some_and(|reason| reason.starts_with("IOPS < 150: 100 ")));
    }

    #[test]
    fn a_stream_that_keeps_cpus_busy_is_left_out() {
        let mut watch = Watch::new(&["mean > 10ms".parse().unwrap()], vec![true, false]);
        for sequence in 0..3 {
            assert_eq!(watch.interval(&second(0, sequence, 10, Nanos::millis(1), 0)), None);
            assert_eq!(watch.interval(&second(1, sequence, 100, Nanos::millis(60), 0)), None);
        }
        assert!(
            watch.interval(&second(0, 3, 10, Nanos::millis(20), 0)).is_some(),
            "the load's own are looked at"
        );
    }
}
