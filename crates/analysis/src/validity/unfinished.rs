//! Checks of what a rate left in flight when its time was up: such operations count, though the device was not seen to do as
//! many in that time.
//!
//! The engine looks at the queue of each worker, and waits for what grew beyond chance there. Many workers whose queues grow by
//! a few each are seen here, where they are taken together.

use super::Found;
use super::load::INTERVALS_MIN;
use super::pacing::{WALK_DEVIATIONS, ends_by_amount, is_even, shortest};
use crate::measured::Measured;
use fathom_schema::{Interval, Quota, Severity, Stream};
use fathom_units::{Iops, Nanos};

/// Standard deviations of what is in flight, as random arrivals have it, that may be more at the end by chance.
const CHANCE_DEVIATIONS: f64 = 3.0;
/// Share of all arrivals that may be in flight at the end beyond those at the start: below, the rate that is told is what was done
/// in time but for a hundredth.
const GROWN_SHARE_MIN: f64 = 0.01;
/// From this share on it is told however it came to be, and of how many.
const UNSEEN_SHARE: f64 = 0.25;
/// Fewer are a matter of the moment at which the time is up.
const UNSEEN_MIN: f64 = 8.0;
/// Fewest intervals with a growth that is as fast at the end as at the start: two in each third.
const THIRDS_MIN: usize = 6;
/// What was gained from the second third to the last, as a share of what was from the first to the second: 1 where it goes on and on;
/// √t, as queues near what their device does begin, has 0.65.
const LATER_SHARE_MIN: f64 = 0.8;
/// Share of the time that the shortest operation may take: else none has shown yet how fast it is.
const SHORTEST_SHARE: f64 = 0.25;

/// Looks at a stream that did as many as came due. `intervals`: those in which arrivals came due. Returns whether there was anything
/// to tell.
pub(super) fn check(
    stream: &Stream,
    measured: &Measured,
    intervals: &[&Interval],
    place: &str,
    found: &mut Found,
) -> bool {
    // At a rate that rises, and in a burst, so does what is in flight. What ends with a number of operations waits for them.
    if !is_even(&stream.pacing) || ends_by_amount(stream, measured) || intervals.len() < INTERVALS_MIN {
        return false;
    }
    let in_flight = |interval: &&Interval| {
        interval.tally.in_flight_ns / interval.end.since(interval.start).0.max(1) as f64
    };
    let held: Vec<f64> = intervals.iter().map(in_flight).collect();
    let has_ramp = stream.ramp > Nanos::ZERO || stream.ramp_bytes != Quota::Unlimited;
    let begins_empty = intervals[0].start == measured.start && !has_ramp && stream.depth_search.is_none();
    let arrivals = measured.tally.arrivals as f64;
    let grown = grown(&held, begins_empty).min(arrivals);
    let mean = held.iter().sum::<f64>() / held.len() as f64;
    if grown <= CHANCE_DEVIATIONS * mean.sqrt() && grown < UNSEEN_SHARE * arrivals
        || grown < UNSEEN_MIN
        || grown <= GROWN_SHARE_MIN * arrivals
    {
        return false;
    }
    let length: u64 = intervals.iter().map(|interval| interval.end.since(interval.start).0).sum();
    let Iops(due) = Iops::of(measured.tally.arrivals, measured.window());
    let in_time = Iops(due * (1.0 - grown / arrivals));
    let evidence = |what: &str| {
        format!(
            "{place}{what}: of {arrivals} operations that came due, about {grown:.0} more than at the start were in flight when the \
             time was up; the device was seen to do {in_time} per second of {}",
            Iops(due)
        )
    };
    let has_shown = (shortest(&measured.tally) as f64) < SHORTEST_SHARE * length as f64;
    if has_shown && goes_on(&held, stream.workers.len()) {
        found.weighed(
            grown / arrivals,
            "pacing.overloaded",
            Severity::Invalid,
            evidence("overloaded, and more and more were in flight"),
            "response times grow with the length of such a run and describe no device: ask for a lower rate",
        );
    } else if grown >= UNSEEN_SHARE * arrivals {
        found.weighed(
            grown / arrivals,
            "pacing.behind",
            Severity::Warn,
            evidence("much of what counts was done after the measured time"),
            "measure for many times as long as an operation takes, to see whether they become more and more",
        );
    } else {
        return false;
    }
    true
}

/// How many more were in flight at the end than at the start of a series of means: half a step beyond the last and before the
/// first. Worked value: `[0.5, 1.5, 2.5]` begins at 0 and ends at 3.
fn grown(held: &[f64], begins_empty: bool) -> f64 {
    let [first, second, ..] = *held else { return 0.0 };
    let [.., before, last] = *held else { return 0.0 };
    let end = last + (last - before).max(0.0) / 2.0;
    let start = if begins_empty { 0.0 } else { (first - (second - first) / 2.0).max(0.0) };
    end - start
}

/// Whether a series grows to its end as fast as at its start, by more than the random walks of so many queues do, none of which
/// is ever below zero: each comes to its own standard deviation on average.
pub(super) fn goes_on(held: &[f64], workers: usize) -> bool {
    if held.len() < THIRDS_MIN {
        return false;
    }
    let third = held.len() / 3;
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let (first, middle, last) =
        (mean(&held[..third]), mean(&held[third..held.len() - third]), mean(&held[held.len() - third..]));
    let steps: Vec<f64> = held.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let (rise, count) = (held[held.len() - 1] - held[0], steps.len() as f64);
    let variance = steps.iter().map(|step| (step - rise / count).powi(2)).sum::<f64>() / (count - 1.0);
    middle > first
        && last - middle >= LATER_SHARE_MIN * (middle - first)
        && rise > WALK_DEVIATIONS * (workers as f64 * variance * count).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grew_is_told_from_the_ends() {
        assert!((grown(&[0.5, 1.5, 2.5], true) - 3.0).abs() < 1e-12);
        assert!((grown(&[10.5, 11.5, 12.5], false) - 3.0).abs() < 1e-12);
        assert!(grown(&[10.0, 10.0, 10.0], false).abs() < 1e-12);
    }

    #[test]
    fn queues_that_grow_evenly_go_on_and_those_that_fill_do_not() {
        let even: Vec<f64> = (0..9).map(f64::from).collect();
        assert!(goes_on(&even, 10));
        let root: Vec<f64> = even.iter().map(|at| 10.0 * at.sqrt()).collect();
        assert!(!goes_on(&root, 1));
        let filled: Vec<f64> = even.iter().map(|at| at.min(4.0)).collect();
        assert!(!goes_on(&filled, 1));
        let walk = [0.0, 1.5, 2.0, 3.5, 4.0, 5.5, 6.0, 7.5, 8.0];
        assert!(goes_on(&walk, 1) && !goes_on(&walk, 9));
    }
}
