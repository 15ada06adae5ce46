//! The engine that works on names: each operation is one call, counts no bytes, and removes nothing but its target.

use fathom_io::{
    Buffers, Completion, Engine, Names, OpenTarget, Operation, Setup, TargetHandle, TargetName, Wait,
};
use fathom_schema::{NameOperation, OperationKind, StatCall};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A name as it is now, and whether the run has made what is there.
fn name(path: &Path) -> (OpenTarget, Arc<AtomicBool>) {
    let there = std::fs::symlink_metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
    let made = Arc::new(AtomicBool::new(false));
    let text = CString::new(path.as_os_str().as_bytes()).expect("no path holds a zero");
    let name = TargetName { path: text, there, made: Arc::clone(&made) };
    (
        OpenTarget { handle: TargetHandle::Name(name), size: 4096, trim_by: fathom_schema::TrimBy::Discard },
        made,
    )
}

/// What `call` gives on the name `path`, looked at before `meanwhile` happens; and whether it made what is there.
fn check(path: &Path, call: NameOperation, meanwhile: impl FnOnce(), expect: i32) -> bool {
    let mut engine = Names::new(call);
    let (target, made) = name(path);
    let buffers = Rc::new(Buffers::new(1, 1));
    engine.open(Setup { targets: vec![target], queue_depth: 1, buffers, seed: 1 }).expect("it opens nothing");
    meanwhile();
    let operation = Operation {
        slot: 0,
        kind: OperationKind::Read,
        target: 0,
        offset: 0,
        length: 4096,
        data_only: false,
        range_flags: 0,
    };
    engine.aside(Some(&operation));
    engine.push(&operation);
    let mut done = [Completion::default()];
    assert_eq!(engine.reap(Wait { min_complete: 1, timeout_ns: 0 }, &mut done).expect("it never fails"), 1);
    engine.aside(None);
    engine.close();
    assert_eq!(done[0].result, expect, "{call:?} of {}", path.display());
    made.load(Ordering::Relaxed)
}

#[test]
fn names_are_made_asked_about_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let (file, sub) = (folder.path().join("file"), folder.path().join("sub"));
    assert!(check(&file, NameOperation::CreateFile, || {}, 0));
    let meta = std::fs::metadata(&file).unwrap();
    assert_eq!((meta.len(), meta.permissions().mode() & 0o777), (0, 0o600));
    std::fs::write(&file, "content").unwrap();
    assert!(!check(&file, NameOperation::CreateFile, || {}, 0), "what was there is nobody's work");
    assert_eq!(std::fs::read(&file).unwrap(), b"content");
    assert!(check(&sub, NameOperation::CreateFolder, || {}, 0));
    assert!(!check(&sub, NameOperation::CreateFolder, || {}, -libc::EEXIST));
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("nowhere", &link).unwrap();
    for call in [StatCall::Stat, StatCall::Lstat, StatCall::Statx] {
        check(&file, NameOperation::StatFile(call), || {}, 0);
        check(&sub, NameOperation::StatFolder(call), || {}, 0);
        check(&folder.path().join("absent"), NameOperation::StatFile(call), || {}, -libc::ENOENT);
        let of_link = if call == StatCall::Lstat { 0 } else { -libc::ENOENT };
        check(&link, NameOperation::StatFile(call), || {}, of_link);
    }
    check(&file, NameOperation::RemoveFile, || {}, 0);
    check(&sub, NameOperation::RemoveFolder, || {}, 0);
    assert!(!file.exists() && !sub.exists());
    check(&file, NameOperation::RemoveFile, || {}, -libc::ENOENT);
}

#[test]
fn what_came_there_since_is_not_removed() {
    let folder = tempfile::tempdir().unwrap();
    let (target, other) = (folder.path().join("target"), folder.path().join("other"));
    std::fs::write(&target, "ours").unwrap();
    std::fs::write(&other, "theirs").unwrap();
    check(&target, NameOperation::RemoveFile, || std::fs::rename(&other, &target).unwrap(), -libc::ESTALE);
    assert_eq!(std::fs::read(&target).unwrap(), b"theirs");
    let folders = (folder.path().join("a"), folder.path().join("b"));
    std::fs::create_dir(&folders.0).unwrap();
    std::fs::create_dir(&folders.1).unwrap();
    let swap = || std::fs::rename(&folders.1, &folders.0).unwrap();
    check(&folders.0, NameOperation::RemoveFolder, swap, -libc::ESTALE);
    assert!(folders.0.is_dir());
}

#[test]
fn what_someone_else_makes_first_is_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let theirs = || std::fs::write(&path, "theirs").unwrap();
    assert!(!check(&path, NameOperation::CreateFile, theirs, 0));
    assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
}
