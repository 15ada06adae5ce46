//! Random positions with a given locality: each draw goes back to the position that was touched so many different
//! positions ago (its LRU stack distance; Mattson, Gecsei, Slutz, Traiger, IBM Systems Journal 9/2, 1970), or to one
//! that was not touched for long. A cache of C positions with LRU replacement then hits exactly the draws whose distance
//! is below C. What a position stands for is not known here.

use crate::permutation::Permutation;
use crate::rng::Rng;
use fathom_schema::ReuseClass;

/// Elements of one ring of a [`Recency`] list. Moving the d-th element costs d/RING steps along the rings and a move of
/// up to RING elements in one: 2,048 balances both for the million elements or so that such lists have.
const RING: usize = 2048;

/// Where draws of a given locality go, in an extent of `n` positions.
#[derive(Debug, Clone)]
pub(crate) struct Reuse {
    /// Share of the draws up to the end of each class, and the distances it has: from, to (not included).
    classes: Vec<(f64, u64, u64)>,
    recent: Recency,
    known: Known,
    /// Positions in the order in which they come up as new; this worker takes every `step`-th.
    order: Permutation,
    next: u64,
    first: u64,
    step: u64,
}

impl Reuse {
    /// Draws in `order`'s positions, of which the worker's own are those at `first`, `first + step`, …. A class holds
    /// distances up to its `blocks`; draws of no class go to positions not touched for longer than any of them.
    pub(crate) fn new(classes: &[ReuseClass], order: Permutation, first: u64, step: u64) -> Self {
        let own = order.len().saturating_sub(first).div_ceil(step);
        assert!(own > 0, "no position of {} for part {first} of {step}", order.len());
        let mut ranges = Vec::with_capacity(classes.len());
        let (mut share, mut from) = (0.0, 0);
        for class in classes {
            share += class.share;
            ranges.push((share, from, class.blocks.max(from + 1)));
            from = class.blocks.max(from + 1);
        }
        // When nearly all positions are remembered, one that is not would be searched for long: then all are, and the
        // one touched longest ago is as good as new.
        let depth = if from > own - own / 8 { own } else { from };
        let depth = usize::try_from(depth).expect("the planner keeps it within memory");
        Self {
            classes: ranges,
            recent: Recency::new(depth),
            known: Known::new(depth),
            order,
            next: first,
            first,
            step,
        }
    }

    /// The next position.
    pub(crate) fn draw(&mut self, rng: &mut Rng) -> u64 {
        let share = rng.unit();
        let class = self.classes.iter().find(|&&(up_to, ..)| share <= up_to);
        if let Some(&(_, from, to)) = class {
            let distance = usize::try_from(from + rng.below(to - from)).unwrap_or(usize::MAX);
            if distance < self.recent.len() {
                return self.recent.touch(distance);
            }
        }
        self.fresh()
    }

    /// A position not touched for longer than is remembered.
    fn fresh(&mut self) -> u64 {
        if self.recent.is_full() {
            let oldest = self.recent.len() - 1;
            if self.recent.len() as u64 == self.order.len().saturating_sub(self.first).div_ceil(self.step) {
                return self.recent.touch(oldest);
            }
            self.known.remove(self.recent.last());
        }
        let mut position = self.following();
        while self.known.contains(position) {
            position = self.following();
        }
        self.known.insert(position);
        self.recent.push(position);
        position
    }

    fn following(&mut self) -> u64 {
        let position = self.order.at(self.next);
        self.next = match self.next.checked_add(self.step) {
            Some(next) if next < self.order.len() => next,
            _ => self.first,
        };
        position
    }
}

/// A list in order of last touch, the latest first: rings of equal size one after another, so that an element moves to
/// the front by one step in each ring before it. All memory is taken at the start.
#[derive(Debug, Clone)]
struct Recency {
    items: Vec<u64>,
    /// Per ring, where its first element is.
    heads: Vec<usize>,
    length: usize,
    capacity: usize,
}

impl Recency {
    fn new(capacity: usize) -> Self {
        let rings = capacity.div_ceil(RING).max(1);
        Self { items: vec![0; rings * RING], heads: vec![0; rings], length: 0, capacity }
    }

    fn len(&self) -> usize {
        self.length
    }

    fn is_full(&self) -> bool {
        self.length >= self.capacity
    }

    fn slot(&self, index: usize) -> usize {
        let ring = index / RING;
        ring * RING + (self.heads[ring] + index) % RING
    }

    fn last(&self) -> u64 {
        self.items[self.slot(self.length - 1)]
    }

    /// Puts a new element in front; the last one leaves when the list is full.
    fn push(&mut self, item: u64) {
        if self.length < self.capacity {
            self.length += 1;
        }
        let last = self.length - 1;
        self.bring_forward(last, item);
    }

    /// Moves the element at `index` to the front and returns it.
    fn touch(&mut self, index: usize) -> u64 {
        let item = self.items[self.slot(index)];
        self.bring_forward(index, item);
        item
    }

    /// Moves all elements before `index` back by one, over the one there, and puts `item` in front.
    fn bring_forward(&mut self, index: usize, item: u64) {
        let ring = index / RING;
        // Inside its own ring the elements before it move one by one, those of two stretches of memory at once.
        let (base, head, within) = (ring * RING, self.heads[ring], index % RING);
        let end = (head + within) % RING;
        let items = &mut self.items[base..base + RING];
        if end >= head {
            items.copy_within(head..end, head + 1);
        } else {
            items.copy_within(0..end, 1);
            items[0] = items[RING - 1];
            items.copy_within(head..RING - 1, head + 1);
        }
        // Every ring before it gives its last element to the next and takes one from the ring before.
        for ring in (1..=ring).rev() {
            let before = ring - 1;
            let last = (self.heads[before] + RING - 1) % RING;
            let moved = self.items[before * RING + last];
            self.items[ring * RING + self.heads[ring]] = moved;
            self.heads[before] = last;
        }
        self.items[self.heads[0]] = item;
    }
}

/// A set of positions: open addressing with linear probing, at most half full, deletion by moving back (Knuth, TAOCP 3,
/// 6.4, algorithm R), so that nothing is ever rebuilt.
#[derive(Debug, Clone)]
struct Known {
    /// Position + 1; 0 for an empty cell.
    cells: Vec<u64>,
    shift: u32,
}

impl Known {
    fn new(capacity: usize) -> Self {
        let cells = (capacity.max(1) * 2).next_power_of_two();
        Self { cells: vec![0; cells], shift: u64::BITS - cells.trailing_zeros() }
    }

    /// Fibonacci hashing: the high bits of the product with 2^64 / golden ratio.
    fn home(&self, position: u64) -> usize {
        let hash = position.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift;
        usize::try_from(hash).expect("below the number of cells")
    }

    fn find(&self, position: u64) -> Result<usize, usize> {
        let mut cell = self.home(position);
        loop {
            match self.cells[cell] {
                0 => return Err(cell),
                found if found == position + 1 => return Ok(cell),
                _ => cell = (cell + 1) % self.cells.len(),
            }
        }
    }

    fn contains(&self, position: u64) -> bool {
        self.find(position).is_ok()
    }

    fn insert(&mut self, position: u64) {
        if let Err(cell) = self.find(position) {
            self.cells[cell] = position + 1;
        }
    }

    fn remove(&mut self, position: u64) {
        let Ok(mut hole) = self.find(position) else { return };
        let size = self.cells.len();
        let mut cell = (hole + 1) % size;
        while self.cells[cell] != 0 {
            // What lies behind the hole moves into it unless its home is behind the hole too.
            let home = self.home(self.cells[cell] - 1);
            if (cell + size - home) % size >= (cell + size - hole) % size {
                self.cells[hole] = self.cells[cell];
                hole = cell;
            }
            cell = (cell + 1) % size;
        }
        self.cells[hole] = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn the_list_is_one_in_order_of_touch(
            capacity in 1_usize..6000, touches in prop::collection::vec(any::<u32>(), 0..400),
        ) {
            let (mut list, mut model) = (Recency::new(capacity), Vec::new());
            for item in 0..capacity as u64 + 10 {
                list.push(item);
                model.insert(0, item);
                model.truncate(capacity);
            }
            for touch in touches {
                let index = touch as usize % model.len();
                let item = model.remove(index);
                model.insert(0, item);
                prop_assert_eq!(list.touch(index), item);
            }
            let found: Vec<u64> = (0..list.len()).map(|index| list.items[list.slot(index)]).collect();
            prop_assert_eq!(list.last(), model[model.len() - 1]);
            prop_assert_eq!(found, model);
        }

        #[test]
        fn the_set_is_a_set(steps in prop::collection::vec((any::<bool>(), 0_u64..60), 0..500)) {
            let (mut set, mut model) = (Known::new(30), HashSet::new());
            for (insert, position) in steps {
                if insert && model.len() < 30 {
                    set.insert(position);
                    model.insert(position);
                } else {
                    set.remove(position);
                    model.remove(&position);
                }
                for position in 0..60 {
                    prop_assert_eq!(set.contains(position), model.contains(&position));
                }
            }
        }
    }

    #[test]
    fn new_positions_are_those_not_touched_for_longest() {
        // Nothing is ever gone back to: all positions come, each once per round.
        let mut reuse = Reuse::new(&[ReuseClass { blocks: 10, share: 0.0 }], Permutation::new(100, 1), 0, 1);
        let mut rng = Rng::new(1);
        for _ in 0..3 {
            let round: HashSet<u64> = (0..100).map(|_| reuse.draw(&mut rng)).collect();
            assert_eq!(round.len(), 100);
        }
        // All positions are remembered: the oldest is new.
        let mut all = Reuse::new(&[ReuseClass { blocks: 7, share: 0.5 }], Permutation::new(7, 1), 0, 1);
        let seen: HashSet<u64> = (0..1000).map(|_| all.draw(&mut rng)).collect();
        assert_eq!(seen.len(), 7);
    }

    #[test]
    fn workers_take_positions_of_their_own() {
        let draws = |first| {
            let classes = [ReuseClass { blocks: 50, share: 0.7 }];
            let mut reuse = Reuse::new(&classes, Permutation::new(1001, 3), first, 3);
            let mut rng = Rng::new(first);
            (0..5000).map(move |_| reuse.draw(&mut rng)).collect::<HashSet<u64>>()
        };
        let (a, b, c) = (draws(0), draws(1), draws(2));
        assert_eq!((a.len(), b.len(), c.len()), (334, 334, 333));
        assert!(a.is_disjoint(&b) && a.is_disjoint(&c) && b.is_disjoint(&c));
    }
}
