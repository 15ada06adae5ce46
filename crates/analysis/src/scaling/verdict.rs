//! A fitted curve in one word and one sentence. Does not fit.

use super::choice::LOADS_OF_A_LAW_MIN;
use super::curve::{FALL_MIN, Load, falls};
use super::fit::Fit;
use super::law::{Law, Operating};
use crate::statistics::{f_beyond, t_quantile};

/// Times what a law leaves anywhere that a fall has to be for one load beyond the peak to show it.
const PLAIN_TIMES: f64 = 10.0;

/// Sharpness (q of the soft minimum) from which on a ceiling is held rather than approached: nine tenths of
/// it take 1.4 times the load at which the slope alone would reach it; at 1, the USL without coherency, 9 times.
const SHARP: f64 = 3.0;
/// Share of the most throughput that the smallest load has to give for a curve to count as flat.
const FLAT_SHARE: f64 = 0.95;
/// How many times the smallest load the largest has to be for a flat curve without a law: throughput that grows would
/// be as many times more there.
const FLAT_LOADS: f64 = 2.0;
/// Share of a throughput that is taken for noise there at most.
const NOISE_SHARE_MAX: f64 = 0.05;
/// Share of the mean that a load may lie off it in a curve that is taken for a constant.
const CONSTANT_SHARE_MAX: f64 = 0.10;
/// Chance below which a bend in throughput is none of noise.
const CONSTANT_P_MIN: f64 = 0.01;
/// Share of linear growth that the largest load has to keep for a curve to count as linear so far.
const LINEAR_SHARE: f64 = 0.95;
/// The same from which on one load beyond a kink does not tell that throughput holds there.
const NEAR_LINE: f64 = 0.9;

/// What limits throughput.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// No saturation seen: throughput grew with the load to the end.
    Linear,
    /// The smallest load already gave all there is.
    Flat,
    /// Grows ever more slowly towards a ceiling: operations wait for one another.
    Contention,
    /// Of offered rates: response times grow long before the most is reached.
    Queueing,
    /// Grows, then holds a ceiling.
    Capped,
    /// Falls beyond a peak.
    Retrograde,
    /// No scaling law fits; the measured curve is the answer.
    NoLaw,
}

impl Verdict {
    pub(super) fn of(fit: Option<&Fit>, loads: &[Load], points: usize) -> Self {
        let Some(fit) = fit else {
            return if is_flat(loads) { Self::Flat } else { Self::NoLaw };
        };
        let (Some(first), Some(last)) = (loads.first(), loads.last()) else { return Self::NoLaw };
        let law = fit.law;
        if matches!(law, Law::Linear { .. })
            || law.throughput(last.n) >= LINEAR_SHARE * law.throughput(first.n) / first.n * last.n
        {
            return Self::Linear;
        }
        // More load that loses throughput is no saturation.
        let is_peaked = falls(loads) || falls_past_peak(&law, loads) || falls_plainly(fit, loads, last);
        if matches!(law, Law::Usl { .. }) && is_peaked && beta_is_certain(fit, points)
            || falls_throughout(loads)
        {
            return Self::Retrograde;
        }
        let is_held = law.most().is_some_and(|most| law.throughput(first.n) >= FLAT_SHARE * most);
        if is_held || is_constant(&law, loads) {
            return Self::Flat;
        }
        match law {
            Law::SoftMin { sharpness, .. } if sharpness > SHARP => Self::Capped,
            Law::Capped { .. } => Self::Capped,
            _ => Self::Contention,
        }
    }

    /// Name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear_so_far",
            Self::Flat => "saturated_from_the_start",
            Self::Contention => "contention_limited",
            Self::Queueing => "queueing",
            Self::Capped => "capped",
            Self::Retrograde => "retrograde",
            Self::NoLaw => "no_law",
        }
    }
}

/// Whether a kink is told by the last load alone, which lies hardly off the line: that throughput holds there was not seen.
pub(super) fn kinks_at_last(law: &Law, loads: &[Load]) -> bool {
    let [first, .., before_last, last] = loads else { return false };
    matches!(law, Law::SoftMin { .. })
        && law.knee().is_some_and(|knee| knee > before_last.n)
        && law.throughput(last.n) >= NEAR_LINE * law.throughput(first.n) / first.n * last.n
}

/// Whether the smallest load gives as much as any other, as far as their noise lets that be told: a search needs no
/// law for that, and measures too few loads for one.
fn is_flat(loads: &[Load]) -> bool {
    let (Some(first), Some(last)) = (loads.first(), loads.last()) else { return false };
    let most = loads.iter().map(|load| load.x).fold(0.0, f64::max);
    let reaches = |load: &Load| {
        let noise = load.margin.map_or(0.0, |margin| margin.min(NOISE_SHARE_MAX * load.x));
        load.x + noise >= FLAT_SHARE * most
    };
    loads.len() >= LOADS_OF_A_LAW_MIN
        && last.n >= FLAT_LOADS * first.n
        && reaches(first)
        && loads.iter().all(reaches)
}

/// Whether β's 95 % interval (Student's t with as many degrees of freedom as `points` leave) leaves 0 out.
fn beta_is_certain(fit: &Fit, points: usize) -> bool {
    let freedom = points.saturating_sub(fit.coefficients.len());
    freedom > 0
        && fit.coefficients.iter().any(|c| {
            let limit = |error: f64| t_quantile(0.95, freedom as f64) * error;
            c.name == "beta" && c.standard_error.is_some_and(|error| c.value > limit(error))
        })
}

/// Loads that each give less than the one before from which on that is no noise: of as many alike one order in 120 is this.
const FALLING_LOADS: usize = 5;

/// Whether throughput falls from the smallest load to the largest. Where it grew is not among the loads, so that no law tells how steep
/// it was there, nor how much of the fall is whose.
fn falls_throughout(loads: &[Load]) -> bool {
    loads.len() >= FALLING_LOADS && falls(loads) && loads.is_sorted_by(|one, next| one.x > next.x)
}

/// The throughput that a fall is one from: that of a law's peak, or the most that was measured where the law is above it. A law that
/// bends less sharply than a plateau begins exceeds it there, and nothing falls.
fn top(peak: &Operating, loads: &[Load]) -> f64 {
    loads.iter().map(|load| load.x).fold(0.0, f64::max).min(peak.x)
}

/// Whether at least two loads lie beyond a law's peak, and they and the last one below its throughput by more than what is no
/// fall: on average, since a law is flat next to its peak.
fn falls_past_peak(law: &Law, loads: &[Load]) -> bool {
    let Some(peak) = law.peak() else { return false };
    let past: Vec<f64> = loads.iter().filter(|load| load.n > peak.n).map(|load| load.x).collect();
    let top = top(&peak, loads);
    let is_fallen = |x: f64| x < (1.0 - FALL_MIN) * top;
    past.len() >= 2
        && is_fallen(past.iter().sum::<f64>() / past.len() as f64)
        && past.last().is_some_and(|x| is_fallen(*x))
}

/// Whether the last load lies below a law's peak by what is a fall, and by far more than the law leaves anywhere: of exact figures one
/// load beyond the peak is enough.
fn falls_plainly(fit: &Fit, loads: &[Load], last: &Load) -> bool {
    let Some(peak) = fit.law.peak().filter(|peak| last.n > peak.n) else { return false };
    let fall = 1.0 - last.x / top(&peak, loads);
    fall > FALL_MIN && fit.max_relative_error * PLAIN_TIMES < fall
}

/// Times what two loads may differ by that the last one has to lie below the most for it to show a fall by itself: the most of several
/// is one that chance made high.
const FAR_TIMES: f64 = 1.5;

/// Whether loads themselves show that throughput falls: as far as noise lets that be told, or of figures that lie on their law. Else it
/// is a law that has a peak, and two loads of which the one or the other may be low by chance.
pub(super) fn is_fall_shown(fit: &Fit, loads: &[Load]) -> bool {
    let Some(last) = loads.last() else { return false };
    let best = loads.iter().max_by(|a, b| a.x.total_cmp(&b.x)).unwrap_or(last);
    let is_far = best.x - last.x > (FAR_TIMES * last.guessed.hypot(best.guessed)).max(FALL_MIN * best.x);
    falls(loads) || falls_throughout(loads) || falls_plainly(fit, loads, last) || is_far
}

/// Whether a constant passes as near to the means as a law with two coefficients more does: what the law adds is tested by F
/// (Draper & Smith 1998, 1.4).
fn is_constant(law: &Law, loads: &[Load]) -> bool {
    let (Some(first), Some(last)) = (loads.first(), loads.last()) else { return false };
    let count = loads.len() as f64;
    let mean = loads.iter().map(|load| load.x).sum::<f64>() / count;
    let is_near = loads.iter().all(|load| (load.x / mean - 1.0).abs() <= CONSTANT_SHARE_MAX);
    // What repeats show to be less than the most is no constant, however well laws pass by.
    let most = loads.iter().map(|load| load.x).fold(0.0, f64::max);
    let is_less = first.margin.is_some_and(|margin| first.x + margin < FLAT_SHARE * most);
    if loads.len() < 5 || last.n < FLAT_LOADS * first.n || !is_near || is_less {
        return false;
    }
    let of_constant: f64 = loads.iter().map(|load| (load.x - mean).powi(2)).sum();
    let of_law: f64 = loads.iter().map(|load| (load.x - law.throughput(load.n)).powi(2)).sum();
    let freedom = count - 3.0;
    let ratio = ((of_constant - of_law) / 2.0).max(0.0) / (of_law / freedom);
    f_beyond(ratio, 2.0, freedom).is_some_and(|p| p >= CONSTANT_P_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scaling::{Point, Weighting, answers};

    const LOADS: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

    fn verdict(measured: &[[f64; 3]; 7]) -> Verdict {
        let points =
            LOADS.iter().zip(measured).flat_map(|(&n, all)| all.iter().map(move |&x| Point { n, x }));
        answers(&points.collect::<Vec<_>>(), None, Weighting::Equal, &[], 1).verdict
    }

    /// A plateau from load 10 on, each measurement off by 10 %: what fell from load 32 to 64 is no more than what measurements differ by.
    #[test]
    fn a_rough_plateau_does_no_harm() {
        let measured = [
            [885.0, 1038.0, 1105.0],
            [1900.0, 1751.0, 1987.0],
            [4196.0, 4464.0, 3542.0],
            [7030.0, 8585.0, 8388.0],
            [11_658.0, 11_032.0, 9899.0],
            [9729.0, 12_931.0, 9715.0],
            [9245.0, 8924.0, 10_096.0],
        ];
        let found = verdict(&measured);
        assert!(matches!(found, Verdict::Capped | Verdict::Contention), "{found:?}");
    }

    /// What falls by 13 % does so, also where measurements differ by 3 %.
    #[test]
    fn a_fall_that_loads_show_is_one() {
        let usl = |n: f64| 1000.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.001 * n * (n - 1.0));
        let measured = LOADS.map(|n| [0.97, 1.0, 1.03].map(|off| usl(n) * off));
        assert_eq!(verdict(&measured), Verdict::Retrograde);
    }
}
