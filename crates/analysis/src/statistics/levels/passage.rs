//! From one level to another, neither at once nor all the time: a fast part that is used up bit by bit, a device that heats up.

use super::{BRIEF_MIN, CHANGE_COST, CHANGE_COST_PER_LN, CURVE_COSTS, Series, TERMS, WAVE_VALUES_MAX, range};
use nalgebra::SVector;

/// How many of the longest passage fill a series: what takes longer is a slope.
const PARTS: usize = 2;
/// Shortest passage, in values: what is shorter is a change at once.
const VALUES_MIN: usize = 2;
/// Shortest beside a change of level that was found: one that takes part of an interval or a few is at once.
const AT_ONCE: usize = 2 * BRIEF_MIN;
/// Where it begins and where it ends.
const PLACES_OF_ITS_OWN: f64 = 2.0;
/// By how many such it has to be better than steps: noise that remembers blurs these.
const BEYOND_STEPS: f64 = 0.5;
/// Places tried in the length of a passage.
const PLACES: usize = 4;

/// A level, a straight line to another one, and that.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Passage {
    /// Where it leaves the first level, and where it is at the other, in values.
    pub from: usize,
    /// The same.
    pub to: usize,
    /// The levels.
    pub before: f64,
    /// The same.
    pub after: f64,
}

/// The passage that tells a series better than noise with memory does, as far as that outweighs that all places and lengths were
/// tried, and better than a smooth curve; and than changes of level at these places, if there are such.
pub fn passage(values: &[f64], cuts: &[usize]) -> Option<Passage> {
    let stride = values.len().div_ceil(WAVE_VALUES_MAX).max(1);
    let means = super::super::dependence::subsession_means(values, stride);
    let (series, count) = (Series::of(&means), means.len());
    if count < PARTS * BRIEF_MIN {
        return None;
    }
    let of_cut = CHANGE_COST + CHANGE_COST_PER_LN * (count as f64).ln();
    let cost = CURVE_COSTS * of_cut;
    let curve = series.curve(0, count);
    let most = (series.deviance(&curve.of_first(1)) - cost).min(series.deviance(&curve.of_first(TERMS)));
    let others = [series.hump().map(|hump| hump.1), super::best_wave(&series, count).map(|wave| wave.1)];
    let most = others.into_iter().flatten().fold(most, f64::min);
    let mut cuts: Vec<usize> =
        cuts.iter().map(|cut| cut / stride).filter(|cut| (1..count).contains(cut)).collect();
    cuts.dedup();
    let (most, shortest) = if cuts.is_empty() {
        (most, VALUES_MIN)
    } else {
        let places = cuts.len() as f64 - PLACES_OF_ITS_OWN - BEYOND_STEPS;
        let of_steps = series.deviance(&series.steps(&cuts)) + of_cut * places;
        (most.min(of_steps), AT_ONCE)
    };
    let sums = Sums::of(&series);
    let lengths = std::iter::successors(Some(shortest), |length| Some((length * 7 / 5).max(length + 1)));
    let best = lengths
        .take_while(|length| length * PARTS <= count)
        .filter_map(|length| {
            let (from, to) = sums.best_place(length)?;
            let account = series.account(0, count, |place| {
                SVector::from([1.0, height(place as f64, from as f64, to as f64), 0.0, 0.0])
            });
            Some(((from, to), series.deviance(&account.of_first(2))))
        })
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .filter(|(_, deviance)| *deviance < most)?;
    let (from, to) = best.0;
    let Line { product, own, sum } = sums.line(from, to);
    let rise = product / own;
    let (low, high) = range(&means);
    let before = series.middle - rise * sum / count as f64;
    Some(Passage {
        from: from * stride,
        to: if to == count { values.len() } else { to * stride },
        before: before.clamp(low, high),
        after: (before + rise).clamp(low, high),
    })
}

/// How far a place is on the way from the one level, 0, to the other, 1.
fn height(place: f64, from: f64, to: f64) -> f64 {
    ((place - from) / (to - from)).clamp(0.0, 1.0)
}

/// Sums of a series' values before each place, and of their products with the place.
struct Sums<'a> {
    series: &'a Series<'a>,
    products: Vec<f64>,
}

/// Sums over a passage's heights: with the values, of their squares about their mean, and of themselves.
struct Line {
    product: f64,
    own: f64,
    sum: f64,
}

impl<'a> Sums<'a> {
    fn of(series: &'a Series<'a>) -> Self {
        let mut products = vec![0.0];
        let mut sum = 0.0;
        products.extend((0..series.values.len()).map(|place| {
            sum += place as f64 * series.at(place);
            sum
        }));
        Self { series, products }
    }

    fn line(&self, from: usize, to: usize) -> Line {
        let count = self.series.values.len();
        let (length, rest) = ((to - from) as f64, (count - to) as f64);
        let on_way = self.products[to] - self.products[from] - from as f64 * self.series.sum(from, to);
        let product = on_way / length + self.series.sum(to, count);
        let sum = (length - 1.0) / 2.0 + rest;
        let squares = (length - 1.0) * (2.0 * length - 1.0) / (6.0 * length) + rest;
        Line { product, own: squares - sum * sum / count as f64, sum }
    }

    /// The place of a passage of a length that leaves the smallest squares: with a few values on either side of its middle.
    fn best_place(&self, length: usize) -> Option<(usize, usize)> {
        let count = self.series.values.len();
        let is_between = |&(from, to): &(usize, usize)| {
            let middle = usize::midpoint(from, to);
            middle >= BRIEF_MIN && middle + BRIEF_MIN <= count
        };
        let gain = |(from, to): (usize, usize)| {
            let Line { product, own, .. } = self.line(from, to);
            product * product / own
        };
        let places = (0..=count.checked_sub(length)?).step_by((length / PLACES).max(1));
        let places = places.map(|from| (from, from + length)).filter(is_between);
        places.map(|place| (place, gain(place))).max_by(|a, b| a.1.total_cmp(&b.1)).map(|best| best.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::course;
    use super::*;
    use crate::sample::normal;

    fn series(count: usize, noise: f64, memory: f64, seed: u64, level: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut off = 0.0;
        (0..count)
            .map(|place| {
                off = memory * off + (1.0 - memory * memory).sqrt() * normal(&mut random);
                level(place as f64) * (1.0 + noise * off)
            })
            .collect()
    }

    #[test]
    fn what_goes_over_to_another_level_is_found_with_its_place() {
        for (count, from, to, after) in
            [(180, 120.0, 130.0, 640.0), (60, 30.0, 40.0, 680.0), (600, 20.0, 100.0, 1000.0)]
        {
            for seed in 0..10 {
                let level = |place: f64| 800.0 + (after - 800.0) * height(place, from, to);
                let found = passage(&series(count, 0.01, 0.0, seed, level), &[]).expect("it goes over");
                assert!(
                    (found.before / 800.0 - 1.0).abs() < 0.02 && (found.after / after - 1.0).abs() < 0.02,
                    "{found:?}"
                );
                let middle = usize::midpoint(found.from, found.to) as f64;
                assert!((middle - f64::midpoint(from, to)).abs() <= 3.0, "{found:?}");
            }
        }
        // An exponential approach is one as well.
        let falls = |place: f64| 480.0 + 320.0 * (-(place - 120.0).max(0.0) / 10.0).exp();
        assert!((0..10).all(|seed| passage(&series(180, 0.02, 0.0, seed, falls), &[]).is_some()));
    }

    #[test]
    fn noise_and_what_comes_back_are_none() {
        for memory in [0.0, 0.5, 0.7, 0.9] {
            let found =
                (0..100).filter(|&seed| passage(&series(300, 0.02, memory, seed, |_| 800.0), &[]).is_some());
            let found = found.count();
            assert!(found <= 5, "{found} of 100 with memory {memory}");
        }
        let hump = |place: f64| 800.0 - 300.0 * (-((place - 150.0) / 30.0).powi(2)).exp();
        let wave = |place: f64| 800.0 + 100.0 * (place / 10.0).sin();
        let line = |place: f64| 800.0 - place;
        for seed in 0..10 {
            assert_eq!(passage(&series(300, 0.01, 0.0, seed, hump), &[]), None);
            assert_eq!(passage(&series(300, 0.01, 0.0, seed, wave), &[]), None);
            assert_eq!(passage(&series(300, 0.01, 0.0, seed, line), &[]), None);
        }
    }

    /// Places where levels change, as they would be found.
    fn cuts(values: &[f64]) -> Vec<usize> {
        course(values, 5.max(values.len() / 20), 0.1).jumps.iter().map(|change| change.at).collect()
    }

    #[test]
    fn what_goes_over_for_a_fifth_of_all_is_no_change_at_once() {
        let fall = |from: f64| {
            move |place: f64| {
                let way = height(place, from, from + 120.0);
                500.0 - 200.0 * way * way * (3.0 - 2.0 * way)
            }
        };
        for from in [100.0, 200.0, 250.0, 300.0, 400.0] {
            for (noise, seed) in (0..10).flat_map(|seed| [(0.02, seed), (0.05, seed)]) {
                let values = series(600, noise, 0.0, seed, fall(from));
                let found = passage(&values, &cuts(&values)).expect("it goes over");
                let middle = usize::midpoint(found.from, found.to) as f64;
                assert!((middle - (from + 60.0)).abs() < 15.0, "{from} {noise} {seed}: {found:?}");
            }
        }
    }

    #[test]
    fn changes_at_once_are_none() {
        let step = |place: f64| if place < 250.0 { 500.0 } else { 300.0 };
        // Half of an interval at either level.
        let within = |place: f64| if place == 250.0 { 400.0 } else { step(place) };
        let stairs = |place: f64| 500.0 - 50.0 * (place / 120.0).floor();
        let levels: [&dyn Fn(f64) -> f64; 3] = [&step, &within, &stairs];
        for (level, noise, memory) in levels.into_iter().enumerate().flat_map(|(level, _)| {
            [(0.0, 0.0), (0.01, 0.0), (0.05, 0.0), (0.02, 0.5), (0.02, 0.8)].map(|(n, m)| (level, n, m))
        }) {
            for seed in 0..20 {
                let values = series(600, noise, memory, seed, levels[level]);
                let cuts = cuts(&values);
                if !cuts.is_empty() {
                    assert_eq!(passage(&values, &cuts), None, "{level} {noise} {memory} {seed} {cuts:?}");
                }
            }
        }
    }
}
