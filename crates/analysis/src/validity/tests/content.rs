//! Findings about what is at a target: blocks without data, files in memory.

use super::*;
use fathom_schema::{FileFact, Filesystem, ZeroBlocks};

/// The findings of a run that reads, with what a look at blocks has found.
fn with_zeroes(blocks: u64, sampled: u64, zero: u64) -> Record {
    let mut record = record(&[base()]);
    record.steps[0].finished.as_mut().unwrap().zero_blocks =
        vec![ZeroBlocks { path: "/dev/nvme0n1".into(), block_bytes: 4096, blocks, sampled, zero }];
    record
}

#[test]
fn blocks_that_are_all_zero() {
    let told = [("target.zero-blocks", Severity::Warn)];
    check(&with_zeroes(1 << 24, 1000, 1000), &told);
    check(&with_zeroes(1 << 24, 1000, 32), &told);
    check(&with_zeroes(1 << 24, 1000, 0), &[]);
    // Not known to be more than one in fifty.
    check(&with_zeroes(1 << 24, 1000, 25), &[]);
    // As few as a rotating disk reads in that time.
    check(&with_zeroes(1 << 24, 40, 40), &told);
    check(&with_zeroes(1 << 24, 40, 1), &[]);
    // All of them were looked at, and there is nothing to be uncertain of.
    check(&with_zeroes(200, 200, 5), &told);
    check(&with_zeroes(200, 200, 4), &[]);
    let evidence = |record: &Record| findings(record)[0].evidence.clone();
    assert_eq!(
        evidence(&with_zeroes(1 << 24, 1000, 870)),
        "87 % (84.8 to 88.9 %, with 95 %) of 1000 blocks of 4 KiB at random places of what was read of /dev/nvme0n1 are all zero"
    );
    assert_eq!(
        evidence(&with_zeroes(2048, 2048, 1024)),
        "50 % of the 2048 blocks of 4 KiB of what was read of /dev/nvme0n1 are all zero"
    );
}

fn on_filesystem(record: &mut Record, kind: &str, written: Bytes) {
    on_file(record, Bytes::gib(64));
    let fact = &mut record.started.facts.targets[0];
    fact.file = Some(FileFact {
        size: Bytes::gib(64),
        written,
        made_by_fathom: false,
        unfinished: false,
        void_mark: None,
        writable: true,
        readable: true,
        in_use: Vec::new(),
    });
    fact.filesystem = Some(Filesystem {
        kind: kind.to_owned(),
        mount_point: "/mnt/scratch".into(),
        options: String::new(),
        size: Bytes::gib(100),
        available: Bytes::gib(50),
        direct_align_bytes: Some(512),
        can_create: true,
    });
}

#[test]
fn holes_are_told_once() {
    let mut record = with_zeroes(1 << 24, 1000, 990);
    on_filesystem(&mut record, "ext4", Bytes::gib(1));
    record.steps[0].finished.as_mut().unwrap().zero_blocks[0].path = "/mnt/scratch/file".into();
    check(&record, &[("target.unwritten", Severity::Invalid)]);
    // A filesystem that does not tell holes from data.
    on_filesystem(&mut record, "ext4", Bytes::gib(64));
    check(&record, &[("target.zero-blocks", Severity::Warn)]);
}

#[test]
fn files_in_memory() {
    for (kind, expect) in [
        ("tmpfs", &[("target.in-memory", Severity::Invalid)][..]),
        ("ramfs", &[("target.in-memory", Severity::Invalid)]),
        ("ext4", &[]),
        ("xfs", &[]),
    ] {
        let mut record = record(&[base()]);
        on_filesystem(&mut record, kind, Bytes::gib(64));
        check(&record, expect);
        // Nothing is measured there by an engine that touches nothing.
        record.steps[0].started.step.streams[0].engine.kind = EngineKind::Null;
        record.steps[0].started.step.targets[0].kind = TargetKind::Null;
        assert!(!findings(&record).iter().any(|finding| finding.id == "target.in-memory"));
    }
    let mut record = record(&[base()]);
    on_filesystem(&mut record, "tmpfs", Bytes::gib(64));
    let told = findings(&record).remove(0);
    assert_eq!(told.evidence, "/mnt/scratch/file is on tmpfs at /mnt/scratch, which keeps files in memory");
    assert!(told.remedy.contains("memory is measured"), "{}", told.remedy);
}
