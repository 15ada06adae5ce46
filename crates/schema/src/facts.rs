//! Facts: what a probe found on one host. Absent things are said to be absent; nothing here is a guess.

use crate::engine::{EngineKind, Submitter};
use crate::trace::TraceFact;
use crate::wire;
use fathom_units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// What was found on one host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Host name.
    pub host: String,
    /// Processors.
    pub cpu: CpuFacts,
    /// What this process may use.
    pub limits: Limits,
    /// Size of a memory page.
    #[serde(with = "wire::bytes")]
    pub page_size: Bytes,
    /// Memory of the host.
    #[serde(with = "wire::bytes")]
    pub memory: Bytes,
    /// One entry per path that was asked for, in the order asked.
    pub targets: Vec<TargetFact>,
    /// Everything else worth keeping beside a result, as text.
    pub environment: Vec<EnvironmentFact>,
    /// How fast fathom is by itself here; `None` when that was not measured on the machine as it is.
    #[serde(default)]
    pub ceiling: Option<Ceiling>,
    /// One entry per trace that the job replays.
    #[serde(default)]
    pub traces: Vec<TraceFact>,
}

impl Facts {
    /// The facts of the targets by path, for whoever goes through many of them.
    pub fn by_path(&self) -> HashMap<&Path, &TargetFact> {
        self.targets.iter().map(|fact| (fact.path.as_path(), fact)).collect()
    }

    /// Whether a device carries only the file that a loop device of the targets shows, and none of them itself.
    pub fn is_only_below(&self, number: DeviceNumber) -> bool {
        let devices = || self.targets.iter().filter_map(|fact| fact.device.as_ref());
        devices().any(|device| device.below == Some(number))
            && devices().all(|device| device.number != number)
    }
}

/// How fast the generator is where nothing holds it back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// Operations per second of one worker on the null engine at depth 1, with full statistics; above 0.
    pub operations_per_s: f64,
    /// The same with engines that move bytes, by name: reads of 512 B from the page cache, at depth 32 where an engine has
    /// depths. Empty when only the null engine was measured.
    #[serde(default)]
    pub engines: BTreeMap<String, f64>,
}

impl Ceiling {
    /// What one worker reaches at most with an engine, and with which engine that was measured; `None`: without one, as for
    /// rings that ask the device for what is done or have a thread of the kernel's, which may be faster than what was measured.
    pub fn of(&self, engine: EngineKind) -> (f64, Option<&str>) {
        let measured = match engine {
            // One or two system calls per operation: none is faster than the one that was measured.
            EngineKind::Sync | EngineKind::Vsync | EngineKind::Pvsync => EngineKind::Psync,
            EngineKind::IoUring(ring) if ring.polled || ring.submitter != Submitter::Worker => {
                EngineKind::Null
            }
            other => other,
        };
        match self.engines.get_key_value(measured.name()) {
            Some((name, rate)) => (*rate, Some(name)),
            None => (self.operations_per_s, None),
        }
    }
}

/// Processors of a host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuFacts {
    /// Model name; empty when unknown.
    pub model: String,
    /// Those this process may run on.
    pub usable: Vec<u32>,
    /// Those its threads may be made to run on, which who started it on fewer (`taskset`) does not take away; none where that is not
    /// known.
    #[serde(default)]
    pub reachable: Vec<u32>,
}

/// What this process may use.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// `None`: `io_uring` works; else why not.
    pub io_uring_refused: Option<String>,
    /// The number of the error it was refused with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_uring_errno: Option<i32>,
    /// `None`: Linux AIO works; else why not.
    pub libaio_refused: Option<String>,
    /// The number of the error it was refused with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub libaio_errno: Option<i32>,
    /// `RLIMIT_NOFILE`, soft.
    pub open_files: u64,
    /// `RLIMIT_MEMLOCK`, soft, in bytes; `u64::MAX` when unlimited or privileged.
    pub locked_memory_bytes: u64,
    /// Whether rings of `io_uring` count against it: with some kernels they do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rings_are_locked: bool,
    /// Mappings that a process may have (`vm.max_map_count`); 0 where that is not known.
    #[serde(default)]
    pub mappings: u64,
    /// Threads that this user may have (`RLIMIT_NPROC`, `kernel.threads-max`, `kernel.pid_max`, whichever is least); 0 where
    /// that is not known.
    #[serde(default)]
    pub threads: u64,
    /// Operations that may still be in flight through Linux AIO on the host (`fs.aio-max-nr` less `fs.aio-nr`); `None` when
    /// that is not known.
    #[serde(default)]
    pub aio_operations_left: Option<u64>,
}

/// One thing worth keeping beside a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentFact {
    /// What it is about: `cpu`, `memory`, `kernel`, `clock`, `device nvme0n1`, `filesystem /mnt` …
    pub subject: String,
    /// Name, e.g. `governor`.
    pub name: String,
    /// Value as text; `None` when the host does not have it.
    pub value: Option<String>,
    /// Where it was read, e.g. `/sys/block/nvme0n1/queue/scheduler`.
    pub source: String,
}

impl EnvironmentFact {
    /// The value as a size, where it is one: what a filesystem holds, in bytes, and what the kernel writes in kB, which are
    /// of 1024 bytes.
    pub fn bytes(&self) -> Option<Bytes> {
        let value = self.value.as_deref()?;
        if let Some(kib) = value.strip_suffix(" kB") {
            return kib.parse::<u64>().ok()?.checked_mul(1024).map(Bytes);
        }
        let is_size =
            self.subject.starts_with("filesystem ") && ["size", "available"].contains(&self.name.as_str());
        is_size.then(|| value.parse().map(Bytes).ok()).flatten()
    }
}

/// A device number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct DeviceNumber {
    /// Major.
    pub major: u32,
    /// Minor.
    pub minor: u32,
}

/// What was found at one path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetFact {
    /// The path as asked.
    #[serde(with = "wire::path")]
    pub path: PathBuf,
    /// The path with all links followed. Several names of one thing (hard links, a folder mounted twice, two nodes of a
    /// device) have the one by which it was met first, so that equal means the same and different means different.
    #[serde(with = "wire::path")]
    pub resolved: PathBuf,
    /// What is there.
    pub kind: FileKind,
    /// Why it cannot be used, when the system said so (permission denied, a loop of links …).
    pub error: Option<String>,
    /// The number of that error, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errno: Option<i32>,
    /// For a regular file, or a path where none is yet: its filesystem (that of the nearest existing folder).
    pub filesystem: Option<Filesystem>,
    /// For a regular file.
    pub file: Option<FileFact>,
    /// For a folder: whether fathom made it and nobody has put anything into it or taken it out since.
    #[serde(default)]
    pub folder_made_by_fathom: bool,
    /// For a block device, or the one under a file's filesystem.
    pub device: Option<BlockDevice>,
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// Nothing; the nearest existing folder above can be written.
    Absent,
    /// Nothing, and the folder it would be in does not exist.
    NoFolder,
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A block device.
    BlockDevice,
    /// One of the kernel's devices that have no end and keep nothing: `/dev/null`, `zero`, `full`, `random`, `urandom`.
    MemoryDevice,
    /// Anything else: a pipe, a socket, another character device.
    Other,
}

/// A regular file.
#[expect(clippy::struct_excessive_bools, reason = "independent facts about one file")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFact {
    /// Its size.
    #[serde(with = "wire::bytes")]
    pub size: Bytes,
    /// Bytes of it that are allocated and written; less than `size` means holes or unwritten extents.
    #[serde(with = "wire::bytes")]
    pub written: Bytes,
    /// Whether fathom made it and nobody has changed it since: its mark (extended attribute `user.fathom`) says so.
    pub made_by_fathom: bool,
    /// Its mark says that it was left before it was laid out in full, by a run that was killed.
    #[serde(default)]
    pub unfinished: bool,
    /// Why it does not count as made by fathom although it carries fathom's mark.
    #[serde(default)]
    pub void_mark: Option<VoidMark>,
    /// Whether this process may write to it.
    pub writable: bool,
    /// Whether this process may read it.
    pub readable: bool,
    /// Ways in which it is in use that forbid writing: a loop device's backing file, swap.
    pub in_use: Vec<InUse>,
}

/// Why fathom's mark on a file does not make it fathom's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VoidMark {
    /// The file has been changed since fathom was done with it.
    Changed,
    /// A run began to write it and has not said that it ended: it was killed, or still goes on.
    Unended {
        /// Which run.
        run: String,
    },
}

/// A mounted filesystem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filesystem {
    /// `ext4`, `xfs`, `tmpfs` …
    pub kind: String,
    /// Where it is mounted.
    #[serde(with = "wire::path")]
    pub mount_point: PathBuf,
    /// Mount options as the kernel prints them.
    pub options: String,
    /// Size.
    #[serde(with = "wire::bytes")]
    pub size: Bytes,
    /// Free for this user.
    #[serde(with = "wire::bytes")]
    pub available: Bytes,
    /// Alignment that direct I/O needs here; absent when direct I/O is refused.
    pub direct_align_bytes: Option<u32>,
    /// Whether this process may create files in the asked folder.
    pub can_create: bool,
}

impl Filesystem {
    /// Whether its files lie in memory, with no device under them.
    pub fn is_in_memory(&self) -> bool {
        ["tmpfs", "ramfs"].contains(&&*self.kind)
    }

    /// Whether nobody may write to it, by the options of the mount or of the filesystem.
    pub fn is_read_only(&self) -> bool {
        self.options.split(',').any(|option| option == "ro")
    }
}

/// A block device and all that lies on and under it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockDevice {
    /// Kernel name, e.g. `nvme0n1p2`.
    pub name: String,
    /// Its number.
    pub number: DeviceNumber,
    /// The whole disk's kernel name; equal to `name` for a whole disk.
    pub disk: String,
    /// Size.
    #[serde(with = "wire::bytes")]
    pub size: Bytes,
    /// Logical sector.
    pub logical_sector_bytes: u32,
    /// Physical sector.
    pub physical_sector_bytes: u32,
    /// Model; empty when unknown.
    pub model: String,
    /// Serial number; empty when unknown.
    pub serial: String,
    /// True when the kernel refuses writes.
    pub read_only: bool,
    /// True when discards are possible.
    pub discards: bool,
    /// Why it must not be written: mounts, swap, holders, of itself, its partitions and its disk.
    pub in_use: Vec<InUse>,
    /// What its content looks like.
    pub content: ContentFact,
    /// The device on which the file lies that a loop device shows, or that it shows itself; `None` of others, and where it is not
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<DeviceNumber>,
}

/// A way in which a device or file is in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InUse {
    /// Mounted.
    Mounted {
        /// Which device: itself, a partition, a holder's descendant.
        device: String,
        /// Where.
        #[serde(with = "wire::path")]
        mount_point: PathBuf,
    },
    /// Swap space.
    Swap {
        /// Which device or file.
        device: String,
    },
    /// Held by another device: dm, md, LVM, bcache.
    Holder {
        /// Which device is held.
        device: String,
        /// By whom.
        holder: String,
    },
    /// A loop device uses it as backing file or device.
    LoopBacking {
        /// Which loop device.
        device: String,
    },
    /// It carries the running system.
    System {
        /// Which mount shows it.
        #[serde(with = "wire::path")]
        mount_point: PathBuf,
    },
    /// It carries fathom's own store.
    Store {
        /// The store's folder.
        #[serde(with = "wire::path")]
        folder: PathBuf,
    },
    /// It is the record of a run, wherever it lies.
    Record,
    /// Opened exclusively by someone (`O_EXCL` says busy).
    Exclusive,
    /// Another program has it open for writing.
    Opened {
        /// Which device.
        device: String,
        /// The program's name, as the kernel has it.
        program: String,
        /// Its process.
        process: u32,
    },
}

/// What a device's content looks like.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentFact {
    /// Could not be read; with the reason.
    Unreadable(String),
    /// Not looked at (reads only, or no permission needed).
    #[default]
    Unknown,
    /// All of it was read, and all is zero.
    Blank,
    /// The places that were read are all zero; the rest was not looked at.
    SeemsBlank,
    /// Something without a known signature.
    Unrecognised,
    /// Known signatures, at least one.
    Signed(Vec<Signature>),
}

/// A known signature on a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signature {
    /// `gpt`, `mbr`, `ext4`, `xfs`, `luks`, `lvm2`, `md`, `zfs`, `swap` …
    pub kind: String,
    /// Where it was found, in bytes from the device's start.
    pub offset: u64,
    /// Label or UUID when it has one; empty otherwise.
    pub label: String,
}

/// How many blocks of what is read of a target are all zero, as blocks at random places show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZeroBlocks {
    /// The target's path.
    #[serde(with = "wire::path")]
    pub path: PathBuf,
    /// Bytes of one block.
    pub block_bytes: u32,
    /// Blocks that there are in what is read.
    pub blocks: u64,
    /// Blocks that were looked at: all of them, or some at random.
    pub sampled: u64,
    /// How many of those are all zero.
    pub zero: u64,
}
