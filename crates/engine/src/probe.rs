//! The probe: what is at the paths of a job and what the host is like, as [`Facts`] to plan and to judge on.
//!
//! It opens nothing for writing, changes nothing and waits for nothing. It only finds; whether something may be written
//! is the planner's to decide, and it deliberately knows no job.

mod block;
mod content;
mod counters;
mod device_environment;
mod drives;
mod file;
mod gauges;
mod host;
mod mounts;
mod openers;
mod roots;
mod signature;
mod usage;
mod zeroes;

use crate::mark;
pub use crate::mark::MARK;
pub use counters::{device_counters, device_counters_at};
pub use drives::drives;
pub use gauges::{HostCounts, gauges, gauges_at, host_counts, host_counts_at};
pub use roots::Roots;

use block::{Blocks, number_of};
use fathom_io::EngineError;
use fathom_schema::{
    BlockDevice, ContentFact, DeviceNumber, EnvironmentFact, Facts, FileKind, InUse, TargetFact,
};
use mounts::{Mount, Mounts};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::Metadata;
use std::io;
use std::num::NonZero;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::panic::resume_unwind;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread::ScopedJoinHandle;
pub use usage::FileUses;
use usage::Usage;
pub use zeroes::{Region, zero_blocks};

/// Links followed when the last one leads to nothing, as the kernel limits them (`path_resolution(7)`).
const LINKS_MAX: u32 = 40;
/// Paths that are worth a thread of their own: some 20 µs each.
const PATHS_OF_THREAD_MIN: usize = 256;
/// Facts that change by themselves from one moment to the next: no change of conditions.
const VOLATILE: [(&str, &[&str]); 4] = [
    ("memory", &["available", "swap free", "dirty"]),
    ("load", &["average", "steal ticks", "pressure cpu", "pressure io", "pressure memory"]),
    ("device", &["md sync_completed"]),
    ("filesystem", &["available"]),
];

/// What the kernel said when the engines were tried; trying takes system calls that are not the probe's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EngineRefusals {
    /// `None`: `io_uring` works; else why not.
    pub io_uring: Option<EngineRefusal>,
    /// `None`: Linux AIO works; else why not.
    pub libaio: Option<EngineRefusal>,
    /// Whether rings of `io_uring` count as locked memory, where that has a limit.
    pub rings_are_locked: bool,
}

impl EngineRefusals {
    /// What the kernel says now.
    pub fn tried() -> Self {
        let of = |tried: Result<(), EngineError>| {
            let error = tried.err()?;
            Some(EngineRefusal { reason: error.to_string(), errno: error.raw_os_error() })
        };
        let io_uring = of(fathom_io::try_io_uring());
        let rings_are_locked = io_uring.is_none() && fathom_io::rings_are_locked();
        Self { io_uring, libaio: of(fathom_io::try_libaio()), rings_are_locked }
    }
}

/// Why an engine cannot be used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EngineRefusal {
    /// In words.
    pub reason: String,
    /// The number of the system's error, where it gave one.
    pub errno: Option<i32>,
}

/// Probes this host: one target fact per path, in the order of `paths`, and the environment.
///
/// `store_folder` is where fathom keeps its runs; what carries it is marked as in use. It need not exist. Paths that a
/// user consents to destroy belong into `paths` too, so that links are compared by what is behind them.
pub fn probe(paths: &[PathBuf], store_folder: &Path, engines: EngineRefusals) -> Facts {
    probe_at(&Roots::default(), paths, store_folder, engines)
}

/// What the device at a path holds now, found as [`probe`] finds it.
pub(crate) fn content_of(path: &Path, device: &BlockDevice) -> ContentFact {
    content::content(path, device.size.0, device.logical_sector_bytes)
}

/// As [`probe`], on a host whose kernel shows itself at `roots`.
pub fn probe_at(roots: &Roots, paths: &[PathBuf], store_folder: &Path, engines: EngineRefusals) -> Facts {
    let blocks = Blocks::read(roots);
    let mounts = Mounts::read(roots);
    let usage = Usage::new(roots, &blocks, &mounts, store_folder);
    let known = Mutex::default();
    let targets = Host { roots, blocks: &blocks, mounts: &mounts, usage: &usage, known }.targets(paths);
    Facts {
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        cpu: host::cpu(roots),
        limits: host::limits(roots, engines),
        page_size: fathom_units::Bytes(rustix::param::page_size() as u64),
        memory: host::memory(roots),
        environment: environment_of(roots, &blocks, &targets),
        ceiling: None,
        // Looked at by themselves, before.
        traces: Vec::new(),
        targets,
    }
}

/// The conditions of this host and of what is under `targets`, read again. Things that a host does not have are in it
/// without a value.
pub fn environment(targets: &[TargetFact]) -> Vec<EnvironmentFact> {
    environment_at(&Roots::default(), targets)
}

/// As [`environment`], on a host whose kernel shows itself at `roots`. Free space is as `targets` has it.
pub fn environment_at(roots: &Roots, targets: &[TargetFact]) -> Vec<EnvironmentFact> {
    environment_of(roots, &Blocks::below(roots, &devices_of(targets)), targets)
}

/// The devices under these targets, each once: many files are on few.
fn devices_of(targets: &[TargetFact]) -> Vec<&BlockDevice> {
    let mut devices: Vec<&BlockDevice> = targets.iter().filter_map(|target| target.device.as_ref()).collect();
    devices.sort_by_key(|device| device.number);
    devices.dedup_by_key(|device| device.number);
    devices
}

/// Facts of `after` whose value is another than in `before`, with the new value; those that are gone, without one.
/// What changes by itself (load, free memory, progress) is not among them.
pub fn environment_changes(before: &[EnvironmentFact], after: &[EnvironmentFact]) -> Vec<EnvironmentFact> {
    let same = |one: &EnvironmentFact, other: &EnvironmentFact| {
        one.subject == other.subject && one.name == other.name
    };
    let changed = after.iter().filter(|fact| {
        let then = before.iter().find(|then| same(then, fact));
        !is_volatile(fact) && then.map_or(fact.value.is_some(), |then| then.value != fact.value)
    });
    let gone = before.iter().filter(|then| {
        !is_volatile(then) && then.value.is_some() && !after.iter().any(|fact| same(fact, then))
    });
    changed.cloned().chain(gone.map(|then| EnvironmentFact { value: None, ..then.clone() })).collect()
}

fn is_volatile(fact: &EnvironmentFact) -> bool {
    let kind = fact.subject.split(' ').next().unwrap_or_default();
    VOLATILE.iter().any(|(subject, names)| *subject == kind && names.contains(&&*fact.name))
}

fn environment_of(roots: &Roots, blocks: &Blocks, targets: &[TargetFact]) -> Vec<EnvironmentFact> {
    let mut facts = Vec::new();
    host::environment(roots, &mut facts);
    for target in targets {
        if let Some(node) = target.device.as_ref().and_then(|device| blocks.numbered(device.number)) {
            device_environment::devices(blocks, node, &mut facts);
        }
        if let Some(filesystem) = &target.filesystem {
            device_environment::filesystem(filesystem, &mut facts);
        }
    }
    facts
}

/// Everything that answers for one path.
struct Host<'a> {
    roots: &'a Roots,
    blocks: &'a Blocks,
    mounts: &'a Mounts,
    usage: &'a Usage<'a>,
    /// Devices already described: a thousand files on one filesystem ask for one device. Held while one is tried out, so that
    /// no thread meets a device that another one has just opened to itself.
    known: Mutex<BTreeMap<DeviceNumber, BlockDevice>>,
}

/// What a thing is, by whatever name it is met.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Identity {
    /// A block device, of which there may be several nodes.
    Device(DeviceNumber),
    /// A file, which may have several links and mounts: filesystem and inode.
    File(u64, u64),
    /// What is not there yet: the folder's filesystem and inode, and the name in it.
    Absent(u64, u64, OsString),
}

impl Identity {
    fn of(fact: &TargetFact) -> Option<Self> {
        match fact.kind {
            FileKind::BlockDevice => fact.device.as_ref().map(|device| Self::Device(device.number)),
            FileKind::File => fact.resolved.metadata().ok().map(|meta| Self::File(meta.dev(), meta.ino())),
            FileKind::Absent => {
                let folder = fact.resolved.parent()?.metadata().ok()?;
                Some(Self::Absent(folder.dev(), folder.ino(), fact.resolved.file_name()?.to_owned()))
            }
            FileKind::NoFolder | FileKind::Folder | FileKind::MemoryDevice | FileKind::Other => None,
        }
    }
}

impl Host<'_> {
    /// What answers for each path, by several threads where there are many.
    fn targets(&self, paths: &[PathBuf]) -> Vec<TargetFact> {
        let looked_at = |paths: &[PathBuf]| {
            let facts = paths.iter().map(|path| self.target(path));
            facts.map(|fact| (Identity::of(&fact), fact)).collect::<Vec<_>>()
        };
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
        let part = paths.len().div_ceil(threads).max(PATHS_OF_THREAD_MIN);
        let found = if paths.len() <= part {
            looked_at(paths)
        } else {
            std::thread::scope(|scope| {
                let parts = paths.chunks(part).map(|part| scope.spawn(move || looked_at(part)));
                let parts: Vec<_> = parts.collect();
                let joined = parts.into_iter().map(ScopedJoinHandle::join);
                joined.flat_map(|part| part.unwrap_or_else(|panic| resume_unwind(panic))).collect()
            })
        };
        // Two links of a file, or a folder mounted in two places: one thing has one resolved name, the first that was met.
        let mut names: BTreeMap<Identity, PathBuf> = BTreeMap::new();
        let named = |(identity, mut fact): (Option<Identity>, TargetFact)| {
            if let Some(identity) = identity {
                fact.resolved.clone_from(names.entry(identity).or_insert_with(|| fact.resolved.clone()));
            }
            fact
        };
        found.into_iter().map(named).collect()
    }

    fn target(&self, path: &Path) -> TargetFact {
        let mut fact = TargetFact {
            path: path.to_owned(),
            resolved: path.to_owned(),
            kind: FileKind::Other,
            error: None,
            errno: None,
            filesystem: None,
            file: None,
            folder_made_by_fathom: false,
            device: None,
        };
        match path.canonicalize().and_then(|resolved| resolved.metadata().map(|meta| (resolved, meta))) {
            Ok((resolved, meta)) => {
                fact.resolved = resolved;
                self.existing(&mut fact, &meta);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.absent(&mut fact),
            Err(error) => refuse(&mut fact, &error),
        }
        fact
    }

    fn existing(&self, fact: &mut TargetFact, meta: &Metadata) {
        let kind = meta.file_type();
        let resolved = fact.resolved.clone();
        if kind.is_block_device() {
            fact.kind = FileKind::BlockDevice;
            let number = number_of(meta.rdev());
            let Some(node) = self.blocks.numbered(number) else {
                let place = self.roots.sys.display();
                fact.error = Some(format!("{place} has no block device {}:{}", number.major, number.minor));
                return;
            };
            let mut device = self.device(node);
            {
                let _alone = self.known.lock().unwrap_or_else(PoisonError::into_inner);
                if let Err(error) = look_into(&resolved, &mut device) {
                    refuse(fact, &error);
                }
            }
            fact.device = Some(device);
            if !self.mounts.are_known() {
                let place = self.roots.proc.display();
                fact.error =
                    Some(format!("{place}/self/mountinfo cannot be read, so that mounts are not known"));
                fact.errno = None;
            }
        } else if kind.is_file() {
            fact.kind = FileKind::File;
            let folder = resolved.parent().unwrap_or(Path::new("/"));
            self.filesystem(fact, folder, Some(&resolved));
            let mut file = file::file(&resolved, meta, fact.filesystem.as_ref());
            file.in_use = self.usage.of_file(&resolved, file.made_by_fathom);
            fact.file = Some(file);
        } else if kind.is_dir() {
            fact.kind = FileKind::Folder;
            fact.folder_made_by_fathom =
                content::open_with(&resolved, OFlags::DIRECTORY).is_ok_and(|folder| mark::is_ours(&folder));
            self.filesystem(fact, &resolved, None);
        } else if is_memory_device(meta) {
            fact.kind = FileKind::MemoryDevice;
        }
    }

    /// Nothing is at the path. A link that leads nowhere is followed for what there is to say, and is an error: what is
    /// made is made where nothing is, and never through a link.
    fn absent(&self, fact: &mut TargetFact) {
        let mut place = std::path::absolute(&fact.path).unwrap_or_else(|_| fact.path.clone());
        if let Ok(link) = place.read_link() {
            fact.error = Some(format!(
                "it is a symbolic link to {}, where nothing is; name that, or make it first",
                link.display()
            ));
        }
        for _ in 0..LINKS_MAX {
            let Ok(link) = place.read_link() else { break };
            // Joining an absolute link replaces the folder.
            place = place.parent().unwrap_or(Path::new("/")).join(link);
        }
        let folder = place.parent().and_then(|folder| folder.canonicalize().ok());
        match (folder.filter(|folder| folder.is_dir()), place.file_name()) {
            (Some(folder), Some(name)) => {
                fact.kind = FileKind::Absent;
                fact.resolved = folder.join(name);
                self.filesystem(fact, &folder, None);
            }
            _ => {
                fact.kind = FileKind::NoFolder;
                if let Some((folder, below)) = file::existing_folder(&place) {
                    // Of folders that are to be made one has one name as well.
                    if below.components().all(|part| matches!(part, Component::Normal(_))) {
                        fact.resolved = folder.join(below);
                    }
                    self.filesystem(fact, &folder, None);
                }
            }
        }
    }

    fn filesystem(&self, fact: &mut TargetFact, folder: &Path, existing: Option<&Path>) {
        let place = existing.unwrap_or(folder);
        let listed = self.mounts.carrying(place, usage::mount_id(place)).cloned();
        let unlisted = || Some(Mount::unlisted(number_of(place.metadata().ok()?.dev()), folder));
        let Some(mount) = listed.or_else(unlisted) else {
            return;
        };
        fact.device = self.device_under(&mount);
        let sector_bytes = fact.device.as_ref().map(|device| device.logical_sector_bytes);
        fact.filesystem = file::filesystem(&mount, folder, existing, sector_bytes);
    }

    /// The device that a mount names by its number, or by its source where it has none of its own.
    fn device_under(&self, mount: &Mount) -> Option<BlockDevice> {
        self.node_under(mount).map(|node| self.device(node))
    }

    fn node_under(&self, mount: &Mount) -> Option<&block::Node> {
        let by_source = || mount.device_paths().find_map(|path| self.blocks.at_path(Path::new(path)));
        self.blocks.numbered(mount.number).or_else(by_source)
    }

    /// The device that carries the file behind a loop device.
    fn below(&self, node: &block::Node) -> Option<DeviceNumber> {
        let file = node.backing.as_ref()?.canonicalize().ok()?;
        let mount = self.mounts.carrying(&file, usage::mount_id(&file))?;
        self.node_under(mount).map(|node| node.number)
    }

    fn device(&self, node: &block::Node) -> BlockDevice {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get(&node.number) {
            return known.clone();
        }
        let mut device =
            BlockDevice { in_use: self.usage.of_device(node), ..self.blocks.describe(self.roots, node) };
        device.below = device.below.or_else(|| self.below(node));
        let is_held = |other: &block::Node| {
            let opened = content::open_with(&Path::new("/dev").join(&other.name), OFlags::EXCL);
            opened.is_err_and(|error| Errno::from_io_error(&error) == Some(Errno::BUSY))
        };
        // Who writes to the same bytes through another loop device holds that one.
        if device.in_use.is_empty() && self.blocks.shows_the_same(node).any(is_held) {
            device.in_use.push(InUse::Exclusive);
        }
        known.insert(node.number, device.clone());
        device
    }
}

/// Minors of the character devices of major 1 (Linux Documentation/admin-guide/devices.txt) that have no end and keep nothing:
/// null, zero, full, random, urandom. The others of this major are the machine's memory, its ports and the kernel's log.
const BOTTOMLESS: [u32; 5] = [3, 5, 7, 8, 9];

/// Whether something is a character device that may be read and written without harm.
pub(crate) fn is_memory_device(meta: &Metadata) -> bool {
    let number = number_of(meta.rdev());
    meta.file_type().is_char_device() && number.major == 1 && BOTTOMLESS.contains(&number.minor)
}

/// Looks into a device, read-only: whether someone has it exclusively, and what it holds. Returns why it cannot be
/// opened at all.
fn look_into(path: &Path, device: &mut BlockDevice) -> io::Result<()> {
    let opened = content::open_with(path, OFlags::EXCL);
    if let Err(error) = opened {
        if Errno::from_io_error(&error) == Some(Errno::BUSY) {
            // Said only where nothing better explains it: a mount is held exclusively by its filesystem.
            if device.in_use.is_empty() {
                device.in_use.push(InUse::Exclusive);
            }
        } else {
            device.content = ContentFact::Unreadable(error.to_string());
            return Err(error);
        }
    }
    device.content = content::content(path, device.size.0, device.logical_sector_bytes);
    Ok(())
}

/// Notes why a target cannot be used.
fn refuse(fact: &mut TargetFact, error: &io::Error) {
    fact.error = Some(error.to_string());
    fact.errno = error.raw_os_error();
}

#[cfg(test)]
mod live_tests;

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn kinds_of_paths() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        std::fs::write(at("file"), "content").unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        for (target, link) in [
            ("file", "to-file"),
            ("gone", "to-gone"),
            ("to-gone", "to-to-gone"),
            ("no/where", "to-no"),
            ("ring", "ring"),
        ] {
            symlink(target, at(link)).unwrap();
        }
        for (path, kind, resolved, has_error) in [
            (at("file"), FileKind::File, at("file"), false),
            (at("to-file"), FileKind::File, at("file"), false),
            (at("folder"), FileKind::Folder, at("folder"), false),
            (at("gone"), FileKind::Absent, at("gone"), false),
            (at("to-gone"), FileKind::Absent, at("gone"), true),
            (at("to-to-gone"), FileKind::Absent, at("gone"), true),
            (at("no/where"), FileKind::NoFolder, at("no/where"), false),
            (at("to-no"), FileKind::NoFolder, at("no/where"), true),
            (at("ring"), FileKind::Other, at("ring"), true),
            (at("file/x"), FileKind::Other, at("file/x"), true),
            ("/dev/null".into(), FileKind::MemoryDevice, "/dev/null".into(), false),
            ("/dev/urandom".into(), FileKind::MemoryDevice, "/dev/urandom".into(), false),
            ("/dev/tty".into(), FileKind::Other, "/dev/tty".into(), false),
        ] {
            let facts = probe(std::slice::from_ref(&path), Path::new("/nowhere"), EngineRefusals::default());
            let fact = &facts.targets[0];
            let found = (fact.kind, &fact.resolved, fact.error.is_some());
            let errno = [("ring", Errno::LOOP), ("file/x", Errno::NOTDIR)]
                .into_iter()
                .find_map(|(name, errno)| (path == at(name)).then_some(errno.raw_os_error()));
            assert_eq!(fact.errno, errno, "{}: {fact:?}", path.display());
            assert_eq!(found, (kind, &resolved, has_error), "{}: {fact:?}", path.display());
            let is_on_filesystem = !matches!(kind, FileKind::Other | FileKind::MemoryDevice);
            assert_eq!(fact.filesystem.is_some(), is_on_filesystem, "{}", path.display());
        }
    }

    #[test]
    fn names_of_one_thing_have_one_resolved_name() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        std::fs::write(at("file"), "content").unwrap();
        std::fs::write(at("copy"), "content").unwrap();
        std::fs::hard_link(at("file"), at("hard")).unwrap();
        symlink("hard", at("soft")).unwrap();
        let paths = ["soft", "file", "copy", "hard", "new", "other"].map(at);
        let facts = probe(&paths, Path::new("/nowhere"), EngineRefusals::default());
        let resolved: Vec<PathBuf> = facts.targets.into_iter().map(|fact| fact.resolved).collect();
        assert_eq!(resolved, ["hard", "hard", "copy", "hard", "new", "other"].map(at));
    }

    #[test]
    fn changes_are_told_and_noise_is_not() {
        let fact = |subject: &str, name: &str, value: Option<&str>| EnvironmentFact {
            subject: subject.to_owned(),
            name: name.to_owned(),
            value: value.map(str::to_owned),
            source: String::new(),
        };
        let before = [
            fact("cpu", "governor", Some("performance")),
            fact("cpu", "model", Some("x")),
            fact("load", "average", Some("0.1")),
            fact("device md0", "md sync_action", Some("idle")),
            fact("device sda", "queue scheduler", Some("none")),
            fact("cpu", "boost", None),
        ];
        let after = [
            fact("cpu", "governor", Some("powersave")),
            fact("cpu", "model", Some("x")),
            fact("load", "average", Some("3.0")),
            fact("device md0", "md sync_action", Some("check")),
            fact("cpu", "boost", None),
            fact("cpu", "isolated", Some("3")),
            fact("cpu", "new and absent", None),
        ];
        let expect = [&after[0], &after[3], &after[5]].map(Clone::clone);
        let gone = fact("device sda", "queue scheduler", None);
        assert_eq!(environment_changes(&before, &after), [&expect[..], &[gone]].concat());
    }
}
