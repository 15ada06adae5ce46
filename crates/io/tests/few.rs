//! Files that are opened in turn: at no time more than were asked for, each operation in the file that it is meant for, and
//! what cannot be opened fails alone.

use fathom_io::{
    Buffers, Call, ClosedFile, Completion, Engine, FewOpen, OpenTarget, Operation, Setup, Synchronous,
    TargetHandle, Wait,
};
use fathom_schema::{Advice, OperationKind, TrimBy};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

const FILES: u8 = 12;

fn closed(path: &Path) -> OpenTarget {
    let meta = std::fs::metadata(path).expect("it is there");
    let file = ClosedFile {
        path: CString::new(path.as_os_str().as_bytes()).expect("a path without a zero"),
        flags: libc::O_RDWR,
        there: (meta.dev(), meta.ino()),
        advice: Advice::Random,
        drops_cache: true,
    };
    OpenTarget { handle: TargetHandle::Closed(file), size: 4096, trim_by: TrimBy::Discard }
}

/// Twelve files of 4 KiB, each of its own number, and `engine` on them.
fn rig<E: Engine>(engine: E, folder: &Path, most: u32) -> (FewOpen<E>, Rc<Buffers>, Vec<PathBuf>) {
    let paths: Vec<PathBuf> = (0..FILES).map(|number| folder.join(number.to_string())).collect();
    for (number, path) in (0..FILES).zip(&paths) {
        std::fs::write(path, [number; 4096]).expect("it can be written");
    }
    let buffers = Rc::new(Buffers::new(2, 4096));
    let mut engine = FewOpen::new(engine, most);
    let targets = paths.iter().map(|path| closed(path)).collect();
    engine.open(Setup { targets, queue_depth: 2, buffers: Rc::clone(&buffers), seed: 1 }).expect("it opens");
    (engine, buffers, paths)
}

fn one<E: Engine>(engine: &mut FewOpen<E>, kind: OperationKind, target: u32, offset: u64) -> i32 {
    let operation =
        Operation { slot: 0, kind, target, offset, length: 512, data_only: false, range_flags: 0 };
    engine.aside(Some(&operation));
    engine.push(&operation);
    engine.submit().expect("it is taken");
    let mut into = [Completion::default()];
    let found = engine.reap(Wait { min_complete: 1, timeout_ns: u64::MAX / 2 }, &mut into);
    assert_eq!(found.expect("it ends"), 1);
    into[0].result
}

/// Files of `folder` that this process has open.
fn open_in(folder: &Path) -> usize {
    let all = std::fs::read_dir("/proc/self/fd").expect("a process has descriptors").flatten();
    let leads_there = |path: PathBuf| std::fs::read_link(path).is_ok_and(|to| to.starts_with(folder));
    all.filter(|entry| leads_there(entry.path())).count()
}

#[test]
fn each_operation_goes_to_its_file_and_no_more_are_open_than_may_be() {
    for call in [Call::Positioned, Call::Seeking, Call::SeekingVector, Call::Vector] {
        let folder = tempfile::tempdir().unwrap();
        let (mut engine, buffers, paths) = rig(Synchronous::new(call), folder.path(), 3);
        for step in 0..200_u32 {
            // Three in service, of which one is another every ten operations; now and then one out of the line.
            let target = if step % 17 == 0 { (step * 5) % 12 } else { (step / 10 + step % 3) % 12 };
            let offset = u64::from(step % 8) * 512;
            assert_eq!(one(&mut engine, OperationKind::Read, target, offset), 512, "{call:?}");
            let mut found = 0;
            buffers.fill(0, 512, |bytes| found = bytes[0]);
            assert_eq!(u32::from(found), target, "{call:?}: operation {step}");
            assert!(open_in(folder.path()) <= 3, "{call:?}: operation {step}");
        }
        buffers.fill(0, 512, |bytes| bytes.fill(0xAA));
        assert_eq!(one(&mut engine, OperationKind::Write, 7, 1024), 512);
        engine.close();
        assert_eq!(open_in(folder.path()), 0, "{call:?}");
        let written = std::fs::read(&paths[7]).unwrap();
        assert_eq!((written[1023], written[1024], written[1535], written[1536]), (7, 0xAA, 0xAA, 7));
    }
}

#[test]
fn a_file_that_is_gone_or_another_one_fails_its_own_operations() {
    let folder = tempfile::tempdir().unwrap();
    let (mut engine, buffers, paths) = rig(Synchronous::new(Call::Positioned), folder.path(), 2);
    std::fs::remove_file(&paths[4]).unwrap();
    std::fs::rename(&paths[6], &paths[5]).unwrap();
    let read = OperationKind::Read;
    assert_eq!(one(&mut engine, read, 3, 0), 512);
    assert_eq!(one(&mut engine, read, 4, 0), -libc::ENOENT);
    assert_eq!(one(&mut engine, read, 5, 0), -libc::ESTALE);
    assert_eq!(one(&mut engine, read, 3, 512), 512);
    assert_eq!(one(&mut engine, read, 7, 0), 512);
    engine.close();
    assert!(!buffers.any_lent());
}
