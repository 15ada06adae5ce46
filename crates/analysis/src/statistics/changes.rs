//! Where the level of a series changes: PELT with squared error (Killick, Fearnhead & Eckley 2012), exact and
//! deterministic.
//!
//! PELT is linear where changes are many, and quadratic where there are none. A long series is therefore searched in
//! means of equal stretches first; each change found there is then placed among the single values around it.

/// Values that are searched one by one; more are searched in means. The worst case is then some ten million steps.
const SEARCHED_MAX: usize = 4096;
/// Cost of one more change in units of σ²·ln n: two would be the information of a level and a place (BIC); three keeps one
/// outlier from being a segment.
const PENALTY: f64 = 3.0;
/// Fewest values of a segment.
const SEGMENT_MIN: usize = 2;

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Index of the first value of the new level.
    pub at: usize,
    /// Mean of the segment before.
    pub before: f64,
    /// Mean of the segment after.
    pub after: f64,
}

/// All changes of level, in order.
pub fn change_points(values: &[f64]) -> Vec<Change> {
    change_points_of(values, 0.0)
}

/// As [`change_points`], of noise whose neighbours correlate by `memory`. What differs between neighbours is then
/// less than what means of many do: those vary as of noise `(1 + ρ)/(1 − ρ)²` times the one that neighbours show.
pub(super) fn change_points_of(values: &[f64], memory: f64) -> Vec<Change> {
    let factor = (1.0 + memory) / (1.0 - memory).powi(2);
    let stride = values.len().div_ceil(SEARCHED_MAX).max(1);
    let sums = Sums::of(values);
    let cuts = if stride == 1 {
        pelt(values, factor)
    } else {
        let coarse: Vec<f64> =
            values.chunks(stride).map(|chunk| chunk.iter().sum::<f64>() / chunk.len() as f64).collect();
        let rough = pelt(&coarse, factor).into_iter().map(|cut| cut * stride).collect();
        placed(rough, values, &sums, stride, factor)
    };
    let change = |at: usize| {
        let (previous, cut, next) = neighbours(&cuts, at, values.len());
        Change { at: cut, before: sums.mean(previous, cut), after: sums.mean(cut, next) }
    };
    (0..cuts.len()).map(change).collect()
}

/// The end of the segment before, the cut, and the end of the one it begins.
pub(super) fn neighbours(cuts: &[usize], at: usize, length: usize) -> (usize, usize, usize) {
    let previous = if at == 0 { 0 } else { cuts[at - 1] };
    (previous, cuts[at], cuts.get(at + 1).copied().unwrap_or(length))
}

/// Cuts found among means, each moved to its place among the values. A mean across a step looks like a level of its own:
/// a cut that does not pay for itself among the values goes, the worst first.
fn placed(mut cuts: Vec<usize>, values: &[f64], sums: &Sums, stride: usize, factor: f64) -> Vec<usize> {
    let penalty = factor * penalty(values);
    let split = |previous: usize, cut: usize, next: usize| sums.cost(previous, cut) + sums.cost(cut, next);
    let place = |cuts: &mut [usize], at: usize| {
        let (previous, cut, next) = neighbours(cuts, at, values.len());
        let reach = SEGMENT_MIN * stride;
        let (from, to) = (cut.saturating_sub(reach).max(previous + 1), (cut + reach).min(next - 1));
        let best = (from..=to).min_by(|a, b| split(previous, *a, next).total_cmp(&split(previous, *b, next)));
        cuts[at] = best.unwrap_or(cut);
    };
    (0..cuts.len()).for_each(|at| place(&mut cuts, at));
    loop {
        let gain = |at: usize| {
            let (previous, cut, next) = neighbours(&cuts, at, values.len());
            sums.cost(previous, next) - split(previous, cut, next)
        };
        let worst = (0..cuts.len()).map(|at| (at, gain(at))).min_by(|a, b| a.1.total_cmp(&b.1));
        let Some((at, _)) = worst.filter(|(_, gain)| *gain <= penalty) else { return cuts };
        cuts.remove(at);
        for near in [at.checked_sub(1), Some(at).filter(|at| *at < cuts.len())].into_iter().flatten() {
            place(&mut cuts, near);
        }
    }
}

/// The longest stretch without a change, when it is more than half of the series.
pub fn dominant_segment(values: &[f64]) -> Option<(usize, usize)> {
    let mut edges = vec![0];
    edges.extend(change_points(values).iter().map(|change| change.at));
    edges.push(values.len());
    let longest = edges.windows(2).map(|pair| (pair[0], pair[1])).max_by_key(|(from, to)| to - from)?;
    (2 * (longest.1 - longest.0) > values.len()).then_some(longest)
}

/// Sums and sums of squares up to each place, about the first value: what any stretch's squared error follows from.
struct Sums {
    shift: f64,
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl Sums {
    fn of(values: &[f64]) -> Self {
        let shift = values.first().copied().unwrap_or(0.0);
        let (mut sums, mut squares) = (vec![0.0], vec![0.0]);
        let (mut sum, mut square) = (0.0, 0.0);
        for value in values {
            sum += value - shift;
            square += (value - shift).powi(2);
            sums.push(sum);
            squares.push(square);
        }
        Self { shift, sums, squares }
    }

    fn mean(&self, from: usize, to: usize) -> f64 {
        self.shift + (self.sums[to] - self.sums[from]) / (to - from).max(1) as f64
    }

    /// Σ(y − ȳ)² of a stretch.
    fn cost(&self, from: usize, to: usize) -> f64 {
        let sum = self.sums[to] - self.sums[from];
        (self.squares[to] - self.squares[from] - sum * sum / (to - from) as f64).max(0.0)
    }
}

/// Standard deviation of the noise, from the median of |successive differences|, which few steps do not move: the median
/// of |N(0, 2σ²)| is 0.6745·√2·σ.
fn noise(values: &[f64]) -> f64 {
    let mut differences: Vec<f64> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    if differences.is_empty() {
        return 0.0;
    }
    let middle = differences.len() / 2;
    let (_, median, _) = differences.select_nth_unstable_by(middle, f64::total_cmp);
    *median / (0.6745 * std::f64::consts::SQRT_2)
}

/// Cost of one more change.
fn penalty(values: &[f64]) -> f64 {
    let (low, high) =
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
    // A series without noise still has rounding errors.
    let sigma = noise(values).max((high - low) * 1e-6);
    PENALTY * sigma * sigma * (values.len() as f64).ln()
}

/// `factor`: how many times as much as it usually does a change costs.
fn pelt(values: &[f64], factor: f64) -> Vec<usize> {
    let n = values.len();
    if n < 2 * SEGMENT_MIN {
        return Vec::new();
    }
    let sums = Sums::of(values);
    let penalty = factor * penalty(values);
    let mut best = vec![f64::INFINITY; n + 1];
    best[0] = -penalty;
    let mut previous = vec![0; n + 1];
    // Each with the place from which on it cannot be the best any more.
    let mut candidates: Vec<(usize, usize)> = vec![(0, usize::MAX)];
    for to in SEGMENT_MIN..=n {
        candidates.retain(|&(_, gone)| to < gone);
        let total = |from: usize| best[from] + sums.cost(from, to);
        let (from, least) = candidates
            .iter()
            .map(|&(from, _)| (from, total(from)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .expect("one was put there a segment ago");
        // A segment that could as well be cut here will be beaten by the cut, as soon as one may follow.
        let beaten: Vec<bool> = candidates.iter().map(|&(from, _)| total(from) > least + penalty).collect();
        for ((_, gone), _) in candidates.iter_mut().zip(beaten).filter(|(_, beaten)| *beaten) {
            *gone = (*gone).min(to + SEGMENT_MIN);
        }
        best[to] = least + penalty;
        previous[to] = from;
        // A segment that begins here can end SEGMENT_MIN later at the earliest, which is when it is first looked at.
        if to + 1 >= 2 * SEGMENT_MIN {
            candidates.push((to + 1 - SEGMENT_MIN, usize::MAX));
        }
    }
    let mut cuts = Vec::new();
    let mut at = n;
    while previous[at] > 0 {
        at = previous[at];
        cuts.push(at);
    }
    cuts.reverse();
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cuts(values: &[f64]) -> Vec<usize> {
        change_points(values).iter().map(|change| change.at).collect()
    }

    #[test]
    fn steps_are_found_where_they_are() {
        let step = |parts: &[(usize, f64)]| -> Vec<f64> {
            parts.iter().flat_map(|&(count, level)| std::iter::repeat_n(level, count)).collect()
        };
        assert_eq!(cuts(&step(&[(1000, 0.0), (1000, 1.0)])), [1000]);
        assert_eq!(cuts(&step(&[(30, 1.1), (30, 5.1), (30, 1.1)])), [30, 60]);
        assert_eq!(cuts(&step(&[(20_001, 3.0), (30_000, 2.0), (7, 2.5)])), [20_001, 50_001]);
        assert_eq!(cuts(&[4.0; 500]), [] as [usize; 0]);
        assert_eq!(dominant_segment(&step(&[(30, 1.1), (130, 5.1), (30, 1.1)])), Some((30, 160)));
        assert_eq!(dominant_segment(&step(&[(30, 1.1), (30, 5.1), (30, 1.1)])), None);
    }

    #[test]
    fn noise_alone_has_no_changes() {
        for seed in 0..20 {
            let mut random = fastrand::Rng::with_seed(seed);
            let values: Vec<f64> = (0..2000).map(|_| (0..12).map(|_| random.f64()).sum::<f64>()).collect();
            assert_eq!(cuts(&values), [] as [usize; 0], "seed {seed}");
        }
    }

    /// The same objective, every division tried.
    fn exhaustive(values: &[f64]) -> f64 {
        let sums = Sums::of(values);
        let penalty = penalty(values);
        let mut best = vec![f64::INFINITY; values.len() + 1];
        best[0] = -penalty;
        for to in SEGMENT_MIN..=values.len() {
            best[to] = (0..=to - SEGMENT_MIN)
                .map(|from| best[from] + sums.cost(from, to) + penalty)
                .fold(f64::INFINITY, f64::min);
        }
        best[values.len()]
    }

    fn cost_of(values: &[f64], cuts: &[usize]) -> f64 {
        let sums = Sums::of(values);
        let penalty = penalty(values);
        let mut edges = vec![0];
        edges.extend(cuts);
        edges.push(values.len());
        edges.windows(2).map(|pair| sums.cost(pair[0], pair[1])).sum::<f64>() + penalty * cuts.len() as f64
    }

    proptest! {
        #[test]
        fn pruning_loses_nothing(values in prop::collection::vec(-100.0..100.0_f64, 4..60)) {
            let found = cost_of(&values, &cuts(&values));
            prop_assert!((found - exhaustive(&values)).abs() < 1e-6 * (1.0 + found.abs()), "{found}");
        }
    }
}
