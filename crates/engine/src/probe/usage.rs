//! Who uses a device or a file: mounts, swap, holders, loop devices, the running system, fathom's own store.
//!
//! Errs on the side of "in use". Knows the lists of mounts, swap and devices; opens nothing but files that may be records
//! of fathom's.

use super::block::{Blocks, Node};
use super::content::open_with;
use super::mounts::{Mount, Mounts};
use super::openers::{self, Opener};
use super::roots::{Roots, names};
use fathom_schema::{DeviceNumber, InUse, RECORD_MARK};
use rustix::fs::OFlags;
use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// All that is known of who uses what on a host.
pub(super) struct Usage<'a> {
    blocks: &'a Blocks,
    mounts: &'a Mounts,
    /// Every mount with the devices that it names; found once, since a host may have thousands of mounts.
    mounted: Vec<(&'a Mount, Vec<DeviceNumber>)>,
    /// Devices that are swap space.
    swaps: Vec<DeviceNumber>,
    /// Where to look for programs that have devices open.
    roots: &'a Roots,
    /// Those; found once and only where a device is asked about, since hosts have many open files.
    openers: OnceLock<Vec<Opener>>,
    /// Members of each btrfs that the kernel has open: its UUID and its devices' names.
    btrfs: Vec<(String, Vec<String>)>,
    files: FileUses,
    /// The mount that carries the store.
    store_mount: Option<&'a Mount>,
}

/// Who uses which regular file.
#[derive(Debug)]
pub struct FileUses {
    /// Loop devices and the files behind them.
    loops: Vec<(String, PathBuf)>,
    /// Paths of active swap.
    swaps: Vec<PathBuf>,
    /// fathom's store, without links where it exists.
    store: PathBuf,
    /// Filesystem and inode of all that lies in it: a hard link or another mount gives a record another path.
    stored: OnceLock<BTreeSet<(u64, u64)>>,
}

impl FileUses {
    /// What is known now.
    pub fn look(roots: &Roots, store_folder: &Path) -> Self {
        Self::new(&Blocks::read(roots), &Mounts::read(roots), store_folder)
    }

    fn new(blocks: &Blocks, mounts: &Mounts, store_folder: &Path) -> Self {
        let store = store_folder.canonicalize().or_else(|_| std::path::absolute(store_folder));
        let backed = |node: &Node| Some((node.name.clone(), node.backing.clone()?));
        Self {
            loops: blocks.nodes.iter().filter_map(backed).collect(),
            swaps: mounts.swaps.clone(),
            store: store.unwrap_or_else(|_| store_folder.to_owned()),
            stored: OnceLock::new(),
        }
    }

    /// Every way in which writing to a regular file, at its path without links, would write to something in use.
    /// `is_laid_out`: fathom has laid it out and nobody has changed it since, so that it need not be read to know that it is
    /// no record.
    pub fn of_file(&self, resolved: &Path, is_laid_out: bool) -> Vec<InUse> {
        let mut uses = Vec::new();
        if self.swaps.iter().any(|swap| same_file(swap, resolved)) {
            uses.push(InUse::Swap { device: resolved.display().to_string() });
        }
        for (name, _) in self.loops.iter().filter(|(_, backing)| same_file(backing, resolved)) {
            uses.push(InUse::LoopBacking { device: name.clone() });
        }
        if self.is_stored(resolved) {
            uses.push(InUse::Store { folder: self.store.clone() });
        } else if !is_laid_out && is_record(resolved) {
            uses.push(InUse::Record);
        }
        uses
    }

    fn is_stored(&self, resolved: &Path) -> bool {
        let identity = |meta: &Metadata| (meta.dev(), meta.ino());
        let stored = self.stored.get_or_init(|| {
            let entries = std::fs::read_dir(&self.store).into_iter().flatten().flatten();
            entries.filter_map(|entry| entry.metadata().ok()).map(|meta| identity(&meta)).collect()
        });
        resolved.starts_with(&self.store)
            || resolved.metadata().is_ok_and(|meta| stored.contains(&identity(&meta)))
    }
}

/// Whether a file is the record of a run, wherever it lies: a database of `SQLite` with fathom's mark in its header
/// (<https://www.sqlite.org/fileformat.html>, 1.3).
fn is_record(path: &Path) -> bool {
    let mut head = [0; 72];
    let read = open_with(path, OFlags::empty()).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head.starts_with(b"SQLite format 3\0") && head[68..] == RECORD_MARK.to_be_bytes()
}

impl<'a> Usage<'a> {
    /// Gathers what is needed to answer for any device or file.
    pub(super) fn new(roots: &'a Roots, blocks: &'a Blocks, mounts: &'a Mounts, store_folder: &Path) -> Self {
        let folder = roots.sys.join("fs/btrfs");
        let members = |uuid: String| {
            let devices = names(&folder.join(&uuid).join("devices"));
            (!devices.is_empty()).then_some((uuid, devices))
        };
        let btrfs = names(&folder).into_iter().filter_map(members).collect();
        let number_at = |path: &Path| blocks.at_path(path).map(|node| node.number);
        let named =
            |mount: &Mount| mount.device_paths().filter_map(|path| number_at(Path::new(path))).collect();
        let files = FileUses::new(blocks, mounts, store_folder);
        let store_place =
            files.store.ancestors().find_map(|part| part.canonicalize().ok()).unwrap_or_default();
        Self {
            blocks,
            mounts,
            mounted: mounts.all().map(|mount| (mount, named(mount))).collect(),
            swaps: mounts.swaps.iter().filter_map(|path| number_at(path)).collect(),
            roots,
            openers: OnceLock::new(),
            btrfs,
            store_mount: mounts.carrying(&store_place, mount_id(&store_place)),
            files,
        }
    }

    /// Every way in which writing to a device would write to something in use.
    pub(super) fn of_device(&self, node: &Node) -> Vec<InUse> {
        let mut found = Found { usage: self, uses: Vec::new(), seen: Vec::new() };
        found.upwards(node);
        let disk = self.blocks.disk_of(node);
        if node.is_partition() {
            // The disk itself, used as a whole: mounted although it has partitions, or one path of a multipath.
            found.itself_and_holders(disk);
            let siblings = self.blocks.partitions(disk).filter(|other| other.overlaps(node));
            siblings.for_each(|other| found.upwards(other));
            // What is reached from below must not come back up to the partitions beside this one.
            found.seen.push(disk.name.clone());
        }
        for below in self.blocks.stack(node) {
            // Other volumes on the same physical volume are no concern; a mount of the volume itself is.
            found.itself(below);
            found.loops_sharing(below);
            if let Some(behind) = below.behind.and_then(|number| self.blocks.numbered(number)) {
                // A loop device does not keep others from what it stands on, so all use of that counts.
                found.upwards(behind);
            }
        }
        let mut uses = found.uses;
        uses.retain(|way| !matches!(way, InUse::LoopBacking { device } if *device == disk.name));
        uses
    }

    /// Every way in which writing to a regular file would write to something in use.
    pub(super) fn of_file(&self, resolved: &Path, is_laid_out: bool) -> Vec<InUse> {
        self.files.of_file(resolved, is_laid_out)
    }

    /// Mounts of a device: by number, by a path that names it, or by a btrfs that it is a member of.
    fn mounts_of(&self, node: &Node) -> Vec<&'a Mount> {
        let family: Vec<DeviceNumber> = self
            .btrfs
            .iter()
            .filter(|(_, members)| members.contains(&node.name))
            .flat_map(|(_, members)| members.iter().filter_map(|name| self.blocks.named(name)))
            .map(|member| member.number)
            .collect();
        let carries = |mount: &Mount, named: &[DeviceNumber]| {
            mount.number == node.number
                || named.iter().any(|number| *number == node.number || family.contains(number))
        };
        self.mounted.iter().filter(|(mount, named)| carries(mount, named)).map(|(mount, _)| *mount).collect()
    }
}

/// Collects uses while walking the devices.
struct Found<'a, 'b> {
    usage: &'b Usage<'a>,
    uses: Vec<InUse>,
    /// Names of devices already walked upwards from.
    seen: Vec<String>,
}

impl Found<'_, '_> {
    fn add(&mut self, way: InUse) {
        if !self.uses.contains(&way) {
            self.uses.push(way);
        }
    }

    /// A device, its partitions, and all that is built on any of them.
    fn upwards(&mut self, node: &Node) {
        if self.seen.contains(&node.name) {
            return;
        }
        self.seen.push(node.name.clone());
        self.itself_and_holders(node);
        let blocks = self.usage.blocks;
        blocks.partitions(node).for_each(|partition| self.upwards(partition));
    }

    fn itself_and_holders(&mut self, node: &Node) {
        self.itself(node);
        let usage = self.usage;
        // Of what a volume lies on, its manager may keep members open.
        let openers = usage.openers.get_or_init(|| openers::all(usage.roots));
        for Opener { program, process, .. } in openers.iter().filter(|one| one.number == node.number) {
            let (program, process) = (program.clone(), *process);
            self.add(InUse::Opened { device: node.name.clone(), program, process });
        }
        let blocks = usage.blocks;
        for name in &node.holders {
            self.add(InUse::Holder { device: node.name.clone(), holder: name.clone() });
            if let Some(holder) = blocks.named(name) {
                self.upwards(holder);
            }
        }
        let is_behind = |other: &&Node| other.behind == Some(node.number);
        for loop_device in blocks.nodes.iter().filter(is_behind) {
            self.add(InUse::LoopBacking { device: loop_device.name.clone() });
            self.upwards(loop_device);
        }
    }

    /// Mounts and swap of exactly this device.
    fn itself(&mut self, node: &Node) {
        let usage = self.usage;
        let mounts = usage.mounts_of(node);

        for mount in &mounts {
            let mount_point = mount.place.clone();
            if usage.store_mount == Some(*mount) {
                self.add(InUse::Store { folder: usage.files.store.clone() });
            }
            if mount.is_system() {
                self.add(InUse::System { mount_point: mount_point.clone() });
            }
            self.add(InUse::Mounted { device: node.name.clone(), mount_point });
        }
        for (uuid, _) in usage.btrfs.iter().filter(|(_, members)| members.contains(&node.name)) {
            if mounts.is_empty() {
                // Mounted where this process cannot see it.
                self.add(InUse::Holder { device: node.name.clone(), holder: format!("btrfs {uuid}") });
            }
        }
        if usage.swaps.contains(&node.number) {
            self.add(InUse::Swap { device: node.name.clone() });
        }
    }

    /// Other loop devices that show the same bytes of the same file, and swap on that file.
    fn loops_sharing(&mut self, node: &Node) {
        let Some(backing) = &node.backing else { return };
        let usage = self.usage;
        if usage.mounts.swaps.iter().any(|swap| same_file(swap, backing)) {
            self.add(InUse::Swap { device: backing.display().to_string() });
        }
        for other in usage.blocks.shows_the_same(node) {
            self.upwards(other);
        }
    }
}

impl Blocks {
    /// Other loop devices that show the same bytes of the same file as this one; none of what is no loop device.
    pub(super) fn shows_the_same<'a>(&'a self, node: &'a Node) -> impl Iterator<Item = &'a Node> {
        let (from, to) = node.loop_range();
        self.nodes.iter().filter(move |other| {
            let (other_from, other_to) = other.loop_range();
            let is_same =
                matches!((&node.backing, &other.backing), (Some(one), Some(two)) if same_file(one, two));
            is_same && other.name != node.name && from < other_to && other_from < to
        })
    }
}

/// The kernel's identity of the mount that carries a path; `None` before Linux 5.8.
pub(super) fn mount_id(path: &Path) -> Option<u64> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    let found = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
    StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::MNT_ID).then_some(found.stx_mnt_id)
}

/// Whether two paths are one file: by name, or by what is there.
fn same_file(one: &Path, other: &Path) -> bool {
    if one == other {
        return true;
    }
    match (one.metadata(), other.metadata()) {
        (Ok(one), Ok(other)) => one.dev() == other.dev() && one.ino() == other.ino(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::roots::fixture::tree;
    use super::*;

    /// Uses of a device in short: `kind:what`.
    fn check(fixture: &str, name: &str, store: &str, expect: &[&str]) {
        let tree = tree(fixture);
        let (blocks, mounts) = (Blocks::read(&tree.roots), Mounts::read(&tree.roots));
        let usage = Usage::new(&tree.roots, &blocks, &mounts, Path::new(store));
        let node = blocks.named(name).unwrap_or_else(|| panic!("{name} is in {fixture}"));
        let found: Vec<String> = usage
            .of_device(node)
            .into_iter()
            .map(|way| match way {
                InUse::Mounted { device, mount_point } => format!("{device} at {}", mount_point.display()),
                InUse::Swap { device } => format!("{device} swap"),
                InUse::Holder { device, holder } => format!("{device} held by {holder}"),
                InUse::LoopBacking { device } => format!("behind {device}"),
                InUse::System { mount_point } => format!("system {}", mount_point.display()),
                InUse::Store { .. } => "store".to_owned(),
                InUse::Exclusive => "exclusive".to_owned(),
                InUse::Record => "record".to_owned(),
                InUse::Opened { device, program, .. } => format!("{device} opened by {program}"),
            })
            .collect();
        assert_eq!(found, expect, "{fixture} {name}");
    }

    #[test]
    fn plain_disks_and_partitions() {
        let all = |name: &str, expect: &[&str]| check("disks", name, "/nowhere", expect);
        all("sda", &["store", "system /", "sda1 at /", "sda2 swap", "sda6 at /mnt/data"]);
        all("sda1", &["store", "system /", "sda1 at /"]);
        all("sda2", &["sda2 swap"]);
        all("sda3", &[]);
        // sda4 is the extended partition around sda5 and sda6.
        all("sda4", &["sda6 at /mnt/data"]);
        all("sda5", &[]);
        all("sda6", &["sda6 at /mnt/data"]);
        all("sdb", &["sdb at /mnt/whole disk"]);
        all("sdb1", &["sdb at /mnt/whole disk"]);
        all("sdc", &[]);
        // An external log of a filesystem on another device.
        all("nvme0n1", &["nvme0n1p1 at /mnt/xfs", "nvme0n1p2 at /mnt/xfs", "nvme0n1p3 at /seen/by/init"]);
        all("nvme0n1p2", &["nvme0n1p2 at /mnt/xfs"]);
        all("nvme0n1p3", &["nvme0n1p3 at /seen/by/init"]);
    }

    #[test]
    fn arrays_of_disks() {
        let mounted = ["sda1 held by md0", "md0p1 at /mnt/md"];
        check("md", "sda", "/nowhere", &mounted);
        check("md", "sda1", "/nowhere", &mounted);
        check("md", "md0", "/nowhere", &["md0p1 at /mnt/md"]);
        check("md", "md0p1", "/nowhere", &["md0p1 at /mnt/md"]);
        check("md", "md0p2", "/nowhere", &[]);
        // An array that nothing mounts still holds its members.
        check("md", "sdc", "/nowhere", &["sdc held by md1"]);
        check("md", "md1", "/nowhere", &[]);
        // A cache device: bcache shows only who holds it.
        check("md", "sdd", "/nowhere", &["sdd held by bcache0", "bcache0 at /mnt/bcache"]);
    }

    #[test]
    fn volumes_and_crypt() {
        check(
            "lvm",
            "sda",
            "/nowhere",
            &[
                "sda2 held by dm-0",
                "store",
                "system /",
                "dm-0 at /",
                "sda2 held by dm-1",
                "dm-1 held by dm-2",
                "system /home",
                "dm-2 at /home",
                "sda2 held by dm-3",
                "dm-3 swap",
                "sda2 held by dm-4",
            ],
        );
        check("lvm", "sda1", "/nowhere", &[]);
        check("lvm", "dm-1", "/nowhere", &["dm-1 held by dm-2", "system /home", "dm-2 at /home"]);
        check("lvm", "dm-3", "/nowhere", &["dm-3 swap"]);
        // A volume beside those in use, on the same physical volume, is free.
        check("lvm", "dm-4", "/nowhere", &[]);
    }

    #[test]
    fn every_member_of_a_btrfs() {
        check("btrfs", "sda", "/nowhere", &["sda at /mnt/pool"]);
        check("btrfs", "sdb", "/nowhere", &["sdb1 at /mnt/pool"]);
        check("btrfs", "sdb1", "/nowhere", &["sdb1 at /mnt/pool"]);
        check("btrfs", "sdc", "/nowhere", &["sdc held by btrfs 22222222-2222-2222-2222-222222222222"]);
        check("btrfs", "sdd", "/nowhere", &[]);
    }

    #[test]
    fn loop_devices() {
        check("loop", "sda", "/nowhere", &["behind loop0", "loop0 at /mnt/iso"]);
        check("loop", "loop0", "/nowhere", &["loop0 at /mnt/iso"]);
        check("loop", "sdb", "/nowhere", &["behind loop1", "loop1p2 at /mnt/part"]);
        check("loop", "loop1", "/nowhere", &["loop1p2 at /mnt/part"]);
        check("loop", "loop1p1", "/nowhere", &[]);
        check("loop", "loop1p2", "/nowhere", &["loop1p2 at /mnt/part"]);
        // Two loop devices on one image, one of them mounted; a third shows another part of it.
        check("loop", "loop2", "/nowhere", &["loop3 at /mnt/image"]);
        check("loop", "loop3", "/nowhere", &["loop3 at /mnt/image"]);
        check("loop", "loop4", "/nowhere", &[]);
        // On a device that somebody mounted behind its back.
        check("loop", "loop5", "/nowhere", &["sdc1 at /mnt/c"]);
        check("loop", "loop6", "/nowhere", &["/swap.img swap"]);
        check("loop", "loop7", "/nowhere", &[]);
    }

    #[test]
    fn files_of_loop_devices_and_swap() {
        let tree = tree("loop");
        let (blocks, mounts) = (Blocks::read(&tree.roots), Mounts::read(&tree.roots));
        let usage = Usage::new(&tree.roots, &blocks, &mounts, &tree.roots.dev);
        for (path, expect) in [
            ("/images/a.img", vec!["loop2", "loop3", "loop4"]),
            ("/images/b.img", vec![]),
            ("/swap.img", vec!["/swap.img", "loop6"]),
        ] {
            let found: Vec<String> = usage
                .of_file(Path::new(path), false)
                .into_iter()
                .map(|way| match way {
                    InUse::LoopBacking { device } | InUse::Swap { device } => device,
                    other => panic!("{other:?}"),
                })
                .collect();
            assert_eq!(found, expect, "{path}");
        }
        let inside = tree.roots.dev.join("run.fathom");
        assert!(matches!(&usage.of_file(&inside, false)[..], [InUse::Store { .. }]));
    }

    #[test]
    fn a_record_is_known_under_every_name_and_by_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let [store, run, link, copy, other] =
            ["store", "store/run.fathom", "link", "copy", "other"].map(|name| folder.path().join(name));
        std::fs::create_dir(&store).unwrap();
        std::fs::write(&run, "not yet a database").unwrap();
        std::fs::hard_link(&run, &link).unwrap();
        let mut header = vec![0; 100];
        header[..16].copy_from_slice(b"SQLite format 3\0");
        std::fs::write(&other, &header).unwrap();
        header[68..72].copy_from_slice(&RECORD_MARK.to_be_bytes());
        std::fs::write(&copy, &header).unwrap();
        let uses = FileUses::look(&Roots::default(), &store);
        let kept = || vec![InUse::Store { folder: store.canonicalize().unwrap() }];
        assert_eq!((uses.of_file(&link, false), uses.of_file(&copy, false)), (kept(), vec![InUse::Record]));
        assert_eq!(uses.of_file(&other, false), [], "another program's database");
    }
}
