//! The folder of runs: where it is, what lies in it, which file a user means. Reads only the row that a listing shows;
//! does not know what is in a record.

use crate::labels::{self, LABEL_BYTES_MAX, Labels};
use crate::{StoreError, layout, reader};
use fathom_schema::Outcome;
use fathom_units::Nanos;
use rustix::fs::Access;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Extension of a run's file.
pub const EXTENSION: &str = "fathom";

/// What a listing shows of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The run's identity; the file's name where it cannot be read.
    pub id: String,
    /// The file.
    pub path: PathBuf,
    /// Title for people; empty where it cannot be read.
    pub title: String,
    /// What people have tagged it with, in order.
    pub tags: Vec<String>,
    /// Wall clock at the start, milliseconds since 1970-01-01 UTC; `None` where it cannot be read.
    pub wall_ms: Option<u64>,
    /// How it ended, if it did.
    pub state: State,
    /// Steps that began.
    pub steps: u32,
    /// From the start to the last event.
    pub duration: Nanos,
}

/// How a stored run ended, if it did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It ended by itself or by a signal, and says how.
    Ended(Outcome),
    /// It was killed, or still goes on.
    Unfinished,
    /// A run of fathom of which something is missing or wrong, or that cannot be opened; and why.
    Damaged(String),
    /// A run of a newer fathom, which this one cannot read; with the versions.
    Newer(String),
    /// Named like a run, and none; and how that shows.
    Foreign(String),
}

impl State {
    /// All of its words, in the order of the states.
    pub const WORDS: [&'static str; 10] = [
        Self::COMPLETE,
        Self::INTERRUPTED,
        Self::IO_ERRORS,
        Self::MISMATCH,
        Self::ABORTED,
        Self::FAILED,
        Self::UNFINISHED,
        Self::DAMAGED,
        Self::NEWER,
        Self::FOREIGN,
    ];

    const COMPLETE: &'static str = "complete";
    const INTERRUPTED: &'static str = "interrupted";
    const IO_ERRORS: &'static str = "io errors";
    const MISMATCH: &'static str = "mismatch";
    const ABORTED: &'static str = "aborted";
    const FAILED: &'static str = "failed";
    const UNFINISHED: &'static str = "unfinished";
    const DAMAGED: &'static str = "damaged";
    const NEWER: &'static str = "newer";
    const FOREIGN: &'static str = "foreign";

    /// One word for a table, of [`State::WORDS`].
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Ended(Outcome::Complete) => Self::COMPLETE,
            Self::Ended(Outcome::Interrupted { .. }) => Self::INTERRUPTED,
            Self::Ended(Outcome::IoErrors) => Self::IO_ERRORS,
            Self::Ended(Outcome::Mismatch) => Self::MISMATCH,
            Self::Ended(Outcome::Aborted { .. }) => Self::ABORTED,
            Self::Ended(Outcome::Failed { .. }) => Self::FAILED,
            Self::Unfinished => Self::UNFINISHED,
            Self::Damaged(_) => Self::DAMAGED,
            Self::Newer(_) => Self::NEWER,
            Self::Foreign(_) => Self::FOREIGN,
        }
    }

    /// Why the file cannot be read, where it cannot.
    pub fn unread_because(&self) -> Option<&str> {
        match self {
            Self::Ended(_) | Self::Unfinished => None,
            Self::Damaged(reason) | Self::Newer(reason) | Self::Foreign(reason) => Some(reason),
        }
    }
}

/// Where runs are kept: `$FATHOM_STORE`, else `$XDG_DATA_HOME/fathom/runs`, else `~/.local/share/fathom/runs`; without
/// a home of one's own, as services and containers have it, `fathom-runs` in the working directory. `env` looks a variable
/// up; empty ones and a relative `XDG_DATA_HOME` do not count, as the XDG base directory specification has it.
pub fn default_folder(env: &dyn Fn(&str) -> Option<OsString>) -> PathBuf {
    folder_of_user(env).unwrap_or_else(|| PathBuf::from("fathom-runs"))
}

/// As [`default_folder`]; none where only the working directory is left.
pub fn folder_of_user(env: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = set("FATHOM_STORE") {
        return Some(folder);
    }
    if let Some(data) = set("XDG_DATA_HOME").filter(|path| path.is_absolute()) {
        return Some(data.join("fathom/runs"));
    }
    let of_home = set("HOME").map(|home| home.join(".local/share/fathom/runs"));
    // Runs that are there are found, even where no more can be kept.
    of_home.filter(|folder| folder.is_dir() || may_be_made(folder))
}

/// Whether this user may write to a folder, or make it.
fn may_be_made(folder: &Path) -> bool {
    let nearest = folder.ancestors().find(|path| path.exists());
    nearest.is_some_and(|path| path.is_dir() && rustix::fs::access(path, Access::WRITE_OK).is_ok())
}

/// The file of run `run_id` in `folder`.
pub fn path_of(folder: &Path, run_id: &str) -> PathBuf {
    folder.join(format!("{run_id}.{EXTENSION}"))
}

/// All runs in `folder`, oldest first; none when the folder is not there. Files that cannot be read come before them and
/// say why, so that one bad file never hides the others.
pub fn list(folder: &Path) -> Result<Vec<Summary>, StoreError> {
    let mut runs: Vec<Summary> = files(folder)?.into_iter().map(|(id, path)| summary(id, path)).collect();
    runs.sort_by(|a, b| (a.wall_ms, &a.id).cmp(&(b.wall_ms, &b.id)));
    Ok(runs)
}

/// What a listing shows of the run in this file.
pub fn look(path: PathBuf) -> Summary {
    summary(path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), path)
}

/// The file that `which` means: `last` for the newest run in `folder`, a run's identity or a beginning of it that fits
/// one run only (upper or lower case), or the path of a file.
pub fn find(folder: &Path, which: &str) -> Result<PathBuf, StoreError> {
    let not_found = || StoreError::NotFound { which: which.to_owned(), folder: folder.to_owned() };
    let as_path = Path::new(which);
    let looks_like_path = which.contains('/') || as_path.extension().is_some_and(|e| e == EXTENSION);
    if looks_like_path {
        return if as_path.is_file() { Ok(as_path.to_owned()) } else { Err(not_found()) };
    }
    if which.is_empty() {
        return Err(not_found());
    }
    let mut files = files(folder)?;
    if which == "last" {
        // An identity begins with its time, so the newest run has the greatest name; a renamed copy is not a run's name.
        files.retain(|(id, _)| ulid::Ulid::from_string(id).is_ok());
        return files.pop().map(|(_, path)| path).ok_or_else(not_found);
    }
    let wanted = which.to_ascii_uppercase();
    files.retain(|(id, _)| id.to_ascii_uppercase().starts_with(&wanted));
    if let Some(exact) = files.iter().position(|(id, _)| id.eq_ignore_ascii_case(which)) {
        return Ok(files.swap_remove(exact).1);
    }
    match files.len() {
        0 if as_path.is_file() => Ok(as_path.to_owned()),
        0 => Err(not_found()),
        1 => Ok(files.swap_remove(0).1),
        _ => Err(StoreError::Ambiguous {
            which: which.to_owned(),
            candidates: files.into_iter().map(|(id, _)| id).collect(),
        }),
    }
}

/// As [`find`], but that `last` is the newest run of which anything is stored, where there is one; with how many newer files hold nothing.
pub fn find_begun(folder: &Path, which: &str) -> Result<(PathBuf, usize), StoreError> {
    let found = find(folder, which)?;
    if which != "last" || has_begun(&found) {
        return Ok((found, 0));
    }
    let mut files = files(folder)?;
    files.retain(|(id, _)| ulid::Ulid::from_string(id).is_ok());
    let begun = files.into_iter().rev().map(|(_, path)| path).enumerate().find(|(_, path)| has_begun(path));
    Ok(begun.map_or((found, 0), |(skipped, path)| (path, skipped)))
}

/// Whether anything of a run is stored: one that is killed in its first moments leaves a file that nothing is in.
fn has_begun(path: &Path) -> bool {
    !matches!(
        read_summary(path),
        Err(StoreError::NotARun { .. } | StoreError::Damaged { is_empty: true, .. })
    )
}

/// Name without extension, and path, of every file in `folder` that could be a run, by name.
fn files(folder: &Path) -> Result<Vec<(String, PathBuf)>, StoreError> {
    let io = |source| StoreError::Io { doing: "list", path: folder.to_owned(), source };
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(io(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(io)?.path();
        if path.extension().is_some_and(|extension| extension == EXTENSION) {
            let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            files.push((id, path));
        }
    }
    files.sort();
    Ok(files)
}

fn summary(name: String, path: PathBuf) -> Summary {
    read_summary(&path).unwrap_or_else(|error| Summary {
        id: name,
        path,
        title: String::new(),
        tags: Vec::new(),
        wall_ms: None,
        state: match &error {
            StoreError::Newer { .. } => State::Newer(error.to_string()),
            StoreError::NotARun { .. } => State::Foreign(error.to_string()),
            _ => State::Damaged(error.to_string()),
        },
        steps: 0,
        duration: Nanos::ZERO,
    })
}

/// A title as a list can show it; that of a file that came from elsewhere may be a megabyte.
fn listed(mut title: String) -> String {
    if title.len() > LABEL_BYTES_MAX {
        let ends = title.char_indices().map(|(at, _)| at);
        title.truncate(ends.take_while(|&at| at <= LABEL_BYTES_MAX).last().unwrap_or(0));
        title.push('…');
    }
    title
}

fn read_summary(path: &Path) -> Result<Summary, StoreError> {
    let db = reader::open(path)?;
    let row = db.query_row("SELECT id, title, started_ms, steps, last_ms, outcome FROM run", (), |row| {
        let (started_ms, last_ms): (i64, i64) = (row.get(2)?, row.get(4)?);
        let outcome: Option<String> = row.get(5)?;
        Ok((row.get(0)?, row.get(1)?, started_ms, row.get(3)?, last_ms, outcome))
    });
    let (id, title, started_ms, steps, last_ms, outcome): (_, String, _, _, _, _) =
        row.map_err(|error| layout::nothing_stored(path, error))?;
    let state = match outcome {
        None => State::Unfinished,
        Some(text) => State::Ended(serde_json::from_str(&text).map_err(|error| {
            reader::damaged(path, format!("its outcome {text:?} cannot be read: {error}"))
        })?),
    };
    let wall_ms = u64::try_from(started_ms).unwrap_or(0);
    let duration = Nanos::millis(u64::try_from(last_ms).unwrap_or(0).saturating_sub(wall_ms));
    let Labels { title: given, tags } = labels::read(&db, path).unwrap_or_default();
    let title = given.unwrap_or_else(|| listed(title));
    Ok(Summary { id, path: path.to_owned(), title, tags, wall_ms: Some(wall_ms), state, steps, duration })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_titles_are_cut_between_letters() {
        for (title, expect) in [
            ("short".to_owned(), "short".to_owned()),
            ("x".repeat(200), "x".repeat(200)),
            ("x".repeat(201), "x".repeat(200) + "…"),
            ("x".to_owned() + &"ü".repeat(1 << 20), "x".to_owned() + &"ü".repeat(99) + "…"),
        ] {
            assert_eq!(listed(title), expect);
        }
    }
}
