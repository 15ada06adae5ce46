//! Checks of what others did to the host and to the devices while a step was measured, by what the host counts of itself at
//! both edges; and of what is asked of a device that it may do without.

use super::{Found, StepView};
use fathom_schema::{
    EngineKind, Fill, Gauges, OperationKind, Pressure, Question, Record, Severity, Stream, TargetKind,
};
use fathom_units::Bytes;
use std::collections::BTreeMap;

/// Share of the processors' time that a hypervisor may give to others: beyond, latencies have the pauses of a whole guest in
/// them.
const STOLEN_MAX: f64 = 0.01;
/// Fewest ticks that are any share of a time: a single one is what the kernel rounds a moment to, and of a step that is as short it
/// is all.
const STOLEN_TICKS_MIN: f64 = 2.0;
/// Fewest ticks of all processors that a share is told of: of a step of milliseconds one tick may be most.
const TICKS_MIN: f64 = 100.0;
/// The kernel adds up pressure every two seconds only (`PSI_FREQ` of `kernel/sched/psi.c`): what a shorter step is told may
/// have come before it. Microseconds.
const PRESSURE_MIN_US: f64 = 4e6;
/// Share of the time in which some task waits for memory.
const MEMORY_WAIT_MAX: f64 = 0.01;
/// Share of the time in which some task waits for a processor. Workers that share one with anything show below that.
const CPU_WAIT_MAX: f64 = 0.25;
/// Part of a device below which its own cache may hold all that is asked of it.
const PART_MIN: f64 = 0.01;
/// What no cache inside of a drive holds: the largest of the field have 4 GiB of DRAM.
const DRIVE_CACHE_MAX: Bytes = Bytes::gib(4);

/// Checks of one step.
pub(super) fn step(view: &StepView<'_>, found: &mut Found) {
    // Nothing on the host touches a device that is only computed.
    let is_virtual = |stream: &Stream| stream.engine.kind == EngineKind::Sim;
    if view.step.started.step.streams.iter().all(is_virtual) {
        return;
    }
    if let (Some(before), Some(finished)) = (&view.step.started.gauges, &view.step.finished)
        && let Some(after) = &finished.gauges
    {
        if !is_scan(view.record) {
            others(&view.place(), before, after, finished.elapsed.0 as f64 / 1e3, found);
        }
        heat(view, after, found);
    }
    small_part(view, found);
    compressed(view, found);
}

/// The steps of a scan are many and short: what others did meanwhile is of all of them together.
pub(super) fn scanned(record: &Record, found: &mut Found) {
    if !is_scan(record) {
        return;
    }
    let (mut all, mut elapsed_us) = (Gauges::default(), 0.0);
    for step in &record.steps {
        let Some(finished) = &step.finished else { continue };
        let Some((before, after)) = step.started.gauges.as_ref().zip(finished.gauges.as_ref()) else {
            continue;
        };
        elapsed_us += finished.elapsed.0 as f64 / 1e3;
        all.processor_ticks += after.processor_ticks.saturating_sub(before.processor_ticks);
        all.stolen_ticks += after.stolen_ticks.saturating_sub(before.stolen_ticks);
        for one in &after.pressure {
            let is_same = |other: &&Pressure| other.resource == one.resource;
            let Some(known) = before.pressure.iter().find(is_same) else { continue };
            let waited_us = one.waited_us.saturating_sub(known.waited_us);
            match all.pressure.iter_mut().find(|other| other.resource == one.resource) {
                Some(sum) => sum.waited_us += waited_us,
                None => all.pressure.push(Pressure { resource: one.resource.clone(), waited_us }),
            }
        }
    }
    let none = |one: &Pressure| Pressure { resource: one.resource.clone(), waited_us: 0 };
    let before = Gauges { pressure: all.pressure.iter().map(none).collect(), ..Gauges::default() };
    others("", &before, &all, elapsed_us, found);
}

fn is_scan(record: &Record) -> bool {
    matches!(record.started.question, Some(Question::Scan(_)))
}

fn others(place: &str, before: &Gauges, after: &Gauges, elapsed_us: f64, found: &mut Found) {
    let ticks = after.processor_ticks.saturating_sub(before.processor_ticks) as f64;
    let stolen = after.stolen_ticks.saturating_sub(before.stolen_ticks) as f64;
    if ticks >= TICKS_MIN && stolen >= STOLEN_TICKS_MIN && stolen / ticks > STOLEN_MAX {
        found.weighed(
            stolen / ticks,
            "host.stolen-time",
            Severity::Warn,
            format!("{place}{:.1} % of the processors' time went to other guests", 100.0 * stolen / ticks),
            "the hypervisor halted this host while it was measured: run it where processors are its own",
        );
    }
    let waited = |resource: &str| {
        let of = |gauges: &Gauges| {
            gauges.pressure.iter().find(|pressure| pressure.resource == resource).map(|one| one.waited_us)
        };
        let waited_us = of(after)?.saturating_sub(of(before)?) as f64;
        (elapsed_us >= PRESSURE_MIN_US).then(|| (waited_us / elapsed_us).min(1.0))
    };
    for (resource, most, id, remedy) in [
        (
            "memory",
            MEMORY_WAIT_MAX,
            "host.memory-pressure",
            "pages were taken away and brought back while it was measured: free memory, or use smaller buffers",
        ),
        (
            "cpu",
            CPU_WAIT_MAX,
            "host.cpu-pressure",
            "more was to be computed than processors are there: end what else runs, or use fewer workers",
        ),
    ] {
        if let Some(share) = waited(resource).filter(|share| *share > most) {
            let percent = share * 100.0;
            let evidence = format!("{place}something waited for {resource} in {percent:.0} % of the time");
            found.weighed(share, id, Severity::Warn, evidence, remedy);
        }
    }
}

/// A device at the temperature from which on it warns slows itself down to cool.
fn heat(view: &StepView<'_>, after: &Gauges, found: &mut Found) {
    for sensor in &after.temperatures {
        let Some(limit) = sensor.warns_at.filter(|limit| *limit > 0 && sensor.now >= *limit) else {
            continue;
        };
        let degrees = |thousandths: i64| thousandths as f64 / 1000.0;
        found.weighed(
            (sensor.now - limit) as f64,
            "device.hot",
            Severity::Warn,
            format!(
                "{}{} was at {:.0} °C in the end and warns from {:.0} °C on",
                view.place(),
                sensor.device,
                degrees(sensor.now),
                degrees(limit)
            ),
            "a hot device slows itself down: cool it, and run it again",
        );
    }
}

/// So little of a device is addressed that its own cache may hold it.
fn small_part(view: &StepView<'_>, found: &mut Found) {
    // Each step of a scan is of a place; together they go over all of it.
    if is_scan(view.record) {
        return;
    }
    let step = &view.step.started.step;
    let facts = view.record.started.facts.by_path();
    let mut ends: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for extent in step.streams.iter().flat_map(|stream| &stream.workers).flat_map(|worker| &worker.extents) {
        let (start, end) = (extent.start.0, extent.start.0.saturating_add(extent.length.0));
        let known = ends.entry(extent.target).or_insert((start, end));
        *known = (known.0.min(start), known.1.max(end));
    }
    for (target, (start, end)) in ends {
        let Some(target) = step.targets.get(target as usize) else { continue };
        let TargetKind::BlockDevice { path } = &target.kind else { continue };
        let Some(device) = facts.get(path.as_path()).and_then(|fact| fact.device.as_ref()) else { continue };
        let addressed = Bytes(end - start);
        if addressed < DRIVE_CACHE_MAX && (addressed.0 as f64) < device.size.0 as f64 * PART_MIN {
            found.weighed(
                -(addressed.0 as f64),
                "device.small-part",
                Severity::Info,
                format!(
                    "{}{} of the {} of {} are addressed",
                    view.place(),
                    addressed.approximate(),
                    device.size.approximate(),
                    device.name
                ),
                "the device's own cache may hold all of that: address a larger part to measure what is behind it",
            );
        }
    }
}

/// What is written compresses or repeats, and something under it makes use of that.
fn compressed(view: &StepView<'_>, found: &mut Found) {
    for (stream, _) in view.streams() {
        let writes = stream.workload.cases.iter().any(|case| case.kind == OperationKind::Write);
        let content = &stream.workload.content;
        let what = match content.fill {
            Fill::Zero => "zeroes",
            Fill::Pattern(_) | Fill::Random if content.compressible.value() > 0.0 => "data that compresses",
            Fill::Pattern(_) => "a pattern over and over",
            Fill::Random if content.dedupable.value() > 0.0 => "data that repeats",
            Fill::Random => continue,
        };
        if !writes || !view.is_real(stream) {
            continue;
        }
        if let Some(by) = compressor(view, stream) {
            found.add(
                "data.compressed",
                Severity::Warn,
                format!("{}writes carry {what}, and {by}", view.stream_place(stream)),
                "less reaches the device than is counted: write random data, or say that it is meant so",
            );
        }
    }
}

/// What under a stream's targets compresses or looks for repetition, as far as the kernel shows it.
fn compressor(view: &StepView<'_>, stream: &Stream) -> Option<String> {
    let facts = &view.record.started.facts;
    let by_path = facts.by_path();
    let targets = &view.step.started.step.targets;
    let extents = stream.workers.iter().flat_map(|worker| &worker.extents);
    extents.filter_map(|extent| targets.get(extent.target as usize)).find_map(|target| {
        let (TargetKind::File { path, .. } | TargetKind::BlockDevice { path }) = &target.kind else {
            return None;
        };
        let fact = by_path.get(path.as_path())?;
        let filesystem = fact.filesystem.as_ref().filter(|_| matches!(target.kind, TargetKind::File { .. }));
        if let Some(filesystem) = filesystem {
            let asked = filesystem.options.split(',').any(|option| option.starts_with("compress"));
            let compresses = match filesystem.kind.as_str() {
                // Compresses unless it is told not to, since OpenZFS 2.0 with lz4.
                "zfs" => true,
                "btrfs" | "f2fs" | "bcachefs" => asked,
                _ => false,
            };
            if compresses {
                return Some(format!(
                    "{} at {} compresses",
                    filesystem.kind,
                    filesystem.mount_point.display()
                ));
            }
        }
        let disk = &fact.device.as_ref()?.disk;
        let subject = format!("device {disk}");
        let volume =
            facts.environment.iter().find(|fact| fact.subject == subject && fact.name == "dm uuid")?;
        let is_vdo = volume.value.as_ref().is_some_and(|uuid| uuid.contains("VDO-"));
        is_vdo.then(|| format!("{disk} is a VDO volume, which compresses and keeps what repeats once"))
    })
}
