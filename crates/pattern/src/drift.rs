//! The hierarchical reuse random walk that the benchmark SPC-1 has for business applications: places come back with a
//! likelihood that falls slowly with the time since. The figures are those of the published `spc1.c` (version 1.4, 2009),
//! in the variant that walks over the whole region. What else a workload has is not known here.

use crate::rng::Rng;

/// Positions of a leaf, between which the walk makes no difference.
pub(crate) const LEAF: u64 = 8;
/// Leaves among which a step stays at least, as a power of two.
const NEAR: u32 = 6;
/// Likelihood of climbing one level further before going down again.
const CLIMB: f64 = 0.44;
/// Leaves to whose multiples writes go.
const WRITE_LEAVES: u64 = 8;
/// Likelihood that a write goes where its leaf was read last, rather than anywhere in the leaf.
const WRITE_WHERE_READ: f64 = 0.5;
/// Likelihood that the next write goes to the same place.
const WRITE_AGAIN: f64 = 0.15;
/// Steps out of the region that are tried again before any leaf is taken.
const TRIES: u32 = 100;

/// A walk over a region, with what it remembers of each leaf.
#[derive(Debug, Clone)]
pub(crate) struct Drift {
    leaf: u64,
    leaves: u64,
    levels: u32,
    /// Per leaf, which of its positions is read next.
    next_read: Vec<u8>,
    again: Option<u64>,
}

impl Drift {
    /// A walk over `positions`, at least a leaf's, that begins at a random place.
    pub(crate) fn new(positions: u64, rng: &mut Rng) -> Self {
        let leaves = positions / LEAF;
        assert!(leaves > 0, "{positions} positions are no leaf");
        let levels = u64::BITS - (leaves - 1).leading_zeros();
        let count = usize::try_from(leaves).expect("the planner keeps it within memory");
        Self { leaf: rng.below(leaves), leaves, levels, next_read: vec![0; count], again: None }
    }

    /// The next position.
    pub(crate) fn draw(&mut self, changes: bool, rng: &mut Rng) -> u64 {
        if changes && let Some(place) = self.again.take() {
            self.leaf = place / LEAF;
            return place;
        }
        self.step(rng);
        if changes {
            self.leaf -= self.leaf % WRITE_LEAVES;
        }
        let next = &mut self.next_read[usize::try_from(self.leaf).expect("leaves are counted in memory")];
        let within = if !changes {
            let here = u64::from(*next);
            *next = (*next + 1) % u8::try_from(LEAF).expect("a small constant");
            here
        } else if rng.unit() <= WRITE_WHERE_READ {
            (u64::from(*next) + LEAF - 1) % LEAF
        } else {
            rng.below(LEAF)
        };
        let place = self.leaf * LEAF + within;
        if changes && rng.unit() <= WRITE_AGAIN {
            self.again = Some(place);
        }
        place
    }

    fn step(&mut self, rng: &mut Rng) {
        for _ in 0..TRIES {
            let mut height = NEAR.min(self.levels);
            while height < self.levels && rng.unit() <= CLIMB {
                height += 1;
            }
            let width = 1_u64 << height;
            self.leaf = self.leaf / width * width + rng.below(width);
            if self.leaf < self.leaves {
                return;
            }
        }
        self.leaf = rng.below(self.leaves);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn it_stays_inside(positions in 8_u64..100_000, seed: u64) {
            let mut rng = Rng::new(seed);
            let mut drift = Drift::new(positions, &mut rng);
            for step in 0..200 {
                prop_assert!(drift.draw(step % 3 == 0, &mut rng) < positions);
            }
        }
    }

    #[test]
    fn reads_go_through_a_leaf_in_turn() {
        let mut rng = Rng::new(4);
        let mut drift = Drift::new(8 * 1024, &mut rng);
        let mut next: HashMap<u64, u64> = HashMap::new();
        for _ in 0..50_000 {
            let place = drift.draw(false, &mut rng);
            let expect = next.entry(place / LEAF).or_insert(0);
            assert_eq!(place % LEAF, *expect % LEAF);
            *expect += 1;
        }
    }

    #[test]
    fn steps_are_as_wide_as_their_likelihood_says() {
        // A step stays in its 64 leaves unless it climbs: 0.56, plus what comes back from every level above.
        let mut rng = Rng::new(5);
        let (levels, total) = (14, 200_000);
        let mut drift = Drift::new(8 << levels, &mut rng);
        let mut stayed = 0;
        for _ in 0..total {
            let before = drift.leaf;
            drift.draw(false, &mut rng);
            stayed += u32::from(before / 64 == drift.leaf / 64);
        }
        let expect: f64 = (0..=levels - 6)
            .map(|climbed| {
                let stop = if climbed == levels - 6 { 1.0 } else { 0.56 };
                0.44_f64.powi(climbed) * stop / f64::from(1 << climbed)
            })
            .sum();
        let deviation = (expect * (1.0 - expect) / f64::from(total)).sqrt();
        let found = f64::from(stayed) / f64::from(total);
        assert!((found - expect).abs() <= 5.0 * deviation, "{found}, expected {expect}");
    }

    #[test]
    fn writes_go_to_every_eighth_leaf_and_some_come_twice() {
        let mut rng = Rng::new(6);
        let mut drift = Drift::new(8 << 14, &mut rng);
        let total = 100_000_u32;
        let mut last = u64::MAX;
        let mut twice = 0;
        for _ in 0..total {
            let place = drift.draw(true, &mut rng);
            assert_eq!(place / LEAF % WRITE_LEAVES, 0);
            twice += u32::from(place == last);
            last = place;
        }
        // 0.15 of the fresh ones are repeated: 0.15/1.15 of all, and a few meet by chance (1/8 leaves × 1/8 places).
        let found = f64::from(twice) / f64::from(total);
        let again = 0.15 / 1.15;
        assert!((again - 0.005..=again + 0.04).contains(&found), "{found}");
    }
}
