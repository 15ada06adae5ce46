//! Pauses beside a rate: whether they leave time for it. Looks at no closed loop.

use super::Found;
use crate::measured::Measured;
use fathom_schema::{Pacing, Severity, Stream, Think};
use fathom_units::Iops;

/// Share of a rate below which pauses have kept a load from it.
const RATE_SHARE_MIN: f64 = 0.99;

/// Whether what comes due in a pause waits for its end: then arrivals wait beside free slots, and the generator is not to blame.
pub(super) fn hold_up(stream: &Stream) -> bool {
    !stream.pauses.are_none() && !stream.pauses.puts_off
}

/// Whether pauses let through fewer operations than come due, however quick the device is.
pub(super) fn keep_from_rate(stream: &Stream) -> bool {
    let Pacing::Open { rate, course, .. } = &stream.pacing else { return false };
    let Think::Every { operations, pause_ns, after_ns: u64::MAX, .. } = stream.pauses.think else {
        return false;
    };
    let most = stream.workers.len() as f64 * operations as f64 * 1e9 / pause_ns.max(1) as f64;
    course.is_empty() && !stream.pauses.puts_off && most < *rate
}

/// Tells that pauses which put off what is due have made the rate another one: nothing waits then, and nothing else shows it.
pub(super) fn check(stream: &Stream, measured: &Measured, place: &str, found: &mut Found) {
    let Pacing::Open { rate, course, .. } = &stream.pacing else { return };
    let came = measured.tally.arrivals as f64;
    let expected = rate * measured.window().as_secs_f64();
    // One operation may be due behind the end.
    if !stream.pauses.puts_off || !course.is_empty() || came + 1.0 >= expected * RATE_SHARE_MIN {
        return;
    }
    found.weighed(
        1.0 - came / expected,
        "pacing.put-off",
        Severity::Info,
        format!(
            "{place}{} of the {} operations per second that were asked for came due: pauses put off the others",
            Iops::of(measured.tally.arrivals, measured.window()),
            Iops(*rate)
        ),
        "shorter pauses, or fewer, leave more of the rate; ones that put nothing off let what came due meanwhile follow at once",
    );
}
