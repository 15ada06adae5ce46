//! Locks between processes: who writes to a file or device holds `flock(2)` on it, so that two runs cannot spoil each
//! other's figures and data unnoticed. Advisory: it tells fathom from fathom, and udev to keep away from a device.
//!
//! Owns what a lock's answer means; does not know which targets are written.

use fathom_io::clock::{monotonic, sleep_until};
use fathom_units::Nanos;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io::Errno;
use std::fs::File;
use std::path::Path;

/// How long a lock is tried for: another process that only looks (a reader of fathom's, udev at a device) holds it for
/// well under a millisecond, a writer for its whole run.
const PATIENCE: Nanos = Nanos::millis(500);
/// Pause between two tries.
const PAUSE: Nanos = Nanos::millis(10);

/// The answer to a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lock {
    /// It is held until all copies of the descriptor are closed.
    Held,
    /// Another process writes to it.
    Taken,
    /// The filesystem has no locks.
    Impossible,
}

/// Locks an open file or device for writing.
pub(crate) fn for_writing(file: &File) -> Lock {
    let give_up = monotonic().after(PATIENCE);
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Lock::Held,
            Err(Errno::WOULDBLOCK) if monotonic() >= give_up => return Lock::Taken,
            Err(Errno::WOULDBLOCK | Errno::INTR) => sleep_until(monotonic().after(PAUSE)),
            Err(_) => return Lock::Impossible,
        }
    }
}

/// Whether another process holds the lock for writing on what is at a path. Holds nothing afterwards.
pub(crate) fn is_written_elsewhere(path: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    // What cannot be opened says so when it is opened for good.
    let Ok(file) = open(path, flags, Mode::empty()) else { return false };
    flock(file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
}
