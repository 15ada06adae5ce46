//! What contradicts the replay of a trace: it says itself which operations there are, where they go and when.

use crate::diagnostic::{Diagnostics, Span};
use crate::job::{Job, Named};
use crate::options::{StreamOptions, WorkloadOptions};
use crate::row::OptionValue;
use crate::value::{Engine, Verify};
use fathom_units::Nanos;

pub(super) fn check(job: &Job, stream: &Named<StreamOptions>, found: &mut Diagnostics) {
    let options = &stream.options;
    let Some(place) = options.trace.span() else {
        for (name, span) in [
            ("trace_timed", options.trace_timed.span()),
            ("trace_speed_percent", options.trace_speed_percent.span()),
            ("trace_scale", options.trace_scale.span()),
            ("trace_align", options.trace_align.span()),
            ("trace_skip", options.trace_skip.span()),
        ] {
            if let Some(span) = span {
                let message =
                    format!("{name} has no effect in the stream \"{}\": it replays no trace", stream.name);
                found.error("stream.no-trace", Some(span), message, "leave it out, or name a trace");
            }
        }
        return;
    };
    for (name, span) in contradictions(options) {
        if let Some(span) = span {
            let message = format!("the stream \"{}\" replays a trace and has {name}", stream.name);
            let help = format!("leave {name} out: a trace says which operations there are, where and when");
            found.error("stream.trace-and-option", span, message, help);
        }
    }
    if let Engine::FileCreate
    | Engine::FileStat
    | Engine::FileDelete
    | Engine::DirCreate
    | Engine::DirStat
    | Engine::DirDelete = options.engine.get()
    {
        let message = format!(
            "the engine {} works on names, and a trace on what is in files",
            options.engine.get().print()
        );
        let help = "leave engine out";
        found.error("stream.trace-and-option", options.engine.span(), message, help);
    }
    if *options.workers.get() > 1 {
        let message = format!(
            "the trace of the stream \"{}\" is replayed by {} workers",
            stream.name,
            options.workers.get()
        );
        let help = "one worker replays a trace; use a larger queue_depth";
        found.error("stream.trace-workers", options.workers.span().or(Some(place)), message, help);
    }
    if *options.think_time.get() > Nanos::ZERO && *options.trace_timed.get() {
        let message = "think_time and the times of a trace contradict each other";
        found.error("stream.trace-and-option", options.think_time.span(), message, "set trace_timed = false");
    }
    if let Some(align) = options.trace_align.get()
        && !align.0.is_power_of_two()
    {
        let message = format!("trace_align {align} is no power of two");
        found.error("stream.trace-align", options.trace_align.span(), message, "512B and 4KiB are usual");
    }
    if let Some(verify) = verify_of(job, stream) {
        let message = format!("what the trace of the stream \"{}\" writes is not verified", stream.name);
        found.error("stream.trace-and-option", Some(verify), message, "leave verify out");
    }
}

/// Options that say what a trace says.
fn contradictions(options: &StreamOptions) -> [(&'static str, Option<Span>); 17] {
    [
        ("rate", options.rate.span()),
        ("rate_course", options.rate_course.span()),
        ("rate_max", options.rate_max.span()),
        ("arrival", options.arrival.span()),
        ("backlog", options.backlog.span()),
        ("passes", options.passes.span()),
        ("pass_bytes", options.pass_bytes.span()),
        ("passes_suffice", options.passes_suffice.span()),
        ("bytes", options.bytes.span()),
        ("operations", options.operations.span()),
        ("offset", options.offset.span()),
        ("offset_per_worker", options.offset_per_worker.span()),
        ("size", options.size.span()),
        ("append", options.append.span()),
        ("fresh_files", options.fresh_files.span()),
        ("verify_until", options.verify_until.span()),
        ("until_full", options.until_full.span()),
    ]
}

/// Where the workload of a stream asks for verification.
fn verify_of(job: &Job, stream: &Named<StreamOptions>) -> Option<Span> {
    let named = |name: &str| job.workloads.iter().find(|workload| workload.name == name);
    let workload: Option<&Named<WorkloadOptions>> = match stream.options.workload.get() {
        Some(name) => named(name),
        None => named(&stream.name).or_else(|| job.workloads.first()),
    };
    let options = &workload?.options;
    options.verify.span().filter(|_| *options.verify.get() != Verify::None)
}
