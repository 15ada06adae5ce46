//! What is mounted and what is swap, as `/proc/*/mountinfo` and `/proc/swaps` say.
//!
//! Reads and parses those lists; which device is behind an entry is decided where the devices are known.

use super::roots::{Roots, text, unescape};
use fathom_schema::DeviceNumber;
use std::path::{Path, PathBuf};

/// Mount points that a running system lives on.
const SYSTEM_MOUNTS: [&str; 13] = [
    "/",
    "/boot",
    "/boot/efi",
    "/efi",
    "/etc",
    "/home",
    "/nix",
    "/opt",
    "/root",
    "/srv",
    "/usr",
    "/var",
    "/var/lib",
];

/// One mounted filesystem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    /// The kernel's identity of this mount.
    pub(super) id: u64,
    /// Device number; of major 0 for filesystems without a single device.
    pub(super) number: DeviceNumber,
    /// Which part of the filesystem is mounted.
    pub(super) root: String,
    /// Where.
    pub(super) place: PathBuf,
    /// Filesystem type.
    pub(super) kind: String,
    /// What was mounted, as given to the system: mostly a device's path.
    pub(super) source: String,
    /// Options of the mount and of the filesystem.
    pub(super) options: String,
}

impl Mount {
    /// Whether the running system lives here.
    pub(super) fn is_system(&self) -> bool {
        SYSTEM_MOUNTS.iter().any(|system| Path::new(system) == self.place)
    }

    /// Paths of devices that this mount names: its source (several joined by `:` for bcachefs), and devices among its
    /// options, such as an external log.
    pub(super) fn device_paths(&self) -> impl Iterator<Item = &str> {
        let options =
            self.options.split(',').filter_map(|option| option.split_once('=')).map(|(_, value)| value);
        self.source
            .split(':')
            .filter(|path| path.starts_with('/'))
            .chain(options.filter(|value| value.starts_with("/dev/")))
    }

    /// Stands for a mount that no list shows; of its filesystem only what the kernel tells by path is known.
    pub(super) fn unlisted(number: DeviceNumber, place: &Path) -> Self {
        let unknown = "unknown".to_owned();
        let root = "/".to_owned();
        Self {
            id: 0,
            number,
            root,
            place: place.into(),
            kind: unknown.clone(),
            source: unknown,
            options: String::new(),
        }
    }

    fn parse(line: &str) -> Option<Self> {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ');
        let id = left.next()?.parse().ok()?;
        let _parent = left.next()?;
        let number = device_number(left.next()?)?;
        let root = unescape(left.next()?);
        let place = unescape(left.next()?).into();
        let options = left.next()?;
        let mut right = right.split(' ');
        let kind = right.next()?.to_owned();
        let source = unescape(right.next()?);
        let options = format!("{options},{}", right.next().unwrap_or_default());
        Some(Self { id, number, root, place, kind, source, options })
    }
}

/// All that is mounted, and all swap.
#[derive(Debug, Clone, Default)]
pub(super) struct Mounts {
    /// As this process sees it.
    own: Vec<Mount>,
    /// What the first process sees besides; another mount namespace hides nothing that matters to safety.
    others: Vec<Mount>,
    /// Paths of active swap devices and files.
    pub(super) swaps: Vec<PathBuf>,
}

impl Mounts {
    /// Reads the lists; what cannot be read is empty.
    pub(super) fn read(roots: &Roots) -> Self {
        let list = |process: &str| {
            let list = text(&roots.proc.join(process).join("mountinfo")).unwrap_or_default();
            list.lines().filter_map(Mount::parse).collect::<Vec<_>>()
        };
        let own = list("self");
        let mut others = list("1");
        others.retain(|mount| !own.contains(mount));
        let swaps = text(&roots.proc.join("swaps")).unwrap_or_default();
        let swaps = swaps
            .lines()
            .skip(1)
            .filter_map(|line| line.split_whitespace().next())
            .map(|path| PathBuf::from(unescape(path)))
            .collect();
        Self { own, others, swaps }
    }

    /// Whether the list could be read. Something is mounted on every running system, so an empty one means nothing.
    pub(super) fn are_known(&self) -> bool {
        !self.own.is_empty()
    }

    /// Every mount of which anything is known.
    pub(super) fn all(&self) -> impl Iterator<Item = &Mount> {
        self.own.iter().chain(&self.others)
    }

    /// The mount that carries an absolute path without links: by its identity where the kernel tells it, else by the
    /// longest mount point above, of which the last one mounted is on top. `None` where the root of this process is
    /// no mount (chroot) and the first process's list may not be read either.
    pub(super) fn carrying(&self, path: &Path, mount_id: Option<u64>) -> Option<&Mount> {
        if let Some(mount) = mount_id.and_then(|id| self.all().find(|mount| mount.id == id)) {
            return Some(mount);
        }
        let above = self.own.iter().filter(|mount| path.starts_with(&mount.place));
        above.max_by_key(|mount| mount.place.components().count())
    }
}

/// Reads `8:1`.
pub(super) fn device_number(text: &str) -> Option<DeviceNumber> {
    let (major, minor) = text.split_once(':')?;
    Some(DeviceNumber { major: major.parse().ok()?, minor: minor.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expect: Option<(&str, &str, &str, &[&str])>) {
        let mount = Mount::parse(line);
        let found = mount.as_ref().map(|m| (m.place.to_string_lossy(), &*m.kind, &*m.options));
        let found = found.as_ref().map(|(point, kind, options)| (&**point, *kind, *options));
        assert_eq!(found, expect.map(|(point, kind, options, _)| (point, kind, options)), "{line}");
        let paths = mount.iter().flat_map(Mount::device_paths).collect::<Vec<_>>();
        assert_eq!(paths, expect.map(|(.., paths)| paths.to_vec()).unwrap_or_default(), "{line}");
    }

    #[test]
    fn lines_of_mountinfo() {
        check(
            "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard",
            Some(("/", "ext4", "rw,relatime,rw,discard", &["/dev/vda"])),
        );
        check(
            r"36 35 98:0 /mnt1 /mnt/my\040disk rw shared:1 master:2 - xfs /dev/sdb rw,logdev=/dev/sdc1",
            Some(("/mnt/my disk", "xfs", "rw,rw,logdev=/dev/sdc1", &["/dev/sdb", "/dev/sdc1"])),
        );
        check(
            "40 27 0:50 / /b rw - bcachefs /dev/sda:/dev/sdb rw",
            Some(("/b", "bcachefs", "rw,rw", &["/dev/sda", "/dev/sdb"])),
        );
        check("22 27 0:21 / /proc rw - proc proc rw", Some(("/proc", "proc", "rw,rw", &[])));
        check("garbage", None);
        check("1 2 x:y / / rw - ext4 /dev/sda rw", None);
    }

    #[test]
    fn the_longest_and_latest_mount_carries_a_path() {
        let parse = |line| Mount::parse(line).unwrap();
        let mounts = Mounts {
            own: vec![
                parse("1 0 8:1 / / rw - ext4 /dev/sda1 rw"),
                parse("2 1 8:2 / /mnt rw - ext4 /dev/sda2 rw"),
                parse("3 2 8:3 / /mnt rw - ext4 /dev/sda3 rw"),
            ],
            others: vec![parse("9 0 8:9 / / rw - xfs /dev/sdb rw")],
            ..Mounts::default()
        };
        for (path, id, expect) in [
            ("/etc/passwd", None, 1),
            ("/mnt/a", None, 3),
            ("/mnt/a", Some(2), 2),
            ("/mnt/a", Some(77), 3),
            // In a chroot the mount below the root shows only in the first process's list.
            ("/mnt/a", Some(9), 9),
            ("/mntx", None, 1),
        ] {
            assert_eq!(mounts.carrying(Path::new(path), id).map(|m| m.id), Some(expect), "{path}");
        }
    }
}
