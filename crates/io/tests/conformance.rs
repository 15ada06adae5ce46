//! One suite that every engine passes: what was asked for happens to the bytes, each operation completes exactly once, and
//! failures come back as what the kernel said. Engines and storage that a machine lacks are named as skipped.

#[path = "support/stage.rs"]
mod stage;

#[path = "support/rig.rs"]
mod rig;

use fathom_io::clock::monotonic;
use fathom_io::{Call, OpenTarget, Operation, TargetHandle, Wait};
use fathom_schema::{OperationKind, Registration, Submitter};
use proptest::prelude::*;
use rig::{
    AGES_NS, Rig, Subject, asynchronous, file, movers, movers_and_mappers, of, read, read_only, sync, trim,
    write,
};
use stage::{Stage, content, skip};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// Bytes that tell their place: no two aligned groups of eight are alike.
fn stamped(length: usize, salt: u64) -> Vec<u8> {
    (0..length as u64 / 8)
        .flat_map(|word| (word.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ salt).to_le_bytes())
        .collect()
}

fn as_u32(n: usize) -> u32 {
    u32::try_from(n).expect("a small number")
}

fn signed(n: usize) -> i32 {
    i32::try_from(n).expect("a small number")
}

/// Opens with `O_DIRECT`, or says why that is not possible.
fn direct(path: &Path) -> Result<OpenTarget, String> {
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_DIRECT).open(path);
    file.map(of).map_err(|error| format!("direct I/O on {}: {error}", path.display()))
}

#[test]
fn what_is_written_is_what_is_there_and_what_is_read() {
    // Small and large, aligned and not, at the start, in the middle, past the end, beyond 4 GiB.
    let cases: [(u64, usize); 6] =
        [(0, 4096), (512, 512), (12_345, 7777), (1 << 20, 1 << 18), (3, 1), ((5 << 30) + 1, 65_536)];
    for subject in movers_and_mappers("bytes") {
        let stage = Stage::new();
        let path = stage.sparse("f", if subject.maps() { 6 << 30 } else { 0 });
        let mut rig = Rig::open(subject, vec![file(&path, 0)], 4, 1 << 18);
        for (at, &(offset, length)) in cases.iter().enumerate() {
            let bytes = &stamped(1 << 18, at as u64)[..length];
            rig.load(1, bytes);
            let wrote = rig.one(write(1, offset, as_u32(length)));
            assert_eq!(usize::try_from(wrote), Ok(length), "{subject:?} write at {offset}");
            let mut there = vec![0; length];
            File::open(&path).unwrap().read_exact_at(&mut there, offset).unwrap();
            assert!(there == bytes, "{subject:?}: the file has other bytes at {offset}");
            let got = rig.one(read(2, offset, as_u32(length)));
            assert_eq!(usize::try_from(got), Ok(length), "{subject:?} read at {offset}");
            assert!(rig.bytes(2, length) == bytes, "{subject:?}: other bytes were read at {offset}");
        }
        rig.close();
    }
}

#[test]
fn each_operation_completes_once_whatever_the_depth() {
    const BLOCKS: u64 = 512;
    let all = stamped(512 * 512, 0);
    let depths: fn(Subject) -> &'static [u32] =
        |subject| if subject.is_synchronous() { &[1] } else { &[1, 3, 64, 100] };
    for subject in movers_and_mappers("depth") {
        for &depth in depths(subject) {
            let stage = Stage::new();
            let path = stage.file("f", &all);
            let mut rig = Rig::open(subject, vec![read_only(&path)], depth, 512);
            let mut free: Vec<u32> = (0..depth).collect();
            let mut block_of = vec![0; depth as usize];
            let (mut issued, mut seen) = (0, vec![0_u32; 512]);
            while issued < 4 * BLOCKS || free.len() < depth as usize {
                while issued < 4 * BLOCKS
                    && let Some(slot) = free.pop()
                {
                    let block = issued * 37 % BLOCKS;
                    block_of[slot as usize] = block;
                    rig.push(&read(slot, block * 512, 512));
                    issued += 1;
                }
                rig.submit();
                for completion in rig.reap(1, AGES_NS) {
                    let block = usize::try_from(block_of[completion.slot as usize]).unwrap();
                    assert_eq!(completion.result, 512, "{subject:?} at depth {depth}");
                    assert!(rig.bytes(completion.slot, 512) == all[block * 512..][..512], "block {block}");
                    seen[block] += 1;
                    free.push(completion.slot);
                }
            }
            assert!(seen.iter().all(|&count| count == 4), "{subject:?} at depth {depth}: {seen:?}");
            rig.close();
        }
    }
}

#[test]
fn the_end_of_a_file_cuts_reads_short() {
    let stage = Stage::new();
    let path = stage.filled("f", 10_000, 7);
    for subject in movers_and_mappers("end of file") {
        let mut rig = Rig::open(subject, vec![read_only(&path)], 4, 4096);
        let asked = [read(0, 0, 4096), read(1, 8192, 4096), read(2, 10_000, 4096), read(3, 1 << 40, 512)];
        assert_eq!(rig.run(&asked), [4096, 1808, 0, 0], "{subject:?}");
        assert_eq!(rig.bytes(1, 1808), [7; 1808]);
        rig.close();
    }
}

/// Runs `operation` between two reads that succeed, on a target of its own, and expects what it gives.
fn check_result(subject: Subject, target: OpenTarget, operation: Operation, expect: i32, what: &str) {
    let stage = Stage::new();
    let good = stage.filled("good", 4096, 9);
    let mut rig = Rig::open(subject, vec![read_only(&good), target], 3, 4096);
    let around = [read(0, 0, 4096), Operation { slot: 1, target: 1, ..operation }, read(2, 0, 4096)];
    assert_eq!(rig.run(&around), [4096, expect, 4096], "{what} with {subject:?}");
    assert_eq!(rig.bytes(2, 4096), [9; 4096]);
    rig.close();
}

#[test]
fn refusals_come_back_as_negative_error_numbers() {
    let stage = Stage::new();
    let path = stage.filled("f", 8192, 1);
    let full = || of(OpenOptions::new().write(true).open("/dev/full").unwrap());
    for subject in movers("refusals") {
        check_result(subject, read_only(&path), write(1, 0, 4096), -libc::EBADF, "write to read-only");
        check_result(subject, read_only(&path), trim(1, 0, 4096), -libc::EBADF, "trim of read-only");
        check_result(subject, rig::write_only(&path), read(1, 0, 4096), -libc::EBADF, "read of write-only");
        // Linux AIO and splice do not drive this character device at all.
        let drives_none = matches!(subject, Subject::Libaio(_) | Subject::Splice);
        let expect = if drives_none { -libc::EINVAL } else { -libc::ENOSPC };
        check_result(subject, full(), write(1, 0, 4096), expect, "write to a full device");
    }
    assert_eq!(content(&path, 8192), [1; 8192]);
}

#[test]
fn a_full_filesystem_refuses_writes() {
    let mut stage = Stage::new();
    let full = match stage.tmpfs("full", 64 << 10) {
        Ok(full) => full,
        Err(why) => return skip("full filesystem", &why),
    };
    std::fs::write(full.join("f"), vec![1; 64 << 10]).expect("it holds this much");
    for subject in movers("full filesystem") {
        let beyond = write(1, 64 << 10, 4096);
        check_result(subject, file(&full.join("f"), 0), beyond, -libc::ENOSPC, "full filesystem");
    }
}

#[test]
fn a_failing_device_gives_eio_for_what_fails_and_only_for_that() {
    for subject in movers("failing device") {
        let mut stage = Stage::new();
        let (device, image) = match stage.device("image", 1 << 20) {
            Ok(made) => made,
            Err(why) => return skip("failing device", &why),
        };
        // The second half of what the device stands on goes away: there it can no longer read.
        OpenOptions::new().write(true).open(image).and_then(|image| image.set_len(512 << 10)).unwrap();
        let mut rig = Rig::open(subject, vec![direct(&device).unwrap()], 4, 4096);
        let asked =
            [read(0, 0, 4096), read(1, 768 << 10, 4096), read(2, 4096, 4096), read(3, 1020 << 10, 4096)];
        assert_eq!(rig.run(&asked), [4096, -libc::EIO, 4096, -libc::EIO], "{subject:?}");
        rig.close();
    }
}

#[test]
fn syncs_succeed_among_writes() {
    for subject in movers_and_mappers("sync") {
        let stage = Stage::new();
        let path = stage.sparse("f", if subject.maps() { 8192 } else { 0 });
        let mut rig = Rig::open(subject, vec![file(&path, 0)], 4, 4096);
        rig.load(0, &[5; 4096]);
        rig.load(1, &[6; 4096]);
        let asked = [write(0, 0, 4096), write(1, 4096, 4096), sync(2, false), sync(3, true)];
        assert_eq!(rig.run(&asked), [4096, 4096, 0, 0], "{subject:?}");
        assert_eq!(content(&path, 8192), [[5; 4096], [6; 4096]].concat());
        rig.close();
    }
}

#[test]
fn trims_leave_zeros_and_the_size() {
    for subject in movers_and_mappers("trim") {
        let mut stage = Stage::new();
        let path = stage.filled("f", 32 << 10, 3);
        let mut targets = vec![("file", path)];
        match stage.device("image", 1 << 20) {
            Ok((device, _)) => targets.push(("loop device", device)),
            Err(why) => skip("trim of a device", &why),
        }
        for (name, path) in targets {
            OpenOptions::new().write(true).open(&path).unwrap().write_all(&vec![3; 32 << 10]).unwrap();
            let mut rig = Rig::open(subject, vec![file(&path, 0)], 3, 8192);
            let asked = [sync(0, false), trim(1, 8192, 8192), read(2, 0, 4096)];
            assert_eq!(rig.run(&asked), [0, 8192, 4096], "{subject:?} on a {name}");
            let now = content(&path, 32 << 10);
            assert_eq!(now[8192..16_384], [0; 8192], "{subject:?} on a {name}");
            assert!(
                now[..8192].iter().chain(&now[16_384..]).all(|&byte| byte == 3),
                "{subject:?} on a {name}"
            );
            rig.close();
        }
    }
}

#[test]
fn direct_io_moves_aligned_blocks_and_refuses_others() {
    for subject in movers("direct I/O") {
        let mut stage = Stage::new();
        let plain = stage.filled("f", 64 << 10, 0);
        let mut targets = vec![("file", direct(&plain), false)];
        match stage.device("image", 1 << 20) {
            Ok((device, _)) => targets.push(("loop device", direct(&device), true)),
            Err(why) => skip("direct I/O on a device", &why),
        }
        for (name, target, strict) in targets {
            let target = match target {
                Ok(target) => target,
                Err(why) => {
                    skip("direct I/O", &why);
                    continue;
                }
            };
            let mut rig = Rig::open(subject, vec![target], 4, 4096);
            rig.load(0, &stamped(4096, 1));
            rig.load(1, &stamped(4096, 2));
            assert_eq!(rig.run(&[write(0, 0, 4096), write(1, 8192, 4096)]), [4096; 2], "{subject:?} {name}");
            assert_eq!(rig.run(&[read(2, 8192, 4096), read(3, 0, 4096)]), [4096; 2], "{subject:?} {name}");
            assert!(rig.bytes(2, 4096) == stamped(4096, 2) && rig.bytes(3, 4096) == stamped(4096, 1));
            // Some filesystems serve what is misaligned by copying; a device never does.
            for operation in [read(0, 100, 512), read(0, 0, 100), write(0, 512, 300)] {
                let result = rig.one(operation);
                let served = !strict && result == i32::try_from(operation.length).unwrap();
                assert!(result == -libc::EINVAL || served, "{result} for {operation:?}, {subject:?} {name}");
            }
            rig.close();
        }
    }
}

#[test]
fn targets_are_told_apart() {
    let stage = Stage::new();
    let paths: Vec<_> = (1..=5_u8).map(|n| stage.filled(&n.to_string(), 4096, n)).collect();
    for subject in movers_and_mappers("several targets") {
        let mut rig = Rig::open(subject, paths.iter().map(|path| file(path, 0)).collect(), 5, 4096);
        let of_each: Vec<_> = (0..5).map(|n| Operation { target: (n + 2) % 5, ..read(n, 0, 4096) }).collect();
        assert_eq!(rig.run(&of_each), [4096; 5]);
        for slot in 0..5_u32 {
            let expect = u8::try_from((slot + 2) % 5 + 1).unwrap();
            assert_eq!(rig.bytes(slot, 4096), [expect; 4096], "{subject:?}");
        }
        rig.load(0, &[99; 4096]);
        let syncs: Vec<_> = (1..5).map(|n| Operation { target: n, ..sync(n, false) }).collect();
        assert_eq!(rig.run(&syncs), [0; 4]);
        assert_eq!(rig.one(Operation { target: 3, ..write(0, 0, 4096) }), 4096);
        let changed: Vec<_> = paths.iter().map(|path| content(path, 1)[0]).collect();
        assert_eq!(changed, [1, 2, 3, 99, 5], "{subject:?}");
        std::fs::write(&paths[3], [4; 4096]).unwrap();
        rig.close();
    }
}

#[test]
fn submissions_pile_up_and_reaps_take_what_they_have_room_for() {
    let stage = Stage::new();
    let path = stage.filled("f", 64 << 10, 1);
    for subject in asynchronous("batches") {
        let mut rig = Rig::open(subject, vec![file(&path, 0)], 16, 4096);
        assert_eq!(rig.submit(), 0, "nothing was pushed");
        assert_eq!(rig.reap(1, 1_000_000_000), [], "nothing is in flight, so there is nothing to wait for");
        for (first, count) in [(0, 5), (5, 3), (8, 8)] {
            (first..first + count).for_each(|slot| rig.push(&read(slot, u64::from(slot) * 4096, 4096)));
            assert_eq!(rig.submit(), count, "{subject:?}");
        }
        // More is asked for than there is room, or than is in flight: neither may wait for ever.
        let wait = Wait { min_complete: 16, timeout_ns: AGES_NS };
        assert_eq!(rig.reap_some(wait, 3).len(), 3, "{subject:?}");
        assert_eq!(rig.reap_some(Wait { min_complete: 2, ..wait }, 2).len(), 2, "{subject:?}");
        assert_eq!(rig.reap(16, AGES_NS).len(), 11, "{subject:?}");
        assert_eq!(rig.reap(0, 0), []);
        rig.close();
    }
}

#[test]
fn polling_finds_completions_without_waiting() {
    let stage = Stage::new();
    let path = stage.filled("f", 4096, 1);
    for subject in movers_and_mappers("polling") {
        let mut rig = Rig::open(subject, vec![file(&path, 0)], 1, 4096);
        rig.push(&read(0, 0, 4096));
        rig.submit();
        let deadline = monotonic().0 + AGES_NS;
        while rig.reap(0, 0).is_empty() {
            assert!(monotonic().0 < deadline, "{subject:?}: polling alone never finds the completion");
        }
        rig.close();
    }
}

/// Reaps one operation that cannot complete with a short timeout: nothing comes, and not too early or far too late.
fn check_timeout(rig: &mut Rig, subject: Subject) {
    const TIMEOUT_NS: u64 = 20_000_000;
    let start = monotonic();
    assert_eq!(rig.reap(1, TIMEOUT_NS), [], "{subject:?}");
    let waited = monotonic().since(start).0;
    assert!(waited >= TIMEOUT_NS * 9 / 10, "{subject:?} came back after {waited} ns");
    assert!(waited < AGES_NS, "{subject:?} came back after {waited} ns");
    let start = monotonic();
    assert_eq!(rig.reap(0, AGES_NS), [], "{subject:?}");
    assert!(monotonic().since(start).0 < AGES_NS / 2, "{subject:?} waits though asked for nothing");
}

#[test]
fn a_reap_returns_when_its_time_is_up() {
    for subject in asynchronous("timeout") {
        // Linux AIO performs what is not direct I/O inside the submission, so an empty pipe would hold that up.
        if matches!(subject, Subject::Libaio(_)) {
            continue;
        }
        let (reader, mut writer) = std::io::pipe().unwrap();
        let reader = File::from(OwnedFd::from(reader));
        let target = OpenTarget {
            handle: TargetHandle::File(reader),
            size: 4096,
            trim_by: fathom_schema::TrimBy::Discard,
        };
        let mut rig = Rig::open(subject, vec![target], 2, 4096);
        rig.push(&read(1, 0, 100));
        rig.submit();
        let touched = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| rig.load(1, &[0])));
        assert!(touched.is_err(), "{subject:?}: a buffer in flight can be filled");
        check_timeout(&mut rig, subject);
        writer.write_all(&[8; 60]).unwrap();
        assert_eq!(rig.reap(1, AGES_NS)[0].result, 60, "{subject:?}");
        assert_eq!(rig.bytes(1, 60), [8; 60]);
        rig.close();
    }
}

#[test]
fn a_device_that_stands_still_holds_up_reap_and_close_no_longer_than_it_must() {
    let mut stage = Stage::new();
    let set_up = stage.ext4("fs", 8 << 20).and_then(|mounted| {
        let image = mounted.join("image");
        std::fs::write(&image, vec![0; 1 << 20]).map_err(|error| error.to_string())?;
        stage.attach(&image).map(|device| (mounted, device))
    });
    let (mounted, device) = match set_up {
        Ok(made) => made,
        Err(why) => return skip("stalled device", &why),
    };
    for subject in asynchronous("stalled device") {
        let mut rig = Rig::open(subject, vec![direct(&device).unwrap()], 4, 4096);
        let frozen = match stage::freeze(&mounted) {
            Ok(frozen) => frozen,
            Err(why) => return skip("stalled device", &why),
        };
        (0..2).for_each(|slot| rig.push(&write(slot, u64::from(slot) * 4096, 4096)));
        rig.submit();
        check_timeout(&mut rig, subject);
        drop(frozen);
        let results: Vec<i32> =
            std::iter::repeat_with(|| rig.reap(1, AGES_NS)).take(2).flatten().map(|c| c.result).collect();
        assert_eq!(results, [4096; 2], "{subject:?}");
        // Thawed from another thread, so that close finds the operations in flight or just completed.
        let frozen = stage::freeze(&mounted).expect("it could be frozen before");
        (0..4).for_each(|slot| rig.push(&write(slot, u64::from(slot) * 4096, 4096)));
        rig.submit();
        std::thread::scope(|scope| {
            scope.spawn(|| drop(frozen));
            rig.close();
        });
        (0..4).for_each(|slot| rig.load(slot, &[0; 4096]));
    }
}

#[test]
fn close_gives_back_what_is_in_flight() {
    let stage = Stage::new();
    let path = stage.filled("f", 8 << 20, 1);
    for subject in asynchronous("close") {
        let target = direct(&path).unwrap_or_else(|_| file(&path, 0));
        let mut rig = Rig::open(subject, vec![target], 64, 128 << 10);
        for slot in 0..64 {
            rig.push(&if slot == 7 {
                sync(slot, false)
            } else {
                read(slot, u64::from(slot) << 17, 128 << 10)
            });
        }
        rig.submit();
        rig.close();
        (0..64).for_each(|slot| rig.load(slot, &[0; 512]));
    }
}

#[test]
fn close_does_not_wait_for_what_was_never_submitted() {
    let stage = Stage::new();
    let path = stage.filled("f", 4096, 1);
    for subject in movers_and_mappers("close before submit") {
        let mut rig = Rig::open(subject, vec![file(&path, 0)], 2, 4096);
        rig.push(&read(0, 0, 4096));
        let start = monotonic();
        rig.close();
        assert!(monotonic().since(start).0 < 1_000_000_000, "{subject:?}");
        (0..2).for_each(|slot| rig.load(slot, &[0; 4096]));
    }
}

#[test]
fn a_mapping_never_makes_a_file_longer_nor_opens_one_that_is_too_short() {
    use fathom_io::{Buffers, Engine, Mmap, MmapRules, Setup};
    let stage = Stage::new();
    let path = stage.filled("f", 6000, 1);
    let subject = Subject::Mmap { write_through: false };
    let mut rig = Rig::open(subject, vec![file(&path, 0)], 1, 4096);
    assert_eq!(rig.one(write(0, 4096, 4096)), -libc::ENOSPC);
    assert_eq!(rig.one(write(0, 4096, 1904)), 1904);
    rig.close();
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 6000);
    check_result(subject, read_only(&path), write(1, 0, 4096), -libc::EBADF, "write to read-only");
    let mut engine = Mmap::new(MmapRules { write_through: false, random_access: false });
    let targets = vec![OpenTarget { size: 6001, ..file(&path, 0) }];
    let buffers = std::rc::Rc::new(Buffers::new(1, 4096));
    let error = engine.open(Setup { targets, queue_depth: 1, buffers, seed: 0 }).unwrap_err().to_string();
    assert!(error.contains("shorter than what is addressed"), "{error}");
}

/// The kernel tells of pages without anything behind them by a signal, which would end the process.
#[test]
fn a_file_that_is_cut_short_under_a_mapping_is_an_error_of_the_operations_that_come_to_it() {
    let stage = Stage::new();
    for write_through in [false, true] {
        let subject = Subject::Mmap { write_through };
        let path = stage.filled(&format!("f{write_through}"), 65_536, 1);
        let handle = std::fs::OpenOptions::new().write(true).open(&path).expect("it is there");
        let mut rig = Rig::open(subject, vec![file(&path, 0)], 1, 16_384);
        assert_eq!(rig.one(read(0, 40_960, 4096)), 4096);
        handle.set_len(36_864).expect("a file can be cut short");
        for operation in [read(0, 40_960, 4096), write(0, 40_960, 4096), read(0, 32_768, 16_384)] {
            for _ in 0..2 {
                assert_eq!(rig.one(operation), -libc::EIO, "{subject:?} {operation:?}");
            }
        }
        // Others are as they were, and so is the place once it is there again.
        assert_eq!(rig.one(read(0, 20_480, 16_384)), 16_384);
        let held = std::fs::read(&path).expect("it is there");
        assert_eq!(rig.bytes(0, 16_384), held[20_480..36_864]);
        handle.set_len(65_536).expect("a file can be made longer");
        assert_eq!(rig.one(read(0, 40_960, 4096)), 4096);
        assert_eq!(rig.bytes(0, 4096), [0; 4096]);
        rig.load(0, &[9; 4096]);
        assert_eq!(rig.one(write(0, 40_960, 4096)), 4096);
        assert_eq!(std::fs::read(&path).expect("it is there")[40_960..45_056], [9; 4096]);
        rig.close();
    }
}

/// A file of two pages on a filesystem of its own, in no cache.
fn cold(mounted: &Path) -> OpenTarget {
    let path = mounted.join("f");
    std::fs::write(&path, [7; 8192]).expect("a file can be written");
    let target = file(&path, 0);
    let TargetHandle::File(file) = &target.handle else { unreachable!("it is a file") };
    file.sync_all().expect("it can be made stable");
    // SAFETY: advice about an open file; no memory is passed.
    let outcome = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    assert_eq!(outcome, 0, "the cache can be dropped");
    target
}

#[test]
fn what_would_wait_fails_when_nothing_may_wait() {
    let mut stage = Stage::new();
    let mounted = match stage.ext4("fs", 8 << 20) {
        Ok(mounted) => mounted,
        Err(why) => return skip("nowait", &why),
    };
    for (nowait, plain, _) in rig::flagged("nowait") {
        let mut rig = Rig::open(nowait, vec![cold(&mounted)], 1, 4096);
        assert_eq!(rig.one(read(0, 4096, 4096)), -libc::EAGAIN, "{nowait:?} of what is not in the cache");
        let mut other = Rig::open(plain, vec![read_only(&mounted.join("f"))], 1, 4096);
        assert_eq!(other.one(read(0, 4096, 4096)), 4096);
        assert_eq!(rig.one(read(0, 4096, 4096)), 4096, "{nowait:?} of what is");
        rig.close();
        other.close();
    }
}

#[test]
fn uncached_operations_leave_nothing_in_the_cache() {
    let mut stage = Stage::new();
    let mounted = match stage.ext4("fs", 8 << 20) {
        Ok(mounted) => mounted,
        Err(why) => return skip("uncached", &why),
    };
    for (nowait, _, uncached) in rig::flagged("uncached") {
        let Some(uncached) = uncached else { continue };
        let mut rig = Rig::open(uncached, vec![cold(&mounted)], 1, 4096);
        match rig.one(read(0, 0, 4096)) {
            4096 => {}
            errno => {
                assert_eq!(errno, -libc::EOPNOTSUPP);
                return skip("uncached", "this kernel or its ext4 does not have it");
            }
        }
        assert_eq!(rig.bytes(0, 4096), [7; 4096]);
        let mut look = Rig::open(nowait, vec![read_only(&mounted.join("f"))], 1, 4096);
        assert_eq!(look.one(read(0, 0, 4096)), -libc::EAGAIN, "{uncached:?} leaves it in the cache");
        rig.close();
        look.close();
    }
}

/// Engines that change a file's size have writes alone; what each leaves behind is what its call says.
#[test]
fn sizes_change_and_no_bytes_move() {
    let stage = Stage::new();
    for (call, expect) in [(Call::Allocate, 16_384), (Call::Truncate, 12_288)] {
        let path = stage.file("f", &[9; 4096]);
        let mut rig = Rig::open(Subject::Calls(call), vec![file(&path, 0)], 1, 1);
        assert_eq!(rig.one(write(0, 4096, 4096)), 4096);
        assert_eq!(rig.one(write(0, 12_288, 4096)), 4096);
        assert_eq!(rig.one(sync(0, false)), 0);
        assert_eq!(rig.one(read(0, 0, 4096)), -libc::EINVAL, "{call:?} has no reads");
        rig.close();
        let now = std::fs::read(&path).expect("it can be read");
        assert_eq!(now.len(), expect, "{call:?}");
        assert!(now[..4096] == [9; 4096] && now[4096..].iter().all(|&byte| byte == 0), "{call:?}");
    }
}

/// Operations with a priority are the same operations: the kernel takes the mark, and both kinds complete.
#[test]
fn operations_may_carry_a_priority() {
    let stage = Stage::new();
    let path = stage.filled("f", 64 << 10, 4);
    for subject in rig::with_priority("priority") {
        let target = direct(&path).unwrap_or_else(|_| file(&path, 0));
        let mut rig = Rig::open(subject, vec![target], 16, 4096);
        (0..16).filter(|slot| slot % 2 == 1).for_each(|slot| rig.load(slot, &[5; 4096]));
        let asked: Vec<_> = (0..16)
            .map(|slot| (if slot % 2 == 0 { read } else { write })(slot, u64::from(slot) * 4096, 4096))
            .collect();
        assert_eq!(rig.run(&asked), [4096; 16], "{subject:?}");
        rig.close();
        std::fs::write(&path, vec![4; 64 << 10]).expect("it can be written");
    }
}

/// A kernel, filesystem or device without untorn writes says so, and never writes without; reads are as ever.
#[test]
fn untorn_writes_are_written_or_refused() {
    let stage = Stage::new();
    for subject in rig::untorn("untorn") {
        let path = stage.filled("f", 64 << 10, 4);
        let target = direct(&path).unwrap_or_else(|_| file(&path, 0));
        let mut rig = Rig::open(subject, vec![target], 1, 4096);
        rig.load(0, &[5; 4096]);
        let written = rig.one(write(0, 8192, 4096));
        let expect = if written == 4096 { 5 } else { 4 };
        let refusals = [-libc::EOPNOTSUPP, -libc::EINVAL];
        assert!(written == 4096 || refusals.contains(&written), "{subject:?}: {written}");
        assert_eq!(rig.one(read(0, 8192, 4096)), 4096, "{subject:?}: a read is never untorn");
        assert_eq!(rig.bytes(0, 4096), [expect; 4096], "{subject:?}");
        rig.close();
    }
}

/// What polls needs a device that can be polled; where it is refused, each operation says so.
#[test]
fn a_polling_ring_moves_bytes_or_says_that_it_cannot() {
    let mut stage = Stage::new();
    let device = match stage.device("image", 1 << 20) {
        Ok((device, _)) => device,
        Err(why) => return skip("polling ring", &why),
    };
    let Some(subject) = rig::polling("polling ring") else { return };
    let mut rig = Rig::open(subject, vec![direct(&device).unwrap()], 4, 4096);
    rig.load(0, &stamped(4096, 1));
    let asked = [write(0, 4096, 4096), sync(1, false), trim(2, 512 << 10, 4096), read(3, 0, 4096)];
    let results = rig.run(&asked);
    assert_eq!(results[1..3], [0, 4096], "what is no transfer is not polled for");
    match (results[0], results[3]) {
        (4096, 4096) => {
            assert_eq!(rig.one(read(3, 4096, 4096)), 4096);
            assert!(rig.bytes(3, 4096) == stamped(4096, 1));
        }
        refused => {
            assert_eq!(refused, (-libc::EOPNOTSUPP, -libc::EOPNOTSUPP));
            skip("polling ring", "loop devices have no queues that can be polled here");
        }
    }
    rig.close();
}

#[test]
fn io_uring_says_which_features_are_in_use() {
    let stage = Stage::new();
    let path = stage.filled("f", 4096, 1);
    for subject in asynchronous("features") {
        let Subject::IoUring(settings) = subject else { continue };
        let asked = |registration| registration != Registration::Never;
        let (fixed_buffers, registered_files) =
            (asked(settings.fixed_buffers), asked(settings.registered_files));
        let rig = Rig::open(subject, vec![file(&path, 0)], 2, 4096);
        let features = rig.capabilities().features.join(", ");
        assert!(fixed_buffers || !features.contains("buffers"), "{features}");
        assert_eq!(features.contains("files"), registered_files, "{features}");
        assert_eq!(features.contains("kernel thread"), settings.submitter != Submitter::Worker, "{features}");
        if fixed_buffers && !features.contains("buffers") {
            skip("registered buffers", "the locked-memory limit does not allow them");
        }
    }
}

#[test]
fn engines_without_storage_keep_the_same_promises() {
    let null =
        OpenTarget { handle: TargetHandle::Null, size: 1 << 40, trim_by: fathom_schema::TrimBy::Discard };
    let mut rig = Rig::open(Subject::Null, vec![null], 1, 512);
    for (operation, expect) in
        [(read(0, 1 << 39, 512), 512), (write(0, 0, 8), 8), (trim(0, 0, 64), 64), (sync(0, false), 0)]
    {
        assert_eq!(rig.one(operation), expect);
    }
    // Four servers of 1 µs: eight operations complete in two waves of virtual time.
    let mut rig = Rig::open(Subject::Sim, vec![rig::simulated(4, 1000)], 8, 512);
    (0..8).for_each(|slot| rig.push(&read(slot, 0, 512)));
    assert_eq!(rig.submit(), 8);
    assert_eq!(rig.reap(0, 0), [], "no time has passed");
    assert_eq!(rig.reap(1, 999), [], "the deadline comes before the first completion");
    let first = rig.reap(1, AGES_NS);
    assert_eq!(first.iter().map(|c| c.slot).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(rig.reap(4, AGES_NS).len(), 4);
    assert_eq!(rig.run(&[write(0, 0, 512), sync(1, false), trim(2, 0, 512)]), [512, 0, 512]);
}

/// One step of a random history: what, where, how long.
type Act = (OperationKind, u64, u32);

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let kind = prop_oneof![
        4 => Just(OperationKind::Write),
        3 => Just(OperationKind::Read),
        1 => Just(OperationKind::Trim),
        1 => Just(OperationKind::Sync)
    ];
    proptest::collection::vec((kind, 0..60_000_u64, 1..8192_u32), 1..40)
}

/// Performs a history on a file and in memory; both must tell the same at every step.
fn check_history(subject: Subject, history: &[Act]) -> Result<(), TestCaseError> {
    let stage = Stage::new();
    // The longest that an act can make it.
    let mut model = vec![0; if subject.maps() { 68_192 } else { 0 }];
    let path = stage.file("f", &model);
    let mut rig = Rig::open(subject, vec![file(&path, 0)], 8, 8192);
    for (at, &(kind, offset, length)) in history.iter().enumerate() {
        let slot = as_u32(at % 8);
        let begin = usize::try_from(offset).expect("an address of memory");
        let end = begin + length as usize;
        let operation =
            Operation { slot, kind, target: 0, offset, length, data_only: at % 2 == 0, range_flags: 0 };
        match kind {
            OperationKind::Write => {
                let bytes = stamped(8192, at as u64);
                rig.load(slot, &bytes[..length as usize]);
                prop_assert_eq!(rig.one(operation), signed(length as usize));
                model.resize(model.len().max(end), 0);
                model[begin..end].copy_from_slice(&bytes[..length as usize]);
            }
            OperationKind::Read => {
                let expect = &model[begin.min(model.len())..end.min(model.len())];
                prop_assert_eq!(rig.one(operation), signed(expect.len()));
                prop_assert!(rig.bytes(slot, expect.len()) == expect, "read at {}", offset);
            }
            OperationKind::Trim => {
                prop_assert_eq!(rig.one(operation), signed(length as usize));
                let (begin, end) = (begin.min(model.len()), end.min(model.len()));
                model[begin..end].fill(0);
            }
            OperationKind::Sync => {
                prop_assert_eq!(rig.one(Operation { offset: 0, length: 0, ..operation }), 0);
            }
        }
    }
    rig.close();
    prop_assert!(std::fs::read(&path)? == model, "the file is not what the history makes");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_leaves_the_same_file_as_in_memory(history in acts()) {
        for subject in movers_and_mappers("histories") {
            check_history(subject, &history)?;
        }
    }
}
