//! Whether a series goes to and fro between two levels, however briefly it stays at either. Each value is of the upper or of the
//! lower group, by the split that leaves the smallest squares about the two means (in one dimension the best of all
//! splits of the sorted values: Fisher 1958); there are two levels where these groups lie apart.

use super::changes::Change;

/// How many standard deviations of the values within the groups their means have to differ by. Groups that are the halves of
/// one lot of values differ by less: those of normal ones by 2.6, of evenly spread ones by 3.5, of a sine by 4.1.
const APART_MIN: f64 = 5.0;
/// The same beyond that, divided by how many values there are: groups of few lie apart by chance.
const APART_BY_COUNT: f64 = 50.0;
/// Fewest changes from one to the other, and fewest values of either.
const CHANGES_MIN: usize = 6;
const VALUES_MIN: usize = 5;

/// The changes from one level to the other, each with the means of both; none where there are no two levels, or no six changes.
/// A variance about either that is no more than that of the values by themselves (of counts that come at random: their mean)
/// is taken for `least`.
pub fn alternation(values: &[f64], least: f64) -> Vec<Change> {
    let Some(split) = Split::of(values) else { return Vec::new() };
    let apart = APART_MIN + APART_BY_COUNT / values.len() as f64;
    if split.high - split.low < apart * split.variance.max(least).sqrt() {
        return Vec::new();
    }
    let is_high = |value: f64| value > split.edge;
    let changes: Vec<Change> = values
        .windows(2)
        .enumerate()
        .filter(|(_, pair)| is_high(pair[0]) != is_high(pair[1]))
        .map(|(at, pair)| {
            let (before, after) =
                if is_high(pair[0]) { (split.high, split.low) } else { (split.low, split.high) };
            Change { at: at + 1, before, after }
        })
        .collect();
    if changes.len() < CHANGES_MIN { Vec::new() } else { changes }
}

/// Two groups of values.
struct Split {
    /// The greatest of the lower group.
    edge: f64,
    /// Means of the groups.
    low: f64,
    high: f64,
    /// Mean square of the values about the mean of their group.
    variance: f64,
}

impl Split {
    /// The best one with enough values on either side.
    fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len() as f64;
        let middle = sorted.iter().sum::<f64>() / count;
        let total: f64 = sorted.iter().map(|value| value - middle).sum();
        let squares: f64 = sorted.iter().map(|value| (value - middle).powi(2)).sum();
        let mut below = 0.0;
        let mut best: Option<Self> = None;
        for (at, value) in sorted.iter().enumerate() {
            below += value - middle;
            let (lower, upper) = (at + 1, sorted.len() - at - 1);
            if lower < VALUES_MIN || upper < VALUES_MIN || sorted[at + 1] <= *value {
                continue;
            }
            let (low, high) = (below / lower as f64, (total - below) / upper as f64);
            let left = squares - lower as f64 * low * low - upper as f64 * high * high;
            let variance = left.max(0.0) / count;
            if best.as_ref().is_none_or(|best| variance < best.variance) {
                best = Some(Self { edge: *value, low: middle + low, high: middle + high, variance });
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::normal;

    #[test]
    fn two_levels_are_found_however_brief() {
        for (high, low) in [(1, 1), (2, 2), (3, 3), (5, 10), (2, 28), (28, 2)] {
            let mut random = fastrand::Rng::with_seed(1);
            let level = |at: usize| if at % (high + low) < high { 100.0 } else { 60.0 };
            let values: Vec<f64> = (0..600).map(|at| level(at) + 3.0 * normal(&mut random)).collect();
            let changes = alternation(&values, 0.0);
            let expect = (1..600).filter(|&at| level(at) != level(at - 1)).count();
            assert_eq!(changes.len(), expect, "{high}/{low}");
            for change in &changes {
                let (before, after) = (level(change.at - 1), level(change.at));
                let is_near = (change.before - before).abs() < 1.0 && (change.after - after).abs() < 1.0;
                assert!(is_near, "{high}/{low}: {change:?}");
            }
        }
    }

    type Value = fn(&mut fastrand::Rng, usize) -> f64;

    #[test]
    fn one_lot_of_values_has_no_two_levels() {
        let courses: [(&str, Value); 5] = [
            ("normal", |random, _| normal(random)),
            ("even", |random, _| random.f64()),
            ("exponential", |random, _| -(1.0 - random.f64()).ln()),
            ("a sine", |_, at| (at as f64 / 7.0).sin()),
            ("a line", |_, at| at as f64),
        ];
        for (name, value) in courses {
            for seed in 0..200 {
                let mut random = fastrand::Rng::with_seed(seed);
                for count in [20, 60, 300] {
                    let values: Vec<f64> = (0..count).map(|at| value(&mut random, at)).collect();
                    assert_eq!(alternation(&values, 0.0), [], "{name}, {count}, seed {seed}");
                }
            }
        }
    }

    #[test]
    fn counts_of_few_are_no_levels() {
        // None or one in each interval: the groups do not scatter at all, as counts do by themselves.
        let values: Vec<f64> = (0..300).map(|at| f64::from(u8::from(at % 7 < 2))).collect();
        assert_eq!(alternation(&values, 0.3), []);
        assert!(!alternation(&values, 0.0).is_empty());
        assert_eq!(alternation(&[], 0.0), []);
        assert_eq!(alternation(&[5.0; 100], 0.0), []);
    }
}
