//! Streams and kinds of operations beside each other, where the whole does not show what one of them lost.

use super::super::{Comparison, PartComparison, Verdict, compare};
use crate::sample::{StreamShape, record};
use fathom_metrics::Latency;
use fathom_schema::{KindTally, OperationKind, Record, StreamTally};

/// More than are set beside each other.
const NAMES: [&str; 33] = [
    "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15",
    "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23", "s24", "s25", "s26", "s27", "s28", "s29", "s30",
    "s31", "s32",
];

/// A run of a minute of these streams: name, reads and writes per second. Operations at depth 4 take as long as their rate says.
fn run(streams: &[(&'static str, u64, u64)]) -> Record {
    let shape = |&(name, reads, writes): &(&'static str, u64, u64)| {
        let rates = [(OperationKind::Read, reads), (OperationKind::Write, writes)];
        let rates = rates.into_iter().filter(|(_, rate)| *rate > 0).collect();
        StreamShape { name, rates, seconds: 60, ..StreamShape::default() }
    };
    record(&streams.iter().map(shape).collect::<Vec<_>>())
}

fn compared(base: &[&Record], new: &[&Record]) -> Comparison {
    compare(base, new, 0.03).expect("both have the step")
}

fn names(found: &Comparison) -> Vec<String> {
    found.steps[0].parts.iter().map(PartComparison::name).collect()
}

/// Of a part, the verdict and the change of a figure.
fn told(found: &Comparison, part: &str, figure: &str) -> (Verdict, f64) {
    let of_part = found.steps[0].parts.iter().find(|one| one.name() == part).expect("the part");
    let metric = of_part.metrics.iter().find(|one| one.name == figure).expect("the figure");
    (metric.verdict, metric.change)
}

fn wholes(found: &Comparison) -> Vec<Verdict> {
    found.steps[0].metrics.iter().filter(|one| one.decides).map(|one| one.verdict).collect()
}

#[test]
fn a_small_stream_that_lost_is_a_loss_though_the_whole_shows_none() {
    let base = run(&[("large", 100_000, 0), ("small", 400, 0)]);
    let slower = run(&[("large", 100_000, 0), ("small", 100, 0)]);
    let found = compared(&[&base], &[&slower]);
    assert_eq!(wholes(&found), [Verdict::Equivalent; 2], "{found:#?}");
    assert_eq!(
        (found.verdict, names(&found)),
        (Verdict::Regressed, vec!["large".to_owned(), "small".to_owned()])
    );
    assert_eq!(told(&found, "large", "iops"), (Verdict::Equivalent, 0.0));
    let (verdict, change) = told(&found, "small", "p99");
    assert!(verdict == Verdict::Regressed && (change - 3.0).abs() < 0.02, "{change}");
    assert_eq!(told(&found, "small", "iops"), (Verdict::Regressed, -0.75));
    // The other way round, and of the same.
    assert_eq!(compared(&[&slower], &[&base]).verdict, Verdict::Improved);
    let found = compared(&[&base], &[&base]);
    assert_eq!((found.verdict, found.remarks.len()), (Verdict::Equivalent, 1), "{:?}", found.remarks);
    // In one whose gain another pays for.
    let turned = run(&[("large", 100_300, 0), ("small", 100, 0)]);
    assert_eq!(compared(&[&base], &[&turned]).verdict, Verdict::Regressed);
}

#[test]
fn several_runs_of_each_side_are_the_values_of_their_streams() {
    let runs = |small: [u64; 3]| -> Vec<Record> {
        small.iter().map(|&rate| run(&[("large", 100_000, 0), ("small", rate, 0)])).collect()
    };
    let (base, new) = (runs([1000, 1010, 990]), runs([800, 805, 795]));
    let (base, new): (Vec<_>, Vec<_>) = (base.iter().collect(), new.iter().collect());
    let found = compared(&base, &new);
    assert_eq!(found.verdict, Verdict::Regressed);
    assert_eq!(told(&found, "small", "iops").0, Verdict::Regressed);
    // Each of four statements about parts has a quarter of 1 %, both of the whole 2 % each: t(0.99875, df) and t(0.99, df).
    let width = |metrics: &[super::super::Metric]| {
        let (low, high) = metrics[0].interval.expect("three runs tell how they vary");
        (high.ln_1p() - low.ln_1p()) / 2.0
    };
    // Welch of logarithms: s of 1 % and 0.625 %, each over three runs; 3.35 degrees of freedom; t = 8.177 by quadrature.
    let half = width(&found.steps[0].parts[1].metrics);
    assert!(
        (half / (0.01_f64.powi(2) / 3.0 + 0.006_25_f64.powi(2) / 3.0).sqrt() - 8.177).abs() < 0.02,
        "{half}"
    );
}

#[test]
fn the_kinds_of_a_mix_are_parts() {
    let base = run(&[("mix", 100_000, 400)]);
    let found = compared(&[&base], &[&run(&[("other", 100_000, 200)])]);
    assert_eq!(names(&found), ["reads", "writes"], "one stream each, whatever they are called");
    assert_eq!(told(&found, "writes", "iops"), (Verdict::Regressed, -0.5));
    assert_eq!((wholes(&found)[0], found.verdict), (Verdict::Equivalent, Verdict::Regressed));
    // Of a mix beside a job that only reads, reads are set beside each other.
    let found = compared(&[&base], &[&run(&[("mix", 100_000, 0)])]);
    assert_eq!((names(&found), found.verdict), (vec!["reads".to_owned()], Verdict::Equivalent));
    // Writes that ceased are no equivalence, however few they were.
    let mut ceased = base.clone();
    let step = &mut ceased.steps[0];
    let is_read = |one: &KindTally| one.kind == OperationKind::Read;
    step.intervals.iter_mut().for_each(|interval| interval.tally.kinds.retain(is_read));
    step.finished.as_mut().expect("it ended").streams[0].workers[0].tally.kinds.retain(is_read);
    let found = compared(&[&base], &[&ceased]);
    assert_eq!((names(&found), found.verdict), (vec!["reads".to_owned()], Verdict::Inconclusive));
    let said = "main: some run did nothing of writes, so that nothing can be said of it";
    assert!(found.remarks.iter().any(|remark| remark == said), "{:?}", found.remarks);
    assert_eq!(
        compared(&[&base, &ceased], &[&base, &base]).verdict,
        Verdict::Inconclusive,
        "in one of the runs"
    );
    let found =
        compared(&[&run(&[("a", 1000, 10), ("b", 1000, 0)])], &[&run(&[("a", 1000, 10), ("b", 1000, 0)])]);
    assert_eq!(names(&found), ["a, reads", "a, writes", "b"]);
}

#[test]
fn a_step_of_one_kind_has_no_parts_and_clones_are_one() {
    let alone = run(&[("only", 1000, 0)]);
    assert_eq!(names(&compared(&[&alone], &[&alone])), [""; 0]);
    let clones = run(&[("only", 1000, 0), ("only", 1000, 0)]);
    assert_eq!(names(&compared(&[&clones], &[&clones])), [""; 0]);
}

#[test]
fn streams_of_one_side_alone_and_too_many_are_told() {
    let base = run(&[("a", 1000, 0), ("b", 1000, 0)]);
    let found = compared(&[&base], &[&run(&[("a", 1000, 0), ("c", 1000, 0)])]);
    assert_eq!(names(&found), ["a"]);
    let expect = "main: only one side has the streams b, c, of which nothing is said alone";
    assert!(found.remarks.iter().any(|remark| remark == expect), "{:?}", found.remarks);
    let many = run(&NAMES.map(|name| (name, 1000, 0)));
    let found = compared(&[&many], &[&many]);
    assert_eq!((names(&found).len(), found.verdict), (0, Verdict::Equivalent));
    assert!(
        found.remarks.iter().any(|remark| remark.contains("33 streams and kinds")),
        "{:?}",
        found.remarks
    );
    let many = run(&NAMES[..32].iter().map(|name| (*name, 1000, 0)).collect::<Vec<_>>());
    assert_eq!(names(&compared(&[&many], &[&many])).len(), 32);
}

/// A stream of a few operations has no p99 to compare: the highest percentile that they are enough for decides, and of fewer the mean.
#[test]
fn a_stream_of_few_operations_is_told_by_what_they_are_enough_for() {
    let of = |rate: u64, queue_depth: u32| {
        let shape = |name: &'static str, rate: u64, queue_depth: u32| {
            let rates = vec![(OperationKind::Read, rate)];
            StreamShape { name, rates, queue_depth, seconds: 60, ..StreamShape::default() }
        };
        record(&[shape("large", 100_000, 4), shape("small", rate, queue_depth)])
    };
    for (rate, decides) in [(20, "p99"), (5, "p95"), (2, "p90"), (1, "p50")] {
        let base = of(rate, 4);
        let found = compared(&[&base], &[&base]);
        let metrics = &found.steps[0].parts[1].metrics;
        let deciding: Vec<&str> =
            metrics.iter().filter(|metric| metric.decides).map(|metric| metric.name.as_str()).collect();
        assert_eq!((deciding, found.verdict), (vec!["iops", decides], Verdict::Equivalent), "{rate}");
        // As many at a rate of their own, each of which takes ten times as long.
        let found = compared(&[&base], &[&of(rate, 40)]);
        assert_eq!(
            (found.verdict, told(&found, "small", decides).0),
            (Verdict::Regressed, Verdict::Regressed)
        );
    }
}

/// Runs of a part that always takes the same, in runs that differ, are runs.
#[test]
fn a_part_that_never_varies_is_no_single_run() {
    let of = |writer: u64| {
        [100_000, 100_100, 99_900].map(|reader| run(&[("reader", reader, 0), ("writer", writer, 0)]))
    };
    let found = compared(&of(10).each_ref(), &of(10).each_ref());
    let p99 =
        found.steps[0].parts[1].metrics.iter().find(|metric| metric.name == "p99").expect("it is there");
    // Of 600 operations each; one run would have had too few.
    assert_eq!((p99.needs, p99.verdict, found.verdict), (None, Verdict::Equivalent, Verdict::Equivalent));
}

/// A part of less than an operation a second varies as chance has it: seconds without one are among its values.
#[test]
fn a_rare_stream_beside_itself_has_not_changed() {
    let rare = |gap: u64| {
        let mut made = run(&[("large", 100_000, 0), ("rare", 1, 0)]);
        let step = &mut made.steps[0];
        let is_silent = |sequence: u64| !sequence.is_multiple_of(gap);
        for interval in step.intervals.iter_mut().filter(|one| one.stream == 1 && is_silent(one.sequence)) {
            interval.tally.kinds.clear();
        }
        let silent = (0..60).filter(|at| is_silent(*at)).count() as u64;
        let totals = step.finished.as_mut().expect("it ended");
        totals.streams[1].workers[0].tally.kinds[0].operations -= silent;
        made
    };
    // 15 and 12 operations of a minute.
    let found = compared(&[&rare(4)], &[&rare(5)]);
    assert_eq!((told(&found, "rare", "iops").0, found.verdict), (Verdict::Inconclusive, Verdict::Equivalent));
}

/// A slow stream that is faster than before does more, and the latencies of all together are longer for it: nobody lost anything.
#[test]
fn shares_that_changed_are_no_loss_and_no_gain() {
    let base = run(&[("large", 100_000, 0), ("small", 400, 0)]);
    let faster = run(&[("large", 100_000, 0), ("small", 2000, 0)]);
    let found = compared(&[&base], &[&faster]);
    let p99 = |found: &Comparison| {
        let p99 =
            found.steps[0].metrics.iter().find(|metric| metric.name == "p99").expect("of 100,000 a second");
        (p99.verdict, p99.decides)
    };
    assert_eq!((found.verdict, p99(&found)), (Verdict::Improved, (Verdict::Regressed, false)), "{found:#?}");
    let said =
        "main: the p99 of all together is longer by the shares of streams or kinds of operations alone";
    assert!(found.remarks.iter().any(|remark| remark.starts_with(said)), "{:?}", found.remarks);
    // The other way round the small one lost.
    let found = compared(&[&faster], &[&base]);
    assert_eq!((found.verdict, p99(&found)), (Verdict::Regressed, (Verdict::Improved, false)));
    // One that takes longer explains it.
    let slower = run(&[("large", 90_000, 0), ("small", 900, 0)]);
    let found = compared(&[&base], &[&slower]);
    assert_eq!((found.verdict, p99(&found)), (Verdict::Regressed, (Verdict::Regressed, true)));
}

/// Without a part whose own p99 changed, one of them may be what made that of all longer.
#[test]
fn a_loss_between_the_percentiles_of_a_part_is_one() {
    // A tenth of the writes takes the longest, and so much as that is not a hundredth of all: most others are beyond its p99.
    let of = |most_ns: u64| {
        let mut made = run(&[("reader", 9700, 0), ("writer", 300, 0)]);
        let step = &mut made.steps[0];
        let slowed = |tally: &mut StreamTally, seconds: u64| {
            let mut latency = Latency::default();
            latency.record_many(most_ns, 270 * seconds);
            latency.record_many(100_000_000, 30 * seconds);
            tally.kinds[0].service = latency.to_tally();
        };
        step.intervals.iter_mut().filter(|one| one.stream == 1).for_each(|one| slowed(&mut one.tally, 1));
        slowed(&mut step.finished.as_mut().expect("it ended").streams[1].workers[0].tally, 60);
        made
    };
    let found = compared(&[&of(10_000_000)], &[&of(20_000_000)]);
    let p99 = found.steps[0].metrics.iter().find(|metric| metric.name == "p99").expect("of 10,000 a second");
    assert_eq!((p99.verdict, p99.decides, found.verdict), (Verdict::Regressed, true, Verdict::Regressed));
    assert_eq!(told(&found, "writer", "p99").0, Verdict::Equivalent);
}

/// Two runs a side tell hardly anything of how a stream varies: one that does a third of what it did is no gain of the whole.
#[test]
fn what_may_be_a_loss_by_far_is_no_gain() {
    let of = |large: u64, small: [u64; 2]| {
        small.map(|rate| run(&[("large", large + rate / 100, 0), ("small", rate, 0)]))
    };
    let verdict = |base: &[Record; 2], new: &[Record; 2]| {
        let found = compared(&base.each_ref(), &new.each_ref());
        (found.verdict, told(&found, "small", "iops").0, wholes(&found)[0])
    };
    let base = of(100_000, [400, 440]);
    let expect = |whole: Verdict, all: Verdict| (all, Verdict::Inconclusive, whole);
    let lost = of(100_000, [100, 140]);
    assert_eq!(verdict(&base, &lost), expect(Verdict::Equivalent, Verdict::Inconclusive));
    assert_eq!(verdict(&base, &of(200_000, [100, 140])), expect(Verdict::Improved, Verdict::Inconclusive));
    // What went up as far, or down a little, leaves the whole's.
    assert_eq!(verdict(&lost, &base), expect(Verdict::Equivalent, Verdict::Equivalent));
    assert_eq!(verdict(&base, &of(100_000, [380, 420])), expect(Verdict::Equivalent, Verdict::Equivalent));
}
