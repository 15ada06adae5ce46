//! Opening without a trace: what is only looked at, or measured, keeps its time of last access.

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, open as open_path};
use rustix::io::Errno;
use std::path::Path;

/// Opens what is there, without its time of access being kept where that may be asked for: by an owner (`open(2)`,
/// `O_NOATIME`). Keeping it is work that nobody asked for, in each read.
pub(crate) fn open(path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    match open_path(path, flags | OFlags::NOATIME, Mode::empty()) {
        Err(Errno::PERM) => open_path(path, flags, Mode::empty()),
        opened => opened,
    }
}
