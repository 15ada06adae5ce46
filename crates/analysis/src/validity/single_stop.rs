//! Whether a device stood still once while a rate was offered to it, and when. Does not know what follows from it.

use crate::load::stop_ns;
use crate::measured::{Measured, operations};
use fathom_metrics::merge_latency;
use fathom_schema::{Interval, LatencyTally, OperationKind};
use fathom_units::Nanos;
use std::collections::BTreeMap;

/// Share of what a device would have done while it stood still that is missing then.
const MISSING_MIN: f64 = 0.5;

/// A time in which a device stood still.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stop {
    /// How long it did.
    pub length: Nanos,
    /// Where the intervals begin that it lies in.
    pub from: Nanos,
    /// Where they end.
    pub to: Nanos,
}

/// When the device stood still, where it did once: of the time in which the queue was full, most may be that stop, which says nothing of
/// what a device does else; several are what it does. What was in flight then took far longer than is usual, and about as much as it would
/// have done in that time is missing in intervals that follow one another, and nowhere else.
pub(super) fn single_stop(measured: &Measured, intervals: &[&Interval]) -> Option<Stop> {
    let mut latency = LatencyTally::default();
    let kinds = measured.tally.kinds.iter().filter(|kind| kind.kind != OperationKind::Sync);
    kinds.for_each(|kind| merge_latency(&mut latency, &kind.service));
    let longest = Nanos(stop_ns(&latency));
    // What some workers told late is part of the interval that it began in.
    let mut by_number: BTreeMap<u64, (Nanos, Nanos, u64)> = BTreeMap::new();
    for Interval { sequence, start, end, tally, .. } in intervals.iter().copied() {
        by_number.entry(*sequence).or_insert((*start, *end, 0)).2 += operations(tally);
    }
    let all: Vec<(Nanos, Nanos, u64)> = by_number.into_values().filter(|(from, to, _)| to > from).collect();
    let seconds = |&(from, to, _): &(Nanos, Nanos, u64)| to.since(from).as_secs_f64();
    let mut rates: Vec<f64> = all.iter().map(|one| one.2 as f64 / seconds(one)).collect();
    rates.sort_by(f64::total_cmp);
    let rate = rates.get(rates.len() / 2).filter(|_| longest > Nanos::ZERO)?;
    let missing: Vec<f64> = all.iter().map(|one| rate * seconds(one) - one.2 as f64).collect();
    let usual_s = all.iter().map(seconds).sum::<f64>() / all.len() as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of intervals, cut to those there are"
    )]
    let window = ((longest.as_secs_f64() / usual_s) as usize + 2).min(all.len());
    let sums: Vec<f64> = missing.windows(window).map(|part| part.iter().sum()).collect();
    let (at, most) = sums.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let is_apart = |other: usize| other.abs_diff(at) >= window;
    let is_single = !sums.iter().enumerate().any(|(other, sum)| is_apart(other) && *sum > most * MISSING_MIN);
    // Of a stop that lasts beyond the end, only what lies before it is missing.
    let is_still = |one: &&(Nanos, Nanos, u64)| (one.2 as f64) < MISSING_MIN * rate * seconds(one);
    let still_s: f64 = all.iter().rev().take_while(is_still).map(seconds).sum();
    let within_s = if still_s > 0.0 { still_s + usual_s } else { f64::INFINITY };
    let would_do = rate * longest.as_secs_f64().min(within_s);
    let is_stop = is_single && (MISSING_MIN * would_do..=would_do / MISSING_MIN).contains(&most);
    is_stop.then(|| Stop { length: longest, from: all[at].0, to: all[at + window - 1].1 })
}
