//! Tests of the safety rules: what each fact and each consent leads to, as tables, and two promises as properties.

use super::*;
use fathom_schema::{Filesystem, Signature};
use proptest::prelude::*;
use proptest::sample::subsequence;

fn disk(path: &str, minor: u32, content: ContentFact) -> TargetFact {
    let name = path.rsplit('/').next().unwrap().to_owned();
    TargetFact {
        path: path.into(),
        resolved: path.into(),
        kind: FileKind::BlockDevice,
        error: None,
        errno: None,
        filesystem: None,
        folder_made_by_fathom: false,
        file: None,
        device: Some(BlockDevice {
            disk: name.trim_end_matches(char::is_numeric).to_owned(),
            name,
            number: DeviceNumber { major: 8, minor },
            size: Bytes::gib(1),
            serial: "S3R1AL42".to_owned(),
            content,
            ..BlockDevice::default()
        }),
    }
}

fn file(path: &str, kind: FileKind, size: Bytes) -> TargetFact {
    let fact = FileFact {
        size,
        written: size,
        made_by_fathom: false,
        unfinished: false,
        void_mark: None,
        writable: true,
        readable: true,
        in_use: Vec::new(),
    };
    TargetFact {
        path: path.into(),
        resolved: path.into(),
        kind,
        error: None,
        errno: None,
        filesystem: Some(Filesystem {
            kind: "ext4".to_owned(),
            mount_point: "/mnt".into(),
            options: "rw".to_owned(),
            size: Bytes::gib(10),
            available: Bytes::gib(1),
            direct_align_bytes: Some(512),
            can_create: true,
        }),
        folder_made_by_fathom: false,
        file: (kind == FileKind::File).then_some(fact),
        // The device under the filesystem is of course in use; that must not matter to a file.
        device: disk("/dev/sdz", 99, signed("ext4")).device.map(|d| BlockDevice { in_use: every_use(), ..d }),
    }
}

fn signed(kind: &str) -> ContentFact {
    ContentFact::Signed(vec![Signature { kind: kind.to_owned(), offset: 512, label: "data".to_owned() }])
}

fn every_use() -> Vec<InUse> {
    let device = || "sda1".to_owned();
    vec![
        InUse::Mounted { device: device(), mount_point: "/mnt".into() },
        InUse::Swap { device: device() },
        InUse::Holder { device: device(), holder: "dm-0".to_owned() },
        InUse::LoopBacking { device: "loop0".to_owned() },
        InUse::System { mount_point: "/".into() },
        InUse::Store { folder: "/var/lib/fathom".into() },
        InUse::Exclusive,
        InUse::Opened { device: "sda".to_owned(), program: "qemu".to_owned(), process: 7 },
    ]
}

fn with_device(mut fact: TargetFact, change: impl FnOnce(&mut BlockDevice)) -> TargetFact {
    change(fact.device.as_mut().unwrap());
    fact
}

fn with_file(mut fact: TargetFact, change: impl FnOnce(&mut FileFact)) -> TargetFact {
    change(fact.file.as_mut().unwrap());
    fact
}

fn intent(path: &Path, what: &str) -> Intent {
    Intent {
        path: path.to_owned(),
        reads: what.contains('r'),
        writes: what.contains('w'),
        trims: what.contains('t'),
        deletes: what.contains('d'),
        is_folder: what.contains('D'),
        creates: what.contains('c'),
        makes_folder: what.contains('f'),
        lays_out: if what.contains('L') {
            Bytes::gib(1)
        } else if what.contains('l') {
            Bytes::mib(64)
        } else {
            Bytes::ZERO
        },
        grows: if what.contains('G') { Bytes::gib(1) } else { Bytes::ZERO },
        removes: what.contains('x'),
    }
}

/// Of a job that has no commands.
fn judge(intents: &[Intent], facts: &Facts, consent: &Consent) -> Verdict {
    super::judge(intents, &[], facts, consent)
}

#[test]
fn commands_are_run_for_those_who_allow_them() {
    let command = Command {
        stream: "a".to_owned(),
        line: "rm -r /".to_owned(),
        outputs: Vec::new(),
        what: Outside::Command,
    };
    let judged =
        |consent: &Consent| super::judge(&[], std::slice::from_ref(&command), &Facts::default(), consent);
    let all = Consent { yes: true, overwrite: true, dialect_writes_named_files: true, ..Consent::default() };
    let verdict = judged(&all);
    let refusal = &verdict.refusals[0];
    assert!(refusal.code == "unsafe.exec" && refusal.protects());
    assert!(
        refusal.to_string().contains("\"rm -r /\"; read it, then allow it with --allow-exec"),
        "{refusal}"
    );
    assert!(judged(&Consent { allow_exec: true, ..Consent::default() }).allows());
}

#[test]
fn peers_on_other_hosts_are_refused_unless_they_are_allowed() {
    for (is_here, peers, allowed) in [
        (true, PeersAllowed::Nobody, false),
        (true, PeersAllowed::Here, true),
        (false, PeersAllowed::Here, false),
        (false, PeersAllowed::Anyone, true),
    ] {
        let peer = Command {
            stream: "a".to_owned(),
            line: "tcp://db1:1".to_owned(),
            outputs: Vec::new(),
            what: Outside::Peer { is_here, listens: false },
        };
        let consent = Consent { peers, ..Consent::default() };
        let verdict = super::judge(&[], &[peer], &Facts::default(), &consent);
        assert_eq!(verdict.allows(), allowed, "{is_here} {peers:?}");
        assert!(verdict.refusals.iter().all(|refusal| refusal.code == "unsafe.net"));
    }
}

/// `y` yes, `o` overwrite, `p` a peer's dialect; the rest after a blank is `--destroy`.
fn consent(text: &str) -> Consent {
    let (flags, destroy) = text.split_once(' ').unwrap_or((text, ""));
    Consent {
        yes: flags.contains('y'),
        overwrite: flags.contains('o'),
        destroy: destroy.split_whitespace().map(str::to_owned).collect(),
        confirmed: Vec::new(),
        dialect_writes_named_files: flags.contains('p'),
        allow_exec: false,
        peers: PeersAllowed::Nobody,
    }
}

/// Runs one case: what is meant for each fact, and the codes that come out; `?` marks a question, `~` a note.
fn check(facts: Vec<TargetFact>, what: &str, agreed: &str, expect: &str) {
    let wanted: Vec<Intent> =
        facts.iter().zip(what.split_whitespace()).map(|(fact, what)| intent(&fact.path, what)).collect();
    let facts = Facts { targets: facts, ..Facts::default() };
    let verdict = judge(&wanted, &facts, &consent(agreed));
    let mut found: Vec<String> = verdict.refusals.iter().map(|refusal| refusal.code.to_owned()).collect();
    found.extend(verdict.questions.iter().map(|question| format!("?{}", question.code)));
    found.extend(verdict.notes.iter().map(|_| "~".to_owned()));
    assert_eq!(found.join(" "), expect, "{what} with {agreed:?}: {verdict:#?}");
    for refusal in &verdict.refusals {
        assert!(!refusal.reason.is_empty() && !refusal.remedy.is_empty(), "{refusal:?}");
    }
    assert_eq!(verdict.allows(), expect.replace('~', "").trim().is_empty());
}

#[test]
fn devices_are_judged_by_content_and_consent() {
    let blank = || ContentFact::Blank;
    let data = || ContentFact::Unrecognised;
    let broken = || ContentFact::Unreadable("input/output error".to_owned());
    let gpt = || signed("gpt");
    let cases: &[(&dyn Fn() -> ContentFact, &str, &str, &str)] = &[
        (&blank, "w", "", ""),
        (&blank, "rwt", "", ""),
        (&data, "r", "", ""),
        (&data, "w", "", "?unsafe.content"),
        (&data, "t", "", "?unsafe.content"),
        (&data, "l", "", "?unsafe.content"),
        (&data, "w", "y", "~"),
        (&data, "w", "o", "?unsafe.content"),
        (&data, "w", "p", "~"),
        (&data, "w", " /dev/sda", "~"),
        (&gpt, "r", "", ""),
        (&gpt, "w", "", "?unsafe.signature"),
        (&gpt, "t", "yop", "?unsafe.signature"),
        (&gpt, "w", " /dev/sda", "~"),
        (&gpt, "w", " S3R1AL42", "~"),
        (&gpt, "w", " s3r1al42", "?unsafe.signature ~"),
        (&gpt, "w", " AL42", "?unsafe.signature ~"),
        (&gpt, "w", " /dev/sdb", "?unsafe.signature ~"),
        (&gpt, "w", " /dev/sda1", "?unsafe.signature ~"),
        (&gpt, "w", " sda", "?unsafe.signature ~"),
        (&broken, "r", "", ""),
        (&broken, "w", "yop /dev/sda", "unsafe.unreadable"),
        (&ContentFact::default, "r", "", ""),
        (&ContentFact::default, "w", "yop /dev/sda", "unsafe.unknown"),
    ];
    for (content, what, agreed, expect) in cases {
        check(vec![disk("/dev/sda", 0, content())], what, agreed, expect);
    }
}

#[test]
fn what_is_in_use_is_refused_whatever_is_agreed() {
    for way in every_use() {
        for agreed in ["", "yop /dev/sda S3R1AL42"] {
            let used =
                || with_device(disk("/dev/sda", 0, ContentFact::Blank), |d| d.in_use = vec![way.clone()]);
            for (what, expect) in [
                ("r", ""),
                ("w", "unsafe.in-use"),
                ("t", "unsafe.in-use"),
                ("l", "unsafe.in-use"),
                ("x", "unsafe.in-use"),
            ] {
                check(vec![used()], what, agreed, expect);
            }
        }
    }
}

#[test]
fn files_are_judged_by_their_maker() {
    let foreign = || file("/mnt/a", FileKind::File, Bytes::mib(1));
    let own = || with_file(foreign(), |f| f.made_by_fathom = true);
    let empty = || file("/mnt/a", FileKind::File, Bytes::ZERO);
    let swap = || with_file(own(), |f| f.in_use = vec![InUse::Swap { device: "/mnt/a".to_owned() }]);
    let sealed = || with_file(own(), |f| f.writable = false);
    let secret = || with_file(own(), |f| f.readable = false);
    let cases: &[(&dyn Fn() -> TargetFact, &str, &str, &str)] = &[
        (&own, "d", "", ""),
        (&foreign, "d", "", "unsafe.foreign-file"),
        (&foreign, "d", "yp", "unsafe.foreign-file"),
        (&foreign, "d", "o", "~"),
        (&empty, "d", "yp", "unsafe.foreign-file"),
        (&foreign, "r", "", ""),
        (&foreign, "w", "", "unsafe.foreign-file"),
        (&foreign, "rl", "", "unsafe.foreign-file"),
        (&foreign, "t", "y", "unsafe.foreign-file"),
        (&foreign, "t", "p", "unsafe.foreign-file"),
        (&foreign, "wt", "p", "unsafe.foreign-file"),
        // At the end only what fathom made is removed.
        (&foreign, "rx", "", ""),
        (&foreign, "wx", "", "unsafe.foreign-file"),
        (&foreign, "x", "y /mnt/a", "~"),
        (&foreign, "w", "o", "~"),
        (&foreign, "w", "p", "~"),
        (&own, "rwtlx", "", ""),
        (&empty, "w", "", ""),
        (&swap, "r", "", ""),
        (&swap, "w", "yop", "unsafe.in-use"),
        (&sealed, "r", "", ""),
        (&sealed, "w", "", "target.permission"),
        (&secret, "r", "", "target.permission"),
        (&secret, "w", "", ""),
    ];
    for (fact, what, agreed, expect) in cases {
        check(vec![fact()], what, agreed, expect);
    }
}

#[test]
fn other_kinds_and_faults_are_refused() {
    let of_kind = |kind| file("/mnt/a", kind, Bytes::ZERO);
    let mut sealed = of_kind(FileKind::Absent);
    sealed.filesystem.as_mut().unwrap().can_create = false;
    let read_only = |kind| {
        let mut fact = file("/mnt/a", kind, Bytes::kib(4));
        fact.filesystem.as_mut().unwrap().options = "ro,relatime,rw,errors=remount-ro".to_owned();
        fact
    };
    let mut mistyped = file("/dev/nvme9n1", FileKind::Absent, Bytes::ZERO);
    mistyped.filesystem.as_mut().unwrap().kind = "devtmpfs".to_owned();
    let mut denied = disk("/dev/sda", 0, ContentFact::Blank);
    denied.error = Some("permission denied".to_owned());
    let mut bare = disk("/dev/sda", 0, ContentFact::Blank);
    bare.device = None;
    let locked = with_device(disk("/dev/sda", 0, ContentFact::Blank), |d| d.read_only = true);
    for (fact, what, expect) in [
        (of_kind(FileKind::Folder), "w", "unsafe.kind"),
        (of_kind(FileKind::Folder), "D", ""),
        (of_kind(FileKind::Folder), "Dd", "~"),
        (of_kind(FileKind::Other), "w", "unsafe.kind"),
        (of_kind(FileKind::Other), "r", "unsafe.kind"),
        (of_kind(FileKind::MemoryDevice), "rw", ""),
        (of_kind(FileKind::NoFolder), "wc", "target.no-folder"),
        (of_kind(FileKind::NoFolder), "wcf", ""),
        (of_kind(FileKind::Absent), "wcl", ""),
        (of_kind(FileKind::Absent), "r", "target.absent"),
        (sealed, "wc", "target.permission"),
        (read_only(FileKind::Absent), "wc", "target.read-only"),
        (read_only(FileKind::File), "w", "target.read-only ~"),
        (read_only(FileKind::File), "r", ""),
        (mistyped, "wcl", "target.absent"),
        (with_device(denied.clone(), |d| d.in_use = every_use()), "w", "unsafe.in-use target.unusable"),
        (denied, "r", "target.unusable"),
        (bare, "w", "unsafe.unprobed"),
        (locked, "w", "target.read-only"),
    ] {
        check(vec![fact], what, "yop", expect);
    }
    let verdict = judge(&[intent(Path::new("/dev/sda"), "r")], &Facts::default(), &Consent::default());
    assert_eq!(verdict.refusals[0].code, "unsafe.unprobed");
}

#[test]
fn several_targets_are_judged_together() {
    let a = || disk("/dev/sda", 0, signed("xfs"));
    let link = || TargetFact { path: "/dev/disk/by-id/ata-1".into(), ..a() };
    let part = || disk("/dev/sda1", 1, signed("ext4"));
    let twin = || disk("/dev/sdb", 16, signed("ext4"));
    let one = || file("/mnt/a", FileKind::Absent, Bytes::ZERO);
    let two = || file("/mnt/b", FileKind::Absent, Bytes::ZERO);
    let link_to_one = || TargetFact { path: "/mnt/link".into(), ..one() };
    for (facts, what, agreed, expect) in [
        (vec![a(), link()], "r w", "", "?unsafe.signature"),
        (vec![a(), link()], "w w", " /dev/disk/by-id/ata-1", "~"),
        // The link is only known to the probe, not a target of this run.
        (vec![a(), link()], "w", " /dev/disk/by-id/ata-1", "~"),
        (vec![a(), part()], "r r", "", ""),
        (vec![a(), part()], "r w", " /dev/sda1", "unsafe.overlap ~"),
        (vec![a(), part()], "w r", " /dev/sda", "unsafe.overlap ~"),
        // Two disks with one serial: the serial names neither.
        (vec![a(), twin()], "w w", " S3R1AL42", "?unsafe.signature ?unsafe.signature ~"),
        (vec![a(), twin()], "w w", " /dev/sda", "?unsafe.signature ~"),
        (vec![part()], "w", " S3R1AL42", "~"),
        (vec![one()], "wcL", "", "target.no-space"),
        (vec![one(), two()], "wcl wcl", "", ""),
        (vec![one(), link_to_one()], "wcl wcl", "", ""),
        (vec![one(), two()], "wcl wcL", "", "target.no-space"),
    ] {
        check(facts, what, agreed, expect);
    }
}

#[test]
fn reserve_is_small_on_small_filesystems() {
    for (size, expect) in [
        (Bytes::mib(100), Bytes::mib(5)),
        (Bytes::gib(2), Bytes::mib(64)),
        (Bytes::gib(100), Bytes::gib(1)),
        (Bytes::ZERO, Bytes::ZERO),
    ] {
        assert_eq!(reserve(size), expect, "{size}");
    }
}

#[test]
fn settings_of_the_kernel_are_no_files_to_write() {
    let mut fact = file("/sys/block/sda/queue/scheduler", FileKind::File, Bytes::ZERO);
    fact.filesystem.as_mut().unwrap().kind = "sysfs".to_owned();
    let wanted = [intent(&fact.path, "w")];
    let facts = Facts { targets: vec![fact], ..Facts::default() };
    let all = Consent {
        yes: true,
        overwrite: true,
        destroy: Vec::new(),
        confirmed: Vec::new(),
        dialect_writes_named_files: true,
        allow_exec: false,
        peers: PeersAllowed::Nobody,
    };
    assert_eq!(judge(&wanted, &facts, &all).refusals[0].code, "unsafe.kind");
}

#[test]
fn a_device_that_only_seems_blank_is_asked_about() {
    let fact = disk("/dev/sdc", 32, ContentFact::SeemsBlank);
    let wanted = [intent(&fact.path, "w")];
    let facts = Facts { targets: vec![fact], ..Facts::default() };
    let verdict = judge(&wanted, &facts, &Consent::default());
    assert!(verdict.questions[0].reason.contains("too large to be read as a whole"), "{verdict:?}");
    assert!(judge(&wanted, &facts, &Consent { yes: true, ..Consent::default() }).allows());
}

#[test]
fn what_was_confirmed_is_not_asked_again() {
    let unserial = || with_device(disk("/dev/sdb", 16, signed("ext4")), |d| d.serial.clear());
    let data = || disk("/dev/sdc", 32, ContentFact::Unrecognised);
    let foreign = || file("/mnt/a", FileKind::File, Bytes::mib(1));
    let linked = || TargetFact { path: "/dev/link".into(), ..disk("/dev/sda", 0, signed("xfs")) };
    let named = ["/dev/sda", "S3R1AL42", "AL42"];
    let wrong = ["", "yes", "overwrite", "sda", "L42", "al42", "/dev/sd", "/dev/sdb", "*"];
    let check = |fact: TargetFact, right: &[&str], wrong: &[&str]| {
        let wanted = [intent(&fact.path, "w"), intent(Path::new("/mnt/other"), "w")];
        let other = file("/mnt/other", FileKind::File, Bytes::mib(1));
        let facts = Facts { targets: vec![fact, other], ..Facts::default() };
        let before = judge(&wanted, &facts, &Consent::default());
        for (typed, expect) in
            right.iter().map(|typed| (typed, true)).chain(wrong.iter().map(|typed| (typed, false)))
        {
            let mut agreed = Consent::default();
            assert_eq!(
                agreed.answer(&before, &wanted[0].path, &format!("{typed}\n")),
                expect,
                "{typed} {before:?}"
            );
            let after = judge(&wanted, &facts, &agreed);
            // Whatever was typed, the other file is as it was.
            assert_eq!(
                after.questions.len() + after.refusals.len(),
                if expect { 1 } else { 2 },
                "{typed} {after:?}"
            );
            assert_eq!(after.refusals.last().map(|one| one.path.as_path()), Some(Path::new("/mnt/other")));
        }
    };
    check(disk("/dev/sda", 0, signed("xfs")), &named, &wrong);
    check(linked(), &[&named[..], &["/dev/link"]].concat(), &wrong);
    check(unserial(), &["/dev/sdb"], &["sdb", "", "yes", "AL42"]);
    let short = || with_device(disk("/dev/sdb", 16, signed("ext4")), |d| d.serial = "123".to_owned());
    check(short(), &["/dev/sdb"], &["1", "3", "23", "123"]);
    let four = || with_device(disk("/dev/sdb", 16, signed("ext4")), |d| d.serial = "1234".to_owned());
    check(four(), &["/dev/sdb", "1234"], &["234", "123"]);
    check(data(), &["yes", "/dev/sdc", "S3R1AL42"], &["no", "y", "sdc", "overwrite"]);
    check(foreign(), &["overwrite"], &["yes", "", "/mnt/a", "/mnt/other"]);
    let used = with_device(disk("/dev/sda", 0, signed("xfs")), |d| d.in_use = every_use());
    let wanted = [intent(&used.path, "w")];
    let facts = Facts { targets: vec![used], ..Facts::default() };
    let mut agreed = Consent::default();
    agreed.answer(&judge(&wanted, &facts, &agreed), &wanted[0].path, "/dev/sda");
    assert!(
        judge(&wanted, &facts, &agreed).refusals[0].answers.is_empty(),
        "nothing lifts that it is in use"
    );
}

#[test]
fn messages_say_value_reason_and_remedy() {
    let used = with_device(disk("/dev/sda", 0, ContentFact::Blank), |d| d.in_use = every_use()[..1].to_vec());
    let facts = Facts { targets: vec![used, disk("/dev/sdb", 16, signed("xfs"))], ..Facts::default() };
    let wanted = [intent(Path::new("/dev/sda"), "w"), intent(Path::new("/dev/sdb"), "w")];
    let verdict = judge(&wanted, &facts, &Consent::default());
    assert_eq!(
        verdict.refusals[0].to_string(),
        "/dev/sda: /dev/sda (1 GiB, serial S3R1AL42) is in use: sda1 is mounted on /mnt; \
         unmount /mnt or name another target"
    );
    assert_eq!(
        verdict.questions[0].to_string(),
        "/dev/sdb: /dev/sdb (1 GiB, serial S3R1AL42) holds xfs \"data\" (at byte 512); \
         say --destroy=/dev/sdb or --destroy=S3R1AL42 to lose it"
    );
}

fn contents() -> impl Strategy<Value = ContentFact> {
    prop_oneof![
        Just(ContentFact::Unknown),
        Just(ContentFact::Blank),
        Just(ContentFact::SeemsBlank),
        Just(ContentFact::Unrecognised),
        Just(ContentFact::Unreadable("no".to_owned())),
        Just(signed("luks")),
    ]
}

fn consents() -> impl Strategy<Value = Consent> {
    let named = vec!["/dev/sda", "/dev/sda1", "/dev/sdb", "/dev/link", "S3R1AL42", "sda", "", "/"];
    let destroy = subsequence(named, 0..8).prop_map(|v| v.into_iter().map(str::to_owned).collect());
    (any::<bool>(), any::<bool>(), destroy, any::<bool>()).prop_map(|(yes, overwrite, destroy, dialect)| {
        Consent {
            yes,
            overwrite,
            destroy,
            confirmed: Vec::new(),
            dialect_writes_named_files: dialect,
            allow_exec: false,
            peers: PeersAllowed::Nobody,
        }
    })
}

proptest! {
    #[test]
    fn no_consent_lets_a_used_device_be_changed(
        ways in subsequence(every_use(), 1..=7),
        content in contents(),
        agreed in consents(),
        what in prop_oneof![Just("w"), Just("t"), Just("l"), Just("x"), Just("rwt")],
        by_link in any::<bool>(),
    ) {
        let mut fact = with_device(disk("/dev/sda", 0, content), |d| d.in_use = ways);
        if by_link {
            fact.path = "/dev/link".into();
        }
        let wanted = [intent(&fact.path, what)];
        let facts = Facts { targets: vec![fact], ..Facts::default() };
        prop_assert!(judge(&wanted, &facts, &agreed).refusals.iter().any(|r| r.code == "unsafe.in-use"));
    }

    #[test]
    fn a_signed_device_is_changed_only_when_it_is_named(agreed in consents(), by_link in any::<bool>()) {
        let mut fact = disk("/dev/sda", 0, signed("zfs"));
        if by_link {
            fact.path = "/dev/link".into();
        }
        let wanted = [intent(&fact.path, "w")];
        let named = agreed.destroy.iter().any(|text| {
            text == "/dev/sda" || text == "S3R1AL42" || (by_link && text == "/dev/link")
        });
        let facts = Facts { targets: vec![fact], ..Facts::default() };
        prop_assert_eq!(judge(&wanted, &facts, &agreed).allows(), named);
    }

    #[test]
    fn reading_needs_no_consent(content in contents(), ways in subsequence(every_use(), 0..=7)) {
        let fact = with_device(disk("/dev/sda", 0, content), |d| d.in_use = ways);
        let wanted = [intent(&fact.path, "r")];
        let facts = Facts { targets: vec![fact], ..Facts::default() };
        prop_assert!(judge(&wanted, &facts, &Consent::default()).allows());
    }
}
