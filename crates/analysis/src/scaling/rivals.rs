//! Laws that the data supports beside the one that was chosen, and what they add to its intervals: those of a law alone leave out
//! that another one may be true. Chooses no law.

use super::choice::{explains, is_possible};
use super::fit::{Again, Fit, Point, Weighting};
use super::{curve, law::Law};

/// Disadvantage by `AICc` up to which a law has a twentieth of the weight of the chosen one or more, exp(−Δ/2) (Burnham & Anderson 2004):
/// together they are the 95 % confidence set of laws.
const AICC_RIVAL_MAX: f64 = 6.0;

/// What a law might have been, measured again.
#[derive(Debug, Default)]
pub(super) struct Resampled {
    /// Fitted within the bounds of its coefficients.
    pub(super) laws: Vec<Law>,
    /// Fitted without them. Where there is no coherency, half of the fits are at its bound, and those beyond it have the less
    /// contention: intervals of a bootstrap there begin too high (Andrews 2000, Econometrica 68, 399). Unbounded fits do for what hangs
    /// on contention alone; a knee they often do not have.
    pub(super) unbounded: Vec<Law>,
}

impl Resampled {
    pub(super) fn of(again: Vec<Again>) -> Self {
        let (laws, unbounded) = again.into_iter().map(|again| (again.law, again.unbounded)).unzip();
        Self { laws, unbounded }
    }
}

/// The laws that bend which fit hardly worse than the chosen one; none beside one that passes through all points.
pub(super) fn rivals(
    fits: &[Fit],
    chosen: Option<usize>,
    points: &[Point],
    weighting: Weighting,
    loads: &[curve::Load],
) -> Vec<usize> {
    let Some(own) = chosen.filter(|at| !fits[*at].is_exact()).and_then(|at| fits[at].aicc) else {
        return Vec::new();
    };
    let falls = curve::falls(loads);
    (0..fits.len())
        .filter(|&at| Some(at) != chosen)
        .filter(|&at| match fits[at].law {
            Law::Usl { .. } => true,
            Law::SoftMin { .. } => !falls,
            Law::Linear { .. } | Law::Capped { .. } => false,
        })
        .filter(|&at| fits[at].aicc.is_some_and(|aicc| aicc <= own + AICC_RIVAL_MAX))
        .filter(|&at| is_possible(&fits[at].law, loads) && explains(&fits[at], points, weighting, loads))
        .collect()
}

/// The smallest interval that holds both.
pub(super) fn hull(one: (f64, f64), other: (f64, f64)) -> (f64, f64) {
    (one.0.min(other.0), one.1.max(other.1))
}
