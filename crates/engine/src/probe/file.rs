//! Regular files and the filesystems they are on, or would be on.
//!
//! Opens read-only at most. Does not know devices beyond the sector that direct I/O falls back on.

use super::content::open_with;
use super::mounts::Mount;
use crate::mark::{self, Mark};
use fathom_schema::{FileFact, Filesystem};
use fathom_units::Bytes;
use rustix::fs::{
    Access, AtFlags, CWD, MemfdFlags, OFlags, SeekFrom, StatxFlags, accessat, memfd_create, seek, statvfs,
    statx,
};
use rustix::io::Errno;
use std::fs::Metadata;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Extents looked at in one file; more than any sane layout has. What lies behind the last counts as not written.
const EXTENTS_MAX: u32 = 1 << 20;
/// Files of a folder that are asked for the alignment of direct I/O before giving up.
const NEIGHBOURS_MAX: usize = 64;
/// Filesystems whose `SEEK_DATA` may call the whole file data, so that allocated blocks tell more.
const WITHOUT_HOLES: [&str; 8] = ["nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "fuse", "fuseblk"];
/// Alignment assumed where nothing tells: a page, which every direct I/O on Linux accepts.
const ALIGN_FALLBACK_BYTES: u32 = 4096;

/// What is known of a regular file, but for its uses.
pub(super) fn file(path: &Path, meta: &Metadata, filesystem: Option<&Filesystem>) -> FileFact {
    let size = Bytes(meta.len());
    let allocated = Bytes(meta.blocks().saturating_mul(512)).min(size);
    let only_blocks_tell =
        filesystem.is_some_and(|fs| WITHOUT_HOLES.iter().any(|kind| fs.kind.starts_with(kind)));
    let written = match data_bytes(path, size) {
        Some(data) if only_blocks_tell => data.min(allocated),
        Some(data) => data,
        None => allocated,
    };
    let mark = open_with(path, OFlags::empty()).map_or(Mark::Absent, |file| mark::read(&file));
    let made_by_fathom = mark == Mark::Ours;
    let (void_mark, unfinished) = match mark {
        Mark::Void { because, unfinished } => (Some(because), unfinished),
        Mark::Absent | Mark::Ours => (None, false),
    };
    FileFact {
        size,
        written,
        made_by_fathom,
        unfinished,
        void_mark,
        writable: may(path, Access::WRITE_OK),
        readable: may(path, Access::READ_OK),
        in_use: Vec::new(),
    }
}

/// Bytes that are neither holes nor, on filesystems that tell them apart, unwritten extents. `None` when the file
/// cannot be opened or its filesystem cannot say.
fn data_bytes(path: &Path, size: Bytes) -> Option<Bytes> {
    let file = open_with(path, OFlags::empty()).ok()?;
    let mut data = 0;
    let mut at = 0;
    for _ in 0..EXTENTS_MAX {
        let from = match seek(&file, SeekFrom::Data(at)) {
            Ok(from) => from,
            Err(Errno::NXIO) => break,
            Err(_) => return None,
        };
        at = seek(&file, SeekFrom::Hole(from)).ok()?;
        data += at.min(size.0).saturating_sub(from);
        if at >= size.0 {
            break;
        }
    }
    Some(Bytes(data))
}

fn may(path: &Path, access: Access) -> bool {
    // The effective user: what opening the file would go by.
    accessat(CWD, path, access, AtFlags::EACCESS).is_ok()
}

/// The filesystem of `mount`, which carries `folder` (without links). `existing` is the file itself when there is one;
/// `sector_bytes` that of the device below, when known.
pub(super) fn filesystem(
    mount: &Mount,
    folder: &Path,
    existing: Option<&Path>,
    sector_bytes: Option<u32>,
) -> Option<Filesystem> {
    let space = statvfs(existing.unwrap_or(folder)).ok()?;
    Some(Filesystem {
        kind: mount.kind.clone(),
        mount_point: mount.place.clone(),
        options: mount.options.clone(),
        size: Bytes(space.f_blocks.saturating_mul(space.f_frsize)),
        available: Bytes(space.f_bavail.saturating_mul(space.f_frsize)),
        direct_align_bytes: match &*mount.kind {
            // Where it is taken, since Linux 6.6, it changes nothing, so that any alignment will do.
            "tmpfs" => memory_takes_direct().then_some(1),
            "ramfs" | "hugetlbfs" => None,
            _ => direct_align(folder, existing, sector_bytes.unwrap_or(ALIGN_FALLBACK_BYTES)),
        },
        can_create: may(folder, Access::WRITE_OK | Access::EXEC_OK),
    })
}

/// Whether this kernel opens files in memory with `O_DIRECT`: tried on one that is nowhere, since nothing is created on a
/// mounted tmpfs to find out.
fn memory_takes_direct() -> bool {
    let Ok(file) = memfd_create("fathom", MemfdFlags::CLOEXEC) else { return false };
    open_with(&PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())), OFlags::DIRECT).is_ok()
}

/// What direct I/O needs here: asked of the file, else of a file beside it, since a folder cannot be asked and nothing
/// is created to find out; else the sector below.
fn direct_align(folder: &Path, existing: Option<&Path>, sector_bytes: u32) -> Option<u32> {
    let told = |path: &Path| {
        let answer = direct_align_of(path, sector_bytes);
        (answer != DirectAlign::Untold).then_some(answer)
    };
    match existing.and_then(told).or_else(|| neighbours(folder).find_map(|path| told(&path))) {
        Some(DirectAlign::Refused) => None,
        Some(DirectAlign::Bytes(bytes)) => Some(bytes),
        Some(DirectAlign::Untold) | None => Some(sector_bytes),
    }
}

/// Regular files of a folder that are on its filesystem.
fn neighbours(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let on_it = std::fs::metadata(folder).map(|meta| meta.dev());
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(NEIGHBOURS_MAX);
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .filter(move |entry| matches!((entry.metadata(), &on_it), (Ok(meta), Ok(dev)) if meta.dev() == *dev))
        .map(|entry| entry.path())
}

/// What one file tells of direct I/O.
#[derive(PartialEq, Eq)]
enum DirectAlign {
    Untold,
    Refused,
    Bytes(u32),
}

fn direct_align_of(path: &Path, sector_bytes: u32) -> DirectAlign {
    let Ok(told) = statx(CWD, path, AtFlags::empty(), StatxFlags::DIOALIGN) else {
        return DirectAlign::Untold;
    };
    if StatxFlags::from_bits_retain(told.stx_mask).contains(StatxFlags::DIOALIGN) {
        let align = told.stx_dio_offset_align.max(told.stx_dio_mem_align);
        return if align == 0 { DirectAlign::Refused } else { DirectAlign::Bytes(align) };
    }
    match open_with(path, OFlags::DIRECT) {
        Ok(_) => DirectAlign::Bytes(sector_bytes),
        Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => DirectAlign::Refused,
        Err(_) => DirectAlign::Untold,
    }
}

/// The nearest folder above a path that exists, and what of the path lies below it.
pub(super) fn existing_folder(path: &Path) -> Option<(PathBuf, &Path)> {
    let found = path.ancestors().skip(1).find_map(|above| {
        let folder = above.canonicalize().ok()?;
        Some((folder, path.strip_prefix(above).ok()?))
    });
    found.filter(|(folder, _)| folder.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn holes_are_not_written() {
        let folder = tempfile::tempdir().unwrap();
        for (name, len, data, expect) in
            [("empty", 0, None, 0), ("hole", 1 << 20, None, 0), ("part", 1 << 20, Some(65536_usize), 65536)]
        {
            let path = folder.path().join(name);
            let file = std::fs::File::create(&path).unwrap();
            file.set_len(len).unwrap();
            if let Some(len) = data {
                file.write_all_at(&vec![1; len], 262_144).unwrap();
            }
            let fact = super::file(&path, &file.metadata().unwrap(), None);
            assert_eq!((fact.size, fact.written), (Bytes(len), Bytes(expect)), "{name}");
            assert!(fact.readable && fact.writable && !fact.made_by_fathom);
        }
    }
}
