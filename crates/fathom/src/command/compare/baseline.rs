//! Runs kept under a name: a text file in the store's folder `baselines`, a run's identity per line. Runs that were named by
//! their files and are not in the store are copied beside it: those files may go, and the store then lacks nothing.

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

/// Keeps runs under a name, each with the file that it was read from; what was kept under it before goes where it `replaces`
/// that, which is told. The words for it.
pub(super) fn keep(
    folder: &Path,
    name: &str,
    runs: &[(&str, &Path)],
    replaces: bool,
) -> Result<String, (Exit, String)> {
    let path = path_of(folder, name)?;
    let fail = |error: std::io::Error| (Exit::Target, format!("cannot write {}: {error}", path.display()));
    let instead = match fs::symlink_metadata(&path) {
        Ok(_) if replaces => format!(", in place of {}", kept_under(folder, name)),
        _ => String::new(),
    };
    fs::create_dir_all(path.parent().expect("it is in a folder")).map_err(fail)?;
    let mut copies = 0;
    for (run, file) in runs {
        copies += usize::from(copied(folder, run, file)?);
    }
    let kept: Vec<&str> = runs.iter().map(|(run, _)| *run).collect();
    let text = kept.join("\n") + "\n";
    // Whoever reads it meanwhile sees the old file or the new one, whole.
    let written =
        if replaces { output::replace(&path, text.as_bytes()) } else { output::create(&path, &text) };
    written.map_err(|error| match error.kind() {
        // Whether the name was free was asked before the runs, which may have taken hours.
        ErrorKind::AlreadyExists => {
            let meanwhile = kept_under(folder, name);
            let runs = files_named(folder, runs);
            let reason = format!(
                "another command has kept {meanwhile} as baseline {name} meanwhile; the runs are stored, keep them with `fathom \
                 compare {runs} --save-baseline NAME`, under another name or with --replace"
            );
            (Exit::Usage, reason)
        }
        _ => fail(error),
    })?;
    let runs = if kept.len() == 1 { "1 run".to_owned() } else { format!("{} runs", kept.len()) };
    let beside = match copies {
        0 => "",
        1 => ", of which one is not in the store and is copied",
        _ => ", of which some are not in the store and are copied",
    };
    Ok(format!("baseline {name}: {runs} of the first side{instead}{beside}: {}", path.display()))
}

/// The runs as a command names them: those of the store by their identity, others by their files.
fn files_named(folder: &Path, runs: &[(&str, &Path)]) -> String {
    let name = |run: &str, file: &Path| {
        if is_stored(folder, run) { run.to_owned() } else { file.display().to_string() }
    };
    runs.iter().map(|(run, file)| name(run, file)).collect::<Vec<_>>().join(",")
}

fn is_stored(folder: &Path, run: &str) -> bool {
    fathom_store::path_of(folder, run).is_file()
}

/// Where the copy of a run is that is not in the store.
fn copy_of(folder: &Path, run: &str) -> PathBuf {
    fathom_store::path_of(&folder.join("baselines"), run)
}

/// Copies a run that is not in the store, whole; whether it is none of the store's. A copy that is there stays: a run is written
/// once.
fn copied(folder: &Path, run: &str, file: &Path) -> Result<bool, (Exit, String)> {
    if is_stored(folder, run) {
        return Ok(false);
    }
    // It stands in a file that may come from anywhere, and becomes a name in this folder.
    if run.is_empty() || !run.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        let file = file.display();
        return Err((Exit::Target, format!("{file} holds a run whose identity {run:?} is none of fathom's")));
    }
    let copy = copy_of(folder, run);
    if copy.is_file() {
        return Ok(true);
    }
    let content = fathom_store::whole(file).map_err(|error| (Exit::Target, error.to_string()))?;
    output::replace(&copy, &content).map(|()| true).map_err(|error| {
        let (file, copy) = (file.display(), copy.display());
        (Exit::Target, format!("cannot copy {file}, which is not in the store, to {copy}: {error}"))
    })
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
    let place = |run: &String| if is_stored(folder, run) { None } else { Some(copy_of(folder, run)) };
    let found = kept.iter().map(|run| match place(run).filter(|copy| copy.is_file()) {
        Some(copy) => Ok(copy),
        None => fathom_store::find(folder, run),
    });
    super::read_all(found).map_err(|(exit, reason)| {
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
        let runs = ["other", "a", "b"].map(|run| (run, fathom_store::path_of(folder, run)));
        for (_, file) in &runs {
            fs::write(file, "").expect("it is new");
        }
        let [other, a, b] = runs.each_ref().map(|(run, file)| (*run, file.as_path()));
        keep(folder, "gold", &[other], false).expect("it was free");
        let (exit, reason) = keep(folder, "gold", &[a, b], false).expect_err("it is taken");
        assert_eq!(exit, Exit::Usage);
        assert!(reason.contains("has kept other as baseline gold meanwhile"), "{reason}");
        assert!(reason.contains("fathom compare a,b --save-baseline NAME"), "{reason}");
        assert_eq!(text(folder), "other\n");
        let told = keep(folder, "gold", &[a, b], true).expect("it may go");
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
        let file = fathom_store::path_of(folder, "a");
        fs::write(&file, "").expect("it is new");
        let told = keep(folder, "gold", &[("a", &file)], true).expect("it may go");
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
