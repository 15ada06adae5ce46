//! An extent with the state of the accesses to it: sequential positions, random ground, end of a pass. It does not know
//! in which order extents are visited or which operation comes next.

use crate::pass::Pass;
use crate::permutation::Permutation;
use crate::rng::{Purpose, derive};
use crate::track::Track;
use fathom_schema::{Extent, OperationKind, SharePart};

/// Longest extent, in bytes: positions stay exact when a size and a stride are added to them.
const EXTENT_MAX: u64 = 1 << 62;

/// Kinds that have positions: read, write and trim.
pub(crate) const PLACED_KINDS: usize = OperationKind::Sync as usize;

/// The grid of random offsets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Align {
    pub(crate) bytes: u64,
    /// log₂ of `bytes` when it is a power of two: a shift in every draw instead of a division.
    shift: Option<u32>,
}

impl Align {
    pub(crate) fn new(bytes: u64) -> Self {
        Self { bytes, shift: bytes.is_power_of_two().then(|| bytes.trailing_zeros()) }
    }

    /// How many places an operation of `size` bytes has in an extent of `length` bytes.
    #[inline]
    pub(crate) fn positions(self, length: u64, size: u32) -> u64 {
        let room = length - u64::from(size);
        1 + match self.shift {
            Some(shift) => room >> shift,
            None => room / self.bytes,
        }
    }
}

/// An extent with the state of the accesses to it.
#[derive(Debug, Clone)]
pub(crate) struct Region {
    pub(crate) start: u64,
    pub(crate) length: u64,
    pub(crate) tracks: [Track; PLACED_KINDS],
    pub(crate) ground: Ground,
}

/// State of the random accesses to an extent.
#[derive(Debug, Clone)]
pub(crate) enum Ground {
    /// Every position once per pass.
    Once(Pass),
    /// Each draw independent of the others.
    Free {
        /// Where the ranks of a skewed distribution lie; covers the positions of the smallest operation.
        scatter: Permutation,
        /// Operations left of the current run, and where the next of them goes.
        run_left: u32,
        run_next: u64,
        /// Operations that make a pass, for extents visited one after another, and how many are left of the current.
        pass_length: u64,
        pass_left: u64,
    },
}

/// What a [`Ground`] is made from.
pub(crate) struct GroundRule {
    pub(crate) once: bool,
    pub(crate) size: u32,
    pub(crate) align: Align,
    pub(crate) run_length: u32,
    pub(crate) part: SharePart,
    pub(crate) seed: u64,
}

impl Region {
    pub(crate) fn new(extent: &Extent, rule: &GroundRule) -> Self {
        let Extent { target, start, length } = *extent;
        let GroundRule { once, size, align, run_length, part, seed } = *rule;
        assert!(length.0 <= EXTENT_MAX, "an extent of {length}; up to {EXTENT_MAX} B are possible");
        assert!(u64::from(size) <= length.0, "operations of {size} B in an extent of {length}");
        let positions = align.positions(length.0, size);
        // By what it is, not where it stands in the list: workers with different lists agree on the order of an extent.
        let seed = derive(derive(seed, Purpose::Extent, u64::from(target)), Purpose::Extent, start.0);
        let ground = if once {
            Ground::Once(Pass::new(seed, positions, run_length, part))
        } else {
            let pass_length = positions.div_ceil(u64::from(part.count));
            Ground::Free {
                scatter: Permutation::new(positions, derive(seed, Purpose::Place, 0)),
                run_left: 0,
                run_next: 0,
                pass_length,
                pass_left: pass_length,
            }
        };
        Self { start: start.0, length: length.0, tracks: [Track::new(); PLACED_KINDS], ground }
    }

    /// Whether the extent has been gone through once, so that this operation would begin another pass.
    pub(crate) fn pass_has_ended(&self, random: bool, size: u32, track: usize) -> bool {
        match &self.ground {
            _ if !random => self.tracks[track].is_at_end(self.length, size),
            Ground::Once(pass) => pass.is_at_end(),
            Ground::Free { pass_left, .. } => *pass_left == 0,
        }
    }

    pub(crate) fn renew(&mut self, random: bool, track: usize) {
        match &mut self.ground {
            _ if !random => self.tracks[track] = Track::new(),
            Ground::Once(pass) => pass.renew(),
            Ground::Free { pass_length, pass_left, .. } => *pass_left = *pass_length,
        }
    }
}

impl Ground {
    /// Where a random operation goes, in bytes from the extent's start. `draw` gives a position out of so many.
    #[inline]
    pub(crate) fn place(
        &mut self,
        length: u64,
        size: u32,
        run: u32,
        align: Align,
        draw: impl FnOnce(u64, &Permutation) -> u64,
    ) -> u64 {
        match self {
            Self::Once(pass) => pass.next_block() * align.bytes,
            Self::Free { scatter, run_left, run_next, pass_length: _, pass_left } => {
                *pass_left = pass_left.saturating_sub(1);
                let place = if *run_left == 0 {
                    *run_left = run - 1;
                    draw(align.positions(length, size), scatter) * align.bytes
                } else {
                    *run_left -= 1;
                    if *run_next <= length - u64::from(size) { *run_next } else { 0 }
                };
                *run_next = place + u64::from(size);
                place
            }
        }
    }
}
