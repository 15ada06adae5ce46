//! What can go wrong with a store, in words a user can act on. Knows how `SQLite` reports the causes; knows nothing of
//! who asked.

use fathom_units::Bytes;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a run's file could not be written, read or found. Displays as a lower-case fragment with place and remedy.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no room left for the record. What was committed before stays readable.
    Full {
        /// The run's file.
        path: PathBuf,
    },
    /// The run can be read, and not written.
    ReadOnly {
        /// The run's file.
        path: PathBuf,
    },
    /// The system refused an operation on a file or folder.
    Io {
        /// What was being done, e.g. `create folder`.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file of this name is there already.
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// Another process has the run open.
    Held {
        /// The run's file.
        path: PathBuf,
    },
    /// The run's identity is not a ULID.
    BadId {
        /// As given.
        id: String,
    },
    /// The file is no run of fathom.
    NotARun {
        /// The file.
        path: PathBuf,
        /// How that shows.
        reason: String,
    },
    /// The file is a run of fathom, but part of it is missing or wrong.
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
        /// Nothing at all is in it, which need be nobody's fault: a run that is killed in its first moments leaves it so.
        is_empty: bool,
    },
    /// The file was written by a newer fathom.
    Newer {
        /// The file.
        path: PathBuf,
        /// The version found in it.
        found: u32,
        /// The newest version this fathom reads.
        readable: u32,
    },
    /// No run has this name.
    NotFound {
        /// What was asked for.
        which: String,
        /// Where it was looked for.
        folder: PathBuf,
    },
    /// Several runs begin like this.
    Ambiguous {
        /// What was asked for.
        which: String,
        /// The runs that fit, oldest first.
        candidates: Vec<String>,
    },
    /// A file cannot be written, and this process has a limit of file sizes.
    SizeLimit {
        /// The file.
        path: PathBuf,
        /// The largest file that the process may write.
        limit: Bytes,
        /// What was said.
        source: rusqlite::Error,
    },
    /// The database engine failed in a way that none of the above names.
    Database {
        /// The file.
        path: PathBuf,
        /// What it said.
        source: rusqlite::Error,
    },
}

/// Candidates that a message lists before it says "and n more".
const CANDIDATES_SHOWN: usize = 5;

impl StoreError {
    /// The error for what `SQLite` said about `path`.
    pub(crate) fn of(path: &Path, source: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode;
        let path = path.to_owned();
        let Some(code) = source.sqlite_error_code() else {
            return Self::Database { path, source };
        };
        match code {
            ErrorCode::DiskFull => Self::Full { path },
            ErrorCode::ReadOnly => Self::ReadOnly { path },
            ErrorCode::NotADatabase => {
                Self::NotARun { path, reason: "it does not begin like a database".to_owned() }
            }
            ErrorCode::DatabaseCorrupt => Self::Damaged { path, reason: source.to_string(), is_empty: false },
            ErrorCode::SystemIoFailure => match size_limit(&limits()) {
                Some(limit) => Self::SizeLimit { path, limit, source },
                None => Self::Database { path, source },
            },
            _ => Self::Database { path, source },
        }
    }
}

/// The limits of this process, in the kernel's words; empty where they cannot be had.
fn limits() -> String {
    std::fs::read_to_string("/proc/self/limits").unwrap_or_default()
}

/// The soft limit of file sizes; `None` where there is none.
fn size_limit(limits: &str) -> Option<Bytes> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max file size"))?;
    line.split_ascii_whitespace().next()?.parse().ok().map(Bytes)
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadOnly { path } => write!(
                f,
                "{} can only be read: it, its folder or the filesystem is write-protected; allow writing there, or \
                 copy the run to another store",
                path.display()
            ),
            Self::Full { path } => write!(
                f,
                "no space left to store the run in {}; what was stored before is kept; make room there or set \
                 FATHOM_STORE to a folder elsewhere",
                path.display()
            ),
            Self::Io { doing, path, source } => write!(f, "cannot {doing} {}: {source}", path.display()),
            Self::Exists { path } => {
                write!(f, "{} exists already; every run needs an identity of its own", path.display())
            }
            Self::Held { path } => write!(
                f,
                "another process has {} open: end the run, or let it be read to the end, and try again",
                path.display()
            ),
            Self::BadId { id } => write!(f, "run identity {id:?} is not a ULID of 26 characters"),
            Self::NotARun { path, reason } => {
                write!(f, "{} is not a run stored by fathom: {reason}", path.display())
            }
            Self::Damaged { path, reason, is_empty: true } => write!(
                f,
                "{} holds no event: {reason}; there is nothing in it to be shown or gone on with: run it anew",
                path.display()
            ),
            Self::Damaged { path, reason, is_empty: false } => write!(
                f,
                "{} is damaged: {reason}; take an intact copy, with its -wal file if there is one",
                path.display()
            ),
            Self::Newer { path, found, readable } => write!(
                f,
                "{} has version {found} and this fathom reads up to {readable}; use the fathom that wrote it or a \
                 newer one",
                path.display()
            ),
            Self::NotFound { which, folder } => write!(
                f,
                "no run {which:?} in {}; `fathom runs` lists what is there, and a path to a file works too",
                folder.display()
            ),
            Self::Ambiguous { which, candidates } => {
                let shown = &candidates[..candidates.len().min(CANDIDATES_SHOWN)];
                write!(f, "{which:?} fits {} runs: {}", candidates.len(), shown.join(", "))?;
                if candidates.len() > shown.len() {
                    write!(f, " and {} more", candidates.len() - shown.len())?;
                }
                write!(f, "; give more characters")
            }
            Self::SizeLimit { path, limit, source } => write!(
                f,
                "cannot use {}: {source}; this process may write files of up to {limit} (ulimit -f), which a record soon is \
                 larger than; raise that limit",
                path.display()
            ),
            Self::Database { path, source } => write!(f, "cannot use {}: {source}", path.display()),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Database { source, .. } | Self::SizeLimit { source, .. } => Some(source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_can_only_be_read_is_told_as_such() {
        let refused = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_READONLY);
        let error = StoreError::of(Path::new("/s/x"), rusqlite::Error::SqliteFailure(refused, None));
        assert!(matches!(error, StoreError::ReadOnly { .. }), "{error:?}");
        assert!(error.to_string().contains("/s/x can only be read"), "{error}");
    }

    #[test]
    fn the_limit_of_file_sizes_is_told() {
        let limits = |soft: &str| {
            format!(
                "Limit  Soft Limit  Hard Limit  Units\nMax file size             {soft}  unlimited  bytes\nMax stack size 8388608 unlimited bytes\n"
            )
        };
        assert_eq!(size_limit(&limits("10240")), Some(Bytes::kib(10)));
        assert_eq!(size_limit(&limits("unlimited")), None);
        assert_eq!(size_limit(""), None);
        assert!(super::limits().contains("Max file size"), "the kernel calls it so");
        let source = rusqlite::Error::InvalidQuery;
        let error = StoreError::SizeLimit { path: "/s/x".into(), limit: Bytes::kib(10), source }.to_string();
        assert!(error.contains("/s/x") && error.contains("10 KiB (ulimit -f)"), "{error}");
    }
}
