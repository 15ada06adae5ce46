//! A trace that comes on standard input, through a pipe or from a socket. It is looked at before it is replayed, so it has to be a
//! file by then.

use fathom_model::Job;
use rustix::fs::{Mode, OFlags, open};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, copy};
use std::os::fd::IntoRawFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;

/// Largest trace that is taken: 64 Mi operations, which are the most that are replayed, with 128 bytes for each.
const TRACE_BYTES_MAX: u64 = 8 << 30;

/// Gives the streams that replay what can be read once alone a file with what comes there, as much as comes until its end. The file has
/// no name, and is gone with the process.
pub(crate) fn becomes_a_file(job: &mut Job) -> Result<(), String> {
    let mut copies: BTreeMap<String, String> = BTreeMap::new();
    for stream in &mut job.streams {
        let Some(name) = stream.options.trace.get().cloned() else { continue };
        let name = if name == "/dev/stdin" { "-".to_owned() } else { name };
        let path = match copies.get(&name) {
            Some(path) => Some(path.clone()),
            None => read_once(&name)
                .transpose()
                .map_err(|error| format!("the trace that comes from {name} cannot be kept: {error}"))?,
        };
        if let Some(path) = path {
            stream.options.trace.set(path.clone(), stream.options.trace.span().unwrap_or(stream.span));
            copies.insert(name, path);
        }
    }
    Ok(())
}

/// The path of a file with what comes from there; `None` where it can be read again.
fn read_once(name: &str) -> Option<std::io::Result<String>> {
    if name == "-" {
        return Some(kept(std::io::stdin().lock()));
    }
    let kind = std::fs::metadata(name).ok()?.file_type();
    if kind.is_socket() {
        Some(UnixStream::connect(name).and_then(kept))
    } else if kind.is_fifo() {
        Some(File::open(name).and_then(kept))
    } else {
        None
    }
}

/// The path of a file with all that is read, while this process lives.
fn kept(from: impl Read) -> std::io::Result<String> {
    let folder = std::env::temp_dir();
    let mut file =
        File::from(open(&folder, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)?);
    let copied = copy(&mut from.take(TRACE_BYTES_MAX + 1), &mut file)?;
    if copied > TRACE_BYTES_MAX {
        return Err(std::io::Error::other(format!("it has more than {TRACE_BYTES_MAX} bytes")));
    }
    file.rewind()?;
    // Open as long as the process: that is what the path leads through.
    Ok(format!("/proc/self/fd/{}", file.into_raw_fd()))
}
