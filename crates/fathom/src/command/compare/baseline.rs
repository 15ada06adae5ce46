//! Runs kept under a name: a text file in the store's folder `baselines`, a run's identity per line.

use crate::exit::Exit;
use std::fs;
use std::path::{Path, PathBuf};

/// Runs of a baseline that are named when it goes.
const RUNS_SHOWN: usize = 5;

/// Whether runs may be kept under a name: it is one, and nothing is kept under it yet or `replaces` says that it may go. To be
/// asked before anything is run for it.
pub(super) fn check(folder: &Path, name: &str, replaces: bool) -> Result<(), (Exit, String)> {
    let path = path_of(folder, name)?;
    if replaces || !path.exists() {
        return Ok(());
    }
    let kept = runs(folder, name).map(|runs| listed(&runs)).unwrap_or_default();
    let reason =
        format!("baseline {name} is there already ({kept}); add --replace to keep these runs in its place");
    Err((Exit::Usage, reason))
}

/// Keeps runs under a name; what was kept under it before goes, which is told. The words for it.
pub(super) fn keep(folder: &Path, name: &str, kept: &[&str]) -> Result<String, (Exit, String)> {
    let path = path_of(folder, name)?;
    let before = if path.exists() { runs(folder, name)? } else { Vec::new() };
    let fail = |error: std::io::Error| (Exit::Target, format!("cannot write {}: {error}", path.display()));
    fs::create_dir_all(path.parent().expect("it is in a folder")).map_err(fail)?;
    // Whoever reads it meanwhile sees the old file or the new one, whole.
    let part = path.with_extension("part");
    fs::write(&part, kept.join("\n") + "\n").map_err(fail)?;
    fs::rename(&part, &path).map_err(fail)?;
    let runs = if kept.len() == 1 { "1 run".to_owned() } else { format!("{} runs", kept.len()) };
    let instead =
        if before.is_empty() { String::new() } else { format!(", in place of {}", listed(&before)) };
    Ok(format!("baseline {name}: {runs} of the first side{instead}: {}", path.display()))
}

/// The first of these runs.
fn listed(runs: &[String]) -> String {
    let shown: Vec<&str> = runs.iter().take(RUNS_SHOWN).map(String::as_str).collect();
    let more = runs.len() - shown.len();
    shown.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}

/// The runs kept under a name.
pub(super) fn runs(folder: &Path, name: &str) -> Result<Vec<String>, (Exit, String)> {
    let path = path_of(folder, name)?;
    let text = fs::read_to_string(&path).map_err(|error| {
        let known = known(folder);
        let remedy = if known.is_empty() {
            "keep one with `fathom compare RUN --save-baseline NAME`".to_owned()
        } else {
            format!("there are {}", known.join(", "))
        };
        (Exit::Usage, format!("no baseline {name} ({}: {error}); {remedy}", path.display()))
    })?;
    Ok(text.split_whitespace().map(str::to_owned).collect())
}

/// Names of all baselines.
fn known(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join("baselines")).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "txt"));
    let mut names: Vec<String> =
        names.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned())).collect();
    names.sort();
    names
}

fn path_of(folder: &Path, name: &str) -> Result<PathBuf, (Exit, String)> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
        return Err((
            Exit::Usage,
            format!(
                "\"{}\" is no name of a baseline; use letters, digits, dots and dashes",
                crate::diagnose::printable(name)
            ),
        ));
    }
    Ok(folder.join("baselines").join(name.to_owned() + ".txt"))
}
