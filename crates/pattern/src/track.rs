//! Sequential positions: where an operation that continues goes, and when an extent has been gone through once. It does
//! not know which kinds of operations share a position.

/// A position that has not been set: the next operation begins a pass.
const FRESH: i64 = i64::MIN;

/// How sequential operations move on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stride {
    /// Bytes skipped after each operation; may be negative.
    pub(crate) bytes: i64,
    /// Whether a pass goes from the end to the start.
    pub(crate) backwards: bool,
    /// Starts from the end are multiples of this.
    pub(crate) align: u64,
    /// What all places are multiples of; 0 where operations begin wherever those before leave off.
    grid: u64,
}

impl Stride {
    /// A stride of `bytes` after operations of at least `size_min` bytes. It goes backwards when it skips back over
    /// more than the operation itself.
    pub(crate) fn new(bytes: i64, size_min: u32, align: u64) -> Self {
        Self { bytes, backwards: bytes < -i64::from(size_min), align, grid: 0 }
    }

    /// The same for operations that keep to multiples of `grid`; 0 for those that keep to none.
    #[inline]
    pub(crate) fn on(self, grid: u32) -> Self {
        let align = if grid == 0 { self.align } else { u64::from(grid) };
        Self { align, grid: u64::from(grid), ..self }
    }

    /// Where a pass over `length` bytes begins.
    #[inline]
    fn start(self, length: u64, size: u32) -> u64 {
        if !self.backwards {
            return 0;
        }
        let last = length - u64::from(size);
        last - last % self.align
    }
}

/// One sequential position in an extent, relative to its start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Track {
    next: i64,
}

impl Track {
    /// Before the first operation.
    pub(crate) const fn new() -> Self {
        Self { next: FRESH }
    }

    /// Where an operation of `size` bytes goes in an extent of `length` bytes; begins anew when it would pass the end.
    #[inline]
    pub(crate) fn take(&mut self, length: u64, size: u32, stride: Stride) -> u64 {
        let offset = self.fitting(length, size, stride).unwrap_or_else(|| stride.start(length, size));
        self.leave(offset, size, stride);
        offset
    }

    /// Continue from an operation that went to `offset`.
    #[inline]
    pub(crate) fn leave(&mut self, offset: u64, size: u32, stride: Stride) {
        // Extents are below 2^62 and strides are i64: the sum may leave the extent, but only saturates far outside it.
        self.next = (offset.cast_signed() + i64::from(size)).saturating_add(stride.bytes).max(FRESH + 1);
    }

    /// Whether an operation of `size` bytes would begin another pass.
    pub(crate) fn is_at_end(self, length: u64, size: u32, stride: Stride) -> bool {
        self.next != FRESH && self.fitting(length, size, stride).is_none()
    }

    /// The next place, on the grid, where an operation of `size` bytes ends inside `length` bytes.
    #[inline]
    fn fitting(self, length: u64, size: u32, stride: Stride) -> Option<u64> {
        let next = u64::try_from(self.next).ok()?;
        let next = match stride.grid {
            0 => next,
            // An operation of this size leads backwards: the grid is met below, for above it lies what was left.
            grid if stride.bytes < -i64::from(size) => next - next % grid,
            grid => next.checked_next_multiple_of(grid)?,
        };
        (next <= length - u64::from(size)).then_some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(length: u64, size: u32, stride: i64, expect: &[u64]) {
        check_on(0, length, size, stride, expect);
    }

    fn check_on(grid: u32, length: u64, size: u32, stride: i64, expect: &[u64]) {
        let stride = Stride::new(stride, size, u64::from(size)).on(grid);
        let mut track = Track::new();
        let got: Vec<u64> = expect.iter().map(|_| track.take(length, size, stride)).collect();
        assert_eq!(got, expect, "length {length}, size {size}, {stride:?}");
    }

    #[test]
    fn positions_follow_one_another() {
        check(40, 10, 0, &[0, 10, 20, 30, 0, 10]);
        check(45, 10, 0, &[0, 10, 20, 30, 0]);
        check(10, 10, 0, &[0, 0]);
        check(60, 10, 10, &[0, 20, 40, 0]);
        check(40, 10, -20, &[30, 20, 10, 0, 30]);
        check(45, 10, -20, &[30, 20, 10, 0, 30]);
        check(40, 10, -10, &[0, 0, 0]);
        check(40, 10, -5, &[0, 5, 10, 15, 20, 25, 30, 0]);
        check(40, 10, i64::MAX, &[0, 0]);
        check(40, 10, i64::MIN, &[30, 30]);
    }

    #[test]
    fn a_grid_is_met_in_the_direction_of_the_stride() {
        check_on(16, 60, 10, 0, &[0, 16, 32, 48, 0]);
        check_on(16, 60, 10, -20, &[48, 32, 16, 0, 48]);
        check_on(20, 100, 10, -20, &[80, 60, 40, 20, 0, 80]);
        check_on(20, 100, 10, -25, &[80, 60, 40, 20, 0, 80]);
        check_on(20, 100, 10, -45, &[80, 40, 0, 80]);
        // Back by less than the operation is forwards all the same, and back by all of it stays.
        check_on(20, 60, 10, -5, &[0, 20, 40, 0]);
        check_on(20, 60, 10, -10, &[0, 0]);
        check_on(20, 60, 10, i64::MAX, &[0, 0]);
        check_on(20, 60, 10, i64::MIN, &[40, 40]);
    }

    #[test]
    fn the_end_of_a_grid_is_seen_before_it_is_passed() {
        // Behind 40 there is room at 50, and none on the grid.
        let stride = Stride::new(0, 10, 10).on(20);
        let mut track = Track::new();
        let places = [(); 3].map(|()| track.take(60, 10, stride));
        assert_eq!((places, track.is_at_end(60, 10, stride)), ([0, 20, 40], true));
    }

    #[test]
    fn the_end_is_seen_before_it_is_passed() {
        let stride = Stride::new(0, 10, 10);
        let mut track = Track::new();
        let ends: Vec<bool> = (0..5)
            .map(|_| {
                let end = track.is_at_end(40, 10, stride);
                track.take(40, 10, stride);
                end
            })
            .collect();
        assert_eq!(ends, [false, false, false, false, true]);
    }
}
