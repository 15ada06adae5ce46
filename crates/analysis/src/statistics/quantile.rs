//! Percentiles by nearest rank, with intervals from order statistics, and how many values it takes for one.

use super::distributions::{least, t_quantile};
use super::memory::{FREEDOM, Memory};
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal};

/// Chance left out on either side of a 95 % interval.
const TAIL: f64 = 0.025;
/// Values beyond a quantile that its memory can be told from; of one with fewer the memory is at least that of the nearest
/// quantile with so many.
const BEYOND_MIN: f64 = 100.0;
/// Standard errors by which values have to resemble their neighbours to be taken for memory, where there are enough beyond the
/// quantile.
const CERTAIN: f64 = 2.5;
/// The same of a series too short for any quantile to have enough beyond: what is missed there costs more.
const CERTAIN_OF_FEW: f64 = 2.0;
/// The same of few values beyond a quantile, whose chance resemblances are large.
const CERTAIN_OF_RARE: f64 = 4.0;
/// Count above which ranks come from the normal approximation: there it is off by less than a rank in a thousand.
const BINOMIAL_MAX: u64 = 2_000_000;

/// One percentile of a sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantileEstimate {
    /// Which, 0 to 1.
    pub q: f64,
    /// Its value by nearest rank; `None` where no value lies beyond it, so that it would only repeat the largest.
    pub value: Option<f64>,
    /// 95 % interval of independent values; `None` below `needs` values.
    pub interval: Option<(f64, f64)>,
    /// 95 % interval that allows for memory: wider where neighbours resemble one another, else the same. `None` also where
    /// there are too few values for their memory.
    pub interval_with_memory: Option<(f64, f64)>,
    /// Values from which on there is an interval.
    pub needs: u64,
    /// The same for the interval with memory; `None` where the memory is longer than the values tell.
    pub needs_with_memory: Option<u64>,
    /// Factor by which the memory of the series widens the variance; 1 for independent values, `None` where neighbours
    /// resemble one another for longer than the series tells.
    pub inflation: Option<f64>,
}

/// Rank ⌈q·n⌉, at least 1 and at most n; `None` of nothing. Nudged down by a part in 10¹², so that 0.99 × 100 is 99.
pub(super) fn rank(q: f64, n: u64) -> Option<u64> {
    let exact = q.clamp(0.0, 1.0) * n as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 ≤ exact ≤ n")]
    (n > 0).then(|| ((exact - exact * 1e-12).ceil() as u64).clamp(1, n))
}

/// Nearest-rank quantile of sorted values, at least one.
pub fn nearest_rank(sorted: &[f64], q: f64) -> f64 {
    let rank = rank(q, sorted.len() as u64).expect("callers have values");
    sorted[usize::try_from(rank).expect("a rank within a slice") - 1]
}

/// Fewest values with which a two-sided 95 % interval of the quantile has both ends: ⌈ln 0.025 / ln max(q, 1−q)⌉. Worked
/// value: 368 for 0.99.
pub fn quantile_needs(q: f64) -> u64 {
    let side = q.max(1.0 - q);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive; quantiles are below 1"
    )]
    let needs = (TAIL.ln() / side.ln()).ceil() as u64;
    needs
}

/// Ranks (from 1) of the order statistics that hold quantile `q` of the population with 95 %, from `n` values whose
/// variance is `inflation` times that of independent ones. `None` when an end would lie outside of the sample.
pub fn rank_interval(q: f64, n: u64, inflation: f64) -> Option<(u64, u64)> {
    if n < quantile_needs(q) {
        return None;
    }
    let (low, high) = rank_bounds(q, n, inflation);
    Some((low?, high?))
}

/// The ends of [`rank_interval`] each by itself, with 2.5 % beyond it: few values have one end inside of the sample where they
/// do not have both. Worked values: the 195th of 200 is a lower end for 0.99, and there is no upper one.
pub fn rank_bounds(q: f64, n: u64, inflation: f64) -> (Option<u64>, Option<u64>) {
    let (low, high) = if n <= BINOMIAL_MAX && inflation <= 1.0 {
        let Ok(below) = Binomial::new(q, n) else { return (None, None) };
        let inverse = |p: f64| least(n, |at| below.cdf(at) >= p);
        // The largest l with P(B ≤ l − 1) ≤ 2.5 %, the smallest u with P(B ≤ u − 1) ≥ 97.5 %.
        let low = inverse(TAIL);
        let low = if low > 0 && below.cdf(low) <= TAIL { low + 1 } else { low };
        (low, inverse(1.0 - TAIL) + 1)
    } else {
        let half = Normal::standard().inverse_cdf(1.0 - TAIL) * (n as f64 * q * (1.0 - q) * inflation).sqrt();
        let middle = n as f64 * q;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "cut at 0")]
        ((middle - half).floor().max(0.0) as u64, (middle + half).ceil() as u64 + 1)
    };
    ((low >= 1 && low <= n).then_some(low), (high <= n).then_some(high))
}

/// Percentiles of values in the order they were measured: the order shows whether they have memory, in which case one of
/// the intervals is widened. Of sorted values the order says nothing.
pub fn quantiles(values: &[f64], wanted: &[f64]) -> Vec<QuantileEstimate> {
    let n = values.len() as u64;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let is_order_known = sorted != values;
    let at = |rank: u64| sorted[usize::try_from(rank - 1).expect("a rank within the sample")];
    wanted
        .iter()
        .map(|&q| {
            let needs = quantile_needs(q);
            // n·(1 − q) ≥ 1: a value lies beyond it.
            let is_supported = n as f64 * q.max(1.0 - q).mul_add(-1.0, 1.0) >= 1.0 - 1e-9;
            let value = rank(q, n).filter(|_| is_supported).map(at);
            let memory = match value {
                Some(_) if is_order_known => memory(values, &sorted, q),
                // Nothing lies beyond it whose neighbours could be looked at.
                None if is_order_known => Memory::TooShort,
                _ if n == 1 => Memory::TooShort,
                _ => Memory::None,
            };
            let inflation = match memory {
                Memory::None => Some(1.0),
                Memory::Widens(factor) => Some(factor),
                Memory::TooShort => None,
            };
            let needs_with_memory = inflation.map(|inflation| widened(needs, inflation));
            let between = |(low, high)| (at(low), at(high));
            QuantileEstimate {
                q,
                value,
                interval: rank_interval(q, n, 1.0).map(between),
                interval_with_memory: inflation
                    .and_then(|inflation| ranks_with_memory(q, n, inflation))
                    .map(between),
                needs,
                needs_with_memory,
                inflation,
            }
        })
        .collect()
}

/// What the share of values at most a quantile remembers.
fn memory(values: &[f64], sorted: &[f64], q: f64) -> Memory {
    let n = values.len() as f64;
    let of = |q: f64, certain: f64| {
        let value = nearest_rank(sorted, q);
        let beyond: Vec<f64> = values.iter().map(|v| if *v <= value { 1.0 } else { 0.0 }).collect();
        Memory::of(&beyond, certain)
    };
    let side = BEYOND_MIN / n;
    if (side..=1.0 - side).contains(&q) {
        return of(q, CERTAIN);
    }
    let own = of(q, CERTAIN_OF_RARE);
    if side > 0.5 {
        // Of so few values all that they say is needed: how they rank, which no outlier outweighs.
        let ranks: Vec<f64> =
            values.iter().map(|v| sorted.partition_point(|other| other < v) as f64).collect();
        return own.or(Memory::of(&ranks, CERTAIN_OF_FEW));
    }
    own.or(of(q.clamp(side, 1.0 - side), CERTAIN))
}

/// So many independent values take this many of a series whose memory widens the variance by `inflation`. A factor that is
/// itself measured is allowed Student's t for the normal's 1.96.
fn widened(count: u64, inflation: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive; a float beyond 2^64 is cut to it"
    )]
    let widened = (count as f64 * allowed(inflation)).ceil() as u64;
    widened
}

fn allowed(inflation: f64) -> f64 {
    if inflation > 1.0 { inflation * (t_quantile(0.95, FREEDOM) / 1.96).powi(2) } else { 1.0 }
}

/// Ranks that hold a quantile of a series with memory: those of as many independent values as it is worth, spread over all of
/// it. The binomial of those keeps the tails of a quantile near an end apart, which a normal of all values would not.
fn ranks_with_memory(q: f64, n: u64, inflation: f64) -> Option<(u64, u64)> {
    let allowed = allowed(inflation);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "no more than n")]
    let worth = (n as f64 / allowed).floor() as u64;
    let (low, high) = rank_interval(q, worth, 1.0)?;
    let each = n as f64 / worth as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 1 and n")]
    Some((((low - 1) as f64 * each) as u64 + 1, ((high as f64 * each).ceil() as u64).min(n)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn smallest_samples_with_an_upper_bound() {
        let table =
            [(0.9, 36), (0.95, 72), (0.99, 368), (0.999, 3_688), (0.9999, 36_887), (0.99999, 368_887)];
        for (q, expect) in table {
            assert_eq!(quantile_needs(q), expect);
            assert_eq!(rank_interval(q, expect - 1, 1.0), None);
            let (_, high) = rank_interval(q, expect, 1.0).unwrap();
            assert_eq!(high, expect, "the largest value is the bound");
        }
    }

    #[test]
    fn ranks_are_those_of_tables() {
        // Median of 100: order statistics 40 and 61 hold it with 95 % (binomial; Conover, table A3).
        assert_eq!(rank_interval(0.5, 100, 1.0), Some((40, 61)));
        assert_eq!(rank_interval(0.5, 6, 1.0), Some((1, 6)));
        assert_eq!(rank_interval(0.5, 5, 1.0), None);
        // Of 200 values six or more lie beyond p99 with 1.6 %, five or more with 5.2 % (binomial).
        assert_eq!(rank_bounds(0.99, 200, 1.0), (Some(195), None));
        assert_eq!(rank_bounds(0.5, 5, 1.0), (None, None));
        for (q, n) in
            [0.001, 0.01, 0.5, 0.9, 0.99, 0.999].into_iter().flat_map(|q| (1..400).map(move |n| (q, n)))
        {
            let (low, high) = rank_bounds(q, n, 1.0);
            let own = rank(q, n).unwrap();
            assert!(low.is_none_or(|low| low <= own) && high.is_none_or(|high| high >= own), "{q} of {n}");
        }
    }

    #[test]
    fn memory_widens_the_interval() {
        let mut random = fastrand::Rng::with_seed(11);
        let white: Vec<f64> = (0..50_000).map(|_| random.f64()).collect();
        // The same values a thousand at a time: only the order differs in kind.
        let slow: Vec<f64> =
            white.iter().enumerate().map(|(i, noise)| (i / 1000 % 7) as f64 + noise * 0.1).collect();
        let of = |values: &[f64]| quantiles(values, &[0.9])[0];
        assert_eq!(of(&white).inflation, Some(1.0));
        assert_eq!(of(&white).interval, of(&white).interval_with_memory);
        assert!(of(&slow).inflation.is_some_and(|factor| factor > 100.0), "{:?}", of(&slow));
    }

    /// Values that remember `rho` of the one before, normal (sums of twelve uniform ones), of variance 1, past their start.
    fn remembering(count: usize, rho: f64, seed: u64) -> Vec<f64> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut normal = || (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
        let mut at = normal();
        let mut next = || {
            at = rho * at + (1.0 - rho * rho).sqrt() * normal();
            at
        };
        (0..count).map(|_| next()).collect()
    }

    /// Of 200 series of each kind: 95 % of the intervals hold the quantile, but for four standard errors, or there is none
    /// where the series is too short.
    #[test]
    fn intervals_with_memory_hold() {
        let q = |q: f64| (q, Normal::standard().inverse_cdf(q));
        let cases = [
            // Count, memory, quantile, fewest of 200 that have an interval, most that have.
            (48, 0.9, q(0.5), 0, 10),
            (200, 0.6, q(0.9), 60, 200),
            (1000, 0.0, q(0.9), 190, 200),
            (1000, 0.3, q(0.5), 180, 200),
            (1000, 0.9, q(0.5), 160, 200),
            (1000, 0.9, q(0.9), 150, 200),
            (1000, 0.9, q(0.99), 0, 10),
            (5000, 0.9, q(0.99), 130, 200),
            (5000, 0.98, q(0.5), 150, 200),
            (5000, 0.98, q(0.99), 0, 20),
        ];
        for (count, rho, (q, truth), fewest, most) in cases {
            let found: Vec<(f64, f64)> = (0..200)
                .filter_map(|seed| quantiles(&remembering(count, rho, seed), &[q])[0].interval_with_memory)
                .collect();
            let holds = found.iter().filter(|(low, high)| (*low..=*high).contains(&truth)).count();
            let told = format!("{holds} of {} of {q} in {count} with {rho}", found.len());
            assert!((fewest..=most).contains(&found.len()), "{told}");
            let share = found.len() as f64 * 0.95;
            assert!(found.len() <= 20 || holds as f64 >= share - 4.0 * (share * 0.05).sqrt(), "{told}");
        }
    }

    #[test]
    fn what_remembers_for_longer_than_it_lasts_has_no_interval_with_memory() {
        // Up once and down once: one wave as long as the series.
        let ramp: Vec<f64> =
            (0..48).map(|i| f64::from(i % 24).mul_add(if i < 24 { 1.0 } else { -1.0 }, 0.5)).collect();
        let found = quantiles(&ramp, &[0.5])[0];
        assert!(found.interval.is_some());
        assert_eq!(
            (found.inflation, found.interval_with_memory, found.needs_with_memory),
            (None, None, None)
        );
    }

    #[test]
    fn what_a_sample_cannot_tell_is_left_out() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        let found = quantiles(&values, &[0.5, 0.99, 0.999]);
        assert_eq!(found[0].value, Some(50.0));
        assert_eq!((found[1].value, found[1].interval), (Some(99.0), None));
        assert_eq!((found[2].value, found[2].needs), (None, 3688));
    }

    proptest! {
        #[test]
        fn intervals_hold_their_quantile(n in 400_u64..100_000, q in 0.01..0.99_f64) {
            if let Some((low, high)) = rank_interval(q, n, 1.0) {
                let own = rank(q, n).unwrap();
                prop_assert!(low <= own && own <= high);
                // No wider than ± 2.3 standard errors and a rank.
                let error = (n as f64 * q * (1.0 - q)).sqrt();
                prop_assert!((high - low) as f64 <= 4.6 * error + 3.0);
            }
        }
    }
}
