//! What two runs were asked to find out differently: what a test, a curve or a search for a rate does comes of its question, and
//! figures of two questions are no figures of one thing.

use super::Difference;
use crate::pts;
use fathom_schema::{LatencyGoal, Question, Record, ScanQuestion, SteadyQuestion, SteadyTest};
use fathom_units::{Bytes, Iops, Nanos};

/// What differs between the questions of two runs, for people. Names of targets and runs are no difference.
pub(super) fn differences(left: &Record, right: &Record) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut add = |name: &str, left: String, right: String| {
        if left != right {
            found.push((name.to_owned(), left, right));
        }
    };
    match (&left.started.question, &right.started.question) {
        (Some(Question::Curve { limits, over }), Some(Question::Curve { limits: others, over: other })) => {
            add("limits asked about", all(limits), all(others));
            add("what grows", over.name().to_owned(), other.name().to_owned());
        }
        (
            Some(Question::Objective { rate, goals }),
            Some(Question::Objective { rate: other, goals: others }),
        ) => {
            add("rate to be carried", rate_words(*rate), rate_words(*other));
            add("limits to keep", all(goals), all(others));
        }
        (Some(Question::Steady(one)), Some(Question::Steady(other))) => of_tests(one, other, &mut add),
        (Some(Question::Scan(one)), Some(Question::Scan(other))) => of_scans(one, other, &mut add),
        // Bounds are judged after a run, and change nothing of it.
        (one, other) => add("question", kind(one.as_ref()).to_owned(), kind(other.as_ref()).to_owned()),
    }
    found
}

/// Whether the figures that are read off all runs of a side together are of one question.
pub(super) fn is_one(side: &[&Record]) -> bool {
    let axis = |record: &Record| match &record.started.question {
        Some(Question::Curve { over, .. }) => Some(*over),
        _ => None,
    };
    let first = side[0];
    side.iter().all(|run| {
        kind(run.started.question.as_ref()) == kind(first.started.question.as_ref())
            && axis(run) == axis(first)
            && goals(run) == goals(first)
    })
}

/// The limits that an objective is to keep; of another question none.
pub(super) fn goals(record: &Record) -> Option<&[LatencyGoal]> {
    match &record.started.question {
        Some(Question::Objective { goals, .. }) => Some(goals),
        _ => None,
    }
}

const fn kind(question: Option<&Question>) -> &'static str {
    match question {
        None | Some(Question::Thresholds { .. }) => "none",
        Some(Question::Curve { .. }) => "a load curve",
        Some(Question::Objective { .. }) => "a rate within limits",
        Some(Question::Steady(_)) => "a test of the PTS",
        Some(Question::Scan(_)) => "a scan",
    }
}

fn all(goals: &[LatencyGoal]) -> String {
    let texts: Vec<String> = goals.iter().map(ToString::to_string).collect();
    if texts.is_empty() { "none".to_owned() } else { texts.join(", ") }
}

fn rate_words(rate: Option<f64>) -> String {
    rate.map_or_else(|| "the highest".to_owned(), |rate| format!("{} per second", Iops(rate)))
}

fn of_tests(left: &SteadyQuestion, right: &SteadyQuestion, add: &mut impl FnMut(&str, String, String)) {
    // Taken apart in full: a new field is a difference as well.
    let SteadyQuestion {
        test,
        class,
        haste,
        targets: _,
        size,
        engine: _, // what was chosen is in the steps, and so is what became of `direct`
        direct: _,
        purge: _, // the three are told in one
        purge_by: _,
        purged_before: _,
        block_min,
        has_histogram,
        has_operating_points,
        active_percent,
        part: _, // comes out of `size` and the targets
        resumed: _,
    } = left;
    add("test", test.name().to_owned(), right.test.name().to_owned());
    add("class of devices", class.name().to_owned(), right.class.name().to_owned());
    add("times divided by", haste.to_string(), right.haste.to_string());
    let part = |size: &Option<String>| size.clone().unwrap_or_else(|| "all".to_owned());
    add("part of each target", part(size), part(&right.size));
    let percent = |percent: u32| format!("{percent} % of it");
    add("active range", percent(*active_percent), percent(right.active_percent));
    add("purge", pts::purge_words(left), pts::purge_words(right));
    let bytes = |block: u32| Bytes(block.into()).to_string();
    add("smallest block", bytes(*block_min), bytes(right.block_min));
    let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
    add("histogram run", yes(*has_histogram), yes(right.has_histogram));
    if *test == SteadyTest::Composite {
        add("operating points", yes(*has_operating_points), yes(right.has_operating_points));
    }
}

fn of_scans(left: &ScanQuestion, right: &ScanQuestion, add: &mut impl FnMut(&str, String, String)) {
    let ScanQuestion {
        target: _,
        size,
        zones,
        sample_bytes,
        block,
        sector,
        slow,
        classes_ns,
        rpm: _, // the limits come out of it
        order,
        access_reads,
        access_block,
        burst_reads: _, // these two change no other figure
        retries: _,
    } = left;
    add("size of the target", size.to_string(), right.size.to_string());
    add("places", zones.to_string(), right.zones.to_string());
    let sample =
        |bytes: Option<u64>| bytes.map_or_else(|| "all".to_owned(), |bytes| Bytes(bytes).to_string());
    add("read at each place", sample(*sample_bytes), sample(right.sample_bytes));
    let bytes = |bytes: u32| Bytes(bytes.into()).to_string();
    add("block of a scan", bytes(*block), bytes(right.block));
    add("smallest read", bytes(*sector), bytes(right.sector));
    add("slow from", slow.to_string(), right.slow.to_string());
    let limits = |limits: &[u64]| {
        let limits: Vec<String> = limits.iter().map(|ns| Nanos(*ns).in_full()).collect();
        limits.join(", ")
    };
    add("classes of latency", limits(classes_ns), limits(&right.classes_ns));
    add("order of places", order.name().to_owned(), right.order.name().to_owned());
    add("random reads after each place", access_reads.to_string(), right.access_reads.to_string());
    add("block of random reads", bytes(*access_block), bytes(right.access_block));
}

#[cfg(test)]
mod tests {
    use super::super::compare;
    use super::*;
    use crate::sample::{StreamShape, record};
    use fathom_schema::{Arrival, Backlog, DeviceClass, LoadAxis, Pacing, TrimBy};

    fn asked(question: Question) -> Record {
        let mut made = record(&[StreamShape::default()]);
        if let Question::Objective { .. } = question {
            made.steps[0].started.step.streams[0].pacing = Pacing::Open {
                rate: 1000.0,
                arrival: Arrival::Constant,
                course: Vec::new(),
                backlog: Backlog::Keep,
            };
        }
        made.started.question = Some(question);
        made
    }

    fn told(left: Question, right: Question) -> Vec<String> {
        let of = |(name, left, right): Difference| format!("{name}: {left} / {right}");
        let (left, right) = (asked(left), asked(right));
        let found = differences(&left, &right);
        // They are told wherever the jobs' differences are, and of each pair once.
        if let Ok(all) = compare(&[&left], &[&right], 0.03) {
            assert!(found.iter().all(|one| all.job_differences.contains(one)), "{:?}", all.job_differences);
        }
        found.into_iter().map(of).collect()
    }

    fn goal(text: &str) -> LatencyGoal {
        text.parse().expect("a goal")
    }

    fn objective(rate: Option<f64>, limit: &str) -> Question {
        Question::Objective { rate, goals: vec![goal(limit)] }
    }

    fn steady(purge: bool) -> SteadyQuestion {
        SteadyQuestion {
            test: SteadyTest::Iops,
            class: DeviceClass::Enterprise,
            haste: 1,
            targets: vec!["/dev/a".to_owned()],
            size: None,
            engine: None,
            direct: None,
            purge,
            purge_by: TrimBy::Discard,
            purged_before: None,
            block_min: 512,
            has_histogram: true,
            has_operating_points: true,
            active_percent: 100,
            part: None,
            resumed: None,
        }
    }

    #[test]
    fn questions_that_differ_are_named() {
        let none: [&str; 0] = [];
        assert_eq!(told(objective(None, "p99<1ms"), objective(None, "p99<1ms")), none);
        assert_eq!(
            told(objective(None, "p99<1ms"), objective(Some(2000.0), "p99<5ms")),
            [
                "rate to be carried: the highest / 2000 per second",
                "limits to keep: p99 < 1.00 ms / p99 < 5.00 ms"
            ]
        );
        let curve = |over| Question::Curve { limits: Vec::new(), over };
        assert_eq!(told(curve(LoadAxis::Depth), curve(LoadAxis::Rate)), ["what grows: depth / rate"]);
        assert_eq!(
            told(curve(LoadAxis::Depth), objective(None, "p99<1ms")),
            ["question: a load curve / a rate within limits"]
        );
        let purged = told(Question::Steady(steady(true)), Question::Steady(steady(false)));
        assert!(
            matches!(&purged[..], [one] if one.starts_with("purge: discard (") && one.ends_with("is not known")),
            "{purged:?}"
        );
        let by_hand = SteadyQuestion { purged_before: Some("with a tool".to_owned()), ..steady(false) };
        let purged = told(Question::Steady(by_hand), Question::Steady(steady(false)));
        assert!(purged[0].starts_with("purge: with a tool / none"), "{purged:?}");
        let quick = SteadyQuestion {
            haste: 60,
            class: DeviceClass::Client,
            targets: vec!["/dev/b".to_owned()],
            size: Some("1GiB".to_owned()),
            resumed: Some("x".to_owned()),
            ..steady(true)
        };
        assert_eq!(
            told(Question::Steady(steady(true)), Question::Steady(quick)),
            [
                "class of devices: enterprise / client",
                "times divided by: 1 / 60",
                "part of each target: all / 1GiB"
            ]
        );
    }

    #[test]
    fn the_highest_rate_within_other_limits_is_another_figure() {
        let figures = |left: &[&str], right: &[&str]| {
            let side = |limits: &[&str]| -> Vec<Record> {
                limits.iter().map(|limit| asked(objective(None, limit))).collect()
            };
            let (left, right) = (side(left), side(right));
            let (left, right): (Vec<_>, Vec<_>) = (left.iter().collect(), right.iter().collect());
            let found = compare(&left, &right, 0.03).expect("one load is the same");
            (found.curve.iter().map(|one| one.name.clone()).collect::<Vec<_>>(), found.remarks)
        };
        let (alike, remarks) = figures(&["p99<1s"], &["p99<1s"]);
        assert!(!remarks.iter().any(|one| one.contains("limits")), "{remarks:?}");
        let (others, remarks) = figures(&["p99<1s"], &["p99<5s"]);
        assert_eq!(others, [] as [&str; 0]);
        assert!(remarks.iter().any(|one| one.contains("limits to keep differ")), "{remarks:?}");
        let (mixed, remarks) = figures(&["p99<1s", "p99<5s"], &["p99<1s", "p99<1s"]);
        assert_eq!(mixed, [] as [&str; 0]);
        assert!(
            remarks.iter().any(|one| one.contains("1 of the 2 runs of the first side are of another job")),
            "{remarks:?}"
        );
        assert_eq!(alike, ["highest rate within the limits"]);
    }
}
