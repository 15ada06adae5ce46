//! How changes of level are told: a fall that lasts is a cliff; a level that comes back, once or over and over, is none.
//! Does not know how the changes are found.

use super::{LEVEL_MIN, Second, StepView};
use crate::statistics::Change;
use crate::validity::Found;
use fathom_schema::Severity;
use fathom_units::{Bytes, Iops};

/// Fall from one level to the next that is a cliff, as a share: a cache that is full, a clock that is throttled, a credit
/// that is used up.
const CLIFF_MIN: f64 = 0.30;
/// Share of a change that has to be undone for the level to be back: it is nearer to where it was than to where it went.
const UNDONE_MIN: f64 = 0.5;
/// Fewest changes that go to and fro: there, back, and there again.
const TO_AND_FRO_MIN: usize = 3;
/// How far a level may lie from the mean of the upper or the lower ones to be one of two, as a share of what lies between.
const NEAR_SHARE: f64 = 0.25;
/// Share of a level below which another one is none: nothing is done, or hardly anything.
const NOTHING_SHARE: f64 = 0.01;

/// Tells changes of level, of which there is at least one.
pub(super) fn tell(changes: &[Change], seconds: &[Second], view: &StepView<'_>, found: &mut Found) {
    let place = view.place();
    let time = |change: &Change| format!("{:.0} s", seconds[change.at].start.as_secs_f64());
    let told = |change: &Change| {
        let (before, after) = (Iops(change.before), Iops(change.after));
        if change.after <= NOTHING_SHARE * change.before {
            return format!("at {} throughput stopped, from {before} to {after} IOPS", time(change));
        }
        format!("at {} throughput went from {before} to {after} IOPS", time(change))
    };
    let more = |told: usize| match changes.len() - told {
        0 => String::new(),
        1 => ", and one change more".to_owned(),
        count => format!(", and {count} changes more"),
    };
    // The last level of what goes to and fro may have begun to turn when the step ended: then it is no lower than those before.
    let levels = two_levels(changes);
    let is_lower = |at: usize| {
        let lowest =
            changes[..at].iter().map(|earlier| earlier.before.min(earlier.after)).fold(f64::MAX, f64::min);
        changes[at].after < (1.0 - LEVEL_MIN) * lowest
    };
    let cliff = (0..changes.len()).find(|&at| is_cliff(changes, at) && (levels.is_none() || is_lower(at)));
    if let Some(cliff) = cliff.map(|at| &changes[at]) {
        let written = seconds[cliff.at].written_before;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a sum of counts")]
        let after = if written > 0.0 {
            format!(", after {} were written", Bytes(written as u64).approximate())
        } else {
            String::new()
        };
        found.weighed(
            1.0 - cliff.after / cliff.before,
            "behaviour.cliff",
            Severity::Warn,
            format!("{place}{}{after}{}", told(cliff), more(1)),
            "a cache is full, a clock is throttled or a credit used up: the figures mix both levels; measure \
             the one that lasts",
        );
        return;
    }
    let returns = if let Some((low, high)) = levels {
        let (first, last) = (time(&changes[0]), time(&changes[changes.len() - 1]));
        let (course, count) = (
            if low <= NOTHING_SHARE * high {
                format!("throughput stops and comes back to {} IOPS over and over", Iops(high))
            } else {
                format!("throughput goes to and fro between {} and {} IOPS", Iops(low), Iops(high))
            },
            changes.len(),
        );
        Some(format!("{course}: {count} changes from {first} to {last}"))
    } else {
        first_undone(changes).map(|(change, back)| {
            let (level, when) = (Iops(back.after), time(back));
            format!("{} and came back to {level} at {when}{}", told(change), more(2))
        })
    };
    let size = |change: &Change| (change.after - change.before).abs() / change.before.max(change.after);
    let widest = changes.iter().map(size).fold(0.0, f64::max);
    match returns {
        Some(evidence) => found.weighed(
            widest,
            "behaviour.level-returned",
            Severity::Warn,
            format!("{place}{evidence}"),
            "something comes and goes: another load, a cache that fills and is emptied again; look what began and \
             ended then, or measure over many such changes: the figures mix both levels",
        ),
        None => found.weighed(
            widest,
            "behaviour.level-changed",
            Severity::Warn,
            format!("{place}{}{}", told(&changes[0]), more(1)),
            "something changed while it was measured: look what began then, and measure again",
        ),
    }
}

/// Whether a change is undone once this level is reached.
pub(super) fn is_undone(change: &Change, level: f64) -> bool {
    (level - change.after) / (change.before - change.after) >= UNDONE_MIN
}

/// Whether the level before the first change is one of those that follow later: it comes and goes, and is no start.
pub(super) fn comes_again(changes: &[Change]) -> bool {
    let Some((first, later)) = changes.split_first() else { return false };
    let is_same = |level: f64| (level - first.before).abs() <= LEVEL_MIN * level.max(first.before);
    later.iter().any(|change| is_same(change.after))
}

/// The first change that is undone, with the one that does so.
fn first_undone(changes: &[Change]) -> Option<(&Change, &Change)> {
    changes.iter().enumerate().find_map(|(at, change)| {
        let back = changes[at + 1..].iter().find(|later| is_undone(change, later.after))?;
        Some((change, back))
    })
}

/// Whether a change is a fall that lasts, and none to where it had been before.
fn is_cliff(changes: &[Change], at: usize) -> bool {
    let Change { before, after, .. } = changes[at];
    let is_back = |earlier: &Change| (earlier.before - after).abs() <= LEVEL_MIN * earlier.before.max(after);
    after <= (1.0 - CLIFF_MIN) * before
        && !changes[at + 1..].iter().any(|later| is_undone(&changes[at], later.after))
        && !changes[..at].iter().any(is_back)
}

/// The lower and the upper one of two levels between which it goes to and fro.
fn two_levels(changes: &[Change]) -> Option<(f64, f64)> {
    if changes.len() < TO_AND_FRO_MIN {
        return None;
    }
    // What is not known to turn at each change is a staircase.
    if changes.windows(2).any(|pair| (pair[0].after > pair[0].before) == (pair[1].after > pair[1].before)) {
        return None;
    }
    let levels: Vec<f64> =
        std::iter::once(changes[0].before).chain(changes.iter().map(|change| change.after)).collect();
    let mean = |from: usize| {
        let of_side: Vec<f64> = levels.iter().skip(from).step_by(2).copied().collect();
        of_side.iter().sum::<f64>() / of_side.len() as f64
    };
    let means = [mean(0), mean(1)];
    let gap = (means[0] - means[1]).abs();
    let is_near = |(at, level): (usize, &f64)| (level - means[at % 2]).abs() <= NEAR_SHARE * gap;
    levels.iter().enumerate().all(is_near).then(|| (means[0].min(means[1]), means[0].max(means[1])))
}
