//! The conditions of the devices and filesystems under test: firmware, queue settings, links, arrays, volumes.
//!
//! Reads sysfs only; what takes a command to the device (SMART, `NVMe` logs) is asked for elsewhere.

use super::block::{Blocks, Node, SECTOR_BYTES};
use super::host::Gather;
use super::roots::{names, number, text};
use fathom_schema::{EnvironmentFact, Filesystem};
use std::path::{Path, PathBuf};

/// Settings in a disk's `queue` folder.
const QUEUE: [&str; 37] = [
    "add_random",
    "atomic_write_max_bytes",
    "atomic_write_unit_max_bytes",
    "atomic_write_unit_min_bytes",
    "chunk_sectors",
    "discard_granularity",
    "discard_max_bytes",
    "discard_zeroes_data",
    "dma_alignment",
    "fua",
    "hw_sector_size",
    "io_poll",
    "io_poll_delay",
    "io_timeout",
    "iostats",
    "iostats_passthrough",
    "logical_block_size",
    "max_discard_segments",
    "max_hw_sectors_kb",
    "max_sectors_kb",
    "max_segment_size",
    "max_segments",
    "minimum_io_size",
    "nomerges",
    "nr_requests",
    "nr_zones",
    "optimal_io_size",
    "physical_block_size",
    "read_ahead_kb",
    "rotational",
    "rq_affinity",
    "scheduler",
    "wbt_lat_usec",
    "write_cache",
    "write_same_max_bytes",
    "write_zeroes_max_bytes",
    "zoned",
];

/// A device and everything that it stands on.
pub(super) fn devices(blocks: &Blocks, target: &Node, facts: &mut Vec<EnvironmentFact>) {
    for node in blocks.stack(target) {
        let subject = format!("device {}", node.name);
        // Devices under test may share what they stand on; it is told once.
        if facts.iter().any(|fact| fact.subject == subject) {
            continue;
        }
        let gather = &mut Gather { subject, facts };
        if node.is_partition() {
            partition(blocks, node, gather);
        } else {
            disk(node, gather);
        }
    }
}

/// A filesystem under test.
pub(super) fn filesystem(filesystem: &Filesystem, facts: &mut Vec<EnvironmentFact>) {
    let Filesystem { kind, mount_point, options, size, available, direct_align_bytes, can_create: _ } =
        filesystem;
    let subject = format!("filesystem {}", mount_point.display());
    if facts.iter().any(|fact| fact.subject == subject) {
        return;
    }
    let mut gather = Gather { subject, facts };
    let (mountinfo, statvfs) = (Path::new("/proc/self/mountinfo"), Path::new("statvfs"));
    gather.fact("type", Some(kind.clone()), mountinfo);
    gather.fact("options", Some(options.clone()), mountinfo);
    gather.fact("size", Some(size.0.to_string()), statvfs);
    gather.fact("available", Some(available.0.to_string()), statvfs);
    gather.fact("direct alignment", direct_align_bytes.map(|bytes| bytes.to_string()), Path::new("statx"));
}

fn partition(blocks: &Blocks, node: &Node, gather: &mut Gather<'_>) {
    let disk = blocks.disk_of(node);
    gather.fact("disk", Some(disk.name.clone()), &node.folder);
    gather.fact("start", Some(node.start.0.to_string()), &node.folder.join("start"));
    let queue = |name: &str| number(&disk.folder.join("queue").join(name)).unwrap_or(0);
    let unit = queue("physical_block_size").max(queue("optimal_io_size")).max(SECTOR_BYTES);
    let value = match node.start.0 % unit {
        0 => format!("aligned to {unit}"),
        off => format!("{off} bytes off {unit}"),
    };
    gather.fact("alignment", Some(value), &node.folder.join("start"));
    gather.file("alignment offset", &node.folder.join("alignment_offset"));
}

fn disk(node: &Node, gather: &mut Gather<'_>) {
    let at = |name: &str| node.folder.join(name);
    gather.file("model", &at("device/model"));
    let firmware = ["device/firmware_rev", "device/rev", "device/fwrev"].iter().map(|name| at(name));
    let firmware = firmware.clone().find(|path| path.exists()).unwrap_or_else(|| at("device/firmware_rev"));
    gather.file("firmware", &firmware);
    let serial = ["serial", "device/serial"].iter().map(|name| at(name)).find(|path| path.exists());
    gather.file("serial", &serial.unwrap_or_else(|| at("device/serial")));
    gather.file(
        "wwid",
        &[at("wwid"), at("device/wwid")].into_iter().find(|p| p.exists()).unwrap_or(at("wwid")),
    );
    gather.file("transport", &at("device/transport"));
    gather.file("state", &at("device/state"));
    gather.file("queue depth", &at("device/queue_depth"));
    // Commands that failed or timed out since the system started; of SCSI and ATA disks.
    gather.file("failed commands", &at("device/ioerr_cnt"));
    gather.file("timed-out commands", &at("device/iotmo_cnt"));
    driver(node, gather);
    for name in QUEUE {
        gather.file(&format!("queue {name}"), &at("queue").join(name));
    }
    let queues = names(&at("mq")).len();
    gather.fact("hardware queues", (queues > 0).then(|| queues.to_string()), &at("mq"));
    let caches = at("device/scsi_disk");
    let cache = names(&caches).first().map_or_else(|| caches.clone(), |name| caches.join(name));
    gather.file("scsi cache type", &cache.join("cache_type"));
    gather.file("numa node", &upwards(node, "numa_node"));
    for (name, file) in [
        ("pcie link speed", "current_link_speed"),
        ("pcie link speed max", "max_link_speed"),
        ("pcie link width", "current_link_width"),
        ("pcie link width max", "max_link_width"),
    ] {
        gather.file(name, &upwards(node, file));
    }
    stacked(node, gather);
}

/// Arrays, volumes and loop devices tell what they are made of; others say that they are none.
fn stacked(node: &Node, gather: &mut Gather<'_>) {
    let slaves = node.slaves.join(", ");
    gather.fact("slaves", (!slaves.is_empty()).then_some(slaves), &node.folder.join("slaves"));
    let kinds: [(&str, &[&str]); 3] = [
        (
            "md",
            &[
                "level",
                "metadata_version",
                "raid_disks",
                "chunk_size",
                "degraded",
                "sync_action",
                "sync_completed",
                "mismatch_cnt",
                "stripe_cache_size",
                "consistency_policy",
            ],
        ),
        ("dm", &["name", "uuid", "suspended"]),
        ("loop", &["backing_file", "dio", "offset", "sizelimit", "autoclear", "partscan"]),
    ];
    for (kind, files) in kinds {
        let folder = node.folder.join(kind);
        if !folder.is_dir() {
            gather.fact(kind, None, &folder);
            continue;
        }
        for file in files {
            gather.file(&format!("{kind} {file}"), &folder.join(file));
        }
    }
}

fn driver(node: &Node, gather: &mut Gather<'_>) {
    let link = node.folder.join("device/driver");
    let name = std::fs::read_link(&link).ok();
    let name = name.and_then(|target| Some(target.file_name()?.to_string_lossy().into_owned()));
    gather.fact("driver", name, &link);
}

/// The file of that name at the nearest place above a device: the disk's own folder, its controller, its slot.
fn upwards(node: &Node, file: &str) -> PathBuf {
    let own = node.folder.join("device").join(file);
    let start = node.folder.join("device").canonicalize().unwrap_or_else(|_| node.folder.clone());
    let above = start.ancestors().map(|folder| folder.join(file)).take(16).find(|path| text(path).is_some());
    above.unwrap_or(own)
}

#[cfg(test)]
mod tests {
    use super::super::roots::fixture::tree;
    use super::*;

    fn check(fixture: &str, device: &str, expect: &[(&str, &str, Option<&str>)]) {
        let tree = tree(fixture);
        let blocks = Blocks::read(&tree.roots);
        let mut facts = Vec::new();
        devices(&blocks, blocks.named(device).unwrap(), &mut facts);
        for (subject, name, value) in expect {
            let found: Vec<_> = facts.iter().filter(|f| f.subject == *subject && f.name == *name).collect();
            assert_eq!(found.len(), 1, "{subject} {name}");
            assert_eq!(found[0].value.as_deref(), *value, "{subject} {name}");
        }
    }

    #[test]
    fn devices_of_fixtures() {
        check(
            "disks",
            "sda1",
            &[
                ("device sda1", "alignment", Some("aligned to 4096")),
                ("device sda", "firmware", Some("SVT02B6Q")),
                ("device sda", "queue scheduler", Some("[mq-deadline] none")),
                ("device sda", "queue wbt_lat_usec", None),
                ("device sda", "md", None),
            ],
        );
        check("disks", "nvme0n1", &[("device nvme0n1", "firmware", Some("620331WD"))]);
        check(
            "md",
            "md0p1",
            &[
                ("device md0", "md sync_action", Some("resync")),
                ("device md0", "md degraded", Some("1")),
                ("device md0", "slaves", Some("sda1, sdb1")),
                ("device sdb", "model", None),
            ],
        );
        check("lvm", "dm-2", &[("device dm-2", "dm name", Some("home_crypt")), ("device sda", "dm", None)]);
        check("loop", "loop0", &[("device loop0", "loop dio", Some("1")), ("device sda", "loop", None)]);
    }
}
