//! A fitted curve in one word and one sentence. Does not fit.

use super::curve::{Load, falls};
use super::fit::Fit;
use super::law::Law;

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
/// Share of linear growth that the largest load has to keep for a curve to count as linear so far.
const LINEAR_SHARE: f64 = 0.95;

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
    pub(super) fn of(fit: Option<&Fit>, loads: &[Load]) -> Self {
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
        if matches!(law, Law::Usl { .. }) && falls(loads) {
            return Self::Retrograde;
        }
        if law.most().is_some_and(|most| law.throughput(first.n) >= FLAT_SHARE * most) {
            return Self::Flat;
        }
        match law {
            Law::Usl { .. } if beta_is_certain(fit) && past_peak(&law, loads) >= 2 => Self::Retrograde,
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

/// Whether the smallest load gives as much as any other, as far as their noise lets that be told: a search needs no
/// law for that, and measures too few loads for one.
fn is_flat(loads: &[Load]) -> bool {
    let (Some(first), Some(last)) = (loads.first(), loads.last()) else { return false };
    let most = loads.iter().map(|load| load.x).fold(0.0, f64::max);
    let reaches = |load: &Load| {
        let noise = load.margin.map_or(0.0, |margin| margin.min(NOISE_SHARE_MAX * load.x));
        load.x + noise >= FLAT_SHARE * most
    };
    last.n >= FLAT_LOADS * first.n && reaches(first) && loads.iter().all(reaches)
}

/// Whether β's 95 % interval (normal: ± 1.96 standard errors) leaves 0 out.
fn beta_is_certain(fit: &Fit) -> bool {
    fit.coefficients
        .iter()
        .any(|c| c.name == "beta" && c.standard_error.is_some_and(|error| c.value > 1.96 * error))
}

fn past_peak(law: &Law, loads: &[Load]) -> usize {
    law.peak().map_or(0, |peak| loads.iter().filter(|load| load.n > peak.n).count())
}
