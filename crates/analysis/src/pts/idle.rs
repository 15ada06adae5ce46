//! What host idle recovery came to: how fast bursts of writes are after each idle time, beside writing without a pause.

use super::answer::{Answer, Measure, PartAnswer, SequenceAnswer};
use super::flow::Cell;
use fathom_schema::SteadyTest;
use fathom_units::Nanos;

/// Bursts of one length with an idle time before each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AfterIdle {
    /// The idle time.
    pub idle: Nanos,
    /// Length of a burst.
    pub burst: Nanos,
    /// Mean operations per second within bursts.
    pub iops: f64,
    /// The same as a share of the baseline's.
    pub share: f64,
    /// That share without what a burst loses at its end for being brief: while the last operations drain, the queue is not
    /// full.
    pub undrained_share: f64,
}

impl AfterIdle {
    /// Bursts of one kind, of which there is at least one.
    fn of(bursts: &[(Cell, Measure)], baseline_iops: f64) -> Self {
        let Cell { time: burst, pause: idle, .. } = bursts[0].0;
        let mean = |of: fn(&(Cell, Measure)) -> f64| bursts.iter().map(of).sum::<f64>() / bursts.len() as f64;
        let iops = mean(|(_, measure)| measure.iops);
        let share = iops / baseline_iops;
        // What was completed while the queue was full. Devices that serve operations in step complete a whole queue of them
        // just before the time is up or just after it, so that this may be less than all of it in all of the time.
        let undrained = mean(|(cell, measure)| {
            let in_flight = f64::from(cell.threads) * f64::from(cell.depth);
            (measure.iops * measure.lasted_s - in_flight) / cell.time.as_secs_f64()
        });
        Self { idle, burst, iops, share, undrained_share: share.max(undrained / baseline_iops) }
    }
}

/// What idle times bring.
#[derive(Debug, Clone, PartialEq)]
pub struct IdleRecovery {
    /// Operations per second without a pause, in the steady state.
    pub baseline_iops: f64,
    /// Per idle time, those that came to their end.
    pub after: Vec<AfterIdle>,
}

/// What a test of host idle recovery shows; `None` of another one, or without a baseline.
pub fn idle_recovery(answer: &Answer) -> Option<IdleRecovery> {
    if answer.question.test != SteadyTest::Hir {
        return None;
    }
    let baseline_iops = answer.parts.iter().find_map(|part| match part {
        PartAnswer::Rounds(found) => Some(found.means.get(found.rounds.tracked)?.iops),
        PartAnswer::Conditioning(_) | PartAnswer::Sequence(_) => None,
    });
    let baseline_iops = baseline_iops.filter(|iops| *iops > 0.0)?;
    let of = |found: &SequenceAnswer| {
        let is_bursts = found.cells.first().is_some_and(|(cell, _)| cell.pause > Nanos::ZERO);
        (found.is_complete && is_bursts).then(|| AfterIdle::of(&found.cells, baseline_iops))
    };
    let after = answer.parts.iter().filter_map(|part| match part {
        PartAnswer::Sequence(found) => of(found),
        PartAnswer::Conditioning(_) | PartAnswer::Rounds(_) => None,
    });
    Some(IdleRecovery { baseline_iops, after: after.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pts::Blocks;

    /// A burst of 100 ms with 8 in flight, of so many operations in so many seconds, beside a baseline of 800/s.
    fn check(operations: f64, lasted_s: f64, share: f64, undrained: f64) {
        let cell = Cell {
            row: "4 KiB".to_owned(),
            column: "0/100",
            blocks: Blocks::Of(4096),
            read_percent: 0,
            is_random: true,
            threads: 2,
            depth: 4,
            time: Nanos::millis(100),
            pause: Nanos::millis(50),
        };
        let measure = Measure { iops: operations / lasted_s, lasted_s, ..Measure::default() };
        let found = AfterIdle::of(&[(cell.clone(), measure), (cell, measure)], 800.0);
        let is_close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(is_close(found.share, share) && is_close(found.undrained_share, undrained), "{found:?}");
    }

    #[test]
    fn what_drains_at_the_end_of_a_burst_is_no_cost_of_idling() {
        // 80 within the time, as many as ever, and 8 that take 30 ms to drain.
        check(88.0, 0.13, 88.0 / 0.13 / 800.0, 1.0);
        // One after the other: nothing is lost.
        check(88.0, 0.11, 1.0, 1.0);
        // In step, every 60 ms: 16 in 120 ms, of which only 8 in time.
        check(16.0, 0.12, 16.0 / 0.12 / 800.0, 16.0 / 0.12 / 800.0);
        // Half of the time nothing is done: that is no draining.
        check(48.0, 0.11, 48.0 / 0.11 / 800.0, 48.0 / 0.11 / 800.0);
        check(48.0, 0.13, 48.0 / 0.13 / 800.0, 0.5);
    }
}
