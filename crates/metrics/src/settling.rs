//! Streams on their way to a steady state: samples of one length out of their intervals, and whether a window of samples
//! keeps a rule. The rule is fio's (`steadystate`); the same samples are judged while a run goes on and shown afterwards.

use fathom_schema::{Interval, OperationKind, Phase, SteadyFigure, SteadyLimit, SteadyRule, Step};
use fathom_units::Nanos;
use std::collections::{BTreeMap, VecDeque};

/// Figures of one sample, in whole numbers as fio keeps them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SteadySample {
    /// Operations per second, syncs left out.
    pub operations: u64,
    /// Bytes per second.
    pub bytes: u64,
    /// Mean service time, in nanoseconds.
    pub latency_ns: u64,
}

/// The whole part of a figure, but for the least that sums of floats are wrong by: 500 per second are not 499.
fn whole(figure: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts are above 0")]
    let whole = (figure * (1.0 + 1e-12)) as u64;
    whole
}

/// Follows the streams that settle together.
#[derive(Debug, Clone)]
pub struct Settling {
    rule: SteadyRule,
    members: Vec<Member>,
    /// Counts by number of the sample on the step's time line, as far as they have come.
    sums: BTreeMap<u64, Sum>,
    /// Number of the next sample; absent before anything was measured.
    next: Option<u64>,
    window: VecDeque<SteadySample>,
    is_steady: bool,
}

#[derive(Debug, Clone, Copy)]
struct Member {
    stream: u32,
    covered: Nanos,
    has_ended: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    operations: f64,
    bytes: f64,
    service_ns: f64,
}

impl Settling {
    /// All that settles in a step: each stream for itself, or with its group.
    pub fn of(step: &Step) -> Vec<Self> {
        let mut all: Vec<(u32, Self)> = Vec::new();
        for (index, stream) in (0..).zip(&step.streams) {
            let Some(rule) = stream.limits.steady else { continue };
            let member = Member { stream: index, covered: Nanos::ZERO, has_ended: false };
            let group = if rule.with_group { stream.report_group } else { 0 };
            match all.iter_mut().find(|(of, _)| group > 0 && *of == group) {
                Some((_, settling)) => settling.members.push(member),
                None => all.push((group, Self::new(rule, member))),
            }
        }
        all.into_iter().map(|(_, settling)| settling).collect()
    }

    fn new(rule: SteadyRule, member: Member) -> Self {
        Self {
            rule,
            members: vec![member],
            sums: BTreeMap::new(),
            next: None,
            window: VecDeque::new(),
            is_steady: false,
        }
    }

    /// The rule.
    pub fn rule(&self) -> &SteadyRule {
        &self.rule
    }

    /// Whether a stream of the step is one of them.
    pub fn has(&self, stream: u32) -> bool {
        self.members.iter().any(|member| member.stream == stream)
    }

    /// The streams of the step that they are.
    pub fn streams(&self) -> impl Iterator<Item = u32> {
        self.members.iter().map(|member| member.stream)
    }

    /// Takes in an interval; true when the rule is kept with it for the first time.
    pub fn add(&mut self, interval: &Interval) -> bool {
        let Interval { step: _, stream, sequence: _, start, end, phase, late: _, tally } = interval;
        let member = self.members.iter_mut().find(|member| member.stream == *stream);
        let (Some(member), Phase::Measure, true) = (member, phase, end > start) else { return false };
        member.covered = member.covered.max(*end);
        let every = self.rule.every.0.max(1);
        let first = start.after(self.rule.after).0.div_ceil(every);
        self.next.get_or_insert(first);
        let mut whole = Sum::default();
        for kind in tally.kinds.iter().filter(|kind| kind.kind != OperationKind::Sync) {
            whole.operations += kind.operations as f64;
            whole.bytes += kind.bytes as f64;
            whole.service_ns += kind.service.moments.sum_ns;
        }
        // One that came late covers more than a sample, each of which gets its share.
        let length = end.since(*start).0 as f64;
        for number in start.0 / every..=(end.0 - 1) / every {
            let (from, to) = (number * every, (number + 1) * every);
            let share = (end.0.min(to) - start.0.max(from)) as f64 / length;
            let sum = self.sums.entry(number).or_default();
            sum.operations += whole.operations * share;
            sum.bytes += whole.bytes * share;
            sum.service_ns += whole.service_ns * share;
        }
        self.advance()
    }

    /// No more intervals of a stream come; true when the rule is kept for the first time by what is there.
    pub fn ended(&mut self, stream: u32) -> bool {
        let Some(member) = self.members.iter_mut().find(|member| member.stream == stream) else {
            return false;
        };
        member.has_ended = true;
        self.advance()
    }

    /// Takes all samples that are complete.
    fn advance(&mut self) -> bool {
        let every = self.rule.every.0.max(1);
        while let Some(next) = self.next {
            let edge = Nanos((next + 1).saturating_mul(every));
            let passed = |member: &Member| member.covered >= edge;
            let is_complete = self.members.iter().any(passed)
                && self.members.iter().all(|member| member.has_ended || passed(member));
            if self.is_steady || !is_complete {
                return false;
            }
            self.sums.retain(|&number, _| number >= next);
            let Sum { operations, bytes, service_ns } = self.sums.remove(&next).unwrap_or_default();
            let seconds = every as f64 / 1e9;
            self.push(SteadySample {
                operations: whole(operations / seconds),
                bytes: whole(bytes / seconds),
                latency_ns: if operations > 0.0 { whole(service_ns / operations) } else { 0 },
            });
            self.next = Some(next + 1);
            if self.is_steady {
                return true;
            }
        }
        false
    }

    fn push(&mut self, sample: SteadySample) {
        let most = self.rule.samples.max(1) as usize;
        if self.window.len() == most {
            self.window.pop_front();
        }
        self.window.push_back(sample);
        let limit = match self.rule.limit {
            SteadyLimit::Share(share) => share,
            SteadyLimit::Absolute(limit) => limit,
        };
        self.is_steady = self.is_full() && self.criterion().is_some_and(|found| found.abs() < limit);
    }

    /// Whether the rule was kept.
    pub fn is_steady(&self) -> bool {
        self.is_steady
    }

    /// The samples of the window as far as there are any, oldest first.
    pub fn window(&self) -> impl ExactSizeIterator<Item = &SteadySample> {
        self.window.iter()
    }

    /// Whether it holds as many samples as the rule asks for.
    pub fn is_full(&self) -> bool {
        self.window.len() >= self.rule.samples.max(1) as usize
    }

    fn figures(&self) -> impl Iterator<Item = f64> {
        self.window.iter().map(|sample| match self.rule.figure {
            SteadyFigure::Operations => sample.operations as f64,
            SteadyFigure::Bytes => sample.bytes as f64,
            SteadyFigure::Latency => sample.latency_ns as f64,
        })
    }

    fn mean(&self) -> f64 {
        self.figures().sum::<f64>() / self.window.len() as f64
    }

    /// Largest distance of a figure in the window from their mean.
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        self.figures().map(|figure| (figure - mean).abs()).fold(0.0, f64::max)
    }

    /// Slope of the straight line through the window, by least squares, per sample; 0 for fewer than two.
    pub fn slope(&self) -> f64 {
        let n = self.window.len() as f64;
        let (mut sum_x, mut sum_xx, mut sum_y, mut sum_xy) = (0.0, 0.0, 0.0, 0.0);
        for (x, y) in self.figures().enumerate() {
            let x = x as f64;
            (sum_x, sum_xx, sum_y, sum_xy) = (sum_x + x, sum_xx + x * x, sum_y + y, sum_xy + x * y);
        }
        let spread = sum_xx - sum_x * sum_x / n;
        if self.window.len() < 2 { 0.0 } else { (sum_xy - sum_x * sum_y / n) / spread }
    }

    /// What is held against the limit: in its unit, a share for a share. `None` while the window is not full, and where a
    /// share of nothing would be meant.
    pub fn criterion(&self) -> Option<f64> {
        if !self.is_full() {
            return None;
        }
        let found = if self.rule.by_slope { self.slope() } else { self.deviation() };
        match self.rule.limit {
            SteadyLimit::Absolute(_) => Some(found),
            SteadyLimit::Share(_) => Some(found / self.mean()).filter(|share| share.is_finite()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_schema::{KindTally, LatencyTally, Moments, StreamTally};
    use proptest::prelude::*;

    fn rule(by_slope: bool, limit: SteadyLimit, samples: u32) -> SteadyRule {
        let (every, after) = (Nanos::secs(1), Nanos::ZERO);
        SteadyRule {
            figure: SteadyFigure::Operations,
            by_slope,
            limit,
            samples,
            every,
            after,
            with_group: true,
        }
    }

    fn settling(rule: SteadyRule, streams: u32) -> Settling {
        let member = |stream| Member { stream, covered: Nanos::ZERO, has_ended: false };
        let mut settling = Settling::new(rule, member(0));
        settling.members.extend((1..streams).map(member));
        settling
    }

    fn interval(stream: u32, from_ms: u64, to_ms: u64, operations: u64) -> Interval {
        let moments = Moments { count: operations, sum_ns: operations as f64 * 1000.0, ..Moments::default() };
        let service = LatencyTally { moments, ..LatencyTally::default() };
        let kind = KindTally {
            kind: OperationKind::Read,
            operations,
            bytes: operations * 4096,
            short: 0,
            data_syncs: 0,
            errors: Vec::new(),
            service,
            response: None,
            submission: Moments::default(),
            completion: None,
        };
        Interval {
            step: 0,
            stream,
            sequence: from_ms / 1000,
            start: Nanos::millis(from_ms),
            end: Nanos::millis(to_ms),
            phase: Phase::Measure,
            late: false,
            tally: StreamTally { kinds: vec![kind], ..StreamTally::default() },
        }
    }

    /// After which of these seconds the rule is kept; and deviation, slope and criterion then, or at the end.
    fn check(rule: SteadyRule, rates: &[u64], at: Option<usize>, figures: [f64; 3]) {
        let mut settling = settling(rule, 1);
        let second = |(k, &rate): (usize, &u64)| interval(0, k as u64 * 1000, k as u64 * 1000 + 1000, rate);
        let found = rates.iter().enumerate().map(second).position(|interval| settling.add(&interval));
        assert_eq!(found, at, "{rule:?} {rates:?}");
        let here = [settling.deviation(), settling.slope(), settling.criterion().unwrap_or(-1.0)];
        for (here, expected) in here.into_iter().zip(figures) {
            assert!((here - expected).abs() < 1e-9, "{here} is not {expected}: {rule:?} {rates:?}");
        }
    }

    #[test]
    fn windows_are_judged_by_distance_or_slope() {
        use SteadyLimit::{Absolute, Share};
        // The figures of fio 3.33 for the same samples: 0.664452 % and 3.333333 of 505, 500, 500.
        check(
            rule(false, Share(0.05), 3),
            &[505, 500, 500],
            Some(2),
            [10.0 / 3.0, -2.5, 10.0 / 3.0 / (1505.0 / 3.0)],
        );
        check(rule(false, Absolute(3.0), 3), &[505, 500, 500, 500], Some(3), [0.0, 0.0, 0.0]);
        check(rule(false, Share(0.01), 3), &[100, 200, 300, 400], None, [100.0, 100.0, 100.0 / 300.0]);
        check(rule(true, Absolute(1.0), 3), &[100, 200, 100], Some(2), [200.0 / 3.0, 0.0, 0.0]);
        check(rule(true, Share(0.2), 3), &[100, 300, 200], None, [100.0, 50.0, 0.25]);
        // Nothing at all is no steady state, and neither is a window that is not full.
        check(rule(false, Share(0.05), 3), &[0, 0, 0, 0], None, [0.0, 0.0, -1.0]);
        check(rule(false, Absolute(0.5), 3), &[0, 0, 0], Some(2), [0.0, 0.0, 0.0]);
        check(rule(false, Share(0.05), 9), &[5, 5, 5], None, [0.0, 0.0, -1.0]);
    }

    #[test]
    fn samples_begin_where_the_rule_says_and_hold_whole_seconds() {
        let after = SteadyRule { after: Nanos::secs(2), ..rule(false, SteadyLimit::Share(0.5), 2) };
        check(after, &[1, 9, 100, 100], Some(3), [0.0, 0.0, 0.0]);
        let mut late = settling(rule(false, SteadyLimit::Share(0.01), 2), 1);
        assert!(!late.add(&interval(0, 400, 1000, 7)), "not a whole second");
        assert!(late.add(&interval(0, 1000, 3000, 200)), "two seconds that came as one");
        assert_eq!(late.window().map(|sample| sample.operations).collect::<Vec<_>>(), [100, 100]);
        assert_eq!(late.window().next().map(|sample| sample.latency_ns), Some(1000));
    }

    #[test]
    fn a_group_is_judged_when_all_of_it_has_come() {
        let mut group = settling(rule(false, SteadyLimit::Share(0.01), 2), 2);
        assert!(!group.add(&interval(0, 0, 1000, 60)) && !group.add(&interval(0, 1000, 2000, 40)));
        assert!(!group.add(&interval(1, 0, 1000, 40)), "one of two samples");
        assert!(group.add(&interval(1, 1000, 2000, 60)));
        let mut left = settling(rule(false, SteadyLimit::Share(0.01), 2), 2);
        assert!(!left.add(&interval(0, 0, 1000, 50)) && !left.add(&interval(0, 1000, 2000, 50)));
        assert!(left.ended(1), "nobody waits for one that has ended");
    }

    proptest! {
        #[test]
        fn lines_have_their_slope(first in 1000_u64..2000, rise in 0_u64..50, samples in 2_u32..20) {
            let mut settling = settling(rule(true, SteadyLimit::Absolute(0.0), samples), 1);
            for k in 0..u64::from(samples) {
                settling.add(&interval(0, k * 1000, k * 1000 + 1000, first + rise * k));
            }
            prop_assert!((settling.slope() - rise as f64).abs() < 1e-6);
        }
    }
}
