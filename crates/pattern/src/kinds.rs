//! What the next operation of a walk is, drawn in steps: its kind, then whether it jumps, then, when its place is known,
//! a size that fits there. The endless generator draws all three at once.

use crate::mix::{Alias, Choice, Grants};
use crate::region::PLACED_KINDS;
use crate::rng::{Rng, Taus88};
use fathom_schema::{Case, Counted, KindOrder, OperationKind};

/// The mix of a walk.
#[derive(Debug, Clone)]
pub(crate) struct Kinds {
    kinds: Vec<OperationKind>,
    alias: Alias,
    /// What may come at the moment, where that changes.
    grants: Option<Box<Grants>>,
    /// What they have done, where that decides, and not chance alone.
    done: Option<Order>,
    /// By kind: share of random operations, sizes of the sequential and of the random ones.
    of: [Option<OfKind>; PLACED_KINDS],
}

/// How kinds follow one another by what they have done.
#[derive(Debug, Clone)]
enum Order {
    Even(Done),
    Redrawn(Redrawn),
}

/// Kinds that keep their shares without chance.
#[derive(Debug, Clone)]
struct Done {
    counted: Counted,
    /// By kind: what one counted thing adds, and the sum; 1 when a kind has done its share of all.
    each: [f64; PLACED_KINDS],
    sums: [f64; PLACED_KINDS],
}

/// Reads and writes that follow one another as [`KindOrder::Redrawn`] says.
#[derive(Debug, Clone)]
struct Redrawn {
    /// What each pass begins to draw with; `None` where they go on.
    anew: Option<u32>,
    draws: Taus88,
    read_percent: u32,
    last: OperationKind,
    /// Operations of `last` after which it is drawn anew.
    until: u64,
    /// Operations so far, by kind.
    counts: [u64; PLACED_KINDS],
}

impl Redrawn {
    fn new(read_percent: u32, onward: bool, seed: u64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "the low half is meant")]
        let seed = seed as u32;
        let (draws, anew) = (Taus88::new(seed), (!onward).then_some(seed));
        Self { anew, draws, read_percent, last: OperationKind::Read, until: 0, counts: [0; PLACED_KINDS] }
    }

    /// Another pass draws at once: the same, or what comes next. What came last and how often stays, and decides how soon it is drawn
    /// again. Observed with fio 3.33.
    fn renew(&mut self) {
        self.until = 0;
        if let Some(seed) = self.anew {
            self.draws = Taus88::new(seed);
        }
    }

    #[inline]
    fn draw(&mut self) -> OperationKind {
        let done = self.counts[self.last.index()];
        if done >= self.until {
            let is_read = self.draws.below(100) < self.read_percent;
            let kind = if is_read { OperationKind::Read } else { OperationKind::Write };
            if kind != self.last {
                let share_of_kind = if is_read { self.read_percent } else { 100 - self.read_percent };
                self.until = done * u64::from(share_of_kind) / 100;
            }
            self.last = kind;
        }
        self.last
    }
}

#[derive(Debug, Clone)]
struct OfKind {
    random_share: f64,
    sizes: [Sizes; 2],
}

/// Sizes with their weights.
#[derive(Debug, Clone)]
struct Sizes {
    /// The rarest first.
    choices: Vec<Choice>,
    alias: Alias,
    /// The shares of each and of all before it.
    up_to: Vec<f64>,
    smallest: u32,
}

impl Sizes {
    fn new<'a>(cases: impl Iterator<Item = &'a Case>) -> Option<Self> {
        let mut cases: Vec<&Case> = cases.collect();
        cases.sort_by(|a, b| a.weight.total_cmp(&b.weight));
        let smallest = cases.iter().map(|case| case.size.smallest()).min()?;
        let weights: Vec<f64> = cases.iter().map(|case| case.weight).collect();
        let choices = cases.into_iter().map(Choice::new).collect();
        let up_to = weights.iter().scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        });
        Some(Self { choices, alias: Alias::new(&weights), up_to: up_to.collect(), smallest })
    }

    /// A size of at most `room` bytes; `None` when none is that small. The only one there is comes whatever the room.
    fn draw(&self, room: u64, rng: &mut Rng) -> Option<u32> {
        if let [only] = self.choices[..]
            && only.is_fixed()
        {
            return Some(only.size_min);
        }
        if u64::from(self.smallest) > room {
            return None;
        }
        let room = u32::try_from(room).unwrap_or(u32::MAX);
        let drawn = if self.choices.len() == 1 { 0 } else { self.alias.draw(rng) };
        let fits = |choice: &&Choice| choice.size_min <= room;
        if let Some(fitting) = self.choices[drawn..].iter().find(fits) {
            return Some(fitting.size_within(room, rng));
        }
        self.drawn_anew(room, rng)
    }

    /// One that does not fit gives way to the next that does; where none behind it does, fio draws anew until one is there. That comes
    /// to a draw among all up to the last that fits.
    #[cold]
    #[inline(never)]
    fn drawn_anew(&self, room: u32, rng: &mut Rng) -> Option<u32> {
        let last = self.choices.iter().rposition(|choice| choice.size_min <= room)?;
        let at = rng.unit() * self.up_to[last];
        let drawn = self.up_to[..last].partition_point(|&up_to| up_to <= at);
        let fitting = self.choices[drawn..=last].iter().find(|choice| choice.size_min <= room)?;
        Some(fitting.size_within(room, rng))
    }
}

impl Kinds {
    /// Another pass begins.
    pub(crate) fn renew(&mut self) {
        if let Some(Order::Redrawn(redrawn)) = &mut self.done {
            redrawn.renew();
        }
    }

    /// The mix of `cases`, at least one, of a worker with this seed.
    pub(crate) fn new(cases: &[Case], order: KindOrder, seed: u64) -> Self {
        let of = std::array::from_fn(|index| {
            let own = || cases.iter().filter(move |case| case.kind.index() == index);
            let all: f64 = own().map(|case| case.weight).sum();
            let random: f64 = own().filter(|case| case.random).map(|case| case.weight).sum();
            let sequential = Sizes::new(own().filter(|case| !case.random));
            let jumping = Sizes::new(own().filter(|case| case.random));
            // Where one of the two never comes by share, a run still goes on sequentially, with the sizes there are.
            let sizes = match (sequential, jumping) {
                (Some(sequential), Some(jumping)) => [sequential, jumping],
                (Some(only), None) | (None, Some(only)) => [only.clone(), only],
                (None, None) => return None,
            };
            Some(OfKind { random_share: random / all, sizes })
        });
        let of: [Option<OfKind>; PLACED_KINDS] = of;
        let weight = |kind: OperationKind| -> f64 {
            cases.iter().filter(|case| case.kind == kind).map(|case| case.weight).sum()
        };
        let kinds = [OperationKind::Read, OperationKind::Write, OperationKind::Trim];
        let kinds: Vec<OperationKind> = kinds.into_iter().filter(|&kind| weight(kind) > 0.0).collect();
        let weights: Vec<f64> = kinds.iter().map(|&kind| weight(kind)).collect();
        let done = match order {
            KindOrder::Drawn => None,
            KindOrder::Redrawn { read_percent, onward } => {
                Some(Order::Redrawn(Redrawn::new(read_percent, onward, seed)))
            }
            KindOrder::Even(counted) => {
                let share = |case: &Case| match counted {
                    Counted::Operations => case.weight,
                    Counted::Bytes => case.weight * case.size.mean(),
                };
                let share_of = |index: usize| -> f64 {
                    cases.iter().filter(|case| case.kind.index() == index).map(share).sum()
                };
                let each = std::array::from_fn(|index| 1.0 / share_of(index));
                Some(Order::Even(Done { counted, each, sums: [0.0; PLACED_KINDS] }))
            }
        };
        Self { alias: Alias::new(&weights), grants: None, kinds, done, of }
    }

    /// Makes it ready for [`Kinds::grant`].
    pub(crate) fn prepare_grants(&mut self, cases: &[Case]) {
        let weight = |kind: OperationKind| -> f64 {
            cases.iter().filter(|case| case.kind == kind).map(|case| case.weight).sum()
        };
        let weights: Vec<(OperationKind, f64)> =
            self.kinds.iter().map(|&kind| (kind, weight(kind))).collect();
        self.grants = Some(Box::new(Grants::new(&weights)));
    }

    /// From here on only these kinds come, where they are drawn.
    #[inline]
    pub(crate) fn grant(&mut self, set: u8) {
        if let Some(grants) = &mut self.grants {
            grants.switch(set, &mut self.alias);
        }
    }

    fn of(&self, kind: OperationKind) -> &OfKind {
        self.of[kind.index()].as_ref().expect("a kind of the mix")
    }

    /// The smallest operation of all.
    pub(crate) fn smallest(&self) -> u32 {
        let all = self.kinds.iter().map(|&kind| self.smallest_of(kind));
        all.min().expect("a mix has a case")
    }

    /// The smallest operation of a kind.
    pub(crate) fn smallest_of(&self, kind: OperationKind) -> u32 {
        self.of(kind).sizes.iter().map(|sizes| sizes.smallest).min().expect("there are two")
    }

    /// The smallest operation of a kind of those that jump, or of those that do not.
    #[inline]
    pub(crate) fn smallest_among(&self, kind: OperationKind, random: bool) -> u32 {
        self.of(kind).sizes[usize::from(random)].smallest
    }

    /// The kind of the next operation.
    #[inline]
    pub(crate) fn draw(&mut self, rng: &mut Rng) -> OperationKind {
        match (&self.kinds[..], &mut self.done) {
            ([only], _) => *only,
            (kinds, None) => kinds[self.alias.draw(rng)],
            (_, Some(Order::Redrawn(redrawn))) => redrawn.draw(),
            (kinds, Some(Order::Even(done))) => {
                let behind = |kind: &OperationKind| done.sums[kind.index()];
                *kinds.iter().min_by(|a, b| behind(a).total_cmp(&behind(b))).expect("a mix has a case")
            }
        }
    }

    /// Takes note of an operation that goes out.
    #[inline]
    pub(crate) fn note(&mut self, kind: OperationKind, bytes: u32) {
        match &mut self.done {
            None => {}
            Some(Order::Even(Done { counted, each, sums })) => {
                let counts = match counted {
                    Counted::Operations => 1.0,
                    Counted::Bytes => f64::from(bytes),
                };
                sums[kind.index()] += counts * each[kind.index()];
            }
            Some(Order::Redrawn(redrawn)) => redrawn.counts[kind.index()] += 1,
        }
    }

    /// Whether an operation of this kind jumps.
    #[inline]
    pub(crate) fn is_random(&self, kind: OperationKind, rng: &mut Rng) -> bool {
        let share = self.of(kind).random_share;
        share >= 1.0 || (share > 0.0 && rng.unit() <= share)
    }

    /// The size of an operation that has `room` bytes before it passes the extent's end.
    #[inline]
    pub(crate) fn size(&self, kind: OperationKind, random: bool, room: u64, rng: &mut Rng) -> Option<u32> {
        self.of(kind).sizes[usize::from(random)].draw(room, rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_schema::Size;

    /// What fio 3.33 was seen to do: the first hundred operations of `rw=rw` and of `rwmixread=70`, one job with its own seed.
    #[test]
    fn redrawn_kinds_are_those_of_fio() {
        for (read_percent, expect) in [
            (
                50,
                "rrrwrrwwwrwrwrrrwwrrwwwwrwrwwwwrrwrwwrrwwrwrrwwrwwwrrwrwrwwrrwwwwwrrrwrwwrwwwwrwrrrwrrwwrwwwrrrwrrww",
            ),
            (
                70,
                "rrrwrrwrrrwrwrrrrrrrwwrwrrrwwwrrrwrwwrrwrrwrrwrrwwrrrrrwrrwrrrwrrrrrrwrrrrwwwrrwrrrwrrwwrwrwrrrwrrrr",
            ),
        ] {
            let case =
                |weight, kind| Case { weight, kind, size: Size::Fixed(4096), random: false, align: None };
            let read = f64::from(read_percent) / 100.0;
            let cases = [case(read, OperationKind::Read), case(1.0 - read, OperationKind::Write)];
            let mut kinds = Kinds::new(
                &cases,
                KindOrder::Redrawn { read_percent, onward: false },
                2_501_048_522_732_208_269,
            );
            let mut rng = Rng::new(1);
            let mut next = || {
                let kind = kinds.draw(&mut rng);
                kinds.note(kind, 4096);
                if kind == OperationKind::Read { 'r' } else { 'w' }
            };
            assert_eq!((0..100).map(|_| next()).collect::<String>(), expect);
        }
    }

    /// fio 3.33, `rw=rw` with blocks of 64 KiB, `loops=2` of 4 MiB and `randseed=3`: the numbers go on, but for that of the write that
    /// was over the end of its file.
    #[test]
    fn kinds_of_a_given_seed_go_on_from_pass_to_pass() {
        let expect = "wrwwrwwwwrrrwwwwrwrrrrrrwwwwrwwrrwrrwrrrwrwwwrrrwrwwrwwrwwwwwrww\
                      wwwwrwrwrrwwrwwrwrwrrrwrwwrrwrwrrrrrrwwwwwrrwwwwrwrrwrrrrwwrrrrr";
        let case = |kind| Case { weight: 0.5, kind, size: Size::Fixed(65_536), random: false, align: None };
        let cases = [OperationKind::Read, OperationKind::Write].map(case);
        let order = KindOrder::Redrawn { read_percent: 50, onward: true };
        // What fio makes of `randseed=3` for the first job.
        let mut kinds = Kinds::new(&cases, order, 3_576_168_455);
        let (mut rng, mut blocks, mut told) = (Rng::new(1), [0; PLACED_KINDS], String::new());
        while told.len() < expect.len() {
            let kind = kinds.draw(&mut rng);
            if blocks[kind.index()] == 64 {
                blocks = [0; PLACED_KINDS];
                kinds.renew();
                continue;
            }
            blocks[kind.index()] += 1;
            kinds.note(kind, 65_536);
            told.push(if kind == OperationKind::Read { 'r' } else { 'w' });
        }
        assert_eq!(told, expect);
    }

    /// fio 3.33 with `bssplit=4k/10:64k/40:4m/50` in files of 1 MiB: a fifth of what it does has 4 KiB.
    #[test]
    fn sizes_that_do_not_fit_are_drawn_anew() {
        let small = |weights: [f64; 3]| {
            let case = |(weight, bytes)| Case {
                weight,
                kind: OperationKind::Read,
                size: Size::Fixed(bytes),
                random: true,
                align: None,
            };
            let cases: Vec<Case> = weights.into_iter().zip([4096, 65_536, 4 << 20]).map(case).collect();
            let sizes = Sizes::new(cases.iter()).expect("there are three");
            let mut rng = Rng::new(3);
            (0..10_000).filter(|_| sizes.draw(1 << 20, &mut rng) == Some(4096)).count()
        };
        // Three standard deviations of a count.
        assert!((1880..2120).contains(&small([0.1, 0.4, 0.5])));
        // The rarest comes first: 4 MiB gives way to 64 KiB, the next one.
        assert!((4850..5150).contains(&small([0.5, 0.4, 0.1])));
    }
}
