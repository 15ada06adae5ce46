//! Where a limit is reached by all trials of a search together, on a target that is nearly full.
//!
//! There operations wait in bouts, which last the longer the nearer a rate is to all that is carried. A trial of ten seconds may
//! have none of them or a single long one: its own percentile lies far off, mostly too low, and nothing in the trial shows it.
//! The share of operations beyond a limit is right on average however short the trials, and so is the mean; how far they may be
//! off shows in how the trials of a search scatter about one line. Lines are fitted by quasi-likelihood (Wedderburn 1974;
//! `McCullagh` & Nelder 1989, ch. 9) with Fisher's scoring.
//!
//! Where few operations lie beyond a limit, the trials below it may have none, and the line is as steep as one likes: intervals of
//! shares are those rates through which a line can go that fits hardly worse (profile likelihood).

use super::{BENT_P, Estimate, IN_LINE_MIN, TRIALS_MIN};
use crate::statistics::t_quantile;
use nalgebra::{DMatrix, DVector};

/// Turns in which a line comes to rest, and what it moves by then at most, as a share.
const TURNS: usize = 200;
const STILL: f64 = 1e-7;
/// The least that is taken for the share of operations beyond a limit, and the most: the variance of none, or of all, is none.
const SHARE: (f64, f64) = (1e-15, 0.95);
/// The least variance of operations that is counted on, as a part of the square of the mean: where all take the same time, what is not
/// straight about the line remains.
const VARIATION_MIN: f64 = 1e-6;
/// Where the ends of an interval are looked for: from so far off what is found, to so far, in parts of how far the trials lie apart.
const END_FIRST: f64 = 1e-4;
const END_MAX: f64 = 8.0;
/// Halvings in which an end, and how steep a line is, are narrowed down.
const HALVINGS: usize = 50;
/// Steepest line, in logarithms of a share over the trials: beyond, nothing changes any more.
const SLOPE_MAX: f64 = 1e6;
/// Part of the mean value from which lines begin where a trial had none.
const BEGINNING: f64 = 0.01;

/// What is looked at over the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Figure {
    /// The share of operations beyond the limit: its logarithm is a straight line, exactly so for M/M/1, where it is
    /// −(μ − λ)·T.
    ShareBeyond,
    /// The mean, in seconds: its inverse is one, which for M/M/1 is μ − λ.
    Mean,
}

/// What a trial shows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown {
    /// Operations per second asked for: that random arrivals bring more or fewer is part of what scatters.
    pub(super) rate: f64,
    /// Those of them that go to one queue.
    pub(super) of_queue: f64,
    /// Operations.
    pub(super) count: f64,
    /// Their mean, seconds.
    pub(super) mean_s: f64,
    /// Their variance, as a part of the square of the mean.
    pub(super) squared_variation: f64,
    /// The share of them that lies beyond the limit.
    pub(super) beyond: f64,
}

/// How much operations of a queue have in common: the variance of their mean is that of independent ones times this, where λ·W
/// of them wait on average. For M/M/1 with load ρ, of which λ·W is ρ²/(1 − ρ), that of waiting times is
/// ρ·(2 + 5ρ − 4ρ² + ρ³)/(1 − ρ)² times the square of the mean response time (Daley 1968; Whitt 1989); to which come the service times
/// with (1 − ρ)², and what they do to those that wait behind them with 4ρ. For M/D/1 it holds beside their own variance, and of
/// several servers it is at most that. The share of operations beyond a limit has nearly the same factor: 0.8 to 0.95 times
/// this for M/M/1, 1.0 to 1.4 times for M/D/1.
pub(super) fn in_common(rate: f64, wait_s: f64) -> f64 {
    let waiting = (rate * wait_s).max(0.0);
    let sum = waiting + (waiting * waiting + 4.0 * waiting).sqrt();
    if sum == 0.0 {
        return 1.0;
    }
    let (load, free) = (2.0 * waiting / sum, 4.0 * waiting / (sum * sum));
    load * (2.0 + 5.0 * load - 4.0 * load.powi(2) + load.powi(3)) / (free * free) + free * free + 4.0 * load
}

/// Where the figure comes to `level`, with a 95 % interval: Fieller's, or by profile likelihood. `shown`: the trials, the nearest to the rate in question first;
/// of several servers the line bends, and the last of them are left out as long as it does so beyond chance. `alone_s`: what an
/// operation alone takes. `None` where the trials do not tell how steep the line is.
pub(super) fn reached(figure: Figure, shown: &[Shown], level: f64, alone_s: f64) -> Option<Estimate> {
    let is_straight = |count: &usize| {
        let bent = Curve::of(figure, &shown[..*count], 3, alone_s);
        bent.is_none_or(|bent| !bent.is_bent())
    };
    let count = (IN_LINE_MIN..=shown.len()).rev().find(is_straight).unwrap_or(IN_LINE_MIN).min(shown.len());
    Curve::of(figure, &shown[..count], 2, alone_s)?.comes_to(figure.on_line(level))
}

impl Figure {
    fn of(self, shown: &Shown) -> f64 {
        match self {
            Self::ShareBeyond => shown.beyond,
            Self::Mean => shown.mean_s,
        }
    }

    /// Where a value lies on the line.
    fn on_line(self, value: f64) -> f64 {
        match self {
            Self::ShareBeyond => value.clamp(SHARE.0, SHARE.1).ln(),
            Self::Mean => 1.0 / value,
        }
    }

    /// The value at a point of the line, its derivative there, and the variance of one operation.
    fn at(self, line: f64) -> (f64, f64, f64) {
        match self {
            Self::ShareBeyond => {
                let share = line.exp().clamp(SHARE.0, SHARE.1);
                (share, share, share * (1.0 - share))
            }
            Self::Mean => {
                let mean = 1.0 / line;
                (mean, -mean * mean, mean * mean)
            }
        }
    }

    /// Into which direction the line goes as rates grow.
    fn direction(self) -> f64 {
        match self {
            Self::ShareBeyond => 1.0,
            Self::Mean => -1.0,
        }
    }
}

/// A polynomial fitted over rates, as parts of `scale` off `center`.
#[derive(Debug)]
struct Fit {
    center: f64,
    scale: f64,
    coefficients: DVector<f64>,
    /// Inverse of Fisher's information: the covariance where variances are right as they are.
    inverse: DMatrix<f64>,
    /// Of each trial the value on the curve, and the square by which it is off, as a part of its variance.
    fitted: Vec<(f64, f64)>,
}

impl Fit {
    /// With so many coefficients. `in_common`: by how much the variance of a trial, with such a value, exceeds that of independent
    /// operations. `None` where trials do not lie apart, and where none fits.
    fn of(
        figure: Figure,
        shown: &[Shown],
        size: usize,
        in_common: impl Fn(usize, f64) -> f64,
    ) -> Option<Self> {
        let center = shown.iter().map(|one| one.rate).sum::<f64>() / shown.len() as f64;
        let scale = shown.iter().map(|one| (one.rate - center).abs()).fold(0.0, f64::max);
        let row = |one: &Shown| {
            let x = (one.rate - center) / scale;
            DVector::from_fn(size, |power, _| x.powi(i32::try_from(power).expect("a power is small")))
        };
        let average = shown.iter().map(|one| figure.of(one)).sum::<f64>() / shown.len() as f64;
        let beginning = |one: &Shown| figure.on_line(figure.of(one).max(BEGINNING * average));
        let mut lines: Vec<f64> = shown.iter().map(beginning).collect();
        let mut last: Option<DVector<f64>> = None;
        for _ in 0..TURNS {
            let (mut squares, mut products) = (DMatrix::zeros(size, size), DVector::zeros(size));
            for ((at, one), line) in shown.iter().enumerate().zip(&lines) {
                let (value, slope, variance) = figure.at(*line);
                let weight = slope * slope * one.count / (variance * in_common(at, value));
                let row = row(one);
                squares += weight * &row * row.transpose();
                products += weight * (line + (figure.of(one) - value) / slope) * row;
            }
            let inverse = squares.try_inverse()?;
            let coefficients = &inverse * products;
            for (one, line) in shown.iter().zip(&mut lines) {
                let next = row(one).dot(&coefficients);
                // The inverse of a mean is above 0: no more than half of the way there in a turn.
                *line = if figure == Figure::Mean { next.max(*line / 2.0) } else { next };
            }
            let moved = last.map(|last| (&coefficients - last).amax());
            if moved.is_some_and(|moved| moved <= STILL * coefficients.amax()) {
                let off = |((at, one), line): ((usize, &Shown), &f64)| {
                    let (value, _, variance) = figure.at(*line);
                    let square = (figure.of(one) - value).powi(2);
                    (value, square * one.count / (variance * in_common(at, value)))
                };
                let fitted = shown.iter().enumerate().zip(&lines).map(off).collect();
                return Some(Self { center, scale, coefficients, inverse, fitted });
            }
            last = Some(coefficients);
        }
        None
    }
}

/// The least by which variances differ from those of [`in_common`]: trials that happen to lie on a line show less.
const DISPERSION_MIN: f64 = 1.0;

/// A figure over the rate.
#[derive(Debug)]
struct Curve {
    figure: Figure,
    fit: Fit,
    covariance: DMatrix<f64>,
    dispersion: f64,
    freedom: f64,
    /// The trials.
    independent: Vec<Independent>,
}

/// A trial as so many independent operations as tell as much, where it lies on the line, and the share of them beyond the limit.
#[derive(Debug, Clone, Copy)]
struct Independent {
    count: f64,
    x: f64,
    beyond: f64,
}

impl Curve {
    /// With so many coefficients. `None` of too few trials as well.
    fn of(figure: Figure, shown: &[Shown], size: usize, alone_s: f64) -> Option<Self> {
        if shown.len() < TRIALS_MIN.max(size + 2) {
            return None;
        }
        // What waits is taken from the curve of the mean: that of a trial goes with what else it shows by chance.
        let in_common = |at: usize, mean_s: f64| in_common(shown[at].of_queue, mean_s - alone_s);
        let operations = shown.iter().map(|one| one.count).sum::<f64>();
        let variation = shown.iter().map(|one| one.count * one.squared_variation).sum::<f64>() / operations;
        let of_mean = |at: usize, mean_s: f64| variation.max(VARIATION_MIN) * in_common(at, mean_s);
        let means = Fit::of(Figure::Mean, shown, size, of_mean)?;
        let shared: Vec<f64> = (0..shown.len()).map(|at| in_common(at, means.fitted[at].0)).collect();
        let fit = match figure {
            Figure::Mean => means,
            Figure::ShareBeyond => Fit::of(figure, shown, size, |at, _| shared[at])?,
        };
        let freedom = (shown.len() - size) as f64;
        let left = fit.fitted.iter().map(|(_, square)| square).sum::<f64>();
        let dispersion = (left / freedom).max(DISPERSION_MIN);
        let covariance = &fit.inverse * dispersion;
        let independent = |(one, shared): (&Shown, f64)| Independent {
            count: one.count / shared,
            x: (one.rate - fit.center) / fit.scale,
            beyond: one.beyond,
        };
        let independent = shown.iter().zip(shared).map(independent).collect();
        Some(Self { figure, fit, covariance, dispersion, freedom, independent })
    }

    /// Whether the last coefficient is there beyond chance.
    fn is_bent(&self) -> bool {
        let last = self.fit.coefficients.len() - 1;
        let error = self.covariance[(last, last)].sqrt();
        self.fit.coefficients[last].abs() > t_quantile(1.0 - BENT_P, self.freedom) * error
    }

    /// Where a straight line comes to a level.
    fn comes_to(&self, level: f64) -> Option<Estimate> {
        match self.figure {
            Figure::ShareBeyond => self.by_likelihood(level),
            Figure::Mean => self.by_fieller(level),
        }
    }

    fn rate(&self, x: f64) -> f64 {
        self.fit.center + x * self.fit.scale
    }

    /// The interval holds the rates at which a line that fits hardly worse comes to the level. `None` where it has no end.
    fn by_likelihood(&self, level: f64) -> Option<Estimate> {
        let (a, b) = (self.fit.coefficients[0], self.fit.coefficients[1]);
        let best = (level - a) / b;
        if !(b > 0.0 && self.rate(best) > 0.0) {
            return None;
        }
        let least = self.deviance(|x| a + b * x);
        let most = least + self.dispersion * t_quantile(0.95, self.freedom).powi(2);
        let end = |side: f64| {
            let is_within = |off: f64| self.deviance_through(best + side * off, level) <= most;
            let (mut inside, mut outside) = (0.0, END_FIRST);
            while is_within(outside) {
                (inside, outside) = (outside, 2.0 * outside);
                if outside > END_MAX {
                    return None;
                }
            }
            for _ in 0..HALVINGS {
                let middle = f64::midpoint(inside, outside);
                if is_within(middle) { inside = middle } else { outside = middle }
            }
            Some(self.rate(best + side * outside).max(0.0))
        };
        Some(Estimate { value: self.rate(best), interval: Some((end(-1.0)?, end(1.0)?)) })
    }

    /// Twice the logarithm of how much less likely the trials are where the logarithm of the share beyond is `line` than where it is what
    /// each of them shows.
    fn deviance(&self, line: impl Fn(f64) -> f64) -> f64 {
        // x·ln x goes to 0 with x.
        let part = |own: f64, fitted: f64| if own > 0.0 { own * (own / fitted).ln() } else { 0.0 };
        let of = |one: &Independent| {
            let share = line(one.x).exp().clamp(SHARE.0, SHARE.1);
            2.0 * one.count * (part(one.beyond, share) + part(1.0 - one.beyond, 1.0 - share))
        };
        self.independent.iter().map(of).sum()
    }

    /// The least deviance of lines that rise, or are level, through a point: it is convex in how steep they are.
    fn deviance_through(&self, x: f64, level: f64) -> f64 {
        let falls = |slope: f64| {
            let of = |one: &Independent| {
                let share = (level + slope * (one.x - x)).exp().clamp(SHARE.0, SHARE.1);
                one.count * (one.beyond - share) / (1.0 - share) * (one.x - x)
            };
            self.independent.iter().map(of).sum::<f64>() > 0.0
        };
        let (mut low, mut high) = (0.0, 1.0);
        while falls(high) && high < SLOPE_MAX {
            (low, high) = (high, 2.0 * high);
        }
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if falls(middle) { low = middle } else { high = middle }
        }
        self.deviance(|at| level + low * (at - x))
    }

    /// Where a straight line comes to a level (Fieller 1954).
    fn by_fieller(&self, level: f64) -> Option<Estimate> {
        let (a, b) = (self.fit.coefficients[0] - level, self.fit.coefficients[1]);
        let squared = t_quantile(0.95, self.freedom).powi(2);
        let of = |row, column| squared * self.covariance[(row, column)];
        // (a + b·x)² = t²·(c₀₀ + 2·c₀₁·x + c₁₁·x²)
        let (quadratic, half, constant) = (b * b - of(1, 1), a * b - of(0, 1), a * a - of(0, 0));
        if !(b * self.figure.direction() > 0.0 && quadratic > 0.0) {
            return None;
        }
        let root = (half * half - quadratic * constant).max(0.0).sqrt();
        let rate = |x: f64| self.rate(x).max(0.0);
        let interval = (rate((-half - root) / quadratic), rate((-half + root) / quadratic));
        let value = rate(-a / b);
        (value > 0.0 && interval.1.is_finite()).then_some(Estimate { value, interval: Some(interval) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trial of an empty queue that does 1000 operations per second, one at a time (Lindley's recursion): random arrivals at a rate,
    /// each of which takes `service` seconds.
    fn trial(
        rate: f64,
        seconds: f64,
        limit_s: f64,
        random: &mut fastrand::Rng,
        service: impl Fn(&mut fastrand::Rng) -> f64,
    ) -> Shown {
        let exponential = |random: &mut fastrand::Rng| -(1.0 - random.f64()).ln();
        let (mut at, mut wait_s, mut count, mut slow) = (0.0, 0.0_f64, 0.0, 0.0);
        let (mut sum_s, mut squares) = (0.0, 0.0);
        loop {
            let gap = exponential(random) / rate;
            at += gap;
            if at > seconds {
                let mean_s = sum_s / count;
                let squared_variation = squares / count / (mean_s * mean_s) - 1.0;
                return Shown {
                    rate,
                    of_queue: rate,
                    count,
                    mean_s,
                    squared_variation,
                    beyond: slow / count,
                };
            }
            wait_s = (wait_s - gap).max(0.0) + service(random);
            count += 1.0;
            sum_s += wait_s;
            squares += wait_s * wait_s;
            slow += f64::from(u8::from(wait_s > limit_s));
        }
    }

    /// How many of the intervals of searches around `truth` hold it, of how many, and how far they are off on average, as a share.
    fn held(
        figure: Figure,
        truth: f64,
        limit_s: f64,
        level: f64,
        seconds: f64,
        service: impl Fn(&mut fastrand::Rng) -> f64 + Copy,
    ) -> (u32, u32, f64) {
        let (mut holds, mut told, mut off) = (0, 0, 0.0);
        for seed in 0..100 {
            let mut random = fastrand::Rng::with_seed(seed);
            // As a bisection goes about, and a step beyond.
            let parts = [1.0, 1.0, 1.0, 1.01, 1.02, 0.99, 0.97, 1.04, 1.08, 0.94, 0.85, 0.6];
            let one = |part: &f64| trial(part * truth, seconds, limit_s, &mut random, service);
            let shown: Vec<Shown> = parts.iter().map(one).collect();
            let Some(found) = reached(figure, &shown, level, 1e-3) else { continue };
            let (low, high) = found.interval.expect("Fieller's");
            holds += u32::from((low..=high).contains(&truth));
            told += 1;
            off += found.value / truth - 1.0;
        }
        (holds, told, off / f64::from(told))
    }

    #[test]
    fn short_trials_tell_where_m_m_1_reaches_its_limits() {
        let exponential = |random: &mut fastrand::Rng| -(1.0 - random.f64()).ln() / 1e3;
        // p99 < 50 ms at 1000 − ln 100 / 50 ms, mean < 10 ms at 1000 − 100; of trials of 10 s and of a minute.
        let limit_s = 0.05;
        let truth = 1000.0 - 100_f64.ln() / limit_s;
        for (seconds, told_min, off_max) in [(10.0, 70, 0.01), (60.0, 98, 0.003)] {
            let (holds, told, off) = held(Figure::ShareBeyond, truth, limit_s, 0.01, seconds, exponential);
            assert!(told >= told_min && holds * 100 >= told * 93, "{seconds} s: {holds} of {told}");
            assert!(off.abs() < off_max, "{seconds} s: {off}");
            let (holds, told, off) = held(Figure::Mean, 900.0, 0.01, 0.01, seconds, exponential);
            assert!(told >= 98 && holds * 100 >= told * 93, "mean, {seconds} s: {holds} of {told}");
            assert!(off.abs() < off_max, "mean, {seconds} s: {off}");
        }
    }

    #[test]
    fn of_few_operations_beyond_a_limit_the_interval_is_wide_or_there_is_none() {
        let exponential = |random: &mut fastrand::Rng| -(1.0 - random.f64()).ln() / 1e3;
        // p99.9 < 20 ms and < 10 ms, of which a trial of 10 s has seven and three beyond, in bouts.
        for (limit_s, told_most) in [(0.02, 30), (0.01, 10)] {
            let truth = 1000.0 - 1000_f64.ln() / limit_s;
            let (holds, told, _) = held(Figure::ShareBeyond, truth, limit_s, 0.001, 10.0, exponential);
            assert!((1..=told_most).contains(&told) && holds == told, "{limit_s}: {holds} of {told}");
        }
    }

    #[test]
    fn even_service_is_no_reason_for_too_narrow_an_interval() {
        // M/D/1 by its closed form (Erlang 1909): P(wait + 1 ms > 25 ms) is 1 % at 908.4/s.
        for seconds in [10.0, 60.0] {
            let (holds, told, off) = held(Figure::ShareBeyond, 908.4, 0.025, 0.01, seconds, |_| 1e-3);
            assert!(
                told >= 95 && holds * 100 >= told * 90 && off.abs() < 0.005,
                "{seconds} s: {holds} of {told}, {off}"
            );
        }
    }

    #[test]
    fn what_operations_of_a_queue_have_in_common_is_that_of_m_m_1() {
        let of = |load: f64| in_common(load, load / (1.0 - load));
        // Of an idle queue nothing; the variance of mean response times by simulation of 8 million operations: 3.5, 8.8, 28 and 458.
        assert_eq!(in_common(1000.0, 0.0), 1.0);
        assert!((of(0.5) - 9.5).abs() < 1e-9, "0.5 · (2 + 2.5 − 1 + 0.125) / 0.25 + 0.25 + 2");
        for (load, simulated) in [(0.3, 3.5), (0.5, 8.8), (0.7, 28.2), (0.9, 458.0)] {
            assert!((of(load) / simulated - 1.0_f64).abs() < 0.25, "{load}: {}", of(load));
        }
        // As the load goes to 1, 4/(1 − ρ)² (Whitt 1989).
        assert!((of(0.9999) / 4e8 - 1.0).abs() < 1e-3);
    }

    #[test]
    fn nothing_is_told_where_the_line_is_level_or_trials_are_few() {
        let one = |rate: f64, beyond: f64| Shown {
            rate,
            of_queue: rate,
            count: 1e4,
            mean_s: 2e-3,
            squared_variation: 1.0,
            beyond,
        };
        let level: Vec<Shown> = (0..10).map(|at| one(900.0 + f64::from(at), 0.01)).collect();
        assert_eq!(reached(Figure::ShareBeyond, &level, 0.02, 1e-3), None);
        assert_eq!(reached(Figure::ShareBeyond, &level[..3], 0.01, 1e-3), None);
        assert_eq!(reached(Figure::ShareBeyond, &[one(900.0, 0.01); 8], 0.01, 1e-3), None, "one rate");
        let none: Vec<Shown> = (0..10).map(|at| one(900.0 + f64::from(at), 0.0)).collect();
        assert_eq!(reached(Figure::ShareBeyond, &none, 0.01, 1e-3), None);
        assert_eq!(reached(Figure::Mean, &[], 0.01, 1e-3), None);
    }
}
