//! What is usual of a stretch: how many operations are completed in an interval, how long the slowest of it takes, and how
//! counts scatter. Where a device stands still for most of the time, that is read from the intervals in which it did
//! something. Does not know what is looked for.

use super::stalls::MANY_MIN;
use super::{Second, median};

/// Fewest operations of an interval for it to tell that something usually is done: of fewer, some hold none by chance.
const OPERATIONS_MIN: f64 = 5.0;
/// Share of the highest rate below which nothing was done: what was in flight may have ended in it.
const STOPPED_SHARE: f64 = 0.05;
/// The part of a stretch that has to have stopped for its middle to say nothing of what is usual. Beside each stop lie up to two
/// intervals that it began or ended in, so that of more than a third the middle may be one of those.
const STOPPED_PARTS: usize = 3;

/// What is usual.
pub(super) struct Usual {
    /// Operations per second.
    pub iops: f64,
    /// How long the slowest operation of an interval takes, seconds. Where it `stops`, most intervals in which something was done
    /// may hold what waited through a stop: it is what nine of ten operations take at least, then.
    pub slowest_s: f64,
    /// Whether nothing is done for a third of the time or more.
    pub stops: bool,
    /// How many times as much as random counts the counts scatter, at least 1.
    pub dispersion: f64,
}

/// The highest rate that says what is usual, per second. Where what a stop missed is made up for behind it (`is_closed` is false),
/// that burst is none: there the mean since the stop began counts, as far as it is less.
pub(super) fn highest(seconds: &[Second], is_closed: bool) -> f64 {
    let (mut most, mut time, mut counted) = (0.0_f64, 0.0, 0.0);
    let mut is_empty_before = true;
    for second in seconds {
        let is_empty = second.iops <= 0.0;
        // A stop begins.
        if is_closed || is_empty && !is_empty_before {
            (time, counted) = (0.0, 0.0);
        }
        time += second.length;
        counted += second.iops * second.length;
        most = most.max(second.iops.min(counted / time));
        is_empty_before = is_empty;
    }
    most
}

impl Usual {
    pub(super) fn of(seconds: &[Second], is_closed: bool) -> Self {
        let of = |part: &[&Second], figure: fn(&Second) -> f64| {
            median(&part.iter().map(|second| figure(second)).collect::<Vec<_>>())
        };
        let all: Vec<&Second> = seconds.iter().collect();
        let highest = highest(seconds, is_closed);
        let is_working = |second: &&Second| second.iops >= STOPPED_SHARE * highest;
        let working: Vec<&Second> = seconds.iter().filter(is_working).collect();
        let rate = of(&working, |second| second.iops);
        let stops = STOPPED_PARTS * (all.len() - working.len()) >= all.len()
            && rate * of(&working, |second| second.length) >= OPERATIONS_MIN;
        let (part, iops) =
            if stops { (working, rate) } else { (all.clone(), of(&all, |second| second.iops)) };
        let slowest_s =
            if stops { of(&part, |second| second.quick_s) } else { of(&part, |second| second.slowest_s) };
        let dispersion =
            if all.len() < MANY_MIN { dispersion_of_few(&part, iops) } else { dispersion(&part, iops) };
        Self { iops, slowest_s, stops, dispersion }
    }

    /// Whether nothing was done in an interval.
    pub(super) fn is_stopped(&self, second: &Second) -> bool {
        second.iops < STOPPED_SHARE * self.iops
    }
}

/// How many times as much as random counts the counts scatter, at least 1: by what neighbours differ by, which a few stalls do
/// not move. It is the smaller of two estimates, since small counts make lumps of both: by the median (0.6745·√2 standard
/// deviations of normal values), and by the mean square of the least three quarters (0.3685·2 variances).
fn dispersion(seconds: &[&Second], usual: f64) -> f64 {
    let mut steps: Vec<f64> = seconds.windows(2).map(|pair| (pair[1].iops - pair[0].iops).abs()).collect();
    steps.sort_by(f64::total_cmp);
    let least = &steps[..steps.len() * 3 / 4];
    let by_median = median(&steps).powi(2) / (0.6745 * 0.6745 * 2.0);
    let by_most = least.iter().map(|step| step * step).sum::<f64>() / least.len() as f64 / (0.3685 * 2.0);
    let length = median(&seconds.iter().map(|second| second.length).collect::<Vec<_>>());
    let factor = by_median.min(by_most) * length / usual;
    if factor.is_finite() { factor.max(1.0) } else { 1.0 }
}

/// The same of so few intervals that one stall is beside half of all steps between them: by the half that lies nearest to what is
/// usual, whose mean square is 0.1426 variances of normal values.
fn dispersion_of_few(seconds: &[&Second], usual: f64) -> f64 {
    let mut off: Vec<f64> = seconds.iter().map(|second| (second.iops - usual).abs()).collect();
    off.sort_by(f64::total_cmp);
    let near = &off[..off.len().div_ceil(2)];
    // What is usual is one of them, and off by nothing.
    let count = near.len().saturating_sub(1).max(1) as f64;
    let variance = near.iter().map(|off| off * off).sum::<f64>() / count / 0.1426;
    let length = median(&seconds.iter().map(|second| second.length).collect::<Vec<_>>());
    let factor = variance * length / usual;
    if factor.is_finite() { factor.max(1.0) } else { 1.0 }
}
