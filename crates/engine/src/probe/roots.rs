//! Where the kernel shows itself: the roots of procfs, sysfs and the device nodes, and reading small texts below them.
//!
//! Roots are arguments so that trees written for tests stand in for hardware. Knows nothing of what the texts mean.

use std::path::{Path, PathBuf};

/// Where procfs, sysfs and the device nodes are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// `/proc`.
    pub proc: PathBuf,
    /// `/sys`.
    pub sys: PathBuf,
    /// `/dev`.
    pub dev: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self { proc: "/proc".into(), sys: "/sys".into(), dev: "/dev".into() }
    }
}

/// The text of a small file without blanks at its ends; `None` when it cannot be read or has nothing in it. Bytes that
/// are not text are replaced, since some firmware puts them into names.
pub(super) fn text(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// A number in a small file.
pub(super) fn number(path: &Path) -> Option<u64> {
    text(path)?.parse().ok()
}

/// Names in a folder, sorted so that what is found does not depend on the order of the directory; none when it cannot
/// be read.
pub(super) fn names(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Undoes the octal escapes (`\040` for a blank) that the kernel writes into lists separated by blanks.
pub(super) fn unescape(field: &str) -> String {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let escaped = (first == b'\\')
            .then(|| tail.get(..3))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        if let Some(byte) = escaped {
            bytes.push(byte);
            rest = &tail[3..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
pub(super) mod fixture {
    //! Trees for tests, one text each: `path = content`, `path -> link`; the first part of a path is `proc`, `sys` or
    //! `dev`. `\n` in a content is a new line.

    use super::Roots;
    use std::path::Path;

    /// A tree on disk that goes when dropped.
    pub(crate) struct Tree {
        pub(crate) roots: Roots,
        _folder: tempfile::TempDir,
    }

    /// Writes the fixture `tests/fixtures/<name>.tree` to a temporary folder.
    pub(crate) fn tree(name: &str) -> Tree {
        let source =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name).with_extension("tree");
        let listing = std::fs::read_to_string(&source).expect("the fixture is part of the sources");
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        for line in listing.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let link = line.split_once(" -> ");
            let (path, value) = link
                .or_else(|| line.split_once(" ="))
                .unwrap_or_else(|| panic!("neither = nor -> in {line:?}"));
            let path = folder.path().join(path.trim());
            std::fs::create_dir_all(path.parent().expect("below the folder")).expect("folders can be made");
            if link.is_some() {
                std::os::unix::fs::symlink(value.trim(), &path).expect("links can be made");
            } else {
                std::fs::write(&path, value.trim().replace("\\n", "\n")).expect("files can be written");
            }
        }
        let at = |name| folder.path().join(name);
        let roots = Roots { proc: at("proc"), sys: at("sys"), dev: at("dev") };
        Tree { roots, _folder: folder }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone() {
        for (field, expect) in [
            ("/mnt/a", "/mnt/a"),
            (r"/mnt/my\040disk", "/mnt/my disk"),
            (r"/a\134b", r"/a\b"),
            (r"/a\09", r"/a\09"),
            (r"\", r"\"),
        ] {
            assert_eq!(unescape(field), expect);
        }
    }
}
