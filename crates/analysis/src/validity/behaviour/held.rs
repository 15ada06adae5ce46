//! Stalls of a load that comes at a rate, by what they held in flight. What was missed is made up for behind them, often within the
//! same interval, so that no operations are missing; but through a stall all slots fill, where behind a single slow operation the
//! others go on.

use super::stalls::{LOST_MIN, OPERATIONS_MIN, SLOWER_TIMES, Stall, is_closed};
use super::usual::Usual;
use super::{Second, StepView, median};
use fathom_schema::{Arrival, Pacing};
use std::ops::Range;

/// Share of what a stall holds in flight that is found there beyond what usually is: more than one slow operation of two holds.
const HELD_MIN: f64 = 0.6;

/// What came beyond what came around it, as a share of what a stall as long as the longest wait holds back, from which on it is that.
const RUSH_MIN: f64 = 0.8;
/// Standard deviations of a Poisson count by which more may come by chance.
const CHANCE_DEVIATIONS: f64 = 3.0;
/// What was in flight before, as a share of what was done in so long: operations that are done in turn take as long as those before them.
const BEFORE_MIN: f64 = 0.45;
/// Times the longest wait that what came before it tells when it began to come faster, and fewest intervals: at one and a half times what
/// the device does, a wait is as long as half of the time since.
const AROUND_TIMES: f64 = 4.0;
const AROUND_MIN: usize = 2;
/// Share of a load that comes in bursts from which on they are what fills its queues.
const BURSTS_MIN: f64 = 0.1;

/// Stalls in order, each apart from those `known`.
pub(super) fn stalls(
    seconds: &[Second],
    usual: &Usual,
    view: &StepView<'_>,
    known: &dyn Fn(&Stall) -> bool,
) -> Vec<Stall> {
    let mut found: Vec<Stall> = Vec::new();
    if is_closed(view) || seconds.iter().any(|second| second.due.is_none()) {
        return found;
    }
    let slots = crate::load::slots(&view.step.started.step);
    let usually = median(&seconds.iter().map(|second| second.in_flight).collect::<Vec<_>>());
    // What of bursts is a stop is for whoever calls this to tell.
    let has_bursts = has_bursts(view);
    let is_exact = |pacing: &Pacing| matches!(pacing, Pacing::Open { arrival: Arrival::Constant, .. });
    let is_random = !view.step.started.step.streams.iter().all(|stream| is_exact(&stream.pacing));
    let chance = if is_random { CHANCE_DEVIATIONS } else { 0.0 };
    for (at, second) in seconds.iter().enumerate() {
        let longest_s = second.slowest_s;
        let is_long = usual.slowest_s > 0.0
            && longest_s >= SLOWER_TIMES * usual.slowest_s
            && longest_s >= LOST_MIN * second.length;
        if !is_long {
            continue;
        }
        // It ended in this interval.
        let begins_s = second.start.as_secs_f64() - longest_s;
        let from = seconds[..at].iter().rposition(|before| before.end.as_secs_f64() <= begins_s);
        // What went before is another's.
        let from = from.map_or(0, |before| before + 1).max(found.last().map_or(0, |last| last.to));
        let beyond = |part: &[Second]| -> f64 {
            part.iter().map(|second| (second.in_flight - usually).max(0.0) * second.length).sum()
        };
        let window = &seconds[from..=at];
        let time_s: f64 = window.iter().map(|second| second.length).sum();
        let came: f64 = window.iter().map(|second| second.due.unwrap_or(0.0) * second.length).sum();
        let is_stop = longest_s <= time_s
            && came / time_s * longest_s >= OPERATIONS_MIN
            && beyond(window) >= HELD_MIN * held(slots, came / time_s, longest_s);
        // More than around it may have come then, and when what took so long was issued, as much may have waited: neither is a stop.
        let expected = due_around(seconds, from..at + 1, longest_s) * time_s;
        let done: f64 = window.iter().map(|second| second.iops * second.length).sum();
        let before = in_flight_before(seconds, from..at + 1, begins_s, came / time_s) - usually;
        let is_rush = !has_bursts
            && (came - expected >= RUSH_MIN * came / time_s * longest_s + chance * expected.sqrt()
                || before >= BEFORE_MIN * done / time_s * longest_s);
        // It may have begun with the interval before, of which it is no part if all of it is in this one.
        let is_within = beyond(&seconds[at..=at]) >= HELD_MIN * beyond(window) && longest_s <= second.length;
        let (from, began_s) =
            if is_within { (at, second.start.as_secs_f64()) } else { (from, begins_s.max(0.0)) };
        let stall = Stall {
            from,
            to: at + 1,
            lost_s: longest_s,
            slowest_s: longest_s,
            began_s,
            length_s: longest_s,
            missing: from..at + 1,
            is_of_ramp: false,
            began_within: None,
        };
        if is_stop && !is_rush && known(&stall) {
            found.push(stall);
        }
    }
    found
}

/// What was in flight when the longest wait of some intervals began, at least: in the interval before, and in the one in which it
/// began, without what a stop since then would have held back.
fn in_flight_before(seconds: &[Second], window: Range<usize>, begins_s: f64, rate: f64) -> f64 {
    let before = window.start.checked_sub(1).map_or(0.0, |before| seconds[before].in_flight);
    let first = &seconds[window.start];
    if window.len() < 2 || first.length <= 0.0 {
        return before;
    }
    let since_s = (first.end.as_secs_f64() - begins_s).clamp(0.0, first.length);
    before.max(first.in_flight - rate * since_s * since_s / 2.0 / first.length)
}

/// What came per second around some intervals, in pairs of neighbours where it is least: a load that follows a course may have become
/// faster there.
fn due_around(seconds: &[Second], window: Range<usize>, longest_s: f64) -> f64 {
    let since = seconds[window.start].start.as_secs_f64() - AROUND_TIMES * longest_s;
    let first = seconds[..window.start].iter().rposition(|before| before.end.as_secs_f64() <= since);
    let first = first.map_or(0, |before| before + 1).min(window.start.saturating_sub(AROUND_MIN));
    let after = window.end..(window.end + AROUND_MIN).min(seconds.len());
    let pairs = seconds[first..window.start].windows(AROUND_MIN).chain(seconds[after].windows(AROUND_MIN));
    let due = |pair: &[Second]| {
        let count: f64 = pair.iter().map(|second| second.due.unwrap_or(0.0) * second.length).sum();
        count / pair.iter().map(|second| second.length).sum::<f64>()
    };
    pairs.map(due).reduce(f64::min).unwrap_or(0.0)
}

/// Whether a part of the load that matters comes in bursts, which are not told from stalls in which no interval is empty.
pub(super) fn has_bursts(view: &StepView<'_>) -> bool {
    let (mut all, mut in_bursts) = (0.0, 0.0);
    for stream in &view.step.started.step.streams {
        let Pacing::Open { rate, arrival, .. } = &stream.pacing else { continue };
        all += rate;
        if matches!(arrival, Arrival::OnOff { .. } | Arrival::ParetoOnOff { .. } | Arrival::BModel { .. }) {
            in_bursts += rate;
        }
    }
    in_bursts > BURSTS_MIN * all
}

/// What so many slots hold in flight through a stall, operations times seconds, which take up what comes until they are full.
fn held(slots: f64, rate: f64, length_s: f64) -> f64 {
    let full_s = slots / rate;
    if full_s >= length_s { rate * length_s * length_s / 2.0 } else { slots * (length_s - full_s / 2.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_fill_as_operations_come() {
        for (slots, rate, length_s, expect) in
            [(8.0, 1000.0, 0.5, 3.968), (1.0, 1000.0, 1.0, 0.9995), (64.0, 100.0, 0.5, 12.5)]
        {
            let found = held(slots, rate, length_s);
            assert!((found - expect).abs() < 1e-9, "{slots} slots, {rate}/s, {length_s} s: {found}");
        }
    }
}
