//! The pages of a test of SNIA's PTS whose rounds are made up: steady late, and ended before the other half was.

use crate::section::sections;
use crate::{Plot, Unit, html, markdown, steady_sentence, summary, text};
use fathom_analysis::pts::{self, Ending, Place, resumable};
use fathom_analysis::sample::{StreamShape, push, record};
use fathom_schema::{
    EngineKind, HostSample, Note, NoteKind, OperationKind, Question, Record, Severity, SteadyQuestion,
    SteadyTest, Stop,
};
use fathom_units::Nanos;

/// A throughput test: these rounds of writes in 128 KiB, per second, then `second` of those in 1024 KiB.
fn throughput(first: &[u64], second: &[u64]) -> Record {
    let mut made = record(&[StreamShape::default()]);
    made.steps.clear();
    made.started.title = "PTS throughput test of /dev/nvme0n1".to_owned();
    made.started.question = Some(Question::Steady(SteadyQuestion {
        test: SteadyTest::Throughput,
        class: fathom_schema::DeviceClass::Enterprise,
        haste: 1,
        targets: vec!["/dev/nvme0n1".to_owned()],
        size: None,
        engine: None,
        direct: None,
        purge: true,
        purge_by: fathom_schema::TrimBy::Discard,
        purged_before: None,
        block_min: 512,
        has_histogram: true,
        has_operating_points: true,
        active_percent: 100,
        part: None,
        resumed: None,
    }));
    let mut add = |place: Place, kind: OperationKind, rate: u64, block_bytes: u32| {
        let index = u32::try_from(made.steps.len()).expect("few steps");
        let rates = vec![(kind, rate)];
        push(
            &mut made,
            &[StreamShape { rates, block_bytes, random: false, ..StreamShape::default() }],
            index,
        );
        made.steps.last_mut().expect("it was pushed").started.step.parameters = place.parameters("");
    };
    for (part, rounds, block) in [(0, first, 128 << 10), (3, second, 1024 << 10)] {
        if rounds.is_empty() {
            break;
        }
        let at = |part: usize| Place { part, ..Place::default() };
        add(at(part), OperationKind::Trim, 1000, 1 << 20);
        add(at(part + 1), OperationKind::Write, 1000, block);
        for (round, &rate) in rounds.iter().enumerate() {
            add(Place { part: part + 2, round, cell: 0 }, OperationKind::Read, 8000, block);
            add(Place { part: part + 2, round, cell: 1 }, OperationKind::Write, rate, block);
        }
    }
    made
}

const LATE: [u64; 10] = [4000, 3000, 2200, 1700, 1400, 1040, 1020, 1000, 990, 980];

#[test]
fn a_test_has_the_tables_of_the_standard() {
    let record = throughput(&LATE, &[500, 400, 300]);
    insta::assert_snapshot!(text(&summary(&record), 100, false));
    let wiki = markdown(&summary(&record));
    assert!(wiki.contains("| 128 KiB | 1.05 GB/s | 132 MB/s |"), "{wiki}");
    let page = html(&record);
    assert_eq!(page.matches("<table class=\"heat\">").count(), 2, "a map per block size");
    assert_eq!(
        page.matches("data-chart=\"plot\"").count(),
        6,
        "the window of each block size, its rounds and its bars"
    );
    assert!(page.contains("line of the window"), "and its line");
    assert!(page.contains("number heat-9\">1.05 GB/s"), "the most is the darkest");
}

#[test]
fn a_step_of_each_part_is_there_with_every_option_resolved() {
    let record = throughput(&LATE, &[500, 400, 300]);
    let page = html(&record);
    // Purge, fill and rounds, of both block sizes.
    assert_eq!(page.matches("A step with every option resolved").count(), 6, "{page}");
    assert!(page.contains("JSON has those of all steps (steps[].resolved)"), "{page}");
    // What conditions comes first, and is not what was measured.
    let wiki = markdown(&summary(&record));
    let job = wiki.split("## Resolved job").nth(1).expect("it is there");
    let job = job.split("## ").next().expect("it ends");
    assert!(job.contains("\n```\n{\n"), "{job}");
    let fence = job.split("```").nth(1).expect("a block");
    let found: serde_json::Value = serde_json::from_str(fence).expect("it is whole");
    assert_eq!(found, summary(&record).steps[2].resolved);
    assert!(job.contains("of 30 steps"), "{job}");
}

#[test]
fn how_a_test_ended_is_said() {
    let check = |first: &[u64], second: &[u64], ending: Ending, says: &str, kept: usize| {
        let record = throughput(first, second);
        let answer = pts::answer(&record).expect("it is a test");
        assert_eq!(answer.ending, ending, "{first:?} {second:?}");
        assert!(steady_sentence(&answer).contains(says), "{says}: {}", steady_sentence(&answer));
        assert_eq!(resumable(&record), kept, "{first:?} {second:?}");
    };
    let swings: Vec<u64> = (0..25).map(|round| if round % 2 == 0 { 1000 } else { 1300 }).collect();
    check(&LATE, &[100; 5], Ending::Steady, "128 KiB: steady at round 10, SEQ 128 KiB 0/100 132 MB/s", 34);
    check(&LATE, &swings, Ending::NotSteady, "1024 KiB: NOT STEADY after 25 rounds", 74);
    check(&LATE[..4], &[], Ending::Unfinished, "There is no answer yet.", 10);
    check(&LATE, &[], Ending::Unfinished, "steady at round 10", 22);
}

/// A write saturation test of these rates, two steps a round.
fn saturation(rates: &[u64]) -> Record {
    let mut made = throughput(&[], &[]);
    let Some(Question::Steady(question)) = &mut made.started.question else { unreachable!() };
    (question.test, question.purge) = (SteadyTest::Wsat, false);
    for (at, &rate) in rates.iter().enumerate() {
        let index = u32::try_from(at).expect("few steps");
        let rates = vec![(OperationKind::Write, rate)];
        push(&mut made, &[StreamShape { rates, ..StreamShape::default() }], index);
        let place = Place { part: 0, round: at / 2, cell: at % 2 };
        made.steps[at].started.step.parameters = place.parameters("");
    }
    made
}

/// The drawings of a test by their titles.
fn plots(record: &Record) -> Vec<Plot> {
    sections(&summary(record)).into_iter().flat_map(|section| section.plots).collect()
}

#[test]
fn what_was_noted_is_in_the_drawings_over_time() {
    // Each step takes 10 s; the second begins 5 s after the first has ended.
    let marked = |at_s: u64| {
        let mut made = saturation(&[1000; 4]);
        for (step, began_s) in made.steps.iter_mut().zip([0, 15, 25, 35]) {
            step.started.wall_ms = made.started.wall_ms + began_s * 1000;
        }
        made.notes = vec![Note {
            at: Nanos::secs(at_s),
            kind: NoteKind::Mark,
            severity: Severity::Info,
            message: format!("mark at {at_s} s: rebuild started"),
        }];
        let all = plots(&made);
        let of = |title: &str| {
            let plot = all.iter().find(|plot| plot.title == title).expect(title);
            let found = plot.marks.iter().find(|mark| mark.label == "rebuild started");
            found.map(|mark| (mark.is_x, mark.at))
        };
        assert_eq!(of("IOPS over time"), of("Response time over time"));
        assert_eq!(of("IOPS over what was written"), None, "that is no time");
        of("IOPS over time")
    };
    assert_eq!(marked(0), Some((true, 0.0)));
    assert_eq!(marked(4), Some((true, 4.0)));
    assert_eq!(marked(12), Some((true, 10.0)), "between steps");
    assert_eq!(marked(27), Some((true, 22.0)));
    assert_eq!(marked(60), None, "after the end");
}

#[test]
fn saturation_is_drawn_over_gigabytes_and_on_axes_of_ratios() {
    let all = plots(&saturation(&[20_000, 1000, 100, 0]));
    let of = |title: &str| all.iter().find(|plot| plot.title == title).expect(title);
    let written = of("IOPS over total gigabytes written");
    // 20,000/s of 4 KiB for 10 s.
    assert_eq!((written.x.label.contains("TGBW"), written.lines[0].x[0]), (true, 0.8192));
    for title in ["IOPS over time", "IOPS over what was written", "IOPS over total gigabytes written"] {
        let (even, ratios) = (of(title), of(&format!("{title}, logarithmic axis")));
        assert_eq!((even.y.is_log, ratios.y.is_log, ratios.x.is_log), (false, true, false), "{title}");
        assert_eq!((&ratios.x, &ratios.marks), (&even.x, &even.marks), "{title}");
        let above: Vec<f64> = even.lines[0].y.iter().copied().filter(|iops| *iops > 0.0).collect();
        assert_eq!((ratios.lines[0].y.clone(), above.len()), (above, ratios.lines[0].x.len()), "{title}");
    }
}

#[test]
fn iops_are_drawn_over_block_size_by_mix() {
    let mut made = throughput(&[], &[]);
    let Some(Question::Steady(question)) = &mut made.started.question else { unreachable!() };
    (question.test, question.purge) = (SteadyTest::Iops, false);
    let places = (0..2).flat_map(|round| (0..56).map(move |cell| Place { part: 1, round, cell }));
    for (index, place) in (0_u32..).zip(std::iter::once(Place::default()).chain(places)) {
        let rates = vec![(OperationKind::Write, 1000 + place.cell as u64)];
        push(&mut made, &[StreamShape { rates, seconds: 1, ..StreamShape::default() }], index);
        made.steps.last_mut().expect("it was pushed").started.step.parameters = place.parameters("");
    }
    let all = plots(&made);
    let plot =
        all.iter().find(|plot| plot.title.starts_with("IOPS by block size, a line")).expect("it is there");
    assert_eq!((plot.x.is_log, plot.x.unit, plot.y.is_log), (true, Unit::Plain, true));
    let mixes: Vec<&str> = plot.lines.iter().map(|line| line.label.as_str()).collect();
    assert!(mixes.len() == 7 && mixes.contains(&"65/35"), "{mixes:?}");
    let sizes = [0.5, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 1024.0];
    assert_eq!(plot.lines[0].x, sizes);
    // Its sizes are of a matrix that has all of them for each mix.
    assert!(plot.lines.iter().all(|line| line.x == sizes && line.y.len() == 8));
}

#[test]
fn write_saturation_may_end_without_being_steady() {
    let check = |rates: &[u64], ending: Ending, says: &str| {
        let made = saturation(rates);
        let answer = pts::answer(&made).expect("it is a test");
        assert_eq!(answer.ending, ending, "{rates:?}");
        assert!(steady_sentence(&answer).contains(says), "{says}: {}", steady_sentence(&answer));
    };
    // 20,000/s of 4 KiB for 31 min are more than twice 64 GiB.
    check(&[20_000; 2], Ending::Unfinished, "not steady yet after 1 round");
    check(&[20_000; 4], Ending::Complete, "complete after 2 rounds without a steady state");
    check(&[1000; 10], Ending::Steady, "steady at round 5");
    let day: Vec<u64> = (0..94).map(|step| if step / 2 % 2 == 0 { 500 } else { 650 }).collect();
    check(&day[..92], Ending::Unfinished, "not steady yet");
    check(&day, Ending::Complete, "complete after 47 rounds");
}

#[test]
fn a_round_that_was_ended_within_is_none() {
    let mut record = throughput(&LATE[..4], &[]);
    record.steps[9].finished.as_mut().expect("it ended").stop = Stop::Interrupted;
    let answer = pts::answer(&record).expect("it is a test");
    assert!(
        steady_sentence(&answer).contains("not steady yet after 3 rounds"),
        "{}",
        steady_sentence(&answer)
    );
    // The purge, the fill and three rounds of two cells are kept.
    assert_eq!(resumable(&record), 8);
    record.steps[1].finished = None;
    assert_eq!(resumable(&record), 1);
}

#[test]
fn demand_shows_how_busy_the_processors_are() {
    let mut made = throughput(&[], &[]);
    let Some(Question::Steady(question)) = &mut made.started.question else { unreachable!() };
    (question.test, question.purge) = (SteadyTest::Dirth, false);
    let places = (0..5).flat_map(|round| (0..2).map(move |cell| Place { part: 1, round, cell }));
    let demand = (0..5).flat_map(|round| (0..50).map(move |cell| Place { part: 2, round, cell }));
    for (index, place) in (0_u32..).zip([Place::default()].into_iter().chain(places).chain(demand)) {
        let rates = vec![(OperationKind::Write, 1000)];
        push(&mut made, &[StreamShape { rates, seconds: 1, ..StreamShape::default() }], index);
        let step = made.steps.last_mut().expect("it was pushed");
        step.started.step.parameters = place.parameters("");
        let (start, end) = (Nanos::ZERO, Nanos::secs(1));
        let busy_ticks = 20 + place.cell as u64;
        step.host = vec![HostSample {
            step: index,
            start,
            end,
            processor_ticks: 200,
            busy_ticks,
            devices: Vec::new(),
        }];
    }
    let page = html(&made);
    assert!(page.contains("System CPU: share of the time in which processors were busy"), "{page}");
    assert!(page.contains(", as bars"), "as the standard draws it");
    assert!(page.contains("IOPS over total outstanding I/O"), "as the composite's report has it");
    assert!(page.contains("Demand: response time over total outstanding I/O"));
    let text = text(&summary(&made), 120, false);
    // The first cell of the matrix is the second of a round.
    assert!(text.contains("  32 threads    10.5 %    11.0 %   11.5 %"), "{text}");
    // In virtual time the processors of the host have nothing to do with it.
    made.steps.iter_mut().for_each(|step| step.started.step.streams[0].engine.kind = EngineKind::Sim);
    assert!(!html(&made).contains("System CPU"), "nobody knows");
}
