//! Locks between processes: who writes to a file or device holds `flock(2)` on it, so that two runs cannot spoil each
//! other's figures and data unnoticed. Advisory: it tells fathom from fathom, and udev to keep away from a device. Who
//! only reads holds a lock of another kind, which keeps nobody from writing and tells them of the reader.
//!
//! Owns what a lock's answer means; does not know which targets are written.

use fathom_io::clock::{monotonic, sleep_until};
use fathom_io::presence;
use fathom_units::Nanos;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstatfs, open};
use rustix::io::Errno;
use std::fs::File;
use std::path::Path;

/// How long a lock is tried for: another process that only looks (a reader of fathom's, udev at a device) holds it for
/// well under a millisecond, a writer for its whole run.
const PATIENCE: Nanos = Nanos::millis(500);
/// How something is opened that is only looked at.
const LOOKING: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);
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
    // What cannot be opened says so when it is opened for good.
    let Ok(file) = open(path, LOOKING, Mode::empty()) else { return false };
    flock(file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
}

/// Shows that what is at a path is being read, as long as what is returned is open. `None` where that cannot be shown.
pub(crate) fn for_reading(path: &Path) -> Option<File> {
    let file = File::from(open(path, LOOKING, Mode::empty()).ok()?);
    (is_told_apart(&file) && presence::show(&file).is_ok()).then_some(file)
}

/// Whether another process shows that it reads what is at a path.
pub(crate) fn is_read_elsewhere(path: &Path) -> bool {
    let Ok(file) = open(path, LOOKING, Mode::empty()) else { return false };
    let file = File::from(file);
    is_told_apart(&file) && presence::is_shown(&file).unwrap_or(false)
}

/// Whether a filesystem keeps the two kinds of locks apart: those of the network make one of the other.
fn is_told_apart(file: &File) -> bool {
    // NFS, SMB, CIFS, SMB2 and 9P: linux/magic.h.
    const OF_THE_NETWORK: [u32; 5] = [0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42, 0x0102_1997];
    let kind = fstatfs(file).map(|found| found.f_type);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the kernel's magics have 32 bits"
    )]
    kind.is_ok_and(|kind| !OF_THE_NETWORK.contains(&(kind as u32)))
}
