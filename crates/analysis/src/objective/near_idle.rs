//! Where a limit is reached on a target that is nearly idle.
//!
//! There a percentile stays where it is until the share of operations that may lie beyond it is spent, and jumps. That share
//! itself grows with the rate from the beginning on, as the chance does to meet another operation, and bends the less the lower
//! the rate: of M/D/1 with times D it is 1 − (1 − λD)·e^(λt) for a limit of D + t, t below D. A parabola
//! follows that up to a quarter of what the target carries.

use super::near_full::in_common;
use super::{BENT_P, ERRORS_FREEDOM, State, Trialled, certainty, crossing, is_alone, state};
use crate::load::LoadPoint;
use crate::scaling::Estimate;
use crate::statistics::{f_beyond, t_quantile};
use fathom_metrics::{BUCKETS, bucket_bounds, bucket_of};
use fathom_schema::{LatencyGoal, LatencyTally, Record, StepRecord};
use fathom_units::Nanos;
use nalgebra::{DMatrix, DVector};

/// Most coefficients of a line: those of a parabola.
const COEFFICIENTS: usize = 3;
/// Rates that there are beyond the coefficients at least, for the error.
const FREEDOM_MIN: usize = 2;
/// Fewest rates of which a line is drawn: a straight one.
const RATES_MIN: usize = 2 + FREEDOM_MIN;
/// Halvings in which the end of a line is narrowed down to where it comes down to a level.
const HALVINGS: usize = 60;
/// Parts of the rates that were tried that are looked at for where a line comes down first.
const PARTS: usize = 1000;
/// Times that rates are weighed anew by what the line says of them.
const TURNS: usize = 8;
/// Share of the rate of one operation at a time up to which rates are on the line.
const RATE_MAX: f64 = 0.25;

/// The share of operations within a limit at a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Share {
    /// Operations per second.
    pub(super) rate: f64,
    /// How many operations there were; fewer where they remember one another: as many independent ones tell as much.
    pub(super) count: f64,
    /// The share of them that kept the limit, 0 to 1.
    pub(super) part: f64,
}

impl Share {
    /// Of response times, as of this rate. What the bucket of the limit has beyond the limit is taken to lie as close as what the next bucket has:
    /// of what all takes the same time, as is usual in a target that is idle, one bucket holds much, and none of it is beyond.
    pub(super) fn within(rate: f64, response: &LatencyTally, limit: Nanos) -> Self {
        let count = (response.moments.count as f64).max(1.0);
        let last = bucket_of(limit.0);
        let (mut up_to, mut own, mut next) = (0, 0, 0);
        for (bucket, count) in response.histogram.buckets() {
            match bucket as usize {
                bucket if bucket < last => up_to += count,
                bucket if bucket == last => own = count,
                bucket if bucket == last + 1 => next = count,
                _ => {}
            }
        }
        let (high, (next_low, next_high)) =
            (bucket_bounds(last).1, bucket_bounds((last + 1).min(BUCKETS - 1)));
        let part_beyond = high.saturating_sub(limit.0) as f64 / (next_high - next_low + 1) as f64;
        let beyond = (part_beyond * next as f64).min(own as f64);
        Self { rate, count, part: ((up_to + own) as f64 - beyond) / count }
    }

    /// Variance of its part, where `expected` is the true one; of none, or of all, it is that of one in so many.
    fn variance(&self, expected: f64) -> f64 {
        let least = 1.0 / self.count;
        (expected * (1.0 - expected)).max(least * (1.0 - least)).max(f64::MIN_POSITIVE) / self.count
    }
}

/// Least standard error of a mean response time, as a part of it: operations that all take the same time tell no better.
const MEAN_ERROR_MIN: f64 = 0.003;

/// Where the mean response time comes up to a limit, with its 95 % interval, of a target that serves one operation at a time: it is
/// S + k·ρ/(1 − ρ) at a load ρ = λS, exactly so for M/G/1, whose k is S·(1 + c²)/2 for service times of mean S that vary by c
/// (Pollaczek and Khinchine). `single`: one operation at a time, of which S is the mean; `near`: trials with what they did per second.
pub(super) fn mean_reached(single: &LoadPoint, near: &[(f64, &LoadPoint)], limit_s: f64) -> Option<Estimate> {
    let alone_s = single.mean_s;
    // As many servers as there were operations at a time, one of each worker.
    let servers = single.held.max(1.0);
    let of = |rate: f64, point: &LoadPoint| {
        let load = rate * alone_s / servers;
        let moments = &point.response.moments;
        let error_s = (moments.stddev_ns() / 1e9).max(MEAN_ERROR_MIN * point.mean_s);
        let variance = error_s * error_s * in_common(rate / servers, (point.mean_s - alone_s).max(0.0));
        // A line that falls, as `crossing` takes them.
        Trialled { x: load / (1.0 - load), y: -point.mean_s, weight: moments.count as f64 / variance }
    };
    let line: Vec<Trialled> =
        std::iter::once(of(0.0, single)).chain(near.iter().map(|&(rate, point)| of(rate, point))).collect();
    let Estimate { value, interval } = crossing(&line, -limit_s, 0.0)?;
    let rate = |x: f64| x / (1.0 + x) * servers / alone_s;
    Some(Estimate { value: rate(value), interval: interval.map(|(low, high)| (rate(low), rate(high))) })
}

/// The shares within a goal's limit of an operation alone, as of no rate, and of all rates of a search, in the order they ran.
pub(super) fn shares(record: &Record, goal: &LatencyGoal) -> Vec<Share> {
    let of = |step: &StepRecord| {
        let point = LoadPoint::of(&step.started.step, &step.finished.as_ref()?.streams)?;
        let rate = match crate::load::rate(&step.started.step) {
            Some(_) if state(&point, point.rate, &[]) == State::Overloaded => return None,
            Some(_) => point.rate,
            None => Some(0.0).filter(|_| is_alone(&step.started.step))?,
        };
        let share = Share::within(rate, &point.response, goal.limit);
        Some(Share { count: share.count / certainty::inflation_within(step, &point, goal), ..share })
    };
    record.steps.iter().filter_map(of).collect()
}

/// Those of an operation alone, which does so many per second, and of rates that are on one line with it, the nearest to `rate` first.
pub(super) fn around(shares: &[Share], rate: f64, alone: f64) -> Vec<Share> {
    let mut near: Vec<Share> =
        shares.iter().copied().filter(|share| share.rate <= RATE_MAX * alone).collect();
    let distance = |share: &Share| if share.rate > 0.0 { (share.rate - rate).abs() } else { -1.0 };
    near.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
    near
}

/// Where the share of operations within a limit comes down to `quantile`, with its 95 % interval: by a line of
/// up to three coefficients through as many of the shares, from the first on, as it passes within their errors. `None` where it
/// does not come down among them.
pub(super) fn reached(shares: &[Share], quantile: f64) -> Option<Estimate> {
    // It is of the rates that it passes through, and of none beyond.
    let through = |count: usize| {
        let shares = shares.get(..count)?;
        let scale = shares.iter().map(|share| share.rate).fold(0.0, f64::max);
        Some((Bent::of(shares, scale)?, scale))
    };
    let (line, scale) = (RATES_MIN..=shares.len())
        .rev()
        .filter_map(through)
        .find(|(line, _)| line.passes())
        .or_else(|| through(RATES_MIN))?;
    line.comes_down_to(quantile).map(|Estimate { value, interval }| Estimate {
        value: value * scale,
        interval: interval.map(|(low, high)| (low * scale, high * scale)),
    })
}

/// The polynomial through shares over rates, by least squares weighed by the inverse of their variances.
#[derive(Debug)]
struct Bent {
    coefficients: DVector<f64>,
    /// Of the coefficients, where errors are those of shares alone.
    covariance: DMatrix<f64>,
    /// Weighted sum of squares about it.
    left: f64,
    freedom: f64,
}

impl Bent {
    /// Over rates as parts of `scale`. `None` of too few, and where they do not lie apart.
    fn of(shares: &[Share], scale: f64) -> Option<Self> {
        let size = COEFFICIENTS.min(shares.len().checked_sub(FREEDOM_MIN)?);
        // First by what each says of itself; where that is few, by what all of them say of it.
        let mut expected: Vec<f64> = shares.iter().map(|share| share.part).collect();
        let mut found = None;
        for _ in 0..TURNS {
            let (mut squares, mut products) = (DMatrix::zeros(size, size), DVector::zeros(size));
            for (share, expected) in shares.iter().zip(&expected) {
                let (row, weight) = (powers(share.rate / scale, size), 1.0 / share.variance(*expected));
                squares += weight * &row * row.transpose();
                products += weight * share.part * row;
            }
            let covariance = squares.try_inverse()?;
            let coefficients = &covariance * products;
            let mut left = 0.0;
            for (share, expected) in shares.iter().zip(&mut expected) {
                let there = powers(share.rate / scale, size).dot(&coefficients);
                left += (share.part - there).powi(2) / share.variance(*expected);
                *expected = there.clamp(0.0, 1.0);
            }
            let freedom = (shares.len() - size) as f64;
            found = Some(Self { coefficients, covariance, left, freedom });
        }
        found.filter(|found| found.coefficients.iter().all(|one| one.is_finite()))
    }

    /// Whether it leaves no more than the errors of the shares: the F test.
    fn passes(&self) -> bool {
        let beyond = f_beyond(self.left / self.freedom, self.freedom, ERRORS_FREEDOM);
        beyond.is_none_or(|p| p >= BENT_P)
    }

    fn at(&self, x: f64) -> f64 {
        powers(x, self.coefficients.len()).dot(&self.coefficients)
    }

    /// The lowest rate at which it falls through a level, as a part of the highest. Its interval is Fieller's: all rates around it at which
    /// the line is no farther from the level than its error there. How steep it is is known no better than where it is, and what
    /// takes the slope for true is too narrow on the side where it happens to be steep. `None` as well where it has no end.
    fn comes_down_to(&self, level: f64) -> Option<Estimate> {
        let errors = t_quantile(0.95, self.freedom);
        let variance = (self.left / self.freedom).max(1.0);
        let half = |x: f64| {
            let row = powers(x, self.coefficients.len());
            errors * (variance * row.dot(&(&self.covariance * &row))).sqrt()
        };
        // Close together where rates are low.
        let part = |step: usize| (step as f64 / PARTS as f64).powi(2);
        let is_beyond = |x: f64, off: f64| self.at(x) + off * half(x) <= level;
        let falls = |step: &usize, off: f64| !is_beyond(part(*step), off) && is_beyond(part(step + 1), off);
        let exactly = |step: usize, off: f64| {
            let (mut above, mut below) = (part(step), part(step + 1));
            for _ in 0..HALVINGS {
                let middle = f64::midpoint(above, below);
                if is_beyond(middle, off) { below = middle } else { above = middle }
            }
            below
        };
        let step = (0..PARTS).find(|step| falls(step, 0.0))?;
        let low = (0..=step).rev().find(|step| falls(step, -1.0)).map_or(0.0, |step| exactly(step, -1.0));
        let high = exactly((step..PARTS).find(|step| falls(step, 1.0))?, 1.0);
        Some(Estimate { value: exactly(step, 0.0), interval: Some((low, high)) })
    }
}

/// 1, x, x² and so on.
fn powers(x: f64, count: usize) -> DVector<f64> {
    DVector::from_fn(count, |power, _| x.powi(i32::try_from(power).expect("a power is small")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_schema::Moments;

    /// What an operation of M/D/1 takes.
    const TAKES_S: f64 = 100e-6;

    /// Trials of ten seconds of M/G/1 with service times of a millisecond that vary by so much, each off by what chance brings.
    #[test]
    fn the_mean_of_m_g_1_is_found_whatever_its_service_times_are() {
        let (s, seconds) = (1e-3, 10.0);
        for (variation, limit, truth) in
            [(0.0, 1.05e-3, 90.909), (1.0, 1.05e-3, 47.619), (0.5, 1.2e-3, 242.424)]
        {
            let mut random = fastrand::Rng::with_seed(5);
            let point = |rate: f64, normal: f64| {
                let load = rate * s;
                let waits = s * (1.0 + variation * variation) / 2.0 * load / (1.0 - load);
                let n = if rate > 0.0 { rate } else { 1.0 / s } * seconds;
                let variance = (s * variation).powi(2) + waits * waits;
                let error_s = (variance * in_common(rate, waits) / n).sqrt();
                let mean_s = s + waits + normal * error_s;
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
                let moments = Moments {
                    count: n as u64,
                    sum_ns: n * mean_s * 1e9,
                    sum_squares: n * (mean_s * mean_s + variance) * 1e18,
                    ..Moments::default()
                };
                let response = LatencyTally { moments, ..LatencyTally::default() };
                let (held, bytes_per_s, errors, dropped, backlog_max) = (rate * mean_s, 0.0, 0, 0, 1);
                LoadPoint {
                    held,
                    rate,
                    mean_s,
                    response,
                    bytes_per_s,
                    errors,
                    offered: rate,
                    dropped,
                    backlog_max,
                    stopped_s: 0.0,
                }
            };
            let (mut holds, mut mean) = (0, 0.0);
            for _ in 0..200 {
                let single = point(0.0, 0.0);
                let rates = [20.0, 40.0, 60.0, 80.0, 100.0, 150.0, 200.0, 300.0, 400.0];
                let trials = rates.map(|rate| {
                    let normal = (0..12).map(|_| random.f64()).sum::<f64>() - 6.0;
                    (rate, point(rate, normal))
                });
                let near: Vec<(f64, &LoadPoint)> =
                    trials.iter().map(|(rate, point)| (*rate, point)).collect();
                let found = mean_reached(&single, &near, limit).expect("nine trials");
                let (low, high) = found.interval.expect("it has one");
                holds += u32::from((low..=high).contains(&truth));
                mean += found.value / 200.0;
            }
            assert!(holds >= 180, "{holds} of 200 hold {truth}");
            assert!((mean / truth - 1.0).abs() < 0.03, "{mean} on average for {truth}");
        }
    }

    /// Share of M/D/1 within its service time and `beyond_s` more, less than that time.
    fn constant(rate: f64, beyond_s: f64) -> f64 {
        (1.0 - rate * TAKES_S) * (rate * beyond_s).exp()
    }

    /// A search from an operation alone on: so many operations of a rate in a minute, of which each kept the limit with this chance.
    fn shares(rates: &[f64], part: impl Fn(f64) -> f64, random: &mut fastrand::Rng) -> Vec<Share> {
        let drawn = |rate: f64| {
            let count = if rate > 0.0 { (rate * 60.0).round() } else { 600_000.0 };
            let kept =
                (1..).take_while(|number| f64::from(*number) <= count).filter(|_| random.f64() < part(rate));
            Share { rate, count, part: kept.count() as f64 / count }
        };
        std::iter::once(0.0).chain(rates.iter().copied()).map(drawn).collect()
    }

    /// Looks for where `part` comes down to `quantile`, which is at `truth`, in 60 searches: most tell it, and nine of ten of their
    /// intervals hold it, half of which are as narrow as that, as a share of it.
    fn is_held(quantile: f64, part: impl Fn(f64) -> f64, truth: f64, narrow: f64) {
        assert!((part(truth) - quantile).abs() < 1e-5, "{}", part(truth));
        let mut random = fastrand::Rng::with_seed(11);
        let factors = [1.0, 1.02, 0.9, 0.7, 0.5, 1.6, 3.0, 0.3, 6.0, 12.0];
        let rates: Vec<f64> =
            factors.iter().map(|factor| factor * truth).filter(|rate| *rate < 0.5 / TAKES_S).collect();
        let search = |_| reached(&shares(&rates, &part, &mut random), quantile)?.interval;
        let mut told: Vec<(f64, f64)> = (0..60).filter_map(search).collect();
        let holds = told.iter().filter(|(low, high)| (*low..=*high).contains(&truth)).count();
        assert!(told.len() >= 50 && holds * 10 >= told.len() * 9, "{holds} of {} at {truth}/s", told.len());
        told.sort_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)));
        let (low, high) = told[told.len() / 2];
        assert!(high - low < narrow * truth, "{low} to {high} for {truth}/s");
    }

    #[test]
    fn the_rate_of_m_d_1_is_found_where_the_percentile_jumps() {
        // 1 − (1 − λD)·e^(λt) = 1 − q, solved by halving: p99 < 120 µs, p99 < 150 µs, p95 < 150 µs.
        for (quantile, beyond_s, truth) in [(0.99, 20e-6, 124.6), (0.99, 50e-6, 197.1), (0.95, 50e-6, 933.0)]
        {
            // 7,476 operations at 124.6/s tell 1 % to 0.115 %, which is 12 % of the rate; the five rates next to it 5 %, and from
            // end to end 2 · t(0.975, 7) = 4.7 times that: 25 %.
            is_held(quantile, |rate| constant(rate, beyond_s), truth, 0.25);
        }
    }

    #[test]
    fn the_rate_of_m_m_1_is_found_near_what_is_lost_when_idle() {
        // e^(−T·(μ − λ)) = 0.01 with μ = 10,000/s and λ = 500/s.
        let limit_s = 100_f64.ln() / 9500.0;
        // 30,000 operations tell 1 % to 0.057 %, and the share grows by T · 1 % = 4.8e-6 with 1/s: 118/s, 24 % of the rate; five rates
        // 10.5 %, from end to end 50 %, and half as much again for a slope that is not known.
        is_held(0.99, |rate| 1.0 - (-limit_s * (10_000.0 - rate)).exp(), 500.0, 0.7);
    }

    #[test]
    fn what_does_not_come_down_among_the_rates_is_not_told() {
        let mut random = fastrand::Rng::with_seed(5);
        let rates = [100.0, 200.0, 400.0, 800.0, 1600.0];
        assert_eq!(reached(&shares(&rates, |_| 0.999, &mut random), 0.99), None);
        assert_eq!(reached(&shares(&rates, |_| 0.9, &mut random), 0.99), None);
        assert_eq!(reached(&shares(&rates[..2], |rate| constant(rate, 0.0), &mut random), 0.99), None);
        assert_eq!(reached(&[], 0.99), None);
    }

    #[test]
    fn a_bucket_is_cut_at_the_limit_by_what_follows_it() {
        let of = |parts: &[(u64, u64)], limit_ns: u64| {
            let index = |ns: u64| u32::try_from(bucket_of(ns)).expect("bucket indices are small");
            let histogram = parts.iter().map(|&(count, ns)| (index(ns), count)).collect();
            let count = parts.iter().map(|(count, _)| count).sum();
            let moments = Moments { count, ..Moments::default() };
            Share::within(0.0, &LatencyTally { moments, histogram }, Nanos(limit_ns)).part
        };
        // A bucket is 149,504 to 150,527 ns: 527 of its 1,024 are beyond 150 µs.
        let even = [(900, 100_000), (50, 149_600), (50, 150_600)];
        assert_eq!(of(&even, 150_000), (950.0 - 50.0 * 527.0 / 1024.0) / 1000.0);
        assert_eq!((of(&even, 150_527), of(&even, 149_503)), (0.95, 0.9));
        // All that takes 100 µs lies in 99,840 to 100,351 ns.
        assert_eq!(of(&[(1000, 100_000)], 100_100), 1.0);
        assert_eq!(of(&[(990, 100_000), (10, 100_400)], 100_100), 0.99 - 0.01 * 251.0 / 512.0);
        assert_eq!(of(&[], 100_100), 0.0);
    }
}
