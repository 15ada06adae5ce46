//! What of a step's beginning is a warm-up, and from where on its rest is judged. MSER-5 says how far it may reach: noise of what
//! follows moves its minimum by batches, so that shorter ones are tried as well, each against the rest alone. Does not know what
//! else is told of a step.

use super::{
    LASTING_MIN, LEVEL_MIN, LEVELS_CERTAIN, Second, StepView, changes, is_by_load, is_certain, squares_of,
};
use crate::statistics::{Change, Sample, Trend, correlation_allowed, trend, warm_up};
use crate::validity::Found;
use fathom_schema::Severity;

/// Fewest intervals that MSER-5 is asked of: it has four batches of them then.
const WARM_MIN: usize = 20;
/// Fewest intervals of which the first may be a slow start: three of them leave five for what is usual.
const SLOW_INTERVALS_MIN: usize = 8;
/// The mean of a slow start as a share of that of the rest, at most.
const SLOW_SHARE: f64 = 0.8;
/// Standard errors by which it lies below.
const PLAIN_ERRORS: f64 = 8.0;
/// What the rest is taken to scatter at least, as a share: few intervals may be alike by chance.
const SCATTER_MIN: f64 = 0.01;
/// Intervals of a batch of it.
const BATCH: usize = LASTING_MIN;
/// The part of a step up to which a first level is a warm-up: one that is slower, and one that is faster, which may be a cache
/// that fills, and is looked at as a cliff if it lasts.
pub(super) const RISE_PART: usize = 4;
pub(super) const FALL_PART: usize = 10;
/// What a warm-up has to make of the mean over all, as a share: the first second of a minute is hardly ever like the others.
const EFFECT_MIN: f64 = 0.01;
/// Share of what the first few intervals are off the rest that those after them may be, where the few are all of a warm-up; and that a
/// warm-up is off from its first intervals on.
const BRIEF_LEFT: f64 = 0.5;
/// The same of the end of a longer one that is left out of what is told of it.
const TAIL_LEFT: f64 = 0.1;
/// Standard errors by which the intervals behind a few are off, to be of a warm-up with them: they are looked for at one place.
const ADDED_CERTAIN: f64 = 2.0;
/// Standard errors of a variance (`√(2/(n−1))` of itself) by which that of the rest may be too small. What scatters far less than
/// counts at random do is no such counts: a device that serves 200 per second one after the other scatters by its service times, 2 %,
/// and not by 7 %.
const VARIANCE_CERTAIN: f64 = 5.0;
/// Share of the slope of all that the rest goes on with, for all to be one line.
const ALONG_MIN: f64 = 0.4;

/// How a step begins, in intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Start {
    /// What is told as a warm-up; 0 where nothing is.
    pub warm: usize,
    /// What says nothing of where the rest goes: a warm-up with its end, or a beginning too slight to be told.
    pub over: usize,
}

/// Which of the first intervals are a warm-up, if any: a first level that is left early, what MSER-5 cuts, or the most of it that the
/// rest can be told from.
pub(super) fn start(seconds: &[Second], iops: &[f64], levels: &[Change]) -> Start {
    if iops.len() < WARM_MIN {
        let length = slow_start(iops);
        let warm = if length > 0 && is_by_load(seconds, 0, length, seconds.len()) { 0 } else { length };
        return Start { warm, over: warm };
    }
    let Start { warm, over } = match first_level(iops, levels) {
        Some(length) => Start { warm: length, over: length },
        None => settling(seconds, iops, levels),
    };
    let is_other = |length: usize| {
        length == 0 || is_by_load(seconds, 0, length, seconds.len()) || is_one_line(iops, length)
    };
    let warm = if is_other(warm) { 0 } else { warm };
    // What is not told says nothing by itself: where a line tells as much, that is what there is to tell.
    let is_line = is_other(over) || warm == 0 && is_line_better(iops, over);
    Start { warm, over: if is_line { 0 } else { over } }
}

/// How many of the first intervals of a short step are a slow start; 0 where it has none that is plain. MSER-5 has too few batches there,
/// so that only what cannot be overlooked is told: all of them below all others, by a fifth in the mean, and by far more than the others
/// scatter.
fn slow_start(iops: &[f64]) -> usize {
    let count = iops.len();
    if count < SLOW_INTERVALS_MIN {
        return 0;
    }
    let is_plain = |length: &usize| {
        let (first, rest) = iops.split_at(*length);
        let (before, after) = (Sample::of(first), Sample::of(rest));
        let least = rest.iter().copied().fold(f64::INFINITY, f64::min);
        let error = after.stddev().max(SCATTER_MIN * after.mean)
            * (1.0 / *length as f64 + 1.0 / (count - length) as f64).sqrt();
        first.iter().all(|value| *value < least)
            && before.mean <= SLOW_SHARE * after.mean
            && after.mean - before.mean > PLAIN_ERRORS * error
    };
    // Those after which the rest scatters least.
    let scatter = |length: &usize| Sample::of(&iops[*length..]).stddev();
    (1..=count * 2 / 5)
        .filter(is_plain)
        .min_by(|one, other| scatter(one).total_cmp(&scatter(other)))
        .unwrap_or(0)
}

/// Tells a warm-up of so many intervals.
pub(super) fn tell(length: usize, seconds: &[Second], iops: &[f64], view: &StepView<'_>, found: &mut Found) {
    let share = Sample::of(&iops[..length]).mean / Sample::of(&iops[length..]).mean - 1.0;
    let word = if share < 0.0 { "below" } else { "above" };
    found.mark(view, seconds[length].start, "warm-up ends".to_owned());
    found.weighed(
        share.abs(),
        "behaviour.warm-up",
        Severity::Warn,
        format!(
            "{}warm-up of about {:.0} s: throughput is {:.0} % {word} the rest then",
            view.place(),
            seconds[length].start.as_secs_f64() - seconds[0].start.as_secs_f64(),
            share.abs() * 100.0
        ),
        "they count in the figures: give the stage a ramp at least as long",
    );
}

/// Whether the first values are so far off the others that the figures of all are too.
pub(super) fn matters(iops: &[f64], length: usize) -> bool {
    let (all, after) = (Sample::of(iops), Sample::of(&iops[length..]));
    let share = |values: &[f64]| (Sample::of(values).mean / after.mean - 1.0).abs();
    // Most of a warm-up that ends smoothly is near the rest: its beginning tells how far it goes.
    let depth = share(&iops[..length]).max(share(&iops[..LASTING_MIN.min(length)]));
    depth >= LEVEL_MIN && (all.mean / after.mean - 1.0).abs() >= EFFECT_MIN
}

/// The length of a first level that is left early and for good, where there is one: briefly above the others, or below them.
fn first_level(iops: &[f64], levels: &[Change]) -> Option<usize> {
    let (first, later) = levels.split_first()?;
    let comes_back = later.iter().any(|change| changes::is_undone(first, change.after));
    (is_early(first, iops.len()) && !comes_back && matters(iops, first.at)).then_some(first.at)
}

/// Whether a first level is left so early that it may be a warm-up.
fn is_early(first: &Change, length: usize) -> bool {
    first.at * (if first.after > first.before { RISE_PART } else { FALL_PART }) <= length
}

/// What settles smoothly. Where MSER-5 finds no steady part, which noise of few batches is enough for, it has looked in the first
/// quarter alone: that is as far as one is looked for then.
fn settling(seconds: &[Second], iops: &[f64], levels: &[Change]) -> Start {
    let (longest, is_found) = warm_up(iops).map_or((0, false), |warm| (warm.length, warm.is_found));
    let (mut over, mut slight) = (0, 0);
    for cut in (1..=longest / BATCH).rev().map(|batches| batches * BATCH) {
        // Up to the next level, which is no noise of this one; the warm-up's own end is not known to the value.
        let next = levels.iter().map(|change| change.at).find(|&at| at > cut + LASTING_MIN);
        let rest = &iops[cut..next.unwrap_or(iops.len())];
        let noise = Noise::of(seconds, rest);
        // What goes on behind the next level is no rest: that of MSER-5 is steady as a whole. What bends looks like a memory, which
        // makes its slope uncertain.
        let is_of_it = is_found && cut == longest || is_settled(iops, cut, trend(&iops[cut..]).as_ref());
        if !is_of_it || !is_apart(iops, levels, cut, rest) || !noise.is_exceeded(&iops[..cut], LEVELS_CERTAIN)
        {
            continue;
        }
        over = over.max(cut);
        // Half of a step that hardly differs from the other one is no beginning.
        if cut * RISE_PART <= iops.len() {
            slight = slight.max(cut);
        }
        if let Some(warm) = length_told(iops, levels, cut, &noise) {
            return Start { warm, over };
        }
    }
    Start { warm: 0, over: slight }
}

/// Whether so many first intervals may be a beginning that the rest is no part of.
fn is_apart(iops: &[f64], levels: &[Change], cut: usize, rest: &[f64]) -> bool {
    let (before, after) = (Sample::of(&iops[..cut]), Sample::of(&iops[cut..]));
    // What comes again later is a level among others.
    if levels.first().is_some_and(|first| first.at <= cut + LASTING_MIN) && changes::comes_again(levels) {
        return false;
    }
    // A change at once after a long time ends no warm-up: what came before it lasted. Of what rises, where it is the end.
    let lasts = levels.first().is_some_and(|first| {
        let falls = first.after < first.before;
        !is_early(first, iops.len()) && (falls || first.at <= cut + LASTING_MIN)
    });
    // What begins where it ends has dipped meanwhile.
    let begins_off = (Sample::of(&iops[..LASTING_MIN]).mean - after.mean).abs()
        >= BRIEF_LEFT * (before.mean - after.mean).abs();
    !lasts && is_settled(iops, cut, trend(rest).filter(is_certain).as_ref()) && begins_off
}

/// Whether what follows so many first values stays, or goes back, or goes on by less than half of what they are off.
fn is_settled(iops: &[f64], cut: usize, drift: Option<&Trend>) -> bool {
    let off = Sample::of(&iops[..cut]).mean - Sample::of(&iops[cut..]).mean;
    // What follows goes on as before: it is one slope.
    drift.is_none_or(|drift| drift.change * off > 0.0 || drift.change.abs() < off.abs() / 2.0)
}

/// How many of the first intervals are told, of so many that are off the rest; `None` where they are too slight.
fn length_told(iops: &[f64], levels: &[Change], cut: usize, noise: &Noise) -> Option<usize> {
    if !matters(iops, cut) {
        return None;
    }
    // MSER-5 counts in fives. A change at once is known to the value.
    let sharp = levels.first().map(|first| first.at).filter(|&at| at <= cut && cut < at + 2 * LASTING_MIN);
    if sharp.is_some() {
        return sharp;
    }
    match brief(&iops[..cut], noise) {
        Some(length) if matters(iops, length) => Some(length),
        Some(length) => lengthened(iops, length, cut, noise),
        None => Some(shortened(iops, cut, noise)),
    }
}

/// A few intervals may be so far off that all five are, or as many fives as noise makes of it: how many of the first ones, where
/// two levels explain the most, and what follows is near the rest.
fn brief(first: &[f64], noise: &Noise) -> Option<usize> {
    let explained = |length: usize| length as f64 * noise.off(&first[..length]).powi(2);
    (1..LASTING_MIN).max_by(|&a, &b| explained(a).total_cmp(&explained(b))).filter(|&length| {
        let (before, after) = first.split_at(length);
        noise.off(after).abs() < BRIEF_LEFT * noise.off(before).abs()
            && !noise.is_exceeded(after, LEVELS_CERTAIN)
    })
}

/// The shortest beginning that matters where the few intervals that explain the most do not: with what is off to the same side behind
/// them, as the end of an approach is.
fn lengthened(iops: &[f64], brief: usize, cut: usize, noise: &Noise) -> Option<usize> {
    let side = noise.off(&iops[..brief]);
    (brief + 1..=cut).find(|&length| {
        let added = &iops[brief..length];
        noise.off(added) * side > 0.0 && noise.is_exceeded(added, ADDED_CERTAIN) && matters(iops, length)
    })
}

/// As many fives as are off the rest: noise lets MSER-5 cut more, and where there is none it cuts what is off by next to nothing.
fn shortened(iops: &[f64], cut: usize, noise: &Noise) -> usize {
    let is_all = |&length: &usize| {
        let (first, tail) = (&iops[..length], &iops[length..cut]);
        let off = noise.off(tail).abs().max(noise.off(&tail[..BATCH]).abs());
        off < TAIL_LEFT * noise.off(first).abs()
            && (off < EFFECT_MIN * noise.mean || !noise.is_exceeded(tail, ADDED_CERTAIN))
            && matters(iops, length)
    };
    (BATCH..cut).step_by(BATCH).find(is_all).unwrap_or(cut)
}

/// How the rest scatters. The first values themselves say nothing of it: those of a warm-up rise, which looks like a long memory.
struct Noise {
    mean: f64,
    /// Of independent values whose means would vary as those of the rest do.
    variance: f64,
    /// Values of the rest.
    count: usize,
}

impl Noise {
    /// Noise that scatters and remembers as these do, and scatters as counts at random do at least, but where they scatter for certain
    /// by less.
    fn of(seconds: &[Second], rest: &[f64]) -> Self {
        let sample = Sample::of(rest);
        let correlation = correlation_allowed(rest, sample.mean);
        let remembered = sample.variance * (1.0 + correlation) / (1.0 - correlation);
        let length = seconds.iter().map(|second| second.length).sum::<f64>() / seconds.len() as f64;
        let freedom = sample.count.saturating_sub(1).max(1) as f64;
        let most = sample.variance * (1.0 + VARIANCE_CERTAIN * (2.0 / freedom).sqrt());
        let of_counts = (sample.mean / length).min(most);
        Self { mean: sample.mean, variance: remembered.max(of_counts), count: sample.count }
    }

    /// How far the mean of values is off that of the rest.
    fn off(&self, values: &[f64]) -> f64 {
        Sample::of(values).mean - self.mean
    }

    /// Whether that is more than so many standard errors.
    fn is_exceeded(&self, values: &[f64], errors: f64) -> bool {
        let error = (self.variance / values.len() as f64 + self.variance / self.count as f64).sqrt();
        self.off(values).abs() > errors * error
    }
}

/// Whether a straight line tells better how a series goes than a first level of so many values does, and one for the others; and the
/// others go on along it, as those behind an approach do not. Of two levels a line takes three quarters of the squares at most.
fn is_one_line(iops: &[f64], first: usize) -> bool {
    let Some(line) = trend(iops).filter(|line| first > 0 && is_certain(line)) else { return false };
    let slope = |of: &Trend, count: usize| of.change / (count - 1) as f64;
    let along = ALONG_MIN * slope(&line, iops.len());
    let rest = trend(&iops[first..]).map(|rest| slope(&rest, iops.len() - first));
    if rest.is_none_or(|rest| rest * along.signum() < along.abs()) {
        return false;
    }
    is_line_better(iops, first)
}

/// Whether a straight line takes more of the squares about the mean than such a first level and one for the others do.
fn is_line_better(iops: &[f64], first: usize) -> bool {
    let (before, after) = (first as f64, (iops.len() - first) as f64);
    trend(iops).is_some_and(|line| {
        let sum: f64 = iops[..first].iter().map(|rate| rate - line.mean).sum();
        squares_of(&line, iops.len()) > sum * sum * (1.0 / before + 1.0 / after)
    })
}
