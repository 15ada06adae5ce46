//! The finding about throughput that goes over to another level within some seconds or minutes and stays there. What does so at once is
//! a change of level, and what takes all of the step a drift.

use super::warmup::{FALL_PART, RISE_PART};
use super::{LASTING_MIN, LEVEL_MIN, Second, StepView, is_by_load};
use crate::statistics::{Change, Passage, Sample, passage};
use crate::validity::Found;
use fathom_schema::Severity;
use fathom_units::Iops;

/// Parts of what follows a passage of which the first and the last tell whether it stays where it came to.
const REST_PARTS: usize = 4;

/// The passage of a step that matters, and that the load did not make; where there are changes of level all to one side, one that tells
/// them better.
pub(super) fn of(seconds: &[Second], iops: &[f64], levels: &[Change]) -> Option<Passage> {
    let rises = |change: &Change| change.after > change.before;
    if levels.iter().any(|change| rises(change) != rises(&levels[0])) {
        return None;
    }
    let cuts: Vec<usize> = levels.iter().map(|change| change.at).collect();
    let found = passage(iops, &cuts)?;
    let Passage { from, to, before, after } = found;
    // What may be a start takes no place of levels.
    if !levels.is_empty() && (is_early(&found, iops.len()) || !leaves_a_level(&found)) {
        return None;
    }
    let matters = (after - before).abs() >= LEVEL_MIN * before.max(after);
    (matters && !is_by_load(seconds, 0, usize::midpoint(from, to), seconds.len())).then_some(found)
}

/// Whether it leaves a level that had lasted for a while.
pub(super) fn leaves_a_level(passage: &Passage) -> bool {
    passage.from >= LASTING_MIN
}

/// Whether it is over so early that it may be a warm-up: one that is slower at first, or faster, which may be a cache where it lasts.
pub(super) fn is_early(passage: &Passage, length: usize) -> bool {
    let rises = passage.after > passage.before;
    let part = if rises || !leaves_a_level(passage) { RISE_PART } else { FALL_PART };
    passage.to * part <= length
}

/// Whether it takes so long that it is no brief beginning, which is told by itself where it matters.
pub(super) fn is_gradual(passage: &Passage) -> bool {
    passage.to >= 2 * LASTING_MIN
}

/// From where on an early one is over for good: an approach goes on beyond the line that stands for it.
pub(super) fn is_over_at(passage: &Passage, length: usize) -> usize {
    (passage.to + 2 * (passage.to - passage.from)).min(length / 2)
}

/// Tells it, with where it begins and ends, and where it went from there.
pub(super) fn tell(
    passage: &Passage,
    seconds: &[Second],
    iops: &[f64],
    view: &StepView<'_>,
    found: &mut Found,
) {
    let Passage { from, to, .. } = *passage;
    let (before, after, end) = levels(passage, iops);
    let word = if after < before { "fell" } else { "rose" };
    let (place, levels) = (view.place(), format!("from {} to {} IOPS", Iops(before), Iops(after)));
    let begins = seconds[from].start;
    found.mark(view, begins, format!("{} → {} IOPS", Iops(before), Iops(after)));
    let course = if to + LASTING_MIN > seconds.len() {
        format!("from about {:.0} s on, to the end", begins.as_secs_f64())
    } else {
        let ends = seconds[to].start.as_secs_f64();
        let stays = (end - after).abs() < LEVEL_MIN * before.max(after);
        let then = if stays { "stayed there".to_owned() } else { format!("was at {} at the end", Iops(end)) };
        format!("between about {:.0} s and {ends:.0} s, and {then}", begins.as_secs_f64())
    };
    found.weighed(
        (after - before).abs() / before.max(after),
        "behaviour.drift",
        Severity::Warn,
        format!("{place}throughput {word} smoothly {levels} {course}"),
        "its mean is of two levels: look what changed there (a cache or credits used up, heat, another load), or measure each by \
         itself",
    );
}

/// The level that it leaves, the one where it comes to, and that of the end, by the values themselves where there are enough: what
/// goes elsewhere later has moved those of the passage.
fn levels(passage: &Passage, iops: &[f64]) -> (f64, f64, f64) {
    let Passage { from, to, before, after } = *passage;
    let mean = |values: &[f64]| Sample::of(values).mean;
    let before = if from >= LASTING_MIN { mean(&iops[..from]) } else { before };
    let rest = &iops[to..];
    let part = (rest.len() / REST_PARTS).max(LASTING_MIN);
    if part > rest.len() {
        return (before, after, after);
    }
    (before, mean(&rest[..part]), mean(&rest[rest.len() - part..]))
}
