//! Stalls of a load that comes at a rate, by what they held in flight. What was missed is made up for behind them, often within the
//! same interval, so that no operations are missing; but through a stall all slots fill, where behind a single slow operation the
//! others go on.

use super::stalls::{LOST_MIN, OPERATIONS_MIN, SLOWER_TIMES, Stall, is_closed};
use super::usual::Usual;
use super::{Second, StepView, median};
use fathom_schema::{Arrival, Pacing};

/// Share of what a stall holds in flight that is found there beyond what usually is: more than one slow operation of two holds.
const HELD_MIN: f64 = 0.6;

/// What came beyond the usual, as a share of what a stall as long as the longest wait holds back, from which on it is that.
const RUSH_MIN: f64 = 0.8;
/// The same of what was in flight before: operations that are done in turn take as long as those before them, of which there are as many.
const BEFORE_MIN: f64 = 0.3;

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
    let usually_due = median(&seconds.iter().filter_map(|second| second.due).collect::<Vec<_>>());
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
        let from = from.map_or(0, |before| before + 1);
        let beyond = |part: &[Second]| -> f64 {
            part.iter().map(|second| (second.in_flight - usually).max(0.0) * second.length).sum()
        };
        let window = &seconds[from..=at];
        let time_s: f64 = window.iter().map(|second| second.length).sum();
        let came: f64 = window.iter().map(|second| second.due.unwrap_or(0.0) * second.length).sum();
        let is_stop = came / time_s * longest_s >= OPERATIONS_MIN
            && beyond(window) >= HELD_MIN * held(slots, came / time_s, longest_s);
        // More than usual may have come then, and when what took so long was issued, as much may have waited: neither is a stop.
        let held_back = came / time_s * longest_s;
        let before = from.checked_sub(1).map_or(0.0, |before| seconds[before].in_flight - usually);
        let is_rush = came - usually_due * time_s >= RUSH_MIN * held_back || before >= BEFORE_MIN * held_back;
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
        };
        let is_next = found.last().is_none_or(|last| from >= last.to);
        if is_stop && !is_rush && is_next && known(&stall) {
            found.push(stall);
        }
    }
    found
}

/// Whether any load comes in bursts, which are not told from stalls in which no interval is empty.
pub(super) fn has_bursts(view: &StepView<'_>) -> bool {
    let is_bursty = |pacing: &Pacing| {
        let Pacing::Open { arrival, .. } = pacing else { return false };
        matches!(arrival, Arrival::OnOff { .. } | Arrival::ParetoOnOff { .. } | Arrival::BModel { .. })
    };
    view.step.started.step.streams.iter().any(|stream| is_bursty(&stream.pacing))
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
