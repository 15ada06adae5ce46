//! Figures with their intervals, and what resampled laws make of them. Knows no law's figures.

use super::law::Law;

/// A figure with its 95 % interval; `None` where the data carries none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// 95 % interval; one that ends with infinity is one-sided: the data bounds the figure from below alone.
    pub interval: Option<(f64, f64)>,
}

/// Lower end of what a figure is at least, one-sided 95 %, over resampled laws; one that does not have it has no bound to it. With
/// it goes no upper end: infinity.
pub(super) fn at_least(laws: &[Law], figure: &dyn Fn(&Law) -> Option<f64>) -> Option<(f64, f64)> {
    let mut values: Vec<f64> = laws.iter().map(|law| figure(law).unwrap_or(f64::INFINITY)).collect();
    values.sort_by(f64::total_cmp);
    let low = (!values.is_empty()).then(|| crate::statistics::nearest_rank(&values, 0.05))?;
    low.is_finite().then_some((low, f64::INFINITY))
}

/// 2.5 % and 97.5 % of a figure over resampled laws; `None` when it exists in too few of them.
pub(super) fn interval(laws: &[Law], figure: &dyn Fn(&Law) -> Option<f64>) -> Option<(f64, f64)> {
    let mut values: Vec<f64> = laws.iter().filter_map(figure).filter(|value| value.is_finite()).collect();
    // A figure that a twentieth of the resamples does not have has no upper end.
    if values.is_empty() || values.len() * 20 < laws.len() * 19 {
        return None;
    }
    values.sort_by(f64::total_cmp);
    let at = |q: f64| crate::statistics::nearest_rank(&values, q);
    Some((at(0.025), at(0.975)))
}

/// The estimate with an interval that reaches at least as far up as down: of a knee whose sharpness is at its bound. A load that came out high moves that knee down, and one that came out low makes it less sharp instead: resamples, which
/// are drawn about the knee that was found, reach less far up than the truth may lie.
pub(super) fn as_far_up(found: Estimate) -> Estimate {
    Estimate { interval: found.interval.map(|(low, high)| (low, high.max(2.0 * found.value - low))), ..found }
}

/// There is no less than one unit.
pub(super) fn one_at_least(found: Estimate) -> Estimate {
    Estimate { interval: found.interval.map(|(low, high)| (low.max(1.0), high.max(1.0))), ..found }
}

/// The estimate with an interval that has no upper end.
pub(super) fn from_below(found: Estimate) -> Estimate {
    Estimate { interval: found.interval.map(|(low, _)| (low, f64::INFINITY)), ..found }
}

pub(super) const fn bare(value: f64) -> Estimate {
    Estimate { value, interval: None }
}
