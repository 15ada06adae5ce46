//! When a stream counts as steady, in the units in which its intervals are counted; and how its workers look for the queue
//! depth that keeps a latency. It knows nothing of the operations.

use crate::remarks::Remarks;
use fathom_model::{Named, Steady, SteadyBound, SteadyFigure, StreamOptions};
use fathom_schema::{
    self as schema, DepthSearch, Pacing, Quota, SteadyLimit, SteadyRule, StreamLimits, TimeLimit,
};
use fathom_units::Nanos;

/// Samples of a window, at most: a day of seconds.
const SAMPLES_MAX: u64 = 86_400;

/// The steady state that ends a stream, if it has one; `None` when it cannot be found, which is then among the remarks.
#[expect(clippy::option_option, reason = "a fault, and no rule, are two things")]
pub(crate) fn rule(
    stream: &Named<StreamOptions>,
    interval: Nanos,
    remarks: &mut Remarks,
) -> Option<Option<SteadyRule>> {
    let options = &stream.options;
    let Some(&Steady { figure, by_slope, limit }) = options.steady.get() else { return Some(None) };
    let (window, every) = (*options.steady_window.get(), *options.steady_every.get());
    let least = if by_slope { 2 } else { 1 };
    let samples = window.0.checked_div(every.0).unwrap_or(0);
    let fault = if every == Nanos::ZERO || every.0 % interval.0 != 0 {
        Some((
            format!("a sample of {} is no multiple of the interval of {}", every.exact(), interval.exact()),
            "use a multiple of run.interval",
        ))
    } else if !(least..=SAMPLES_MAX).contains(&samples) {
        let message = format!(
            "a window of {} has {samples} samples of {}; there have to be {least} to {SAMPLES_MAX}",
            window.exact(),
            every.exact()
        );
        Some((message, "change its steady_window"))
    } else {
        None
    };
    if let Some((reason, help)) = fault {
        let message = format!("the steady state of the stream \"{}\" cannot be told: {reason}", stream.name);
        let place = options.steady_window.span().or(options.steady.span());
        remarks.error("plan.steady", place, message, help);
        return None;
    }
    Some(Some(SteadyRule {
        figure: match figure {
            SteadyFigure::Operations => schema::SteadyFigure::Operations,
            SteadyFigure::Bandwidth => schema::SteadyFigure::Bytes,
            SteadyFigure::Latency => schema::SteadyFigure::Latency,
        },
        by_slope,
        limit: match limit {
            SteadyBound::Share(share) => SteadyLimit::Share(share.value()),
            SteadyBound::Absolute(number) => SteadyLimit::Absolute(number),
        },
        samples: u32::try_from(samples).expect("at most SAMPLES_MAX"),
        every,
        after: *options.steady_after.get(),
        with_group: *options.steady_group.get(),
    }))
}

/// Warns of a window that is longer than the stream: it is never found to be steady.
pub(crate) fn judge_time(stream: &Named<StreamOptions>, limits: &StreamLimits, remarks: &mut Remarks) {
    let options = &stream.options;
    let (Some(rule), TimeLimit::Nanoseconds(time)) = (&limits.steady, limits.time) else { return };
    let window = rule.after.after(Nanos(rule.every.0.saturating_mul(u64::from(rule.samples))));
    if window.0 > time {
        let message = format!(
            "the steady state of the stream \"{}\" is never reached: its window is over after {window}, and the stream after {}",
            stream.name,
            Nanos(time)
        );
        let place = options.steady_window.span().or(options.steady.span());
        remarks.warn("plan.no-effect", place, message, "measure for longer, or change its steady_window");
    }
}

/// Shortest time that a depth is looked at: fio's window of 0 is one operation.
const WINDOW_MIN: Nanos = Nanos::micros(1);

/// How its workers find their queue depth; `None` when they cannot, which is then among the remarks.
#[expect(clippy::option_option, reason = "a fault, and no search, are two things")]
pub(crate) fn depth_search(
    stream: &Named<StreamOptions>,
    pacing: &Pacing,
    reads_back: bool,
    remarks: &mut Remarks,
) -> Option<Option<DepthSearch>> {
    let options = &stream.options;
    let Some(&target) = options.latency_target.get().filter(|&&target| target > Nanos::ZERO) else {
        return Some(None);
    };
    let fault = match pacing {
        Pacing::Open { .. } => {
            Some(("a rate, which sets how many operations are in flight", "leave the rate out"))
        }
        Pacing::Closed { .. } if reads_back => Some((
            "verification, whose reading back would be taken for the load",
            "leave verify out, or read back by another job",
        )),
        Pacing::Closed { .. } if options.rate_max.get().is_some() => {
            Some(("a rate_max, which holds operations back", "leave rate_max out"))
        }
        Pacing::Closed { .. } => None,
    };
    if let Some((what, help)) = fault {
        let message = format!("the stream \"{}\" has both a latency_target and {what}", stream.name);
        remarks.error("plan.depth-search", options.latency_target.span(), message, help);
        return None;
    }
    Some(Some(DepthSearch {
        target,
        window: (*options.latency_window.get()).max(WINDOW_MIN),
        share: options.latency_share.get().value(),
        goes_on: *options.latency_adapts.get(),
    }))
}

/// Bytes that a thread moves before it measures; `None` when that cannot be, which is then among the remarks.
pub(crate) fn ramp_bytes(
    stream: &Named<StreamOptions>,
    reads_back: bool,
    lanes: u32,
    remarks: &mut Remarks,
) -> Option<Quota> {
    let options = &stream.options;
    let Some(&bytes) = options.ramp_bytes.get().filter(|bytes| bytes.0 > 0) else {
        return Some(Quota::Unlimited);
    };
    let both = if options.ramp.get().is_some_and(|&ramp| ramp > Nanos::ZERO) {
        Some("a ramp")
    } else if options.latency_target.get().is_some() {
        Some("a latency_target, whose search comes before the measuring as well")
    } else if options.rate_course.get().is_some() {
        Some("a rate_course, which begins when the measuring does")
    } else {
        reads_back.then_some("verification, which reads back what it measures")
    };
    if let Some(both) = both {
        let message = format!("the stream \"{}\" has ramp_bytes and {both}", stream.name);
        remarks.error("plan.ramp-bytes", options.ramp_bytes.span(), message, "leave one of them out");
        return None;
    }
    Some(Quota::AtMost(bytes.0.div_ceil(u64::from(lanes))))
}
