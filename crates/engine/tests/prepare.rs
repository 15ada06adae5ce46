//! Preparation on real filesystems: what is laid out, what is refused, and that a preparation that fails or is stopped
//! leaves nothing of ours and everything of others.

#[expect(dead_code, reason = "shared with tests that use more of it")]
#[path = "../../io/tests/support/stage.rs"]
mod stage;
mod support;

use fathom_engine::prepare::{Claims, PrepareError, Progress, Ready, Tidied, Used, clean_up, prepare};
use fathom_engine::probe::{EngineRefusals, MARK, probe};
use fathom_schema::*;
use fathom_units::{Bytes, Ratio};
use rustix::fs::{FallocateFlags, SeekFrom, XattrFlags, fallocate, seek, setxattr};
use rustix::io::Errno;
use stage::{Stage, content, skip};
use std::fs::File;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const MIB: u64 = 1 << 20;

/// A step whose only stream reads these files whole.
fn reading(files: &[(&Path, LayoutRule, u64)]) -> Step {
    let mut stream = support::stream(EngineKind::Psync, 1);
    stream.workers[0].extents = (0..)
        .zip(files)
        .map(|(target, &(_, _, size))| Extent {
            target,
            start: Bytes::ZERO,
            length: Bytes(size),
            room: Bytes::ZERO,
        })
        .collect();
    let mut step = support::step(TargetKind::Null, stream);
    step.targets = files
        .iter()
        .map(|&(path, layout, size)| Target {
            name: path.display().to_string(),
            kind: TargetKind::File { path: path.to_owned(), layout, remove_after: true },
            size: Bytes(size),
        })
        .collect();
    step
}

fn ready(step: Step) -> Result<Arc<Ready>, PrepareError> {
    prepare(step, 0, &Arc::new(Claims::default()), &mut |_| {}, &AtomicBool::new(false))
}

/// Offset of the first hole; the size when there is none.
fn first_hole(path: &Path) -> u64 {
    let file = File::open(path).expect("the file is there");
    seek(file, SeekFrom::Hole(0)).expect("a file that is not empty has an end")
}

/// Bits of information per byte, as far as single bytes tell.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    bytes.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
    let share = counts.iter().filter(|&&n| n > 0).map(|&n| f64::from(n) / bytes.len() as f64);
    share.map(|p| -p * p.log2()).sum()
}

/// Fails unless these bytes neither compress nor repeat.
fn check_incompressible(bytes: &[u8]) {
    assert!(entropy(bytes) > 7.9, "{} bits per byte", entropy(bytes));
    let blocks: std::collections::BTreeSet<&[u8]> = bytes.chunks(4096).collect();
    assert_eq!(blocks.len(), bytes.len().div_ceil(4096), "blocks repeat");
}

#[test]
fn a_new_file_is_laid_out_with_real_data() {
    let stage = Stage::new();
    let path = stage.path("new");
    let size = 3 * MIB + 12_345;
    let mut seen = Vec::new();
    let mut progress = |now: &Progress<'_>| seen.push((now.path.to_owned(), now.done.0, now.total.0));
    let step = reading(&[(&path, LayoutRule::Written, size)]);
    let claims = Arc::new(Claims::default());
    prepare(step, 0, &claims, &mut progress, &AtomicBool::new(false)).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), size);
    assert_eq!(first_hole(&path), size);
    check_incompressible(&std::fs::read(&path).unwrap());
    assert_eq!(seen.len(), 4);
    assert!(seen.is_sorted_by_key(|(_, done, _)| *done));
    assert_eq!(seen.last(), Some(&(path, size, size)));
}

/// More than are synced each by itself.
#[test]
fn many_small_files_are_laid_out_each_with_data_of_its_own() {
    let stage = Stage::new();
    let paths: Vec<PathBuf> = (0..40).map(|number| stage.path(&format!("small-{number}"))).collect();
    let theirs = &paths[7];
    std::fs::write(theirs, vec![9; 16 << 10]).unwrap();
    let size = |number: u64| (16 << 10) + number;
    let files = (0..).zip(&paths).map(|(number, path)| (&**path, LayoutRule::Written, size(number)));
    let step = reading(&files.collect::<Vec<_>>());
    let mut last = (0, 0);
    let mut progress = |now: &Progress<'_>| last = (now.done.0, now.total.0);
    prepare(step, 0, &Arc::new(Claims::default()), &mut progress, &AtomicBool::new(false)).unwrap();
    let written: u64 = (0..40).map(size).sum::<u64>() - (16 << 10);
    assert_eq!(last, (written, written));
    let all: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
    for (number, bytes) in (0..).zip(&all) {
        assert_eq!(bytes.len() as u64, size(number));
    }
    assert!(all[7].starts_with(&[9; 16 << 10]), "data was lost");
    let own = [&all[..7], &all[8..]].concat();
    check_incompressible(&own.iter().flat_map(|bytes| &bytes[..16 << 10]).copied().collect::<Vec<u8>>());
}

#[test]
fn what_is_there_stays_and_what_is_missing_is_written() {
    let stage = Stage::new();
    // Data, a hole, data, an unwritten extent, and shorter than asked.
    let path = stage.sparse("partly", 4 * MIB);
    let file = File::options().write(true).open(&path).unwrap();
    file.write_all_at(&vec![1; 1 << 20], 0).unwrap();
    file.write_all_at(&vec![2; 1 << 20], 2 * MIB).unwrap();
    match fallocate(&file, FallocateFlags::KEEP_SIZE, 3 * MIB, MIB) {
        Ok(()) => {}
        Err(error) => skip("unwritten extents", &error.to_string()),
    }
    file.sync_all().unwrap();
    if first_hole(&path) != MIB {
        return skip("holes", "this filesystem does not show them");
    }
    ready(reading(&[(&path, LayoutRule::Written, 5 * MIB)])).unwrap();
    assert_eq!(first_hole(&path), 5 * MIB);
    let now = std::fs::read(&path).unwrap();
    let part = |n: usize| &now[n << 20..(n + 1) << 20];
    assert!(part(0).iter().all(|&byte| byte == 1) && part(2).iter().all(|&byte| byte == 2), "data was lost");
    check_incompressible(&[part(1), part(3), part(4)].concat());
}

#[test]
fn holes_that_nobody_goes_to_stay() {
    let stage = Stage::new();
    let path = stage.path("sparse");
    File::create(&path).unwrap().set_len(4 << 20).unwrap();
    let mut step = reading(&[(&path, LayoutRule::Written, 4 << 20)]);
    for extent in step.streams.iter_mut().flat_map(|stream| &mut stream.workers).flat_map(|w| &mut w.extents)
    {
        // The last operation may reach behind its extent.
        (extent.start, extent.length, extent.room) = (Bytes::mib(1), Bytes::mib(1), Bytes::mib(2));
    }
    ready(step).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let written: Vec<bool> = bytes.chunks(1 << 20).map(|part| part.iter().any(|byte| *byte != 0)).collect();
    assert_eq!(written, [false, true, false, false]);
}

#[test]
fn a_file_that_is_complete_or_larger_is_left_alone() {
    let stage = Stage::new();
    let path = stage.filled("full", 2 << 20, 7);
    for layout in [LayoutRule::Written, LayoutRule::Allocated, LayoutRule::Created, LayoutRule::MustExist] {
        let before = std::fs::metadata(&path).unwrap().modified().unwrap();
        ready(reading(&[(&path, layout, MIB)])).unwrap();
        let after = std::fs::metadata(&path).unwrap();
        assert_eq!((after.len(), after.modified().unwrap()), (2 * MIB, before), "{layout:?}");
    }
    assert_eq!(content(&path, 2 << 20), vec![7; 2 << 20]);
}

#[test]
fn each_layout_rule_does_what_it_says_to_a_new_file() {
    let stage = Stage::new();
    for (layout, length) in [(LayoutRule::Allocated, MIB), (LayoutRule::Created, 0)] {
        let path = stage.path(&format!("{layout:?}"));
        ready(reading(&[(&path, layout, MIB)])).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), vec![0; usize::try_from(length).unwrap()], "{layout:?}");
    }
    let path = stage.path("null");
    let mut step = reading(&[(&path, LayoutRule::Written, MIB)]);
    step.streams[0].engine.kind = EngineKind::Null;
    ready(step).unwrap();
    assert!(!path.exists(), "the null engine needs no file");
}

#[test]
fn a_writers_content_is_what_is_laid_out() {
    let stage = Stage::new();
    let path = stage.path("f");
    let mut step = reading(&[(&path, LayoutRule::Written, MIB)]);
    step.streams[0].workload.cases[0].kind = OperationKind::Write;
    step.streams[0].workload.content.fill = Fill::Pattern(vec![0xAB, 0xCD]);
    ready(step).unwrap();
    assert!(std::fs::read(&path).unwrap().chunks(2).all(|pair| pair == [0xAB, 0xCD]));
}

/// Prepares and expects a failure whose text has these parts, and none of these paths to exist afterwards.
fn check_failure(step: Step, parts: &[&str], gone: &[&Path]) -> PrepareError {
    let error = ready(step).expect_err("this cannot be prepared");
    for part in parts {
        assert!(error.to_string().contains(part), "«{error}» does not say «{part}»");
    }
    for path in gone {
        assert!(!path.exists(), "{} was left behind", path.display());
    }
    error
}

#[test]
fn a_full_filesystem_stops_the_layout_and_nothing_is_left() {
    let mut stage = Stage::new();
    let set_up = [("tmpfs", stage.tmpfs("t", 4 * MIB)), ("ext4", stage.ext4("e", 8 * MIB))];
    for (kind, folder) in set_up {
        let folder = match folder {
            Ok(folder) => folder,
            Err(why) => {
                skip(&format!("full {kind}"), &why);
                continue;
            }
        };
        let [fits, theirs, too_large] = ["fits", "theirs", "too-large"].map(|name| folder.join(name));
        std::fs::write(&theirs, [9; 5000]).unwrap();
        let files = [(&*fits, MIB), (&*theirs, 5000), (&*too_large, 16 * MIB)];
        let files = files.map(|(path, size)| (path, LayoutRule::Written, size));
        let name = too_large.display().to_string();
        let says = ["cannot lay out", &name, "No space left", "smaller size"];
        let error = check_failure(reading(&files), &says, &[&fits, &too_large]);
        assert_eq!(error.raw_os_error(), Some(Errno::NOSPC.raw_os_error()), "{kind}");
        assert_eq!(std::fs::read(&theirs).unwrap(), [9; 5000], "{kind}");
        let allocated = reading(&[(&too_large, LayoutRule::Allocated, 16 * MIB)]);
        check_failure(allocated, &["cannot extend", &name, "No space left"], &[&too_large]);
        drop(File::create(&too_large).unwrap());
        check_failure(reading(&[(&too_large, LayoutRule::Written, 16 * MIB)]), &["No space left"], &[]);
        assert!(too_large.exists(), "a file that was there before is not ours to remove");
    }
}

#[test]
fn a_stop_while_laying_out_removes_what_was_begun() {
    let stage = Stage::new();
    let [first, second, theirs] = ["first", "second", "theirs"].map(|name| stage.path(name));
    std::fs::write(&theirs, b"precious").unwrap();
    let files = [(&*theirs, 8), (&*first, 2 * MIB), (&*second, 64 * MIB)];
    let step = reading(&files.map(|(path, size)| (path, LayoutRule::Written, size)));
    let stop = AtomicBool::new(false);
    let mut progress = |now: &Progress<'_>| {
        if now.path == second {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let outcome = prepare(step, 0, &Arc::new(Claims::default()), &mut progress, &stop);
    assert!(matches!(outcome, Err(PrepareError::Stopped)), "{outcome:?}");
    assert!(!first.exists() && !second.exists());
    assert_eq!(std::fs::read(&theirs).unwrap(), b"precious");
}

/// What `SIGKILL` leaves in the middle of a layout: the file under another name, since a stop removes its own.
fn left_by_a_killed_layout(stage: &Stage, size: u64) -> PathBuf {
    let (path, left) = (stage.path("laid out"), stage.path("left"));
    let stop = AtomicBool::new(false);
    let mut progress = |now: &Progress<'_>| {
        if now.done.0 == 2 * MIB {
            std::fs::hard_link(&path, &left).expect("both are ours");
            stop.store(true, Ordering::Relaxed);
        }
    };
    let step = reading(&[(&path, LayoutRule::Written, size)]);
    let outcome = prepare(step, 0, &Arc::new(Claims::default()), &mut progress, &stop);
    assert!(matches!(outcome, Err(PrepareError::Stopped)), "{outcome:?}");
    left
}

fn look(path: &Path) -> FileFact {
    let facts = probe(&[path.to_owned()], Path::new("/nonexistent"), EngineRefusals::default());
    facts.targets[0].file.clone().expect("it is a file")
}

/// What a killed layout leaves could have been filled by anybody since: it is told, and is nobody's to write unasked.
#[test]
fn what_a_killed_layout_leaves_is_told_and_completed_when_agreed_to() {
    let stage = Stage::new();
    let left = left_by_a_killed_layout(&stage, 4 * MIB);
    if let Err(error) = rustix::fs::getxattr(&left, MARK, &mut [0_u8; 256][..]) {
        return skip("killed layout", &error.to_string());
    }
    let found = look(&left);
    let because = Some(VoidMark::Unended { run: String::new() });
    assert_eq!((found.made_by_fathom, found.unfinished, found.void_mark), (false, true, because));
    assert_eq!(found.size, Bytes(2 * MIB));
    let before = content(&left, 2 << 20);
    ready(reading(&[(&left, LayoutRule::Written, 4 * MIB)])).unwrap();
    let found = look(&left);
    assert!(!found.made_by_fathom && !found.unfinished && found.written == Bytes(4 * MIB), "{found:?}");
    let after = content(&left, 4 << 20);
    assert!(after[..2 << 20] == before[..], "what was there was not kept");
    check_incompressible(&after[2 << 20..]);
}

#[test]
fn a_file_that_is_read_and_grows_stays_fathoms() {
    let stage = Stage::new();
    for (name, layout) in
        [("w", LayoutRule::Written), ("p", LayoutRule::Appended), ("a", LayoutRule::Allocated)]
    {
        let path = stage.path(name);
        let step = |size| keeping(reading(&[(&path, layout, size)]));
        for size in [MIB, 2 * MIB] {
            leave(&[step(size)], || {});
            if let Err(error) = rustix::fs::getxattr(&path, MARK, &mut [0_u8; 64][..]) {
                return skip("mark", &error.to_string());
            }
            assert!(look(&path).made_by_fathom, "{layout:?} at {size}");
        }
    }
}

fn writing(path: &Path) -> Step {
    let mut step = reading(&[(path, LayoutRule::Written, MIB)]);
    step.streams[0].workload.cases[0].kind = OperationKind::Write;
    step
}

fn claim(step: Step) -> Result<Claims, PrepareError> {
    claim_all(&[step])
}

fn claim_all(steps: &[Step]) -> Result<Claims, PrepareError> {
    let paths: Vec<PathBuf> = steps
        .iter()
        .flat_map(|step| &step.targets)
        .filter_map(|target| match &target.kind {
            TargetKind::File { path, .. } => Some(path.clone()),
            _ => None,
        })
        .collect();
    let facts = probe(&paths, Path::new("/nonexistent"), EngineRefusals::default());
    Claims::take(steps, &facts)
}

#[test]
fn a_file_has_one_writer_under_all_its_names() {
    let stage = Stage::new();
    let (path, other) = (stage.filled("f", 1 << 20, 1), stage.path("other"));
    std::fs::hard_link(&path, &other).unwrap();
    let taken = |outcome: Result<Claims, PrepareError>, path: &Path| {
        let error = outcome.expect_err("someone writes to it").to_string();
        for part in [path.to_str().unwrap(), "being written by another process", "into one job"] {
            assert!(error.contains(part), "{error}");
        }
    };
    let first = claim(writing(&path)).unwrap();
    taken(claim(writing(&path)), &path);
    taken(claim(writing(&other)), &other);
    // A reader goes on, and its record says what it met.
    let reader = claim(reading(&[(&other, LayoutRule::MustExist, MIB)])).unwrap();
    assert!(reader.remarks()[0].contains("other is being written"), "{:?}", reader.remarks());
    drop(first);
    let alone = claim(reading(&[(&path, LayoutRule::MustExist, MIB)])).unwrap();
    assert!(alone.remarks().is_empty(), "{:?}", alone.remarks());
    claim(writing(&other)).expect("readers share, and the writer has ended");
}

#[test]
fn what_a_later_step_writes_is_laid_out_for_its_reader() {
    let stage = Stage::new();
    let path = stage.filled("short", 1 << 20, 1);
    for (size, layout) in [(2 * MIB, LayoutRule::Written), (3 * MIB, LayoutRule::Allocated)] {
        let steps = [reading(&[(&path, layout, size)]), writing(&path)];
        let claims = Arc::new(claim_all(&steps).unwrap());
        for (step, index) in steps.into_iter().zip(0..) {
            prepare(step, index, &claims, &mut |_| {}, &AtomicBool::new(false)).unwrap();
        }
        assert_eq!(std::fs::metadata(&path).unwrap().len(), size);
    }
    // What another run writes to is not laid out, even if it is only read here.
    let _other = claim(writing(&path)).unwrap();
    for layout in [LayoutRule::Written, LayoutRule::Allocated] {
        let outcome = ready(reading(&[(&path, layout, 4 * MIB)]));
        assert!(matches!(outcome, Err(PrepareError::Taken { .. })), "{layout:?}: {outcome:?}");
    }
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 3 * MIB);
}

#[test]
fn a_file_that_a_run_makes_is_its_own() {
    let stage = Stage::new();
    let path = stage.path("new");
    let first = Arc::new(claim(writing(&path)).unwrap());
    let ready = prepare(writing(&path), 0, &first, &mut |_| {}, &AtomicBool::new(false)).unwrap();
    assert!(matches!(claim(writing(&path)), Err(PrepareError::Taken { .. })));
    // Who was refused it leaves it alone when it ends, too.
    let refused = clean_up(&[writing(&path)], &Used::default());
    assert!(refused.left_behind.is_empty() && path.exists());
    drop((ready, first));
    claim(writing(&path)).unwrap();
}

#[test]
fn a_file_that_must_exist_does_so_with_its_size() {
    let stage = Stage::new();
    let (short, absent) = (stage.filled("short", 1000, 1), stage.path("absent"));
    let step = |path: &Path| reading(&[(path, LayoutRule::MustExist, 4096)]);
    let error = check_failure(step(&short), &["short", "1000 B", "4 KiB", "start again"], &[]);
    assert!(matches!(error, PrepareError::Changed { .. }));
    let error = check_failure(step(&absent), &["cannot open", "absent", "No such file"], &[&absent]);
    assert_eq!(error.raw_os_error(), Some(Errno::NOENT.raw_os_error()));
    assert_eq!(std::fs::read(&short).unwrap(), [1; 1000]);
    // A folder that is absent is the planner's to refuse; a file in its place is not to be passed.
    let no_folder = stage.filled("file", 1, 1).join("f");
    check_failure(reading(&[(&no_folder, LayoutRule::Written, MIB)]), &["cannot open"], &[]);
}

#[test]
fn a_path_that_leads_to_something_else_is_refused() {
    let mut stage = Stage::new();
    let layouts = [LayoutRule::Written, LayoutRule::Allocated, LayoutRule::Created, LayoutRule::MustExist];
    let mut others = vec![PathBuf::from("/dev/null"), stage.path("")];
    match stage.device("image", MIB) {
        Ok((device, _)) => others.push(device),
        Err(why) => skip("file swapped for a device", &why),
    }
    for (at, other) in others.iter().enumerate() {
        let path = stage.path(&format!("link{at}"));
        symlink(other, &path).unwrap();
        for layout in layouts {
            let outcome = ready(reading(&[(&path, layout, 4096)]));
            assert!(outcome.is_err(), "{layout:?} on {}", other.display());
        }
    }
    if let Some(device) = others.get(2) {
        assert_eq!(content(device, 1 << 20), vec![0; 1 << 20], "the device was written");
    }
}

#[test]
fn a_path_that_changes_after_preparation_is_not_opened() {
    let mut stage = Stage::new();
    let mut others = vec![stage.filled("precious", 1 << 20, 5)];
    match stage.device("image", MIB) {
        Ok((device, _)) => others.push(device),
        Err(why) => skip("prepared file swapped for a device", &why),
    }
    for (at, other) in others.iter().enumerate() {
        let before = content(other, 1 << 20);
        let path = stage.path(&format!("f{at}"));
        let mut step = reading(&[(&path, LayoutRule::Written, MIB)]);
        step.streams[0].workload.cases[0].kind = OperationKind::Write;
        let ready = ready(step).unwrap();
        std::fs::remove_file(&path).unwrap();
        symlink(other, &path).unwrap();
        let error = support::try_ready(&ready).expect_err("the path leads elsewhere").to_string();
        assert!(error.contains("no longer what was looked at"), "{error}");
        assert!(content(other, 1 << 20) == before, "{} was written", other.display());
    }
}

/// A run of these steps, without their load: prepares them, lets something happen, and ends.
fn leave(steps: &[Step], meanwhile: impl FnOnce()) -> Tidied {
    let claims = Arc::new(Claims::default());
    for step in steps {
        prepare(step.clone(), 0, &claims, &mut |_| {}, &AtomicBool::new(false)).expect("it can be prepared");
    }
    let used = claims.used();
    drop(claims);
    meanwhile();
    clean_up(steps, &used)
}

/// The same step, whose files stay.
fn keeping(mut step: Step) -> Step {
    for target in &mut step.targets {
        let TargetKind::File { remove_after, .. } = &mut target.kind else { continue };
        *remove_after = false;
    }
    step
}

/// Whether a mark can be put on files there.
fn has_marks(stage: &Stage, test: &str) -> bool {
    match setxattr(stage.filled("marked", 1, 1), MARK, b"x", XattrFlags::empty()) {
        Ok(()) => true,
        Err(error) => {
            skip(test, &error.to_string());
            false
        }
    }
}

#[test]
fn clean_up_removes_our_files_only() {
    let stage = Stage::new();
    let [created, theirs, kept, link] = ["created", "theirs", "kept", "link"].map(|name| stage.path(name));
    std::fs::write(&theirs, b"x").unwrap();
    symlink(&theirs, &link).unwrap();
    let files = [&created, &theirs, &link].map(|p| (&**p, LayoutRule::Created, 0));
    let steps = [reading(&files), keeping(reading(&[(&kept, LayoutRule::Created, 0)])), reading(&files)];
    let Tidied { left_behind, remarks } = leave(&steps, || {});
    assert!(left_behind.is_empty() && remarks.is_empty(), "{left_behind:?} {remarks:?}");
    assert!(!created.exists());
    assert!(theirs.exists() && kept.exists() && link.is_symlink());
}

#[test]
fn the_mark_of_a_created_file_lets_a_later_run_remove_it() {
    let stage = Stage::new();
    let path = stage.path("f");
    let step = reading(&[(&path, LayoutRule::Written, 4096)]);
    ready(step.clone()).unwrap();
    if !has_marks(&stage, "mark") {
        return;
    }
    assert!(leave(&[step], || {}).left_behind.is_empty());
    assert!(!path.exists());
}

#[test]
fn what_took_the_place_of_a_file_is_not_removed() {
    let stage = Stage::new();
    let replace: fn(&Path, &Stage) = |path, stage| {
        std::fs::rename(stage.filled("precious", 1 << 20, 5), path).unwrap();
    };
    let shorten: fn(&Path, &Stage) = |path, _| std::fs::write(path, [5; 5000]).unwrap();
    for (what, happens) in
        [("another file has taken its place", replace), ("another program has written", shorten)]
    {
        for step in [|path: &Path| reading(&[(path, LayoutRule::Written, MIB)]), writing] {
            let path = stage.path("f");
            let Tidied { left_behind, remarks } = leave(&[step(&path)], || happens(&path, &stage));
            assert!(left_behind.is_empty(), "{left_behind:?}");
            assert!(remarks.len() == 1 && remarks[0].contains(what), "{remarks:?}");
            assert!(std::fs::read(&path).unwrap().iter().all(|&byte| byte == 5), "{what}");
            assert!(!look(&path).made_by_fathom, "{what}");
            std::fs::remove_file(&path).unwrap();
        }
    }
}

#[test]
fn what_is_gone_of_that_which_a_run_wrote_is_told() {
    let stage = Stage::new();
    let path = stage.path("f");
    let step = keeping(writing(&path));
    let remove = || std::fs::remove_file(&path).unwrap();
    let replace = || std::fs::rename(stage.filled("other", 1 << 20, 5), &path).unwrap();
    let gone = "f is gone since the run began: what was written to it cannot be looked at";
    for is_theirs in [false, true] {
        for (says, happens) in [
            (gone, &remove as &dyn Fn()),
            ("f is another file than the run has opened: what was", &replace as &dyn Fn()),
        ] {
            if is_theirs {
                stage.filled("f", 1 << 20, 1);
            }
            let Tidied { left_behind, remarks } = leave(std::slice::from_ref(&step), happens);
            assert!(left_behind.is_empty() && remarks.len() == 1, "{left_behind:?} {remarks:?}");
            assert!(remarks[0].contains(says), "{remarks:?}");
            // The next one finds none, or one of its own.
            drop(std::fs::remove_file(&path));
        }
    }
    // One that was to be removed is missed all the same.
    let remarks = leave(&[writing(&path)], remove).remarks;
    assert!(remarks.len() == 1 && remarks[0].contains(gone), "{remarks:?}");
}

#[test]
fn a_later_step_that_finds_another_file_tells_it() {
    let stage = Stage::new();
    let path = stage.path("f");
    let step = keeping(writing(&path));
    let claims = Arc::new(Claims::default());
    let ready = || {
        prepare(step.clone(), 0, &claims, &mut |_| {}, &AtomicBool::new(false)).expect("it can be prepared");
    };
    ready();
    ready();
    std::fs::rename(stage.filled("other", 1 << 20, 5), &path).unwrap();
    ready();
    let used = claims.used();
    drop(claims);
    let remarks = clean_up(std::slice::from_ref(&step), &used).remarks;
    assert!(
        remarks.len() == 1 && remarks[0].contains("f was another file in an earlier step"),
        "{remarks:?}"
    );
}

#[test]
fn a_layout_that_stops_leaves_what_took_its_place() {
    let stage = Stage::new();
    let path = stage.path("f");
    let stop = AtomicBool::new(false);
    let mut progress = |_: &Progress<'_>| {
        std::fs::rename(stage.filled("precious", 5000, 5), &path).unwrap();
        stop.store(true, Ordering::Relaxed);
    };
    let step = reading(&[(&path, LayoutRule::Written, 4 * MIB)]);
    let outcome = prepare(step, 0, &Arc::new(Claims::default()), &mut progress, &stop);
    assert!(matches!(outcome, Err(PrepareError::Stopped)), "{outcome:?}");
    assert_eq!(content(&path, 5000), vec![5; 5000]);
}

#[test]
fn what_others_write_while_a_run_reads_is_theirs() {
    let stage = Stage::new();
    let path = stage.path("f");
    let read = keeping(reading(&[(&path, LayoutRule::Written, MIB)]));
    leave(std::slice::from_ref(&read), || {});
    if !has_marks(&stage, "reader's mark") {
        return;
    }
    assert!(look(&path).made_by_fathom, "what was laid out is fathom's");
    // The same size: only the time tells.
    let theirs = || std::fs::write(&path, vec![5; 1 << 20]).unwrap();
    let remarks = leave(std::slice::from_ref(&read), theirs).remarks;
    assert!(remarks[0].contains("has been changed by another program while this run read it"), "{remarks:?}");
    assert!(!look(&path).made_by_fathom, "a run that only read made it its own");
    // Someone else's file is no less disturbed.
    let remarks = leave(std::slice::from_ref(&read), || std::fs::remove_file(&path).unwrap()).remarks;
    assert!(remarks[0].contains("has been removed by another program"), "{remarks:?}");
    stage.filled("f", 1 << 20, 1);
    let replace = || std::fs::rename(stage.filled("other", 1 << 20, 2), &path).unwrap();
    let remarks = leave(&[read], replace).remarks;
    assert!(remarks[0].contains("another file has taken the place"), "{remarks:?}");
}

#[test]
fn what_another_run_reads_is_told_and_not_removed() {
    let stage = Stage::new();
    let path = stage.path("f");
    leave(&[keeping(writing(&path))], || {});
    if !has_marks(&stage, "a reader's sign") {
        return;
    }
    let reader = claim(reading(&[(&path, LayoutRule::MustExist, MIB)])).unwrap();
    let writer = claim(writing(&path)).expect("readers do not lock writers out");
    assert!(writer.remarks()[0].contains("is being read by another process"), "{:?}", writer.remarks());
    drop(writer);
    let remarks = leave(&[writing(&path)], || {}).remarks;
    assert!(remarks[0].contains("is left: another process of fathom reads it"), "{remarks:?}");
    drop(reader);
    let tidied = leave(&[writing(&path)], || {});
    assert!(tidied.remarks.is_empty() && !path.exists(), "{tidied:?}");
    // A run's own readers under another name are no news.
    let (own, link) = (stage.filled("own", 1 << 20, 1), stage.path("link"));
    std::fs::hard_link(&own, &link).unwrap();
    let claims = claim_all(&[reading(&[(&own, LayoutRule::MustExist, MIB)]), writing(&link)]).unwrap();
    assert!(
        claims.remarks().iter().all(|remark| !remark.contains("is being read")),
        "{:?}",
        claims.remarks()
    );
}

#[test]
fn what_others_write_while_a_run_writes_is_theirs_when_its_size_tells() {
    let stage = Stage::new();
    let path = stage.path("f");
    if !has_marks(&stage, "writer's mark") {
        return;
    }
    let step = keeping(writing(&path));
    assert!(leave(std::slice::from_ref(&step), || {}).remarks.is_empty());
    assert!(look(&path).made_by_fathom);
    let remarks = leave(&[step], || std::fs::write(&path, [5; 5000]).unwrap()).remarks;
    assert!(remarks[0].contains("counts as not made by fathom from now on"), "{remarks:?}");
    assert!(!look(&path).made_by_fathom);
    let mark = rustix::fs::getxattr(&path, MARK, &mut [0_u8; 64][..]);
    assert_eq!(mark, Err(Errno::NODATA), "the mark is taken away");
}

#[test]
fn the_mark_of_a_killed_run_does_not_cover_what_others_put_there() {
    let stage = Stage::new();
    let path = stage.path("f");
    // Never cleaned up, as after a signal that cannot be caught.
    drop(ready(writing(&path)).unwrap());
    if !has_marks(&stage, "killed run") {
        return;
    }
    assert!(look(&path).made_by_fathom, "it has not written yet");
    // The size that the run gave it.
    std::fs::write(&path, vec![5; 1 << 20]).unwrap();
    let found = look(&path);
    let because = Some(VoidMark::Unended { run: String::new() });
    assert_eq!((found.made_by_fathom, found.unfinished, found.void_mark), (false, false, because));
}

#[test]
fn what_is_only_read_is_laid_out_as_its_job_says() {
    // Unless it says so, its numbers do not depend on compression in the device.
    let stage = Stage::new();
    let path = stage.path("f");
    let mut step = reading(&[(&path, LayoutRule::Written, MIB)]);
    ready(step.clone()).unwrap();
    check_incompressible(&std::fs::read(&path).unwrap());
    std::fs::remove_file(&path).unwrap();
    step.streams[0].workload.content.compressible = Ratio::percent(90.0);
    ready(step).unwrap();
    assert!(entropy(&std::fs::read(&path).unwrap()) < 2.0);
}
