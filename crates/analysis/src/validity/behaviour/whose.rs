//! Whose a stall is: of all throughput, of some streams beside others that went on, or of a part of it. What all streams did together
//! tells neither how long the one that stopped did so, nor when.

use super::stalls::{LOST_MIN, OPERATIONS_MIN, Stall, WAITED_SHARE};
use super::usual::Usual;
use super::{Second, StepView, median};
use crate::measured::operations;
use fathom_schema::{Interval, Phase};
use fathom_units::Nanos;
use std::collections::BTreeMap;

/// Share of the longest wait that a stream may have lost which went on meanwhile.
const WENT_ON_MAX: f64 = 0.3;
/// Share of what is usual that goes on in a stall of a part.
const PART_MIN: f64 = 0.2;
/// Times what is lost of all throughput that the longest wait is in a stall of a part.
const PART_TIMES: f64 = 2.0;

/// Whose a stall is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Whose {
    /// Of all throughput.
    All,
    /// Of the streams of these names.
    Streams(Vec<String>),
    /// Of what is done by some of what streams go to: this share of what is usual went on.
    Part(f64),
}

impl Whose {
    /// Whether it is of the same: of a part, whatever share of the whole went on each time.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Part(_), Self::Part(_))) || self == other
    }

    /// What stopped, for people.
    pub(super) fn words(&self) -> String {
        match self {
            Self::All => "throughput stopped".to_owned(),
            Self::Streams(names) => match names.as_slice() {
                [one] => format!("stream {one} stopped, while others went on,"),
                [one, other] => format!("streams {one} and {other} stopped, while others went on,"),
                all => format!("{} streams stopped, {} among them, while others went on,", all.len(), all[0]),
            },
            Self::Part(left) => format!("throughput fell to {:.0} % of what is usual", left * 100.0),
        }
    }
}

/// One stream in the intervals of a stall.
struct OfStream {
    /// Seconds that the missing operations would have taken.
    lost_s: f64,
    /// When it began to miss them, seconds.
    began_s: f64,
    /// Operations that it does in the longest wait otherwise.
    would_do: f64,
}

/// Whose a stall is; when it began and how long it lasted are then those of what stopped.
pub(super) fn narrowed(stall: &mut Stall, seconds: &[Second], usual: &Usual, view: &StepView<'_>) -> Whose {
    let streams = &view.step.started.step.streams;
    let all: Vec<Option<OfStream>> =
        (0..streams.len()).map(|which| of_stream(which, stall, seconds, view)).collect();
    let is_told = |one: &&OfStream| one.would_do >= OPERATIONS_MIN;
    let is_stopped = |one: &OfStream| one.lost_s >= WAITED_SHARE * stall.slowest_s;
    let goes_on = all.iter().flatten().filter(is_told).any(|one| one.lost_s < WENT_ON_MAX * stall.slowest_s);
    let stopped: Vec<(&OfStream, &str)> = all
        .iter()
        .zip(streams)
        .filter_map(|(one, stream)| {
            Some((one.as_ref().filter(is_told).filter(|one| is_stopped(one))?, &*stream.name))
        })
        .collect();
    if goes_on && !stopped.is_empty() {
        let lost_s = stopped.iter().map(|(one, _)| one.lost_s).fold(0.0, f64::max);
        // What waited through it knows better, where its ends lie within intervals.
        let edges_s = seconds[stall.from].length + seconds[stall.to - 1].length;
        stall.length_s = if (stall.slowest_s - lost_s).abs() <= edges_s { stall.slowest_s } else { lost_s };
        stall.began_s = stopped.iter().map(|(one, _)| one.began_s).fold(f64::INFINITY, f64::min);
        return Whose::Streams(stopped.into_iter().map(|(_, name)| name.to_owned()).collect());
    }
    // Those at its ends hold what was done before it and after it.
    let within = &seconds[(stall.from + 1).min(stall.to)..stall.to.max(stall.from + 2) - 1];
    if within.is_empty() {
        return Whose::All;
    }
    let left = within.iter().map(|second| second.iops).sum::<f64>() / within.len() as f64 / usual.iops;
    if stall.slowest_s >= PART_TIMES * stall.lost_s && left >= PART_MIN {
        stall.length_s = stall.slowest_s;
        return Whose::Part(left.min(1.0));
    }
    Whose::All
}

/// An interval of one stream: from when to when, and what was done in it.
struct Stretch {
    start: Nanos,
    end: Nanos,
    operations: u64,
}

impl Stretch {
    fn length_s(&self) -> f64 {
        self.end.since(self.start).as_secs_f64()
    }

    fn rate(&self) -> f64 {
        self.operations as f64 / self.length_s()
    }
}

/// The measured intervals of a stream. What some of its workers told late, perhaps long after, is part of the interval that it began in,
/// which is no longer for that.
fn intervals_of(which: usize, view: &StepView<'_>) -> Vec<Stretch> {
    let is_own = |interval: &&Interval| interval.phase == Phase::Measure && interval.stream as usize == which;
    let mut all: BTreeMap<u64, Stretch> = BTreeMap::new();
    let (late, regular): (Vec<&Interval>, Vec<&Interval>) =
        view.step.intervals.iter().filter(is_own).partition(|interval| interval.late);
    for Interval { sequence, start, end, tally, .. } in regular.into_iter().chain(late) {
        let whole = all.entry(*sequence).or_insert(Stretch { start: *start, end: *end, operations: 0 });
        whole.operations += operations(tally);
    }
    all.into_values().filter(|one| one.end > one.start).collect()
}

/// What a stream missed in a stall; `None` where it did nothing otherwise.
fn of_stream(which: usize, stall: &Stall, seconds: &[Second], view: &StepView<'_>) -> Option<OfStream> {
    let (start, end) = (seconds[stall.from].start, seconds[stall.to - 1].end);
    let (within, others): (Vec<Stretch>, Vec<Stretch>) =
        intervals_of(which, view).into_iter().partition(|one| one.start < end && one.end > start);
    let others: Vec<f64> = others.iter().map(Stretch::rate).collect();
    if others.is_empty() {
        return None;
    }
    let usual = median(&others);
    if usual <= 0.0 {
        return None;
    }
    let lost = |one: &Stretch| (1.0 - one.rate() / usual).max(0.0) * one.length_s();
    let first = within.iter().find(|one| lost(one) >= LOST_MIN * one.length_s());
    Some(OfStream {
        lost_s: within.iter().map(lost).sum(),
        began_s: first.map_or(f64::INFINITY, |one| one.end.as_secs_f64() - lost(one)),
        would_do: usual * stall.slowest_s,
    })
}
