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
    /// The write that follows a trim which was the last of a batch.
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
        let mix = Mix::new(cases);
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
        if !only.is_fixed() || (self.trim_then_write && only.kind == OperationKind::Trim) {
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
        if self.trim_then_write && choice.kind == OperationKind::Trim {
            self.pending = Some(Planned { kind: OperationKind::Write, ..planned });
        }
        planned
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
mod tests {
    use super::*;
    use fathom_schema::{
        Case, Content, Extent, Fill, Freshness, Quota, RangeSync, Repeats, Run, SharePart, Size, SyncRule,
        Zones,
    };
    use fathom_units::{Bytes, Ratio};
    use proptest::prelude::*;
    use std::collections::{HashMap, HashSet};

    const SEED: u64 = 12;
    const READ: OperationKind = OperationKind::Read;
    const WRITE: OperationKind = OperationKind::Write;
    const TRIM: OperationKind = OperationKind::Trim;

    fn case(weight: f64, kind: OperationKind, size: u32, random: bool) -> Case {
        Case { weight, kind, size: Size::Fixed(size), random, align: None }
    }

    fn workload(cases: Vec<Case>) -> Workload {
        Workload {
            cases,
            kinds: fathom_schema::KindOrder::Drawn,
            cursor: Cursor::Shared,
            distribution: Distribution::Uniform,
            coverage: Coverage::Independent,
            align: Bytes(10),
            align_of: Vec::new(),
            run_length: 1,
            run: Run::Onward,
            stride_bytes: 0,
            ends: PassEnd::Anew,
            zones: Zones::None,
            file_order: FileOrder::RoundRobin(1),
            extents_at_once: Quota::Unlimited,
            content: Content {
                fill: Fill::Zero,
                freshness: Freshness::Never,
                compressible: Ratio::ZERO,
                compress_chunk_bytes: 1,
                dedupable: Ratio::ZERO,
                repeats: Repeats::Any,
            },
            sync: SyncRule {
                fsync_every: Quota::Unlimited,
                fdatasync_every: Quota::Unlimited,
                range_every: Quota::Unlimited,
                range: RangeSync::default(),
                fsync_at_end: false,
                syncfs_at_end: false,
            },
            trim_then_write: false,
            verification: fathom_schema::Verification::Off,
        }
    }

    /// Extents of these lengths, each on a target of its own, from byte 1000.
    fn plan(lengths: &[u64], part: SharePart) -> WorkerPlan {
        let extents = lengths.iter().zip(0..);
        let extents = extents.map(|(&length, target)| Extent {
            target,
            start: Bytes(1000),
            length: Bytes(length),
            room: Bytes::ZERO,
        });
        WorkerPlan { extents: extents.collect(), part, seed: SEED, cpus: Vec::new() }
    }

    const ALONE: SharePart = SharePart { index: 0, count: 1 };

    fn operations(workload: &Workload, plan: &WorkerPlan, count: usize) -> Vec<Planned> {
        let mut out = vec![Planned::BLANK; count];
        Generator::new(workload, plan).fill(&mut out);
        out
    }

    /// Asserts kinds, extents and places, written `R0@20`: a read of extent 0, 20 bytes from its start.
    fn check(workload: &Workload, lengths: &[u64], expect: &str) {
        let count = expect.split(' ').count();
        let got = operations(workload, &plan(lengths, ALONE), count);
        let words = got.iter().map(|o| {
            let kind = ["R", "W", "T"][o.kind.index()];
            format!("{kind}{}@{}", o.extent, o.offset - 1000)
        });
        assert_eq!(words.collect::<Vec<_>>().join(" "), expect);
    }

    #[test]
    fn sequential_operations_follow_one_another() {
        let reads = workload(vec![case(1.0, READ, 10, false)]);
        check(&reads, &[30], "R0@0 R0@10 R0@20 R0@0 R0@10");
        check(&reads, &[35], "R0@0 R0@10 R0@20 R0@0");
        check(&Workload { stride_bytes: 10, ..reads.clone() }, &[60], "R0@0 R0@20 R0@40 R0@0");
        check(&Workload { stride_bytes: -20, ..reads }, &[30], "R0@20 R0@10 R0@0 R0@20");
    }

    #[test]
    fn extents_are_visited_in_the_order_asked() {
        let reads = |file_order| Workload { file_order, ..workload(vec![case(1.0, READ, 10, false)]) };
        check(&reads(FileOrder::RoundRobin(1)), &[20, 30], "R0@0 R1@0 R0@10 R1@10 R0@0 R1@20 R0@10 R1@0");
        check(&reads(FileOrder::RoundRobin(2)), &[20, 30], "R0@0 R0@10 R1@0 R1@10 R0@0 R0@10 R1@20 R1@0");
        check(&reads(FileOrder::Sequential), &[20, 30], "R0@0 R0@10 R1@0 R1@10 R1@20 R0@0 R0@10 R1@0");
        let random = operations(&reads(FileOrder::Random(4)), &plan(&[20; 5], ALONE), 4000);
        let visits: Vec<u32> = random.chunks(4).map(|four| four[0].extent).collect();
        assert!(random.chunks(4).all(|four| four.iter().all(|o| o.extent == four[0].extent)));
        // Binomial, n 1000, p 1/5: standard deviation 12.6.
        assert!((0..5).all(|e| visits.iter().filter(|&&v| v == e).count().abs_diff(200) < 64), "seed {SEED}");
    }

    #[test]
    fn random_extents_one_after_another_are_each_passed_once() {
        for coverage in [Coverage::OncePerPass, Coverage::Independent] {
            let reads = Workload {
                coverage,
                file_order: FileOrder::Sequential,
                ..workload(vec![case(1.0, READ, 10, true)])
            };
            let got = operations(&reads, &plan(&[50, 80, 30], ALONE), 5 + 8 + 3 + 5 + 8);
            let extents: Vec<u32> = got.iter().map(|o| o.extent).collect();
            assert_eq!(extents, [vec![0; 5], vec![1; 8], vec![2; 3], vec![0; 5], vec![1; 8]].concat());
            if coverage == Coverage::OncePerPass {
                for visit in [&got[0..5], &got[5..13], &got[13..16], &got[16..21], &got[21..29]] {
                    assert_eq!(visit.iter().map(|o| o.offset).collect::<HashSet<_>>().len(), visit.len());
                }
            }
        }
    }

    #[test]
    fn kinds_share_a_position_or_have_their_own() {
        let both = |cursor| Workload {
            cursor,
            ..workload(vec![case(0.5, READ, 10, false), case(0.5, WRITE, 10, false)])
        };
        let shared = operations(&both(Cursor::Shared), &plan(&[1000], ALONE), 50);
        assert!(shared.iter().zip(0..).all(|(o, n)| o.offset == 1000 + 10 * n));
        let own = operations(&both(Cursor::PerKind), &plan(&[1000], ALONE), 50);
        for kind in [READ, WRITE] {
            assert!(own.iter().filter(|o| o.kind == kind).zip(0..).all(|(o, n)| o.offset == 1000 + 10 * n));
        }
    }

    #[test]
    fn a_random_operation_moves_the_position_it_shares() {
        let both = workload(vec![case(0.5, READ, 10, true), case(0.5, WRITE, 10, false)]);
        let got = operations(&both, &plan(&[1_000_000], ALONE), 1000);
        for pair in got.windows(2).filter(|pair| pair[1].kind == WRITE) {
            assert_eq!(pair[1].offset, pair[0].offset + 10);
        }
    }

    #[test]
    fn runs_are_consecutive_after_each_jump() {
        let reads = Workload { run_length: 5, ..workload(vec![case(1.0, READ, 10, true)]) };
        for coverage in [Coverage::Independent, Coverage::OncePerPass] {
            let got = operations(&Workload { coverage, ..reads.clone() }, &plan(&[5000], ALONE), 500);
            for run in got.chunks(5) {
                let next = |o: &Planned| if o.offset + 10 == 6000 { 1000 } else { o.offset + 10 };
                assert!(run.windows(2).all(|pair| pair[1].offset == next(&pair[0])), "{run:?}");
            }
            let jumps: HashSet<u64> = got.chunks(5).map(|run| run[0].offset).collect();
            assert!(jumps.len() > 80, "{coverage:?}: {}", jumps.len());
        }
    }

    #[test]
    fn runs_keep_to_the_grid_of_their_line() {
        let aligned = Case { align: Some(16), ..case(1.0, READ, 10, true) };
        let reads = Workload { run_length: 4, ..workload(vec![aligned]) };
        for run in operations(&reads, &plan(&[500], ALONE), 400).chunks(4) {
            let places: Vec<u64> = run.iter().map(|o| o.offset - 1000).collect();
            // The last place of the grid is 480.
            let follows = |pair: &[u64]| pair[1] == (pair[0] + 16) % 496;
            assert!(places[0].is_multiple_of(16) && places.windows(2).all(follows), "{places:?}");
        }
    }

    #[test]
    fn a_trim_is_followed_by_a_write_of_its_place() {
        let trims = Workload { trim_then_write: true, ..workload(vec![case(1.0, TRIM, 10, true)]) };
        let got = operations(&trims, &plan(&[1000], ALONE), 100);
        for pair in got.chunks(2) {
            assert_eq!((pair[0].kind, pair[1]), (TRIM, Planned { kind: WRITE, ..pair[0] }));
        }
        let mixed = vec![case(0.5, READ, 10, false), case(0.5, TRIM, 20, false)];
        let got =
            operations(&Workload { trim_then_write: true, ..workload(mixed) }, &plan(&[1000], ALONE), 101);
        for pair in got.windows(2).filter(|pair| pair[0].kind == TRIM) {
            assert_eq!(pair[1], Planned { kind: WRITE, ..pair[0] });
        }
    }

    #[test]
    fn the_mix_is_met_and_places_are_uniform() {
        let cases = vec![
            case(0.7, READ, 80, true),
            case(0.2, WRITE, 80, true),
            Case { size: Size::Range { min: 10, max: 40, step: 10 }, ..case(0.1, WRITE, 0, true) },
        ];
        let (total, length) = (100_000, 720);
        let got = operations(&workload(cases.clone()), &plan(&[length], ALONE), total);
        let mut counts: HashMap<(usize, u32, u64), f64> = HashMap::new();
        for o in &got {
            *counts.entry((o.kind.index(), o.length, o.offset)).or_default() += 1.0;
        }
        let (mut chi2, mut cells) = (0.0, 0.0_f64);
        for (kind, size, weight) in
            [(0, 80, 0.7), (1, 80, 0.2), (1, 10, 0.025), (1, 20, 0.025), (1, 30, 0.025), (1, 40, 0.025)]
        {
            let positions = (length - u64::from(size)) / 10 + 1;
            let expect = total as f64 * weight / positions as f64;
            for position in 0..positions {
                let count = counts.remove(&(kind, size, 1000 + 10 * position)).unwrap_or(0.0);
                chi2 += (count - expect).powi(2) / expect;
                cells += 1.0;
            }
        }
        assert!(counts.is_empty(), "places off the grid: {counts:?}");
        assert!(chi2 < cells + 5.0 * (2.0 * cells).sqrt(), "seed {SEED}: chi2 {chi2} of {cells}");
    }

    #[test]
    fn workers_split_a_pass_and_share_popular_places() {
        let reads = workload(vec![case(1.0, READ, 10, true)]);
        let once = Workload { coverage: Coverage::OncePerPass, ..reads.clone() };
        let mut all: Vec<u64> = (0..4)
            .flat_map(|index| operations(&once, &plan(&[4000], SharePart { index, count: 4 }), 100))
            .map(|o| o.offset)
            .collect();
        all.sort_unstable();
        assert!(all.iter().zip(0..).all(|(&offset, n)| offset == 1000 + 10 * n));

        let zipf = Workload { distribution: Distribution::Zipf { theta: 1.5 }, ..reads };
        let favourite = |index| {
            let mut counts: HashMap<u64, u32> = HashMap::new();
            let got = operations(&zipf, &plan(&[4000], SharePart { index, count: 2 }), 1000);
            got.iter().for_each(|o| *counts.entry(o.offset).or_default() += 1);
            counts.into_iter().max_by_key(|&(_, count)| count)
        };
        let (one, other) = (favourite(0).unwrap(), favourite(1).unwrap());
        assert_eq!(one.0, other.0);
    }

    #[test]
    fn cases_keep_to_grids_of_their_own() {
        let on = |grid, case: Case| Case { align: Some(grid), ..case };
        // What follows is rounded up, behind the random place it comes after as well.
        check(&workload(vec![on(16, case(1.0, READ, 10, false))]), &[60], "R0@0 R0@16 R0@32 R0@48 R0@0");
        check(&workload(vec![on(7, case(1.0, READ, 10, false))]), &[40], "R0@0 R0@14 R0@28 R0@0");
        let cases = vec![on(100, case(0.5, READ, 20, true)), on(8, case(0.5, WRITE, 10, false))];
        // Backwards they are rounded down, from a start at the end that is on the grid.
        let back = |stride_bytes, cases| Workload { stride_bytes, ..workload(cases) };
        check(&back(-20, vec![on(16, case(1.0, READ, 10, false))]), &[60], "R0@48 R0@32 R0@16 R0@0 R0@48");
        check(&back(-20, vec![on(20, case(1.0, READ, 10, false))]), &[60], "R0@40 R0@20 R0@0 R0@40");
        // Where the grid has no place left in one extent, the next one follows.
        let one_by_one = Workload {
            file_order: FileOrder::Sequential,
            ..workload(vec![on(20, case(1.0, READ, 10, false))])
        };
        check(&one_by_one, &[60, 40], "R0@0 R0@20 R0@40 R1@0 R1@20 R0@0");
        let mut after = None;
        let mut places = HashSet::new();
        for o in operations(&workload(cases), &plan(&[1000], ALONE), 2000) {
            let place = o.offset - 1000;
            if o.kind == READ {
                assert!(place.is_multiple_of(100), "{place}");
                places.insert(place);
            } else if let Some(after) = after {
                let next = u64::next_multiple_of(after, 8);
                assert_eq!(place, if next + 10 <= 1000 { next } else { 0 });
            }
            after = Some(place + u64::from(o.length));
        }
        assert_eq!(places.len(), 10, "all places of the coarse ones are drawn");
        // Coarse and fine ones each have all of their places, whichever come first.
        let cases = vec![on(500, case(0.5, READ, 10, true)), on(1, case(0.5, WRITE, 10, true))];
        let zipf = Workload { distribution: Distribution::Zipf { theta: 0.2 }, ..workload(cases) };
        let got = operations(&zipf, &plan(&[1000], ALONE), 40_000);
        let places =
            |kind| got.iter().filter(|o| o.kind == kind).map(|o| o.offset).collect::<HashSet<_>>().len();
        assert_eq!((places(READ), places(WRITE)), (2, 991));
    }

    fn any_case() -> impl Strategy<Value = Case> {
        let size = prop_oneof![
            (1_u32..50).prop_map(|n| Size::Fixed(n * 4)),
            (1_u32..20, 0_u32..20, 1_u32..9).prop_map(|(min, more, step)| {
                Size::Range { min: min * 4, max: (min + more) * 4, step: step * 4 }
            }),
        ];
        let align = prop::sample::select(vec![None, None, Some(3_u32), Some(8), Some(20)]);
        (0.01_f64..1.0, prop::sample::select(vec![READ, WRITE, TRIM]), size, any::<bool>(), align)
            .prop_map(|(weight, kind, size, random, align)| Case { weight, kind, size, random, align })
    }

    fn any_workload() -> impl Strategy<Value = Workload> {
        let distribution = prop::sample::select(vec![
            Distribution::Uniform,
            Distribution::Uniform,
            Distribution::Zipf { theta: 1.2 },
            Distribution::Pareto { h: 0.3 },
            Distribution::Normal { deviation: 0.2, scattered: false },
        ]);
        let file_order = prop_oneof![
            (1_u32..5).prop_map(FileOrder::RoundRobin),
            (1_u32..5).prop_map(FileOrder::Random),
            Just(FileOrder::Sequential),
        ];
        (
            prop::collection::vec(any_case(), 1..4),
            prop::sample::select(vec![Cursor::Shared, Cursor::PerKind]),
            distribution,
            prop::sample::select(vec![1_u64, 4, 12, 16]),
            1_u32..6,
            -300_i64..300,
            file_order,
            any::<bool>(),
        )
            .prop_map(
                |(cases, cursor, distribution, align, run_length, stride, file_order, rewrite)| Workload {
                    cursor,
                    distribution,
                    align: Bytes(align),
                    run_length,
                    stride_bytes: stride * 4,
                    file_order,
                    trim_then_write: rewrite,
                    ..workload(cases)
                },
            )
    }

    proptest! {
        #[test]
        fn operations_stay_inside_and_do_not_depend_on_batches(
            workload in any_workload(),
            lengths in prop::collection::vec(200_u64..2000, 1..4),
            seed: u64,
            cuts in prop::collection::vec(1_usize..40, 1..20),
        ) {
            let plan = WorkerPlan { seed, ..plan(&lengths, SharePart { index: 1, count: 3 }) };
            let total: usize = cuts.iter().sum();
            let whole = operations(&workload, &plan, total);
            for o in &whole {
                let extent = &plan.extents[o.extent as usize];
                prop_assert!(o.length > 0 && o.offset >= extent.start.0);
                prop_assert!(o.offset + u64::from(o.length) <= extent.start.0 + extent.length.0, "{o:?}");
                // Of several cases that an operation may be of, one has it on its grid. What follows another without a
                // grid of its own begins anywhere.
                let place = o.offset - extent.start.0;
                let cases = workload.cases.iter().filter(|case| {
                    case.kind == o.kind || workload.trim_then_write && case.kind == TRIM
                });
                let mut grids = cases.map(|case| match case.align {
                    Some(own) => u64::from(own),
                    None if case.random && workload.run_length == 1 => workload.align.0,
                    None => 1,
                });
                prop_assert!(grids.any(|grid| place.is_multiple_of(grid)), "{o:?}");
            }
            let mut generator = Generator::new(&workload, &plan);
            let mut rest = vec![Planned::BLANK; total];
            let mut out = &mut rest[..];
            for cut in cuts {
                let (batch, later) = out.split_at_mut(cut);
                generator.fill(batch);
                out = later;
            }
            prop_assert_eq!(rest, whole);
        }

        #[test]
        fn straight_routes_give_what_the_general_one_gives(
            random: bool, once: bool, size in 1_u32..50, stride in -100_i64..100, length in 50_u64..5000, run in 1_u32..4,
        ) {
            let coverage = if once { Coverage::OncePerPass } else { Coverage::Independent };
            let workload = Workload {
                coverage,
                align: Bytes(u64::from(size)),
                stride_bytes: stride,
                run_length: run,
                ..workload(vec![case(1.0, WRITE, size, random)])
            };
            let plan = plan(&[length], SharePart { index: 1, count: 2 });
            let mut general = Endless::new(&workload, &plan);
            prop_assert!(general.route != Route::Mixed || (random && !once && run > 1));
            general.route = Route::Mixed;
            let mut out = vec![Planned::BLANK; 300];
            general.fill(&mut out, |_| {});
            prop_assert_eq!(out, operations(&workload, &plan, 300));
        }
    }
}
