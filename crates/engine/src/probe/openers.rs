//! Which programs have block devices open for writing. A virtual machine's disk or a target of iSCSI is held by nobody else: it is
//! neither mounted nor claimed. Sees what the caller may see: without privileges that is the caller's own.

use super::roots::{Roots, names, text};
use fathom_schema::DeviceNumber;
use rustix::fs::{major, minor};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// Bits of the flags of an open file that say what it is open for; none of them set is reading (`open(2)`).
const ACCESS_BITS: u32 = 0o3;

/// A program that has a device open for writing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Opener {
    pub(super) number: DeviceNumber,
    /// As the kernel has it, which cuts it after 15 bytes.
    pub(super) program: String,
    pub(super) process: u32,
}

/// Every program with block devices that it has open for writing, each once. Processes of this same program are left out: those
/// have locks, which say more of what they do.
pub(super) fn all(roots: &Roots) -> Vec<Opener> {
    let own = std::fs::read_link(roots.proc.join("self/exe")).ok();
    let mut found: Vec<Opener> = Vec::new();
    for process in names(&roots.proc).into_iter().filter_map(|name| name.parse::<u32>().ok()) {
        let folder = roots.proc.join(process.to_string());
        let devices = opened(&folder, &roots.dev);
        if devices.is_empty() || own.is_some() && std::fs::read_link(folder.join("exe")).ok() == own {
            continue;
        }
        let program = text(&folder.join("comm")).unwrap_or_else(|| "a program".to_owned());
        for number in devices {
            let one = Opener { number, program: program.clone(), process };
            if !found.contains(&one) {
                found.push(one);
            }
        }
    }
    found
}

/// Block devices below `devices` that the process of this folder has open for writing.
fn opened(folder: &Path, devices: &Path) -> Vec<DeviceNumber> {
    let number = |name: &String| {
        let file = folder.join("fd").join(name);
        // Its link is text. A file itself may lie on a filesystem that does not answer any more.
        if !std::fs::read_link(&file).ok()?.starts_with(devices)
            || !is_for_writing(&folder.join("fdinfo").join(name))
        {
            return None;
        }
        // Of an open file itself, whatever lies at its path by now.
        let meta = std::fs::metadata(file).ok()?;
        let number = || DeviceNumber { major: major(meta.rdev()), minor: minor(meta.rdev()) };
        meta.file_type().is_block_device().then(number)
    };
    names(&folder.join("fd")).iter().filter_map(number).collect()
}

/// Whether an open file is open for writing (`proc_pid_fdinfo(5)`: its flags in octal).
fn is_for_writing(info: &Path) -> bool {
    let flags = |text: String| {
        let line = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
        u32::from_str_radix(line.trim(), 8).ok()
    };
    text(info).and_then(flags).is_some_and(|flags| flags & ACCESS_BITS != 0)
}
