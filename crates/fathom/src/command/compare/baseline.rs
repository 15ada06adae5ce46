//! Runs kept under a name: a text file in the store's folder `baselines`, a run's identity per line.

use super::Side;
use crate::exit::Exit;
use crate::output;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Bytes of a name at most. A filesystem takes 255 for a file (`NAME_MAX`), of which the ending and that of the file it is
/// written to first leave 220 or so; a page shows none that long.
const NAME_MAX: usize = 100;
/// Runs of a baseline that are named when it goes.
const RUNS_SHOWN: usize = 5;

/// Whether runs may be kept under a name: it is one, a file can be written there, and nothing is kept under it yet or `replaces`
/// says that it may go. To be asked before anything is run for it.
pub(super) fn check(folder: &Path, name: &str, replaces: bool) -> Result<(), (Exit, String)> {
    let path = path_of(folder, name)?;
    let cannot = |why: &str| (Exit::Target, format!("cannot write {}: {why}", path.display()));
    match fs::symlink_metadata(&path) {
        Ok(found) if found.is_dir() => return Err(cannot("it is a folder; move it away")),
        Ok(_) if !replaces => {
            let reason =
                format!("baseline {name} is there already ({}); {INSTEAD}", kept_under(folder, name));
            return Err((Exit::Usage, reason));
        }
        _ => {}
    }
    // The folders that are not there yet are made in the first that is.
    match path.ancestors().skip(1).find(|folder| folder.exists()) {
        Some(folder) if folder.is_dir() && output::may_write(folder) => Ok(()),
        Some(folder) => Err(cannot(&format!("no file can be made in {}", folder.display()))),
        None => Ok(()),
    }
}

/// What to add where a name is taken.
const INSTEAD: &str = "add --replace to keep these runs in its place";

/// Keeps runs under a name; what was kept under it before goes where it `replaces` that, which is told. The words for it.
pub(super) fn keep(
    folder: &Path,
    name: &str,
    kept: &[&str],
    replaces: bool,
) -> Result<String, (Exit, String)> {
    let path = path_of(folder, name)?;
    let fail = |error: std::io::Error| (Exit::Target, format!("cannot write {}: {error}", path.display()));
    let instead = match fs::symlink_metadata(&path) {
        Ok(_) if replaces => format!(", in place of {}", kept_under(folder, name)),
        _ => String::new(),
    };
    fs::create_dir_all(path.parent().expect("it is in a folder")).map_err(fail)?;
    let text = kept.join("\n") + "\n";
    // Whoever reads it meanwhile sees the old file or the new one, whole.
    let written = if replaces { output::replace(&path, &text) } else { output::create(&path, &text) };
    written.map_err(|error| match error.kind() {
        // Whether the name was free was asked before the runs, which may have taken hours.
        ErrorKind::AlreadyExists => {
            let (meanwhile, runs) = (kept_under(folder, name), kept.join(","));
            let reason = format!(
                "another command has kept {meanwhile} as baseline {name} meanwhile; the runs are stored, keep them with `fathom \
                 compare {runs} --save-baseline NAME`, under another name or with --replace"
            );
            (Exit::Usage, reason)
        }
        _ => fail(error),
    })?;
    let runs = if kept.len() == 1 { "1 run".to_owned() } else { format!("{} runs", kept.len()) };
    Ok(format!("baseline {name}: {runs} of the first side{instead}: {}", path.display()))
}

/// The runs that are kept under a name, as far as that can be read: what goes need not be whole.
fn kept_under(folder: &Path, name: &str) -> String {
    match runs(folder, name) {
        Ok(runs) if !runs.is_empty() => listed(&runs),
        Ok(_) => "no run".to_owned(),
        Err(_) => "what cannot be read".to_owned(),
    }
}

/// The first of these runs.
fn listed(runs: &[String]) -> String {
    let shown: Vec<&str> = runs.iter().take(RUNS_SHOWN).map(String::as_str).collect();
    let more = runs.len() - shown.len();
    shown.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}

/// The runs kept under a name.
fn runs(folder: &Path, name: &str) -> Result<Vec<String>, (Exit, String)> {
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

/// The side that is kept under a name. One of its runs may be gone by now.
pub(super) fn read(folder: &Path, name: &str) -> Result<Side, (Exit, String)> {
    let kept = runs(folder, name)?;
    if kept.is_empty() {
        let reason = format!("baseline {name} names no run; {}", anew(name));
        return Err((Exit::Target, reason));
    }
    super::read(folder, &kept.join(",")).map_err(|(exit, reason)| {
        let what = format!("a run of baseline {name} ({}) cannot be read: {reason}", listed(&kept));
        (exit, format!("{what}; bring it back into the store, or {}", anew(name)))
    })
}

/// How a baseline comes to name other runs.
fn anew(name: &str) -> String {
    format!("keep other runs under the name with `fathom compare RUN --save-baseline {name} --replace`")
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
    if name.len() > NAME_MAX {
        let reason =
            format!("a baseline's name of {} characters is too long; use at most {NAME_MAX}", name.len());
        return Err((Exit::Usage, reason));
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn text(folder: &Path) -> String {
        fs::read_to_string(folder.join("baselines/gold.txt")).expect("it is kept")
    }

    #[test]
    fn what_another_command_keeps_meanwhile_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        check(folder, "gold", false).expect("the name is free");
        // The runs take their time; another command is done sooner.
        keep(folder, "gold", &["other"], false).expect("it was free");
        let (exit, reason) = keep(folder, "gold", &["a", "b"], false).expect_err("it is taken");
        assert_eq!(exit, Exit::Usage);
        assert!(reason.contains("has kept other as baseline gold meanwhile"), "{reason}");
        assert!(reason.contains("fathom compare a,b --save-baseline NAME"), "{reason}");
        assert_eq!(text(folder), "other\n");
        let told = keep(folder, "gold", &["a", "b"], true).expect("it may go");
        assert!(told.starts_with("baseline gold: 2 runs of the first side, in place of other: "), "{told}");
        assert_eq!(text(folder), "a\nb\n");
        let left: Vec<_> = fs::read_dir(folder.join("baselines")).expect("it is there").collect();
        assert_eq!(left.len(), 1, "no part is left: {left:?}");
    }

    #[test]
    fn what_cannot_be_read_may_go_and_what_cannot_be_written_is_told_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        fs::create_dir(folder.join("baselines")).expect("it is new");
        fs::write(folder.join("baselines/gold.txt"), [0xff, 0xfe]).expect("it is new");
        let (_, reason) = check(folder, "gold", false).expect_err("it is taken");
        assert!(reason.contains("gold is there already (what cannot be read); add --replace"), "{reason}");
        check(folder, "gold", true).expect("it may go");
        let told = keep(folder, "gold", &["a"], true).expect("it may go");
        assert!(told.contains(", in place of what cannot be read: "), "{told}");
        assert_eq!(text(folder), "a\n");
        fs::create_dir(folder.join("baselines/silver.txt")).expect("it is new");
        for replaces in [false, true] {
            let (_, reason) = check(folder, "silver", replaces).expect_err("it is no file");
            assert!(reason.contains("silver.txt: it is a folder; move it away"), "{reason}");
        }
        let (_, reason) =
            check(&folder.join("baselines/gold.txt"), "lead", false).expect_err("it is no folder");
        assert!(reason.contains("no file can be made in "), "{reason}");
    }
}
