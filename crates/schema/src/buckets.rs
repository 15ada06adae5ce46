//! The distribution of latencies as a record holds it: counts of buckets, packed. Knows how they are kept, not which latency
//! a bucket stands for.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Counts of the non-empty buckets of the base-2 log-linear histogram with 128 buckets per power of two.
///
/// Serialised flat as `[gap, count, gap, count, …]`: the gap is the distance of the bucket index to the previous
/// non-empty one (to −1 for the first). In memory the same is packed, most buckets of a short interval into a byte, since
/// thousands of intervals are looked at together; equal ones may share it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<u64>", into = "Vec<u64>")]
pub struct SparseHistogram {
    /// Of each bucket a byte with its gap in the upper and its count in the lower half; in the place of one above 15 lies 0,
    /// and the number itself follows in groups of seven bits, the lowest first.
    packed: Arc<[u8]>,
}

/// What fits half a byte.
const HALF: u64 = 0xF;

impl SparseHistogram {
    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    /// Index and count of each bucket, in ascending index order, counts above 0.
    pub fn buckets(&self) -> Buckets<'_> {
        Buckets { rest: &self.packed, next: 0 }
    }

    /// Adds the counts of another.
    pub fn add(&mut self, other: &Self) {
        if self.is_empty() || other.is_empty() {
            if self.is_empty() {
                self.clone_from(other);
            }
            return;
        }
        let (mut left, mut right) = (self.buckets(), other.buckets());
        let mut sum = Packing::default();
        sum.bytes.reserve(self.packed.len() + other.packed.len());
        let (mut of_left, mut of_right) = (left.read(), right.read());
        let rest = loop {
            match (of_left, of_right) {
                (Some(l), Some(r)) if l.0 == r.0 => {
                    sum.put((l.0, l.1.saturating_add(r.1)));
                    (of_left, of_right) = (left.read(), right.read());
                }
                (Some(l), Some(r)) if l.0 < r.0 => {
                    sum.put(l);
                    of_left = left.read();
                }
                (Some(_), Some(r)) => {
                    sum.put(r);
                    of_right = right.read();
                }
                (Some(l), None) => break Some((l, left.rest)),
                (None, Some(r)) => break Some((r, right.rest)),
                (None, None) => break None,
            }
        };
        // Gaps are told from one to the next: all behind the next stays as it is.
        if let Some((next, rest)) = rest {
            sum.put(next);
            sum.bytes.extend_from_slice(rest);
        }
        self.packed = sum.bytes.into();
    }

    /// The packed form, for a store; [`SparseHistogram::of_packed`] takes it back.
    pub fn packed(&self) -> &[u8] {
        &self.packed
    }

    /// Takes back what [`SparseHistogram::packed`] gave; nothing when these bytes are no histogram.
    pub fn of_packed(packed: &[u8]) -> Option<Self> {
        let mut buckets = Buckets { rest: packed, next: 0 };
        while !buckets.rest.is_empty() {
            buckets.read()?;
        }
        Some(Self { packed: packed.into() })
    }
}

impl FromIterator<(u32, u64)> for SparseHistogram {
    /// Of buckets in ascending order; what is told of one twice is added up, and empty ones are left out.
    ///
    /// # Panics
    /// When a bucket comes after one that is above it.
    fn from_iter<I: IntoIterator<Item = (u32, u64)>>(buckets: I) -> Self {
        let mut buckets = buckets.into_iter().filter(|&(_, count)| count > 0).peekable();
        let mut packing = Packing::default();
        while let Some((index, mut count)) = buckets.next() {
            while let Some((_, more)) = buckets.next_if(|&(other, _)| other == index) {
                count = count.saturating_add(more);
            }
            packing.put((index, count));
        }
        Self { packed: packing.bytes.into() }
    }
}

/// A histogram that is being packed.
#[derive(Default)]
struct Packing {
    bytes: Vec<u8>,
    /// As in [`Buckets`].
    next: u64,
}

impl Packing {
    fn put(&mut self, (index, count): (u32, u64)) {
        let gap = (u64::from(index) + 1).checked_sub(self.next).expect("buckets come in ascending order");
        self.next += gap;
        if gap <= HALF && count <= HALF {
            self.bytes.push(low_byte(gap << 4 | count));
        } else {
            self.put_long(gap, count);
        }
    }

    #[inline(never)]
    fn put_long(&mut self, gap: u64, count: u64) {
        let half = |number: u64| if number > HALF { 0 } else { number };
        self.bytes.push(low_byte(half(gap) << 4 | half(count)));
        for mut number in [gap, count].into_iter().filter(|&number| number > HALF) {
            while number > 0x7F {
                self.bytes.push(low_byte(number) | 0x80);
                number >>= 7;
            }
            self.bytes.push(low_byte(number));
        }
    }
}

fn low_byte(number: u64) -> u8 {
    number.to_le_bytes()[0]
}

/// The buckets of a histogram; see [`SparseHistogram::buckets`].
#[derive(Debug, Clone)]
pub struct Buckets<'a> {
    rest: &'a [u8],
    /// One above the index of the bucket before.
    next: u64,
}

impl Buckets<'_> {
    /// The next; nothing at the end, and where the bytes are no histogram.
    fn read(&mut self) -> Option<(u32, u64)> {
        let (&head, rest) = self.rest.split_first()?;
        self.rest = rest;
        let (mut gap, mut count) = (u64::from(head >> 4), u64::from(head) & HALF);
        if gap == 0 {
            gap = self.number()?;
        }
        if count == 0 {
            count = self.number()?;
        }
        if gap == 0 || count == 0 {
            return None;
        }
        self.next = self.next.checked_add(gap)?;
        Some((u32::try_from(self.next - 1).ok()?, count))
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..u64::BITS).step_by(7) {
            let (&byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            let group = u64::from(byte & 0x7F);
            number |= group << shift;
            if byte < 0x80 {
                return (number >> shift == group).then_some(number);
            }
        }
        None
    }
}

impl Iterator for Buckets<'_> {
    type Item = (u32, u64);

    fn next(&mut self) -> Option<(u32, u64)> {
        self.read()
    }
}

impl From<SparseHistogram> for Vec<u64> {
    fn from(histogram: SparseHistogram) -> Self {
        let mut flat = Self::new();
        let mut next = 0;
        for (index, count) in histogram.buckets() {
            flat.push(u64::from(index) + 1 - next);
            flat.push(count);
            next = u64::from(index) + 1;
        }
        flat
    }
}

impl From<Vec<u64>> for SparseHistogram {
    /// A trailing gap without a count is ignored; indices are cut to 32 bits, which no layout comes near.
    fn from(flat: Vec<u64>) -> Self {
        let mut next = 0_u64;
        let buckets = flat.chunks_exact(2).map(|pair| {
            next = next.saturating_add(pair[0]);
            (u32::try_from(next.saturating_sub(1)).unwrap_or(u32::MAX), pair[1])
        });
        buckets.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(buckets: &[(u32, u64)], bytes: usize) {
        let histogram: SparseHistogram = buckets.iter().copied().collect();
        assert!(histogram.buckets().eq(buckets.iter().copied()), "{histogram:?}");
        assert_eq!(histogram.packed().len(), bytes, "{histogram:?}");
        assert_eq!(SparseHistogram::of_packed(histogram.packed()), Some(histogram.clone()));
        assert_eq!(histogram.is_empty(), buckets.is_empty());
        let text = serde_json::to_string(&histogram).unwrap();
        assert_eq!(serde_json::from_str::<SparseHistogram>(&text).unwrap(), histogram);
    }

    #[test]
    fn buckets_are_packed_and_come_back() {
        check(&[], 0);
        check(&[(0, 1)], 1);
        check(&[(14, 15), (29, 15)], 2);
        check(&[(15, 1), (16, 16)], 4);
        check(&[(0, 127), (1, 128), (200, 3)], 2 + 3 + 3);
        check(&[(u32::MAX - 1, u64::MAX), (u32::MAX, 1)], 1 + 5 + 10 + 1);
        let all: Vec<(u32, u64)> = (0..65).map(|bit| (1 << (bit / 3), 1 << (bit % 64))).collect();
        let mut expect: Vec<(u32, u64)> = Vec::new();
        for &(index, count) in &all {
            match expect.last_mut() {
                Some((last, sum)) if *last == index => *sum += count,
                _ => expect.push((index, count)),
            }
        }
        assert!(all.into_iter().collect::<SparseHistogram>().buckets().eq(expect));
    }

    /// What is added up is what all buckets together give.
    fn check_sum(left: &[(u32, u64)], right: &[(u32, u64)]) {
        let mut all = [left, right].concat();
        all.sort_unstable();
        let of = |buckets: &[(u32, u64)]| buckets.iter().copied().collect::<SparseHistogram>();
        for (into, from) in [(left, right), (right, left)] {
            let mut sum = of(into);
            sum.add(&of(from));
            assert_eq!(sum, of(&all), "{into:?} and {from:?}");
            assert_eq!(SparseHistogram::of_packed(sum.packed()), Some(sum));
        }
    }

    #[test]
    fn histograms_are_added_up() {
        let spread = |step: u32, count: u64| -> Vec<(u32, u64)> {
            (1..300)
                .map(|n| (n * n * step, count * u64::from(n % 40)))
                .filter(|&(_, count)| count > 0)
                .collect()
        };
        let all =
            [vec![], vec![(0, 15)], vec![(0, 1), (4000, 15)], spread(1, 1), spread(3, 7), spread(2, 1 << 40)];
        for left in &all {
            all.iter().for_each(|right| check_sum(left, right));
        }
        check_sum(&[(7, u64::MAX)], &[(7, 2), (8, 1)]);
    }

    #[test]
    fn the_flat_form_is_gaps_and_counts() {
        let histogram: SparseHistogram = [(0, 3), (1, 1), (700, 9)].into_iter().collect();
        assert_eq!(serde_json::to_string(&histogram).unwrap(), "[1,3,1,1,699,9]");
        // As others may write it: twice the same, none, one cut short, one beyond any layout.
        let odd: SparseHistogram = serde_json::from_str("[3,2,0,5,1,0,99999999999,1,7]").unwrap();
        assert!(odd.buckets().eq([(2, 7), (u32::MAX, 1)]));
    }

    #[test]
    fn bytes_that_are_no_histogram_are_refused() {
        let long = [0x01, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02];
        for bytes in [
            &[0x00][..],
            &[0x01, 0x80],
            &[0x01, 0x00],
            &[0x10, 0x00],
            &[0x01, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F],
            &long,
        ] {
            assert_eq!(SparseHistogram::of_packed(bytes), None, "{bytes:x?}");
        }
    }
}
