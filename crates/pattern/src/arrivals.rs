//! Intended times of open-loop operations, as nanoseconds since the stream's start. A schedule is a pure function of
//! rate, process, part and seed; whether an operation goes out in time is not its business.

use crate::rng::{Purpose, Rng, derive};
use fathom_schema::{Arrival, SharePart};

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
}

impl Arrivals {
    /// The part `part` of a schedule of `rate_per_s` operations per second (over all parts; 1e-9 to 1e18).
    ///
    /// `Constant`: operation k of the stream at k/rate, rounded down to the nanosecond; this worker owns k ≡ index
    /// (mod count). `Uniform`: one sequence of gaps, the same in all workers with one `seed`; ownership as above.
    /// `Poisson`: this worker has a Poisson process of its own at rate/count; independent Poisson processes superpose
    /// to one of the sum of their rates (Kingman, Poisson Processes, 1993, §2.2), so nothing needs to be shared.
    pub fn new(rate_per_s: f64, arrival: Arrival, part: SharePart, seed: u64) -> Self {
        assert!(
            (RATE_MIN..=RATE_MAX).contains(&rate_per_s),
            "rate {rate_per_s}/s; {RATE_MIN} to {RATE_MAX} is possible"
        );
        let SharePart { index, count } = part;
        assert!(index < count, "part {index} of {count}");
        let gap_mean_ns = NANOS_PER_SECOND as f64 / rate_per_s;
        let seed = derive(seed, Purpose::Arrival, 0);
        let process = match arrival {
            Arrival::Constant => Process::Constant(Ticker::new(rate_per_s, u64::from(index), count)),
            Arrival::Poisson => Process::Poisson {
                at: Moment::default(),
                gap_mean_ns: gap_mean_ns * f64::from(count),
                rng: Rng::new(derive(seed, Purpose::Worker, u64::from(index))),
            },
            Arrival::Uniform => Process::Uniform {
                at: Moment::default(),
                gap_max_ns: 2.0 * gap_mean_ns,
                pending: index + 1,
                count,
                rng: Rng::new(seed),
            },
        };
        Self { process }
    }

    /// Intended time of this worker's next operation, in nanoseconds since the stream's start; never before the one
    /// before. Stays at `u64::MAX` when it would lie beyond.
    #[inline]
    pub fn next_ns(&mut self) -> u64 {
        match &mut self.process {
            Process::Constant(ticker) => ticker.tick(),
            Process::Poisson { at, gap_mean_ns, rng } => {
                at.advance(-rng.unit().ln() * *gap_mean_ns);
                at.ns
            }
            Process::Uniform { at, gap_max_ns, pending, count, rng } => {
                for _ in 0..*pending {
                    at.advance(rng.unit() * *gap_max_ns);
                }
                *pending = *count;
                at.ns
            }
        }
    }
}

/// A time whose part below a nanosecond is carried on, so that no rate is lost to rounding.
#[derive(Debug, Clone, Copy, Default)]
struct Moment {
    ns: u64,
    fraction: f64,
}

impl Moment {
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "gaps are positive; saturates"
    )]
    fn advance(&mut self, gap_ns: f64) {
        let sum = self.fraction + gap_ns;
        let whole = sum.floor();
        self.ns = self.ns.saturating_add(whole as u64);
        self.fraction = sum - whole;
    }
}

/// Every `count`-th instant k/rate, exactly: the rate is taken as the fraction of two integers that it is in binary, and
/// what a step leaves over is added up in integers.
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
        let (mantissa, exponent) = binary_fraction(rate_per_s);
        // 1e9 / (mantissa × 2^exponent) = over / whole. RATE_MIN bounds −exponent to 82: `over` has 112 bits at most.
        let over = u128::from(NANOS_PER_SECOND) << (-exponent).max(0);
        let whole = u128::from(mantissa) << exponent.max(0);
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
            let mut arrivals = Arrivals::new(rate, arrival, SharePart { index, count }, SEED);
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
        let mut half = Arrivals::new(0.5, Arrival::Constant, WHOLE, SEED);
        assert_eq!([half.next_ns(), half.next_ns(), half.next_ns()], [0, 2_000_000_000, 4_000_000_000]);
        // One third is not a binary fraction; after 1e6 operations (35 days) its double is 0.2 ns off.
        let mut third = Ticker::new(1.0 / 3.0, 1_000_000, 1);
        assert_eq!(third.tick(), 3_000_000_000_000_000);
        for rate in [RATE_MIN, RATE_MAX] {
            let mut arrivals = Arrivals::new(rate, Arrival::Constant, SharePart { index: 7, count: 9 }, SEED);
            let times: Vec<u64> = (0..100).map(|_| arrivals.next_ns()).collect();
            assert!(times.is_sorted(), "{rate}");
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

    /// Asserts the number of arrivals in a second and the index of dispersion (variance ÷ mean) of counts in 10 000
    /// windows of 100 arrivals each.
    fn check(arrival: Arrival, workers: u32, dispersion: f64) {
        let (rate, windows) = (1e6, 10_000_usize);
        let window_ns = 100_000;
        let mut counts = vec![0_f64; windows];
        for ns in merged(rate, arrival, workers, windows as u64 * window_ns) {
            counts[usize::try_from(ns / window_ns).unwrap()] += 1.0;
        }
        let mean = counts.iter().sum::<f64>() / windows as f64;
        let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / (windows - 1) as f64;
        let case = format!("{arrival:?}, {workers} workers, seed {SEED}");
        // Standard error of the mean: sqrt(100 × dispersion / 1e4); relative one of the variance: sqrt(2/1e4).
        assert!((mean - 100.0).abs() <= 5.0 * (dispersion / 100.0).sqrt() + 0.01, "{case}: mean {mean}");
        assert!(
            (variance / mean - dispersion).abs() <= 0.07 * dispersion + 0.002,
            "{case}: {}",
            variance / mean
        );
    }

    #[test]
    fn counts_disperse_as_their_process_says() {
        check(Arrival::Constant, 1, 0.0);
        check(Arrival::Constant, 3, 0.0);
        check(Arrival::Poisson, 1, 1.0);
        check(Arrival::Poisson, 5, 1.0);
        // Renewal theory: the dispersion tends to the squared coefficient of variation of a gap, (1/12)/(1/4) = 1/3.
        check(Arrival::Uniform, 1, 1.0 / 3.0);
        check(Arrival::Uniform, 4, 1.0 / 3.0);
    }

    #[test]
    fn equal_seeds_give_equal_times() {
        let times = |seed| {
            let mut arrivals = Arrivals::new(1e5, Arrival::Poisson, WHOLE, seed);
            std::array::from_fn::<u64, 50, _>(|_| arrivals.next_ns())
        };
        assert_eq!(times(1), times(1));
        assert_ne!(times(1), times(2));
    }
}
