//! Which extent of a walk is next: in turn, one after another, or by chance, among those that are not done. It does not
//! know what is done in them.

use crate::places::{Zipf, fraction_of};
use crate::rng::Rng;
use fathom_schema::{FileOrder, FileSkew, Quota};

/// Draws before the rest are looked through in order: where few of many extents are left, chance takes too long.
const DRAWS_MAX: u32 = 32;

/// Places that each file counts for in a zipf distribution of files, as with fio: the first ones of a file have most of its part.
const ZIPF_PLACES: u64 = 1024;

/// The extents of a walk that are not done, and whose turn it is.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    order: FileOrder,
    skew: Option<Skew>,
    states: Vec<State>,
    left: usize,
    /// Those that are begun and not done, in their order; kept where not all may be.
    open: Vec<usize>,
    open_count: usize,
    open_most: usize,
    /// The one in service, and operations left of its turn.
    current: Option<usize>,
    turns_left: u32,
    /// Whose turn is next.
    next: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not begun, or waiting for one that is open to be done.
    Closed,
    Open,
    Done,
}

#[derive(Debug, Clone)]
enum Skew {
    Zipf(Zipf),
    /// The exponent of the self-similar distribution.
    Pareto(f64),
    Normal(f64),
}

/// Uniform draws whose mean is close to a normal one.
const NORMAL_DRAWS: u32 = 12;

impl Files {
    /// `count` extents, at least one, of which at most `at_once` are begun and not done.
    pub(crate) fn new(order: FileOrder, at_once: Quota, count: usize) -> Self {
        let skew = match order {
            FileOrder::Skewed { by, .. } => Some(match by {
                FileSkew::Zipf { theta } => Skew::Zipf(Zipf::new(theta)),
                FileSkew::Pareto { h } => Skew::Pareto(h.ln() / (-h).ln_1p()),
                FileSkew::Normal { deviation } => Skew::Normal(deviation),
            }),
            FileOrder::RoundRobin(_) | FileOrder::Sequential | FileOrder::Random(_) => None,
        };
        let open_most = match at_once {
            Quota::Unlimited => count,
            Quota::AtMost(most) => usize::try_from(most.max(1)).unwrap_or(usize::MAX),
        };
        Self {
            order,
            skew,
            states: vec![State::Closed; count],
            left: count,
            open: Vec::with_capacity(if open_most < count { open_most } else { 0 }),
            open_count: 0,
            open_most,
            current: None,
            turns_left: 0,
            next: 0,
        }
    }

    /// Whether an extent that is done begins anew at once, so that none ever is.
    pub(crate) fn begin_anew(&self) -> bool {
        self.skew.is_some()
    }

    /// The extent is done.
    pub(crate) fn end(&mut self, at: usize) {
        debug_assert_eq!(self.states[at], State::Open);
        self.states[at] = State::Done;
        self.left -= 1;
        self.open_count -= 1;
        if self.open_most < self.states.len()
            && let Ok(place) = self.open.binary_search(&at)
        {
            self.open.remove(place);
        }
        self.current = None;
    }

    /// None is done.
    pub(crate) fn renew(&mut self) {
        self.states.fill(State::Closed);
        self.open.clear();
        (self.left, self.open_count, self.current) = (self.states.len(), 0, None);
    }

    /// The extent of the next operation; `None` when all are done.
    #[inline]
    pub(crate) fn choose(&mut self, rng: &mut Rng) -> Option<usize> {
        if self.left == 0 {
            return None;
        }
        if let Some(current) = self.current {
            if self.order == FileOrder::Sequential {
                return Some(current);
            }
            if self.turns_left > 0 {
                self.turns_left -= 1;
                return Some(current);
            }
        }
        let chosen = match self.order {
            FileOrder::RoundRobin(_) | FileOrder::Sequential => {
                let chosen = self.first_from(self.next);
                self.next = (chosen + 1) % self.states.len();
                chosen
            }
            FileOrder::Random(_) | FileOrder::Skewed { .. } => self.by_chance(rng),
        };
        if self.states[chosen] == State::Closed {
            self.states[chosen] = State::Open;
            self.open_count += 1;
            if self.open_most < self.states.len() {
                let place = self.open.partition_point(|&open| open < chosen);
                self.open.insert(place, chosen);
            }
        }
        self.current = Some(chosen);
        self.turns_left = match self.order {
            FileOrder::RoundRobin(turns) | FileOrder::Random(turns) | FileOrder::Skewed { turns, .. } => {
                turns - 1
            }
            FileOrder::Sequential => 0,
        };
        Some(chosen)
    }

    fn may(&self, at: usize) -> bool {
        match self.states[at] {
            State::Open => true,
            State::Closed => self.open_count < self.open_most,
            State::Done => false,
        }
    }

    /// Whether only what is open may be served, so that it is not looked for among the many more that wait or are done.
    fn is_settled(&self) -> bool {
        self.open_most < self.states.len()
            && (self.open_count == self.open_most || self.open_count == self.left)
    }

    /// The first that may be served, from `from` on in a circle: one that is open, or one more.
    fn first_from(&self, from: usize) -> usize {
        if self.is_settled() {
            let place = self.open.partition_point(|&open| open < from);
            return *self.open.get(place).or(self.open.first()).expect("one is open");
        }
        let all = (from..self.states.len()).chain(0..from);
        all.into_iter().find(|&at| self.may(at)).expect("one is not done, and it is open or may be opened")
    }

    fn by_chance(&mut self, rng: &mut Rng) -> usize {
        if self.skew.is_none() && self.is_settled() {
            let drawn = rng.below(self.open.len() as u64);
            return self.open[usize::try_from(drawn).expect("below a usize")];
        }
        let mut drawn = 0;
        for _ in 0..DRAWS_MAX {
            drawn = self.draw(rng);
            if self.may(drawn) {
                return drawn;
            }
        }
        self.first_from(drawn)
    }

    fn draw(&mut self, rng: &mut Rng) -> usize {
        let count = self.states.len() as u64;
        let rank = match &mut self.skew {
            None => rng.below(count),
            Some(Skew::Zipf(zipf)) => zipf.draw(count * ZIPF_PLACES, rng) / ZIPF_PLACES,
            Some(Skew::Pareto(exponent)) => fraction_of(count, rng.unit().powf(*exponent)),
            Some(Skew::Normal(deviation)) => {
                let sum: f64 = (0..NORMAL_DRAWS).map(|_| rng.unit()).sum();
                let moved = *deviation * (rng.unit() - 0.5);
                fraction_of(count, (sum / f64::from(NORMAL_DRAWS) + moved).rem_euclid(1.0))
            }
        };
        let favourite = match self.order {
            FileOrder::Skewed { favourite, .. } => fraction_of(count, favourite),
            _ => 0,
        };
        usize::try_from((rank + favourite) % count).expect("below a usize")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Extents in the order of service, each of which is done after so many operations.
    fn check(order: FileOrder, at_once: Quota, lengths: &[u32], expect: &str) {
        let mut files = Files::new(order, at_once, lengths.len());
        let mut left = lengths.to_vec();
        let mut rng = Rng::new(1);
        let mut served = String::new();
        while let Some(at) = files.choose(&mut rng) {
            if left[at] == 0 {
                files.end(at);
            } else {
                left[at] -= 1;
                served += &at.to_string();
            }
        }
        assert_eq!(served, expect, "{order:?} {at_once:?} {lengths:?}");
    }

    #[test]
    fn extents_are_served_until_they_are_done() {
        use FileOrder::{RoundRobin, Sequential};
        let all = Quota::Unlimited;
        check(RoundRobin(1), all, &[2, 3, 1], "012011");
        check(RoundRobin(2), all, &[2, 3, 1], "001121");
        check(Sequential, all, &[2, 3, 1], "001112");
        // As many as may be open go on until one of them is done.
        check(RoundRobin(1), Quota::AtMost(2), &[2, 2, 2], "010122");
        check(RoundRobin(1), Quota::AtMost(1), &[2, 2], "0011");
        check(RoundRobin(1), Quota::AtMost(2), &[4, 1, 1, 2, 1], "010203034");
        check(Sequential, Quota::AtMost(2), &[2, 1, 2], "00122");
    }

    #[test]
    fn chance_favours_whom_it_should() {
        let share_of = |by: FileSkew, favourite: f64, at: usize| {
            let order = FileOrder::Skewed { by, favourite, turns: 1 };
            let mut files = Files::new(order, Quota::Unlimited, 10);
            let mut rng = Rng::new(3);
            let hits = (0..20_000).filter(|_| files.choose(&mut rng) == Some(at)).count();
            hits as f64 / 20_000.0
        };
        // Five standard deviations of a binomial with n 20,000 are at most 0.018.
        // Each file is 1,024 places.
        let zeta = |places: u32| (1..=places).map(|rank| f64::from(rank).powf(-1.2)).sum::<f64>();
        let first = zeta(1024) / zeta(10_240);
        assert!((share_of(FileSkew::Zipf { theta: 1.2 }, 0.0, 0) - first).abs() < 0.018);
        assert!((share_of(FileSkew::Zipf { theta: 1.2 }, 0.5, 5) - first).abs() < 0.018);
        // Self-similar: two of ten get 80 %, of which 41.8 % of all go to the first: 0.1^(ln 0.8 / ln 0.2).
        let first = 0.1_f64.powf(0.8_f64.ln() / 0.2_f64.ln());
        assert!((share_of(FileSkew::Pareto { h: 0.2 }, 0.0, 0) - first).abs() < 0.018);
        assert!(share_of(FileSkew::Normal { deviation: 0.0 }, 0.0, 4) > 0.3);
        assert!(share_of(FileSkew::Normal { deviation: 0.0 }, 0.0, 0) < 0.01);
    }
}
