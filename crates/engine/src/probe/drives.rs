//! What drives say of their own health: defects, wear, heat, tests of themselves. Asks each drive below the targets by a command,
//! which takes the rights for it; does not judge what it hears.

mod smartctl;

use super::block::{Blocks, Node};
use super::devices_of;
use super::roots::Roots;
use fathom_io::clock;
use fathom_schema::drive as name;
use fathom_schema::{DeviceNumber, EnvironmentFact, TargetFact};
use fathom_units::Nanos;
use rustix::fs::OFlags;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

/// SMART / Health Information (`NVMe` base specification 2.0, 5.16.1.3).
const HEALTH: u8 = 0x02;
/// Device Self-test (5.16.1.7).
const SELF_TEST: u8 = 0x06;
/// Bits of the critical warning, from the lowest on.
const WARNINGS: [&str; 6] = [
    "spare below its threshold",
    name::HEAT_WARNING,
    "degraded by errors",
    "read-only",
    "volatile memory without backup",
    "persistent memory region read-only",
];

/// What the drives below the targets say of themselves now, under `drive NAME`; those that cannot be asked, or do not answer for so
/// long, have one fact without a value, whose source says why. All are asked at once. Arrays, volumes, loop devices and guests'
/// disks have nothing to say.
pub fn drives(targets: &[TargetFact], patience: Nanos) -> Vec<EnvironmentFact> {
    let devices = devices_of(targets);
    let roots = Roots::default();
    let blocks = Blocks::below(&roots, &devices);
    let mut disks: Vec<&Node> = Vec::new();
    for node in devices.iter().filter_map(|device| blocks.numbered(device.number)) {
        for disk in blocks.stack(node).into_iter().filter(|node| !node.is_partition()) {
            if !disks.contains(&disk) {
                disks.push(disk);
            }
        }
    }
    let asks: Vec<Ask> = disks.into_iter().filter_map(|disk| Ask::of(&roots, disk)).collect();
    let questions = asks.iter().cloned().map(|ask| move || ask.answer()).collect();
    let answers = answers(questions, patience);
    asks.iter().zip(answers).flat_map(|(ask, said)| ask.facts(said, patience)).collect()
}

/// What is said in answer to each question, in their order, as far as it is within so long. Who does not answer is left alone:
/// what hangs in the kernel cannot be ended.
fn answers<T: Send + 'static>(
    questions: Vec<impl FnOnce() -> T + Send + 'static>,
    patience: Nanos,
) -> Vec<Option<T>> {
    let (answer, answered) = mpsc::channel();
    let mut said: Vec<Option<T>> = questions.iter().map(|_| None).collect();
    for (number, question) in questions.into_iter().enumerate() {
        let answer = answer.clone();
        // One that comes too late, or has no thread, finds nobody who listens.
        let asked = std::thread::Builder::new().name(format!("drive {number}")).spawn(move || {
            let _ = answer.send((number, question()));
        });
        drop(asked);
    }
    drop(answer);
    let until = clock::monotonic().after(patience);
    while let Ok((number, answer)) =
        answered.recv_timeout(Duration::from_nanos(until.since(clock::monotonic()).0))
    {
        said[number] = Some(answer);
    }
    said
}

/// A drive that can be asked.
#[derive(Debug, Clone)]
struct Ask {
    name: String,
    number: DeviceNumber,
    path: PathBuf,
    way: Way,
}

/// How it is asked.
#[derive(Debug, Clone, Copy)]
enum Way {
    /// By commands to the controller.
    Nvme,
    /// By a program that knows the ways of ATA and SCSI.
    Smartctl,
}

/// What a drive says, or why it says nothing.
type Answer = Result<Vec<(&'static str, String)>, String>;

impl Ask {
    fn of(roots: &Roots, disk: &Node) -> Option<Self> {
        let way = match &disk.name {
            name if name.starts_with("nvme") => Way::Nvme,
            name if name.starts_with("sd") => Way::Smartctl,
            _ => return None,
        };
        Some(Self { name: disk.name.clone(), number: disk.number, path: roots.dev.join(&disk.name), way })
    }

    fn answer(&self) -> Answer {
        // A container may have another device under that name.
        let file = open(&self.path, self.number).map_err(|error| error.to_string())?;
        match self.way {
            Way::Nvme => {
                let health = fathom_io::nvme_log_page(&file, HEALTH).map_err(|error| error.to_string())?;
                // Controllers without self-tests refuse that page.
                Ok(nvme(&health, fathom_io::nvme_log_page(&file, SELF_TEST).ok().as_ref()))
            }
            Way::Smartctl => smartctl::ask(&self.path),
        }
    }

    fn facts(&self, answer: Option<Answer>, patience: Nanos) -> Vec<EnvironmentFact> {
        let fact = |name: &str, value: Option<String>, source: String| EnvironmentFact {
            subject: format!("{} {}", name::SUBJECT, self.name),
            name: name.to_owned(),
            value,
            source,
        };
        let source = match self.way {
            Way::Nvme => "health log of the controller",
            Way::Smartctl => "smartctl",
        };
        let answer = answer.unwrap_or_else(|| Err(format!("no answer within {patience}")));
        match answer {
            Ok(said) => {
                said.into_iter().map(|(name, value)| fact(name, Some(value), source.to_owned())).collect()
            }
            Err(reason) => vec![fact(name::HEALTH, None, format!("{source}: {reason}"))],
        }
    }
}

/// Opens the node of a disk, if it is that disk's.
fn open(path: &Path, number: DeviceNumber) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).expect("flags are small");
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    let meta = file.metadata()?;
    if meta.file_type().is_block_device() && super::block::number_of(meta.rdev()) == number {
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
    let warning =
        |bit: usize| WARNINGS.get(bit).map_or_else(|| format!("bit {bit}"), |name| (*name).to_owned());
    let warnings: Vec<String> = (0..8).filter(|bit| health[0] >> bit & 1 == 1).map(warning).collect();
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
        health[0] = 0b100_1011;
        health[1..3].copy_from_slice(&311_u16.to_le_bytes());
        (health[3], health[4], health[5]) = (7, 10, 104);
        health[128..144].copy_from_slice(&12_345_u128.to_le_bytes());
        health[160..176].copy_from_slice(&3_u128.to_le_bytes());
        health[192..196].copy_from_slice(&5_u32.to_le_bytes());
        health[196..200].copy_from_slice(&2_u32.to_le_bytes());
        health[216..220].copy_from_slice(&11_u32.to_le_bytes());
        health[220..224].copy_from_slice(&1_u32.to_le_bytes());
        let mut test = [0_u8; 512];
        (test[0], test[1]) = (0x2, 0x80 | 0x28);
        let said = nvme(&health, Some(&test));
        let expect = [
            (name::WARNINGS, "spare below its threshold, temperature beyond its threshold, read-only, bit 6"),
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
        for name in ["nvme0n1", "sda"] {
            let disk = blocks.named(name).expect("it is in the fixture");
            // Its node is a plain file.
            std::fs::write(tree.roots.dev.join(name), "").expect("it can be written");
            let ask = Ask::of(&tree.roots, disk).expect("it is a drive");
            let facts = ask.facts(Some(ask.answer()), Nanos::ZERO);
            let subject = format!("drive {name}");
            assert_eq!((facts.len(), &facts[0].subject, &facts[0].value), (1, &subject, &None));
            assert!(facts[0].source.ends_with("its node is another device's"), "{facts:?}");
        }
        // Neither has a disk that is no drive anything to say.
        let tree = super::super::roots::fixture::tree("loop");
        let blocks = Blocks::read(&tree.roots);
        assert!(Ask::of(&tree.roots, blocks.named("loop0").expect("it is in the fixture")).is_none());
    }

    #[test]
    fn who_does_not_answer_keeps_nobody_from_the_others() {
        // The second answers when the test is over.
        let (over, goes_on) = mpsc::channel::<()>();
        let questions: Vec<Box<dyn FnOnce() -> u32 + Send>> =
            vec![Box::new(|| 1), Box::new(move || goes_on.recv().map_or(2, |()| 2)), Box::new(|| 3)];
        assert_eq!(answers(questions, Nanos::secs(2)), [Some(1), None, Some(3)]);
        drop(over);
        let tree = super::super::roots::fixture::tree("disks");
        let blocks = Blocks::read(&tree.roots);
        let ask = Ask::of(&tree.roots, blocks.named("sda").expect("it is in the fixture")).expect("a drive");
        let patience = Nanos::secs(20);
        let expect = format!("smartctl: no answer within {patience}");
        assert_eq!(ask.facts(None, patience)[0].source, expect);
    }
}
