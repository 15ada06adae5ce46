//! Thresholds of a run for people: whether all are kept in one sentence, and each with what was found. Owns the words; the
//! verdicts are `fathom_analysis::thresholds`'.

use crate::curve::{number, too_few_for};
use crate::section::Section;
use crate::table::{left, visible};
use crate::tables::Table;
use fathom_analysis::thresholds::{Found, Kept, Verdict};
use fathom_schema::{Bound, BoundFigure, Threshold};

/// Whether they are kept, in one sentence.
pub(crate) fn sentence(all: &[Kept]) -> String {
    let of = |verdict: Verdict| all.iter().filter(|one| one.verdict == verdict).count();
    let (broken, few, undecided) = (of(Verdict::Breached), of(Verdict::TooFew), of(Verdict::Undecided));
    let is_next = |pair: &[Kept]| pair[0].threshold == pair[1].threshold && pair[0].step != pair[1].step;
    let is_one = all.windows(2).all(is_next);
    let of_all = if is_one { broken_or_kept_in_steps } else { broken_or_kept };
    let mut said = of_all(all.len(), broken, few + undecided);
    let these = |count: usize| match (all.len(), count) {
        (1, _) => "the threshold is kept".to_owned(),
        (all, count) if is_one && count == all => format!("the threshold is kept in any of {all} steps"),
        (all, count) if is_one => format!("the threshold is kept in {count} of {all} steps"),
        (all, 1) => format!("1 of {all} thresholds is kept"),
        (all, count) => format!("{count} of {all} thresholds are kept"),
    };
    let mut reasons = Vec::new();
    if few > 0 {
        let needs = all.iter().filter(|one| one.verdict == Verdict::TooFew).filter_map(|one| one.needs).max();
        let needs = needs.map(|needs| needs.to_string()).unwrap_or_default();
        reasons.push(format!(
            "Cannot tell whether {}: too few operations came for the percentile, which takes {needs} in a step.",
            these(few)
        ));
    }
    if undecided > 0 {
        reasons.push(format!(
            "Cannot tell whether {}: what was done keeps it, but not with the arrivals that still waited when the time was \
             up, done as fast as those before.",
            these(undecided)
        ));
    }
    said.push_str(&reasons.join(" "));
    said
}

/// What is said of one threshold in several steps.
fn broken_or_kept_in_steps(steps: usize, broken: usize, untold: usize) -> String {
    match (steps, broken) {
        (0 | 1, _) => broken_or_kept(steps, broken, untold),
        (_, 0) if untold > 0 => String::new(),
        (steps, 0) => format!("The threshold is kept in all {steps} steps."),
        (steps, broken) => {
            let in_all = if broken == steps { "all " } else { &format!("{broken} of ") };
            let rest = if untold > 0 { " " } else { "" };
            format!("The threshold is breached in {in_all}{steps} steps.{rest}")
        }
    }
}

/// What is said of those that can be told.
fn broken_or_kept(count: usize, broken: usize, untold: usize) -> String {
    if untold > 0 {
        return match broken {
            0 => String::new(),
            1 => format!("1 of {count} thresholds is breached. "),
            broken => format!("{broken} of {count} thresholds are breached. "),
        };
    }
    match (count, broken) {
        (0, _) => "Nothing was measured: no threshold could be judged.".to_owned(),
        (1, 0) => "The threshold is kept.".to_owned(),
        (1, _) => "The threshold is breached.".to_owned(),
        (count, 0) => format!("All {count} thresholds are kept."),
        (count, broken) if broken == count => format!("All {count} thresholds are breached."),
        (count, 1) => format!("1 of {count} thresholds is breached."),
        (count, broken) => format!("{broken} of {count} thresholds are breached."),
    }
}

/// What was found, in the unit of the threshold.
fn figure(one: &Kept) -> String {
    let figure = match one.found {
        Found::NoOperations => return "n/a: no such operation was completed".to_owned(),
        Found::NoEnd => return "n/a: the step has no end".to_owned(),
        Found::NotDone(share) => {
            return format!("n/a: beyond it are arrivals that were not done, {:.3} % of all", share * 100.0);
        }
        Found::Figure(figure) => beside_limit(figure, &one.threshold),
    };
    match (one.needs, one.waiting) {
        // The largest value is what the percentile cannot be above.
        (Some(needs), _) => format!("{}, largest {figure}", too_few_for(needs)),
        (None, Some(share)) => {
            format!("{figure} so far; {:.3} % of all arrivals still waited", share * 100.0)
        }
        (None, None) => figure,
    }
}

/// A figure that is not the limit, with as many digits as tell it from that.
fn beside_limit(figure: f64, threshold: &Threshold) -> String {
    let of = |figure: BoundFigure, limit: f64| Bound { kind: None, figure, is_above: true, limit };
    let bound = match *threshold {
        Threshold::IopsAbove(limit) | Threshold::IopsBelow(limit) => of(BoundFigure::Iops, limit),
        Threshold::BandwidthAbove(limit) => of(BoundFigure::Bandwidth, limit),
        Threshold::Latency(goal) => of(BoundFigure::Max, goal.limit.as_secs_f64()),
        Threshold::ErrorsBelow(_) => return number(figure),
        Threshold::Bound(bound) => bound,
    };
    let (short, limit) = (bound.print(figure), bound.print(bound.limit));
    if short == limit { bound.in_full(figure) } else { short }
}

/// Most of them that people are shown.
const SHOWN_MAX: usize = 40;

/// Those that people are shown, and what is said of the others: of many, those that are not kept.
fn shown(all: &[Kept]) -> (Vec<&Kept>, Vec<String>) {
    if all.len() <= SHOWN_MAX {
        return (all.iter().collect(), Vec::new());
    }
    let mut broken: Vec<&Kept> = all.iter().filter(|one| one.verdict != Verdict::Kept).collect();
    let mut lines = Vec::new();
    if broken.len() < all.len() {
        lines.push(format!("{} are kept and not listed", all.len() - broken.len()));
    }
    if broken.len() > SHOWN_MAX {
        lines.push(format!("the first {SHOWN_MAX} of {} that are not kept", broken.len()));
        broken.truncate(SHOWN_MAX);
    }
    (broken, lines)
}

/// The table of them.
pub(crate) fn sections(all: &[Kept]) -> Vec<Section> {
    if all.is_empty() {
        return Vec::new();
    }
    let (rows, lines) = shown(all);
    let is_one_step = all.iter().all(|one| one.step == all[0].step);
    let row = |one: &Kept| {
        vec![
            if is_one_step { String::new() } else { visible(&one.step) },
            one.threshold.to_string(),
            one.verdict.name().replace('_', " "),
            figure(one),
        ]
    };
    let table = Table {
        columns: vec![left("step"), left("threshold"), left("verdict"), left("found")],
        rows: rows.into_iter().map(row).collect(),
        remark: None,
    };
    vec![Section {
        title: "Thresholds".to_owned(),
        lines,
        tables: vec![("What was asked and what was found".to_owned(), table)],
        ..Section::default()
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_near_its_limit_has_the_digits_that_tell_it_from_that() {
        for (threshold, found, row) in [
            ("iops>1000.5", 1000.0, "IOPS > 1000.5: 1000"),
            ("iops>1000", 1000.25, "IOPS > 1000: 1000.25"),
            ("iops>2k", 1000.25, "IOPS > 2000: 1000"),
            ("bandwidth>4.1MB/s", 4_096_000.0, "bandwidth > 4.10 MB/s: 4.096 MB/s"),
            ("read.iops>12340", 12_341.5, "read.IOPS > 12.34k: 12.3415k"),
            ("p99<1ms", 0.001_000_4, "p99 < 1.00 ms: 1.0004 ms"),
            ("max<1ms", 0.001, "max < 1.00 ms: 1.00 ms"),
            ("errors<1", 2.0, "errors < 1: 2"),
        ] {
            let threshold: Threshold = threshold.parse().expect("it is one");
            assert_eq!(format!("{threshold}: {}", beside_limit(found, &threshold)), row);
        }
    }
}
