//! Which blocks of an extent were touched in this pass: a bitmap with summaries above it, so that the next free block is
//! found in a few steps however full it is. It deals in block numbers and knows nothing of bytes.

/// Blocks with a mark each; a block is free until it is taken.
#[derive(Debug, Clone)]
pub(crate) struct Map {
    /// `levels[0]` has a bit per block; a bit of a level above says that the word below it is full.
    levels: Vec<Vec<u64>>,
    blocks: u64,
}

impl Map {
    /// Bytes that a map of so many blocks takes.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.levels.iter().map(|level| level.len() * 8).sum()
    }

    /// A map of `blocks` free blocks, at least one.
    pub(crate) fn new(blocks: u64) -> Self {
        assert!(blocks > 0, "a map of no blocks");
        let mut levels = Vec::new();
        let mut bits = blocks;
        loop {
            let words = bits.div_ceil(64);
            levels.push(vec![0; to_usize(words)]);
            if words == 1 {
                break;
            }
            bits = words;
        }
        let mut map = Self { levels, blocks };
        map.clear();
        map
    }

    /// Frees all blocks.
    pub(crate) fn clear(&mut self) {
        let mut bits = self.blocks;
        for level in &mut self.levels {
            level.fill(0);
            // What lies behind the last is never free.
            if !bits.is_multiple_of(64) {
                *level.last_mut().expect("a level has a word") = u64::MAX << (bits % 64);
            }
            bits = level.len() as u64;
        }
    }

    /// The first free block from `from` on, else from the start on; `None` when all are taken.
    #[inline]
    pub(crate) fn next_free(&self, from: u64) -> Option<u64> {
        self.at_or_after(from).or_else(|| self.at_or_after(0))
    }

    fn at_or_after(&self, from: u64) -> Option<u64> {
        let mut at = from;
        for (height, level) in self.levels.iter().enumerate() {
            let word = to_usize(at / 64);
            let free = !*level.get(word)? & (u64::MAX << (at % 64));
            if free != 0 {
                let mut found = at / 64 * 64 + u64::from(free.trailing_zeros());
                for below in self.levels[..height].iter().rev() {
                    found = found * 64 + u64::from((!below[to_usize(found)]).trailing_zeros());
                }
                return Some(found);
            }
            at = at / 64 + 1;
        }
        None
    }

    /// Takes up to `count` blocks from `from` on, as far as they are free; returns how many.
    #[inline]
    pub(crate) fn take(&mut self, from: u64, count: u64) -> u64 {
        let end = from.saturating_add(count).min(self.blocks);
        let mut at = from;
        while at < end && self.levels[0][to_usize(at / 64)] & (1 << (at % 64)) == 0 {
            self.mark(at);
            at += 1;
        }
        at - from
    }

    fn mark(&mut self, block: u64) {
        let mut at = block;
        for level in &mut self.levels {
            let word = &mut level[to_usize(at / 64)];
            *word |= 1 << (at % 64);
            if *word != u64::MAX {
                break;
            }
            at /= 64;
        }
    }
}

fn to_usize(index: u64) -> usize {
    usize::try_from(index).expect("a map fits in memory")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_map_costs_a_bit_per_block_and_little_more() {
        assert_eq!(Map::new(64).bytes(), 8);
        assert!(Map::new(1 << 20).bytes() < (1 << 17) + (1 << 17) / 60);
    }

    proptest! {
        #[test]
        fn it_is_a_set_of_block_numbers(
            blocks in 1_u64..10_000, draws in prop::collection::vec((any::<u64>(), 1_u64..200), 1..200),
        ) {
            let mut map = Map::new(blocks);
            let mut taken = vec![false; to_usize(blocks)];
            for (draw, count) in draws {
                let from = draw % blocks;
                let expect = (from..blocks).chain(0..from).find(|&b| !taken[to_usize(b)]);
                prop_assert_eq!(map.next_free(from), expect);
                let Some(free) = expect else {
                    map.clear();
                    taken.fill(false);
                    continue;
                };
                let expect = (free..blocks).take(to_usize(count)).take_while(|&b| !taken[to_usize(b)]).count();
                prop_assert_eq!(map.take(free, count), expect as u64);
                taken[to_usize(free)..][..expect].fill(true);
            }
        }
    }
}
