//! An extent with the state of the accesses to it: sequential positions, random ground, end of a pass. It does not know
//! in which order extents are visited or which operation comes next.

use crate::drift::Drift;
use crate::mix::Choice;
use crate::pass::Pass;
use crate::permutation::Permutation;
use crate::reuse::Reuse;
use crate::rng::{Purpose, Rng, derive};
use crate::track::{Stride, Track};
use fathom_schema::{Distribution, Extent, OperationKind, SharePart};

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
    /// Back to what was touched before, at given distances.
    Reuse(Box<Reuse>),
    /// A walk that comes back.
    Drift(Box<Drift>),
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
pub(crate) struct GroundRule<'a> {
    pub(crate) once: bool,
    pub(crate) distribution: &'a Distribution,
    /// Seed of what no other worker shares.
    pub(crate) private: u64,
    pub(crate) size: u32,
    pub(crate) align: Align,
    pub(crate) run_length: u32,
    pub(crate) part: SharePart,
    pub(crate) seed: u64,
}

impl Region {
    pub(crate) fn new(extent: &Extent, rule: &GroundRule<'_>) -> Self {
        let Extent { target, start, length, room: _ } = *extent;
        let GroundRule { once, distribution, private, size, align, run_length, part, seed } = *rule;
        assert!(length.0 <= Extent::LENGTH_MAX, "an extent of {length}; the planner refuses it");
        assert!(u64::from(size) <= length.0, "operations of {size} B in an extent of {length}");
        let positions = align.positions(length.0, size);
        // By what it is, not where it stands in the list: workers with different lists agree on the order of an extent.
        let of_extent =
            |seed| derive(derive(seed, Purpose::Extent, u64::from(target)), Purpose::Extent, start.0);
        let seed = of_extent(seed);
        let scatter = || Permutation::new(positions, derive(seed, Purpose::Place, 0));
        let ground = match distribution {
            _ if once => Ground::Once(Pass::new(seed, positions, run_length, part)),
            Distribution::Reuse(classes) => {
                let (first, step) = (u64::from(part.index), u64::from(part.count));
                Ground::Reuse(Box::new(Reuse::new(classes, scatter(), first, step)))
            }
            Distribution::ReuseWalk => {
                let mut rng = Rng::new(of_extent(private));
                Ground::Drift(Box::new(Drift::new(positions, &mut rng)))
            }
            _ => {
                let pass_length = positions.div_ceil(u64::from(part.count));
                let scatter = scatter();
                Ground::Free { scatter, run_left: 0, run_next: 0, pass_length, pass_left: pass_length }
            }
        };
        Self { start: start.0, length: length.0, tracks: [Track::new(); PLACED_KINDS], ground }
    }

    /// Where a random operation of `size` bytes goes that depends on those before it, in bytes from the extent's start;
    /// `None` where none does.
    #[inline]
    pub(crate) fn recall(
        &mut self,
        kind: OperationKind,
        size: u32,
        align: Align,
        rng: &mut Rng,
    ) -> Option<u64> {
        let position = match &mut self.ground {
            Ground::Once(_) | Ground::Free { .. } => return None,
            Ground::Reuse(reuse) => reuse.draw(rng),
            Ground::Drift(drift) => drift.draw(kind != OperationKind::Read, rng),
        };
        // Larger operations have fewer places than the smallest, which positions count.
        let count = align.positions(self.length, size);
        Some(if position < count { position } else { position % count } * align.bytes)
    }

    /// Whether the extent has been gone through once, so that this operation would begin another pass.
    pub(crate) fn pass_has_ended(&self, choice: Choice, size: u32, track: usize, stride: Stride) -> bool {
        match &self.ground {
            _ if !choice.random => self.tracks[track].is_at_end(self.length, size, stride.on(choice.grid)),
            Ground::Once(pass) => pass.is_at_end(),
            Ground::Free { pass_left, .. } => *pass_left == 0,
            // The planner gives such a worker one extent, or visits all in turn.
            Ground::Reuse(_) | Ground::Drift(_) => false,
        }
    }

    pub(crate) fn renew(&mut self, random: bool, track: usize) {
        match &mut self.ground {
            _ if !random => self.tracks[track] = Track::new(),
            Ground::Once(pass) => pass.renew(),
            Ground::Free { pass_length, pass_left, .. } => *pass_left = *pass_length,
            Ground::Reuse(_) | Ground::Drift(_) => {}
        }
    }
}

impl Ground {
    /// Where a random operation goes, in bytes from the extent's start, in a workload whose grid is `align`. `draw` gives
    /// a position out of so many.
    #[inline]
    pub(crate) fn place(
        &mut self,
        length: u64,
        size: u32,
        run: u32,
        choice: Choice,
        align: Align,
        draw: impl FnOnce(u64, &Permutation) -> u64,
    ) -> u64 {
        let align = choice.align(align);
        match self {
            Self::Once(pass) => pass.next_block() * align.bytes,
            Self::Free { scatter, run_left, run_next, pass_length: _, pass_left } => {
                *pass_left = pass_left.saturating_sub(1);
                let place = if *run_left == 0 {
                    *run_left = run - 1;
                    draw(align.positions(length, size), scatter) * align.bytes
                } else {
                    *run_left -= 1;
                    // A line's own grid holds for all its operations, the workload's for those that are drawn.
                    let next =
                        if choice.grid == 0 { *run_next } else { run_next.next_multiple_of(align.bytes) };
                    if next <= length - u64::from(size) { next } else { 0 }
                };
                *run_next = place + u64::from(size);
                place
            }
            Self::Reuse(_) | Self::Drift(_) => unreachable!("recalled instead"),
        }
    }
}
