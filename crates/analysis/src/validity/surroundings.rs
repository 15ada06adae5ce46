//! Checks of what lies around the measurement: caps that were set on fathom itself, what the target stands on, data that is
//! not there. Each reads facts that the probe took; none looks at a figure.

use super::{Found, StepView};
use fathom_schema::{
    DeviceNumber, EnvironmentFact, Facts, FileFact, OperationKind, Record, Severity, Step, Stream,
    TargetFact, TargetKind,
};
use fathom_units::Bytes;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Share of a file that may be missing before reads of it say nothing: a last block, an extent's slack.
const UNWRITTEN_MAX: f64 = 0.02;
/// Share of a filesystem that should be free: below, many look for room longer than they write.
const FREE_MIN: f64 = 0.05;

/// Checks of the run as a whole.
pub(super) fn run(record: &Record, found: &mut Found) {
    let facts = &record.started.facts;
    for fact in &facts.environment {
        let Some(value) = fact.value.as_deref().map(str::trim).filter(|value| !value.is_empty()) else {
            continue;
        };
        of_fact(facts, fact, value, found);
    }
    links(&facts.environment, found);
    full_filesystems(record, found);
}

/// Checks of one step.
pub(super) fn step(view: &StepView<'_>, found: &mut Found) {
    unwritten(view, found);
    in_memory(view, found);
    short_queues(view, found);
    caps_that_were_set(view, found);
    let changes = || view.step.finished.iter().flat_map(|finished| &finished.environment_changes);
    for fact in changes().filter(|fact| fact.name.ends_with("throttle count")) {
        found.add(
            "environment.throttled",
            Severity::Warn,
            format!("{}the {} rose while it was measured", view.place(), fact.name),
            "the processor was slowed down for its temperature: cool it, and run it again",
        );
    }
}

/// Caps that were set, or came with another control group, while the step ran; those that were there before are told
/// of the run.
fn caps_that_were_set(view: &StepView<'_>, found: &mut Found) {
    let facts = &view.record.started.facts;
    let known = &facts.environment;
    let was_capped = |fact: &EnvironmentFact| {
        let same = |known: &&EnvironmentFact| known.subject == fact.subject && known.name == fact.name;
        known
            .iter()
            .filter(same)
            .any(|known| known.value.as_deref().is_some_and(|value| cap(facts, known, value).is_some()))
    };
    for fact in view.step.finished.iter().flat_map(|finished| &finished.environment_changes) {
        let Some(value) = fact.value.as_deref().map(str::trim) else { continue };
        if let Some(Cap { id, value, remedy }) = cap(facts, fact, value).filter(|_| !was_capped(fact)) {
            let EnvironmentFact { subject, name, .. } = fact;
            let seen = format!("{}{subject} {name} became {value} while it was measured", view.place());
            found.add(id, Severity::Warn, seen, remedy);
        }
    }
}

/// A cap of a control group.
struct Cap {
    id: &'static str,
    /// What it says, of what is measured.
    value: String,
    remedy: &'static str,
}

/// What a fact about a control group caps of what is measured.
fn cap(facts: &Facts, fact: &EnvironmentFact, value: &str) -> Option<Cap> {
    match (fact.subject.as_str(), fact.name.as_str()) {
        ("cgroup", "cpu.max" | "cpu.cfs_quota_us") => Some(Cap {
            id: "cgroup.cpu-limit",
            value: caps_processors(&facts.environment, value)?,
            remedy: "fathom may not use all of its processors: the limit may be measured instead of the target",
        }),
        ("cgroup", file) => Some(Cap {
            id: "cgroup.io-limit",
            value: caps_io(facts, file, value)?,
            remedy: "a control group caps the rate of a device: run outside of it to measure the device",
        }),
        _ => None,
    }
}

fn of_fact(facts: &Facts, fact: &EnvironmentFact, value: &str, found: &mut Found) {
    let EnvironmentFact { subject, name, .. } = fact;
    let seen = || format!("{subject} {name} is {value}");
    if let Some(Cap { id, value, remedy }) = cap(facts, fact, value) {
        found.add(id, Severity::Warn, format!("{subject} {name} is {value}"), remedy);
    }
    match (subject.as_str(), name.as_str()) {
        (_, "loop dio") if value == "0" => found.add(
            "device.loop-buffered",
            Severity::Warn,
            seen(),
            "the loop device goes through the page cache of its file: make it with `losetup --direct-io=on`",
        ),
        (_, "alignment") if value.contains(" off ") => found.add(
            "device.misaligned",
            Severity::Warn,
            seen(),
            "blocks of the partition straddle those of the disk: align the partition",
        ),
        _ => {}
    }
}

/// The name of a group, empty for the own one, and what it says: `50000 100000; /outer: max 100000`.
fn of_groups(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("; ").map(|group| group.split_once(": ").unwrap_or(("", group)))
}

/// With the name of the group that says it.
fn said_by(group: &str, what: &str) -> String {
    if group.is_empty() { what.to_owned() } else { format!("{group}: {what}") }
}

/// The groups with a quota: version 2 says `max` where there is none, version 1 says −1 and has the period in another file.
fn caps_processors(known: &[EnvironmentFact], text: &str) -> Option<String> {
    let mut periods =
        known.iter().filter(|fact| fact.subject == "cgroup" && fact.name == "cpu.cfs_period_us");
    let periods = periods.next().and_then(|fact| fact.value.as_deref()).unwrap_or_default();
    let capped = of_groups(text).filter_map(|(group, value)| {
        let mut words = value.split_whitespace();
        let quota = words.next().filter(|quota| *quota != "max" && !quota.starts_with('-'))?;
        let elsewhere = || {
            of_groups(periods).find(|(other, period)| *other == group && !period.is_empty()).map(|of| of.1)
        };
        let Some(period) = words.next().or_else(elsewhere) else { return Some(said_by(group, quota)) };
        let share = quota.parse::<f64>().ok()? / period.trim().parse::<f64>().ok()?;
        let share = format!("{share:.2}").trim_end_matches('0').trim_end_matches('.').to_owned();
        Some(said_by(group, &format!("{quota} of {} µs, {share} of one processor", period.trim())))
    });
    let capped: Vec<String> = capped.collect();
    (!capped.is_empty()).then(|| capped.join("; "))
}

/// What is capped of the devices under the targets, group by group: `8:0 rbps=1048576 wbps=max` in version 2, `8:0 4096` in
/// version 1.
fn caps_io(facts: &Facts, file: &str, text: &str) -> Option<String> {
    let is_capped = |limits: &str| match file {
        "io.max" => {
            let mut limits = limits.split_whitespace().filter_map(|word| word.split_once('='));
            limits.any(|(_, limit)| limit != "max")
        }
        file => file.starts_with("blkio.throttle.") && !limits.trim().is_empty(),
    };
    let is_ours = |entry: &&str| {
        let (number, limits) = entry.trim().split_once(' ').unwrap_or((entry, ""));
        is_capped(limits) && may_be_under_targets(facts, number)
    };
    let groups = of_groups(text).filter_map(|(group, entries)| {
        let ours: Vec<&str> = entries.split(',').filter(is_ours).map(str::trim).collect();
        (!ours.is_empty()).then(|| said_by(group, &ours.join(", ")))
    });
    let groups: Vec<String> = groups.collect();
    (!groups.is_empty()).then(|| groups.join("; "))
}

/// Whether a device of this number may be what targets lie on. Caps are of whole disks; which one is under a partition, a
/// volume, an array or a loop device is not known by its number.
fn may_be_under_targets(facts: &Facts, number: &str) -> bool {
    let parsed =
        number.split_once(':').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let Some((major, minor)) = parsed else { return true };
    let number = DeviceNumber { major, minor };
    let mut on_devices = facts.targets.iter().filter_map(|target| target.device.as_ref()).peekable();
    // A filesystem of a network, or one whose device is not known.
    on_devices.peek().is_none()
        || on_devices.any(|device| {
            let is_stacked = ["dm-", "md", "loop", "bcache", "drbd", "rbd"]
                .iter()
                .any(|kind| device.disk.starts_with(kind));
            let is_part = device.name != device.disk;
            device.number == number || is_stacked || is_part && device.number.major == number.major
        })
}

/// A link that is slower or narrower than both its ends could.
fn links(facts: &[EnvironmentFact], found: &mut Found) {
    for fact in facts.iter().filter(|fact| fact.name == "pcie link speed" || fact.name == "pcie link width") {
        let most = facts
            .iter()
            .find(|other| other.subject == fact.subject && other.name == format!("{} max", fact.name));
        // `8.0 GT/s PCIe`, `4`.
        let number = |fact: &EnvironmentFact| -> Option<f64> {
            fact.value.as_ref()?.split_whitespace().next()?.parse().ok()
        };
        if let (Some(now), Some(most)) = (number(fact), most.and_then(number))
            && now < most
        {
            found.add(
                "device.link-slow",
                Severity::Warn,
                format!("{} {} is {now} of {most}", fact.subject, fact.name),
                "the device is connected more slowly than it could be: look at its slot, cable and power saving",
            );
        }
    }
}

/// Filesystems under targets that are written, with hardly any room.
fn full_filesystems(record: &Record, found: &mut Found) {
    let writes = |stream: &Stream| stream.workload.cases.iter().any(|case| case.kind == OperationKind::Write);
    let writing =
        record.steps.iter().map(|step| &step.started.step).filter(|step| step.streams.iter().any(writes));
    let written: HashSet<&PathBuf> = writing.flat_map(|step| &step.targets).filter_map(path_of).collect();
    let mut told = BTreeSet::new();
    for target in &record.started.facts.targets {
        let Some(filesystem) = &target.filesystem else { continue };
        let is_written = written.contains(&target.path) && told.insert(&filesystem.mount_point);
        let free = filesystem.available.0 as f64 / filesystem.size.0.max(1) as f64;
        if is_written && filesystem.size.0 > 0 && free < FREE_MIN {
            found.weighed(
                -free,
                "filesystem.nearly-full",
                Severity::Warn,
                format!(
                    "{} has {} free of {}",
                    filesystem.mount_point.display(),
                    filesystem.available.approximate(),
                    filesystem.size.approximate()
                ),
                "a full filesystem looks for room longer than it writes: free some, or say that it is meant so",
            );
        }
    }
}

fn path_of(target: &fathom_schema::Target) -> Option<&PathBuf> {
    match &target.kind {
        TargetKind::File { path, .. }
        | TargetKind::Folder { path, .. }
        | TargetKind::BlockDevice { path } => Some(path),
        TargetKind::MemoryDevice { .. } | TargetKind::Null | TargetKind::Sim(_) | TargetKind::Peer(_) => None,
    }
}

/// Reads of a file that has holes, which the filesystem answers by itself.
fn unwritten(view: &StepView<'_>, found: &mut Found) {
    let step = &view.step.started.step;
    let facts = view.record.started.facts.by_path();
    for stream in &step.streams {
        let kinds = || stream.workload.cases.iter().map(|case| case.kind);
        if kinds().any(|kind| kind == OperationKind::Write)
            || !kinds().any(|kind| kind == OperationKind::Read)
        {
            continue;
        }
        let extents = stream.workers.iter().flat_map(|worker| &worker.extents);
        let mut seen = Vec::new();
        for target in extents.filter_map(|extent| step.targets.get(extent.target as usize)) {
            let Some(TargetFact { file: Some(file), path, .. }) = fact_of(&facts, target) else {
                continue;
            };
            let share = holes_read(view, path, file);
            if share <= UNWRITTEN_MAX || seen.contains(&path) {
                continue;
            }
            seen.push(path);
            found.weighed(
                share,
                "target.unwritten",
                Severity::Invalid,
                format!(
                    "{}of {} only {} are written: {:.0} % of the reads find holes",
                    view.stream_place(stream),
                    path.display(),
                    Bytes(file.written.0).approximate(),
                    share * 100.0
                ),
                "reads of holes never reach the device: write the file in full first",
            );
        }
    }
}

/// Whether it is told that what is read of a file has holes.
pub(super) fn is_told_unwritten(view: &StepView<'_>, path: &Path, file: &FileFact) -> bool {
    holes_read(view, path, file) > UNWRITTEN_MAX
}

/// The share of what a step reads of a file that is holes, at least: where they are is not known, so that all that is written may lie where
/// it reads, be it from before the run or of the run itself.
fn holes_read(view: &StepView<'_>, path: &Path, file: &FileFact) -> f64 {
    // What fathom made it also fills before it reads.
    if file.made_by_fathom {
        return 0.0;
    }
    let read = reach(&view.step.started.step, path, OperationKind::Read).min(file.size.0);
    let own = view.step.started.index;
    let steps = view.record.steps.iter().filter(|step| step.started.index <= own);
    let of_run = steps.map(|step| {
        let moved = step.finished.as_ref().map_or(u64::MAX, |finished| {
            let workers = finished.streams.iter().flat_map(|stream| &stream.workers);
            let kinds = workers.flat_map(|worker| &worker.tally.kinds);
            kinds.filter(|kind| kind.kind == OperationKind::Write).map(|kind| kind.bytes).sum()
        });
        reach(&step.started.step, path, OperationKind::Write).min(moved)
    });
    let written = of_run.fold(file.written.0, u64::saturating_add);
    read.saturating_sub(written) as f64 / read.max(1) as f64
}

/// Bytes of a path that operations of a kind come to, each counted once.
fn reach(step: &Step, path: &Path, kind: OperationKind) -> u64 {
    let does = |stream: &&Stream| stream.workload.cases.iter().any(|case| case.kind == kind);
    let workers = step.streams.iter().filter(does).flat_map(|stream| &stream.workers);
    let is_meant =
        |target: u32| step.targets.get(target as usize).and_then(path_of).is_some_and(|found| found == path);
    let extents = workers.flat_map(|worker| &worker.extents).filter(|extent| is_meant(extent.target));
    let mut parts: Vec<(u64, u64)> =
        extents.map(|extent| (extent.start.0, extent.start.0.saturating_add(extent.length.0))).collect();
    parts.sort_unstable();
    let (mut bytes, mut until) = (0_u64, 0);
    for (start, end) in parts {
        bytes = bytes.saturating_add(end.saturating_sub(start.max(until)));
        until = until.max(end);
    }
    bytes
}

/// Files that lie in memory, whatever I/O is asked for.
fn in_memory(view: &StepView<'_>, found: &mut Found) {
    let facts = view.record.started.facts.by_path();
    let streams = view.streams().map(|(stream, _)| stream).filter(|stream| view.is_real(stream));
    let extents = streams.flat_map(|stream| &stream.workers).flat_map(|worker| &worker.extents);
    let used: BTreeSet<u32> = extents.map(|extent| extent.target).collect();
    let targets = &view.step.started.step.targets;
    let in_memory = used.iter().filter_map(|&index| targets.get(index as usize)).filter_map(|target| {
        let filesystem = fact_of(&facts, target)?.filesystem.as_ref()?;
        let is_file = matches!(target.kind, TargetKind::File { .. });
        (is_file && filesystem.is_in_memory()).then_some((target, filesystem))
    });
    for (target, filesystem) in in_memory {
        found.add(
            "target.in-memory",
            Severity::Invalid,
            format!(
                "{}{} is on {} at {}, which keeps files in memory",
                view.place(),
                target.name,
                filesystem.kind,
                filesystem.mount_point.display()
            ),
            "memory is measured, and no device: put the file on a filesystem that lies on the device, or name the device",
        );
    }
}

fn fact_of<'a>(
    facts: &HashMap<&Path, &'a TargetFact>,
    target: &fathom_schema::Target,
) -> Option<&'a TargetFact> {
    facts.get(path_of(target)?.as_path()).copied()
}

/// More operations in flight than the kernel's queue of the device takes.
fn short_queues(view: &StepView<'_>, found: &mut Found) {
    let step = &view.step.started.step;
    let facts = &view.record.started.facts;
    let by_path = facts.by_path();
    let mut on_target = vec![0_u64; step.targets.len()];
    for stream in &step.streams {
        for worker in &stream.workers {
            let targets: BTreeSet<u32> = worker.extents.iter().map(|extent| extent.target).collect();
            for target in targets {
                if let Some(in_flight) = on_target.get_mut(target as usize) {
                    *in_flight += u64::from(stream.queue_depth);
                }
            }
        }
    }
    for (target, &in_flight) in step.targets.iter().zip(&on_target) {
        let Some(device) = fact_of(&by_path, target).and_then(|fact| fact.device.as_ref()) else { continue };
        let number = |name: &str| -> Option<u64> {
            let subject = format!("device {}", device.disk);
            let found = facts.environment.iter().find(|fact| fact.subject == subject && fact.name == name);
            found?.value.as_ref()?.trim().parse().ok()
        };
        let Some(requests) = number("queue nr_requests") else { continue };
        let room = requests * number("hardware queues").unwrap_or(1).max(1);
        if in_flight > room {
            found.weighed(
                in_flight as f64 / room.max(1) as f64,
                "device.queue-short",
                Severity::Info,
                format!(
                    "{}{in_flight} operations in flight, {room} fit into the queue of {}",
                    view.place(),
                    device.disk
                ),
                "the rest waits in the kernel before the device sees it, which counts in its latency",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_are_told_as_a_share_with_the_group_that_sets_them() {
        let period = |value: &str| EnvironmentFact {
            subject: "cgroup".to_owned(),
            name: "cpu.cfs_period_us".to_owned(),
            value: Some(value.to_owned()),
            source: String::new(),
        };
        let known = [period("100000; /: 250000")];
        for (known, text, expect) in [
            (&[][..], "50000 100000; /outer: max 100000", Some("50000 of 100000 µs, 0.5 of one processor")),
            (
                &[],
                "max 100000; /outer: 300000 100000",
                Some("/outer: 300000 of 100000 µs, 3 of one processor"),
            ),
            (&[], "max 100000", None),
            (&known, "50000; /: -1", Some("50000 of 100000 µs, 0.5 of one processor")),
            (&known, "-1; /: 25000", Some("/: 25000 of 250000 µs, 0.1 of one processor")),
            (&[], "50000", Some("50000")),
        ] {
            assert_eq!(caps_processors(known, text).as_deref(), expect, "{text}");
        }
    }
}
