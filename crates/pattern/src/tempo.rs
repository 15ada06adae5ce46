//! Rates that change over time: given courses, sources that switch on and off, a cascade. Each answers when so many more
//! operations of the stream have become due; how operations are spaced in it is not known here.

use crate::arrivals::Moment;
use crate::rng::{Purpose, Rng, derive};
use fathom_schema::{Arrival, RatePiece};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Halvings of a cascade's window: 65,536 slots, so bursts over nearly five decades of time.
const LEVELS: u32 = 16;

const SLOTS: u64 = 1 << LEVELS;

/// Operations, and nanoseconds, that adding up many doubles loses or gains: what is due that close to the end of a stretch is
/// due at its end, which is where the next begins.
const NEARLY: f64 = 1e-4;

/// A stretch of time in which the rate is a straight line.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    end_ns: u64,
    /// Operations per nanosecond at its start, or where the last operation was.
    rate: f64,
    /// Change of the rate per nanosecond.
    slope: f64,
}

impl Stretch {
    /// Moves `at` on by `operations`. What does not fit before the end of the stretch is left over, and `at` is there.
    #[inline]
    fn spend(&mut self, at: &mut Moment, operations: &mut f64) -> bool {
        let left_ns = (self.end_ns - at.ns) as f64 - at.fraction;
        let room = left_ns * (self.rate + self.slope * left_ns / 2.0);
        if *operations < room - NEARLY {
            // Root of slope/2 · t² + rate · t = operations, in the form that does not cancel.
            let root = (self.rate * self.rate + 2.0 * self.slope * *operations).max(0.0).sqrt();
            let gap_ns = 2.0 * *operations / (self.rate + root);
            // At the first instant of a ramp from nothing 0 operations are due at once.
            let gap_ns = if gap_ns.is_finite() { gap_ns.min(left_ns) } else { 0.0 };
            at.advance(gap_ns);
            self.rate += self.slope * gap_ns;
            return true;
        }
        *operations = (*operations - room.max(0.0)).max(0.0);
        *at = Moment { ns: self.end_ns, fraction: 0.0 };
        false
    }
}

/// Pieces one after another; the last rate holds for ever.
#[derive(Debug, Clone)]
pub(crate) struct Course {
    at: Moment,
    stretch: Stretch,
    /// The pieces to come, last first.
    pieces: Vec<RatePiece>,
    rate_last: f64,
}

impl Course {
    pub(crate) fn new(pieces: &[RatePiece]) -> Self {
        let rate_last = pieces.last().map_or(0.0, |piece| piece.to_per_s / 1e9);
        Self {
            at: Moment::default(),
            stretch: Stretch { end_ns: 0, rate: 0.0, slope: 0.0 },
            pieces: pieces.iter().rev().copied().collect(),
            rate_last,
        }
    }

    #[inline]
    pub(crate) fn after(&mut self, mut operations: f64) -> u64 {
        while self.at.ns < u64::MAX && !self.stretch.spend(&mut self.at, &mut operations) {
            self.stretch = match self.pieces.pop() {
                Some(RatePiece { length_ns, from_per_s, to_per_s }) => Stretch {
                    end_ns: self.at.ns.saturating_add(length_ns),
                    rate: from_per_s / 1e9,
                    slope: (to_per_s - from_per_s) / 1e9 / length_ns.max(1) as f64,
                },
                None => Stretch { end_ns: u64::MAX, rate: self.rate_last, slope: 0.0 },
            };
        }
        self.at.ns + u64::from(self.at.fraction > 1.0 - NEARLY && self.at.ns < u64::MAX)
    }
}

/// Sources that are on or off for random times, each with the same rate while it is on. The sum of many whose times have
/// Pareto tails is self-similar (Taqqu, Willinger, Sherman, ACM CCR 27/2, 1997): H = (3 − shape) / 2.
#[derive(Debug, Clone)]
pub(crate) struct Sources {
    at: Moment,
    stretch: Stretch,
    /// When each source changes next, and whether it is on until then.
    changes: BinaryHeap<Reverse<(u64, bool)>>,
    active: u32,
    /// Operations per nanosecond of one source that is on.
    rate_each: f64,
    on: Sojourn,
    off: Sojourn,
    rng: Rng,
}

/// How long a source stays as it is.
#[derive(Debug, Clone, Copy)]
enum Sojourn {
    Exponential { mean_ns: f64 },
    Pareto { shape: f64, least_ns: f64 },
}

impl Sources {
    /// `arrival` is one of the two on/off processes. The sources begin as if they had run for ever.
    pub(crate) fn new(rate_per_s: f64, arrival: Arrival, seed: u64) -> Self {
        let (on, off, on_ns, off_ns, count) = match arrival {
            Arrival::OnOff { on_ns, off_ns } => {
                let exponential = |ns| Sojourn::Exponential { mean_ns: ns as f64 };
                (exponential(on_ns), exponential(off_ns), on_ns, off_ns, 1)
            }
            Arrival::ParetoOnOff { shape, on_ns, off_ns, sources } => {
                // The mean of a Pareto distribution is shape ÷ (shape − 1) times its least value.
                let pareto = |ns| Sojourn::Pareto { shape, least_ns: ns as f64 * (shape - 1.0) / shape };
                (pareto(on_ns), pareto(off_ns), on_ns, off_ns, sources)
            }
            other => panic!("{other:?} has no sources"),
        };
        assert!(on_ns > 0 && count > 0, "{arrival:?} never comes");
        let share_on = on_ns as f64 / (on_ns as f64 + off_ns as f64);
        let mut rng = Rng::new(derive(seed, Purpose::Extent, 0));
        let mut active = 0;
        let changes = (0..count)
            .map(|_| {
                let is_on = rng.unit() <= share_on;
                active += u32::from(is_on);
                Reverse((if is_on { on } else { off }.rest_ns(&mut rng), is_on))
            })
            .collect();
        let rate_each = rate_per_s / 1e9 / share_on / f64::from(count);
        let stretch = Stretch { end_ns: 0, rate: 0.0, slope: 0.0 };
        let mut sources = Self { at: Moment::default(), stretch, changes, active, rate_each, on, off, rng };
        sources.begin_stretch();
        sources
    }

    fn begin_stretch(&mut self) {
        let Reverse((end_ns, _)) = *self.changes.peek().expect("there are sources");
        self.stretch = Stretch { end_ns, rate: self.rate_each * f64::from(self.active), slope: 0.0 };
    }

    #[inline]
    pub(crate) fn after(&mut self, mut operations: f64) -> u64 {
        while self.at.ns < u64::MAX && !self.stretch.spend(&mut self.at, &mut operations) {
            let mut next = self.changes.peek_mut().expect("there are sources");
            let Reverse((at_ns, was_on)) = *next;
            let stay = if was_on { self.off } else { self.on }.next_ns(&mut self.rng);
            *next = Reverse((at_ns.saturating_add(stay), !was_on));
            drop(next);
            self.active = if was_on { self.active - 1 } else { self.active + 1 };
            self.begin_stretch();
        }
        self.at.ns
    }
}

impl Sojourn {
    /// A whole stay, at least a nanosecond, so that time goes on.
    fn next_ns(self, rng: &mut Rng) -> u64 {
        whole(match self {
            Self::Exponential { mean_ns } => -rng.unit().ln() * mean_ns,
            Self::Pareto { shape, least_ns } => least_ns * rng.unit().powf(-1.0 / shape),
        })
    }

    /// What is left of a stay that is looked at at any instant: the residual life of renewal theory, with the density
    /// P(stay > x) ÷ mean.
    fn rest_ns(self, rng: &mut Rng) -> u64 {
        whole(match self {
            Self::Exponential { mean_ns } => -rng.unit().ln() * mean_ns,
            Self::Pareto { shape, least_ns } => {
                let survival = rng.unit();
                if survival > 1.0 / shape {
                    (1.0 - survival) * least_ns * shape / (shape - 1.0)
                } else {
                    least_ns * (shape * survival).powf(-1.0 / (shape - 1.0))
                }
            }
        })
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; saturates")]
fn whole(ns: f64) -> u64 {
    (ns as u64).max(1)
}

/// The b-model (Wang, Madhyastha, Chan, Papadimitriou, Faloutsos, ICDE 2002): in each half of a window, and each half of
/// a half, one side gets the share `bias` of the operations and the other the rest; a coin says which.
#[derive(Debug, Clone)]
pub(crate) struct Cascade {
    seed: u64,
    bias: f64,
    window_ns: u64,
    /// Operations of a window.
    mass: f64,
    /// Number of the window, and the operations of it that have become due.
    window: u64,
    done: f64,
    slot: Slot,
}

/// The slot of a window in which the last operation was: its operations, from where on and how many, and its number.
#[derive(Debug, Clone, Copy)]
struct Slot {
    from: f64,
    mass: f64,
    index: u64,
}

impl Cascade {
    pub(crate) fn new(rate_per_s: f64, bias: f64, window_ns: u64, seed: u64) -> Self {
        assert!((0.5..1.0).contains(&bias), "bias {bias}; 0.5 to below 1 is possible");
        assert!(window_ns >= SLOTS, "a window of {window_ns} ns has no {SLOTS} slots");
        let mass = rate_per_s * window_ns as f64 / 1e9;
        let slot = Slot { from: 0.0, mass: 0.0, index: 0 };
        Self { seed: derive(seed, Purpose::Extent, 0), bias, window_ns, mass, window: 0, done: 0.0, slot }
    }

    #[inline]
    pub(crate) fn after(&mut self, operations: f64) -> u64 {
        self.done += operations;
        if self.done >= self.mass {
            let windows = (self.done / self.mass).floor();
            self.done = (self.done - windows * self.mass).max(0.0);
            self.window = self.window.saturating_add(whole(windows));
            self.slot.mass = 0.0;
        }
        if !(self.slot.from..self.slot.from + self.slot.mass).contains(&self.done) {
            self.slot = self.find();
        }
        let Slot { from, mass, index } = self.slot;
        let share = if mass > 0.0 { ((self.done - from) / mass).min(1.0) } else { 0.0 };
        // Exact for windows up to 2^48 ns, three days; beyond, a slot's edge is off by a nanosecond.
        let in_window = (index as f64 + share) / SLOTS as f64 * self.window_ns as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive; saturates")]
        let in_window = in_window as u64;
        self.window.saturating_mul(self.window_ns).saturating_add(in_window)
    }

    /// The slot in which `done` lies.
    fn find(&self) -> Slot {
        let mut slot = Slot { from: 0.0, mass: self.mass, index: 1 };
        for _ in 0..LEVELS {
            // `index` numbers the nodes of a window's tree as a heap does: 1 is the root. The coin is a function of the
            // node, so that every worker sees the same tree however it walks in it.
            let node = self.window.wrapping_mul(2 * SLOTS) + slot.index;
            let heads = derive(self.seed, Purpose::Pass, node) & 1 == 1;
            let left = slot.mass * if heads { self.bias } else { 1.0 - self.bias };
            let is_left = self.done < slot.from + left;
            slot = if is_left {
                Slot { mass: left, index: slot.index * 2, ..slot }
            } else {
                Slot { from: slot.from + left, mass: slot.mass - left, index: slot.index * 2 + 1 }
            };
        }
        Slot { index: slot.index - SLOTS, ..slot }
    }
}
