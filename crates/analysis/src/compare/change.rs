//! Intervals of a relative change, on the scale of logarithms: a change is a ratio of two means, both of which are known only
//! so well. An interval of the difference divided by the base's mean takes that mean for exact; it is too narrow where a lot
//! changed, and reaches below −100 %.

use super::side::Replicates;
use crate::statistics::{
    Sample, autocorrelation, correlation_allowed, memory, subsession_means, subsessions, t_quantile, welch,
};

/// Values of a side, and how finely they are told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told<'a> {
    /// Of each run, round or interval.
    pub(super) values: &'a [f64],
    /// Width of the buckets that the values are the middles of, in their unit; 0 of what is told to the last digit.
    pub(super) width: f64,
    /// Standard deviation that each value has by itself, in their unit, as far as it shows; 0 where that is not known.
    pub(super) own: f64,
}

impl<'a> Told<'a> {
    /// Values that are what they are.
    pub(super) const fn exactly(values: &'a [f64]) -> Self {
        Self { values, width: 0.0, own: 0.0 }
    }

    /// As [`Sample::of`], with the variance that a value somewhere in a bucket has in any case (w²/12; JCGM 100:2008, F.2.2.1):
    /// two or three runs in one bucket do not show that runs do not differ. Of two values that fall into one bucket by chance,
    /// it is the variance to be expected. Nor do runs vary less than each of them shows by itself.
    pub(super) fn sample(&self) -> Sample {
        self.at_least(Sample::of(self.values))
    }

    fn at_least(&self, sample: Sample) -> Sample {
        Sample { variance: sample.variance.max(self.width.powi(2) / 12.0).max(self.own.powi(2)), ..sample }
    }

    /// Most that the mean of the values may be off by, as a share, where all lie alike in their buckets.
    pub(super) fn off(&self) -> f64 {
        if self.width > 0.0 { self.width / 2.0 / Sample::of(self.values).mean } else { 0.0 }
    }
}

/// Values of a side as independent ones: its runs, or of its only run as much as its rounds or intervals are worth. The units
/// of a comparison are runs; what one run did in turn stands in for them only so far as each part does not follow from the one
/// before it (subsessions, as for the mean of a single run).
pub(super) fn sample(told: &Told<'_>, of: Replicates) -> Option<Sample> {
    let values = told.values;
    match of {
        Replicates::Runs => (values.len() >= 2).then(|| told.sample()),
        Replicates::Rounds => (values.len() >= 2).then(|| told.at_least(of_rounds(values))),
        Replicates::Intervals => of_intervals(values).map(|sample| told.at_least(sample)),
    }
}

/// How much too narrow an interval of quantiles of resamples at a level is for another that is no lower, of a side of `count` values: a
/// resample varies by √((n − 1)/n) of what it should, and knows nothing of Student's t (the expanded percentile interval; Hesterberg, The
/// American Statistician 69, 2015). Worked value: 1.24 of ten values at 95 %.
pub(super) fn resampled_too_narrow(count: usize, at: f64, level: f64) -> f64 {
    let count = count as f64;
    t_quantile(level, count - 1.0) / t_quantile(at, NORMAL) * (count / (count - 1.0)).sqrt()
}

/// Degrees of freedom from which on Student's t is the normal distribution, to six digits.
const NORMAL: f64 = 1e6;

/// An interval of a relative change: the logarithms of the ratios at both its ends. As changes its ends may be one number that
/// stands for many, −100 %, which says no more how wide it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Between {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Between {
    /// Of the ratios themselves.
    pub(super) fn ratios((low, high): (f64, f64)) -> Self {
        Self { low: low.ln(), high: high.ln() }
    }

    /// Both ends as relative changes.
    pub(super) fn changes(self) -> (f64, f64) {
        (self.low.exp_m1(), self.high.exp_m1())
    }

    /// How far it reaches from its middle.
    pub(super) fn half(self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// An interval of a change, as much wider as both sides together may be off by (`off`, a share) for how finely they are told.
/// That does not become less with more values, all of which may lie at one edge of one bucket; but it is no more than it is,
/// whatever the level, and no chance that values which scatter over several buckets take: the two are added as squares.
///
/// `times`: as much wider as that as well, of resamples.
pub(super) fn widened(found: Between, change: f64, off: f64, times: f64) -> Between {
    let middle = change.ln_1p();
    if !off.is_finite() || !middle.is_finite() {
        return found;
    }
    // That of resamples need not hold the change.
    let below = times * (middle - found.low).max(0.0);
    let above = times * (found.high - middle).max(0.0);
    Between { low: middle - below.hypot(off), high: middle + above.hypot(off) }
}

/// Rounds are too few to be joined into subsessions, or to show how much they resemble their neighbours; and those of a test's
/// window are the first that scatter little, on a slope of up to a tenth. So they are taken to resemble one another as much as
/// they well may: the variance of their mean grows by (1 + ρ)/(1 − ρ), which a slope takes to the most that is allowed for.
fn of_rounds(values: &[f64]) -> Sample {
    let sample = Sample::of(values);
    let resemblance = correlation_allowed(values, sample.mean);
    Sample { variance: sample.variance * (1.0 + resemblance) / (1.0 - resemblance), ..sample }
}

fn of_intervals(values: &[f64]) -> Option<Sample> {
    let found = subsessions(values)?;
    let lasts = memory(values);
    // A series that is short for its memory has too few of them to show that they resemble one another.
    let (sample, resemblance) = if lasts > found.length {
        let means = subsession_means(values, lasts);
        (Sample { mean: found.sample.mean, ..Sample::of(&means) }, autocorrelation(&means, found.sample.mean))
    } else {
        (found.sample, if found.is_independent { 0.0 } else { found.correlation })
    };
    // Those that resemble their neighbours are worth fewer, by what such a series forgets from one to the next (Bayley &
    // Hammersley 1946, of a first-order autoregression); those that are unlike them are worth more, which is left alone.
    let resemblance = resemblance.max(0.0);
    let worth = sample.count as f64 * (1.0 - resemblance) / (1.0 + resemblance);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "no more than there are")]
    let sample = Sample { count: worth.floor() as usize, ..sample };
    (sample.count >= 2).then_some(sample)
}

/// The logarithm of a sample's mean as a sample, by the delta method: variance s²/m². `None` where the mean is not above 0:
/// there is no ratio to it then.
fn logarithm(sample: &Sample) -> Option<Sample> {
    let &Sample { count, mean, variance } = sample;
    (mean > 0.0).then(|| Sample { count, mean: mean.ln(), variance: variance / (mean * mean) })
}

/// The interval that holds `half` to either side of a change on the scale of logarithms. `None` where nothing is left: everything
/// is as far from nothing as it can be.
fn around(change: f64, half: f64) -> Option<Between> {
    let middle = (change > -1.0).then(|| change.ln_1p())?;
    (middle.is_finite() && half.is_finite()).then_some(Between { low: middle - half, high: middle + half })
}

/// Interval of the relative change between the runs of one side and the only run of the other, which is taken to vary
/// as they do, as a share of its mean: Student's t with the pooled variance of `n` values and one (n − 1 degrees of freedom).
pub(super) fn change_of_one(runs: &Sample, change: f64, level: f64) -> Option<Between> {
    let logarithm = logarithm(runs).filter(|runs| runs.count >= 2)?;
    let count = runs.count as f64;
    around(change, t_quantile(level, count - 1.0) * (logarithm.variance * (1.0 + 1.0 / count)).sqrt())
}

/// Interval of the relative change of means: Welch's of the logarithms of both, around the change of the totals, which weigh
/// every operation alike.
pub(super) fn change_interval(base: &Sample, new: &Sample, change: f64, level: f64) -> Option<Between> {
    let (left, right) = (logarithm(base)?, logarithm(new)?);
    match welch(&right, &left) {
        Some(found) => around(change, t_quantile(level, found.freedom) * found.standard_error),
        // Neither side varies at all.
        None => (base.count >= 2 && new.count >= 2).then(|| around(change, 0.0))?,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Verdict, judge};
    use crate::sample::normal;
    use crate::steady::{Rule, WINDOW, Window};

    /// Comparisons of each case.
    const COMPARISONS: u64 = 4000;
    /// The level that figures of a comparison of one step have (two of them decide, Bonferroni).
    const LEVEL: f64 = 0.975;
    /// Standard errors by which a share may be off: of some 60 that are looked at, one in three hundred tries has one that is.
    const ERRORS: f64 = 4.0;

    /// One side: how many runs, and how much they vary as a share of their mean.
    type Shape = (usize, f64);

    /// The share of intervals that hold the true change.
    fn coverage(change: f64, base: Shape, new: Shape, level: f64) -> f64 {
        let side = |mean: f64, (count, noise): Shape, random: &mut fastrand::Rng| -> Sample {
            let values: Vec<f64> = (0..count).map(|_| mean * (1.0 + noise * normal(random))).collect();
            Sample::of(&values)
        };
        let holds = |seed: &u64| {
            let mut random = fastrand::Rng::with_seed(*seed);
            let (base, new) =
                (side(1000.0, base, &mut random), side(1000.0 * (1.0 + change), new, &mut random));
            let found = new.mean / base.mean - 1.0;
            let interval = match (base.count, new.count) {
                (1, _) => change_of_one(&new, found, level),
                (_, 1) => change_of_one(&base, found, level),
                _ => change_interval(&base, &new, found, level),
            };
            let (low, high) = interval.expect("both vary and are above 0").changes();
            assert!(low > -1.0 && low <= found && found <= high, "{seed}: {low} {found} {high}");
            (low..=high).contains(&change)
        };
        (0..COMPARISONS).filter(holds).count() as f64 / COMPARISONS as f64
    }

    /// Checks that intervals hold the true change as often as they say, but for chance (the binomial's) and `more` or `less`.
    fn check(base: Shape, new: Shape, level: f64, less: f64, more: f64) {
        for change in [0.0, 0.05, 3.0, -0.75] {
            let held = coverage(change, base, new, level);
            let chance = ERRORS * (level * (1.0 - level) / COMPARISONS as f64).sqrt();
            let bounds = level - less - chance..=level + more + chance;
            assert!(bounds.contains(&held), "{change:+} of {base:?} and {new:?}: {held}, {bounds:?}");
        }
    }

    #[test]
    fn intervals_hold_the_true_change_as_often_as_they_say() {
        for level in [LEVEL, 0.95, 0.8] {
            for (base, new) in [(5, 5), (3, 3), (4, 6), (1, 4), (4, 1)] {
                check((base, 0.05), (new, 0.05), level, 0.0, 0.004);
            }
            // Runs that scatter a lot.
            check((5, 0.15), (5, 0.15), level, 0.006, 0.006);
        }
    }

    /// Welch's degrees of freedom are an estimate, by which the interval may be a little too wide or too narrow.
    #[test]
    fn with_unequal_variances_they_nearly_do() {
        for level in [LEVEL, 0.95, 0.8] {
            for (base, new) in [((5, 0.02), (5, 0.10)), ((5, 0.10), (5, 0.02)), ((3, 0.01), (6, 0.08))] {
                check(base, new, level, 0.01, 0.006);
            }
        }
    }

    /// Rounds of a test that decay to what the device does in the long run, with noise that remembers: the first five in which
    /// the rule of the PTS sees a steady state.
    fn window(memory: f64, decay: f64, random: &mut fastrand::Rng) -> Option<Vec<f64>> {
        let mut noise = normal(random);
        let mut rounds = Vec::new();
        for round in 0..25_i32 {
            noise = memory * noise + (1.0 - memory * memory).sqrt() * normal(random);
            rounds.push(1000.0 * (1.0 + 0.02 * noise + decay * (-f64::from(round) / 3.0).exp()));
            if let Some(last) = rounds.last_chunk::<WINDOW>()
                && Window::of(last).is_steady(Rule::Literal)
            {
                return Some(last.to_vec());
            }
        }
        None
    }

    #[test]
    fn rounds_of_runs_that_are_alike_are_hardly_ever_told_apart() {
        // How often they are, of how many: as what they are, and as if they were runs.
        let told = |memory: f64, decay: f64| -> (u32, [u32; 2]) {
            let (mut all, mut apart) = (0, [0; 2]);
            for seed in 0..2000 {
                let mut random = fastrand::Rng::with_seed(seed);
                // One began fresher than the other: both end up alike, and neither window is of the end.
                let sides = [decay, decay / 2.0].map(|decay| window(memory, decay, &mut random));
                let [Some(base), Some(new)] = sides else { continue };
                let change = Sample::of(&new).mean / Sample::of(&base).mean - 1.0;
                all += 1;
                for (count, of) in apart.iter_mut().zip([Replicates::Rounds, Replicates::Runs]) {
                    let side = |values: &[f64]| sample(&Told::exactly(values), of).expect("there are five");
                    let interval =
                        change_interval(&side(&base), &side(&new), change, 0.95).map(Between::changes);
                    let verdict = judge(interval, 0.03, true);
                    *count += u32::from(matches!(verdict, Verdict::Regressed | Verdict::Improved));
                }
            }
            (all, apart)
        };
        for (memory, decay) in [(0.0, 0.0), (0.6, 0.0), (0.9, 0.0), (0.0, 1.0), (0.6, 1.0), (0.6, 3.0)] {
            let (all, [apart, _]) = told(memory, decay);
            let most = 0.05 * f64::from(all);
            assert!(all > 1000 && f64::from(apart) <= most, "{memory}, {decay}: {apart} of {all}");
        }
        let (all, [_, as_runs]) = told(0.9, 0.0);
        assert!(f64::from(as_runs) > 0.1 * f64::from(all), "{as_runs} of {all}: rounds are no runs");
        // What differs a lot is found nevertheless.
        let calm = |mean: f64| [0.99, 1.005, 1.0, 0.995, 1.01].map(|share| share * mean);
        let (base, new) = (calm(1000.0), calm(800.0));
        let of = |values: &[f64]| sample(&Told::exactly(values), Replicates::Rounds).expect("there are five");
        let interval = change_interval(&of(&base), &of(&new), -0.2, LEVEL).map(Between::changes);
        assert_eq!(judge(interval, 0.03, true), Verdict::Regressed, "{interval:?}");
        // Two slopes as steep as the rule of the PTS allows say nothing of a change of a tenth.
        let slope = |mean: f64| [1.05, 1.025, 1.0, 0.975, 0.95].map(|share| share * mean);
        let interval =
            change_interval(&of(&slope(1000.0)), &of(&slope(900.0)), -0.1, LEVEL).map(Between::changes);
        assert_eq!(judge(interval, 0.03, true), Verdict::Inconclusive, "{interval:?}");
    }

    #[test]
    fn a_known_interval() {
        // Both: mean 100 and 400, s = 5 %, five runs; df 8; t(0.975 two-sided, 8) = 2.7515; × √(2 · 0.0025/5) = 0.08701.
        let of = |mean: f64| Sample { count: 5, mean, variance: (0.05 * mean).powi(2) };
        let (low, high) = change_interval(&of(100.0), &of(400.0), 3.0, LEVEL).unwrap().changes();
        assert!((low - (4.0 * (-0.08701_f64).exp() - 1.0)).abs() < 1e-3, "{low}");
        assert!((high - (4.0 * 0.08701_f64.exp() - 1.0)).abs() < 1e-3, "{high}");
        // Both ways round it is the same statement.
        let (back, forth) = change_interval(&of(400.0), &of(100.0), -0.75, LEVEL).unwrap().changes();
        assert!(((1.0 + low) * (1.0 + forth) - 1.0).abs() < 1e-9, "{low} {forth}");
        assert!(((1.0 + high) * (1.0 + back) - 1.0).abs() < 1e-9, "{high} {back}");
    }

    #[test]
    fn what_is_nothing_has_no_ratio() {
        let of = |mean: f64| Sample { count: 3, mean, variance: 4.0 };
        assert_eq!(change_interval(&of(0.0), &of(10.0), f64::INFINITY, LEVEL), None);
        assert_eq!(change_interval(&of(10.0), &of(0.0), -1.0, LEVEL), None);
        assert_eq!(change_interval(&of(-1.0), &of(10.0), -11.0, LEVEL), None);
        assert_eq!(change_of_one(&of(10.0), -1.0, LEVEL), None);
        assert_eq!(change_of_one(&of(0.0), 0.5, LEVEL), None);
        // Noise far beyond the mean is a wide interval, never one below −100 %.
        let wild = Sample { count: 3, mean: 1.0, variance: 100.0 };
        let (low, high) = change_interval(&wild, &wild, 0.0, LEVEL).unwrap().changes();
        assert!(low > -1.0 && low < -0.99 && high > 1e3, "{low} {high}");
        let constant = |mean: f64| Sample { count: 3, mean, variance: 0.0 };
        let half = change_interval(&constant(10.0), &constant(5.0), -0.5, LEVEL).unwrap();
        assert_eq!(half, Between { low: 0.5_f64.ln(), high: 0.5_f64.ln() });
        assert_eq!(
            change_interval(&constant(10.0), &constant(10.0), 0.0, LEVEL).unwrap().changes(),
            (0.0, 0.0)
        );
    }
}
