//! What drives say of their own health: defects, wear, heat, tests of themselves. Asks each drive below the targets by a command,
//! which takes the rights for it; does not judge what it hears.

mod program;

use super::block::{Blocks, Node};
use super::roots::Roots;
use fathom_schema::drive as name;
use fathom_schema::{BlockDevice, EnvironmentFact, TargetFact};
use rustix::fs::OFlags;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};

/// SMART / Health Information (`NVMe` base specification 2.0, 5.16.1.3).
const HEALTH: u8 = 0x02;
/// Device Self-test (5.16.1.7).
const SELF_TEST: u8 = 0x06;
/// Bits of the critical warning, from the lowest on.
const WARNINGS: [&str; 6] = [
    "spare below its threshold",
    "temperature beyond its threshold",
    "degraded by errors",
    "read-only",
    "volatile memory without backup",
    "persistent memory region read-only",
];

/// What the drives below the targets say of themselves now, under `drive NAME`; those that cannot be asked have one fact without
/// a value, whose source says why. Arrays, volumes, loop devices and guests' disks have nothing to say.
pub fn drives(targets: &[TargetFact]) -> Vec<EnvironmentFact> {
    let mut facts = Vec::new();
    let mut devices: Vec<&BlockDevice> = targets.iter().filter_map(|target| target.device.as_ref()).collect();
    devices.sort_by_key(|device| device.number);
    devices.dedup_by_key(|device| device.number);
    if devices.is_empty() {
        return facts;
    }
    let roots = Roots::default();
    let blocks = Blocks::read(&roots);
    let mut asked: Vec<&str> = Vec::new();
    for node in devices.iter().filter_map(|device| blocks.numbered(device.number)) {
        for disk in blocks.stack(node).into_iter().filter(|node| !node.is_partition()) {
            if !asked.contains(&disk.name.as_str()) {
                asked.push(&disk.name);
                facts.extend(of_disk(&roots, disk));
            }
        }
    }
    facts
}

fn of_disk(roots: &Roots, disk: &Node) -> Vec<EnvironmentFact> {
    let path = roots.dev.join(&disk.name);
    let (source, said) = if disk.name.starts_with("nvme") {
        let said = open(&path, disk).and_then(|file| {
            let health = fathom_io::nvme_log_page(&file, HEALTH)?;
            // Controllers without self-tests refuse that page.
            Ok(nvme(&health, fathom_io::nvme_log_page(&file, SELF_TEST).ok().as_ref()))
        });
        ("health log of the controller", said.map_err(|error| error.to_string()))
    } else if disk.name.starts_with("sd") {
        ("smartctl", program::ask(&path))
    } else {
        return Vec::new();
    };
    let fact = |name: &str, value: Option<String>, source: String| EnvironmentFact {
        subject: format!("{} {}", name::SUBJECT, disk.name),
        name: name.to_owned(),
        value,
        source,
    };
    match said {
        Ok(said) => {
            said.into_iter().map(|(name, value)| fact(name, Some(value), source.to_owned())).collect()
        }
        Err(reason) => vec![fact(name::HEALTH, None, format!("{source}: {reason}"))],
    }
}

/// Opens the node of a disk, if it is that disk's.
fn open(path: &std::path::Path, disk: &Node) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).expect("flags are small");
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    if meta.file_type().is_block_device() && super::block::number_of(meta.rdev()) == disk.number {
        Ok(file)
    } else {
        Err(io::Error::other("its node is another device's"))
    }
}

/// The counts of a controller's health log and of its self-test log.
fn nvme(health: &[u8; 512], self_test: Option<&[u8; 512]>) -> Vec<(&'static str, String)> {
    let number = |at: usize, bytes: usize| {
        health[at..at + bytes].iter().rev().fold(0_u128, |sum, byte| sum << 8 | u128::from(*byte))
    };
    let warnings: Vec<&str> =
        (0..8).filter(|bit| health[0] >> bit & 1 == 1).filter_map(|bit| WARNINGS.get(bit).copied()).collect();
    let warnings = if warnings.is_empty() { "none".to_owned() } else { warnings.join(", ") };
    let mut said = vec![(name::WARNINGS, warnings)];
    // 0 where there is no sensor.
    if let Some(kelvin) = u16::try_from(number(1, 2)).ok().filter(|kelvin| *kelvin > 0) {
        said.push((name::TEMPERATURE, format!("{} °C", i32::from(kelvin) - 273)));
    }
    said.extend([
        (name::POWER_ON_HOURS, number(128, 16).to_string()),
        (name::WEAR, format!("{} %", health[5])),
        (name::SPARE, format!("{} %", health[3])),
        (name::SPARE_THRESHOLD, format!("{} %", health[4])),
        (name::MEDIA_ERRORS, number(160, 16).to_string()),
        (name::HOT_MINUTES, (number(192, 4) + number(196, 4)).to_string()),
        (name::THROTTLED_TIMES, (number(216, 4) + number(220, 4)).to_string()),
    ]);
    if let Some(log) = self_test {
        let running = match log[0] & 0xf {
            0 => "none".to_owned(),
            _ => format!("running, {} % done", log[1] & 0x7f),
        };
        said.push((name::SELF_TEST, running));
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_health_log_is_read_by_its_places() {
        let mut health = [0_u8; 512];
        health[0] = 0b1001;
        health[1..3].copy_from_slice(&311_u16.to_le_bytes());
        (health[3], health[4], health[5]) = (7, 10, 104);
        health[128..144].copy_from_slice(&12_345_u128.to_le_bytes());
        health[160..176].copy_from_slice(&3_u128.to_le_bytes());
        health[192..196].copy_from_slice(&5_u32.to_le_bytes());
        health[196..200].copy_from_slice(&2_u32.to_le_bytes());
        health[216..220].copy_from_slice(&11_u32.to_le_bytes());
        health[220..224].copy_from_slice(&1_u32.to_le_bytes());
        let mut test = [0_u8; 512];
        (test[0], test[1]) = (0x2, 0x80 | 40);
        let said = nvme(&health, Some(&test));
        let expect = [
            (name::WARNINGS, "spare below its threshold, read-only"),
            (name::TEMPERATURE, "38 °C"),
            (name::POWER_ON_HOURS, "12345"),
            (name::WEAR, "104 %"),
            (name::SPARE, "7 %"),
            (name::SPARE_THRESHOLD, "10 %"),
            (name::MEDIA_ERRORS, "3"),
            (name::HOT_MINUTES, "7"),
            (name::THROTTLED_TIMES, "12"),
            (name::SELF_TEST, "running, 40 % done"),
        ];
        let said: Vec<(&str, &str)> = said.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(said, expect);
        // A controller that knows of nothing.
        let said = nvme(&[0; 512], None);
        assert_eq!(said[0], (name::WARNINGS, "none".to_owned()));
        assert!(said.iter().all(|(found, _)| ![name::TEMPERATURE, name::SELF_TEST].contains(found)));
    }

    #[test]
    fn a_node_of_another_device_is_not_asked() {
        let tree = super::super::roots::fixture::tree("disks");
        let blocks = Blocks::read(&tree.roots);
        let disk = blocks.named("nvme0n1").expect("it is in the fixture");
        // Its node is a plain file.
        std::fs::write(tree.roots.dev.join("nvme0n1"), "").expect("it can be written");
        let facts = of_disk(&tree.roots, disk);
        assert_eq!(
            (facts.len(), facts[0].subject.as_str(), facts[0].value.as_deref()),
            (1, "drive nvme0n1", None)
        );
        assert!(facts[0].source.ends_with("its node is another device's"), "{facts:?}");
        // Neither has a disk that is no drive anything to say.
        let tree = super::super::roots::fixture::tree("loop");
        let blocks = Blocks::read(&tree.roots);
        assert_eq!(of_disk(&tree.roots, blocks.named("loop0").expect("it is in the fixture")), []);
    }
}
