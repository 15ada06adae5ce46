//! A trace that comes on standard input. It is looked at before it is replayed, so it has to be a file by then.

use fathom_model::Job;
use rustix::fs::{Mode, OFlags, open};
use std::fs::File;
use std::io::{Read, Seek, copy};
use std::os::fd::IntoRawFd;

/// Largest trace that is taken: 64 Mi operations, which are the most that are replayed, with 128 bytes for each.
const TRACE_BYTES_MAX: u64 = 8 << 30;

/// Gives the streams that replay `-` a file with what comes on standard input. The file has no name, and is gone with the
/// process.
pub(crate) fn becomes_a_file(job: &mut Job) -> Result<(), String> {
    let is_dash = |name: &String| name == "-" || name == "/dev/stdin";
    if !job.streams.iter().any(|stream| stream.options.trace.get().is_some_and(is_dash)) {
        return Ok(());
    }
    let path = kept().map_err(|error| format!("the trace on standard input cannot be kept: {error}"))?;
    for stream in job.streams.iter_mut().filter(|stream| stream.options.trace.get().is_some_and(is_dash)) {
        stream.options.trace.set(path.clone(), stream.options.trace.span().unwrap_or(stream.span));
    }
    Ok(())
}

/// The path of a file with what comes on standard input, while this process lives.
fn kept() -> std::io::Result<String> {
    let folder = std::env::temp_dir();
    let mut file =
        File::from(open(&folder, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)?);
    let copied = copy(&mut std::io::stdin().lock().take(TRACE_BYTES_MAX + 1), &mut file)?;
    if copied > TRACE_BYTES_MAX {
        return Err(std::io::Error::other(format!("it has more than {TRACE_BYTES_MAX} bytes")));
    }
    file.rewind()?;
    // Open as long as the process: that is what the path leads through.
    Ok(format!("/proc/self/fd/{}", file.into_raw_fd()))
}
