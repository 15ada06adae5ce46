//! Sums of a step's intervals, beside the intervals, so that a long record opens fast and may forget its oldest details.
//!
//! A sum is emitted after all that it covers, and at the end of a phase or step all that is left is summed up.

use fathom_metrics::merge_tally;
use fathom_schema::{Interval, IntervalSum};
use std::collections::BTreeMap;

/// The sums of one step that are not complete.
#[derive(Debug, Default)]
pub(crate) struct Sums {
    /// By stream and level.
    open: BTreeMap<(u32, u8), Open>,
}

#[derive(Debug)]
struct Open {
    sum: Interval,
    count: u64,
}

impl Sums {
    /// Takes the next interval in; emits what it completes.
    pub(crate) fn add(&mut self, interval: &Interval, emit: &mut dyn FnMut(IntervalSum)) {
        // A sum of ramp and measure would belong to neither.
        let other_phase =
            |level| self.open.get(&(interval.stream, level)).is_some_and(|o| o.sum.phase != interval.phase);
        if (1..=IntervalSum::LEVELS).any(other_phase) {
            self.finish_stream(interval.stream, emit);
        }
        self.add_at(1, interval, emit);
    }

    /// Emits all that is left.
    pub(crate) fn finish(&mut self, emit: &mut dyn FnMut(IntervalSum)) {
        while let Some((&(stream, _), _)) = self.open.first_key_value() {
            self.finish_stream(stream, emit);
        }
    }

    fn finish_stream(&mut self, stream: u32, emit: &mut dyn FnMut(IntervalSum)) {
        for level in 1..=IntervalSum::LEVELS {
            self.close(stream, level, emit);
        }
    }

    fn add_at(&mut self, level: u8, interval: &Interval, emit: &mut dyn FnMut(IntervalSum)) {
        if level > IntervalSum::LEVELS {
            return;
        }
        let key = (interval.stream, level);
        let count = match self.open.get_mut(&key) {
            Some(Open { sum, count }) => {
                merge_tally(&mut sum.tally, &interval.tally);
                sum.start = sum.start.min(interval.start);
                sum.end = sum.end.max(interval.end);
                sum.late |= interval.late;
                *count += 1;
                *count
            }
            None => {
                self.open.insert(key, Open { sum: interval.clone(), count: 1 });
                1
            }
        };
        if count == IntervalSum::OF {
            self.close(interval.stream, level, emit);
        }
    }

    fn close(&mut self, stream: u32, level: u8, emit: &mut dyn FnMut(IntervalSum)) {
        if let Some(Open { sum, count: _ }) = self.open.remove(&(stream, level)) {
            emit(IntervalSum { level, sum: sum.clone() });
            self.add_at(level + 1, &sum, emit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_schema::{Phase, StreamTally};
    use fathom_units::Nanos;

    fn interval(stream: u32, sequence: u64, phase: Phase) -> Interval {
        Interval {
            step: 0,
            stream,
            sequence,
            start: Nanos::secs(sequence),
            end: Nanos::secs(sequence + 1),
            phase,
            late: false,
            tally: StreamTally { arrivals: sequence, backlog_max: sequence, ..StreamTally::default() },
        }
    }

    /// What is emitted for `count` intervals of two streams, the first `ramp` of them in the ramp.
    fn sums(count: u64, ramp: u64) -> Vec<IntervalSum> {
        let (mut sums, mut found) = (Sums::default(), Vec::new());
        for sequence in 0..count {
            for stream in 0..2 {
                let phase = if sequence < ramp { Phase::Ramp } else { Phase::Measure };
                sums.add(&interval(stream, sequence, phase), &mut |sum| found.push(sum));
            }
        }
        sums.finish(&mut |sum| found.push(sum));
        found
    }

    #[test]
    fn every_level_covers_every_interval_once() {
        for (count, ramp) in [(0, 0), (1, 0), (15, 3), (16, 16), (17, 0), (5000, 700), (4096, 0)] {
            for stream in 0..2 {
                for level in 1..=IntervalSum::LEVELS {
                    let of = |sum: &&IntervalSum| sum.level == level && sum.sum.stream == stream;
                    let found = sums(count, ramp);
                    let mut at = Nanos::ZERO;
                    for IntervalSum { sum, .. } in found.iter().filter(of) {
                        assert_eq!(
                            (sum.start, sum.sequence),
                            (at, at.0 / 1_000_000_000),
                            "{count} {ramp} {level}"
                        );
                        at = sum.end;
                        let (first, last) = (sum.sequence, sum.end.0 / 1_000_000_000 - 1);
                        assert!(last - first < IntervalSum::OF.pow(u32::from(level)));
                        assert_eq!(sum.phase == Phase::Ramp, last < ramp, "phases are mixed");
                        assert_eq!(sum.tally.arrivals, (first..=last).sum::<u64>());
                        assert_eq!(sum.tally.backlog_max, last);
                    }
                    assert_eq!(at, Nanos::secs(count), "{count} {ramp} {level}");
                }
            }
        }
    }

    #[test]
    fn a_sum_comes_after_those_it_covers() {
        let found = sums(5000, 700);
        for stream in 0..2 {
            let mut until = [Nanos::ZERO; IntervalSum::LEVELS as usize + 1];
            for IntervalSum { level, sum } in found.iter().filter(|found| found.sum.stream == stream) {
                until[usize::from(*level)] = sum.end;
                assert!(
                    until[1..=usize::from(*level)].iter().all(|&finer| finer == sum.end),
                    "{level} {}",
                    sum.end
                );
            }
        }
    }
}
