//! Findings about dips: a few intervals in which less than half of what is usual was done, and that is too few for a level. No
//! operation has to have waited through one, as through a stall: all of them may be slower for a while.
//!
//! A dip is told from noise twice. Its intervals have to hold fewer operations than counts that scatter as the others do ever hold;
//! and the others, those beside it among them, have to keep well above it, since what scatters with a long tail has values far off
//! all the time.

use super::stalls::{CHANCE_MAX, MANY_MIN, is_closed};
use super::usual::Usual;
use super::{LASTING_MIN, Second, StepView, held, instant};
use crate::statistics::poisson_at_most;
use crate::validity::Found;
use crate::validity::pacing::ends_by_amount;
use fathom_schema::Severity;
use fathom_units::Iops;
use std::ops::Range;

/// The most that is done in a dip, as a share of what is usual.
const DIP_SHARE: f64 = 0.5;
/// The least that nine of ten of the other intervals have, as a share of that.
const OTHERS_SHARE: f64 = 0.75;
const OTHERS_PARTS: usize = 10;
/// Intervals beside a dip of which one is as the others are: what lies beside a dip of a longer one is a part of that.
const BESIDE: usize = 2;
/// The part of all intervals that dips may be: more of them are how it goes.
const DIPS_PART: usize = 5;

/// Tells dips. What is left to look at is all but them.
pub(super) fn check(seconds: Vec<Second>, view: &StepView<'_>, found: &mut Found) -> Vec<Second> {
    let is_told_by_counts =
        is_closed(view) || seconds.iter().all(|second| second.due.is_some()) && !held::has_bursts(view);
    if seconds.len() < MANY_MIN || !is_told_by_counts {
        return seconds;
    }
    let usual = Usual::of(&seconds, is_closed(view));
    if usual.stops {
        return seconds;
    }
    let dips = dips(&seconds, &usual, may_drain(view));
    let share = |dip: &Range<usize>| rate(&seconds[dip.clone()]) / usual.iops;
    let Some(lowest) = dips.iter().min_by(|one, other| share(one).total_cmp(&share(other))) else {
        return seconds;
    };
    let length_s = |dip: &Range<usize>| seconds[dip.clone()].iter().map(|second| second.length).sum::<f64>();
    for dip in &dips {
        found.mark(view, seconds[dip.start].start, format!("dip, {:.0} s", length_s(dip)));
    }
    let times = match dips.len() {
        1 => String::new(),
        count => format!(" {count} times, at the lowest"),
    };
    found.weighed(
        1.0 - share(lowest),
        "behaviour.dip",
        Severity::Warn,
        format!(
            "{}throughput fell{times} to {} IOPS for about {}, at {:.0} s, where {} are usual",
            view.place(),
            Iops(rate(&seconds[lowest.clone()])),
            instant(length_s(lowest)).approximate(),
            seconds[lowest.start].start.as_secs_f64(),
            Iops(usual.iops),
        ),
        "look at what happened then (the kernel's log, the device's, other loads and hosts): the figures are of such times as well",
    );
    let is_left = |at: usize| dips.iter().all(|dip| !dip.contains(&at));
    (0..seconds.len()).filter(|&at| is_left(at)).map(|at| seconds[at].clone()).collect()
}

/// Operations per second over some intervals.
fn rate(seconds: &[Second]) -> f64 {
    let length: f64 = seconds.iter().map(|second| second.length).sum();
    seconds.iter().map(|second| second.iops * second.length).sum::<f64>() / length
}

/// What lies between the first interval, which may be one of a warm-up, and the last, where the load itself may end in it.
fn dips(seconds: &[Second], usual: &Usual, may_drain: bool) -> Vec<Range<usize>> {
    // What did not come due was not to be done.
    let expected = |second: &Second| second.due.unwrap_or(usual.iops).min(usual.iops) * second.length;
    let done = |second: &Second| second.iops * second.length;
    let is_low = |second: &Second| done(second) < DIP_SHARE * expected(second);
    let is_below = |second: &Second| done(second) < OTHERS_SHARE * expected(second);
    let last = if may_drain { seconds.len() - 1 } else { seconds.len() };
    let (mut dips, mut from) = (Vec::new(), 0);
    // Between two of them a stall may have been left out.
    let is_next = |a: &Second, b: &Second| b.start.since(a.end).as_secs_f64() < a.length / 2.0;
    for group in seconds.chunk_by(|a, b| is_low(a) == is_low(b) && is_next(a, b)) {
        let dip = from..from + group.len();
        from = dip.end;
        let sum = |of: &dyn Fn(&Second) -> f64| group.iter().map(of).sum::<f64>() / usual.dispersion;
        let chance = || poisson_at_most(sum(&done).ceil(), sum(&expected)) * seconds.len() as f64;
        // One interval on either side may be part of it.
        let is_beside = |part: &[Second]| part.iter().any(|second| !is_below(second));
        let (before, after) =
            (dip.start.saturating_sub(BESIDE)..dip.start, dip.end..seconds.len().min(dip.end + BESIDE));
        let ends = dip.end == seconds.len() || is_beside(&seconds[after]);
        let is_within = is_beside(&seconds[before]) && ends && dip.end <= last && dip.len() < LASTING_MIN;
        if is_low(&group[0]) && is_within && chance() <= CHANCE_MAX {
            dips.push(dip);
        }
    }
    let is_other = |at: &usize| dips.iter().all(|dip| !dip.contains(at));
    let others: Vec<&Second> = (0..seconds.len()).filter(is_other).map(|at| &seconds[at]).collect();
    let below = others.iter().filter(|second| is_below(second)).count();
    let is_apart = below * OTHERS_PARTS <= others.len();
    let are_few = (seconds.len() - others.len()) * DIPS_PART <= seconds.len();
    if is_apart && are_few { dips } else { Vec::new() }
}

/// Whether some stream ends with what was to be done, and what is in flight then is done by fewer and fewer.
fn may_drain(view: &StepView<'_>) -> bool {
    view.streams().any(|(stream, measured)| ends_by_amount(stream, measured))
}
