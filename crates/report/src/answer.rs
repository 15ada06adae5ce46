//! The answer in words: what a run or a step found, in one sentence. Owns the wording that every shape for people shares;
//! does not know how it is drawn.

use crate::calendar;
use crate::table::visible;
use crate::tables::{extreme, percentile, seconds};
use crate::view::{
    ConnectionFigures, DriveFactSummary, DriveSummary, EnvironmentSummary, StepSummary, StreamSummary,
    Summary, TargetSummary, VerifySummary,
};
use fathom_units::{Bytes, BytesPerSec, Iops, Nanos};

/// Environment facts worth a line, recognised by where they were read.
const ENVIRONMENT_SHOWN: [&str; 7] = [
    "/osrelease",
    "/scaling_governor",
    "/current_clocksource",
    "/queue/scheduler",
    "/queue/write_cache",
    "/queue/nr_requests",
    "/md/sync_action",
];

/// The run's answer in one sentence.
pub(crate) fn headline(summary: &Summary) -> String {
    // What a condition ended is first of all that.
    let ended = summary.reason.as_ref().filter(|_| summary.state == "aborted");
    let ended = ended.map_or_else(String::new, |reason| {
        format!("Ended by a condition of the job ({}). ", visible(reason))
    });
    let steps = || format!("{ended}{}", steps_line(summary));
    match (summary.sentence(), &summary.unanswered) {
        (sentence, Some(unanswered)) => {
            let sentence = sentence.map(|sentence| sentence + " ").unwrap_or_default();
            format!("{} {sentence}{}", unanswered.sentence(), steps_line(summary))
        }
        // Thresholds say nothing of how fast it was.
        (Some(sentence), None) if summary.is_plain() => format!("{sentence} {}", steps()),
        (Some(sentence), None) => sentence,
        (None, None) => steps(),
    }
}

/// What the steps found, in one sentence.
pub(crate) fn steps_line(summary: &Summary) -> String {
    match summary.steps.as_slice() {
        [] => "nothing was measured".to_owned(),
        [step] => step_line(step),
        steps => {
            let best = steps.iter().max_by(|a, b| a.total.all.iops.total_cmp(&b.total.all.iops));
            let best = best.expect("there are at least two");
            format!("{} steps, the most IOPS in {}: {}", steps.len(), visible(&best.name), step_line(best))
        }
    }
}

/// A step's answer: what ran, rate, bandwidth, two percentiles, queue depth.
pub(crate) fn step_line(step: &StepSummary) -> String {
    let all = &step.total.all;
    let added = || step.streams.iter().filter(|stream| stream.adds_up);
    let mut workloads: Vec<&str> = added().map(|stream| stream.workload.as_str()).collect();
    workloads.dedup();
    let what = match workloads.as_slice() {
        [] => return "no I/O was asked for".to_owned(),
        [one] => (*one).to_owned(),
        many => format!("{} workloads together", many.len()),
    };
    if all.operations == 0 {
        return format!("{what}: no operation was completed");
    }
    let depth: u64 = added().map(|stream| stream.queue_depth).sum();
    let is_open = added().all(|stream| stream.rate_per_s.is_some());
    let load = if is_open {
        let asked: f64 = added().filter_map(|stream| stream.rate_per_s).sum();
        format!("at {} asked per second", Iops(asked))
    } else {
        format!("at queue depth {depth}")
    };
    // A sample too small for p99 still has a largest value.
    let tail = match all.response.percentile(99.0) {
        Some(ns) => format!("p99 {}", Nanos(ns).approximate()),
        None => format!("max {}", extreme(&all.response, all.response.max_ns)),
    };
    format!(
        "{what}: {} IOPS, {}, p50 {}, {tail} {load}",
        Iops(all.iops),
        BytesPerSec(all.bytes_per_s),
        percentile(&all.response, 50.0)
    )
}

/// What a stream is: workload, engine, workers and their depth.
pub(crate) fn what(stream: &StreamSummary) -> String {
    let mode = if stream.direct { "direct" } else { "buffered" };
    let plural = if stream.workers == 1 { "" } else { "s" };
    let depth = stream.queue_depth / stream.workers.max(1);
    format!(
        "{}, {} {mode}, {} worker{plural} × depth {depth}",
        stream.workload, stream.engine, stream.workers
    )
}

/// What is counted of streams beside their operations: the connections they opened, and what was read back of those that verify,
/// and whether it was what was written.
pub(crate) fn beside_operations(streams: &[StreamSummary]) -> Vec<String> {
    let mut lines = Vec::new();
    for stream in streams {
        let of = if streams.len() == 1 { String::new() } else { format!("{}: ", visible(&stream.name)) };
        if let Some(ConnectionFigures { count, per_s, mean_s, max_s }) = &stream.connections {
            lines.push(format!(
                "{of}{count} connections, {} a second, each open for {} on average and {} at most",
                Iops(*per_s),
                seconds(*mean_s),
                seconds(*max_s)
            ));
        }
        let Some(verified) = &stream.verified else { continue };
        let VerifySummary { checked, superseded, mismatches, mismatches_by_kind, read, elapsed_s } = verified;
        let kinds: Vec<String> =
            mismatches_by_kind.iter().map(|found| format!("{} {}", found.count, found.kind)).collect();
        let found = if *mismatches == 0 {
            "no mismatch".to_owned()
        } else {
            format!("{mismatches} MISMATCHES ({})", kinds.join(", "))
        };
        let mut line = format!("{of}verified {checked} blocks: {found}");
        if *superseded > 0 {
            line += &format!(
                "; {superseded} writes were overwritten before, at least in part, and are not checked"
            );
        }
        if read.operations > 0 {
            line += &format!(
                "; read back {} in {}, {}",
                Bytes(read.bytes).approximate(),
                seconds(*elapsed_s),
                BytesPerSec(read.bytes_per_s)
            );
        }
        lines.push(line);
    }
    lines
}

/// How the run ended, which it is, where and when.
pub(crate) fn circumstances(summary: &Summary) -> String {
    let reason = summary.reason.as_ref().map_or(String::new(), |reason| format!(": {}", visible(reason)));
    format!(
        "{}{reason}; run {} on {}, {}, fathom {}",
        summary.state.replace('_', " "),
        summary.run,
        visible(&summary.host.name),
        calendar::date_time(summary.started_ms),
        summary.tool_version
    )
}

/// Most targets that have a line in the environment.
const TARGETS_SHOWN: usize = 40;

/// The host, its targets and the environment facts worth a line, one line each.
pub(crate) fn environment(summary: &Summary) -> Vec<String> {
    let host = &summary.host;
    let model = if host.cpu_model.is_empty() { "unknown model" } else { &host.cpu_model };
    let memory = Bytes(host.memory_bytes).approximate();
    let mut lines = vec![format!("{} CPUs ({}), {memory} of memory", host.cpus, visible(model))];
    if let Some(ceiling) = host.ceiling_per_s {
        let engines: String = host
            .engine_ceilings_per_s
            .iter()
            .map(|(name, rate)| format!(", {} with {name} from the page cache", Iops(*rate)))
            .collect();
        lines.push(format!(
            "one worker of fathom reaches {} operations per second without a device{engines}",
            Iops(ceiling)
        ));
    }
    lines.extend(host.targets.iter().take(TARGETS_SHOWN).map(target));
    if let Some(more) = host.targets.len().checked_sub(TARGETS_SHOWN).filter(|more| *more > 0) {
        lines.push(format!("and {more} more targets, which are in JSON only"));
    }
    let shown = summary.environment.iter().filter(|fact| {
        ENVIRONMENT_SHOWN.iter().any(|source| fact.source.ends_with(source)) && fact.value.is_some()
    });
    for EnvironmentSummary { subject, name, value, bytes, source: _ } in shown {
        let size = bytes.map(|bytes| Bytes(bytes).approximate());
        let value = size.as_deref().or(value.as_deref()).unwrap_or_default().trim();
        let line = visible(&format!("{subject} {name}: {value}"));
        // One governor per CPU is one line, not sixty-four.
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.extend(summary.drives.iter().map(drive));
    lines
}

/// What a drive said of itself; of what was another at the run's end, both.
fn drive(DriveSummary { device, silent, facts }: &DriveSummary) -> String {
    let of = |fact: &DriveFactSummary| {
        let said = match (&fact.before, &fact.after) {
            (Some(before), Some(after)) if before != after => format!("{before} → {after}"),
            (before, after) => before.as_ref().or(after.as_ref()).cloned().unwrap_or_default(),
        };
        format!("{} {said}", fact.name)
    };
    let said = facts.iter().map(of).collect::<Vec<_>>().join(", ");
    let said = match silent {
        Some(why) if facts.is_empty() => format!("says nothing of its health ({why})"),
        Some(why) => format!("before the run {said}; says nothing after it ({why})"),
        None => said,
    };
    visible(&format!("drive {device}: {said}"))
}

fn target(target: &TargetSummary) -> String {
    let mut words = vec![target.kind.replace('_', " ")];
    words.extend(target.size_bytes.map(|size| Bytes(size).approximate()));
    words.extend(target.filesystem.as_ref().map(|kind| format!("on {kind}")));
    words.extend(target.device.as_ref().map(|name| format!("device {name}")));
    words.extend(target.model.clone().filter(|model| !model.is_empty()));
    visible(&format!("{}: {}", target.path, words.join(", ")))
}

/// A word of a command line as a shell takes it (POSIX shell, 2.2.2 single quotes). Control characters are made visible:
/// such a word is to be looked at before it is typed.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    let word = visible(word);
    if !word.is_empty() && word.chars().all(plain) {
        word
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::{drive, quoted};
    use crate::view::{DriveFactSummary, DriveSummary};

    #[test]
    fn drives_say_what_they_said_before_and_after() {
        let fact = |name: &str, before: Option<&str>, after: Option<&str>| DriveFactSummary {
            name: name.to_owned(),
            before: before.map(str::to_owned),
            after: after.map(str::to_owned),
        };
        let facts = vec![
            fact("wear", Some("3 %"), Some("3 %")),
            fact("pending sectors", Some("8"), Some("9")),
            fact("media errors", None, Some("1")),
            fact("spare", Some("9\u{1b} %"), None),
        ];
        let mut said = DriveSummary { device: "sda".to_owned(), silent: None, facts };
        let expect = r"drive sda: wear 3 %, pending sectors 8 → 9, media errors 1, spare 9\u{1b} %";
        assert_eq!(drive(&said), expect.replace(r"\\", r"\"));
        said.silent = Some("smartctl: Permission denied".to_owned());
        assert!(drive(&said).starts_with("drive sda: before the run wear 3 %, "), "{}", drive(&said));
        assert!(drive(&said).ends_with("; says nothing after it (smartctl: Permission denied)"));
        said.facts.clear();
        assert_eq!(drive(&said), "drive sda: says nothing of its health (smartctl: Permission denied)");
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        for (word, expect) in [
            ("--read=70%", "--read=70%"),
            ("a job.toml", "'a job.toml'"),
            ("it's", r"'it'\''s'"),
            ("$(reboot)", "'$(reboot)'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expect);
        }
    }
}
