//! Findings about stalls: times at which nothing, or hardly anything, was completed. Those that come regularly, and single ones.
//!
//! A stall is told from noise twice. Its intervals have to hold fewer operations than random counts of that mean ever do; and of a
//! single one, some operation has to have waited through it: a gap between arrivals makes nobody wait. Those that come regularly
//! may each be too brief to be told alone: their spacing tells them, and what they cost together. Those that leave no interval
//! usual are looked for last, in `frequent`.

use super::usual::{Usual, highest};
use super::whose::{Whose, narrowed};
use super::{Second, StepView, frequent, held, instant, median};
use crate::statistics::{Rhythm, poisson_at_most, rhythm};
use crate::validity::Found;
use fathom_schema::{Interval, Pacing, Phase, Severity, Think};
use fathom_units::Nanos;
use std::ops::Range;

/// Fewest intervals that tell what is usual of those that are no single stall.
const INTERVALS_MIN: usize = 4;
/// Fewest in which stalls that come regularly, or that leave no interval as it were without them, are looked for.
pub(super) const MANY_MIN: usize = 8;
/// Fewest operations of an interval in whose number a rhythm is looked for.
pub(super) const OPERATIONS_MIN: f64 = 5.0;
/// Share of the median below which an interval may be one of stalls that come regularly.
const STALL_SHARE: f64 = 0.5;
/// Stalls that come regularly and are marked; more would be a hatching.
const MARKED_MAX: usize = 12;
/// Share of an interval that has to be lost for it to be part of a stall: a stall may begin and end within one.
pub(super) const LOST_MIN: f64 = 0.15;
/// Share of what a stall cost that some operation has to have waited.
pub(super) const WAITED_SHARE: f64 = 0.5;
/// Share of what is missing in intervals next to one another that waits in each of them have to explain together.
const EXPLAINED_SHARE: f64 = 0.8;
/// Share of the longest wait that has to be lost for it to be a stall of all, and not a wait of a few.
const COST_SHARE: f64 = 0.3;
/// How many times as long as the slowest of an interval usually takes that operation has to have taken.
pub(super) const SLOWER_TIMES: f64 = 5.0;
/// Operations in flight all through an interval for it to have been waited for, but for rounding of its ends.
const IN_FLIGHT_MIN: f64 = 0.9;
/// Times what is lost that the slowest operation has to have waited for parts of a stall to be looked for beside it.
const SHORT_BY: f64 = 1.05;
/// Share of an interval that noise beside it may seem to be of a stall that lies within it.
const ASIDE_SHARE: f64 = 0.05;
/// Chance that noise alone shows something like it anywhere in the stretch that is looked at.
pub(super) const CHANCE_MAX: f64 = 1e-4;

/// Intervals next to one another in which operations are missing.
pub(super) struct Stall {
    /// Index of the first, and behind the last.
    pub from: usize,
    pub to: usize,
    /// Seconds that the missing operations would have taken.
    pub lost_s: f64,
    /// The longest that an operation took which was under way then, seconds.
    pub slowest_s: f64,
    /// When it began, and how long it lasted, seconds.
    pub began_s: f64,
    pub length_s: f64,
    /// The intervals that tell whether operations are missing.
    pub missing: Range<usize>,
    /// Whether what waited through it is of the ramp, and no operation that counts.
    pub is_of_ramp: bool,
    /// Between when it began, seconds, and with how many decimals that is told, where the record knows no nearer.
    pub began_within: Option<(f64, f64, usize)>,
}

impl Stall {
    /// Its intervals with the one before: by waits alone a stall is seen where it ends.
    fn reach(&self) -> Range<usize> {
        self.from.saturating_sub(1)..self.to
    }

    /// What an interval misses may have been missed in any part of it; what waited through it was done in it.
    fn find_bounds(&mut self, seconds: &[Second]) {
        let (start_s, end_s) = (seconds[self.from].start.as_secs_f64(), seconds[self.from].end.as_secs_f64());
        let interval_s = end_s - start_s;
        let aside_s = ASIDE_SHARE * interval_s;
        let is_within = self.began_s >= start_s - aside_s
            && self.began_s + self.length_s <= end_s + aside_s
            && self.length_s < interval_s;
        if self.to - self.from == 1 && is_within && !self.is_of_ramp {
            let decimals = [0.5, 0.05].iter().filter(|&&length| interval_s < length).count() + 1;
            self.began_within =
                Some(((start_s - self.length_s).max(0.0), (end_s - self.length_s).max(0.0), decimals));
        }
    }
}

/// Tells stalls. What is left to look at is all but them.
pub(super) fn check(mut seconds: Vec<Second>, view: &StepView<'_>, found: &mut Found) -> Vec<Second> {
    if seconds.len() < INTERVALS_MIN {
        return seconds;
    }
    if let Some(from) = stalled_to_the_end(&seconds, is_closed(view)) {
        tell_of_the_end(&seconds, from, view, found);
        seconds.truncate(from);
        return check(seconds, view, found);
    }
    let of_all = Usual::of(&seconds, is_closed(view));
    let Usual { iops: usual, dispersion, stops, .. } = of_all;
    // How often noise shows so few operations at these places.
    let chance_in = |places: &mut dyn Iterator<Item = usize>| {
        let (mut expected, mut counted) = (0.0, 0.0);
        for second in places.map(|at| &seconds[at]) {
            expected += usual * second.length;
            counted += second.iops * second.length;
        }
        poisson_at_most((counted / dispersion).ceil(), expected / dispersion)
    };
    // The same between two places, anywhere in the stretch.
    let chance = |from: usize, to: usize| chance_in(&mut (from..to)) * seconds.len() as f64;
    let is_many = seconds.len() >= MANY_MIN;
    let series = match (is_many, stops) {
        (false, _) => None,
        (true, true) => regular_stops(&seconds, &of_all, view),
        (true, false) => regular(&seconds, &of_all, view),
    };
    let regular = series
        .and_then(|series| {
            let is_lost = chance_in(&mut series.places()) <= CHANCE_MAX;
            tell(&series, is_lost, &of_all, view, found).then_some(series)
        })
        .map(|series| series.stalls)
        .unwrap_or_default();
    // Of many that leave no interval as it were without them, their latencies say more than each of them.
    if is_many && stops && regular.is_empty() && frequent::check(&seconds, view, found) {
        return seconds;
    }
    let is_apart =
        |stall: &Stall| regular.iter().all(|other| stall.to <= other.reach().start || stall.from >= other.to);
    let of_ramp = since_the_ramp(&seconds, &of_all, &chance, view);
    let later = single(&seconds, &of_all, is_closed(view), &chance);
    let begins_later = |stall: &Stall| of_ramp.as_ref().is_none_or(|of_ramp| stall.from >= of_ramp.to);
    let later: Vec<Stall> = later.into_iter().filter(|stall| begins_later(stall)).collect();
    let mut all: Vec<Stall> = of_ramp.into_iter().chain(later).filter(is_apart).collect();
    let is_new = |stall: &Stall| {
        is_apart(stall) && all.iter().all(|other| stall.to <= other.from || stall.from >= other.to)
    };
    let held = if is_many { held::stalls(&seconds, &of_all, view, &is_new) } else { Vec::new() };
    all.extend(held);
    if held::has_bursts(view) {
        let is_stop = |second: &Second| of_all.is_stopped(second) && second.in_flight >= IN_FLIGHT_MIN;
        all.retain(|stall| seconds[stall.from..stall.to].iter().any(is_stop));
    }
    all.sort_by_key(|stall| stall.from);
    let whose: Vec<Whose> = all.iter_mut().map(|stall| narrowed(stall, &seconds, &of_all, view)).collect();
    all.iter_mut().for_each(|stall| stall.find_bounds(&seconds));
    tell_single(&all, &whose, view, found);
    if is_many && regular.is_empty() && all.is_empty() && !stops {
        frequent::check(&seconds, view, found);
    }
    let mut is_left = vec![true; seconds.len()];
    all.iter().for_each(|stall| is_left[stall.from..stall.to].fill(false));
    for stall in &regular {
        // Where stops are most of it, parts of intervals beside them come in a rhythm of their own.
        let to = if stops { (stall.to + 1).min(seconds.len()) } else { stall.to };
        is_left[stall.reach().start..to].fill(false);
    }
    seconds.into_iter().zip(is_left).filter_map(|(second, is_left)| is_left.then_some(second)).collect()
}

/// Whether an interval came late then: its worker was stuck, for whatever reason.
fn came_late(stall: &Stall, view: &StepView<'_>) -> bool {
    let (from, to) = (stall.began_s, stall.began_s + stall.length_s);
    let meets = |interval: &Interval| {
        interval.late && interval.start.as_secs_f64() < to && interval.end.as_secs_f64() > from
    };
    view.step.intervals.iter().any(meets)
}

/// Tells stalls that are no series, by the longest of them.
fn tell_single(all: &[Stall], whose: &[Whose], view: &StepView<'_>, found: &mut Found) {
    let longest = all.iter().zip(whose).max_by(|a, b| a.0.length_s.total_cmp(&b.0.length_s));
    let Some((longest, of_longest)) = longest else { return };
    for stall in all {
        found.mark(view, instant(stall.began_s), format!("stall, {}", time(stall.length_s)));
    }
    let alike = whose.iter().filter(|whose| whose.is_alike(of_longest)).count();
    let times = match alike {
        1 => "once".to_owned(),
        count => format!("{count} times, at the longest"),
    };
    let others = match all.len() - alike {
        0 => String::new(),
        1 => "; there is one other stall".to_owned(),
        count => format!("; there are {count} other stalls"),
    };
    let what = if longest.is_of_ramp {
        "what was in flight had begun in the ramp".to_owned()
    } else {
        format!("an operation took {} then", time(longest.slowest_s))
    };
    let when = match longest.began_within {
        Some((from, to, decimals)) => format!("begun between {from:.decimals$} s and {to:.decimals$} s"),
        None => format!("at {} s", tenths(longest.began_s)),
    };
    found.weighed(
        longest.length_s,
        "behaviour.stall",
        Severity::Warn,
        format!(
            "{}{} {times} for about {}, {when}: {what}{others}",
            view.place(),
            of_longest.words(),
            time(longest.length_s),
        ),
        if came_late(longest, view) {
            "an interval came late then: look first whether fathom itself was stopped or had no CPU, then at what else happened (the \
             kernel's log, the device's, other hosts); means hide it, the largest latency does not"
        } else {
            "look at what happened then (the kernel's log, the device's, other hosts); means hide it, the largest latency does not"
        },
    );
}

/// From which interval on hardly anything was completed, to the end and beyond it: something that was under way then took longer
/// than was left. It may be most of what was measured, so that what is usual is what went before.
fn stalled_to_the_end(seconds: &[Second], is_closed: bool) -> Option<usize> {
    let highest = highest(seconds, is_closed);
    let from = seconds.iter().rposition(|second| second.iops >= STALL_SHARE * highest)? + 1;
    let (before, stalled) = seconds.split_at(from);
    let lasted_s: f64 = stalled.iter().map(|second| second.length).sum();
    let Usual { iops: usual, slowest_s: usually_slowest, dispersion, .. } = Usual::of(before, is_closed);
    let slowest_s = stalled.last()?.slowest_s;
    let is_long =
        usually_slowest > 0.0 && slowest_s > lasted_s && slowest_s >= SLOWER_TIMES * usually_slowest;
    // What waits for the last operation is no time of the load.
    let length = median(&before.iter().map(|second| second.length).collect::<Vec<_>>());
    let time = |second: &Second| second.length.min(length);
    let expected: f64 = stalled.iter().map(|second| usual * time(second)).sum();
    let counted: f64 = stalled.iter().map(|second| second.iops * time(second)).sum();
    let chance =
        || poisson_at_most((counted / dispersion).ceil(), expected / dispersion) * seconds.len() as f64;
    (is_long && usual > 0.0 && chance() <= CHANCE_MAX).then_some(from)
}

fn tell_of_the_end(seconds: &[Second], from: usize, view: &StepView<'_>, found: &mut Found) {
    let (before, stalled) = seconds.split_at(from);
    let usual = Usual::of(before, is_closed(view));
    // It may have begun within the last interval that had something.
    let part = |second: &Second| lost_s(second, &usual);
    let lost_s: f64 = before.last().map_or(0.0, part) + stalled.iter().map(part).sum::<f64>();
    let slowest_s = stalled.iter().map(|second| second.slowest_s).fold(0.0, f64::max);
    found.mark(view, stalled[0].start, format!("stall, {}", time(slowest_s)));
    found.weighed(
        slowest_s,
        "behaviour.stall",
        Severity::Warn,
        format!(
            "{}throughput stopped at {:.0} s and did not come back before the end, for about {} of what was measured: an \
             operation took {}, and ended only after it",
            view.place(),
            stalled[0].start.as_secs_f64(),
            time(lost_s),
            time(slowest_s)
        ),
        "rates are of a part of a stall, however long it was: look at what happened then (the kernel's log, the device's, other \
         hosts), and measure for longer",
    );
}

fn time(seconds: f64) -> String {
    instant(seconds).approximate()
}

/// Seconds to a tenth, which is nearer than intervals mostly tell.
fn tenths(seconds: f64) -> String {
    format!("{seconds:.1}").trim_end_matches(".0").to_owned()
}

/// Whether all of the load waits for what went before. Else what was missed in a stall is made up for behind it, so that
/// throughput alone tells neither how long it was nor when.
pub(super) fn is_closed(view: &StepView<'_>) -> bool {
    let is_even = |pacing: &Pacing| matches!(pacing, Pacing::Closed { think: Think::None });
    view.step.started.step.streams.iter().all(|stream| is_even(&stream.pacing))
}

/// When a stall began whose first interval is this one: what it has was done before.
fn began_s(first: &Second, usual: f64) -> f64 {
    first.start.as_secs_f64() + first.length * (first.iops / usual).clamp(0.0, 1.0)
}

/// Single stalls, in order.
fn single(
    seconds: &[Second],
    usual: &Usual,
    is_closed: bool,
    chance: &dyn Fn(usize, usize) -> f64,
) -> Vec<Stall> {
    let is_low = |second: &Second| lost_s(second, usual) >= LOST_MIN * second.length;
    let mut stalls = Vec::new();
    let mut from = 0;
    for low in seconds.chunk_by(|a, b| is_low(a) == is_low(b)) {
        let to = from + low.len();
        if is_low(&low[0]) {
            let several = if is_closed { several(seconds, from..to, usual) } else { Vec::new() };
            let several: Vec<Stall> = several.into_iter().filter(|stall| is_certain(stall, chance)).collect();
            if several.len() > 1 {
                stalls.extend(several);
            } else {
                let one = one(seconds, from..to, usual, is_closed, chance);
                stalls.extend(one.filter(|stall| is_certain(stall, chance)));
            }
        }
        from = to;
    }
    stalls
}

/// Seconds of an interval that the operations would have taken which are missing in it.
fn lost_s(second: &Second, usual: &Usual) -> f64 {
    (1.0 - second.iops / usual.iops).max(0.0) * second.length
}

fn is_certain(stall: &Stall, chance: &dyn Fn(usize, usize) -> f64) -> bool {
    chance(stall.from, stall.to) <= CHANCE_MAX
}

/// The stall that lean intervals next to one another are, if what waited the longest waited through it.
fn one(
    seconds: &[Second],
    low: Range<usize>,
    usual: &Usual,
    is_closed: bool,
    chance: &dyn Fn(usize, usize) -> f64,
) -> Option<Stall> {
    // What waited through it was completed after it.
    let waited = &seconds[low.start..(low.end + 1).min(seconds.len())];
    let slowest = waited.iter().max_by(|a, b| a.slowest_s.total_cmp(&b.slowest_s))?;
    let slowest_s = slowest.slowest_s;
    let all_lost_s = |range: Range<usize>| seconds[range].iter().map(|one| lost_s(one, usual)).sum::<f64>();
    let is_felt =
        slowest_s >= WAITED_SHARE * all_lost_s(low.clone()) && slowest_s >= SLOWER_TIMES * usual.slowest_s;
    if !is_felt {
        return None;
    }
    let (from, to) = core(low.start, low.end, chance);
    let (from, to) = asked_of(seconds, from, to);
    let lost_s = all_lost_s(from..to);
    // It may end within an interval that makes up for it, and begin in one that others made up for.
    let reaches = lost_s + seconds[from].length + seconds[to - 1].length;
    let is_made_up_for = !is_closed && slowest_s > lost_s && slowest_s <= reaches;
    let (began_s, length_s) = if is_made_up_for {
        // The wait ended within its interval.
        let latest_s = slowest.end.as_secs_f64() - slowest_s;
        (began_s(&seconds[from], usual.iops).min(latest_s), slowest_s)
    } else if usual.stops && slowest_s > lost_s && slowest_s <= reaches {
        // Those beside it may all be parts, which makes less of what is usual, and of what is lost.
        (seconds[from].start.as_secs_f64(), slowest_s)
    } else if is_closed && slowest_s > SHORT_BY * lost_s {
        with_its_ends(seconds, from..to, usual, slowest_s)
    } else if is_closed && to - from > 1 {
        (began_s(&seconds[from], usual.iops), lost_s)
    } else {
        (seconds[from].start.as_secs_f64(), lost_s)
    };
    Some(Stall {
        from,
        to,
        lost_s,
        slowest_s,
        began_s,
        length_s,
        missing: from..to,
        is_of_ramp: false,
        began_within: None,
    })
}

/// When a stall of these intervals began and how long it was, in seconds, as far as the wait of the slowest operation through it
/// allows for parts of it in the intervals beside them, which are too small to be told by themselves.
fn with_its_ends(seconds: &[Second], core: Range<usize>, usual: &Usual, slowest_s: f64) -> (f64, f64) {
    let Range { start, end } = core;
    let lost_in = |at: Option<usize>| at.and_then(|at| seconds.get(at)).map_or(0.0, |one| lost_s(one, usual));
    let own_s: f64 = seconds[start..end].iter().map(|one| lost_s(one, usual)).sum();
    let (before_s, after_s) = (lost_in(start.checked_sub(1)), lost_in(Some(end)));
    let length_s = (own_s + before_s + after_s).min(slowest_s);
    let room_s = length_s - own_s;
    // Of what the core leaves, the larger part tells on which side of it the wait went on.
    let first = &seconds[start];
    let began_s = if before_s >= after_s {
        first.start.as_secs_f64() - room_s.min(before_s)
    } else {
        began_s(first, usual.iops)
    };
    (began_s, length_s)
}

/// The stalls that lean intervals next to one another are, where what waited in each of them explains together what is missing, and
/// better than what waited the longest does by itself.
fn several(seconds: &[Second], low: Range<usize>, usual: &Usual) -> Vec<Stall> {
    let is_end = |second: &Second| {
        second.slowest_s >= SLOWER_TIMES * usual.slowest_s && second.slowest_s >= LOST_MIN * second.length
    };
    let mut stalls: Vec<Stall> = Vec::new();
    let mut from = low.start;
    // What waited through the last was completed after it.
    for at in low.start..(low.end + 1).min(seconds.len()) {
        if !is_end(&seconds[at]) {
            continue;
        }
        let (to, slowest_s) = ((at + 1).min(low.end), seconds[at].slowest_s);
        if from < to {
            stalls.push(Stall {
                from,
                to,
                lost_s: slowest_s,
                slowest_s,
                began_s: seconds[from].start.as_secs_f64(),
                length_s: slowest_s,
                missing: from..to,
                is_of_ramp: false,
                began_within: None,
            });
        } else if let Some(last) = stalls.last_mut() {
            last.slowest_s = last.slowest_s.max(slowest_s);
            (last.lost_s, last.length_s) = (last.slowest_s, last.slowest_s);
        }
        from = to;
    }
    let lost_s: f64 = seconds[low].iter().map(|second| lost_s(second, usual)).sum();
    let all: f64 = stalls.iter().map(|stall| stall.slowest_s).sum();
    let longest = stalls.iter().map(|stall| stall.slowest_s).fold(0.0, f64::max);
    // Where operations only take longer, less is done between them than stops leave.
    let explains = all >= EXPLAINED_SHARE * lost_s && (all - lost_s).abs() < (longest - lost_s).abs();
    if explains { stalls } else { Vec::new() }
}

/// Intervals without those at their ends in which nothing was asked of the device, or all that came due was done: a pause of the load
/// says nothing of it.
fn asked_of(seconds: &[Second], mut from: usize, mut to: usize) -> (usize, usize) {
    let is_idle = |second: &Second| {
        let is_done = |due: f64| (due - second.iops) * second.length < 0.5;
        second.due.is_some_and(is_done) && (second.iops > 0.0 || second.in_flight == 0.0)
    };
    while to - from > 1 && is_idle(&seconds[from]) {
        from += 1;
    }
    while to - from > 1 && is_idle(&seconds[to - 1]) {
        to -= 1;
    }
    (from, to)
}

/// Intervals without those at their ends that are merely lean: with them it looks more like noise.
fn core(mut from: usize, mut to: usize, chance: &dyn Fn(usize, usize) -> f64) -> (usize, usize) {
    while to - from > 1 {
        let own = chance(from, to);
        if chance(from + 1, to) < own {
            from += 1;
        } else if chance(from, to - 1) < own {
            to -= 1;
        } else {
            break;
        }
    }
    (from, to)
}

/// Stalls that come regularly.
struct Series {
    stalls: Vec<Stall>,
    /// Seconds from one to the next.
    period_s: f64,
}

impl Series {
    /// Those of some stalls that come regularly, each told by the cell of time in which it ends.
    fn of(mut stalls: Vec<Stall>, cells: &[u64], length: f64) -> Option<Self> {
        let Rhythm { period, members, chance: _ } = rhythm(cells)?;
        let mut at = 0;
        stalls.retain(|_| {
            at += 1;
            members.binary_search(&(at - 1)).is_ok()
        });
        Some(Self { stalls, period_s: period * length })
    }

    /// The intervals that they may be in.
    fn places(&self) -> impl Iterator<Item = usize> {
        self.stalls.iter().flat_map(|stall| stall.missing.clone())
    }

    /// The mean of some figure of theirs.
    fn mean(&self, of: fn(&Stall) -> f64) -> f64 {
        self.stalls.iter().map(of).sum::<f64>() / self.stalls.len() as f64
    }
}

/// Moments at a regular spacing at which operations waited, or less than half of what is usual was completed.
fn regular(seconds: &[Second], usual: &Usual, view: &StepView<'_>) -> Option<Series> {
    let Usual { iops: usual, slowest_s: usually_slowest, .. } = *usual;
    // Where the load itself has gaps, fewer operations say nothing of the device.
    let counts_tell = is_closed(view);
    let is_marked = |second: &Second| {
        let waits = usually_slowest > 0.0 && second.slowest_s >= SLOWER_TIMES * usually_slowest;
        waits || (counts_tell && second.iops < STALL_SHARE * usual)
    };
    let length = median(&seconds.iter().map(|second| second.length).collect::<Vec<_>>());
    // Of few operations some intervals hold one less than others, as regularly as they come.
    if usual * length < OPERATIONS_MIN {
        return None;
    }
    let lost = |second: &Second| (1.0 - second.iops / usual) * second.length;
    let (mut stalls, mut cells): (Vec<Stall>, Vec<u64>) = (Vec::new(), Vec::new());
    let mut from = 0;
    for group in seconds.chunk_by(|a, b| is_marked(a) == is_marked(b)) {
        let to = from + group.len();
        if is_marked(&group[0]) {
            let slowest_s = group.iter().map(|second| second.slowest_s).fold(0.0, f64::max);
            let stall = if counts_tell {
                let lost_s = seconds[from.saturating_sub(1)..to].iter().map(lost).sum();
                let (began_s, length_s) = (seconds[from].start.as_secs_f64(), lost_s);
                let missing = from.saturating_sub(1)..to;
                Stall {
                    from,
                    to,
                    lost_s,
                    slowest_s,
                    began_s,
                    length_s,
                    missing,
                    is_of_ramp: false,
                    began_within: None,
                }
            } else {
                made_up_for(seconds, from, to, usual, slowest_s)
            };
            // What waits is completed with the end of a stall.
            let end = group[group.len() - 1].start.since(seconds[0].start).as_secs_f64();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
            let cell = (end / length).round() as u64;
            if cells.last().is_none_or(|last| cell > last + 1) {
                stalls.push(stall);
                cells.push(cell);
            }
        }
        from = to;
    }
    Series::of(stalls, &cells, length)
}

/// The same where nothing is done for most of the time, or nearly: intervals in which nothing was done and in which something was
/// in flight all the time, whatever the others hold.
fn regular_stops(seconds: &[Second], usual: &Usual, view: &StepView<'_>) -> Option<Series> {
    let length = median(&seconds.iter().map(|second| second.length).collect::<Vec<_>>());
    let (mut stalls, mut cells): (Vec<Stall>, Vec<u64>) = (Vec::new(), Vec::new());
    let mut from = 0;
    for group in seconds.chunk_by(|a, b| usual.is_stopped(a) == usual.is_stopped(b)) {
        let to = from + group.len();
        let stopped_s: f64 = group.iter().map(|second| second.length).sum();
        // What waited through it was completed after it.
        let waited = &seconds[from..(to + 1).min(seconds.len())];
        let slowest_s = waited.iter().map(|second| second.slowest_s).fold(0.0, f64::max);
        let is_felt = slowest_s >= WAITED_SHARE * stopped_s && slowest_s >= SLOWER_TIMES * usual.slowest_s;
        if usual.is_stopped(&group[0]) && is_felt {
            let lost = |second: &Second| (1.0 - second.iops / usual.iops) * second.length;
            let lost_s = if is_closed(view) {
                seconds[from.saturating_sub(1)..(to + 1).min(seconds.len())].iter().map(lost).sum::<f64>()
            } else {
                stopped_s
            };
            // It began and ended in an interval that has something, which what waited through it knows better.
            let is_near = (slowest_s - stopped_s).abs() <= 2.0 * length;
            let length_s = if is_near { slowest_s } else { lost_s.max(stopped_s) };
            let started_s = group[0].start.as_secs_f64();
            let began_s = match from.checked_sub(1) {
                Some(before) => {
                    (started_s - (length_s - stopped_s).max(0.0)).max(began_s(&seconds[before], usual.iops))
                }
                None => started_s,
            };
            stalls.push(Stall {
                from,
                to,
                lost_s: lost_s.max(stopped_s),
                slowest_s,
                began_s: began_s.min(started_s),
                length_s,
                missing: from..to,
                is_of_ramp: false,
                began_within: None,
            });
            let end = group[group.len() - 1].start.since(seconds[0].start).as_secs_f64();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
            cells.push((end / length).round() as u64);
        }
        from = to;
    }
    Series::of(stalls, &cells, length)
}

/// Times the longest that operations usually take that is no stall behind a ramp.
const AS_USUAL_TIMES: f64 = 1.5;

/// A stall at the very start that began in the ramp: what was in flight through it counts nowhere, so that no operation tells
/// how long it took, but in flight it was.
fn since_the_ramp(
    seconds: &[Second],
    usual: &Usual,
    chance: &dyn Fn(usize, usize) -> f64,
    view: &StepView<'_>,
) -> Option<Stall> {
    let first = seconds.first()?;
    let is_next = |end: Nanos| end.0.abs_diff(first.start.0) <= first.end.since(first.start).0 / 2;
    let mut ramp = view.step.intervals.iter().filter(|interval| interval.phase == Phase::Ramp);
    if !ramp.any(|interval| is_next(interval.end)) {
        return None;
    }
    let is_stuck = |second: &&Second| usual.is_stopped(second) && second.in_flight >= IN_FLIGHT_MIN;
    let to = seconds.iter().take_while(is_stuck).count();
    if to == 0 || to == seconds.len() || chance(0, to) > CHANCE_MAX {
        return None;
    }
    let lost = |second: &Second| (1.0 - second.iops / usual.iops) * second.length;
    // It ended within the next, unless that made up for it.
    let in_next = Some(lost(&seconds[to])).filter(|lost| *lost >= LOST_MIN * seconds[to].length);
    let lost_s = seconds[..to].iter().map(lost).sum::<f64>() + in_next.unwrap_or(0.0);
    // For as long as an operation takes, all that is done had begun in the ramp, also where nothing stands still.
    if lost_s <= AS_USUAL_TIMES * usual.slowest_s {
        return None;
    }
    Some(Stall {
        from: 0,
        to: to + usize::from(in_next.is_some()),
        lost_s,
        slowest_s: lost_s,
        began_s: first.start.as_secs_f64(),
        length_s: lost_s,
        missing: 0..to,
        is_of_ramp: true,
        began_within: None,
    })
}

/// A stall of a load that comes at a rate, by the intervals in which what had waited for so long was completed: those say nothing
/// of what is missing, since all that came due meanwhile is done in them as well. The longest operation says how long it was.
fn made_up_for(seconds: &[Second], from: usize, to: usize, usual: f64, slowest_s: f64) -> Stall {
    let until_s = seconds[from].start.as_secs_f64();
    let is_before = |second: &Second| second.end.as_secs_f64() <= until_s - slowest_s;
    let first = seconds[..from].iter().rposition(is_before).map_or(0, |at| at + 1);
    let lost = |second: &Second| (1.0 - second.iops / usual).max(0.0) * second.length;
    let first = (first..from).find(|&at| lost(&seconds[at]) >= LOST_MIN * seconds[at].length).unwrap_or(from);
    let lost_s = seconds[first..from].iter().map(lost).sum();
    // It ended in the first of the intervals.
    let began_s = if first == from {
        until_s
    } else {
        let latest_s = seconds[from].end.as_secs_f64() - slowest_s;
        began_s(&seconds[first], usual).clamp(until_s - slowest_s, latest_s.max(until_s - slowest_s))
    };
    Stall {
        from: first,
        to,
        lost_s,
        slowest_s,
        began_s,
        length_s: slowest_s,
        missing: first..from,
        is_of_ramp: false,
        began_within: None,
    }
}

/// Tells stalls that come regularly, by what they are: nothing goes on, less does, or a few operations wait. Whether there is
/// something to tell. `is_lost`: operations are missing, by more than noise explains.
fn tell(series: &Series, is_lost: bool, usual: &Usual, view: &StepView<'_>, found: &mut Found) -> bool {
    let (lost_s, slowest_s) = (series.mean(|stall| stall.lost_s), series.mean(|stall| stall.slowest_s));
    let length_s = series.mean(|stall| stall.length_s);
    let usually_slowest = usual.slowest_s;
    let waits = usually_slowest > 0.0 && slowest_s >= SLOWER_TIMES * usually_slowest;
    let longest = time(series.stalls.iter().map(|stall| stall.slowest_s).fold(0.0, f64::max));
    let period = time(series.period_s);
    let is_felt = waits && slowest_s >= WAITED_SHARE * lost_s;
    let (what, label, single) = if is_lost && is_felt && lost_s >= COST_SHARE * slowest_s {
        let what = format!("stalls of about {} every {period}", time(length_s));
        (format!("{what}, an operation took up to {longest} then"), what, "stall")
    } else if is_lost && !is_felt {
        (
            format!("throughput fell every {period}, by what is done in {} otherwise", time(lost_s)),
            format!("less throughput every {period}"),
            "less throughput",
        )
    } else if waits {
        let usual = time(usually_slowest);
        (
            format!("some operations took up to {longest} every {period}, where at most {usual} is usual"),
            format!("slow operations every {period}"),
            "slow operations",
        )
    } else {
        return false;
    };
    for (at, stall) in series.stalls.iter().take(MARKED_MAX).enumerate() {
        let mut label = if at == 0 { label.clone() } else { single.to_owned() };
        let more = series.stalls.len().saturating_sub(MARKED_MAX);
        if at + 1 == MARKED_MAX && more > 0 {
            label += &format!(
                ", and {more} more until {} s",
                tenths(series.stalls.last().map_or(0.0, |last| last.began_s))
            );
        }
        found.mark(view, instant(stall.began_s), label);
    }
    let place = |stall: Option<&Stall>| tenths(stall.map_or(0.0, |stall| stall.began_s));
    found.weighed(
        lost_s.max(slowest_s),
        "behaviour.stalls",
        Severity::Warn,
        format!(
            "{}{what}: {} times from {} s to {} s",
            view.place(),
            series.stalls.len(),
            place(series.stalls.first()),
            place(series.stalls.last())
        ),
        "something comes regularly: a flush, a trim, a checkpoint, garbage collection; percentiles show what it costs",
    );
    true
}
