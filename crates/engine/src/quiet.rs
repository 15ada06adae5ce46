//! Opening without a trace: what is only looked at, or measured, keeps its time of last access.

use rustix::fs::OFlags;
use rustix::io::Errno;
use std::ffi::CString;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Opens what is there, as [`fathom_io::open_quietly`] does.
pub(crate) fn open(path: &Path, flags: OFlags) -> Result<File, Errno> {
    let text = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::INVAL)?;
    let flags = i32::from_ne_bytes(flags.bits().to_ne_bytes());
    fathom_io::open_quietly(&text, flags).map_err(Errno::from_raw_os_error)
}
