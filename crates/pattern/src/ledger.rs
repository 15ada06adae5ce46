//! Which write was the last one at each place of a worker's extents, where a place may be written more than once: 4 bytes for
//! every stretch that all operations are made of.

use fathom_schema::Extent;

/// The last writes at every place.
#[derive(Debug, Clone)]
pub struct LastWrites {
    /// Bytes of a stretch.
    granule: u64,
    /// Per extent: its first byte and the index of its first stretch.
    extents: Vec<(u64, usize)>,
    /// Per stretch: number of the write, from 1; 0 where there was none.
    last: Vec<u32>,
}

impl LastWrites {
    /// None written yet; each stretch costs 4 bytes. `granule` divides the place and the size of every operation, and `reach`
    /// says how many bytes from the start of an extent on they go to.
    pub fn new(extents: &[Extent], granule: u32, reach: impl Fn(&Extent) -> u64) -> Self {
        let granule = u64::from(granule.max(1));
        let mut total = 0;
        let mut starts = Vec::with_capacity(extents.len());
        for extent in extents {
            starts.push((extent.start.0, to_usize(total)));
            total += reach(extent).div_ceil(granule);
        }
        Self { granule, extents: starts, last: vec![0; to_usize(total)] }
    }

    /// Write `number`, counted from the last [`Self::forget`] on, goes to this place; 0 for what is no longer data.
    pub fn note(&mut self, extent: u32, offset: u64, length: u32, number: u32) {
        let stretches = self.place(extent, offset, length);
        self.last[stretches].fill(number);
    }

    /// Whether write `number` is the last one at all of this place.
    pub fn is_last(&self, extent: u32, offset: u64, length: u32, number: u32) -> bool {
        self.last[self.place(extent, offset, length)].iter().all(|&last| last == number)
    }

    /// Forgets all writes.
    pub fn forget(&mut self) {
        self.last.fill(0);
    }

    fn place(&self, extent: u32, offset: u64, length: u32) -> std::ops::Range<usize> {
        let (start, first) = self.extents[extent as usize];
        let at = first + to_usize((offset - start) / self.granule);
        let end = first + to_usize((offset - start + u64::from(length)).div_ceil(self.granule));
        at..end
    }
}

fn to_usize(n: u64) -> usize {
    usize::try_from(n).expect("a table that fits the memory")
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_units::Bytes;
    use proptest::prelude::*;

    proptest! {
        /// Against the plain way: a list of all writes, of which later ones win.
        #[test]
        fn the_last_write_of_every_place_is_known(
            writes in proptest::collection::vec((0_u32..2, 0_u64..40, 1_u32..6), 1..60),
        ) {
            // The last ones reach up to 5 stretches over the end.
            let extent =
                |target| Extent { target, start: Bytes(1000), length: Bytes(400), room: Bytes(1 << 40) };
            let mut last = LastWrites::new(&[extent(0), extent(1)], 10, |extent| extent.length.0 + 50);
            for (&(at, place, size), number) in writes.iter().zip(1..) {
                last.note(at, 1000 + place * 10, size * 10, number);
            }
            for (index, &(at, place, size)) in writes.iter().enumerate() {
                let covers = |&(other, start, length): &(u32, u64, u32)| {
                    other == at && start < place + u64::from(size) && place < start + u64::from(length)
                };
                let is_last = !writes[index + 1..].iter().any(covers);
                let number = u32::try_from(index).unwrap() + 1;
                prop_assert_eq!(last.is_last(at, 1000 + place * 10, size * 10, number), is_last);
            }
        }
    }
}
