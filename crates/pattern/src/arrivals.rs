//! Intended times of open-loop operations, as nanoseconds since the stream's start. A schedule is a pure function of
//! rate, process, part and seed; whether an operation goes out in time is not its business.

use crate::rng::{Purpose, Rng, derive};
use crate::tempo::{Cascade, Course, Sources};
use crate::trace::{DueTimes, Trace};
use fathom_schema::{Arrival, RatePiece, SharePart};
use std::sync::Arc;

/// Slowest rate: one operation in 31 years. Below it, times would not fit their 64 bits soon.
const RATE_MIN: f64 = 1e-9;

/// Fastest rate: a thousand million operations per nanosecond, far beyond any generator.
const RATE_MAX: f64 = 1e18;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// One worker's part of a stream's arrival schedule.
#[derive(Debug, Clone)]
pub struct Arrivals {
    process: Process,
}

#[derive(Debug, Clone)]
enum Process {
    Constant(Ticker),
    /// Gaps of this length, the first operation after `first_ns`.
    Even {
        at: Moment,
        first_ns: Option<f64>,
        gap_ns: f64,
    },
    /// Exponential gaps of this mean.
    Poisson {
        at: Moment,
        gap_mean_ns: f64,
        rng: Rng,
    },
    /// Gaps from 0 to this, `pending` of them until this worker's next arrival.
    Uniform {
        at: Moment,
        gap_max_ns: f64,
        pending: u32,
        count: u32,
        rng: Rng,
    },
    /// Each kind of operations evenly spaced by itself.
    ByKind(Clocks),
    /// What a trace says.
    Traced(DueTimes),
    /// A rate that changes: how far apart operations are, in operations of the stream, and when so many are due.
    Varying {
        spacing: Spacing,
        tempo: Tempo,
    },
}

/// Distance of a worker's operations, counted in operations of the stream.
#[derive(Debug, Clone)]
enum Spacing {
    /// Every `count`-th, after the first `pending`.
    Even { pending: u32, count: u32 },
    /// Exponential with this mean.
    Exponential { mean: f64, rng: Rng },
    /// Uniform steps from 0 to 2, `pending` of them until this worker's next.
    Uniform { pending: u32, count: u32, rng: Rng },
}

/// A rate over time.
#[derive(Debug, Clone)]
enum Tempo {
    Course(Course),
    Sources(Sources),
    Cascade(Cascade),
}

impl Arrivals {
    /// The part `part` of a schedule of `rate_per_s` operations per second (over all parts; 1e-9 to 1e18). A `course`
    /// that is not empty replaces the rate; it goes with the first three processes only.
    ///
    /// `Constant`: operation k of the stream at k/rate, rounded down to the nanosecond; this worker owns k ≡ index
    /// (mod count). `Uniform`: one sequence of gaps, the same in all workers with one `seed`; ownership as above.
    /// `Poisson`: this worker has a Poisson process of its own at rate/count; independent Poisson processes superpose
    /// to one of the sum of their rates (Kingman, Poisson Processes, 1993, §2.2), so nothing needs to be shared.
    /// The others vary a rate in a way that all workers with one `seed` share, and are Poisson in it (`OnOff`,
    /// `ParetoOnOff`) or evenly spaced in it (`BModel`).
    pub fn new(rate_per_s: f64, arrival: Arrival, course: &[RatePiece], part: SharePart, seed: u64) -> Self {
        assert!(
            (RATE_MIN..=RATE_MAX).contains(&rate_per_s),
            "rate {rate_per_s}/s; {RATE_MIN} to {RATE_MAX} is possible"
        );
        let SharePart { index, count } = part;
        assert!(index < count, "part {index} of {count}");
        let gap_mean_ns = NANOS_PER_SECOND as f64 / rate_per_s;
        let seed = derive(seed, Purpose::Arrival, 0);
        let own = || Rng::new(derive(seed, Purpose::Worker, u64::from(index)));
        let exponential = || Spacing::Exponential { mean: f64::from(count), rng: own() };
        let along = |spacing| Process::Varying { spacing, tempo: Tempo::Course(Course::new(course)) };
        let steady = course.is_empty();
        let process = match arrival {
            Arrival::Constant if steady => {
                Process::Constant(Ticker::new(rate_per_s, u64::from(index), count))
            }
            Arrival::Constant => along(Spacing::Even { pending: index, count }),
            Arrival::Poisson if steady => Process::Poisson {
                at: Moment::default(),
                gap_mean_ns: gap_mean_ns * f64::from(count),
                rng: own(),
            },
            Arrival::Poisson => along(exponential()),
            Arrival::Uniform if steady => Process::Uniform {
                at: Moment::default(),
                gap_max_ns: 2.0 * gap_mean_ns,
                pending: index + 1,
                count,
                rng: Rng::new(seed),
            },
            Arrival::Uniform => along(Spacing::Uniform { pending: index + 1, count, rng: Rng::new(seed) }),
            Arrival::ByKind => panic!("kinds that have clocks of their own are more than a rate"),
            Arrival::Traced { .. } => panic!("a trace says itself when its operations are due"),
            Arrival::OnOff { .. } | Arrival::ParetoOnOff { .. } | Arrival::BModel { .. } => {
                assert!(steady, "{arrival:?} has no course");
                match arrival {
                    Arrival::BModel { bias, window_ns } => Process::Varying {
                        spacing: Spacing::Even { pending: index, count },
                        tempo: Tempo::Cascade(Cascade::new(rate_per_s, bias, window_ns, seed)),
                    },
                    _ => Process::Varying {
                        spacing: exponential(),
                        tempo: Tempo::Sources(Sources::new(rate_per_s, arrival, seed)),
                    },
                }
            }
        };
        Self { process }
    }

    /// When the operations of a trace are due, its time going `speed` times as fast.
    pub fn of_trace(trace: Arc<Trace>, speed: f64) -> Self {
        assert!(speed > 0.0, "speed {speed}");
        Self { process: Process::Traced(DueTimes::new(trace, speed)) }
    }

    /// Kinds of operations that are each evenly spaced by themselves, these shares of `rate_per_s` operations per second
    /// over all parts: the next of all is due with the one that comes first. In a schedule that
    /// [`Arrivals::next_scaled_ns`] reads, an operation counts for its kind as so many of that kind.
    pub fn by_kind(rate_per_s: f64, shares: &[f64], part: SharePart) -> Self {
        assert!((RATE_MIN..=RATE_MAX).contains(&rate_per_s), "rate {rate_per_s}/s");
        let whole: f64 = shares.iter().sum();
        let gap_ns = NANOS_PER_SECOND as f64 / rate_per_s;
        let clock = |&share: &f64| {
            let own_ns = gap_ns * whole / share;
            let mut next = Moment::default();
            next.advance(own_ns * f64::from(part.index));
            Clock { next, gap_ns: own_ns * f64::from(part.count) }
        };
        let of_kinds = shares.iter().filter(|&&share| share > 0.0).map(clock).collect();
        Self { process: Process::ByKind(Clocks { of_kinds, last: None }) }
    }

    /// As [`Arrivals::new`] for a schedule that [`Arrivals::next_scaled_ns`] reads.
    pub fn scaled(
        rate_per_s: f64,
        arrival: Arrival,
        course: &[RatePiece],
        part: SharePart,
        seed: u64,
    ) -> Self {
        if arrival != Arrival::Constant || !course.is_empty() {
            return Self::new(rate_per_s, arrival, course, part, seed);
        }
        let gap_ns = NANOS_PER_SECOND as f64 / rate_per_s;
        let first_ns = Some(gap_ns * f64::from(part.index));
        Self {
            process: Process::Even {
                at: Moment::default(),
                first_ns,
                gap_ns: gap_ns * f64::from(part.count),
            },
        }
    }

    /// Intended time of this worker's next operation, in nanoseconds since the stream's start; never before the one
    /// before. Stays at `u64::MAX` when it would lie beyond.
    #[inline]
    pub fn next_ns(&mut self) -> u64 {
        self.next_scaled_ns(1.0)
    }

    /// As [`Arrivals::next_ns`], when the operation before counts as `times` operations. A schedule of [`Arrivals::new`] with
    /// [`Arrival::Constant`] counts each as one.
    #[inline]
    pub fn next_scaled_ns(&mut self, times: f64) -> u64 {
        match &mut self.process {
            Process::Constant(ticker) => ticker.tick(),
            Process::ByKind(clocks) => clocks.next_ns(times),
            Process::Traced(times) => times.next_ns(),
            Process::Even { at, first_ns, gap_ns } => {
                at.advance(first_ns.take().unwrap_or(*gap_ns * times));
                at.ns
            }
            Process::Poisson { at, gap_mean_ns, rng } => {
                at.advance(-rng.unit().ln() * *gap_mean_ns * times);
                at.ns
            }
            Process::Uniform { at, gap_max_ns, pending, count, rng } => {
                for _ in 0..*pending {
                    at.advance(rng.unit() * *gap_max_ns * times);
                }
                *pending = *count;
                at.ns
            }
            Process::Varying { spacing, tempo } => {
                let operations = spacing.next() * times;
                match tempo {
                    Tempo::Course(course) => course.after(operations),
                    Tempo::Sources(sources) => sources.after(operations),
                    Tempo::Cascade(cascade) => cascade.after(operations),
                }
            }
        }
    }
}

/// Several clocks, whose next instants come in their order.
#[derive(Debug, Clone)]
struct Clocks {
    of_kinds: Vec<Clock>,
    /// Whose instant was the last.
    last: Option<usize>,
}

#[derive(Debug, Clone)]
struct Clock {
    next: Moment,
    gap_ns: f64,
}

impl Clocks {
    #[inline]
    fn next_ns(&mut self, times: f64) -> u64 {
        if let Some(last) = self.last {
            let Clock { next, gap_ns } = &mut self.of_kinds[last];
            next.advance(*gap_ns * times);
            next.settle();
        }
        let instant = |clock: &Clock| (clock.next.ns, clock.next.fraction);
        let earlier = |&a: &usize, &b: &usize| {
            let ((ns, fraction), (other_ns, other)) =
                (instant(&self.of_kinds[a]), instant(&self.of_kinds[b]));
            ns.cmp(&other_ns).then(fraction.total_cmp(&other))
        };
        let first = (0..self.of_kinds.len()).min_by(earlier).expect("there is a kind");
        self.last = Some(first);
        self.of_kinds[first].next.ns
    }
}

impl Spacing {
    #[inline]
    fn next(&mut self) -> f64 {
        match self {
            Self::Even { pending, count } => f64::from(std::mem::replace(pending, *count)),
            Self::Exponential { mean, rng } => -rng.unit().ln() * *mean,
            Self::Uniform { pending, count, rng } => {
                let steps = std::mem::replace(pending, *count);
                (0..steps).map(|_| 2.0 * rng.unit()).sum()
            }
        }
    }
}

/// What millions of gaps, each rounded to some 1e-11 ns, add up to.
const ROUNDING_NS: f64 = 1e-4;

/// A time whose part below a nanosecond is carried on, so that no rate is lost to rounding.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moment {
    pub(crate) ns: u64,
    pub(crate) fraction: f64,
}

impl Moment {
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "gaps are positive; saturates"
    )]
    pub(crate) fn advance(&mut self, gap_ns: f64) {
        let sum = self.fraction + gap_ns;
        let whole = sum.floor();
        self.ns = self.ns.saturating_add(whole as u64);
        self.fraction = sum - whole;
    }

    /// Takes what is short of a nanosecond by no more than rounding comes to for one: an instant at the end of a window is
    /// no part of it.
    #[inline]
    fn settle(&mut self) {
        if self.fraction > 1.0 - ROUNDING_NS {
            self.ns = self.ns.saturating_add(1);
            self.fraction = 0.0;
        }
    }
}

/// Every `count`-th instant k/rate, exactly: the rate is taken as the fraction of two integers that it is in binary, or that
/// was meant, and what a step leaves over is added up in integers.
#[derive(Debug, Clone)]
struct Ticker {
    ns: u64,
    /// Part below a nanosecond, in 1/`whole`.
    rest: u128,
    step_ns: u64,
    step_rest: u128,
    whole: u128,
}

impl Ticker {
    fn new(rate_per_s: f64, first: u64, count: u32) -> Self {
        let (over, whole) = gap_as_fraction(rate_per_s);
        let multiple = |k: u64| {
            let rest = over % whole * u128::from(k);
            let ns = (over / whole).saturating_mul(u128::from(k)).saturating_add(rest / whole);
            (u64::try_from(ns).unwrap_or(u64::MAX), rest % whole)
        };
        let (ns, rest) = multiple(first);
        let (step_ns, step_rest) = multiple(u64::from(count));
        Self { ns, rest, step_ns, step_rest, whole }
    }

    #[inline]
    fn tick(&mut self) -> u64 {
        let now = self.ns;
        self.ns = self.ns.saturating_add(self.step_ns);
        self.rest += self.step_rest;
        if self.rest >= self.whole {
            self.rest -= self.whole;
            self.ns = self.ns.saturating_add(1);
        }
        now
    }
}

/// The nanoseconds between operations at a rate, as a fraction of two integers.
fn gap_as_fraction(rate_per_s: f64) -> (u128, u128) {
    let gap_ns = NANOS_PER_SECOND as f64 / rate_per_s;
    if gap_ns.fract() == 0.0 && (1.0..EXACT_MAX).contains(&gap_ns) {
        // 0.1 is no binary fraction, and its tenth second would come a nanosecond early, within a window that it is to end.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a whole number of 53 bits"
        )]
        return (gap_ns as u128, 1);
    }
    let (mantissa, exponent) = binary_fraction(rate_per_s);
    // 1e9 / (mantissa × 2^exponent) = over / whole. RATE_MIN bounds −exponent to 82: `over` has 112 bits at most.
    let over = u128::from(NANOS_PER_SECOND) << (-exponent).max(0);
    (over, u128::from(mantissa) << exponent.max(0))
}

/// Below this a double has every whole number.
const EXACT_MAX: f64 = (1_u64 << 53) as f64;

/// The odd mantissa m and the exponent e of m × 2^e, for a normal positive number.
fn binary_fraction(value: f64) -> (u64, i32) {
    let bits = value.to_bits();
    let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
    let zeros = mantissa.trailing_zeros();
    #[expect(clippy::cast_possible_wrap, reason = "11 bits and at most 52")]
    let exponent = (bits >> 52) as i32 - 1075 + zeros as i32;
    (mantissa >> zeros, exponent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const WHOLE: SharePart = SharePart { index: 0, count: 1 };
    const SEED: u64 = 99;

    /// All arrivals of `count` workers up to `until_ns`, in order.
    fn merged(rate: f64, arrival: Arrival, count: u32, until_ns: u64) -> Vec<u64> {
        let mut all = Vec::new();
        for index in 0..count {
            let mut arrivals = Arrivals::new(rate, arrival, &[], SharePart { index, count }, SEED);
            all.extend(std::iter::repeat_with(|| arrivals.next_ns()).take_while(|&ns| ns < until_ns));
        }
        all.sort_unstable();
        all
    }

    #[test]
    fn constant_does_not_drift() {
        for rate in [1_u64, 3, 7, 600_000, 999_983, 1_000_000, 3_000_000_019] {
            let k = 1_000_000_000_000_u64.min(rate.saturating_mul(10_000_000_000));
            let mut ticker = Ticker::new(rate as f64, k, 1);
            for k in k..k + 1000 {
                let exact = u128::from(k) * 1_000_000_000 / u128::from(rate);
                assert_eq!(u128::from(ticker.tick()), exact, "rate {rate}, k {k}");
            }
        }
    }

    #[test]
    fn constant_takes_fractions_of_a_rate_as_they_are() {
        let mut half = Arrivals::new(0.5, Arrival::Constant, &[], WHOLE, SEED);
        assert_eq!([half.next_ns(), half.next_ns(), half.next_ns()], [0, 2_000_000_000, 4_000_000_000]);
        let mut tenth = Arrivals::new(0.1, Arrival::Constant, &[], WHOLE, SEED);
        assert_eq!([tenth.next_ns(), tenth.next_ns(), tenth.next_ns()], [0, 10_000_000_000, 20_000_000_000]);
        // One third is not a binary fraction; after 1e6 operations (35 days) its double is 0.2 ns off.
        let mut third = Ticker::new(1.0 / 3.0, 1_000_000, 1);
        assert_eq!(third.tick(), 3_000_000_000_000_000);
        for rate in [RATE_MIN, RATE_MAX] {
            let mut arrivals =
                Arrivals::new(rate, Arrival::Constant, &[], SharePart { index: 7, count: 9 }, SEED);
            let times: Vec<u64> = (0..100).map(|_| arrivals.next_ns()).collect();
            assert!(times.is_sorted(), "{rate}");
        }
    }

    #[test]
    fn a_scaled_schedule_is_due_when_its_bytes_have_passed() {
        for (index, count) in [(0, 1), (2, 3)] {
            let part = SharePart { index, count };
            let mut arrivals = Arrivals::scaled(1000.0, Arrival::Constant, &[], part, SEED);
            let first = arrivals.next_ns();
            assert_eq!(first, 1_000_000 * u64::from(index));
            let mut passed = 0.0;
            for times in [0.5, 3.25, 1.0, 1.75].into_iter().cycle().take(100_000) {
                passed += times;
                let exact = passed * 1e6 * f64::from(count);
                assert!((arrivals.next_scaled_ns(times) as f64 - first as f64 - exact).abs() <= 1.0);
            }
        }
        for arrival in [Arrival::Poisson, Arrival::Uniform] {
            let mut arrivals = Arrivals::scaled(1000.0, arrival, &[], WHOLE, SEED);
            arrivals.next_ns();
            let end =
                (0..100_000).map(|n| arrivals.next_scaled_ns(if n % 2 == 0 { 0.5 } else { 1.5 })).last();
            // The mean of 1e5 gaps of 1 ms: standard deviation below 0.36% of it.
            assert!((end.unwrap() as f64 / 1e11 - 1.0).abs() < 0.02, "{arrival:?}, seed {SEED}");
        }
    }

    proptest! {
        #[test]
        fn constant_and_uniform_parts_make_the_whole(rate in 1e3_f64..1e7, count in 1_u32..9) {
            for arrival in [Arrival::Constant, Arrival::Uniform] {
                let whole = merged(rate, arrival, 1, 1_000_000);
                prop_assert_eq!(&merged(rate, arrival, count, 1_000_000), &whole);
            }
        }

        #[test]
        fn constant_steps_agree_with_the_closed_form(rate in 1e-3_f64..1e9, start in 0_u64..1 << 30) {
            let mut ticker = Ticker::new(rate, start, 3);
            for step in 0..50 {
                prop_assert_eq!(ticker.tick(), Ticker::new(rate, start + 3 * step, 3).ns);
            }
        }
    }
}
