//! The block devices of a host and how they stand on one another, as sysfs shows them.
//!
//! Owns names, numbers, sizes, partitions, holders and identity. Does not open a device, and does not know what is
//! mounted or what a content looks like.

use super::mounts::device_number;
use super::roots::{Roots, names, number, text};
use fathom_schema::{BlockDevice, ContentFact, DeviceNumber};
use fathom_units::Bytes;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The kernel counts in sectors of this size wherever it shows sizes and offsets of block devices.
pub(super) const SECTOR_BYTES: u64 = 512;

/// One block device as sysfs shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    /// Kernel name.
    pub(super) name: String,
    /// Its number.
    pub(super) number: DeviceNumber,
    /// Its folder in sysfs.
    pub(super) folder: PathBuf,
    /// The whole disk when this is a partition.
    pub(super) disk: Option<String>,
    /// Where a partition begins on its disk.
    pub(super) start: Bytes,
    /// Size.
    pub(super) size: Bytes,
    /// Devices built directly on it.
    pub(super) holders: Vec<String>,
    /// Devices that it is built on.
    pub(super) slaves: Vec<String>,
    /// For a loop device in use: the path of what is behind it.
    pub(super) backing: Option<PathBuf>,
    /// The block device that `backing` names, when it is one.
    pub(super) behind: Option<DeviceNumber>,
}

impl Node {
    fn read(folder: PathBuf) -> Option<Self> {
        let name = folder.file_name()?.to_string_lossy().into_owned();
        let number_text = text(&folder.join("dev"))?;
        let disk = folder.join("partition").exists().then(|| folder.parent()?.file_name()).flatten();
        let sectors = |attribute: &str| {
            Bytes(number(&folder.join(attribute)).unwrap_or(0).saturating_mul(SECTOR_BYTES))
        };
        Some(Self {
            number: device_number(&number_text)?,
            disk: disk.map(|disk| disk.to_string_lossy().into_owned()),
            start: sectors("start"),
            size: sectors("size"),
            holders: names(&folder.join("holders")),
            slaves: names(&folder.join("slaves")),
            backing: text(&folder.join("loop/backing_file")).map(PathBuf::from),
            behind: None,
            name,
            folder,
        })
    }

    /// Whether this is a partition.
    pub(super) fn is_partition(&self) -> bool {
        self.disk.is_some()
    }

    /// Whether two partitions of one disk share bytes, as an extended partition and those inside it do.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let end = |node: &Self| node.start.0.saturating_add(node.size.0);
        self.start.0 < end(other) && other.start.0 < end(self)
    }

    /// The part of its backing file that a loop device shows: first byte, and the byte after the last.
    pub(super) fn loop_range(&self) -> (u64, u64) {
        let from = number(&self.folder.join("loop/offset")).unwrap_or(0);
        let limit = number(&self.folder.join("loop/sizelimit")).unwrap_or(0);
        (from, if limit == 0 { u64::MAX } else { from.saturating_add(limit) })
    }
}

/// Block devices of a host: all of them, or those below some, of which it is not known then who stands on them.
#[derive(Debug, Clone, Default)]
pub(super) struct Blocks {
    pub(super) nodes: Vec<Node>,
    dev: PathBuf,
}

impl Blocks {
    /// All of them, in the order of their names. Reads sysfs; devices without a number (paths of a multipath `NVMe`) cannot be opened
    /// and are left out.
    pub(super) fn read(roots: &Roots) -> Self {
        let class = roots.sys.join("class/block");
        let folders = names(&class).into_iter().filter_map(|name| class.join(name).canonicalize().ok());
        let mut nodes: Vec<Node> = folders.filter_map(Node::read).collect();
        // Holders and slaves are two sides of one fact; a driver that keeps only one is believed too.
        let pairs: Vec<(String, String)> = nodes
            .iter()
            .flat_map(|node| node.slaves.iter().map(|slave| (slave.clone(), node.name.clone())))
            .collect();
        for (slave, holder) in pairs {
            if let Some(node) = nodes.iter_mut().find(|node| node.name == slave)
                && !node.holders.contains(&holder)
            {
                node.holders.push(holder);
            }
        }
        let mut blocks = Self { nodes, dev: roots.dev.clone() };
        let behind: Vec<Option<DeviceNumber>> =
            blocks.nodes.iter().map(|node| Some(blocks.at_path(node.backing.as_deref()?)?.number)).collect();
        for (node, behind) in blocks.nodes.iter_mut().zip(behind) {
            node.behind = behind;
        }
        blocks
    }

    /// These devices and all that they stand on, and no others: what is read does not grow with what a host has. Who stands on them
    /// is not told.
    pub(super) fn below(roots: &Roots, devices: &[&BlockDevice]) -> Self {
        let class = roots.sys.join("class/block");
        let mut blocks = Self { nodes: Vec::new(), dev: roots.dev.clone() };
        let mut folders: Vec<PathBuf> =
            devices.iter().map(|device| class.join(device.name.replace('/', "!"))).collect();
        while let Some(folder) = folders.pop() {
            let Some(mut node) = folder.canonicalize().ok().and_then(Node::read) else { continue };
            if blocks.numbered(node.number).is_some() {
                continue;
            }
            let below = node.disk.iter().chain(&node.slaves);
            folders.extend(below.map(|name| class.join(name)));
            if let Some(folder) = node.backing.as_deref().and_then(|path| folder_behind(roots, path)) {
                node.behind = text(&folder.join("dev")).and_then(|number| device_number(&number));
                folders.push(folder);
            }
            blocks.nodes.push(node);
        }
        blocks
    }

    /// The device of that kernel name.
    pub(super) fn named(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.name == name)
    }

    /// The device of that number.
    pub(super) fn numbered(&self, number: DeviceNumber) -> Option<&Node> {
        self.nodes.iter().find(|node| node.number == number)
    }

    /// The whole disk of a device; itself when it is none of a partition.
    pub(super) fn disk_of<'a>(&'a self, node: &'a Node) -> &'a Node {
        node.disk.as_deref().and_then(|disk| self.named(disk)).unwrap_or(node)
    }

    /// The partitions of a whole disk.
    pub(super) fn partitions<'a>(&'a self, disk: &'a Node) -> impl Iterator<Item = &'a Node> {
        self.nodes.iter().filter(|node| node.disk.as_deref() == Some(&disk.name))
    }

    /// The device behind a path such as a mount's source: by the number of its node, or by its name where the node is
    /// not there (a container, or `/dev` of another namespace).
    pub(super) fn at_path(&self, path: &Path) -> Option<&Node> {
        match Device::at(&self.dev, path)? {
            Device::Numbered(number) => self.numbered(number),
            Device::Named(name) => self.named(&name),
        }
    }

    /// Everything that `node` stands on, itself first: slaves of it and of its disk, all the way down.
    pub(super) fn stack<'a>(&'a self, node: &'a Node) -> Vec<&'a Node> {
        let mut stack = vec![node];
        let mut at = 0;
        while at < stack.len() {
            let disk = self.disk_of(stack[at]);
            let behind = disk.behind.and_then(|number| self.numbered(number));
            let below = disk.slaves.iter().filter_map(|name| self.named(name)).chain(behind);
            for next in std::iter::once(disk).chain(below) {
                if !stack.contains(&next) {
                    stack.push(next);
                }
            }
            at += 1;
        }
        stack
    }

    /// What sysfs says of a device. How it is used and what is on it are left open.
    pub(super) fn describe(&self, roots: &Roots, node: &Node) -> BlockDevice {
        let disk = self.disk_of(node);
        let queue = |name: &str| number(&disk.folder.join("queue").join(name));
        let sector = |name: &str| queue(name).and_then(|bytes| u32::try_from(bytes).ok());
        let logical_sector_bytes = sector("logical_block_size").unwrap_or(512);
        let is_read_only = |node: &Node| number(&node.folder.join("ro")) == Some(1);
        BlockDevice {
            name: shown(&node.name),
            number: node.number,
            disk: shown(&disk.name),
            size: node.size,
            logical_sector_bytes,
            physical_sector_bytes: sector("physical_block_size").unwrap_or(logical_sector_bytes),
            model: model(&disk.folder),
            serial: serial(roots, disk),
            read_only: is_read_only(node) || is_read_only(disk),
            discards: queue("discard_max_bytes").is_some_and(|bytes| bytes > 0),
            in_use: Vec::new(),
            content: ContentFact::Unknown,
            below: node.behind,
        }
    }
}

/// What a path says of the device that it leads to.
enum Device {
    Numbered(DeviceNumber),
    Named(String),
}

impl Device {
    /// By the number of its node, or by its name below `dev` where the node is not there.
    fn at(dev: &Path, path: &Path) -> Option<Self> {
        let below = path.strip_prefix("/dev").map_or_else(|_| path.to_owned(), |rest| dev.join(rest));
        let found = below.canonicalize().unwrap_or(below);
        if let Ok(meta) = found.metadata()
            && meta.file_type().is_block_device()
        {
            return Some(Self::Numbered(number_of(meta.rdev())));
        }
        let name = found.starts_with(dev).then(|| found.file_name()).flatten()?;
        Some(Self::Named(name.to_string_lossy().into_owned()))
    }
}

/// The folder in sysfs of the device that a path leads to.
fn folder_behind(roots: &Roots, path: &Path) -> Option<PathBuf> {
    let class = roots.sys.join("class/block");
    Some(match Device::at(&roots.dev, path)? {
        Device::Numbered(DeviceNumber { major, minor }) => {
            let folder = roots.sys.join(format!("dev/block/{major}:{minor}"));
            // Not every container shows it.
            if folder.exists() { folder } else { class.join(path.file_name()?) }
        }
        Device::Named(name) => class.join(name),
    })
}

/// A device number as the system packs it, taken apart.
pub(super) fn number_of(packed: u64) -> DeviceNumber {
    DeviceNumber { major: rustix::fs::major(packed), minor: rustix::fs::minor(packed) }
}

/// sysfs writes `!` where a kernel name has `/`.
fn shown(name: &str) -> String {
    name.replace('!', "/")
}

fn model(disk: &Path) -> String {
    let of = |name: &str| text(&disk.join("device").join(name));
    match (of("vendor"), of("model").or_else(|| of("name"))) {
        // libata gives the word ATA as the vendor of every disk, virtio a PCI number.
        (Some(vendor), Some(model)) if vendor != "ATA" && !vendor.starts_with("0x") => {
            format!("{vendor} {model}")
        }
        (_, Some(model)) => model,
        (_, None) => text(&disk.join("dm/name")).map(|name| format!("dm {name}")).unwrap_or_default(),
    }
}

/// The serial number: where the driver shows it, from the SCSI unit serial page, or from the names that udev made.
fn serial(roots: &Roots, disk: &Node) -> String {
    let plain =
        ["serial", "device/serial", "device/cid"].iter().find_map(|name| text(&disk.folder.join(name)));
    plain.or_else(|| unit_serial_page(&disk.folder)).or_else(|| serial_by_id(roots, disk)).unwrap_or_default()
}

/// SCSI vital product data page 0x80: four bytes of header, then the serial as ASCII.
fn unit_serial_page(disk: &Path) -> Option<String> {
    let page = std::fs::read(disk.join("device/vpd_pg80")).ok()?;
    let serial = String::from_utf8_lossy(page.get(4..)?).trim_matches(['\0', ' ']).to_owned();
    (!serial.is_empty()).then_some(serial)
}

fn serial_by_id(roots: &Roots, disk: &Node) -> Option<String> {
    let folder = roots.dev.join("disk/by-id");
    let target = roots.dev.join(shown(&disk.name)).canonicalize().ok()?;
    let links = names(&folder);
    links.iter().find_map(|link| {
        let id = link.strip_prefix("ata-").or_else(|| link.strip_prefix("virtio-"))?;
        let is_disk = folder.join(link).canonicalize().ok()? == target;
        is_disk.then(|| id.rsplit('_').next().unwrap_or(id).to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::super::roots::fixture::tree;
    use super::*;

    fn check(fixture: &str, name: &str, expect: (&str, &str, &str, &[&str])) {
        let tree = tree(fixture);
        let blocks = Blocks::read(&tree.roots);
        let node = blocks.named(name).unwrap_or_else(|| panic!("{name} is in {fixture}"));
        let device = blocks.describe(&tree.roots, node);
        let stack: Vec<&str> = blocks.stack(node).iter().map(|node| &*node.name).collect();
        assert_eq!((&*device.disk, &*device.model, &*device.serial, &*stack), expect, "{fixture} {name}");
        assert_eq!(blocks.numbered(device.number).map(|node| &*node.name), Some(name));
        assert_eq!(blocks.at_path(&Path::new("/dev").join(name)).map(|node| &*node.name), Some(name));
    }

    #[test]
    fn devices_of_fixtures() {
        check("disks", "sda", ("sda", "Samsung SSD 870", "S5Y1NJ0R", &["sda"]));
        check("disks", "sda1", ("sda", "Samsung SSD 870", "S5Y1NJ0R", &["sda1", "sda"]));
        check("disks", "nvme0n1", ("nvme0n1", "WD_BLACK SN850X", "23123A456", &["nvme0n1"]));
        check("disks", "sdc", ("sdc", "SanDisk Ultra", "4C530001", &["sdc"]));
        check("md", "md0", ("md0", "", "", &["md0", "sda1", "sdb1", "sda", "sdb"]));
        check("lvm", "dm-1", ("dm-1", "dm vg-home", "", &["dm-1", "sda2", "sda"]));
        check("loop", "loop1p1", ("loop1", "", "", &["loop1p1", "loop1", "sdb"]));
    }

    #[test]
    fn what_a_device_stands_on_is_read_by_itself() {
        for fixture in ["disks", "md", "lvm", "loop"] {
            let tree = tree(fixture);
            let all = Blocks::read(&tree.roots);
            for node in &all.nodes {
                let device = all.describe(&tree.roots, node);
                let below = Blocks::below(&tree.roots, &[&device]);
                let names = |blocks: &Blocks| -> Vec<String> {
                    let node = blocks.numbered(device.number).unwrap();
                    blocks.stack(node).iter().map(|node| node.name.clone()).collect()
                };
                assert_eq!(names(&below), names(&all), "{fixture} {}", node.name);
                assert_eq!(below.nodes.len(), names(&all).len(), "{fixture} {}: no others", node.name);
            }
        }
        let gone = BlockDevice { name: "sdz".to_owned(), ..all_of("disks") };
        assert_eq!(Blocks::below(&tree("disks").roots, &[&gone]).nodes, []);
    }

    fn all_of(fixture: &str) -> BlockDevice {
        let tree = tree(fixture);
        let blocks = Blocks::read(&tree.roots);
        blocks.describe(&tree.roots, &blocks.nodes[0])
    }

    #[test]
    fn the_kernel_s_flags_are_kept() {
        let tree = tree("disks");
        let blocks = Blocks::read(&tree.roots);
        for (name, read_only, discards, sectors) in [
            ("sda", false, true, (512, 4096)),
            ("sdc", true, false, (512, 512)),
            ("sdc1", true, false, (512, 512)),
        ] {
            let device = blocks.describe(&tree.roots, blocks.named(name).unwrap());
            assert_eq!((device.read_only, device.discards), (read_only, discards), "{name}");
            assert_eq!((device.logical_sector_bytes, device.physical_sector_bytes), sectors, "{name}");
        }
    }
}
