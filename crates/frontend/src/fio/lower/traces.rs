//! A fio job that replays a trace: what of it still counts, and where its operations go. What is in the trace is not read
//! here.

use super::super::ParsedJob;
use super::super::faults::Faults;
use super::super::settings::Settings;
use fathom_model::{Layout, Named, StreamOptions, TargetOptions, TraceSkips};
use fathom_units::Bytes;

/// Options that say what a trace says itself; fio passes over them in silence.
const SAID_BY_TRACE: [&str; 26] = [
    "rw",
    "bs",
    "bsrange",
    "bssplit",
    "ba",
    "size",
    "io_size",
    "offset",
    "offset_increment",
    "rwmixread",
    "rwmixwrite",
    "random_distribution",
    "percentage_random",
    "zonemode",
    "zonesize",
    "filename",
    "directory",
    "nrfiles",
    "filesize",
    "loops",
    "number_ios",
    "time_based",
    "fsync",
    "fdatasync",
    "sync_file_range",
    "unlink",
];

/// The job without what its trace says itself.
pub(super) fn bare(parsed: &ParsedJob, faults: &mut Faults) -> ParsedJob {
    let ParsedJob { name, section, span, settings, options } = parsed;
    let given: Vec<&str> = SAID_BY_TRACE.into_iter().filter(|name| settings.has(name)).collect();
    let place = settings.span("read_iolog", *span);
    if let Some((last, rest)) = given.split_last() {
        let which =
            if rest.is_empty() { (*last).to_owned() } else { format!("{} and {last}", rest.join(", ")) };
        let verb = if rest.is_empty() { "has" } else { "have" };
        let message = format!(
            "{which} {verb} no effect: the trace says which operations there are, and on which files"
        );
        faults.warn("fio.no-effect", place, message, "leave it out; replay_redirect names another file");
    }
    let plain = Settings::default();
    let mut settings = settings.clone();
    if settings.report.iolog.take().is_some() {
        let message = "write_iolog has no effect: a trace that is replayed is not written again, as with fio";
        faults.warn("fio.no-effect", settings.span("write_iolog", *span), message, "leave it out");
    }
    let had = std::mem::replace(&mut settings.operations, plain.operations);
    (settings.operations.seed, settings.operations.rand_repeat) = (had.seed, had.rand_repeat);
    settings.operations.all_rand_repeat = had.all_rand_repeat;
    (settings.content.fsync, settings.content.fdatasync) = (0, 0);
    settings.content.range_sync = plain.content.range_sync;
    let (invalidate, advice) = (settings.files.invalidate, settings.files.advice.clone());
    let (pre_read, allow_create) = (settings.files.pre_read, settings.files.allow_create);
    settings.files = plain.files;
    settings.files.allow_create = allow_create;
    (settings.files.invalidate, settings.files.advice, settings.files.pre_read) =
        (invalidate, advice, pre_read);
    settings.control.loops = 1;
    settings.control.number_ios = 0;
    settings.control.time_based = false;
    ParsedJob {
        name: name.clone(),
        section: section.clone(),
        span: *span,
        settings,
        options: options.clone(),
    }
}

impl super::Lowering<'_> {
    /// The trace of a clone, and the one target that takes all of it, where there is one.
    pub(super) fn set_trace(&mut self, stream: &mut StreamOptions, parsed: &ParsedJob, subjob: u32) {
        let (settings, span) = (&parsed.settings, parsed.span);
        let place = |name| settings.span(name, span);
        let trace = &settings.trace;
        let file = &trace.files[subjob as usize % trace.files.len()];
        stream.trace.set(file.clone(), place("read_iolog"));
        if trace.no_stall {
            stream.trace_timed.set(false, place("replay_no_stall"));
        }
        if !settings.files.allow_create {
            stream.trace_makes_files.set(false, place("allow_file_create"));
        }
        if trace.percent != 100 {
            let percent = u32::try_from(trace.percent).unwrap_or(u32::MAX);
            stream.trace_speed_percent.set(percent, place("replay_time_scale"));
        }
        if trace.scale > 1 {
            stream.trace_scale.set(trace.scale, place("replay_scale"));
        }
        if trace.align > 1 {
            stream.trace_align.set(Bytes(trace.align), place("replay_align"));
        }
        let [reads, writes, trims, syncs] = trace.skip;
        if reads || writes || trims || syncs {
            stream.trace_skip.set(TraceSkips { reads, writes, trims, syncs }, place("replay_skip"));
        }
        if let Some(redirect) = &trace.redirect {
            let mut options = TargetOptions::default();
            options.path.set(vec![redirect.clone()], place("replay_redirect"));
            // A file is not laid out unless it is read, which the trace says.
            let layout = if settings.files.allow_create { Layout::Written } else { Layout::MustExist };
            options.layout.set(layout, place("replay_redirect"));
            let name = self.targets.unique_name(redirect);
            stream.targets.set(vec![name.clone()], place("replay_redirect"));
            self.job.targets.push(Named { name, span, options });
        }
    }
}
