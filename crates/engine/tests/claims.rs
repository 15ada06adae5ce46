//! Claims on real block devices: held exclusively while they are written, only the device that was judged, and steps that
//! run on what was claimed. Needs root and loop devices; says when it skips.

#[expect(dead_code, reason = "shared with tests that use more of it")]
#[path = "../../io/tests/support/stage.rs"]
mod stage;
mod support;

use fathom_engine::prepare::{Claims, PrepareError, prepare};
use fathom_engine::probe::{EngineRefusals, probe};
use fathom_schema::*;
use fathom_units::Bytes;
use rustix::io::Errno;
use stage::{Stage, content, skip, text, tool};
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

const MIB: u64 = 1 << 20;

/// A stage with a loop device of 2 MiB, or the reason why there is none.
fn device(test: &str) -> Option<(Stage, PathBuf)> {
    let mut stage = Stage::new();
    match stage.device("image", 2 * MIB) {
        Ok((device, _)) => Some((stage, device)),
        Err(why) => {
            skip(test, &why);
            None
        }
    }
}

/// What a probe would say of these devices, as far as claims ask.
fn facts(devices: &[&Path]) -> Facts {
    let fact = |path: &&Path| {
        let number = std::fs::metadata(path).expect("the device is there").rdev();
        let number = DeviceNumber { major: rustix::fs::major(number), minor: rustix::fs::minor(number) };
        TargetFact {
            path: path.to_path_buf(),
            resolved: path.to_path_buf(),
            kind: FileKind::BlockDevice,
            error: None,
            errno: None,
            filesystem: None,
            folder_made_by_fathom: false,
            file: None,
            device: Some(BlockDevice { number, ..BlockDevice::default() }),
        }
    };
    Facts { targets: devices.iter().map(fact).collect(), ..Facts::default() }
}

/// A step whose stream does `kind` once to every block of the device.
fn step(device: &Path, engine: EngineKind, kind: OperationKind) -> Step {
    let mut stream = support::stream(engine, if engine == EngineKind::Psync { 1 } else { 8 });
    stream.workload.cases[0].kind = kind;
    stream.workload.coverage = Coverage::OncePerPass;
    stream.limits = StreamLimits {
        time: TimeLimit::Unbounded,
        bytes: Quota::AtMost(2 * MIB),
        operations: Quota::Unlimited,
        ..stream.limits
    };
    stream.engine.mode = IoMode::Direct;
    stream.workers[0].extents[0].length = Bytes(2 * MIB);
    let mut step = support::step(TargetKind::BlockDevice { path: device.to_owned() }, stream);
    step.targets[0].size = Bytes(2 * MIB);
    step
}

fn writing(device: &Path) -> Step {
    step(device, EngineKind::Psync, OperationKind::Write)
}

fn reading(device: &Path) -> Step {
    step(device, EngineKind::Psync, OperationKind::Read)
}

/// One test at a time: a child that another test starts holds copies of this process's descriptors from its fork to its
/// exec, and a claim that was given back here would still be held there.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn a_device_that_is_written_is_held_alone() {
    let _alone = alone();
    let Some((_stage, device)) = device("exclusive claim") else { return };
    let facts = facts(&[&device]);
    for kind in [OperationKind::Write, OperationKind::Trim] {
        let steps = [step(&device, EngineKind::Psync, kind)];
        let held = Claims::take(&steps, &facts).expect("nobody else has it");
        let error = Claims::take(&steps, &facts).expect_err("it is held");
        assert_eq!(error.raw_os_error(), Some(Errno::BUSY.raw_os_error()));
        let said = error.to_string();
        let parts = ["cannot claim", text(&device), "busy", "close what uses it"];
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
        assert!(tool("mkfs.ext4", &["-q", text(&device)]).is_err(), "mkfs respects the claim");
        drop(held);
        Claims::take(&steps, &facts).expect("it was given back");
    }
}

#[test]
fn content_that_appears_after_the_look_is_not_written_over() {
    let _alone = alone();
    let Some((_stage, device)) = device("late content") else { return };
    let facts = probe(std::slice::from_ref(&device), Path::new("/nonexistent"), EngineRefusals::default());
    let steps = [writing(&device)];
    let held = Claims::take(&steps, &facts).expect("nobody else has it");
    held.unchanged(&facts).expect("nothing happened");
    drop(held);
    std::fs::OpenOptions::new().write(true).open(&device).unwrap().write_all_at(b"XFSB", 0).unwrap();
    let held = Claims::take(&steps, &facts).expect("nobody else has it");
    let error = held.unchanged(&facts).expect_err("someone made a filesystem on it");
    assert!(error.to_string().contains("its content is another one than was judged"), "{error}");
}

#[test]
fn readers_share_a_device() {
    let _alone = alone();
    let Some((_stage, device)) = device("shared claim") else { return };
    let facts = facts(&[&device]);
    let first = Claims::take(&[reading(&device)], &facts).unwrap();
    let writer = Claims::take(&[writing(&device)], &facts).expect("readers do not lock writers out");
    let late = Claims::take(&[reading(&device)], &facts).expect("nor a writer readers");
    assert!(first.remarks().is_empty(), "{:?}", first.remarks());
    assert!(late.remarks()[0].contains("is being written by another process"), "{:?}", late.remarks());
    drop((first, writer));
}

#[test]
fn a_device_that_a_later_step_writes_is_held_from_the_start() {
    let _alone = alone();
    let Some((mut stage, first)) = device("later step") else { return };
    let (second, _) = stage.device("other", 2 * MIB).expect("there was one before");
    let facts = facts(&[&first, &second]);
    // Read at index 0 in one step, written at index 1 in the next.
    let mut later = reading(&second);
    later.targets.push(writing(&first).targets[0].clone());
    let mut stream = writing(&first).streams[0].clone();
    stream.workers[0].extents[0].target = 1;
    later.streams.push(stream);
    let _held = Claims::take(&[reading(&first), later], &facts).unwrap();
    let error = Claims::take(&[writing(&first)], &facts).expect_err("it is held");
    assert_eq!(error.raw_os_error(), Some(Errno::BUSY.raw_os_error()));
    Claims::take(&[writing(&second)], &facts).expect("this one is only read");
}

/// Claims for writing and expects a refusal that says these things.
fn check_changed(path: &Path, facts: &Facts, parts: &[&str]) {
    let error = Claims::take(&[writing(path)], facts).expect_err("this is not what was judged");
    assert!(matches!(error, PrepareError::Changed { .. }), "{error:?}");
    let said = error.to_string();
    assert!(parts.iter().chain(&["start again"]).all(|part| said.contains(part)), "{said}");
}

#[test]
fn only_the_device_that_was_judged_is_claimed() {
    let _alone = alone();
    let Some((mut stage, device)) = device("device number") else { return };
    let (other, _) = stage.device("other", 2 * MIB).expect("there was one before");
    // The path leads to another device than when it was looked at.
    let link = stage.path("link");
    symlink(&device, &link).unwrap();
    let judged = facts(&[&link]);
    std::fs::remove_file(&link).unwrap();
    symlink(&other, &link).unwrap();
    check_changed(&link, &judged, &["was judged", "is there", text(&link)]);
    // Or to no device at all.
    std::fs::remove_file(&link).unwrap();
    std::fs::write(&link, b"a file").unwrap();
    check_changed(&link, &judged, &["was judged"]);
    assert_eq!(std::fs::read(&link).unwrap(), b"a file");
    // Or nobody has looked at it.
    check_changed(&device, &Facts::default(), &["no facts"]);
    Claims::take(&[writing(&device)], &facts(&[&device])).expect("failed claims hold nothing");
}

#[test]
fn steps_run_on_what_was_claimed() {
    let _alone = alone();
    let Some((stage, device)) = device("steps on a device") else { return };
    let link = stage.path("link");
    symlink(&device, &link).unwrap();
    let facts = facts(&[&link]);
    let mut engines = vec![EngineKind::Psync];
    match fathom_io::probe_libaio() {
        None => engines.push(EngineKind::Libaio(AioSettings::USUAL)),
        Some(why) => skip("steps on a device", &why),
    }
    match fathom_io::probe_io_uring() {
        None => engines.push(EngineKind::IoUring(RingSettings::USUAL)),
        Some(why) => skip("steps on a device", &why),
    }
    for engine in engines {
        tool("blkdiscard", &["--zeroout", text(&device)]).expect("a loop device can be zeroed");
        let step = step(&link, engine, OperationKind::Write);
        let claims = Arc::new(Claims::take(std::slice::from_ref(&step), &facts).unwrap());
        let ready = prepare(step, 0, &claims, &mut |_| {}, &AtomicBool::new(false)).unwrap();
        // Moved after the claim: what is written is what was claimed all the same.
        std::fs::remove_file(&link).unwrap();
        symlink("/dev/null", &link).unwrap();
        let outcome = support::try_ready(&ready).expect("the step can start");
        std::fs::remove_file(&link).unwrap();
        symlink(&device, &link).unwrap();
        let writes = outcome.kind(OperationKind::Write).unwrap();
        assert_eq!((writes.operations, writes.bytes, writes.errors.len()), (512, 2 * MIB, 0), "{engine:?}");
        let now = content(&device, 2 << 20);
        assert!(now.chunks(4096).all(|block| block.iter().any(|&byte| byte != 0)), "{engine:?}");
    }
}

/// Two ways lead to one content: the loop device, and the file behind it that another process writes.
#[test]
fn a_file_that_is_being_written_is_not_written_through_its_loop_device() {
    let _alone = alone();
    let mut stage = Stage::new();
    let (device, image) = match stage.device("image", 2 * MIB) {
        Ok(both) => both,
        Err(why) => return skip("a file behind a loop device", &why),
    };
    let facts = facts(&[&device]);
    let locked = std::fs::File::open(&image).unwrap();
    // Of another open of the file, as a lock of another process.
    rustix::fs::flock(&locked, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    let error =
        Claims::take(&[writing(&device)], &facts).expect_err("the file behind it is written").to_string();
    assert!(error.contains(text(&image)) && error.contains("being written"), "{error}");
    let reading = step(&device, EngineKind::Psync, OperationKind::Read);
    let claims = Claims::take(&[reading], &facts).expect("who reads harms nobody");
    assert!(matches!(claims.remarks(), [remark] if remark.contains(text(&image))), "{:?}", claims.remarks());
    drop((claims, locked));
    Claims::take(&[writing(&device)], &facts).expect("nobody writes to it any more");
}

#[test]
fn a_device_that_was_not_claimed_is_not_opened() {
    let _alone = alone();
    let Some((_stage, device)) = device("unclaimed device") else { return };
    let nothing = Arc::new(Claims::default());
    let ready = prepare(writing(&device), 0, &nothing, &mut |_| {}, &AtomicBool::new(false)).unwrap();
    let error = support::try_ready(&ready).expect_err("it was not claimed").to_string();
    assert!(error.contains("not claimed"), "{error}");
    assert!(content(&device, 2 << 20) == vec![0; 2 << 20]);
}
