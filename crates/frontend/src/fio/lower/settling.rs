//! fio's `steadystate` and `latency_target` as options of a stream.

use super::super::demands::Demands;
use super::super::faults::Faults;
use super::super::settings::Settings;
use fathom_model::{Span, Steady, SteadyBound, SteadyFigure, StreamOptions};
use fathom_units::{Nanos, Ratio};

/// Time between two samples unless `steadystate_check_interval` says otherwise, in microseconds: fio's second.
const SAMPLE_US: u64 = 1_000_000;

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

/// What ends a job as its steady state: the rule, and the microseconds of its window, before that, and of a sample.
pub(super) type Asked = (Steady, [u64; 3]);

/// What all jobs of a group have to ask for alike.
pub(super) fn asked(demands: &Demands) -> Option<Asked> {
    let Demands { steady, steady_window, steady_after, steady_every, .. } = *demands;
    let every = if steady_every > 0 { steady_every } else { SAMPLE_US };
    (steady_window > 0).then(|| (steady.unwrap_or_else(usual), [steady_window, steady_after, every]))
}

/// A job that asks for another steady state than those before it in its group, or for one where they do not. fio compares
/// all jobs of one number, whether `group_reporting` puts them together or not.
pub(super) fn refuse_differences(settings: &Settings, span: Span, faults: &mut Faults) {
    let names =
        ["steadystate", "steadystate_duration", "steadystate_ramp_time", "steadystate_check_interval"];
    let place = names.into_iter().fold(span, |place, name| settings.span(name, place));
    let message = "its steady state differs from that of the jobs before it in the same reporting group";
    let help = "set steadystate, ss_dur and ss_ramp alike in all of them, or begin another group with new_group or \
                stonewall";
    faults.error("fio.contradiction", place, message, help);
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
    let steady = steady.unwrap_or_else(usual);
    let every = if steady_every > 0 { steady_every } else { SAMPLE_US };
    if steady.by_slope && steady_window < every.saturating_mul(2) {
        // fio 3.33 ends such a job at its first sample: the slope is no number, which it takes for one within the limit.
        let (window, every) = (Nanos::micros(steady_window), Nanos::micros(every));
        let every_told = every.exact();
        let message = format!("ss_dur={window} has one sample of {every_told}, and a slope takes two");
        let help = format!("use ss_dur={} or longer, or a mean (ss=iops:1%)", every.after(every));
        faults.error("fio.bad-value", at, message, help);
        return;
    }
    options.steady.set(steady, settings.span("steadystate", at));
    options.steady_window.set(Nanos::micros(steady_window), at);
    options.steady_group.set(settings.report.group_reporting, settings.span("group_reporting", at));
    if steady_after > 0 {
        options.steady_after.set(Nanos::micros(steady_after), place("steadystate_ramp_time"));
    }
    if steady_every > 0 {
        options.steady_every.set(Nanos::micros(steady_every), place("steadystate_check_interval"));
    }
}
