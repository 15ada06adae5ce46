//! The mark on files that fathom made: an extended attribute, so that a later run may overwrite them unasked and nothing
//! else.
//!
//! A file that was made by fathom and then filled by someone else (`cp` onto it keeps the attribute) is someone else's:
//! a finished run writes size and modification time into the mark, and a mark that does not fit them any more is void.

use rustix::fs::{self, XattrFlags};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The extended attribute.
pub const MARK: &str = "user.fathom";
/// Its value while a run has the file, and after a run that was killed.
const IN_USE: &str = "1";

/// Marks an open file as fathom's while a run has it. Filesystems without user attributes (some tmpfs): a later run then
/// has to be told `--overwrite`.
pub(crate) fn begin(file: &std::fs::File) {
    let _ = fs::fsetxattr(file, MARK, IN_USE.as_bytes(), XattrFlags::empty());
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
    // A size and a time take at most 20 + 1 + 30 digits.
    let mut found = [0_u8; 64];
    let Ok(length) = fs::getxattr(path, MARK, &mut found[..]) else { return false };
    let Ok(meta) = std::fs::metadata(path) else { return false };
    found[..length] == *IN_USE.as_bytes() || found[..length] == *value(&meta).as_bytes()
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
        let mut file = std::fs::File::create(&path).unwrap();
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
}
