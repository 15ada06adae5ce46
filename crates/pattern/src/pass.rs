//! Random once-per-pass order of the blocks of an extent, in constant memory, split over any number of workers without
//! a word between them. It deals in block numbers and knows nothing of bytes.

use crate::permutation::Permutation;
use crate::rng::{Purpose, derive};
use fathom_schema::SharePart;

/// One worker's part of endless passes over `blocks` blocks, each of which visits every block once.
///
/// A pass is a keyed order of runs of consecutive blocks; worker j of n takes every n-th run of it from the j-th. All
/// workers derive the same keys from the same seed. When there are more workers than runs, those without a run of their
/// own repeat another's, since a worker never runs dry.
#[derive(Debug, Clone)]
pub(crate) struct Pass {
    seed: u64,
    blocks: u64,
    run_length: u64,
    part: SharePart,
    /// Number of the current pass, from 0.
    number: u64,
    /// Order of the runs in it.
    order: Permutation,
    /// Runs are cut from this block on, in a circle; else all runs of all passes would begin at the same blocks.
    rotation: u64,
    /// Index in `order` of this worker's next run.
    turn: u64,
    /// Next block of the current run and how many are left of it.
    block: u64,
    left: u64,
}

impl Pass {
    /// Passes over `blocks` blocks (at least 1) in runs of `run_length` (at least 1), the last of a pass shorter where
    /// it does not divide.
    pub(crate) fn new(seed: u64, blocks: u64, run_length: u32, part: SharePart) -> Self {
        assert!(run_length > 0 && part.index < part.count, "run length {run_length}, {part:?}");
        let run_length = u64::from(run_length).min(blocks);
        let order = Permutation::new(blocks.div_ceil(run_length), 0);
        let mut pass = Self {
            seed,
            blocks,
            run_length,
            part,
            number: 0,
            order,
            rotation: 0,
            turn: 0,
            block: 0,
            left: 0,
        };
        pass.begin(0);
        pass
    }

    /// The next block.
    #[inline]
    pub(crate) fn next_block(&mut self) -> u64 {
        if self.left == 0 {
            self.next_run();
        }
        let block = self.block;
        self.left -= 1;
        self.block = if block + 1 == self.blocks { 0 } else { block + 1 };
        block
    }

    /// Gives each of `slots` the next block. Without runs the state stays in registers: 8.4 ns a block instead
    /// of 11.3 (rustc -O, the machine this was written on).
    pub(crate) fn fill<T>(&mut self, slots: &mut [T], mut put: impl FnMut(&mut T, u64)) {
        if self.run_length > 1 {
            for slot in slots {
                put(slot, self.next_block());
            }
            return;
        }
        let (mut order, mut turn) = (self.order, self.turn);
        for slot in slots {
            if turn >= order.len() {
                self.renew();
                (order, turn) = (self.order, self.turn);
            }
            put(slot, order.at(turn));
            turn += u64::from(self.part.count);
        }
        self.turn = turn;
    }

    /// Whether this worker's part of the current pass is done.
    pub(crate) fn is_at_end(&self) -> bool {
        self.left == 0 && self.turn >= self.order.len()
    }

    /// Leaves the current pass, done or not, and begins the next.
    #[cold]
    pub(crate) fn renew(&mut self) {
        self.begin(self.number + 1);
    }

    #[inline]
    fn next_run(&mut self) {
        if self.turn >= self.order.len() {
            self.renew();
        }
        let first = self.order.at(self.turn) * self.run_length;
        self.turn += u64::from(self.part.count);
        self.left = self.run_length.min(self.blocks - first);
        // first < blocks and rotation < blocks, so one subtraction closes the circle.
        let turned = first + self.rotation;
        self.block = if turned >= self.blocks { turned - self.blocks } else { turned };
    }

    fn begin(&mut self, number: u64) {
        let key = derive(self.seed, Purpose::Pass, number);
        self.number = number;
        self.order = Permutation::new(self.order.len(), key);
        self.left = 0;
        self.rotation = if self.run_length == 1 { 0 } else { key % self.blocks };
        self.turn = u64::from(self.part.index) % self.order.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The blocks of each worker's part of one pass.
    fn parts(blocks: u64, run_length: u32, count: u32, skip: u64) -> Vec<Vec<u64>> {
        (0..count)
            .map(|index| {
                let mut pass = Pass::new(9, blocks, run_length, SharePart { index, count });
                for _ in 0..skip {
                    while pass.next_block() != u64::MAX && !pass.is_at_end() {}
                }
                let mut part = vec![pass.next_block()];
                while !pass.is_at_end() {
                    part.push(pass.next_block());
                }
                part
            })
            .collect()
    }

    proptest! {
        #[test]
        fn workers_together_visit_every_block_once(
            blocks in 1_u64..3000, run_length in 1_u32..50, count in 1_u32..9, skip in 0_u64..3,
        ) {
            prop_assume!(blocks.div_ceil(u64::from(run_length)) >= u64::from(count));
            let mut all: Vec<u64> = parts(blocks, run_length, count, skip).concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..blocks).collect::<Vec<_>>());
        }

        #[test]
        fn runs_are_consecutive(blocks in 1_u64..3000, run_length in 1_u32..50) {
            let part = &parts(blocks, run_length, 1, 0)[0];
            let jumps = part.windows(2).filter(|pair| pair[1] != (pair[0] + 1) % blocks).count() as u64;
            prop_assert!(jumps < blocks.div_ceil(u64::from(run_length)));
        }
    }

    #[test]
    fn passes_differ_and_workers_beyond_the_blocks_go_on() {
        assert_ne!(parts(1000, 1, 1, 0), parts(1000, 1, 1, 1));
        assert_eq!(parts(2, 1, 5, 0).concat().len(), 5);
        assert_eq!(parts(1, 500, 1, 0), [[0]]);
    }
}
