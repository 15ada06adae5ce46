//! Whether moments come at a regular spacing, or only seem to: of a few moments at random some always look regular.
//!
//! A rhythm is a lattice of slots between two of the moments. How likely moments at random are to fall into so many of its
//! slots, so close to them, is counted; so that of moments at random at most a known share is taken for a rhythm.

use statrs::function::factorial::ln_binomial;

/// Fewest moments of a rhythm.
const MOMENTS_MIN: usize = 4;
/// Least period, in cells: something usual lies between two of them.
const PERIOD_MIN: f64 = 3.0;
/// Share of the moments that are of the rhythm, at least.
const MEMBERS_MIN: f64 = 0.8;
/// Share of the slots that have a moment, at least.
const FILLED_MIN: f64 = 0.75;
/// How far from its slot a moment may lie, as a share of the period.
const ASIDE_MAX: f64 = 0.15;
/// Chance that moments at random look like it: at most one of a hundred such series is taken for a rhythm.
const CHANCE_MAX: f64 = 0.01;
/// Moments that a rhythm is found in; the others follow it. One that keeps no time but counts from its last, as a cache that fills
/// does, leaves any lattice in the long run.
const FOUND_IN: usize = 16;
/// Such groups that are looked at, at most.
const GROUPS_MAX: usize = 4;
/// Slots in a row that may be empty; beyond them the rhythm has ended.
const MISSED_MAX: f64 = 3.0;

/// Moments at a regular spacing.
#[derive(Debug, Clone, PartialEq)]
pub struct Rhythm {
    /// Cells from one to the next, by least squares.
    pub period: f64,
    /// Which of the moments are of it, by index; in order.
    pub members: Vec<usize>,
    /// Upper bound of the chance that as many moments at random come as regularly.
    pub chance: f64,
}

/// The rhythm of moments, each told by the cell of time that it lies in: in order, and none in the same or the next cell as
/// another. `None` where moments at random could look like that.
pub fn rhythm(cells: &[u64]) -> Option<Rhythm> {
    let groups = cells.len().div_ceil(FOUND_IN).clamp(1, GROUPS_MAX);
    (0..groups).find_map(|group| {
        let from = group * FOUND_IN;
        let mut found = among(&cells[from..cells.len().min(from + FOUND_IN)])?;
        // Each group is one more in which something could be met by chance (Bonferroni).
        found.chance *= groups as f64;
        found.members.iter_mut().for_each(|member| *member += from);
        (found.chance <= CHANCE_MAX).then(|| followed(cells, found))
    })
}

/// The rhythm of few moments.
fn among(cells: &[u64]) -> Option<Rhythm> {
    // One at either end may be of something else.
    let mut lattices = Vec::new();
    for (before, after) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
        let count = cells.len().saturating_sub(before + after);
        if count < MOMENTS_MIN {
            continue;
        }
        let enough = |slots: &usize| {
            let (count, slots) = (count as f64, *slots as f64);
            slots >= MEMBERS_MIN * count && slots * FILLED_MIN <= count
        };
        lattices
            .extend((MOMENTS_MIN..=2 * count).filter(enough).map(|slots| (before, before + count, slots)));
    }
    // So is each lattice.
    let tried = lattices.len() as f64;
    lattices
        .into_iter()
        .filter_map(|(from, to, slots)| {
            let mut found = on_lattice(&cells[from..to], slots)?;
            found.members.iter_mut().for_each(|member| *member += from);
            found.chance *= tried;
            (found.chance <= CHANCE_MAX).then_some(found)
        })
        .max_by(|a, b| a.members.len().cmp(&b.members.len()).then(b.chance.total_cmp(&a.chance)))
}

/// A rhythm with what goes on as it does, before and after, each counted from the one next to it.
fn followed(cells: &[u64], found: Rhythm) -> Rhythm {
    let Rhythm { period, members, chance } = found;
    let steps = |from: usize, to: usize| {
        let apart = cells[from].abs_diff(cells[to]) as f64;
        let steps = (apart / period).round();
        let is_next = (1.0..=MISSED_MAX + 1.0).contains(&steps);
        (is_next && (apart - steps * period).abs() <= (ASIDE_MAX * period).max(1.0)).then_some(steps)
    };
    let mut before = Vec::new();
    for at in (0..members[0]).rev() {
        if steps(*before.last().unwrap_or(&members[0]), at).is_some() {
            before.push(at);
        }
    }
    let mut members: Vec<usize> = before.into_iter().rev().chain(members).collect();
    for at in members[members.len() - 1] + 1..cells.len() {
        if steps(members[members.len() - 1], at).is_some() {
            members.push(at);
        }
    }
    let mut slot = 0.0;
    let mut points = vec![(slot, cells[members[0]] as f64)];
    for pair in members.windows(2) {
        slot += (cells[pair[0]].abs_diff(cells[pair[1]]) as f64 / period).round();
        points.push((slot, cells[pair[1]] as f64));
    }
    Rhythm { period: slope(&points), members, chance }
}

/// The rhythm of so many slots from the first of the moments to the last.
fn on_lattice(cells: &[u64], slots: usize) -> Option<Rhythm> {
    let (first, last) = (*cells.first()?, *cells.last()?);
    let span = last - first;
    let period = span as f64 / (slots - 1) as f64;
    if period < PERIOD_MIN {
        return None;
    }
    let slot_of = |cell: u64| ((cell - first) as f64 / period).round();
    let aside = |cell: u64| ((cell - first) as f64 - slot_of(cell) * period).abs();
    // The nearest of each slot. Told by whole cells, even what is exact lies up to one cell, less a little, beside its slot.
    let limit = (ASIDE_MAX * period).max(1.0);
    let mut members: Vec<usize> = Vec::new();
    for at in 0..cells.len() {
        let is_near = aside(cells[at]) < limit;
        match members.last().copied() {
            _ if !is_near => {}
            Some(known) if slot_of(cells[known]) == slot_of(cells[at]) => {
                if aside(cells[at]) < aside(cells[known]) {
                    *members.last_mut().expect("there is one") = at;
                }
            }
            _ => members.push(at),
        }
    }
    let is_enough = members.len() >= MOMENTS_MIN
        && members.len() as f64 >= MEMBERS_MIN * cells.len() as f64
        && members.len() as f64 >= FILLED_MIN * slots as f64;
    if !is_enough {
        return None;
    }
    let widest = members.iter().map(|&at| aside(cells[at])).fold(0.0, f64::max);
    // Cells that lie as close to a slot as those that were met, over all slots between the ends.
    let near: f64 = (1..slots - 1)
        .map(|slot| {
            let middle = slot as f64 * period;
            // Of an exact rhythm those less than a cell away, which of a whole number is itself alone.
            let (low, high) = if widest >= 1.0 {
                ((middle - widest).ceil(), (middle + widest).floor())
            } else {
                ((middle - 1.0).floor() + 1.0, (middle + 1.0).ceil() - 1.0)
            };
            high - low + 1.0
        })
        .sum();
    let chance = chance(cells.len(), members.len(), slots, near / (slots - 2) as f64, span);
    Some(Rhythm { period, members, chance })
}

/// Upper bound of the chance that of `count` moments, with one at either end of `span` cells and the others anywhere between,
/// `met` or more lie in slots of their own, each of `width` cells in the mean.
///
/// Ways to choose slots for the met ones, each with `width^inner` ways to lie in them (Maclaurin's inequality, for slots of unlike
/// width), times the ways of the others to lie anywhere, of all ways that so many with a cell between any two can lie in the span.
/// Worked value: 6 of 6 at 0, 10, … 50 have 1 of C(44, 4) = 135,751 ways.
fn chance(count: usize, met: usize, slots: usize, width: f64, span: u64) -> f64 {
    let (count, met, slots) = (count as u64, met as u64, slots as u64);
    let ways = |met: u64| {
        let inner = met - 2;
        let others = ln_binomial(span.saturating_sub(3), count - met);
        let all = ln_binomial(span.saturating_sub(count), count - 2);
        (ln_binomial(slots - 2, inner) + inner as f64 * width.ln() + others - all).exp()
    };
    (met..=count.min(slots)).map(ways).sum::<f64>().min(1.0)
}

/// Slope of the straight line through points by least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|point| point.0).sum::<f64>() / count;
    let mean_y = points.iter().map(|point| point.1).sum::<f64>() / count;
    let up: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    up / points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_exact_has_the_chance_that_counting_gives() {
        let found = rhythm(&[0, 10, 20, 30, 40, 50]).expect("it is one");
        // Slots of six moments: 5 to 8; of five, twice, 4 to 6; of four 4 and 5. In all twelve lattices.
        assert!((found.chance * 135_751.0 / 12.0 - 1.0).abs() < 1e-9, "{found:?}");
        assert_eq!((found.period, found.members.len()), (10.0, 6));
        // Four that are a second off could be anything.
        assert_eq!(rhythm(&[3, 13, 22, 32]), None);
        assert_eq!(rhythm(&[0, 10, 20]), None);
        assert_eq!(rhythm(&[]), None);
    }

    #[test]
    fn a_slot_may_be_empty_and_a_moment_of_something_else() {
        let missed = rhythm(&[5, 15, 25, 45, 55, 65, 75]).expect("it is one");
        assert!((missed.period - 10.0).abs() < 1e-9 && missed.members.len() == 7, "{missed:?}");
        let beside = rhythm(&[5, 15, 25, 31, 35, 45, 55, 65, 75]).expect("it is one");
        assert_eq!(beside.members, [0, 1, 2, 4, 5, 6, 7, 8]);
        // The first is no part of it.
        let first = rhythm(&[2, 15, 25, 35, 45, 55, 65, 75]).expect("it is one");
        assert_eq!(first.members, [1, 2, 3, 4, 5, 6, 7]);
    }

    /// Cells at random, none in the same or the next one as another.
    fn at_random(count: usize, cells: u64, random: &mut fastrand::Rng) -> Vec<u64> {
        let mut chosen: Vec<u64> = Vec::new();
        while chosen.len() < count {
            let cell = random.u64(..cells);
            if chosen.iter().all(|other| cell.abs_diff(*other) > 1) {
                chosen.push(cell);
            }
        }
        chosen.sort_unstable();
        chosen
    }

    #[test]
    fn of_moments_at_random_one_in_a_hundred_looks_regular() {
        for (count, cells) in [(4, 40), (4, 300), (5, 30), (6, 60), (8, 60), (12, 60), (20, 300), (90, 900)] {
            let taken = (0..3000)
                .filter(|&seed| {
                    rhythm(&at_random(count, cells, &mut fastrand::Rng::with_seed(seed))).is_some()
                })
                .count();
            assert!(taken <= 30, "{taken} of 3000 with {count} in {cells}");
        }
    }

    #[test]
    fn one_that_counts_from_its_last_is_followed() {
        // Ten cells, give or take one, from each to the next: after some hundred the lattice of the first has long been left.
        let mut random = fastrand::Rng::with_seed(7);
        let mut cells = vec![3];
        (0..400).for_each(|_| cells.push(cells[cells.len() - 1] + 9 + random.u64(0..3)));
        let found = rhythm(&cells).expect("it is one");
        assert!(found.members.len() > 390 && (found.period - 10.0).abs() < 0.1, "{found:?}");
    }

    proptest! {
        /// Of whatever period and phase: it is found, and its period is off by less than what cells of time allow.
        #[test]
        fn what_is_regular_is_found(period in 5.0..50.0_f64, phase in 0.0..50.0_f64, count in 7_u32..60) {
            // Cells of a tenth of a period put seven moments so far aside that more than one of a hundred at random look like it
            // (5,373 of 20,000 such series are not found; none of the others).
            prop_assume!(count > 7 || period >= 5.5);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cell of time")]
            let cells: Vec<u64> =
                (0..count).map(|k| (phase + f64::from(k) * period).floor() as u64).collect();
            let found = rhythm(&cells).expect("it is regular");
            prop_assert!(found.members.len() >= cells.len() - 1, "{:?} of {:?}", found, cells);
            prop_assert!((found.period - period).abs() < 1.5 / f64::from(count), "{:?}", found);
        }
    }
}
