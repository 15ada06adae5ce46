//! Traces by example: what is replayed of which bytes, and what is said of those that say nothing.

use super::*;
use fathom_schema::SharePart;
use fathom_schema::{Extent, WorkerPlan};
use proptest::prelude::*;
use std::path::PathBuf;

const MS: u64 = 1_000_000;

fn rule() -> TraceRule {
    TraceRule { path: PathBuf::new(), skips: [false; OperationKind::COUNT], scale: 1, align: 1 }
}

/// What is replayed of a trace, written `R0@4096+512 5ms`: file, offset, length, and when it is due.
fn replayed(bytes: &[u8], rule: &TraceRule) -> Result<(Vec<String>, TraceFact), String> {
    let (trace, fact) = Trace::read(&mut &bytes[..], rule).map_err(|error| error.to_string())?;
    assert_eq!(Trace::look(&mut &bytes[..], rule).unwrap(), fact, "a look finds the same");
    let trace = Arc::new(trace);
    let mut operations = Replayed::new(Arc::clone(&trace), false);
    let mut times = DueTimes::new(trace, 1.0);
    let mut found = Vec::new();
    while let Some(planned) = operations.next() {
        let Planned { kind, extent, offset, length } = planned;
        let due = times.next_ns();
        let what = match (kind, length) {
            (OperationKind::Sync, Planned::DATA_ONLY) => "D",
            (OperationKind::Sync, _) => "S",
            (OperationKind::Read, _) => "R",
            (OperationKind::Write, _) => "W",
            (OperationKind::Trim, _) => "T",
        };
        let place = if kind == OperationKind::Sync { String::new() } else { format!("@{offset}+{length}") };
        let due = if due == 0 { String::new() } else { format!(" {}us", due / 1000) };
        found.push(format!("{what}{extent}{place}{due}"));
    }
    assert_eq!(times.next_ns(), u64::MAX);
    Ok((found, fact))
}

fn check(text: &str, rule: &TraceRule, expect: &[&str], faults: &[&str]) {
    let (found, fact) = replayed(text.as_bytes(), rule).unwrap();
    assert_eq!(found, expect, "{text}");
    assert_eq!(fact.faults, faults, "{text}");
}

const THREE: &str = "fio version 3 iolog\n10 /a add\n20 /a open\n30 /a read 4096 512\n5030 /b write 0 8192\n\
                     5040 /b datasync 0 0\n7040 /a sync 4096 0\n7040 /a trim 512 1024\n7040 /a close\n";

#[test]
fn version_3_says_when() {
    let all = ["R0@4096+512 20us", "W1@0+8192 5020us", "D1 5030us", "S0 7030us", "T0@512+1024 7030us"];
    check(THREE, &rule(), &all, &[]);
    let (_, fact) = replayed(THREE.as_bytes(), &rule()).unwrap();
    let file = |name: &str, end, reads, changes| TraceFile {
        name: TraceName::Path(name.to_owned()),
        end,
        reads,
        changes,
    };
    assert_eq!(fact.files, [file("/a", 4608, true, true), file("/b", 8192, false, true)]);
    assert_eq!((fact.offset_granule, fact.span_ns, fact.depth), (512, 7030 * 1000, None));
    let kinds: Vec<_> = fact.kinds.iter().map(|of| (of.kind, of.operations, of.bytes, of.granule)).collect();
    let expect = [
        (OperationKind::Read, 1, 512, 512),
        (OperationKind::Write, 1, 8192, 8192),
        (OperationKind::Trim, 1, 1024, 1024),
        (OperationKind::Sync, 2, 0, 0),
    ];
    assert_eq!(kinds, expect);
    // Where times go back, they go on from there; a second first line is none.
    let twice =
        "fio version 3 iolog\n0 a add\n100 a read 0 1\nfio version 3 iolog\n50 a read 1 1\n70 a read 2 1\n";
    check(twice, &rule(), &["R0@0+1 100us", "R0@1+1 100us", "R0@2+1 120us"], &[]);
}

#[test]
fn trims_longer_than_a_result_can_count_go_in_parts() {
    const GIB: u64 = 1 << 30;
    let text = |what: &str| format!("fio version 3 iolog\n0 a add\n0 a {what}\n0 a write 0 1\n");
    let length = 3 * GIB + 7;
    let parts = [
        format!("T0@5+{GIB}"),
        format!("T0@{}+{GIB}", 5 + GIB),
        format!("T0@{}+{GIB}", 5 + 2 * GIB),
        format!("T0@{}+7", 5 + 3 * GIB),
        "W0@0+1".to_owned(),
    ];
    check(&text(&format!("trim 5 {length}")), &rule(), &parts.each_ref().map(|part| &**part), &[]);
    let whole = format!("T0@0+{GIB}");
    check(&text(&format!("trim 0 {GIB}")), &rule(), &[&whole, "W0@0+1"], &[]);
    let says = format!("line 3: {length} bytes; one operation moves at most {GIB}");
    check(&text(&format!("write 5 {length}")), &rule(), &["W0@0+1"], &[&says]);
}

#[test]
fn times_that_nobody_lives_to_see_are_told() {
    let three = "fio version 3 iolog\n0 a add\n5 a read 0 1\n18446744073709551615 a read 1 1\n7 a read 2 1\n9 a read 3 1\n";
    let says = "line 4: its time is 213503 days after the start, and has to be at most 366; correct or split the trace";
    check(three, &rule(), &["R0@0+1 5us", "R0@2+1 5us", "R0@3+1 7us"], &[says]);
    let two = "fio version 2 iolog\na add\na open\na read 0 1\na wait 18446744073709551615 0\na read 1 1\n";
    let says = "line 5: its time is 213503 days after the start, and has to be at most 366; correct or split the trace";
    check(two, &rule(), &["R0@0+1", "R0@1+1"], &[says]);
}

#[test]
fn version_2_waits() {
    let text = "fio version 2 iolog\na add\na open\na read 0 10\na wait 300 0\na write 10 10\na wait 200 0\na sync 0 0\n";
    check(text, &rule(), &["R0@0+10", "W0@10+10 300000us", "S0 300000us"], &[]);
    // As in fio, a wait is one with a length only, which is nothing.
    let text = "fio version 2 iolog\na add\na open\na wait 2000\na read 0 10\na wait 20 x\na wait 10 7\na read 10 10\n";
    let says = "wait without a length, with which fio passes it over: add a 0";
    check(
        text,
        &rule(),
        &["R0@0+10", "R0@10+10 10000us"],
        &[&format!("line 4: {says}"), &format!("line 6: {says}")],
    );
}

#[test]
fn operations_are_left_out_and_moved() {
    let skips = |kinds: &[OperationKind]| {
        let mut skips = [false; OperationKind::COUNT];
        kinds.iter().for_each(|kind| skips[kind.index()] = true);
        TraceRule { skips, ..rule() }
    };
    let rest = ["W0@0+8192 5020us", "T1@512+1024 7030us"];
    check(THREE, &skips(&[OperationKind::Read, OperationKind::Sync]), &rest, &[]);
    let moved = ["R0@1024+512 20us", "W1@0+8192 5020us", "D1 5030us", "S0 7030us", "T0@0+1024 7030us"];
    check(THREE, &TraceRule { scale: 4, align: 1024, ..rule() }, &moved, &[]);
}

#[test]
fn faulty_lines_are_told_by_their_numbers() {
    let text = "fio version 3 iolog\n1 a read 0 10\n\nx a read 0 10\n2\n3 a\n4 a lick 0 10\n5 a wait 0 10\n6 a read 0\n\
                7 a read -1 10\n8 a read 0 0\n9 a read 10 10\n";
    let faults = [
        "line 4: \"x\" is no time in microseconds",
        "line 5: it has no name",
        "line 6: it has no action",
        "line 7: there is no action \"lick\"",
        "line 8: version 3 has no wait: its times say when",
        "line 9: read without offset and length",
        "line 10: \"-1\" is no offset in bytes",
        "line 11: an operation of 0 bytes",
    ];
    check(text, &rule(), &["R0@0+10", "R0@10+10 8us"], &faults);
    let mut many = "fio version 2 iolog\na read 0 1\n".to_owned();
    many.push_str(&"a\n".repeat(50));
    many.push_str(&format!("{} read 0 1\n", "x".repeat(40_000)));
    many.push_str("a read 1 1");
    let (found, fact) = replayed(many.as_bytes(), &rule()).unwrap();
    assert_eq!((found.len(), fact.faults.len(), fact.faults_total), (2, FAULTS_TOLD, 51));
}

#[test]
fn what_is_no_trace_is_refused() {
    for (bytes, expect) in [
        (&b""[..], "it is empty"),
        (b"rw, 0, 4096\n", "its first line is \"rw, 0, 4096\""),
        (b"fio version 3 iolog\n1 a add\n2 a sync 0 0\n", "no read, write or trim"),
        (b"fio version 2 iolog\na read 0\n", "line 2: read without offset and length"),
        (b"\x07taefoo", "cut off within an event"),
    ] {
        let error = replayed(bytes, &rule()).expect_err(expect);
        assert!(error.contains(expect), "{error}");
    }
}

/// One event of a binary trace, as the kernel writes it on a machine of this order.
struct Event {
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    device: u32,
    more: &'static [u8],
}

fn event(time_ns: u64, sector: u64, bytes: u32, action: u32) -> Event {
    Event { time_ns, sector, bytes, action, device: 8 << 20 | 1, more: b"" }
}

fn encoded(events: &[Event], is_little: bool) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, Event { time_ns, sector, bytes, action, device, more }) in (0_u32..).zip(events) {
        let word = |word: u32| if is_little { word.to_le_bytes() } else { word.to_be_bytes() };
        let long = |long: u64| if is_little { long.to_le_bytes() } else { long.to_be_bytes() };
        let short = |short: u16| if is_little { short.to_le_bytes() } else { short.to_be_bytes() };
        out.extend(word(0x6561_7407));
        out.extend(word(number));
        out.extend(long(*time_ns));
        out.extend(long(*sector));
        out.extend(word(*bytes));
        out.extend(word(*action));
        out.extend(word(4711));
        out.extend(word(*device));
        out.extend(word(0));
        out.extend(short(0));
        out.extend(short(u16::try_from(more.len()).unwrap()));
        out.extend(*more);
    }
    out
}

const QUEUE: u32 = 1;
const COMPLETE: u32 = 8;
const READS: u32 = 1 << 16;
const WRITES: u32 = 1 << 17;
const FLUSHES: u32 = 1 << 18;
const NOTIFIES: u32 = 1 << 26;
const DISCARDS: u32 = 1 << 29;

#[test]
fn binary_traces_are_read_in_either_order() {
    let events = [
        Event { more: b"fio\0\0\0\0\0", ..event(0, 0, 0, NOTIFIES) },
        event(1000 * MS, 8, 4096, QUEUE | READS),
        event(1001 * MS, 16, 4096, QUEUE | WRITES),
        event(1001 * MS, 16, 512, 7 | WRITES),
        event(1002 * MS, 24, 4096, QUEUE | WRITES),
        Event { more: b"abc", ..event(1002 * MS, 0, 0, COMPLETE | WRITES) },
        Event { device: 259 << 20 | 3, ..event(1003 * MS, 0, 65_536, QUEUE | WRITES | DISCARDS) },
        event(1004 * MS, 0, 0, QUEUE | FLUSHES | WRITES),
        event(1005 * MS, 0, 0, QUEUE | READS),
        event(1006 * MS, 1, 512, QUEUE | FLUSHES | WRITES),
    ];
    let expect = [
        "R0@4096+4096",
        "W0@8192+4096 1000us",
        "W0@12288+4096 2000us",
        "T1@0+65536 3000us",
        "S0 4000us",
        "S0 6000us",
    ];
    let faults = [
        "event 9: an operation of 0 bytes",
        "event 10: a flush with data, of which the flush alone is replayed, as with fio",
    ];
    for is_little in [true, false] {
        let (found, fact) = replayed(&encoded(&events, is_little), &rule()).unwrap();
        assert_eq!(found, expect);
        assert_eq!((fact.depth, &fact.faults[..]), (Some(2), &faults.map(str::to_owned)[..]));
        let devices: Vec<&TraceName> = fact.files.iter().map(|file| &file.name).collect();
        assert_eq!(devices, [&TraceName::Device(8, 1), &TraceName::Device(259, 3)]);
    }
    let rule = TraceRule { align: 8192, ..rule() };
    let (found, _) = replayed(&encoded(&events[..2], true), &rule).unwrap();
    assert_eq!(found, ["R0@0+8192"]);
    for (at, byte, expect) in [(48 + 8, 6, "version 6"), (48 + 9, 9, "the mark 0x65610907")] {
        let mut bytes = encoded(&events, true);
        bytes[at] = byte;
        let error = replayed(&bytes, &rule).expect_err(expect);
        assert!(error.contains(expect), "{error}");
    }
    let bytes = encoded(&events, true);
    // What a killed tracer leaves is replayed to its last whole event.
    let rule = TraceRule { align: 1, ..rule };
    for cut in [1, 40] {
        let (found, fact) = replayed(&bytes[..bytes.len() - cut], &rule).unwrap();
        assert_eq!(found, expect[..5]);
        let told =
            ["event 9: an operation of 0 bytes", "event 10: not all of it: the trace is cut off there"];
        assert_eq!(fact.faults, told);
    }
}

#[test]
fn one_target_takes_what_was_for_several() {
    let (trace, _) = Trace::read(&mut THREE.as_bytes(), &rule()).unwrap();
    let extent = |target| Extent {
        target,
        start: fathom_units::Bytes(0),
        length: fathom_units::Bytes(8192),
        room: fathom_units::Bytes(0),
    };
    let trace = Arc::new(trace);
    for (extents, expect) in
        [(vec![extent(0)], [0, 0, 0, 0, 0]), (vec![extent(0), extent(1)], [0, 1, 1, 0, 0])]
    {
        let part = SharePart { index: 0, count: 1 };
        let plan = WorkerPlan { extents, part, seed: 1, cpus: Vec::new() };
        let mut generator = crate::Generator::of_trace(Arc::clone(&trace), &plan);
        let mut out = [Planned::BLANK; 8];
        assert_eq!((generator.fill(&mut out[..3]), generator.ends()), (3, true));
        assert_eq!((generator.fill(&mut out[3..]), generator.fill(&mut [Planned::BLANK])), (2, 0));
        assert_eq!(out[..5].iter().map(|planned| planned.extent).collect::<Vec<_>>(), expect);
    }
    let mut times = crate::Arrivals::of_trace(trace, 2.0);
    let times: Vec<u64> = (0..6).map(|_| times.next_ns()).collect();
    assert_eq!(times, [10_000, 2_510_000, 2_515_000, 3_515_000, 3_515_000, u64::MAX]);
}

proptest! {
    /// Whatever the bytes: an answer, in no more memory than they have, and nothing outside of the files it names.
    #[test]
    fn any_bytes_are_read_or_refused(
        start in prop::sample::select(vec![THREE.as_bytes(), b"fio version 2 iolog\na read 0 1\n", b"\x07tae", b""]),
        rest in prop::collection::vec(any::<u8>(), 0..300),
        cuts in prop::collection::vec((0_usize..400, any::<u8>()), 0..8),
    ) {
        let mut bytes = [start, &rest].concat();
        for (at, byte) in cuts {
            if let Some(slot) = bytes.get_mut(at) {
                *slot = byte;
            }
        }
        if let Ok((trace, fact)) = Trace::read(&mut &bytes[..], &rule()) {
            prop_assert!(trace.operations() <= bytes.len() as u64);
            prop_assert_eq!(fact.kinds.iter().map(|of| of.operations).sum::<u64>(), trace.operations());
            let mut operations = Replayed::new(Arc::new(trace), false);
            while let Some(planned) = operations.next() {
                let file = &fact.files[planned.extent as usize];
                prop_assert!(planned.kind == OperationKind::Sync || planned.offset + u64::from(planned.length) <= file.end);
            }
        }
    }

    #[test]
    fn times_never_go_back(stamps in prop::collection::vec(0_u64..1000, 1..40)) {
        let lines = stamps.iter().map(|stamp| format!("{stamp} a read 0 1\n"));
        let text = format!("fio version 3 iolog\n{}", lines.collect::<String>());
        let (trace, fact) = Trace::read(&mut text.as_bytes(), &rule()).unwrap();
        let due: Vec<u64> = (0..stamps.len()).map(|index| trace.due_ns(index)).collect();
        prop_assert!(due.windows(2).all(|pair| pair[0] <= pair[1]));
        prop_assert_eq!(due.last().copied(), Some(fact.span_ns));
    }
}
