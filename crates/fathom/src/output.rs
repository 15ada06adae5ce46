//! Documents that are written beside a run's record: reports and logs under names that a user gave. Owns what such a
//! name may lead to, and looks before the run, so that no hour of measuring ends at a slip of the pen. Does not know
//! what is in the documents.

use crate::diagnose::printable;
use crate::exit::Exit;
use crate::terminal;
use fathom_schema::Facts;
use rustix::fs::{Access, access};
use std::io::Write;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Why a document cannot be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// What is wrong, with the path: a lower-case fragment.
    pub(crate) message: String,
    /// Whether writing would have destroyed something, which no command goes on with; else it merely cannot work.
    pub(crate) destroys: bool,
}

impl Fault {
    /// Says it; the exit code when nothing was run because of it.
    pub(crate) fn refuse(&self) -> Exit {
        terminal::message(&format!("refused: {}", printable(&self.message)));
        if self.destroys { Exit::Usage } else { Exit::Target }
    }
}

/// What would keep a document from being written to `path`, or must: nothing is opened. `facts` hold the targets of the
/// job, none of which may be an output.
pub(crate) fn check(path: &Path, facts: &Facts) -> Result<(), Fault> {
    let shown = path.display();
    let destroys = |message: String| Err(Fault { message, destroys: true });
    let fails = |message: String| Err(Fault { message, destroys: false });
    let place = place(path);
    if let Some(target) = facts.targets.iter().find(|target| target.path == place || target.resolved == place)
    {
        let target = target.path.display();
        return destroys(format!("the output {shown} is the target {target} of this job; name another file"));
    }
    let folder = folder(path);
    match std::fs::metadata(path) {
        Ok(meta) if meta.file_type().is_block_device() => destroys(on_device(path)),
        Ok(meta) if meta.is_dir() => destroys(format!("the output {shown} is a folder; name a file in it")),
        Ok(meta) if meta.is_file() && !may_write(folder) && !may_write(path) => {
            fails(format!("the output {shown} may not be written by this user; name another file"))
        }
        Err(_) if path.file_name().is_none() => {
            destroys(format!("the output \"{shown}\" names no file; name one"))
        }
        Err(_) if !folder.is_dir() => {
            let folder = folder.display();
            fails(format!("the folder {folder} of the output {shown} does not exist; create it"))
        }
        Err(_) if !may_write(folder) => {
            let folder = folder.display();
            fails(format!("this user may not write to the folder {folder} of the output {shown}"))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Writes a document to a file, whole or not at all: into a new file beside it, then renamed. What cannot be replaced by
/// a new file (a link, a pipe, a terminal, a file in a folder of others) is written to as it is; a block device never.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    let fail = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    if path == Path::new("/dev/stdout") {
        // Opened anew, a file behind it would begin at its start again and lose what was printed before.
        return terminal::data(text).map_err(fail);
    }
    let folder = folder(path);
    if let Ok(meta) = std::fs::metadata(path) {
        if meta.file_type().is_block_device() {
            return Err(on_device(path));
        }
        if !meta.is_file() || path.is_symlink() || !may_write(folder) {
            return std::fs::write(path, text).map_err(fail);
        }
    }
    let mut name = path.file_name().ok_or_else(|| format!("{} names no file", path.display()))?.to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let part = folder.join(name);
    let written = std::fs::File::create(&part).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.and_then(|()| std::fs::rename(&part, path)).map_err(|error| {
        // What is left of it is of no use to anyone.
        let _ = std::fs::remove_file(&part);
        fail(error)
    })
}

fn on_device(path: &Path) -> String {
    format!(
        "the output {} is a block device, and reports are not written to those; name a file",
        path.display()
    )
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn may_write(path: &Path) -> bool {
    access(path, Access::WRITE_OK).is_ok()
}

/// The path with all links followed, also where its last part does not exist yet.
fn place(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| {
        let folder = std::fs::canonicalize(folder(path)).unwrap_or_else(|_| folder(path).to_owned());
        path.file_name().map_or_else(|| folder.clone(), |name| folder.join(name))
    })
}
