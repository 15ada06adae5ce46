//! What host idle recovery came to: how fast bursts of writes are after each idle time, beside writing without a pause.

use super::answer::{Answer, Measure, PartAnswer, SequenceAnswer};
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
        let (cell, _) =
            found.cells.first().filter(|(cell, _)| found.is_complete && cell.pause > Nanos::ZERO)?;
        let rates = found.cells.iter().map(|(_, Measure { iops, .. })| iops);
        let iops = rates.sum::<f64>() / found.cells.len() as f64;
        Some(AfterIdle { idle: cell.pause, burst: cell.time, iops, share: iops / baseline_iops })
    };
    let after = answer.parts.iter().filter_map(|part| match part {
        PartAnswer::Sequence(found) => of(found),
        PartAnswer::Conditioning(_) | PartAnswer::Rounds(_) => None,
    });
    Some(IdleRecovery { baseline_iops, after: after.collect() })
}
