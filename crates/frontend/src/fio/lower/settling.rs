//! fio's `steadystate` and `latency_target` as options of a stream.

use super::super::demands::Demands;
use super::super::faults::Faults;
use super::super::settings::Settings;
use fathom_model::{Span, Steady, SteadyBound, SteadyFigure, StreamOptions};
use fathom_units::{Nanos, Ratio};

/// What fio asks for where only the window is given: `iops_slope:0.01%`.
fn usual() -> Steady {
    let limit = SteadyBound::Share(Ratio::percent(0.01));
    Steady { figure: SteadyFigure::Operations, by_slope: true, limit }
}

/// Sets how the queue depth is found that keeps a latency. fio's window is 0 unless it is given.
pub(super) fn set_depth(options: &mut StreamOptions, settings: &Settings, span: Span) {
    let Demands { latency_target, latency_window, latency_percent, latency_run, .. } = settings.demands;
    if latency_target == 0 {
        return;
    }
    let place = |name| settings.span(name, span);
    options.latency_target.set(Nanos::micros(latency_target), place("latency_target"));
    options.latency_window.set(Nanos::micros(latency_window), place("latency_window"));
    if let Some(percent) = latency_percent {
        options.latency_share.set(Ratio::percent(percent), place("latency_percentile"));
    }
    if latency_run {
        options.latency_adapts.set(true, place("latency_run"));
    }
}

/// Sets what ends the stream as its steady state. As with fio there is none without a window.
pub(super) fn set(options: &mut StreamOptions, settings: &Settings, span: Span, faults: &mut Faults) {
    let Demands { steady, steady_window, steady_after, steady_every, .. } = settings.demands;
    let place = |name| settings.span(name, span);
    if steady_window == 0 {
        if steady.is_some() {
            let message = "steadystate has no effect without steadystate_duration";
            faults.warn("fio.no-effect", place("steadystate"), message, "add ss_dur=60");
        }
        return;
    }
    let at = place("steadystate_duration");
    options.steady.set(steady.unwrap_or_else(usual), settings.span("steadystate", at));
    options.steady_window.set(Nanos::micros(steady_window), at);
    options.steady_group.set(settings.report.group_reporting, settings.span("group_reporting", at));
    if steady_after > 0 {
        options.steady_after.set(Nanos::micros(steady_after), place("steadystate_ramp_time"));
    }
    if steady_every > 0 {
        options.steady_every.set(Nanos::micros(steady_every), place("steadystate_check_interval"));
    }
}
