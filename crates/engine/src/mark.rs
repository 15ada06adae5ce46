//! The mark on files that fathom made: an extended attribute, so that a later run may overwrite them unasked and nothing
//! else.
//!
//! A file that was made by fathom and then filled by someone else (`cp` onto it keeps the attribute) is someone else's:
//! a finished run writes size and modification time into the mark, and a mark that does not fit them any more is void. A
//! file that a run writes carries the sizes that the run may give it, and one that is being laid out a hash of its first
//! bytes as well, so that what a killed run leaves can be told from what someone else has put in its place.

use rustix::fs::{self, XattrFlags};
use std::fs::{File, Metadata};
use std::ops::RangeInclusive;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// The extended attribute.
pub const MARK: &str = "user.fathom";
/// Its value while a run writes the file, and after a run that was killed, begins with this.
const IN_USE: &str = "in use:";
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

/// Marks an open file as fathom's while a run writes it, which leaves it with one of these sizes. Filesystems without user
/// attributes (some tmpfs): a later run then has to be told `--overwrite`.
pub(crate) fn begin(file: &File, sizes: &RangeInclusive<u64>) {
    set(file, &in_use_value(sizes));
}

/// Marks a new file that is about to be laid out from its start on with `content`, up to `most` bytes.
pub(crate) fn begin_layout(file: &File, content: &[u8], most: u64) {
    set(file, &layout_value(&content[..content.len().min(HEAD)], most));
}

/// Marks an open file as left by a run that has ended. One that is not laid out in full keeps the mark that says so.
pub(crate) fn finish(file: &File) {
    let mut found = [0_u8; 64];
    let length = fs::fgetxattr(file, MARK, &mut found[..]).unwrap_or(0);
    if !found[..length].starts_with(LAYOUT.as_bytes()) {
        complete(file);
    }
}

/// Marks an open file as fathom's and laid out.
pub(crate) fn complete(file: &File) {
    if let Ok(meta) = file.metadata() {
        set(file, &value(&meta));
    }
}

/// Takes the mark away: the file holds what someone else has written.
pub(crate) fn take_away(file: &File) {
    let _ = fs::fremovexattr(file, MARK);
}

fn set(file: &File, value: &str) {
    let _ = fs::fsetxattr(file, MARK, value.as_bytes(), XattrFlags::empty());
}

/// Whether the file at a path is fathom's and unchanged since.
pub(crate) fn is_ours(path: &Path) -> bool {
    read(path) != Mark::Foreign
}

/// What the mark on the file at a path says.
pub(crate) fn read(path: &Path) -> Mark {
    // The longest, a size and a time, takes at most 20 + 1 + 30 digits.
    let mut found = [0_u8; 64];
    let Ok(length) = fs::getxattr(path, MARK, &mut found[..]) else { return Mark::Foreign };
    let Ok(meta) = std::fs::metadata(path) else { return Mark::Foreign };
    let Ok(found) = std::str::from_utf8(&found[..length]) else { return Mark::Foreign };
    if let Some(layout) = found.strip_prefix(LAYOUT) {
        return if is_begun_by(path, &meta, layout) { Mark::Unfinished } else { Mark::Foreign };
    }
    let holds = match found.strip_prefix(IN_USE) {
        Some(sizes) => sizes
            .split_once('-')
            .and_then(|(least, most)| Some(least.parse().ok()?..=most.parse().ok()?))
            .is_some_and(|sizes: RangeInclusive<u64>| sizes.contains(&meta.len())),
        None => found == value(&meta),
    };
    if holds { Mark::Ours } else { Mark::Foreign }
}

/// Whether a file begins with what its mark says it was begun with, and is no longer than it was to become; one without
/// content has nothing to lose.
fn is_begun_by(path: &Path, meta: &Metadata, layout: &str) -> bool {
    let most = layout.split_once(':').and_then(|(most, _)| most.parse().ok());
    let Some(most) = most.filter(|&most| meta.len() <= most) else { return false };
    let mut head = vec![0; usize::try_from(meta.len()).unwrap_or(HEAD).min(HEAD)];
    let read = File::open(path).and_then(|file| file.read_exact_at(&mut head, 0));
    read.is_ok()
        && (head.is_empty()
            || layout_value(&head, most).strip_prefix(LAYOUT).is_some_and(|value| value == layout))
}

fn in_use_value(sizes: &RangeInclusive<u64>) -> String {
    format!("{IN_USE}{}-{}", sizes.start(), sizes.end())
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo: <http://www.isthe.com/chongo/tech/comp/fnv/>): stable over versions, and nobody
/// gains from forging it.
fn layout_value(head: &[u8], most: u64) -> String {
    let hash = head.iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    });
    format!("{LAYOUT}{most}:{hash:016x}")
}

fn value(meta: &Metadata) -> String {
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
        begin(&file, &(0..=4));
        if !is_ours(&path) {
            eprintln!("SKIPPED: {} has no user attributes", folder.path().display());
            return;
        }
        file.write_all(b"ours").unwrap();
        assert!(is_ours(&path), "a run that was killed leaves its mark");
        finish(&file);
        assert!(is_ours(&path));
        std::fs::write(&path, b"someone else's").unwrap();
        assert!(!is_ours(&path));
    }

    #[test]
    fn the_mark_of_a_killed_run_fits_the_sizes_it_could_leave() {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = folder.path().join("file");
        let file = File::create(&path).unwrap();
        begin(&file, &(0..=0));
        if !is_ours(&path) {
            eprintln!("SKIPPED: {} has no user attributes", folder.path().display());
            return;
        }
        for (sizes, length, ours) in
            [(4..=4, 4, true), (4..=4, 3, false), (4..=4, 5, false), (2..=4, 2, true), (2..=4, 1, false)]
        {
            begin(&file, &sizes);
            std::fs::write(&path, vec![b'x'; length]).unwrap();
            assert_eq!(is_ours(&path), ours, "{length} bytes of {sizes:?}");
        }
        // Marks of earlier versions fitted everything.
        fs::setxattr(&path, MARK, b"1", XattrFlags::empty()).unwrap();
        assert!(!is_ours(&path));
        for (most, mark) in [(8, Mark::Unfinished), (7, Mark::Foreign)] {
            std::fs::write(&path, b"laid out").unwrap();
            begin_layout(&file, b"laid out", most);
            assert_eq!(read(&path), mark, "up to {most} bytes");
        }
    }

    /// The worked value of the hash's authors for "foobar".
    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(layout_value(b"foobar", 9), "layout:9:85944171f73967e8");
    }
}
