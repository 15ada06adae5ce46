//! The next operations of one worker: kind, extent, offset and size. It joins mix, places, passes and tracks, and knows
//! nothing of when operations go out, what they carry or what becomes of them.

use crate::mix::{Choice, Mix};
use crate::places::Places;
use crate::region::{Align, Ground, GroundRule, PLACED_KINDS, Region};
use crate::rng::{Purpose, Rng, derive};
use crate::trace::{Replayed, Trace};
use crate::track::Stride;
use crate::walk::Walk;
use fathom_schema::{
    Coverage, Cursor, Distribution, FileOrder, OperationKind, PassEnd, WorkerPlan, Workload,
};
use std::sync::Arc;

/// One operation to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    /// Read, write or trim; in a trace also a sync.
    pub kind: OperationKind,
    /// Index into the worker's extents.
    pub extent: u32,
    /// First byte, from the target's start.
    pub offset: u64,
    /// Bytes, at least 1; of a sync see [`Planned::DATA_ONLY`].
    pub length: u32,
}

impl Planned {
    /// The length that stands for a sync of data alone, in the operations of a trace; one of all has none.
    pub const DATA_ONLY: u32 = 1;

    /// A value for buffers that [`Generator::fill`] will overwrite.
    pub const BLANK: Self = Self { kind: OperationKind::Read, extent: 0, offset: 0, length: 0 };
}

/// The operations of one worker: an endless sequence, or one pass after another where extents end.
#[derive(Debug, Clone)]
pub struct Generator(Way);

#[derive(Debug, Clone)]
enum Way {
    Endless(Box<Endless>),
    Ending(Box<Walk>),
    Replayed(Box<Replayed>),
}

/// The endless sequence.
#[derive(Debug, Clone)]
struct Endless {
    mix: Mix,
    regions: Vec<Region>,
    visit: Visit,
    /// Which track each kind continues from.
    track_of: [usize; PLACED_KINDS],
    stride: Stride,
    /// The grid of random places of cases that have none of their own.
    align: Align,
    places: Places,
    /// Whether places depend on those before.
    remembers: bool,
    run_length: u32,
    trim_then_write: bool,
    /// Whether operations come that follow others: the writes after trims, and replies.
    has_followers: bool,
    /// The next operation, where it follows the one before it.
    pending: Option<Planned>,
    route: Route,
    choice: Rng,
    place: Rng,
}

/// Which loop fills a batch. All but the last need a single case of fixed size on a single extent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    Sequential,
    Uniform,
    OncePerPass,
    Mixed,
}

impl Generator {
    /// The operations of the worker `plan` under `workload`.
    pub fn new(workload: &Workload, plan: &WorkerPlan) -> Self {
        let WorkerPlan { extents, part: _, seed: _, cpus: _ } = plan;
        assert!(
            !extents.is_empty() && workload.run_length > 0 && workload.align.0 > 0,
            "an unresolved plan: {plan:?}"
        );
        assert!(workload.cases.iter().all(|case| case.kind != OperationKind::Sync), "a sync in the mix");
        Self(if workload.ends == PassEnd::Anew {
            Way::Endless(Box::new(Endless::new(workload, plan)))
        } else {
            Way::Ending(Box::new(Walk::new(workload, plan)))
        })
    }

    /// The operations of a trace, on one extent for each of its files, or all of them on the only one.
    pub fn of_trace(trace: Arc<Trace>, plan: &WorkerPlan) -> Self {
        Self(Way::Replayed(Box::new(Replayed::new(trace, plan.extents.len() == 1))))
    }

    /// Makes it ready for [`Generator::grant`], under the workload that it was made for.
    pub fn prepare_grants(&mut self, workload: &Workload) {
        match &mut self.0 {
            Way::Endless(endless) => endless.mix.prepare_grants(&workload.cases),
            Way::Ending(walk) => walk.kinds_mut().prepare_grants(&workload.cases),
            Way::Replayed(_) => {}
        }
    }

    /// From here on, operations are drawn among these kinds, a set of bits by their index; a set without any of the mix
    /// changes nothing. What a trace says, and what keeps its shares without chance, comes all the same.
    #[inline]
    pub fn grant(&mut self, kinds: u8) {
        match &mut self.0 {
            Way::Endless(endless) => endless.mix.grant(kinds),
            Way::Ending(walk) => walk.kinds_mut().grant(kinds),
            Way::Replayed(_) => {}
        }
    }

    /// Whether a pass can end.
    pub fn ends(&self) -> bool {
        matches!(self.0, Way::Ending(_) | Way::Replayed(_))
    }

    /// Overwrites `out` with the next operations and returns how many: all of `out`, or fewer when the pass is over. The
    /// sequence does not depend on how it is cut into batches.
    #[inline]
    pub fn fill(&mut self, out: &mut [Planned]) -> usize {
        self.fill_each(out, |_| {})
    }

    /// As [`Generator::fill`], calling `each` with every operation as soon as it is there: a processor that `each` keeps
    /// waiting draws the next one meanwhile.
    #[expect(clippy::inline_always, reason = "left to the compiler, `each` is called and waits by itself")]
    #[inline(always)]
    pub fn fill_each(&mut self, out: &mut [Planned], mut each: impl FnMut(&Planned)) -> usize {
        match &mut self.0 {
            Way::Endless(endless) => {
                endless.fill(out, each);
                out.len()
            }
            Way::Ending(walk) => fill_from(|| walk.next(), out, &mut each),
            Way::Replayed(replayed) => fill_from(|| replayed.next(), out, &mut each),
        }
    }

    /// Begins the next pass. An endless sequence just goes on.
    pub fn renew(&mut self) {
        match &mut self.0 {
            Way::Endless(_) => {}
            Way::Ending(walk) => walk.renew(),
            Way::Replayed(replayed) => replayed.begin_again(),
        }
    }
}

fn fill_from(
    mut next: impl FnMut() -> Option<Planned>,
    out: &mut [Planned],
    each: &mut impl FnMut(&Planned),
) -> usize {
    for (filled, slot) in out.iter_mut().enumerate() {
        let Some(planned) = next() else { return filled };
        *slot = planned;
        each(slot);
    }
    out.len()
}

impl Endless {
    /// The operations of the worker `plan` under `workload`.
    ///
    /// Workers that share a seed share the order of a once-per-pass coverage, of which each takes its part, and the
    /// places that a skewed distribution prefers; all else is private to each. Skewed distributions have no coverage:
    /// one that touched every block once would be uniform.
    fn new(workload: &Workload, plan: &WorkerPlan) -> Self {
        let Workload {
            cases,
            replies,
            kinds: _, // drawn; in order they are for walks that end
            cursor,
            distribution,
            coverage,
            align,
            align_of: _, // for walks that end, as `run`,
            run_length,
            run: _, // and `ends`, `zones`, `extents_at_once`: for walks that end
            stride_bytes,
            ends: _,
            zones: _,
            file_order,
            extents_at_once: _,
            content: _,
            sync: _,
            trim_then_write,
            verification: _,
        } = workload;
        let WorkerPlan { extents, part, seed, cpus: _ } = plan;
        let mix = Mix::new(cases).with_replies(replies);
        let align = Align::new(align.0);
        // As fine as any case is placed: coarser ones have fewer places.
        let random = mix.choices().iter().filter(|choice| choice.random);
        let finest =
            random.map(|choice| choice.align(align)).min_by_key(|align| align.bytes).unwrap_or(align);
        let size_min = mix.choices().iter().map(|choice| choice.size_min).min().expect("a mix has a case");
        // Coverage and popular places count positions of the smallest random operation: every larger one has fewer.
        let random_min =
            mix.choices().iter().filter(|choice| choice.random).map(|choice| choice.size_min).min();
        let private = derive(*seed, Purpose::Worker, u64::from(part.index));
        let ground = GroundRule {
            once: *distribution == Distribution::Uniform && *coverage == Coverage::OncePerPass,
            distribution,
            private,
            size: random_min.unwrap_or(size_min),
            align: finest,
            run_length: *run_length,
            part: *part,
            seed: *seed,
        };
        let mut generator = Self {
            regions: extents.iter().map(|extent| Region::new(extent, &ground)).collect(),
            visit: Visit::new(*file_order, extents.len()),
            track_of: match cursor {
                Cursor::Shared => [0; PLACED_KINDS],
                Cursor::PerKind => std::array::from_fn(|kind| kind),
            },
            stride: Stride::new(*stride_bytes, size_min, align.bytes),
            align,
            places: Places::new(distribution),
            remembers: matches!(distribution, Distribution::Reuse(_) | Distribution::ReuseWalk),
            run_length: *run_length,
            trim_then_write: *trim_then_write,
            has_followers: *trim_then_write || !replies.is_empty(),
            pending: None,
            route: Route::Mixed,
            choice: Rng::new(derive(private, Purpose::Choice, 0)),
            place: Rng::new(derive(private, Purpose::Place, 0)),
            mix,
        };
        generator.route = generator.straightest_route();
        generator
    }

    /// Overwrites all of `out` with the next operations, and calls `each` with every one.
    fn fill(&mut self, out: &mut [Planned], mut each: impl FnMut(&Planned)) {
        let region = &mut self.regions[0];
        let only = self.mix.choices()[0];
        let Choice { kind, size_min: length, .. } = only;
        let align = only.align(self.align);
        let start = region.start;
        let mut put = |slot: &mut Planned, place: u64| {
            *slot = Planned { kind, extent: 0, offset: start + place, length };
            each(slot);
        };
        match (self.route, &mut region.ground) {
            (Route::Sequential, _) => {
                let track = &mut region.tracks[self.track_of[kind.index()]];
                // Without a grid, which would take this route away: the loop does not ask for one.
                let stride = self.stride.on(0);
                for slot in out {
                    put(slot, track.take(region.length, length, stride));
                }
            }
            (Route::Uniform, _) => {
                let positions = align.positions(region.length, length);
                let mut source = self.place.clone();
                for slot in out {
                    put(slot, source.below(positions) * align.bytes);
                }
                self.place = source;
            }
            (Route::OncePerPass, Ground::Once(pass)) => {
                pass.fill(out, |slot, block| put(slot, block * align.bytes));
            }
            _ => {
                // What takes so many steps leaves no room for others in its loop.
                for slot in &mut *out {
                    *slot = self.next();
                }
                out.iter().for_each(each);
            }
        }
    }

    fn straightest_route(&self) -> Route {
        let ([only], [region]) = (self.mix.choices(), &self.regions[..]) else {
            return Route::Mixed;
        };
        if !only.is_fixed() || only.reply > 0 || (self.trim_then_write && only.kind == OperationKind::Trim) {
            return Route::Mixed;
        }
        match (only.random, &region.ground, &self.places) {
            (false, ..) if only.grid == 0 => Route::Sequential,
            (true, Ground::Once(_), _) => Route::OncePerPass,
            (true, Ground::Free { .. }, Places::Uniform) if self.run_length == 1 => Route::Uniform,
            _ => Route::Mixed,
        }
    }

    #[inline]
    fn next(&mut self) -> Planned {
        if let Some(write) = self.pending.take() {
            return write;
        }
        let choice = self.mix.draw(&mut self.choice);
        let size = choice.size(&mut self.choice);
        let track = self.track_of[choice.kind.index()];
        let extent = self.extent_for(choice, size, track);
        let region = &mut self.regions[extent];
        debug_assert!(u64::from(size) <= region.length, "{size} B do not fit {} B", region.length);
        let place = if choice.random {
            let recalled = if self.remembers {
                region.recall(choice.kind, size, choice.align(self.align), &mut self.place)
            } else {
                None
            };
            let place = recalled.unwrap_or_else(|| {
                region.ground.place(
                    region.length,
                    size,
                    self.run_length,
                    choice,
                    self.align,
                    |positions, scatter| self.places.draw(choice.kind, positions, scatter, &mut self.place),
                )
            });
            region.tracks[track].leave(place, size, self.stride);
            place
        } else {
            region.tracks[track].take(region.length, size, self.stride.on(choice.grid))
        };
        let planned = Planned {
            kind: choice.kind,
            extent: u32::try_from(extent).expect("a plan numbers its extents in 32 bits"),
            offset: region.start + place,
            length: size,
        };
        if self.has_followers {
            self.note_follower(choice.kind, choice.reply, planned);
        }
        planned
    }

    /// Keeps what follows an operation at once.
    #[cold]
    #[inline(never)]
    fn note_follower(&mut self, kind: OperationKind, reply: u32, planned: Planned) {
        self.pending = if self.trim_then_write && kind == OperationKind::Trim {
            Some(Planned { kind: OperationKind::Write, ..planned })
        } else {
            // At no place of its own: replies go to nothing that has places.
            let kind = kind.opposite().filter(|_| reply > 0);
            kind.map(|kind| Planned { kind, length: reply, ..planned })
        };
    }

    /// Index of the extent that the next operation goes to.
    #[inline]
    fn extent_for(&mut self, choice: Choice, size: u32, track: usize) -> usize {
        let count = self.regions.len();
        if count == 1 {
            return 0;
        }
        let Visit { order, at, left } = &mut self.visit;
        match *order {
            FileOrder::RoundRobin(turns) | FileOrder::Random(turns) if *left == 0 => {
                *at = match *order {
                    FileOrder::Random(_) => below_usize(&mut self.choice, count),
                    _ => (*at + 1) % count,
                };
                *left = turns - 1;
            }
            FileOrder::RoundRobin(_) | FileOrder::Random(_) => *left -= 1,
            FileOrder::Skewed { .. } => unreachable!("a skewed order is for walks that end"),
            FileOrder::Sequential => {
                if self.regions[*at].pass_has_ended(choice, size, track, self.stride) {
                    self.regions[*at].renew(choice.random, track);
                    *at = (*at + 1) % count;
                }
            }
        }
        *at
    }
}

fn below_usize(rng: &mut Rng, count: usize) -> usize {
    usize::try_from(rng.below(count as u64)).expect("below a usize")
}

/// Which extent is being visited.
#[derive(Debug, Clone, Copy)]
struct Visit {
    order: FileOrder,
    at: usize,
    /// Operations left before the next change.
    left: u32,
}

impl Visit {
    fn new(order: FileOrder, count: usize) -> Self {
        let at = match order {
            FileOrder::RoundRobin(turns) | FileOrder::Random(turns) => {
                assert!(turns > 0, "{order:?} visits nothing");
                // The first change leads to the first extent.
                count - 1
            }
            FileOrder::Sequential => 0,
            FileOrder::Skewed { .. } => panic!("a skewed order is for walks that end"),
        };
        Self { order, at, left: 0 }
    }
}

#[cfg(test)]
mod tests;
