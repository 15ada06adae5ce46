//! Findings about stalls: times at which nothing, or hardly anything, was completed. Those that come regularly, and single ones.
//!
//! A stall is told from noise twice. Its intervals have to hold fewer operations than random counts of that mean ever do; and of a
//! single one, some operation has to have waited through it: a gap between arrivals makes nobody wait.

use super::{Second, StepView, median};
use crate::statistics::Sample;
use crate::validity::Found;
use fathom_schema::Severity;
use fathom_units::Nanos;
use statrs::distribution::{DiscreteCDF, Poisson};

/// Fewest intervals that tell what is usual.
const INTERVALS_MIN: usize = 8;
/// Share of the median below which an interval may be one of stalls that come regularly.
const STALL_SHARE: f64 = 0.5;
/// Fewest stalls that can be called regular.
const STALLS_MIN: usize = 4;
/// Spread of the gaps between them, as a share of their mean, up to which they are regular.
const GAP_SPREAD_MAX: f64 = 0.15;
/// Stalls that come regularly and are marked; more would be a hatching.
const MARKED_MAX: usize = 12;
/// Share of an interval that has to be lost for it to be part of a stall: a stall may begin and end within one.
const LOST_MIN: f64 = 0.15;
/// Share of what a stall cost that some operation has to have waited.
const WAITED_SHARE: f64 = 0.5;
/// How many times as long as the slowest of an interval usually takes that operation has to have taken.
const SLOWER_TIMES: f64 = 5.0;
/// Chance that noise alone shows something like it anywhere in the step.
const CHANCE_MAX: f64 = 1e-4;

/// Intervals next to one another in which operations are missing.
struct Stall {
    /// Index of the first, and behind the last.
    from: usize,
    to: usize,
    /// Seconds that the missing operations would have taken.
    lost_s: f64,
    /// The longest that an operation took which was under way then, seconds.
    slowest_s: f64,
}

/// Tells stalls. What is left to look at: all but single stalls; nothing where stalls come regularly.
pub(super) fn check(seconds: Vec<Second>, view: &StepView<'_>, found: &mut Found) -> Option<Vec<Second>> {
    if seconds.len() < INTERVALS_MIN {
        return Some(seconds);
    }
    let usual = median(&seconds.iter().map(|second| second.iops).collect::<Vec<_>>());
    let dispersion = dispersion(&seconds, usual);
    // How often noise shows so few operations between two places, anywhere in the step.
    let chance = |from: usize, to: usize| {
        let expected: f64 = seconds[from..to].iter().map(|second| usual * second.length).sum();
        let counted: f64 = seconds[from..to].iter().map(|second| second.iops * second.length).sum();
        chance_of(counted / dispersion, expected / dispersion) * seconds.len() as f64
    };
    if regular(&seconds, usual, &chance, view, found) {
        return None;
    }
    let all = single(&seconds, usual, &chance);
    let Some(longest) = all.iter().max_by(|a, b| a.lost_s.total_cmp(&b.lost_s)) else { return Some(seconds) };
    for stall in &all {
        found.mark(view, seconds[stall.from].start, format!("stall, {}", time(stall.lost_s)));
    }
    let at = seconds[longest.from].start.as_secs_f64();
    let times = match all.len() {
        1 => "once".to_owned(),
        count => format!("{count} times, at the longest"),
    };
    found.add(
        "behaviour.stall",
        Severity::Warn,
        format!(
            "{}throughput stopped {times} for about {}, at {at:.0} s: an operation took {} then",
            view.place(),
            time(longest.lost_s),
            time(longest.slowest_s)
        ),
        "look at what happened then (the kernel's log, the device's, other hosts); means hide it, the largest latency does not",
    );
    let is_left = |at: &usize| all.iter().all(|stall| *at < stall.from || *at >= stall.to);
    Some((0..seconds.len()).filter(is_left).map(|at| seconds[at].clone()).collect())
}

fn time(seconds: f64) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time within a step")]
    Nanos((seconds * 1e9) as u64).approximate()
}

/// How many times as much as random counts the counts scatter, at least 1: by what neighbours differ by, which a few stalls do
/// not move. It is the smaller of two estimates, since small counts make lumps of both: by the median (0.6745·√2 standard
/// deviations of normal values), and by the mean square of the least three quarters (0.3685·2 variances).
fn dispersion(seconds: &[Second], usual: f64) -> f64 {
    let mut steps: Vec<f64> = seconds.windows(2).map(|pair| (pair[1].iops - pair[0].iops).abs()).collect();
    steps.sort_by(f64::total_cmp);
    let least = &steps[..steps.len() * 3 / 4];
    let by_median = median(&steps).powi(2) / (0.6745 * 0.6745 * 2.0);
    let by_most = least.iter().map(|step| step * step).sum::<f64>() / least.len() as f64 / (0.3685 * 2.0);
    let length = median(&seconds.iter().map(|second| second.length).collect::<Vec<_>>());
    let factor = by_median.min(by_most) * length / usual;
    if factor.is_finite() { factor.max(1.0) } else { 1.0 }
}

/// How likely so few, or fewer, are where so many are expected and come at random.
fn chance_of(counted: f64, expected: f64) -> f64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
    Poisson::new(expected).map_or(1.0, |poisson| poisson.cdf(counted.ceil() as u64))
}

/// Single stalls, in order.
fn single(seconds: &[Second], usual: f64, chance: &dyn Fn(usize, usize) -> f64) -> Vec<Stall> {
    let usually_slowest = median(&seconds.iter().map(|second| second.slowest_s).collect::<Vec<_>>());
    let lost = |second: &Second| (1.0 - second.iops / usual).max(0.0) * second.length;
    let is_low = |second: &Second| lost(second) >= LOST_MIN * second.length;
    let mut stalls = Vec::new();
    let mut from = 0;
    for low in seconds.chunk_by(|a, b| is_low(a) == is_low(b)) {
        let to = from + low.len();
        // What waited through it was completed after it.
        let waited = &seconds[from..(to + 1).min(seconds.len())];
        let slowest_s = waited.iter().map(|second| second.slowest_s).fold(0.0, f64::max);
        let is_felt = |from: usize, to: usize| {
            let lost_s: f64 = seconds[from..to].iter().map(lost).sum();
            slowest_s >= WAITED_SHARE * lost_s && slowest_s >= SLOWER_TIMES * usually_slowest
        };
        if is_low(&low[0]) && is_felt(from, to) {
            let (from, to) = core(from, to, chance);
            if chance(from, to) <= CHANCE_MAX {
                let lost_s = seconds[from..to].iter().map(lost).sum();
                stalls.push(Stall { from, to, lost_s, slowest_s });
            }
        }
        from = to;
    }
    stalls
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

/// Tells stalls that come regularly; whether there are.
fn regular(
    seconds: &[Second],
    usual: f64,
    chance: &dyn Fn(usize, usize) -> f64,
    view: &StepView<'_>,
    found: &mut Found,
) -> bool {
    let is_low = |at: usize| seconds[at].iops < STALL_SHARE * usual;
    let begins: Vec<usize> =
        (0..seconds.len()).filter(|&at| is_low(at) && (at == 0 || !is_low(at - 1))).collect();
    let end = |from: usize| (from..seconds.len()).find(|&at| !is_low(at)).unwrap_or(seconds.len());
    let gaps: Vec<f64> = begins
        .windows(2)
        .map(|pair| seconds[pair[1]].start.as_secs_f64() - seconds[pair[0]].start.as_secs_f64())
        .collect();
    let sample = Sample::of(&gaps);
    if begins.len() < STALLS_MIN
        || sample.stddev() > GAP_SPREAD_MAX * sample.mean
        || begins.iter().any(|&from| chance(from, end(from)) > CHANCE_MAX)
    {
        return false;
    }
    for &from in begins.iter().take(MARKED_MAX) {
        found.mark(view, seconds[from].start, "stall".to_owned());
    }
    found.add(
        "behaviour.stalls",
        Severity::Warn,
        format!(
            "{}throughput fell below half {} times, about every {:.0} s",
            view.place(),
            begins.len(),
            sample.mean
        ),
        "something comes regularly: a flush, a trim, a checkpoint, garbage collection; percentiles show what it costs",
    );
    true
}
