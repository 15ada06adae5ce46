//! A sign on an open file that somebody uses it, for other processes to see: a read lock of the open file description
//! (`fcntl(2)`, `F_OFD_SETLK`) on a byte that no file reaches, which goes with the last copy of the descriptor.
//!
//! Keeps nobody from anything, and is independent of `flock(2)`. Does not know what the sign means.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// The byte: the last that an offset can name but one.
const BYTE: libc::off64_t = libc::off64_t::MAX - 1;

/// Sets the sign on a file that is open for reading. Shown until every copy of the descriptor is closed.
///
/// # Errors
/// The kernel's, e.g. where the filesystem has no locks.
pub fn show(file: &File) -> io::Result<()> {
    ask(file, libc::F_OFD_SETLK, libc::F_RDLCK).map(|_| ())
}

/// Whether somebody shows the sign on this file through another open file description, of this process too.
///
/// # Errors
/// As [`show`].
pub fn is_shown(file: &File) -> io::Result<bool> {
    Ok(ask(file, libc::F_OFD_GETLK, libc::F_WRLCK)? != libc::F_UNLCK)
}

/// Asks for a lock of this kind; the kind that the kernel answers with.
fn ask(file: &File, command: libc::c_int, kind: libc::c_int) -> io::Result<libc::c_int> {
    let kind = libc::c_short::try_from(kind).map_err(|_| io::ErrorKind::InvalidInput)?;
    let whence = libc::c_short::try_from(libc::SEEK_SET).map_err(|_| io::ErrorKind::InvalidInput)?;
    // The kernel refuses these commands where the process is not 0.
    let mut lock = libc::flock64 { l_type: kind, l_whence: whence, l_start: BYTE, l_len: 1, l_pid: 0 };
    // SAFETY: the descriptor is open as long as `file` is borrowed; the kernel reads and writes `lock` during the call only.
    let answer = unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) };
    if answer == -1 { Err(io::Error::last_os_error()) } else { Ok(lock.l_type.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_is_seen_until_it_goes() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let other = File::open(file.path()).unwrap();
        let shown = || is_shown(&other).unwrap();
        assert!(!shown());
        let reader = File::open(file.path()).unwrap();
        show(&reader).unwrap();
        let second = reader.try_clone().unwrap();
        assert!(shown() && !is_shown(&reader).unwrap(), "one's own sign is no news");
        drop(reader);
        assert!(shown(), "a copy is left");
        drop(second);
        assert!(!shown());
    }
}
