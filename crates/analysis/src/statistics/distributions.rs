//! Quantiles and tails of the distributions that intervals and tests are made of, each in a bounded number of steps whatever
//! is asked. statrs gives the functions; its inverses look for a fixed point that rounding may keep them from for ever
//! (Student's t of some million degrees of freedom and the like), so none of them is called with anything that was measured.

use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::beta::beta_reg;
use statrs::function::gamma::ln_gamma;

/// Degrees of freedom from which on Student's t is had from the normal by its series: what is left out is below 10⁻⁹ there. The
/// fraction behind [`beta_reg`] ends after 140 terms, and takes about the root of its larger parameter.
const FREEDOM_SERIES: f64 = 1000.0;
/// The same of F, whose approximation is by the cube root (Paulson 1942).
const FREEDOM_CUBE_ROOT: f64 = 10_000.0;
/// Halvings of a logarithm between those of the least and the largest float: the last ones are finer than a float is.
const HALVINGS: usize = 64;
/// Expectation from which on Poisson's distribution is had by the cube root (Wilson & Hilferty 1931).
const EXPECTED_CUBE_ROOT: f64 = 1e6;

/// Two-sided quantile of Student's t: the value that |t| exceeds with chance 1 − `level`; infinite where there is none, without
/// any `freedom`. Worked value: 2.201 for 95 % and 11 degrees of freedom.
pub fn t_quantile(level: f64, freedom: f64) -> f64 {
    if level.is_nan() || level >= 1.0 || freedom.is_nan() || freedom <= 0.0 {
        return f64::INFINITY;
    }
    if level <= 0.0 {
        return 0.0;
    }
    if freedom >= FREEDOM_SERIES {
        return of_normal(Normal::standard().inverse_cdf(f64::midpoint(1.0, level)), freedom);
    }
    let (mut low, mut high) = (f64::MIN_POSITIVE.ln(), f64::MAX.ln());
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if t_beyond(middle.exp(), freedom) > 1.0 - level {
            low = middle;
        } else {
            high = middle;
        }
    }
    // Beyond what a float can hold, for a tiny freedom.
    if high >= f64::MAX.ln() { f64::INFINITY } else { high.exp() }
}

/// The quantile of Student's t from that of the normal (Abramowitz & Stegun 26.7.5).
fn of_normal(z: f64, freedom: f64) -> f64 {
    let y = z * z;
    let first = z * (y + 1.0) / 4.0;
    let second = z * ((5.0 * y + 16.0) * y + 3.0) / 96.0;
    let third = z * (((3.0 * y + 19.0) * y + 17.0) * y - 15.0) / 384.0;
    z + (first + (second + third / freedom) / freedom) / freedom
}

/// How likely |t| is beyond this, of Student's t; 1 of no number.
pub(super) fn t_beyond(t: f64, freedom: f64) -> f64 {
    if t.is_nan() || freedom.is_nan() || freedom <= 0.0 {
        return 1.0;
    }
    let t = t.abs();
    if freedom < FREEDOM_SERIES {
        let share = freedom / (freedom + t * t);
        return if share.is_nan() { 1.0 } else { beta_reg(freedom / 2.0, 0.5, share).clamp(0.0, 1.0) };
    }
    // Wallace 1959, with the correction of Bailey.
    let z = if freedom.is_infinite() {
        t
    } else {
        (freedom * (t / freedom * t).ln_1p()).sqrt() * (1.0 - 2.0 / (8.0 * freedom + 3.0))
    };
    2.0 * Normal::standard().cdf(-z)
}

/// How likely a ratio of variances with these degrees of freedom is beyond `ratio`; `None` where none of them is a number.
pub(crate) fn f_beyond(ratio: f64, above: f64, below: f64) -> Option<f64> {
    let are_free = |freedom: f64| freedom > 0.0 && freedom.is_finite();
    if ratio.is_nan() || !are_free(above) || !are_free(below) {
        return None;
    }
    if ratio <= 0.0 {
        return Some(1.0);
    }
    // Divided first, so that nothing is beyond the floats.
    let share = 1.0 / (1.0 + ratio * (above / below));
    if above.max(below) <= FREEDOM_CUBE_ROOT {
        return Some(beta_reg(below / 2.0, above / 2.0, share).clamp(0.0, 1.0));
    }
    let (a, b, root) = (2.0 / (9.0 * above), 2.0 / (9.0 * below), ratio.cbrt());
    let z = ((1.0 - b) * root - (1.0 - a)) / (b * root * root + a).sqrt();
    Some(if z.is_nan() { 0.0 } else { Normal::standard().cdf(-z) })
}

/// How likely at most `counted` are, where so many are expected and come at random (Poisson); 1 where that is no number.
pub(crate) fn poisson_at_most(counted: f64, expected: f64) -> f64 {
    if counted.is_nan() || !expected.is_finite() || expected <= 0.0 || counted.is_infinite() {
        return 1.0;
    }
    if counted < 0.0 {
        return 0.0;
    }
    let counted = counted.floor();
    if expected > EXPECTED_CUBE_ROOT {
        let next = counted + 1.0;
        let z = 3.0 * next.sqrt() * ((expected / next).cbrt() - 1.0 + 1.0 / (9.0 * next));
        return Normal::standard().cdf(-z);
    }
    let chance = |of: f64| (of * expected.ln() - expected - ln_gamma(of + 1.0)).exp();
    // From the side on which terms become less from one to the next: each by more than the one before.
    if counted < expected {
        sum(chance(counted), |step| (counted - step) / expected).min(1.0)
    } else {
        (1.0 - sum(chance(counted + 1.0), |step| expected / (counted + 2.0 + step))).max(0.0)
    }
}

/// A series from its first term and the ratio of each to the one before, until terms do not count any more. Of expectations up
/// to [`EXPECTED_CUBE_ROOT`] those are some thousands.
fn sum(first: f64, ratio: impl Fn(f64) -> f64) -> f64 {
    let (mut term, mut sum, mut step) = (first, first, 0.0);
    while term > sum * f64::EPSILON && step < EXPECTED_CUBE_ROOT {
        term *= ratio(step);
        sum += term;
        step += 1.0;
    }
    sum
}

/// The least of 0 to `most` for which something that only becomes true holds; `most` where it holds of none.
pub(super) fn least(most: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_answers() {
        // Tables: t(0.975, ν), t(0.995, ν).
        for (level, freedom, expect) in [
            (0.95, 1.0, 12.706_205),
            (0.95, 2.0, 4.302_653),
            (0.95, 11.0, 2.200_985),
            (0.95, 120.0, 1.979_930),
            (0.99, 5.0, 4.032_143),
            (0.95, 999.0, 1.962_341),
            (0.95, 1000.0, 1.962_339),
            (0.95, 1e9, 1.959_964),
            (0.95, f64::INFINITY, 1.959_964),
        ] {
            let found = t_quantile(level, freedom);
            assert!((found / expect - 1.0).abs() < 1e-6, "t({level}, {freedom}) = {found}");
            assert!((t_beyond(expect, freedom) - (1.0 - level)).abs() < 1e-6, "{freedom}");
        }
        // F(0.95; 2, 10) = 4.102821 and F(0.95; 5, 20) = 2.710890 (tables); of very many it is χ²/2: −ln 0.05.
        for (above, below, ratio, accurate) in
            [(2.0, 10.0, 4.102_821, 1e-6), (5.0, 20.0, 2.710_890, 1e-6), (2.0, 1e9, 2.995_732, 2e-3)]
        {
            let found = f_beyond(ratio, above, below).expect("numbers");
            assert!((found - 0.05).abs() < accurate, "F({above}, {below}) = {found}");
        }
        // e⁻² (1 + 2 + 2), and a half about the median of very many.
        assert!((poisson_at_most(2.0, 2.0) - 5.0 * (-2.0_f64).exp()).abs() < 1e-12);
        assert!((poisson_at_most(5.0, 2.0) - 0.983_436_39).abs() < 1e-7);
        for expected in [9e5, 1.1e6, 1e14] {
            let found = poisson_at_most(expected, expected);
            assert!((found - 0.5).abs() < 1e-3, "{expected}: {found}");
        }
        assert_eq!((least(9, |at| at >= 7), least(9, |_| false), least(0, |_| true)), (7, 9, 0));
    }

    /// What measurements made endless: three million operations in a second, and a last interval of a few.
    #[test]
    fn very_many_degrees_of_freedom_have_a_quantile() {
        for freedom in (0..4000).map(|at| 3.2e6 + f64::from(at) * 0.5) {
            let found = t_quantile(0.95, freedom);
            assert!((found - 1.959_965).abs() < 1e-6, "{freedom}: {found}");
        }
        for freedom in [f64::NAN, 0.0, -1.0, f64::NEG_INFINITY] {
            assert_eq!(t_quantile(0.95, freedom), f64::INFINITY);
            assert_eq!(t_beyond(2.0, freedom), 1.0);
        }
        assert_eq!(
            (t_quantile(f64::NAN, 5.0), t_quantile(0.0, 5.0), t_quantile(1.0, 5.0)),
            (f64::INFINITY, 0.0, f64::INFINITY)
        );
    }

    fn anything() -> impl Strategy<Value = f64> {
        let size = (-300.0..300.0_f64).prop_map(|power| 10_f64.powf(power));
        let special = prop::sample::select(vec![
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            0.0,
            -1.0,
            f64::MIN_POSITIVE,
            f64::MAX,
            1.0,
            0.5,
        ]);
        prop_oneof![4 => size, 2 => 0.0..1e7_f64, 1 => special]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]
        #[test]
        fn whatever_is_asked_has_an_answer(a in anything(), b in anything(), c in anything(), level in -0.1..1.1_f64) {
            let is_chance = |p: f64| (0.0..=1.0 + 1e-9).contains(&p);
            prop_assert!(t_quantile(level, a) >= 0.0, "{}", t_quantile(level, a));
            prop_assert!(t_quantile(a, b) >= 0.0);
            prop_assert!(is_chance(t_beyond(a, b)), "{}", t_beyond(a, b));
            prop_assert!(f_beyond(a, b, c).is_none_or(is_chance), "{:?}", f_beyond(a, b, c));
            prop_assert!(is_chance(poisson_at_most(a, b)), "{}", poisson_at_most(a, b));
        }

        #[test]
        fn a_quantile_is_beyond_as_often_as_it_says(level in 0.001..0.9999_f64, power in -0.5..8.0_f64) {
            let freedom = 10_f64.powf(power);
            let found = t_beyond(t_quantile(level, freedom), freedom);
            prop_assert!((found / (1.0 - level) - 1.0).abs() < 1e-5, "{found} of {level} with {freedom}");
        }
    }
}
