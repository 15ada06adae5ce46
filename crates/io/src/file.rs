//! Files as they are opened to be measured, and what the system keeps of them.

use crate::engine::last_errno;
use fathom_schema::Advice;
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};

/// Each write lasts as soon as it completes, with as much of the metadata as reading it takes (`open(2)`, `O_DSYNC`). As a number,
/// since the flags of `rustix` take it for `O_SYNC`, which waits for all metadata.
pub const DATA_SYNC: u32 = libc::O_DSYNC.cast_unsigned();

/// Of a file that is made: nobody may. What is opened here is there.
const NO_MODE: libc::c_uint = 0;

/// Opens a file so that programs that are started do not get it, and without its time of access being kept where that may be
/// asked for: by an owner (`open(2)`, `O_NOATIME`). Keeping it is work that nobody asked for, in each read.
///
/// # Errors
/// The error number.
pub fn open_quietly(path: &CStr, flags: i32) -> Result<File, i32> {
    let open = |flags: libc::c_int| {
        // SAFETY: the path is text that ends, and lives for the call.
        let opened = unsafe { libc::open64(path.as_ptr(), flags | libc::O_CLOEXEC, NO_MODE) };
        // SAFETY: the descriptor is new, and nobody else has it.
        if opened < 0 { Err(last_errno()) } else { Ok(unsafe { File::from_raw_fd(opened) }) }
    };
    match open(flags | libc::O_NOATIME) {
        Err(libc::EPERM) => open(flags),
        opened => opened,
    }
}

/// Tells the kernel how a file is going to be read. Advice only: what comes of it is the kernel's business.
pub fn advise(file: &File, advice: Advice) {
    let advice = match advice {
        Advice::None => return,
        Advice::Random => libc::POSIX_FADV_RANDOM,
        Advice::Sequential => libc::POSIX_FADV_SEQUENTIAL,
        Advice::NoReuse => libc::POSIX_FADV_NOREUSE,
    };
    fadvise(file, advice);
}

/// Drops the pages of a file that are cached and clean. Where that cannot be done, they stay.
pub fn drop_clean(file: &File) {
    fadvise(file, libc::POSIX_FADV_DONTNEED);
}

fn fadvise(file: &File, advice: libc::c_int) {
    // SAFETY: the descriptor is open; no memory is passed.
    unsafe { libc::posix_fadvise64(file.as_raw_fd(), 0, 0, advice) };
}

/// Writes what is dirty among a file's cached pages, and waits for it (`sync_file_range(2)` over all of it). They are clean
/// then, and can be dropped; whether the data would survive a power failure is another question: neither the filesystem's
/// journal nor the device's cache is flushed, which is the larger part of an `fdatasync` of a file that is clean already.
///
/// # Errors
/// What the system says, e.g. of a file of a kind that has no pages.
pub fn write_back(file: &File) -> io::Result<()> {
    let all =
        libc::SYNC_FILE_RANGE_WAIT_BEFORE | libc::SYNC_FILE_RANGE_WRITE | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: the call takes no memory, and the descriptor is open as long as the reference lives.
    match unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, all) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
