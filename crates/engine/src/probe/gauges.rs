//! What the host counts and measures of itself, at the edges of a step and between them. Reads procfs and sysfs.

use super::block::{Blocks, Node};
use super::counters::device_counters_at;
use super::devices_of;
use super::roots::{Roots, names, text};
use fathom_schema::{DeviceCounters, DeviceNumber, DeviceUse, Gauges, Pressure, TargetFact, Temperature};
use std::path::PathBuf;

/// What this host says of itself and of the devices under `targets` now.
pub fn gauges(targets: &[TargetFact]) -> Gauges {
    gauges_at(&Roots::default(), targets)
}

/// As [`gauges`], on a host whose kernel shows itself at `roots`.
pub fn gauges_at(roots: &Roots, targets: &[TargetFact]) -> Gauges {
    let ticks = ticks(roots);
    let mut temperatures: Vec<Temperature> = Vec::new();
    let devices = devices_of(targets);
    let blocks = Blocks::below(roots, &devices);
    for device in devices {
        let Some(node) = blocks.numbered(device.number) else { continue };
        for node in blocks.stack(node) {
            if temperatures.iter().all(|known| known.device != node.name) {
                temperatures.extend(temperature(node));
            }
        }
    }
    Gauges {
        processor_ticks: ticks.iter().sum(),
        stolen_ticks: ticks.get(7).copied().unwrap_or(0),
        pressure: ["cpu", "memory", "io"].into_iter().filter_map(|what| pressure(roots, what)).collect(),
        temperatures,
    }
}

/// What the host has counted of its work since its start: two of them tell how busy it was between.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostCounts {
    /// Time of all processors together, in the kernel's ticks.
    pub processor_ticks: u64,
    /// Of those, idle or waiting for I/O.
    pub idle_ticks: u64,
    /// What devices have done since the host started.
    pub devices: Vec<DeviceUse>,
}

/// What this host and these of its devices have counted until now.
pub fn host_counts(devices: &[DeviceNumber]) -> HostCounts {
    host_counts_at(&Roots::default(), devices)
}

/// As [`host_counts`], on a host whose kernel shows itself at `roots`.
pub fn host_counts_at(roots: &Roots, devices: &[DeviceNumber]) -> HostCounts {
    let ticks = ticks(roots);
    let of = |counters: fathom_schema::DeviceCounters| DeviceUse {
        busy_ms: counters.busy_ms,
        operations: counters.reads + counters.writes + counters.discards,
        bytes: (counters.read_sectors + counters.write_sectors).saturating_mul(DeviceCounters::SECTOR_BYTES),
        waited_ms: counters.read_ms + counters.write_ms,
        name: counters.name,
    };
    HostCounts {
        processor_ticks: ticks.iter().sum(),
        idle_ticks: ticks.iter().skip(3).take(2).sum(),
        devices: device_counters_at(roots, devices).into_iter().map(of).collect(),
    }
}

/// user, nice, system, idle, iowait, irq, softirq, steal; guests' time is in user's (`proc_stat(5)`).
fn ticks(roots: &Roots) -> Vec<u64> {
    let stat = text(&roots.proc.join("stat")).unwrap_or_default();
    let all = stat.lines().next().map(|line| line.split_whitespace().skip(1).take(8));
    all.into_iter().flatten().filter_map(|tick| tick.parse().ok()).collect()
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=12345`.
fn pressure(roots: &Roots, resource: &str) -> Option<Pressure> {
    let text = text(&roots.proc.join("pressure").join(resource))?;
    let some = text.lines().find(|line| line.starts_with("some "))?;
    let waited_us = some.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()?;
    Some(Pressure { resource: resource.to_owned(), waited_us })
}

/// The first sensor of a disk: `NVMe` controllers have one of their own, others through the module drivetemp.
fn temperature(node: &Node) -> Option<Temperature> {
    let device = node.folder.join("device");
    let beside = |folder: PathBuf| {
        let found = names(&folder).into_iter().find(|name| name.starts_with("hwmon") && name.len() > 5);
        found.map(|name| folder.join(name))
    };
    let sensor = beside(device.join("hwmon")).or_else(|| beside(device))?;
    let number = |file: &str| text(&sensor.join(file))?.trim().parse::<i64>().ok();
    Some(Temperature {
        device: node.name.clone(),
        now: number("temp1_input")?,
        warns_at: number("temp1_max"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::roots::fixture::tree;
    use super::super::{EngineRefusals, probe_at};
    use super::*;
    use std::path::Path;

    #[test]
    fn what_a_host_counts_and_what_it_lacks() {
        let host = tree("host");
        let gauges = gauges_at(&host.roots, &[]);
        assert_eq!((gauges.processor_ticks, gauges.stolen_ticks), (105, 77));
        assert_eq!(gauges.pressure, [Pressure { resource: "memory".to_owned(), waited_us: 4321 }]);
        let nvme = DeviceNumber { major: 259, minor: 0 };
        let counts = host_counts_at(&host.roots, &[nvme]);
        assert_eq!(counts, HostCounts { processor_ticks: 105, idle_ticks: 4 + 5, devices: Vec::new() });
        let empty = tree("disks");
        let counts = host_counts_at(&empty.roots, &[nvme]);
        assert_eq!((counts.processor_ticks, counts.idle_ticks, counts.devices.len()), (0, 0, 1));
        let DeviceUse { name, busy_ms, operations, bytes, waited_ms } = &counts.devices[0];
        assert_eq!((name.as_str(), *busy_ms), ("nvme0n1", 50));
        let counted = &crate::probe::counters::device_counters_at(&empty.roots, &[nvme])[0];
        assert_eq!(*operations, counted.reads + counted.writes + counted.discards);
        assert_eq!(*bytes, (counted.read_sectors + counted.write_sectors) * 512);
        assert_eq!(*waited_ms, counted.read_ms + counted.write_ms);
        assert!(*operations > 0 && *bytes > 0, "{counts:?}");
        assert_eq!(gauges_at(&empty.roots, &[]), Gauges::default());
        assert!(super::gauges(&[]).processor_ticks > 0, "any Linux counts those");
    }

    #[test]
    fn disks_have_sensors_in_two_places() {
        let disks = tree("disks");
        let blocks = Blocks::read(&disks.roots);
        let found = ["sda", "nvme0n1"].map(|name| temperature(blocks.named(name).expect("it is a disk")));
        let sensor = |device: &str, now, warns_at| Temperature { device: device.to_owned(), now, warns_at };
        assert_eq!(found, [Some(sensor("sda", 31000, None)), Some(sensor("nvme0n1", 84850, Some(81850)))]);
        // A partition has that of its disk, told once.
        let paths = ["sda1", "sda"].map(|name| disks.roots.dev.join(name));
        let facts = probe_at(&disks.roots, &paths, Path::new("/nowhere"), EngineRefusals::default());
        assert_eq!(gauges_at(&disks.roots, &facts.targets).temperatures, [sensor("sda", 31000, None)]);
    }
}
