//! A walk that ends: extents are gone through to their ends, once per pass, in zones where asked, with a map of what was
//! touched where sizes differ. The endless [`crate::Generator`] is the shorter way for all that needs none of it.
//!
//! The rules are those of fio 3.33, whose jobs they are for, as observed beside it: where a sequential position wraps,
//! which operation ends a file, what is cut to what. Offsets inside are from the target's start, as fio counts them.

use crate::files::Files;
use crate::generator::Planned;
use crate::kinds::Kinds;
use crate::map::Map;
use crate::pass::Pass;
use crate::permutation::Permutation;
use crate::places::Places;
use crate::region::PLACED_KINDS;
use crate::rng::{Purpose, Rng, derive};
use fathom_schema::{
    Coverage, Cursor, Distribution, Extent, OperationKind, PassEnd, Run, WorkerPlan, Workload, Zones,
};

/// Free blocks that are looked at for one that a kind may begin at.
const ALIGNED_TRIES: usize = 8;
/// Places that are drawn for one that lies within a zone that the end cuts off.
const CUT_TRIES: usize = 1024;

/// The operations of one pass after another; see the module.
#[derive(Debug, Clone)]
pub(crate) struct Walk {
    kinds: Kinds,
    lots: Vec<Lot>,
    files: Files,
    rule: Rule,
    places: Places,
    /// Operations left up to the next jump.
    until_jump: u32,
    /// Bytes moved in the current zone.
    zone_bytes: u64,
    /// The write that follows a trim.
    pending: Option<Planned>,
    choice: Rng,
    place: Rng,
}

/// What holds for all extents.
#[derive(Debug, Clone, Copy)]
struct Rule {
    ends: PassEnd,
    run_length: u32,
    run: Run,
    zones: Zones,
    stride: i64,
    align: u64,
    /// By kind: what its random places are multiples of.
    align_of: [u64; PLACED_KINDS],
    /// Smallest operation: what a map has a mark for.
    unit: u64,
    /// Whether random places are among what is asked for at all.
    jumps: bool,
    trim_then_write: bool,
    track_of: [usize; PLACED_KINDS],
    is_only_lot: bool,
}

/// An extent with the state of the accesses to it.
#[derive(Debug, Clone)]
struct Lot {
    start: u64,
    length: u64,
    /// Where the target ends.
    end: u64,
    /// What no operation ends behind. Where something jumps that is the end of the extent: sizes of the ones and places of the
    /// others need not fit each other. Zones go on through the target, and of operations that only follow one another the
    /// last may reach over the extent's end.
    bound: u64,
    /// Where the current zone begins; the extent's start where there are none.
    window: u64,
    tracks: [Position; PLACED_KINDS],
    ground: Ground,
}

/// Where the last operation of a kind was.
#[derive(Debug, Clone, Copy)]
struct Position {
    next: u64,
    /// Its first byte; `None` before the first.
    last: Option<u64>,
}

#[derive(Debug, Clone)]
enum Ground {
    /// Every draw by itself; where the ranks of a skewed distribution lie.
    Free(Permutation),
    /// Every block once, all of one size.
    Once(Pass),
    /// Every smallest block once.
    Map(Map),
}

/// A place before its size is known.
#[derive(Debug, Clone, Copy)]
struct Spot {
    /// From the window's start.
    place: u64,
    random: bool,
    /// Whether a map is asked and told of it.
    mapped: bool,
}

impl Walk {
    /// The walk of the worker `plan` under `workload`.
    pub(crate) fn new(workload: &Workload, plan: &WorkerPlan) -> Self {
        let Workload {
            cases,
            replies: _, // for the endless sequence
            kinds: order,
            cursor,
            distribution,
            coverage,
            align,
            align_of,
            run_length,
            run,
            stride_bytes,
            ends,
            zones,
            file_order,
            extents_at_once,
            content: _,
            sync: _,
            trim_then_write,
            verification: _,
        } = workload;
        let WorkerPlan { extents, part, seed, cpus: _ } = plan;
        let private = derive(*seed, Purpose::Worker, u64::from(part.index));
        // Of workers that share a seed each draws by itself.
        let kinds = Kinds::new(cases, *order, if part.count == 1 { *seed } else { private });
        let rule = Rule {
            ends: *ends,
            run_length: *run_length,
            run: *run,
            zones: *zones,
            stride: *stride_bytes,
            align: align.0,
            align_of: std::array::from_fn(|kind| {
                let own = align_of.iter().find(|(of, _)| of.index() == kind);
                own.map_or(align.0, |&(_, align)| align)
            }),
            unit: u64::from(kinds.smallest()),
            jumps: cases.iter().any(|case| case.random),
            trim_then_write: *trim_then_write,
            track_of: match cursor {
                Cursor::Shared => [0; PLACED_KINDS],
                Cursor::PerKind => std::array::from_fn(|kind| kind),
            },
            is_only_lot: extents.len() == 1,
        };
        let lot = |extent: &Extent| {
            let Extent { target, start, length, room } = *extent;
            let seed = derive(derive(*seed, Purpose::Extent, u64::from(target)), Purpose::Extent, start.0);
            let covered = match *zones {
                Zones::Strided { range, .. } => range.min(length.0),
                Zones::None => length.0,
            };
            let ground = match coverage {
                Coverage::OncePerPass if *distribution == Distribution::Uniform => {
                    Ground::Once(Pass::new(seed, (covered / rule.align).max(1), 1, *part))
                }
                Coverage::Map => Ground::Map(Map::new((covered / rule.unit).max(1))),
                Coverage::OncePerPass | Coverage::Independent => {
                    // As fine as any kind is placed: coarser ones draw of fewer.
                    let finest = rule.align_of.iter().copied().filter(|&align| align > 0).min();
                    let positions = (covered / finest.unwrap_or(rule.align).min(rule.align)).max(1);
                    Ground::Free(Permutation::new(positions, derive(seed, Purpose::Place, 0)))
                }
            };
            let tracks = [Position { next: start.0, last: None }; PLACED_KINDS];
            let is_inside = rule.jumps && *zones == Zones::None;
            Lot {
                start: start.0,
                length: length.0,
                end: start.0 + length.0 + room.0,
                bound: start.0 + length.0 + if is_inside { 0 } else { room.0 },
                window: start.0,
                tracks,
                ground,
            }
        };
        Self {
            lots: extents.iter().map(lot).collect(),
            files: Files::new(*file_order, *extents_at_once, extents.len()),
            places: Places::new(distribution),
            until_jump: 1,
            zone_bytes: 0,
            pending: None,
            choice: Rng::new(derive(private, Purpose::Choice, 0)),
            place: Rng::new(derive(private, Purpose::Place, 0)),
            kinds,
            rule,
        }
    }

    /// The next operation; `None` when the pass is over.
    pub(crate) fn next(&mut self) -> Option<Planned> {
        if let Some(write) = self.pending.take() {
            return Some(write);
        }
        // Extents that begin anew at once still end a pass when none of them has room for an operation.
        let mut barren = 0;
        loop {
            let at = self.files.choose(&mut self.choice)?;
            if let Some(planned) = self.try_on(at) {
                self.kinds.note(planned.kind, planned.length);
                if self.rule.trim_then_write && planned.kind == OperationKind::Trim {
                    let write = Planned { kind: OperationKind::Write, ..planned };
                    let track = self.rule.track_of[OperationKind::Write.index()];
                    self.note(at, track, &write);
                    self.pending = Some(write);
                }
                return Some(planned);
            }
            if self.files.begin_anew() {
                self.lots[at].renew();
                barren += 1;
                if barren > self.lots.len() {
                    return None;
                }
            } else {
                self.files.end(at);
            }
        }
    }

    /// The mix, to let only some kinds come.
    pub(crate) fn kinds_mut(&mut self) -> &mut Kinds {
        &mut self.kinds
    }

    /// Begins the next pass.
    pub(crate) fn renew(&mut self) {
        self.lots.iter_mut().for_each(|lot| {
            lot.window = lot.start;
            lot.renew();
        });
        self.files.renew();
        self.kinds.renew();
        self.zone_bytes = 0;
        self.pending = None;
    }

    fn note(&mut self, at: usize, track: usize, planned: &Planned) {
        self.lots[at].tracks[track] =
            Position { next: planned.offset + u64::from(planned.length), last: Some(planned.offset) };
        self.zone_bytes += u64::from(planned.length);
    }

    /// The next operation in this extent; `None` when it is done.
    fn try_on(&mut self, at: usize) -> Option<Planned> {
        let kind = self.kinds.draw(&mut self.choice);
        let track = self.rule.track_of[kind.index()];
        self.move_zone(at, track);
        let spot = self.spot(at, kind, track)?;
        let lot = &self.lots[at];
        let is_behind = spot.place >= lot.length || lot.window + spot.place >= lot.end;
        let fitting = if is_behind { None } else { self.fitting(at, kind, spot) };
        let (offset, length) = match fitting {
            Some(fitting) => fitting,
            None => self.elsewhere(at, kind, spot)?,
        };
        let extent = u32::try_from(at).expect("a plan numbers its extents in 32 bits");
        let planned = Planned { kind, extent, offset, length };
        self.note(at, track, &planned);
        Some(planned)
    }

    /// Where an operation at this spot begins and how long it is; `None` when it would end behind what is its own.
    #[inline]
    fn fitting(&mut self, at: usize, kind: OperationKind, spot: Spot) -> Option<(u64, u32)> {
        let lot = &mut self.lots[at];
        let offset = lot.window + spot.place;
        let inside = (lot.start + lot.length).saturating_sub(offset);
        let mut length = self.kinds.size(kind, spot.random, inside, &mut self.choice)?;
        if let (Ground::Map(map), true) = (&mut lot.ground, spot.mapped) {
            let free = map.take(spot.place / self.rule.unit, u64::from(length).div_ceil(self.rule.unit));
            let cut = u32::try_from(free * self.rule.unit).unwrap_or(u32::MAX);
            length = length.min(cut);
        }
        (offset + u64::from(length) <= lot.bound).then_some((offset, length))
    }

    /// The same for an operation that follows others, to where there is no room for its size: it goes to a random place, and
    /// where that is one that a map has left, too close to the end, to the start.
    #[cold]
    #[inline(never)]
    fn elsewhere(&mut self, at: usize, kind: OperationKind, spot: Spot) -> Option<(u64, u32)> {
        if !self.rule.jumps || spot.random {
            return None;
        }
        let place = self.draw(at, kind, spot.random)?;
        let drawn = self.fitting(at, kind, Spot { place, ..spot });
        drawn.or_else(|| self.fitting(at, kind, Spot { place: 0, ..spot }))
    }

    /// Goes on to the next zone when enough was moved in this one.
    fn move_zone(&mut self, at: usize, track: usize) {
        let Zones::Strided { size, range, skip } = self.rule.zones else { return };
        let lot = &mut self.lots[at];
        if self.zone_bytes >= size {
            self.zone_bytes = 0;
            lot.window += range + skip;
            if lot.window >= lot.end {
                lot.window = lot.start;
            }
            lot.tracks[track].next = lot.window;
        }
        // More may be moved in a zone than it holds: it is gone through again.
        if lot.tracks[track].next >= lot.window + range {
            lot.tracks[track].next = lot.window;
        }
        if self.zone_bytes.is_multiple_of(range) {
            lot.renew();
        }
    }

    fn spot(&mut self, at: usize, kind: OperationKind, track: usize) -> Option<Spot> {
        self.until_jump -= 1;
        let jumps_now = self.until_jump == 0;
        if jumps_now {
            self.until_jump = self.rule.run_length;
        }
        let sequential = |place| Spot { place, random: false, mapped: false };
        if !self.rule.jumps {
            return self.onward(at, track).map(sequential);
        }
        if jumps_now {
            if self.kinds.is_random(kind, &mut self.choice) {
                let place = self.draw(at, kind, true)?;
                return Some(Spot { place, random: true, mapped: true });
            }
            return match self.onward(at, track) {
                Some(place) => Some(sequential(place)),
                None => self.draw(at, kind, false).map(sequential),
            };
        }
        match self.rule.run {
            Run::Onward => match self.onward(at, track) {
                Some(place) => Some(sequential(place)),
                None => self.draw(at, kind, false).map(sequential),
            },
            Run::Again => {
                let lot = &self.lots[at];
                let last = lot.tracks[track].last.map_or(0, |last| last.saturating_sub(lot.window));
                Some(sequential(last))
            }
        }
    }

    /// Where a sequential operation goes, from the window's start; `None` behind the target's end.
    fn onward(&mut self, at: usize, track: usize) -> Option<u64> {
        let Rule { ends, stride, is_only_lot, unit, .. } = self.rule;
        let lot = &mut self.lots[at];
        let mut next = lot.tracks[track].next;
        if ends == PassEnd::Renew && is_only_lot && next >= lot.start + lot.length {
            next = lot.window;
        }
        if next >= lot.end {
            return None;
        }
        // The part of one of several files has a tail that is no whole block.
        let room = lot.end - lot.start - lot.length;
        let tail = if is_only_lot || room >= unit { 0 } else { room };
        let backwards_from = (lot.length + tail).min(lot.end);
        if next == lot.window && lot.window > 0 && stride < 0 {
            next = backwards_from;
        }
        let mut place = next.wrapping_sub(lot.window);
        if place != 0 && stride != 0 {
            place = place.wrapping_add_signed(stride);
            if place >= lot.end {
                place = if stride > 0 { lot.window } else { backwards_from.wrapping_add_signed(stride) };
            }
        }
        Some(place)
    }

    /// A random place, from the window's start, with room for the smallest operation of the kind of those that jump, or of those
    /// that do not; `None` when every block was touched.
    fn draw(&mut self, at: usize, kind: OperationKind, random: bool) -> Option<u64> {
        if let Some(place) = self.draw_once(at, kind, random) {
            return Some(place);
        }
        if self.leaves_cut_zone(at, kind) {
            return self.draw_once(at, kind, random);
        }
        if self.rule.ends != PassEnd::Renew {
            return None;
        }
        self.lots[at].renew();
        self.draw_once(at, kind, random)
    }

    /// Goes on from a zone that the end cuts off and of which all was done, which is less than the others have.
    fn leaves_cut_zone(&mut self, at: usize, kind: OperationKind) -> bool {
        let Zones::Strided { size, range, .. } = self.rule.zones else { return false };
        let lot = &self.lots[at];
        let is_cut = lot.window > lot.start && lot.window + range > lot.end;
        if is_cut {
            self.zone_bytes = size;
            self.move_zone(at, self.rule.track_of[kind.index()]);
        }
        is_cut
    }

    fn draw_once(&mut self, at: usize, kind: OperationKind, random: bool) -> Option<u64> {
        let Rule { unit, zones, .. } = self.rule;
        let align = self.rule.align_of[kind.index()];
        let mut smallest = self.kinds.smallest_among(kind, random);
        let lot = &mut self.lots[at];
        let mut room = lot.length.min(lot.end);
        let mut is_cut = false;
        if let Zones::Strided { range, .. } = zones {
            // The last one may be cut off by the end.
            room = range.min(lot.end - lot.window);
            is_cut = room < range;
            // A zone is no bound: larger ones reach over its end.
            smallest = self.kinds.smallest_of(kind);
        }
        let smallest = u64::from(smallest);
        // Of the last smallest operation, no more than an alignment may hang over: the others reach into it.
        let positions = room.saturating_sub(smallest.saturating_sub(align)) / align.max(1);
        if positions == 0 {
            return None;
        }
        match &mut lot.ground {
            Ground::Free(scatter) => {
                let positions = positions.min(scatter.len());
                Some(self.places.draw(kind, positions, scatter, &mut self.place) * align)
            }
            Ground::Once(pass) if pass.is_at_end() => None,
            Ground::Once(pass) if is_cut => {
                // It has not all of them. Where it has hardly any, the walk goes on rather than to look for long.
                let tries = (0..CUT_TRIES).map_while(|_| (!pass.is_at_end()).then(|| pass.next_block()));
                tries.map(|block| block * self.rule.align).find(|place| place + smallest <= room)
            }
            Ground::Once(pass) => Some(pass.next_block() * self.rule.align),
            Ground::Map(map) => {
                let from = self.place.below(positions) * align / unit;
                let fits = |place: u64| if is_cut { place + smallest <= room } else { place < room };
                let next_free = |from| map.next_free(from).filter(|block| fits(block * unit));
                let first = next_free(from).or_else(|| next_free(0))?;
                // A free block that the kind may not begin at is left to others while there are better ones nearby; in the
                // end none is left out.
                let mut block = first;
                for _ in 0..ALIGNED_TRIES {
                    if (block * unit).is_multiple_of(align) {
                        return Some(block * unit);
                    }
                    let onward = (block * unit).next_multiple_of(align);
                    let Some(next) = next_free(if onward < room { onward / unit } else { 0 }) else { break };
                    block = next;
                }
                Some(first * unit)
            }
        }
    }
}

impl Lot {
    fn renew(&mut self) {
        self.tracks = [Position { next: self.window, last: None }; PLACED_KINDS];
        match &mut self.ground {
            Ground::Free(_) => {}
            Ground::Once(pass) => pass.renew(),
            Ground::Map(map) => map.clear(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Generator;
    use fathom_schema::{
        Case, Content, FileOrder, Fill, Freshness, Quota, RangeSync, Repeats, SharePart, Size, SyncRule,
    };
    use fathom_units::{Bytes, Ratio};
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    const K: u64 = 1024;
    const READ: OperationKind = OperationKind::Read;

    fn case(size: Size, random: bool) -> Case {
        Case { weight: 1.0, kind: READ, size, random, align: None }
    }

    fn workload(cases: Vec<Case>) -> Workload {
        Workload {
            cases,
            replies: Vec::new(),
            kinds: fathom_schema::KindOrder::Drawn,
            cursor: Cursor::PerKind,
            distribution: Distribution::Uniform,
            coverage: Coverage::Independent,
            align: Bytes(4 * K),
            align_of: Vec::new(),
            run_length: 1,
            run: Run::Onward,
            stride_bytes: 0,
            ends: PassEnd::Stop,
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

    /// Extents from `start`, each on a target of its own, with `room` behind it.
    fn plan(start: u64, lengths: &[u64], room: u64) -> WorkerPlan {
        let extent = |(&length, target): (&u64, u32)| Extent {
            target,
            start: Bytes(start),
            length: Bytes(length),
            room: Bytes(room),
        };
        let extents = lengths.iter().zip(0..).map(extent).collect();
        WorkerPlan { extents, part: SharePart { index: 0, count: 1 }, seed: 5, cpus: Vec::new() }
    }

    /// One pass, of at most 10,000 operations.
    fn pass(generator: &mut Generator) -> Vec<Planned> {
        let mut out = vec![Planned::BLANK; 10_000];
        let count = generator.fill(&mut out);
        out.truncate(count);
        out
    }

    /// Asserts where the operations of one pass go, in KiB.
    fn check(workload: &Workload, (start, length, room): (u64, u64, u64), expect: &[u64]) {
        let mut generator = Generator::new(workload, &plan(start * K, &[length * K], room * K));
        let mut got: Vec<u64> = pass(&mut generator).iter().map(|planned| planned.offset / K).collect();
        // A pass of fio's is bound by its bytes too; what is asked for here is where it goes until then.
        got.truncate(expect.len());
        assert_eq!(got, expect, "{workload:?}");
    }

    fn sequential() -> Workload {
        workload(vec![case(Size::Fixed(4096), false)])
    }

    /// Each expectation is what fio 3.33 wrote to its log for the job in the comment, with `bs=4k size=64k` where
    /// nothing else is said.
    #[test]
    fn sequential_positions_are_those_of_the_peer() {
        let stride = |kib: i64| Workload { stride_bytes: kib * 1024, ..sequential() };
        // rw=read:4k size=40k
        check(&stride(4), (0, 40, 0), &[0, 8, 16, 24, 32]);
        // rw=read:8k, and the same in a larger file from 16k on
        check(&stride(8), (0, 64, 0), &[0, 12, 24, 36, 48, 60]);
        check(&stride(8), (16, 64, 20), &[16, 28, 40, 52, 64, 76]);
        // rw=read:-8k, and the same in a larger file from 16k on
        check(&stride(-8), (0, 64, 0), &[0, 56, 52, 48, 44, 40, 36, 32, 28, 24, 20, 16, 12, 8, 4, 0]);
        let from_16 = [56, 52, 48, 44, 40, 36, 32, 28, 24, 20, 16, 72, 68, 64, 60, 56];
        check(&stride(-8), (16, 64, 20), &from_16);
        // size=18k, and the same in a larger file
        check(&sequential(), (0, 18, 0), &[0, 4, 8, 12]);
        check(&sequential(), (0, 18, 82), &[0, 4, 8, 12, 16]);
    }

    #[test]
    fn zones_are_those_of_the_peer() {
        let zoned = |size, range, skip| Workload {
            zones: Zones::Strided { size: size * K, range: range * K, skip: skip * K },
            ..sequential()
        };
        let eight = [0, 4, 16, 20, 32, 36, 48, 52, 0, 4, 16, 20, 32, 36, 48, 52];
        check(&zoned(8, 16, 0), (0, 64, 0), &eight);
        check(&zoned(8, 8, 8), (0, 64, 0), &eight);
        let twice = [0, 4, 0, 4, 16, 20, 16, 20, 32, 36, 32, 36, 48, 52, 48, 52];
        check(&zoned(16, 8, 8), (0, 64, 0), &twice);
    }

    /// Random operations go round all zones, of which the last has one place where the others have two, and one operation of two.
    #[test]
    fn a_zone_that_the_end_cuts_off_ends_nothing() {
        let zones = Zones::Strided { size: 8 * K, range: 8 * K, skip: 4 * K };
        for coverage in [Coverage::OncePerPass, Coverage::Map, Coverage::Independent] {
            let random = vec![case(Size::Fixed(4096), true)];
            let workload = Workload { zones, coverage, ..workload(random) };
            // In the larger one half a place is left in the zone.
            for (seed, length) in (0..20).flat_map(|seed| [(seed, 64), (seed, 66)]) {
                let plan = WorkerPlan { seed, ..plan(0, &[length * K], 0) };
                let done = pass(&mut Generator::new(&workload, &plan));
                let offsets: BTreeSet<u64> = done.iter().map(|planned| planned.offset / K).collect();
                let all = (0..6).flat_map(|zone| [12 * zone, 12 * zone + 4]).filter(|&offset| offset < 64);
                assert_eq!((done.len(), offsets), (10_000, all.collect()), "{coverage:?}, {seed}, {length}");
            }
        }
    }

    #[test]
    fn runs_go_onward_or_again() {
        let runs = |run| Workload { run_length: 4, run, ..workload(vec![case(Size::Fixed(4096), true)]) };
        let places = |run| {
            let mut out = [Planned::BLANK; 400];
            assert_eq!(Generator::new(&runs(run), &plan(0, &[4096 * K], 0)).fill(&mut out), 400);
            out.map(|planned| planned.offset / K)
        };
        for four in places(Run::Again).chunks(4) {
            assert!(four.iter().all(|place| *place == four[0]), "{four:?}");
        }
        let broken = places(Run::Onward).chunks(4).filter(|four| four[3] != four[0] + 12).count();
        assert!(broken < 5, "only what begins just before the end is broken off: {broken}");
    }

    #[test]
    fn a_mix_continues_where_it_does_not_jump() {
        let mixed = workload(vec![
            Case { weight: 0.3, ..case(Size::Fixed(4096), true) },
            Case { weight: 0.7, ..case(Size::Fixed(4096), false) },
        ]);
        let mut out = vec![Planned::BLANK; 10_000];
        assert_eq!(Generator::new(&mixed, &plan(0, &[1 << 30], 0)).fill(&mut out), 10_000);
        let jumps = out.windows(2).filter(|pair| pair[1].offset != pair[0].offset + 4096).count();
        // Binomial, n 10,000, p 0.3: standard deviation 46.
        assert!(jumps.abs_diff(3000) < 5 * 46, "{jumps}");
    }

    #[test]
    fn extents_end_and_are_gone_through_again() {
        let mut generator = Generator::new(&sequential(), &plan(0, &[8 * K, 16 * K], 0));
        for _ in 0..3 {
            let places: Vec<(u32, u64)> =
                pass(&mut generator).iter().map(|planned| (planned.extent, planned.offset / K)).collect();
            assert_eq!(places, [(0, 0), (1, 0), (0, 4), (1, 4), (1, 8), (1, 12)]);
            generator.renew();
        }
        let renewing = Workload { ends: PassEnd::Renew, ..sequential() };
        let mut generator = Generator::new(&renewing, &plan(0, &[8 * K], 0));
        let places: Vec<u64> =
            pass(&mut generator).iter().take(5).map(|planned| planned.offset / K).collect();
        assert_eq!(places, [0, 4, 0, 4, 0]);
    }

    /// Together, whether or not their number divides that of the blocks.
    #[test]
    fn workers_touch_every_block_once_in_each_pass() {
        let once =
            Workload { coverage: Coverage::OncePerPass, ..workload(vec![case(Size::Fixed(4096), true)]) };
        for (count, blocks) in [(1, [10_u64, 7]), (3, [10, 7]), (4, [5, 4]), (8, [8, 30])] {
            let lengths = blocks.map(|blocks| blocks * 4 * K);
            let of_worker = |index| WorkerPlan { part: SharePart { index, count }, ..plan(0, &lengths, 0) };
            let mut walks: Vec<Generator> =
                (0..count).map(|index| Generator::new(&once, &of_worker(index))).collect();
            let expect: Vec<(u32, u64)> = (0..)
                .zip(blocks)
                .flat_map(|(extent, blocks)| (0..blocks).map(move |block| (extent, block)))
                .collect();
            for _ in 0..3 {
                let mut touched = Vec::new();
                for walk in &mut walks {
                    touched.extend(pass(walk).iter().map(|one| (one.extent, one.offset / (4 * K))));
                    walk.renew();
                }
                touched.sort_unstable();
                assert_eq!(touched, expect, "{count} workers");
            }
        }
    }

    fn any_sizes() -> impl Strategy<Value = Vec<Case>> {
        let size = prop_oneof![
            (1_u32..8).prop_map(|n| Size::Fixed(n * 4096)),
            (1_u32..4, 1_u32..4).prop_map(|(min, more)| Size::Range {
                min: min * 4096,
                max: (min + more) * 4096,
                step: 4096
            }),
        ];
        prop::collection::vec((size, 0.1_f64..1.0), 1..4).prop_map(|sizes| {
            sizes
                .into_iter()
                .map(|(size, weight)| Case { weight, kind: READ, size, random: true, align: None })
                .collect()
        })
    }

    #[test]
    fn kinds_lie_on_multiples_of_their_own() {
        let of =
            |weight, kind, size| Case { weight, kind, size: Size::Fixed(size), random: true, align: None };
        let cases = vec![of(0.5, READ, 4096), of(0.5, OperationKind::Write, 16384)];
        for coverage in [Coverage::Independent, Coverage::Map] {
            let align_of = vec![(OperationKind::Write, 16 * K)];
            let workload = Workload { coverage, align_of, ..workload(cases.clone()) };
            let mut walk = Generator::new(&workload, &plan(0, &[4096 * K], 0));
            let mut all = vec![Planned::BLANK; 5000];
            let going = walk.fill(&mut all);
            let (reads, writes): (Vec<_>, Vec<_>) = all[..going].iter().partition(|one| one.kind == READ);
            let odd = |all: &[&Planned]| all.iter().filter(|one| one.offset % (16 * K) != 0).count();
            assert!(odd(&reads) * 2 > reads.len(), "{coverage:?}");
            if coverage == Coverage::Independent {
                assert!(odd(&writes) == 0 && !writes.is_empty());
                continue;
            }
            // Only what the others left over begins elsewhere, and nothing is left out.
            assert!(odd(&writes) * 4 < writes.len(), "{} of {}", odd(&writes), writes.len());
            let moved: u64 = all[..going].iter().map(|one| u64::from(one.length)).sum();
            assert_eq!(moved, 4096 * K);
        }
    }

    proptest! {
        #[test]
        fn a_map_touches_every_smallest_block_once(cases in any_sizes(), lengths in prop::collection::vec(8_u64..300, 1..4)) {
            let unit = cases.iter().map(|case| case.size.smallest()).min().unwrap();
            let largest = cases.iter().map(|case| case.size.largest()).max().unwrap();
            // fio's blocks are all multiples of the smallest, or its map means nothing.
            prop_assume!(largest % unit == 0 && cases.iter().all(|case| match case.size {
                Size::Fixed(size) => size % unit == 0,
                Size::Range { min, step, .. } => min % unit == 0 && step % unit == 0,
            }));
            let lengths: Vec<u64> = lengths.iter().map(|blocks| blocks * u64::from(unit)).collect();
            let map = Workload { coverage: Coverage::Map, align: Bytes(u64::from(unit)), ..workload(cases) };
            let mut generator = Generator::new(&map, &plan(0, &lengths, 0));
            for _ in 0..2 {
                let mut touched: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
                for Planned { extent, offset, length, .. } in pass(&mut generator) {
                    prop_assert!(offset + u64::from(length) <= lengths[extent as usize]);
                    for block in offset / u64::from(unit)..(offset + u64::from(length)) / u64::from(unit) {
                        prop_assert!(touched.entry(extent).or_default().insert(block), "{} twice", block);
                    }
                }
                // What is left is where not even the smallest fits behind what is taken: nothing.
                for (extent, length) in lengths.iter().enumerate() {
                    let all = touched.get(&u32::try_from(extent).unwrap()).map_or(0, BTreeSet::len);
                    prop_assert_eq!(all as u64, length / u64::from(unit));
                }
                generator.renew();
            }
        }

        #[test]
        fn operations_stay_on_the_target(
            cases in any_sizes(), stride in -50_i64..50, run in 1_u32..5, start in 0_u64..100, length in 32_u64..200,
            room in 0_u64..50, zones in any::<bool>(), again: bool, random: bool,
        ) {
            let cases = cases.into_iter().map(|case| Case { random, ..case }).collect();
            let workload = Workload {
                stride_bytes: stride * 1024,
                run_length: if random { run } else { 1 },
                run: if again { Run::Again } else { Run::Onward },
                zones: if zones { Zones::Strided { size: 64 * K, range: 128 * K, skip: 8 * K } } else { Zones::None },
                ..workload(cases)
            };
            let mut generator = Generator::new(&workload, &plan(start * 4096, &[length * 4096], room * 4096));
            let (first, end) = (start * 4096, (start + length + room) * 4096);
            let mut out = vec![Planned::BLANK; 500];
            let count = generator.fill(&mut out);
            for Planned { offset, length, .. } in &out[..count] {
                prop_assert!(*offset >= first && offset + u64::from(*length) <= end, "{} + {}", offset, length);
                prop_assert!(*length > 0);
            }
        }
    }
}
