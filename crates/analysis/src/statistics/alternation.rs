//! Whether a series goes to and fro between two levels, however briefly it stays at either. Each value is of the upper or of the
//! lower group, by the split that leaves the smallest squares about the two means (in one dimension the best of all
//! splits of the sorted values: Fisher 1958); there are two levels where these groups lie apart, and where most of each lies
//! about one level: a few values that are far off, filled up with the nearest of the others, are none.

use super::changes::Change;

/// How many standard deviations of the values within the groups their means have to differ by. Groups that are the halves of
/// one lot of values differ by less: those of normal ones by 2.6, of evenly spread ones by 3.5, of a sine by 4.1.
const APART_MIN: f64 = 5.0;
/// The same beyond that, divided by how many values there are: groups of few lie apart by chance.
const APART_BY_COUNT: f64 = 50.0;
/// Fewest changes from one to the other, and fewest values of either.
const CHANGES_MIN: usize = 6;
const VALUES_MIN: usize = 5;
/// How far from the middle one of its group a value may lie to be at that level, as a share of what lies between the levels: half
/// of that is left empty. What is farther off, as an interval in the midst of a change is, is at neither.
const NEAR_SHARE: f64 = 0.25;
/// Share of what is not at the other level that has to be at a level: of what is spread evenly from one to the other it is a third.
/// Where a level lasts for two intervals, as many are in the midst of a change, half of them at one place between the levels.
const AT_LEVEL_MIN: f64 = 0.6;

/// The changes from one level to the other, each with both; none where there are no two levels, or no six changes.
/// A variance about either that is no more than that of the values by themselves (of counts that come at random: their mean)
/// is taken for `least`.
pub fn alternation(values: &[f64], least: f64) -> Vec<Change> {
    let Some(split) = Split::of(values) else { return Vec::new() };
    let apart = APART_MIN + APART_BY_COUNT / values.len() as f64;
    if split.high - split.low < apart * split.variance.max(least).sqrt() {
        return Vec::new();
    }
    let Some(levels) = split.levels() else { return Vec::new() };
    let at_level: Vec<(usize, bool)> =
        values.iter().enumerate().filter_map(|(at, value)| Some((at, levels.is_high(*value)?))).collect();
    let changes: Vec<Change> = at_level
        .windows(2)
        .filter(|pair| pair[0].1 != pair[1].1)
        .map(|pair| {
            let (at, is_high) = pair[1];
            let (before, after) = if is_high { (levels.low, levels.high) } else { (levels.high, levels.low) };
            Change { at, before, after }
        })
        .collect();
    if changes.len() < CHANGES_MIN { Vec::new() } else { changes }
}

/// Two groups of values.
struct Split {
    /// All values, and how many of them are of the lower group.
    sorted: Vec<f64>,
    lower: usize,
    /// Means of the groups.
    low: f64,
    high: f64,
    /// Mean square of the values about the mean of their group.
    variance: f64,
}

/// Two levels.
struct Levels {
    low: f64,
    high: f64,
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
                let (low, high) = (middle + low, middle + high);
                best = Some(Self { sorted: Vec::new(), lower, low, high, variance });
            }
        }
        best.map(|best| Self { sorted, ..best })
    }

    /// The levels of the groups: the means of what is near their middle values. `None` where too little of one is.
    fn levels(&self) -> Option<Levels> {
        let (below, above) = self.sorted.split_at(self.lower);
        let middles = Levels { low: below[below.len() / 2], high: above[above.len() / 2] };
        let at = |is_high: bool| {
            let near = self.sorted.iter().filter(|value| middles.is_high(**value) == Some(is_high));
            near.fold((0_usize, 0.0), |(count, sum), value| (count + 1, sum + value))
        };
        let ((low, of_low), (high, of_high)) = (at(false), at(true));
        let is_enough = |own: usize, other: usize| {
            own >= VALUES_MIN && own as f64 >= AT_LEVEL_MIN * (self.sorted.len() - other) as f64
        };
        (is_enough(low, high) && is_enough(high, low))
            .then(|| Levels { low: of_low / low as f64, high: of_high / high as f64 })
    }
}

impl Levels {
    /// Whether a value is at the upper or at the lower one, if at either.
    fn is_high(&self, value: f64) -> Option<bool> {
        let is_at = |level: f64| (value - level).abs() <= NEAR_SHARE * (self.high - self.low);
        if is_at(self.high) { Some(true) } else { is_at(self.low).then_some(false) }
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
    fn a_few_values_far_off_are_no_level() {
        for seed in 0..2000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let count = random.usize(60..=900);
            let scatter = [0.0, 0.005, 0.02, 0.05][random.usize(0..4)];
            let mut values: Vec<f64> =
                (0..count).map(|_| 2000.0 * (1.0 + scatter * normal(&mut random))).collect();
            let share = random.f64() * if random.bool() { 1.0 } else { 4.0 };
            let is_alike = random.bool();
            for _ in 0..random.usize(1..=4) {
                let share = if is_alike { share } else { 4.0 * random.f64() };
                values[random.usize(0..count)] = 2000.0 * share;
            }
            assert_eq!(alternation(&values, 0.0), [], "{count}, {scatter}, {share}, seed {seed}");
        }
        // More than a few, each as far off as it happens: they gather at a level by chance at most.
        let alarms = (0..500).filter(|&seed| {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut values: Vec<f64> = (0..600).map(|_| 2000.0 + 40.0 * normal(&mut random)).collect();
            for _ in 0..20 {
                values[random.usize(0..600)] = 200.0 + 1600.0 * random.f64();
            }
            !alternation(&values, 0.0).is_empty()
        });
        let count = alarms.count();
        assert!(count <= 75, "{count} of 500");
    }

    #[test]
    fn what_is_in_the_midst_of_a_change_is_at_neither_level() {
        let level = |at: usize| match at % 40 {
            0..19 => 100.0,
            19 | 39 => 80.0,
            _ => 60.0,
        };
        let values: Vec<f64> = (0..400).map(level).collect();
        let changes = alternation(&values, 0.0);
        assert_eq!(changes.len(), 19, "{changes:?}");
        assert!(changes.iter().all(|change| change.at % 20 == 0), "{changes:?}");
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
