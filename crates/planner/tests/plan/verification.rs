//! Verification as it is planned: what goes together, what a worker remembers, and what is not compared.

use crate::examples::DISK;
use crate::host::{facts, read};
use fathom_model::Level;
use fathom_planner::plan;
use fathom_schema::{Ledger, Quota, Verification, VerifyRule, VerifySchedule};
use fathom_units::Bytes;

const HEAD: &str = "[target.t]\npath = \"/dev/x\"\nsize = \"1MiB\"\n[workload.w]\nread = \"0%\"\n";

/// The rule of the only stream, and the codes and messages that are told.
fn planned(workload: &str, stream: &str, memory: Bytes) -> (Option<VerifyRule>, Vec<String>) {
    let job = read(&format!("{HEAD}{workload}\n[stream.s]\nworkload = \"w\"\npasses = 2\n{stream}"));
    let mut facts = facts(&job, |_| DISK);
    facts.memory = memory;
    let (plan, told) = plan(&job, &facts, 42);
    let mut found: Vec<String> = told
        .all()
        .iter()
        .filter(|d| d.level == Level::Error || d.code == "plan.verify-shared")
        .map(|d| d.code.to_owned())
        .collect();
    let Some(plan) = plan else { return (None, found) };
    found.extend(plan.notes.iter().map(|note| note.message.clone()));
    let step = plan.experiment.preview().remove(0);
    let Verification::On(rule) = &step.streams[0].workload.verification else { return (None, found) };
    (Some(*rule.clone()), found)
}

const MEMORY: Bytes = Bytes::gib(4);
const RANDOM: &str = "verify = \"crc32c\"\naccess = \"random\"";

#[test]
fn what_may_be_written_twice_is_remembered() {
    let once = format!("{RANDOM}\ncoverage = \"once-per-pass\"");
    for (workload, stream, expect) in [
        ("verify = \"md5\"", "", Ledger::NotNeeded),
        (once.as_str(), "queue_depth = 8", Ledger::NotNeeded),
        (RANDOM, "", Ledger::Every(4096)),
        ("verify = \"md5\"\nstride = \"8KiB\"", "", Ledger::Every(4096)),
        ("verify = \"md5\"\nblock_size = \"6KiB..24KiB step 2KiB\"", "", Ledger::Every(2048)),
        ("verify = \"md5\"\naccess = \"random\"\nalign = \"1KiB\"", "direct = false", Ledger::Every(1024)),
        ("verify = \"md5\"\nverify_when = \"never\"\naccess = \"random\"", "", Ledger::NotNeeded),
    ] {
        let (rule, told) = planned(workload, stream, MEMORY);
        let rule = rule.unwrap_or_else(|| panic!("{workload}: {told:?}"));
        assert_eq!(rule.ledger, expect, "{workload}: {told:?}");
        let said = told.iter().any(|line| line.contains("remembering its last writes costs"));
        assert_eq!(said, expect != Ledger::NotNeeded, "{workload}: {told:?}");
        let reads_back = rule.schedule != VerifySchedule::Never;
        assert_eq!(rule.round_bytes <= 1 << 20, reads_back, "{workload}");
    }
    // 4 bytes for each of 256 blocks are more than half of 2000.
    assert_eq!(planned(RANDOM, "", Bytes(2000)).1, ["plan.verify-memory"]);
}

#[test]
fn writes_of_one_place_in_flight_together_are_not_told_apart() {
    for (depth, compares) in [(1, true), (4, false)] {
        let (rule, told) = planned(RANDOM, &format!("queue_depth = {depth}"), MEMORY);
        let rule = rule.unwrap_or_else(|| panic!("{told:?}"));
        assert_eq!((rule.checks_sequence, rule.checks_seed), (compares, compares), "{told:?}");
    }
    let (rule, told) = planned("verify = \"md5\"", "workers = 2\nworker_regions = \"same\"", MEMORY);
    let rule = rule.unwrap_or_else(|| panic!("{told:?}"));
    assert!(!rule.checks_sequence && !rule.checks_seed);
    assert!(told.contains(&"plan.verify-shared".to_owned()), "{told:?}");
    let (rule, told) = planned("verify = \"md5\"", "workers = 2", MEMORY);
    assert!(rule.is_some_and(|rule| rule.checks_sequence), "{told:?}");
}

/// Where workers that verify go at random, each has a part of its own: a device is not accused of what they do to each other.
#[test]
fn workers_that_verify_at_random_do_not_meet() {
    let once = format!("{RANDOM}\ncoverage = \"once-per-pass\"");
    for (workload, stream) in [
        (RANDOM, "workers = 2"),
        (RANDOM, "workers = 2\nengine = \"io_uring\"\nqueue_depth = 4"),
        (RANDOM, "engine = \"psync\"\nqueue_depth = 4"),
        (RANDOM, "engine = \"psync\"\nqueue_depth = 4\nworker_regions = \"same\""),
        (once.as_str(), "workers = 2"),
    ] {
        let (rule, told) = planned(workload, stream, MEMORY);
        let rule = rule.unwrap_or_else(|| panic!("{stream}: {told:?}"));
        let is_once = workload.contains("once");
        assert!(
            is_once || !rule.is_shared && !told.contains(&"plan.verify-shared".to_owned()),
            "{stream}: {told:?}"
        );
    }
    let (rule, told) = planned(RANDOM, "workers = 2\nworker_regions = \"same\"", MEMORY);
    assert!(rule.is_some_and(|rule| rule.is_shared), "{told:?}");
    assert!(told.contains(&"plan.verify-shared".to_owned()), "{told:?}");
}

/// What is only checked is looked for where an equal run wrote it.
#[test]
fn who_only_checks_goes_where_the_writer_went() {
    for stream in
        ["workers = 2", "engine = \"psync\"\nqueue_depth = 4", "workers = 3\nworker_regions = \"same\""]
    {
        let workers = |only: &str| {
            let job =
                read(&format!("{HEAD}{RANDOM}{only}\n[stream.s]\nworkload = \"w\"\npasses = 2\n{stream}"));
            let mut facts = facts(&job, |_| DISK);
            facts.memory = MEMORY;
            let (plan, told) = plan(&job, &facts, 42);
            let step = plan.unwrap_or_else(|| panic!("{:?}", told.all())).experiment.preview().remove(0);
            step.streams[0].workers.clone()
        };
        assert_eq!(workers(""), workers("\nverify_only = true"), "{stream}");
    }
}

#[test]
fn headers_fit_and_divide() {
    for (workload, expect) in [
        ("verify = \"md5\"", Ok(Quota::Unlimited)),
        ("verify = \"md5\"\nblock_size = \"8KiB..16KiB\"", Ok(Quota::AtMost(8192))),
        ("verify = \"md5\"\nverify_interval = \"512B\"", Ok(Quota::AtMost(512))),
        ("verify = \"md5\"\nverify_interval = \"1000B\"", Err("plan.verify")),
        (
            "verify = \"pattern\"\nverify_pattern = \"%o\"\nverify_pattern_interval = \"0B\"",
            Err("plan.verify"),
        ),
        ("verify = \"sha512\"\nverify_interval = \"128B\"", Err("plan.verify")),
        ("verify = \"sha512\"\nblock_size = \"128B\"", Err("plan.verify-block")),
        ("verify = \"md5\"\nverify_header_at = \"55B\"", Err("plan.verify")),
        ("verify = \"md5\"\nverify_header_at = \"56B\"", Ok(Quota::Unlimited)),
        ("verify = \"md5\"\nverify_header_at = \"4041B\"", Err("plan.verify")),
        ("verify = \"pattern\"", Err("plan.verify")),
        ("verify = \"pattern\"\nverify_pattern = \"%o\"", Ok(Quota::Unlimited)),
        ("verify = \"md5\"\ncompressible = \"50%\"", Ok(Quota::Unlimited)),
        ("verify = \"md5\"\ndedupable = \"50%\"", Err("plan.verify")),
    ] {
        let (rule, told) = planned(workload, "", MEMORY);
        match expect {
            Ok(interval) => {
                assert_eq!(rule.map(|rule| rule.interval), Some(interval), "{workload}: {told:?}");
            }
            Err(code) => assert!(told.iter().any(|found| found == code), "{workload}: {told:?}"),
        }
    }
    let (_, told) = planned("verify = \"md5\"", "engine = \"null\"", MEMORY);
    assert!(told.iter().any(|found| found == "plan.verify-engine"), "{told:?}");
    let (_, told) = planned("verify = \"sha512\"", "", MEMORY);
    assert!(told.iter().any(|line| line.contains("both ends of each interval")), "{told:?}");
}
