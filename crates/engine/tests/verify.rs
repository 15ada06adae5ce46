//! Verification on real files under loads that write places twice, in parts, out of order and over several rounds: what was
//! written last is found everywhere, and nothing else is taken for it.

#[expect(dead_code, reason = "shared with tests that use more of it")]
#[path = "../../io/tests/support/stage.rs"]
mod stage;
mod support;

use fathom_schema::*;
use fathom_units::{Bytes, Nanos};
use stage::{Stage, skip};
use std::path::Path;
use support::{Outcome, run, stream};

const LENGTH: u64 = 64 << 10;

fn rule(schedule: VerifySchedule, ledger: Ledger) -> VerifyRule {
    VerifyRule {
        protection: Protection::Crc32c,
        pattern: Vec::new(),
        pattern_interval: Quota::Unlimited,
        interval: Quota::AtMost(512),
        header_at: 0,
        schedule,
        round_bytes: LENGTH,
        stops: false,
        fails: true,
        dumps: false,
        checks_sequence: true,
        checks_seed: true,
        is_shared: false,
        writes: true,
        ledger,
        trims: None,
        until: Quota::Unlimited,
        checks_count: false,
        by_place: false,
    }
}

const AFTER: VerifySchedule = VerifySchedule::AfterRound;
const BACKLOG: VerifySchedule = VerifySchedule::Backlog { operations: 7, batch: 3, alone: false };
/// Of which all is read back each time.
const WHOLE_BACKLOG: VerifySchedule = VerifySchedule::Backlog { operations: 7, batch: 7, alone: false };

/// Runs a stream of writes with this rule on a file of its own.
fn outcome(path: &Path, rule: VerifyRule, change: impl FnOnce(&mut Stream)) -> Outcome {
    let mut stream = stream(EngineKind::Psync, 1);
    stream.workload.cases[0].kind = OperationKind::Write;
    stream.workload.verification = Verification::On(Box::new(rule));
    stream.workers[0].extents[0].length = Bytes(LENGTH);
    stream.limits = StreamLimits {
        time: TimeLimit::Unbounded,
        bytes: Quota::AtMost(3 * LENGTH),
        operations: Quota::Unlimited,
        full_ends: false,
        ramp_counts: false,
        passes: Passes::Endless,
        steady: None,
    };
    change(&mut stream);
    let kind = TargetKind::File { path: path.to_owned(), layout: LayoutRule::Created, remove_after: false };
    let target = Target { name: path.display().to_string(), kind, size: Bytes(LENGTH) };
    run(Step { targets: vec![target], ..support::step(TargetKind::Null, stream) })
}

#[test]
fn what_is_trimmed_again_is_gone_and_the_rest_is_there() {
    let folder = tempfile::tempdir().unwrap();
    for kind in [EngineKind::Psync, EngineKind::Libaio(AioSettings::default())] {
        for (ledger, coverage) in
            [(Ledger::Every(512), Coverage::Independent), (Ledger::NotNeeded, Coverage::OncePerPass)]
        {
            for zeroes in [true, false] {
                let path = folder.path().join("file");
                let trims = Some(TrimRule { operations: 6, batch: 4, share: 0.5, zeroes });
                let rule = VerifyRule { trims, ..rule(BACKLOG, ledger) };
                let outcome = outcome(&path, rule, |stream| {
                    stream.engine.kind = kind;
                    stream.workload.coverage = coverage;
                });
                let case = format!("{kind:?}, {coverage:?}, zeroes {zeroes}");
                assert_eq!(outcome.executed.mismatches, [""; 0], "{case}");
                let trimmed = outcome.kind(OperationKind::Trim).unwrap().operations;
                let writes = outcome.kind(OperationKind::Write).unwrap().operations;
                assert!(trimmed > 0 && trimmed < writes, "{case}: {trimmed} of {writes}");
                let totals = verified(&outcome);
                let passed_over = if zeroes { 0 } else { trimmed };
                assert!(totals.checked + totals.superseded + passed_over >= writes, "{case}: {totals:?}");
                assert_eq!(totals.finished, writes, "{case}");
            }
        }
    }
}

#[test]
fn only_what_is_known_to_be_written_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let half = |stream: &mut Stream| {
        stream.workload.coverage = Coverage::OncePerPass;
        stream.limits.operations = Quota::AtMost(10);
    };
    let written = outcome(&path, rule(VerifySchedule::Never, Ledger::NotNeeded), half);
    let totals = verified(&written);
    assert_eq!((totals.finished, totals.finished_last.len()), (10, 1));
    let check = |until| {
        let rule = VerifyRule { writes: false, until, ..rule(AFTER, Ledger::NotNeeded) };
        let outcome = outcome(&path, rule, |stream| stream.workload.coverage = Coverage::OncePerPass);
        (verified(&outcome).checked, outcome.executed.mismatches.len())
    };
    assert_eq!(check(Quota::AtMost(10)), (10, 0));
    assert_eq!(check(Quota::AtMost(11)), (11, 1));
}

#[test]
fn writes_for_which_there_was_no_room_are_not_looked_for() {
    let mut stage = Stage::new();
    let folder = match stage.tmpfs("full", 32 << 10) {
        Ok(folder) => folder,
        Err(why) => return skip("a full filesystem", &why),
    };
    for kind in [EngineKind::Psync, EngineKind::Libaio(AioSettings::default())] {
        let path = folder.join("file");
        // Half of what is to be written has room.
        let outcome = outcome(&path, rule(AFTER, Ledger::Every(4096)), |stream| {
            stream.engine.kind = kind;
            stream.workload.cases[0].random = false;
            stream.limits.full_ends = true;
        });
        assert_eq!(outcome.executed.mismatches, [""; 0], "{kind:?}");
        assert_eq!(outcome.executed.io_errors, [""; 0], "{kind:?}");
        let writes = outcome.kind(OperationKind::Write).unwrap().operations;
        assert_eq!((writes, verified(&outcome).checked), (8, 8), "{kind:?}");
        std::fs::remove_file(&path).unwrap();
    }
}

fn verified(outcome: &Outcome) -> &VerifyTotals {
    outcome.executed.streams[0].workers[0].verified.as_deref().expect("it was verified")
}

fn case(size: Size, random: bool) -> Case {
    Case { weight: 1.0, kind: OperationKind::Write, size, random, align: None }
}

type Change = Box<dyn Fn(&mut Stream)>;

/// Loads whose extents end, over three passes.
fn walks() -> Vec<(&'static str, Ledger, Change)> {
    let mixed = Size::Range { min: 512, max: 8192, step: 512 };
    let ending = |stream: &mut Stream, cases: Vec<Case>| {
        stream.workload.cases = cases;
        stream.workload.align = Bytes(512);
        stream.workload.ends = PassEnd::Stop;
        stream.workload.cursor = Cursor::PerKind;
        stream.limits.passes = Passes::Counted { count: 3, bytes: LENGTH, at_least: 0 };
        let Verification::On(rule) = &mut stream.workload.verification else { unreachable!() };
        rule.round_bytes = u64::MAX;
    };
    vec![
        (
            "a map of several sizes",
            Ledger::NotNeeded,
            Box::new(move |stream| {
                ending(stream, vec![case(mixed, true)]);
                stream.workload.coverage = Coverage::Map;
            }),
        ),
        (
            "several sizes one behind the other",
            Ledger::NotNeeded,
            Box::new(move |stream| ending(stream, vec![case(mixed, false)])),
        ),
        (
            "zones, with reads between, into the room behind",
            Ledger::Every(512),
            Box::new(move |stream| {
                let read = Case { kind: OperationKind::Read, ..case(mixed, true) };
                ending(stream, vec![case(mixed, true), read]);
                stream.workload.zones = Zones::Strided { size: 12_288, range: 8192, skip: 4096 };
                stream.workers[0].extents[0].length = Bytes(LENGTH / 2);
                stream.workers[0].extents[0].room = Bytes(LENGTH / 2);
            }),
        ),
        (
            "a file begun anew while it is written",
            Ledger::Every(512),
            Box::new(move |stream| {
                ending(stream, vec![case(mixed, false)]);
                stream.workload.ends = PassEnd::Renew;
                stream.limits.passes = Passes::Endless;
                let Verification::On(rule) = &mut stream.workload.verification else { unreachable!() };
                rule.round_bytes = LENGTH;
            }),
        ),
    ]
}

/// Loads that wait, and that begin with operations that do not count.
fn paced() -> Vec<(&'static str, Ledger, Change)> {
    let every = Ledger::Every(512);
    let open = |rate| Pacing::Open {
        rate,
        arrival: Arrival::Poisson,
        course: Vec::new(),
        backlog: Backlog::DropBeyond(4),
    };
    vec![
        ("a rate over several rounds", every, Box::new(move |stream| stream.pacing = open(5000.0))),
        (
            "pauses",
            every,
            Box::new(|stream| {
                stream.pacing = Pacing::Closed {
                    think: Think::Every {
                        operations: 5,
                        pause_ns: 100_000,
                        by_issue: false,
                        after_ns: u64::MAX,
                        spin_ns: 0,
                    },
                };
            }),
        ),
        (
            "a ramp before writes to once-per-pass places",
            Ledger::NotNeeded,
            Box::new(move |stream| {
                stream.workload.coverage = Coverage::OncePerPass;
                stream.ramp = Nanos::millis(3);
            }),
        ),
        (
            "a ramp at a rate",
            every,
            Box::new(move |stream| {
                stream.ramp = Nanos::millis(3);
                stream.pacing = open(10_000.0);
            }),
        ),
    ]
}

#[test]
fn no_load_makes_a_mismatch_where_there_is_none() {
    let mixed = Size::Range { min: 512, max: 8192, step: 512 };
    let every = Ledger::Every(512);
    let cases: Vec<(&str, Ledger, Change)> = vec![
        ("places drawn again", every, Box::new(|_| ())),
        (
            "once per pass",
            Ledger::NotNeeded,
            Box::new(|stream| stream.workload.coverage = Coverage::OncePerPass),
        ),
        ("sequential", Ledger::NotNeeded, Box::new(|stream| stream.workload.cases[0].random = false)),
        (
            "several sizes over one another",
            every,
            Box::new(move |stream| {
                stream.workload.cases = vec![case(mixed, true), case(Size::Fixed(1024), false)];
                stream.workload.align = Bytes(512);
            }),
        ),
        (
            "reads and trims between",
            every,
            Box::new(|stream| {
                let read = Case { kind: OperationKind::Read, ..case(Size::Fixed(4096), true) };
                let trim = Case { kind: OperationKind::Trim, weight: 0.3, ..read };
                stream.workload.cases = vec![case(Size::Fixed(4096), true), read, trim];
            }),
        ),
        (
            "skewed, backwards, with syncs",
            every,
            Box::new(|stream| {
                stream.workload.cases.push(case(Size::Fixed(4096), false));
                stream.workload.stride_bytes = -8192;
                stream.workload.distribution = Distribution::Zipf { theta: 1.2 };
                stream.workload.sync.fsync_every = Quota::AtMost(9);
            }),
        ),
    ];
    let cases = cases.into_iter().chain(walks()).chain(paced());
    let folder = tempfile::tempdir().unwrap();
    for (name, ledger, change) in cases {
        for (schedule, by_place) in [
            (AFTER, false),
            (AFTER, true),
            (BACKLOG, false),
            (BACKLOG, true),
            (WHOLE_BACKLOG, false),
            (WHOLE_BACKLOG, true),
        ] {
            for seed in [1, 2, 3] {
                let path = folder.path().join("file");
                let rule = VerifyRule { by_place, ..rule(schedule, ledger) };
                let outcome = outcome(&path, rule, |stream| {
                    change(stream);
                    stream.workers[0].seed = seed;
                });
                let case = format!("{name}, {schedule:?}, by place {by_place}, seed {seed}");
                assert_eq!(outcome.executed.mismatches, [""; 0], "{case}");
                assert_eq!(outcome.executed.stop, Stop::Complete, "{case}");
                let totals = verified(&outcome);
                let writes = outcome.kind(OperationKind::Write).unwrap().operations;
                // With trims among them, writes are neither read back nor overwritten where they were trimmed.
                // One that goes out as the ramp ends counts, and is one of the ramp's nevertheless.
                let of_ramp = u64::from(name.contains("ramp"));
                let gone_over = totals.checked + totals.superseded;
                assert!((writes - of_ramp..=writes).contains(&gone_over), "{case}: {gone_over} of {writes}");
                assert!(totals.checked > 0, "{case}");
                if ledger == Ledger::NotNeeded {
                    assert_eq!(totals.superseded, 0, "{case}");
                }
            }
        }
    }
}

#[test]
fn the_table_of_last_writes_is_what_keeps_them_apart() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = outcome(&folder.path().join("file"), rule(AFTER, Ledger::NotNeeded), |_| ());
    let stale = |&(kind, _): &(MismatchKind, u64)| kind == MismatchKind::Stale;
    assert!(verified(&outcome).mismatches.iter().all(stale), "{:?}", verified(&outcome).mismatches);
    assert_eq!(outcome.executed.stop, Stop::Mismatch);
}

#[test]
fn reading_back_is_no_part_of_what_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let outcome = outcome(&path, rule(AFTER, Ledger::NotNeeded), |stream| {
        stream.workload.coverage = Coverage::OncePerPass;
    });
    assert_eq!(outcome.kind(OperationKind::Read), None);
    let writes = outcome.kind(OperationKind::Write).unwrap();
    let totals = verified(&outcome);
    let [reads] = &totals.tally.kinds[..] else { panic!("{:?}", totals.tally.kinds) };
    assert_eq!((reads.kind, reads.operations, writes.operations), (OperationKind::Read, 48, 48));
    // Each phase has intervals of its own, whose sums are the totals.
    let of = |phase, kind| -> u64 {
        let intervals = outcome.intervals.iter().filter(|interval| interval.phase == phase);
        intervals.flat_map(|i| &i.tally.kinds).filter(|k| k.kind == kind).map(|k| k.operations).sum()
    };
    assert_eq!(of(Phase::Measure, OperationKind::Write), 48);
    assert_eq!(of(Phase::Measure, OperationKind::Read), 0);
    assert_eq!(of(Phase::Verify, OperationKind::Read), 48);
    let worker = &outcome.executed.streams[0].workers[0];
    let active = worker.end.since(worker.start).0;
    assert!(writes.service.moments.sum_ns <= active as f64, "{active} ns hold all writes");
    let seen = outcome.intervals.iter().map(|interval| interval.end).max().unwrap();
    assert!(active + totals.elapsed.0 <= seen.0 + 1, "the phases do not overlap");
}

#[test]
fn what_a_backlog_reads_back_competes_with_the_load() {
    let folder = tempfile::tempdir().unwrap();
    let rule = rule(VerifySchedule::Backlog { operations: 4, batch: 4, alone: false }, Ledger::NotNeeded);
    let outcome = outcome(&folder.path().join("file"), rule, |stream| {
        stream.workload.coverage = Coverage::OncePerPass;
        stream.limits.bytes = Quota::AtMost(LENGTH);
    });
    // The last batch of the round is read back after it.
    assert_eq!(outcome.reads().operations, 12);
    assert_eq!(verified(&outcome).tally.kinds[0].operations, 4);
    assert_eq!(verified(&outcome).checked, 16);
}

#[test]
fn what_is_read_back_may_count_towards_the_operations() {
    let folder = tempfile::tempdir().unwrap();
    // 7 writes and 3 reads, 3 and 3 again.
    for (checks_count, writes) in [(false, 16), (true, 10)] {
        let rule = VerifyRule { checks_count, ..rule(BACKLOG, Ledger::NotNeeded) };
        let done = outcome(&folder.path().join("file"), rule, |stream| {
            stream.workload.coverage = Coverage::OncePerPass;
            stream.limits.operations = Quota::AtMost(16);
        });
        assert_eq!(done.kind(OperationKind::Write).map(|kind| kind.operations), Some(writes));
        assert_eq!(verified(&done).checked, writes);
    }
}

#[test]
fn what_was_written_before_is_checked_without_writing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let once = |stream: &mut Stream| stream.limits.bytes = Quota::AtMost(LENGTH);
    outcome(&path, rule(AFTER, Ledger::Every(4096)), once);
    let before = std::fs::read(&path).unwrap();
    let only = VerifyRule { writes: false, ..rule(AFTER, Ledger::Every(4096)) };
    let again = outcome(&path, only.clone(), once);
    assert_eq!((again.executed.mismatches.len(), again.kind(OperationKind::Write)), (0, None));
    assert!(verified(&again).checked > 0 && std::fs::read(&path).unwrap() == before);
    // Another seed would have written something else.
    let other = outcome(&path, only, |stream| {
        once(stream);
        stream.workers[0].seed = 99;
    });
    assert_eq!(other.executed.stop, Stop::Mismatch);
}
