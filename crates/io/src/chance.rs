//! Chance for engines that need it: a small seeded generator that costs a few nanoseconds.

/// splitmix64 (Steele, Lea, Flood 2014): every seed gives a full period of 2^64.
#[derive(Debug, Clone)]
pub(crate) struct Chance {
    state: u64,
}

impl Chance {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in (0, 1], 53 bits.
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// True in this percentage of the calls; 0 draws nothing.
    #[inline]
    pub(crate) fn hits(&mut self, percent: u8) -> bool {
        match percent {
            0 => false,
            100.. => true,
            _ => self.percent() < percent,
        }
    }

    /// Uniform from 0 to 99.
    #[inline]
    pub(crate) fn percent(&mut self) -> u8 {
        (self.next() % 100) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_hit_that_often() {
        let mut chance = Chance::new(7);
        for percent in [0, 1, 30, 99, 100] {
            let hits = (0..100_000).filter(|_| chance.hits(percent)).count();
            // Six standard deviations of a binomial of 100,000 are below 950.
            assert!(hits.abs_diff(usize::from(percent) * 1000) < 950, "{percent} %: {hits}");
        }
    }
}
