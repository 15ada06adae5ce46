//! Names that a run works on and opens nothing at: what has to be there before, and what becomes of what workers make.
//!
//! What is at a name is looked at when it is prepared and when it is opened; what is removed is only what was there then.

use crate::claims::Claims;
use crate::mark;
use crate::prepare::{FileIdentity, PrepareError};
use crate::unable::Unable;
use crate::used::UsedFile;
use fathom_io::TargetName;
use fathom_schema::{LayoutRule, NameOperation, Step, TargetKind};
use rustix::fs::{self, Mode, OFlags};
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::CString;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn identity(meta: &Metadata) -> FileIdentity {
    (meta.dev(), meta.ino())
}

/// Makes the folder of a file with those above it, where there is none: the planner lets it be absent only where the job's
/// dialect makes it.
pub(crate) fn make_folder_of(path: &Path, claims: &Claims) -> Result<(), PrepareError> {
    let above = path.ancestors().skip(1).take_while(|folder| !folder.as_os_str().is_empty());
    let missing: Vec<&Path> = above.take_while(|folder| !folder.is_dir()).collect();
    for folder in missing.into_iter().rev() {
        match std::fs::create_dir(folder) {
            Ok(()) => claims.used.made_folder(folder),
            // Somebody else was faster: it is theirs.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
            Err(error) => return Err(PrepareError::system("cannot make the folder of", path, error)),
        }
    }
    Ok(())
}

/// Makes the folders whose names a step works on and needs there, and those above the names that its workers make. Streams that
/// fail by themselves are taken out into `unable` where that is not possible.
pub(crate) fn lay_out(
    step: &Step,
    claims: &Claims,
    unable: &mut Unable,
) -> Result<HashMap<PathBuf, FileIdentity>, PrepareError> {
    let mut identities = HashMap::new();
    for (index, target) in step.targets.iter().enumerate() {
        let made = match &target.kind {
            TargetKind::File { path, layout: LayoutRule::Untouched, remove_after: _ }
            | TargetKind::Folder { path, made: false, remove_after: _ } => make_folder_of(path, claims),
            TargetKind::Folder { path, made: true, remove_after: _ } => {
                folder(path, claims).map(|identity| {
                    identities.insert(path.clone(), identity);
                })
            }
            TargetKind::File { .. }
            | TargetKind::BlockDevice { .. }
            | TargetKind::MemoryDevice { .. }
            | TargetKind::Null
            | TargetKind::Sim(_)
            | TargetKind::Peer(_) => Ok(()),
        };
        made.or_else(|error| unable.take(step, index, error))?;
    }
    Ok(identities)
}

/// Makes a folder, or takes the one that is there and was judged.
fn folder(path: &Path, claims: &Claims) -> Result<FileIdentity, PrepareError> {
    make_folder_of(path, claims)?;
    let is_new = match fs::mkdir(path, Mode::RWXU) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(error) => return Err(PrepareError::system("cannot make the folder", path, error)),
    };
    let meta = std::fs::symlink_metadata(path)
        .map_err(|error| PrepareError::system("cannot look at", path, error))?;
    if is_new {
        take_in(path, &meta, claims);
    } else if !meta.is_dir() || !claims.admits(path, identity(&meta)) {
        let what = "something else is there than was judged".to_owned();
        return Err(PrepareError::Changed { path: path.to_owned(), what });
    }
    Ok(identity(&meta))
}

/// Opens a name for calls on it. `prepared`: what is to be there, where something is.
pub(crate) fn open(
    path: &Path,
    operation: NameOperation,
    prepared: Option<FileIdentity>,
    made: Arc<AtomicBool>,
) -> Result<TargetName, PrepareError> {
    let there = match std::fs::symlink_metadata(path) {
        Ok(meta) => Some(identity(&meta)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(PrepareError::system("cannot look at", path, error)),
    };
    if operation.removes() && (there.is_none() || there != prepared) {
        let what = "something else is there than was prepared, or a link to it".to_owned();
        return Err(PrepareError::Changed { path: path.to_owned(), what });
    }
    if there.is_none() {
        // What an earlier step made here is gone, so that what comes next need not be this run's.
        made.store(false, Ordering::Relaxed);
    }
    let text = CString::new(path.as_os_str().as_bytes())
        .map_err(|error| PrepareError::system("cannot use", path, io::Error::from(error)))?;
    Ok(TargetName { path: text, there, made })
}

/// Takes in what a worker has made at a name.
pub(crate) fn adopt(path: &Path, claims: &Claims) {
    if !claims.name(path).load(Ordering::Relaxed) || claims.made().contains(path) && is_known(path, claims) {
        return;
    }
    // What cannot be seen is gone again, by this run or by someone else.
    let Ok(meta) = std::fs::symlink_metadata(path) else { return };
    if meta.is_dir() || meta.is_file() && meta.len() == 0 {
        take_in(path, &meta, claims);
    }
}

fn is_known(path: &Path, claims: &Claims) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|meta| claims.used.is_ours_as_left(path, &meta))
}

/// What is at the path is this run's from here on. Nobody writes to it in this step, so that its mark says that it is done.
fn take_in(path: &Path, meta: &Metadata, claims: &Claims) {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOFOLLOW;
    if let Ok(file) = fs::open(path, flags, Mode::empty()).map(File::from)
        && file.metadata().is_ok_and(|opened| identity(&opened) == identity(meta))
    {
        mark::complete(&file);
    }
    let sizes = if meta.is_dir() { 0..=u64::MAX } else { 0..=0 };
    claims.used.insert(path, UsedFile::written(meta, true, sizes));
    claims.made().insert(path.to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_and_is_gone_is_not_taken_for_made() {
        let folder = tempfile::tempdir().unwrap();
        let (path, claims) = (folder.path().join("name"), Claims::default());
        let open = |operation| open(&path, operation, None, claims.name(&path)).map(drop);
        claims.name(&path).store(true, Ordering::Relaxed);
        open(NameOperation::CreateFile).unwrap();
        assert!(!claims.name(&path).load(Ordering::Relaxed));
        // Someone else's, whatever was there before.
        std::fs::write(&path, "").unwrap();
        adopt(&path, &claims);
        assert!(!claims.made().contains(&path));
        assert!(open(NameOperation::RemoveFile).is_err());
        // One that a worker has made is the run's, and may be removed.
        claims.name(&path).store(true, Ordering::Relaxed);
        open(NameOperation::CreateFile).unwrap();
        adopt(&path, &claims);
        assert!(claims.made().contains(&path));
    }
}
