//! The mark on files that fathom made: an extended attribute, so that a later run may overwrite them unasked and nothing
//! else.
//!
//! A file that was made by fathom and then filled by someone else (`cp` onto it keeps the attribute) is someone else's:
//! a finished run writes size and modification time into the mark, and a mark that does not fit them any more is void. A
//! file that is being laid out carries a hash of its first bytes instead, so that what a killed run leaves can be told
//! from what someone else has put in its place.

use rustix::fs::{self, XattrFlags};
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// The extended attribute.
pub const MARK: &str = "user.fathom";
/// Its value while a run has the file, and after a run that was killed.
const IN_USE: &str = "1";
/// Its value while the file is laid out, and after a run that was killed meanwhile, begins with this.
const LAYOUT: &str = "layout:";
/// Bytes at the start of a file by which a part of a layout is recognised: a page, which is written as a whole or not at
/// all.
const HEAD: usize = 4096;

/// What a mark says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// There is none, or it is void: the file is someone else's.
    Foreign,
    /// fathom made it, and a run that was killed left it before it was laid out in full.
    Unfinished,
    /// fathom made it.
    Ours,
}

/// Marks an open file as fathom's while a run has it. Filesystems without user attributes (some tmpfs): a later run then
/// has to be told `--overwrite`.
pub(crate) fn begin(file: &File) {
    let _ = fs::fsetxattr(file, MARK, IN_USE.as_bytes(), XattrFlags::empty());
}

/// Marks a new file that is about to be laid out from its start on with `content`.
pub(crate) fn begin_layout(file: &File, content: &[u8]) {
    let value = layout_value(&content[..content.len().min(HEAD)]);
    let _ = fs::fsetxattr(file, MARK, value.as_bytes(), XattrFlags::empty());
}

/// Marks a file as left by a run that has ended.
pub(crate) fn finish(path: &Path) {
    if let Some(value) =
        std::fs::symlink_metadata(path).ok().filter(std::fs::Metadata::is_file).map(|meta| value(&meta))
    {
        let _ = fs::setxattr(path, MARK, value.as_bytes(), XattrFlags::empty());
    }
}

/// Whether the file at a path is fathom's and unchanged since.
pub(crate) fn is_ours(path: &Path) -> bool {
    read(path) != Mark::Foreign
}

/// What the mark on the file at a path says.
pub(crate) fn read(path: &Path) -> Mark {
    // A size and a time take at most 20 + 1 + 30 digits.
    let mut found = [0_u8; 64];
    let Ok(length) = fs::getxattr(path, MARK, &mut found[..]) else { return Mark::Foreign };
    let Ok(meta) = std::fs::metadata(path) else { return Mark::Foreign };
    let found = &found[..length];
    if found.starts_with(LAYOUT.as_bytes()) {
        return if is_begun_by(path, &meta, found) { Mark::Unfinished } else { Mark::Foreign };
    }
    if *found == *IN_USE.as_bytes() || *found == *value(&meta).as_bytes() {
        Mark::Ours
    } else {
        Mark::Foreign
    }
}

/// Whether a file begins with what its mark says it was begun with; one without content has nothing to lose.
fn is_begun_by(path: &Path, meta: &std::fs::Metadata, mark: &[u8]) -> bool {
    let mut head = vec![0; usize::try_from(meta.len()).unwrap_or(HEAD).min(HEAD)];
    let read = File::open(path).and_then(|file| file.read_exact_at(&mut head, 0));
    read.is_ok() && (head.is_empty() || *mark == *layout_value(&head).as_bytes())
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo: <http://www.isthe.com/chongo/tech/comp/fnv/>): stable over versions, and nobody
/// gains from forging it.
fn layout_value(head: &[u8]) -> String {
    let hash = head.iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    });
    format!("{LAYOUT}{hash:016x}")
}

fn value(meta: &std::fs::Metadata) -> String {
    format!("{}@{}.{:09}", meta.size(), meta.mtime(), meta.mtime_nsec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_mark_holds_until_someone_else_writes() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("file");
        let mut file = File::create(&path).unwrap();
        assert!(!is_ours(&path));
        begin(&file);
        if !is_ours(&path) {
            eprintln!("SKIPPED: {} has no user attributes", folder.path().display());
            return;
        }
        file.write_all(b"ours").unwrap();
        assert!(is_ours(&path), "a run that was killed leaves its mark");
        finish(&path);
        assert!(is_ours(&path));
        std::fs::write(&path, b"someone else's").unwrap();
        assert!(!is_ours(&path));
    }

    /// The worked value of the hash's authors for "foobar".
    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(layout_value(b"foobar"), "layout:85944171f73967e8");
    }
}
