//! Which case of the mix an operation is and how many bytes it has: weighted choice in constant time (Walker's alias
//! table, built by Vose's method, IEEE TSE 17/9, 1991). Places are not its business.

use crate::region::{Align, PLACED_KINDS};
use crate::rng::{Rng, wide_product};
use fathom_schema::{Case, OperationKind, Size};

/// Weighted choice of an index in constant time.
#[derive(Debug, Clone)]
pub(crate) struct Alias {
    /// Per cell: share of the cell, in 2^−64, that is its own index's; and whose the rest is.
    cells: Vec<(u64, usize)>,
}

impl Alias {
    /// A table for `weights`, none negative and not all zero; they need not sum to 1.
    pub(crate) fn new(weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        assert!(total > 0.0 && total.is_finite(), "weights {weights:?} do not add up to a share of anything");
        let mut height: Vec<f64> = weights.iter().map(|w| w * weights.len() as f64 / total).collect();
        let mut cells: Vec<(u64, usize)> = (0..weights.len()).map(|index| (u64::MAX, index)).collect();
        let (mut below, mut above): (Vec<usize>, Vec<usize>) =
            (0..weights.len()).partition(|&index| height[index] < 1.0);
        while let (Some(short), Some(tall)) = (below.pop(), above.last().copied()) {
            cells[short] = (in_64_bits(height[short]), tall);
            height[tall] -= 1.0 - height[short];
            if height[tall] < 1.0 {
                above.pop();
                below.push(tall);
            }
        }
        Self { cells }
    }

    /// An index, with the probability of its weight. One random number: its high part is the cell, its low part the
    /// height in it.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut Rng) -> usize {
        let (cell, height) = wide_product(rng.next_u64(), self.cells.len() as u64);
        #[expect(clippy::cast_possible_truncation, reason = "below the number of cells, a usize")]
        let cell = cell as usize;
        let (own, other) = self.cells[cell];
        if height < own { cell } else { other }
    }
}

/// Choices among what may come at the moment. The table that is drawn from lies with whoever draws; the others wait here,
/// each in its place, so that nothing is allocated when what may come changes.
#[derive(Debug, Clone)]
pub(crate) struct Grants {
    /// By set of kinds, as bits by their index; the place of the one in use is empty.
    tables: Vec<Alias>,
    /// Which is in use.
    at: usize,
}

impl Grants {
    /// Tables of `weights`, each of a kind, for every set of kinds that leaves anything; all may come at first.
    pub(crate) fn new(weights: &[(OperationKind, f64)]) -> Self {
        let table = |set: usize| {
            let may_come = |kind: OperationKind| set >> kind.index() & 1 == 1;
            let granted: Vec<f64> =
                weights.iter().map(|&(kind, weight)| if may_come(kind) { weight } else { 0.0 }).collect();
            if granted.iter().sum::<f64>() > 0.0 { Alias::new(&granted) } else { Alias { cells: Vec::new() } }
        };
        let all = (1 << PLACED_KINDS) - 1;
        // Whoever draws begins with a table of its own for all.
        let mut tables: Vec<Alias> = (0..=all).map(table).collect();
        tables[all] = Alias { cells: Vec::new() };
        Self { tables, at: all }
    }

    /// Lets `drawn_from` be the table for this set of kinds, where there is any.
    #[inline]
    pub(crate) fn switch(&mut self, set: u8, drawn_from: &mut Alias) {
        let to = usize::from(set) & (self.tables.len() - 1);
        if to != self.at && !self.tables[to].cells.is_empty() {
            std::mem::swap(&mut self.tables[self.at], drawn_from);
            std::mem::swap(&mut self.tables[to], drawn_from);
            self.at = to;
        }
    }
}

/// `share` of 2^64; the cast saturates at both ends, as meant.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
fn in_64_bits(share: f64) -> u64 {
    (share * 18_446_744_073_709_551_616.0) as u64
}

/// A case of the mix, ready to draw.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Choice {
    /// Read, write or trim.
    pub(crate) kind: OperationKind,
    /// Whether it goes to a random place.
    pub(crate) random: bool,
    /// Smallest size in bytes.
    pub(crate) size_min: u32,
    size_step: u32,
    size_count: u32,
    /// What its places are multiples of, those that follow rounded on in their direction; 0 where random ones keep to the
    /// workload's align and those that follow begin anywhere.
    pub(crate) grid: u32,
    /// Bytes that come back for each of its operations; 0: none.
    pub(crate) reply: u32,
}

impl Choice {
    pub(crate) fn new(case: &Case) -> Self {
        let Case { weight: _, kind, size, random, align } = *case;
        let (size_min, size_step, size_count) = match size {
            Size::Fixed(bytes) => (bytes, 0, 1),
            Size::Range { min, max, step } => (min, step, (max - min) / step + 1),
        };
        assert!(size_min > 0, "an operation of 0 bytes");
        Self { kind, random, size_min, size_step, size_count, grid: align.unwrap_or(0), reply: 0 }
    }

    /// The grid of its random places, in a workload whose grid is this.
    #[inline]
    pub(crate) fn align(self, workload: Align) -> Align {
        if self.grid == 0 { workload } else { Align::new(u64::from(self.grid)) }
    }

    /// Whether all its operations have one size.
    pub(crate) fn is_fixed(&self) -> bool {
        self.size_count == 1
    }

    /// The size of one operation of at most `room` bytes, which the smallest fits.
    pub(crate) fn size_within(&self, room: u32, rng: &mut Rng) -> u32 {
        let fitting = (room - self.size_min).checked_div(self.size_step).unwrap_or(0);
        let count = fitting.saturating_add(1).min(self.size_count);
        Self { size_count: count, ..*self }.size(rng)
    }

    /// The size of one operation, in bytes.
    #[inline]
    pub(crate) fn size(&self, rng: &mut Rng) -> u32 {
        if self.is_fixed() {
            return self.size_min;
        }
        #[expect(clippy::cast_possible_truncation, reason = "below a u32")]
        let steps = rng.below(u64::from(self.size_count)) as u32;
        self.size_min + steps * self.size_step
    }
}

/// The mix of a workload.
#[derive(Debug, Clone)]
pub(crate) struct Mix {
    choices: Vec<Choice>,
    alias: Alias,
    /// What may come at the moment, where that changes.
    grants: Option<Box<Grants>>,
}

impl Mix {
    /// The mix of `cases`, at least one.
    pub(crate) fn new(cases: &[Case]) -> Self {
        let weights: Vec<f64> = cases.iter().map(|case| case.weight).collect();
        let choices = cases.iter().map(Choice::new).collect();
        Self { choices, alias: Alias::new(&weights), grants: None }
    }

    /// The same, with the bytes that come back for operations of each case.
    pub(crate) fn with_replies(mut self, replies: &[u32]) -> Self {
        self.choices.iter_mut().zip(replies).for_each(|(choice, &bytes)| choice.reply = bytes);
        self
    }

    /// Makes it ready for [`Mix::grant`].
    pub(crate) fn prepare_grants(&mut self, cases: &[Case]) {
        let weights: Vec<(OperationKind, f64)> = cases.iter().map(|case| (case.kind, case.weight)).collect();
        self.grants = Some(Box::new(Grants::new(&weights)));
    }

    /// From here on only these kinds come.
    #[inline]
    pub(crate) fn grant(&mut self, set: u8) {
        if let Some(grants) = &mut self.grants {
            grants.switch(set, &mut self.alias);
        }
    }

    /// All cases.
    pub(crate) fn choices(&self) -> &[Choice] {
        &self.choices
    }

    /// One case, by weight. A single one costs no random number.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut Rng) -> Choice {
        match self.choices[..] {
            [only] => only,
            _ => self.choices[self.alias.draw(rng)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(weights: &[f64]) {
        let draws = 200_000;
        let seed = 42;
        let (alias, mut rng) = (Alias::new(weights), Rng::new(seed));
        let mut counts = vec![0_u32; weights.len()];
        for _ in 0..draws {
            counts[alias.draw(&mut rng)] += 1;
        }
        let total: f64 = weights.iter().sum();
        let mut chi2 = 0.0;
        for (&count, &weight) in counts.iter().zip(weights) {
            let expect = f64::from(draws) * weight / total;
            if weight == 0.0 {
                assert_eq!(count, 0, "{weights:?}");
            } else {
                chi2 += (f64::from(count) - expect).powi(2) / expect;
            }
        }
        let freedom = weights.len() as f64;
        assert!(chi2 <= freedom + 5.0 * (2.0 * freedom).sqrt(), "{weights:?}, seed {seed}: chi2 {chi2}");
    }

    #[test]
    fn weights_are_met() {
        for weights in [
            &[1.0][..],
            &[0.7, 0.3],
            &[0.0, 1.0],
            &[1.0, 0.0, 0.0],
            &[0.5, 0.5],
            &[0.1, 0.05, 0.6, 0.02, 0.02, 0.04, 0.04, 0.13],
            &[1.0; 7],
            &[0.999, 0.001],
        ] {
            check(weights);
        }
    }

    #[test]
    fn only_what_is_granted_comes() {
        use OperationKind::{Read, Trim, Write};
        let case = |weight, kind| Case { weight, kind, size: Size::Fixed(1), random: true, align: None };
        let cases = [case(0.5, Read), case(0.2, Write), case(0.3, Trim), case(0.1, Write)];
        let mut mix = Mix::new(&cases);
        mix.prepare_grants(&cases);
        let mut rng = Rng::new(5);
        let mut counts = |mix: &Mix| {
            let mut counts = [0_u32; PLACED_KINDS];
            (0..10_000).for_each(|_| counts[mix.draw(&mut rng).kind.index()] += 1);
            counts
        };
        let bit = |kind: OperationKind| 1_u8 << kind.index();
        for granted in [&[Write][..], &[Read, Trim], &[Write, Trim], &[Read, Write, Trim], &[Read]] {
            mix.grant(granted.iter().fold(0, |set, &kind| set | bit(kind)));
            let counts = counts(&mix);
            for kind in [Read, Write, Trim] {
                assert_eq!(counts[kind.index()] > 0, granted.contains(&kind), "{granted:?}: {counts:?}");
            }
        }
        mix.grant(u8::MAX);
        let [reads, writes, trims] = counts(&mix);
        // Of 11 parts: standard deviation below 50.
        assert!(reads.abs_diff(4545) < 250 && writes.abs_diff(2727) < 250 && trims.abs_diff(2727) < 250);
        // Nothing may come: whoever asks all the same gets what could come before.
        mix.grant(0);
        assert!(counts(&mix).iter().all(|&count| count > 0));
    }

    #[test]
    fn sizes_lie_on_their_grid_uniformly() {
        let size = Size::Range { min: 512, max: 4000, step: 1024 };
        let choice =
            Choice::new(&Case { weight: 1.0, kind: OperationKind::Read, size, random: true, align: None });
        let mut rng = Rng::new(3);
        let mut counts = [0_u32; 4];
        for _ in 0..40_000 {
            let steps = (choice.size(&mut rng) - 512) / 1024;
            counts[steps as usize] += 1;
        }
        // Binomial, n 40000, p 1/4: standard deviation 87.
        assert!(counts.iter().all(|&c| c.abs_diff(10_000) < 5 * 87), "{counts:?}");
    }
}
